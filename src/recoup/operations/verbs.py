"""How a verb is declared: what people may do with the rows of a domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.sql import Composable

from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words
from recoup.refusals import InputRefused

MAX_TEXT_BYTES = 2000


class Why(NamedTuple):
    """Why a row is not changed. The text does not name the row, so that equal reasons can be counted."""

    code: str
    happened: str
    next_step: str


class Answer(NamedTuple):
    """The result of an act on one row."""

    unit: str
    done: bool
    refused: str | None = None
    happened: str | None = None
    next_step: str | None = None

    @classmethod
    def of(cls, unit: str, why: Why | None) -> Answer:
        """Done, or why not."""
        return cls(unit, True) if why is None else cls(unit, False, *why)


class Step(NamedTuple):
    """The items of an operation from behind one place up to another."""

    operation_id: UUID
    start: int
    end: int


class Outcomes(NamedTuple):
    """What became of the rows of a step, in numbers. Those that have no outcome and will have none are not counted."""

    succeeded: int
    failed: int
    open: int


class Group(NamedTuple):
    """Rows with the same place and the same answer."""

    place: Mapping[str, Any]  # as a preview shows it: table, status
    rows: int
    refusal: Why | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a verb."""

    name: str
    help: str
    required: bool = False
    least: int | None = None  # with bounds it is a number
    most: int | None = None
    bytes_most: int = MAX_TEXT_BYTES
    flag: bool = False
    refused: tuple[str, str] | None = None  # refusal codes: missing; invalid

    @property
    def kind(self) -> type:
        return bool if self.flag else str if self.most is None else int

    def check(self, value: Any, verb: str) -> None:
        """Refuse an invalid value."""
        missing, unusable = self.refused or (f"{self.name}_missing", f"{self.name}_unusable")
        if value is None:
            if self.required:
                raise InputRefused(missing, f"To {verb} needs a {self.name}.", f"Give it: --{self.name} …")
        elif self.kind is bool:
            return
        elif self.kind is int:
            if not (self.least or 0) <= value <= (self.most or 0):
                raise InputRefused(unusable, f"There is no {self.name} {value}.", f"Give {self.least} to {self.most}.")
        elif not str(value).strip() or "\0" in value or len(str(value).encode("utf-8", "replace")) > self.bytes_most:
            raise InputRefused(
                unusable,
                f"The {self.name} {str(value)[:50]!r} is empty, too long, or holds a NUL.",
                f"Give a text of at most {self.bytes_most:,} bytes.",
            )


def reason(*, required: bool = True) -> Argument:
    return Argument(name="reason", help="The reason. It is logged with your name.", required=required)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """Something that people do with rows of a subject."""

    name: str
    help: str  # the first line is the summary
    arguments: tuple[Argument, ...] = field(default_factory=lambda: (reason(),))

    @property
    def needs_reason(self) -> bool:
        return any(argument.name == "reason" and argument.required for argument in self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One decision of a person, over one row or many. ``given`` are the arguments of its verb that have a value."""

    verb: str
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> str | None:
        return self.given.get("reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Rows that people act on: how they are counted, chosen and moved."""

    table: str  # as its lifecycle has it
    noun: str  # error
    verbs: tuple[Verb, ...]
    # The rows that match a filter, in groups with the same place and answer. Changes nothing.
    groups: Callable[[Transaction, Act, Any], Sequence[Group]]
    # A query for the units that match a filter, as text in the column ``unit``, in the order in which they are locked.
    chosen: Callable[[Transaction, Any], tuple[Composable, Mapping[str, Any]]]
    # Applies the act to each of these units that allows it, in one statement; results come in the same order.
    carry_out: Callable[[Transaction, Act, Sequence[str]], list[Answer]]
    authority: Authority = Authority.OPERATOR
    # The filter that a verb over many applies: the rows that it is for, where the filter does not say.
    narrowed: Callable[[Act, Any], Any] = lambda _act, asked: asked
    named: Callable[[str], Mapping[str, Any]] = lambda unit: {"unit": unit}  # a unit as columns for display
    # Units that were named one by one, as an operation keeps them; refused where the verb could not apply to all.
    kept: Callable[[Transaction, Act, Sequence[str]], Sequence[str]] = lambda _tx, _act, units: units
    # Verbs whose rows have an outcome later, and how those of a step are counted, in one query. These offer a canary.
    outcomes: Mapping[str, Callable[[Transaction, Step], Outcomes]] = field(default_factory=dict)

    def act(self, verb: str, /, **given: Any) -> Act:
        """An act, if its verb is one of ours and its arguments are valid."""
        return act(self.verbs, verb, **given)


def act(verbs: Sequence[Verb], verb: str, /, **given: Any) -> Act:
    """An act, if its verb is one of these and its arguments are valid."""
    known = {one.name: one for one in verbs}
    if verb not in known:
        raise InputRefused("verb_unknown", f"There is no verb {verb!r}.", f"Verbs are: {', '.join(known)}.")
    arguments = {argument.name: argument for argument in known[verb].arguments}
    for name in given.keys() - arguments:
        raise InputRefused("argument_unknown", f"To {verb} takes no {name}.", f"It takes {', '.join(arguments)}.")
    for name, argument in arguments.items():
        argument.check(given.get(name), verb)
    clean = {name: in_words(value) if isinstance(value, str) else value for name, value in given.items()}
    return Act(verb=str(known[verb].name), given={name: value for name, value in clean.items() if value is not None})
