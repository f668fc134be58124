"""The companies of the world as files to import."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recoup.refusals import InputRefused
from recoup_demo.world.companies import Company

Row = dict[str, Any]
COLUMNS = ("company_name", "company_domain", "linkedin_url", "state")


def intake_rows(companies: Sequence[Company]) -> list[Row]:
    return [dict(zip(COLUMNS, (c.name, c.domain, c.linkedin_url, c.state), strict=True)) for c in companies]


def write_rows(path: Path, rows: Sequence[Row], columns: Sequence[str] = COLUMNS) -> None:
    """Write a table of texts in the format that the file's name ends with."""
    match path.suffix:
        case ".csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, columns)
                writer.writeheader()
                writer.writerows(rows)
        case ".jsonl":
            with path.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        case ".parquet":
            import pyarrow as pa  # type: ignore[import-untyped]
            import pyarrow.parquet as pq  # type: ignore[import-untyped]

            schema = pa.schema([(name, pa.string()) for name in columns])
            pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)
        case other:
            raise InputRefused(
                "world_file_format",
                f"A file that ends with {other or 'nothing'!r}.",
                "Name it .csv, .jsonl or .parquet.",
                path=str(path),
            )
