"""Migrations: ordered ``.sql`` files, the routines beside their domains, the lifecycles. One transaction, or nothing.

Ordered files (``migrations/0001_….sql``) make tables and are never edited once applied: their checksum is kept, and a
changed file is refused. Routines are functions and triggers; each file holds their present truth and is applied again
when it changed. Last, the declared lifecycles are written where the guard reads them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable

from psycopg import DatabaseError, errors
from psycopg.sql import SQL, Identifier

from recoup import __version__
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER, as_owner, check_rights, ensure_roles
from recoup.lifecycles.declaration import Authority, Birth, Exit, Lifecycle, Move
from recoup.refusals import MigrationRefused, from_database

# In this order: later ones use earlier ones.
ROUTINES = (
    "database/new_id.sql",
    "lifecycles/guard.sql",
    "clock.sql",
    "ledger/log.sql",
    "ledger/cursors.sql",
    "ledger/control.sql",
    "policy/policy.sql",
    "pauses/rules.sql",
    "worker/rules.sql",
    "ledger/canon.sql",
    "ledger/seals.sql",
    "gate/rules.sql",
    "gate/recorder.sql",
    "gate/consequences.sql",
    "gate/attempts.sql",
    "mint/rules.sql",
    "errors/rules.sql",
    "errors/recorder.sql",
    "errors/tables.sql",
    "errors/retries.sql",
    "errors/promotion.sql",
)
DDL_LOCK_TIMEOUT = "30s"
_LOCK = 7_265_666  # advisory: one migration at a time in one database


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What a migration did. All empty: there was nothing to do."""

    applied: tuple[str, ...]
    routines: tuple[str, ...]
    lifecycles: bool
    policy: int | None  # version of the policy that was written
    tables: tuple[str, ...]  # error tables that were made


@dataclass(frozen=True, slots=True)
class SqlFile:
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def known_migrations(folder: Traversable | None = None) -> tuple[SqlFile, ...]:
    folder = folder or files("recoup").joinpath("database/migrations")
    found = [SqlFile(f.name, f.read_text(encoding="utf-8")) for f in folder.iterdir() if f.name.endswith(".sql")]
    return tuple(sorted(found, key=lambda file: file.name))


def known_routines() -> tuple[SqlFile, ...]:
    return tuple(SqlFile(name, files("recoup").joinpath(name).read_text(encoding="utf-8")) for name in ROUTINES)


def migrate(
    connection: Transaction,
    *,
    login: str,
    simulated_from: datetime | None = None,
    folder: Traversable | None = None,
    lifecycles: tuple[Lifecycle, ...] | None = None,
) -> Migrated:
    """Bring the database to this program's schema. ``login`` is the everyday login that gets the authorities.

    ``simulated_from`` makes a new database simulated, standing at that time; a database that exists keeps its clock.
    """
    if lifecycles is None:
        from recoup.lifecycles import registry  # late: it imports every domain

        lifecycles = registry.LIFECYCLES
    check_rights(connection)
    ensure_roles(connection, login=login)
    with connection.transaction():
        connection.execute("select set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)")
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        # Whoever waits for a table in use makes everybody behind it wait too: give up instead, and change nothing.
        connection.execute("select set_config('lock_timeout', %s, true)", (DDL_LOCK_TIMEOUT,))
        with as_owner(connection):
            new = _ensure_books(connection)
            if simulated_from is not None and not new:
                _refuse_new_clock(connection)
            pending = _pending(connection, known_migrations(folder))
            for file in pending:
                _apply(connection, file, "recoup.migration")
            if new:
                connection.execute(
                    "insert into recoup.clock (status, at) values (%s, %s)",
                    ("simulated" if simulated_from else "real", simulated_from),
                )
            changed = _changed_routines(connection) if not pending else known_routines()
            for file in changed:
                _apply(connection, file, "recoup.routine")
            rewritten = _write_lifecycles(connection, lifecycles)
            policy = _ensure_policy(connection)
            tables = _ensure_error_tables(connection)
            # Begun here and when a pool opens, so that no writer has to begin it while others wait.
            connection.execute("select recoup.present_incarnation()")
    return Migrated(
        applied=tuple(f.name for f in pending),
        routines=tuple(f.name for f in changed),
        lifecycles=rewritten,
        policy=policy,
        tables=tables,
    )


def check_schema(connection: Transaction) -> None:
    """Refuse a database that is not at this program's schema: older, newer, or not ours."""
    if _owner_of_books(connection) != OWNER:
        raise MigrationRefused("not_migrated", "This database has no Recoup schema yet.", "Run: recoup migrate")
    try:
        with connection.transaction():
            connection.execute("select set_config('role', %s, true)", (Authority.READER.role,))
            pending = _pending(connection, known_migrations())
            changed = _changed_routines(connection)
    except errors.InsufficientPrivilege as error:
        raise MigrationRefused(
            "login_lacks_authority",
            f"The login {connection.info.user} may not read Recoup's tables.",
            "Run recoup migrate with RECOUP_ADMIN_DSN set to a login that may grant roles.",
        ) from error
    if pending or changed:
        raise MigrationRefused(
            "schema_older",
            f"The database lacks {', '.join(f.name for f in (*pending, *changed))}.",
            "Run: recoup migrate",
            missing=[f.name for f in (*pending, *changed)],
        )


def _owner_of_books(connection: Transaction) -> str | None:
    row = connection.execute("select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'recoup'").fetchone()
    return str(row[0]) if row is not None else None


def _ensure_books(connection: Transaction) -> bool:
    """Make the tables that remember what was applied. True when the database is new to us."""
    owner = _owner_of_books(connection)
    if owner == OWNER:
        return False
    if owner is not None:
        raise MigrationRefused(
            "name_taken",
            f"There is a schema recoup, which belongs to {owner}, and Recoup did not make it.",
            "Recoup does not touch what is not its own. Rename what is there, or use another database.",
        )
    connection.execute("""
        create schema recoup;
        create table recoup.migration (name text primary key, checksum text not null, applied_at timestamptz not null,
                                       applied_by text not null, recoup_version text not null);
        comment on table recoup.migration is 'Migrations applied. A file that changed since is refused.';
        comment on column recoup.migration.name is 'Name of the file.';
        comment on column recoup.migration.checksum is 'SHA-256 of its text, as applied.';
        comment on column recoup.migration.applied_at is 'When, by the server''s clock.';
        comment on column recoup.migration.applied_by is 'The login that applied it.';
        comment on column recoup.migration.recoup_version is 'The program that applied it.';
        create table recoup.routine (like recoup.migration including all);
        comment on table recoup.routine is 'Routine files as last applied; applied again when they change.';
    """)
    return True


def _pending(connection: Transaction, known: tuple[SqlFile, ...]) -> tuple[SqlFile, ...]:
    applied = _applied(connection, "recoup.migration")
    by_name = {file.name: file for file in known}
    for name, checksum in sorted(applied.items()):
        if name not in by_name:
            raise MigrationRefused(
                "schema_newer",
                f"The database has migration {name}, which this program (recoup {__version__}) does not know.",
                "Use the newer program that made it; an older one would not understand its rows.",
                migration=name,
            )
        if by_name[name].checksum != checksum:
            raise MigrationRefused(
                "migration_changed",
                f"Migration {name} was changed after it was applied to this database.",
                "Restore the file as it was, and put the change into a new migration.",
                migration=name, applied=checksum, found=by_name[name].checksum,
            )  # fmt: skip
    return tuple(file for file in known if file.name not in applied)


def _changed_routines(connection: Transaction) -> tuple[SqlFile, ...]:
    applied = _applied(connection, "recoup.routine")
    changed = [file.name for file in known_routines() if applied.get(file.name) != file.checksum]
    # From the first changed one on: a later file may install what an earlier one defines anew.
    return tuple(known_routines()[ROUTINES.index(changed[0]) :]) if changed else ()


def _applied(connection: Transaction, table: str) -> dict[str, str]:
    return dict(connection.execute(f"select name, checksum from {table}").fetchall())


def _apply(connection: Transaction, file: SqlFile, book: str) -> None:
    try:
        connection.execute(file.text)
    except (errors.DuplicateSchema, errors.DuplicateTable) as error:
        raise MigrationRefused(
            "name_taken",
            f"{file.name}: {error.diag.message_primary}, and Recoup did not make it.",
            "Recoup does not touch what is not its own. Rename what is there, or use another database.",
            migration=file.name,
        ) from error
    _write_down(connection, book, file.name, file.checksum)


def _write_down(connection: Transaction, book: str, name: str, checksum: str) -> None:
    connection.execute(
        SQL(
            "insert into {} values (%s, %s, clock_timestamp(), session_user, %s) on conflict (name) do update"
            " set checksum = excluded.checksum, applied_at = excluded.applied_at, applied_by = excluded.applied_by,"
            " recoup_version = excluded.recoup_version"
        ).format(Identifier(*book.split("."))),
        (name, checksum, __version__),
    )


def _ensure_policy(connection: Transaction) -> int | None:
    from recoup.policy import versions  # late: the models of a policy take a while to load

    if connection.execute("select to_regclass('recoup.policy')").fetchone() == (None,):
        return None  # an older schema, in a test of migrations
    return versions.ensure(connection)


def _ensure_error_tables(connection: Transaction) -> tuple[str, ...]:
    """Make the error tables that the policy lists and that are not there, each with its archive."""
    if connection.execute("select to_regclass('recoup.error')").fetchone() == (None,):
        return ()  # an older schema, in a test of migrations
    from recoup.errors import tables
    from recoup.policy import versions

    try:
        return tables.make(connection, versions.in_force(connection).policy.errors)
    except DatabaseError as error:
        refusal = from_database(error)  # a name that somebody else has taken
        if refusal is None:
            raise
        raise refusal from error


def _refuse_new_clock(connection: Transaction) -> None:
    (status,) = connection.execute("select status from recoup.clock").fetchone() or ("missing",)
    if status != "simulated":
        raise MigrationRefused(
            "clock_is_set",
            f"This database's clock is {status}; only a new database can be made simulated.",
            "Use a database of its own for simulated time.",
            status=status,
        )


def lifecycle_rows(lifecycles: tuple[Lifecycle, ...]) -> dict[str, list[dict[str, object]]]:
    """The declaration in the shape of its two tables."""
    subjects: list[dict[str, object]] = []
    steps: list[dict[str, object]] = []
    for life in lifecycles:
        subjects.append(
            {
                "subject": life.table, "key": list(life.key), "status_column": life.status_column,
                "counter": life.counter, "frozen": list(life.frozen), "once": list(life.once),
                "rising": list(life.rising),
            }
        )  # fmt: skip
        for step in life.steps:
            row: dict[str, object] = {
                "subject": life.table, "authority": step.by, "says": step.says, "counts": False, "requires": [],
                "through": [], "from_status": None, "to_status": None,
            }  # fmt: skip
            match step:
                case Birth():
                    row |= {"kind": "birth", "to_status": step.status, "requires": list(step.requires)}
                    row["through"] = list(step.through)
                case Move():
                    row |= {"kind": "move", "from_status": step.source, "to_status": step.target}
                    row |= {"counts": step.counts, "through": list(step.through)}
                case Exit():
                    row |= {"kind": "exit", "from_status": step.status}
            steps.append(row)
    return {"lifecycle": subjects, "lifecycle_step": steps}


def _write_lifecycles(connection: Transaction, lifecycles: tuple[Lifecycle, ...]) -> bool:
    text = json.dumps(lifecycle_rows(lifecycles), sort_keys=True)
    checksum = hashlib.sha256(text.encode()).hexdigest()
    if _applied(connection, "recoup.routine").get("lifecycles") == checksum:
        return False
    connection.execute("set local recoup.migrating = on")
    connection.execute("delete from recoup.lifecycle_step; delete from recoup.lifecycle;")
    for table in ("lifecycle", "lifecycle_step"):
        into = Identifier("recoup", table)
        connection.execute(
            SQL("insert into {0} select * from jsonb_populate_recordset(null::{0}, %s::jsonb -> %s)").format(into),
            (text, table),
        )
    connection.execute("set local recoup.migrating = off")
    _write_down(connection, "recoup.routine", "lifecycles", checksum)
    return True
