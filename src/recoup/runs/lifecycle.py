"""The lifecycle of a run, and the log of all of them."""

from recoup.lifecycles.declaration import Authority, Birth, Lifecycle, Move, MoveRule, On, Story
from recoup.lifecycles.logs import Log
from recoup.runs.vocabulary import RunStatus

QUEUED, RUNNING, SUCCEEDED, FAILED, CRASHED = RunStatus
RUNNER, ORPHAN_RECOVERY, EXECUTOR = Authority.RUNNER, Authority.ORPHAN_RECOVERY, Authority.EXECUTOR

RUN = Lifecycle(
    table="recovery.run",
    description="One execution of work. Its heartbeat is a self-move. It ends once; a retry is a new run.",
    key=("run_id",),
    births=(
        Birth(QUEUED, RUNNER, "it waits to be claimed"),
        Birth(RUNNING, RUNNER, "a runner starts it"),
        Birth(
            QUEUED,
            EXECUTOR,
            "the retry of a failed or crashed run",
            requires=("retry_of", "candidate_id"),
            via=("recovery.settle_candidates",),
        ),
    ),
    moves=(
        Move(QUEUED, RUNNING, RUNNER, "a runner claimed it"),
        Move(RUNNING, RUNNING, RUNNER, "a heartbeat, or a note"),
        Move(RUNNING, SUCCEEDED, RUNNER, "its runner reports success"),
        Move(RUNNING, FAILED, RUNNER, "its runner reports a failure"),
        Move(QUEUED, CRASHED, ORPHAN_RECOVERY, "its owner is lost, or nobody claims its kind"),
        Move(RUNNING, CRASHED, ORPHAN_RECOVERY, "its worker is lost, or it fell silent"),
    ),
    frozen=("run_id", "kind", "source", "input", "retry_of", "retry_with", "candidate_id", "created_at", "queued_at"),
    once=("token", "started_at", "finished_at", "message", "result", "ended_with", "crash_reason"),
    rising=("heartbeat_at", "notes"),
    move_rule=MoveRule(
        broken="recovery.run_move_broken", refusal="recovery.run_move_refusal", policy="recovery.run_policy"
    ),
    rules=(On("insert", "recovery.rule_run_births"),),
    recorders=(On("insert", "recovery.record_run_births"), On("update", "recovery.record_run_moves")),
    story=Story(log="recovery.run_trace", key=("run_id",)),
    pausable=True,
)

TRACE = Log(
    table="recovery.run_trace",
    at="logged_at",
    recorders=("recovery.record_run_births", "recovery.record_run_moves"),
    columns=(
        (
            "seq", "xid", "incarnation", "logged_at", "run_id", "event_type", "from_status", "to_status", "reason",
            "facts", "token", "actor", "actor_id", "authority", "login",
        ),
    ),
)  # fmt: skip
