"""What a server says when it cannot be used, or will not, in our words; never with a password in them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, MigrationRefused, Refusal, ServerRefused, from_database

OUR_SCHEMAS = ("recoup", "cl")


class ConnectionRefused(ServerRefused, errors.OperationalError):
    """No connection for the moment. An OperationalError too, for whoever tries again after one."""


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
    """A connection string in words, without its password."""
    parts = options_of(conninfo)
    host = parts.get("host") or "the local socket"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('user') or 'the current user'}@{host}{port}/{parts.get('dbname') or ''}"


def refused_as_full(conninfo: str, error: psycopg.Error) -> ConnectionRefused | None:
    """A server that is there and has no connection left, or None."""
    said = " ".join(str(error).split())
    if not re.search("too many clients|remaining connection slots|too many connections for", said):
        return None
    return ConnectionRefused(
        "connections_used_up",
        f"The server has no connection left for {where(conninfo)}: {said}.",
        "End sessions that nobody needs (select * from pg_stat_activity), lower RECOUP_POOL_MAX, or raise"
        " max_connections or the limit that the message names.",
        at=where(conninfo),
    )


def unreachable(conninfo: str, error: psycopg.Error) -> ServerRefused:
    """Why there is no connection."""
    said = " ".join(str(error).split())
    at = where(conninfo)
    # A failed connection carries no SQLSTATE in libpq; its words are the server's own.
    for words, code, next_step in (
        ("password authentication failed", "login_refused", "Check user and password in the connection string."),
        ("no password supplied", "login_refused", "Put the password into the connection string, or a .pgpass file."),
        (r'role ".*" does not exist', "login_refused", "Check the user in the connection string."),
        (r'database ".*" does not exist', "database_missing", "Create the database, or name another one."),
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
def as_refusals(conninfo: str, authority: Authority | None = None) -> Iterator[None]:
    """What the database refuses leaves as a refusal; anything else leaves as it is."""
    try:
        yield
    except Refusal:
        raise
    except errors.InsufficientPrivilege as error:
        raise _lacks_right(conninfo, error, authority) from error
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
        # The driver's own: a pooler answers BEGIN and COMMIT twice when it loses the server. By this those know it who
        # try again after a lost connection.
        raise errors.OperationalError(f"The connection was lost: {error}") from error
    except psycopg.Error as error:
        refusal = from_database(error)
        if refusal is None:
            raise
        raise refusal from error


def _lacks_right(conninfo: str, error: errors.InsufficientPrivilege, authority: Authority | None) -> Refusal:
    message = error.diag.message_primary or str(error)
    if "set role" in message:
        return MigrationRefused(
            "login_lacks_authority",
            f"The login {where(conninfo)} may not act for Recoup: {message}.",
            "Run recoup migrate with RECOUP_ADMIN_DSN set to a login that may grant roles.",
        )
    role = "this authority" if authority is None else authority.role
    happened = f"{role} has no right to do that: {message}."
    found = re.search(r"permission denied for (schema|table|view|sequence) (.+)", message)
    kind, name = found.groups() if found else ("", "")
    facts = {"sqlstate": error.sqlstate, "role": role, "object": name or None}
    if not kind or (kind == "schema" and name in OUR_SCHEMAS):
        pages = "docs/lifecycles.md lists which authority may make which move."
        return LawRefused("authority_lacks_right", happened, pages, **facts)
    rights = {"schema": "USAGE ON SCHEMA", "sequence": "USAGE ON SEQUENCE"}.get(kind, "SELECT, INSERT, UPDATE ON TABLE")
    return LawRefused(
        "authority_lacks_right",
        happened,
        f"If the {kind} is your own: use your own connection, and pass it to Recoup as tx="
        f" (docs/howto/ask-before-you-promote.md); or GRANT {rights} {name} TO {role}. If it is Recoup's:"
        " docs/lifecycles.md lists which authority may make which move.",
        **facts,
    )
