"""Input, results and messages of runs as they are stored: JSON and text without secrets, of limited size."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from recoup.errors.inputs import shown
from recoup.errors.plain import plain
from recoup.redaction import in_words, redacted
from recoup.refusals import InputRefused

MAX_JSON = 1_000_000  # characters of an input or a result
MAX_MESSAGE = 10_000  # characters of a message or a note
MAX_NAME = 200  # characters of a kind, a source or an owner
_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode


def name(what: str, given: object) -> str:
    """A kind, a source or an owner; or a refusal."""
    if isinstance(given, str) and 0 < len(given) <= MAX_NAME and given.isprintable() and in_words(given) == given:
        return given
    raise InputRefused(
        f"run_{what}",
        f"{shown(given)} is not a usable {what} of a run.",
        f"Give 1 to {MAX_NAME} printable characters, such as nightly-import.",
    )


def run_id(given: object) -> UUID:
    """The id of a run; or a refusal."""
    if type(given) is UUID:
        return given
    try:
        return UUID(str(given))
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
        raise InputRefused(
            "run_id", f"{shown(given)} is not the id of a run.", "Ids are in: recoup runs list"
        ) from None


def message(given: object) -> str:
    """A message, redacted before it is cut: half a secret is not recognized."""
    text = in_words(given if isinstance(given, str) else plain(given))
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} … [{len(text):,} characters]"


def input_(given: Mapping[str, Any] | None, keys: Sequence[str]) -> str | None:
    """An input as JSON. One that is too large is refused: a retry could not be given a part of it."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InputRefused("run_input", f"{shown(given)} is no JSON object.", 'Give a mapping, such as {"day": 1}.')
    text = _text(given, keys)
    if len(text) > MAX_JSON:
        raise InputRefused(
            "run_input_too_large",
            f"The input has {len(text):,} characters; the maximum is {MAX_JSON:,}.",
            "Store it elsewhere, and give a reference to it.",
        )
    return text


def result(given: object, keys: Sequence[str]) -> str | None:
    """A result as JSON; a note instead of one that is too large."""
    if given is None:
        return None
    text = _text(given, keys)
    if len(text) > MAX_JSON:
        return _json({"left_out": f"a result of {len(text):,} characters; the maximum is {MAX_JSON:,}"})
    return text


def _text(given: object, keys: Sequence[str]) -> str:
    try:
        return _json(redacted(given, keys))
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
        return _json(redacted(plain(given), keys))
