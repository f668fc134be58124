-- What alerts are raised on: counts by table. Each branch follows an index of its own.

-- name: overdue
-- Open errors whose review is overdue, and not made up for since; and by whom it is due. For an hour also those that
-- came to their next tier or to the archive since: where the task on tiers was late, that is at once.
select o.error_table, sum(o.errors)::bigint, min(o.due_at), jsonb_object_agg(o.owner, o.errors)
  from (
    select e.error_table, left(coalesce(e.escalated_to, '–'), 100) as owner, count(*) as errors,
           min(e.sla_due_at) as due_at
      from ((select e.error_table, e.escalated_to, e.sla_due_at, e.last_reviewed_at, e.escalated_at from recoup.error e
              where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.sla_met_at is null
                and e.sla_breached_at is null and e.sla_due_at < (select recoup.now()))
            union all
            (select e.error_table, e.escalated_to, e.sla_due_at, e.last_reviewed_at, e.escalated_at from recoup.error e
              where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.sla_breached_at is not null)
            union all
            (select distinct on (v.error_id) v.error_table, v.facts ->> 'to', (v.facts ->> 'due_at')::timestamptz,
                    null::timestamptz, null::timestamptz
               from (select v.* from recoup.error_event v
                      where v.event_type = 'SLA_BREACHED' and v.logged_at > (select recoup.now()) - interval '1 hour'
                      order by v.logged_at desc limit %(most)s) v
              where not exists (
                      select from recoup.error e
                       where e.error_table = v.error_table and e.error_id = v.error_id
                         and e.sla_breached_at is not null)
                -- Nobody but the tasks that follow time has acted on it since.
                and not exists (
                      select from recoup.error_event n
                       where n.error_id = v.error_id and n.seq > v.seq
                         and n.authority not in ('recoup_error_worker', 'recoup_archiver'))
              order by v.error_id)) e
     where not coalesce(e.last_reviewed_at > e.escalated_at, false)
     group by 1, 2) o
 group by o.error_table;

-- name: raised
-- Who has open errors in a tier above the first, where every parked error begins, and how many of them nobody has
-- reviewed since they came there.
select e.escalated_to, count(*) filter (where e.is_new) as errors, min(e.escalated_at) filter (where e.is_new)
  from (select e.escalated_to, e.escalated_at, not coalesce(e.last_reviewed_at > e.escalated_at, false) as is_new
          from recoup.error e
         where e.status in ('PARKED', 'ESCALATED') and e.archived_at is null and e.escalation_level >= 2) e
 group by 1 order by 2 desc limit %(most)s;

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
