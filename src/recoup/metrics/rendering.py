"""Values as the text that Prometheus reads, with those that this process counts itself."""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from recoup.database.connection import Database
from recoup.domain import Domain
from recoup.metrics.reading import Reader, Value

CONTENT_TYPE = CONTENT_TYPE_LATEST
FRESH_S = 1.0  # several Prometheus servers, or a person who reloads, share what was read this recently


@dataclass
class Exposition:
    """What ``/metrics`` answers. One for each process; safe to share between threads."""

    database: Database
    domains: Sequence[Domain]
    own: CollectorRegistry | None = None  # what this process counts itself
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _read_at: float = float("-inf")
    _text: bytes = b""

    def text(self) -> bytes:
        """The text. One scrape at a time reads; those that came meanwhile get the same."""
        with self._lock:
            if time.monotonic() - self._read_at >= FRESH_S:
                self._text = rendered(Reader(self.domains).read(self.database))
                self._read_at = time.monotonic()
            own = b"" if self.own is None else generate_latest(self.own)
            return self._text + own


def rendered(values: Iterable[Value]) -> bytes:
    """Values as text, every metric with its type and meaning."""
    registry = CollectorRegistry()
    registry.register(_Read(list(values)))
    return generate_latest(registry)


class _Read(Collector):
    def __init__(self, values: Sequence[Value]) -> None:
        self._values = values

    def collect(self) -> Iterator[Family]:
        families: dict[str, GaugeMetricFamily | CounterMetricFamily] = {}
        seen: set[tuple[str, tuple[str, ...]]] = set()
        for one in self._values:
            metric = one.metric
            if (
                metric.name,
                one.labels,
            ) in seen:  # two workers of one name: the first is the one with the newest heartbeat
                continue
            seen.add((metric.name, one.labels))
            if metric.name not in families:
                kind = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
                families[metric.name] = kind(metric.name, metric.meaning, labels=metric.labels)
            families[metric.name].add_metric(one.labels, one.value)
        yield from families.values()
