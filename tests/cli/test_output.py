"""Tables on terminals of all widths: nothing is cut off."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from recoup.cli.output import print_rows

ROWS = [
    {
        "intake_id": UUID(int=7), "company_name": "株式会社 of Springfield, with a very long name", "done": 123_456_789,
        "status": "EXHAUSTED", "ended_by": "MAX_ATTEMPTS_REACHED", "restarted_as": None, "nothing": None,
        "ended_at": datetime(2026, 10, 31, 6, 41, tzinfo=UTC),
    },
    {
        "intake_id": UUID(int=8), "company_name": "Short", "done": 5, "status": "FAILED", "ended_by": None,
        "ended_at": None, "restarted_as": UUID(int=9), "nothing": None,
    },
]  # fmt: skip


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 160, 250])
def test_nothing_is_cut_off(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_rows(ROWS, as_json=False, empty="")
    printed = capsys.readouterr().out
    for whole in ("123456789", "EXHAUSTED", "MAX_ATTEMPTS_REACHED", "2026-10-31 06:41:00"):
        assert whole in printed
    for name in ("intake id", "company name", "done", "status", "ended by", "ended at"):
        assert all(word in printed for word in name.split())
    assert "nothing" not in printed


def test_a_table_where_there_is_room(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    print_rows(ROWS, as_json=False, empty="")
    head, _rule, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["intake", "id"]
    assert str(UUID(int=7)) in first
    assert str(UUID(int=8)) in second
