-- What holds of schedules; in the form of invariants.sql.

-- name: schedules
-- Each schedule compared with its last event, its partition and its runs.
with events as (
  select distinct on (e.partition_id) e.partition_id, e.run_id, e.facts, e.logged_at
    from partitions.partition_event e where e.subject = 'schedule' order by e.partition_id, e.seq desc),
-- Verdicts, and overrides, begin the count again.
begun as (
  select e.partition_id, max(e.seq) as seq from partitions.partition_event e
   where e.subject = 'run' and e.event_type in ('accepted', 'rejected')
      or e.subject = 'schedule' and e.event_type = 'terminal_lifted'
   group by e.partition_id),
nothing as (
  select e.partition_id, count(*) as times from partitions.partition_event e
    left join begun b on b.partition_id = e.partition_id
   where e.subject = 'run' and e.event_type in ('lost', 'released') and e.reason <> 'SINK_UNAVAILABLE'
     and e.seq > coalesce(b.seq, 0)
   group by e.partition_id),
runs as (
  select r.partition_id, (array_agg(r.run_id order by r.number desc))[1] as last_run,
         (array_agg(r.status order by r.number desc))[1] as last_status,
         (array_agg(r.reason order by r.number desc))[1] as reason,
         (array_agg(r.lease_until order by r.number desc))[1] as lease_until
    from partitions.run r group by r.partition_id),
compared as (
  select coalesce(s.partition_id, e.partition_id, p.partition_id) as partition_id, s.status, p.status as state,
         s.run_id, r.last_run, r.last_status, s.dispatches, n.times, s.updated_at, e.logged_at, array_remove(array[
    case when s.partition_id is null or e.partition_id is null or s.run_id is distinct from e.run_id
           or s.updated_at is distinct from e.logged_at
           or partitions.schedule_facts(s) - t.times is distinct from e.facts - 'asked' - t.times
           or (s.next_run_at, s.requested_at, s.held_at, s.terminal_at, s.first_dispatched_at, s.aged_from)
              is distinct from (
                (e.facts ->> 'next_run_at')::timestamptz, (e.facts ->> 'requested_at')::timestamptz,
                (e.facts ->> 'held_at')::timestamptz, (e.facts ->> 'terminal_at')::timestamptz,
                (e.facts ->> 'first_dispatched_at')::timestamptz, (e.facts ->> 'aged_from')::timestamptz)
         then 'partitions/4/schedule-as-logged' end,
    case when p.partition_id is null
           or case s.status
                when 'open' then s.run_id is distinct from r.last_run
                when 'idle' then p.status is distinct from 'success' or s.reprocesses
                when 'terminal' then p.status is distinct from 'failed'
                else s.reprocesses is distinct from (p.status = 'success') end
           or s.status <> 'open' and r.last_status in ('open', 'published')
              and (s.status in ('waiting', 'held') and s.run_id = r.last_run and r.last_status = 'published'
                   and r.lease_until is null) is not true
           or s.status in ('waiting', 'held', 'terminal') and s.first_dispatched_at is null and r.last_run is not null
         then 'partitions/4/schedule-agrees' end,
    -- What ended and was not followed yet is not counted yet.
    case when case when s.status = 'open' and r.last_status in ('accepted', 'rejected') then false
                   else s.dispatches is distinct from coalesce(n.times, 0) - case
                          when s.status = 'open' and r.last_status in ('lost', 'published') and r.lease_until is null
                               and r.reason <> 'SINK_UNAVAILABLE' then 1 else 0 end end
           or s.attempts_seen > p.attempt_count or s.status <> 'open' and s.attempts_seen <> p.attempt_count
         then 'partitions/4/dispatches' end], null) as broken
    from partitions.schedule s
    full join events e on e.partition_id = s.partition_id
    full join partitions.partition_state p on p.partition_id = coalesce(s.partition_id, e.partition_id)
    left join nothing n on n.partition_id = s.partition_id
    left join runs r on r.partition_id = s.partition_id
   cross join (select '{next_run_at,requested_at,held_at,terminal_at,first_dispatched_at,aged_from}'::text[]
                 as times) t)
select b.breaks, c.partition_id, c.status, c.state, c.run_id, c.last_run, c.last_status, c.dispatches, c.times,
       c.updated_at, c.logged_at
  from compared c cross join unnest(c.broken) b (breaks)
 where c.broken <> '{}'

-- name: terminal
-- Attempts, grants and age do not change while it is terminal.
with versions as (
  select p.version, p.figures -> 'partitions' as figures, p.applied_at,
         lead(p.applied_at) over (order by p.version) as replaced_at
    from recoup.policy p),
marked as (
  select distinct e.partition_id from partitions.partition_event e
   where e.subject = 'schedule' and e.to_status = 'terminal' and e.facts ? 'asked')
select 'partitions/5/terminal-causes' as breaks, s.partition_id, s.terminal_causes, s.terminal_at, s.terminal_policy,
       s.aged_from, s.granted_attempts, p.attempt_count
  from partitions.schedule s
  left join versions v on v.version = s.terminal_policy
  left join partitions.partition_state p on p.partition_id = s.partition_id
  left join marked m on m.partition_id = s.partition_id
 cross join lateral (select partitions.figures(v.figures, s.source, s.query_name) as f) f
 where s.status = 'terminal'
   and (v.version is null or coalesce(cardinality(s.terminal_causes), 0) = 0
        or s.terminal_at < v.applied_at - interval '1 minute' or s.terminal_at > v.replaced_at + interval '1 minute'
        or 'ATTEMPTS' = any(s.terminal_causes)
           and (p.attempt_count >= (f.f ->> 'max_attempts')::integer + s.granted_attempts) is not true
        or 'AGE' = any(s.terminal_causes)
           and (s.terminal_at - s.aged_from >= make_interval(hours => (f.f ->> 'max_age_hours')::integer)) is not true
        or 'MARKED' = any(s.terminal_causes) and m.partition_id is null)

-- name: overrides
with asked as (
  select e.incarnation, e.xid, e.partition_id, e.actor_id, count(*) as times,
         count(*) filter (where e.event_type = 'terminal_lifted' and e.reason is null) as silent,
         count(*) filter (where e.facts ->> 'requested_by' is distinct from e.actor_id
                             or e.authority <> 'recoup_control_plane' and not partitions.is_requested(e)) as others
    from partitions.partition_event e where e.subject = 'schedule' and e.facts ? 'asked' group by 1, 2, 3, 4),
logged as (
  select o.incarnation, o.xid, u.partition_id, o.actor_id, count(*) as times
    from partitions.override_log o cross join unnest(o.partitions) u (partition_id) group by 1, 2, 3, 4)
select 'partitions/8/overrides-are-logged' as breaks, coalesce(a.partition_id, l.partition_id) as partition_id,
       coalesce(a.actor_id, l.actor_id) as actor_id, a.times as asked, l.times as logged
  from asked a
  full join logged l on (l.incarnation, l.xid, l.partition_id, l.actor_id)
                        = (a.incarnation, a.xid, a.partition_id, a.actor_id)
 where a.times is distinct from l.times or a.silent > 0 or a.others > 0
