"""Invariants of the control log and the pause log, of the clock and of the policy."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.ledger")

INVARIANTS: tuple[Invariant, ...] = (
    _of("laws/L1/pause-authority", "authorities", "Every pause was set and lifted by an operator."),
    _of("laws/L5/late-results", "late_results",
        "A late result belongs to a table whose rows are claimed, or worked on under a token."),
    _of("laws/L7/clock", "clock", "There is one clock, and recoup.now() returns its time."),
    _of("laws/L8/versions", "policies", "Policies are numbered from 1 without a gap, in the order of their time."),
    _of("rebuild/recoup.pause", "rebuild_pauses", "recoup.pause matches the pause log."),
    _of("rebuild/recoup.clock", "rebuild_clock",
        "The clock matches the control log, and it never ran backwards."),
)  # fmt: skip
