"""Whoever changes a value behind the triggers is found: every column of every table, or the reason why not."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import CheckViolation
from psycopg.sql import SQL, Identifier

from company import acting
from conformance.breaches import UNGUARD
from product import INVARIANTS, LIFECYCLES, LOGS
from recoup.audit.examine import examine
from recoup.audit.invariant import Invariant
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from lively import play

NOT_COVERED: dict[str, str] = {}
SEALED = {log.table: log for log in LOGS if log.canon}
CONTENTS = {life.table: {column for form in life.contents for column in form} for life in LIFECYCLES}

COLUMNS = """
select format('%I.%I', n.nspname, c.relname), a.attname, format_type(a.atttypid, null)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
 where c.relowner = 'recoup_owner'::regrole and c.relkind in ('r', 'p') and not c.relispartition
   and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
 order by 1, a.attnum
"""
# What a value is changed to: one that another row has, or else this.
OTHER = {
    "text": "coalesce({0}, '') || 'x'", "integer": "coalesce({0}, 0) + 1", "bigint": "coalesce({0}, 0) + 1",
    "boolean": "{0} is not true", "uuid": "gen_random_uuid()", "jsonb": "'{{\"forged\": true}}'",
    "timestamp with time zone": "coalesce({0} + interval '61 seconds', recoup.now() - interval '1 hour')",
    "text[]": "array_append({0}, 'forged')", "bytea": "sha256(coalesce({0}, ''))", "date": "{0} + 31",
    "bytea[]": "array[sha256('forged')]", "xid8": "'3'", "pg_snapshot": "'3:3:'",
}  # fmt: skip
FORGE = """
with one as (select tableoid, ctid from {table} where {which} order by 1, 2 limit 1)
update {table} r set {column} = {value} from one
 where (r.tableoid, r.ctid) = (one.tableoid, one.ctid) and {value} is distinct from r.{column}
"""


@pytest.fixture(scope="module")
def forger(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser in a database in which everything has happened, with nothing in the way but the audit."""
    with Database(server.uri(new_database()), settings) as database:
        play(database)
        with database.transaction(Authority.ARCHIVER) as tx:
            seals.seal(tx, block_rows=1000)
        name = str(conninfo_to_dict(database.conninfo)["dbname"])
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
        connection.execute("set statement_timeout = 0")
        with connection.transaction(force_rollback=True):
            connection.execute(UNGUARD)
            yield connection


@pytest.fixture(scope="module")
def holding(forger: Transaction) -> list[Invariant]:
    """What holds without triggers and constraints: those that are about the rows."""
    with acting(forger, Authority.READER):
        holds = {verdict.id for verdict in examine(forger, INVARIANTS) if verdict.holds}
    return [one for one in INVARIANTS if one.id in holds]


def finder(tx: Transaction, holding: Sequence[Invariant], table: str, column: str) -> str | None:
    """The first invariant that is broken, the likely ones asked first."""

    def unlikely(one: Invariant) -> tuple[bool, ...]:
        content = one.id == f"laws/L6/content/{table}" and column in CONTENTS[table]
        sealed = one.id == "laws/L10/seals" and table in SEALED
        return (
            not content,
            not sealed,
            one.id.startswith("schema/"),
            table.split(".")[1] not in f"{one.id} {_text(one)}",
        )

    with acting(tx, Authority.READER):
        for invariant in sorted(holding, key=unlikely):
            (verdict,) = examine(tx, [invariant])
            if not verdict.holds:
                return invariant.id
    return None


def _text(invariant: Invariant) -> str:
    return invariant.query.sql.as_string() if invariant.query is not None else ""


def forged(tx: Transaction, table: str, column: str, type_: str) -> Iterator[str]:
    """Every way to change one value of a column, each undone after it was looked at: what it was changed to."""
    own = SQL("r.{}").format(Identifier(column)).as_string()
    name = Identifier(column).as_string()
    another = f"(select o.{name} from {table} o where o.{name} is distinct from {own} and o.{name} is not null limit 1)"
    for which in (f"{name} is not null", f"{name} is null"):
        for value in (another, OTHER[type_].format(own)):
            forge = FORGE.format(table=table, which=which, column=name, value=value)
            # There is no partition for it: that is no way.
            with contextlib.suppress(CheckViolation), tx.transaction(force_rollback=True):
                if tx.execute(forge.encode()).rowcount:
                    yield f"{which}: {value}"
