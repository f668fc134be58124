-- The errors of a filter, for operations over many.

-- name: standings
-- In groups that share everything that decides what may be done with an error.
select e.error_table, e.status, e.ttl_tier, e.escalation_level, e.assigned_to, e.archive_reason, count(*) as errors
  from recoup.error e
 where e.error_table = any(%(tables)s::text[]) and e.archived_at is null
   and {matching}
 group by 1, 2, 3, 4, 5, 6 order by 1, 2;

-- name: chosen
-- In the order of the ids: that is the order in which errors are locked.
select e.error_table || '/' || e.error_id as unit from recoup.error e
   where e.error_table = any(%(tables)s::text[]) and e.archived_at is null
     and {matching}
   order by e.error_id
