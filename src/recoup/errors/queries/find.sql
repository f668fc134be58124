-- Errors by entity, work key, signature or text. Each look-up follows an index, and reads no more than its limit.

-- name: entities
select x.outreach_id, count(*) filter (where x.is_open) as open, count(*) filter (where x.is_blocking) as blocking,
       count(*) as errors
  from ((select e.outreach_id, true as is_open,
                e.disposition in ('RETRY', 'PARKED') and e.error_table = any(recoup.blocking_tables()) as is_blocking
           from recoup.error e
          where e.outreach_id between %(low)s and %(high)s and e.archived_at is null limit %(most)s)
        union all
        (select e.outreach_id, false, false from recoup.error e
          where e.outreach_id between %(low)s and %(high)s and e.archived_at is not null limit %(most)s)
        union all
        (select a.outreach_id, false, false from recoup.error_archive a
          where a.outreach_id between %(low)s and %(high)s limit %(most)s)) x
 group by x.outreach_id order by x.outreach_id limit %(limit)s;

-- name: work_keys
select x.error_table, x.error_id
  from ((select e.error_table, e.error_id from recoup.error e
          where e.work_key ~>=~ %(from)s and e.work_key ~<~ %(to)s limit %(limit)s)
        union all
        (select a.error_table, a.error_id from recoup.error_archive a
          where a.work_key ~>=~ %(from)s and a.work_key ~<~ %(to)s limit %(limit)s)) x
 order by x.error_id desc limit %(limit)s;

-- name: signatures
-- Backwards along the index: the newest of a signature first.
select x.error_signature, count(*) as errors, max(x.error_id) as newest
  from (select e.error_signature, e.error_id from recoup.error e
         where e.error_signature ~>=~ %(from)s and e.error_signature ~<~ %(to)s
         order by e.error_signature using ~>~, e.error_id desc limit %(most)s) x
 group by x.error_signature order by errors desc limit %(limit)s;

-- name: by_text
-- In the newest errors only.
select e.error_table, e.error_id
  from (select e.error_table, e.error_id, e.error_message, e.error_code from recoup.error e
         order by e.error_id desc limit %(newest)s) e
 where strpos(lower(e.error_message), lower(%(text)s)) > 0 or strpos(lower(e.error_code), lower(%(text)s)) > 0
 limit %(limit)s;

-- name: errors
-- Some errors, live or archived.
select x.error_table, x.error_id, x.error_message, x.work_key, x.archive_reason
  from unnest(%(tables)s::text[], %(ids)s::bigint[]) g (error_table, error_id)
 cross join lateral (
   (select e.error_table, e.error_id, e.error_message, e.work_key, e.archive_reason from recoup.error e
     where e.error_table = g.error_table and e.error_id = g.error_id limit 1)
   union all
   (select a.error_table, a.error_id, a.error_message, a.work_key, a.archive_reason from recoup.error_archive a
     where a.error_table = g.error_table and a.error_id = g.error_id limit 1)
   limit 1) x
 order by x.error_id desc;
