"""One rule for the names and texts that come in, whichever way they come."""

import re

# Control characters, which a terminal would obey; marks that turn the direction of reading, so that one name looks like
# another; half a character. Tabs and line breaks are white space, and may be in a quoted field.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def unprintable(text: str) -> str | None:
    """What is not to be printed of a text, in a sentence; or None."""
    found = None if text.isprintable() else _UNPRINTABLE.search(text)
    if found is None:
        return None
    return f"Character {found.start() + 1} is U+{ord(found[0]):04X}, which is not printable."
