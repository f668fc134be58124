"""Locks: an open promotion blocks recording for its own entities, and for no others."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from hub import DOL, TRANSIENT, Hub
from recoup.database.connection import Database, Transaction
from recoup.errors import parking, promotion, recording
from recoup.errors.capture import failures
from recoup.errors.importing import import_file
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.settings import Settings

FEW, MANY, VERY_MANY = 3, 300, 1_001  # a lock for each entity; one for all that a transaction records; one for all
PATIENCE_S = 120
OURS = (
    "select count(*) from pg_locks where locktype = 'advisory' and classid between 7701 and 7704"
    " and database = (select oid from pg_database where datname = current_database())"
)


def entities(count: int) -> list[UUID]:
    return [uuid.uuid4() for _ in range(count)]


def errors_of(of: list[UUID], **more: Any) -> list[NewError]:
    return [NewError(table=DOL, message=TRANSIENT, outreach_id=entity, **more) for entity in of]


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def hasty(hub: Hub, settings: Settings) -> Iterator[Hub]:
    """The same database, with a client that waits half a second for a promotion."""
    with Database(f"{hub.db.conninfo}&options=-c%20recoup.promotion_wait%3D500ms", settings) as database:
        yield Hub(database)


@contextlib.contextmanager
def promoting(hub: Hub, of: list[UUID]) -> Iterator[psycopg.Connection[Any]]:
    """A session that asked with the lock, and stays open."""
    with psycopg.connect(hub.db.conninfo, application_name="promoter") as tx:
        tx.execute("set role recoup_reader")
        tx.execute("select recoup.blocked_locking(%s)", (of,))
        yield tx


def waited_for(hub: Hub, pid: int, count: int, *work: Future[Any]) -> None:
    """Return when this many sessions wait for this one. Fails if the work ends without waiting."""
    deadline = time.monotonic() + PATIENCE_S
    while len(hub.rows("select from pg_stat_activity where %s = any(pg_blocking_pids(pid))", pid)) < count:
        assert not any(one.done() for one in work), [one.result() for one in work if one.done()]
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("promoted", [FEW, MANY])
def test_an_open_promotion_blocks_no_other_entity(hub: Hub, promoted: int) -> None:
    """However many errors of others are recorded, at once or one by one in a transaction."""
    with promoting(hub, entities(promoted)):
        for count in (1, FEW, MANY, 6_000):
            assert len(hub.record_all(errors_of(entities(count)))) == count
        with hub.db.transaction(Authority.HUB) as tx:
            for _ in range(3):
                recording.record(tx, errors_of(entities(100)))
        key = ErrorKey(DOL, hub.record(want=Want.ARCHIVE))
        with hub.db.transaction(Authority.OPERATOR) as tx:
            assert parking.park(tx, [key], reason="wait")[0].done


@pytest.mark.parametrize("beside", [0, MANY])
@pytest.mark.parametrize("promoted", [1, VERY_MANY])
def test_an_error_of_a_promoted_entity_waits(hub: Hub, aside: ThreadPoolExecutor, beside: int, promoted: int) -> None:
    """While it waits, other recordings and promotions of other entities go on."""
    of = entities(promoted)
    with promoting(hub, of) as tx:
        waiting = aside.submit(hub.record_all, errors_of([*entities(beside), of[0]]))
        waited_for(hub, tx.info.backend_pid, 1, waiting)
        if promoted == 1:
            other = entities(1)
            with promoting(hub, other) as second:
                second.execute("set local lock_timeout = '5s'")
                assert len(hub.record_all(errors_of(entities(MANY)))) == MANY
        assert not hub.is_blocked(of[0])
    assert len(waiting.result(PATIENCE_S)) == beside + 1
    assert hub.is_blocked(of[0])


@pytest.mark.parametrize("count", [1, MANY])
def test_a_promotion_waits_for_an_error_that_is_being_recorded(hub: Hub, aside: ThreadPoolExecutor, count: int) -> None:
    """It sees the error when that is committed. The recording transaction itself does not wait."""
    of = entities(count)

    def promote() -> set[UUID]:
        with hub.db.transaction(Authority.READER) as tx:
            return promotion.blocked_locking(tx, of[:1])

    with hub.db.transaction(Authority.HUB) as tx:
        recording.record(tx, errors_of(of))
        asked = aside.submit(promote)
        waited_for(hub, tx.info.backend_pid, 1, asked)
        tx.execute("set local recoup.promotion_wait = 'none'")
        recording.record(tx, [NewError(table=DOL, message="another failure", outreach_id=of[0])])
    assert asked.result(PATIENCE_S) == set(of[:1])


def test_locks_are_few_however_many_are_recorded_or_promoted(hub: Hub) -> None:
    """The server's lock table is shared by everybody."""

    def held(authority: Authority, act: Callable[[Transaction], object]) -> int:
        with hub.db.transaction(authority) as tx:
            act(tx)
            ((count,),) = tx.execute(f"{OURS} and pid = pg_backend_pid()")
            tx.execute("select recoup.now()")
            return int(count)

    def one_by_one(tx: Transaction) -> None:
        for entity in entities(400):
            recording.record(tx, errors_of([entity]))

    assert held(Authority.HUB, lambda tx: recording.record(tx, errors_of(entities(6_000)))) == 1
    assert held(Authority.HUB, one_by_one) <= 258
    assert held(Authority.READER, lambda tx: promotion.blocked_locking(tx, entities(10_000))) == 2
    ask = "select count(recoup.is_blocked_locking(gen_random_uuid())) from generate_series(1, 1500)"
    assert held(Authority.READER, lambda tx: tx.execute(ask)) <= 1_002


@pytest.mark.parametrize("beside", [0, MANY])
def test_a_recording_that_waits_too_long_names_the_holder(hub: Hub, hasty: Hub, beside: int) -> None:
    """Entity, session, application, login, since when, and what to do. No lock stays."""
    of = entities(1)
    with promoting(hub, of) as tx:
        with pytest.raises(LawRefused) as refused:
            hasty.record_all(errors_of([*entities(beside), *of]))
        assert refused.value.code == "entity_held"
        facts = refused.value.facts
        pid, login = tx.info.backend_pid, tx.info.user
        assert (facts["entities"], facts["pid"], facts["login"]) == ([str(of[0])], pid, login)
        for said in (str(of[0]), f"session {pid}", "promoter", login, "since 20"):
            assert said in refused.value.happened
        assert f"pg_terminate_backend({pid})" in refused.value.next_step
        assert hub.rows(f"{OURS} and pid <> {pid}") == [(0,)]


def test_a_promotion_that_waits_too_long_names_the_holder(hub: Hub) -> None:
    of = entities(1)
    for record in (of, [*entities(MANY), *of]):
        with hub.db.transaction(Authority.HUB) as tx:
            recording.record(tx, errors_of(record))
            with pytest.raises(LawRefused) as refused, hub.db.transaction(Authority.READER) as gate:
                gate.execute("set local lock_timeout = '200ms'")
                promotion.blocked_locking(gate, of)
        assert (refused.value.code, refused.value.facts["pid"]) == ("entity_held", tx.info.backend_pid)


def test_a_cancelled_wait_leaves_no_lock(hub: Hub, aside: ThreadPoolExecutor) -> None:
    """Behind a pooler another client would get the session."""
    of = entities(1)
    with promoting(hub, of) as tx, psycopg.connect(hub.db.conninfo, autocommit=True) as other:
        other.execute("set role recoup_reader")
        asked = aside.submit(other.execute, "select recoup.is_blocked_locking(%s)", (of[0],))
        waited_for(hub, tx.info.backend_pid, 1, asked)
        other.cancel()
        with pytest.raises(psycopg.errors.QueryCanceled):
            asked.result(PATIENCE_S)
        assert hub.rows(f"{OURS} and pid = %s", other.info.backend_pid) == [(0,)]


# What must not be lost ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("by_sql", [True, False])
def test_a_failure_inside_its_own_promotion_is_recorded_when_that_has_ended(
    hub: Hub, commits: bool, by_sql: bool
) -> None:
    """Committed or rolled back, and without waiting for its own lock."""
    (of,) = entities(1)
    watching = failures(hub.db, DOL, outreach_id=of)
    begun = time.monotonic()
    with contextlib.suppress(ValueError), hub.db.transaction(Authority.HUB) as tx:
        if by_sql:
            tx.execute("select recoup.is_blocked_locking(%s)", (of,))
        else:
            promotion.blocked_locking(tx, [of])
        with contextlib.suppress(*[ValueError] * commits), watching:
            raise ValueError("the promotion failed")
        assert watching.recorded is None
    assert time.monotonic() - begun < 5
    assert watching.recorded is not None
    assert hub.is_blocked(of)


def test_a_failure_inside_another_transaction_is_recorded_at_once(hub: Hub) -> None:
    watching = failures(hub.db, DOL, outreach_id=uuid.uuid4())
    with hub.db.transaction(Authority.HUB) as tx:
        promotion.blocked_locking(tx, entities(1))
        with contextlib.suppress(ValueError), watching:
            raise ValueError("something else")
        assert watching.recorded is not None


def test_a_failure_of_a_promoted_entity_is_tried_again(hub: Hub, hasty: Hub) -> None:
    """The promotion ends during the second try."""
    (of,) = entities(1)
    watching = failures(hasty.db, DOL, outreach_id=of)
    with promoting(hub, [of]) as tx:
        end = threading.Timer(0.75, tx.rollback)
        end.start()
        with contextlib.suppress(ValueError), watching:
            raise ValueError("no match")
        end.join()
    assert watching.recorded is not None


def test_a_lost_connection_loses_no_failure(hub: Hub) -> None:
    """A pooled connection is not tested if it was used a moment ago; here it is closed."""
    (of,) = entities(1)
    hub.record()
    ended = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database()"
    with psycopg.connect(hub.db.conninfo) as other:
        assert other.execute(f"{ended} and pid <> pg_backend_pid() and usename = current_user").fetchone() != (0,)
    watching = failures(hub.db, DOL, outreach_id=of)
    with pytest.raises(ValueError, match="no match"), watching:
        raise ValueError("no match")
    assert watching.recorded is not None


def test_an_import_records_all_others_before_it_waits(hub: Hub, hasty: Hub, tmp_path: Path) -> None:
    """Lines of a promoted entity come last, in order; if it is still held, each is refused by its line."""
    held, others = entities(2), entities(2_500)
    order = [held[0], *others[:1_200], held[1], held[0], *others[1_200:]]
    lines = "".join(
        f'{{"table": "{DOL}", "entity": "{one}", "message": "failure {place % 2} of it"}}\n'
        for place, one in enumerate(order)
    )
    path = tmp_path / "errors.jsonl"
    path.write_text(lines, encoding="utf-8")
    told: list[tuple[int, int]] = []
    with promoting(hub, held[:1]), promoting(hub, held[1:]):
        imported = import_file(hasty.db, path, progress=lambda so_far: told.append((so_far.lines, so_far.done)))
    assert (imported.recorded, imported.lines, imported.done) == (2_500, 2_503, 2_503)
    assert [(row.number, row.reason) for row in imported.refused.kept] == [
        (1, "entity_held"), (1_202, "entity_held"), (1_203, "entity_held")
    ]  # fmt: skip
    assert told[0] == (1_000, 0), "whoever is interrupted now begins with the line that has no result yet"
    with promoting(hub, held) as tx:
        end = threading.Timer(0.3, tx.rollback)
        end.start()
        assert import_file(hub.db, path).recorded == 2_503
        end.join()
    assert hub.is_blocked(held[0])
    assert hub.is_blocked(held[1])
