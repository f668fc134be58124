"""Claims against claims, and against whatever else may happen to an intake at that moment."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from product import chosen, pause, resume
from recoup.audit import audit
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.gate import Attempt
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import DAY, WINDOW, Desk, outcome

sys.path.insert(0, str(Path(__file__).parent))
from racing import claim, kinds, together

ROUNDS = 12
CLAIMERS = 6


@pytest.fixture(scope="module")
def desk(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Desk]:
    with Database(server.uri(new_database()), dataclasses.replace(settings, pool_max=16)) as database:
        yield Desk(database)


def claim_all(desk: Desk, *, retries: bool, limit: int = 20) -> list[Attempt]:
    """Claim until nothing is left, as a worker does."""
    claimed: list[Attempt] = []
    while some := claim(desk, retries=retries, limit=limit):
        claimed += some
    return claimed


def clear(desk: Desk) -> None:
    """Nothing waits of the rounds before."""
    desk.advance(20 * DAY)
    desk.sweep()
    desk.freeze()
    desk.advance(4 * DAY)  # what crashed just now may be tried again
    for retries in (False, True):
        if left := claim_all(desk, retries=retries):
            desk.report(*(outcome(attempt, None) for attempt in left))


def failed(desk: Desk, count: int, *, batch_id: str | None = None) -> list[UUID]:
    """So many intakes whose first attempt failed."""
    intakes = desk.intakes(count, batch_id=batch_id)
    desk.report(*(outcome(attempt) for attempt in desk.open_all(intakes)))
    return intakes


@pytest.mark.parametrize("retries", [False, True])
def test_claimers_share_what_there_is(desk: Desk, retries: bool) -> None:
    """Six at once: every intake is claimed, by one of them, and nobody is refused anything."""
    for _ in range(ROUNDS):
        clear(desk)
        intakes = failed(desk, 60) if retries else desk.intakes(60)
        desk.advance(DAY)
        results = together(*[partial(claim_all, desk, retries=retries, limit=7)] * CLAIMERS)
        done, refused = kinds(results)
        assert refused == []
        claimed = [attempt.intake_id for attempts in done for attempt in attempts]
        assert sorted(claimed) == sorted(intakes)
        words = set(desk.lawful(*intakes))
        assert words == {"SFR" if retries else "S"}
        desk.report(*(outcome(attempt, None) for attempts in done for attempt in attempts))


def test_claimed_and_ended_at_once_is_not_claimed_again(desk: Desk, seed: int, again: int) -> None:
    """Claimers that end at once what they claim, together with claimers that use an older snapshot."""
    rng = random.Random(f"claims {seed} {again}")
    for _ in range(ROUNDS):
        clear(desk)
        intakes = failed(desk, 30)
        desk.advance(DAY)

        def work(limit: int) -> int:
            count = 0
            while some := claim(desk, retries=True, limit=limit):
                desk.report(*(outcome(attempt) for attempt in some))
                count += len(some)
            return count

        done, refused = kinds(together(*[partial(work, rng.randint(1, 9)) for _ in range(CLAIMERS)]))
        assert refused == []
        assert sum(done) == len(intakes)
        assert set(desk.lawful(*intakes)) == {"SFRF"}


def test_a_claim_and_a_freeze_agree(desk: Desk) -> None:
    """At the end of the window: a retry opens before it and may finish, or the recovery has ended."""
    for _ in range(ROUNDS):
        clear(desk)
        batch = desk.batch(completed=True)
        intakes = failed(desk, 12, batch_id=batch)
        desk.advance(WINDOW - DAY / 2)
        results = together(
            partial(claim, desk, retries=True),
            partial(desk.advance, DAY / 2),
            partial(desk.freeze),
            partial(claim, desk, retries=True),
        )
        done, refused = kinds(results)
        # A claim met the end of the window in its middle, or the clock was moved under it.
        assert set(refused) <= {"batch_window_closed", "attempt_time"}
        while desk.freeze().exhausted:
            pass
        words = set(desk.lawful(*intakes))
        assert words <= {"SFR", "SFW"}
        desk.report(
            *(outcome(attempt) for claimed in (done[0], done[-1]) if isinstance(claimed, list) for attempt in claimed)
        )
        desk.sweep()  # the clock was moved beyond the leases of what was claimed before: those results are late
        assert set(desk.lawful(*intakes)) <= {"SFRFW", "SFW"}


def test_a_claim_and_somebody_who_opens_by_hand(desk: Desk) -> None:
    """One of them has each intake."""
    for _ in range(ROUNDS):
        clear(desk)
        intakes = failed(desk, 8)
        desk.advance(DAY)
        done, refused = kinds(
            together(
                partial(claim_all, desk, retries=True), *[partial(desk.open_all, [intake]) for intake in intakes[:4]]
            )
        )
        opened = [attempt.intake_id for attempts in done for attempt in attempts]
        assert sorted(opened) == sorted(intakes)
        assert set(refused) <= {"attempt_open", "attempt_number"}
        assert set(desk.lawful(*intakes)) == {"SFR"}
        desk.report(*(outcome(attempt, None) for attempts in done for attempt in attempts))


@pytest.mark.parametrize("scope", ["global", "batch", "table"])
def test_nothing_is_claimed_after_a_pause_was_answered(desk: Desk, scope: str) -> None:
    """Claims that begin once the pause has returned find nothing; those before have what they have."""
    for _ in range(ROUNDS // 2):
        clear(desk)
        batch = desk.batch()
        intakes = failed(desk, 12, batch_id=batch)
        desk.advance(DAY)
        name = {"global": None, "batch": batch, "table": "cl.gate_zero_recovery"}[scope]

        def pause_then_claim(name: str | None = name) -> list[Attempt]:
            with desk.db.transaction(Authority.OPERATOR) as tx:
                pause(tx, scope, name, reason="race")
            return claim(desk, retries=True, limit=3)

        before, after = together(partial(claim, desk, retries=True, limit=3), pause_then_claim)
        assert after == []
        with desk.db.transaction(Authority.OPERATOR) as tx:
            resume(tx, scope, name, reason="race over")
        rest = claim_all(desk, retries=True)
        claimed = [a.intake_id for a in (before if isinstance(before, list) else [])] + [a.intake_id for a in rest]
        assert sorted(claimed) == sorted(intakes)
        desk.report(*(outcome(attempt, None) for attempt in [*(before if isinstance(before, list) else []), *rest]))


def test_a_paused_batch_does_not_stand_in_the_way(desk: Desk) -> None:
    """Recoveries that may not be claimed do not count against the limit."""
    clear(desk)
    batch = desk.batch()
    held, free = failed(desk, 25, batch_id=batch), failed(desk, 5)
    desk.advance(DAY)
    desk.pause(batch)
    assert sorted(a.intake_id for a in claim(desk, retries=True, limit=5)) == sorted(free)
    assert claim(desk, retries=True) == []
    desk.resume(batch)
    assert sorted(a.intake_id for a in claim_all(desk, retries=True)) == sorted(held)


def test_the_audit_finds_nothing_after_all_that(desk: Desk, settings: Settings) -> None:
    """Every promise of the documents, asked of the rows that the races above left behind."""
    with contextlib.closing(connect(desk.db.conninfo, settings)) as connection:
        broken = [verdict for verdict in audit(connection, chosen(())) if not verdict.holds]
    # The clock was moved by half a day under statements that had begun: their times are those of before.
    assert [verdict for verdict in broken if verdict.id != "laws/L7/in-order"] == []
