"""The requests of recovery candidates to the control plane: how one is made."""

from __future__ import annotations

from uuid import UUID

from conformance.cast import Role
from extraction import terminal
from incidents import approve, make_effect, new_match, ready, start
from recoup.database.connection import Transaction
from recoup.partitions.requeueing import REQUEST

REQUEST_ROW = (
    "(candidate_id, partition_id, verb, approver, requested_at)"
    " select gen_random_uuid(), 1, 'retry', 'ann', now_ from (select recoup.now() as now_) t"
)


def requested(tx: Transaction, _status: str = "made") -> UUID:
    """The effect of an approved candidate for a terminal partition; returns the candidate."""
    candidate = approve(tx, ready(tx, new_match(tx, "partition", ref=str(terminal(tx)))))
    assert make_effect(tx, start(tx, candidate)) == "made"
    return candidate


REQUEST_ROLES: tuple[Role, ...] = (
    Role(REQUEST, {"made": REQUEST_ROW}, {"made": "approver = 'bob'"}, row_in=requested),
)
