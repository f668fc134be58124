"""Selecting invariants by whole parts of their ids."""

import difflib
from collections.abc import Sequence

from recoup.audit.invariant import Invariant
from recoup.refusals import InputRefused


def chosen(invariants: Sequence[Invariant], prefixes: Sequence[str]) -> tuple[Invariant, ...]:
    """The invariants that match the prefixes, in order; all without prefixes. A prefix without a match is refused."""
    for prefix in prefixes:
        if not any(invariant.matches(prefix) for invariant in invariants):
            near = _nearest(invariants, prefix)
            raise InputRefused(
                "invariant_unknown",
                f"No invariant has the id or prefix {prefix!r}.",
                f"Did you mean {near}? " * bool(near) + "List them all: recoup audit --list",
                given=prefix,
            )
    if not prefixes:
        return tuple(invariants)
    return tuple(i for i in invariants if any(i.matches(prefix) for prefix in prefixes))


def _nearest(invariants: Sequence[Invariant], prefix: str) -> str | None:
    ids = [id_ for invariant in invariants for id_ in invariant.ids]
    beginnings = {"/".join(id_.split("/")[:parts]) for id_ in ids for parts in range(1, id_.count("/") + 1)}
    near = difflib.get_close_matches(prefix.rstrip("/"), sorted({*ids, *beginnings}), n=1)
    return near[0] if near else None
