"""The console as an application: who looks, pages, forms, files, and what every answer says to the browser."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, quote

import psycopg
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from recoup import observe
from recoup.api import problems, requests
from recoup.api.callers import Callers
from recoup.api.streams import HEADERS
from recoup.console import files, forms, rendering, sessions
from recoup.console.acting import Actions, Answer, refusal_of
from recoup.console.declare import Context, Page, Section, Seen
from recoup.console.forms import Field
from recoup.console.live import Live, running
from recoup.console.pages import PLOTS, SECTIONS
from recoup.console.sessions import Signed
from recoup.ledger import subscriptions
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, Refusal, ServerRefused
from recoup.service import Denied, Principal

# Everything comes from us, no script or style is in a page, nothing frames us, and forms go nowhere else.
SAFE = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
MAX_FORM = 2_000_000  # bytes: ten thousand ids
MAX_FIELDS = 20_000
ASKS_FIRST = "_preview"  # the field of a form that asks what it would do
SESSION_CODES = ("session_missing", "session_ended")
Handler = Callable[[Request], Any]


def console(*, demo: bool = False) -> Callable[[FastAPI], None]:
    """What adds the console to the application of the API."""

    def add(app: FastAPI) -> None:
        site = Site(app, demo=demo)
        for path, methods, answer in site.routes():
            app.add_route(path, answer, methods=methods, include_in_schema=False)
        app.state.running.append(site.running)

    return add


class Site:
    """Every page of one process."""

    def __init__(self, app: FastAPI, *, demo: bool) -> None:
        self._callers: Callers = app.state.callers
        self._database, self._demo = self._callers.service, demo
        self._actions = Actions(app, self._callers)
        self._live = Live(self._database, app.state.stopping)
        self._plain = {page.path: page for section in SECTIONS for page in section.pages}

    def routes(self) -> list[tuple[str, list[str], Handler]]:
        found: list[tuple[str, list[str], Handler]] = [
            ("/static/{digest}/{name}", ["GET"], files.answer),
            ("/sign-in", ["GET", "POST"], self._guarded(self._sign_in)),
            ("/link/{token}", ["GET"], self._guarded(self._link)),
            ("/sign-out", ["POST"], self._guarded(self._sign_out)),
            ("/theme", ["POST"], self._guarded(self._theme)),
            ("/live", ["GET"], self._guarded(self._stream)),
            ("/plots/{name}", ["GET"], self._guarded(self._plot)),
            ("/act/{name}", ["GET", "POST"], self._guarded(self._act)),
        ]
        for section in SECTIONS:
            found += [(page.path, ["GET"], self._guarded(self._page(page))) for page in section.pages]
        return found

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with running(self._live):
            yield

    # Pages ------------------------------------------------------------------------------------------------------------

    def _page(self, page: Page) -> Handler:
        async def answer(request: Request) -> Response:
            signed = await self._signed(request)
            return await run_in_threadpool(self._shown, request, page, signed)

        return answer

    def _shown(self, request: Request, page: Page, signed: Signed) -> Response:
        self._callers.check_may(signed.principal, page)
        self._callers.take(signed.principal)
        with self._callers.acting(signed.principal, page.authority) as tx:
            since = subscriptions.present_snapshot(tx)  # before anything is read: what comes later is sent live
            seen = Seen(
                tx=tx, caller=signed.principal, path=_path(request), query=request.url.query,
                params=request.path_params,
            )  # fmt: skip
            found = page.run(seen)
            (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
        context = {**found, "seen": seen, "now": now, "since": since, "problem": found.get("problem") or seen.problem}
        return self._html(request, page.template, context, signed=signed, section=page.section)

    def _html(
        self,
        request: Request,
        template: str,
        context: Context,
        *,
        signed: Signed | None,
        section: str = "",
        status: int = 200,
    ) -> Response:
        caller = None if signed is None else signed.principal
        back = _path(request) + (f"?{request.url.query}" if request.url.query else "")

        def button(name: str, label: str, /, back: str = back, **given: Any) -> Any:
            return None if caller is None else self._actions.button(caller, name, label, back, given)

        def may(name: str) -> bool:
            return caller is not None and self._actions.may(caller, name)

        shared = {
            "request_path": _path(request), "here": back, "section": section, "caller": caller,
            "sections": self._sections(caller),
            "csrf": None if signed is None else signed.csrf, "theme": sessions.theme(request), "demo": self._demo,
            "keyed": self._callers.keyed, "button": button, "may": may, "problem": None, "done": self._done(request),
            "since": None,
        }  # fmt: skip
        text = rendering.rendered(template, {**shared, **context})
        return HTMLResponse(text, status_code=status, headers=SAFE)

    def _sections(self, caller: Principal | None) -> list[Section]:
        """The navigation, of the pages that a caller may open."""
        if caller is None:
            return []
        open_ = [
            Section(one.name, one.title, [link for link in one.links if self._may_open(caller, link[1])])
            for one in SECTIONS
        ]
        return [one for one in open_ if one.links]

    def _may_open(self, caller: Principal, path: str) -> bool:
        try:
            self._callers.check_may(caller, self._plain[path])
        except Refusal:
            return False
        return True

    def _done(self, request: Request) -> str | None:
        """What the form before this page did, in the words of its route."""
        name = request.query_params.get("done")
        if name is None:
            return None
        try:
            return self._actions.route(name).summary
        except Refusal:
            return None

    async def _plot(self, request: Request) -> Response:
        """The numbers of a plot, for the script that draws it."""
        signed = await self._signed(request)
        return await run_in_threadpool(self._plotted, signed, request.path_params["name"])

    def _plotted(self, signed: Signed, name: str) -> Response:
        if name not in PLOTS:
            raise InputRefused("plot_unknown", f"There is no plot {name[:60]!r}.", "Open it from a page.")
        self._callers.take(signed.principal)
        with self._callers.acting(signed.principal, Authority.READER) as tx:
            found = PLOTS[name](tx)
        return Response(to_json(found), media_type="application/json", headers=SAFE)

    # Buttons ----------------------------------------------------------------------------------------------------------

    async def _act(self, request: Request) -> Response:
        signed = await self._signed(request)
        name = request.path_params["name"]
        route = self._actions.route(name)
        self._callers.check_may(signed.principal, route)
        form = await _form(request) if request.method == "POST" else _parsed(request.url.query)
        back = sessions.after(next(iter(form.get("back", ())), None))
        fields = self._actions.fields(name, form)
        once = next(iter(form.get("_once", ())), None) or self._actions.new_once()
        context: dict[str, Any] = {"route": route, "fields": fields, "back": back, "once": once, "preview": None}
        status = 200
        if request.method == "POST":
            sessions.check_write(request, next(iter(form.get("_csrf", ())), None))
        if request.method == "POST" and ASKS_FIRST not in form:
            answer = await self._call(request, signed, name, fields, form, once)
            if answer.is_done:
                return await run_in_threadpool(self._acted, request, signed, name, answer, back)
            status, context["problem"] = answer.status, refusal_of(answer)
        else:
            context |= await self._previewed(request, signed, name, form)
        return await run_in_threadpool(
            lambda: self._html(request, "act.html", context, signed=signed, status=status)
        )  # fmt: skip

    def _acted(self, request: Request, signed: Signed, name: str, answer: Answer, back: str) -> Response:
        if answer.operation is not None:
            return _see_other(f"/operations/{answer.operation}?back={quote(back, safe='')}")
        items = answer.value.get("items", ()) if isinstance(answer.value, dict) else ()
        refused = [one for one in items if isinstance(one, dict) and one.get("done") is False]
        route = self._actions.route(name)
        if route.secret or refused or not route.writes:
            context = {"route": route, "answer": answer.value, "items": items, "back": back}
            return self._html(request, "answer.html", context, signed=signed)
        return _see_other(f"{back}{'&' if '?' in back else '?'}done={name}" if "done=" not in back else back)

    async def _previewed(
        self, request: Request, signed: Signed, name: str, form: Mapping[str, Sequence[str]]
    ) -> dict[str, Any]:
        """What it would do, where the route can tell."""
        preview = self._actions.preview_of(name)
        if preview is None or not {"body.filter", ASKS_FIRST} & set(form):
            return {}
        answer = await self._call(request, signed, preview, self._actions.fields(preview, form), form, None)
        return {"preview": answer.value} if answer.is_done else {"problem": refusal_of(answer)}

    async def _call(
        self,
        request: Request,
        signed: Signed,
        name: str,
        fields: Sequence[Field],
        form: Mapping[str, Sequence[str]],
        once: str | None,
    ) -> Answer:
        client = (request.client.host, request.client.port) if request.client else None
        return await self._actions.call(
            signed.principal, name, forms.read(fields, form), headers=dict(request.headers), once=once, client=client
        )

    # Who looks --------------------------------------------------------------------------------------------------------

    async def _signed(self, request: Request) -> Signed:
        return await run_in_threadpool(sessions.signed, self._database, request)

    async def _sign_in(self, request: Request) -> Response:
        back = sessions.after(request.query_params.get("next"))
        problem: Refusal | None = None
        if request.method == "POST":
            form = await _form(request)
            site = request.headers.get("sec-fetch-site", "same-origin")
            key = next(iter(form.get("key", ())), "")
            try:
                if site != "same-origin":
                    raise Denied(
                        "origin_refused", "This form is not from our page.", "Open the page, and sign in there."
                    )
                token = await run_in_threadpool(sessions.sign_in, self._callers, self._database, key)
            except Refusal as refusal:
                self._callers.count(request, refusal, key or None)
                problem = refusal
            else:
                response = _see_other(back)
                sessions.keep(response, request, token)
                return response
        status = 200 if problem is None else problems.status(problem)
        context = {"problem": problem, "back": back}
        return await run_in_threadpool(
            lambda: self._html(request, "sign-in.html", context, signed=None, status=status)
        )  # fmt: skip

    async def _link(self, request: Request) -> Response:
        token = await run_in_threadpool(sessions.use_link, self._database, request.path_params["token"])
        response = _see_other("/")
        sessions.keep(response, request, token)
        return response

    async def _sign_out(self, request: Request) -> Response:
        form = await _form(request)
        sessions.check_write(request, next(iter(form.get("_csrf", ())), None))
        await run_in_threadpool(sessions.sign_out, self._database, request)
        response = _see_other("/sign-in")
        sessions.drop(response, request)
        return response

    async def _theme(self, request: Request) -> Response:
        form = await _form(request)
        chosen = next(iter(form.get("theme", ())), "auto")
        response = _see_other(sessions.after(next(iter(form.get("back", ())), None)))
        if chosen in sessions.THEMES:
            response.set_cookie(
                sessions.THEME, chosen, max_age=365 * 86_400, samesite="strict", httponly=True,
                secure=sessions.is_secure(request),
            )  # fmt: skip
        return response

    async def _stream(self, request: Request) -> Response:
        signed = await self._signed(request)

        def is_valid() -> bool:
            try:
                sessions.signed(self._database, request)
            except Denied:
                return False
            return True

        stream = self._live.opened(signed.principal, is_valid, request.query_params.get("since"))
        return StreamingResponse(stream, media_type="text/event-stream", headers={**SAFE, **HEADERS})

    # Whatever goes wrong ----------------------------------------------------------------------------------------------

    def _guarded(self, handler: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            try:
                self._callers.check_origin(request)
                response: Response = await handler(request)
                return response
            except Refusal as refusal:
                return await run_in_threadpool(self._refused, request, refusal)
            except ClientDisconnect:
                return Response(status_code=499)
            except Exception as error:  # noqa: BLE001 - whatever it is, the reader gets a page and we the traceback
                return await run_in_threadpool(self._failed, request, error)

        return answer

    def _failed(self, request: Request, error: Exception) -> Response:
        refusal = problems.from_server(error) if isinstance(error, psycopg.Error) else None
        if refusal is None:
            observe.logger().exception("page failed", path=request.url.path, exc_info=error)
            refusal = ServerRefused("internal_error", "This is a bug of Recoup. It was logged.", "Report it.")
        return self._refused(request, refusal)

    def _refused(self, request: Request, refusal: Refusal) -> Response:
        if refusal.code in SESSION_CODES and request.method == "GET":
            if request.url.path == "/live":
                return Response(status_code=204)  # which ends the stream for good
            return self._to_sign_in(request)
        signed = None
        with contextlib.suppress(Exception):  # an error page without a name is better than none
            signed = sessions.signed(self._database, request)
        status = problems.status(refusal)
        return self._html(request, "refused.html", {"problem": refusal, "status": status}, signed=signed, status=status)

    def _to_sign_in(self, request: Request) -> Response:
        back = _path(request) + (f"?{request.url.query}" if request.url.query else "")
        if request.headers.get("sec-fetch-site") == "cross-site" and "again" not in request.query_params:
            # The browser keeps our cookie back when a link on another site is followed: ask again from here.
            return self._html(request, "again.html", {"back": sessions.after(back)}, signed=None)
        return _see_other(sessions.sign_in_path(back))


def _path(request: Request) -> str:
    """The path of a request as it was sent: names of rows in it may hold slashes, spaces and question marks."""
    raw: bytes | None = request.scope.get("raw_path")
    return raw.partition(b"?")[0].decode("ascii", "replace") if raw else quote(request.scope["path"])


def _see_other(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303, headers=SAFE)


async def _form(request: Request) -> dict[str, list[str]]:
    """The fields of a form, all of them texts."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise InputRefused("content_type", "This is not a form of ours.", "Send it from the page.")
    body = await requests.read(request)
    try:
        if len(body) > MAX_FORM:
            raise ValueError
        text = body.decode()
    except ValueError:
        raise _unusable() from None
    return _parsed(text)


def _parsed(text: str) -> dict[str, list[str]]:
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise _unusable() from None


def _unusable() -> InputRefused:
    return InputRefused("form_unusable", "The form is too large, or cannot be read.", "Send less at once.")
