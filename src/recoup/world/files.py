"""The world as files: its companies as intakes to import, and its directory as a table."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recoup.refusals import InputRefused
from recoup.world.companies import Company
from recoup.world.directory import entry_of

Row = dict[str, Any]
BETWEEN_STATES = ";"  # in CSV, which has no lists


def intake_rows(companies: Sequence[Company]) -> list[Row]:
    return [
        {
            "company_name": company.name,
            "company_domain": company.domain,
            "linkedin_url": company.linkedin_url,
            "state": company.state,
        }
        for company in companies
    ]


def directory_rows(companies: Sequence[Company], day: int) -> list[Row]:
    """What the directory knows on this day. Whether the service would answer is another matter."""
    return [
        {"domain": c.domain, "name": c.name, "found": True, "states": list(entry.states), "scope": entry.scope}
        for c in companies
        if (entry := entry_of(c, c.kind_on(day))) is not None
    ]


def write_rows(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Write a table in the format that the file's name ends with."""
    match path.suffix:
        case ".csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, columns)
                writer.writeheader()
                writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
        case ".jsonl":
            with path.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        case ".parquet":
            import pyarrow as pa  # type: ignore[import-untyped]
            import pyarrow.parquet as pq  # type: ignore[import-untyped]

            types = {"found": pa.bool_(), "states": pa.list_(pa.string())}
            schema = pa.schema([(name, types.get(name, pa.string())) for name in columns])
            pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)
        case other:
            raise InputRefused(
                "world_file_format",
                f"A file that ends with {other or 'nothing'!r}.",
                "Name it .csv, .jsonl or .parquet.",
                path=str(path),
            )


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return BETWEEN_STATES.join(value)
    return str(value).lower() if isinstance(value, bool) else value
