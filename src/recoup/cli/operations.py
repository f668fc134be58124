"""``recoup operations``"""

from typing import Annotated

from cyclopts import Parameter

from recoup import operations
from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, print_rows
from recoup.lifecycles.declaration import Authority

COLUMNS = (
    Column("operation_id", "operation", least=36, rank=0),
    Column("subject", rank=10),
    Column("verb", rank=1),
    Column("status", rank=2),
    Column("items", rank=3),
    Column("done", rank=4),
    Column("refused", rank=5),
    Column("pending", rank=6),
    Column("requested_at", "requested", least=12, rank=7),
    Column("requested_by", "by", cut="middle", least=10, rank=8),
    Column("done_at", "finished", least=12, rank=11),
    Column("paused", cut="end", rank=9),
    Column("filter", cut="end", rank=12),
    Column("arguments", cut="end", rank=13),
)


def list_operations(
    *,
    subject: Annotated[str | None, Parameter(help="Only operations on this table, such as recoup.error.")] = None,
    limit: Limit = 20,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List operations over many rows, newest first: progress, and what was refused."""
    with acting(Authority.READER, demo=demo) as tx:
        found = operations.operations(tx, subject=subject, limit=limit)
    names = [*(column.field for column in COLUMNS), "refusals"]
    rows = [{name: getattr(one, name) for name in names} for one in found]
    print_rows(rows, as_json=json, columns=COLUMNS, empty="No operations yet.")
