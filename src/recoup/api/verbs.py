"""Routes made from declared verbs: over one row, or over many with a preview, as an operation that can be followed.

For a subject under ``/v1/errors`` with the verb ``park``:

- ``POST /v1/errors/{error_id}/park`` for one row: refused with 409 where the row does not allow it;
- ``POST /v1/errors/park/preview`` for what the verb would do to the rows of a filter;
- ``POST /v1/errors/park`` for many: their set is fixed, and the answer is the operation that works through them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol

from fastapi import Body, Path
from pydantic import Field, create_model

from recoup.api.answers import Listing
from recoup.api.declare import Given, Route
from recoup.api.endpoints import Call
from recoup.api.operating import Progress, continue_after, progress
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, Answer, Argument, Subject, Verb, begin, find, preview, steps
from recoup.refusals import InputRefused, LawRefused

MAX_NAMED = 10_000  # rows of one operation that are named one by one
LEFT_OUT = "\n\nFor example:"


class Which(Protocol):
    """The model of a filter."""

    def filter(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Previewed:
    """What an operation would do."""

    rows: int  # that the verb can change
    groups: list[dict[str, Any]]  # with the same place and the same answer
    refused: Mapping[str, int]  # why not, and how many


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbRoutes:
    """How the API offers the verbs of a subject."""

    subject: Subject
    area: str
    path: str  # /v1/errors
    which: type[Given]  # the model of its filter, with a method filter()
    unit: str  # error_id: the name of a row's id in paths
    unit_type: Any  # with its bounds
    units: Callable[[Transaction, Sequence[str]], list[str]] = lambda _tx, names: list(names)  # of ids
    # What is logged with an act, in addition to its arguments: of a path and a filter.
    noted: Callable[[str, Any], Mapping[str, Any]] = lambda _path, _asked: {}
    # Whether many are named and decided at once, in the caller's own authority: for those who may not begin operations.
    at_once: int = 0  # how many

    def routes(self) -> Iterator[Route]:
        for verb in self.subject.verbs:
            yield self._one(verb)
            yield self._previewed(verb)
            yield self._together(verb) if self.at_once else self._many(verb)

    def act(self, verb: Verb, path: str, given: Given, asked: Any) -> Act:
        names = [argument.name for argument in verb.arguments]
        values = {name: getattr(given, name) for name in names}
        made = self.subject.act(verb.name, **{name: value for name, value in values.items() if value is not None})
        return replace(made, given={**made.given, **self.noted(path, asked)})

    def _one(self, verb: Verb) -> Route:
        path = f"{self.path}/{{{self.unit}}}/{verb.name}"
        body_type = self._model(verb, "", {})
        optional = not any(argument.required for argument in verb.arguments)

        def run(tx: Transaction, *, unit: Any, body: Any = None) -> Answer:
            act = self.act(verb, f"POST {path}", body or body_type(), None)
            (answer,) = self.subject.carry_out(tx, act, self.units(tx, [str(unit)]))
            if not answer.done:
                raise LawRefused(str(answer.refused), str(answer.happened), str(answer.next_step), unit=answer.unit)
            return answer

        body_hint: Any = Annotated[body_type | None if optional else body_type, Body()]
        hints = {"unit": Annotated[self.unit_type, Path(alias=self.unit)], "body": body_hint}
        about = f"{_summary(verb, self.subject)}\n\nOne {self.subject.noun}. {_rest(verb)}"
        return self._route(verb, path, _typed(run, about, hints, Answer, optional), self.subject.authority)

    def _previewed(self, verb: Verb) -> Route:
        body_type = self._model(verb, "Previewed", {"filter": (self.which, ...)}, required=False)

        def run(tx: Transaction, *, body: Any) -> Previewed:
            asked = body.filter.filter()
            given = {name: value for name, value in body if name != "filter" and value is not None}
            act = Act(verb=verb.name, given={**given, **self.noted(self.path, asked)})
            if asked.is_empty:
                raise _nothing(self.subject)
            found = preview(tx, self.subject, act, asked)
            groups = [{**group.place, "rows": group.rows} for group in found.groups]
            return Previewed(rows=found.rows, groups=groups, refused=found.refused)

        about = f"Preview: {_summary(verb, self.subject).lower()}\n\nWhat it would do to the rows of a filter."
        run_ = _typed(run, about, {"body": Annotated[body_type, Body()]}, Previewed, False)
        return self._route(verb, f"{self.path}/{verb.name}/preview", run_, Authority.READER, reads=True)

    def _many(self, verb: Verb) -> Route:
        path = f"{self.path}/{verb.name}"
        more: dict[str, Any] = {
            "filter": (self.which | None, Field(None, description="Which rows. Either this, or units.")),
            "units": (
                Annotated[list[str | int], Field(min_length=1, max_length=MAX_NAMED)] | None,
                Field(None, description="The rows by their ids."),
            ),
        }
        if verb.name in self.subject.outcomes:
            about_canary = "Let this many go first; a worker continues in growing steps while their outcomes are good."
            more["canary"] = (int | None, Field(None, ge=1, le=steps.MAX_FIRST, description=about_canary))
            more["rate"] = (int | None, Field(None, ge=1, le=steps.MAX_RATE, description="With canary: per minute."))
        body_type = self._model(verb, "Many", more)

        def run(tx: Transaction, *, call: Call, body: Any) -> Progress:
            if (body.filter is None) is (body.units is None):
                raise InputRefused(
                    "selection_unclear", "Either a filter or units say which rows are meant.", "Give one of them."
                )
            named = [str(one) for one in body.units or ()]
            asked = body.filter.filter() if body.filter is not None else self.units(tx, named)
            act = self.act(verb, f"POST {path}", body, asked)
            canary, rate = getattr(body, "canary", None), getattr(body, "rate", None)
            operation_id = begin(tx, self.subject, act, asked, canary=canary, rate=rate, unattended=True)
            continue_after(call, self.subject, operation_id)
            return progress(find(tx, operation_id))

        about = (
            f"{_summary(verb, self.subject)}\n\nMany {self.subject.noun}s, as an operation: their set is fixed now, and"
            " worked through after the answer, by a worker if this process dies. Follow it under"
            " /v1/operations/{operation_id}."
        )
        run_ = _typed(run, about, {"body": Annotated[body_type, Body()], "call": Call}, Progress, False)
        also = () if self.subject.authority is Authority.OPERATOR else (self.subject.authority,)
        return self._route(verb, path, run_, Authority.OPERATOR, status=202, also=also)

    def _together(self, verb: Verb) -> Route:
        path = f"{self.path}/{verb.name}"
        named = Annotated[list[self.unit_type], Field(min_length=1, max_length=self.at_once)]  # type: ignore[name-defined]
        body_type = self._model(verb, "Many", {"units": (named, ...)})

        def run(tx: Transaction, *, body: Any) -> Listing[Answer]:
            units = self.units(tx, [str(one) for one in body.units])
            return Listing(items=self.subject.carry_out(tx, self.act(verb, f"POST {path}", body, None), units))

        about = (
            f"{_summary(verb, self.subject)}\n\nUp to {self.at_once} {self.subject.noun}s at once, each with its own"
            " answer, in the order given."
        )
        run_ = _typed(run, about, {"body": Annotated[body_type, Body()]}, Listing[Answer], False)
        return self._route(verb, path, run_, self.subject.authority)

    def _model(self, verb: Verb, which: str, more: Mapping[str, Any], *, required: bool = True) -> type[Given]:
        fields = {argument.name: _field(argument, required=required) for argument in verb.arguments}
        noun = "".join(word.title() for word in (self.subject.noun, *verb.name.split("-"), which))
        made: type[Given] = create_model(noun, __base__=Given, **{**fields, **more})
        return made

    def _route(self, verb: Verb, path: str, run: Any, authority: Authority, **more: Any) -> Route:
        return Route(method="POST", path=path, area=self.area, authority=authority, run=run, **more)


def _field(argument: Argument, *, required: bool) -> Any:
    kind: Any = argument.kind
    about: dict[str, Any] = {"description": argument.help}
    if kind is int:
        about |= {"ge": argument.least or 0, "le": argument.most}
    elif kind is str:
        about |= {"min_length": 1, "max_length": argument.bytes_most}
    if argument.required and required:
        return (kind, Field(**about))
    return (kind | None, Field(None, **about))


def _typed(run: Any, about: str, hints: Mapping[str, Any], answer: Any, optional: bool) -> Any:
    """A function with a documentation and types that were made."""
    run.__doc__, run.__annotations__ = about, {"tx": Transaction, **hints, "return": answer}
    if not optional:
        run.__kwdefaults__ = None
    return run


def _summary(verb: Verb, subject: Subject) -> str:
    return verb.help.partition("\n")[0].partition(". ")[0].rstrip(".") or f"{verb.name} {subject.noun}s"


def _rest(verb: Verb) -> str:
    """What its help says after its summary, without the commands of its examples."""
    first = verb.help.partition("\n\n")[0].replace("\n", " ")
    return first.partition(". ")[2]


def _nothing(subject: Subject) -> InputRefused:
    return InputRefused("filter_empty", f"No {subject.noun}s are selected.", "Give at least one condition.")
