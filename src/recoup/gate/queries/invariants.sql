-- Invariants of the documents cl.gate_zero_recovery and cl.gate_zero_air: queries for the rows that break them.
--
-- Every query returns rows whose first column, breaks, is the id of an invariant of invariants.py; the other columns
-- show what was found. One query serves all invariants that need the same pass over the rows: the log is sorted once,
-- not once per invariant. No trailing semicolons: the audit wraps these queries. Nothing here relies on an index or a
-- constraint: they are what is checked.
--
-- Ten microseconds are allowed where a wait is measured: events of one instant lie microseconds apart, and a wait runs
-- from the time itself. A minute is allowed where two transactions met: what had begun when a batch was paused or its
-- window closed may finish.

-- name: recovery_rows
-- What a row of cl.gate_zero_recovery must be by itself.
select b.breaks, r.recovery_id, r.intake_id, r.failure_reason, r.attempt_count, r.next_eligible_at, r.status,
       r.created_at, r.updated_at
  from (select r.*, array_remove(array[
            case when num_nulls(r.recovery_id, r.intake_id, r.failure_reason, r.attempt_count, r.next_eligible_at,
                                r.status, r.created_at, r.updated_at) > 0 then 'gate_zero_recovery/2/not-null' end,
            -- SUCCEEDED is ours; see docs/explain/amendments.md.
            case when r.status not in ('ACTIVE', 'EXHAUSTED', 'SUCCEEDED') then 'gate_zero_recovery/4/statuses' end,
            case when r.status = 'ACTIVE' and r.attempt_count >= 3 then 'gate_zero_recovery/4/active-is-retryable' end,
            case when r.attempt_count not between 1 and 3 then 'gate_zero_recovery/7/attempt-limit' end,
            case when r.failure_reason not in ('DOMAIN_NOT_FOUND', 'DOMAIN_NO_IMPRINT', 'NO_LINKEDIN_COMPANY',
                   'STATE_MISMATCH', 'STATE_AMBIGUOUS', 'STATE_MISSING', 'API_UNAVAILABLE', 'TIMEOUT')
                 then 'gate_zero_recovery/6/reason-codes' end
          ], null) as broken
          from cl.gate_zero_recovery r) r
 cross join unnest(r.broken) b (breaks)
 where r.broken <> '{}'

-- name: air_rows
-- What a row of cl.gate_zero_air must be by itself.
select b.breaks, e.air_event_id, e.entity_type, e.entity_id, e.stage_id, e.process_id, e.event_type, e.reason_code,
       e.payload_ref, e.actor, e.event_timestamp, e.seq, e.attempt_id, e.authority
  from (select e.*, array_remove(array[
            case when num_nulls(e.air_event_id, e.entity_type, e.entity_id, e.event_type, e.event_timestamp) > 0
                 then 'gate_zero_air/2/not-null' end,
            case when e.entity_type <> 'intake' or e.stage_id <> 'GATE_ZERO'
                      or e.process_id <> 'VERIFY_COMPANY_EXISTENCE'
                 then 'gate_zero_air/3/fixed-identifiers' end,
            case when e.actor is null or e.actor not in ('system', 'ai', 'human') then 'gate_zero_air/2/actor' end,
            case when e.event_type not in ('ATTEMPT', 'PASS', 'FAIL', 'AUTH', 'EXHAUSTED', 'REENTER')
                 then 'gate_zero_air/4/event-types' end,
            -- RECOVERY_WINDOW_CLOSED is ours; see docs/explain/amendments.md.
            case when not case e.event_type
                        when 'ATTEMPT' then e.reason_code in ('START', 'RETRY')
                        when 'PASS' then e.reason_code = 'CHECKS_PASSED'
                        when 'AUTH' then e.reason_code = 'EXISTENCE_CONFIRMED'
                        when 'REENTER' then e.reason_code = 'RECOVERY_SUCCESS'
                        when 'EXHAUSTED' then e.reason_code in ('MAX_ATTEMPTS_REACHED', 'RECOVERY_WINDOW_CLOSED')
                        when 'FAIL' then e.reason_code in ('DOMAIN_NOT_FOUND', 'DOMAIN_NO_IMPRINT',
                          'NO_LINKEDIN_COMPANY', 'STATE_MISMATCH', 'STATE_AMBIGUOUS', 'STATE_MISSING',
                          'API_UNAVAILABLE', 'TIMEOUT')
                        else true end then 'gate_zero_air/5/reason-codes' end,
            case when num_nulls(e.stage_id, e.process_id, e.reason_code) > 0 then 'gate_zero_air/6/traceable' end,
            -- An EXHAUSTED is the recovery's move, every other event an attempt's.
            case when (e.event_type = 'EXHAUSTED') <> (e.attempt_id is null)
                 then 'gate_zero_air/6/event-names-its-attempt' end,
            case when e.authority is distinct from 'recoup_gate' then 'laws/L1/gate-authority' end
          ], null) as broken
          from cl.gate_zero_air e) e
 cross join unnest(e.broken) b (breaks)
 where e.broken <> '{}'

-- name: unique_recovery_id
select 'gate_zero_recovery/7/unique-recovery-id' as breaks, recovery_id, count(*) as rows
  from cl.gate_zero_recovery group by recovery_id having count(*) > 1

-- name: unique_intake_reference
select 'gate_zero_recovery/7/unique-intake-reference' as breaks, intake_id, count(*) as rows
  from cl.gate_zero_recovery group by intake_id having count(*) > 1

-- name: unique_event_id
select 'gate_zero_air/6/unique-event-id' as breaks, air_event_id, count(*) as rows
  from cl.gate_zero_air group by air_event_id having count(*) > 1

-- name: neighbours
-- Each event next to the one before it, within its entity and in the printed order.
select b.breaks, e.entity_id, e.event_type, e.reason_code, e.event_timestamp, e.seq, e.xid, e.attempt_id, e.before_type,
       e.before_timestamp, e.before_seq, e.before_xid, e.before_attempt
  from (select e.*, array_remove(array[
            case when e.event_timestamp <= e.before_timestamp or e.seq <= e.before_seq
                 then 'gate_zero_air/6/ordered' end,
            case when e.event_type = 'AUTH' and not (e.before_type = 'PASS' and together) is true
                 then 'gate_zero_air/4/auth-after-pass' end,
            case when e.event_type in ('PASS', 'FAIL')
                      and not (e.before_type = 'ATTEMPT' and e.attempt_id = e.before_attempt) is true
                 then 'gate_zero_air/4/attempt-before-outcome' end,
            case when e.event_type = 'REENTER' and not (e.before_type = 'AUTH' and together) is true
                 then 'gate_zero_recovery/9/reenter-after-auth' end,
            -- The freeze comes by itself; the third failure and its end are one.
            case when e.reason_code = 'MAX_ATTEMPTS_REACHED'
                      and not (e.before_type = 'FAIL' and e.xid = e.before_xid
                               and e.incarnation = e.before_incarnation) is true
                 then 'gate_zero_air/4/exhausted-after-third-failure' end
          ], null) as broken
          from (select e.*, e.xid = e.before_xid and e.incarnation = e.before_incarnation
                            and e.attempt_id = e.before_attempt as together
                  from (select a.entity_id, a.event_type, a.reason_code, a.event_timestamp, a.seq, a.xid, a.incarnation,
                               a.attempt_id, lag(a.event_type) over of_entity as before_type,
                               lag(a.event_timestamp) over of_entity as before_timestamp,
                               lag(a.seq) over of_entity as before_seq, lag(a.xid) over of_entity as before_xid,
                               lag(a.incarnation) over of_entity as before_incarnation,
                               lag(a.attempt_id) over of_entity as before_attempt
                          from cl.gate_zero_air a
                        window of_entity as (partition by a.entity_id order by a.event_timestamp)) e) e) e
 cross join unnest(e.broken) b (breaks)
 where e.broken <> '{}'

-- name: histories
-- Every history as a word of one letter per event, next to the intake and the recovery it led to.
with told as (
  select e.entity_id, string_agg(e.letter, '' order by e.event_timestamp) as word,
         string_agg(e.reason_code, ',' order by e.event_timestamp) filter (where e.event_type = 'FAIL') as reasons,
         min(e.event_timestamp) filter (where e.event_type = 'FAIL') as first_failed_at,
         max(e.event_timestamp) filter (where e.event_type = 'FAIL') as last_failed_at,
         max(e.event_timestamp) filter (where e.event_type in ('PASS', 'FAIL', 'EXHAUSTED')) as last_outcome_at,
         max(e.event_timestamp) filter (where e.event_type = 'PASS') as passed_at,
         max(e.event_timestamp) filter (where e.event_type = 'EXHAUSTED') as exhausted_at,
         count(*) as events, count(e.batch_id) as with_batch,
         min(e.batch_id collate "C") as batch_from, max(e.batch_id collate "C") as batch_to
    from (select a.*, case a.event_type
                        when 'PASS' then 'P' when 'AUTH' then 'A' when 'REENTER' then 'N' when 'FAIL' then 'F'
                        when 'ATTEMPT' then case a.reason_code when 'START' then 'S' when 'RETRY' then 'R' else '?' end
                        when 'EXHAUSTED' then case a.reason_code when 'MAX_ATTEMPTS_REACHED' then 'M'
                                                                 when 'RECOVERY_WINDOW_CLOSED' then 'W' else '?' end
                        else '?' end as letter
            from cl.gate_zero_air a) e
   group by e.entity_id),
-- There are no others; see the event sequences of cl.gate_zero_air and the state machine of cl.gate_zero_recovery.
lawful (word, intake_status, recovery_status, attempt_count) as (values
  ('', 'PENDING', null, null), ('S', 'PENDING', null, null), ('SPA', 'AUTHORIZED', null, null),
  ('SF', 'FAILED', 'ACTIVE', 1), ('SFW', 'EXHAUSTED', 'EXHAUSTED', 1), ('SFR', 'FAILED', 'ACTIVE', 1),
  ('SFRPAN', 'REENTER_SUCCEEDED', 'SUCCEEDED', 1), ('SFRF', 'FAILED', 'ACTIVE', 2),
  ('SFRFW', 'EXHAUSTED', 'EXHAUSTED', 2), ('SFRFR', 'FAILED', 'ACTIVE', 2),
  ('SFRFRPAN', 'REENTER_SUCCEEDED', 'SUCCEEDED', 2), ('SFRFRFM', 'EXHAUSTED', 'EXHAUSTED', 3)),
named as (
  select a.payload_ref from cl.gate_zero_air a where a.event_type = 'REENTER'),
waits as (
  select p.version, array_agg(make_interval(hours => w.hours::integer) order by w.number) as after_failure
    from recoup.policy p
   cross join jsonb_array_elements_text(p.figures -> 'gate' -> 'wait_hours') with ordinality w (hours, number)
   group by p.version),
held as (
  select coalesce(i.intake_id, t.entity_id) as intake_id, i.intake_id is not null as here,
         t.entity_id is not null as told, i.status, i.batch_id, i.reentered_from, n.payload_ref as named_by,
         -- When its status last changed: a later failure of its recovery does not change it.
         i.updated_at, coalesce(case when t.passed_at is not null then t.passed_at
                                     when t.exhausted_at is not null then t.exhausted_at
                                     else t.first_failed_at end, i.created_at) as told_updated_at,
         coalesce(t.word, '') as word, t.reasons, t.first_failed_at, t.last_failed_at, t.last_outcome_at,
         t.events, t.with_batch, t.batch_from, t.batch_to
    from told t
    full join cl.gate_zero_intake i on i.intake_id = t.entity_id
    full join named n on n.payload_ref = 'intake:' || i.intake_id),
beside as (
  select h.*, coalesce(h.intake_id, r.intake_id) as subject_id, r.recovery_id, r.status as recovery_status,
         r.attempt_count, r.failure_reason, r.next_eligible_at, r.created_at as recovery_created_at,
         r.updated_at as recovery_updated_at, r.batch_id as recovery_batch_id, l.word is not null as word_is_lawful,
         l.intake_status as told_status, l.recovery_status as told_recovery_status, l.attempt_count as told_count,
         split_part(h.reasons, ',', -1) as told_reason,
         -- What the log says of the wait: the last failure, and the wait of the policy that its attempt carries.
         case when l.recovery_status = 'ACTIVE' then h.last_failed_at + w.after_failure[a.attempt_number]
              when l.recovery_status is not null then recoup.never() end as told_eligible_at,
         length(h.word) - length(replace(h.word, 'F', '')) as failures, f.frozen_at, f.batch_freeze_at
    from held h
    full join cl.gate_zero_recovery r on r.intake_id = h.intake_id
    left join lawful l on l.word = h.word
    left join cl.gate_zero_attempt a
      on a.intake_id = h.intake_id and a.attempt_number = length(h.word) - length(replace(h.word, 'F', ''))
    left join waits w on w.version = a.policy_version
    left join cl.gate_zero_batch f on f.batch_id = r.batch_id)
select b.breaks, h.subject_id as intake_id, h.word as history, h.status, h.recovery_id, h.recovery_status,
       h.attempt_count, h.failure_reason, h.next_eligible_at, h.told_status, h.told_recovery_status, h.told_count,
       h.told_reason, h.told_eligible_at, h.batch_id, h.recovery_batch_id, h.named_by
  from (select h.*, array_remove(array[
            case when h.told and not h.word_is_lawful then 'gate_zero_air/7/sequences' end,
            case when h.told and not h.here then 'gate_zero_air/3/entity-exists' end,
            case when h.told and h.here
                      and (h.with_batch not in (0, h.events) or h.batch_from is distinct from h.batch_to
                           or h.batch_from is distinct from h.batch_id collate "C")
                 then 'gate_zero_air/2/batch-inherited' end,
            case when h.status in ('AUTHORIZED', 'REENTER_SUCCEEDED')
                      and strpos(h.word, 'A') = 0 and (h.reentered_from is null or h.named_by is null)
                   or strpos(h.word, 'A') > 0 and coalesce(h.status, '') not in ('AUTHORIZED', 'REENTER_SUCCEEDED')
                 then 'gate_zero_air/8/authorization-by-air' end,
            case when h.failures > 0 and h.recovery_id is null then 'gate_zero_recovery/7/no-deletion' end,
            case when h.recovery_id is not null and coalesce(h.failures, 0) = 0
                   or h.recovery_id is not null and h.here is not true
                 then 'gate_zero_recovery/7/intake-id' end,
            case when h.recovery_id is not null and h.here and h.recovery_batch_id is distinct from h.batch_id
                 then 'gate_zero_recovery/7/batch-id' end,
            case when h.recovery_created_at <> h.first_failed_at then 'gate_zero_recovery/7/created-at' end,
            case when h.recovery_updated_at <> h.last_outcome_at then 'gate_zero_recovery/7/updated-at' end,
            case when h.attempt_count <> h.failures then 'gate_zero_recovery/3/attempt-count' end,
            case when h.failure_reason <> h.told_reason then 'gate_zero_recovery/3/failure-reason' end,
            case when h.recovery_status = 'ACTIVE' and h.word_is_lawful
                      and (h.next_eligible_at between h.told_eligible_at - interval '10 microseconds'
                                                  and h.told_eligible_at) is not true
                 then 'gate_zero_recovery/5/backoff-schedule' end,
            case when h.recovery_status <> 'ACTIVE' and h.next_eligible_at <> recoup.never()
                 then 'gate_zero_recovery/5/ended-has-no-next' end,
            case when (h.recovery_status = 'EXHAUSTED') <> (right(h.word, 1) in ('M', 'W'))
                   or (h.recovery_status = 'EXHAUSTED') <> (h.status = 'EXHAUSTED')
                 then 'gate_zero_recovery/4/exhausted-is-told' end,
            case when h.word ~ '[MW].' or (h.word ~ '[MW]' and h.recovery_status is distinct from 'EXHAUSTED')
                 then 'gate_zero_recovery/7/terminal-exhausted' end,
            -- Nobody is exhausted before the third failure, but by the end of the window.
            case when right(h.word, 1) = 'W'
                      and (h.batch_freeze_at <= h.last_outcome_at + interval '1 minute') is not true
                 then 'gate_zero_recovery/5/exhausted-early-by-window-only' end,
            case when h.recovery_status = 'ACTIVE' and h.frozen_at < (select recoup.now()) - interval '1 hour'
                      and right(h.word, 1) <> 'R'
                 then 'gate_zero_recovery/5/freeze-exhausts' end,
            case when h.status = 'AUTHORIZED' and (h.failures > 0 or h.recovery_id is not null)
                 then 'gate_zero_recovery/9/never-authorized' end,
            case when h.reentered_from is not null and (h.told or h.recovery_id is not null)
                 then 'gate_zero_recovery/9/new-intake-is-untouched' end,
            -- From the events alone; both ways. An intake without events waits, or is named by a REENTER.
            case when h.updated_at <> h.told_updated_at
                   or not h.here and (h.told or h.named_by is not null)
                   or h.here and h.status is distinct from
                                 case when h.reentered_from is null and h.named_by is null then h.told_status
                                      when h.named_by is not null then 'AUTHORIZED' end
                 then 'rebuild/cl.gate_zero_intake' end,
            case when (h.recovery_id is null) <> (h.told_recovery_status is null)
                   or h.recovery_id is not null
                      and ((h.recovery_status, h.attempt_count, h.failure_reason)
                             is distinct from (h.told_recovery_status, h.told_count, h.told_reason)
                           or (h.next_eligible_at between h.told_eligible_at - interval '10 microseconds'
                                                      and h.told_eligible_at) is not true)
                 then 'rebuild/cl.gate_zero_recovery' end
          ], null) as broken
          from beside h) h
 cross join unnest(h.broken) b (breaks)
 where h.broken <> '{}'

-- name: attempts_and_events
-- Every attempt next to the events of its moves, both ways.
with told as (
  select e.attempt_id, e.entity_id,
         count(*) filter (where e.event_type = 'ATTEMPT') as attempts,
         count(*) filter (where e.event_type = 'PASS') as passes,
         count(*) filter (where e.event_type = 'AUTH') as auths,
         count(*) filter (where e.event_type = 'FAIL') as failures,
         count(*) filter (where e.event_type = 'REENTER') as reenters,
         bool_and(e.reason_code = 'START') filter (where e.event_type = 'ATTEMPT') as is_first,
         min(e.event_timestamp) filter (where e.event_type = 'ATTEMPT') as opened_at,
         min(e.event_timestamp) filter (where e.event_type in ('PASS', 'FAIL')) as finished_at,
         min(e.reason_code collate "C") filter (where e.event_type = 'FAIL') as reason_code,
         min(e.payload_ref collate "C") filter (where e.event_type = 'ATTEMPT') as attempt_payload,
         min(e.payload_ref collate "C") filter (where e.event_type = 'PASS') as pass_payload,
         min(e.payload_ref collate "C") filter (where e.event_type = 'FAIL') as fail_payload,
         min(e.payload_ref collate "C") filter (where e.event_type = 'REENTER') as reenter_payload
    from cl.gate_zero_air e
   where e.attempt_id is not null
   group by e.attempt_id, e.entity_id),
beside as (
  select coalesce(a.attempt_id, t.attempt_id) as attempt_id, coalesce(a.intake_id, t.entity_id) as intake_id,
         a.attempt_number, a.status, a.reason_code, a.opened_at, a.finished_at, a.reentered_as,
         a.attempt_id is not null as here, t.attempt_id is not null as told,
         t.attempts, t.passes, t.auths, t.failures, t.reenters, t.is_first, t.opened_at as told_opened_at,
         t.finished_at as told_finished_at, t.reason_code as told_reason, t.reenter_payload,
         t.entity_id as told_intake_id, a.intake_id as its_intake_id, a.payload_ref,
         case a.status when 'passed' then t.pass_payload when 'failed' then t.fail_payload
                       else t.attempt_payload end as told_payload,
         -- It was ended with its token; an open or crashed one has none.
         case when a.status in ('passed', 'failed') then a.ended_with <> a.token
              else a.ended_with is not null end as ended_otherwise,
         case when t.passes > 0 then 'passed'
              when t.failures = 0 then 'open'
              -- A crashed attempt points to itself. So may a failed one, if its worker gave that as evidence.
              when t.fail_payload = 'attempt:' || a.attempt_id
                   and not (a.status = 'failed' and a.payload_ref is not distinct from t.fail_payload) then 'crashed'
              else 'failed' end as told_status
    from cl.gate_zero_attempt a
    full join told t on t.attempt_id = a.attempt_id)
select b.breaks, x.attempt_id, x.intake_id, x.attempt_number, x.status, x.reason_code, x.opened_at, x.finished_at,
       x.told_status, x.attempts, x.passes, x.auths, x.failures, x.reenters, x.told_opened_at, x.told_finished_at,
       x.told_reason
  from (select x.*, array_remove(array[
            case when x.here and (coalesce(x.attempts, 0) <> 1
                                  or x.passes <> (x.status = 'passed')::integer or x.auths <> x.passes
                                  or x.failures <> (x.status in ('failed', 'crashed'))::integer
                                  or x.reenters <> (x.status = 'passed' and x.attempt_number > 1)::integer)
                 then 'gate_zero_air/6/complete' end,
            case when not x.here then 'gate_zero_air/6/no-event-without-its-move' end,
            case when x.here and x.told
                      and ((x.told_opened_at, x.told_finished_at, x.told_reason, x.told_intake_id, x.is_first)
                             is distinct from
                             (x.opened_at, x.finished_at, x.reason_code, x.its_intake_id, x.attempt_number = 1)
                           or x.reenter_payload is distinct from 'intake:' || x.reentered_as
                           or x.payload_ref is distinct from x.told_payload or x.ended_otherwise)
                 then 'gate_zero_air/6/events-agree-with-their-move' end,
            case when not x.here or not x.told or x.status is distinct from x.told_status
                 then 'rebuild/cl.gate_zero_attempt' end
          ], null) as broken
          from beside x) x
 cross join unnest(x.broken) b (breaks)
 where x.broken <> '{}'

-- name: attempts
-- Each attempt next to the one before it, its intake, its batch, the policy it carries, and the pauses of its time.
with waits as (
  select p.version, array_agg(make_interval(hours => w.hours::integer) order by w.number) as after_failure
    from recoup.policy p
   cross join jsonb_array_elements_text(p.figures -> 'gate' -> 'wait_hours') with ordinality w (hours, number)
   group by p.version),
versions as (
  select p.version, p.applied_at, lead(p.applied_at) over (order by p.version) as replaced_at from recoup.policy p),
-- A pause counts a minute after it was set: a claim may have been under way. One that is set again counts at once.
paused as (
  select p.scope, p.scope_id, tstzrange(p.began_at, p.ended_at) as during
    from (select p.scope, p.scope_id, p.event_type, lead(p.logged_at) over of_scope as ended_at,
                 p.logged_at + case when lag(p.event_type) over of_scope = 'PAUSE' then interval '0'
                                    else interval '1 minute' end as began_at
            from recoup.pause_log p
          window of_scope as (partition by p.scope, p.scope_id order by p.seq)) p
   where p.event_type = 'PAUSE' and (p.ended_at is null or p.ended_at > p.began_at)),
paused_batches as (
  select p.scope_id as batch_id, range_agg(p.during) as during
    from paused p where p.scope = 'batch' group by p.scope_id),
stopped as (
  select range_agg(p.during) filter (where p.scope_id <> 'cl.gate_zero_recovery') as first_attempts,
         range_agg(p.during) filter (where p.scope_id <> 'cl.gate_zero_intake') as retries
    from paused p
   where p.scope = 'global'
      or p.scope = 'table' and p.scope_id in ('cl.gate_zero_attempt', 'cl.gate_zero_intake', 'cl.gate_zero_recovery')),
beside as (
  select a.*, i.intake_id as its_intake, i.batch_id as its_batch, w.after_failure[a.place - 1] as wait,
         f.batch_freeze_at, v.version, v.applied_at, v.replaced_at, p.during as batch_paused, s.first_attempts,
         s.retries
    from (select a.attempt_id, a.intake_id, a.batch_id, a.attempt_number, a.status, a.reason_code, a.opened_at,
                 a.finished_at, a.lease_until, a.policy_version, row_number() over of_intake as place,
                 lag(a.status) over of_intake as before_status,
                 lag(a.finished_at) over of_intake as before_finished_at,
                 lag(a.policy_version) over of_intake as before_policy
            from cl.gate_zero_attempt a
          window of_intake as (partition by a.intake_id order by a.attempt_number, a.opened_at)) a
    left join cl.gate_zero_intake i on i.intake_id = a.intake_id
    left join waits w on w.version = a.before_policy
    left join cl.gate_zero_batch f on f.batch_id = i.batch_id
    left join versions v on v.version = a.policy_version
    left join paused_batches p on p.batch_id = i.batch_id
   cross join stopped s)
select b.breaks, a.attempt_id, a.intake_id, a.batch_id, a.attempt_number, a.status, a.reason_code, a.opened_at,
       a.finished_at, a.lease_until, a.policy_version, a.before_status, a.before_finished_at, a.wait, a.batch_freeze_at
  from (select a.*, array_remove(array[
            case when a.attempt_number not between 1 and 3 or a.attempt_number <> a.place
                 then 'gate_zero_recovery/5/max-attempts' end,
            case when a.place > 1
                      and (a.opened_at >= a.before_finished_at + a.wait - interval '10 microseconds') is not true
                 then 'gate_zero_recovery/7/enforced-backoff' end,
            case when a.place > 1 and a.before_status not in ('failed', 'crashed')
                 then 'laws/L5/one-attempt-at-a-time' end,
            case when a.place > 1 and a.opened_at >= a.batch_freeze_at + interval '10 microseconds'
                 then 'gate_zero_recovery/5/no-retry-after-window' end,
            case when a.place > 1 and a.opened_at <@ a.batch_paused then 'gate_zero_recovery/5/kill-switch' end,
            case when a.opened_at <@ case when a.place = 1 then a.first_attempts else a.retries end
                 then 'gate_zero_recovery/5/pauses' end,
            case when a.reason_code not in ('DOMAIN_NOT_FOUND', 'DOMAIN_NO_IMPRINT', 'NO_LINKEDIN_COMPANY',
                   'STATE_MISMATCH', 'STATE_AMBIGUOUS', 'STATE_MISSING', 'API_UNAVAILABLE', 'TIMEOUT')
                 then 'gate_zero_recovery/6/attempt-reason-codes' end,
            case when a.its_intake is null or a.batch_id is distinct from a.its_batch
                 then 'laws/L4/attempt-has-its-intake' end,
            case when a.status = 'crashed' and a.finished_at < a.lease_until - interval '1 second'
                 then 'laws/L5/crashed-after-its-lease' end,
            -- What was there before policies were kept carries version 1, whenever it opened.
            case when a.version is null or (a.policy_version > 1 and a.opened_at < a.applied_at - interval '1 minute')
                   or a.opened_at > a.replaced_at + interval '1 minute' then 'laws/L8/stamped' end
          ], null) as broken
          from beside a) a
 cross join unnest(a.broken) b (breaks)
 where a.broken <> '{}'

-- name: reentries
-- Whatever shows one sign of a re-entry must show all five, and of one moment.
with signs as (
  select a.intake_id from cl.gate_zero_attempt a where a.status = 'passed' and a.attempt_number > 1
  union select i.reentered_from from cl.gate_zero_intake i where i.reentered_from is not null
  union select i.intake_id from cl.gate_zero_intake i where i.status = 'REENTER_SUCCEEDED'
  union select r.intake_id from cl.gate_zero_recovery r where r.status = 'SUCCEEDED'
  union select e.entity_id from cl.gate_zero_air e where e.event_type = 'REENTER'),
beside as (
  select s.intake_id, o.status, r.status as recovery_status, a.attempt_id, a.reentered_as, n.intake_id as new_intake,
         e.payload_ref, u.attempt_id is not null as authorised, p.xid as pass_xid, u.xid as auth_xid,
         e.xid as reenter_xid, e.attempt_id is not null as reentered, p.event_timestamp as passed_at,
         n.created_at as new_created_at, o.updated_at, r.updated_at as recovery_updated_at,
         (p.xid, p.incarnation) is not distinct from (u.xid, u.incarnation)
           and (u.xid, u.incarnation) is not distinct from (e.xid, e.incarnation) as one_transaction,
         count(*) over (partition by s.intake_id) as news,
         (n.batch_id, n.company_name, n.company_domain, n.linkedin_url, n.state)
           is distinct from (o.batch_id, o.company_name, o.company_domain, o.linkedin_url, o.state) as differs
    from signs s
    left join cl.gate_zero_intake o on o.intake_id = s.intake_id
    left join cl.gate_zero_recovery r on r.intake_id = s.intake_id
    left join cl.gate_zero_attempt a on a.intake_id = s.intake_id and a.status = 'passed' and a.attempt_number > 1
    left join cl.gate_zero_intake n on n.reentered_from = s.intake_id
    left join cl.gate_zero_air p on p.event_type = 'PASS' and p.entity_id = s.intake_id and p.attempt_id = a.attempt_id
    left join cl.gate_zero_air u on u.event_type = 'AUTH' and u.entity_id = s.intake_id and u.attempt_id = a.attempt_id
    left join cl.gate_zero_air e
      on e.event_type = 'REENTER' and e.entity_id = s.intake_id and e.attempt_id = a.attempt_id)
select b.breaks, x.intake_id, x.status, x.recovery_status, x.attempt_id, x.reentered_as, x.new_intake, x.payload_ref,
       x.authorised, x.reentered, x.pass_xid, x.auth_xid, x.reenter_xid, x.passed_at, x.new_created_at, x.updated_at,
       x.recovery_updated_at
  from (select x.*, array_remove(array[
            case when not (x.authorised and x.reentered and x.new_intake is not null and x.attempt_id is not null
                           and x.status = 'REENTER_SUCCEEDED' and x.recovery_status = 'SUCCEEDED') is true
                 then 'gate_zero_recovery/9/five-parts' end,
            case when not x.one_transaction
                   or (x.passed_at, x.passed_at, x.passed_at)
                        is distinct from (x.new_created_at, x.updated_at, x.recovery_updated_at)
                 then 'gate_zero_recovery/9/one-transaction' end,
            case when x.news > 1 or x.new_intake is distinct from x.reentered_as
                   or x.payload_ref is distinct from 'intake:' || x.new_intake or x.differs
                 then 'gate_zero_recovery/9/exactly-one-new-intake' end
          ], null) as broken
          from beside x) x
 cross join unnest(x.broken) b (breaks)
 where x.broken <> '{}'

-- name: late_results
-- A late result belongs to an attempt that had ended, or whose lease had; or it carries another token: else it was to
-- be applied.
select 'laws/L5/late-attempts' as breaks, l.late_result_id, l.subject, l.unit_id, l.received_at, a.status, a.finished_at
  from recoup.late_result l
  left join cl.gate_zero_attempt a on a.attempt_id::text = l.unit_id
 where l.subject = 'cl.gate_zero_attempt'
   and (a.attempt_id is null
        or a.token = l.token and l.received_at < a.lease_until
           and (a.status = 'open' or a.finished_at > l.received_at + interval '1 second'))
