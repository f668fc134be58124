"""The product as tests mean it: everything that the list of domains gives, by the names that tests use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from recoup import audit, domain, pauses, policy
from recoup.audit.invariant import Invariant
from recoup.database import releases
from recoup.database.connection import Transaction
from recoup.domains import DOMAINS
from recoup.ledger import seals
from recoup.policy import Change
from recoup.schema import laws
from recoup.schema import migrate as migrations
from recoup.schema.migrate import Migrated

LIFECYCLES = domain.lifecycles(DOMAINS)
LOGS = domain.logs(DOMAINS)
SEALED = tuple(
    sorted(seals.SealedLog(log.table, log.canon, log.at) for log in LOGS if log.canon)
)  # as the database lists them
DUTIES = domain.duties(DOMAINS)
PARTS = domain.parts(DOMAINS)
RELEASES = domain.releases(DOMAINS)
KINDS = tuple(domain.pausables(DOMAINS))
INVARIANTS = laws.invariants(DOMAINS)
WHOLE = tuple(table for one in DOMAINS for table in one.audited_whole)
MIGRATIONS = migrations.migrations(DOMAINS)
ROUTINES = tuple(file for one in DOMAINS for file in one.routines)


def chosen(prefixes: Sequence[str]) -> tuple[Invariant, ...]:
    return audit.chosen(INVARIANTS, prefixes)


def migrate(connection: Transaction, *, login: str, simulated_from: datetime | None = None) -> Migrated:
    return migrations.migrate(connection, DOMAINS, login=login, simulated_from=simulated_from)


def check_schema(connection: Transaction) -> None:
    releases.check_schema(connection, RELEASES)


def apply_policy(tx: Transaction, text: str, *, reason: str, over: int | None = None) -> tuple[int, list[Change]]:
    """Put a whole document in place of the active policy."""
    return policy.apply(tx, text, PARTS, reason=reason, over=over, replace=True)


def pause(tx: Transaction, scope: str, scope_id: str | None = None, *, reason: str) -> bool:
    return pauses.pause(tx, scope, scope_id, reason=reason, kinds=KINDS)


def resume(tx: Transaction, scope: str, scope_id: str | None = None, *, reason: str) -> bool:
    return pauses.resume(tx, scope, scope_id, reason=reason, kinds=KINDS)


def shipped() -> dict[str, Any]:
    """Every value of the shipped policy."""
    return policy.default(PARTS)


def shipped_document() -> str:
    return policy.default_document(PARTS)
