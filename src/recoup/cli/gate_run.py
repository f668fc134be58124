"""``recoup gate run``"""

import os
import socket
import sys
import time
from typing import Annotated

from cyclopts import Parameter

from recoup import observe
from recoup.cli.context import opened, person
from recoup.cli.demo import demo_services
from recoup.cli.output import Demo, Json, print_fields, say
from recoup.cli.progress import stop_by_signal
from recoup.formatting import plural
from recoup.gate import verifying
from recoup.gate.verifying import Tally
from recoup.lifecycles.declaration import Authority
from recoup.worker.standalone import Standalone


def run(
    *,
    first: Annotated[bool, Parameter(negative="", show_default=False, help="Only first attempts.")] = False,
    retries: Annotated[bool, Parameter(negative="", show_default=False, help="Only retries that are due.")] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Verify every company that is waiting or due now, then exit. A worker does the same continuously.

    SIGTERM or Ctrl-C lets it finish the attempts in progress; a second one ends it at once, and its attempts count as
    timed out when their lease expires.
    """
    observe.configure(level="warning")
    begun = time.monotonic()
    done: dict[str, Tally] = {}
    with opened(demo=demo) as database, demo_services(demo=demo):
        hands = Standalone(
            database, Authority.GATE, name=f"{socket.gethostname()}-{os.getpid()}", actor=person(database)
        )
        stop_by_signal(hands.stop, "\nfinishing the attempts in progress; Ctrl-C again ends at once", again=_interrupt)
        for name, again, wanted in (
            ("first attempts", False, first or not retries),
            ("retries", True, retries or not first),
        ):
            if wanted:
                done[name] = verifying.verify(hands, retries=again, tell=None if json else _Line(name))
    if json:
        print_fields({name.replace(" ", "_"): _counts(tally) for name, tally in done.items()}, as_json=True)
        return
    _say(done, time.monotonic() - begun, stopped=hands.stopping)


def _interrupt() -> None:
    raise KeyboardInterrupt


class _Line:
    """Progress on one line of a terminal; piped, a line every few seconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.begun = time.monotonic()
        self.told = self.begun

    def __call__(self, tally: Tally) -> None:
        on_terminal, now = _on_terminal(), time.monotonic()
        if now - self.told < (0.2 if on_terminal else 5.0):
            return
        self.told = now
        rate = tally.done / max(now - self.begun, 0.001)
        line = f"{self.name}: {tally.done:,} verified, {tally.passed:,} passed, {rate:,.0f}/s"
        say(f"\r\x1b[K{line}" if on_terminal else line, end="" if on_terminal else "\n")


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _counts(tally: Tally) -> dict[str, object]:
    return {
        "verified": tally.done,
        "passed": tally.passed,
        "failed": dict(tally.failed.most_common()),
        "late": tally.late,
        "refused": tally.refused,
        "seconds_in_database": round(tally.database_s, 3),
    }


def _say(done: dict[str, Tally], seconds: float, *, stopped: bool) -> None:
    if _on_terminal():
        say("\r\x1b[K", end="")
    for name, tally in done.items():
        if not tally.done:
            print(f"{name}: nothing to verify")
            continue
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in tally.failed.most_common())
        print(f"{name}: {tally.done:,} verified, {tally.passed:,} passed" + (f", failed: {reasons}" if reasons else ""))
        if tally.late:
            print(f"  {plural(tally.late, 'result')} stored, but not applied: the lease had expired")
        if tally.refused:
            refused = plural(tally.refused, "result")
            print(f"  {refused} refused; these attempts count as timed out when their leases expire")
    print(f"{seconds:.1f}s" + (", stopped early" if stopped else ""))
