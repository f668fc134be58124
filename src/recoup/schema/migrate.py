"""Migrations: ordered ``.sql`` files, the routines and the declarations of each domain. One transaction, or nothing.

Ordered files (``migrations/0001_….sql``) create tables and are never edited once applied: their checksum is stored, and
a changed file is refused. Routines are functions; a changed file is applied again. Last, the declarations of the
domains are written where guard, seals and audit read them, and triggers are created from them.

A domain whose release in the database is newer than the program's is left alone: an older program never reinstalls its
own. Nothing that is up to date is touched, so a release that changes only functions locks no table, and workers of the
previous release continue meanwhile.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg import DatabaseError, errors
from psycopg.sql import SQL, Identifier, Literal

from recoup import __version__
from recoup.database.connection import Transaction
from recoup.database.releases import Release, installed, owner_of_schema, refuse_newer
from recoup.database.roles import OWNER, as_owner, check_rights, ensure_roles, grant_on_schemas
from recoup.domain import Domain, SqlFile, logs, parts, pausables, releases
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.refusals import MigrationRefused, from_database
from recoup.schema import declarations

DDL_LOCK_TIMEOUT = "30s"
_SCHEMA = re.compile(r"^create schema (\w+);\n(?:comment on schema \1 is '[^']*';\n)?", re.MULTILINE)
_LOCK = 7_265_666  # advisory: one migration at a time in one database


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What a migration did. All empty: nothing to do."""

    applied: tuple[str, ...]
    routines: tuple[str, ...]
    domains: tuple[Release, ...]  # now at this release
    kept: tuple[Release, ...]  # newer in the database than in this program, and left alone
    policy: int | None  # version of the policy that was written
    made: tuple[str, ...]  # created for the policy: error tables


def migrations(domains: Sequence[Domain]) -> tuple[SqlFile, ...]:
    """The ordered files of all domains, by their numbers."""
    found = [file for domain in domains for file in domain.migrations]
    return tuple(sorted(found, key=_number))


def _number(file: SqlFile) -> str:
    return file.path.rpartition("/")[2]


def migrate(
    connection: Transaction,
    domains: Sequence[Domain],
    *,
    login: str,
    simulated_from: datetime | None = None,
    policy: str | None = None,
) -> Migrated:
    """Bring the database to this program's schema. ``login`` is the everyday login that is granted the authorities.

    A new database can have a simulated clock that starts at ``simulated_from``, and a policy of its own: ``policy``, a
    document. A database that exists keeps its clock and its policy.
    """
    check_rights(connection)
    ensure_roles(connection, login=login)
    with connection.transaction():
        connection.execute("select set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)")
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        # A wait for a table in use would block everybody behind it: give up instead, and change nothing.
        connection.execute("select set_config('lock_timeout', %s, true)", (DDL_LOCK_TIMEOUT,))
        with as_owner(connection):
            new = ensure_history(connection)
            if simulated_from is not None and not new:
                _refuse_new_clock(connection)
            if policy is not None and not new:
                _refuse_new_policy()
            return _migrated(connection, domains, new=new, simulated_from=simulated_from, policy=policy)


def _migrated(
    connection: Transaction,
    domains: Sequence[Domain],
    *,
    new: bool,
    simulated_from: datetime | None,
    policy: str | None,
) -> Migrated:
    found = installed(connection)
    refuse_newer(found, releases(domains))
    kept = [found[d.name] for d in domains if d.name in found and found[d.name].release > d.release]
    ours = [d for d in domains if d.name not in {release.domain for release in kept}]
    pending = _pending(connection, migrations(domains))
    for file in pending:
        apply(connection, file)
    if new:
        connection.execute(
            "insert into recoup.clock (status, at) values (%s, %s)",
            ("simulated" if simulated_from else "real", simulated_from),
        )
    changed = _changed_routines(connection, ours)
    for file in changed:
        _run(connection, file)
        _record(connection, "recoup.routine", file.name, file.checksum)
    written = tuple(_written(connection, ours, domains))
    version = versions.ensure(connection, parts(ours), text=policy)
    made = tuple(name for domain in ours for name in _made(connection, domain))
    # Also done when a pool opens, so that no writer has to do it while others wait.
    connection.execute("select recoup.present_incarnation()")
    return Migrated(
        applied=tuple(map(_number, pending)),
        routines=tuple(file.name for file in changed),
        domains=written,
        kept=tuple(kept),
        policy=version,
        made=made,
    )


# Ordered files --------------------------------------------------------------------------------------------------------


def ensure_history(connection: Transaction) -> bool:
    """Create the migration history. True if the database is new to Recoup."""
    owner = owner_of_schema(connection)
    if owner == OWNER:
        return False
    if owner is not None:
        raise _name_taken(f"There is a schema recoup that belongs to {owner}, and Recoup did not create it.")
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


def apply(connection: Transaction, file: SqlFile) -> None:
    """Apply an ordered file, and record it."""
    _run(connection, file)
    _record(connection, "recoup.migration", _number(file), file.checksum)


def _pending(connection: Transaction, known: Sequence[SqlFile]) -> tuple[SqlFile, ...]:
    """Files that were not applied yet. Unknown ones belong to a newer release of the same epoch."""
    applied = _applied(connection, "recoup.migration")
    for file in known:
        checksum = applied.get(_number(file), file.checksum)
        if checksum != file.checksum:
            raise MigrationRefused(
                "migration_changed",
                f"Migration {_number(file)} was changed after it was applied to this database.",
                "Restore the file, and put the change into a new migration.",
                migration=_number(file), applied=checksum, found=file.checksum,
            )  # fmt: skip
    return tuple(file for file in known if _number(file) not in applied)


def _run(connection: Transaction, file: SqlFile) -> None:
    text = file.text
    for created in _SCHEMA.finditer(file.text):
        if connection.execute("select from pg_namespace where nspname = %s", (created[1],)).rowcount:
            text = _adopting(connection, created[1], text.replace(created[0], ""))
    try:
        connection.execute(text.encode())
    except (errors.DuplicateSchema, errors.DuplicateTable) as error:
        raise _name_taken(f"{file.name}: {error.diag.message_primary}, and Recoup did not create it.") from error


def _adopting(connection: Transaction, schema: str, text: str) -> str:
    """A file for a schema that exists: it stays its owner's and gets our tables; their own are not for us to grant."""
    grant_on_schemas(connection, [schema])
    ours = (
        "do $$ declare t regclass; begin for t in select oid from pg_class where relkind in ('r', 'p', 'v') and"
        f" relnamespace = '{schema}'::regnamespace and relowner = current_user::regrole"
        " loop execute format('grant select on %s to \\1', t); end loop; end $$;"
    )
    return re.sub(rf"^grant select on all tables in schema {schema} to (\w+);$", ours, text, flags=re.MULTILINE)


def _name_taken(happened: str) -> MigrationRefused:
    return MigrationRefused(
        "name_taken",
        happened,
        "Recoup does not change what it did not create. Rename it, or use another database: recoup db create NAME",
    )


def _applied(connection: Transaction, table: str) -> dict[str, str]:
    query = SQL("select name, checksum from {}").format(Identifier(*table.split(".")))
    return {str(name): str(checksum) for name, checksum in connection.execute(query)}


def _record(connection: Transaction, table: str, name: str, checksum: str) -> None:
    connection.execute(
        SQL(
            "insert into {} values (%s, %s, clock_timestamp(), session_user, %s) on conflict (name) do update"
            " set checksum = excluded.checksum, applied_at = excluded.applied_at, applied_by = excluded.applied_by,"
            " recoup_version = excluded.recoup_version"
        ).format(Identifier(*table.split("."))),
        (name, checksum, __version__),
    )


# Domains --------------------------------------------------------------------------------------------------------------


def _changed_routines(connection: Transaction, ours: Sequence[Domain]) -> tuple[SqlFile, ...]:
    applied = _applied(connection, "recoup.routine")
    changed = tuple(file for domain in ours for file in domain.routines if applied.get(file.name) != file.checksum)
    _refuse_written_by_newer(connection, changed)
    return changed


def _refuse_written_by_newer(connection: Transaction, changed: Sequence[SqlFile]) -> None:
    """A newer program installed another text with our release number: an error in that program."""
    named = ([file.name for file in changed],)
    for name, by in connection.execute("select name, recoup_version from recoup.routine where name = any(%s)", named):
        if _ordered(by) > _ordered(__version__):
            raise MigrationRefused(
                "routine_newer",
                f"{name} was installed by Recoup {by}; this is {__version__}, and has another text.",
                f"Migrate with Recoup {by} or later. Nothing was changed.",
                routine=name, written_by=by,
            )  # fmt: skip


def _ordered(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _written(connection: Transaction, ours: Sequence[Domain], domains: Sequence[Domain]) -> Iterator[Release]:
    """Write changed declarations, then create triggers, functions and views from all of them."""
    rows = connection.execute("select name, epoch, release, digest from recoup.domain")
    stored = {str(name): found for name, *found in rows}
    digests = {domain.name: declarations.digest(domain, domains) for domain in ours}
    # A release may add files only: then its digest is that of the release before.
    changed = [d for d in ours if stored.get(d.name) != [d.epoch, d.release, digests[d.name]]]
    # A row may refer to one that is changed after it.
    connection.execute("set constraints all deferred")
    for domain in changed:
        connection.execute(
            "insert into recoup.domain values (%s, %s, %s, %s, %s, clock_timestamp(), session_user)"
            " on conflict (name) do update set epoch = excluded.epoch, release = excluded.release,"
            " digest = excluded.digest, recoup_version = excluded.recoup_version, applied_at = excluded.applied_at,"
            " applied_by = excluded.applied_by",
            (*domain.at, digests[domain.name], __version__),
        )
        declarations.write(connection, domain, domains)
        yield domain.at
    connection.execute("set constraints all immediate")
    # Also for unchanged ones: a dropped trigger is created again. By the declarations in the database, which include
    # domains that this program does not know.
    connection.execute("call recoup.equip_declared()")
    for domain in ours:
        for duty in domain.duties:
            _grant_tally(connection, duty.authority)
    for log in logs(ours):
        connection.execute("call recoup.close_all(%s)", (log.table,))
    _make_canons(connection, changed)
    # An unknown or newer domain may have added rows to the view.
    if changed and not stored.keys() - digests.keys():
        _make_pauses(connection, domains)


def _grant_tally(connection: Transaction, authority: Authority) -> None:
    """The authority of a background task counts what it did."""
    may = "select has_table_privilege(%s, 'recoup.duty_tally', 'insert, update')"
    if connection.execute(may, (authority.role,)).fetchone() != (True,):
        connection.execute(SQL("grant insert, update on recoup.duty_tally to {}").format(Identifier(authority.role)))


def _make_canons(connection: Transaction, domains: Sequence[Domain]) -> None:
    """The canonical text of each log's rows, one function per version."""
    for domain in domains:
        for log in domain.logs:
            for version in range(1, log.canon + 1):
                name = Identifier(*log.canon_function(version).split("."))
                row = Identifier(*log.table.split("."))
                connection.execute(
                    SQL(
                        "create or replace function {name}(l {row}) returns text language sql stable as {body};"
                        " comment on function {name}({row}) is {description}"
                    ).format(
                        name=name,
                        row=row,
                        body=Literal(log.canon_body(version)),
                        description=Literal(f"Canonical text of a row of {log.table}, version {version}."),
                    )
                )


def _make_pauses(connection: Transaction, domains: Sequence[Domain]) -> None:
    """The view of all pauses: the register, and the rows of domains that keep their own."""
    own = [
        SQL(" union all select {}, p.* from ({}) p").format(Literal(kind.scope), SQL(kind.rows))
        for kind in pausables(domains)
        if kind.rows is not None
    ]
    connection.execute(
        SQL(
            "create or replace view recoup.pauses with (security_invoker = true) as select p.scope, p.scope_id,"
            " p.changed_at as paused_at, p.changed_by as paused_by, p.reason from recoup.pause p"
            " where p.status = 'PAUSED'{}"
        ).format(SQL("").join(own))
    )


def _made(connection: Transaction, domain: Domain) -> Iterator[str]:
    """What a domain creates for the policy."""
    if domain.ensure is None:
        return
    try:
        yield from domain.ensure(connection)
    except DatabaseError as error:
        refusal = from_database(error)  # a name that is taken
        if refusal is None:
            raise
        raise refusal from error


def _refuse_new_clock(connection: Transaction) -> None:
    (status,) = connection.execute("select status from recoup.clock").fetchone() or ("missing",)
    if status != "simulated":
        raise MigrationRefused(
            "clock_is_set",
            f"The clock of this database is {status}; only a new database can have a simulated one.",
            "Use another database for simulated time: recoup db create NAME --simulated-from TIME",
            status=status,
        )


def _refuse_new_policy() -> None:
    raise MigrationRefused(
        "policy_exists",
        "This database has a policy; only a new database can be created with another one.",
        "Change it: recoup policy apply FILE --reason WHY",
    )
