"""Keys over HTTP: made by an admin, shown once, and never by somebody without a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import httpx2
import pytest

import product
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.service import keys
from recoup.service.roles import Role
from recoup.settings import Settings
from serving import calling


@pytest.fixture(scope="module")
def own(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    with Database(server.uri(new_database()), settings) as database:
        yield database


def test_an_admin_makes_rotates_and_revokes_keys_in_their_own_name(own: Database) -> None:
    with own.transaction(Authority.KEY_MANAGER, actor=Actor("human", "root")) as tx:
        admin = keys.add(tx, "ada", Role.ADMIN).secret
    name = f"job {uuid4()}"
    with calling(own, keyed=True, key=admin) as api:
        headers = {"Idempotency-Key": "make-once"}
        body = {"name": name, "role": "viewer", "expires": "90d", "reason": "the nightly job"}
        made = api.post("/v1/keys", json=body, headers=headers)
        assert made.status_code == 201, made.text
        secret, key_id = made.json()["key"], made.json()["key_id"]
        again = api.post("/v1/keys", json=body, headers=headers)
        assert (again.status_code, again.json()["code"]) == (409, "answer_not_kept")
        assert again.json()["facts"]["about"] == key_id
        assert secret not in again.text
        assert api.post("/v1/keys", json=body).status_code == 409, "a name has one key"
        rotated = api.post(f"/v1/keys/{made.json()['prefix']}/rotate", json={"overlap": "1h"})
        assert rotated.status_code == 201, rotated.text
        listed = api.get("/v1/keys").text
        assert secret not in listed
        assert rotated.json()["key"] not in listed
        for one in (secret, rotated.json()["key"]):
            mine = {"Authorization": f"Bearer {one}"}
            assert httpx2.get(f"{api.base_url}/v1/errors", headers=mine).status_code == 200
            assert httpx2.get(f"{api.base_url}/v1/keys", headers=mine).json()["code"] == "role_may_not"
        revoked = api.post(f"/v1/keys/{key_id}/revoke", json={"reason": "over"}).json()["items"]
        assert [one["key_id"] for one in revoked] == [key_id]
        assert api.post(f"/v1/keys/{key_id}/revoke", json={"reason": "over"}).json()["code"] == "key_ended"
        assert api.post("/v1/keys/nobody/rotate", json={}).json()["code"] == "key_not_found"
        wrong = api.post("/v1/keys", json={"name": "x", "role": "local"})
        assert wrong.status_code == 422
    with own.transaction(Authority.READER) as tx:
        steps = tx.execute(
            "select distinct l.actor, l.actor_id from recoup.control_log l where l.facts ->> 'name' = %s", (name,)
        ).fetchall()
    assert steps == [("human", "ada")]


def test_a_caller_without_a_key_makes_none_and_the_service_stays_open(api: httpx2.Client, db: Database) -> None:
    for path, body in (("", {"name": "me", "role": "admin"}), ("/x/rotate", {}), ("/x/revoke", {"reason": "x"})):
        answer = api.post(f"/v1/keys{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "keys_need_a_key")
    with db.transaction(Authority.KEY_MANAGER) as tx:
        assert keys.listed(tx, all=True) == []
    assert api.get("/v1/denied").status_code == 200


def test_a_key_of_a_hub_changes_no_policy_and_manages_no_keys(own: Database) -> None:
    with own.transaction(Authority.OPERATOR) as tx:
        product.apply_policy(tx, '[service.hubs.outreach]\ntables = ["outreach.dol_errors"]', reason="a hub")
    with own.transaction(Authority.KEY_MANAGER) as tx:
        key = keys.add(tx, f"hub {uuid4()}", Role.OPERATOR, hub="outreach").secret
    change = {"key": "gate.wait_hours", "value": "[1, 2]"}
    with calling(own, keyed=True, key=key) as api:
        for path, body in (
            ("/v1/policy/check", change),
            ("/v1/policy", {"document": "", "reason": "x"}),
            ("/v1/policy/set", {**change, "reason": "x"}),
            ("/v1/policy/unset", {"key": "gate.wait_hours", "reason": "x"}),
            ("/v1/alerts/test", {"route": "log"}),
            ("/v1/keys", {"name": "more", "role": "admin"}),
        ):
            answer = api.post(path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "hub_lacks_authority"), path
        assert api.get("/v1/deliveries/routes").json()["code"] == "hub_lacks_authority"
        assert api.get("/v1/keys").json()["code"] == "hub_lacks_authority"
