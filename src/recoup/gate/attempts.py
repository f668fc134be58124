"""Verification attempts: opened in one transaction, ended in another, fenced by a token, swept when a worker dies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.gate.intake import refuse_unknown
from recoup.gate.lifecycle import IntakeStatus, ReasonCode
from recoup.refusals import InputRefused

Q = load("recoup.gate")
LEASE_MOST = timedelta(days=30)  # the intake of a lost worker waits no longer than this

# Sets are planned anew each time (prepare=False): a plan kept from single rows compared many with many.


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An open attempt. Whoever holds the token may end it, once."""

    attempt_id: UUID
    intake_id: UUID
    attempt_number: int
    token: UUID
    lease_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Every check passed."""

    attempt_id: UUID
    token: UUID
    payload_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A check failed, for this reason."""

    attempt_id: UUID
    token: UUID
    reason_code: ReasonCode
    payload_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What became of a reported outcome: passed, failed, or late (stored, and not applied)."""

    attempt_id: UUID
    intake_id: UUID | None
    status: str
    reentered_as: UUID | None


def open_attempts(
    tx: Transaction, intakes: Sequence[UUID], *, worker: str, lease: timedelta | None = None
) -> list[Attempt]:
    """Open the next attempt of each intake, all or none. Refused too early, beside an open one, after the third.

    The lease is the policy's, unless another one is asked for.
    """
    _check_lease(lease)
    with tx.cursor(row_factory=class_row(Attempt)) as cursor:
        locked = tx.execute(Q["lock_intakes"], {"intakes": list(intakes)}, prepare=False).fetchall()
        refuse_unknown(intakes, {row[0] for row in locked})
        if any(status == IntakeStatus.FAILED for _, status in locked):
            tx.execute(Q["lock_recoveries"], {"intakes": list(intakes)}, prepare=False)
        opened = cursor.execute(
            Q["open_attempts"], {"intakes": list(intakes), "worker": worker, "lease": lease}, prepare=False
        )
        by_intake = {attempt.intake_id: attempt for attempt in opened}
    return [by_intake[intake_id] for intake_id in dict.fromkeys(intakes)]


def claim_attempts(
    tx: Transaction, *, limit: int, worker: str, retries: bool, lease: timedelta | None = None
) -> list[Attempt]:
    """Take up to so many intakes and open their next attempt: due retries, or first attempts of those that wait.

    Claim no more than starts at once. Nobody gets what another worker holds; nothing is claimed in a paused scope.
    """
    _check_lease(lease)
    with tx.cursor(row_factory=class_row(Attempt)) as cursor:
        return cursor.execute(
            Q["claim_retries" if retries else "claim_pending"],
            {"limit": limit, "worker": worker, "lease": lease},
            prepare=False,
        ).fetchall()


def finish_attempts(tx: Transaction, outcomes: Sequence[Passed | Failed]) -> list[Finished]:
    """Write the outcomes of a batch, passed and failed alike, in one statement. Late ones are stored, not applied."""
    attempts = [outcome.attempt_id for outcome in outcomes]
    if len(set(attempts)) < len(attempts):
        raise InputRefused(
            "outcome_twice", "One attempt is reported twice in one call.", "Report each attempt once.",
        )  # fmt: skip
    given = {
        "attempts": attempts,
        "tokens": [outcome.token for outcome in outcomes],
        "reasons": [str(o.reason_code) if isinstance(o, Failed) else None for o in outcomes],
        "payloads": [outcome.payload_ref for outcome in outcomes],
    }
    with tx.cursor(row_factory=class_row(Finished)) as cursor:
        tx.execute(Q["lock_intakes_of_attempts"], {"attempts": attempts}, prepare=False)
        finished = cursor.execute(Q["finish_attempts"], given, prepare=False).fetchall()
    _refuse_unknown_attempts(attempts, finished)
    return finished


def sweep_crashed(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> list[UUID]:
    """Declare crashed what outlived its lease: FAIL, TIMEOUT, and it counts. Call again until nothing is left.

    ``only`` takes one intake alone, for when a whole set was refused because of one row.
    """
    found = lapsed(tx, limit=limit, only=only)
    if not found:
        return []
    return [row[0] for row in tx.execute(Q["crash_attempts"], {"intakes": found}, prepare=False)]


def lapsed(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> list[UUID]:
    """Intakes whose attempt outlived its lease, longest first, and locked."""
    given = {"limit": limit, "only": only}
    return [row[0] for row in tx.execute(Q["lock_lapsed" if only is None else "lock_lapsed_one"], given)]


def sweep_lag(tx: Transaction) -> float | None:
    """For how many seconds the oldest lapsed attempt has been waiting to be swept; None: there is none."""
    row = tx.execute(Q["sweep_lag"]).fetchone()
    return None if row is None or row[0] is None else float(row[0])


def _check_lease(lease: timedelta | None) -> None:
    if lease is not None and not timedelta(0) < lease <= LEASE_MOST:
        raise InputRefused("lease_length", f"A lease of {lease}.", f"Give it some seconds, and at most {LEASE_MOST}.")


def _refuse_unknown_attempts(asked: Sequence[UUID], found: Sequence[Finished]) -> None:
    missing = set(asked) - {finished.attempt_id for finished in found}
    if missing:
        raise InputRefused(
            "attempt_unknown",
            f"There is no attempt {min(missing)}" + (f" (nor {len(missing) - 1} others)." if len(missing) > 1 else "."),
            "Check the id; nothing was written.",
            missing=sorted(map(str, missing))[:100],
        )
