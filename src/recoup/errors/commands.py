"""Commands of any kind, run and watched: one that fails is recorded as an error, with the end of what it said."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO
from uuid import UUID

import psycopg

from recoup.database.connection import Database
from recoup.errors import active_policy
from recoup.errors.recording import NewError, Recorded
from recoup.errors.resilient import record_resilient, retried
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words, redacted_arguments
from recoup.refusals import Refusal, ServerRefused

MAX_SAID = 8_000  # characters of the end of what a command said
MAX_READ = 2 * MAX_SAID  # bytes that are read for secrets: of one that is cut, the name may be gone
NOT_FOUND, NOT_EXECUTABLE = 127, 126  # as shells have it
FORWARDED = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnded:
    """How a command ended."""

    command: tuple[str, ...]
    code: int  # its exit code; 128 and its number when a signal ended it
    signal: str | None
    said: str  # the end of its standard error
    seconds: float


def run(command: Sequence[str]) -> CommandEnded:
    """Run a command to its end. Its input and output are ours; its standard error passes through, and is kept."""
    begun = time.monotonic()
    with _signals() as passed_on:
        try:
            process = subprocess.Popen(command, stderr=subprocess.PIPE)
        except OSError as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
            said = f"{command[0]}: {error.strerror or error}"
            print(said, file=sys.stderr)
            return CommandEnded(command=tuple(command), code=code, signal=None, said=said, seconds=0.0)
        passed_on.to(process)
        assert process.stderr is not None
        said_last: deque[bytes] = deque()
        reader = threading.Thread(target=_pass_on, args=(process.stderr, said_last), daemon=True)
        reader.start()
        returned = process.wait()
    reader.join(timeout=1.0)  # what it left running may hold its standard error open
    return CommandEnded(
        command=tuple(command),
        code=returned if returned >= 0 else 128 - returned,
        signal=None if returned >= 0 else _signal_name(-returned),
        said=b"".join(list(said_last))[-MAX_READ:].decode("utf-8", "replace").strip(),
        seconds=time.monotonic() - begun,
    )


def failed(
    opened: AbstractContextManager[Database],
    ended: CommandEnded,
    *,
    table: str | None,  # None: the fallback table of the policy
    outreach_id: UUID | None,
    work_key: str | None = None,
    code: str | None,
    severity: Severity | None,
) -> Recorded:
    """Record a command that failed; in the table of everybody if the one that is named does not take it."""
    try:
        with opened as database:
            keys = retried(lambda: _redact_keys(database))
            said = in_words(ended.said)[-MAX_SAID:]
            new = NewError(
                table=table or active_policy.named_table(database, "fallback_table"),
                message=said or f"{_program(ended)} ended with {_how(ended)} and said nothing.",
                outreach_id=outreach_id,
                work_key=work_key,
                code=code or _code(ended),
                severity=severity,
                payload={
                    "command": redacted_arguments(ended.command, keys),
                    "exit_code": ended.code,
                    "signal": ended.signal,
                    "seconds": round(ended.seconds, 3),
                },
            )
            return record_resilient(database, new, fallback="fallback_table")
    except Refusal:
        raise  # no connection is an error of psycopg's too, and has better words of its own
    except psycopg.Error as error:
        raise ServerRefused("not_recorded", " ".join(str(error).split()), "Run recoup doctor.") from error


def _redact_keys(database: Database) -> Sequence[str]:
    with database.transaction(Authority.HUB) as tx:
        return active_policy.cached(tx).errors.redact_keys


def _pass_on(stream: IO[bytes], kept: deque[bytes]) -> None:
    """Everything to our own standard error, and its end to be kept."""
    size = 0
    while chunk := os.read(stream.fileno(), 65_536):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # AttributeError: ours is closed
            sys.stderr.buffer.write(chunk)
            sys.stderr.buffer.flush()
        kept.append(chunk)
        size += len(chunk)
        while size - len(kept[0]) >= MAX_READ:
            size -= len(kept.popleft())


class _PassedOn:
    """Requests to end, passed on to the command; those that came before it was there, as soon as it is."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def to(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def __call__(self, number: int, _: object) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)


@contextlib.contextmanager
def _signals() -> Iterator[_PassedOn]:
    """While a command runs, signals are its: Ctrl-C reaches it by itself, a request to end is passed on. We wait."""
    passed_on = _PassedOn()
    before = {number: signal.signal(number, passed_on) for number in FORWARDED}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield passed_on
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _code(ended: CommandEnded) -> str:
    if ended.signal is not None:
        return f"SIGNAL_{ended.signal.removeprefix('SIG')}"
    return {NOT_FOUND: "NOT_FOUND", NOT_EXECUTABLE: "NOT_EXECUTABLE"}.get(ended.code, f"EXIT_{ended.code}")


def _program(ended: CommandEnded) -> str:
    return os.path.basename(ended.command[0])


def _how(ended: CommandEnded) -> str:
    return f"signal {ended.signal}" if ended.signal else f"exit code {ended.code}"
