"""Every metric: its name, type, labels and meaning."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from recoup.domain import Domain, sources
from recoup.signals import Signal

PREFIX = "recoup_"
MAX_COUNTED = 10_000
RESERVED = ("_count", "_sum", "_total", "_bucket")  # endings that Prometheus gives to counters and histograms
OF_UNIT = {"share": "_ratio", "count": "", "seconds": "_seconds"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric. ``parts``: the values of its labels are few, or bounded."""

    name: str
    type: Literal["gauge", "counter", "histogram"]
    meaning: str
    labels: tuple[str, ...] = ()


def _gauge(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(name=PREFIX + name, type="gauge", meaning=meaning, labels=labels)


def _counter(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(name=PREFIX + name, type="counter", meaning=meaning, labels=labels)


UP = _gauge("up", "1 if the database answered this scrape, else 0: then all that is read from it is missing.")
SCRAPE_SECONDS = _gauge("scrape_seconds", "How long reading from the database took, by part.", "part")
SCRAPE_FAILED = _gauge("scrape_failed", "1 if a part could not be read this time, else 0.", "part")
INFO = _gauge("build_info", "1. The version of the program that answers.", "version")
RELEASE = _gauge("schema_release", "The release of a domain's schema.", "domain", "epoch")
POLICY_VERSION = _gauge("policy_version", "The version of the active policy.")
CLOCK_AHEAD = _gauge(
    "clock_offset_seconds",
    "The product's clock minus real time. Other than about 0 where time is simulated, as in a demo.",
)

WORKERS = _gauge(
    "workers", "Workers by whether they sent a heartbeat within worker.lost_after_s: alive, silent.", "state"
)
WORKER_BEAT = _gauge("worker_heartbeat_age_seconds", "Age of the last heartbeat of any running worker.")
DUTY_LAG = _gauge(
    "duty_lag_seconds", "How long the oldest unit of a background task has been waiting; 0: none waits.", "duty"
)
DUTY_RUNS = _counter("duty_runs_total", "Batches of a background task, by running worker.", "duty", "worker")
DUTY_UNITS = _counter("duty_units_total", "Units of a background task that were done.", "duty", "worker")
DUTY_FAILURES = _counter("duty_failures_total", "Batches of a background task that failed.", "duty", "worker")
DUTY_LAST_RUN = _gauge(
    "duty_last_run_timestamp_seconds",
    "When a running worker last ran a background task, in seconds since 1970, by the product's clock.",
    "duty", "worker",
)  # fmt: skip
PAUSED = _gauge("pauses", "What is paused, by kind of scope.", "scope")

QUEUE = _gauge(
    "queue_units",
    f"Units of a queue by stage, counted up to {MAX_COUNTED:,}: {MAX_COUNTED:,} means that or more.",
    "queue", "stage",
)  # fmt: skip
QUEUE_LAG = _gauge("queue_lag_seconds", "How long the longest due unit has been waiting; 0: none is due.", "queue")
OLDEST_LEASE = _gauge(
    "oldest_lease_seconds",
    "For how long the claim is held whose lease ends first, or should have ended first; 0: nothing is claimed.",
    "queue",
)

SUBSCRIPTION_LAG = _gauge(
    "subscription_lag_seconds", "Age of the first event that a subscription has not acknowledged; 0: none.", "log",
    "subscription",
)  # fmt: skip
HORIZON_TRANSACTIONS = _gauge(
    "log_horizon_transactions",
    "Transactions begun since the oldest open one. While this grows, events wait to be sealed, and dead rows stay.",
)
HORIZON_SECONDS = _gauge(
    "log_horizon_seconds",
    "Age of the oldest open transaction that has written; of others' as far as the login may see them.",
)

ALERTS = _gauge("alerts_firing", "Alerts that fire, by severity.", "severity")
ALERTS_JUDGED = _gauge(
    "alerts_judged_age_seconds", "When a worker last measured the signals below: their age, in seconds."
)
SIGNALS_FAILING = _gauge("signals_failing", "Groups of signals that could not be measured the last time.")

REQUESTS = _counter("http_requests_total", "Answered requests of this process.", "method", "route", "status")
REQUEST_SECONDS = Metric(
    name=PREFIX + "http_request_seconds",
    type="histogram",
    meaning="How long requests of this process took, until the first byte of the answer.",
    labels=("method", "route"),
)
REQUESTS_OPEN = _gauge("http_requests_in_progress", "Requests in progress in this process, streams included.")

PLATFORM = (
    UP, SCRAPE_SECONDS, SCRAPE_FAILED, INFO, RELEASE, POLICY_VERSION, CLOCK_AHEAD,
    WORKERS, WORKER_BEAT, DUTY_LAG, DUTY_RUNS, DUTY_UNITS, DUTY_FAILURES, DUTY_LAST_RUN, PAUSED,
    QUEUE, QUEUE_LAG, OLDEST_LEASE, SUBSCRIPTION_LAG, HORIZON_TRANSACTIONS, HORIZON_SECONDS,
    ALERTS, ALERTS_JUDGED, SIGNALS_FAILING, REQUESTS, REQUEST_SECONDS, REQUESTS_OPEN,
)  # fmt: skip


def of_signal(signal: Signal) -> Metric:
    """The metric of what alerts are raised on. Its key is a table, a duty, a route, an owner, or ``overall``."""
    meaning = signal.description[0].upper() + signal.description[1:].rstrip(".") + "."
    name = PREFIX + signal.name + OF_UNIT[signal.unit]
    if name.endswith(RESERVED):
        name += "_now"
    return Metric(name=name, type="gauge", meaning=meaning, labels=("key",))


def of_signals(domains: Sequence[Domain]) -> Iterator[tuple[str, Metric]]:
    """By the names of the signals."""
    for source in sources(domains):
        for signal in source.signals:
            yield signal.name, of_signal(signal)


def every(domains: Sequence[Domain]) -> tuple[Metric, ...]:
    """All metrics, those of the platform first."""
    return (*PLATFORM, *(metric for _, metric in of_signals(domains)))
