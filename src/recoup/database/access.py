"""Which server and which database the settings mean.

RECOUP_DSN always wins. Without it there is the embedded server, started when it is needed. Beside the main database
stands the demo's, on the same server.
"""

import contextlib
from collections.abc import Iterator, Sequence

from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from recoup.database.connection import Database, Transaction, connect
from recoup.database.failures import options_of
from recoup.database.releases import Release, check_schema
from recoup.refusals import ServerRefused
from recoup.settings import Settings

MAIN = "recoup"
DEMO = "recoup_demo"


def uri(settings: Settings, *, demo: bool = False, admin: bool = False) -> str:
    """A connection string that any client can use. Starts the embedded server if that is the one meant."""
    if settings.dsn is None:
        from recoup.database import embedded

        return embedded.start(settings).uri(DEMO if demo else MAIN, admin=admin)
    # The admin's string may name another database; what is meant is always the everyday one's.
    name = DEMO if demo else options_of(settings.dsn).get("dbname")
    dsn = (settings.admin_dsn or settings.dsn) if admin else settings.dsn
    return make_conninfo(dsn, dbname=name) if demo or (admin and name) else dsn


def login(settings: Settings) -> str:
    """The everyday login, which gets the authorities."""
    if settings.dsn is None:
        from recoup.database import embedded

        return embedded.start(settings).app
    user = options_of(settings.dsn).get("user")
    if user:
        return str(user)
    with contextlib.closing(connect(settings.dsn, settings)) as connection:  # whoever libpq takes us for
        return connection.info.user


@contextlib.contextmanager
def administration(settings: Settings, *, demo: bool = False) -> Iterator[Transaction]:
    """A connection that may change the schema, in autocommit."""
    with contextlib.closing(connect(uri(settings, demo=demo, admin=True), settings)) as connection:
        yield connection


@contextlib.contextmanager
def opened(settings: Settings, releases: Sequence[Release], *, demo: bool = False) -> Iterator[Database]:
    """The database for everyday work, at a schema this program can work with; or a refusal."""
    with Database(uri(settings, demo=demo), settings) as database:
        with contextlib.closing(connect(database.conninfo, settings)) as connection:
            check_schema(connection, releases)
        yield database


def ensure_demo_database(settings: Settings, *, anew: bool) -> None:
    """Make the demo's database if it is missing; ``anew`` drops what is there first."""
    with administration(settings) as connection:
        if anew:
            connection.execute(SQL("drop database if exists {} with (force)").format(Identifier(DEMO)))
        if connection.execute("select from pg_database where datname = %s", (DEMO,)).rowcount == 0:
            try:
                connection.execute(SQL("create database {}").format(Identifier(DEMO)))
            except (errors.DuplicateDatabase, errors.UniqueViolation) as error:
                raise ServerRefused(
                    "demo_busy", "Somebody else is building the demo at this moment.", "Wait until it is built."
                ) from error
