"""Tracebacks of failed retries: kept with their error, deleted with it or when they hold a secret.

They are not in the log of events, which is sealed and could not lose a secret.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors.lookup import ErrorKey
from recoup.redaction import in_words

Q = load("recoup.errors", "tracebacks.sql")
MAX_CHARACTERS = 20_000


class RetryTraceback(NamedTuple):
    """Why one retry of an error failed."""

    error_table: str
    error_id: int
    retry: int  # its number, from 1
    recorded_at: datetime
    traceback: str


class NewTraceback(NamedTuple):
    """A traceback of a retry that was reported as failed."""

    error: ErrorKey
    token: object
    text: str


def keep(tx: Transaction, failed: Sequence[NewTraceback]) -> None:
    """Keep tracebacks of retries whose failure was reported in this transaction, without the secrets that are known."""
    given = [(*one.error, one.token, text) for one in failed if (text := _stored(one.text))]
    if given:
        names = ("tables", "ids", "tokens", "tracebacks")
        tx.execute(Q["keep"], dict(zip(names, map(list, zip(*given, strict=True)), strict=True)))


def tracebacks(tx: Transaction, errors: Sequence[ErrorKey]) -> list[RetryTraceback]:
    """The tracebacks of these errors, live or archived, in the order of their retries."""
    wanted = set(errors)
    found = tx.execute(Q["of_errors"], {"ids": sorted({key.error_id for key in wanted})})
    return [one for row in found if ErrorKey(*(one := RetryTraceback(*row))[:2]) in wanted]


def delete(tx: Transaction, which: Sequence[tuple[int, int]]) -> None:
    """Delete tracebacks, by error id and retry: as operator at any time, as archiver when their error is gone."""
    if which:
        tx.execute(Q["delete"], {"ids": [one[0] for one in which], "retries": [one[1] for one in which]})


def of_month(tx: Transaction, table: str, month: object) -> list[tuple[int, int]]:
    """Error id and retry of every traceback whose error is in this month of an archive."""
    return [(int(row[0]), int(row[1])) for row in tx.execute(Q["of_month"], {"table": table, "month": month})]


def _stored(text: str) -> str:
    return in_words(text).replace("\0", "").strip("\n")[-MAX_CHARACTERS:]
