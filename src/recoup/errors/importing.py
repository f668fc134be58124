"""Errors from a file, in batches, each in its own transaction; invalid rows are refused one by one.

A file that is imported again records its first rows again. An error with an entity supersedes the first one and keeps
its age, retries and parking; one without an entity, or in an append-only table, is recorded twice. A caller that knows
how far the import came can skip those rows.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

import psycopg

from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.errors import active_policy
from recoup.errors.active_policy import ActivePolicy
from recoup.errors.inputs import entity, moment, word
from recoup.errors.interrupts import deferred
from recoup.errors.prefetch import prefetched
from recoup.errors.recording import NewError, Prepared, prepare, record, record_prepared
from recoup.errors.resilient import HELD
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.files import Format, Refused, RefusedRow, Row, Source, Wanted, format_named, opened, reporting
from recoup.files.rows import named
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, Refusal, from_database

Q = load("recoup.errors", "recording.sql")
BATCH = 1000  # rows of one transaction
BATCH_CHARS = 8_000_000  # maximum, but for its last row
WANTED = Wanted(row_chars_most=4_000_000, streamed=True)
# Names of columns -> what they hold.
NAMES = {
    "table": "table", "error_table": "table",
    "entity": "entity", "outreach_id": "entity",
    "work_key": "work_key",
    "code": "code", "error_code": "code",
    "message": "message", "error_message": "message",
    "severity": "severity", "category": "category", "want": "want", "payload": "payload",
    "failed_at": "failed_at", "created_at": "failed_at",
}  # fmt: skip
Line = tuple[Row, NewError]


@dataclass(slots=True, kw_only=True)
class Imported:
    """The result of an import. Grows while the file is read."""

    noun: str = "line"  # what is counted; of a Parquet file, rows
    lines: int = 0  # read
    done: int = 0  # lines with a result: recorded or refused
    recorded: int = 0
    refused: Refused = field(default_factory=Refused)
    share: float | None = None  # of the file; None where its length is unknown


class _Rest(NamedTuple):
    """Lines that were not recorded: refused, and those whose entity is being promoted."""

    refused: list[tuple[Row, Refusal]]
    held: list[tuple[Line, Refusal]]


class _Batch(NamedTuple):
    """Rows of one transaction; those that cannot be read; and how far the file was read."""

    lines: list[Line]
    unread: list[tuple[Row, Refusal]]
    last: int
    share: float | None
    prepared: Prepared | None


def import_file(
    database: Database,
    path: Path,
    *,
    format_: Format | None = None,
    table: str | None = None,
    skip: int = 0,
    report: Path | None = None,
    actor: Actor | None = None,
    progress: Callable[[Imported], None] | None = None,
    so_far: Imported | None = None,
) -> Imported:
    """Record the errors of a file: JSONL, unless a format is given or its name has one. ``-`` is standard input.

    ``table`` is for rows that name none. ``so_far`` grows meanwhile: after an interruption it says how far the import
    came.
    """
    so_far = Imported() if so_far is None else so_far
    format_ = format_ or format_named(path) or Format.JSONL
    with opened(path, WANTED, format_) as source, reporting(report, source=path) as refused:
        _check_header(path, source.header, table)
        so_far.noun, so_far.refused = source.noun, refused
        known: list[ActivePolicy] = []
        held: list[Line] = []
        batches = _batches(source, known, table, skip)
        try:
            # What has arrived through a pipe is recorded, and reported, before waiting for more.
            with closing(batches if source.share(0) is None else prefetched(batches)) as coming:
                for batch in coming:
                    _record_batch(database, batch, so_far, actor, known, held)
                    if sum(row.chars for row, _ in held) > BATCH_CHARS:
                        _record_held(database, so_far, actor, held)
                    if progress is not None:
                        progress(so_far)
            _record_held(database, so_far, actor, held)
        finally:  # refused rows are reported also after an interruption
            refused.finish()
            refused.publish()
    if so_far.lines < skip:
        raise InputRefused(
            "skip_past_end", f"{path} has {plural(so_far.lines, so_far.noun)}, and {skip:,} were to be skipped.",
            "Nothing was recorded. Give --skip the number that the interrupted import printed.",
        )  # fmt: skip
    return so_far


def _check_header(path: Path, header: Sequence[str], table: str | None) -> None:
    """Refuse a file without a required column, rather than every one of its rows."""
    there = {NAMES.get(column) for column in header} | ({None} if table is None else {"table"})
    missing = [column for column in ("table", "message") if column not in there]
    if header and missing:
        raise InputRefused(
            "error_columns_missing",
            f"{path} has no column {' and no column '.join(missing)}. Its columns are: {', '.join(named(header))}.",
            "Name them table and message, or error_table and error_message; or give one table for all rows: --table",
            path=str(path),
            missing=missing,
        )


def _batches(source: Source, known: list[ActivePolicy], table: str | None, skip: int) -> Generator[_Batch]:
    """Errors that could be read, one transaction at a time, prepared as soon as the policy is known."""
    lines: list[Line] = []
    unread: list[tuple[Row, Refusal]] = []
    last = chars = 0

    def batch() -> _Batch:
        return _Batch(lines, unread, last, source.share(last), _prepared(known, lines))

    for row in source.rows:
        last = row.number
        if row.number <= skip:
            continue
        try:
            lines.append((row, _read(row, source.noun, table)))
        except InputRefused as refusal:
            unread.append((row, refusal))
        chars += row.chars
        if len(lines) == BATCH or chars >= BATCH_CHARS:
            yield batch()
            lines, unread, chars = [], [], 0
    yield batch()


def _prepared(known: list[ActivePolicy], lines: list[Line]) -> Prepared | None:
    try:
        return prepare(known[0], [error for _, error in lines]) if known and lines else None
    except (Refusal, ValueError):
        return None  # the refusal comes again, for its line, when they are recorded


def _read(row: Row, noun: str, table: str | None) -> NewError:
    """One row as an error. Unknown columns go into the payload."""
    if row.broken is not None:
        reason = row.broken[1]
        raise _unreadable(noun, reason[0].lower() + reason[1:].rstrip("."))
    given: dict[str, object] = {}
    for column, value in row.values.items():
        if column in NAMES and value is not None:
            if NAMES[column] in given:
                raise _unreadable(noun, f"it has the {NAMES[column]} twice, under two names")
            given[NAMES[column]] = value
    beside = {name: value for name, value in row.values.items() if name not in NAMES}
    payload = _payload(given.get("payload"))
    if payload is not None and not isinstance(payload, Mapping):
        raise _unreadable(noun, "its payload is not an object")
    message, name = given.get("message"), given.get("table", table)
    if not isinstance(message, str):
        raise _unreadable(noun, "it has no message, or one that is not text")
    if not isinstance(name, str):
        raise _unreadable(noun, "it names no table, and no --table was given")
    return NewError(
        table=name,
        message=message,
        outreach_id=entity(given.get("entity")),
        work_key=None if (work_key := given.get("work_key")) is None else str(work_key),
        code=None if (code := given.get("code")) is None else str(code),
        severity=word(Severity, given.get("severity")),
        category=word(Category, given.get("category")),
        want=word(Want, given.get("want")),
        failed_at=None if (failed_at := given.get("failed_at")) is None else moment(failed_at),
        payload={**beside, **payload} if payload is not None else beside or None,
    )


def _payload(given: object) -> object:
    """A payload, also as the text of its JSON, as CSV has it."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _unreadable(noun: str, why: str) -> InputRefused:
    return InputRefused(
        "line_unreadable",
        f"The {noun} cannot be read: {why}.",
        'Write each as {"table": …, "entity": …, "code": …, "message": …, "payload": {…}}.',
    )


def _record_batch(
    database: Database,
    batch: _Batch,
    so_far: Imported,
    actor: Actor | None,
    known: list[ActivePolicy],
    held: list[Line],
) -> None:
    """Record a batch; lines of entities that are being promoted are put aside until the end."""
    of_held = {error.outreach_id for _, error in held}
    lines = [line for line in batch.lines if line[1].outreach_id not in of_held] if of_held else batch.lines
    aside = [line for line in batch.lines if line[1].outreach_id in of_held] if of_held else []
    rest = _Rest(refused=batch.unread, held=[])
    count = len(rest.refused)
    with ExitStack() as end:
        if lines:
            with database.transaction(Authority.HUB, actor=actor) as tx:
                tx.execute(Q["do_not_wait"])
                _record(tx, lines, rest, so_far.noun, batch.prepared if lines is batch.lines else None)
                known[:] = [active_policy.cached(tx)]
                end.enter_context(deferred())  # an interrupted import reports only what is committed
        held += sorted([*aside, *(line for line, _ in rest.held)], key=lambda line: line[0].number)
        so_far.lines = batch.last
        so_far.done = min([batch.last, *(row.number - 1 for row, _ in held[:1])])
        so_far.share = batch.share
        so_far.recorded += len(lines) + count - len(rest.refused) - len(rest.held)
    _refuse(so_far, sorted(rest.refused, key=lambda one: one[0].number))


def _record_held(database: Database, so_far: Imported, actor: Actor | None, held: list[Line]) -> None:
    """Wait for the promotions, and record the lines that were put aside. Lines still held then are refused."""
    if not held:
        return
    rest = _Rest(refused=[], held=[])
    with ExitStack() as end:
        with database.transaction(Authority.HUB, actor=actor) as tx:
            _record(tx, held, rest, so_far.noun)
            end.enter_context(deferred())
        so_far.done = so_far.lines
        so_far.recorded += len(held) - len(rest.refused) - len(rest.held)
        held.clear()
    _refuse(
        so_far, sorted([*rest.refused, *((row, why) for (row, _), why in rest.held)], key=lambda one: one[0].number)
    )


def _refuse(so_far: Imported, refused: Sequence[tuple[Row, Refusal]]) -> None:
    for row, refusal in refused:
        so_far.refused.add(RefusedRow(row.number, None, refusal.code, refusal.happened, row.as_text()))


def _record(tx: Transaction, lines: Sequence[Line], rest: _Rest, noun: str, prepared: Prepared | None = None) -> None:
    """Record all lines; if that is refused, each half, down to the line that is refused."""
    try:
        with tx.transaction():
            if prepared is None:
                record(tx, [error for _, error in lines])
            else:
                record_prepared(tx, prepared)
    except (Refusal, psycopg.DatabaseError, UnicodeEncodeError) as error:
        cancelled = isinstance(error, psycopg.errors.QueryCanceled) and len(lines) > 1
        if isinstance(error, psycopg.OperationalError) and not cancelled:  # the server, not a line
            raise
        refusal = _refusal(error, noun)
        named = set(cast("list[str]", refusal.facts["entities"])) if refusal.code == HELD else set()
        held = [line for line in lines if str(line[1].outreach_id) in named]
        if held:
            rest.held.extend((line, refusal) for line in held)
            parts = [[line for line in lines if str(line[1].outreach_id) not in named]]
        elif len(lines) == 1:
            rest.refused.append((lines[0][0], refusal))
            return
        else:
            parts = [list(lines[: len(lines) // 2]), list(lines[len(lines) // 2 :])]
        for part in filter(None, parts):
            _record(tx, part, rest, noun)


def _refusal(error: Exception, noun: str) -> Refusal:
    if isinstance(error, Refusal):
        return error
    known = from_database(error) if isinstance(error, psycopg.Error) else None
    text = " ".join(str(error).split())[:500]
    return known or InputRefused("line_refused", f"The database refused it: {text}", f"Fix the {noun}.")
