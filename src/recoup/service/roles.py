"""Roles of the API, and the authorities that each may use.

A role is what a key has; an authority is the database role of a transaction. The database refuses whatever the
authority may not do, so a flaw in a route cannot do more than the roles that may call it.
"""

from collections.abc import Mapping
from enum import StrEnum

from recoup.lifecycles.declaration import Authority

# Who approves a recovery, and who executes it: no role has both.
APPROVES = frozenset({Authority.REVIEWER})
EXECUTES = frozenset({Authority.CLAIM_WORKER, Authority.EXECUTOR})

# Authorities that row-level security holds to a hub. The others are those of workers, which see every row.
WITHIN_HUBS = frozenset(
    {
        Authority.READER, Authority.CONSUMER, Authority.HUB, Authority.RUNNER, Authority.MATCHER, Authority.OPERATOR,
        Authority.CONTROL_PLANE, Authority.REVIEWER,
    }
)  # fmt: skip


class Role(StrEnum):
    """What a key may do."""

    VIEWER = "viewer"  # reads, and subscribes to logs
    PRODUCER = "producer"  # records failures and runs, imports, reports outside failures
    OPERATOR = "operator"  # runs the system: park, retry, pause, requeue, propose
    REVIEWER = "reviewer"  # approves and rejects recoveries
    ADMIN = "admin"  # manages keys
    LOCAL = "local"  # the person who started the service, on its own machine: no key has it


_READS = frozenset({Authority.READER})
_HELD: Mapping[Role, frozenset[Authority]] = {
    Role.VIEWER: _READS | {Authority.CONSUMER},
    # Failures from outside are reported as the matcher.
    Role.PRODUCER: _READS | {Authority.HUB, Authority.RUNNER, Authority.MATCHER},
    # A proposal is made as matcher and evaluator, a scope as scoped_execution; partitions are the control plane's.
    Role.OPERATOR: _READS
    | {
        Authority.CONSUMER,
        Authority.OPERATOR,
        Authority.CONTROL_PLANE,
        Authority.SCOPED_EXECUTION,
        Authority.MATCHER,
        Authority.EVALUATOR,
        Authority.GATE,
    },
    Role.REVIEWER: _READS | APPROVES,
    Role.ADMIN: _READS | {Authority.KEY_MANAGER},
}


def authorities(role: Role) -> frozenset[Authority]:
    """The authorities that a role may use."""
    return frozenset().union(*_HELD.values()) if role is Role.LOCAL else _HELD[role]
