"""PgQueuer, the fastest of the peers that run on PostgreSQL. On asyncpg, with which it retries three times as fast."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from recoup_bench.peers import required

BATCH = 1000  # claimed at once, as ours does; with its default of 10 it is slower
POLL = timedelta(milliseconds=50)


class PgQueuer:
    """One worker on one connection; a unit asks for a retry at once, then succeeds."""

    name = "pgqueuer"
    share = 0.2

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

    def run(self, units: int) -> float:
        return asyncio.run(self._worked(units))

    async def _worked(self, units: int) -> float:
        async with self._queries() as queries:
            await queries.enqueue(["unit"] * units, [None] * units, [0] * units)
            manager = self.package.QueueManager(queries)
            done = 0

            async def unit(job: Any) -> None:
                nonlocal done
                if job.attempts == 0:
                    raise self.package.RetryRequested(delay=timedelta(0), reason="fails once")
                done += 1
                if done == units:
                    manager.shutdown.set()

            manager.entrypoint("unit", accepts_context=False)(unit)
            began = time.perf_counter()
            # It returns when the last outcomes are written.
            await manager.run(batch_size=BATCH, dequeue_timeout=POLL)
            return time.perf_counter() - began

    def close(self) -> None:
        """Every run closes its own connection."""
