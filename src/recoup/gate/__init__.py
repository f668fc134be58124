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
    overdue,
    pause_batch,
    refuse_completed,
    resume_batch,
)
from recoup.gate.funnel import Funnel, funnel
from recoup.gate.history import AIR, AirEvent, CheckResult, evidence, history
from recoup.gate.intake import (
    Eligible,
    Exhausted,
    Intake,
    NewIntake,
    add_intakes,
    eligible,
    exhausted,
    find_intakes,
    intakes_of_batch,
    restart,
    retry_lag,
    verify_lag,
)
from recoup.gate.listing import list_intakes
from recoup.verification.findings import Evidence

__all__ = [
    "AIR",
    "AirEvent",
    "Attempt",
    "Batch",
    "CheckResult",
    "Eligible",
    "Evidence",
    "Exhausted",
    "Failed",
    "Finished",
    "Frozen",
    "Funnel",
    "Intake",
    "NewIntake",
    "Passed",
    "add_intakes",
    "claim_attempts",
    "closing",
    "complete_batch",
    "create_batch",
    "eligible",
    "evidence",
    "exhausted",
    "find_batch",
    "find_intakes",
    "finish_attempts",
    "freeze",
    "freeze_lag",
    "funnel",
    "history",
    "intakes_of_batch",
    "lapsed",
    "list_batches",
    "list_intakes",
    "open_attempts",
    "overdue",
    "pause_batch",
    "refuse_completed",
    "restart",
    "resume_batch",
    "retry_lag",
    "sweep_crashed",
    "sweep_lag",
    "verify_lag",
]
