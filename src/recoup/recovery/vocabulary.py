"""The words of recovery: statuses, kinds, action types, and the reasons of ends."""

from enum import StrEnum


class IncidentStatus(StrEnum):
    OPEN = "open"  # matches join it
    CLOSED = "closed"  # no match of it is open, and none came for a while


class MatchStatus(StrEnum):
    NEW = "new"  # waits for its first evaluation
    EVALUATED = "evaluated"  # has, or had, a candidate; evaluated again when something happens
    STUCK = "stuck"  # its evaluation failed five times; an operator resumes it
    RECOVERED = "recovered"  # the failure is gone
    ACCEPTED = "accepted"  # a person accepted it: the action skip
    UNRECOVERED = "unrecovered"  # nothing is left to try, or its time has passed


class CandidateStatus(StrEnum):
    PENDING = "pending"  # waits for a decision, or for its automatic start
    APPROVED = "approved"  # a person approved it
    REJECTED = "rejected"  # a person rejected it
    EXECUTING = "executing"  # started: its effect is being made, or its outcome is awaited
    SUCCEEDED = "succeeded"  # the failure is gone; of a compensating action: its own effect is done
    FAILED = "failed"  # it did not work, or its worker died
    ROLLED_BACK = "rolled_back"  # it undid itself
    SKIPPED = "skipped"  # it was not executed, by rule


class ScopeStatus(StrEnum):
    ACTIVE = "active"  # candidates may be started within it
    EXHAUSTED = "exhausted"  # its attempts or its cost are spent
    EXPIRED = "expired"  # its time is over
    REVOKED = "revoked"  # an operator revoked it


class TaskStatus(StrEnum):
    OPEN = "open"  # waits for a person
    DONE = "done"  # a person did it
    CANCELLED = "cancelled"  # a person decided not to


class ConfigStatus(StrEnum):
    SET = "set"  # it has a value
    REMOVED = "removed"  # it has none, as before it was first set


class BreakerStatus(StrEnum):
    CLOSED = "closed"  # what depends on it is claimed
    OPEN = "open"  # what depends on it waits
    HALF_OPEN = "half_open"  # the same, but for one unit that tries it


class SubjectKind(StrEnum):
    ERROR = "error"  # a parked error, with all that superseded it: its lineage
    INTAKE = "intake"  # an exhausted intake of Gate Zero
    RUN = "run"  # a crashed run
    PARTITION = "partition"  # a terminal partition
    OUTSIDE = "outside"  # a failure that was reported from outside


class ActionType(StrEnum):
    RETRY = "retry"
    FALLBACK = "fallback"
    CIRCUIT_BREAKER = "circuit_breaker"
    RECONFIGURE = "reconfigure"
    ROLLBACK = "rollback"
    ESCALATE = "escalate"
    NOTIFY = "notify"
    MANUAL = "manual"
    SKIP = "skip"

    @property
    def is_corrective(self) -> bool:
        """Whether it fixes the problem; the others manage its impact."""
        return self not in (ActionType.ESCALATE, ActionType.NOTIFY, ActionType.MANUAL, ActionType.SKIP)


class Skip(StrEnum):
    """Why a candidate is skipped."""

    LOW_CONFIDENCE = "LOW_CONFIDENCE"
    SCOPE_ENDED = "SCOPE_ENDED"
    EXECUTE_OVERDUE = "EXECUTE_OVERDUE"
    DECISION_OVERDUE = "DECISION_OVERDUE"
    SUBJECT_RECOVERED = "SUBJECT_RECOVERED"
    SUBJECT_GONE = "SUBJECT_GONE"
    SUBJECT_CHANGED = "SUBJECT_CHANGED"
    OVERTAKEN = "OVERTAKEN"
    ACTION_RETIRED = "ACTION_RETIRED"


class Failure(StrEnum):
    """Why a candidate failed, where it is not what its action reported."""

    CRASHED = "CRASHED"  # its lease expired before its effect
    SCOPE_REVOKED = "SCOPE_REVOKED"
    SUBJECT_CHANGED = "SUBJECT_CHANGED"
    OUTCOME_OVERDUE = "OUTCOME_OVERDUE"
    CONFLICT = "CONFLICT"  # a rollback: the value is not what was left by what it undoes
    HIGHEST_TIER = "HIGHEST_TIER"  # an error cannot be escalated any further
    UNIT_FAILED = "UNIT_FAILED"  # what it started ended badly
