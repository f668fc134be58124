"""What the demo shows of partitions."""

import sys

from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority

ROWS = 8  # customers of each source in the grid


def show() -> None:
    from recoup.cli.context import acting
    from recoup.cli.grid import Cell, grid, wants_color
    from recoup.cli.layout import width
    from recoup.cli.output import command, print_rows
    from recoup.partitions import listing
    from recoup.partitions.marks import mark
    from recoup.partitions.selecting import EVERYTHING
    from recoup_demo import partitions as demo

    counts = load("recoup_demo", "partitions.sql")["counts"]
    print("\nPartitions, by status:\n")
    with acting(Authority.READER, demo=True) as tx:
        rows = [dict(zip(("what", "status", "rows"), row, strict=True)) for row in tx.execute(counts)]
        print_rows(rows, as_json=False, empty="There are no partitions.")
        cells = [Cell(*row) for row in listing.cells(tx, EVERYTHING, limit=100_000)]
        eventful = demo.an_eventful_partition(tx)
    # Of each source, the customers with the most different marks.
    kinds: dict[tuple[str, str], set[object]] = {}
    for cell in cells:
        kinds.setdefault((cell.source, cell.customer_id), set()).add(mark(cell.status, cell.schedule))
    shown: set[tuple[str, str]] = set()
    for source in dict.fromkeys(cell.source for cell in cells):
        of = [key for key in kinds if key[0] == source]
        shown |= set(sorted(of, key=lambda key: (-len(kinds[key]), key))[:ROWS])
    print(f"\n{len(shown)} of {len(kinds)} customers, a character for each day:\n")
    chosen = [cell for cell in cells if (cell.source, cell.customer_id) in shown]
    print("\n".join(grid(chosen, color=wants_color(is_terminal=sys.stdout.isatty()), width=width())))
    print("\nTry:")
    print(f"  {command('state list --grid', demo=True)}")
    if eventful is not None:
        key = " ".join(
            f"--{name.replace('_', '-')} {value}" for name, value in eventful._asdict().items() if name != "query_name"
        )
        print(f"  {command(f'state history {key}', demo=True)}")
    for text in ("state terminal", "state overrides", "backfill status"):
        print(f"  {command(text, demo=True)}")
