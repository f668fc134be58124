"""For every invariant, what breaks it: done as a superuser whom nothing stops.

Names in braces are those of the cast (lively.py). ``ROWS`` are done in a database whose triggers and constraints are
gone, ``SCHEMA`` in one that is as it was made.
"""

from __future__ import annotations

from company import MIGRATING

_PAUSE = """
insert into recoup.pause_log (incarnation, logged_at, event_type, scope, scope_id, reason, actor, actor_id, authority)
values (1, '2026-01-01', 'PAUSE', {}, 'none', 'human', 'eve', 'recoup_operator')"""


def _recovery(of: str, change: str) -> str:
    return f"update cl.gate_zero_recovery set {change} where intake_id = {{{of}}}"


def _event(of: str, event_type: str, change: str) -> str:
    return f"update cl.gate_zero_air set {change} where entity_id = {{{of}}} and event_type = '{event_type}'"


def _no_event(of: str, event_type: str) -> str:
    return f"delete from cl.gate_zero_air where entity_id = {{{of}}} and event_type = '{event_type}'"


def _evidence(of: str, change: str) -> str:
    of_it = f"(select attempt_id from cl.gate_zero_attempt where intake_id = {{{of}}})"
    return f"update cl.gate_zero_evidence set {change} where attempt_id = {of_it}"


def _intake(of: str, change: str) -> str:
    return f"update cl.gate_zero_intake set {change} where intake_id = {{{of}}}"


def _attempt(of: str, change: str, number: int = 1) -> str:
    return f"update cl.gate_zero_attempt set {change} where intake_id = {{{of}}} and attempt_number = {number}"


def _batch(of: str, change: str) -> str:
    return f"update cl.gate_zero_batch set {change} where batch_id = {{{of}}}"


def _identity(of: str, change: str) -> str:
    return f"update cl.company_identity set {change} where intake_id = {{{of}}}"


def _mint(of: str, change: str) -> str:
    return f"update cl.sovereign_mint_air set {change} where entity_id = {{{of}}}"


def _identity_of(origin: str, change: str) -> str:
    """Of the intake that re-entered from it."""
    new = f"(select intake_id from cl.gate_zero_intake where reentered_from = {{{origin}}})"
    return f"update cl.company_identity set {change} where intake_id = {new}"


def _second_identity(of: str) -> str:
    return (
        "insert into cl.company_identity (sovereign_company_id, intake_id, company_name, company_domain, minted_at)"
        " select gen_random_uuid(), i.intake_id, i.company_name, i.company_domain, '2026-12-01'"
        f" from cl.gate_zero_intake i where i.intake_id = {{{of}}}"
    )


_NO_IDENTITY = "delete from cl.company_identity where intake_id = {{{0}}}"
_NO_MINT = "delete from cl.sovereign_mint_air where entity_id = {{{0}}}"
_MINT_TWICE = "insert into cl.sovereign_mint_air select * from cl.sovereign_mint_air where entity_id = {authorized}"

ROWS: tuple[tuple[str, str], ...] = (
    ("gate_zero_recovery/2/not-null", _recovery("failed", "failure_reason = null")),
    ("gate_zero_recovery/3/attempt-count", _recovery("failed", "attempt_count = 2")),
    ("gate_zero_recovery/3/failure-reason", _recovery("failed", "failure_reason = 'TIMEOUT'")),
    ("gate_zero_recovery/4/statuses", _recovery("failed", "status = 'PARKED'")),
    ("gate_zero_recovery/4/active-is-retryable", _recovery("failed", "attempt_count = 3")),
    ("gate_zero_recovery/4/exhausted-is-told", _recovery("failed", "status = 'EXHAUSTED'")),
    ("gate_zero_recovery/4/exhausted-is-told", _intake("exhausted", "status = 'FAILED'")),
    ("gate_zero_recovery/5/max-attempts", "insert into cl.gate_zero_attempt"
     " select (jsonb_populate_record(a, '{{\"attempt_number\": 4}}')).* from cl.gate_zero_attempt a"
     " where a.intake_id = {exhausted} and a.attempt_number = 3"),
    ("gate_zero_recovery/5/max-attempts", _attempt("failed_twice", "attempt_number = 3", 2)),
    ("gate_zero_recovery/5/policy-figures",
     "update recoup.policy set figures = jsonb_set(figures, '{{gate,max_attempts}}', '4') where version = 1"),
    ("gate_zero_recovery/5/policy-figures",
     "update recoup.policy set figures = jsonb_set(figures, '{{gate,wait_hours}}', '[24, 0]') where version = 1"),
    ("gate_zero_recovery/5/backoff-schedule",
     _recovery("failed", "next_eligible_at = next_eligible_at - interval '1 hour'")),
    ("gate_zero_recovery/5/backoff-schedule",  # the wait is that of the policy on the attempt, not of the one in force
     _recovery("failed_twice", "next_eligible_at = updated_at + interval '72 hours'")),
    ("gate_zero_recovery/5/ended-has-no-next", _recovery("exhausted", "next_eligible_at = updated_at")),
    ("gate_zero_recovery/5/recovery-window",
     _batch("frozen_batch", "batch_freeze_at = batch_freeze_at + interval '1 hour'")),
    ("gate_zero_recovery/5/no-early-freeze", _batch("frozen_batch", "frozen_at = frozen_at - interval '1 day'")),
    ("gate_zero_recovery/5/freeze-exhausts", _recovery("exhausted_by_freeze", "status = 'ACTIVE'")),
    ("gate_zero_recovery/5/exhausted-early-by-window-only", _batch("frozen_batch", "batch_freeze_at = '3000-01-01'")),
    ("gate_zero_recovery/5/exhausted-early-by-window-only", _recovery("exhausted_by_freeze", "batch_id = null")),
    ("gate_zero_recovery/5/no-retry-after-window", _batch("batch", "batch_freeze_at = '2026-01-01 10:00+00'")),
    ("gate_zero_recovery/5/kill-switch", _PAUSE.format("'batch', {batch}")),
    ("gate_zero_recovery/5/pauses", _PAUSE.format("'global', 'everything'")),
    ("gate_zero_recovery/5/pauses", _PAUSE.format("'table', 'cl.gate_zero_attempt'")),
    ("gate_zero_recovery/5/pauses", _PAUSE.format("'table', 'cl.gate_zero_intake'")),
    ("gate_zero_recovery/5/pauses", _PAUSE.format("'table', 'cl.gate_zero_recovery'")),
    ("gate_zero_recovery/6/reason-codes", _recovery("failed", "failure_reason = 'BAD_LUCK'")),
    ("gate_zero_recovery/6/attempt-reason-codes", _attempt("failed", "reason_code = 'BAD_LUCK'")),
    ("gate_zero_recovery/7/unique-recovery-id", "insert into cl.gate_zero_recovery"
     " select (jsonb_populate_record(r, '{{\"intake_id\": null}}')).* from cl.gate_zero_recovery r"
     " where r.intake_id = {failed}"),
    ("gate_zero_recovery/7/unique-intake-reference", _recovery("failed", "intake_id = {exhausted}")),
    ("gate_zero_recovery/7/intake-id", _recovery("failed", "intake_id = {pending}")),
    ("gate_zero_recovery/7/intake-id", _recovery("failed", "intake_id = gen_random_uuid()")),
    ("gate_zero_recovery/7/batch-id", _recovery("failed", "batch_id = {batch}")),
    ("gate_zero_recovery/7/created-at", _recovery("failed", "created_at = created_at - interval '1 second'")),
    ("gate_zero_recovery/7/updated-at", _recovery("failed", "updated_at = updated_at + interval '1 second'")),
    ("gate_zero_recovery/7/attempt-limit", _recovery("exhausted", "attempt_count = 4")),
    ("gate_zero_recovery/7/attempt-limit", _recovery("exhausted", "attempt_count = 0")),
    ("gate_zero_recovery/7/enforced-backoff", _attempt("exhausted", "opened_at = opened_at - interval '1 second'", 2)),
    ("gate_zero_recovery/7/enforced-backoff", _attempt("exhausted", "opened_at = opened_at - interval '1 second'", 3)),
    ("gate_zero_recovery/7/terminal-exhausted", _recovery("exhausted", "status = 'ACTIVE'")),
    ("gate_zero_recovery/7/terminal-exhausted",
     "update cl.gate_zero_air set entity_id = {exhausted}, event_timestamp = '2026-12-31' where entity_id = {open}"),
    ("gate_zero_recovery/7/no-deletion", "delete from cl.gate_zero_recovery where intake_id = {failed}"),
    ("gate_zero_recovery/9/five-parts", _recovery("recovered", "status = 'ACTIVE'")),
    ("gate_zero_recovery/9/five-parts", _intake("recovered_late", "status = 'FAILED'")),
    ("gate_zero_recovery/9/five-parts", "delete from cl.gate_zero_intake where reentered_from = {recovered}"),
    ("gate_zero_recovery/9/five-parts", _no_event("recovered", "AUTH")),
    ("gate_zero_recovery/9/five-parts", _no_event("recovered", "REENTER")),
    ("gate_zero_recovery/9/five-parts", _attempt("recovered", "status = 'failed'", 2)),
    ("gate_zero_recovery/9/one-transaction", _event("recovered", "PASS", "xid = '3'")),
    ("gate_zero_recovery/9/one-transaction",
     "update cl.gate_zero_intake set created_at = created_at + interval '1 second' where reentered_from = {recovered}"),
    ("gate_zero_recovery/9/reenter-after-auth", _no_event("recovered", "AUTH")),
    ("gate_zero_recovery/9/reenter-after-auth", _event("recovered", "REENTER", "xid = '3'")),
    ("gate_zero_recovery/9/never-authorized", _intake("failed", "status = 'AUTHORIZED'")),
    ("gate_zero_recovery/9/exactly-one-new-intake",
     "update cl.gate_zero_intake set company_name = 'Other' where reentered_from = {recovered}"),
    ("gate_zero_recovery/9/exactly-one-new-intake", _intake("pending", "reentered_from = {recovered}")),
    ("gate_zero_recovery/9/exactly-one-new-intake", _event("recovered", "REENTER", "payload_ref = 'intake:elsewhere'")),
    ("gate_zero_recovery/9/new-intake-is-untouched", _event("open", "ATTEMPT",
     "entity_id = (select intake_id from cl.gate_zero_intake where reentered_from = {recovered})")),
    ("gate_zero_recovery/10/eligible-retries-query",
     _intake("failed", "status = 'AUTHORIZED'") + ";" + _recovery("failed", "next_eligible_at = '2000-01-01'")),
    ("gate_zero_recovery/10/exhausted-records-query",
     _intake("exhausted", "status = 'FAILED'") + ";" + _recovery("exhausted", "batch_id = '2025_annual_outreach'")),
    ("gate_zero_air/2/not-null", _event("failed", "FAIL", "entity_type = null")),
    ("gate_zero_air/2/actor", _event("failed", "FAIL", "actor = null")),
    ("gate_zero_air/2/actor", _event("failed", "FAIL", "actor = 'ghost'")),
    ("gate_zero_air/2/batch-inherited", _event("exhausted", "EXHAUSTED", "batch_id = null")),
    ("gate_zero_air/2/batch-inherited", _event("open", "ATTEMPT", "batch_id = {batch}")),
    ("gate_zero_air/3/fixed-identifiers", _event("failed", "FAIL", "stage_id = 'GATE_ONE'")),
    ("gate_zero_air/3/fixed-identifiers", _event("failed", "FAIL", "process_id = 'MINT'")),
    ("gate_zero_air/3/fixed-identifiers", _event("failed", "FAIL", "entity_type = 'company'")),
    ("gate_zero_air/3/entity-exists", _event("failed", "FAIL", "entity_id = gen_random_uuid()")),
    ("gate_zero_air/4/event-types", _event("authorized", "AUTH", "event_type = 'MINT'")),
    ("gate_zero_air/4/attempt-before-outcome", _no_event("authorized", "ATTEMPT")),
    ("gate_zero_air/4/attempt-before-outcome", _event("failed", "FAIL", "attempt_id = gen_random_uuid()")),
    ("gate_zero_air/4/auth-after-pass", _no_event("authorized", "PASS")),
    ("gate_zero_air/4/auth-after-pass", _event("authorized", "PASS", "xid = '3'")),
    ("gate_zero_air/4/auth-after-pass", _event("authorized", "PASS", "incarnation = 2")),
    ("gate_zero_air/4/exhausted-after-third-failure", _event("exhausted", "EXHAUSTED", "xid = '3'")),
    ("gate_zero_air/4/exhausted-after-third-failure", _no_event("exhausted", "FAIL")),
    ("gate_zero_air/5/reason-codes", _event("failed", "FAIL", "reason_code = 'START'")),
    ("gate_zero_air/6/unique-event-id",
     "insert into cl.gate_zero_air select * from cl.gate_zero_air where entity_id = {failed}"),
    ("gate_zero_air/6/complete", _no_event("failed", "FAIL")),
    ("gate_zero_air/6/complete", _no_event("open", "ATTEMPT")),
    ("gate_zero_air/6/complete", _attempt("open", "status = 'passed'")),
    ("gate_zero_air/6/no-event-without-its-move", "delete from cl.gate_zero_attempt where intake_id = {open}"),
    ("gate_zero_air/6/event-names-its-attempt", _event("failed", "FAIL", "attempt_id = null")),
    ("gate_zero_air/6/event-names-its-attempt", _event("exhausted", "EXHAUSTED", "attempt_id = gen_random_uuid()")),
    ("gate_zero_air/6/events-agree-with-their-move",
     _attempt("failed", "finished_at = finished_at + interval '1 second'")),
    ("gate_zero_air/6/events-agree-with-their-move", _attempt("failed", "reason_code = 'TIMEOUT'")),
    ("gate_zero_air/6/events-agree-with-their-move", _attempt("failed", "intake_id = {pending}")),
    ("gate_zero_air/6/events-agree-with-their-move", _attempt("recovered", "reentered_as = {pending}", 2)),
    ("gate_zero_air/2/evidence", _evidence("evidenced", "attempt_id = gen_random_uuid()")),
    ("gate_zero_air/2/evidence", _event("failed", "FAIL", "payload_ref = 'evidence:' || attempt_id")),
    ("rebuild/cl.gate_zero_evidence", _evidence("evidenced", "attempt_id = gen_random_uuid()")),
    ("rebuild/cl.gate_zero_evidence", _evidence("evidenced", "recorded_at = recorded_at + interval '2 minutes'")),
    ("rebuild/cl.gate_zero_evidence", _evidence("evidenced", "recorded_at = recorded_at - interval '2 minutes'")),
    ("gate_zero_air/6/ordered", _event("failed", "FAIL", "seq = -seq")),
    ("gate_zero_air/6/ordered", "insert into cl.gate_zero_air select * from cl.gate_zero_air where entity_id = {open}"),
    ("gate_zero_air/6/traceable", _event("failed", "FAIL", "process_id = null")),
    ("gate_zero_air/6/traceable", _event("failed", "FAIL", "reason_code = null")),
    ("gate_zero_air/7/sequences", _event("failed", "ATTEMPT", "reason_code = 'RETRY'")),
    ("gate_zero_air/7/sequences", _no_event("failed", "ATTEMPT")),
    ("gate_zero_air/7/sequences", _no_event("exhausted", "EXHAUSTED")),
    ("gate_zero_air/8/subscription-query", _intake("authorized", "status = 'FAILED'")),
    ("gate_zero_air/8/authorization-by-air", _no_event("authorized", "AUTH")),
    ("gate_zero_air/8/authorization-by-air", _intake("pending", "status = 'AUTHORIZED'")),
    ("gate_zero_air/8/authorization-by-air", _no_event("recovered", "REENTER")),
    ("gate_zero_air/9/intake-history-query", _event("open", "ATTEMPT", "event_type = 'FAIL'")),
    ("gate_zero_air/9/recent-failures-query",
     _intake("failed", "status = 'PENDING'") + ";" + _event("failed", "FAIL", "event_timestamp = now()")),
    ("gate_zero_air/9/authorization-subscription-query", _intake("authorized", "status = 'PENDING'")),
    ("gate_zero_air/8/each-auth-is-minted", _NO_IDENTITY.format("authorized")),
    ("gate_zero_air/8/each-auth-is-minted", _NO_IDENTITY.format("last_minted")),  # in the window that is being read
    ("gate_zero_air/8/each-auth-is-minted", _identity_of("recovered", "intake_id = {recovered}")),
    ("gate_zero_air/8/each-auth-is-minted",
     "update recoup.subscription set since = pg_current_snapshot(), until = null"),
    ("gate_zero_air/8/each-auth-is-minted", "update recoup.subscription set after_seq = 1000000"),
    ("gate_zero_air/8/each-auth-is-minted", "update recoup.subscription set incarnation = 2, since = '1:1:'"),
    ("gate_zero_air/8/minted-by-authorization", _intake("authorized", "status = 'FAILED'")),
    ("gate_zero_air/8/minted-by-authorization", _identity("authorized", "intake_id = {pending}")),
    ("gate_zero_air/8/minted-by-authorization", _identity("authorized", "intake_id = gen_random_uuid()")),
    ("gate_zero_air/8/minted-by-authorization", _no_event("authorized", "AUTH")),
    ("gate_zero_air/8/minted-by-authorization", _no_event("recovered", "AUTH")),
    ("gate_zero_air/8/minted-after-auth", _identity("authorized", "minted_at = '2025-12-01'")),
    ("gate_zero_air/8/minted-after-auth", _mint("by_hand", "seq = 0")),
    ("gate_zero_air/8/data-stays", _identity("authorized", "company_name = 'Other'")),
    ("gate_zero_air/8/data-stays", _identity("restarted", "company_domain = null")),
    ("gate_zero_air/8/data-stays", _intake("by_hand", "company_domain = 'other.example'")),
    ("gate_zero_air/8/emit-mint", _NO_MINT.format("by_hand")),
    ("gate_zero_air/8/emit-mint", _NO_IDENTITY.format("by_hand")),
    ("gate_zero_air/8/emit-mint", _MINT_TWICE),
    ("gate_zero_air/8/emit-mint", _mint("authorized", "sovereign_company_id = gen_random_uuid()")),
    ("gate_zero_recovery/9/identity-on-new-intake", _identity_of("recovered_late", "intake_id = {recovered_late}")),
    ("gate_zero_recovery/9/identity-on-new-intake", _intake("authorized", "status = 'REENTER_SUCCEEDED'")),
    ("mint/identity/one-per-lineage", _second_identity("by_hand")),
    ("mint/identity/one-per-lineage", _second_identity("recovered")),
    ("mint/air/not-null", _mint("authorized", "stage_id = null")),
    ("mint/air/not-null", _mint("authorized", "sovereign_company_id = null")),
    ("mint/air/fixed-identifiers", _mint("authorized", "entity_type = 'company'")),
    ("mint/air/fixed-identifiers", _mint("authorized", "stage_id = 'GATE_ZERO'")),
    ("mint/air/fixed-identifiers", _mint("authorized", "process_id = 'VERIFY_COMPANY_EXISTENCE'")),
    ("mint/air/fixed-identifiers", _mint("authorized", "event_type = 'AUTH'")),
    ("mint/air/fixed-identifiers", _mint("authorized", "reason_code = 'EXISTENCE_CONFIRMED'")),
    ("mint/air/actor", _mint("authorized", "actor = null")),
    ("mint/air/actor", _mint("authorized", "actor = 'ghost'")),
    ("mint/air/unique-event-id", _MINT_TWICE),
    ("mint/air/agrees-with-identity", _mint("authorized", "entity_id = {unminted}")),
    ("mint/air/agrees-with-identity", _mint("authorized", "event_timestamp = event_timestamp + interval '1 second'")),
    ("mint/air/agrees-with-identity", _mint("authorized", "payload_ref = 'company:elsewhere'")),
    ("mint/air/agrees-with-identity", _mint("authorized", "payload_ref = null")),
    ("mint/air/batch-inherited", _mint("authorized", "batch_id = null")),
    ("mint/air/batch-inherited", _mint("by_hand", "batch_id = {batch}")),
    ("laws/L1/mint-authority", _mint("authorized", "authority = 'recoup_gate'")),
    ("laws/L1/gate-authority", _event("failed", "FAIL", "authority = 'recoup_admin'")),
    ("laws/L1/steps/recoup.worker",
     "update recoup.control_log set authority = 'recoup_reader' where event_type = 'BIRTH'"),
    ("laws/L1/pause-authority", "update recoup.pause_log set authority = 'recoup_hub'"),
    ("laws/L1/statuses", _intake("failed", "status = 'LOST'")),
    ("laws/L1/statuses", "update recoup.worker set status = null"),
    ("laws/L3/one-order", "update recoup.pause_log set seq = (select min(seq) from cl.gate_zero_air)"
     " where seq = (select min(seq) from recoup.pause_log)"),
    ("laws/L3/one-order", _mint("authorized", "seq = (select min(seq) from cl.gate_zero_air)")),
    ("laws/L7/in-order", _event("failed", "FAIL", "event_timestamp = event_timestamp - interval '1 day'")),
    ("laws/L7/in-order", _PAUSE.format("'global', 'everything'")),  # the last, and of long ago
    ("laws/L3/sequence", "update recoup.pause_log set seq = seq + 1000000"),  # as if it had been set back
    ("laws/L3/incarnations", _mint("authorized", "incarnation = 7")),
    ("laws/L3/incarnations", _event("failed", "FAIL", "incarnation = 7")),
    ("laws/L3/incarnations",
     "insert into recoup.incarnation values (2, 1, now());" + _event("exhausted", "FAIL", "incarnation = 2")),
    ("laws/L3/transactions", _event("failed", "FAIL", "xid = '9223372036854775806'")),
    ("laws/L4/attempt-has-its-intake", _attempt("failed", "batch_id = {batch}")),
    ("laws/L4/attempt-has-its-intake", _attempt("failed", "intake_id = gen_random_uuid()")),
    ("laws/L4/intake-references", _intake("pending", "batch_id = 'nowhere'")),
    ("laws/L4/intake-references", _intake("pending", "retry_of = gen_random_uuid()")),
    ("laws/L4/fresh-start-of-exhausted", _intake("restarted", "retry_of = {failed}")),
    ("laws/L4/fresh-start-of-exhausted", _intake("restarted", "retry_of = gen_random_uuid()")),
    ("laws/L4/fresh-start-of-exhausted", _intake("exhausted", "status = 'FAILED'")),
    ("laws/L4/fresh-start-after-exhaustion", _intake("restarted", "created_at = '2026-01-01'")),
    ("laws/L2/fresh-start-told", "delete from recoup.control_log where subject = 'cl.gate_zero_intake'"),
    ("laws/L2/fresh-start-told",
     "update recoup.control_log set key = {pending}::text where subject = 'cl.gate_zero_intake'"),
    ("laws/L2/fresh-start-told", _intake("restarted", "retry_of = {failed}")),
    ("laws/L4/one-fresh-start", _intake("pending", "retry_of = {exhausted}")),
    ("laws/L4/restarted-once-by-recovery",
     "with for_candidate as (update recoup.control_log set authority = 'recoup_executor'"
     " where subject = 'cl.gate_zero_intake') " + _intake("exhausted", "retry_of = {failed}")),
    ("laws/L4/keys", "insert into cl.company_identity (sovereign_company_id, intake_id, company_name, minted_at)"
     " select sovereign_company_id, {pending}, 'Acme', minted_at from cl.company_identity where intake_id = {by_hand}"),
    ("laws/L4/keys", "insert into cl.gate_zero_batch (batch_id, imported_at) values ({batch}, '2026-01-01')"),
    ("laws/L4/keys", "update recoup.pause set scope_id = null where scope = 'table'"),
    ("laws/L5/one-attempt-at-a-time", _attempt("exhausted", "status = 'open'", 2)),
    ("laws/L5/crashed-after-its-lease", _attempt("crashed", "lease_until = lease_until + interval '1 day'")),
    ("laws/L5/late-results", "update recoup.late_result set subject = 'recoup.clock'"),
    ("laws/L5/late-attempts", "update recoup.late_result set unit_id = gen_random_uuid()"),
    ("laws/L5/late-attempts", "update recoup.late_result set received_at = received_at - interval '1 hour'"),
    ("laws/L7/clock", "delete from recoup.clock"),
    ("laws/L7/clock", "update recoup.clock set status = 'real', at = null"),
    ("laws/L7/clock", "create or replace function recoup.now() returns timestamptz language sql stable"
     " as 'select clock_timestamp()'"),
    ("laws/L7/nothing-to-come", _event("failed", "FAIL", "event_timestamp = '2999-01-01'")),
    ("laws/L7/nothing-to-come", _mint("authorized", "event_timestamp = '2999-01-01'")),
    ("laws/L8/stamped", _attempt("failed", "policy_version = 9")),
    ("laws/L8/stamped", _attempt("failed", "policy_version = 1")),
    ("laws/L8/stamped", _attempt("exhausted", "policy_version = 2")),
    ("laws/L8/batch-stamped", _batch("frozen_batch", "policy_version = 2")),
    ("laws/L8/batch-stamped", _batch("batch", "policy_version = 1")),
    ("laws/L8/versions", "delete from recoup.policy where version = 1"),
    ("laws/L8/versions", "delete from recoup.policy"),
    ("laws/L10/seals", _event("crashed", "FAIL", "reason_code = 'STATE_MISSING'")),
    ("laws/L10/seals", _mint("authorized", "payload_ref = 'company:elsewhere'")),
    ("laws/L10/seals", "delete from recoup.pause_log where seq = (select min(seq) from recoup.pause_log)"),
    ("gate_zero_batch/pauses", _batch("paused_batch", "paused_at = null, paused_by = null, pause_reason = null")),
    ("gate_zero_batch/pauses", _batch("paused_batch", "pause_reason = 'all is well'")),
    ("rebuild/cl.gate_zero_batch", _batch("batch", "frozen_at = batch_freeze_at")),
    ("rebuild/cl.gate_zero_batch", _batch("batch", "completed_at = completed_at - interval '1 second'")),
    ("rebuild/cl.gate_zero_batch", "delete from cl.gate_zero_batch where batch_id = {batch}"),
    ("rebuild/cl.gate_zero_batch",
     "insert into cl.gate_zero_batch (batch_id, imported_at) values ('new', '2026-01-02')"),
    ("laws/L2/chain/cl.gate_zero_batch", "delete from recoup.control_log where key = {batch} and event_type = 'BIRTH'"),
    ("laws/L2/chain/cl.gate_zero_batch",
     "update recoup.control_log set from_status = 'COMPLETED' where key = {batch} and event_type = 'MOVE'"),
    ("rebuild/cl.gate_zero_intake", _intake("pending", "status = 'FAILED'")),
    ("rebuild/cl.gate_zero_intake", "delete from cl.gate_zero_intake where intake_id = {failed}"),
    ("rebuild/cl.gate_zero_intake", "delete from cl.gate_zero_intake where reentered_from = {recovered}"),
    ("rebuild/cl.gate_zero_intake", _intake("pending", "reentered_from = {recovered}, status = 'AUTHORIZED'")),
    ("rebuild/cl.gate_zero_attempt", _attempt("crashed", "status = 'failed'")),
    ("rebuild/cl.gate_zero_attempt", "delete from cl.gate_zero_attempt where intake_id = {failed}"),
    ("rebuild/cl.gate_zero_attempt", _no_event("open", "ATTEMPT")),
    ("rebuild/cl.gate_zero_recovery", _recovery("failed", "next_eligible_at = next_eligible_at - interval '1 minute'")),
    ("rebuild/cl.gate_zero_recovery", _recovery("exhausted", "status = 'SUCCEEDED'")),
    ("rebuild/cl.gate_zero_recovery", _recovery("failed_twice", "attempt_count = 1")),
    ("rebuild/cl.gate_zero_recovery", "delete from cl.gate_zero_recovery where intake_id = {failed}"),
    ("rebuild/cl.gate_zero_recovery", _recovery("failed", "intake_id = {pending}")),
    ("rebuild/cl.company_identity", _NO_IDENTITY.format("authorized")),
    ("rebuild/cl.company_identity", _NO_MINT.format("authorized")),
    ("rebuild/cl.company_identity", _second_identity("unminted")),
    ("rebuild/cl.company_identity", _identity("authorized", "intake_id = {unminted}")),
    ("rebuild/cl.company_identity", _identity("authorized", "minted_at = minted_at + interval '1 second'")),
    ("rebuild/cl.company_identity", _identity("authorized", "company_name = 'Other'")),
    ("rebuild/cl.company_identity", _identity("restarted", "company_domain = null")),
    ("rebuild/cl.company_identity", _identity("authorized", "sovereign_company_id = gen_random_uuid()")),
    ("rebuild/recoup.pause", "update recoup.pause set status = 'PAUSED' where scope = 'global'"),
    ("rebuild/recoup.pause", "delete from recoup.pause where scope = 'global'"),
    ("rebuild/recoup.pause", "update recoup.pause_log set event_type = 'RESUME' where scope = 'global'"),
    ("rebuild/recoup.worker", "update recoup.worker set status = 'lost', ended_at = now() where name = 'eve'"),
    ("rebuild/recoup.worker", "delete from recoup.worker where name = 'eve'"),
    ("laws/L2/chain/recoup.worker",
     "delete from recoup.control_log where subject = 'recoup.worker' and event_type = 'BIRTH'"),
    ("rebuild/recoup.clock", "update recoup.clock set at = at + interval '1 hour'"),
    ("rebuild/recoup.clock", "update recoup.control_log set facts = jsonb_set(facts, '{{at}}', '\"2025-01-01\"')"
     " where seq = (select seq from recoup.control_log where subject = 'recoup.clock' order by seq offset 1 limit 1)"),
    ("rebuild/recoup.clock", "delete from recoup.control_log where subject = 'recoup.clock'"),
)  # fmt: skip

SCHEMA: tuple[tuple[str, str], ...] = (
    ("gate_zero_recovery/2/columns", "alter table cl.gate_zero_recovery alter column failure_reason drop not null"),
    ("gate_zero_recovery/2/columns", "alter table cl.gate_zero_recovery rename column updated_at to changed_at"),
    ("gate_zero_recovery/11/comments", "comment on column cl.gate_zero_recovery.status is 'whatever'"),
    ("gate_zero_recovery/11/comments", "comment on table cl.gate_zero_recovery is null"),
    ("gate_zero_air/2/columns", "alter table cl.gate_zero_air rename column actor to who"),
    ("gate_zero_air/2/columns", "alter table cl.gate_zero_air alter column actor set not null"),
    ("gate_zero_air/10/comments", "comment on column cl.gate_zero_air.actor is null"),
    ("mint/air/columns", "alter table cl.sovereign_mint_air rename column actor to who"),
    ("mint/air/columns", "alter table cl.sovereign_mint_air alter column actor set not null"),
    ("mint/air/columns", "alter table cl.sovereign_mint_air alter column payload_ref type varchar"),
    ("laws/L1/guards", "alter table cl.company_identity disable trigger a_guard_births"),
    ("laws/L1/guards", "alter table cl.gate_zero_intake disable trigger a_guard_moves"),
    ("laws/L1/guards", "alter table cl.gate_zero_recovery enable trigger a_guard_exits"),
    ("laws/L1/declarations", "alter table recoup.lifecycle_step disable trigger user;"
     " update recoup.lifecycle_step set says = 'as I like it' where subject = 'cl.gate_zero_intake'"),
    ("laws/L1/declarations", "alter table recoup.declaration_log disable trigger user;"
     " delete from recoup.declaration_log where seq = (select max(seq) from recoup.declaration_log)"),
    ("laws/L1/declarations", "alter table recoup.lifecycle_step disable trigger a_only_migrations;"
     " update recoup.lifecycle_step set says = says || '!';"
     " update recoup.lifecycle_step set says = left(says, -1)"),
    ("laws/L1/declarations",
     MIGRATING + "update recoup.domain d set digest = l.row ->> 'digest' from recoup.declaration_log l"
     " where l.declared_in = 'recoup.domain' and l.row ->> 'name' = d.name and l.event_type = 'REMOVED'"),
    ("laws/L1/lifecycles", MIGRATING),
    ("laws/L1/lifecycles", MIGRATING + "delete from recoup.lifecycle_step where kind = 'birth'"),
    ("laws/L1/lifecycles", MIGRATING + "delete from recoup.follower where place = 'c'"),
    ("laws/L1/lifecycles", MIGRATING + "update recoup.log set canon = 0"),
    ("laws/L1/lifecycles", MIGRATING + "update recoup.policy_bound set most = 9"),
    ("laws/L1/lifecycles", MIGRATING + "delete from recoup.pausable where scope = 'duty'"),
    ("laws/L2/recorders", "alter table cl.gate_zero_air disable trigger a_only_recorders"),
    ("laws/L2/recorders", "grant insert on recoup.control_log to recoup_gate"),
    ("laws/L2/recorders", "drop trigger a_only_recorders on cl.sovereign_mint_air"),
    ("laws/L2/recorders", "grant insert on cl.sovereign_mint_air to recoup_mint"),
    ("laws/L2/followers", "drop function cl.rule_identity_births() cascade"),
    ("laws/L2/followers", "drop function cl.record_identity_births() cascade"),
    ("laws/L2/followers", "drop function cl.rule_intake_births() cascade"),
    ("laws/L2/followers", "drop trigger {recorder} on cl.gate_zero_attempt"),
    ("laws/L2/followers", "alter table cl.gate_zero_attempt enable trigger {recorder}"),
    ("laws/L3/append-only", "alter table cl.gate_zero_air disable trigger a_append_only"),
    ("laws/L3/append-only", "drop trigger a_append_only on cl.sovereign_mint_air"),
    ("laws/L3/append-only", "drop trigger a_append_only_truncate on recoup.pause_log"),
    ("laws/L3/append-only", "alter table recoup.policy enable trigger a_append_only"),
    ("schema/objects", "alter table cl.gate_zero_attempt drop constraint gate_zero_attempt_attempt_number_check"),
    ("schema/objects", "create table cl.stranger (); alter table cl.stranger owner to recoup_owner"),
    ("schema/children", "create table public.heir () inherits (cl.gate_zero_air)"),
    ("schema/objects", "create or replace view recoup.pauses as select p.scope, p.scope_id, p.changed_at as paused_at,"
     " p.changed_by as paused_by, p.reason from recoup.pause p where false"),
    ("schema/objects", "create or replace function recoup.now() returns timestamptz language sql stable as"
     " $$ select at + case when current_user = 'recoup_gate' then interval '4 days' else '0' end from recoup.clock $$"),
    ("schema/objects", "create or replace function recoup.statement_time() returns timestamptz language sql stable as"
     " $$ select timestamptz '2000-01-01' $$"),
    ("schema/objects", "create or replace function recoup.new_id() returns uuid language sql volatile parallel safe as"
     " $$ select gen_random_uuid() $$"),
    ("schema/roles", "alter role recoup_gate createrole"),
    ("schema/members", "create role mallory login; grant recoup_owner to mallory"),
    ("schema/members", "create role mallory login; grant recoup_owner to mallory with admin option"),
    ("schema/members", "create role mallory login; grant recoup_admin to mallory"),
    ("schema/members", "grant recoup_operator to recoup_hub"),
    ("schema/members", "grant recoup_owner to recoup_gate"),
    ("schema/members", "grant pg_write_all_data to recoup_gate"),
    ("schema/settings", "alter role recoup_app set search_path = evil, pg_catalog, public"),
    ("schema/settings", "alter role recoup_app set session_replication_role = replica"),
    ("schema/settings", "alter role all set plpgsql.variable_conflict = use_column"),
    ("schema/settings", "alter role recoup_app set recoup.acting_role = recoup_operator"),
    ("schema/strangers", "create subscription s connection '' publication p with (connect = false);"
     " insert into pg_subscription_rel (srsubid, srrelid, srsubstate)"
     " select oid, 'cl.gate_zero_air'::regclass, 'r' from pg_subscription where subname = 's'"),
    ("schema/strangers", "create function public.e() returns event_trigger language plpgsql as 'begin end';"
     " create event trigger e on ddl_command_end execute function public.e()"),
    ("schema/strangers", "create cast (text as uuid) with inout as implicit"),
    ("schema/strangers", "grant create on schema public to recoup_app"),
    ("schema/strangers", "grant create on schema public to public"),
    ("schema/strangers", "do $$ begin execute format('grant create on database %I to recoup_app', current_database());"
     " end $$"),
)  # fmt: skip
