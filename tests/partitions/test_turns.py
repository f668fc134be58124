"""Whose turn it is: lanes, sources and queries, each with as many slots as its policy says.

tests/races/test_partition_races.py has the turns of many that wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import product
from partitions.mill import Mill
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.partitions.vocabulary import Lane
from recoup.policy.rendering import rendered


@pytest.fixture
def mill(fresh: Callable[..., Database]) -> Mill:
    return Mill(fresh())


def slots(mill: Mill, of_source: int, **of_queries: int) -> None:
    """A source with so many slots, and queries of it with fewer or more."""
    whole = product.shipped()
    queries: dict[str, Any] = {
        name: {"extractor": "a:b", "validator": "a:b", "at_once": number} for name, number in of_queries.items()
    }
    whole["partitions"]["sources"] = {mill.source: {"at_once": of_source, "queries": queries}}
    with mill.database.transaction(Authority.OPERATOR) as tx:
        product.apply_policy(tx, rendered(whole, product.PARTS), reason="a test")


def dispatched(mill: Mill, limit: int = 100) -> tuple[list[Any], Counter[str]]:
    runs = mill.dispatch(limit, queries=("q", "wide", "narrow"))
    return runs, Counter(run.query_name for run in runs)


def test_a_source_has_no_more_open_than_its_slots(mill: Mill) -> None:
    slots(mill, 3)
    mill.enqueue(*(mill.partition(str(n)) for n in range(10)))
    first, _ = dispatched(mill)
    assert len(first) == 3
    assert dispatched(mill)[0] == []
    mill.end(first[:2])
    assert len(dispatched(mill)[0]) == 2


def test_a_query_has_slots_of_its_own_which_others_do_not_take(mill: Mill) -> None:
    """A query with one slot waits for its own run, and not until its whole source is idle."""
    slots(mill, 4, narrow=1)
    mill.enqueue(*(mill.partition(str(n)) for n in range(10)))
    first, counted = dispatched(mill)
    assert counted == {"q": 4}
    mill.enqueue(*(mill.partition(str(n), query="narrow") for n in range(5)), priority=1)
    mill.end(first[:1])
    second, counted = dispatched(mill)
    assert counted == {"narrow": 1}
    mill.end(first[1:])
    third, counted = dispatched(mill)
    assert counted == {"q": 3}
    mill.end(second)
    assert dispatched(mill)[1] == {"narrow": 1}
    assert len(third) == 3


def test_slots_of_a_query_are_shared_by_its_lanes_and_priorities(mill: Mill) -> None:
    slots(mill, 4, narrow=2)
    for lane in Lane:
        for priority in (1, 2, 3):
            mill.enqueue(
                *(mill.partition(f"{lane}-{priority}-{n}", query="narrow") for n in range(3)),
                lane=lane, priority=priority,
            )  # fmt: skip
    assert dispatched(mill)[1] == {"narrow": 2}


def test_a_query_may_have_more_slots_than_its_source(mill: Mill) -> None:
    slots(mill, 2, wide=5)
    mill.enqueue(*(mill.partition(str(n), query="wide") for n in range(10)))
    mill.enqueue(*(mill.partition(str(n)) for n in range(10)))
    runs, counted = dispatched(mill)
    assert (len(runs), counted["q"] <= 2) == (5, True)


@pytest.mark.parametrize("limit", [1, 3])
def test_of_ten_dispatches_one_is_of_a_backfill_also_with_one_slot(mill: Mill, limit: int) -> None:
    slots(mill, limit)
    mill.enqueue(*(mill.partition(f"old-{n}") for n in range(10)), lane=Lane.BACKFILL)
    mill.enqueue(*(mill.partition(f"new-{n}") for n in range(60)), lane=Lane.FRESH)
    order: list[str] = []
    while len(order) < 60:
        runs, _ = dispatched(mill)
        order += [run.customer_id[:3] for run in runs]
        mill.end(runs)
    assert [place for place, lane in enumerate(order, 1) if lane == "old"] == [10, 20, 30, 40, 50, 60]


def test_what_waits_in_a_backfill_and_is_enqueued_as_fresh_goes_first(mill: Mill) -> None:
    """A pending partition leaves the lane of backfills; one that failed keeps it, and so do its retries."""
    slots(mill, 1)
    mill.enqueue(*(mill.partition(name) for name in ("a", "b", "c")), lane=Lane.BACKFILL)
    (first,) = mill.dispatch(1)
    mill.end([first], accepts=lambda _: False)
    assert first.customer_id == "a"
    mill.enqueue(mill.partition("c"), mill.partition("a"))  # fresh by default
    lanes = "select p.customer_id, s.lane from partitions.schedule s join partitions.partition_state p"
    assert mill.read(f"{lanes} using (partition_id) where p.source = %s order by 1", mill.source) == [
        ("a", "backfill"), ("b", "backfill"), ("c", "fresh"),
    ]  # fmt: skip
    assert [run.customer_id for run in mill.dispatch(1)] == ["c"]
