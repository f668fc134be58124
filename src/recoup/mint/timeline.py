"""Identities on a time line: when each was minted, and for which intake."""

from collections.abc import Sequence

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.timeline import Event, Instant, Page, Row, Status, Timeline, ids, joined

Q = load("recoup.mint", "timeline.sql")
IDENTITY, COMPANY = "identity", "company"


def _connected(tx: Transaction, rows: Sequence[Row]) -> list[Row]:
    """The identities of intakes, and the intakes of identities."""
    minted = tx.execute(Q["of_companies"], {"intakes": ids(rows, COMPANY)}, prepare=False).fetchall()
    companies = tx.execute(Q["companies_of"], {"identities": ids(rows, IDENTITY)}, prepare=False).fetchall()
    return [*(Row(IDENTITY, id_) for (id_,) in minted), *(Row(COMPANY, id_) for (id_,) in companies)]


def _statuses(tx: Transaction, rows: Sequence[Row], asked: Instant) -> list[Status]:
    given = {"identities": ids(rows, IDENTITY), "until": asked.bound}
    return [
        Status(
            kind=IDENTITY, id=id_, name=joined(name, domain, by=", "), title=None, status="MINTED", since=minted_at,
            rule=f"Its intake {intake} was authorized.", policy_version=None, may_move_on=True,
            because="It is a company with an identity.", next_at=None, next_step=None,
        )
        for id_, intake, name, domain, minted_at in tx.execute(Q["statuses"], given, prepare=False)
    ]  # fmt: skip


def _events(tx: Transaction, rows: Sequence[Row], page: Page) -> list[Event]:
    given = {**page.given, "identities": ids(rows, IDENTITY)}
    return [
        Event(
            at=at, seq=seq, kind=IDENTITY, id=id_, event=event, text=f"identity minted for intake {intake}",
            actor=actor, actor_id=actor_id, authority=authority, policy_version=None,
        )
        for id_, seq, at, event, intake, actor, actor_id, authority in tx.execute(Q["events"], given, prepare=False)
    ]  # fmt: skip


TIMELINE = Timeline(
    domain="mint",
    kinds={IDENTITY: "a minted company identity"},
    statuses=_statuses,
    events=_events,
    connected=_connected,
    follows=(COMPANY, IDENTITY),
)
