"""``recoup errors``"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from recoup.cli import errors_metrics as doing
from recoup.cli import errors_retry as retry
from recoup.cli import errors_signatures as signatures
from recoup.cli.context import acting, opened, person
from recoup.cli.errors_filter import ANY, Archived, FilterOptions
from recoup.cli.errors_record import record
from recoup.cli.errors_redact import redact
from recoup.cli.errors_show import print_shown
from recoup.cli.operations import list_operations
from recoup.cli.output import (
    Column,
    Demo,
    Json,
    Limit,
    ends_with,
    print_fields,
    print_rows,
    say,
    shortened,
)
from recoup.cli.verbs import Verbs
from recoup.database.connection import Transaction
from recoup.errors import listing, lookup, promotion
from recoup.errors.listing import Filter, Listed
from recoup.errors.subject import SUBJECT
from recoup.formatting import plural, timestamp
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

app = App(
    name="errors",
    help_epilogue="Every failure is recorded once; the policy decides whether it is retried, parked or only kept."
    "\n\nList the park queue: recoup errors list --status PARKED. See why: recoup errors show ID."
    " Retry after a fix: recoup errors unpark ID --reason …\n\nList the most frequent failures: recoup errors groups.",
    help_format="plaintext",
)
app.command(record)
app.command(redact)
app.command(retry.retry)
app.command(retry.claim)
app.command(retry.succeed)
app.command(retry.fail)
app.command(doing.stats)
app.command(doing.metrics)
app.command(doing.report)
app.command(doing.processed)
app.command(signatures.groups)
app.command(signatures.explain)

MAX_MESSAGE_CHARS = 100
WATCH_EVERY_S = 2.0
PAGE = 1000
CLEAR = "\033[H\033[2J"
LIST_COLUMNS = (
    Column("error_id", "id"),
    Column("error_table", "table", cut="middle", least=14, rank=4),
    Column("status", rank=2),
    Column("retries", rank=12),
    Column("occurrences", "seen", rank=5),
    Column("last_seen_at", "last seen", least=12, rank=3),
    Column("first_seen_at", "first seen", least=12, rank=9),
    Column("error_code", "code", cut="middle", least=12, rank=6),
    Column("owner", cut="end", least=10, rank=7),
    Column("escalation_level", "tier", rank=14),
    Column("review", least=12, rank=15),
    Column("reason", cut="end", least=14, rank=8),
    Column("next_retry_at", "next retry", least=12, rank=10),
    Column("leased_by", "claimed by", cut="middle", least=12, rank=13),
    Column("work_key", cut="middle", least=10, rank=11),
    Column("message", cut="end", least=16, rank=1),
)
# Of a queue, when and by whom it is due comes first.
QUEUE_COLUMNS = tuple(
    replace(column, rank={"review": 1, "owner": 2, "escalation_level": 3}.get(column.field, 3 + (column.rank or 0)))
    if column.field != "error_id"
    else column
    for column in LIST_COLUMNS
)
BLOCKED_COLUMNS = (
    Column("outreach_id", "entity", cut="middle", least=13, rank=5),
    Column("error_id", "id"),
    Column("error_table", "table", cut="middle", least=14, rank=4),
    Column("status", rank=2),
    Column("since", least=12, rank=3),
    Column("error_code", "code", cut="middle", least=12, rank=6),
    Column("owner", cut="end", least=10, rank=7),
    Column("park_reason", "reason", cut="end", least=14, rank=8),
    Column("next_retry_at", "next retry", least=12, rank=9),
    Column("error_message", "message", cut="end", least=16, rank=1),
)


@app.command(name="list")
def list_(
    *,
    which: FilterOptions = ANY,
    archived: Archived = False,
    limit: Limit = 50,
    after: Annotated[
        int | None, Parameter(show_default=False, help="Older than this error: the last id of the page before.")
    ] = None,
    queue: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="Only parked errors that wait for a review, in the order in which it is due: overdue ones first.",
        ),
    ] = False,
    watch: Annotated[
        bool, Parameter(negative="", show_default=False, help="Refresh every 2 seconds, until Ctrl-C.")
    ] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List errors, newest first. Narrow terminals show fewer columns; --json has every field.

    For example: recoup errors list --status PARKED --table outreach.dol_errors --parked-longer-than 48h
    The park queue, by what is due first: recoup errors list --queue

    review: until when the owner of its tier has to review a parked error, whether that was met, or by how much not.
    seen: how often the failure was recorded, of the same table, entity, signature and work key.
    """
    if watch and json:
        raise InputRefused("watch_json", "--watch and --json do not go together.", "Leave out one of them.")
    if queue and (archived or after is not None):
        raise InputRefused(
            "queue_not_paged", "--queue goes with neither --after nor --archived.", "Use --limit to see more of it."
        )
    asked = which.filter()

    def look() -> None:
        last: Listed | None = None
        seen = 0

        def noticed() -> Iterator[Listed]:
            nonlocal last, seen
            found = (
                _queue(asked, limit=limit, demo=demo)
                if queue
                else _pages(asked, limit=limit, archived=archived, after=after, demo=demo)
            )
            for last in found:
                seen += 1
                yield last

        print_listed(noticed(), as_json=json, columns=QUEUE_COLUMNS if queue else LIST_COLUMNS)
        if last is not None and seen == limit and not json and not queue:
            print(f"\n{plural(seen, 'error')} shown. Older ones: --after {last.error_id}")

    _watched(look) if watch else look()


@app.command
def show(error: str, *, demo: Demo = False, json: Json = False) -> None:
    """Show one error in full: status, owner, why, history and traceback; also when it is archived.

    Parameters
    ----------
    error
        Its id, such as 123, or table and id, such as outreach.dol_errors/123.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.show(tx, error)
    if json:
        print_fields(found, as_json=True)
    else:
        print_shown(found, demo=demo)


@app.command
def blocked(*entities: UUID, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List the errors that block entities. Exits with status 1 if there are any, with 0 if there are none.

    For example: recoup errors blocked 5e6f… && promote 5e6f…

    A program that promotes asks recoup.is_blocked_locking(outreach_id) in its own transaction instead: then no error
    can be recorded in between.

    Parameters
    ----------
    entities
        Their ids (outreach_id).
    """
    if not entities:
        raise InputRefused("nothing_asked", "No entity was named.", "Give one or more ids.")
    with acting(Authority.READER, demo=demo) as tx:
        found = promotion.blocking(tx, entities, limit=limit)
        more = promotion.count_blocking(tx, entities) - limit if len(found) == limit else 0
    rows = found if json else [one._replace(error_message=_short(one.error_message)) for one in found]
    columns = BLOCKED_COLUMNS if len(entities) > 1 else BLOCKED_COLUMNS[1:]
    nothing = "Nothing blocks it." if len(entities) == 1 else "Nothing blocks them."
    with ends_with(1 if found else 0):
        print_rows(rows, as_json=json, columns=columns, empty=nothing)
        if more > 0:
            say(f"and {more:,} more: --limit shows them")


def _pages(asked: Filter, *, limit: int, archived: bool, after: int | None, demo: bool) -> Iterator[Listed]:
    """Page by page, each in its own transaction: however long printing takes, nothing waits for it."""
    with opened(demo=demo) as database:
        while limit > 0:
            with database.transaction(Authority.READER, actor=person(database)) as tx:
                page = listing.list_errors(tx, asked, limit=min(limit, PAGE), archived=archived, after=after)
            yield from page
            if len(page) < PAGE:
                return
            limit, after = limit - len(page), page[-1].error_id


def _queue(asked: Filter, *, limit: int, demo: bool) -> list[Listed]:
    with acting(Authority.READER, demo=demo) as tx:
        return listing.park_queue(tx, asked, limit=limit)


def print_listed(found: Iterable[Listed], *, as_json: bool, columns: Sequence[Column] = LIST_COLUMNS) -> None:
    """Errors as a list shows them."""
    if as_json:
        print_rows(found, as_json=True, empty="")
        return
    rows = (
        {
            **{column.field: getattr(one, column.field, None) for column in LIST_COLUMNS},
            "retries": f"{one.retry_count}/{one.max_retries}" if one.disposition == "RETRY" else None,
            "escalation_level": one.escalation_level if one.status in ("PARKED", "ESCALATED") else None,
            "reason": one.archive_reason or one.park_reason,
            "message": _short(one.error_message),
        }
        for one in found
    )
    print_rows(rows, as_json=False, columns=columns, empty="No errors match.")


def _short(text: str) -> str:
    return shortened(text, MAX_MESSAGE_CHARS)


def _watched(look: Callable[[], None]) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            if sys.stdout.isatty():
                print(CLEAR, end="")
            print(f"{timestamp(datetime.now(UTC))}, every {WATCH_EVERY_S:.0f}s; Ctrl-C ends it\n")
            look()
            sys.stdout.flush()
            time.sleep(WATCH_EVERY_S)


def _units(tx: Transaction, names: Sequence[str]) -> list[str]:
    return [f"{key.error_table}/{key.error_id}" for key in lookup.keys(tx, names)]


def _statuses(tx: Transaction, units: Sequence[str]) -> list[str | None]:
    keys = lookup.keys(tx, units)
    found = listing.statuses(tx, keys)
    return [found.get(key) for key in keys]


@app.command
def operations(*, limit: Limit = 20, demo: Demo = False, json: Json = False) -> None:
    """List operations over many errors, newest first: progress, and what was refused."""
    list_operations(subject=SUBJECT.table, limit=limit, demo=demo, json=json)


Verbs(
    subject=SUBJECT,
    command="errors",
    which=ANY,
    ids="Ids, such as 123, or table and id, such as outreach.dol_errors/123.",
    units=_units,
    statuses=_statuses,
    first=lambda tx, asked, limit: listing.list_errors(tx, asked, limit=limit),
    print_first=lambda found: print_listed(found, as_json=False),
).into(app)
