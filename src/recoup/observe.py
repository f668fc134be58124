"""What Recoup says about itself while it works: structured logs and counters.

A line of log is an event in a few words, and its facts by name: ``duty``, ``authority``, ``unit``, ``seconds``. On a
terminal it is for reading, elsewhere it is JSON, one object a line. In a program that has not asked for that, lines go
where its own go: to ``logging``, or to structlog if the program has configured it. No line tells what variables held.
Counters are Prometheus's; they are collected here and given out by whatever serves them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from structlog.typing import FilteringBoundLogger

REGISTRY = CollectorRegistry()

BATCHES = Counter("recoup_duty_batches", "Batches run, by duty and outcome", ["duty", "outcome"], registry=REGISTRY)
UNITS = Counter("recoup_duty_units", "Units done, by duty", ["duty"], registry=REGISTRY)
SECONDS = Histogram("recoup_duty_seconds", "Length of batches that did something", ["duty"], registry=REGISTRY)
REFUSED_UNITS = Counter("recoup_duty_refused_units", "Units that were refused alone too", ["duty"], registry=REGISTRY)
WAKES = Counter("recoup_worker_wakes", "Wake-ups by notification", registry=REGISTRY)
HEARTBEATS = Counter("recoup_worker_heartbeats", "Heartbeats, by outcome", ["outcome"], registry=REGISTRY)
OVERDUE_BATCHES = Gauge("recoup_batches_overdue", "Batches not declared complete in time", registry=REGISTRY)
EXPIRED_BLOCKING = Counter(
    "recoup_errors_expired_blocking", "Errors that expired while they blocked their entity", registry=REGISTRY
)
RUNNING = Gauge("recoup_worker_running", "Duties that run at this moment", registry=REGISTRY)


class _Lines:
    """Standard error, if anybody reads it. Nobody who works ends because nobody listens any more, or a disk is full."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a broken pipe, a terminal that is gone, a closed file
            if self._stream is not None:
                self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.flush()


def configure(*, level: str = "info", json: bool | None = None) -> None:
    """Send log lines to standard error, as JSON unless it is a terminal."""
    import structlog

    # Without what the variables held: passwords and keys would stand in the log.
    where_and_why = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    as_json = not (sys.stderr is not None and sys.stderr.isatty()) if json is None else json
    plain = structlog.dev.ConsoleRenderer(
        colors=not os.environ.get("NO_COLOR"), exception_formatter=structlog.dev.plain_traceback
    )
    renderer = structlog.processors.JSONRenderer() if as_json else plain
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([structlog.processors.ExceptionRenderer(where_and_why)] if as_json else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Lines(sys.stderr))),
        cache_logger_on_first_use=False,
    )


def logger(**facts: object) -> FilteringBoundLogger:
    """A logger that tells these facts with every line."""
    import structlog  # late: it takes as long to import as everything else together

    if structlog.is_configured():
        return cast("FilteringBoundLogger", structlog.get_logger(**facts))
    # structlog's own default prints to standard output, and with an exception what all variables held.
    plain = structlog.wrap_logger(
        logging.getLogger("recoup"), processors=[_to_logging], wrapper_class=structlog.stdlib.BoundLogger
    )
    return cast("FilteringBoundLogger", plain.bind(**facts))


def _to_logging(_: object, __: str, event: MutableMapping[str, Any]) -> tuple[tuple[str, str], dict[str, Any]]:
    """A line for ``logging``: event and facts as its message, an exception as it prints them."""
    words, failure = event.pop("event"), event.pop("exc_info", None)
    facts = " ".join(f"{name}={value}" for name, value in event.items())
    return ("%s", f"{words} {facts}".rstrip()), {"exc_info": failure}
