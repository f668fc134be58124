"""The lifecycles of Gate Zero: batches, intakes, attempts, and the throttled second chance."""

from enum import StrEnum

from recoup.lifecycles.declaration import (
    CONTROL_LOG,
    RECORD_CONTROL,
    Authority,
    Birth,
    Given,
    Lifecycle,
    Move,
    MoveRule,
    On,
    Story,
)
from recoup.lifecycles.logs import Log

GATE, HUB, OPERATOR, EXECUTOR = Authority.GATE, Authority.HUB, Authority.OPERATOR, Authority.EXECUTOR


class AttemptStatus(StrEnum):
    OPEN = "open"  # a worker is checking the intake, under a lease
    PASSED = "passed"  # every check passed
    FAILED = "failed"  # a check failed, with a reason code
    CRASHED = "crashed"  # the lease expired without a result; counts as a failure


class IntakeStatus(StrEnum):
    PENDING = "PENDING"  # waits for its first attempt
    AUTHORIZED = "AUTHORIZED"  # the first attempt passed, or it re-entered after a passed retry
    FAILED = "FAILED"  # an attempt failed; retries may follow
    REENTER_SUCCEEDED = "REENTER_SUCCEEDED"  # a retry passed and made a new intake
    EXHAUSTED = "EXHAUSTED"  # no attempts left, or the batch's window closed


class RecoveryStatus(StrEnum):
    ACTIVE = "ACTIVE"  # may be retried from next_eligible_at on
    EXHAUSTED = "EXHAUSTED"  # no further retries
    SUCCEEDED = "SUCCEEDED"  # a retry passed


class BatchStatus(StrEnum):
    OPEN = "OPEN"  # still being imported
    COMPLETED = "COMPLETED"  # the recovery window runs
    FROZEN = "FROZEN"  # the window closed and its recoveries were ended


# What follows when an attempt or a recovery ends (consequences.sql).
ENDED_ATTEMPT = ("cl.settle_attempts",)
ENDED_RECOVERY = ("cl.settle_recoveries",)
CANDIDATE = ("recovery.settle_candidates",)  # of the domain that recovers what failed for good

BATCH = Lifecycle(
    table="cl.gate_zero_batch",
    description="An import batch and its recovery window. Pausing and resuming are self-moves, logged in"
    " recoup.pause_log.",
    key=("batch_id",),
    births=(
        Birth(BatchStatus.OPEN, HUB, "an import begins"),
        Birth(BatchStatus.OPEN, GATE, "an import begins"),
        Birth(BatchStatus.OPEN, OPERATOR, "an import begins"),
    ),
    moves=(
        Move(BatchStatus.OPEN, BatchStatus.COMPLETED, HUB, "the import is declared complete; the window opens"),
        Move(BatchStatus.OPEN, BatchStatus.COMPLETED, GATE, "the import is declared complete; the window opens"),
        Move(
            BatchStatus.OPEN,
            BatchStatus.COMPLETED,
            OPERATOR,
            "the import is declared complete; the window opens",
        ),
        Move(BatchStatus.COMPLETED, BatchStatus.FROZEN, GATE, "the window closed; its recoveries end"),
        Move(BatchStatus.OPEN, BatchStatus.OPEN, OPERATOR, "recovery is paused or resumed"),
        Move(BatchStatus.COMPLETED, BatchStatus.COMPLETED, OPERATOR, "recovery is paused or resumed"),
        Move(BatchStatus.FROZEN, BatchStatus.FROZEN, OPERATOR, "a pause is lifted or set for the record"),
    ),
    frozen=("batch_id", "imported_at"),
    once=("completed_at", "batch_freeze_at", "policy_version", "frozen_at"),
    rules=(On("insert", "recoup.rule_times", ("batch_id", "imported_at")), On("update", "cl.rule_batch_moves")),
    recorders=(
        On("insert", RECORD_CONTROL, ("imported_at",)),
        On("update", RECORD_CONTROL, ("completed_at", "batch_freeze_at", "frozen_at")),
        On("update", "cl.record_batch_moves"),
    ),
    consequences=(On("update", "recoup.wake"),),
    # There were batches before there was a control log; it began with the first policy.
    story=Story(
        log=CONTROL_LOG,
        key=("key",),
        unborn="r.imported_at < (select min(p.applied_at) from recoup.policy p)",
    ),
)

PENDING, AUTHORIZED, FAILED, REENTER_SUCCEEDED, EXHAUSTED = IntakeStatus

INTAKE = Lifecycle(
    table="cl.gate_zero_intake",
    description="A company candidate. A failed one is never turned into a success: a passed retry makes a new one.",
    key=("intake_id",),
    births=(
        Birth(PENDING, HUB, "a candidate came in"),
        Birth(PENDING, GATE, "a candidate came in"),
        Birth(PENDING, OPERATOR, "an exhausted one is restarted", ("retry_of",)),
        Birth(PENDING, EXECUTOR, "an exhausted one is restarted for a recovery candidate", ("retry_of",), CANDIDATE),
        Birth(AUTHORIZED, GATE, "re-entered after a passed retry", ("reentered_from",), ENDED_ATTEMPT),
    ),
    moves=(
        Move(PENDING, AUTHORIZED, GATE, "the first attempt passed", via=ENDED_ATTEMPT),
        Move(PENDING, FAILED, GATE, "the first attempt failed or crashed", via=ENDED_ATTEMPT),
        Move(FAILED, REENTER_SUCCEEDED, GATE, "a retry passed and made a new intake", via=ENDED_ATTEMPT),
        Move(FAILED, EXHAUSTED, GATE, "no attempts left, or the window closed", via=ENDED_RECOVERY),
    ),
    frozen=(
        "intake_id", "batch_id", "company_name", "company_domain", "linkedin_url", "state", "reentered_from",
        "retry_of", "created_at",
    ),
    rising=("updated_at",),
    rules=(
        On("insert", "recoup.rule_times", ("intake_id", "created_at", "updated_at")),
        On("insert", "cl.rule_intake_births"),
    ),
    recorders=(On("insert", "cl.record_restarts"),),
    pausable=True,
)  # fmt: skip

ATTEMPT = Lifecycle(
    table="cl.gate_zero_attempt",
    description="One verification attempt. Its birth and its moves write the AIR log, and carry on to intake"
    " and recovery.",
    key=("attempt_id",),
    births=(Birth(AttemptStatus.OPEN, GATE, "ATTEMPT: a worker begins to check"),),
    moves=(
        Move(AttemptStatus.OPEN, AttemptStatus.PASSED, GATE, "PASS, AUTH, and on a retry REENTER"),
        Move(AttemptStatus.OPEN, AttemptStatus.FAILED, GATE, "FAIL, after the third also EXHAUSTED"),
        # Counted like a failure: otherwise an intake that kills its worker would be tried for ever.
        Move(AttemptStatus.OPEN, AttemptStatus.CRASHED, GATE, "FAIL with TIMEOUT: the lease expired"),
    ),
    frozen=(
        "attempt_id", "intake_id", "batch_id", "attempt_number", "worker", "token", "opened_at", "lease_until",
        "policy_version",
    ),
    once=("finished_at", "reason_code", "reentered_as", "ended_with"),
    move_rule=MoveRule(broken="cl.attempt_move_broken", refusal="cl.attempt_move_refusal"),
    rules=(On("insert", "cl.rule_attempt_births"),),
    recorders=(On("insert", "cl.record_attempt_births"), On("update", "cl.record_attempt_moves")),
    consequences=(On("update", "cl.settle_attempts"),),
    given=Given(log="cl.gate_zero_air", key=("attempt_id",), born="ATTEMPT"),
    pausable=True,
)  # fmt: skip

EVIDENCE = Lifecycle(
    table="cl.gate_zero_evidence",
    description="What the checks of an attempt found, one row per check. The attempt's payload_ref points at them.",
    key=("attempt_id", "check_number"),
    births=(
        Birth("PASSED", GATE, "a check passed; recorded before its attempt ends"),
        Birth("FAILED", GATE, "a check failed; recorded before its attempt ends"),
    ),
    frozen=("attempt_id", "check_number", "check_name", "finding", "message", "duration_ms", "recorded_at"),
    rules=(On("insert", "cl.rule_evidence_births"),),
)

RECOVERY = Lifecycle(
    table="cl.gate_zero_recovery",
    description="The throttled second chance of a failed intake.",
    key=("recovery_id",),
    births=(Birth(RecoveryStatus.ACTIVE, GATE, "the first attempt failed", via=ENDED_ATTEMPT),),
    moves=(
        Move(RecoveryStatus.ACTIVE, RecoveryStatus.ACTIVE, GATE, "failed again; waits longer", True, ENDED_ATTEMPT),
        Move(
            RecoveryStatus.ACTIVE,
            RecoveryStatus.EXHAUSTED,
            GATE,
            "EXHAUSTED: three attempts, or window closed",
        ),
        Move(RecoveryStatus.ACTIVE, RecoveryStatus.SUCCEEDED, GATE, "a retry passed", via=ENDED_ATTEMPT),
    ),
    counter="attempt_count",
    frozen=("recovery_id", "intake_id", "batch_id", "created_at"),
    rising=("attempt_count", "next_eligible_at", "updated_at"),
    rules=(On("update", "cl.rule_recovery_moves"),),
    recorders=(On("update", "cl.record_recovery_moves"),),
    consequences=(On("update", "cl.settle_recoveries"),),
    follows=True,  # from AIR
    pausable=True,
)

AIR = Log(
    table="cl.gate_zero_air",
    at="event_timestamp",
    recorders=("cl.record_attempt_births", "cl.record_attempt_moves", "cl.record_recovery_moves"),
    columns=(
        (
            "air_event_id", "entity_type", "entity_id", "stage_id", "process_id", "event_type", "reason_code",
            "batch_id", "payload_ref", "actor", "event_timestamp", "seq", "xid", "incarnation", "attempt_id",
            "actor_id", "authority",
        ),
        (
            "air_event_id", "entity_type", "entity_id", "stage_id", "process_id", "event_type", "reason_code",
            "batch_id", "payload_ref", "actor", "event_timestamp", "seq", "xid", "incarnation", "attempt_id",
            "actor_id", "authority", "login", "form", "digest",
        ),
    ),
)  # fmt: skip
