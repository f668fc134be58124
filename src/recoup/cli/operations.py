"""``recoup operations``"""

from typing import Annotated

from cyclopts import Parameter

from recoup import operations
from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, Limit, print_rows
from recoup.lifecycles.declaration import Authority

COLUMNS = (
    "operation_id", "subject", "verb", "status", "items", "done", "refused", "pending", "requested_at", "requested_by",
    "done_at", "paused", "filter", "arguments",
)  # fmt: skip


def list_operations(
    *,
    subject: Annotated[str | None, Parameter(help="Only operations on this table, such as recoup.error.")] = None,
    limit: Limit = 20,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List operations over many rows, newest first: filter, progress, refused rows."""
    with acting(Authority.READER, demo=demo) as tx:
        found = operations.operations(tx, subject=subject, limit=limit)
    rows = [{name: getattr(one, name) for name in (*COLUMNS, "refusals")} for one in found]
    print_rows(rows, as_json=json, columns=COLUMNS, empty="No operations yet.")
