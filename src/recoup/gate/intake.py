"""Intakes: company candidates as they came in."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.gate.batches import unknown_batch
from recoup.gate.texts import unprintable
from recoup.refusals import InputRefused, LawRefused
from recoup.worker.duty import seconds

Q = load("recoup.gate", "intakes.sql")
FIRST = UUID(int=0)
MAX_TEXT = 500  # characters of a name, a domain, an address, a state


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIntake:
    """A candidate to be added."""

    company_name: str
    company_domain: str | None = None
    linkedin_url: str | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """A candidate, and its recovery if it has one."""

    intake_id: UUID
    batch_id: str | None
    company_name: str
    company_domain: str | None
    state: str | None
    status: str
    reentered_from: UUID | None
    retry_of: UUID | None
    created_at: datetime
    recovery_status: str | None
    attempt_count: int | None
    next_eligible_at: datetime | None
    failure_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligible:
    """A failed intake that may be tried again now."""

    recovery_id: UUID
    intake_id: UUID
    attempt_count: int
    company_name: str
    next_eligible_at: datetime
    due_for_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """An intake that will not be tried again: why, since when, and its restart if there is one."""

    intake_id: UUID
    company_name: str
    batch_id: str | None
    failure_reason: str
    attempt_count: int
    ended_by: str
    ended_at: datetime
    restarted_as: UUID | None


def add_intakes(tx: Transaction, intakes: Sequence[NewIntake], *, batch_id: str | None = None) -> list[UUID]:
    """Add candidates, all or none. Ids come back in the order given."""
    for place, intake in enumerate(intakes, start=1):
        _check(place, intake)
    rows = tx.execute(
        Q["add_intakes"],
        {
            "names": [i.company_name for i in intakes],
            "domains": [i.company_domain for i in intakes],
            "urls": [i.linkedin_url for i in intakes],
            "states": [i.state for i in intakes],
            "batch_id": batch_id,
        },
    ).fetchall()
    if intakes and not rows:
        raise unknown_batch(str(batch_id))
    return [row[0] for row in rows]


def find_intakes(tx: Transaction, intakes: Sequence[UUID]) -> list[Intake]:
    """Intakes by id, in the order asked. Refused when one does not exist."""
    with tx.cursor(row_factory=class_row(Intake)) as cursor:
        found = {i.intake_id: i for i in cursor.execute(Q["find_intakes"], {"intakes": list(intakes)})}
    refuse_unknown(intakes, found)
    return [found[intake_id] for intake_id in intakes]


def intakes_of_batch(tx: Transaction, batch_id: str, *, limit: int = 1000) -> list[UUID]:
    """The intakes that came in with a batch, in order; not those that re-entered later."""
    return [row[0] for row in tx.execute(Q["intakes_of_batch"], {"batch_id": batch_id, "limit": limit})]


def eligible(tx: Transaction, *, limit: int = 100) -> list[Eligible]:
    """Failed intakes that are due for a retry, longest due first."""
    with tx.cursor(row_factory=class_row(Eligible)) as cursor:
        return cursor.execute(Q["eligible"], {"limit": limit}).fetchall()


def exhausted(
    tx: Transaction, *, batch_id: str | None = None, limit: int = 100, after: tuple[str | None, UUID] | None = None
) -> list[Exhausted]:
    """Exhausted intakes: of one batch, or of all, those last that belong to none.

    ``after``, batch and id of the last that was listed, gives the next page.
    """
    at, last = after or ("" if batch_id is None else batch_id, FIRST)
    given = {
        "at": at, "after": last, "of_one": batch_id is not None, "after_unbatched": last if at is None else FIRST,
        "limit": limit,
    }  # fmt: skip
    with tx.cursor(row_factory=class_row(Exhausted)) as cursor:
        return cursor.execute(Q["exhausted"], given).fetchall()


def restart(
    tx: Transaction,
    intake_id: UUID,
    *,
    company_name: str | None = None,
    company_domain: str | None = None,
    linkedin_url: str | None = None,
    state: str | None = None,
    batch_id: str | None = None,
) -> UUID:
    """Restart an exhausted intake: a new intake that names it, with the same data or with corrections.

    The exhausted one stays as it is. The new one belongs to no batch unless one is given: the old one's window may be
    closed.
    """
    better = NewIntake(
        company_name="as before" if company_name is None else company_name,
        company_domain=company_domain,
        linkedin_url=linkedin_url,
        state=state,
    )
    _check(1, better)
    given = {**asdict(better), "company_name": company_name, "intake_id": intake_id, "batch_id": batch_id}
    row = tx.execute(Q["restart"], given).fetchone()
    if row is None:
        find_intakes(tx, [intake_id])
        raise unknown_batch(str(batch_id))
    new: UUID = row[0]
    return new


def verify_lag(tx: Transaction) -> float | None:
    """For how many seconds the oldest intake has been waiting for its first attempt; None: there is none."""
    return seconds(tx, Q["verify_lag"])


def retry_lag(tx: Transaction) -> float | None:
    """For how many seconds the longest due retry has been waiting; None: there is none."""
    longest = eligible(tx, limit=1)
    return longest[0].due_for_s if longest else None


def refuse_unknown(asked: Sequence[UUID], found: object) -> None:
    """Refuse ids that were asked for and not found."""
    missing = [str(i) for i in asked if i not in found]  # type: ignore[operator]
    if missing:
        raise LawRefused(  # as the database does when it is to open attempts on them
            "intake_unknown",
            f"There is no intake {missing[0]}" + (f" (nor {len(missing) - 1} others)." if missing[1:] else "."),
            "Check the id.",
            missing=missing[:100],
        )


def _check(place: int, intake: NewIntake) -> None:
    if not intake.company_name.strip():
        raise InputRefused(
            "intake_unnamed", f"Intake {place} has no company name.", "Give every company a name.", row=place
        )
    for column in ("company_name", "company_domain", "linkedin_url", "state"):
        text = getattr(intake, column) or ""
        if len(text) > MAX_TEXT:
            raise InputRefused(
                "text_too_long",
                f"Intake {place}: {column} has {len(text):,} characters.",
                f"Give at most {MAX_TEXT:,}.",
                row=place,
                column=column,
            )
        if problem := unprintable(text):
            raise InputRefused(
                "text_unprintable",
                f"Intake {place}: {column} cannot be stored. {problem}",
                "Remove it.",
                row=place,
                column=column,
            )
