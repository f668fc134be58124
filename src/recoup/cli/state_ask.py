"""``recoup state enqueue``, ``retry``, ``reprocess`` and ``mark-terminal``: what people ask the control plane for.

A set that is larger than the policy's confirm_above needs a yes, and is never larger than what was confirmed. Up to 500
partitions are one transaction; more are a bulk operation, which can be resumed.
"""

import sys
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from cyclopts import Parameter, validators

from recoup.cli.confirm import confirm
from recoup.cli.context import opened, person
from recoup.cli.operations import plain
from recoup.cli.output import Column, Demo, Json, command, ends_with, print_fields, print_rows, say, shown
from recoup.cli.progress import progress
from recoup.cli.state_filter import ANY, Which
from recoup.database.connection import Database
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.operations import Operation, carry_on, find
from recoup.partitions import consuming, listing, registry, requesting, sinks
from recoup.partitions.control_plane import Enqueued
from recoup.partitions.identity import Partition
from recoup.partitions.requesting import AT_ONCE, MAX_ATTEMPTS, Answered, Ask, Found, InSink, Request
from recoup.partitions.selecting import Selection, days, each_day
from recoup.partitions.vocabulary import Lane
from recoup.refusals import InputRefused

ANSWERED = (
    Column("source", cut="middle", least=8, rank=5),
    Column("customer_id", "customer", cut="middle", least=8, rank=1),
    Column("query_name", "query", cut="middle", least=8, rank=6),
    Column("logical_date", "day", rank=0),
    Column("result", cut="end", least=10, rank=2),
    Column("happened", "message", cut="fold", least=20, rank=3),
    Column("next_step", "next", cut="fold", least=20, rank=4),
)
DONE = {
    Ask.RETRY: "requeued, due now",
    Ask.REPROCESS: "to be reprocessed, due now",
    Ask.MARK_TERMINAL: "terminal: MARKED",
}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """How a change is confirmed and explained."""

    because: Annotated[
        str | None, Parameter(show_default=False, help="Why. It is logged with your name. Asked for on a terminal.")
    ] = None
    yes: Annotated[
        int | None,
        Parameter(
            show_default=False,
            validator=validators.Number(gte=1),
            help="Confirm up to this many partitions. A larger set is refused.",
        ),
    ] = None
    resume: Annotated[
        UUID | None, Parameter(show_default=False, help="Resume an operation that was interrupted or paused.")
    ] = None


NO_CONFIRM = Confirm()
ReExtract = Annotated[
    bool, Parameter(negative="", show_default=False, help="Also partitions of which the raw sink has no run.")
]


def retry(
    *,
    which: Which = ANY,
    include_terminal: Annotated[
        bool, Parameter(negative="", show_default=False, help="Also what was given up: an override, with a reason.")
    ] = False,
    attempts: Annotated[
        int,
        Parameter(
            help="Attempts that an override of a terminal partition grants.",
            validator=validators.Number(gte=1, lte=MAX_ATTEMPTS),
        ),
    ] = 1,
    re_extract: ReExtract = False,
    given: Confirm = NO_CONFIRM,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Retry failed partitions: they are extracted and validated again, now, under a new run.

    For example: recoup state retry --customer-id acme --logical-date 2026-01-01..2026-01-07
    """
    request = Request(
        ask=Ask.RETRY, attempts=attempts, include_terminal=include_terminal, re_extract=re_extract,
        command=_named("retry", include_terminal=include_terminal, re_extract=re_extract, attempts=attempts),
    )  # fmt: skip
    _Call(demo=demo, json=json).run(request, which.selection(), given)


def reprocess(
    *,
    which: Which = ANY,
    re_extract: ReExtract = False,
    given: Confirm = NO_CONFIRM,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Extract and validate partitions again that succeeded. Their current data stays until a new run is accepted.

    For example: recoup state reprocess --source shop --validator-version 3
    """
    request = Request(ask=Ask.REPROCESS, re_extract=re_extract, command=_named("reprocess", re_extract=re_extract))
    _Call(demo=demo, json=json).run(request, which.selection(), given)


def mark_terminal(
    *, which: Which = ANY, given: Confirm = NO_CONFIRM, demo: Demo = False, json: Json = False
) -> None:  # fmt: skip
    """Mark failed partitions terminal: they are not retried, and consumers treat them as permanently unavailable."""
    request = Request(ask=Ask.MARK_TERMINAL, command=_named("mark-terminal"))
    _Call(demo=demo, json=json).run(request, which.selection(), given)


def _named(verb: str, **options: Any) -> str:
    """A command as the log of overrides keeps it."""
    words = [f"state {verb}"]
    for name, value in options.items():
        if value is True or (value is not False and value != 1):
            words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return " ".join(words)


class _Call:
    """One call of a command that changes partitions."""

    def __init__(self, *, demo: bool, json: bool) -> None:
        self.demo, self.json = demo, json
        self.asks = not json and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()

    def run(self, request: Request, selection: Selection, given: Confirm) -> None:
        if (given.resume is None) == selection.is_empty:
            raise nothing_selected() if given.resume is None else _unclear()
        with opened(demo=self.demo) as database:
            if given.resume is not None:
                self._resume(database, request, given.resume)
                return
            with database.transaction(Authority.READER) as tx:
                found = requesting.look(tx, request, selection)
                above = registry.active(tx).confirm_above
                total = listing.count(tx, selection)
            if total == 0:
                raise listing.unknown(selection)
            at_most = self.confirmed(found, given, above)
            because = given.because
            if because is None and self.asks and found.rows:
                because = input("Reason (logged with your name; empty for none): ").strip() or None
            from_person = Request(
                ask=request.ask, attempts=request.attempts, include_terminal=request.include_terminal,
                re_extract=request.re_extract, command=request.command, reason=because, selection=str(selection),
            ).checked()  # fmt: skip
            if total <= AT_ONCE:
                self._at_once(database, from_person, selection, at_most)
            else:
                self._in_batches(database, from_person, selection, at_most, found)

    def confirmed(self, found: Found, given: Confirm, above: int) -> int:
        """How many may change. What was not confirmed, may not."""
        if self.asks and given.yes is None and found.rows > above:
            for (source, query), number in found.by_query.items():
                say(f"{number:>9,}  {shown(source)}/{shown(query)}")
        confirm(found.rows, "partitions", above=above, yes=given.yes)
        return given.yes or max(found.rows, above)

    def _at_once(self, database: Database, request: Request, selection: Selection, at_most: int) -> None:
        in_sink = _in_sink(database)
        with database.transaction(Authority.CONTROL_PLANE, actor=person(database), reason=request.reason) as tx:
            answers = requesting.ask(tx, request, selection, at_most=at_most, in_sink=in_sink)
        with ends_with(0 if all(one.done for one in answers) else 1):
            self._print(request.ask, answers)

    def _in_batches(
        self, database: Database, request: Request, selection: Selection, at_most: int, found: Found
    ) -> None:
        def begun(operation: UUID, items: int) -> None:
            say(
                f"operation {operation}: {plural(items, 'partition')};"
                f" if it is interrupted, continue with --resume {operation}"
            )

        with progress(quiet=self.json) as tell:
            ended = requesting.ask_many(
                database, request, selection, actor=person(database), at_most=at_most, in_sink=_in_sink(database),
                begun=begun, progress=lambda done, of: tell(f"{done:,} of {of:,}", done / max(of, 1)),
            )  # fmt: skip
        others = {why: number for why, number in found.refused.items() if not why.startswith("never_extracted")}
        self._print_ended(request.ask, ended, others)

    def _resume(self, database: Database, request: Request, operation_id: UUID) -> None:
        with database.transaction(Authority.READER) as tx:
            operation = find(tx, operation_id)
        if operation.verb != request.ask or operation.subject != requesting.SUBJECT.table:
            raise InputRefused(
                "operation_verb",
                f"Operation {operation_id} is for {operation.verb}, not for {request.ask}.",
                f"recoup state {operation.verb} --resume {operation_id}",
            )
        subject = requesting.subject(_in_sink(database))
        self._print_ended(request.ask, carry_on(database, subject, operation_id, actor=person(database)), {})

    def _print(self, ask: Ask, answers: list[Answered]) -> None:
        if self.json:
            print_rows(answers, as_json=True, empty="")
            return
        rows = [one._asdict() | {"result": DONE[ask] if one.done else "refused"} for one in answers]
        print_rows(rows, as_json=False, columns=ANSWERED, empty="")

    def _print_ended(self, ask: Ask, ended: Operation, others: dict[str, int]) -> None:
        with ends_with(1 if ended.refused else 0):
            if self.json:
                print_fields(plain(ended), as_json=True)
                return
            print(f"{plural(ended.done, 'partition')} {DONE[ask]}; {ended.refused:,} refused")
            for why, number in {**ended.refusals, **others}.items():
                print(f"  {number:,} not changed: {shown(why)}")
            if ended.pending:
                again = command(f"state {ask} --resume {ended.operation_id}", demo=self.demo)
                print(f"\n{ended.pending:,} are left. Next: {again}")


def _in_sink(database: Database) -> InSink | None:
    """Which partitions have a run in the raw sink of this machine; None: it has no sink, and the database answers."""
    settings = database.settings
    if settings.sink is None and not sinks.folder(settings).exists():
        return None
    sink = consuming.sink(settings)
    return lambda partitions: {one for one in partitions if sink.runs(one)}


def nothing_selected() -> InputRefused:
    return InputRefused(
        "selection_missing",
        "It is not clear which partitions are meant.",
        "Select them: --source, --customer-id, --query-name, --logical-date, --status, --reason, …",
    )


def _unclear() -> InputRefused:
    return InputRefused(
        "selection_unclear",
        "--resume continues an operation with the partitions that it began with.",
        "Give either a selection, or --resume.",
    )


def enqueue(
    *,
    source: Annotated[str, Parameter(help="The source.")],
    query_name: Annotated[str, Parameter(help="Its query, as the policy registers it.")],
    logical_date: Annotated[
        tuple[str, ...],
        Parameter(help="A day, or a range with both ends: 2026-01-01..2026-01-31.", negative=""),
    ],
    customer_id: Annotated[
        tuple[str, ...],
        Parameter(help="A customer. Default: those of the registry.", negative="", show_default=False),
    ] = (),
    lane: Annotated[Lane, Parameter(help="Fresh ones go first.")] = Lane.FRESH,
    priority: Annotated[
        int | None,
        Parameter(help="0 goes first, 9 last.", validator=validators.Number(gte=0, lte=9), show_default=False),
    ] = None,
    given: Confirm = NO_CONFIRM,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Enqueue partitions: they are extracted and validated as soon as a worker is free.

    Those that are known are left as they are. For example: recoup state enqueue --source shop --query-name orders
    --logical-date 2026-01-01..2026-01-31
    """
    call = _Call(demo=demo, json=json)
    with opened(demo=demo) as database:
        with database.transaction(Authority.READER) as tx:
            policy = registry.active(tx)
            (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
        registry.registered(policy, source, query_name)
        until = registry.last_ready(policy, source, query_name, now)
        chosen = each_day([days(text) for text in logical_date], until=until)
        partitions = registry.keys(
            policy, source=source, query_name=query_name, days=chosen, customers=customer_id
        )  # fmt: skip
        found = Found(rows=len(partitions), refused={}, by_query={(source, query_name): len(partitions)})
        call.confirmed(found, given, policy.confirm_above)
        with database.transaction(Authority.CONTROL_PLANE, actor=person(database), reason=given.because) as tx:
            enqueued = registry.enqueue(tx, policy, partitions, lane=lane, priority=priority)
    _print_enqueued(partitions, enqueued, json=json)


def _print_enqueued(partitions: list[Partition], enqueued: list[Enqueued], *, json: bool) -> None:
    if json:
        rows = [
            {**key._asdict(), "partition_id": one.partition_id, "known": one.known}
            for key, one in zip(partitions, enqueued, strict=True)
        ]
        print_rows(rows, as_json=True, empty="")
        return
    known = sum(one.known for one in enqueued)
    new = len(enqueued) - known
    print(f"{plural(new, 'partition')} enqueued" + (f"; {known:,} known already" if known else ""))
