-- Gate Zero: batches, intakes, attempts, the throttled second chance, and the AIR log.
-- Comments that the requirement documents print are applied as printed, but for one slip: ACTIVE is not terminal.

create schema cl;
comment on schema cl is 'Gate Zero and the minting of company identities.';

create table cl.gate_zero_batch (
  batch_id        text primary key check (octet_length(batch_id) between 1 and 500),
  imported_at     timestamptz not null check (isfinite(imported_at)),
  completed_at    timestamptz check (isfinite(completed_at)),
  batch_freeze_at timestamptz check (isfinite(batch_freeze_at)),
  frozen_at       timestamptz check (isfinite(frozen_at)),
  paused_at       timestamptz check (isfinite(paused_at)),
  paused_by       text,
  pause_reason    text,
  status          text not null generated always as (case when frozen_at is not null then 'FROZEN'
                    when completed_at is not null then 'COMPLETED' else 'OPEN' end) stored,
  check ((completed_at is null) = (batch_freeze_at is null)),
  check (batch_freeze_at > completed_at),
  check (frozen_at >= batch_freeze_at),
  check ((paused_at is null) = (paused_by is null) and (paused_at is null) = (pause_reason is null))
);
create index gate_zero_batch_to_freeze on cl.gate_zero_batch (batch_freeze_at) where frozen_at is null;
comment on table cl.gate_zero_batch is 'An import batch: its completion opens the recovery window, its freeze closes it, its pause stops all recovery at once.';
comment on column cl.gate_zero_batch.batch_id is 'Name of the batch.';
comment on column cl.gate_zero_batch.imported_at is 'When the import began.';
comment on column cl.gate_zero_batch.completed_at is 'When the import was declared complete. Set once, by a call.';
comment on column cl.gate_zero_batch.batch_freeze_at is 'End of the recovery window: completion plus 14 days. Set once.';
comment on column cl.gate_zero_batch.frozen_at is 'When the freeze was carried out. Set once.';
comment on column cl.gate_zero_batch.paused_at is 'Kill switch: since when recovery of this batch is paused; null when it is not.';
comment on column cl.gate_zero_batch.paused_by is 'Who paused it.';
comment on column cl.gate_zero_batch.pause_reason is 'Why it was paused.';
comment on column cl.gate_zero_batch.status is 'OPEN, COMPLETED or FROZEN, from the columns before it.';

create table cl.gate_zero_intake (
  intake_id      uuid primary key default recoup.new_id(),
  batch_id       text references cl.gate_zero_batch,
  company_name   text not null check (company_name <> ''),
  company_domain text,
  linkedin_url   text,
  state          text,
  status         text not null default 'PENDING'
                 check (status in ('PENDING', 'AUTHORIZED', 'FAILED', 'REENTER_SUCCEEDED', 'EXHAUSTED')),
  reentered_from uuid unique references cl.gate_zero_intake,
  retry_of       uuid references cl.gate_zero_intake,
  created_at     timestamptz not null default recoup.now() check (isfinite(created_at)),
  updated_at     timestamptz not null default recoup.now() check (isfinite(updated_at)),
  -- A re-entered intake was authorised by its origin's attempt, and is nothing else for ever.
  check (reentered_from is null or status = 'AUTHORIZED'),
  check (reentered_from <> intake_id and retry_of <> intake_id)
) with (fillfactor = 85);
create index gate_zero_intake_batch on cl.gate_zero_intake (batch_id);
create index gate_zero_intake_retry_of on cl.gate_zero_intake (retry_of) where retry_of is not null;
create index gate_zero_intake_pending on cl.gate_zero_intake (created_at, intake_id) where status = 'PENDING';
comment on table cl.gate_zero_intake is 'A company candidate as it came in. What was given never changes; only its standing does.';
comment on column cl.gate_zero_intake.intake_id is 'Unique identifier of the intake.';
comment on column cl.gate_zero_intake.batch_id is 'The import batch, if any.';
comment on column cl.gate_zero_intake.company_name is 'Name of the company, as given.';
comment on column cl.gate_zero_intake.company_domain is 'Its domain, as given.';
comment on column cl.gate_zero_intake.linkedin_url is 'Its directory page, as given.';
comment on column cl.gate_zero_intake.state is 'US state, as given.';
comment on column cl.gate_zero_intake.status is 'PENDING, AUTHORIZED, FAILED, REENTER_SUCCEEDED or EXHAUSTED.';
comment on column cl.gate_zero_intake.reentered_from is 'The failed intake whose retry succeeded and made this one.';
comment on column cl.gate_zero_intake.retry_of is 'The exhausted intake that an operator starts afresh with this one.';
comment on column cl.gate_zero_intake.created_at is 'When it came in.';
comment on column cl.gate_zero_intake.updated_at is 'When its status last changed.';

create table cl.gate_zero_attempt (
  attempt_id     uuid primary key default recoup.new_id(),
  intake_id      uuid not null references cl.gate_zero_intake,
  batch_id       text,
  attempt_number integer not null check (attempt_number between 1 and 3),
  status         text not null default 'open' check (status in ('open', 'passed', 'failed', 'crashed')),
  reason_code    text check (reason_code in ('DOMAIN_NOT_FOUND', 'DOMAIN_NO_IMPRINT', 'NO_LINKEDIN_COMPANY', 'STATE_MISMATCH',
                   'STATE_AMBIGUOUS', 'STATE_MISSING', 'API_UNAVAILABLE', 'TIMEOUT')),
  worker         text not null check (worker <> ''),
  token          uuid not null default gen_random_uuid(),
  opened_at      timestamptz not null check (isfinite(opened_at)),
  lease_until    timestamptz not null check (isfinite(lease_until)),
  finished_at    timestamptz check (isfinite(finished_at)),
  payload_ref    text,
  reentered_as   uuid,
  unique (intake_id, attempt_number),
  check (lease_until > opened_at),
  check (finished_at > opened_at),
  check ((status = 'open') = (finished_at is null)),
  check ((status in ('failed', 'crashed')) = (reason_code is not null)),
  check (status <> 'crashed' or reason_code = 'TIMEOUT'),
  check ((status = 'passed' and attempt_number > 1) = (reentered_as is not null))
) with (fillfactor = 85);
-- This prevents two workers from checking one intake at once.
create unique index gate_zero_attempt_one_open on cl.gate_zero_attempt (intake_id) where status = 'open';
create index gate_zero_attempt_lease on cl.gate_zero_attempt (lease_until) where status = 'open';
comment on table cl.gate_zero_attempt is 'One verification attempt. Its birth and its end write the AIR; a worker that died is fenced by its token.';
comment on column cl.gate_zero_attempt.attempt_id is 'Unique identifier of the attempt.';
comment on column cl.gate_zero_attempt.intake_id is 'The intake being verified.';
comment on column cl.gate_zero_attempt.batch_id is 'Inherited from intake.';
comment on column cl.gate_zero_attempt.attempt_number is '1 for the first; at most 3.';
comment on column cl.gate_zero_attempt.status is 'open, passed, failed or crashed.';
comment on column cl.gate_zero_attempt.reason_code is 'Why it failed; TIMEOUT for a crashed one.';
comment on column cl.gate_zero_attempt.worker is 'The worker that opened it.';
comment on column cl.gate_zero_attempt.token is 'Fencing token: a result counts only with it, while the attempt is open.';
comment on column cl.gate_zero_attempt.opened_at is 'When it began; time of its ATTEMPT event.';
comment on column cl.gate_zero_attempt.lease_until is 'After this time without a result it counts as crashed.';
comment on column cl.gate_zero_attempt.finished_at is 'When it ended; time of its first outcome event.';
comment on column cl.gate_zero_attempt.payload_ref is 'Optional pointer to evidence of the outcome.';
comment on column cl.gate_zero_attempt.reentered_as is 'On a passed retry: the new intake it made.';

create table cl.gate_zero_recovery (
  recovery_id      uuid primary key default recoup.new_id(),
  intake_id        uuid not null unique references cl.gate_zero_intake,
  batch_id         text,
  failure_reason   text not null check (failure_reason in ('DOMAIN_NOT_FOUND', 'DOMAIN_NO_IMPRINT', 'NO_LINKEDIN_COMPANY',
                     'STATE_MISMATCH', 'STATE_AMBIGUOUS', 'STATE_MISSING', 'API_UNAVAILABLE', 'TIMEOUT')),
  attempt_count    integer not null default 1 check (attempt_count between 1 and 3),
  next_eligible_at timestamptz not null check (isfinite(next_eligible_at)),
  status           text not null default 'ACTIVE' check (status in ('ACTIVE', 'EXHAUSTED', 'SUCCEEDED')),
  created_at       timestamptz not null default recoup.now() check (isfinite(created_at)),
  updated_at       timestamptz not null default recoup.now() check (isfinite(updated_at)),
  check (status <> 'ACTIVE' or attempt_count < 3)
) with (fillfactor = 85);
create index gate_zero_recovery_eligible on cl.gate_zero_recovery (next_eligible_at) where status = 'ACTIVE';
create index gate_zero_recovery_active_batch on cl.gate_zero_recovery (batch_id) where status = 'ACTIVE';
create index gate_zero_recovery_exhausted_batch on cl.gate_zero_recovery (batch_id) where status = 'EXHAUSTED';
comment on table cl.gate_zero_recovery is 'Failed intake records awaiting retry. Tracks throttle state (attempt_count, next_eligible_at) and failure reason. Terminal states: EXHAUSTED (no more retries) and SUCCEEDED (a retry passed); ACTIVE is retryable.';
comment on column cl.gate_zero_recovery.recovery_id is 'Unique identifier for this recovery record. Auto-generated UUID.';
comment on column cl.gate_zero_recovery.intake_id is 'Reference to original gate_zero_intake record. One intake → one recovery.';
comment on column cl.gate_zero_recovery.batch_id is 'Inherited from intake. Used for batch-level operations.';
comment on column cl.gate_zero_recovery.failure_reason is 'Reason code from last failed attempt. Updated on each retry.';
comment on column cl.gate_zero_recovery.attempt_count is 'Number of verification attempts. Starts at 1. Max 3.';
comment on column cl.gate_zero_recovery.next_eligible_at is 'Earliest timestamp when retry is permitted. Enforced gate.';
comment on column cl.gate_zero_recovery.status is 'Recovery status: ACTIVE (retryable) or EXHAUSTED (terminal).';
comment on column cl.gate_zero_recovery.created_at is 'Timestamp when recovery record was created.';
comment on column cl.gate_zero_recovery.updated_at is 'Timestamp of last update.';

create table cl.gate_zero_air (
  air_event_id    uuid primary key default recoup.new_id(),
  entity_type     text not null default 'intake' check (entity_type = 'intake'),
  entity_id       uuid not null,
  stage_id        text not null default 'GATE_ZERO' check (stage_id = 'GATE_ZERO'),
  process_id      text not null default 'VERIFY_COMPANY_EXISTENCE' check (process_id = 'VERIFY_COMPANY_EXISTENCE'),
  event_type      text not null,
  reason_code     text not null,
  batch_id        text,
  payload_ref     text,
  actor           text check (actor in ('system', 'ai', 'human')),
  event_timestamp timestamptz not null check (isfinite(event_timestamp)),
  -- Ours, after the eleven.
  seq             bigint not null unique default nextval('recoup.event_seq'),
  xid             xid8 not null default pg_current_xact_id(),
  incarnation     integer not null,
  attempt_id      uuid,
  actor_id        text not null,
  authority       text not null,
  check ((event_type, reason_code) in (('ATTEMPT', 'START'), ('ATTEMPT', 'RETRY'), ('PASS', 'CHECKS_PASSED'),
    ('AUTH', 'EXISTENCE_CONFIRMED'), ('REENTER', 'RECOVERY_SUCCESS'),
    ('EXHAUSTED', 'MAX_ATTEMPTS_REACHED'), ('EXHAUSTED', 'RECOVERY_WINDOW_CLOSED'),
    ('FAIL', 'DOMAIN_NOT_FOUND'), ('FAIL', 'DOMAIN_NO_IMPRINT'), ('FAIL', 'NO_LINKEDIN_COMPANY'), ('FAIL', 'STATE_MISMATCH'),
    ('FAIL', 'STATE_AMBIGUOUS'), ('FAIL', 'STATE_MISSING'), ('FAIL', 'API_UNAVAILABLE'), ('FAIL', 'TIMEOUT'))),
  -- Strictly rising within an entity: the printed ORDER BY event_timestamp has no ties.
  unique (entity_id, event_timestamp)
);
create index gate_zero_air_xid on cl.gate_zero_air (xid);
create index gate_zero_air_auth on cl.gate_zero_air (event_timestamp)
  where stage_id = 'GATE_ZERO' and event_type = 'AUTH' and reason_code = 'EXISTENCE_CONFIRMED';
create index gate_zero_air_fail on cl.gate_zero_air (event_timestamp) where event_type = 'FAIL';
comment on table cl.gate_zero_air is 'Immutable AIR (Action/Incident/Result) event log for Gate Zero. Records every verification attempt, pass, fail, and authorization. Downstream workers subscribe to this table for AUTH events. Append-only; no UPDATE or DELETE permitted.';
comment on column cl.gate_zero_air.air_event_id is 'Unique identifier for this AIR event. Auto-generated UUID. Immutable.';
comment on column cl.gate_zero_air.entity_type is 'Type of entity: always "intake" for Gate Zero.';
comment on column cl.gate_zero_air.entity_id is 'The intake_id this event relates to.';
comment on column cl.gate_zero_air.stage_id is 'Stage identifier: always "GATE_ZERO" for this table.';
comment on column cl.gate_zero_air.process_id is 'Process identifier: the specific action taken (e.g., VERIFY_COMPANY_EXISTENCE).';
comment on column cl.gate_zero_air.event_type is 'Event outcome: ATTEMPT, PASS, FAIL, AUTH, EXHAUSTED, REENTER.';
comment on column cl.gate_zero_air.reason_code is 'Specific reason code for this event.';
comment on column cl.gate_zero_air.batch_id is 'Optional batch identifier. Inherited from intake.';
comment on column cl.gate_zero_air.payload_ref is 'Optional pointer to additional payload data.';
comment on column cl.gate_zero_air.actor is 'Who/what triggered this event: system, ai, human.';
comment on column cl.gate_zero_air.event_timestamp is 'When this event occurred. Immutable. Always UTC.';
comment on column cl.gate_zero_air.seq is 'Order over all logs, drawn after the intake is locked.';
comment on column cl.gate_zero_air.xid is 'Transaction that wrote it; for the settled read.';
comment on column cl.gate_zero_air.incarnation is 'Cluster that wrote it.';
comment on column cl.gate_zero_air.attempt_id is 'The attempt whose move wrote it; null when a freeze did.';
comment on column cl.gate_zero_air.actor_id is 'Who exactly: the worker or person.';
comment on column cl.gate_zero_air.authority is 'Database role that acted.';

-- Rights: a table's lifecycle says who may; these are no wider. Nobody may write the log.
grant usage on schema cl to recoup_reader;
grant select on all tables in schema cl to recoup_reader;
grant insert (batch_id, imported_at) on cl.gate_zero_batch to recoup_hub, recoup_gate, recoup_operator;
grant update (completed_at, batch_freeze_at) on cl.gate_zero_batch to recoup_hub, recoup_operator;
grant update (completed_at, batch_freeze_at, frozen_at) on cl.gate_zero_batch to recoup_gate;
grant update (paused_at, paused_by, pause_reason) on cl.gate_zero_batch to recoup_operator;
grant insert on cl.gate_zero_intake to recoup_hub, recoup_gate;
grant update on cl.gate_zero_intake to recoup_gate;
grant insert, update on cl.gate_zero_attempt, cl.gate_zero_recovery to recoup_gate;
