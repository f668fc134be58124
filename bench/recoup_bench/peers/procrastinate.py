"""Procrastinate, the peer that is closest to ours in shape: PostgreSQL only, an event row for each change of status."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from recoup_bench.peers import required

CONCURRENCY = 10  # jobs in flight in one worker; its default of 1 is slower
ROUNDS_MOST = 1000  # a worker ends when it sees nothing to do; so often it is started again


class Procrastinate:
    """One worker; a unit raises once and is retried without a wait."""

    name = "procrastinate"
    share = 0.05

    def setup(self, conninfo: str) -> None:
        self.package = required("procrastinate")
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)  # it logs each failure, which is our doing
        self.app = self.package.App(connector=self.package.PsycopgConnector(conninfo=conninfo))
        self.done = 0

        @self.app.task(name="unit", pass_context=True, retry=self.package.RetryStrategy(max_attempts=2, wait=0))  # type: ignore[untyped-decorator]
        async def unit(context: Any) -> None:
            if context.job.attempts == 0:
                raise RuntimeError("fails once")
            self.done += 1

        self.task = unit
        asyncio.run(self._install())

    async def _install(self) -> None:
        async with self.app.open_async():
            await self.app.schema_manager.apply_schema_async()

    def run(self, units: int) -> float:
        return asyncio.run(self._worked(units))

    async def _worked(self, units: int) -> float:
        self.done = 0
        async with self.app.open_async():
            await self.task.batch_defer_async(*({} for _ in range(units)))
            began = time.perf_counter()
            for _ in range(ROUNDS_MOST):
                await self.app.run_worker_async(
                    wait=False, concurrency=CONCURRENCY, listen_notify=False, install_signal_handlers=False
                )
                if self.done >= units:
                    break
            assert self.done == units, f"{self.done} of {units} units were done"
            return time.perf_counter() - began

    def close(self) -> None:
        """Every run closes its own pool."""
