"""How a page is declared: a function over a transaction that returns what its template shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, ValidationError

from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, Refusal
from recoup.service import Principal

Context = Mapping[str, Any]
Model = TypeVar("Model", bound=BaseModel)
Run = TypeVar("Run", bound=Callable[..., Context])
MAX_QUERY = 8000  # characters of an address behind the question mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page: where it is, what it reads, and what shows it."""

    path: str
    template: str
    section: str  # of the navigation that it belongs to
    run: Callable[..., Context]  # takes a Seen
    authority: Authority = Authority.READER
    also: tuple[Authority, ...] = ()
    whole: bool = False  # it is about the work of every hub


@dataclass(slots=True)
class Section:
    """Pages of one part of the product, and how the navigation names them."""

    name: str  # errors
    title: str  # Errors
    links: Sequence[tuple[str, str]] = ()  # title and path, in order
    pages: list[Page] = field(default_factory=list)

    def page(self, path: str, template: str, **more: Any) -> Callable[[Run], Run]:
        """Declare a page; ``{name}`` in its path is given to it as text."""

        def declared(run: Run) -> Run:
            self.pages.append(Page(path=path, template=template, section=self.name, run=run, **more))
            return run

        return declared


@dataclass(slots=True, kw_only=True)
class Seen:
    """One request of a page, while it is read."""

    tx: Transaction
    caller: Principal
    path: str
    query: str  # as the address has it
    params: Mapping[str, str]  # of the path
    problem: Refusal | None = None  # what of the address was not usable; the page is shown without it
    given: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.query) > MAX_QUERY:
            raise InputRefused("address_too_long", "The address of this page is too long.", "Use fewer filters.")
        self.given = [(name, value) for name, value in parse_qsl(self.query) if value.strip() and "\0" not in value]

    def value(self, name: str) -> str | None:
        """One value of the address; empty ones count as left out."""
        return next((value for key, value in self.given if key == name), None)

    def asked(self, model: type[Model]) -> Model:
        """The filter of a list, from the address. What is not usable is left out, and the page shows why."""
        values: dict[str, Any] = {}
        for name, about in model.model_fields.items():
            found = [value.strip() for key, value in self.given if key == name]
            if found:
                values[name] = found if _is_list(about.annotation) else found[-1]
        usable = {name: value for name, value in values.items() if self._is_usable(model, name, value)}
        try:
            return model.model_validate(usable)
        except ValidationError as error:  # of values that do not go together
            self.problem = _left_out("filter", error.errors()[0]["msg"])
            return model()

    def _is_usable(self, model: type[BaseModel], name: str, value: Any) -> bool:
        try:
            model.model_validate({name: value})
        except ValidationError as error:
            first = next((one for one in error.errors() if one["loc"][:1] == (name,)), None)
            if first is None:  # others are missing, which is refused where all are validated
                return True
            self.problem = _left_out(name, first["msg"])
            return False
        except Refusal as refusal:
            self.problem = _left_out(name, refusal.happened, refusal.next_step)
            return False
        return True

    def link(self, **changes: str | int | None) -> str:
        """The address of this page with other values; None removes one."""
        kept = [(name, value) for name, value in self.given if name not in changes]
        kept += [(name, str(value)) for name, value in changes.items() if value is not None]
        return f"{self.path}?{urlencode(kept)}" if kept else self.path

    @property
    def here(self) -> str:
        """The address of this page."""
        return f"{self.path}?{self.query}" if self.query else self.path


def _left_out(name: str, why: str, next_step: str = "Correct it.") -> InputRefused:
    return InputRefused("value_unusable", f"{name.replace('_', ' ').capitalize()}: {why} It was left out.", next_step)


def _is_list(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin in (tuple, list):
        return True
    return any(_is_list(one) for one in get_args(annotation))
