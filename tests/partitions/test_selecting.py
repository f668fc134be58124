"""Selections: how days are read, and how a selection is written into the log."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.partitions import Partition, Selection, select
from recoup.partitions.selecting import Days, days, each_day, of
from recoup.refusals import InputRefused

ONE, TWO = date(2026, 1, 1), date(2026, 1, 31)
SOME_DAYS = st.dates(min_value=date(2000, 1, 1), max_value=date(2030, 1, 1))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-01-01", Days(ONE, ONE)),
        (" 2026-01-01..2026-01-31 ", Days(ONE, TWO)),
        ("2026-01-01..", Days(ONE, None)),
        ("..2026-01-31", Days(None, TWO)),
        (ONE, Days(ONE, ONE)),
        (datetime(2026, 1, 1, 23, tzinfo=UTC), Days(ONE, ONE)),
        (Days(ONE, TWO), Days(ONE, TWO)),
    ],
)
def test_days_and_ranges_are_read(text: str | date | Days, found: Days) -> None:
    assert days(text) == found


@pytest.mark.parametrize("text", ["", "..", "soon", "2026-13-01", "2026-01-01...2026-01-02", "2026-01-01..x", "\0"])
def test_what_is_no_day_is_refused(text: str) -> None:
    with pytest.raises(InputRefused) as refused:
        days(text)
    assert refused.value.code == "day_unreadable"
    assert "2026-01-01..2026-01-31" in refused.value.next_step


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InputRefused, match="ends before it begins") as refused:
        days("2026-01-31..2026-01-01")
    assert "2026-01-01..2026-01-31" in refused.value.next_step


@given(SOME_DAYS, SOME_DAYS)
def test_ranges_have_both_ends_and_are_written_as_they_are_read(one: date, other: date) -> None:
    first, last = min(one, other), max(one, other)
    found = days(f"{first}..{last}")
    assert days(str(found)) == found
    every = each_day([found, Days(first, first)])
    assert every[0] == first
    assert every[-1] == last
    assert len(every) == (last - first).days + 1


def test_an_open_range_has_no_days_without_an_end() -> None:
    assert each_day([days("2026-01-30..")], until=TWO) == [date(2026, 1, 30), TWO]
    for text in ("2026-01-30..", "..2026-01-30"):
        with pytest.raises(InputRefused) as refused:
            each_day([days(text)])
        assert refused.value.code == "range_open"
    with pytest.raises(InputRefused, match="hundred years"):
        each_day([days("1000-01-01..2026-01-01")])


def test_a_selection_is_logged_as_its_options() -> None:
    backfill = UUID(int=7)
    chosen = select(
        source="shop", customer_id=["acme", "zeta"], logical_date=("2026-01-01..2026-01-31", TWO), status="failed",
        reason="CONTRACT_BROKEN", validator_version="3", failed_since=datetime(2026, 1, 1, tzinfo=UTC),
        backfill=backfill, terminal_cause="AGE",
    )  # fmt: skip
    assert str(chosen) == (
        "--source shop --customer-id acme --customer-id zeta --logical-date 2026-01-01..2026-01-31"
        " --logical-date 2026-01-31 --status failed --reason CONTRACT_BROKEN --validator-version 3"
        f" --failed-since 2026-01-01T00:00:00+00:00 --backfill {backfill} --terminal-cause AGE"
    )
    assert not chosen.is_empty
    assert Selection().is_empty


def test_an_unknown_word_selects_nothing_silently() -> None:
    with pytest.raises(InputRefused, match="selects nothing"):
        select(status="done")


def test_the_selection_of_a_partition_is_its_key() -> None:
    chosen = of(Partition("shop", "acme", "orders", ONE))
    assert str(chosen) == "--source shop --customer-id acme --query-name orders --logical-date 2026-01-01"
