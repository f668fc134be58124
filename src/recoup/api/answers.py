"""What routes answer: rows of the library as JSON, and the schema of that.

Each row class (a dataclass or a named tuple) becomes a model with the same fields, so that the OpenAPI document and the
answers cannot differ.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, create_model

from recoup.api import cursors

Row = TypeVar("Row")
HEX = Annotated[str, BeforeValidator(lambda given: given.hex() if isinstance(given, bytes) else given)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Row]):
    """A page of a list, and where the next one begins: null after the last."""

    items: Sequence[Row]
    next: str | None = None


def page(found: Sequence[Row], limit: int, kind: str, key: Callable[[Row], Any]) -> Page[Row]:
    """A page. A full one has a next one, which may be empty."""
    last = cursors.written(kind, key(found[-1])) if len(found) >= limit and found else None
    return Page(items=found, next=last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[Row]):
    """A list that has no further pages."""

    items: Sequence[Row]


class Answer(BaseModel):
    """The base of all models of answers."""

    model_config = ConfigDict(from_attributes=True)


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Reads and writes answers of a type."""
    return TypeAdapter(model(kind))


def written(kind: Any, answer: Any) -> bytes:
    """An answer as JSON."""
    of = adapter(kind)
    return of.dump_json(of.validate_python(answer, from_attributes=True))


@cache
def model(kind: Any) -> Any:
    """The model of a type, row classes within it included."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[(model(inner[0]), *inner[1:])]
    if origin in (Union, types.UnionType):
        return Union[tuple(map(model, inner))]  # noqa: UP007 - of a tuple
    if origin in (Page, Listing):
        return _listing(origin, inner[0])
    if origin is not None and issubclass(origin, Mapping):
        return dict[str, model(inner[1])]  # type: ignore[misc]
    if origin is not None and issubclass(origin, Sequence | set | frozenset):
        return list[model(inner[0])]  # type: ignore[misc]
    if kind is bytes:
        return HEX
    if isinstance(kind, type) and not issubclass(kind, BaseModel):
        if is_dataclass(kind):
            hints = get_type_hints(kind, include_extras=True)
            return _made(kind, {one.name: hints[one.name] for one in fields(kind)})
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return _made(kind, get_type_hints(kind, include_extras=True))
    return kind


def _made(kind: type, hints: Mapping[str, Any]) -> type[BaseModel]:
    given: dict[str, Any] = {name: (model(hint), ...) for name, hint in hints.items()}
    return create_model(title(kind), __base__=Answer, __doc__=(kind.__doc__ or "").partition("\n\n")[0], **given)


def _listing(of: Any, row: Any) -> type[BaseModel]:
    items: Any = list[model(row)]  # type: ignore[misc]
    given: dict[str, Any] = {"items": (items, ...)}
    if of is Page:
        given["next"] = (str | None, ...)
    return create_model(f"{_named(row)}{of.__name__}", __base__=Answer, __doc__=of.__doc__, **given)


def _named(row: Any) -> str:
    made = model(row)
    return made.__name__ if isinstance(made, type) else "Value"


def title(kind: type) -> str:
    """ErrorsListed for recoup.errors.listing.Listed."""
    parts = kind.__module__.split(".")
    where = parts[1] if len(parts) > 2 or parts[0] != "recoup" else ""
    place = "" if where in ("api", "") else where.title()
    return kind.__name__ if kind.__name__.startswith(place.removesuffix("s")) else place + kind.__name__
