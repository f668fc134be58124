"""Whoever changes a value behind the triggers is found: every column of every table, or the reason why not."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import CheckViolation
from psycopg.sql import Identifier

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

SEALED = {log.table: log for log in LOGS if log.canon}
CONTENTS = {life.table: {column for form in life.contents for column in form} for life in LIFECYCLES}

WHOLE = {"recoup.error_archive": "errors/7/archived-as-it-was"}  # whose rows have a digest over all of them

# What is found, if at all, in some rows only. Each with its reason.
NOT_COVERED = {
    "cl.gate_zero_recovery.recovery_id": "nothing refers to it; all else of a recovery follows from the AIR log",
    "recoup.error_archive_month.dropped_at": "the control log says when; nothing is decided by it",
    "recoup.incarnation.began_at": "numbers and identities of clusters are compared, with every seal",
    "recoup.operation.next_at": "a turn at a rate, which each batch moves on; what went is in the events",
    "recoup.operation_item.refusal": "words for people; what was done is in the events of the row that it names",
    "recoup.operation_item.ended_at": "the same",
    "recovery.candidate.lease_until": "while it is executed, its lease has it too; later nothing is decided by it",
    "recovery.failure_match.wakes": "waking a match is no event: it only makes an evaluation due",
    "recovery.failure_match.updated_at": "of a match that ended it is in the provenance; waking is no event",
    "recovery.run.heartbeat_at": "of a run that ended it is in the trace; while it runs, a heartbeat is no event",
    "partitions.backfill.updated_at": "when it ended is in the control log, and so is every move",
    "partitions.run.lease_until": "an extended lease is no event; whether there is one is compared with the events",
    "partitions.run.updated_at": "of a run that ended it is in its events; an extended lease is no event",
    "partitions.sink.checked_at": "checking a sink again is no event; its outage and its end are",
    "partitions.sink.updated_at": "the same",
    "recoup.worker.heartbeat_at": "a heartbeat is no event: it would be the largest log of all",
}

COLUMNS = """
select a.attname, format_type(a.atttypid, null)
  from pg_attribute a
 where a.attrelid = to_regclass(%s) and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
   and a.attidentity = ''
 order by a.attnum
"""
TABLES = """
select format('%I.%I', n.nspname, c.relname)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relowner = 'recoup_owner'::regrole and c.relkind in ('r', 'p') and not c.relispartition
"""
# What a value is changed to: one that another row has, or else this.
OTHER = {
    "text": "coalesce({0}, '') || 'x'", "integer": "coalesce({0}, 0) + 1", "bigint": "coalesce({0}, 0) + 1",
    "smallint": "coalesce({0}, 0) + 1", "real": "coalesce({0}, 0) / 2 + 0.01",
    "double precision": "coalesce({0}, 0) / 2 + 0.01",
    "numeric": "coalesce({0}, 0) + 1",
    "boolean": "{0} is not true", "uuid": "gen_random_uuid()", "jsonb": "'{{\"forged\": true}}'",
    "timestamp with time zone": "coalesce({0} + interval '61 seconds', recoup.now() - interval '1 hour')",
    "text[]": "array_append({0}, 'forged')", "bytea": "sha256(coalesce({0}, ''))", "date": "{0} + 31",
    "uuid[]": "array[gen_random_uuid()]", "bigint[]": "array_append({0}, 0::bigint)",
    "bytea[]": "array[sha256('forged')]", "xid8": "'3'", "pg_snapshot": "'3:3:'",
}  # fmt: skip
FORGE = """
with one as (select tableoid, ctid from {table} where {which} order by 1, 2 limit 1)
update {table} r set {column} = {value} from one
 where (r.tableoid, r.ctid) = (one.tableoid, one.ctid) and ({value})::text is distinct from r.{column}::text
"""
NAMES = sorted(
    {life.table for life in LIFECYCLES}
    | {log.table for log in LOGS}
    | {life.queue.table for life in LIFECYCLES if life.queue}
    | {"recovery.lease", "recovery.experience"}
)


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
    """What holds without triggers and constraints: the invariants that are about rows."""
    with acting(forger, Authority.READER):
        holds = {verdict.id for verdict in examine(forger, INVARIANTS) if verdict.holds}
    return [one for one in INVARIANTS if one.id in holds]


def finder(tx: Transaction, holding: Sequence[Invariant], table: str, column: str) -> str | None:
    """The first invariant that is broken, the likely ones asked first."""
    with acting(tx, Authority.READER):
        if table in SEALED:
            return "laws/L10/seals" if seals.verify(tx, [SEALED[table]]) else None
        for invariant in sorted(holding, key=lambda one: _unlikely(one, table, column)):
            (verdict,) = examine(tx, [invariant])
            if not verdict.holds:
                return invariant.id
    return None


def _unlikely(one: Invariant, table: str, column: str) -> tuple[bool, ...]:
    content = (one.id == f"laws/L6/content/{table}" and column in CONTENTS[table]) or one.id == WHOLE.get(table)
    return not content, one.id.startswith("schema/"), table.split(".")[1] not in _text(one)


@cache
def _text(one: Invariant) -> str:
    return one.id + (one.query.sql.as_string() if one.query is not None else "")


def forged(tx: Transaction, table: str, column: str, type_: str) -> Iterator[str]:
    """Every way to change one value of a column, each undone after the check: what it was changed to."""
    name = Identifier(column).as_string()
    own = f"r.{name}"
    another = f"(select o.{name} from {table} o where o.{name} is distinct from {own} and o.{name} is not null limit 1)"
    for which in (f"{name} is not null", f"{name} is null"):
        for value in (OTHER[type_].format(own), another):
            forge = FORGE.format(table=table, which=which, column=name, value=value)
            # There is no partition for it: that is no way.
            with contextlib.suppress(CheckViolation), tx.transaction(force_rollback=True):
                if tx.execute(forge.encode()).rowcount:
                    yield f"{which}: {value}"


@pytest.mark.parametrize("table", NAMES)
def test_a_value_that_was_changed_is_found(
    forger: Transaction, holding: list[Invariant], table: str, pytestconfig: pytest.Config
) -> None:
    """One way for each column; in the long runs every way. Of a sealed log some columns: its canon has them all."""
    long = pytestconfig.getoption("--times") > 1
    missed = []
    columns = forger.execute(COLUMNS, (table,)).fetchall()
    if table in SEALED and not long:
        assert {column for column, _ in columns} <= set(SEALED[table].columns[-1])
        columns = columns[:: max(len(columns) // 3, 1)]
    for column, type_ in columns:
        if f"{table}.{column}" in NOT_COVERED:
            continue
        for way in forged(forger, table, column, type_):
            if finder(forger, holding, table, column) is None:
                missed.append(f"{column}, {way}")
            if not long:
                break
    assert not missed, "\n".join(missed)


def test_every_table_is_tried_or_declared(forger: Transaction) -> None:
    """Those of the declaration are compared with the program row by row (laws/L1/lifecycles); the rest are books."""
    known = {*NAMES, *BOOKS, *DECLARED}
    assert {name for (name,) in forger.execute(TABLES)} == known


def test_what_is_listed_is_there(forger: Transaction) -> None:
    for name in NOT_COVERED:
        table, _, column = name.rpartition(".")
        assert column in {found for found, _ in forger.execute(COLUMNS, (table,))}, name


DECLARED = tuple(f"recoup.{name}" for name in ("lifecycle", "lifecycle_step", "follower", "log", "pausable",
                                               "policy_bound"))  # fmt: skip
BOOKS = {
    "recoup.domain": "releases and digests are compared where the program is of the same release",
    "recoup.migration": "what was applied: checksums are compared by every migration",
    "recoup.routine": "the same; the functions themselves are compared with the program",
    "recoup.subscription": "a reader's own position: one that moves it back reads again",
    "recoup.alert_gauge": "what was measured last: it is measured again within seconds",
    "recoup.alert_round": "when that was",
    "recoup.api_key_use": "when a key was used last; nothing is decided by it",
    "recoup.session": "kept for hours; one that differs from its key is found (service/sessions)",
    "recoup.idempotency": "kept for a day; its answers are for whoever sent the requests",
    "recoup.rate_bucket": "refilled within seconds",
    "recoup.denied_call": "counts for people; nothing is decided by them",
    "recoup.duty_tally": "counts for people; nothing is decided by them",
    "recoup.queue_form": "it has no rows",
    "recoup.error_tally": "counts of events: an invariant of metrics compares them with the log",
    "recoup.error_tally_mark": "up to where they were counted, which the same comparison uses",
}
