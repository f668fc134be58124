-- Companies and batches by name, domain or id.

-- name: intakes
i.intake_id, i.batch_id, i.company_name, i.company_domain, i.state, i.status, i.reentered_from, i.retry_of,
       i.created_at, r.status as recovery_status, r.attempt_count, r.next_eligible_at, r.failure_reason
  from cl.gate_zero_intake i
  left join lateral (select r.* from cl.gate_zero_recovery r where r.intake_id = i.intake_id limit 1) r on true

-- name: by_id
-- The intake, or that of an attempt: two look-ups, each along its index.
select {intakes}
 where i.intake_id = any(array(
   (select n.intake_id from cl.gate_zero_intake n
     where n.intake_id between %(low)s and %(high)s order by n.intake_id desc limit %(limit)s)
   union
   (select a.intake_id from cl.gate_zero_attempt a
     where a.attempt_id between %(low)s and %(high)s order by a.attempt_id desc limit %(limit)s)))
 order by i.intake_id desc limit %(limit)s;

-- name: by_name
-- Two look-ups, each along its index.
select {intakes}
 where i.intake_id in (
   (select n.intake_id from cl.gate_zero_intake n
     where lower(n.company_name) ~>=~ %(from_lower)s and lower(n.company_name) ~<~ %(to_lower)s limit %(limit)s)
   union
   (select d.intake_id from cl.gate_zero_intake d
     where lower(d.company_domain) ~>=~ %(from_lower)s and lower(d.company_domain) ~<~ %(to_lower)s limit %(limit)s))
 order by i.intake_id desc limit %(limit)s;

-- name: by_text
-- In the newest intakes only.
select {intakes}
 where i.intake_id in (
   select n.intake_id
     from (select n.intake_id, n.company_name, n.company_domain from cl.gate_zero_intake n
            order by n.intake_id desc limit %(newest)s) n
    where strpos(lower(n.company_name), lower(%(text)s)) > 0 or strpos(lower(n.company_domain), lower(%(text)s)) > 0
    limit %(limit)s)
 order by i.intake_id desc;

-- name: batches
-- There are few.
select b.batch_id, b.status, b.imported_at, b.batch_freeze_at, b.paused_by, b.pause_reason
  from cl.gate_zero_batch b
 where lower(b.batch_id) ~>=~ %(from_lower)s and lower(b.batch_id) ~<~ %(to_lower)s
 order by b.imported_at desc limit %(limit)s;

-- name: list
-- Newest first, along the primary key: no more rows are read than shown, unless few match.
select {intakes}
 where i.intake_id < %(after)s
   and (%(batch_id)s::text is null or i.batch_id = %(batch_id)s)
   and (%(statuses)s::text[] is null or i.status = any(%(statuses)s::text[]))
   and (%(from_lower)s::text is null
        or lower(i.company_name) ~>=~ %(from_lower)s and lower(i.company_name) ~<~ %(to_lower)s
        or lower(i.company_domain) ~>=~ %(from_lower)s and lower(i.company_domain) ~<~ %(to_lower)s)
 order by i.intake_id desc limit %(limit)s;

-- name: scan
-- The same, in a window of the newest companies: where few match, a page ends before it is full.
select {intakes}
 where i.intake_id in (
   select n.intake_id
     from (select n.intake_id, n.status, n.company_name, n.company_domain from cl.gate_zero_intake n
            where n.intake_id < %(after)s {of_batch}
            order by n.intake_id desc limit %(window)s) n
    where (%(statuses)s::text[] is null or n.status = any(%(statuses)s::text[]))
      and (%(from_lower)s::text is null
           or lower(n.company_name) ~>=~ %(from_lower)s and lower(n.company_name) ~<~ %(to_lower)s
           or lower(n.company_domain) ~>=~ %(from_lower)s and lower(n.company_domain) ~<~ %(to_lower)s)
    order by n.intake_id desc limit %(limit)s)
 order by i.intake_id desc;

-- name: scanned_to
-- The last of the companies that were searched; none: all were.
select n.intake_id from cl.gate_zero_intake n
 where n.intake_id < %(after)s {of_batch}
 order by n.intake_id desc offset %(window)s - 1 limit 1;
