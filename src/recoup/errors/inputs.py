"""Input of a caller, as it is stored; or a refusal that names it, before anything is sent."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

from recoup.refusals import InputRefused

Word = TypeVar("Word", bound=StrEnum)


def entity(given: object) -> UUID | None:
    """An entity's id: a UUID, or its text in any form."""
    if given is None or type(given) is UUID:
        return given
    try:
        return UUID(str(given))
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
        raise InputRefused("entity_unreadable", f"{shown(given)} is no UUID.", "Give its outreach_id.") from None


def moment(given: object) -> datetime:
    """A time in the past, or the text of one as in ISO 8601; in UTC unless it names a zone."""
    try:
        found = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
        found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        found.astimezone(UTC)
    except Exception:  # noqa: BLE001 - whatever its author made of it
        next_step = "Write it as 2026-11-15T22:57:01Z."
        raise InputRefused("time_unreadable", f"{shown(given)} is no time.", next_step) from None
    return found


def word(words: type[Word], given: object) -> Word | None:
    """A member of an enumeration, from its text in upper or lower case."""
    if given is None or type(given) is words:
        return given
    try:
        return words(str(given).upper())
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
        kind = words.__name__.lower()
        happened = f"{shown(given)} is no {kind}."
        raise InputRefused(f"{kind}_unknown", happened, f"Use one of: {', '.join(words)}.") from None


def shown(given: object) -> str:
    """A value as a refusal prints it."""
    try:
        return repr(given if isinstance(given, str) and len(given) <= 50 else str(given)[:50])
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
        return f"a {type(given).__name__} that cannot be printed"
