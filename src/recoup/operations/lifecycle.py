"""The lifecycles of a bulk operation and of its items."""

from enum import StrEnum

from recoup.lifecycles.declaration import RECORD_CONTROL, Authority, Birth, Lifecycle, Move, On


class OperationStatus(StrEnum):
    OPEN = "OPEN"  # some items have no result yet
    DONE = "DONE"  # each has one


class ItemStatus(StrEnum):
    PENDING = "PENDING"  # no result yet
    DONE = "DONE"  # the verb was carried out
    REFUSED = "REFUSED"  # the verb was refused, and the item has the reason


OPERATION = Lifecycle(
    table="recoup.operation",
    description="One decision of an operator over many rows of a domain. Its set of rows is fixed when it begins.",
    key=("operation_id",),
    births=(Birth(OperationStatus.OPEN, Authority.OPERATOR, "its set of rows is fixed"),),
    moves=(Move(OperationStatus.OPEN, OperationStatus.DONE, Authority.OPERATOR, "each item has its result"),),
    frozen=(
        "operation_id",
        "subject",
        "verb",
        "arguments",
        "filter",
        "items",
        "digest",
        "requested_at",
        "requested_by",
    ),
    once=("done_at",),
    recorders=(
        On("insert", RECORD_CONTROL, ("verb", "filter", "arguments", "items")),
        On("update", RECORD_CONTROL, ("done_at",)),
    ),
    formerly=("recoup.error_operation",),
)

OPERATION_ITEM = Lifecycle(
    table="recoup.operation_item",
    description="One row of a bulk operation, and its result.",
    key=("operation_id", "place"),
    births=(Birth(ItemStatus.PENDING, Authority.OPERATOR, "its operation begins"),),
    moves=(
        Move(ItemStatus.PENDING, ItemStatus.DONE, Authority.OPERATOR, "the verb was carried out"),
        Move(ItemStatus.PENDING, ItemStatus.REFUSED, Authority.OPERATOR, "the verb was refused"),
    ),
    frozen=("operation_id", "place", "unit"),
    once=("refusal", "ended_at"),
)
