"""The words of partitions: statuses, lanes, holds and causes."""

from enum import StrEnum


class PartitionStatus(StrEnum):
    PENDING = "pending"  # enqueued, or asked for again
    SUCCESS = "success"  # a validator accepted a run, which is the current one
    FAILED = "failed"  # the last run was rejected


class RunStatus(StrEnum):
    OPEN = "open"  # dispatched; its extractor works
    PUBLISHED = "published"  # in the raw sink; waits for its verdict
    ACCEPTED = "accepted"  # the validator accepted it
    REJECTED = "rejected"  # the validator rejected it, or nothing came to be validated
    LOST = "lost"  # nothing was published: a dispatch, and not an attempt


class ScheduleStatus(StrEnum):
    WAITING = "waiting"  # until next_run_at
    OPEN = "open"  # a run is under way, or its end was not followed yet
    HELD = "held"  # until a person, or its backfill, releases it
    TERMINAL = "terminal"  # given up, until a logged override
    IDLE = "idle"  # nothing to do: it succeeded


class Lane(StrEnum):
    FRESH = "fresh"
    BACKFILL = "backfill"


class Hold(StrEnum):
    OPERATOR = "OPERATOR"  # a structural failure waits for a person
    PAUSED = "PAUSED"  # its backfill is paused
    CANCELLED = "CANCELLED"  # its backfill was cancelled


class TerminalCause(StrEnum):
    ATTEMPTS = "ATTEMPTS"  # as many as the policy allows
    AGE = "AGE"  # older than the policy allows
    MARKED = "MARKED"  # by a person


class SinkStatus(StrEnum):
    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"  # a worker cannot use it: its breaker is open
