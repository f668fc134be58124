"""dbt: record the nodes that failed in a run, and clear those that succeeded, from what dbt writes after it.

    dbt build; python -m recoup.adapters.dbt public_checks.dbt_errors --target target

Reads ``run_results.json`` and, if it is there, ``manifest.json``. Each model, seed, snapshot or source is an entity of
its own (``entity_of("dbt", "model.shop.orders")``), which an error blocks; a failed test counts for what it tests. The
work key is the node's unique id. dbt itself is not needed: files of one machine can be read on another.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from recoup.adapters.reporting import entity_of, key_of
from recoup.client import Client, open_client
from recoup.errors.recording import NewError, Recorded
from recoup.refusals import InputRefused, Refusal

FAILED = frozenset({"error", "fail", "runtime error", "partial success"})
SUCCEEDED = frozenset({"success", "pass", "warn"})  # the others did not run: skipped, no-op
TESTS = frozenset({"test", "unit_test"})
MAX_OPEN = 1_000  # open errors that are read at once
AT_ONCE = 500  # entities that are asked for at once


class Read(NamedTuple):
    """What became of the results of a run."""

    recorded: list[Recorded]
    resolved: list[int]  # errors whose node succeeded
    still_open: list[int]  # their nodes succeeded, and they need a person, or changed since


class _Node(NamedTuple):
    unique_id: str
    entity: UUID
    work_key: str
    status: str
    result: Mapping[str, Any]
    of: Mapping[str, Any]  # the node in the manifest

    @property
    def began(self) -> datetime | None:
        times = [one.get("started_at") for one in self.result.get("timing") or ()]
        return min((_moment(one) for one in times if one), default=None)


def record_run(client: Client, table: str, target: Path | str = "target", *, entity: UUID | str | None = None) -> Read:
    """Record what failed in dbt's last run, all or none, and report what succeeded. Call it once for each run.

    table: the error table. target: dbt's target folder. entity: one for all nodes, instead of one for each.
    """
    folder = Path(target)
    results = _document(folder / "run_results.json")
    manifest = _document(folder / "manifest.json") if (folder / "manifest.json").exists() else {}
    known = {**manifest.get("sources", {}), **manifest.get("unit_tests", {}), **manifest.get("nodes", {})}
    try:
        nodes = [_node(one, known, entity) for one in results["results"]]
        invocation = results["metadata"]["invocation_id"]
        ended = _moment(results["metadata"]["generated_at"])
        began = ended - timedelta(seconds=float(results.get("elapsed_time") or 0))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(folder / "run_results.json", f"{type(error).__name__}: {error}") from error
    failed = [_error(table, node, invocation) for node in nodes if node.status in FAILED]
    recorded = client.errors.record(failed) if failed else []
    good = {(node.entity, node.work_key): node for node in nodes if node.status in SUCCEEDED}
    resolved: list[int] = []
    still_open: list[int] = []
    for key in _open(client, table, [*good]):
        # Whatever was recorded since this node began may be of a later run.
        ran_for = max(datetime.now(UTC) - (good[key].began or began), timedelta(0))
        done = client.errors.cleared(table, key[0], work_key=key[1], ran_for=ran_for)
        resolved += done.resolved
        still_open += [*done.parked, *done.changed]
    return Read(recorded, resolved, still_open)


def _node(result: Mapping[str, Any], known: Mapping[str, Any], entity: UUID | str | None) -> _Node:
    unique_id = result["unique_id"]
    of = known.get(unique_id) or {}
    about = unique_id
    if of.get("resource_type") in TESTS:
        tested = (of.get("depends_on") or {}).get("nodes") or [unique_id]
        about = of.get("attached_node") or of.get("tested_node_unique_id") or tested[0]
    whose = entity_of("dbt", about) if entity is None else UUID(str(entity))
    return _Node(unique_id, whose, key_of(unique_id), result["status"], result, of)


def _error(table: str, node: _Node, invocation: str) -> NewError:
    message = node.result.get("message") or f"{node.unique_id}: {node.status}"
    payload = {
        "dbt": {
            "unique_id": node.unique_id,
            "status": node.status,
            "failures": node.result.get("failures"),
            "file": node.of.get("original_file_path"),
            "seconds": node.result.get("execution_time"),
            "invocation_id": invocation,
        }
    }
    return NewError(
        table=table,
        message=message.strip(),
        outreach_id=node.entity,
        work_key=node.work_key,
        code=f"DBT_{node.status}".upper().replace(" ", "_"),
        payload=payload,
    )


def _open(client: Client, table: str, keys: Sequence[tuple[UUID, str]]) -> list[tuple[UUID, str]]:
    """Those of which an error is open: most nodes succeed every day and have none."""
    found: set[tuple[UUID | None, str | None]] = set()
    entities = sorted({entity for entity, _ in keys})
    for start in range(0, len(entities), AT_ONCE):
        after: int | None = None
        part = entities[start : start + AT_ONCE]
        while rows := client.errors.list(tables=(table,), entities=part, limit=MAX_OPEN, after=after):
            found |= {(row.outreach_id, row.work_key) for row in rows}
            after = rows[-1].error_id
    return [key for key in keys if key in found]


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(found, dict):
        raise _unreadable(path, "it holds no JSON object")
    return found


def _unreadable(path: Path, why: str) -> InputRefused:
    return InputRefused(
        "dbt_results", f"{path} cannot be read: {why}.", "Run dbt, and name its target folder.", path=str(path)
    )


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def main() -> None:
    """``python -m recoup.adapters.dbt TABLE [--target FOLDER] [--entity UUID]``."""
    parser = argparse.ArgumentParser(
        prog="python -m recoup.adapters.dbt", description="Record failed nodes of dbt's last run, clear the others."
    )
    parser.add_argument("table", help="error table, such as warehouse.dbt_errors")
    parser.add_argument("--target", default="target", help="dbt's target folder (default: target)")
    parser.add_argument("--entity", help="one entity for all nodes; default: one for each")
    given = parser.parse_args()
    try:
        with open_client() as client:
            done = record_run(client, given.table, given.target, entity=given.entity)
    except Refusal as refusal:
        sys.exit(f"refused: {refusal.happened}\nNext: {refusal.next_step}")
    print(f"{len(done.recorded):,} recorded, {len(done.resolved):,} resolved, {len(done.still_open):,} still open")


if __name__ == "__main__":
    main()
