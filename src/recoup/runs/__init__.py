"""Runs: executions of work with a heartbeat. One that falls silent is marked crashed, and is never lost.

These functions take a transaction as their first argument. ``recoup.connect().runs`` has the same verbs, each under
its own authority; ``recoup.run`` starts a run, keeps it alive and ends it around a block of your own code.
"""

from recoup.runs.listing import Listed, Shown, TraceEvent
from recoup.runs.orphans import Orphan
from recoup.runs.running import Claimed, Ended, Failed, NewRun, Started, Succeeded
from recoup.runs.vocabulary import RunStatus

__all__ = [
    "Claimed",
    "Ended",
    "Failed",
    "Listed",
    "NewRun",
    "Orphan",
    "RunStatus",
    "Shown",
    "Started",
    "Succeeded",
    "TraceEvent",
]
