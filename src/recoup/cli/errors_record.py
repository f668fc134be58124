"""``recoup errors record``"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from cyclopts import Parameter, validators
from psycopg import Error

from recoup.cli.context import opened, person
from recoup.cli.errors_filter import word
from recoup.cli.output import Demo, FileFormat, Json, ends_with, hint, print_fields, print_rows, say, shown
from recoup.cli.progress import progress
from recoup.database.connection import Database
from recoup.errors import listing
from recoup.errors.importing import Imported, import_file
from recoup.errors.listing import Shown
from recoup.errors.recording import NewError, Recorded
from recoup.errors.recording import record as record_errors
from recoup.errors.resilient import retried
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.files import Format
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, ServerRefused

MAX_SHOWN = 10


def record(
    *,
    table: str | None = None,
    message: str | None = None,
    entity: UUID | None = None,
    work_key: str | None = None,
    code: str | None = None,
    severity: Annotated[Severity | None, word("severity")] = None,
    category: Annotated[Category | None, word("category")] = None,
    want: Annotated[Want | None, word("want")] = None,
    payload: str | None = None,
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    format_: FileFormat = None,
    report: Path | None = None,
    skip: Annotated[int, Parameter(validator=validators.Number(gte=0))] = 0,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Record a failure, or a file of failures; the policy decides what happens to each.

    For example: recoup errors record --table outreach.dol_errors --entity 5e6f… --message "the registry timed out"

    A file is JSONL, CSV or Parquet, with the columns table, entity (or outreach_id), work_key, code, message, severity,
    category, want and payload (in CSV the text of a JSON object). Only table and message are required; every other
    column goes into the payload. Lines are recorded in batches of 1,000, each committed. Invalid lines are refused one
    by one. In Parquet a line is a row.

    After an interruption, use --skip to leave out the lines that were recorded. Without it they are recorded again: an
    error with an entity then supersedes the first one and keeps its age and retries; one without is recorded twice.

    Parameters
    ----------
    table
        The error table; for a file, the table of lines that name none.
    message
        The error message.
    entity
        The entity that failed (outreach_id). Required, except for tables of the schema public.
    work_key
        Which piece of the entity's work failed: the id of a person, of a document. Each is retried by itself.
    code
        Its error code.
    severity
        How severe it is, if known.
    category
        How it is retried. Default: from its message and code.
    want
        What happens to it, instead of what the policy would decide; within what the table allows.
    payload
        A JSON object to store with it. Secrets are redacted.
    file
        A file of errors. Its name gives the format, also with .gz. - reads standard input.
    format_
        The format, if the name does not give it. Default: jsonl. csv also reads tabs and semicolons.
    report
        A .csv or .jsonl file for the refused lines of the file, each with its reason.
    skip
        Skip the first N lines of the file.
    """
    one = (message, entity, work_key, code, severity, category, want, payload)
    if file is not None and any(given is not None for given in one):
        raise InputRefused("record_both", "Both a file and a single error were given.", "Give one or the other.")
    if file is not None:
        _record_file(file, format_, table=table, skip=skip, report=report, demo=demo, as_json=json)
        return
    if table is None or message is None:
        raise InputRefused(
            "record_what", "An error needs a table and a message.", "Give --table and --message, or --file ROWS.jsonl."
        )
    new = NewError(
        table=table,
        message=message,
        outreach_id=entity,
        work_key=work_key,
        code=code,
        severity=severity,
        category=category,
        want=want,
        payload=None if payload is None else _object(payload),
    )
    with opened(demo=demo) as database:
        recorded, found = retried(lambda: _recorded(database, new))
    if json:
        print_fields(found, as_json=True)
        return
    print(f"Error {recorded.error_id} of {recorded.error_table} is {found.row['status']}")
    for sentence in (*found.explanation, f"Next: {hint(found.next_step)}"):
        print(f"  {shown(sentence)}")


def _recorded(database: Database, new: NewError) -> tuple[Recorded, Shown]:
    with database.transaction(Authority.HUB, actor=person(database)) as tx:
        (recorded,) = record_errors(tx, [new])
        return recorded, listing.show(tx, f"{recorded.error_table}/{recorded.error_id}")


def _object(text: str) -> Mapping[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputRefused(
            "payload_unreadable", f"{text[:50]!r} is not a JSON object.", """Write it as '{"ein": "12-3456789"}'."""
        )
    return given


def _record_file(
    file: Path,
    format_: FileFormat,
    *,
    table: str | None,
    skip: int,
    report: Path | None,
    demo: bool,
    as_json: bool,
) -> None:
    so_far = Imported()
    with (
        opened(demo=demo) as database,
        progress(quiet=as_json) as tell,
        _how_far(so_far),
    ):
        import_file(
            database,
            file,
            format_=None if format_ is None else Format(format_),
            table=table,
            skip=skip,
            report=report,
            actor=person(database),
            progress=lambda so_far: tell(_progress_text(so_far), so_far.share),
            so_far=so_far,
        )
    with ends_with(1 if so_far.refused.count else 0):
        if as_json:
            print_fields({**_fields(so_far), "refusals": _refusals(so_far)}, as_json=True)
        else:
            _print(so_far, report)


@contextmanager
def _how_far(so_far: Imported) -> Iterator[None]:
    """Say how many lines were recorded when Ctrl-C, the server or a damaged file interrupts the import."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"{_done(so_far)}. To continue, repeat the command with --skip {so_far.done}")
        raise
    except InputRefused as refusal:
        if refusal.code in ("file_missing", "file_is_folder"):
            refusal.code = "file_unreadable"
        if so_far.done:
            refusal.happened += f" {_done(so_far)}."
            refusal.next_step = f"Fix the file, then repeat the command with --skip {so_far.done}"
        raise
    except Error as error:
        raise ServerRefused(
            "import_broken_off",
            f"{_done(so_far)}; then the server reported: {' '.join(str(error).split())[:500]}",
            f"To continue, repeat the command with --skip {so_far.done}",
            done=so_far.done,
        ) from error


def _fields(so_far: Imported) -> dict[str, Any]:
    refused = so_far.refused
    return {
        "lines": so_far.lines, "recorded": so_far.recorded, "refused": refused.count, "reasons": dict(refused.reasons)
    }  # fmt: skip


def _refusals(so_far: Imported) -> list[dict[str, Any]]:
    kept = sorted(so_far.refused.kept, key=lambda row: row.number)
    return [{"line": row.number, "refused": row.reason, "happened": row.message} for row in kept]


def _print(so_far: Imported, report: Path | None) -> None:
    lines, refused = f"{so_far.noun}s", so_far.refused
    recorded = f"{plural(so_far.recorded, 'error')} recorded"
    print(f"{plural(so_far.lines, so_far.noun)}: {recorded}, {plural(refused.count, so_far.noun)} refused")
    if not refused.count:
        return
    print()
    print_rows([{"refused": why, lines: n} for why, n in refused.reasons.most_common()], as_json=False, empty="")
    print(f"\nThe first {MAX_SHOWN}:\n" if refused.count > MAX_SHOWN else "\nRefused:\n")
    print_rows(_refusals(so_far)[:MAX_SHOWN], as_json=False, empty="")
    if report is not None:
        print(f"\nAll of them are in {shown(report)}.")


def _progress_text(so_far: Imported) -> str:
    refused = f", {so_far.refused.count:,} refused" if so_far.refused.count else ""
    return f"{_done(so_far)}{refused}"


def _done(so_far: Imported) -> str:
    return f"{plural(so_far.done, so_far.noun)} done"
