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


def history(tx: Transaction, intakes: Sequence[UUID]) -> list[AirEvent]:
    """Every event of these intakes, each intake's in the order in which they happened."""
    with tx.cursor(row_factory=class_row(AirEvent)) as cursor:
        return cursor.execute(Q["history"], {"intakes": list(intakes)}).fetchall()


def evidence(tx: Transaction, intakes: Sequence[UUID]) -> list[CheckResult]:
    """What the checks found in every attempt on these intakes, in the order in which they ran."""
    with tx.cursor(row_factory=class_row(CheckResult)) as cursor:
        return cursor.execute(Q["evidence"], {"intakes": list(intakes)}).fetchall()
