"""Handlers: called by the worker when a retry is due, side by side, and bounded by their lease."""

from __future__ import annotations

import os
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from command_line import RECOUP, clean_environment
from hub import DOL, PEOPLE, SECOND, TARGET, TRANSIENT, Hub, NewHub, failed, succeeded
from recoup import policy
from recoup.database.connection import Transaction
from recoup.errors import foreground, handling
from recoup.errors.retrying import Claimed, Reported, reported
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.settings import Settings


class Hands:
    """Somebody at the duty, without a worker around it."""

    def __init__(self, hub: Hub) -> None:
        self.name = f"hands-{uuid.uuid4()}"
        self._hub = hub
        self.told = 0
        with hub.db.transaction(Authority.READER) as tx:
            self._policy = policy.in_force(tx).policy

    @property
    def settings(self) -> Settings:
        return self._hub.db.settings

    @property
    def conninfo(self) -> str:
        return self._hub.db.conninfo

    @property
    def policy(self) -> Policy:
        return self._policy

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._hub.db.transaction(Authority.ERROR_WORKER)

    def may_claim(self, tx: Transaction) -> bool:
        return True

    def tally(self, tx: Transaction, done: int) -> None:
        self.told += done


def test_an_outcome_that_somebody_else_reported_is_not_written_again(new_hub: NewHub) -> None:
    hub = new_hub()
    good, bad, foreground_ = hub.record(TRANSIENT), hub.record(TRANSIENT), hub.record(TRANSIENT, table=TARGET)
    hub.advance(2 * SECOND)

    def retry(error: Claimed) -> Reported | None:
        hub.finish([failed(error, "still down") if error.error_id == bad else succeeded(error)])
        with hub.db.transaction(Authority.READER) as tx:
            return reported(tx, error)

    assert handling.retry_due(Hands(hub), {DOL: retry}) == 2
    assert hub.row(good)["status"] == "RESOLVED"
    assert (hub.row(bad)["retry_count"], hub.row(bad)["last_failure"]) == (1, "still down")
    done = foreground.retry(hub.db, str(foreground_), functions={TARGET: retry})
    assert (done.status, done.failure) == ("RESOLVED", None)
    assert hub.rows("select * from recoup.late_result") == []


def test_what_returns_is_resolved_and_what_raises_failed_with_its_words(new_hub: NewHub) -> None:
    hub = new_hub()
    good, bad = hub.record(TRANSIENT), hub.record(TRANSIENT)
    hub.advance(2 * SECOND)

    def retry(error: Claimed) -> None:
        if error.error_id == bad:
            raise ConnectionError("still down")

    hands = Hands(hub)
    assert handling.retry_due(hands, {DOL: retry}) == 2
    assert hands.told == 2
    assert hub.row(good)["status"] == "RESOLVED"
    row = hub.row(bad)
    assert (row["status"], row["retry_count"], row["last_failure"]) == (
        "RETRY_PENDING",
        1,
        "ConnectionError: still down",
    )
    ((authority,),) = hub.rows("select distinct authority from recoup.claim_log")
    assert authority == "recoup_error_worker"


def test_only_tables_that_have_a_handler_are_claimed(new_hub: NewHub) -> None:
    hub = new_hub()
    other = hub.record(TRANSIENT, table=TARGET)
    hub.advance(2 * SECOND)
    assert handling.retry_due(Hands(hub), {DOL: lambda _: None, "not.a_table": lambda _: None}) == 0
    assert hub.row(other)["token"] is None


def test_handlers_run_side_by_side_and_no_more_than_may(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.apply_policy("[errors]\nretries_at_once = 4")
    for _ in range(12):
        hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    together = threading.Barrier(4, timeout=20)

    def retry(_: Claimed) -> None:
        together.wait()

    assert handling.retry_due(Hands(hub), {DOL: retry}) == 12
    assert hub.rows("select count(*) from recoup.error where status = 'RESOLVED'") == [(12,)]


def test_a_handler_that_never_comes_back_does_not_hang_the_worker(
    new_hub: NewHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given up when its lease is over; what it reports afterwards nobody applies."""
    hub = new_hub()
    hub.apply_policy("[errors]\nretry_lease_s = 1")
    monkeypatch.setattr(handling, "GRACE_S", 0.2)
    stuck, fine = hub.record(TRANSIENT), hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    release = threading.Event()

    def retry(error: Claimed) -> None:
        if error.error_id == stuck:
            release.wait(30)

    begun = time.monotonic()
    assert handling.retry_due(Hands(hub), {DOL: retry}) == 1
    assert time.monotonic() - begun < 20
    release.set()
    assert hub.row(fine)["status"] == "RESOLVED"
    hub.advance(2 * SECOND)
    assert hub.lapse() == 1
    assert hub.row(stuck)["last_outcome"] == "LAPSED"


def test_an_installed_handler_is_found_by_its_entry_point(new_hub: NewHub, settings: Settings, tmp_path: Path) -> None:
    """As a user has it: a package with an entry point, a worker that does its duties once."""
    (tmp_path / "dol_hub.py").write_text("NUMBER = 7\ndef retry(error):\n    print('retried', error.key, flush=True)\n")
    info = tmp_path / "dol_hub-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dol-hub\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        f"[recoup.error_handlers]\n{DOL} = dol_hub:retry\n{TARGET} = dol_hub:missing\n{PEOPLE} = dol_hub:NUMBER\n"
    )
    hub = new_hub()
    error, other = hub.record(TRANSIENT), hub.record(TRANSIENT, table=PEOPLE)
    hub.advance(2 * SECOND)
    done = subprocess.run(
        [*RECOUP, "worker", "--once", "--duty", "error-retry"],
        env={**clean_environment(), "RECOUP_DSN": hub.db.conninfo, "PYTHONPATH": os.fspath(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"retried {DOL}/{error}/1" in done.stdout
    assert done.stderr.count("handler cannot be loaded") == 2
    assert "a handler is a function of the claimed error, and this is of type int" in done.stderr
    assert hub.row(error)["status"] == "RESOLVED"
    assert hub.row(other)["retry_count"] == 0, "what cannot be called uses up no retry"


def test_a_coroutine_is_awaited_and_a_generator_is_no_success(new_hub: NewHub) -> None:
    """What has only begun when it returns did nothing yet: its entity must not be let through for that."""
    hub = new_hub()
    awaited, failing, generated = (hub.record(TRANSIENT) for _ in range(3))
    hub.advance(2 * SECOND)

    async def later(error: Claimed) -> None:
        if error.error_id == failing:
            raise ConnectionError("still down")

    def handler(error: Claimed) -> object:
        return (n for n in range(3)) if error.error_id == generated else later(error)

    assert handling.retry_due(Hands(hub), {DOL: handler}) == 3
    assert hub.row(awaited)["status"] == "RESOLVED"
    assert hub.row(failing)["last_failure"] == "ConnectionError: still down"
    assert hub.row(generated)["last_failure"].startswith("TypeError")


RETURNED: tuple[tuple[Callable[[Claimed], object], str | None], ...] = (
    (succeeded, None),
    (lambda error: failed(error, "no such filing"), "no such filing"),
    (lambda _: Future(), "TypeError: a handler returns nothing, Succeeded or Failed of its error"),
    (lambda _: ValueError("no"), "this one returned ValueError: ValueError('no')"),
    (lambda _: False, "this one returned bool: False"),
    (lambda error: succeeded(error._replace(error_id=7)), "this one returned Succeeded"),
)


@pytest.mark.parametrize("later", [False, True], ids=["plain", "coroutine"])
def test_what_a_handler_returns_is_an_outcome_or_a_failure(new_hub: NewHub, later: bool) -> None:
    """Nothing that merely came back passes for a success: its entity would be let through."""
    hub = new_hub()
    errors = {hub.record(TRANSIENT): case for case in RETURNED}
    hub.advance(2 * SECOND)

    def plain(claimed: Claimed) -> object:
        return errors[claimed.error_id][0](claimed)

    async def coroutine(claimed: Claimed) -> object:
        return plain(claimed)

    assert handling.retry_due(Hands(hub), {DOL: coroutine if later else plain}) == len(errors)
    for error, (_, words) in errors.items():
        row = hub.row(error)
        assert row["status"] == ("RESOLVED" if words is None else "RETRY_PENDING")
        assert words is None or words in row["last_failure"]


class Slow:
    """A handler whose first call hangs until it is released; how many ran at once, and in which calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.running = self.most = 0
        self.release = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, error: Claimed) -> None:
        with self._lock:
            self.calls.append(error.key)
            self.running += 1
            self.most = max(self.most, self.running)
        if error.retry_count == 0:
            self.release.wait(30)
        with self._lock:
            self.running -= 1


def lapse_and_come_due(hub: Hub) -> None:
    hub.advance(5 * SECOND)
    hub.lapse()
    hub.advance(5 * SECOND)


def test_one_that_overran_its_lease_is_not_called_again_beside_itself_and_its_result_is_late(
    new_hub: NewHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over several flows of one worker; when it came back, the next retry of its error is called."""
    hub = new_hub()
    hub.apply_policy("[errors]\nretry_lease_s = 1\nretries_at_once = 2")
    monkeypatch.setattr(handling, "GRACE_S", 0.1)
    error, slow, hands = hub.record(TRANSIENT), Slow(), Hands(hub)
    hub.advance(2 * SECOND)
    assert handling.retry_due(hands, {DOL: slow}) == 0, "it is left to itself"
    lapse_and_come_due(hub)
    assert handling.retry_due(hands, {DOL: slow}) == 0, "claimed, and not called"
    assert (slow.calls, hub.row(error)["held"] is not None) == ([f"{DOL}/{error}/1"], True)
    slow.release.set()
    until = time.monotonic() + 20
    while (slow.running or not handling.retry_due(hands, {DOL: slow})) and time.monotonic() < until:
        time.sleep(0.01)
    ((result,),) = hub.rows("select result from recoup.late_result where unit_id = %s", f"{DOL}/{error}")
    assert result["outcome"] == "SUCCEEDED"
    lapse_and_come_due(hub)
    hub.advance(10 * SECOND)
    assert handling.retry_due(hands, {DOL: slow}) == 1
    assert (slow.calls, slow.most) == ([f"{DOL}/{error}/1", f"{DOL}/{error}/3"], 1)
    assert (hub.row(error)["status"], hub.broken()) == ("RESOLVED", [])


def test_handlers_that_hang_are_no_more_than_may_run_at_once_and_the_log_says_that_nothing_more_is_claimed(
    new_hub: NewHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub = new_hub()
    hub.apply_policy("[errors]\nretry_lease_s = 1\nretries_at_once = 3")
    monkeypatch.setattr(handling, "GRACE_S", 0.1)
    for _ in range(10):
        hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    slow, hands = Slow(), Hands(hub)
    for _ in range(3):
        handling.retry_due(hands, {DOL: slow})
    assert (len(slow.calls), slow.most) == (3, 3)
    assert caplog.text.count("nothing more is claimed") == 1
    slow.release.set()
    until = time.monotonic() + 20
    while len(slow.calls) < 10 and time.monotonic() < until:
        handling.retry_due(hands, {DOL: slow})
    assert (len(slow.calls), slow.most) == (10, 3)
