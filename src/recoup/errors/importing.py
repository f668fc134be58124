"""Errors from a file, in batches, each in a transaction of its own; bad rows are refused one by one.

A file that was read half way and is read again records its first rows anew. An error about an entity supersedes the
one from before and has its age, retries and parking; one about no entity, or in a table that keeps its errors for ever,
is there twice. Whoever knows how far it came skips those rows.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

import psycopg

from recoup.database.connection import Actor, Database, Transaction
from recoup.errors import figures
from recoup.errors.ahead import one_ahead
from recoup.errors.figures import Figures
from recoup.errors.interrupts import put_off
from recoup.errors.recording import NewError, Prepared, prepare, record, record_prepared
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.files import Format, Refused, RefusedRow, Row, Source, Wanted, format_named, opened, reporting
from recoup.files.rows import named
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, Refusal, from_database

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
}  # fmt: skip
Line = tuple[Row, NewError]
Word = TypeVar("Word", bound=StrEnum)


@dataclass(slots=True, kw_only=True)
class Imported:
    """What became of a file. Grows while it is read."""

    noun: str = "line"  # what is counted; of a Parquet file, rows
    lines: int = 0  # read
    done: int = 0  # lines that have their result: recorded, or refused
    recorded: int = 0
    refused: Refused = field(default_factory=Refused)
    share: float | None = None  # of the file; None where nobody knows


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
        known: list[Figures] = []
        batches = _batches(source, known, table, skip)
        try:
            # Of a pipe what has come is recorded, and told, before more is waited for.
            with closing(batches if source.share(0) is None else one_ahead(batches)) as coming:
                for batch in coming:
                    _record_batch(database, batch, so_far, actor, known)
                    if progress is not None:
                        progress(so_far)
        finally:  # what was refused until then is not read again
            refused.finish()
            refused.publish()
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


def _batches(source: Source, known: list[Figures], table: str | None, skip: int) -> Generator[_Batch]:
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


def _prepared(known: list[Figures], lines: list[Line]) -> Prepared | None:
    try:
        return prepare(known[0], [error for _, error in lines]) if known and lines else None
    except (Refusal, ValueError):
        return None  # it is found again, and told of its line, when they are recorded


def _read(row: Row, noun: str, table: str | None) -> NewError:
    """One row as the failure that it tells. What it has beside goes into the payload: nothing is lost."""
    if row.broken is not None:
        said = row.broken[1]
        raise _unreadable(noun, said[0].lower() + said[1:].rstrip("."))
    given = {NAMES[name]: value for name, value in row.values.items() if name in NAMES and value is not None}
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
        outreach_id=_entity(given.get("entity")),
        work_key=None if (work_key := given.get("work_key")) is None else str(work_key),
        code=None if (code := given.get("code")) is None else str(code),
        severity=_word(Severity, given.get("severity")),
        category=_word(Category, given.get("category")),
        want=_word(Want, given.get("want")),
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


def _entity(given: object) -> UUID | None:
    if given is None:
        return None
    try:
        return UUID(str(given))
    except ValueError:
        raise InputRefused("entity_unreadable", f"{str(given)[:50]!r} is no UUID.", "Give its outreach_id.") from None


def _word(words: type[Word], given: object) -> Word | None:
    """One of a closed list of words, in any case; or a refusal."""
    if given is None:
        return None
    text = str(given).upper()
    if text not in list(words):
        kind = words.__name__.lower()
        raise InputRefused(f"{kind}_unknown", f"{str(given)[:50]!r} is no {kind}.", f"Use one of: {', '.join(words)}.")
    return words(text)


def _unreadable(noun: str, why: str) -> InputRefused:
    return InputRefused(
        "line_unreadable",
        f"The {noun} cannot be read: {why}.",
        'Write each as {"table": …, "entity": …, "code": …, "message": …, "payload": {…}}.',
    )


def _record_batch(
    database: Database, batch: _Batch, so_far: Imported, actor: Actor | None, known: list[Figures]
) -> None:
    refused = batch.unread
    count = len(refused)
    with ExitStack() as end:
        if batch.lines:
            with database.transaction(Authority.HUB, actor=actor) as tx:
                _record(tx, batch.lines, refused, so_far.noun, batch.prepared)
                known[:] = [figures.kept(tx)]
                end.enter_context(put_off())  # whoever is told how far it came is told of what is committed
        so_far.lines = so_far.done = batch.last
        so_far.share = batch.share
        so_far.recorded += len(batch.lines) + count - len(refused)
    for row, refusal in refused:
        so_far.refused.add(RefusedRow(row.number, None, refusal.code, refusal.happened, row.as_text()))


def _record(
    tx: Transaction,
    lines: Sequence[Line],
    refused: list[tuple[Row, Refusal]],
    noun: str,
    prepared: Prepared | None = None,
) -> None:
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
        if len(lines) == 1:
            refused.append((lines[0][0], _refusal(error, noun)))
            return
        half = len(lines) // 2
        _record(tx, lines[:half], refused, noun)
        _record(tx, lines[half:], refused, noun)


def _refusal(error: Exception, noun: str) -> Refusal:
    if isinstance(error, Refusal):
        return error
    known = from_database(error) if isinstance(error, psycopg.Error) else None
    said = " ".join(str(error).split())[:500]
    return known or InputRefused("line_refused", f"The database does not take it: {said}", f"Mend the {noun}.")
