"""Pages of the console over HTTP, compared with the queries of the same pages in this process."""

from __future__ import annotations

import http.client
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from recoup.console.declare import Page, Seen
from recoup.console.pages import SECTIONS
from recoup.console.sessions import COOKIE
from recoup.lifecycles.declaration import Authority
from recoup.service import local, sessions
from recoup_bench.api import served
from recoup_bench.measure import OURS, RAW, Timed
from recoup_bench.metrics import MONTH_HOURS, filled
from recoup_bench.workload import Aim, Size, Stage, Trial, Workload, small

# What people open most, over many errors. Each round asks for each as often as its batch says.
PATHS = ("/", "/errors", "/errors/list", "/errors/list?status=PARKED", "/errors/queue", "/operations", "/alerts",
         "/recovery", "/runs")  # fmt: skip
PAGES = {page.path: page for section in SECTIONS for page in section.pages}


def reading(trial: Trial) -> Stage:
    """How long each page took, over HTTP and its queries alone, in turns."""
    filled(trial, MONTH_HOURS)
    caller = local(trial.ground.ours.settings.actor)
    token = sessions.open_session(trial.ground.ours, caller).token
    with served(trial.ground) as client:
        while True:
            took: dict[str, dict[str, list[float]]] = {path: {OURS: [], RAW: []} for path in PATHS}
            for path in PATHS * trial.units:
                took[path][OURS].append(_timed(partial(_over_http, client, path, token)))
                took[path][RAW].append(_timed(partial(_queries, trial, path)))
            yield took


def _over_http(client: http.client.HTTPConnection, path: str, token: str) -> None:
    client.request("GET", path, headers={"Cookie": f"{COOKIE}={token}"})
    answer = client.getresponse()
    body = answer.read()
    assert answer.status == 200, body[-2000:]


def _queries(trial: Trial, path: str) -> None:
    place, _, query = path.partition("?")
    page: Page = PAGES[place]
    with trial.ground.ours.transaction(Authority.READER) as tx:
        page.run(Seen(tx=tx, caller=local("bench"), path=place, query=query, params={}))


def _timed(act: Callable[[], None]) -> float:
    since = time.perf_counter()
    act()
    return time.perf_counter() - since


def over_http(trial: Trial) -> Timed:
    """The slowest of twenty of each page, compared with the slowest of twenty of its queries."""
    return _summed(trial, OURS)


def by_queries(trial: Trial) -> Timed:
    return _summed(trial, RAW)


def _summed(trial: Trial, side: str) -> Timed:
    took: dict[str, dict[str, list[float]]] = trial.rows
    shown: dict[str, Any] = {f"ms{path}": 1000 * _p95(one[side]) for path, one in took.items()}
    shown["p95_ratio"] = max(_p95(one[side]) / _p95(one[RAW]) for one in took.values())
    seconds = sum(sum(one[side]) for one in took.values())
    return Timed(units=trial.units * len(PATHS), seconds=seconds, metrics=shown)


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


CONSOLE = Workload(
    name="console-pages", description="open pages of the console, compared with their queries (as raw)",
    unit="pages", k=1, stage=reading, ours=over_http, raw=by_queries, aims=(Aim(metric="p95_ratio", most=3),),
    full=Size(batches=20, idle=1_000_000, rounds=3, warm_ups=1), quick=small(batches=5, idle=100_000, rounds=3),
)  # fmt: skip
