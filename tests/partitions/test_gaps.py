"""Gaps: what consumers cannot read, by four kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from partitions.people import DAY, POLICY, SOURCE, Ward, opened
from recoup.database import embedded
from recoup.partitions import select
from recoup.partitions.gaps import counted
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


def gaps(ward: Ward, **conditions: object) -> list[tuple[str, str, str]]:
    found = ward.client.partitions.gaps(select(source=ward.source, **conditions))  # type: ignore[arg-type]
    return [(gap.customer_id, gap.logical_date.isoformat()[-2:], gap.kind) for gap in found]


def test_a_range_that_is_asked_for_has_four_kinds(ward: Ward) -> None:
    ward.exhaust(ward.key(1))
    ward.accept(ward.key(2), ward.key(1, customer="beta"))
    ward.reject(ward.key(3))
    ward.enqueue(ward.key(4))
    found = gaps(ward, query_name="orders", customer_id=["acme", "beta"], logical_date="2025-12-02..2025-12-06")
    assert found == [
        ("acme", "02", "terminal"),
        ("acme", "04", "failed"),
        ("acme", "05", "pending"),
        ("acme", "06", "never_enqueued"),
        ("beta", "03", "never_enqueued"),
        ("beta", "04", "never_enqueued"),
        ("beta", "05", "never_enqueued"),
        ("beta", "06", "never_enqueued"),
    ]
    only = ward.client.partitions.gaps(ward.all, kinds=["failed", "terminal"])
    assert counted(only) == {"never_enqueued": 0, "pending": 0, "failed": 1, "terminal": 1}
    (failed, terminal) = sorted(only, key=lambda gap: gap.kind)
    assert (failed.error_message, terminal.terminal_causes) == ("2 rows are null", ["ATTEMPTS"])
    assert failed.next_run_at is not None


def test_a_range_is_of_the_customers_that_the_source_knows(ward: Ward) -> None:
    """Those of the registry, and those that were ever enqueued."""
    ward.accept(ward.key(1), ward.key(1, customer="gone"))
    found = gaps(ward, query_name="orders", logical_date="2025-12-02..2025-12-03")
    assert found == [
        ("acme", "03", "never_enqueued"), ("gone", "03", "never_enqueued"), ("zeta", "02", "never_enqueued"),
        ("zeta", "03", "never_enqueued"),
    ]  # fmt: skip


def test_the_registry_expects_without_a_range(ward: Ward) -> None:
    (now,) = ward.read("select recoup.now()")[0]
    assert gaps(ward) == []
    text = SOURCE.format(source=ward.source)
    start = f'customers = ["acme", "zeta"]\nstart_date = {now.date() - 3 * DAY}'
    ward.policy(POLICY.replace(text, text.replace('customers = ["acme", "zeta"]', start)))
    found = ward.client.partitions.gaps(ward.all)
    # Today is not over, so it is not missing.
    assert {gap.logical_date for gap in found} == {now.date() - days * DAY for days in (1, 2, 3)}
    assert counted(found) == {"never_enqueued": 6, "pending": 0, "failed": 0, "terminal": 0}
    assert len(gaps(ward, customer_id="acme")) == 3
    assert gaps(ward, customer_id="unknown") == []
    assert len(ward.client.partitions.gaps(ward.all, limit=2)) == 2


def test_a_day_that_is_not_ready_is_no_gap(ward: Ward) -> None:
    (now,) = ward.read("select recoup.now()")[0]
    assert (
        gaps(ward, customer_id="acme", query_name="orders", logical_date=f"{now.date()}..{now.date() + 9 * DAY}") == []
    )


def test_a_verdict_is_asked_for_so_it_has_a_row(ward: Ward) -> None:
    """What was never enqueued has no reason and no status."""
    ward.reject(ward.key(1))
    found = gaps(ward, reason="CONTRACT_BROKEN", logical_date="2025-12-01..2025-12-09")
    assert found == [("acme", "02", "failed")]
