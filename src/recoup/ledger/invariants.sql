-- What every log promises, and what the control log and the pause log say of the rows behind them.
-- Every query gives rows whose first column, breaks, is the id of an invariant of invariants.py.

-- name: logs
-- One order over all logs; cluster by cluster; nothing from a transaction or a time that is still to come.
with told (log, seq, xid, incarnation, told_at) as (
  select 'cl.gate_zero_air', seq, xid, incarnation, event_timestamp from cl.gate_zero_air
  union all select 'cl.sovereign_mint_air', seq, xid, incarnation, event_timestamp from cl.sovereign_mint_air
  union all select 'recoup.error_event', seq, xid, incarnation, logged_at from recoup.error_event
  union all select 'recoup.pause_log', seq, xid, incarnation, logged_at from recoup.pause_log
  union all select 'recoup.control_log', seq, xid, incarnation, logged_at from recoup.control_log
  union all select 'recoup.policy', seq, xid, incarnation, applied_at from recoup.policy
  union all select 'recoup.late_result', seq, xid, incarnation, received_at from recoup.late_result),
summed as (
  select t.log, t.incarnation, min(t.seq) as first_seq, max(t.seq) as last_seq, max(t.xid) as last_xid, max(t.told_at) as last_at
    from told t group by t.log, t.incarnation),
beside as (
  select s.*, lag(s.last_seq) over (partition by s.log order by s.incarnation) as before_seq, i.incarnation as known,
         s.incarnation = (select max(p.incarnation) from recoup.incarnation p) as present
    from summed s left join recoup.incarnation i on i.incarnation = s.incarnation)
select b.breaks, s.log, s.incarnation, s.first_seq, s.last_seq, s.last_xid, s.last_at
  from (select s.*, array_remove(array[
            case when s.known is null or s.first_seq <= s.before_seq then 'laws/L3/incarnations' end,
            -- Of this cluster: a restored one goes on with lower ids. And a transaction's own may be beyond its snapshot.
            case when s.present and s.last_xid >= pg_snapshot_xmax(pg_current_snapshot())
                      and s.last_xid is distinct from pg_current_xact_id_if_assigned() then 'laws/L3/transactions' end,
            case when s.last_at > (select recoup.now()) + interval '1 second' then 'laws/L7/nothing-to-come' end
          ], null) as broken
          from beside s) s
 cross join unnest(s.broken) b (breaks)
 where s.broken <> '{}'

-- name: one_order
with told (log, seq) as (
  select 'cl.gate_zero_air', seq from cl.gate_zero_air
  union all select 'cl.sovereign_mint_air', seq from cl.sovereign_mint_air
  union all select 'recoup.error_event', seq from recoup.error_event
  union all select 'recoup.pause_log', seq from recoup.pause_log
  union all select 'recoup.control_log', seq from recoup.control_log
  union all select 'recoup.policy', seq from recoup.policy
  union all select 'recoup.late_result', seq from recoup.late_result)
select 'laws/L3/one-order' as breaks, t.seq, t.log
  from told t
  join (select d.seq from told d group by d.seq having count(*) > 1) twice on twice.seq = t.seq

-- name: authorities
-- Each recorded step is one that its lifecycle lists for the authority that made it.
select 'laws/L1/control-authority' as breaks, c.seq, c.subject, c.key, c.event_type, c.from_status, c.to_status, c.authority
  from recoup.control_log c
  left join recoup.lifecycle_step s on s.subject = c.subject and s.from_status is not distinct from c.from_status
        and s.to_status is not distinct from c.to_status and c.authority = 'recoup_' || s.authority
        and s.kind = case c.event_type when 'BIRTH' then 'birth' when 'MOVE' then 'move' else 'exit' end
 where s.subject is null
union all
select 'laws/L1/control-authority', p.seq, 'recoup.pause_log', p.scope || ' ' || p.scope_id, p.event_type, null, null, p.authority
  from recoup.pause_log p where p.authority <> 'recoup_operator'

-- name: policies
select 'laws/L8/versions' as breaks, p.version, p.expected, p.applied_at, p.before_at
  from (select p.version, row_number() over (order by p.version) as expected, p.applied_at,
               lag(p.applied_at) over (order by p.version) as before_at
          from recoup.policy p) p
 where p.version <> p.expected or p.applied_at < p.before_at
union all
select 'laws/L8/versions', null, 1, null, null where not exists (select from recoup.policy)

-- name: late_results
-- A late result belongs to a unit of work that had been given up, or it carries another token: else it was to be applied.
select 'laws/L5/late-results' as breaks, l.late_result_id, l.subject, l.unit_id, l.received_at, a.status, a.finished_at
  from recoup.late_result l
  left join cl.gate_zero_attempt a on a.attempt_id::text = l.unit_id
 where l.subject = 'cl.gate_zero_attempt'
   and (a.attempt_id is null or a.token = l.token and (a.status = 'open' or a.finished_at > l.received_at + interval '1 second'))
union all
-- An error is a unit of work for each of its retries: whose token it holds, of that one the result is not late.
select 'laws/L5/late-results', l.late_result_id, l.subject, l.unit_id, l.received_at, e.status, e.lease_until
  from recoup.late_result l
  left join recoup.error e on e.error_table || '/' || e.error_id = l.unit_id
  left join (select t.error_table || '/' || t.error_id as unit_id from recoup.error_event t where t.event_type = 'RECORDED') told on told.unit_id = l.unit_id
 where l.subject = 'recoup.error' and (told.unit_id is null or e.token = l.token)

-- name: clock
-- One row, and recoup.now() is what it says.
select 'laws/L7/clock' as breaks, c.status, c.at, c.released_at, recoup.now() as now_
  from (select) only_once
  left join recoup.clock c on true
 where (select count(*) from recoup.clock) <> 1
    or case c.status when 'simulated' then recoup.now() = c.at
            else abs(extract(epoch from clock_timestamp() - recoup.now())) < 60 end is not true

-- name: rebuild_clock
-- The row itself is made by `recoup migrate`, which also writes the first policy, by that clock. Moves are told.
-- A release from before the control log is known by the time of that migration.
with events as (
  select c.seq, c.event_type, c.from_status, c.to_status, c.facts, lag(c.to_status) over of_clock as before_status,
         lag((c.facts ->> 'at')::timestamptz) over of_clock as before_at, row_number() over of_clock as place
    from recoup.control_log c where c.subject = 'recoup.clock'
  window of_clock as (order by c.seq)),
last as (
  select e.to_status, (e.facts ->> 'at')::timestamptz as at, (e.facts ->> 'released_at')::timestamptz as released_at
    from events e order by e.seq desc limit 1)
select 'rebuild/recoup.clock' as breaks, c.status, c.at, c.released_at, l.to_status as told_status, l.at as told_at,
       l.released_at as told_released_at, null::bigint as seq
  from recoup.clock c left join last l on true
 where case when l.to_status is not null then (l.to_status, l.at, l.released_at) is distinct from (c.status, c.at, c.released_at)
            when c.status = 'released' then c.released_at > (select min(m.applied_at) from recoup.migration m where m.name like '0003%')
            when c.status = 'simulated' then c.at is distinct from (select p.applied_at from recoup.policy p where p.version = 1) end
union all
select 'rebuild/recoup.clock', e.from_status, e.before_at, null, e.to_status, (e.facts ->> 'at')::timestamptz, null, e.seq
  from events e
 where e.event_type <> 'MOVE' or e.place > 1 and (e.from_status <> e.before_status or (e.facts ->> 'at')::timestamptz < e.before_at)

-- name: rebuild_pauses
with last as (
  select distinct on (p.scope, p.scope_id) p.scope, p.scope_id, p.event_type, p.reason
    from recoup.pause_log p where p.scope <> 'batch' order by p.scope, p.scope_id, p.seq desc),
chain as (
  select p.scope, p.scope_id, bool_or(p.event_type is not distinct from p.before_type or p.before_type is null and p.event_type = 'RESUME') as broken
    from (select p.scope, p.scope_id, p.event_type, lag(p.event_type) over (partition by p.scope, p.scope_id order by p.seq) as before_type
            from recoup.pause_log p where p.scope <> 'batch') p
   group by p.scope, p.scope_id)
select 'rebuild/recoup.pause' as breaks, coalesce(p.scope, l.scope) as scope, coalesce(p.scope_id, l.scope_id) as scope_id, p.status,
       l.event_type as told, p.reason, l.reason as told_reason
  from recoup.pause p
  full join last l on l.scope = p.scope and l.scope_id = p.scope_id
  left join chain c on c.scope = coalesce(p.scope, l.scope) and c.scope_id = coalesce(p.scope_id, l.scope_id)
 where p.status is distinct from case l.event_type when 'PAUSE' then 'PAUSED' when 'RESUME' then 'RUNNING' end
    or p.reason is distinct from l.reason or c.broken

-- name: rebuild_workers
with events as (
  select c.key, c.seq, c.event_type, c.from_status, c.to_status, c.facts, lag(c.to_status) over of_key as before_status,
         row_number() over of_key as place, row_number() over (partition by c.key order by c.seq desc) as from_end
    from recoup.control_log c where c.subject = 'recoup.worker'
  window of_key as (partition by c.key order by c.seq)),
chain as (
  select e.key, bool_and(case when e.place = 1 then e.event_type = 'BIRTH' else e.event_type = 'MOVE' and e.from_status = e.before_status end) as unbroken,
         max(e.to_status) filter (where e.from_end = 1) as told_status, max(e.facts ->> 'ended_at') filter (where e.from_end = 1) as ended_at,
         max(e.facts ->> 'name') filter (where e.place = 1) as name
    from events e group by e.key)
select 'rebuild/recoup.worker' as breaks, coalesce(w.worker_id::text, c.key) as worker_id, w.name, c.name as told_name, w.status, c.told_status,
       w.ended_at, c.ended_at as told_ended_at, c.unbroken
  from recoup.worker w
  full join chain c on c.key = w.worker_id::text
 where w.worker_id is null or c.key is null or not c.unbroken
    or (w.status, w.name, w.ended_at) is distinct from (c.told_status, c.name, c.ended_at::timestamptz)
