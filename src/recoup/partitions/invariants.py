"""The rules of the document on retries and reprocessing, and our own on partitions, runs and schedules."""

from recoup.audit.invariant import InFile, Invariant
from recoup.partitions.sink_audit import check_sink

_of = InFile("recoup.partitions")
_backfill = InFile("recoup.partitions", "invariants_backfills.sql")
_schedule = InFile("recoup.partitions", "invariants_schedules.sql")

# Section 9, line by line.
DOCUMENT: tuple[Invariant, ...] = (
    _of("partitions/9/raw-partitions-are-immutable", "runs",
        "What a run published is what its event says, once; no two runs are in one place of a sink, and every sink is"
        " registered."),
    _of("partitions/9/state-is-the-sole-authority", "states",
        "A partition is a success if a run of it was accepted; otherwise its status and message are those of its last"
        " attempt or request.", "partitions/2/transitions"),
    _of("partitions/9/every-attempt-counts-once", "states",
        "attempt_count is the number of attempts, which are numbered from 1 without a gap.", "partitions/3/monotonic"),
    _of("partitions/9/current-run-exists", "states",
        "current_run_id is the newest accepted run of its partition, which was published."),
    Invariant(
        id="partitions/9/current-run-in-the-sink",
        description="The raw partition of every current run is in the raw sink, with the digests of its publication.",
        outside=check_sink,
    ),
    _of("partitions/9/one-run-at-a-time", "numbers",
        "No partition has two runs under way, and its runs are numbered from 1 without a gap."),
    _of("partitions/9/prior-attempts-stay", "runs",
        "Every verdict has one attempt, by the validator, with the values of its run. Nothing else has one.",
        "partitions/1/validator-alone"),
)  # fmt: skip

RUNS: tuple[Invariant, ...] = (
    _of("partitions/runs/as-logged", "runs",
        "Worker, token, turn, start, lease, reason and times of a run are those of its events."),
    _of("partitions/2/requeued", "requeued",
        "Every failed partition that is pending again was dispatched or asked for, by the control plane or for a"
        " candidate.",
        "partitions/7/control-plane-alone"),
    _of("laws/L5/late-verdicts", "late_results",
        "A late verdict belongs to a run that had ended or lost its lease, or carries another token than it."),
    _of("laws/L8/partitions-stamped", "stamped", "A run has the version of the policy that was active then."),
)  # fmt: skip

SCHEDULES: tuple[Invariant, ...] = (
    _schedule("partitions/4/schedule-as-logged", "schedules", "Every schedule is what its last event says."),
    _schedule("partitions/4/schedule-agrees", "schedules",
        "A schedule is open while a run is under way or was not followed yet, idle after a success, terminal after a"
        " failure; what is to be validated again waits."),
    _schedule("partitions/4/dispatches", "schedules",
        "dispatches counts those since the last verdict of which nothing came; attempts_seen is attempt_count."),
    _schedule("partitions/5/terminal-causes", "terminal",
        "What is terminal was tried as often, was as old, or was marked by somebody, by the policy it was decided"
        " under."),
    _schedule("partitions/8/overrides-are-logged", "overrides",
        "Every request is in the override log, by whom it was made; one that lifts a terminal decision has a reason."),
)  # fmt: skip

BACKFILLS: tuple[Invariant, ...] = (
    _backfill("partitions/6/backfills", "backfills",
        "What is planned of a backfill are its members, place by place, and all of one that is done have ended."),
    _backfill("rebuild/partitions.backfill_item", "members",
        "A member is the partition of its place. One that waits is scheduled for its backfill, and one that ended did"
        " so with its schedule.", "partitions/6/members"),
)  # fmt: skip

INVARIANTS: tuple[Invariant, ...] = (*DOCUMENT, *RUNS, *SCHEDULES, *BACKFILLS)
