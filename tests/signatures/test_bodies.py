"""Of a JSON or XML body its codes and messages count; ids, times, the order of keys and the layout do not."""

from __future__ import annotations

import json

import pytest

from recoup.signatures import signature


def aws(request: str) -> dict[str, object]:
    return {"__type": "com.example#ThrottledException", "message": "Rate of 'PutItem' exceeded", "requestId": request}


def google(request: str) -> dict[str, object]:
    said = {"code": 403, "message": f"Project {request} has no access.", "status": "PERMISSION_DENIED"}
    return {"error": {**said, "details": [{"reason": "SERVICE_DISABLED", "metadata": {"consumer": request}}]}}


def kubernetes(request: str) -> dict[str, object]:
    return {
        "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404,
        "message": f'pods "web-{request}" not found', "details": {"name": f"web-{request}"},
    }  # fmt: skip


@pytest.mark.parametrize("body", [aws, google, kubernetes])
def test_ids_and_layout_do_not_count(body: object) -> None:
    """Two answers of the same service to the same mistake."""
    assert callable(body)
    one = json.dumps(body("5f3e9a"))
    other = json.dumps(dict(reversed(body("77ab01").items())), indent=2)
    assert signature(one).remained == signature(other).remained
    assert signature(one).key == signature(other).key


def test_codes_and_messages_count() -> None:
    """Another code, or another sentence, is another failure."""
    bodies = [aws("1"), {**aws("1"), "__type": "x#LimitException"}, {**aws("1"), "message": "Rate was lowered"}]
    assert len({signature(json.dumps(body)).key for body in bodies}) == 3


def test_a_body_that_says_nothing_is_a_text() -> None:
    """It has a key all the same, as has one that is no JSON after all."""
    for text in ("{}", "[]", '{"a": 1}', "[1, 2", '{"error": ', "{" * 5000, '{"a":' * 3000, "[" * 100_000, "1e999999"):
        assert signature(text).key == signature(text).key


@pytest.mark.parametrize("number", ["1" * 6000, "-Infinity", "NaN"])
def test_numbers_that_python_cannot_read(number: str) -> None:
    """Are no reason to fail."""
    assert signature(f'{{"error": "x y z", "code": {number}}}').key


def test_xml() -> None:
    """Tags do not count, what stands in them does."""

    def body(code: str, key: str) -> str:
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>The key is not there any more.'
            f"</Message><Key>{key}</Key><RequestId>8ab{key}1</RequestId></Error>"
        )

    assert signature(body("NoSuchKey", "a/b7")).key == signature(body("NoSuchKey", "c/d9")).key
    assert "key is not there" in signature(body("NoSuchKey", "a/b7")).remained
    assert (
        signature("<html><h1>502 Bad Gateway</h1></html>").key != signature("<html><h1>404 Not Found</h1></html>").key
    )
