"""Gate Zero: may a company candidate enter? Verified at most three times, throttled, every step in the AIR log.

An attempt opens in one transaction and ends in another, so that a crash in between leaves it findable. Its end carries
on to intake and recovery inside the database; nothing here can end an attempt and forget the rest.
"""

from recoup.gate.attempts import (
    Attempt,
    Failed,
    Finished,
    Passed,
    claim_attempts,
    finish_attempts,
    lapsed,
    open_attempts,
    sweep_crashed,
    sweep_lag,
)
from recoup.gate.batches import (
    Batch,
    Frozen,
    closing,
    complete_batch,
    create_batch,
    find_batch,
    freeze,
    freeze_lag,
    list_batches,
    pause_batch,
    resume_batch,
)
from recoup.gate.history import AIR, AirEvent, history
from recoup.gate.intake import Eligible, Intake, NewIntake, add_intakes, eligible, find_intakes, intakes_of_batch

__all__ = [
    "AIR",
    "AirEvent",
    "Attempt",
    "Batch",
    "Eligible",
    "Failed",
    "Finished",
    "Frozen",
    "Intake",
    "NewIntake",
    "Passed",
    "add_intakes",
    "claim_attempts",
    "closing",
    "complete_batch",
    "create_batch",
    "eligible",
    "find_batch",
    "find_intakes",
    "finish_attempts",
    "freeze",
    "freeze_lag",
    "history",
    "intakes_of_batch",
    "lapsed",
    "list_batches",
    "open_attempts",
    "pause_batch",
    "resume_batch",
    "sweep_crashed",
    "sweep_lag",
]
