"""``recoup init``"""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from recoup import new_project


def init(
    folder: Annotated[Path, Parameter(help="Where to write the files.")] = Path(),
    *,
    table: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="An error table of your own, schema.table; may be repeated."),
    ] = (),
    force: Annotated[bool, Parameter(negative="", show_default=False, help="Replace files that exist.")] = False,
) -> None:
    """Write a commented recoup.toml, and with --table a policy.toml that adds your own error tables.

    For example: recoup init --table billing.invoice_errors
    """
    written = new_project.create(folder, table, force=force)
    for path in written:
        print(f"written  {path}")
    print("\nNext:")
    if table:
        policy = written[-1].name if folder == Path() else written[-1]
        print(f'  recoup migrate\n  recoup policy apply {policy} --reason "tables of this project"')
        print("  recoup migrate           creates the tables")
    else:
        print("  recoup migrate           creates the schema")
    print("  recoup doctor            shows which settings are used")
    print("  recoup worker            retries errors with the handlers of recoup.toml")
