"""Health checks of runs."""

from collections.abc import Iterator

from recoup.database.connection import Transaction
from recoup.health import CheckResult, judged, read
from recoup.refusals import SettingRefused
from recoup.runs.orphans import VARIABLE, override

SILENT = """
select count(*), min(r.heartbeat_at) from recovery.run r
 where r.status = 'running' and r.heartbeat_at < (
   select recoup.now() - 2 * make_interval(mins => (p.figures -> 'runs' ->> 'orphan_threshold_minutes')::integer)
     from recoup.policy p order by p.version desc limit 1)
"""


def runs(connection: Transaction) -> Iterator[CheckResult]:
    """Whether silent runs are being marked, and whether the environment overrides the threshold."""
    wrong = None
    for count, since in read(connection, SILENT):
        if count:
            wrong = f"{count:,} silent since {since:%Y-%m-%d %H:%M}Z and still running: no worker marks them crashed"
    try:
        minutes = override()
    except SettingRefused as refusal:
        yield CheckResult(check="runs", verdict="error", found=refusal.happened, next_step=refusal.next_step)
        return
    found = "no silent runs" + ("" if minutes is None else f"; {VARIABLE} sets {minutes} minutes of silence here")
    yield judged("runs", found, wrong, "Start a worker: recoup worker --duty orphaned-runs", verdict="warning")
