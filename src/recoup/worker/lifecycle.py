"""The lifecycle of a worker."""

from enum import StrEnum

from recoup.lifecycles.declaration import RECORD_CONTROL, Authority, Birth, Lifecycle, Move, On


class WorkerStatus(StrEnum):
    RUNNING = "running"  # registered, and sends heartbeats
    STOPPED = "stopped"  # stopped in an orderly way
    LOST = "lost"  # no heartbeat for too long; presumed dead


RUNNING, STOPPED, LOST = WorkerStatus

WORKER = Lifecycle(
    table="recoup.worker",
    description="One life of a worker process. Its heartbeat is a self-move.",
    key=("worker_id",),
    births=(Birth(RUNNING, Authority.RUNNER, "a worker registers"),),
    moves=(
        Move(RUNNING, RUNNING, Authority.RUNNER, "a heartbeat"),
        Move(RUNNING, STOPPED, Authority.RUNNER, "it finished its batch and signed off"),
        Move(RUNNING, LOST, Authority.ORPHAN_RECOVERY, "it fell silent and is presumed dead"),
    ),
    frozen=("worker_id", "name", "host", "pid", "recoup_version", "duties", "started_at"),
    once=("ended_at",),
    rising=("heartbeat_at",),
    rules=(On("insert", "recoup.rule_workers"), On("update", "recoup.rule_workers")),
    recorders=(
        On("insert", RECORD_CONTROL, ("name", "host", "pid", "recoup_version")),
        On("update", RECORD_CONTROL, ("ended_at",)),
    ),
)
