"""The settings of a session of ours, independent of the defaults of role, database, server and shell."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo
from psycopg.sql import SQL, Identifier, Literal

from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings

# Settings that the driver, our SQL, digests and comparisons of definitions depend on. Other settings of speed, of
# durability and of read-only mode stay the administrator's.
PINNED = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "quote_all_identifiers": "off",
    "search_path": "public, pg_temp",  # pg_catalog is before both; a temporary table hides nothing
    "default_transaction_isolation": "read committed",
    # A guard's statements are short, but long enough in text that a server with LLVM compiles them for seconds.
    "jit": "off",
}
TRANSACTION_TIMEOUT_FROM = 170000
READER_OPTION = f"-c role={Authority.READER.role}"
_READER = re.compile(rf"(?:^|(?<=\s))-c\s*role={Authority.READER.role}(?=\s|$)")
_SPLITS, _ESCAPED = re.compile(r"[\\\s]"), r"\\\g<0>"  # what ends a startup option, unless escaped
# In place of nothing, which libpq would not take.
_UNSAID = {
    "sslcertmode": "allow",
    "require_auth": "scram-sha-256",
    "min_protocol_version": "3.0",
    "max_protocol_version": "3.0",
}
_ALWAYS_GIVEN = {"service", "user", "password", "dbname", "host", "port", "connect_timeout"}


def waits(settings: Settings) -> dict[str, str]:
    """Timeouts of statements, locks and idle transactions: no session of ours blocks others forever."""
    return {
        "statement_timeout": str(settings.statement_timeout_ms),
        "lock_timeout": str(settings.lock_timeout_ms),
        "idle_in_transaction_session_timeout": str(settings.idle_in_transaction_timeout_ms),
    }


def pinned(version: int) -> dict[str, str]:
    """What is pinned on a server of this version."""
    return PINNED | ({"transaction_timeout": "0"} if version >= TRANSACTION_TIMEOUT_FROM else {})


def configured(settings: dict[str, str], local: str) -> str:
    """The settings as expressions of a SELECT; ``local`` is an expression too: for the transaction alone."""
    parts = (
        SQL("pg_catalog.set_config({}, {}, {})").format(name, value, SQL(local)) for name, value in settings.items()
    )
    return SQL(", ").join(parts).as_string()


@lru_cache
def pinning(version: int) -> str:
    """A statement that pins them in the session."""
    return "select " + configured(pinned(version), "false")


@lru_cache
def pinning_locally(version: int) -> str:
    """The same for the transaction only, in statements that take no snapshot: it may not have one yet."""
    one = SQL("set local {} = {}")
    parts = (
        one.format(Identifier(name), SQL(", ").join(map(Literal, value.split(", "))))
        for name, value in pinned(version).items()
    )
    return SQL("; ").join(parts).as_string()


def reading(conninfo: str) -> str:
    """A connection string for people and other programs: its session has the rights of the reader from the start."""
    found = conninfo_to_dict(conninfo).get("options")
    if conninfo.startswith(("postgresql://", "postgres://")) and not found:  # of two options the last one counts
        return f"{conninfo}{'&' if '?' in conninfo else '?'}options={quote(READER_OPTION, safe='')}"
    return make_conninfo(conninfo, options=f"{found or ''} {READER_OPTION}".strip())


def without_reader(options: str) -> str:
    """Startup options without the role that :func:`reading` adds: sessions of ours take the role they need."""
    return _READER.sub("", options).strip()


def not_reading(conninfo: str) -> str:
    """A connection string without the role that :func:`reading` adds."""
    for mark in "?&":
        conninfo = conninfo.removesuffix(f"{mark}options={quote(READER_OPTION, safe='')}")
    options = str(conninfo_to_dict(conninfo).get("options") or "")
    kept = without_reader(options)
    return conninfo if kept == options else make_conninfo(conninfo, options=kept)


def startup_options(settings: dict[str, str]) -> list[str]:
    return [f"-c {name}={_SPLITS.sub(_ESCAPED, value)}" for name, value in settings.items()]


def unswayed() -> str:
    """The end of a URI that overrides PG* variables of the shell, and the service they name."""
    service = "PGSERVICE" in os.environ
    return "".join(
        f"&{keyword}={quote(_UNSAID.get(keyword, (option.compiled or b'').decode()), safe='')}"
        for option in Conninfo.get_defaults()
        if option.envvar and (service or option.envvar.decode() in os.environ)
        if (keyword := option.keyword.decode()) not in _ALWAYS_GIVEN
    )
