"""What workers do for partitions in the background."""

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.operations import taking_up
from recoup.partitions import functions, running, sinks, tasks, working
from recoup.partitions.control_plane import follow
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.requesting import SUBJECT
from recoup.policy import versions
from recoup.settings import load as settings
from recoup.worker.duty import MAX_BATCH, Duty, seconds

Q = load("recoup.partitions", "working.sql")
WORK = "partition-work"


def _expire(tx: Transaction) -> int:
    """End runs whose lease expired, and decide what follows."""
    ended = running.expire(tx, limit=MAX_BATCH)
    if ended:
        follow(tx, limit=len(ended), only=ended)
    return len(ended)


def _give_up_aged(tx: Transaction) -> int:
    (count,) = tx.execute(Q["give_up_aged"], {"limit": MAX_BATCH}).fetchone() or (0,)
    return int(count)


def _kept_from(tx: Transaction) -> str | None:
    """What keeps a worker with the settings of this process from working on what is due."""
    here, due = settings(), working.due_queries(tx)
    sink = sinks.find(tx, here.sink_name)
    if sink is not None and sink.status != "available":
        return f"the raw sink {sink.name} is unavailable on {sink.host} ({sink.cause}): {sink.message}"
    if not due:
        return None
    if sink is None:
        return f"no raw sink {here.sink_name!r} is registered"
    policy = versions.active(tx).policy[PartitionPolicy]
    ours = functions.served(policy, tasks.project_of(here))
    missing = [
        f"{source}/{query}: {ours.problems.get((source, query), 'it is not in the policy')}"
        for source, query in sorted(due)
        if query not in ours.queries.get(source, ())
    ]
    return "; ".join(missing) or None


DUTIES: tuple[Duty, ...] = (
    Duty(
        name=WORK,
        authority=Authority.CONTROL_PLANE,
        cadence_s=1,
        description="dispatches partitions that are due, extracts and validates them",
        flow=working.work_due,
        lag=working.due_lag,
        note=_kept_from,
    ),
    Duty(
        name="partition-follow",
        authority=Authority.CONTROL_PLANE,
        cadence_s=2,
        description="decides what follows from runs that ended elsewhere",
        batch=lambda tx, _: follow(tx, limit=MAX_BATCH),
        lag=lambda tx: seconds(tx, Q["follow_lag"]),
    ),
    Duty(
        name="partition-expiry",
        authority=Authority.CONTROL_PLANE,
        cadence_s=5,
        description="ends every run whose lease expired; at the cap of dispatches as rejected",
        batch=lambda tx, _: _expire(tx),
        lag=lambda tx: seconds(tx, Q["expired_lag"]),
    ),
    Duty(
        name="partition-age",
        authority=Authority.CONTROL_PLANE,
        cadence_s=60,
        description="makes failed partitions terminal that are older than the policy allows",
        batch=lambda tx, _: _give_up_aged(tx),
        lag=lambda tx: seconds(tx, Q["aged_lag"]),
    ),
    Duty(
        name="partition-sweep",
        authority=Authority.CONTROL_PLANE,
        cadence_s=3600,
        description="removes what ended runs left aside in the raw sink, after 24 hours",
        flow=sinks.sweep,
        lag=lambda _: None,
    ),
    taking_up.duty(SUBJECT, name="partition-operations"),
)
