"""Other job queues, measured in the same session on the same server.

They are not dependencies: an adapter imports its package at setup, and names what to install when it is missing.
A peer of your own is a factory, named as ``module:factory``, that returns something with these four methods.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

from recoup.refusals import InputRefused

KNOWN: Mapping[str, str] = {
    "pgqueuer": "recoup_bench.peers:PgQueuer",
    "pgmq": "recoup_bench.peers:Pgmq",
    "procrastinate": "recoup_bench.peers:Procrastinate",
}


class Peer(Protocol):
    """A job queue that the bench can measure."""

    name: str
    share: float  # of the units that ours does in a round: a slow one need not take minutes to show its speed

    def setup(self, conninfo: str) -> None:
        """Install what it needs into this database. Called once."""

    def enqueue(self, units: int) -> None:
        """Put units into the queue. Not timed."""

    def work(self, units: int, *, batch: int, fails_once: bool) -> float:
        """Process all enqueued units, in batches of this size if it can. Returns the seconds that it took.

        If they fail once, each fails at its first try and succeeds at its retry, which comes without a wait.
        """

    def close(self) -> None:
        """Release everything."""


def find(named: str) -> Peer:
    """A peer by its short name, or as ``module:factory``."""
    module, _, factory = KNOWN.get(named, named).partition(":")
    if not factory:
        near = difflib.get_close_matches(named, KNOWN, n=1)
        raise InputRefused(
            "peer_unknown",
            f"There is no peer {named!r}.",
            f"Did you mean {near[0]}?" if near else f"Known peers: {', '.join(KNOWN)}; others as module:factory.",
            peer=named,
        )
    made = getattr(required(module), factory, None)
    if made is None:
        raise InputRefused(
            "peer_unknown", f"{module} has no {factory}.", "Name a factory that returns a peer.", peer=named
        )
    return cast(Callable[[], Peer], made)()


def required(module: str, *, install: str | None = None) -> ModuleType:
    """Import what a peer needs, or refuse with what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        missing = install or (error.name or module).partition(".")[0]
        raise InputRefused(
            "peer_missing",
            f"{module} cannot be imported: {error}.",
            f"Install it into this environment: pip install {missing}",
            module=module,
        ) from error


class PgQueuer(Peer):
    """On asyncpg, with which it retries three times as fast; one worker on one connection."""

    name = "pgqueuer"
    share = 1.0

    def setup(self, conninfo: str) -> None:
        self.package = required("pgqueuer", install="pgqueuer asyncpg")
        self.asyncpg = required("asyncpg")
        given = conninfo_to_dict(conninfo)
        self.login = {key: given.get(key) for key in ("host", "port", "user", "password")}
        self.login["database"] = given.get("dbname")
        logging.getLogger("pgqueuer").setLevel(logging.CRITICAL)  # it logs each retry, which is our doing
        asyncio.run(self._install())

    async def _install(self) -> None:
        async with self._queries() as queries:
            await queries.install()

    @contextlib.asynccontextmanager
    async def _queries(self) -> AsyncIterator[Any]:
        connection = await self.asyncpg.connect(**self.login)
        try:
            yield self.package.Queries(self.package.AsyncpgDriver(connection))
        finally:
            await connection.close()

    def enqueue(self, units: int) -> None:
        asyncio.run(self._enqueue(units))

    async def _enqueue(self, units: int) -> None:
        async with self._queries() as queries:
            await queries.enqueue(["unit"] * units, [None] * units, [0] * units)

    def work(self, units: int, *, batch: int, fails_once: bool) -> float:
        return asyncio.run(self._work(units, batch, fails_once))

    async def _work(self, units: int, batch: int, fails_once: bool) -> float:
        async with self._queries() as queries:
            manager = self.package.QueueManager(queries)
            done, claims, dequeue = 0, list[float](), queries.dequeue

            async def claim(**given: Any) -> Any:
                claims.append(time.perf_counter())
                return await dequeue(**given)

            async def unit(job: Any) -> None:
                nonlocal done
                if fails_once and job.attempts == 0:
                    raise self.package.RetryRequested(delay=timedelta(0), reason="fails once")
                done += 1
                if done == units:
                    manager.shutdown.set()

            queries.dequeue = claim
            manager.entrypoint("unit", accepts_context=False)(unit)
            # It returns when the last outcomes are written.
            await manager.run(batch_size=batch, dequeue_timeout=timedelta(milliseconds=50))
            assert done == units, f"{done} of {units} units were done"
            return time.perf_counter() - claims[0]  # how long a worker takes to start is not what is measured


class Pgmq(Peer):
    """The simplest of the peers: succeeded messages are deleted, failed ones become visible again, nothing is recorded.

    The package contains the SQL. Its functions are called here for a batch at once, without the package's client, which
    makes an object of each message.
    """

    name = "pgmq"
    share = 1.0
    lease_s = 300

    def setup(self, conninfo: str) -> None:
        package = required("pgmq")
        self.connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=0)
        self.connection.execute(package.get_embedded_install_sql(), prepare=False)
        self.connection.execute("select pgmq.create('unit')")

    def enqueue(self, units: int) -> None:
        self.connection.execute("select pgmq.send_batch('unit', %s::jsonb[])", (["{}"] * units,))

    def work(self, units: int, *, batch: int, fails_once: bool) -> float:
        done, began = 0, time.perf_counter()
        while read := self._read(batch):
            failed = [message for message, reads in read if fails_once and reads == 1]
            succeeded = [message for message, reads in read if not fails_once or reads > 1]
            if failed:
                self.connection.execute("select count(*) from pgmq.set_vt('unit', %s::bigint[], 0)", (failed,))
            if succeeded:
                self.connection.execute("select count(*) from pgmq.delete('unit', %s::bigint[])", (succeeded,))
            done += len(succeeded)
        assert done == units, f"{done} of {units} units were done"
        return time.perf_counter() - began

    def _read(self, batch: int) -> list[tuple[int, int]]:
        query = "select msg_id, read_ct from pgmq.read('unit', %s, %s)"
        return self.connection.execute(query, (self.lease_s, batch)).fetchall()

    def close(self) -> None:
        self.connection.close()


class Procrastinate(Peer):
    """The closest to ours in shape: an event row for each change of status. One worker, retries without a wait."""

    name = "procrastinate"
    share = 0.05
    concurrency = 10  # jobs in flight in one worker; its default of 1 is slower
    starts_most = 1000  # a worker ends when it sees nothing to do, and is started again

    def setup(self, conninfo: str) -> None:
        self.package = required("procrastinate")
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)  # it logs each failure, which is our doing
        self.app = self.package.App(connector=self.package.PsycopgConnector(conninfo=conninfo))
        self.done, self.fails_once = 0, False

        @self.app.task(name="unit", pass_context=True, retry=self.package.RetryStrategy(max_attempts=2, wait=0))  # type: ignore[untyped-decorator]
        async def unit(context: Any) -> None:
            if self.fails_once and context.job.attempts == 0:
                raise RuntimeError("fails once")
            self.done += 1

        self.task = unit
        asyncio.run(self._install())

    async def _install(self) -> None:
        async with self.app.open_async():
            await self.app.schema_manager.apply_schema_async()

    def enqueue(self, units: int) -> None:
        asyncio.run(self._enqueue(units))

    async def _enqueue(self, units: int) -> None:
        async with self.app.open_async():
            await self.task.batch_defer_async(*({} for _ in range(units)))

    def work(self, units: int, *, batch: int, fails_once: bool) -> float:
        self.done, self.fails_once = 0, fails_once
        return asyncio.run(self._work(units))

    async def _work(self, units: int) -> float:
        async with self.app.open_async():
            began = time.perf_counter()
            for _ in range(self.starts_most):
                await self.app.run_worker_async(
                    wait=False, concurrency=self.concurrency, listen_notify=False, install_signal_handlers=False
                )
                if self.done >= units:
                    break
            assert self.done == units, f"{self.done} of {units} units were done"
            return time.perf_counter() - began
