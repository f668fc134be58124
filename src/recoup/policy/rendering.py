"""A policy as TOML, with the comments of the shipped documents: what people read, edit and keep in a repository."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from recoup.policy.document import completed, default_document, known_only
from recoup.policy.section import Parts, model

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"^\[(.+)\]$")
_KEY = re.compile(r"^([A-Za-z0-9_-]+) = ")


def rendered(figures: Mapping[str, Any], parts: Parts, *, title: str = "") -> str:
    """The whole policy as one document. Applied with ``replace``, it gives the same values again."""
    values = completed(known_only(figures, model(parts)), parts, is_new=False)
    shown = "".join(c if c.isprintable() else " " for c in title)
    return "\n".join([*([f"# {shown}"] if shown else []), *_lines(values, (), _comments(parts))]) + "\n"


def assignment(path: tuple[str, ...], value: Any) -> str:
    """A document of one line that says one value."""
    return f"{_dotted(path)} = {_value(value)}\n"


def _lines(values: Mapping[str, Any], path: tuple[str, ...], comments: Mapping[str, list[str]]) -> Iterator[str]:
    plain = {key: one for key, one in values.items() if one is not None and not isinstance(one, Mapping)}
    if path and (plain or not values):
        yield from ("", *comments.get(".".join(path), ()), f"[{_dotted(path)}]")
    for key, one in plain.items():
        yield from comments.get(".".join((*path, key)), ())
        yield f"{_dotted((key,))} = {_value(one)}"
    for key, one in values.items():
        if isinstance(one, Mapping) and one:
            yield from _lines(one, (*path, key), comments)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_dotted((key,))} = {_value(one)}" for key, one in value.items() if one is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(name if _BARE.fullmatch(name) else _value(name) for name in path)


def _comments(parts: Parts) -> dict[str, list[str]]:
    """The comment above each key and each header of the shipped documents."""
    found: dict[str, list[str]] = {}
    section, above = "", []
    for line in default_document(parts).splitlines():
        if line.startswith("#"):
            above.append(line)
            continue
        if header := _HEADER.match(line):
            section = header[1].replace('"', "")
            found[section] = above
        elif key := _KEY.match(line):
            found[f"{section}.{key[1]}"] = above
        above = []
    return {key: lines for key, lines in found.items() if lines}
