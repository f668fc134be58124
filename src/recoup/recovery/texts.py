"""What callers give recovery as JSON: plain, without known secrets, and bounded."""

import json
import re
from collections.abc import Mapping
from typing import Any

from recoup.errors.plain import plain
from recoup.redaction import REDACTED, redacted
from recoup.refusals import InputRefused

MAX_CHARACTERS = 100_000
MAX_USABLE = 50_000
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
LEFT_OUT = "left_out"  # what is stored instead of what is too long


def json_text(value: Any) -> str:
    """A value as the text of JSON."""
    text = json.dumps(redacted(plain(value), ()), ensure_ascii=True)
    if len(text) > MAX_CHARACTERS:
        return json.dumps({LEFT_OUT: f"{len(text):,} characters; the maximum is {MAX_CHARACTERS:,}"})
    return text


def is_whole(stored: Any) -> bool:
    """Whether nothing was taken out of a value when it was stored, so that it can be restored as it was."""
    is_left_out = isinstance(stored, dict) and stored.keys() == {LEFT_OUT}
    return not is_left_out and REDACTED not in json.dumps(stored)


def usable_json(value: Any) -> str | None:
    """A value that is used as it is given, as the text of JSON; None: it is no JSON that PostgreSQL can store."""
    try:
        text = json.dumps(value, allow_nan=False)
        json.dumps(value, ensure_ascii=False).encode()  # no half of a surrogate pair
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= MAX_USABLE and "\\u0000" not in text else None


def require_usable(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that PostgreSQL cannot store, or with a known secret: a candidate is kept for good."""
    if usable_json(parameters) is None:
        raise InputRefused(
            "parameters_unusable",
            "The parameters are not JSON, are too long, or hold a NUL.",
            f"Give what JSON has, and at most {MAX_USABLE:,} characters.",
        )
    key = parameters.get("key")
    if isinstance(key, str) and "value" in parameters:
        require_no_secret(key, parameters["value"])
    for name, value in parameters.items():
        require_no_secret(name, value)


def require_no_secret(name: str, value: Any) -> None:
    """Refuse a value that is a secret by its name or its form. It is not redacted: programs use it as it is."""
    if looks_secret(name, value):
        raise InputRefused(
            "value_secret",
            f"The value of {name} looks like a secret. It would be kept for good, and everybody who may read sees it.",
            f"Store the place of the secret instead, under a name that says so: {name}_file, or {name}_env",
            name=name,
        )


def looks_secret(name: str, value: Any) -> bool:
    """Whether a value is a secret by its name or its form; the name of an environment variable is none."""
    if value is None or (name.endswith("_env") and isinstance(value, str) and VARIABLE.fullmatch(value)):
        return False
    given = {name: value}
    return json.dumps(redacted(given, ())).count(REDACTED) > json.dumps(given).count(REDACTED)
