"""The doctor's checks of alerts."""

from collections.abc import Iterator

from recoup.database import failures
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.formatting import plural
from recoup.health import CheckResult, judged, read

Q = load("recoup.alerts", "alerts.sql")
MAX_LATE_S = 300


def alerts(connection: Transaction) -> Iterator[CheckResult]:
    """Which alerts fire, whether they are judged, and whether anybody would notice if not."""
    if connection.info.dbname == failures.DEMO:
        return
    ((firing, which, judged_at, late_s, failing, route),) = read(connection, Q["health"].as_string())
    yield judged(
        "alerts",
        "none fires" + ("" if route else "; no heartbeat route is set: docs/howto/get-alerted.md"),
        f"{plural(firing, 'alert fires', 'alerts fire')}: {which}" if firing else None,
        "Run: recoup alerts list",
        verdict="warning",
    )
    wrong = [f"not measured: {name} ({why})" for name, why in failing.items()]
    if judged_at is not None and late_s > MAX_LATE_S:
        wrong.append(f"not judged since {judged_at:%Y-%m-%d %H:%M}Z")
    yield judged(
        "signals",
        "none judged yet: no worker has run" if judged_at is None else f"judged at {judged_at:%Y-%m-%d %H:%M:%S}Z",
        "; ".join(wrong) or None,
        "Start a worker: recoup worker --duty alerts",
        verdict="warning",
    )
