"""The lifecycles of a bulk operation and of its items."""

from enum import StrEnum

from recoup.lifecycles.declaration import RECORD_CONTROL, Authority, Birth, Lifecycle, Move, On


class OperationStatus(StrEnum):
    OPEN = "OPEN"  # some items have no result yet
    PAUSED = "PAUSED"  # outcomes of a step did not come in time
    STOPPED = "STOPPED"  # too many of a step failed
    CANCELLED = "CANCELLED"  # a person ended it; the rest is as it was
    DONE = "DONE"  # each item has its result


class ItemStatus(StrEnum):
    PENDING = "PENDING"  # no result yet
    DONE = "DONE"  # the verb was carried out
    REFUSED = "REFUSED"  # the verb was refused, and the item has the reason


OPEN, PAUSED, STOPPED, CANCELLED, DONE = OperationStatus
FROZEN = (
    "operation_id", "subject", "verb", "arguments", "filter", "items", "digest", "requested_at", "requested_by",
)  # fmt: skip
STEPS = ("step", "step_start", "step_end", "watch_until", "why")
TAKEN_UP = "taken_up_at"

OPERATION = Lifecycle(
    table="recoup.operation",
    description="One decision of an operator over many rows of a domain. Its set of rows is fixed when it begins.",
    key=("operation_id",),
    births=(Birth(OPEN, Authority.OPERATOR, "its set of rows is fixed"),),
    moves=(
        Move(OPEN, OPEN, Authority.OPERATOR, "the next step, as outcomes were good; or a worker takes it up"),
        Move(OPEN, PAUSED, Authority.OPERATOR, "outcomes of its step did not come in time"),
        Move(OPEN, STOPPED, Authority.OPERATOR, "too many of its step failed"),
        *(Move(held, OPEN, Authority.OPERATOR, "a person resumes it: the next step") for held in (PAUSED, STOPPED)),
        *(Move(one, CANCELLED, Authority.OPERATOR, "a person cancels the rest") for one in (OPEN, PAUSED, STOPPED)),
        Move(OPEN, DONE, Authority.OPERATOR, "each item has its result"),
    ),
    frozen=(*FROZEN, "canary", "continued_as"),
    once=("done_at", TAKEN_UP),
    rising=("step", "step_start", "step_end"),
    rules=(On("insert", "recoup.rule_operation_births"), On("update", "recoup.rule_operation_moves")),
    recorders=(
        On("insert", RECORD_CONTROL, ("verb", "filter", "arguments", "items", *STEPS)),
        On("update", RECORD_CONTROL, ("done_at", *STEPS, TAKEN_UP)),
    ),
    formerly=("recoup.error_operation",),
    # All went at once; none was taken up by a worker.
    earlier_contents=(FROZEN, (*FROZEN, "canary")),
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
    rules=(On("insert", "recoup.rule_operation_items"), On("update", "recoup.rule_operation_results")),
)
