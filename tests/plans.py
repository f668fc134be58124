"""Plans as they were carried out, also of statements inside functions and triggers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from recoup.database.connection import Transaction


@dataclass
class Plans:
    """Those of one block."""

    tx: Transaction
    found: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def note(self, said: psycopg.errors.Diagnostic) -> None:
        _, _, told = (said.message_primary or "").partition("plan:\n")
        if told:
            self.found.append(json.loads(told))

    def take(self) -> list[dict[str, Any]]:
        """Those since the last call. A statement is told of when the next one comes, so here one comes."""
        self.tx.execute("set local client_min_messages = notice", prepare=False)
        taken, self.found = self.found, []
        return taken


@contextlib.contextmanager
def carried_out(tx: Transaction, *, kept: bool) -> Iterator[Plans]:
    """Collects the plans of a block: made for their parameters, or kept ones that are made for none.

    What the block does is undone.
    """
    plans = Plans(tx)
    tx.execute("load 'auto_explain'")
    before, tx.prepare_threshold = tx.prepare_threshold, 0
    try:
        with tx.transaction(force_rollback=True):
            for setting in (
                f"plan_cache_mode = force_{'generic' if kept else 'custom'}_plan", "statement_timeout = '60s'",
                "auto_explain.log_analyze = on", "auto_explain.log_timing = off", "auto_explain.log_format = json",
                "auto_explain.log_level = notice", "auto_explain.log_nested_statements = on",
                "auto_explain.log_min_duration = 0",
            ):  # fmt: skip
                tx.execute(f"set local {setting}")
            tx.add_notice_handler(plans.note)
            yield plans
    finally:
        tx.remove_notice_handler(plans.note)
        tx.prepare_threshold = before


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


def handled(node: dict[str, Any]) -> int:
    """Rows that a node read, including those it discarded. Locks are the whole server's: other tests hold some."""
    if node.get("Function Name") == "pg_lock_status":
        return int(node["Actual Rows"] * node["Actual Loops"])
    thrown = sum(node.get(key, 0) for key in ("Rows Removed by Filter", "Rows Removed by Index Recheck"))
    return int((node["Actual Rows"] + thrown) * node["Actual Loops"])


def lists_running_transactions(plan: dict[str, Any]) -> bool:
    """It reads no table, only which transactions run: those of the whole server, and other tests have some."""
    return "pg_snapshot_xip(" in plan["Query Text"] and not any("Relation Name" in node for node in nodes(plan["Plan"]))


def assert_reads_only(plans: list[dict[str, Any]], most: int, *, big: Collection[str]) -> None:
    """No large table (named without schema) is scanned as a whole; nothing larger than asked is sorted or handled."""
    assert plans
    for found in plans:
        if lists_running_transactions(found):
            continue
        for node in nodes(found["Plan"]):
            told = {key: node.get(key) for key in ("Node Type", "Relation Name", "Index Name", "Filter", "Actual Rows")}
            told["Query Text"] = found["Query Text"][:300]
            assert not (node["Node Type"].endswith("Seq Scan") and node["Relation Name"] in big), told
            if "Sort" in node["Node Type"]:
                assert sum(handled(child) for child in node["Plans"]) <= most, told
            assert handled(node) <= most, told
