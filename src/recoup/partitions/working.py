"""The work on partitions: what is dispatched is extracted, published and validated, and its verdict written.

A turn writes verdicts (as the validator), losses (as the control plane), what follows from both, and the next
dispatches, in one transaction. No more is dispatched than starts at once. The leases of running tasks are extended by
this process, up to the hours of the policy; a task past its lease keeps its slot, and when half of the slots are lost
so, the worker stops.
"""

from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

from recoup import observe
from recoup.database.acting import acting_as
from recoup.database.connection import Database, Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.partitions import executors, functions
from recoup.partitions.control_plane import Dispatched, dispatch, follow
from recoup.partitions.executors import Place
from recoup.partitions.functions import Served
from recoup.partitions.leases import Leases
from recoup.partitions.policy import PartitionPolicy
from recoup.partitions.running import LostRun, judge, lose
from recoup.partitions.sinks import Gate
from recoup.partitions.tasks import (
    EXTRACTOR_ERROR,
    End,
    Outcome,
    Task,
    for_other_processes,
    lost,
    perform,
    project_of,
)
from recoup.work.flow import Flow, Overrun, Turn, Work
from recoup.worker.duty import Context, seconds
from recoup.worker.stopping import WorkerStopped

Q = load("recoup.partitions", "working.sql")
GRACE_S = 5.0
POLL_S = 1.0  # while tasks run, others become due, and leases are lost
MAX_LOGGED = 500
EXECUTOR_ERROR = "EXECUTOR_ERROR"  # the process or the cluster worker of a task died
STARTED_BEFORE = "started before"  # by a call whose result is lost
JUDGED = ("accepted", "rejected")


class Slots:
    """What a worker keeps from one flow to the next: its place, its sink's breaker, and tasks that overran."""

    def __init__(self, context: Context) -> None:
        self.gate = Gate()
        # Tasks on threads have connections of their own: those of the worker are for its background tasks.
        self.database = Database(context.conninfo, context.settings)
        self.overrun: Overrun[Dispatched, Outcome] = Overrun()
        self.place: Place | None = None
        self._served: tuple[PartitionPolicy, Served] | None = None

    def placed(self, context: Context) -> Place:
        if self.place is not None and not self.place.is_alive():
            self.place.close()
            self.place = None
        if self.place is None:
            self.place = executors.place(context.settings)
        return self.place

    def served(self, policy: PartitionPolicy, project: Path | None) -> Served:
        """What this process serves, found out once for each policy."""
        if self._served is None or self._served[0] is not policy:
            self._served = (policy, functions.served(policy, project))
        return self._served[1]

    def close(self) -> None:
        """Close its connections, and end its processes, or its connection to a cluster."""
        self.database.close()
        if self.place is not None:
            self.place.close()
            self.place = None


_SLOTS: dict[tuple[str, str], Slots] = {}  # by worker and database


def work_due(context: Context, *, place: Place | None = None) -> int:
    """Work on everything that is due and that this process serves. Returns how many tasks ended.

    What is kept for the next call, such as connections and processes, is there until :func:`release`.
    """
    key = (context.name, context.conninfo)
    if key not in _SLOTS:
        _SLOTS[key] = Slots(context)
    slots = _SLOTS[key]
    if not slots.served(context.policy[PartitionPolicy], project_of(context.settings)).queries:
        return 0
    if not slots.gate.is_open(context):
        return 0
    lease = timedelta(seconds=context.policy[PartitionPolicy].lease_s)
    with Leases(context, lease) as leases:
        turns = _Turns(context, slots, place or slots.placed(context), leases)
        done = Flow(context, turns.work()).run()
    if turns.is_half_lost():
        raise _half_lost(len(slots.overrun), context.settings.partition_slots)
    return done


def release(worker: str) -> None:
    """End what a worker of this name keeps between flows."""
    for key in [key for key in _SLOTS if key[0] == worker]:
        _SLOTS.pop(key).close()


class _Turns:
    """The turns of one flow."""

    def __init__(self, context: Context, slots: Slots, place: Place, leases: Leases) -> None:
        self.context, self.slots, self.place, self.leases = context, slots, place, leases
        self._sent = for_other_processes(context.settings)
        self._project = project_of(context.settings)
        self._running = 0

    @property
    def policy(self) -> PartitionPolicy:
        return self.context.policy[PartitionPolicy]

    def work(self) -> Work[Dispatched, Outcome]:
        policy = self.policy
        return Work(
            turn=self.turn,
            start=self.start,
            raised=_raised,
            name=lambda run: f"{run.partition} (run {run.run_id}, dispatch {run.token})",
            at_once=self.context.settings.partition_slots,
            lease_s=policy.lease_s,
            runs_s=policy.run_max_hours * 3600,
            grace_s=GRACE_S,
            poll_s=POLL_S,
            is_held=self.leases.is_held,
            overrun=self.slots.overrun,
            abandoned=self.abandoned,
            goes_on=lambda: not self.is_half_lost() and self.slots.gate.is_open(self.context),
            written=self.log,
        )

    def is_half_lost(self) -> bool:
        """Whether tasks that hang take half of the slots."""
        return len(self.slots.overrun) * 2 >= self.context.settings.partition_slots

    # One turn --------------------------------------------------------------------------------------------------------

    def turn(
        self, tx: Transaction, ended: Sequence[tuple[Dispatched, Outcome]], room: int
    ) -> tuple[Sequence[str], Sequence[Dispatched]]:
        """Write how tasks ended and what follows, and dispatch the next; as the control plane."""
        became = self._written(tx, ended)
        if ended:
            follow(tx, limit=len(ended), only=[run.partition_id for run, _ in ended])
        if self.slots.gate.is_trying:  # one run tries the sink
            room = 0 if self._running - len(ended) > 0 else min(room, 1)
        return became, self._dispatched(tx, room) if room else []

    def _written(self, tx: Transaction, ended: Sequence[tuple[Dispatched, Outcome]]) -> list[str]:
        became: dict[UUID, str] = {}
        verdicts = [outcome.judged for _, outcome in ended if outcome.judged is not None]
        if verdicts:
            with acting_as(tx, Authority.VALIDATOR):
                became |= zip((one.run_id for one in verdicts), judge(tx, verdicts), strict=True)
        losses = [one for run, outcome in ended if (one := _loss(run, outcome)) is not None]
        became |= zip((one.run_id for one in losses), lose(tx, losses), strict=True)
        return [became.get(run.run_id, outcome.stands or "late") for run, outcome in ended]

    def _dispatched(self, tx: Transaction, room: int) -> list[Dispatched]:
        return dispatch(
            tx, limit=room, worker=self.context.name, lease=self.leases.lease,
            served=self.slots.served(self.policy, self._project).queries, starts=not self.place.repeats,
            sink=None if (sink := self.slots.gate.sink) is None else sink.sink_id,
        )  # fmt: skip

    # One task --------------------------------------------------------------------------------------------------------

    def start(self, run: Dispatched) -> "Future[Outcome]":
        policy, sink = self.policy, self.slots.gate.sink
        query = policy.query(run.source, run.query_name)
        assert query is not None  # served
        assert sink is not None  # checked before the claim
        task = Task(
            run=run, functions=functions.named(policy, query, self._project),
            zone=policy.zone(run.source, run.query_name), sink=sink, dispatched_at=run.lease_until - self.leases.lease,
            conninfo=self.context.conninfo, settings=self._sent, worker=self.context.name, repeats=self.place.repeats,
        )  # fmt: skip
        self.leases.add(run)
        self._running += 1
        work = partial(perform, task) if self.place.apart else partial(perform, task, self.slots.database)
        future: Future[Outcome] = self.place.executor.submit(work)
        future.add_done_callback(lambda _: self.leases.remove(run))
        return future

    def abandoned(self, run: Dispatched, future: "Future[Outcome]") -> None:
        """It is past its lease: where its process can be killed, its slot is free again."""
        self.leases.remove(run)
        self._running -= 1
        if self.place.kill is not None:
            self.place.kill(future)

    def log(self, done: Turn) -> None:
        log = observe.logger(worker=self.context.name)
        self._running -= len(done.ended)
        gate, outcomes = self.slots.gate, [outcome for _, outcome in done.ended]
        unavailable = next((one for one in outcomes if one.end is End.SINK_UNAVAILABLE), None)
        if unavailable is not None:
            assert gate.sink is not None
            gate.close(self.context, gate.sink.sink_id, unavailable.cause or "", unavailable.message or "")
        elif any(one.end in (End.JUDGED, End.LOST) or one.stands in JUDGED for one in outcomes):
            gate.passed()
        for (run, outcome), status in zip(done.ended, done.became, strict=True):
            if status != "accepted":
                words = outcome.message or (outcome.judged.message if outcome.judged is not None else None)
                log.warning(
                    "the verdict came late" if status == "late" else f"a run is {status}", partition=str(run.partition),
                    run_id=str(run.run_id), failure=(words or "")[:MAX_LOGGED],
                )  # fmt: skip


def _raised(_run: Dispatched, error: BaseException) -> Outcome:
    """What an executor raises instead of an outcome: the task's process died, or its result could not be sent."""
    is_executor = isinstance(error, BrokenExecutor) or type(error).__module__.startswith("distributed")
    return lost(EXECUTOR_ERROR if is_executor else EXTRACTOR_ERROR, error)


def _loss(run: Dispatched, outcome: Outcome) -> LostRun | None:
    if outcome.end in (End.LOST, End.SINK_UNAVAILABLE):
        assert outcome.reason is not None
        return LostRun(run.run_id, run.token, outcome.reason, outcome.message or outcome.reason)
    if outcome.end is End.STANDS and outcome.stands == STARTED_BEFORE:
        return LostRun(run.run_id, run.token, EXECUTOR_ERROR, "It was started before, and that result is lost.")
    return None


def _half_lost(lost: int, slots: int) -> WorkerStopped:
    return WorkerStopped(
        "slots_lost",
        f"{lost} of {slots} slots for partitions are taken by extractors or validators that overran their lease.",
        "Find out why they hang, then start the worker again. In processes of their own they can be ended:"
        ' executor = "processes" in recoup.toml, under [partitions].',
        lost=lost, slots=slots,
    )  # fmt: skip


# For the list of background tasks -------------------------------------------------------------------------------------


def due_lag(tx: Transaction) -> float | None:
    """Seconds that the longest due partition has been waiting; None: none is due."""
    return seconds(tx, Q["due_lag"])


def due_queries(tx: Transaction) -> set[tuple[str, str]]:
    """Sources and queries with partitions that are due."""
    return {(str(source), str(query)) for source, query in tx.execute(Q["due_queries"])}
