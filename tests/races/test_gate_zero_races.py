"""The four races of Gate Zero and the mint, two hundred times each: one outcome, lawful histories, a clean audit.

Every test has a database of its own, which is audited at its end, and shows that either side came first. `make soak`
repeats them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice, product
from pathlib import Path
from random import Random
from uuid import UUID

import psycopg
import pytest

from company import acting, advance, attempt_and
from recoup import gate, mint
from recoup.database import embedded
from recoup.database.connection import Database, Transaction
from recoup.gate import Attempt, Frozen, NewIntake
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import FAILURE, LEASE, WINDOW, Desk, outcome
from histories import WAITS
from lively import audited, broken

sys.path.insert(0, str(Path(__file__).parent))
from racing import Match, claim, held_back, kinds, together

ROUNDS = 200
MAX_ACTORS = 8


@pytest.fixture
def desk(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Desk]:
    """A database of the test's own, with a connection for everybody."""
    with Database(server.uri(new_database()), dataclasses.replace(settings, pool_max=MAX_ACTORS)) as database:
        yield Desk(database)


@pytest.fixture
def chance(request: pytest.FixtureRequest, seed: int, again: int) -> Random:
    return Random(f"{request.node.originalname} {seed} {again}")


def due(desk: Desk, *, failures: int, count: int = 1, batch_id: str | None = None) -> list[UUID]:
    """Intakes that failed this many times, and whose wait has ended."""
    with desk.db.transaction(Authority.GATE) as tx:
        with acting(tx, Authority.HUB):
            intakes = gate.add_intakes(tx, [NewIntake(company_name="Acme")] * count, batch_id=batch_id)
        for wait in WAITS[:failures]:
            gate.finish_attempts(tx, [outcome(one) for one in gate.open_attempts(tx, intakes, worker="earlier")])
            advance(tx, wait)
    return intakes


def attempts_of(results: list[list[Attempt] | LawRefused]) -> list[Attempt]:
    return [attempt for result in results if not isinstance(result, LawRefused) for attempt in result]


# Two workers on one intake ------------------------------------------------------------------------------------------

CLAIM, OPENING = "claims", "opens by hand"
TRIED = ("", "SF", "SFRF")
PASSED, FAILED = ("SPA", "SFRPAN", "SFRFRPAN"), ("SF", "SFRF", "SFRFRFM")


def test_two_workers_on_one_intake(desk: Desk, chance: Random) -> None:
    """Its first, second or third attempt, claimed or opened by hand: one of them has it.

    Then both report, one that it passed and one that it failed: one is the outcome, the other is late.
    """
    ways = list(product([(CLAIM, CLAIM), (OPENING, OPENING), (CLAIM, OPENING)], range(3)))
    opened_first, reported_first = {way: Match(chance) for way in ways}, Match(chance)
    for way in islice(cycle(ways), ROUNDS):
        workers, failures = way
        (intake,) = due(desk, failures=failures)
        attempt = one_opens(desk, intake, workers, failures, opened_first[way])
        assert desk.word(intake) == TRIED[failures] + ("R" if failures else "S")

        passes_s, fails_s = reported_first.offsets()
        passing, failed = together(
            held_back(passes_s, partial(desk.finish, attempt, None)), held_back(fails_s, partial(desk.finish, attempt))
        )
        assert (passing.status, failed.status) in [("passed", "late"), ("late", "failed")]
        assert desk.word(intake) == (FAILED if passing.status == "late" else PASSED)[failures]
        assert desk.rows("select count(*) from recoup.late_result where unit_id = %s::text", attempt.attempt_id) == [
            (1,)
        ]
        reported_first.came_first(passing.status == "passed")
        if failed.status == "failed" and failures < 2:
            recover(desk, intake)
    assert {way: match.firsts for way, match in opened_first.items() if not match.both_ways} == {}
    assert reported_first.both_ways
    assert broken(audited(desk.db)) == {}


def one_opens(desk: Desk, intake: UUID, workers: tuple[str, str], failures: int, match: Match) -> Attempt:
    acts = {
        CLAIM: partial(claim, desk, retries=failures > 0),
        OPENING: partial(desk.open_all, [intake]),
    }
    both = together(*(held_back(by_s, acts[way]) for by_s, way in zip(match.offsets(), workers, strict=True)))
    (attempt,) = attempts_of(both)
    assert (attempt.intake_id, attempt.attempt_number) == (intake, failures + 1)
    for way, result in zip(workers, both, strict=True):
        if isinstance(result, LawRefused):  # a claim looks for something else instead
            assert way == OPENING
            assert result.code in ("attempt_open", "attempt_number")
    match.came_first(attempt in both[0] if isinstance(both[0], list) else False)
    return attempt


def recover(desk: Desk, intake: UUID) -> None:
    """Nothing is left for the next round to claim."""
    with desk.db.transaction(Authority.GATE) as tx:
        advance(tx, max(WAITS))
        attempt_and(tx, intake, None)


# A retry against the freeze -----------------------------------------------------------------------------------------

BEFORE_THE_END = LEASE / 5


def test_a_retry_against_the_freeze(desk: Desk, chance: Random) -> None:
    """At the moment when the window closes a retry is claimed, opened or ended, while two workers freeze.

    What opened in time may finish. In the end each recovery was saved, or is exhausted, once and for the true reason.
    """
    ways = [CLAIM, OPENING, "passes", "fails", "fails for the third time"]
    matches = {way: Match(chance) for way in ways}
    words: Counter[str] = Counter()
    for number, way in enumerate(islice(cycle(ways), ROUNDS)):
        intake = at_the_windows_end(desk, failures=2 if way == "fails for the third time" else 1)
        saved = way == "passes" or (way in (CLAIM, OPENING) and number % 2 == 0)
        if way in (CLAIM, OPENING):
            in_time = retried_in_time(desk, intake, way, matches[way], saved=saved)
        else:
            in_time = ended_in_time(desk, desk.open(intake), matches[way], saved=saved)
        matches[way].came_first(in_time)

        desk.freeze()  # the duty once more
        if way in (CLAIM, OPENING) and not in_time:
            expected = "SFW"
        elif saved:
            expected = "SFRPAN"
        else:
            expected = "SFRFRFM" if way == "fails for the third time" else "SFRFW"
        word = desk.word(intake)
        assert word == expected
        words[word] += 1
    assert {way: match.firsts for way, match in matches.items() if not match.both_ways} == {}
    assert set(words) == {"SFW", "SFRPAN", "SFRFW", "SFRFRFM"}
    assert desk.freeze() == Frozen(batches=(), exhausted=())
    assert desk.rows("select distinct status from cl.gate_zero_batch") == [("FROZEN",)]
    assert desk.rows("select from cl.gate_zero_recovery where status = 'ACTIVE'") == []
    assert broken(audited(desk.db)) == {}


def at_the_windows_end(desk: Desk, *, failures: int) -> UUID:
    """An intake whose wait is over and whose window closes soon."""
    begun = desk.now()
    batch = desk.batch(completed=True)
    (intake,) = due(desk, failures=failures, batch_id=batch)
    desk.advance_to(begun + WINDOW - BEFORE_THE_END)
    return intake


def close_window(desk: Desk) -> Frozen:
    desk.advance(BEFORE_THE_END)
    return desk.freeze()


def retried_in_time(desk: Desk, intake: UUID, way: str, match: Match, *, saved: bool) -> bool:
    """Whether it opened before the window closed. Then the freeze leaves it alone until it has ended."""
    act = partial(claim, desk, retries=True) if way == CLAIM else partial(desk.open_all, [intake])
    retry_s, freeze_s = match.offsets()
    opened, *frozen = together(
        held_back(retry_s, act), held_back(freeze_s, partial(close_window, desk)), held_back(freeze_s, desk.freeze)
    )
    if isinstance(opened, LawRefused):
        # Refused in its middle: the window closed under it, the freeze was first, or its time was not now any more.
        assert opened.code in ("batch_window_closed", "attempts_spent", "attempt_time")
        return False
    if not opened:
        assert way == CLAIM
        return False
    (attempt,) = opened
    assert all(intake not in done.exhausted for done in (*frozen, desk.freeze()))
    assert desk.word(intake) == "SFR"
    desk.finish(attempt, None if saved else FAILURE)
    return True


def ended_in_time(desk: Desk, attempt: Attempt, match: Match, *, saved: bool) -> bool:
    """Whether the attempt ended before the window closed."""
    finish = partial(desk.finish, attempt, None if saved else FAILURE)
    finish_s, freeze_s = match.offsets()
    finished, *_ = together(
        held_back(finish_s, finish), held_back(freeze_s, partial(close_window, desk)), held_back(freeze_s, desk.freeze)
    )
    if isinstance(finished, LawRefused):  # the clock was moved under it: said again, as a worker does
        assert finished.code == "attempt_time"
        finished = finish()
    assert finished.status == ("passed" if saved else "failed")
    ((in_time,),) = desk.rows(
        "select a.finished_at < b.batch_freeze_at"
        "  from cl.gate_zero_attempt a join cl.gate_zero_batch b using (batch_id) where a.attempt_id = %s",
        attempt.attempt_id,
    )
    return bool(in_time)


# The kill switch against a claim ------------------------------------------------------------------------------------


def test_the_kill_switch_against_a_claim(desk: Desk, chance: Random) -> None:
    """Once the pause has committed, nothing of the batch is claimed or opened; what was before may finish.

    Paused is not exhausted: resumed, all the rest is claimed.
    """
    matches = {CLAIM: Match(chance), OPENING: Match(chance)}
    for way in islice(cycle(matches), ROUNDS):
        batch = desk.batch()
        intakes = due(desk, failures=1, count=3, batch_id=batch)
        act = partial(claim, desk, retries=True, limit=1) if way == CLAIM else partial(desk.open_all, intakes[:1])
        retry_s, pause_s = matches[way].offsets()
        *retried, after = together(
            held_back(retry_s, act),
            held_back(retry_s, partial(claim, desk, retries=True, limit=1)),
            held_back(pause_s, partial(pause_then_claim, desk, batch)),
        )
        assert after == []
        assert set(kinds(retried)[1]) <= {"batch_paused", "attempt_open"}
        taken = attempts_of(retried)
        matches[way].came_first(bool(taken))

        begun = {attempt.intake_id for attempt in taken}
        assert len(begun) == len(taken)
        assert desk.lawful(*intakes) == ["SFR" if intake in begun else "SF" for intake in intakes]
        (late, *_) = set(intakes) - begun
        with pytest.raises(LawRefused) as refused:
            desk.open(late)
        assert refused.value.code == "batch_paused"
        assert {finished.status for finished in desk.report(*(outcome(one, None) for one in taken))} <= {"passed"}

        assert desk.resume(batch)
        rest = claim(desk, retries=True)
        assert {attempt.intake_id for attempt in rest} == set(intakes) - begun
        desk.report(*(outcome(attempt, None) for attempt in rest))
        assert set(desk.lawful(*intakes)) == {"SFRPAN"}
    assert {way: match.firsts for way, match in matches.items() if not match.both_ways} == {}
    assert broken(audited(desk.db)) == {}


def pause_then_claim(desk: Desk, batch: str) -> list[Attempt]:
    assert desk.pause(batch)
    return claim(desk, retries=True)


# Two mint workers ---------------------------------------------------------------------------------------------------

MINT_BY_HAND = """
insert into cl.company_identity (intake_id, company_name, company_domain, minted_at)
select intake_id, company_name, company_domain, recoup.now() from cl.gate_zero_intake where intake_id = %s
returning intake_id
"""


def test_two_mint_workers(desk: Desk, chance: Random) -> None:
    """Two workers and a hand mint while others authorise, and one of these commits late: each lineage once.

    The late one has written its AUTH before all others and commits in the midst of the mint, or behind it.
    """
    workers, hand = Match(chance), Match(chance)
    with psycopg.connect(desk.db.conninfo) as slow:
        for number in range(ROUNDS):
            intakes = waiting, contested, coming, late, retried = [*desk.intakes(4), *due(desk, failures=1)]
            attempts = dict(zip(intakes, desk.open_all(intakes), strict=True))
            authorise_and_wait(slow, attempts[late])
            desk.report(outcome(attempts[waiting], None), outcome(attempts[contested], None))

            by_hand_s, mint_s = hand.offsets()
            one_s, two_s = workers.offsets()
            one, two, hers, reentered, *_ = together(
                held_back(mint_s + one_s, partial(mint_all, desk)),
                held_back(mint_s + two_s, partial(mint_all, desk)),
                held_back(by_hand_s, partial(mint_by_hand, desk, contested)),
                held_back(mint_s, partial(authorise, desk, attempts[coming], attempts[retried])),
                *([held_back(chance.uniform(0, 0.02), slow.commit)] if number % 2 else []),
            )
            if isinstance(hers, LawRefused):
                assert hers.code == "minted_already"
            done = [*one, *two, *([hers] if hers == contested else []), *mint_all(desk)]
            if number % 2 == 0:
                assert late not in done
                slow.commit()  # behind all of them
                done += mint_all(desk)
            assert sorted(done) == sorted([waiting, contested, coming, late, reentered])
            workers.came_first(waiting in one)
            hand.came_first(hers == contested)
    assert workers.both_ways
    assert hand.both_ways
    assert_all_minted_once(desk)
    assert broken(audited(desk.db)) == {}


def authorise_and_wait(slow: Transaction, attempt: Attempt) -> None:
    """Write an AUTH, and do not commit yet."""
    slow.execute("select set_config('role', %s, true)", (Authority.GATE.role,))
    gate.finish_attempts(slow, [outcome(attempt, None)])


def authorise(desk: Desk, first: Attempt, retry: Attempt) -> UUID | None:
    """One after the other. Returns the intake that the retry made."""
    desk.finish(first, None)
    return desk.finish(retry, None).reentered_as


def mint_by_hand(desk: Desk, intake: UUID) -> UUID:
    with desk.db.transaction(Authority.MINT) as tx:
        (minted,) = tx.execute(MINT_BY_HAND, (intake,)).fetchone() or (None,)
    assert isinstance(minted, UUID)
    return minted


def mint_all(desk: Desk) -> list[UUID]:
    """Mint until there is nothing, or another one is at it. What it minted."""
    minted: list[UUID] = []
    while True:
        with desk.db.transaction(Authority.MINT) as tx:
            page = mint.mint(tx, limit=3)
        if not page.events:
            return minted
        minted += [identity.intake_id for identity in page.identities]


def assert_all_minted_once(desk: Desk) -> None:
    """An identity and a MINT for each authorisation, on the intake that it names; none waits."""
    authorised = desk.rows(
        "select a.intake_id, count(c.*), count(m.*) from cl.gate_zero_authorization a"
        "  left join cl.company_identity c on c.intake_id = a.mint_intake_id"
        "  left join cl.sovereign_mint_air m on m.entity_id = a.mint_intake_id group by a.intake_id"
    )
    assert {row[1:] for row in authorised} == {(1, 1)}
    assert desk.rows("select count(*) from cl.company_identity") == [(len(authorised),)] == [(5 * ROUNDS,)]
    assert set(desk.lawful(*(row[0] for row in authorised))) == {"SPA", "SFRPAN"}
    with desk.db.transaction(Authority.READER) as tx:
        assert mint.mint_lag(tx) is None
