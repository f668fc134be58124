-- What alerts are raised on: counts by table. Each branch follows an index of its own.

-- name: overdue
-- Open errors whose review is overdue, and not made up for since.
select e.error_table, count(*), min(e.sla_due_at)
  from ((select e.error_table, e.sla_due_at, e.last_reviewed_at, e.escalated_at from recoup.error e
          where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.sla_met_at is null
            and e.sla_breached_at is null and e.sla_due_at < (select recoup.now()))
        union all
        (select e.error_table, e.sla_due_at, e.last_reviewed_at, e.escalated_at from recoup.error e
          where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.sla_breached_at is not null)) e
 where not coalesce(e.last_reviewed_at > e.escalated_at, false)
 group by e.error_table;

-- name: untaken
-- Retries that are due, and that nobody has claimed for some time. Not where claims are paused or a breaker is open.
select q.part, count(*), min(q.wake_at)
  from recoup.error_queue q
 where q.token is null and q.wake_at < (select recoup.now()) - make_interval(secs => %(after_s)s)
   and (q.until is null or q.until > (select recoup.now()))
   and not exists (
     select from recoup.pause p
      where p.status = 'PAUSED'
        and (p.scope = 'global' or p.scope = 'table' and p.scope_id in (q.part, 'recoup.error')))
   and (select not array[q.part, 'recoup.error'] && recovery.shut_tables())
 group by q.part;

-- name: expired_blocking
select v.error_table, count(*), min(v.logged_at)
  from recoup.error_event v
 where v.event_type = 'ARCHIVED' and v.facts ? 'was_blocking'
   and v.logged_at > (select recoup.now()) - interval '24 hours'
 group by v.error_table;
