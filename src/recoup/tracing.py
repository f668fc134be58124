"""Spans of OpenTelemetry, where its SDK is installed: one for each request, and one for each batch that did something.

They go where the program sends its spans: ``opentelemetry-instrument recoup worker`` takes that from the variables
``OTEL_…``. Without the SDK nothing is imported. A span has names, numbers and codes; no bodies, keys or rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from recoup.refusals import Refusal

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

NANOSECONDS = 1_000_000_000


@contextmanager
def request(method: str, route: str, headers: Mapping[str, str]) -> Iterator[Callable[[int], None]]:
    """The span of a request, within that of its caller if the headers name one. Call what it gives with the status."""
    tracer = _tracer()
    if tracer is None:
        yield lambda status: None
        return
    from opentelemetry import propagate
    from opentelemetry.trace import SpanKind, StatusCode

    with tracer.start_as_current_span(
        f"{method} {route}",
        context=propagate.extract(headers),
        kind=SpanKind.SERVER,
        attributes={"http.request.method": method, "http.route": route},
        record_exception=False,  # its text may hold values
        set_status_on_exception=False,
    ) as span:

        def answered(status: int) -> None:
            span.set_attribute("http.response.status_code", status)
            if status >= 500:
                span.set_status(StatusCode.ERROR)

        yield answered


def batch(duty: str, authority: str, seconds: float, *, done: int = 0, failure: Exception | None = None) -> None:
    """The span of a batch that has just ended."""
    tracer = _tracer()
    if tracer is None:
        return
    from opentelemetry.trace import StatusCode

    end = time.time_ns()
    attributes: dict[str, str | int] = {"recoup.duty": duty, "recoup.authority": authority, "recoup.done": done}
    span = tracer.start_span(f"duty {duty}", start_time=end - int(seconds * NANOSECONDS), attributes=attributes)
    if failure is not None:
        span.set_attribute("error.type", failure.code if isinstance(failure, Refusal) else type(failure).__name__)
        span.set_status(StatusCode.ERROR)
    span.end(end_time=end)


@cache
def _tracer() -> Tracer | None:
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return None
    from opentelemetry import trace

    return trace.get_tracer("recoup")
