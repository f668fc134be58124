"""The policy over HTTP: checked, applied over the version it was made for, compared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from recoup import policy
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority

KEY = "errors.retry.TRANSIENT.max_retries"


def active(db: Database) -> Any:
    with db.transaction(Authority.READER) as tx:
        return policy.active(tx)


def retries(db: Database) -> int:
    return int(active(db).figures["errors"]["retry"]["TRANSIENT"]["max_retries"])


def test_a_change_is_checked_made_in_the_callers_name_and_compared(api: httpx2.Client, db: Database) -> None:
    before, was = active(db).version, retries(db)
    for change in ({"key": KEY, "value": "14"}, {"document": "[errors.retry.TRANSIENT]\nmax_retries = 14"}):
        found = api.post("/v1/policy/check", json=change).json()
        assert (found["over"], found["changes"]) == (before, [{"key": KEY, "before": was, "after": 14}])
    assert active(db).version == before
    done = api.post("/v1/policy/set", json={"key": KEY, "value": "14", "reason": "slow", "over": before})
    assert (done.status_code, done.json()["version"]) == (200, before + 1), done.text
    version = active(db)
    assert (version.reason, version.actor_id, retries(db)) == ("slow", "tester", 14)
    compared = api.get("/v1/policy/diff", params={"from": before})
    assert compared.json()["items"] == [{"key": KEY, "before": was, "after": 14}]
    assert api.get("/v1/policy/diff", params={"from": 10**6}).status_code == 404
    done = api.post("/v1/policy/unset", json={"key": KEY, "reason": "over"})
    assert done.json()["version"] == before + 2
    again = api.post("/v1/policy", json={"document": "", "reason": "nothing"})
    assert (again.json()["version"], again.json()["changes"]) == (before + 2, [])


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("", {"document": "[gate]\nwait_hours = 'x'"}, "policy_invalid"),
        ("", {"document": "[[["}, "policy_not_toml"),
        ("/set", {"key": "gate.nothing", "value": "1"}, "policy_invalid"),
        ("/unset", {"key": "gate.nothing"}, "policy_key_unknown"),
        ("/set", {"key": KEY, "value": "3", "over": 10**6}, "policy_not_in_force"),
    ],
)
def test_what_is_wrong_is_refused_by_the_check_and_by_the_change(
    api: httpx2.Client, db: Database, path: str, body: dict[str, object], code: str
) -> None:
    before = active(db).version
    assert api.post("/v1/policy/check", json=body).json()["code"] == code
    assert api.post(f"/v1/policy{path}", json={**body, "reason": "x"}).json()["code"] == code
    assert active(db).version == before


@pytest.mark.parametrize("body", [{}, {"document": "", "key": KEY}, {"value": "1"}, {"document": "", "value": "1"}])
def test_a_check_is_of_one_change(api: httpx2.Client, body: dict[str, object]) -> None:
    answer = api.post("/v1/policy/check", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "policy_change_unclear")


def test_values_that_nobody_named_are_taken_back_only_if_confirmed(api: httpx2.Client, db: Database) -> None:
    api.post("/v1/policy/set", json={"key": KEY, "value": "13", "reason": "x"})
    whole = {"document": "[seals]\nblock_rows = 5000", "replace": True, "reason": "x"}
    assert api.post("/v1/policy/check", json={k: v for k, v in whole.items() if k != "reason"}).json()[
        "taken_back"
    ] == [KEY]
    refused = api.post("/v1/policy", json=whole)
    assert (refused.status_code, refused.json()["code"], retries(db)) == (422, "policy_takes_back", 13)
    assert api.post("/v1/policy", json={**whole, "confirm": True}).status_code == 200
    assert retries(db) != 13


def test_of_two_who_change_one_version_at_once_one_is_refused(api: httpx2.Client, db: Database) -> None:
    before = active(db).version
    bodies = [{"key": KEY, "value": str(20 + n), "reason": "x", "over": before} for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda body: api.post("/v1/policy/set", json=body), bodies))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert {a.json()["code"] for a in answers if a.status_code == 409} == {"policy_not_in_force"}
    assert active(db).version == before + 1


def test_the_same_request_twice_is_one_version(api: httpx2.Client, db: Database) -> None:
    before = active(db).version
    headers = {"Idempotency-Key": "policy-once"}
    body = {"key": KEY, "value": "31", "reason": "x", "over": before}
    first, second = (api.post("/v1/policy/set", json=body, headers=headers) for _ in range(2))
    assert (first.json(), second.headers["idempotent-replayed"]) == (second.json(), "true")
    assert active(db).version == before + 1


def test_what_can_be_paused_is_listed(api: httpx2.Client) -> None:
    found = api.get("/v1/pauses/names", params={"scope": "duty", "text": "SEA"}).json()["items"]
    assert found == [{"scope": "duty", "name": "seal", "paused": False}]
    api.post("/v1/pauses", json={"scope": "duty", "name": "seal", "reason": "x"})
    assert api.get("/v1/pauses/names", params={"scope": "duty", "text": "seal"}).json()["items"][0]["paused"] is True
    api.post("/v1/pauses/resume", json={"scope": "duty", "name": "seal", "reason": "x"})
    assert len(api.get("/v1/pauses/names", params={"limit": 3}).json()["items"]) == 3


def test_routes_are_listed_and_tested(api: httpx2.Client) -> None:
    assert [one["route"] for one in api.get("/v1/deliveries/routes").json()["items"]] == ["log"]
    rules = {rule for one in api.get("/v1/alerts/routes").json()["items"] for rule in one["rules"]}
    assert "parked-errors" in rules
    made = api.post("/v1/alerts/test", json={"rule": "parked-errors"})
    (delivery,) = made.json()["deliveries"]
    assert api.get(f"/v1/deliveries/{delivery}").json()["body"]["test"] is True
    assert api.post("/v1/alerts/test", json={}).json()["code"] == "test_of_what"
