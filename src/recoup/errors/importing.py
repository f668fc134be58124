"""Errors from a file, in batches, each in a transaction of its own; bad rows are refused one by one.

A file that was read half way and is read again records its first rows anew. An error about an entity supersedes the
one from before and has its age, retries and parking; one about no entity, or in a table that keeps its errors for ever,
is there twice. Whoever knows how far it came skips those rows.
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
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, Refusal, from_database

Q = load("recoup.errors", "recording.sql")
BATCH = 1000  # rows of one transaction
BATCH_CHARS = 8_000_000  # and no more than this, or a row more
WANTED = Wanted(row_chars_most=4_000_000, streamed=True)
# What a column may be called -> what it is.
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
    """What became of a file. Grows while it is read."""

    noun: str = "line"  # what is counted; of a Parquet file, rows
    lines: int = 0  # read
    done: int = 0  # lines that have their result: recorded, or refused
    recorded: int = 0
    refused: Refused = field(default_factory=Refused)
    share: float | None = None  # of the file; None where nobody knows


class _Rest(NamedTuple):
    """Lines that were not recorded: refused, and those whose entity is being promoted."""

    refused: list[tuple[Row, Refusal]]
    held: list[tuple[Line, Refusal]]


class _Batch(NamedTuple):
    """Rows of one transaction; those of them that cannot be read; and how far the file was read with them."""

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
    """Record the failures of a file: JSONL, unless a format is given or the name tells one. ``-`` is standard input.

    The table is for rows that name none. ``so_far`` grows meanwhile: whoever is interrupted knows how far it came.
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
            # Of a pipe what has come is recorded, and told, before more is waited for.
            with closing(batches if source.share(0) is None else prefetched(batches)) as coming:
                for batch in coming:
                    _record_batch(database, batch, so_far, actor, known, held)
                    if sum(row.chars for row, _ in held) > BATCH_CHARS:
                        _record_held(database, so_far, actor, held)
                    if progress is not None:
                        progress(so_far)
            _record_held(database, so_far, actor, held)
        finally:  # what was refused until then is not read again
            refused.finish()
            refused.publish()
    if so_far.lines < skip:
        raise InputRefused(
            "skip_past_end", f"{path} has {so_far.lines:,} {so_far.noun}s, and {skip:,} were to be left out.",
            "Nothing was recorded. Give --skip the number that the interrupted import said.",
        )  # fmt: skip
    return so_far


def _check_header(path: Path, header: Sequence[str], table: str | None) -> None:
    """Refuse a file without messages, before every row of it is refused on its own."""
    there = {NAMES.get(column) for column in header} | ({None} if table is None else {"table"})
    missing = [column for column in ("table", "message") if column not in there]
    if header and missing:
        raise InputRefused(
            "error_columns_missing",
            f"{path} has no column {' and no column '.join(missing)}. Its columns are: {', '.join(named(header))}.",
            "Call them table and message, or error_table and error_message; --table is for all that name none.",
            path=str(path),
            missing=missing,
        )


def _batches(source: Source, known: list[ActivePolicy], table: str | None, skip: int) -> Generator[_Batch]:
    """Errors that could be read, as many as go into one transaction, prepared as soon as it is known by what."""
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
        return None  # it is found again, and told of its line, when they are recorded


def _read(row: Row, noun: str, table: str | None) -> NewError:
    """One row as the failure that it tells. What it has beside goes into the payload: nothing is lost."""
    if row.broken is not None:
        said = row.broken[1]
        raise _unreadable(noun, said[0].lower() + said[1:].rstrip("."))
    given: dict[str, object] = {}
    for column, value in row.values.items():
        if column in NAMES and value is not None:
            if NAMES[column] in given:
                raise _unreadable(noun, f"it says the {NAMES[column]} twice, under two names")
            given[NAMES[column]] = value
    beside = {name: value for name, value in row.values.items() if name not in NAMES}
    payload = _payload(given.get("payload"))
    if payload is not None and not isinstance(payload, Mapping):
        raise _unreadable(noun, "its payload is no object")
    message, name = given.get("message"), given.get("table", table)
    if not isinstance(message, str):
        raise _unreadable(noun, "it has no message, or one that is no text")
    if not isinstance(name, str):
        raise _unreadable(noun, "it names no table, and none was given beside the file")
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
    """A payload, which may be written as the text of its JSON: CSV has nothing else."""
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
    """Record a batch; lines of entities that are being promoted are put aside, and waited for at the end."""
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
                end.enter_context(deferred())  # whoever is told how far it came is told of what is committed
        held += sorted([*aside, *(line for line, _ in rest.held)], key=lambda line: line[0].number)
        so_far.lines = batch.last
        so_far.done = min([batch.last, *(row.number - 1 for row, _ in held[:1])])
        so_far.share = batch.share
        so_far.recorded += len(lines) + count - len(rest.refused) - len(rest.held)
    _refuse(so_far, rest.refused)


def _record_held(database: Database, so_far: Imported, actor: Actor | None, held: list[Line]) -> None:
    """Wait for the promotions in the way, and record what was put aside. What is held even then is refused."""
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
    """Record them all; where that is refused, its halves, in order, down to the line that it is about."""
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
    said = " ".join(str(error).split())[:500]
    return known or InputRefused("line_refused", f"The database does not take it: {said}", f"Mend the {noun}.")
