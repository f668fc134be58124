"""How many requests a caller may send: a bucket of tokens per caller, shared by all processes.

A process takes a second's worth at a time, in a transaction of its own that does not wait for the disk: one row per
caller would otherwise be the slowest part of every request.
"""

import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from recoup.database.connection import Database
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal
from recoup.service.principal import OWN, Principal

Q = load("recoup.service", "requests.sql")
MAX_CALLERS = 10_000
HELD_S = 1.0  # tokens that were not used by then are dropped, so that the bucket stays what others see


class RateLimited(Refusal):
    """Too many requests."""

    @property
    def retry_after_s(self) -> int:
        return int(str(self.facts["retry_after_s"]))


@dataclass(slots=True)
class _Held:
    tokens: int = 0
    until: float = 0.0
    shut_until: float = 0.0


class Limiter:
    """The tokens that this process has taken."""

    def __init__(self, database: Database, *, rate_per_s: float, burst: float) -> None:
        self._database = database
        self.rate_per_s, self.burst = rate_per_s, burst
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, principal: Principal) -> None:
        """Take one token; refuse if there is none."""
        with self._lock:
            held = self._held.setdefault(principal.id, _Held())
            self._held.move_to_end(principal.id)
            while len(self._held) > MAX_CALLERS:
                self._held.popitem(last=False)
            now = time.monotonic()
            if held.shut_until > now:
                raise _limited(held.shut_until - now)
            if held.tokens > 0 and now < held.until:
                held.tokens -= 1
                return
        # Not under the lock: other callers do not wait. Several threads of one caller may each take a second's worth.
        granted, wait_s = self._taken(principal.id)
        with self._lock:
            now = time.monotonic()
            if granted == 0:
                held.shut_until = now + wait_s
                raise _limited(wait_s)
            left = held.tokens if now < held.until else 0
            held.tokens, held.until = left + granted - 1, now + HELD_S

    def _taken(self, principal: str) -> tuple[int, float]:
        wanted = max(1, min(math.ceil(self.rate_per_s), math.floor(self.burst)))
        given = {"principal": principal, "rate": self.rate_per_s, "burst": self.burst, "wanted": wanted}
        with self._database.one_statement(Authority.SERVICE, actor=OWN) as tx:
            row = tx.execute(Q["take_tokens"], given).fetchone()
        assert row is not None
        return int(row[0]), float(row[1])


def _limited(wait_s: float) -> RateLimited:
    after = max(1, math.ceil(wait_s))
    return RateLimited(
        "rate_limited",
        "This key has sent too many requests.",
        f"Wait {after} s, or send many rows in one request.",
        retry_after_s=after,
    )
