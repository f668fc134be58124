"""Why something has its status, now or at any past instant: everything about one thing, from all domains.

The answer has the rows that belong to it with their statuses at that instant, the policy that was active, the rule that
held, whether the thing might move on, and one time line of all events. It is read from the logs, which are complete, so
the answer about a past instant is what was right then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from recoup import find as finding
from recoup.database.connection import Transaction
from recoup.durations import instant
from recoup.find import Finder, Found, Wanted
from recoup.policy import versions
from recoup.refusals import InputRefused
from recoup.timeline import ALWAYS, MAX_ROWS, Event, Instant, Page, Position, Row, Status, Timeline

MAX_EVENTS = 1000  # of a page
EVENTS = 200
MAX_ROUNDS = 8  # from the subject to a row that belongs to it
MAX_FOUND = 20  # that an ambiguous subject may mean, as a refusal lists them


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivePolicy:
    """The policy that was active at an instant."""

    version: int
    applied_at: datetime
    actor_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Everything about one thing at an instant."""

    kind: str
    id: str
    name: str
    at: datetime
    is_present: bool
    policy: ActivePolicy | None  # None: there was none yet
    subject: Status | None  # None: it did not exist yet
    may_move_on: bool | None  # None: it is not asked of such a thing, or it did not exist
    because: str
    next_step: str | None  # of the present only
    rows: Sequence[Status]  # what belongs to it and existed then, the subject left out
    rows_left_out: bool  # there are more rows than an answer has
    events: Sequence[Event]  # up to the instant, oldest first: the newest ones, or those before ``after``
    next: str | None  # where the page with earlier events begins; None: there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the domains declare: how their rows are found, and how they are shown."""

    finders: Mapping[str, Sequence[Finder]]  # by domain
    timelines: Sequence[Timeline]

    @property
    def kinds(self) -> dict[str, Timeline]:
        return {kind: one for one in self.timelines for kind in one.kinds}

    def finders_of(self, kind: str | None) -> list[Finder]:
        """The finders of a kind of rows, or all."""
        wanted = self.finders if kind is None else {self.kinds[kind].domain}
        return [finder for domain in wanted for finder in self.finders.get(domain, ())]


def why(
    tx: Transaction,
    subject: str,
    sources: Sources,
    *,
    at: datetime | timedelta | str | None = None,
    limit: int = EVENTS,
    after: str | None = None,
) -> Answer:
    """Everything about one thing, now or at a past instant.

    ``subject``: what ``recoup find`` finds, by its id or name; ``KIND:ID`` if an id could mean several. ``at``: a time,
    its text as in ISO 8601, or a length of time ago; default: the present. ``after``: the ``next`` of the page before.
    """
    if not 1 <= limit <= MAX_EVENTS:
        raise InputRefused("limit_unusable", f"{limit} is no limit of events.", f"Give 1 to {MAX_EVENTS:,}.")
    asked = _instant(tx, at)
    before = None if after is None else _position(after)
    found, row = _subject(tx, subject, sources)
    rows, left_out = _connected(tx, [row], sources.timelines)
    statuses = {one.row: one for one in _statuses(tx, rows, asked, sources)}
    events, more = _events(tx, rows, sources, Page(until=asked.bound, before=before, limit=limit + 1))
    own = statuses.pop(row, None)
    return Answer(
        kind=row.kind,
        id=row.id,
        name=found.id if own is None else own.name,
        at=asked.at,
        is_present=asked.past is None,
        policy=_policy(tx, asked),
        subject=own,
        may_move_on=None if own is None else own.may_move_on,
        because="It did not exist yet." if own is None else own.because,
        next_step=None if own is None or asked.past is not None else own.next_step,
        rows=[statuses[one] for one in rows if one in statuses],
        rows_left_out=left_out,
        events=events,
        next=_text(events[0].position) if more else None,
    )


# The subject ----------------------------------------------------------------------------------------------------------


def _subject(tx: Transaction, text: str, sources: Sources) -> tuple[Found, Row]:
    """What is meant. Refused when it is nothing, several things, or something without a time line."""
    kinds = sources.kinds
    kind, _, rest = text.strip().partition(":")
    only = kind if rest and kind in kinds else None
    wanted = Wanted(text=finding.usable(rest if only else text), limit=MAX_FOUND)
    found = _unique(one for finder in sources.finders_of(only) for one in finder.look_up(tx, wanted))
    chosen = [one for one in found if (one.kind == only if only else one.kind in kinds)]
    if found and not chosen:
        raise InputRefused(
            "why_no_timeline",
            f"{wanted.text!r} is a {found[0].kind}, which has no time line of its own.",
            f"Time lines have: {', '.join(kinds)}. This {found[0].kind}: {found[0].next_step}",
            kind=found[0].kind,
        )
    for closer in (_by_id, _by_name):
        chosen = [one for one in chosen if closer(one, wanted.text)] or chosen
    rows = [(one, row) for one in chosen if (row := _row(tx, one, kinds[one.kind])) is not None]
    if not rows:
        if (unknown := _known_to_others(tx, wanted, only, sources)) is not None:
            return unknown
        raise InputRefused(
            "why_unknown",
            f"Nothing is known by the id or name {wanted.text!r}.",
            "Search for a part of it: recoup find TEXT",
            subject=wanted.text,
        )
    if len(rows) > 1 and not _is_one_thing(tx, [row for _, row in rows], sources.timelines):
        listed = ", ".join(f"{one.kind}:{one.id}" for one, _ in rows[:MAX_FOUND])
        raise InputRefused(
            "why_ambiguous",
            f"{wanted.text!r} may mean {len(rows):,} things: {listed}.",
            f"Name one of them: recoup why {rows[0][0].kind}:{rows[0][0].id}",
            found=[f"{one.kind}:{one.id}" for one, _ in rows],
        )
    return rows[0]


def _known_to_others(tx: Transaction, wanted: Wanted, only: str | None, sources: Sources) -> tuple[Found, Row] | None:
    """An entity of which nothing is found: if it is named as one, or if what the caller may not see blocks it."""
    if wanted.ids is None or not wanted.is_id:
        return None
    for one in sources.timelines:
        for kind in one.always:
            row = Row(kind, str(wanted.ids[0]))
            if only == kind or (
                only is None and any(s.may_move_on is False for s in one.statuses(tx, [row], Instant(now=ALWAYS)))
            ):
                return Found(kind=kind, id=row.id, title=None, status="", next_step=""), row
    return None


def _unique(found: Iterable[Found]) -> list[Found]:
    return list({(one.kind, one.id): one for one in found}.values())


def _by_id(one: Found, text: str) -> bool:
    return text.casefold() in (one.id.casefold(), one.id.rpartition("/")[2])


def _by_name(one: Found, text: str) -> bool:
    return text.casefold() in (one.title or "").casefold().split(", ")


def _row(tx: Transaction, found: Found, timeline: Timeline) -> Row | None:
    return Row(found.kind, found.id) if timeline.row is None else timeline.row(tx, found)


def _is_one_thing(tx: Transaction, rows: Sequence[Row], timelines: Sequence[Timeline]) -> bool:
    """Whether they belong to each other, as an intake and what re-entered for it. The newest is found first."""
    return len({row.kind for row in rows}) == 1 and set(rows) <= set(_connected(tx, rows[:1], timelines)[0])


# What belongs to it ---------------------------------------------------------------------------------------------------


def _connected(tx: Transaction, start: Sequence[Row], timelines: Sequence[Timeline]) -> tuple[list[Row], bool]:
    """The rows that belong to some rows, those first; and whether there are more than an answer has."""
    rows = dict.fromkeys(start)
    new = list(start)
    for _ in range(MAX_ROUNDS):
        found = [
            row
            for one in timelines
            if (known := [row for row in new if row.kind in one.follows])
            for row in one.connected(tx, known)
        ]
        new = [row for row in dict.fromkeys(found) if row not in rows]
        if len(rows) + len(new) > MAX_ROWS:
            return [*rows, *new[: MAX_ROWS - len(rows)]], True
        if not new:
            return list(rows), False
        rows |= dict.fromkeys(new)
    return list(rows), True


def _statuses(tx: Transaction, rows: Sequence[Row], asked: Instant, sources: Sources) -> list[Status]:
    return [
        status if asked.past is None else replace(status, next_step=None)
        for one in sources.timelines
        if (known := [row for row in rows if row.kind in one.kinds])
        for status in one.statuses(tx, known, asked)
    ]


def _events(tx: Transaction, rows: Sequence[Row], sources: Sources, page: Page) -> tuple[list[Event], bool]:
    """One page of the events of all rows, oldest first; and whether there are earlier ones."""
    found = [
        event
        for one in sources.timelines
        if (known := [row for row in rows if row.kind in one.kinds])
        for event in one.events(tx, known, page)
        if page.before is None or event.position < page.before
    ]
    newest = sorted(found, key=lambda event: event.position, reverse=True)
    events = newest[: page.limit - 1][::-1]
    return _with_policies(tx, events), len(newest) >= page.limit


def _with_policies(tx: Transaction, events: Sequence[Event]) -> list[Event]:
    """Each with the version of the policy: its own, or the one that was active."""
    missing = {event.at for event in events if event.policy_version is None}
    active = versions.active_at(tx, sorted(missing)) if missing else {}
    return [
        event if event.policy_version is not None else replace(event, policy_version=active.get(event.at))
        for event in events
    ]


# Times ----------------------------------------------------------------------------------------------------------------


def _instant(tx: Transaction, given: datetime | timedelta | str | None) -> Instant:
    (now,) = tx.execute("select recoup.now()").fetchone() or (datetime.now(UTC),)
    if given is None:
        return Instant(now=now)
    at = instant(given, now)
    if at > now:
        raise InputRefused(
            "why_in_future",
            f"{at.isoformat()} is in the future: it is {now.isoformat()}.",
            "Give a time that has passed, or none for the present.",
        )
    return Instant(now=now, past=at)


def _policy(tx: Transaction, asked: Instant) -> ActivePolicy | None:
    found = versions.at(tx, asked.bound)
    if found is None:
        return None
    return ActivePolicy(
        version=found.version, applied_at=found.applied_at, actor_id=found.actor_id, reason=found.reason
    )


def _text(position: Position) -> str:
    at, *rest = position
    return "/".join((at.astimezone(UTC).isoformat(), *map(str, rest)))


def _position(text: str) -> Position:
    try:
        at, seq, kind, id_ = text.split("/", 3)
        found = Position(datetime.fromisoformat(at), int(seq), kind, id_)
        if found.at.tzinfo is None or not 0 <= found.seq < 2**63:
            raise ValueError
    except (ValueError, OverflowError):
        raise InputRefused(
            "cursor_unusable",
            f"{text[:50]!r} is not a cursor of a time line.",
            "Pass the `next` of the page before as it is, or leave it out for the newest events.",
        ) from None
    return found
