"""One probe or more for every guard: the situation, what must be refused or must happen, and by whose doing.

Checks, keys and references are tried with a row that breaks one of them and nothing else (tests/laws/rows.py), and with
the triggers of the table off. Triggers are tried in the situations they are for, by the authority that may come into
them; where several stand behind one another, the others are off.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from company import (
    acting,
    advance,
    attempt_and,
    attempt_in,
    batch_in,
    failed_intake,
    intake_in,
    minted,
    new_batch,
    new_intake,
    open_attempt,
)
from laws.probing import (
    PROBES,
    check,
    declared,
    key,
    law,
    quiet,
    recorded_as_declared,
    reference,
    refused,
    seen,
    unreplicated,
    untouchable,
    woken,
)
from laws.rows import ID, LATER, NOW, a_worker, insertion, put
from product import LIFECYCLES, LOGS
from recoup import clock, gate
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode

__all__ = ["PROBES"]

GATE, HUB, OPERATOR, RUNNER = Authority.GATE, Authority.HUB, Authority.OPERATOR, Authority.RUNNER
ORPHANS, MINT = Authority.ORPHAN_RECOVERY, Authority.MINT
TIMEOUT = ReasonCode.TIMEOUT
INFINITE = "'infinity'"

# What many tables have ----------------------------------------------------------------------------------------------

declared(LIFECYCLES, [log for log in LOGS if log.table != "recoup.error_archive"])  # its own probes: it has parts
untouchable("recoup.seal", "recoup.only_sealers", "RC010", "insert", "No seal is written by hand.")
unreplicated("recoup.error_archive", "recoup.queue_form", "recoup.duty_tally", "recoup.subscription")
unreplicated("recoup.migration", "recoup.routine")
untouchable("recoup.declaration_log", "recoup.only_declared", "RC010", "insert", "Nor is what is declared.")
check("recoup.declaration_log", "declaration_log_logged_at_check", "Times are times.", logged_at=INFINITE)
check("recoup.declaration_log", "declaration_log_event_type_check", "It comes or goes.", event_type="'MOVED'")
key("recoup.declaration_log", "declaration_log_pkey", "One order.", "seq")
for written in ("domain", "lifecycle", "lifecycle_step", "follower", "log", "pausable", "policy_bound"):
    unreplicated(f"recoup.{written}")
    recorded_as_declared(f"recoup.{written}")
    for change in ("insert", "update", "delete", "truncate"):
        untouchable(
            f"recoup.{written}", "recoup.only_migrations", "RC013", change, "A declaration is changed by migrations."
        )


# Gate Zero: batches -------------------------------------------------------------------------------------------------

BATCH = "cl.gate_zero_batch"
COMPLETED = {"completed_at": NOW, "batch_freeze_at": LATER, "policy_version": "1"}

key(BATCH, "gate_zero_batch_pkey", "A name is given to one batch.", "batch_id")
check(BATCH, "gate_zero_batch_batch_id_check", "A batch has a name.", batch_id="''")
check(BATCH, "gate_zero_batch_batch_id_check", "Not an endless one.", batch_id="repeat('x', 501)")
check(BATCH, "gate_zero_batch_imported_at_check", "Times are times.", imported_at=INFINITE)
check(BATCH, "gate_zero_batch_completed_at_check", "Times are times.", **COMPLETED | {"completed_at": "'-infinity'"})
check(BATCH, "gate_zero_batch_batch_freeze_at_check", "A window ends.", **COMPLETED | {"batch_freeze_at": INFINITE})
check(BATCH, "gate_zero_batch_frozen_at_check", "Times are times.", **COMPLETED, frozen_at=INFINITE)
check(BATCH, "gate_zero_batch_paused_at_check", "Times are times.",
      paused_at=INFINITE, paused_by="'x'", pause_reason="'y'")  # fmt: skip
check(BATCH, "gate_zero_batch_check", "A completed batch has a window.", completed_at=NOW, policy_version="1")
check(BATCH, "gate_zero_batch_check", "No window without a completion.", batch_freeze_at=NOW)
check(BATCH, "gate_zero_batch_check1", "A window has a length.", **COMPLETED | {"batch_freeze_at": NOW})
check(BATCH, "gate_zero_batch_check2", "No freeze before the window's end.", **COMPLETED, frozen_at=NOW)
check(BATCH, "gate_zero_batch_check3", "A pause has somebody who wants it.", paused_at=NOW, pause_reason="'y'")
check(BATCH, "gate_zero_batch_check3", "A pause has a reason.", paused_at=NOW, paused_by="'x'")
check(BATCH, "gate_zero_batch_check3", "A reason has a pause.", pause_reason="'y'")
check(BATCH, "gate_zero_batch_policy_check", "A window names its policy.", completed_at=NOW, batch_freeze_at=LATER)
check(BATCH, "gate_zero_batch_policy_check", "Where there is no window, no policy made it.", policy_version="1")


@law(BATCH, "recoup.rule_times", "insert")
def no_batch_is_imported_tomorrow(tx: Transaction) -> None:
    """No batch is born in the future."""
    statement = f"insert into cl.gate_zero_batch (batch_id, imported_at) values ({ID}::text, {LATER})"
    refused(tx, statement, who=HUB, by="recoup.rule_times", sqlstate="RC026", words="gate_zero_batch")


@law(BATCH, "cl.rule_batch_moves", "update")
def a_window_is_as_long_as_the_policy_says(tx: Transaction) -> None:
    """A batch is not completed with a window of one's own length."""
    shorter = (
        "update cl.gate_zero_batch set completed_at = recoup.now(), policy_version = recoup.policy_version(),"
        " batch_freeze_at = recoup.now() + interval '1 hour' where batch_id = %s"
    )
    refused(tx, shorter, (new_batch(tx),), who=HUB, by="cl.rule_batch_moves", sqlstate="RC023")


@law(BATCH, "cl.rule_batch_moves", "update")
def no_batch_is_frozen_early(tx: Transaction) -> None:
    """The window is not closed before its end."""
    batch = batch_in(tx, "COMPLETED")
    tx.execute(
        "alter table cl.gate_zero_batch drop constraint if exists gate_zero_batch_check2"
    )  # it would answer first
    early = "update cl.gate_zero_batch set frozen_at = recoup.now() where batch_id = %s"
    refused(tx, early, (batch,), who=GATE, by="cl.rule_batch_moves", sqlstate="RC023")


@law(BATCH, "cl.record_batch_moves", "update")
def pausing_a_batch_is_logged(tx: Transaction) -> None:
    """PAUSE and RESUME are in the pause log, with who and why."""
    batch = new_batch(tx)
    logged = "select from recoup.pause_log where scope = 'batch' and scope_id = %s and event_type = %s"
    with acting(tx, OPERATOR):
        gate.pause_batch(tx, batch, reason="look")
    seen(tx, logged + " and reason = 'look' and authority = 'recoup_operator'", batch, "PAUSE")
    with acting(tx, OPERATOR):
        gate.resume_batch(tx, batch)
    seen(tx, logged, batch, "RESUME")


TOLD = "select from recoup.control_log where subject = %s and key = %s and event_type = %s"


@law(BATCH, "recoup.record_control", "insert")
def the_birth_of_a_batch_is_logged(tx: Transaction) -> None:
    """BIRTH is in the control log."""
    seen(tx, TOLD + " and to_status = 'OPEN'", BATCH, new_batch(tx), "BIRTH")


@law(BATCH, "recoup.record_control", "update")
def the_moves_of_a_batch_are_logged(tx: Transaction) -> None:
    """MOVE is in the control log, from and to."""
    batch = batch_in(tx, "FROZEN")
    seen(tx, TOLD + " and (from_status, to_status) = ('OPEN', 'COMPLETED')", BATCH, batch, "MOVE")
    seen(tx, TOLD + " and (from_status, to_status) = ('COMPLETED', 'FROZEN')", BATCH, batch, "MOVE")


# Gate Zero: intakes -------------------------------------------------------------------------------------------------

INTAKE = "cl.gate_zero_intake"

key(INTAKE, "gate_zero_intake_pkey", "An id is one intake's.", "intake_id")
key(INTAKE, "gate_zero_intake_reentered_from_key", "An intake re-enters once.", "reentered_from",
    first={"status": "'AUTHORIZED'", "reentered_from": new_intake},
    then={"status": "'AUTHORIZED'"})  # fmt: skip
key(INTAKE, "gate_zero_intake_retry_of", "An exhausted intake is restarted once.", "retry_of",
    first={"retry_of": new_intake})  # fmt: skip
reference(INTAKE, "batch_id", BATCH, "An intake's batch exists.", nobody="'nobody'")
reference(INTAKE, "retry_of", INTAKE, "What is restarted exists.")
reference(INTAKE, "reentered_from", INTAKE, "What re-entered exists.", status="'AUTHORIZED'")
check(INTAKE, "gate_zero_intake_company_name_check", "A company has a name.", company_name="''")
check(INTAKE, "gate_zero_intake_status_check", "A status is a listed one.", status="'LOST'")
check(INTAKE, "gate_zero_intake_created_at_check", "Times are times.", created_at=INFINITE)
check(INTAKE, "gate_zero_intake_updated_at_check", "Times are times.", updated_at=INFINITE)
check(INTAKE, "gate_zero_intake_check", "What re-entered is authorised, and nothing else for ever.",
      reentered_from=new_intake)  # fmt: skip
SELF = "'00000000-0000-4000-8000-000000000001'"
check(INTAKE, "gate_zero_intake_check1", "No intake is its own second life.", intake_id=SELF, retry_of=SELF)
check(INTAKE, "gate_zero_intake_check1", "No intake re-enters from itself.",
      intake_id=SELF, reentered_from=SELF, status="'AUTHORIZED'")  # fmt: skip


@law(INTAKE, "recoup.rule_times", "insert")
def no_intake_came_in_tomorrow(tx: Transaction) -> None:
    """No intake is born in the future."""
    for column in ("created_at", "updated_at"):
        statement = f"insert into cl.gate_zero_intake (company_name, {column}) values ('x', {LATER})"
        refused(tx, statement, who=HUB, by="recoup.rule_times", sqlstate="RC026", words="gate_zero_intake")


RESTART = "insert into cl.gate_zero_intake (company_name, retry_of, created_at) values ('x', %s, {at})"


@law(INTAKE, "cl.rule_intake_births", "insert")
def a_restart_follows_an_exhausted_intake(tx: Transaction) -> None:
    """What may still recover, or has, is not restarted; nor is anything before it was exhausted."""
    waiting, spent = failed_intake(tx), failed_intake(tx, times=3)
    refused(tx, RESTART.format(at=NOW), (waiting,), who=OPERATOR, by="cl.rule_intake_births", sqlstate="RC042")
    refused(
        tx, RESTART.format(at=NOW), (spent,), who=HUB, by="cl.rule_intake_births", sqlstate="RC042", words="restart"
    )
    earlier = RESTART.format(at="recoup.now() - interval '1 day'")
    refused(tx, earlier, (spent,), who=OPERATOR, by="cl.rule_intake_births", sqlstate="RC026", words="restart")


@law(INTAKE, "cl.record_restarts", "insert")
def a_restart_is_logged(tx: Transaction) -> None:
    """BIRTH is in the control log, with who and why; that a candidate came in is not."""
    spent = failed_intake(tx, times=3)
    tx.execute("select set_config('recoup.reason', 'they moved', true)")
    with acting(tx, OPERATOR):
        started = gate.restart(tx, spent)
    told = " and reason = 'they moved' and authority = 'recoup_operator' and facts ->> 'retry_of' = %s"
    seen(tx, TOLD + told, INTAKE, str(started), "BIRTH", str(spent))
    assert tx.execute(TOLD, (INTAKE, str(spent), "BIRTH")).rowcount == 0


BORN, MOVED = "cl.guard_gate_zero_intake_births", "cl.guard_gate_zero_intake_moves"


@law(INTAKE, BORN, "insert")
def an_operator_makes_no_intake_but_a_restart(tx: Transaction) -> None:
    """Candidates come from hubs."""
    statement = "insert into cl.gate_zero_intake (company_name) values ('x')"
    refused(tx, statement, who=OPERATOR, by=BORN, sqlstate="RC001", words="without retry_of")


@law(INTAKE, BORN, "insert")
def no_intake_is_born_authorized_by_hand(tx: Transaction) -> None:
    """Re-entry follows from a passed retry. Not even the gate makes it."""
    statement = insertion(tx, INTAKE, {"status": "'AUTHORIZED'", "reentered_from": new_intake})
    refused(tx, statement, who=GATE, by=BORN, sqlstate="RC012", words=INTAKE)


@law(INTAKE, MOVED, "update")
def no_intake_is_decided_by_hand(tx: Transaction) -> None:
    """An intake is decided by its attempts. Not even the gate decides it otherwise."""
    decide = "update cl.gate_zero_intake set status = 'AUTHORIZED' where intake_id = %s"
    refused(tx, decide, (new_intake(tx),), who=GATE, by=MOVED, sqlstate="RC012", words=INTAKE)


# Gate Zero: attempts ------------------------------------------------------------------------------------------------

ATTEMPT = "cl.gate_zero_attempt"
ENDED = {"status": "'failed'", "reason_code": "'TIMEOUT'", "finished_at": LATER}
PASSED = {"status": "'passed'", "finished_at": LATER}

key(ATTEMPT, "gate_zero_attempt_pkey", "An id is one attempt's.", "attempt_id")
key(ATTEMPT, "gate_zero_attempt_intake_id_attempt_number_key", "A number is one attempt's.", "intake_id",
    "attempt_number", first=ENDED)  # fmt: skip
key(ATTEMPT, "gate_zero_attempt_one_open", "One intake is not verified twice at once.", "intake_id",
    then={"attempt_number": "2"})  # fmt: skip
check(ATTEMPT, "gate_zero_attempt_attempt_number_check", "There is no fourth attempt.", attempt_number="4")
check(ATTEMPT, "gate_zero_attempt_attempt_number_check", "There is none before the first.", attempt_number="0")
check(ATTEMPT, "gate_zero_attempt_status_check", "A status is a listed one.", status="'lost'", finished_at=LATER)
check(ATTEMPT, "gate_zero_attempt_reason_code_check", "A reason is a listed one.", **ENDED | {"reason_code": "'RAIN'"})
check(ATTEMPT, "gate_zero_attempt_worker_check", "A worker has a name.", worker="''")
check(ATTEMPT, "gate_zero_attempt_opened_at_check", "Times are times.", opened_at="'-infinity'")
check(ATTEMPT, "gate_zero_attempt_lease_until_check", "A lease ends.", lease_until=INFINITE)
check(ATTEMPT, "gate_zero_attempt_finished_at_check", "Times are times.", **ENDED | {"finished_at": INFINITE})
check(ATTEMPT, "gate_zero_attempt_check", "A lease has a length.", lease_until=NOW)
check(ATTEMPT, "gate_zero_attempt_check1", "An attempt ends after it began.", **ENDED | {"finished_at": NOW})
check(ATTEMPT, "gate_zero_attempt_check2", "What is open has not ended.", finished_at=LATER)
check(ATTEMPT, "gate_zero_attempt_check2", "What has ended did so at a time.", status="'passed'")
check(ATTEMPT, "gate_zero_attempt_check3", "A failure has a reason.", status="'failed'", finished_at=LATER)
check(ATTEMPT, "gate_zero_attempt_check3", "A success has none.", **PASSED, reason_code="'TIMEOUT'")
check(ATTEMPT, "gate_zero_attempt_check4", "What crashed timed out.",
      status="'crashed'", reason_code="'STATE_MISSING'", finished_at=LATER)  # fmt: skip
check(ATTEMPT, "gate_zero_attempt_check5", "A passed retry makes an intake.", **PASSED, attempt_number="2")
check(ATTEMPT, "gate_zero_attempt_check5", "A first attempt makes none.", **PASSED, reentered_as=ID)
check(ATTEMPT, "gate_zero_attempt_check5", "A failure makes none.", **ENDED, attempt_number="2", reentered_as=ID)

OPEN = (
    "insert into cl.gate_zero_attempt (intake_id, batch_id, attempt_number, worker, opened_at, lease_until)"
    " select i.intake_id, i.batch_id, %s, 'w', recoup.now(), recoup.now() + interval '1 minute'"
    " from cl.gate_zero_intake i where i.intake_id = %s"
)


@law(ATTEMPT, "cl.rule_attempt_births", "insert")
def the_throttle_is_not_shortened(tx: Transaction) -> None:
    """No retry before next_eligible_at."""
    intake = failed_intake(tx)
    advance(tx, timedelta(hours=23))
    refused(tx, OPEN, (2, intake), who=GATE, by="cl.rule_attempt_births", sqlstate="RC020")


@law(ATTEMPT, "cl.rule_attempt_births", "insert")
def a_paused_batch_is_not_retried(tx: Transaction) -> None:
    """The kill switch stops retries at once."""
    batch = new_batch(tx)
    intake = failed_intake(tx, batch_id=batch)
    advance(tx, timedelta(days=1))
    with acting(tx, OPERATOR):
        gate.pause_batch(tx, batch, reason="look")
    refused(tx, OPEN, (2, intake), who=GATE, by="cl.rule_attempt_births", sqlstate="RC024")


@law(ATTEMPT, "cl.rule_attempt_births", "insert")
def what_is_decided_is_not_tried_again(tx: Transaction) -> None:
    """A first attempt needs an intake that waits for it."""
    intake = failed_intake(tx)
    advance(tx, timedelta(days=1))
    reentered = attempt_and(tx, intake, None).reentered_as
    refused(tx, OPEN, (1, reentered), who=GATE, by="cl.rule_attempt_births", sqlstate="RC025")


@law(ATTEMPT, "cl.rule_attempt_births", "insert")
def what_is_tried_exists(tx: Transaction) -> None:
    """No foreign key says so: the rule does, for first attempts and retries alike."""
    for number in ("1", "2"):
        statement = insertion(tx, ATTEMPT, {"intake_id": ID, "attempt_number": number})
        refused(tx, statement, who=GATE, by="cl.rule_attempt_births", sqlstate="RC025")


ATTEMPT_MOVED = "cl.guard_gate_zero_attempt_moves"


def to_be_ended(tx: Transaction) -> UUID:
    """An open attempt. Of its table's triggers the guard is left: what follows an end would answer in its place."""
    attempt = open_attempt(tx, new_intake(tx))
    with quiet(tx, ATTEMPT, but=ATTEMPT_MOVED):
        return attempt.attempt_id


@law(ATTEMPT, ATTEMPT_MOVED, "update")
def an_attempt_ends_now(tx: Transaction) -> None:
    """Not at a time that suits."""
    attempt = to_be_ended(tx)
    advance(tx, timedelta(hours=1))
    earlier = (
        "update cl.gate_zero_attempt set status = 'passed', ended_with = token,"
        " finished_at = opened_at + interval '1 second' where attempt_id = %s"
    )
    refused(tx, earlier, (attempt,), who=GATE, by=ATTEMPT_MOVED, sqlstate="RC026")


@law(ATTEMPT, ATTEMPT_MOVED, "update")
def an_attempt_is_ended_with_its_token(tx: Transaction) -> None:
    """Whoever writes: without it, or with another, nothing ends."""
    attempt = to_be_ended(tx)
    for token in ("null", "gen_random_uuid()"):
        ended = (
            f"update cl.gate_zero_attempt set status = 'passed', ended_with = {token},"
            " finished_at = greatest(recoup.now(), opened_at + interval '1 microsecond') where attempt_id = %s"
        )
        refused(tx, ended, (attempt,), who=GATE, by=ATTEMPT_MOVED, sqlstate="RC055")


@law(ATTEMPT, ATTEMPT_MOVED, "update")
def an_attempt_under_its_lease_has_not_crashed(tx: Transaction) -> None:
    """A worker is not declared dead before its lease has lapsed."""
    attempt = to_be_ended(tx)
    crash = (
        "update cl.gate_zero_attempt set status = 'crashed', reason_code = 'TIMEOUT',"
        " finished_at = opened_at + interval '1 microsecond' where attempt_id = %s"
    )
    refused(tx, crash, (attempt,), who=GATE, by=ATTEMPT_MOVED, sqlstate="RC030")


@law(ATTEMPT, ATTEMPT_MOVED, "update")
def an_outcome_points_at_evidence_that_is_recorded(tx: Transaction) -> None:
    """A payload_ref evidence:… is the attempt's own, and its evidence is recorded."""
    attempt = to_be_ended(tx)
    for pointer in (f"evidence:{attempt}", "evidence:1"):
        ended = (
            "update cl.gate_zero_attempt set status = 'passed', ended_with = token, payload_ref = %s,"
            " finished_at = greatest(recoup.now(), opened_at + interval '1 microsecond') where attempt_id = %s"
        )
        refused(tx, ended, (pointer, attempt), who=GATE, by=ATTEMPT_MOVED, sqlstate="RC067")


SAID = "select from cl.gate_zero_air where entity_id = %s and (event_type, reason_code) = (%s, %s)"


@law(ATTEMPT, "cl.record_attempt_births", "insert")
def opening_an_attempt_is_logged(tx: Transaction) -> None:
    """ATTEMPT is in the AIR log before anything is checked."""
    intake = new_intake(tx)
    open_attempt(tx, intake)
    seen(tx, SAID, intake, "ATTEMPT", "START")


@law(ATTEMPT, "cl.record_attempt_moves", "update")
def the_outcome_of_an_attempt_is_logged(tx: Transaction) -> None:
    """PASS and AUTH, or FAIL with its reason, are in the AIR log."""
    passed, failed = new_intake(tx), new_intake(tx)
    attempt_and(tx, passed, None)
    attempt_and(tx, failed, ReasonCode.STATE_MISMATCH)
    seen(tx, SAID, passed, "PASS", "CHECKS_PASSED")
    seen(tx, SAID, passed, "AUTH", "EXISTENCE_CONFIRMED")
    seen(tx, SAID, failed, "FAIL", "STATE_MISMATCH")


@law(ATTEMPT, "cl.settle_attempts", "update")
def the_end_of_an_attempt_has_its_consequences(tx: Transaction) -> None:
    """The intake is decided, and a failed one gets its second chance."""
    passed, failed = new_intake(tx), new_intake(tx)
    attempt_and(tx, passed, None)
    attempt_and(tx, failed, TIMEOUT)
    seen(tx, "select from cl.gate_zero_intake where intake_id = %s and status = 'AUTHORIZED'", passed)
    seen(tx, "select from cl.gate_zero_intake where intake_id = %s and status = 'FAILED'", failed)
    seen(tx, "select from cl.gate_zero_recovery where intake_id = %s and status = 'ACTIVE'", failed)


# Gate Zero: evidence -------------------------------------------------------------------------------------------------

EVIDENCE = "cl.gate_zero_evidence"
LONG = "repeat('x', 4001)"

key(EVIDENCE, "gate_zero_evidence_pkey", "A number is one check's.", "attempt_id", "check_number")
check(EVIDENCE, "gate_zero_evidence_check_number_check", "Checks are counted from 1.", check_number="0")
check(EVIDENCE, "gate_zero_evidence_check_name_check", "A check has a name.", check_name="''")
check(EVIDENCE, "gate_zero_evidence_finding_check", "A check finds something.", finding="''")
check(EVIDENCE, "gate_zero_evidence_message_check", "A message has a maximum length.", message=LONG)
check(EVIDENCE, "gate_zero_evidence_duration_ms_check", "Nothing takes less than no time.", duration_ms="-1")
check(EVIDENCE, "gate_zero_evidence_recorded_at_check", "Times are times.", recorded_at=INFINITE)


@law(EVIDENCE, "cl.rule_evidence_births", "insert")
def evidence_is_recorded_while_its_attempt_is_open(tx: Transaction) -> None:
    """Neither for an attempt that does not exist or has ended, nor at another time than now."""
    ended, opened = attempt_in(tx, "failed"), attempt_in(tx, "open")
    record = insertion(tx, EVIDENCE, {})
    refused(tx, record, who=GATE, by="cl.rule_evidence_births", sqlstate="RC066", words="unknown")
    record = insertion(tx, EVIDENCE, {"attempt_id": f"'{ended}'"})
    refused(tx, record, who=GATE, by="cl.rule_evidence_births", sqlstate="RC066", words="failed")
    record = insertion(tx, EVIDENCE, {"attempt_id": f"'{opened}'", "recorded_at": LATER})
    refused(tx, record, who=GATE, by="cl.rule_evidence_births", sqlstate="RC026")


# Gate Zero: recoveries ----------------------------------------------------------------------------------------------

RECOVERY = "cl.gate_zero_recovery"
SPENT = {"status": "'EXHAUSTED'"}

key(RECOVERY, "gate_zero_recovery_pkey", "An id is one recovery's.", "recovery_id")
key(RECOVERY, "gate_zero_recovery_intake_id_key", "One intake, one recovery.", "intake_id")
check(RECOVERY, "gate_zero_recovery_failure_reason_check", "A reason is a listed one.", failure_reason="'RAIN'")
check(RECOVERY, "gate_zero_recovery_attempt_count_check", "Nobody has four attempts.", **SPENT, attempt_count="4")
check(RECOVERY, "gate_zero_recovery_attempt_count_check", "A failure was an attempt.", attempt_count="0")
check(RECOVERY, "gate_zero_recovery_next_eligible_at_check", "A wait ends.", next_eligible_at=INFINITE)
check(RECOVERY, "gate_zero_recovery_status_check", "A status is a listed one.", status="'LOST'")
check(RECOVERY, "gate_zero_recovery_created_at_check", "Times are times.", created_at=INFINITE)
check(RECOVERY, "gate_zero_recovery_updated_at_check", "Times are times.", updated_at=INFINITE)
check(RECOVERY, "gate_zero_recovery_check", "After three attempts nothing is active.", attempt_count="3")


@law(RECOVERY, "cl.guard_gate_zero_recovery_births", "insert")
def no_recovery_is_made_by_hand(tx: Transaction) -> None:
    """It is born of a failed attempt, and so of an intake that exists: no foreign key says that."""
    statement = insertion(tx, RECOVERY, {"intake_id": ID})
    refused(tx, statement, who=GATE, by="cl.guard_gate_zero_recovery_births", sqlstate="RC012", words=RECOVERY)


@law(RECOVERY, "cl.rule_recovery_moves", "update")
def exhausted_is_true(tx: Transaction) -> None:
    """Nothing is exhausted that has attempts left and an open window."""
    exhaust = "update cl.gate_zero_recovery set status = 'EXHAUSTED' where intake_id = %s"
    refused(tx, exhaust, (failed_intake(tx),), who=GATE, by="cl.rule_recovery_moves", sqlstate="RC028")


@law(RECOVERY, "cl.rule_recovery_moves", "update")
def nothing_is_exhausted_under_a_running_attempt(tx: Transaction) -> None:
    """It may still pass."""
    intake = failed_intake(tx)
    advance(tx, timedelta(days=1))
    open_attempt(tx, intake)
    exhaust = "update cl.gate_zero_recovery set status = 'EXHAUSTED' where intake_id = %s"
    refused(tx, exhaust, (intake,), who=GATE, by="cl.rule_recovery_moves", sqlstate="RC022")


@law(RECOVERY, "cl.record_recovery_moves", "update")
def exhaustion_is_logged(tx: Transaction) -> None:
    """EXHAUSTED is in the AIR log, with the reason that is true."""
    seen(tx, SAID, failed_intake(tx, times=3), "EXHAUSTED", "MAX_ATTEMPTS_REACHED")


@law(RECOVERY, "cl.settle_recoveries", "update")
def an_exhausted_recovery_exhausts_its_intake(tx: Transaction) -> None:
    """The intake says what its recovery says."""
    spent = failed_intake(tx, times=3)
    seen(tx, "select from cl.gate_zero_intake where intake_id = %s and status = 'EXHAUSTED'", spent)


# Gate Zero: the log -------------------------------------------------------------------------------------------------

AIR = "cl.gate_zero_air"

key(AIR, "gate_zero_air_pkey", "An id is one event's.", "air_event_id")
key(AIR, "gate_zero_air_seq_key", "A place in the order is one event's.", "seq")
key(AIR, "gate_zero_air_entity_id_event_timestamp_key", "The events of an intake have an order.", "entity_id",
    "event_timestamp")  # fmt: skip
check(AIR, "gate_zero_air_entity_type_check", "Gate Zero knows intakes.", entity_type="'company'")
check(AIR, "gate_zero_air_stage_id_check", "Gate Zero is one stage.", stage_id="'SOVEREIGN_MINT'")
check(AIR, "gate_zero_air_process_id_check", "Gate Zero is one process.", process_id="'MINT'")
check(AIR, "gate_zero_air_actor_check", "An actor is of a known kind.", actor="'robot'")
check(AIR, "gate_zero_air_event_timestamp_check", "Times are times.", event_timestamp=INFINITE)
check(AIR, "gate_zero_air_check", "Gate Zero mints nothing.", event_type="'MINT'", reason_code="'IDENTITY_MINTED'")
check(AIR, "gate_zero_air_check", "An event has a reason of its own.", reason_code="'CHECKS_PASSED'")


# The mint -----------------------------------------------------------------------------------------------------------

IDENTITY = "cl.company_identity"

key(IDENTITY, "company_identity_pkey", "An id is one company's.", "sovereign_company_id")
key(IDENTITY, "company_identity_intake_id_key", "An intake is minted once.", "intake_id")
reference(IDENTITY, "intake_id", INTAKE, "What was minted exists.")
check(IDENTITY, "company_identity_company_name_check", "A company has a name.", company_name="''")
check(IDENTITY, "company_identity_minted_at_check", "Times are times.", minted_at=INFINITE)

BY_HAND = (
    "insert into cl.company_identity (intake_id, company_name, company_domain, minted_at)"
    " select intake_id, {name}, {domain}, {at} from cl.gate_zero_intake where intake_id = %s"
)
AS_IT_IS = {"name": "company_name", "domain": "company_domain", "at": NOW}


@law(IDENTITY, "cl.rule_identity_births", "insert")
def nothing_is_minted_that_was_not_authorised(tx: Transaction) -> None:
    """Neither what waits, nor what failed, nor the original of what re-entered."""
    for status in ("PENDING", "FAILED", "EXHAUSTED", "REENTER_SUCCEEDED"):
        intake = (intake_in(tx, status),)
        refused(tx, BY_HAND.format(**AS_IT_IS), intake, who=MINT, by="cl.rule_identity_births", sqlstate="RC040")


@law(IDENTITY, "cl.rule_identity_births", "insert")
def authorisation_travels_by_air(tx: Transaction) -> None:
    """An intake that says it is authorised, and of which AIR says nothing, is not minted."""
    tx.execute("alter table cl.gate_zero_intake disable trigger user")
    forged = (put(tx, INTAKE, {"status": "'AUTHORIZED'"})["intake_id"],)
    refused(tx, BY_HAND.format(**AS_IT_IS), forged, who=MINT, by="cl.rule_identity_births", sqlstate="RC040")


@law(IDENTITY, "cl.rule_identity_births", "insert")
def an_identity_is_its_intakes_and_of_now(tx: Transaction) -> None:
    """Another name or domain than the intake's is refused, and so is another time than now."""
    intake = (intake_in(tx, "AUTHORIZED"),)
    for changed, sqlstate in (
        ({"name": "'Other'"}, "RC041"),
        ({"domain": "'other.example'"}, "RC041"),
        ({"at": LATER}, "RC026"),
        ({"at": "recoup.now() - interval '1 minute'"}, "RC026"),
    ):
        statement = BY_HAND.format(**AS_IT_IS | changed)
        refused(tx, statement, intake, who=MINT, by="cl.rule_identity_births", sqlstate=sqlstate)


@law(IDENTITY, "cl.record_identity_births", "insert")
def minting_is_logged(tx: Transaction) -> None:
    """MINT is in the AIR log of the mint, and names the identity."""
    intake = intake_in(tx, "AUTHORIZED")
    identity = minted(tx, of=intake)
    told = "select from cl.sovereign_mint_air where (entity_id, sovereign_company_id, payload_ref) = (%s, %s, %s)"
    seen(tx, told, intake, identity, f"company:{identity}")


MINTED = "cl.sovereign_mint_air"

key(MINTED, "sovereign_mint_air_pkey", "An id is one event's.", "air_event_id")
key(MINTED, "sovereign_mint_air_seq_key", "A place in the order is one event's.", "seq")
key(MINTED, "sovereign_mint_air_entity_id_key", "One intake is minted once.", "entity_id")
check(MINTED, "sovereign_mint_air_entity_type_check", "What is minted is an intake.", entity_type="'company'")
check(MINTED, "sovereign_mint_air_stage_id_check", "The mint is one stage.", stage_id="'GATE_ZERO'")
check(MINTED, "sovereign_mint_air_process_id_check", "The mint is one process.", process_id="'MINT'")
check(MINTED, "sovereign_mint_air_event_type_check", "The mint mints.", event_type="'AUTH'")
check(MINTED, "sovereign_mint_air_reason_code_check", "For one reason.", reason_code="'EXISTENCE_CONFIRMED'")
check(MINTED, "sovereign_mint_air_actor_check", "An actor is of a known kind.", actor="'robot'")
check(MINTED, "sovereign_mint_air_event_timestamp_check", "Times are times.", event_timestamp=INFINITE)


# The clock ----------------------------------------------------------------------------------------------------------

CLOCK = "recoup.clock"

key(CLOCK, "clock_pkey", "There is one clock.", "only_row")
check(CLOCK, "clock_only_row_check", "There is no other clock either.", only_row="false")
check(CLOCK, "clock_status_check", "A status is a listed one.", status="'stopped'")
check(CLOCK, "clock_at_check", "Times are times.", at=INFINITE)
check(CLOCK, "clock_at_check", "Times that every program can read.", at="timestamptz '290000-01-01'")
check(CLOCK, "clock_check", "A simulated clock stands somewhere.", at="null")
check(CLOCK, "clock_check", "A real clock stands nowhere.", status="'real'")
check(CLOCK, "clock_check1", "A released clock was released at a time.", status="'released'")
check(CLOCK, "clock_check1", "A simulated clock was not released.", released_at="now()")


@law(CLOCK, "recoup.record_control", "update")
def moving_the_clock_is_logged(tx: Transaction) -> None:
    """MOVE is in the control log, with where it stands."""
    advance(tx, timedelta(seconds=1))
    seen(tx, TOLD + " and (facts ->> 'at')::timestamptz = (select at from recoup.clock)", CLOCK, "t", "MOVE")


@law(CLOCK, "recoup.release_clock", "update")
def a_released_clock_is_the_servers(tx: Transaction) -> None:
    """After the release, time is the server's."""
    with acting(tx, OPERATOR):
        clock.release(tx)
    seen(tx, "select where abs(extract(epoch from clock_timestamp() - recoup.now())) < 60")


@law(CLOCK, "recoup.release_clock", "update")
def a_clock_ahead_is_not_released(tx: Transaction) -> None:
    """Time never runs backwards."""
    advance(tx, timedelta(days=36500))
    release = "update recoup.clock set status = 'released', released_at = clock_timestamp()"
    refused(tx, release, who=OPERATOR, by="recoup.release_clock", sqlstate="RC031")


# The declaration, the books, subscriptions --------------------------------------------------------------------------

STEP = "recoup.lifecycle_step"
NOBODY = "'nobody'"
for written in ("lifecycle", "lifecycle_step", "follower", "log", "pausable", "policy_bound"):
    reference(f"recoup.{written}", "domain", "recoup.domain", "Who declares it is there.", nobody=NOBODY)
CLAIMS = "recoup.claim_log"
key(CLAIMS, "claim_log_pkey", "A number is one claim's.", "seq")
check(CLAIMS, "claim_log_logged_at_check", "Times are times.", logged_at="'infinity'")
check(CLAIMS, "claim_log_lease_until_check", "A lease ends.", lease_until="'infinity'")
check(CLAIMS, "claim_log_units_check", "A claim is of something.", units="'{}'")
check(CLAIMS, "claim_log_actor_check", "An actor is a listed one.", actor="'ghost'")

key("recoup.domain", "domain_pkey", "A domain is at one release.", "name")
check("recoup.domain", "domain_epoch_check", "Epochs count from one.", epoch="0")
check("recoup.domain", "domain_release_check", "Releases count from one.", release="0")
key("recoup.follower", "follower_pkey", "A function follows once.", "subject", "event", "function")
check("recoup.follower", "follower_event_check", "It follows a kind of statement.", event="'merge'")
check("recoup.follower", "follower_place_check", "Rule, recorder or consequence.", place="'a'")
reference("recoup.follower", "subject", "recoup.lifecycle", "It follows a guard.", nobody=NOBODY)
key("recoup.log", "log_pkey", "A log is declared once.", "log")
check("recoup.log", "log_canon_check", "Versions count from one.", canon="-1")
key("recoup.pausable", "pausable_scope_name_names_key", "A thing is listed once.", "scope", "name")
check("recoup.pausable", "pausable_check", "By name or by query.", names="'select 1'")
key("recoup.policy_bound", "policy_bound_pkey", "A value has one bound.", "path")

key("recoup.lifecycle", "lifecycle_pkey", "A table has one lifecycle.", "subject")
key(STEP, "lifecycle_step_subject_kind_from_status_to_status_authority_key", "A step is listed once, births too.",
    "subject", "kind", "from_status", "to_status", "authority")  # fmt: skip
reference(STEP, "subject", "recoup.lifecycle", "A step belongs to a lifecycle.", nobody="'nobody'")
check(STEP, "lifecycle_step_kind_check", "A step is a birth, a move or an exit.", kind="'jump'", from_status="'a'")
check(STEP, "lifecycle_step_check", "A birth comes from nowhere.", from_status="'a'")
check(STEP, "lifecycle_step_check", "A move comes from somewhere.", kind="'move'")
check(STEP, "lifecycle_step_check1", "An exit leads nowhere.", kind="'exit'", from_status="'a'")
check(STEP, "lifecycle_step_check1", "A birth leads somewhere.", to_status="null")
key("recoup.migration", "migration_pkey", "A migration is applied once.", "name")
key("recoup.routine", "routine_pkey", "A routine is noted once.", "name")
key("recoup.subscription", "subscription_pkey", "A subscriber stands at one place in a log.", "log", "name")


@law("recoup.subscription", "recoup.rule_cursors", "insert")
def the_name_of_an_authority_is_its_own(tx: Transaction) -> None:
    """Nobody takes the mint's place in a log before the mint does."""
    taking = "insert into recoup.subscription (name, log, created_at) values ('mint', 'x', recoup.now())"
    refused(tx, taking, who=Authority.CONSUMER, by="recoup.rule_cursors", sqlstate="RC071", words="mint")
    with acting(tx, Authority.MINT):
        assert tx.execute(taking).rowcount == 1


@law("recoup.subscription", "recoup.rule_cursors", "update")
def a_place_in_a_log_is_moved_by_its_owner(tx: Transaction) -> None:
    """Nobody makes the mint miss an authorisation, or see one twice."""
    with acting(tx, Authority.MINT):
        tx.execute("insert into recoup.subscription (name, log, created_at) values ('laws', 'x', recoup.now())")
    moving = "update recoup.subscription set after_seq = 5 where log = 'x'"
    for who in (Authority.CONSUMER, OPERATOR):
        refused(tx, moving, who=who, by="recoup.rule_cursors", sqlstate="RC043", words="move")
    with acting(tx, Authority.MINT):
        assert tx.execute(moving).rowcount == 1


@law("recoup.subscription", "recoup.rule_cursors", "delete")
def a_subscription_is_dropped_by_its_owner_or_an_operator(tx: Transaction) -> None:
    """Another subscriber does not."""
    with acting(tx, Authority.MINT):
        tx.execute("insert into recoup.subscription (name, log, created_at) values ('laws', 'x', recoup.now())")
    dropping = "delete from recoup.subscription where log = 'x'"
    refused(tx, dropping, who=Authority.CONSUMER, by="recoup.rule_cursors", sqlstate="RC043", words="drop")
    with acting(tx, OPERATOR):
        assert tx.execute(dropping).rowcount == 1


key("recoup.incarnation", "incarnation_pkey", "A number is one cluster's.", "incarnation")
check("recoup.incarnation", "incarnation_incarnation_check", "Clusters are counted from one.", incarnation="0")
RESULT = "recoup.audit_result"
key(RESULT, "audit_result_pkey", "A place in the order of logs is one result's.", "seq")
check(RESULT, "audit_result_started_at_check", "Times are times.", started_at="'-infinity'")
check(RESULT, "audit_result_finished_at_check", "Times are times.", finished_at=INFINITE)
check(RESULT, "audit_result_selected_check", "A selection has an end.", selected="array_fill(''::text, array[1001])")
check(RESULT, "audit_result_counts", "Each invariant has one answer.", checked="4")
check(RESULT, "audit_result_counts", "None has less than none.", held="-1", checked="1")
check(RESULT, "audit_result_counts", "What is broken has a name.", broken_rows="'{}'")
check(RESULT, "audit_result_counts", "And nothing else has.", broken="0", checked="2")
check(RESULT, "audit_result_counts", "By its name.", broken_rows="'[1]'")
check(RESULT, "audit_result_broken_rows_check", "It is no archive.",
      broken_rows="jsonb_build_object('laws/L1', repeat('x', 1000001))")  # fmt: skip
check(RESULT, "audit_result_recoup_version_check", "A version is there.", recoup_version="''")
check(RESULT, "audit_result_actor_check", "An actor is of a known kind.", actor="'robot'")


@law(RESULT, "recoup.stamp_audit_result", "insert")
def no_audit_began_tomorrow(tx: Transaction) -> None:
    """What is kept has ended."""
    ahead = insertion(tx, RESULT, {"started_at": LATER})
    refused(tx, ahead, by="recoup.stamp_audit_result", sqlstate="RC026")


@law(RESULT, "recoup.stamp_audit_result", "insert")
def who_audited_is_not_the_writers_to_say(tx: Transaction) -> None:
    """Time and author come from the transaction, whatever the row claims."""
    claimed = put(tx, RESULT, {"started_at": "recoup.now() - interval '2 days'", "finished_at": LATER})
    stamped = "actor_id <> 'mallory' and finished_at = recoup.now() and authority = current_user and actor = 'system'"
    seen(tx, f"select from recoup.audit_result where seq = %s and {stamped}", claimed["seq"])


key("recoup.late_result", "late_result_pkey", "An id is one result's.", "late_result_id")
key("recoup.late_result", "late_result_seq_key", "A place in the order is one result's.", "seq")


# Policy -------------------------------------------------------------------------------------------------------------

POLICY = "recoup.policy"

key(POLICY, "policy_pkey", "A version is one policy's.", "version")
key(POLICY, "policy_seq_key", "A place in the order is one policy's.", "seq")
check(POLICY, "policy_version_check", "Versions are counted from one.", version="0")
check(POLICY, "policy_figures_check", "ActivePolicy have names.", figures="'[]'")
check(POLICY, "policy_reason_check", "A policy has a reason.", reason="' '")
check(POLICY, "policy_applied_at_check", "Times are times.", applied_at=INFINITE)
check(POLICY, "policy_actor_check", "An actor is of a known kind.", actor="'robot'")


@law(POLICY, "recoup.stamp_policy", "insert")
def versions_follow_each_other(tx: Transaction) -> None:
    """A version is not left out."""
    skipping = insertion(tx, POLICY, {"version": "(select max(version) + 2 from recoup.policy)"})
    refused(tx, skipping, by="recoup.stamp_policy", sqlstate="RC033")


@law(POLICY, "recoup.stamp_policy", "insert")
def a_policy_has_every_figure_within_bounds(tx: Transaction) -> None:
    """Past the program, too: a wait of nothing would abolish the throttle, a missing figure would stop the gate."""
    for figures in (
        "'{}'",
        "(select jsonb_set(figures, '{gate,wait_hours}', '[0, 0]') from recoup.policy where version = 1)",
        "(select jsonb_set(figures, '{gate,wait_hours}', '[-500, 24]') from recoup.policy where version = 1)",
        "(select jsonb_set(figures, '{gate,wait_hours}', '\"24\"') from recoup.policy where version = 1)",
        "(select figures #- '{worker,lost_after_s}' from recoup.policy where version = 1)",
        "(select figures || jsonb_build_object('x', repeat('9', 5000)::numeric) from recoup.policy where version = 1)",
    ):
        wrong = insertion(tx, POLICY, {"figures": figures})
        refused(tx, wrong, by="recoup.stamp_policy", sqlstate="RC038")


@law(POLICY, "recoup.stamp_policy", "insert")
def a_policy_was_checked_as_a_whole(tx: Transaction) -> None:
    """What only a program can check, a program has checked."""
    refused(tx, insertion(tx, POLICY, {}), by="recoup.stamp_policy", sqlstate="RC072")


@law(POLICY, "recoup.stamp_policy", "insert")
def who_applied_a_policy_is_not_the_writers_to_say(tx: Transaction) -> None:
    """Time and author come from the transaction, whatever the row claims."""
    tx.execute(
        "select set_config('recoup.policy_checked', md5(figures::text), true) from recoup.policy where version = 1"
    )
    claimed = put(tx, POLICY)
    stamped = "actor_id <> 'mallory' and applied_at = recoup.now() and authority = current_user and actor = 'system'"
    seen(tx, f"select from recoup.policy where version = %s and {stamped}", claimed["version"])


# The control log and the pause log ----------------------------------------------------------------------------------

CONTROL = "recoup.control_log"

key(CONTROL, "control_log_pkey", "A place in the order is one event's.", "seq")
check(CONTROL, "control_log_event_type_check", "An event is a birth, a move or an exit.", event_type="'JUMP'")
check(CONTROL, "control_log_check", "A birth comes from nowhere.", event_type="'BIRTH'")
check(CONTROL, "control_log_check", "A move comes from somewhere.", from_status="null")
check(CONTROL, "control_log_check1", "An exit leads nowhere.", event_type="'EXIT'")
check(CONTROL, "control_log_check1", "A move leads somewhere.", to_status="null")
check(CONTROL, "control_log_actor_check", "An actor is of a known kind.", actor="'robot'")
check(CONTROL, "control_log_logged_at_check", "Times are times.", logged_at=INFINITE)

CONTENT = "recoup.content_log"

key(CONTENT, "content_log_pkey", "A place in the order is one event's.", "seq")
check(CONTENT, "content_log_event_type_check", "A row is born, adopted or redacted.", event_type="'JUMP'")
check(CONTENT, "content_log_form_check", "Lists of columns count from one.", form="0")
check(CONTENT, "content_log_keys_check", "A digest is of a row.", keys="'{}'", digests="'{}'")
check(CONTENT, "content_log_check", "Every row has its digest.", keys="'{a,b}'")
check(CONTENT, "content_log_actor_check", "An actor is of a known kind.", actor="'robot'")
check(CONTENT, "content_log_logged_at_check", "Times are times.", logged_at=INFINITE)

PAUSES = "recoup.pause_log"

key(PAUSES, "pause_log_pkey", "A place in the order is one event's.", "seq")
check(PAUSES, "pause_log_actor_check", "An actor is of a known kind.", actor="'robot'")
check(PAUSES, "pause_log_event_type_check", "A pause begins or ends.", event_type="'STOP'")
check(PAUSES, "pause_log_logged_at_check", "Times are times.", logged_at=INFINITE)


# The pause register -------------------------------------------------------------------------------------------------

PAUSE = "recoup.pause"

key(PAUSE, "pause_pkey", "A scope is paused once.", "scope", "scope_id")
check(PAUSE, "pause_scope_id_check", "What is paused has a name.", scope_id="' '")
check(PAUSE, "pause_status_check", "A status is a listed one.", status="'STOPPED'")
check(PAUSE, "pause_changed_at_check", "Times are times.", changed_at=INFINITE)
check(PAUSE, "pause_reason_check", "A pause has a reason.", reason="' '")
check(PAUSE, "pause_check", "The global pause is of everything.", scope="'global'")

BEGIN_PAUSE = (
    "insert into recoup.pause (scope, scope_id, status, changed_at, changed_by, reason)"
    " values (%s, %s, 'PAUSED', {at}, recoup.acting_id(), 'look')"
)
END_PAUSE = "update recoup.pause set status = 'RUNNING', changed_at = {at} where (scope, scope_id) = (%s, %s)"
DUTY = ("duty", "mint")


def paused(tx: Transaction) -> None:
    with acting(tx, OPERATOR):
        tx.execute(BEGIN_PAUSE.format(at=NOW), DUTY)


@law(PAUSE, "recoup.rule_pauses", "insert")
def what_does_not_work_is_not_paused(tx: Transaction) -> None:
    """A paused table is one whose work is guarded: a slip of the pen would stop nothing, and nobody would know."""
    unknown = ("table", "cl.no_such_table")
    refused(tx, BEGIN_PAUSE.format(at=NOW), unknown, who=OPERATOR, by="recoup.rule_pauses", sqlstate="RC034")
    refused(tx, BEGIN_PAUSE.format(at=LATER), DUTY, who=OPERATOR, by="recoup.rule_pauses", sqlstate="RC026")
    refused(tx, BEGIN_PAUSE.format(at="'1999-01-01'"), DUTY, who=OPERATOR, by="recoup.rule_pauses", sqlstate="RC026")
    forged = BEGIN_PAUSE.replace("recoup.acting_id()", "'somebody else'")
    refused(tx, forged.format(at=NOW), DUTY, who=OPERATOR, by="recoup.rule_pauses", sqlstate="RC026")


@law(PAUSE, "recoup.rule_pauses", "update")
def a_pause_does_not_end_tomorrow(tx: Transaction) -> None:
    """Nor is it resumed at a time to come."""
    paused(tx)
    refused(tx, END_PAUSE.format(at=LATER), DUTY, who=OPERATOR, by="recoup.rule_pauses", sqlstate="RC026")


STOPPED = "select from recoup.pause_log where (scope, scope_id, event_type) = (%s, %s, %s)"


@law(PAUSE, "recoup.record_pauses", "insert")
def a_pause_is_logged(tx: Transaction) -> None:
    """PAUSE is in the pause log, also the first time."""
    paused(tx)
    seen(tx, STOPPED, *DUTY, "PAUSE")


@law(PAUSE, "recoup.record_pauses", "update")
def a_resumption_is_logged(tx: Transaction) -> None:
    """RESUME is in the pause log."""
    paused(tx)
    with acting(tx, OPERATOR):
        tx.execute(END_PAUSE.format(at=NOW), DUTY)
    seen(tx, STOPPED, *DUTY, "RESUME")


# Workers ------------------------------------------------------------------------------------------------------------

WORKER = "recoup.worker"
GONE = {"status": "'stopped'", "ended_at": LATER}

key(WORKER, "worker_pkey", "An id is one life's.", "worker_id")
check(WORKER, "worker_name_check", "A worker has a name.", name="''")
check(WORKER, "worker_status_check", "A status is a listed one.", **GONE | {"status": "'asleep'"})
check(WORKER, "worker_started_at_check", "Times are times.", started_at="'-infinity'")
check(WORKER, "worker_heartbeat_at_check", "Times are times.", heartbeat_at=INFINITE)
check(WORKER, "worker_ended_at_check", "Times are times.", **GONE | {"ended_at": INFINITE})
check(WORKER, "worker_check", "What runs has not ended.", ended_at=LATER)
check(WORKER, "worker_check", "What has ended did so at a time.", status="'lost'")


@law(WORKER, "recoup.record_control", "insert")
def a_worker_that_registers_is_logged(tx: Transaction) -> None:
    """BIRTH is in the control log."""
    seen(tx, TOLD, WORKER, str(a_worker(tx)), "BIRTH")


LOSE = "update recoup.worker set status = 'lost', ended_at = {at} where worker_id = %s"
BEAT = "update recoup.worker set heartbeat_at = {at} where worker_id = %s"
REGISTER = (
    "insert into recoup.worker (name, host, pid, recoup_version, duties, started_at, heartbeat_at)"
    " values ('w', 'h', 1, '1', '{{}}', recoup.now(), {at})"
)


@law(WORKER, "recoup.rule_workers", "insert")
def a_worker_was_not_heard_of_tomorrow(tx: Transaction) -> None:
    """A heartbeat that is still to come would keep a dead worker alive."""
    refused(tx, REGISTER.format(at=LATER), (), who=RUNNER, by="recoup.rule_workers", sqlstate="RC037")


@law(WORKER, "recoup.rule_workers", "update")
def a_worker_that_beats_is_not_lost(tx: Transaction) -> None:
    """Nor is it heard of tomorrow, nor lost at another time than now."""
    worker = (a_worker(tx),)
    refused(tx, LOSE.format(at=NOW), worker, who=ORPHANS, by="recoup.rule_workers", sqlstate="RC037")
    refused(tx, BEAT.format(at=LATER), worker, who=RUNNER, by="recoup.rule_workers", sqlstate="RC037")
    advance(tx, timedelta(days=1))
    refused(tx, LOSE.format(at="'1999-01-01'"), worker, who=ORPHANS, by="recoup.rule_workers", sqlstate="RC037")


@law(WORKER, "recoup.record_control", "update")
def a_worker_that_is_lost_is_logged(tx: Transaction) -> None:
    """MOVE is in the control log."""
    worker = a_worker(tx)
    advance(tx, timedelta(days=1))
    with acting(tx, ORPHANS):
        tx.execute(LOSE.format(at=NOW), (worker,))
    seen(tx, TOLD + " and to_status = 'lost'", WORKER, str(worker), "MOVE")


TALLY = "recoup.duty_tally"

key(TALLY, "duty_tally_pkey", "A worker has one tally of a duty.", "worker_id", "duty")
reference(TALLY, "worker_id", WORKER, "A tally belongs to a worker.")
check(TALLY, "duty_tally_duty_check", "A duty has a name.", duty="''")
check(TALLY, "duty_tally_runs_check", "Nothing is run less than never.", runs="-1")
check(TALLY, "duty_tally_done_check", "Nothing is done less than never.", done="-1")
check(TALLY, "duty_tally_failures_check", "Nothing fails less than never.", failures="-1")


# Waking the workers: seen once it is committed ----------------------------------------------------------------------


@law(CLOCK, "recoup.wake", "update", commits=True)
def moving_the_clock_wakes(connection: Transaction) -> None:
    """When time moves, something may be due."""
    woken(connection, lambda tx: advance(tx, timedelta(microseconds=1)))


@law(BATCH, "recoup.wake", "update", commits=True)
def a_batch_that_moves_wakes(connection: Transaction) -> None:
    """When a batch is resumed, its retries may be due."""
    with connection.transaction():
        batch = new_batch(connection)

    def completed(tx: Transaction) -> None:
        with acting(tx, HUB):
            gate.complete_batch(tx, batch)

    woken(connection, completed)


@law(PAUSE, "recoup.wake", "update", commits=True)
def a_resumption_wakes(connection: Transaction) -> None:
    """When a pause ends, what it held up may be due."""
    scope = ("duty", "seal")
    with connection.transaction(), acting(connection, OPERATOR):
        connection.execute(BEGIN_PAUSE.format(at=NOW), scope)

    def resumed(tx: Transaction) -> None:
        with acting(tx, OPERATOR):
            tx.execute(END_PAUSE.format(at=NOW), scope)

    woken(connection, resumed)


# Seals --------------------------------------------------------------------------------------------------------------

SEAL = "recoup.seal"

key(SEAL, "seal_pkey", "A place in the chain is one seal's.", "number", then={"digest": "sha256('x')"})
key(SEAL, "seal_digest_key", "No seal is another's double.", "digest", then={"number": "1000001"})
check(SEAL, "seal_number_check", "Seals are counted from one.", number="0")
check(SEAL, "seal_rows_check", "No block holds less than nothing.", rows="-1")
check(SEAL, "seal_sealed_at_check", "Times are times.", sealed_at=INFINITE)
check(SEAL, "seal_check", "A block ends where it began, or later.", after_seq="1")
