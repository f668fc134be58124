-- What a competent person writes who needs the same rows and no guards: one statement per transaction, over a set.

-- name: open
-- Attempts and their ATTEMPT events.
with opened as (
  insert into raw.gate_zero_attempt (intake_id, batch_id, attempt_number, worker, opened_at, lease_until, policy_version)
  select i.intake_id, i.batch_id, 1, %(worker)s, t.now_, t.now_ + interval '5 minutes', 1
    from raw.gate_zero_intake i, (select clock_timestamp() as now_) t
   where i.intake_id = any(%(intakes)s::uuid[]) and i.status = 'PENDING'
  returning attempt_id, intake_id, batch_id, attempt_number, token, opened_at, lease_until),
told as (
  insert into raw.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation, attempt_id, actor_id, authority)
  select o.intake_id, 'ATTEMPT', 'START', o.batch_id, 'system', o.opened_at, 1, o.attempt_id, %(actor)s, 'recoup_gate'
    from opened o)
select attempt_id, intake_id, attempt_number, token, lease_until from opened;

-- name: finish
-- Outcomes, the intakes they decide, the recoveries of those that failed, and the events.
with given as materialized (
  select g.attempt_id, g.token, g.reason_code
    from unnest(%(attempts)s::uuid[], %(tokens)s::uuid[], %(reasons)s::text[]) as g(attempt_id, token, reason_code)),
ended as (
  update raw.gate_zero_attempt a
     set status = case when g.reason_code is null then 'passed' else 'failed' end, reason_code = g.reason_code,
         finished_at = greatest(t.now_, a.opened_at + interval '1 microsecond')
    from given g, (select clock_timestamp() as now_) t
   where a.attempt_id = g.attempt_id and a.token = g.token and a.status || '' = 'open'
  returning a.attempt_id, a.intake_id, a.batch_id, a.status, a.reason_code, a.finished_at),
decided as (
  update raw.gate_zero_intake i
     set status = case when e.status = 'passed' then 'AUTHORIZED' else 'FAILED' end, updated_at = e.finished_at
    from ended e
   where i.intake_id = e.intake_id),
recovering as (
  insert into raw.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, created_at, updated_at)
  select e.intake_id, e.batch_id, e.reason_code, 1, e.finished_at + interval '24 hours', e.finished_at, e.finished_at
    from ended e where e.status = 'failed'),
told as (
  insert into raw.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation, attempt_id, actor_id, authority)
  select e.intake_id, said.event_type, said.reason_code, e.batch_id, 'system', e.finished_at + said.step * interval '1 microsecond',
         1, e.attempt_id, %(actor)s, 'recoup_gate'
    from ended e
   cross join lateral (values (0, 'PASS', 'CHECKS_PASSED', e.status = 'passed'),
                              (1, 'AUTH', 'EXISTENCE_CONFIRMED', e.status = 'passed'),
                              (0, 'FAIL', e.reason_code, e.status = 'failed')) as said (step, event_type, reason_code, happened)
   where said.happened
   order by e.intake_id, said.step)
select attempt_id, intake_id, status from ended;
