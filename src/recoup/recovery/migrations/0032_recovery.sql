-- Recovery: incidents, failure matches, evaluations, candidates, scopes, tasks, and the provenance of all of it.

create schema if not exists recovery;
grant usage on schema recovery to recoup_reader;

create table recovery.incident (
  incident_id     uuid primary key default recoup.new_id(),
  source          text not null check (octet_length(source) between 1 and 500),
  error_signature text not null check (octet_length(error_signature) between 1 and 200),
  status          text not null default 'open' check (status in ('open', 'closed')),
  follows         uuid,
  opened_at       timestamptz not null check (isfinite(opened_at)),
  closed_at       timestamptz check (isfinite(closed_at)),
  constraint incident_closed check ((status = 'closed') = (closed_at is not null))
);
-- This prevents two open incidents of one failure.
create unique index incident_open on recovery.incident (source, error_signature) where status = 'open';

create table recovery.failure_match (
  failure_match_id    uuid primary key default recoup.new_id(),
  incident_id         uuid not null,
  source              text not null check (octet_length(source) between 1 and 500),
  idempotency_key     text not null check (octet_length(idempotency_key) between 1 and 500),
  subject_kind        text not null check (subject_kind in ('error', 'intake', 'run', 'partition', 'outside')),
  subject_ref         text not null check (octet_length(subject_ref) between 1 and 500),
  error_code          text check (octet_length(error_code) between 1 and 200),
  error_message       text not null,
  error_signature     text not null check (octet_length(error_signature) between 1 and 200),
  category            text not null check (category in ('TRANSIENT', 'OPERATIONAL', 'STRUCTURAL')),
  context             jsonb,
  digest              bytea not null,
  status              text not null default 'new'
                      check (status in ('new', 'evaluated', 'stuck', 'recovered', 'accepted', 'unrecovered')),
  follows             uuid,
  evaluate_at         timestamptz not null check (isfinite(evaluate_at)),
  match_until         timestamptz not null check (isfinite(match_until)),
  evaluation_no       integer not null default 0 check (evaluation_no >= 0),
  evaluation_failures integer not null default 0 check (evaluation_failures >= 0),
  wakes               integer not null default 0 check (wakes >= 0),
  token               uuid,
  last_failure        text,
  reported_end        text check (reported_end = 'recovered'),
  reported_by         text check (octet_length(reported_by) between 1 and 500),
  end_reason          text check (octet_length(end_reason) between 1 and 200),
  policy_version      integer not null,
  created_at          timestamptz not null check (isfinite(created_at)),
  updated_at          timestamptz not null check (isfinite(updated_at)),
  ended_at            timestamptz check (isfinite(ended_at)),
  recovered_at        timestamptz check (isfinite(recovered_at)),
  constraint match_ended check ((status in ('recovered', 'accepted', 'unrecovered')) = (ended_at is not null)),
  constraint match_recovered check ((status = 'recovered') = (recovered_at is not null)),
  constraint match_reported check ((reported_end is null) = (reported_by is null))
) with (fillfactor = 80);
create unique index match_idempotency on recovery.failure_match (source, idempotency_key);
create index match_subject on recovery.failure_match (subject_ref, subject_kind);
-- Those whose evaluation fails; the stuck ones are among them. Other evaluations do not touch it.
create index match_failing on recovery.failure_match (failure_match_id) where evaluation_failures > 0;
create index match_incident on recovery.failure_match (incident_id, created_at);
create table recovery.match_queue (unit uuid primary key, like recoup.queue_form including all)
  with (fillfactor = 70);

create table recovery.evaluation (
  failure_match_id   uuid not null,
  evaluation_no      integer not null check (evaluation_no > 0),
  status             text not null default 'done' check (status = 'done'),
  rules              text not null check (octet_length(rules) between 1 and 200),
  fired              text[] not null,
  recommended_action text check (octet_length(recommended_action) between 1 and 200),
  weight             real not null check (weight between 0 and 1),
  facts              jsonb not null,
  policy_version     integer not null,
  evaluated_at       timestamptz not null check (isfinite(evaluated_at)),
  primary key (failure_match_id, evaluation_no)
);

create table recovery.scope (
  scope_id        uuid primary key default recoup.new_id(),
  incident_id     uuid not null,
  allowed_actions text[] not null check (array_position(allowed_actions, null) is null),
  max_attempts    integer not null check (max_attempts > 0),
  attempts_used   integer not null default 0 check (attempts_used >= 0),
  cost_limit      integer not null check (cost_limit > 0),
  cost_used       integer not null default 0 check (cost_used >= 0),
  least_cost      integer not null check (least_cost > 0),
  ttl_seconds     integer not null check (ttl_seconds > 0),
  expires_at      timestamptz not null,
  status          text not null default 'active' check (status in ('active', 'exhausted', 'expired', 'revoked')),
  opened_by       text not null check (octet_length(opened_by) between 1 and 500),
  reason          text not null check (octet_length(reason) between 1 and 2000),
  policy_version  integer not null,
  opened_at       timestamptz not null check (isfinite(opened_at)),
  ended_at        timestamptz check (isfinite(ended_at)),
  -- However it is written to, a scope is never overspent.
  constraint scope_attempts check (attempts_used <= max_attempts),
  constraint scope_cost check (cost_used <= cost_limit),
  constraint scope_ended check ((status = 'active') = (ended_at is null)),
  constraint scope_exhausted check (status <> 'active'
    or (attempts_used < max_attempts and cost_used + least_cost <= cost_limit)),
  constraint scope_ttl check (expires_at = opened_at + make_interval(secs => ttl_seconds))
) with (fillfactor = 50);
create index scope_incident on recovery.scope (incident_id);
create index scope_expiry on recovery.scope (expires_at) where status = 'active';

create table recovery.candidate (
  candidate_id       uuid primary key default recoup.new_id(),
  failure_match_id   uuid not null,
  incident_id        uuid not null,
  error_signature    text not null check (octet_length(error_signature) between 1 and 200),
  subject_kind       text not null check (subject_kind in ('error', 'intake', 'run', 'partition', 'outside')),
  follows            uuid,
  proposed_by        text check (octet_length(proposed_by) between 1 and 500),
  recommended_action text check (octet_length(recommended_action) between 1 and 200),
  action_name        text check (octet_length(action_name) between 1 and 200),
  action_type        text check (action_type in ('retry', 'fallback', 'circuit_breaker', 'reconfigure', 'rollback',
                                                 'escalate', 'notify', 'manual', 'skip')),
  parameters         jsonb,
  cost               integer check (cost > 0),
  timeout_s          integer check (timeout_s > 0),
  is_automated       boolean not null default false,
  requires_approval  boolean not null default true,
  held_for_review    boolean not null default false,
  scope_id           uuid,
  confidence         double precision not null default 0 check (confidence between 0 and 1),
  confidence_of      text check (octet_length(confidence_of) between 1 and 200),
  evidence           integer not null default 0 check (evidence >= 0),
  status             text not null default 'pending' check (status in (
                       'pending', 'approved', 'rejected', 'executing', 'succeeded', 'failed', 'rolled_back',
                         'skipped')),
  decide_by          timestamptz not null check (isfinite(decide_by)),
  decided_by         text check (octet_length(decided_by) between 1 and 500),
  decided_at         timestamptz check (isfinite(decided_at)),
  decision_note      text check (octet_length(decision_note) between 1 and 2000),
  execute_by         timestamptz check (isfinite(execute_by)),
  executed_at        timestamptz check (isfinite(executed_at)),
  worker             text check (octet_length(worker) between 1 and 500),
  token              uuid,
  lease_until        timestamptz check (isfinite(lease_until)),
  idempotency_key    text check (octet_length(idempotency_key) between 1 and 200),
  effect_made_at     timestamptz check (isfinite(effect_made_at)),
  reported           text check (reported in ('succeeded', 'failed', 'rolled_back')),
  awaits             jsonb,
  outcome_by         timestamptz check (isfinite(outcome_by)),
  overridden_by      text check (octet_length(overridden_by) between 1 and 500),
  finished_at        timestamptz check (isfinite(finished_at)),
  skip_reason        text check (octet_length(skip_reason) between 1 and 200),
  result             jsonb,
  error              text,
  teaches            boolean not null default true,
  policy_version     integer not null,
  created_at         timestamptz not null check (isfinite(created_at)),
  updated_at         timestamptz not null check (isfinite(updated_at)),
  -- What is never automatic: to retry, switch or skip what is parked or exhausted, and to undo.
  automatic          boolean not null generated always as (coalesce(
                       action_type in ('escalate', 'notify', 'manual')
                       or subject_kind in ('run', 'partition', 'outside') and action_type not in ('skip', 'rollback'),
                       false)) stored,
  -- May be claimed as far as the row itself says; the claim also asks scope, policy and pauses.
  is_ready           boolean not null generated always as (coalesce(scope_id is not null and action_name is not null
                       and (status = 'approved'
                            or status = 'pending' and proposed_by is null and not held_for_review
                               and is_automated and not requires_approval
                               and (action_type in ('escalate', 'notify', 'manual')
                                    or subject_kind in ('run', 'partition', 'outside')
                                       and action_type not in ('skip', 'rollback'))
                               and confidence_of = action_name and confidence >= 0.8 and evidence >= 5), false)) stored,
  constraint candidate_action check (num_nulls(action_name, action_type, parameters, cost, timeout_s) in (0, 5)),
  constraint candidate_finished check ((status in ('rejected', 'succeeded', 'failed', 'rolled_back', 'skipped'))
                                       = (finished_at is not null)),
  constraint candidate_executed check ((status in ('executing', 'succeeded', 'failed', 'rolled_back'))
                                       = (executed_at is not null)),
  constraint candidate_claim check (num_nulls(executed_at, worker, token, lease_until) in (0, 4)
                                    and (executed_at is null or idempotency_key is not null)),
  constraint candidate_decided check (num_nulls(decided_by, decided_at) in (0, 2)
                                      and (status not in ('approved', 'rejected') or decided_at is not null)),
  constraint candidate_rejected check (status <> 'rejected' or decision_note is not null),
  constraint candidate_startable check (status not in ('approved', 'executing')
                                        or (scope_id is not null and action_name is not null
                                          and execute_by is not null)),
  constraint candidate_effect check (effect_made_at is null or executed_at is not null),
  constraint candidate_awaits check (
    (awaits is null) = (outcome_by is null)
    and (awaits is null or (effect_made_at is not null
         and coalesce(awaits ->> 'kind' in ('error', 'intake', 'run', 'partition', 'delivery', 'task')
                      and octet_length(awaits ->> 'key') between 1 and 500
                      and jsonb_typeof(awaits -> 'since_seq') = 'number', false)))),
  constraint candidate_reported check (reported is null or (effect_made_at is not null and awaits is null)),
  constraint candidate_skipped check ((status = 'skipped') = (skip_reason is not null)),
  -- A person's own proposal is approved by another person.
  constraint candidate_other_person check (decided_by <> proposed_by)
) with (fillfactor = 60);
-- This prevents two open candidates of one failure (RI-5).
create unique index candidate_open on recovery.candidate (failure_match_id, error_signature) where finished_at is null;
-- In the order of the claim: approved before automatic, then oldest first; what waits for a decision is not in it.
create index candidate_ready on recovery.candidate ((decided_at is null), candidate_id)
  where is_ready and executed_at is null;
create index candidate_match on recovery.candidate (failure_match_id, candidate_id);
create index candidate_awaits on recovery.candidate ((awaits ->> 'key')) where awaits is not null;
create index candidate_awaiting on recovery.candidate (action_name) where awaits is not null and finished_at is null;
create index candidate_outcomes on recovery.candidate (action_name, finished_at)
  where executed_at is not null and finished_at is not null and teaches;

-- Who holds candidates until when, one row for each claim. It follows from the claims.
create table recovery.lease (
  token       uuid primary key,
  worker      text not null,
  lease_until timestamptz not null check (isfinite(lease_until)),
  candidates  uuid[] not null check (cardinality(candidates) > 0)
);
create index lease_expiry on recovery.lease (lease_until);

create table recovery.task (
  task_id     uuid primary key default recoup.new_id(),
  incident_id uuid not null,
  action_name text not null check (octet_length(action_name) between 1 and 200),
  owner       text not null check (octet_length(owner) between 1 and 500),
  subject     text not null check (octet_length(subject) between 1 and 2000),
  status      text not null default 'open' check (status in ('open', 'done', 'cancelled')),
  due_at      timestamptz not null check (isfinite(due_at)),
  created_at  timestamptz not null check (isfinite(created_at)),
  ended_at    timestamptz check (isfinite(ended_at)),
  ended_by    text check (octet_length(ended_by) between 1 and 500),
  note        text check (octet_length(note) between 1 and 2000),
  constraint task_ended check ((status = 'open') = (ended_at is null) and (ended_at is null) = (ended_by is null))
);
-- This prevents two open tasks of one incident for one owner: a storm calls a person once.
create unique index task_open on recovery.task (incident_id, action_name, owner) where status = 'open';
create index task_due on recovery.task (due_at) where status = 'open';

create table recovery.provenance (
  seq              bigint primary key default nextval('recoup.event_seq'),
  xid              xid8 not null default pg_current_xact_id(),
  incarnation      integer not null,
  logged_at        timestamptz not null check (isfinite(logged_at)),
  event_type       text not null,
  candidate_id     uuid,
  failure_match_id uuid,
  incident_id      uuid not null,
  scope_id         uuid,
  number           integer,
  from_status      text,
  to_status        text,
  action_name      text,
  confidence       double precision,
  evidence         integer,
  token            uuid,
  outcome          text,
  reason           text,
  facts            jsonb,
  policy_version   integer,
  actor            text not null check (actor in ('system', 'ai', 'human')),
  actor_id         text not null,
  authority        text not null,
  login            text default session_user,
  constraint provenance_event check (event_type in (
    'created', 'rule_evaluated', 'action_selected', 'confidence_updated', 'approved', 'rejected', 'executed',
    'effect_made', 'success', 'failure', 'crashed', 'rolled_back', 'skipped', 'manual_override',
    'match_created', 'match_evaluated', 'match_resumed', 'match_ended', 'incident_opened', 'incident_closed',
    'scope_opened', 'scope_exhausted', 'scope_expired', 'scope_revoked'))
);
create index provenance_xid on recovery.provenance (xid);
create index provenance_match on recovery.provenance (failure_match_id, seq) where failure_match_id is not null;
create index provenance_incident on recovery.provenance (incident_id, seq) where failure_match_id is null;

grant select on recovery.incident, recovery.failure_match, recovery.match_queue, recovery.evaluation, recovery.scope,
  recovery.candidate, recovery.lease, recovery.task, recovery.provenance to recoup_reader;

grant insert (incident_id, source, error_signature, follows, opened_at) on recovery.incident to recoup_matcher;
grant update (status, closed_at) on recovery.incident to recoup_evaluator;
-- To lock one against being closed while a match joins it, or two scopes are opened for it; its opening never changes.
grant update (opened_at) on recovery.incident to recoup_matcher, recoup_scoped_execution;

grant insert (failure_match_id, incident_id, source, idempotency_key, subject_kind, subject_ref, error_code,
              error_message, error_signature, category, context, digest, follows, evaluate_at, match_until,
              policy_version, created_at, updated_at) on recovery.failure_match to recoup_matcher;
grant update (status, evaluate_at, evaluation_no, evaluation_failures, wakes, token, last_failure, end_reason,
              updated_at, ended_at, recovered_at) on recovery.failure_match to recoup_evaluator;
grant update (status, evaluate_at, evaluation_failures, wakes, reported_end, reported_by, updated_at)
  on recovery.failure_match to recoup_operator;

grant insert (failure_match_id, evaluation_no, rules, fired, recommended_action, weight, facts, policy_version,
              evaluated_at) on recovery.evaluation to recoup_rule_engine;

grant insert (scope_id, incident_id, allowed_actions, max_attempts, cost_limit, least_cost, ttl_seconds, expires_at,
              opened_by, reason, policy_version, opened_at) on recovery.scope to recoup_scoped_execution;
grant update (status, ended_at) on recovery.scope to recoup_scoped_execution;
-- To lock the scopes that a claim spends. The spending follows from the claim only: by hand the guard refuses it.
grant update (attempts_used, cost_used, status, ended_at) on recovery.scope to recoup_claim_worker;

grant insert (candidate_id, failure_match_id, incident_id, error_signature, subject_kind, follows, proposed_by,
              recommended_action, decide_by, policy_version, created_at, updated_at)
  on recovery.candidate to recoup_matcher;
grant update (confidence, confidence_of, evidence, updated_at) on recovery.candidate to recoup_matcher;
grant update (action_name, action_type, parameters, cost, timeout_s, is_automated, requires_approval, held_for_review,
              scope_id, execute_by, confidence_of, idempotency_key, status, skip_reason, overridden_by,
                effect_made_at, reported, finished_at,
              result, error, teaches, updated_at) on recovery.candidate to recoup_evaluator;
grant update (status, decided_by, decided_at, decision_note, finished_at, updated_at)
  on recovery.candidate to recoup_reviewer;
grant update (status, executed_at, worker, token, lease_until, idempotency_key, updated_at)
  on recovery.candidate to recoup_claim_worker;
grant update (effect_made_at, reported, awaits, outcome_by, result, error, updated_at)
  on recovery.candidate to recoup_executor;
grant delete on recovery.lease to recoup_evaluator;
-- As the consequence of a candidate only: by hand the guard refuses it.
grant insert (task_id, incident_id, action_name, owner, subject, due_at, created_at)
  on recovery.task to recoup_executor;
grant update (status, ended_at, ended_by, note) on recovery.task to recoup_operator;

-- Late results of candidates, and what each of these does is tallied.
grant insert (subject, unit_id, token, result) on recoup.late_result to recoup_executor, recoup_evaluator;
grant insert, update on recoup.duty_tally to recoup_matcher, recoup_evaluator, recoup_claim_worker, recoup_executor,
  recoup_scoped_execution;
grant usage on sequence recoup.event_seq to recoup_executor, recoup_evaluator;
-- They follow the logs under their own names.
grant insert (name, log, created_at), delete on recoup.subscription to recoup_matcher, recoup_evaluator;
grant update (position, incarnation, since, until, after_seq, acknowledged_at) on recoup.subscription
  to recoup_matcher, recoup_evaluator;
grant usage on sequence recoup.subscription_position to recoup_matcher, recoup_evaluator;
