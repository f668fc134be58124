"""What every log promises: one order, known clusters, listed authorities; and what follows from the control log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from recoup.audit.invariant import InFile, Invariant, Offending
from recoup.database.connection import Transaction


def _seals(tx: Transaction) -> Iterator[Offending]:
    from recoup.ledger import seals

    for problem in seals.verify(tx):
        yield asdict(problem)


_of = InFile("recoup.ledger")

INVARIANTS: tuple[Invariant, ...] = (
    _of("laws/L1/control-authority", "authorities",
        "Every step in the control log and the pause log was made by an authority that its lifecycle lists."),
    _of("laws/L3/one-order", "one_order", "No two events of any logs share a seq."),
    _of("laws/L3/incarnations", "logs", "Every event was written by a known cluster, and clusters follow each other."),
    _of("laws/L3/transactions", "logs", "No event carries a transaction id that was not given out yet."),
    _of("laws/L5/late-results", "late_results",
        "A late result belongs to an attempt or a retry that had ended, or carries another token than it."),
    _of("laws/L7/clock", "clock", "There is one clock, and recoup.now() is what it says."),
    _of("laws/L7/nothing-to-come", "logs", "No event is told of a time that is still to come."),
    _of("laws/L8/versions", "policies", "Policies are numbered from 1 without a gap, in the order of their time."),
    Invariant(
        id="laws/L10/seals",
        says="Every seal is intact, and so are the log rows behind it.",
        check=_seals,
    ),
    _of("rebuild/recoup.pause", "rebuild_pauses", "What the pause log says of a pause is what stands in recoup.pause."),
    _of("rebuild/recoup.worker", "rebuild_workers",
        "What the control log says of a worker is what stands in recoup.worker."),
    _of("rebuild/recoup.clock", "rebuild_clock",
        "What the control log says of the clock is where it stands, and it never ran backwards."),
)  # fmt: skip
