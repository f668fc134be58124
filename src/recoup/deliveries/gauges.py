"""What is measured of deliveries for alerts."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.deliveries.policy import DeliveryPolicy
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source

Q = load("recoup.deliveries", "deliveries.sql")
MAX_COUNTED = 10_000


def _dead(tx: Transaction, policy: Policy) -> Iterator[Reading]:
    dead = {str(route): count for route, count in tx.execute(Q["dead_by_route"], {"most": MAX_COUNTED})}
    for route in {**dict.fromkeys(policy[DeliveryPolicy].routes, 0), **dead}:
        yield Reading(signal="deliveries_dead", key=route, value=dead.get(route, 0))


DEAD = Source(
    signals=(Signal(name="deliveries_dead", unit="count", description="deliveries given up in 24 hours, by route"),),
    measure=_dead,
)
