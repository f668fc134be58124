"""What every section of the policy is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


def wrong_figure(key: str, value: object, allowed: str) -> PydanticCustomError:
    """A figure that is wrong beside another one, in the words of a refusal. The key is within its section."""
    return PydanticCustomError("wrong_figure", "{allowed}", {"key": key, "value": repr(value), "allowed": allowed})


class Section(BaseModel):
    """A part of the policy. Unknown keys are refused: one that is silently ignored is found in the worst moment."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
