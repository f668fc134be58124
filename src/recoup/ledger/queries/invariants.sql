-- Invariants of the control log and the pause log, of the clock and of the policy.
-- Every query gives rows whose first column, breaks, is the id of an invariant of invariants.py.

-- name: authorities
select 'laws/L1/pause-authority' as breaks, p.seq, p.scope, p.scope_id, p.event_type, p.authority
  from recoup.pause_log p where p.authority <> 'recoup_operator'

-- name: policies
select 'laws/L8/versions' as breaks, p.version, p.expected, p.applied_at, p.before_at
  from (select p.version, row_number() over (order by p.version) as expected, p.applied_at,
               lag(p.applied_at) over (order by p.version) as before_at
          from recoup.policy p) p
 where p.version <> p.expected or p.applied_at < p.before_at
union all
select 'laws/L8/versions', null, 1, null, null where not exists (select from recoup.policy)

-- name: clock
-- One row, and recoup.now() returns its time.
select 'laws/L7/clock' as breaks, c.status, c.at, c.released_at, recoup.now() as now_
  from (select) only_once
  left join recoup.clock c on true
 where (select count(*) from recoup.clock) <> 1 or not c.only_row
    or case c.status when 'simulated' then recoup.now() = c.at
            else abs(extract(epoch from clock_timestamp() - recoup.now())) < 60 end is not true

-- name: rebuild_clock
-- `recoup migrate` inserts the row and, by that clock, the first policy. Moves are logged. A release from before the
-- control log is recognised by the time of that migration.
with events as (
  select c.seq, c.event_type, c.from_status, c.to_status, c.facts, lag(c.to_status) over of_clock as before_status,
         lag((c.facts ->> 'at')::timestamptz) over of_clock as before_at, row_number() over of_clock as place
    from recoup.control_log c where c.subject = 'recoup.clock'
  window of_clock as (order by c.seq)),
last as (
  select e.to_status, (e.facts ->> 'at')::timestamptz as at, (e.facts ->> 'released_at')::timestamptz as released_at
    from events e order by e.seq desc limit 1)
select 'rebuild/recoup.clock' as breaks, c.status, c.at, c.released_at, l.to_status as logged_status,
       l.at as recorded_at, l.released_at as logged_released_at, null::bigint as seq
  from recoup.clock c left join last l on true
 where case when l.to_status is not null
            then (l.to_status, l.at, l.released_at) is distinct from (c.status, c.at, c.released_at)
            when c.status = 'released'
            then c.released_at > (select min(m.applied_at) from recoup.migration m where m.name like '0003%')
            when c.status = 'simulated'
            then c.at is distinct from (select p.applied_at from recoup.policy p where p.version = 1) end
union all
select 'rebuild/recoup.clock', e.from_status, e.before_at, null,
       e.to_status, (e.facts ->> 'at')::timestamptz, null, e.seq
  from events e
 where e.event_type <> 'MOVE'
    or e.place > 1 and (e.from_status <> e.before_status or (e.facts ->> 'at')::timestamptz < e.before_at)

-- name: rebuild_pauses
with last as (
  select distinct on (p.scope, p.scope_id) p.scope, p.scope_id, p.event_type, p.reason, p.actor_id, p.logged_at
    from recoup.pause_log p where p.scope <> 'batch' order by p.scope, p.scope_id, p.seq desc),
chain as (
  select p.scope, p.scope_id,
         bool_or(p.event_type is not distinct from p.before_type
                 or p.before_type is null and p.event_type = 'RESUME') as broken
    from (select p.scope, p.scope_id, p.event_type,
                 lag(p.event_type) over (partition by p.scope, p.scope_id order by p.seq) as before_type
            from recoup.pause_log p where p.scope <> 'batch') p
   group by p.scope, p.scope_id)
select 'rebuild/recoup.pause' as breaks, coalesce(p.scope, l.scope) as scope,
       coalesce(p.scope_id, l.scope_id) as scope_id, p.status, l.event_type as logged, p.reason,
       l.reason as logged_reason, p.changed_by, l.actor_id as logged_by, p.changed_at, l.logged_at as recorded_at
  from recoup.pause p
  full join last l on l.scope = p.scope and l.scope_id = p.scope_id
  left join chain c on c.scope = coalesce(p.scope, l.scope) and c.scope_id = coalesce(p.scope_id, l.scope_id)
 where p.status is distinct from case l.event_type when 'PAUSE' then 'PAUSED' when 'RESUME' then 'RUNNING' end
    or (p.reason, p.changed_by) is distinct from (l.reason, l.actor_id) or c.broken
    or (abs(extract(epoch from p.changed_at - l.logged_at)) < 60) is not true

-- name: late_results
-- A late result belongs to a unit of work: a row of a table whose rows are claimed, or worked on under a token.
select 'laws/L5/late-results' as breaks, l.late_result_id, l.subject, l.unit_id
  from recoup.late_result l
  left join recoup.pausable p on p.scope = 'table' and p.name = l.subject
  left join (select c.subject from recoup.lifecycle c
               join pg_attribute a on a.attrelid = to_regclass(c.subject) and a.attname = 'token') t
         on t.subject = l.subject
 where p.name is null and t.subject is null
