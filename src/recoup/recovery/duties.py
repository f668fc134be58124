"""What workers do for recovery in the background."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import entry_points

from recoup import observe
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.operations import steps
from recoup.policy import Policy
from recoup.recovery import evaluation, executing, execution, following
from recoup.recovery.executing import Executor, Executors
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.review import SUBJECT
from recoup.worker.duty import MAX_BATCH, Context, Duty

GROUP = "recoup.actions"
EXECUTE = "recovery-execute"


@cache
def installed() -> Executors:
    """The executors that installed packages name, as entry points of the group ``recoup.actions``."""
    found: dict[str, Executor] = {}
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001 - whatever its import raises, others work
            observe.logger().error("executor cannot be loaded", action=point.name, failure=str(error))
        else:
            found[point.name] = loaded if isinstance(loaded, Executor) else Executor(loaded)
    return found


def with_executors(duties: Sequence[Duty], executors: Mapping[str, Executor]) -> tuple[Duty, ...]:
    """The duties, with execution that calls these executors and no others."""
    flow = partial(execution.execute_due, executors=executors)
    return tuple(replace(duty, flow=flow, note=None) if duty.name == EXECUTE else duty for duty in duties)


def _execute(context: Context) -> int:
    return execution.execute_due(context, installed())


def _unserved(tx: Transaction) -> str | None:
    missing = executing.waiting_for_executors(tx, installed())
    return "no executor for " + ", ".join(f"{name} ({count:,})" for name, count in missing.items()) if missing else None


def _close(tx: Transaction, policy: Policy) -> int:
    return following.close_incidents(tx, policy[RecoveryPolicy])


DUTIES: tuple[Duty, ...] = (
    Duty(
        name="match-subjects",
        authority=Authority.MATCHER,
        cadence_s=2,
        description="makes matches of errors that were parked, intakes that are exhausted and runs that crashed",
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
