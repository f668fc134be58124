"""From a declared route to what the server calls: one transaction under the caller's name, one answer."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

import psycopg
from fastapi import Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from recoup import observe, tracing
from recoup.api import answers, problems, requests
from recoup.api.callers import Callers
from recoup.api.declare import Route
from recoup.api.streams import Position, Stream, Streams
from recoup.api.work import Background
from recoup.database.connection import Database, Transaction
from recoup.redaction import in_words
from recoup.refusals import Refusal, ServerRefused
from recoup.service import Principal, Stored, answered, digest, once
from recoup.service.logins import Logins

# Printable, so that it can be shown; a UUID is a good one.
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[!-~]+$",
        description="The same request with the same key is answered once, for 24 hours: send it again after a timeout.",
    ),
]
OWN = ("tx", "call")


@dataclass(slots=True, kw_only=True)
class Call:
    """One call of a route, for those that need to know more than their transaction."""

    caller: Principal
    database: Database  # as the caller may use it
    background: Background
    about: str | None = None  # the id of what was made, for a repeated request if the answer is not kept
    afterwards: list[Callable[[], None]] = field(default_factory=list)  # after the commit


class Endpoint:
    """Makes endpoints of routes."""

    def __init__(self, *, logins: Logins, keyed: bool, background: Background, stopping: threading.Event) -> None:
        self.callers = Callers(logins, keyed=keyed)
        self.background = background
        self.streams = Streams(self.callers, stopping)

    def check_origin(self, request: Request) -> None:
        self.callers.check_origin(request)

    def of(self, route: Route) -> Callable[..., Response]:
        """A function whose signature is the route's, without what is ours."""
        hints = get_type_hints(route.run, include_extras=True)
        signature = inspect.signature(route.run)
        kind = hints.get("return", type(None))
        wants_call = "call" in signature.parameters

        def called(request: Request, **given: Any) -> Response:
            key = given.pop("idempotency_key", None)
            caller: Principal = request.state.caller
            call = Call(caller=caller, database=self.callers.seen_as(caller), background=self.background)
            if wants_call:
                given["call"] = call
            with self.callers.acting(caller, route.authority, _reason(given)) as tx:
                if key is not None and (stored := _once(tx, caller, key, request)) is not None:
                    return _replayed(stored)
                answer = route.run(tx, **given)
                body = answers.written(kind, answer) if kind is not type(None) else b""
                if key is not None:
                    answered(
                        tx, caller, key, status=route.status, answer=body.decode(), secret=route.secret,
                        about=call.about,
                    )  # fmt: skip
            for act in call.afterwards:
                act()
            return _response(route, body)

        async def streamed(request: Request, **given: Any) -> Response:
            caller: Principal = request.state.caller

            def begun() -> Position:
                with self.callers.acting(caller, route.authority) as tx:
                    position: Position = route.run(tx, **given)
                return position

            position = await run_in_threadpool(begun)
            return self.streams.opened(Stream(caller, self.callers.secret_of(request), position))

        made: Any = streamed if route.streams else called
        parameters = [
            one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY)
            for one in signature.parameters.values()
            if one.name not in OWN
        ]
        own = [inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)]
        if route.writes:
            own.append(
                inspect.Parameter(
                    "idempotency_key", inspect.Parameter.KEYWORD_ONLY, annotation=IdempotencyKey, default=None
                )
            )
        made.__signature__ = inspect.Signature([*own, *parameters], return_annotation=Response)
        made.__name__, made.__doc__ = route.name, route.about
        made.__annotations__ = {one.name: one.annotation for one in (*own, *parameters)} | {"return": Response}
        return made  # type: ignore[no-any-return]


def _response(route: Route, body: bytes) -> Response:
    return Response(body, status_code=route.status, media_type="application/json" if body else None)


def _reason(given: dict[str, Any]) -> str | None:
    """The reason in a body or a query, which the transaction is given."""
    if isinstance(given.get("reason"), str):
        return str(given["reason"])
    for value in given.values():
        found = getattr(value, "reason", None)
        if isinstance(found, str):
            return found
    return None


def _once(tx: Transaction, caller: Principal, key: str, request: Request) -> Stored | None:
    """What an equal request was answered: of the same method, path, parameters and body."""
    path = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
    # A key of the API that was sent in the wrong place is not stored.
    return once(tx, caller, key, request.method, in_words(path), digest(request.state.body))


def _replayed(stored: Stored) -> Response:
    kind = "application/json" if stored.answer else None
    headers = {"Idempotent-Replayed": "true"}
    return Response(stored.answer, status_code=stored.status, media_type=kind, headers=headers)


class ServiceRoute(APIRoute):
    """A route that admits its caller before it reads the body, and answers every error in one shape."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, declared: Route, served_by: Endpoint, **more: Any):
        self.declared, self.served_by = declared, served_by
        super().__init__(path, endpoint, **more)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()
        route, callers = self.declared, self.served_by.callers

        async def handled(request: Request) -> Response:
            with tracing.request(route.method, route.path, request.headers) as answered:
                response = await answer(request)
                answered(response.status_code)
            return response

        async def answer(request: Request) -> Response:
            try:
                callers.check_origin(request)
                callers.check_schema()
                request.state.caller = await run_in_threadpool(callers.admitted, request, route)
                body = await requests.read(request)
                read = requests.Read(request.scope, request.receive)
                read.given = requests.parsed(request, body) if route.has_body else None
                request.state.body = body
                return await inner(read)
            except (HTTPException, RequestValidationError):
                raise
            except Refusal as refusal:
                return problems.answer(refusal)
            except ClientDisconnect:  # in the middle of its body: nobody is left to answer, and nothing is wrong here
                return Response(status_code=499)
            except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer and we the traceback
                return _failed(route, error)

        return handled


def _failed(route: Route, error: Exception) -> Response:
    refusal = problems.from_server(error) if isinstance(error, psycopg.Error) else None
    if refusal is None:
        observe.logger().exception("request failed", route=route.name, exc_info=error)
        refusal = ServerRefused(
            "internal_error", "This is a bug of Recoup. It was logged.", "Read the log of the service, and report it."
        )
    return problems.answer(refusal)
