"""The doctor's check of deliveries."""

from collections.abc import Iterator

from recoup.database import failures
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.deliveries import secrets
from recoup.deliveries.gauges import UNTAKEN_AFTER
from recoup.deliveries.policy import DeliveryPolicy
from recoup.deliveries.routes import resolved
from recoup.formatting import plural
from recoup.health import CheckResult, judged, read
from recoup.policy import Policy
from recoup.settings import load as settings

Q = load("recoup.deliveries", "deliveries.sql")
DAYS = 7  # dead deliveries are reported for this long


def deliveries(connection: Transaction) -> Iterator[CheckResult]:
    """Whether routes can be used here, whether anything was given up lately, and whether anything waits too long."""
    if connection.info.dbname == failures.DEMO:
        return
    ((figures,),) = read(connection, "select figures from recoup.policy order by version desc limit 1")
    routes = resolved(Policy(figures)[DeliveryPolicy], home=settings().home, environment=secrets.of(settings()))
    unusable = "; ".join(f"{name}: {why}" for name, why in routes.unusable.items())
    yield judged(
        "routes",
        f"{plural(len(routes.ready), 'route')} can be used here: {', '.join(routes.ready)}",
        f"not usable by this process: {unusable}" if unusable else None,
        "Set the variable where workers run: docs/howto/deliver-notices.md",
        verdict="warning",
    )
    ((dead, waits_s),) = read(connection, Q["health"].as_string(), {"days": DAYS})
    wrong = [f"{plural(dead, 'delivery', 'deliveries')} of the last {DAYS} days dead"] if dead else []
    if waits_s is not None and waits_s > UNTAKEN_AFTER.total_seconds():
        wrong.append(f"the oldest has been due for {int(waits_s) // 60:,} minutes")
    yield judged(
        "deliveries",
        "none dead, and none waits too long",
        "; ".join(wrong) or None,
        "Run: recoup deliveries list --status dead --status queued",
        verdict="warning",
    )
