"""What people ask the control plane for: a retry, a reprocessing, or that a partition is marked terminal.

Each request is logged with its actor, its reason, its command and its selection. A set is never larger than was
confirmed. A retry of a partition of which the raw sink has no run is refused, unless it is meant: then it was never
extracted, and its key may be wrong.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.sql import Composable

from recoup.database.arrays import Routine
from recoup.database.connection import Actor, Database, Transaction
from recoup.database.queries import load
from recoup.formatting import plural, timestamp
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, Answer, Argument, Group, Operation, Subject, Verb, Why, begin, carry_on, find
from recoup.operations.verbs import reason as reason_argument
from recoup.partitions.identity import Partition
from recoup.partitions.listing import unknown
from recoup.partitions.selecting import EVERYTHING, Selection, matching
from recoup.redaction import in_words
from recoup.refusals import InputRefused

Q = load("recoup.partitions", "requesting.sql")
ASK = Routine(
    name="partitions.ask",
    plain={
        "ids": "bigint[]", "verb": "text", "attempts": "integer", "lane_": "text", "priority_": "integer",
        "backfill_": "uuid", "alternative_": "jsonb", "candidates": "uuid[]", "overrides": "boolean",
    },
    results={"asked": "asked", "answers": "answers"},
)  # fmt: skip
AT_ONCE = 500  # in one transaction; larger sets are bulk operations, which can be resumed
MAX_ATTEMPTS = 100
# Which of these partitions have a run in the raw sink, as the sink itself shows it.
InSink = Callable[[Sequence[Partition]], set[Partition]]


class Ask(StrEnum):
    """What is asked for."""

    RETRY = "retry"  # of what failed
    REPROCESS = "reprocess"  # of what succeeded
    MARK_TERMINAL = "mark-terminal"  # of what failed: it is given up

    @property
    def verb(self) -> str:
        return "mark" if self is Ask.MARK_TERMINAL else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One decision over one partition or many."""

    ask: Ask
    reason: str | None = None
    attempts: int = 1  # that an override of a terminal partition grants
    include_terminal: bool = False
    re_extract: bool = False  # also what was never extracted
    command: str = ""  # as the log of overrides names it
    selection: str = ""

    def checked(self) -> "Request":
        """The request with its texts as they are stored; or a refusal."""
        if self.reason is not None:
            reason_argument().check(self.reason, self.ask)
        if self.include_terminal and self.reason is None:
            raise InputRefused(
                "reason_missing",
                "An override of terminal partitions needs a reason.",
                'Give it: --because "…"; it is logged with your name.',
            )
        if not 1 <= self.attempts <= MAX_ATTEMPTS:
            raise InputRefused(
                "attempts_unusable", f"{self.attempts} attempts cannot be granted.", f"Grant 1 to {MAX_ATTEMPTS}."
            )
        return replace(self, reason=None if self.reason is None else in_words(self.reason))

    @property
    def act(self) -> Act:
        """The request, as an operation stores it."""
        given: dict[str, Any] = {"command": self.command, "selection": self.selection}
        if self.reason is not None:
            given["reason"] = self.reason
        if self.ask is Ask.RETRY:
            given |= {"attempts": self.attempts, "include_terminal": self.include_terminal}
        return Act(verb=self.ask.value, given=given | {"re_extract": self.re_extract})

    @classmethod
    def of(cls, act: Act) -> "Request":
        return cls(ask=Ask(act.verb), **act.given)

    @property
    def given(self) -> dict[str, Any]:
        """The parameters of its queries."""
        extracted = not self.re_extract and self.ask is not Ask.MARK_TERMINAL
        return {"asks": self.ask.verb, "overrides": self.include_terminal, "extracted": extracted}


class Answered(NamedTuple):
    """The answer to a request for one partition."""

    source: str
    customer_id: str
    query_name: str
    logical_date: Any
    partition_id: int
    done: bool
    next_run_at: datetime | None
    refused: str | None = None
    happened: str | None = None
    next_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a request would do: how many partitions it changes, and why not the others."""

    rows: int
    refused: Mapping[str, int]
    by_query: Mapping[tuple[str, str], int]


def look(tx: Transaction, request: Request, selection: Selection) -> Found:
    """What a request would do now. Changes nothing."""
    groups = _groups(tx, request.act, _Narrowed(request=request, selection=selection))
    refused: Counter[str] = Counter()
    by_query: Counter[tuple[str, str]] = Counter()
    for group in groups:
        if group.refusal is None:
            by_query[group.place["source"], group.place["query_name"]] += group.rows
        else:
            refused[f"{group.refusal.code}: {group.refusal.happened}"] += group.rows
    return Found(rows=by_query.total(), refused=dict(refused.most_common()), by_query=dict(by_query))


def ask(
    tx: Transaction,
    request: Request,
    selection: Selection,
    *,
    at_most: int | None = None,
    in_sink: InSink | None = None,
) -> list[Answered]:
    """Ask for a small set, in one transaction, as the control plane. The answer for each partition, in order.

    ``at_most``: refuse to change more than these. Refused when nothing matches.
    """
    found = _answers(tx, request, selection, limit=AT_ONCE + 1)
    if not found:
        raise unknown(selection)
    if len(found) > AT_ONCE:
        raise InputRefused(
            "selection_too_large",
            f"More than {AT_ONCE:,} partitions match.",
            "Narrow the selection, or use the command, which does it in batches: recoup state --help",
        )
    if in_sink is not None and request.given["extracted"]:
        found = _only_in_sink(found, in_sink)
    wanted = [row["partition_id"] for row in found if row["answer"] == "asked"]
    refuse_more(len(wanted), at_most, request.ask)
    became = _asked(tx, request, wanted)
    return [_answered(request, row | {"answer": became.get(row["partition_id"], row["answer"])}) for row in found]


def refuse_more(count: int, at_most: int | None, verb: str) -> None:
    """Refuse a set that is larger than what was confirmed."""
    if at_most is not None and count > at_most:
        raise InputRefused(
            "more_than_expected",
            f"{plural(count, 'partition')} would change, more than {at_most:,}.",
            f"Check the selection; to {verb} them all: --yes {count}",
            count=count, yes=at_most,
        )  # fmt: skip


def ask_many(
    database: Database,
    request: Request,
    selection: Selection,
    *,
    actor: Actor,
    at_most: int | None = None,
    in_sink: InSink | None = None,
    begun: Callable[[UUID, int], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Operation:
    """Ask for a set of any size: it is fixed when the operation begins, and then changed in batches."""
    with database.transaction(Authority.OPERATOR, actor=actor, reason=request.reason) as tx:
        operation_id = begin(tx, SUBJECT, request.act, selection)
        items = find(tx, operation_id).items
        refuse_more(items, at_most, request.ask)
    if begun is not None:
        begun(operation_id, items)
    return carry_on(database, subject(in_sink), operation_id, actor=actor, progress=progress)


def _answers(
    tx: Transaction, request: Request, selection: Selection, *, ids: Sequence[int] | None = None, limit: int
) -> list[dict[str, Any]]:
    given = {**selection.given, **request.given, "ids": None if ids is None else list(ids), "limit": limit}
    with tx.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(matching("answers", Q), given, prepare=False).fetchall()


def _only_in_sink(found: Sequence[dict[str, Any]], in_sink: InSink) -> list[dict[str, Any]]:
    there = in_sink([_key(row) for row in found if row["answer"] == "asked"])
    return [
        row | {"answer": "never_extracted"} if row["answer"] == "asked" and _key(row) not in there else row
        for row in found
    ]


def _asked(tx: Transaction, request: Request, ids: Sequence[int]) -> dict[int, str]:
    """The request itself: one statement, one row in the log of overrides."""
    if not ids:
        return {}
    tx.execute(Q["names"], {"command": request.command, "selection": request.selection})
    found = ASK.call(
        tx, ids=list(ids), verb=request.ask.verb, attempts=request.attempts, lane_=None, priority_=None,
        backfill_=None, alternative_=None, candidates=None, overrides=request.include_terminal,
    )  # fmt: skip
    tx.execute(Q["names"], {"command": "", "selection": ""})
    return dict(zip(found["asked"], found["answers"], strict=True))


def _key(row: Mapping[str, Any]) -> Partition:
    return Partition(row["source"], row["customer_id"], row["query_name"], row["logical_date"])


def _answered(request: Request, row: Mapping[str, Any]) -> Answered:
    why = why_not(request.ask, row["answer"], next_run_at=row["next_run_at"], causes=row["terminal_causes"] or ())
    return Answered(*_key(row), row["partition_id"], why is None, row["next_run_at"], *(why or ()))


def why_not(
    ask: Ask, answer: str, *, next_run_at: datetime | None = None, causes: Sequence[str] = ()
) -> Why | None:  # fmt: skip
    """Why a request is refused; None: it is not."""
    match answer:
        case "asked":
            return None
        case "open":
            return Why("run_open", "A run of it is under way.", "Wait for its verdict: recoup state inspect")
        case "never_extracted":
            return Why(
                "never_extracted",
                "The raw sink has no run of it.",
                "Check the key. To extract it all the same, repeat the command with --re-extract",
            )
        case "terminal":
            named = f" ({', '.join(causes)})" if causes else ""
            return Why(
                "partition_terminal",
                f"It is terminal{named}: given up until somebody overrides that.",
                'Repeat the command with --include-terminal --because "…"',
            )
        case "marked":
            return Why("marked_already", "It is marked terminal already.", "Nothing to do.")
        case "success" if ask is Ask.RETRY:
            return Why("succeeded_already", "It succeeded.", "To extract and validate it again: recoup state reprocess")
        case "failed":
            return Why("partition_failed", "It failed: only what succeeded is reprocessed.", "Use: recoup state retry")
        case "pending" if ask is Ask.MARK_TERMINAL:
            return Why("partition_pending", "It is pending, and not failed.", "Wait for its verdict.")
        case "pending":
            at = "" if next_run_at is None else f": its next run is at {timestamp(next_run_at)}"
            return Why("partition_pending", f"It is pending{at}.", "Wait for it, or see: recoup state inspect")
        case _:
            return Why("partition_succeeded", "It succeeded, and did not fail.", "Nothing to do.")


UNKNOWN = Why("partition_unknown", "There is no such partition.", "List partitions: recoup state list")


# As a subject of bulk operations --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Narrowed:
    """The partitions of a selection that a request is for."""

    request: Request
    selection: Selection

    @property
    def is_empty(self) -> bool:
        return self.selection.is_empty

    @property
    def conditions(self) -> Mapping[str, Any]:
        return self.selection.conditions

    @property
    def given(self) -> dict[str, Any]:
        return {**self.selection.given, **self.request.given}


def _narrowed(act: Act, asked: Selection) -> _Narrowed:
    return _Narrowed(request=Request.of(act).checked(), selection=asked)


def _groups(tx: Transaction, _: Act, asked: _Narrowed) -> list[Group]:
    rows = tx.execute(matching("groups", Q), asked.given, prepare=False)
    return [
        Group({"source": source, "query_name": query}, number, why_not(asked.request.ask, answer))
        for source, query, answer, number in rows
    ]


def _chosen(_: Transaction, asked: _Narrowed) -> tuple[Composable, Mapping[str, Any]]:
    return matching("chosen", Q), asked.given


def _carry_out(
    tx: Transaction, act: Act, units: Sequence[str], *, in_sink: InSink | None = None
) -> list[Answer]:  # fmt: skip
    request = Request.of(act).checked()
    ids = [int(unit) for unit in units]
    found = _answers(tx, request, EVERYTHING, ids=ids, limit=len(ids))
    if in_sink is not None and request.given["extracted"]:
        found = _only_in_sink(found, in_sink)
    became = _asked(tx, request, [row["partition_id"] for row in found if row["answer"] == "asked"])
    answers = {row["partition_id"]: became.get(row["partition_id"], row["answer"]) for row in found}
    return [
        Answer.of(unit, why_not(request.ask, answers[int(unit)]) if int(unit) in answers else UNKNOWN) for unit in units
    ]


RE_EXTRACT = Argument(name="re_extract", help="Also what was never extracted.", flag=True)
SUBJECT = Subject(
    table="partitions.partition_state",
    noun="partition",
    verbs=(
        Verb(
            name=Ask.RETRY,
            help="Retry failed partitions.",
            arguments=(
                reason_argument(required=False),
                Argument(name="attempts", help="How many attempts are granted.", least=1, most=MAX_ATTEMPTS),
                Argument(name="include_terminal", help="Also what was given up; needs a reason.", flag=True),
                RE_EXTRACT,
            ),
        ),
        Verb(
            name=Ask.REPROCESS,
            help="Extract and validate partitions again that succeeded.",
            arguments=(reason_argument(required=False), RE_EXTRACT),
        ),
        Verb(name=Ask.MARK_TERMINAL, help="Mark failed partitions terminal."),
    ),
    groups=_groups,
    chosen=_chosen,
    carry_out=_carry_out,
    narrowed=_narrowed,
    authority=Authority.CONTROL_PLANE,
    named=lambda unit: {"partition_id": int(unit)},
)


def subject(in_sink: InSink | None) -> Subject:
    """Partitions as a subject of verbs; with a sink, a partition that has no run in it is refused."""
    return SUBJECT if in_sink is None else replace(SUBJECT, carry_out=partial(_carry_out, in_sink=in_sink))
