"""``recoup errors redact``: erases a secret that was recorded."""

import sys
from typing import Annotated

from cyclopts import Parameter

from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, print_rows, say
from recoup.errors import erasing, lookup
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

MAX_SECRET = 100_000  # characters that are read of it


def redact(
    *errors: Annotated[str, Parameter(help="Ids, such as 123, or table and id, such as outreach.dol_errors/123.")],
    reason: Annotated[str, Parameter(help="Why. It goes into the log, with your name.")],
    secret_from_stdin: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Read the secret from standard input, as one line."),
    ] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Erase secrets from the message, the payload and the last failure of errors, live or archived, for good.

    Secrets that Recoup recognises are erased; for others, give the secret on standard input, where other users cannot
    read it. Who, when and why is in the control log. Change the secret in any case.

    For example: recoup errors redact 123 --secret-from-stdin --reason "the vendor's key was in the message" < key.txt
    """
    if not errors:
        raise InputRefused("nothing_asked", "No error was named.", "Give one or more ids.")
    secret = _given() if secret_from_stdin else None
    with acting(Authority.OPERATOR, reason=reason, demo=demo) as tx:
        erased = erasing.erase(tx, lookup.keys(tx, errors), secret)
    print_rows(erased, as_json=json, empty="")
    if secret is not None and not any(one.erased for one in erased):
        say("Nothing was erased: none of these texts contains the secret.")
    if held := sum(one.in_log for one in erased):
        say(f"{plural(held, 'event')} of the log still contain it, and cannot be changed. Change the secret.")


def _given() -> str:
    """The line on standard input. A second line is refused: it would silently stay in the row."""
    text = "" if sys.stdin is None else sys.stdin.readline() if sys.stdin.isatty() else sys.stdin.read(MAX_SECRET)
    secret = text.removesuffix("\n").removesuffix("\r")
    if "\n" in secret:
        raise InputRefused(
            "secret_lines",
            "The secret has more than one line.",
            "Give one line at a time; each is erased in every text.",
        )
    return secret
