"""Calls that were denied: counted by minute, network and key, in a bounded number of rows."""

import ipaddress
import threading
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from recoup.database.connection import Database, Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.service import secrets
from recoup.service.principal import OWN

Q = load("recoup.service", "requests.sql")
MAX_KINDS = 1_000  # different ones that a process holds before it counts the others together
OTHERS = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedCalls:
    """How many calls were denied in a minute."""

    minute: datetime
    address: str  # the network, shortened; *: many
    key_prefix: str  # empty: no key that exists
    refusal: str
    calls: int


class Counted:
    """What this process has denied and not written yet. Call :meth:`write` every few seconds, and at the end."""

    def __init__(self, database: Database, *, rows_per_minute: int) -> None:
        self._database = database
        self._rows_per_minute = rows_per_minute
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._lock = threading.Lock()

    def add(self, refusal: str, *, address: str | None = None, secret: str | None = None) -> None:
        """Count a denied call. Of the secret only the prefix is kept, and only if there is such a key."""
        kind = (network(address), (secrets.prefix_of(secret) if secret else None) or "", refusal)
        with self._lock:
            if kind not in self._calls and len(self._calls) >= MAX_KINDS:
                kind = (OTHERS, "", refusal)
            self._calls[kind] += 1

    def write(self) -> int:
        """Write what was counted, outside of any request. Returns how many calls."""
        with self._lock:
            calls, self._calls = self._calls, Counter()
        if not calls:
            return 0
        addresses, prefixes, refusals = map(list, zip(*calls, strict=True))
        given = {
            "addresses": addresses, "prefixes": prefixes, "refusals": refusals, "counts": list(calls.values()),
            "rows_most": self._rows_per_minute,
        }  # fmt: skip
        try:
            with self._database.one_statement(Authority.SERVICE, actor=OWN) as tx:
                tx.execute(Q["count_denied"], given)
        except BaseException:
            with self._lock:  # counted with the next
                self._calls.update(calls)
            raise
        return calls.total()


def listed(tx: Transaction, *, limit: int = 100) -> list[DeniedCalls]:
    """Denied calls by minute, newest first."""
    rows = tx.execute(Q["denied"], {"limit": limit})
    return [DeniedCalls(minute=m, address=a, key_prefix=p, refusal=r, calls=n) for m, a, p, r, n in rows]


def network(address: str | None) -> str:
    """The network of an address: its first 24 bits, or 48 of a longer one. Not the address of a person."""
    try:
        found = ipaddress.ip_address((address or "").split("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    bits = 24 if found.version == 4 else 48
    return str(ipaddress.ip_network((found, bits), strict=False))
