"""``recoup gate import``"""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from recoup.cli.context import opened, person
from recoup.cli.output import Column, Demo, FileFormat, Json, command, print_fields, print_rows, shortened, shown
from recoup.cli.progress import progress
from recoup.files import Format
from recoup.formatting import plural, timestamp
from recoup.gate.importing import Imported, Progress, import_file

MAX_SHOWN = 10
MAX_SHOWN_CHARS = 120
REFUSED_COLUMNS = ("number", "column", "reason", "message", Column("row", cut="end"))


def import_(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    batch: str,
    append: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    complete: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    strict: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    format_: FileFormat = None,
    report: Path | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Import a file of companies into a batch: CSV, JSONL or Parquet. Invalid rows are refused one by one.

    Columns: company_name (name, company), company_domain (domain, website), linkedin_url (linkedin), state (us_state).
    Only the name is required. An interrupted import leaves nothing behind; run it again.

    Parameters
    ----------
    file
        The file. Its name gives the format, also with .gz. - reads standard input.
    batch
        Name of the batch.
    append
        Add to an existing batch that is not complete. Without --append, an existing batch is refused.
    complete
        Mark the batch as complete after the import: its recovery window opens.
    strict
        Import nothing if any row is refused.
    format_
        The format, if the name does not give it. csv also reads tabs and semicolons.
    report
        A .csv or .jsonl file for the refused rows, each with its reason.
    """
    with opened(demo=demo) as database, progress(quiet=json) as tell:
        imported = import_file(
            database,
            file,
            batch_id=batch,
            format_=None if format_ is None else Format(format_),
            append=append,
            complete=complete,
            strict=strict,
            actor=person(database),
            report=report,
            progress=lambda so_far: tell(_progress_text(so_far), so_far.share),
        )
    if json:
        _print_json(imported)
    else:
        _print(imported, demo=demo)


def _print(imported: Imported, *, demo: bool) -> None:
    rate = imported.rows / max(imported.seconds, 0.001)
    print(
        f"Imported {imported.accepted:,} of {plural(imported.rows, 'row')} into batch {shown(imported.batch_id)}"
        f" in {imported.seconds:.1f}s ({rate:,.0f} rows/s)"
    )
    if imported.ignored:
        print(f"Ignored columns: {shown(imported.ignored)}")
    if imported.refused:
        _print_refused(imported)
    name = shlex.quote(imported.batch_id)
    if imported.batch_freeze_at is None:
        print(f"When the import is complete: {command(f'gate complete {shown(name)}', demo=demo)}")
    else:
        print(f"The batch is complete; its recovery window closes at {timestamp(imported.batch_freeze_at)}.")
    print(f"Next, verify the companies: {command('gate run', demo=demo)}")


def _print_refused(imported: Imported) -> None:
    print(f"\n{plural(imported.refused, 'row')} refused:\n")
    counts = [{"reason": reason, "rows": rows} for reason, rows in imported.reasons.items()]
    print_rows(counts, as_json=False, empty="")
    in_order = sorted(imported.refusals, key=lambda refused: refused.number)
    first = [refused._replace(row=shortened(refused.row, MAX_SHOWN_CHARS)) for refused in in_order[:MAX_SHOWN]]
    print(f"\n{f'The first {len(first)}' if imported.refused > len(first) else 'Refused rows'}:\n")
    print_rows(first, as_json=False, columns=REFUSED_COLUMNS, empty="")
    if imported.report is not None:
        print(f"\nAll of them are in {shown(imported.report)}.\n")
    else:
        print("\nTo get all of them in a file: --report FILE\n")


def _print_json(imported: Imported) -> None:
    record = {field: getattr(imported, field) for field in imported.__dataclass_fields__}
    print_fields({**record, "refusals": [refused._asdict() for refused in imported.refusals]}, as_json=True)


def _progress_text(so_far: Progress) -> str:
    refused = f", {so_far.refused:,} refused" if so_far.refused else ""
    return f"{so_far.rows:,} rows read{refused}, {so_far.rate:,.0f} rows/s"
