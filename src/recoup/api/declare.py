"""How a route is declared: a typed function over a transaction, and the authority that it needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, TypeVar

from fastapi import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from recoup.database.connection import Transaction
from recoup.durations import PATTERN, duration
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

MAX_PAGE = 1000
MAX_VALUES = 100  # of one filter
MAX_TEXT = 2000
Run = TypeVar("Run", bound=Callable[..., Any])

Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT)]
Why = Annotated[str | None, Query(min_length=1, max_length=MAX_TEXT, description="It is logged with your name.")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT)]
BigInt = Annotated[int, Field(ge=1, le=2**63 - 1)]


def _length(given: object) -> timedelta:
    if not isinstance(given, str):
        raise ValueError("Write a number and a unit: 90s, 30m, 24h, 3d or 2w.")  # noqa: TRY004 - pydantic's own
    return duration(given)


# 90s, 30m, 24h, 3d, 2w: as commands take it.
Length = Annotated[
    timedelta,
    BeforeValidator(_length),
    WithJsonSchema({"type": "string", "pattern": f"^{PATTERN}$", "maxLength": 12, "examples": ["48h"]}),
]


class Given(BaseModel):
    """What a caller sends: named fields, and no others."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Because(Given):
    """A decision with a reason, which is logged with the name of the caller."""

    reason: Reason


class Perhaps(Given):
    """A decision whose reason may be left out."""

    reason: Reason | None = None


class Paged(Given):
    """Which page of a list."""

    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of rows.")] = 50
    after: Annotated[
        str | None, Query(max_length=1000, description="The `next` of the page before; none for the first page.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route: what it is called with, and what it runs."""

    method: str
    path: str
    area: str
    authority: Authority
    run: Callable[..., Any]  # takes the transaction first
    status: int = 200
    streams: bool = False  # it answers with events that do not end
    reads: bool = False  # a POST that changes nothing, because its question is long
    also: tuple[Authority, ...] = ()  # that it takes within its transaction
    whole: bool = False  # it is about what belongs to no hub: pauses, breakers, metrics of every table
    secret: bool = False  # its answer is not stored: a request that is sent again gets none
    quick: bool = True  # False: it is one of the few that read for long, of which not many run at once
    check: str | None = None  # the name of the route that tells what it would do: forms ask it first
    refusals: tuple[str, ...] = ()  # codes that its callers should know, in addition to those of every route
    example: Any = None  # of the body

    @property
    def writes(self) -> bool:
        return self.method != "GET" and not self.reads

    @property
    def has_body(self) -> bool:
        return self.method == "POST"

    @property
    def name(self) -> str:
        words = [word for word in self.path.replace("{", "").replace("}", "").split("/") if word and word != "v1"]
        return "_".join([self.method.lower(), *words]).replace("-", "_").replace(":", "_")

    @property
    def summary(self) -> str:
        return self.about.partition("\n")[0].rstrip(".")

    @property
    def about(self) -> str:
        return inspect.cleandoc(self.run.__doc__ or "")


@dataclass(slots=True)
class Area:
    """The routes of one part of the product."""

    name: str
    about: str
    routes: list[Route] = field(default_factory=list)

    def get(self, path: str, authority: Authority = Authority.READER, **more: Any) -> Callable[[Run], Run]:
        return self._route("GET", path, authority, more)

    def post(self, path: str, authority: Authority, **more: Any) -> Callable[[Run], Run]:
        return self._route("POST", path, authority, more)

    def delete(self, path: str, authority: Authority, **more: Any) -> Callable[[Run], Run]:
        return self._route("DELETE", path, authority, more)

    def add(self, routes: Iterable[Route]) -> None:
        self.routes.extend(routes)

    def _route(self, method: str, path: str, authority: Authority, more: dict[str, Any]) -> Callable[[Run], Run]:
        def declared(run: Run) -> Run:
            route = Route(method=method, path=path, area=self.name, authority=authority, run=run, **more)
            self.routes.append(route)
            return run

        return declared


def several(many: Sequence[Any], *, most: int, what: str) -> None:
    """Refuse a set that is empty or too large for one call."""
    if not 1 <= len(many) <= most:
        raise InputRefused(
            "too_many" if many else "nothing_given",
            f"{len(many):,} {what} are given." if many else f"No {what} are given.",
            f"Give 1 to {most:,} in one call.",
            most=most,
        )


__all__ = [
    "MAX_PAGE", "MAX_TEXT", "MAX_VALUES", "Area", "Because", "BigInt", "Given", "Length", "Name", "Paged", "Perhaps",
    "Reason", "Route", "Text", "Transaction", "Why", "several",
]  # fmt: skip
