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

-- name: attempts
-- Every attempt on these intakes: at most three each.
select a.attempt_id, a.intake_id, a.attempt_number, a.status, a.reason_code, a.worker, a.opened_at, a.lease_until,
       a.finished_at, a.payload_ref, a.reentered_as
  from cl.gate_zero_attempt a
 where a.intake_id = any(%(intakes)s::uuid[])
 order by a.intake_id, a.attempt_number;

-- name: followers
-- The intakes that came of one: its re-entry, and its restarts.
(select i.intake_id, 'reentered' as how, i.status, i.created_at
   from cl.gate_zero_intake i where i.reentered_from = %(intake_id)s limit 1)
union all
(select i.intake_id, 'restarted', i.status, i.created_at
   from cl.gate_zero_intake i where i.retry_of = %(intake_id)s order by i.intake_id limit %(limit)s);

-- name: funnel_among
-- Of the first intakes of a batch: a page reads no more, however large the batch is.
with chosen as materialized (
  select i.intake_id, i.status, i.reentered_from from cl.gate_zero_intake i
   where i.batch_id = %(batch_id)s order by i.intake_id limit %(most)s)
select count(*) filter (where s.reentered_from is null),
       count(*) filter (where s.status = 'AUTHORIZED' and s.reentered_from is null),
       count(*) filter (where s.status = 'REENTER_SUCCEEDED'),
       count(*) filter (where s.status = 'PENDING'),
       count(*) filter (where s.status = 'FAILED'),
       count(*) filter (where s.status = 'EXHAUSTED'),
       count(*) filter (where m.minted),
       count(*) filter (where a.open),
       count(*)
  from chosen s
  left join lateral (select true as minted from cl.company_identity c
                      where s.status = 'AUTHORIZED' and c.intake_id = s.intake_id limit 1) m on true
  left join lateral (select true as open from cl.gate_zero_attempt a
                      where s.status in ('PENDING', 'FAILED') and a.intake_id = s.intake_id and a.status = 'open'
                      limit 1) a on true;

-- name: failures_among
with chosen as materialized (
  select i.intake_id from cl.gate_zero_intake i
   where i.batch_id = %(batch_id)s order by i.intake_id limit %(most)s)
select a.reason_code, count(*)
  from chosen s
 cross join lateral (select a.reason_code from cl.gate_zero_attempt a
                      where a.intake_id = s.intake_id and a.status in ('failed', 'crashed') limit 3) a
 group by a.reason_code
 order by count(*) desc, a.reason_code;
