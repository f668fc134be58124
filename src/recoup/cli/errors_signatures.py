"""``recoup errors explain`` and ``recoup errors groups``: which errors are the same failure, and why."""

import sys
from collections.abc import Iterable, Mapping
from typing import Annotated

from cyclopts import Parameter

from recoup.cli.context import acting
from recoup.cli.errors_filter import ANY, FilterOptions
from recoup.cli.output import Demo, Json, Limit, print_fields, print_wrapped, say, shown
from recoup.errors import active_policy, grouping
from recoup.errors.grouping import Group
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words
from recoup.refusals import InputRefused
from recoup.signatures import VERSION, OwnRule, judge, signature

MAX_TEXT_BYTES = 1_000_000
MAX_CHARS = 300  # of what counts, in a list of groups
MAX_MASKED = 8  # values of a kind
MAX_MASKED_CHARS = 60


def explain(
    text: Annotated[str, Parameter(allow_leading_hyphen=True)],  # else - alone passes for an option
    *,
    code: str | None = None,
    version: int | None = None,
    policy: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Explain the signature and the category of a text: what counts in it, what does not and why, which rule decides.

    Errors with the same signature are the same failure. Nothing is recorded, and no database is needed, unless the
    policy's own rules are asked.

    For example: recoup errors explain "GET https://a.example/7 timed out after 30 s" --code EIN_TIMEOUT

    Parameters
    ----------
    text
        What was said. - reads it from standard input, such as a trace.
    code
        The error code that comes with it.
    version
        By the rules of this version of signatures; the newest unless it is given.
    policy
        Ask the rules of the policy in force first, errors.category_rules.
    """
    message = in_words(_piped() if text == "-" else text)
    if not message.strip():
        raise InputRefused("text_empty", "The text is empty.", "Give what was said when it failed.")
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
            ("counts", made.remained),
            *_masked_lines(made.masked),
            ("category", judged.category),
            ("decided by", f"{judged.rule}{because}"),
        ]
    )


def groups(
    *,
    which: FilterOptions = ANY,
    archived: Annotated[
        bool, Parameter(negative="", show_default=False, help="Also those that are over, and the archives.")
    ] = False,
    limit: Limit = 20,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Show the largest groups of errors: the same failure, whatever the values in it; how many, where and since when.

    For example: recoup errors groups --status PARKED --newer-than 2d
    """
    asked = which.filter()
    with acting(Authority.READER, demo=demo) as tx:
        found = grouping.largest(tx, asked, limit=limit, archived=archived)
    if json:
        print_fields(found, as_json=True)
        return
    if not found.groups:
        print("No error fits: there is nothing to group.")
        return
    for group in found.groups:
        _print_group(group)
    in_all = f"{_many(found.all_errors, 'error')} in {_many(found.all_groups, 'group')}"
    cut = f" Shown: the largest {limit:,}; --limit shows more." if found.all_groups > limit else ""
    print(f"{in_all}.{cut}")
    print("The errors of a group: recoup errors list --signature SIGNATURE. One in full: recoup errors show ID.")


def _print_group(group: Group) -> None:
    whose = f"of {_many(group.entities, 'entity', 'entities')}" if group.entities else "about no entity"
    print(f"{_many(group.errors, 'error')} {whose}: {shown(group.error_signature)}")
    counts = "– (by rules that this program does not know)" if group.remained is None else _short(group.remained)
    print_wrapped(
        [
            ("counts", counts),
            *_masked_lines((one.kind, one.text) for one in group.masked),
            *([] if group.error_code is None else [("code", group.error_code)]),
            ("tables", _counts(group.tables)),
            ("statuses", _counts(group.statuses)),
            ("categories", _counts(group.categories)),
            ("first failed", group.first_failed_at),
            ("last recorded", group.last_recorded_at),
            ("newest", f"{group.error_id}: {_short(group.error_message)}"),
        ],
        indent=2,
    )
    print()


def _masked_lines(masked: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """A line for each kind of value, with the first of them."""
    kinds: dict[str, dict[str, None]] = {}
    for kind, text in masked:
        kinds.setdefault(kind, {})[_short(text, MAX_MASKED_CHARS)] = None
    lines: list[tuple[str, str]] = []
    for kind, texts in kinds.items():
        more = f" and {len(texts) - MAX_MASKED:,} more" if len(texts) > MAX_MASKED else ""
        lines.append(("" if lines else "masked", f"{kind}: {', '.join(list(texts)[:MAX_MASKED])}{more}"))
    return lines


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counted.items())


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def _short(text: str, most: int = MAX_CHARS) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _piped() -> str:
    """What comes from standard input, as far as anybody would record it."""
    given = b"" if sys.stdin is None else sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    if len(given) > MAX_TEXT_BYTES:
        say(f"Only the first {MAX_TEXT_BYTES:,} bytes are explained.")
    return given[:MAX_TEXT_BYTES].decode("utf-8", "replace").rstrip("\r\n")


def _rules(*, demo: bool) -> tuple[OwnRule, ...]:
    with acting(Authority.READER, demo=demo) as tx:
        return active_policy.reloaded(tx).rules
