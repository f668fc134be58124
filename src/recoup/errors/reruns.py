"""Commands that a worker may run again: ``recoup exec --retry``.

Two sides agree. The user who runs the command first gives consent with ``--retry``: command line, folder and the
variables that ``--env`` names are kept with the error. The user who runs the worker names :func:`rerun` as the handler
of the table:

    [handlers]
    "ops.job_errors" = "recoup.errors.reruns:rerun"

Without the second, no worker runs what a row of a database says.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from recoup.errors.retrying import Claimed, Failed
from recoup.redaction import in_words, redacted, redacted_arguments

HANDLER = "recoup.errors.reruns:rerun"
KEY = "rerun"  # of the payload
INHERITED = ("PATH", "HOME", "LANG", "TZ")  # of the worker's own environment
MAX_OUTPUT = 8_000  # characters of the end of standard error
USUAL_S = 300.0
MAX_S = 86_400.0


def consent(command: Sequence[str], variables: Sequence[str], own_keys: Sequence[str]) -> dict[str, Any] | str:
    """What is kept so that a command can be run again; or why it cannot be, in words.

    A command that holds a secret is not kept in clear, and without it would not be the same command.
    """
    missing = [name for name in variables if name not in os.environ]
    if missing:
        return f"the variable {missing[0]} is not set"
    try:
        folder, env = os.getcwd(), {name: os.environ[name] for name in variables}
        "".join([*command, folder, *env.values()]).encode()
    except OSError:
        return "its folder was removed"
    except UnicodeEncodeError:
        return "its command line is not UTF-8"
    kept = {"argv": list(command), "cwd": folder, "env": env}
    if redacted_arguments(command, own_keys) != list(command):
        return "its command line holds a secret, which is not stored: pass it in a file, or in the worker's environment"
    if redacted(kept, own_keys) != kept:
        return "a variable holds a secret, which is not stored: set it where the worker runs"
    return kept


def rerun(error: Claimed) -> Failed | None:
    """The handler: run the command of an error again, in its folder, with the variables that were kept.

    Of the worker's own environment it gets PATH, HOME, LANG and TZ. When the lease ends, it is killed.
    """
    kept = error.payload.get(KEY) if isinstance(error.payload, Mapping) else None
    if not isinstance(kept, Mapping):
        return _failed(error, "This error has no command that may be run again: it was not recorded by exec --retry.")
    around = {name: os.environ[name] for name in INHERITED if name in os.environ}
    try:
        process = subprocess.Popen(
            kept["argv"], cwd=kept["cwd"], env={**around, **kept["env"]}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as problem:
        return _failed(error, f"{problem.filename}: {problem.strerror}")
    with process:
        try:
            _, output = process.communicate(timeout=seconds_left(error))
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return _failed(error, "The command was killed: its lease ended.")
    if process.returncode == 0:
        return None
    text = in_words(output.decode("utf-8", "replace").strip())[-MAX_OUTPUT:]
    return _failed(error, text or f"The command failed with exit status {process.returncode}, without a message.")


def _failed(error: Claimed, message: str) -> Failed:
    return Failed(error_table=error.error_table, error_id=error.error_id, token=error.token, failure=message)


def seconds_left(error: Claimed) -> float:
    """Until the lease ends. Leases of a simulated clock end at any time: then the usual one counts."""
    left = (error.lease_until - datetime.now(UTC)).total_seconds()
    return left if 0 < left <= MAX_S else USUAL_S
