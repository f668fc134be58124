"""``recoup errors redact``: erases a secret that was recorded."""

import sys
from typing import Annotated

from cyclopts import Parameter

from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, print_rows, say
from recoup.errors import erasing, lookup
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

MAX_SECRET = 100_000  # characters that are read of it


def redact(
    *errors: Annotated[str, Parameter(help="Ids, such as 123, or table and id, such as outreach.dol_errors/123.")],
    reason: Annotated[str, Parameter(help="Why. It goes into the log, with your name.")],
    secret_from_stdin: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Read what is to be erased from standard input, as one line."),
    ] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Erase secrets from the message, the payload and the last failure of errors, live or archived, for good.

    What Recoup knows for a secret is erased; what it does not know, if it is given: not as an argument, which others
    could read, but on standard input. Who, when and why is in the control log. Change the secret all the same.

    For example: recoup errors redact 123 --secret-from-stdin --reason "the vendor's key was in the message" < key.txt
    """
    if not errors:
        raise InputRefused("nothing_asked", "No error was named.", "Give one or more ids.")
    secret = _given() if secret_from_stdin else None
    with acting(Authority.OPERATOR, reason=reason, demo=demo) as tx:
        erased = erasing.erase(tx, lookup.keys(tx, errors), secret)
    print_rows(erased, as_json=json, empty="")
    if secret is not None and not any(one.erased for one in erased):
        say("Nothing was erased: what was given stands in none of these texts.")
    if held := sum(one.in_log for one in erased):
        say(f"{held} events of the log hold it still: they are sealed, and stay. Change the secret.")


def _given() -> str:
    """The line on standard input. A second one would be left standing in the row, and nobody would know."""
    text = "" if sys.stdin is None else sys.stdin.readline() if sys.stdin.isatty() else sys.stdin.read(MAX_SECRET)
    secret = text.removesuffix("\n").removesuffix("\r")
    if "\n" in secret:
        raise InputRefused(
            "secret_lines",
            "What is to be erased has more than one line.",
            "Give one line at a time; each is erased wherever it stands.",
        )
    return secret
