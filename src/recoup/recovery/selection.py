"""Creating candidates and selecting their actions: what an evaluation and a person's proposal share."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from recoup.database.acting import acting_as
from recoup.database.arrays import literal
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery.condition import Scope
from recoup.recovery.policy import RecoveryPolicy

Q = load("recoup.recovery", "evaluation.sql")


def create(
    tx: Transaction,
    policy: RecoveryPolicy,
    *,
    ids: Sequence[UUID],
    actions: Sequence[str],
    follows: Sequence[UUID | None],
    proposers: Sequence[str | None],
) -> dict[UUID, UUID]:
    """Create candidates, by match."""
    given = {
        "ids": literal("uuid", ids), "follows": literal("uuid", follows), "proposers": literal("text", proposers),
        "actions": literal("text", actions), "decide_hours": policy.decide_within_hours,
    }  # fmt: skip
    with acting_as(tx, Authority.MATCHER):
        made: dict[UUID, UUID] = dict(tx.execute(Q["created"], given).fetchall())
    return made


class Selection(NamedTuple):
    """What a candidate is given."""

    action: str
    scope: Scope | None = None
    parameters: Mapping[str, Any] | None = None  # in addition to those of the policy
    key: str | None = None  # idempotency key of the candidate that it repeats
    held: bool = False  # it needs an approval, whatever else allows its start


def select_actions(tx: Transaction, policy: RecoveryPolicy, chosen: Mapping[UUID, Selection]) -> None:
    """Select the actions of candidates, as the policy has them, with their scopes."""
    actions = [policy.actions[one.action] for one in chosen.values()]
    of_policy = {name: json.dumps(policy.actions[name].parameters) for name in {one.action for one in chosen.values()}}
    parameters = [
        json.dumps({**action.parameters, **one.parameters}) if one.parameters else of_policy[one.action]
        for action, one in zip(actions, chosen.values(), strict=True)
    ]
    tx.execute(
        Q["selected"],
        {
            "ids": literal("uuid", chosen),
            "actions": literal("text", [one.action for one in chosen.values()]),
            "types": literal("text", [action.type.value for action in actions]),
            "parameters": literal("jsonb", parameters),
            "costs": literal("integer", [action.cost for action in actions]),
            "timeouts": literal("integer", [action.timeout_s for action in actions]),
            "automated": literal("boolean", [action.is_automated for action in actions]),
            "approvals": literal("boolean", [action.requires_approval for action in actions]),
            "scopes": literal("uuid", [one.scope.scope_id if one.scope else None for one in chosen.values()]),
            "execute_by": literal(
                "timestamptz", [one.scope.expires_at if one.scope else None for one in chosen.values()]
            ),
            "keys": literal("text", [one.key for one in chosen.values()]),
            "held": literal("boolean", [one.held for one in chosen.values()]),
        },
    )
