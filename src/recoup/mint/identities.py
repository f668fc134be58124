"""Identities: minted from AUTH events, each lineage once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from recoup import observe, pauses
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.ledger import subscriptions
from recoup.ledger.subscriptions import Log, Page

Q = load("recoup.mint", "mint.sql")
SUBSCRIPTION = "mint"
TABLE = "cl.company_identity"

# The subscription for AUTH, for the mint and for other subscribers to authorisations.
AUTHORIZATIONS = Log(
    table="cl.gate_zero_authorization",
    columns=(
        "seq", "air_event_id", "intake_id", "mint_intake_id", "batch_id", "attempt_id", "actor", "actor_id",
        "event_timestamp",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A company's sovereign identity."""

    sovereign_company_id: UUID
    intake_id: UUID
    company_name: str
    company_domain: str | None
    minted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Minted:
    """The result of one page of AUTH events."""

    events: int
    identities: tuple[Identity, ...]


def mint(tx: Transaction, *, limit: int = 500) -> Minted:
    """Mint what the next page of AUTH events names, and acknowledge it: all in the caller's transaction, so once.

    No events: nothing new is authorised, or another mint worker has the subscription. Existing identities are kept.
    """
    if pauses.paused(tx, f"table:{TABLE}"):
        return Minted(events=0, identities=())
    subscriptions.subscribe(tx, AUTHORIZATIONS, SUBSCRIPTION)
    page = _next(tx, limit)
    intakes = [event["mint_intake_id"] for event in page.events]
    identities: tuple[Identity, ...] = ()
    if intakes:
        with tx.cursor(row_factory=class_row(Identity)) as cursor:
            identities = tuple(cursor.execute(Q["mint"], {"intakes": intakes}, prepare=False))
        _say_what_was_passed_over(tx, intakes, identities)
    subscriptions.acknowledge(tx, page)
    return Minted(events=len(page.events), identities=identities)


def _next(tx: Transaction, limit: int) -> Page:
    """The next page with something on it, or the last one. After a restore an empty page may come first."""
    while True:
        page = subscriptions.read(tx, AUTHORIZATIONS, SUBSCRIPTION, limit=limit)
        if page.events or page.caught_up or page.busy:
            return page
        subscriptions.acknowledge(tx, page)


def mint_lag(tx: Transaction) -> float | None:
    """How many seconds the oldest authorisation that the mint has not read has waited; None: there is none."""
    row = tx.execute(Q["mint_lag"], {"log": AUTHORIZATIONS.table, "name": SUBSCRIPTION}).fetchone()
    return None if row is None or row[0] is None else float(row[0])


def identities(tx: Transaction, *, limit: int = 100, after: UUID | None = None) -> list[Identity]:
    """Identities, newest first. ``after``, the id of the last one, gives the next page."""
    with tx.cursor(row_factory=class_row(Identity)) as cursor:
        return cursor.execute(Q["identities"], {"limit": limit, "after": after}).fetchall()


def identities_of(tx: Transaction, intakes: Sequence[UUID]) -> list[Identity]:
    """The identities that were minted for these intakes."""
    with tx.cursor(row_factory=class_row(Identity)) as cursor:
        return cursor.execute(Q["of_intakes"], {"intakes": list(intakes)}).fetchall()


def _say_what_was_passed_over(tx: Transaction, intakes: list[UUID], minted: tuple[Identity, ...]) -> None:
    """An AUTH without an authorised intake is invalid: it is logged, and does not stop the events after it."""
    if len(minted) == len(intakes):
        return
    (there,) = tx.execute(Q["minted_already"], {"intakes": intakes}).fetchone() or (0,)
    if there < len(intakes):
        observe.logger().error("authorised but not minted", count=len(intakes) - there, look="recoup audit")
