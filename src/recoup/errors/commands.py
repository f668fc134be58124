"""Commands of any kind: one that fails is recorded as an error, with the end of its standard error."""

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
from dataclasses import dataclass, replace
from typing import IO, NamedTuple
from uuid import UUID

import psycopg

from recoup.database.connection import Database
from recoup.errors import active_policy, reruns
from recoup.errors.active_policy import ActivePolicy
from recoup.errors.decision import decide
from recoup.errors.recording import NewError
from recoup.errors.resilient import record_resilient, retried
from recoup.errors.vocabulary import Disposition, Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.redaction import in_words, redacted_arguments
from recoup.refusals import InputRefused, Refusal, ServerRefused
from recoup.signatures import read

MAX_OUTPUT = 8_000  # characters of the end of standard error
MAX_READ = 2 * MAX_OUTPUT  # bytes that are searched for secrets: of one that is cut off, the name may be missing
NOT_FOUND, NOT_EXECUTABLE = 127, 126  # as shells have it
FORWARDED = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnded:
    """How a command ended."""

    command: tuple[str, ...]
    code: int  # its exit status; 128 and the number of the signal that ended it
    signal: str | None
    stderr: str  # the end of it
    seconds: float


class FailureRecorded(NamedTuple):
    """Where a failed command is recorded, and whether a worker may run it again."""

    error_table: str
    error_id: int
    is_retried: bool
    why_not: str  # empty: the policy decided


def run(command: Sequence[str]) -> CommandEnded:
    """Run a command and wait. It has our input and output; its standard error is passed through, and its end kept."""
    begun = time.monotonic()
    with _signals() as passed_on:
        try:
            process = subprocess.Popen(command, stderr=subprocess.PIPE)
        except OSError as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
            text = f"{command[0]}: {error.strerror or error}"
            print(text, file=sys.stderr)
            return CommandEnded(command=tuple(command), code=code, signal=None, stderr=text, seconds=0.0)
        passed_on.to(process)
        assert process.stderr is not None
        last_chunks: deque[bytes] = deque()
        reader = threading.Thread(target=_pass_on, args=(process.stderr, last_chunks), daemon=True)
        reader.start()
        returned = process.wait()
    reader.join(timeout=1.0)  # a process that it left running may hold its standard error open
    return CommandEnded(
        command=tuple(command),
        code=returned if returned >= 0 else 128 - returned,
        signal=None if returned >= 0 else _signal_name(-returned),
        stderr=b"".join(list(last_chunks))[-MAX_READ:].decode("utf-8", "replace").strip(),
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
    retry: bool = False,
    variables: Sequence[str] = (),
) -> FailureRecorded:
    """Record a command that failed; in the fallback table if the named one does not take it.

    With ``retry`` a worker may run it again, with these environment variables. Without, or where a secret prevents it,
    nobody does: then an error that the policy would retry is parked, so that a person sees it.
    """
    try:
        with opened as database:
            known = retried(lambda: _policy(database))
            keys = known.errors.redact_keys
            kept = reruns.consent(ended.command, variables, keys) if retry else "--retry was not given"
            why_not = kept if isinstance(kept, str) else ""
            payload = {
                "command": redacted_arguments(ended.command, keys),
                "exit_code": ended.code,
                "signal": ended.signal,
                "seconds": round(ended.seconds, 3),
            }
            new = NewError(
                table=table or known.errors.fallback_table,
                message=in_words(ended.stderr)[-MAX_OUTPUT:] or f"{_program(ended)} failed: {_how(ended)}, no message.",
                outreach_id=outreach_id,
                work_key=work_key,
                code=code or _code(ended),
                severity=severity,
                payload=payload if why_not else {**payload, reruns.KEY: kept},
            )
            is_retry = _is_retry(known, new)
            if is_retry and why_not:
                new = replace(new, want=Want.PARK)
            recorded = record_resilient(database, new, fallback="fallback_table")
            return FailureRecorded(*recorded, is_retry and not why_not, why_not)
    except Refusal:
        raise  # a lost connection is an error of psycopg's, too, and its refusal says more
    except psycopg.Error as error:
        raise ServerRefused("not_recorded", " ".join(str(error).split()), "Run recoup doctor.") from error


def _policy(database: Database) -> ActivePolicy:
    with database.transaction(Authority.HUB) as tx:
        return active_policy.cached(tx)


def _is_retry(known: ActivePolicy, new: NewError) -> bool:
    """Whether the policy has such an error retried."""
    category = read(new.message, new.code, known.rules).category
    try:
        decision = decide(known.errors, new.table, severity=new.severity, category=category, code=new.code)
    except InputRefused:  # no such table: it goes to the fallback
        return False
    return decision.disposition is Disposition.RETRY


def _pass_on(stream: IO[bytes], kept: deque[bytes]) -> None:
    """Pass everything on to our own standard error, and keep its end."""
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
    """Signals, passed on to the command; those that came before it started, as soon as it runs."""

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
    """While a command runs, signals are its own: Ctrl-C reaches it directly, SIGTERM and SIGHUP are passed on."""
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
    return f"signal {ended.signal}" if ended.signal else f"exit status {ended.code}"
