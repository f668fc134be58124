"""One file into one batch, in one transaction: all of it, or nothing."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from psycopg import errors

from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.files import Format, Refused, RefusedRow, Source, opened, reporting
from recoup.files.rows import named
from recoup.gate.batches import Batch, complete_batch, create_batch, find_batch, refuse_completed
from recoup.gate.importing.checks import WANTED, Checks, Company, Fault
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

Q = load("recoup.gate", "importing.sql")
CHUNK_ROWS = 5_000
CHUNK_S = 5.0  # the server ends a transaction that is silent for a minute, however slowly rows are found
MAX_ROWS = 10_000_000  # 16 bytes of each company are remembered, with what Python adds about 220
APART = "\x1f"  # between values on their way; no value holds a control character


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an import is."""

    rows: int
    accepted: int
    refused: int
    seconds: float
    share: float  # of the file

    @property
    def rate(self) -> float:
        """Rows in a second, so far."""
        return self.rows / max(self.seconds, 1e-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came of an import."""

    batch_id: str
    rows: int
    accepted: int
    refused: int
    reasons: dict[str, int]  # refused rows by reason, most frequent first
    refusals: tuple[RefusedRow, ...]  # the first thousand; the report has all
    ignored: tuple[str, ...]  # columns of the file that are not ours
    batch_freeze_at: datetime | None  # when the recovery window closes; None: the batch is open
    report: Path | None
    seconds: float


def import_file(
    database: Database,
    path: Path,
    *,
    batch_id: str,
    format_: Format | None = None,
    append: bool = False,
    complete: bool = False,
    strict: bool = False,
    actor: Actor | None = None,
    report: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Imported:
    """Import the companies of a file into a batch, all that make sense or, when strict, all or none.

    One transaction: an import that is killed leaves nothing behind and can be run again. A batch that exists is
    refused unless ``append`` says that it is meant. ``-`` reads standard input.
    """
    began = time.monotonic()
    with opened(path, WANTED, format_) as source, reporting(report, source=path) as refused:
        _refuse_without_names(path, source)
        load_ = _Load(source, refused, Checks(noun=source.noun), strict, progress, began)
        with database.transaction(Authority.HUB, actor=actor) as tx:
            _begin(tx, batch_id, append=append)
            load_.run(tx, batch_id)
            load_.refuse_if_nothing_is_left(path, report)
            if append:
                refuse_completed(_held(tx, batch_id))
            freeze_at = complete_batch(tx, batch_id) if complete else None
        refused.publish()
    return Imported(
        batch_id=batch_id,
        rows=load_.rows,
        accepted=load_.accepted,
        refused=refused.count,
        reasons=dict(refused.reasons.most_common()),
        refusals=tuple(refused.kept),
        ignored=tuple(source.ignored),
        batch_freeze_at=freeze_at,
        report=report,
        seconds=time.monotonic() - began,
    )


@dataclass(slots=True)
class _Load:
    """Rows on their way from a file into the database. While one chunk is written, the next one is read."""

    _source: Source
    _refused: Refused
    _checks: Checks
    _strict: bool
    _progress: Callable[[Progress], None] | None
    _began: float
    rows: int = 0
    accepted: int = 0

    def run(self, tx: Transaction, batch_id: str) -> None:
        with ThreadPoolExecutor(1, thread_name_prefix="import") as writer:
            writing: Future[None] | None = None
            for chunk in self._chunks():
                if writing is not None:
                    writing.result()
                # Written even when it is empty: a transaction that says nothing is ended by the server.
                writing = writer.submit(_write, tx, batch_id, chunk)
                if self._progress is not None:
                    self._progress(self._so_far())
            if writing is not None:
                writing.result()
        self._refused.finish()

    def refuse_if_nothing_is_left(self, path: Path, report: Path | None) -> None:
        """Refuse a file without rows, and one of which no row, or when strict not every row, can be taken."""
        if self.rows == 0:
            happened = f"There are no rows in {path}."
            raise InputRefused("file_empty", happened, "Check that it is the right file.", path=str(path))
        count = self._refused.count
        if count == 0 or (self.accepted and not self._strict):
            return
        self._refused.publish()
        first = self._refused.kept[0]
        raise InputRefused(
            "rows_refused",
            f"{count:,} of {self.rows:,} rows of {path} are refused, the first in {self._source.noun} {first.number}"
            f" ({first.reason}): {first.message} Nothing was imported.",
            (f"Fix the rows that {report} lists" if report else "Fix the rows; --report FILE lists them")
            + (", or import without --strict." if self._strict else "."),
            rows=self.rows,
            refused=count,
            reasons=dict(self._refused.reasons.most_common()),
            report=None if report is None else str(report),
        )

    def _chunks(self) -> Iterator[list[Company]]:
        """Companies that make sense, as many as are found in a number of rows or a time."""
        chunk: list[Company] = []
        read, until = 0, time.monotonic() + CHUNK_S
        for row in self._source.rows:
            self.rows += 1
            found = self._checks.company(row)
            if isinstance(found, Fault):
                self._refused.add(RefusedRow(row.number, found.column, found.reason, found.message, row.as_text()))
            else:
                self.accepted += 1
                chunk.append(found)
            read += 1
            if read >= CHUNK_ROWS or time.monotonic() > until:
                self._refuse_endless()
                yield self._worth_writing(chunk)
                chunk, read, until = [], 0, time.monotonic() + CHUNK_S
        yield self._worth_writing(chunk)

    def _worth_writing(self, chunk: list[Company]) -> list[Company]:
        return [] if self._strict and self._refused.count else chunk

    def _refuse_endless(self) -> None:
        if self.rows > MAX_ROWS:
            raise InputRefused(
                "file_too_long",
                f"The file has more than {MAX_ROWS:,} rows.",
                "Split it, and import the parts one after the other with --append.",
                rows_most=MAX_ROWS,
            )

    def _so_far(self) -> Progress:
        return Progress(
            rows=self.rows,
            accepted=self.accepted,
            refused=self._refused.count,
            seconds=time.monotonic() - self._began,
            share=self._source.share(self.rows) or 0.0,
        )


def _refuse_without_names(path: Path, source: Source) -> None:
    if source.missing and source.header:
        columns = named(source.header)
        raise InputRefused(
            "name_column_missing",
            f"{path} has no column company_name. Its columns are: {', '.join(columns)}.",
            "Call the column with the company's name company_name, name or company.",
            path=str(path),
            columns=columns,
        )


def _write(tx: Transaction, batch_id: str, companies: Sequence[Company]) -> None:
    names, domains, urls, states = map(APART.join, zip(*companies, strict=True)) if companies else ("",) * 4
    values = {"batch_id": batch_id, "names": names, "domains": domains, "urls": urls, "states": states}
    tx.execute(Q["import_intakes"], values)


def _begin(tx: Transaction, batch_id: str, *, append: bool) -> None:
    if append:
        refuse_completed(find_batch(tx, batch_id))
        return
    try:
        create_batch(tx, batch_id)
    except InputRefused as refusal:
        if refusal.code == "batch_exists":
            refusal.next_step = "Choose another name; or, if these rows are to join it, say --append."
        raise
    except errors.LockNotAvailable as error:
        raise _busy(batch_id) from error


def _held(tx: Transaction, batch_id: str) -> Batch:
    """The batch as it is now and stays until we are done: it may have been completed while we read."""
    try:
        tx.execute(Q["hold_batch"], {"batch_id": batch_id})
    except errors.LockNotAvailable as error:
        raise _busy(batch_id) from error
    return find_batch(tx, batch_id)


def _busy(batch_id: str) -> InputRefused:
    return InputRefused(
        "batch_busy",
        f"Somebody else is importing batch {batch_id!r} at this moment.",
        "Wait until that import has ended. Nothing of this one was imported.",
        batch_id=batch_id,
    )
