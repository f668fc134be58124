"""``recoup gate import``"""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from recoup.cli.context import opened, person
from recoup.cli.output import Demo, FileFormat, Json, print_fields, print_rows, shown
from recoup.cli.progress import progress
from recoup.files import Format
from recoup.gate.importing import Imported, Progress, import_file

MAX_SHOWN = 10
MAX_SHOWN_CHARS = 120


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
    """Bring a file of companies into a batch: CSV, JSONL or Parquet. Rows that make no sense are refused one by one.

    Columns: company_name (name, company), company_domain (domain, website), linkedin_url (linkedin), state (us_state).
    Only the name has to be there. An import that is interrupted leaves nothing behind; run it again.

    Parameters
    ----------
    file
        The file; its name tells the format, and .gz is fine. - reads standard input.
    batch
        What to call the batch, for example after the file.
    append
        Add to a batch that exists and is not complete. Without this, a batch that exists is refused.
    complete
        Declare the batch complete when everything is in: its recovery window opens.
    strict
        Bring in nothing if any row is refused.
    format_
        What the file is, when its name does not tell. csv is also for tabs and semicolons.
    report
        Where to write the refused rows, each with its reason: a .csv or .jsonl file.
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
            progress=lambda so_far: tell(_said(so_far), so_far.share),
        )
    if json:
        _print_json(imported)
    else:
        _print(imported)


def _print(imported: Imported) -> None:
    rate = imported.rows / max(imported.seconds, 0.001)
    print(
        f"{imported.accepted:,} of {imported.rows:,} rows came into batch {shown(imported.batch_id)},"
        f" in {imported.seconds:.1f} s ({rate:,.0f} rows/s)"
    )
    if imported.ignored:
        print(f"columns that were ignored: {shown(imported.ignored)}")
    if imported.refused:
        _print_refused(imported)
    name = shlex.quote(imported.batch_id)
    if imported.batch_freeze_at is None:
        print(
            f"Next: recoup gate complete {shown(name)}, when everything is in; recoup gate run verifies what came in."
        )
    else:
        print(f"The batch is complete; its recovery window closes at {shown(imported.batch_freeze_at)} UTC.")
        print("Next: recoup gate run verifies what came in.")


def _print_refused(imported: Imported) -> None:
    rows = "1 row was refused and is" if imported.refused == 1 else f"{imported.refused:,} rows were refused and are"
    print(f"\n{rows} not in the batch:\n")
    counts = [{"reason": reason, "rows": rows} for reason, rows in imported.reasons.items()]
    print_rows(counts, as_json=False, empty="")
    first = [refused._replace(row=_shortened(refused.row)) for refused in imported.refusals[:MAX_SHOWN]]
    print(f"\n{'The first of them' if imported.refused > len(first) else 'They are'}:\n")
    print_rows(first, as_json=False, empty="")
    if imported.report is not None:
        print(f"\nAll of them are in {shown(imported.report)}.\n")
    else:
        print("\n--report FILE would have written all of them down.\n")


def _print_json(imported: Imported) -> None:
    record = {field: getattr(imported, field) for field in imported.__dataclass_fields__}
    print_fields({**record, "refusals": [refused._asdict() for refused in imported.refusals]}, as_json=True)


def _shortened(row: str) -> str:
    return row if len(row) <= MAX_SHOWN_CHARS else row[:MAX_SHOWN_CHARS] + "…"


def _said(so_far: Progress) -> str:
    refused = f", {so_far.refused:,} refused" if so_far.refused else ""
    return f"{so_far.rows:,} rows read{refused}, {so_far.rate:,.0f} rows/s"
