"""Trying rules on recorded failures: what they would recommend, and what changes against the active policy.

Each recorded evaluation is repeated, on the facts of its time; a failure that was not evaluated yet is evaluated as it
came. Nothing is written.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import namedtuple_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.expressions import MAX_S
from recoup.policy import document, versions
from recoup.recovery.condition import Facts
from recoup.recovery.facts import Claimed, look
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.recommending import Recommendation, recommend
from recoup.recovery.rules import Moment, evaluate, read_facts
from recoup.refusals import InputRefused

Q = load("recoup.recovery", "rules.sql")
PAGE = 1_000  # evaluations at once
MAX_FAILURES = 100_000
MAX_SLOW_S = 20.0  # of evaluations that take too long each
MAX_EXAMPLES = 3  # of each change
MAX_COUNTED = 10_000  # evaluations in which the rules of the active policy are counted
BY_HAND = "given"  # the name of a rule that is given without one


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRule:
    """A rule of the active policy, and how it did in the latest evaluations under it."""

    rule_name: str
    when: str
    action: str
    weight: float
    times: int
    parameters: Mapping[str, Any]
    description: str
    fired: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """How a rule did."""

    rule_name: str
    action: str
    weight: float
    fired: int  # in how many evaluations it was true
    decided: int  # and its action was recommended
    failed: int
    error: str | None  # the first one


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What the active policy recommends, and what would be recommended instead."""

    now: str | None
    then: str | None
    evaluations: int
    examples: Sequence[Mapping[str, Any]]  # failure_match_id and message


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The result of a test."""

    failures: int
    evaluations: int
    is_complete: bool  # False: it was stopped, because conditions take too long
    changed: int
    recommended: Mapping[str, int]  # evaluations by action; "nothing"
    rules: Sequence[RuleResult]
    changes: Sequence[Change]


def rules(tx: Transaction) -> list[ListedRule]:
    """The rules of the active policy, those that recommend most strongly first."""
    policy = _active(tx)
    counted = {name: (fired, failed) for name, fired, failed in tx.execute(Q["rules"], {"most": MAX_COUNTED})}
    return [
        ListedRule(
            rule_name=name, **rule.model_dump(), fired=counted.get(name, (0, 0))[0], failed=counted.get(name, (0, 0))[1]
        )
        for name, rule in sorted(policy.rules.items(), key=lambda item: (-item[1].weight, item[0]))
    ]


def rule(tx: Transaction, name: str) -> ListedRule:
    """One rule of the active policy."""
    known = rules(tx)
    found = next((one for one in known if one.rule_name == name), None)
    if found is None:
        names = ", ".join(one.rule_name for one in known)
        raise InputRefused(
            "rule_unknown",
            f"The active policy has no rule {name!r}.",
            f"Its rules are {names}." if names else "It has none. Add one: recoup policy apply FILE --reason WHY",
        )
    return found


def given(
    text: str | None, *, when: str | None = None, action: str | None = None, weight: float = 1.0
) -> dict[str, Any] | None:
    """What is to be tested: a document, or a single rule; None: the active rules."""
    if (when is None) is not (action is None) or (text is not None and when is not None):
        raise InputRefused(
            "rules_unclear",
            "Rules are given as a document, or one rule with its condition and its action.",
            "For example: recoup recovery rules test --when COND --action NAME, or --file POLICY.toml",
        )
    if when is not None:
        return {"recovery": {"rules": {BY_HAND: {"when": when, "action": action, "weight": weight}}}}
    return None if text is None else document.parsed(text)


def replay(
    tx: Transaction,
    wanted: Mapping[str, Any] | None = None,
    *,
    source: str | None = None,
    since: timedelta | None = None,
    limit: int = 1_000,
) -> Replay:
    """Evaluate rules for the latest recorded failures. ``wanted``: a policy document, merged into the active policy."""
    active = _active(tx)
    new = active if wanted is None else _merged(tx, wanted)
    tally = _Tally(new)
    asked = {"source": source, "since": _from(tx, since), "limit": min(limit, MAX_FAILURES)}
    with tx.cursor(row_factory=namedtuple_row) as cursor:
        rows = iter(cursor.execute(Q["recorded"], asked).fetchall())
    while page := list(islice(rows, PAGE)):
        for row, facts, seen in _replayed(tx, page):
            began = time.thread_time()
            tally.add(row, _recommended(active, facts, seen), _recommended(new, facts, seen, tally))
            if tally.is_slow(time.thread_time() - began):
                return tally.result(is_complete=False)
    return tally.result()


class Replayed(NamedTuple):
    """An evaluation, repeated."""

    row: Any
    facts: Facts
    seen: Mapping[str, Any]  # the facts that rules see


def _replayed(tx: Transaction, page: Sequence[Any]) -> Iterator[Replayed]:
    ids = dict.fromkeys(row.failure_match_id for row in page)
    now = {one.claimed.failure_match_id: one.facts for one in look(tx, [Claimed(id_, 0, 0, id_) for id_ in ids])}
    # Candidates are made one after the other, each by an evaluation that counted those before it.
    then = [
        replace(now[row.failure_match_id], candidates=now[row.failure_match_id].candidates[: row.candidates])
        for row in page
    ]
    moments = [
        Moment(row.failure_match_id, row.at, facts.candidates) for row, facts in zip(page, then, strict=True)
    ]  # fmt: skip
    return map(Replayed, page, then, read_facts(tx, moments))


def _recommended(
    policy: RecoveryPolicy, facts: Facts, seen: Mapping[str, Any], tally: "_Tally | None" = None
) -> Recommendation | None:
    true: tuple[str, ...] = ()
    if policy.rules:
        verdict = evaluate(policy, seen)
        true = verdict.true
        if tally is not None:
            tally.rules(verdict.true, verdict.errors)
    return recommend(replace(facts, fired=true), policy)


class _Tally:
    """What a test counts."""

    def __init__(self, policy: RecoveryPolicy) -> None:
        self.policy = policy
        self.matches: set[UUID] = set()
        self.fired: Counter[str] = Counter()
        self.decided: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.error: dict[str, str] = {}
        self.slow_s = 0.0
        self.recommended: Counter[str] = Counter()
        self.changes: Counter[tuple[str | None, str | None]] = Counter()
        self.examples: defaultdict[tuple[str | None, str | None], list[dict[str, Any]]] = defaultdict(list)

    def rules(self, true: Sequence[str], errors: Mapping[str, str]) -> None:
        self.fired.update(true)
        self.failed.update(errors.keys())
        self.error = {**errors, **self.error}

    def add(self, row: Any, now: Recommendation | None, then: Recommendation | None) -> None:
        self.matches.add(row.failure_match_id)
        self.recommended[then.action_name if then else "nothing"] += 1
        if then is not None and then.fired[0] in self.policy.rules:
            self.decided[then.fired[0]] += 1
        if _compared(now) != _compared(then):
            change = (_words(now, then), _words(then, now))
            self.changes[change] += 1
            if len(self.examples[change]) < MAX_EXAMPLES:
                self.examples[change].append({"failure_match_id": row.failure_match_id, "message": row.error_message})

    def is_slow(self, spent_s: float) -> bool:
        """Whether evaluations that take too long have taken so much time that the person who waits knows enough."""
        self.slow_s += spent_s if spent_s > MAX_S else 0.0
        return self.slow_s > MAX_SLOW_S

    def result(self, *, is_complete: bool = True) -> Replay:
        return Replay(
            failures=len(self.matches),
            evaluations=self.recommended.total(),
            is_complete=is_complete,
            changed=self.changes.total(),
            recommended=dict(self.recommended.most_common()),
            rules=[
                RuleResult(
                    rule_name=name, action=rule.action, weight=rule.weight, fired=self.fired[name],
                    decided=self.decided[name], failed=self.failed[name], error=self.error.get(name),
                )
                for name, rule in sorted(self.policy.rules.items(), key=lambda item: (-item[1].weight, item[0]))
            ],
            changes=[
                Change(now=now, then=then, evaluations=count, examples=self.examples[now, then])
                for (now, then), count in self.changes.most_common()
            ],
        )  # fmt: skip


def _compared(one: Recommendation | None) -> tuple[str, Mapping[str, Any]] | None:
    return None if one is None else (one.action_name, one.parameters or {})


def _words(one: Recommendation | None, other: Recommendation | None) -> str | None:
    """An action; with the parameters of its rule where only these differ."""
    if one is None:
        return None
    same = other is not None and other.action_name == one.action_name
    return f"{one.action_name} {dict(one.parameters or {})}" if same else one.action_name


def _active(tx: Transaction) -> RecoveryPolicy:
    return versions.active(tx).policy[RecoveryPolicy]


def _merged(tx: Transaction, wanted: Mapping[str, Any]) -> RecoveryPolicy:
    """The active policy with what a document says of recovery."""
    section = RecoveryPolicy.section
    if not isinstance(wanted.get(section), Mapping):
        raise InputRefused(
            "rules_missing", "The document has no section recovery.", "Rules are sections [recovery.rules.NAME]."
        )
    stored = document.known_only(versions.active(tx).figures.get(section, {}), RecoveryPolicy)
    values = document.merged({section: stored}, {section: wanted[section]})
    return RecoveryPolicy.model_validate(document.completed(values, (RecoveryPolicy,))[section])


def _from(tx: Transaction, since: timedelta | None) -> datetime | None:
    if since is None:
        return None
    (found,) = tx.execute("select recoup.now() - %s", (since,)).fetchone() or (None,)
    assert isinstance(found, datetime)
    return found
