"""What workers do for recovery in the background."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.operations import steps
from recoup.policy import Policy
from recoup.recovery import breakers, confidence, evaluation, executing, execution, executors, following
from recoup.recovery.executing import Executors
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.review import SUBJECT
from recoup.settings import load
from recoup.worker.duty import MAX_BATCH, Context, Duty

EXECUTE = "recovery-execute"


def with_executors(duties: Sequence[Duty], chosen: Executors) -> tuple[Duty, ...]:
    """The duties, with execution that calls these executors and no others."""
    flow = partial(execution.execute_due, executors=chosen)
    return tuple(replace(duty, flow=flow, note=None) if duty.name == EXECUTE else duty for duty in duties)


def _execute(context: Context) -> int:
    return execution.execute_due(context, executors.executors(executors.find(context.settings)))


def _unserved(tx: Transaction) -> str | None:
    """Which actions that candidates wait for no executor serves, as far as the settings of this process say."""
    missing = executing.waiting_for_executors(tx, executors.executors(executors.find(load())))
    return "no executor for " + ", ".join(f"{name} ({count:,})" for name, count in missing.items()) if missing else None


def _close(tx: Transaction, policy: Policy) -> int:
    return following.close_incidents(tx, policy[RecoveryPolicy])


DUTIES: tuple[Duty, ...] = (
    Duty(
        name="match-subjects",
        authority=Authority.MATCHER,
        cadence_s=2,
        description="makes matches of errors that were parked, intakes that are exhausted, runs that crashed and"
        " partitions that are terminal",
        batch=lambda tx, policy: following.match_subjects(tx, policy[RecoveryPolicy]),
        lag=following.match_lag,
    ),
    Duty(
        name="recovery-wake",
        authority=Authority.EVALUATOR,
        cadence_s=1,
        description="makes matches due whose subject, candidate or scope has changed",
        batch=lambda tx, _: following.wake_matches(tx),
        lag=following.wake_lag,
    ),
    Duty(
        name="recovery-evaluate",
        authority=Authority.EVALUATOR,
        cadence_s=1,
        description="evaluates every match that is due: ends candidates, proposes actions, ends matches",
        flow=evaluation.evaluate_due,
        lag=evaluation.EVALUATIONS.due_lag,
    ),
    Duty(
        name="recovery-learn",
        authority=Authority.EVALUATOR,
        cadence_s=2,
        description="counts outcomes, and rates pending candidates again where that changes what becomes of them",
        batch=lambda tx, policy: confidence.learn(tx, policy[RecoveryPolicy]),
        lag=confidence.learn_lag,
    ),
    replace(
        evaluation.EVALUATIONS.expiry(
            name="evaluation-expiry",
            authority=Authority.EVALUATOR,
            description="counts as failed every evaluation whose lease expired",
        ),
        batch=lambda tx, _: evaluation.expire(tx),
    ),
    Duty(
        name=EXECUTE,
        authority=Authority.CLAIM_WORKER,
        cadence_s=1,
        description="executes every candidate that is approved or automatic, within its scope",
        flow=_execute,
        lag=executing.ready_lag,
        note=_unserved,
    ),
    Duty(
        name="candidate-expiry",
        authority=Authority.EVALUATOR,
        cadence_s=5,
        description="ends as failed every candidate whose lease expired before its effect",
        batch=lambda tx, _: executing.expire(tx, limit=MAX_BATCH),
        lag=executing.expired_lag,
        units=lambda tx: executing.expired(tx, limit=MAX_BATCH),
        one=lambda tx, token: executing.expire(tx, only=token),
    ),
    Duty(
        name="breaker-probes",
        authority=Authority.EVALUATOR,
        cadence_s=1,
        description="closes breakers whose probe ended well, and opens those again whose did not",
        batch=lambda tx, _: breakers.settle(tx),
        lag=breakers.probe_lag,
    ),
    Duty(
        name="scope-expiry",
        authority=Authority.SCOPED_EXECUTION,
        cadence_s=5,
        description="expires every scope whose time has passed",
        batch=lambda tx, _: following.expire_scopes(tx, limit=MAX_BATCH),
        lag=following.scope_lag,
        units=lambda tx: following.expired_scopes(tx, limit=MAX_BATCH),
        one=lambda tx, scope: following.expire_scopes(tx, only=scope),
    ),
    Duty(
        name="incident-close",
        authority=Authority.EVALUATOR,
        cadence_s=60,
        description="closes every incident that has been quiet",
        batch=_close,
        lag=following.quiet_lag,
    ),
    steps.duty(
        SUBJECT,
        name="recovery-canary",
        description="continues every approval of many that has a canary, while its outcomes are good",
    ),
)
