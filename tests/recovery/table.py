"""Facts for the decision, from few words."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import product
from recoup.recovery.condition import Candidate, Facts, Scope
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.vocabulary import ActionType, CandidateStatus, MatchStatus, SubjectKind

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RETRY, NOTIFY, MANUAL, SKIP = "retry_exponential", "notify_ops", "manual_intervention", "skip_step"
TYPES = {RETRY: ActionType.RETRY, NOTIFY: ActionType.NOTIFY, MANUAL: ActionType.MANUAL, SKIP: ActionType.SKIP}


def policy(**changed: Any) -> RecoveryPolicy:
    """The shipped policy, with some values changed."""
    shipped = product.shipped()["recovery"]
    return RecoveryPolicy.model_validate(shipped | changed)


def listing(*names: str, **changed: Any) -> RecoveryPolicy:
    """A policy that tries these actions for failures outside."""
    plan = product.shipped()["recovery"]["plan"] | {"outside": list(names)}
    return policy(plan=plan, **changed)


def scope(**more: Any) -> Scope:
    given: dict[str, Any] = {"is_active": True, "allowed_actions": tuple(TYPES), "expires_at": NOW + DAY} | more
    return Scope(scope_id=uuid.uuid4(), **given)


def candidate(status: str = "pending", action: str = RETRY, **more: Any) -> Candidate:
    given: dict[str, Any] = {
        "status": CandidateStatus(status), "action_name": action, "action_type": TYPES[action],
        "decide_by": NOW + 3 * DAY, "parameters": policy().actions[action].parameters,
    } | more  # fmt: skip
    return Candidate(candidate_id=uuid.uuid4(), **given)


def started(action: str = RETRY, **more: Any) -> Candidate:
    """Its effect is not made yet."""
    given: dict[str, Any] = {
        "lease_until": NOW + HOUR,
        "scope": scope(),
        "execute_by": NOW + DAY,
        "idempotency_key": "k",
    }
    return candidate("executing", action, **given | more)


def awaiting(unit: str = "busy", action: str = RETRY, **more: Any) -> Candidate:
    """Its effect is made, and what it started stands so."""
    return started(action, **{"effect_made": True, "awaits": True, "unit": unit, "outcome_by": NOW + DAY} | more)


def ended(status: str, why: str | None = None, action: str = RETRY, **more: Any) -> Candidate:
    said = {"skip_reason": why} if status == "skipped" else {"error": why}
    return candidate(status, action, **{"idempotency_key": "k"} | said | more)


def facts(*candidates: Candidate, kind: str = "outside", standing: str = "failed", **more: Any) -> Facts:
    given: dict[str, Any] = {"status": MatchStatus.EVALUATED, "match_until": NOW + 30 * DAY} | more
    return Facts(kind=SubjectKind(kind), standing=standing, candidates=candidates, **given)  # type: ignore[arg-type]
