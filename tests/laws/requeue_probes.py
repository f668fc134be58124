"""The probes of what recovery asks the control plane for."""

from __future__ import annotations

from conformance.requeue_cast import requested
from extraction import terminal
from laws.partition_probes import INFINITE, LISTED, TIMES, named
from laws.probing import PROBES, check, key, law, quiet, refused, seen
from laws.rows import NOW, insertion
from recoup.database.connection import Transaction

__all__ = ["PROBES"]

REQUEST = "partitions.requeue_request"

key(REQUEST, "requeue_request_pkey", "A candidate asks once.", "candidate_id")
check(REQUEST, "requeue_request_status_check", LISTED, status="'odd'")
check(REQUEST, "requeue_request_verb_check", LISTED, verb="'odd'", alternative="null")
named(REQUEST, "approver", 500)
check(REQUEST, "requeue_request_requested_at_check", TIMES, requested_at=INFINITE)
check(REQUEST, "requeue_request_approved", "What is given up was given up by a person.", verb="'mark'", approver="null")
check(REQUEST, "requeue_request_alternative", "Only a retry has an alternative.", verb="'mark'", alternative="'{}'")


@law(REQUEST, "recoup.record_control", "insert")
def a_request_is_on_record(tx: Transaction) -> None:
    """Who approved what is in the control log."""
    told = "select from recoup.control_log where subject = %s and key = %s and facts ->> 'approver' = 'ann'"
    seen(tx, told, REQUEST, str(requested(tx)))


@law(REQUEST, "partitions.settle_requeue_requests", "insert")
def a_request_moves_its_schedule(tx: Transaction) -> None:
    """What is asked for waits to be dispatched, and the override log names the candidate."""
    candidate = requested(tx)
    seen(tx, "select from partitions.schedule where candidate_id = %s and status = 'waiting'", candidate)
    seen(tx, "select from partitions.override_log where selection like '%%' || %s || '%%'", str(candidate))


@law(REQUEST, "partitions.rule_requeue_requests", "insert")
def what_a_person_gave_up_is_not_requeued_by_itself(tx: Transaction) -> None:
    """A terminal partition that a person marked waits for a person; and a request is made now."""
    by_itself = {"partition_id": str(terminal(tx)), "approver": "null"}
    with quiet(tx, REQUEST, but="partitions.rule_requeue_requests"):  # so that it alone answers
        statements = [
            insertion(tx, REQUEST, one) for one in (by_itself, {"requested_at": f"{NOW} - interval '1 hour'"})
        ]
    for statement in statements:
        refused(tx, statement, by="partitions.rule_requeue_requests", sqlstate="RC148")
