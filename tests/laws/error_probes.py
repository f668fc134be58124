"""The probes of the errors domain: errors, their archives, their log, and operations over many."""

from __future__ import annotations

import uuid
from datetime import timedelta

from company import (
    CANARY,
    ERRORS,
    MASTER_LOG,
    UNPARKED_ERRORS,
    acting,
    advance,
    claimed_error,
    decide_error,
    error_in,
    failed_retry,
    new_archive_month,
    new_canary,
    new_error,
    new_operation,
    room_in_archive,
    without_window,
)
from laws.probing import (
    PROBES,
    Silent,
    check,
    key,
    law,
    of_the_form,
    queued,
    reference,
    refused,
    seen,
    unreplicated,
    untouchable,
)
from laws.rows import ID, LATER, NOW, insertion, put
from recoup.database.connection import Transaction
from recoup.errors import Want, clearing, retrying
from recoup.errors.lifecycle import ERROR as LIFE
from recoup.errors.policy import ErrorPolicy
from recoup.lifecycles.declaration import Authority
from tiers import REVIEWED, WHEN_PARKED, escalated

__all__ = ["PROBES"]

HUB, WORKER, OPERATOR, ARCHIVER = Authority.HUB, Authority.ERROR_WORKER, Authority.OPERATOR, Authority.ARCHIVER
INFINITE = "'infinity'"
LONG_NAME = "repeat('x', 501)"
LONG_REASON = "repeat('x', 2001)"

# Errors: columns ----------------------------------------------------------------------------------------------------

ERROR = "recoup.error"
PENDING = {"disposition": "'RETRY'", "status": "'RETRY_PENDING'", "next_retry_at": NOW}
PARKED = {
    "disposition": "'PARKED'", "status": "'PARKED'", "parked_at": NOW, "parked_by": "'x'", "park_reason": "'y'",
}  # fmt: skip
ESCALATED = {
    **PARKED, "status": "'ESCALATED'", "escalation_level": "1", "escalated_at": NOW, "escalated_to": "'lead'",
}  # fmt: skip
TIER = {**ESCALATED, "parked_since": NOW, "sla_due_at": LATER}
BY_HAND = {"archived_at": NOW, "archive_reason": "'MANUAL'"}
SUPERSEDED = {"archived_at": NOW, "archive_reason": "'SUPERSEDED'", "superseded_by": "9000000001"}

key(ERROR, "error_pkey", "An id is one error's.", "error_table", "error_id", told="dol_errors_pkey")
check(ERROR, "error_error_code_check", "A code has letters.", error_code="''")
check(ERROR, "error_error_code_check", "Not too many.", error_code="repeat('x', 201)")
check(ERROR, "error_error_signature_check", "A signature has letters.", error_signature="''")
check(ERROR, "error_error_signature_check", "Not too many.", error_signature="repeat('x', 201)")
check(ERROR, "error_work_key_check", "A work key has letters.", work_key="''")
check(ERROR, "error_work_key_check", "Not too many.", work_key="repeat('x', 201)")
check(ERROR, "error_work_key_check", "They can be seen.", work_key="E'a\\nb'")
check(ERROR, "error_overruled_check", "What was overruled is a listed one.", overruled="'PARKED'")
check(ERROR, "error_severity_check", "A severity is a listed one.", severity="'BAD'")
check(ERROR, "error_category_check", "A category is a listed one.", category="'ODD'")
check(ERROR, "error_disposition_check", "A disposition is a listed one.",
      disposition="'PARK'", status="'RESOLVED'", archived_at=NOW, archive_reason="'RESOLVED'")  # fmt: skip
check(ERROR, "error_ttl_tier_check", "A tier is a listed one.", ttl_tier="'EVER'")
check(ERROR, "error_expires_at_check", "What expires does so some day.", expires_at=INFINITE)
check(ERROR, "error_error_id_check", "Ids count from one.", error_id="0")
check(ERROR, "error_retry_count_check", "Nothing is retried less than never.", retry_count="-1")
check(ERROR, "error_max_retries_check", "No budget is less than nothing.", max_retries="-1")
check(ERROR, "error_last_retry_at_check", "Times are times.", last_retry_at=INFINITE)
check(ERROR, "error_next_retry_at_check", "A wait ends.", **PENDING | {"next_retry_at": INFINITE})
check(ERROR, "error_retry_until_check", "A window closes.", retry_until=INFINITE)
check(ERROR, "error_last_outcome_check", "An outcome is a listed one.", last_outcome="'LOST'", retry_count="1")
check(ERROR, "error_parked_at_check", "Times are times.", **PARKED | {"parked_at": INFINITE})
check(ERROR, "error_park_reason_check", "A reason has words.", park_reason="''")
check(ERROR, "error_park_reason_check", "Not too many.", park_reason=LONG_REASON)
check(ERROR, "error_assigned_to_check", "An owner has a name.", assigned_to="''")
check(ERROR, "error_assigned_to_check", "Not an endless one.", assigned_to=LONG_NAME)
check(ERROR, "error_escalation_level_check", "There is no fourth tier.", **ESCALATED | {"escalation_level": "4"})
check(ERROR, "error_escalation_level_check", "There is none below nobody.", escalation_level="-1")
check(ERROR, "error_last_reviewed_at_check", "Times are times.", last_reviewed_at=INFINITE)
check(ERROR, "error_escalated_at_check", "Times are times.", **ESCALATED | {"escalated_at": INFINITE})
check(ERROR, "error_escalated_to_check", "Whom it is passed on to has a name.", **ESCALATED | {"escalated_to": "''"})
check(ERROR, "error_escalation_reason_check", "A reason has words.", **ESCALATED, escalation_reason="''")
check(ERROR, "error_escalation_reason_check", "Not too many.", **ESCALATED, escalation_reason=LONG_REASON)
check(ERROR, "error_decided_by_check", "Who decided is a listed one.", decided_by="'nobody'")
check(ERROR, "error_clamped_from_check", "What was wanted is a listed one.", clamped_from="'PARKED'")
check(ERROR, "error_created_at_check", "Times are times.", created_at="'-infinity'")
check(ERROR, "error_updated_at_check", "Times are times.", updated_at=INFINITE)
check(ERROR, "error_archived_at_check", "Times are times.", **BY_HAND | {"archived_at": INFINITE})
check(ERROR, "error_archive_reason_check", "Why it is over is a listed one.",
      **BY_HAND | {"archive_reason": "'BORED'"})  # fmt: skip

# Errors: columns that go together -----------------------------------------------------------------------------------

check(ERROR, "error_status_check", "A status is a listed one.", status="'LOST'")
check(ERROR, "error_status_disposition", "What waits for a retry is to be.", **PENDING | {"disposition": "'IGNORE'"})
check(ERROR, "error_status_disposition", "What is parked blocks as parked.", **PARKED | {"disposition": "'ARCHIVE'"})
check(ERROR, "error_status_disposition", "So does what is passed on.", **ESCALATED | {"disposition": "'RETRY'"})
check(ERROR, "error_status_disposition", "What is to be retried does not rest.", disposition="'RETRY'")
check(ERROR, "error_ttl", "What is kept for ever does not expire.", ttl_tier="'INFINITE'")
check(ERROR, "error_ttl", "What is not expires.", expires_at="null")
check(ERROR, "error_parked", "Parked means by somebody.", **PARKED | {"parked_by": "null"})
check(ERROR, "error_parked", "And for a reason.", **PARKED | {"park_reason": "null"})
check(ERROR, "error_parked", "And at a time.", **ESCALATED | {"parked_at": "null"})
check(ERROR, "error_parked", "What waits for its retry is not parked.", **PENDING, parked_at=NOW, parked_by="'x'",
      park_reason="'y'")  # fmt: skip
check(ERROR, "error_parked", "Nor does it say by whom.", **PENDING, parked_by="'x'")
check(ERROR, "error_parked", "Nor why.", **PENDING, park_reason="'y'")
check(ERROR, "error_retry_pending", "What is to be retried has its time.", **PENDING | {"next_retry_at": "null"})
check(ERROR, "error_retry_pending", "And retries left.", **PENDING, retry_count="5")
check(ERROR, "error_retry_only_pending", "Nothing else is to be retried.", next_retry_at=NOW)
check(ERROR, "error_retry_only_pending", "Nor what is parked.", **PARKED, next_retry_at=NOW)
check(ERROR, "error_escalated", "Passed on means to somebody.", **ESCALATED | {"escalated_to": "null"})
check(ERROR, "error_escalated", "And to some tier.", **ESCALATED | {"escalation_level": "0"})
check(ERROR, "error_escalated", "And at a time.", **ESCALATED | {"escalated_at": "null"})
check(ERROR, "error_escalated", "No tier without a time and somebody.", **PARKED, escalation_level="3")
check(ERROR, "error_escalated", "Nobody without a tier.", **PARKED, escalated_to="'lead'")
check(ERROR, "error_escalated", "Nor a reason.", **PARKED, escalation_reason="'y'")
check(ERROR, "error_parked_since_check", "Times are times.", **TIER | {"parked_since": INFINITE})
check(ERROR, "error_sla_due_at_check", "A clock ends.", **TIER | {"sla_due_at": INFINITE})
check(ERROR, "error_sla_met_at_check", "Times are times.", **TIER | {"sla_met_at": "'-infinity'"})
check(ERROR, "error_sla_breached_at_check", "Times are times.", **TIER | {"sla_breached_at": INFINITE})
check(ERROR, "error_sla", "No clock without a tier.", sla_due_at=LATER)
check(ERROR, "error_sla", "Nor without a beginning.", **TIER | {"parked_since": "null"})
check(ERROR, "error_sla", "It ends after it began.", **TIER | {"sla_due_at": NOW})
check(ERROR, "error_sla", "Nothing is met without a clock.", **ESCALATED, sla_met_at=NOW)
check(ERROR, "error_sla", "Nor breached.", **ESCALATED, sla_breached_at=NOW)
check(ERROR, "error_sla", "What is met is so in time.",
      **TIER | {"sla_met_at": f"{LATER} + interval '1 second'"})  # fmt: skip
check(ERROR, "error_sla", "What is breached, after that.", **TIER | {"sla_breached_at": NOW})
check(ERROR, "error_sla", "Not both.",
      **TIER | {"sla_met_at": NOW, "sla_breached_at": f"{LATER} + interval '1 second'"})  # fmt: skip
check(ERROR, "error_outcome", "No outcome without a retry.", last_outcome="'FAILED'")
check(ERROR, "error_outcome", "Nor words of it.", last_failure="'y'", retry_count="1")
check(ERROR, "error_outcome", "What succeeded is resolved.", last_outcome="'SUCCEEDED'", retry_count="1")
check(ERROR, "error_archive_reason", "What is over is so for a reason.", archived_at=NOW)
check(ERROR, "error_archive_reason", "No reason without an end.", archive_reason="'MANUAL'")
check(ERROR, "error_resolved", "What is resolved is over.", status="'RESOLVED'")
check(ERROR, "error_resolved", "Because it is resolved.", status="'RESOLVED'", **BY_HAND)
check(ERROR, "error_resolved", "Nothing else is.", **BY_HAND | {"archive_reason": "'RESOLVED'"})
check(ERROR, "error_superseded", "Superseded means by another.", **SUPERSEDED | {"superseded_by": "null"})
check(ERROR, "error_superseded", "Nothing else has a follower.", **BY_HAND, superseded_by="9000000001")
check(ERROR, "error_not_superseded_by_itself", "Nothing follows itself.", **SUPERSEDED, error_id="9000000001")
check(ERROR, "error_lineage", "The first of a lineage is not newer.", error_id="9000000001", lineage_id="9000000002")

for table, figures in ErrorPolicy.shipped().tables.items():
    if figures.ttl != "INFINITE":
        key(table, f"{table.split('.')[1]}_open", "Of one failure of one entity, one is open.", "outreach_id",
            "error_signature")  # fmt: skip
for change in ("update", "delete", "truncate"):
    untouchable(MASTER_LOG, "recoup.append_only", "RC009", change, "What is kept for ever stays as it is.")

# Errors: births, moves and exits ------------------------------------------------------------------------------------

NOT_ALLOWED = "recoup.refuse_disposition(text,text,jsonb)"
MUCH_LATER = "recoup.now() + interval '2 hours'"  # what is inherited may be ahead of a clock that was set back
BORN, MOVED, LEFT = "recoup.rule_error_births", "recoup.guard_error_moves", "recoup.rule_error_exits"


@law(ERROR, BORN, "insert")
def a_table_holds_what_its_policy_allows(tx: Transaction) -> None:
    """Whoever decided otherwise, and however: PARK is not stored where nothing may be parked."""
    for table, row in ((UNPARKED_ERRORS, PARKED), (ERRORS, {"disposition": "'IGNORE'"}), (MASTER_LOG, PENDING)):
        statement = insertion(tx, ERROR, {**row, "error_table": f"'{table}'"})
        refused(tx, statement, who=HUB, by=NOT_ALLOWED, sqlstate="RC044", words=table)


@law(ERROR, BORN, "insert")
def an_error_is_born_now_and_free(tx: Transaction) -> None:
    """Under a policy that there is, without a lease, and not over but for a newer one of the same call."""
    for row in (
        {"policy_version": "(select max(version) + 1 from recoup.policy)"},
        {"created_at": MUCH_LATER},
        {"updated_at": LATER},
        {"token": ID},
        BY_HAND,
        {**BY_HAND, "archive_reason": "'TTL_EXPIRED'"},
        {**SUPERSEDED, "archived_at": LATER},
        {"last_reviewed_at": MUCH_LATER},
        {**PARKED, "parked_at": MUCH_LATER},
        {**PARKED, "parked_at": "timestamptz '2020-01-01'"},
        {**ESCALATED, "status": "'PARKED'", "escalated_at": MUCH_LATER},
        PARKED,
        ESCALATED,
        {**TIER, "sla_due_at": "timestamptz '2099-01-01'"},
        {**TIER, "parked_since": "timestamptz '2020-01-01'"},
        {"last_retry_at": MUCH_LATER, "retry_count": "1"},
        {"last_retry_at": NOW},
        {"retry_until": "timestamptz '2099-01-01'"},
        {**PENDING, "next_retry_at": "timestamptz '2099-01-01'"},
        {"error_signature": "'by hand'"},
    ):
        refused(tx, insertion(tx, ERROR, row), who=HUB, by=BORN, sqlstate="RC045")


@law(ERROR, BORN, "insert")
def an_error_makes_a_locked_promotion_wait(tx: Transaction) -> None:
    """The lock of its entity is held until the transaction is over."""
    held = (
        "select from pg_locks where locktype = 'advisory' and classid = 7701 and mode = 'ShareLock'"
        " and pid = pg_backend_pid() and objid::integer = recoup.entity_key(%s::uuid)"
    )
    entity = "00000000-0000-4000-8000-00000000000a"
    with acting(tx, HUB):
        tx.execute(insertion(tx, ERROR, {**PENDING, "outreach_id": f"'{entity}'"}).as_string(tx).encode())
    seen(tx, held, entity)


MOVE = "update recoup.error set {} from (select recoup.now() as now_) t where error_id = %s"
CLAIM = (
    "update recoup.error_queue set token = gen_random_uuid(), worker = 'w', claimed_at = now_,"
    " wake_at = now_ + interval '1 minute' from (select recoup.now() as now_) t where unit = %s"
)
QUEUE, CLAIMED = "recoup.error_queue", "recoup.guard_claims"
PARK = (
    "status = 'PARKED', disposition = 'PARKED', next_retry_at = null, parked_at = now_, parked_by = 'system',"
    f" park_reason = 'MAX_RETRIES_EXCEEDED', {WHEN_PARKED}"
)


@law(ERROR, MOVED, "update")
def what_is_over_does_not_move(tx: Transaction) -> None:
    """Resolved, superseded or archived by hand, it waits for the archiver."""
    error = new_error(tx, want=Want.ARCHIVE)
    decide_error(tx, error, "archived_at = now_, archive_reason = 'MANUAL'")
    refused(tx, MOVE.format("assigned_to = 'ann'"), (error,), who=OPERATOR, by=MOVED, sqlstate="RC046")


def due_error(tx: Transaction) -> int:
    error = new_error(tx)
    advance(tx, timedelta(seconds=2))
    return error


of_the_form("recoup.queue_form")
queued(LIFE, due_error)


@law(QUEUE, CLAIMED, "update")
def no_retry_before_its_time_or_after_its_window(tx: Transaction) -> None:
    """Neither a hub nor the worker claims what is not due."""
    error = (new_error(tx),)
    refused(tx, CLAIM, error, who=WORKER, by=CLAIMED, sqlstate="RC048")
    refused(tx, CLAIM, error, who=HUB, by=CLAIMED, sqlstate="RC048")
    advance(tx, timedelta(hours=24, seconds=1))  # a claim that looked within the last second may stand
    refused(tx, CLAIM, error, who=WORKER, by=CLAIMED, sqlstate="RC048")


@law(QUEUE, CLAIMED, "update")
def an_operator_claims_nothing(tx: Transaction) -> None:
    """A person decides, and does not retry."""
    error = (due_error(tx),)
    locked = "update recoup.error_queue set wake_at = wake_at where unit = %s"
    refused(tx, locked, error, who=OPERATOR, by=CLAIMED, sqlstate="RC049", words="claims nothing")


SETTLED = "recoup.queue_error_moves"


@law(ERROR, SETTLED, "update")
def a_retry_is_ended_with_its_token(tx: Transaction) -> None:
    """Whoever ends it; and whoever ends what is being retried counts the retry."""
    error = (claimed_error(tx),)
    ended = "retry_count = retry_count + 1, last_outcome = 'FAILED', token = gen_random_uuid()"
    failed = MOVE.format(f"{ended}, next_retry_at = now_ + interval '1 hour'")
    succeeded = MOVE.format(
        f"{ended.replace('FAILED', 'SUCCEEDED')}, status = 'RESOLVED', next_retry_at = null, archived_at = now_,"
        " archive_reason = 'RESOLVED'"
    )
    for change in (failed, succeeded):
        refused(tx, change, error, who=WORKER, by=SETTLED, sqlstate="RC047")
    by_hand = MOVE.format(PARK.replace("'system'", "recoup.acting_id()"))
    refused(tx, by_hand, error, who=OPERATOR, by=SETTLED, sqlstate="RC047")


@law(ERROR, "recoup.queue_error_exits", "delete")
def what_leaves_is_not_queued(tx: Transaction) -> None:
    """It expired while it waited for its retry."""
    error = new_error(tx)
    without_window(tx, error)
    advance(tx, timedelta(days=40))
    room_in_archive(tx, error)
    with acting(tx, ARCHIVER):
        tx.execute("delete from recoup.error where error_id = %s", (error,))
    seen(tx, "select where not exists (select from recoup.error_queue where unit = %s)", error)


@law(ERROR, MOVED, "update")
def retries_are_counted_as_they_end(tx: Transaction) -> None:
    """Not skipped, not made up, and a person grants one more, not ten."""
    waiting, parked = new_error(tx), error_in(tx, "PARKED")
    tx.execute("alter table recoup.error disable trigger d_queue_error_moves_on_update")  # it asks for the token
    refused(tx, MOVE.format("retry_count = 2"), (waiting,), who=WORKER, by=MOVED, sqlstate="RC049", words="by one")
    without = "retry_count = 1, next_retry_at = now_, last_outcome = 'FAILED'"
    refused(tx, MOVE.format(without), (waiting,), who=WORKER, by=MOVED, sqlstate="RC049", words="by one")
    token = MOVE.format("token = gen_random_uuid()")
    refused(tx, token, (waiting,), who=WORKER, by=MOVED, sqlstate="RC049", words="token changes")
    unpark = (
        "status = 'RETRY_PENDING', disposition = 'RETRY', next_retry_at = now_, max_retries = 15, parked_at = null,"
        " parked_by = null, park_reason = null"
    )
    refused(tx, MOVE.format(unpark), (parked,), who=OPERATOR, by=MOVED, sqlstate="RC049", words="grants one")


@law(ERROR, MOVED, "update")
def each_authority_has_its_reasons(tx: Transaction) -> None:
    """Only the worker's own reason parks by itself, only a person archives by hand, and nothing expires early."""
    error = (new_error(tx, want=Want.ARCHIVE),)
    for who, change, words in (
        (HUB, "archived_at = now_, archive_reason = 'MANUAL'", "that reason"),
        (OPERATOR, "archived_at = now_, archive_reason = 'TTL_EXPIRED'", "expires at"),
        (HUB, "archived_at = now_, archive_reason = 'TTL_EXPIRED'", "expires at"),
        (OPERATOR, "archived_at = now_ + interval '1 hour', archive_reason = 'MANUAL'", "not now"),
        (HUB, "updated_at = now_", "nothing changed"),
    ):
        refused(tx, MOVE.format(change), error, who=who, by=MOVED, sqlstate="RC049", words=words)
    advance(tx, timedelta(days=1))
    waiting = (new_error(tx),)
    parked = PARK.replace("MAX_RETRIES_EXCEEDED", "DATA_QUALITY")
    refused(tx, MOVE.format(parked), waiting, who=WORKER, by=MOVED, sqlstate="RC049", words="that reason")


@law(ERROR, MOVED, "update")
def time_alone_raises_a_tier(tx: Transaction) -> None:
    """When it is due, to whom it belongs, and no review is overdue that is not; and whoever parks sets the first."""
    parked, waiting = (error_in(tx, "PARKED"),), (new_error(tx),)
    for who, change, error, words in (
        (WORKER, f"{escalated(2, 'dol-lead')}, escalation_reason = 'x'", parked, "that is due"),
        (WORKER, "updated_at = now_", parked, "nothing changed"),
        (OPERATOR, "assigned_to = 'eve'", parked, "is a review"),
        (OPERATOR, "last_reviewed_at = now_", parked, "the clock of its review"),
        (OPERATOR, PARK.replace("'system'", "recoup.acting_id()").replace(WHEN_PARKED, "token = token"), waiting,
         "parking sets its tier"),
    ):  # fmt: skip
        refused(tx, MOVE.format(change), error, who=who, by=MOVED, sqlstate="RC049", words=words)


@law(ERROR, MOVED, "update")
def a_person_too_keeps_to_what_the_table_allows(tx: Transaction) -> None:
    """Nothing is parked by hand where nothing may be parked."""
    error = (new_error(tx, table=UNPARKED_ERRORS, want=Want.ARCHIVE),)
    by_hand = MOVE.format(PARK.replace("'system'", "recoup.acting_id()"))
    refused(tx, by_hand, error, who=OPERATOR, by=NOT_ALLOWED, sqlstate="RC044", words=UNPARKED_ERRORS)


@law(ERROR, LEFT, "delete")
def nothing_leaves_before_its_time(tx: Transaction) -> None:
    """Neither what is still to be kept, nor what is being retried."""
    leave = "delete from recoup.error where error_id = %s"
    leased, kept = claimed_error(tx), new_error(tx)
    room_in_archive(tx, kept)
    refused(tx, leave, (kept,), who=ARCHIVER, by=LEFT, sqlstate="RC050", words="expires at")
    advance(tx, timedelta(days=40))
    room_in_archive(tx, leased)
    refused(tx, leave, (leased,), who=ARCHIVER, by=LEFT, sqlstate="RC050", words="being retried")
    refused(tx, leave, (kept,), who=ARCHIVER, by=LEFT, sqlstate="RC050", words="window is not closed yet")


SAID = "select from recoup.error_event where error_id = %s and event_type = %s"


@law(ERROR, "recoup.record_error_births", "insert")
def an_error_that_is_recorded_is_logged(tx: Transaction) -> None:
    """RECORDED is in the log, with its status and who recorded it."""
    error = new_error(tx)
    seen(tx, SAID + " and to_status = 'RETRY_PENDING' and authority = 'recoup_hub'", error, "RECORDED")


@law(ERROR, "recoup.record_error_moves", "update")
def every_move_of_an_error_is_logged(tx: Transaction) -> None:
    """What it was, from where to where, and by whose hand."""
    error = claimed_error(tx)
    for row in tx.execute("select part, unit, token from recoup.error_queue where unit = %s", (error,)):
        with acting(tx, WORKER):
            retrying.finish(tx, [retrying.Failed(error_table=row[0], error_id=row[1], token=row[2], failure="again")])
    seen(tx, SAID + " and reason = 'again' and retry_count = 1 and token is not null", error, "FAILED")
    decide_error(tx, error, PARK.replace("'system'", "recoup.acting_id()").replace("MAX_RETRIES_EXCEEDED", "look"))
    seen(tx, SAID + " and (from_status, to_status, reason) = ('RETRY_PENDING', 'PARKED', 'look')", error, "PARKED")
    decide_error(tx, error, f"status = 'RESOLVED', archived_at = now_, archive_reason = 'RESOLVED', {REVIEWED}")
    seen(tx, SAID + " and to_status = 'RESOLVED' and authority = 'recoup_operator'", error, "RESOLVED")


@law(ERROR, "recoup.record_error_moves", "update")
def a_later_success_is_logged(tx: Transaction) -> None:
    """CLEARED, by the hub whose work succeeded, with the token of the retry that it cut off."""
    error = claimed_error(tx)
    ((table, entity),) = tx.execute("select error_table, outreach_id from recoup.error where error_id = %s", (error,))
    with acting(tx, HUB):
        assert clearing.clear(tx, table, [entity]).resolved == (error,)
    said = " and from_status = 'RETRY_PENDING' and authority = 'recoup_hub' and retry_count = 1 and token is not null"
    seen(tx, SAID + said, error, "CLEARED")


@law(ERROR, MOVED, "update")
def only_a_hub_resolves_what_nobody_retried(tx: Transaction) -> None:
    """Its own later run may have succeeded; a worker runs nothing but retries."""
    cleared = MOVE.format("status = 'RESOLVED', next_retry_at = null, archived_at = now_, archive_reason = 'RESOLVED'")
    refused(tx, cleared, (new_error(tx),), who=WORKER, by=MOVED, sqlstate="RC049", words="was not claimed")


@law(ERROR, "recoup.archive_errors_gone", "delete")
def what_leaves_is_archived_and_logged(tx: Transaction) -> None:
    """By the statement that deletes it, as it was, and with whether it was blocking."""
    error = new_error(tx)
    without_window(tx, error)
    advance(tx, timedelta(days=40))
    room_in_archive(tx, error)
    with acting(tx, ARCHIVER):
        assert tx.execute("delete from recoup.error where error_id = %s", (error,)).rowcount == 1
    seen(
        tx,
        "select from recoup.error_archive where error_id = %s and was_blocking and error_message = 'timed out'"
        " and (status, final_disposition, archive_reason) = ('ARCHIVED', 'RETRY', 'TTL_EXPIRED')",
        error,
    )
    seen(tx, SAID + " and from_status = 'RETRY_PENDING' and authority = 'recoup_archiver'", error, "ARCHIVED")


# The archive and its months -----------------------------------------------------------------------------------------

ARCHIVE = "recoup.error_archive"

untouchable(ARCHIVE, "recoup.only_recorders", "RC010", "insert", "Nothing is archived by hand.")
for change in ("update", "delete"):
    untouchable(ARCHIVE, "recoup.append_only", "RC009", change, "What is archived stays.", words=f"{ERRORS}_archive")
untouchable(ARCHIVE, "recoup.append_only", "RC009", "truncate", "And does not leave all at once.")
key(ARCHIVE, "error_archive_pkey", "Nothing is archived twice in one moment.", "error_table", "error_id", "archived_at",
    told="dol_errors_archive_199001_pkey")  # fmt: skip
check(ARCHIVE, "error_archive_status", "What is archived says so.", status="'ACTIVE'")
check(ARCHIVE, "error_archive_why", "Why is a listed reason.", archive_reason="'BORED'")
check(ARCHIVE, "error_archive_final_disposition_check", "A disposition is a listed one.", final_disposition="'PARK'")

MONTH = "recoup.error_archive_month"
DROPPED = {"status": "'DROPPED'", "dropped_at": NOW, "rows": "0", "digest": "''"}
DROP = (
    "update recoup.error_archive_month set status = 'DROPPED', dropped_at = recoup.now(), rows = 0,"
    " digest = sha256('') where month = %s"
)

key(MONTH, "error_archive_month_pkey", "A month is kept once.", "error_table", "month")
check(MONTH, "error_archive_month_month_check", "A month begins on its first.", month="date '1990-02-02'")
check(MONTH, "error_archive_month_status_check", "A status is a listed one.", status="'LOST'")
check(MONTH, "error_archive_month_made_at_check", "Times are times.", made_at=INFINITE)
check(MONTH, "error_archive_month_dropped_at_check", "Times are times.", **DROPPED | {"dropped_at": INFINITE})
check(MONTH, "error_archive_month_rows_check", "No month held less than nothing.", **DROPPED | {"rows": "-1"})
for told in ("dropped_at", "rows", "digest"):
    check(MONTH, "error_archive_month_check", f"A dropped month has its {told}.", **DROPPED | {told: "null"})
check(MONTH, "error_archive_month_check", "One that is kept has none.", dropped_at=NOW)


TOLD = "select from recoup.control_log where subject = %s and key = %s and event_type = %s"

REDACTION = "recoup.error_redaction"
REDACT = (
    "insert into recoup.error_redaction (error_table, error_id, error_message, digest, redacted_at)"
    " values (%s, %s, %s, recoup.redaction_digest(%s, null, null), recoup.now()) returning redaction_id"
)

key(REDACTION, "error_redaction_pkey", "A redaction has an identity.", "redaction_id")
check(REDACTION, "error_redaction_status_check", "A status is a listed one.", status="'LOST'")
check(REDACTION, "error_redaction_redacted_at_check", "Times are times.", redacted_at=INFINITE)


def redact(tx: Transaction, error: int, text: str = "[redacted]") -> int:
    with acting(tx, OPERATOR):
        (made,) = tx.execute(REDACT, (ERRORS, error, text, text)).fetchone() or (0,)
    return int(made)


@law(REDACTION, "recoup.rule_error_redactions", "insert")
def a_text_may_lose_something_and_gains_nothing(tx: Transaction) -> None:
    """Its message cannot be replaced by another one."""
    words = (ERRORS, new_error(tx), "other", "other")
    tx.execute("alter table recoup.error_redaction disable trigger d_settle_error_redactions_on_insert")  # asks again
    refused(tx, REDACT, words, who=OPERATOR, by="recoup.rule_error_redactions", sqlstate="RC063", words=ERRORS)


@law(REDACTION, "recoup.record_control", "insert")
def a_redaction_is_logged(tx: Transaction) -> None:
    """With the digest of what is left."""
    redaction = redact(tx, new_error(tx))
    seen(tx, TOLD + " and facts ? 'digest'", REDACTION, str(redaction), "BIRTH")


@law(REDACTION, "recoup.settle_error_redactions", "insert")
def a_redaction_erases(tx: Transaction) -> None:
    """The row says so from then on."""
    error = new_error(tx)
    redact(tx, error)
    seen(tx, "select from recoup.error where error_id = %s and error_message = '[redacted]'", error)


TRACEBACK = "recoup.retry_traceback"
TRACE = (
    "insert into recoup.retry_traceback (error_table, error_id, retry, token, traceback, recorded_at)"
    " values ('outreach.dol_errors', %(error)s, 1, %(token)s, 'Traceback', recoup.now()) returning traceback_id"
)
UNTRACE = "delete from recoup.retry_traceback where traceback_id = %s"

key(TRACEBACK, "retry_traceback_pkey", "A traceback has an identity.", "traceback_id", then={"retry": "2"})
key(TRACEBACK, "retry_traceback_error_id_retry_key", "A retry has one traceback.", "error_id", "retry")
check(TRACEBACK, "retry_traceback_status_check", "A status is a listed one.", status="'LOST'")
check(TRACEBACK, "retry_traceback_retry_check", "Retries are counted from 1.", retry="0")
check(TRACEBACK, "retry_traceback_traceback_check", "A traceback has a bounded length.", traceback="''")
check(TRACEBACK, "retry_traceback_recorded_at_check", "Times are times.", recorded_at=INFINITE)


def traced(tx: Transaction) -> int:
    with acting(tx, WORKER):
        (made,) = tx.execute(TRACE, failed_retry(tx)).fetchone() or (0,)
    return int(made)


@law(TRACEBACK, "recoup.rule_retry_tracebacks", "insert")
def a_traceback_is_of_a_retry_that_failed(tx: Transaction) -> None:
    """Under the token of its claim, and no other."""
    retry = failed_retry(tx) | {"token": uuid.uuid4()}
    refused(tx, TRACE, retry, who=WORKER, by="recoup.rule_retry_tracebacks", sqlstate="RC064", words=ERRORS)


@law(TRACEBACK, "recoup.rule_traceback_exits", "delete")
def a_traceback_is_kept_with_its_error(tx: Transaction) -> None:
    """The archiver does not delete it before."""
    made = traced(tx)
    refused(tx, UNTRACE, (made,), who=ARCHIVER, by="recoup.rule_traceback_exits", sqlstate="RC064", words=ERRORS)


@law(TRACEBACK, "recoup.record_control", "insert")
def a_traceback_is_logged(tx: Transaction) -> None:
    """BIRTH is in the control log."""
    seen(tx, TOLD, TRACEBACK, str(traced(tx)), "BIRTH")


@law(TRACEBACK, "recoup.record_control", "delete")
def a_deleted_traceback_is_logged(tx: Transaction) -> None:
    """EXIT is in the control log, with who deleted it and why."""
    made = traced(tx)
    with acting(tx, OPERATOR):
        tx.execute(UNTRACE, (made,))
    seen(tx, TOLD, TRACEBACK, str(made), "EXIT")


@law(MONTH, "recoup.rule_archive_months", "update")
def a_month_is_kept_for_as_long_as_the_policy_says(tx: Transaction) -> None:
    """A year means that all of the month is older than that."""
    (first,) = tx.execute("select (date_trunc('month', recoup.now()) - interval '1 year')::date").fetchone() or (None,)
    month = new_archive_month(tx, month=str(first))
    refused(tx, DROP, (month,), who=ARCHIVER, by="recoup.rule_archive_months", sqlstate="RC051", words=ERRORS)


@law(MONTH, "recoup.record_control", "insert")
def a_month_that_begins_is_logged(tx: Transaction) -> None:
    """BIRTH is in the control log."""
    seen(tx, TOLD, MONTH, f"{ERRORS}, {new_archive_month(tx)}", "BIRTH")


@law(MONTH, "recoup.record_control", "update")
def a_month_that_is_dropped_is_logged(tx: Transaction) -> None:
    """With how many errors it held, and their digest."""
    month = new_archive_month(tx)
    with acting(tx, ARCHIVER):
        tx.execute(DROP, (month,))
    seen(tx, TOLD + " and facts ? 'digest' and facts -> 'rows' = '0'", MONTH, f"{ERRORS}, {month}", "MOVE")


THERE = "select where to_regclass(%s) is not null"


@law(MONTH, "recoup.settle_archive_months", "insert")
def a_month_that_begins_has_its_partition(tx: Transaction) -> None:
    """Closed like its parent, so that nothing archived in it is changed."""
    new_archive_month(tx)
    seen(tx, THERE, f"{ERRORS}_archive_199001")


@law(MONTH, "recoup.settle_archive_months", "update")
def a_month_that_is_dropped_is_gone(tx: Transaction) -> None:
    """The row stays, the partition does not."""
    month = new_archive_month(tx)
    with acting(tx, ARCHIVER):
        tx.execute(DROP, (month,))
    if tx.execute(THERE, (f"{ERRORS}_archive_199001",)).rowcount:
        raise Silent("The partition is still there.")


# The log ------------------------------------------------------------------------------------------------------------

EVENT = "recoup.error_event"

key(EVENT, "error_event_pkey", "A place in the order is one event's.", "seq")
check(EVENT, "error_event_logged_at_check", "Times are times.", logged_at=INFINITE)
check(EVENT, "error_event_event_type_check", "An event is a listed one.", event_type="'LOST'")
check(EVENT, "error_event_actor_check", "An actor is of a known kind.", actor="'robot'")

# Operations over many -----------------------------------------------------------------------------------------------

OPERATION = "recoup.operation"
DONE = {"status": "'DONE'", "done_at": NOW}
STEPPED = {
    "items": "2", "canary": CANARY, "step": "1", "step_start": "0", "step_end": "1", "next_at": NOW,
    "requested_by": "recoup.acting_id()",
}  # fmt: skip
AS_THEY = "jsonb_build_object('actor', recoup.acting_kind(), 'authority', 'recoup_operator')"
CONTINUED = {"continued_as": AS_THEY, "requested_by": "recoup.acting_id()"}

key(OPERATION, "operation_pkey", "An id is one operation's.", "operation_id")
check(OPERATION, "operation_verb_check", "A verb is a word.", verb="'For get'")
check(OPERATION, "operation_items_check", "Nothing is about less than nothing.", items="-1")
check(OPERATION, "operation_status_check", "A status is a listed one.", status="'LOST'")
check(OPERATION, "operation_requested_at_check", "Times are times.", requested_at=INFINITE)
check(OPERATION, "operation_done_at_check", "Times are times.", **DONE | {"done_at": INFINITE})
check(OPERATION, "operation_check", "What is done was so at a time.", status="'DONE'")
check(OPERATION, "operation_check", "What is not was not.", done_at=NOW)
check(OPERATION, "operation_next_at_check", "Times are times.", **STEPPED | {"next_at": INFINITE})
check(OPERATION, "operation_watch_until_check", "Times are times.", **STEPPED | {"watch_until": INFINITE})
check(OPERATION, "operation_steps", "What goes in steps is in one.", **STEPPED | {"step": "null"})
check(OPERATION, "operation_steps", "Steps are counted from one.", **STEPPED | {"step": "0"})
check(OPERATION, "operation_steps", "A step has items.", **STEPPED | {"step_end": "0"})
check(OPERATION, "operation_steps", "These are the operation's.", **STEPPED | {"step_end": "3"})
check(OPERATION, "operation_steps", "What does not go in steps has none.", step="1")
check(OPERATION, "operation_steps", "Nor does it stop itself.", status="'STOPPED'")
check(OPERATION, "operation_taken_up_at_check", "Times are times.", **CONTINUED | {"taken_up_at": INFINITE})
check(OPERATION, "operation_continued", "Only what is continued is taken up.", taken_up_at=NOW)
check(OPERATION, "operation_continued", "Steps have their own way.", **STEPPED | CONTINUED)


@law(OPERATION, "recoup.rule_operation_births", "insert")
def an_operation_begins_for_who_begins_it_and_with_its_first_step(tx: Transaction) -> None:
    """Under the name of whoever acts, who has the authority, with what the policy has."""
    for change in ({"step_end": "2"}, {"requested_by": "'mallory'"}, {"canary": f"{CANARY} - 'growth'"},
                   {"canary": f"{CANARY} - 'authority'"}, {"canary": f"{CANARY} - 'actor'"}):  # fmt: skip
        row = insertion(tx, OPERATION, {**STEPPED, **change})
        refused(tx, row, who=OPERATOR, by="recoup.rule_operation_births", sqlstate="RC073")
    # The same for one that a worker continues when its process dies.
    for change in ({"requested_by": "'mallory'"},
                   {"continued_as": f"{AS_THEY} - 'authority'"}, {"continued_as": f"{AS_THEY} - 'actor'"}):  # fmt: skip
        row = insertion(tx, OPERATION, {**CONTINUED, **change})
        refused(tx, row, who=OPERATOR, by="recoup.rule_operation_births", sqlstate="RC073")


@law(OPERATION, "recoup.rule_operation_moves", "update")
def no_step_is_left_out(tx: Transaction) -> None:
    """Nor an item without a result before it."""
    operation = new_canary(tx)
    for change in ("step = 3, step_start = 1, step_end = 2", "step = 2, step_start = 1, step_end = 2", "step_end = 2"):
        move = f"update {OPERATION} set {change} where operation_id = %s"
        refused(tx, move, (operation,), who=OPERATOR, by="recoup.rule_operation_moves", sqlstate="RC073")


@law(OPERATION, "recoup.record_control", "insert")
def an_operation_that_is_asked_for_is_logged(tx: Transaction) -> None:
    """With its verb and what it is about."""
    seen(tx, TOLD + " and facts ->> 'verb' = 'review'", OPERATION, str(new_operation(tx)), "BIRTH")


@law(OPERATION, "recoup.record_control", "update")
def an_operation_that_is_done_is_logged(tx: Transaction) -> None:
    """MOVE is in the control log."""
    operation = new_operation(tx)
    with acting(tx, OPERATOR):
        done = "update recoup.operation set status = 'DONE', done_at = recoup.now() where operation_id = %s"
        tx.execute(done, (operation,))
    seen(tx, TOLD + " and to_status = 'DONE'", OPERATION, str(operation), "MOVE")


ITEM = "recoup.operation_item"
GONE = {"status": "'REFUSED'", "refusal": "'gone'", "ended_at": NOW}

key(ITEM, "operation_item_pkey", "A place is one item's.", "operation_id", "place", then={"unit": "'x.y/2'"})
key(ITEM, "operation_item_operation_id_unit_key", "An error stands in an operation once.",
    "operation_id", "unit", then={"place": "2"})  # fmt: skip
reference(ITEM, "operation_id", OPERATION, "An item belongs to an operation.")
check(ITEM, "operation_item_place_check", "Places are counted from one.", place="0")
check(
    ITEM,
    "operation_item_status_check",
    "A status is a listed one.",
    **GONE | {"status": "'LOST'", "refusal": "null"},
)
check(ITEM, "operation_item_ended_at_check", "Times are times.", **GONE | {"ended_at": INFINITE})
check(ITEM, "operation_item_check", "A refusal has a reason.", **GONE | {"refusal": "null"})
check(ITEM, "operation_item_check", "What is done has none.", **GONE | {"status": "'DONE'"})
check(ITEM, "operation_item_check1", "What has its result got it at a time.", **GONE | {"ended_at": "null"})
check(ITEM, "operation_item_check1", "What has none did not.", ended_at=NOW)


@law(ITEM, "recoup.rule_operation_items", "insert")
def nobody_adds_an_item_to_an_operation(tx: Transaction) -> None:
    """It has as many as when it began."""
    one_more = f"insert into {ITEM} (operation_id, place, unit) values (%s, 2, '{ERRORS}/2')"
    operation = new_operation(tx, items=1)
    refused(tx, one_more, (operation,), who=OPERATOR, by="recoup.rule_operation_items", sqlstate="RC073")


@law(ITEM, "recoup.rule_operation_results", "update")
def an_item_beyond_the_step_gets_no_result(tx: Transaction) -> None:
    """Nor one of an operation that has ended."""
    operation = new_canary(tx)
    end = f"update {ITEM} set status = 'DONE', ended_at = recoup.now() where operation_id = %s and place = %s"
    refused(tx, end, (operation, 2), who=OPERATOR, by="recoup.rule_operation_results", sqlstate="RC073")
    with acting(tx, OPERATOR):
        tx.execute(
            "update recoup.operation set status = 'CANCELLED', done_at = recoup.now() where operation_id = %s",
            (operation,),
        )
    refused(tx, end, (operation, 1), who=OPERATOR, by="recoup.rule_operation_results", sqlstate="RC073")


# Processed counts ---------------------------------------------------------------------------------------------------

PROCESSED = "recoup.processed"
key(PROCESSED, "processed_pkey", "A place in the order of logs is one report's.", "seq")
key(PROCESSED, "processed_once", "A report that is sent again is the one that is there.", "error_table",
    "idempotency_key")  # fmt: skip
check(PROCESSED, "processed_logged_at_check", "Times are times.", logged_at=INFINITE)
check(PROCESSED, "processed_period", "Times are times.", period_from="'-infinity'")
check(PROCESSED, "processed_count_check", "Nothing is processed less than never.", count="-1")
check(PROCESSED, "processed_count_check", "Nor more than could be.", count="1000000000001")
check(PROCESSED, "processed_idempotency_key_check", "A key is there.", idempotency_key="''")
check(PROCESSED, "processed_idempotency_key_check", "Not an endless one.", idempotency_key="repeat('x', 201)")
check(PROCESSED, "processed_actor_check", "An actor is of a known kind.", actor="'robot'")
check(PROCESSED, "processed_period", "A period ends after it began.", period_from=LATER)
check(PROCESSED, "processed_period", "It is not a year.", period_from="recoup.now() - interval '745 hours'")


@law(PROCESSED, "recoup.stamp_processed", "insert")
def nothing_was_processed_tomorrow(tx: Transaction) -> None:
    """A period has ended when it is reported, whoever reports it."""
    ahead = insertion(tx, PROCESSED, {"period_to": LATER})
    refused(tx, ahead, by="recoup.stamp_processed", sqlstate="RC059")


@law(PROCESSED, "recoup.stamp_processed", "insert")
def what_is_processed_belongs_to_an_error_table(tx: Transaction) -> None:
    """One of the policy, and no other text."""
    for name in ("'outreach.no_such'", "''", "'recoup.error'"):
        refused(tx, insertion(tx, PROCESSED, {"error_table": name}), by="recoup.stamp_processed", sqlstate="RC059")


@law(PROCESSED, "recoup.stamp_processed", "insert")
def who_reported_is_not_the_writers_to_say(tx: Transaction) -> None:
    """Time and author come from the transaction, whatever the row claims."""
    claimed = put(tx, PROCESSED, {"logged_at": "recoup.now() - interval '1 day'"})
    stamped = "actor_id <> 'mallory' and logged_at = recoup.now() and authority = current_user and actor = 'system'"
    seen(tx, f"select from recoup.processed where seq = %s and {stamped}", claimed["seq"])


# Counts for metrics -------------------------------------------------------------------------------------------------

TALLY, MARK = "recoup.error_tally", "recoup.error_tally_mark"
unreplicated(TALLY, MARK)
key(TALLY, "error_tally_pkey", "The same is counted in one place.", "slot", "error_table", "flags")
check(TALLY, "error_tally_slot_check", "Times are times.", slot=INFINITE)
check(TALLY, "error_tally_events_check", "Nothing is not counted.", events="0")
check(TALLY, "error_tally_last_at_check", "Times are times.", last_at=INFINITE)
key(MARK, "error_tally_mark_pkey", "There is one mark.", "one")
check(MARK, "error_tally_mark_one_check", "And no other.", one="false")
_COUNTED = {"incarnation": "1", "counted_before": "'1'", "since": NOW, "counted_at": NOW}
check(MARK, "error_tally_mark_since_check", "Times are times.", **_COUNTED | {"since": INFINITE})
check(MARK, "error_tally_mark_counted_at_check", "Times are times.", **_COUNTED | {"counted_at": INFINITE})
check(MARK, "error_tally_mark_whole", "Counted, or not.", **_COUNTED | {"since": "null"})
