"""Somebody's transaction holds the row of one error and does not end: what recovery does with the others goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import psycopg
import pytest

from recoup.database import embedded
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.recovery import following
from recoup.settings import Settings
from recovery.stage import RETRY, Stage

HOLD = "select from recoup.error where error_id = %s for update"


@pytest.fixture
def database(new_database: Callable[..., str]) -> str:
    return new_database()


@pytest.fixture
def stage(database: str, server: embedded.Server, settings: Settings) -> Iterator[Stage]:
    """Where nobody waits long for a lock."""
    with Database(server.uri(database), dataclasses.replace(settings, lock_timeout_ms=100)) as db:
        yield Stage(db)


@pytest.fixture
def somebody(database: str, server: embedded.Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.uri(database, admin=True)) as connection:
        yield connection


def test_the_others_are_evaluated(stage: Stage, somebody: psycopg.Connection) -> None:
    held, one, other = (stage.park() for _ in range(3))
    with stage.db.transaction(Authority.MATCHER) as tx:
        following.match_subjects(tx, stage.policy)
    somebody.execute(HOLD, (held,))
    stage.evaluate()
    for free in (one, other):
        assert stage.told(stage.match_of(free)["failure_match_id"]) == [(RETRY, "pending", None)]
    match = stage.match_of(held)
    assert (match["status"], match["evaluation_failures"]) == ("new", 1)
    assert "lock timeout" in match["last_failure"]
    somebody.rollback()
    stage.advance(minutes=1)
    stage.settle()
    assert stage.told(match["failure_match_id"]) == [(RETRY, "pending", None)]
    stage.whole()


def test_the_others_are_executed(stage: Stage, somebody: psycopg.Connection) -> None:
    """The one that waits has failed, with its reason, and is followed up."""
    held, free = stage.park(), stage.park()
    matches = [stage.pending(one) for one in (held, free)]
    stage.approve(*(stage.candidate(match)["candidate_id"] for match in matches))
    somebody.execute(HOLD, (held,))
    stage.execute()
    somebody.rollback()
    assert stage.told(matches[1]) == [(RETRY, "executing", None)]
    assert stage.hub.row(free)["status"] == "RETRY_PENDING"
    (failed,) = stage.candidates(matches[0])
    assert (failed["status"], "lock timeout" in failed["error"]) == ("failed", True)
    assert stage.hub.row(held)["status"] == "PARKED"
    stage.settle()
    assert len(stage.candidates(matches[0])) == 2
    stage.whole()
