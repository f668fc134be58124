"""The declarations of a domain as rows of the tables that store them."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from psycopg.sql import SQL, Identifier

from recoup.database.connection import Transaction
from recoup.domain import Domain, logs
from recoup.lifecycles.declaration import Birth, Exit, Lifecycle, Move, Step
from recoup.pauses.scopes import DUTY, EVERYTHING, GLOBAL, TABLE
from recoup.policy.allowed import limits

Rows = list[dict[str, Any]]
# Later ones refer to earlier ones.
TABLES = ("lifecycle", "lifecycle_step", "follower", "log", "pausable", "policy_bound")


def rows(domain: Domain, domains: Sequence[Domain]) -> dict[str, Rows]:
    """The declarations of a domain, by table. ``domains`` are all of them: some write logs of others."""
    declared = {
        "lifecycle": [_lifecycle(life) for life in domain.lifecycles],
        "lifecycle_step": [_step(life, step) for life in domain.lifecycles for step in life.steps],
        "follower": [row for life in domain.lifecycles for row in _followers(life)],
        "log": _logs(domain, domains),
        "pausable": list(_pausable(domain)),
        "policy_bound": [
            {"path": list(path), "least": least, "most": most}
            for part in domain.policy
            for path, least, most in limits(part)
        ],
    }
    return {table: [{"domain": domain.name, **row} for row in declared[table]] for table in TABLES}


def digest(domain: Domain, domains: Sequence[Domain]) -> str:
    """Digest of what a release of a domain installs: routines and declarations."""
    canon = [log.canon_body(v) for log in domain.logs for v in range(1, log.canon + 1)]
    views = [kind.rows for kind in domain.pausable]
    declared = [rows(domain, domains), [file.checksum for file in domain.routines], canon, views]
    return hashlib.sha256(json.dumps(declared, sort_keys=True, default=str).encode()).hexdigest()


def write(connection: Transaction, domain: Domain, domains: Sequence[Domain]) -> None:
    """Store the declarations of a domain, and change no row that is already right. Only for a migration."""
    declared = rows(domain, domains)
    given = "(select * from jsonb_populate_recordset(null::{0}, %(rows)s::jsonb)) g"
    same = "g is not distinct from t"
    for change in (
        f"delete from {{0}} t where t.domain = %(domain)s and not exists (select from {given} where {same})",
        f"insert into {{0}} select g.* from {given} where not exists (select from {{0}} t where {same})",
    ):
        for table in TABLES:
            connection.execute(
                SQL(change).format(Identifier("recoup", table)),
                {"rows": json.dumps(declared[table]), "domain": domain.name},
            )


def differing(connection: Transaction, domain: Domain, domains: Sequence[Domain]) -> list[str]:
    """The tables whose rows do not match the declarations of a domain."""
    declared = rows(domain, domains)
    at = connection.execute("select epoch, release, digest from recoup.domain where name = %s", (domain.name,))
    differs = [] if at.fetchone() == (*domain.at[1:], digest(domain, domains)) else ["domain"]
    query = (
        "with given as (select * from jsonb_populate_recordset(null::{0}, %(rows)s::jsonb)),"
        " found as (select * from {0} where domain = %(domain)s)"
        " select exists ((table found except table given) union all (table given except table found))"
    )
    return differs + [
        table
        for table in TABLES
        if connection.execute(
            SQL(query).format(Identifier("recoup", table)), {"rows": json.dumps(declared[table]), "domain": domain.name}
        ).fetchone()
        != (False,)
    ]


def _lifecycle(life: Lifecycle) -> dict[str, Any]:
    row: dict[str, Any] = {
        "subject": life.table, "key": life.key, "status_column": life.status_column, "counter": life.counter,
        "frozen": life.frozen, "once": life.once, "rising": life.rising,
        "content": 0 if life.given else len(life.contents),
        "move_rule": asdict(life.move_rule) if life.move_rule is not None else None,
    }  # fmt: skip
    if life.queue is not None and life.recorded is not None:
        row["queue"] = {**asdict(life.queue), "log": life.recorded.log}
        if life.queue.behind is None:  # as the queues of earlier releases were declared
            del row["queue"]["behind"]
    return row


def _step(life: Lifecycle, step: Step) -> dict[str, Any]:
    row: dict[str, Any] = {
        "subject": life.table, "authority": step.authority, "says": step.description,
        "counts": False, "requires": [], "through": [],
        "from_status": None, "to_status": None,
    }  # fmt: skip
    match step:
        case Birth():
            row |= {"kind": "birth", "to_status": step.status, "requires": step.requires, "through": step.via}
        case Move():
            row |= {"kind": "move", "from_status": step.source, "to_status": step.target}
            row |= {"counts": step.counts, "through": step.via}
        case Exit():
            row |= {"kind": "exit", "from_status": step.status}
    return row


def _followers(life: Lifecycle) -> Iterator[dict[str, Any]]:
    for place, on in life.followers:
        yield {
            "subject": life.table, "event": on.event, "place": place, "function": on.function,
            "arguments": on.arguments,
        }  # fmt: skip


def _logs(domain: Domain, domains: Sequence[Domain]) -> Rows:
    mine = {log.table for log in domain.logs}
    return [
        {"log": log.table, "at": log.at, "canon": log.canon, "recorders": log.recorders, "keeper": log.keeper}
        for log in logs(domains)
        if log.table in mine
    ]


def _pausable(domain: Domain) -> Iterator[dict[str, Any]]:
    named = [(DUTY, duty.name) for duty in domain.duties]
    named += [(TABLE, life.table) for life in domain.lifecycles if life.pausable]
    for kind in domain.pausable:
        if kind.scope == GLOBAL:
            named.append((GLOBAL, EVERYTHING))
        elif kind.names is not None:
            yield {"scope": kind.scope, "name": None, "names": kind.names}
    for scope, name in named:
        yield {"scope": scope, "name": name, "names": None}
