"""The Python reference: signatures and docstrings of what the library offers."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import recoup
from recoup import partitions
from recoup.client import (
    Alerts,
    Client,
    Deliveries,
    Errors,
    Gate,
    Partitions,
    Policies,
    Recovery,
    Runs,
    Subscription,
    aio,
)
from recoup.errors import Blocking, Claimed, Cleared, Ended, Failed, NewError, Recorded, Succeeded

WIDTH = 100
HEADER = """\
# Python

{written}
`import recoup` is quick: the rest is loaded when it is first used. Every verb below runs under the authority that owns
it, in a transaction of its own. Three arguments are the same everywhere:

- `tx`: your own psycopg connection, sync or async (for `db.aio`). The call becomes a part of your transaction; your
  next statement has your own role and settings again. Your login must be a member of the authority's role
  ([how](../howto/ask-before-you-promote.md)).
- `actor`: who acts, as the log names them. Default: `RECOUP_ACTOR`.
- `reason`: why, for the log.

What is refused is a `recoup.Refusal` with `code`, `happened`, `next_step` and `facts` ([all of them](refusals.md)). The
library writes nothing to standard output; it logs through `logging`, as `recoup`.
"""
PARTS: tuple[tuple[str, type], ...] = (
    ("db", Client), ("db.errors", Errors), ("db.gate", Gate), ("db.recovery", Recovery), ("db.runs", Runs),
    ("db.partitions", Partitions), ("db.deliveries", Deliveries), ("db.alerts", Alerts), ("db.policy", Policies),
    ("subscription", Subscription),
)  # fmt: skip
INHERITED = ("transaction", "one_statement", "close")  # of the client
RECORDS = (NewError, Recorded, Claimed, Succeeded, Failed, Ended, Cleared, Blocking)


def page(written: str) -> str:
    return "\n".join([HEADER.format(written=written), *_functions(), *_parts(), *_twins(), *_records(), *_names()])


def _functions() -> Iterator[str]:
    yield "## recoup\n"
    yield from _callable("recoup.connect", recoup.connect)
    yield from _callable("recoup.failures", recoup.failures)
    yield from _callable("recoup.partitions.select", partitions.select)


def _parts() -> Iterator[str]:
    for name, kind in PARTS:
        yield f"## {name}\n\n{_prose(inspect.getdoc(kind) or '')}\n"
        inherited = INHERITED if kind is Client else ()
        own = [item for part in kind.__mro__ if part is kind or _is_ours(part) for item in vars(part).items()]
        for verb, value in [*own, *((verb, getattr(kind, verb)) for verb in inherited)]:
            if inspect.isfunction(value) and not verb.startswith("_"):
                yield from _callable(f"{name}.{verb}", value)


def _is_ours(part: type) -> bool:
    """Whether a class is a part of the library that another one is made of."""
    return part.__module__.startswith("recoup.client.")


def _twins() -> Iterator[str]:
    yield "## db.aio\n\nThe same verbs, to be awaited. Each runs on a thread; with `tx=` an `AsyncConnection` its"
    yield "statements run on that connection, on its event loop.\n"
    for part, kind in (
        ("errors", aio.AsyncErrors), ("gate", aio.AsyncGate), ("recovery", aio.AsyncRecovery),
        ("deliveries", aio.AsyncDeliveries), ("alerts", aio.AsyncAlerts),
    ):  # fmt: skip
        verbs = (verb for verb in vars(kind) if not verb.startswith("_"))
        yield f"- `db.aio.{part}`: {', '.join(f'`{verb}`' for verb in verbs)}"
    yield ""


def _records() -> Iterator[str]:
    yield "## Records\n"
    for kind in RECORDS:
        fields: dict[str, Any] = {field.name: field.type for field in dataclasses.fields(kind)} if (
            dataclasses.is_dataclass(kind)
        ) else inspect.get_annotations(kind)  # fmt: skip
        shown = ", ".join(f"`{name}: {_type(annotation)}`" for name, annotation in fields.items())
        yield f"**{kind.__name__}** · {_prose(' '.join((inspect.getdoc(kind) or '').split()))}\n\n{shown}\n"


def _names() -> Iterator[str]:
    yield "## All names\n\n`from recoup import …`: " + ", ".join(f"`{name}`" for name in recoup.__all__)


def _callable(name: str, value: Any) -> Iterator[str]:
    signature = inspect.signature(value)
    given = [one for one in signature.parameters.values() if one.name != "self"]
    result = "" if inspect.isclass(value) else f" -> {_type(signature.return_annotation)}"
    yield f"### {name}\n\n```text\n{_written(name, given, result)}\n```\n\n{_prose(inspect.getdoc(value) or '')}\n"


def _written(name: str, given: list[inspect.Parameter], result: str) -> str:
    parts = []
    for one in given:
        if one.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        stars = "**" if one.kind is inspect.Parameter.VAR_KEYWORD else ""
        default = "" if one.default is inspect.Parameter.empty else f" = {_default(one.default)}"
        parts.append(f"{stars}{one.name}: {_type(one.annotation)}{default}")
    line = f"{name}({', '.join(parts)}){result}"
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_long_words=False))


def _default(value: object) -> str:
    return re.sub(r"^datetime\.", "", repr(value))


def _type(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text if isinstance(annotation, str) else _whole(annotation))
    return text.replace("Tx", "Connection | None").replace("Who", "Actor | str | None")


def _whole(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _prose(doc: str) -> str:
    """Arguments, `name: what it is`, as a list."""
    lines = []
    for block in doc.split("\n\n"):
        if re.match(r"[a-z_, ]+: ", block):
            text = " ".join(block.split())
            named = re.sub(r"(?:^|(?<=\. ))([a-z_]+(?:, [a-z_]+)*): ", r"\n- `\1`: ", text)
            lines.append(named.strip())
        else:
            lines.append(block)
    return re.sub(r":class:`~?(?:\w+\.)*(\w+)`", r"`\1`", "\n\n".join(lines)).replace("``", "`")
