"""``recoup errors record``"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any
from uuid import UUID

from cyclopts import Parameter, validators

from recoup.cli.acting import acting, opened, person
from recoup.cli.errors_asking import AS_STORED
from recoup.cli.output import Demo, Json, print_fields, print_rows, say, shown
from recoup.cli.progress import progress
from recoup.errors.vocabulary import Category, Severity, Want
from recoup.lifecycles.declaration import Authority

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recoup.errors.importing import BroughtIn

SHOWN_MOST = 10


def record(
    *,
    table: str | None = None,
    message: str | None = None,
    entity: UUID | None = None,
    code: str | None = None,
    severity: Annotated[Severity | None, AS_STORED] = None,
    category: Annotated[Category | None, AS_STORED] = None,
    want: Annotated[Want | None, AS_STORED] = None,
    payload: str | None = None,
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    skip: Annotated[int, Parameter(validator=validators.Number(gte=0))] = 0,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Record a failure; the policy decides what becomes of it. Or a file of them.

    For example: recoup errors record --table outreach.dol_errors --entity 5e6f… --message "the registry timed out"

    A file has one JSON object a line: table, entity (or outreach_id), code, message, severity, category, want, payload;
    only table and message have to be there, and whatever else a line holds goes into its payload. It is recorded in
    batches of 1,000 lines, each for good. Lines that make no sense are refused one by one.

    Interrupted and run again, it records the first lines anew: an error about an entity supersedes the one from before
    and keeps its age and its retries; one about no entity is then there twice. --skip passes over lines that were told
    to be in.

    Parameters
    ----------
    table
        The error table; of a file, for lines that name none.
    message
        What was said.
    entity
        The entity that failed (outreach_id). Needed, but for tables of the schema public.
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
        A file of JSON lines. - reads standard input.
    skip
        Pass over so many lines of the file.
    """
    from recoup.refusals import InputRefused

    one = (message, entity, code, severity, category, want, payload)
    if file is not None and any(given is not None for given in one):
        raise InputRefused("record_both", "A file, and an error beside it.", "Give one or the other.")
    if file is not None:
        _record_file(file, table=table, skip=skip, demo=demo, as_json=json)
        return
    if table is None or message is None:
        raise InputRefused(
            "record_what", "An error has a table and a message.", "Give --table and --message, or --file ROWS.jsonl."
        )
    from recoup.errors import looking
    from recoup.errors.recording import NewError
    from recoup.errors.recording import record as record_errors

    new = NewError(
        table=table,
        message=message,
        outreach_id=entity,
        code=code,
        severity=severity,
        category=category,
        want=want,
        payload=None if payload is None else _object(payload),
    )
    with acting(Authority.HUB, demo=demo) as tx:
        (recorded,) = record_errors(tx, [new])
        found = looking.show(tx, f"{recorded.error_table}/{recorded.error_id}")
    if json:
        print_fields(found, as_json=True)
        return
    print(f"{recorded.error_table}/{recorded.error_id} is {found.row['status']}")
    for sentence in found.explanation:
        print(f"  {shown(sentence)}")


def _object(text: str) -> Mapping[str, Any]:
    import json

    from recoup.refusals import InputRefused

    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputRefused(
            "payload_unreadable", f"{text[:50]!r} is no JSON object.", """Write it as '{"ein": "12-3456789"}'."""
        )
    return given


def _record_file(file: Path, *, table: str | None, skip: int, demo: bool, as_json: bool) -> None:
    from recoup.errors.importing import BroughtIn, bring_in

    told = BroughtIn()
    with (
        _opened(file) as (lines, size),
        opened(demo=demo) as database,
        progress(quiet=as_json) as tell,
        _how_far(told),
    ):
        bring_in(
            database,
            lines,
            table=table,
            skip=skip,
            actor=person(database),
            tell=lambda told: tell(_said(told), None if size is None else min(lines.tell() / max(size, 1), 1.0)),
            told=told,
        )
    if as_json:
        print_fields({**_fields(told), "refusals": [line._asdict() for line in told.refusals]}, as_json=True)
    else:
        _print(told)
    if told.refused:
        sys.exit(1)


@contextmanager
def _how_far(told: BroughtIn) -> Iterator[None]:
    """Whoever is interrupted, by Ctrl-C or by the server, is told how far it came."""
    from psycopg import Error

    from recoup.refusals import ServerRefused

    try:
        yield
    except KeyboardInterrupt:
        say(f"{told.done:,} lines are in. To go on: the same with --skip {told.done}")
        raise
    except Error as error:
        raise ServerRefused(
            "import_broken_off",
            f"{told.done:,} lines are in; then the server said: {' '.join(str(error).split())[:500]}",
            f"To go on: the same with --skip {told.done}",
            done=told.done,
        ) from error


def _fields(told: BroughtIn) -> dict[str, Any]:
    return {"lines": told.lines, "recorded": told.recorded, "refused": told.refused, "reasons": dict(told.reasons)}


def _print(told: BroughtIn) -> None:
    print(f"{told.lines:,} lines: {told.recorded:,} errors recorded, {told.refused:,} lines refused")
    if not told.refused:
        return
    print()
    print_rows([{"refused": why, "lines": n} for why, n in told.reasons.most_common()], as_json=False, empty="")
    print("\nThe first of them:\n" if told.refused > SHOWN_MOST else "\nThey are:\n")
    print_rows(told.refusals[:SHOWN_MOST], as_json=False, empty="")


def _said(told: BroughtIn) -> str:
    refused = f", {told.refused:,} refused" if told.refused else ""
    return f"{told.lines:,} lines are in{refused}"


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], int | None]]:
    """The file and its size, as far as it has one."""
    from recoup.refusals import InputRefused

    if str(path) == "-":
        if sys.stdin is None:
            raise InputRefused("file_unreadable", "Standard input is closed.", "Give a file of JSON lines.")
        yield sys.stdin.buffer, None
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputRefused(
            "file_unreadable", f"{path} cannot be read: {error.strerror}.", "Give a file of JSON lines, or -."
        ) from error
    with file:
        size = os.fstat(file.fileno()).st_size
        yield file, size if file.seekable() else None
