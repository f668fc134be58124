"""``recoup``: the whole command line.

Commands are named here and imported when they are called: ``recoup --help`` must be quick, because people ask for it
in a hurry.
"""

import contextlib
import errno
import os
import signal
import sys
import tomllib
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import NoReturn

from cyclopts import App

from recoup import __version__
from recoup.refusals import InputRefused, Refusal

GLOBAL = {"dsn": "postgresql://user@host/database", "home": "FOLDER", "project": "FILE"}

app = App(
    name="recoup",
    version=__version__,
    help="The recovery plane for failed work, on PostgreSQL.\n\n"
    "Records each failure once and for good, decides by policy what happens next, does it at most once, "
    "and can prove afterwards what happened and why.\n\n"
    "First steps: recoup init, recoup db start, recoup migrate, recoup demo. Check the setup: recoup doctor.\n\n"
    "Every command takes --dsn DSN or --home FOLDER (which server), and --project FILE (which recoup.toml; none for no "
    "project file). They come before the environment (RECOUP_DSN …), and that before recoup.toml.",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main answers it
)
app.command("recoup.cli.init:init", name="init", help="Write a recoup.toml, and a policy with tables of your own.")
app.command("recoup.cli.db:app", name="db", help="Start and stop the server; back up and restore.")
app.command("recoup.cli.migrate:migrate", name="migrate", help="Update the database to this program's schema.")
app.command("recoup.cli.doctor:doctor", name="doctor", help="Check the setup, and say what to fix.")
app.command("recoup.cli.clock:app", name="clock", help="Show, advance or release simulated time.")
app.command(
    "recoup.cli.policy:app",
    name="policy",
    help="Show and change the settings that drive decisions: limits, waits, retention.",
)
app.command("recoup.cli.up:up", name="up", help="Serve: server, schema, worker and API in one command.")
app.command("recoup.cli.worker:worker", name="worker", help="Run background tasks until stopped.")
app.command("recoup.cli.api:api", name="api", help="Serve the HTTP API until stopped.")
app.command("recoup.cli.worker:duties", name="duties", help="List background tasks: last run, lag, done, failed.")
app.command("recoup.cli.worker:workers", name="workers", help="List running, stopped and lost workers.")
app.command(
    "recoup.cli.pauses:pause",
    name="pause",
    help="Pause everything, a background task, a table, an operation or a batch.",
)
app.command("recoup.cli.pauses:resume", name="resume", help="Resume what was paused.")
app.command("recoup.cli.pauses:list_pauses", name="pauses", help="List what is paused, by whom and why.")
app.command("recoup.cli.seal:app", name="seal", help="Seal the logs, export the head of the chain, verify.")
app.command("recoup.cli.audit:audit", name="audit", help="Check every invariant against the data.")
app.command("recoup.cli.bench:bench", name="bench", help="Measure Recoup compared with hand-written SQL.")
app.command("recoup.cli.demo:app", name="demo", help="Build the demo database, and show what is in it.")
app.command(
    "recoup.cli.find:find", name="find", help="Find companies, entities, errors, batches and operations by text or id."
)
app.command(
    "recoup.cli.why:why", name="why", help="Show why something has its status, now or at a past time, on one time line."
)
app.command("recoup.cli.help:help_", name="help", help="Show the help of a command.")
app.command("recoup.cli.completion:completion", name="completion")

# Those of the domains, as their manifests have them (`make docs` writes the file): to import the domains for a line of
# help would take as long as most commands.
for line in tomllib.loads(files("recoup.cli").joinpath("commands.toml").read_text("utf-8"))["command"]:
    app.command(line["path"], name=line["name"], help=line["help"])


def main() -> None:
    """Run one command. A refusal is printed in full and exits with status 1; only a bug of ours shows a traceback.

    SIGTERM ends every command as Ctrl-C does, also where that is ignored, as in the background of a script.
    """
    signal.signal(signal.SIGTERM, interrupt)
    sys.exit(answered(lambda: app(_without_options(sys.argv[1:]))))


def _without_options(given: Sequence[str]) -> list[str]:
    """The arguments without the options that every command takes, which are kept for the settings.

    What comes after -- is not ours, nor what comes after exec: that is another program's command line.
    """
    left: list[str] = []
    rest = iter(given)
    for token in rest:
        name, is_joined, value = token.removeprefix("--").partition("=")
        if token == "--" or left[:1] == ["exec"]:
            return [*left, token, *rest]
        if token.startswith("--") and name in GLOBAL:
            found = value if is_joined else next(rest, None)
            if found is None:
                raise InputRefused("option_empty", f"--{name} needs a value.", f"Write: --{name} {GLOBAL[name]}")
            from recoup.settings import OPTIONS  # late: help does without

            OPTIONS[name] = found
        else:
            left.append(token)
    return left


def interrupt(number: int, _frame: object) -> NoReturn:
    """What a signal does to a command that has no other answer to it."""
    raise KeyboardInterrupt(number)


def answered(run: Callable[[], object]) -> int:
    """Run it, print what it refuses, and return the exit status."""
    try:
        run()
    except Refusal as refusal:
        return _print_refusal(refusal)
    except KeyboardInterrupt as asked:
        print("interrupted", file=sys.stderr)
        return 128 + int(asked.args[0] if asked.args else signal.SIGINT)
    except BrokenPipeError:  # the reader of our output stopped reading
        from recoup.cli.output import unheard

        unheard()
        return 0
    except UnicodeEncodeError as error:
        return _print_refusal(_not_text(error))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF):
            raise
        return _print_refusal(_not_printed(error))
    except Exception as error:
        refusal_ = _from_server(error)
        if refusal_ is None:
            raise
        return _print_refusal(refusal_)
    return 0


def _not_text(error: UnicodeEncodeError) -> Refusal:
    return InputRefused(
        "text_not_utf8",
        f"An argument is not UTF-8: {error.object[:80]!r}.",
        "Write it in UTF-8. Nothing was changed.",
    )


def _not_printed(error: OSError) -> Refusal:
    from recoup.refusals import ServerRefused

    with contextlib.suppress(OSError, ValueError):  # what is left to print would fail again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ServerRefused(
        "output_lost",
        f"The result could not be printed: {error.strerror}.",
        "Check whether it was done before you repeat it.",
    )


def _from_server(error: Exception) -> Refusal | None:
    """An error of the server without a refusal of its own: a time limit, a lost connection, a full disk."""
    if not type(error).__module__.startswith("psycopg"):
        return None
    from recoup.refusals import ServerRefused

    sqlstate = getattr(error, "sqlstate", None)
    return ServerRefused(
        "server_said_no",
        f"The server did not do it: {' '.join(str(error).split())}",
        "Nothing was changed. Try again; if it fails again, run: recoup doctor",
        sqlstate=sqlstate,
    )


def _print_refusal(refusal: Refusal) -> int:
    if "--json" in sys.argv:
        import json

        print(json.dumps(refusal.as_json(), default=str), file=sys.stderr)
    else:
        from recoup.cli.output import hint, shown  # texts from outside may hold control characters

        next_step = shown(hint(refusal.next_step))
        print(f"refused: {refusal.code}\n  {shown(refusal.happened)}\n  Next: {next_step}", file=sys.stderr)
    return 1
