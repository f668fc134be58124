"""``recoup errors explain`` and ``recoup errors groups``: which errors are the same failure, and why."""

import sys
from collections.abc import Iterable, Mapping
from typing import Annotated

from cyclopts import Parameter

from recoup.cli.context import acting
from recoup.cli.errors_filter import ANY, Archived, FilterOptions
from recoup.cli.output import (
    Column,
    Demo,
    Json,
    Limit,
    command,
    print_fields,
    print_rows,
    print_wrapped,
    say,
    shortened,
    shown,
)  # fmt: skip
from recoup.errors import active_policy, grouping
from recoup.errors.grouping import Group, pattern
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words
from recoup.refusals import InputRefused
from recoup.signatures import VERSION, OwnRule, judge, signature

MAX_TEXT_BYTES = 1_000_000
MAX_CHARS = 300  # of a message, in a list of groups
MAX_MASKED = 8  # variable parts of a kind
MAX_MASKED_CHARS = 60
COLUMNS = (
    "errors",
    Column("entities", rank=6),
    Column("last_seen", least=12, rank=3),
    Column("first_seen", least=12, rank=7),
    Column("code", cut="middle", least=12, rank=4),
    Column("error_id", "newest", rank=5),
    Column("pattern", cut="end", least=20, rank=1),
    Column("signature", cut="middle", least=27, rank=8),
)


def explain(
    text: Annotated[str, Parameter(allow_leading_hyphen=True)],  # else - alone passes for an option
    *,
    code: str | None = None,
    version: int | None = None,
    policy: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Explain the signature and the category of a text: its pattern, its variable parts, and which rule decides.

    Errors with the same signature are the same failure. Nothing is recorded. Only --policy needs a database.

    For example: recoup errors explain "GET https://a.example/7 timed out after 30 s" --code EIN_TIMEOUT

    Parameters
    ----------
    text
        The error message. - reads it from standard input, such as a traceback.
    code
        Its error code.
    version
        Version of the signature rules. Default: the newest.
    policy
        Apply the rules of the active policy first (errors.category_rules).
    """
    message = in_words(_piped() if text == "-" else text)
    if not message.strip():
        raise InputRefused("text_empty", "The text is empty.", "Give the error message.")
    code = in_words(code) if code else None
    try:
        made = signature(message, code, version=VERSION if version is None else version)
    except ValueError as error:
        raise InputRefused(
            "signature_version",
            f"Signatures have no version {version}.",
            f"Leave --version out, or give one from 1 to {VERSION}.",
        ) from error
    judged = judge(message, code, _rules(demo=demo) if policy else ())
    if json:
        masked = [{"kind": kind, "text": text} for kind, text in made.masked]
        told = {"key": made.key, "version": made.version, "remained": made.remained, "masked": masked}
        print_fields({**told, **judged._asdict()}, as_json=True)
        return
    because = f" ({shown(judged.because)})" if judged.because else ""
    print_wrapped(
        [
            ("signature", f"{made.key} (version {made.version})"),
            *([] if code is None else [("code", code)]),
            ("pattern", pattern(message[:MAX_CHARS], made.remained)),
            *_masked_lines(made.masked),
            ("category", judged.category),
            ("decided by", f"{judged.rule}{because}"),
        ]
    )


def groups(
    *,
    which: FilterOptions = ANY,
    archived: Archived = False,
    limit: Limit = 20,
    verbose: Annotated[
        bool, Parameter(negative="", show_default=False, help="Show tables, statuses and variable parts of each group.")
    ] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List the largest groups of errors: the same failure, whatever the values in it.

    For example: recoup errors groups --status PARKED --newer-than 2d

    newest is the id of the newest error of a group, and its message makes the pattern.
    """
    asked = which.filter()
    with acting(Authority.READER, demo=demo) as tx:
        found = grouping.largest(tx, asked, limit=limit, archived=archived)
    if json:
        print_fields(found, as_json=True)
        return
    if not found.groups:
        print("No errors match.")
        return
    if verbose:
        for group in found.groups:
            _print_group(group)
    else:
        print_rows([_row(group) for group in found.groups], as_json=False, columns=COLUMNS, empty="")
        print()
    largest = f" The largest {limit:,} are shown; --limit shows more." if found.all_groups > limit else ""
    print(f"{plural(found.all_errors, 'error')} in {plural(found.all_groups, 'group')}.{largest}")
    first = found.groups[0]
    print(f"Next: {command(f'errors list --signature {shown(first.error_signature)}', demo=demo)}")


def _row(group: Group) -> dict[str, object]:
    return {
        "errors": group.errors,
        "entities": group.entities,
        "last_seen": group.last_recorded_at,
        "first_seen": group.first_failed_at,
        "code": group.error_code,
        "error_id": group.error_id,
        "pattern": shortened(group.pattern, MAX_CHARS),
        "signature": group.error_signature,
    }


def _print_group(group: Group) -> None:
    whose = f"of {plural(group.entities, 'entity', 'entities')}" if group.entities else "without an entity"
    print(f"{plural(group.errors, 'error')} {whose}: {shown(shortened(group.pattern, MAX_CHARS))}")
    print_wrapped(
        [
            ("signature", group.error_signature),
            *_masked_lines((one.kind, one.text) for one in group.masked),
            *([] if group.error_code is None else [("code", group.error_code)]),
            ("tables", _counts(group.tables)),
            ("statuses", _counts(group.statuses)),
            ("categories", _counts(group.categories)),
            ("first seen", group.first_failed_at),
            ("last seen", group.last_recorded_at),
            ("newest", f"{group.error_id}: {shortened(group.error_message, MAX_CHARS)}"),
        ],
        indent=2,
    )
    print()


def _masked_lines(masked: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """A line for each kind of variable part, with the first values."""
    kinds: dict[str, dict[str, None]] = {}
    for kind, text in masked:
        kinds.setdefault(kind, {})[shortened(text, MAX_MASKED_CHARS)] = None
    lines: list[tuple[str, str]] = []
    for kind, texts in kinds.items():
        more = f" and {len(texts) - MAX_MASKED:,} more" if len(texts) > MAX_MASKED else ""
        lines.append(("" if lines else "variable parts", f"{kind}: {', '.join(list(texts)[:MAX_MASKED])}{more}"))
    return lines


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counted.items())


def _piped() -> str:
    """Standard input, up to the length that is recorded."""
    given = b"" if sys.stdin is None else sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    if len(given) > MAX_TEXT_BYTES:
        say(f"Only the first {MAX_TEXT_BYTES:,} bytes are explained.")
    return given[:MAX_TEXT_BYTES].decode("utf-8", "replace").rstrip("\r\n")


def _rules(*, demo: bool) -> tuple[OwnRule, ...]:
    with acting(Authority.READER, demo=demo) as tx:
        return active_policy.reloaded(tx).rules
