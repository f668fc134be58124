"""Runs: started or queued, claimed, kept alive and ended. What has a token is ended once, by its holder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from recoup.database.arrays import Routine, records
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy
from recoup.errors.inputs import shown
from recoup.refusals import InputRefused
from recoup.runs import texts

Q = load("recoup.runs", "runs.sql")
MAX_CLAIM = 10_000
ADD = Routine(
    name="recovery.add_runs",
    sets=({"kinds": "text", "sources": "text", "inputs": "jsonb"},),
    plain={"start_": "boolean", "owner_": "text", "worker_": "uuid"},
    results={"run_id": "ids", "token": "tokens"},
)
CLAIM = Routine(
    name="recovery.claim_runs",
    plain={"kind_": "text", "most": "integer", "owner_": "text", "worker_": "uuid"},
    results={
        "run_id": "ids", "token": "tokens", "source": "sources", "input": "inputs", "retry_of": "retries",
        "retry_with": "alternatives", "queued_at": "queued",
    },
)  # fmt: skip
FINISH = Routine(
    name="recovery.finish_runs",
    sets=({"wanted": "uuid", "with_tokens": "uuid", "outcomes": "text", "messages": "text", "results": "jsonb"},),
    results={"run_id": "ids", "status": "statuses"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to be started or queued."""

    kind: str
    input: Mapping[str, Any] | None = None
    source: str | None = None  # what its failures are counted under; default: its kind


class Started(NamedTuple):
    """A run that was started: yours until it ends. Heartbeats, notes and its end present the token."""

    run_id: UUID
    token: UUID


class Claimed(NamedTuple):
    """A queued run that was claimed: yours until it ends."""

    run_id: UUID
    token: UUID
    kind: str
    source: str
    input: Any
    retry_of: UUID | None
    retry_with: Any  # of a retry: the alternative that it is to use, if any
    queued_at: datetime

    @property
    def key(self) -> str:
        """An idempotency key: the same for every call of this one run."""
        return f"recovery.run/{self.run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The run succeeded, with this result."""

    run_id: UUID
    token: UUID
    result: Any = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run failed, with this message."""

    run_id: UUID
    token: UUID
    message: str = ""
    result: Any = None


class Ended(NamedTuple):
    """What a reported outcome led to: the run's status, or late (stored, and not applied)."""

    run_id: UUID
    status: str


def start(
    tx: Transaction, runs: Sequence[NewRun], *, owner: str | None = None, worker_id: UUID | None = None
) -> list[Started]:
    """Start runs, in the order given. Send heartbeats: one that falls silent is marked crashed."""
    return records(Started, _add(tx, runs, start=True, owner=owner, worker_id=worker_id))


def queue(
    tx: Transaction, runs: Sequence[NewRun], *, owner: str | None = None, worker_id: UUID | None = None
) -> list[UUID]:
    """Queue runs, to be claimed by kind, in the order given."""
    return list(_add(tx, runs, start=False, owner=owner, worker_id=worker_id)["run_id"] or ())


def claim(
    tx: Transaction, *, kind: str, limit: int = 1, owner: str | None = None, worker_id: UUID | None = None
) -> list[Claimed]:
    """Claim up to ``limit`` queued runs of a kind, oldest first. Nobody gets what another has claimed."""
    if type(limit) is not int or not 0 <= limit <= MAX_CLAIM:
        raise InputRefused(
            "claim_limit", f"{shown(limit)} is not a number of runs to claim.", "Claim what you can start at once."
        )
    texts.name("kind", kind)
    found = CLAIM.call(tx, kind_=kind, most=limit, owner_=_owner(owner), worker_=worker_id)
    return sorted(records(Claimed, found | {"kind": kind}), key=lambda one: one.queued_at)


def heartbeat(tx: Transaction, run_id: UUID, token: UUID) -> None:
    """Keep a run alive. Refused if it has ended, or was marked crashed."""
    tx.execute(Q["heartbeat"], {"runs": [run_id], "tokens": [token]})


def note(tx: Transaction, run_id: UUID, token: UUID, text: str) -> int:
    """Write a note to the trace of a run, and keep it alive. Returns the number of the note."""
    row = tx.execute(Q["note"], {"run": run_id, "token": token, "note": texts.message(text)}).fetchone()
    assert row is not None
    return int(row[0])


def finish(tx: Transaction, outcomes: Sequence[Succeeded | Failed]) -> list[Ended]:
    """End runs, succeeded and failed alike, in one statement. Late ones are stored, not applied."""
    if not outcomes:
        return []
    ids = [one.run_id for one in outcomes]
    if len(set(ids)) < len(ids):
        raise InputRefused("outcome_twice", "One run is reported twice in one call.", "Report each run once.")
    keys = active_policy.cached(tx).errors.redact_keys
    found = FINISH.call(
        tx,
        wanted=ids,
        with_tokens=[one.token for one in outcomes],
        outcomes=["failed" if isinstance(one, Failed) else "succeeded" for one in outcomes],
        messages=[None if one.message is None else texts.message(one.message) for one in outcomes],
        results=[texts.result(one.result, keys) for one in outcomes],
    )
    became = dict(zip(found["run_id"], found["status"], strict=True))
    return [Ended(one, became[one]) for one in ids]


def _add(
    tx: Transaction, runs: Sequence[NewRun], *, start: bool, owner: str | None, worker_id: UUID | None
) -> dict[str, Any]:
    keys = active_policy.cached(tx).errors.redact_keys
    return ADD.call(
        tx,
        kinds=[texts.name("kind", one.kind) for one in runs],
        sources=[texts.name("source", one.kind if one.source is None else one.source) for one in runs],
        inputs=[texts.input_(one.input, keys) for one in runs],
        start_=start,
        owner_=_owner(owner),
        worker_=worker_id,
    )


def _owner(owner: str | None) -> str | None:
    return None if owner is None else texts.name("owner", owner)
