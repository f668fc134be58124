"""In a world whose success rates are known, confidence is what it says, and what starts by itself is seldom wrong."""

from __future__ import annotations

import pytest

from recoup.recovery.policy import RecoveryPolicy
from recovery.fixed_world import play, shifted
from recovery.table import policy

SEED = 20_260_101


@pytest.fixture(scope="module")
def shipped() -> RecoveryPolicy:
    return policy()


@pytest.mark.parametrize(("days", "least"), [(1, 40), (30, 25), (90, 1), (365, 0)])
def test_confidence_is_calibrated(shipped: RecoveryPolicy, days: int, least: int) -> None:
    """However fast the outcomes come. Slow ones lose their weight, and fewer start by themselves: in a year, none."""
    played = play(SEED, shipped, days=days)
    print(days, played)
    assert played.automatic >= least  # a share of none would say nothing
    assert played.ece <= 0.05
    assert played.bad_share <= 0.05
    assert played.brier < played.global_brier
    assert played.raw_ece > played.ece


def test_not_only_with_this_seed(shipped: RecoveryPolicy) -> None:
    """A cell that deceives us counts with all of its executions, so of one world that may be more than 5 %."""
    worlds = [play(seed, shipped, days=30) for seed in range(12)]
    assert max(one.ece for one in worlds) <= 0.05
    automatic = sum(one.automatic for one in worlds)
    assert automatic >= 12 * 20
    assert sum(one.of_bad_cells for one in worlds) / automatic <= 0.05
    # The plain share, with the same gates, is wrong more than twice as often.
    raw = sum(one.raw_of_bad_cells for one in worlds) / sum(one.raw_automatic for one in worlds)
    assert raw > 0.1


def test_what_turned_bad_is_closed_soon(shipped: RecoveryPolicy) -> None:
    waits = [number for seed in range(SEED, SEED + 6) for number in shifted(seed, shipped, days=30)]
    print(sorted(waits))
    assert len(waits) >= 10
    assert sorted(waits)[len(waits) // 2] <= 3
    assert max(waits) <= 20
