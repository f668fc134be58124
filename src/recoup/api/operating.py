"""Operations over many rows: how they are shown, and how this process works through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from recoup.api.endpoints import Call
from recoup.database.connection import Transaction
from recoup.domains import DOMAINS
from recoup.operations import Operation, Subject, carry_on, steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """An operation over many rows, and its progress."""

    operation_id: UUID
    subject: str
    verb: str
    arguments: Mapping[str, Any]
    filter: Mapping[str, Any]
    items: int
    digest: bytes
    status: str
    requested_at: datetime
    requested_by: str
    done_at: datetime | None
    canary: Mapping[str, Any] | None
    step: int | None
    step_start: int | None
    step_end: int | None
    watch_until: datetime | None
    why: str | None
    taken_up_at: datetime | None
    paused: str | None
    pending: int
    done: int
    refused: int
    refusals: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """An operation, and what happened to it, oldest first."""

    operation: Progress
    events: Sequence[steps.Event]


def progress(operation: Operation) -> Progress:
    return Progress(**asdict(operation))


def subject_of(operation: Operation) -> Subject:
    """The subject whose rows an operation changes."""
    subjects = {subject.table: subject for domain in DOMAINS for subject in domain.subjects}
    return subjects[operation.subject]


def story(tx: Transaction, operation: Operation) -> Story:
    return Story(operation=progress(operation), events=steps.story(tx, operation.operation_id))


def continue_after(call: Call, subject: Subject, operation_id: UUID) -> None:
    """Work through an operation once this call has committed, in the background.

    If this process ends before, the rest stays pending, and a worker takes it up, if it began over HTTP.
    """

    def act() -> None:
        carry_on(call.database, subject, operation_id, actor=call.caller.actor, progress=call.background.check)

    call.afterwards.append(lambda: call.background.run(f"operation {operation_id}", act))
