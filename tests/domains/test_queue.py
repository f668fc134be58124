"""A domain gets a queue by declaring it: parcels wait to be sorted, are claimed, and end as every unit of work does."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from company import acting, advance
from conformance import breaches
from domains.conftest import EXTENDED
from domains.parcels.manifest import END, PARCEL, PARCELS, SORTER, SORTING, Claimed, finish
from domains.test_parcels import INVARIANTS, brought_in, named
from plans import assert_reads_only, carried_out
from recoup import pauses
from recoup.audit.examine import examine
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.lifecycles.declaration import Authority, Queue
from recoup.refusals import InputRefused
from recoup.schema.migrate import migrate
from recoup.settings import Settings
from recoup.work.flow import Flow, ThreadEach, Work
from recoup.worker.duty import Context, Duty
from recoup.worker.loop import WorkerLoop

MINUTE = timedelta(minutes=1)
DECLARED: Queue = SORTING.declared
PATIENCE_S = 120


def claim(tx: Transaction, limit: int = 100, *, worker: str = "w") -> list[Claimed]:
    with acting(tx, SORTER):
        return SORTING.claim(tx, Claimed, limit=limit, worker=worker)


def ended(tx: Transaction, *outcomes: tuple[Claimed, str | None]) -> list[str]:
    with acting(tx, SORTER):
        return finish(tx, outcomes)


def expired(tx: Transaction) -> int:
    with acting(tx, SORTER):
        return SORTING.expire(tx)


@contextlib.contextmanager
def refusal(tx: Transaction, who: Authority, sqlstate: str, words: str) -> Iterator[None]:
    """The block is refused by the database, and undone."""
    with pytest.raises(psycopg.Error, match=words) as refused, tx.transaction(), acting(tx, who):
        yield
    assert refused.value.sqlstate == sqlstate


def rows(tx: Transaction, query: str, *given: Any) -> list[tuple[Any, ...]]:
    return tx.execute(query.encode(), given).fetchall()


def parcel(tx: Transaction, unit: int) -> tuple[Any, ...]:
    """Status, how often its sorting ended, and whether it is queued and claimed."""
    ((*found,),) = rows(
        tx,
        "select p.status, p.sorts, q.unit is not null, q.token is not null"
        " from parcels.parcel p left join parcels.parcel_queue q on q.unit = p.parcel_id where p.parcel_id = %s",
        unit,
    )
    return tuple(found)


def late(tx: Transaction, one: Claimed) -> list[Any]:
    query = "select result from recoup.late_result where subject = 'parcels.parcel' and unit_id = %s and token = %s"
    return [result for (result,) in rows(tx, query, str(one.parcel_id), one.token)]


def test_what_waits_is_claimed_once_and_sorted_or_put_off(scratch: Transaction) -> None:
    """Sorted, it leaves the queue; failed, it is due again a minute later, and its attempts are counted."""
    brought_in(scratch, 3)
    with acting(scratch, Authority.READER):
        assert SORTING.due_lag(scratch) is not None
    good, bad, other = claim(scratch)
    assert claim(scratch) == [], "each is held"
    assert parcel(scratch, good.parcel_id) == ("WAITING", 0, True, True)
    assert ended(scratch, (good, None), (bad, "no label")) == ["SORTED", "WAITING"]
    assert parcel(scratch, good.parcel_id) == ("SORTED", 1, False, False)
    assert parcel(scratch, bad.parcel_id) == ("WAITING", 1, True, False)
    assert claim(scratch) == [], "not yet due"
    advance(scratch, MINUTE)
    assert [one.parcel_id for one in claim(scratch, worker="v")] == [bad.parcel_id]
    assert good.token == bad.token == other.token, "one claim"
    claims = "select worker, units from recoup.claim_log where subject = 'parcels.parcel' order by seq desc limit 2"
    second, first = rows(scratch, claims)
    assert second == ("v", [f"{bad.parcel_id}/2"])
    assert (first[0], sorted(first[1])) == ("w", sorted(f"{one.parcel_id}/1" for one in (good, bad, other)))


def test_what_waits_is_put_off_with_its_row(scratch: Transaction) -> None:
    """Whoever changes when a parcel is due changes it in the queue; what is claimed stays with its lease."""
    brought_in(scratch, 2)
    (held,) = claim(scratch, 1)
    with acting(scratch, SORTER):
        scratch.execute("update parcels.parcel set due_at = recoup.now() + interval '1 hour' where status = 'WAITING'")
    assert claim(scratch) == []
    assert_sound(scratch)
    wakes = "select q.token is null, q.wake_at - recoup.now() from parcels.parcel_queue q order by 1"
    assert rows(scratch, wakes) == [(False, MINUTE), (True, 60 * MINUTE)]
    assert ended(scratch, (held, None)) == ["SORTED"]
    advance(scratch, 60 * MINUTE)
    assert len(claim(scratch)) == 1


def test_a_lease_is_bounded_and_so_is_a_limit(scratch: Transaction) -> None:
    brought_in(scratch, 2)
    with acting(scratch, SORTER):
        with pytest.raises(InputRefused, match="lease"):
            SORTING.claim(scratch, Claimed, limit=1, worker="w", lease=timedelta(hours=25))
        assert len(SORTING.claim(scratch, Claimed, limit=1, worker="w", lease=timedelta(hours=24))) == 1
        assert SORTING.claim(scratch, Claimed, limit=0, worker="w") == []
        assert SORTING.claim(scratch, Claimed, limit=-1, worker="w") == []


def test_an_expired_lease_counts_and_its_result_comes_late(scratch: Transaction) -> None:
    """What the lost worker reports is stored, whatever it says; what is done since then stays done."""
    brought_in(scratch, 2)
    first, second = claim(scratch)
    assert expired(scratch) == 0, "not while the lease runs"
    advance(scratch, MINUTE + timedelta(seconds=1))
    with acting(scratch, Authority.READER):
        assert sorted(SORTING.expired(scratch)) == [first.parcel_id, second.parcel_id]
        assert SORTING.expired_lag(scratch) == pytest.approx(1.0)
    with acting(scratch, SORTER):
        assert SORTING.expire(scratch, only=first.parcel_id) == 1
    assert expired(scratch) == 1
    assert parcel(scratch, first.parcel_id) == ("WAITING", 1, True, False)
    assert ended(scratch, (first, None), (second, "torn")) == ["late", "late"]
    assert late(scratch, first) == [{"outcome": "SUCCEEDED", "failure": None}]
    assert late(scratch, second) == [{"outcome": "FAILED", "failure": "torn"}]
    assert parcel(scratch, first.parcel_id) == ("WAITING", 1, True, False), "nothing changed"
    advance(scratch, MINUTE)
    again = {one.parcel_id: one for one in claim(scratch)}
    assert ended(scratch, (again[first.parcel_id], None)) == ["SORTED"]
    assert ended(scratch, (first, None)) == ["late"], "the token of an earlier claim"
    outcomes = "select outcome from parcels.parcel_event where parcel_id = %s and outcome is not null order by seq"
    assert rows(scratch, outcomes, first.parcel_id) == [("LAPSED",), ("SUCCEEDED",)]


def test_a_result_after_its_lease_is_late_before_anybody_expired_it(scratch: Transaction) -> None:
    """Late is a matter of the lease, not of who comes first; and it is held until its expiry is counted."""
    brought_in(scratch, 1)
    (one,) = claim(scratch)
    advance(scratch, MINUTE + timedelta(seconds=1))
    assert ended(scratch, (one, None)) == ["late"]
    assert parcel(scratch, one.parcel_id) == ("WAITING", 0, True, True)
    assert late(scratch, one) == [{"outcome": "SUCCEEDED", "failure": None}]
    assert expired(scratch) == 1
    assert_sound(scratch)


def test_a_report_that_is_sent_again_is_recognised(scratch: Transaction) -> None:
    """By its token and its outcome, also when the parcel has moved on; another outcome under the same token is late."""
    brought_in(scratch, 2)
    good, bad = claim(scratch)
    reports = ((good, None), (bad, "no label"))
    assert ended(scratch, *reports) == ["SORTED", "WAITING"]
    with acting(scratch, Authority.OPERATOR):
        ship = "update parcels.parcel set status = 'SHIPPED', moved_at = recoup.now() where parcel_id = %s"
        scratch.execute(ship, (good.parcel_id,))
    assert ended(scratch, *reports) == ["SORTED", "WAITING"]
    assert parcel(scratch, bad.parcel_id) == ("WAITING", 1, True, False), "counted once"
    assert late(scratch, good) == late(scratch, bad) == []
    assert ended(scratch, (good, "dropped it")) == ["late"]
    assert late(scratch, good) == [{"outcome": "FAILED", "failure": "dropped it"}]


def test_nobody_ends_what_another_holds(scratch: Transaction) -> None:
    """Not by hand either: whoever counts an attempt presents its token, and whoever does not, counts none."""
    brought_in(scratch, 3)
    (held,), unclaimed = claim(scratch, 1), "(select min(unit) from parcels.parcel_queue where token is null)"
    sorted_ = "status = 'SORTED', moved_at = recoup.now()"
    counted = "sorts = sorts + 1, moved_at = recoup.now()"
    for change, unit in (
        (sorted_, held.parcel_id),
        (f"{sorted_}, sorts = sorts + 1", held.parcel_id),
        (f"{sorted_}, sorts = sorts + 1, token = gen_random_uuid()", held.parcel_id),
        (f"{counted}, token = gen_random_uuid()", held.parcel_id),
        (f"{sorted_}, sorts = sorts + 1", unclaimed),
        (counted, unclaimed),
    ):
        update = f"update parcels.parcel set {change} where parcel_id = {unit}"
        with refusal(scratch, SORTER, "RC047", "not yours to end"):
            scratch.execute(update.encode())
        assert parcel(scratch, held.parcel_id) == ("WAITING", 0, True, True)
    with acting(scratch, SORTER):  # nobody holds it, and nothing is counted
        scratch.execute(f"update parcels.parcel set {sorted_} where parcel_id = {unclaimed}".encode())
    assert ended(scratch, (held, None)) == ["SORTED"]


def test_no_claim_by_others_and_no_report_that_makes_no_sense(scratch: Transaction) -> None:
    brought_in(scratch, 1)
    with refusal(scratch, Authority.OPERATOR, "42501", "permission denied"):
        SORTING.claim(scratch, Claimed, limit=1, worker="w")
    (one,) = claim(scratch)
    unit, token = one.parcel_id, one.token
    for units, tokens, outcomes in (
        ([unit, unit], [token, token], ["SUCCEEDED", "FAILED"]),
        ([unit], [None], ["FAILED"]),
        ([unit], [token], ["LOST"]),
        ([unit], [token], [None]),
    ):
        with refusal(scratch, SORTER, "RC039", "do not make reports"):
            END.call(scratch, units=units, tokens=tokens, outcomes=outcomes, failures=[None] * len(units))
    with refusal(scratch, SORTER, "RC039", "lengths"):
        scratch.execute("select parcels.end_sorting(array[1, 2], array[null]::uuid[], '{FAILED}', '{x}')")
    stranger = one._replace(parcel_id=999_999_999)
    with refusal(scratch, SORTER, "RC056", "no parcel 999999999."):
        finish(scratch, [(one, None), (stranger, None)])
    assert late(scratch, stranger) == [], "what there never was is not late"


@pytest.mark.parametrize(("scope", "name"), [(pauses.TABLE, PARCEL.table), (pauses.GLOBAL, pauses.EVERYTHING)])
def test_a_pause_stops_claims_and_nothing_else(scratch: Transaction, scope: str, name: str) -> None:
    brought_in(scratch, 2)
    (one,) = claim(scratch, 1)
    with acting(scratch, Authority.OPERATOR):
        pauses.pause(scratch, scope, name, reason="x")
    assert claim(scratch) == []
    assert ended(scratch, (one, None)) == ["SORTED"]
    with acting(scratch, Authority.OPERATOR):
        pauses.resume(scratch, scope, name, reason="x")
        pauses.pause(scratch, pauses.TABLE, "recoup.error", reason="x")
    assert len(claim(scratch)) == 1, "another's pause is no hindrance"


# Several workers ----------------------------------------------------------------------------------------------------


def test_two_workers_race_and_each_parcel_is_sorted_once(own: Database) -> None:
    with own.transaction(Authority.HUB) as tx:
        brought_in(tx, 300)
    line, got = threading.Barrier(2), {"a": 0, "b": 0}

    def work(name: str) -> None:
        line.wait(PATIENCE_S)
        while True:
            with own.transaction(SORTER) as tx:
                found = SORTING.claim(tx, Claimed, limit=7, worker=name)
            if not found:
                return
            with own.transaction(SORTER) as tx:
                assert set(finish(tx, [(one, None) for one in found])) == {"SORTED"}
            got[name] += len(found)

    workers = [threading.Thread(target=work, args=(name,)) for name in got]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE_S)
    assert sum(got.values()) == 300
    assert all(got.values()), "both had some"
    with own.transaction(Authority.READER) as tx:
        events = "select count(*), count(distinct parcel_id) from parcels.parcel_event where outcome = 'SUCCEEDED'"
        assert rows(tx, events) == [(300, 300)]
        assert rows(tx, "select sum(cardinality(units)) from recoup.claim_log") == [(300,)]
        assert_sound(tx)


def test_a_report_that_comes_before_its_claim_is_committed_waits_for_it_and_counts(own: Database) -> None:
    with own.transaction(Authority.HUB) as tx:
        brought_in(tx, 2)
    became: list[str] = []

    def report() -> None:
        with own.transaction(SORTER) as tx:
            became.extend(finish(tx, [(one, None) for one in found]))

    with own.transaction(SORTER) as tx:
        found = SORTING.claim(tx, Claimed, limit=2, worker="w")
        reporting = threading.Thread(target=report)
        reporting.start()
        reporting.join(0.3)
        assert reporting.is_alive(), "it waits"
    reporting.join(PATIENCE_S)
    assert became == ["SORTED", "SORTED"]
    with own.transaction(Authority.READER) as tx:
        assert [late(tx, one) for one in found] == [[], []]
        assert_sound(tx)


CHILD = """
import os, sys
from pathlib import Path
from domains.parcels.manifest import SORTER, SORTING, Claimed
from recoup.database.connection import Database
from recoup.settings import Settings
with Database(os.environ["TEST_CONNINFO"], Settings(home=Path("nowhere"), actor="child")) as db:
    with db.transaction(SORTER) as tx:
        (one,) = SORTING.claim(tx, Claimed, limit=1, worker="child")
    print(one.parcel_id, one.token, flush=True)
    sys.stdin.readline()
"""


def test_a_worker_killed_between_claim_and_report_loses_its_lease_and_no_more(own: Database) -> None:
    """The lease expires, by the duty; another sorts it; and what the dead one would have said is stored."""
    with own.transaction(Authority.HUB) as tx:
        brought_in(tx, 1)
    environment = {
        **os.environ, "TEST_CONNINFO": own.conninfo,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
    }  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        unit, token = child.stdout.readline().split()
        child.send_signal(signal.SIGKILL)
        assert child.wait(PATIENCE_S) == -signal.SIGKILL
    dead = Claimed(int(unit), "here", uuid.UUID(token))
    duties = [duty for duty in PARCELS.duties if duty.name == "parcel-expiry"]
    worker = WorkerLoop(own, duties, name="w")
    assert worker.run_once() == {"parcel-expiry": 0}
    with own.transaction(Authority.OPERATOR) as tx:
        advance(tx, MINUTE + timedelta(seconds=1))
    assert worker.run_once() == {"parcel-expiry": 1}
    with own.transaction(SORTER) as tx:
        assert parcel(tx, dead.parcel_id) == ("WAITING", 1, True, False)
        assert finish(tx, [(dead, None)]) == ["late"]
        assert late(tx, dead) == [{"outcome": "SUCCEEDED", "failure": None}]
    with own.transaction(Authority.OPERATOR) as tx:
        advance(tx, MINUTE)
    with own.transaction(SORTER) as tx:
        (alive,) = SORTING.claim(tx, Claimed, limit=1, worker="w")
        assert finish(tx, [(alive, None)]) == ["SORTED"]
        assert_sound(tx)


def test_the_flow_works_on_it(own: Database) -> None:
    """Claimed, worked on in threads, ended in sets; what raises failed, and is done when it is due again."""
    with own.transaction(Authority.HUB) as tx:
        brought_in(tx, 40)
    torn: set[int] = set()

    def sorted_by_hand(one: Claimed) -> None:
        if one.parcel_id % 4 == 0 and one.parcel_id not in torn:
            torn.add(one.parcel_id)
            raise ValueError("torn")

    def flow(hands: Context) -> int:
        pool = ThreadEach()
        work: Work[Claimed, str | None] = Work(
            turn=lambda tx, ended, room: (
                finish(tx, ended) if ended else [],
                SORTING.claim(tx, Claimed, limit=room, worker=hands.name),
            ),
            start=lambda one: pool.submit(sorted_by_hand, one),
            raised=lambda _, error: str(error),
            name=lambda one: str(one.parcel_id),
            at_once=8,
            lease_s=60,
            grace_s=1,
        )
        return Flow(hands, work).run()

    duty = Duty(name="parcel-sorting", authority=SORTER, cadence_s=1, description="", flow=flow, lag=SORTING.due_lag)
    worker = WorkerLoop(own, [duty], name="w")
    assert worker.run_once() == {"parcel-sorting": 40}
    with own.transaction(Authority.OPERATOR) as tx:
        advance(tx, MINUTE)
    assert worker.run_once() == {"parcel-sorting": 10}
    with own.transaction(Authority.READER) as tx:
        assert rows(tx, "select status, sorts, count(*) from parcels.parcel group by 1, 2 order by 2") == [
            ("SORTED", 1, 30), ("SORTED", 2, 10),
        ]  # fmt: skip
        assert rows(tx, "select count(*) from parcels.parcel_queue") == [(0,)]
        assert_sound(tx)


def assert_sound(tx: Transaction) -> None:
    with acting(tx, Authority.READER):
        assert [verdict.id for verdict in examine(tx, INVARIANTS) if not verdict.holds] == []


# Written out --------------------------------------------------------------------------------------------------------

WRITTEN = (
    "select w.function::text, w.arguments, coalesce('returns ' || w.results, '') from recoup.lifecycle l"
    " cross join lateral recoup.written(l) w where {} order by 1"
)


def test_every_function_that_is_written_out_is_held_against_the_declaration(ground: Transaction) -> None:
    """Of every domain, guards and queues: each is there as declared, and one that says something else is missed."""
    found = rows(ground, WRITTEN.format("w.is_there"))
    assert rows(ground, WRITTEN.format("not w.is_there")) == []
    names = {name for name, _, _ in found}
    for schema, table in (life.table.split(".") for domain in EXTENDED for life in domain.lifecycles if life.queue):
        assert names >= {f"{schema}.queue_{table}_{kind}" for kind in ("births", "moves")}
        assert f"{schema}.late_{table}_reports" in names
    assert names >= {"recoup.claim_errors", "recoup.lapse_retries", DECLARED.claim, DECLARED.expire}
    assert "recoup.queue_error_exits" in names
    assert "parcels.queue_parcel_exits" not in names, "no parcel leaves"
    for function, arguments, results in found:
        other = f"create or replace function {function}({arguments}) {results} language plpgsql as 'begin end'"
        verdict = breaches.broken_by(ground, other, "laws/L1/guards", INVARIANTS, {})
        breaches.is_found(verdict)
        assert function in str(verdict.rows[0]), function


def test_a_queue_without_its_guards_is_missed(ground: Transaction) -> None:
    for trigger in ("a_guard_queue", "a_guard_claims", "c_record_claims"):
        breach = f"alter table parcels.parcel_queue disable trigger {trigger}"
        breaches.is_found(breaches.broken_by(ground, breach, "laws/L1/guards", INVARIANTS, {}))


@pytest.fixture
def owner(own: Database, server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    with contextlib.closing(connect(server.uri(named(own), admin=True), settings)) as admin:
        yield admin


def test_a_declaration_that_changes_is_written_out_anew(owner: Transaction, server: embedded.Server) -> None:
    """A claim that gives more takes the place of the one before; and with the queue its functions go."""
    exists = "select proname from pg_proc where proname ~ '^(queue|claim|expire|late)_(parcel|sorting)' order by 1"
    outs = "select pg_get_function_arguments('parcels.claim_parcels'::regproc)"
    assert len(rows(owner, exists)) == 5
    more = dataclasses.replace(DECLARED, gives=(*DECLARED.gives, ("sorts", "counts")))
    migrate(owner, _with(more), login=server.app)
    assert "OUT cities text[], OUT counts integer[]" in rows(owner, outs)[0][0]
    assert len(rows(owner, exists)) == 5
    migrate(owner, _with(None), login=server.app)
    assert rows(owner, exists) == []
    migrate(owner, _with(DECLARED), login=server.app)
    assert len(rows(owner, exists)) == 5


def _with(queue: Queue | None) -> tuple[Any, ...]:
    life = dataclasses.replace(PARCEL, queue=queue)
    return (*EXTENDED[:-1], dataclasses.replace(PARCELS, lifecycles=(life,)))


# Beside a million ---------------------------------------------------------------------------------------------------

FILL = """
insert into parcels.parcel (city, moved_at, due_at)
select 'far', t.now_, t.now_ + interval '1 day' from generate_series(1, 1000000), (select recoup.now() as now_) t;
insert into parcels.parcel_queue (unit, wake_at, token, worker, claimed_at)
select p.parcel_id, p.due_at, case when h.held then gen_random_uuid() end, case when h.held then 'w' end,
       case when h.held then p.moved_at end
  from parcels.parcel p cross join lateral (select p.parcel_id % 10 = 0 as held) h;
"""


def test_it_reads_no_more_than_it_claims(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    """Claims, outcomes, late reports and expiry, beside a million that wait or are held; before and after ANALYZE."""
    settings = dataclasses.replace(settings, statement_timeout_ms=0)
    name = new_database(domains=EXTENDED)
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin:
        for table in ("parcels.parcel", "parcels.parcel_queue"):
            admin.execute(f"alter table {table} disable trigger user")
        admin.execute(FILL.encode())
        for table in ("parcels.parcel", "parcels.parcel_queue"):
            admin.execute(f"alter table {table} enable trigger user")
        migrate(admin, EXTENDED, login=server.app)  # always on again
        for analysed in (False, True):
            if analysed:
                admin.execute("vacuum (analyze) parcels.parcel, parcels.parcel_queue")
            for kept in (False, True):
                with carried_out(admin, kept=kept) as plans:
                    brought_in(admin, 6)
                    found = claim(admin)
                    assert len(found) == 6
                    with acting(admin, Authority.READER):
                        assert SORTING.due_lag(admin) is None
                        assert SORTING.expired_lag(admin) is None
                    good, bad, *others = found
                    assert ended(admin, (good, None), (bad, "torn")) == ["SORTED", "WAITING"]
                    assert ended(admin, (good, None), (bad, None)) == ["SORTED", "late"]
                    advance(admin, MINUTE + timedelta(seconds=1))
                    assert expired(admin) == len(others)
                    assert_reads_only(plans.take(), 100, big={"parcel", "parcel_queue"})
