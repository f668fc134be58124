"""The lifecycle of a worker."""

from __future__ import annotations

from enum import StrEnum

from recoup.lifecycles.declaration import Authority, Birth, Lifecycle, Move


class WorkerStatus(StrEnum):
    RUNNING = "running"  # registered, and heard of lately
    STOPPED = "stopped"  # said goodbye
    LOST = "lost"  # fell silent; presumed dead


RUNNING, STOPPED, LOST = WorkerStatus

WORKER = Lifecycle(
    table="recoup.worker",
    says="One life of a worker process. Its heartbeat is a self-move.",
    key=("worker_id",),
    births=(Birth(RUNNING, Authority.RUNNER, "a worker registers"),),
    moves=(
        Move(RUNNING, RUNNING, Authority.RUNNER, "a heartbeat"),
        Move(RUNNING, STOPPED, Authority.RUNNER, "it finished its batch and said goodbye"),
        Move(RUNNING, LOST, Authority.ORPHAN_RECOVERY, "it fell silent and is presumed dead"),
    ),
    frozen=("worker_id", "name", "host", "pid", "recoup_version", "duties", "started_at"),
    once=("ended_at",),
    rising=("heartbeat_at",),
)
