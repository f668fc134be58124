"""The head of the chain of seals: a small file that, kept elsewhere, proves the whole chain.

A person who can rewrite a log can rewrite its seals too, and then the chain is consistent. But it differs from a head
that was exported before and kept where that person cannot write.
"""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.refusals import InputRefused

Q = load("recoup.ledger", "seals.sql")
FORMAT = 1
MAX_TEXT = 100_000  # characters of a head; a real one has a few hundred
MAX_LOGS = 1000
MAX_BIGINT = 2**63 - 1
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The newest seal at the time of the export, and the number of sealed rows of each log."""

    number: int
    digest: str  # hexadecimal; covers every seal and every row up to it
    sealed_at: datetime
    incarnation: int
    system_identifier: int
    rows: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT, "number": self.number, "digest": self.digest, "sealed_at": self.sealed_at.isoformat(),
            "incarnation": self.incarnation, "system_identifier": self.system_identifier, "rows": self.rows,
        }  # fmt: skip

    def as_text(self) -> str:
        return json.dumps(self.as_json(), indent=2) + "\n"


def export_head(tx: Transaction) -> Head:
    """The current head of the chain."""
    row = tx.execute(Q["head"]).fetchone()
    if row is None:
        raise InputRefused("nothing_sealed", "Nothing is sealed: there is no head.", "Seal first: recoup seal run")
    number, digest, sealed_at, incarnation, system_identifier, rows = row
    return Head(
        number=number, digest=digest, sealed_at=sealed_at, incarnation=incarnation,
        system_identifier=system_identifier, rows={log: int(count) for log, count in sorted(rows.items())},
    )  # fmt: skip


def read_head(text: str) -> Head:
    """A head from its JSON, or a refusal: the file comes from outside and may contain anything."""
    if len(text) > MAX_TEXT:
        raise _unreadable(f"it has {len(text):,} characters; a head has a few hundred")
    try:
        given = json.loads(text, object_pairs_hook=_once_each)
    except RecursionError as error:
        raise _unreadable("it is nested too deeply") from error
    except ValueError as error:
        raise _unreadable(f"it is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise _unreadable("it is not an object")
    if given.get("format") != FORMAT or isinstance(given.get("format"), bool):
        raise _unreadable(f"its format is {_quoted(given.get('format'))}, this program knows {FORMAT}")
    known = {"format", "number", "digest", "sealed_at", "incarnation", "system_identifier", "rows"}
    if given.keys() != known:
        raise _unreadable(f"these fields are missing or unknown: {_quoted(sorted(given.keys() ^ known))}")
    return Head(
        number=_whole(given, "number", least=1),
        digest=_digest(given["digest"]),
        sealed_at=_time(given["sealed_at"]),
        incarnation=_whole(given, "incarnation", least=1, most=2**31 - 1),
        system_identifier=_whole(given, "system_identifier", least=-MAX_BIGINT - 1),
        rows=_rows(given["rows"]),
    )


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field is given twice")
    return found


def _whole(given: dict[str, Any], field: str, *, least: int, most: int = MAX_BIGINT) -> int:
    value = given[field]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _unreadable(f"{_quoted(field)} is {_quoted(value)}, not a whole number from {least} to {most}")
    return value


def _digest(value: object) -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise _unreadable(f"its digest is {_quoted(value)}, not 64 hexadecimal digits")
    return value


def _time(value: object) -> datetime:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise _unreadable(f"sealed_at is {_quoted(value)}, not a time with its zone")
    return at


def _rows(value: object) -> dict[str, int]:
    if not isinstance(value, dict) or len(value) > MAX_LOGS:
        raise _unreadable("rows is not an object of logs and row counts")
    return {log: _whole(value, log, least=0) for log in value}


def _quoted(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python prints
        text = "out of bounds"
    return text if len(text) <= 80 else text[:80] + "…"


def _unreadable(why: str) -> InputRefused:
    return InputRefused(
        "head_unreadable",
        f"This is not the head of a chain of seals: {why}.",
        "Give an unchanged file from: recoup seal export --to FILE",
    )
