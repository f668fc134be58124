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
from recoup.cli.errors_filter import AS_STORED
from recoup.cli.output import Demo, FileFormat, Json, ends_with, print_fields, print_rows, say, shown
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
    severity: Annotated[Severity | None, AS_STORED] = None,
    category: Annotated[Category | None, AS_STORED] = None,
    want: Annotated[Want | None, AS_STORED] = None,
    payload: str | None = None,
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    format_: FileFormat = None,
    report: Path | None = None,
    skip: Annotated[int, Parameter(validator=validators.Number(gte=0))] = 0,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Record a failure; the policy decides what becomes of it. Or a file of them.

    For example: recoup errors record --table outreach.dol_errors --entity 5e6f… --message "the registry timed out"

    A file is JSONL, CSV or Parquet, with the columns table, entity (or outreach_id), work_key, code, message, severity,
    category, want and payload (in CSV the text of a JSON object). Only table and message have to be there, and every
    other column goes into the payload. It is recorded in batches of 1,000 lines, each for good. Lines that make no
    sense are refused one by one. In Parquet a line is a row.

    Interrupted and run again, it records the first lines anew: an error about an entity supersedes the one from before
    and keeps its age and its retries; one about no entity is then there twice. --skip leaves out lines that are in.

    Parameters
    ----------
    table
        The error table; of a file, for lines that name none.
    message
        What was said.
    entity
        The entity that failed (outreach_id). Needed, but for tables of the schema public.
    work_key
        Which piece of the entity's work failed: the id of a person, of a document. Each fails, and is retried, by
        itself.
    code
        The hub's code for it.
    severity
        How bad it is, if you know.
    category
        How it is retried. Default: by its words and its code.
    want
        What is to become of it, whatever the policy would decide; within what the table allows.
    payload
        A JSON object to keep with it. Secrets are redacted.
    file
        A file of errors; its name tells the format, and .gz is fine. - reads standard input.
    format_
        What the file is, when its name does not tell. Default: jsonl. csv is also for tabs and semicolons.
    report
        Where to write the refused lines of a file, each with its reason: a .csv or .jsonl file.
    skip
        Skip the first N lines of the file.
    """
    one = (message, entity, work_key, code, severity, category, want, payload)
    if file is not None and any(given is not None for given in one):
        raise InputRefused("record_both", "A file, and an error beside it.", "Give one or the other.")
    if file is not None:
        _record_file(file, format_, table=table, skip=skip, report=report, demo=demo, as_json=json)
        return
    if table is None or message is None:
        raise InputRefused(
            "record_what", "An error has a table and a message.", "Give --table and --message, or --file ROWS.jsonl."
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
    print(f"{recorded.error_table}/{recorded.error_id} is {found.row['status']}")
    for sentence in found.explanation:
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
            "payload_unreadable", f"{text[:50]!r} is no JSON object.", """Write it as '{"ein": "12-3456789"}'."""
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
            progress=lambda so_far: tell(_said(so_far), so_far.share),
            so_far=so_far,
        )
    with ends_with(1 if so_far.refused.count else 0):
        if as_json:
            print_fields({**_fields(so_far), "refusals": _refusals(so_far)}, as_json=True)
        else:
            _print(so_far, report)


@contextmanager
def _how_far(so_far: Imported) -> Iterator[None]:
    """Whoever is interrupted, by Ctrl-C, by the server or by a damaged file, is told how far it came."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"{so_far.done:,} {so_far.noun}s are in. To go on: the same with --skip {so_far.done}")
        raise
    except InputRefused as refusal:
        if refusal.code in ("file_missing", "file_is_folder"):
            refusal.code = "file_unreadable"
        if so_far.done:
            refusal.happened += f" {so_far.done:,} {so_far.noun}s are in."
            refusal.next_step = f"Mend it; then go on: the same with --skip {so_far.done}"
        raise
    except Error as error:
        raise ServerRefused(
            "import_broken_off",
            f"{so_far.done:,} {so_far.noun}s are in; then the server said: {' '.join(str(error).split())[:500]}",
            f"To go on: the same with --skip {so_far.done}",
            done=so_far.done,
        ) from error


def _fields(so_far: Imported) -> dict[str, Any]:
    refused = so_far.refused
    return {
        "lines": so_far.lines, "recorded": so_far.recorded, "refused": refused.count, "reasons": dict(refused.reasons)
    }  # fmt: skip


def _refusals(so_far: Imported) -> list[dict[str, Any]]:
    return [{"line": row.number, "refused": row.reason, "happened": row.message} for row in so_far.refused.kept]


def _print(so_far: Imported, report: Path | None) -> None:
    lines, refused = f"{so_far.noun}s", so_far.refused
    print(f"{so_far.lines:,} {lines}: {so_far.recorded:,} errors recorded, {refused.count:,} {lines} refused")
    if not refused.count:
        return
    print()
    print_rows([{"refused": why, lines: n} for why, n in refused.reasons.most_common()], as_json=False, empty="")
    print("\nThe first of them:\n" if refused.count > MAX_SHOWN else "\nThey are:\n")
    print_rows(_refusals(so_far)[:MAX_SHOWN], as_json=False, empty="")
    if report is not None:
        print(f"\nAll of them are in {shown(report)}.")


def _said(so_far: Imported) -> str:
    refused = f", {so_far.refused.count:,} refused" if so_far.refused.count else ""
    return f"{so_far.lines:,} {so_far.noun}s are in{refused}"
