"""The AIR log: what happened to an intake, event by event, and what the checks found."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.ledger.subscriptions import Log

Q = load("recoup.gate", "reports.sql")

AIR = Log(
    table="cl.gate_zero_air",
    columns=(
        "seq", "air_event_id", "entity_id", "event_type", "reason_code", "batch_id", "payload_ref", "actor", "actor_id",
        "attempt_id", "event_timestamp",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AirEvent:
    intake_id: UUID
    event_type: str
    reason_code: str
    event_timestamp: datetime
    payload_ref: str | None
    actor: str
    actor_id: str
    evidence: str | None  # of an outcome: the check that decided, and what it found


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check of an attempt found."""

    attempt_id: UUID
    check_number: int
    check_name: str
    status: str  # PASSED or FAILED
    finding: str
    message: str
    duration_ms: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptMade:
    """One attempt on an intake."""

    attempt_id: UUID
    intake_id: UUID
    attempt_number: int
    status: str  # open, passed, failed or crashed
    reason_code: str | None
    worker: str
    opened_at: datetime
    lease_until: datetime
    finished_at: datetime | None
    payload_ref: str | None
    reentered_as: UUID | None  # of a retry that passed: the new intake


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """An intake that came of another one."""

    intake_id: UUID
    how: str  # reentered or restarted
    status: str
    created_at: datetime


def history(tx: Transaction, intakes: Sequence[UUID]) -> list[AirEvent]:
    """Every event of these intakes, each intake's in the order in which they happened."""
    with tx.cursor(row_factory=class_row(AirEvent)) as cursor:
        return cursor.execute(Q["history"], {"intakes": list(intakes)}).fetchall()


def evidence(tx: Transaction, intakes: Sequence[UUID]) -> list[CheckResult]:
    """What the checks found in every attempt on these intakes, in the order in which they ran."""
    with tx.cursor(row_factory=class_row(CheckResult)) as cursor:
        return cursor.execute(Q["evidence"], {"intakes": list(intakes)}).fetchall()


def attempts_on(tx: Transaction, intakes: Sequence[UUID]) -> list[AttemptMade]:
    """Every attempt on these intakes, each intake's in order."""
    with tx.cursor(row_factory=class_row(AttemptMade)) as cursor:
        return cursor.execute(Q["attempts"], {"intakes": list(intakes)}).fetchall()


def followers(tx: Transaction, intake_id: UUID, *, limit: int = 20) -> list[Follower]:
    """The intakes that came of one: its re-entry after a retry passed, and its restarts."""
    with tx.cursor(row_factory=class_row(Follower)) as cursor:
        return cursor.execute(Q["followers"], {"intake_id": intake_id, "limit": limit}).fetchall()
