"""JSON bodies: the codes and messages that they tell."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from recoup.signatures.v2.plain import LETTERS, plain

MAX_BODY = 100_000  # characters: a body is read whole, up to this length
MAX_BEFORE_BODY = 200
MAX_SENTENCES = 8
MAX_DEPTH = 40  # of brackets within brackets: how deep Python itself can read depends on who asks


class Body(NamedTuple):
    """What a body says; where it says nothing, the numbers or the keys in it."""

    sentences: tuple[str, ...]
    codes: tuple[str, ...]


_MESSAGE_KEYS = frozenset(
    {
        "code", "type", "reason", "status", "error", "error_code", "errorcode", "error_type", "errortype", "title",
        "__type", "errorname", "domain", "message", "msg", "detail", "details", "description", "error_description",
        "errormessage", "error_message", "errmsg", "errors", "fault", "cause", "statuscode", "status_code",
    }
)  # fmt: skip
_BRACKET = re.compile(r"[\[{]|[\]}]")


def body(text: str) -> Body | None:
    """The codes and messages of a body. None if it is none, or says nothing."""
    if len(text) > MAX_BODY:
        return None
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return None
    try:  # numbers stay text: how long a number Python reads is a setting
        read = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    found = tuple(dict.fromkeys(islice(_messages(read, is_message=False), MAX_SENTENCES)))
    if not found and isinstance(read, dict):
        found = tuple(islice((name for name in sorted(read)), MAX_SENTENCES))
    if not found:
        return None
    sentences = tuple(plain(one) for one in found if LETTERS.search(one))
    # Where a body says nothing else, its numbers are all that there is.
    return Body(sentences, () if sentences else found)


def body_within(text: str) -> Body | None:
    """A body after what says too little: HTTP 500: {"message": …}. After a sentence its fields are values."""
    begin = text.find('{"', 0, MAX_BEFORE_BODY)
    found = body(text[begin:]) if begin > 0 and len(LETTERS.findall(text[:begin])) < 3 else None
    return found and found._replace(sentences=(text[:begin], *found.sentences))


def _messages(body: Any, *, is_message: bool) -> Iterator[str]:
    """The texts of a body under keys that hold messages of errors. Of a list, only the first item is read."""
    if isinstance(body, str):
        if is_message:
            yield body
    elif isinstance(body, list):
        for one in body[:1]:
            yield from _messages(one, is_message=is_message)
    elif isinstance(body, dict):
        for key, value in sorted(body.items()):
            name = key.lower()
            if name == "__type" and isinstance(value, str):
                yield value.rpartition("#")[2]
            else:
                yield from _messages(value, is_message=name in _MESSAGE_KEYS)
