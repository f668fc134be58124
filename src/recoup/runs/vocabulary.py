"""The words of runs, as they are stored."""

from enum import StrEnum


class RunStatus(StrEnum):
    QUEUED = "queued"  # waits to be claimed
    RUNNING = "running"  # somebody runs it, and sends heartbeats
    SUCCEEDED = "succeeded"  # its runner reported success
    FAILED = "failed"  # its runner reported a failure
    CRASHED = "crashed"  # it fell silent, or nobody claimed it: marked by the orphan sweep


class RunEvent(StrEnum):
    QUEUED = "queued"  # created to be claimed
    STARTED = "started"  # created running, or claimed
    NOTE = "note"  # its runner wrote a note
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CRASHED = "crashed"  # marked, with the reason


TERMINAL = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CRASHED)
