"""What the control log and the pause log say of the rows behind them, and what is promised of clock and policy."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.ledger")

INVARIANTS: tuple[Invariant, ...] = (
    _of("laws/L1/pause-authority", "authorities", "Every pause was set and lifted by an operator."),
    _of("laws/L5/late-results", "late_results", "A late result is of a unit of work that somebody claims."),
    _of("laws/L7/clock", "clock", "There is one clock, and recoup.now() is what it says."),
    _of("laws/L8/versions", "policies", "Policies are numbered from 1 without a gap, in the order of their time."),
    _of("rebuild/recoup.pause", "rebuild_pauses", "What the pause log says of a pause is what stands in recoup.pause."),
    _of("rebuild/recoup.clock", "rebuild_clock",
        "What the control log says of the clock is where it stands, and it never ran backwards."),
)  # fmt: skip
