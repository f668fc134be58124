"""Ingestion: failures become matches, once each. The evaluation of each is queued in the same transaction."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from recoup.categories import Category
from recoup.database.arrays import Routine, records
from recoup.database.connection import Transaction
from recoup.errors.inputs import shown, word
from recoup.errors.plain import plain
from recoup.recovery.texts import json_text
from recoup.recovery.vocabulary import SubjectKind
from recoup.redaction import in_words
from recoup.refusals import InputRefused
from recoup.signatures import read

MAX_MESSAGE = 10_000
MAX_NAME_BYTES = 500
MAX_CODE_BYTES = 200
MAX_AT_ONCE = 1000  # of one statement
UNNAMED = "unnamed"  # the source of a run whose source is blank
DIFFERS = "differs"  # the answer to another content under a known key
CONTENT = json.JSONEncoder(sort_keys=True)  # made once: json.dumps makes one for each call
INGEST = Routine(
    name="recovery.ingest",
    sets=(
        {
            "sources": "text", "keys": "text", "kinds": "text", "refs": "text", "codes": "text", "messages": "text",
            "signatures": "text", "categories": "text", "contexts": "jsonb", "digests": "bytea", "follow": "uuid",
            "named": "uuid",
        },
    ),
    results={"failure_match_id": "ids", "answer": "answers"},
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFailure:
    """A failure to recover from. One that is reported again under the same key is the same match."""

    source: str  # where it failed: a system, a job, an error table
    message: str
    key: str  # idempotency key, unique within the source
    code: str | None = None
    category: Category | str | None = None  # worked out from the message where it is not given
    signature: str | None = None  # the same
    kind: SubjectKind = SubjectKind.OUTSIDE
    ref: str | None = None  # what failed; by default the key
    context: Any = None  # a JSON object with details; known secrets in it are redacted
    follows: UUID | None = None  # the match before it, which has ended
    incident: UUID | None = None  # joins this incident, or the one that follows it


class Ingested(NamedTuple):
    """What became of a failure: its match, and created, known, or differs (refused: another content, the same key)."""

    failure_match_id: UUID | None
    answer: str


def ingest(tx: Transaction, failures: Sequence[NewFailure]) -> list[Ingested]:
    """Ingest failures, in the order given. One with other content under a known key is refused; the rest goes in."""
    done: list[Ingested] = []
    for start in range(0, len(failures), MAX_AT_ONCE):
        done += records(Ingested, INGEST.call(tx, **_columns(failures[start : start + MAX_AT_ONCE])))
    return done


def ingestible(ours: NewFailure) -> NewFailure:
    """A failure of a row of this database, which may hold what is refused of a caller: a blank code, a long source.

    A refusal would stop everything behind it in the log from becoming matches.
    """
    return replace(
        ours,
        source=_cut(ours.source, MAX_NAME_BYTES) or UNNAMED,
        code=_cut(ours.code, MAX_CODE_BYTES),
        signature=_cut(ours.signature, MAX_CODE_BYTES),
    )


def _cut(text: str | None, most: int) -> str | None:
    """Text as names are stored, cut to this number of bytes; None if it is blank, or cannot be stored so short."""
    stored = in_words(text or "").encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
    return stored if stored.strip() and len(in_words(stored).encode()) <= most else None


def checked(given: NewFailure) -> NewFailure:
    """The failure, if it could be ingested; or a refusal."""
    _row(given)
    return given


def _columns(failures: Sequence[NewFailure]) -> dict[str, list[Any]]:
    rows = [_row(one) for one in failures]
    return {name: [row[name] for row in rows] for name in INGEST.parameters}


def _row(given: NewFailure) -> dict[str, Any]:
    message = in_words(given.message if isinstance(given.message, str) else plain(given.message))[:MAX_MESSAGE]
    code = None if given.code is None else _named(in_words(given.code), "code", MAX_CODE_BYTES)
    reading = read(message, code)
    row = {
        "sources": _named(given.source, "source"),
        "keys": _named(given.key, "key"),
        "kinds": SubjectKind(given.kind).value,
        "refs": _named(given.ref or given.key, "ref"),
        "codes": code,
        "messages": message,
        "signatures": _named(given.signature or reading.key, "signature", MAX_CODE_BYTES),
        "categories": word(Category, reading.category if given.category is None else given.category),
        "contexts": None if given.context is None else json_text(given.context),
    }
    content = CONTENT.encode(row).encode()
    return row | {
        "digests": "\\x" + hashlib.sha256(content).hexdigest(), "follow": given.follows, "named": given.incident,
    }  # fmt: skip


def _named(text: object, what: str, most: int = MAX_NAME_BYTES) -> str:
    if type(text) is str and text.isascii() and 0 < len(text) <= most and text.isprintable() and text[0] != " ":
        return text  # as most are
    usable = isinstance(text, str) and text.strip() and "\0" not in text
    if not isinstance(text, str) or not usable or len(text.encode("utf-8", "surrogatepass")) > most:
        raise InputRefused(
            f"failure_{what}", f"{shown(text)} is not a usable {what} of a failure.", f"Give 1 to {most} bytes of text."
        )
    return text.encode("utf-8", "replace").decode()
