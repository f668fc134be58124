"""Every domain over HTTP does what the library does, in the caller's name."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from recoup import gate, pauses
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.runs import listing

SWITCH = "/cl/gate-zero/kill-switch"


def done(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def all_pages(api: httpx2.Client, path: str, **asked: Any) -> list[Any]:
    found: list[Any] = []
    after: dict[str, str] = {}
    while True:
        page = done(api.get(path, params={**asked, **after}))
        found += page["items"]
        if page["next"] is None:
            return found
        after = {"after": page["next"]}


def test_the_kill_switch_is_at_the_path_of_its_document(api: httpx2.Client, db: Database) -> None:
    batch = f"import {uuid4()}/é"
    done(api.post("/v1/gate/batches", json={"batch_id": batch}), 201)
    at = {"batch_id": batch}
    paused = done(api.post(SWITCH, params=at, json={"reason": "the list is wrong"}))
    assert (paused["pause_reason"], paused["paused_by"]) == ("the list is wrong", "tester")
    assert done(api.post(SWITCH, params=at, json={"reason": "again"}))["pause_reason"] == "the list is wrong"
    assert done(api.get(SWITCH, params=at))["paused_at"] is not None
    assert done(api.delete(SWITCH, params=at | {"reason": "corrected"}))["paused_at"] is None
    with db.transaction(Authority.READER) as tx:
        events = [one for one in pauses.log(tx) if one.scope_id == batch]
        assert [(one.event_type, one.reason, one.actor_id) for one in events] == [
            ("RESUME", "corrected", "tester"), ("PAUSE", "the list is wrong", "tester"),
        ]  # fmt: skip
        assert gate.find_batch(tx, batch).paused_at is None
    assert api.get(SWITCH, params={"batch_id": "none"}).status_code == 404


def test_companies_come_in_and_are_listed_page_by_page(api: httpx2.Client) -> None:
    batch = str(uuid4())
    done(api.post("/v1/gate/batches", json={"batch_id": batch}), 201)
    given = [{"company_name": f"Acme {number}", "state": "TX"} for number in range(5)]
    ids = done(api.post("/v1/gate/intakes", json={"batch_id": batch, "intakes": given}), 201)["items"]
    found = all_pages(api, "/v1/gate/intakes", batch_id=batch, limit=2)
    assert sorted(one["intake_id"] for one in found) == sorted(ids)
    assert done(api.get("/v1/gate/funnel", params={"batch_id": batch}))
    wrong = api.post("/v1/gate/intakes", json={"intakes": [{"company_name": "A", "company_domain": "not a domain"}]})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "domain_unreadable")
    done(api.post("/v1/gate/batch/complete", json={"batch_id": batch}))
    late = api.post("/v1/gate/intakes", json={"batch_id": batch, "intakes": given})
    assert late.json()["code"] == "batch_completed"


def test_batches_and_runs_of_one_instant_are_each_listed_once(api: httpx2.Client) -> None:
    """Time stands still in this database: pages go on by the id."""
    batches = [f"page {uuid4()}" for _ in range(5)]
    for batch in batches:
        done(api.post("/v1/gate/batches", json={"batch_id": batch}), 201)
    listed = [one["batch_id"] for one in all_pages(api, "/v1/gate/batches", limit=2)]
    assert len(listed) == len(set(listed))
    assert set(batches) <= set(listed)
    kind = f"kind-{uuid4().hex[:8]}"
    ids = [done(api.post("/v1/runs", json={"kind": kind}), 201)["run_id"] for _ in range(5)]
    found = [one["run_id"] for one in all_pages(api, "/v1/runs", kind=kind, limit=2)]
    assert sorted(found) == sorted(ids)


def test_a_run_is_started_kept_alive_and_ended_with_its_token(api: httpx2.Client, db: Database) -> None:
    run = done(api.post("/v1/runs", json={"kind": "nightly", "input": {"day": "2026-01-01"}}), 201)
    at, token = f"/v1/runs/{run['run_id']}", {"token": run["token"]}
    done(api.post(f"{at}/heartbeat", json=token), 204)
    assert done(api.post(f"{at}/notes", json=token | {"note": "half of it"}), 201)["number"] >= 1
    assert api.post(f"{at}/heartbeat", json={"token": str(uuid4())}).status_code == 409
    assert (
        done(api.post(f"{at}/finish", json=token | {"succeeded": True, "result": {"rows": 3}}))["status"] == "succeeded"
    )
    with db.transaction(Authority.READER) as tx:
        shown = listing.show(tx, run["run_id"])
    assert (shown.result, shown.input) == ({"rows": 3}, {"day": "2026-01-01"})
    assert done(api.get(at))["trace"][-1]["to_status"] == "succeeded"


def test_a_failure_from_outside_is_one_match_and_ones_own_proposal_is_not_approved(api: httpx2.Client) -> None:
    failure = {"source": "crm", "key": str(uuid4()), "message": "the CRM timed out"}
    first = done(api.post("/v1/recovery/failures", json=failure), 201)
    again = done(api.post("/v1/recovery/failures/bulk", json={"failures": [failure, failure | {"message": "x"}]}), 201)
    assert first["answer"] == "created"
    assert [one["answer"] for one in again["items"]] == ["known", "differs"]
    match = first["failure_match_id"]
    assert match in [one["failure_match_id"] for one in all_pages(api, "/v1/recovery/matches", source="crm", limit=1)]
    shown = done(api.get(f"/v1/recovery/matches/{match}"))
    incident = shown["incident"]["incident_id"]
    scope = done(
        api.post("/v1/recovery/scopes", json={"incident": incident, "actions": ["notify_ops"], "reason": "x"}), 201
    )
    assert scope["incident_id"] == incident
    proposed = done(api.post(f"/v1/recovery/matches/{match}/propose", json={"action": "notify_ops"}), 201)
    own = api.post(f"/v1/recovery/candidates/{proposed['candidate_id']}/approve", json={})
    assert (own.status_code, own.json()["code"]) == (409, "same_person")
    many = done(api.post("/v1/recovery/candidates/reject", json={"units": [proposed["candidate_id"]], "reason": "no"}))
    assert [one["refused"] for one in many["items"]] == ["same_person"]
    done(api.post(f"/v1/recovery/scopes/{scope['scope_id']}/revoke", json={"reason": "over"}))


def test_what_is_paused_silenced_and_found(api: httpx2.Client) -> None:
    name = {"scope": "duty", "name": "seal", "reason": "the disk is full"}
    assert done(api.post("/v1/pauses", json=name))["changed"] is True
    assert done(api.post("/v1/pauses", json=name))["changed"] is False
    assert any(one["scope_id"] == "seal" for one in done(api.get("/v1/pauses"))["items"])
    assert done(api.post("/v1/pauses/resume", json=name))["changed"] is True
    rule = done(api.get("/v1/alerts/rules"))["items"][0]["rule"]
    silence = done(api.post("/v1/alerts/silences", json={"rule": rule, "lasts": "2h", "reason": "works"}), 201)
    done(api.delete(f"/v1/alerts/silences/{silence['silence_id']}"), 204)
    assert api.delete(f"/v1/alerts/silences/{silence['silence_id']}").json()["code"] == "silence_ended"
    assert api.post("/v1/deliveries", json={"route": "nowhere", "subject": "x"}).status_code in (404, 409, 422)
    assert done(api.get("/v1/policy"))["values"]["errors"]
    assert done(api.get("/v1/duties"))["items"]
    for path in ("/v1/workers", "/v1/partitions", "/v1/backfills", "/v1/partitions/gaps", "/v1/errors/report"):
        done(api.get(path))
    assert done(api.get("/v1/find", params={"text": "nothing like this"}))["found"] == []


def test_partitions_are_registered_before_they_are_enqueued(api: httpx2.Client) -> None:
    key = {"source": "shop", "customer_id": "acme", "query_name": "orders", "logical_date": "2026-01-01"}
    refused = api.post("/v1/partitions", json={"partitions": [key]})
    assert (refused.status_code, refused.json()["code"]) == (422, "query_unregistered")
    span = {"source": "nowhere", "first": "2026-01-01", "last": "2026-01-02"}
    assert api.post("/v1/backfills/preview", json=span).status_code == 404
    for verb in ("retry", "reprocess", "mark-terminal"):
        assert api.post(f"/v1/partitions/{2**40}/{verb}", json={"reason": "x"}).status_code == 404


@pytest.mark.parametrize("path", ["/v1/errors", "/v1/runs", "/v1/partitions", "/v1/recovery/candidates", "/v1/alerts"])
def test_a_filter_that_does_not_exist_is_refused(api: httpx2.Client, path: str) -> None:
    answer = api.get(path, params={"statsu": "x"})
    assert (answer.status_code, answer.json()["code"]) == (422, "value_unusable")
