"""For every invariant of recovery, what breaks it. Names in braces are those of the cast (lively_recovery.py)."""

from __future__ import annotations


def _candidate(of: str, change: str) -> str:
    return f"update recovery.candidate set {change} where candidate_id = {{candidate_{of}}}"


def _match(of: str, change: str) -> str:
    return f"update recovery.failure_match set {change} where failure_match_id = {{match_{of}}}"


def _scope(of: str, change: str) -> str:
    return f"update recovery.scope set {change} where scope_id = {{scope_{of}}}"


def _event(of: str, event_type: str, change: str) -> str:
    return (
        f"update recovery.provenance set {change} where candidate_id = {{candidate_{of}}}"
        f" and event_type = '{event_type}'"
    )


def _without(of: str, event_type: str) -> str:
    return f"delete from recovery.provenance where candidate_id = {{candidate_{of}}} and event_type = '{event_type}'"


def _again(of: str, event_type: str) -> str:
    """The same event once more, later."""
    return (
        "insert into recovery.provenance select (jsonb_populate_record(p, '{{\"seq\": 9000000}}')).*"
        f" from recovery.provenance p where candidate_id = {{candidate_{of}}} and event_type = '{event_type}' limit 1"
    )


# A worker that has run a duty for months, by a clock that nobody moves.
REAL = "update recoup.clock set status = 'real', at = null; "
TALLY = (
    "insert into recoup.duty_tally (worker_id, duty, runs, done, failures, last_run_at)"
    " select worker_id, '{}', 1, 1, 0, '9000-01-01' from recoup.worker limit 1; "
)
RAN = REAL + TALLY
PAUSED = (
    "insert into recoup.pause (scope, scope_id, status, changed_at, changed_by, reason)"
    " values ('duty', '{}', 'PAUSED', '2020-01-01', 'ada', 'look') on conflict do nothing"
)

ROWS: tuple[tuple[str, str], ...] = (
    ("recovery/EC-1", _match("evaluated", "evaluate_at = match_until + interval '40 days'")),
    ("recovery/EC-1", _match("new", "evaluate_at = null")),
    ("recovery/EC-1", _match("evaluated", "ended_at = recoup.now()")),
    ("recovery/EC-1", RAN.format("recovery-evaluate")),
    ("recovery/EC-3", _without("pending", "created")),
    ("recovery/EC-3", _without("pending", "action_selected")),
    ("recovery/EC-3", _without("approved", "approved")),
    ("recovery/EC-3", _without("rejected", "rejected")),
    ("recovery/EC-3", _without("claimed", "executed")),
    ("recovery/EC-3", _without("awaiting", "effect_made")),
    ("recovery/EC-3", _without("succeeded", "success")),
    ("recovery/EC-3", _without("failed", "failure")),
    ("recovery/EC-3", _without("crashed", "crashed")),
    ("recovery/EC-3", _without("skipped", "skipped")),
    ("recovery/EC-3", _without("overridden", "manual_override")),
    ("recovery/EC-3", _event("approved", "approved", "actor_id = 'eve'")),
    ("recovery/EC-3", _event("succeeded", "approved", "event_type = 'rejected'")),
    ("recovery/EC-3", _candidate("approved", "decided_at = decided_at - interval '1 hour'")),
    ("recovery/EC-3", _candidate("approved", "decision_note = 'none'")),
    ("recovery/EC-3", _candidate("succeeded", "finished_at = finished_at + interval '1 second'")),
    ("recovery/EC-3", _candidate("pending", "created_at = created_at - interval '1 second'")),
    ("recovery/EC-3", _candidate("failed", "status = 'succeeded'")),
    ("recovery/EC-3", _candidate("failed", "error = 'CRASHED'")),
    ("recovery/EC-3", _candidate("pending", "overridden_by = 'eve'")),
    ("recovery/EC-3", "delete from recovery.candidate where candidate_id = {candidate_pending}"),
    ("recovery/EC-3", "delete from recovery.evaluation where failure_match_id = {match_evaluated}"),
    ("recovery/EC-4", _scope("active", "attempts_used = max_attempts")),
    ("recovery/EC-4", _scope("active", "cost_used = cost_limit")),
    ("recovery/EC-4", _scope("active", "expires_at = expires_at + interval '1 year'")),
    ("recovery/EC-4", _scope("active", "status = 'revoked', ended_at = recoup.now()")),
    ("recovery/EC-4", _scope("expired", "status = 'active', ended_at = null")),
    ("recovery/EC-4", _scope("expired", "ended_at = ended_at + interval '1 second'")),
    ("recovery/EC-4", "delete from recovery.provenance where event_type = 'scope_revoked'"),
    ("recovery/EC-4", RAN.format("scope-expiry")),
    ("recovery/P1", _event("automatic", "executed", "scope_id = null")),
    ("recovery/P1", _event("automatic", "executed", "incident_id = {incident_closed}")),
    ("recovery/P1", _event("automatic", "executed", "action_name = 'rollback'")),
    ("recovery/P1", _event("automatic", "executed", "logged_at = logged_at + interval '2 days'")),
    ("recovery/P1", _event("automatic", "executed", "logged_at = logged_at - interval '2 days'")),
    ("recovery/P1", _scope("exhausted", "ended_at = ended_at - interval '1 second'")),
    ("recovery/P1", "delete from recovery.scope where scope_id = {scope_active}"),
    ("recovery/P2/candidate", _candidate("succeeded", "result = '{{\"tries\": 1}}'")),
    ("recovery/P2/candidate", _candidate("succeeded", "worker = 'eve'")),
    ("recovery/P2/candidate", _candidate("succeeded", "token = gen_random_uuid()")),
    ("recovery/P2/candidate", _candidate("succeeded", "action_name = 'rollback'")),
    ("recovery/P2/candidate", _candidate("succeeded", "scope_id = {scope_active}")),
    ("recovery/P2/candidate", _candidate("approved", "scope_id = {scope_active}")),
    ("recovery/P2/candidate", _candidate("approved", "parameters = '{{\"to\": \"eve\"}}'")),
    ("recovery/P2/candidate", _candidate("approved", "cost = cost + 1")),
    ("recovery/P2/candidate", _candidate("approved", "timeout_s = timeout_s + 1")),
    ("recovery/P2/candidate", _candidate("approved", "held_for_review = true")),
    ("recovery/P2/candidate", _candidate("approved", "execute_by = execute_by + interval '1 day'")),
    ("recovery/P2/candidate", _candidate("pending", "updated_at = updated_at + interval '1 second'")),
    ("recovery/P2/candidate", _candidate("failed", "teaches = false")),
    ("recovery/P2/candidate", _candidate("skipped", "teaches = true")),
    ("recovery/P2/candidate", _candidate("awaiting", "outcome_by = outcome_by + interval '1 day'")),
    ("recovery/P2/candidate", _candidate("approved", "requires_approval = not requires_approval")),
    ("recovery/P2/candidate", _candidate("awaiting", "awaits = awaits || '{{\"key\": \"other\"}}'")),
    ("recovery/P2/candidate", _candidate("awaiting", "effect_made_at = effect_made_at - interval '1 hour'")),
    ("recovery/P2/candidate", _candidate("automatic", "reported = 'failed'")),
    ("recovery/P2/candidate", _candidate("failed", "error = 'HTTP 200'")),
    ("recovery/P2/candidate", _candidate("skipped", "skip_reason = 'OVERTAKEN'")),
    ("recovery/P4", _again("automatic", "executed")),
    ("recovery/P4", _candidate("automatic", "executed_at = executed_at + interval '1 second'")),
    ("recovery/P4", _candidate("automatic", "executed_at = executed_at - interval '1 hour'")),
    ("recovery/P4", _candidate("automatic", "idempotency_key = 'another'")),
    ("recovery/P5", _event("automatic", "executed", "confidence = 0.79")),
    ("recovery/P5", _event("automatic", "executed", "evidence = 4")),
    ("recovery/P5", _candidate("automatic", "is_automated = false")),
    ("recovery/P5", _candidate("automatic", "requires_approval = true")),
    ("recovery/P5", _candidate("automatic", "held_for_review = true")),
    ("recovery/P5", _candidate("automatic", "proposed_by = 'ada'")),
    ("recovery/P5",
     "update recoup.policy set figures = jsonb_set(figures, array['recovery', 'confidence_floor'], '1.5')"),
    ("recovery/P5", _without("succeeded", "approved")),
    ("recovery/R6a", _without("awaiting", "approved")),
    ("recovery/R6a", _candidate("automatic", "subject_kind = 'error'")),
    ("recovery/R6a", _candidate("automatic", "action_type = 'rollback'")),
    ("recovery/RI-2", _again("rejected", "created")),
    ("recovery/RI-2", _event("crashed", "crashed", "xid = '7', seq = 9000000")),
    ("recovery/RI-3", _candidate("pending", "confidence = 1.01")),
    ("recovery/RI-3", _candidate("pending", "confidence = null")),
    ("recovery/RI-3", _event("pending", "confidence_updated", "confidence = -0.1")),
    ("recovery/RI-3", "update recovery.evaluation set weight = 2 where failure_match_id = {match_evaluated}"),
    ("recovery/RI-4", _scope("active", "attempts_used = attempts_used - 1")),
    ("recovery/RI-4", _scope("active", "cost_used = cost_used + 1")),
    ("recovery/RI-4", _without("automatic", "executed")),
    ("recovery/RI-4", "update recovery.provenance set facts = jsonb_build_object('attempts_used', 9)"
     " where event_type = 'scope_exhausted'"),
    ("recovery/RI-5", "update recovery.candidate c set failure_match_id = o.failure_match_id,"
     " error_signature = o.error_signature from recovery.candidate o"
     " where c.candidate_id = {candidate_pending} and o.candidate_id = {candidate_approved}"),
    ("recovery/another-person", _candidate("approved", "proposed_by = decided_by")),
    ("recovery/another-person", _event("approved", "approved", "actor = 'ai'")),
    ("recovery/confidence", _candidate("pending", "confidence = 0.9")),
    ("recovery/confidence", _candidate("succeeded", "confidence_basis = '{{\"of\": 99}}'")),
    ("recovery/confidence", _candidate("pending", "evidence = 99")),
    ("recovery/confidence", _candidate("pending", "confidence_of = 'rollback'")),
    ("recovery/reasons", _candidate("skipped", "skip_reason = 'BORED'")),
    ("recovery/reasons", _candidate("skipped", "skip_reason = 'DECISION_OVERDUE'")),
    ("recovery/reasons", _candidate("overridden", "skip_reason = 'EXECUTE_OVERDUE', execute_by = '9000-01-01'")),
    ("recovery/reasons", _candidate("crashed", "lease_until = lease_until + interval '1 day'")),
    ("recovery/reasons", _candidate("failed", "error = null")),
    ("recovery/reasons", _candidate("crashed", "error = 'UNIT_FAILED'")),
    ("recovery/reasons", _candidate("crashed", "error = 'OUTCOME_OVERDUE'")),
    ("recovery/reasons", _candidate("awaiting", "error = 'SUBJECT_CHANGED'")),
    ("recovery/match/ends", _match("recovered", "end_reason = 'unknown'")),
    ("recovery/match/ends", _match("unrecovered", "end_reason = 'BORED'")),
    ("recovery/match/ends", _match("recovered", "recovered_at = null")),
    ("recovery/match/ends", _match("accepted", "ended_at = ended_at + interval '1 second'")),
    ("recovery/match/ends", _match("accepted", "ended_at = null")),
    ("recovery/match/ends", _match("evaluated", "status = 'recovered', ended_at = recoup.now()")),
    ("recovery/match/ends", "delete from recovery.provenance where failure_match_id = {match_accepted}"
     " and event_type = 'match_ended'"),
    ("recovery/match/ends", "update recovery.provenance set seq = 9000000 where failure_match_id = {match_accepted}"
     " and event_type = 'created' and candidate_id <> {candidate_overridden}"),
    ("recovery/match/as-told", _match("evaluated", "token = gen_random_uuid()")),
    ("recovery/match/as-told", _match("evaluated", "evaluation_failures = 1")),
    ("recovery/match/as-told", _match("recovered", "evaluate_at = updated_at")),
    ("recovery/match/as-told", _match("stuck", "last_failure = 'none'")),
    ("recovery/match/as-told", _match("evaluated", "reported_end = 'recovered', reported_by = 'eve'")),
    ("recovery/match/as-told", _match("evaluated", "reported_by = 'eve'")),
    ("recovery/match/as-told", _match("recovered", "updated_at = updated_at + interval '1 second'")),
    ("recovery/times", "update recovery.incident set closed_at = closed_at - interval '1 second'"
     " where incident_id = {incident_closed}"),
    ("recovery/times", "update recovery.incident set opened_at = opened_at - interval '1 second'"
     " where incident_id = {incident_open}"),
    ("recovery/times", "update recovery.task set ended_at = ended_at + interval '1 hour' where task_id = {task_done}"),
    ("recovery/times", "update recovery.task set ended_at = null where task_id = {task_cancelled}"),
    ("recovery/guarantee/evaluation", _match("evaluated", "evaluation_no = evaluation_no + 1")),
    ("recovery/guarantee/evaluation", "delete from recovery.provenance where failure_match_id = {match_evaluated}"
     " and event_type = 'match_evaluated'"),
    ("recovery/guarantee/evaluation", "update recovery.evaluation set evaluation_no = 99"
     " where failure_match_id = {match_evaluated}"),
    ("recovery/match/incident", _match("evaluated", "incident_id = gen_random_uuid()")),
    ("recovery/match/incident", _match("evaluated", "incident_id = {incident_closed}")),
    ("recovery/match/incident", _candidate("pending", "subject_kind = 'run'")),
    ("recovery/match/incident", _candidate("pending", "failure_match_id = gen_random_uuid()")),
    ("recovery/match/incident", "update recovery.incident set status = 'closed' where incident_id = {incident_open}"),
    ("recovery/match/one-open", _match("new", "subject_kind = 'error', subject_ref = (select m.subject_ref"
                                       " from recovery.failure_match m where m.failure_match_id = {match_error})")),
    ("recovery/match/one-open", "update recovery.failure_match set source = 'one', idempotency_key = 'key'"
     " where failure_match_id in ({match_new}, {match_stuck})"),
    ("recovery/match/one-open",
     "update recovery.incident set source = 'one', error_signature = 'other', status = 'open'"
     " where incident_id in ({incident_open}, {incident_closed})"),
    ("recovery/match/subject", _match("intake", "subject_ref = gen_random_uuid()::text")),
    ("recovery/match/subject", _match("run", "subject_ref = gen_random_uuid()::text")),
    ("recovery/match/subject", _match("error", "subject_ref = 'somewhere'")),
    ("recovery/lineage", _match("following", "follows = gen_random_uuid()")),
    ("recovery/lineage", _match("following", "follows = {match_new}")),
    ("recovery/lineage", _match("following", "follows = failure_match_id")),
    ("recovery/lineage", _candidate("pending", "follows = {candidate_rejected}")),
    ("recovery/lineage", _candidate("pending", "follows = {candidate_approved}")),
    ("recovery/lineage",
     "update recovery.incident set follows = {incident_closed} where incident_id = {incident_open}"),
    ("recovery/awaits", _candidate("awaiting", "awaits = awaits || '{{\"key\": \"outreach.dol_errors/1\"}}'")),
    ("recovery/awaits", "delete from recovery.task where task_id = {task_open}"),
    ("recovery/awaits", "update recovery.run set candidate_id = gen_random_uuid() where candidate_id is not null"),
    ("recovery/awaits", "update cl.gate_zero_intake set retry_of = null where retry_of is not null"),
    ("recovery/awaits", "update recoup.delivery set about = 'none' where candidate_id is not null"),
    ("recovery/config", "update recovery.config set value = '6' where key = 'vendor.batch' and version = 1"),
    ("recovery/config", "update recovery.config set version = 9 where key = 'vendor.batch' and version = 3"),
    ("recovery/config", "delete from recovery.config where key = 'vendor.batch' and version = 3"),
    ("recovery/config", "update recovery.config set candidate_id = {candidate_failed} where key = 'vendor.batch'"),
    ("recovery/config", "update recovery.config set status = 'set' where status = 'removed'"),
    ("recovery/config", _candidate("reconfigured", "result = null")),
    ("recovery/undo", _candidate("restoring", "decided_by = null, decided_at = null")),
    ("recovery/undo", _candidate("restoring", "parameters = parameters || jsonb_build_object('undoes',"
                                 " {candidate_failed})")),
    ("recovery/undo", _candidate("restoring", "result = jsonb_set(result, '{{restored,after_digest}}', '\"0\"')")),
    ("recovery/undo", _candidate("reconfigured", "effect_made_at = null")),
    ("recovery/undo", _candidate("failed", "action_type = 'rollback', parameters = jsonb_build_object('undoes',"
                                 " {candidate_reconfigured}), status = 'succeeded'")),
    ("recovery/P2/candidate", _candidate("rolled_back", "error = 'x'")),
    ("recovery/P2/candidate", _candidate("rolled_back", "result = null")),
    ("recovery/awaits", "delete from recovery.breaker where name = 'vendor-broken'"),
    ("recovery/breakers", "update recovery.breaker set status = 'closed' where name = 'vendor-broken'"),
    ("recovery/breakers", "update recovery.breaker set probe_until = probe_until + interval '1 day'"
     " where status = 'half_open'"),
    ("recovery/breakers", "update recovery.breaker set name = 'another' where status = 'half_open'"),
    ("recovery/breakers", "update recoup.control_log set from_status = 'half_open' where to_status = 'half_open'"
     " and subject = 'recovery.breaker'"),
    ("recovery/breakers", "update recoup.control_log set logged_at = logged_at - interval '2 minutes'"
     " where subject = 'recovery.breaker' and to_status = 'half_open'"),
    ("recovery/breakers", "update recovery.candidate set result = null where awaits ->> 'kind' = 'breaker'"),
    ("recovery/leases", "delete from recovery.lease"),
    ("recovery/leases", "update recovery.lease set worker = 'eve' where {candidate_claimed} = any(candidates)"),
    ("recovery/leases", "update recovery.lease set lease_until = lease_until + interval '1 day'"
     " where {candidate_claimed} = any(candidates)"),
    ("recovery/leases", "update recovery.lease set candidates = candidates || gen_random_uuid()"),
    ("recovery/leases", "insert into recovery.lease select * from recovery.lease"),
    ("recovery/leases", _candidate("claimed", "token = gen_random_uuid()")),
    ("recovery/experience", "delete from recovery.experience where source = ''"),
    ("recovery/experience", "update recovery.experience set succeeded = succeeded - 1 where succeeded > 0"),
    ("recovery/experience", "update recovery.experience set ended = ended + 1"),
    ("recovery/experience", "update recovery.experience set day = day - 1"),
    ("recovery/experience", "insert into recovery.experience values ('a', 's', '', '2026-01-01', 1, 1)"),
    ("recovery/experience", _candidate("succeeded", "teaches = false")),
    ("laws/L5/late-candidates",
     "update recoup.late_result set unit_id = 'nobody' where subject = 'recovery.candidate'"),
    ("laws/L5/late-candidates", "update recoup.late_result set token = (select c.token from recovery.candidate c where"
     " c.candidate_id = {candidate_claimed}), unit_id = {candidate_claimed}::text"
     " where subject = 'recovery.candidate'"),
    ("laws/L8/recovery-stamped", _match("new", "policy_version = 1")),
    ("laws/L8/recovery-stamped", _candidate("pending", "policy_version = 99")),
    ("laws/L8/recovery-stamped", _scope("active", "opened_at = opened_at - interval '9 years'")),
    ("laws/L8/recovery-stamped", "update recovery.evaluation set policy_version = 1"),
)  # fmt: skip

# What looks odd and is as it should be: late, where no worker is there, a pause holds them, or a clock was moved.
LAWFUL: tuple[tuple[str, str], ...] = (
    ("recovery/EC-1", REAL + "update recovery.failure_match set evaluate_at = '2020-01-01' where ended_at is null"),
    ("recovery/EC-1", RAN.format("recovery-evaluate") + PAUSED.format("recovery-evaluate")),
    ("recovery/EC-1", TALLY.format("recovery-evaluate")),
    ("recovery/EC-4", REAL),
    ("recovery/EC-4", RAN.format("scope-expiry") + PAUSED.format("scope-expiry")),
    ("recovery/EC-4", TALLY.format("scope-expiry")),
    # A candidate that repeats one of its match has the key of that.
    ("recovery/P4", "update recovery.candidate set idempotency_key = {candidate_overridden}::text"
     " where failure_match_id = {match_accepted} and executed_at is not null"),
)  # fmt: skip
