"""Error tables are made by a migration from the policy in force: with their archives, and beside what others have."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg import errors

from company import acting, advance, claimed_error, error_in, new_archive_month, new_error, room_in_archive
from databases import START
from product import PARTS, apply_policy, chosen, migrate
from recoup import policy
from recoup.audit import examine
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.domains import DOMAINS
from recoup.errors import archive, listing, retrying
from recoup.errors.checks import error_tables
from recoup.errors.duties import DUTIES
from recoup.errors.importing import import_file
from recoup.errors.listing import Filter
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused
from recoup.schema import checks
from recoup.schema.describe import SCHEMA_FILE, describe
from recoup.schema.migrate import Migrated
from recoup.settings import Settings
from recoup.worker.loop import WorkerLoop

NOTHING = Migrated(applied=(), routines=(), domains=(), kept=(), policy=None, made=())
OWN = """
[errors.tables."sales.lead_errors"]
ttl = "{}"
default = "ARCHIVE"
allowed = ["ARCHIVE", "RETRY"]
blocks = false
owner = "sales"
archive_years = 3
"""


@pytest.fixture
def connection(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser's connection to a migrated database of the test's own."""
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection:
        yield connection


def applied(connection: Transaction, text: str) -> None:
    with connection.transaction(), acting(connection, Authority.OPERATOR):
        apply_policy(connection, text, reason="a test")


def objects(connection: Transaction) -> list[str]:
    """What the doctor says of the schema."""
    return [finding.verdict for finding in checks.objects(connection, DOMAINS)]


def test_a_table_that_a_policy_adds_is_made_by_the_next_migration(
    connection: Transaction, server: embedded.Server
) -> None:
    """With guards and an archive like the others. Until then nothing can be recorded there."""
    applied(connection, OWN.format("LONG"))
    with pytest.raises(errors.DatabaseError, match="has not been created yet"), connection.transaction():
        new_error(connection, table="sales.lead_errors", want=None)
    assert migrate(connection, login=server.app) == dataclasses.replace(NOTHING, made=("sales.lead_errors",))
    assert migrate(connection, login=server.app) == NOTHING
    with connection.transaction():
        error = new_error(connection, table="sales.lead_errors", want=None)
    row = connection.execute(
        "select e.error_id, e.ttl_tier, c.reloptions from sales.lead_errors e join pg_class c on c.oid = e.tableoid"
    ).fetchone()
    assert row == (error, "LONG", ["fillfactor=85"])
    assert connection.execute("select count(*) from sales.lead_errors_archive").fetchone() == (0,)


def test_what_a_policy_and_the_months_have_made_is_no_fault_of_the_schema(
    connection: Transaction, server: embedded.Server
) -> None:
    """The doctor compares what was shipped; the whole text has all of it."""
    assert objects(connection) == ["ok"]
    applied(connection, OWN.format("LONG"))
    migrate(connection, login=server.app)
    with connection.transaction():
        error = error_in(connection, "RESOLVED")
        room_in_archive(connection, error)
        new_archive_month(connection, table="sales.lead_errors")
    assert objects(connection) == ["ok"]
    assert describe(connection, as_shipped=DOMAINS) == SCHEMA_FILE.read_text(encoding="utf-8")
    whole = describe(connection)
    for made in (
        "create schema sales authorization recoup_owner;",
        "create table sales.lead_errors (",
        "create table sales.lead_errors_archive (",
        "create table sales.lead_errors_archive_199001 (",
        "create table outreach.dol_errors_archive_202601 (",
    ):
        assert made in whole
    with connection.transaction(force_rollback=True):
        connection.execute("alter table public.shq_error_log disable trigger a_guard_moves")
        assert objects(connection) == ["error"]
    with connection.transaction(force_rollback=True):
        connection.execute("create table sales.mine (); alter table sales.mine owner to recoup_owner")
        assert objects(connection) == ["error"]


@pytest.mark.parametrize("taken", ["outreach.dol_errors", "public.shq_error_log_archive"])
def test_a_name_that_somebody_else_has_is_not_taken(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, taken: str
) -> None:
    """Migrating is refused with the way to adopt it, and leaves everything as it was. Then it goes on."""
    with contextlib.closing(connect(server.uri(new_database(migrated=False), admin=True), settings)) as connection:
        schema = taken.partition(".")[0]
        connection.execute(f"create schema if not exists {schema}; create table {taken} (x integer)".encode())
        connection.execute(f"insert into {taken} values (7)".encode())
        with pytest.raises(LawRefused) as caught:
            migrate(connection, login=server.app)
        assert caught.value.code == "table_taken"
        assert caught.value.facts["table"] == taken
        assert taken in caught.value.happened
        assert connection.execute("select to_regnamespace('recoup')").fetchone() == (None,)
        adopt = caught.value.next_step.partition("To adopt it: ")[2].partition(";")[0]
        assert adopt.startswith(f"alter table {taken} rename to")
        connection.execute(adopt.encode())
        assert taken.removesuffix("_archive") in migrate(connection, login=server.app).made
        assert connection.execute(f"select x from {taken}_before".encode()).fetchall() == [(7,)]


def test_an_error_table_that_is_there_stays_what_it_is(connection: Transaction, server: embedded.Server) -> None:
    """No policy drops it, makes a log of it, or makes a log forget; before it is made, a policy may."""
    applied(connection, OWN.format("INFINITE"))
    applied(connection, OWN.format("SHORT"))
    applied(connection, "")
    applied(connection, OWN.format("SHORT"))
    migrate(connection, login=server.app)
    applied(connection, OWN.format("LONG"))  # how long it is kept may change
    for text, words in (
        ("", "does not list"),
        (OWN.format("INFINITE"), "makes it INFINITE"),
        (
            OWN.format("LONG") + '\n[errors.tables."public.shq_master_error_log"]\nttl = "LONG"\n',
            "was created INFINITE",
        ),
    ):
        with pytest.raises(LawRefused, match=words) as caught:
            applied(connection, text)
        assert caught.value.code == "error_table_fixed"
    assert policy.in_force(connection).version == 6


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("outreach.bit_errors", "DEAD"),
        ("cl.cl_errors_archive", "DEAD"),
        ("outreach.dol_errors_archive", "the archive of outreach.dol_errors"),
        ("outreach.dol_errors_archive_202601", "the archive of outreach.dol_errors"),
        ("outreach.dol_errors_open", "the archive of outreach.dol_errors, or its index"),
        ("recoup.late_result", "Recoup's own"),
        ("recovery.candidate", "Recoup's own"),
        ("partitions.state", "Recoup's own"),
        ("cl.gate_zero_air", "Recoup's own tables"),
        ("cl.gate_zero_authorization", "Recoup's own tables"),
        ("pg_catalog.failures", "PostgreSQL's"),
    ],
)
def test_a_policy_names_no_table_that_cannot_be(name: str, words: str) -> None:
    """What is DEAD stays dead, and what is somebody's stays theirs: said before anything is applied."""
    with pytest.raises(InputRefused) as caught:
        policy.read(OWN.format("LONG").replace("sales.lead_errors", name), PARTS)
    assert caught.value.code == "policy_invalid"
    assert name in caught.value.happened
    assert words in caught.value.next_step


WORDS = ("select.table", "user.user")


def worded(names: Sequence[str]) -> str:
    return "".join(OWN.format("SHORT").replace("sales.lead_errors", name) for name in names)


def months(connection: Transaction, table: str) -> list[tuple[str, int | None]]:
    return connection.execute(
        "select status, rows from recoup.error_archive_month where error_table = %s order by month", (table,)
    ).fetchall()


def test_tables_that_are_words_of_sql_are_tables_like_others(
    connection: Transaction, server: embedded.Server, settings: Settings
) -> None:
    """Recorded, retried, archived, audited, and dropped when their retention is over."""
    applied(connection, worded(WORDS))
    assert set(migrate(connection, login=server.app).made) == set(WORDS)
    with connection.transaction():
        errors_ = [new_error(connection, table=table) for table in WORDS]
        for table in WORDS:
            claimed_error(connection, table=table)
    database = Database(server.uri(connection.info.dbname), settings)
    with database:
        with database.transaction(Authority.READER) as tx:
            assert {one.error_table for one in listing.list_errors(tx, Filter(tables=WORDS))} == set(WORDS)
            assert listing.show(tx, f"{WORDS[0]}/{errors_[0]}").row["status"] == "RETRY_PENDING"
        for days in (40, 4 * 366):
            with connection.transaction():
                advance(connection, timedelta(days=days))
            with database.transaction(Authority.ERROR_WORKER) as tx:
                retrying.lapse(tx)
                retrying.close_windows(tx)
            for step in (archive.sweep, archive.drop_month):
                for _ in range(5):
                    with database.transaction(Authority.ARCHIVER) as tx:
                        step(tx)
    assert {table: months(connection, table) for table in WORDS} == {table: [("DROPPED", 2)] for table in WORDS}
    assert [verdict.id for verdict in examine(connection, chosen(["errors"])) if verdict.rows] == []
    assert objects(connection) == ["ok"]


def test_a_month_that_cannot_be_dropped_stops_no_other(
    connection: Transaction, server: embedded.Server, settings: Settings
) -> None:
    """The partition of one is gone, by somebody's hand: the worker goes on with the next."""
    with connection.transaction():
        for table in ("outreach.dol_errors", "people.people_errors"):
            new_archive_month(connection, table=table)
        connection.execute(
            "alter table outreach.dol_errors_archive detach partition outreach.dol_errors_archive_199001"
        )
        connection.execute("drop table outreach.dol_errors_archive_199001")
    (duty,) = (one for one in DUTIES if one.name == "archive-retention")
    with Database(server.uri(connection.info.dbname), settings) as database:
        WorkerLoop(database, [duty], name="w").run_once()
    found = {table: months(connection, table) for table in ("outreach.dol_errors", "people.people_errors")}
    assert found == {"outreach.dol_errors": [("KEPT", None)], "people.people_errors": [("DROPPED", 0)]}


def test_the_doctor_knows_an_error_table_from_another_of_its_name(connection: Transaction) -> None:
    applied(connection, OWN.format("LONG"))
    connection.execute("create schema sales; create table sales.lead_errors ()")
    (finding,) = error_tables(connection)
    assert (finding.verdict, "sales.lead_errors" in finding.found) == ("warning", True)


ROWS = """\
{{"outreach_id": "{a}", "code": "A", "message": "the request timed out", "created_at": "{old}"}}
{{"outreach_id": "{b}", "code": "A", "message": "the request timed out", "created_at": "{old}"}}
{{"outreach_id": "{b}", "code": "A", "message": "the request timed out", "created_at": "{young}"}}
{{"outreach_id": "{d}", "code": "A", "message": "the request timed out", "created_at": "{ahead}"}}
{{"outreach_id": "{c}", "code": "A", "message": "the request timed out", "created_at": "soon"}}
{{"outreach_id": "{c}", "code": "A", "message": "the request timed out", "created_at": "{young}"}}
"""


def test_rows_of_an_adopted_table_keep_their_age(
    connection: Transaction, server: embedded.Server, settings: Settings, tmp_path: Path
) -> None:
    """TTL and window count from created_at: what is old is neither prolonged nor retried again, and the audit holds."""
    a, b, c, d = (uuid.uuid4() for _ in range(4))
    old, young, ahead = (START + timedelta(days=days, hours=1) for days in (-29, 0, 400))
    with connection.transaction():
        advance(connection, timedelta(hours=2))
    file = tmp_path / "rows.jsonl"
    file.write_text(ROWS.format(a=a, b=b, c=c, d=d, old=old, young=young, ahead=ahead))
    with Database(server.uri(connection.info.dbname), settings) as database:
        done = import_file(database, file, table="outreach.dol_errors")
    assert (done.recorded, set(done.refused.reasons)) == (4, {"failed_at_ahead", "time_unreadable"})
    rows = connection.execute(
        "select outreach_id, created_at, status, expires_at - created_at from outreach.dol_errors"
        " where archived_at is null order by created_at, status, outreach_id = %s",
        (b,),
    ).fetchall()
    month = timedelta(days=30)
    assert rows == [(a, old, "PARKED", month), (b, old, "PARKED", month), (c, young, "RETRY_PENDING", month)]
    assert [verdict.id for verdict in examine(connection, chosen(["errors", "laws"])) if verdict.rows] == []
