"""Who may call: every route with every role, no key, an expired and a revoked one; and where calls come from."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from uuid import uuid4

import anyio
import httpx2
import pytest
from fastapi import FastAPI

import product
from recoup import clock
from recoup.api.app import areas, build
from recoup.api.declare import Route
from recoup.api.monitoring import monitored
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.domains import DOMAINS
from recoup.errors import recording
from recoup.errors.recording import NewError
from recoup.lifecycles.declaration import Authority
from recoup.service import keys
from recoup.service.denied import listed
from recoup.service.roles import APPROVES, EXECUTES, Role, authorities
from recoup.settings import Settings
from serving import calling, served, through

ROUTES = [route for area in areas() for route in area.routes]
ROLES = [role for role in Role if role is not Role.LOCAL]
ADA = Actor("human", "ada")


@pytest.fixture(scope="module")
def own(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    """A database with keys: whoever serves it asks for one."""
    with Database(server.uri(new_database()), settings) as database:
        yield database


def new_key(database: Database, role: Role, **more: object) -> str:
    with database.transaction(Authority.KEY_MANAGER, actor=ADA) as tx:
        return keys.add(tx, f"{role}-{uuid4().hex[:8]}", role, **more).secret  # type: ignore[arg-type]


def statuses(app: FastAPI, key: str | None, routes: list[Route]) -> Mapping[str, int]:
    """How each route answers a caller, without a body: whoever may call is refused for that."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def asked() -> Mapping[str, int]:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            found = {}
            for route in routes:
                path = re.sub(r"{[^}]+}", str(uuid4()), route.path)
                found[route.name] = (await client.request(route.method, path)).status_code
            return found

    return anyio.run(asked)


def test_every_route_answers_those_whose_role_has_its_authority_and_nobody_else(own: Database) -> None:
    app = build(own, keyed=True, logins=through(own))
    with own.transaction(Authority.KEY_MANAGER, actor=ADA) as tx:
        keys_ = {role: keys.add(tx, f"matrix-{role}", role).secret for role in ROLES}
        expired = keys.add(tx, "expired", Role.OPERATOR, expires=timedelta(minutes=1)).secret
        revoked = keys.add(tx, "revoked", Role.OPERATOR)
        keys.revoke(tx, revoked.key_id)
    with own.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, timedelta(minutes=2))
    for nobody in (None, expired, revoked.secret, "rcp_aaaaaaaa_" + "a" * 43, "x"):
        assert set(statuses(app, nobody, ROUTES).values()) == {401}, nobody
    for role, key in keys_.items():
        found = statuses(app, key, ROUTES)
        for route in ROUTES:
            may = {route.authority, *route.also} <= authorities(role)
            assert (found[route.name] != 403) is may, (role, route.name, found[route.name])
            assert found[route.name] not in (401, 429, 500, 503), (role, route.name)


def test_no_route_changes_anything_as_a_reader_and_no_key_both_approves_and_executes() -> None:
    changing = [route.name for route in ROUTES if route.writes and route.authority in (Authority.READER,)]
    assert changing == []
    assert [route.name for route in ROUTES if {route.authority, *route.also} & EXECUTES] == []
    approving = {route.path for route in ROUTES if {route.authority, *route.also} & APPROVES}
    one, many = "/v1/recovery/candidates/{candidate_id}", "/v1/recovery/candidates"
    assert approving == {f"{path}/{verb}" for path in (one, many) for verb in ("approve", "reject")}


def test_denied_calls_are_counted_and_no_line_of_the_log_has_a_secret(
    own: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    viewer = new_key(own, Role.VIEWER)
    with calling(own, keyed=True, key=viewer) as api:
        assert api.get("/v1/errors").status_code == 200
        refused = api.post("/v1/errors", json={"table": "outreach.dol_errors", "message": "x"})
        assert (refused.status_code, refused.json()["code"]) == (403, "role_may_not")
        for wrong in ({}, {"Authorization": viewer}, {"Authorization": "Basic eDp5"}, {"Cookie": f"key={viewer}"}):
            answer = httpx2.get(f"{api.base_url}/v1/errors", headers=wrong)
            assert (answer.status_code, answer.json()["code"]) == (401, "key_missing")
            assert answer.headers["www-authenticate"].startswith("Bearer")
        assert api.get("/v1/errors", params={"key": viewer}).status_code == 422
    with own.transaction(Authority.KEY_MANAGER) as tx:
        counted = {(one.key_prefix, one.refusal): one.calls for one in listed(tx)}
    assert counted["", "key_missing"] >= 4
    assert counted[viewer.split("_")[1], "role_may_not"] >= 1
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
    assert [line for line in ours if viewer.split("_", 2)[2] in line] == []


def test_without_keys_only_a_program_of_this_machine_may_call(api: httpx2.Client) -> None:
    port = api.base_url.port
    refused = {
        "host_refused": [
            {"Host": "a.example"}, {"Host": f"evil.test:{port}"}, {"Host": "localhost.evil.test"}, {"Host": "[:1"},
        ],
        "origin_refused": [
            {"Origin": "https://evil.test"}, {"Origin": "null"}, {"Origin": f"http://localhost:{port}"},
            {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
        ],
        "forwarded_refused": [{"X-Forwarded-For": "10.0.0.1"}, {"Forwarded": "for=10.0.0.1"}, {"Via": "1.1 proxy"},
                              {"CF-Connecting-IP": "10.0.0.1"}],
    }  # fmt: skip
    for code, all_headers in refused.items():
        for headers in all_headers:
            for path in ("/v1/errors", "/v1/openapi.json"):
                answer = api.get(path, headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (403, code), headers
    for headers in ({"Host": "localhost"}, {"Host": f"[::1]:{port}"}, {"Origin": str(api.base_url).rstrip("/")}):
        assert api.get("/v1/errors", headers=headers).status_code == 200, headers


def test_a_service_that_began_without_keys_asks_for_one_once_there_is_one(
    fresh: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recoup.api.app.MAINTAIN_S", 0.05)
    database = fresh()
    with served(database) as at:
        assert httpx2.get(f"{at}/v1/errors").status_code == 200
        key = new_key(database, Role.VIEWER)
        for _ in range(200):
            answer = httpx2.get(f"{at}/v1/errors")
            if answer.status_code == 401:
                break
        assert answer.status_code == 401
        assert httpx2.get(f"{at}/v1/errors", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_the_first_key_is_who_it_says_from_its_first_call_on(fresh: Callable[..., Database]) -> None:
    """Not the person at the machine until the service notices: a request sent again would be somebody else's."""
    database = fresh()
    with calling(database) as api:
        error = {"table": "outreach.dol_errors", "message": "x", "outreach_id": str(uuid4())}
        assert api.post("/v1/errors", json=error, headers={"Authorization": "Bearer x"}).status_code == 201
        api.headers["Authorization"] = f"Bearer {new_key(database, Role.VIEWER)}"
        answer = api.post("/v1/errors", json=error)
        assert (answer.status_code, answer.json()["code"]) == (403, "role_may_not")


def test_a_key_that_sends_too_much_is_asked_to_wait(
    fresh: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = fresh()
    key = new_key(database, Role.VIEWER)
    monkeypatch.setattr("recoup.service.limits.HELD_S", 60)
    with calling(database, keyed=True, key=key) as api:
        for _ in range(2000):
            answer = api.get("/v1/pauses")
            if answer.status_code != 200:
                break
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) >= 1


HUBS = """
[service.hubs.outreach]
tables = ["outreach.dol_errors"]
[service.hubs.people]
tables = ["people.people_errors"]
"""
MARK, THEIRS = "M4RKER", "people.people_errors"


def test_a_key_of_another_hub_is_told_that_an_entity_is_blocked_and_no_more(fresh: Callable[..., Database]) -> None:
    database, entity = fresh(), uuid4()
    with database.transaction(Authority.OPERATOR, actor=ADA) as tx:
        product.apply_policy(tx, HUBS, reason="two hubs")
    with database.transaction(Authority.HUB) as tx:
        (theirs,) = recording.record(tx, [NewError(table=THEIRS, message=MARK, outreach_id=entity, code=MARK)])
    keys_ = {role: new_key(database, role, hub="outreach") for role in (Role.VIEWER, Role.PRODUCER, Role.OPERATOR)}
    one = f"/v1/errors/{theirs.error_id}"
    with calling(database, keyed=True, key=keys_[Role.VIEWER]) as api:
        (asked,) = api.get("/v1/blocked", params={"entity": str(entity)}).json()["items"]
        assert (asked["blocked"], asked["errors"]) == (True, [])
        assert asked["owners"]
        assert api.get(one).status_code == 404
        for route in ROUTES:
            if route.method == "GET" and not route.streams:
                path = re.sub(r"{log}", "recoup.error_event", re.sub(r"{[^}]+_id}", str(uuid4()), route.path))
                answer = api.get(path)
                assert answer.status_code in (200, 403, 404, 422), (path, answer.text)
                assert MARK not in answer.text, path
        api.headers["Authorization"] = f"Bearer {keys_[Role.OPERATOR]}"
        assert api.post(f"{one}/park", json={"reason": "x"}).status_code == 404
        previewed = api.post("/v1/errors/park/preview", json={"filter": {"code": [MARK]}})
        assert previewed.json()["rows"] == 0
        api.headers["Authorization"] = f"Bearer {keys_[Role.PRODUCER]}"
        error = {"table": THEIRS, "message": "x", "outreach_id": str(entity)}
        assert (api.post("/v1/errors", json=error).status_code) == 403
        ours = api.post("/v1/errors", json=error | {"table": "outreach.dol_errors"})
        assert ours.status_code == 201, ours.text


def test_a_key_of_a_hub_stops_and_starts_nothing_of_others_and_reads_no_metrics(own: Database) -> None:
    hubs = """
    [service.hubs.outreach]
    tables = ["outreach.dol_errors"]
    sources = ["dol"]
    """
    with own.transaction(Authority.OPERATOR) as tx:
        product.apply_policy(tx, hubs, reason="a hub")
    with calling(own, keyed=True, key=new_key(own, Role.OPERATOR, hub="outreach")) as hub:
        for path, body in (
            ("/v1/pauses", {"scope": "global"}),
            ("/v1/pauses", {"scope": "table", "name": "people.people_errors"}),
            ("/v1/pauses/resume", {"scope": "global"}),
            ("/v1/recovery/breakers/open", {}),
            ("/v1/recovery/breakers/close", {}),
        ):
            answer = hub.post(path, json={"reason": "ours first", **body})
            assert (answer.status_code, answer.json()["code"]) == (403, "hub_lacks_authority"), path
        assert hub.get("/v1/pauses").json()["items"] == []

    async def scraped(key: str) -> int:
        app = build(own, keyed=True, logins=through(own), also=[monitored(own, DOMAINS)])
        headers = {"Authorization": f"Bearer {key}", "X-Forwarded-For": "192.0.2.1"}
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as client:
            return (await client.get("/metrics", headers=headers)).status_code

    assert anyio.run(scraped, new_key(own, Role.VIEWER)) == 200
    assert anyio.run(scraped, new_key(own, Role.VIEWER, hub="outreach")) == 403
