"""Reading companies: lists by batch, status and name, and finding one by name, domain or id. Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row
from psycopg.sql import SQL

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.find import Finder, Found, Wanted
from recoup.formatting import timestamp
from recoup.gate.batches import find_batch
from recoup.gate.intake import Intake

Q = load("recoup.gate", "find.sql")
LAST = UUID(int=2**128 - 1)
SEARCHED = 50_000  # intakes whose names are searched
NONE: Mapping[str, SQL] = {}
WINDOW = 20_000  # companies that one page of a search reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """A page of a search. ``next``: the last company that was searched, if more follow."""

    intakes: list[Intake]
    next: UUID | None
    is_cut: bool  # the search ended before the page was full


def list_intakes(
    tx: Transaction,
    *,
    batch_id: str | None = None,
    statuses: Sequence[str] = (),
    name: str | None = None,
    limit: int = 100,
    after: UUID | None = None,
) -> list[Intake]:
    """Companies, newest first: of a batch, in a status, whose name or domain begins with a text in any case.

    ``after``, the id of the last that was listed, gives the next page.
    """
    if batch_id is not None:
        find_batch(tx, batch_id)
    return _intakes(tx, "list", limit=limit, **_conditions(batch_id, statuses, name, after))


def scan_intakes(
    tx: Transaction,
    *,
    batch_id: str | None = None,
    statuses: Sequence[str] = (),
    name: str | None = None,
    limit: int = 100,
    after: UUID | None = None,
    window: int = WINDOW,
) -> Scanned:
    """The same in bounded steps: reads no more than a window of companies, however few of them match."""
    given = _conditions(batch_id, statuses, name, after)
    of_batch = SQL("" if batch_id is None else "and n.batch_id = %(batch_id)s")
    found = _intakes(tx, "scan", {"of_batch": of_batch}, limit=limit, window=window, **given)
    if len(found) >= limit:
        return Scanned(intakes=found, next=found[-1].intake_id, is_cut=False)
    to = Q["scanned_to"].format(of_batch=of_batch)
    (last,) = tx.execute(to, {**given, "window": window}, prepare=False).fetchone() or (None,)
    return Scanned(intakes=found, next=last, is_cut=last is not None)


def _conditions(batch_id: str | None, statuses: Sequence[str], name: str | None, after: UUID | None) -> dict[str, Any]:
    return {
        "batch_id": batch_id,
        "statuses": list(statuses) or None,
        "after": after or LAST,
        **(dict.fromkeys(("from_lower", "to_lower")) if name is None else Wanted(text=name, limit=1).texts),
    }


def status_text(intake: Intake) -> str:
    """The status of a company, in words."""
    batch = "" if intake.batch_id is None else f"; batch {intake.batch_id}"
    failed = f"{intake.attempt_count} of 3 attempts failed, last {intake.failure_reason}"
    match intake.status:
        case "PENDING":
            told = "waiting for its first attempt"
        case "FAILED" if intake.next_eligible_at is not None:
            told = f"{failed}; next attempt after {timestamp(intake.next_eligible_at, seconds=False)}"
        case "EXHAUSTED":
            told = f"not tried any more: {failed}"
        case "REENTER_SUCCEEDED":
            told = "passed in a retry, and entered as a new intake"
        case _ if intake.reentered_from is not None:
            told = f"passed in a retry of intake {intake.reentered_from}"
        case _:
            told = "passed at its first attempt"
    return f"{intake.status}: {told}{batch}"


def _look_up(tx: Transaction, wanted: Wanted) -> list[Found]:
    found: list[Intake] = []
    if wanted.ids is not None:
        low, high = wanted.ids
        found += _intakes(tx, "by_id", limit=wanted.limit, low=low, high=high)
    if not wanted.is_id:
        found += _intakes(tx, "by_name", limit=wanted.limit, **wanted.texts)
    unique = {intake.intake_id: intake for intake in found}
    return [*map(_company, unique.values()), *_batches(tx, wanted)]


def _search(tx: Transaction, wanted: Wanted) -> list[Found]:
    return list(map(_company, _intakes(tx, "by_text", limit=wanted.limit, text=wanted.text, newest=SEARCHED)))


def _intakes(tx: Transaction, query: str, parts: Mapping[str, SQL] = NONE, /, **given: Any) -> list[Intake]:
    with tx.cursor(row_factory=class_row(Intake)) as cursor:
        # Not prepared: planned for these values.
        return cursor.execute(Q[query].format(intakes=Q["intakes"], **parts), given, prepare=False).fetchall()


def _batches(tx: Transaction, wanted: Wanted) -> list[Found]:
    with tx.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(Q["batches"], {**wanted.texts, "limit": wanted.limit}).fetchall()
    return [_batch(row) for row in rows]


def _company(intake: Intake) -> Found:
    name = ", ".join(part for part in (intake.company_name, intake.company_domain, intake.state) if part)
    verb = f'restart {intake.intake_id} --reason "…"' if intake.status == "EXHAUSTED" else f"history {intake.intake_id}"
    return Found(
        kind="company",
        id=str(intake.intake_id),
        title=name,
        status=status_text(intake),
        next_step=f"recoup gate {verb}",
    )


def _batch(row: dict[str, Any]) -> Found:
    told = f"imported {timestamp(row['imported_at'], seconds=False)}"
    if row["batch_freeze_at"] is not None:
        told += f"; recovery window closes {timestamp(row['batch_freeze_at'], seconds=False)}"
    if row["paused_by"] is not None:
        told += f"; paused by {row['paused_by']}: {row['pause_reason']}"
    return Found(
        kind="batch",
        id=row["batch_id"],
        title=None,
        status=f"{row['status']}: {told}",
        next_step=f"recoup gate list --batch {row['batch_id']}",
    )


FINDER = Finder(look_up=_look_up, search=_search, searched=f"names and domains of the newest {SEARCHED:,} companies")
