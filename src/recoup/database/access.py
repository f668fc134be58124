"""Which server and which database the settings mean.

RECOUP_DSN always wins. Without it there is the embedded server, started when it is needed. The demo has a database of
its own on the same server.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from recoup.database.connection import Database, Transaction, connect
from recoup.database.failures import DEMO, options_of
from recoup.database.releases import Release, check_schema
from recoup.database.session import not_reading, reading
from recoup.refusals import InputRefused, ServerRefused
from recoup.settings import Settings

MAIN = "recoup"
MAX_NAME_BYTES = 63  # a longer name would be cut by the server


def uri(settings: Settings, *, demo: bool = False, admin: bool = False, database: str | None = None) -> str:
    """A connection string that any client can use. Starts the embedded server if that is the one meant."""
    wanted = database or (DEMO if demo else None)
    if settings.dsn is None:
        from recoup.database import embedded

        return embedded.start(settings).uri(wanted or MAIN, admin=admin)
    everyday = options_of(settings.dsn)
    dsn = (settings.admin_dsn or settings.dsn) if admin else settings.dsn
    # The admin's string may name another database; what is meant is always the everyday one's.
    name = wanted or (everyday.get("dbname") if admin else None)
    dsn = not_reading(dsn)
    return make_conninfo(dsn, dbname=name) if name else dsn


def reading_uri(settings: Settings, *, demo: bool = False, database: str | None = None) -> str:
    """A connection string whose sessions can read: they have the role of the reader.

    Without that role where it cannot be had: before the first migration, behind a pooler, while no server answers.
    """
    plain = uri(settings, demo=demo, database=database)
    try:
        psycopg.connect(reading(plain), connect_timeout=settings.connect_timeout_s).close()
    except psycopg.Error:
        return plain
    return reading(plain)


def login(settings: Settings) -> str:
    """The everyday login, which is granted the authorities."""
    if settings.dsn is None:
        from recoup.database import embedded

        return embedded.start(settings).app
    user = options_of(settings.dsn).get("user")
    if user:
        return str(user)
    with contextlib.closing(connect(settings.dsn, settings)) as connection:  # libpq's default
        return connection.info.user


@contextlib.contextmanager
def administration(settings: Settings, *, demo: bool = False, database: str | None = None) -> Iterator[Transaction]:
    """A connection that may change the schema, in autocommit."""
    admin = uri(settings, demo=demo, admin=True, database=database)
    with contextlib.closing(connect(admin, settings)) as connection:
        yield connection


@contextlib.contextmanager
def opened(settings: Settings, releases: Sequence[Release], *, demo: bool = False) -> Iterator[Database]:
    """The database for everyday work, at a schema this program can work with; or a refusal."""
    with Database(uri(settings, demo=demo), of_demo(settings) if demo else settings) as database:
        with contextlib.closing(connect(database.conninfo, settings)) as connection:
            check_schema(connection, releases)
        yield database


def of_demo(settings: Settings) -> Settings:
    """The settings for the demo's database: its raw sink is its own, and never the one that is configured."""
    return replace(settings, sink=settings.home / "demo-sink", sink_name="demo")


def ensure_demo_database(settings: Settings, *, anew: bool) -> None:
    """Create the demo's database if it is missing; ``anew`` drops an existing one first."""
    with administration(settings) as connection:
        check_may_create(connection, "The demo has a database of its own")
        if anew:
            connection.execute(SQL("drop database if exists {} with (force)").format(Identifier(DEMO)))
        if connection.execute("select from pg_database where datname = %s", (DEMO,)).rowcount == 0:
            try:
                connection.execute(SQL("create database {}").format(Identifier(DEMO)))
            except (errors.DuplicateDatabase, errors.UniqueViolation) as error:
                raise ServerRefused(
                    "demo_busy", "Somebody else is building the demo at this moment.", "Wait until it is built."
                ) from error


@contextlib.contextmanager
def created(settings: Settings, name: str) -> Iterator[Transaction]:
    """A new database, as an administrator. It is dropped again if the block raises."""
    if not name or "\0" in name or len(name.encode()) > MAX_NAME_BYTES:
        raise InputRefused(
            "database_unnamed", f"{name!r} is not a name for a database.", f"1 to {MAX_NAME_BYTES} bytes, such as sim."
        )
    with administration(settings) as connection:
        check_may_create(connection, f"The database {name} would be new")
        try:
            connection.execute(SQL("create database {}").format(Identifier(name)))
        except (errors.DuplicateDatabase, errors.UniqueViolation) as error:
            raise InputRefused(
                "database_exists",
                f"There is a database {name} already.",
                f'Use it: export RECOUP_DSN="$(recoup db uri --database {name})"',
                database=name,
            ) from error
        try:
            with administration(settings, database=name) as inside:
                yield inside
        except BaseException:
            connection.execute(SQL("drop database {} with (force)").format(Identifier(name)))
            raise


def check_may_create(connection: Transaction, why: str, *, also: str = "") -> None:
    """Refuse a login that may not create databases. ``also``: another statement that it needs."""
    may = "select rolsuper or rolcreatedb from pg_roles where rolname = current_user"
    if connection.execute(may).fetchone() == (True,) and not also:
        return
    user = connection.info.user
    raise ServerRefused(
        "login_lacks_rights",
        f"{why}, and the login {user} may not create databases.",
        f"As an administrator: ALTER ROLE {user} CREATEDB;{also} or set RECOUP_ADMIN_DSN to a login that has these"
        " rights.",
        login=user,
    )
