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

-- name: outcomes
-- Of unparked errors. Failed: parked or escalated again, recorded again, archived without being resolved, or a retry
-- since then failed, whether or not others follow. An error whose archive was dropped has no outcome.
select count(*) filter (where x.outcome = 'succeeded'), count(*) filter (where x.outcome = 'failed'),
       count(*) filter (where x.outcome = 'open')
  from recoup.operation_item i
 cross join lateral (
   select split_part(i.unit, '/', 1) as error_table, split_part(i.unit, '/', 2)::bigint as error_id) k
 cross join lateral (
   (select e.status, e.archive_reason from recoup.error e
     where e.error_table = k.error_table and e.error_id = k.error_id limit 1)
   union all
   (select 'ARCHIVED', a.archive_reason from recoup.error_archive a
     where a.error_table = k.error_table and a.error_id = k.error_id limit 1)
   limit 1) e
 cross join lateral (select case
     when e.archive_reason = 'RESOLVED' then 'succeeded'
     when e.archive_reason is not null or e.status <> 'RETRY_PENDING' then 'failed'
     when (select v.event_type from recoup.error_event v
            where v.error_id = k.error_id and v.event_type in ('UNPARKED', 'FAILED', 'LAPSED')
            order by v.seq desc limit 1) <> 'UNPARKED' then 'failed'
     else 'open' end as outcome) x
 where i.operation_id = %(operation_id)s and i.place > %(start)s and i.place <= %(end)s and i.status = 'DONE';
