"""Scopes: which actions may be executed for an incident, how often, at what cost, until when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from recoup.database.acting import acting_as
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery.breakers import checked
from recoup.recovery.policy import RecoveryPolicy
from recoup.refusals import InputRefused, LawRefused

Q = load("recoup.recovery", "scopes.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A scope, and what is left of it."""

    scope_id: UUID
    incident_id: UUID
    source: str
    error_signature: str
    allowed_actions: Sequence[str]
    max_attempts: int
    attempts_used: int
    cost_limit: int
    cost_used: int
    expires_at: datetime
    status: str
    opened_by: str
    reason: str
    opened_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A candidate that was started within a scope and is not over."""

    candidate_id: UUID
    failure_match_id: UUID
    action_name: str
    status: str
    effect_made: bool
    executed_at: datetime


def open_scope(
    tx: Transaction,
    incident: UUID,
    policy: RecoveryPolicy,
    *,
    actions: Sequence[str],
    reason: str,
    max_attempts: int | None = None,
    cost_limit: int | None = None,
    ttl_seconds: int | None = None,
) -> UUID:
    """Open a scope for an incident, as scoped execution, and attach its pending candidates if the login may."""
    if not actions:
        raise InputRefused(
            "action_missing", "A scope needs at least one action.", f"Actions are: {', '.join(policy.actions)}."
        )
    for name in actions:
        policy.action(name)
    defaults = policy.scope
    for name, value in (("attempts", max_attempts), ("cost", cost_limit), ("ttl", ttl_seconds)):
        if value is not None and not 0 < value < 2**31:
            raise InputRefused(f"scope_{name}", f"{value} is not usable for {name}.", "Give a number above 0.")
    row = tx.execute(
        Q["open"],
        {
            "incident": incident, "actions": list(dict.fromkeys(actions)), "reason": checked("reason", reason),
            "max_attempts": max_attempts or defaults.max_attempts, "cost_limit": cost_limit or defaults.cost_limit,
            "ttl_seconds": ttl_seconds or defaults.ttl_seconds,
            "least_cost": min(policy.actions[name].cost for name in actions),
        },
    ).fetchone()  # fmt: skip
    assert row is not None
    (may_attach,) = tx.execute(
        "select pg_has_role(session_user, %s, 'member')", (Authority.EVALUATOR.role,)
    ).fetchone() or (False,)
    if may_attach:  # otherwise the evaluator attaches them when it follows the log
        with acting_as(tx, Authority.EVALUATOR):
            tx.execute(Q["attach"], {"scope": row[0]})
    assert isinstance(row[0], UUID)
    return row[0]


def revoke(tx: Transaction, scope: UUID) -> list[Started]:
    """Revoke a scope, as scoped execution. What awaits its outcome already continues, and is returned."""
    found = show(tx, scope)
    if tx.execute(Q["revoke"], {"scope": scope}).rowcount == 0:
        raise LawRefused(
            "scope_over", f"Scope {scope} is {found.status}.", "Only an active scope is revoked.", scope=str(scope)
        )
    return started(tx, found)


def started(tx: Transaction, scope: Scope, *, limit: int = 1000) -> list[Started]:
    """What was started within a scope and is not over."""
    with tx.cursor(row_factory=class_row(Started)) as cursor:
        given = {"incident": scope.incident_id, "scope": scope.scope_id, "limit": limit}
        return cursor.execute(Q["awaiting"], given).fetchall()


def show(tx: Transaction, scope: UUID) -> Scope:
    """One scope."""
    with tx.cursor(row_factory=class_row(Scope)) as cursor:
        found = cursor.execute(Q["scope"], {"scope": scope}).fetchone()
    if found is None:
        raise InputRefused(
            "scope_unknown", f"There is no scope {scope}.", "List them: recoup recovery scopes", scope=str(scope)
        )
    return found


def scopes(
    tx: Transaction,
    *,
    incident: UUID | None = None,
    active: bool = False,
    limit: int = 100,
    after: UUID | None = None,
) -> list[Scope]:
    """Scopes, newest first. ``after``, the id of the last that was listed, gives the next page."""
    given = {"incident": incident, "active": active, "limit": limit, "after": after}
    with tx.cursor(row_factory=class_row(Scope)) as cursor:
        return cursor.execute(Q["scopes"], given).fetchall()
