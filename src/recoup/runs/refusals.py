"""What the routines of runs refuse."""

from recoup.refusals import declare

LAWS = {
    "RC100": ("run_birth", "a run is created now, and owned; a retry is a copy of a run that failed or crashed"),
    "RC101": ("run_time", "a run starts, beats and ends now"),
    "RC102": ("run_over", "only a running run is kept alive, by the holder of its token"),
    "RC103": ("run_not_orphaned", "a run is marked crashed only when it is silent or its worker is gone"),
    "RC104": ("run_move", "owner, notes and token of a run change when it is claimed, noted or ended"),
    "RC105": ("run_unknown", "only a run that exists is kept alive, noted or ended"),
}
CONSTRAINTS = {
    "run_retry_of": (
        "run_retried",
        "The run has been retried already.",
        "A further retry is of the latest run of the chain: recoup runs show RUN names it.",
    ),
}
declare(LAWS, CONSTRAINTS)
