-- What is guaranteed of batches and of where intakes come from: windows, references, restarts.
-- Every query gives rows whose first column, breaks, is the id of an invariant of invariants.py.

-- name: policies
select 'gate_zero_recovery/5/policy-figures' as breaks, p.version, p.figures -> 'gate' as figures
  from recoup.policy p
 where (p.figures #> '{gate,max_attempts}' = '3' and jsonb_array_length(p.figures #> '{gate,wait_hours}') = 2
        and not p.figures #> '{gate,wait_hours}' @? '$[*] ? (@ < 1)') is not true

-- name: batches
select b.breaks, x.batch_id, x.status, x.completed_at, x.batch_freeze_at, x.frozen_at, x.policy_version, x.expected,
       x.applied_at, x.replaced_at
  from (select x.*, array_remove(array[
            case when x.batch_freeze_at is distinct from x.expected then 'gate_zero_recovery/5/recovery-window' end,
            case when x.frozen_at is not null
                      and (x.frozen_at >= x.batch_freeze_at - interval '10 microseconds') is not true
                 then 'gate_zero_recovery/5/no-early-freeze' end,
            case when x.completed_at is null and x.policy_version is not null
                   or x.completed_at is not null
                      and (x.applied_at is null
                           or (x.policy_version > 1 and x.completed_at < x.applied_at - interval '1 minute')
                           or x.completed_at > x.replaced_at + interval '1 minute') then 'laws/L8/batch-stamped' end
          ], null) as broken
          from (select b.*, p.applied_at, p.replaced_at,
                       b.completed_at
                       + make_interval(hours => 24 * (p.figures #>> '{gate,recovery_window_days}')::integer) as expected
                  from cl.gate_zero_batch b
                  left join (select p.*, lead(p.applied_at) over (order by p.version) as replaced_at
                               from recoup.policy p) p
                         on p.version = b.policy_version) x) x
 cross join unnest(x.broken) b (breaks)
 where x.broken <> '{}'

-- name: references
select 'laws/L4/intake-references' as breaks, i.intake_id, i.batch_id, i.reentered_from, i.retry_of
  from cl.gate_zero_intake i
  left join cl.gate_zero_batch b on b.batch_id = i.batch_id
  left join cl.gate_zero_intake o on o.intake_id = i.reentered_from
  left join cl.gate_zero_intake r on r.intake_id = i.retry_of
 where i.batch_id is not null and b.batch_id is null
    or i.reentered_from is not null and o.intake_id is null
    or i.retry_of is not null and r.intake_id is null

-- name: fresh_starts
-- Each next to the intake that it follows. It came in no earlier than that one ended, which its own EXHAUSTED tells; a
-- minute is allowed, for a server's clock may be set back.
with ended as (
  select e.entity_id, max(e.event_timestamp) as ended_at
    from cl.gate_zero_air e where e.event_type = 'EXHAUSTED' group by e.entity_id),
told as (
  select c.key, c.facts ->> 'retry_of' as retry_of, count(*) as told,
         bool_or(c.authority = 'recoup_executor') as by_candidate
    from recoup.control_log c where c.subject = 'cl.gate_zero_intake' group by 1, 2)
select b.breaks, i.intake_id, i.retry_of, i.status_before, i.created_at, i.ended_at, i.starts
  from (select i.*, array_remove(array[
            case when i.status_before is distinct from 'EXHAUSTED' then 'laws/L4/fresh-start-of-exhausted' end,
            case when i.created_at < i.ended_at - interval '1 minute' then 'laws/L4/fresh-start-after-exhaustion' end,
            case when i.starts > 1 then 'laws/L4/one-fresh-start' end,
            case when i.told is distinct from 1 then 'laws/L2/fresh-start-told' end,
            case when i.by_candidate and i.restarted_before then 'laws/L4/restarted-once-by-recovery' end
          ], null) as broken
          from (select i.intake_id, i.retry_of, i.created_at, o.status as status_before, e.ended_at,
                       count(*) over (partition by i.retry_of) as starts, t.told,
                       t.by_candidate, o.retry_of is not null as restarted_before
                  from cl.gate_zero_intake i
                  left join cl.gate_zero_intake o on o.intake_id = i.retry_of
                  left join ended e on e.entity_id = i.retry_of
                  left join told t on (t.key, t.retry_of) = (i.intake_id::text, i.retry_of::text)
                 where i.retry_of is not null) i) i
 cross join unnest(i.broken) b (breaks)
 where i.broken <> '{}'
union all
select 'laws/L2/fresh-start-told', t.key::uuid, t.retry_of::uuid, null, null, null, t.told
  from told t left join cl.gate_zero_intake i on i.intake_id::text = t.key and i.retry_of::text = t.retry_of
 where i.intake_id is null

-- name: paused_batches
-- The pause of a batch in its row is the last one in the pause log.
with pauses as (
  select distinct on (p.scope_id) p.scope_id, p.event_type, p.reason, p.actor_id, p.logged_at
    from recoup.pause_log p where p.scope = 'batch' order by p.scope_id, p.seq desc)
select 'gate_zero_batch/pauses' as breaks, coalesce(b.batch_id, p.scope_id) as batch_id, b.paused_at, b.paused_by,
       b.pause_reason, p.event_type as told_pause, p.logged_at as told_at, p.actor_id as told_by,
       p.reason as told_reason
  from cl.gate_zero_batch b
  full join pauses p on p.scope_id = b.batch_id
 where b.batch_id is null or (b.paused_at is not null) <> (p.event_type is not distinct from 'PAUSE')
    or b.paused_at is not null
       and (b.paused_by, b.pause_reason, abs(extract(epoch from b.paused_at - p.logged_at)) < 60)
           is distinct from (p.actor_id, p.reason, true)
    or b.paused_at is null and num_nonnulls(b.paused_by, b.pause_reason) > 0

-- name: evidence
-- What outcomes point at, and what is recorded. A minute is allowed, because a server's clock may be set back.
with pointers as (
  select e.attempt_id, e.event_type, e.payload_ref from cl.gate_zero_air e
   where e.event_type in ('PASS', 'AUTH', 'FAIL') and e.payload_ref = 'evidence:' || e.attempt_id),
recorded as (
  select v.attempt_id, min(v.recorded_at) as first_at, max(v.recorded_at) as last_at
    from cl.gate_zero_evidence v group by v.attempt_id)
select 'gate_zero_air/2/evidence' as breaks, p.attempt_id, p.event_type, p.payload_ref, null::timestamptz as recorded_at
  from pointers p
 where not exists (select from recorded r where r.attempt_id = p.attempt_id)
union all
select 'rebuild/cl.gate_zero_evidence', r.attempt_id, o.event_type, o.payload_ref, r.last_at
  from recorded r
  left join cl.gate_zero_air a on a.attempt_id = r.attempt_id and a.event_type = 'ATTEMPT'
  left join cl.gate_zero_air o on o.attempt_id = r.attempt_id and o.event_type in ('PASS', 'FAIL')
 where a.attempt_id is null or r.first_at < a.event_timestamp - interval '1 minute'
    or r.last_at > o.event_timestamp + interval '1 minute'
