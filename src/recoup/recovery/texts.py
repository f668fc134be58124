"""What callers give recovery as JSON: plain, without known secrets, and bounded."""

import json
from typing import Any

from recoup.errors.plain import plain
from recoup.redaction import redacted

MAX_CHARACTERS = 100_000


def json_text(value: Any) -> str:
    """A value as the text of JSON."""
    text = json.dumps(redacted(plain(value), ()), ensure_ascii=True)
    if len(text) > MAX_CHARACTERS:
        return json.dumps({"left_out": f"{len(text):,} characters; the maximum is {MAX_CHARACTERS:,}"})
    return text
