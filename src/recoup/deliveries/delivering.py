"""Delivering what is due: claimed by route, tried on threads, written in sets.

A route that hangs takes at most its share of what runs at once, for at most its timeout. A route that this process
cannot use (its environment variable is not set) is left to workers that can; one that the policy has no longer is given
up. A notice is delivered twice only if the worker died, or lost the database, between the answer and its record.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from recoup import observe
from recoup.database.arrays import Routine
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.deliveries import secrets
from recoup.deliveries.lifecycle import DELIVERY
from recoup.deliveries.policy import DeliveryPolicy
from recoup.deliveries.routes import Notice, Routes, resolved
from recoup.deliveries.webhooks import Undelivered
from recoup.policy import versions
from recoup.settings import load as settings
from recoup.work.flow import Flow, Overrun, ThreadEach, Turn, Work
from recoup.work.queues import WorkQueue
from recoup.worker.duty import Context

Q = load("recoup.deliveries", "deliveries.sql")
GRACE_S = 5.0  # after its lease a try is abandoned, and its thread left to itself
POLL_S = 1.0  # while tries run, others become due
GONE = "its route is not in the policy any more"
QUEUE = WorkQueue(DELIVERY)
END = Routine(
    name="recoup.end_deliveries",
    sets=({"parts": "text", "units": "uuid", "tokens": "uuid", "outcomes": "text", "failures": "text"},),
    results={"delivery_id": "ended", "status": "statuses"},
)
Failure = str | None  # None: delivered


class Claimed(NamedTuple):
    """A delivery whose try is ours until the lease expires."""

    delivery_id: UUID
    route: str
    subject: str
    body: Any
    about: str | None
    origin: str
    attempts: int  # tries that ended before this one
    created_at: datetime
    token: UUID
    lease_until: datetime

    @property
    def notice(self) -> Notice:
        return Notice(self.delivery_id, self.route, self.subject, self.body, self.about, self.origin, self.created_at)


# By worker: no second try of a delivery runs while the one that overran its lease still runs.
_OVERRUN: defaultdict[str, Overrun[Claimed, Failure]] = defaultdict(Overrun)


def claim(tx: Transaction, *, limit: int, worker: str, routes: Sequence[str] | None = None) -> list[Claimed]:
    """Claim up to ``limit`` deliveries that are due, longest due first. Nobody gets what another has claimed."""
    return QUEUE.claim(tx, Claimed, limit=limit, worker=worker, parts=routes)


def finish(tx: Transaction, ended: Sequence[tuple[Claimed, Failure]]) -> list[str]:
    """Write how tries ended, in one statement. Returns the status of each; late ones are stored, not applied."""
    if not ended:
        return []
    found = END.call(
        tx,
        parts=[one.route for one, _ in ended],
        units=[one.delivery_id for one, _ in ended],
        tokens=[one.token for one, _ in ended],
        outcomes=["SUCCEEDED" if failure is None else "FAILED" for _, failure in ended],
        failures=[failure for _, failure in ended],
    )
    became = dict(zip(found["delivery_id"], found["status"], strict=True))
    return [became[one.delivery_id] for one, _ in ended]


def deliver_due(context: Context) -> int:
    """Deliver everything that is due by a route that this process can use. Returns how many tries ended."""
    return Flow(context, _Deliveries(context).work()).run()


def unserved(tx: Transaction) -> str | None:
    """Which routes have something due that this process cannot use, and why."""
    due = {name for name, _ in tx.execute(Q["due_routes"])}
    ours = _resolved(tx)
    missing = [f"{name}: {why}" for name, why in ours.unusable.items() if name in due]
    return "; ".join(missing) or None


def _resolved(tx: Transaction) -> Routes:
    """As this process would use them, by its own settings."""
    policy = versions.active(tx).policy[DeliveryPolicy]
    return resolved(policy, home=settings().home, environment=secrets.of(settings()))


class _Deliveries:
    """Due deliveries as work of one flow."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.policy = context.policy[DeliveryPolicy]
        known = secrets.of(context.settings)
        self.routes = resolved(self.policy, home=context.settings.home, environment=known, worker=context.name)
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._threads = ThreadEach()

    def work(self) -> Work[Claimed, Failure]:
        return Work(
            turn=self.turn,
            start=self.start,
            raised=lambda _, error: f"it could not be tried ({type(error).__name__})",
            name=lambda one: str(one.delivery_id),
            at_once=self.policy.at_once,
            lease_s=self.policy.lease_s,
            grace_s=GRACE_S,
            poll_s=POLL_S,
            overrun=_OVERRUN[self.context.name],
            written=self.log,
        )

    def turn(
        self, tx: Transaction, ended: Sequence[tuple[Claimed, Failure]], room: int
    ) -> tuple[list[str], list[Claimed]]:
        became = finish(tx, ended)
        claimed: list[Claimed] = []
        for name, _ in tx.execute(Q["due_routes"]).fetchall() if room else ():
            if name in self.routes.unusable:
                continue
            limit = min(room - len(claimed), self.policy.at_once_per_route - self._running[name])
            if limit > 0:
                claimed += claim(tx, limit=limit, worker=self.context.name, routes=[name])
        return became, claimed

    def start(self, one: Claimed) -> "Future[Failure]":
        with self._lock:
            self._running[one.route] += 1
        future: Future[Failure] = self._threads.submit(self.tried, one)
        future.add_done_callback(lambda _: self._ended(one.route))
        return future

    def tried(self, one: Claimed) -> Failure:
        send = self.routes.ready.get(one.route)
        if send is None:
            return GONE
        try:
            send(one.notice)
        except Undelivered as why:
            return str(why)
        return None

    def log(self, done: Turn) -> None:
        log = observe.logger(worker=self.context.name)
        for (one, failure), status in zip(done.ended, done.became, strict=True):
            if failure is not None or status == "late":
                log.warning(
                    "delivery failed" if status == "queued" else f"delivery failed: it is {status} now",
                    delivery_id=str(one.delivery_id), route=one.route, attempt=one.attempts + 1, failure=failure,
                    then=f"recoup deliveries show {one.delivery_id}",
                )  # fmt: skip

    def _ended(self, route: str) -> None:
        with self._lock:
            self._running[route] -= 1
