"""Operations with a canary at the command line: begun, watched, resumed, cancelled, and what is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from command_line import RECOUP, Run, clean_environment, refusal, run_in
from hub import DOL, SECOND, STRUCTURAL, Hub
from recoup.client import Client
from recoup.database import embedded
from recoup.errors.recording import NewError
from recoup.settings import Settings
from recovery.desk import Desk

WORKER = ("worker", "--duty", "error-canary", "--duty", "recovery-canary", "--once")


@pytest.fixture(scope="module")
def client(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Client]:
    with Client(server.uri(new_database()), settings) as client:
        yield client


@pytest.fixture
def recoup(client: Client) -> Run:
    return run_in({"RECOUP_DSN": client.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "250"})


@pytest.fixture
def parked(client: Client) -> Callable[[int], tuple[str, list[int]]]:
    def record(count: int) -> tuple[str, list[int]]:
        code = f"E{uuid.uuid4().hex[:10]}"
        made = Hub(client).record_all(
            NewError(table=DOL, message=STRUCTURAL, code=code, outreach_id=uuid.uuid4()) for _ in range(count)
        )
        return code, [one.error_id for one in made]

    return record


Parked = Callable[[int], tuple[str, list[int]]]


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def end_retries(client: Client, *, failing: int = 0) -> None:
    hub = Hub(client)
    for number, one in enumerate(hub.claim()):
        hub.fail(one) if number < failing else hub.succeed(one)


def test_errors_are_unparked_step_by_step(recoup: Run, client: Client, parked: Parked) -> None:
    """The call lets the first ones go and returns; a worker does the rest; every step is told."""
    code, _ = parked(12)
    asked = ("errors", "unpark", "--code", code, "--reason", "fixed", "--canary", "4")
    assert "Nothing was changed. To unpark these 12 errors" in recoup(*asked).stdout
    done = recoup(*asked, "--yes").stdout
    assert "12: 4 done, 0 refused, 8 pending" in done
    assert "step 1: 4 of 4 went; by now 0 succeeded, 0 failed, 4 open" in done
    assert "no worker runs the background task error-canary" in done
    (row,) = [one for one in parsed(recoup("operations", "--json")) if one["filter"].get("codes") == [code]]
    operation = row["operation_id"]
    assert (row["step"], row["canary"]["first"], row["done"]) == (1, 4, 4)
    end_retries(client)
    recoup(*WORKER)
    end_retries(client, failing=3)
    recoup(*WORKER)
    assert "Step 1: 4 succeeded, 0 failed." in recoup("operations", "show", operation).stdout
    shown = parsed(recoup("operations", "show", operation, "--json"))
    assert shown["status"] == "DONE"  # 4, then 8: nothing was left to stop
    assert [one["step"] for one in shown["events"]][-1] == 2
    assert shown["outcomes"] == {"succeeded": 5, "failed": 3, "open": 0}


def test_one_that_stops_says_so(recoup: Run, client: Client, parked: Parked) -> None:
    """In its list, when it is shown, and when it is watched; then a person resumes or cancels it."""
    _, errors = parked(10)
    begun = parsed(recoup("errors", "unpark", *errors, "--reason", "fixed", "--canary", "2", "--rate", "600", "--json"))
    operation = begun["operation_id"]
    assert (begun["items"], begun["canary"]["rate_per_minute"]) == (10, 600)
    Hub(client).advance(SECOND)
    recoup(*WORKER)
    end_retries(client, failing=2)
    recoup(*WORKER)
    stopped = recoup("errors", "unpark", "--resume", operation, "--watch", ends=1).stdout
    assert "2 of 2 of step 1 failed (100%; the policy allows 20%): stopped. 8 more are left as they are." in stopped
    assert f"recoup resume operation {operation}" in stopped
    assert "2 of 2 of step 1 failed" in recoup("operations").stdout
    assert "STOPPED" in recoup("find", operation).stdout
    assert "is resumed" in recoup("resume", "operation", operation, "--reason", "fixed again").stdout
    assert "was not paused" in recoup("resume", "operation", operation, "--reason", "fixed again").stdout
    assert "Resumed by ada: fixed again" in recoup("operations", "show", operation).stdout
    cancelled = parsed(recoup("operations", "cancel", operation, "--reason", "enough", "--json"))
    assert cancelled == {"operation_id": operation, "status": "CANCELLED", "left": 8}
    assert refusal(recoup("operations", "cancel", operation, "--reason", "x", "--json", fails=True))["refused"] == (
        "operation_over"
    )


def test_a_watch_can_be_left(recoup: Run, client: Client, parked: Parked) -> None:
    """Ctrl-C ends the display, not the operation."""
    code, _ = parked(6)
    command = [*RECOUP, "errors", "unpark", "--code", code, "--reason", "fixed", "--canary", "2", "--yes", "--watch"]
    environment = {**clean_environment(), "RECOUP_DSN": client.conninfo, "RECOUP_ACTOR": "ada"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "step 1: 2 of 2 went" in process.stderr.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    end_retries(client)
    recoup(*WORKER)
    (row,) = [one for one in parsed(recoup("operations", "--json")) if one["filter"].get("codes") == [code]]
    assert (row["status"], row["done"]) == ("DONE", 6)


def test_candidates_are_approved_step_by_step(recoup: Run, client: Client) -> None:
    """By a filter or by ids, under the name of who asked for it."""
    desk, source = Desk(client), f"s-{uuid.uuid4().hex[:8]}"
    made = [desk.new(source=source) for _ in range(4)]
    desk.open_scope(made[0], max_attempts=10)
    desk.evaluate()
    done = recoup("recovery", "approve", "--source", source, "--reason", "back", "--canary", "1", "--yes").stdout
    assert "4: 1 done, 0 refused, 3 pending" in done
    assert sorted(desk.candidate(match).status for match in made) == ["approved"] + ["pending"] * 3
    rest = [desk.candidate(match).candidate_id for match in made if desk.candidate(match).status == "pending"]
    named = parsed(recoup("recovery", "approve", *rest, "--canary", "2", "--json"))
    assert (named["items"], named["done"], named["filter"]) == (3, 2, {"named": 3})
    assert {desk.candidate(match).decided_by for match in made} == {"ada", None}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("--canary", "3", "--yes"), "canary_too_large"),
        (("--canary", "9", "--yes"), "canary_too_large"),
        (("--rate", "5", "--yes"), "canary_missing"),
        (("--watch", "--yes"), "canary_missing"),
    ],
)
def test_what_is_refused(recoup: Run, parked: Parked, given: tuple[str, ...], code: str) -> None:
    """With both numbers, in words and as JSON; nothing was done."""
    name, _ = parked(3)
    asked = ("errors", "unpark", "--code", name, "--reason", "x", *given)
    told = refusal(recoup(*asked, "--json", fails=True))
    assert told["refused"] == code
    if code == "canary_too_large":
        assert told["facts"] == {"canary": int(given[1]), "items": 3}
        assert f"A canary of {given[1]} holds nothing back of 3 errors." in recoup(*asked, fails=True).stderr
    assert not [one for one in parsed(recoup("operations", "--json")) if one["filter"].get("codes") == [name]]


@pytest.mark.parametrize(
    "given",
    [
        ("errors", "unpark", "1", "--reason", "x", "--canary", "0"),
        ("errors", "unpark", "1", "--reason", "x", "--canary", "-1"),
        ("errors", "unpark", "1", "--reason", "x", "--canary", "many"),
        ("errors", "unpark", "1", "--reason", "x", "--canary", "1", "--rate", "0"),
        ("errors", "resolve", "1", "--reason", "x", "--canary", "1"),
        ("operations", "show", "17"),
        ("operations", "cancel", str(uuid.uuid4())),
    ],
)
def test_what_cannot_be_read(recoup: Run, given: tuple[str, ...]) -> None:
    assert recoup(*given, fails=True).stderr


def test_an_operation_that_there_is_not(recoup: Run) -> None:
    for verb in (("show",), ("cancel", "--reason", "x")):
        told = refusal(recoup("operations", verb[0], str(uuid.uuid4()), *verb[1:], "--json", fails=True))
        assert told["refused"] == "operation_unknown"
