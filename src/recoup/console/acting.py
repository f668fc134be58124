"""Buttons: each is a route of the API, called as the API itself calls it, with the session's caller.

A button leads to a form (what will be done, its preview where the route has one, its fields); the form sends the
request to the route, with an idempotency key of its own: sent twice, it is done once. What the route refuses
is shown in the form.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote, urlencode

from fastapi import FastAPI
from starlette.types import Message

from recoup.api import documents
from recoup.api.callers import SESSION, Callers
from recoup.api.declare import Route
from recoup.api.endpoints import ServiceRoute
from recoup.console import forms
from recoup.console.forms import Field
from recoup.refusals import InputRefused, Refusal
from recoup.service import Principal

PREVIEW = "_preview"
GIVEN = ("filter", "units", "over")  # that a page gives, and nobody types
HANDED_ON = ("host", "origin", "sec-fetch-site", "user-agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a route answered."""

    status: int
    value: Any

    @property
    def is_done(self) -> bool:
        return self.status < 400

    @property
    def operation(self) -> str | None:
        """The operation over many rows that was begun, if that is what was done."""
        if self.status == 202 and isinstance(self.value, dict) and "operation_id" in self.value:
            return str(self.value["operation_id"])
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A button as a page shows it."""

    name: str
    label: str
    path: str


class Actions:
    """Every route that changes something, as a form."""

    def __init__(self, app: FastAPI, callers: Callers) -> None:
        self._app, self._callers = app, callers
        self._routes = {
            route.name: route.declared
            for route in app.router.routes
            if isinstance(route, ServiceRoute) and (route.declared.writes or route.declared.reads)
        }

    def route(self, name: str) -> Route:
        if name not in self._routes:
            raise InputRefused("action_unknown", f"There is no action {name[:100]!r}.", "Go back, and choose another.")
        return self._routes[name]

    def preview_of(self, name: str) -> str | None:
        """The route that tells what this one would do."""
        return self.route(name).check or (f"{name}{PREVIEW}" if f"{name}{PREVIEW}" in self._routes else None)

    def may(self, caller: Principal, name: str) -> bool:
        """Whether a caller's role and hub allow it. The route asks again when it is called."""
        try:
            self._callers.check_may(caller, self.route(name))
        except Refusal:
            return False
        return True

    def button(self, caller: Principal, name: str, label: str, back: str, given: Mapping[str, Any]) -> Button | None:
        """A button with some of its values; None where the caller may not."""
        if not self.may(caller, name):
            return None
        pairs = [(self._named(name, key), part) for key, value in given.items() for part in _texts(value)]
        return Button(name=name, label=label, path=f"/act/{name}?{urlencode([*pairs, ('back', back)])}")

    def fields(self, name: str, given: Mapping[str, Sequence[str]]) -> list[Field]:
        """The fields of a form, with the values that came with its address."""
        found = []
        for field in self._fields[name]:
            values = given.get(field.name, ())
            fixed = bool(values) and (field.place == "path" or field.key in GIVEN)
            found.append(replace(field, value="\n".join(values) if values else field.value, fixed=fixed))
        return found

    async def call(
        self,
        caller: Principal,
        name: str,
        values: Mapping[str, Mapping[str, Any]],
        *,
        headers: Mapping[str, str],
        once: str | None,
        client: tuple[str, int] | None = None,
    ) -> Answer:
        """Call a route as the API does, for this caller."""
        route = self.route(name)
        path = route.path
        for key, value in values["path"].items():
            path = path.replace(f"{{{key}}}", quote(str(value), safe=""))
        if missing := re.search(r"\{(\w+)\}", path):
            raise InputRefused("value_missing", f"This needs a {missing[1].replace('_', ' ')}.", "Give it.")
        body = json.dumps(values["body"]).encode() if route.has_body else b""
        sent = [
            (key.encode(), value.encode("latin-1", "replace")) for key, value in headers.items() if key in HANDED_ON
        ]
        sent += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if once is not None and route.writes:
            sent.append((b"idempotency-key", f"console-{once}".encode()))
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": route.method, "scheme": "http",
            "path": unquote(path), "raw_path": path.encode(), "root_path": "", "client": client, "server": None,
            "query_string": urlencode([(key, part) for key, value in values["query"].items() for part in _texts(value)])
            .encode(),
            "headers": sent, SESSION: caller,
        }  # fmt: skip
        status, parts = 500, []
        is_read = False

        async def receive() -> Message:
            nonlocal is_read
            if is_read:
                return {"type": "http.disconnect"}
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        answered = b"".join(parts)
        return Answer(status=status, value=json.loads(answered) if answered else None)

    @staticmethod
    def new_once() -> str:
        """What makes a form that is sent twice one request."""
        return str(uuid.uuid4())

    @cached_property
    def _document(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(documents.openapi(self._app))
        return read

    @cached_property
    def _fields(self) -> dict[str, list[Field]]:
        found = {}
        for path in self._document["paths"].values():
            for operation in path.values():
                fields = forms.fields(operation, self._document)
                # People say why at the end, when they see what.
                found[operation["operationId"]] = sorted(fields, key=lambda field: field.key == "reason")
        return found

    def _named(self, name: str, key: str) -> str:
        """The name in the form of a value that a page gives."""
        for field in self._fields[name]:
            if field.key == key:
                return field.name
        raise LookupError(f"{name} takes no {key}")


def refusal_of(answer: Answer) -> InputRefused:
    """What a route refused, as a refusal of the page."""
    said = answer.value if isinstance(answer.value, dict) else {}
    return InputRefused(
        str(said.get("code", "internal_error")), str(said.get("detail", "It was not done.")),
        str(said.get("next_step", "Try again.")), **said.get("facts", {}),
    )  # fmt: skip


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return [json.dumps(value, default=str) if isinstance(value, dict | bool) else str(value)]
