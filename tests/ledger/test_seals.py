"""Seals: every settled row lies in exactly one block, whatever the order of commits, and blocks stay what they were."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from company import acting, advance, new_batch
from product import LOGS, RELEASES, SEALED
from recoup.cli import main as cli
from recoup.database import embedded
from recoup.database.backup import backup, restore
from recoup.database.connection import Database, Transaction, connect
from recoup.database.roles import OWNER
from recoup.ledger import seals
from recoup.ledger.seals import Head, Problem, Seal, read_head
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused
from recoup.settings import Settings
from servers import removed

sys.path.insert(0, str(Path(__file__).parent))
from sealed_world import late_result, live, many, pause, seal_all

AIR, PAUSES = "cl.gate_zero_air", "recoup.pause_log"
Connect = Callable[[], Transaction]


@dataclasses.dataclass(frozen=True)
class Own:
    """A database of its own: as everyday login, as superuser, and by plain connections."""

    database: Database
    admin: Transaction
    connection: Connect

    def verify(self, head: Head | None = None) -> list[Problem]:
        with self.database.transaction(Authority.READER) as tx:
            return seals.verify(tx, LOGS, head)

    def head(self) -> Head:
        with self.database.transaction(Authority.READER) as tx:
            return seals.export_head(tx)

    def seals(self, log: str | None = None) -> list[Seal]:
        with self.database.transaction(Authority.READER) as tx:
            return seals.list_seals(tx, log=log, limit=10_000)[::-1]

    def pause(self, *, times: int = 1) -> None:
        with self.database.transaction(Authority.HUB) as tx:
            pause(tx, new_batch(tx), times=times)


def owned(name: str, server: embedded.Server, settings: Settings) -> contextlib.AbstractContextManager[Own]:
    @contextlib.contextmanager
    def opened() -> Iterator[Own]:
        with contextlib.ExitStack() as stack:
            wide = dataclasses.replace(settings, pool_max=10)
            database = stack.enter_context(Database(server.uri(name), wide))
            admin = stack.enter_context(contextlib.closing(connect(server.uri(name, admin=True), settings)))

            def connection() -> Transaction:
                return stack.enter_context(psycopg.connect(server.uri(name), options="-c statement_timeout=30s"))

            yield Own(database, admin, connection)

    return opened()


@pytest.fixture
def own(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Own]:
    with owned(new_database(), server, settings) as it:
        yield it


@pytest.fixture(scope="module")
def busy_all_along(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Own]:
    with owned(new_database(), server, settings) as it:
        yield it


@pytest.fixture
def busy(busy_all_along: Own) -> Own:
    """A database that several tests write and seal in, one after the other; each finds everything sealed."""
    seal_all(busy_all_along.database)
    return busy_all_along


@pytest.fixture(scope="module")
def lived(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Own]:
    """Something of everything, sealed. Tests leave it as it is."""
    with owned(new_database(), server, settings) as it:
        live(it.database, it.admin)
        yield it


# The arithmetic of blocks --------------------------------------------------------------------------------------------


def visible(xid: int, snapshot: str) -> bool:
    _, high, running = snapshot.split(":")
    return xid < int(high) and str(xid) not in running.split(",")


def holds(seal: Seal, seq: int, xid: int, incarnation: int) -> bool:
    """Whether a row is in a block; written here a second time, independently of the database."""
    return (
        incarnation == seal.incarnation
        and not visible(xid, seal.since)
        and (seal.until is None or visible(xid, seal.until))
        and seq > seal.after_seq
        and (seal.closes or seq <= seal.last_seq)
    )


def assert_each_row_lies_in_one_block(own: Own) -> int:
    found = own.seals()
    counted = 0
    for log in SEALED:
        mine = [seal for seal in found if seal.log == log.log]
        rows = own.admin.execute(f"select seq, xid::text::bigint, incarnation from {log.log}").fetchall()
        for row in rows:
            assert sum(holds(seal, *row) for seal in mine) == 1, (log.log, row)
        for seal in mine:
            assert seal.rows == sum(holds(seal, *row) for row in rows)
        counted += len(rows)
    assert [seal.number for seal in found] == list(range(1, len(found) + 1))
    return counted


def test_each_row_lies_in_exactly_one_block(lived: Own) -> None:
    """In every log, over two incarnations, with late commits, long transactions and quiet times."""
    assert assert_each_row_lies_in_one_block(lived) > 300
    assert lived.verify(lived.head()) == []


def test_a_late_commit_is_sealed_late_and_breaks_nothing(busy: Own) -> None:
    """A transaction stays open over several seals; its rows have the lowest seq and come into the last block."""
    slow = busy.connection()
    with acting(slow, Authority.HUB):
        pause(slow, new_batch(slow))
        (early,) = slow.execute("select max(seq) from recoup.pause_log").fetchone() or (0,)
    for _ in range(3):
        busy.pause()
        seal_all(busy.database)
    assert busy.verify() == []
    slow.commit()
    seal_all(busy.database)
    last = busy.seals(PAUSES)[-1]
    assert last.rows == 2
    assert last.last_seq == early
    assert last.last_seq < busy.seals(PAUSES)[-2].last_seq
    assert busy.verify() == []
    assert_each_row_lies_in_one_block(busy)


def test_a_long_transaction_is_sealed_in_pages(busy: Own) -> None:
    """More rows than a block holds, all of one transaction; also one that was open for long, among others' rows."""
    with busy.database.transaction(Authority.HUB) as tx:
        many(tx, 70)
    made = seal_all(busy.database, block_rows=20)
    pages = [seal for seal in made if seal.log == AIR]
    assert [(seal.rows, seal.closes) for seal in pages] == [(20, False), (20, False), (20, False), (10, True)]
    assert len({(seal.since, seal.until) for seal in pages}) == 1
    slow = busy.connection()
    with acting(slow, Authority.HUB):
        batch = new_batch(slow)
        for _ in range(15):
            pause(slow, batch)
            busy.pause()
    seal_all(busy.database, block_rows=20)
    slow.commit()
    late = [seal for seal in seal_all(busy.database, block_rows=20) if seal.log == PAUSES]
    assert [(seal.rows, seal.closes) for seal in late] == [(20, False), (10, True)]
    assert busy.verify() == []
    assert_each_row_lies_in_one_block(busy)


def test_what_the_sealing_transaction_wrote_is_sealed_next_time(busy: Own) -> None:
    """Its own rows have not settled, whatever others commit meanwhile."""
    seal_all(busy.database)
    with busy.database.transaction(Authority.HUB) as tx:
        pause(tx, new_batch(tx))
        busy.pause(times=2)
        with acting(tx, Authority.ARCHIVER):
            made = seals.seal(tx)
        pause(tx, new_batch(tx))
    assert [seal.rows for seal in made if seal.log == PAUSES] == [4]
    assert [seal.rows for seal in seal_all(busy.database) if seal.log == PAUSES] == [4]
    assert busy.verify() == []
    assert_each_row_lies_in_one_block(busy)


def test_a_sealer_that_dies_leaves_nothing(busy: Own) -> None:
    """Rolled back, or killed in the middle: the next one seals the same rows."""
    before = busy.seals()
    busy.pause(times=30)
    with pytest.raises(ZeroDivisionError), busy.database.transaction(Authority.ARCHIVER) as tx:
        assert len(seals.seal(tx, block_rows=5, max_blocks=6)) == 6
        raise ZeroDivisionError
    doomed = busy.connection()
    with acting(doomed, Authority.ARCHIVER):
        assert len(seals.seal(doomed, block_rows=5, max_blocks=6)) == 6
    busy.admin.execute("select pg_terminate_backend(%s, 5000)", (doomed.info.backend_pid,))
    doomed.close()
    assert busy.seals() == before
    assert sum(seal.rows for seal in seal_all(busy.database, block_rows=5) if seal.log == PAUSES) == 60
    assert busy.verify() == []
    assert_each_row_lies_in_one_block(busy)


def test_a_second_sealer_waits_for_the_first(busy: Own) -> None:
    """The chain has one end."""
    busy.pause()
    first = busy.connection()
    with acting(first, Authority.ARCHIVER):
        seals.seal(first)
    second = busy.connection()
    second.execute("set lock_timeout = 200")
    with pytest.raises(psycopg.errors.LockNotAvailable), acting(second, Authority.ARCHIVER):
        seals.seal(second)
    second.rollback()
    first.commit()
    with acting(second, Authority.ARCHIVER):
        assert seals.seal(second) == []
    second.rollback()


def test_a_quiet_log_is_sealed_now_and_then(busy: Own) -> None:
    """So that a row which somebody puts into a quiet time of the past is found."""
    (quiet,) = busy.admin.execute("select pg_current_xact_id()::text").fetchone() or ("",)

    def sealed_after(minutes: int) -> list[int]:
        with busy.database.transaction(Authority.HUB) as tx:
            advance(tx, timedelta(minutes=minutes))
        return [seal.rows for seal in seal_all(busy.database) if seal.log == PAUSES]

    sealed_after(61)
    assert sealed_after(59) == []
    assert sealed_after(2) == [0]
    with busy.admin.transaction(force_rollback=True):
        busy.admin.execute("alter table recoup.pause_log disable trigger all")
        busy.admin.execute(
            "insert into recoup.pause_log (xid, incarnation, logged_at, event_type, scope, scope_id, reason, actor,"
            " actor_id, authority) values (%s::xid8, 1, now(), 'PAUSE', 'batch', 'b', 'r', 'human', 'mallory', 'x')",
            (quiet,),
        )
        assert [(p.number is None, p.log) for p in seals.verify(busy.admin, LOGS)] == [(False, PAUSES)]


def test_the_lag_is_the_age_of_what_waits_longest(busy: Own) -> None:
    """None when nothing waits; measured by recoup.now(); a late commit waits longest."""

    def lag() -> timedelta | None:
        with busy.database.transaction(Authority.READER) as tx:
            assert seals.longest_lag(tx) == max(
                (lag.total_seconds() for lag in seals.seal_lag(tx).values() if lag is not None), default=None
            )
            return seals.seal_lag(tx)[PAUSES]

    assert lag() is None
    slow = busy.connection()
    with acting(slow, Authority.HUB):
        pause(slow, new_batch(slow))
    with busy.database.transaction(Authority.HUB) as tx:
        advance(tx, timedelta(hours=3))
    busy.pause()
    assert lag() == timedelta(0)
    seal_all(busy.database)
    assert lag() is None
    slow.commit()
    assert lag() == timedelta(hours=3)
    with busy.database.transaction(Authority.ARCHIVER) as tx:
        seals.seal(tx, block_rows=1, max_blocks=2)
    assert lag() == timedelta(hours=3)  # in the middle of a window
    seal_all(busy.database)
    assert lag() is None


@pytest.mark.parametrize("block_rows", [1000, 7, 1])
def test_with_eight_writers_and_two_sealers(busy: Own, block_rows: int) -> None:
    """Early and late commits, rollbacks, savepoints, ids drawn early; sealed all the while, by two at once."""
    with busy.database.transaction(Authority.HUB) as tx:
        batches = [new_batch(tx) for _ in range(4)]
    seal_all(busy.database)
    before = len(busy.seals())
    failures: list[BaseException] = []
    done = threading.Event()

    def writer(number: int) -> None:
        rng = random.Random(number)
        tx = busy.connection()
        for _ in range(8):
            tx.execute("select set_config('role', 'recoup_operator', true)")
            if rng.random() < 0.5:
                tx.execute("select pg_current_xact_id()")
            time.sleep(rng.random() * 0.01)
            with tx.transaction() as savepoint:
                pause(tx, rng.choice(batches), times=rng.choice([1, 1, 5]))
                if rng.random() < 0.2:
                    raise psycopg.Rollback(savepoint)
            time.sleep(rng.random() * 0.01)
            tx.rollback() if rng.random() < 0.1 else tx.commit()
        tx.close()

    def sealer() -> None:
        while not done.is_set():
            with busy.database.transaction(Authority.ARCHIVER) as tx:
                seals.seal(tx, block_rows=block_rows, max_blocks=4)

    def guarded(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as failure:
                failures.append(failure)
                raise

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    writers = [guarded(lambda number=number: writer(number)) for number in range(8)]  # type: ignore[misc]
    sealers = [guarded(sealer) for _ in range(2)]
    for thread in writers:
        thread.join()
    done.set()
    for thread in sealers:
        thread.join()
    assert not failures
    seal_all(busy.database, block_rows=block_rows)
    assert_each_row_lies_in_one_block(busy)
    assert busy.verify() == []
    fresh = busy.seals()[before:]
    assert sum(seal.rows for seal in fresh) > 50
    assert max(seal.rows for seal in fresh) <= block_rows


# What a digest depends on --------------------------------------------------------------------------------------------

SESSIONS = (
    "set local timezone = 'Pacific/Chatham'; set local extra_float_digits = -5",
    "set local bytea_output = 'escape'; set local intervalstyle = 'iso_8601'",
    "set local quote_all_identifiers = on; set local standard_conforming_strings = off",
    "set local enable_indexscan = off; set local enable_bitmapscan = off; set local work_mem = '64kB'",
    "create schema evil; create function evil.sha256(bytea) returns bytea language sql as 'select null::bytea';"
    " set local search_path = evil, pg_catalog",
    "; ".join(f"alter table {log.log} add column later timestamptz default now()" for log in SEALED),
)


@pytest.mark.parametrize("session", SESSIONS)
def test_a_digest_depends_on_the_rows_alone(lived: Own, session: str) -> None:
    """Not on the session, its settings and search path, nor on a column that came later."""
    with lived.admin.transaction(force_rollback=True):
        for statement in re.split(r"; (?=set|create|alter)", session):
            lived.admin.execute(statement)
        assert seals.verify(lived.admin, LOGS, lived.head()) == []
        lived.admin.execute("set local datestyle = 'SQL, DMY'")  # which the driver itself cannot read
        assert lived.admin.execute("select from recoup.seal s where recoup.check_seal(s) is not null").rowcount == 0


def test_the_digest_does_not_depend_on_who_reads_and_how(lived: Own) -> None:
    """In a read-only snapshot, as the reader; progress is reported."""
    told: list[tuple[int, int]] = []
    tx = lived.connection()
    tx.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    tx.read_only = True
    with acting(tx, Authority.READER):
        examined = seals.examine(tx, LOGS, lived.head(), progress=lambda done, of: told.append((done, of)))
    tx.rollback()
    assert examined.problems == ()
    assert examined.rows == sum(lived.head().rows.values())
    assert set(examined.unsealed.values()) == {0}
    assert told[-1] == (examined.seals, examined.seals)


def test_a_problem_in_a_page_of_many(lived: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked in small portions, the same is found; and of very many problems, no more than a bounded number."""
    monkeypatch.setattr(seals, "SEALS_READ_AT_ONCE", 3)
    monkeypatch.setattr(seals, "CHECKED_AT_ONCE", 10)
    assert lived.verify(lived.head()) == []
    monkeypatch.setattr(seals, "MAX_PROBLEMS", 5)
    with lived.admin.transaction(force_rollback=True):
        lived.admin.execute("alter table recoup.seal disable trigger all")
        lived.admin.execute("update recoup.seal set actor_id = 'mallory'")
        assert len(seals.verify(lived.admin, LOGS)) == 5


@pytest.mark.parametrize(
    ("deed", "problem"),
    [
        ("update recoup.pause_log set logged_at = 'infinity'", "have an invalid time"),
        ("update recoup.pause_log set logged_at = '294276-12-31'", "have an invalid time"),
        ("update recoup.seal set sealed_at = '-infinity' where number = (select max(number) from recoup.seal)",
         "its time is invalid"),
        ("update recoup.seal set sealed_at = '290000-01-01' where number = 2", "1 seals before it are missing"),
    ],
)  # fmt: skip
def test_a_time_that_is_none_is_a_finding(lived: Own, deed: str, problem: str) -> None:
    """No program can read it, and no canonical text has it: that does not end the verification."""
    with lived.admin.transaction(force_rollback=True):
        for table in ("pause_log", "seal"):
            lived.admin.execute(f"alter table recoup.{table} disable trigger all".encode())
        for check in (
            "pause_log drop constraint pause_log_logged_at_check",
            "seal drop constraint seal_sealed_at_check",
        ):
            lived.admin.execute(f"alter table recoup.{check}".encode())
        lived.admin.execute(deed.encode())
        assert any(problem in found.problem for found in seals.verify(lived.admin, LOGS))


def test_every_column_is_sealed(lived: Own) -> None:
    """A column that is added to a log needs a new version of its canonical text, and the registry names the newest."""
    for log in SEALED:
        schema_less = log.log.split(".")[1]
        found: dict[str, str] = dict(
            lived.admin.execute(
                "select proname, prosrc from pg_proc where proname ~ %s", (f"^canon_{schema_less}_[0-9]+$",)
            ).fetchall()
        )
        newest = max(found, key=lambda name: int(name.rsplit("_", 1)[1]))
        assert newest == f"canon_{schema_less}_{log.canon}"
        columns = lived.admin.execute(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped",
            (log.log,),
        ).fetchall()
        assert set(re.findall(r"\bl\.(\w+)", found[newest])) == {name for (name,) in columns}
        assert log.at in {name for (name,) in columns}


def test_every_log_is_sealed(lived: Own) -> None:
    """Whatever has an order, a transaction and a cluster."""
    found = lived.admin.execute(
        "select attrelid::regclass::text from pg_attribute a"
        " join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p')"
        " where attname in ('seq', 'xid', 'incarnation') and not attisdropped group by attrelid having count(*) = 3"
    ).fetchall()
    assert {name for (name,) in found} == {log.log for log in SEALED}


def test_texts_that_look_alike_differ(lived: Own) -> None:
    """Null, nothing, quotes, commas, braces, backslashes: none can pass for another."""
    texts = [
        None,
        "",
        "NULL",
        "null",
        '"',
        '""',
        "a,b",
        'a","b',
        "a\\b",
        "a\\\\b",
        "{}",
        "{a}",
        " ",
        "\n",
        "\\n",
        "à",
        "a ",
    ]
    rows = {
        row
        for first in texts
        for second in texts
        for row in lived.admin.execute(
            "select recoup.canon_pause_log_1(jsonb_populate_record(null::recoup.pause_log, %s::jsonb))",
            (json.dumps({"scope_id": first, "reason": second}),),
        ).fetchall()
    }
    assert len(rows) == len(texts) ** 2


# Another cluster -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def second() -> Iterator[tuple[Settings, embedded.Server]]:
    """Another cluster, of the embedded version."""
    settings = Settings(home=Path(tempfile.mkdtemp(prefix="recoup-test-")), actor="tester")
    try:
        yield settings, embedded.start(settings)
    finally:
        removed(settings)


def test_seals_survive_a_restore_into_another_cluster(
    own: Own, server: embedded.Server, settings: Settings, second: tuple[Settings, embedded.Server], tmp_path: Path
) -> None:
    """One with lower transaction ids. The old head still holds, and sealing goes on there where it stopped."""
    own.admin.execute("do $$ begin for i in 1..3000 loop perform pg_current_xact_id(); commit; end loop; end $$")
    own.pause(times=5)
    with own.database.transaction(Authority.HUB) as tx:
        many(tx, 30)
        late_result(tx)
    with own.database.transaction(Authority.ARCHIVER) as tx:
        seals.seal(tx, block_rows=7, max_blocks=8)  # in the middle of a window, and of others nothing yet
    own.pause(times=3)
    head = own.head()
    name = own.admin.info.dbname
    kept = backup(settings, server.uri(name, admin=True), tmp_path / "kept")
    there_settings, there = second
    restore(there_settings, there.uri("restored", admin=True), kept, RELEASES, replace=False, login=there.app)
    with owned("restored", there, there_settings) as other:
        assert other.verify(head) == []
        seal_all(other.database, block_rows=7)
        assert other.verify(head) == []
        assert other.verify(other.head()) == []  # of a seal that closes the incarnation before: none of the new one yet
        other.pause(times=10)
        (low, high) = other.admin.execute(
            "select min(xid::text::bigint) filter (where incarnation = 2), max(xid::text::bigint) filter"
            " (where incarnation = 1) from recoup.pause_log"
        ).fetchone() or (0, 0)
        assert low < high
        seal_all(other.database, block_rows=7)
        assert other.verify(head) == []
        assert {seal.incarnation for seal in other.seals(PAUSES)} == {1, 2}
        assert [seal.until for seal in other.seals(AIR)].count(None) == 1
        assert_each_row_lies_in_one_block(other)
        with other.database.transaction(Authority.READER) as tx:
            assert seals.seal_lag(tx)[PAUSES] is None


# Who may seal, and what is refused -----------------------------------------------------------------------------------

NO_RIGHT = "42501"
FORGED = (
    "insert into recoup.seal select number + 1000, log, canon, incarnation, system_identifier, since, until, after_seq,"
    " last_seq, closes, rows, rows_digest, sealed_at, actor_id, previous, sha256(digest) from recoup.seal"
)


@pytest.mark.parametrize("actor", [*Authority, OWNER, None])
def test_nobody_writes_a_seal_by_hand(lived: Own, actor: Authority | str | None) -> None:
    """Not an authority, not the owner, not a superuser who leaves the triggers on, also in replica mode."""
    by_authority = isinstance(actor, Authority)
    for statement, sqlstate in (
        (FORGED, "RC010"),
        (f"do $$ begin {FORGED}; end $$", "RC010"),
        ("update recoup.seal set rows = rows", "RC009"),
        ("delete from recoup.seal", "RC009"),
        ("truncate recoup.seal", "RC009"),
    ):
        for mode in ("origin", "replica"):
            with (
                pytest.raises(psycopg.Error) as refused,
                lived.admin.transaction(force_rollback=True),
                acting(lived.admin, None),
            ):
                lived.admin.execute(f"set local session_replication_role = {mode}")
                lived.admin.execute(
                    "select set_config('role', %s, true)",
                    (actor.role if isinstance(actor, Authority) else actor or "none",),
                )
                lived.admin.execute(statement)
            assert refused.value.sqlstate == (NO_RIGHT if by_authority else sqlstate)


@pytest.mark.parametrize("authority", [a for a in Authority if a is not Authority.ARCHIVER])
def test_only_the_archiver_seals(lived: Own, authority: Authority) -> None:
    with pytest.raises(LawRefused) as refused, lived.database.transaction(authority) as tx:
        seals.seal(tx)
    assert refused.value.code == "authority_lacks_right"


@pytest.mark.parametrize(
    "given",
    [
        ("recoup.seal", 1, 10), ("recoup.worker", 1, 10), ('"recoup".pause_log', 1, 10), ("recoup.pause_log ", 1, 10),
        ("pause_log", 1, 10), ("", 1, 10), ("recoup.pause_log", 3, 10), ("recoup.pause_log", 0, 10),
        ("recoup.pause_log); drop table x", 1, 10), ("recoup.pause_log", 1, 0), ("recoup.pause_log", 1, 1_000_001),
        ("recoup.pause_log", 1, None),
    ],
)  # fmt: skip
def test_what_is_no_log_is_not_sealed(lived: Own, given: tuple[Any, ...]) -> None:
    """No other table, no other spelling, no other version, no block without bounds."""
    with pytest.raises(LawRefused) as refused, lived.database.transaction(Authority.ARCHIVER) as tx:
        tx.execute("select recoup.seal_next(%s, %s, %s)", given)
    assert refused.value.code == "seal_refused"


def test_an_older_version_of_the_text_is_refused(lived: Own) -> None:
    """Once there is a newer one, which has more columns."""
    with pytest.raises(psycopg.Error) as refused, lived.admin.transaction(force_rollback=True):
        lived.admin.execute(
            "create function recoup.canon_pause_log_3(l recoup.pause_log) returns text language sql as 'select null'"
        )
        seals.seal(lived.admin)
    assert refused.value.sqlstate == "RC035"


@pytest.mark.parametrize(
    "level", [psycopg.IsolationLevel.REPEATABLE_READ, psycopg.IsolationLevel.SERIALIZABLE], ids=lambda level: level.name
)
def test_other_isolation_levels_are_refused(lived: Own, level: psycopg.IsolationLevel) -> None:
    """An old snapshot does not see what settled since, and the block would lack it."""
    tx = lived.connection()
    tx.isolation_level = level
    with pytest.raises(psycopg.Error) as refused, acting(tx, Authority.ARCHIVER):
        seals.seal(tx)
    assert refused.value.sqlstate == "RC011"


def test_bad_numbers_are_refused(lived: Own) -> None:
    with lived.database.transaction(Authority.READER) as tx:
        with pytest.raises(InputRefused):
            seals.seal(tx, max_blocks=0)
        with pytest.raises(InputRefused):
            seals.list_seals(tx, log="recoup.worker")


# Reading no more than is sealed --------------------------------------------------------------------------------------

BULK = (
    "insert into cl.gate_zero_air (entity_id, event_type, reason_code, actor, event_timestamp, incarnation, attempt_id,"
    " actor_id, authority, xid) select gen_random_uuid(), 'ATTEMPT', 'START', 'system', now(), 1, gen_random_uuid(),"
    " 'worker', 'recoup_gate', coalesce(%(xid)s, (3 + i / 300)::text)::xid8 from generate_series(0, %(rows)s - 1) i"
)


def test_a_few_rows_behind_many_are_sealed_by_reading_a_few(own: Own) -> None:
    """Whatever the statistics say; and a backlog is read through twice: to find where blocks end, and to digest."""
    own.admin.execute("alter table cl.gate_zero_air set (autovacuum_enabled = off)")
    own.admin.execute("alter table cl.gate_zero_air disable trigger all")
    own.admin.execute(BULK, {"rows": 30_000, "xid": None})

    def sealed(block_rows: int) -> tuple[int, int, int]:
        """Blocks and rows of AIR, and rows read for them."""
        with own.admin.transaction():
            before = read_rows(own.admin)
            made = [
                seal for seal in seals.seal(own.admin, block_rows=block_rows, max_blocks=100, quiet_for=None)
                if seal.log == AIR
            ]  # fmt: skip
            return len(made), sum(seal.rows for seal in made), read_rows(own.admin) - before

    blocks, rows, read = sealed(2000)
    assert (blocks, rows) == (17, 30_000)  # a transaction of 300 rows is not torn
    assert read <= 2.2 * rows
    for few in (200, 3, 201, 2):
        if few == 201:
            own.admin.execute("analyze cl.gate_zero_air")
        (xid,) = own.admin.execute("select pg_current_xact_id()::text").fetchone() or ("",)
        own.admin.execute(BULK, {"rows": few, "xid": xid})
        blocks, rows, read = sealed(2000)
        assert (blocks, rows) == (1, few)
        assert read <= 2 * few + 30
    blocks, rows, read = sealed(2000)
    assert rows == 0
    assert read < 30  # the planner reads the ends of an index
    (xid,) = own.admin.execute("select pg_current_xact_id()::text").fetchone() or ("",)
    own.admin.execute(
        BULK, {"rows": 9_000, "xid": xid}
    )  # one transaction: along seq, and once more by its id at both ends
    blocks, rows, read = sealed(1000)
    assert (blocks, rows) == (10, 9_000)
    assert read <= 5 * rows
    with own.admin.transaction():
        before = read_rows(own.admin)
        assert seals.verify(own.admin, LOGS) == []
        assert read_rows(own.admin) - before <= 4 * 39_406


def read_rows(tx: Transaction) -> int:
    """Rows of AIR that this session has read, one way or another."""
    (rows,) = tx.execute(
        "select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_xact_all_tables"
        " where relid = 'cl.gate_zero_air'::regclass"
    ).fetchone() or (0,)
    return int(rows)


# The command line ----------------------------------------------------------------------------------------------------


@pytest.fixture
def recoup(
    own: Own, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process: its exit code, what it printed, what it complained."""

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = cli.answered(lambda: cli.app(arguments))
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    monkeypatch.setenv("RECOUP_DSN", own.database.conninfo)
    monkeypatch.setenv("RECOUP_ACTOR", "ada")
    return run


def test_seals_on_the_command_line(own: Own, recoup: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """Run, list, export, verify; and what they say when something is wrong."""
    assert "refused: nothing_sealed" in recoup("seal", "export")[2]
    assert "0 seals checked" in recoup("seal", "verify")[1]
    own.pause(times=2)
    assert recoup("seal", "run")[1].endswith(" blocks\n")
    assert recoup("seal", "run")[1].startswith("nothing to do")
    assert json.loads(recoup("seal", "run", "--json")[1]) == {"seals": 0, "rows": 0}
    assert PAUSES in recoup("seal", "list")[1]
    (told,) = json.loads(recoup("seal", "list", "--log", PAUSES, "--json")[1])
    assert (told["rows"], told["actor_id"], len(told["digest"])) == (4, "ada", 64)
    assert "refused: log_not_sealed" in recoup("seal", "list", "--log", "x.y")[2]

    head = tmp_path / "head.json"
    assert read_head(recoup("seal", "export")[1]) == own.head()
    assert f"seal {len(SEALED)}" in recoup("seal", "export", "--to", str(head))[1]
    assert "refused: head_file_exists" in recoup("seal", "export", "--to", str(head))[2]
    assert "refused: head_file_unwritable" in recoup("seal", "export", "--to", str(tmp_path / "no" / "head"))[2]
    own.pause()
    code, printed, _ = recoup("seal", "verify", "--head", str(head))
    assert code == 0
    assert "no changes found" in printed
    assert "1 of recoup.content_log, 1 of recoup.control_log, 2 of recoup.pause_log" in printed
    assert "the chain continues from the head" in printed
    code, printed, _ = recoup("seal", "verify", "--json")
    assert (code, json.loads(printed)["problems"], json.loads(printed)["unsealed"][PAUSES]) == (0, [], 2)

    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for unreadable in ("bytes", "nowhere", "."):
        assert "refused: head_file_unreadable" in recoup("seal", "verify", "--head", str(tmp_path / unreadable))[2]
    (tmp_path / "other").write_text("{}")
    assert "refused: head_unreadable" in recoup("seal", "verify", "--head", str(tmp_path / "other"))[2]

    own.admin.execute("alter table recoup.pause_log disable trigger all")
    own.admin.execute(
        "update recoup.pause_log set actor_id = 'nobody' where seq = (select min(seq) from recoup.pause_log)"
    )
    own.admin.execute("alter table recoup.pause_log enable trigger all")
    code, printed, _ = recoup("seal", "verify", "--head", str(head))
    assert code == 1
    assert "of its 4 rows, some were changed" in printed
    code, printed, _ = recoup("seal", "verify", "--json")
    assert code == 1
    assert [problem["log"] for problem in json.loads(printed)["problems"]] == [PAUSES]
