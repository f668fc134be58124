"""The rules of the recovery document for runs, line by line, and our own."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.runs")

INVARIANTS: tuple[Invariant, ...] = (
    _of("recovery/EC-2", "orphans", "Every orphaned run is marked crashed by the duty that looks for them.",
        "recovery/guarantee/orphans"),
    _of("recovery/PB-S1", "retries",
        "A retry is a new run: a copy of one that failed or crashed, which is retried once and stays as it is."),
    _of("recovery/PB-S2", "runs", "Every crashed run has one crashed event, by orphan recovery, with its reason.",
        "recovery/guarantee/no-silent-loss"),
    _of("recovery/P2/run", "runs", "A run that ended has not changed since."),
    _of("recovery/P3", "runs", "No run is lost: every run has its events, and every event its run."),
    _of("runs/trace/agrees", "runs", "Owner, token, start and notes of a run are those of its events."),
    _of("laws/L5/late-runs", "late_results",
        "A late result belongs to a run that had ended, or carries another token than it."),
)  # fmt: skip
