"""What a section of the policy is. Each domain declares its own; ``policy.toml`` beside it has the shipped values."""

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

from recoup.database.connection import Transaction


def wrong_figure(key: str, value: object, allowed: str) -> PydanticCustomError:
    """A value that is wrong compared with another one, in the words of a refusal. The key is within its section."""
    return PydanticCustomError("wrong_figure", "{allowed}", {"key": key, "value": repr(value), "allowed": allowed})


class Section(BaseModel):
    """A part of the policy. Unknown keys are refused: one that is silently ignored is found in the worst moment."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Part(Section):
    """A section of the document, with a name of its own there."""

    section: ClassVar[str]
    package: ClassVar[str]  # where policy.toml lies
    decides: ClassVar[tuple[str, ...]] = ()  # values that the database itself decides by, as dotted paths

    @classmethod
    def document(cls) -> str:
        """The shipped values, as TOML."""
        return files(cls.package).joinpath("policy.toml").read_text(encoding="utf-8")

    @classmethod
    def shipped(cls) -> Self:
        """The shipped values."""
        return cls.model_validate(shipped_values(cls))

    def check_in(self, tx: Transaction) -> None:
        """Refuse what these values may not become in this database; by default nothing."""

    def effects(self, _tx: Transaction, _before: Self) -> Iterable[str]:
        """What these values would change of what is there already, in sentences; by default nothing."""
        return ()


@cache
def shipped_values(part: type[Part]) -> dict[str, Any]:
    """The shipped values of a section, as they stand in its file."""
    values: dict[str, Any] = tomllib.loads(part.document())[part.section]
    return values
