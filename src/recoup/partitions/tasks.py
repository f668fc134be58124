"""One task: a dispatched run, extracted, published and validated, wherever an executor runs it.

A task can be sent to another process. What it writes into PostgreSQL is in short transactions of its own; how it ended
is returned, and the process that submitted it writes the verdict together with the next dispatches. On an executor that
may run a task twice, or lose its result, the task starts its run in PostgreSQL first, once, and writes its verdict
itself: a second call then touches nothing, and returns the status that it finds.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from recoup.database.connection import Actor, Database
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.partitions.control_plane import Dispatched
from recoup.partitions.functions import Judge, Named
from recoup.partitions.interfaces import Extraction, Validation, Verdict
from recoup.partitions.running import RAW_GONE, SINK_UNAVAILABLE, Judged, PublishedRun, judge, publish, start
from recoup.partitions.sink import Published, Sink, SinkUnavailable
from recoup.partitions.vocabulary import RunStatus
from recoup.partitions.windows import Window, window
from recoup.redaction import in_words
from recoup.refusals import ServerRefused
from recoup.settings import API_LOGINS, Settings
from recoup.work.flow import UNREACHABLE

Q = load("recoup.partitions", "working.sql")
MAX_MESSAGE, MAX_REASON, MAX_RULE, MAX_VERSION = 4000, 100, 400, 200  # characters
UNREACHABLE_PAUSE_S = 1.0
EXTRACTOR_ERROR, VALIDATOR_ERROR, DIGEST_CHANGED = "EXTRACTOR_ERROR", "VALIDATOR_ERROR", "DIGEST_CHANGED"
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A dispatched run with everything that the work on it needs."""

    run: Dispatched
    functions: Named
    zone: str
    sink: Sink
    dispatched_at: datetime
    conninfo: str = field(repr=False)
    settings: Settings = field(repr=False)
    worker: str
    repeats: bool = False  # the executor may run it twice

    @property
    def window(self) -> Window:
        return window(self.run.logical_date, self.zone)


class End(StrEnum):
    """How a task ended."""

    JUDGED = "judged"  # it has a verdict
    LOST = "lost"  # nothing came of it: a dispatch, and not an attempt
    SINK_UNAVAILABLE = "sink_unavailable"  # counted as nothing
    STANDS = "stands"  # another call worked on it, or it was late: nothing to do


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a task ended, as it is sent back."""

    end: End
    judged: Judged | None = None
    reason: str | None = None
    message: str | None = None
    cause: str | None = None  # of an unavailable sink
    stands: str | None = None


def perform(task: Task, database: Database | None = None) -> Outcome:
    """Do the work of one run. Without a database it uses one of this process, from the task's conninfo."""
    return _Work(task, database or _database(task)).done()


def lost(reason: str, error: BaseException | str) -> Outcome:
    """Nothing came of a dispatch."""
    return Outcome(end=End.LOST, reason=reason, message=_message(error))


class _Work:
    def __init__(self, task: Task, database: Database) -> None:
        self.task, self.run, self.database = task, task.run, database
        self._begun = time.monotonic()

    def done(self) -> Outcome:
        if self.task.repeats:
            authority = Authority.EXTRACTOR if self.run.status == RunStatus.OPEN else Authority.VALIDATOR
            stands = self._written(authority, lambda tx: start(tx, self.run.run_id, self.run.token))
            if stands != "started":
                return Outcome(end=End.STANDS, stands=stands)
        try:
            return self._ended()
        except SinkUnavailable as problem:
            return Outcome(
                end=End.SINK_UNAVAILABLE, reason=SINK_UNAVAILABLE, message=_message(problem.happened),
                cause=str(problem.cause),
            )  # fmt: skip

    def _ended(self) -> Outcome:
        if self.run.status != RunStatus.OPEN:
            return self._validated_again()
        try:
            published = self._extracted()
        except SinkUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it raises is its outcome
            return lost(EXTRACTOR_ERROR, error)
        if published is None:
            return Outcome(end=End.STANDS, stands="late")
        return self._judged(published)

    # Extraction ------------------------------------------------------------------------------------------------------

    def _extracted(self) -> Published | None:
        """The run in the raw sink, as the database has it too; None: its lease had expired."""
        task, run = self.task, self.run
        function = task.functions.extracting()
        extraction = Extraction(
            partition=run.partition, run_id=run.run_id, window_start=task.window.start, window_end=task.window.end,
            options=task.functions.extract_with, alternative=run.alternative,
        )  # fmt: skip
        with task.sink.writing(run.partition, run.run_id) as writer:
            function(extraction, writer)
        elapsed = timedelta(seconds=time.monotonic() - self._begun)
        published = task.sink.publish(writer, written_at=task.dispatched_at + elapsed)
        found = published.manifest
        done = PublishedRun(
            run.run_id, run.token, task.sink.sink_id, published.location, published.digest, found.format, found.rows,
            found.bytes,
        )  # fmt: skip
        recorded = self._written(Authority.EXTRACTOR, lambda tx: publish(tx, [done]))
        return published if run.run_id in recorded else None

    # Validation ------------------------------------------------------------------------------------------------------

    def _validated_again(self) -> Outcome:
        """A run that was published before: if it is still there, and unchanged."""
        run, sink = self.run, self.task.sink
        published = sink.published(run.partition, run.run_id)
        problem = sink.check(run.partition, run.run_id, run.digest or "")
        if published is None:
            return lost(RAW_GONE, problem or "It is not in the raw sink.")
        if problem is not None:
            return self._reported(Verdict(accepted=False, reason=DIGEST_CHANGED, message=problem), None)
        return self._judged(published)

    def _judged(self, published: Published) -> Outcome:
        judge_ = verdict = None
        try:
            judge_ = self.task.functions.judging()
            verdict = _checked(judge_.validate(self._validation(published)))
        except Exception as error:  # noqa: BLE001 - whatever it raises, it has rejected the partition
            verdict = Verdict(accepted=False, reason=VALIDATOR_ERROR, message=_message(error))
        # Also after a rejection: a sink that is gone, or files that were changed, say nothing about the data.
        problem = self.task.sink.check(self.run.partition, self.run.run_id, published.digest)
        if problem is not None:
            verdict = Verdict(
                accepted=False, reason=DIGEST_CHANGED, message=f"Its files changed while it was validated: {problem}"
            )
        return self._reported(verdict, judge_)

    def _validation(self, published: Published) -> Validation:
        task, run = self.task, self.run
        asked = {"partition_id": run.partition_id}
        now, previous = self._written(Authority.READER, lambda tx: tx.execute(Q["circumstances"], asked).fetchone())
        return Validation(
            partition=run.partition, run_id=run.run_id, window_start=task.window.start, window_end=task.window.end,
            folder=task.sink.folder(published), files=task.sink.files(published), format=published.manifest.format,
            rows=published.manifest.rows, extracted_at=published.manifest.written_at, now=now,
            previous_rows=previous, options=task.functions.validate_with,
        )  # fmt: skip

    def _reported(self, verdict: Verdict, by: Judge | None) -> Outcome:
        judged = Judged(
            self.run.run_id, self.run.token, verdict.accepted, verdict.reason and verdict.reason[:MAX_REASON],
            verdict.rule and verdict.rule[:MAX_RULE], _words(verdict),
            None if by is None else by.name, None if by is None else by.version,
            None if by is None else by.contract_digest,
        )  # fmt: skip
        if not self.task.repeats:
            return Outcome(end=End.JUDGED, judged=judged)
        (became,) = self._written(Authority.VALIDATOR, lambda tx: judge(tx, [judged]))
        return Outcome(end=End.STANDS, stands=became)

    # The database ----------------------------------------------------------------------------------------------------

    def _written(self, authority: Authority, write: Callable[[Any], Answer]) -> Answer:
        """One short transaction, tried again while the server is unreachable, for as long as a lease."""
        patience = time.monotonic() + (self.run.lease_until - self.task.dispatched_at).total_seconds()
        while True:
            try:
                with self.database.transaction(authority, actor=Actor("system", self.task.worker)) as tx:
                    return write(tx)
            except (*UNREACHABLE, ServerRefused):
                if time.monotonic() > patience:
                    raise
                time.sleep(UNREACHABLE_PAUSE_S)


def _checked(verdict: object) -> Verdict:
    if not isinstance(verdict, Verdict):
        raise TypeError(f"a validator returns a Verdict; this one returned {type(verdict).__name__}")
    return verdict


def _words(verdict: Verdict) -> str | None:
    """What a rejection says: its message, or that of what it found."""
    if verdict.accepted:
        return None
    found = "; ".join(f"{one.rule}: {one.message} ({one.count:,} rows)" for one in verdict.findings)
    return _message(verdict.message or found or verdict.reason or "The validator rejected it.")


def _message(error: BaseException | str) -> str:
    """What is stored of an exception or a text: without secrets, and not too long."""
    text = in_words(error) if isinstance(error, str) else f"{type(error).__name__}: {in_words(error)}"
    return text[:MAX_MESSAGE].strip() or "no message"


# Where a task runs in a process that did not submit it.
_DATABASES: dict[tuple[str, str], Database] = {}
_LOCK = threading.Lock()


def _database(task: Task) -> Database:
    with _LOCK:
        key = (task.conninfo, task.worker)
        if key not in _DATABASES:
            _DATABASES[key] = Database(task.conninfo, task.settings)
        return _DATABASES[key]


def for_other_processes(settings: Settings) -> Settings:
    """What a task in another process needs of the settings. What it does not is not sent."""
    return replace(
        settings, dsn=None, admin_dsn=None, directory_key=None, handlers={}, actions={}, secrets={}, sources={},
        **dict.fromkeys(API_LOGINS),  # type: ignore[arg-type]
    )  # fmt: skip


def project_of(settings: Settings) -> Path | None:
    """The project file that this process can see."""
    with suppress(OSError):
        if settings.project is not None and settings.project.exists():
            return settings.project
    return None
