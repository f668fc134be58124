"""Cursors and positions that were forged, or carried to another list, role or hub: refused, or of no use."""

from __future__ import annotations

import base64
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints
from uuid import uuid4

import httpx2
import pytest

import product
from recoup import deliveries
from recoup.api import following
from recoup.api.app import areas
from recoup.api.declare import Route
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.service import keys
from recoup.service.roles import Role
from recoup.settings import Settings
from serving import calling

HUBS = """
[service.hubs.outreach]
tables = ["outreach.dol_errors"]
sources = ["dol"]
[service.hubs.people]
tables = ["people.people_errors"]
sources = ["crm"]
"""
TABLES = {"outreach": "outreach.dol_errors", "people": "people.people_errors"}
MARK = {hub: f"M4RK_{hub.upper()}" for hub in TABLES}
LOG = "recoup.error_event"
EVENTS, STREAM = f"/v1/logs/{LOG}/events", f"/v1/logs/{LOG}/stream"
ANSWERS = (200, 401, 403, 404, 422)
NEEDED = {"/v1/why": {"subject": "entity:5e6f0000-0000-4000-8000-000000000001"}}  # what a list is asked about
OF_ADMINS = ("/v1/keys",)


def _has_cursor(route: Route) -> bool:
    hints = get_type_hints(route.run)
    return route.method == "GET" and "asked" in inspect.signature(route.run).parameters and any(
        "after" in getattr(hint, "model_fields", ()) for hint in hints.values()
    )  # fmt: skip


LISTS = [route.path for area in areas() for route in area.routes if _has_cursor(route) and "{" not in route.path]


@dataclass(frozen=True)
class Ward:
    """An API with keys of two hubs, and a cursor of each list as a key without a hub got it."""

    api: httpx2.Client
    whole: str
    admin: str
    of: Mapping[str, str]
    cursors: Mapping[str, str]

    def get(self, key: str, path: str, after: str | None, **more: Any) -> httpx2.Response:
        given: dict[str, Any] = {"limit": 3, **NEEDED.get(path, {}), **more}
        if after is not None:
            given["after"] = after
        if path in OF_ADMINS and key == self.whole:
            key = self.admin
        return self.api.get(path, params=given, headers={"Authorization": f"Bearer {key}"})


@pytest.fixture(scope="module")
def ward(new_database: Any, server: embedded.Server, settings: Settings) -> Iterator[Ward]:
    with Database(server.uri(new_database()), settings) as db:
        ada = Actor("human", "ada")
        with db.transaction(Authority.OPERATOR, actor=ada) as tx:
            product.apply_policy(tx, "[service]\nrate_per_s = 100000\nburst = 100000\n" + HUBS, reason="two hubs")
            for number in range(3):
                deliveries.send(tx, "log", f"notice {number}", {"text": "a body"})
        with db.transaction(Authority.KEY_MANAGER, actor=ada) as tx:
            whole = {role: keys.add(tx, role.value, role).secret for role in (Role.PRODUCER, Role.OPERATOR)}
            of = {hub: keys.add(tx, hub, Role.VIEWER, hub=hub).secret for hub in TABLES}
            viewer = keys.add(tx, "viewer", Role.VIEWER).secret
            admin = keys.add(tx, "admin", Role.ADMIN).secret
        with calling(db, keyed=True) as api:
            for hub, table in TABLES.items():
                for _ in range(4):
                    mark = {"message": MARK[hub], "code": MARK[hub], "outreach_id": str(uuid4())}
                    _post(api, whole[Role.PRODUCER], "/v1/errors", {"table": table, **mark})
                    failure = {"source": TABLES[hub], "key": str(uuid4()), "message": MARK[hub]}
                    _post(api, whole[Role.PRODUCER], "/v1/recovery/failures", failure)
            for _ in range(4):
                _post(api, whole[Role.PRODUCER], "/v1/runs", {"kind": "nightly"})
                _post(api, whole[Role.OPERATOR], "/v1/gate/batches", {"batch_id": str(uuid4())})
            found: dict[str, str] = {}
            made = Ward(api, viewer, admin, of, found)
            for path in (*LISTS, EVENTS):
                answer = made.get(viewer, path, None)
                assert answer.status_code == 200, (path, answer.text)
                if answer.json()["next"]:
                    found[path] = answer.json()["next"]
            yield made


def _post(api: httpx2.Client, key: str, path: str, body: object) -> None:
    answer = api.post(path, json=body, headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code in (200, 201), answer.text


def encoded(value: object) -> str:
    return raw(json.dumps(value))


def raw(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decoded(cursor: str) -> tuple[str, Any]:
    kind, value = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    return kind, value


def forged(cursor: str) -> Iterator[str]:
    """What a caller can make of a cursor."""
    yield from (cursor[:length] for length in range(1, len(cursor), 3))
    for place in range(len(cursor)):
        yield cursor[:place] + chr(ord(cursor[place]) ^ (1 << place % 7)) + cursor[place + 1 :]
    yield from (cursor * 50, "A" * 900, "=" * 8, "\0", "\x7f", "é", "%00", " " + cursor, cursor + "=", cursor + "\n")
    kind, value = decoded(cursor)
    hostile = ["\0", "\ud800", "x" * 400, -1, 0, 2**63 - 1, 2**63, 10**300, 1.5, True, None, [], {}, "infinity", "now",
               "-infinity", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "NaN",
               str(uuid4()), "'; select"]  # fmt: skip
    for other in hostile:
        yield encoded([kind, other])
        yield encoded([other, value])
        for place in range(len(value) if isinstance(value, list) else 0):
            yield encoded([kind, [*value[:place], other, *value[place + 1 :]]])
    yield from (raw(text) for text in ("[" * 400, "null", '["x"]', f'["{kind}", NaN]', f'["{kind}", 1e999]', "{}", ""))


def test_lists_have_cursors(ward: Ward) -> None:
    """So that what follows shows something."""
    assert len(LISTS) >= 12
    assert {"/v1/errors", "/v1/runs", "/v1/gate/batches", "/v1/deliveries", "/v1/recovery/matches", EVENTS} <= {
        *ward.cursors
    }


@pytest.mark.parametrize("path", [*LISTS, EVENTS])
def test_a_forged_cursor_is_refused_or_of_no_use(ward: Ward, path: str) -> None:
    """Also one of every other list; with a hub's key never a row of the other's."""
    own = ward.cursors.get(path)
    given = [*(forged(own) if own else ()), *(one for of, one in ward.cursors.items() if of != path)]
    for after in given:
        answer = ward.get(ward.of["people"], path, after)
        assert answer.status_code in ANSWERS, (after, answer.text)
        assert MARK["outreach"] not in answer.text, after
    assert ward.get(ward.whole, path, "A" * 60_000).status_code in (422, 431, 400)
    others = [ward.get(ward.whole, path, one).status_code for of, one in ward.cursors.items() if of != path]
    assert set(others) == {422}


@pytest.mark.parametrize("path", [*LISTS, EVENTS])
def test_a_cursor_carried_to_another_hub_shows_nothing_of_the_first(ward: Ward, path: str) -> None:
    for hub, key in ward.of.items():
        (other,) = TABLES.keys() - {hub}
        cursors = [ward.cursors.get(path), ward.get(ward.of[other], path, None).json().get("next"), None]
        for after in cursors:
            text = ward.get(key, path, after).text
            assert MARK[other] not in text, (path, after)
    shown = ward.get(ward.of["people"], "/v1/errors", None).text
    assert MARK["people"] in shown


def test_a_stream_takes_no_forged_position(ward: Ward) -> None:
    """In its query and as Last-Event-ID; one that is possible shows a hub its own events alone."""
    mine = {"Authorization": f"Bearer {ward.of['people']}"}
    for number, at in enumerate(forged(ward.cursors[EVENTS])):
        as_header = number % 2 == 0 and at.isascii() and at.isprintable() and at == at.strip()
        headers = mine | ({"Last-Event-ID": at} if as_header else {})
        with ward.api.stream("GET", STREAM, params={} if as_header else {"after": at}, headers=headers) as answer:
            assert answer.status_code in (*ANSWERS, 429), at
            if answer.status_code == 200:
                assert answer.headers["content-type"].startswith("text/event-stream")


def test_a_position_that_nobody_can_have_got_is_refused(ward: Ward) -> None:
    """One that is ahead of everything would be searched for in the whole log."""
    kind, (incarnation, since, until, after_seq) = decoded(ward.cursors[EVENTS])
    end = 2**62
    ahead = [[incarnation + 1, since, until, after_seq], [incarnation, f"{end}:{end}:", None, 0],
             [incarnation, "1:1:", f"{end}:{end}:", 0], [incarnation, "1:1", None, 0], [incarnation, "1:x:", None, 0],
             [incarnation, f"1:1:{','.join('1' * 18 for _ in range(30))},", None, 0]]  # fmt: skip
    for value in ahead:
        answer = ward.get(ward.whole, EVENTS, encoded([kind, value]))
        assert (answer.status_code, answer.json()["code"]) == (422, "cursor_unusable"), value
    assert ward.get(ward.whole, EVENTS, encoded([kind, [incarnation, since, until, after_seq]])).status_code == 200


def test_every_position_that_was_given_out_can_be_used(ward: Ward) -> None:
    """Of each log, at its beginning, within it and at its end."""
    for log in following.LOGS:
        path, after = f"/v1/logs/{log}/events", None
        for _ in range(50):
            answer = ward.get(ward.whole, path, after, start="beginning", limit=40)
            assert answer.status_code == 200, (log, answer.text)
            after = answer.json()["next"]
            if answer.json()["caught_up"]:
                break
        assert ward.get(ward.whole, path, after).json()["items"] == []
    assert re.fullmatch("[A-Za-z0-9_-]+", after or "")
    assert len(following.LOGS) > 3
