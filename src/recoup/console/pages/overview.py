"""The overview: what needs a person now, how much fails over time, and how workers and background tasks are."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from recoup.alerts import listing as alerts
from recoup.console.declare import Context, Section, Seen
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.domain import duties, logs
from recoup.domains import DOMAINS
from recoup.errors import listing, trend
from recoup.ledger.rates import MAX_COUNT as MAX_COUNT_BY_HOUR
from recoup.ledger.rates import events_by_step
from recoup.worker import register

Q = load("recoup.console", "overview.sql")
OVERVIEW = Section(name="overview", title="Overview", links=(("Overview", "/"),))
MAX_COUNT = 1000  # "1,000+" says as much as the number would
FEW = 5
STEP, STEPS = timedelta(hours=1), 24


@OVERVIEW.page("/", "overview.html")
def overview(seen: Seen) -> Context:
    """What needs a person now."""
    waiting: dict[str, int] = dict(seen.tx.execute(Q["waiting"], {"most": MAX_COUNT + 1}).fetchall())
    tasks = register.standings(seen.tx, duties(DOMAINS))
    running = [one for one in register.workers(seen.tx) if one.status != "stopped"]
    domains = events_by_domain(seen.tx)
    return {
        "domains": domains["series"],
        "most_events": MAX_COUNT_BY_HOUR,
        "waiting": waiting,
        "most": MAX_COUNT,
        "firing": alerts.alerts(seen.tx, limit=FEW),
        "queue": listing.park_queue(seen.tx, listing.Filter(), limit=FEW),
        "trends": trend.counted(seen.tx, step=STEP, steps=STEPS),
        "duties": [one for one in tasks if one.paused or one.note or one.last_failure or (one.lag_s or 0) > 60],
        "duty_count": len(tasks),
        "workers": running,
    }


# The logs whose events the second plot shows, by the names of their domains.
BY_DOMAIN = {
    "errors": "recoup.error_event",
    "recovery": "recovery.provenance",
    "runs": "recovery.run_trace",
    "Gate Zero": "cl.gate_zero_air",
    "partitions": "partitions.partition_event",
}


def events_by_domain(tx: Transaction) -> Mapping[str, Any]:
    """Events of each domain in the last 24 hours, for the plot."""
    (until,) = tx.execute("select recoup.now()").fetchone() or (None,)
    known = {log.table: log for log in logs(DOMAINS)}
    return {
        "times": _times(until),
        "series": [
            {"name": name, "values": events_by_step(tx, known[table], until=until, step=STEP, steps=STEPS)}
            for name, table in BY_DOMAIN.items()
        ],
    }


def _times(until: datetime) -> list[float]:
    end = until.timestamp()
    return [end - STEP.total_seconds() * (STEPS - 1 - place) for place in range(STEPS)]


def errors_by_hour(tx: Transaction) -> Mapping[str, Any]:
    """Errors of the last 24 hours, for the plot."""
    found = trend.counted(tx, step=STEP, steps=STEPS)
    return {
        "times": _times(found.until),
        "series": [{"name": kind, "values": getattr(found.overall, kind)} for kind in trend.COUNTED],
    }
