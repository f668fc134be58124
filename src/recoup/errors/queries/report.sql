-- name: day
-- What happened on a day, by table: from its beginning to before its end.
select e.error_table,
       count(*) filter (where e.event_type = 'RECORDED') as recorded,
       count(*) filter (where e.event_type = 'RECORDED' and e.disposition = 'IGNORE') as ignored,
       count(*) filter (where recoup.event_parks(e)) as parked,
       count(*) filter (where e.event_type = 'UNPARKED') as unparked,
       count(*) filter (where e.event_type = 'ESCALATED') as escalated,
       count(*) filter (where e.to_status = 'RESOLVED' and e.from_status <> 'RESOLVED') as resolved,
       count(*) filter (where e.event_type = 'ARCHIVED') as archived,
       count(*) filter (where e.event_type = 'ARCHIVED' and e.facts @> '{"was_blocking": true}') as expired_blocking,
       -- With those that a person ended too late, before the task on tiers had marked them.
       count(*) filter (where e.event_type = 'SLA_BREACHED' or e.facts @> '{"unmarked": true}') as sla_breached
  from recoup.error_event e
 where e.logged_at >= %(since)s and e.logged_at < %(until)s
 group by e.error_table;

-- name: processed
select p.error_table,
       sum(p.count * case when p.period_from = p.period_to then 1
                          else date_part('epoch', least(p.period_to, %(until)s) - greatest(p.period_from, %(since)s))
                               / date_part('epoch', p.period_to - p.period_from) end) as processed
  from recoup.processed p
 where p.period_to >= %(since)s and p.period_from < %(until)s
   and (p.period_to > %(since)s or p.period_from = p.period_to)
 group by p.error_table;

-- name: parked
-- How many are parked now.
select {name} as error_table, count(*) as parked_now from {table} e
 where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null

-- name: oldest
select e.error_table, e.error_id, e.parked_at, date_part('epoch', t.now_ - e.parked_at)::bigint as parked_for_s,
       e.park_reason, e.escalation_level,
       e.assigned_to, e.escalated_to, e.error_code, e.error_message
  from recoup.error e, (select recoup.now() as now_) t
 where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null
 order by e.parked_at, e.error_id limit %(limit)s;
