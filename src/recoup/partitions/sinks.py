"""The raw sink that a worker uses: registered in the database, checked before every claim, behind a breaker.

A worker that does not see the id file of its sink, or finds too little space, claims nothing and reports it. It checks
again after growing pauses, by writing; then one run tries the sink before others follow. Nothing is counted meanwhile.
"""

import os
import secrets
import socket
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from psycopg.rows import class_row

from recoup import observe
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.sink import Cause, Sink, SinkRefused, SinkUnavailable
from recoup.partitions.sink.availability import reaching
from recoup.refusals import InputRefused
from recoup.settings import Settings
from recoup.worker.duty import Context

Q = load("recoup.partitions", "sinks.sql")
FIRST_WAIT_S, MAX_WAIT_S = 1.0, 60.0
PROBE_BYTES = 2**16  # more than a file system writes into what it has set aside
READ_EVERY_S = 10.0  # what other machines report about the sink
KEPT_ASIDE = timedelta(hours=24)
MAX_MESSAGE = 1000
MB = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSink:
    """A raw sink, as the database knows it."""

    sink_id: UUID
    name: str
    status: str
    registered_at: datetime
    registered_by: str
    cause: str | None  # of the last outage
    message: str | None
    host: str | None  # that reported it
    outage_at: datetime | None
    checked_at: datetime | None
    restored_at: datetime | None


def folder(settings: Settings) -> Path:
    """Where the raw sink of this process is."""
    return settings.sink or settings.home / "sink"


def register(tx: Transaction, sink: Sink, name: str) -> RegisteredSink:
    """Register a sink under a name, as an operator; one that is registered so already stays as it is."""
    tx.execute(Q["register"], {"sink_id": sink.sink_id, "name": name})
    found = find(tx, name)
    if found is None or found.sink_id != sink.sink_id:
        raise InputRefused(
            "sink_registered",
            f"The sink in {sink.root} cannot be registered as {name!r}: "
            + ("that name is another sink's." if found is not None else "it is registered under another name."),
            "Choose another name; or use the sink under its own: set sink_name in recoup.toml, under [partitions].",
            name=name, sink_id=str(sink.sink_id),
        )  # fmt: skip
    return found


def find(tx: Transaction, name: str) -> RegisteredSink | None:
    """A registered sink by its name."""
    with tx.cursor(row_factory=class_row(RegisteredSink)) as cursor:
        return cursor.execute(Q["one"], {"name": name}).fetchone()


def registered(tx: Transaction) -> list[RegisteredSink]:
    """Every registered sink, by name."""
    with tx.cursor(row_factory=class_row(RegisteredSink)) as cursor:
        return cursor.execute(Q["list"]).fetchall()


def check(root: Path, sink_id: UUID, *, min_free_bytes: int, by_writing: bool = False) -> Sink:
    """The sink of this id, if it can be used now: it is there, has the space, and with ``by_writing`` takes a file."""
    sink = Sink.open(root, expect=sink_id)
    free = sink.free_bytes()
    if free < min_free_bytes:
        raise SinkUnavailable(
            Cause.FULL, str(root), f"{free // MB:,} MB are free, and the policy asks for {min_free_bytes // MB:,}"
        )
    if by_writing:
        _write(sink)
    return sink


def _write(sink: Sink) -> None:
    name = f".probe-{secrets.token_hex(8)}"
    with sink.reached() as root, reaching(str(sink.root)):
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=root.fd)
        try:
            os.write(fd, bytes(PROBE_BYTES))
            os.fsync(fd)
        finally:
            os.close(fd)
            os.unlink(name, dir_fd=root.fd)


class Gate:
    """Whether a worker may claim: its sink's breaker, for all flows of the worker."""

    def __init__(self) -> None:
        self.sink: Sink | None = None
        self.is_trying = False  # after an outage one run tries the sink, and others wait for how it ends
        self._known: RegisteredSink | None = None
        self._read_at = float("-inf")  # monotonic, as the next
        self._wait_s = 0.0
        self._next_at = 0.0

    def is_open(self, context: Context) -> bool:
        """Check the sink, unless it is too early after the last failure. Reports what has changed."""
        if time.monotonic() < self._next_at:
            return False
        settings, policy = context.settings, context.policy[PartitionPolicy]
        root, failed = folder(settings), self._wait_s > 0
        known, is_fresh = self._registered(context)
        if known is None:
            return False
        is_out = is_fresh and known.status != "available"
        try:
            self.sink = check(root, known.sink_id, min_free_bytes=policy.min_free_mb * MB, by_writing=failed or is_out)
        except (SinkUnavailable, SinkRefused) as problem:
            cause = problem.cause if isinstance(problem, SinkUnavailable) else problem.code
            self.close(context, known.sink_id, str(cause), problem.happened)
            return False
        if is_out or failed:
            with context.transaction() as tx:
                (restored,) = tx.execute(Q["restore"], {"sink_id": known.sink_id, "host": host()}).fetchone() or (
                    False,
                )
            if restored:
                observe.logger(worker=context.name).info("the raw sink is available again", sink=known.name)
        self.is_trying = self.is_trying or failed
        self._next_at = 0.0
        return True

    def _registered(self, context: Context) -> tuple[RegisteredSink | None, bool]:
        """The sink as the database knows it, and whether that was read now: once in a while, and after a failure."""
        is_fresh = self._known is None or self._wait_s > 0 or time.monotonic() - self._read_at > READ_EVERY_S
        if is_fresh:
            with context.transaction() as tx:
                self._known = find(tx, context.settings.sink_name)
            self._read_at = time.monotonic()
        return self._known, is_fresh

    def close(self, context: Context, sink_id: UUID, cause: str, message: str) -> None:
        """The sink cannot be used: claim nothing for a while, twice as long after each failure in a row."""
        self._wait_s = min(max(self._wait_s * 2, FIRST_WAIT_S), MAX_WAIT_S)
        self._next_at = time.monotonic() + self._wait_s
        self.is_trying = True
        given = {"sink_id": sink_id, "host": host(), "cause": cause, "message": message[:MAX_MESSAGE]}
        with context.transaction() as tx:
            (said,) = tx.execute(Q["report"], given).fetchone() or ("",)
        if said == "reported":
            observe.logger(worker=context.name).error(
                "the raw sink is unavailable; nothing is claimed until it is back", cause=cause, failure=message
            )

    def passed(self) -> None:
        """A run used the sink to its end."""
        self._wait_s, self.is_trying = 0.0, False


def host() -> str:
    """The name under which this machine reports what it sees."""
    return socket.gethostname()[:200]


def sweep(context: Context) -> int:
    """Remove what ended runs left aside in the sink of this process. Returns how many folders were removed."""
    with context.transaction() as tx:
        known = find(tx, context.settings.sink_name)
        under_way = {run_id for (run_id,) in tx.execute(Q["open_runs"])}
    if known is None:
        return 0
    try:
        sink = Sink.open(folder(context.settings), expect=known.sink_id)
        # Files are dated by the machine, whatever clock the database has.
        return sink.sweep_aside(lambda run_id: run_id not in under_way, KEPT_ASIDE, datetime.now(UTC))
    except SinkUnavailable:
        return 0  # reported by those who need it
