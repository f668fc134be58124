"""The database answers as the declaration does: every birth, move and exit, by every authority, owner and superuser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import psycopg

from company import acting
from conformance.cast import Actor, Role, move
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority, Lifecycle

NO_RIGHT = "42501"
ACTORS: tuple[Actor, ...] = (*Authority, OWNER, None)


def every_move(roles: Iterable[Role]) -> Iterator[tuple[Role, str, str]]:
    for role in roles:
        for source, target in product(role.statuses, repeat=2):
            yield role, source, target


def every_status(roles: Iterable[Role]) -> Iterator[tuple[Role, str]]:
    for role in roles:
        for status in role.statuses:
            yield role, status


def answer(tx: Transaction, statement: str, parameters: Mapping[str, Any] | None = None) -> str:
    """What the database says: 'done', or the SQLSTATE of its refusal. The row is as before in any case."""
    try:
        with tx.transaction(force_rollback=True):
            tx.execute(statement.encode(), parameters)
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return "done"


def moves_answer_as_declared(tx: Transaction, role: Role, source: str, target: str) -> None:
    """Listed moves pass; any other is refused with our SQLSTATE, or for lack of any right to the table."""
    found = role.row_for.get((source, target))
    key = found(tx) if found is not None else role.brought(tx, source)
    if prepare := role.prepare.get((source, target)):
        prepare(tx)
    listed = {step.authority: step for step in role.life.moves if (step.source, step.target) == (source, target)}
    for actor in ACTORS:
        told = f"{actor}: {source} -> {target}"
        with acting(tx, actor):
            said = answer(tx, move(role, actor, source, target), {"key": key})
            if role.partition_of is not None:
                # A statement that names a partition fires its triggers alone; and no authority may name one.
                part = answer(tx, move(role, actor, source, target, table=role.partition_of(tx, key)), {"key": key})
                assert part == (NO_RIGHT if isinstance(actor, Authority) else "RC002"), told
        if isinstance(actor, Authority) and actor in listed:
            # What is only ever a consequence is refused by hand; the rows above were brought there by their cause.
            assert said == ("RC012" if listed[actor].via else "done"), told
        elif isinstance(actor, Authority):
            assert said in ("RC002", NO_RIGHT), told
        else:
            assert said == "RC002", told


def births_answer_as_declared(tx: Transaction, role: Role) -> None:
    """A row is born in a listed status, by the authority that owns the birth, and not otherwise."""
    given = role.given(tx)
    role.before_births(tx)
    for status, born in role.born.items():
        listed = {birth.authority: birth for birth in role.life.births if birth.status == status}
        for actor in ACTORS:
            told = f"{actor}: born {status}"
            insert = role.born_by.get((status, actor), born) if isinstance(actor, Authority) else born
            with acting(tx, actor):
                said = answer(tx, f"insert into {role.name} {insert}", given)
                if role.born_into is not None:
                    part = answer(tx, f"insert into {role.born_into} {insert}", given)
                    assert part == (NO_RIGHT if isinstance(actor, Authority) else "RC001"), told
            if isinstance(actor, Authority) and actor in listed:
                assert said == ("RC012" if listed[actor].via else "done"), told
            elif isinstance(actor, Authority):
                assert said in ("RC001", NO_RIGHT), told
            else:
                assert said == "RC001", told


def exits_answer_as_declared(tx: Transaction, role: Role, status: str) -> None:
    """Rows leave by a listed exit; nobody deletes anything else, and nobody truncates."""
    listed = {leaving.authority for leaving in role.life.exits if leaving.status == status}
    key = role.brought(tx, status)
    role.before_exit(tx, key)
    for actor, table in product(ACTORS, filter(None, (role.name, role.born_into))):
        with acting(tx, actor):
            deleted = answer(tx, f"delete from {table} where {role.life.key[-1]} = %(key)s", {"key": key})
            truncated = answer(tx, f"truncate {table} cascade")
        privileged = not isinstance(actor, Authority)
        if actor in listed and table == role.name:
            assert deleted == "done", actor
        else:
            # A row that others refer to is held by its foreign key, which is asked before the guard.
            assert deleted in (("RC003", "23503") if privileged else (NO_RIGHT,)), actor
        assert truncated == ("RC008" if privileged else NO_RIGHT), actor


def grants_are_no_wider(
    admin: Transaction, lives: Iterable[Lifecycle], *, locks: Mapping[tuple[str, str], set[Authority]]
) -> None:
    """Who may make, change or delete no row of a table holds no right to; nobody holds TRUNCATE or TRIGGER.

    SELECT … FOR UPDATE needs the right to update some column: ``locks`` says who has it for that.
    """
    for life in lives:
        may = {
            "INSERT": {birth.authority for birth in life.births},
            "UPDATE": {step.authority for step in life.moves},
            "DELETE": {leaving.authority for leaving in life.exits},
            "TRUNCATE": set(),
            "TRIGGER": set(),
        }
        for right, declared in may.items():
            authorities = declared | locks.get((life.table, right), set())
            test = "has_any_column_privilege" if right in ("INSERT", "UPDATE") else "has_table_privilege"
            for authority in Authority:
                row = admin.execute(f"select {test}(%s, %s, %s)", (authority.role, life.table, right)).fetchone()
                assert row == (authority in authorities,), f"{authority} {right} {life.table}"
