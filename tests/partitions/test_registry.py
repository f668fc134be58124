"""The registry: what the policy may say, which days are expected and when, and what is enqueued by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from partitions.people import DAY, POLICY, SOURCE, Ward, opened
from recoup.database import embedded
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.partitions import Partition, control_plane, registry
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.selecting import of
from recoup.policy import document, rendered, versions
from recoup.refusals import InputRefused, LawRefused, Refusal
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


PARTS = parts(DOMAINS)
ORDERS = """
[partitions.sources.shop.queries.orders]
extractor = "shop.orders:extract"
contract = "orders"
customers = ["acme", "zeta"]
start_date = 2025-12-30
time_zone = "Europe/Berlin"
extract_with = { pattern = "in/{logical_date}.csv" }
[partitions.contracts.orders]
columns.id.type = "integer"
"""


def policy(text: str = ORDERS) -> PartitionPolicy:
    return document.read(text, PARTS)[PartitionPolicy]


def test_a_registry_is_read_stored_and_printed_as_it_was() -> None:
    read = document.read(ORDERS, PARTS)
    assert read[PartitionPolicy].query("shop", "orders").start_date == date(2025, 12, 30)  # type: ignore[union-attr]
    assert document.read(rendered(read.figures, PARTS), PARTS).figures == read.figures
    assert document.Policy(read.figures)[PartitionPolicy] == read[PartitionPolicy]


@pytest.mark.parametrize(
    ("wrong", "right", "allowed"),
    [
        ('"Europe/Berln"', '"Europe/Berlin"', "did you mean Europe/Berlin?"),
        ('contract = "ordrs"', 'contract = "orders"', "did you mean orders?"),
        ("", 'contract = "orders"', "either a validator or a contract"),
        ('contract = "orders"\nvalidator = "a:b"', 'contract = "orders"', "either a validator or a contract"),
        ('extractor = "extract it"', 'extractor = "shop.orders:extract"', "module:function"),
        ('["acme", "acme"]', '["acme", "zeta"]', "each customer once"),
        ('["acme", ".."]', '["acme", "zeta"]', "a name that can be a folder's"),
        ("[]", '["acme", "zeta"]', "the customers whose partitions are expected"),
        ('"soon"', "2025-12-30", "a day such as 2026-01-31"),
        ("2025-12-30T00:00:00", "2025-12-30", "a day such as 2026-01-31"),
        ("1066-10-14", "2025-12-30", "a day from 1970-01-01 on"),
        ("ready_after = 3", 'contract = "orders"', "there is no such key"),
    ],
)
def test_a_registry_that_cannot_work_is_refused(wrong: str, right: str, allowed: str) -> None:
    with pytest.raises(InputRefused) as refused:
        policy(ORDERS.replace(right, wrong))
    assert allowed in refused.value.next_step


@pytest.mark.parametrize(
    ("now", "zone", "last"),
    [
        ("2026-01-02T00:30+00:00", "UTC", "2025-12-31"),  # an hour after midnight it is ready
        ("2026-01-02T01:00+00:00", "UTC", "2026-01-01"),
        ("2026-01-02T00:00+00:00", "Europe/Berlin", "2026-01-01"),
        ("2026-01-01T23:59+00:00", "Europe/Berlin", "2025-12-31"),
        ("2026-01-01T11:00+00:00", "Pacific/Kiritimati", "2026-01-01"),
        ("2026-01-02T08:59+00:00", "America/Los_Angeles", "2025-12-31"),
        # Clocks change in the night: the day has 23 and 25 hours.
        ("2026-03-29T23:00+00:00", "Europe/Berlin", "2026-03-29"),
        ("2026-10-25T23:59+00:00", "Europe/Berlin", "2026-10-24"),
    ],
)
def test_a_day_is_ready_when_it_is_over_in_its_zone(now: str, zone: str, last: str) -> None:
    found = policy(ORDERS.replace("Europe/Berlin", zone))
    assert registry.last_ready(found, "shop", "orders", datetime.fromisoformat(now)) == date.fromisoformat(last)


def test_a_query_says_more_than_its_source_and_that_more_than_all() -> None:
    found = policy(
        ORDERS.replace('time_zone = "Europe/Berlin"', "") + '[partitions.sources.shop]\ntime_zone = "Asia/Tokyo"'
    )
    assert found.zone("shop", "orders") == "Asia/Tokyo"
    assert (found.zone("other", "orders"), found.ready_after("shop", "orders")) == ("UTC", 60)


def test_the_database_reads_the_same_values(ward: Ward) -> None:
    """A value that a query does not give is that of all, and not null."""
    query = "select partitions.figures(partitions.policy(), %s, 'orders')"
    ((found,),) = ward.read(query, ward.source)
    assert (found["max_attempts"], found["at_once"], found["dispatch_cap"]) == (2, 1000, 5)
    assert None not in found.values()


def expected(ward: Ward) -> int:
    with ward.client.transaction(Authority.CONTROL_PLANE) as tx:
        return registry.enqueue_expected(tx, versions.active(tx).policy)


def with_start(ward: Ward, start: date, customers: str = '["acme", "zeta"]') -> str:
    """The policy, with days of this source expected from a day on."""
    text = SOURCE.format(source=ward.source)
    wanted = f"customers = {customers}\nstart_date = {start}"
    return POLICY.replace(text, text.replace('customers = ["acme", "zeta"]', wanted))


def test_what_the_registry_expects_is_enqueued_once_its_day_is_over(ward: Ward) -> None:
    (now,) = ward.read("select recoup.now()")[0]
    start = now.date() - 2 * DAY
    ward.policy(with_start(ward, start))
    with ward.client.transaction(Authority.READER) as tx:
        assert registry.lag(tx) is not None
    assert expected(ward) == 4  # two days, two customers
    assert expected(ward) == 0
    with ward.client.transaction(Authority.READER) as tx:
        assert registry.lag(tx) is None
    listed = ward.client.partitions.list(ward.all)
    assert {one.lane for one in listed} == {"fresh"}
    ward.advance(DAY)
    assert expected(ward) == 2
    assert expected(ward) == 0


def test_nothing_is_compared_when_nothing_is_new(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    (now,) = ward.read("select recoup.now()")[0]
    ward.policy(with_start(ward, now.date() - 2 * DAY))
    assert [expected(ward), expected(ward)] == [4, 0]
    monkeypatch.setattr(registry, "_missing", lambda *_: pytest.fail("it was compared"))
    assert expected(ward) == 0


def test_a_long_history_is_enqueued_in_batches_behind_fresh_days(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(registry, "MAX_BATCH", 30)
    monkeypatch.setattr(registry, "MAX_CHECKED", 20)  # keys: ten days of two customers
    (now,) = ward.read("select recoup.now()")[0]
    start = now.date() - 40 * DAY
    ward.policy(with_start(ward, start))
    counts = [expected(ward) for _ in range(10)]
    assert sum(counts) == 80
    assert max(counts) <= 30
    lanes = {one.logical_date: one.lane for one in ward.client.partitions.list(ward.all)}
    assert sorted(lanes) == [start + number * DAY for number in range(40)]
    assert [lanes[day] for day in sorted(lanes)] == ["backfill"] * 33 + ["fresh"] * 7
    # The recent days came first.
    (first,) = ward.read(
        "select min(logical_date) from (select logical_date from partitions.partition_state where source = %s"
        " order by partition_id limit 14) d", ward.source,
    )[0]  # fmt: skip
    assert first == start + 33 * DAY


def test_a_new_policy_is_compared_from_the_start(ward: Ward) -> None:
    (now,) = ward.read("select recoup.now()")[0]
    start = now.date() - 3 * DAY
    ward.policy(with_start(ward, start))
    assert expected(ward) == 6
    assert expected(ward) == 0
    ward.policy(with_start(ward, start, '["acme", "zeta", "new"]'))
    assert expected(ward) == 3


def test_by_hand_it_is_idempotent(ward: Ward) -> None:
    days = [ward.key(1), ward.key(2), ward.key(1)]
    first = ward.client.partitions.enqueue(days)
    assert first[0].partition_id == first[2].partition_id
    again = ward.client.partitions.enqueue(days)
    assert [one.partition_id for one in again] == [one.partition_id for one in first]
    assert all(one.known for one in again)
    (alone,) = ward.client.partitions.enqueue(ward.key(3), actor="ada")
    assert not alone.known
    assert ward.client.partitions.history(of(ward.key(3)))[0].actor_id == "ada"


def test_a_partition_of_a_backfill_is_promoted_by_a_fresh_enqueue(ward: Ward) -> None:
    ward.client.partitions.enqueue([ward.key(1), ward.key(2)], lane="backfill")
    ward.client.partitions.enqueue(ward.key(1))
    assert [one.lane for one in ward.client.partitions.list(ward.all)] == ["fresh", "backfill"]


HOSTILE = ["", ".", "..", "a\0b", "x" * 201, "/" * 67, "ü" * 101, "\ud800"]


@pytest.mark.parametrize("part", HOSTILE, ids=ascii)
@pytest.mark.parametrize("place", [1, 2])
def test_keys_that_cannot_be_folders_are_refused_before_anything_is_sent(ward: Ward, part: str, place: int) -> None:
    key = list(ward.key(1))
    key[place] = part
    with pytest.raises(Refusal) as refused:
        ward.client.partitions.enqueue(Partition(*key))  # type: ignore[arg-type]
    assert refused.value.code in ("partition_key", "query_unregistered")


@pytest.mark.parametrize("part", [part for part in HOSTILE if "\0" not in part and part != "\ud800"], ids=ascii)
def test_keys_that_cannot_be_folders_are_refused_by_the_database(ward: Ward, part: str) -> None:
    with pytest.raises(LawRefused) as refused, ward.client.transaction(Authority.CONTROL_PLANE) as tx:
        control_plane.enqueue(tx, [Partition(ward.source, part, "orders", date(2026, 1, 1))])
    assert refused.value.code == "partition_birth"
    assert "folder" in refused.value.next_step


def test_odd_keys_are_keys(ward: Ward) -> None:
    for customer in ("../..", "a/b", "ä ö", "%41", "x" * 200, "-", "a=b", "\n", "🎂" * 50):
        (one,) = ward.client.partitions.enqueue(Partition(ward.source, customer, "orders", date(2026, 1, 1)))
        assert not one.known


def test_what_nobody_would_extract_is_not_enqueued(ward: Ward) -> None:
    with pytest.raises(InputRefused) as refused:
        ward.client.partitions.enqueue(ward.key(1, query="order"))
    assert refused.value.code == "query_unregistered"
    assert f"Did you mean {ward.source}/orders?" in refused.value.next_step


def test_a_day_that_has_not_begun_is_not_enqueued(ward: Ward) -> None:
    (now,) = ward.read("select recoup.now()")[0]
    berlin = (now.astimezone(UTC) + timedelta(hours=1)).date()
    today = Partition(ward.source, "acme", "orders", berlin)
    ward.client.partitions.enqueue(today)
    with pytest.raises(InputRefused, match="has not begun in Europe/Berlin"):
        ward.client.partitions.enqueue(today._replace(logical_date=berlin + DAY))
    with pytest.raises(InputRefused, match="no priority 10"):
        ward.client.partitions.enqueue(today, priority=10)


def test_the_customers_of_the_registry_are_the_default() -> None:
    found = policy()
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    assert [one.customer_id for one in registry.keys(found, source="shop", query_name="orders", days=days)] == [
        "acme", "zeta", "acme", "zeta",
    ]  # fmt: skip
    many = (date(1970, 1, 1) + number * DAY for number in range(60_000))
    with pytest.raises(InputRefused, match="more than 100,000"):
        registry.keys(found, source="shop", query_name="orders", days=many)
