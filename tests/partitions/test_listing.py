"""Lists, inspection and history: what people see of partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta

import pytest

from partitions.people import DAY, FIRST, HOUR, Ward, opened
from recoup.cli.grid import Cell, grid, wants_color
from recoup.database import embedded
from recoup.find import find
from recoup.lifecycles.declaration import Authority
from recoup.partitions import Selection, listing, select
from recoup.partitions.finding import FINDER
from recoup.partitions.marks import Mark
from recoup.partitions.selecting import of
from recoup.refusals import Refusal
from recoup.settings import Settings


@pytest.fixture(scope="module")
def shared(
    new_database: Callable[..., str],
    server: embedded.Server,
    settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ward]:
    yield from opened(new_database, server, settings, tmp_path_factory.mktemp("data"))


@pytest.fixture
def ward(shared: Ward) -> Ward:
    return shared.next_source()


def days(ward: Ward, **conditions: object) -> list[int]:
    chosen = select(source=ward.source, **conditions)  # type: ignore[arg-type]
    return [(one.logical_date - FIRST).days for one in ward.client.partitions.list(chosen)]


def test_every_condition_selects(ward: Ward) -> None:
    ward.accept(ward.key(1), ward.key(1, customer="zeta"))
    ward.advance(HOUR)
    ward.reject(ward.key(2), reason="SCHEMA_DRIFT", rule="columns", message="column amount is missing")
    (now,) = ward.read("select recoup.now()")[0]
    ward.advance(HOUR)
    ward.exhaust(ward.key(3, query="refunds"))
    ward.enqueue(ward.key(4))
    assert days(ward) == [1, 2, 4, 1, 3]
    assert days(ward, customer_id="zeta") == [1]
    assert days(ward, query_name="refunds") == [3]
    assert days(ward, logical_date="2025-12-03..2025-12-04") == [2, 3]
    assert days(ward, logical_date=["2025-12-02", "2025-12-05"]) == [1, 4, 1]
    assert days(ward, logical_date="..2025-12-02") == [1, 1]
    assert days(ward, status="failed") == [2, 3]
    assert days(ward, status=["pending", "success"]) == [1, 4, 1]
    assert days(ward, reason="SCHEMA_DRIFT") == [2]
    assert days(ward, rule="columns") == [2]
    assert days(ward, terminal_cause="ATTEMPTS") == [3]
    assert days(ward, validator_version="1") == [1, 2, 1, 3]
    assert days(ward, validator_version="2") == []
    (drift,) = ward.client.partitions.inspect(of(ward.key(2)))
    assert days(ward, signature=drift.error_signature) == [2]
    assert 2 in days(ward, category=drift.category)
    assert days(ward, failed_since=now) == [2, 3]
    assert days(ward, failed_since=now + timedelta(hours=1)) == [3]


def test_inspection_has_attempts_messages_times_and_the_next_retry(ward: Ward) -> None:
    (run,) = ward.reject(ward.key(1))
    (one,) = ward.client.partitions.inspect(of(ward.key(1)))
    (attempt,) = one.attempts
    assert (attempt.number, attempt.verdict, attempt.reason, attempt.rule) == (1, "rejected", "CONTRACT_BROKEN", "id")
    assert (attempt.message, attempt.rows, attempt.run_id) == ("2 rows are null", 1, run.run_id)
    assert one.next_run_at == attempt.judged_at + timedelta(minutes=5)
    assert (one.max_attempts, one.dispatch_cap, one.max_age_hours) == (2, 5, 168)
    ward.advance(DAY)
    ward.lose(1)
    (one,) = ward.client.partitions.inspect(of(ward.key(1)))
    assert (one.status, one.dispatches) == ("pending", 1)
    assert [(lost.reason, lost.message) for lost in one.lost] == [("X", "no file")]
    ward.dispatch()
    (one,) = ward.client.partitions.inspect(of(ward.key(1)))
    assert one.run is not None
    assert (one.run["worker"], one.status_text) == ("w1", "pending (running)")


def test_history_is_in_order_with_late_verdicts(ward: Ward) -> None:
    ward.enqueue(ward.key(1))
    runs = ward.dispatch()
    ward.publish(runs)
    ward.advance(HOUR)  # the lease has expired
    assert ward.judge(runs) == ["late"]
    events = ward.client.partitions.history(of(ward.key(1)))
    assert [event.event_type for event in events] == [
        "enqueued", "scheduled", "dispatched", "opened", "published", "late_verdict",
    ]  # fmt: skip
    assert events[-1].to_status == "accepted"
    with pytest.raises(Refusal) as refused:
        ward.client.partitions.history(of(ward.key(2)))
    assert refused.value.code == "partition_unknown"


def test_terminal_tells_its_causes_apart(ward: Ward) -> None:
    ward.exhaust(ward.key(1))
    ward.reject(ward.key(2))
    ward.client.partitions.mark_terminal(of(ward.key(2)))
    ward.reject(ward.key(3))
    ward.advance(8 * DAY)
    with ward.client.transaction(Authority.CONTROL_PLANE) as tx:
        tx.execute("select partitions.give_up_aged(100)")
    with ward.client.transaction(Authority.READER) as tx:
        found = listing.terminal(tx, ward.all)
        causes = listing.terminal_causes(tx, ward.all)
        aged = listing.terminal(tx, select(source=ward.source, terminal_cause="AGE"))
    assert {one.logical_date: one.terminal_causes for one in found} == {
        ward.key(1).logical_date: ("ATTEMPTS",),
        ward.key(2).logical_date: ("MARKED",),
        ward.key(3).logical_date: ("AGE",),
    }
    assert causes == {"AGE": 1, "ATTEMPTS": 1, "MARKED": 1}
    assert [one.logical_date for one in aged] == [ward.key(3).logical_date]


def test_partitions_are_found_by_key_customer_and_run(ward: Ward) -> None:
    (run,) = ward.accept(ward.key(1, customer=f"c-{ward.source}"))
    with ward.client.transaction(Authority.READER) as tx:
        for text in (str(run.partition), f"c-{ward.source}", str(run.run_id), str(run.run_id)[:18]):
            (one,) = find(tx, text, [FINDER]).found
            assert (one.kind, one.id, one.status) == ("partition", str(run.partition), "success")
            assert one.next_step.startswith(f"recoup state inspect --source {ward.source}")


def test_a_status_says_what_the_control_plane_does() -> None:
    assert listing.status_text("failed", "terminal", causes=("AGE", "MARKED")) == "failed (terminal: AGE, MARKED)"
    assert listing.status_text("pending", "held", hold="PAUSED") == "pending (held: PAUSED)"
    assert listing.status_text("success", "open") == "success (reprocessing)"
    assert listing.status_text("failed", "waiting") == "failed"


def cells(*marks: tuple[int, str, str]) -> list[Cell]:
    return [Cell("shop", "orders", "acme", date(2026, 1, 30) + day * DAY, *rest) for day, *rest in marks]


def test_a_grid_has_a_character_for_each_day() -> None:
    shown = cells(
        (0, "success", "idle"), (1, "pending", "waiting"), (2, "pending", "open"), (3, "pending", "held"),
        (4, "failed", "waiting"), (5, "failed", "terminal"), (7, "success", "open"),
    )  # fmt: skip
    ruler, row, _, legend = grid(shown)
    assert row == "shop/orders/acme  ●○◐‖✗■·●"
    assert ruler == " " * 18 + "2026-01-30"
    assert legend.startswith("● success 2  ○ pending 1")
    wide = grid(cells(*((day, "success", "idle") for day in range(60))), first=date(2026, 1, 1), last=date(2026, 2, 28))
    assert wide[0] == " " * 18 + "2026-01-01" + " " * 21 + "Feb"
    assert wide[1].count("·") == 29


def test_a_grid_continues_where_the_terminal_is_narrow() -> None:
    shown = cells(*((day, "success", "idle") for day in range(20)))
    lines = grid(shown, width=28)
    assert [line.count("●") for line in lines] == [0, 10, 0, 0, 10, 0, 1]
    assert all(len(line) <= 28 for line in lines[:-1])


def test_colours_are_for_terminals() -> None:
    (_, row, *_) = grid(cells((0, "success", "idle"), (1, "success", "idle"), (2, "failed", "idle")), color=True)
    assert row == "shop/orders/acme  \x1b[32m●●\x1b[0m\x1b[31m✗\x1b[0m"
    assert not wants_color(is_terminal=False)
    assert len({one.sign for one in Mark}) == len(Mark)
    assert grid([]) == []


def test_everything_is_listed_in_order(ward: Ward) -> None:
    ward.enqueue(ward.key(2), ward.key(1), ward.key(1, customer="a"))
    found = ward.client.partitions.list(Selection(sources=(ward.source,)), limit=2)
    assert [(one.customer_id, one.logical_date) for one in found] == [
        ("a", ward.key(1).logical_date), ("acme", ward.key(1).logical_date),
    ]  # fmt: skip
