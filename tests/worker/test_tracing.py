"""Spans of OpenTelemetry: what a worker and the API did, without values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from recoup.database.connection import Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.worker.duty import Duty
from recoup.worker.loop import WorkerLoop
from serving import calling

PATIENCE_S = 60


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    """Where the spans of this process go from now on, and nowhere when the module has ended."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    yield kept
    provider.shutdown()


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Callable[[], list[ReadableSpan]]:
    exporter.clear()
    return lambda: [span for span in exporter.get_finished_spans() if _is_ours(span)]


def _is_ours(span: ReadableSpan) -> bool:
    return span.instrumentation_scope is not None and span.instrumentation_scope.name == "recoup"


def test_a_batch_that_did_something_is_a_span(
    fresh: Callable[..., Database], spans: Callable[[], list[ReadableSpan]]
) -> None:
    """One that found nothing is none; one that failed says how, and not with which values."""
    turns: Iterator[int | Exception] = iter([3, 0, RuntimeError("password=hunter2"), 0])
    over = threading.Event()

    def batch(_tx: Transaction, _policy: Policy) -> int:
        turn = next(turns, None)
        if turn is None:
            over.set()
            return 0
        if isinstance(turn, Exception):
            raise turn
        return turn

    duty = Duty(
        name="traced", authority=Authority.GATE, cadence_s=0.1, description="a test", batch=batch, lag=lambda _: None
    )
    worker = WorkerLoop(fresh(), [duty], name="tracer")
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        assert over.wait(PATIENCE_S)
    finally:
        worker.stop()
        thread.join(PATIENCE_S)
    done, failed = spans()
    assert done.name == failed.name == "duty traced"
    assert dict(done.attributes or {}) == {"recoup.duty": "traced", "recoup.authority": "gate", "recoup.done": 3}
    assert (done.end_time or 0) > (done.start_time or 0)
    assert (failed.attributes or {})["error.type"] == "RuntimeError"
    assert not failed.status.is_ok
    assert "hunter2" not in done.to_json() + failed.to_json()


def test_a_request_is_a_span_of_its_callers_trace(db: Database, spans: Callable[[], list[ReadableSpan]]) -> None:
    trace_id = uuid4().hex
    with calling(db) as api:
        api.get("/v1/errors", params={"limit": 1}, headers={"traceparent": f"00-{trace_id}-{'1' * 16}-01"})
        api.post("/v1/errors", json={"table": "no.such_table", "message": "token=abc123secret"})
    listed, refused = spans()
    assert (listed.name, refused.name) == ("GET /v1/errors", "POST /v1/errors")
    assert f"{listed.context.trace_id:032x}" == trace_id
    assert (listed.attributes or {})["http.response.status_code"] == 200
    assert (refused.attributes or {})["http.response.status_code"] == 422
    assert "abc123secret" not in refused.to_json()
