"""The files agree with what the servers say."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from recoup.refusals import InputRefused
from recoup_demo.world import files
from world.asking import Asking
from world.odd import SERVICE_FAULTS
from world.watched import WatchedWorld

FORMATS = ("csv", "jsonl", "parquet")


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; what CSV cannot hold is put back."""
    match path.suffix:
        case ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                rows: list[dict[str, Any]] = list(csv.DictReader(file))
            for row in rows:
                if "states" in row:
                    row["states"] = row["states"].split(";") if row["states"] else []
                    row["found"] = {"true": True, "false": False}[row["found"]]
                elif not row["linkedin_url"]:
                    row["linkedin_url"] = None
            return rows
        case ".jsonl":
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        case _:
            found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
            return found


@pytest.mark.parametrize("day", [0, 1])
@pytest.mark.parametrize("ending", FORMATS)
def test_the_directory_file_says_what_the_directory_says(
    asking: Asking, world: WatchedWorld, tmp_path: Path, ending: str, day: int
) -> None:
    """On every day, and of every company that the service answers for."""
    world.day = day
    path = tmp_path / f"directory.{ending}"
    world.write_directory(path)
    rows = {row["domain"]: row for row in read(path)}
    answered = 0
    for company in world.companies:
        row = rows.get(company.domain)
        if company.kind_on(day) in SERVICE_FAULTS:
            assert row is not None
            continue
        entry = asking.entry(company).json()
        assert entry["found"] is (row is not None), company
        answered += 1
        if row is not None:
            assert row == {"domain": company.domain, "name": company.name, **entry}
    assert answered > 300
    assert set(rows) < {company.domain for company in world.companies}


@pytest.mark.parametrize("ending", FORMATS)
def test_the_intakes_are_the_companies(world: WatchedWorld, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"intakes.{ending}"
    files.write_rows(path, files.intake_rows(world.companies))
    assert [tuple(row.values()) for row in read(path)] == [
        (company.name, company.domain, company.linkedin_url, company.state) for company in world.companies
    ]
    assert list(read(path)[0]) == ["company_name", "company_domain", "linkedin_url", "state"]


def test_another_format_is_refused(world: WatchedWorld, tmp_path: Path) -> None:
    for write in (world.write_directory, lambda path: files.write_rows(path, files.intake_rows(world.companies))):
        with pytest.raises(InputRefused) as refused:
            write(tmp_path / "table.xlsx")
        assert refused.value.code == "world_file_format"
    assert not list(tmp_path.iterdir())
