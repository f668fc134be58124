"""What is promised of operations over many."""

from recoup.audit.invariant import InFile, Invariant

_of = InFile("recoup.operations", "operations.sql")

INVARIANTS: tuple[Invariant, ...] = (
    _of("operations/items", "invariants", "An operation has as many items as it began with, numbered from 1."),
    _of("operations/digest", "invariants", "The items of an operation are those that were frozen when it began."),
    _of("rebuild/recoup.operation_item", "invariants", "An item has its refusal and its time as its status says."),
    _of("operations/done", "invariants", "An operation is DONE only when each item has its result."),
)
