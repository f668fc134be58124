"""What a section of the policy is. Each domain declares its own; ``policy.toml`` next to it has the shipped values."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationInfo, create_model, model_validator
from pydantic_core import PydanticCustomError

from recoup.database.connection import Transaction


def wrong_value(key: str, value: object, allowed: str, *, problem: str | None = None) -> PydanticCustomError:
    """A value that does not fit another one, in the words of a refusal. The key is within its section.

    problem: what is wrong with it, where that is not plain from what is allowed.
    """
    told = {"key": key, "value": repr(value), "allowed": allowed, "problem": problem}
    return PydanticCustomError("wrong_value", "{allowed}", told)


def one_of(given: str, known: Iterable[str]) -> str:
    """What is allowed where one of these names is: the nearest first, if one is near."""
    names = list(known)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    return (f"did you mean {near[0]}? " if near else "") + f"one of {', '.join(names) or 'none: there are none'}"


class Section(BaseModel):
    """A part of the policy. Unknown keys are refused: a key that is silently ignored is found at the worst moment."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Part(Section):
    """A section of the document, with a name of its own there."""

    section: ClassVar[str]
    package: ClassVar[str]  # where policy.toml lies
    decides: ClassVar[tuple[str, ...]] = ()  # values that the database itself decides by, as dotted paths
    kept: ClassVar[tuple[str, ...]] = ()  # keys that a whole document leaves as they are, unless it names them

    @classmethod
    def document(cls) -> str:
        """The shipped values, as TOML."""
        return files(cls.package).joinpath("policy.toml").read_text(encoding="utf-8")

    @classmethod
    def shipped(cls) -> Self:
        """The shipped values."""
        return cls.model_validate(shipped_values(cls))

    @classmethod
    def base(cls, _document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values that apply where this document gives none; by default the shipped ones."""
        return shipped_values(cls)

    def check_with(self, whole: Section) -> None:
        """Refuse what does not fit other sections of a whole document; by default nothing."""

    def check_in(self, tx: Transaction) -> None:
        """Refuse what these values may not become in this database; by default nothing."""

    def effects(self, _tx: Transaction, _before: Self) -> Iterable[str]:
        """What these values would change at once in the data, in sentences; by default nothing."""
        return ()

    def next_steps(self, _tx: Transaction) -> Iterable[str]:
        """What has to be run once these values are active, in sentences; by default nothing."""
        return ()


Parts = tuple[type[Part], ...]


@cache
def shipped_values(part: type[Part]) -> dict[str, Any]:
    """The shipped values of a section, as its file has them."""
    return section_values(part, "policy.toml")


def section_values(part: type[Part], file: str) -> dict[str, Any]:
    """The values of a section in a TOML file of its package."""
    text = files(part.package).joinpath(file).read_text(encoding="utf-8")
    values: dict[str, Any] = tomllib.loads(text)[part.section]
    return values


class _Whole(Section):
    """A whole document."""

    @model_validator(mode="after")
    def _sections_fit(self, info: ValidationInfo) -> Self:
        if info.context is not None and info.context.get("is_new"):
            for name in type(self).model_fields:
                getattr(self, name).check_with(self)
        return self


@cache
def model(parts: Parts) -> type[Section]:
    """The whole document as one model."""
    fields: dict[str, Any] = {part.section: (part, ...) for part in parts}
    return create_model("Policy", __base__=_Whole, **fields)
