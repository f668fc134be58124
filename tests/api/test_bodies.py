"""Bodies and requests that no client of ours sends: each is refused in the one shape, and the service goes on."""

from __future__ import annotations

import socket
from uuid import uuid4

import httpx2
import pytest

from recoup.api import requests
from recoup.database.connection import Database
from serving import calling

JSON = {"Content-Type": "application/json"}


def body(message: str = '"x"', **more: str) -> bytes:
    fields = {"table": '"outreach.dol_errors"', "outreach_id": f'"{uuid4()}"', "message": message} | more
    return ("{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}").encode()


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"", 422, "value_unusable"),
        (b"{", 400, "body_not_json"),
        (b"null", 422, "value_unusable"),
        (b"[]", 422, "value_unusable"),
        (b"\xff\xfe", 400, "body_not_json"),
        (b"[" * 100_000, 400, "body_not_json"),
        (body('"\\ud800"'), 400, "body_not_json"),
        (body("NaN"), 400, "body_not_json"),
        (body(outreach_id='"no uuid"'), 422, "value_unusable"),
        (body(unknown="1"), 422, "value_unusable"),
        (body(code='"a\\u0000b"'), 422, "error_code"),
        (body(work_key='"a\\u0000b"'), 422, "work_key"),
        (body(failed_at='"0001-01-01T00:00:00+14:00"'), 422, "time_unreadable"),
        (body(payload='"text"'), 422, "value_unusable"),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_is_refused(api: httpx2.Client, sent: bytes, status: int, code: str) -> None:
    answer = api.post("/v1/errors", content=sent, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ('"a\\u0000b"', {}),
        ('"x"', {"payload": '{"a\\u0000b": "c\\u0000d"}'}),
        ('"x"', {"payload": '{"huge": ' + "9" * 4000 + "}"}),
        ('"x"', {"payload": '{"deep": ' + "[" * 150 + "]" * 150 + "}"}),
        ('"x"', {"payload": '{"twice": 1, "twice": 2}'}),
        ('"' + "x" * 500_000 + '"', {}),
    ],
)
def test_a_failure_is_recorded_whatever_its_text_holds(api: httpx2.Client, message: str, more: dict[str, str]) -> None:
    """It failed, and that is to be known: what cannot be stored is left out of it."""
    answer = api.post("/v1/errors", content=body(message, **more), headers=JSON)
    assert answer.status_code == 201, answer.text
    assert api.get(f"/v1/errors/{answer.json()['error_id']}").status_code == 200


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"]
)
def test_a_body_of_another_type_is_refused(api: httpx2.Client, kind: str) -> None:
    answer = api.post("/v1/errors", content=body(), headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["code"]) == (415, "content_type")


def test_a_body_is_bounded_whether_it_says_its_size_or_not(api: httpx2.Client) -> None:
    large = b" " * (requests.MAX_BODY + 1)
    for content in (large, iter([large])):
        answer = api.post("/v1/errors", content=content, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_body_that_does_not_come_is_not_waited_for(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recoup.api.requests.BODY_WITHIN_S", 0.2)
    with calling(db) as api, socket.create_connection((api.base_url.host, api.base_url.port or 0)) as held:
        held.sendall(b"POST /v1/errors HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n")
        held.settimeout(10)
        assert b"408" in held.recv(4096).splitlines()[0]


def test_what_is_no_route_has_the_same_shape(api: httpx2.Client) -> None:
    for path in ("/v1", "/v1/nothing", "/v1/errors/../errors", "/v1/errors/", "/v1/errors%00", "/v1/\u00e9"):
        answer = api.get(path)
        assert answer.status_code in (404, 200 if ".." in path else 404), path
        if answer.status_code == 404:
            assert answer.json()["code"] == "route_unknown"
    for method in ("PUT", "PATCH", "TRACE"):
        answer = api.request(method, "/v1/errors")
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
        assert answer.headers["allow"]
    assert api.get("/v1/errors", params={"limit": 10**30}).status_code == 422
    assert api.get(f"/v1/errors/{2**63}").status_code == 422
    assert api.get("/v1/errors?table=a%00b").status_code == 422
    assert api.get(b"/v1/find?text=%ff%fe".decode()).status_code in (200, 422)


def test_the_answer_is_as_the_document_says(api: httpx2.Client) -> None:
    document = api.get("/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (path, method)
            assert operation["x-recoup-authority"], (path, method)
            assert {"401", "403", "409", "422", "429", "503"} <= operation["responses"].keys()
            named = {one["name"].lower() for one in operation.get("parameters", ())}
            writes = method != "get" and not path.endswith(("/preview", "/check"))
            assert ("idempotency-key" in named) is writes, (path, method)
