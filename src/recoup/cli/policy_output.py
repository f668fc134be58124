"""What ``recoup policy`` prints: values, and the difference of two policies."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from recoup import policy
from recoup.cli.output import print_rows, shown
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.policy import Change, Proposal, Version
from recoup.policy.document import flattened


def toml(found: Version) -> str:
    """A version as a TOML document."""
    who = f"applied {shown(found.applied_at)} UTC by {found.actor_id}: {found.reason}"
    return policy.rendered(found.figures, parts(DOMAINS), title=f"Policy version {found.version}, {who}")


def print_values(found: Version) -> None:
    """Every value of a version, and the shipped one where it differs."""
    who = f"{shown(found.applied_at)} UTC by {shown(found.actor_id)}"
    print(f"version {found.version}, applied {who}: {shown(found.reason)}\n")
    shipped = dict(flattened(policy.default(parts(DOMAINS), found.figures)))
    rows = [
        {"key": place, "value": _words(one), "shipped": None if shipped.get(key) == value else shown(shipped.get(key))}
        for key, value in flattened(found.figures)
        for place, one in _items(key, value)
    ]
    print_rows(rows, as_json=False, empty="")


def print_proposal(proposal: Proposal, *, new: str = "new") -> None:
    """What a proposal would change, and what that does at once."""
    nothing = f"Nothing to change: version {proposal.over} has the same values."
    print_changes(proposal.changes, f"version {proposal.over}", new, nothing)
    for effect in proposal.effects:
        print(f"\nAt once: {effect}")


def print_changes(changes: list[Change], before: str, after: str, nothing: str) -> None:
    """A line for each value that differs; or the sentence for none."""
    rows = [
        {"key": key, before: _words(old), after: _words(new)}
        for change in changes
        for key, old, new in _changed(change)
    ]
    print_rows(rows, as_json=False, empty=nothing)


def _changed(change: Change) -> Iterator[tuple[str, Any, Any]]:
    """One line for a value; of a list of rules one for each rule that is added or removed, by its place."""
    if not (_is_rules(change.before) or _is_rules(change.after)):
        yield change.key, change.before, change.after
        return
    old, new = change.before or [], change.after or []
    matched = SequenceMatcher(None, [_words(one) for one in old], [_words(one) for one in new], autojunk=False)
    for kind, start, end, new_start, new_end in matched.get_opcodes():
        if kind != "equal":
            pairs = zip_longest(old[start:end], new[new_start:new_end])
            for place, (gone, come) in enumerate(pairs, new_start if new_end > new_start else start):
                yield f"{change.key}[{place}]", gone, come


def _items(key: str, value: Any) -> list[tuple[str, Any]]:
    return [(f"{key}[{place}]", one) for place, one in enumerate(value)] if _is_rules(value) else [(key, value)]


def _is_rules(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, Mapping) for one in value)


def _words(value: Any) -> str:
    """A value, or a rule by its fields. The database orders the fields of a rule by itself."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {shown(one)}" for name, one in sorted(value.items()) if one is not None)
    return shown(value)
