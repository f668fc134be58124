"""Opaque cursors: where the next page of a list begins. Callers pass them back as they are."""

from __future__ import annotations

import base64
import binascii
from typing import Any, TypeVar
from uuid import UUID

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from recoup.refusals import InputRefused

Value = TypeVar("Value")


def written(kind: str, value: Any) -> str:
    """A cursor of a kind of list, which starts behind this value."""
    return base64.urlsafe_b64encode(to_json([kind, value])).decode().rstrip("=")


def read(kind: str, text: str | None, of: type[Value]) -> Value | None:
    """The value of a cursor. Refused when it is not one of this kind of list."""
    if text is None:
        return None
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        of_kind, value = from_json(raw, allow_inf_nan=False)  # refuses half a surrogate, which no text has
        if of_kind != kind:
            raise ValueError
        return TypeAdapter(of).validate_python(value, strict=of not in (UUID,) and isinstance(of, type))
    except (ValueError, TypeError, binascii.Error, ValidationError, RecursionError):
        raise unusable(text) from None


def unusable(text: str) -> InputRefused:
    return InputRefused(
        "cursor_unusable",
        f"{text[:50]!r} is not a cursor of this list.",
        "Pass the `next` of the page before as it is, or leave it out for the first page.",
    )


def read_id(kind: str, text: str | None) -> UUID | None:
    return read(kind, text, UUID)


def read_number(kind: str, text: str | None) -> int | None:
    found = read(kind, text, int)
    if text is not None and found is not None and not 0 <= found < 2**63:
        raise unusable(text)
    return found
