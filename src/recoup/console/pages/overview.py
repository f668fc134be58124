"""The overview: what needs a person now, how much fails over time, and how workers and background tasks are."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from recoup.alerts import listing as alerts
from recoup.console.declare import Context, Section, Seen
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.domain import duties
from recoup.domains import DOMAINS
from recoup.errors import listing, trend
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
    return {
        "waiting": waiting,
        "most": MAX_COUNT,
        "firing": alerts.alerts(seen.tx, limit=FEW),
        "queue": listing.park_queue(seen.tx, listing.Filter(), limit=FEW),
        "trends": trend.counted(seen.tx, step=STEP, steps=STEPS),
        "duties": [one for one in tasks if one.paused or one.note or one.last_failure or (one.lag_s or 0) > 60],
        "duty_count": len(tasks),
        "workers": running,
    }


def errors_by_hour(tx: Transaction) -> Mapping[str, Any]:
    """Errors of the last 24 hours, for the plot."""
    found = trend.counted(tx, step=STEP, steps=STEPS)
    end = found.until.timestamp()
    return {
        "times": [end - STEP.total_seconds() * (STEPS - 1 - place) for place in range(STEPS)],
        "series": [{"name": kind, "values": getattr(found.overall, kind)} for kind in trend.COUNTED],
    }
