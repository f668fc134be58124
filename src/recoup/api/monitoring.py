"""``/healthz``, ``/readyz`` and ``/metrics``, and how long requests take."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recoup.api import requests
from recoup.api.callers import Callers
from recoup.api.declare import Route
from recoup.api.serving import is_loopback
from recoup.database.connection import Database
from recoup.domain import Domain
from recoup.lifecycles.declaration import Authority
from recoup.metrics import declared
from recoup.metrics.rendering import CONTENT_TYPE, Exposition
from recoup.readiness import is_ready, readiness
from recoup.refusals import Refusal

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
OWN = ("/healthz", "/readyz", "/metrics")
METRICS = Route(
    method="GET", path="/metrics", area="metrics", authority=Authority.READER, run=lambda _: None, whole=True
)
UNKNOWN = "unknown"  # a path that no route has: a stranger must not make series
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


class Measured:
    """ASGI middleware: counts requests, and measures how long they take until the answer begins."""

    def __init__(self, app: ASGIApp, *, registry: CollectorRegistry) -> None:
        self._app = app
        requests, seconds, in_progress = declared.REQUESTS, declared.REQUEST_SECONDS, declared.REQUESTS_OPEN
        self._count = Counter(
            requests.name.removesuffix("_total"), requests.meaning, requests.labels, registry=registry
        )
        self._seconds = Histogram(seconds.name, seconds.meaning, seconds.labels, registry=registry, buckets=BUCKETS)
        self._open = Gauge(in_progress.name, in_progress.meaning, registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._seconds.labels(*_labels(scope)).observe(time.perf_counter() - begun)
            await send(message)

        with self._open.track_inprogress():
            try:
                await self._app(scope, receive, sent)
            finally:
                self._count.labels(*_labels(scope), status or 499).inc()  # 499: the client left before an answer


def _labels(scope: Scope) -> tuple[str, str]:
    """Method and route: the path as it was declared, never as it was sent."""
    method = scope["method"]
    path = scope["path"] if scope["path"] in OWN else getattr(scope.get("route"), "path", UNKNOWN)
    return (method if method in METHODS else "other", path)


def _check_reader(request: Request) -> None:
    """Metrics are for this machine, if there is no proxy in front of it; and for keys that may read."""
    callers: Callers = request.app.state.callers
    try:
        requests.check_origin(request)
        is_here = request.client is not None and is_loopback(request.client.host)
    except Refusal:
        is_here = False
    if not is_here:
        callers.check_origin(request)
        callers.admitted(request, METRICS)


def monitored(database: Database, domains: Sequence[Domain]) -> Callable[[FastAPI], None]:
    """What adds these routes to an application."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each, which nobody asks for
    own = CollectorRegistry()
    exposition = Exposition(database, domains, own=own)

    def healthz(_: Request) -> Response:
        return _json(200, {"status": "ok"})

    def readyz(_: Request) -> Response:
        found = readiness(database, domains)
        ready = is_ready(found)
        checks = [
            {"check": one.check, "verdict": one.verdict, "found": one.found, "next": one.next_step} for one in found
        ]
        return _json(200 if ready else 503, {"status": "ready" if ready else "not ready", "checks": checks})

    def metrics(request: Request) -> Response:
        _check_reader(request)
        return Response(exposition.text(), media_type=CONTENT_TYPE)

    def add(app: FastAPI) -> None:
        for path, answer in zip(OWN, (healthz, readyz, metrics), strict=True):
            app.add_route(path, answer, methods=["GET"], include_in_schema=False)
        app.add_middleware(Measured, registry=own)

    return add


def _json(status: int, answer: object) -> Response:
    return Response(
        json.dumps(answer) + "\n", status_code=status, media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )  # fmt: skip
