-- name: matching
-- The conditions of a filter. Planned again each time, so that conditions that are not used cost nothing.
(%(statuses)s::text[] is null or e.status = any(%(statuses)s::text[]))
     and (%(codes)s::text[] is null or e.error_code = any(%(codes)s::text[]))
     and (%(signatures)s::text[] is null or e.error_signature = any(%(signatures)s::text[]))
     and (%(severities)s::text[] is null or e.severity = any(%(severities)s::text[]))
     and (%(categories)s::text[] is null or e.category = any(%(categories)s::text[]))
     and (%(entities)s::uuid[] is null or e.outreach_id = any(%(entities)s::uuid[]))
     and (%(text)s::text is null or strpos(lower(e.error_message), lower(%(text)s)) > 0
          or strpos(lower(e.error_code), lower(%(text)s)) > 0)
     and (%(older)s::interval is null or e.created_at < (select recoup.now()) - %(older)s::interval)
     and (%(newer)s::interval is null or e.created_at > (select recoup.now()) - %(newer)s::interval)
     and (%(parked)s::interval is null
          or e.status in ('PARKED', 'ESCALATED') and e.parked_at < (select recoup.now()) - %(parked)s::interval)
     and (%(breached)s::boolean is null
          or e.status in ('PARKED', 'ESCALATED') and e.sla_met_at is null and e.sla_due_at < (select recoup.now()))

-- name: list_live
-- Along the primary keys from the newest on, or from behind the last that was shown: no more rows are read than shown,
-- unless few match. num_nulls: "is null" would lead the planner to an index of open errors, and to sort all of them;
-- so it is used only where such an index may be right.
select e.error_id, e.error_table, e.outreach_id, e.work_key, e.error_code, e.error_message, e.error_signature,
       e.severity, e.category, e.status, e.disposition, e.retry_count, e.max_retries, e.next_retry_at,
       (select q.worker from recoup.error_queue q where q.unit = e.error_id) as leased_by,
       e.parked_at, e.park_reason, e.assigned_to, e.escalated_to, e.escalation_level, e.parked_since, e.escalated_at,
       e.last_reviewed_at, e.sla_due_at, e.sla_met_at, e.sla_breached_at, e.created_at, e.expires_at,
       e.archived_at, e.archive_reason, coalesce(e.lineage_id, e.error_id) as lineage_id
  from recoup.error e
 where e.error_table = any(%(tables)s::text[]) and e.error_id < %(after)s
   and (%(archived)s
        or case when %(entities)s::uuid[] is null and %(statuses)s::text[] is null and %(parked)s::interval is null
                     and %(breached)s::boolean is null
                then num_nulls(e.archived_at) = 1 else e.archived_at is null end)
   and {matching}
 order by e.error_id desc limit %(limit)s;

-- name: park_queue
-- What waits for its review: along the index of breaches, and along that of the clocks that run. A review that came too
-- late was one.
select e.error_id, e.error_table, e.outreach_id, e.work_key, e.error_code, e.error_message, e.error_signature,
       e.severity, e.category, e.status, e.disposition, e.retry_count, e.max_retries, e.next_retry_at,
       (select q.worker from recoup.error_queue q where q.unit = e.error_id) as leased_by,
       e.parked_at, e.park_reason, e.assigned_to, e.escalated_to, e.escalation_level, e.parked_since, e.escalated_at,
       e.last_reviewed_at, e.sla_due_at, e.sla_met_at, e.sla_breached_at, e.created_at, e.expires_at,
       e.archived_at, e.archive_reason, coalesce(e.lineage_id, e.error_id) as lineage_id
  from (
  (select e.* from recoup.error e
    where e.error_table = any(%(tables)s::text[]) and e.status in ('PARKED', 'ESCALATED') and e.archived_at is null
      and e.sla_breached_at is not null
      and not coalesce(e.last_reviewed_at > e.escalated_at, false)
      and {matching}
    order by e.sla_due_at limit %(limit)s)
  union all
  (select e.* from recoup.error e
    where e.error_table = any(%(tables)s::text[]) and e.status in ('PARKED', 'ESCALATED') and e.archived_at is null
      and e.sla_met_at is null and e.sla_breached_at is null
      and not coalesce(e.last_reviewed_at > e.escalated_at, false)
      and {matching}
    order by e.sla_due_at limit %(limit)s)) e
 order by e.sla_due_at, e.error_id limit %(limit)s;

-- name: list_archived
select e.error_id, e.error_table, e.outreach_id, e.work_key, e.error_code, e.error_message, e.error_signature,
       e.severity, e.category, e.status, e.disposition, e.retry_count, e.max_retries, e.next_retry_at,
       null as leased_by,
       e.parked_at, e.park_reason, e.assigned_to, e.escalated_to, e.escalation_level, e.parked_since, e.escalated_at,
       e.last_reviewed_at, e.sla_due_at, e.sla_met_at, e.sla_breached_at, e.created_at, e.expires_at,
       e.archived_at, e.archive_reason, coalesce(e.lineage_id, e.error_id) as lineage_id
  from recoup.error_archive e
 where e.error_table = any(%(tables)s::text[]) and %(archived)s
   and e.error_id < %(after)s
   and {matching}
 order by e.error_id desc limit %(limit)s;

-- name: seen
-- How often the failures of a page were recorded, as far as errors are kept, and since when. A failure is a table, an
-- entity, a signature and a work key. Each branch follows an index, and counts no further than to the limit.
select g.error_id, 1 + o.others as occurrences, least(g.created_at, o.first_seen_at) as first_seen_at,
       coalesce(v.logged_at, g.created_at) as last_seen_at
  from unnest(%(ids)s::bigint[], %(tables)s::text[], %(entities)s::uuid[], %(signatures)s::text[],
              %(work_keys)s::text[], %(created)s::timestamptz[])
         g (error_id, error_table, outreach_id, error_signature, work_key, created_at)
 cross join lateral (
   select count(*) as others, min(x.created_at) as first_seen_at
     from ((select e.created_at from recoup.error e
             where e.error_table = g.error_table and e.outreach_id = g.outreach_id
               and e.error_signature = g.error_signature and coalesce(e.work_key, '') = coalesce(g.work_key, '')
               and e.archived_at is null and e.error_id <> g.error_id limit %(most)s)
           union all
           (select e.created_at from recoup.error e
             where e.error_table = g.error_table and e.outreach_id = g.outreach_id
               and e.error_signature = g.error_signature and coalesce(e.work_key, '') = coalesce(g.work_key, '')
               and e.archived_at is not null and e.error_id <> g.error_id limit %(most)s)
           union all
           (select a.created_at from recoup.error_archive a
             where a.error_table = g.error_table and a.outreach_id = g.outreach_id
               and a.error_signature = g.error_signature and coalesce(a.work_key, '') = coalesce(g.work_key, '')
               and a.error_id <> g.error_id limit %(most)s)) x) o
  left join lateral (
    select v.logged_at from recoup.error_event v
     where v.error_id = g.error_id and v.error_table = g.error_table and v.event_type = 'RECORDED'
     order by v.seq limit 1) v on true;

-- name: earlier
-- The closed errors of the same failure, newest first.
select x.error_id, x.status, x.retry_count, x.max_retries, x.created_at, x.archived_at, x.archive_reason,
       x.superseded_by
  from ((select e.error_id, e.status, e.retry_count, e.max_retries, e.created_at, e.archived_at, e.archive_reason,
                e.superseded_by
           from recoup.error e
          where e.error_table = %(error_table)s and e.outreach_id = %(outreach_id)s
            and e.error_signature = %(error_signature)s and coalesce(e.work_key, '') = coalesce(%(work_key)s, '')
            and e.archived_at is not null and e.error_id < %(error_id)s)
        union all
        (select a.error_id, a.status, a.retry_count, a.max_retries, a.created_at, a.archived_at, a.archive_reason,
                a.superseded_by
           from recoup.error_archive a
          where a.error_table = %(error_table)s and a.outreach_id = %(outreach_id)s
            and a.error_signature = %(error_signature)s and coalesce(a.work_key, '') = coalesce(%(work_key)s, '')
            and a.error_id < %(error_id)s)) x
 order by x.error_id desc limit %(limit)s;

-- name: show_live
select e.*, q.worker as leased_by, case when q.token is not null then q.wake_at end as lease_until
  from recoup.error e
  left join recoup.error_queue q on q.unit = e.error_id
 where e.error_table = %(error_table)s and e.error_id = %(error_id)s;

-- name: live
-- Some errors, with who retries them.
select e.*, q.worker as leased_by, case when q.token is not null then q.wake_at end as lease_until, t.now_ as read_at
  from (select recoup.now() as now_) t,
       unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
 cross join lateral (
   select e.* from recoup.error e where e.error_table = g.error_table and e.error_id = g.error_id limit 1) e
  left join recoup.error_queue q on q.unit = e.error_id;

-- name: show_archived
select e.* from recoup.error_archive e where e.error_table = %(error_table)s and e.error_id = %(error_id)s;

-- name: events
-- A claim is found by its token: the event that ended the retry has it, or the queue while the retry is in progress.
with found as (
  select v.* from recoup.error_event v where v.error_id = any(%(ids)s::bigint[]) and v.error_table = %(error_table)s)
select t.error_id, t.logged_at, t.event_type, t.from_status, t.to_status, t.disposition, t.retry_count, t.reason,
       t.facts, t.actor, t.actor_id, t.authority
  from (
    select t.error_id, t.seq, t.logged_at, t.event_type, t.from_status, t.to_status, t.disposition, t.retry_count,
           t.reason, t.facts, t.actor, t.actor_id, t.authority
      from found t
    union all
    select h.error_id, c.seq, c.logged_at, 'CLAIMED', 'RETRY_PENDING', 'RETRY_PENDING', 'RETRY', h.round, c.worker,
           null, c.actor, c.actor_id, c.authority
      from (select t.error_id, t.token, t.retry_count - 1 as round from found t where t.token is not null
            union all
            select q.unit, q.token, q.round from recoup.error_queue q
             where q.unit = any(%(ids)s::bigint[]) and q.token is not null) h
      join recoup.claim_log c on c.token = h.token) t
 order by t.seq;

-- name: count_live
with t as materialized (select recoup.now() as now_, recoup.blocking_tables() as blocking)
select c.error_table,
       count(*) filter (where c.is_open) as open,
       count(*) filter (where c.is_open and c.status = 'ACTIVE' and c.disposition = 'IGNORE') as ignored,
       count(*) filter (where c.is_open and c.status = 'ACTIVE' and c.disposition = 'ARCHIVE') as to_archive,
       count(*) filter (where c.is_open and c.status = 'RETRY_PENDING') as retry_pending,
       count(*) filter (where c.is_open and c.status = 'PARKED') as parked,
       count(*) filter (where c.is_open and c.status = 'ESCALATED') as escalated,
       count(*) filter (where c.is_open and c.disposition in ('RETRY', 'PARKED')
                          and c.error_table = any(t.blocking)) as blocking,
       count(*) filter (where c.is_open and c.token is null and c.next_retry_at <= t.now_
                          and (c.retry_until is null or c.retry_until > t.now_)) as due_now,
       count(*) filter (where c.is_open and c.status = 'RETRY_PENDING' and c.token is null
                          and c.retry_until <= t.now_) as overdue,
       count(*) filter (where c.token is not null) as retrying,
       count(*) filter (where c.token is not null and c.wake_at < t.now_) as lapsed,
       min(c.parked_at) filter (where c.is_open and c.status in ('PARKED', 'ESCALATED')) as oldest_parked_at,
       count(*) filter (where not c.is_open or c.expires_at < t.now_) as for_the_archiver
  from (select e.error_table, e.status, e.disposition, q.token, e.next_retry_at, e.retry_until, q.wake_at,
               e.parked_at, e.expires_at, e.archived_at is null as is_open
          from recoup.error e left join recoup.error_queue q on q.unit = e.error_id) c
 cross join t
 group by c.error_table;

-- name: count_archived
select a.error_table, a.archive_reason, count(*) from recoup.error_archive a group by 1, 2 order by 1, 2;
