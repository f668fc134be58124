"""Handlers: called by the worker when a retry is due, side by side, and bounded by their lease."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from command_line import RECOUP, clean_environment
from hub import DOL, SECOND, TARGET, TRANSIENT, Hub, NewHub
from recoup import policy
from recoup.database.connection import Transaction
from recoup.errors import handling
from recoup.errors.retrying import Claimed
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.settings import Settings


class Hands:
    """Somebody at the duty, without a worker around it."""

    name = "hands"

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.told = 0
        with hub.db.transaction(Authority.READER) as tx:
            self._policy = policy.in_force(tx).policy

    @property
    def settings(self) -> Settings:
        return self._hub.db.settings

    @property
    def policy(self) -> Policy:
        return self._policy

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._hub.db.transaction(Authority.ERROR_WORKER)

    def may_claim(self, tx: Transaction) -> bool:
        return True

    def tally(self, tx: Transaction, done: int) -> None:
        self.told += done


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
    assert handling.retry_due(Hands(hub), {DOL: lambda _: together.wait()}) == 12
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
    (tmp_path / "dol_hub.py").write_text("def retry(error):\n    print('retried', error.key, flush=True)\n")
    info = tmp_path / "dol_hub-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dol-hub\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        f"[recoup.error_handlers]\n{DOL} = dol_hub:retry\n{TARGET} = dol_hub:missing\n"
    )
    hub = new_hub()
    error = hub.record(TRANSIENT)
    hub.advance(2 * SECOND)
    done = subprocess.run(
        [*RECOUP, "worker", "--once", "--duty", "error-retry"],
        env={**clean_environment(), "RECOUP_DSN": hub.db.conninfo, "PYTHONPATH": os.fspath(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"retried {DOL}/{error}/1" in done.stdout
    assert "handler cannot be loaded" in done.stderr
    assert hub.row(error)["status"] == "RESOLVED"


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


def test_one_that_was_given_up_and_comes_back_takes_nothing_from_the_next(
    new_hub: NewHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one flow: a call hangs and is given up, its error is retried, and only then does the first come back."""
    hub = new_hub()
    hub.apply_policy("[errors]\nretry_lease_s = 1\nretries_at_once = 2")
    monkeypatch.setattr(handling, "GRACE_S", 0.1)
    error = hub.record(TRANSIENT)
    for _ in range(3):
        hub.record(TRANSIENT, table=TARGET)
    hub.advance(2 * SECOND)
    calls: list[int] = []
    others: list[int] = []
    release = threading.Event()

    def retry(claimed: Claimed) -> None:
        calls.append(claimed.retry_count)
        if len(calls) == 1:
            release.wait(30)
        else:
            release.set()
            time.sleep(0.3)  # the first one reports meanwhile

    def keep_going(claimed: Claimed) -> None:
        """One after the other, beside the one that hangs, until it was given up and its retry comes due again."""
        others.append(claimed.error_id)
        time.sleep(0.7)
        if len(others) == 3:
            hub.advance(5 * SECOND)
            hub.lapse()
            hub.advance(5 * SECOND)

    handling.retry_due(Hands(hub), {DOL: retry, TARGET: keep_going})
    assert calls == [0, 1]
    assert hub.row(error)["status"] == "RESOLVED"
