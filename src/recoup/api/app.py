"""The application: every domain's routes, and what is the same for all of them."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from recoup import __version__, observe
from recoup.api import documents, problems
from recoup.api.callers import Callers
from recoup.api.declare import Area, Route
from recoup.api.endpoints import Endpoint, ServiceRoute
from recoup.api.work import Background
from recoup.database.connection import Database
from recoup.domains import DOMAINS
from recoup.refusals import InputRefused, Refusal
from recoup.service.logins import Logins

MAINTAIN_S = 5.0
ABOUT = """The recovery plane for failed work, on PostgreSQL: the same functions as the library and the commands.

Every write takes an `Idempotency-Key`: the same request with the same key is answered once. Whatever is refused has one
shape, `application/problem+json`: a stable code, what happened, and what to do next."""


def areas() -> list[Area]:
    """The routes of all domains, as their manifests list them."""
    found: dict[str, Area] = {}
    for path in [path for domain in DOMAINS for path in domain.api]:
        module, _, name = path.partition(":")
        area: Area = getattr(import_module(module), name)
        found.setdefault(path, area)
    return list(found.values())


def build(
    database: Database, *, keyed: bool, logins: Logins | None = None, also: Sequence[Callable[[FastAPI], None]] = ()
) -> FastAPI:
    """The application over a database. ``keyed``: every call needs a key; without, only this machine may call.

    ``logins``: those through which callers act, of this database; without, all act through its own. ``also``: what adds
    routes that are no part of the API, such as metrics.
    """
    logins = logins or Logins(database, {})
    background = Background()
    stopping = threading.Event()
    endpoint = Endpoint(logins=logins, keyed=keyed, background=background, stopping=stopping)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Threads beyond the connections would only wait for one.
        anyio.to_thread.current_default_thread_limiter().total_tokens = max(8, 2 * database.settings.pool_max)
        async with AsyncExitStack() as others, anyio.create_task_group() as tasks:
            tasks.start_soon(_maintained, endpoint.callers)
            tasks.start_soon(endpoint.streams.run)
            for running in app.state.running:
                await others.enter_async_context(running())
            yield
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(background.close)
        await _once_maintained(endpoint.callers)

    app = FastAPI(
        title="Recoup",
        version=__version__,
        description=ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    app.state.stopping, app.state.callers = stopping, endpoint.callers
    app.state.running = []  # what others run while the application does, as asynchronous context managers
    found = areas()
    app.openapi_tags = [{"name": area.name, "description": area.about} for area in found]
    _answer_refusals(app)
    for area in found:
        for route in area.routes:
            _add(app, endpoint, route)
    _add_document(app, endpoint)
    for add in also:
        add(app)
    return app


async def _maintained(callers: Callers) -> None:
    while True:
        await anyio.sleep(MAINTAIN_S)
        await _once_maintained(callers)


async def _once_maintained(callers: Callers) -> None:
    try:
        await anyio.to_thread.run_sync(callers.maintain)
    except Exception:  # noqa: BLE001 - the server may be away; the next turn tries again
        observe.logger().exception("the service's own work failed")


def _add(app: FastAPI, endpoint: Endpoint, route: Route) -> None:
    app.router.routes.append(
        ServiceRoute(
            route.path,
            endpoint.of(route),
            methods=[route.method],
            name=route.name,
            operation_id=route.name,
            tags=[route.area],
            summary=route.summary,
            description=route.about,
            status_code=route.status,
            declared=route,
            served_by=endpoint,
            **documents.described(route),
        )
    )


def _add_document(app: FastAPI, endpoint: Endpoint) -> None:
    """The OpenAPI document; built when it is first asked for."""

    def document(request: Request) -> Response:
        endpoint.check_origin(request)
        return Response(documents.openapi(app), media_type="application/json")

    app.add_route("/v1/openapi.json", document, methods=["GET"], include_in_schema=False)


def _answer_refusals(app: FastAPI) -> None:
    async def refused(_: Request, refusal: Exception) -> Response:
        assert isinstance(refusal, Refusal)
        return problems.answer(refusal)

    async def malformed(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problems.answer(_malformed(error.errors()))

    async def not_routed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problems.answer(_not_routed(request, error), headers=error.headers)

    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, not_routed)


def _not_routed(request: Request, error: HTTPException) -> InputRefused:
    if error.status_code == 404:
        return InputRefused(
            "route_unknown", f"There is no route {request.url.path[:200]!r}.", "GET /v1/openapi.json lists every route."
        )
    if error.status_code == 405:
        return InputRefused(
            "method_not_allowed",
            f"{request.method[:20]!r} is not for this path.",
            "GET /v1/openapi.json lists every route.",
        )
    return InputRefused("request_malformed", str(error.detail)[:200], "Correct the request.")


def _malformed(found: Sequence[Any]) -> InputRefused:
    """What is wrong with the values of a request, without the values."""
    places = [".".join(str(part)[:100] for part in one["loc"][1:]) or str(one["loc"][0]) for one in found]
    said = [f"{place}: {str(one['msg'])[:200]}" for place, one in zip(places, found, strict=True)]
    return InputRefused(
        "value_unusable",
        f"{said[0]}." if len(said) == 1 else f"{said[0]}; and {len(said) - 1} more.",
        "Correct it. /v1/openapi.json has the form of every request.",
        values=said[:20],
    )
