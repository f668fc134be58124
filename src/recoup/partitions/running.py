"""What workers report of runs, in sets: started, published, judged, lost. Each report presents its token."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from recoup.categories import Category
from recoup.database.acting import acting_as
from recoup.database.arrays import Routine
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.signatures import category, signature

Q = load("recoup.partitions", "working.sql")
SINK_UNAVAILABLE = "SINK_UNAVAILABLE"  # the only reason that is not counted as a dispatch
RAW_GONE = "RAW_GONE"  # what was published is not in the raw sink any more
SCHEMA_DRIFT = "SCHEMA_DRIFT"  # the reason of a verdict: columns are missing, or of another type
LEASE_EXPIRED = "LEASE_EXPIRED"
PUBLISH = Routine(
    name="partitions.publish_runs",
    sets=(
        {
            "run_ids": "uuid", "tokens": "uuid", "sinks": "uuid", "locations_": "text", "digests_": "text",
            "formats": "text", "row_counts": "bigint", "byte_counts": "bigint",
        },
    ),
    results={"run_id": "published"},
)  # fmt: skip
END = Routine(
    name="partitions.end_runs",
    sets=(
        {
            "run_ids": "uuid", "tokens": "uuid", "verdicts": "text", "reasons": "text", "rules": "text",
            "messages": "text", "signatures": "text", "categories": "text", "validators": "text", "versions": "text",
            "contracts": "text",
        },
    ),
    results={"run_id": "ended", "status": "statuses"},
)  # fmt: skip
LOSE = Routine(
    name="partitions.lose_runs",
    sets=({"run_ids": "uuid", "tokens": "uuid", "reasons": "text", "messages": "text"},),
    results={"run_id": "ended", "status": "statuses"},
)
REJECT_LOST = Routine(
    name="partitions.reject_lost",
    sets=({"run_ids": "uuid", "tokens": "uuid", "messages": "text", "signatures": "text", "categories": "text"},),
    results={"run_id": "ended"},
)
EXTEND = Routine(
    name="partitions.extend_leases",
    sets=({"run_ids": "uuid", "tokens": "uuid"},),
    plain={"lease": "interval"},
    results={"run_id": "held"},
)
EXPIRED = Routine(
    name="partitions.expired",
    plain={"most": "integer"},
    results={"run_id": "ids", "token": "tokens", "message": "messages", "partition_id": "partitions_"},
)


class PublishedRun(NamedTuple):
    """A run whose data is in the raw sink."""

    run_id: UUID
    token: UUID
    sink_id: UUID
    location: str
    digest: str
    format: str
    rows: int
    bytes: int


class Judged(NamedTuple):
    """A verdict on a run."""

    run_id: UUID
    token: UUID
    accepted: bool
    reason: str | None = None
    rule: str | None = None
    message: str | None = None
    validator: str | None = None
    validator_version: str | None = None
    contract_digest: str | None = None


class LostRun(NamedTuple):
    """A dispatch that came to nothing."""

    run_id: UUID
    token: UUID
    reason: str
    message: str


def start(tx: Transaction, run_id: UUID, token: UUID) -> str:
    """Start the work on a run, once under its token: started; otherwise its status, and there is nothing to do."""
    (status,) = tx.execute(Q["start"], {"run_id": run_id, "token": token}).fetchone() or ("unknown",)
    return str(status)


def publish(tx: Transaction, runs: Sequence[PublishedRun]) -> set[UUID]:
    """The data of these runs is in the raw sink. Returns those whose lease still held."""
    found = PUBLISH.call(
        tx,
        run_ids=[one.run_id for one in runs],
        tokens=[one.token for one in runs],
        sinks=[one.sink_id for one in runs],
        locations_=[one.location for one in runs],
        digests_=[one.digest for one in runs],
        formats=[one.format for one in runs],
        row_counts=[one.rows for one in runs],
        byte_counts=[one.bytes for one in runs],
    )
    return set(found["run_id"])


def judge(tx: Transaction, verdicts: Sequence[Judged]) -> list[str]:
    """Write verdicts. What each run became: accepted, rejected, or late (stored, and not applied)."""
    messages = [None if one.accepted else one.message or one.reason or "rejected" for one in verdicts]
    found = END.call(
        tx,
        run_ids=[one.run_id for one in verdicts],
        tokens=[one.token for one in verdicts],
        verdicts=["accepted" if one.accepted else "rejected" for one in verdicts],
        reasons=[None if one.accepted else one.reason or "REJECTED" for one in verdicts],
        rules=[None if one.accepted else one.rule for one in verdicts],
        messages=messages,
        signatures=[None if text is None else signature(text).key for text in messages],
        categories=[
            None if text is None else _category(one, text).value for one, text in zip(verdicts, messages, strict=True)
        ],
        validators=[one.validator for one in verdicts],
        versions=[one.validator_version for one in verdicts],
        contracts=[one.contract_digest for one in verdicts],
    )
    became = dict(zip(found["run_id"], found["status"], strict=True))
    return [became[one.run_id] for one in verdicts]


def _category(verdict: Judged, message: str) -> Category:
    # Whatever the columns are called: no retry gives data another schema.
    return Category.STRUCTURAL if verdict.reason == SCHEMA_DRIFT else category(message)


def lose(tx: Transaction, runs: Sequence[LostRun]) -> list[str]:
    """Nothing came of these dispatches; as the control plane. At the cap the validator's authority rejects.

    Of each: lost, released (published, to be validated again), rejected, or late.
    """
    if not runs:
        return []
    found = LOSE.call(
        tx,
        run_ids=[one.run_id for one in runs],
        tokens=[one.token for one in runs],
        reasons=[one.reason for one in runs],
        messages=[one.message for one in runs],
    )
    became = dict(zip(found["run_id"], found["status"], strict=True))
    last = [one for one in runs if became[one.run_id] == "cap"]
    if last:
        with acting_as(tx, Authority.VALIDATOR):
            rejected = REJECT_LOST.call(
                tx,
                run_ids=[one.run_id for one in last],
                tokens=[one.token for one in last],
                messages=[one.message for one in last],
                signatures=[signature(one.message).key for one in last],
                categories=[category(one.message).value for one in last],
            )
        # Somebody may have ended it since it was read.
        became |= {one.run_id: "rejected" if one.run_id in rejected["run_id"] else "late" for one in last}
    return [became[one.run_id] for one in runs]


def extend(tx: Transaction, runs: Sequence[tuple[UUID, UUID]], lease: timedelta) -> set[UUID]:
    """Extend the leases of runs, each with its token. Returns those that still hold."""
    found = EXTEND.call(tx, run_ids=[run for run, _ in runs], tokens=[token for _, token in runs], lease=lease)
    return set(found["run_id"])


def expire(tx: Transaction, *, limit: int = 1000) -> list[int]:
    """Lose runs whose lease expired; as the control plane. Returns their partitions. Call it until there are none."""
    found = EXPIRED.call(tx, most=limit)
    lost = [
        LostRun(run_id, token, LEASE_EXPIRED, message)
        for run_id, token, message in zip(
            found["run_id"] or (), found["token"] or (), found["message"] or (), strict=True
        )
    ]
    lose(tx, lost)
    return list(found["partition_id"] or ())
