"""What is measured of deliveries for alerts."""

from collections.abc import Iterator
from datetime import timedelta

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.deliveries.policy import DeliveryPolicy
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source

Q = load("recoup.deliveries", "deliveries.sql")
MAX_COUNTED = 10_000
MAX_WAITING_COUNTED = 1000  # of a route: each is looked up
UNTAKEN_AFTER = timedelta(minutes=15)


def _measure(tx: Transaction, policy: Policy) -> Iterator[Reading]:
    routes = dict.fromkeys(policy[DeliveryPolicy].routes, 0)
    dead = {str(route): count for route, count in tx.execute(Q["dead_by_route"], {"most": MAX_COUNTED})}
    for route in {**routes, **dead}:
        yield Reading(signal="deliveries_dead", key=route, value=dead.get(route, 0))
    given = {"after_s": UNTAKEN_AFTER.total_seconds(), "most": MAX_WAITING_COUNTED}
    waiting = {str(route): (count, since) for route, count, since in tx.execute(Q["waiting_by_route"], given)}
    for route in {**routes, **waiting}:
        count, since = waiting.get(route, (0, None))
        facts = {} if since is None else {"oldest": since.isoformat()}
        yield Reading(signal="deliveries_waiting", key=route, value=count, facts=facts)


DELIVERED = Source(
    signals=(
        Signal(name="deliveries_dead", unit="count", description="deliveries given up in 24 hours, by route"),
        Signal(
            name="deliveries_waiting",
            unit="count",
            description="deliveries of a route that have been due for 15 minutes, and that no worker takes",
        ),
    ),
    measure=_measure,
)
