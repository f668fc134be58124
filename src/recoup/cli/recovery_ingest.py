"""``recoup recovery ingest``: one failure by options, or many from a file."""

import json as json_
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from cyclopts import Parameter

from recoup.categories import Category
from recoup.cli.context import opened, person
from recoup.cli.errors_filter import word
from recoup.cli.output import Demo, Json, command, ends_with, print_rows
from recoup.database.connection import Database
from recoup.errors.inputs import entity
from recoup.files import Format, Wanted
from recoup.files import opened as opened_file
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.recovery.matches import MAX_AT_ONCE, NewFailure, checked
from recoup.recovery.matches import ingest as ingest_failures
from recoup.refusals import InputRefused

FIELDS = ("source", "key", "message", "code", "category", "signature", "ref", "context", "follows", "incident")
WANTED = Wanted(row_chars_most=4_000_000, streamed=True)
MAX_SHOWN = 100  # lines of a file, unless they are printed as JSON


class Line(NamedTuple):
    """A line of a file, and what became of it: created, known, differs, or why it is refused."""

    line: int
    answer: str
    failure_match_id: UUID | None = None
    happened: str | None = None


def ingest(
    *,
    source: str | None = None,
    key: str | None = None,
    message: str | None = None,
    code: str | None = None,
    category: Annotated[Category | None, word("category")] = None,
    signature: str | None = None,
    ref: str | None = None,
    context: str | None = None,
    incident: UUID | None = None,
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Report a failure, or a file of failures: each becomes one match, however often it is reported.

    For example: recoup recovery ingest --source crm-sync --key order-17 --message "the CRM timed out"

    A file is JSONL, one object a line, with source, key and message, and if you like code, category, signature, ref,
    context, follows and incident. Prints created, known or differs for each: known was reported before with the same
    content; differs has another content under a known key, and is not stored. Exits with status 1 if any differs or is
    refused.

    Parameters
    ----------
    source
        Where it failed: a system, a job. For a file: of lines that name none.
    key
        What makes it one failure within its source: an order, a run, a message id.
    message
        What happened.
    code
        Its error code.
    category
        How it might be retried. Default: from its message and code.
    signature
        What groups it with others of its kind. Default: from its message and code.
    ref
        What failed. Default: its key.
    context
        A JSON object with details. Secrets are redacted.
    incident
        The incident that it joins. Default: the open one of its source and signature.
    file
        A JSONL file, also .gz. - reads standard input.
    """
    single = (key, message, code, category, signature, ref, context, incident)
    if file is not None and any(given is not None for given in single):
        raise InputRefused("ingest_both", "Both a file and a single failure were given.", "Give one or the other.")
    with opened(demo=demo) as database:
        if file is not None:
            lines: Sequence[Line] = list(_of_file(database, file, source))
        elif source is None or key is None or message is None:
            raise InputRefused(
                "ingest_what",
                "A failure needs a source, a key and a message.",
                "Give --source, --key and --message, or --file FAILURES.jsonl.",
            )
        else:
            new = NewFailure(
                source=source, key=key, message=message, code=code, category=category, signature=signature, ref=ref,
                context=None if context is None else _object(context), incident=incident,
            )  # fmt: skip
            lines = _ingested(database, [(1, new)])
    with ends_with(0 if all(line.answer in ("created", "known") for line in lines) else 1):
        _print(lines, one=file is None, demo=demo, json=json)


def _of_file(database: Database, file: Path, source: str | None) -> Iterator[Line]:
    """Batches, each in its own transaction: what was answered is committed."""
    batch: list[tuple[int, NewFailure]] = []
    with opened_file(file, WANTED, Format.JSONL) as rows:
        for row in rows.rows:
            try:
                if row.broken is not None:
                    raise _unreadable(row.broken[1])
                batch.append((row.number, _read(row.values, source)))
            except InputRefused as refusal:
                yield Line(row.number, f"refused: {refusal.code}", None, refusal.happened)
            if len(batch) == MAX_AT_ONCE:
                yield from _ingested(database, batch)
                batch = []
    if batch:
        yield from _ingested(database, batch)


def _ingested(database: Database, batch: Sequence[tuple[int, NewFailure]]) -> list[Line]:
    with database.transaction(Authority.MATCHER, actor=person(database)) as tx:
        done = ingest_failures(tx, [new for _, new in batch])
    return [Line(number, one.answer, one.failure_match_id) for (number, _), one in zip(batch, done, strict=True)]


def _read(values: Mapping[str, Any], source: str | None) -> NewFailure:
    unknown = [name for name in values if name not in FIELDS]
    if unknown:
        raise _unreadable(f"it has {unknown[0]!r}, which is no field of a failure")
    given = {name: value for name, value in values.items() if value is not None}
    given.setdefault("source", source)
    for name in ("source", "key", "message"):
        if not isinstance(given.get(name), str):
            raise _unreadable(f"it has no {name}, or one that is not text")
    if "context" in given and not isinstance(given["context"], dict):
        raise _unreadable("its context is no object")
    for name in ("follows", "incident"):
        given[name] = entity(given.get(name))
    for name in ("code", "signature", "ref"):
        given[name] = None if given.get(name) is None else str(given[name])
    return checked(NewFailure(**given))


def _unreadable(why: str) -> InputRefused:
    return InputRefused(
        "line_unreadable",
        f"The line cannot be read: {why.rstrip('.')}.",
        'Write each as {"source": …, "key": …, "message": …, "code": …, "context": {…}}.',
    )


def _object(text: str) -> Mapping[str, Any]:
    try:
        given = json_.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputRefused(
            "context_unreadable", f"{text[:50]!r} is not a JSON object.", """Write it as '{"order": 17}'."""
        )
    return given


def _print(lines: Sequence[Line], *, one: bool, demo: bool, json: bool) -> None:
    if json:
        print_rows(lines, as_json=True, empty="")
        return
    if one:
        (line,) = lines
        print(f"match {line.failure_match_id} is {line.answer}" if line.answer != "differs" else _differs(line))
        print(f"Next: {command(f'recovery show {line.failure_match_id}', demo=demo)}")
        return
    counts = ", ".join(f"{count:,} {answer}" for answer, count in Counter(line.answer for line in lines).items())
    print(f"{plural(len(lines), 'line')}: {counts or 'nothing to ingest'}")
    wrong = [line for line in lines if line.answer not in ("created", "known")]
    listed = sorted(wrong or lines, key=lambda line: line.line)[:MAX_SHOWN]
    if listed:
        print()
        print_rows(listed, as_json=False, columns=Line._fields, empty="")


def _differs(line: Line) -> str:
    return f"match {line.failure_match_id} has another content under this source and key: nothing was stored"
