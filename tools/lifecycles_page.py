"""Lifecycles for people: tables and Mermaid diagrams, from the same declaration the guard goes by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from recoup.lifecycles.declaration import Birth, Exit, Lifecycle, Move

T = TypeVar("T")

HEADER = """\
# Lifecycles

Who may give a row which status. The database refuses what is not listed here, whoever asks, the owner and a superuser
included; each authority is a database role called `recoup_<authority>`.

Written by `make docs` from the declarations that `recoup migrate` gives to the guard; a test notices when they differ.
"""


def page(lifecycles: Iterable[Lifecycle]) -> str:
    """The whole page, in Markdown."""
    return "\n".join([HEADER, *(section(life) for life in lifecycles)])


def section(life: Lifecycle) -> str:
    """One lifecycle."""
    return "\n".join(_lines(life)) + "\n"


def _lines(life: Lifecycle) -> Iterator[str]:
    yield f"## `{life.table}`"
    yield ""
    yield life.description
    yield ""
    yield from _diagram(life)
    yield ""
    yield "| step | from | to | by | what it means |"
    yield "|---|---|---|---|---|"
    for step in life.steps:
        match step:
            case Birth():
                needs = f" (needs {', '.join(step.requires)})" if step.requires else ""
                yield f"| birth | – | {step.status} | {step.authority} | {step.description}{needs}{_hands(step.via)} |"
            case Move():
                counts = f" ({life.counter} rises by exactly one)" if step.counts else ""
                meaning = f"{step.description}{counts}{_hands(step.via)}"
                yield f"| move | {step.source} | {step.target} | {step.authority} | {meaning} |"
            case Exit():
                yield f"| exit | {step.status} | – | {step.authority} | {step.description} |"
    yield ""
    yield f"- Key: {_code(life.key)}. It never changes."
    if life.final:
        yield f"- Final, with no way out: {', '.join(life.final)}."
    if not life.exits:
        yield "- No exit: rows are never deleted."
    for words, columns in (
        ("Never change after birth", life.frozen),
        ("Set once", life.once),
        ("Never fall", life.rising),
    ):
        if columns:
            yield f"- {words}: {_code(columns)}."


def _hands(through: tuple[str, ...]) -> str:
    return f"; never by hand, only through `{'`, `'.join(through)}`" if through else ""


def _diagram(life: Lifecycle) -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    for status, who in _merged((birth.status, birth.authority) for birth in life.births):
        yield f"    [*] --> {status}: {who}"
    for (source, target), who in _merged(((move.source, move.target), move.authority) for move in life.moves):
        yield f"    {source} --> {target}: {who}"
    for status, who in _merged((leaving.status, leaving.authority) for leaving in life.exits):
        yield f"    {status} --> [*]: {who}"
    yield "```"


def _merged(steps: Iterable[tuple[T, str]]) -> list[tuple[T, str]]:
    """Authorities that share a step share an arrow."""
    arrows: dict[T, list[str]] = {}
    for step, who in steps:
        arrows.setdefault(step, []).append(str(who))
    return [(step, ", ".join(who)) for step, who in arrows.items()]


def _code(columns: Iterable[str]) -> str:
    return ", ".join(f"`{column}`" for column in columns)
