"""Errors from a file of JSON lines: in batches, each in a transaction of its own; bad lines are refused one by one.

A file that was read half way and is read again records its first lines anew. An error about an entity supersedes the
one from before and has its age, retries and parking; one about no entity, or in a table that keeps its errors for ever,
is there twice. Whoever knows how far it came skips those lines.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, Any, NamedTuple, TypeVar
from uuid import UUID

import psycopg

from recoup.database.connection import Actor, Database, Transaction
from recoup.errors.recording import NewError, record
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, Refusal, from_database

BATCH = 1000  # lines of one transaction
BATCH_BYTES = 8_000_000  # and no more than this, or a line more
LINE_BYTES_MOST = 4_000_000
KEPT_MOST = 1000  # refused lines that are told one by one; all are counted
# What a line may call it -> what it is.
NAMES = {
    "table": "table", "error_table": "table",
    "entity": "entity", "outreach_id": "entity",
    "code": "code", "error_code": "code",
    "message": "message", "error_message": "message",
    "severity": "severity", "category": "category", "want": "want", "payload": "payload",
}  # fmt: skip
Word = TypeVar("Word", bound=StrEnum)


class RefusedLine(NamedTuple):
    """A line that was not recorded."""

    line: int
    refused: str
    happened: str


@dataclass(slots=True, kw_only=True)
class BroughtIn:
    """What became of a file. Grows while it is read."""

    lines: int = 0  # read
    done: int = 0  # lines that have their result: recorded, or refused
    recorded: int = 0
    refused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    refusals: list[RefusedLine] = field(default_factory=list)

    def refuse(self, line: int, refusal: Refusal) -> None:
        self.refused += 1
        self.reasons[refusal.code] += 1
        if len(self.refusals) < KEPT_MOST:
            self.refusals.append(RefusedLine(line, refusal.code, refusal.happened))


class _Line(NamedTuple):
    number: int
    error: NewError


def bring_in(
    database: Database,
    file: IO[bytes],
    *,
    table: str | None = None,
    skip: int = 0,
    actor: Actor | None = None,
    tell: Callable[[BroughtIn], None] | None = None,
    told: BroughtIn | None = None,
) -> BroughtIn:
    """Record the failures of a file of JSON lines. The table is for lines that name none.

    ``told`` grows meanwhile: whoever is interrupted knows how far it came.
    """
    told = BroughtIn() if told is None else told
    batch: list[_Line] = []
    size = 0
    for number, line in _lines(file):
        told.lines = number
        if number <= skip or not line.strip():
            continue
        try:
            batch.append(_Line(number, read(line, table=table)))
        except InputRefused as refusal:
            told.refuse(number, refusal)
        size += len(line)
        if len(batch) == BATCH or size >= BATCH_BYTES:
            _record_batch(database, batch, told, actor)
            batch, size = [], 0
            if tell is not None:
                tell(told)
    _record_batch(database, batch, told, actor)
    return told


def read(line: bytes, *, table: str | None = None) -> NewError:
    """One line as the failure that it tells. What it has beside goes into the payload: nothing is lost."""
    given = _object(line)
    named = {NAMES[name]: value for name, value in given.items() if name in NAMES and value is not None}
    beside = {name: value for name, value in given.items() if name not in NAMES}
    payload = named.get("payload")
    if payload is not None and not isinstance(payload, Mapping):
        raise _unreadable("its payload is no object")
    message, name = named.get("message"), named.get("table", table)
    if not isinstance(message, str):
        raise _unreadable("it has no message, or one that is no text")
    if not isinstance(name, str):
        raise _unreadable("it names no table, and none was given beside the file")
    return NewError(
        table=name,
        message=message,
        outreach_id=_entity(named.get("entity")),
        code=None if (code := named.get("code")) is None else str(code),
        severity=word(Severity, named.get("severity")),
        category=word(Category, named.get("category")),
        want=word(Want, named.get("want")),
        payload={**beside, **payload} if payload is not None else beside or None,
    )


def word(words: type[Word], given: object) -> Word | None:
    """One of a closed list of words, in any case; or a refusal."""
    if given is None:
        return None
    text = str(given).upper()
    if text not in list(words):
        kind = words.__name__.lower()
        raise InputRefused(f"{kind}_unknown", f"{str(given)[:50]!r} is no {kind}.", f"Use one of: {', '.join(words)}.")
    return words(text)


def _record_batch(database: Database, batch: Sequence[_Line], told: BroughtIn, actor: Actor | None) -> None:
    refused: list[tuple[int, Refusal]] = []
    if batch:
        with database.transaction(Authority.HUB, actor=actor) as tx:
            _record(tx, batch, refused)
    told.done = told.lines
    told.recorded += len(batch) - len(refused)
    for number, refusal in refused:
        told.refuse(number, refusal)


def _record(tx: Transaction, lines: Sequence[_Line], refused: list[tuple[int, Refusal]]) -> None:
    """Record them all; where that is refused, its halves, in order, down to the line that it is about."""
    try:
        with tx.transaction():
            record(tx, [line.error for line in lines])
    except psycopg.OperationalError as error:
        if not isinstance(error, psycopg.errors.QueryCanceled) or len(lines) == 1:  # the server, not a line
            raise
        _record_halves(tx, lines, refused)
    except (Refusal, psycopg.DatabaseError, UnicodeEncodeError) as error:
        if len(lines) == 1:
            refused.append((lines[0].number, _refusal(error)))
            return
        _record_halves(tx, lines, refused)


def _record_halves(tx: Transaction, lines: Sequence[_Line], refused: list[tuple[int, Refusal]]) -> None:
    half = len(lines) // 2
    _record(tx, lines[:half], refused)
    _record(tx, lines[half:], refused)


def _refusal(error: Exception) -> Refusal:
    if isinstance(error, Refusal):
        return error
    known = from_database(error) if isinstance(error, psycopg.Error) else None
    said = " ".join(str(error).split())[:500]
    return known or InputRefused("line_refused", f"The database does not take it: {said}", "Mend the line.")


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(LINE_BYTES_MOST + 1):
        number += 1
        if len(line) > LINE_BYTES_MOST and not line.endswith(b"\n"):
            while (rest := file.readline(LINE_BYTES_MOST)) and not rest.endswith(b"\n"):
                pass
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def _object(line: bytes) -> Mapping[str, Any]:
    if len(line) > LINE_BYTES_MOST:
        raise _unreadable(f"it is longer than {LINE_BYTES_MOST:,} bytes")
    try:
        given = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _unreadable(f"it is no JSON: {str(error)[:200]}") from None
    if not isinstance(given, dict):
        raise _unreadable("it is no JSON object")
    return given


def _entity(given: object) -> UUID | None:
    if given is None:
        return None
    try:
        return UUID(str(given))
    except ValueError:
        raise InputRefused("entity_unreadable", f"{str(given)[:50]!r} is no UUID.", "Give its outreach_id.") from None


def _unreadable(why: str) -> InputRefused:
    return InputRefused(
        "line_unreadable",
        f"The line cannot be read: {why}.",
        'Write each as {"table": …, "entity": …, "code": …, "message": …, "payload": {…}}.',
    )
