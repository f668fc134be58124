"""docs/reference/metrics.md: every metric, from its declaration."""

from __future__ import annotations

from collections.abc import Sequence

from recoup.domain import Domain
from recoup.metrics import declared
from recoup.metrics.declared import Metric

HEAD = """# Metrics

What `/metrics` of `recoup api` and `recoup up` answers, in the text format of Prometheus. {written}
Values come from the database, so every API process answers the same for them; `recoup_http_…` are counted by the
process that answers. Ages and lags are by the product's clock. A scrape reads a bounded number of rows, however many
there are. Where keys are in use, reading metrics needs one with the role viewer.

[Rules for alerts](../../examples/prometheus/alerts.yml) and [a Grafana dashboard](../../examples/grafana/recoup.json)
use them; [how to set both up](../howto/run-the-service.md#metrics).

## Of the platform
"""
SIGNALS = """
## What alerts are raised on

Measured by a worker, at most 15 seconds apart, and judged by the rules of the policy (`recoup alerts rules`). A signal
has a value here while a rule of the policy is about it. The label `key` is an error table, a background task, a route,
an owner or a raw sink; `overall` for one number about all. Shares are parts of 1.
"""


def page(domains: Sequence[Domain], written: str) -> str:
    signals = [metric for _, metric in declared.of_signals(domains)]
    return HEAD.format(written=written.strip()) + _table(declared.PLATFORM) + SIGNALS + _table(signals)


def _table(metrics: Sequence[Metric]) -> str:
    lines = ["", "| metric | type | labels | meaning |", "|---|---|---|---|"]
    for one in metrics:
        labels = ", ".join(f"`{label}`" for label in one.labels)
        lines.append(f"| `{one.name}` | {one.type} | {labels} | {one.meaning} |")
    return "\n".join(lines) + "\n"
