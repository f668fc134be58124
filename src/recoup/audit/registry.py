"""Every invariant of the product, in the order in which they are asked. A new domain adds its own here."""

from __future__ import annotations

from collections.abc import Sequence

from recoup.audit import laws
from recoup.audit.invariant import Invariant
from recoup.errors import invariants as errors
from recoup.gate import invariants as gate
from recoup.ledger import invariants as ledger
from recoup.mint import invariants as mint
from recoup.refusals import InputRefused

INVARIANTS: tuple[Invariant, ...] = (
    *gate.INVARIANTS, *mint.INVARIANTS, *errors.INVARIANTS, *laws.INVARIANTS, *ledger.INVARIANTS,
)  # fmt: skip


def chosen(prefixes: Sequence[str]) -> tuple[Invariant, ...]:
    """The invariants that the prefixes name, in order; without prefixes all. A prefix for nothing is refused."""
    for prefix in prefixes:
        if not any(invariant.matches(prefix) for invariant in INVARIANTS):
            near = _nearest(prefix)
            raise InputRefused(
                "invariant_unknown",
                f"No invariant is called {prefix!r}, nor begins so.",
                f"Did you mean {near}? " * bool(near) + "recoup audit --list names them all.",
                given=prefix,
            )
    if not prefixes:
        return INVARIANTS
    return tuple(i for i in INVARIANTS if any(i.matches(prefix) for prefix in prefixes))


def _nearest(prefix: str) -> str | None:
    import difflib

    ids = [id_ for invariant in INVARIANTS for id_ in invariant.ids]
    beginnings = {"/".join(id_.split("/")[:parts]) for id_ in ids for parts in range(1, id_.count("/") + 1)}
    near = difflib.get_close_matches(prefix.rstrip("/"), sorted({*ids, *beginnings}), n=1)
    return near[0] if near else None
