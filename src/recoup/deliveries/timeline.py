"""Deliveries on a time line: notices that candidates sent, and what became of them."""

from collections.abc import Sequence

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.formatting import plural
from recoup.timeline import MAX_TEXT, MOST, Event, Instant, Page, Row, Status, Timeline, cut, ids, joined

Q = load("recoup.deliveries", "timeline.sql")
DELIVERY, CANDIDATE = "delivery", "candidate"
OUTCOMES = {
    "SUCCEEDED": "delivered by {route}",
    "FAILED": "try {attempts} by {route} failed",
    "LAPSED": "try {attempts} by {route}: lease expired without a result",
    "CANCELLED": "cancelled",
}


def _connected(tx: Transaction, rows: Sequence[Row]) -> list[Row]:
    """The deliveries of candidates, and what replaced those that died."""
    given = {"candidates": ids(rows, CANDIDATE), "most": MOST}
    sent = tx.execute(Q["of_candidates"], given, prepare=False).fetchall()
    instead = tx.execute(Q["fallbacks"], {"deliveries": ids(rows, DELIVERY)}, prepare=False).fetchall()
    return [Row(DELIVERY, id_) for (id_,) in (*sent, *instead)]


def _statuses(tx: Transaction, rows: Sequence[Row], asked: Instant) -> list[Status]:
    given = {"deliveries": ids(rows, DELIVERY), "until": asked.bound, "text": MAX_TEXT}
    return [
        Status(
            kind=DELIVERY,
            id=id_,
            name=id_,
            title=cut(subject),
            status=status,
            since=at,
            rule=_text(outcome, route, attempts, reason).capitalize() + ".",
            policy_version=version,
            may_move_on=None,
            because=f"{plural(attempts, 'try', 'tries')} of route {route} had ended.",
            next_at=due if status == "queued" else None,
            next_step=f"See it: recoup deliveries show {id_}" if status == "dead" else None,
        )
        for id_, route, subject, version, status, at, outcome, reason, attempts, due in tx.execute(
            Q["statuses"], given, prepare=False
        )
    ]


def _events(tx: Transaction, rows: Sequence[Row], page: Page) -> list[Event]:
    given = {**page.given, "deliveries": ids(rows, DELIVERY), "text": MAX_TEXT}
    return [
        Event(
            at=at, seq=seq, kind=DELIVERY, id=id_, event=outcome or "QUEUED",
            text=_text(outcome, route, attempts, reason), actor=actor, actor_id=actor_id, authority=authority,
            policy_version=None,
        )
        for id_, seq, at, _, outcome, attempts, route, reason, actor, actor_id, authority in tx.execute(
            Q["events"], given, prepare=False
        )
    ]  # fmt: skip


def _text(outcome: str | None, route: str, attempts: int, reason: str | None) -> str:
    what = "queued for {route}" if outcome is None else OUTCOMES[outcome]
    return joined(what.format(route=route, attempts=attempts), reason)


TIMELINE = Timeline(
    domain="deliveries",
    kinds={DELIVERY: "a notice to people or programs"},
    statuses=_statuses,
    events=_events,
    connected=_connected,
    follows=(CANDIDATE, DELIVERY),
)
