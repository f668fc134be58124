"""Behind PgBouncer, which gives each transaction another session: everything works, and the doctor says what it costs.

Needs the program pgbouncer (Debian: apt-get install pgbouncer).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from command_line import run_in
from company import new_batch, new_intake
from hub import DOL, OPERATIONAL, TRANSIENT, Hub, failed, succeeded
from pooler import NO_PGBOUNCER, PGBOUNCER, bouncing
from product import DUTIES, RELEASES
from recoup import gate
from recoup.database import embedded
from recoup.database.connection import Actor, Database, connect
from recoup.errors import NewError, failures, promotion
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused, ServerRefused
from recoup.settings import Settings
from recoup.worker.loop import WorkerLoop

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import audited, broken

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason=NO_PGBOUNCER)
Pooled = Callable[..., str]
BACKEND = "select pg_backend_pid(), current_user, recoup.acting_id(), current_setting('lock_timeout')"


@pytest.fixture(scope="module")
def pooled(server: embedded.Server) -> Iterator[Pooled]:
    """Connection strings that lead through a pooler of this mode, with these settings."""
    with contextlib.ExitStack() as stack:
        folders: dict[tuple[str, str], str] = {}

        def make(conninfo: str, mode: str = "transaction", more: str = "") -> str:
            if (mode, more) not in folders:
                folders[mode, more] = stack.enter_context(bouncing(server, mode, more))
            return make_conninfo(conninfo, host=folders[mode, more], port="6432")

        yield make


@pytest.fixture(scope="module")
def hub(new_database: Callable[..., str], server: embedded.Server, settings: Settings, pooled: Pooled) -> Iterator[Hub]:
    with Database(pooled(server.uri(new_database())), settings) as database:
        yield Hub(database)


@pytest.mark.parametrize("more", ["", "ignore_startup_parameters = options"], ids=["refuses", "ignores"])
@pytest.mark.parametrize("setting", ["auto", "transaction"])
def test_a_pooler_is_found(db: Database, settings: Settings, pooled: Pooled, more: str, setting: str) -> None:
    """Whether it refuses what a login asks for or drops it silently: the authority is said in each transaction."""
    chosen = dataclasses.replace(settings, pooler=setting, lock_timeout_ms=1234)
    with Database(pooled(db.conninfo, more=more), chosen) as database:
        for _ in range(8):  # often enough that the driver would prepare it
            for authority in (Authority.GATE, Authority.HUB):
                with database.one_statement(authority, actor=Actor("human", "ann")) as tx:
                    row = tx.execute(BACKEND, ()).fetchone()
                assert row is not None
                assert row[1:] == (authority.role, "ann", "1234ms")
        assert not database.direct


@pytest.mark.parametrize("more", ["", "ignore_startup_parameters = options"], ids=["refuses", "ignores"])
def test_sessions_that_are_said_to_be_kept_and_are_not(
    db: Database, settings: Settings, pooled: Pooled, more: str
) -> None:
    """No transaction begins without its authority: it is refused, in words."""
    said = dataclasses.replace(settings, pooler="none", connect_timeout_s=2)
    with (
        Database(pooled(db.conninfo, more=more), said) as database,
        pytest.raises(ServerRefused) as refused,
        database.transaction(Authority.GATE),
    ):
        pass
    assert refused.value.code == ("session_not_ours" if more else "server_unreachable")
    assert "startup parameter" in refused.value.happened or "RECOUP_POOLER" in refused.value.next_step


def test_nothing_is_left_in_the_sessions_of_others(db: Database, settings: Settings, pooled: Pooled) -> None:
    """Neither role nor actor nor bounds: the pooler gives the session to whoever comes next."""
    conninfo = pooled(db.conninfo, more="default_pool_size = 1")
    show = "select pg_backend_pid(), current_user, current_setting('recoup.actor_id', true), current_setting(%s)"
    with psycopg.connect(conninfo, autocommit=True, prepare_threshold=None) as other:

        def session() -> tuple[object, ...]:
            pid, user, actor, wait = other.execute(show, ("lock_timeout",)).fetchone() or ()
            return pid, user, actor or "", wait

        before = session()
        assert before[1:] == ("recoup_app", "", "0")
        short = dataclasses.replace(settings, lock_timeout_ms=77)
        with contextlib.closing(connect(conninfo, short)) as connection:
            assert not connection.direct
        with Database(conninfo, short) as database:
            with database.transaction(Authority.GATE) as tx:
                assert tx.execute(show, ("lock_timeout",)).fetchone() == (before[0], "recoup_gate", "tester", "77ms")
            assert session() == before


def test_what_is_pinned_is_pinned_in_each_transaction(
    db: Database, settings: Settings, pooled: Pooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the session; and without fixing the moment that a transaction sees."""
    monkeypatch.setenv("PGDATESTYLE", "German")
    conninfo = pooled(db.conninfo, more="default_pool_size = 2")  # whose sessions no other test has touched
    shown = "select current_setting('DateStyle'), current_setting('search_path')"
    with Database(conninfo, settings) as database, database.transaction(Authority.GATE) as tx:
        assert tx.execute(shown).fetchone() == ("ISO, MDY", "public, pg_temp")
    with contextlib.closing(connect(conninfo, settings)) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with connection.transaction():
            connection.execute("set local role recoup_reader")
            with db.transaction(Authority.HUB) as tx:
                batch = new_batch(tx)
            assert connection.execute(shown).fetchone() == ("ISO, MDY", "public, pg_temp")
            assert gate.find_batch(connection, batch).batch_id == batch
        assert connection.execute(shown).fetchone() == ("German, DMY", '"$user", public')


def test_errors_are_recorded_claimed_and_finished(hub: Hub) -> None:
    """By twelve threads over the three sessions of the pooler, each with its own actor; the audit finds nothing."""

    def act(number: int) -> list[str]:
        errors = [hub.record(TRANSIENT) for _ in range(3)]
        with hub.db.one_statement(Authority.READER, actor=Actor("human", f"p{number}")) as tx:
            assert tx.execute("select recoup.acting_id()").fetchone() == (f"p{number}",)
        return [str(hub.row(error)["status"]) for error in errors]

    with ThreadPoolExecutor(12) as threads:
        assert len(list(threads.map(act, range(12)))) == 12
    hub.record(OPERATIONAL)
    ((due,),) = hub.rows("select max(next_retry_at) from recoup.error")
    hub.advance(due - hub.now())
    claims = hub.claim()
    assert len(claims) == 37
    ended = hub.finish([failed(one, "again") if one.error_id % 2 else succeeded(one) for one in claims])
    assert len(ended) == 37
    with pytest.raises(LawRefused), hub.db.transaction(Authority.HUB) as tx:
        tx.execute("update recoup.error set retry_count = retry_count + 2")
    assert broken(audited(hub.db)) == {}


def test_a_worker_works(hub: Hub) -> None:
    """Every duty once; then as a process of threads, which looks at its cadence, as it cannot hear."""
    with hub.db.transaction(Authority.HUB) as tx:
        intake = new_intake(tx)
    with hub.db.one_statement(Authority.GATE) as tx:
        (attempt,) = gate.open_attempts(tx, [intake], worker="w")
    with hub.db.one_statement(Authority.GATE) as tx:
        gate.finish_attempts(tx, [gate.Passed(attempt_id=attempt.attempt_id, token=attempt.token)])
    duties = [duty for duty in DUTIES if duty.name in ("mint", "seal", "lost-workers", "error-lapse", "error-archive")]
    once = WorkerLoop(hub.db, duties, name="once", releases=RELEASES)
    done = once.run_once()
    assert once.failed == []
    assert done["mint"] >= 1
    wide = dataclasses.replace(hub.db.settings, pool_max=len(duties) + 2)
    with Database(hub.db.conninfo, wide) as database:
        worker = WorkerLoop(database, duties, name="threads", releases=RELEASES)
        thread = threading.Thread(target=worker.run)
        thread.start()
        assert worker.started.wait(20)
        time.sleep(1)
        worker.stop()
        thread.join(20)
        assert not thread.is_alive()
    assert worker.refusal is None
    assert hub.rows("select sum(failures)::int from recoup.duty_tally")[0][0] in (0, None)
    assert broken(audited(hub.db)) == {}


def test_the_doctor_says_what_it_costs(db: Database, hub: Hub) -> None:
    """Worth a look when it was found; well when it was said. Directly there is nothing to say."""
    for conninfo, setting, verdict, word in (
        (hub.db.conninfo, "auto", "warning", "three round trips"),
        (hub.db.conninfo, "transaction", "ok", "three round trips"),
        (db.conninfo, "auto", "ok", "one round trip"),
    ):
        done = run_in({"RECOUP_DSN": conninfo, "RECOUP_POOLER": setting})("doctor", "--json")
        found = {finding["check"]: finding for finding in json.loads(done.stdout)}
        assert found["sessions"]["verdict"] == verdict
        assert word in found["sessions"]["found"]
        assert not [finding for finding in found.values() if finding["verdict"] == "error"]


def test_a_failure_inside_its_own_promotion_is_recorded_when_that_has_ended(hub: Hub) -> None:
    """The session that holds the entity is known, though the pooler tells another process; and no lock is left."""
    entity = uuid.uuid4()
    watching = failures(hub.db, DOL, outreach_id=entity)
    with contextlib.suppress(ValueError), hub.db.transaction(Authority.HUB) as tx:
        promotion.blocked_locking(tx, [entity])
        with watching:
            raise ValueError("the promotion failed")
    assert watching.recorded is not None
    hub.record_all([NewError(table=DOL, message=OPERATIONAL, outreach_id=uuid.uuid4()) for _ in range(300)])
    # Of this database: tests in others, on the same server, hold locks of their own.
    here = "(select d.oid from pg_database d where d.datname = current_database())"
    assert hub.rows(f"select from pg_locks where locktype = 'advisory' and database = {here}") == []
