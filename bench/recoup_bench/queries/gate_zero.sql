-- Gate Zero by hand: what a competent engineer writes for the same rows without guards, one statement per set.

-- name: tally
select 'intake ' || status, count(*) from {schema}.gate_zero_intake group by 1
union all
select 'attempt ' || attempt_number || ' ' || status, count(*) from {schema}.gate_zero_attempt group by 1
union all
select 'recovery ' || attempt_count || ' ' || status, count(*) from {schema}.gate_zero_recovery group by 1
union all
select 'event ' || event_type || ' ' || reason_code, count(*) from {schema}.gate_zero_air group by 1
order by 1;

-- name: open
-- Attempts and their ATTEMPT events.
with opened as (
  insert into raw.gate_zero_attempt (intake_id, batch_id, attempt_number, worker, opened_at, lease_until,
                                     policy_version)
  select i.intake_id, i.batch_id, 1, 'bench', t.now_, t.now_ + interval '5 minutes', 1
    from raw.gate_zero_intake i, (select clock_timestamp() as now_) t
   where i.intake_id = any(%(batch)s::uuid[]) and i.status = 'PENDING'
  returning attempt_id, intake_id, batch_id, attempt_number, token, opened_at, lease_until),
logged as (
  insert into raw.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation,
                                 attempt_id, actor_id, authority)
  select o.intake_id, 'ATTEMPT', 'START', o.batch_id, 'system', o.opened_at, 1, o.attempt_id, 'bench', 'recoup_gate'
    from opened o)
select attempt_id, intake_id, attempt_number, token, lease_until from opened;

-- name: claim
-- Due retries: the same predicate in the same order, the attempts, the events.
with picked as materialized (
  select r.intake_id, r.batch_id, r.attempt_count
    from raw.gate_zero_recovery r
    left join lateral (select b.paused_at, b.batch_freeze_at from raw.gate_zero_batch b
                        where b.batch_id = r.batch_id limit 1) b on true
    left join lateral (select true as open from raw.gate_zero_attempt a
                        where a.intake_id = r.intake_id and a.status || '' = 'open' limit 1) a on true
   where r.status = 'ACTIVE' and r.next_eligible_at <= now() and a.open is null
     and b.paused_at is null and (b.batch_freeze_at is null or b.batch_freeze_at > now())
   order by r.next_eligible_at limit %(limit)s
     for update of r skip locked),
opened as (
  insert into raw.gate_zero_attempt (intake_id, batch_id, attempt_number, worker, opened_at, lease_until,
                                     policy_version)
  select p.intake_id, p.batch_id, p.attempt_count + 1, 'bench', t.now_, t.now_ + interval '5 minutes', 1
    from picked p, (select clock_timestamp() as now_) t
  returning attempt_id, intake_id, batch_id, attempt_number, token, opened_at, lease_until),
logged as (
  insert into raw.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation,
                                 attempt_id, actor_id, authority)
  select o.intake_id, 'ATTEMPT', 'RETRY', o.batch_id, 'system', o.opened_at, 1, o.attempt_id, 'bench', 'recoup_gate'
    from opened o)
select attempt_id, intake_id, attempt_number, token, lease_until from opened;

-- name: finish_first
-- Outcomes of first attempts, the intakes they decide, the recoveries of those that failed, and the events.
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
    from ended e where i.intake_id = e.intake_id),
recovering as (
  insert into raw.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, created_at,
                                      updated_at)
  select e.intake_id, e.batch_id, e.reason_code, 1, e.finished_at + interval '24 hours', e.finished_at, e.finished_at
    from ended e where e.status = 'failed'),
logged as (
  insert into raw.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation,
                                 attempt_id, actor_id, authority)
  select e.intake_id, event.event_type, event.reason_code, e.batch_id, 'system',
         e.finished_at + event.step * interval '1 microsecond', 1, e.attempt_id, 'bench', 'recoup_gate'
    from ended e
   cross join lateral (values
      (0, 'PASS', 'CHECKS_PASSED', e.status = 'passed'),
      (1, 'AUTH', 'EXISTENCE_CONFIRMED', e.status = 'passed'),
      (0, 'FAIL', e.reason_code, e.status = 'failed')) as event (step, event_type, reason_code, happened)
   where event.happened
   order by e.intake_id, event.step)
select attempt_id, intake_id, status from ended;

-- name: finish
-- Also of retries: recoveries that continue or end, and new intakes after a pass. First attempts would pay for it.
with given as materialized (
  select g.attempt_id, g.token, g.reason_code, g.payload_ref
    from unnest(%(attempts)s::uuid[], %(tokens)s::uuid[], %(reasons)s::text[], %(payloads)s::text[])
         as g (attempt_id, token, reason_code, payload_ref)),
ended as (
  update raw.gate_zero_attempt a
     set status = case when g.reason_code is null then 'passed' else 'failed' end, reason_code = g.reason_code,
         payload_ref = g.payload_ref, finished_at = greatest(t.now_, a.opened_at + interval '1 microsecond'),
         reentered_as = case when g.reason_code is null and a.attempt_number > 1 then recoup.new_id() end
    from given g, (select clock_timestamp() as now_) t
   where a.attempt_id = g.attempt_id and a.token = g.token and a.status || '' = 'open'
  returning a.attempt_id, a.intake_id, a.batch_id, a.attempt_number, a.status, a.reason_code, a.payload_ref,
            a.finished_at, a.reentered_as),
decided as (
  update raw.gate_zero_intake i
     set status = case when e.status = 'failed' then case e.attempt_number when 1 then 'FAILED' else 'EXHAUSTED' end
                       when e.attempt_number = 1 then 'AUTHORIZED' else 'REENTER_SUCCEEDED' end,
         updated_at = e.finished_at
    from ended e
   where i.intake_id = e.intake_id and not (e.status = 'failed' and e.attempt_number = 2)
  returning i.intake_id, i.batch_id, i.company_name, i.company_domain, i.linkedin_url, i.state, e.finished_at,
            e.reentered_as),
recovering as (
  insert into raw.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, created_at,
                                      updated_at)
  select e.intake_id, e.batch_id, e.reason_code, 1, e.finished_at + interval '24 hours', e.finished_at, e.finished_at
    from ended e where e.status = 'failed' and e.attempt_number = 1),
reentered as (
  insert into raw.gate_zero_intake (intake_id, batch_id, company_name, company_domain, linkedin_url, state, status,
                                    reentered_from, created_at, updated_at)
  select d.reentered_as, d.batch_id, d.company_name, d.company_domain, d.linkedin_url, d.state, 'AUTHORIZED',
         d.intake_id, d.finished_at, d.finished_at
    from decided d where d.reentered_as is not null),
tried_again as (
  update raw.gate_zero_recovery r
     set status = case when e.status = 'passed' then 'SUCCEEDED' when e.attempt_number < 3 then 'ACTIVE'
                       else 'EXHAUSTED' end,
         failure_reason = coalesce(e.reason_code, r.failure_reason),
         attempt_count = r.attempt_count + case when e.status = 'failed' then 1 else 0 end,
         next_eligible_at = case when e.status = 'failed' and e.attempt_number < 3
                                 then e.finished_at + interval '72 hours' else recoup.never() end,
         updated_at = e.finished_at
    from ended e where r.intake_id = e.intake_id and e.attempt_number > 1),
logged as (
  insert into raw.gate_zero_air (entity_id, event_type, reason_code, batch_id, payload_ref, actor, event_timestamp,
                                 incarnation, attempt_id, actor_id, authority)
  select e.intake_id, event.event_type, event.reason_code, e.batch_id, event.payload_ref, 'system',
         e.finished_at + event.step * interval '1 microsecond', 1, event.attempt_id, 'bench', 'recoup_gate'
    from ended e
   cross join lateral (values
      (0, 'PASS', 'CHECKS_PASSED', e.payload_ref, e.attempt_id, e.status = 'passed'),
      (1, 'AUTH', 'EXISTENCE_CONFIRMED', e.payload_ref, e.attempt_id, e.status = 'passed'),
      (2, 'REENTER', 'RECOVERY_SUCCESS', 'intake:' || e.reentered_as, e.attempt_id, e.reentered_as is not null),
      (0, 'FAIL', e.reason_code, e.payload_ref, e.attempt_id, e.status = 'failed'),
      (1, 'EXHAUSTED', 'MAX_ATTEMPTS_REACHED', null, null, e.status = 'failed' and e.attempt_number = 3)
   ) as event (step, event_type, reason_code, payload_ref, attempt_id, happened)
   where event.happened
   order by e.intake_id, event.step)
select attempt_id, intake_id, status, reentered_as from ended;

-- name: fill_batches
insert into cl.gate_zero_batch (batch_id, imported_at, completed_at, batch_freeze_at, policy_version)
select b, t.now_ - interval '6 days', t.now_ - interval '6 days', t.now_ + interval '8 days', 1
  from unnest(%(batches)s::text[]) b, (select clock_timestamp() as now_) t;

-- name: fill_intakes
-- Of every twenty the first ones wait for their first attempt, and the others have failed.
insert into cl.gate_zero_intake (intake_id, batch_id, company_name, company_domain, state, status, created_at,
                                 updated_at)
select recoup.new_id(), (%(batches)s::text[])[1 + n %% cardinality(%(batches)s::text[])], 'Company ' || n,
       'company-' || n || '.example', 'TX', case when n %% 20 < %(second)s then 'PENDING' else 'FAILED' end,
       t.now_ - interval '6 days' + n * interval '1 microsecond', t.now_ - interval '5 days'
  from generate_series(0, %(rows)s::integer - 1) n, (select clock_timestamp() as now_) t;

-- name: fill_attempts
-- Each at its first, second or third; that one is open, or is still to come, and those before have failed.
insert into cl.gate_zero_attempt (intake_id, batch_id, attempt_number, status, reason_code, worker, opened_at,
                                  lease_until, finished_at, policy_version)
select i.intake_id, i.batch_id, a.number, case when a.number = i.tries then 'open' else 'failed' end,
       case when a.number < i.tries then 'TIMEOUT' end, 'bench', a.opened_at,
       case when a.number = i.tries then t.now_ + interval '1 hour' else a.opened_at + interval '5 minutes' end,
       case when a.number < i.tries then a.opened_at + interval '1 minute' end, 1
  from (select i.*, 1 + (i.place %% 20 >= %(second)s)::integer + (i.place %% 20 >= %(third)s)::integer as tries
          from (select i.*, row_number() over (order by i.created_at) - 1 as place
                  from cl.gate_zero_intake i where i.batch_id = any(%(batches)s)) i) i,
       (select clock_timestamp() as now_) t
 cross join lateral (
   select number, t.now_ - ('{130 hours,100 hours,1 minute}'::interval[])[number + 3 - i.tries] as opened_at
     from generate_series(1, i.tries - (not %(open)s)::integer) number) a
 order by i.created_at, a.number;

-- name: fill_recoveries
-- The first of them, which are the oldest, have been due for an hour; the others in a day.
insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, created_at,
                                   updated_at)
select i.intake_id, i.batch_id, 'TIMEOUT', 1 + (i.place %% 20 >= %(third)s)::integer, i.place * interval '1 millisecond'
         + case when i.place < %(due)s then t.now_ - interval '1 hour' else t.now_ + interval '1 day' end,
       i.updated_at, i.updated_at
  from (select i.*, row_number() over (order by i.created_at) - 1 as place
          from cl.gate_zero_intake i where i.batch_id = any(%(batches)s)) i, (select clock_timestamp() as now_) t
 where i.status = 'FAILED'
 order by i.created_at;

-- name: fill_events
insert into cl.gate_zero_air (entity_id, event_type, reason_code, batch_id, actor, event_timestamp, incarnation,
                              attempt_id, actor_id, authority)
select a.intake_id, event.event_type, event.reason_code, a.batch_id, 'system', event.at, 1, a.attempt_id, 'bench',
       'recoup_gate'
  from cl.gate_zero_attempt a
 cross join lateral (values ('ATTEMPT', case a.attempt_number when 1 then 'START' else 'RETRY' end, a.opened_at),
                            ('FAIL', a.reason_code, a.finished_at)) event (event_type, reason_code, at)
 where a.batch_id = any(%(batches)s) and event.reason_code is not null
 order by a.attempt_id, event.at;

-- name: open_attempts
select a.attempt_id, a.intake_id, a.attempt_number, a.token, a.lease_until
  from cl.gate_zero_attempt a join cl.gate_zero_intake i on i.intake_id = a.intake_id
 where a.batch_id = any(%(batches)s) and a.status = 'open'
 order by i.created_at;
