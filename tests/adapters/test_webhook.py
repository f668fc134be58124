"""Webhooks as handlers of errors and as executors of actions, over real HTTP on loopback."""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from command_line import run_in
from deliveries.post import Receiver, receiving
from hub import DOL, TRANSIENT, Hub
from recoup.adapters import webhook
from recoup.adapters.webhook import Webhook, WebhookFailed
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.deliveries.webhooks import signed, verified
from recoup.errors.retrying import Claimed as ClaimedError
from recoup.errors.retrying import Reported
from recoup.errors.vocabulary import Category
from recoup.recovery.executing import Claimed as ClaimedAction
from recoup.recovery.executing import Subject
from recoup.settings import Settings

NAME, KEY = "TEST_HOOK", "hook-key-77-unguessable"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ERROR = ClaimedError(
    error_table=DOL, error_id=7, outreach_id=uuid.uuid4(), work_key=None, error_code="E", error_message="it broke",
    error_signature="s", severity=None, category=Category.TRANSIENT, retry_count=1, max_retries=5, payload={"a": 1},
    retry_with=None, created_at=NOW, token=uuid.uuid4(), lease_until=NOW + timedelta(minutes=5),
)  # fmt: skip
ACTION = ClaimedAction(
    candidate_id=uuid.uuid4(), failure_match_id=uuid.uuid4(), action_name="restart_unit", action_type="invoke",
    subject_kind="error", parameters={"unit": "billing"}, idempotency_key="key-of-the-action", timeout_s=3,
    token=uuid.uuid4(), lease_until=NOW + timedelta(minutes=5),
)  # fmt: skip
SUBJECT = Subject(
    candidate_id=ACTION.candidate_id, source="x", subject_ref="7", error_code=None, error_message="it broke",
    error_signature="s", context={},
)  # fmt: skip
HOOK = Webhook(NAME)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries as short as they can be; a timeout that a test waits for."""
    monkeypatch.setattr(webhook, "PAUSE_S", 0.01)
    monkeypatch.setattr(webhook, "AGAIN_S", 0.05)
    monkeypatch.setenv("RECOUP_PROJECT", "none")


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the variables of the webhook: address, key, and loopback as an allowed network."""

    def set_(url: str, *, networks: str = "127.0.0.0/8") -> None:
        monkeypatch.setenv(f"{NAME}_URL", url)
        monkeypatch.setenv(f"{NAME}_SECRET", KEY)
        monkeypatch.setenv(f"{NAME}_NETWORKS", networks)

    return set_


@pytest.fixture
def receiver(known: Callable[[str], None]) -> Iterator[Receiver]:
    with receiving() as found:
        known(found.url)
        yield found


def test_a_retry_is_asked_for_signed_and_with_its_key(receiver: Receiver) -> None:
    assert HOOK(ERROR) is None
    ((_, headers, body),) = receiver.got
    assert headers["Idempotency-Key"] == ERROR.key
    assert verified(KEY.encode(), body, headers["Recoup-Signature"], now=time.time())
    sent = json.loads(body)
    assert (sent["kind"], sent["table"], sent["id"], sent["attempt"]) == ("retry", DOL, 7, 2)
    assert sent["token"] == str(ERROR.token)
    assert KEY not in body.decode() + str(headers)


def test_a_signature_that_is_replayed_or_moved_is_refused() -> None:
    body, now = b'{"id": 7}', 1_800_000_000
    signature = signed(KEY.encode(), body, now)
    assert verified(KEY.encode(), body, signature, now=now + 299)
    assert not verified(KEY.encode(), body, signature, now=now + 301), "sent again later"
    assert not verified(KEY.encode(), body, signature, now=now - 301), "from the future"
    assert not verified(KEY.encode(), b'{"id": 8}', signature, now=now)
    assert not verified(b"another key", body, signature, now=now)
    moved = signature.replace(f"t={now}", f"t={now + 3600}")
    assert not verified(KEY.encode(), body, moved, now=now + 3600)
    for strange in ("", "t=,v1=", "t=x,v1=y", "v1=" + "0" * 64, f"t={now}", "t=" + "9" * 5000):
        assert not verified(KEY.encode(), body, strange, now=now)


@pytest.mark.parametrize(
    ("status", "body", "words", "asked"),
    [
        (500, b"boom", "HTTP 500", 1),
        (404, b"", "HTTP 404", 1),
        (503, b"", "HTTP 503", 3),
        (429, b"", "HTTP 429", 3),
        (200, b'{"outcome": "failed", "message": "no such filing"}', "no such filing", 1),
    ],
)
def test_what_the_answer_says_is_the_failure(
    receiver: Receiver, status: int, body: bytes, words: str, asked: int
) -> None:
    """What may be better a moment later is asked for again, with the same key."""
    receiver.status, receiver.body = status, body
    with pytest.raises(WebhookFailed, match=words) as failure:
        HOOK(ERROR)
    assert len(receiver.got) == asked
    assert {headers["Idempotency-Key"] for _, headers, _ in receiver.got} == {ERROR.key}
    assert receiver.url not in str(failure.value), "the address may be a secret"


def test_a_receiver_that_hangs_is_given_up(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 1.0)
    receiver.hold.clear()
    begun = time.monotonic()
    with pytest.raises(WebhookFailed, match="no answer within 1 s"):
        HOOK(ERROR)
    assert time.monotonic() - begun < 10
    receiver.hold.set()


def test_an_answer_without_end_is_cut_off(receiver: Receiver) -> None:
    receiver.body = b'{"outcome": "' + b"x" * 5_000_000
    assert HOOK(ERROR) is None, "a 2xx status, and no JSON that says otherwise"


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    """Not to a private address either: a receiver that is taken over leads nowhere."""
    with receiving() as inside:
        receiver.status, receiver.location = 302, inside.url
        with pytest.raises(WebhookFailed, match="redirects are not followed"):
            HOOK(ERROR)
        assert inside.got == []


@pytest.mark.parametrize("networks", ["", "10.0.0.0/8"])
def test_a_private_address_is_refused_unless_it_is_allowed(
    receiver: Receiver, known: Callable[..., None], networks: str
) -> None:
    """By the address that is connected to, whatever its name."""
    for url in (receiver.url, receiver.url.replace("127.0.0.1", "localhost"), "https://[::ffff:127.0.0.1]:1/"):
        known(url, networks=networks)
        with pytest.raises(WebhookFailed, match="its address is private"):
            HOOK(ERROR)
    assert receiver.got == []


def test_without_tls_only_allowed_networks_are_called(known: Callable[..., None]) -> None:
    known("http://192.0.2.1/", networks="127.0.0.0/8")
    with pytest.raises(WebhookFailed, match="its address is private, and not one of the allowed"):
        HOOK(ERROR)


@pytest.mark.parametrize("missing", ["URL", "SECRET"])
def test_a_variable_that_is_missing_is_named(receiver: Receiver, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.delenv(f"{NAME}_{missing}")
    with pytest.raises(WebhookFailed, match=f"{NAME}_{missing} is not set"):
        HOOK(ERROR)
    monkeypatch.setenv(f"{NAME}_{missing}", "x")


def test_later_leaves_the_retry_to_the_receiver(receiver: Receiver) -> None:
    receiver.status = 202
    assert isinstance(HOOK(ERROR), Reported)
    receiver.status, receiver.body = 200, b'{"outcome": "later"}'
    assert isinstance(HOOK(ERROR), Reported)


def test_an_action_is_asked_for_until_it_is_done(receiver: Receiver) -> None:
    """With the same key: the receiver does it once."""
    receiver.status = 202

    def done_later() -> None:
        for _ in range(3):
            receiver.came.acquire(timeout=10)
        receiver.status, receiver.body = 200, b'{"result": {"unit": "active"}}'

    thread = threading.Thread(target=done_later)
    thread.start()
    assert HOOK(ACTION, SUBJECT) == {"unit": "active"}
    thread.join()
    assert len(receiver.got) >= 3
    assert {headers["Idempotency-Key"] for _, headers, _ in receiver.got} == {"key-of-the-action"}
    sent = json.loads(receiver.got[0][2])
    assert (sent["action"], sent["parameters"], sent["failure"]["message"]) == (
        "restart_unit", {"unit": "billing"}, "it broke",
    )  # fmt: skip


def test_an_action_that_is_never_done_fails_in_its_time(receiver: Receiver) -> None:
    receiver.status = 202
    with pytest.raises(WebhookFailed, match="not done within 1 s"):
        HOOK(ACTION._replace(timeout_s=1), SUBJECT)


def test_a_name_is_in_capital_letters() -> None:
    assert webhook.__getattr__("DOL_RETRY") == Webhook("DOL_RETRY")
    for name in ("dol", "Dol", "__path__", "X" * 100):
        with pytest.raises(AttributeError):
            webhook.__getattr__(name)


def test_a_worker_calls_it_by_the_project_file(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, tmp_path: Path
) -> None:
    """The key that signs is in a file, the address in the environment."""
    dsn = server.uri(new_database())
    with Database(dsn, settings) as database, receiving() as receiver:
        hub = Hub(database)
        error = hub.record(TRANSIENT)
        hub.advance(timedelta(minutes=1))
        secret = tmp_path / "secret"
        secret.write_text(KEY)
        secret.chmod(0o600)
        (tmp_path / "recoup.toml").write_text(
            f'[handlers]\n"{DOL}" = "recoup.adapters.webhook:{NAME}"\n[secrets]\n{NAME}_SECRET = "secret"\n'
        )
        around = {f"{NAME}_URL": receiver.url, f"{NAME}_NETWORKS": "127.0.0.1/32"}
        run = run_in({"RECOUP_DSN": dsn, "RECOUP_PROJECT": str(tmp_path / "recoup.toml"), **around})
        run("worker", "--once", "--duty", "error-retry", "--log-level", "error")
        assert hub.row(error)["status"] == "RESOLVED"
        ((_, headers, body),) = receiver.got
        assert verified(KEY.encode(), body, headers["Recoup-Signature"], now=time.time())
        assert json.loads(body)["id"] == error
    assert os.environ.get(f"{NAME}_SECRET") is None
