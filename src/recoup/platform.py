"""The platform's own domain: clock, pauses, workers, operations, policy, logs and seals."""

from recoup import clock, refusals
from recoup.domain import Command, Domain, routines
from recoup.ledger import invariants as of_logs
from recoup.ledger.logs import (
    AUDIT_RESULT,
    CONTENT_LOG,
    CONTROL_LOG,
    DECLARATION_LOG,
    INCARNATION,
    LATE_RESULT,
    POLICY,
    SEAL,
)
from recoup.ledger.policy import SealPolicy
from recoup.operations import invariants as of_operations
from recoup.operations.finding import FINDER
from recoup.operations.lifecycle import OPERATION, OPERATION_ITEM
from recoup.operations.policy import OperationPolicy
from recoup.operations.steps import resume
from recoup.pauses.lifecycle import PAUSE, PAUSE_LOG
from recoup.pauses.scopes import GLOBAL, Pausable
from recoup.pauses.scopes import OPERATION as AN_OPERATION
from recoup.work.logs import CLAIM_LOG
from recoup.worker.duties import DUTIES
from recoup.worker.gauges import WORKERS
from recoup.worker.lifecycle import WORKER
from recoup.worker.policy import WorkerPolicy

PLATFORM = Domain(
    name="platform",
    package="recoup.schema",
    description="Time, lifecycles, logs and seals, the policy, pauses, workers, bulk operations.",
    release=12,
    lifecycles=(PAUSE, WORKER, clock.CLOCK, OPERATION, OPERATION_ITEM),
    logs=(
        PAUSE_LOG,
        CONTROL_LOG,
        CONTENT_LOG,
        POLICY,
        LATE_RESULT,
        CLAIM_LOG,
        AUDIT_RESULT,
        DECLARATION_LOG,
        INCARNATION,
        SEAL,
    ),
    routines=(
        *routines("recoup.database", "new_id", "hub"),
        *routines("recoup.lifecycles", "guard", "written", "content"),
        *routines("recoup.work", "declared"),
        *routines("recoup.lifecycles", "equip"),
        *routines("recoup.clock", "clock", "times"),
        *routines("recoup.ledger", "log", "cursors", "control"),
        *routines("recoup.lifecycles", "declarations"),
        *routines("recoup.policy", "policy"),
        *routines("recoup.pauses", "pauses"),
        *routines("recoup.operations", "operations"),
        *routines("recoup.worker", "worker"),
        *routines("recoup.audit", "results"),
        *routines("recoup.work", "queue", "outcomes"),
        *routines("recoup.ledger", "seals"),
        *routines("recoup.schema", "comments"),
    ),
    policy=(WorkerPolicy, SealPolicy, OperationPolicy),
    duties=DUTIES,
    invariants=(*of_logs.INVARIANTS, *of_operations.INVARIANTS),
    pausable=(
        Pausable(scope=GLOBAL, description="every claim of every domain"),
        Pausable(
            scope=AN_OPERATION,
            description="one bulk operation",
            names="select operation_id::text from recoup.operation where status = 'OPEN'",
            resume=resume,
        ),
    ),
    signals=(WORKERS,),
    refusals=refusals.PLATFORM,
    finders=(FINDER,),
    api=(
        "recoup.api.routes.operations:OPERATIONS",
        "recoup.api.routes.platform:PAUSES",
        "recoup.api.routes.platform:SYSTEM",
        "recoup.api.routes.policy:POLICY",
        "recoup.api.routes.logs:LOGS",
        "recoup.api.routes.audits:AUDITS",
    ),
    commands=(
        Command(
            name="operations",
            path="recoup.cli.operations:app",
            help="List bulk operations, show one with its steps, cancel one.",
        ),
    ),
)
