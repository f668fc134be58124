"""Creating candidates and selecting their actions: what an evaluation and a person's proposal share."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from recoup.database.acting import acting_as
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.recovery.decision import Scope
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
        "ids": list(ids), "follows": list(follows), "proposers": list(proposers), "actions": list(actions),
        "decide_hours": policy.decide_within_hours,
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
    tx.execute(
        Q["selected"],
        {
            "ids": list(chosen),
            "actions": [one.action for one in chosen.values()],
            "types": [action.type.value for action in actions],
            "parameters": [
                json.dumps({**action.parameters, **(one.parameters or {})})
                for action, one in zip(actions, chosen.values(), strict=True)
            ],
            "costs": [action.cost for action in actions],
            "timeouts": [action.timeout_s for action in actions],
            "automated": [action.is_automated for action in actions],
            "approvals": [action.requires_approval for action in actions],
            "scopes": [one.scope.scope_id if one.scope else None for one in chosen.values()],
            "execute_by": [one.scope.expires_at if one.scope else None for one in chosen.values()],
            "keys": [one.key for one in chosen.values()],
            "held": [one.held for one in chosen.values()],
        },
    )
