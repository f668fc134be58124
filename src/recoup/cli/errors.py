"""``recoup errors``"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from recoup.cli import errors_retry as retry
from recoup.cli import errors_signatures as signatures
from recoup.cli.context import acting, opened, person
from recoup.cli.errors_filter import ANY, FilterOptions
from recoup.cli.errors_record import record
from recoup.cli.errors_redact import redact
from recoup.cli.operations import list_operations
from recoup.cli.output import Demo, Json, Limit, ends_with, print_fields, print_rows, say, shown
from recoup.cli.verbs import Verbs
from recoup.database.connection import Transaction
from recoup.errors import listing, lookup, promotion
from recoup.errors.listing import Filter, Listed
from recoup.errors.rendering import story
from recoup.errors.subject import SUBJECT
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

app = App(
    name="errors",
    help_epilogue="Every failure is recorded once; the policy decides whether it is retried, waits for a person, or is"
    " only kept.\n\nWhat waits for a person: recoup errors list --status PARKED. Why: recoup errors show ID."
    " Fixed? recoup errors unpark ID --reason …\n\nWhat fails most: recoup errors groups.",
    help_format="plaintext",
)
app.command(record)
app.command(redact)
app.command(retry.retry)
app.command(retry.claim)
app.command(retry.succeed)
app.command(retry.fail)
app.command(signatures.groups)
app.command(signatures.explain)

MAX_MESSAGE_CHARS = 100
WATCH_EVERY_S = 2.0
PAGE = 1000
CLEAR = "\033[H\033[2J"
# As many as a terminal has room for; recoup errors show and --json have the rest.
LIST_COLUMNS = ("error_id", "error_table", "status", "error_code", "work_key", "first_failed", "next", "message")


@app.command(name="list")
def list_(
    *,
    which: FilterOptions = ANY,
    archived: Annotated[
        bool, Parameter(negative="", show_default=False, help="Also those that are over, and the archives.")
    ] = False,
    limit: Limit = 50,
    after: Annotated[
        int | None, Parameter(show_default=False, help="Older than this one: the last id of the page before.")
    ] = None,
    watch: Annotated[
        bool, Parameter(negative="", show_default=False, help="Look again every 2 seconds, until Ctrl-C.")
    ] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List errors, newest first. A message is cut short here; recoup errors show has it in full.

    For example: recoup errors list --status PARKED --table outreach.dol_errors --parked-longer-than 48h
    """
    if watch and json:
        raise InputRefused("watch_json", "JSON is not watched.", "Leave out --watch, or --json.")
    asked = which.filter()

    def look() -> None:
        last: Listed | None = None
        seen = 0

        def noticed() -> Iterator[Listed]:
            nonlocal last, seen
            for last in _pages(asked, limit=limit, archived=archived, after=after, demo=demo):
                seen += 1
                yield last

        print_listed(noticed(), as_json=json)
        if last is not None and seen == limit and not json:
            print(f"\n{seen:,} are shown; what is older: --after {last.error_id}")

    _watched(look) if watch else look()


@app.command
def show(error: str, *, demo: Demo = False, json: Json = False) -> None:
    """Show one error in full: its row, why it stands so, and everything that happened to it; also when it is archived.

    Parameters
    ----------
    error
        Its id, such as 123, or table and id, such as outreach.dol_errors/123.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.show(tx, error)
    if json:
        print_fields(found, as_json=True)
        return
    print_fields({name: value for name, value in found.row.items() if value is not None}, as_json=False)
    print("\nWhy it stands so:\n")
    for sentence in found.explanation:
        print(f"  {shown(sentence)}")
    print("\nWhat happened:\n")
    for line in story(found.events):
        print(f"  {shown(line)}")


@app.command
def blocked(*entities: UUID, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """Tell what keeps entities from moving on. Ends with 1 if anything does, with 0 if they are free.

    For example: recoup errors blocked 5e6f… && promote 5e6f…

    A program that promotes asks recoup.is_blocked_locking(outreach_id) in its own transaction instead: then no error
    can slip in between.

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
    rows = found if json else [one._replace(error_message=_shortened(one.error_message)) for one in found]
    with ends_with(1 if found else 0):
        print_rows(rows, as_json=json, empty="Nothing keeps them from moving on.")
        if more > 0:
            say(f"and {more:,} more: --limit shows them")


@app.command
def stats(*, demo: Demo = False, json: Json = False) -> None:
    """Count errors, table by table: where they stand, what is due, what blocks, what the archiver still has to move.

    Counts every row, so on millions it takes a moment. Overdue: nobody retried it before its window closed. Lapsed:
    whoever claimed it was never heard of again.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = listing.stats(tx)
    if json:
        print_rows(found, as_json=True, empty="")
        return
    columns = ("open", "ignored", "to_archive", "retry_pending", "parked", "escalated", "blocking")
    work = ("due_now", "overdue", "retrying", "lapsed", "oldest_parked_at", "for_the_archiver")
    told = [{name: getattr(one, name) for name in ("error_table", *columns, *work)} for one in found]
    print_rows(
        told, as_json=False, columns=("error_table", *columns), empty="There are no error tables: recoup migrate"
    )
    print()
    archived = [
        {**row, "archived": ", ".join(f"{reason} {count:,}" for reason, count in one.archived.items()) or None}
        for row, one in zip(told, found, strict=True)
    ]
    print_rows(archived, as_json=False, columns=("error_table", *work, "archived"), empty="")


def _pages(asked: Filter, *, limit: int, archived: bool, after: int | None, demo: bool) -> Iterator[Listed]:
    """Page by page, each in a transaction of its own: however long they are printed, nobody waits for it."""
    with opened(demo=demo) as database:
        while limit > 0:
            with database.transaction(Authority.READER, actor=person(database)) as tx:
                page = listing.list_errors(tx, asked, limit=min(limit, PAGE), archived=archived, after=after)
            yield from page
            if len(page) < PAGE:
                return
            limit, after = limit - len(page), page[-1].error_id


def print_listed(found: Iterable[Listed], *, as_json: bool) -> None:
    """Errors as a list has them."""
    if as_json:
        print_rows(found, as_json=True, empty="")
        return
    told = (
        {
            "error_id": one.error_id,
            "error_table": one.error_table,
            "status": f"{one.status} {one.retry_count}/{one.max_retries}" if one.disposition == "RETRY" else one.status,
            "error_code": one.error_code,
            "work_key": one.work_key,
            "first_failed": one.created_at,
            "next": _next(one),
            "message": _shortened(one.error_message),
        }
        for one in found
    )
    print_rows(told, as_json=False, columns=LIST_COLUMNS, empty="No error fits.")


def _next(one: Listed) -> str | None:
    """Why nothing comes next, or when."""
    if one.archived_at is not None:
        return one.archive_reason
    if one.next_retry_at is None:
        return None if one.park_reason is None else _shortened(one.park_reason)
    return f"{one.leased_by} is at it" if one.leased_by is not None else f"due {shown(one.next_retry_at)}"


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE_CHARS else text[:MAX_MESSAGE_CHARS] + "…"


def _watched(look: Callable[[], None]) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            if sys.stdout.isatty():
                print(CLEAR, end="")
            look()
            sys.stdout.flush()
            time.sleep(WATCH_EVERY_S)


def _units(tx: Transaction, names: Sequence[str]) -> list[str]:
    return [f"{key.error_table}/{key.error_id}" for key in lookup.keys(tx, names)]


@app.command
def operations(*, limit: Limit = 20, demo: Demo = False, json: Json = False) -> None:
    """List operations over many errors, newest first: what was asked for, how far it is, what was refused."""
    list_operations(subject=SUBJECT.table, limit=limit, demo=demo, json=json)


Verbs(
    subject=SUBJECT,
    command="errors",
    which=ANY,
    ids="Ids, such as 123, or table and id, such as outreach.dol_errors/123.",
    units=_units,
    first=lambda tx, asked, limit: listing.list_errors(tx, asked, limit=limit),
    print_first=lambda found: print_listed(found, as_json=False),
).into(app)
