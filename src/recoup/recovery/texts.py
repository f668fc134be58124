"""What callers give recovery as JSON: plain, without known secrets, and bounded."""

import json
from typing import Any

from recoup.errors.plain import plain
from recoup.redaction import redacted

MAX_CHARACTERS = 100_000
MAX_USABLE = 50_000


def json_text(value: Any) -> str:
    """A value as the text of JSON."""
    text = json.dumps(redacted(plain(value), ()), ensure_ascii=True)
    if len(text) > MAX_CHARACTERS:
        return json.dumps({"left_out": f"{len(text):,} characters; the maximum is {MAX_CHARACTERS:,}"})
    return text


def usable_json(value: Any) -> str | None:
    """A value that is used as it is given, as the text of JSON; None: it is no JSON that PostgreSQL can store."""
    try:
        text = json.dumps(value, allow_nan=False)
        json.dumps(value, ensure_ascii=False).encode()  # no half of a surrogate pair
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= MAX_USABLE and "\\u0000" not in text else None
