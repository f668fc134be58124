"""What the demo shows of recovery."""

from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority


def show() -> None:
    from recoup.cli.context import acting
    from recoup.cli.output import command, print_rows
    from recoup_demo import recovery as demo

    counts = load("recoup_demo", "recovery.sql")["counts"]
    print("\nRecovery, by status:\n")
    with acting(Authority.READER, demo=True) as tx:
        rows = [dict(zip(("what", "status", "rows"), row, strict=True)) for row in tx.execute(counts)]
        print_rows(rows, as_json=False, empty="There are no matches.")
        match = demo.an_eventful_match(tx)
    print("\nTry:")
    print(f"  {command('recovery list', demo=True)}")
    if match is not None:
        print(f"  {command(f'recovery show {match}', demo=True)}")
    print(f"  {command('recovery scopes', demo=True)}")
