-- The schema of a newly migrated database. Written by `make schema`, compared by tests/database/test_schema_dump.py.
-- For reading and reviewing: migrations and the .sql files of the domains create the database itself.
-- Everything belongs to its schema's owner, unless a line gives another owner.

create schema cl authorization recoup_owner;
comment on schema cl is 'Gate Zero and the minting of company identities.';
grant usage on schema cl to recoup_reader;

create table cl.company_identity (
  sovereign_company_id uuid not null default recoup.new_id(),
  intake_id uuid not null,
  company_name text not null,
  company_domain text,
  minted_at timestamp with time zone not null,
  status text not null generated always as ('MINTED'::text) stored,
  constraint company_identity_pkey PRIMARY KEY (sovereign_company_id),
  constraint company_identity_intake_id_key UNIQUE (intake_id),
  constraint company_identity_intake_id_fkey FOREIGN KEY (intake_id) REFERENCES cl.gate_zero_intake(intake_id),
  constraint company_identity_company_name_check CHECK (company_name <> ''::text),
  constraint company_identity_minted_at_check CHECK (isfinite(minted_at))
);
alter table cl.company_identity enable row level security;
comment on table cl.company_identity is 'A sovereign company identity, minted once for an authorised intake. Never changed, never deleted.';
comment on column cl.company_identity.sovereign_company_id is 'The identity.';
comment on column cl.company_identity.intake_id is 'The authorised intake; after a re-entry the new one.';
comment on column cl.company_identity.company_name is 'Name of the company, as on the intake.';
comment on column cl.company_identity.company_domain is 'Its domain, as on the intake.';
comment on column cl.company_identity.minted_at is 'When it was minted.';
comment on column cl.company_identity.status is 'Always MINTED.';
CREATE TRIGGER a_guard_births AFTER INSERT ON cl.company_identity REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_company_identity_births('cl.company_identity');
alter table cl.company_identity enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON cl.company_identity REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('cl.company_identity');
alter table cl.company_identity enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON cl.company_identity REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_moves('cl.company_identity');
alter table cl.company_identity enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON cl.company_identity FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('cl.company_identity');
alter table cl.company_identity enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON cl.company_identity FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table cl.company_identity enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_identity_births_on_insert AFTER INSERT ON cl.company_identity REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.rule_identity_births();
alter table cl.company_identity enable always trigger b_rule_identity_births_on_insert;
CREATE TRIGGER c_content_company_identity_births_on_insert AFTER INSERT ON cl.company_identity REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.content_company_identity_births();
alter table cl.company_identity enable always trigger c_content_company_identity_births_on_insert;
CREATE TRIGGER c_record_identity_births_on_insert AFTER INSERT ON cl.company_identity REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.record_identity_births();
alter table cl.company_identity enable always trigger c_record_identity_births_on_insert;
create policy hub on cl.company_identity as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on cl.company_identity is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on cl.company_identity as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (company_domain, company_name, intake_id, minted_at, sovereign_company_id) on table cl.company_identity to recoup_mint;
grant select on table cl.company_identity to recoup_reader;

create table cl.gate_zero_air (
  air_event_id uuid not null default recoup.new_id(),
  entity_type text not null default 'intake'::text,
  entity_id uuid not null,
  stage_id text not null default 'GATE_ZERO'::text,
  process_id text not null default 'VERIFY_COMPANY_EXISTENCE'::text,
  event_type text not null,
  reason_code text not null,
  batch_id text,
  payload_ref text,
  actor text,
  event_timestamp timestamp with time zone not null,
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  attempt_id uuid,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  form integer,
  digest bytea,
  constraint gate_zero_air_pkey PRIMARY KEY (air_event_id),
  constraint gate_zero_air_entity_id_event_timestamp_key UNIQUE (entity_id, event_timestamp),
  constraint gate_zero_air_seq_key UNIQUE (seq),
  constraint gate_zero_air_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint gate_zero_air_check CHECK (event_type = 'ATTEMPT'::text AND reason_code = 'START'::text OR event_type = 'ATTEMPT'::text AND reason_code = 'RETRY'::text OR event_type = 'PASS'::text AND reason_code = 'CHECKS_PASSED'::text OR event_type = 'AUTH'::text AND reason_code = 'EXISTENCE_CONFIRMED'::text OR event_type = 'REENTER'::text AND reason_code = 'RECOVERY_SUCCESS'::text OR event_type = 'EXHAUSTED'::text AND reason_code = 'MAX_ATTEMPTS_REACHED'::text OR event_type = 'EXHAUSTED'::text AND reason_code = 'RECOVERY_WINDOW_CLOSED'::text OR event_type = 'FAIL'::text AND reason_code = 'DOMAIN_NOT_FOUND'::text OR event_type = 'FAIL'::text AND reason_code = 'DOMAIN_NO_IMPRINT'::text OR event_type = 'FAIL'::text AND reason_code = 'NO_LINKEDIN_COMPANY'::text OR event_type = 'FAIL'::text AND reason_code = 'STATE_MISMATCH'::text OR event_type = 'FAIL'::text AND reason_code = 'STATE_AMBIGUOUS'::text OR event_type = 'FAIL'::text AND reason_code = 'STATE_MISSING'::text OR event_type = 'FAIL'::text AND reason_code = 'API_UNAVAILABLE'::text OR event_type = 'FAIL'::text AND reason_code = 'TIMEOUT'::text),
  constraint gate_zero_air_entity_type_check CHECK (entity_type = 'intake'::text),
  constraint gate_zero_air_event_timestamp_check CHECK (isfinite(event_timestamp)),
  constraint gate_zero_air_process_id_check CHECK (process_id = 'VERIFY_COMPANY_EXISTENCE'::text),
  constraint gate_zero_air_stage_id_check CHECK (stage_id = 'GATE_ZERO'::text)
);
alter table cl.gate_zero_air enable row level security;
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
comment on column cl.gate_zero_air.login is 'Login of the session; null in rows from before logins were stored.';
comment on column cl.gate_zero_air.form is 'Of an ATTEMPT: which columns the digest covers, by number.';
comment on column cl.gate_zero_air.digest is 'Of an ATTEMPT: digest of the values that the attempt was inserted with; null in older rows.';
CREATE INDEX gate_zero_air_auth ON cl.gate_zero_air USING btree (event_timestamp) WHERE stage_id = 'GATE_ZERO'::text AND event_type = 'AUTH'::text AND reason_code = 'EXISTENCE_CONFIRMED'::text;
CREATE INDEX gate_zero_air_auth_seq ON cl.gate_zero_air USING btree (seq) WHERE stage_id = 'GATE_ZERO'::text AND event_type = 'AUTH'::text AND reason_code = 'EXISTENCE_CONFIRMED'::text;
CREATE INDEX gate_zero_air_auth_xid ON cl.gate_zero_air USING btree (xid) WHERE stage_id = 'GATE_ZERO'::text AND event_type = 'AUTH'::text AND reason_code = 'EXISTENCE_CONFIRMED'::text;
CREATE INDEX gate_zero_air_fail ON cl.gate_zero_air USING btree (event_timestamp) WHERE event_type = 'FAIL'::text;
CREATE INDEX gate_zero_air_xid ON cl.gate_zero_air USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON cl.gate_zero_air FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table cl.gate_zero_air enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON cl.gate_zero_air FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table cl.gate_zero_air enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON cl.gate_zero_air FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table cl.gate_zero_air enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON cl.gate_zero_air FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table cl.gate_zero_air enable replica trigger a_refuse_replicated;
create policy hub on cl.gate_zero_air as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on cl.gate_zero_air is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on cl.gate_zero_air as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table cl.gate_zero_air to recoup_reader;

create table cl.gate_zero_attempt (
  attempt_id uuid not null default recoup.new_id(),
  intake_id uuid not null,
  batch_id text,
  attempt_number integer not null,
  status text not null default 'open'::text,
  reason_code text,
  worker text not null,
  token uuid not null default gen_random_uuid(),
  opened_at timestamp with time zone not null,
  lease_until timestamp with time zone not null,
  finished_at timestamp with time zone,
  payload_ref text,
  reentered_as uuid,
  policy_version integer not null default recoup.policy_version(),
  ended_with uuid,
  constraint gate_zero_attempt_pkey PRIMARY KEY (attempt_id),
  constraint gate_zero_attempt_intake_id_attempt_number_key UNIQUE (intake_id, attempt_number),
  constraint gate_zero_attempt_attempt_number_check CHECK (attempt_number >= 1 AND attempt_number <= 3),
  constraint gate_zero_attempt_check CHECK (lease_until > opened_at),
  constraint gate_zero_attempt_check1 CHECK (finished_at > opened_at),
  constraint gate_zero_attempt_check2 CHECK ((status = 'open'::text) = (finished_at IS NULL)),
  constraint gate_zero_attempt_check3 CHECK ((status = ANY (ARRAY['failed'::text, 'crashed'::text])) = (reason_code IS NOT NULL)),
  constraint gate_zero_attempt_check4 CHECK (status <> 'crashed'::text OR reason_code = 'TIMEOUT'::text),
  constraint gate_zero_attempt_check5 CHECK ((status = 'passed'::text AND attempt_number > 1) = (reentered_as IS NOT NULL)),
  constraint gate_zero_attempt_finished_at_check CHECK (isfinite(finished_at)),
  constraint gate_zero_attempt_lease_until_check CHECK (isfinite(lease_until)),
  constraint gate_zero_attempt_opened_at_check CHECK (isfinite(opened_at)),
  constraint gate_zero_attempt_reason_code_check CHECK (reason_code = ANY (ARRAY['DOMAIN_NOT_FOUND'::text, 'DOMAIN_NO_IMPRINT'::text, 'NO_LINKEDIN_COMPANY'::text, 'STATE_MISMATCH'::text, 'STATE_AMBIGUOUS'::text, 'STATE_MISSING'::text, 'API_UNAVAILABLE'::text, 'TIMEOUT'::text])),
  constraint gate_zero_attempt_status_check CHECK (status = ANY (ARRAY['open'::text, 'passed'::text, 'failed'::text, 'crashed'::text])),
  constraint gate_zero_attempt_worker_check CHECK (worker <> ''::text)
) with (fillfactor=85);
alter table cl.gate_zero_attempt enable row level security;
comment on table cl.gate_zero_attempt is 'One verification attempt. Its start and its end write AIR events; the token fences a worker that died.';
comment on column cl.gate_zero_attempt.attempt_id is 'Unique identifier of the attempt.';
comment on column cl.gate_zero_attempt.intake_id is 'The intake being verified.';
comment on column cl.gate_zero_attempt.batch_id is 'Inherited from intake.';
comment on column cl.gate_zero_attempt.attempt_number is '1 for the first; at most 3.';
comment on column cl.gate_zero_attempt.status is 'open, passed, failed or crashed.';
comment on column cl.gate_zero_attempt.reason_code is 'Why it failed; TIMEOUT for a crashed one.';
comment on column cl.gate_zero_attempt.worker is 'The worker that started it.';
comment on column cl.gate_zero_attempt.token is 'Fencing token: a result is applied only with it, while the attempt is open.';
comment on column cl.gate_zero_attempt.opened_at is 'When it started; time of its ATTEMPT event.';
comment on column cl.gate_zero_attempt.lease_until is 'After this time without a result it counts as crashed.';
comment on column cl.gate_zero_attempt.finished_at is 'When it ended; time of its first outcome event.';
comment on column cl.gate_zero_attempt.payload_ref is 'Optional pointer to evidence of the outcome.';
comment on column cl.gate_zero_attempt.reentered_as is 'Of a passed retry: the new intake that it created.';
comment on column cl.gate_zero_attempt.policy_version is 'The policy that was active when it started: it gives the lease and the wait after a failure.';
comment on column cl.gate_zero_attempt.ended_with is 'Token presented at its end; null: its lease expired, or it ended before tokens were presented.';
CREATE INDEX gate_zero_attempt_lease ON cl.gate_zero_attempt USING btree (lease_until) WHERE status = 'open'::text;
CREATE UNIQUE INDEX gate_zero_attempt_one_open ON cl.gate_zero_attempt USING btree (intake_id) WHERE status = 'open'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON cl.gate_zero_attempt REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_attempt_births('cl.gate_zero_attempt');
alter table cl.gate_zero_attempt enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON cl.gate_zero_attempt REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('cl.gate_zero_attempt');
alter table cl.gate_zero_attempt enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON cl.gate_zero_attempt REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_attempt_moves('cl.gate_zero_attempt');
alter table cl.gate_zero_attempt enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON cl.gate_zero_attempt FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('cl.gate_zero_attempt');
alter table cl.gate_zero_attempt enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON cl.gate_zero_attempt FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table cl.gate_zero_attempt enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_attempt_births_on_insert AFTER INSERT ON cl.gate_zero_attempt REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.rule_attempt_births();
alter table cl.gate_zero_attempt enable always trigger b_rule_attempt_births_on_insert;
CREATE TRIGGER c_record_attempt_births_on_insert AFTER INSERT ON cl.gate_zero_attempt REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.record_attempt_births();
alter table cl.gate_zero_attempt enable always trigger c_record_attempt_births_on_insert;
CREATE TRIGGER c_record_attempt_moves_on_update AFTER UPDATE ON cl.gate_zero_attempt REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.record_attempt_moves();
alter table cl.gate_zero_attempt enable always trigger c_record_attempt_moves_on_update;
CREATE TRIGGER d_settle_attempts_on_update AFTER UPDATE ON cl.gate_zero_attempt REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.settle_attempts();
alter table cl.gate_zero_attempt enable always trigger d_settle_attempts_on_update;
create policy hub on cl.gate_zero_attempt as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on cl.gate_zero_attempt is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on cl.gate_zero_attempt as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert, update (ended_with) on table cl.gate_zero_attempt to recoup_gate;
grant select on table cl.gate_zero_attempt to recoup_reader;

create view cl.gate_zero_authorization (
  seq bigint,
  air_event_id uuid,
  intake_id uuid,
  mint_intake_id uuid,
  batch_id text,
  event_type text,
  reason_code text,
  attempt_id uuid,
  actor text,
  actor_id text,
  event_timestamp timestamp with time zone,
  xid xid8,
  incarnation integer
) with (security_invoker=true) as -- query 5236695c61c6dcd5799fb03ada889c4e
comment on view cl.gate_zero_authorization is 'AUTH events of Gate Zero, each with the intake to mint: the new one after a re-entry.';
comment on column cl.gate_zero_authorization.seq is 'Order over all logs.';
comment on column cl.gate_zero_authorization.air_event_id is 'The AUTH event.';
comment on column cl.gate_zero_authorization.intake_id is 'The intake that AUTH is about.';
comment on column cl.gate_zero_authorization.mint_intake_id is 'The intake to mint: the same one, or the new one that a passed retry created.';
comment on column cl.gate_zero_authorization.batch_id is 'Optional batch identifier. Inherited from intake.';
comment on column cl.gate_zero_authorization.event_type is 'Always AUTH.';
comment on column cl.gate_zero_authorization.reason_code is 'Always EXISTENCE_CONFIRMED.';
comment on column cl.gate_zero_authorization.attempt_id is 'The attempt that passed.';
comment on column cl.gate_zero_authorization.actor is 'Who/what triggered this event: system, ai, human.';
comment on column cl.gate_zero_authorization.actor_id is 'Who exactly: the worker or person.';
comment on column cl.gate_zero_authorization.event_timestamp is 'When the authorisation was granted.';
comment on column cl.gate_zero_authorization.xid is 'Transaction that wrote it; for the settled read.';
comment on column cl.gate_zero_authorization.incarnation is 'Cluster that wrote it.';
grant select on table cl.gate_zero_authorization to recoup_reader;

create table cl.gate_zero_batch (
  batch_id text not null,
  imported_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  batch_freeze_at timestamp with time zone,
  frozen_at timestamp with time zone,
  paused_at timestamp with time zone,
  paused_by text,
  pause_reason text,
  status text not null generated always as (
CASE
    WHEN frozen_at IS NOT NULL THEN 'FROZEN'::text
    WHEN completed_at IS NOT NULL THEN 'COMPLETED'::text
    ELSE 'OPEN'::text
END) stored,
  policy_version integer,
  constraint gate_zero_batch_pkey PRIMARY KEY (batch_id),
  constraint gate_zero_batch_batch_freeze_at_check CHECK (isfinite(batch_freeze_at)),
  constraint gate_zero_batch_batch_id_check CHECK (octet_length(batch_id) >= 1 AND octet_length(batch_id) <= 500),
  constraint gate_zero_batch_check CHECK ((completed_at IS NULL) = (batch_freeze_at IS NULL)),
  constraint gate_zero_batch_check1 CHECK (batch_freeze_at > completed_at),
  constraint gate_zero_batch_check2 CHECK (frozen_at >= batch_freeze_at),
  constraint gate_zero_batch_check3 CHECK ((paused_at IS NULL) = (paused_by IS NULL) AND (paused_at IS NULL) = (pause_reason IS NULL)),
  constraint gate_zero_batch_completed_at_check CHECK (isfinite(completed_at)),
  constraint gate_zero_batch_frozen_at_check CHECK (isfinite(frozen_at)),
  constraint gate_zero_batch_imported_at_check CHECK (isfinite(imported_at)),
  constraint gate_zero_batch_paused_at_check CHECK (isfinite(paused_at)),
  constraint gate_zero_batch_policy_check CHECK ((completed_at IS NULL) = (policy_version IS NULL))
);
alter table cl.gate_zero_batch enable row level security;
comment on table cl.gate_zero_batch is 'An import batch: its completion opens the recovery window, its freeze closes it, its pause stops all recovery at once.';
comment on column cl.gate_zero_batch.batch_id is 'Name of the batch.';
comment on column cl.gate_zero_batch.imported_at is 'When the import began.';
comment on column cl.gate_zero_batch.completed_at is 'When the import was completed. Set once, by a call.';
comment on column cl.gate_zero_batch.batch_freeze_at is 'End of the recovery window: completion plus 14 days. Set once.';
comment on column cl.gate_zero_batch.frozen_at is 'When the freeze was carried out. Set once.';
comment on column cl.gate_zero_batch.paused_at is 'Kill switch: when retries of this batch were paused; null: not paused.';
comment on column cl.gate_zero_batch.paused_by is 'Who paused it.';
comment on column cl.gate_zero_batch.pause_reason is 'Why it was paused.';
comment on column cl.gate_zero_batch.status is 'OPEN, COMPLETED or FROZEN, computed from the other columns.';
comment on column cl.gate_zero_batch.policy_version is 'The policy that was active at its completion: it gives the recovery window. Set once.';
CREATE INDEX gate_zero_batch_imported ON cl.gate_zero_batch USING btree (imported_at DESC, batch_id);
CREATE INDEX gate_zero_batch_open ON cl.gate_zero_batch USING btree (imported_at) WHERE completed_at IS NULL;
CREATE INDEX gate_zero_batch_paused ON cl.gate_zero_batch USING btree (paused_at) WHERE paused_at IS NOT NULL;
CREATE INDEX gate_zero_batch_to_freeze ON cl.gate_zero_batch USING btree (batch_freeze_at) WHERE frozen_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON cl.gate_zero_batch REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_batch_births('cl.gate_zero_batch');
alter table cl.gate_zero_batch enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON cl.gate_zero_batch REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('cl.gate_zero_batch');
alter table cl.gate_zero_batch enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON cl.gate_zero_batch REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_batch_moves('cl.gate_zero_batch');
alter table cl.gate_zero_batch enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON cl.gate_zero_batch FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('cl.gate_zero_batch');
alter table cl.gate_zero_batch enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON cl.gate_zero_batch FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table cl.gate_zero_batch enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_batch_moves_on_update AFTER UPDATE ON cl.gate_zero_batch REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.rule_batch_moves();
alter table cl.gate_zero_batch enable always trigger b_rule_batch_moves_on_update;
CREATE TRIGGER b_rule_times_on_insert AFTER INSERT ON cl.gate_zero_batch REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_times('batch_id', 'imported_at');
alter table cl.gate_zero_batch enable always trigger b_rule_times_on_insert;
CREATE TRIGGER c_content_gate_zero_batch_births_on_insert AFTER INSERT ON cl.gate_zero_batch REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.content_gate_zero_batch_births();
alter table cl.gate_zero_batch enable always trigger c_content_gate_zero_batch_births_on_insert;
CREATE TRIGGER c_record_batch_moves_on_update AFTER UPDATE ON cl.gate_zero_batch REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.record_batch_moves();
alter table cl.gate_zero_batch enable always trigger c_record_batch_moves_on_update;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON cl.gate_zero_batch REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('imported_at');
alter table cl.gate_zero_batch enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON cl.gate_zero_batch REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('completed_at', 'batch_freeze_at', 'frozen_at');
alter table cl.gate_zero_batch enable always trigger c_record_control_on_update;
CREATE TRIGGER d_wake_on_update AFTER UPDATE ON cl.gate_zero_batch REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.wake();
alter table cl.gate_zero_batch enable always trigger d_wake_on_update;
create policy hub on cl.gate_zero_batch as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on cl.gate_zero_batch is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on cl.gate_zero_batch as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (batch_id, imported_at), update (batch_freeze_at, completed_at, frozen_at, policy_version) on table cl.gate_zero_batch to recoup_gate;
grant insert (batch_id, imported_at), update (batch_freeze_at, completed_at, pause_reason, paused_at, paused_by, policy_version) on table cl.gate_zero_batch to recoup_operator;
grant insert (batch_id, imported_at), update (batch_freeze_at, completed_at, policy_version) on table cl.gate_zero_batch to recoup_hub;
grant select on table cl.gate_zero_batch to recoup_reader;

create table cl.gate_zero_evidence (
  attempt_id uuid not null,
  check_number integer not null,
  check_name text not null,
  finding text not null,
  message text not null,
  duration_ms integer not null,
  recorded_at timestamp with time zone not null,
  status text not null generated always as (
CASE finding
    WHEN 'passed'::text THEN 'PASSED'::text
    ELSE 'FAILED'::text
END) stored,
  constraint gate_zero_evidence_pkey PRIMARY KEY (attempt_id, check_number),
  constraint gate_zero_evidence_check_name_check CHECK (octet_length(check_name) >= 1 AND octet_length(check_name) <= 200),
  constraint gate_zero_evidence_check_number_check CHECK (check_number >= 1 AND check_number <= 100),
  constraint gate_zero_evidence_duration_ms_check CHECK (duration_ms >= 0),
  constraint gate_zero_evidence_finding_check CHECK (octet_length(finding) >= 1 AND octet_length(finding) <= 200),
  constraint gate_zero_evidence_message_check CHECK (octet_length(message) <= 4000),
  constraint gate_zero_evidence_recorded_at_check CHECK (isfinite(recorded_at))
);
alter table cl.gate_zero_evidence enable row level security;
comment on table cl.gate_zero_evidence is 'What each check of an attempt found, in the order of the checks. Never changed, never deleted.';
comment on column cl.gate_zero_evidence.attempt_id is 'The attempt. Its payload_ref, and that of its outcome events, is evidence:<attempt_id>.';
comment on column cl.gate_zero_evidence.check_number is 'Position of the check in the attempt, from 1.';
comment on column cl.gate_zero_evidence.check_name is 'Name of the check: dns, imprint, directory, state, or a check of an installed package.';
comment on column cl.gate_zero_evidence.finding is 'What the check found: passed, or what is wrong, such as domain-unknown.';
comment on column cl.gate_zero_evidence.message is 'Details, in one sentence.';
comment on column cl.gate_zero_evidence.duration_ms is 'How long the check took, in milliseconds.';
comment on column cl.gate_zero_evidence.recorded_at is 'When it was recorded.';
comment on column cl.gate_zero_evidence.status is 'PASSED or FAILED, from finding.';
CREATE TRIGGER a_guard_births AFTER INSERT ON cl.gate_zero_evidence REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_evidence_births('cl.gate_zero_evidence');
alter table cl.gate_zero_evidence enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON cl.gate_zero_evidence REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('cl.gate_zero_evidence');
alter table cl.gate_zero_evidence enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON cl.gate_zero_evidence REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_moves('cl.gate_zero_evidence');
alter table cl.gate_zero_evidence enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON cl.gate_zero_evidence FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('cl.gate_zero_evidence');
alter table cl.gate_zero_evidence enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON cl.gate_zero_evidence FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table cl.gate_zero_evidence enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_evidence_births_on_insert AFTER INSERT ON cl.gate_zero_evidence REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.rule_evidence_births();
alter table cl.gate_zero_evidence enable always trigger b_rule_evidence_births_on_insert;
CREATE TRIGGER c_content_gate_zero_evidence_births_on_insert AFTER INSERT ON cl.gate_zero_evidence REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.content_gate_zero_evidence_births();
alter table cl.gate_zero_evidence enable always trigger c_content_gate_zero_evidence_births_on_insert;
create policy hub on cl.gate_zero_evidence as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on cl.gate_zero_evidence is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on cl.gate_zero_evidence as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (attempt_id, check_name, check_number, duration_ms, finding, message, recorded_at) on table cl.gate_zero_evidence to recoup_gate;
grant select on table cl.gate_zero_evidence to recoup_reader;

create table cl.gate_zero_intake (
  intake_id uuid not null default recoup.new_id(),
  batch_id text,
  company_name text not null,
  company_domain text,
  linkedin_url text,
  state text,
  status text not null default 'PENDING'::text,
  reentered_from uuid,
  retry_of uuid,
  created_at timestamp with time zone not null default recoup.now(),
  updated_at timestamp with time zone not null default recoup.now(),
  constraint gate_zero_intake_pkey PRIMARY KEY (intake_id),
  constraint gate_zero_intake_reentered_from_key UNIQUE (reentered_from),
  constraint gate_zero_intake_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES cl.gate_zero_batch(batch_id),
  constraint gate_zero_intake_reentered_from_fkey FOREIGN KEY (reentered_from) REFERENCES cl.gate_zero_intake(intake_id),
  constraint gate_zero_intake_retry_of_fkey FOREIGN KEY (retry_of) REFERENCES cl.gate_zero_intake(intake_id),
  constraint gate_zero_intake_check CHECK (reentered_from IS NULL OR status = 'AUTHORIZED'::text),
  constraint gate_zero_intake_check1 CHECK (reentered_from <> intake_id AND retry_of <> intake_id),
  constraint gate_zero_intake_company_name_check CHECK (company_name <> ''::text),
  constraint gate_zero_intake_created_at_check CHECK (isfinite(created_at)),
  constraint gate_zero_intake_status_check CHECK (status = ANY (ARRAY['PENDING'::text, 'AUTHORIZED'::text, 'FAILED'::text, 'REENTER_SUCCEEDED'::text, 'EXHAUSTED'::text])),
  constraint gate_zero_intake_updated_at_check CHECK (isfinite(updated_at))
) with (fillfactor=85);
alter table cl.gate_zero_intake enable row level security;
comment on table cl.gate_zero_intake is 'A company candidate, as imported. Only its status changes.';
comment on column cl.gate_zero_intake.intake_id is 'Unique identifier of the intake.';
comment on column cl.gate_zero_intake.batch_id is 'The import batch, if any.';
comment on column cl.gate_zero_intake.company_name is 'Name of the company, as given.';
comment on column cl.gate_zero_intake.company_domain is 'Its domain, as given.';
comment on column cl.gate_zero_intake.linkedin_url is 'Its directory page, as given.';
comment on column cl.gate_zero_intake.state is 'US state, as given.';
comment on column cl.gate_zero_intake.status is 'PENDING, AUTHORIZED, FAILED, REENTER_SUCCEEDED or EXHAUSTED.';
comment on column cl.gate_zero_intake.reentered_from is 'The failed intake whose retry passed and created this one.';
comment on column cl.gate_zero_intake.retry_of is 'The exhausted intake that was restarted as this one.';
comment on column cl.gate_zero_intake.created_at is 'When it was imported.';
comment on column cl.gate_zero_intake.updated_at is 'When its status last changed.';
CREATE INDEX gate_zero_intake_batch ON cl.gate_zero_intake USING btree (batch_id, intake_id);
CREATE INDEX gate_zero_intake_domain ON cl.gate_zero_intake USING btree (lower(company_domain) text_pattern_ops) WHERE company_domain IS NOT NULL;
CREATE INDEX gate_zero_intake_name ON cl.gate_zero_intake USING btree (lower(company_name) text_pattern_ops);
CREATE INDEX gate_zero_intake_pending ON cl.gate_zero_intake USING btree (created_at, intake_id) WHERE status = 'PENDING'::text;
CREATE UNIQUE INDEX gate_zero_intake_retry_of ON cl.gate_zero_intake USING btree (retry_of) WHERE retry_of IS NOT NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON cl.gate_zero_intake REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_intake_births('cl.gate_zero_intake');
alter table cl.gate_zero_intake enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON cl.gate_zero_intake REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('cl.gate_zero_intake');
alter table cl.gate_zero_intake enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON cl.gate_zero_intake REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_intake_moves('cl.gate_zero_intake');
alter table cl.gate_zero_intake enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON cl.gate_zero_intake FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('cl.gate_zero_intake');
alter table cl.gate_zero_intake enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON cl.gate_zero_intake FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table cl.gate_zero_intake enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_intake_births_on_insert AFTER INSERT ON cl.gate_zero_intake REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.rule_intake_births();
alter table cl.gate_zero_intake enable always trigger b_rule_intake_births_on_insert;
CREATE TRIGGER b_rule_times_on_insert AFTER INSERT ON cl.gate_zero_intake REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_times('intake_id', 'created_at', 'updated_at');
alter table cl.gate_zero_intake enable always trigger b_rule_times_on_insert;
CREATE TRIGGER c_content_gate_zero_intake_births_on_insert AFTER INSERT ON cl.gate_zero_intake REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.content_gate_zero_intake_births();
alter table cl.gate_zero_intake enable always trigger c_content_gate_zero_intake_births_on_insert;
CREATE TRIGGER c_record_restarts_on_insert AFTER INSERT ON cl.gate_zero_intake REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.record_restarts();
alter table cl.gate_zero_intake enable always trigger c_record_restarts_on_insert;
create policy hub on cl.gate_zero_intake as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on cl.gate_zero_intake is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on cl.gate_zero_intake as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (batch_id, company_domain, company_name, created_at, intake_id, linkedin_url, retry_of, state, updated_at) on table cl.gate_zero_intake to recoup_executor;
grant insert (batch_id, company_domain, company_name, created_at, intake_id, linkedin_url, retry_of, state, updated_at) on table cl.gate_zero_intake to recoup_operator;
grant insert on table cl.gate_zero_intake to recoup_hub;
grant insert, update on table cl.gate_zero_intake to recoup_gate;
grant select on table cl.gate_zero_intake to recoup_reader;

create table cl.gate_zero_recovery (
  recovery_id uuid not null default recoup.new_id(),
  intake_id uuid not null,
  batch_id text,
  failure_reason text not null,
  attempt_count integer not null default 1,
  next_eligible_at timestamp with time zone not null,
  status text not null default 'ACTIVE'::text,
  created_at timestamp with time zone not null default recoup.now(),
  updated_at timestamp with time zone not null default recoup.now(),
  constraint gate_zero_recovery_pkey PRIMARY KEY (recovery_id),
  constraint gate_zero_recovery_intake_id_key UNIQUE (intake_id),
  constraint gate_zero_recovery_attempt_count_check CHECK (attempt_count >= 1 AND attempt_count <= 3),
  constraint gate_zero_recovery_check CHECK (status <> 'ACTIVE'::text OR attempt_count < 3),
  constraint gate_zero_recovery_created_at_check CHECK (isfinite(created_at)),
  constraint gate_zero_recovery_failure_reason_check CHECK (failure_reason = ANY (ARRAY['DOMAIN_NOT_FOUND'::text, 'DOMAIN_NO_IMPRINT'::text, 'NO_LINKEDIN_COMPANY'::text, 'STATE_MISMATCH'::text, 'STATE_AMBIGUOUS'::text, 'STATE_MISSING'::text, 'API_UNAVAILABLE'::text, 'TIMEOUT'::text])),
  constraint gate_zero_recovery_next_eligible_at_check CHECK (isfinite(next_eligible_at)),
  constraint gate_zero_recovery_status_check CHECK (status = ANY (ARRAY['ACTIVE'::text, 'EXHAUSTED'::text, 'SUCCEEDED'::text])),
  constraint gate_zero_recovery_updated_at_check CHECK (isfinite(updated_at))
) with (fillfactor=85);
alter table cl.gate_zero_recovery enable row level security;
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
CREATE INDEX gate_zero_recovery_active_batch ON cl.gate_zero_recovery USING btree (batch_id) WHERE status = 'ACTIVE'::text;
CREATE INDEX gate_zero_recovery_eligible ON cl.gate_zero_recovery USING btree (next_eligible_at) WHERE status = 'ACTIVE'::text;
CREATE INDEX gate_zero_recovery_exhausted_batch ON cl.gate_zero_recovery USING btree (batch_id, intake_id) WHERE status = 'EXHAUSTED'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON cl.gate_zero_recovery REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_recovery_births('cl.gate_zero_recovery');
alter table cl.gate_zero_recovery enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON cl.gate_zero_recovery REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('cl.gate_zero_recovery');
alter table cl.gate_zero_recovery enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON cl.gate_zero_recovery REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.guard_gate_zero_recovery_moves('cl.gate_zero_recovery');
alter table cl.gate_zero_recovery enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON cl.gate_zero_recovery FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('cl.gate_zero_recovery');
alter table cl.gate_zero_recovery enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON cl.gate_zero_recovery FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table cl.gate_zero_recovery enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_recovery_moves_on_update AFTER UPDATE ON cl.gate_zero_recovery REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.rule_recovery_moves();
alter table cl.gate_zero_recovery enable always trigger b_rule_recovery_moves_on_update;
CREATE TRIGGER c_record_recovery_moves_on_update AFTER UPDATE ON cl.gate_zero_recovery REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.record_recovery_moves();
alter table cl.gate_zero_recovery enable always trigger c_record_recovery_moves_on_update;
CREATE TRIGGER d_settle_recoveries_on_update AFTER UPDATE ON cl.gate_zero_recovery REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cl.settle_recoveries();
alter table cl.gate_zero_recovery enable always trigger d_settle_recoveries_on_update;
create policy hub on cl.gate_zero_recovery as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on cl.gate_zero_recovery is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on cl.gate_zero_recovery as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert, update on table cl.gate_zero_recovery to recoup_gate;
grant select on table cl.gate_zero_recovery to recoup_reader;

create table cl.sovereign_mint_air (
  air_event_id uuid not null default recoup.new_id(),
  entity_type text not null default 'intake'::text,
  entity_id uuid not null,
  stage_id text not null default 'SOVEREIGN_MINT'::text,
  process_id text not null default 'MINT_SOVEREIGN_IDENTITY'::text,
  event_type text not null default 'MINT'::text,
  reason_code text not null default 'IDENTITY_MINTED'::text,
  batch_id text,
  payload_ref text,
  actor text,
  event_timestamp timestamp with time zone not null,
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  sovereign_company_id uuid not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint sovereign_mint_air_pkey PRIMARY KEY (air_event_id),
  constraint sovereign_mint_air_entity_id_key UNIQUE (entity_id),
  constraint sovereign_mint_air_seq_key UNIQUE (seq),
  constraint sovereign_mint_air_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint sovereign_mint_air_entity_type_check CHECK (entity_type = 'intake'::text),
  constraint sovereign_mint_air_event_timestamp_check CHECK (isfinite(event_timestamp)),
  constraint sovereign_mint_air_event_type_check CHECK (event_type = 'MINT'::text),
  constraint sovereign_mint_air_process_id_check CHECK (process_id = 'MINT_SOVEREIGN_IDENTITY'::text),
  constraint sovereign_mint_air_reason_code_check CHECK (reason_code = 'IDENTITY_MINTED'::text),
  constraint sovereign_mint_air_stage_id_check CHECK (stage_id = 'SOVEREIGN_MINT'::text)
);
alter table cl.sovereign_mint_air enable row level security;
comment on table cl.sovereign_mint_air is 'Immutable AIR (Action/Incident/Result) event log of the mint. One MINT for each identity. Append-only; no UPDATE or DELETE permitted.';
comment on column cl.sovereign_mint_air.air_event_id is 'Unique identifier for this AIR event. Auto-generated UUID. Immutable.';
comment on column cl.sovereign_mint_air.entity_type is 'Type of entity: always "intake", as in Gate Zero''s AIR.';
comment on column cl.sovereign_mint_air.entity_id is 'The intake_id that was minted.';
comment on column cl.sovereign_mint_air.stage_id is 'Stage identifier: always "SOVEREIGN_MINT" for this table.';
comment on column cl.sovereign_mint_air.process_id is 'Process identifier: always "MINT_SOVEREIGN_IDENTITY".';
comment on column cl.sovereign_mint_air.event_type is 'Event outcome: MINT.';
comment on column cl.sovereign_mint_air.reason_code is 'Specific reason code for this event: IDENTITY_MINTED.';
comment on column cl.sovereign_mint_air.batch_id is 'Optional batch identifier. Inherited from intake.';
comment on column cl.sovereign_mint_air.payload_ref is 'Names the identity: company:<sovereign_company_id>.';
comment on column cl.sovereign_mint_air.actor is 'Who/what triggered this event: system, ai, human.';
comment on column cl.sovereign_mint_air.event_timestamp is 'When this event occurred. Immutable. Always UTC.';
comment on column cl.sovereign_mint_air.seq is 'Order over all logs.';
comment on column cl.sovereign_mint_air.xid is 'Transaction that wrote it; for the settled read.';
comment on column cl.sovereign_mint_air.incarnation is 'Cluster that wrote it.';
comment on column cl.sovereign_mint_air.sovereign_company_id is 'The identity that was minted.';
comment on column cl.sovereign_mint_air.actor_id is 'Who exactly: the worker or person.';
comment on column cl.sovereign_mint_air.authority is 'Database role that acted.';
comment on column cl.sovereign_mint_air.login is 'Login of the session; null in rows from before logins were stored.';
CREATE INDEX sovereign_mint_air_event_timestamp ON cl.sovereign_mint_air USING btree (event_timestamp);
CREATE INDEX sovereign_mint_air_xid ON cl.sovereign_mint_air USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON cl.sovereign_mint_air FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table cl.sovereign_mint_air enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON cl.sovereign_mint_air FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table cl.sovereign_mint_air enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON cl.sovereign_mint_air FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table cl.sovereign_mint_air enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON cl.sovereign_mint_air FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table cl.sovereign_mint_air enable replica trigger a_refuse_replicated;
create policy hub on cl.sovereign_mint_air as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on cl.sovereign_mint_air is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on cl.sovereign_mint_air as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table cl.sovereign_mint_air to recoup_reader;

grant execute on function cl.attempt_move_broken(o cl.gate_zero_attempt, n cl.gate_zero_attempt, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION cl.attempt_move_broken(o cl.gate_zero_attempt, n cl.gate_zero_attempt, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body eb5f98914d62116a204f3ad9d4f5f292
comment on function cl.attempt_move_broken(o cl.gate_zero_attempt, n cl.gate_zero_attempt, now_ timestamp with time zone, acting text, policy jsonb) is 'An attempt ends now, with its token, and crashes only when its lease has expired. Returns the SQLSTATE, or null.';

grant execute on function cl.attempt_move_refusal(code text, o cl.gate_zero_attempt, n cl.gate_zero_attempt, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION cl.attempt_move_refusal(code text, o cl.gate_zero_attempt, n cl.gate_zero_attempt, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 744afc5e83073d922de69b488a01cba2
comment on function cl.attempt_move_refusal(code text, o cl.gate_zero_attempt, n cl.gate_zero_attempt, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of cl.attempt_move_broken.';

grant execute on function cl.behind_breakers(most integer, now_ timestamp with time zone, OUT most_ integer, OUT tries boolean) to public;

CREATE OR REPLACE FUNCTION cl.behind_breakers(most integer, now_ timestamp with time zone, OUT most_ integer, OUT tries boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body c501939af4668339ae1281e37ef9a562
comment on function cl.behind_breakers(most integer, now_ timestamp with time zone, OUT most_ integer, OUT tries boolean) is 'How many attempts may be opened: none behind a breaker, one if it is tried now.';

grant execute on function cl.claim_pending(most integer, worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION cl.claim_pending(most integer, worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'; -- body d71bd5840b878677031d88263cb72b3c
comment on function cl.claim_pending(most integer, worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone) is 'Opens the first attempt of waiting intakes, oldest first.';

grant execute on function cl.claim_retries(most integer, worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION cl.claim_retries(most integer, worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'; -- body 8bf9fa531d98138478a7a3b8bc3484d2
comment on function cl.claim_retries(most integer, worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone) is 'Opens attempts on failed intakes whose wait has ended, longest due first.';

CREATE OR REPLACE FUNCTION cl.content_company_identity_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body f8458b3ed5fb099e89fd9b18c54728fe
comment on function cl.content_company_identity_births() is 'Digests of rows of cl.company_identity at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION cl.content_gate_zero_batch_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 9a9cdf376147a94c328523cd7bcd3fb4
comment on function cl.content_gate_zero_batch_births() is 'Digests of rows of cl.gate_zero_batch at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION cl.content_gate_zero_evidence_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 1d85beb0c4a9289f7909838b3b4a5ebf
comment on function cl.content_gate_zero_evidence_births() is 'Digests of rows of cl.gate_zero_evidence at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION cl.content_gate_zero_intake_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 2e0ee2d9268a60efcc05db8297b9bef7
comment on function cl.content_gate_zero_intake_births() is 'Digests of rows of cl.gate_zero_intake at their birth, generated from the declaration.';

grant execute on function cl.finish_attempts(wanted uuid[], with_tokens uuid[], reasons text[], payloads text[], OUT attempts uuid[], OUT intakes uuid[], OUT statuses text[], OUT reentered uuid[]) to public;

CREATE OR REPLACE FUNCTION cl.finish_attempts(wanted uuid[], with_tokens uuid[], reasons text[], payloads text[], OUT attempts uuid[], OUT intakes uuid[], OUT statuses text[], OUT reentered uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'; -- body 82f5936f2543490b2af59037d1e539e5
comment on function cl.finish_attempts(wanted uuid[], with_tokens uuid[], reasons text[], payloads text[], OUT attempts uuid[], OUT intakes uuid[], OUT statuses text[], OUT reentered uuid[]) is 'Ends attempts, passed (no reason) and failed alike. Late results are stored, and come back as late.';

CREATE OR REPLACE FUNCTION cl.gate_zero_lease()
 RETURNS interval
 LANGUAGE sql
 STABLE PARALLEL SAFE; -- body 66fdeecee8580925a41bf63e6ce7a252
comment on function cl.gate_zero_lease() is 'How long a worker has for an attempt, by the active policy.';
grant execute on function cl.gate_zero_lease() to public;

CREATE OR REPLACE FUNCTION cl.gate_zero_recovery_window(policy_version_ integer DEFAULT recoup.policy_version())
 RETURNS interval
 LANGUAGE sql
 STABLE PARALLEL SAFE; -- body df1723d34d7420b6b23397a703422bda
comment on function cl.gate_zero_recovery_window(policy_version_ integer) is 'How long after its completion a batch may be retried, by a policy.';
grant execute on function cl.gate_zero_recovery_window(policy_version_ integer) to public;

CREATE OR REPLACE FUNCTION cl.gate_zero_wait(figures jsonb, attempt_count integer)
 RETURNS interval
 LANGUAGE sql
 STABLE PARALLEL SAFE; -- body c6709b9a6dcfaadd2135432156c07b23
comment on function cl.gate_zero_wait(figures jsonb, attempt_count integer) is 'The wait after this number of failed attempts, by the values of a policy.';
grant execute on function cl.gate_zero_wait(figures jsonb, attempt_count integer) to public;

CREATE OR REPLACE FUNCTION cl.guard_company_identity_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body f3d5e89ce27460a3b57eee0f1015b56f
comment on function cl.guard_company_identity_births() is 'The guard of births of cl.company_identity, generated from the declaration.';
grant execute on function cl.guard_company_identity_births() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_attempt_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 7ae8cbae0d34bb807fe59ce94e8075d5
comment on function cl.guard_gate_zero_attempt_births() is 'The guard of births of cl.gate_zero_attempt, generated from the declaration.';
grant execute on function cl.guard_gate_zero_attempt_births() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_attempt_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 69636741fb5fa6a3ce03629cf326300a
comment on function cl.guard_gate_zero_attempt_moves() is 'The guard of moves of cl.gate_zero_attempt, generated from the declaration.';
grant execute on function cl.guard_gate_zero_attempt_moves() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_batch_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body be420d70d02bb183400a7e0777202746
comment on function cl.guard_gate_zero_batch_births() is 'The guard of births of cl.gate_zero_batch, generated from the declaration.';
grant execute on function cl.guard_gate_zero_batch_births() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_batch_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body c9956a8c0e7716ead6c3b2fbd0bf93d2
comment on function cl.guard_gate_zero_batch_moves() is 'The guard of moves of cl.gate_zero_batch, generated from the declaration.';
grant execute on function cl.guard_gate_zero_batch_moves() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_evidence_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body f158ffb9d3f84bd55f662bf60dd5ec1b
comment on function cl.guard_gate_zero_evidence_births() is 'The guard of births of cl.gate_zero_evidence, generated from the declaration.';
grant execute on function cl.guard_gate_zero_evidence_births() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_intake_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 63beeacab82b0697b36d45324de77bbd
comment on function cl.guard_gate_zero_intake_births() is 'The guard of births of cl.gate_zero_intake, generated from the declaration.';
grant execute on function cl.guard_gate_zero_intake_births() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_intake_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 4fdeda714247c97d143e7e13b1583658
comment on function cl.guard_gate_zero_intake_moves() is 'The guard of moves of cl.gate_zero_intake, generated from the declaration.';
grant execute on function cl.guard_gate_zero_intake_moves() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_recovery_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body c8546e2c1a184d25a47f9dc700035592
comment on function cl.guard_gate_zero_recovery_births() is 'The guard of births of cl.gate_zero_recovery, generated from the declaration.';
grant execute on function cl.guard_gate_zero_recovery_births() to public;

CREATE OR REPLACE FUNCTION cl.guard_gate_zero_recovery_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 7134fbfe128f7159b41a360417e8fa9b
comment on function cl.guard_gate_zero_recovery_moves() is 'The guard of moves of cl.gate_zero_recovery, generated from the declaration.';
grant execute on function cl.guard_gate_zero_recovery_moves() to public;

CREATE OR REPLACE FUNCTION cl.has_evidence(attempt uuid, payload_ref text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 459f1a3c19cf2cd8d2900cab75eea96e
comment on function cl.has_evidence(attempt uuid, payload_ref text) is 'Whether a payload_ref points at evidence of this attempt that is recorded.';
grant execute on function cl.has_evidence(attempt uuid, payload_ref text) to public;

CREATE OR REPLACE FUNCTION cl.max_attempts()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body ac79f45d9f23ad49c79bc6771e476da0
comment on function cl.max_attempts() is 'How often an intake is verified, the first attempt included.';
grant execute on function cl.max_attempts() to public;

grant execute on function cl.open_attempts(wanted uuid[], worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION cl.open_attempts(wanted uuid[], worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'; -- body 1cce770862a0064bc5b22eb1ddf72dff
comment on function cl.open_attempts(wanted uuid[], worker_ text, lease interval, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[], OUT lease_until timestamp with time zone) is 'Opens the next attempt of each intake, all or none. Refuses unknown intakes.';

grant execute on function cl.open_picked(picked uuid[], batches text[], places integer[], worker_ text, now_ timestamp with time zone, until_ timestamp with time zone, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[]) to public;

CREATE OR REPLACE FUNCTION cl.open_picked(picked uuid[], batches text[], places integer[], worker_ text, now_ timestamp with time zone, until_ timestamp with time zone, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'; -- body 4a0ae6b67a27a02ebeb20ae8303006c7
comment on function cl.open_picked(picked uuid[], batches text[], places integer[], worker_ text, now_ timestamp with time zone, until_ timestamp with time zone, OUT attempts uuid[], OUT intakes uuid[], OUT numbers integer[], OUT tokens uuid[]) is 'Opens attempts on intakes that a claim has selected and locked. Those opened by others meanwhile are skipped.';

CREATE OR REPLACE FUNCTION cl.record_attempt_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'; -- body d90dce2bd1f732e1ca406c43e7d733d0
comment on function cl.record_attempt_births() is 'ATTEMPT, with START or RETRY.';

CREATE OR REPLACE FUNCTION cl.record_attempt_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 8ceb0f1c717bcbc0d3d8968b28906004
comment on function cl.record_attempt_moves() is 'PASS and AUTH, on a retry REENTER with the new intake; or FAIL. A crashed attempt is FAIL, TIMEOUT, with a pointer to itself.';

CREATE OR REPLACE FUNCTION cl.record_batch_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body caf5fe6c1922fc452af32ab0530bb245
comment on function cl.record_batch_moves() is 'PAUSE or RESUME of a batch, in the pause log.';

grant execute on function cl.record_evidence(attempts uuid[], tokens uuid[], numbers integer[], names text[], findings text[], messages text[], durations integer[], OUT recorded uuid[]) to public;

CREATE OR REPLACE FUNCTION cl.record_evidence(attempts uuid[], tokens uuid[], numbers integer[], names text[], findings text[], messages text[], durations integer[], OUT recorded uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body c5c98593f65e6dd29cb9af0662a2b404
comment on function cl.record_evidence(attempts uuid[], tokens uuid[], numbers integer[], names text[], findings text[], messages text[], durations integer[], OUT recorded uuid[]) is 'Records what the checks of open attempts found, one row per check; returns the attempts whose evidence was recorded. An attempt that has ended, or whose lease has expired, is left out.';

CREATE OR REPLACE FUNCTION cl.record_identity_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body f7d8e27408f129f4fe4e6ec7d2aa781e
comment on function cl.record_identity_births() is 'Writes MINT to the AIR log of the mint.';

CREATE OR REPLACE FUNCTION cl.record_recovery_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'; -- body fbc65d8c615d18f93ba78856e3120f17
comment on function cl.record_recovery_moves() is 'EXHAUSTED, with its reason: three attempts, or the window closed.';

CREATE OR REPLACE FUNCTION cl.record_restarts()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body bd2d6464426d98dd1d533bffd92998e1
comment on function cl.record_restarts() is 'A restart, in the control log.';

CREATE OR REPLACE FUNCTION cl.rule_attempt_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'; -- body 5a4d8b031cb1615de1320a94a8ddad85
comment on function cl.rule_attempt_births() is 'No attempt before next_eligible_at, out of order, after exhaustion, in a paused or closed batch. A second open one is stopped by the unique index.';
grant execute on function cl.rule_attempt_births() to public;

CREATE OR REPLACE FUNCTION cl.rule_batch_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b85e8455bf68995c450ec6cc7b6a5c19
comment on function cl.rule_batch_moves() is 'A batch is completed, paused and frozen now; its window has the length of the policy, and is not closed early.';
grant execute on function cl.rule_batch_moves() to public;

CREATE OR REPLACE FUNCTION cl.rule_evidence_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body bbb29ab3d57e85cc5257879bebea3477
comment on function cl.rule_evidence_births() is 'Evidence is recorded now, and while its attempt is open.';
grant execute on function cl.rule_evidence_births() to public;

CREATE OR REPLACE FUNCTION cl.rule_identity_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'; -- body 1024f84c78e85113074df5a144784d98
comment on function cl.rule_identity_births() is 'An identity is minted now, for an intake with an AUTH event and with its data; after a re-entry for the new intake.';
grant execute on function cl.rule_identity_births() to public;

CREATE OR REPLACE FUNCTION cl.rule_intake_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 4bc45c039fe618530dd44cfe94349ac5
comment on function cl.rule_intake_births() is 'A restart follows an exhausted intake, and is made now, by an operator or, once, for a recovery candidate.';
grant execute on function cl.rule_intake_births() to public;

CREATE OR REPLACE FUNCTION cl.rule_recovery_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'; -- body d63b5e9b0017bc8191bdeb9d011d3851
comment on function cl.rule_recovery_moves() is 'EXHAUSTED only after three failed attempts, or some and a closed window; and never during an open attempt.';
grant execute on function cl.rule_recovery_moves() to public;

CREATE OR REPLACE FUNCTION cl.settle_attempts()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'; -- body 608a8d6ab26361eb1127ee21dcfaa54c
comment on function cl.settle_attempts() is 'Updates intake and recovery when an attempt ends, in the same statement.';

CREATE OR REPLACE FUNCTION cl.settle_recoveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'; -- body 8771eadde8b965d6c437f112e026223f
comment on function cl.settle_recoveries() is 'An exhausted recovery exhausts its intake.';

grant execute on function cl.try_breakers(attempt uuid, token_ uuid, until_ timestamp with time zone, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION cl.try_breakers(attempt uuid, token_ uuid, until_ timestamp with time zone, now_ timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 74b3bbee3c786eba3cc6cb2a25d7d264
comment on function cl.try_breakers(attempt uuid, token_ uuid, until_ timestamp with time zone, now_ timestamp with time zone) is 'Makes an attempt the probe of the breakers of Gate Zero.';

create schema company authorization recoup_owner;
comment on schema company is 'Error tables of a hub.';
grant usage on schema company to recoup_reader;

create table company.url_discovery_failures (
  error_table text not null default 'company.url_discovery_failures'::text,
  outreach_id uuid not null
) partition of recoup.error FOR VALUES IN ('company.url_discovery_failures') with (fillfactor=85);
alter table company.url_discovery_failures enable row level security;
alter table company.url_discovery_failures force row level security;
comment on table company.url_discovery_failures is 'Errors of this hub. Read here; written through recoup.error.';
CREATE UNIQUE INDEX url_discovery_failures_open ON company.url_discovery_failures USING btree (outreach_id, error_signature, COALESCE(work_key, ''::text)) WHERE archived_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON company.url_discovery_failures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_births('recoup.error');
alter table company.url_discovery_failures enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON company.url_discovery_failures REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_exits('recoup.error');
alter table company.url_discovery_failures enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON company.url_discovery_failures REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_moves('recoup.error');
alter table company.url_discovery_failures enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON company.url_discovery_failures FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error');
alter table company.url_discovery_failures enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON company.url_discovery_failures FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table company.url_discovery_failures enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_births_on_insert AFTER INSERT ON company.url_discovery_failures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_births();
alter table company.url_discovery_failures enable always trigger b_rule_error_births_on_insert;
CREATE TRIGGER b_rule_error_exits_on_delete AFTER DELETE ON company.url_discovery_failures REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_exits();
alter table company.url_discovery_failures enable always trigger b_rule_error_exits_on_delete;
CREATE TRIGGER c_archive_errors_gone_on_delete AFTER DELETE ON company.url_discovery_failures REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.archive_errors_gone();
alter table company.url_discovery_failures enable always trigger c_archive_errors_gone_on_delete;
CREATE TRIGGER c_record_error_births_on_insert AFTER INSERT ON company.url_discovery_failures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_births();
alter table company.url_discovery_failures enable always trigger c_record_error_births_on_insert;
CREATE TRIGGER c_record_error_moves_on_update AFTER UPDATE ON company.url_discovery_failures REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_moves();
alter table company.url_discovery_failures enable always trigger c_record_error_moves_on_update;
CREATE TRIGGER d_queue_error_births_on_insert AFTER INSERT ON company.url_discovery_failures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_births();
alter table company.url_discovery_failures enable always trigger d_queue_error_births_on_insert;
CREATE TRIGGER d_queue_error_exits_on_delete AFTER DELETE ON company.url_discovery_failures REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_exits();
alter table company.url_discovery_failures enable always trigger d_queue_error_exits_on_delete;
CREATE TRIGGER d_queue_error_moves_on_update AFTER UPDATE ON company.url_discovery_failures REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_moves();
alter table company.url_discovery_failures enable always trigger d_queue_error_moves_on_update;
create policy hub on company.url_discovery_failures as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('company.url_discovery_failures'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on company.url_discovery_failures is 'Rows of the hub that the transaction is limited to; 5555d10b0a1bbab2738269ea7080105a.';
create policy workers on company.url_discovery_failures as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table company.url_discovery_failures to recoup_reader;

create table company.url_discovery_failures_archive (
  error_table text not null default 'company.url_discovery_failures'::text
) partition of recoup.error_archive FOR VALUES IN ('company.url_discovery_failures') partition by RANGE (archived_at);
alter table company.url_discovery_failures_archive enable row level security;
alter table company.url_discovery_failures_archive force row level security;
comment on table company.url_discovery_failures_archive is 'Archived errors of company.url_discovery_failures, by month.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON company.url_discovery_failures_archive FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table company.url_discovery_failures_archive enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON company.url_discovery_failures_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table company.url_discovery_failures_archive enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON company.url_discovery_failures_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table company.url_discovery_failures_archive enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON company.url_discovery_failures_archive FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table company.url_discovery_failures_archive enable replica trigger a_refuse_replicated;
create policy hub on company.url_discovery_failures_archive as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('company.url_discovery_failures'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on company.url_discovery_failures_archive is 'Rows of the hub that the transaction is limited to; 5555d10b0a1bbab2738269ea7080105a.';
create policy workers on company.url_discovery_failures_archive as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table company.url_discovery_failures_archive to recoup_reader;

create schema outreach authorization recoup_owner;
comment on schema outreach is 'Error tables of a hub.';
grant usage on schema outreach to recoup_reader;

create table outreach.company_target_errors (
  error_table text not null default 'outreach.company_target_errors'::text,
  outreach_id uuid not null
) partition of recoup.error FOR VALUES IN ('outreach.company_target_errors') with (fillfactor=85);
alter table outreach.company_target_errors enable row level security;
alter table outreach.company_target_errors force row level security;
comment on table outreach.company_target_errors is 'Errors of this hub. Read here; written through recoup.error.';
CREATE UNIQUE INDEX company_target_errors_open ON outreach.company_target_errors USING btree (outreach_id, error_signature, COALESCE(work_key, ''::text)) WHERE archived_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON outreach.company_target_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_births('recoup.error');
alter table outreach.company_target_errors enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON outreach.company_target_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_exits('recoup.error');
alter table outreach.company_target_errors enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON outreach.company_target_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_moves('recoup.error');
alter table outreach.company_target_errors enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON outreach.company_target_errors FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error');
alter table outreach.company_target_errors enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON outreach.company_target_errors FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table outreach.company_target_errors enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_births_on_insert AFTER INSERT ON outreach.company_target_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_births();
alter table outreach.company_target_errors enable always trigger b_rule_error_births_on_insert;
CREATE TRIGGER b_rule_error_exits_on_delete AFTER DELETE ON outreach.company_target_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_exits();
alter table outreach.company_target_errors enable always trigger b_rule_error_exits_on_delete;
CREATE TRIGGER c_archive_errors_gone_on_delete AFTER DELETE ON outreach.company_target_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.archive_errors_gone();
alter table outreach.company_target_errors enable always trigger c_archive_errors_gone_on_delete;
CREATE TRIGGER c_record_error_births_on_insert AFTER INSERT ON outreach.company_target_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_births();
alter table outreach.company_target_errors enable always trigger c_record_error_births_on_insert;
CREATE TRIGGER c_record_error_moves_on_update AFTER UPDATE ON outreach.company_target_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_moves();
alter table outreach.company_target_errors enable always trigger c_record_error_moves_on_update;
CREATE TRIGGER d_queue_error_births_on_insert AFTER INSERT ON outreach.company_target_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_births();
alter table outreach.company_target_errors enable always trigger d_queue_error_births_on_insert;
CREATE TRIGGER d_queue_error_exits_on_delete AFTER DELETE ON outreach.company_target_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_exits();
alter table outreach.company_target_errors enable always trigger d_queue_error_exits_on_delete;
CREATE TRIGGER d_queue_error_moves_on_update AFTER UPDATE ON outreach.company_target_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_moves();
alter table outreach.company_target_errors enable always trigger d_queue_error_moves_on_update;
create policy hub on outreach.company_target_errors as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('outreach.company_target_errors'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on outreach.company_target_errors is 'Rows of the hub that the transaction is limited to; be0f8baec600562a7e2ad668d9a8f934.';
create policy workers on outreach.company_target_errors as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table outreach.company_target_errors to recoup_reader;

create table outreach.company_target_errors_archive (
  error_table text not null default 'outreach.company_target_errors'::text
) partition of recoup.error_archive FOR VALUES IN ('outreach.company_target_errors') partition by RANGE (archived_at);
alter table outreach.company_target_errors_archive enable row level security;
alter table outreach.company_target_errors_archive force row level security;
comment on table outreach.company_target_errors_archive is 'Archived errors of outreach.company_target_errors, by month.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON outreach.company_target_errors_archive FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table outreach.company_target_errors_archive enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON outreach.company_target_errors_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table outreach.company_target_errors_archive enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON outreach.company_target_errors_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table outreach.company_target_errors_archive enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON outreach.company_target_errors_archive FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table outreach.company_target_errors_archive enable replica trigger a_refuse_replicated;
create policy hub on outreach.company_target_errors_archive as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('outreach.company_target_errors'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on outreach.company_target_errors_archive is 'Rows of the hub that the transaction is limited to; be0f8baec600562a7e2ad668d9a8f934.';
create policy workers on outreach.company_target_errors_archive as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table outreach.company_target_errors_archive to recoup_reader;

create table outreach.dol_errors (
  error_table text not null default 'outreach.dol_errors'::text,
  outreach_id uuid not null
) partition of recoup.error FOR VALUES IN ('outreach.dol_errors') with (fillfactor=85);
alter table outreach.dol_errors enable row level security;
alter table outreach.dol_errors force row level security;
comment on table outreach.dol_errors is 'Errors of this hub. Read here; written through recoup.error.';
CREATE UNIQUE INDEX dol_errors_open ON outreach.dol_errors USING btree (outreach_id, error_signature, COALESCE(work_key, ''::text)) WHERE archived_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON outreach.dol_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_births('recoup.error');
alter table outreach.dol_errors enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON outreach.dol_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_exits('recoup.error');
alter table outreach.dol_errors enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON outreach.dol_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_moves('recoup.error');
alter table outreach.dol_errors enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON outreach.dol_errors FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error');
alter table outreach.dol_errors enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON outreach.dol_errors FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table outreach.dol_errors enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_births_on_insert AFTER INSERT ON outreach.dol_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_births();
alter table outreach.dol_errors enable always trigger b_rule_error_births_on_insert;
CREATE TRIGGER b_rule_error_exits_on_delete AFTER DELETE ON outreach.dol_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_exits();
alter table outreach.dol_errors enable always trigger b_rule_error_exits_on_delete;
CREATE TRIGGER c_archive_errors_gone_on_delete AFTER DELETE ON outreach.dol_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.archive_errors_gone();
alter table outreach.dol_errors enable always trigger c_archive_errors_gone_on_delete;
CREATE TRIGGER c_record_error_births_on_insert AFTER INSERT ON outreach.dol_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_births();
alter table outreach.dol_errors enable always trigger c_record_error_births_on_insert;
CREATE TRIGGER c_record_error_moves_on_update AFTER UPDATE ON outreach.dol_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_moves();
alter table outreach.dol_errors enable always trigger c_record_error_moves_on_update;
CREATE TRIGGER d_queue_error_births_on_insert AFTER INSERT ON outreach.dol_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_births();
alter table outreach.dol_errors enable always trigger d_queue_error_births_on_insert;
CREATE TRIGGER d_queue_error_exits_on_delete AFTER DELETE ON outreach.dol_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_exits();
alter table outreach.dol_errors enable always trigger d_queue_error_exits_on_delete;
CREATE TRIGGER d_queue_error_moves_on_update AFTER UPDATE ON outreach.dol_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_moves();
alter table outreach.dol_errors enable always trigger d_queue_error_moves_on_update;
create policy hub on outreach.dol_errors as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('outreach.dol_errors'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on outreach.dol_errors is 'Rows of the hub that the transaction is limited to; d8cb104c278e8fe86e6d908231790398.';
create policy workers on outreach.dol_errors as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table outreach.dol_errors to recoup_reader;

create table outreach.dol_errors_archive (
  error_table text not null default 'outreach.dol_errors'::text
) partition of recoup.error_archive FOR VALUES IN ('outreach.dol_errors') partition by RANGE (archived_at);
alter table outreach.dol_errors_archive enable row level security;
alter table outreach.dol_errors_archive force row level security;
comment on table outreach.dol_errors_archive is 'Archived errors of outreach.dol_errors, by month.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON outreach.dol_errors_archive FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table outreach.dol_errors_archive enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON outreach.dol_errors_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table outreach.dol_errors_archive enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON outreach.dol_errors_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table outreach.dol_errors_archive enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON outreach.dol_errors_archive FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table outreach.dol_errors_archive enable replica trigger a_refuse_replicated;
create policy hub on outreach.dol_errors_archive as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('outreach.dol_errors'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on outreach.dol_errors_archive is 'Rows of the hub that the transaction is limited to; d8cb104c278e8fe86e6d908231790398.';
create policy workers on outreach.dol_errors_archive as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table outreach.dol_errors_archive to recoup_reader;

create schema partitions authorization recoup_owner;
comment on schema partitions is 'Partitions of data: extracted into a raw sink, validated, retried as a whole.';
grant usage on schema partitions to recoup_reader;

create sequence partitions.dispatch_seq as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;
comment on sequence partitions.dispatch_seq is 'Numbers of dispatches, over all pools.';
grant usage on sequence partitions.dispatch_seq to recoup_control_plane;

create sequence partitions.partition_seq as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;
comment on sequence partitions.partition_seq is 'Ids of partitions.';
grant usage on sequence partitions.partition_seq to recoup_control_plane;

create table partitions.attempt (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  partition_id bigint not null,
  run_id uuid not null,
  number integer not null,
  verdict text not null,
  accepted_run_id uuid generated always as (
CASE
    WHEN verdict = 'accepted'::text THEN run_id
    ELSE NULL::uuid
END) stored,
  reason text,
  rule text,
  message text,
  error_signature text,
  category text,
  rows bigint,
  bytes bigint,
  digest text,
  location text,
  sink_id uuid,
  validator text,
  validator_version text,
  contract_digest text,
  policy_version integer not null,
  opened_at timestamp with time zone not null,
  published_at timestamp with time zone,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text not null default SESSION_USER,
  constraint attempt_pkey PRIMARY KEY (seq),
  constraint attempt_accepted UNIQUE (partition_id, accepted_run_id),
  constraint attempt_number UNIQUE (partition_id, number),
  constraint attempt_run UNIQUE (partition_id, run_id),
  constraint attempt_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint attempt_logged_at_check CHECK (isfinite(logged_at)),
  constraint attempt_number_check CHECK (number > 0),
  constraint attempt_verdict_check CHECK (verdict = ANY (ARRAY['accepted'::text, 'rejected'::text]))
);
alter table partitions.attempt enable row level security;
alter table partitions.attempt force row level security;
comment on table partitions.attempt is 'The log of verdicts: one row for each run that was accepted or rejected.';
comment on column partitions.attempt.seq is 'Order of events, over all logs.';
comment on column partitions.attempt.xid is 'Transaction that wrote it.';
comment on column partitions.attempt.incarnation is 'Cluster that wrote it.';
comment on column partitions.attempt.logged_at is 'When the verdict was given.';
comment on column partitions.attempt.partition_id is 'The partition.';
comment on column partitions.attempt.run_id is 'The run.';
comment on column partitions.attempt.number is 'Its number, from 1: attempt_count of the partition after it.';
comment on column partitions.attempt.verdict is 'accepted or rejected.';
comment on column partitions.attempt.accepted_run_id is 'The run if it was accepted, which a partition may point at.';
comment on column partitions.attempt.reason is 'Why it was rejected.';
comment on column partitions.attempt.rule is 'First rule of the contract that it breaks.';
comment on column partitions.attempt.message is 'Why it was rejected, in words.';
comment on column partitions.attempt.error_signature is 'What rejections of the same kind have in common.';
comment on column partitions.attempt.category is 'TRANSIENT, OPERATIONAL or STRUCTURAL.';
comment on column partitions.attempt.rows is 'Rows of the run.';
comment on column partitions.attempt.bytes is 'Bytes of the run.';
comment on column partitions.attempt.digest is 'SHA-256 of its manifest.';
comment on column partitions.attempt.location is 'Its folder in the raw sink; null: nothing was published.';
comment on column partitions.attempt.sink_id is 'That sink.';
comment on column partitions.attempt.validator is 'Validator that judged it.';
comment on column partitions.attempt.validator_version is 'Version of that validator.';
comment on column partitions.attempt.contract_digest is 'Digest of the contract that it was judged by.';
comment on column partitions.attempt.policy_version is 'Version of the policy when the run was opened.';
comment on column partitions.attempt.opened_at is 'When the run was opened.';
comment on column partitions.attempt.published_at is 'When the run was published.';
comment on column partitions.attempt.actor is 'system, ai or human.';
comment on column partitions.attempt.actor_id is 'Who acted.';
comment on column partitions.attempt.authority is 'Role that acted.';
comment on column partitions.attempt.login is 'Login of the session.';
CREATE INDEX attempt_xid ON partitions.attempt USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON partitions.attempt FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table partitions.attempt enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON partitions.attempt FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table partitions.attempt enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON partitions.attempt FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table partitions.attempt enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.attempt FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.attempt enable replica trigger a_refuse_replicated;
create policy hub on partitions.attempt as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR partitions.in_hub(partition_id));
comment on policy hub on partitions.attempt is 'Rows of the hub that the transaction is limited to; 374311fddb30298f3056719d6b8905a1.';
create policy workers on partitions.attempt as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table partitions.attempt to recoup_reader;

create table partitions.backfill (
  backfill_id uuid not null default recoup.new_id(),
  status text not null default 'planning'::text,
  selection jsonb not null,
  reason text not null,
  requested_by text not null,
  priority smallint not null,
  reprocess boolean not null,
  with_terminal boolean not null,
  expected integer not null,
  planned integer not null default 0,
  policy_version integer not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  only_failed boolean not null default false,
  constraint backfill_pkey PRIMARY KEY (backfill_id),
  constraint backfill_created_at_check CHECK (isfinite(created_at)),
  constraint backfill_ended CHECK ((ended_at IS NOT NULL) = (status = ANY (ARRAY['done'::text, 'cancelled'::text]))),
  constraint backfill_ended_at_check CHECK (isfinite(ended_at)),
  constraint backfill_expected_check CHECK (expected >= 0),
  constraint backfill_planned CHECK (planned <= expected AND (status = 'planning'::text OR planned = expected OR status = 'cancelled'::text)),
  constraint backfill_planned_check CHECK (planned >= 0),
  constraint backfill_priority_check CHECK (priority >= 0 AND priority <= 9),
  constraint backfill_reason_check CHECK (octet_length(reason) >= 1 AND octet_length(reason) <= 2000),
  constraint backfill_requested_by_check CHECK (octet_length(requested_by) >= 1 AND octet_length(requested_by) <= 500),
  constraint backfill_status_check CHECK (status = ANY (ARRAY['planning'::text, 'running'::text, 'paused'::text, 'done'::text, 'cancelled'::text])),
  constraint backfill_updated_at_check CHECK (isfinite(updated_at))
);
alter table partitions.backfill enable row level security;
comment on table partitions.backfill is 'A range of partitions that somebody asked for, as one object.';
comment on column partitions.backfill.backfill_id is 'Id of the backfill.';
comment on column partitions.backfill.status is 'planning, running, paused, done or cancelled.';
comment on column partitions.backfill.selection is 'Which partitions were asked for.';
comment on column partitions.backfill.reason is 'Why.';
comment on column partitions.backfill.requested_by is 'By whom.';
comment on column partitions.backfill.priority is 'Priority of its partitions.';
comment on column partitions.backfill.reprocess is 'Whether those that succeeded are extracted again.';
comment on column partitions.backfill.with_terminal is 'Whether those that were given up are asked for again.';
comment on column partitions.backfill.expected is 'Number of partitions in its selection.';
comment on column partitions.backfill.planned is 'Number of those that were planned so far.';
comment on column partitions.backfill.policy_version is 'Version of the policy when it was made.';
comment on column partitions.backfill.created_at is 'When it was made.';
comment on column partitions.backfill.updated_at is 'When it last changed.';
comment on column partitions.backfill.ended_at is 'When it was done or cancelled.';
comment on column partitions.backfill.only_failed is 'Whether only partitions that failed are asked for.';
CREATE INDEX backfill_open ON partitions.backfill USING btree (created_at) WHERE ended_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON partitions.backfill REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_backfill_births('partitions.backfill');
alter table partitions.backfill enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON partitions.backfill REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('partitions.backfill');
alter table partitions.backfill enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON partitions.backfill REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_backfill_moves('partitions.backfill');
alter table partitions.backfill enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON partitions.backfill FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('partitions.backfill');
alter table partitions.backfill enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.backfill FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.backfill enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_backfill_births_on_insert AFTER INSERT ON partitions.backfill REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_backfill_births();
alter table partitions.backfill enable always trigger b_rule_backfill_births_on_insert;
CREATE TRIGGER c_content_backfill_births_on_insert AFTER INSERT ON partitions.backfill REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.content_backfill_births();
alter table partitions.backfill enable always trigger c_content_backfill_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON partitions.backfill REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('selection', 'expected', 'reprocess', 'with_terminal', 'only_failed', 'planned');
alter table partitions.backfill enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON partitions.backfill REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('planned', 'ended_at');
alter table partitions.backfill enable always trigger c_record_control_on_update;
create policy hub on partitions.backfill as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on partitions.backfill is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on partitions.backfill as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (created_at, expected, only_failed, policy_version, priority, reason, reprocess, requested_by, selection, updated_at, with_terminal), update (ended_at, planned, status, updated_at) on table partitions.backfill to recoup_control_plane;
grant select on table partitions.backfill to recoup_reader;

create table partitions.backfill_item (
  backfill_id uuid not null,
  place integer not null,
  partition_id bigint,
  found text not null,
  status text not null,
  other uuid,
  planned_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint backfill_item_pkey PRIMARY KEY (backfill_id, place),
  constraint backfill_item_ended CHECK ((status = 'waiting'::text) = (ended_at IS NULL)),
  constraint backfill_item_ended_at_check CHECK (isfinite(ended_at)),
  constraint backfill_item_found CHECK (
CASE found
    WHEN 'new'::text THEN status <> 'left'::text
    WHEN 'failed'::text THEN status <> 'left'::text
    WHEN 'open'::text THEN status = 'left'::text
    WHEN 'other'::text THEN status = 'left'::text
    WHEN 'absent'::text THEN status = 'left'::text
    ELSE true
END),
  constraint backfill_item_found_check CHECK (found = ANY (ARRAY['new'::text, 'failed'::text, 'terminal'::text, 'success'::text, 'pending'::text, 'held'::text, 'open'::text, 'other'::text, 'absent'::text])),
  constraint backfill_item_other CHECK ((other IS NOT NULL) = (found = 'other'::text)),
  constraint backfill_item_partition CHECK ((partition_id IS NULL) = (found = 'absent'::text)),
  constraint backfill_item_place_check CHECK (place > 0),
  constraint backfill_item_planned_at_check CHECK (isfinite(planned_at)),
  constraint backfill_item_status_check CHECK (status = ANY (ARRAY['waiting'::text, 'left'::text, 'succeeded'::text, 'failed'::text, 'terminal'::text, 'cancelled'::text]))
);
alter table partitions.backfill_item enable row level security;
comment on table partitions.backfill_item is 'A member of a backfill: what was found of its partition, and how it ended.';
comment on column partitions.backfill_item.backfill_id is 'The backfill.';
comment on column partitions.backfill_item.place is 'Its place in the selection, from 1.';
comment on column partitions.backfill_item.partition_id is 'Its partition; null: there is none.';
comment on column partitions.backfill_item.found is 'What was found when it was planned: new, failed, terminal, success, pending, held, open, other (another backfill''s), absent.';
comment on column partitions.backfill_item.status is 'waiting, left as it was found, succeeded, failed (its reprocessing), terminal or cancelled.';
comment on column partitions.backfill_item.other is 'The backfill that had it already.';
comment on column partitions.backfill_item.planned_at is 'When it was planned.';
comment on column partitions.backfill_item.ended_at is 'When it ended.';
CREATE UNIQUE INDEX backfill_item_member ON partitions.backfill_item USING btree (backfill_id, partition_id) WHERE partition_id IS NOT NULL;
CREATE INDEX backfill_item_waiting ON partitions.backfill_item USING btree (backfill_id) WHERE status = 'waiting'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON partitions.backfill_item REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_backfill_item_births('partitions.backfill_item');
alter table partitions.backfill_item enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON partitions.backfill_item REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('partitions.backfill_item');
alter table partitions.backfill_item enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON partitions.backfill_item REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_backfill_item_moves('partitions.backfill_item');
alter table partitions.backfill_item enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON partitions.backfill_item FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('partitions.backfill_item');
alter table partitions.backfill_item enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.backfill_item FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.backfill_item enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_backfill_items_on_insert AFTER INSERT ON partitions.backfill_item REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_backfill_items();
alter table partitions.backfill_item enable always trigger b_rule_backfill_items_on_insert;
CREATE TRIGGER c_content_backfill_item_births_on_insert AFTER INSERT ON partitions.backfill_item REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.content_backfill_item_births();
alter table partitions.backfill_item enable always trigger c_content_backfill_item_births_on_insert;
create policy hub on partitions.backfill_item as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on partitions.backfill_item is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on partitions.backfill_item as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (backfill_id, ended_at, found, other, partition_id, place, planned_at, status), update (ended_at, status) on table partitions.backfill_item to recoup_control_plane;
grant select on table partitions.backfill_item to recoup_reader;

create table partitions.override_log (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  command text not null,
  selection text,
  partitions bigint[] not null,
  before jsonb not null,
  after jsonb not null,
  reason text,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text not null default SESSION_USER,
  constraint override_log_pkey PRIMARY KEY (seq),
  constraint override_log_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint override_log_logged_at_check CHECK (isfinite(logged_at))
);
alter table partitions.override_log enable row level security;
comment on table partitions.override_log is 'What people, backfills and candidates asked for: one row for each statement, with all its partitions.';
comment on column partitions.override_log.seq is 'Order of events, over all logs.';
comment on column partitions.override_log.xid is 'Transaction that wrote it.';
comment on column partitions.override_log.incarnation is 'Cluster that wrote it.';
comment on column partitions.override_log.logged_at is 'When it was asked.';
comment on column partitions.override_log.command is 'The verb, as given by the program; sql: by hand.';
comment on column partitions.override_log.selection is 'How the partitions were selected, as given by the program.';
comment on column partitions.override_log.partitions is 'Ids of the partitions that changed.';
comment on column partitions.override_log.before is 'How many of their schedules were in which status.';
comment on column partitions.override_log.after is 'How many are in which.';
comment on column partitions.override_log.reason is 'Why it was asked; null: not given.';
comment on column partitions.override_log.actor is 'system, ai or human.';
comment on column partitions.override_log.actor_id is 'Who acted.';
comment on column partitions.override_log.authority is 'Role that acted.';
comment on column partitions.override_log.login is 'Login of the session.';
CREATE INDEX override_log_xid ON partitions.override_log USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON partitions.override_log FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table partitions.override_log enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON partitions.override_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table partitions.override_log enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON partitions.override_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table partitions.override_log enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.override_log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.override_log enable replica trigger a_refuse_replicated;
create policy hub on partitions.override_log as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on partitions.override_log is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on partitions.override_log as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table partitions.override_log to recoup_reader;

create table partitions.partition_event (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  subject text not null,
  partition_id bigint not null,
  run_id uuid,
  event_type text not null,
  from_status text,
  to_status text not null,
  reason text,
  facts jsonb,
  token uuid,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text not null default SESSION_USER,
  constraint partition_event_pkey PRIMARY KEY (seq),
  constraint partition_event_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint partition_event_logged_at_check CHECK (isfinite(logged_at)),
  constraint partition_event_subject_check CHECK (subject = ANY (ARRAY['partition'::text, 'run'::text, 'schedule'::text]))
);
alter table partitions.partition_event enable row level security;
alter table partitions.partition_event force row level security;
comment on table partitions.partition_event is 'The log of partitions, their runs and their schedules: every step, with who made it.';
comment on column partitions.partition_event.seq is 'Order of events, over all logs.';
comment on column partitions.partition_event.xid is 'Transaction that wrote it.';
comment on column partitions.partition_event.incarnation is 'Cluster that wrote it.';
comment on column partitions.partition_event.logged_at is 'When it happened.';
comment on column partitions.partition_event.subject is 'What it happened to: partition, run or schedule.';
comment on column partitions.partition_event.partition_id is 'The partition.';
comment on column partitions.partition_event.run_id is 'The run, if one is concerned.';
comment on column partitions.partition_event.event_type is 'enqueued, requeued, accepted, rejected; dispatched, started, published, released, lost; scheduled, requested, opened, held, done, terminal_marked, terminal_marked_too, terminal_lifted.';
comment on column partitions.partition_event.from_status is 'Status before it; null: it began.';
comment on column partitions.partition_event.to_status is 'Status after it.';
comment on column partitions.partition_event.reason is 'Of a dispatch the worker, of a run why it was lost or rejected, of a request why it was made.';
comment on column partitions.partition_event.facts is 'Of a schedule all that may change of it; of a run what it published, or the message of its loss.';
comment on column partitions.partition_event.token is 'Token of the run''s dispatch.';
comment on column partitions.partition_event.actor is 'system, ai or human.';
comment on column partitions.partition_event.actor_id is 'Who acted.';
comment on column partitions.partition_event.authority is 'Role that acted.';
comment on column partitions.partition_event.login is 'Login of the session.';
CREATE INDEX partition_event_partition ON partitions.partition_event USING btree (partition_id, seq);
CREATE INDEX partition_event_xid ON partitions.partition_event USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON partitions.partition_event FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table partitions.partition_event enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON partitions.partition_event FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table partitions.partition_event enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON partitions.partition_event FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table partitions.partition_event enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.partition_event FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.partition_event enable replica trigger a_refuse_replicated;
create policy hub on partitions.partition_event as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR partitions.in_hub(partition_id));
comment on policy hub on partitions.partition_event is 'Rows of the hub that the transaction is limited to; 374311fddb30298f3056719d6b8905a1.';
create policy workers on partitions.partition_event as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table partitions.partition_event to recoup_reader;

create table partitions.partition_state (
  source text not null,
  customer_id text not null,
  query_name text not null,
  logical_date date not null,
  partition_id bigint not null default nextval('partitions.partition_seq'::regclass),
  status text not null default 'pending'::text,
  current_run_id uuid,
  attempt_count integer not null default 0,
  error_message text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint partition_state_pkey PRIMARY KEY (source, customer_id, query_name, logical_date),
  constraint partition_state_id UNIQUE (partition_id),
  constraint partition_state_accepted FOREIGN KEY (partition_id, current_run_id) REFERENCES partitions.attempt(partition_id, accepted_run_id),
  constraint partition_state_attempt_count_check CHECK (attempt_count >= 0),
  constraint partition_state_created_at_check CHECK (isfinite(created_at)),
  constraint partition_state_current CHECK ((status = 'success'::text) = (current_run_id IS NOT NULL)),
  constraint partition_state_logical_date_check CHECK (isfinite(logical_date)),
  constraint partition_state_message CHECK (
CASE status
    WHEN 'failed'::text THEN error_message IS NOT NULL
    WHEN 'success'::text THEN error_message IS NULL
    ELSE true
END),
  constraint partition_state_named CHECK (octet_length(source) >= 1 AND octet_length(source) <= 200 AND octet_length(customer_id) >= 1 AND octet_length(customer_id) <= 200 AND octet_length(query_name) >= 1 AND octet_length(query_name) <= 200 AND (source <> ALL (ARRAY['.'::text, '..'::text])) AND (customer_id <> ALL (ARRAY['.'::text, '..'::text])) AND (query_name <> ALL (ARRAY['.'::text, '..'::text]))),
  constraint partition_state_status_check CHECK (status = ANY (ARRAY['pending'::text, 'success'::text, 'failed'::text])),
  constraint partition_state_tried CHECK (status = 'pending'::text OR attempt_count > 0),
  constraint partition_state_updated_at_check CHECK (isfinite(updated_at))
) with (fillfactor=80);
alter table partitions.partition_state enable row level security;
alter table partitions.partition_state force row level security;
comment on table partitions.partition_state is 'What became of a partition: a day of a query of a customer of a source. Consumers read those with status success.';
comment on column partitions.partition_state.source is 'The source it is extracted from.';
comment on column partitions.partition_state.customer_id is 'The customer whose data it is.';
comment on column partitions.partition_state.query_name is 'The query that extracts it.';
comment on column partitions.partition_state.logical_date is 'Its calendar day, in the time zone of its source.';
comment on column partitions.partition_state.partition_id is 'Its id, which other tables refer to.';
comment on column partitions.partition_state.status is 'pending: enqueued, or asked for again; success: a run was accepted; failed: the last run was rejected.';
comment on column partitions.partition_state.current_run_id is 'The newest run that was accepted: what consumers read. Null: none was.';
comment on column partitions.partition_state.attempt_count is 'Number of verdicts on its runs. Never reset.';
comment on column partitions.partition_state.error_message is 'Message of the last verdict, if that rejected it; kept while it is pending again.';
comment on column partitions.partition_state.created_at is 'When it was enqueued first.';
comment on column partitions.partition_state.updated_at is 'When it was judged or requeued last.';
CREATE INDEX partition_state_customer ON partitions.partition_state USING btree (customer_id, logical_date);
CREATE INDEX partition_state_date ON partitions.partition_state USING btree (logical_date, partition_id);
CREATE INDEX partition_state_failed ON partitions.partition_state USING btree (updated_at) WHERE status = 'failed'::text;
CREATE INDEX partition_state_query ON partitions.partition_state USING btree (source, query_name, logical_date, customer_id);
CREATE TRIGGER a_guard_births AFTER INSERT ON partitions.partition_state REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_partition_state_births('partitions.partition_state');
alter table partitions.partition_state enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON partitions.partition_state REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('partitions.partition_state');
alter table partitions.partition_state enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON partitions.partition_state REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_partition_state_moves('partitions.partition_state');
alter table partitions.partition_state enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON partitions.partition_state FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('partitions.partition_state');
alter table partitions.partition_state enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.partition_state FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.partition_state enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_partition_births_on_insert AFTER INSERT ON partitions.partition_state REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_partition_births();
alter table partitions.partition_state enable always trigger b_rule_partition_births_on_insert;
CREATE TRIGGER c_content_partition_state_births_on_insert AFTER INSERT ON partitions.partition_state REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.content_partition_state_births();
alter table partitions.partition_state enable always trigger c_content_partition_state_births_on_insert;
CREATE TRIGGER c_record_partitions_on_insert AFTER INSERT ON partitions.partition_state REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.record_partitions();
alter table partitions.partition_state enable always trigger c_record_partitions_on_insert;
CREATE TRIGGER c_record_partitions_on_update AFTER UPDATE ON partitions.partition_state REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.record_partitions();
alter table partitions.partition_state enable always trigger c_record_partitions_on_update;
create policy hub on partitions.partition_state as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (source = ANY ((( SELECT recoup.hub_names('sources'::text) AS hub_names))::text[])));
comment on policy hub on partitions.partition_state is 'Rows of the hub that the transaction is limited to; 37a0408d21fca9ec0f9d1fcde9d04539.';
create policy workers on partitions.partition_state as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (created_at, customer_id, logical_date, query_name, source, updated_at), update (attempt_count, current_run_id, error_message, status, updated_at) on table partitions.partition_state to recoup_control_plane;
grant select on table partitions.partition_state to recoup_reader;
grant update (attempt_count, current_run_id, error_message, status, updated_at) on table partitions.partition_state to recoup_validator;
grant update (status, updated_at) on table partitions.partition_state to recoup_executor;

create table partitions.requeue_request (
  candidate_id uuid not null,
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  status text not null default 'made'::text,
  partition_id bigint not null,
  verb text not null,
  alternative jsonb,
  approver text,
  requested_at timestamp with time zone not null,
  constraint requeue_request_pkey PRIMARY KEY (candidate_id),
  constraint requeue_request_alternative CHECK (verb = 'retry'::text OR alternative IS NULL),
  constraint requeue_request_approved CHECK (verb <> 'mark'::text OR approver IS NOT NULL),
  constraint requeue_request_approver_check CHECK (octet_length(approver) >= 1 AND octet_length(approver) <= 500),
  constraint requeue_request_requested_at_check CHECK (isfinite(requested_at)),
  constraint requeue_request_status_check CHECK (status = 'made'::text),
  constraint requeue_request_verb_check CHECK (verb = ANY (ARRAY['retry'::text, 'mark'::text]))
);
alter table partitions.requeue_request enable row level security;
comment on table partitions.requeue_request is 'What recovery candidates asked the control plane for: to retry a terminal partition, or to mark it.';
comment on column partitions.requeue_request.candidate_id is 'The candidate. Its effect is made once.';
comment on column partitions.requeue_request.seq is 'Its place among all events.';
comment on column partitions.requeue_request.status is 'made: its schedule has moved, in the same statement.';
comment on column partitions.requeue_request.partition_id is 'The partition.';
comment on column partitions.requeue_request.verb is 'retry: requeued; mark: its gap is accepted.';
comment on column partitions.requeue_request.alternative is 'What its extractor is given instead (action fallback).';
comment on column partitions.requeue_request.approver is 'Who approved the candidate; null: it started by itself.';
comment on column partitions.requeue_request.requested_at is 'When.';
CREATE INDEX requeue_request_partition ON partitions.requeue_request USING btree (partition_id, seq);
CREATE TRIGGER a_guard_births AFTER INSERT ON partitions.requeue_request REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_requeue_request_births('partitions.requeue_request');
alter table partitions.requeue_request enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON partitions.requeue_request REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('partitions.requeue_request');
alter table partitions.requeue_request enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON partitions.requeue_request REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_moves('partitions.requeue_request');
alter table partitions.requeue_request enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON partitions.requeue_request FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('partitions.requeue_request');
alter table partitions.requeue_request enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.requeue_request FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.requeue_request enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_requeue_requests_on_insert AFTER INSERT ON partitions.requeue_request REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_requeue_requests();
alter table partitions.requeue_request enable always trigger b_rule_requeue_requests_on_insert;
CREATE TRIGGER c_content_requeue_request_births_on_insert AFTER INSERT ON partitions.requeue_request REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.content_requeue_request_births();
alter table partitions.requeue_request enable always trigger c_content_requeue_request_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON partitions.requeue_request REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('partition_id', 'verb', 'approver');
alter table partitions.requeue_request enable always trigger c_record_control_on_insert;
CREATE TRIGGER d_settle_requeue_requests_on_insert AFTER INSERT ON partitions.requeue_request REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.settle_requeue_requests();
alter table partitions.requeue_request enable always trigger d_settle_requeue_requests_on_insert;
create policy hub on partitions.requeue_request as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on partitions.requeue_request is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on partitions.requeue_request as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (alternative, approver, candidate_id, partition_id, requested_at, verb) on table partitions.requeue_request to recoup_executor;
grant select on table partitions.requeue_request to recoup_reader;

create table partitions.run (
  run_id uuid not null default recoup.new_id(),
  partition_id bigint not null,
  number integer not null,
  dispatch_no bigint not null default nextval('partitions.dispatch_seq'::regclass),
  status text not null default 'open'::text,
  lane text not null,
  pool text not null,
  reprocesses boolean not null,
  alternative jsonb,
  candidate_id uuid,
  worker text not null,
  token uuid not null,
  lease_until timestamp with time zone,
  started_with uuid,
  validations integer not null default 0,
  sink_id uuid,
  location text,
  manifest_digest text,
  format text,
  rows bigint,
  bytes bigint,
  reason text,
  rule text,
  message text,
  error_signature text,
  category text,
  validator text,
  validator_version text,
  contract_digest text,
  ended_with uuid,
  policy_version integer not null,
  opened_at timestamp with time zone not null,
  dispatched_at timestamp with time zone not null,
  published_at timestamp with time zone,
  ended_at timestamp with time zone,
  updated_at timestamp with time zone not null,
  turn bigint,
  constraint run_pkey PRIMARY KEY (run_id),
  constraint run_numbered UNIQUE (partition_id, number),
  constraint run_bytes_check CHECK (bytes >= 0),
  constraint run_category_check CHECK (category = ANY (ARRAY['TRANSIENT'::text, 'OPERATIONAL'::text, 'STRUCTURAL'::text])),
  constraint run_contract_digest_check CHECK (octet_length(contract_digest) >= 1 AND octet_length(contract_digest) <= 200),
  constraint run_dispatched_at_check CHECK (isfinite(dispatched_at)),
  constraint run_ended CHECK ((ended_at IS NOT NULL) = (status = ANY (ARRAY['accepted'::text, 'rejected'::text, 'lost'::text])) AND (status = 'open'::text OR status = 'published'::text OR lease_until IS NULL)),
  constraint run_ended_at_check CHECK (isfinite(ended_at)),
  constraint run_error_signature_check CHECK (octet_length(error_signature) >= 1 AND octet_length(error_signature) <= 200),
  constraint run_format_check CHECK (format = ANY (ARRAY['parquet'::text, 'jsonl'::text])),
  constraint run_judged CHECK ((status = ANY (ARRAY['accepted'::text, 'rejected'::text])) OR num_nonnulls(validator, validator_version, contract_digest, ended_with) = 0),
  constraint run_lane_check CHECK (lane = ANY (ARRAY['fresh'::text, 'backfill'::text])),
  constraint run_lease_until_check CHECK (isfinite(lease_until)),
  constraint run_location_check CHECK (octet_length(location) >= 1 AND octet_length(location) <= 2000),
  constraint run_manifest_digest_check CHECK (manifest_digest ~ '^[0-9a-f]{64}$'::text),
  constraint run_message_check CHECK (octet_length(message) >= 1 AND octet_length(message) <= 20000),
  constraint run_nothing CHECK (status <> 'rejected'::text OR (reason = 'NOTHING_TO_VALIDATE'::text) = (published_at IS NULL)),
  constraint run_number_check CHECK (number > 0),
  constraint run_opened_at_check CHECK (isfinite(opened_at)),
  constraint run_pool_check CHECK (octet_length(pool) >= 1 AND octet_length(pool) <= 100),
  constraint run_published_at_check CHECK (isfinite(published_at)),
  constraint run_published_whole CHECK ((num_nulls(published_at, sink_id, location, manifest_digest, format, rows, bytes) = ANY (ARRAY[0, 7])) AND (status <> 'open'::text OR published_at IS NULL) AND ((status <> ALL (ARRAY['published'::text, 'accepted'::text])) OR published_at IS NOT NULL)),
  constraint run_reason_check CHECK (octet_length(reason) >= 1 AND octet_length(reason) <= 100),
  constraint run_rows_check CHECK (rows >= 0),
  constraint run_rule_check CHECK (octet_length(rule) >= 1 AND octet_length(rule) <= 500),
  constraint run_status_check CHECK (status = ANY (ARRAY['open'::text, 'published'::text, 'accepted'::text, 'rejected'::text, 'lost'::text])),
  constraint run_updated_at_check CHECK (isfinite(updated_at)),
  constraint run_validations_check CHECK (validations >= 0),
  constraint run_validator_check CHECK (octet_length(validator) >= 1 AND octet_length(validator) <= 500),
  constraint run_validator_version_check CHECK (octet_length(validator_version) >= 1 AND octet_length(validator_version) <= 200),
  constraint run_verdict CHECK (
CASE status
    WHEN 'accepted'::text THEN num_nonnulls(reason, rule, message, error_signature, category) = 0
    WHEN 'rejected'::text THEN num_nonnulls(reason, message, error_signature, category) = 4
    WHEN 'lost'::text THEN num_nonnulls(reason, message) = 2 AND num_nonnulls(rule, error_signature, category) = 0
    ELSE (num_nonnulls(reason, message) = ANY (ARRAY[0, 2])) AND num_nonnulls(rule, error_signature, category) = 0
END),
  constraint run_worker_check CHECK (octet_length(worker) >= 1 AND octet_length(worker) <= 200)
) with (fillfactor=70);
alter table partitions.run enable row level security;
alter table partitions.run force row level security;
comment on table partitions.run is 'One extraction of a partition with its verdict. A retry is a new run.';
comment on column partitions.run.run_id is 'Id of the run, and name of its folder in the raw sink.';
comment on column partitions.run.partition_id is 'Its partition.';
comment on column partitions.run.number is 'Number of the run among those of its partition, from 1.';
comment on column partitions.run.dispatch_no is 'Its place among all runs.';
comment on column partitions.run.status is 'open: being extracted; published: in the raw sink; accepted, rejected: by its validator; lost: nothing came of it.';
comment on column partitions.run.lane is 'Lane in which it was dispatched: fresh or backfill.';
comment on column partitions.run.pool is 'Pool whose turn it was.';
comment on column partitions.run.reprocesses is 'Whether its partition had succeeded before.';
comment on column partitions.run.alternative is 'What its extractor does differently, if it is a fallback.';
comment on column partitions.run.candidate_id is 'The recovery candidate that asked for it, if one did.';
comment on column partitions.run.worker is 'Worker it was dispatched to last.';
comment on column partitions.run.token is 'Token of its last dispatch, which every report presents.';
comment on column partitions.run.lease_until is 'Until when its worker reports; null: it has ended, or waits to be validated again.';
comment on column partitions.run.started_with is 'Token under which it was started last: each dispatch starts it once.';
comment on column partitions.run.validations is 'How often it was dispatched again to be validated.';
comment on column partitions.run.sink_id is 'Raw sink that it was published in.';
comment on column partitions.run.location is 'Its folder in that sink.';
comment on column partitions.run.manifest_digest is 'SHA-256 of its manifest, which has the digest of every file.';
comment on column partitions.run.format is 'parquet or jsonl.';
comment on column partitions.run.rows is 'Rows that it published.';
comment on column partitions.run.bytes is 'Bytes that it published.';
comment on column partitions.run.reason is 'Why it was rejected or lost; of one that is to be validated again, why its last validation came to nothing.';
comment on column partitions.run.rule is 'First rule of the contract that it breaks.';
comment on column partitions.run.message is 'The same as reason, in words.';
comment on column partitions.run.error_signature is 'What rejections of the same kind have in common.';
comment on column partitions.run.category is 'Category of a rejection: TRANSIENT, OPERATIONAL or STRUCTURAL.';
comment on column partitions.run.validator is 'Validator that judged it.';
comment on column partitions.run.validator_version is 'Version of that validator.';
comment on column partitions.run.contract_digest is 'Digest of the contract that it was judged by.';
comment on column partitions.run.ended_with is 'Token that its verdict presented; null: it has none, or was rejected for want of a result.';
comment on column partitions.run.policy_version is 'Version of the policy when it was opened.';
comment on column partitions.run.opened_at is 'When it was dispatched first.';
comment on column partitions.run.dispatched_at is 'When it was dispatched last.';
comment on column partitions.run.published_at is 'When its data was in the raw sink.';
comment on column partitions.run.ended_at is 'When it was accepted, rejected or lost.';
comment on column partitions.run.updated_at is 'When it last changed.';
comment on column partitions.run.turn is 'Number of its last dispatch among those of its pool, for the turn of lanes and sources.';
CREATE INDEX run_ended_at ON partitions.run USING btree (ended_at) WHERE status = ANY (ARRAY['rejected'::text, 'lost'::text]);
CREATE INDEX run_lease ON partitions.run USING btree (lease_until) WHERE lease_until IS NOT NULL;
CREATE UNIQUE INDEX run_location ON partitions.run USING btree (sink_id, location);
CREATE UNIQUE INDEX run_open ON partitions.run USING btree (partition_id) WHERE status = ANY (ARRAY['open'::text, 'published'::text]);
CREATE INDEX run_turn ON partitions.run USING btree (pool, lane, turn) WHERE turn IS NOT NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON partitions.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_run_births('partitions.run');
alter table partitions.run enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON partitions.run REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('partitions.run');
alter table partitions.run enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON partitions.run REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_run_moves('partitions.run');
alter table partitions.run enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON partitions.run FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('partitions.run');
alter table partitions.run enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.run FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.run enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_run_births_on_insert AFTER INSERT ON partitions.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_run_births();
alter table partitions.run enable always trigger b_rule_run_births_on_insert;
CREATE TRIGGER b_rule_run_moves_on_update AFTER UPDATE ON partitions.run REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_run_moves();
alter table partitions.run enable always trigger b_rule_run_moves_on_update;
CREATE TRIGGER c_content_run_births_on_insert AFTER INSERT ON partitions.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.content_run_births();
alter table partitions.run enable always trigger c_content_run_births_on_insert;
CREATE TRIGGER c_record_run_births_on_insert AFTER INSERT ON partitions.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.record_run_births();
alter table partitions.run enable always trigger c_record_run_births_on_insert;
CREATE TRIGGER c_record_run_moves_on_update AFTER UPDATE ON partitions.run REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.record_run_moves();
alter table partitions.run enable always trigger c_record_run_moves_on_update;
CREATE TRIGGER d_settle_run_births_on_insert AFTER INSERT ON partitions.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.settle_run_births();
alter table partitions.run enable always trigger d_settle_run_births_on_insert;
CREATE TRIGGER d_settle_run_moves_on_update AFTER UPDATE ON partitions.run REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.settle_run_moves();
alter table partitions.run enable always trigger d_settle_run_moves_on_update;
create policy hub on partitions.run as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR partitions.in_hub(partition_id));
comment on policy hub on partitions.run is 'Rows of the hub that the transaction is limited to; 374311fddb30298f3056719d6b8905a1.';
create policy workers on partitions.run as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (alternative, candidate_id, dispatched_at, lane, lease_until, number, opened_at, partition_id, policy_version, pool, reprocesses, started_with, token, turn, updated_at, worker), update (dispatched_at, ended_at, lease_until, message, reason, started_with, status, token, turn, updated_at, validations, worker) on table partitions.run to recoup_control_plane;
grant select on table partitions.run to recoup_reader;
grant update (bytes, format, location, manifest_digest, published_at, rows, sink_id, started_with, status, updated_at) on table partitions.run to recoup_extractor;
grant update (category, contract_digest, ended_at, ended_with, error_signature, lease_until, message, reason, rule, started_with, status, updated_at, validator, validator_version) on table partitions.run to recoup_validator;

create table partitions.schedule (
  partition_id bigint not null,
  source text not null,
  query_name text not null,
  status text not null default 'waiting'::text,
  lane text not null,
  priority smallint not null default 5,
  next_run_at timestamp with time zone,
  backoff_strategy text not null,
  run_id uuid,
  dispatches integer not null default 0,
  attempts_seen integer not null default 0,
  reprocesses boolean not null default false,
  alternative jsonb,
  candidate_id uuid,
  requested_at timestamp with time zone,
  requested_by text,
  hold text,
  held_at timestamp with time zone,
  terminal_causes text[],
  terminal_at timestamp with time zone,
  terminal_policy integer,
  granted_attempts integer not null default 0,
  first_enqueued_at timestamp with time zone not null,
  first_dispatched_at timestamp with time zone,
  aged_from timestamp with time zone,
  backfill_id uuid,
  updated_at timestamp with time zone not null,
  constraint schedule_pkey PRIMARY KEY (partition_id),
  constraint schedule_aged_from_check CHECK (isfinite(aged_from)),
  constraint schedule_attempts_seen_check CHECK (attempts_seen >= 0),
  constraint schedule_backoff_strategy_check CHECK (backoff_strategy = ANY (ARRAY['steps'::text, 'fixed'::text, 'none'::text])),
  constraint schedule_dispatches_check CHECK (dispatches >= 0),
  constraint schedule_first_dispatched_at_check CHECK (isfinite(first_dispatched_at)),
  constraint schedule_first_enqueued_at_check CHECK (isfinite(first_enqueued_at)),
  constraint schedule_granted_attempts_check CHECK (granted_attempts >= 0),
  constraint schedule_held CHECK ((status = 'held'::text) = (hold IS NOT NULL) AND (hold IS NULL) = (held_at IS NULL)),
  constraint schedule_held_at_check CHECK (isfinite(held_at)),
  constraint schedule_hold_check CHECK (hold = ANY (ARRAY['OPERATOR'::text, 'PAUSED'::text, 'CANCELLED'::text])),
  constraint schedule_lane_check CHECK (lane = ANY (ARRAY['fresh'::text, 'backfill'::text])),
  constraint schedule_next_run_at_check CHECK (isfinite(next_run_at)),
  constraint schedule_open CHECK (status <> 'open'::text OR run_id IS NOT NULL),
  constraint schedule_priority_check CHECK (priority >= 0 AND priority <= 9),
  constraint schedule_reprocesses CHECK (NOT reprocesses OR (status = ANY (ARRAY['waiting'::text, 'open'::text, 'held'::text]))),
  constraint schedule_requested CHECK ((requested_at IS NULL) = (requested_by IS NULL)),
  constraint schedule_requested_at_check CHECK (isfinite(requested_at)),
  constraint schedule_requested_by_check CHECK (octet_length(requested_by) >= 1 AND octet_length(requested_by) <= 500),
  constraint schedule_status_check CHECK (status = ANY (ARRAY['waiting'::text, 'open'::text, 'held'::text, 'terminal'::text, 'idle'::text])),
  constraint schedule_terminal CHECK ((status = 'terminal'::text) = (terminal_causes IS NOT NULL) AND (num_nulls(terminal_causes, terminal_at, terminal_policy) = ANY (ARRAY[0, 3]))),
  constraint schedule_terminal_at_check CHECK (isfinite(terminal_at)),
  constraint schedule_terminal_causes_check CHECK (terminal_causes <@ '{ATTEMPTS,AGE,MARKED}'::text[] AND cardinality(terminal_causes) > 0),
  constraint schedule_updated_at_check CHECK (isfinite(updated_at)),
  constraint schedule_waits CHECK ((status = 'waiting'::text) = (next_run_at IS NOT NULL))
) with (fillfactor=70);
alter table partitions.schedule enable row level security;
alter table partitions.schedule force row level security;
comment on table partitions.schedule is 'When the control plane works on a partition next, and why not. Only the control plane changes it.';
comment on column partitions.schedule.partition_id is 'The partition.';
comment on column partitions.schedule.source is 'Its source, for the turn of sources.';
comment on column partitions.schedule.query_name is 'Its query.';
comment on column partitions.schedule.status is 'waiting until next_run_at; open: a run is under way, or was not followed yet; held; terminal: given up; idle: done.';
comment on column partitions.schedule.lane is 'fresh goes first; of each ten dispatches one at least is of backfill.';
comment on column partitions.schedule.priority is '0 goes first, 9 last, within its lane and source.';
comment on column partitions.schedule.next_run_at is 'When it is due.';
comment on column partitions.schedule.backoff_strategy is 'steps, fixed or none: how its last wait was chosen.';
comment on column partitions.schedule.run_id is 'Its run: while it is open, while it is to be validated again, and of one that ended the last.';
comment on column partitions.schedule.dispatches is 'Dispatches since the last verdict of which nothing came.';
comment on column partitions.schedule.attempts_seen is 'attempt_count of the partition when it was followed last.';
comment on column partitions.schedule.reprocesses is 'Whether it succeeded, and is extracted again.';
comment on column partitions.schedule.alternative is 'What the extractor does differently next, if it is a fallback.';
comment on column partitions.schedule.candidate_id is 'The recovery candidate that asked for it, if one did.';
comment on column partitions.schedule.requested_at is 'When somebody asked for it last.';
comment on column partitions.schedule.requested_by is 'Who did.';
comment on column partitions.schedule.hold is 'OPERATOR: after a structural failure; PAUSED, CANCELLED: its backfill was.';
comment on column partitions.schedule.held_at is 'Since when it is held. It does not age meanwhile.';
comment on column partitions.schedule.terminal_causes is 'Why it was given up: ATTEMPTS, AGE, MARKED by a person.';
comment on column partitions.schedule.terminal_at is 'When it was given up.';
comment on column partitions.schedule.terminal_policy is 'Version of the policy by which it was.';
comment on column partitions.schedule.granted_attempts is 'Attempts that overrides granted beyond those of the policy.';
comment on column partitions.schedule.first_enqueued_at is 'When it was enqueued.';
comment on column partitions.schedule.first_dispatched_at is 'When it was dispatched first.';
comment on column partitions.schedule.aged_from is 'When its age begins: its first dispatch, or the first one after an override; later by the time it was held.';
comment on column partitions.schedule.backfill_id is 'The backfill that it belongs to, if any.';
comment on column partitions.schedule.updated_at is 'When it last changed.';
CREATE INDEX schedule_aged ON partitions.schedule USING btree (aged_from) WHERE status = 'waiting'::text AND aged_from IS NOT NULL;
CREATE INDEX schedule_backfill ON partitions.schedule USING btree (backfill_id) WHERE backfill_id IS NOT NULL;
CREATE INDEX schedule_held ON partitions.schedule USING btree (backfill_id) WHERE status = 'held'::text;
CREATE INDEX schedule_of_backfill ON partitions.schedule USING btree (backfill_id) WHERE status = 'waiting'::text AND backfill_id IS NOT NULL;
CREATE INDEX schedule_open ON partitions.schedule USING btree (source) WHERE status = 'open'::text;
CREATE INDEX schedule_terminal ON partitions.schedule USING btree (terminal_at, partition_id) WHERE status = 'terminal'::text;
CREATE INDEX schedule_waiting ON partitions.schedule USING btree (lane, source, query_name, priority, next_run_at, partition_id) WHERE status = 'waiting'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON partitions.schedule REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_schedule_births('partitions.schedule');
alter table partitions.schedule enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON partitions.schedule REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('partitions.schedule');
alter table partitions.schedule enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON partitions.schedule REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_schedule_moves('partitions.schedule');
alter table partitions.schedule enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON partitions.schedule FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('partitions.schedule');
alter table partitions.schedule enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.schedule FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.schedule enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_schedule_births_on_insert AFTER INSERT ON partitions.schedule REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_schedule_births();
alter table partitions.schedule enable always trigger b_rule_schedule_births_on_insert;
CREATE TRIGGER b_rule_schedule_moves_on_update AFTER UPDATE ON partitions.schedule REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_schedule_moves();
alter table partitions.schedule enable always trigger b_rule_schedule_moves_on_update;
CREATE TRIGGER c_content_schedule_births_on_insert AFTER INSERT ON partitions.schedule REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.content_schedule_births();
alter table partitions.schedule enable always trigger c_content_schedule_births_on_insert;
CREATE TRIGGER c_record_schedules_on_insert AFTER INSERT ON partitions.schedule REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.record_schedules();
alter table partitions.schedule enable always trigger c_record_schedules_on_insert;
CREATE TRIGGER c_record_schedules_on_update AFTER UPDATE ON partitions.schedule REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.record_schedules();
alter table partitions.schedule enable always trigger c_record_schedules_on_update;
CREATE TRIGGER d_settle_backfill_items_on_update AFTER UPDATE ON partitions.schedule REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.settle_backfill_items();
alter table partitions.schedule enable always trigger d_settle_backfill_items_on_update;
CREATE TRIGGER d_settle_schedules_on_update AFTER UPDATE ON partitions.schedule REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.settle_schedules();
alter table partitions.schedule enable always trigger d_settle_schedules_on_update;
create policy hub on partitions.schedule as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (source = ANY ((( SELECT recoup.hub_names('sources'::text) AS hub_names))::text[])));
comment on policy hub on partitions.schedule is 'Rows of the hub that the transaction is limited to; 37a0408d21fca9ec0f9d1fcde9d04539.';
create policy workers on partitions.schedule as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (backfill_id, backoff_strategy, first_enqueued_at, lane, next_run_at, partition_id, priority, query_name, source, updated_at), update (aged_from, alternative, attempts_seen, backfill_id, backoff_strategy, candidate_id, dispatches, first_dispatched_at, granted_attempts, held_at, hold, lane, next_run_at, priority, reprocesses, requested_at, requested_by, run_id, status, terminal_at, terminal_causes, terminal_policy, updated_at) on table partitions.schedule to recoup_control_plane;
grant select on table partitions.schedule to recoup_reader;
grant update (aged_from, alternative, candidate_id, dispatches, granted_attempts, next_run_at, requested_at, requested_by, status, terminal_at, terminal_causes, terminal_policy, updated_at) on table partitions.schedule to recoup_executor;

create table partitions.sink (
  sink_id uuid not null,
  name text not null,
  status text not null default 'available'::text,
  registered_at timestamp with time zone not null,
  registered_by text not null,
  cause text,
  message text,
  host text,
  outage_at timestamp with time zone,
  checked_at timestamp with time zone,
  restored_at timestamp with time zone,
  updated_at timestamp with time zone not null,
  constraint sink_pkey PRIMARY KEY (sink_id),
  constraint sink_name UNIQUE (name),
  constraint sink_cause_check CHECK (octet_length(cause) >= 1 AND octet_length(cause) <= 100),
  constraint sink_checked_at_check CHECK (isfinite(checked_at)),
  constraint sink_host_check CHECK (octet_length(host) >= 1 AND octet_length(host) <= 300),
  constraint sink_message_check CHECK (octet_length(message) >= 1 AND octet_length(message) <= 2000),
  constraint sink_name_check CHECK (octet_length(name) >= 1 AND octet_length(name) <= 100),
  constraint sink_outage CHECK ((num_nulls(cause, message, host, outage_at, checked_at) = ANY (ARRAY[0, 5])) AND (status = 'unavailable'::text) = (outage_at IS NOT NULL AND restored_at IS NULL) AND (restored_at IS NULL OR restored_at >= outage_at)),
  constraint sink_outage_at_check CHECK (isfinite(outage_at)),
  constraint sink_registered_at_check CHECK (isfinite(registered_at)),
  constraint sink_registered_by_check CHECK (octet_length(registered_by) >= 1 AND octet_length(registered_by) <= 500),
  constraint sink_restored_at_check CHECK (isfinite(restored_at)),
  constraint sink_status_check CHECK (status = ANY (ARRAY['available'::text, 'unavailable'::text])),
  constraint sink_updated_at_check CHECK (isfinite(updated_at))
);
comment on table partitions.sink is 'Raw sinks that are registered, and whether workers can use them.';
comment on column partitions.sink.sink_id is 'Id of the sink, which is also in a file in its folder.';
comment on column partitions.sink.name is 'Its name, as settings have it.';
comment on column partitions.sink.status is 'available, or unavailable: nothing is claimed until it is back.';
comment on column partitions.sink.registered_at is 'When it was registered.';
comment on column partitions.sink.registered_by is 'By whom.';
comment on column partitions.sink.cause is 'Cause of its last outage.';
comment on column partitions.sink.message is 'The same, in words.';
comment on column partitions.sink.host is 'Machine that reported it.';
comment on column partitions.sink.outage_at is 'When the last outage began.';
comment on column partitions.sink.checked_at is 'When that machine tried it last.';
comment on column partitions.sink.restored_at is 'When the last outage ended; null: it has not.';
comment on column partitions.sink.updated_at is 'When it last changed.';
CREATE TRIGGER a_guard_births AFTER INSERT ON partitions.sink REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_sink_births('partitions.sink');
alter table partitions.sink enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON partitions.sink REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('partitions.sink');
alter table partitions.sink enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON partitions.sink REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.guard_sink_moves('partitions.sink');
alter table partitions.sink enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON partitions.sink FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('partitions.sink');
alter table partitions.sink enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON partitions.sink FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table partitions.sink enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_sinks_on_insert AFTER INSERT ON partitions.sink REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_sinks();
alter table partitions.sink enable always trigger b_rule_sinks_on_insert;
CREATE TRIGGER b_rule_sinks_on_update AFTER UPDATE ON partitions.sink REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.rule_sinks();
alter table partitions.sink enable always trigger b_rule_sinks_on_update;
CREATE TRIGGER c_content_sink_births_on_insert AFTER INSERT ON partitions.sink REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION partitions.content_sink_births();
alter table partitions.sink enable always trigger c_content_sink_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON partitions.sink REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('name');
alter table partitions.sink enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON partitions.sink REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('cause', 'message', 'host', 'outage_at', 'restored_at');
alter table partitions.sink enable always trigger c_record_control_on_update;
grant insert (name, registered_at, registered_by, sink_id, updated_at) on table partitions.sink to recoup_operator;
grant select on table partitions.sink to recoup_reader;
grant update (cause, checked_at, host, message, outage_at, restored_at, status, updated_at) on table partitions.sink to recoup_control_plane;

grant execute on function partitions.answer_to(verb text, schedule_ text, state_ text, causes text[], overrides boolean) to public;

CREATE OR REPLACE FUNCTION partitions.answer_to(verb text, schedule_ text, state_ text, causes text[], overrides boolean)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body e23bd812a6e3f51726ef8e8dd589ea25
comment on function partitions.answer_to(verb text, schedule_ text, state_ text, causes text[], overrides boolean) is 'What the control plane answers to a request (retry, reprocess, mark): asked, or why not.';

grant execute on function partitions.ask(ids bigint[], verb text, attempts integer, lane_ text, priority_ integer, backfill_ uuid, alternative_ jsonb, candidates uuid[], overrides boolean, OUT asked bigint[], OUT answers text[]) to public;

CREATE OR REPLACE FUNCTION partitions.ask(ids bigint[], verb text, attempts integer, lane_ text, priority_ integer, backfill_ uuid, alternative_ jsonb, candidates uuid[], overrides boolean, OUT asked bigint[], OUT answers text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 3eefe16295e5ff61683281646b249ebd
comment on function partitions.ask(ids bigint[], verb text, attempts integer, lane_ text, priority_ integer, backfill_ uuid, alternative_ jsonb, candidates uuid[], overrides boolean, OUT asked bigint[], OUT answers text[]) is 'Asks for a retry, a reprocessing, or that partitions are marked terminal. asked: done; otherwise why not.';

CREATE OR REPLACE FUNCTION partitions.at_cap(r partitions.run, policy jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body f6ff0f02307e282871f60778b342e35f
comment on function partitions.at_cap(r partitions.run, policy jsonb) is 'Whether the dispatches of a partition are used up with this one.';
grant execute on function partitions.at_cap(r partitions.run, policy jsonb) to public;

grant execute on function partitions.backfill_members(selection jsonb, first_ integer, last_ integer) to public;

CREATE OR REPLACE FUNCTION partitions.backfill_members(selection jsonb, first_ integer, last_ integer)
 RETURNS TABLE(place integer, source text, customer_id text, query_name text, logical_date date)
 LANGUAGE sql
 IMMUTABLE ROWS 10000; -- body 2a40a3ec9c941a13379cfcdbd4d9eb2e
comment on function partitions.backfill_members(selection jsonb, first_ integer, last_ integer) is 'The partitions of a backfill, by their places.';

grant execute on function partitions.backfill_move_broken(o partitions.backfill, n partitions.backfill, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION partitions.backfill_move_broken(o partitions.backfill, n partitions.backfill, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 44bfeafc13e7084d7b2847cb0dc45322
comment on function partitions.backfill_move_broken(o partitions.backfill, n partitions.backfill, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of a backfill breaks, or null.';

grant execute on function partitions.backfill_move_refusal(code_ text, o partitions.backfill, n partitions.backfill, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION partitions.backfill_move_refusal(code_ text, o partitions.backfill, n partitions.backfill, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 66ba66729d1ac2328cc5a80d113a4386
comment on function partitions.backfill_move_refusal(code_ text, o partitions.backfill, n partitions.backfill, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of partitions.backfill_move_broken.';

CREATE OR REPLACE FUNCTION partitions.backfill_size(selection jsonb)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE; -- body a068dcd748c4a1bfaf46f5b53cb83db3
comment on function partitions.backfill_size(selection jsonb) is 'How many partitions a backfill asks for.';
grant execute on function partitions.backfill_size(selection jsonb) to public;

grant execute on function partitions.backoff(figures jsonb, strategy text, times_ integer, chance double precision) to public;

CREATE OR REPLACE FUNCTION partitions.backoff(figures jsonb, strategy text, times_ integer, chance double precision)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE; -- body d8ae75d71b09b35e3b32226b0722a1b3
comment on function partitions.backoff(figures jsonb, strategy text, times_ integer, chance double precision) is 'How long a partition waits after this number of failures.';

CREATE OR REPLACE FUNCTION partitions.content_backfill_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 4e9cbe4e20e8011b312ee61801636d76
comment on function partitions.content_backfill_births() is 'Digests of rows of partitions.backfill at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION partitions.content_backfill_item_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 81ffaa49168664625bbc9a69a0262190
comment on function partitions.content_backfill_item_births() is 'Digests of rows of partitions.backfill_item at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION partitions.content_partition_state_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 7186695647541b2cb5feb3ce25ae8567
comment on function partitions.content_partition_state_births() is 'Digests of rows of partitions.partition_state at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION partitions.content_requeue_request_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body b7bf0dd0298bd7fc98d8a64d991fc309
comment on function partitions.content_requeue_request_births() is 'Digests of rows of partitions.requeue_request at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION partitions.content_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 5ba8e079b6f54f28acada5c0e63d8e8a
comment on function partitions.content_run_births() is 'Digests of rows of partitions.run at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION partitions.content_schedule_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body d47f0033443a407c70b60863ec48cbb1
comment on function partitions.content_schedule_births() is 'Digests of rows of partitions.schedule at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION partitions.content_sink_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body ac1c1b742ecf1534e14bc243111f6d48
comment on function partitions.content_sink_births() is 'Digests of rows of partitions.sink at their birth, generated from the declaration.';

grant execute on function partitions.dispatch(pool_ text, most integer, worker_ text, served jsonb, lease interval, starts boolean, sink_ uuid, OUT ids uuid[], OUT partitions_ bigint[], OUT sources text[], OUT customers text[], OUT queries text[], OUT dates date[], OUT statuses text[], OUT alternatives jsonb[], OUT locations text[], OUT digests text[], OUT token_ uuid, OUT until_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION partitions.dispatch(pool_ text, most integer, worker_ text, served jsonb, lease interval, starts boolean, sink_ uuid DEFAULT NULL::uuid, OUT ids uuid[], OUT partitions_ bigint[], OUT sources text[], OUT customers text[], OUT queries text[], OUT dates date[], OUT statuses text[], OUT alternatives jsonb[], OUT locations text[], OUT digests text[], OUT token_ uuid, OUT until_ timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 90948fe5517c89a5776ff9a820e280d3
comment on function partitions.dispatch(pool_ text, most integer, worker_ text, served jsonb, lease interval, starts boolean, sink_ uuid, OUT ids uuid[], OUT partitions_ bigint[], OUT sources text[], OUT customers text[], OUT queries text[], OUT dates date[], OUT statuses text[], OUT alternatives jsonb[], OUT locations text[], OUT digests text[], OUT token_ uuid, OUT until_ timestamp with time zone) is 'Opens runs of the partitions whose turn it is, and validates again what was published, under one token and lease.';

CREATE OR REPLACE FUNCTION partitions.due_groups()
 RETURNS TABLE(lane text, source text, query_name text, priority smallint)
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'; -- body 5d67d67be615d005cb92f097af60c806
comment on function partitions.due_groups() is 'The lanes, sources, queries and priorities in which partitions wait.';
grant execute on function partitions.due_groups() to public;

grant execute on function partitions.end_runs(run_ids uuid[], tokens uuid[], verdicts text[], reasons text[], rules text[], messages text[], signatures text[], categories text[], validators text[], versions text[], contracts text[], OUT ended uuid[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION partitions.end_runs(run_ids uuid[], tokens uuid[], verdicts text[], reasons text[], rules text[], messages text[], signatures text[], categories text[], validators text[], versions text[], contracts text[], OUT ended uuid[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body d9845aca51cde65e03e4db97554af2f2
comment on function partitions.end_runs(run_ids uuid[], tokens uuid[], verdicts text[], reasons text[], rules text[], messages text[], signatures text[], categories text[], validators text[], versions text[], contracts text[], OUT ended uuid[], OUT statuses text[]) is 'The verdicts on published runs: accepted, rejected, or late.';

grant execute on function partitions.enqueue(sources text[], customers text[], queries text[], dates date[], lane_ text, priority_ integer, backfill_ uuid, OUT ids bigint[], OUT known boolean[]) to public;

CREATE OR REPLACE FUNCTION partitions.enqueue(sources text[], customers text[], queries text[], dates date[], lane_ text, priority_ integer, backfill_ uuid, OUT ids bigint[], OUT known boolean[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 4cb249b655e7f39095cf26ec78decc5f
comment on function partitions.enqueue(sources text[], customers text[], queries text[], dates date[], lane_ text, priority_ integer, backfill_ uuid, OUT ids bigint[], OUT known boolean[]) is 'Enqueues partitions that are not known yet, pending and due now. Returns all of them, and which were known.';

grant execute on function partitions.expired(most integer, OUT ids uuid[], OUT tokens uuid[], OUT messages text[], OUT partitions_ bigint[]) to public;

CREATE OR REPLACE FUNCTION partitions.expired(most integer, OUT ids uuid[], OUT tokens uuid[], OUT messages text[], OUT partitions_ bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 66d18dc35497d206df2be1f37f4272cf
comment on function partitions.expired(most integer, OUT ids uuid[], OUT tokens uuid[], OUT messages text[], OUT partitions_ bigint[]) is 'Runs whose lease expired, for the control plane to end.';

grant execute on function partitions.extend_leases(run_ids uuid[], tokens uuid[], lease interval, OUT held uuid[]) to public;

CREATE OR REPLACE FUNCTION partitions.extend_leases(run_ids uuid[], tokens uuid[], lease interval, OUT held uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 5d9bd6067ffbd783866db8438769999b
comment on function partitions.extend_leases(run_ids uuid[], tokens uuid[], lease interval, OUT held uuid[]) is 'Extends the leases of runs that are worked on, up to the hours that the policy allows. Returns those that still hold.';

CREATE OR REPLACE FUNCTION partitions.figures(policy jsonb, source_ text, query_ text)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE; -- body 6b67e95f70a88bb3fe6e0b8e4681df5c
comment on function partitions.figures(policy jsonb, source_ text, query_ text) is 'The values of the policy for a query of a source.';
grant execute on function partitions.figures(policy jsonb, source_ text, query_ text) to public;

grant execute on function partitions.follow_runs(most integer, only_ bigint[], OUT decided integer, OUT terminal bigint[]) to public;

CREATE OR REPLACE FUNCTION partitions.follow_runs(most integer, only_ bigint[] DEFAULT NULL::bigint[], OUT decided integer, OUT terminal bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 1659343f9cbdb6cbf8debb4075b28c60
comment on function partitions.follow_runs(most integer, only_ bigint[], OUT decided integer, OUT terminal bigint[]) is 'Decides what follows from runs that ended: done, due again after its backoff, held for a person, or terminal.';

CREATE OR REPLACE FUNCTION partitions.found_as(state text, s partitions.schedule, backfill_ uuid)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 1777e5c992beeb1e5b3fe5e0e66947d7
comment on function partitions.found_as(state text, s partitions.schedule, backfill_ uuid) is 'What a backfill finds of a partition: new, failed, terminal, success, pending, held, open, or another backfill''s.';
grant execute on function partitions.found_as(state text, s partitions.schedule, backfill_ uuid) to public;

CREATE OR REPLACE FUNCTION partitions.give_up_aged(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body a73c19f1c23b206022ddb968e06a24e5
comment on function partitions.give_up_aged(most integer) is 'Failed partitions that are older than the policy allows are terminal.';
grant execute on function partitions.give_up_aged(most integer) to public;

CREATE OR REPLACE FUNCTION partitions.guard_backfill_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 5155223cf3b05848c3379026aa704489
comment on function partitions.guard_backfill_births() is 'The guard of births of partitions.backfill, generated from the declaration.';
grant execute on function partitions.guard_backfill_births() to public;

CREATE OR REPLACE FUNCTION partitions.guard_backfill_item_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 020c80a4d8129e88819bca7a86f1487b
comment on function partitions.guard_backfill_item_births() is 'The guard of births of partitions.backfill_item, generated from the declaration.';
grant execute on function partitions.guard_backfill_item_births() to public;

CREATE OR REPLACE FUNCTION partitions.guard_backfill_item_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 312aa1a0b48f1ac0f3bf75a57f24de2f
comment on function partitions.guard_backfill_item_moves() is 'The guard of moves of partitions.backfill_item, generated from the declaration.';
grant execute on function partitions.guard_backfill_item_moves() to public;

CREATE OR REPLACE FUNCTION partitions.guard_backfill_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 1abcd3817f8867642780303b2ef8e803
comment on function partitions.guard_backfill_moves() is 'The guard of moves of partitions.backfill, generated from the declaration.';
grant execute on function partitions.guard_backfill_moves() to public;

CREATE OR REPLACE FUNCTION partitions.guard_partition_state_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 08305b4510d554077f92c03e9c3ce395
comment on function partitions.guard_partition_state_births() is 'The guard of births of partitions.partition_state, generated from the declaration.';
grant execute on function partitions.guard_partition_state_births() to public;

CREATE OR REPLACE FUNCTION partitions.guard_partition_state_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body c08d2ce2e6c23079e747fb7c3c575113
comment on function partitions.guard_partition_state_moves() is 'The guard of moves of partitions.partition_state, generated from the declaration.';
grant execute on function partitions.guard_partition_state_moves() to public;

CREATE OR REPLACE FUNCTION partitions.guard_requeue_request_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body e8bfe667f6e22c24e0a9cf267f66c867
comment on function partitions.guard_requeue_request_births() is 'The guard of births of partitions.requeue_request, generated from the declaration.';
grant execute on function partitions.guard_requeue_request_births() to public;

CREATE OR REPLACE FUNCTION partitions.guard_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 42164a8a594729477c65bed12e5bce59
comment on function partitions.guard_run_births() is 'The guard of births of partitions.run, generated from the declaration.';
grant execute on function partitions.guard_run_births() to public;

CREATE OR REPLACE FUNCTION partitions.guard_run_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body bd9a26be821512c5828e9271431c515d
comment on function partitions.guard_run_moves() is 'The guard of moves of partitions.run, generated from the declaration.';
grant execute on function partitions.guard_run_moves() to public;

CREATE OR REPLACE FUNCTION partitions.guard_schedule_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 2d0235ca914d337a69fe888edc279324
comment on function partitions.guard_schedule_births() is 'The guard of births of partitions.schedule, generated from the declaration.';
grant execute on function partitions.guard_schedule_births() to public;

CREATE OR REPLACE FUNCTION partitions.guard_schedule_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body eb46919832078fad581474766a7e0c3f
comment on function partitions.guard_schedule_moves() is 'The guard of moves of partitions.schedule, generated from the declaration.';
grant execute on function partitions.guard_schedule_moves() to public;

CREATE OR REPLACE FUNCTION partitions.guard_sink_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body b1c2c5354266d1f6632ae63eb8b0c0ad
comment on function partitions.guard_sink_births() is 'The guard of births of partitions.sink, generated from the declaration.';
grant execute on function partitions.guard_sink_births() to public;

CREATE OR REPLACE FUNCTION partitions.guard_sink_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 7181ea64e3f22fc1ad23705aaacfe9cb
comment on function partitions.guard_sink_moves() is 'The guard of moves of partitions.sink, generated from the declaration.';
grant execute on function partitions.guard_sink_moves() to public;

grant execute on function partitions.has_aged(figures jsonb, source_ text, aged_from timestamp with time zone, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION partitions.has_aged(figures jsonb, source_ text, aged_from timestamp with time zone, now_ timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body d1e4be76ac14480f1040e31ee800cb62
comment on function partitions.has_aged(figures jsonb, source_ text, aged_from timestamp with time zone, now_ timestamp with time zone) is 'Whether a partition is older than the policy allows, without the time in which it was paused, behind a breaker, or its raw sink unavailable.';

CREATE OR REPLACE FUNCTION partitions.in_hub(id bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body 91e79cafe2a1700818817cc8979d4033
comment on function partitions.in_hub(id bigint) is 'Whether a partition is one of the hub that this transaction is limited to.';
grant execute on function partitions.in_hub(id bigint) to public;

CREATE OR REPLACE FUNCTION partitions.is_asked_since(s partitions.schedule, b partitions.backfill)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body fda883c8e6920f49b82adb3895560889
comment on function partitions.is_asked_since(s partitions.schedule, b partitions.backfill) is 'Whether a member was asked for after its backfill was paused or cancelled: it is not held again.';
grant execute on function partitions.is_asked_since(s partitions.schedule, b partitions.backfill) to public;

grant execute on function partitions.is_now(at_ timestamp with time zone, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION partitions.is_now(at_ timestamp with time zone, now_ timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body c8e5459d294c448ff0158fe9ec4a61cf
comment on function partitions.is_now(at_ timestamp with time zone, now_ timestamp with time zone) is 'Whether a time is that of this statement.';

CREATE OR REPLACE FUNCTION partitions.is_requested(e partitions.partition_event)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body b36067375bc0d8d66f64f5ef92bd7d72
comment on function partitions.is_requested(e partitions.partition_event) is 'Whether an event follows from the request of a recovery candidate.';
grant execute on function partitions.is_requested(e partitions.partition_event) to public;

CREATE OR REPLACE FUNCTION partitions.key_problem(part text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 9eff0f054967409ca32cf0d4f4b28e50
comment on function partitions.key_problem(part text) is 'Why a text cannot be a part of the key of a partition, or null.';
grant execute on function partitions.key_problem(part text) to public;

CREATE OR REPLACE FUNCTION partitions.least_age(policy jsonb)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE; -- body c680881c9bb7eeb3811a21524d0dd668
comment on function partitions.least_age(policy jsonb) is 'The age before which no partition is too old, of any query.';
grant execute on function partitions.least_age(policy jsonb) to public;

grant execute on function partitions.lose_runs(run_ids uuid[], tokens uuid[], reasons text[], messages text[], OUT ended uuid[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION partitions.lose_runs(run_ids uuid[], tokens uuid[], reasons text[], messages text[], OUT ended uuid[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 3894ec0ba8bb32af8264f6c1ef9aef39
comment on function partitions.lose_runs(run_ids uuid[], tokens uuid[], reasons text[], messages text[], OUT ended uuid[], OUT statuses text[]) is 'Nothing came of these dispatches: lost, or released to be validated again. cap: the validator has to reject it.';

CREATE OR REPLACE FUNCTION partitions.marks(o partitions.schedule, n partitions.schedule)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body 52f78c54682fbe1b038b760aca1ca858
comment on function partitions.marks(o partitions.schedule, n partitions.schedule) is 'Whether a step marks a partition terminal by hand.';
grant execute on function partitions.marks(o partitions.schedule, n partitions.schedule) to public;

grant execute on function partitions.member_now(source_ text, customer_ text, query_ text, date_ date, OUT partition_id bigint, OUT state text, OUT schedule partitions.schedule) to public;

CREATE OR REPLACE FUNCTION partitions.member_now(source_ text, customer_ text, query_ text, date_ date, OUT partition_id bigint, OUT state text, OUT schedule partitions.schedule)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 4702991c5140cd0609d67b464e0c1a0e
comment on function partitions.member_now(source_ text, customer_ text, query_ text, date_ date, OUT partition_id bigint, OUT state text, OUT schedule partitions.schedule) is 'The partition of this key as it is now, with its schedule; nulls: there is none.';

grant execute on function partitions.move_backfill(backfill_ uuid, to_ text, OUT was text, OUT became text) to public;

CREATE OR REPLACE FUNCTION partitions.move_backfill(backfill_ uuid, to_ text, OUT was text, OUT became text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 512be730ad0f1d9b8700867745665168
comment on function partitions.move_backfill(backfill_ uuid, to_ text, OUT was text, OUT became text) is 'Pauses, resumes or cancels a backfill. What it became, and what it was.';

grant execute on function partitions.next_in_turn(pool_ text, most integer, served jsonb, now_ timestamp with time zone, shut text[], only_ text[], sink_ uuid) to public;

CREATE OR REPLACE FUNCTION partitions.next_in_turn(pool_ text, most integer, served jsonb, now_ timestamp with time zone, shut text[], only_ text[], sink_ uuid)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body d75ebb5c2b8092004fc6519a2995eb0d
comment on function partitions.next_in_turn(pool_ text, most integer, served jsonb, now_ timestamp with time zone, shut text[], only_ text[], sink_ uuid) is 'The partitions that a pool dispatches next, in order; none of the sources that are shut, or of these sources only; and of what was published only what is in this raw sink.';

grant execute on function partitions.next_past_breakers(pool_ text, most integer, served jsonb, now_ timestamp with time zone, sink_ uuid, OUT turn bigint[], OUT tries boolean) to public;

CREATE OR REPLACE FUNCTION partitions.next_past_breakers(pool_ text, most integer, served jsonb, now_ timestamp with time zone, sink_ uuid, OUT turn bigint[], OUT tries boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 977300703509de6f6166a70b6e583e67
comment on function partitions.next_past_breakers(pool_ text, most integer, served jsonb, now_ timestamp with time zone, sink_ uuid, OUT turn bigint[], OUT tries boolean) is 'The partitions that a pool dispatches next, none of them behind a breaker; or one alone that tries one.';

grant execute on function partitions.not_due(s partitions.schedule, now_ timestamp with time zone, paused boolean) to public;

CREATE OR REPLACE FUNCTION partitions.not_due(s partitions.schedule, now_ timestamp with time zone, paused boolean)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body ced9999d6c9f16a6cddc869696adea19
comment on function partitions.not_due(s partitions.schedule, now_ timestamp with time zone, paused boolean) is 'Why a partition is not dispatched now, or null.';

CREATE OR REPLACE FUNCTION partitions.one_less(counts jsonb, name text)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE; -- body a5898c534e2c7ed4b734013cf598bd94
comment on function partitions.one_less(counts jsonb, name text) is 'The same numbers, with one less of this name, if there is one.';
grant execute on function partitions.one_less(counts jsonb, name text) to public;

grant execute on function partitions.paused_since(source_ text, since timestamp with time zone, until_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION partitions.paused_since(source_ text, since timestamp with time zone, until_ timestamp with time zone)
 RETURNS interval
 LANGUAGE sql
 STABLE; -- body fcd6d67b058bd6c0a697754cb5bd0c02
comment on function partitions.paused_since(source_ text, since timestamp with time zone, until_ timestamp with time zone) is 'How long the partitions of a source were paused in this time, behind a breaker, or a raw sink unavailable.';

grant execute on function partitions.plan_backfill(backfill_ uuid, most integer, OUT planned_ integer, OUT status_ text) to public;

CREATE OR REPLACE FUNCTION partitions.plan_backfill(backfill_ uuid, most integer, OUT planned_ integer, OUT status_ text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 84eaf30382a4371acb75b79a371001e6
comment on function partitions.plan_backfill(backfill_ uuid, most integer, OUT planned_ integer, OUT status_ text) is 'Plans the next chunk of a backfill: enqueues what is new, asks again for what failed, and notes what is left.';

CREATE OR REPLACE FUNCTION partitions.policy()
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body 6fd210648fbb68b89eeab7a0b1f14b4d
comment on function partitions.policy() is 'The section on partitions of the active policy.';
grant execute on function partitions.policy() to public;

CREATE OR REPLACE FUNCTION partitions.preview_backfill(selection jsonb)
 RETURNS TABLE(found text, partitions_ bigint, example text, other uuid)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body 57edbc82019860e42f8ce1eba802edef
comment on function partitions.preview_backfill(selection jsonb) is 'What a backfill would find. Changes nothing.';
grant execute on function partitions.preview_backfill(selection jsonb) to public;

grant execute on function partitions.publish_runs(run_ids uuid[], tokens uuid[], sinks uuid[], locations_ text[], digests_ text[], formats text[], row_counts bigint[], byte_counts bigint[], OUT published uuid[]) to public;

CREATE OR REPLACE FUNCTION partitions.publish_runs(run_ids uuid[], tokens uuid[], sinks uuid[], locations_ text[], digests_ text[], formats text[], row_counts bigint[], byte_counts bigint[], OUT published uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 7b00385340fccab462768856c9b3e22d
comment on function partitions.publish_runs(run_ids uuid[], tokens uuid[], sinks uuid[], locations_ text[], digests_ text[], formats text[], row_counts bigint[], byte_counts bigint[], OUT published uuid[]) is 'The data of runs is in the raw sink. Returns those whose lease still held; the others are lost.';

CREATE OR REPLACE FUNCTION partitions.record_partitions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 6d2b7532be5c0893e1bfd9ac4a07044c
comment on function partitions.record_partitions() is 'enqueued, requeued, accepted or rejected.';

CREATE OR REPLACE FUNCTION partitions.record_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body c931f592a4bb9604ee08b55f885c0632
comment on function partitions.record_run_births() is 'dispatched, to which worker, and whether it is started with that.';

CREATE OR REPLACE FUNCTION partitions.record_run_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body 541fad7d890d04beb83f46d689ee3e31
comment on function partitions.record_run_moves() is 'started, published, released, dispatched again, lost, accepted or rejected; and the attempt of a verdict.';

CREATE OR REPLACE FUNCTION partitions.record_schedules()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 7cc6816a80215e5ceaa3a9b3eb6d5b28
comment on function partitions.record_schedules() is 'The event of a step of a schedule; and what somebody asked for, in override_log.';

grant execute on function partitions.reject_lost(run_ids uuid[], tokens uuid[], messages text[], signatures text[], categories text[], OUT ended uuid[]) to public;

CREATE OR REPLACE FUNCTION partitions.reject_lost(run_ids uuid[], tokens uuid[], messages text[], signatures text[], categories text[], OUT ended uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 185eda67612beb741d47acd2de62394e
comment on function partitions.reject_lost(run_ids uuid[], tokens uuid[], messages text[], signatures text[], categories text[], OUT ended uuid[]) is 'The last dispatch came to nothing: the validator rejects it, and it is an attempt.';

CREATE OR REPLACE FUNCTION partitions.report_sink(sink_ uuid, host_ text, cause_ text, message_ text)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 0dffdcfeb860297237d2f582ca176d5b
comment on function partitions.report_sink(sink_ uuid, host_ text, cause_ text, message_ text) is 'A worker cannot use its raw sink: reported, or known already.';
grant execute on function partitions.report_sink(sink_ uuid, host_ text, cause_ text, message_ text) to public;

grant execute on function partitions.request(candidates uuid[], partitions_ bigint[], verbs text[], alternatives jsonb[], approvers text[]) to public;

CREATE OR REPLACE FUNCTION partitions.request(candidates uuid[], partitions_ bigint[], verbs text[], alternatives jsonb[], approvers text[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body ccbf3459345ad7964245e176d71b9de4
comment on function partitions.request(candidates uuid[], partitions_ bigint[], verbs text[], alternatives jsonb[], approvers text[]) is 'The effects of recovery candidates on terminal partitions. Returns how many were still terminal.';

CREATE OR REPLACE FUNCTION partitions.restore_sink(sink_ uuid, host_ text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b2781e00c9805d23125d09bdcaae57af
comment on function partitions.restore_sink(sink_ uuid, host_ text) is 'A worker can use its raw sink again.';
grant execute on function partitions.restore_sink(sink_ uuid, host_ text) to public;

CREATE OR REPLACE FUNCTION partitions.rule_backfill_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 44559a90544541ae6d68bb762ac4d222
comment on function partitions.rule_backfill_births() is 'A backfill begins now, with nothing planned.';
grant execute on function partitions.rule_backfill_births() to public;

CREATE OR REPLACE FUNCTION partitions.rule_backfill_items()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body e325649e12dea9c2a0e1da22313fd2b1
comment on function partitions.rule_backfill_items() is 'Members are added in order while a backfill is planned, and one that waits belongs to it.';
grant execute on function partitions.rule_backfill_items() to public;

CREATE OR REPLACE FUNCTION partitions.rule_partition_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body 5c9faa04d254e7c81e7eb1f78be7ad25
comment on function partitions.rule_partition_births() is 'A partition is enqueued now, together with its schedule.';
grant execute on function partitions.rule_partition_births() to public;

CREATE OR REPLACE FUNCTION partitions.rule_requeue_requests()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body fb68d5e2dac3a860b33e031168442560
comment on function partitions.rule_requeue_requests() is 'A terminal partition is requeued by itself once, until a person acts on it.';
grant execute on function partitions.rule_requeue_requests() to public;

CREATE OR REPLACE FUNCTION partitions.rule_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body da52c2f28ee3b337bf05f66b0da8e76d
comment on function partitions.rule_run_births() is 'A run is opened for a partition that is due, as its schedule says.';
grant execute on function partitions.rule_run_births() to public;

CREATE OR REPLACE FUNCTION partitions.rule_run_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body 7e3e7ea7855e359f1c41b0c7b865f39e
comment on function partitions.rule_run_moves() is 'A run is validated again when its partition is due, and rejected for want of a result when no dispatch is left.';
grant execute on function partitions.rule_run_moves() to public;

CREATE OR REPLACE FUNCTION partitions.rule_schedule_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body e3e1eb58712352d8f545052bb799518b
comment on function partitions.rule_schedule_births() is 'A schedule begins with its partition, now.';
grant execute on function partitions.rule_schedule_births() to public;

CREATE OR REPLACE FUNCTION partitions.rule_schedule_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body b3e6f260d3b7f1d205600817a05d2b29
comment on function partitions.rule_schedule_moves() is 'A schedule leaves a run that has ended, and gives a partition up only for a reason that holds.';
grant execute on function partitions.rule_schedule_moves() to public;

CREATE OR REPLACE FUNCTION partitions.rule_sinks()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body c5e3a13080c25b9d6380f82c732fe507
comment on function partitions.rule_sinks() is 'A sink is registered now; its outage is reported, checked and ended now, and stays as it was reported.';
grant execute on function partitions.rule_sinks() to public;

grant execute on function partitions.run_move_broken(o partitions.run, n partitions.run, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION partitions.run_move_broken(o partitions.run, n partitions.run, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 4fa04a5f060e34627bf6d523fbd3502d
comment on function partitions.run_move_broken(o partitions.run, n partitions.run, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of a run breaks, or null.';

grant execute on function partitions.run_move_refusal(code_ text, o partitions.run, n partitions.run, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION partitions.run_move_refusal(code_ text, o partitions.run, n partitions.run, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 673c8d7468459afb0e8351b2bda4f3b7
comment on function partitions.run_move_refusal(code_ text, o partitions.run, n partitions.run, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of partitions.run_move_broken.';

CREATE OR REPLACE FUNCTION partitions.schedule_facts(s partitions.schedule)
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body b019f27ad9009b3a8f845f7833bfa7bb
comment on function partitions.schedule_facts(s partitions.schedule) is 'What the event of a schedule keeps of it.';
grant execute on function partitions.schedule_facts(s partitions.schedule) to public;

grant execute on function partitions.schedule_move_broken(o partitions.schedule, n partitions.schedule, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION partitions.schedule_move_broken(o partitions.schedule, n partitions.schedule, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body fc945101fb204065518f1fb75e1de6ab
comment on function partitions.schedule_move_broken(o partitions.schedule, n partitions.schedule, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of a schedule breaks, or null.';

grant execute on function partitions.schedule_move_refusal(code_ text, o partitions.schedule, n partitions.schedule, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION partitions.schedule_move_refusal(code_ text, o partitions.schedule, n partitions.schedule, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 24fe2305de26ec1247d33d57a2f18a21
comment on function partitions.schedule_move_refusal(code_ text, o partitions.schedule, n partitions.schedule, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of partitions.schedule_move_broken.';

CREATE OR REPLACE FUNCTION partitions.settle_backfill(backfill_ uuid, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 89409469d6052518daef60166741b0e9
comment on function partitions.settle_backfill(backfill_ uuid, most integer) is 'Continues a backfill by a step: plans a chunk, holds or releases members, or ends it. 0: nothing to do.';
grant execute on function partitions.settle_backfill(backfill_ uuid, most integer) to public;

CREATE OR REPLACE FUNCTION partitions.settle_backfill_items()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_mergejoin TO 'off'; -- body a5c411c3b7e5f5e3599f29be07fcf453
comment on function partitions.settle_backfill_items() is 'A member of a backfill ends when its schedule does.';

CREATE OR REPLACE FUNCTION partitions.settle_holds(backfill_ uuid, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 5cb4f8aff0df4ebebfdad1e6aeb7f6cf
comment on function partitions.settle_holds(backfill_ uuid, most integer) is 'Holds what waits in a paused or cancelled backfill, and releases what a resumed one held. Call it until it returns 0.';
grant execute on function partitions.settle_holds(backfill_ uuid, most integer) to public;

CREATE OR REPLACE FUNCTION partitions.settle_requeue_requests()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 70effc51c3ddfc8101d97067567ce9cb
comment on function partitions.settle_requeue_requests() is 'The schedules of partitions that recovery requeues or marks move, and the override log names candidate and approver.';

CREATE OR REPLACE FUNCTION partitions.settle_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body 22a9a32ddb8fdad5b06eaaaa8797df54
comment on function partitions.settle_run_births() is 'The schedule of a dispatched partition is open.';

CREATE OR REPLACE FUNCTION partitions.settle_run_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body 5e7905a324dd59989126617354a6c4a4
comment on function partitions.settle_run_moves() is 'A verdict ends the attempt of its partition; a run that is dispatched again opens its schedule.';

CREATE OR REPLACE FUNCTION partitions.settle_schedules()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body 5a2a4a54274b9d9baf8d8b81850fdb3b
comment on function partitions.settle_schedules() is 'A failed partition that is dispatched, or asked for again, is pending.';

CREATE OR REPLACE FUNCTION partitions.start_run(run_ uuid, token_ uuid)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body cb5b632345075af8b7255711a95dccf3
comment on function partitions.start_run(run_ uuid, token_ uuid) is 'Starts the work on a run, once under its token: started; otherwise its status, and there is nothing to do.';
grant execute on function partitions.start_run(run_ uuid, token_ uuid) to public;

CREATE OR REPLACE FUNCTION partitions.unsettled_backfills()
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE; -- body ea7aef361844bd0154293e6a0a880ad2
comment on function partitions.unsettled_backfills() is 'Backfills for which something is to be done.';
grant execute on function partitions.unsettled_backfills() to public;

CREATE OR REPLACE FUNCTION partitions.waits_for_person(partition_ bigint, before bigint DEFAULT NULL::bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body 19513b96422f1221f40927132261bfab
comment on function partitions.waits_for_person(partition_ bigint, before bigint) is 'Whether recovery may not requeue a partition without a person: it did so last time, or a person marked it.';
grant execute on function partitions.waits_for_person(partition_ bigint, before bigint) to public;

create schema people authorization recoup_owner;
comment on schema people is 'Error tables of a hub.';
grant usage on schema people to recoup_reader;

create table people.people_errors (
  error_table text not null default 'people.people_errors'::text,
  outreach_id uuid not null
) partition of recoup.error FOR VALUES IN ('people.people_errors') with (fillfactor=85);
alter table people.people_errors enable row level security;
alter table people.people_errors force row level security;
comment on table people.people_errors is 'Errors of this hub. Read here; written through recoup.error.';
CREATE UNIQUE INDEX people_errors_open ON people.people_errors USING btree (outreach_id, error_signature, COALESCE(work_key, ''::text)) WHERE archived_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON people.people_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_births('recoup.error');
alter table people.people_errors enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON people.people_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_exits('recoup.error');
alter table people.people_errors enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON people.people_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_moves('recoup.error');
alter table people.people_errors enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON people.people_errors FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error');
alter table people.people_errors enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON people.people_errors FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table people.people_errors enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_births_on_insert AFTER INSERT ON people.people_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_births();
alter table people.people_errors enable always trigger b_rule_error_births_on_insert;
CREATE TRIGGER b_rule_error_exits_on_delete AFTER DELETE ON people.people_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_exits();
alter table people.people_errors enable always trigger b_rule_error_exits_on_delete;
CREATE TRIGGER c_archive_errors_gone_on_delete AFTER DELETE ON people.people_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.archive_errors_gone();
alter table people.people_errors enable always trigger c_archive_errors_gone_on_delete;
CREATE TRIGGER c_record_error_births_on_insert AFTER INSERT ON people.people_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_births();
alter table people.people_errors enable always trigger c_record_error_births_on_insert;
CREATE TRIGGER c_record_error_moves_on_update AFTER UPDATE ON people.people_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_moves();
alter table people.people_errors enable always trigger c_record_error_moves_on_update;
CREATE TRIGGER d_queue_error_births_on_insert AFTER INSERT ON people.people_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_births();
alter table people.people_errors enable always trigger d_queue_error_births_on_insert;
CREATE TRIGGER d_queue_error_exits_on_delete AFTER DELETE ON people.people_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_exits();
alter table people.people_errors enable always trigger d_queue_error_exits_on_delete;
CREATE TRIGGER d_queue_error_moves_on_update AFTER UPDATE ON people.people_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_moves();
alter table people.people_errors enable always trigger d_queue_error_moves_on_update;
create policy hub on people.people_errors as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('people.people_errors'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on people.people_errors is 'Rows of the hub that the transaction is limited to; 35cb8a03347e3f0b4fe81ec3362e4c70.';
create policy workers on people.people_errors as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table people.people_errors to recoup_reader;

create table people.people_errors_archive (
  error_table text not null default 'people.people_errors'::text
) partition of recoup.error_archive FOR VALUES IN ('people.people_errors') partition by RANGE (archived_at);
alter table people.people_errors_archive enable row level security;
alter table people.people_errors_archive force row level security;
comment on table people.people_errors_archive is 'Archived errors of people.people_errors, by month.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON people.people_errors_archive FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table people.people_errors_archive enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON people.people_errors_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table people.people_errors_archive enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON people.people_errors_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table people.people_errors_archive enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON people.people_errors_archive FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table people.people_errors_archive enable replica trigger a_refuse_replicated;
create policy hub on people.people_errors_archive as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('people.people_errors'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on people.people_errors_archive is 'Rows of the hub that the transaction is limited to; 35cb8a03347e3f0b4fe81ec3362e4c70.';
create policy workers on people.people_errors_archive as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table people.people_errors_archive to recoup_reader;

create table public.shq_error_log (
  error_table text not null default 'public.shq_error_log'::text
) partition of recoup.error FOR VALUES IN ('public.shq_error_log') with (fillfactor=85);
alter table public.shq_error_log enable row level security;
alter table public.shq_error_log force row level security;
comment on table public.shq_error_log is 'Errors of this hub. Read here; written through recoup.error.';
CREATE UNIQUE INDEX shq_error_log_open ON public.shq_error_log USING btree (outreach_id, error_signature, COALESCE(work_key, ''::text)) WHERE archived_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON public.shq_error_log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_births('recoup.error');
alter table public.shq_error_log enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON public.shq_error_log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_exits('recoup.error');
alter table public.shq_error_log enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON public.shq_error_log REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_moves('recoup.error');
alter table public.shq_error_log enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON public.shq_error_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error');
alter table public.shq_error_log enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON public.shq_error_log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table public.shq_error_log enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_births_on_insert AFTER INSERT ON public.shq_error_log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_births();
alter table public.shq_error_log enable always trigger b_rule_error_births_on_insert;
CREATE TRIGGER b_rule_error_exits_on_delete AFTER DELETE ON public.shq_error_log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_exits();
alter table public.shq_error_log enable always trigger b_rule_error_exits_on_delete;
CREATE TRIGGER c_archive_errors_gone_on_delete AFTER DELETE ON public.shq_error_log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.archive_errors_gone();
alter table public.shq_error_log enable always trigger c_archive_errors_gone_on_delete;
CREATE TRIGGER c_record_error_births_on_insert AFTER INSERT ON public.shq_error_log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_births();
alter table public.shq_error_log enable always trigger c_record_error_births_on_insert;
CREATE TRIGGER c_record_error_moves_on_update AFTER UPDATE ON public.shq_error_log REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_moves();
alter table public.shq_error_log enable always trigger c_record_error_moves_on_update;
CREATE TRIGGER d_queue_error_births_on_insert AFTER INSERT ON public.shq_error_log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_births();
alter table public.shq_error_log enable always trigger d_queue_error_births_on_insert;
CREATE TRIGGER d_queue_error_exits_on_delete AFTER DELETE ON public.shq_error_log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_exits();
alter table public.shq_error_log enable always trigger d_queue_error_exits_on_delete;
CREATE TRIGGER d_queue_error_moves_on_update AFTER UPDATE ON public.shq_error_log REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_moves();
alter table public.shq_error_log enable always trigger d_queue_error_moves_on_update;
create policy hub on public.shq_error_log as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('public.shq_error_log'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on public.shq_error_log is 'Rows of the hub that the transaction is limited to; 816f6858c350f6cd8d1b77610d9d7002.';
create policy workers on public.shq_error_log as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table public.shq_error_log to recoup_reader;
alter table public.shq_error_log owner to recoup_owner;

create table public.shq_error_log_archive (
  error_table text not null default 'public.shq_error_log'::text
) partition of recoup.error_archive FOR VALUES IN ('public.shq_error_log') partition by RANGE (archived_at);
alter table public.shq_error_log_archive enable row level security;
alter table public.shq_error_log_archive force row level security;
comment on table public.shq_error_log_archive is 'Archived errors of public.shq_error_log, by month.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON public.shq_error_log_archive FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table public.shq_error_log_archive enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON public.shq_error_log_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table public.shq_error_log_archive enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON public.shq_error_log_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table public.shq_error_log_archive enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON public.shq_error_log_archive FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table public.shq_error_log_archive enable replica trigger a_refuse_replicated;
create policy hub on public.shq_error_log_archive as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('public.shq_error_log'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on public.shq_error_log_archive is 'Rows of the hub that the transaction is limited to; 816f6858c350f6cd8d1b77610d9d7002.';
create policy workers on public.shq_error_log_archive as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table public.shq_error_log_archive to recoup_reader;
alter table public.shq_error_log_archive owner to recoup_owner;

create table public.shq_master_error_log (
  error_table text not null default 'public.shq_master_error_log'::text
) partition of recoup.error FOR VALUES IN ('public.shq_master_error_log') with (fillfactor=85);
alter table public.shq_master_error_log enable row level security;
alter table public.shq_master_error_log force row level security;
comment on table public.shq_master_error_log is 'Errors of this hub. Read here; written through recoup.error.';
CREATE INDEX shq_master_error_log_open ON public.shq_master_error_log USING btree (outreach_id, error_signature, COALESCE(work_key, ''::text)) WHERE archived_at IS NULL;
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON public.shq_master_error_log FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table public.shq_master_error_log enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON public.shq_master_error_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table public.shq_master_error_log enable always trigger a_append_only_truncate;
CREATE TRIGGER a_guard_births AFTER INSERT ON public.shq_master_error_log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_births('recoup.error');
alter table public.shq_master_error_log enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON public.shq_master_error_log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_exits('recoup.error');
alter table public.shq_master_error_log enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON public.shq_master_error_log REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_moves('recoup.error');
alter table public.shq_master_error_log enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON public.shq_master_error_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error');
alter table public.shq_master_error_log enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON public.shq_master_error_log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table public.shq_master_error_log enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_births_on_insert AFTER INSERT ON public.shq_master_error_log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_births();
alter table public.shq_master_error_log enable always trigger b_rule_error_births_on_insert;
CREATE TRIGGER b_rule_error_exits_on_delete AFTER DELETE ON public.shq_master_error_log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_exits();
alter table public.shq_master_error_log enable always trigger b_rule_error_exits_on_delete;
CREATE TRIGGER c_archive_errors_gone_on_delete AFTER DELETE ON public.shq_master_error_log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.archive_errors_gone();
alter table public.shq_master_error_log enable always trigger c_archive_errors_gone_on_delete;
CREATE TRIGGER c_record_error_births_on_insert AFTER INSERT ON public.shq_master_error_log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_births();
alter table public.shq_master_error_log enable always trigger c_record_error_births_on_insert;
CREATE TRIGGER c_record_error_moves_on_update AFTER UPDATE ON public.shq_master_error_log REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_moves();
alter table public.shq_master_error_log enable always trigger c_record_error_moves_on_update;
CREATE TRIGGER d_queue_error_births_on_insert AFTER INSERT ON public.shq_master_error_log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_births();
alter table public.shq_master_error_log enable always trigger d_queue_error_births_on_insert;
CREATE TRIGGER d_queue_error_exits_on_delete AFTER DELETE ON public.shq_master_error_log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_exits();
alter table public.shq_master_error_log enable always trigger d_queue_error_exits_on_delete;
CREATE TRIGGER d_queue_error_moves_on_update AFTER UPDATE ON public.shq_master_error_log REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_moves();
alter table public.shq_master_error_log enable always trigger d_queue_error_moves_on_update;
create policy hub on public.shq_master_error_log as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('public.shq_master_error_log'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on public.shq_master_error_log is 'Rows of the hub that the transaction is limited to; f842b5ef3f969fbc73fa38edbbca1127.';
create policy workers on public.shq_master_error_log as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table public.shq_master_error_log to recoup_reader;
alter table public.shq_master_error_log owner to recoup_owner;

create table public.shq_master_error_log_archive (
  error_table text not null default 'public.shq_master_error_log'::text
) partition of recoup.error_archive FOR VALUES IN ('public.shq_master_error_log') partition by RANGE (archived_at);
alter table public.shq_master_error_log_archive enable row level security;
alter table public.shq_master_error_log_archive force row level security;
comment on table public.shq_master_error_log_archive is 'Archived errors of public.shq_master_error_log, by month.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON public.shq_master_error_log_archive FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table public.shq_master_error_log_archive enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON public.shq_master_error_log_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table public.shq_master_error_log_archive enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON public.shq_master_error_log_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table public.shq_master_error_log_archive enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON public.shq_master_error_log_archive FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table public.shq_master_error_log_archive enable replica trigger a_refuse_replicated;
create policy hub on public.shq_master_error_log_archive as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('public.shq_master_error_log'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on public.shq_master_error_log_archive is 'Rows of the hub that the transaction is limited to; f842b5ef3f969fbc73fa38edbbca1127.';
create policy workers on public.shq_master_error_log_archive as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table public.shq_master_error_log_archive to recoup_reader;
alter table public.shq_master_error_log_archive owner to recoup_owner;

create table public.shq_orphan_errors (
  error_table text not null default 'public.shq_orphan_errors'::text
) partition of recoup.error FOR VALUES IN ('public.shq_orphan_errors') with (fillfactor=85);
alter table public.shq_orphan_errors enable row level security;
alter table public.shq_orphan_errors force row level security;
comment on table public.shq_orphan_errors is 'Errors of this hub. Read here; written through recoup.error.';
CREATE UNIQUE INDEX shq_orphan_errors_open ON public.shq_orphan_errors USING btree (outreach_id, error_signature, COALESCE(work_key, ''::text)) WHERE archived_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON public.shq_orphan_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_births('recoup.error');
alter table public.shq_orphan_errors enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON public.shq_orphan_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_exits('recoup.error');
alter table public.shq_orphan_errors enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON public.shq_orphan_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_moves('recoup.error');
alter table public.shq_orphan_errors enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON public.shq_orphan_errors FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error');
alter table public.shq_orphan_errors enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON public.shq_orphan_errors FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table public.shq_orphan_errors enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_births_on_insert AFTER INSERT ON public.shq_orphan_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_births();
alter table public.shq_orphan_errors enable always trigger b_rule_error_births_on_insert;
CREATE TRIGGER b_rule_error_exits_on_delete AFTER DELETE ON public.shq_orphan_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_exits();
alter table public.shq_orphan_errors enable always trigger b_rule_error_exits_on_delete;
CREATE TRIGGER c_archive_errors_gone_on_delete AFTER DELETE ON public.shq_orphan_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.archive_errors_gone();
alter table public.shq_orphan_errors enable always trigger c_archive_errors_gone_on_delete;
CREATE TRIGGER c_record_error_births_on_insert AFTER INSERT ON public.shq_orphan_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_births();
alter table public.shq_orphan_errors enable always trigger c_record_error_births_on_insert;
CREATE TRIGGER c_record_error_moves_on_update AFTER UPDATE ON public.shq_orphan_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_moves();
alter table public.shq_orphan_errors enable always trigger c_record_error_moves_on_update;
CREATE TRIGGER d_queue_error_births_on_insert AFTER INSERT ON public.shq_orphan_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_births();
alter table public.shq_orphan_errors enable always trigger d_queue_error_births_on_insert;
CREATE TRIGGER d_queue_error_exits_on_delete AFTER DELETE ON public.shq_orphan_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_exits();
alter table public.shq_orphan_errors enable always trigger d_queue_error_exits_on_delete;
CREATE TRIGGER d_queue_error_moves_on_update AFTER UPDATE ON public.shq_orphan_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_moves();
alter table public.shq_orphan_errors enable always trigger d_queue_error_moves_on_update;
create policy hub on public.shq_orphan_errors as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('public.shq_orphan_errors'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on public.shq_orphan_errors is 'Rows of the hub that the transaction is limited to; b6e212caeefda70b78e0a1a46d02f040.';
create policy workers on public.shq_orphan_errors as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table public.shq_orphan_errors to recoup_reader;
alter table public.shq_orphan_errors owner to recoup_owner;

create table public.shq_orphan_errors_archive (
  error_table text not null default 'public.shq_orphan_errors'::text
) partition of recoup.error_archive FOR VALUES IN ('public.shq_orphan_errors') partition by RANGE (archived_at);
alter table public.shq_orphan_errors_archive enable row level security;
alter table public.shq_orphan_errors_archive force row level security;
comment on table public.shq_orphan_errors_archive is 'Archived errors of public.shq_orphan_errors, by month.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON public.shq_orphan_errors_archive FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table public.shq_orphan_errors_archive enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON public.shq_orphan_errors_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table public.shq_orphan_errors_archive enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON public.shq_orphan_errors_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table public.shq_orphan_errors_archive enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON public.shq_orphan_errors_archive FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table public.shq_orphan_errors_archive enable replica trigger a_refuse_replicated;
create policy hub on public.shq_orphan_errors_archive as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR ('public.shq_orphan_errors'::text = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on public.shq_orphan_errors_archive is 'Rows of the hub that the transaction is limited to; b6e212caeefda70b78e0a1a46d02f040.';
create policy workers on public.shq_orphan_errors_archive as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table public.shq_orphan_errors_archive to recoup_reader;
alter table public.shq_orphan_errors_archive owner to recoup_owner;

create schema recoup authorization recoup_owner;
comment on schema recoup is 'Recoup''s own tables: clock, lifecycles, logs shared by all domains, subscriptions, errors.';
grant usage on schema recoup to recoup_reader;

create sequence recoup.error_redaction_redaction_id_seq as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1 owned by recoup.error_redaction.redaction_id;

create sequence recoup.error_seq as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;
comment on sequence recoup.error_seq is 'Ids of errors, over all error tables.';
grant usage on sequence recoup.error_seq to recoup_hub;

create sequence recoup.event_seq as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;
comment on sequence recoup.event_seq is 'The order of events over all logs. Drawn after the entity is locked.';
grant select on sequence recoup.event_seq to recoup_reader;
grant usage on sequence recoup.event_seq to recoup_control_plane;
grant usage on sequence recoup.event_seq to recoup_error_worker;
grant usage on sequence recoup.event_seq to recoup_evaluator;
grant usage on sequence recoup.event_seq to recoup_executor;
grant usage on sequence recoup.event_seq to recoup_extractor;
grant usage on sequence recoup.event_seq to recoup_gate;
grant usage on sequence recoup.event_seq to recoup_hub;
grant usage on sequence recoup.event_seq to recoup_operator;
grant usage on sequence recoup.event_seq to recoup_runner;
grant usage on sequence recoup.event_seq to recoup_validator;

create sequence recoup.late_result_late_result_id_seq as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1 owned by recoup.late_result.late_result_id;

create sequence recoup.retry_traceback_traceback_id_seq as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1 owned by recoup.retry_traceback.traceback_id;

create sequence recoup.subscription_position as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;
comment on sequence recoup.subscription_position is 'Positions of subscriptions; no number is used twice.';
grant usage on sequence recoup.subscription_position to recoup_consumer;
grant usage on sequence recoup.subscription_position to recoup_evaluator;
grant usage on sequence recoup.subscription_position to recoup_matcher;
grant usage on sequence recoup.subscription_position to recoup_mint;
grant usage on sequence recoup.subscription_position to recoup_operator;

create table recoup.alert (
  alert_id uuid not null default recoup.new_id(),
  rule text not null,
  key text not null,
  signal text not null,
  unit text not null,
  severity text not null,
  action text not null,
  threshold numeric not null,
  value numeric not null,
  sample bigint,
  facts jsonb not null default '{}'::jsonb,
  status text not null default 'firing'::text,
  last_value numeric,
  worst_value numeric,
  notices integer not null default 0,
  notified_at timestamp with time zone,
  routes text[] not null default '{}'::text[],
  unsent integer not null default 0,
  policy_version integer not null default recoup.policy_version(),
  fired_at timestamp with time zone not null default recoup.now(),
  updated_at timestamp with time zone not null default recoup.now(),
  ended_at timestamp with time zone,
  constraint alert_pkey PRIMARY KEY (alert_id),
  constraint alert_action_check CHECK (octet_length(action) >= 1 AND octet_length(action) <= 60),
  constraint alert_ended CHECK ((status = 'firing'::text) = (ended_at IS NULL)),
  constraint alert_ended_at_check CHECK (isfinite(ended_at)),
  constraint alert_facts_check CHECK (octet_length(facts::text) <= 20000),
  constraint alert_fired_at_check CHECK (isfinite(fired_at)),
  constraint alert_key_check CHECK (octet_length(key) >= 1 AND octet_length(key) <= 200),
  constraint alert_last_value_check CHECK (last_value >= '-1000000000000000'::numeric AND last_value <= '1000000000000000'::numeric),
  constraint alert_notices_check CHECK (notices >= 0),
  constraint alert_notified CHECK ((notices > 0) = (notified_at IS NOT NULL)),
  constraint alert_notified_at_check CHECK (isfinite(notified_at)),
  constraint alert_rule_check CHECK (octet_length(rule) >= 1 AND octet_length(rule) <= 60),
  constraint alert_sample_check CHECK (sample >= 0),
  constraint alert_severity_check CHECK (severity = ANY (ARRAY['WARNING'::text, 'HIGH'::text, 'CRITICAL'::text])),
  constraint alert_signal_check CHECK (octet_length(signal) >= 1 AND octet_length(signal) <= 60),
  constraint alert_status_check CHECK (status = ANY (ARRAY['firing'::text, 'recovered'::text, 'no_data'::text])),
  constraint alert_threshold_check CHECK (threshold >= '-1000000000000000'::numeric AND threshold <= '1000000000000000'::numeric),
  constraint alert_unit_check CHECK (unit = ANY (ARRAY['share'::text, 'count'::text, 'seconds'::text])),
  constraint alert_unsent_check CHECK (unsent >= 0),
  constraint alert_updated_at_check CHECK (isfinite(updated_at)),
  constraint alert_value_check CHECK (value >= '-1000000000000000'::numeric AND value <= '1000000000000000'::numeric),
  constraint alert_worst_value_check CHECK (worst_value >= '-1000000000000000'::numeric AND worst_value <= '1000000000000000'::numeric)
) with (fillfactor=80);
alter table recoup.alert enable row level security;
comment on table recoup.alert is 'Alerts: one row for each time that a rule of the policy fired for a key, until it ended.';
comment on column recoup.alert.alert_id is 'Identity.';
comment on column recoup.alert.rule is 'Name of the rule, in the section alerts of the policy.';
comment on column recoup.alert.key is 'What it is about: an error table, a duty, a route; overall: the whole.';
comment on column recoup.alert.signal is 'What is measured.';
comment on column recoup.alert.unit is 'share, count or seconds.';
comment on column recoup.alert.severity is 'WARNING, HIGH or CRITICAL.';
comment on column recoup.alert.action is 'The action of the policy whose routes get the notices.';
comment on column recoup.alert.threshold is 'The value above which the rule fired.';
comment on column recoup.alert.value is 'The value when it fired.';
comment on column recoup.alert.sample is 'What a share was computed from then; null: it is not a share.';
comment on column recoup.alert.facts is 'What was known then, for the notice.';
comment on column recoup.alert.status is 'firing, recovered or no_data.';
comment on column recoup.alert.last_value is 'The value when the row last moved; null: there was none.';
comment on column recoup.alert.worst_value is 'The highest value until the row last moved.';
comment on column recoup.alert.notices is 'Notices so far; one for all routes counts as one.';
comment on column recoup.alert.notified_at is 'When the last one was queued; null: none was.';
comment on column recoup.alert.routes is 'The routes that the last notice was queued for.';
comment on column recoup.alert.unsent is 'Routes that were left out of a notice because too much waited for them.';
comment on column recoup.alert.policy_version is 'The policy that it fired under.';
comment on column recoup.alert.fired_at is 'When it fired.';
comment on column recoup.alert.updated_at is 'When it last moved.';
comment on column recoup.alert.ended_at is 'When it recovered, or had no value for too long; null: it is firing.';
CREATE UNIQUE INDEX alert_firing ON recoup.alert USING btree (rule, key) WHERE status = 'firing'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.alert REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_alert_births('recoup.alert');
alter table recoup.alert enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.alert REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.alert');
alter table recoup.alert enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.alert REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_alert_moves('recoup.alert');
alter table recoup.alert enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.alert FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.alert');
alter table recoup.alert enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.alert FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.alert enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_alert_births_on_insert AFTER INSERT ON recoup.alert REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_alert_births();
alter table recoup.alert enable always trigger b_rule_alert_births_on_insert;
CREATE TRIGGER c_content_alert_births_on_insert AFTER INSERT ON recoup.alert REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_alert_births();
alter table recoup.alert enable always trigger c_content_alert_births_on_insert;
CREATE TRIGGER c_record_alerts_on_insert AFTER INSERT ON recoup.alert REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_alerts();
alter table recoup.alert enable always trigger c_record_alerts_on_insert;
CREATE TRIGGER c_record_alerts_on_update AFTER UPDATE ON recoup.alert REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_alerts();
alter table recoup.alert enable always trigger c_record_alerts_on_update;
CREATE TRIGGER d_notify_alerts_on_insert AFTER INSERT ON recoup.alert REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.notify_alerts();
alter table recoup.alert enable always trigger d_notify_alerts_on_insert;
CREATE TRIGGER d_notify_alerts_on_update AFTER UPDATE ON recoup.alert REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.notify_alerts();
alter table recoup.alert enable always trigger d_notify_alerts_on_update;
create policy hub on recoup.alert as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.alert is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.alert as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (action, facts, fired_at, key, last_value, notices, notified_at, routes, rule, sample, severity, signal, threshold, unit, unsent, updated_at, value, worst_value), update (ended_at, last_value, notices, notified_at, routes, status, unsent, updated_at, worst_value) on table recoup.alert to recoup_error_worker;
grant select on table recoup.alert to recoup_reader;

create table recoup.alert_event (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  alert_id uuid not null,
  rule text not null,
  key text not null,
  from_status text,
  to_status text not null,
  value numeric,
  worst numeric,
  notices integer not null,
  routes text[] not null,
  unsent integer not null,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint alert_event_pkey PRIMARY KEY (seq),
  constraint alert_event_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint alert_event_logged_at_check CHECK (isfinite(logged_at))
);
alter table recoup.alert_event enable row level security;
comment on table recoup.alert_event is 'Append-only: every alert that fired, notified again or ended, written by the move''s recorder.';
comment on column recoup.alert_event.seq is 'Order over all logs, drawn after the alert is locked.';
comment on column recoup.alert_event.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.alert_event.incarnation is 'Cluster that wrote it.';
comment on column recoup.alert_event.logged_at is 'When: updated_at of the alert.';
comment on column recoup.alert_event.alert_id is 'The alert.';
comment on column recoup.alert_event.rule is 'Its rule.';
comment on column recoup.alert_event.key is 'What it is about.';
comment on column recoup.alert_event.from_status is 'Its status before; null: it fired now.';
comment on column recoup.alert_event.to_status is 'Its status since.';
comment on column recoup.alert_event.value is 'The value then; null: there was none.';
comment on column recoup.alert_event.worst is 'The highest value until then.';
comment on column recoup.alert_event.notices is 'Notices so far.';
comment on column recoup.alert_event.routes is 'The routes that the last notice was queued for.';
comment on column recoup.alert_event.unsent is 'Routes that were left out so far because too much waited for them.';
comment on column recoup.alert_event.actor is 'system, ai or human.';
comment on column recoup.alert_event.actor_id is 'Who exactly.';
comment on column recoup.alert_event.authority is 'Database role that acted.';
comment on column recoup.alert_event.login is 'Login of the session.';
CREATE INDEX alert_event_alert ON recoup.alert_event USING btree (alert_id, seq);
CREATE INDEX alert_event_xid ON recoup.alert_event USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.alert_event FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.alert_event enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.alert_event FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.alert_event enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recoup.alert_event FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recoup.alert_event enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.alert_event FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.alert_event enable replica trigger a_refuse_replicated;
create policy hub on recoup.alert_event as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.alert_event is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.alert_event as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.alert_event to recoup_reader;

create table recoup.alert_gauge (
  rule text not null,
  key text not null,
  unit text not null,
  value numeric,
  sample bigint,
  facts jsonb not null,
  worst numeric,
  seen_at timestamp with time zone,
  above_since timestamp with time zone,
  below_since timestamp with time zone,
  silenced boolean not null default false,
  constraint alert_gauge_pkey PRIMARY KEY (rule, key),
  constraint alert_gauge_above_since_check CHECK (isfinite(above_since)),
  constraint alert_gauge_below_since_check CHECK (isfinite(below_since)),
  constraint alert_gauge_facts_check CHECK (octet_length(facts::text) <= 20000),
  constraint alert_gauge_key_check CHECK (octet_length(key) >= 1 AND octet_length(key) <= 200),
  constraint alert_gauge_rule_check CHECK (octet_length(rule) >= 1 AND octet_length(rule) <= 60),
  constraint alert_gauge_seen_at_check CHECK (isfinite(seen_at)),
  constraint alert_gauge_unit_check CHECK (unit = ANY (ARRAY['share'::text, 'count'::text, 'seconds'::text])),
  constraint alert_gauge_value_check CHECK (value >= '-1000000000000000'::numeric AND value <= '1000000000000000'::numeric),
  constraint alert_gauge_worst_check CHECK (worst >= '-1000000000000000'::numeric AND worst <= '1000000000000000'::numeric)
) with (fillfactor=50);
alter table recoup.alert_gauge enable row level security;
comment on table recoup.alert_gauge is 'What every rule saw last for each key: the value, and since when it is above or well below the threshold.';
comment on column recoup.alert_gauge.rule is 'The rule.';
comment on column recoup.alert_gauge.key is 'The key.';
comment on column recoup.alert_gauge.unit is 'share, count or seconds.';
comment on column recoup.alert_gauge.value is 'The last value; null: there was none, or of too small a sample.';
comment on column recoup.alert_gauge.sample is 'What a share was computed from; null: it is not a share.';
comment on column recoup.alert_gauge.facts is 'What was known along with it.';
comment on column recoup.alert_gauge.worst is 'The highest value since it is above the threshold, or fires.';
comment on column recoup.alert_gauge.seen_at is 'When there was a value last.';
comment on column recoup.alert_gauge.above_since is 'Since when it is above the threshold; null: it is not.';
comment on column recoup.alert_gauge.below_since is 'Since when it is low enough to recover; null: it is not.';
comment on column recoup.alert_gauge.silenced is 'Whether an alert of it was silenced when it was last judged.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.alert_gauge FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.alert_gauge enable replica trigger a_refuse_replicated;
create policy hub on recoup.alert_gauge as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.alert_gauge is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.alert_gauge as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert, update on table recoup.alert_gauge to recoup_error_worker;
grant select on table recoup.alert_gauge to recoup_reader;

create table recoup.alert_round (
  one boolean not null default true,
  judged_at timestamp with time zone,
  failures jsonb not null default '{}'::jsonb,
  beat_at timestamp with time zone,
  constraint alert_round_pkey PRIMARY KEY (one),
  constraint alert_round_beat_at_check CHECK (isfinite(beat_at)),
  constraint alert_round_failures_check CHECK (octet_length(failures::text) <= 20000),
  constraint alert_round_judged_at_check CHECK (isfinite(judged_at)),
  constraint alert_round_one_check CHECK (one)
) with (fillfactor=50);
alter table recoup.alert_round enable row level security;
comment on table recoup.alert_round is 'One row, which a worker holds while it judges: when that was done last.';
comment on column recoup.alert_round.one is 'There is one row.';
comment on column recoup.alert_round.judged_at is 'When all rules were judged last.';
comment on column recoup.alert_round.failures is 'What could not be measured then, and why.';
comment on column recoup.alert_round.beat_at is 'When the last heartbeat was queued for its route.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.alert_round FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.alert_round enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_beat AFTER UPDATE ON recoup.alert_round REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.beat();
alter table recoup.alert_round enable always trigger c_beat;
create policy hub on recoup.alert_round as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.alert_round is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.alert_round as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.alert_round to recoup_reader;
grant update (beat_at, failures, judged_at) on table recoup.alert_round to recoup_error_worker;

create table recoup.api_key (
  key_id uuid not null default recoup.new_id(),
  name text not null,
  role text not null,
  hub text,
  prefix text not null,
  secret_hash bytea not null,
  replaces uuid,
  created_by text not null,
  created_at timestamp with time zone not null default recoup.now(),
  expires_at timestamp with time zone,
  replaced_at timestamp with time zone,
  status text not null default 'active'::text,
  ended_at timestamp with time zone,
  constraint api_key_pkey PRIMARY KEY (key_id),
  constraint api_key_prefix_key UNIQUE (prefix),
  constraint api_key_replaces_key UNIQUE (replaces),
  constraint api_key_secret_hash_key UNIQUE (secret_hash),
  constraint api_key_replaces_fkey FOREIGN KEY (replaces) REFERENCES recoup.api_key(key_id),
  constraint api_key_created_at_check CHECK (isfinite(created_at)),
  constraint api_key_ended CHECK ((status = 'revoked'::text) = (ended_at IS NOT NULL)),
  constraint api_key_ended_at_check CHECK (isfinite(ended_at)),
  constraint api_key_expires CHECK (expires_at > created_at),
  constraint api_key_expires_at_check CHECK (isfinite(expires_at)),
  constraint api_key_hub_check CHECK (octet_length(hub) >= 1 AND octet_length(hub) <= 60),
  constraint api_key_name_check CHECK (name ~ '^[[:print:]]+$'::text AND octet_length(name) >= 1 AND octet_length(name) <= 100),
  constraint api_key_prefix_check CHECK (prefix ~ '^[a-z2-7]{8}$'::text),
  constraint api_key_replaced CHECK (replaced_at IS NULL OR expires_at IS NOT NULL),
  constraint api_key_replaced_at_check CHECK (isfinite(replaced_at)),
  constraint api_key_role_check CHECK (role = ANY (ARRAY['viewer'::text, 'producer'::text, 'operator'::text, 'reviewer'::text, 'admin'::text])),
  constraint api_key_scoped CHECK (hub IS NULL OR role <> 'admin'::text),
  constraint api_key_secret_hash_check CHECK (octet_length(secret_hash) = 32),
  constraint api_key_status_check CHECK (status = ANY (ARRAY['active'::text, 'revoked'::text]))
);
alter table recoup.api_key enable row level security;
comment on table recoup.api_key is 'Keys of the API: who calls, in which role, for which hub. Never deleted: events name the key''s owner.';
comment on column recoup.api_key.key_id is 'Identity.';
comment on column recoup.api_key.name is 'Who acts with it, as events name them.';
comment on column recoup.api_key.role is 'viewer, producer, operator, reviewer or admin: which authorities it may use.';
comment on column recoup.api_key.hub is 'The hub of the policy whose rows it sees; null: every row.';
comment on column recoup.api_key.prefix is 'How the key begins. It finds the row, and is no secret.';
comment on column recoup.api_key.secret_hash is 'SHA-256 of the whole key, which has 256 random bits.';
comment on column recoup.api_key.replaces is 'The key that was rotated into this one.';
comment on column recoup.api_key.created_by is 'Who made it.';
comment on column recoup.api_key.created_at is 'When it was made.';
comment on column recoup.api_key.expires_at is 'Until when it is valid; null: until it is revoked.';
comment on column recoup.api_key.replaced_at is 'When it was rotated; null: it was not.';
comment on column recoup.api_key.status is 'active or revoked.';
comment on column recoup.api_key.ended_at is 'When it was revoked; null: it is active.';
CREATE UNIQUE INDEX api_key_name ON recoup.api_key USING btree (name) WHERE status = 'active'::text AND replaced_at IS NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.api_key REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_api_key_births('recoup.api_key');
alter table recoup.api_key enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.api_key REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.api_key');
alter table recoup.api_key enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.api_key REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_api_key_moves('recoup.api_key');
alter table recoup.api_key enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.api_key FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.api_key');
alter table recoup.api_key enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.api_key FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.api_key enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_api_keys_on_insert AFTER INSERT ON recoup.api_key REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_api_keys();
alter table recoup.api_key enable always trigger b_rule_api_keys_on_insert;
CREATE TRIGGER b_rule_api_keys_on_update AFTER UPDATE ON recoup.api_key REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_api_keys();
alter table recoup.api_key enable always trigger b_rule_api_keys_on_update;
CREATE TRIGGER c_content_api_key_births_on_insert AFTER INSERT ON recoup.api_key REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_api_key_births();
alter table recoup.api_key enable always trigger c_content_api_key_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recoup.api_key REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('name', 'role', 'hub', 'prefix', 'replaces', 'created_by', 'expires_at');
alter table recoup.api_key enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON recoup.api_key REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('expires_at', 'replaced_at', 'ended_at');
alter table recoup.api_key enable always trigger c_record_control_on_update;
create policy hub on recoup.api_key as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.api_key is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.api_key as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (created_by, expires_at, hub, name, prefix, replaces, role, secret_hash), update (ended_at, expires_at, replaced_at, status) on table recoup.api_key to recoup_key_manager;
grant select on table recoup.api_key to recoup_reader;

create table recoup.api_key_use (
  key_id uuid not null,
  last_used_at timestamp with time zone not null,
  constraint api_key_use_pkey PRIMARY KEY (key_id),
  constraint api_key_use_key_id_fkey FOREIGN KEY (key_id) REFERENCES recoup.api_key(key_id),
  constraint api_key_use_last_used_at_check CHECK (isfinite(last_used_at))
) with (fillfactor=50);
alter table recoup.api_key_use enable row level security;
comment on table recoup.api_key_use is 'When each key was used last, to the minute.';
comment on column recoup.api_key_use.key_id is 'The key.';
comment on column recoup.api_key_use.last_used_at is 'When; written once a minute at most.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.api_key_use FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.api_key_use enable replica trigger a_refuse_replicated;
create policy hub on recoup.api_key_use as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.api_key_use is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.api_key_use as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert, update on table recoup.api_key_use to recoup_service;
grant select on table recoup.api_key_use to recoup_reader;

create table recoup.audit_result (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone not null,
  selected text[] not null,
  checked integer not null,
  held integer not null,
  not_checked integer not null,
  broken integer not null,
  broken_rows jsonb not null,
  seals_hold boolean,
  recoup_version text not null,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint audit_result_pkey PRIMARY KEY (seq),
  constraint audit_result_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint audit_result_broken_rows_check CHECK (octet_length(broken_rows::text) <= 1000000),
  constraint audit_result_counts CHECK (LEAST(held, not_checked, broken) >= 0 AND checked = (held + not_checked + broken) AND jsonb_typeof(broken_rows) = 'object'::text AND (broken = 0) = (broken_rows = '{}'::jsonb)),
  constraint audit_result_finished_at_check CHECK (isfinite(finished_at)),
  constraint audit_result_recoup_version_check CHECK (octet_length(recoup_version) >= 1 AND octet_length(recoup_version) <= 100),
  constraint audit_result_selected_check CHECK (cardinality(selected) <= 1000),
  constraint audit_result_started_at_check CHECK (isfinite(started_at))
);
alter table recoup.audit_result enable row level security;
comment on table recoup.audit_result is 'Append-only: results of the audit that somebody kept. The audit itself writes nothing.';
comment on column recoup.audit_result.seq is 'Order over all logs.';
comment on column recoup.audit_result.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.audit_result.incarnation is 'Cluster that wrote it.';
comment on column recoup.audit_result.started_at is 'When the audit began: it saw what was committed then.';
comment on column recoup.audit_result.finished_at is 'When its result was kept.';
comment on column recoup.audit_result.selected is 'Beginnings of the ids of the invariants that were checked; none: all.';
comment on column recoup.audit_result.checked is 'How many invariants were selected.';
comment on column recoup.audit_result.held is 'How many of them hold.';
comment on column recoup.audit_result.not_checked is 'How many could not be checked, or not all of them, from where it ran.';
comment on column recoup.audit_result.broken is 'How many are broken.';
comment on column recoup.audit_result.broken_rows is 'The ids of these, and how many rows break each.';
comment on column recoup.audit_result.seals_hold is 'Whether the logs are as they were sealed. Null: not verified.';
comment on column recoup.audit_result.recoup_version is 'Version of the program that checked.';
comment on column recoup.audit_result.actor is 'system, ai or human.';
comment on column recoup.audit_result.actor_id is 'Who exactly.';
comment on column recoup.audit_result.authority is 'Database role that kept it.';
comment on column recoup.audit_result.login is 'Login of the session.';
CREATE INDEX audit_result_xid ON recoup.audit_result USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.audit_result FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.audit_result enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.audit_result FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.audit_result enable always trigger a_append_only_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.audit_result FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.audit_result enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_stamp_audit_result BEFORE INSERT ON recoup.audit_result FOR EACH ROW EXECUTE FUNCTION recoup.stamp_audit_result();
alter table recoup.audit_result enable always trigger b_stamp_audit_result;
create policy hub on recoup.audit_result as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.audit_result is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.audit_result as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (broken, broken_rows, checked, held, not_checked, recoup_version, seals_hold, selected, started_at) on table recoup.audit_result to recoup_operator;
grant select on table recoup.audit_result to recoup_reader;

create table recoup.claim_log (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  subject text not null,
  token uuid not null,
  worker text not null,
  lease_until timestamp with time zone not null,
  units text[] not null,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint claim_log_pkey PRIMARY KEY (seq),
  constraint claim_log_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint claim_log_lease_until_check CHECK (isfinite(lease_until)),
  constraint claim_log_logged_at_check CHECK (isfinite(logged_at)),
  constraint claim_log_units_check CHECK (cardinality(units) > 0)
);
alter table recoup.claim_log enable row level security;
comment on table recoup.claim_log is 'Append-only: every claim of work, one row for all units claimed together, written by the claim''s recorder.';
comment on column recoup.claim_log.seq is 'Order over all logs, drawn after the units are locked.';
comment on column recoup.claim_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.claim_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.claim_log.logged_at is 'When.';
comment on column recoup.claim_log.subject is 'The table of the units.';
comment on column recoup.claim_log.token is 'Fencing token of the claim: a report of an outcome must present it.';
comment on column recoup.claim_log.worker is 'The worker that claimed.';
comment on column recoup.claim_log.lease_until is 'After this time without a result the work counts as failed.';
comment on column recoup.claim_log.units is 'The claimed units: key, and how many attempts had ended before.';
comment on column recoup.claim_log.actor is 'system, ai or human.';
comment on column recoup.claim_log.actor_id is 'Who exactly.';
comment on column recoup.claim_log.authority is 'Database role that acted.';
comment on column recoup.claim_log.login is 'Login of the session; null in rows from before logins were stored.';
CREATE INDEX claim_log_token ON recoup.claim_log USING btree (token);
CREATE INDEX claim_log_xid ON recoup.claim_log USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.claim_log FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.claim_log enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.claim_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.claim_log enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recoup.claim_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recoup.claim_log enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.claim_log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.claim_log enable replica trigger a_refuse_replicated;
create policy hub on recoup.claim_log as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.claim_log is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.claim_log as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.claim_log to recoup_reader;

create table recoup.clock (
  only_row boolean not null default true,
  status text not null,
  at timestamp with time zone,
  released_at timestamp with time zone,
  constraint clock_pkey PRIMARY KEY (only_row),
  constraint clock_at_check CHECK (isfinite(at) AND at < '9999-01-01 00:00:00+00'::timestamp with time zone),
  constraint clock_check CHECK ((status = 'real'::text) = (at IS NULL)),
  constraint clock_check1 CHECK ((status = 'released'::text) = (released_at IS NOT NULL)),
  constraint clock_only_row_check CHECK (only_row),
  constraint clock_status_check CHECK (status = ANY (ARRAY['real'::text, 'simulated'::text, 'released'::text]))
);
comment on table recoup.clock is 'The clock of the database: one row. Read the time with recoup.now().';
comment on column recoup.clock.only_row is 'Always true: there is one clock.';
comment on column recoup.clock.status is 'real: the server''s clock. simulated: the time in "at". released: was simulated, is now the server''s clock for good.';
comment on column recoup.clock.at is 'Simulated time; after a release, the last simulated time.';
comment on column recoup.clock.released_at is 'Real time of the release.';
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.clock REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_births('recoup.clock');
alter table recoup.clock enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.clock REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.clock');
alter table recoup.clock enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.clock REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_clock_moves('recoup.clock');
alter table recoup.clock enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.clock FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.clock');
alter table recoup.clock enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.clock FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.clock enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON recoup.clock REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('at', 'released_at');
alter table recoup.clock enable always trigger c_record_control_on_update;
CREATE TRIGGER c_release_clock_on_update AFTER UPDATE ON recoup.clock REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.release_clock();
alter table recoup.clock enable always trigger c_release_clock_on_update;
CREATE TRIGGER d_wake_on_update AFTER UPDATE ON recoup.clock REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.wake();
alter table recoup.clock enable always trigger d_wake_on_update;
grant select on table recoup.clock to recoup_reader;
grant update (at, released_at, status) on table recoup.clock to recoup_operator;

create table recoup.content_log (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  subject text not null,
  event_type text not null,
  form integer not null,
  keys text[] not null,
  digests bytea[] not null storage external,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint content_log_pkey PRIMARY KEY (seq),
  constraint content_log_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint content_log_check CHECK (cardinality(digests) = cardinality(keys)),
  constraint content_log_event_type_check CHECK (event_type = ANY (ARRAY['BIRTH'::text, 'ADOPTED'::text, 'REDACTED'::text])),
  constraint content_log_form_check CHECK (form > 0),
  constraint content_log_keys_check CHECK (cardinality(keys) > 0),
  constraint content_log_logged_at_check CHECK (isfinite(logged_at))
);
alter table recoup.content_log enable row level security;
comment on table recoup.content_log is 'Append-only: digests of the values that rows were inserted with, one log row for all rows of a statement.';
comment on column recoup.content_log.seq is 'Order over all logs.';
comment on column recoup.content_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.content_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.content_log.logged_at is 'When.';
comment on column recoup.content_log.subject is 'Table of the rows.';
comment on column recoup.content_log.event_type is 'BIRTH; ADOPTED: the row existed before this log; REDACTED: a secret in the row was erased.';
comment on column recoup.content_log.form is 'Which columns the digests cover, by number: see the declaration.';
comment on column recoup.content_log.keys is 'Keys of the rows, as text.';
comment on column recoup.content_log.digests is 'Of each row: SHA-256 over the text of an array of its columns'' texts, times in UTC.';
comment on column recoup.content_log.actor is 'system, ai or human.';
comment on column recoup.content_log.actor_id is 'Who exactly.';
comment on column recoup.content_log.authority is 'Database role that acted.';
comment on column recoup.content_log.login is 'Login of the session.';
CREATE INDEX content_log_xid ON recoup.content_log USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.content_log FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.content_log enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.content_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.content_log enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recoup.content_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recoup.content_log enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.content_log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.content_log enable replica trigger a_refuse_replicated;
create policy hub on recoup.content_log as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.content_log is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.content_log as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.content_log to recoup_reader;

create table recoup.control_log (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  subject text not null,
  key text not null,
  event_type text not null,
  from_status text,
  to_status text,
  facts jsonb not null,
  reason text not null,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint control_log_pkey PRIMARY KEY (seq),
  constraint control_log_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint control_log_check CHECK ((event_type = 'BIRTH'::text) = (from_status IS NULL)),
  constraint control_log_check1 CHECK ((event_type = 'EXIT'::text) = (to_status IS NULL)),
  constraint control_log_event_type_check CHECK (event_type = ANY (ARRAY['BIRTH'::text, 'MOVE'::text, 'EXIT'::text])),
  constraint control_log_logged_at_check CHECK (isfinite(logged_at))
);
alter table recoup.control_log enable row level security;
comment on table recoup.control_log is 'Append-only: every birth, move and exit of tables that have no log of their own.';
comment on column recoup.control_log.seq is 'Order over all logs.';
comment on column recoup.control_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.control_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.control_log.logged_at is 'When.';
comment on column recoup.control_log.subject is 'Table of the row.';
comment on column recoup.control_log.key is 'Key of the row, as text.';
comment on column recoup.control_log.event_type is 'BIRTH, MOVE or EXIT.';
comment on column recoup.control_log.from_status is 'Status before; null for a birth.';
comment on column recoup.control_log.to_status is 'Status after; null for an exit.';
comment on column recoup.control_log.facts is 'Further columns that the step wrote.';
comment on column recoup.control_log.reason is 'Why, as the actor gave it.';
comment on column recoup.control_log.actor is 'Kind of actor: system, ai, human.';
comment on column recoup.control_log.actor_id is 'Who.';
comment on column recoup.control_log.authority is 'Database role that acted.';
comment on column recoup.control_log.login is 'Login of the session; null in rows from before logins were stored.';
CREATE INDEX control_log_key ON recoup.control_log USING btree (subject, key, seq);
CREATE INDEX control_log_xid ON recoup.control_log USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.control_log FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.control_log enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.control_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.control_log enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recoup.control_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recoup.control_log enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.control_log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.control_log enable replica trigger a_refuse_replicated;
create policy hub on recoup.control_log as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.control_log is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.control_log as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.control_log to recoup_reader;

create table recoup.declaration_log (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  event_type text not null,
  declared_in text not null,
  "row" jsonb not null,
  login text not null default SESSION_USER,
  constraint declaration_log_pkey PRIMARY KEY (seq),
  constraint declaration_log_event_type_check CHECK (event_type = ANY (ARRAY['ADDED'::text, 'REMOVED'::text])),
  constraint declaration_log_logged_at_check CHECK (isfinite(logged_at))
);
comment on table recoup.declaration_log is 'Append-only: declarations that were added or removed, row by row.';
comment on column recoup.declaration_log.seq is 'Order over all logs.';
comment on column recoup.declaration_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.declaration_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.declaration_log.logged_at is 'When.';
comment on column recoup.declaration_log.event_type is 'ADDED or REMOVED; a changed row is both.';
comment on column recoup.declaration_log.declared_in is 'Table of the row.';
comment on column recoup.declaration_log."row" is 'The row.';
comment on column recoup.declaration_log.login is 'Login of the session.';
CREATE INDEX declaration_log_xid ON recoup.declaration_log USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.declaration_log FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.declaration_log enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.declaration_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.declaration_log enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_declared BEFORE INSERT ON recoup.declaration_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_declared();
alter table recoup.declaration_log enable always trigger a_only_declared;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.declaration_log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.declaration_log enable replica trigger a_refuse_replicated;
grant select on table recoup.declaration_log to recoup_reader;

create table recoup.delivery (
  delivery_id uuid not null default recoup.new_id(),
  route text not null,
  subject text not null,
  body jsonb not null,
  about text,
  dedup_key text not null,
  origin text not null,
  candidate_id uuid,
  status text not null default 'queued'::text,
  attempts integer not null default 0,
  next_try_at timestamp with time zone not null default recoup.now(),
  token uuid,
  outcome text,
  last_failure text,
  policy_version integer not null default recoup.policy_version(),
  created_at timestamp with time zone not null default recoup.now(),
  updated_at timestamp with time zone not null default recoup.now(),
  ended_at timestamp with time zone,
  alert_id uuid,
  instead_of uuid,
  constraint delivery_pkey PRIMARY KEY (delivery_id),
  constraint delivery_about_check CHECK (octet_length(about) >= 1 AND octet_length(about) <= 500),
  constraint delivery_alert CHECK ((origin = 'alert'::text) = (alert_id IS NOT NULL)),
  constraint delivery_attempts_check CHECK (attempts >= 0),
  constraint delivery_body_check CHECK (octet_length(body::text) <= 200000),
  constraint delivery_cancelled CHECK (outcome IS DISTINCT FROM 'CANCELLED'::text OR status = 'dead'::text),
  constraint delivery_candidate CHECK ((origin = 'candidate'::text) = (candidate_id IS NOT NULL)),
  constraint delivery_created_at_check CHECK (isfinite(created_at)),
  constraint delivery_dedup_key_check CHECK (octet_length(dedup_key) >= 1 AND octet_length(dedup_key) <= 500),
  constraint delivery_delivered CHECK ((status = 'delivered'::text) = (NOT outcome IS DISTINCT FROM 'SUCCEEDED'::text)),
  constraint delivery_ended CHECK ((status = 'queued'::text) = (ended_at IS NULL)),
  constraint delivery_ended_at_check CHECK (isfinite(ended_at)),
  constraint delivery_instead CHECK ((origin = 'fallback'::text) = (instead_of IS NOT NULL)),
  constraint delivery_last_failure_check CHECK (octet_length(last_failure) <= 4000),
  constraint delivery_next_try_at_check CHECK (isfinite(next_try_at)),
  constraint delivery_origin_check CHECK (origin = ANY (ARRAY['candidate'::text, 'operator'::text, 'alert'::text, 'heartbeat'::text, 'fallback'::text])),
  constraint delivery_outcome_check CHECK (outcome = ANY (ARRAY['SUCCEEDED'::text, 'FAILED'::text, 'LAPSED'::text, 'CANCELLED'::text])),
  constraint delivery_route_check CHECK (octet_length(route) >= 1 AND octet_length(route) <= 60),
  constraint delivery_status_check CHECK (status = ANY (ARRAY['queued'::text, 'delivered'::text, 'dead'::text])),
  constraint delivery_subject_check CHECK (octet_length(subject) >= 1 AND octet_length(subject) <= 500),
  constraint delivery_updated_at_check CHECK (isfinite(updated_at))
) with (fillfactor=80);
alter table recoup.delivery enable row level security;
comment on table recoup.delivery is 'The outbox: notices and where they go. Tried until delivered, or dead when no try is left.';
comment on column recoup.delivery.delivery_id is 'Identity, and the idempotency key that receivers get with every try.';
comment on column recoup.delivery.route is 'Name of the route, in the section deliveries of the policy.';
comment on column recoup.delivery.subject is 'What it is about, in one line.';
comment on column recoup.delivery.body is 'The rest, for programs; secrets are redacted before it is stored.';
comment on column recoup.delivery.about is 'Id of what it is about, such as an incident.';
comment on column recoup.delivery.dedup_key is 'At most one queued delivery has it.';
comment on column recoup.delivery.origin is 'Why it was queued: candidate, operator, alert, heartbeat or fallback.';
comment on column recoup.delivery.candidate_id is 'The recovery candidate that asked for it first.';
comment on column recoup.delivery.status is 'queued, delivered or dead.';
comment on column recoup.delivery.attempts is 'Tries that have ended. Never falls.';
comment on column recoup.delivery.next_try_at is 'When it is due, or was for the last time.';
comment on column recoup.delivery.token is 'Fencing token of the try that ended last.';
comment on column recoup.delivery.outcome is 'How the last try ended: SUCCEEDED, FAILED, LAPSED (its lease expired); or CANCELLED, by a person.';
comment on column recoup.delivery.last_failure is 'Why the last failed try failed, without the address of the route.';
comment on column recoup.delivery.policy_version is 'The policy it was queued under: how often it is tried.';
comment on column recoup.delivery.created_at is 'When it was queued.';
comment on column recoup.delivery.updated_at is 'When it last moved.';
comment on column recoup.delivery.ended_at is 'When it was delivered, given up or cancelled; null: it is queued.';
comment on column recoup.delivery.alert_id is 'The alert that it tells of.';
comment on column recoup.delivery.instead_of is 'The dead delivery that it replaces, by the fallback route.';
CREATE INDEX delivery_alert ON recoup.delivery USING btree (alert_id) WHERE alert_id IS NOT NULL;
CREATE INDEX delivery_candidate ON recoup.delivery USING btree (candidate_id) WHERE candidate_id IS NOT NULL;
CREATE INDEX delivery_dead ON recoup.delivery USING btree (ended_at) WHERE status = 'dead'::text;
CREATE UNIQUE INDEX delivery_open ON recoup.delivery USING btree (dedup_key) WHERE status = 'queued'::text;
CREATE UNIQUE INDEX delivery_stands_in ON recoup.delivery USING btree (instead_of) WHERE instead_of IS NOT NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.delivery REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_delivery_births('recoup.delivery');
alter table recoup.delivery enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.delivery REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.delivery');
alter table recoup.delivery enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.delivery REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_delivery_moves('recoup.delivery');
alter table recoup.delivery enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.delivery FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.delivery');
alter table recoup.delivery enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.delivery FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.delivery enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_delivery_births_on_insert AFTER INSERT ON recoup.delivery REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_delivery_births();
alter table recoup.delivery enable always trigger b_rule_delivery_births_on_insert;
CREATE TRIGGER c_content_delivery_births_on_insert AFTER INSERT ON recoup.delivery REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_delivery_births();
alter table recoup.delivery enable always trigger c_content_delivery_births_on_insert;
CREATE TRIGGER c_record_deliveries_on_insert AFTER INSERT ON recoup.delivery REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_deliveries();
alter table recoup.delivery enable always trigger c_record_deliveries_on_insert;
CREATE TRIGGER c_record_deliveries_on_update AFTER UPDATE ON recoup.delivery REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_deliveries();
alter table recoup.delivery enable always trigger c_record_deliveries_on_update;
CREATE TRIGGER d_fall_back_deliveries_on_update AFTER UPDATE ON recoup.delivery REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.fall_back_deliveries();
alter table recoup.delivery enable always trigger d_fall_back_deliveries_on_update;
CREATE TRIGGER d_queue_delivery_births_on_insert AFTER INSERT ON recoup.delivery REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_delivery_births();
alter table recoup.delivery enable always trigger d_queue_delivery_births_on_insert;
CREATE TRIGGER d_queue_delivery_moves_on_update AFTER UPDATE ON recoup.delivery REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_delivery_moves();
alter table recoup.delivery enable always trigger d_queue_delivery_moves_on_update;
create policy hub on recoup.delivery as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.delivery is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.delivery as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (about, alert_id, body, dedup_key, delivery_id, origin, route, subject) on table recoup.delivery to recoup_error_worker;
grant insert (about, body, candidate_id, dedup_key, delivery_id, origin, route, subject), update (attempts, ended_at, last_failure, next_try_at, outcome, status, token, updated_at) on table recoup.delivery to recoup_executor;
grant insert (about, body, created_at, dedup_key, delivery_id, next_try_at, origin, route, subject, updated_at), update (attempts, ended_at, outcome, status, token, updated_at) on table recoup.delivery to recoup_operator;
grant select on table recoup.delivery to recoup_reader;

create table recoup.delivery_event (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  delivery_id uuid not null,
  route text not null,
  from_status text,
  to_status text not null,
  attempts integer not null,
  next_try_at timestamp with time zone not null,
  outcome text,
  token uuid,
  reason text,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint delivery_event_pkey PRIMARY KEY (seq),
  constraint delivery_event_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint delivery_event_logged_at_check CHECK (isfinite(logged_at)),
  constraint delivery_event_next_try_at_check CHECK (isfinite(next_try_at))
);
alter table recoup.delivery_event enable row level security;
comment on table recoup.delivery_event is 'Append-only: every birth and move of a delivery, written by the move''s recorder.';
comment on column recoup.delivery_event.seq is 'Order over all logs, drawn after the delivery is locked.';
comment on column recoup.delivery_event.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.delivery_event.incarnation is 'Cluster that wrote it.';
comment on column recoup.delivery_event.logged_at is 'When: updated_at of the delivery.';
comment on column recoup.delivery_event.delivery_id is 'The delivery.';
comment on column recoup.delivery_event.route is 'Its route.';
comment on column recoup.delivery_event.from_status is 'Its status before; null: it was queued now.';
comment on column recoup.delivery_event.to_status is 'Its status since.';
comment on column recoup.delivery_event.attempts is 'Tries that have ended.';
comment on column recoup.delivery_event.next_try_at is 'When it is due.';
comment on column recoup.delivery_event.outcome is 'SUCCEEDED, FAILED, LAPSED or CANCELLED; null: it was queued.';
comment on column recoup.delivery_event.token is 'Of a try that ended: the token of its claim (recoup.claim_log).';
comment on column recoup.delivery_event.reason is 'Why a try failed, or why it was cancelled.';
comment on column recoup.delivery_event.actor is 'system, ai or human.';
comment on column recoup.delivery_event.actor_id is 'Who exactly.';
comment on column recoup.delivery_event.authority is 'Database role that acted.';
comment on column recoup.delivery_event.login is 'Login of the session.';
CREATE INDEX delivery_event_delivery ON recoup.delivery_event USING btree (delivery_id, seq);
CREATE INDEX delivery_event_xid ON recoup.delivery_event USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.delivery_event FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.delivery_event enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.delivery_event FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.delivery_event enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recoup.delivery_event FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recoup.delivery_event enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.delivery_event FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.delivery_event enable replica trigger a_refuse_replicated;
create policy hub on recoup.delivery_event as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.delivery_event is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.delivery_event as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.delivery_event to recoup_reader;

create table recoup.delivery_queue (
  unit uuid not null,
  part text not null default ''::text,
  round integer not null default 0,
  wake_at timestamp with time zone not null,
  until timestamp with time zone,
  token uuid,
  worker text,
  claimed_at timestamp with time zone,
  constraint delivery_queue_pkey PRIMARY KEY (unit),
  constraint queue_claim CHECK ((token IS NULL) = (worker IS NULL) AND (token IS NULL) = (claimed_at IS NULL)),
  constraint queue_form_claimed_at_check CHECK (isfinite(claimed_at)),
  constraint queue_form_round_check CHECK (round >= 0),
  constraint queue_form_until_check CHECK (isfinite(until)),
  constraint queue_form_wake_at_check CHECK (isfinite(wake_at)),
  constraint queue_form_worker_check CHECK (octet_length(worker) >= 1 AND octet_length(worker) <= 500)
) with (fillfactor=70);
alter table recoup.delivery_queue enable row level security;
comment on table recoup.delivery_queue is 'Deliveries that wait: since when each is due, or who is delivering it until when.';
comment on column recoup.delivery_queue.unit is 'The delivery''s id; part is its route, round the tries that have ended.';
comment on column recoup.delivery_queue.part is 'Where the unit is, of a subject in several tables.';
comment on column recoup.delivery_queue.round is 'Attempts that have ended.';
comment on column recoup.delivery_queue.wake_at is 'When it is due; while it is claimed, the end of the lease.';
comment on column recoup.delivery_queue.until is 'Not claimed after this time; null: always.';
comment on column recoup.delivery_queue.token is 'Fencing token of the claim that holds it; null: none does.';
comment on column recoup.delivery_queue.worker is 'Who holds it.';
comment on column recoup.delivery_queue.claimed_at is 'Since when.';
CREATE INDEX delivery_queue_route ON recoup.delivery_queue USING btree (part, wake_at) WHERE token IS NULL;
CREATE INDEX delivery_queue_until_idx ON recoup.delivery_queue USING btree (until) WHERE token IS NULL AND until IS NOT NULL;
CREATE INDEX delivery_queue_wake_at_idx ON recoup.delivery_queue USING btree (wake_at) WHERE token IS NULL;
CREATE INDEX delivery_queue_wake_at_idx1 ON recoup.delivery_queue USING btree (wake_at) WHERE token IS NOT NULL;
CREATE TRIGGER a_guard_claims AFTER UPDATE ON recoup.delivery_queue REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_claims('recoup.delivery', '1 hours', 'executor');
alter table recoup.delivery_queue enable always trigger a_guard_claims;
CREATE TRIGGER a_guard_queue BEFORE INSERT OR DELETE OR TRUNCATE ON recoup.delivery_queue FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_queue();
alter table recoup.delivery_queue enable always trigger a_guard_queue;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.delivery_queue FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.delivery_queue enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_claims AFTER UPDATE ON recoup.delivery_queue REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_claims('recoup.delivery');
alter table recoup.delivery_queue enable always trigger c_record_claims;
create policy hub on recoup.delivery_queue as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.delivery_queue is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.delivery_queue as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.delivery_queue to recoup_reader;
grant update (claimed_at, token, wake_at, worker) on table recoup.delivery_queue to recoup_executor;
grant update (wake_at) on table recoup.delivery_queue to recoup_operator;

create table recoup.denied_call (
  minute timestamp with time zone not null,
  address text not null,
  key_prefix text not null,
  refusal text not null,
  calls bigint not null,
  constraint denied_call_pkey PRIMARY KEY (minute, address, key_prefix, refusal),
  constraint denied_call_address_check CHECK (octet_length(address) >= 1 AND octet_length(address) <= 60),
  constraint denied_call_calls_check CHECK (calls > 0),
  constraint denied_call_key_prefix_check CHECK (octet_length(key_prefix) <= 8),
  constraint denied_call_minute_check CHECK (isfinite(minute)),
  constraint denied_call_refusal_check CHECK (octet_length(refusal) >= 1 AND octet_length(refusal) <= 60)
) with (fillfactor=70);
alter table recoup.denied_call enable row level security;
comment on table recoup.denied_call is 'Calls that were denied, counted by minute. A minute has a limited number of rows; what is beyond is counted in one.';
comment on column recoup.denied_call.minute is 'The minute.';
comment on column recoup.denied_call.address is 'The network that they came from, shortened; *: many.';
comment on column recoup.denied_call.key_prefix is 'How the key began, if there is such a key; empty: there is none.';
comment on column recoup.denied_call.refusal is 'Why they were denied.';
comment on column recoup.denied_call.calls is 'How many.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.denied_call FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.denied_call enable replica trigger a_refuse_replicated;
create policy hub on recoup.denied_call as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.denied_call is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.denied_call as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant delete, insert, update on table recoup.denied_call to recoup_service;
grant select on table recoup.denied_call to recoup_reader;

create table recoup.domain (
  name text not null,
  epoch integer not null,
  release integer not null,
  digest text not null,
  recoup_version text not null,
  applied_at timestamp with time zone not null,
  applied_by text not null,
  constraint domain_pkey PRIMARY KEY (name),
  constraint domain_epoch_check CHECK (epoch > 0),
  constraint domain_release_check CHECK (release > 0)
);
comment on table recoup.domain is 'The domains in this database and their releases. Programs of the same epoch work with them.';
comment on column recoup.domain.name is 'Name of the domain.';
comment on column recoup.domain.epoch is 'A program of another epoch does not work with this database.';
comment on column recoup.domain.release is 'Increases with every change. An older program of the same epoch continues to work, and installs nothing of its own.';
comment on column recoup.domain.digest is 'SHA-256 over routines and declaration.';
comment on column recoup.domain.recoup_version is 'The program that applied it.';
comment on column recoup.domain.applied_at is 'When, by the server''s clock.';
comment on column recoup.domain.applied_by is 'The login that applied it.';
CREATE TRIGGER a_only_migrations BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON recoup.domain FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_migrations();
alter table recoup.domain enable always trigger a_only_migrations;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.domain FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.domain enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_declared_on_delete AFTER DELETE ON recoup.domain REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.domain enable always trigger c_record_declared_on_delete;
CREATE TRIGGER c_record_declared_on_insert AFTER INSERT ON recoup.domain REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.domain enable always trigger c_record_declared_on_insert;
CREATE TRIGGER c_record_declared_on_update AFTER UPDATE ON recoup.domain REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.domain enable always trigger c_record_declared_on_update;
grant select on table recoup.domain to recoup_reader;

create table recoup.duty_tally (
  worker_id uuid not null,
  duty text not null,
  runs bigint not null,
  done bigint not null,
  failures bigint not null,
  last_run_at timestamp with time zone not null,
  last_done_at timestamp with time zone,
  last_failed_at timestamp with time zone,
  last_failure text,
  constraint duty_tally_pkey PRIMARY KEY (worker_id, duty),
  constraint duty_tally_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES recoup.worker(worker_id),
  constraint duty_tally_done_check CHECK (done >= 0),
  constraint duty_tally_duty_check CHECK (duty <> ''::text),
  constraint duty_tally_failures_check CHECK (failures >= 0),
  constraint duty_tally_runs_check CHECK (runs >= 0)
) with (fillfactor=50);
comment on table recoup.duty_tally is 'What each worker did of each background task (duty). Written in the transaction of the work that it counts.';
comment on column recoup.duty_tally.worker_id is 'The worker.';
comment on column recoup.duty_tally.duty is 'The background task.';
comment on column recoup.duty_tally.runs is 'Batches run; idle ones are counted once per heartbeat.';
comment on column recoup.duty_tally.done is 'Units done.';
comment on column recoup.duty_tally.failures is 'Batches that raised an exception and were rolled back.';
comment on column recoup.duty_tally.last_run_at is 'When it last ran, whatever the result.';
comment on column recoup.duty_tally.last_done_at is 'When it last did something.';
comment on column recoup.duty_tally.last_failed_at is 'When it last raised an exception.';
comment on column recoup.duty_tally.last_failure is 'The message of the last exception.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.duty_tally FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.duty_tally enable replica trigger a_refuse_replicated;
grant insert, update on table recoup.duty_tally to recoup_archiver;
grant insert, update on table recoup.duty_tally to recoup_claim_worker;
grant insert, update on table recoup.duty_tally to recoup_control_plane;
grant insert, update on table recoup.duty_tally to recoup_error_worker;
grant insert, update on table recoup.duty_tally to recoup_evaluator;
grant insert, update on table recoup.duty_tally to recoup_executor;
grant insert, update on table recoup.duty_tally to recoup_gate;
grant insert, update on table recoup.duty_tally to recoup_matcher;
grant insert, update on table recoup.duty_tally to recoup_mint;
grant insert, update on table recoup.duty_tally to recoup_operator;
grant insert, update on table recoup.duty_tally to recoup_orphan_recovery;
grant insert, update on table recoup.duty_tally to recoup_runner;
grant insert, update on table recoup.duty_tally to recoup_scoped_execution;
grant insert, update on table recoup.duty_tally to recoup_service;
grant select on table recoup.duty_tally to recoup_reader;

create table recoup.error (
  error_table text not null,
  error_id bigint not null default nextval('recoup.error_seq'::regclass),
  outreach_id uuid,
  error_code text,
  error_message text not null,
  error_signature text not null,
  severity text,
  category text not null,
  disposition text not null,
  status text not null,
  ttl_tier text not null,
  expires_at timestamp with time zone,
  retry_count integer not null default 0,
  max_retries integer not null,
  last_retry_at timestamp with time zone,
  next_retry_at timestamp with time zone,
  retry_exhausted boolean generated always as (retry_count >= max_retries) stored,
  retry_until timestamp with time zone,
  last_outcome text,
  last_failure text,
  parked_at timestamp with time zone,
  parked_by text,
  park_reason text,
  assigned_to text,
  escalation_level integer not null default 0,
  last_reviewed_at timestamp with time zone,
  escalated_at timestamp with time zone,
  escalated_to text,
  escalation_reason text,
  payload jsonb,
  decided_by text not null,
  clamped_from text,
  policy_version integer not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  superseded_by bigint,
  archived_at timestamp with time zone,
  archive_reason text,
  token uuid,
  work_key text,
  overruled text,
  lineage_id bigint,
  retry_with jsonb,
  parked_since timestamp with time zone,
  sla_due_at timestamp with time zone,
  sla_met_at timestamp with time zone,
  sla_breached_at timestamp with time zone,
  constraint error_pkey PRIMARY KEY (error_id, error_table),
  constraint error_archive_reason CHECK ((archived_at IS NULL) = (archive_reason IS NULL)),
  constraint error_archive_reason_check CHECK (archive_reason = ANY (ARRAY['TTL_EXPIRED'::text, 'MANUAL'::text, 'RESOLVED'::text, 'SUPERSEDED'::text])),
  constraint error_archived_at_check CHECK (isfinite(archived_at)),
  constraint error_assigned_to_check CHECK (octet_length(assigned_to) >= 1 AND octet_length(assigned_to) <= 500),
  constraint error_category_check CHECK (category = ANY (ARRAY['TRANSIENT'::text, 'OPERATIONAL'::text, 'STRUCTURAL'::text])),
  constraint error_clamped_from_check CHECK (clamped_from = ANY (ARRAY['RETRY'::text, 'PARK'::text, 'ARCHIVE'::text, 'IGNORE'::text])),
  constraint error_created_at_check CHECK (isfinite(created_at)),
  constraint error_decided_by_check CHECK (decided_by = ANY (ARRAY['person'::text, 'hub rule'::text, 'code rule'::text, 'severity'::text, 'table'::text])),
  constraint error_disposition_check CHECK (disposition = ANY (ARRAY['RETRY'::text, 'PARKED'::text, 'ARCHIVE'::text, 'IGNORE'::text])),
  constraint error_error_code_check CHECK (octet_length(error_code) >= 1 AND octet_length(error_code) <= 200),
  constraint error_error_id_check CHECK (error_id > 0),
  constraint error_error_signature_check CHECK (octet_length(error_signature) >= 1 AND octet_length(error_signature) <= 200),
  constraint error_escalated CHECK ((status <> 'ESCALATED'::text OR escalation_level > 0) AND (escalation_reason IS NULL OR escalation_level > 0) AND (escalation_level > 0) = (escalated_at IS NOT NULL) AND (escalation_level > 0) = (escalated_to IS NOT NULL)),
  constraint error_escalated_at_check CHECK (isfinite(escalated_at)),
  constraint error_escalated_to_check CHECK (octet_length(escalated_to) >= 1 AND octet_length(escalated_to) <= 500),
  constraint error_escalation_level_check CHECK (escalation_level >= 0 AND escalation_level <= 3),
  constraint error_escalation_reason_check CHECK (octet_length(escalation_reason) >= 1 AND octet_length(escalation_reason) <= 2000),
  constraint error_expires_at_check CHECK (isfinite(expires_at)),
  constraint error_last_outcome_check CHECK (last_outcome = ANY (ARRAY['SUCCEEDED'::text, 'FAILED'::text, 'LAPSED'::text])),
  constraint error_last_retry_at_check CHECK (isfinite(last_retry_at)),
  constraint error_last_reviewed_at_check CHECK (isfinite(last_reviewed_at)),
  constraint error_lineage CHECK (lineage_id <= error_id),
  constraint error_max_retries_check CHECK (max_retries >= 0),
  constraint error_next_retry_at_check CHECK (isfinite(next_retry_at)),
  constraint error_not_superseded_by_itself CHECK (superseded_by <> error_id),
  constraint error_outcome CHECK ((last_outcome IS NULL OR retry_count > 0) AND (last_failure IS NULL OR last_outcome IS NOT NULL) AND (last_outcome <> 'SUCCEEDED'::text OR status = 'RESOLVED'::text)),
  constraint error_overruled_check CHECK (overruled = ANY (ARRAY['RETRY'::text, 'PARK'::text, 'ARCHIVE'::text, 'IGNORE'::text])),
  constraint error_park_reason_check CHECK (octet_length(park_reason) >= 1 AND octet_length(park_reason) <= 2000),
  constraint error_parked CHECK (
CASE
    WHEN status = ANY (ARRAY['PARKED'::text, 'ESCALATED'::text]) THEN parked_at IS NOT NULL
    WHEN status <> 'RESOLVED'::text THEN parked_at IS NULL
    ELSE true
END AND (parked_at IS NULL) = (parked_by IS NULL) AND (park_reason IS NOT NULL OR parked_at IS NULL) AND (park_reason IS NULL OR status <> 'RETRY_PENDING'::text OR NOT clamped_from IS DISTINCT FROM 'PARK'::text)),
  constraint error_parked_at_check CHECK (isfinite(parked_at)),
  constraint error_parked_since_check CHECK (isfinite(parked_since)),
  constraint error_resolved CHECK ((status = 'RESOLVED'::text) = (NOT archive_reason IS DISTINCT FROM 'RESOLVED'::text)),
  constraint error_retry_count_check CHECK (retry_count >= 0),
  constraint error_retry_only_pending CHECK (next_retry_at IS NULL OR status = 'RETRY_PENDING'::text),
  constraint error_retry_pending CHECK (status <> 'RETRY_PENDING'::text OR archived_at IS NOT NULL OR next_retry_at IS NOT NULL AND retry_count < max_retries),
  constraint error_retry_until_check CHECK (isfinite(retry_until)),
  constraint error_severity_check CHECK (severity = ANY (ARRAY['CRITICAL'::text, 'HIGH'::text, 'MEDIUM'::text, 'LOW'::text])),
  constraint error_sla CHECK ((sla_due_at IS NULL OR escalation_level > 0 AND parked_since IS NOT NULL AND sla_due_at > escalated_at) AND (num_nonnulls(sla_met_at, sla_breached_at) = 0 OR sla_due_at IS NOT NULL) AND num_nonnulls(sla_met_at, sla_breached_at) < 2 AND (sla_met_at IS NULL OR sla_met_at <= sla_due_at) AND (sla_breached_at IS NULL OR sla_breached_at > sla_due_at)),
  constraint error_sla_breached_at_check CHECK (isfinite(sla_breached_at)),
  constraint error_sla_due_at_check CHECK (isfinite(sla_due_at)),
  constraint error_sla_met_at_check CHECK (isfinite(sla_met_at)),
  constraint error_status_check CHECK (status = ANY (ARRAY['ACTIVE'::text, 'RETRY_PENDING'::text, 'PARKED'::text, 'ESCALATED'::text, 'RESOLVED'::text])),
  constraint error_status_disposition CHECK (status = 'RESOLVED'::text OR disposition =
CASE status
    WHEN 'RETRY_PENDING'::text THEN 'RETRY'::text
    WHEN 'PARKED'::text THEN 'PARKED'::text
    WHEN 'ESCALATED'::text THEN 'PARKED'::text
    ELSE
    CASE disposition
        WHEN 'IGNORE'::text THEN 'IGNORE'::text
        ELSE 'ARCHIVE'::text
    END
END),
  constraint error_superseded CHECK ((superseded_by IS NOT NULL) = (NOT archive_reason IS DISTINCT FROM 'SUPERSEDED'::text)),
  constraint error_ttl CHECK ((ttl_tier = 'INFINITE'::text) = (expires_at IS NULL)),
  constraint error_ttl_tier_check CHECK (ttl_tier = ANY (ARRAY['SHORT'::text, 'MEDIUM'::text, 'LONG'::text, 'INFINITE'::text])),
  constraint error_updated_at_check CHECK (isfinite(updated_at)),
  constraint error_work_key_check CHECK (char_length(work_key) >= 1 AND char_length(work_key) <= 200 AND work_key !~ '[\u0001-\u001f\u007f-\u009f]'::text)
) partition by LIST (error_table);
alter table recoup.error enable row level security;
alter table recoup.error force row level security;
comment on table recoup.error is 'Every failure of a hub, recorded once. Its partitions are the error tables; rows are only moved to the archive.';
comment on column recoup.error.error_table is 'The error table, with its schema.';
comment on column recoup.error.error_id is 'Unique over all error tables.';
comment on column recoup.error.outreach_id is 'The entity that failed. May be missing in global tables (schema public).';
comment on column recoup.error.error_code is 'Code of the failure, as given by its hub.';
comment on column recoup.error.error_message is 'Message of the failure.';
comment on column recoup.error.error_signature is 'The same for the same failure, whatever the values in its message.';
comment on column recoup.error.severity is 'CRITICAL, HIGH, MEDIUM or LOW, if the reporter gave one.';
comment on column recoup.error.category is 'TRANSIENT, OPERATIONAL or STRUCTURAL: how it is retried.';
comment on column recoup.error.disposition is 'RETRY, PARKED, ARCHIVE or IGNORE: what the policy decided to do with it.';
comment on column recoup.error.status is 'ACTIVE, RETRY_PENDING, PARKED, ESCALATED or RESOLVED; ARCHIVED in the archive.';
comment on column recoup.error.ttl_tier is 'SHORT, MEDIUM, LONG or INFINITE: how long it is kept.';
comment on column recoup.error.expires_at is 'After this time it is archived as TTL_EXPIRED; an unpark moves it. Null: never.';
comment on column recoup.error.retry_count is 'Number of retries that have ended, including those whose worker died. Never decreases.';
comment on column recoup.error.max_retries is 'Maximum number of retries; an unpark grants one more.';
comment on column recoup.error.last_retry_at is 'When the last ended retry began.';
comment on column recoup.error.next_retry_at is 'Scheduled time for next retry; null when there is none.';
comment on column recoup.error.retry_exhausted is 'True if retry_count >= max_retries.';
comment on column recoup.error.retry_until is 'End of the retry window; null: no automatic retries, or a person started the retry.';
comment on column recoup.error.last_outcome is 'How the last retry ended: SUCCEEDED, FAILED, or LAPSED when its lease expired without a result.';
comment on column recoup.error.last_failure is 'Message of the last failed retry.';
comment on column recoup.error.parked_at is 'Timestamp when error was parked.';
comment on column recoup.error.parked_by is 'Who parked the error: system, or the person who asked for it.';
comment on column recoup.error.park_reason is 'Why the error was parked (code or text); kept also where the table does not allow parking.';
comment on column recoup.error.assigned_to is 'Owner responsible for resolution; null: the owner of its table.';
comment on column recoup.error.escalation_level is '0 = not escalated, 1+ = escalation tier.';
comment on column recoup.error.last_reviewed_at is 'Last time a human reviewed this error.';
comment on column recoup.error.escalated_at is 'Timestamp of last escalation.';
comment on column recoup.error.escalated_to is 'Owner at current tier.';
comment on column recoup.error.escalation_reason is 'Why escalated.';
comment on column recoup.error.payload is 'Further data from its hub; secrets are redacted before it is stored.';
comment on column recoup.error.decided_by is 'What decided its disposition: person, hub rule, code rule, severity or table.';
comment on column recoup.error.clamped_from is 'The wanted disposition, where this table does not allow it; null: it was allowed.';
comment on column recoup.error.policy_version is 'The policy that decided it.';
comment on column recoup.error.created_at is 'When it first failed: a newer error inherits the time of the retried or parked one that it supersedes.';
comment on column recoup.error.updated_at is 'When it last changed.';
comment on column recoup.error.superseded_by is 'The newer error of the same table, entity, work key and signature.';
comment on column recoup.error.archived_at is 'When it was closed: it blocks nothing from then on, and the archiver moves it later.';
comment on column recoup.error.archive_reason is 'TTL_EXPIRED, MANUAL, RESOLVED or SUPERSEDED.';
comment on column recoup.error.token is 'Fencing token of the last ended retry; recoup.error_queue has that of the current one.';
comment on column recoup.error.work_key is 'Which piece of the entity''s work failed: a person, a document. Null: there is only one.';
comment on column recoup.error.overruled is 'What its report asked for, where the open error of the same failure was stronger; null: not overruled.';
comment on column recoup.error.lineage_id is 'The error_id of the first error of its lineage: a newer error inherits it from the one that it supersedes. Null: recorded by an older release, or inserted by SQL without it; then the error is its own lineage.';
comment on column recoup.error.retry_with is 'The alternative that its retry is to use, from the action fallback of a recovery candidate. Null: none.';
comment on column recoup.error.parked_since is 'When it was first parked: its tiers count from here, also when it is parked again after a retry.';
comment on column recoup.error.sla_due_at is 'Until when the owner of its tier has to review it.';
comment on column recoup.error.sla_met_at is 'When it was first reviewed in this tier, if that was in time.';
comment on column recoup.error.sla_breached_at is 'When it was found unreviewed after that time. Once per tier.';
CREATE INDEX error_closed_failure ON ONLY recoup.error USING btree (outreach_id, error_signature) WHERE archived_at IS NOT NULL AND outreach_id IS NOT NULL;
CREATE INDEX error_escalated ON ONLY recoup.error USING btree (escalation_level) WHERE (status = ANY (ARRAY['PARKED'::text, 'ESCALATED'::text])) AND (escalation_level >= 2 OR status = 'ESCALATED'::text) AND archived_at IS NULL;
CREATE INDEX error_expiry ON ONLY recoup.error USING btree (expires_at, created_at) WHERE archived_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX error_leaving ON ONLY recoup.error USING btree (archived_at) WHERE archived_at IS NOT NULL;
CREATE INDEX error_parked_at ON ONLY recoup.error USING btree (parked_at) WHERE (status = ANY (ARRAY['PARKED'::text, 'ESCALATED'::text])) AND archived_at IS NULL;
CREATE INDEX error_signature ON ONLY recoup.error USING btree (error_signature text_pattern_ops, error_id);
CREATE INDEX error_sla_breached ON ONLY recoup.error USING btree (sla_due_at) WHERE (status = ANY (ARRAY['PARKED'::text, 'ESCALATED'::text])) AND archived_at IS NULL AND sla_breached_at IS NOT NULL;
CREATE INDEX error_sla_running ON ONLY recoup.error USING btree (sla_due_at) WHERE (status = ANY (ARRAY['PARKED'::text, 'ESCALATED'::text])) AND archived_at IS NULL AND sla_met_at IS NULL AND sla_breached_at IS NULL;
CREATE INDEX error_tier ON ONLY recoup.error USING btree (escalation_level, (
CASE
    WHEN parked_since IS NULL THEN parked_at
    ELSE parked_since
END)) WHERE (status = ANY (ARRAY['PARKED'::text, 'ESCALATED'::text])) AND archived_at IS NULL;
CREATE INDEX error_work_key ON ONLY recoup.error USING btree (work_key text_pattern_ops) WHERE work_key IS NOT NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.error REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_births('recoup.error');
alter table recoup.error enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.error REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_exits('recoup.error');
alter table recoup.error enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.error REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_moves('recoup.error');
alter table recoup.error enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.error FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error');
alter table recoup.error enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.error FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.error enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_births_on_insert AFTER INSERT ON recoup.error REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_births();
alter table recoup.error enable always trigger b_rule_error_births_on_insert;
CREATE TRIGGER b_rule_error_exits_on_delete AFTER DELETE ON recoup.error REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_exits();
alter table recoup.error enable always trigger b_rule_error_exits_on_delete;
CREATE TRIGGER c_archive_errors_gone_on_delete AFTER DELETE ON recoup.error REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.archive_errors_gone();
alter table recoup.error enable always trigger c_archive_errors_gone_on_delete;
CREATE TRIGGER c_record_error_births_on_insert AFTER INSERT ON recoup.error REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_births();
alter table recoup.error enable always trigger c_record_error_births_on_insert;
CREATE TRIGGER c_record_error_moves_on_update AFTER UPDATE ON recoup.error REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_error_moves();
alter table recoup.error enable always trigger c_record_error_moves_on_update;
CREATE TRIGGER d_queue_error_births_on_insert AFTER INSERT ON recoup.error REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_births();
alter table recoup.error enable always trigger d_queue_error_births_on_insert;
CREATE TRIGGER d_queue_error_exits_on_delete AFTER DELETE ON recoup.error REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_exits();
alter table recoup.error enable always trigger d_queue_error_exits_on_delete;
CREATE TRIGGER d_queue_error_moves_on_update AFTER UPDATE ON recoup.error REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.queue_error_moves();
alter table recoup.error enable always trigger d_queue_error_moves_on_update;
create policy hub on recoup.error as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (error_table = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.error is 'Rows of the hub that the transaction is limited to; 9501c3be8bb40570245573595de32eaa.';
create policy workers on recoup.error as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant delete, update (updated_at) on table recoup.error to recoup_archiver;
grant insert, update (archive_reason, archived_at, disposition, escalated_at, escalated_to, escalation_level, escalation_reason, last_failure, last_outcome, last_retry_at, next_retry_at, park_reason, parked_at, parked_by, parked_since, retry_count, sla_breached_at, sla_due_at, sla_met_at, status, superseded_by, token, updated_at) on table recoup.error to recoup_hub;
grant select on table recoup.error to recoup_reader;
grant update (archive_reason, archived_at, assigned_to, disposition, escalated_at, escalated_to, escalation_level, escalation_reason, expires_at, last_retry_at, last_reviewed_at, max_retries, next_retry_at, park_reason, parked_at, parked_by, parked_since, retry_count, retry_until, retry_with, sla_breached_at, sla_due_at, sla_met_at, status, token, updated_at) on table recoup.error to recoup_operator;
grant update (archive_reason, archived_at, disposition, escalated_at, escalated_to, escalation_level, escalation_reason, expires_at, max_retries, next_retry_at, park_reason, parked_at, parked_by, parked_since, retry_until, retry_with, sla_breached_at, sla_due_at, sla_met_at, status, updated_at) on table recoup.error to recoup_executor;
grant update (archive_reason, archived_at, disposition, escalated_at, escalated_to, escalation_level, escalation_reason, last_failure, last_outcome, last_retry_at, next_retry_at, park_reason, parked_at, parked_by, parked_since, retry_count, sla_breached_at, sla_due_at, sla_met_at, status, token, updated_at) on table recoup.error to recoup_error_worker;
grant update (last_reviewed_at, sla_met_at, updated_at) on table recoup.error to recoup_reviewer;

create table recoup.error_archive (
  error_table text not null,
  error_id bigint not null,
  outreach_id uuid,
  error_code text,
  error_message text not null,
  error_signature text not null,
  severity text,
  category text not null,
  disposition text not null,
  status text not null,
  ttl_tier text not null,
  expires_at timestamp with time zone,
  retry_count integer not null,
  max_retries integer not null,
  last_retry_at timestamp with time zone,
  next_retry_at timestamp with time zone,
  retry_exhausted boolean generated always as (retry_count >= max_retries) stored,
  retry_until timestamp with time zone,
  last_outcome text,
  last_failure text,
  parked_at timestamp with time zone,
  parked_by text,
  park_reason text,
  assigned_to text,
  escalation_level integer not null,
  last_reviewed_at timestamp with time zone,
  escalated_at timestamp with time zone,
  escalated_to text,
  escalation_reason text,
  payload jsonb,
  decided_by text not null,
  clamped_from text,
  policy_version integer not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  superseded_by bigint,
  archived_at timestamp with time zone not null,
  archive_reason text not null,
  archived_by text not null,
  final_disposition text not null,
  was_blocking boolean not null,
  token uuid,
  work_key text,
  overruled text,
  lineage_id bigint,
  retry_with jsonb,
  parked_since timestamp with time zone,
  sla_due_at timestamp with time zone,
  sla_met_at timestamp with time zone,
  sla_breached_at timestamp with time zone,
  constraint error_archive_pkey PRIMARY KEY (error_id, error_table, archived_at),
  constraint error_archive_final_disposition_check CHECK (final_disposition = ANY (ARRAY['RETRY'::text, 'PARKED'::text, 'ARCHIVE'::text, 'IGNORE'::text])),
  constraint error_archive_status CHECK (status = 'ARCHIVED'::text),
  constraint error_archive_why CHECK (archive_reason = ANY (ARRAY['TTL_EXPIRED'::text, 'MANUAL'::text, 'RESOLVED'::text, 'SUPERSEDED'::text]))
) partition by LIST (error_table);
alter table recoup.error_archive enable row level security;
alter table recoup.error_archive force row level security;
comment on table recoup.error_archive is 'Closed and expired errors, unchanged, by table and month. Append-only; a month is dropped after its retention.';
comment on column recoup.error_archive.error_table is 'The error table, with its schema.';
comment on column recoup.error_archive.error_id is 'Unique over all error tables.';
comment on column recoup.error_archive.outreach_id is 'The entity that failed. May be missing in global tables (schema public).';
comment on column recoup.error_archive.error_code is 'Code of the failure, as given by its hub.';
comment on column recoup.error_archive.error_message is 'Message of the failure.';
comment on column recoup.error_archive.error_signature is 'The same for the same failure, whatever the values in its message.';
comment on column recoup.error_archive.severity is 'CRITICAL, HIGH, MEDIUM or LOW, if the reporter gave one.';
comment on column recoup.error_archive.category is 'TRANSIENT, OPERATIONAL or STRUCTURAL: how it is retried.';
comment on column recoup.error_archive.disposition is 'RETRY, PARKED, ARCHIVE or IGNORE: what the policy decided to do with it.';
comment on column recoup.error_archive.status is 'ARCHIVED.';
comment on column recoup.error_archive.ttl_tier is 'SHORT, MEDIUM, LONG or INFINITE: how long it is kept.';
comment on column recoup.error_archive.expires_at is 'After this time it is archived as TTL_EXPIRED; null: never.';
comment on column recoup.error_archive.retry_count is 'Number of retries that have ended, including those whose worker died. Never decreases.';
comment on column recoup.error_archive.max_retries is 'Maximum number of retries; an unpark grants one more.';
comment on column recoup.error_archive.last_retry_at is 'Timestamp of last retry attempt.';
comment on column recoup.error_archive.next_retry_at is 'Scheduled time for next retry; null when there is none.';
comment on column recoup.error_archive.retry_exhausted is 'True if retry_count >= max_retries.';
comment on column recoup.error_archive.retry_until is 'End of the retry window; null: no automatic retries, or a person started the retry.';
comment on column recoup.error_archive.last_outcome is 'How the last retry ended: SUCCEEDED, FAILED, or LAPSED when its lease expired without a result.';
comment on column recoup.error_archive.last_failure is 'Message of the last failed retry.';
comment on column recoup.error_archive.parked_at is 'Timestamp when error was parked.';
comment on column recoup.error_archive.parked_by is 'Who parked the error: system, or the person who asked for it.';
comment on column recoup.error_archive.park_reason is 'Why the error was parked (code or text); kept also where the table does not allow parking.';
comment on column recoup.error_archive.assigned_to is 'Owner responsible for resolution; null: the owner of its table.';
comment on column recoup.error_archive.escalation_level is '0 = not escalated, 1+ = escalation tier.';
comment on column recoup.error_archive.last_reviewed_at is 'Last time a human reviewed this error.';
comment on column recoup.error_archive.escalated_at is 'Timestamp of last escalation.';
comment on column recoup.error_archive.escalated_to is 'Owner at current tier.';
comment on column recoup.error_archive.escalation_reason is 'Why escalated.';
comment on column recoup.error_archive.payload is 'Further data from its hub; secrets are redacted before it is stored.';
comment on column recoup.error_archive.decided_by is 'What decided its disposition: person, hub rule, code rule, severity or table.';
comment on column recoup.error_archive.clamped_from is 'The wanted disposition, where this table does not allow it; null: it was allowed.';
comment on column recoup.error_archive.policy_version is 'The policy that decided it.';
comment on column recoup.error_archive.created_at is 'When it first failed: a newer error inherits the time of the retried or parked one that it supersedes.';
comment on column recoup.error_archive.updated_at is 'When it last changed.';
comment on column recoup.error_archive.superseded_by is 'The newer error of the same table, entity, work key and signature.';
comment on column recoup.error_archive.archived_at is 'When it was resolved, superseded, archived by hand, or found expired.';
comment on column recoup.error_archive.archive_reason is 'TTL_EXPIRED, MANUAL, RESOLVED or SUPERSEDED.';
comment on column recoup.error_archive.archived_by is 'System or user that archived.';
comment on column recoup.error_archive.final_disposition is 'Disposition at time of archive.';
comment on column recoup.error_archive.was_blocking is 'Whether it still blocked its entity when it expired.';
comment on column recoup.error_archive.token is 'Fencing token of the last ended retry.';
comment on column recoup.error_archive.work_key is 'Which piece of the entity''s work failed.';
comment on column recoup.error_archive.overruled is 'What its report asked for, where the open error of the same failure was stronger; null: not overruled.';
comment on column recoup.error_archive.lineage_id is 'The error_id of the first error of its lineage. Null: recorded by an older release, or inserted by SQL without it; then the error is its own lineage.';
comment on column recoup.error_archive.retry_with is 'The alternative that its last retry was to use, from the action fallback of a recovery candidate. Null: none.';
comment on column recoup.error_archive.parked_since is 'When it was first parked: its tiers count from here, also when it is parked again after a retry.';
comment on column recoup.error_archive.sla_due_at is 'Until when the owner of its tier has to review it.';
comment on column recoup.error_archive.sla_met_at is 'When it was first reviewed in this tier, if that was in time.';
comment on column recoup.error_archive.sla_breached_at is 'When it was found unreviewed after that time. Once per tier.';
CREATE INDEX error_archive_archived_at ON ONLY recoup.error_archive USING brin (archived_at) WITH (pages_per_range='32');
CREATE INDEX error_archive_failure ON ONLY recoup.error_archive USING btree (outreach_id, error_signature) WHERE outreach_id IS NOT NULL;
CREATE INDEX error_archive_work_key ON ONLY recoup.error_archive USING btree (work_key text_pattern_ops) WHERE work_key IS NOT NULL;
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.error_archive FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.error_archive enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.error_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.error_archive enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recoup.error_archive FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recoup.error_archive enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.error_archive FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.error_archive enable replica trigger a_refuse_replicated;
create policy hub on recoup.error_archive as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (error_table = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.error_archive is 'Rows of the hub that the transaction is limited to; 9501c3be8bb40570245573595de32eaa.';
create policy workers on recoup.error_archive as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.error_archive to recoup_reader;

create table recoup.error_archive_month (
  error_table text not null,
  month date not null,
  status text not null default 'KEPT'::text,
  made_at timestamp with time zone not null,
  dropped_at timestamp with time zone,
  rows bigint,
  digest bytea,
  constraint error_archive_month_pkey PRIMARY KEY (error_table, month),
  constraint error_archive_month_check CHECK ((status = 'DROPPED'::text) = (dropped_at IS NOT NULL) AND (status = 'DROPPED'::text) = (rows IS NOT NULL) AND (status = 'DROPPED'::text) = (digest IS NOT NULL)),
  constraint error_archive_month_dropped_at_check CHECK (isfinite(dropped_at)),
  constraint error_archive_month_made_at_check CHECK (isfinite(made_at)),
  constraint error_archive_month_month_check CHECK (isfinite(month) AND EXTRACT(day FROM month) = 1::numeric),
  constraint error_archive_month_rows_check CHECK (rows >= 0),
  constraint error_archive_month_status_check CHECK (status = ANY (ARRAY['KEPT'::text, 'DROPPED'::text]))
);
alter table recoup.error_archive_month enable row level security;
alter table recoup.error_archive_month force row level security;
comment on table recoup.error_archive_month is 'The months of the archives. Inserting a row creates its partition; DROPPED drops it, and keeps count and digest.';
comment on column recoup.error_archive_month.error_table is 'The error table whose archive it is.';
comment on column recoup.error_archive_month.month is 'First day of the month, in UTC.';
comment on column recoup.error_archive_month.status is 'KEPT or DROPPED.';
comment on column recoup.error_archive_month.made_at is 'When its partition was created.';
comment on column recoup.error_archive_month.dropped_at is 'When its partition was dropped.';
comment on column recoup.error_archive_month.rows is 'How many errors it had when it was dropped.';
comment on column recoup.error_archive_month.digest is 'SHA-256 over its errors, chained page by page in the order of their ids.';
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.error_archive_month REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_archive_month_births('recoup.error_archive_month');
alter table recoup.error_archive_month enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.error_archive_month REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.error_archive_month');
alter table recoup.error_archive_month enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.error_archive_month REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_archive_month_moves('recoup.error_archive_month');
alter table recoup.error_archive_month enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.error_archive_month FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error_archive_month');
alter table recoup.error_archive_month enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.error_archive_month FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.error_archive_month enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_archive_months_on_update AFTER UPDATE ON recoup.error_archive_month REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_archive_months();
alter table recoup.error_archive_month enable always trigger b_rule_archive_months_on_update;
CREATE TRIGGER c_content_error_archive_month_births_on_insert AFTER INSERT ON recoup.error_archive_month REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_error_archive_month_births();
alter table recoup.error_archive_month enable always trigger c_content_error_archive_month_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recoup.error_archive_month REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control();
alter table recoup.error_archive_month enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON recoup.error_archive_month REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('rows', 'digest');
alter table recoup.error_archive_month enable always trigger c_record_control_on_update;
CREATE TRIGGER d_settle_archive_months_on_insert AFTER INSERT ON recoup.error_archive_month REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.settle_archive_months();
alter table recoup.error_archive_month enable always trigger d_settle_archive_months_on_insert;
CREATE TRIGGER d_settle_archive_months_on_update AFTER UPDATE ON recoup.error_archive_month REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.settle_archive_months();
alter table recoup.error_archive_month enable always trigger d_settle_archive_months_on_update;
create policy hub on recoup.error_archive_month as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (error_table = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.error_archive_month is 'Rows of the hub that the transaction is limited to; 9501c3be8bb40570245573595de32eaa.';
create policy workers on recoup.error_archive_month as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (error_table, made_at, month), update (digest, dropped_at, rows, status) on table recoup.error_archive_month to recoup_archiver;
grant select on table recoup.error_archive_month to recoup_reader;

create view recoup.error_claim (
  seq bigint,
  logged_at timestamp with time zone,
  error_table text,
  error_id bigint,
  retry_count integer,
  token uuid,
  worker text,
  lease_until timestamp with time zone,
  actor text,
  actor_id text,
  authority text
) as -- query 349d09535d7ce24ec038697197c63390
comment on view recoup.error_claim is 'Every claim of an error, one row each; recoup.claim_log has them together.';
comment on column recoup.error_claim.seq is 'Order over all logs.';
comment on column recoup.error_claim.logged_at is 'When.';
comment on column recoup.error_claim.error_table is 'The error''s table …';
comment on column recoup.error_claim.error_id is '… and its id there.';
comment on column recoup.error_claim.retry_count is 'Retries that had ended before the claim.';
comment on column recoup.error_claim.token is 'Fencing token.';
comment on column recoup.error_claim.worker is 'The worker that claimed it.';
comment on column recoup.error_claim.lease_until is 'The end of the lease.';
comment on column recoup.error_claim.actor is 'system, ai or human.';
comment on column recoup.error_claim.actor_id is 'Who exactly.';
comment on column recoup.error_claim.authority is 'Database role that acted.';
grant select on table recoup.error_claim to recoup_reader;

create table recoup.error_event (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  error_table text not null,
  error_id bigint not null,
  event_type text not null,
  from_status text,
  to_status text,
  disposition text not null,
  retry_count integer not null,
  reason text,
  facts jsonb,
  actor text not null,
  actor_id text not null,
  authority text not null,
  token uuid,
  login text default SESSION_USER,
  form integer,
  digest bytea,
  constraint error_event_pkey PRIMARY KEY (seq),
  constraint error_event_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint error_event_event_type_check CHECK (event_type = ANY (ARRAY['RECORDED'::text, 'CLAIMED'::text, 'SUCCEEDED'::text, 'FAILED'::text, 'LAPSED'::text, 'WINDOW_CLOSED'::text, 'PARKED'::text, 'UNPARKED'::text, 'RESOLVED'::text, 'CLEARED'::text, 'ESCALATED'::text, 'ASSIGNED'::text, 'REVIEWED'::text, 'SLA_BREACHED'::text, 'SUPERSEDED'::text, 'EXPIRED'::text, 'RETIRED'::text, 'ARCHIVED'::text])),
  constraint error_event_logged_at_check CHECK (isfinite(logged_at))
);
alter table recoup.error_event enable row level security;
alter table recoup.error_event force row level security;
comment on table recoup.error_event is 'Append-only: every birth, move and exit of an error, written by the move''s recorder.';
comment on column recoup.error_event.seq is 'Order over all logs, drawn after the error is locked.';
comment on column recoup.error_event.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.error_event.incarnation is 'Cluster that wrote it.';
comment on column recoup.error_event.logged_at is 'When.';
comment on column recoup.error_event.error_table is 'The error''s table …';
comment on column recoup.error_event.error_id is '… and its id there.';
comment on column recoup.error_event.event_type is 'What happened.';
comment on column recoup.error_event.from_status is 'Status before; null at birth.';
comment on column recoup.error_event.to_status is 'Status after; ARCHIVED when it was moved to the archive.';
comment on column recoup.error_event.disposition is 'Disposition after.';
comment on column recoup.error_event.retry_count is 'Ended retries after.';
comment on column recoup.error_event.reason is 'Why: a park reason, the message of a failed retry, a person''s reason, an archive reason.';
comment on column recoup.error_event.facts is 'Further facts of the event.';
comment on column recoup.error_event.actor is 'system, ai or human.';
comment on column recoup.error_event.actor_id is 'Who exactly.';
comment on column recoup.error_event.authority is 'Database role that acted.';
comment on column recoup.error_event.token is 'Of a retry that ended: the token of its claim (recoup.claim_log).';
comment on column recoup.error_event.login is 'Login of the session; null in rows from before logins were stored.';
comment on column recoup.error_event.form is 'Of a RECORDED event: which columns the digest covers, by number.';
comment on column recoup.error_event.digest is 'Of a RECORDED event: digest of the values that the error was inserted with; null in older rows.';
CREATE INDEX error_event_breached ON recoup.error_event USING btree (logged_at) WHERE event_type = 'SLA_BREACHED'::text;
CREATE INDEX error_event_error ON recoup.error_event USING btree (error_id, seq);
CREATE INDEX error_event_expired_blocking ON recoup.error_event USING btree (logged_at) WHERE event_type = 'ARCHIVED'::text AND facts ? 'was_blocking'::text;
CREATE INDEX error_event_logged_at ON recoup.error_event USING brin (logged_at) WITH (pages_per_range='32');
CREATE INDEX error_event_unparked ON recoup.error_event USING btree (logged_at) WHERE event_type = 'UNPARKED'::text;
CREATE INDEX error_event_xid ON recoup.error_event USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.error_event FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.error_event enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.error_event FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.error_event enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recoup.error_event FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recoup.error_event enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.error_event FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.error_event enable replica trigger a_refuse_replicated;
create policy hub on recoup.error_event as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (error_table = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.error_event is 'Rows of the hub that the transaction is limited to; 9501c3be8bb40570245573595de32eaa.';
create policy workers on recoup.error_event as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.error_event to recoup_reader;

create table recoup.error_queue (
  unit bigint not null,
  part text not null default ''::text,
  round integer not null default 0,
  wake_at timestamp with time zone not null,
  until timestamp with time zone,
  token uuid,
  worker text,
  claimed_at timestamp with time zone,
  category text not null,
  max_retries integer not null,
  constraint error_queue_pkey PRIMARY KEY (unit),
  constraint queue_claim CHECK ((token IS NULL) = (worker IS NULL) AND (token IS NULL) = (claimed_at IS NULL)),
  constraint queue_form_claimed_at_check CHECK (isfinite(claimed_at)),
  constraint queue_form_round_check CHECK (round >= 0),
  constraint queue_form_until_check CHECK (isfinite(until)),
  constraint queue_form_wake_at_check CHECK (isfinite(wake_at)),
  constraint queue_form_worker_check CHECK (octet_length(worker) >= 1 AND octet_length(worker) <= 500)
) with (fillfactor=70);
alter table recoup.error_queue enable row level security;
alter table recoup.error_queue force row level security;
comment on table recoup.error_queue is 'Errors to retry: when each is due, or which worker has claimed it until when.';
comment on column recoup.error_queue.unit is 'The error''s id; part is its table, round the retries that have ended.';
comment on column recoup.error_queue.part is 'Where the unit is, of a subject in several tables.';
comment on column recoup.error_queue.round is 'Attempts that have ended.';
comment on column recoup.error_queue.wake_at is 'When it is due; while it is claimed, the end of the lease.';
comment on column recoup.error_queue.until is 'Not claimed after this time; null: always.';
comment on column recoup.error_queue.token is 'Fencing token of the claim that holds it; null: none does.';
comment on column recoup.error_queue.worker is 'Who holds it.';
comment on column recoup.error_queue.claimed_at is 'Since when.';
comment on column recoup.error_queue.category is 'The error''s category: how long it waits for its next retry.';
comment on column recoup.error_queue.max_retries is 'The error''s max_retries.';
CREATE INDEX error_queue_until_idx ON recoup.error_queue USING btree (until) WHERE token IS NULL AND until IS NOT NULL;
CREATE INDEX error_queue_wake_at_idx ON recoup.error_queue USING btree (wake_at) WHERE token IS NULL;
CREATE INDEX error_queue_wake_at_idx1 ON recoup.error_queue USING btree (wake_at) WHERE token IS NOT NULL;
CREATE TRIGGER a_guard_claims AFTER UPDATE ON recoup.error_queue REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_claims('recoup.error', '24 hours', 'hub', 'error_worker');
alter table recoup.error_queue enable always trigger a_guard_claims;
CREATE TRIGGER a_guard_queue BEFORE INSERT OR DELETE OR TRUNCATE ON recoup.error_queue FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_queue();
alter table recoup.error_queue enable always trigger a_guard_queue;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.error_queue FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.error_queue enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_claims AFTER UPDATE ON recoup.error_queue REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_claims('recoup.error');
alter table recoup.error_queue enable always trigger c_record_claims;
create policy hub on recoup.error_queue as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (part = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.error_queue is 'Rows of the hub that the transaction is limited to; d50db489bbd1a3ae06c014cfc972bfd9.';
create policy workers on recoup.error_queue as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.error_queue to recoup_reader;
grant update (claimed_at, token, wake_at, worker) on table recoup.error_queue to recoup_error_worker;
grant update (claimed_at, token, wake_at, worker) on table recoup.error_queue to recoup_hub;
grant update (wake_at) on table recoup.error_queue to recoup_archiver;
grant update (wake_at) on table recoup.error_queue to recoup_operator;

create table recoup.error_redaction (
  redaction_id bigint not null generated always as identity,
  error_table text not null,
  error_id bigint not null,
  status text not null default 'DONE'::text,
  error_message text,
  payload jsonb,
  last_failure text,
  digest bytea not null,
  redacted_at timestamp with time zone not null,
  constraint error_redaction_pkey PRIMARY KEY (redaction_id),
  constraint error_redaction_redacted_at_check CHECK (isfinite(redacted_at)),
  constraint error_redaction_status_check CHECK (status = 'DONE'::text)
);
alter table recoup.error_redaction enable row level security;
alter table recoup.error_redaction force row level security;
comment on table recoup.error_redaction is 'Secrets erased from errors after they were recorded. Inserting a row erases; the control log has actor and reason.';
comment on column recoup.error_redaction.redaction_id is 'Identity.';
comment on column recoup.error_redaction.error_table is 'The error''s table …';
comment on column recoup.error_redaction.error_id is '… and its id there.';
comment on column recoup.error_redaction.status is 'DONE.';
comment on column recoup.error_redaction.error_message is 'The new message, with [redacted] in place of the secret. Not stored here: the error has it.';
comment on column recoup.error_redaction.payload is 'The new payload. Not stored here.';
comment on column recoup.error_redaction.last_failure is 'The new message of the last failed retry. Not stored here.';
comment on column recoup.error_redaction.digest is 'SHA-256 of the three (recoup.redaction_digest).';
comment on column recoup.error_redaction.redacted_at is 'When.';
CREATE INDEX error_redaction_error ON recoup.error_redaction USING btree (error_id);
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.error_redaction REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_redaction_births('recoup.error_redaction');
alter table recoup.error_redaction enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.error_redaction REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.error_redaction');
alter table recoup.error_redaction enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.error_redaction REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_error_redaction_moves('recoup.error_redaction');
alter table recoup.error_redaction enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.error_redaction FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.error_redaction');
alter table recoup.error_redaction enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.error_redaction FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.error_redaction enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_error_redactions_on_insert AFTER INSERT ON recoup.error_redaction REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_error_redactions();
alter table recoup.error_redaction enable always trigger b_rule_error_redactions_on_insert;
CREATE TRIGGER c_content_error_redaction_births_on_insert AFTER INSERT ON recoup.error_redaction REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_error_redaction_births();
alter table recoup.error_redaction enable always trigger c_content_error_redaction_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recoup.error_redaction REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('error_table', 'error_id', 'digest');
alter table recoup.error_redaction enable always trigger c_record_control_on_insert;
CREATE TRIGGER d_settle_error_redactions_on_insert AFTER INSERT ON recoup.error_redaction REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.settle_error_redactions();
alter table recoup.error_redaction enable always trigger d_settle_error_redactions_on_insert;
create policy hub on recoup.error_redaction as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (error_table = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.error_redaction is 'Rows of the hub that the transaction is limited to; 9501c3be8bb40570245573595de32eaa.';
create policy workers on recoup.error_redaction as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (digest, error_id, error_message, error_table, last_failure, payload, redacted_at), update (error_message, last_failure, payload) on table recoup.error_redaction to recoup_operator;
grant select on table recoup.error_redaction to recoup_reader;

create view recoup.error_story (
  seq bigint,
  logged_at timestamp with time zone,
  error_table text,
  error_id bigint,
  event_type text,
  from_status text,
  to_status text,
  disposition text,
  retry_count integer,
  reason text,
  facts jsonb,
  token uuid,
  actor text,
  actor_id text,
  authority text
) as -- query b91c9f3e5ab8d35049576f210bba1044
comment on view recoup.error_story is 'The history of errors: their events, and their claims as CLAIMED.';
comment on column recoup.error_story.seq is 'Order over all logs.';
comment on column recoup.error_story.logged_at is 'When.';
comment on column recoup.error_story.error_table is 'The error''s table …';
comment on column recoup.error_story.error_id is '… and its id there.';
comment on column recoup.error_story.event_type is 'What happened.';
comment on column recoup.error_story.from_status is 'Status before; null at birth.';
comment on column recoup.error_story.to_status is 'Status after.';
comment on column recoup.error_story.disposition is 'Disposition after.';
comment on column recoup.error_story.retry_count is 'Ended retries after.';
comment on column recoup.error_story.reason is 'Why; of a claim, the worker.';
comment on column recoup.error_story.facts is 'Further facts of the event.';
comment on column recoup.error_story.token is 'Of a claim, and of the retry that was claimed.';
comment on column recoup.error_story.actor is 'system, ai or human.';
comment on column recoup.error_story.actor_id is 'Who exactly.';
comment on column recoup.error_story.authority is 'Database role that acted.';
grant select on table recoup.error_story to recoup_reader;

create table recoup.error_tally (
  slot timestamp with time zone not null,
  error_table text not null,
  flags integer not null,
  events bigint not null,
  last_at timestamp with time zone not null,
  constraint error_tally_pkey PRIMARY KEY (slot, error_table, flags),
  constraint error_tally_events_check CHECK (events > 0),
  constraint error_tally_last_at_check CHECK (isfinite(last_at)),
  constraint error_tally_slot_check CHECK (isfinite(slot))
);
alter table recoup.error_tally enable row level security;
alter table recoup.error_tally force row level security;
comment on table recoup.error_tally is 'How many events of errors there were in each five minutes of the last day, by table and by what metrics count.';
comment on column recoup.error_tally.slot is 'Beginning of the five minutes.';
comment on column recoup.error_tally.error_table is 'The table.';
comment on column recoup.error_tally.flags is 'What metrics count of the event, as recoup.event_flags has it.';
comment on column recoup.error_tally.events is 'How many of them were counted.';
comment on column recoup.error_tally.last_at is 'When the last of them happened.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.error_tally FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.error_tally enable replica trigger a_refuse_replicated;
create policy hub on recoup.error_tally as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (error_table = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.error_tally is 'Rows of the hub that the transaction is limited to; 9501c3be8bb40570245573595de32eaa.';
create policy workers on recoup.error_tally as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant delete, insert, update (events, last_at) on table recoup.error_tally to recoup_error_worker;
grant select on table recoup.error_tally to recoup_reader;

create table recoup.error_tally_mark (
  one boolean not null default true,
  incarnation integer,
  counted_before xid8,
  since timestamp with time zone,
  counted_at timestamp with time zone,
  constraint error_tally_mark_pkey PRIMARY KEY (one),
  constraint error_tally_mark_counted_at_check CHECK (isfinite(counted_at)),
  constraint error_tally_mark_one_check CHECK (one),
  constraint error_tally_mark_since_check CHECK (isfinite(since)),
  constraint error_tally_mark_whole CHECK (num_nonnulls(incarnation, counted_before, since, counted_at) = ANY (ARRAY[0, 4]))
);
comment on table recoup.error_tally_mark is 'One row: which events are counted in recoup.error_tally. Metrics read the others one by one.';
comment on column recoup.error_tally_mark.one is 'There is one row.';
comment on column recoup.error_tally_mark.incarnation is 'Cluster that counted; null: nothing is counted.';
comment on column recoup.error_tally_mark.counted_before is 'Events of transactions before this one are counted, and all of earlier clusters; others are not.';
comment on column recoup.error_tally_mark.since is 'Slots from this one on are complete; earlier ones were removed.';
comment on column recoup.error_tally_mark.counted_at is 'When events were counted last.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.error_tally_mark FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.error_tally_mark enable replica trigger a_refuse_replicated;
grant select on table recoup.error_tally_mark to recoup_reader;
grant update (counted_at, counted_before, incarnation, since) on table recoup.error_tally_mark to recoup_error_worker;

create table recoup.follower (
  domain text not null,
  subject text not null,
  event text not null,
  place text not null,
  function text not null,
  arguments text[] not null,
  constraint follower_pkey PRIMARY KEY (subject, event, function),
  constraint follower_domain_fkey FOREIGN KEY (domain) REFERENCES recoup.domain(name),
  constraint follower_subject_fkey FOREIGN KEY (subject) REFERENCES recoup.lifecycle(subject) DEFERRABLE,
  constraint follower_event_check CHECK (event = ANY (ARRAY['insert'::text, 'update'::text, 'delete'::text])),
  constraint follower_place_check CHECK (place = ANY (ARRAY['b'::text, 'c'::text, 'd'::text]))
);
comment on table recoup.follower is 'What runs after the guard of each table: rules, recorders, consequences. The triggers are made from these rows.';
comment on column recoup.follower.domain is 'The domain that declares it.';
comment on column recoup.follower.subject is 'The guarded table.';
comment on column recoup.follower.event is 'After which statements it runs.';
comment on column recoup.follower.place is 'b: a rule; c: a recorder; d: a consequence. In this order.';
comment on column recoup.follower.function is 'Schema and name of the function.';
comment on column recoup.follower.arguments is 'Arguments of its trigger.';
CREATE TRIGGER a_only_migrations BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON recoup.follower FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_migrations();
alter table recoup.follower enable always trigger a_only_migrations;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.follower FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.follower enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_declared_on_delete AFTER DELETE ON recoup.follower REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.follower enable always trigger c_record_declared_on_delete;
CREATE TRIGGER c_record_declared_on_insert AFTER INSERT ON recoup.follower REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.follower enable always trigger c_record_declared_on_insert;
CREATE TRIGGER c_record_declared_on_update AFTER UPDATE ON recoup.follower REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.follower enable always trigger c_record_declared_on_update;
grant select on table recoup.follower to recoup_reader;

create table recoup.idempotency (
  slot smallint not null,
  principal text not null,
  key text not null,
  method text not null,
  path text not null,
  digest bytea not null,
  created_at timestamp with time zone not null default recoup.now(),
  status smallint,
  answer text,
  about text,
  constraint idempotency_pkey PRIMARY KEY (principal, key, slot),
  constraint idempotency_about_check CHECK (octet_length(about) <= 200),
  constraint idempotency_answer_check CHECK (octet_length(answer) <= 1000000),
  constraint idempotency_created_at_check CHECK (isfinite(created_at)),
  constraint idempotency_digest_check CHECK (octet_length(digest) = 32),
  constraint idempotency_key_check CHECK (octet_length(key) >= 1 AND octet_length(key) <= 255),
  constraint idempotency_method_check CHECK (octet_length(method) >= 1 AND octet_length(method) <= 10),
  constraint idempotency_path_check CHECK (octet_length(path) >= 1 AND octet_length(path) <= 2000),
  constraint idempotency_principal_check CHECK (octet_length(principal) >= 1 AND octet_length(principal) <= 200),
  constraint idempotency_status_check CHECK (status >= 200 AND status <= 499)
) partition by LIST (slot);
alter table recoup.idempotency enable row level security;
comment on table recoup.idempotency is 'Requests with an idempotency key and what they were answered, for a day: the same request gets the same answer.';
comment on column recoup.idempotency.slot is 'The day, modulo four.';
comment on column recoup.idempotency.principal is 'Who sent it: role and name.';
comment on column recoup.idempotency.key is 'The key, as it was sent.';
comment on column recoup.idempotency.method is 'The method of the request.';
comment on column recoup.idempotency.path is 'Its path.';
comment on column recoup.idempotency.digest is 'SHA-256 of its body.';
comment on column recoup.idempotency.created_at is 'When it was received.';
comment on column recoup.idempotency.status is 'What it was answered with.';
comment on column recoup.idempotency.answer is 'The body of the answer; null: it has a secret, or is too long.';
comment on column recoup.idempotency.about is 'The id of what it made, for an answer that is not kept.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.idempotency FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.idempotency enable replica trigger a_refuse_replicated;
create policy hub on recoup.idempotency as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.idempotency is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.idempotency as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select (about, created_at, digest, key, method, path, principal, slot, status) on table recoup.idempotency to recoup_reader;

create table recoup.idempotency_0 (
) partition of recoup.idempotency FOR VALUES IN ('0');
alter table recoup.idempotency_0 enable row level security;
comment on table recoup.idempotency_0 is 'Every fourth day.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.idempotency_0 FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.idempotency_0 enable replica trigger a_refuse_replicated;
create policy hub on recoup.idempotency_0 as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.idempotency_0 is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.idempotency_0 as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);

create table recoup.idempotency_1 (
) partition of recoup.idempotency FOR VALUES IN ('1');
alter table recoup.idempotency_1 enable row level security;
comment on table recoup.idempotency_1 is 'Every fourth day.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.idempotency_1 FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.idempotency_1 enable replica trigger a_refuse_replicated;
create policy hub on recoup.idempotency_1 as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.idempotency_1 is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.idempotency_1 as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);

create table recoup.idempotency_2 (
) partition of recoup.idempotency FOR VALUES IN ('2');
alter table recoup.idempotency_2 enable row level security;
comment on table recoup.idempotency_2 is 'Every fourth day.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.idempotency_2 FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.idempotency_2 enable replica trigger a_refuse_replicated;
create policy hub on recoup.idempotency_2 as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.idempotency_2 is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.idempotency_2 as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);

create table recoup.idempotency_3 (
) partition of recoup.idempotency FOR VALUES IN ('3');
alter table recoup.idempotency_3 enable row level security;
comment on table recoup.idempotency_3 is 'Every fourth day.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.idempotency_3 FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.idempotency_3 enable replica trigger a_refuse_replicated;
create policy hub on recoup.idempotency_3 as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.idempotency_3 is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.idempotency_3 as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);

create table recoup.incarnation (
  incarnation integer not null,
  system_identifier bigint not null,
  began_at timestamp with time zone not null,
  constraint incarnation_pkey PRIMARY KEY (incarnation),
  constraint incarnation_incarnation_check CHECK (incarnation > 0)
);
comment on table recoup.incarnation is 'Which cluster wrote a log row. Transaction ids compare only within one incarnation: a restored database continues under lower ones.';
comment on column recoup.incarnation.incarnation is 'Number carried by log rows and cursors. The highest is the current one.';
comment on column recoup.incarnation.system_identifier is 'Identity of the cluster, from pg_control_system().';
comment on column recoup.incarnation.began_at is 'Server time when this incarnation was first seen.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.incarnation FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.incarnation enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.incarnation FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.incarnation enable always trigger a_append_only_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.incarnation FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.incarnation enable replica trigger a_refuse_replicated;
grant select on table recoup.incarnation to recoup_reader;

create table recoup.late_result (
  late_result_id bigint not null generated always as identity,
  subject text not null,
  unit_id text not null,
  token uuid not null,
  result jsonb not null,
  received_at timestamp with time zone not null default recoup.now(),
  actor_id text not null default recoup.acting_id(),
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null default recoup.present_incarnation(),
  login text default SESSION_USER,
  constraint late_result_pkey PRIMARY KEY (late_result_id),
  constraint late_result_seq_key UNIQUE (seq)
);
alter table recoup.late_result enable row level security;
comment on table recoup.late_result is 'Append-only: results that arrived after the lease had expired or the work had ended. Stored, not applied.';
comment on column recoup.late_result.late_result_id is 'Identity.';
comment on column recoup.late_result.subject is 'Table of the unit of work.';
comment on column recoup.late_result.unit_id is 'The unit of work: its id, or table and id.';
comment on column recoup.late_result.token is 'The token under which the result was reported.';
comment on column recoup.late_result.result is 'What was reported.';
comment on column recoup.late_result.received_at is 'When.';
comment on column recoup.late_result.actor_id is 'Who reported it.';
comment on column recoup.late_result.seq is 'Order over all logs.';
comment on column recoup.late_result.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.late_result.incarnation is 'Cluster that wrote it.';
comment on column recoup.late_result.login is 'Login of the session; null in rows from before logins were stored.';
CREATE INDEX late_result_unit ON recoup.late_result USING btree (subject, unit_id);
CREATE INDEX late_result_xid ON recoup.late_result USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.late_result FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.late_result enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.late_result FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.late_result enable always trigger a_append_only_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.late_result FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.late_result enable replica trigger a_refuse_replicated;
create policy hub on recoup.late_result as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.late_result is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.late_result as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_control_plane;
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_error_worker;
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_evaluator;
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_executor;
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_extractor;
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_gate;
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_hub;
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_runner;
grant insert (result, subject, token, unit_id) on table recoup.late_result to recoup_validator;
grant select on table recoup.late_result to recoup_reader;

create table recoup.lifecycle (
  subject text not null,
  key text[] not null,
  status_column text not null,
  counter text,
  frozen text[] not null,
  once text[] not null,
  rising text[] not null,
  domain text not null,
  move_rule jsonb,
  queue jsonb,
  content integer not null default 0,
  constraint lifecycle_pkey PRIMARY KEY (subject),
  constraint lifecycle_domain_fkey FOREIGN KEY (domain) REFERENCES recoup.domain(name)
);
comment on table recoup.lifecycle is 'One row per guarded table. `recoup migrate` writes it from the declaration; guards are generated from it.';
comment on column recoup.lifecycle.subject is 'Schema and name of the guarded table.';
comment on column recoup.lifecycle.key is 'Columns that identify a row. They never change.';
comment on column recoup.lifecycle.status_column is 'The column with the status of a row.';
comment on column recoup.lifecycle.counter is 'Column that a counting move increases by exactly one.';
comment on column recoup.lifecycle.frozen is 'Columns that never change after birth.';
comment on column recoup.lifecycle.once is 'Columns that change once, from null to a value.';
comment on column recoup.lifecycle.rising is 'Columns that never decrease.';
comment on column recoup.lifecycle.domain is 'The domain that declares it.';
comment on column recoup.lifecycle.move_rule is 'Functions that check a move by its old and new row: broken, refusal, policy, gathers, then; null: none.';
comment on column recoup.lifecycle.queue is 'The queue in which its rows wait for work, and how they are claimed and ended; null: none.';
comment on column recoup.lifecycle.content is 'Number of the list of columns that digests of its rows cover now: the frozen ones; 0: no digests.';
CREATE TRIGGER a_only_migrations BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON recoup.lifecycle FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_migrations();
alter table recoup.lifecycle enable always trigger a_only_migrations;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.lifecycle FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.lifecycle enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_declared_on_delete AFTER DELETE ON recoup.lifecycle REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.lifecycle enable always trigger c_record_declared_on_delete;
CREATE TRIGGER c_record_declared_on_insert AFTER INSERT ON recoup.lifecycle REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.lifecycle enable always trigger c_record_declared_on_insert;
CREATE TRIGGER c_record_declared_on_update AFTER UPDATE ON recoup.lifecycle REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.lifecycle enable always trigger c_record_declared_on_update;
grant select on table recoup.lifecycle to recoup_reader;

create table recoup.lifecycle_step (
  subject text not null,
  kind text not null,
  from_status text,
  to_status text,
  authority text not null,
  counts boolean not null,
  requires text[] not null,
  through text[] not null,
  says text not null,
  domain text not null,
  constraint lifecycle_step_subject_kind_from_status_to_status_authority_key UNIQUE NULLS NOT DISTINCT (subject, kind, from_status, to_status, authority),
  constraint lifecycle_step_domain_fkey FOREIGN KEY (domain) REFERENCES recoup.domain(name),
  constraint lifecycle_step_subject_fkey FOREIGN KEY (subject) REFERENCES recoup.lifecycle(subject) DEFERRABLE,
  constraint lifecycle_step_check CHECK ((kind = 'birth'::text) = (from_status IS NULL)),
  constraint lifecycle_step_check1 CHECK ((kind = 'exit'::text) = (to_status IS NULL)),
  constraint lifecycle_step_kind_check CHECK (kind = ANY (ARRAY['birth'::text, 'move'::text, 'exit'::text]))
);
comment on table recoup.lifecycle_step is 'Every listed birth, move and exit. What is not listed is refused.';
comment on column recoup.lifecycle_step.subject is 'The guarded table.';
comment on column recoup.lifecycle_step.kind is 'birth (insert), move (update, a self-move included) or exit (delete).';
comment on column recoup.lifecycle_step.from_status is 'Status before; null for a birth.';
comment on column recoup.lifecycle_step.to_status is 'Status after; null for an exit.';
comment on column recoup.lifecycle_step.authority is 'Who may: the database role recoup_<authority>.';
comment on column recoup.lifecycle_step.counts is 'Whether the move must increase the lifecycle''s counter by exactly one.';
comment on column recoup.lifecycle_step.requires is 'Columns that must not be null in an inserted row.';
comment on column recoup.lifecycle_step.through is 'Via: the functions that make this step as their consequence; empty: every role with the authority may make it.';
comment on column recoup.lifecycle_step.says is 'Description of the step.';
comment on column recoup.lifecycle_step.domain is 'The domain that declares it.';
CREATE TRIGGER a_only_migrations BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON recoup.lifecycle_step FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_migrations();
alter table recoup.lifecycle_step enable always trigger a_only_migrations;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.lifecycle_step FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.lifecycle_step enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_declared_on_delete AFTER DELETE ON recoup.lifecycle_step REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.lifecycle_step enable always trigger c_record_declared_on_delete;
CREATE TRIGGER c_record_declared_on_insert AFTER INSERT ON recoup.lifecycle_step REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.lifecycle_step enable always trigger c_record_declared_on_insert;
CREATE TRIGGER c_record_declared_on_update AFTER UPDATE ON recoup.lifecycle_step REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.lifecycle_step enable always trigger c_record_declared_on_update;
grant select on table recoup.lifecycle_step to recoup_reader;

create table recoup.log (
  domain text not null,
  log text not null,
  at text not null,
  canon integer not null,
  recorders text[] not null,
  keeper text,
  constraint log_pkey PRIMARY KEY (log),
  constraint log_domain_fkey FOREIGN KEY (domain) REFERENCES recoup.domain(name),
  constraint log_canon_check CHECK (canon >= 0)
);
comment on table recoup.log is 'Every append-only table: which functions write it, and how its rows are sealed.';
comment on column recoup.log.domain is 'The domain that declares it.';
comment on column recoup.log.log is 'Schema and name of the table.';
comment on column recoup.log.at is 'The column with the time of the event.';
comment on column recoup.log.canon is 'Newest version of its canonical text (recoup.canon_<name>_<version>); 0: it is not sealed.';
comment on column recoup.log.recorders is 'The only functions that may write it; empty: see keeper.';
comment on column recoup.log.keeper is 'The trigger function that checks every insert; null: every role with the right may write.';
CREATE TRIGGER a_only_migrations BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON recoup.log FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_migrations();
alter table recoup.log enable always trigger a_only_migrations;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.log enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_declared_on_delete AFTER DELETE ON recoup.log REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.log enable always trigger c_record_declared_on_delete;
CREATE TRIGGER c_record_declared_on_insert AFTER INSERT ON recoup.log REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.log enable always trigger c_record_declared_on_insert;
CREATE TRIGGER c_record_declared_on_update AFTER UPDATE ON recoup.log REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.log enable always trigger c_record_declared_on_update;
grant select on table recoup.log to recoup_reader;

create table recoup.migration (
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null,
  applied_by text not null,
  recoup_version text not null,
  constraint migration_pkey PRIMARY KEY (name)
);
comment on table recoup.migration is 'Migrations applied. A file that changed since is refused.';
comment on column recoup.migration.name is 'Name of the file.';
comment on column recoup.migration.checksum is 'SHA-256 of its text, as applied.';
comment on column recoup.migration.applied_at is 'When, by the server''s clock.';
comment on column recoup.migration.applied_by is 'The login that applied it.';
comment on column recoup.migration.recoup_version is 'The program that applied it.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.migration FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.migration enable replica trigger a_refuse_replicated;
grant select on table recoup.migration to recoup_reader;

create table recoup.operation (
  operation_id uuid not null default recoup.new_id(),
  verb text not null,
  arguments jsonb not null,
  filter jsonb not null,
  items integer not null,
  status text not null default 'OPEN'::text,
  requested_at timestamp with time zone not null,
  requested_by text not null,
  done_at timestamp with time zone,
  subject text not null,
  digest bytea not null,
  canary jsonb,
  step integer,
  step_start integer,
  step_end integer,
  next_at timestamp with time zone,
  watch_until timestamp with time zone,
  why text,
  continued_as jsonb,
  taken_up_at timestamp with time zone,
  constraint operation_pkey PRIMARY KEY (operation_id),
  constraint operation_check CHECK ((status = ANY (ARRAY['DONE'::text, 'CANCELLED'::text])) = (done_at IS NOT NULL)),
  constraint operation_continued CHECK ((continued_as IS NULL OR canary IS NULL) AND (taken_up_at IS NULL OR continued_as IS NOT NULL)),
  constraint operation_done_at_check CHECK (isfinite(done_at)),
  constraint operation_items_check CHECK (items >= 0),
  constraint operation_next_at_check CHECK (isfinite(next_at)),
  constraint operation_requested_at_check CHECK (isfinite(requested_at)),
  constraint operation_status_check CHECK (status = ANY (ARRAY['OPEN'::text, 'PAUSED'::text, 'STOPPED'::text, 'CANCELLED'::text, 'DONE'::text])),
  constraint operation_steps CHECK (
CASE
    WHEN canary IS NULL THEN num_nonnulls(step, step_start, step_end, next_at, watch_until) = 0 AND (status <> ALL (ARRAY['PAUSED'::text, 'STOPPED'::text]))
    ELSE num_nulls(step, step_start, step_end, next_at) = 0 AND step >= 1 AND step_start >= 0 AND step_end > step_start AND step_end <= items
END),
  constraint operation_taken_up_at_check CHECK (isfinite(taken_up_at)),
  constraint operation_verb_check CHECK (verb ~ '^[a-z][a-z-]*$'::text),
  constraint operation_watch_until_check CHECK (isfinite(watch_until))
);
alter table recoup.operation enable row level security;
comment on table recoup.operation is 'One decision of an operator over many rows of a domain. Its set of rows is fixed when it begins.';
comment on column recoup.operation.operation_id is 'Unique identifier.';
comment on column recoup.operation.verb is 'What is done to each row.';
comment on column recoup.operation.arguments is 'The verb''s arguments.';
comment on column recoup.operation.filter is 'The filter that selected the rows.';
comment on column recoup.operation.items is 'The number of rows.';
comment on column recoup.operation.status is 'OPEN: some items have no result. PAUSED: outcomes of a step did not come. STOPPED: too many of a step failed. CANCELLED: a person ended it; the rest is as it was. DONE: each item has its result.';
comment on column recoup.operation.requested_at is 'When it began.';
comment on column recoup.operation.requested_by is 'Who began it.';
comment on column recoup.operation.done_at is 'When the last item had its result, or it was cancelled.';
comment on column recoup.operation.subject is 'The guarded table of the rows.';
comment on column recoup.operation.digest is 'SHA-256 over the units in their order, each with a line break.';
comment on column recoup.operation.canary is 'How it goes in steps: size of the first, growth, failed share that stops it, rate, how long outcomes are waited for, as the policy had them; and the kind of actor and the authority that it acts for. Null: all at once.';
comment on column recoup.operation.step is 'The number of the step.';
comment on column recoup.operation.step_start is 'The last place before the step.';
comment on column recoup.operation.step_end is 'The last place of the step. Items beyond it stay as they are.';
comment on column recoup.operation.next_at is 'When the next item may go, at its rate.';
comment on column recoup.operation.watch_until is 'How long outcomes of the step are waited for. Null: not all of its items have a result.';
comment on column recoup.operation.why is 'Why it is in this status, or in this step.';
comment on column recoup.operation.continued_as is 'The kind of actor and the authority that a worker acts for if the process dies that works on it. Null: none does.';
comment on column recoup.operation.taken_up_at is 'When a worker took it up, because nobody worked on it any more. From then on workers continue it.';
CREATE INDEX operation_open ON recoup.operation USING btree (requested_at) WHERE status = 'OPEN'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.operation REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_operation_births('recoup.operation');
alter table recoup.operation enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.operation REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.operation');
alter table recoup.operation enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.operation REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_operation_moves('recoup.operation');
alter table recoup.operation enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.operation FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.operation');
alter table recoup.operation enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.operation FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.operation enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_operation_births_on_insert AFTER INSERT ON recoup.operation REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_operation_births();
alter table recoup.operation enable always trigger b_rule_operation_births_on_insert;
CREATE TRIGGER b_rule_operation_moves_on_update AFTER UPDATE ON recoup.operation REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_operation_moves();
alter table recoup.operation enable always trigger b_rule_operation_moves_on_update;
CREATE TRIGGER c_content_operation_births_on_insert AFTER INSERT ON recoup.operation REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_operation_births();
alter table recoup.operation enable always trigger c_content_operation_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recoup.operation REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('verb', 'filter', 'arguments', 'items', 'step', 'step_start', 'step_end', 'watch_until', 'why');
alter table recoup.operation enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON recoup.operation REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('done_at', 'step', 'step_start', 'step_end', 'watch_until', 'why', 'taken_up_at');
alter table recoup.operation enable always trigger c_record_control_on_update;
create policy hub on recoup.operation as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.operation is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.operation as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (arguments, canary, continued_as, digest, filter, items, next_at, operation_id, requested_at, requested_by, step, step_end, step_start, subject, verb, why), update (done_at, next_at, status, step, step_end, step_start, taken_up_at, watch_until, why) on table recoup.operation to recoup_operator;
grant select on table recoup.operation to recoup_reader;

create table recoup.operation_item (
  operation_id uuid not null,
  place integer not null,
  status text not null default 'PENDING'::text,
  refusal text,
  ended_at timestamp with time zone,
  unit text not null,
  constraint operation_item_pkey PRIMARY KEY (operation_id, place),
  constraint operation_item_operation_id_unit_key UNIQUE (operation_id, unit),
  constraint operation_item_operation_id_fkey FOREIGN KEY (operation_id) REFERENCES recoup.operation(operation_id),
  constraint operation_item_check CHECK ((status = 'REFUSED'::text) = (refusal IS NOT NULL)),
  constraint operation_item_check1 CHECK ((status = 'PENDING'::text) = (ended_at IS NULL)),
  constraint operation_item_ended_at_check CHECK (isfinite(ended_at)),
  constraint operation_item_place_check CHECK (place > 0),
  constraint operation_item_status_check CHECK (status = ANY (ARRAY['PENDING'::text, 'DONE'::text, 'REFUSED'::text]))
) with (fillfactor=85);
alter table recoup.operation_item enable row level security;
comment on table recoup.operation_item is 'One row of a bulk operation, and its result.';
comment on column recoup.operation_item.operation_id is 'The operation.';
comment on column recoup.operation_item.place is 'Its place in it.';
comment on column recoup.operation_item.status is 'PENDING, DONE or REFUSED.';
comment on column recoup.operation_item.refusal is 'Why it was refused.';
comment on column recoup.operation_item.ended_at is 'When.';
comment on column recoup.operation_item.unit is 'The row: id, or table and id.';
CREATE INDEX operation_item_pending ON recoup.operation_item USING btree (operation_id, place) WHERE status = 'PENDING'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.operation_item REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_operation_item_births('recoup.operation_item');
alter table recoup.operation_item enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.operation_item REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.operation_item');
alter table recoup.operation_item enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.operation_item REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_operation_item_moves('recoup.operation_item');
alter table recoup.operation_item enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.operation_item FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.operation_item');
alter table recoup.operation_item enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.operation_item FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.operation_item enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_operation_items_on_insert AFTER INSERT ON recoup.operation_item REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_operation_items();
alter table recoup.operation_item enable always trigger b_rule_operation_items_on_insert;
CREATE TRIGGER b_rule_operation_results_on_update AFTER UPDATE ON recoup.operation_item REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_operation_results();
alter table recoup.operation_item enable always trigger b_rule_operation_results_on_update;
CREATE TRIGGER c_content_operation_item_births_on_insert AFTER INSERT ON recoup.operation_item REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_operation_item_births();
alter table recoup.operation_item enable always trigger c_content_operation_item_births_on_insert;
create policy hub on recoup.operation_item as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.operation_item is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.operation_item as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (operation_id, place, unit), update (ended_at, refusal, status) on table recoup.operation_item to recoup_operator;
grant select on table recoup.operation_item to recoup_reader;

create table recoup.pausable (
  domain text not null,
  scope text not null,
  name text,
  names text,
  constraint pausable_scope_name_names_key UNIQUE NULLS NOT DISTINCT (scope, name, names),
  constraint pausable_domain_fkey FOREIGN KEY (domain) REFERENCES recoup.domain(name),
  constraint pausable_check CHECK (num_nonnulls(name, names) = 1)
);
comment on table recoup.pausable is 'What can be paused: by name, or by a query that finds the names.';
comment on column recoup.pausable.domain is 'The domain that declares it.';
comment on column recoup.pausable.scope is 'Its kind: global, duty, table, and those that domains declare.';
comment on column recoup.pausable.name is 'Its name.';
comment on column recoup.pausable.names is 'A query for the names, where they are rows.';
CREATE TRIGGER a_only_migrations BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON recoup.pausable FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_migrations();
alter table recoup.pausable enable always trigger a_only_migrations;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.pausable FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.pausable enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_declared_on_delete AFTER DELETE ON recoup.pausable REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.pausable enable always trigger c_record_declared_on_delete;
CREATE TRIGGER c_record_declared_on_insert AFTER INSERT ON recoup.pausable REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.pausable enable always trigger c_record_declared_on_insert;
CREATE TRIGGER c_record_declared_on_update AFTER UPDATE ON recoup.pausable REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.pausable enable always trigger c_record_declared_on_update;
grant select on table recoup.pausable to recoup_reader;

create table recoup.pause (
  scope text not null,
  scope_id text not null,
  status text not null,
  changed_at timestamp with time zone not null,
  changed_by text not null,
  reason text not null,
  constraint pause_pkey PRIMARY KEY (scope, scope_id),
  constraint pause_changed_at_check CHECK (isfinite(changed_at)),
  constraint pause_check CHECK (scope <> 'global'::text OR scope_id = 'everything'::text),
  constraint pause_reason_check CHECK (btrim(reason) <> ''::text),
  constraint pause_scope_id_check CHECK (btrim(scope_id) <> ''::text),
  constraint pause_status_check CHECK (status = ANY (ARRAY['PAUSED'::text, 'RUNNING'::text]))
);
alter table recoup.pause enable row level security;
comment on table recoup.pause is 'What is paused now, and what was paused before. A batch is paused in its own row; recoup.pauses shows both.';
comment on column recoup.pause.scope is 'The kind of thing: global, duty, table, or what a domain declares.';
comment on column recoup.pause.scope_id is 'Which one; "everything" for the global scope.';
comment on column recoup.pause.status is 'PAUSED, or RUNNING again.';
comment on column recoup.pause.changed_at is 'Since when.';
comment on column recoup.pause.changed_by is 'Who paused or resumed it.';
comment on column recoup.pause.reason is 'Why.';
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.pause REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_pause_births('recoup.pause');
alter table recoup.pause enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.pause REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.pause');
alter table recoup.pause enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.pause REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_pause_moves('recoup.pause');
alter table recoup.pause enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.pause FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.pause');
alter table recoup.pause enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.pause FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.pause enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_pauses_on_insert AFTER INSERT ON recoup.pause REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_pauses();
alter table recoup.pause enable always trigger b_rule_pauses_on_insert;
CREATE TRIGGER b_rule_pauses_on_update AFTER UPDATE ON recoup.pause REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_pauses();
alter table recoup.pause enable always trigger b_rule_pauses_on_update;
CREATE TRIGGER c_record_pauses_on_insert AFTER INSERT ON recoup.pause REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_pauses();
alter table recoup.pause enable always trigger c_record_pauses_on_insert;
CREATE TRIGGER c_record_pauses_on_update AFTER UPDATE ON recoup.pause REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_pauses();
alter table recoup.pause enable always trigger c_record_pauses_on_update;
CREATE TRIGGER d_wake_on_update AFTER UPDATE ON recoup.pause REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.wake();
alter table recoup.pause enable always trigger d_wake_on_update;
create policy hub on recoup.pause as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR
CASE scope
    WHEN 'global'::text THEN true
    WHEN 'duty'::text THEN true
    WHEN 'table'::text THEN (scope_id = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])) OR (scope_id = ANY ((( SELECT array_agg(d.name) AS array_agg
       FROM recoup.pausable d
      WHERE d.scope = 'table'::text))::text[]))
    WHEN 'partition-source'::text THEN scope_id = ANY ((( SELECT recoup.hub_names('sources'::text) AS hub_names))::text[])
    ELSE false
END);
comment on policy hub on recoup.pause is 'Rows of the hub that the transaction is limited to; 15830c4a7004e2c3cc9b4a5c2dcd2591.';
create policy workers on recoup.pause as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert, update on table recoup.pause to recoup_operator;
grant select on table recoup.pause to recoup_reader;

create table recoup.pause_log (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  event_type text not null,
  scope text not null,
  scope_id text not null,
  reason text not null,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint pause_log_pkey PRIMARY KEY (seq),
  constraint pause_log_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint pause_log_event_type_check CHECK (event_type = ANY (ARRAY['PAUSE'::text, 'RESUME'::text])),
  constraint pause_log_logged_at_check CHECK (isfinite(logged_at))
);
alter table recoup.pause_log enable row level security;
comment on table recoup.pause_log is 'Append-only: who stopped or resumed what, and why.';
comment on column recoup.pause_log.seq is 'Order over all logs.';
comment on column recoup.pause_log.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.pause_log.incarnation is 'Cluster that wrote it.';
comment on column recoup.pause_log.logged_at is 'When.';
comment on column recoup.pause_log.event_type is 'PAUSE or RESUME.';
comment on column recoup.pause_log.scope is 'What kind of thing was paused.';
comment on column recoup.pause_log.scope_id is 'Which one.';
comment on column recoup.pause_log.reason is 'Why, as the actor gave it.';
comment on column recoup.pause_log.actor is 'Kind of actor: system, ai, human.';
comment on column recoup.pause_log.actor_id is 'Who.';
comment on column recoup.pause_log.authority is 'Database role that acted.';
comment on column recoup.pause_log.login is 'Login of the session; null in rows from before logins were stored.';
CREATE INDEX pause_log_scope ON recoup.pause_log USING btree (scope, scope_id, seq);
CREATE INDEX pause_log_xid ON recoup.pause_log USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.pause_log FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.pause_log enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.pause_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.pause_log enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recoup.pause_log FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recoup.pause_log enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.pause_log FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.pause_log enable replica trigger a_refuse_replicated;
create policy hub on recoup.pause_log as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR
CASE scope
    WHEN 'global'::text THEN true
    WHEN 'duty'::text THEN true
    WHEN 'table'::text THEN (scope_id = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])) OR (scope_id = ANY ((( SELECT array_agg(d.name) AS array_agg
       FROM recoup.pausable d
      WHERE d.scope = 'table'::text))::text[]))
    WHEN 'partition-source'::text THEN scope_id = ANY ((( SELECT recoup.hub_names('sources'::text) AS hub_names))::text[])
    ELSE false
END);
comment on policy hub on recoup.pause_log is 'Rows of the hub that the transaction is limited to; 15830c4a7004e2c3cc9b4a5c2dcd2591.';
create policy workers on recoup.pause_log as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.pause_log to recoup_reader;

create view recoup.pauses (
  scope text,
  scope_id text,
  paused_at timestamp with time zone,
  paused_by text,
  reason text
) with (security_invoker=true) as -- query 4e41b8dcedfe68e0428d53370959ed99
comment on view recoup.pauses is 'Everything that is paused now.';
comment on column recoup.pauses.scope is 'global, duty, table, batch, source (of partitions) or action.';
comment on column recoup.pauses.scope_id is 'Which one; "everything" for the global scope.';
comment on column recoup.pauses.paused_at is 'Since when.';
comment on column recoup.pauses.paused_by is 'Who paused it.';
comment on column recoup.pauses.reason is 'Why.';
grant select on table recoup.pauses to recoup_reader;

create table recoup.policy (
  version integer not null,
  figures jsonb not null,
  document text not null,
  reason text not null,
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  applied_at timestamp with time zone not null,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint policy_pkey PRIMARY KEY (version),
  constraint policy_seq_key UNIQUE (seq),
  constraint policy_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint policy_applied_at_check CHECK (isfinite(applied_at)),
  constraint policy_figures_check CHECK (jsonb_typeof(figures) = 'object'::text),
  constraint policy_reason_check CHECK (btrim(reason) <> ''::text),
  constraint policy_version_check CHECK (version > 0)
);
comment on table recoup.policy is 'Append-only: every policy that was ever active. The highest version is active. Rows store the version that decided.';
comment on column recoup.policy.version is 'One more than the version before it.';
comment on column recoup.policy.figures is 'Every value of the policy; values that the document does not set are the defaults of that version.';
comment on column recoup.policy.document is 'The TOML document, as given.';
comment on column recoup.policy.reason is 'Why it was applied.';
comment on column recoup.policy.seq is 'Order over all logs.';
comment on column recoup.policy.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.policy.incarnation is 'Cluster that wrote it.';
comment on column recoup.policy.applied_at is 'When.';
comment on column recoup.policy.actor is 'Kind of actor: system, ai, human.';
comment on column recoup.policy.actor_id is 'Who.';
comment on column recoup.policy.authority is 'Database role that acted.';
comment on column recoup.policy.login is 'Login of the session; null in rows from before logins were stored.';
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.policy FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.policy enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.policy FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.policy enable always trigger a_append_only_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.policy FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.policy enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_stamp_policy BEFORE INSERT ON recoup.policy FOR EACH ROW EXECUTE FUNCTION recoup.stamp_policy();
alter table recoup.policy enable always trigger b_stamp_policy;
CREATE TRIGGER c_check_routes BEFORE INSERT ON recoup.policy FOR EACH ROW EXECUTE FUNCTION recoup.check_routes();
alter table recoup.policy enable always trigger c_check_routes;
grant insert (document, figures, reason, version) on table recoup.policy to recoup_operator;
grant select on table recoup.policy to recoup_reader;

create table recoup.policy_bound (
  domain text not null,
  path text[] not null,
  "least" integer not null,
  most integer not null,
  constraint policy_bound_pkey PRIMARY KEY (path),
  constraint policy_bound_domain_fkey FOREIGN KEY (domain) REFERENCES recoup.domain(name)
);
comment on table recoup.policy_bound is 'Policy values that the database itself uses, and their bounds.';
comment on column recoup.policy_bound.domain is 'The domain that declares it.';
comment on column recoup.policy_bound.path is 'Path of the value in the document.';
comment on column recoup.policy_bound."least" is 'The lowest value.';
comment on column recoup.policy_bound.most is 'The highest value.';
CREATE TRIGGER a_only_migrations BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON recoup.policy_bound FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_migrations();
alter table recoup.policy_bound enable always trigger a_only_migrations;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.policy_bound FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.policy_bound enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_declared_on_delete AFTER DELETE ON recoup.policy_bound REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.policy_bound enable always trigger c_record_declared_on_delete;
CREATE TRIGGER c_record_declared_on_insert AFTER INSERT ON recoup.policy_bound REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.policy_bound enable always trigger c_record_declared_on_insert;
CREATE TRIGGER c_record_declared_on_update AFTER UPDATE ON recoup.policy_bound REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_declared();
alter table recoup.policy_bound enable always trigger c_record_declared_on_update;
grant select on table recoup.policy_bound to recoup_reader;

create table recoup.processed (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  error_table text not null,
  period_from timestamp with time zone not null,
  period_to timestamp with time zone not null,
  count bigint not null,
  idempotency_key text not null default gen_random_uuid()::text,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint processed_pkey PRIMARY KEY (seq),
  constraint processed_once UNIQUE (error_table, idempotency_key),
  constraint processed_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint processed_count_check CHECK (count >= 0 AND count <= '1000000000000'::bigint),
  constraint processed_idempotency_key_check CHECK (octet_length(idempotency_key) >= 1 AND octet_length(idempotency_key) <= 200),
  constraint processed_logged_at_check CHECK (isfinite(logged_at)),
  constraint processed_period CHECK (isfinite(period_from) AND isfinite(period_to) AND period_from <= period_to AND (period_to - period_from) <= '744:00:00'::interval)
);
alter table recoup.processed enable row level security;
alter table recoup.processed force row level security;
comment on table recoup.processed is 'Append-only: how many units of work a hub has processed in a period, as it reported. Error rates are shares of them.';
comment on column recoup.processed.seq is 'Order over all logs.';
comment on column recoup.processed.xid is 'Transaction that wrote it; for the settled read.';
comment on column recoup.processed.incarnation is 'Cluster that wrote it.';
comment on column recoup.processed.logged_at is 'When it was reported.';
comment on column recoup.processed.error_table is 'The error table of the hub.';
comment on column recoup.processed.period_from is 'Beginning of the period; by default its end.';
comment on column recoup.processed.period_to is 'End of the period; by default when it was reported.';
comment on column recoup.processed.count is 'Units of work that were processed, those that failed included.';
comment on column recoup.processed.idempotency_key is 'A report that is sent again with the same key counts once.';
comment on column recoup.processed.actor is 'system, ai or human.';
comment on column recoup.processed.actor_id is 'Who exactly.';
comment on column recoup.processed.authority is 'Database role that reported it.';
comment on column recoup.processed.login is 'Login of the session.';
CREATE INDEX processed_period_to ON recoup.processed USING btree (period_to);
CREATE INDEX processed_xid ON recoup.processed USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.processed FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.processed enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.processed FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.processed enable always trigger a_append_only_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.processed FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.processed enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_stamp_processed BEFORE INSERT ON recoup.processed FOR EACH ROW EXECUTE FUNCTION recoup.stamp_processed();
alter table recoup.processed enable always trigger b_stamp_processed;
create policy hub on recoup.processed as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (error_table = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.processed is 'Rows of the hub that the transaction is limited to; 9501c3be8bb40570245573595de32eaa.';
create policy workers on recoup.processed as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (count, error_table, idempotency_key, period_from, period_to) on table recoup.processed to recoup_hub;
grant select on table recoup.processed to recoup_reader;

create table recoup.queue_form (
  part text not null default ''::text,
  round integer not null default 0,
  wake_at timestamp with time zone not null,
  until timestamp with time zone,
  token uuid,
  worker text,
  claimed_at timestamp with time zone,
  constraint queue_claim CHECK ((token IS NULL) = (worker IS NULL) AND (token IS NULL) = (claimed_at IS NULL)),
  constraint queue_form_claimed_at_check CHECK (isfinite(claimed_at)),
  constraint queue_form_round_check CHECK (round >= 0),
  constraint queue_form_until_check CHECK (isfinite(until)),
  constraint queue_form_wake_at_check CHECK (isfinite(wake_at)),
  constraint queue_form_worker_check CHECK (octet_length(worker) >= 1 AND octet_length(worker) <= 500)
);
comment on table recoup.queue_form is 'The columns of a queue. It has no rows.';
comment on column recoup.queue_form.part is 'Where the unit is, of a subject in several tables.';
comment on column recoup.queue_form.round is 'Attempts that have ended.';
comment on column recoup.queue_form.wake_at is 'When it is due; while it is claimed, the end of the lease.';
comment on column recoup.queue_form.until is 'Not claimed after this time; null: always.';
comment on column recoup.queue_form.token is 'Fencing token of the claim that holds it; null: none does.';
comment on column recoup.queue_form.worker is 'Who holds it.';
comment on column recoup.queue_form.claimed_at is 'Since when.';
CREATE INDEX queue_form_until_idx ON recoup.queue_form USING btree (until) WHERE token IS NULL AND until IS NOT NULL;
CREATE INDEX queue_form_wake_at_idx ON recoup.queue_form USING btree (wake_at) WHERE token IS NULL;
CREATE INDEX queue_form_wake_at_idx1 ON recoup.queue_form USING btree (wake_at) WHERE token IS NOT NULL;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.queue_form FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.queue_form enable replica trigger a_refuse_replicated;

create table recoup.rate_bucket (
  principal text not null,
  tokens double precision not null,
  refilled_at timestamp with time zone not null,
  constraint rate_bucket_pkey PRIMARY KEY (principal),
  constraint rate_bucket_principal_check CHECK (octet_length(principal) >= 1 AND octet_length(principal) <= 200),
  constraint rate_bucket_refilled_at_check CHECK (isfinite(refilled_at)),
  constraint rate_bucket_tokens_check CHECK (tokens >= 0::double precision AND tokens <= '1000000000'::numeric::double precision)
) with (fillfactor=50);
alter table recoup.rate_bucket enable row level security;
comment on table recoup.rate_bucket is 'How many requests each caller may send now. Processes take a second''s worth at a time.';
comment on column recoup.rate_bucket.principal is 'Who: role and name.';
comment on column recoup.rate_bucket.tokens is 'Requests that are left, when it was refilled last.';
comment on column recoup.rate_bucket.refilled_at is 'When that was, by the server''s clock.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.rate_bucket FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.rate_bucket enable replica trigger a_refuse_replicated;
create policy hub on recoup.rate_bucket as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.rate_bucket is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.rate_bucket as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert, update on table recoup.rate_bucket to recoup_service;
grant select on table recoup.rate_bucket to recoup_reader;

create table recoup.retry_traceback (
  traceback_id bigint not null generated always as identity,
  error_table text not null,
  error_id bigint not null,
  retry integer not null,
  token uuid not null,
  status text not null default 'KEPT'::text,
  traceback text not null,
  recorded_at timestamp with time zone not null,
  constraint retry_traceback_pkey PRIMARY KEY (traceback_id),
  constraint retry_traceback_error_id_retry_key UNIQUE (error_id, retry),
  constraint retry_traceback_recorded_at_check CHECK (isfinite(recorded_at)),
  constraint retry_traceback_retry_check CHECK (retry > 0),
  constraint retry_traceback_status_check CHECK (status = 'KEPT'::text),
  constraint retry_traceback_traceback_check CHECK (length(traceback) >= 1 AND length(traceback) <= 20000)
);
alter table recoup.retry_traceback enable row level security;
alter table recoup.retry_traceback force row level security;
comment on table recoup.retry_traceback is 'Tracebacks of failed retries. Deleted by an operator when they hold a secret, and with the archive of their error.';
comment on column recoup.retry_traceback.traceback_id is 'Identity.';
comment on column recoup.retry_traceback.error_table is 'Table of the error …';
comment on column recoup.retry_traceback.error_id is '… and its id there.';
comment on column recoup.retry_traceback.retry is 'Number of the retry, from 1: retry_count of its event FAILED.';
comment on column recoup.retry_traceback.token is 'Token of the claim.';
comment on column recoup.retry_traceback.status is 'KEPT.';
comment on column recoup.retry_traceback.traceback is 'Innermost frames and message, without secrets that are known.';
comment on column recoup.retry_traceback.recorded_at is 'When.';
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.retry_traceback REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_retry_traceback_births('recoup.retry_traceback');
alter table recoup.retry_traceback enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.retry_traceback REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_retry_traceback_exits('recoup.retry_traceback');
alter table recoup.retry_traceback enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.retry_traceback REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_moves('recoup.retry_traceback');
alter table recoup.retry_traceback enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.retry_traceback FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.retry_traceback');
alter table recoup.retry_traceback enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.retry_traceback FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.retry_traceback enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_retry_tracebacks_on_insert AFTER INSERT ON recoup.retry_traceback REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_retry_tracebacks();
alter table recoup.retry_traceback enable always trigger b_rule_retry_tracebacks_on_insert;
CREATE TRIGGER b_rule_traceback_exits_on_delete AFTER DELETE ON recoup.retry_traceback REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_traceback_exits();
alter table recoup.retry_traceback enable always trigger b_rule_traceback_exits_on_delete;
CREATE TRIGGER c_content_retry_traceback_births_on_insert AFTER INSERT ON recoup.retry_traceback REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_retry_traceback_births();
alter table recoup.retry_traceback enable always trigger c_content_retry_traceback_births_on_insert;
CREATE TRIGGER c_record_control_on_delete AFTER DELETE ON recoup.retry_traceback REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control();
alter table recoup.retry_traceback enable always trigger c_record_control_on_delete;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recoup.retry_traceback REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control();
alter table recoup.retry_traceback enable always trigger c_record_control_on_insert;
create policy hub on recoup.retry_traceback as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (error_table = ANY ((( SELECT recoup.hub_names('tables'::text) AS hub_names))::text[])));
comment on policy hub on recoup.retry_traceback is 'Rows of the hub that the transaction is limited to; 9501c3be8bb40570245573595de32eaa.';
create policy workers on recoup.retry_traceback as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant delete on table recoup.retry_traceback to recoup_archiver;
grant delete on table recoup.retry_traceback to recoup_operator;
grant insert (error_id, error_table, recorded_at, retry, token, traceback) on table recoup.retry_traceback to recoup_error_worker;
grant insert (error_id, error_table, recorded_at, retry, token, traceback) on table recoup.retry_traceback to recoup_hub;
grant select on table recoup.retry_traceback to recoup_reader;

create table recoup.routine (
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null,
  applied_by text not null,
  recoup_version text not null,
  constraint routine_pkey PRIMARY KEY (name)
);
comment on table recoup.routine is 'Routine files as last applied; applied again when they change.';
comment on column recoup.routine.name is 'Name of the file.';
comment on column recoup.routine.checksum is 'SHA-256 of its text, as applied.';
comment on column recoup.routine.applied_at is 'When, by the server''s clock.';
comment on column recoup.routine.applied_by is 'The login that applied it.';
comment on column recoup.routine.recoup_version is 'The program that applied it.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.routine FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.routine enable replica trigger a_refuse_replicated;
grant select on table recoup.routine to recoup_reader;

create table recoup.seal (
  number bigint not null,
  log text not null,
  canon integer not null,
  incarnation integer not null,
  system_identifier bigint not null,
  since pg_snapshot not null,
  until pg_snapshot,
  after_seq bigint not null,
  last_seq bigint not null,
  closes boolean not null,
  rows bigint not null,
  rows_digest bytea not null,
  sealed_at timestamp with time zone not null,
  actor_id text not null,
  previous bytea not null,
  digest bytea not null,
  login text default SESSION_USER,
  constraint seal_pkey PRIMARY KEY (number),
  constraint seal_digest_key UNIQUE (digest),
  constraint seal_check CHECK (last_seq >= after_seq),
  constraint seal_number_check CHECK (number > 0),
  constraint seal_rows_check CHECK (rows >= 0),
  constraint seal_sealed_at_check CHECK (isfinite(sealed_at))
);
alter table recoup.seal enable row level security;
comment on table recoup.seal is 'Append-only: sealed blocks of settled log rows, each with a digest, chained. Later changes of these rows are found.';
comment on column recoup.seal.number is 'Place in the chain, without gaps.';
comment on column recoup.seal.log is 'The log whose rows are sealed.';
comment on column recoup.seal.canon is 'Version of the canonical text of its rows: recoup.canon_<log>_<version>.';
comment on column recoup.seal.incarnation is 'Cluster that wrote the rows.';
comment on column recoup.seal.system_identifier is 'Identity of that cluster.';
comment on column recoup.seal.since is 'The block holds rows that were not visible in this snapshot …';
comment on column recoup.seal.until is '… and are visible in this one; null: the rest of an earlier cluster.';
comment on column recoup.seal.after_seq is 'A large range is sealed in pages: this one begins after this seq …';
comment on column recoup.seal.last_seq is '… and ends with this one.';
comment on column recoup.seal.closes is 'Whether it is the last page of its range.';
comment on column recoup.seal.rows is 'How many rows it holds.';
comment on column recoup.seal.rows_digest is 'SHA-256 over the SHA-256 of each row''s canonical text, in the order of seq.';
comment on column recoup.seal.sealed_at is 'When.';
comment on column recoup.seal.actor_id is 'Who.';
comment on column recoup.seal.previous is 'Digest of the seal before it; zeros for the first.';
comment on column recoup.seal.digest is 'SHA-256 over all columns before it, including the previous digest.';
comment on column recoup.seal.login is 'Login of the session; null in rows from before logins were stored.';
CREATE INDEX seal_log ON recoup.seal USING btree (log, number);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recoup.seal FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recoup.seal enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recoup.seal FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recoup.seal enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_sealers BEFORE INSERT ON recoup.seal FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_sealers();
alter table recoup.seal enable always trigger a_only_sealers;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.seal FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.seal enable replica trigger a_refuse_replicated;
create policy hub on recoup.seal as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.seal is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.seal as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recoup.seal to recoup_reader;

create table recoup.session (
  session_id uuid not null default recoup.new_id(),
  token_hash bytea not null,
  key_id uuid,
  name text not null,
  role text not null,
  hub text,
  is_link boolean not null,
  created_at timestamp with time zone not null default recoup.now(),
  expires_at timestamp with time zone not null,
  constraint session_pkey PRIMARY KEY (session_id),
  constraint session_token_hash_key UNIQUE (token_hash),
  constraint session_key_id_fkey FOREIGN KEY (key_id) REFERENCES recoup.api_key(key_id),
  constraint session_created_at_check CHECK (isfinite(created_at)),
  constraint session_expires_at_check CHECK (isfinite(expires_at)),
  constraint session_name_check CHECK (octet_length(name) >= 1 AND octet_length(name) <= 200),
  constraint session_of CHECK ((key_id IS NULL) = (role = 'local'::text)),
  constraint session_role_check CHECK (role = ANY (ARRAY['viewer'::text, 'producer'::text, 'operator'::text, 'reviewer'::text, 'admin'::text, 'local'::text])),
  constraint session_token_hash_check CHECK (octet_length(token_hash) = 32)
);
alter table recoup.session enable row level security;
comment on table recoup.session is 'Sessions of a browser, and the links that become one. Deleted when they end.';
comment on column recoup.session.session_id is 'Identity.';
comment on column recoup.session.token_hash is 'SHA-256 of the token in the cookie or the link.';
comment on column recoup.session.key_id is 'The key that it was opened with; null: the person who started the service.';
comment on column recoup.session.name is 'Who acts in it, as events name them.';
comment on column recoup.session.role is 'The role of the key; local: of the person who started the service.';
comment on column recoup.session.hub is 'The hub of the key; null: every row.';
comment on column recoup.session.is_link is 'Whether it is a link that was not used yet.';
comment on column recoup.session.created_at is 'When it was opened.';
comment on column recoup.session.expires_at is 'When it ends by itself.';
CREATE INDEX session_expires ON recoup.session USING btree (expires_at);
CREATE INDEX session_key ON recoup.session USING btree (key_id);
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.session FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.session enable replica trigger a_refuse_replicated;
create policy hub on recoup.session as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.session is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.session as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant delete, insert (expires_at, hub, is_link, key_id, name, role, token_hash) on table recoup.session to recoup_service;
grant select on table recoup.session to recoup_reader;

create table recoup.silence (
  silence_id uuid not null default recoup.new_id(),
  rule text not null,
  key text not null,
  until timestamp with time zone not null,
  reason text not null,
  created_by text not null,
  created_at timestamp with time zone not null default recoup.now(),
  status text not null default 'active'::text,
  ended_at timestamp with time zone,
  constraint silence_pkey PRIMARY KEY (silence_id),
  constraint silence_created_at_check CHECK (isfinite(created_at)),
  constraint silence_ended CHECK ((status = 'active'::text) = (ended_at IS NULL)),
  constraint silence_ended_at_check CHECK (isfinite(ended_at)),
  constraint silence_ends CHECK (until > created_at),
  constraint silence_key_check CHECK (octet_length(key) >= 1 AND octet_length(key) <= 200),
  constraint silence_reason_check CHECK (octet_length(reason) >= 1 AND octet_length(reason) <= 2000),
  constraint silence_rule_check CHECK (octet_length(rule) >= 1 AND octet_length(rule) <= 60),
  constraint silence_status_check CHECK (status = ANY (ARRAY['active'::text, 'expired'::text, 'ended'::text])),
  constraint silence_until_check CHECK (isfinite(until))
);
alter table recoup.silence enable row level security;
comment on table recoup.silence is 'Silences: alerts of a rule and a key are judged as always, and nobody is notified until then.';
comment on column recoup.silence.silence_id is 'Identity.';
comment on column recoup.silence.rule is 'Which rule: its name, or how names begin and then *.';
comment on column recoup.silence.key is 'Which key, in the same way.';
comment on column recoup.silence.until is 'When it ends by itself.';
comment on column recoup.silence.reason is 'Why.';
comment on column recoup.silence.created_by is 'Who asked for it.';
comment on column recoup.silence.created_at is 'Since when.';
comment on column recoup.silence.status is 'active, expired (its time has come) or ended (by a person).';
comment on column recoup.silence.ended_at is 'When it ended; null: it is active.';
CREATE INDEX silence_active ON recoup.silence USING btree (until) WHERE status = 'active'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.silence REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_silence_births('recoup.silence');
alter table recoup.silence enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.silence REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.silence');
alter table recoup.silence enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.silence REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_silence_moves('recoup.silence');
alter table recoup.silence enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.silence FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.silence');
alter table recoup.silence enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.silence FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.silence enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_silences_on_insert AFTER INSERT ON recoup.silence REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_silences();
alter table recoup.silence enable always trigger b_rule_silences_on_insert;
CREATE TRIGGER b_rule_silences_on_update AFTER UPDATE ON recoup.silence REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_silences();
alter table recoup.silence enable always trigger b_rule_silences_on_update;
CREATE TRIGGER c_content_silence_births_on_insert AFTER INSERT ON recoup.silence REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_silence_births();
alter table recoup.silence enable always trigger c_content_silence_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recoup.silence REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('rule', 'key', 'until', 'created_by');
alter table recoup.silence enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON recoup.silence REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('ended_at');
alter table recoup.silence enable always trigger c_record_control_on_update;
create policy hub on recoup.silence as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.silence is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.silence as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (created_by, key, reason, rule, until), update (ended_at, status) on table recoup.silence to recoup_operator;
grant select on table recoup.silence to recoup_reader;
grant update (ended_at, status) on table recoup.silence to recoup_error_worker;

create table recoup.subscription (
  name text not null,
  log text not null,
  "position" bigint not null default nextval('recoup.subscription_position'::regclass),
  incarnation integer not null default 1,
  since pg_snapshot not null default '1:1:'::pg_snapshot,
  until pg_snapshot,
  after_seq bigint not null default 0,
  created_at timestamp with time zone not null,
  acknowledged_at timestamp with time zone,
  authority text default CURRENT_USER,
  login text default SESSION_USER,
  constraint subscription_pkey PRIMARY KEY (log, name)
);
alter table recoup.subscription enable row level security;
comment on table recoup.subscription is 'The position of each named subscriber in a log. The cursor is a snapshot: rows visible in it are delivered.';
comment on column recoup.subscription.name is 'The subscriber''s name.';
comment on column recoup.subscription.log is 'Schema and name of the log.';
comment on column recoup.subscription."position" is 'New with each acknowledgement; an acknowledgement of an older position is refused.';
comment on column recoup.subscription.incarnation is 'Which incarnation''s rows are being read.';
comment on column recoup.subscription.since is 'Everything visible in this snapshot is delivered.';
comment on column recoup.subscription.until is 'While pages are left: the snapshot that they are read from.';
comment on column recoup.subscription.after_seq is 'While pages are left: the last delivered seq.';
comment on column recoup.subscription.created_at is 'When the subscription was created.';
comment on column recoup.subscription.acknowledged_at is 'When it last acknowledged.';
comment on column recoup.subscription.authority is 'The authority that created it, the only one that may move it; null in old rows.';
comment on column recoup.subscription.login is 'The login that created it, the only one that may move it; null in old rows.';
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.subscription FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.subscription enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_cursors BEFORE INSERT OR DELETE OR UPDATE ON recoup.subscription FOR EACH ROW EXECUTE FUNCTION recoup.rule_cursors();
alter table recoup.subscription enable always trigger b_rule_cursors;
create policy hub on recoup.subscription as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recoup.subscription is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recoup.subscription as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant delete, insert (created_at, log, name), update (acknowledged_at, after_seq, incarnation, "position", since, until) on table recoup.subscription to recoup_consumer;
grant delete, insert (created_at, log, name), update (acknowledged_at, after_seq, incarnation, "position", since, until) on table recoup.subscription to recoup_evaluator;
grant delete, insert (created_at, log, name), update (acknowledged_at, after_seq, incarnation, "position", since, until) on table recoup.subscription to recoup_matcher;
grant delete, insert (created_at, log, name), update (acknowledged_at, after_seq, incarnation, "position", since, until) on table recoup.subscription to recoup_mint;
grant delete, insert (created_at, log, name), update (acknowledged_at, after_seq, incarnation, "position", since, until) on table recoup.subscription to recoup_operator;
grant select on table recoup.subscription to recoup_reader;

create table recoup.worker (
  worker_id uuid not null default recoup.new_id(),
  name text not null,
  host text not null,
  pid integer not null,
  recoup_version text not null,
  duties text[] not null,
  status text not null default 'running'::text,
  started_at timestamp with time zone not null,
  heartbeat_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint worker_pkey PRIMARY KEY (worker_id),
  constraint worker_check CHECK ((status = 'running'::text) = (ended_at IS NULL)),
  constraint worker_ended_at_check CHECK (isfinite(ended_at)),
  constraint worker_heartbeat_at_check CHECK (isfinite(heartbeat_at)),
  constraint worker_name_check CHECK (name <> ''::text),
  constraint worker_started_at_check CHECK (isfinite(started_at)),
  constraint worker_status_check CHECK (status = ANY (ARRAY['running'::text, 'stopped'::text, 'lost'::text]))
) with (fillfactor=50);
comment on table recoup.worker is 'One row per run of a worker process. A process that continues after it was marked lost gets a new row.';
comment on column recoup.worker.worker_id is 'Identifies one run of one process.';
comment on column recoup.worker.name is 'Its name in logs.';
comment on column recoup.worker.host is 'Machine it runs on.';
comment on column recoup.worker.pid is 'Process id there.';
comment on column recoup.worker.recoup_version is 'The program it runs.';
comment on column recoup.worker.duties is 'The background tasks that it runs.';
comment on column recoup.worker.status is 'running, stopped (shut down) or lost (its heartbeat stopped).';
comment on column recoup.worker.started_at is 'When it registered.';
comment on column recoup.worker.heartbeat_at is 'Time of its last heartbeat.';
comment on column recoup.worker.ended_at is 'When it stopped or was marked lost.';
CREATE INDEX worker_running ON recoup.worker USING btree (heartbeat_at) WHERE status = 'running'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON recoup.worker REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_worker_births('recoup.worker');
alter table recoup.worker enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recoup.worker REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recoup.worker');
alter table recoup.worker enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recoup.worker REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_worker_moves('recoup.worker');
alter table recoup.worker enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recoup.worker FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recoup.worker');
alter table recoup.worker enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recoup.worker FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recoup.worker enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_workers_on_insert AFTER INSERT ON recoup.worker REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_workers();
alter table recoup.worker enable always trigger b_rule_workers_on_insert;
CREATE TRIGGER b_rule_workers_on_update AFTER UPDATE ON recoup.worker REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_workers();
alter table recoup.worker enable always trigger b_rule_workers_on_update;
CREATE TRIGGER c_content_worker_births_on_insert AFTER INSERT ON recoup.worker REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.content_worker_births();
alter table recoup.worker enable always trigger c_content_worker_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recoup.worker REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('name', 'host', 'pid', 'recoup_version');
alter table recoup.worker enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON recoup.worker REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('ended_at');
alter table recoup.worker enable always trigger c_record_control_on_update;
grant insert (duties, heartbeat_at, host, name, pid, recoup_version, started_at, worker_id), update (ended_at, heartbeat_at, status) on table recoup.worker to recoup_runner;
grant select on table recoup.worker to recoup_reader;
grant update (ended_at, status) on table recoup.worker to recoup_orphan_recovery;

CREATE OR REPLACE FUNCTION recoup.acting_id()
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 3c207bea1817f685d9867f29509ccb90
comment on function recoup.acting_id() is 'The actor. Set by the transaction; the login by default.';
grant execute on function recoup.acting_id() to public;

CREATE OR REPLACE FUNCTION recoup.acting_kind()
 RETURNS text
 LANGUAGE sql
 STABLE; -- body d649387cb92266e3aa5d726294a380d1
comment on function recoup.acting_kind() is 'Kind of the actor: system, ai or human. Set by the transaction; system by default.';
grant execute on function recoup.acting_kind() to public;

CREATE OR REPLACE FUNCTION recoup.acting_role()
 RETURNS text
 LANGUAGE sql
 STABLE; -- body e7585e59401d0376d1f3f82f8ab7a707
comment on function recoup.acting_role() is 'The acting role, for a recorder after a guard.';
grant execute on function recoup.acting_role() to public;

CREATE OR REPLACE FUNCTION recoup.actor_name()
 RETURNS text
 LANGUAGE sql
 STABLE; -- body d44416f7bc285ff0f2e1c0ac5521b85b
comment on function recoup.actor_name() is 'The actor, as a refusal names it.';
grant execute on function recoup.actor_name() to public;

CREATE OR REPLACE FUNCTION recoup.acts_for_another()
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body 7eeaf032d4e51d13f92c70a08354e233
comment on function recoup.acts_for_another() is 'Whether a function of the tables'' owner runs, called by another role: a recorder, a consequence, the sealer.';
grant execute on function recoup.acts_for_another() to public;

CREATE OR REPLACE FUNCTION recoup.add_held(more integer)
 RETURNS integer
 LANGUAGE sql; -- body 084ba0860d46a7d6d9a580376ab49e3c
comment on function recoup.add_held(more integer) is 'How many locks of entities this transaction has asked for, with these.';
grant execute on function recoup.add_held(more integer) to public;

CREATE OR REPLACE FUNCTION recoup.alert_body(a recoup.alert, policy jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body 2dd4518051a3d19bd2da2dd8138aa4d1
comment on function recoup.alert_body(a recoup.alert, policy jsonb) is 'What a notice of an alert says to programs.';
grant execute on function recoup.alert_body(a recoup.alert, policy jsonb) to public;

grant execute on function recoup.alert_move_broken(o recoup.alert, n recoup.alert, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.alert_move_broken(o recoup.alert, n recoup.alert, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body b2774d1e838f5ab7082bed1ad8a60134
comment on function recoup.alert_move_broken(o recoup.alert, n recoup.alert, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of an alert breaks, or null.';

grant execute on function recoup.alert_move_refusal(code_ text, o recoup.alert, n recoup.alert, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.alert_move_refusal(code_ text, o recoup.alert, n recoup.alert, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body af4d27fa1e93514a330aa89d89f2c955
comment on function recoup.alert_move_refusal(code_ text, o recoup.alert, n recoup.alert, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of recoup.alert_move_broken.';

CREATE OR REPLACE FUNCTION recoup.alert_number(value_ numeric, unit_ text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body f966dc6ff02ec677f4c7b42a8c3486dd
comment on function recoup.alert_number(value_ numeric, unit_ text) is 'A value as people read it.';
grant execute on function recoup.alert_number(value_ numeric, unit_ text) to public;

CREATE OR REPLACE FUNCTION recoup.alert_policy()
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body 904d8a0c25ae4c87ef10812bca275e7b
comment on function recoup.alert_policy() is 'The section on alerts of the active policy.';
grant execute on function recoup.alert_policy() to public;

CREATE OR REPLACE FUNCTION recoup.alert_routes(policy jsonb, action_ text, key_ text)
 RETURNS text[]
 LANGUAGE sql
 STABLE; -- body 7e9ff3bbc1fbc641a10f58472894cd69
comment on function recoup.alert_routes(policy jsonb, action_ text, key_ text) is 'The routes that an action notifies by, for a key.';
grant execute on function recoup.alert_routes(policy jsonb, action_ text, key_ text) to public;

CREATE OR REPLACE FUNCTION recoup.alert_rules(policy jsonb)
 RETURNS TABLE(rule text, signal text, above numeric, severity text, action text, for_ interval, patterns jsonb)
 LANGUAGE sql
 STABLE; -- body 6cd056c4875e0ac8316a10c61339a3ed
comment on function recoup.alert_rules(policy jsonb) is 'The rules of the policy on alerts, as rows.';
grant execute on function recoup.alert_rules(policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.alert_seconds(policy jsonb, name_ text)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE; -- body b16d8acafa12961e3ade61e3292feb2b
comment on function recoup.alert_seconds(policy jsonb, name_ text) is 'A length of time of the policy on alerts.';
grant execute on function recoup.alert_seconds(policy jsonb, name_ text) to public;

grant execute on function recoup.alert_silenced(policy jsonb, rule_ text, key_ text, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.alert_silenced(policy jsonb, rule_ text, key_ text, now_ timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body 87a3d4ea2437c92afa16c0d2f60cf1c4
comment on function recoup.alert_silenced(policy jsonb, rule_ text, key_ text, now_ timestamp with time zone) is 'Whether nobody is notified of a rule and a key: by a silence, or by a maintenance window.';

CREATE OR REPLACE FUNCTION recoup.alert_subject(a recoup.alert)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body adc88252421b6724837fbe732693860b
comment on function recoup.alert_subject(a recoup.alert) is 'What a notice of an alert says in one line.';
grant execute on function recoup.alert_subject(a recoup.alert) to public;

CREATE OR REPLACE FUNCTION recoup.allowed_steps(subject_ text, from_ text)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body afaac22e98b3288ae653afc16de21d63
comment on function recoup.allowed_steps(subject_ text, from_ text) is 'What is listed from a status (null: births), in words.';
grant execute on function recoup.allowed_steps(subject_ text, from_ text) to public;

CREATE OR REPLACE FUNCTION recoup.allows(allowed jsonb, disposition_ text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body 2889ed7ad2c9081272e6cf19508b1448
comment on function recoup.allows(allowed jsonb, disposition_ text) is 'Whether the policy allows a table this disposition; false for a table that it does not list.';
grant execute on function recoup.allows(allowed jsonb, disposition_ text) to public;

CREATE OR REPLACE FUNCTION recoup.append_only()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 742d17ff0eebf697b402ca10e9192250
comment on function recoup.append_only() is 'Refuses UPDATE, DELETE and TRUNCATE, except changes by a consequence in a log that is not sealed.';
grant execute on function recoup.append_only() to public;

CREATE OR REPLACE PROCEDURE recoup.append_only_table(IN relation regclass)
 LANGUAGE plpgsql; -- body 3e6a3252fbadd1bae809faaff8847def
comment on procedure recoup.append_only_table(IN relation regclass) is 'Makes a table append-only.';
grant execute on procedure recoup.append_only_table(IN relation regclass) to public;

CREATE OR REPLACE FUNCTION recoup.archive_digest(r recoup.error_archive)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body eea116d92a7a9fe3890807bdd3852b7f
comment on function recoup.archive_digest(r recoup.error_archive) is 'Digest of an archived error, as its event has it.';
grant execute on function recoup.archive_digest(r recoup.error_archive) to public;

CREATE OR REPLACE FUNCTION recoup.archive_errors_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET enable_hashjoin TO 'on'
 SET enable_nestloop TO 'off'; -- body 2e57af04c373b292b36697fb41a9fc68
comment on function recoup.archive_errors_gone() is 'Writes rows that were deleted from a live table to its archive, and ARCHIVED to the log.';

grant execute on function recoup.archive_month_digest(error_table_ text, month_ date, page integer, OUT rows bigint, OUT digest bytea) to public;

CREATE OR REPLACE FUNCTION recoup.archive_month_digest(error_table_ text, month_ date, page integer DEFAULT 10000, OUT rows bigint, OUT digest bytea)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO, MDY'; -- body 67cf0b3dc1ae876097eb0af292af992e
comment on function recoup.archive_month_digest(error_table_ text, month_ date, page integer, OUT rows bigint, OUT digest bytea) is 'How many errors a month of an archive holds, and SHA-256 over them in the order of their ids.';

CREATE OR REPLACE FUNCTION recoup.archive_month_name(error_table_ text, month_ date)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 3e09918158796a18745edce97499664a
comment on function recoup.archive_month_name(error_table_ text, month_ date) is 'Name of the partition of a month.';
grant execute on function recoup.archive_month_name(error_table_ text, month_ date) to public;

CREATE OR REPLACE FUNCTION recoup.authority_of(role_name name)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body c87aaefd7f07113ecb268a51222a3297
comment on function recoup.authority_of(role_name name) is 'The authority of a role, or null.';
grant execute on function recoup.authority_of(role_name name) to public;

CREATE OR REPLACE FUNCTION recoup.beat()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body e7aa529e6ef18d39369422de958a3403
comment on function recoup.beat() is 'Queues a heartbeat for its route: a receiver that misses it knows that no worker judges alerts.';

CREATE OR REPLACE FUNCTION recoup.begin_alert_round(every_s integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 5cbc1900c64b7bcf942778bc96ab606a
comment on function recoup.begin_alert_round(every_s integer) is 'Whether it is time to judge again, and nobody else does: then the row is held until the transaction ends.';
grant execute on function recoup.begin_alert_round(every_s integer) to public;

grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_consumer;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_control_plane;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_evaluator;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_gate;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_hub;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_key_manager;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_matcher;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_operator;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_reviewer;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_runner;
grant execute on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) to recoup_scoped_execution;

CREATE OR REPLACE FUNCTION recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 5dacd504a16bb1fd27518b44cd8a1ba4
comment on function recoup.begin_request(principal_ text, key_ text, method_ text, path_ text, digest_ bytea, OUT fresh boolean, OUT same boolean, OUT status smallint, OUT answer text, OUT about text) is 'Stores that a request was received, before its effect; or returns what the same key was answered. An equal request waits until this transaction has ended.';

grant execute on function recoup.block_digest(log_ text, canon_ integer, incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot, after_ bigint, last_ bigint, most bigint) to public;

CREATE OR REPLACE FUNCTION recoup.block_digest(log_ text, canon_ integer, incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot, after_ bigint, last_ bigint, most bigint DEFAULT NULL::bigint)
 RETURNS TABLE(rows bigint, last_seq bigint, digest bytea)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
 SET bytea_output TO 'hex'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'on'
 SET enable_bitmapscan TO 'on'; -- body 220b4ab5c9dc52ddd3ff7731b37a3de7
comment on function recoup.block_digest(log_ text, canon_ integer, incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot, after_ bigint, last_ bigint, most bigint) is 'Count, last seq and digest of a block''s rows: SHA-256 over the SHA-256 of each, in the order of seq.';

CREATE OR REPLACE FUNCTION recoup.blocked_locking(outreach_ids uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'; -- body b77fd58dab30062bfcec12217d0a5d05
comment on function recoup.blocked_locking(outreach_ids uuid[]) is 'Those of the entities that are blocked. Errors of all of them wait until this transaction ends.';
grant execute on function recoup.blocked_locking(outreach_ids uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.blocking_errors(outreach_ids uuid[])
 RETURNS SETOF recoup.error
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'; -- body 19bf02acdfd3db32f65d8da00ddf1fee
comment on function recoup.blocking_errors(outreach_ids uuid[]) is 'The errors that block these entities.';
grant execute on function recoup.blocking_errors(outreach_ids uuid[]) to public;

grant execute on function recoup.blocking_errors_at(outreach_ids uuid[], at_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.blocking_errors_at(outreach_ids uuid[], at_ timestamp with time zone)
 RETURNS TABLE(outreach_id uuid, error_table text, error_id bigint, status text, since timestamp with time zone, owner text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body 51f5603637f5d59be6d8614a2f71575c
comment on function recoup.blocking_errors_at(outreach_ids uuid[], at_ timestamp with time zone) is 'The errors that blocked these entities at a time, by the log and the policy of that time; not those of archives that
were dropped.';

CREATE OR REPLACE FUNCTION recoup.blocking_owners(outreach_ids uuid[])
 RETURNS TABLE(outreach_id uuid, owners text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 68a2ade07c5a4be89189c87c566ac9e0
comment on function recoup.blocking_owners(outreach_ids uuid[]) is 'Which of these entities are blocked, and the owners of what blocks each: all that a hub learns of others.';
grant execute on function recoup.blocking_owners(outreach_ids uuid[]) to public;

grant execute on function recoup.blocking_owners_at(outreach_ids uuid[], at_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.blocking_owners_at(outreach_ids uuid[], at_ timestamp with time zone)
 RETURNS TABLE(outreach_id uuid, owners text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 208851ffaa5a95412fa6c5c85559e239
comment on function recoup.blocking_owners_at(outreach_ids uuid[], at_ timestamp with time zone) is 'Which of these entities were blocked at a time, and the owners of what blocked each: all that a hub learns of others.';

CREATE OR REPLACE FUNCTION recoup.blocking_tables()
 RETURNS text[]
 LANGUAGE sql
 STABLE; -- body 587db76e424525f925fadaa48fb95994
comment on function recoup.blocking_tables() is 'Error tables whose open errors block their entity.';
grant execute on function recoup.blocking_tables() to public;

CREATE OR REPLACE FUNCTION recoup.by_follower()
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body 6ef23c456fcee8259d260afc5c065449
comment on function recoup.by_follower() is 'For triggers: whether a recorder or a consequence made this change, inside another trigger.';
grant execute on function recoup.by_follower() to public;

CREATE OR REPLACE FUNCTION recoup.cancel_deliveries(ids uuid[])
 RETURNS TABLE(delivery_id uuid, was text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body d15e7ee06d94ac41f87bd7aed82da17e
comment on function recoup.cancel_deliveries(ids uuid[]) is 'Cancels those of these deliveries that are queued. Returns which there are, and their status before.';
grant execute on function recoup.cancel_deliveries(ids uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.canon_alert_event_1(l recoup.alert_event)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body aa3e8825b66687b9ae6a844e40eb9ce4
comment on function recoup.canon_alert_event_1(l recoup.alert_event) is 'Canonical text of a row of recoup.alert_event, version 1.';
grant execute on function recoup.canon_alert_event_1(l recoup.alert_event) to public;

CREATE OR REPLACE FUNCTION recoup.canon_attempt_1(l partitions.attempt)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 7aae0ac0d9aca630d6d814c62d594ee0
comment on function recoup.canon_attempt_1(l partitions.attempt) is 'Canonical text of a row of partitions.attempt, version 1.';
grant execute on function recoup.canon_attempt_1(l partitions.attempt) to public;

CREATE OR REPLACE FUNCTION recoup.canon_audit_result_1(l recoup.audit_result)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 687c5878aa54cfea24cbae487e1dcfea
comment on function recoup.canon_audit_result_1(l recoup.audit_result) is 'Canonical text of a row of recoup.audit_result, version 1.';
grant execute on function recoup.canon_audit_result_1(l recoup.audit_result) to public;

CREATE OR REPLACE FUNCTION recoup.canon_claim_log_1(l recoup.claim_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body de0ff97e38ce91724569a7c445030231
comment on function recoup.canon_claim_log_1(l recoup.claim_log) is 'Canonical text of a row of recoup.claim_log, version 1.';
grant execute on function recoup.canon_claim_log_1(l recoup.claim_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_claim_log_2(l recoup.claim_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 175cde1d4f4f40b14bdc69063503d549
comment on function recoup.canon_claim_log_2(l recoup.claim_log) is 'Canonical text of a row of recoup.claim_log, version 2.';
grant execute on function recoup.canon_claim_log_2(l recoup.claim_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_content_log_1(l recoup.content_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body cdb503cac0bd4fe20da8677f828bf8cf
comment on function recoup.canon_content_log_1(l recoup.content_log) is 'Canonical text of a row of recoup.content_log, version 1.';
grant execute on function recoup.canon_content_log_1(l recoup.content_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_control_log_1(l recoup.control_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body f0fc4bd476a7159c05b4c0819a65dc21
comment on function recoup.canon_control_log_1(l recoup.control_log) is 'Canonical text of a row of recoup.control_log, version 1.';
grant execute on function recoup.canon_control_log_1(l recoup.control_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_control_log_2(l recoup.control_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 75d816d659bc5c2a9ad178d6add45a79
comment on function recoup.canon_control_log_2(l recoup.control_log) is 'Canonical text of a row of recoup.control_log, version 2.';
grant execute on function recoup.canon_control_log_2(l recoup.control_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_declaration_log_1(l recoup.declaration_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 914ca0dec941f21dca04bc1e71692050
comment on function recoup.canon_declaration_log_1(l recoup.declaration_log) is 'Canonical text of a row of recoup.declaration_log, version 1.';
grant execute on function recoup.canon_declaration_log_1(l recoup.declaration_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_delivery_event_1(l recoup.delivery_event)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 0817b9d620d804fe56c35a59d573331d
comment on function recoup.canon_delivery_event_1(l recoup.delivery_event) is 'Canonical text of a row of recoup.delivery_event, version 1.';
grant execute on function recoup.canon_delivery_event_1(l recoup.delivery_event) to public;

CREATE OR REPLACE FUNCTION recoup.canon_error_event_1(l recoup.error_event)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 785f01e78c593cfb0aca165be176e012
comment on function recoup.canon_error_event_1(l recoup.error_event) is 'Canonical text of a row of recoup.error_event, version 1.';
grant execute on function recoup.canon_error_event_1(l recoup.error_event) to public;

CREATE OR REPLACE FUNCTION recoup.canon_error_event_2(l recoup.error_event)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 2fa3fb9b2f4ef4b2bded76cdd5875e9d
comment on function recoup.canon_error_event_2(l recoup.error_event) is 'Canonical text of a row of recoup.error_event, version 2.';
grant execute on function recoup.canon_error_event_2(l recoup.error_event) to public;

CREATE OR REPLACE FUNCTION recoup.canon_error_event_3(l recoup.error_event)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 29879b6972c370d9eca33f4b16a69ddd
comment on function recoup.canon_error_event_3(l recoup.error_event) is 'Canonical text of a row of recoup.error_event, version 3.';
grant execute on function recoup.canon_error_event_3(l recoup.error_event) to public;

CREATE OR REPLACE FUNCTION recoup.canon_gate_zero_air_1(l cl.gate_zero_air)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body ee669d1c5a1f4c9d989b5c205e959fd8
comment on function recoup.canon_gate_zero_air_1(l cl.gate_zero_air) is 'Canonical text of a row of cl.gate_zero_air, version 1.';
grant execute on function recoup.canon_gate_zero_air_1(l cl.gate_zero_air) to public;

CREATE OR REPLACE FUNCTION recoup.canon_gate_zero_air_2(l cl.gate_zero_air)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body e72da20a86908d7074b45d5b5cd2f41f
comment on function recoup.canon_gate_zero_air_2(l cl.gate_zero_air) is 'Canonical text of a row of cl.gate_zero_air, version 2.';
grant execute on function recoup.canon_gate_zero_air_2(l cl.gate_zero_air) to public;

CREATE OR REPLACE FUNCTION recoup.canon_late_result_1(l recoup.late_result)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body d4ab23a2e4aca54031a15c2893fb9c7c
comment on function recoup.canon_late_result_1(l recoup.late_result) is 'Canonical text of a row of recoup.late_result, version 1.';
grant execute on function recoup.canon_late_result_1(l recoup.late_result) to public;

CREATE OR REPLACE FUNCTION recoup.canon_late_result_2(l recoup.late_result)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 683e91b0ddbf9faa21f82b7f76a7bd6e
comment on function recoup.canon_late_result_2(l recoup.late_result) is 'Canonical text of a row of recoup.late_result, version 2.';
grant execute on function recoup.canon_late_result_2(l recoup.late_result) to public;

CREATE OR REPLACE FUNCTION recoup.canon_override_log_1(l partitions.override_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 066cc5e3c3aa1fdb6135b64559fb11b8
comment on function recoup.canon_override_log_1(l partitions.override_log) is 'Canonical text of a row of partitions.override_log, version 1.';
grant execute on function recoup.canon_override_log_1(l partitions.override_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_partition_event_1(l partitions.partition_event)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 7208bff0b4a4f4b935f7729518441e4c
comment on function recoup.canon_partition_event_1(l partitions.partition_event) is 'Canonical text of a row of partitions.partition_event, version 1.';
grant execute on function recoup.canon_partition_event_1(l partitions.partition_event) to public;

CREATE OR REPLACE FUNCTION recoup.canon_pause_log_1(l recoup.pause_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 04443b554508936ba2e968c965cf7a4a
comment on function recoup.canon_pause_log_1(l recoup.pause_log) is 'Canonical text of a row of recoup.pause_log, version 1.';
grant execute on function recoup.canon_pause_log_1(l recoup.pause_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_pause_log_2(l recoup.pause_log)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 8f9925b37208e8ac376a16898cde127d
comment on function recoup.canon_pause_log_2(l recoup.pause_log) is 'Canonical text of a row of recoup.pause_log, version 2.';
grant execute on function recoup.canon_pause_log_2(l recoup.pause_log) to public;

CREATE OR REPLACE FUNCTION recoup.canon_policy_1(l recoup.policy)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body d8b3fddd820b36e60b9204a1b50cfcca
comment on function recoup.canon_policy_1(l recoup.policy) is 'Canonical text of a row of recoup.policy, version 1.';
grant execute on function recoup.canon_policy_1(l recoup.policy) to public;

CREATE OR REPLACE FUNCTION recoup.canon_policy_2(l recoup.policy)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 08cf870c2847156cdd36b13a402657df
comment on function recoup.canon_policy_2(l recoup.policy) is 'Canonical text of a row of recoup.policy, version 2.';
grant execute on function recoup.canon_policy_2(l recoup.policy) to public;

CREATE OR REPLACE FUNCTION recoup.canon_processed_1(l recoup.processed)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body b21fa4ea47e66b2175454f35a09b77a7
comment on function recoup.canon_processed_1(l recoup.processed) is 'Canonical text of a row of recoup.processed, version 1.';
grant execute on function recoup.canon_processed_1(l recoup.processed) to public;

CREATE OR REPLACE FUNCTION recoup.canon_provenance_1(l recovery.provenance)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 8f434038d89fcf64df4ad493891f62e1
comment on function recoup.canon_provenance_1(l recovery.provenance) is 'Canonical text of a row of recovery.provenance, version 1.';
grant execute on function recoup.canon_provenance_1(l recovery.provenance) to public;

CREATE OR REPLACE FUNCTION recoup.canon_run_trace_1(l recovery.run_trace)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 5fefc12e04640d62520af4cd5cf78129
comment on function recoup.canon_run_trace_1(l recovery.run_trace) is 'Canonical text of a row of recovery.run_trace, version 1.';
grant execute on function recoup.canon_run_trace_1(l recovery.run_trace) to public;

CREATE OR REPLACE FUNCTION recoup.canon_sovereign_mint_air_1(l cl.sovereign_mint_air)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body dbd689cf042be20ede8971d70dae0ba4
comment on function recoup.canon_sovereign_mint_air_1(l cl.sovereign_mint_air) is 'Canonical text of a row of cl.sovereign_mint_air, version 1.';
grant execute on function recoup.canon_sovereign_mint_air_1(l cl.sovereign_mint_air) to public;

CREATE OR REPLACE FUNCTION recoup.canon_sovereign_mint_air_2(l cl.sovereign_mint_air)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 18bf11147f5a50abff4abba00a0425f4
comment on function recoup.canon_sovereign_mint_air_2(l cl.sovereign_mint_air) is 'Canonical text of a row of cl.sovereign_mint_air, version 2.';
grant execute on function recoup.canon_sovereign_mint_air_2(l cl.sovereign_mint_air) to public;

CREATE OR REPLACE FUNCTION recoup.check_routes()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 6eb484f4d5466edde68c0e515463e3ea
comment on function recoup.check_routes() is 'Refuses a policy that holds the address or the secret of a route: only names of environment variables.';
grant execute on function recoup.check_routes() to public;

CREATE OR REPLACE FUNCTION recoup.check_seal(s recoup.seal)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 7eaa5077114436ed04ad4e438c515429
comment on function recoup.check_seal(s recoup.seal) is 'What is wrong with a seal or its rows; null when nothing is.';
grant execute on function recoup.check_seal(s recoup.seal) to public;

grant execute on function recoup.claim_deliveries(among text[], most integer, worker_ text, lease interval, OUT ids uuid[], OUT routes text[], OUT subjects text[], OUT bodies jsonb[], OUT abouts text[], OUT origins text[], OUT counts integer[], OUT created timestamp with time zone[], OUT token_ uuid, OUT until_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.claim_deliveries(among text[], most integer, worker_ text, lease interval, OUT ids uuid[], OUT routes text[], OUT subjects text[], OUT bodies jsonb[], OUT abouts text[], OUT origins text[], OUT counts integer[], OUT created timestamp with time zone[], OUT token_ uuid, OUT until_ timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 7208061033381ef37bb90009d862ac6d
comment on function recoup.claim_deliveries(among text[], most integer, worker_ text, lease interval, OUT ids uuid[], OUT routes text[], OUT subjects text[], OUT bodies jsonb[], OUT abouts text[], OUT origins text[], OUT counts integer[], OUT created timestamp with time zone[], OUT token_ uuid, OUT until_ timestamp with time zone) is 'Takes what is due, of these parts (null: of all), longest due first, under one lease, generated from the declaration.';

grant execute on function recoup.claim_errors(among text[], most integer, worker_ text, lease interval, OUT tables text[], OUT ids bigint[], OUT entities uuid[], OUT work_keys text[], OUT codes text[], OUT messages text[], OUT signatures text[], OUT severities text[], OUT categories text[], OUT counts integer[], OUT budgets integer[], OUT payloads jsonb[], OUT alternatives jsonb[], OUT created timestamp with time zone[], OUT token_ uuid, OUT until_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.claim_errors(among text[], most integer, worker_ text, lease interval, OUT tables text[], OUT ids bigint[], OUT entities uuid[], OUT work_keys text[], OUT codes text[], OUT messages text[], OUT signatures text[], OUT severities text[], OUT categories text[], OUT counts integer[], OUT budgets integer[], OUT payloads jsonb[], OUT alternatives jsonb[], OUT created timestamp with time zone[], OUT token_ uuid, OUT until_ timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 0ec96fe32156b420d73594b60ffeb6f2
comment on function recoup.claim_errors(among text[], most integer, worker_ text, lease interval, OUT tables text[], OUT ids bigint[], OUT entities uuid[], OUT work_keys text[], OUT codes text[], OUT messages text[], OUT signatures text[], OUT severities text[], OUT categories text[], OUT counts integer[], OUT budgets integer[], OUT payloads jsonb[], OUT alternatives jsonb[], OUT created timestamp with time zone[], OUT token_ uuid, OUT until_ timestamp with time zone) is 'Takes what is due, of these parts (null: of all), longest due first, under one lease, generated from the declaration.';

grant execute on function recoup.clear_errors(error_table_ text, entities uuid[], code text, work_key_ text, ran_for interval, OUT resolved bigint[], OUT parked bigint[], OUT changed bigint[]) to public;

CREATE OR REPLACE FUNCTION recoup.clear_errors(error_table_ text, entities uuid[], code text, work_key_ text, ran_for interval, OUT resolved bigint[], OUT parked bigint[], OUT changed bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 29fae4ede1373fde0fd5b7f520c85d30
comment on function recoup.clear_errors(error_table_ text, entities uuid[], code text, work_key_ text, ran_for interval, OUT resolved bigint[], OUT parked bigint[], OUT changed bigint[]) is 'Resolves what is open for a table and entities, after a later success. Leaves parked errors, and those changed since.';

CREATE OR REPLACE PROCEDURE recoup.close_all(IN log_ text)
 LANGUAGE plpgsql; -- body 05bfd73ab79a4d6b381b684493506af4
comment on procedure recoup.close_all(IN log_ text) is 'Closes a declared log and all its partitions.';
grant execute on procedure recoup.close_all(IN log_ text) to public;

CREATE OR REPLACE PROCEDURE recoup.close_log(IN relation regclass, IN log_ text)
 LANGUAGE plpgsql; -- body 0db483905764a0ed38162e4bfaf84da2
comment on procedure recoup.close_log(IN relation regclass, IN log_ text) is 'Closes a declared log, or a partition of it: append-only, and written only by its recorders if it has any.';
grant execute on procedure recoup.close_log(IN relation regclass, IN log_ text) to public;

CREATE OR REPLACE FUNCTION recoup.close_windows(most integer, only_ bigint DEFAULT NULL::bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body fb051ea45753c49e085f3bd1ced1dd89
comment on function recoup.close_windows(most integer, only_ bigint) is 'Parks errors whose retry window closed, or one of them.';
grant execute on function recoup.close_windows(most integer, only_ bigint) to public;

CREATE OR REPLACE FUNCTION recoup.closes_error(event_type text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body 1655cb7ef104d80cfea209d080282d7c
comment on function recoup.closes_error(event_type text) is 'Whether an error is closed from this event on, and blocks nothing.';
grant execute on function recoup.closes_error(event_type text) to public;

CREATE OR REPLACE FUNCTION recoup.column_rules(life recoup.lifecycle)
 RETURNS TABLE(sqlstate_ text, column_ text, broken text, rule text)
 LANGUAGE sql
 STABLE; -- body 385eb0d3a8892b4134e42f08d65a6a9e
comment on function recoup.column_rules(life recoup.lifecycle) is 'The rules on columns, each as a condition that is true for a violation.';
grant execute on function recoup.column_rules(life recoup.lifecycle) to public;

CREATE OR REPLACE FUNCTION recoup.common(these integer[], others integer[])
 RETURNS integer[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body feb3b95a8b3cc7874841ca7e3639af27
comment on function recoup.common(these integer[], others integer[]) is 'The elements of both arrays, in order.';
grant execute on function recoup.common(these integer[], others integer[]) to public;

CREATE OR REPLACE FUNCTION recoup.content_alert_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body f79717dec9bffb2c6feda980c907cda2
comment on function recoup.content_alert_births() is 'Digests of rows of recoup.alert at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_api_key_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body f9126aa599b654eb4a405b09069b96d3
comment on function recoup.content_api_key_births() is 'Digests of rows of recoup.api_key at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_delivery_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body d29a36589fd94a99b60c45cdc9bc8863
comment on function recoup.content_delivery_births() is 'Digests of rows of recoup.delivery at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_error_archive_month_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body baf1a94bf39cf91aec39230e7eb7a782
comment on function recoup.content_error_archive_month_births() is 'Digests of rows of recoup.error_archive_month at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_error_redaction_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body cb471561714831692a111f29ab435207
comment on function recoup.content_error_redaction_births() is 'Digests of rows of recoup.error_redaction at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_function(life recoup.lifecycle)
 RETURNS TABLE(function text, arguments text, results text, settings text[], definer boolean, body text, says text)
 LANGUAGE sql
 STABLE
 SET quote_all_identifiers TO 'off'; -- body e3c725194391299e0922eca043989a56
comment on function recoup.content_function(life recoup.lifecycle) is 'The text of the recorder of birth digests; none if the lifecycle freezes only its key.';
grant execute on function recoup.content_function(life recoup.lifecycle) to public;

CREATE OR REPLACE FUNCTION recoup.content_operation_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body e82dd37521ba7981bec29d0dd5ea4186
comment on function recoup.content_operation_births() is 'Digests of rows of recoup.operation at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_operation_item_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body d0ca69b01e9f1a84abda2afc0ff23b71
comment on function recoup.content_operation_item_births() is 'Digests of rows of recoup.operation_item at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_retry_traceback_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 8b228dd4ba59cb352b0b40bf4d4c711a
comment on function recoup.content_retry_traceback_births() is 'Digests of rows of recoup.retry_traceback at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_silence_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body b4be0913ab04f21bac760b66aa6c05f8
comment on function recoup.content_silence_births() is 'Digests of rows of recoup.silence at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.content_worker_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 9cd0b92f9d3216f74226c931d9aba34e
comment on function recoup.content_worker_births() is 'Digests of rows of recoup.worker at their birth, generated from the declaration.';

grant execute on function recoup.count_denied(addresses text[], prefixes text[], refusals text[], counts bigint[], rows_most integer) to public;

CREATE OR REPLACE FUNCTION recoup.count_denied(addresses text[], prefixes text[], refusals text[], counts bigint[], rows_most integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 155eec5a7328775ae415ded62f44ae19
comment on function recoup.count_denied(addresses text[], prefixes text[], refusals text[], counts bigint[], rows_most integer) is 'Counts denied calls of this minute. What would be more rows than allowed is counted together.';

CREATE OR REPLACE FUNCTION recoup.day_slot(at timestamp with time zone)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE; -- body fa0afacca65b7f280967e1261f3e0dbc
comment on function recoup.day_slot(at timestamp with time zone) is 'The slot of recoup.idempotency for a time.';
grant execute on function recoup.day_slot(at timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.decides_errors(acting text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body 6665ce902a382a5f033caae1def781f4
comment on function recoup.decides_errors(acting text) is 'Whether moves of errors by this role are decisions, of a person or of a recovery candidate, and not retries.';
grant execute on function recoup.decides_errors(acting text) to public;

CREATE OR REPLACE FUNCTION recoup.delivery_is_behind(delivery_id_ uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body fdb397b5d92cdb9a4d63c56953166f29
comment on function recoup.delivery_is_behind(delivery_id_ uuid) is 'Whether an earlier notice of the same alert by the same route is still on its way.';
grant execute on function recoup.delivery_is_behind(delivery_id_ uuid) to public;

grant execute on function recoup.delivery_move_broken(o recoup.delivery, n recoup.delivery, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.delivery_move_broken(o recoup.delivery, n recoup.delivery, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body a0f24f4ed34ba32ab9671ae763d3c539
comment on function recoup.delivery_move_broken(o recoup.delivery, n recoup.delivery, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of a delivery breaks, or null.';

grant execute on function recoup.delivery_move_refusal(code_ text, o recoup.delivery, n recoup.delivery, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.delivery_move_refusal(code_ text, o recoup.delivery, n recoup.delivery, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 16779c1225cf7ff261c95d3ddda4180e
comment on function recoup.delivery_move_refusal(code_ text, o recoup.delivery, n recoup.delivery, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of recoup.delivery_move_broken.';

CREATE OR REPLACE FUNCTION recoup.delivery_policy()
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body a6fc9b644fa8eea6c754c50ae0a672f4
comment on function recoup.delivery_policy() is 'The section on deliveries of the active policy.';
grant execute on function recoup.delivery_policy() to public;

CREATE OR REPLACE FUNCTION recoup.delivery_tries(version_ integer, route_ text)
 RETURNS integer
 LANGUAGE sql
 STABLE; -- body df819007e630f85b6f72936ab77aac79
comment on function recoup.delivery_tries(version_ integer, route_ text) is 'How often a delivery by this route is tried that was queued under this policy; null: it has no such route.';
grant execute on function recoup.delivery_tries(version_ integer, route_ text) to public;

CREATE OR REPLACE FUNCTION recoup.delivery_wait(base_s integer, cap_s integer, tries integer)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE; -- body fbeab4b5bc4cafcdb67af9bdfd4041ea
comment on function recoup.delivery_wait(base_s integer, cap_s integer, tries integer) is 'How long a delivery waits after this number of failed tries.';
grant execute on function recoup.delivery_wait(base_s integer, cap_s integer, tries integer) to public;

CREATE OR REPLACE FUNCTION recoup.drop_old_requests()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '100ms'; -- body 3d02a86e30c287d6aa381d2710fde5af
comment on function recoup.drop_old_requests() is 'Empties the slots of days that have ended. Returns how many.';
grant execute on function recoup.drop_old_requests() to recoup_service;

CREATE OR REPLACE FUNCTION recoup.each_blocking_table()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE; -- body f1308a082714f3ac4793ce7246cbc59d
comment on function recoup.each_blocking_table() is 'Error tables whose open errors block their entity. Inlined.';
grant execute on function recoup.each_blocking_table() to public;

grant execute on function recoup.end_deliveries(parts text[], units uuid[], tokens uuid[], outcomes text[], failures text[], OUT ended uuid[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recoup.end_deliveries(parts text[], units uuid[], tokens uuid[], outcomes text[], failures text[], OUT ended uuid[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body ae9cb5496d9c804e82c5851b60346b03
comment on function recoup.end_deliveries(parts text[], units uuid[], tokens uuid[], outcomes text[], failures text[], OUT ended uuid[], OUT statuses text[]) is 'Ends tries: delivered, tried again later, or dead. Late outcomes are stored, and not applied.';

grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_consumer;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_control_plane;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_evaluator;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_gate;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_hub;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_key_manager;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_matcher;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_operator;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_reviewer;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_runner;
grant execute on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) to recoup_scoped_execution;

CREATE OR REPLACE FUNCTION recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body f13c2c83455a7371cbe344c877c427a1
comment on function recoup.end_request(principal_ text, key_ text, status_ integer, answer_ text, about_ text) is 'Stores what a request was answered, in the transaction of its effect.';

grant execute on function recoup.end_retries(tables text[], ids bigint[], tokens uuid[], outcomes text[], failures text[], OUT ended bigint[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recoup.end_retries(tables text[], ids bigint[], tokens uuid[], outcomes text[], failures text[], OUT ended bigint[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body f29627b6f92b29462db1e7d796f831c1
comment on function recoup.end_retries(tables text[], ids bigint[], tokens uuid[], outcomes text[], failures text[], OUT ended bigint[], OUT statuses text[]) is 'Ends retries: resolved, retried later, parked, or archived. Late outcomes are stored, and not applied.';

CREATE OR REPLACE FUNCTION recoup.ends_as(policy jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE; -- body aa72b7d8e70eef108612b7bd2c8d47ed
comment on function recoup.ends_as(policy jsonb) is 'Disposition, by table, of errors whose retries ended: PARKED if the table allows it, else ARCHIVE or IGNORE.';
grant execute on function recoup.ends_as(policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.entity_bucket(entity uuid)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body 14939ecb98c466af2fb01426295f6482
comment on function recoup.entity_bucket(entity uuid) is 'For programs of release 3 of errors.';
grant execute on function recoup.entity_bucket(entity uuid) to public;

CREATE OR REPLACE FUNCTION recoup.entity_key(entity uuid)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body ee1646a17af04c670075a0c96cdea97d
comment on function recoup.entity_key(entity uuid) is 'The key of an entity''s lock.';
grant execute on function recoup.entity_key(entity uuid) to public;

CREATE OR REPLACE FUNCTION recoup.entity_keys(entities uuid[])
 RETURNS integer[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body f0ccf29e8936b52a337c3bc0466d9123
comment on function recoup.entity_keys(entities uuid[]) is 'The keys of entities'' locks, distinct and in order. Null: there are none.';
grant execute on function recoup.entity_keys(entities uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.entity_locks()
 RETURNS TABLE(pid integer, class integer, key integer, exclusive boolean)
 LANGUAGE sql; -- body 66529a286069dc6d0e3d26dab4a60508
comment on function recoup.entity_locks() is 'The locks that other sessions have of entities.';
grant execute on function recoup.entity_locks() to public;

CREATE OR REPLACE PROCEDURE recoup.equip(IN relation regclass, IN subject_ text)
 LANGUAGE plpgsql; -- body 0612aa2f3ed2f0654f3ada3efbd053e5
comment on procedure recoup.equip(IN relation regclass, IN subject_ text) is 'Installs the guard of a lifecycle and its followers on its table or on a partition.';
grant execute on procedure recoup.equip(IN relation regclass, IN subject_ text) to public;

CREATE OR REPLACE PROCEDURE recoup.equip_all(IN subject_ text)
 LANGUAGE plpgsql; -- body 2bd056ea10cc6b9e7b8c0c4bb07fa943
comment on procedure recoup.equip_all(IN subject_ text) is 'Equips the table of a lifecycle, all its partitions and its queue.';
grant execute on procedure recoup.equip_all(IN subject_ text) to public;

CREATE OR REPLACE PROCEDURE recoup.equip_declared()
 LANGUAGE plpgsql; -- body 12c95e4333f86017a568dcc9e2889855
comment on procedure recoup.equip_declared() is 'Equips every declared table, drops functions of removed ones, and closes all to replication.';
grant execute on procedure recoup.equip_declared() to public;

CREATE OR REPLACE PROCEDURE recoup.equip_queue(IN subject_ text)
 LANGUAGE plpgsql; -- body 61f1ed1eb38b7783a15b65ac4a0733f2
comment on procedure recoup.equip_queue(IN subject_ text) is 'Puts the guards and the recorder of claims on the queue of a lifecycle, if it has one, and lets those claim who may.';
grant execute on procedure recoup.equip_queue(IN subject_ text) to public;

grant execute on function recoup.error_birth_broken(n recoup.error, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.error_birth_broken(n recoup.error, now_ timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 49a97c9ab2621c65b85b58253a0345c6
comment on function recoup.error_birth_broken(n recoup.error, now_ timestamp with time zone) is 'What is wrong with an error at birth, as a text, or null.';

CREATE OR REPLACE FUNCTION recoup.error_change(o recoup.error, n recoup.error)
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body 6dd1ccde0351a524fb2363ffc0d9e045
comment on function recoup.error_change(o recoup.error, n recoup.error) is 'What recoup.judge_error_changes needs to know of a new disposition, or null.';
grant execute on function recoup.error_change(o recoup.error, n recoup.error) to public;

grant execute on function recoup.error_change_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text) to public;

CREATE OR REPLACE FUNCTION recoup.error_change_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body cbbf05cc2af86616f89529330c4ad97d
comment on function recoup.error_change_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text) is 'The rule that a change breaks because its event would not tell it (recoup.error_move_rules), or null.';

grant execute on function recoup.error_digest(error_table text, error_id bigint, outreach_id uuid, work_key text, error_code text, error_signature text, severity text, category text, ttl_tier text, decided_by text, clamped_from text, overruled text, policy_version integer, created_at timestamp with time zone, lineage_id bigint, error_message text, payload jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.error_digest(error_table text, error_id bigint, outreach_id uuid, work_key text, error_code text, error_signature text, severity text, category text, ttl_tier text, decided_by text, clamped_from text, overruled text, policy_version integer, created_at timestamp with time zone, lineage_id bigint, error_message text, payload jsonb)
 RETURNS bytea
 LANGUAGE sql
 STABLE; -- body 9b9de14d903ef1ae3a4d5351f0543858
comment on function recoup.error_digest(error_table text, error_id bigint, outreach_id uuid, work_key text, error_code text, error_signature text, severity text, category text, ttl_tier text, decided_by text, clamped_from text, overruled text, policy_version integer, created_at timestamp with time zone, lineage_id bigint, error_message text, payload jsonb) is 'Digest of what an error was given; times in the caller''s zone: UTC.';

grant execute on function recoup.error_move_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.error_move_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body f4069690810f95dbc280a0c6b95e3601
comment on function recoup.error_move_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of an error breaks (recoup.error_move_rules), or null.';

grant execute on function recoup.error_move_refusal(code_ text, o recoup.error, n recoup.error, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.error_move_refusal(code_ text, o recoup.error, n recoup.error, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 578204ee96c2c6d59095879755a72239
comment on function recoup.error_move_refusal(code_ text, o recoup.error, n recoup.error, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of recoup.error_move_broken.';

CREATE OR REPLACE FUNCTION recoup.error_move_rules()
 RETURNS TABLE(code text, sqlstate text, message text, hint text)
 LANGUAGE sql
 IMMUTABLE; -- body 6d7b7ed9bafbf21db85a7fa7dd357ac2
comment on function recoup.error_move_rules() is 'The message and hint for each rule of recoup.error_move_broken.';
grant execute on function recoup.error_move_rules() to public;

CREATE OR REPLACE FUNCTION recoup.error_policy()
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body c4b629517326438365aae78abb19e88e
comment on function recoup.error_policy() is 'The section on errors of the active policy.';
grant execute on function recoup.error_policy() to public;

CREATE OR REPLACE FUNCTION recoup.event_flags(e recoup.error_event)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE; -- body 5b5b45013152726bfa5e2e3c21598a9e
comment on function recoup.event_flags(e recoup.error_event) is 'What metrics count of an event: 1 recorded, 2 ignored, 4 came to be parked, 8 its retries ended, 16 none was left, 32 is parked no more, 64 was escalated by a person or at level 2 or higher until then.';
grant execute on function recoup.event_flags(e recoup.error_event) to public;

CREATE OR REPLACE FUNCTION recoup.event_parks(e recoup.error_event)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body 73449004dcfc6ac30589c77c3f673c09
comment on function recoup.event_parks(e recoup.error_event) is 'Whether an error came to be parked with this event.';
grant execute on function recoup.event_parks(e recoup.error_event) to public;

CREATE OR REPLACE FUNCTION recoup.expire_deliveries(most integer, only_ uuid DEFAULT NULL::uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 3499310aef94a5e9d66da3796e925148
comment on function recoup.expire_deliveries(most integer, only_ uuid) is 'Ends as LAPSED all work that outlived its lease, or one unit of it, generated from the declaration.';
grant execute on function recoup.expire_deliveries(most integer, only_ uuid) to public;

CREATE OR REPLACE FUNCTION recoup.fall_back_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body dbd4568a66f95f9a35da129ca5caf426
comment on function recoup.fall_back_deliveries() is 'Queues a delivery that died once more, by the fallback route of the policy.';

CREATE OR REPLACE FUNCTION recoup.filled(template text, words jsonb)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE; -- body de897c11f3116398ced137f3de14b03e
comment on function recoup.filled(template text, words jsonb) is 'A template with its words filled in.';
grant execute on function recoup.filled(template text, words jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.first_unsealed(log_ text)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'; -- body 81eb8f4a671dfed1696deb88e1830886
comment on function recoup.first_unsealed(log_ text) is 'The seq of the oldest unsealed row, in the order of transactions; null: all rows are sealed.';
grant execute on function recoup.first_unsealed(log_ text) to public;

CREATE OR REPLACE FUNCTION recoup.follower_name(f recoup.follower)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 3ed734ddb38ed5365aa07194f2531059
comment on function recoup.follower_name(f recoup.follower) is 'The name of a follower''s trigger: ordered by letter, after the guard.';
grant execute on function recoup.follower_name(f recoup.follower) to public;

CREATE OR REPLACE FUNCTION recoup.guard_alert_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body daa2c90394c7576c7a7e882a862674ee
comment on function recoup.guard_alert_births() is 'The guard of births of recoup.alert, generated from the declaration.';
grant execute on function recoup.guard_alert_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_alert_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 16dc9b6dfde86343a9f39270cdb837ff
comment on function recoup.guard_alert_moves() is 'The guard of moves of recoup.alert, generated from the declaration.';
grant execute on function recoup.guard_alert_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_api_key_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 3c9665233b8ce43c9e5021a7d9317953
comment on function recoup.guard_api_key_births() is 'The guard of births of recoup.api_key, generated from the declaration.';
grant execute on function recoup.guard_api_key_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_api_key_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 3082b09f7eadb2b09527d13ee1b3548a
comment on function recoup.guard_api_key_moves() is 'The guard of moves of recoup.api_key, generated from the declaration.';
grant execute on function recoup.guard_api_key_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 953b9d99b4e5bf2e27f3d80e90339813
comment on function recoup.guard_births() is 'Refuses an insert in a status, or by an authority, that is not listed.';
grant execute on function recoup.guard_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_claims()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 6911ec6d0c736f4367d902306bc4e2fa
comment on function recoup.guard_claims() is 'Refuses a claim of what is not due, is held already, or for too long.';
grant execute on function recoup.guard_claims() to public;

CREATE OR REPLACE FUNCTION recoup.guard_clock_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 5d4dacfa726b61ed5aab8d78ebd74b02
comment on function recoup.guard_clock_moves() is 'The guard of moves of recoup.clock, generated from the declaration.';
grant execute on function recoup.guard_clock_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_delivery_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body ac8d5e56b672442cd51d364789e18886
comment on function recoup.guard_delivery_births() is 'The guard of births of recoup.delivery, generated from the declaration.';
grant execute on function recoup.guard_delivery_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_delivery_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 8f99af6881aeba701f9ca2b9cee78134
comment on function recoup.guard_delivery_moves() is 'The guard of moves of recoup.delivery, generated from the declaration.';
grant execute on function recoup.guard_delivery_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_error_archive_month_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 8efe26fbbc1045a9ba63681f54260690
comment on function recoup.guard_error_archive_month_births() is 'The guard of births of recoup.error_archive_month, generated from the declaration.';
grant execute on function recoup.guard_error_archive_month_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_error_archive_month_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 0e200033b8559e3b513479e0032bd913
comment on function recoup.guard_error_archive_month_moves() is 'The guard of moves of recoup.error_archive_month, generated from the declaration.';
grant execute on function recoup.guard_error_archive_month_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_error_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 8aae18dd8b9cc221b32bed77634aa21a
comment on function recoup.guard_error_births() is 'The guard of births of recoup.error, generated from the declaration.';
grant execute on function recoup.guard_error_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_error_exits()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body a295e465d70239de1961978aa2f2aca1
comment on function recoup.guard_error_exits() is 'The guard of exits of recoup.error, generated from the declaration.';
grant execute on function recoup.guard_error_exits() to public;

CREATE OR REPLACE FUNCTION recoup.guard_error_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 19a4fb3779d82638c276e9dba99ef1ce
comment on function recoup.guard_error_moves() is 'The guard of moves of recoup.error, generated from the declaration.';
grant execute on function recoup.guard_error_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_error_redaction_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body d6eed022099605faa03475777244b9ba
comment on function recoup.guard_error_redaction_births() is 'The guard of births of recoup.error_redaction, generated from the declaration.';
grant execute on function recoup.guard_error_redaction_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_error_redaction_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 5964c9151c49ca34b4f3303de1b8985f
comment on function recoup.guard_error_redaction_moves() is 'The guard of moves of recoup.error_redaction, generated from the declaration.';
grant execute on function recoup.guard_error_redaction_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_exits()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 1e9709e726b80e22a2e49f82ef4fda42
comment on function recoup.guard_exits() is 'Refuses the deletion of a row whose exit is not listed for this authority.';
grant execute on function recoup.guard_exits() to public;

CREATE OR REPLACE FUNCTION recoup.guard_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 828f1283ac7586654769eb05c3bfd552
comment on function recoup.guard_moves() is 'Refuses a move that is not listed for this authority, a changed key, and changes to frozen, set-once, rising or counting columns.';
grant execute on function recoup.guard_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_of(subject_ text, kind_ text)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 9ed75aa68160b07d7549c214ce5a9e5a
comment on function recoup.guard_of(subject_ text, kind_ text) is 'The function that guards the births, moves or exits of a table.';
grant execute on function recoup.guard_of(subject_ text, kind_ text) to public;

CREATE OR REPLACE FUNCTION recoup.guard_operation_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body b5f8d7e6bf06a3760847c87437e54084
comment on function recoup.guard_operation_births() is 'The guard of births of recoup.operation, generated from the declaration.';
grant execute on function recoup.guard_operation_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_operation_item_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body a8862aab2958c357052800c58dc8f95e
comment on function recoup.guard_operation_item_births() is 'The guard of births of recoup.operation_item, generated from the declaration.';
grant execute on function recoup.guard_operation_item_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_operation_item_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body eb54aaba4a8ec19811f20e9c99f9d201
comment on function recoup.guard_operation_item_moves() is 'The guard of moves of recoup.operation_item, generated from the declaration.';
grant execute on function recoup.guard_operation_item_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_operation_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body f55f32461498f55771d476bb4ce8e6aa
comment on function recoup.guard_operation_moves() is 'The guard of moves of recoup.operation, generated from the declaration.';
grant execute on function recoup.guard_operation_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_pause_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 4cf67d367d4a34d19fe5c1ccd361fe59
comment on function recoup.guard_pause_births() is 'The guard of births of recoup.pause, generated from the declaration.';
grant execute on function recoup.guard_pause_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_pause_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 5879cc722e04837cd2fc4b4947c561d5
comment on function recoup.guard_pause_moves() is 'The guard of moves of recoup.pause, generated from the declaration.';
grant execute on function recoup.guard_pause_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_queue()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 4f329c1d6749a7611c21032ecb13dc1a
comment on function recoup.guard_queue() is 'Refuses to put something into a queue, or to take it out, by hand.';
grant execute on function recoup.guard_queue() to public;

CREATE OR REPLACE FUNCTION recoup.guard_retry_traceback_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body e1b5fb5598a19a90fef78e5a6ff37fb1
comment on function recoup.guard_retry_traceback_births() is 'The guard of births of recoup.retry_traceback, generated from the declaration.';
grant execute on function recoup.guard_retry_traceback_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_retry_traceback_exits()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 19c7ef31d425ccdc9b4704129f7d6a1b
comment on function recoup.guard_retry_traceback_exits() is 'The guard of exits of recoup.retry_traceback, generated from the declaration.';
grant execute on function recoup.guard_retry_traceback_exits() to public;

CREATE OR REPLACE FUNCTION recoup.guard_silence_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body ac5f6a0146807b138355742f6249954e
comment on function recoup.guard_silence_births() is 'The guard of births of recoup.silence, generated from the declaration.';
grant execute on function recoup.guard_silence_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_silence_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body a3d8cf9bf08758e9f610bb0b39db832f
comment on function recoup.guard_silence_moves() is 'The guard of moves of recoup.silence, generated from the declaration.';
grant execute on function recoup.guard_silence_moves() to public;

CREATE OR REPLACE FUNCTION recoup.guard_text(life recoup.lifecycle, kind_ text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET quote_all_identifiers TO 'off'; -- body ad6ef76584a8b3c97b82a6835010bcc4
comment on function recoup.guard_text(life recoup.lifecycle, kind_ text) is 'The body of the guard of a lifecycle''s births, moves or exits; null where none are listed.';
grant execute on function recoup.guard_text(life recoup.lifecycle, kind_ text) to public;

CREATE OR REPLACE FUNCTION recoup.guard_truncate()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 5561c6aa93f6190b45dadabf3cfa0a44
comment on function recoup.guard_truncate() is 'Refuses TRUNCATE.';
grant execute on function recoup.guard_truncate() to public;

CREATE OR REPLACE FUNCTION recoup.guard_worker_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body dba5a2eb598f5fbac074e87c6ee473bb
comment on function recoup.guard_worker_births() is 'The guard of births of recoup.worker, generated from the declaration.';
grant execute on function recoup.guard_worker_births() to public;

CREATE OR REPLACE FUNCTION recoup.guard_worker_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 47fd2e90c8a22fe86af8446cd5cafdef
comment on function recoup.guard_worker_moves() is 'The guard of moves of recoup.worker, generated from the declaration.';
grant execute on function recoup.guard_worker_moves() to public;

CREATE OR REPLACE FUNCTION recoup.held_lineage(e recoup.error, now_ timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE; -- body d11662ba4bc2ab92af956dcb69a090e6
comment on function recoup.held_lineage(e recoup.error, now_ timestamp with time zone) is 'The lineage under which recovery may keep an expired error; null: it is not kept any longer.';
grant execute on function recoup.held_lineage(e recoup.error, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.hold_entities(entities uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 0fba6b937db1ea8f914dc9fe1fa52f5f
comment on function recoup.hold_entities(entities uuid[]) is 'Makes promotions of these entities wait until this transaction ends, or waits for those under way.';
grant execute on function recoup.hold_entities(entities uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.hold_few(keys integer[], entities uuid[])
 RETURNS void
 LANGUAGE plpgsql; -- body 484af5a799fed396d484a433995ba050
comment on function recoup.hold_few(keys integer[], entities uuid[]) is 'Takes the locks of entities, one by one.';
grant execute on function recoup.hold_few(keys integer[], entities uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.hold_for_promotion(entities uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body e1f0ceae84d7aab20adfd4c69b9da259
comment on function recoup.hold_for_promotion(entities uuid[]) is 'Makes errors of these entities wait until this transaction ends. For more than a thousand: all errors.';
grant execute on function recoup.hold_for_promotion(entities uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.hold_many(keys integer[], entities uuid[])
 RETURNS void
 LANGUAGE plpgsql; -- body 42617715e7d1f17c868bb36b387cf52a
comment on function recoup.hold_many(keys integer[], entities uuid[]) is 'Marks this transaction as one that records many, when none of the entities is being promoted.';
grant execute on function recoup.hold_many(keys integer[], entities uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.hold_promotions(buckets integer[])
 RETURNS void
 LANGUAGE sql; -- body abd9f85a722666a8f3246c8cf4258c1b
comment on function recoup.hold_promotions(buckets integer[]) is 'For programs of release 3 of errors: nothing.';
grant execute on function recoup.hold_promotions(buckets integer[]) to public;

CREATE OR REPLACE FUNCTION recoup.hold_unclaimed(error_id_ bigint)
 RETURNS SETOF bigint
 LANGUAGE sql; -- body b91b9262e8053ca3c61f832122f7d198
comment on function recoup.hold_unclaimed(error_id_ bigint) is 'An error that waits for its retry, unclaimed and locked; or nothing.';
grant execute on function recoup.hold_unclaimed(error_id_ bigint) to public;

CREATE OR REPLACE FUNCTION recoup.hub_names(kind text)
 RETURNS text[]
 LANGUAGE sql
 STABLE; -- body 779dbab55cadd66f83127a63cd1aa416
comment on function recoup.hub_names(kind text) is 'The error tables, or the sources of partitions, of the hub that this transaction is limited to.';
grant execute on function recoup.hub_names(kind text) to public;

grant execute on function recoup.in_maintenance(policy jsonb, rule_ text, key_ text, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.in_maintenance(policy jsonb, rule_ text, key_ text, now_ timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body 755cbb67310f4350aac9dd65b4f0a4a8
comment on function recoup.in_maintenance(policy jsonb, rule_ text, key_ text, now_ timestamp with time zone) is 'Whether a maintenance window of the policy covers a rule and a key at a time.';

grant execute on function recoup.in_window(incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot) to public;

CREATE OR REPLACE FUNCTION recoup.in_window(incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 0d2c0966731cea03f26778c926324135
comment on function recoup.in_window(incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot) is 'SQL text: whether a row l of a log became visible between two snapshots.';

CREATE OR REPLACE FUNCTION recoup.inherited(by_row bigint[], of_table text[], ids bigint[])
 RETURNS TABLE(heir bigint, old_lineage bigint, was_parked boolean, was_escalated boolean, was_retried boolean, old_created_at timestamp with time zone, old_tier text, old_expires_at timestamp with time zone, old_retry_count integer, old_max_retries integer, old_retry_until timestamp with time zone, last_retry_at timestamp with time zone, last_outcome text, last_failure text, old_parked_at timestamp with time zone, old_parked_by text, old_park_reason text, assigned_to text, last_reviewed_at timestamp with time zone, old_level integer, old_escalated_at timestamp with time zone, old_owner text, old_reason text, old_parked_since timestamp with time zone, old_due_at timestamp with time zone, old_met_at timestamp with time zone, old_breached_at timestamp with time zone)
 LANGUAGE sql
 STABLE; -- body 08db895e7fead3242e43f3475fe286d9
comment on function recoup.inherited(by_row bigint[], of_table text[], ids bigint[]) is 'What a row of the call inherits from the error that it superseded (recoup.supersede_errors).';
grant execute on function recoup.inherited(by_row bigint[], of_table text[], ids bigint[]) to public;

grant execute on function recoup.insert_errors(new_ids bigint[], places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[], work_keys text[], later integer[], tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[], budgets integer[], park_reasons text[], deciders text[], clamps text[], overruled text[], decided_under integer, by_row bigint[], of_table text[], old_ids bigint[], policy jsonb, now_ timestamp with time zone, failed_at timestamp with time zone[]) to public;

CREATE OR REPLACE FUNCTION recoup.insert_errors(new_ids bigint[], places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[], work_keys text[], later integer[], tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[], budgets integer[], park_reasons text[], deciders text[], clamps text[], overruled text[], decided_under integer, by_row bigint[], of_table text[], old_ids bigint[], policy jsonb, now_ timestamp with time zone, failed_at timestamp with time zone[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'on'
 SET enable_nestloop TO 'off'; -- body d43554a40b4fea7559f0e620b3473ad7
comment on function recoup.insert_errors(new_ids bigint[], places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[], work_keys text[], later integer[], tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[], budgets integer[], park_reasons text[], deciders text[], clamps text[], overruled text[], decided_under integer, by_row bigint[], of_table text[], old_ids bigint[], policy jsonb, now_ timestamp with time zone, failed_at timestamp with time zone[]) is 'Writes new errors by their decisions and by what each inherits from the one that it supersedes.';

CREATE OR REPLACE PROCEDURE recoup.install_clock()
 LANGUAGE plpgsql; -- body 1bf25b37ca17b6716c0f8e8a996a6d17
comment on procedure recoup.install_clock() is 'Writes recoup.now() for the status of the clock.';
grant execute on procedure recoup.install_clock() to public;

CREATE OR REPLACE FUNCTION recoup.is_blocked(outreach_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'; -- body cb0df896068bbecaa2a629118cd7d6f6
comment on function recoup.is_blocked(outreach_id uuid) is 'Whether a blocking table holds an error of this entity that is to be retried, or is parked.';
grant execute on function recoup.is_blocked(outreach_id uuid) to public;

CREATE OR REPLACE FUNCTION recoup.is_blocked_locking(outreach_id uuid)
 RETURNS boolean
 LANGUAGE sql; -- body 73c27f0e0b2fb69c779cfea17deb2d42
comment on function recoup.is_blocked_locking(outreach_id uuid) is 'Whether an entity is blocked. Its errors wait until this transaction ends.';
grant execute on function recoup.is_blocked_locking(outreach_id uuid) to public;

grant execute on function recoup.is_error_redacted(message_ text, payload_ jsonb, failure_ text, r recoup.error_redaction) to public;

CREATE OR REPLACE FUNCTION recoup.is_error_redacted(message_ text, payload_ jsonb, failure_ text, r recoup.error_redaction)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body e295c96bbdbb92a9205202fc7b078fc7
comment on function recoup.is_error_redacted(message_ text, payload_ jsonb, failure_ text, r recoup.error_redaction) is 'Whether the texts of a redaction are those of an error, with [redacted] in the place of parts of them.';

grant execute on function recoup.is_now(told timestamp with time zone, began timestamp with time zone, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.is_now(told timestamp with time zone, began timestamp with time zone, now_ timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body ba5a14172c8cb177d8f1a67639669168
comment on function recoup.is_now(told timestamp with time zone, began timestamp with time zone, now_ timestamp with time zone) is 'Whether a time that a statement writes is now; the statement began at recoup.statement_time().';

CREATE OR REPLACE FUNCTION recoup.is_redacted_from(before_ text, after_ text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE; -- body a72d099ec2f1e38df06e9785005e4069
comment on function recoup.is_redacted_from(before_ text, after_ text) is 'Whether a text is another one with [redacted] in the place of parts of it.';
grant execute on function recoup.is_redacted_from(before_ text, after_ text) to public;

CREATE OR REPLACE FUNCTION recoup.is_redacted_payload(before_ jsonb, after_ jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE; -- body f67cba0101df9a5c91b13fda74f29488
comment on function recoup.is_redacted_payload(before_ jsonb, after_ jsonb) is 'Whether a payload is another one with [redacted] in the place of values or of parts of its texts and keys.';
grant execute on function recoup.is_redacted_payload(before_ jsonb, after_ jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.is_redaction(o recoup.error, n recoup.error)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body a24d8ce4863958862b70899fe780920e
comment on function recoup.is_redaction(o recoup.error, n recoup.error) is 'Asked by a guard: whether a move of an error erases something of its texts, and does nothing else.';
grant execute on function recoup.is_redaction(o recoup.error, n recoup.error) to public;

grant execute on function recoup.judge_alerts(signals text[], keys text[], units text[], readings numeric[], samples bigint[], facts_ jsonb[], failures_ jsonb, OUT fired integer, OUT notified integer, OUT ended integer, OUT expired integer) to public;

CREATE OR REPLACE FUNCTION recoup.judge_alerts(signals text[], keys text[], units text[], readings numeric[], samples bigint[], facts_ jsonb[], failures_ jsonb, OUT fired integer, OUT notified integer, OUT ended integer, OUT expired integer)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 2ac8f7f3837b012b36c909eee265aea4
comment on function recoup.judge_alerts(signals text[], keys text[], units text[], readings numeric[], samples bigint[], facts_ jsonb[], failures_ jsonb, OUT fired integer, OUT notified integer, OUT ended integer, OUT expired integer) is 'Judges readings by every rule of the policy: alerts fire, notify again, and end. Returns how many did.';

CREATE OR REPLACE FUNCTION recoup.judge_error_changes(acting text, policy jsonb, changes jsonb)
 RETURNS void
 LANGUAGE plpgsql; -- body 19af073cd7985743c40eb47d17dc4a44
comment on function recoup.judge_error_changes(acting text, policy jsonb, changes jsonb) is 'New dispositions are allowed, and make promotions wait; errors are moved at READ COMMITTED.';
grant execute on function recoup.judge_error_changes(acting text, policy jsonb, changes jsonb) to public;

grant execute on function recoup.keep_tracebacks(tables text[], ids bigint[], tokens uuid[], tracebacks text[]) to public;

CREATE OR REPLACE FUNCTION recoup.keep_tracebacks(tables text[], ids bigint[], tokens uuid[], tracebacks text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 066d0b9e30dcae942c670ce484bc4dfa
comment on function recoup.keep_tracebacks(tables text[], ids bigint[], tokens uuid[], tracebacks text[]) is 'Keeps the tracebacks of retries that were reported as failed; those of late reports are left out.';

grant execute on function recoup.kept_errors(error_table_ text, ids bigint[], lineages bigint[], now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.kept_errors(error_table_ text, ids bigint[], lineages bigint[], now_ timestamp with time zone)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body a1a5434d0bf42b0085035b7dea720b12
comment on function recoup.kept_errors(error_table_ text, ids bigint[], lineages bigint[], now_ timestamp with time zone) is 'Those of expired errors of a table that recovery still works on, by their lineages (recoup.held_lineage).';

grant execute on function recoup.kept_until(tier text, now_ timestamp with time zone, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.kept_until(tier text, now_ timestamp with time zone, policy jsonb)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE; -- body 70408e1bd424115ee2dc8977ab40cffe
comment on function recoup.kept_until(tier text, now_ timestamp with time zone, policy jsonb) is 'Until when an error of this tier is kept if it is unparked now; null: for ever.';

CREATE OR REPLACE FUNCTION recoup.key_object(key_ text[], alias text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body ce045851f2fd160d95ce8e85b7dd105c
comment on function recoup.key_object(key_ text[], alias text) is 'SQL text of an object holding a row''s key.';
grant execute on function recoup.key_object(key_ text[], alias text) to public;

CREATE OR REPLACE FUNCTION recoup.lapse_retries(most integer, only_ bigint DEFAULT NULL::bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 1bf0855ce3c32afe45de512c1a252c37
comment on function recoup.lapse_retries(most integer, only_ bigint) is 'Ends as LAPSED all work that outlived its lease, or one unit of it, generated from the declaration.';
grant execute on function recoup.lapse_retries(most integer, only_ bigint) to public;

grant execute on function recoup.late_delivery_reports(parts text[], units uuid[], tokens uuid[], outcomes text[], failures text[], INOUT ended uuid[], INOUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recoup.late_delivery_reports(parts text[], units uuid[], tokens uuid[], outcomes text[], failures text[], INOUT ended uuid[], INOUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body e7a7e1ccbbf9b7d2dc43cb93329b82be
comment on function recoup.late_delivery_reports(parts text[], units uuid[], tokens uuid[], outcomes text[], failures text[], INOUT ended uuid[], INOUT statuses text[]) is 'Adds to what ended what was reported before, and stores as late what was not; what is unknown is refused, generated from the declaration.';

grant execute on function recoup.late_error_reports(parts text[], units bigint[], tokens uuid[], outcomes text[], failures text[], INOUT ended bigint[], INOUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recoup.late_error_reports(parts text[], units bigint[], tokens uuid[], outcomes text[], failures text[], INOUT ended bigint[], INOUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body cc042592cef67353862da83dd733f1ad
comment on function recoup.late_error_reports(parts text[], units bigint[], tokens uuid[], outcomes text[], failures text[], INOUT ended bigint[], INOUT statuses text[]) is 'Adds to what ended what was reported before, and stores as late what was not; what is unknown is refused, generated from the declaration.';

CREATE OR REPLACE PROCEDURE recoup.limit_errors_to_hub(IN relation regclass, IN column_ text DEFAULT 'error_table'::text)
 LANGUAGE plpgsql; -- body 3249f41b65abeb8835264cdbaa7c73e7
comment on procedure recoup.limit_errors_to_hub(IN relation regclass, IN column_ text) is 'Limits a table whose rows belong to error tables to those of a hub.';
grant execute on procedure recoup.limit_errors_to_hub(IN relation regclass, IN column_ text) to public;

grant execute on procedure recoup.limit_to_hub(IN relation regclass, IN condition text, IN for_owner boolean) to public;

CREATE OR REPLACE PROCEDURE recoup.limit_to_hub(IN relation regclass, IN condition text, IN for_owner boolean DEFAULT true)
 LANGUAGE plpgsql; -- body 4e42ab2ca353711953149866cbe679ec
comment on procedure recoup.limit_to_hub(IN relation regclass, IN condition text, IN for_owner boolean) is 'Limits the rows of a table to those of the hub of a transaction, if it has one; also in functions of the owner.';

CREATE OR REPLACE FUNCTION recoup.lineage_of(e recoup.error)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body b7fa97e7b14d14509afd412dbaa7406a
comment on function recoup.lineage_of(e recoup.error) is 'The lineage of an error: where it has none, the error itself.';
grant execute on function recoup.lineage_of(e recoup.error) to public;

grant execute on function recoup.lineages_of_call(new_ids bigint[], later integer[], by_row bigint[], of_table text[], old_ids bigint[]) to public;

CREATE OR REPLACE FUNCTION recoup.lineages_of_call(new_ids bigint[], later integer[], by_row bigint[], of_table text[], old_ids bigint[])
 RETURNS bigint[]
 LANGUAGE plpgsql; -- body c1a0070ce6f8534be30068a2db5f0073
comment on function recoup.lineages_of_call(new_ids bigint[], later integer[], by_row bigint[], of_table text[], old_ids bigint[]) is 'Lineages of a call whose rows supersede each other: that of the error that the newest supersedes, or the first''s id.';

CREATE OR REPLACE FUNCTION recoup.listed_condition(life recoup.lifecycle, kind_ text)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 2c5a1d0d5c708026dedd608cfc5abc37
comment on function recoup.listed_condition(life recoup.lifecycle, kind_ text) is 'SQL text: whether a row''s step is listed for the role in acting; null where none is.';
grant execute on function recoup.listed_condition(life recoup.lifecycle, kind_ text) to public;

grant execute on function recoup.lock_open_errors(places integer[], entities uuid[], signatures text[], work_keys text[], later integer[], tables text[], tiers text[], policy jsonb, now_ timestamp with time zone, OUT by_row bigint[], OUT of_table text[], OUT ids bigint[], OUT expired boolean[]) to public;

CREATE OR REPLACE FUNCTION recoup.lock_open_errors(places integer[], entities uuid[], signatures text[], work_keys text[], later integer[], tables text[], tiers text[], policy jsonb, now_ timestamp with time zone, OUT by_row bigint[], OUT of_table text[], OUT ids bigint[], OUT expired boolean[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 416f91ad301b1c87743cde37f554f9aa
comment on function recoup.lock_open_errors(places integer[], entities uuid[], signatures text[], work_keys text[], later integer[], tables text[], tiers text[], policy jsonb, now_ timestamp with time zone, OUT by_row bigint[], OUT of_table text[], OUT ids bigint[], OUT expired boolean[]) is 'Locks the open errors of the failures of a call; for each, the row of the call that supersedes it. Null: none.';

grant execute on procedure recoup.make_error_table(IN name_ text, IN insert_only boolean, IN entity_needed boolean) to public;

CREATE OR REPLACE PROCEDURE recoup.make_error_table(IN name_ text, IN insert_only boolean, IN entity_needed boolean)
 LANGUAGE plpgsql; -- body 7203213ee2bffa63040755dd28b2b9e7
comment on procedure recoup.make_error_table(IN name_ text, IN insert_only boolean, IN entity_needed boolean) is 'Makes an error table and its archive, unless they are there. Refuses names that somebody else has taken.';

CREATE OR REPLACE FUNCTION recoup.matches_any(patterns jsonb, name_ text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body a21b5ca89a46d41359db903b6b194232
comment on function recoup.matches_any(patterns jsonb, name_ text) is 'Whether a name matches one of these patterns, if there are any.';
grant execute on function recoup.matches_any(patterns jsonb, name_ text) to public;

CREATE OR REPLACE FUNCTION recoup.matches_pattern(pattern text, name_ text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body 61e0ec60bc56f3a4dcfcd18a73706964
comment on function recoup.matches_pattern(pattern text, name_ text) is 'Whether a name is this one, or begins as this one before its *.';
grant execute on function recoup.matches_pattern(pattern text, name_ text) to public;

grant execute on function recoup.may_expire(e recoup.error, now_ timestamp with time zone, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.may_expire(e recoup.error, now_ timestamp with time zone, policy jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body 23987c287695e79226f26206ded7f6e5
comment on function recoup.may_expire(e recoup.error, now_ timestamp with time zone, policy jsonb) is 'Whether an error has expired, by a policy''s section on errors, and nothing keeps it.';

CREATE OR REPLACE FUNCTION recoup.never()
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body 1769d002b19a81b5b40e69aa574cd97e
comment on function recoup.never() is 'The due time of rows that have ended: never.';
grant execute on function recoup.never() to public;

CREATE OR REPLACE FUNCTION recoup.new_id()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE; -- as the clock and the server have it
comment on function recoup.new_id() is 'A new id, rising with time (UUID version 7).';
grant execute on function recoup.new_id() to public;

CREATE OR REPLACE FUNCTION recoup.notified_routes(alert_id_ uuid)
 RETURNS text[]
 LANGUAGE sql
 STABLE; -- body 2ff56d4ec3c6167c070503cdd691afe5
comment on function recoup.notified_routes(alert_id_ uuid) is 'The routes that an alert has notified, as far as the policy still has them.';
grant execute on function recoup.notified_routes(alert_id_ uuid) to public;

CREATE OR REPLACE FUNCTION recoup.notify_alerts()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body efb732f44534800f0c5f5b960a59b567
comment on function recoup.notify_alerts() is 'Queues the notices of alerts that fired, still fire, or ended, in the same transaction.';

CREATE OR REPLACE FUNCTION recoup.now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE; -- as the clock and the server have it
comment on function recoup.now() is 'The time that decisions use: the server''s clock, or the simulated one until it is released.';
grant execute on function recoup.now() to public;

CREATE OR REPLACE FUNCTION recoup.only_declared()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 3ea32d6e192ca44c0f4bbd6f63c304de
comment on function recoup.only_declared() is 'Refuses every event that does not come from the recorder of declarations.';
grant execute on function recoup.only_declared() to public;

CREATE OR REPLACE FUNCTION recoup.only_migrations()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 600af204f12ee3af56cce50267ad8c86
comment on function recoup.only_migrations() is 'Refuses changes of the declaration outside a migration.';
grant execute on function recoup.only_migrations() to public;

CREATE OR REPLACE FUNCTION recoup.only_recorders()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 2353e2e205241fe2715d3af7766e0c98
comment on function recoup.only_recorders() is 'Refuses every insert that does not come from a recorder.';
grant execute on function recoup.only_recorders() to public;

CREATE OR REPLACE FUNCTION recoup.only_sealers()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 09686daa76c7b2a9da1a66c3c3a40995
comment on function recoup.only_sealers() is 'Refuses every seal that recoup.seal_next did not make.';
grant execute on function recoup.only_sealers() to public;

grant execute on function recoup.owner_when_parked(error_table text, level integer, escalated_to text, parked_since timestamp with time zone, now_ timestamp with time zone, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.owner_when_parked(error_table text, level integer, escalated_to text, parked_since timestamp with time zone, now_ timestamp with time zone, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 144164450e7e63c683e814472026398a
comment on function recoup.owner_when_parked(error_table text, level integer, escalated_to text, parked_since timestamp with time zone, now_ timestamp with time zone, policy jsonb) is 'Who owns an error that is parked now: the owner of its tier, or who had it in that tier before.';

CREATE OR REPLACE FUNCTION recoup.pausable_names(scope_ text)
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE; -- body b78862c734d2feb8ef4d4f10ae3e6499
comment on function recoup.pausable_names(scope_ text) is 'What can be paused within a scope, by name.';
grant execute on function recoup.pausable_names(scope_ text) to public;

CREATE OR REPLACE FUNCTION recoup.paused(VARIADIC scopes text[])
 RETURNS recoup.pause
 LANGUAGE plpgsql
 STABLE; -- body 1efa159700cc2ea250e8b220494f3ce9
comment on function recoup.paused(VARIADIC scopes text[]) is 'The pause that stops a claim within these scopes, or null.';
grant execute on function recoup.paused(VARIADIC scopes text[]) to public;

CREATE OR REPLACE FUNCTION recoup.policy_version()
 RETURNS integer
 LANGUAGE sql
 STABLE; -- body b3ac24fba3b3a3517f69c1bd41ac4a2f
comment on function recoup.policy_version() is 'The version of the active policy.';
grant execute on function recoup.policy_version() to public;

CREATE OR REPLACE FUNCTION recoup.present_incarnation()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b0dbae1eadcbb179e9bcdb2984697b40
comment on function recoup.present_incarnation() is 'The incarnation that new log rows carry; begins a new one when the cluster has changed.';
grant execute on function recoup.present_incarnation() to recoup_reader;

grant execute on procedure recoup.put_trigger(IN relation regclass, IN name_ text, IN timing text, IN event text, IN level text, IN function_ text, VARIADIC arguments text[]) to public;

CREATE OR REPLACE PROCEDURE recoup.put_trigger(IN relation regclass, IN name_ text, IN timing text, IN event text, IN level text, IN function_ text, VARIADIC arguments text[] DEFAULT '{}'::text[])
 LANGUAGE plpgsql; -- body 1ba7f201d748c8c8242efbc2f69347f2
comment on procedure recoup.put_trigger(IN relation regclass, IN name_ text, IN timing text, IN event text, IN level text, IN function_ text, VARIADIC arguments text[]) is 'Puts a trigger on a table, always enabled, unless the same one exists.';

CREATE OR REPLACE FUNCTION recoup.queue_delivery_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 00dab72af93924b5ad70384185f2521b
comment on function recoup.queue_delivery_births() is 'Queues what is born to be worked on, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.queue_delivery_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body be8bc96a1d4024bad5892823b64469ad
comment on function recoup.queue_delivery_moves() is 'Keeps the queue in step with a move: taken out, put off or queued again, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.queue_error_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 9f6c52a1c4c3ec36add490c93ff4fc34
comment on function recoup.queue_error_births() is 'Queues what is born to be worked on, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.queue_error_exits()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body d26934005dc426f2990bb6a40f9a3c7e
comment on function recoup.queue_error_exits() is 'Takes what leaves out of the queue, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.queue_error_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body 11ab1bec8d3e2848cbe420e39115693b
comment on function recoup.queue_error_moves() is 'Keeps the queue in step with a move: taken out, put off or queued again, generated from the declaration.';

CREATE OR REPLACE FUNCTION recoup.queue_functions(life recoup.lifecycle)
 RETURNS TABLE(function text, arguments text, results text, settings text[], definer boolean, body text, says text)
 LANGUAGE sql
 STABLE
 SET quote_all_identifiers TO 'off'; -- body 11c8a4e193eb727b850e71a76c9b1b44
comment on function recoup.queue_functions(life recoup.lifecycle) is 'The functions of a lifecycle''s queue, as they should be; none, if it has none.';
grant execute on function recoup.queue_functions(life recoup.lifecycle) to public;

CREATE OR REPLACE FUNCTION recoup.queue_words(life recoup.lifecycle)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET quote_all_identifiers TO 'off'; -- body c36eb711bca49d19aa8e79a11f4ee07c
comment on function recoup.queue_words(life recoup.lifecycle) is 'What is filled in where the functions of a queue are written out.';
grant execute on function recoup.queue_words(life recoup.lifecycle) to public;

CREATE OR REPLACE FUNCTION recoup.quoted(name_ text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body b04e932cdf8c6f8d6813bae2ec8fdc7a
comment on function recoup.quoted(name_ text) is 'A name with its schema, as SQL has it.';
grant execute on function recoup.quoted(name_ text) to public;

grant execute on function recoup.raise_tiers(most integer, only_ bigint, OUT breached integer, OUT raised integer) to public;

CREATE OR REPLACE FUNCTION recoup.raise_tiers(most integer, only_ bigint DEFAULT NULL::bigint, OUT breached integer, OUT raised integer)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 73032cc8c1323a6f1e49d6a77c9b2c22
comment on function recoup.raise_tiers(most integer, only_ bigint, OUT breached integer, OUT raised integer) is 'Marks reviews that are overdue, and raises parked errors to the tier that is due; or one of them.';

CREATE OR REPLACE FUNCTION recoup.record_alerts()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 8b229b4fda62dde81e66a5fd1624bc23
comment on function recoup.record_alerts() is 'The event of an alert: it fired, notified again, or ended.';

CREATE OR REPLACE FUNCTION recoup.record_claims()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 54d37c630d0c74b1f30e78be83700538
comment on function recoup.record_claims() is 'A claim, in the log of claims: one row for all that was claimed together.';

CREATE OR REPLACE FUNCTION recoup.record_control()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 93e7efc3c3502decebf9854fcad7fdf6
comment on function recoup.record_control() is 'Writes births, exits and changes of status to the control log.';

CREATE OR REPLACE FUNCTION recoup.record_declared()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'UTC'; -- body 0a3d897fb019a5c98145cb65f410ac55
comment on function recoup.record_declared() is 'Writes added and removed declarations to their log.';

CREATE OR REPLACE FUNCTION recoup.record_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 78446a2d50d7625643124e6ce11e8200
comment on function recoup.record_deliveries() is 'The event of a step of a delivery: queued, tried or cancelled.';

CREATE OR REPLACE FUNCTION recoup.record_error_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'; -- body 3e45dec8133ad0304e016850d78ac511
comment on function recoup.record_error_births() is 'RECORDED, with clamped_from and overruled where they are set.';

CREATE OR REPLACE FUNCTION recoup.record_error_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 6aa71803ebaeb249d4fe71c7252e2888
comment on function recoup.record_error_moves() is 'The event of a move: an outcome, a decision, being superseded.';

grant execute on function recoup.record_errors(places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[], later integer[], tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[], budgets integer[], park_reasons text[], deciders text[], clamps text[], decided_under integer, work_keys text[], overruled text[], failed_at timestamp with time zone[], OUT ids bigint[]) to public;

CREATE OR REPLACE FUNCTION recoup.record_errors(places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[], later integer[], tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[], budgets integer[], park_reasons text[], deciders text[], clamps text[], decided_under integer, work_keys text[] DEFAULT NULL::text[], overruled text[] DEFAULT NULL::text[], failed_at timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], OUT ids bigint[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 1ad6802c5ab36fa61861a75484ee523b
comment on function recoup.record_errors(places integer[], entities uuid[], messages text[], signatures text[], payloads jsonb[], later integer[], tables text[], codes text[], severities text[], categories text[], dispositions text[], tiers text[], days integer[], budgets integer[], park_reasons text[], deciders text[], clamps text[], decided_under integer, work_keys text[], overruled text[], failed_at timestamp with time zone[], OUT ids bigint[]) is 'Records errors, superseding open errors of the same failure; ids in their order. Null: another policy is active.';

CREATE OR REPLACE FUNCTION recoup.record_pauses()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 0297516b70af0fc26d882c66b47bca3b
comment on function recoup.record_pauses() is 'PAUSE or RESUME, in the pause log.';

CREATE OR REPLACE FUNCTION recoup.redaction_digest(message_ text, payload_ jsonb, failure_ text)
 RETURNS bytea
 LANGUAGE sql
 STABLE; -- body 6aecf2250c74fded5c82064518ee9a55
comment on function recoup.redaction_digest(message_ text, payload_ jsonb, failure_ text) is 'Digest of the texts of an error.';
grant execute on function recoup.redaction_digest(message_ text, payload_ jsonb, failure_ text) to public;

grant execute on function recoup.refuse_disposition(error_table_ text, disposition_ text, allowed jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.refuse_disposition(error_table_ text, disposition_ text, allowed jsonb)
 RETURNS void
 LANGUAGE plpgsql; -- body c8c971e3bb7205007c8ab00e65e58733
comment on function recoup.refuse_disposition(error_table_ text, disposition_ text, allowed jsonb) is 'Refuses a disposition that its table does not allow.';

CREATE OR REPLACE FUNCTION recoup.refuse_held(entities uuid[], recording boolean)
 RETURNS void
 LANGUAGE plpgsql; -- body 572e85146e93513fe36f5f15d1e36a10
comment on function recoup.refuse_held(entities uuid[], recording boolean) is 'Refuses: which of the entities are locked, and by which session. Recording waits for promotions only.';
grant execute on function recoup.refuse_held(entities uuid[], recording boolean) to public;

CREATE OR REPLACE FUNCTION recoup.refuse_of_others(named text, parts text[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE; -- body fc35bcadf1a200f7ec7abdfba56c2f2d
comment on function recoup.refuse_of_others(named text, parts text[]) is 'Refuses what concerns more than the tables and sources of the hub that this transaction is limited to, if it is.';
grant execute on function recoup.refuse_of_others(named text, parts text[]) to public;

CREATE OR REPLACE FUNCTION recoup.refuse_paused(VARIADIC scopes text[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE; -- body f0fb72d5bf3dd2c5683dfec29937420a
comment on function recoup.refuse_paused(VARIADIC scopes text[]) is 'Refuses a claim within a paused scope.';
grant execute on function recoup.refuse_paused(VARIADIC scopes text[]) to public;

CREATE OR REPLACE FUNCTION recoup.refuse_replicated()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 40af09c2b8e318cf92f7940485d65038
comment on function recoup.refuse_replicated() is 'Refuses rows of logical replication.';
grant execute on function recoup.refuse_replicated() to public;

CREATE OR REPLACE PROCEDURE recoup.refuse_replication()
 LANGUAGE plpgsql; -- body f9d2fe3cd178e6c05a022611e35f97f0
comment on procedure recoup.refuse_replication() is 'Closes every table to logical replication.';
grant execute on procedure recoup.refuse_replication() to public;

grant execute on function recoup.refuse_unknown(noun text, asked anyarray, known anyarray, law text) to public;

CREATE OR REPLACE FUNCTION recoup.refuse_unknown(noun text, asked anyarray, known anyarray, law text DEFAULT 'RC056'::text)
 RETURNS void
 LANGUAGE plpgsql; -- body e981c66257b146506972ccb0b5420093
comment on function recoup.refuse_unknown(noun text, asked anyarray, known anyarray, law text) is 'Refuses ids of what there is not.';

CREATE OR REPLACE FUNCTION recoup.release_clock()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body a1350f0f4abae31ac18058906602120d
comment on function recoup.release_clock() is 'On the move to released: makes recoup.now() the server''s clock, for good.';

CREATE OR REPLACE FUNCTION recoup.require_entities(entities uuid[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE; -- body a298cbfb953dc345e049de66ea5b3e2e
comment on function recoup.require_entities(entities uuid[]) is 'Refuses entities that are null.';
grant execute on function recoup.require_entities(entities uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.require_read_committed(what text)
 RETURNS void
 LANGUAGE plpgsql; -- body 551ed512c5ae9a347c6542a8565ba45c
comment on function recoup.require_read_committed(what text) is 'Refuses isolation levels whose snapshot would be older than the locks.';
grant execute on function recoup.require_read_committed(what text) to public;

grant execute on function recoup.require_reports(units anyarray, tokens uuid[], outcomes text[], VARIADIC others integer[]) to public;

CREATE OR REPLACE FUNCTION recoup.require_reports(units anyarray, tokens uuid[], outcomes text[], VARIADIC others integer[])
 RETURNS void
 LANGUAGE plpgsql; -- body 73fa272be98ebcf32ad23b629eaf2872
comment on function recoup.require_reports(units anyarray, tokens uuid[], outcomes text[], VARIADIC others integer[]) is 'Refuses outcomes that do not report each unit once, with its token.';

CREATE OR REPLACE FUNCTION recoup.require_same_length(what text, VARIADIC lengths integer[])
 RETURNS void
 LANGUAGE plpgsql; -- body f8ecf8586dc7ec6a29004ce345dc461d
comment on function recoup.require_same_length(what text, VARIADIC lengths integer[]) is 'Refuses arrays that do not make rows: one is missing, or shorter than another.';
grant execute on function recoup.require_same_length(what text, VARIADIC lengths integer[]) to public;

CREATE OR REPLACE FUNCTION recoup.require_table(fired_on oid, subject_ text)
 RETURNS void
 LANGUAGE plpgsql; -- body 38d8fa1f460fe2d84e6a16b65ee7a4b9
comment on function recoup.require_table(fired_on oid, subject_ text) is 'Refuses a recorder that was put on a table of another kind.';
grant execute on function recoup.require_table(fired_on oid, subject_ text) to public;

grant execute on function recoup.retries_end(retry_count integer, max_retries integer, next_retry_at timestamp with time zone, retry_until timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.retries_end(retry_count integer, max_retries integer, next_retry_at timestamp with time zone, retry_until timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 52e3e40a6c7c334fc8e53c14a1ad24d9
comment on function recoup.retries_end(retry_count integer, max_retries integer, next_retry_at timestamp with time zone, retry_until timestamp with time zone) is 'Why no retry follows: none left, none automatic, or it would come after the window. Null: one follows.';

grant execute on function recoup.retry_rules(policy jsonb, OUT category text, OUT backoff text, OUT base_s integer, OUT cap_s integer, OUT jitter_percent integer, OUT time_window interval) to public;

CREATE OR REPLACE FUNCTION recoup.retry_rules(policy jsonb, OUT category text, OUT backoff text, OUT base_s integer, OUT cap_s integer, OUT jitter_percent integer, OUT time_window interval)
 RETURNS SETOF record
 LANGUAGE sql
 IMMUTABLE; -- body 2222ba1a8d60b7a128a3b4807c622fdc
comment on function recoup.retry_rules(policy jsonb, OUT category text, OUT backoff text, OUT base_s integer, OUT cap_s integer, OUT jitter_percent integer, OUT time_window interval) is 'How each category is retried, by a policy''s section on errors.';

grant execute on function recoup.retry_wait(backoff text, base_s integer, cap_s integer, jitter_percent integer, retry integer) to public;

CREATE OR REPLACE FUNCTION recoup.retry_wait(backoff text, base_s integer, cap_s integer, jitter_percent integer, retry integer)
 RETURNS interval
 LANGUAGE sql; -- body 575ec042e7839ff697db3902ce474b4c
comment on function recoup.retry_wait(backoff text, base_s integer, cap_s integer, jitter_percent integer, retry integer) is 'How long after the last failure the retry of this number comes; null: not automatically.';

CREATE OR REPLACE FUNCTION recoup.retry_with_digest(retry_with jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body d7ea0aad9f4b9912d9da0780245314aa
comment on function recoup.retry_with_digest(retry_with jsonb) is 'Digest of an alternative, as the event of the unparking has it.';
grant execute on function recoup.retry_with_digest(retry_with jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.routes_with_room(routes_ text[])
 RETURNS text[]
 LANGUAGE sql
 STABLE; -- body d481d40aae8ddf73f53ea85d41423a4d
comment on function recoup.routes_with_room(routes_ text[]) is 'Those of these routes that the policy has, and for which not too many deliveries wait.';
grant execute on function recoup.routes_with_room(routes_ text[]) to public;

CREATE OR REPLACE FUNCTION recoup.row_name(subject_ text, key_ jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body ce9e99e049af50107c8c681c7ef6a4a7
comment on function recoup.row_name(subject_ text, key_ jsonb) is 'A row, as a refusal names it.';
grant execute on function recoup.row_name(subject_ text, key_ jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.rule_alert_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 871d355620c226cacd66f9ea8638c10a
comment on function recoup.rule_alert_births() is 'An alert fires by a rule of the active policy, for a value that was above its threshold for long enough.';
grant execute on function recoup.rule_alert_births() to public;

CREATE OR REPLACE FUNCTION recoup.rule_api_keys()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body e23aa1a81a225be712d01358f66332cf
comment on function recoup.rule_api_keys() is 'A key begins now, for a hub that exists, and never becomes valid for longer; one that replaces another is as it was.';
grant execute on function recoup.rule_api_keys() to public;

CREATE OR REPLACE FUNCTION recoup.rule_archive_months()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body f77c59c370525d4318ba12007af16339
comment on function recoup.rule_archive_months() is 'No month of an archive is dropped before its retention ends, or while an error of it is still live.';
grant execute on function recoup.rule_archive_months() to public;

CREATE OR REPLACE FUNCTION recoup.rule_cursors()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 15aa45d5583d7b89630237e0793dedf2
comment on function recoup.rule_cursors() is 'Only the authority and login that created a subscription move it; an operator may drop it.';
grant execute on function recoup.rule_cursors() to public;

CREATE OR REPLACE FUNCTION recoup.rule_delivery_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 08c13316edb6ed6960bf7a8926e16dc1
comment on function recoup.rule_delivery_births() is 'A delivery goes by a route of the active policy, is queued now, and not behind too many others.';
grant execute on function recoup.rule_delivery_births() to public;

CREATE OR REPLACE FUNCTION recoup.rule_error_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b7108b4e964a2430e2db58add61ced1f
comment on function recoup.rule_error_births() is 'An error is recorded now, with a disposition that its table allows and an existing policy; promotions wait.';
grant execute on function recoup.rule_error_births() to public;

CREATE OR REPLACE FUNCTION recoup.rule_error_exits()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body ca3be94253761ca1c8959a06e2d7e7c5
comment on function recoup.rule_error_exits() is 'Only closed or expired errors leave, and none that is being retried or that recovery works on.';
grant execute on function recoup.rule_error_exits() to public;

CREATE OR REPLACE FUNCTION recoup.rule_error_redactions()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body e5d11a5ab0dbe39e39a1de7f61583b33
comment on function recoup.rule_error_redactions() is 'A redaction is of an error that there is, now, and takes something away from its texts.';
grant execute on function recoup.rule_error_redactions() to public;

CREATE OR REPLACE FUNCTION recoup.rule_operation_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body ff07630adf209de4aeac158c084f82b9
comment on function recoup.rule_operation_births() is 'An operation that a worker continues begins under the name and an authority of who begins it; with a canary, with its first step.';
grant execute on function recoup.rule_operation_births() to public;

CREATE OR REPLACE FUNCTION recoup.rule_operation_items()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 4ee40d7668903634b544c145ca582268
comment on function recoup.rule_operation_items() is 'An operation has the items with which it began.';
grant execute on function recoup.rule_operation_items() to public;

CREATE OR REPLACE FUNCTION recoup.rule_operation_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 935102201eaee83ba85270d43e1302df
comment on function recoup.rule_operation_moves() is 'The next step is the one after the last, and begins behind items that have their result.';
grant execute on function recoup.rule_operation_moves() to public;

CREATE OR REPLACE FUNCTION recoup.rule_operation_results()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body fc20b8ab6bdea98dd35c9e56d7c7663f
comment on function recoup.rule_operation_results() is 'An item gets its result while its operation is open, and not before its step.';
grant execute on function recoup.rule_operation_results() to public;

CREATE OR REPLACE FUNCTION recoup.rule_pauses()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body c6f11c6df1d7bbb730aa5e19d756a8f5
comment on function recoup.rule_pauses() is 'Only something that exists is paused; a pause is changed now, by the acting login; by a hub only within its own work.';
grant execute on function recoup.rule_pauses() to public;

CREATE OR REPLACE FUNCTION recoup.rule_retry_tracebacks()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 280211e43f99b93b6c53964a4684969f
comment on function recoup.rule_retry_tracebacks() is 'A traceback belongs to a retry that failed, under its token.';
grant execute on function recoup.rule_retry_tracebacks() to public;

CREATE OR REPLACE FUNCTION recoup.rule_silences()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 76edd416a0e9c92b3be8c1c0fe671a1d
comment on function recoup.rule_silences() is 'A silence begins now, for at most 90 days, and expires when its time has come.';
grant execute on function recoup.rule_silences() to public;

CREATE OR REPLACE FUNCTION recoup.rule_times()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 3394865d713d63036000e58993b15e46
comment on function recoup.rule_times() is 'Refuses rows with a time in the future. Arguments: the key, then the columns with times.';
grant execute on function recoup.rule_times() to public;

CREATE OR REPLACE FUNCTION recoup.rule_traceback_exits()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 239da1245d53726618b57bb3881f7ee1
comment on function recoup.rule_traceback_exits() is 'The archiver deletes a traceback when its error is in no table any more; an operator, when it holds a secret.';
grant execute on function recoup.rule_traceback_exits() to public;

CREATE OR REPLACE FUNCTION recoup.rule_workers()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 0f042bdc87289d792cc1b96196693529
comment on function recoup.rule_workers() is 'A heartbeat and an end are dated now. A worker is lost only after it has been silent.';
grant execute on function recoup.rule_workers() to public;

CREATE OR REPLACE FUNCTION recoup.seal_cursor(log_ text)
 RETURNS recoup.seal
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 9757e020e1a11c085c65943494657bf2
comment on function recoup.seal_cursor(log_ text) is 'Where the next block of a log begins, and when its last was sealed. after_seq > 0: in the middle of a range.';
grant execute on function recoup.seal_cursor(log_ text) to public;

grant execute on function recoup.seal_next(log_ text, canon_ integer, most bigint, quiet_ interval) to recoup_archiver;

CREATE OR REPLACE FUNCTION recoup.seal_next(log_ text, canon_ integer, most bigint, quiet_ interval DEFAULT NULL::interval)
 RETURNS SETOF recoup.seal
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body db30f8a85b6a231295aa25b61bd5f8c5
comment on function recoup.seal_next(log_ text, canon_ integer, most bigint, quiet_ interval) is 'Seals the next block of a log. No row: everything settled is sealed.';

CREATE OR REPLACE FUNCTION recoup.seal_text(s recoup.seal)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 337d319e4530b56709f21241ec78ec19
comment on function recoup.seal_text(s recoup.seal) is 'Canonical text of a seal without its digest.';
grant execute on function recoup.seal_text(s recoup.seal) to public;

CREATE OR REPLACE FUNCTION recoup.seal_text_1(s recoup.seal)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body ac38ca08cb880cffc10ab7109e0c8de8
comment on function recoup.seal_text_1(s recoup.seal) is 'Canonical text of a seal without its digest and its login.';
grant execute on function recoup.seal_text_1(s recoup.seal) to public;

grant execute on function recoup.seal_window(log_ text, incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot, most bigint, OUT until pg_snapshot, OUT paged boolean) to public;

CREATE OR REPLACE FUNCTION recoup.seal_window(log_ text, incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot, most bigint, OUT until pg_snapshot, OUT paged boolean)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'; -- body 8a00734fa8cdc667321ba93a6deb3671
comment on function recoup.seal_window(log_ text, incarnation_ integer, since_ pg_snapshot, until_ pg_snapshot, most bigint, OUT until pg_snapshot, OUT paged boolean) is 'Where a block of at most this many rows ends, and whether even so it needs pages.';

CREATE OR REPLACE FUNCTION recoup.service_policy()
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body 8db8925c773461b42765df9c30c08e2f
comment on function recoup.service_policy() is 'The section on the service of the active policy.';
grant execute on function recoup.service_policy() to public;

CREATE OR REPLACE FUNCTION recoup.settle_archive_months()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '2s'
 SET "TimeZone" TO 'UTC'; -- body 4e14b401e3a8d0c7906bee4df0874fa7
comment on function recoup.settle_archive_months() is 'Makes the partition of a month that begins, drops that of one whose retention has ended.';

CREATE OR REPLACE FUNCTION recoup.settle_error_redactions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'; -- body 579d0c9287f935eff6d168d87cbb377c
comment on function recoup.settle_error_redactions() is 'Writes the texts of a redaction into the error, live or archived.';

CREATE OR REPLACE FUNCTION recoup.settled_snapshot()
 RETURNS pg_snapshot
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 08fbad6013c2480869462910483366de
comment on function recoup.settled_snapshot() is 'The current snapshot, with our own transaction among the running ones.';
grant execute on function recoup.settled_snapshot() to public;

CREATE OR REPLACE FUNCTION recoup.sla_end(e recoup.error, policy jsonb)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE; -- body 1c8d6d9b747f0308b7194d5bdc6339b3
comment on function recoup.sla_end(e recoup.error, policy jsonb) is 'Until when an error has to be reviewed in its tier.';
grant execute on function recoup.sla_end(e recoup.error, policy jsonb) to public;

grant execute on function recoup.sla_met(status text, due_at timestamp with time zone, met_at timestamp with time zone, breached_at timestamp with time zone, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.sla_met(status text, due_at timestamp with time zone, met_at timestamp with time zone, breached_at timestamp with time zone, now_ timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE; -- body bd75b4bf001f3bdde1abdffa30418c3a
comment on function recoup.sla_met(status text, due_at timestamp with time zone, met_at timestamp with time zone, breached_at timestamp with time zone, now_ timestamp with time zone) is 'sla_met_at of an error that is reviewed now: the first review in time ends the clock.';

CREATE OR REPLACE FUNCTION recoup.sla_of(tier integer, policy jsonb)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE; -- body 08dd89cb30e3dff15278308af8d00b81
comment on function recoup.sla_of(tier integer, policy jsonb) is 'Within which time an error of this tier has to be reviewed, by a policy''s section on errors.';
grant execute on function recoup.sla_of(tier integer, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.snapshot_below(s pg_snapshot, below xid8)
 RETURNS pg_snapshot
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body a3d16d00fde13f37654e17e2243750ce
comment on function recoup.snapshot_below(s pg_snapshot, below xid8) is 'What is visible in a snapshot (null: everything) and has a lower transaction id.';
grant execute on function recoup.snapshot_below(s pg_snapshot, below xid8) to public;

CREATE OR REPLACE FUNCTION recoup.stamp_audit_result()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 8af7a0da48e255ba71bb64c115373a37
comment on function recoup.stamp_audit_result() is 'Sets who kept the result of an audit, and when.';
grant execute on function recoup.stamp_audit_result() to public;

CREATE OR REPLACE FUNCTION recoup.stamp_policy()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body bac71e66c5c98b3f4aa4b50766d5e4f6
comment on function recoup.stamp_policy() is 'Sets number, time and author of a new policy.';
grant execute on function recoup.stamp_policy() to public;

CREATE OR REPLACE FUNCTION recoup.stamp_processed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body aa13cf2750f0323b698b4b350678baae
comment on function recoup.stamp_processed() is 'Checks the table and period of a processed count, and sets who reported it and when.';
grant execute on function recoup.stamp_processed() to public;

CREATE OR REPLACE FUNCTION recoup.statement_time()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE; -- as the clock and the server have it
comment on function recoup.statement_time() is 'When the current statement began, by the same clock: the earliest time that it may write as now.';
grant execute on function recoup.statement_time() to public;

CREATE OR REPLACE FUNCTION recoup.status_of(disposition text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body cafa8751ec697183ff42330e8133c2ea
comment on function recoup.status_of(disposition text) is 'The status of an error that has just got this disposition.';
grant execute on function recoup.status_of(disposition text) to public;

CREATE OR REPLACE FUNCTION recoup.step_facts(subject_ text, key_ jsonb, from_ text, to_ text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body a149e04ae5b46324e24fec4966205fe5
comment on function recoup.step_facts(subject_ text, key_ jsonb, from_ text, to_ text) is 'The facts of a refused birth, move or exit.';
grant execute on function recoup.step_facts(subject_ text, key_ jsonb, from_ text, to_ text) to public;

grant execute on function recoup.supersede_errors(by_row bigint[], of_table text[], ids bigint[], expired boolean[], new_ids bigint[], now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recoup.supersede_errors(by_row bigint[], of_table text[], ids bigint[], expired boolean[], new_ids bigint[], now_ timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body ccaca583e8982c205169a88b04a517c0
comment on function recoup.supersede_errors(by_row bigint[], of_table text[], ids bigint[], expired boolean[], new_ids bigint[], now_ timestamp with time zone) is 'Closes what recoup.lock_open_errors found: superseded by the new error, or expired if it expired before.';

grant execute on function recoup.sweep_errors(error_table_ text, most integer, only_ bigint, OUT gone integer, OUT was_blocking integer) to public;

CREATE OR REPLACE FUNCTION recoup.sweep_errors(error_table_ text, most integer, only_ bigint DEFAULT NULL::bigint, OUT gone integer, OUT was_blocking integer)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 9aa6e6eb5897e71bca70b04f8cddd46e
comment on function recoup.sweep_errors(error_table_ text, most integer, only_ bigint, OUT gone integer, OUT was_blocking integer) is 'Moves a maximum number of errors of one table to its archive: closed ones, then expired ones.';

grant execute on function recoup.take_tokens(principal_ text, rate double precision, burst double precision, wanted integer, OUT granted integer, OUT wait_s double precision) to public;

CREATE OR REPLACE FUNCTION recoup.take_tokens(principal_ text, rate double precision, burst double precision, wanted integer, OUT granted integer, OUT wait_s double precision)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 2017dc12a42eeea42a12629b191e6d5a
comment on function recoup.take_tokens(principal_ text, rate double precision, burst double precision, wanted integer, OUT granted integer, OUT wait_s double precision) is 'Takes up to N requests from what a caller may send now; if there is none, how long until there is one.';

CREATE OR REPLACE FUNCTION recoup.tally_errors()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b081df2886ff00ded2b807bdaf46184e
comment on function recoup.tally_errors() is 'Counts the events of errors whose transactions have ended since the last time. Returns how many.';
grant execute on function recoup.tally_errors() to public;

CREATE OR REPLACE FUNCTION recoup.tally_slot(at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE; -- body 8b0f2bab77c2385b45828b771d6799c0
comment on function recoup.tally_slot(at timestamp with time zone) is 'The beginning of the five minutes that a time is in.';
grant execute on function recoup.tally_slot(at timestamp with time zone) to public;

grant execute on function recoup.tier_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.tier_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body e2599604142bfea3b088fe4dd172e8d8
comment on function recoup.tier_broken(o recoup.error, n recoup.error, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule on tiers that a move breaks (recoup.error_move_rules), or null.';

CREATE OR REPLACE FUNCTION recoup.tier_columns()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE; -- body 794d9d10020be3021599d08417f7d445
comment on function recoup.tier_columns() is 'The columns that the duty on tiers changes.';
grant execute on function recoup.tier_columns() to public;

grant execute on function recoup.tier_due(since timestamp with time zone, now_ timestamp with time zone, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.tier_due(since timestamp with time zone, now_ timestamp with time zone, policy jsonb)
 RETURNS integer
 LANGUAGE sql
 STABLE; -- body bb42d55656180a56e4c0b25d0d31492d
comment on function recoup.tier_due(since timestamp with time zone, now_ timestamp with time zone, policy jsonb) is 'The tier of an error that has been parked since this time, by a policy''s section on errors.';

grant execute on function recoup.tier_facts(from_ integer, to_ integer, parked_since timestamp with time zone, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.tier_facts(from_ integer, to_ integer, parked_since timestamp with time zone, policy jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET "TimeZone" TO 'utc'; -- body 108280c76548cc08b191bf5971c6f72e
comment on function recoup.tier_facts(from_ integer, to_ integer, parked_since timestamp with time zone, policy jsonb) is 'Of a tier that was raised with time: since when it was due, and which tiers were skipped.';

CREATE OR REPLACE FUNCTION recoup.tier_owner(error_table text, tier integer, policy jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 1bacc9615088e85e5ba14e178fffe056
comment on function recoup.tier_owner(error_table text, tier integer, policy jsonb) is 'Who owns a tier of a table: the hub team, the hub lead, the platform team. By a policy''s section on errors.';
grant execute on function recoup.tier_owner(error_table text, tier integer, policy jsonb) to public;

grant execute on function recoup.tier_when_parked(level integer, parked_since timestamp with time zone, now_ timestamp with time zone, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recoup.tier_when_parked(level integer, parked_since timestamp with time zone, now_ timestamp with time zone, policy jsonb)
 RETURNS integer
 LANGUAGE sql
 STABLE; -- body e248b403d020e4fb0691aaeff77b28e6
comment on function recoup.tier_when_parked(level integer, parked_since timestamp with time zone, now_ timestamp with time zone, policy jsonb) is 'The tier of an error that is parked now: the first, or its place from when it was parked before.';

CREATE OR REPLACE FUNCTION recoup.tiers_due(most integer, only_ bigint DEFAULT NULL::bigint)
 RETURNS TABLE(error_table text, error_id bigint, due_at timestamp with time zone, is_sla boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'; -- body 2031d4c1fef673f2d2d9005f6de2e41a
comment on function recoup.tiers_due(most integer, only_ bigint) is 'Parked errors whose review is overdue, or whose tier is due, and since when: up to a number of each kind, or one.';
grant execute on function recoup.tiers_due(most integer, only_ bigint) to public;

grant execute on function recoup.wait_for_promotion(class integer, key_ integer, entities uuid[]) to public;

CREATE OR REPLACE FUNCTION recoup.wait_for_promotion(class integer, key_ integer, entities uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET lock_timeout TO '20s'; -- body 58166fcf88eb11ba3e863cb019dc8e10
comment on function recoup.wait_for_promotion(class integer, key_ integer, entities uuid[]) is 'Waits for a promotion for 20 s, or for recoup.promotion_wait (a duration, or none); then it refuses.';

CREATE OR REPLACE FUNCTION recoup.wake()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body bf81b8af2d2d9acf8bd8522384f6ec73
comment on function recoup.wake() is 'Wakes the workers: this duty, or any, may have work.';
grant execute on function recoup.wake() to public;

CREATE OR REPLACE PROCEDURE recoup.write_functions(IN subject_ text)
 LANGUAGE plpgsql
 SET quote_all_identifiers TO 'off'; -- body 99896506ffbe049120f39e14e1250ed3
comment on procedure recoup.write_functions(IN subject_ text) is 'Generates the functions of a lifecycle, unless they exist with the right text.';
grant execute on procedure recoup.write_functions(IN subject_ text) to public;

CREATE OR REPLACE FUNCTION recoup.written(life recoup.lifecycle)
 RETURNS TABLE(function text, arguments text, results text, settings text[], definer boolean, body text, says text, is_there boolean)
 LANGUAGE sql
 STABLE
 SET quote_all_identifiers TO 'off'; -- body 06f4e42ebd551708ebc3314d99530ac3
comment on function recoup.written(life recoup.lifecycle) is 'The functions generated for a lifecycle, and whether each exists with the right text.';
grant execute on function recoup.written(life recoup.lifecycle) to public;

CREATE OR REPLACE FUNCTION recoup.wrong_figure(figures jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 800ae78cc3d9f665492d9c7031b28ef7
comment on function recoup.wrong_figure(figures jsonb) is 'The first value of a policy that is missing or out of bounds, or null.';
grant execute on function recoup.wrong_figure(figures jsonb) to public;

create schema recovery authorization recoup_owner;
comment on schema recovery is 'Runs, and how failures are recovered from.';
grant usage on schema recovery to recoup_reader;

create view recovery.action (
  action_name text,
  policy_version integer,
  action_type text,
  kind text,
  is_automated boolean,
  requires_approval boolean,
  parameters jsonb,
  cost integer,
  timeout_s integer
) as -- query 59d66e841c91fa58692fa98faeb8d6d9
comment on view recovery.action is 'The catalogue of actions, for every version of the policy. It is the policy itself, so it cannot differ from it.';
comment on column recovery.action.action_name is 'Name of the action.';
comment on column recovery.action.policy_version is 'The policy that has it.';
comment on column recovery.action.action_type is 'retry, fallback, circuit_breaker, reconfigure, rollback, escalate, notify, manual or skip.';
comment on column recovery.action.kind is 'corrective: fixes the problem; compensating: manages its impact.';
comment on column recovery.action.is_automated is 'Whether it may start without a person, if all other gates allow it.';
comment on column recovery.action.requires_approval is 'Whether a person has to approve it.';
comment on column recovery.action.parameters is 'What it is given, unless a candidate has its own.';
comment on column recovery.action.cost is 'Units that it takes from its scope.';
comment on column recovery.action.timeout_s is 'Seconds that it may take.';
grant select on table recovery.action to recoup_reader;

create table recovery.breaker (
  name text not null,
  status text not null,
  parts text[] not null,
  wait_s integer not null,
  max_wait_s integer not null,
  opened_at timestamp with time zone not null,
  open_until timestamp with time zone not null,
  opened_by text not null,
  reason text not null,
  candidate_id uuid,
  probes integer not null default 0,
  probe_subject text,
  probe_unit text,
  probe_token uuid,
  probe_until timestamp with time zone,
  closed_at timestamp with time zone,
  closed_by text,
  constraint breaker_pkey PRIMARY KEY (name),
  constraint breaker_closed CHECK ((status = 'closed'::text) = (closed_at IS NOT NULL) AND (closed_at IS NULL) = (closed_by IS NULL)),
  constraint breaker_closed_at_check CHECK (isfinite(closed_at)),
  constraint breaker_closed_by_check CHECK (octet_length(closed_by) >= 1 AND octet_length(closed_by) <= 500),
  constraint breaker_name_check CHECK (octet_length(name) >= 1 AND octet_length(name) <= 500),
  constraint breaker_open_until_check CHECK (isfinite(open_until)),
  constraint breaker_opened_at_check CHECK (isfinite(opened_at)),
  constraint breaker_opened_by_check CHECK (octet_length(opened_by) >= 1 AND octet_length(opened_by) <= 500),
  constraint breaker_parts_check CHECK (cardinality(parts) > 0 AND array_position(parts, NULL::text) IS NULL),
  constraint breaker_probe CHECK (num_nulls(probe_subject, probe_unit, probe_token, probe_until) =
CASE status
    WHEN 'half_open'::text THEN 0
    ELSE 4
END),
  constraint breaker_probe_subject_check CHECK (probe_subject = ANY (ARRAY['recoup.error'::text, 'cl.gate_zero_attempt'::text, 'recovery.run'::text, 'recovery.candidate'::text, 'partitions.run'::text])),
  constraint breaker_probe_unit_check CHECK (octet_length(probe_unit) >= 1 AND octet_length(probe_unit) <= 500),
  constraint breaker_probe_until_check CHECK (isfinite(probe_until)),
  constraint breaker_probes_check CHECK (probes >= 0),
  constraint breaker_reason_check CHECK (octet_length(reason) >= 1 AND octet_length(reason) <= 2000),
  constraint breaker_status_check CHECK (status = ANY (ARRAY['closed'::text, 'open'::text, 'half_open'::text])),
  constraint breaker_wait CHECK (wait_s <= max_wait_s),
  constraint breaker_wait_s_check CHECK (wait_s > 0)
) with (fillfactor=50);
comment on table recovery.breaker is 'A dependency that may be down. While it is not closed, what depends on it is not claimed, but for one unit that tries it.';
comment on column recovery.breaker.name is 'Its name; if the policy does not list it, a table, a kind of runs or a source.';
comment on column recovery.breaker.status is 'closed, open or half_open: one unit tries it.';
comment on column recovery.breaker.parts is 'What depends on it, as the policy had it when it was opened.';
comment on column recovery.breaker.wait_s is 'Seconds from its opening, or its last probe, to the next probe.';
comment on column recovery.breaker.max_wait_s is 'The longest such wait; each failed probe doubles it up to that.';
comment on column recovery.breaker.opened_at is 'When it was opened last.';
comment on column recovery.breaker.open_until is 'Nothing that depends on it is claimed before.';
comment on column recovery.breaker.opened_by is 'Who opened it.';
comment on column recovery.breaker.reason is 'Why it was opened.';
comment on column recovery.breaker.candidate_id is 'The candidate that opened it; null: a person.';
comment on column recovery.breaker.probes is 'How often it was tried since it was opened.';
comment on column recovery.breaker.probe_subject is 'The table of the unit that tries it now.';
comment on column recovery.breaker.probe_unit is 'The unit that tries it now.';
comment on column recovery.breaker.probe_token is 'The token of that unit''s claim.';
comment on column recovery.breaker.probe_until is 'When that claim''s lease ends; of a run, a day later.';
comment on column recovery.breaker.closed_at is 'When it was closed.';
comment on column recovery.breaker.closed_by is 'probe: the unit that tried it ended well; else who closed it.';
CREATE INDEX breaker_shut ON recovery.breaker USING btree (status) WHERE status <> 'closed'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.breaker REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_breaker_births('recovery.breaker');
alter table recovery.breaker enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.breaker REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.breaker');
alter table recovery.breaker enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.breaker REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_breaker_moves('recovery.breaker');
alter table recovery.breaker enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.breaker FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.breaker');
alter table recovery.breaker enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.breaker FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.breaker enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_breakers_on_insert AFTER INSERT ON recovery.breaker REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_breakers();
alter table recovery.breaker enable always trigger b_rule_breakers_on_insert;
CREATE TRIGGER b_rule_breakers_on_update AFTER UPDATE ON recovery.breaker REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_breakers();
alter table recovery.breaker enable always trigger b_rule_breakers_on_update;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recovery.breaker REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('parts', 'wait_s', 'max_wait_s', 'opened_at', 'open_until', 'opened_by', 'reason', 'candidate_id', 'probes');
alter table recovery.breaker enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON recovery.breaker REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('parts', 'wait_s', 'max_wait_s', 'opened_at', 'open_until', 'opened_by', 'reason', 'candidate_id', 'probes', 'probe_subject', 'probe_unit', 'probe_token', 'probe_until', 'closed_at', 'closed_by');
alter table recovery.breaker enable always trigger c_record_control_on_update;
CREATE TRIGGER d_wake_on_update AFTER UPDATE ON recovery.breaker REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.wake();
alter table recovery.breaker enable always trigger d_wake_on_update;
grant insert (candidate_id, max_wait_s, name, open_until, opened_at, opened_by, parts, reason, status, wait_s), update (candidate_id, closed_at, closed_by, max_wait_s, open_until, opened_at, opened_by, parts, probe_subject, probe_token, probe_unit, probe_until, probes, reason, status, wait_s) on table recovery.breaker to recoup_executor;
grant insert (candidate_id, max_wait_s, name, open_until, opened_at, opened_by, parts, reason, status, wait_s), update (candidate_id, closed_at, closed_by, max_wait_s, open_until, opened_at, opened_by, parts, probe_subject, probe_token, probe_unit, probe_until, probes, reason, status, wait_s) on table recovery.breaker to recoup_operator;
grant select on table recovery.breaker to recoup_reader;
grant update (closed_at, closed_by, open_until, probe_subject, probe_token, probe_unit, probe_until, probes, status, wait_s) on table recovery.breaker to recoup_claim_worker;
grant update (closed_at, closed_by, open_until, probe_subject, probe_token, probe_unit, probe_until, probes, status, wait_s) on table recovery.breaker to recoup_control_plane;
grant update (closed_at, closed_by, open_until, probe_subject, probe_token, probe_unit, probe_until, probes, status, wait_s) on table recovery.breaker to recoup_error_worker;
grant update (closed_at, closed_by, open_until, probe_subject, probe_token, probe_unit, probe_until, probes, status, wait_s) on table recovery.breaker to recoup_evaluator;
grant update (closed_at, closed_by, open_until, probe_subject, probe_token, probe_unit, probe_until, probes, status, wait_s) on table recovery.breaker to recoup_gate;
grant update (closed_at, closed_by, open_until, probe_subject, probe_token, probe_unit, probe_until, probes, status, wait_s) on table recovery.breaker to recoup_hub;
grant update (closed_at, closed_by, open_until, probe_subject, probe_token, probe_unit, probe_until, probes, status, wait_s) on table recovery.breaker to recoup_runner;

create table recovery.candidate (
  candidate_id uuid not null default recoup.new_id(),
  failure_match_id uuid not null,
  incident_id uuid not null,
  error_signature text not null,
  subject_kind text not null,
  follows uuid,
  proposed_by text,
  recommended_action text,
  action_name text,
  action_type text,
  parameters jsonb,
  cost integer,
  timeout_s integer,
  is_automated boolean not null default false,
  requires_approval boolean not null default true,
  held_for_review boolean not null default false,
  scope_id uuid,
  confidence double precision not null default 0,
  confidence_of text,
  evidence integer not null default 0,
  status text not null default 'pending'::text,
  decide_by timestamp with time zone not null,
  decided_by text,
  decided_at timestamp with time zone,
  decision_note text,
  execute_by timestamp with time zone,
  executed_at timestamp with time zone,
  worker text,
  token uuid,
  lease_until timestamp with time zone,
  idempotency_key text,
  effect_made_at timestamp with time zone,
  reported text,
  awaits jsonb,
  outcome_by timestamp with time zone,
  overridden_by text,
  finished_at timestamp with time zone,
  skip_reason text,
  result jsonb,
  error text,
  teaches boolean not null default true,
  policy_version integer not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  automatic boolean not null generated always as (COALESCE((action_type = ANY (ARRAY['escalate'::text, 'notify'::text, 'manual'::text])) OR (subject_kind = ANY (ARRAY['run'::text, 'partition'::text, 'outside'::text])) AND (action_type <> ALL (ARRAY['skip'::text, 'rollback'::text])), false)) stored,
  is_ready boolean not null generated always as (COALESCE(scope_id IS NOT NULL AND action_name IS NOT NULL AND (status = 'approved'::text OR status = 'pending'::text AND proposed_by IS NULL AND NOT held_for_review AND is_automated AND NOT requires_approval AND ((action_type = ANY (ARRAY['escalate'::text, 'notify'::text, 'manual'::text])) OR (subject_kind = ANY (ARRAY['run'::text, 'partition'::text, 'outside'::text])) AND (action_type <> ALL (ARRAY['skip'::text, 'rollback'::text]))) AND confidence_of = action_name AND confidence >= 0.8::double precision AND evidence >= 5), false)) stored,
  cell text not null generated always as (
CASE
    WHEN action_type = ANY (ARRAY['escalate'::text, 'notify'::text, 'manual'::text, 'skip'::text]) THEN ''::text
    ELSE error_signature
END) stored,
  confidence_basis jsonb,
  undoes uuid generated always as (
CASE
    WHEN action_type = 'rollback'::text AND (status <> ALL (ARRAY['failed'::text, 'skipped'::text, 'rejected'::text])) THEN (parameters ->> 'undoes'::text)::uuid
    ELSE NULL::uuid
END) stored,
  constraint candidate_pkey PRIMARY KEY (candidate_id),
  constraint candidate_action CHECK (num_nulls(action_name, action_type, parameters, cost, timeout_s) = ANY (ARRAY[0, 5])),
  constraint candidate_action_name_check CHECK (octet_length(action_name) >= 1 AND octet_length(action_name) <= 200),
  constraint candidate_action_type_check CHECK (action_type = ANY (ARRAY['retry'::text, 'fallback'::text, 'circuit_breaker'::text, 'reconfigure'::text, 'rollback'::text, 'escalate'::text, 'notify'::text, 'manual'::text, 'skip'::text])),
  constraint candidate_awaits CHECK ((awaits IS NULL) = (outcome_by IS NULL) AND (awaits IS NULL OR effect_made_at IS NOT NULL AND COALESCE(((awaits ->> 'kind'::text) = ANY (ARRAY['error'::text, 'intake'::text, 'run'::text, 'partition'::text, 'delivery'::text, 'task'::text, 'breaker'::text])) AND octet_length(awaits ->> 'key'::text) >= 1 AND octet_length(awaits ->> 'key'::text) <= 500 AND jsonb_typeof(awaits -> 'since_seq'::text) = 'number'::text, false))),
  constraint candidate_claim CHECK ((num_nulls(executed_at, worker, token, lease_until) = ANY (ARRAY[0, 4])) AND (executed_at IS NULL OR idempotency_key IS NOT NULL)),
  constraint candidate_confidence_check CHECK (confidence >= 0::double precision AND confidence <= 1::double precision),
  constraint candidate_confidence_of_check CHECK (octet_length(confidence_of) >= 1 AND octet_length(confidence_of) <= 200),
  constraint candidate_cost_check CHECK (cost > 0),
  constraint candidate_created_at_check CHECK (isfinite(created_at)),
  constraint candidate_decide_by_check CHECK (isfinite(decide_by)),
  constraint candidate_decided CHECK ((num_nulls(decided_by, decided_at) = ANY (ARRAY[0, 2])) AND ((status <> ALL (ARRAY['approved'::text, 'rejected'::text])) OR decided_at IS NOT NULL)),
  constraint candidate_decided_at_check CHECK (isfinite(decided_at)),
  constraint candidate_decided_by_check CHECK (octet_length(decided_by) >= 1 AND octet_length(decided_by) <= 500),
  constraint candidate_decision_note_check CHECK (octet_length(decision_note) >= 1 AND octet_length(decision_note) <= 2000),
  constraint candidate_effect CHECK (effect_made_at IS NULL OR executed_at IS NOT NULL),
  constraint candidate_effect_made_at_check CHECK (isfinite(effect_made_at)),
  constraint candidate_error_signature_check CHECK (octet_length(error_signature) >= 1 AND octet_length(error_signature) <= 200),
  constraint candidate_evidence_check CHECK (evidence >= 0),
  constraint candidate_execute_by_check CHECK (isfinite(execute_by)),
  constraint candidate_executed CHECK ((status = ANY (ARRAY['executing'::text, 'succeeded'::text, 'failed'::text, 'rolled_back'::text])) = (executed_at IS NOT NULL)),
  constraint candidate_executed_at_check CHECK (isfinite(executed_at)),
  constraint candidate_finished CHECK ((status = ANY (ARRAY['rejected'::text, 'succeeded'::text, 'failed'::text, 'rolled_back'::text, 'skipped'::text])) = (finished_at IS NOT NULL)),
  constraint candidate_finished_at_check CHECK (isfinite(finished_at)),
  constraint candidate_idempotency_key_check CHECK (octet_length(idempotency_key) >= 1 AND octet_length(idempotency_key) <= 200),
  constraint candidate_lease_until_check CHECK (isfinite(lease_until)),
  constraint candidate_other_person CHECK (decided_by <> proposed_by),
  constraint candidate_outcome_by_check CHECK (isfinite(outcome_by)),
  constraint candidate_overridden_by_check CHECK (octet_length(overridden_by) >= 1 AND octet_length(overridden_by) <= 500),
  constraint candidate_proposed_by_check CHECK (octet_length(proposed_by) >= 1 AND octet_length(proposed_by) <= 500),
  constraint candidate_recommended_action_check CHECK (octet_length(recommended_action) >= 1 AND octet_length(recommended_action) <= 200),
  constraint candidate_rejected CHECK (status <> 'rejected'::text OR decision_note IS NOT NULL),
  constraint candidate_reported CHECK (reported IS NULL OR effect_made_at IS NOT NULL AND awaits IS NULL),
  constraint candidate_reported_check CHECK (reported = ANY (ARRAY['succeeded'::text, 'failed'::text, 'rolled_back'::text])),
  constraint candidate_skip_reason_check CHECK (octet_length(skip_reason) >= 1 AND octet_length(skip_reason) <= 200),
  constraint candidate_skipped CHECK ((status = 'skipped'::text) = (skip_reason IS NOT NULL)),
  constraint candidate_startable CHECK ((status <> ALL (ARRAY['approved'::text, 'executing'::text])) OR scope_id IS NOT NULL AND action_name IS NOT NULL AND execute_by IS NOT NULL),
  constraint candidate_status_check CHECK (status = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text, 'executing'::text, 'succeeded'::text, 'failed'::text, 'rolled_back'::text, 'skipped'::text])),
  constraint candidate_subject_kind_check CHECK (subject_kind = ANY (ARRAY['error'::text, 'intake'::text, 'run'::text, 'partition'::text, 'outside'::text])),
  constraint candidate_timeout_s_check CHECK (timeout_s > 0),
  constraint candidate_updated_at_check CHECK (isfinite(updated_at)),
  constraint candidate_worker_check CHECK (octet_length(worker) >= 1 AND octet_length(worker) <= 500)
) with (fillfactor=60);
alter table recovery.candidate enable row level security;
comment on table recovery.candidate is 'One action that may recover a match. Started at most once, within a scope, if approved or if all gates allow it.';
comment on column recovery.candidate.candidate_id is 'Id of the candidate.';
comment on column recovery.candidate.failure_match_id is 'The match that it may recover.';
comment on column recovery.candidate.incident_id is 'The incident of its match.';
comment on column recovery.candidate.error_signature is 'The signature of its match.';
comment on column recovery.candidate.subject_kind is 'The kind of its match''s subject.';
comment on column recovery.candidate.follows is 'The candidate of the same match before it.';
comment on column recovery.candidate.proposed_by is 'The person who proposed it; null: the evaluation did.';
comment on column recovery.candidate.recommended_action is 'The action that was recommended when it was created.';
comment on column recovery.candidate.action_name is 'The selected action.';
comment on column recovery.candidate.action_type is 'retry, fallback, circuit_breaker, reconfigure, rollback, escalate, notify, manual or skip.';
comment on column recovery.candidate.parameters is 'What the action is given.';
comment on column recovery.candidate.cost is 'Units that it takes from its scope.';
comment on column recovery.candidate.timeout_s is 'Seconds that the action may take.';
comment on column recovery.candidate.is_automated is 'Whether its action may start without a person.';
comment on column recovery.candidate.requires_approval is 'Whether its action needs an approval all the same.';
comment on column recovery.candidate.held_for_review is 'Whether this one was held back for a person.';
comment on column recovery.candidate.scope_id is 'The scope within which it may start; null: none allows it yet.';
comment on column recovery.candidate.confidence is 'How likely its action makes the failure go away, from 0 to 1.';
comment on column recovery.candidate.confidence_of is 'The action that the confidence is of; null: it was not estimated for the selected one.';
comment on column recovery.candidate.evidence is 'Number of outcomes that the confidence rests on.';
comment on column recovery.candidate.status is 'pending, approved, rejected, executing, succeeded, failed, rolled_back or skipped.';
comment on column recovery.candidate.decide_by is 'Pending until then, it is skipped.';
comment on column recovery.candidate.decided_by is 'Who approved or rejected it.';
comment on column recovery.candidate.decided_at is 'When it was approved or rejected.';
comment on column recovery.candidate.decision_note is 'The person''s note; a rejection has a reason.';
comment on column recovery.candidate.execute_by is 'Not started before this time, it is skipped.';
comment on column recovery.candidate.executed_at is 'When it was started, once.';
comment on column recovery.candidate.worker is 'Who started it.';
comment on column recovery.candidate.token is 'Token of the claim that started it: its outcome is accepted with it only.';
comment on column recovery.candidate.lease_until is 'Until when its effect has to be made; otherwise it has failed (CRASHED).';
comment on column recovery.candidate.idempotency_key is 'Given to the action, the same for a repetition: one that honours it makes its effect once.';
comment on column recovery.candidate.effect_made_at is 'When its effect was made, once.';
comment on column recovery.candidate.reported is 'The outcome that its action reported; null: none, or one is awaited.';
comment on column recovery.candidate.awaits is 'What its effect started and whose end is its outcome: kind, key, since_seq.';
comment on column recovery.candidate.outcome_by is 'Until when that outcome is awaited.';
comment on column recovery.candidate.overridden_by is 'The person who acted on its subject meanwhile, or overtook it.';
comment on column recovery.candidate.finished_at is 'When it ended.';
comment on column recovery.candidate.skip_reason is 'Why it was not executed.';
comment on column recovery.candidate.result is 'What its action returned.';
comment on column recovery.candidate.error is 'Why it failed.';
comment on column recovery.candidate.teaches is 'Whether its outcome counts as evidence for its action.';
comment on column recovery.candidate.policy_version is 'Version of the policy when it was created.';
comment on column recovery.candidate.created_at is 'When it was created.';
comment on column recovery.candidate.updated_at is 'When it last changed.';
comment on column recovery.candidate.automatic is 'Whether its action may ever start without a person for a subject of this kind. Generated.';
comment on column recovery.candidate.is_ready is 'Whether it may start as far as the row itself says; scope, policy and pauses are asked by the claim. Generated.';
comment on column recovery.candidate.cell is 'What its outcome teaches about, with its action: its signature, or nothing narrower than the action. Generated.';
comment on column recovery.candidate.confidence_basis is 'What its confidence rests on: numbers of outcomes, its own and those of wider levels.';
comment on column recovery.candidate.undoes is 'Of a rollback: the candidate that it undoes. Null again when it failed, was skipped or rejected.';
CREATE INDEX candidate_awaiting ON recovery.candidate USING btree (action_name, cell) WHERE awaits IS NOT NULL AND finished_at IS NULL;
CREATE INDEX candidate_awaits ON recovery.candidate USING btree ((awaits ->> 'key'::text)) WHERE awaits IS NOT NULL;
CREATE INDEX candidate_match ON recovery.candidate USING btree (failure_match_id, candidate_id);
CREATE UNIQUE INDEX candidate_open ON recovery.candidate USING btree (failure_match_id, error_signature) WHERE finished_at IS NULL;
CREATE INDEX candidate_outcomes ON recovery.candidate USING btree (action_name, cell, finished_at) WHERE executed_at IS NOT NULL AND finished_at IS NOT NULL AND teaches;
CREATE INDEX candidate_rated ON recovery.candidate USING btree (action_name, cell) WHERE executed_at IS NULL AND finished_at IS NULL;
CREATE INDEX candidate_ready ON recovery.candidate USING btree ((decided_at IS NULL), candidate_id) WHERE is_ready AND executed_at IS NULL;
CREATE UNIQUE INDEX candidate_undoes ON recovery.candidate USING btree (undoes) WHERE undoes IS NOT NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.candidate REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_candidate_births('recovery.candidate');
alter table recovery.candidate enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.candidate REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.candidate');
alter table recovery.candidate enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.candidate REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_candidate_moves('recovery.candidate');
alter table recovery.candidate enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.candidate FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.candidate');
alter table recovery.candidate enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.candidate FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.candidate enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_candidate_births_on_insert AFTER INSERT ON recovery.candidate REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_candidate_births();
alter table recovery.candidate enable always trigger b_rule_candidate_births_on_insert;
CREATE TRIGGER c_content_candidate_births_on_insert AFTER INSERT ON recovery.candidate REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.content_candidate_births();
alter table recovery.candidate enable always trigger c_content_candidate_births_on_insert;
CREATE TRIGGER c_record_candidate_births_on_insert AFTER INSERT ON recovery.candidate REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_candidate_births();
alter table recovery.candidate enable always trigger c_record_candidate_births_on_insert;
CREATE TRIGGER c_record_candidate_moves_on_update AFTER UPDATE ON recovery.candidate REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_candidate_moves();
alter table recovery.candidate enable always trigger c_record_candidate_moves_on_update;
CREATE TRIGGER d_settle_candidates_on_update AFTER UPDATE ON recovery.candidate REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.settle_candidates();
alter table recovery.candidate enable always trigger d_settle_candidates_on_update;
create policy hub on recovery.candidate as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.candidate is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.candidate as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (candidate_id, created_at, decide_by, error_signature, failure_match_id, follows, incident_id, policy_version, proposed_by, recommended_action, subject_kind, updated_at), update (confidence, confidence_basis, confidence_of, evidence, updated_at) on table recovery.candidate to recoup_matcher;
grant select on table recovery.candidate to recoup_reader;
grant update (action_name, action_type, confidence_of, cost, effect_made_at, error, execute_by, finished_at, held_for_review, idempotency_key, is_automated, overridden_by, parameters, reported, requires_approval, result, scope_id, skip_reason, status, teaches, timeout_s, updated_at) on table recovery.candidate to recoup_evaluator;
grant update (awaits, effect_made_at, error, outcome_by, reported, result, updated_at) on table recovery.candidate to recoup_executor;
grant update (decided_at, decided_by, decision_note, finished_at, status, updated_at) on table recovery.candidate to recoup_reviewer;
grant update (executed_at, idempotency_key, lease_until, status, token, updated_at, worker) on table recovery.candidate to recoup_claim_worker;

create table recovery.config (
  key text not null,
  version integer not null,
  status text not null default 'set'::text,
  value jsonb,
  candidate_id uuid,
  set_by text not null,
  reason text not null,
  set_at timestamp with time zone not null,
  constraint config_pkey PRIMARY KEY (key, version),
  constraint config_key_check CHECK (key ~ '^[a-z][a-z0-9_.-]{0,99}$'::text),
  constraint config_reason_check CHECK (octet_length(reason) >= 1 AND octet_length(reason) <= 2000),
  constraint config_set_at_check CHECK (isfinite(set_at)),
  constraint config_set_by_check CHECK (octet_length(set_by) >= 1 AND octet_length(set_by) <= 500),
  constraint config_status_check CHECK (status = ANY (ARRAY['set'::text, 'removed'::text])),
  constraint config_value CHECK ((status = 'removed'::text) = (value IS NULL)),
  constraint config_value_check CHECK (octet_length(value::text) <= 100000),
  constraint config_version_check CHECK (version > 0)
);
alter table recovery.config enable row level security;
comment on table recovery.config is 'Keys that programs read, with all their versions; the last one counts. Set by people, or by the action reconfigure.';
comment on column recovery.config.key is 'The key.';
comment on column recovery.config.version is 'Number of the version, from 1 without a gap.';
comment on column recovery.config.status is 'set: it has a value; removed: it has none, as before it was first set.';
comment on column recovery.config.value is 'The value; null: it was removed.';
comment on column recovery.config.candidate_id is 'The candidate that set or restored it; null: a person set it.';
comment on column recovery.config.set_by is 'Who set it.';
comment on column recovery.config.reason is 'Why.';
comment on column recovery.config.set_at is 'When.';
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.config REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_config_births('recovery.config');
alter table recovery.config enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.config REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.config');
alter table recovery.config enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.config REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_moves('recovery.config');
alter table recovery.config enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.config FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.config');
alter table recovery.config enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.config FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.config enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_config_on_insert AFTER INSERT ON recovery.config REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_config();
alter table recovery.config enable always trigger b_rule_config_on_insert;
CREATE TRIGGER c_content_config_births_on_insert AFTER INSERT ON recovery.config REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.content_config_births();
alter table recovery.config enable always trigger c_content_config_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recovery.config REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('candidate_id');
alter table recovery.config enable always trigger c_record_control_on_insert;
create policy hub on recovery.config as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.config is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.config as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (candidate_id, key, reason, set_at, set_by, status, value, version) on table recovery.config to recoup_executor;
grant insert (candidate_id, key, reason, set_at, set_by, status, value, version) on table recovery.config to recoup_operator;
grant select on table recovery.config to recoup_reader;

create table recovery.evaluation (
  failure_match_id uuid not null,
  evaluation_no integer not null,
  status text not null default 'done'::text,
  rules text not null,
  fired text[] not null,
  recommended_action text,
  weight real not null,
  facts jsonb not null,
  policy_version integer not null,
  evaluated_at timestamp with time zone not null,
  errors jsonb,
  constraint evaluation_pkey PRIMARY KEY (failure_match_id, evaluation_no),
  constraint evaluation_errors_check CHECK (jsonb_typeof(errors) = 'object'::text),
  constraint evaluation_evaluated_at_check CHECK (isfinite(evaluated_at)),
  constraint evaluation_evaluation_no_check CHECK (evaluation_no > 0),
  constraint evaluation_recommended_action_check CHECK (octet_length(recommended_action) >= 1 AND octet_length(recommended_action) <= 200),
  constraint evaluation_rules_check CHECK (octet_length(rules) >= 1 AND octet_length(rules) <= 200),
  constraint evaluation_status_check CHECK (status = 'done'::text),
  constraint evaluation_weight_check CHECK (weight >= 0::double precision AND weight <= 1::double precision)
);
alter table recovery.evaluation enable row level security;
comment on table recovery.evaluation is 'What the rules recommended for a match, and on which facts. It never changes.';
comment on column recovery.evaluation.failure_match_id is 'The match.';
comment on column recovery.evaluation.evaluation_no is 'Number of the evaluation, from 1.';
comment on column recovery.evaluation.status is 'done.';
comment on column recovery.evaluation.rules is 'What was evaluated: rules, or plan, where the policy has no rules.';
comment on column recovery.evaluation.fired is 'The rules that were true, first the one that decided; plan.KIND comes first where the plan decided.';
comment on column recovery.evaluation.recommended_action is 'The action that they recommend; null: none.';
comment on column recovery.evaluation.weight is 'How strongly they recommend it, from 0 to 1.';
comment on column recovery.evaluation.facts is 'What they were evaluated on, as far as it is not in the row of the match.';
comment on column recovery.evaluation.policy_version is 'Version of the policy that they are from.';
comment on column recovery.evaluation.evaluated_at is 'When they were evaluated.';
comment on column recovery.evaluation.errors is 'The rules whose evaluation failed, each with its error: they decided nothing. null: none.';
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.evaluation REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_evaluation_births('recovery.evaluation');
alter table recovery.evaluation enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.evaluation REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.evaluation');
alter table recovery.evaluation enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.evaluation REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_moves('recovery.evaluation');
alter table recovery.evaluation enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.evaluation FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.evaluation');
alter table recovery.evaluation enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.evaluation FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.evaluation enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_evaluations_on_insert AFTER INSERT ON recovery.evaluation REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_evaluations();
alter table recovery.evaluation enable always trigger b_rule_evaluations_on_insert;
CREATE TRIGGER c_content_evaluation_births_on_insert AFTER INSERT ON recovery.evaluation REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.content_evaluation_births();
alter table recovery.evaluation enable always trigger c_content_evaluation_births_on_insert;
CREATE TRIGGER c_record_evaluations_on_insert AFTER INSERT ON recovery.evaluation REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_evaluations();
alter table recovery.evaluation enable always trigger c_record_evaluations_on_insert;
create policy hub on recovery.evaluation as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.evaluation is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.evaluation as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (errors, evaluated_at, evaluation_no, facts, failure_match_id, fired, policy_version, recommended_action, rules, weight) on table recovery.evaluation to recoup_rule_engine;
grant select on table recovery.evaluation to recoup_reader;

create table recovery.experience (
  action_name text not null,
  source text not null,
  category text not null,
  day date not null,
  succeeded integer not null,
  ended integer not null,
  constraint experience_pkey PRIMARY KEY (action_name, source, category, day),
  constraint experience_action_name_check CHECK (octet_length(action_name) >= 1 AND octet_length(action_name) <= 200),
  constraint experience_category_check CHECK (category = ANY (ARRAY[''::text, 'TRANSIENT'::text, 'OPERATIONAL'::text, 'STRUCTURAL'::text])),
  constraint experience_day_check CHECK (isfinite(day)),
  constraint experience_ended CHECK (ended >= succeeded AND ended > 0),
  constraint experience_level CHECK (source <> ''::text OR category = ''::text),
  constraint experience_source_check CHECK (octet_length(source) <= 500),
  constraint experience_succeeded_check CHECK (succeeded >= 0)
);
alter table recovery.experience enable row level security;
comment on table recovery.experience is 'How often actions made failures go away, counted by day: of all failures, of a source, of a category of a source.';
comment on column recovery.experience.action_name is 'The action.';
comment on column recovery.experience.source is 'The source; empty: of all failures.';
comment on column recovery.experience.category is 'The category; empty: of all of the source.';
comment on column recovery.experience.day is 'The day on which the candidates ended, UTC.';
comment on column recovery.experience.succeeded is 'How many succeeded.';
comment on column recovery.experience.ended is 'How many ended, in whatever way, and taught something.';
CREATE TRIGGER a_guard_experience BEFORE INSERT OR DELETE OR UPDATE ON recovery.experience FOR EACH ROW EXECUTE FUNCTION recovery.guard_experience();
alter table recovery.experience enable always trigger a_guard_experience;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.experience FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.experience');
alter table recovery.experience enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.experience FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.experience enable replica trigger a_refuse_replicated;
create policy hub on recovery.experience as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.experience is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.experience as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (action_name, category, day, ended, source, succeeded), update (ended, succeeded) on table recovery.experience to recoup_matcher;
grant select on table recovery.experience to recoup_reader;

create table recovery.failure_match (
  failure_match_id uuid not null default recoup.new_id(),
  incident_id uuid not null,
  source text not null,
  idempotency_key text not null,
  subject_kind text not null,
  subject_ref text not null,
  error_code text,
  error_message text not null,
  error_signature text not null,
  category text not null,
  context jsonb,
  digest bytea not null,
  status text not null default 'new'::text,
  follows uuid,
  evaluate_at timestamp with time zone not null,
  match_until timestamp with time zone not null,
  evaluation_no integer not null default 0,
  evaluation_failures integer not null default 0,
  wakes integer not null default 0,
  token uuid,
  last_failure text,
  reported_end text,
  reported_by text,
  end_reason text,
  policy_version integer not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  recovered_at timestamp with time zone,
  constraint failure_match_pkey PRIMARY KEY (failure_match_id),
  constraint failure_match_category_check CHECK (category = ANY (ARRAY['TRANSIENT'::text, 'OPERATIONAL'::text, 'STRUCTURAL'::text])),
  constraint failure_match_created_at_check CHECK (isfinite(created_at)),
  constraint failure_match_end_reason_check CHECK (octet_length(end_reason) >= 1 AND octet_length(end_reason) <= 200),
  constraint failure_match_ended_at_check CHECK (isfinite(ended_at)),
  constraint failure_match_error_code_check CHECK (octet_length(error_code) >= 1 AND octet_length(error_code) <= 200),
  constraint failure_match_error_signature_check CHECK (octet_length(error_signature) >= 1 AND octet_length(error_signature) <= 200),
  constraint failure_match_evaluate_at_check CHECK (isfinite(evaluate_at)),
  constraint failure_match_evaluation_failures_check CHECK (evaluation_failures >= 0),
  constraint failure_match_evaluation_no_check CHECK (evaluation_no >= 0),
  constraint failure_match_idempotency_key_check CHECK (octet_length(idempotency_key) >= 1 AND octet_length(idempotency_key) <= 500),
  constraint failure_match_match_until_check CHECK (isfinite(match_until)),
  constraint failure_match_recovered_at_check CHECK (isfinite(recovered_at)),
  constraint failure_match_reported_by_check CHECK (octet_length(reported_by) >= 1 AND octet_length(reported_by) <= 500),
  constraint failure_match_reported_end_check CHECK (reported_end = 'recovered'::text),
  constraint failure_match_source_check CHECK (octet_length(source) >= 1 AND octet_length(source) <= 500),
  constraint failure_match_status_check CHECK (status = ANY (ARRAY['new'::text, 'evaluated'::text, 'stuck'::text, 'recovered'::text, 'accepted'::text, 'unrecovered'::text])),
  constraint failure_match_subject_kind_check CHECK (subject_kind = ANY (ARRAY['error'::text, 'intake'::text, 'run'::text, 'partition'::text, 'outside'::text])),
  constraint failure_match_subject_ref_check CHECK (octet_length(subject_ref) >= 1 AND octet_length(subject_ref) <= 500),
  constraint failure_match_updated_at_check CHECK (isfinite(updated_at)),
  constraint failure_match_wakes_check CHECK (wakes >= 0),
  constraint match_ended CHECK ((status = ANY (ARRAY['recovered'::text, 'accepted'::text, 'unrecovered'::text])) = (ended_at IS NOT NULL)),
  constraint match_recovered CHECK ((status = 'recovered'::text) = (recovered_at IS NOT NULL)),
  constraint match_reported CHECK ((reported_end IS NULL) = (reported_by IS NULL))
) with (fillfactor=80);
alter table recovery.failure_match enable row level security;
alter table recovery.failure_match force row level security;
comment on table recovery.failure_match is 'One failure, to be recovered from. It is evaluated again whenever something happens, until it ends.';
comment on column recovery.failure_match.failure_match_id is 'Id of the match.';
comment on column recovery.failure_match.incident_id is 'The incident that it belongs to.';
comment on column recovery.failure_match.source is 'Where it failed: an error table, a kind of run, a system.';
comment on column recovery.failure_match.idempotency_key is 'Given by its reporter, unique within the source: a failure that is reported again is the same match.';
comment on column recovery.failure_match.subject_kind is 'error, intake, run, partition or outside.';
comment on column recovery.failure_match.subject_ref is 'What failed: table and first error of a lineage, id of an intake or run, or a name from outside.';
comment on column recovery.failure_match.error_code is 'Code of the failure, if it has one.';
comment on column recovery.failure_match.error_message is 'Message of the failure; known secrets are redacted.';
comment on column recovery.failure_match.error_signature is 'What failures of the same kind have in common.';
comment on column recovery.failure_match.category is 'TRANSIENT, OPERATIONAL or STRUCTURAL.';
comment on column recovery.failure_match.context is 'Details from its reporter; known secrets are redacted.';
comment on column recovery.failure_match.digest is 'Digest of what was reported: the same key with other content is refused.';
comment on column recovery.failure_match.status is 'new, evaluated, stuck, recovered, accepted or unrecovered.';
comment on column recovery.failure_match.follows is 'The match of the same subject before it, which has ended.';
comment on column recovery.failure_match.evaluate_at is 'When it is evaluated next, at the latest.';
comment on column recovery.failure_match.match_until is 'Without an open candidate and without a started unit it ends as unrecovered at this time.';
comment on column recovery.failure_match.evaluation_no is 'Number of evaluations that have ended.';
comment on column recovery.failure_match.evaluation_failures is 'Number of evaluations in a row that failed.';
comment on column recovery.failure_match.wakes is 'Number of times that something happened to it; an evaluation that saw fewer is repeated.';
comment on column recovery.failure_match.token is 'Token of the last evaluation that ended.';
comment on column recovery.failure_match.last_failure is 'Why its last evaluation failed; null: it did not.';
comment on column recovery.failure_match.reported_end is 'recovered: an operator reported that the failure is gone.';
comment on column recovery.failure_match.reported_by is 'Who reported that.';
comment on column recovery.failure_match.end_reason is 'Why it ended.';
comment on column recovery.failure_match.policy_version is 'Version of the policy when it was created.';
comment on column recovery.failure_match.created_at is 'When it was ingested.';
comment on column recovery.failure_match.updated_at is 'When it last changed.';
comment on column recovery.failure_match.ended_at is 'When it ended.';
comment on column recovery.failure_match.recovered_at is 'When the failure was gone.';
CREATE INDEX match_failing ON recovery.failure_match USING btree (failure_match_id) WHERE evaluation_failures > 0;
CREATE UNIQUE INDEX match_idempotency ON recovery.failure_match USING btree (source, idempotency_key);
CREATE INDEX match_incident ON recovery.failure_match USING btree (incident_id, created_at);
CREATE UNIQUE INDEX match_open ON recovery.failure_match USING btree (subject_ref, subject_kind) WHERE ended_at IS NULL AND subject_kind <> 'outside'::text;
CREATE INDEX match_subject ON recovery.failure_match USING btree (subject_ref, subject_kind);
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.failure_match REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_failure_match_births('recovery.failure_match');
alter table recovery.failure_match enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.failure_match REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.failure_match');
alter table recovery.failure_match enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.failure_match REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_failure_match_moves('recovery.failure_match');
alter table recovery.failure_match enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.failure_match FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.failure_match');
alter table recovery.failure_match enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.failure_match FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.failure_match enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_match_births_on_insert AFTER INSERT ON recovery.failure_match REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_match_births();
alter table recovery.failure_match enable always trigger b_rule_match_births_on_insert;
CREATE TRIGGER b_rule_match_moves_on_update AFTER UPDATE ON recovery.failure_match REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_match_moves();
alter table recovery.failure_match enable always trigger b_rule_match_moves_on_update;
CREATE TRIGGER c_content_failure_match_births_on_insert AFTER INSERT ON recovery.failure_match REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.content_failure_match_births();
alter table recovery.failure_match enable always trigger c_content_failure_match_births_on_insert;
CREATE TRIGGER c_record_match_births_on_insert AFTER INSERT ON recovery.failure_match REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_match_births();
alter table recovery.failure_match enable always trigger c_record_match_births_on_insert;
CREATE TRIGGER c_record_match_moves_on_update AFTER UPDATE ON recovery.failure_match REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_match_moves();
alter table recovery.failure_match enable always trigger c_record_match_moves_on_update;
CREATE TRIGGER d_queue_failure_match_births_on_insert AFTER INSERT ON recovery.failure_match REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.queue_failure_match_births();
alter table recovery.failure_match enable always trigger d_queue_failure_match_births_on_insert;
CREATE TRIGGER d_queue_failure_match_moves_on_update AFTER UPDATE ON recovery.failure_match REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.queue_failure_match_moves();
alter table recovery.failure_match enable always trigger d_queue_failure_match_moves_on_update;
create policy hub on recovery.failure_match as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (source = ANY ((( SELECT recoup.hub_names('tables'::text) || recoup.hub_names('sources'::text)))::text[])));
comment on policy hub on recovery.failure_match is 'Rows of the hub that the transaction is limited to; 9841a69a494ee96bf76111e8b9fdb6b2.';
create policy workers on recovery.failure_match as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (category, context, created_at, digest, error_code, error_message, error_signature, evaluate_at, failure_match_id, follows, idempotency_key, incident_id, match_until, policy_version, source, subject_kind, subject_ref, updated_at) on table recovery.failure_match to recoup_matcher;
grant select on table recovery.failure_match to recoup_reader;
grant update (end_reason, ended_at, evaluate_at, evaluation_failures, evaluation_no, last_failure, recovered_at, status, token, updated_at, wakes) on table recovery.failure_match to recoup_evaluator;
grant update (evaluate_at, evaluation_failures, reported_by, reported_end, status, updated_at, wakes) on table recovery.failure_match to recoup_operator;

create table recovery.incident (
  incident_id uuid not null default recoup.new_id(),
  source text not null,
  error_signature text not null,
  status text not null default 'open'::text,
  follows uuid,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  constraint incident_pkey PRIMARY KEY (incident_id),
  constraint incident_closed CHECK ((status = 'closed'::text) = (closed_at IS NOT NULL)),
  constraint incident_closed_at_check CHECK (isfinite(closed_at)),
  constraint incident_error_signature_check CHECK (octet_length(error_signature) >= 1 AND octet_length(error_signature) <= 200),
  constraint incident_opened_at_check CHECK (isfinite(opened_at)),
  constraint incident_source_check CHECK (octet_length(source) >= 1 AND octet_length(source) <= 500),
  constraint incident_status_check CHECK (status = ANY (ARRAY['open'::text, 'closed'::text]))
);
alter table recovery.incident enable row level security;
alter table recovery.incident force row level security;
comment on table recovery.incident is 'Failures of one source with one signature, while they come. Scopes are opened for incidents.';
comment on column recovery.incident.incident_id is 'Id of the incident.';
comment on column recovery.incident.source is 'Where the failures occur: an error table, a kind of run, a system.';
comment on column recovery.incident.error_signature is 'What the failures have in common.';
comment on column recovery.incident.status is 'open: matches join it; closed: it was quiet, and none of its matches is open.';
comment on column recovery.incident.follows is 'The incident of the same source and signature before it, if any.';
comment on column recovery.incident.opened_at is 'When its first match came.';
comment on column recovery.incident.closed_at is 'When it was closed.';
CREATE UNIQUE INDEX incident_open ON recovery.incident USING btree (source, error_signature) WHERE status = 'open'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.incident REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_incident_births('recovery.incident');
alter table recovery.incident enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.incident REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.incident');
alter table recovery.incident enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.incident REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_incident_moves('recovery.incident');
alter table recovery.incident enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.incident FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.incident');
alter table recovery.incident enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.incident FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.incident enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_incidents_on_update AFTER UPDATE ON recovery.incident REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_incidents();
alter table recovery.incident enable always trigger b_rule_incidents_on_update;
CREATE TRIGGER b_rule_times_on_insert AFTER INSERT ON recovery.incident REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.rule_times('incident_id', 'opened_at');
alter table recovery.incident enable always trigger b_rule_times_on_insert;
CREATE TRIGGER c_content_incident_births_on_insert AFTER INSERT ON recovery.incident REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.content_incident_births();
alter table recovery.incident enable always trigger c_content_incident_births_on_insert;
CREATE TRIGGER c_record_incidents_on_insert AFTER INSERT ON recovery.incident REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_incidents();
alter table recovery.incident enable always trigger c_record_incidents_on_insert;
CREATE TRIGGER c_record_incidents_on_update AFTER UPDATE ON recovery.incident REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_incidents();
alter table recovery.incident enable always trigger c_record_incidents_on_update;
create policy hub on recovery.incident as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (source = ANY ((( SELECT recoup.hub_names('tables'::text) || recoup.hub_names('sources'::text)))::text[])));
comment on policy hub on recovery.incident is 'Rows of the hub that the transaction is limited to; 9841a69a494ee96bf76111e8b9fdb6b2.';
create policy workers on recovery.incident as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (error_signature, follows, incident_id, opened_at, source), update (opened_at) on table recovery.incident to recoup_matcher;
grant select on table recovery.incident to recoup_reader;
grant update (closed_at, status) on table recovery.incident to recoup_evaluator;
grant update (opened_at) on table recovery.incident to recoup_scoped_execution;

create table recovery.lease (
  token uuid not null,
  worker text not null,
  lease_until timestamp with time zone not null,
  candidates uuid[] not null,
  constraint lease_pkey PRIMARY KEY (token),
  constraint lease_candidates_check CHECK (cardinality(candidates) > 0),
  constraint lease_lease_until_check CHECK (isfinite(lease_until))
);
alter table recovery.lease enable row level security;
comment on table recovery.lease is 'Claims of candidates, and until when their effects have to be made. Managed by the database.';
comment on column recovery.lease.token is 'Token of the claim.';
comment on column recovery.lease.worker is 'Who claimed.';
comment on column recovery.lease.lease_until is 'Until when.';
comment on column recovery.lease.candidates is 'The candidates that were started with it.';
CREATE INDEX lease_expiry ON recovery.lease USING btree (lease_until);
CREATE TRIGGER a_guard_leases BEFORE INSERT OR DELETE OR UPDATE ON recovery.lease FOR EACH ROW EXECUTE FUNCTION recovery.guard_leases();
alter table recovery.lease enable always trigger a_guard_leases;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.lease FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.lease');
alter table recovery.lease enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.lease FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.lease enable replica trigger a_refuse_replicated;
create policy hub on recovery.lease as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.lease is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.lease as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant delete on table recovery.lease to recoup_evaluator;
grant select on table recovery.lease to recoup_reader;

create table recovery.match_queue (
  unit uuid not null,
  part text not null default ''::text,
  round integer not null default 0,
  wake_at timestamp with time zone not null,
  until timestamp with time zone,
  token uuid,
  worker text,
  claimed_at timestamp with time zone,
  constraint match_queue_pkey PRIMARY KEY (unit),
  constraint queue_claim CHECK ((token IS NULL) = (worker IS NULL) AND (token IS NULL) = (claimed_at IS NULL)),
  constraint queue_form_claimed_at_check CHECK (isfinite(claimed_at)),
  constraint queue_form_round_check CHECK (round >= 0),
  constraint queue_form_until_check CHECK (isfinite(until)),
  constraint queue_form_wake_at_check CHECK (isfinite(wake_at)),
  constraint queue_form_worker_check CHECK (octet_length(worker) >= 1 AND octet_length(worker) <= 500)
) with (fillfactor=70);
alter table recovery.match_queue enable row level security;
comment on table recovery.match_queue is 'Matches that wait for their next evaluation. Managed by the database.';
comment on column recovery.match_queue.unit is 'The match''s id; round is the number of evaluations that have ended.';
comment on column recovery.match_queue.part is 'Where the unit is, of a subject in several tables.';
comment on column recovery.match_queue.round is 'Attempts that have ended.';
comment on column recovery.match_queue.wake_at is 'When it is due; while it is claimed, the end of the lease.';
comment on column recovery.match_queue.until is 'Not claimed after this time; null: always.';
comment on column recovery.match_queue.token is 'Fencing token of the claim that holds it; null: none does.';
comment on column recovery.match_queue.worker is 'Who holds it.';
comment on column recovery.match_queue.claimed_at is 'Since when.';
CREATE INDEX match_queue_until_idx ON recovery.match_queue USING btree (until) WHERE token IS NULL AND until IS NOT NULL;
CREATE INDEX match_queue_wake_at_idx ON recovery.match_queue USING btree (wake_at) WHERE token IS NULL;
CREATE INDEX match_queue_wake_at_idx1 ON recovery.match_queue USING btree (wake_at) WHERE token IS NOT NULL;
CREATE TRIGGER a_guard_claims AFTER UPDATE ON recovery.match_queue REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_claims('recovery.failure_match', '24 hours', 'evaluator');
alter table recovery.match_queue enable always trigger a_guard_claims;
CREATE TRIGGER a_guard_queue BEFORE INSERT OR DELETE OR TRUNCATE ON recovery.match_queue FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_queue();
alter table recovery.match_queue enable always trigger a_guard_queue;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.match_queue FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.match_queue enable replica trigger a_refuse_replicated;
CREATE TRIGGER c_record_claims AFTER UPDATE ON recovery.match_queue REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_claims('recovery.failure_match');
alter table recovery.match_queue enable always trigger c_record_claims;
create policy hub on recovery.match_queue as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.match_queue is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.match_queue as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recovery.match_queue to recoup_reader;
grant update (claimed_at, token, wake_at, worker) on table recovery.match_queue to recoup_evaluator;

create table recovery.provenance (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  event_type text not null,
  candidate_id uuid,
  failure_match_id uuid,
  incident_id uuid not null,
  scope_id uuid,
  number integer,
  from_status text,
  to_status text,
  action_name text,
  confidence double precision,
  evidence integer,
  token uuid,
  outcome text,
  reason text,
  facts jsonb,
  policy_version integer,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text default SESSION_USER,
  constraint provenance_pkey PRIMARY KEY (seq),
  constraint provenance_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint provenance_event CHECK (event_type = ANY (ARRAY['created'::text, 'rule_evaluated'::text, 'action_selected'::text, 'confidence_updated'::text, 'approved'::text, 'rejected'::text, 'executed'::text, 'effect_made'::text, 'success'::text, 'failure'::text, 'crashed'::text, 'rolled_back'::text, 'skipped'::text, 'manual_override'::text, 'match_created'::text, 'match_evaluated'::text, 'match_resumed'::text, 'match_ended'::text, 'incident_opened'::text, 'incident_closed'::text, 'scope_opened'::text, 'scope_exhausted'::text, 'scope_expired'::text, 'scope_revoked'::text])),
  constraint provenance_logged_at_check CHECK (isfinite(logged_at))
);
alter table recovery.provenance enable row level security;
comment on table recovery.provenance is 'Log of incidents, matches, evaluations, candidates and scopes: every step of each. Append-only.';
comment on column recovery.provenance.seq is 'Position in the order of all events.';
comment on column recovery.provenance.xid is 'The transaction that wrote it.';
comment on column recovery.provenance.incarnation is 'Number of the cluster that wrote it.';
comment on column recovery.provenance.logged_at is 'When it happened.';
comment on column recovery.provenance.event_type is 'What happened.';
comment on column recovery.provenance.candidate_id is 'The candidate, if it is about one.';
comment on column recovery.provenance.failure_match_id is 'The match, if it is about one.';
comment on column recovery.provenance.incident_id is 'The incident.';
comment on column recovery.provenance.scope_id is 'The scope, if one is involved.';
comment on column recovery.provenance.number is 'Number of the evaluation, if it is about one.';
comment on column recovery.provenance.from_status is 'Status before; null: it was created.';
comment on column recovery.provenance.to_status is 'Status after.';
comment on column recovery.provenance.action_name is 'The action.';
comment on column recovery.provenance.confidence is 'The confidence at that time; of an evaluation, its weight.';
comment on column recovery.provenance.evidence is 'Number of outcomes that it rested on.';
comment on column recovery.provenance.token is 'Token of the claim.';
comment on column recovery.provenance.outcome is 'How an evaluation ended: SUCCEEDED or FAILED.';
comment on column recovery.provenance.reason is 'Why: a note, a skip reason, an error, or who claimed.';
comment on column recovery.provenance.facts is 'Further facts; of parameters and results digests only.';
comment on column recovery.provenance.policy_version is 'Version of the policy that was decided by.';
comment on column recovery.provenance.actor is 'Kind of the actor: system, ai or human.';
comment on column recovery.provenance.actor_id is 'The actor.';
comment on column recovery.provenance.authority is 'Authority under which it was done.';
comment on column recovery.provenance.login is 'Login of the session.';
CREATE INDEX provenance_incident ON recovery.provenance USING btree (incident_id, seq) WHERE failure_match_id IS NULL;
CREATE INDEX provenance_match ON recovery.provenance USING btree (failure_match_id, seq) WHERE failure_match_id IS NOT NULL;
CREATE INDEX provenance_xid ON recovery.provenance USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recovery.provenance FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recovery.provenance enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recovery.provenance FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recovery.provenance enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recovery.provenance FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recovery.provenance enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.provenance FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.provenance enable replica trigger a_refuse_replicated;
create policy hub on recovery.provenance as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.provenance is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.provenance as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recovery.provenance to recoup_reader;

create view recovery.rule (
  rule_name text,
  policy_version integer,
  condition text,
  recommended_action text,
  weight real,
  times integer,
  parameters jsonb,
  description text
) as -- query ea0106751e6a3e9f705e02bd00c80c83
comment on view recovery.rule is 'The rules, for every version of the policy. It is the policy itself, so it cannot differ from it.';
comment on column recovery.rule.rule_name is 'Name of the rule.';
comment on column recovery.rule.policy_version is 'The policy that has it.';
comment on column recovery.rule.condition is 'When it recommends its action: a condition in CEL.';
comment on column recovery.rule.recommended_action is 'The action that it recommends.';
comment on column recovery.rule.weight is 'How strongly, from 0 to 1.';
comment on column recovery.rule.times is 'How often its action may be tried for one failure.';
comment on column recovery.rule.parameters is 'What the action is given, in addition to its own.';
comment on column recovery.rule.description is 'What it is for.';
grant select on table recovery.rule to recoup_reader;

create table recovery.run (
  run_id uuid not null default recoup.new_id(),
  kind text not null,
  source text not null,
  input jsonb,
  status text not null,
  retry_of uuid,
  retry_with jsonb,
  candidate_id uuid,
  owner text not null,
  worker_id uuid,
  token uuid,
  created_at timestamp with time zone not null,
  queued_at timestamp with time zone,
  started_at timestamp with time zone,
  heartbeat_at timestamp with time zone,
  finished_at timestamp with time zone,
  notes integer not null default 0,
  note text,
  message text,
  result jsonb,
  ended_with uuid,
  crash_reason text,
  constraint run_pkey PRIMARY KEY (run_id),
  constraint run_ended_check CHECK ((finished_at IS NOT NULL) = (status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'crashed'::text])) AND (ended_with IS NOT NULL) = (status = ANY (ARRAY['succeeded'::text, 'failed'::text])) AND (crash_reason IS NOT NULL) = (status = 'crashed'::text) AND (num_nonnulls(message, result) = 0 OR (status = ANY (ARRAY['succeeded'::text, 'failed'::text])))),
  constraint run_named_check CHECK (char_length(kind) >= 1 AND char_length(kind) <= 200 AND char_length(source) >= 1 AND char_length(source) <= 200),
  constraint run_queued_check CHECK (status <> 'queued'::text OR queued_at IS NOT NULL),
  constraint run_retry_check CHECK ((retry_of IS NULL) = (candidate_id IS NULL) AND retry_of <> run_id),
  constraint run_started_check CHECK (
CASE
    WHEN status = 'queued'::text THEN num_nonnulls(started_at, token, heartbeat_at) = 0
    WHEN status = 'crashed'::text THEN num_nonnulls(started_at, token, heartbeat_at) = ANY (ARRAY[0, 3])
    ELSE num_nonnulls(started_at, token, heartbeat_at) = 3
END),
  constraint run_status_check CHECK (status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'crashed'::text]))
);
alter table recovery.run enable row level security;
alter table recovery.run force row level security;
comment on table recovery.run is 'One execution of work. It ends once: succeeded, failed, or crashed. A retry is a new run.';
comment on column recovery.run.run_id is 'Identity.';
comment on column recovery.run.kind is 'What kind of work it is, such as nightly-import. Runs are claimed by kind.';
comment on column recovery.run.source is 'What its failures are counted under; by default its kind.';
comment on column recovery.run.input is 'What it works on, without secrets. A retry gets a copy.';
comment on column recovery.run.status is 'queued, running, succeeded, failed or crashed.';
comment on column recovery.run.retry_of is 'The run that failed or crashed, of which this is the retry.';
comment on column recovery.run.retry_with is 'Of a retry: the alternative that it is to use, if any.';
comment on column recovery.run.candidate_id is 'Of a retry: the recovery candidate that started it.';
comment on column recovery.run.owner is 'Who queued it; once it runs, who runs it.';
comment on column recovery.run.worker_id is 'The worker (recoup.worker) that queued it or runs it, if it is one of ours.';
comment on column recovery.run.token is 'Drawn when it starts. Heartbeats, notes and the end present it.';
comment on column recovery.run.created_at is 'When it was created.';
comment on column recovery.run.queued_at is 'When it was queued; null if it was started at once.';
comment on column recovery.run.started_at is 'When it was started or claimed.';
comment on column recovery.run.heartbeat_at is 'Last heartbeat. Not logged.';
comment on column recovery.run.finished_at is 'When it ended, or was marked crashed.';
comment on column recovery.run.notes is 'How many notes its runner wrote.';
comment on column recovery.run.note is 'The last note. All of them are in recovery.run_trace.';
comment on column recovery.run.message is 'Of an ended run: its message, without secrets.';
comment on column recovery.run.result is 'Of an ended run: its result, without secrets.';
comment on column recovery.run.ended_with is 'Of a run that succeeded or failed: the token that was presented.';
comment on column recovery.run.crash_reason is 'Of a crashed run: how that was found.';
CREATE INDEX run_candidate ON recovery.run USING btree (candidate_id) WHERE candidate_id IS NOT NULL;
CREATE INDEX run_claimed ON recovery.run USING btree (kind, started_at) WHERE queued_at IS NOT NULL AND started_at IS NOT NULL;
CREATE INDEX run_crashed ON recovery.run USING btree (finished_at) WHERE status = 'crashed'::text;
CREATE INDEX run_created ON recovery.run USING btree (created_at DESC, run_id);
CREATE INDEX run_queued ON recovery.run USING btree (kind, queued_at, run_id) WHERE status = 'queued'::text;
CREATE UNIQUE INDEX run_retry_of ON recovery.run USING btree (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX run_silent ON recovery.run USING btree (heartbeat_at) WHERE status = 'running'::text;
CREATE INDEX run_worker ON recovery.run USING btree (worker_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text])) AND worker_id IS NOT NULL;
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_run_births('recovery.run');
alter table recovery.run enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.run REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.run');
alter table recovery.run enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.run REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_run_moves('recovery.run');
alter table recovery.run enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.run FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.run');
alter table recovery.run enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.run FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.run enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_run_births_on_insert AFTER INSERT ON recovery.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_run_births();
alter table recovery.run enable always trigger b_rule_run_births_on_insert;
CREATE TRIGGER c_content_run_births_on_insert AFTER INSERT ON recovery.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.content_run_births();
alter table recovery.run enable always trigger c_content_run_births_on_insert;
CREATE TRIGGER c_record_run_births_on_insert AFTER INSERT ON recovery.run REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_run_births();
alter table recovery.run enable always trigger c_record_run_births_on_insert;
CREATE TRIGGER c_record_run_moves_on_update AFTER UPDATE ON recovery.run REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_run_moves();
alter table recovery.run enable always trigger c_record_run_moves_on_update;
create policy hub on recovery.run as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR (source = ANY ((( SELECT recoup.hub_names('sources'::text) AS hub_names))::text[])));
comment on policy hub on recovery.run is 'Rows of the hub that the transaction is limited to; 37a0408d21fca9ec0f9d1fcde9d04539.';
create policy workers on recovery.run as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (candidate_id, created_at, input, kind, owner, queued_at, retry_of, retry_with, source, status) on table recovery.run to recoup_executor;
grant insert (created_at, heartbeat_at, input, kind, owner, queued_at, source, started_at, status, token, worker_id), update (ended_with, finished_at, heartbeat_at, message, note, notes, owner, result, started_at, status, token, worker_id) on table recovery.run to recoup_runner;
grant select on table recovery.run to recoup_reader;
grant update (crash_reason, finished_at, status) on table recovery.run to recoup_orphan_recovery;

create table recovery.run_trace (
  seq bigint not null default nextval('recoup.event_seq'::regclass),
  xid xid8 not null default pg_current_xact_id(),
  incarnation integer not null,
  logged_at timestamp with time zone not null,
  run_id uuid not null,
  event_type text not null,
  from_status text,
  to_status text not null,
  reason text,
  facts jsonb not null,
  token uuid,
  actor text not null,
  actor_id text not null,
  authority text not null,
  login text not null default SESSION_USER,
  constraint run_trace_pkey PRIMARY KEY (seq),
  constraint run_trace_actor_check CHECK (actor = ANY (ARRAY['system'::text, 'ai'::text, 'human'::text])),
  constraint run_trace_event_type_check CHECK (event_type = ANY (ARRAY['queued'::text, 'started'::text, 'note'::text, 'succeeded'::text, 'failed'::text, 'crashed'::text])),
  constraint run_trace_logged_at_check CHECK (isfinite(logged_at))
);
alter table recovery.run_trace enable row level security;
comment on table recovery.run_trace is 'Append-only: what became of each run, written by the recorder of its moves. Heartbeats are not in it.';
comment on column recovery.run_trace.seq is 'Order over all logs, drawn after the run is locked.';
comment on column recovery.run_trace.xid is 'Transaction that wrote it; for the settled read.';
comment on column recovery.run_trace.incarnation is 'Cluster that wrote it.';
comment on column recovery.run_trace.logged_at is 'When.';
comment on column recovery.run_trace.run_id is 'The run.';
comment on column recovery.run_trace.event_type is 'queued, started, note, succeeded, failed or crashed.';
comment on column recovery.run_trace.from_status is 'Status before; null at birth.';
comment on column recovery.run_trace.to_status is 'Status after.';
comment on column recovery.run_trace.reason is 'Why it crashed, the message of its end, or the text of a note.';
comment on column recovery.run_trace.facts is 'The values that the event gave the run; of a result, its digest.';
comment on column recovery.run_trace.token is 'Token of the run from its start on.';
comment on column recovery.run_trace.actor is 'system, ai or human.';
comment on column recovery.run_trace.actor_id is 'Who exactly.';
comment on column recovery.run_trace.authority is 'Database role that acted.';
comment on column recovery.run_trace.login is 'Login of the session.';
CREATE INDEX run_trace_run ON recovery.run_trace USING btree (run_id, seq);
CREATE INDEX run_trace_xid ON recovery.run_trace USING btree (xid);
CREATE TRIGGER a_append_only BEFORE DELETE OR UPDATE ON recovery.run_trace FOR EACH ROW EXECUTE FUNCTION recoup.append_only();
alter table recovery.run_trace enable always trigger a_append_only;
CREATE TRIGGER a_append_only_truncate BEFORE TRUNCATE ON recovery.run_trace FOR EACH STATEMENT EXECUTE FUNCTION recoup.append_only();
alter table recovery.run_trace enable always trigger a_append_only_truncate;
CREATE TRIGGER a_only_recorders BEFORE INSERT ON recovery.run_trace FOR EACH STATEMENT EXECUTE FUNCTION recoup.only_recorders();
alter table recovery.run_trace enable always trigger a_only_recorders;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.run_trace FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.run_trace enable replica trigger a_refuse_replicated;
create policy hub on recovery.run_trace as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.run_trace is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.run_trace as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant select on table recovery.run_trace to recoup_reader;

create table recovery.scope (
  scope_id uuid not null default recoup.new_id(),
  incident_id uuid not null,
  allowed_actions text[] not null,
  max_attempts integer not null,
  attempts_used integer not null default 0,
  cost_limit integer not null,
  cost_used integer not null default 0,
  least_cost integer not null,
  ttl_seconds integer not null,
  expires_at timestamp with time zone not null,
  status text not null default 'active'::text,
  opened_by text not null,
  reason text not null,
  policy_version integer not null,
  opened_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint scope_pkey PRIMARY KEY (scope_id),
  constraint scope_allowed_actions_check CHECK (array_position(allowed_actions, NULL::text) IS NULL),
  constraint scope_attempts CHECK (attempts_used <= max_attempts),
  constraint scope_attempts_used_check CHECK (attempts_used >= 0),
  constraint scope_cost CHECK (cost_used <= cost_limit),
  constraint scope_cost_limit_check CHECK (cost_limit > 0),
  constraint scope_cost_used_check CHECK (cost_used >= 0),
  constraint scope_ended CHECK ((status = 'active'::text) = (ended_at IS NULL)),
  constraint scope_ended_at_check CHECK (isfinite(ended_at)),
  constraint scope_exhausted CHECK (status <> 'active'::text OR attempts_used < max_attempts AND (cost_used + least_cost) <= cost_limit),
  constraint scope_least_cost_check CHECK (least_cost > 0),
  constraint scope_max_attempts_check CHECK (max_attempts > 0),
  constraint scope_opened_at_check CHECK (isfinite(opened_at)),
  constraint scope_opened_by_check CHECK (octet_length(opened_by) >= 1 AND octet_length(opened_by) <= 500),
  constraint scope_reason_check CHECK (octet_length(reason) >= 1 AND octet_length(reason) <= 2000),
  constraint scope_status_check CHECK (status = ANY (ARRAY['active'::text, 'exhausted'::text, 'expired'::text, 'revoked'::text])),
  constraint scope_ttl CHECK (expires_at = (opened_at + make_interval(secs => ttl_seconds::double precision))),
  constraint scope_ttl_seconds_check CHECK (ttl_seconds > 0)
) with (fillfactor=50);
alter table recovery.scope enable row level security;
comment on table recovery.scope is 'A boundary: which actions may be executed for an incident, how often, at what cost, until when.';
comment on column recovery.scope.scope_id is 'Id of the scope.';
comment on column recovery.scope.incident_id is 'The incident that it is for.';
comment on column recovery.scope.allowed_actions is 'The actions that may be executed within it.';
comment on column recovery.scope.max_attempts is 'How many candidates may be started within it.';
comment on column recovery.scope.attempts_used is 'How many were started. Never decreases.';
comment on column recovery.scope.cost_limit is 'How many units of cost may be spent within it.';
comment on column recovery.scope.cost_used is 'How many were spent. Never decreases.';
comment on column recovery.scope.least_cost is 'Cost of the cheapest of its actions: when that does not fit, it is exhausted.';
comment on column recovery.scope.ttl_seconds is 'How long it is valid.';
comment on column recovery.scope.expires_at is 'Until when it is valid.';
comment on column recovery.scope.status is 'active, exhausted, expired or revoked.';
comment on column recovery.scope.opened_by is 'Who opened it.';
comment on column recovery.scope.reason is 'Why it was opened.';
comment on column recovery.scope.policy_version is 'Version of the policy when it was opened.';
comment on column recovery.scope.opened_at is 'When it was opened.';
comment on column recovery.scope.ended_at is 'When it was exhausted, expired or revoked.';
CREATE INDEX scope_expiry ON recovery.scope USING btree (expires_at) WHERE status = 'active'::text;
CREATE INDEX scope_incident ON recovery.scope USING btree (incident_id);
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.scope REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_scope_births('recovery.scope');
alter table recovery.scope enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.scope REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.scope');
alter table recovery.scope enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.scope REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_scope_moves('recovery.scope');
alter table recovery.scope enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.scope FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.scope');
alter table recovery.scope enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.scope FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.scope enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_scope_births_on_insert AFTER INSERT ON recovery.scope REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_scope_births();
alter table recovery.scope enable always trigger b_rule_scope_births_on_insert;
CREATE TRIGGER c_content_scope_births_on_insert AFTER INSERT ON recovery.scope REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.content_scope_births();
alter table recovery.scope enable always trigger c_content_scope_births_on_insert;
CREATE TRIGGER c_record_scope_births_on_insert AFTER INSERT ON recovery.scope REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_scope_births();
alter table recovery.scope enable always trigger c_record_scope_births_on_insert;
CREATE TRIGGER c_record_scope_moves_on_update AFTER UPDATE ON recovery.scope REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.record_scope_moves();
alter table recovery.scope enable always trigger c_record_scope_moves_on_update;
create policy hub on recovery.scope as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.scope is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.scope as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (allowed_actions, cost_limit, expires_at, incident_id, least_cost, max_attempts, opened_at, opened_by, policy_version, reason, scope_id, ttl_seconds), update (ended_at, status) on table recovery.scope to recoup_scoped_execution;
grant select on table recovery.scope to recoup_reader;
grant update (attempts_used, cost_used, ended_at, status) on table recovery.scope to recoup_claim_worker;

create table recovery.task (
  task_id uuid not null default recoup.new_id(),
  incident_id uuid not null,
  action_name text not null,
  owner text not null,
  subject text not null,
  status text not null default 'open'::text,
  due_at timestamp with time zone not null,
  created_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  ended_by text,
  note text,
  constraint task_pkey PRIMARY KEY (task_id),
  constraint task_action_name_check CHECK (octet_length(action_name) >= 1 AND octet_length(action_name) <= 200),
  constraint task_created_at_check CHECK (isfinite(created_at)),
  constraint task_due_at_check CHECK (isfinite(due_at)),
  constraint task_ended CHECK ((status = 'open'::text) = (ended_at IS NULL) AND (ended_at IS NULL) = (ended_by IS NULL)),
  constraint task_ended_at_check CHECK (isfinite(ended_at)),
  constraint task_ended_by_check CHECK (octet_length(ended_by) >= 1 AND octet_length(ended_by) <= 500),
  constraint task_note_check CHECK (octet_length(note) >= 1 AND octet_length(note) <= 2000),
  constraint task_owner_check CHECK (octet_length(owner) >= 1 AND octet_length(owner) <= 500),
  constraint task_status_check CHECK (status = ANY (ARRAY['open'::text, 'done'::text, 'cancelled'::text])),
  constraint task_subject_check CHECK (octet_length(subject) >= 1 AND octet_length(subject) <= 2000)
);
alter table recovery.task enable row level security;
comment on table recovery.task is 'Something that a person is asked to do, with a due time.';
comment on column recovery.task.task_id is 'Id of the task.';
comment on column recovery.task.incident_id is 'The incident that it is about.';
comment on column recovery.task.action_name is 'The action that made it.';
comment on column recovery.task.owner is 'Who is asked.';
comment on column recovery.task.subject is 'What failed.';
comment on column recovery.task.status is 'open, done or cancelled.';
comment on column recovery.task.due_at is 'Until when it is to be done.';
comment on column recovery.task.created_at is 'When it was made.';
comment on column recovery.task.ended_at is 'When it was done or cancelled.';
comment on column recovery.task.ended_by is 'Who did or cancelled it.';
comment on column recovery.task.note is 'That person''s note.';
CREATE INDEX task_due ON recovery.task USING btree (due_at) WHERE status = 'open'::text;
CREATE UNIQUE INDEX task_open ON recovery.task USING btree (incident_id, action_name, owner) WHERE status = 'open'::text;
CREATE TRIGGER a_guard_births AFTER INSERT ON recovery.task REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_task_births('recovery.task');
alter table recovery.task enable always trigger a_guard_births;
CREATE TRIGGER a_guard_exits AFTER DELETE ON recovery.task REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_exits('recovery.task');
alter table recovery.task enable always trigger a_guard_exits;
CREATE TRIGGER a_guard_moves AFTER UPDATE ON recovery.task REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.guard_task_moves('recovery.task');
alter table recovery.task enable always trigger a_guard_moves;
CREATE TRIGGER a_guard_truncate BEFORE TRUNCATE ON recovery.task FOR EACH STATEMENT EXECUTE FUNCTION recoup.guard_truncate('recovery.task');
alter table recovery.task enable always trigger a_guard_truncate;
CREATE TRIGGER a_refuse_replicated BEFORE INSERT OR DELETE OR UPDATE ON recovery.task FOR EACH ROW EXECUTE FUNCTION recoup.refuse_replicated();
alter table recovery.task enable replica trigger a_refuse_replicated;
CREATE TRIGGER b_rule_tasks_on_update AFTER UPDATE ON recovery.task REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.rule_tasks();
alter table recovery.task enable always trigger b_rule_tasks_on_update;
CREATE TRIGGER c_content_task_births_on_insert AFTER INSERT ON recovery.task REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recovery.content_task_births();
alter table recovery.task enable always trigger c_content_task_births_on_insert;
CREATE TRIGGER c_record_control_on_insert AFTER INSERT ON recovery.task REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('owner', 'due_at');
alter table recovery.task enable always trigger c_record_control_on_insert;
CREATE TRIGGER c_record_control_on_update AFTER UPDATE ON recovery.task REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION recoup.record_control('ended_by', 'note');
alter table recovery.task enable always trigger c_record_control_on_update;
create policy hub on recovery.task as permissive for all to public using (
CASE
    WHEN COALESCE(current_setting('recoup.hub'::text, true), ''::text) = ''::text THEN 'all'::text
    ELSE 'hub'::text
END <> 'hub'::text OR false);
comment on policy hub on recovery.task is 'Rows of the hub that the transaction is limited to; 253d99eaadb476003e0f56285bfae9c3.';
create policy workers on recovery.task as permissive for all to recoup_archiver, recoup_claim_worker, recoup_error_worker, recoup_evaluator, recoup_executor, recoup_extractor, recoup_gate, recoup_key_manager, recoup_mint, recoup_orphan_recovery, recoup_rule_engine, recoup_scoped_execution, recoup_service, recoup_validator using (true);
grant insert (action_name, created_at, due_at, incident_id, owner, subject, task_id) on table recovery.task to recoup_executor;
grant select on table recovery.task to recoup_reader;
grant update (ended_at, ended_by, note, status) on table recovery.task to recoup_operator;

grant execute on function recovery.add_runs(kinds text[], sources text[], inputs jsonb[], start_ boolean, owner_ text, worker_ uuid, OUT ids uuid[], OUT tokens uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.add_runs(kinds text[], sources text[], inputs jsonb[], start_ boolean, owner_ text, worker_ uuid, OUT ids uuid[], OUT tokens uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 21565be79a8482b13b528900bb1ceac9
comment on function recovery.add_runs(kinds text[], sources text[], inputs jsonb[], start_ boolean, owner_ text, worker_ uuid, OUT ids uuid[], OUT tokens uuid[]) is 'Adds runs, queued or running, in the order given. A running one has a token.';

CREATE OR REPLACE FUNCTION recovery.applicable(action_type text, subject_kind text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body 07a07a4d7bc9e16ee4f6453e00517ffb
comment on function recovery.applicable(action_type text, subject_kind text) is 'Whether actions of a type can be executed for subjects of a kind.';
grant execute on function recovery.applicable(action_type text, subject_kind text) to public;

grant execute on function recovery.ask_people(ids uuid[], keys text[], incidents uuid[], actions text[], parameters jsonb[], matches uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.ask_people(ids uuid[], keys text[], incidents uuid[], actions text[], parameters jsonb[], matches uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 8bf70c45ffe86cd882d459bf7b1ed66c
comment on function recovery.ask_people(ids uuid[], keys text[], incidents uuid[], actions text[], parameters jsonb[], matches uuid[]) is 'The action manual: a task for a person, with a due time.';

grant execute on function recovery.attach_scopes(ids uuid[], scopes uuid[], execute_by_ timestamp with time zone[]) to public;

CREATE OR REPLACE FUNCTION recovery.attach_scopes(ids uuid[], scopes uuid[], execute_by_ timestamp with time zone[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 6f2bc52099c0526022088b8d52d58001
comment on function recovery.attach_scopes(ids uuid[], scopes uuid[], execute_by_ timestamp with time zone[]) is 'Gives pending candidates their scopes.';

CREATE OR REPLACE FUNCTION recovery.break_circuits(ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 32d3f840ca615499bfe64a978fa21278
comment on function recovery.break_circuits(ids uuid[]) is 'The action circuit_breaker: opens the breakers that candidates name, unless they are open.';
grant execute on function recovery.break_circuits(ids uuid[]) to public;

grant execute on function recovery.breaker_broken(o recovery.breaker, n recovery.breaker, now_ timestamp with time zone, acting text, terms record) to public;

CREATE OR REPLACE FUNCTION recovery.breaker_broken(o recovery.breaker, n recovery.breaker, now_ timestamp with time zone, acting text, terms record)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 46005be19e8072ab0202a501b45f62fc
comment on function recovery.breaker_broken(o recovery.breaker, n recovery.breaker, now_ timestamp with time zone, acting text, terms record) is 'The rule that a birth (old row null) or a move of a breaker breaks, or null.';

CREATE OR REPLACE FUNCTION recovery.breaker_named(parameters jsonb, source_ text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 97cd26fe66fc61d8d3b9c64f90615d63
comment on function recovery.breaker_named(parameters jsonb, source_ text) is 'The breaker that an action opens: the one that it is given, else that of the failure''s source.';
grant execute on function recovery.breaker_named(parameters jsonb, source_ text) to public;

CREATE OR REPLACE FUNCTION recovery.breaker_of(VARIADIC parts_ text[])
 RETURNS recovery.breaker
 LANGUAGE sql
 STABLE; -- body 2ddf0cfa48ac37ef851f782cbfa0037b
comment on function recovery.breaker_of(VARIADIC parts_ text[]) is 'The breaker behind which these wait, or null.';
grant execute on function recovery.breaker_of(VARIADIC parts_ text[]) to public;

CREATE OR REPLACE FUNCTION recovery.breaker_state(name_ text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body 92ffa52aefb0c2a2ff01f376fa06df6e
comment on function recovery.breaker_state(name_ text) is 'Whether a breaker is open, and since when: what an undo compares.';
grant execute on function recovery.breaker_state(name_ text) to public;

grant execute on function recovery.breaker_terms(name_ text, policy jsonb, OUT parts text[], OUT wait_s integer, OUT max_wait_s integer) to public;

CREATE OR REPLACE FUNCTION recovery.breaker_terms(name_ text, policy jsonb DEFAULT recovery.policy(), OUT parts text[], OUT wait_s integer, OUT max_wait_s integer)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body b9f2701441c484e44577a78730080f90
comment on function recovery.breaker_terms(name_ text, policy jsonb, OUT parts text[], OUT wait_s integer, OUT max_wait_s integer) is 'What depends on a breaker and how long it stays open, as the active policy has it.';

grant execute on function recovery.candidate_move_broken(o recovery.candidate, n recovery.candidate, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.candidate_move_broken(o recovery.candidate, n recovery.candidate, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body e3cfc8fb0f1de18f10a43f9c7f6fdb7b
comment on function recovery.candidate_move_broken(o recovery.candidate, n recovery.candidate, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of a candidate breaks (recovery.candidate_move_rules), or null.';

grant execute on function recovery.candidate_move_refusal(code_ text, o recovery.candidate, n recovery.candidate, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.candidate_move_refusal(code_ text, o recovery.candidate, n recovery.candidate, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 9699f79bf27825db410815d977135f02
comment on function recovery.candidate_move_refusal(code_ text, o recovery.candidate, n recovery.candidate, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of recovery.candidate_move_broken.';

CREATE OR REPLACE FUNCTION recovery.candidate_move_rules()
 RETURNS TABLE(code text, sqlstate text, message text, hint text)
 LANGUAGE sql
 IMMUTABLE; -- body 1b8517e2a43d030e31fcf0bfaa8d2e16
comment on function recovery.candidate_move_rules() is 'The message and hint for each rule of recovery.candidate_move_broken.';
grant execute on function recovery.candidate_move_rules() to public;

CREATE OR REPLACE FUNCTION recovery.change_record(type text, key text, before jsonb, after jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE; -- body f9ddb30f785d2495238d4d75f16c1451
comment on function recovery.change_record(type text, key text, before jsonb, after jsonb) is 'What an action that can be undone records: what it changed, the value before, the value it left, and their digests.';
grant execute on function recovery.change_record(type text, key text, before jsonb, after jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.change_reversibly(ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 73586b47b134e5f81a910915e5e91e33
comment on function recovery.change_reversibly(ids uuid[]) is 'Makes the changes of candidates that reconfigure or roll back. Returns how many had recorded the truth.';
grant execute on function recovery.change_reversibly(ids uuid[]) to public;

grant execute on function recovery.claim_candidates(among text[], most integer, worker_ text, lease interval, outside boolean, OUT ids uuid[], OUT matches uuid[], OUT actions text[], OUT types text[], OUT kinds text[], OUT given jsonb[], OUT keys text[], OUT timeouts integer[], OUT token_ uuid, OUT until_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recovery.claim_candidates(among text[], most integer, worker_ text, lease interval, outside boolean DEFAULT false, OUT ids uuid[], OUT matches uuid[], OUT actions text[], OUT types text[], OUT kinds text[], OUT given jsonb[], OUT keys text[], OUT timeouts integer[], OUT token_ uuid, OUT until_ timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 8612ce00075b0b88e64af8a23fb6baf6
comment on function recovery.claim_candidates(among text[], most integer, worker_ text, lease interval, outside boolean, OUT ids uuid[], OUT matches uuid[], OUT actions text[], OUT types text[], OUT kinds text[], OUT given jsonb[], OUT keys text[], OUT timeouts integer[], OUT token_ uuid, OUT until_ timestamp with time zone) is 'Starts candidates that may start, approved ones first, within what is left of their scopes, under one lease.';

grant execute on function recovery.claim_matches(among text[], most integer, worker_ text, lease interval, OUT ids uuid[], OUT rounds integer[], OUT wakes_ integer[], OUT token_ uuid, OUT until_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recovery.claim_matches(among text[], most integer, worker_ text, lease interval, OUT ids uuid[], OUT rounds integer[], OUT wakes_ integer[], OUT token_ uuid, OUT until_ timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 7103f1ae08876f084a2d742dfe3fedbb
comment on function recovery.claim_matches(among text[], most integer, worker_ text, lease interval, OUT ids uuid[], OUT rounds integer[], OUT wakes_ integer[], OUT token_ uuid, OUT until_ timestamp with time zone) is 'Takes what is due, of these parts (null: of all), longest due first, under one lease, generated from the declaration.';

grant execute on function recovery.claim_runs(kind_ text, most integer, owner_ text, worker_ uuid, OUT ids uuid[], OUT tokens uuid[], OUT sources text[], OUT inputs jsonb[], OUT retries uuid[], OUT alternatives jsonb[], OUT queued timestamp with time zone[]) to public;

CREATE OR REPLACE FUNCTION recovery.claim_runs(kind_ text, most integer, owner_ text, worker_ uuid, OUT ids uuid[], OUT tokens uuid[], OUT sources text[], OUT inputs jsonb[], OUT retries uuid[], OUT alternatives jsonb[], OUT queued timestamp with time zone[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 84fecf94a0977126dbf967f405b68c3c
comment on function recovery.claim_runs(kind_ text, most integer, owner_ text, worker_ uuid, OUT ids uuid[], OUT tokens uuid[], OUT sources text[], OUT inputs jsonb[], OUT retries uuid[], OUT alternatives jsonb[], OUT queued timestamp with time zone[]) is 'Claims queued runs of a kind, oldest first. Those that another claim holds are skipped. None while runs are paused.';

CREATE OR REPLACE FUNCTION recovery.close_breaker(name_ text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 409bf2a70e89acb6251c552a27f405e0
comment on function recovery.close_breaker(name_ text) is 'Closes a breaker by hand. What depends on it is claimed again.';
grant execute on function recovery.close_breaker(name_ text) to public;

CREATE OR REPLACE FUNCTION recovery.config_now(key_ text, OUT version integer, OUT value jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body eaefc1b2d1e0f20f0aa215f6b9f865b9
comment on function recovery.config_now(key_ text, OUT version integer, OUT value jsonb) is 'The present version of a key and its value; null: it is not set.';
grant execute on function recovery.config_now(key_ text, OUT version integer, OUT value jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.conflicts(c recovery.candidate)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body fa43ec32653103205294b0611a30c6ff
comment on function recovery.conflicts(c recovery.candidate) is 'Whether the present value is another one than the undone candidate left.';
grant execute on function recovery.conflicts(c recovery.candidate) to public;

CREATE OR REPLACE FUNCTION recovery.content_candidate_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 35f25d79ce53087e22de82055b9a9a86
comment on function recovery.content_candidate_births() is 'Digests of rows of recovery.candidate at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recovery.content_config_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 9ed7ccd64feffcee960eaea2a5804c16
comment on function recovery.content_config_births() is 'Digests of rows of recovery.config at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recovery.content_evaluation_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body c04400bce87fefc70f1b4536d5dc08a5
comment on function recovery.content_evaluation_births() is 'Digests of rows of recovery.evaluation at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recovery.content_failure_match_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 83d8464d9a8662f35a177e5ee4f12c00
comment on function recovery.content_failure_match_births() is 'Digests of rows of recovery.failure_match at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recovery.content_incident_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body fb9efe03b6776bbe231c1fbe43cf18ad
comment on function recovery.content_incident_births() is 'Digests of rows of recovery.incident at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recovery.content_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 4642e6ce44b178cdd397135dc0bec8e0
comment on function recovery.content_run_births() is 'Digests of rows of recovery.run at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recovery.content_scope_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 5f7e02adfd5ba6fa69a9036012b5b8e9
comment on function recovery.content_scope_births() is 'Digests of rows of recovery.scope at their birth, generated from the declaration.';

CREATE OR REPLACE FUNCTION recovery.content_task_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET "DateStyle" TO 'iso, ymd'
 SET bytea_output TO 'hex'; -- body 707ad3f166af09d970715a2d206c4064
comment on function recovery.content_task_births() is 'Digests of rows of recovery.task at their birth, generated from the declaration.';

grant execute on function recovery.crash_orphans(threshold interval, most integer, OUT ids uuid[], OUT kinds text[], OUT reasons text[]) to public;

CREATE OR REPLACE FUNCTION recovery.crash_orphans(threshold interval, most integer, OUT ids uuid[], OUT kinds text[], OUT reasons text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body a4f6484610d9ee4d47554377a3be2689
comment on function recovery.crash_orphans(threshold interval, most integer, OUT ids uuid[], OUT kinds text[], OUT reasons text[]) is 'Marks orphaned runs as crashed, in one statement. Call it again until it returns none.';

CREATE OR REPLACE FUNCTION recovery.decision_digest(c recovery.candidate)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body c8921c2474f295c9af063595ad656c3c
comment on function recovery.decision_digest(c recovery.candidate) is 'Digest of what a person decides on: candidate, action, parameters, scope, cost and confidence.';
grant execute on function recovery.decision_digest(c recovery.candidate) to public;

CREATE OR REPLACE FUNCTION recovery.delivery_key(incident uuid, action text, parameters jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 7c3926be66d7a5d07dd97157e210ab6d
comment on function recovery.delivery_key(incident uuid, action text, parameters jsonb) is 'What is delivered once while it is open.';
grant execute on function recovery.delivery_key(incident uuid, action text, parameters jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.digest(result jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 129b6eacb3c77d503eb07f792117b2fa
comment on function recovery.digest(result jsonb) is 'The digest of a result, as the log has it.';
grant execute on function recovery.digest(result jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.digest_of(value jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body d16395894936d729bae26ca266179c86
comment on function recovery.digest_of(value jsonb) is 'Digest of a value by the text that jsonb has for it; null of none.';
grant execute on function recovery.digest_of(value jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.effect_record(c recovery.candidate)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body df539d7c0c99779c08b1910d4f900aaa
comment on function recovery.effect_record(c recovery.candidate) is 'What the effect of an action that can be undone, or undoes, records in its result; null of all others.';
grant execute on function recovery.effect_record(c recovery.candidate) to public;

grant execute on function recovery.end_candidates(ids_ uuid[], targets text[], errors text[], teach boolean[], overriders text[], OUT ended uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.end_candidates(ids_ uuid[], targets text[], errors text[], teach boolean[], overriders text[], OUT ended uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 9d7374514825702ab703491a5eb70df8
comment on function recovery.end_candidates(ids_ uuid[], targets text[], errors text[], teach boolean[], overriders text[], OUT ended uuid[]) is 'Ends executing candidates: succeeded, failed or rolled back. Returns those that had not ended yet.';

grant execute on function recovery.end_evaluations(units uuid[], tokens uuid[], outcomes text[], failures text[], targets text[], reasons text[], next_at timestamp with time zone[], seen_wakes integer[], OUT ended uuid[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recovery.end_evaluations(units uuid[], tokens uuid[], outcomes text[], failures text[], targets text[] DEFAULT NULL::text[], reasons text[] DEFAULT NULL::text[], next_at timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], seen_wakes integer[] DEFAULT NULL::integer[], OUT ended uuid[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body 54fe5dfccfdce2f9c23923f2f6ff455e
comment on function recovery.end_evaluations(units uuid[], tokens uuid[], outcomes text[], failures text[], targets text[], reasons text[], next_at timestamp with time zone[], seen_wakes integer[], OUT ended uuid[], OUT statuses text[]) is 'Ends evaluations: what each match is now, why, and when it is evaluated again; five failures in a row make it stuck.';

CREATE OR REPLACE FUNCTION recovery.end_reported(ids_ uuid[], OUT ended uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 465d85ef276f0c0e20539c1871ad986b
comment on function recovery.end_reported(ids_ uuid[], OUT ended uuid[]) is 'Ends candidates as their executor reported: they await nothing.';
grant execute on function recovery.end_reported(ids_ uuid[], OUT ended uuid[]) to public;

grant execute on function recovery.error_heads(refs text[], OUT ref text, OUT error_table text, OUT error_id bigint, OUT status text, OUT archived_at timestamp with time zone, OUT archive_reason text) to public;

CREATE OR REPLACE FUNCTION recovery.error_heads(refs text[], OUT ref text, OUT error_table text, OUT error_id bigint, OUT status text, OUT archived_at timestamp with time zone, OUT archive_reason text)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body fc2e3140bb72ec7f16e089a0cfafa5a8
comment on function recovery.error_heads(refs text[], OUT ref text, OUT error_table text, OUT error_id bigint, OUT status text, OUT archived_at timestamp with time zone, OUT archive_reason text) is 'The newest error of each lineage (its table and first error), in its table or in the archive.';

CREATE OR REPLACE FUNCTION recovery.errors_before(error_table_ text, lineage bigint)
 RETURNS SETOF bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 68d27a0057416cb829a2400a7183ee35
comment on function recovery.errors_before(error_table_ text, lineage bigint) is 'The errors of a lineage, from the first to the newest, each superseded by the next: people act on each.';
grant execute on function recovery.errors_before(error_table_ text, lineage bigint) to public;

CREATE OR REPLACE FUNCTION recovery.escalate_errors(ids uuid[], refs text[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 96535ede131d52a5e4ad6bcbb2b03583
comment on function recovery.escalate_errors(ids uuid[], refs text[]) is 'The action escalate, for parked errors: the next tier and its owner; with an approval, also the status.';
grant execute on function recovery.escalate_errors(ids uuid[], refs text[]) to public;

CREATE OR REPLACE FUNCTION recovery.expire_candidates(most integer, only_ uuid DEFAULT NULL::uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body ec28fec2c63f51552843b56d9b779b03
comment on function recovery.expire_candidates(most integer, only_ uuid) is 'Ends as failed (CRASHED) the candidates whose lease expired before their effect, and removes their leases.';
grant execute on function recovery.expire_candidates(most integer, only_ uuid) to public;

CREATE OR REPLACE FUNCTION recovery.expire_evaluations(most integer, only_ uuid DEFAULT NULL::uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 178ed1fc1d9dc69d41e86ebf618fa2c1
comment on function recovery.expire_evaluations(most integer, only_ uuid) is 'Ends as LAPSED all work that outlived its lease, or one unit of it, generated from the declaration.';
grant execute on function recovery.expire_evaluations(most integer, only_ uuid) to public;

grant execute on function recovery.finish_candidates(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], OUT finished uuid[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recovery.finish_candidates(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], OUT finished uuid[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body fc73d0b562660338dab4b774d65c11bd
comment on function recovery.finish_candidates(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], OUT finished uuid[], OUT statuses text[]) is 'Ends candidates whose action is outside of this database and awaits nothing, as it reported; late ones are stored.';

grant execute on function recovery.finish_runs(wanted uuid[], with_tokens uuid[], outcomes text[], messages text[], results jsonb[], OUT ids uuid[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recovery.finish_runs(wanted uuid[], with_tokens uuid[], outcomes text[], messages text[], results jsonb[], OUT ids uuid[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body 7eb6f971a3f241cfd0b2e64c7f0f92a1
comment on function recovery.finish_runs(wanted uuid[], with_tokens uuid[], outcomes text[], messages text[], results jsonb[], OUT ids uuid[], OUT statuses text[]) is 'Ends runs, succeeded and failed alike, with their tokens. Late results are stored, and come back as late.';

CREATE OR REPLACE FUNCTION recovery.gates()
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body b7ac3545131160b1e3245a7576b3c283
comment on function recovery.gates() is 'The section on recovery of the active policy, with the actions that are paused (* or a table: all of them).';
grant execute on function recovery.gates() to public;

CREATE OR REPLACE FUNCTION recovery.guard_breaker_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 0c8fe3dd16112e82368b4d66ebad0fa5
comment on function recovery.guard_breaker_births() is 'The guard of births of recovery.breaker, generated from the declaration.';
grant execute on function recovery.guard_breaker_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_breaker_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 74797a7a77dac80b76004ef920d4abe2
comment on function recovery.guard_breaker_moves() is 'The guard of moves of recovery.breaker, generated from the declaration.';
grant execute on function recovery.guard_breaker_moves() to public;

CREATE OR REPLACE FUNCTION recovery.guard_candidate_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 3238747141c647718c27fc34ac22c9b0
comment on function recovery.guard_candidate_births() is 'The guard of births of recovery.candidate, generated from the declaration.';
grant execute on function recovery.guard_candidate_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_candidate_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body b1854e26a9ceb8467d4c77743cffb4ef
comment on function recovery.guard_candidate_moves() is 'The guard of moves of recovery.candidate, generated from the declaration.';
grant execute on function recovery.guard_candidate_moves() to public;

CREATE OR REPLACE FUNCTION recovery.guard_config_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body f4d15554d05a42c97056b96310af7f43
comment on function recovery.guard_config_births() is 'The guard of births of recovery.config, generated from the declaration.';
grant execute on function recovery.guard_config_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_evaluation_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body dcfa413ea8a618ed7cbdb5f7f4cbdf0b
comment on function recovery.guard_evaluation_births() is 'The guard of births of recovery.evaluation, generated from the declaration.';
grant execute on function recovery.guard_evaluation_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_experience()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 79572d3b34023fdf411b3dac1f8737bf
comment on function recovery.guard_experience() is 'The matcher counts outcomes. A count rises, and is not deleted.';
grant execute on function recovery.guard_experience() to public;

CREATE OR REPLACE FUNCTION recovery.guard_failure_match_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body ca362f630189507ad69749271a1daf8a
comment on function recovery.guard_failure_match_births() is 'The guard of births of recovery.failure_match, generated from the declaration.';
grant execute on function recovery.guard_failure_match_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_failure_match_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 8e00444e79b2b86d6c1162dde5494788
comment on function recovery.guard_failure_match_moves() is 'The guard of moves of recovery.failure_match, generated from the declaration.';
grant execute on function recovery.guard_failure_match_moves() to public;

CREATE OR REPLACE FUNCTION recovery.guard_incident_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 0dbda6c55bb7b072162aff30f497a72c
comment on function recovery.guard_incident_births() is 'The guard of births of recovery.incident, generated from the declaration.';
grant execute on function recovery.guard_incident_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_incident_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 187627e3762d11f5959f1b971317780c
comment on function recovery.guard_incident_moves() is 'The guard of moves of recovery.incident, generated from the declaration.';
grant execute on function recovery.guard_incident_moves() to public;

CREATE OR REPLACE FUNCTION recovery.guard_leases()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 9fac3070969541ffa01999ed6e7d56d8
comment on function recovery.guard_leases() is 'Leases come from claims, and go when they have expired, by the evaluator.';
grant execute on function recovery.guard_leases() to public;

CREATE OR REPLACE FUNCTION recovery.guard_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 4654c2b763565ff70c41fab5c2dc7b4e
comment on function recovery.guard_run_births() is 'The guard of births of recovery.run, generated from the declaration.';
grant execute on function recovery.guard_run_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_run_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body da4e96acfc36bdb019d07a2e300df50d
comment on function recovery.guard_run_moves() is 'The guard of moves of recovery.run, generated from the declaration.';
grant execute on function recovery.guard_run_moves() to public;

CREATE OR REPLACE FUNCTION recovery.guard_scope_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 17ad56950e0adb78244d120b2228b177
comment on function recovery.guard_scope_births() is 'The guard of births of recovery.scope, generated from the declaration.';
grant execute on function recovery.guard_scope_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_scope_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 4d2088b6d81b7fdd50528f680e5166c9
comment on function recovery.guard_scope_moves() is 'The guard of moves of recovery.scope, generated from the declaration.';
grant execute on function recovery.guard_scope_moves() to public;

CREATE OR REPLACE FUNCTION recovery.guard_task_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 55a294acf5977b1fd65b6b261f878d2a
comment on function recovery.guard_task_births() is 'The guard of births of recovery.task, generated from the declaration.';
grant execute on function recovery.guard_task_births() to public;

CREATE OR REPLACE FUNCTION recovery.guard_task_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 1ab956c944eb3f7c9912d11aa0ee18d0
comment on function recovery.guard_task_moves() is 'The guard of moves of recovery.task, generated from the declaration.';
grant execute on function recovery.guard_task_moves() to public;

CREATE OR REPLACE FUNCTION recovery.heartbeat_runs(wanted uuid[], with_tokens uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body e27c2723f3392dd79468001b6b6b9ba1
comment on function recovery.heartbeat_runs(wanted uuid[], with_tokens uuid[]) is 'Keeps runs alive, with their tokens. Refused, all of them, if one of them has ended or crashed.';
grant execute on function recovery.heartbeat_runs(wanted uuid[], with_tokens uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.held_tables()
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'; -- body bd8793bbaf4209c29d663edafd0da90c
comment on function recovery.held_tables() is 'The tables behind a breaker in which no retry window closes.';
grant execute on function recovery.held_tables() to public;

CREATE OR REPLACE FUNCTION recovery.hold_errors(refs text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 6d290faa2dc15afa852b549a5bc85dfc
comment on function recovery.hold_errors(refs text[]) is 'Keeps the archiver from errors until the transaction ends; refused if one is gone.';
grant execute on function recovery.hold_errors(refs text[]) to recoup_matcher;

CREATE OR REPLACE FUNCTION recovery.hold_keys(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b6e53db03aa332a8b25b074dba3e0b57
comment on function recovery.hold_keys(ids uuid[]) is 'Makes others wait who change what these candidates change, until the transaction ends.';
grant execute on function recovery.hold_keys(ids uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.hold_matches(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'; -- body 78551759ad716963f07013009561fbfe
comment on function recovery.hold_matches(ids uuid[]) is 'Keeps matches from ending until the transaction ends, so that none ends with an open candidate.';
grant execute on function recovery.hold_matches(ids uuid[]) to recoup_matcher;

CREATE OR REPLACE FUNCTION recovery.hold_scopes(ids uuid[])
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 2ccb6f8ec7fbe1626ff2753c0186467f
comment on function recovery.hold_scopes(ids uuid[]) is 'Locks scopes until the transaction ends: two reviewers together approve no more than what is left of one.';
grant execute on function recovery.hold_scopes(ids uuid[]) to recoup_reviewer;

grant execute on function recovery.ingest(sources text[], keys text[], kinds text[], refs text[], codes text[], messages text[], signatures text[], categories text[], contexts jsonb[], digests bytea[], follow uuid[], named uuid[], OUT ids uuid[], OUT answers text[]) to public;

CREATE OR REPLACE FUNCTION recovery.ingest(sources text[], keys text[], kinds text[], refs text[], codes text[], messages text[], signatures text[], categories text[], contexts jsonb[], digests bytea[], follow uuid[], named uuid[], OUT ids uuid[], OUT answers text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body ed000b458cd052a99171bed5163ffe98
comment on function recovery.ingest(sources text[], keys text[], kinds text[], refs text[], codes text[], messages text[], signatures text[], categories text[], contexts jsonb[], digests bytea[], follow uuid[], named uuid[], OUT ids uuid[], OUT answers text[]) is 'Ingests failures; of each its match, and whether it was created, is known, or differs from what its key stands for.';

CREATE OR REPLACE FUNCTION recovery.is_at_highest_tier(ref text)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body 6f49e280eb64cee09068c0bb66c1a617
comment on function recovery.is_at_highest_tier(ref text) is 'Whether there is no tier to which an error could be escalated.';
grant execute on function recovery.is_at_highest_tier(ref text) to public;

CREATE OR REPLACE FUNCTION recovery.is_held(candidate_id uuid, share double precision)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE; -- body c2c85c0a28c17c297cadeb1b8596d767
comment on function recovery.is_held(candidate_id uuid, share double precision) is 'Whether a candidate is among the share that waits for a person although it would start by itself: by its id alone.';
grant execute on function recovery.is_held(candidate_id uuid, share double precision) to public;

grant execute on function recovery.is_orphaned(o recovery.run, now_ timestamp with time zone, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.is_orphaned(o recovery.run, now_ timestamp with time zone, policy jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body 3152aec0b719f1f163329bf4cc003b60
comment on function recovery.is_orphaned(o recovery.run, now_ timestamp with time zone, policy jsonb) is 'Whether a run may be marked crashed: its worker is gone, it has been silent for a minute at least, or nobody claims its
kind.';

grant execute on function recovery.is_probing(subject_ text, unit_ text, token_ uuid, parts_ text[]) to public;

CREATE OR REPLACE FUNCTION recovery.is_probing(subject_ text, unit_ text, token_ uuid, parts_ text[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 622db41a71e702095399389c249d9f21
comment on function recovery.is_probing(subject_ text, unit_ text, token_ uuid, parts_ text[]) is 'Whether a unit is worked on under this token, and depends on one of these.';

grant execute on function recovery.is_recent(told timestamp with time zone, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recovery.is_recent(told timestamp with time zone, now_ timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body a2766cb44185d22dd4d760cff2457619
comment on function recovery.is_recent(told timestamp with time zone, now_ timestamp with time zone) is 'Whether a time that a statement writes is now.';

grant execute on function recovery.kept_errors(error_table_ text, ids bigint[], now_ timestamp with time zone) to recoup_reader;

CREATE OR REPLACE FUNCTION recovery.kept_errors(error_table_ text, ids bigint[], now_ timestamp with time zone)
 RETURNS bigint[]
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 629bb02e1dda2f904f3849720f8cdc6d
comment on function recovery.kept_errors(error_table_ text, ids bigint[], now_ timestamp with time zone) is 'Lineages of errors that recovery works on: their errors are not archived yet, although they have expired.';

grant execute on function recovery.known(ids uuid[], half_life_days double precision, most integer, OUT candidates uuid[], OUT action_name text, OUT good integer, OUT ended integer, OUT own_good double precision, OUT own_ended double precision, OUT awaiting integer, OUT of_action double precision[], OUT of_source double precision[], OUT of_category double precision[]) to public;

CREATE OR REPLACE FUNCTION recovery.known(ids uuid[], half_life_days double precision, most integer, OUT candidates uuid[], OUT action_name text, OUT good integer, OUT ended integer, OUT own_good double precision, OUT own_ended double precision, OUT awaiting integer, OUT of_action double precision[], OUT of_source double precision[], OUT of_category double precision[])
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body d3050a56ee4924315404dec520fca40c
comment on function recovery.known(ids uuid[], half_life_days double precision, most integer, OUT candidates uuid[], OUT action_name text, OUT good integer, OUT ended integer, OUT own_good double precision, OUT own_ended double precision, OUT awaiting integer, OUT of_action double precision[], OUT of_source double precision[], OUT of_category double precision[]) is 'What is known of the cells of candidates: outcomes weighted by age, what is awaited, and sums of wider levels.';

CREATE OR REPLACE FUNCTION recovery.lacks(action_type text, subject_kind text, parameters jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 847dda623b6c302c86d55e7831d34c5e
comment on function recovery.lacks(action_type text, subject_kind text, parameters jsonb) is 'What an action has to be given for a subject of a kind and is not, or is not usable; null: nothing.';
grant execute on function recovery.lacks(action_type text, subject_kind text, parameters jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.last_claim(kind_ text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE; -- body 1fe630bde13a9e6912be7df7bda033c8
comment on function recovery.last_claim(kind_ text) is 'When a queued run of this kind was last claimed.';
grant execute on function recovery.last_claim(kind_ text) to public;

grant execute on function recovery.last_of_chain(error_table_ text, next_id bigint, OUT id bigint, OUT status text, OUT archived_at timestamp with time zone, OUT archive_reason text) to public;

CREATE OR REPLACE FUNCTION recovery.last_of_chain(error_table_ text, next_id bigint, OUT id bigint, OUT status text, OUT archived_at timestamp with time zone, OUT archive_reason text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b122f0fc3efc537a14041eaebc5a295b
comment on function recovery.last_of_chain(error_table_ text, next_id bigint, OUT id bigint, OUT status text, OUT archived_at timestamp with time zone, OUT archive_reason text) is 'The last error of a chain of superseded ones, from this one on.';

grant execute on function recovery.late_failure_match_reports(units uuid[], tokens uuid[], outcomes text[], failures text[], INOUT ended uuid[], INOUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recovery.late_failure_match_reports(units uuid[], tokens uuid[], outcomes text[], failures text[], INOUT ended uuid[], INOUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body cfa9d0b56f1f2c0987393d237f7a360a
comment on function recovery.late_failure_match_reports(units uuid[], tokens uuid[], outcomes text[], failures text[], INOUT ended uuid[], INOUT statuses text[]) is 'Adds to what ended what was reported before, and stores as late what was not; what is unknown is refused, generated from the declaration.';

grant execute on function recovery.late_outcomes(ids_ uuid[], tokens uuid[], outcomes text[], errors text[], INOUT reported uuid[], INOUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recovery.late_outcomes(ids_ uuid[], tokens uuid[], outcomes text[], errors text[], INOUT reported uuid[], INOUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 6d588cfa2b8f1e2ad08098cef76b243c
comment on function recovery.late_outcomes(ids_ uuid[], tokens uuid[], outcomes text[], errors text[], INOUT reported uuid[], INOUT statuses text[]) is 'Adds to what was reported what was reported before, and stores as late what comes late.';

CREATE OR REPLACE FUNCTION recovery.learn(ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 9582bd65cc434f34f1bfb572894599d3
comment on function recovery.learn(ids uuid[]) is 'Counts the outcomes of candidates that ended, by day, for their action, source and category. Returns how many taught.';
grant execute on function recovery.learn(ids uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.leases_expire()
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body f1e34d55feba9c98e2c043444ea4ca31
comment on function recovery.leases_expire() is 'Whether leases expire now: not after a simulated clock moved, until every running worker has sent a heartbeat.';
grant execute on function recovery.leases_expire() to public;

grant execute on function recovery.make_effects(ids_ uuid[], tokens uuid[], OUT candidates uuid[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recovery.make_effects(ids_ uuid[], tokens uuid[], OUT candidates uuid[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'; -- body 22cf6ccc0de1680a9743718322315e02
comment on function recovery.make_effects(ids_ uuid[], tokens uuid[], OUT candidates uuid[], OUT statuses text[]) is 'Makes the effects of claimed candidates in this database. Of each: made, late, or why not.';

CREATE OR REPLACE FUNCTION recovery.makes(action_type text, subject_kind text, parameters jsonb DEFAULT NULL::jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 2f944d8e3e7c3b0596e1fce63e1463f2
comment on function recovery.makes(action_type text, subject_kind text, parameters jsonb) is 'What the effect of an action makes in this database and then awaits; nothing: it awaits nothing; null: it is outside.';
grant execute on function recovery.makes(action_type text, subject_kind text, parameters jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.note_run(run_id_ uuid, token_ uuid, note_ text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 0952910f56ae3e4822754d3571cfa8e0
comment on function recovery.note_run(run_id_ uuid, token_ uuid, note_ text) is 'Writes a note of its runner to the trace of a run, and keeps it alive. Returns the number of the note.';
grant execute on function recovery.note_run(run_id_ uuid, token_ uuid, note_ text) to public;

grant execute on function recovery.notify_of(ids uuid[], keys text[], incidents uuid[], actions text[], parameters jsonb[], matches uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.notify_of(ids uuid[], keys text[], incidents uuid[], actions text[], parameters jsonb[], matches uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b641748ff6fb92dae21a3f8860e2c0d6
comment on function recovery.notify_of(ids uuid[], keys text[], incidents uuid[], actions text[], parameters jsonb[], matches uuid[]) is 'The action notify: a delivery in the outbox.';

grant execute on function recovery.open_breakers(names text[], reason_ text, candidates uuid[], at_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recovery.open_breakers(names text[], reason_ text, candidates uuid[], at_ timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body a468b36a9e4cb4c89c7aecf3e58508dd
comment on function recovery.open_breakers(names text[], reason_ text, candidates uuid[], at_ timestamp with time zone) is 'Opens breakers, each for a candidate or by an operator. Returns how many: what is open already stays as it is.';

CREATE OR REPLACE FUNCTION recovery.orphans(threshold interval, most integer)
 RETURNS TABLE(run_id uuid, reason text)
 LANGUAGE plpgsql
 STABLE ROWS 100
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 28bab4095ec7252996b985ea666fe06a
comment on function recovery.orphans(threshold interval, most integer) is 'Runs to be marked crashed, and why; at most this number for each reason.';
grant execute on function recovery.orphans(threshold interval, most integer) to public;

CREATE OR REPLACE FUNCTION recovery.outcome_facts(result jsonb, teaches boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body cbdd8f273dd4c47af4de200c20879bad
comment on function recovery.outcome_facts(result jsonb, teaches boolean) is 'What the event of an outcome tells: the digest of its result, and that it is no evidence, if it is none.';
grant execute on function recovery.outcome_facts(result jsonb, teaches boolean) to public;

CREATE OR REPLACE FUNCTION recovery.policy()
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body e1e21d009c8ab032edb1b847b5bc91b4
comment on function recovery.policy() is 'The section on recovery of the active policy.';
grant execute on function recovery.policy() to public;

CREATE OR REPLACE FUNCTION recovery.present_value(undo jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body abb5deac7d732521e99c195adc920e8c
comment on function recovery.present_value(undo jsonb) is 'The present value of what an action that can be undone changed.';
grant execute on function recovery.present_value(undo jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.probe_end(subject_ text, unit_ text, token_ uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body c5925b41f5325e8f1e3a79be7e53ed92
comment on function recovery.probe_end(subject_ text, unit_ text, token_ uuid) is 'How the unit that tries a breaker ended: true: well; null: it has not.';
grant execute on function recovery.probe_end(subject_ text, unit_ text, token_ uuid) to public;

CREATE OR REPLACE FUNCTION recovery.put_config(key_ text, value_ jsonb, candidate uuid DEFAULT NULL::uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body bd14f4321bd2de0a14889e541a1dcafd
comment on function recovery.put_config(key_ text, value_ jsonb, candidate uuid) is 'Adds a version of a key, after all others of it. Null: it is removed.';
grant execute on function recovery.put_config(key_ text, value_ jsonb, candidate uuid) to public;

CREATE OR REPLACE FUNCTION recovery.queue_failure_match_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 1edcab772c400b823b4a6849b3e1ca62
comment on function recovery.queue_failure_match_births() is 'Queues what is born to be worked on, generated from the declaration.';

CREATE OR REPLACE FUNCTION recovery.queue_failure_match_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body fc983e238f5581be8b36dc824d158ec0
comment on function recovery.queue_failure_match_moves() is 'Keeps the queue in step with a move: taken out, put off or queued again, generated from the declaration.';

grant execute on function recovery.queue_retries(wanted uuid[], candidates uuid[], alternatives jsonb[], OUT retried uuid[], OUT ids uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.queue_retries(wanted uuid[], candidates uuid[], alternatives jsonb[], OUT retried uuid[], OUT ids uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'; -- body 0a706dcdf0ebd4c5a35719b0ded52029
comment on function recovery.queue_retries(wanted uuid[], candidates uuid[], alternatives jsonb[], OUT retried uuid[], OUT ids uuid[]) is 'Queues the retry of each run, a copy of its kind, source and input. For the consequence of a candidate only.';

grant execute on function recovery.rate_candidates(ids uuid[], confidences double precision[], evidence_ integer[], bases jsonb[]) to public;

CREATE OR REPLACE FUNCTION recovery.rate_candidates(ids uuid[], confidences double precision[], evidence_ integer[], bases jsonb[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 7f4ab1a3e50bb07ad4dd9116d9c54132
comment on function recovery.rate_candidates(ids uuid[], confidences double precision[], evidence_ integer[], bases jsonb[]) is 'Writes the confidence of pending candidates, and what it rests on.';

CREATE OR REPLACE FUNCTION recovery.rated_of_cells(ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 36862a143f74d6cc3aa4857c57a23805
comment on function recovery.rated_of_cells(ids uuid[]) is 'A pending candidate of each cell that the outcomes of these candidates teach about.';
grant execute on function recovery.rated_of_cells(ids uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.record_candidate_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 2308da6e98179cfc3a93cdbf845ba3fc
comment on function recovery.record_candidate_births() is 'created.';

CREATE OR REPLACE FUNCTION recovery.record_candidate_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 40d61c84529a79492adfae7f17354215
comment on function recovery.record_candidate_moves() is 'The event of a move of a candidate, and crashed or manual_override where that is what happened.';

CREATE OR REPLACE FUNCTION recovery.record_evaluations()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 5d3b343f6aa51c0acdb7f80925f75014
comment on function recovery.record_evaluations() is 'rule_evaluated.';

CREATE OR REPLACE FUNCTION recovery.record_incidents()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body a5a879fa6b160eedc7fe476bd57af7f1
comment on function recovery.record_incidents() is 'incident_opened, incident_closed.';

CREATE OR REPLACE FUNCTION recovery.record_match_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body cbf5af3f7968b8f0c4e31d3764ea31f2
comment on function recovery.record_match_births() is 'match_created.';

CREATE OR REPLACE FUNCTION recovery.record_match_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 343f1af4213a40706eaaad454df65485
comment on function recovery.record_match_moves() is 'match_evaluated, match_resumed, match_ended.';

CREATE OR REPLACE FUNCTION recovery.record_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'; -- body 3bf95402c9ea1af6a4b27982c6d0aa35
comment on function recovery.record_run_births() is 'queued, or started.';

CREATE OR REPLACE FUNCTION recovery.record_run_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'utc'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'; -- body 2ddcd2e7856278215348d7f12159cb33
comment on function recovery.record_run_moves() is 'The event of a move: started, note, succeeded, failed, crashed. A heartbeat has none.';

CREATE OR REPLACE FUNCTION recovery.record_scope_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body f04d71c6fa16bc7e37ebc3333b48a3f4
comment on function recovery.record_scope_births() is 'scope_opened.';

CREATE OR REPLACE FUNCTION recovery.record_scope_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b750712dec01536412bcb7ef85ba917c
comment on function recovery.record_scope_moves() is 'scope_exhausted, scope_expired, scope_revoked.';

grant execute on function recovery.refuse_behind(parts_ text[], now_ timestamp with time zone, alone boolean) to public;

CREATE OR REPLACE FUNCTION recovery.refuse_behind(parts_ text[], now_ timestamp with time zone, alone boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 4c980c4fc3d219cd0e5220c7b9b35202
comment on function recovery.refuse_behind(parts_ text[], now_ timestamp with time zone, alone boolean) is 'Refuses to begin what depends on a breaker that is not closed, unless it is the unit that tries it.';

CREATE OR REPLACE FUNCTION recovery.refuse_over(wanted uuid[], with_tokens uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 01ab12971748c21c20be76a40d33c66c
comment on function recovery.refuse_over(wanted uuid[], with_tokens uuid[]) is 'Refuses runs that do not exist, do not run, or have another token.';
grant execute on function recovery.refuse_over(wanted uuid[], with_tokens uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.refuse_spending(ids uuid[], now_ timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b9adafd2d5f4f9eaa48d1c2d2bdecf24
comment on function recovery.refuse_spending(ids uuid[], now_ timestamp with time zone) is 'Refuses a claim that its scope does not allow, with the reason.';
grant execute on function recovery.refuse_spending(ids uuid[], now_ timestamp with time zone) to public;

grant execute on function recovery.report_outcomes(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], OUT reported uuid[], OUT statuses text[]) to public;

CREATE OR REPLACE FUNCTION recovery.report_outcomes(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], OUT reported uuid[], OUT statuses text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 09bb74f62a76b902a75b12994dd3ee93
comment on function recovery.report_outcomes(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], OUT reported uuid[], OUT statuses text[]) is 'The executor''s report on actions outside this database: made, reported before, or late (stored, and not applied).';

CREATE OR REPLACE FUNCTION recovery.requeue_partitions(ids uuid[], refs text[], verb text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 1bc377cd83d690b6dd4647a0bed60007
comment on function recovery.requeue_partitions(ids uuid[], refs text[], verb text) is 'The actions retry and fallback, for terminal partitions: requeued; and skip: marked, so that the gap is accepted.';
grant execute on function recovery.requeue_partitions(ids uuid[], refs text[], verb text) to public;

grant execute on function recovery.rescore(ids uuid[], confidences double precision[], evidence_ integer[], bases jsonb[], floor_ double precision, least_ integer, skip_below_ double precision, OUT candidates uuid[], OUT matches uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.rescore(ids uuid[], confidences double precision[], evidence_ integer[], bases jsonb[], floor_ double precision, least_ integer, skip_below_ double precision, OUT candidates uuid[], OUT matches uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 410197bacae61a77128c5c8e9aaab5af
comment on function recovery.rescore(ids uuid[], confidences double precision[], evidence_ integer[], bases jsonb[], floor_ double precision, least_ integer, skip_below_ double precision, OUT candidates uuid[], OUT matches uuid[]) is 'Gives pending candidates of the cells of these a new confidence, if it crosses the floor for automatic starts or the line below which they are skipped. Also returns the matches of those that are below it.';

CREATE OR REPLACE FUNCTION recovery.retry_errors(ids uuid[], refs text[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 6a16a1c3a89ab417a8799ce4f7cb3e1a
comment on function recovery.retry_errors(ids uuid[], refs text[]) is 'The actions retry and fallback, for parked errors: requeued, with the alternative, if there is one.';
grant execute on function recovery.retry_errors(ids uuid[], refs text[]) to public;

CREATE OR REPLACE FUNCTION recovery.retry_intakes(ids uuid[], refs text[], keys text[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b9542a3cb85a2daff4310fdcbab86dc1
comment on function recovery.retry_intakes(ids uuid[], refs text[], keys text[]) is 'The action retry, for exhausted intakes: a new intake, once per lineage.';
grant execute on function recovery.retry_intakes(ids uuid[], refs text[], keys text[]) to public;

CREATE OR REPLACE FUNCTION recovery.retry_runs(ids uuid[], refs text[], keys text[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 1896a5558d3048ec84f445423448ae94
comment on function recovery.retry_runs(ids uuid[], refs text[], keys text[]) is 'The actions retry and fallback, for crashed runs: a new run; with the alternative, if there is one.';
grant execute on function recovery.retry_runs(ids uuid[], refs text[], keys text[]) to public;

CREATE OR REPLACE FUNCTION recovery.review_errors(refs text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body fc89cc3e66554234232055c5cf7c1111
comment on function recovery.review_errors(refs text[]) is 'The decision on a candidate is a review of its error.';
grant execute on function recovery.review_errors(refs text[]) to public;

CREATE OR REPLACE FUNCTION recovery.review_errors_of(matches uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 491c3ee7af5d999720093b6f66539761
comment on function recovery.review_errors_of(matches uuid[]) is 'Reviews the errors of these matches.';
grant execute on function recovery.review_errors_of(matches uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.rule_breakers()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 84010e8d44b600cd8cf64f53b1d12866
comment on function recovery.rule_breakers() is 'A breaker is opened as the policy has it, tried by a claimed unit when its wait has ended, and follows its end.';
grant execute on function recovery.rule_breakers() to public;

CREATE OR REPLACE FUNCTION recovery.rule_candidate_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'; -- body 5477413ae19869284fc810309d01e7c9
comment on function recovery.rule_candidate_births() is 'A candidate is created now, for an open match, whose subject is there and is not archived meanwhile.';
grant execute on function recovery.rule_candidate_births() to public;

CREATE OR REPLACE FUNCTION recovery.rule_config()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body d6570f70156b84501c07107a6b102197
comment on function recovery.rule_config() is 'A version of a key is its next one, set now by the actor.';
grant execute on function recovery.rule_config() to public;

CREATE OR REPLACE FUNCTION recovery.rule_evaluations()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'; -- body cb3d7fb6f935b440d5dcad49a734e6ee
comment on function recovery.rule_evaluations() is 'An evaluation is of an open match, the next in number, made now.';
grant execute on function recovery.rule_evaluations() to public;

CREATE OR REPLACE FUNCTION recovery.rule_incidents()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b13abcd5ebe7999a8a3f93b1bd1a8edc
comment on function recovery.rule_incidents() is 'An incident closes when none of its matches is open, and none came.';
grant execute on function recovery.rule_incidents() to public;

CREATE OR REPLACE FUNCTION recovery.rule_match_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'; -- body 13bf8b2e64b29a50dd9e22b1ca6bc407
comment on function recovery.rule_match_births() is 'A match is created now, in an open incident, is evaluated at once, and follows one of its subject that has ended.';
grant execute on function recovery.rule_match_births() to public;

CREATE OR REPLACE FUNCTION recovery.rule_match_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_nestloop TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'; -- body ad4ceee4e1cfeeedf19eaa51f0bd8726
comment on function recovery.rule_match_moves() is 'A match ends now, with a reason and without an open candidate; and it always has a next evaluation.';
grant execute on function recovery.rule_match_moves() to public;

CREATE OR REPLACE FUNCTION recovery.rule_run_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'; -- body 8fdf7300f24df8d862c395bb908a2977
comment on function recovery.rule_run_births() is 'A run is created now; its worker runs; a retry is the copy of a run that failed or crashed.';
grant execute on function recovery.rule_run_births() to public;

CREATE OR REPLACE FUNCTION recovery.rule_scope_births()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 004de42b1ff84afaf5fd75a96d3b7e0d
comment on function recovery.rule_scope_births() is 'A scope is opened now, for an open incident, with known actions that no other active scope of it allows.';
grant execute on function recovery.rule_scope_births() to public;

CREATE OR REPLACE FUNCTION recovery.rule_tasks()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 14793c3e62c9fa87080cef24ebfd347e
comment on function recovery.rule_tasks() is 'A task is ended now, by the acting person.';
grant execute on function recovery.rule_tasks() to public;

grant execute on function recovery.run_move_broken(o recovery.run, n recovery.run, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.run_move_broken(o recovery.run, n recovery.run, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body ddf25caf0cbe189fdcc4285212e91b84
comment on function recovery.run_move_broken(o recovery.run, n recovery.run, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of a run breaks (recovery.run_move_refusal), or null.';

grant execute on function recovery.run_move_refusal(code text, o recovery.run, n recovery.run, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.run_move_refusal(code text, o recovery.run, n recovery.run, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 309ab0facec4a1be0bf2462d794047e1
comment on function recovery.run_move_refusal(code text, o recovery.run, n recovery.run, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of recovery.run_move_broken.';

CREATE OR REPLACE FUNCTION recovery.run_policy()
 RETURNS jsonb
 LANGUAGE sql
 STABLE; -- body 06b5ca9f0e5c3c0d8147b3d109d0bb42
comment on function recovery.run_policy() is 'What the rules of runs read: values of the policy, and pauses.';
grant execute on function recovery.run_policy() to public;

grant execute on function recovery.scope_move_broken(o recovery.scope, n recovery.scope, now_ timestamp with time zone, acting text, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.scope_move_broken(o recovery.scope, n recovery.scope, now_ timestamp with time zone, acting text, policy jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE; -- body 6a8f9493ec5b614a8dcb79e9cb6f6889
comment on function recovery.scope_move_broken(o recovery.scope, n recovery.scope, now_ timestamp with time zone, acting text, policy jsonb) is 'The rule that a move of a scope breaks, or null.';

grant execute on function recovery.scope_move_refusal(code_ text, o recovery.scope, n recovery.scope, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.scope_move_refusal(code_ text, o recovery.scope, n recovery.scope, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb)
 RETURNS record
 LANGUAGE sql
 STABLE; -- body 2a7ff19ff156a6a18eeaac93838379b5
comment on function recovery.scope_move_refusal(code_ text, o recovery.scope, n recovery.scope, OUT sqlstate text, OUT message text, OUT hint text, OUT detail jsonb) is 'The refusal of a move that breaks a rule of recovery.scope_move_broken.';

grant execute on function recovery.select_actions(ids uuid[], actions text[], types text[], parameters_ jsonb[], costs integer[], timeouts integer[], automated boolean[], approvals boolean[], scopes uuid[], execute_by_ timestamp with time zone[], keys text[], held boolean[]) to public;

CREATE OR REPLACE FUNCTION recovery.select_actions(ids uuid[], actions text[], types text[], parameters_ jsonb[], costs integer[], timeouts integer[], automated boolean[], approvals boolean[], scopes uuid[], execute_by_ timestamp with time zone[], keys text[], held boolean[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 60542ede2b05ec54ebaf091104d725fa
comment on function recovery.select_actions(ids uuid[], actions text[], types text[], parameters_ jsonb[], costs integer[], timeouts integer[], automated boolean[], approvals boolean[], scopes uuid[], execute_by_ timestamp with time zone[], keys text[], held boolean[]) is 'Selects the actions of pending candidates, with their scopes.';

CREATE OR REPLACE FUNCTION recovery.served_as(action_name text, action_type text, parameters jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE; -- body 24b6e346bd9ef044521ab7c1e4f320df
comment on function recovery.served_as(action_name text, action_type text, parameters jsonb) is 'The name under which an executor serves an action outside of this database: of its undoing, undo and the action.';
grant execute on function recovery.served_as(action_name text, action_type text, parameters jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.settle_approvals(ids uuid[], scopes uuid[], of_errors uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 6aaa53c233794a29917eca40da98c241
comment on function recovery.settle_approvals(ids uuid[], scopes uuid[], of_errors uuid[]) is 'An approval needs an active scope, comes through another login than the proposal, and is a review of the error.';
grant execute on function recovery.settle_approvals(ids uuid[], scopes uuid[], of_errors uuid[]) to public;

CREATE OR REPLACE FUNCTION recovery.settle_candidates()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_hashjoin TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'; -- body a026d10c0c59106e139fa219d78f2748
comment on function recovery.settle_candidates() is 'A claim spends its scopes and takes a lease; an effect of ours is made; a decision reviews the error.';

grant execute on function recovery.settle_effects(ids uuid[], types text[], kinds text[], matches uuid[], incidents uuid[], actions text[], parameters_ jsonb[], keys text[], approvers text[]) to public;

CREATE OR REPLACE FUNCTION recovery.settle_effects(ids uuid[], types text[], kinds text[], matches uuid[], incidents uuid[], actions text[], parameters_ jsonb[], keys text[], approvers text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_nestloop TO 'on'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'; -- body 1c28455da42bd62f5cb3954beec1cb6f
comment on function recovery.settle_effects(ids uuid[], types text[], kinds text[], matches uuid[], incidents uuid[], actions text[], parameters_ jsonb[], keys text[], approvers text[]) is 'Makes the effects of candidates in this database, by kind, in sets.';

CREATE OR REPLACE FUNCTION recovery.settle_probes(now_ timestamp with time zone DEFAULT recoup.now())
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 05a924bafe4fb7b5737a94e206e9a00e
comment on function recovery.settle_probes(now_ timestamp with time zone) is 'Closes every breaker whose probe ended well, and opens again, for twice as long, those whose did not or whose lease expired.';
grant execute on function recovery.settle_probes(now_ timestamp with time zone) to public;

grant execute on function recovery.shut_parts(kind_ text, wanted text[], now_ timestamp with time zone, OUT shut text[], OUT due text[]) to public;

CREATE OR REPLACE FUNCTION recovery.shut_parts(kind_ text, wanted text[], now_ timestamp with time zone, OUT shut text[], OUT due text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body d0f8d864e3bd03b9caa7f9d86c2fb52f
comment on function recovery.shut_parts(kind_ text, wanted text[], now_ timestamp with time zone, OUT shut text[], OUT due text[]) is 'What is not claimed because a breaker is not closed; and of what one unit may be claimed as a probe, by this transaction.';

CREATE OR REPLACE FUNCTION recovery.shut_tables()
 RETURNS text[]
 LANGUAGE sql
 STABLE; -- body 4e2b90e0be32f16ab0bd038223dfbc71
comment on function recovery.shut_tables() is 'The tables that are behind a breaker.';
grant execute on function recovery.shut_tables() to public;

grant execute on function recovery.skip_candidates(ids uuid[], reasons text[], people text[], was text[]) to public;

CREATE OR REPLACE FUNCTION recovery.skip_candidates(ids uuid[], reasons text[], people text[], was text[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'; -- body 226533d3a720b5f9860db6cad6e21e6e
comment on function recovery.skip_candidates(ids uuid[], reasons text[], people text[], was text[]) is 'Skips candidates that were not started, if they are still in the status in which they were read.';

CREATE OR REPLACE FUNCTION recovery.skip_errors(ids uuid[], refs text[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 0811c3f27f8fd31ec30c91a3e629454c
comment on function recovery.skip_errors(ids uuid[], refs text[]) is 'The action skip, for parked errors: archived by hand, so that the entity may move on.';
grant execute on function recovery.skip_errors(ids uuid[], refs text[]) to public;

grant execute on function recovery.standings(kinds text[], refs text[], OUT kind text, OUT ref text, OUT standing text, OUT unit text, OUT status text) to public;

CREATE OR REPLACE FUNCTION recovery.standings(kinds text[], refs text[], OUT kind text, OUT ref text, OUT standing text, OUT unit text, OUT status text)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 6df79a4c881ef005d2e1704e9b69317b
comment on function recovery.standings(kinds text[], refs text[], OUT kind text, OUT ref text, OUT standing text, OUT unit text, OUT status text) is 'The condition of each subject or started unit: failed, busy, good or gone; the newest unit of it; and its status.';

grant execute on function recovery.start_probe(parts_ text[], subject_ text, unit_ text, token_ uuid, until_ timestamp with time zone, now_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recovery.start_probe(parts_ text[], subject_ text, unit_ text, token_ uuid, until_ timestamp with time zone, now_ timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body f17879adc091e4200eae9bdac8c9e3f3
comment on function recovery.start_probe(parts_ text[], subject_ text, unit_ text, token_ uuid, until_ timestamp with time zone, now_ timestamp with time zone) is 'Makes a unit that was just claimed the probe of the breakers that it depends on.';

grant execute on function recovery.turn(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], among text[], most integer, worker_ text, lease interval, OUT finished uuid[], OUT statuses text[], OUT ids uuid[], OUT matches uuid[], OUT actions text[], OUT types text[], OUT kinds text[], OUT given jsonb[], OUT keys text[], OUT timeouts integer[], OUT token_ uuid, OUT until_ timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recovery.turn(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], among text[], most integer, worker_ text, lease interval, OUT finished uuid[], OUT statuses text[], OUT ids uuid[], OUT matches uuid[], OUT actions text[], OUT types text[], OUT kinds text[], OUT given jsonb[], OUT keys text[], OUT timeouts integer[], OUT token_ uuid, OUT until_ timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 88d3866b3856a15c85cc26c3eacc35b2
comment on function recovery.turn(ids_ uuid[], tokens uuid[], outcomes text[], results jsonb[], errors text[], among text[], most integer, worker_ text, lease interval, OUT finished uuid[], OUT statuses text[], OUT ids uuid[], OUT matches uuid[], OUT actions text[], OUT types text[], OUT kinds text[], OUT given jsonb[], OUT keys text[], OUT timeouts integer[], OUT token_ uuid, OUT until_ timestamp with time zone) is 'Ends candidates as reported and claims the next ones, in one call.';

CREATE OR REPLACE FUNCTION recovery.undo_circuit_breaker(candidate uuid, undo jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body a49b8042227f1e11104b20c7c82c0e72
comment on function recovery.undo_circuit_breaker(candidate uuid, undo jsonb) is 'Closes the breaker that an action opened; if that one only joined it, nothing.';
grant execute on function recovery.undo_circuit_breaker(candidate uuid, undo jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.undo_reconfigure(candidate uuid, undo jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body 4d59331985ebe38bc80522f1da4c10b7
comment on function recovery.undo_reconfigure(candidate uuid, undo jsonb) is 'Restores the value that a key had before an action changed it, as a new version.';
grant execute on function recovery.undo_reconfigure(candidate uuid, undo jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.undo_refused(given jsonb, match_ uuid, policy jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body d7abcf34d8eeb7a5a27b916f39a2eab0
comment on function recovery.undo_refused(given jsonb, match_ uuid, policy jsonb) is 'Why a rollback cannot undo what it names, for this match; or null.';
grant execute on function recovery.undo_refused(given jsonb, match_ uuid, policy jsonb) to public;

CREATE OR REPLACE FUNCTION recovery.undone(c recovery.candidate)
 RETURNS recovery.candidate
 LANGUAGE sql
 STABLE; -- body 08be515b8d07654b92f05c534feef8d3
comment on function recovery.undone(c recovery.candidate) is 'The candidate that a rollback undoes.';
grant execute on function recovery.undone(c recovery.candidate) to public;

CREATE OR REPLACE FUNCTION recovery.waiting_behind(parts_ text[], most integer)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body c98438f81aa98ede46c1596bf3dc8909
comment on function recovery.waiting_behind(parts_ text[], most integer) is 'How many units of each kind wait that depend on a breaker, counted up to a number of each.';
grant execute on function recovery.waiting_behind(parts_ text[], most integer) to public;

CREATE OR REPLACE FUNCTION recovery.wake_matches(ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'; -- body b47af5c0a2ad542ff8e0a26fcd3abf6b
comment on function recovery.wake_matches(ids uuid[]) is 'Makes open matches due for evaluation now.';
grant execute on function recovery.wake_matches(ids uuid[]) to public;

grant execute on function recovery.was_shut(kind_ text, source_ text, since timestamp with time zone) to public;

CREATE OR REPLACE FUNCTION recovery.was_shut(kind_ text, source_ text, since timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE; -- body d2f3793f5d278ee60a27ce54edb9108d
comment on function recovery.was_shut(kind_ text, source_ text, since timestamp with time zone) is 'Whether runs of a kind and source were behind a breaker at some time since.';
