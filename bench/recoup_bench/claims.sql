-- The claim of due retries by hand: the same predicate in the same order, the attempts, the events; no guards.

-- name: claim
with picked as materialized (
  select r.intake_id, r.batch_id, r.attempt_count
    from raw.gate_zero_recovery r
    left join lateral (select b.paused_at, b.batch_freeze_at from raw.gate_zero_batch b
                        where b.batch_id = r.batch_id limit 1) b on true
    left join lateral (select true as open from raw.gate_zero_attempt a
                        where a.intake_id = r.intake_id and a.status || '' = 'open' limit 1) a on true
   where r.status = 'ACTIVE' and r.next_eligible_at <= now()
     and b.paused_at is null and (b.batch_freeze_at is null or b.batch_freeze_at > now())
     and a.open is null
   order by r.next_eligible_at
   limit %(limit)s
     for update of r skip locked),
opened as (
  insert into raw.gate_zero_attempt (intake_id, batch_id, attempt_number, worker, opened_at, lease_until, policy_version)
  select p.intake_id, p.batch_id, p.attempt_count + 1, %(worker)s, t.now_, t.now_ + interval '5 minutes', 1
    from picked p, (select clock_timestamp() as now_) t
  returning attempt_id, intake_id, batch_id, attempt_number, token, opened_at, lease_until),
told as (
  insert into raw.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation, attempt_id, actor_id, authority)
  select o.intake_id, 'ATTEMPT', 'RETRY', o.batch_id, 'system', o.opened_at, 1, o.attempt_id, %(actor)s, 'recoup_gate'
    from opened o)
select attempt_id, intake_id, attempt_number, token, lease_until from opened;

-- name: fail
-- Not timed: what was claimed fails a second time, so that the next claim does not find it at the front.
with ended as (
  update raw.gate_zero_attempt a
     set status = 'failed', reason_code = 'TIMEOUT', finished_at = clock_timestamp()
    from unnest(%(attempts)s::uuid[]) g (attempt_id)
   where a.attempt_id = g.attempt_id
  returning a.attempt_id, a.intake_id, a.batch_id, a.finished_at),
waiting as (
  update raw.gate_zero_recovery r
     set failure_reason = 'TIMEOUT', attempt_count = r.attempt_count + 1,
         next_eligible_at = e.finished_at + interval '72 hours', updated_at = e.finished_at
    from ended e
   where r.intake_id = e.intake_id)
insert into raw.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation, attempt_id, actor_id, authority)
select e.intake_id, 'FAIL', 'TIMEOUT', e.batch_id, 'system', e.finished_at, 1, e.attempt_id, %(actor)s, 'recoup_gate'
  from ended e;

-- name: fill_batches
insert into cl.gate_zero_batch (batch_id, imported_at, completed_at, batch_freeze_at, policy_version)
select 'bench-' || b, t.now_ - interval '3 days', t.now_ - interval '2 days', t.now_ + interval '12 days', 1
  from generate_series(1, %(batches)s::integer) b, (select clock_timestamp() as now_) t;

-- name: fill_intakes
-- Failed two days ago. The first of them, which are the oldest, are due; the others will be within a day.
insert into cl.gate_zero_intake (intake_id, batch_id, company_name, company_domain, state, status, created_at, updated_at)
select recoup.new_id(), 'bench-' || 1 + n %% %(batches)s::integer, 'Company ' || n, 'company-' || n || '.example', 'TX', 'FAILED',
       t.now_ - interval '2 days' + n * interval '1 microsecond', t.now_ - interval '1 day'
  from generate_series(1, %(rows)s::integer) n, (select clock_timestamp() as now_) t;

-- name: fill_attempts
insert into cl.gate_zero_attempt (intake_id, batch_id, attempt_number, status, reason_code, worker, opened_at, lease_until, finished_at, policy_version)
select i.intake_id, i.batch_id, 1, 'failed', 'TIMEOUT', 'bench', i.updated_at, i.updated_at + interval '5 minutes',
       i.updated_at + interval '1 minute', 1
  from cl.gate_zero_intake i order by i.created_at;

-- name: fill_recoveries
insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, created_at, updated_at)
select i.intake_id, i.batch_id, 'TIMEOUT', 1,
       case when row_number() over (order by i.created_at) <= %(due)s then t.now_ - interval '1 hour' else t.now_ + interval '1 day' end
         + row_number() over (order by i.created_at) * interval '1 millisecond',
       i.updated_at, i.updated_at
  from cl.gate_zero_intake i, (select clock_timestamp() as now_) t order by i.created_at;

-- name: fill_events
insert into cl.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation, attempt_id, actor_id, authority)
select a.intake_id, said.event_type, said.reason_code, a.batch_id, 'system', said.at, 1, a.attempt_id, 'bench', 'recoup_gate'
  from cl.gate_zero_attempt a
 cross join lateral (values ('ATTEMPT', 'START', a.opened_at), ('FAIL', a.reason_code, a.finished_at)) said (event_type, reason_code, at)
 order by a.attempt_id;
