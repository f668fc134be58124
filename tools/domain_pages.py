"""A domain for people: what it has, from its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recoup.domain import Domain
from recoup.lifecycles.declaration import Queue
from recoup.policy.document import flattened

HEADER = """\
# Domains

What each domain brings. Written by `make docs` from their manifests (`manifest.py` in each folder; the platform's is
`recoup/platform.py`); a test notices when they differ. Lifecycles in full: [lifecycles](../lifecycles.md).
"""


def pages(domains: Sequence[Domain]) -> str:
    """All of them, in Markdown."""
    return "\n".join([HEADER, *(page(domain) for domain in domains)])


def page(domain: Domain) -> str:
    return "\n".join(_lines(domain)) + "\n"


def _lines(domain: Domain) -> Iterator[str]:
    yield f"## {domain.name}\n\n{domain.description} Release {domain.release}, epoch {domain.epoch}.\n"
    if domain.commands:
        yield from _table("command", ((f"`recoup {c.name}`", c.help) for c in domain.commands))
    yield from _table("table", ((f"`{life.table}`", life.description) for life in domain.lifecycles))
    yield from _table("log", ((f"`{log.table}`", _sealed(log.canon)) for log in domain.logs))
    queues = [(life.table, life.queue) for life in domain.lifecycles if life.queue is not None]
    yield from _table("queue", [(f"`{queue.table}`", _claimed(table, queue)) for table, queue in queues])
    yield from _table(
        "duty", ((f"`{duty.name}`", f"{duty.description} (as {duty.authority})") for duty in domain.duties)
    )
    verbs = ((f"`{verb.name}`", verb.help.splitlines()[0]) for s in domain.subjects for verb in s.verbs)
    yield from _table("verb", verbs)
    kinds = [(f"`{kind.scope}`", kind.description) for kind in domain.pausable]
    kinds += [(f"`table {life.table}`", "the work on it") for life in domain.lifecycles if life.pausable]
    yield from _table("pausable", kinds)
    values = [
        (f"`{part.section}.{key}`", f"`{value}`")
        for part in domain.policy
        for key, value in flattened(part.shipped().model_dump(mode="json"))
        if not isinstance(value, list | dict) or len(str(value)) < 60
    ]
    yield from _table("policy", values)
    yield from _table("refusal", ((f"`{code}`", meaning) for code, meaning in domain.refusals.values()))
    yield from _table("invariant", ((f"`{one.id}`", one.description) for one in domain.invariants))


def _claimed(table: str, queue: Queue) -> str:
    waiting, by = " or ".join(queue.waiting), ", ".join(queue.claimed_by)
    return f"of `{table}`, while {waiting}; claimed by {by} (`{queue.claim}`)"


def _sealed(canon: int) -> str:
    return f"append-only, sealed (text version {canon})" if canon else "append-only"


def _table(name: str, rows: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield f"| {name} | |\n|---|---|"
        yield from (f"| {left} | {right.replace('|', chr(92) + '|')} |" for left, right in found)
        yield ""
