"""The probes of recovery: incidents, matches, evaluations, candidates, scopes, leases, tasks, provenance."""

from __future__ import annotations

import circuits
from company import acting, decide_error
from conformance.recovery_cast import RECOVERY_ROLES
from incidents import (
    BORN,
    EVALUATION_ROW,
    RETRY,
    SCOPE_ROW,
    START,
    change,
    config_in,
    end_scope,
    match_in,
    new_match,
    new_scope,
    ready,
    scope_in,
    start,
    subject_of,
    task_in,
)
from laws.probing import (
    PROBES,
    check,
    key,
    law,
    queued,
    quiet,
    recorded,
    refused,
    seen,
    unreplicated,
    untouchable,
    woken,
)
from laws.rows import ID, LATER, NOW
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.recovery import breakers
from recoup.recovery.lifecycle import MATCH as MATCH_LIFE
from tiers import REVIEWED

__all__ = ["PROBES"]

MATCHER, EVALUATOR, RULES = Authority.MATCHER, Authority.EVALUATOR, Authority.RULE_ENGINE
CLAIMS, SCOPES, OPERATOR = Authority.CLAIM_WORKER, Authority.SCOPED_EXECUTION, Authority.OPERATOR
INCIDENT, MATCH, QUEUE = "recovery.incident", "recovery.failure_match", "recovery.match_queue"
EVALUATION, SCOPE, CANDIDATE = "recovery.evaluation", "recovery.scope", "recovery.candidate"
LEASE, TASK, PROVENANCE = "recovery.lease", "recovery.task", "recovery.provenance"
EXPERIENCE, GUARDED = "recovery.experience", "recovery.guard_experience"
CONFIG = "recovery.config"
BREAKER = "recovery.breaker"
INFINITE, NONE = "'infinity'", "''"
TIMES, NAMED = "Times are times.", "A name has letters, and an end."


def long(letters: int) -> str:
    return f"repeat('x', {letters + 1})"


def named(table: str, column: str, most: int, **also: str) -> None:
    """Neither empty nor endless."""
    name = f"{table.split('.')[1]}_{column}_check"
    for value in (NONE, long(most)):
        check(table, name, NAMED, **{**also, column: value})


# Keys -----------------------------------------------------------------------------------------------------------------

for table, column in ((INCIDENT, "incident_id"), (MATCH, "failure_match_id"), (SCOPE, "scope_id"),
                      (CANDIDATE, "candidate_id"), (LEASE, "token"), (TASK, "task_id"),
                      (BREAKER, "name"), (PROVENANCE, "seq")):  # fmt: skip
    key(table, f"{table.split('.')[1]}_pkey", "An id is one row's.", column)
key(EXPERIENCE, "experience_pkey", "A day is counted in one row.", "action_name", "source", "category", "day")
key(EVALUATION, "evaluation_pkey", "An evaluation that is repeated adds nothing.", "failure_match_id", "evaluation_no")
key(INCIDENT, "incident_open", "One failure is one open incident.", "source", "error_signature")
key(MATCH, "match_idempotency", "A failure that is reported again is the same match.", "source", "idempotency_key")
A_RUN = {"subject_kind": "'run'", "subject_ref": "'r'"}
key(MATCH, "match_open", "What is ours is recovered from by one match at a time.", first=A_RUN, then=A_RUN)
key(CANDIDATE, "candidate_open", "A failure has one open candidate.", "failure_match_id", "error_signature")
key(CONFIG, "config_pkey", "A version of a key is one.", "key", "version")
UNDOES = {
    "action_name": "'r'", "action_type": "'rollback'", "cost": "1", "timeout_s": "1",
    "parameters": """'{"undoes": "01a1ebf9-ae14-76c9-a2f9-07a8f45b3ee2"}'""",
}  # fmt: skip
key(CANDIDATE, "candidate_undoes", "What was done is undone once.", first=UNDOES, then=UNDOES)
key(TASK, "task_open", "A storm calls a person once.", "incident_id", "action_name", "owner")

# Incidents, matches, evaluations --------------------------------------------------------------------------------------

named(INCIDENT, "source", 500)
named(INCIDENT, "error_signature", 200)
check(INCIDENT, "incident_status_check", "A status is a listed one.", status="'quiet'")
check(INCIDENT, "incident_opened_at_check", TIMES, opened_at=INFINITE)
check(INCIDENT, "incident_closed_at_check", TIMES, status="'closed'", closed_at=INFINITE)
check(INCIDENT, "incident_closed", "What is closed was closed at a time.", status="'closed'")
check(INCIDENT, "incident_closed", "What is open was not.", closed_at=NOW)

ACCEPTED = {"status": "'accepted'", "ended_at": NOW}
RECOVERED = {"status": "'recovered'", "ended_at": NOW, "recovered_at": NOW}
REPORTED = {"reported_end": "'recovered'", "reported_by": "'ann'"}
for column, most in (("source", 500), ("idempotency_key", 500), ("subject_ref", 500), ("error_code", 200),
                     ("error_signature", 200), ("end_reason", 200)):  # fmt: skip
    named(MATCH, column, most)
named(MATCH, "reported_by", 500, reported_end="'recovered'")
check(MATCH, "failure_match_subject_kind_check", "A subject is of a listed kind.", subject_kind="'moon'")
check(MATCH, "failure_match_category_check", "A category is a listed one.", category="'ODD'")
check(MATCH, "failure_match_status_check", "A status is a listed one.", status="'lost'")
check(MATCH, "failure_match_reported_end_check", "Only a good end is reported.", **REPORTED | {"reported_end": "'x'"})
for column in ("evaluate_at", "match_until", "created_at", "updated_at"):
    check(MATCH, f"failure_match_{column}_check", TIMES, **{column: INFINITE})
check(MATCH, "failure_match_ended_at_check", TIMES, **ACCEPTED | {"ended_at": INFINITE})
check(MATCH, "failure_match_recovered_at_check", TIMES, **RECOVERED | {"recovered_at": INFINITE})
for column in ("evaluation_no", "evaluation_failures", "wakes"):
    check(MATCH, f"failure_match_{column}_check", "Counts begin at none.", **{column: "-1"})
check(MATCH, "match_ended", "What has ended did so at a time.", status="'unrecovered'")
check(MATCH, "match_ended", "What is open has not ended.", ended_at=NOW)
check(MATCH, "match_recovered", "What is recovered was so at a time.", **RECOVERED | {"recovered_at": "null"})
check(MATCH, "match_recovered", "What is accepted is not recovered.", **ACCEPTED, recovered_at=NOW)
check(MATCH, "match_reported", "Somebody reports an end.", reported_end="'recovered'")
check(MATCH, "match_reported", "Whoever reports says what.", reported_by="'ann'")

check(EVALUATION, "evaluation_evaluation_no_check", "Evaluations count from one.", evaluation_no="0")
check(EVALUATION, "evaluation_status_check", "An evaluation is done.", status="'begun'")
named(EVALUATION, "rules", 200)
named(EVALUATION, "recommended_action", 200)
check(EVALUATION, "evaluation_weight_check", "A weight is a share.", weight="1.5")
check(EVALUATION, "evaluation_weight_check", "And no less than none.", weight="-0.1")
check(EVALUATION, "evaluation_errors_check", "Errors are by rule.", errors="'[]'")
check(EVALUATION, "evaluation_evaluated_at_check", TIMES, evaluated_at=INFINITE)

# Scopes ---------------------------------------------------------------------------------------------------------------

SPENT = {"status": "'exhausted'", "ended_at": NOW}
check(SCOPE, "scope_allowed_actions_check", "An action has a name.", allowed_actions="'{NULL}'")
check(SCOPE, "scope_max_attempts_check", "Something may be tried.", **SPENT, max_attempts="0")
check(SCOPE, "scope_attempts_used_check", "Attempts count from none.", attempts_used="-1")
check(SCOPE, "scope_cost_limit_check", "Something may be spent.", **SPENT, cost_limit="0")
check(SCOPE, "scope_cost_used_check", "Cost counts from none.", cost_used="-1")
check(SCOPE, "scope_least_cost_check", "Nothing is free.", least_cost="0")
check(SCOPE, "scope_ttl_seconds_check", "A scope lasts.", ttl_seconds="0", expires_at=NOW)
check(SCOPE, "scope_status_check", "A status is a listed one.", **SPENT | {"status": "'odd'"})
named(SCOPE, "opened_by", 500)
named(SCOPE, "reason", 2000)
check(SCOPE, "scope_opened_at_check", TIMES, opened_at=INFINITE, expires_at=INFINITE)
check(SCOPE, "scope_ended_at_check", TIMES, **SPENT | {"ended_at": INFINITE})
check(SCOPE, "scope_attempts", "No scope is overspent.", **SPENT, attempts_used="4")
check(SCOPE, "scope_cost", "Nor its cost.", **SPENT, cost_used="4")
check(SCOPE, "scope_ended", "What has ended did so at a time.", status="'revoked'")
check(SCOPE, "scope_ended", "What is active has not.", ended_at=NOW)
check(SCOPE, "scope_exhausted", "Without attempts it is not active.", attempts_used="3")
check(SCOPE, "scope_exhausted", "Nor when its cheapest action does not fit.", cost_used="3")
check(SCOPE, "scope_ttl", "It expires when its time is over.", ttl_seconds="61")

# Candidates -----------------------------------------------------------------------------------------------------------

CHOSEN = {"action_name": "'a'", "action_type": "'retry'", "parameters": "'{}'", "cost": "1", "timeout_s": "1"}
STARTABLE = {**CHOSEN, "scope_id": ID, "execute_by": LATER}
DECIDED = {"decided_by": "'ann'", "decided_at": NOW}
APPROVED = {**STARTABLE, **DECIDED, "status": "'approved'"}
STARTED = {
    **STARTABLE, "status": "'executing'", "executed_at": NOW, "worker": "'w'", "token": ID, "lease_until": LATER,
    "idempotency_key": "'k'",
}  # fmt: skip
MADE = {**STARTED, "effect_made_at": NOW}
AWAITS = {"awaits": """'{"kind": "run", "key": "k", "since_seq": 1}'""", "outcome_by": LATER}
SKIPPED = {"status": "'skipped'", "skip_reason": "'OVERTAKEN'", "finished_at": NOW}
for column, most in (("error_signature", 200), ("proposed_by", 500), ("recommended_action", 200),
                     ("confidence_of", 200), ("overridden_by", 500)):  # fmt: skip
    named(CANDIDATE, column, most)
for column, most, also in (
    ("action_name", 200, CHOSEN), ("decided_by", 500, APPROVED), ("decision_note", 2000, APPROVED),
    ("worker", 500, STARTED), ("idempotency_key", 200, STARTED), ("skip_reason", 200, SKIPPED),
):  # fmt: skip
    named(CANDIDATE, column, most, **also)
for column, also in (
    ("decide_by", {}), ("created_at", {}), ("updated_at", {}), ("execute_by", STARTABLE), ("decided_at", APPROVED),
    ("executed_at", STARTED), ("lease_until", STARTED), ("effect_made_at", MADE), ("finished_at", SKIPPED),
    ("outcome_by", MADE | AWAITS),
):  # fmt: skip
    check(CANDIDATE, f"candidate_{column}_check", TIMES, **{**also, column: INFINITE})
check(CANDIDATE, "candidate_subject_kind_check", "A subject is of a listed kind.", subject_kind="'moon'")
check(CANDIDATE, "candidate_action_type_check", "A type is a listed one.", **CHOSEN | {"action_type": "'pray'"})
check(CANDIDATE, "candidate_cost_check", "Nothing is free.", **CHOSEN | {"cost": "0"})
check(CANDIDATE, "candidate_timeout_s_check", "An action takes time.", **CHOSEN | {"timeout_s": "0"})
check(CANDIDATE, "candidate_confidence_check", "A confidence is at most 1.", confidence="1.01")
check(CANDIDATE, "candidate_confidence_check", "And at least 0.", confidence="-0.01")
check(CANDIDATE, "candidate_evidence_check", "Outcomes count from none.", evidence="-1")
check(CANDIDATE, "candidate_status_check", "A status is a listed one.", status="'lost'")
check(CANDIDATE, "candidate_reported_check", "An outcome is a listed one.", **MADE, reported="'maybe'")
check(CANDIDATE, "candidate_action", "An action has a cost.", **CHOSEN | {"cost": "null"})
check(CANDIDATE, "candidate_action", "A cost is an action's.", cost="1")
check(CANDIDATE, "candidate_finished", "What has ended did so at a time.", **SKIPPED | {"finished_at": "null"})
check(CANDIDATE, "candidate_finished", "What waits has not ended.", finished_at=NOW)
check(CANDIDATE, "candidate_executed", "What is executed was started.", **STARTABLE, status="'executing'")
check(CANDIDATE, "candidate_executed", "What waits was not started.", **STARTED | {"status": "'pending'"})
for column in ("worker", "token", "lease_until", "idempotency_key"):
    check(CANDIDATE, "candidate_claim", "Somebody starts it, until some time.", **STARTED | {column: "null"})
check(CANDIDATE, "candidate_decided", "Whoever decides does so at a time.", decided_by="'ann'")
check(CANDIDATE, "candidate_decided", "What is approved was decided.", **STARTABLE, status="'approved'")
check(CANDIDATE, "candidate_rejected", "A rejection has a reason.", **DECIDED, status="'rejected'", finished_at=NOW)
for column in ("scope_id", "execute_by"):
    check(CANDIDATE, "candidate_startable", "Nothing starts without a scope.", **STARTED | {column: "null"})
    check(CANDIDATE, "candidate_startable", "Nothing is approved without one.", **APPROVED | {column: "null"})
check(CANDIDATE, "candidate_startable", "Nor without an action.", **STARTED | dict.fromkeys(CHOSEN, "null"))
check(CANDIDATE, "candidate_effect", "An effect is that of a start.", effect_made_at=NOW)
check(CANDIDATE, "candidate_awaits", "What is awaited is awaited until some time.", **MADE, awaits=AWAITS["awaits"])
check(CANDIDATE, "candidate_awaits", "Before an effect nothing is awaited.", **STARTED, **AWAITS)
check(CANDIDATE, "candidate_awaits", "It is of a kind.", **MADE, **AWAITS | {"awaits": """'{"key": "k"}'"""})
check(CANDIDATE, "candidate_reported", "Before an effect nothing is reported.", **STARTED, reported="'failed'")
check(CANDIDATE, "candidate_reported", "What is awaited is not reported.", **MADE, **AWAITS, reported="'failed'")
check(CANDIDATE, "candidate_skipped", "What is skipped has a reason.", **SKIPPED | {"skip_reason": "null"})
check(CANDIDATE, "candidate_skipped", "What waits was not skipped.", skip_reason="'OVERTAKEN'")
check(CANDIDATE, "candidate_other_person", "Nobody approves their own proposal.", **APPROVED, proposed_by="'ann'")

# Leases, tasks, provenance --------------------------------------------------------------------------------------------

unreplicated(LEASE)
for event in ("insert", "update", "delete"):
    untouchable(LEASE, "recovery.guard_leases", "RC012", event, "Leases follow from claims.")
untouchable(LEASE, "recoup.guard_truncate", "RC008", "truncate", "Rows do not leave all at once.")
check(LEASE, "lease_lease_until_check", TIMES, lease_until=INFINITE)
check(LEASE, "lease_candidates_check", "A claim is of something.", candidates="'{}'")

unreplicated(EXPERIENCE)
for event in ("insert", "update", "delete"):
    untouchable(EXPERIENCE, GUARDED, "RC012", event, "Outcomes are counted by the matcher.")
untouchable(EXPERIENCE, "recoup.guard_truncate", "RC008", "truncate", "Rows do not leave all at once.")
named(EXPERIENCE, "action_name", 200)
check(EXPERIENCE, "experience_source_check", NAMED, source=long(500))
check(EXPERIENCE, "experience_category_check", "A category is a listed one.", category="'ODD'")
check(EXPERIENCE, "experience_day_check", TIMES, day=INFINITE)
check(EXPERIENCE, "experience_succeeded_check", "Nothing succeeds less than never.", succeeded="-1")
check(EXPERIENCE, "experience_ended", "What succeeded has ended.", succeeded="3")
check(EXPERIENCE, "experience_level", "A category is one of a source.", source="''", category="'TRANSIENT'")

ENDED = {"status": "'done'", "ended_at": NOW, "ended_by": "'ann'"}
for column, most in (("action_name", 200), ("owner", 500), ("subject", 2000), ("note", 2000)):
    named(TASK, column, most)
named(TASK, "ended_by", 500, **ENDED)
check(TASK, "task_status_check", "A status is a listed one.", **ENDED | {"status": "'odd'"})
check(TASK, "task_due_at_check", TIMES, due_at=INFINITE)
check(TASK, "task_created_at_check", TIMES, created_at=INFINITE)
check(TASK, "task_ended_at_check", TIMES, **ENDED | {"ended_at": INFINITE})
check(TASK, "task_ended", "What is done was done at a time.", **ENDED | {"ended_at": "null", "ended_by": "null"})
check(TASK, "task_ended", "By somebody.", **ENDED | {"ended_by": "null"})
check(TASK, "task_ended", "What is open is not done.", ended_at=NOW, ended_by="'ann'")

for name in (NONE, "'A'", "'a b'", long(100)):
    check(CONFIG, "config_key_check", "A key is a plain name.", key=name)
check(CONFIG, "config_version_check", "Versions count from one.", version="0")
check(CONFIG, "config_status_check", "A status is a listed one.", status="'odd'")
check(CONFIG, "config_value_check", "A value has an end.", value="to_jsonb(repeat('x', 100000))")
check(CONFIG, "config_value", "What is set has a value.", value="null")
check(CONFIG, "config_value", "What is removed has none.", status="'removed'")
named(CONFIG, "set_by", 500)
named(CONFIG, "reason", 2000)
check(CONFIG, "config_set_at_check", TIMES, set_at=INFINITE)
SHUT = {"status": "'closed'", "closed_at": NOW, "closed_by": "'ann'"}
TRIED = {
    "status": "'half_open'", "probe_subject": "'recoup.error'", "probe_unit": "'x/1'", "probe_token": ID,
    "probe_until": LATER,
}  # fmt: skip
for column, most, also in (
    ("name", 500, {}), ("opened_by", 500, {}), ("reason", 2000, {}), ("closed_by", 500, SHUT),
    ("probe_unit", 500, TRIED),
):  # fmt: skip
    named(BREAKER, column, most, **also)
check(BREAKER, "breaker_status_check", "A status is a listed one.", status="'ajar'")
check(BREAKER, "breaker_parts_check", "Something depends on it.", parts="'{}'")
check(BREAKER, "breaker_parts_check", "And has a name.", parts="'{NULL}'")
check(BREAKER, "breaker_wait_s_check", "It waits.", wait_s="0")
check(BREAKER, "breaker_wait", "Not longer than its longest wait.", wait_s="2")
check(BREAKER, "breaker_probes_check", "Probes count from none.", probes="-1")
check(BREAKER, "breaker_probe_subject_check", "A unit of a known table tries it.", **TRIED | {"probe_subject": "'x'"})
for column, also in (("opened_at", {}), ("open_until", {}), ("probe_until", TRIED), ("closed_at", SHUT)):
    check(BREAKER, f"breaker_{column}_check", TIMES, **{**also, column: INFINITE})
check(BREAKER, "breaker_probe", "What is half open has a probe.", **TRIED | {"probe_token": "null"})
check(BREAKER, "breaker_probe", "What is not has none.", probe_token=ID)
check(BREAKER, "breaker_closed", "What is closed was closed at a time.", **SHUT | {"closed_at": "null"})
check(BREAKER, "breaker_closed", "By somebody.", **SHUT | {"closed_by": "null"})
check(BREAKER, "breaker_closed", "What is open is not closed.", closed_at=NOW, closed_by="'ann'")

check(PROVENANCE, "provenance_event", "An event is a listed one.", event_type="'forgotten'")
check(PROVENANCE, "provenance_actor_check", "An actor is of a kind.", actor="'ghost'")
check(PROVENANCE, "provenance_logged_at_check", TIMES, logged_at=INFINITE)

# What follows from the declaration ------------------------------------------------------------------------------------

queued(MATCH_LIFE, lambda tx: new_match(tx).match_id)
for role in RECOVERY_ROLES:
    if role.name not in (SCOPE, TASK, CONFIG, BREAKER):
        recorded(role)


@law(SCOPE, "recovery.record_scope_births", "insert")
def a_scope_that_is_opened_is_recorded(tx: Transaction) -> None:
    """With what it allows."""
    scope = scope_in(tx, "active")
    seen(tx, "select from recovery.provenance where scope_id = %s and event_type = 'scope_opened'", scope)


@law(SCOPE, "recovery.record_scope_moves", "update")
def the_end_of_a_scope_is_recorded(tx: Transaction) -> None:
    """Whatever ended it."""
    for status in ("exhausted", "expired", "revoked"):
        told = "select from recovery.provenance where scope_id = %s and event_type = %s and to_status = %s"
        seen(tx, told, scope_in(tx, status), f"scope_{status}", status)


TOLD = "select from recoup.control_log where subject = 'recovery.task' and key = %s and event_type = %s"


@law(TASK, "recoup.record_control", "insert")
def a_task_is_on_record(tx: Transaction) -> None:
    """Whom it asks, and until when."""
    seen(tx, TOLD + " and facts ->> 'owner' = 'operations'", str(task_in(tx, "open")), "BIRTH")


@law(TASK, "recoup.record_control", "update")
def the_end_of_a_task_is_on_record(tx: Transaction) -> None:
    """By whom."""
    seen(tx, TOLD + " and facts ? 'ended_by'", str(task_in(tx, "done")), "MOVE")


@law(CONFIG, "recoup.record_control", "insert")
def a_version_of_a_key_is_on_record(tx: Transaction) -> None:
    """By whom, and for which candidate."""
    config_in(tx, "set")
    seen(tx, "select from recoup.control_log where subject = 'recovery.config' and event_type = 'BIRTH'")


@law(CONFIG, "recovery.rule_config", "insert")
def a_version_of_a_key_is_the_next_one(tx: Transaction) -> None:
    """Set now, by whoever acts."""
    for version, by, at in ((3, "recoup.acting_id()", NOW), (1, "'eve'", NOW), (1, "recoup.acting_id()", LATER)):
        row = (
            "insert into recovery.config (key, version, value, set_by, reason, set_at)"
            f" values ('k', {version}, '1', {by}, 'r', {at})"
        )
        refused(tx, row, who=OPERATOR, by="recovery.rule_config", sqlstate="RC097")


SWITCHED = "select from recoup.control_log where subject = 'recovery.breaker' and key = %s and event_type = %s"


@law(BREAKER, "recoup.record_control", "insert")
def a_breaker_that_is_opened_is_on_record(tx: Transaction) -> None:
    """With what depends on it, and until when."""
    seen(tx, SWITCHED + " and facts ?& '{parts,open_until}'", circuits.breaker_in(tx, "open"), "BIRTH")


@law(BREAKER, "recoup.record_control", "update")
def a_breaker_that_is_closed_is_on_record(tx: Transaction) -> None:
    """By whom."""
    seen(tx, SWITCHED + " and facts ? 'closed_by'", circuits.breaker_in(tx, "closed"), "MOVE")


@law(BREAKER, "recovery.rule_breakers", "insert")
def a_breaker_is_opened_as_the_policy_has_it(tx: Transaction) -> None:
    """Not for longer."""
    born = circuits.BORN.format(status="open", more="", values="").replace("b.wait_s, b.max", "b.wait_s + 1, b.max")
    refused(tx, f"insert into {BREAKER} {born}", who=OPERATOR, by="recovery.rule_breakers", sqlstate="RC090")


@law(BREAKER, "recovery.rule_breakers", "update")
def a_breaker_follows_the_unit_that_tries_it(tx: Transaction) -> None:
    """Nobody closes it while that one runs."""
    circuits.tried(tx)
    closed = circuits.CLOSED.format("'probe'")
    close = f"update {BREAKER} set {closed} from {WITH_TIME} where status = 'half_open'"
    refused(tx, close, who=EVALUATOR, by="recovery.rule_breakers", sqlstate="RC090")


@law(BREAKER, "recoup.wake", "update", commits=True)
def a_breaker_that_closes_wakes_the_workers(connection: Transaction) -> None:
    """They may claim again."""
    with connection.transaction():
        circuits.opened(connection, "sleepers")

    def closed(tx: Transaction) -> None:
        with acting(tx, OPERATOR):
            breakers.close_breaker(tx, "sleepers")

    woken(connection, closed)


# Rules ----------------------------------------------------------------------------------------------------------------

WITH_TIME = "(select recoup.now() as now_) t"


@law(INCIDENT, "recoup.rule_times", "insert")
def no_incident_is_opened_tomorrow(tx: Transaction) -> None:
    """An incident is opened now."""
    row = f"insert into recovery.incident (source, error_signature, opened_at) values ('s', 's', {LATER})"
    refused(tx, row, who=MATCHER, by="recoup.rule_times", sqlstate="RC026", words="incident")


@law(INCIDENT, "recovery.rule_incidents", "update")
def an_incident_with_an_open_match_stays_open(tx: Transaction) -> None:
    """And for a while after its last match came."""
    close = "update recovery.incident set status = 'closed', closed_at = recoup.now() where incident_id = %s"
    for match in (new_match(tx).match_id, match_in(tx, "recovered")):
        found = tx.execute("select incident_id from recovery.failure_match where failure_match_id = %s", (match,))
        refused(tx, close, found.fetchone(), who=EVALUATOR, by="recovery.rule_incidents", sqlstate="RC085")


MATCH_ROW = (
    "insert into recovery.failure_match (incident_id, source, idempotency_key, subject_kind, subject_ref,"
    " error_message, error_signature, category, digest, evaluate_at, match_until, policy_version, created_at,"
    " updated_at)"
    " select %(incident)s::uuid, 's', gen_random_uuid()::text, 'outside', 'r', 'm', 's', 'TRANSIENT', sha256(''),"
    " now_ + %(wait)s::interval, now_ + interval '1 day', 1, now_ + %(age)s::interval, now_"
    f" from {WITH_TIME}"
)


@law(MATCH, "recovery.rule_match_births", "insert")
def a_match_is_made_now_in_an_open_incident(tx: Transaction) -> None:
    """And is evaluated at once."""
    rule = "recovery.rule_match_births"
    known = new_match(tx).incident_id
    for incident, wait, age in (
        (None, "0", "0"), (known, "0", "-1 day"), (known, "0", "1 hour"), (known, "1 hour", "0"),
    ):  # fmt: skip
        given = {"incident": incident or "00000000-0000-0000-0000-000000000000", "wait": wait, "age": age}
        refused(tx, MATCH_ROW, given, who=MATCHER, by=rule, sqlstate="RC085")


@law(MATCH, "recovery.rule_match_moves", "update")
def a_match_ends_now_and_says_why(tx: Transaction) -> None:
    """A match that is open always has a next evaluation; and whoever reports an end is who acts."""
    match = new_match(tx).match_id
    for who, changed in (
        (EVALUATOR, "status = 'accepted', ended_at = recoup.now()"),
        (EVALUATOR, "status = 'accepted', end_reason = 'x', ended_at = recoup.now() - interval '1 day'"),
        (EVALUATOR, "evaluate_at = recoup.now() + interval '900 days'"),
        (OPERATOR, "reported_end = 'recovered', reported_by = 'somebody else'"),
    ):
        move = f"update recovery.failure_match set {changed} where failure_match_id = %s"
        refused(tx, move, (match,), who=who, by="recovery.rule_match_moves", sqlstate="RC085")


@law(MATCH, "recovery.rule_match_moves", "update")
def a_match_does_not_end_before_its_candidate(tx: Transaction) -> None:
    """Nobody evaluates it any more: the candidate would be open for ever."""
    candidate = ready(tx)
    move = (
        "update recovery.failure_match m set status = 'recovered', end_reason = 'x', ended_at = t, recovered_at = t"
        " from recoup.now() t, recovery.candidate c"
        " where c.candidate_id = %s and m.failure_match_id = c.failure_match_id"
    )
    by = "recovery.rule_match_moves"
    refused(tx, move, (candidate,), who=EVALUATOR, by=by, sqlstate="RC085", words="has an open candidate")


@law(EVALUATION, "recovery.rule_evaluations", "insert")
def an_evaluation_is_the_next_one(tx: Transaction) -> None:
    """Of a match that is open."""
    row, rule = f"insert into recovery.evaluation {EVALUATION_ROW}", "recovery.rule_evaluations"
    for match, number in ((new_match(tx).match_id, 2), (match_in(tx, "accepted"), 1)):
        refused(tx, row, {"match": match, "number": number}, who=RULES, by=rule, sqlstate="RC085")


@law(CANDIDATE, "recovery.rule_candidate_births", "insert")
def a_candidate_is_of_an_open_match(tx: Transaction) -> None:
    """Not of one that has ended, and with a time for its decision."""
    row, rule = f"insert into recovery.candidate {BORN}", "recovery.rule_candidate_births"
    given = {"proposer": None, "action": RETRY}
    for status in ("recovered", "accepted", "unrecovered"):
        refused(tx, row, {**given, "match": match_in(tx, status)}, who=MATCHER, by=rule, sqlstate="RC085")
    late = row.replace("interval '3 days'", "interval '-1 days'")
    refused(tx, late, {**given, "match": new_match(tx).match_id}, who=MATCHER, by=rule, sqlstate="RC085")


@law(CANDIDATE, "recovery.rule_candidate_births", "insert")
def a_candidate_of_an_error_that_is_gone_is_not_born(tx: Transaction) -> None:
    """There is nothing to recover."""
    ref = subject_of(tx, "error")
    match = new_match(tx, "error", ref=ref).match_id
    decide_error(tx, int(ref.rpartition("/")[2]), f"archived_at = now_, archive_reason = 'MANUAL', {REVIEWED}")
    given = {"match": match, "proposer": None, "action": RETRY}
    by = "recovery.hold_errors(text[])"
    refused(tx, f"insert into recovery.candidate {BORN}", given, who=MATCHER, by=by, sqlstate="RC086")


@law(SCOPE, "recovery.rule_scope_births", "insert")
def a_scope_is_opened_as_the_policy_allows(tx: Transaction) -> None:
    """For an open incident, with known actions, of which no other scope has any, and not for ever."""
    rule, row = "recovery.rule_scope_births", f"insert into recovery.scope {SCOPE_ROW}"
    taken, free = new_match(tx), new_match(tx)
    new_scope(tx, taken.incident_id)
    given = {"incident": free.incident_id, "actions": [RETRY], "attempts": 1, "cost": 100, "ttl": 60}
    for changed, words in (
        ({"incident": taken.incident_id}, "already allows"),
        ({"incident": taken.match_id}, "The incident is unknown"),
        ({"actions": [RETRY, "pray"]}, "no action pray"),
        ({"ttl": 604_801}, "604800 seconds at most"),
    ):
        refused(tx, row, {**given, **changed}, who=SCOPES, by=rule, sqlstate="RC087", words=words)
    cheap = row.replace("(select min(", "(select 7 * min(")
    refused(tx, cheap, given, who=SCOPES, by=rule, sqlstate="RC087", words="least cost")


@law(TASK, "recovery.rule_tasks", "update")
def a_task_is_ended_by_whoever_acts(tx: Transaction) -> None:
    """And now."""
    task = task_in(tx, "open")
    for who, at in (("'somebody else'", NOW), ("recoup.acting_id()", "recoup.now() - interval '1 day'")):
        end = f"update recovery.task set status = 'done', ended_by = {who}, ended_at = {at} where task_id = %s"
        refused(tx, end, (task,), who=OPERATOR, by="recovery.rule_tasks", sqlstate="RC088")


MOVED = "recovery.guard_candidate_moves"
MOVE = f"update recovery.candidate set {{}} from {WITH_TIME} where candidate_id = %s"


@law(CANDIDATE, MOVED, "update")
def a_candidate_starts_through_its_gates(tx: Transaction) -> None:
    """Without a person only what all gates allow."""
    candidate = ready(tx)
    change(tx, EVALUATOR, candidate, "held_for_review = true")
    with quiet(tx, CANDIDATE, but=MOVED):
        pass
    refused(tx, MOVE.format(START), (candidate,), who=CLAIMS, by=MOVED, sqlstate="RC081")


@law(SCOPE, "recovery.guard_scope_moves", "update")
def a_scope_does_not_expire_early(tx: Transaction) -> None:
    """Its time has to be over."""
    scope = scope_in(tx, "active")
    with quiet(tx, SCOPE, but="recovery.guard_scope_moves"):
        pass
    early = "update recovery.scope set status = 'expired', ended_at = recoup.now() where scope_id = %s"
    refused(tx, early, (scope,), who=SCOPES, by="recovery.guard_scope_moves", sqlstate="RC087")


SETTLED = "recovery.settle_candidates"


@law(CANDIDATE, SETTLED, "update")
def a_start_spends_its_scope_under_a_lease(tx: Transaction) -> None:
    """One attempt, its cost, and until when it is held."""
    candidate = start(tx, ready(tx))
    spent = "join recovery.scope s on s.scope_id = c.scope_id and s.attempts_used = 1 and s.cost_used = c.cost"
    held = "join recovery.lease l on l.token = c.token and c.candidate_id = any(l.candidates)"
    seen(tx, f"select from recovery.candidate c {spent} {held} where c.candidate_id = %s", candidate)


@law(CANDIDATE, SETTLED, "update")
def nothing_starts_within_a_scope_that_ended(tx: Transaction) -> None:
    """Nor is it approved."""
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id)
    candidate = ready(tx, match, scope=scope)
    end_scope(tx, scope, "revoked")
    by = "recovery.refuse_spending(uuid[],timestamp with time zone)"
    refused(tx, MOVE.format(START), (candidate,), who=CLAIMS, by=by, sqlstate="RC089", words="revoked")


@law(LEASE, "recovery.guard_leases", "delete")
def a_lease_that_has_not_expired_stays(tx: Transaction) -> None:
    """The evaluator removes expired ones only."""
    candidate = start(tx, ready(tx))
    gone = "delete from recovery.lease where token = (select token from recovery.candidate where candidate_id = %s)"
    with acting(tx, EVALUATOR):
        refused(tx, gone, (candidate,), who=EVALUATOR, by="recovery.guard_leases", sqlstate="RC012")


@law(EXPERIENCE, GUARDED, "update")
def a_count_does_not_fall(tx: Transaction) -> None:
    """Not even for the matcher: neither successes nor failures are taken back."""
    with acting(tx, MATCHER):
        tx.execute("insert into recovery.experience values ('a', 's', '', '2026-01-01', 2, 5)")
        tx.execute("update recovery.experience set succeeded = 3, ended = 6 where action_name = 'a'")
    for change_ in ("succeeded = 2", "ended = 5", "succeeded = 4"):
        refused(
            tx, f"update recovery.experience set {change_} where action_name = 'a'", who=MATCHER, by=GUARDED,
            sqlstate="RC012",
        )  # fmt: skip
