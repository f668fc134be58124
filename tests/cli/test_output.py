"""Lists on terminals of all widths, and numbers, durations and times as people read them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from recoup.cli.output import Column, command, hint, print_fields, print_rows
from recoup.formatting import duration, plural

ROWS = [
    {
        "intake_id": UUID(int=7), "company_name": "株式会社 of Springfield, with a very long name", "done": 123_456_789,
        "status": "EXHAUSTED", "ended_by": "MAX_ATTEMPTS_REACHED", "restarted_as": None, "nothing": None,
        "ended_at": datetime(2026, 10, 31, 6, 41, tzinfo=UTC), "lag_s": 171_426.2,
    },
    {
        "intake_id": UUID(int=8), "company_name": "Short", "done": 5, "status": "FAILED", "ended_by": None,
        "ended_at": None, "restarted_as": UUID(int=9), "nothing": None, "lag_s": None,
    },
]  # fmt: skip
COLUMNS = (
    Column("intake_id", least=36), Column("company_name", cut="end", least=12), "status", Column("done", rank=9),
    Column("ended_at", least=12), "lag_s", "nothing", "ended_by", "restarted_as",
)  # fmt: skip


def printed(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    print_rows(ROWS, as_json=False, columns=COLUMNS, empty="")
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 160, 250])
def test_a_list_is_a_list_at_every_width(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A heading, a rule and one line for each row, none of them wider than the terminal."""
    from rich.cells import cell_len

    lines = printed(width, monkeypatch, capsys)
    assert len(lines) == 4
    assert max(map(cell_len, lines)) <= width
    assert "nothing" not in lines[0]


def test_a_wide_terminal_shows_more(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns of the highest rank are left out first; the id can be copied; times keep their zone."""
    narrow, wide = printed(80, monkeypatch, capsys), printed(250, monkeypatch, capsys)
    assert narrow[0].split() == ["intake", "id", "company", "name", "status", "ended", "at"]
    assert narrow[2] == f"{UUID(int=7)}   株式会社 of S…   EXHAUSTED   10-31 06:41Z"
    for whole in ("123,456,789", "MAX_ATTEMPTS_REACHED", "2026-10-31 06:41:00Z", "1d 23h", str(UUID(int=7))):
        assert whole in wide[2]
    assert f"{UUID(int=9)}" in wide[3]


def test_text_that_no_list_declares_is_folded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of it is lost."""
    monkeypatch.setenv("COLUMNS", "30")
    print_rows([{"check": "server", "detail": "one two three four five six"}], as_json=False, empty="")
    assert capsys.readouterr().out.splitlines()[2:] == ["server   one two three four", "         five six"]


def test_nothing_is_cut_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_rows([{"id": 1, "text": "x" * 500}], as_json=False, columns=(Column("text", cut="end"),), empty="")
    assert "x" * 500 in capsys.readouterr().out


def test_ids_have_no_thousands(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields({"error_id": 1204, "policy_version": 1000, "errors": 1204, "cadence_s": 300}, as_json=False)
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    assert [line[-1].strip() for line in lines] == ["1204", "1000", "1,204", "5m 00s"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0s"), (0.01, "0s"), (2.5, "2.5s"), (59.4, "59s"), (125, "2m 05s"), (8040, "2h 14m"), (171_426.2, "1d 23h"),
     (-125, "-2m 05s"), (86_400_000, "1,000d 0h")],
)  # fmt: skip
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == duration(timedelta(seconds=seconds)) == words


def test_plurals() -> None:
    assert [plural(0, "row"), plural(1, "row"), plural(1204, "row")] == ["0 rows", "1 row", "1,204 rows"]
    assert [plural(1, "batch", "batches"), plural(2, "batch", "batches")] == ["1 batch", "2 batches"]


def test_hints_name_the_program_as_it_was_typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the shell does not find recoup, its path; and --demo where it was given."""
    there = tmp_path / "bin" / "recoup"
    there.parent.mkdir()
    there.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(there), "errors", "list"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert command("errors show 7", demo=True) == f"{there} errors show 7 --demo"
    assert hint("Run: recoup migrate") == f"Run: {there} migrate"
    monkeypatch.setenv("PATH", str(there.parent))
    assert command("errors show 7") == "recoup errors show 7"
    monkeypatch.setattr(sys, "argv", [str(there), "errors", "list", "--demo"])
    assert hint("List them: recoup errors list") == "List them: recoup errors list --demo"
    assert hint("Run: recoup demo") == "Run: recoup demo"
    assert hint("The recoup library does it.") == "The recoup library does it."
