"""Backfills and their members: how each comes into a status, and what a statement says to move it."""

from __future__ import annotations

import random
from datetime import date
from typing import Any
from uuid import UUID

import extraction
from company import acting
from conformance.cast import Actor, Role
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions.backfill_lifecycle import BACKFILL, BACKFILL_ITEM
from recoup.partitions.backfilling import Selection, start

CONTROL_PLANE = Authority.CONTROL_PLANE
NOW = "(select recoup.now() as now_) t"
SELECTION = (
    "jsonb_build_object('source', 's', 'from', '2026-01-01', 'to', '2026-01-01', 'customers', jsonb_build_array('c'),"
    " 'queries', jsonb_build_array('q'))"
)
BACKFILL_ROW = (
    "({more}selection, reason, requested_by, priority, reprocess, with_terminal, expected, policy_version, created_at,"
    f" updated_at) select {{values}}{SELECTION}, 'r', recoup.acting_id(), 5, false, false, 1, recoup.policy_version(),"
    f" now_, now_ from {NOW}"
)
OPEN, ENDED = "ended_at = null, updated_at = t.now_", "ended_at = t.now_, updated_at = t.now_"
BACKFILL_CHANGE = {
    "planning": f"status = 'planning', {OPEN}",
    "running": f"status = 'running', planned = expected, {OPEN}",
    "paused": f"status = 'paused', planned = expected, {OPEN}",
    "done": f"status = 'done', planned = expected, {ENDED}",
    "cancelled": f"status = 'cancelled', {ENDED}",
}
ITEM_ROW = (
    "({more}backfill_id, place, partition_id, found, status, planned_at)"
    f" select {{values}}%(backfill)s, %(place)s, %(partition)s, 'pending', '{{status}}', now_ from {NOW}"
)
# Every day of ten thousand years: a place that no other backfill has.
EVER = Selection(source="s", queries=("q",), customers=("c",), first=date(1, 1, 1), last=date(9999, 12, 31))


def backfill_change(_actor: Actor, source: str, target: str) -> str:
    if (source, target) == ("planning", "planning"):
        return "planned = 1, updated_at = t.now_"
    return BACKFILL_CHANGE[target]


def add_member(tx: Transaction, backfill: UUID, place: int = 1) -> None:
    """One that was left as it was found."""
    with acting(tx, CONTROL_PLANE):
        tx.execute(
            "insert into partitions.backfill_item (backfill_id, place, found, status, planned_at, ended_at)"
            f" select %s, %s, 'absent', 'left', now_, now_ from {NOW}".encode(),
            (backfill, place),
        )


def new_backfill(tx: Transaction, *, days: int = 1, members: int = 1) -> UUID:
    chosen = Selection(source="s", queries=("q",), customers=("c",), first=date(2026, 1, 1), last=date(2026, 1, days))
    with acting(tx, CONTROL_PLANE):
        backfill = start(tx, chosen, reason="r")
    for place in range(1, members + 1):
        add_member(tx, backfill, place)
    return backfill


def backfill_in(tx: Transaction, status: str) -> UUID:
    backfill = new_backfill(tx)
    way = {"planning": (), "running": ("running",), "cancelled": ("cancelled",)}.get(status, ("running", status))
    for step in way:
        with acting(tx, CONTROL_PLANE):
            change = f"update partitions.backfill set {BACKFILL_CHANGE[step]} from {NOW} where backfill_id = %s"
            tx.execute(change.encode(), (backfill,))
    return backfill


def given_member(tx: Transaction) -> dict[str, Any]:
    """A backfill that is being planned, and a partition that waits in it."""
    with acting(tx, CONTROL_PLANE):
        backfill = start(tx, EVER, reason="r")
        partition = extraction.new_partition(tx)
        tx.execute(
            f"update partitions.schedule set backfill_id = %s, updated_at = t.now_ from {NOW}"
            " where partition_id = %s".encode(),
            (backfill, partition),
        )
    return {"backfill": backfill, "partition": partition, "place": random.randrange(1, EVER.size)}


def item_in(tx: Transaction, status: str) -> int:
    """Born; and ended by its schedule."""
    given = given_member(tx)
    partition, born = given["partition"], "left" if status == "left" else "waiting"
    if status == "failed":  # a reprocessing that was rejected
        _judged(tx, partition, None)
        tx.execute("select set_config('recoup.reason', 'r', true)")
        with acting(tx, CONTROL_PLANE):
            tx.execute(
                "select partitions.ask(array[%s]::bigint[], 'reprocess', 1, null, null, %s, null, null, false)",
                (partition, given["backfill"]),
            )
    more, values = ("ended_at, ", "now_, ") if status == "left" else ("", "")
    with acting(tx, CONTROL_PLANE):
        row = ITEM_ROW.format(more=more, values=values, status=born)
        tx.execute(f"insert into partitions.backfill_item {row}".encode(), given)
    match status:
        case "succeeded" | "failed":
            _judged(tx, partition, None if status == "succeeded" else "no")
        case "terminal":
            _judged(tx, partition, extraction.PASSING)
            assert extraction.ask(tx, partition, "mark") == "asked"
        case "cancelled":
            with acting(tx, CONTROL_PLANE):
                tx.execute(
                    "update partitions.schedule set status = 'held', hold = 'CANCELLED', held_at = t.now_,"
                    f" next_run_at = null, updated_at = t.now_ from {NOW} where partition_id = %s".encode(),
                    (partition,),
                )
    return int(given["place"])


def _judged(tx: Transaction, partition: int, message: str | None) -> None:
    extraction.judge(tx, extraction.publish(tx, extraction.dispatched(tx, partition)), message)
    extraction.follow(tx, partition)


BACKFILL_ROLES: tuple[Role, ...] = (
    Role(
        BACKFILL,
        {
            "planning": BACKFILL_ROW.format(more="", values=""),
            "running": BACKFILL_ROW.format(more="status, planned, ", values="'running', 1, "),
        },
        backfill_change,
        row_in=backfill_in,
        row_for={("planning", "planning"): lambda tx: new_backfill(tx, days=2)},
    ),
    Role(
        BACKFILL_ITEM,
        {
            "waiting": ITEM_ROW.format(more="", values="", status="waiting"),
            "left": ITEM_ROW.format(more="ended_at, ", values="now_, ", status="left"),
            "succeeded": ITEM_ROW.format(more="ended_at, ", values="now_, ", status="succeeded"),
        },
        {
            status: f"status = '{status}', ended_at = {'null' if status == 'waiting' else 'coalesce(ended_at, t.now_)'}"
            for status in BACKFILL_ITEM.statuses
        },
        row_in=item_in,
        given=given_member,
    ),
)
