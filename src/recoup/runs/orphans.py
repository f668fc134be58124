"""Orphans: runs that nobody runs any more are marked crashed, in sets, and logged."""

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from recoup import observe
from recoup.database.arrays import Routine, records
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.policy import Policy, in_force
from recoup.refusals import SettingRefused
from recoup.runs.policy import RunPolicy
from recoup.worker.duty import seconds

Q = load("recoup.runs", "runs.sql")
VARIABLE = "ORPHAN_THRESHOLD_MINUTES"
MAX_MINUTES = 10_080
CRASH = Routine(
    name="recovery.crash_orphans",
    plain={"threshold": "interval", "most": "integer"},
    results={"run_id": "ids", "kind": "kinds", "reason": "reasons"},
)


class Orphan(NamedTuple):
    """A run that was marked crashed, or would be, and why."""

    run_id: UUID
    kind: str
    reason: str


def override(environment: Mapping[str, str] | None = None) -> int | None:
    """The minutes of silence that the environment gives instead of the policy; None: it gives none."""
    text = (os.environ if environment is None else environment).get(VARIABLE)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MAX_MINUTES:
        return int(text)
    raise SettingRefused(
        "bad_setting",
        f"{VARIABLE} is {text[:50]!r}, which is not a number of minutes.",
        f"Give 1 to {MAX_MINUTES:,}, or remove it for the policy's runs.orphan_threshold_minutes.",
        setting=VARIABLE,
    )


def threshold(policy: Policy) -> timedelta:
    """After how much silence a running run counts as crashed, in this process."""
    minutes = override()
    return timedelta(minutes=policy[RunPolicy].orphan_threshold_minutes if minutes is None else minutes)


def sweep(tx: Transaction, policy: Policy, *, limit: int = 1000) -> list[Orphan]:
    """Mark orphaned runs as crashed, and log each. Call again until it returns none."""
    found = records(Orphan, CRASH.call(tx, threshold=threshold(policy), most=limit))
    for one in found:
        observe.logger().warning(
            "run marked crashed", run=str(one.run_id), kind=one.kind, reason=one.reason,
            then=f"recoup runs show {one.run_id}",
        )  # fmt: skip
    return found


def orphans(tx: Transaction, *, limit: int = 1000) -> list[Orphan]:
    """Runs that the next sweep would mark crashed, and why. Changes nothing."""
    given = {"threshold": threshold(in_force(tx).policy), "limit": limit}
    return [Orphan(*row) for row in tx.execute(Q["orphans"], given)]


def crashed(tx: Transaction, *, limit: int = 1000) -> list[Orphan]:
    """Runs that were marked crashed, newest first, and why."""
    return [Orphan(*row) for row in tx.execute(Q["crashed"], {"limit": limit})]


def lag(tx: Transaction) -> float | None:
    """Seconds since the most silent run should have been marked; None: none is orphaned by silence."""
    return seconds(tx, Q["lag_orphans"])


def note(_: Transaction) -> str | None:
    """What the environment of this process changes."""
    minutes = override()
    return None if minutes is None else f"{VARIABLE} overrides the policy here: {minutes} minutes"
