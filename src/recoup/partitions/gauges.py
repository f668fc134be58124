"""What is measured of raw sinks for alerts."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.partitions.sinks import registered
from recoup.policy import Policy
from recoup.signals import Reading, Signal, Source


def _sinks(tx: Transaction, _policy: Policy) -> Iterator[Reading]:
    for sink in registered(tx):
        out = sink.status != "available"
        facts = {"cause": sink.cause, "message": sink.message, "host": sink.host, "since": sink.outage_at}
        yield Reading(
            signal="sinks_unavailable", key=sink.name, value=int(out),
            facts={name: str(fact) for name, fact in facts.items()} if out else {},
        )  # fmt: skip


SINKS = Source(
    signals=(
        Signal(name="sinks_unavailable", unit="count", description="raw sinks that a worker cannot use, by name"),
    ),
    measure=_sinks,
)
