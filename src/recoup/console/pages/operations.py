"""Operations over many rows: what runs, its progress, and its stop."""

from uuid import UUID

from recoup import operations
from recoup.api import operating
from recoup.api.routes import operations as routes
from recoup.console.declare import Context, Section, Seen
from recoup.console.sessions import after
from recoup.refusals import InputRefused

OPERATIONS = Section(name="operations", title="Operations", links=(("Operations", "/operations"),))


@OPERATIONS.page("/operations", "operations/list.html")
def listed(seen: Seen) -> Context:
    """Operations, newest first."""
    asked = seen.asked(routes.OperationsAsked)
    return {"page": routes.list_operations(seen.tx, asked=asked)}


@OPERATIONS.page("/operations/{operation_id}", "operations/one.html")
def one(seen: Seen) -> Context:
    """One operation: progress, what was refused, steps."""
    found = operations.find(seen.tx, as_id(seen.params["operation_id"], "operation"))
    return {"story": operating.story(seen.tx, found), "back": after(seen.value("back"))}


def as_id(text: str, noun: str) -> UUID:
    """The id in a path."""
    try:
        return UUID(text)
    except ValueError:
        raise InputRefused(f"{noun}_unknown", f"{text[:60]!r} is not the id of one.", "Open it from a list.") from None
