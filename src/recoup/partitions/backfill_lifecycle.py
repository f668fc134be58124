"""The lifecycles of a backfill and of its members."""

from enum import StrEnum

from recoup.lifecycles.declaration import RECORD_CONTROL, Authority, Birth, Lifecycle, Move, MoveRule, On

CONTROL_PLANE = Authority.CONTROL_PLANE


class BackfillStatus(StrEnum):
    PLANNING = "planning"  # its members are enqueued, a chunk at a time
    RUNNING = "running"  # all are planned, some have not ended
    PAUSED = "paused"  # none of its members is dispatched
    DONE = "done"  # every member has ended
    CANCELLED = "cancelled"  # a person gave up the rest


class ItemStatus(StrEnum):
    WAITING = "waiting"  # to be worked on
    LEFT = "left"  # as it was found
    SUCCEEDED = "succeeded"  # a run was accepted
    FAILED = "failed"  # its reprocessing was rejected: what it had before stays
    TERMINAL = "terminal"  # given up
    CANCELLED = "cancelled"  # its backfill was cancelled before


PLANNING, RUNNING, PAUSED, DONE, CANCELLED = BackfillStatus
WAITING, LEFT, SUCCEEDED, FAILED, TERMINAL, GIVEN_UP = ItemStatus
BY_SCHEDULE = ("partitions.settle_backfill_items",)

BACKFILL = Lifecycle(
    table="partitions.backfill",
    description="One request for many partitions. They wait in the backfill lane, and it is done when each has ended.",
    key=("backfill_id",),
    births=(Birth(PLANNING, CONTROL_PLANE, "a person starts it"),),
    moves=(
        Move(PLANNING, PLANNING, CONTROL_PLANE, "a chunk of it was planned"),
        Move(PLANNING, RUNNING, CONTROL_PLANE, "all of it was planned"),
        Move(PLANNING, CANCELLED, CONTROL_PLANE, "a person cancels it"),
        Move(RUNNING, PAUSED, CONTROL_PLANE, "a person pauses it"),
        Move(PAUSED, RUNNING, CONTROL_PLANE, "a person resumes it"),
        Move(RUNNING, DONE, CONTROL_PLANE, "every member has ended"),
        Move(RUNNING, CANCELLED, CONTROL_PLANE, "a person cancels it"),
        Move(PAUSED, CANCELLED, CONTROL_PLANE, "a person cancels it"),
    ),
    frozen=(
        "backfill_id", "selection", "reason", "requested_by", "priority", "reprocess", "with_terminal", "only_failed",
        "expected", "policy_version", "created_at",
    ),
    once=("ended_at",),
    rising=("planned", "updated_at"),
    move_rule=MoveRule(broken="partitions.backfill_move_broken", refusal="partitions.backfill_move_refusal"),
    rules=(On("insert", "partitions.rule_backfill_births"),),
    recorders=(
        On("insert", RECORD_CONTROL, ("selection", "expected", "reprocess", "with_terminal", "only_failed", "planned")),
        On("update", RECORD_CONTROL, ("planned", "ended_at")),
    ),
)  # fmt: skip

BACKFILL_ITEM = Lifecycle(
    table="partitions.backfill_item",
    description="A member of a backfill: what was found of its partition, and how it ended.",
    key=("backfill_id", "place"),
    births=(
        Birth(WAITING, CONTROL_PLANE, "its partition is enqueued, or asked for again"),
        Birth(LEFT, CONTROL_PLANE, "its partition is left as it was found"),
    ),
    moves=(
        Move(WAITING, SUCCEEDED, CONTROL_PLANE, "a run of it was accepted", via=BY_SCHEDULE),
        Move(WAITING, FAILED, CONTROL_PLANE, "its reprocessing was rejected", via=BY_SCHEDULE),
        Move(WAITING, TERMINAL, CONTROL_PLANE, "its partition was given up", via=BY_SCHEDULE),
        Move(WAITING, GIVEN_UP, CONTROL_PLANE, "its backfill was cancelled", via=BY_SCHEDULE),
    ),
    frozen=("backfill_id", "place", "partition_id", "found", "other", "planned_at"),
    once=("ended_at",),
    rules=(On("insert", "partitions.rule_backfill_items"),),
)
