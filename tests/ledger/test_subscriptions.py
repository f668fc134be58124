"""The settled read: nothing missed, repeated, or out of order within an entity, whatever the order of commits."""

from __future__ import annotations

import contextlib
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from company import acting, advance, attempt_and, new_batch
from recoup import gate, mint
from recoup.database import embedded
from recoup.database.connection import Database, Transaction
from recoup.gate import Failed, NewIntake
from recoup.ledger import Log, Page, acknowledge, read, subscribe, unsubscribe
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused, LawRefused

# Pauses of a few batches: a log in which one entity can have any number of events.
PAUSES = Log(table="recoup.pause_log", columns=("seq", "xid", "event_type", "scope_id", "reason"))
TOGGLE = (
    "update cl.gate_zero_batch set paused_at = case when paused_at is null then recoup.now() end,"
    " paused_by = case when paused_at is null then recoup.acting_id() end,"
    " pause_reason = case when paused_at is null then 'y' end where batch_id = %s"
)


def toggle(tx: Transaction, batch: str) -> None:
    with acting(tx, Authority.OPERATOR):
        tx.execute(TOGGLE, (batch,))


@pytest.fixture
def own(fresh: Callable[..., Database]) -> Iterator[tuple[Database, Callable[[], Transaction]]]:
    """A database of its own, and plain connections to it."""
    database = fresh()
    with contextlib.ExitStack() as stack:

        def connection() -> Transaction:
            return stack.enter_context(psycopg.connect(database.conninfo, options="-c statement_timeout=30s"))

        yield database, connection


def test_a_cursor_belongs_to_the_login_that_made_it(scratch: Transaction) -> None:
    """Two consumers are two logins: neither moves nor drops what the other reads by. An operator drops it."""
    move = "update recoup.subscription set after_seq = after_seq + 1 where name = 'mine'"
    drop = "delete from recoup.subscription where name = 'mine'"
    for login in ("one", "two"):
        scratch.execute(f"create role {login} login; grant recoup_consumer, recoup_operator to {login}".encode())
    with logged_in(scratch, "one", Authority.CONSUMER):
        subscribe(scratch, PAUSES, "mine")
        assert scratch.execute(move).rowcount == 1
    for statement in (move, drop):
        with pytest.raises(psycopg.Error) as caught, logged_in(scratch, "two", Authority.CONSUMER):
            scratch.execute(statement)
        assert caught.value.sqlstate == "RC043"
    with logged_in(scratch, "two", Authority.OPERATOR):
        assert scratch.execute(drop).rowcount == 1


@contextlib.contextmanager
def logged_in(tx: Transaction, login: str, authority: Authority) -> Iterator[None]:
    with tx.transaction():
        tx.execute(f"set local session authorization {login}".encode())
        with acting(tx, authority):
            yield
        tx.execute("reset session authorization")


@pytest.fixture
def batches(own: tuple[Database, Any]) -> list[str]:
    with own[0].transaction(Authority.HUB) as tx:
        return [new_batch(tx) for _ in range(5)]


def drain(
    database: Database, name: str, *, log: Log = PAUSES, limit: int = 100, who: Authority = Authority.CONSUMER
) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while True:
        with database.transaction(who) as tx:
            page = read(tx, log, name, limit=limit)
            acknowledge(tx, page)
        events.extend(page.events)
        if page.caught_up:
            return events


def read_beside(
    database: Database, server: embedded.Server, log: Log, writer: Callable[[int], None], *, limit: int
) -> list[dict[str, Any]]:
    """Read a log page by page while eight writers write it, and to its end, during an open transaction elsewhere."""
    writers_done = threading.Event()
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            writer(number)
        except BaseException as failure:
            failures.append(failure)
            raise

    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, log, "reader")
    with psycopg.connect(server.uri("postgres", admin=True)) as elsewhere:
        elsewhere.execute("select pg_current_xact_id()")
        threads = [threading.Thread(target=guarded, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()

        def wait() -> None:
            for thread in threads:
                thread.join()
            writers_done.set()

        waiter = threading.Thread(target=wait)
        waiter.start()
        seen: list[dict[str, Any]] = []
        while not writers_done.is_set():
            with database.transaction(Authority.CONSUMER) as tx:
                page = read(tx, log, "reader", limit=limit)
                acknowledge(tx, page)
            seen.extend(page.events)
        waiter.join()
        seen.extend(drain(database, "reader", log=log, limit=limit))
    assert not failures
    return seen


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_with_eight_writers_nothing_is_missed_repeated_or_disordered(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str], server: embedded.Server, limit: int
) -> None:
    """Early and late commits, rollbacks, savepoints, ids drawn early, an open transaction in another database."""
    database, connection = own

    def writer(number: int) -> None:
        rng = random.Random(number)
        tx = connection()
        for _ in range(40):
            tx.execute("select set_config('role', 'recoup_operator', true)")
            if rng.random() < 0.5:
                tx.execute("select pg_current_xact_id()")
            time.sleep(rng.random() * 0.004)
            with contextlib.suppress(psycopg.errors.DeadlockDetected), tx.transaction() as savepoint:
                tx.execute(TOGGLE, (rng.choice(batches),))
                if rng.random() < 0.2:
                    raise psycopg.Rollback(savepoint)
            time.sleep(rng.random() * 0.003)
            tx.rollback() if rng.random() < 0.1 else tx.commit()

    seen = read_beside(database, server, PAUSES, writer, limit=limit)
    with database.transaction(Authority.READER) as tx:
        written = [row[0] for row in tx.execute("select seq from recoup.pause_log order by seq")]
    order = [event["seq"] for event in seen]
    assert len(order) == len(set(order)), "repeated"
    assert set(order) == set(written), "missed"
    assert len(written) > 100
    for batch in batches:
        mine = [event["seq"] for event in seen if event["scope_id"] == batch]
        assert mine == sorted(mine), "out of order within an entity"


EACH = 24  # intakes of one writer: half of them new, half to be retried


@pytest.fixture
def candidates(own: tuple[Database, Any]) -> list[UUID]:
    """Intakes of which every second one failed a day ago."""
    with own[0].transaction(Authority.GATE) as tx:
        intakes = gate.add_intakes(tx, [NewIntake(company_name="Acme")] * (8 * EACH))
        attempts = gate.open_attempts(tx, intakes[1::2], worker="w")
        failed = [
            Failed(attempt_id=a.attempt_id, token=a.token, reason_code=ReasonCode.DOMAIN_NOT_FOUND) for a in attempts
        ]
        gate.finish_attempts(tx, failed)
        advance(tx, timedelta(hours=24))
    return intakes


@pytest.mark.parametrize("limit", [1, 1000])
def test_authorisations_are_neither_missed_nor_repeated(
    own: tuple[Database, Callable[[], Transaction]], candidates: list[UUID], server: embedded.Server, limit: int
) -> None:
    """Through the view, among the other events of each attempt; several in one transaction, and smaller pages."""
    database, connection = own

    def writer(number: int) -> None:
        rng = random.Random(number)
        tx = connection()
        mine = candidates[number * EACH : (number + 1) * EACH]
        while mine:
            if rng.random() < 0.5:
                tx.execute("select pg_current_xact_id()")
            for _ in range(rng.randint(1, 4)):
                if mine:
                    attempt_and(tx, mine.pop(), None if rng.random() < 0.8 else ReasonCode.TIMEOUT)
            time.sleep(rng.random() * 0.003)
            tx.rollback() if rng.random() < 0.1 else tx.commit()

    seen = read_beside(database, server, mint.AUTHORIZATIONS, writer, limit=limit)
    with database.transaction(Authority.READER) as tx:
        written = tx.execute(
            "select a.seq, a.entity_id, coalesce(n.intake_id, a.entity_id) from cl.gate_zero_air a"
            "  left join cl.gate_zero_intake n on n.reentered_from = a.entity_id"
            " where a.event_type = 'AUTH' order by a.seq"
        ).fetchall()
    told = [(event["seq"], event["intake_id"], event["mint_intake_id"]) for event in seen]
    assert sorted(told) == written
    assert any(intake == to_mint for _, intake, to_mint in told)
    assert any(intake != to_mint for _, intake, to_mint in told)


@pytest.mark.parametrize("limit", [1, 2, 500])
def test_the_mint_goes_on_after_a_restore(
    own: tuple[Database, Callable[[], Transaction]], candidates: list[UUID], server: embedded.Server, limit: int
) -> None:
    """In the middle of a window, with an AUTH that drew its seq first and committed last: each is minted, once."""
    database, connection = own
    minted: list[UUID] = []

    def one_page() -> int:
        with database.transaction(Authority.MINT) as tx:
            page = mint.mint(tx, limit=limit)
        minted.extend(identity.intake_id for identity in page.identities)
        return page.events

    slow, quick = connection(), connection()
    late, *early, after = candidates[0:8:2]
    attempt_and(slow, late, None)
    for intake in early:
        attempt_and(quick, intake, None)
    quick.commit()
    assert one_page() == min(limit, 2)
    slow.commit()
    new_incarnation(database, server)
    attempt_and(quick, after, None)
    quick.commit()
    for _ in range(8):  # events are on four of these pages at most; an empty one ends the earlier cluster's window
        one_page()
    assert minted == [*early, late, after]


def test_a_late_commit_is_read_late_and_once(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str]
) -> None:
    """The older transaction commits after a younger one was read. A cursor on seq would have passed it by."""
    database, connection = own
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, PAUSES, "reader")
    slow, quick = connection(), connection()
    toggle(slow, batches[0])
    toggle(quick, batches[1])
    quick.commit()
    assert [event["scope_id"] for event in drain(database, "reader")] == [batches[1]]
    assert drain(database, "reader") == []
    slow.commit()
    assert [event["scope_id"] for event in drain(database, "reader")] == [batches[0]]
    assert drain(database, "reader") == []


def test_work_in_the_same_transaction_is_done_exactly_once(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str]
) -> None:
    """A subscriber that dies before it commits has neither worked nor acknowledged."""
    database, connection = own
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, PAUSES, "reader")
    writer = connection()
    toggle(writer, batches[0])
    writer.commit()
    dying = connection()
    with acting(dying, Authority.CONSUMER):
        page = read(dying, PAUSES, "reader")
        acknowledge(dying, page)
    assert len(page.events) == 1
    dying.rollback()
    assert len(drain(database, "reader")) == 1
    assert drain(database, "reader") == []


def test_acknowledging_later_is_at_least_once_and_counts_once(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str]
) -> None:
    """Unacknowledged, a page comes again; of two acknowledgements one counts and the other is refused."""
    database, connection = own
    writer = connection()
    toggle(writer, batches[0])
    writer.commit()
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, PAUSES, "reader")
    pages: list[Page] = []
    for _ in range(2):
        with database.transaction(Authority.CONSUMER) as tx:
            pages.append(read(tx, PAUSES, "reader"))
    assert pages[0].events == pages[1].events != ()
    with database.transaction(Authority.CONSUMER) as tx:
        acknowledge(tx, pages[0])
    with (
        pytest.raises(LawRefused, match="already acknowledged") as refused,
        database.transaction(Authority.CONSUMER) as tx,
    ):
        acknowledge(tx, pages[1])
    assert refused.value.code == "page_acknowledged"


def test_two_readers_of_one_subscription_do_not_get_the_same_page(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str]
) -> None:
    """The second finds it busy and goes on with something else, instead of waiting or reading twice."""
    database, connection = own
    writer = connection()
    toggle(writer, batches[0])
    writer.commit()
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, PAUSES, "reader")
    first, second = connection(), connection()
    with acting(first, Authority.CONSUMER), acting(second, Authority.CONSUMER):
        assert len(read(first, PAUSES, "reader").events) == 1
        page = read(second, PAUSES, "reader")
        assert page.busy
        assert page.events == ()
        acknowledge(second, page)  # nothing to acknowledge, and harmless


def test_named_subscribers_are_independent_and_may_filter(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str]
) -> None:
    """Each name has its own cursor; a filter hides events without holding the cursor back."""
    database, connection = own
    writer = connection()
    for _ in range(4):
        toggle(writer, batches[0])
        writer.commit()
    with database.transaction(Authority.CONSUMER) as tx:
        for name in ("all", "resumes"):
            subscribe(tx, PAUSES, name)
            subscribe(tx, PAUSES, name)  # twice is once
    assert len(drain(database, "all")) == 4
    with database.transaction(Authority.CONSUMER) as tx:
        page = read(tx, PAUSES, "resumes", event_types=["RESUME"])
        acknowledge(tx, page)
        assert [event["event_type"] for event in page.events] == ["RESUME", "RESUME"]
        assert unsubscribe(tx, PAUSES, "resumes")
        assert not unsubscribe(tx, PAUSES, "resumes")
        with pytest.raises(InputRefused, match="There is no subscription"):
            read(tx, PAUSES, "resumes")
        for limit in (0, 10_001):
            with pytest.raises(InputRefused, match="page"):
                read(tx, PAUSES, "all", limit=limit)


@pytest.mark.parametrize("first", ["reader", "writer"])
def test_a_restored_database_with_lower_transaction_ids_is_read_on(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str], server: embedded.Server, first: str
) -> None:
    """After a restore into another cluster the new ids are lower than the stored ones: the cursor finishes the old
    incarnation by its own ids and goes on with the new one; nothing is missed or repeated."""
    database, connection = own
    writer = connection()
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, PAUSES, "reader")
    for _ in range(3):
        toggle(writer, batches[0])
        writer.commit()
    with database.transaction(Authority.CONSUMER) as tx:
        page = read(tx, PAUSES, "reader", limit=2)
        acknowledge(tx, page)
    # What a restore leaves behind: rows and cursors with ids of a cluster far ahead, and its identity.
    name = database.conninfo.split("/")[-1].split("?")[0]
    with psycopg.connect(server.uri(name, admin=True), autocommit=True) as admin:
        admin.execute(
            "alter table recoup.pause_log disable trigger all; alter table recoup.incarnation disable trigger all;"
            " alter table recoup.subscription disable trigger all"
        )
        admin.execute("update recoup.pause_log set xid = (xid::text::bigint + 1000000000)::text::xid8")
        admin.execute("update recoup.incarnation set system_identifier = 1")
        since, until = admin.execute("select since::text, until::text from recoup.subscription").fetchone() or ("", "")
        admin.execute(
            "update recoup.subscription set since = %s::pg_snapshot, until = %s::pg_snapshot",
            (shifted(since), shifted(until)),
        )
        for table in ("pause_log", "incarnation"):
            admin.execute(f"alter table recoup.{table} enable always trigger a_append_only")
        admin.execute("alter table recoup.subscription enable always trigger b_rule_cursors")
        admin.execute("alter table recoup.pause_log enable always trigger a_only_recorders")
    assert [event["scope_id"] for event in page.events] == [batches[0]] * 2
    if first == "reader":  # the subscriber comes first, before anything is written in the new cluster
        assert [event["scope_id"] for event in drain(database, "reader")] == [batches[0]]
        assert drain(database, "reader") == []
    writer = connection()
    for _ in range(2):
        toggle(writer, batches[1])
        writer.commit()
    rest = drain(database, "reader")
    assert [event["scope_id"] for event in rest] == [batches[0]] * (first == "writer") + [batches[1]] * 2
    assert drain(database, "reader") == []


def new_incarnation(database: Database, server: embedded.Server) -> None:
    """As a restore does it: whatever is there belongs to the incarnation before."""
    name = database.conninfo.split("/")[-1].split("?")[0]
    with psycopg.connect(server.uri(name, admin=True), autocommit=True) as admin:
        admin.execute(
            "insert into recoup.incarnation select max(incarnation) + 1, max(system_identifier), now()"
            " from recoup.incarnation"
        )


def shifted(snapshot: str | None) -> str | None:
    if snapshot is None:
        return None
    low, high, running = snapshot.split(":")
    if high == "1":
        return snapshot
    far = [str(int(xid) + 1_000_000_000) for xid in running.split(",") if xid]
    return f"{int(low) + 1_000_000_000}:{int(high) + 1_000_000_000}:{','.join(far)}"


def test_a_subscription_is_not_made_without_a_name(db: Database) -> None:
    """And a subscriber needs an authority that may subscribe."""
    with db.transaction(Authority.CONSUMER) as tx, pytest.raises(InputRefused):
        subscribe(tx, PAUSES, " ")
    with pytest.raises(LawRefused) as refused, db.transaction(Authority.READER) as tx:
        subscribe(tx, gate.AIR, f"reader-{uuid.uuid4()}")
    assert refused.value.code == "authority_lacks_right"


def test_a_subscriber_reads_what_it_wrote_itself(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str]
) -> None:
    """It reads, writes and acknowledges in one transaction, while others commit: its own event comes next time."""
    database, connection = own
    with database.transaction(Authority.OPERATOR) as tx:
        subscribe(tx, PAUSES, "reader")
    working, other = connection(), connection()
    with acting(working, Authority.OPERATOR):
        working.execute("select from recoup.subscription for update")  # it has its transaction id now
        toggle(other, batches[1])
        other.commit()  # and a later one is done before it looks
        page = read(working, PAUSES, "reader")
        working.execute(TOGGLE, (batches[0],))
        acknowledge(working, page)
    working.commit()
    assert [event["scope_id"] for event in page.events] == [batches[1]]
    assert [event["scope_id"] for event in drain(database, "reader", who=Authority.OPERATOR)] == [batches[0]]
    assert drain(database, "reader", who=Authority.OPERATOR) == []


def test_a_page_of_a_dropped_subscription_does_not_move_its_successor(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str]
) -> None:
    """Dropped and made again under its name, it begins at the beginning; nobody skips it ahead."""
    database, connection = own
    writer = connection()
    toggle(writer, batches[0])
    writer.commit()
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, PAUSES, "reader")
        page = read(tx, PAUSES, "reader")
    with database.transaction(Authority.CONSUMER) as tx:
        unsubscribe(tx, PAUSES, "reader")
        subscribe(tx, PAUSES, "reader")
    with pytest.raises(LawRefused), database.transaction(Authority.CONSUMER) as tx:
        acknowledge(tx, page)
    assert len(drain(database, "reader")) == 1


def test_a_late_event_from_before_a_restore_is_read(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str], server: embedded.Server
) -> None:
    """Restored in the middle of a window, with an event that drew its seq first and committed last."""
    database, connection = own
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, PAUSES, "reader")
    slow, quick = connection(), connection()
    toggle(slow, batches[0])
    for _ in range(3):
        toggle(quick, batches[1])
        quick.commit()
    with database.transaction(Authority.CONSUMER) as tx:
        page = read(tx, PAUSES, "reader", limit=2)
        acknowledge(tx, page)
    slow.commit()
    new_incarnation(database, server)
    toggle(quick, batches[2])
    quick.commit()
    rest = drain(database, "reader", limit=2)
    rest += drain(database, "reader", limit=2)
    assert [event["scope_id"] for event in page.events] == [batches[1]] * 2
    assert [event["scope_id"] for event in rest] == [batches[1], batches[0], batches[2]]


def test_a_long_window_is_read_page_by_page(
    own: tuple[Database, Callable[[], Transaction]], batches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far behind, the pages go along seq from the window's first: complete, once, in order."""
    monkeypatch.setattr("recoup.ledger.subscriptions.SHORT_WINDOW_ROWS", 5)
    database, connection = own
    writer = connection()
    with database.transaction(Authority.CONSUMER) as tx:
        subscribe(tx, PAUSES, "reader")
    seen: list[dict[str, Any]] = []
    for size in (3, 40, 4, 25):
        for number in range(size):
            toggle(writer, batches[number % 5])
            writer.commit()
        seen += drain(database, "reader", limit=7)
    assert len(seen) == len({event["seq"] for event in seen}) == 72
    assert [event["seq"] for event in seen] == sorted(event["seq"] for event in seen)
