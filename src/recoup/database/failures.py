"""Errors of a server as refusals: unreachable, a login refused, a right missing. Never with a password."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from recoup.refusals import LawRefused, MigrationRefused, Refusal, ServerRefused, from_database

OUR_SCHEMAS = ("recoup", "cl")
DEMO = "recoup_demo"  # the demo's database
_DENIED = re.compile(r"permission denied for (schema|table|view|sequence|function|procedure|database) (\S+)")


class ConnectionRefused(ServerRefused, errors.OperationalError):
    """No connection for the moment. Also an OperationalError, for code that retries after one."""


def options_of(conninfo: str) -> dict[str, str | int | None]:
    """A connection string taken apart, or a refusal that does not repeat its password."""
    try:
        return dict(conninfo_to_dict(conninfo))
    except psycopg.ProgrammingError as error:
        raise ServerRefused(
            "dsn_unreadable",
            # Not what libpq quotes: it may be the password.
            f"RECOUP_DSN is not a connection string: {' '.join(str(error).split()).split(chr(34))[0].strip()}",
            "Write it as postgresql://user:password@host:port/database.",
        ) from error


def where(conninfo: str) -> str:
    """A connection string for people, without its password."""
    parts = options_of(conninfo)
    host = parts.get("host") or "the local socket"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('user') or 'the current user'}@{host}{port}/{parts.get('dbname') or ''}"


def refused_as_full(conninfo: str, error: psycopg.Error) -> ConnectionRefused | None:
    """The refusal of a server that has no connection left, or None."""
    said = " ".join(str(error).split())
    if not re.search("too many clients|remaining connection slots|too many connections for", said):
        return None
    return ConnectionRefused(
        "connections_used_up",
        f"The server has no connection left for {where(conninfo)}: {said}.",
        "Close sessions that are not needed (select * from pg_stat_activity), lower RECOUP_POOL_MAX, or raise"
        " max_connections or the limit in the message.",
        at=where(conninfo),
    )


def unreachable(conninfo: str, error: psycopg.Error) -> ServerRefused:
    """The refusal that says why there is no connection."""
    missing = "Create it: recoup db create NAME. Or name another one."
    if options_of(conninfo).get("dbname") == DEMO:
        missing = "Run: recoup demo"
    said = " ".join(str(error).split())
    at = where(conninfo)
    # A failed connection has no SQLSTATE in libpq, only the server's message.
    for words, code, next_step in (
        ("password authentication failed", "login_refused", "Check user and password in the connection string."),
        ("no password supplied", "login_refused", "Put the password into the connection string, or a .pgpass file."),
        (r'role ".*" does not exist', "login_refused", "Check the user in the connection string."),
        (r'database ".*" does not exist', "database_missing", missing),
    ):
        if re.search(words, said):
            return ServerRefused(code, f"The server refused the login as {at}: {said}", next_step, at=at)
    return refused_as_full(conninfo, error) or ConnectionRefused(
        "server_unreachable",
        f"No PostgreSQL server answers as {at}: {said}",
        "Start the server, or correct RECOUP_DSN; unset it to use the embedded server.",
        at=at,
    )


@contextlib.contextmanager
def as_refusals(conninfo: str, role: str | None = None) -> Iterator[None]:
    """Raises what the database refuses as a refusal, and everything else as it is. ``role``: who acts."""
    try:
        yield
    except Refusal:
        raise
    except errors.InsufficientPrivilege as error:
        raise _lacks_right(conninfo, role, error) from error
    except (errors.InvalidParameterValue, errors.UndefinedObject) as error:
        if 'role "recoup_' not in str(error):
            raise
        raise MigrationRefused(
            "not_migrated",
            f"The roles of Recoup do not exist on the server at {where(conninfo)}.",
            "Run: recoup migrate",
        ) from error
    except errors.InternalError as error:
        if error.sqlstate is not None:
            raise
        # The driver's own: a pooler answers BEGIN and COMMIT twice when it loses the server. Code that retries after a
        # lost connection knows it by this type.
        raise errors.OperationalError(f"The connection was lost: {error}") from error
    except psycopg.Error as error:
        refusal = from_database(error)
        if refusal is None:
            raise
        raise refusal from error


def _lacks_right(conninfo: str, role: str | None, error: errors.InsufficientPrivilege) -> Refusal:
    message = error.diag.message_primary or str(error)
    if "set role" in message:
        return MigrationRefused(
            "login_lacks_authority",
            f"The login {where(conninfo)} may not act for Recoup: {message}.",
            "Run recoup migrate with RECOUP_ADMIN_DSN set to a login that may grant roles.",
        )
    if "row-level security" in message:
        table = message.rpartition("table ")[2].strip('"')
        return LawRefused(
            "hub_may_not",
            f"This is not a row of the hub that the caller is limited to: {table}.",
            "Use a key of the hub that it belongs to, or one without a hub.",
            sqlstate=error.sqlstate, table=table,
        )  # fmt: skip
    denied = _DENIED.search(message)
    kind, name = denied.groups() if denied else ("", "")
    own = kind and not (kind == "schema" and name in OUR_SCHEMAS)
    return LawRefused(
        "authority_lacks_right",
        f"The role {role or 'of this connection'} has no right to do that: {message}.",
        (_if_own(kind, name, role or "THE_ROLE") if own else "")
        + "docs/lifecycles.md lists which authority may make which move.",
        sqlstate=error.sqlstate, role=role, object=name or None,
    )  # fmt: skip


def _if_own(kind: str, name: str, role: str) -> str:
    """What helps if the object belongs to the user."""
    rights = {
        "schema": "USAGE ON SCHEMA", "sequence": "USAGE ON SEQUENCE", "database": "CREATE ON DATABASE",
        "function": "EXECUTE ON FUNCTION", "procedure": "EXECUTE ON PROCEDURE",
    }.get(kind, "SELECT, INSERT, UPDATE, DELETE ON")  # fmt: skip
    which = " (those that it needs)" if "," in rights else ""
    return (
        f"If the {kind} is your own: use your own connection, and pass it to Recoup as tx="
        f" (docs/howto/ask-before-you-promote.md); or GRANT {rights} {name} TO {role}{which}. If it is Recoup's: "
    )
