"""Partitions: a contract of ten rules over a Parquet file of 10,000 rows, compared with ten queries by hand."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from recoup.partitions.contracts import Circumstances, Contract, check_file, declared
from recoup.partitions.contracts.engine import Connection, duckdb
from recoup_bench.measure import OURS, RAW, Timed
from recoup_bench.workload import Aim, Size, Stage, Trial, Workload, small

ROWS = 10_000
START = datetime(2026, 1, 1, tzinfo=UTC)
AROUND = Circumstances(window_start=START, window_end=START + timedelta(days=1), previous_rows=ROWS)
RULES: dict[str, Any] = {
    "columns": {
        "id": {"type": "integer"},
        "amount": {"type": "number", "min": 0, "max": 1_000_000},
        "kind": {"type": "string", "allowed": ["sale", "refund"], "max_length": 10},
        "sku": {"type": "string", "pattern": "[A-Z]{2}-[0-9]+"},
        "sold_at": {"type": "timestamp"},
    },
    "unique": [["id"]],
    "rows": {"min": 1, "within": 0.5},
    "freshness": {"column": "sold_at", "in_window": True},
    "checks": {
        "refunds_are_small": {"every_row": "kind <> 'refund' or amount < 1000000"},
        "few_kinds": {"no_rows": "select count(distinct kind) as kinds from data having kinds > 2"},
    },
}
# The same rules, one query each. Every one returns 0 for these rows.
BY_HAND = (
    "select count(*) from {file} where id is null or amount is null or kind is null or sku is null or sold_at is null",
    "select count(*) from {file} where amount < 0",
    "select count(*) from {file} where amount > 1000000",
    "select count(*) from {file} where kind not in ('sale', 'refund')",
    "select count(*) from {file} where length(kind) > 10",
    "select count(*) from {file} where not regexp_full_match(sku, '[A-Z]{{2}}-[0-9]+')",
    "select count(*) - count(distinct id) from {file}",
    "select abs(count(*) - 10000) // 5001 from {file}",
    "select count(*) from {file} where sold_at < timestamptz '2026-01-01 00:00+00'"
    " or sold_at >= timestamptz '2026-01-02 00:00+00'",
    "select count(*) from {file} where not (kind <> 'refund' or amount < 1000000)",
)


def files(trial: Trial) -> Stage:
    """A file, a contract, and a connection for the queries by hand, which stays open."""
    import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
    from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]

    with tempfile.TemporaryDirectory(prefix="recoup-bench-") as folder, duckdb().connect() as connection:
        path = Path(folder) / "day.parquet"
        rows = range(ROWS)
        parquet.write_table(
            pa.table(
                {
                    "id": pa.array(rows, pa.int64()),
                    "amount": pa.array([n * 0.25 for n in rows]),
                    "kind": pa.array(["refund" if n % 50 == 0 else "sale" for n in rows]),
                    "sku": pa.array([f"AB-{n % 700}" for n in rows]),
                    "sold_at": pa.array([START + timedelta(seconds=8 * n) for n in rows], pa.timestamp("us", "UTC")),
                }
            ),
            path,
        )
        contract = declared(RULES)
        while True:
            took = {OURS: 0.0, RAW: 0.0}
            for _ in range(trial.units):  # in turns: both run under the same load
                took[OURS] += by_contract(path, contract)
                took[RAW] += by_hand(path, connection)
            yield took


def by_contract(path: Path, contract: Contract) -> float:
    """Check the file as a validator does: opened, read, judged and closed."""
    since = time.perf_counter()
    verdict = check_file(path, contract, circumstances=AROUND)
    took = time.perf_counter() - since
    assert verdict.accepted, verdict
    return took


def by_hand(path: Path, connection: Connection) -> float:
    """Ten queries on a connection that is open, without any of the limits that a contract has."""
    since = time.perf_counter()
    found = [connection.execute(query.format(file=f"read_parquet('{path}')")).fetchone() for query in BY_HAND]
    took = time.perf_counter() - since
    assert found == [(0,)] * len(BY_HAND), found
    return took


def compared(trial: Trial, *, side: str) -> Timed:
    """What a round took, and how many times the queries by hand that is."""
    took = trial.rows[side]
    return Timed(
        units=trial.units,
        seconds=took,
        metrics={"ms": 1000 * took / trial.units, "times_by_hand": took / trial.rows[RAW]},
    )


CONTRACT = Workload(
    name="contract-10k",
    description=f"check a Parquet file of {ROWS:,} rows against ten rules, compared with ten queries by hand",
    unit="checks", k=10, stage=files, ours=partial(compared, side=OURS), raw=partial(compared, side=RAW),
    full=Size(batches=5, rounds=11), quick=small(batches=2, rounds=5),
    aims=(Aim(metric="times_by_hand", most=2),),
)  # fmt: skip
