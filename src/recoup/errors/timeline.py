"""Errors and their entities on a time line: statuses at an instant, what decided them, and every event."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import dict_row

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import promotion
from recoup.errors.lookup import ErrorKey
from recoup.errors.rendering import Event as Logged
from recoup.errors.rendering import decided, line
from recoup.errors.vocabulary import Want
from recoup.formatting import plural, timestamp
from recoup.timeline import MAX_TEXT, MOST, Event, Instant, Page, Row, Status, Timeline, cut, ids, joined

Q = load("recoup.errors", "timeline.sql")
MAX_NAMED = 5  # blocking errors that a sentence names
ENTITY, ERROR = "entity", "error"


class Blocker(NamedTuple):
    """An error that blocked its entity."""

    outreach_id: UUID
    error_table: str
    error_id: int
    status: str
    since: datetime
    owner: str | None  # of its table


def _connected(tx: Transaction, rows: Sequence[Row]) -> list[Row]:
    """The errors of entities, and the lineages of errors."""
    found: list[tuple[str, int]] = []
    if entities := ids(rows, ENTITY):
        found += tx.execute(Q["of_entities"], {"entities": entities, "most": MOST}, prepare=False).fetchall()
    if errors := ids(rows, ERROR):
        found += tx.execute(Q["lineages"], {**_keys(errors), "most": MOST}, prepare=False).fetchall()
    return [Row(ERROR, f"{table}/{error_id}") for table, error_id in found]


def _statuses(tx: Transaction, rows: Sequence[Row], asked: Instant) -> list[Status]:
    found: list[Status] = []
    if entities := ids(rows, ENTITY):
        found += _entities(tx, [UUID(one) for one in entities], asked)
    if errors := ids(rows, ERROR):
        given = {**_keys(errors), "until": asked.bound, "text": MAX_TEXT}
        with tx.cursor(row_factory=dict_row) as cursor:
            read = cursor.execute(Q["statuses"], given, prepare=False).fetchall()
        tables = _tables(tx, asked)
        found += [_error(row, tables.get(row["error_table"]) or {}, asked) for row in read]
    return found


def _events(tx: Transaction, rows: Sequence[Row], page: Page) -> list[Event]:
    errors = ids(rows, ERROR)
    if not errors:
        return []
    with tx.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(Q["events"], {**_keys(errors), **page.given, "text": MAX_TEXT}, prepare=False).fetchall()
    return [_event(row) for row in found]


# Entities -------------------------------------------------------------------------------------------------------------


def _entities(tx: Transaction, entities: Sequence[UUID], asked: Instant) -> Iterator[Status]:
    """By the promotion gate; of what the errors of other hubs block, only that, and their owners."""
    if asked.past is None:
        tables = _tables(tx, asked)
        blocking = [
            Blocker(
                one.outreach_id, one.error_table, one.error_id, one.status, one.since,
                (tables.get(one.error_table) or {}).get("owner"),
            )
            for one in promotion.blocking(tx, entities, limit=MOST)
        ]  # fmt: skip
        owners = promotion.blocking_owners(tx, entities)
    else:
        given = {"entities": list(entities), "until": asked.bound, "most": MOST}
        blocking = [*map(Blocker._make, tx.execute(Q["blocked_at"], given, prepare=False))]
        owners = {one: tuple(names) for one, names in tx.execute(Q["owners_at"], given, prepare=False)}
    for entity in entities:
        ours = [one for one in blocking if one.outreach_id == entity]
        blocked = entity in owners
        yield Status(
            kind=ENTITY,
            id=str(entity),
            name=str(entity),
            title=None,
            status="blocked" if blocked else "not blocked",
            since=min((one.since for one in ours), default=None),
            rule="An open error of a table that blocks keeps its entity from moving on."
            if blocked
            else "No open error of a table that blocks was there.",
            policy_version=None,
            may_move_on=not blocked,
            because=_because(ours, owners.get(entity, ())) if blocked else "No error blocks it.",
            next_at=None,
            next_step=_next(entity, ours) if blocked else None,
        )


def _because(blocking: Sequence[Blocker], owners: Sequence[str]) -> str:
    """Which errors block an entity, and who owns them."""
    named = [
        f"error {one.error_id} ({one.error_table}, {one.status}, since {timestamp(one.since, seconds=False)},"
        f" {one.owner or 'without an owner'})"
        for one in blocking[:MAX_NAMED]
    ]
    if len(blocking) > MAX_NAMED:
        named.append(plural(len(blocking) - MAX_NAMED, "more error"))
    others = sorted({*filter(None, owners)} - {one.owner or "" for one in blocking})
    if not named:
        named.append(f"what belongs to {', '.join(others) or 'another hub'}")
    return f"It is blocked by {', '.join(named)}."


def _next(entity: UUID, blocking: Sequence[Blocker]) -> str:
    if len(blocking) == 1:
        return f"Fix what error {blocking[0].error_id} is about: recoup errors show {blocking[0].error_id}"
    return f"See what blocks it: recoup errors blocked {entity}"


# Errors ---------------------------------------------------------------------------------------------------------------


def _error(row: Mapping[str, Any], table: Mapping[str, Any], asked: Instant) -> Status:
    closed = row["is_closed"]
    blocks = not closed and row["outreach_id"] is not None and bool(table.get("blocks"))
    blocks = blocks and row["disposition"] in ("RETRY", "PARKED")
    waits = asked.past is None and row["worker"] is None
    return Status(
        kind=ERROR,
        id=f"{row['error_table']}/{row['error_id']}",
        name=f"{row['error_table']}/{row['error_id']}",
        title=joined(row["work_key"], cut(row["error_message"])),
        status=row["to_status"],
        since=row["since"],
        rule=_rule(row),
        policy_version=row["policy_version"],
        may_move_on=not blocks,
        because=_why_it_blocks(row, table) if blocks else _why_it_does_not(row, table),
        next_at=row["next_retry_at"] if waits and row["to_status"] == "RETRY_PENDING" and not closed else None,
        next_step=_next_step(row, table),
    )


def _rule(row: Mapping[str, Any]) -> str:
    """The event that gave an error its status, and at its birth the rule of the policy."""
    what = _line(row, given=True)
    retried = f" {row['worker']} was retrying it until {timestamp(row['lease_until'])}." if row["worker"] else ""
    if row["given_by"] != "RECORDED":
        return f"{what[:1].upper()}{what[1:]} ({row['actor_id']}). {decided(row)}{retried}"
    overruled = (
        f" The report alone would have meant {row['overruled']}: a newer error never weakens an open one."
        if row["overruled"] is not None
        else ""
    )
    reason = f" {row['reason']}." if row["reason"] else ""
    failed = f" {plural(row['retry_count'], 'retry', 'retries')} had ended." if row["retry_count"] else ""
    return f"{decided(row)}{overruled}{reason}{failed}{retried}"


def _why_it_blocks(row: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    owner = table.get("owner")
    return (
        f"It blocks entity {row['outreach_id']}: {row['to_status']} in a table that blocks"
        f"{'' if owner is None else f', owned by {owner}'}."
    )


def _why_it_does_not(row: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    if row["is_closed"]:
        return "It is closed and blocks nothing."
    if row["outreach_id"] is None:
        return "It has no entity, so it blocks none."
    if not table.get("blocks"):
        return "Its table blocks no entity."
    return "There is nothing to do about it, so it blocks nothing."


def _next_step(row: Mapping[str, Any], table: Mapping[str, Any]) -> str | None:
    error_id = row["error_id"]
    if row["is_closed"]:
        return None
    if row["to_status"] in ("PARKED", "ESCALATED"):
        verb = "unpark" if Want.RETRY in table.get("allowed", ()) else "resolve"
        return f'Fix the cause, then: recoup errors {verb} {error_id} --reason "…"'
    if row["to_status"] == "RETRY_PENDING":
        return f"Wait for the retry; see it: recoup errors show {error_id}"
    return None


def _line(row: Mapping[str, Any], *, given: bool = False) -> str:
    """An event in words."""
    event = Logged(
        error_id=row["error_id"],
        logged_at=row["since"] if given else row["logged_at"],
        event_type=row["given_by"] if given else row["event_type"],
        from_status=row["from_status"],
        to_status=row["given_status"] if given else row["to_status"],
        disposition=row["given_disposition"] if given else row["disposition"],
        retry_count=row["given_retry"] if given else row["retry_count"],
        reason=row["reason"],
        facts=row["facts"],
        actor=row["actor"],
        actor_id=row["actor_id"],
        authority=row["authority"],
    )
    found = line(row["error_id"], event)
    return joined(found.what, found.detail)


def _event(row: Mapping[str, Any]) -> Event:
    return Event(
        at=row["logged_at"],
        seq=row["seq"],
        kind=ERROR,
        id=f"{row['error_table']}/{row['error_id']}",
        event=row["event_type"],
        text=cut(_line(row), 2 * MAX_TEXT),
        actor=row["actor"],
        actor_id=row["actor_id"],
        authority=row["authority"],
        policy_version=None,
    )


def _keys(names: Sequence[str]) -> dict[str, list[Any]]:
    keys = [ErrorKey(table, int(error_id)) for table, _, error_id in (name.rpartition("/") for name in names)]
    return {"tables": [key.error_table for key in keys], "ids": [key.error_id for key in keys]}


def _tables(tx: Transaction, asked: Instant) -> Mapping[str, Mapping[str, Any]]:
    found = tx.execute(Q["tables_at"], {"until": asked.bound}).fetchone()
    return {} if found is None else found[0]


TIMELINE = Timeline(
    domain="errors",
    kinds={ENTITY: "an entity that hubs work on", ERROR: "an error, with all that superseded it"},
    statuses=_statuses,
    events=_events,
    connected=_connected,
    follows=(ENTITY, ERROR),
    always=(ENTITY,),
)
