"""Connections belong to an authority: what that saves, and that nothing of one borrower reaches the next."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from company import new_batch, new_intake
from recoup import gate
from recoup.database import embedded, pool
from recoup.database.connection import Actor, Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, Refusal, ServerRefused
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))
from wire import Wire

ANN = Actor("human", "ann")
AUTHORITIES = (Authority.GATE, Authority.HUB, Authority.OPERATOR, Authority.ARCHIVER, Authority.READER)
# Everything that a borrower could leave behind, as the server knows it.
SESSION = """
select current_user, session_user, recoup.acting_kind(), recoup.acting_id(), current_setting('recoup.reason'),
       current_setting('search_path'), current_setting('statement_timeout'), current_setting('transaction_isolation'),
       (select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'),
       (select count(*) from pg_class where relpersistence = 't' and pg_table_is_visible(oid)),
       (select count(*) from pg_cursors where is_holdable), array(select pg_listening_channels())
"""


@pytest.fixture
def single(db: Database, settings: Settings) -> Iterator[Database]:
    """The shared database over one connection."""
    with Database(db.conninfo, dataclasses.replace(settings, pool_max=1)) as database:
        yield database


@pytest.fixture
def wire(db: Database, settings: Settings) -> Iterator[Wire]:
    with tempfile.TemporaryDirectory() as folder, Wire(db.conninfo, Path(folder)) as wire:
        yield wire


def seen(database: Database, authority: Authority = Authority.GATE, **given: Any) -> tuple[int, tuple[Any, ...]]:
    """The process that a borrower gets, and all that its session holds."""
    with database.transaction(authority, **given) as tx:
        row = tx.execute(SESSION).fetchone()
        assert row is not None
        return tx.info.backend_pid, row


def sessions(admin: Transaction, database: Database, at_most: int) -> int:
    """How many it has, once those that it closed are gone from the server too."""
    mine, deadline = "select from pg_stat_activity where application_name = %s", time.monotonic() + 10
    while (found := admin.execute(mine, (_name(database),)).rowcount) > at_most and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _name(database: Database) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(database.conninfo)["application_name"])


@pytest.fixture
def named(db: Database, settings: Settings) -> Iterator[Callable[..., Database]]:
    """Databases whose connections can be told from others', with so many of them at most."""
    with contextlib.ExitStack() as stack:

        def make(most: int) -> Database:
            conninfo = psycopg.conninfo.make_conninfo(db.conninfo, application_name=f"test-{time.monotonic_ns()}")
            return stack.enter_context(Database(conninfo, dataclasses.replace(settings, pool_max=most)))

        yield make


# Whose it is --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "actor", ["ann", "o'hara; drop", "two  words\\ and\ta\nline ", "Zoë Ångström", '"', "-c role=x"]
)
def test_a_connection_is_its_authoritys_from_its_login_on(db: Database, settings: Settings, actor: str) -> None:
    """Role, actor and bounds, whatever is written in the name."""
    with Database(db.conninfo, dataclasses.replace(settings, actor=actor, statement_timeout_ms=12_345)) as database:
        with database.one_statement(Authority.GATE) as tx:
            row = tx.execute(SESSION).fetchone()
        assert row is not None
        assert row[:5] == ("recoup_gate", "recoup_app", "system", actor, "")
        assert row[6] == "12345ms"
        assert database.direct


def test_each_authority_has_its_own_and_gets_it_again(named: Callable[..., Database]) -> None:
    database = named(len(AUTHORITIES))
    first = [seen(database, authority)[0] for authority in AUTHORITIES]
    assert len(set(first)) == len(AUTHORITIES)
    assert [seen(database, authority)[0] for authority in AUTHORITIES] == first


def test_more_authorities_than_connections_borrow_from_each_other(
    named: Callable[..., Database], admin: Transaction
) -> None:
    """No more logins than connections, and every transaction has the rights of its own authority only."""
    database = named(2)
    processes = set()
    for authority in AUTHORITIES * 3:
        process, session = seen(database, authority)
        assert session[:4] == (authority.role, "recoup_app", "system", "tester")
        processes.add(process)
        with database.one_statement(authority) as tx:
            assert tx.execute("select current_user").fetchone() == (authority.role,)
    assert len(processes) == 2 == sessions(admin, database, 2)
    with pytest.raises(LawRefused, match="no right"), database.one_statement(Authority.READER) as tx:
        tx.execute("delete from cl.gate_zero_intake")


def test_connections_follow_the_work(named: Callable[..., Database], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that its authority has left alone is given up for one of the authority that asks."""
    database = named(1)
    hubs, _ = seen(database, Authority.HUB)
    assert seen(database, Authority.GATE)[0] == hubs
    monkeypatch.setattr(pool, "UNUSED_S", 0.0)
    gates, _ = seen(database, Authority.GATE)
    assert gates != hubs
    monkeypatch.undo()
    assert seen(database, Authority.GATE)[0] == gates


def test_twelve_duties_of_five_authorities_log_in_once_each(named: Callable[..., Database], admin: Transaction) -> None:
    """As in a worker: a thread for each duty, always the same authority. None is closed to make room for another."""
    database, processes = named(14), set[int]()

    def duty(number: int) -> None:
        for _ in range(20):
            processes.add(seen(database, AUTHORITIES[number % len(AUTHORITIES)])[0])

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(duty, range(12)))
    assert sessions(admin, database, len(processes)) == len(processes) <= 12


# What it saves ------------------------------------------------------------------------------------------------------


def test_round_trips(wire: Wire, settings: Settings) -> None:
    """One for one statement; begin and commit around several. A letter for each answer that was waited for."""
    with Database(wire.conninfo, settings) as database:
        for _ in range(2):  # the first one logs in
            wire.watch(at=0, act=lambda: None)
            with database.one_statement(Authority.GATE) as tx:
                gate.claim_attempts(tx, limit=1, worker="w", retries=True)
        assert wire.passed == "I"
        wire.watch(at=0, act=lambda: None)
        with database.transaction(Authority.GATE, actor=ANN, reason="a reason goes with begin") as tx:
            gate.claim_attempts(tx, limit=1, worker="w", retries=True)
            gate.claim_attempts(tx, limit=1, worker="w", retries=False)
        assert wire.passed == "TTTI"
        wire.watch(at=0, act=lambda: None)
        with database.one_statement(Authority.GATE, actor=ANN) as tx:
            gate.claim_attempts(tx, limit=1, worker="w", retries=True)
        assert wire.passed == "TTI"


# One statement ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actor", [None, ANN], ids=["own", "foreign"])
def test_one_statement_is_a_transaction(db: Database, actor: Actor | None) -> None:
    """It stands when it returns; a second one is refused; a refusal says its code."""
    with db.transaction(Authority.HUB) as tx:
        intake = new_intake(tx)
    opened = []
    with pytest.raises(ZeroDivisionError), db.one_statement(Authority.GATE, actor=actor) as tx:
        opened = gate.open_attempts(tx, [intake], worker="w")
        raise ZeroDivisionError
    with pytest.raises(psycopg.ProgrammingError, match="one statement"), db.one_statement(Authority.GATE) as tx:
        gate.finish_attempts(tx, [gate.Passed(attempt_id=opened[0].attempt_id, token=opened[0].token)])
        tx.execute("select 1")
    with db.transaction(Authority.READER) as tx:
        (found,), events = gate.find_intakes(tx, [intake]), gate.history(tx, [intake])
    assert found.status == "AUTHORIZED"
    assert (events[0].event_type, events[0].actor_id) == ("ATTEMPT", actor.id if actor else "tester")
    with pytest.raises(LawRefused) as refused, db.one_statement(Authority.GATE, actor=actor) as tx:
        tx.execute("update cl.gate_zero_intake set status = 'PENDING' where intake_id = %s", (intake,))
    assert refused.value.code == "move_not_listed"


def test_many_at_once_are_no_single_statement(db: Database) -> None:
    with pytest.raises(psycopg.ProgrammingError), db.one_statement(Authority.READER) as tx:
        tx.cursor().executemany("select %s", [(1,), (2,)])
    with pytest.raises(psycopg.ProgrammingError), db.one_statement(Authority.READER) as tx:
        list(tx.cursor().stream("select 1"))
    with db.transaction(Authority.READER) as tx:  # the next borrower may
        tx.cursor().executemany("select %s", [(1,), (2,)])


# What is left behind ------------------------------------------------------------------------------------------------

LEFT_BEHIND = [
    "set search_path = cl",
    "set role recoup_operator",
    "reset role",
    "set session authorization recoup_app",
    "select set_config('role', 'recoup_operator', false)",
    "select set_config('recoup.actor_id', 'mallory', false), set_config('recoup.actor_kind', 'human', false)",
    "select SET_CONFIG ('recoup.reason', 'no reason', false)",
    "select pg_catalog.\"set_config\"('recoup.reason', 'no reason', 1 > 2)",
    "select set_config('search_path', 'cl', false), set_config('recoup.reason', 'x', true)",
    "set statement_timeout = 0",
    "set default_transaction_isolation = 'serializable'",
    "set session characteristics as transaction isolation level serializable",
    "select pg_advisory_lock(1), pg_try_advisory_lock_shared(2)",
    "create temporary table left_behind (x integer)",
    "listen left_behind",
    "declare left_behind cursor with hold for select 1",
    "select 1; set search_path = cl",
    "do $$ begin perform set_config('search_path', 'cl', false); end $$",
    "begin",
]  # fmt: skip


@pytest.mark.parametrize("statement", LEFT_BEHIND)
@pytest.mark.parametrize("way", ["transaction", "one statement", "foreign actor"])
def test_the_next_borrower_finds_nothing(single: Database, admin: Transaction, way: str, statement: str) -> None:
    """Of the same connection, whichever way it was borrowed."""
    admin.execute(f'grant temporary on database "{admin.info.dbname}" to recoup_gate')
    before = seen(single)
    actor = ANN if way == "foreign actor" else None
    borrowed = single.one_statement if way == "one statement" else single.transaction
    with borrowed(Authority.GATE, actor=actor, reason="mine" if actor else None) as tx:
        tx.execute(statement.encode(), prepare=False)
    assert seen(single) == before


def test_what_a_borrower_set_is_undone_for_another_authority_too(single: Database) -> None:
    """A connection that was borrowed goes back as its own authority's."""
    before = seen(single, Authority.GATE)
    with single.transaction(Authority.OPERATOR, actor=ANN, reason="mine") as tx:
        assert tx.execute("select current_user, recoup.acting_id()").fetchone() == ("recoup_operator", "ann")
        tx.execute("set search_path = cl; set role recoup_hub")
    assert seen(single, Authority.GATE) == before
    with single.one_statement(Authority.GATE) as tx:
        assert tx.execute(SESSION).fetchone() == before[1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the driver complains of the cursor
def test_what_is_held_by_the_driver_is_let_go(single: Database) -> None:
    """Cursors of the server, row factories; and a connection out of autocommit is not kept."""
    before = seen(single)
    with single.transaction(Authority.GATE) as tx:
        tx.row_factory = dict_row  # type: ignore[assignment]
        tx.cursor(name="held", withhold=True).execute("select 1")
    assert seen(single) == before
    with single.one_statement(Authority.GATE) as tx:
        tx.autocommit = False
    assert seen(single)[1] == before[1]


def test_nothing_of_ours_changes_a_session(admin: Transaction) -> None:
    """So a SELECT that calls a routine needs no clean-up: the routines change their transaction at most."""
    changes = r"set_config\((?!([^()]|\([^()]*\))*,\s*true\s*\))|advisory_lock|create\s+temp"
    changes += r"|\y(listen|discard|set\s+session)\y"
    rows = admin.execute(
        "select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
        " where pg_get_userbyid(n.nspowner) = 'recoup_owner'"
        "   and regexp_replace(p.prosrc, '--[^\n]*', '', 'g') ~* %s",
        (changes,),
    ).fetchall()
    assert rows == []


# A server that goes -------------------------------------------------------------------------------------------------


def test_a_connection_that_is_ended_between_statements(single: Database, admin: Transaction) -> None:
    """Whoever has it is told, and nothing happened; whoever comes next gets another one."""
    for way in (single.transaction, single.one_statement):
        batch = ""
        with pytest.raises(psycopg.OperationalError), way(Authority.HUB) as tx:
            admin.execute("select pg_terminate_backend(%s, 5000)", (tx.info.backend_pid,))
            batch = new_batch(tx)
        with single.transaction(Authority.READER) as tx:
            assert tx.execute("select from cl.gate_zero_batch where batch_id = %s", (batch,)).rowcount == 0


def test_an_idle_connection_that_was_ended_is_replaced(
    single: Database, admin: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked before it is lent, unless it was used a moment ago."""
    process, session = seen(single)
    admin.execute("select pg_terminate_backend(%s, 5000)", (process,))
    monkeypatch.setattr(pool, "TRUSTED_S", 0.0)
    assert seen(single)[1] == session


def test_a_server_that_restarts_is_waited_for(settings: Settings, tmp_path: Path) -> None:
    """The transaction in hand fails; the next one begins when the server is back."""
    home = dataclasses.replace(settings, home=Path(tempfile.mkdtemp(prefix="recoup-test-", dir=tmp_path)))
    from product import migrate

    server = embedded.start(home)
    try:
        with psycopg.connect(server.uri("recoup", admin=True), autocommit=True) as connection:
            migrate(connection, login=server.app)
        with Database(server.uri("recoup"), home) as database:
            with pytest.raises(psycopg.OperationalError), database.transaction(Authority.HUB) as tx:
                new_batch(tx)
                embedded.stop(home)
                new_batch(tx)
            coming_back = threading.Timer(0.5, embedded.start, (home,))
            coming_back.start()
            with database.transaction(Authority.HUB) as tx:
                assert tx.execute("select from cl.gate_zero_batch").rowcount == 0
            coming_back.join()
            embedded.stop(home)
            database.settings = dataclasses.replace(home, connect_timeout_s=2)
            database.close()
            with pytest.raises(ServerRefused) as refused, database.transaction(Authority.HUB):
                pass
            assert refused.value.code == "server_unreachable"
            assert isinstance(refused.value, psycopg.OperationalError)  # for whoever tries again after one
    finally:
        embedded.stop(home)


# Many ---------------------------------------------------------------------------------------------------------------


def test_twenty_threads_share_a_database(named: Callable[..., Database], admin: Transaction) -> None:
    """Over four connections: each has its own authority, actor and reason, and all of them get their turn."""
    database = named(4)

    def act(number: int) -> int:
        authority, actor = AUTHORITIES[number % 5], Actor("human", f"person {number}") if number % 3 else None
        for turn in range(15):
            borrowed = database.one_statement if turn % 2 else database.transaction
            with borrowed(authority, actor=actor, reason=f"r{number}" if number % 2 else None) as tx:
                row = tx.execute(SESSION).fetchone()
            assert row is not None
            who = ("human", actor.id) if actor else ("system", "tester")
            assert row[:5] == (authority.role, "recoup_app", *who, f"r{number}" if number % 2 else "")
        return 15

    with ThreadPoolExecutor(20) as threads:
        assert sum(threads.map(act, range(20))) == 300
    assert sessions(admin, database, 4) <= 4


def test_a_pool_that_is_used_up_says_so(db: Database, settings: Settings) -> None:
    """In words, after the time that a connection is waited for; and the next one who asks in time gets it."""
    few = dataclasses.replace(settings, pool_max=2, connect_timeout_s=2)
    with Database(db.conninfo, few) as database:
        with database.transaction(Authority.HUB), database.transaction(Authority.GATE):
            begun = time.monotonic()
            with pytest.raises(ServerRefused) as refused, database.transaction(Authority.HUB):
                pass
            assert time.monotonic() - begun >= 1.9
        assert (refused.value.code, refused.value.facts["most"]) == ("pool_exhausted", 2)
        assert "RECOUP_POOL_MAX" in refused.value.next_step
        assert isinstance(refused.value, psycopg.OperationalError)
        with ThreadPoolExecutor(6) as threads:
            assert len(list(threads.map(lambda _: seen(database), range(6)))) == 6


def test_a_connection_that_breaks_leaves_room_for_those_who_wait(single: Database, admin: Transaction) -> None:
    """Not given back, it is made anew by the next one in line."""
    with ThreadPoolExecutor(1) as threads:
        with contextlib.suppress(psycopg.Error), single.transaction(Authority.GATE) as tx:
            waiting = threads.submit(seen, single)
            time.sleep(0.2)
            admin.execute("select pg_terminate_backend(%s, 5000)", (tx.info.backend_pid,))
            tx.execute("select 1")
        assert waiting.result(20)[1][0] == "recoup_gate"


def test_a_database_can_be_used_after_it_was_closed(named: Callable[..., Database], admin: Transaction) -> None:
    """What was lent meanwhile is closed when it comes back."""
    database = named(2)
    with database.transaction(Authority.GATE):
        database.close()
        seen(database)
    assert sessions(admin, database, 1) == 1
    database.close()
    assert sessions(admin, database, 0) == 0


def test_a_refused_role_is_a_refusal_and_no_pooler(db: Database, settings: Settings, admin: Transaction) -> None:
    """A login that may not take an authority is told so, and goes on under the others with connections of its own."""
    admin.execute("create role narrow login noinherit password 'narrow'; grant recoup_reader to narrow")
    conninfo = psycopg.conninfo.make_conninfo(db.conninfo, user="narrow", password="narrow")
    try:
        with Database(conninfo, settings) as database:
            for _ in range(2):
                with pytest.raises(Refusal) as refused, database.transaction(Authority.GATE):
                    pass
                assert refused.value.code == "login_lacks_authority"
            with database.one_statement(Authority.READER) as tx:
                assert tx.execute("select current_user").fetchone() == ("recoup_reader",)
            assert database.direct
    finally:
        admin.execute("drop role narrow")
