"""One idempotency key: one effect and one answer, also for requests at once to two processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx2
import pytest

from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority

TABLE = "outreach.dol_errors"


@pytest.fixture(scope="module")
def two(db: Database) -> Iterator[tuple[str, str]]:
    """The addresses of two processes that serve the same database."""
    program = [sys.executable, "-c", "from recoup.cli.main import main; main()"]
    command = [*program, "--dsn", db.conninfo, "api", "--port", "0"]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        lines = [process.stderr.readline() for process in processes if process.stderr is not None]
        found = [line.split(" at ")[1].split("/v1/")[0] for line in lines]
        yield found[0], found[1]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            assert process.wait(20) == 0
            assert process.stderr is not None
            process.stderr.close()


def failure() -> dict[str, object]:
    return {"table": TABLE, "message": "the registry is down", "outreach_id": str(uuid4())}


def events(db: Database, entity: object) -> int:
    with db.transaction(Authority.READER) as tx:
        row = tx.execute(
            "select count(*) from recoup.error_event e join recoup.error r using (error_table, error_id)"
            " where r.outreach_id = %s", (entity,),
        ).fetchone()  # fmt: skip
    return int(row[0]) if row else 0


def test_equal_requests_at_once_over_two_processes_have_one_effect_and_one_answer(
    two: tuple[str, str], db: Database
) -> None:
    body, key = failure(), str(uuid4())
    with httpx2.Client(timeout=30) as client, ThreadPoolExecutor(8) as pool:

        def send(number: int) -> httpx2.Response:
            return client.post(f"{two[number % 2]}/v1/errors", json=body, headers={"Idempotency-Key": key})

        answers = list(pool.map(send, range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert events(db, body["outreach_id"]) == 1


def test_another_request_with_the_same_key_is_refused(api: httpx2.Client, db: Database) -> None:
    first, second, key = failure(), failure(), str(uuid4())
    assert api.post("/v1/errors", json=first, headers={"Idempotency-Key": key}).status_code == 201
    for path, body in (("/v1/errors", second), ("/v1/errors/bulk", {"errors": [first]})):
        answer = api.post(path, json=body, headers={"Idempotency-Key": key})
        assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_key_reused")
    assert events(db, second["outreach_id"]) == 0


def test_a_request_that_was_refused_is_tried_again_with_its_key(api: httpx2.Client) -> None:
    key, entity = str(uuid4()), str(uuid4())
    wrong = {"table": "nowhere", "message": "x", "outreach_id": entity}
    assert api.post("/v1/errors", json=wrong, headers={"Idempotency-Key": key}).status_code == 422
    right = wrong | {"table": TABLE}
    assert api.post("/v1/errors", json=right, headers={"Idempotency-Key": key}).status_code == 201


def test_many_are_changed_once_and_the_answer_is_the_same_operation(api: httpx2.Client) -> None:
    code, key = f"CODE_{uuid4().hex[:8]}", str(uuid4())
    api.post("/v1/errors/bulk", json={"errors": [failure() | {"code": code} for _ in range(3)]})
    body = {"filter": {"code": [code]}, "reason": "the registry is down"}
    answers = [api.post("/v1/errors/park", json=body, headers={"Idempotency-Key": key}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json()["operation_id"] == answers[1].json()["operation_id"]


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
def test_a_key_that_cannot_be_kept_is_refused(api: httpx2.Client, key: str) -> None:
    answer = api.post("/v1/errors", json=failure(), headers=[(b"Idempotency-Key", key.encode("latin-1"))])
    assert answer.status_code == 422
