"""Backfills: planned in chunks by what exists, worked on in their own lane, paused, resumed, cancelled, done."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from partitions.mill import DAY, Mill
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling
from recoup.partitions.backfilling import Backfill, Selection
from recoup.partitions.requesting import Ask, Request, ask
from recoup.partitions.selecting import select
from recoup.refusals import InputRefused, LawRefused
from recoup.settings import Settings


@pytest.fixture
def mill(db: Database) -> Mill:
    return Mill(db)


def chosen(mill: Mill, customers: tuple[str, ...] = ("a", "b"), *, days: int = 3) -> Selection:
    return Selection(
        source=mill.source, queries=("q",), customers=customers, first=DAY, last=DAY + timedelta(days=days - 1)
    )


def started(mill: Mill, selection: Selection, *, chunk: int = 10_000, **given: Any) -> UUID:
    with mill.database.transaction(Authority.CONTROL_PLANE) as tx:
        backfill = backfilling.start(tx, selection, reason="history", **given)
    backfilling.plan_all(lambda: mill.database.transaction(Authority.CONTROL_PLANE), backfill, chunk=chunk)
    return backfill


def shown(mill: Mill, backfill: UUID) -> Backfill:
    with mill.database.transaction(Authority.READER) as tx:
        return backfilling.show(tx, backfill)


def moved(mill: Mill, move: Any, backfill: UUID) -> None:
    with mill.database.transaction(Authority.CONTROL_PLANE) as tx:
        move(tx, backfill)
    settled(mill)


def settled(mill: Mill) -> None:
    """As a worker does it."""
    more = True
    while more:
        with mill.database.transaction(Authority.CONTROL_PLANE) as tx:
            more = backfilling.continue_all(tx, limit=2) > 0


def test_a_backfill_from_its_start_to_its_end(mill: Mill) -> None:
    backfill = started(mill, chosen(mill))
    assert (shown(mill, backfill).status, shown(mill, backfill).waiting) == ("running", 6)
    runs = mill.dispatch()
    assert [run.logical_date for run in runs] == sorted(run.logical_date for run in runs), "day by day"
    mill.end(runs)
    settled(mill)
    done = shown(mill, backfill)
    assert (done.status, done.succeeded, done.waiting) == ("done", 6, 0)
    assert done.ended_at is not None


def test_it_is_planned_in_chunks_and_continued_by_whoever_comes(mill: Mill) -> None:
    with mill.database.transaction(Authority.CONTROL_PLANE) as tx:
        backfill = backfilling.start(tx, chosen(mill, days=5), reason="history")
        assert backfilling.plan(tx, backfill, chunk=4)
    assert (shown(mill, backfill).status, shown(mill, backfill).planned) == ("planning", 4)
    settled(mill)
    assert (shown(mill, backfill).status, shown(mill, backfill).planned) == ("running", 10)
    items = "select count(*), count(distinct partition_id) from partitions.backfill_item where backfill_id = %s"
    assert mill.read(items, backfill) == [(10, 10)]


def test_what_is_enqueued_is_new_while_time_goes_by(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    """In a database whose clock runs; and each chunk is one statement, with one event for each step of its members."""
    with Database(server.uri(new_database(simulated_from=None)), settings) as database:
        mill = Mill(database)
        mill.enqueue(mill.partition("a"))
        backfill = started(mill, chosen(mill, days=1200), chunk=1000)
        assert shown(mill, backfill).waiting == 2400
        found = "select found, count(*) from partitions.backfill_item where backfill_id = %s group by 1 order by 1"
        assert mill.read(found, backfill) == [("new", 2399), ("pending", 1)]
        events = mill.read(
            "select e.subject, e.event_type, count(*) from partitions.partition_event e"
            " join partitions.backfill_item i using (partition_id) where i.found = 'new' group by 1, 2 order by 1"
        )
        assert events == [("partition", "enqueued", 2399), ("schedule", "scheduled", 2399)]
        chunks = mill.read(
            "select (facts ->> 'planned')::integer, count(distinct xid) from recoup.control_log"
            " where subject = 'partitions.backfill' and from_status = 'planning' group by 1 order by 1"
        )
        assert chunks == [(1000, 1), (2000, 1), (2400, 1)]


def test_what_exists_is_found_and_left_unless_it_is_asked_for(mill: Mill) -> None:
    """Success and terminal are left, failed is asked for again, an open run is not doubled."""
    mill.enqueue(*(mill.partition(name) for name in ("done", "bad", "given-up", "open", "new")))
    runs = {run.customer_id: run for run in mill.dispatch()}
    mill.end([runs["done"], runs["bad"], runs["given-up"]], lambda run: run.customer_id == "done")
    _mark_terminal(mill, "given-up")
    mill.end([runs["new"]])  # so that only one is open
    mill.enqueue(mill.partition("waiting"))
    selection = chosen(mill, ("bad", "done", "fresh", "given-up", "open", "waiting"), days=1)
    with mill.database.transaction(Authority.READER) as tx:
        found = {one.found: one.partitions for one in backfilling.preview(tx, selection)}
    assert found == {"failed": 1, "success": 1, "new": 1, "terminal": 1, "open": 1, "pending": 1}
    backfill = started(mill, selection)
    assert _items(mill, backfill) == {
        "bad": ("failed", "waiting"), "done": ("success", "left"), "fresh": ("new", "waiting"),
        "given-up": ("terminal", "left"), "open": ("open", "left"), "waiting": ("pending", "waiting"),
    }  # fmt: skip
    assert mill.stands("bad")[:2] == ("pending", "waiting")
    assert mill.stands("done")[:2] == ("success", "idle")
    again = started(mill, chosen(mill, ("done", "given-up"), days=1), reprocess=True, with_terminal=True)
    assert _items(mill, again) == {"done": ("success", "waiting"), "given-up": ("terminal", "waiting")}
    mill.end([run for run in mill.dispatch() if run.customer_id in ("done", "given-up")], lambda _: False)
    # What a person had given up was tried once of five times: it waits for its next attempt.
    assert _items(mill, again) == {"done": ("success", "failed"), "given-up": ("terminal", "waiting")}
    assert mill.stands("done") == ("success", "idle", 2), "a rejected reprocessing leaves what was accepted"


def test_only_what_failed(mill: Mill) -> None:
    mill.enqueue(mill.partition("a"))
    mill.end(mill.dispatch(), lambda _: False)
    backfill = started(mill, chosen(mill, days=1), only_failed=True)
    items = mill.read("select found, status from partitions.backfill_item where backfill_id = %s order by 1", backfill)
    assert items == [("absent", "left"), ("failed", "waiting")]


def test_a_member_of_an_open_backfill_is_skipped_and_named(mill: Mill) -> None:
    first = started(mill, chosen(mill, days=1))
    second = started(mill, chosen(mill, days=2))
    with mill.database.transaction(Authority.READER) as tx:
        assert backfilling.left_out(tx, second) == [("other", first, 2)]
    assert (shown(mill, second).waiting, shown(mill, second).left) == (2, 2)


def test_a_paused_backfill_is_not_dispatched_and_goes_on_when_it_is_resumed(mill: Mill) -> None:
    backfill = started(mill, chosen(mill))
    (first, *_) = mill.dispatch(1)
    moved(mill, backfilling.pause, backfill)
    assert mill.dispatch() == []
    assert (shown(mill, backfill).status, shown(mill, backfill).held) == ("paused", 5)
    mill.end([first])  # an open run finishes
    assert shown(mill, backfill).succeeded == 1
    moved(mill, backfilling.resume, backfill)
    mill.end(mill.dispatch())
    settled(mill)
    assert (shown(mill, backfill).status, shown(mill, backfill).succeeded) == ("done", 6)


def test_a_cancelled_backfill_leaves_the_rest_pending_and_held(mill: Mill) -> None:
    backfill = started(mill, chosen(mill))
    (first, *_) = mill.dispatch(1)
    moved(mill, backfilling.cancel, backfill)
    assert mill.dispatch() == []
    assert mill.stands("b")[:2] == ("pending", "held")
    mill.end([first])
    assert (shown(mill, backfill).status, shown(mill, backfill).cancelled, shown(mill, backfill).succeeded) == (
        "cancelled", 5, 1,
    )  # fmt: skip
    other = started(mill, chosen(mill))  # another one releases them
    assert (shown(mill, other).waiting, shown(mill, other).left) == (5, 1)
    assert len(mill.dispatch()) == 5


@pytest.mark.parametrize("verb", [backfilling.pause, backfilling.cancel])
def test_a_person_who_asks_for_a_held_member_releases_it_for_good(mill: Mill, verb: Callable[..., str]) -> None:
    """It is not held again, neither by the background task nor when it fails; the others stay held."""
    backfill = started(mill, chosen(mill, ("a", "b"), days=1))
    moved(mill, verb, backfill)
    assert mill.dispatch() == []
    with mill.database.transaction(Authority.CONTROL_PLANE, actor=Actor("human", "ada")) as tx:
        (answer,) = ask(tx, Request(ask=Ask.RETRY, re_extract=True), select(source=mill.source, customer_id="a"))
    assert answer.done
    settled(mill)
    assert backfill not in _unsettled(mill)
    assert (mill.stands("a"), mill.stands("b")) == (("pending", "waiting", 0), ("pending", "held", 0))
    mill.end(mill.dispatch(), lambda _: False)
    settled(mill)
    assert mill.stands("a") == ("failed", "waiting", 1)  # it is retried, as every partition that failed
    assert mill.stands("b") == ("pending", "held", 0)


def test_a_cancelled_reprocessing_leaves_the_success_alone(mill: Mill) -> None:
    mill.enqueue(mill.partition("a"))
    mill.end(mill.dispatch())
    backfill = started(mill, chosen(mill, ("a",), days=1), reprocess=True)
    assert mill.stands("a")[:2] == ("success", "waiting")
    moved(mill, backfilling.cancel, backfill)
    assert mill.stands("a") == ("success", "idle", 1)
    assert shown(mill, backfill).cancelled == 1


@pytest.mark.parametrize(
    ("selection", "code"),
    [
        ({"first": DAY + timedelta(days=1), "last": DAY}, "backfill_range"),
        ({"customers": ()}, "backfill_empty"),
        ({"customers": ("a", "a")}, "backfill_twice"),
        ({"customers": tuple(map(str, range(5_000_001)))}, "backfill_size"),
    ],
)
def test_what_cannot_be_planned_is_refused(mill: Mill, selection: dict[str, Any], code: str) -> None:
    given: dict[str, Any] = {
        "source": mill.source, "queries": ("q",), "customers": ("a", "b"), "first": DAY, "last": DAY,
    }  # fmt: skip
    with pytest.raises(InputRefused) as refused:
        backfilling.checked(Selection(**given | selection))
    assert refused.value.code == code


def test_nobody_writes_members_or_their_ends_by_hand(mill: Mill) -> None:
    backfill = started(mill, chosen(mill))
    for statement in (
        "insert into partitions.backfill_item (backfill_id, place, partition_id, found, status, planned_at)"
        f" values ('{backfill}', 7, 1, 'new', 'waiting', recoup.now())",
        f"update partitions.backfill_item set status = 'succeeded', ended_at = recoup.now()"
        f" where backfill_id = '{backfill}'",
        f"update partitions.backfill set status = 'done', ended_at = recoup.now(), updated_at = recoup.now()"
        f" where backfill_id = '{backfill}'",
    ):
        with pytest.raises(LawRefused), mill.database.transaction(Authority.CONTROL_PLANE) as tx:
            tx.execute(statement)


def _unsettled(mill: Mill) -> list[UUID]:
    with mill.database.transaction(Authority.READER) as tx:
        return backfilling.unsettled(tx)


def _items(mill: Mill, backfill: UUID) -> dict[str, tuple[str, str]]:
    rows = mill.read(
        "select p.customer_id, i.found, i.status from partitions.backfill_item i"
        " join partitions.partition_state p using (partition_id) where i.backfill_id = %s",
        backfill,
    )
    return {customer: (found, status) for customer, found, status in rows}


def _mark_terminal(mill: Mill, customer: str) -> None:
    with mill.database.transaction(Authority.CONTROL_PLANE, actor=Actor("human", "ada"), reason="no data") as tx:
        ((partition,),) = tx.execute(
            "select partition_id from partitions.partition_state where source = %s and customer_id = %s",
            (mill.source, customer),
        ).fetchall()
        tx.execute("select partitions.ask(array[%s]::bigint[], 'mark', 1, null, null, null, null, null, false)",
                   (partition,))  # fmt: skip
