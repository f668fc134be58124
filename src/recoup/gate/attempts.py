"""Verification attempts: opened in one transaction, ended in another, fenced by a token, swept when a worker dies."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from recoup.database.arrays import Routine, records
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.verification.findings import Evidence
from recoup.worker.duty import seconds
from recoup.worker.lease import check_lease

Q = load("recoup.gate", "attempts.sql")
MAX_LEASE = timedelta(days=30)  # the intake of a dead worker waits no longer than this

_OPENED = {
    "attempt_id": "attempts", "intake_id": "intakes", "attempt_number": "numbers", "token": "tokens",
    "lease_until": "lease_until",
}  # fmt: skip
_CLAIMING = {"most": "integer", "worker_": "text", "lease": "interval"}
OPEN = Routine(
    name="cl.open_attempts",
    sets=({"wanted": "uuid"},),
    plain={"worker_": "text", "lease": "interval"},
    results=_OPENED,
)
CLAIM_RETRIES = Routine(name="cl.claim_retries", plain=_CLAIMING, results=_OPENED)
CLAIM_PENDING = Routine(name="cl.claim_pending", plain=_CLAIMING, results=_OPENED)
FINISH = Routine(
    name="cl.finish_attempts",
    sets=({"wanted": "uuid", "with_tokens": "uuid", "reasons": "text", "payloads": "text"},),
    optional=frozenset({"payloads"}),
    results={"attempt_id": "attempts", "intake_id": "intakes", "status": "statuses", "reentered_as": "reentered"},
)
EVIDENCE = Routine(
    name="cl.record_evidence",
    sets=(
        {
            "attempts": "uuid", "tokens": "uuid", "numbers": "integer", "names": "text", "findings": "text",
            "messages": "text", "durations": "integer",
        },
    ),
    results={"recorded": "recorded"},
)  # fmt: skip
MAX_EVIDENCE = 1000  # characters of a message


# Attempts come in thousands: as named tuples they cost a tenth of a dataclass each.


class Attempt(NamedTuple):
    """An open attempt. It is ended once, with its token."""

    attempt_id: UUID
    intake_id: UUID
    attempt_number: int
    token: UUID
    lease_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Every check passed. The event points at ``payload_ref``, or at the evidence if any is given."""

    attempt_id: UUID
    token: UUID
    payload_ref: str | None = None
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A check failed, for this reason. The event points at ``payload_ref``, or at the evidence if any is given."""

    attempt_id: UUID
    token: UUID
    reason_code: ReasonCode
    payload_ref: str | None = None
    evidence: Sequence[Evidence] = ()


class Finished(NamedTuple):
    """The result of a report: passed, failed, or late (stored, and not applied)."""

    attempt_id: UUID
    intake_id: UUID | None
    status: str
    reentered_as: UUID | None


def open_attempts(
    tx: Transaction, intakes: Sequence[UUID], *, worker: str, lease: timedelta | None = None
) -> list[Attempt]:
    """Open the next attempt of each intake, all or none. Refused too early, during an open one, after the third.

    The lease is the policy's, unless another one is given.
    """
    check_lease(lease, most=MAX_LEASE)
    asked = list(intakes)
    opened = OPEN.call(tx, wanted=asked, worker_=worker, lease=lease)
    by_intake = {attempt.intake_id: attempt for attempt in records(Attempt, opened)}
    return [by_intake[intake_id] for intake_id in dict.fromkeys(asked)]


def claim_attempts(
    tx: Transaction, *, limit: int, worker: str, retries: bool, lease: timedelta | None = None
) -> list[Attempt]:
    """Claim at most ``limit`` intakes and open their next attempt: due retries, or first attempts.

    Claim no more than starts at once. No two workers get the same intake; nothing is claimed in a paused scope.
    """
    check_lease(lease, most=MAX_LEASE)
    claim = CLAIM_RETRIES if retries else CLAIM_PENDING
    return records(Attempt, claim.call(tx, most=limit, worker_=worker, lease=lease))


def finish_attempts(tx: Transaction, outcomes: Sequence[Passed | Failed]) -> list[Finished]:
    """Write the outcomes of a batch, passed and failed alike, in one statement. Late ones are stored, not applied.

    Evidence is recorded first, one row per check (``cl.gate_zero_evidence``); with all of it in one statement too.
    """
    attempts = [outcome.attempt_id for outcome in outcomes]
    if len(set(attempts)) < len(attempts):
        raise InputRefused(
            "outcome_twice", "One attempt is reported twice in one call.", "Report each attempt once.",
        )  # fmt: skip
    recorded = _record_evidence(tx, outcomes)
    payloads = [_payload_ref(outcome, recorded) for outcome in outcomes]
    found = FINISH.call(
        tx,
        wanted=attempts,
        with_tokens=[outcome.token for outcome in outcomes],
        reasons=[outcome.reason_code if isinstance(outcome, Failed) else None for outcome in outcomes],
        payloads=payloads if any(payload is not None for payload in payloads) else None,
    )
    return records(Finished, found)


def _record_evidence(tx: Transaction, outcomes: Sequence[Passed | Failed]) -> set[UUID]:
    """Record what the checks found; the attempts for which that was done. An attempt that is too late is left out."""
    found = [(outcome, number, one) for outcome in outcomes for number, one in enumerate(outcome.evidence, 1)]
    if not found:
        return set()
    made = EVIDENCE.call(
        tx,
        attempts=[outcome.attempt_id for outcome, _, _ in found],
        tokens=[outcome.token for outcome, _, _ in found],
        numbers=[number for _, number, _ in found],
        names=[one.check for _, _, one in found],
        findings=[one.finding for _, _, one in found],
        messages=[one.message[:MAX_EVIDENCE] for _, _, one in found],
        durations=[one.duration_ms for _, _, one in found],
    )
    return set(made["recorded"])


def _payload_ref(outcome: Passed | Failed, recorded: set[UUID]) -> str | None:
    if outcome.attempt_id in recorded:
        return f"evidence:{outcome.attempt_id}"
    if outcome.evidence:  # too late: its result is stored with what was found
        return "; ".join(f"{one.check}: {one.message}" for one in outcome.evidence)[:MAX_EVIDENCE]
    return outcome.payload_ref


def sweep_crashed(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> list[UUID]:
    """Declare attempts crashed whose lease expired: FAIL, TIMEOUT, and they count. Call again until none is left.

    ``only`` takes one intake alone, for when a whole set was refused because of one row.
    """
    found = lapsed(tx, limit=limit, only=only)
    if not found:
        return []
    tx.execute(Q["lock_recoveries"], {"intakes": found}, prepare=False)
    return [row[0] for row in tx.execute(Q["crash_attempts"], {"intakes": found}, prepare=False)]


def lapsed(tx: Transaction, *, limit: int = 1000, only: UUID | None = None) -> list[UUID]:
    """Intakes whose attempt has an expired lease, longest first, and locked."""
    given = {"limit": limit, "only": only}
    return [row[0] for row in tx.execute(Q["lock_lapsed" if only is None else "lock_lapsed_one"], given)]


def sweep_lag(tx: Transaction) -> float | None:
    """For how many seconds the oldest expired attempt has been waiting to be swept; None: there is none."""
    return seconds(tx, Q["sweep_lag"])
