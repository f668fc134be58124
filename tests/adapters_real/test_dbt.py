"""A real dbt on DuckDB: a model and a test that fail, and succeed afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dbt.version

from hub import DOL, Hub
from recoup.adapters import entity_of
from recoup.client import Client

assert dbt.version.__version__, "the real dbt, and no folder of that name"

FILES = {
    "dbt_project.yml": "{name: shop, version: '1.0', profile: shop, flags: {send_anonymous_usage_stats: false}}\n",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}\n",
    "models/schema.yml": "models: [{name: orders, columns: [{name: id, tests: [unique]}]}]\n",
    "models/orders.sql": "select 1 as id union all select 1 as id",
    "models/refunds.sql": "select * from no_such_table",
}


def test_nodes_that_fail_are_recorded_and_cleared_by_their_success(hub: Hub, client: Client, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    orders, refunds = entity_of("dbt", "model.shop.orders"), entity_of("dbt", "model.shop.refunds")

    def build() -> str:
        dbt_ = [str(Path(sys.executable).with_name("dbt")), "build", "--profiles-dir", "."]
        subprocess.run(dbt_, cwd=tmp_path, check=False, capture_output=True, timeout=120)
        adapter = [sys.executable, "-m", "recoup.adapters.dbt", DOL]
        done = subprocess.run(adapter, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
        return done.stdout.strip()

    assert build() == "2 recorded, 0 resolved, 0 still open"
    assert hub.row_of(orders)["error_code"] == "DBT_FAIL"
    assert hub.row_of(orders)["work_key"].startswith("test.shop.unique_orders_id")
    row = hub.row_of(refunds)
    assert (row["error_code"], row["payload"]["dbt"]["file"]) == ("DBT_ERROR", "models/refunds.sql")
    assert "no_such_table" in row["error_message"]
    # Parked errors wait for a person; here a person has them retried, and the next run shows that they are fixed.
    client.errors.unpark([one.error_id for one in client.errors.list(statuses=("PARKED",))], reason="fixed")
    (tmp_path / "models/orders.sql").write_text("select 1 as id")
    (tmp_path / "models/refunds.sql").write_text("select 1 as id")
    assert build() == "0 recorded, 2 resolved, 0 still open"
    assert not client.errors.is_blocked(orders)
