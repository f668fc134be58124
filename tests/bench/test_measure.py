"""The arithmetic of the bench, without a database."""

from __future__ import annotations

import pytest

from recoup_bench.measure import Timed, UnlikeWork, check_alike, interleaved, quartile, summed_up
from recoup_bench.workload import Aim, of_raw


def timed(*per_second: float) -> list[Timed]:
    return [Timed(units=100, seconds=100 / metric) for metric in per_second]


def test_rounds_begin_with_the_variant_that_ran_last() -> None:
    """ours, raw, raw, ours, ours, raw: neither always runs behind the other."""
    assert [variant for _, variant in interleaved(["ours", "raw"], 3)] == ["ours", "raw", "raw", "ours", "ours", "raw"]
    assert [number for number, _ in interleaved(["ours", "raw"], 3)] == [0, 0, 1, 1, 2, 2]


def test_three_variants_take_turns_too() -> None:
    assert [variant for _, variant in interleaved(["a", "b", "c"], 2)] == ["a", "b", "c", "c", "b", "a"]


def test_the_result_is_a_ratio_of_medians() -> None:
    """One disturbed round moves neither the median nor the ratio."""
    ours, raw = summed_up({"ours": timed(60, 60, 1), "raw": timed(100, 100, 100)}, against="raw")
    assert ours.median == pytest.approx(60)
    assert ours.ratio == pytest.approx(0.6)
    assert raw.ratio is None
    assert raw.by_round is None


def test_the_ratio_by_round_holds_while_the_machine_slows_down() -> None:
    """Neighbours are compared with each other: a drift that both meet is no difference."""
    ours, _ = summed_up({"ours": timed(50, 40, 5), "raw": timed(100, 80, 10)}, against="raw")
    assert ours.by_round == pytest.approx(0.5)


def test_a_peer_is_compared_with_raw_and_with_ours() -> None:
    """Its ratio is to raw, as that of ours is; only a peer has how many times as fast ours is."""
    measured = summed_up({"ours": timed(60), "raw": timed(100), "queue": timed(20)}, against="raw")
    assert [one.ratio for one in measured] == [pytest.approx(0.6), None, pytest.approx(0.2)]
    assert [one.ours_to_it for one in measured] == [None, None, pytest.approx(3)]


def test_the_spread_is_the_distance_of_the_quartiles() -> None:
    (measured,) = summed_up({"ours": timed(80, 90, 100, 110, 120)}, against="ours")
    assert measured.low == pytest.approx(90)
    assert measured.high == pytest.approx(110)
    assert measured.spread == pytest.approx(0.2)


def test_one_round_has_quartiles_too() -> None:
    assert quartile(timed(70), 1) == quartile(timed(70), 3) == pytest.approx(70)


def test_metrics_are_medians_too() -> None:
    rounds = [Timed(units=1, seconds=1, metrics={"share": share}) for share in (0.1, 0.9, 0.2)]
    (measured,) = summed_up({"ours": rounds}, against="ours")
    assert measured.metrics == {"share": pytest.approx(0.2)}


def test_an_aim_is_a_ratio_to_reach_or_a_bound_to_keep() -> None:
    """As a sentence for the table; a value equal to the bound has reached it."""
    least, most = of_raw(0.5), Aim(metric="wal_bytes", most=1600)
    assert (str(least), str(most)) == ("ratio to raw at least 0.5", "wal bytes at most 1,600")
    assert [least.reached(value) for value in (0.49, 0.5, 0.51)] == [False, True, True]
    assert [most.reached(value) for value in (1599, 1600, 1601)] == [True, True, False]


def test_the_same_rows_are_alike() -> None:
    check_alike("moves", {"ours": {"event PASS": 3}, "raw": {"event PASS": 3}})
    check_alike("fail-once", {})


def test_other_rows_are_not() -> None:
    """Also when one side has rows of a kind that the other has not at all."""
    with pytest.raises(UnlikeWork, match="event FAIL: 2 of ours, 0 of raw"):
        check_alike("moves", {"ours": {"event PASS": 3, "event FAIL": 2}, "raw": {"event PASS": 3}})
