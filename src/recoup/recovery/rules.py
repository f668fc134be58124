"""Rules: conditions of the policy over the facts of a failure. Those that are true recommend their action.

Compiled once for each set of rules and process, evaluated for a batch. A rule whose evaluation fails decides nothing;
its error is recorded with the evaluation, and the others count.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import dict_row

from recoup.database.arrays import literal
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.expressions import Conditions, Verdict
from recoup.policy import versions
from recoup.recovery.condition import Candidate
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.rule_facts import CHANGING, LANGUAGE, MAX_CONTEXT, MAX_INCIDENT, rule_facts

Q = load("recoup.recovery", "rules.sql")
MAX_MESSAGE = 10_000
LEASE_SHARE = 0.25  # of the lease of an evaluation, for the rules of a batch


class Judged(NamedTuple):
    """What the rules say of a failure."""

    true: tuple[str, ...]
    errors: Mapping[str, str]  # by the rule that failed
    facts: Mapping[str, Any]  # those that are not in the row of the failure


class Moment(NamedTuple):
    """A failure at a time, with its candidates until then."""

    failure_match_id: UUID
    at: datetime
    candidates: Sequence[Candidate]


def active_policy(tx: Transaction) -> RecoveryPolicy:
    """The policy that is active now: what an evaluation is stamped with. Workers read their own from time to time."""
    (digest,) = tx.execute(Q["policy_digest"]).fetchone() or (None,)
    found = _read.get(digest)
    if found is None:
        found = versions.active(tx).policy[RecoveryPolicy]
        _read.clear()
        _read[digest] = found
    return found


_read: dict[str | None, RecoveryPolicy] = {}  # by the digest of its values


def require_engine(policy: RecoveryPolicy) -> None:
    """Refuse to evaluate rules where the package that does it is not installed."""
    if policy.rules:
        LANGUAGE.require_engine()


def judge(
    tx: Transaction, candidates: Mapping[UUID, Sequence[Candidate]], policy: RecoveryPolicy, now: datetime
) -> dict[UUID, Judged]:
    """What the rules of a policy say of failures now, by their matches.

    Where rules are slow, of as many as fit well within the lease of an evaluation, and of one at least: the others are
    left out.
    """
    moments = [Moment(match, now, tried) for match, tried in candidates.items()]
    until = time.monotonic() + policy.evaluation_lease_s * LEASE_SHARE
    judged: dict[UUID, Judged] = {}
    for match, facts in zip(candidates, read_facts(tx, moments), strict=True):
        verdict = evaluate(policy, facts)
        judged[match] = Judged(verdict.true, verdict.errors, {name: facts[name] for name in CHANGING})
        if time.monotonic() >= until:
            break
    return judged


def read_facts(tx: Transaction, moments: Sequence[Moment]) -> list[dict[str, Any]]:
    """The facts that rules see, of each of these."""
    given = {
        "ids": literal("uuid", [one.failure_match_id for one in moments]),
        "at": literal("timestamptz", [one.at for one in moments]),
        "most": MAX_INCIDENT, "most_context": MAX_CONTEXT, "most_message": MAX_MESSAGE,
    }  # fmt: skip
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(Q["failures"], given).fetchall()
    return [
        rule_facts(row, ((c.status, c.action_name) for c in one.candidates), one.at)
        for row, one in zip(rows, moments, strict=True)
    ]


def evaluate(policy: RecoveryPolicy, facts: Mapping[str, Any]) -> Verdict:
    """Which rules of a policy are true of these facts, and which fail."""
    return compiled(policy).evaluate(facts)


def compiled(policy: RecoveryPolicy) -> Conditions:
    """The rules of a policy, compiled."""
    return _compiled(tuple((name, rule.when) for name, rule in policy.rules.items()))


@lru_cache(maxsize=8)
def _compiled(rules: tuple[tuple[str, str], ...]) -> Conditions:
    return LANGUAGE.conditions(dict(rules))
