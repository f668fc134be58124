"""Notices reach a real receiver, or are tried again, or are dead and visible; no route holds up another."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from deliveries.post import SECRET, SECRET_PATH, Office, Receiver, home_of, receiving, webhook
from recoup import deliveries
from recoup.database.connection import Database
from recoup.deliveries import delivering
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.settings import Settings


def test_a_notice_is_posted_once_with_its_id_as_idempotency_key(office: Office, receiver: Receiver) -> None:
    made = office.send(subject="three errors\nwait", body={"errors": 3}, about="INC-1")
    assert office.deliver() == 1
    ((path, headers, body),) = receiver.got
    assert path == SECRET_PATH
    assert headers["Idempotency-Key"] == str(made)
    assert headers["Content-Type"] == "application/json"
    sent = json.loads(body)
    created = sent.pop("created_at")
    assert sent == {
        "delivery_id": str(made), "route": "ops", "subject": "three errors wait", "body": {"errors": 3},
        "about": "INC-1", "origin": "operator",
    }  # fmt: skip
    assert created == office.row(made)["created_at"].isoformat()
    assert office.status(made) == ("delivered", 1)
    assert office.deliver() == 0
    assert len(receiver.got) == 1
    assert office.broken() == []


def test_by_the_real_clock_every_step_is_as_lawful(
    fresh: Callable[..., Database], settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no two readings of the time are the same."""
    office = Office(fresh(simulated_from=None), home_of(tmp_path, settings))
    with receiving() as there:
        monkeypatch.setenv("TEST_OPS_URL", there.url)
        office.routes(webhook())
        good, cancelled = office.send(), office.send("log")
        office.cancel(cancelled)
        there.status = 500
        assert office.deliver() == 1
        assert office.status(good) == ("queued", 1)
        office.cancel(good)
        there.status = 200
        office.send()
        assert office.deliver() == 1
    assert office.broken() == []


def test_what_is_signed_can_be_verified(office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/howto/deliver-notices.md tells receivers."""
    monkeypatch.setenv("TEST_OPS_SECRET", SECRET)
    office.routes(webhook(secret_env="TEST_OPS_SECRET"))
    office.send()
    office.deliver()
    ((_, headers, body),) = receiver.got
    fields = dict(part.split("=", 1) for part in headers["Recoup-Signature"].split(","))
    expected = hmac.new(SECRET.encode(), f"{fields['t']}.".encode() + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(fields["v1"], expected)
    assert abs(int(fields["t"]) - time.time()) < 60
    assert SECRET not in str(headers)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 500}, "HTTP 500"),
        ({"status": 429}, "HTTP 429"),
        ({"status": 302, "location": "http://127.0.0.1:1/"}, "HTTP 302: redirects are not followed"),
    ],
)
def test_a_failed_try_is_repeated_with_backoff_and_the_last_one_is_final(
    office: Office, receiver: Receiver, answer: dict[str, object], words: str
) -> None:
    for name, value in answer.items():
        setattr(receiver, name, value)
    made = office.send()
    waits = []
    for tries in (1, 2):
        assert office.deliver() == 1
        row = office.row(made)
        assert (row["status"], row["attempts"], row["outcome"], row["last_failure"]) == (
            "queued", tries, "FAILED", words
        )  # fmt: skip
        waits.append(row["next_try_at"] - row["updated_at"])
        assert office.deliver() == 0, "not before it is due"
        office.advance(seconds=waits[-1].total_seconds())
    assert waits == [timedelta(seconds=10), timedelta(seconds=15)], "doubled, and capped"
    assert office.deliver() == 1
    row = office.row(made)
    assert (row["status"], row["attempts"], row["last_failure"]) == ("dead", 3, words)
    assert row["ended_at"] == row["updated_at"]
    office.advance(days=1)
    assert office.deliver() == 0
    assert len(receiver.got) == 3
    assert {headers["Idempotency-Key"] for _, headers, _ in receiver.got} == {str(made)}
    assert len({body for _, _, body in receiver.got}) == 1, "the same bytes every time"
    assert office.broken() == []


def test_a_receiver_that_is_not_there_fails_at_once(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("TEST_OPS_URL", f"http://127.0.0.1:{closed.getsockname()[1]}/")
        made = office.send()
        assert office.deliver() == 1
    assert office.row(made)["last_failure"] == "connection refused"


def test_a_huge_answer_is_not_read(office: Office, receiver: Receiver) -> None:
    receiver.body = b"x" * 50_000_000
    made = office.send()
    begun = time.monotonic()
    assert office.deliver() == 1
    assert time.monotonic() - begun < 10
    assert office.status(made) == ("delivered", 1)


@pytest.mark.parametrize("drip", [b"", b"HTTP/1.1 200 OK\r\n" + b"X-Slow: 1\r\n" * 1000])
def test_a_receiver_that_never_ends_its_answer_is_left_at_the_timeout(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, drip: bytes
) -> None:
    """Also one that sends a byte now and then, so that no single read times out."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("TEST_OPS_URL", f"http://127.0.0.1:{server.getsockname()[1]}/")

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                for place in range(len(drip)):
                    try:
                        connection.send(drip[place : place + 1])
                    except OSError:
                        return
                    if over.wait(0.05):
                        return
                over.wait(30)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        made = office.send()
        begun = time.monotonic()
        assert office.deliver() == 1
        assert time.monotonic() - begun < 8
        over.set()
        thread.join()
    assert office.row(made)["last_failure"] == "no answer within 1 s"


def test_a_route_that_hangs_does_not_block_another(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes its share of what runs at once; what becomes due meanwhile for another route is delivered meanwhile."""
    with receiving() as other:
        monkeypatch.setenv("TEST_CHAT_URL", other.url)
        office.routes(
            "[deliveries]\nat_once = 6\nat_once_per_route = 2\n" + webhook(timeout_s=20) + webhook("chat", timeout_s=20)
        )
        receiver.hold.clear()
        stuck = [office.send() for _ in range(10)]
        first = office.send("chat")
        flow = threading.Thread(target=office.deliver)
        flow.start()
        assert other.came.acquire(timeout=20)
        assert receiver.came.acquire(timeout=20)
        assert receiver.came.acquire(timeout=20)
        later = [office.send("chat") for _ in range(6)]
        for _ in later:
            assert other.came.acquire(timeout=20)
        assert len(receiver.got) == 2, "no more than its share"
        receiver.hold.set()
        flow.join(60)
        assert not flow.is_alive()
    assert {office.status(one) for one in [first, *later, *stuck]} == {("delivered", 1)}


def test_a_route_whose_variable_is_not_set_is_left_to_other_workers(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = office.send()
    monkeypatch.delenv("TEST_OPS_URL")
    assert office.deliver() == 0
    assert office.status(made) == ("queued", 0)
    with office.db.transaction(Authority.READER) as tx:
        assert delivering.unserved(tx) == "ops: the environment variable TEST_OPS_URL is not set"
    monkeypatch.setenv("TEST_OPS_URL", receiver.url)
    assert office.deliver() == 1


def test_a_route_that_is_gone_from_the_policy_ends_its_deliveries(office: Office, receiver: Receiver) -> None:
    made = office.send()
    office.routes("")
    assert office.deliver() == 1
    row = office.row(made)
    assert (row["status"], row["attempts"], row["last_failure"]) == ("dead", 1, delivering.GONE)
    assert receiver.got == []
    assert office.broken() == []


def test_an_unknown_route_is_refused(office: Office) -> None:
    with pytest.raises(LawRefused) as refused:
        office.send("nowhere")
    assert refused.value.code == "route_unknown"
    assert "Routes: log" in refused.value.next_step


def test_no_more_than_the_policy_allows_wait_for_a_route(office: Office, receiver: Receiver) -> None:
    office.routes("[deliveries]\nmax_waiting = 2\n" + webhook())
    office.send()
    office.send()
    with pytest.raises(LawRefused) as refused:
        office.send()
    assert refused.value.code == "route_full"
    office.send("log")


def test_a_dead_delivery_is_sent_again_as_a_new_one(office: Office, receiver: Receiver) -> None:
    made = office.send(body={"a": 1}, dedup_key="k")
    office.cancel(made)
    with office.db.transaction(Authority.OPERATOR) as tx:
        again = deliveries.retry(tx, made)
    assert again != made
    assert office.deliver() == 1
    assert office.status(again) == ("delivered", 1)
    assert office.row(again)["body"] == {"a": 1}
    with pytest.raises(LawRefused, match="is delivered"), office.db.transaction(Authority.OPERATOR) as tx:
        deliveries.retry(tx, again)


def test_a_try_under_way_ends_when_its_delivery_is_cancelled(office: Office, receiver: Receiver) -> None:
    """It counts, and what it reports is late."""
    made = office.send()
    (claimed,) = office.claim()
    office.cancel(made)
    assert office.status(made) == ("dead", 1)
    assert office.finish((claimed, None)) == ["late"]
    assert office.status(made) == ("dead", 1)
    ((told,),) = office.rows("select reason from recoup.delivery_event where to_status = 'dead'")
    assert told == "not needed"
    with pytest.raises(LawRefused, match="is dead"):
        office.cancel(made)
    assert office.broken() == []


def test_a_result_that_is_reported_twice_is_counted_once(office: Office, receiver: Receiver) -> None:
    made = office.send()
    (claimed,) = office.claim()
    assert office.finish((claimed, None)) == ["delivered"]
    assert office.finish((claimed, None)) == ["delivered"]
    assert office.finish((claimed, "no")) == ["late"]
    assert office.status(made) == ("delivered", 1)
    assert office.broken() == []
