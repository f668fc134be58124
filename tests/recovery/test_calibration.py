"""Scores of predictions, and how they are printed."""

from __future__ import annotations

import math

import pytest

from recoup.cli.recovery_calibration import print_reliability
from recoup.lifecycles.declaration import Authority
from recoup.recovery.calibration import Group, calibration, score
from recoup.refusals import InputRefused
from recovery.stage import NOTIFY, RETRY, Stage


def group(bin_: int, count: int, said: float, good: int) -> Group:
    squared = good * (1 - said) ** 2 + (count - good) * said**2
    return Group(bin=bin_, count=count, predicted=count * said, succeeded=good, squared=squared)


def test_scores() -> None:
    perfect = score([group(8, 10, 0.8, 8), group(2, 10, 0.2, 2)])
    assert (perfect.count, perfect.succeeded) == (20, 10)
    assert perfect.ece == pytest.approx(0)
    assert perfect.brier == pytest.approx(0.16)
    off = score([group(8, 30, 0.8, 15), group(2, 10, 0.2, 2)])
    assert off.ece == pytest.approx(0.3 * 30 / 40)
    assert [(one.at_least, one.count, one.observed) for one in off.bins] == [(0.2, 10, 0.2), (0.8, 30, 0.5)]
    assert score([]).count == 0
    assert math.isclose(score([group(9, 1, 1.0, 0)]).brier, 1.0)


def test_the_plot(capsys: pytest.CaptureFixture[str]) -> None:
    print_reliability(score([group(8, 10, 0.8, 8), group(2, 10, 0.25, 5)]))
    _, first, second, _ = capsys.readouterr().out.splitlines()
    assert first == "0.2 to 0.3       10       0.25      0.50  .........o........x.................."
    assert second == "0.8 to 0.9       10       0.80      0.80  .............................*......."


def test_what_is_scored(stage: Stage) -> None:
    """By action, source and week; what manages the impact is listed, and not in the sum."""
    stage.teach(RETRY, {True: 3, False: 1}, source="crm")
    with stage.db.transaction(Authority.READER) as tx:
        found = calibration(tx, source="crm")
        assert calibration(tx, action=NOTIFY).total.count == 0
        assert calibration(tx, source="nobody").by_week == {}
        for days in (0, 10_000):
            with pytest.raises(InputRefused):
                calibration(tx, days=days)
        with pytest.raises(InputRefused):
            calibration(tx, action="a\0b")
    assert (found.total.count, found.total.succeeded) == (4, 3)
    assert found.total.ece == pytest.approx(0.25)
    assert (set(found.by_action), set(found.by_source), len(found.by_week)) == ({RETRY}, {"crm"}, 1)
    stage.advance(days=91)
    with stage.db.transaction(Authority.READER) as tx:
        assert calibration(tx).total.count == 0
        with pytest.raises(InputRefused, match="There is no action 'no_such_action'"):
            calibration(tx, action="no_such_action")
