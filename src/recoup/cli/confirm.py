"""Confirmation before a command changes many rows."""

import sys

from recoup.cli.output import say
from recoup.refusals import InputRefused


def confirm(count: int, noun: str, *, above: int, yes: int | None) -> None:
    """Return if the command may continue; or refuse.

    Above a number a person is asked. A program says with ``--yes N`` how many it expects: more than that is refused,
    because the set is not the one that somebody checked.
    """
    if yes is not None:
        if count > yes:
            raise InputRefused(
                "more_than_expected",
                f"There are {count:,} {noun}, more than --yes {yes}.",
                f"Check them first; then, for all of them: --yes {count}",
                count=count,
                yes=yes,
            )
        return
    if count <= above:
        return
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        raise InputRefused(
            "not_confirmed",
            f"These are {count:,} {noun}, and above {above:,} this has to be confirmed. Nothing was changed.",
            f"Add: --yes {count}",
            count=count,
            above=above,
        )
    say(f"These are {count:,} {noun}. Type their number to continue: ", end="")
    if sys.stdin.readline().strip().replace(",", "") != str(count):
        raise InputRefused("not_confirmed", "That is another number. Nothing was changed.", "Run it again.")
