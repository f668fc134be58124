"""Time: fixed, moved forward, released once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup import clock
from recoup.database.connection import Database, Transaction
from recoup.durations import UNITS, duration
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused

START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)


def test_a_simulated_clock_stands_still_until_it_is_moved(fresh: Callable[..., Database]) -> None:
    """And moves forward only."""
    database = fresh(simulated_from=START)
    for _ in range(2):
        with database.transaction(Authority.READER) as tx:
            assert clock.read(tx).now == START
    with database.transaction(Authority.OPERATOR) as tx:
        assert clock.advance(tx, timedelta(hours=24)).now == START + timedelta(hours=24)
    for by in (timedelta(0), timedelta(seconds=-1)):
        with pytest.raises(InputRefused), database.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, by)
    with pytest.raises(LawRefused) as refused, database.transaction(Authority.OPERATOR) as tx:
        tx.execute("update recoup.clock set at = at - interval '1 second'")
    assert refused.value.code == "falling_column"


def test_a_clock_is_not_moved_beyond_what_can_be_read(fresh: Callable[..., Database]) -> None:
    """Neither by the verb nor in SQL."""
    database = fresh(simulated_from=START)
    for by in ("interval '7973 years'", "interval '280000 years'"):
        with pytest.raises(LawRefused) as refused, database.transaction(Authority.OPERATOR) as tx:
            tx.execute(f"update recoup.clock set at = at + {by}".encode())
        assert refused.value.code == "clock_too_far"
    with database.transaction(Authority.READER) as tx:
        assert clock.read(tx).now == START


def test_a_clock_is_released_once_and_for_good(fresh: Callable[..., Database]) -> None:
    """From then on it is the server's; it cannot be moved, released again, or taken back."""
    database = fresh(simulated_from=START)
    with database.transaction(Authority.OPERATOR) as tx:
        released = clock.release(tx)
    assert released.status == "released"
    with database.transaction(Authority.READER) as tx:
        now = clock.read(tx).now
        assert abs(now - datetime.now(UTC)) < timedelta(minutes=5)
        assert now < clock.read(tx).now  # within one transaction too
    for verb in (clock.release, lambda tx: clock.advance(tx, timedelta(hours=1))):
        with pytest.raises(InputRefused) as refused, database.transaction(Authority.OPERATOR) as tx:
            verb(tx)
        assert refused.value.code == "clock_not_simulated"
    with pytest.raises(LawRefused), database.transaction(Authority.OPERATOR) as tx:
        tx.execute("update recoup.clock set status = 'simulated', released_at = null")


def test_a_clock_ahead_of_real_time_waits(fresh: Callable[..., Database]) -> None:
    """Released now, time would run backwards."""
    database = fresh(simulated_from=datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(LawRefused) as refused, database.transaction(Authority.OPERATOR) as tx:
        clock.release(tx)
    assert refused.value.code == "clock_ahead"
    with database.transaction(Authority.READER) as tx:
        assert clock.read(tx).status == "simulated"


def test_a_real_clock_is_not_moved(fresh: Callable[..., Database]) -> None:
    """Not by the verbs, and not by hand."""
    database = fresh(simulated_from=None)
    with pytest.raises(InputRefused), database.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, timedelta(hours=1))
    with pytest.raises(LawRefused) as refused, database.transaction(Authority.OPERATOR) as tx:
        tx.execute("update recoup.clock set status = 'simulated', at = now()")
    assert refused.value.code == "move_not_listed"


def test_only_an_operator_moves_the_clock(db: Database) -> None:
    """A worker that could would decide its own throttle."""
    with pytest.raises(LawRefused) as refused, db.transaction(Authority.GATE) as tx:
        clock.advance(tx, timedelta(hours=1))
    assert refused.value.code == "authority_lacks_right"


def test_now_is_an_index_condition(scratch: Transaction) -> None:
    """A claim that filters by time reads what is due and no more; a VOLATILE clock would be a filter over all of it."""
    scratch.execute("create temporary table due (at timestamptz); create index on due (at)")
    scratch.execute("set local enable_seqscan = off")
    plan = "\n".join(row[0] for row in scratch.execute("explain select from due where at <= recoup.now()"))
    assert "Index Cond: (at <= recoup.now())" in plan


@given(
    number=st.integers(min_value=1, max_value=1000),
    unit=st.sampled_from(sorted(UNITS)),
    space=st.sampled_from(["", " "]),
)
def test_a_duration_is_a_number_and_a_unit(number: int, unit: str, space: str) -> None:
    """As people write it."""
    assert duration(f"{number}{space}{unit}") == timedelta(**{UNITS[unit]: number})


@given(text=st.text())
def test_anything_else_is_refused(text: str) -> None:
    """With a hint, and never with a traceback."""
    try:
        assert duration(text) >= timedelta(0)
    except InputRefused as refused:
        assert refused.code == "bad_duration"
