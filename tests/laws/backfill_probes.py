"""The probes of backfills and their members."""

from __future__ import annotations

import extraction
from conformance.backfill_cast import BACKFILL_ROLES, BACKFILL_ROW, given_member, item_in, new_backfill
from laws.partition_probes import INFINITE, LISTED, TIMES, named
from laws.probing import PROBES, check, key, law, quiet, refused, seen
from laws.rows import ID, NOW, insertion
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority

__all__ = ["PROBES"]

CONTROL_PLANE = Authority.CONTROL_PLANE
BACKFILL, ITEM = "partitions.backfill", "partitions.backfill_item"
ROLE = BACKFILL_ROLES[0]
TOLD = "select from recoup.control_log where subject = %s and key = %s and event_type = %s"

key(BACKFILL, "backfill_pkey", "An id is one backfill's.", "backfill_id")
check(BACKFILL, "backfill_status_check", LISTED, status="'odd'", planned="1")
named(BACKFILL, "reason", 2000)
named(BACKFILL, "requested_by", 500)
for value in ("-1", "10"):
    check(BACKFILL, "backfill_priority_check", "Priorities are from 0 to 9.", priority=value)
check(BACKFILL, "backfill_planned_check", "Counts begin at none.", planned="-1")
for column in ("created_at", "updated_at"):
    check(BACKFILL, f"backfill_{column}_check", TIMES, **{column: INFINITE})
check(BACKFILL, "backfill_ended_at_check", TIMES, status="'done'", planned="1", ended_at=INFINITE)
check(BACKFILL, "backfill_ended", "What is done ended.", status="'done'", planned="1")
check(BACKFILL, "backfill_ended", "What runs has not.", ended_at=NOW)
check(BACKFILL, "backfill_planned", "No more is planned than there is.", planned="2")
check(BACKFILL, "backfill_planned", "What runs is planned whole.", status="'running'")

ENDED = {"status": "'succeeded'", "ended_at": NOW}
LEFT = {"status": "'left'", "ended_at": NOW}
key(ITEM, "backfill_item_pkey", "A place is one member's.", "backfill_id", "place")
key(ITEM, "backfill_item_member", "A partition is one member.", "backfill_id", "partition_id", then={"place": "2"})
check(ITEM, "backfill_item_place_check", "Places count from one.", place="0")
check(ITEM, "backfill_item_found_check", LISTED, found="'odd'")
check(ITEM, "backfill_item_status_check", LISTED, **ENDED | {"status": "'odd'"})
check(ITEM, "backfill_item_planned_at_check", TIMES, planned_at=INFINITE)
check(ITEM, "backfill_item_ended_at_check", TIMES, **ENDED | {"ended_at": INFINITE})
check(ITEM, "backfill_item_other", "Another's is named.", **LEFT, found="'other'")
check(ITEM, "backfill_item_other", "Its own is not.", other=ID)
check(ITEM, "backfill_item_partition", "What is absent has no partition.", **LEFT, found="'absent'")
check(ITEM, "backfill_item_partition", "What is there has one.", partition_id="null")
check(ITEM, "backfill_item_ended", "What ended did so at a time.", status="'succeeded'")
check(ITEM, "backfill_item_ended", "What waits has not.", ended_at=NOW)
check(ITEM, "backfill_item_found", "What is new is not left.", **LEFT, found="'new'")
check(ITEM, "backfill_item_found", "What is open is.", found="'open'")


@law(BACKFILL, "backfill_expected_check")
def no_backfill_is_of_less_than_none(tx: Transaction) -> None:
    """Counts begin at none."""
    with quiet(tx, BACKFILL):
        tx.execute("alter table partitions.backfill drop constraint backfill_planned")  # it would answer, too
        refused(tx, insertion(tx, BACKFILL, {"expected": "-1"}), constraint="backfill_expected_check")


@law(BACKFILL, "partitions.rule_backfill_births", "insert")
def a_backfill_is_as_large_as_its_selection(tx: Transaction) -> None:
    """Nobody begins one that would never be planned whole."""
    row = BACKFILL_ROW.format(more="", values="").replace("false, false, 1,", "false, false, 2,")
    refused(tx, f"insert into partitions.backfill {row}", who=CONTROL_PLANE, by="partitions.rule_backfill_births",
            sqlstate="RC147")  # fmt: skip


@law(BACKFILL, "recoup.record_control", "insert")
def the_start_of_a_backfill_is_logged(tx: Transaction) -> None:
    """BIRTH is in the control log."""
    seen(tx, TOLD, BACKFILL, str(new_backfill(tx)), "BIRTH")


@law(BACKFILL, "recoup.record_control", "update")
def what_becomes_of_a_backfill_is_logged(tx: Transaction) -> None:
    """MOVE is in the control log."""
    seen(tx, TOLD, BACKFILL, str(ROLE.brought(tx, "cancelled")), "MOVE")


@law(ITEM, "partitions.rule_backfill_items", "insert")
def a_member_that_waits_belongs_to_its_backfill(tx: Transaction) -> None:
    """Nobody adds a partition that would not end it."""
    given = given_member(tx) | {"partition": extraction.new_partition(tx)}
    row = (
        "insert into partitions.backfill_item (backfill_id, place, partition_id, found, status, planned_at)"
        f" values (%(backfill)s, 1, %(partition)s, 'pending', 'waiting', {NOW})"
    )
    refused(tx, row, given, who=CONTROL_PLANE, by="partitions.rule_backfill_items", sqlstate="RC147")


@law("partitions.schedule", "partitions.settle_backfill_items", "update")
def a_member_ends_with_its_schedule(tx: Transaction) -> None:
    """In the statement that ends it."""
    for status in ("succeeded", "terminal", "cancelled"):
        place = item_in(tx, status)
        seen(tx, "select from partitions.backfill_item where place = %s and status = %s", place, status)
