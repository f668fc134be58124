"""What can be paused, in addition to everything, a duty or a table: domains declare their own kinds."""

from collections.abc import Callable
from dataclasses import dataclass

from recoup.database.connection import Transaction

GLOBAL, DUTY, TABLE, OPERATION = "global", "duty", "table", "operation"
EVERYTHING = "everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pausable:
    """A kind of thing that can be paused. The register stores its pause, unless its own rows do."""

    scope: str
    description: str
    names: str | None = None  # query for their names
    # For a pause stored in the rows themselves: a query for what is paused (scope_id, paused_at, paused_by, reason),
    # and the functions that write it. Both take the name and the reason, and return whether anything changed.
    rows: str | None = None
    pause: Callable[[Transaction, str, str], bool] | None = None
    resume: Callable[[Transaction, str, str], bool] | None = None
