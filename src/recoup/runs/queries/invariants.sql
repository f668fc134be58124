-- The rules of runs. Every query gives rows whose first column, breaks, is the id of an invariant of invariants.py.

-- name: runs
-- The rows compared with their events in the trace: who runs it, what became of it, and that none of it changed since.
with events as (
  select t.run_id, count(*) as events, count(*) filter (where t.event_type = 'note') as notes,
         count(*) filter (where t.event_type = 'crashed') as crashes,
         (array_agg(t.facts order by t.seq))[1] as born,
         (array_agg(t.facts order by t.seq) filter (where t.event_type in ('queued', 'started'))) as owned,
         (array_agg(t.logged_at order by t.seq))[1] as born_at,
         (array_agg(t.token order by t.seq desc))[1] as token,
         (array_agg(t.facts ->> 'started_at' order by t.seq) filter (where t.event_type = 'started'))[1] as started_at,
         (array_agg(t.reason order by t.seq desc) filter (where t.event_type = 'note'))[1] as note,
         (array_agg(t.event_type order by t.seq desc))[1] as last_event,
         (array_agg(t.reason order by t.seq desc))[1] as reason,
         (array_agg(t.facts order by t.seq desc))[1] as facts,
         (array_agg(t.authority order by t.seq desc))[1] as authority,
         (array_agg(t.logged_at order by t.seq desc))[1] as last_at
    from recovery.run_trace t group by t.run_id),
compared as (
  select coalesce(r.run_id, e.run_id) as run_id, r.status, e.last_event, r.finished_at, array_remove(array[
    case when r.run_id is null or e.run_id is null then 'recovery/P3' end,
    case when r.status = 'crashed' and (e.crashes is distinct from 1 or e.last_event is distinct from 'crashed'
              or e.reason is distinct from r.crash_reason or e.authority is distinct from 'recoup_orphan_recovery')
           or r.status <> 'crashed' and e.crashes > 0 then 'recovery/PB-S2' end,
    case when r.status in ('succeeded', 'failed', 'crashed') and (
                e.last_event is distinct from r.status
                or (e.facts ->> 'finished_at')::timestamptz is distinct from r.finished_at
                or (e.facts ->> 'heartbeat_at')::timestamptz is distinct from r.heartbeat_at
                or e.facts ->> 'result' is distinct from recovery.digest(r.result)
                or r.status <> 'crashed' and (e.reason is distinct from r.message or r.ended_with <> r.token))
         then 'recovery/P2/run' end,
    case when (e.owned[cardinality(e.owned)] ->> 'owner', e.owned[cardinality(e.owned)] ->> 'worker_id')
                is distinct from (r.owner, r.worker_id::text)
           or e.started_at::timestamptz is distinct from r.started_at
           or e.token is distinct from r.token or e.notes is distinct from r.notes::bigint
           or e.note is distinct from r.note or e.born_at is distinct from r.created_at
         then 'runs/trace/agrees' end], null) as broken
    from recovery.run r full join events e on e.run_id = r.run_id)
select b.breaks, c.run_id, c.status, c.last_event, c.finished_at
  from compared c cross join unnest(c.broken) b (breaks)
 where c.broken <> '{}'

-- name: retries
-- A retry is a new run: a copy of one that had failed or crashed before. No run is retried twice.
select 'recovery/PB-S1' as breaks, r.run_id, r.retry_of, o.status, r.created_at, o.finished_at
  from recovery.run r
  left join recovery.run o on o.run_id = r.retry_of and o.run_id <> r.run_id
 where r.retry_of is not null
   and (o.status is null or o.status not in ('failed', 'crashed') or o.finished_at > r.created_at
        or (r.kind, r.source, r.input) is distinct from (o.kind, o.source, o.input) or r.candidate_id is null)
    or r.retry_of is null and num_nonnulls(r.candidate_id, r.retry_with) > 0
    or exists (select from recovery.run x where x.retry_of = r.retry_of and x.run_id <> r.run_id)

-- name: orphans
-- What was orphaned long before the duty last ran is marked. It waits for workers that a moved clock left behind.
select 'recovery/EC-2' as breaks, r.run_id, r.status, r.heartbeat_at, w.ended_at, t.last_run_at
  from (select max(t.last_run_at) as last_run_at from recoup.duty_tally t
         where t.duty = 'orphaned-runs' and t.last_run_at > coalesce(t.last_failed_at, '-infinity')) t
 cross join (select p.figures -> 'runs' as runs from recoup.policy p order by p.version desc limit 1) p
  join recovery.run r on r.status in ('queued', 'running')
  left join recoup.worker w on w.worker_id = r.worker_id and w.status <> 'running'
 where (r.heartbeat_at < t.last_run_at - 2 * make_interval(mins => (p.runs ->> 'orphan_threshold_minutes')::integer)
        or w.ended_at < t.last_run_at - interval '1 hour' and (r.heartbeat_at is null or r.heartbeat_at <= w.ended_at))
   and not exists (select from recoup.worker b where b.status = 'running' and b.heartbeat_at < t.last_run_at
                                                                              - interval '2 minutes')

-- name: late_results
-- A late result belongs to a run that had ended, or carries another token than it: else it was to be applied.
select 'laws/L5/late-runs' as breaks, l.late_result_id, l.unit_id, l.received_at, r.status, r.finished_at
  from recoup.late_result l
  left join recovery.run r on r.run_id::text = l.unit_id
 where l.subject = 'recovery.run'
   and (r.run_id is null
        or r.token = l.token and (r.status = 'running' or r.finished_at > l.received_at + interval '1 second'))
