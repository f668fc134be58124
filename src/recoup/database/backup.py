"""Backup and restore: a whole database in one file, and back.

What a caller can rely on:

- A backup is made while work continues. Its file is complete or absent, and readable only by its owner.
- A restore fills a new database, checks it, and renames it into place in one transaction. A failure before that changes
  nothing. A replaced database is kept under another name.
- Guards, rights, sequences and the clock are restored. Subscriptions continue, also in another cluster
  (``recoup.present_incarnation()``).
- No password is on a command line, where every user of the machine could read it.

A backup does not contain what is outside the database: logins, the locale, rights to connect, ALTER DATABASE … SET. It
is made by PostgreSQL's own programs: those of the embedded server, or else those on PATH.
"""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from recoup.database import client
from recoup.database.access import MAX_NAME_BYTES, check_may_create
from recoup.database.connection import Transaction, connect
from recoup.database.failures import options_of, where
from recoup.database.releases import Release, check_schema
from recoup.database.roles import OWNER, ensure_roles, open_schemas
from recoup.database.server_user import move_durably
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, MigrationRefused, ServerRefused
from recoup.settings import Settings

FIRST_USER_OID = 16384  # lower ones belong to the server
# pg_restore 17 and later sets this always, and an older server refuses it.
NEW_SETTING, NEW_SETTING_FROM = b"\nSET transaction_timeout = 0;", 17
SCRIPT_HEAD_BYTES = 10_000
# A database that is being filled has this comment, and its restore holds an advisory lock on the number in its name.
# The comment without the lock: a restore was killed.
BEING_RESTORED = "Being restored by Recoup. Without a name of its own yet."
_LOCK = 7_265_667
_LEFT = """
select d.datname from pg_database d join pg_shdescription c on c.objoid = d.oid and c.classoid = 'pg_database'::regclass
 where c.description = %(mark)s and d.datname ~ '_restoring_[0-9a-f]{8}$'
   and not exists (select from pg_locks l where l.locktype = 'advisory' and l.classid = %(lock)s
                      and l.objid::bigint = ('x' || right(d.datname, 8))::bit(32)::bigint)
 order by 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did."""

    database: str
    set_aside: str | None  # the name under which the replaced database is kept
    lacks: tuple[str, ...]  # what an older backup lacks of this program's schema; `recoup migrate` adds it
    removed: tuple[str, ...] = ()  # databases that killed restores had left on the server


def backup(settings: Settings, admin_uri: str, target: Path) -> Path:
    """Write the database that ``admin_uri`` names to a new file, and return its path."""
    target = target.absolute()
    _refuse_taken(target)
    with contextlib.closing(connect(admin_uri, settings)) as connection:
        if connection.execute("select from pg_namespace where nspname = 'recoup'").rowcount == 0:
            raise MigrationRefused(
                "not_migrated",
                f"{where(admin_uri)} has no Recoup schema: there is nothing to back up.",
                "Check which database the connection string names; or run: recoup migrate",
            )
        with _temporary_file(target) as part:
            with _owner_granted(connection) as as_owner:
                # The policies of hubs hold the owner too, and leave out nothing of a session without a hub.
                options = ["--format=custom", *(["--role", OWNER, "--enable-row-security"] if as_owner else [])]
                if settings.lock_timeout_ms:
                    # A migration holds tables for itself; here too it is not waited for without end.
                    options.append(f"--lock-wait-timeout={settings.lock_timeout_ms}")
                client.run(settings, "pg_dump", admin_uri, *options, "--file", part)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            _refuse_taken(target)
            move_durably(part, target)
    return target


def restore(
    settings: Settings, admin_uri: str, source: Path, releases: Sequence[Release], *, replace: bool, login: str
) -> Restored:
    """Read a backup into the database that ``admin_uri`` names. ``login`` is the everyday login, as in a migration.

    An existing database is refused, unless it is empty or ``replace`` is given; and always while it is in use.
    """
    source = source.absolute()
    if not source.is_file():
        raise InputRefused("backup_missing", f"There is no file {source}.", "Name a file that recoup db backup wrote.")
    database = _named(admin_uri)
    with contextlib.closing(_maintenance(settings, admin_uri)) as connection:
        there = _there(settings, admin_uri, connection, database)
        if there is not None:
            _refuse_to_replace(there, replace=replace)
        _refuse_without_right(connection, there)
        ensure_roles(connection, login=login)
        removed = _removed(connection)
        number = secrets.randbits(32)
        restored = _name_with_ending(database, f"_restoring_{number:08x}")
        connection.execute("select pg_advisory_lock(%s)", (_LOCK << 32 | number,))
        connection.execute(SQL("create database {} template template0 encoding 'UTF8'").format(Identifier(restored)))
        try:
            connection.execute(SQL("comment on database {} is {}").format(Identifier(restored), BEING_RESTORED))
            lacks = _fill(settings, make_conninfo(admin_uri, dbname=restored), source, connection, releases)
            set_aside = _put_in_place(connection, restored, database, there)
        except BaseException:
            with contextlib.closing(_maintenance(settings, admin_uri)) as another:  # the other one may be broken
                another.execute(SQL("drop database if exists {} with (force)").format(Identifier(restored)))
            raise
    return Restored(database=database, set_aside=set_aside, lacks=lacks, removed=removed)


# What others left ----------------------------------------------------------------------------------------------------


def left_behind(connection: Transaction) -> list[str]:
    """Databases that killed restores have left."""
    return [name for (name,) in connection.execute(_LEFT, {"mark": BEING_RESTORED, "lock": _LOCK})]


def _removed(connection: Transaction) -> tuple[str, ...]:
    return tuple(name for name in left_behind(connection) if _dropped(connection, name))


def _dropped(connection: Transaction, name: str) -> bool:
    """Not by force: a program of the killed restore may still be filling it."""
    try:
        connection.execute(SQL("drop database {}").format(Identifier(name)))
    except (errors.ObjectInUse, errors.InvalidCatalogName, errors.InsufficientPrivilege):
        return False
    return True


# The existing database -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _There:
    """The existing database that the backup would replace."""

    name: str
    owner: str
    owned: bool  # by the login, so that it may be renamed
    sessions: int
    empty: bool


def _there(settings: Settings, admin_uri: str, connection: Transaction, database: str) -> _There | None:
    row = connection.execute(
        "select pg_get_userbyid(d.datdba), pg_has_role(current_user, d.datdba, 'usage'),"
        # Autovacuum has no user; the server stops it by itself.
        " (select count(*) from pg_stat_activity a where a.datid = d.oid and a.usename is not null)"
        " from pg_database d where d.datname = %s",
        (database,),
    ).fetchone()
    if row is None:
        return None
    owner, owned, sessions = row
    with contextlib.closing(connect(make_conninfo(admin_uri, dbname=database), settings)) as inside:
        (made,) = inside.execute(
            "select count(*) from (select oid from pg_class union all select oid from pg_proc union all"
            " select oid from pg_namespace union all select oid from pg_type union all select oid from pg_extension) o"
            " where oid >= %s",
            (FIRST_USER_OID,),
        ).fetchone() or (0,)
    return _There(name=database, owner=owner, owned=owned, sessions=sessions, empty=made == 0)


def _refuse_to_replace(there: _There, *, replace: bool) -> None:
    if not there.empty and not replace:
        raise InputRefused(
            "database_exists",
            f"There is a database {there.name} already, and it is not empty.",
            "Restore with --replace: the existing database is kept under another name.",
            database=there.name,
        )
    if there.sessions:
        raise _in_use(there.name, sessions=there.sessions)


def _in_use(database: str, *, sessions: int | None = None) -> ServerRefused:
    return ServerRefused(
        "database_in_use",
        f"The database {database} is in use" + (f" by {sessions} session(s)." if sessions else "."),
        "Stop the workers and programs that use it, then restore again. List them: select pid, usename,"
        f" application_name from pg_stat_activity where datname = '{database}'.",
        database=database, sessions=sessions,
    )  # fmt: skip


def _refuse_without_right(connection: Transaction, there: _There | None) -> None:
    also = "" if there is None or there.owned else f" ALTER DATABASE {there.name} OWNER TO {connection.info.user};"
    check_may_create(connection, "A restore fills a new database and renames it", also=also)


def _put_in_place(connection: Transaction, restored: str, database: str, there: _There | None) -> str | None:
    """Give the new database its name, and the old one another. Both or neither: renames are transactional."""
    rename = SQL("alter database {} rename to {}")
    unmark = SQL("comment on database {} is null").format(Identifier(restored))
    if there is None:
        with connection.transaction():
            connection.execute(unmark)
            connection.execute(rename.format(Identifier(restored), Identifier(database)))
        return None
    aside = _name_with_ending(database, datetime.now(UTC).strftime("_before_%Y%m%dT%H%M%S_%fZ"))
    try:
        with connection.transaction():
            # The server waits for sessions that are closing, and refuses because of others.
            connection.execute(unmark)
            connection.execute(rename.format(Identifier(database), Identifier(aside)))
            connection.execute(rename.format(Identifier(restored), Identifier(database)))
            if there.owner != connection.info.user:
                connection.execute(
                    SQL("alter database {} owner to {}").format(Identifier(database), Identifier(there.owner))
                )
    except errors.ObjectInUse as error:
        raise _in_use(database) from error
    if not there.empty:
        return aside
    # Somebody may have created something in it meanwhile.
    return None if _dropped(connection, aside) else aside


# Filling the new one -------------------------------------------------------------------------------------------------


def _fill(
    settings: Settings, uri: str, source: Path, connection: Transaction, releases: Sequence[Release]
) -> tuple[str, ...]:
    """Restore the backup into an empty database and check its schema. Returns what it lacks."""
    with _owner_granted(connection) as as_owner:
        connection.execute(SQL("grant create on database {} to {}").format(Identifier(_named(uri)), Identifier(OWNER)))
        with contextlib.closing(connect(uri, settings)) as inside:
            open_schemas(inside, ("public",))  # error tables are in it
        newest = client.major(client.program(settings, "pg_restore"))
        if connection.info.server_version // 10000 < NEW_SETTING_FROM <= newest:
            _fill_by_script(settings, uri, source, as_owner=as_owner)
        else:
            options = ["--role", OWNER, "--no-owner"] if as_owner else []
            client.run(settings, "pg_restore", uri, "--exit-on-error", "--single-transaction", *options, source)
        with contextlib.closing(connect(uri, settings)) as inside:
            _begin_incarnation(inside)
            try:
                check_schema(inside, releases)
            except MigrationRefused as refusal:
                if refusal.code != "schema_older":
                    raise
                missing = refusal.facts["missing"]
                assert isinstance(missing, list)
                return tuple(missing)
    return ()


def _begin_incarnation(connection: Transaction) -> None:
    """Record that a restore happened, also into the cluster the backup came from or a copy of it.

    Its transaction ids may have been used before, for rows that are not in the backup.
    """
    with connection.transaction():
        connection.execute(SQL("set local role {}").format(Identifier(OWNER)))
        connection.execute(
            "insert into recoup.incarnation (incarnation, system_identifier, began_at)"
            " select coalesce(max(incarnation), 0) + 1, (select system_identifier from pg_control_system()),"
            " clock_timestamp() from recoup.incarnation"
        )


def _fill_by_script(settings: Settings, uri: str, source: Path, *, as_owner: bool) -> None:
    """As SQL text, from which the setting that an older server refuses is removed."""
    with tempfile.TemporaryDirectory(prefix="recoup-restore-") as folder:
        script = Path(folder, "script.sql")
        client.run(settings, "pg_restore", None, *(["--no-owner"] if as_owner else []), "--file", script, source)
        with script.open("r+b") as file:
            at = file.read(SCRIPT_HEAD_BYTES).find(NEW_SETTING)
            if at >= 0:
                file.seek(at + 1)
                file.write(b"---")  # makes the line a comment of the same length
        options = ["--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null"]
        if as_owner:
            options += ["--command", f"set role {OWNER}"]
        client.run(settings, "psql", uri, *options, "--file", script)


@contextlib.contextmanager
def _owner_granted(connection: Transaction) -> Iterator[bool]:
    """During the block, programs that use this login can act as the owner. True if they have to.

    A superuser needs nothing. Another login that may do this could do it at any time, so it gains nothing. A killed run
    leaves the membership, and the next migration revokes it.
    """
    (superuser,) = connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone() or (
        False,
    )
    if superuser:
        yield False
        return
    granted: list[str] = []
    try:
        for role in (OWNER, Authority.READER.role):
            if not _may_become(connection, role):
                _grant(connection, role)
                granted.append(role)
        yield True
    finally:
        for role in granted:
            connection.execute(SQL("revoke {} from current_user").format(Identifier(role)))


def _grant(connection: Transaction, role: str) -> None:
    try:
        connection.execute(SQL("grant {} to current_user").format(Identifier(role)))
    except errors.InsufficientPrivilege as error:
        user = connection.info.user
        raise ServerRefused(
            "login_lacks_rights",
            f"Backup and restore act as {OWNER}, and the login {user} may not: {error.diag.message_primary}.",
            "Set RECOUP_ADMIN_DSN to the login that migrates, or to a superuser. If the roles were created by another"
            f" login, that one must: GRANT {role} TO {user} WITH ADMIN OPTION.",
            login=user,
        ) from error


def _may_become(connection: Transaction, role: str) -> bool:
    try:
        with connection.transaction(force_rollback=True):
            connection.execute("select set_config('role', %s, true)", (role,))
    except errors.InsufficientPrivilege:
        return False
    return True


# Names and connections -----------------------------------------------------------------------------------------------


def _named(uri: str) -> str:
    name = options_of(uri).get("dbname")
    if not name:
        raise InputRefused(
            "database_unnamed",
            f"{where(uri)} names no database to restore.",
            "Name it in the connection string: postgresql://user:password@host:port/database.",
        )
    return str(name)


def _name_with_ending(database: str, ending: str) -> str:
    room = MAX_NAME_BYTES - len(ending.encode())
    return database.encode()[:room].decode(errors="ignore") + ending


def _maintenance(settings: Settings, uri: str) -> Transaction:
    """A connection to a database that every server has: a session cannot rename its own."""
    try:
        return connect(make_conninfo(uri, dbname="postgres"), settings)
    except ServerRefused as refusal:
        if refusal.code != "database_missing":
            raise
        return connect(make_conninfo(uri, dbname="template1"), settings)


# The file ------------------------------------------------------------------------------------------------------------


def _refuse_taken(target: Path) -> None:
    if os.path.lexists(target):
        raise InputRefused(
            "target_exists",
            f"{target} exists, and a backup does not overwrite files.",
            "Name another file, or move that one away.",
            target=str(target),
        )


@contextlib.contextmanager
def _temporary_file(target: Path) -> Iterator[Path]:
    """A temporary file on the same disk, closed to others; removed unless it was renamed."""
    part = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        os.close(handle)
        part = Path(name)
        yield part
    except OSError as error:
        raise InputRefused(
            "target_unwritable",
            f"{target} cannot be written: {error.strerror or error}.",
            "Name a file in a folder that you can write, on a disk with space.",
            target=str(target), error=str(error),
        ) from error  # fmt: skip
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
