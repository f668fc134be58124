"""The outbox itself: one open delivery for a key, dead deliverers, rules of every writer, and a million that wait."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from company import acting
from deliveries.post import Office, Receiver, webhook
from plans import assert_reads_only, carried_out
from recoup import deliveries, pauses
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.deliveries import delivering
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.settings import Settings

START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
DELIVERER = """
import os
from contextlib import contextmanager
from pathlib import Path
from recoup.database.connection import Database
from recoup.deliveries import delivering
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.settings import Settings

settings = Settings(home=Path("nowhere"), actor="child")
with Database(os.environ["TEST_CONNINFO"], settings) as db:
    with db.transaction(Authority.READER) as tx:
        active = versions.active(tx).policy

    class Child:
        name, policy = "child", active
        settings = settings
        transaction = lambda self: db.transaction(Authority.EXECUTOR)
        may_claim = lambda self, tx: True
        tally = lambda self, tx, done: None

    delivering.deliver_due(Child())
"""


def test_a_deliverer_that_is_killed_during_its_call_loses_nothing(office: Office, receiver: Receiver) -> None:
    """The receiver had it; nobody knows. So it gets it again, with the same idempotency key."""
    office.routes(webhook(timeout_s=30))
    made = office.send()
    receiver.hold.clear()
    child = subprocess.Popen([sys.executable, "-c", DELIVERER], env={**os.environ, "TEST_CONNINFO": office.db.conninfo})
    try:
        assert receiver.came.acquire(timeout=30)
        os.kill(child.pid, signal.SIGKILL)
    finally:
        child.kill()
        child.wait(30)
    receiver.hold.set()
    assert office.deliver() == 0, "its lease runs"
    assert office.expire() == 0
    office.advance(seconds=121)
    assert office.expire() == 1
    row = office.row(made)
    assert (row["status"], row["attempts"], row["outcome"]) == ("queued", 1, "LAPSED")
    assert row["last_failure"] == "The lease of child expired without a result."
    office.advance(seconds=10)
    assert office.deliver() == 1
    assert office.status(made) == ("delivered", 2)
    assert [headers["Idempotency-Key"] for _, headers, _ in receiver.got] == [str(made), str(made)]
    assert receiver.got[0][2] == receiver.got[1][2]
    assert office.broken() == []


def test_one_of_two_with_the_same_key_is_queued(office: Office, receiver: Receiver) -> None:
    """Also when both come at once: the second waits for the first, and is refused when it commits."""
    with ThreadPoolExecutor(1) as pool:
        with office.db.transaction(Authority.OPERATOR) as tx:
            deliveries.send(tx, "ops", "first", dedup_key="INC-1/page/ops")
            second = pool.submit(office.send, dedup_key="INC-1/page/ops")
            with pytest.raises(TimeoutError):
                second.result(0.3)
        refused = second.exception(30)
    assert isinstance(refused, LawRefused)
    assert refused.code == "delivery_open"
    assert office.deliver() == 1
    office.send(dedup_key="INC-1/page/ops")  # the first has ended
    assert office.broken() == []


CAUSE = """
create table public.cause (id integer);
grant insert on public.cause to recoup_executor, recoup_operator;
create function recovery_settles() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  -- As the consequence of an effect does it.
  insert into recoup.delivery (delivery_id, route, subject, body, about, dedup_key, origin, candidate_id)
  values (gen_random_uuid(), 'log', 'incident', '{}', 'INC-1', 'INC-1/notify_ops/log', 'candidate', gen_random_uuid())
  on conflict do nothing;
  return null;
end $$;
alter function recovery_settles() owner to recoup_owner;
create function stands_for_the_guard() returns trigger language plpgsql as $$
begin
  perform set_config('recoup.acting_role', current_user, true);
  return null;
end $$;
create trigger a after insert on public.cause for each statement execute function stands_for_the_guard();
create trigger b after insert on public.cause for each statement execute function recovery_settles();
"""


@pytest.mark.parametrize("clock", [START, None], ids=["simulated", "real"])
def test_a_candidate_notifies_as_a_consequence_and_never_by_hand(
    fresh: Callable[..., Database], server: embedded.Server, settings: Settings, clock: datetime | None
) -> None:
    """A plain insert of what it is about is enough; a storm of candidates queues one delivery."""
    database = fresh(simulated_from=clock)
    name = psycopg.conninfo.conninfo_to_dict(database.conninfo)["dbname"]
    with contextlib.closing(connect(server.uri(str(name), admin=True), settings)) as admin:
        admin.execute(CAUSE)
        for _ in range(3):
            with admin.transaction(), acting(admin, Authority.EXECUTOR):
                admin.execute("insert into public.cause values (1)")
        ((status, attempts, version, authority),) = admin.execute(
            "select d.status, d.attempts, d.policy_version, e.authority from recoup.delivery d"
            " join recoup.delivery_event e using (delivery_id)"
        ).fetchall()
        assert (status, attempts, version, authority) == ("queued", 0, 1, "recoup_executor")
        by_hand = (
            "insert into recoup.delivery (route, subject, body, dedup_key, origin, candidate_id)"
            " values ('log', 's', '{}', 'k', 'candidate', gen_random_uuid())"
        )
        for who, sqlstate in ((Authority.EXECUTOR, "RC012"), (Authority.OPERATOR, "42501"), (None, "RC001")):
            with pytest.raises(psycopg.Error) as refused, admin.transaction(), acting(admin, who):
                admin.execute(by_hand)
            assert refused.value.sqlstate == sqlstate


def moved(tx: Transaction, delivery: uuid.UUID, change: str, who: Authority) -> str | None:
    try:
        with tx.transaction(force_rollback=True), acting(tx, who):
            tx.execute(f"update recoup.delivery set {change} where delivery_id = %s".encode(), (delivery,))
    except psycopg.Error as error:
        return error.sqlstate
    return None


DEAD = "status = 'dead', updated_at = recoup.now(), ended_at = recoup.now()"
TRIED = "attempts = attempts + 1, token = (select q.token from recoup.delivery_queue q where q.unit = delivery_id)"
FAILED = "outcome = 'FAILED', last_failure = 'no', updated_at = recoup.now()"
LATER = "next_try_at = recoup.now() + interval '1 minute'"


def test_the_rules_hold_for_every_writer(scratch: Transaction) -> None:
    with acting(scratch, Authority.OPERATOR):
        made = deliveries.send(scratch, "log", "s")
    with acting(scratch, Authority.EXECUTOR):
        (claimed,) = [one for one in delivering.claim(scratch, limit=1000, worker="w") if one.delivery_id == made]
    assert claimed.attempts == 0

    def by(who: Authority, change: str) -> str | None:
        return moved(scratch, made, change, who)

    executor, operator = Authority.EXECUTOR, Authority.OPERATOR
    assert by(executor, f"{TRIED}, {FAILED}, {LATER}") is None
    assert by(executor, f"{LATER}, updated_at = recoup.now()") == "RC113", "no try ended"
    assert by(executor, f"{TRIED}, {FAILED}, {DEAD.partition(', updated')[0]}, ended_at = recoup.now()") == "RC113"
    assert by(executor, f"{TRIED}, {FAILED}, next_try_at = recoup.now() + interval '8 days'") == "RC113"
    assert by(executor, f"{TRIED}, outcome = 'FAILED', {LATER}, updated_at = recoup.now()") == "RC113", "no reason"
    assert by(executor, f"attempts = 1, token = gen_random_uuid(), {FAILED}, {LATER}") == "RC047", "another token"
    assert by(operator, f"{TRIED}, outcome = 'CANCELLED', {DEAD}") is None
    assert by(operator, f"outcome = 'CANCELLED', {DEAD}") == "RC047", "a try is under way"
    assert by(operator, f"{TRIED}, outcome = 'FAILED', {DEAD}") == "RC113"
    backdated = DEAD.replace("recoup.now()", "recoup.now() - interval '1 hour'")
    assert by(operator, f"{TRIED}, outcome = 'CANCELLED', {backdated}") == "RC007"


def test_nothing_is_claimed_while_deliveries_are_paused(office: Office, receiver: Receiver) -> None:
    office.send()
    with office.db.transaction(Authority.OPERATOR) as tx:
        pauses.pause(tx, "table", "recoup.delivery", reason="quiet")
    assert office.claim() == []
    with office.db.transaction(Authority.OPERATOR) as tx:
        pauses.resume(tx, "table", "recoup.delivery", reason="go on")
    assert len(office.claim()) == 1


def test_two_deliverers_at_once_deliver_each_notice_once(office: Office, receiver: Receiver) -> None:
    made = [office.send() for _ in range(40)]
    begun = threading.Barrier(2)

    def deliver() -> int:
        begun.wait(20)
        return office.deliver()

    with ThreadPoolExecutor(2) as pool:
        done = [future.result(60) for future in (pool.submit(deliver), pool.submit(deliver))]
    assert sum(done) == 40
    assert sorted(headers["Idempotency-Key"] for _, headers, _ in receiver.got) == sorted(map(str, made))


WAITING = """
  alter table recoup.delivery disable trigger user;
  alter table recoup.delivery_queue disable trigger user;
  with made as (
    insert into recoup.delivery (route, subject, body, dedup_key, origin, next_try_at)
    select case when n % 2 = 0 then 'log' else 'ops' end, 's', '{}', n::text, 'operator',
           recoup.now() + make_interval(secs => n)
      from generate_series(1, 200000) n returning delivery_id, route, next_try_at)
  insert into recoup.delivery_queue (unit, part, wake_at) select delivery_id, route, next_try_at from made;
  alter table recoup.delivery enable trigger user;
  alter table recoup.delivery_queue enable trigger user;
"""


@pytest.mark.parametrize("analysed", [False, True])
def test_a_claim_reads_what_it_takes_however_many_wait(scratch: Transaction, analysed: bool) -> None:
    with acting(scratch, Authority.OPERATOR):
        for _ in range(5):
            deliveries.send(scratch, "log", "s")
    scratch.execute(WAITING)
    if analysed:
        scratch.execute("analyze recoup.delivery, recoup.delivery_queue")
    with carried_out(scratch, kept=True) as plans:
        with acting(scratch, Authority.EXECUTOR):
            due = [route for route, _ in scratch.execute(delivering.Q["due_routes"]).fetchall()]
            claimed = delivering.claim(scratch, limit=5, worker="w", routes=["log"])
            became = delivering.finish(scratch, [(one, "no" if place else None) for place, one in enumerate(claimed)])
        assert due == ["log"]
        assert len(claimed) == 5
        assert sorted(became) == ["delivered", "queued", "queued", "queued", "queued"]
        assert_reads_only(plans.take(), 100, big={"delivery", "delivery_queue", "delivery_event"})


def test_a_wait_doubles_up_to_its_cap(db: Database) -> None:
    with db.transaction(Authority.READER) as tx:
        waits = [
            tx.execute("select recoup.delivery_wait(10, 3600, %s)", (tries,)).fetchone() for tries in (1, 2, 5, 10, 99)
        ]
    assert [wait for (wait,) in waits if wait] == [timedelta(seconds=s) for s in (10, 20, 160, 3600, 3600)]  # type: ignore[misc]
