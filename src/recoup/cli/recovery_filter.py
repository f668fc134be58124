"""The filter options of commands about candidates."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from cyclopts import Parameter

from recoup.recovery.review import Filter


def enum_word(option: str) -> Parameter:
    """An option whose values are the words of an enumeration, in any case."""
    return Parameter(name=f"--{option}", name_transform=lambda word: word.lower().replace("-", "_"))


def _one(description: str) -> Parameter:
    return Parameter(show_default=False, help=description)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOptions:
    """Which candidates."""

    action: Annotated[str | None, _one("With this action, such as retry_exponential.")] = None
    source: Annotated[str | None, _one("Of this source, such as outreach.dol_errors.")] = None
    incident: Annotated[UUID | None, _one("Of this incident.")] = None
    signature: Annotated[str | None, _one("Of this signature: the same failure, whatever the values in it.")] = None

    def filter(self) -> Filter:
        incident = None if self.incident is None else str(self.incident)
        return Filter(action=self.action, source=self.source, incident=incident, signature=self.signature)


ANY = CandidateOptions()
