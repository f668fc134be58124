"""Confidence: what outcomes teach is counted, and candidates are rated by it (:mod:`recoup.recovery.estimate`).

The outcomes of a cell are read from its candidates, so none is missed or counted twice. Those of wider levels are
counted by day from the provenance, by one reader, in the transaction that acknowledges what it read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from recoup.database.acting import acting_as
from recoup.database.arrays import literal
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery import following
from recoup.recovery.estimate import UNKNOWN, Estimate, Known, Tally, estimate
from recoup.recovery.following import Event, Followed
from recoup.recovery.policy import RecoveryPolicy

Q = load("recoup.recovery", "confidence.sql")
LEARNER = "learner"  # name of the subscription
OUTCOMES = ("success", "failure", "rolled_back")


def estimates(tx: Transaction, candidates: Iterable[UUID], policy: RecoveryPolicy) -> dict[UUID, Estimate]:
    """The estimate for each candidate, one for all of a cell."""
    given = {
        "ids": literal("uuid", list(candidates)),
        "half_life": float(policy.evidence_half_life_days),
        "most": policy.evidence_max,
    }
    found: dict[UUID, Estimate] = {}
    for ids, good, cases, own_good, own_ended, awaiting, *wider in tx.execute(Q["known"], given):
        known = Known(
            Tally(own_good, own_ended), good, cases, awaiting, tuple(Tally(*sums) for sums in wider if sums is not None)
        )
        found |= dict.fromkeys(ids, estimate(known, policy))
    return found


def rate(tx: Transaction, candidates: Iterable[UUID], policy: RecoveryPolicy) -> dict[UUID, Estimate]:
    """Write the confidence of candidates whose action is selected, as the matcher. Returns their estimates."""
    found = estimates(tx, candidates, policy)
    if found:
        tx.execute(Q["rated"], _given(found))
    return found


def _given(found: Mapping[UUID, Estimate]) -> dict[str, Any]:
    # Candidates of one cell share their estimate: it is written out once.
    bases = {key: json.dumps(one.basis) for key, one in {id(one): one for one in found.values()}.items()}
    return {
        "ids": literal("uuid", found),
        "confidences": literal("float8", [one.confidence for one in found.values()]),
        "evidence": literal("integer", [one.evidence for one in found.values()]),
        "bases": literal("jsonb", [bases[id(one)] for one in found.values()]),
    }


# Learning -------------------------------------------------------------------------------------------------------------


def learn(tx: Transaction, policy: RecoveryPolicy) -> int:
    """Count what ended since, and rate again the pending candidates whose cell crossed a line, as the evaluator.

    With a login that is also the matcher. Returns how many events were read.
    """
    with acting_as(tx, Authority.MATCHER):
        low: list[UUID] = []
        read = following.follow(tx, LEARNER, _learners(policy, low))
    if low:
        following.wake(tx, sorted(low))  # they are skipped
    return read


def learn_lag(tx: Transaction) -> float | None:
    """Seconds that the oldest outcome has been waiting to be counted; None: none waits."""
    return following.lag(tx, LEARNER, _learners(RecoveryPolicy.shipped(), []))


def _learners(policy: RecoveryPolicy, low: list[UUID]) -> tuple[Followed, ...]:
    def then(tx: Transaction, events: Sequence[Event]) -> int:
        ids = literal("uuid", [event["candidate_id"] for event in events])
        (counted,) = tx.execute(Q["learn"], {"ids": ids}).fetchone() or (0,)
        low.extend(_rescored(tx, ids, policy))
        return int(counted)

    return (Followed(following.PROVENANCE, OUTCOMES, then),)


def _rescored(tx: Transaction, ended: str, policy: RecoveryPolicy) -> list[UUID]:
    """Pending candidates of the cells of these that crossed a line get their confidence. Matches of those now low."""
    pending = [row[0] for row in tx.execute(Q["rated_of_cells"], {"ids": ended})]
    found = estimates(tx, pending, policy) if pending else {}
    if not found:
        return []
    lines = {"floor": policy.confidence_floor, "least": policy.evidence_min, "skip_below": policy.skip_below}
    row = tx.execute(Q["rescore"], _given(found) | lines).fetchone()
    return list(row[1]) if row is not None else []


# Of actions, whatever failed ------------------------------------------------------------------------------------------


class Share(NamedTuple):
    """Outcomes of an action, for all failures together."""

    succeeded: int
    ended: int
    awaiting: int
    confidence: float


def shares(tx: Transaction, names: Iterable[str], policy: RecoveryPolicy) -> dict[str, Share]:
    """How often each action succeeded, and what is expected of it for a failure of which nothing is known."""
    given = {
        "names": sorted(names), "half_life": policy.evidence_half_life_days, "most": policy.evidence_max,
    }  # fmt: skip
    return {
        name: Share(int(good), int(ended), awaiting, Tally(float(own_good), float(own_ended)).mean(UNKNOWN))
        for name, good, ended, own_good, own_ended, awaiting in tx.execute(Q["actions"], given)
    }
