"""Errors over HTTP: the same answers as the library gives, and one shape for what is refused."""

from __future__ import annotations

import time
from uuid import UUID, uuid4

import httpx2
import pytest

from recoup.database.connection import Database
from recoup.errors import listing
from recoup.lifecycles.declaration import Authority

TABLE = "outreach.dol_errors"


def recorded(api: httpx2.Client, entity: UUID | None = None, **more: object) -> int:
    body = {"table": TABLE, "message": "no filing matches EIN 12", "outreach_id": str(entity or uuid4())} | more
    answer = api.post("/v1/errors", json=body)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["error_id"])


def test_an_error_is_recorded_shown_and_blocks_its_entity(api: httpx2.Client, db: Database) -> None:
    entity = uuid4()
    error_id = recorded(api, entity, payload={"tries": [1, 2]}, code="DOL_NO_MATCH")
    with db.transaction(Authority.READER) as tx:
        shown = listing.show(tx, str(error_id))
    answer = api.get(f"/v1/errors/{error_id}").json()
    assert (answer["row"]["error_id"], answer["row"]["error_code"]) == (error_id, "DOL_NO_MATCH")
    assert answer["row"]["payload"] == {"tries": [1, 2]}
    assert answer["explanation"] == list(shown.explanation)
    free = str(uuid4())
    asked = api.get("/v1/blocked", params={"entity": [str(entity), free]}).json()["items"]
    assert [(one["outreach_id"], one["blocked"]) for one in asked] == [(str(entity), True), (free, False)]
    assert [one["error_id"] for one in asked[0]["errors"]] == [error_id]


def test_many_are_recorded_at_once_all_or_none(api: httpx2.Client) -> None:
    entity = uuid4()
    good = {"table": TABLE, "message": "the registry is down", "outreach_id": str(entity)}
    answer = api.post("/v1/errors/bulk", json={"errors": [good, good | {"work_key": "2"}]})
    assert answer.status_code == 201
    assert len(answer.json()["items"]) == 2
    other = uuid4()
    refused = api.post("/v1/errors/bulk", json={"errors": [good | {"outreach_id": str(other)}, good | {"table": "no"}]})
    assert (refused.status_code, refused.json()["code"]) == (422, "table_unknown")
    assert refused.headers["content-type"] == "application/problem+json"
    assert api.get("/v1/errors", params={"entity": str(other)}).json()["items"] == []


def test_pages_of_a_list_follow_each_other(api: httpx2.Client) -> None:
    entity = uuid4()
    ids = [recorded(api, entity, work_key=str(number)) for number in range(5)]
    seen: list[int] = []
    after: str | None = None
    for _ in range(3):
        asked: dict[str, str | int] = {"entity": str(entity), "limit": 2}
        if after:
            asked["after"] = after
        page = api.get("/v1/errors", params=asked).json()
        seen += [one["error_id"] for one in page["items"]]
        after = page["next"]
    assert seen == sorted(ids, reverse=True)
    assert after is None


@pytest.mark.parametrize("cursor", ["x", "é", "W10", "WyJydW5zIiwxXQ", "A" * 999, "WyJlcnJvcnMiLCItMSJd"])
def test_a_cursor_of_nobody_is_refused(api: httpx2.Client, cursor: str) -> None:
    answer = api.get("/v1/errors", params={"after": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "cursor_unusable")


def test_a_verb_changes_one_error_or_says_why_not(api: httpx2.Client) -> None:
    error_id = recorded(api)
    assert api.post(f"/v1/errors/{error_id}/park", json={"reason": "the registry is down"}).json()["done"] is True
    again = api.post(f"/v1/errors/{error_id}/park", json={"reason": "again"})
    assert (again.status_code, again.json()["code"]) == (409, "parked_already")
    assert api.post(f"/v1/errors/{error_id}/park", json={}).json()["code"] == "value_unusable"
    assert api.post(f"/v1/errors/{error_id}/assign", json={"to": "ada"}).status_code == 200
    shown = api.get(f"/v1/errors/{error_id}").json()
    assert (shown["row"]["status"], shown["owner"]) == ("PARKED", "ada")
    missing = api.post(f"/v1/errors/{2**62}/park", json={"reason": "x"})
    assert (missing.status_code, missing.json()["code"]) == (404, "error_unknown")


def test_many_are_previewed_and_then_worked_through_as_an_operation(api: httpx2.Client) -> None:
    code = f"CODE_{uuid4().hex[:8]}"
    for _ in range(3):
        recorded(api, code=code)
    found = api.post("/v1/errors/park/preview", json={"filter": {"code": [code]}}).json()
    assert found["rows"] == 3
    begun = api.post("/v1/errors/park", json={"filter": {"code": [code]}, "reason": "the registry is down"})
    assert begun.status_code == 202, begun.text
    at = f"/v1/operations/{begun.json()['operation_id']}"
    for _ in range(200):
        operation = api.get(at).json()["operation"]
        if operation["status"] == "DONE":
            break
        time.sleep(0.02)
    assert (operation["status"], operation["done"], operation["items"]) == ("DONE", 3, 3)
    listed = api.get("/v1/errors", params={"code": code}).json()["items"]
    assert {one["status"] for one in listed} == {"PARKED"}
