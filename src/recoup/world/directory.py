"""The company directory: what it knows of each company, and how it answers."""

from __future__ import annotations

import json
from typing import NamedTuple

from recoup.world import misbehaviour
from recoup.world.companies import Company
from recoup.world.control import control
from recoup.world.http_server import Answer, Request, response
from recoup.world.kinds import Kind
from recoup.world.names import STATES, state_code
from recoup.world.present import CANARY_ADDRESS, SITE_ALIAS, Present

PATH = "/company"
JSON = "application/json"
ELSEWHERE = ("Ontario", "Bavaria", "Jalisco")
HUGE_BYTES = 8_000_000


class Entry(NamedTuple):
    states: tuple[str, ...]
    scope: str


def entry_of(company: Company, kind: Kind) -> Entry | None:
    """What the directory knows of a company that appears as this kind; None: there is no entry."""
    code = state_code(company.state)
    others = [other for other in STATES if other != code]
    state = company.pick((code, code, STATES[code]), of="entry")
    match kind:
        case Kind.NO_ENTRY:
            return None
        case Kind.WRONG_STATE:
            other = company.pick(others, of="other")
            return Entry(
                (company.pick((other, other, STATES[other], company.pick(ELSEWHERE, of="else")), of="wrong"),), "state"
            )
        case Kind.SEVERAL_STATES:
            other = company.pick(others, of="other")
            return Entry(
                company.pick(((code, other), (other, code), (STATES[other], STATES[code])), of="several"), "state"
            )
        case Kind.GLOBAL:
            return Entry(company.pick(((), (state,)), of="global"), "global")
        case Kind.NO_STATE:
            return Entry((), "state")
        case Kind.SAME_STATE_TWICE:
            return Entry((code, STATES[code]), "state")
        case _:
            return Entry((state,), "state")


class Directory:
    def __init__(self, present: Present) -> None:
        self.answer_s = present.answer_s
        self._present = present
        self._made: dict[tuple[str, Kind], Answer] = {}
        self._open = 0
        self._at_once = 0

    def answer(self, request: Request) -> Answer:
        if request.path != PATH:
            return control(self._present, request)
        seen, present = self._present.seen, self._present
        seen.directory_requests += 1
        self._at_once += 1
        seen.directory_requests_most = max(seen.directory_requests_most, self._at_once)
        seen.user_agents[request.headers.get("user-agent", "")] += 1
        if present.key is not None and request.headers.get("authorization") != f"Bearer {present.key}":
            return response(401, b'{"error": "key"}', content_type=JSON)
        company = self._asked_for(request.query)
        if company is None:
            return response(200, b'{"found": false}', content_type=JSON)
        seen.asked[company.domain] += 1
        kind = present.kind(company)
        if kind is Kind.NOW_AND_THEN and present.day == 0 and present.meets(company):
            kind = Kind.DIRECTORY_OUT
        made = self._made.get((company.domain, kind))
        if made is None:
            made = self._made[company.domain, kind] = _answer(company, kind, present.site_port)
        return made

    def ended(self, request: Request) -> None:
        self._at_once -= request.path == PATH

    def opened(self) -> None:
        self._open += 1
        self._present.seen.directory_connections_most = max(self._present.seen.directory_connections_most, self._open)

    def closed(self) -> None:
        self._open -= 1

    def sent(self, number: int) -> None:
        self._present.seen.bytes_sent += number

    def _asked_for(self, query: dict[str, str]) -> Company | None:
        domain = query.get("domain", "").lower().rstrip(".").removeprefix(SITE_ALIAS)
        found = self._present.by_domain.get(domain)
        return found or self._present.by_name.get(query.get("name", "").casefold())


def _answer(company: Company, kind: Kind, port: int) -> Answer:
    entry = entry_of(company, kind)
    if entry is None:
        return response(company.pick((200, 200, 200, 404), of="absent"), b'{"found": false}', content_type=JSON)
    body = {"found": True, "states": list(entry.states), "scope": entry.scope}
    match kind:
        case Kind.SLOW_DIRECTORY:
            return misbehaviour.never_answer
        case Kind.DIRECTORY_OUT:
            return response(503, "<h1>Back in a moment</h1>", headers=[("Retry-After", "60")])
        case Kind.DIRECTORY_NONSENSE:
            return response(200, "<!doctype html><title>Please sign in</title><h1>Please sign in</h1>")
        case Kind.DIRECTORY_BROKEN_JSON:
            return response(200, json.dumps(body)[:-9], content_type=JSON)
        case Kind.DIRECTORY_DEEP_JSON:
            return response(200, b"[" * 100_000 + b"]" * 100_000, content_type=JSON)
        case Kind.DIRECTORY_WRONG_SHAPE:
            wrong = company.pick(([body], {"found": "perhaps", "states": 7}, {"states": {"TX": True}}, 42), of="shape")
            return response(200, json.dumps(wrong), content_type=JSON)
        case Kind.DIRECTORY_HUGE:
            return response(200, json.dumps(body | {"noise": "x" * HUGE_BYTES}), content_type=JSON)
        case Kind.DIRECTORY_ENDLESS:
            return misbehaviour.drip(b"{", content_type=JSON)
        case Kind.DIRECTORY_BUSY:
            return response(429, b'{"error": "too many"}', content_type=JSON, headers=[("Retry-After", "60")])
        case Kind.DIRECTORY_MOVED:
            return response(302, headers=[("Location", f"http://{CANARY_ADDRESS}:{port}/")])
        case Kind.DIRECTORY_HANGS_UP:
            return misbehaviour.hang_up
        case _:
            return response(200, json.dumps(body), content_type=JSON)
