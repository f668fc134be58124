"""Verification attempts: opened in one transaction, ended in another, fenced by a token, swept when a worker dies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import repeat
from typing import Any, NamedTuple
from uuid import UUID

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.gate.intake import refuse_unknown
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.worker.duty import seconds

Q = load("recoup.gate", "attempts.sql")
LEASE_MOST = timedelta(days=30)  # the intake of a lost worker waits no longer than this


# Attempts and what became of them come in thousands: as tuples with names they cost a tenth of a dataclass each.


class Attempt(NamedTuple):
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


class Finished(NamedTuple):
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
    asked = list(intakes)
    row = tx.execute(
        Q["open_attempts"], {"intakes": _array(asked), "worker": worker, "lease": lease}, binary=True
    ).fetchone()
    assert row is not None
    if row[0] is None:
        refuse_unknown(asked, set(row[1] or ()))
    by_intake = {attempt.intake_id: attempt for attempt in _attempts(row)}
    return [by_intake[intake_id] for intake_id in dict.fromkeys(asked)]


def claim_attempts(
    tx: Transaction, *, limit: int, worker: str, retries: bool, lease: timedelta | None = None
) -> list[Attempt]:
    """Take up to so many intakes and open their next attempt: due retries, or first attempts of those that wait.

    Claim no more than starts at once. Nobody gets what another worker holds; nothing is claimed in a paused scope.
    """
    _check_lease(lease)
    query = Q["claim_retries" if retries else "claim_pending"]
    row = tx.execute(query, {"limit": limit, "worker": worker, "lease": lease}, binary=True).fetchone()
    assert row is not None
    return list(_attempts(row))


def finish_attempts(tx: Transaction, outcomes: Sequence[Passed | Failed]) -> list[Finished]:
    """Write the outcomes of a batch, passed and failed alike, in one statement. Late ones are stored, not applied."""
    attempts = [outcome.attempt_id for outcome in outcomes]
    if len(set(attempts)) < len(attempts):
        raise InputRefused(
            "outcome_twice", "One attempt is reported twice in one call.", "Report each attempt once.",
        )  # fmt: skip
    payloads = [outcome.payload_ref for outcome in outcomes]
    given = {
        "attempts": _array(attempts),
        "tokens": _array(outcome.token for outcome in outcomes),
        "reasons": _array(o.reason_code if isinstance(o, Failed) else None for o in outcomes),
        "payloads": payloads if any(payload is not None for payload in payloads) else None,
    }
    row = tx.execute(Q["finish_attempts"], given, binary=True).fetchone()
    assert row is not None
    finished = list(map(Finished._make, zip(*row, strict=True)))
    _refuse_unknown_attempts(attempts, finished)
    return finished


def sweep_crashed(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> list[UUID]:
    """Declare crashed what outlived its lease: FAIL, TIMEOUT, and it counts. Call again until nothing is left.

    ``only`` takes one intake alone, for when a whole set was refused because of one row.
    """
    found = lapsed(tx, limit=limit, only=only)
    if not found:
        return []
    tx.execute(Q["lock_recoveries"], {"intakes": found}, prepare=False)
    return [row[0] for row in tx.execute(Q["crash_attempts"], {"intakes": found}, prepare=False)]


def lapsed(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> list[UUID]:
    """Intakes whose attempt outlived its lease, longest first, and locked."""
    given = {"limit": limit, "only": only}
    return [row[0] for row in tx.execute(Q["lock_lapsed" if only is None else "lock_lapsed_one"], given)]


def sweep_lag(tx: Transaction) -> float | None:
    """For how many seconds the oldest lapsed attempt has been waiting to be swept; None: there is none."""
    return seconds(tx, Q["sweep_lag"])


def _attempts(row: tuple[Any, ...]) -> Iterator[Attempt]:
    """Attempts from a row of columns; they share one lease."""
    *columns, lease_until = row
    return map(Attempt._make, zip(*(column or () for column in columns), repeat(lease_until)))


def _array(values: Iterable[UUID | ReasonCode | None]) -> str:
    """Ids or codes as the text of an array: a thousand of them take the driver 8 ms one by one, and so one."""
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"


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
