"""Results of the audit that were kept. The audit writes nothing; a caller who wants its result records it.

A result is a row of an append-only log, which is sealed as all others are: what was selected, how many invariants hold,
and of those that are broken how many rows break each. The rows themselves are not in it; another audit shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from recoup import __version__
from recoup.audit.examine import InvariantResult
from recoup.database.connection import Transaction
from recoup.database.queries import load

Q = load("recoup.audit", "results.sql")
SEALS = "laws/L10/seals"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """The result of one audit."""

    seq: int
    started_at: datetime  # it saw what was committed then
    finished_at: datetime
    selected: Sequence[str]  # beginnings of ids; none: every invariant
    checked: int
    held: int
    not_checked: int  # could not be checked, or not all of it, from where it ran
    broken: int
    broken_rows: Mapping[str, int]  # ids of those that are broken, and how many rows break each
    seals_hold: bool | None  # None: the seals were not verified
    recoup_version: str  # of the program that checked
    actor: str
    actor_id: str


def now(tx: Transaction) -> datetime:
    """The time of the database, before an audit whose result is kept."""
    (found,) = tx.execute(Q["now"]).fetchone() or (None,)
    assert isinstance(found, datetime)
    return found


def record(
    tx: Transaction, verdicts: Sequence[InvariantResult], *, started_at: datetime, selected: Sequence[str] = ()
) -> AuditResult:
    """Keep the result of an audit, as an operator."""
    broken = {one.id: one.found for one in verdicts if not one.holds}
    unseen = sum(one.holds and one.note is not None for one in verdicts)
    seals = next((one.holds for one in verdicts if one.id == SEALS), None)
    given = {
        "started_at": started_at, "selected": list(selected), "checked": len(verdicts),
        "held": len(verdicts) - len(broken) - unseen, "not_checked": unseen, "broken": len(broken),
        "broken_rows": Jsonb(broken), "seals_hold": seals, "version": __version__,
    }  # fmt: skip
    with tx.cursor(row_factory=class_row(AuditResult)) as cursor:
        made = cursor.execute(Q["record"].format(columns=Q["columns"]), given).fetchone()
    assert made is not None
    return made


def results(tx: Transaction, *, broken: bool = False, limit: int = 20, after: int | None = None) -> list[AuditResult]:
    """Results that were kept, newest first; with ``broken`` those that found something.

    ``after``, the seq of the last one, gives the next page.
    """
    given = {"broken": broken, "limit": limit, "after": after}
    with tx.cursor(row_factory=class_row(AuditResult)) as cursor:
        return cursor.execute(Q["list"].format(columns=Q["columns"]), given).fetchall()
