"""The invariants of bulk operations."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.operations", "operations.sql")

INVARIANTS: tuple[Invariant, ...] = (
    _of("operations/items", "invariants", "An operation has as many items as it began with, numbered from 1."),
    _of("operations/digest", "invariants", "The items of an operation are those that were fixed when it began."),
    _of("rebuild/recoup.operation_item", "invariants", "An item has a refusal and an end time as its status requires."),
    _of("operations/done", "invariants", "An operation is DONE only when each item has its result."),
    _of("operations/steps", "invariants", "No item of an operation with a canary has a result beyond the step."),
)
