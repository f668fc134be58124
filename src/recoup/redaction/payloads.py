"""Redaction of payloads, messages and commands: secrets are replaced before anything is stored.

The value of a secret name is replaced, in an object, in a pair or after an option; so are secrets found in texts. A
failure must always be recorded: so nothing here raises or takes unbounded time, whatever a payload holds.
"""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recoup.redaction.known import MAX_KEY, Hint, HintTable, document, hints, names, words_of
from recoup.redaction.texts import REDACTED, is_hinted, without_secrets

MAX_DEPTH = 50  # deeper values are omitted: nobody reads them, and recursion must end
MAX_VALUES = 100_000  # of one payload; the rest is omitted. A payload may contain itself
MAX_DIGITS = 1_000  # a longer number is stored as its length
NAME_LEAST = 19  # minimum length of a key that may itself be a secret
_PAIR = 2
# TOKEN=x, --token=x, X-Api-Key: x, --header=X-Api-Key: x
_ARGUMENT = re.compile(r"((?:--?[\w-]{1,60}=)?([\w.$-]{1,100})(?:=|:(?!//)\s{0,5})).+", re.DOTALL)


def redacted(payload: Any, own_keys: Sequence[str]) -> Any:
    """A payload as JSON, without secrets. Names that contain one of the own keys count as secret too."""
    hint = hints(tuple(own_keys))
    texts: list[str] = []

    def kept(value: object) -> str:
        texts.append(_plain(value))
        return texts[-1]

    plain = _Walk(hint, kept).value(payload, MAX_DEPTH)
    # One test for all texts together decides whether to read them; few need it. Names were checked before.
    return _Walk(hint, in_words).value(plain, MAX_DEPTH) if is_hinted("\n".join(texts)) else plain


def in_words(value: object) -> str:
    """Any value as a text that the database can store, without secrets."""
    return without_secrets(_plain(value))


def redacted_arguments(command: Sequence[str], own_keys: Sequence[str]) -> list[str]:
    """A command without secrets: ``--password x``, ``-H "Api-Key: x"``, ``TOKEN=x``, ``-u user:x``, URLs."""
    hint = hints(tuple(own_keys))
    program = os.path.basename(command[0]) if command else ""
    plain: list[str] = []
    before = ""
    for argument in command:
        plain.append(_argument(argument, before, program, hint))
        before = argument if plain[-1] != REDACTED else ""
    return plain


def _argument(argument: str, before: str, program: str, hint: HintTable) -> str:
    programs = document()["programs"]
    joined = programs["joined"].get(program)
    if before.startswith("-") and (
        (_is_secret(hint[before]) and "=" not in before) or before == programs["next"].get(program)
    ):
        return REDACTED
    if joined and argument.startswith(joined) and argument != joined:
        return f"{joined}{REDACTED}"
    if before in ("-u", "--user", "--proxy-user"):
        return in_words(f"-u {argument}").removeprefix("-u ")
    named = _ARGUMENT.fullmatch(argument)
    return f"{named[1]}{REDACTED}" if named and _is_secret(hint[named[2]]) else in_words(argument)


def _is_secret(hint: Hint) -> bool:
    return hint in (Hint.TEXT, Hint.ALL)


class _Walk:
    """One bounded walk through a payload."""

    def __init__(self, hint: HintTable, text: Callable[[object], str]) -> None:
        self.hint = hint
        self.text = text
        self.left = MAX_VALUES

    def value(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if depth == 0 or self.left < 0:
            return "[too deep]" if depth == 0 else "[too much]"
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        if isinstance(value, list | tuple | set | frozenset):
            return self.several(list(value), depth)
        return _number(value) if isinstance(value, int | float) else self.text(value)

    def several(self, values: list[Any], depth: int) -> list[Any]:
        if _is_pair(values) and _joined(values[0]) in names().headers:
            return self.pair(values, depth)
        if any(type(one) is str and one.startswith("--") for one in values):
            values = self.command(values)
        return [
            self.pair(one, depth - 1) if isinstance(one, list | tuple) and _is_pair(one) else self.value(one, depth - 1)
            for one in values[: max(self.left, 0) + 1]
        ]

    def command(self, values: list[Any]) -> list[Any]:
        """Arguments of a program, as subprocess has them: the one after --password is secret."""
        before = ["", *values]
        return [
            REDACTED if type(name) is str and type(one) is str and name.startswith("--")
            and not one.startswith("-") and _is_secret(self.hint[name]) else one
            for name, one in zip(before, values, strict=False)
        ]  # fmt: skip

    def pair(self, values: Sequence[Any], depth: int) -> list[Any]:
        """A name and its value, as a list of headers or parameters has them."""
        self.left -= 1
        name = self.text(_decoded(values[0]))
        return [name, self.under(self.hint[name], values[1], depth)]

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        other = Hint.NOTHING  # what the value of "name" implies about that of "value"
        values: list[str] = []
        for key, one in value.items():
            is_short = type(key) is str and len(key) < NAME_LEAST and key.isidentifier()
            name = key if is_short else self.text(key)
            hint = self.hint[name]
            if hint == Hint.NAME and isinstance(one, str):
                other = max(other, self.hint[_plain(one)])
            elif hint == Hint.VALUE:
                values.append(name)
            plain[name] = self.under(hint, one, depth)
            if self.left < 0:
                break
        if values and _is_secret(other):
            plain |= dict.fromkeys(values, REDACTED)
        return plain

    def under(self, hint: Hint, value: Any, depth: int) -> Any:
        """What is stored of a value whose name implies this."""
        is_number = value is None or isinstance(value, int | float)
        if hint == Hint.ALL or (hint == Hint.TEXT and not is_number):
            return REDACTED
        return self.value(value, depth - 1)


def _plain(value: object) -> str:
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - a __str__ may raise anything
        return f"[{type(value).__name__} that cannot be printed]"
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_pair(values: Sequence[Any]) -> bool:
    return len(values) == _PAIR and isinstance(values[0], str | bytes)


def _decoded(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "replace")


def _joined(name: str | bytes) -> str:
    return "".join(words_of(_decoded(name)[:MAX_KEY]))


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    bits = int(value).bit_length()
    return int(value) if bits <= MAX_DIGITS * 3 else f"[a number of {bits} bits]"
