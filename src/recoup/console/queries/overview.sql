-- What the overview counts. Every count is bounded and along an index: it does not grow with the tables.

-- name: waiting
select 'reviews' as what, (
         select count(*) from (select from recoup.error e
                                where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null
                                  and e.sla_breached_at is not null
                                  and not coalesce(e.last_reviewed_at > e.escalated_at, false)
                                order by e.sla_due_at limit %(most)s) x)
 union all
select 'approvals', (
         select count(*) from (select from recovery.candidate c
                                where c.finished_at is null and c.status = 'pending' and not c.is_ready
                                order by c.failure_match_id limit %(most)s) x)
 union all
select 'tasks', (
         select count(*) from (select from recovery.task t where t.status = 'open'
                                order by t.due_at limit %(most)s) x)
 union all
select 'stuck', (
         select count(*) from (select from recovery.failure_match m
                                where m.status = 'stuck' and m.evaluation_failures > 0 limit %(most)s) x)
 union all
select 'alerts', (
         select count(*) from (select from recoup.alert a where a.status = 'firing' limit %(most)s) x)
 union all
select 'dead', (
         select count(*) from (select from recoup.delivery d where d.status = 'dead' and d.ended_at
                                > (select recoup.now()) - interval '1 day' limit %(most)s) x)
 union all
select 'pauses', (select count(*) from (select from recoup.pauses limit %(most)s) x);
