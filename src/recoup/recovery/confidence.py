"""Confidence: the share of an action's latest outcomes that were successes, with their number as evidence."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from recoup.database.arrays import literal
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.recovery.policy import RecoveryPolicy

Q = load("recoup.recovery", "evaluation.sql")
UNKNOWN = 0.5  # of an action that has no outcomes yet


class Estimate(NamedTuple):
    """How often an action made its failure go away, and on how many outcomes that rests."""

    succeeded: int
    ended: int
    awaiting: int

    def confidence(self, policy: RecoveryPolicy) -> float:
        """The share, with what is still awaited counted as failures: successes arrive early, failures late.

        That keeps an action from starting by itself. It does not have it skipped: only outcomes that are known do.
        """
        tried = self.ended + self.awaiting
        if not tried:
            return UNKNOWN
        known = self.succeeded / self.ended if self.ended else UNKNOWN
        return max(self.succeeded / tried, min(known, policy.skip_below))

    def is_low(self, policy: RecoveryPolicy) -> bool:
        """Whether a candidate with this action is skipped: it rests on enough outcomes, and they were bad."""
        return self.ended >= policy.evidence_min and self.confidence(policy) < policy.skip_below


def estimates(tx: Transaction, names: set[str], policy: RecoveryPolicy) -> dict[str, Estimate]:
    """The estimate for each action."""
    given = {"names": sorted(names), "most": policy.evidence_max}
    return {name: Estimate(*counts) for name, *counts in tx.execute(Q["outcomes"], given)}


def rate(tx: Transaction, candidates: Mapping[UUID, str], policy: RecoveryPolicy) -> dict[str, Estimate]:
    """Write the confidence of candidates, by their action, as the matcher. Returns the estimate for each action."""
    if not candidates:
        return {}
    known = estimates(tx, set(candidates.values()), policy)
    shares = {name: one.confidence(policy) for name, one in known.items()}
    tx.execute(
        Q["rated"],
        {
            "ids": literal("uuid", candidates),
            "confidences": literal("float8", [shares[name] for name in candidates.values()]),
            "evidence": literal("integer", [known[name].ended for name in candidates.values()]),
        },
    )
    return known
