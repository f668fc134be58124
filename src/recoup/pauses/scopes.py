"""What can be paused, beside everything, a duty and a table: domains declare their own kinds."""

from collections.abc import Callable
from dataclasses import dataclass

from recoup.database.connection import Transaction

GLOBAL, DUTY, TABLE, OPERATION = "global", "duty", "table", "operation"
EVERYTHING = "everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pausable:
    """A kind of thing that can be paused. Its pause stands in the register, unless its own rows keep it."""

    scope: str
    description: str
    names: str | None = None  # query for their names
    # Where a pause stands in the rows themselves: a query for what is paused (scope_id, paused_at, paused_by, reason),
    # and who writes it. Both are given the name and the reason, and say whether anything changed.
    rows: str | None = None
    pause: Callable[[Transaction, str, str], bool] | None = None
    resume: Callable[[Transaction, str, str], bool] | None = None
