"""The condition of a match, as its rows have it: what an evaluation decides from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from recoup.recovery.vocabulary import ActionType, CandidateStatus, Failure, MatchStatus, SubjectKind

Standing: TypeAlias = Literal["failed", "busy", "good", "gone"]
OPEN = (CandidateStatus.PENDING, CandidateStatus.APPROVED, CandidateStatus.EXECUTING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A scope of the match's incident."""

    scope_id: UUID
    is_active: bool  # active, and not expired
    allowed_actions: tuple[str, ...] = ()
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate of the match, open or ended."""

    candidate_id: UUID
    status: CandidateStatus
    action_name: str | None
    action_type: ActionType | None
    proposed_by: str | None = None
    confidence: float = 0.0
    confidence_of: str | None = None
    evidence: int = 0
    decide_by: datetime
    execute_by: datetime | None = None
    lease_until: datetime | None = None
    effect_made: bool = False
    reported: str | None = None
    awaits: bool = False
    unit: Standing | None = None  # the condition of what it awaits
    outcome_by: datetime | None = None
    is_paused: bool = False  # whether work on what it awaits is paused
    skip_reason: str | None = None
    error: str | None = None
    overridden_by: str | None = None
    scope: Scope | None = None
    parameters: Mapping[str, Any] | None = None
    idempotency_key: str | None = None

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def is_overdue(self) -> bool:
        """Whether its outcome did not come in time; what it started may still be under way."""
        return self.status is CandidateStatus.FAILED and self.error == Failure.OUTCOME_OVERDUE

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows if its effect was made."""
        return self.status is CandidateStatus.FAILED and self.error in (Failure.CRASHED, Failure.OUTCOME_OVERDUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the rows say of a match."""

    status: MatchStatus
    kind: SubjectKind
    standing: Standing
    person: str | None = None  # who acted on the subject since its last candidate
    reported_recovered_by: str | None = None
    match_until: datetime
    candidates: Sequence[Candidate] = ()  # oldest first
    earlier: Sequence[Candidate] = ()  # executed outside, for the same failure in matches before this one
    scopes: Sequence[Scope] = ()  # active ones of its incident
    fired: tuple[str, ...] | None = None  # rules whose condition is true; None: they were not evaluated
    not_applicable: tuple[str, ...] = ()  # types of action that do not apply to this very subject
    leases_expire: bool = True  # not after a simulated clock moved, until every worker has sent a heartbeat
