"""What every declared queue has: claims, lags, and expired leases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from psycopg.sql import Identifier

from recoup.database.arrays import Record, Routine, records
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority, Lifecycle, Queue
from recoup.worker.duty import MAX_BATCH, Duty, seconds
from recoup.worker.lease import check_lease

Q = load("recoup.work", "queue.sql")


@dataclass(frozen=True)
class WorkQueue:
    """The declared queue of a lifecycle."""

    of: Lifecycle

    @cached_property
    def declared(self) -> Queue:
        assert self.of.queue is not None
        return self.of.queue

    @cached_property
    def claiming(self) -> Routine:
        """The claim, as it is written out: parts (None: all), maximum, worker, and lease (None: the default)."""
        return Routine(
            name=self.declared.claim,
            plain={"among": "text[]", "most": "integer", "worker_": "text", "lease": "interval"},
            results={**dict(self.declared.gives), "token": "token_", "lease_until": "until_"},
        )

    def asked(
        self, *, limit: int, worker: str, parts: Sequence[str] | None = None, lease: timedelta | None = None
    ) -> dict[str, Any]:
        """The arguments of a claim. A lease that is not positive, or too long, is refused."""
        check_lease(lease, most=timedelta(hours=self.declared.lease_hours_most))
        return {"among": None if parts is None else list(parts), "most": limit, "worker_": worker, "lease": lease}

    def claim(
        self,
        tx: Transaction,
        kind: type[Record],
        *,
        limit: int,
        worker: str,
        parts: Sequence[str] | None = None,
        lease: timedelta | None = None,
    ) -> list[Record]:
        """Claim up to ``limit`` due units, longest due first. Nobody gets what another has claimed."""
        asked = self.asked(limit=limit, worker=worker, parts=parts, lease=lease)
        return records(kind, self.claiming.call(tx, **asked))

    def due_lag(self, tx: Transaction, parts: Sequence[str] | None = None) -> float | None:
        """Seconds that the longest due unit of these parts has been waiting; None: none is due."""
        return seconds(tx, self._texts["due_lag"], {"parts": None if parts is None else list(parts)})

    def expired_lag(self, tx: Transaction) -> float | None:
        """Seconds since the oldest expired lease ended; None: there is none."""
        return seconds(tx, self._texts["expired_lag"])

    def expired(self, tx: Transaction, *, limit: int = MAX_BATCH) -> list[Any]:
        """Units whose lease expired, longest first."""
        return [row[0] for row in tx.execute(self._texts["expired"], {"limit": limit})]

    def expire(self, tx: Transaction, *, limit: int = MAX_BATCH, only: Any = None) -> int:
        """End work whose lease expired, all of it or of one unit. Call again until it returns 0."""
        (count,) = tx.execute(self._texts["expire"], {"limit": limit, "only": only}).fetchone() or (0,)
        return int(count)

    def expiry(self, *, name: str, authority: Authority, description: str, cadence_s: float = 5) -> Duty:
        """The duty that ends work whose lease expired."""
        return Duty(
            name=name,
            authority=authority,
            cadence_s=cadence_s,
            description=description,
            batch=lambda tx, _: self.expire(tx),
            lag=self.expired_lag,
            units=self.expired,
            one=lambda tx, unit: self.expire(tx, only=unit),
        )

    @cached_property
    def _texts(self) -> dict[str, str]:
        names = {"queue": self.declared.table, "expire": self.declared.expire}
        parts = {word: Identifier(*name.split(".")) for word, name in names.items()}
        return {name: query.format(**parts).as_string() for name, query in Q.items()}
