-- What is shown of Gate Zero. Read only.

-- name: history
-- With what the check that decided found, once per attempt.
select a.entity_id as intake_id, a.event_type, a.reason_code, a.event_timestamp, a.payload_ref, a.actor, a.actor_id,
       (select e.check_name || ': ' || e.message from cl.gate_zero_evidence e
         where e.attempt_id = a.attempt_id and a.event_type in ('PASS', 'FAIL')
           and starts_with(a.payload_ref, 'evidence:')
         order by e.check_number desc limit 1) as evidence
  from cl.gate_zero_air a
 where a.entity_id = any(%(intakes)s::uuid[])
 order by a.entity_id, a.event_timestamp;

-- name: evidence
select e.attempt_id, e.check_number, e.check_name, e.status, e.finding, e.message, e.duration_ms, e.recorded_at
  from cl.gate_zero_attempt a
 cross join lateral (select * from cl.gate_zero_evidence e where e.attempt_id = a.attempt_id) e
 where a.intake_id = any(%(intakes)s::uuid[])
 order by a.intake_id, a.attempt_number, e.check_number;

-- name: funnel
-- Re-entered intakes are the same companies once more, and are counted with their origins.
select count(*) filter (where i.reentered_from is null),
       count(*) filter (where i.status = 'AUTHORIZED' and i.reentered_from is null),
       count(*) filter (where i.status = 'REENTER_SUCCEEDED'),
       count(*) filter (where i.status = 'PENDING'),
       count(*) filter (where i.status = 'FAILED'),
       count(*) filter (where i.status = 'EXHAUSTED'),
       (select count(*) from cl.sovereign_mint_air m
         where %(batch_id)s::text is null or m.batch_id = %(batch_id)s::text),
       (select count(*) from cl.gate_zero_attempt a
         where a.status = 'open' and (%(batch_id)s::text is null or a.batch_id = %(batch_id)s::text))
  from cl.gate_zero_intake i
 where %(batch_id)s::text is null or i.batch_id = %(batch_id)s::text;

-- name: failures_by_reason
select a.reason_code, count(*)
  from cl.gate_zero_air a
 where a.event_type = 'FAIL' and (%(batch_id)s::text is null or a.batch_id = %(batch_id)s::text)
 group by a.reason_code
 order by count(*) desc, a.reason_code;
