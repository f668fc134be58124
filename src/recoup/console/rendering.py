"""Templates, and how values are shown in them.

Everything from outside is text: escaped, cut to a length, and without characters that a reader cannot see.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from recoup import formatting
from recoup.console import differences, drawing, files

MAX_TEXT = 2000  # characters of one value on a page
MAX_LINE = 200  # of one in a table
# Statuses by what they ask of a reader. The word is always there: the colour only repeats it.
TONES = {
    "good": ("RESOLVED", "AUTHORIZED", "SUCCEEDED", "REENTER_SUCCEEDED", "recovered", "succeeded", "success",
             "accepted", "passed", "active", "ok", "sent", "DONE", "done", "recovered", "closed", "published",
             "PASSED", "PASS", "AUTH", "REENTER", "MINTED", "delivered", "running"),
    "bad": ("EXHAUSTED", "FAILED", "CRASHED", "failed", "crashed", "rejected", "unrecovered", "stuck", "dead", "firing",
            "error", "lost", "terminal", "STOPPED", "breached", "open_breaker", "ESCALATED",
            "FAIL", "HIGH", "CRITICAL"),
    "wait": ("PARKED", "PENDING", "pending", "approved", "executing", "RETRY_PENDING", "warning", "open", "queued",
             "PAUSED", "paused", "OPEN", "held", "no_data", "half_open", "waiting", "planning", "above",
             "left", "WARNING", "PAUSE", "replaced"),
}  # fmt: skip
TONE_OF = {word: tone for tone, words in TONES.items() for word in words}


@cache
def environment() -> Environment:
    """The templates. A name that a page does not have is an error, not an empty place."""
    made = Environment(
        loader=PackageLoader("recoup.console", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters |= {
        "text": text, "line": line, "number": number, "share": share, "time": time, "ago": ago, "until": until,
        "span": formatting.duration, "tone": tone, "pretty": pretty, "compact": compact, "segment": segment,
        "plural": formatting.plural, "difference": lambda changes: list(differences.lines(changes)),
    }  # fmt: skip
    made.globals |= {"static": files.path_of, "draw": drawing}
    return made


def rendered(template: str, context: Mapping[str, Any]) -> str:
    """A page."""
    return environment().get_template(template).render(context)


def text(value: object, most: int = MAX_TEXT) -> str:
    """A text of any length and content, over several lines."""
    return _visible(str(value), most, keep="\n\t")


def line(value: object, most: int = MAX_LINE) -> str:
    """A text in one line; a dash where there is none."""
    return "–" if value is None or value == "" else _visible(" ".join(str(value)[: 4 * most].split()), most, keep="")


def _visible(value: str, most: int, *, keep: str) -> str:
    """Characters that print, others as their code: control characters, and marks that turn the direction of reading."""
    cut = value[:most]
    shown = cut if cut.isprintable() else "".join(_shown(char, keep) for char in cut)
    return shown if len(value) <= most else f"{shown}… ({formatting.plural(len(value), 'character')})"


def _shown(char: str, keep: str) -> str:
    if char.isprintable() or char in keep:
        return char
    return f"‹U+{ord(char):04X}›"


def number(value: float | None) -> str:
    """A number with separators; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def share(value: float | None) -> str:
    """A share as per cent."""
    return "–" if value is None else f"{100 * value:.1f} %"


def time(value: datetime | date | None) -> Markup:
    """A time in UTC, as readers and programs read it."""
    if value is None:
        return Markup("–")
    if not isinstance(value, datetime):
        return escape(value.isoformat())
    at = value.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), formatting.timestamp(at))


def ago(value: datetime | None, now: datetime) -> Markup:
    """How long ago something was, with the time itself at hand."""
    return _relative(value, now, "{} ago", "in {}")


def until(value: datetime | None, now: datetime) -> Markup:
    """How long until something is due, or since when it is overdue."""
    return _relative(value, now, "{} overdue", "in {}")


def _relative(value: datetime | None, now: datetime, past: str, future: str) -> Markup:
    if value is None:
        return Markup("–")
    length = now - value
    if abs(length) < timedelta(seconds=1):
        words = "now"
    else:
        words = (past if length > timedelta(0) else future).format(formatting.duration(abs(length)))
    at = value.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at.isoformat(), formatting.timestamp(at), words)


def tone(status: object) -> str:
    """What a status asks of a reader: good, bad, wait or plain."""
    return TONE_OF.get(str(status), "plain")


def segment(value: object) -> str:
    """A value as a part of a path."""
    return quote(str(value), safe="")


def compact(value: object, most: int = 1000) -> str:
    """Data as JSON in one line."""
    return line(json.dumps(value, default=str, ensure_ascii=False), most)


def pretty(value: object, most: int = 20_000) -> str:
    """Data as indented JSON."""
    return text(json.dumps(value, indent=2, default=str, ensure_ascii=False), most)
