"""Marks: how a partition is shown where there is room for one character."""

from enum import Enum

from recoup.partitions.vocabulary import PartitionStatus, ScheduleStatus


class Mark(Enum):
    """A character, and its meaning in the legend."""

    SUCCESS = ("●", "success")
    PENDING = ("○", "pending")
    RUNNING = ("◐", "running")
    HELD = ("‖", "held")
    FAILED = ("✗", "failed")
    TERMINAL = ("■", "terminal")
    NONE = ("·", "never enqueued")

    @property
    def sign(self) -> str:
        return self.value[0]

    @property
    def meaning(self) -> str:
        return self.value[1]


def mark(status: str, schedule: str) -> Mark:
    """How a partition is shown."""
    match schedule:
        case ScheduleStatus.TERMINAL:
            return Mark.TERMINAL
        case ScheduleStatus.HELD if status != PartitionStatus.SUCCESS:
            return Mark.HELD
        case ScheduleStatus.OPEN if status != PartitionStatus.SUCCESS:
            return Mark.RUNNING
        case _:
            return Mark[status.upper()]
