"""Plays histories, and records what the live system says between each two events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

from recoup import clock, policy, why
from recoup.client import Client
from recoup.database.connection import Transaction
from recoup.domain import explained
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.why import Answer

BETWEEN = timedelta(seconds=7)
SOURCES = explained(DOMAINS)
Live = Callable[[Transaction], Any]  # what the live rows and functions say of a subject


@dataclass(frozen=True)
class Noted:
    """What was said of a subject at an instant: by the live rows, and by ``why`` about the present."""

    at: datetime
    subject: str
    live: Any
    policy_version: int
    answer: Answer


@dataclass
class Recorder:
    """Follows subjects while a history is played."""

    client: Client
    subjects: dict[str, Live] = field(default_factory=dict)
    noted: list[Noted] = field(default_factory=list)

    def follow(self, subject: str, live: Live) -> None:
        self.subjects[subject] = live
        self.note()

    def note(self) -> None:
        """Let a moment pass, note what holds now of every subject, and let another one pass."""
        self.advance(BETWEEN)
        with self.client.transaction(Authority.READER) as tx:
            now, version = clock.read(tx).now, policy.in_force(tx).version
            for subject, live in self.subjects.items():
                answer = why.why(tx, subject, SOURCES, limit=1000)
                self.noted.append(Noted(now, subject, live(tx), version, answer))
        self.advance(BETWEEN)

    def advance(self, by: timedelta) -> None:
        with self.client.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)

    def why(self, subject: str, at: datetime | None = None, **more: Any) -> Answer:
        with self.client.transaction(Authority.READER) as tx:
            return why.why(tx, subject, SOURCES, at=at, **more)

    def check(self, compare: Callable[[Noted, Answer], None]) -> int:
        """Ask about every instant that was noted: the answer is the one that was right then."""
        for one in self.noted:
            then = self.why(one.subject, one.at, limit=1000)
            assert then.policy is not None
            assert (then.policy.version, then.at) == (one.policy_version, one.at)
            compare(one, then)
            assert differences(then, one.answer) == [], f"{one.subject} at {one.at}"
        return len(self.noted)


def differences(then: Answer, live: Answer) -> list[tuple[Any, Any]]:
    """What an answer about a past instant has that the answer at that instant had not, and the other way round."""
    ours, theirs = comparable(then), comparable(live)
    found: list[tuple[Any, Any]] = []
    for one in fields(Answer):
        mine, other = getattr(ours, one.name), getattr(theirs, one.name)
        if isinstance(mine, list):
            found += [(None, x) for x in other if x not in mine] + [(x, None) for x in mine if x not in other]
        if mine != other:
            found.append((one.name, None) if isinstance(mine, list) else (mine, other))
    return found


def comparable(answer: Answer) -> Answer:
    """An answer without what is told of the present only."""
    bare = {"next_step": None, "next_at": None}
    return replace(
        answer,
        is_present=False,
        next_step=None,
        subject=None if answer.subject is None else replace(answer.subject, **bare),  # type: ignore[arg-type]
        rows=sorted((replace(one, **bare) for one in answer.rows), key=lambda one: one.row),  # type: ignore[arg-type]
    )


def row(tx: Transaction, query: str, *given: Any) -> Any:
    """The one row of a query, or None."""
    return tx.execute(query.encode(), given).fetchone()
