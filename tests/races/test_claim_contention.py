"""Many claim candidates at one moment, from scopes that are too small for all of them: not one is overspent.

And many evaluate the same matches at one moment: each has one candidate. `make soak` has more of both (--cases).
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from recoup.database import embedded
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.recovery import evaluation, executing, facts, following
from recoup.recovery.executing import Claimed, Executor, Outcome
from recoup.settings import Settings
from recoup.worker.standalone import Standalone
from recovery_ward import RETRY, Ward

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import audited, broken

LONG, SHORT = 64, 32  # claimers, each with a connection: the server has a hundred, for all tests
EVALUATORS, MATCHES, MORE_MATCHES = 8, 600, 2_000
SHARE = (1, 3, 7, 20)  # how many a claimer asks for
PATIENCE_S = 120
COST = 3
PROOFS = 20  # so many outcomes make an action surely good
POLICY = f"""
[recovery]
held_share = 0
[recovery.plan]
outside = ["{RETRY}"]
[recovery.actions.{RETRY}]
type = "retry"
is_automated = true
requires_approval = false
cost = {COST}
timeout_s = 60
"""


@pytest.fixture
def is_long(pytestconfig: pytest.Config) -> bool:
    return int(pytestconfig.getoption("--cases")) > 200


@pytest.fixture
def chance(request: pytest.FixtureRequest, seed: int, again: int) -> Random:
    return Random(f"{request.node.originalname} {seed} {again}")


@pytest.fixture
def claimers(is_long: bool) -> int:
    return LONG if is_long else SHORT


@pytest.fixture
def ward(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings, claimers: int
) -> Iterator[Ward]:
    """A database of its own, and a connection for each claimer."""
    with Database(server.uri(new_database()), dataclasses.replace(settings, pool_max=claimers)) as database:
        ward = Ward(database)
        ward.apply_policy(POLICY)
        prove(ward)
        yield ward


def prove(ward: Ward) -> None:
    """Retries succeeded so often that they start by themselves: then more wait than their scopes allow."""
    ward.ingest(PROOFS, of="proof")
    ward.open_scopes(of="proof", max_attempts=PROOFS)
    ward.evaluate()
    assert ward.approve() == PROOFS
    assert ward.execute({RETRY: Executor(lambda *_: None)}) == PROOFS
    ward.settle()


def all_at_once(number: int, act: Callable[[int], list[UUID]]) -> list[UUID]:
    """Each acts from one moment on; what all of them returned. Whatever anybody raises, a deadlock too, is raised."""
    line = threading.Barrier(number)

    def run(place: int) -> list[UUID]:
        line.wait(PATIENCE_S)
        return act(place)

    with ThreadPoolExecutor(number) as pool:
        futures = [pool.submit(run, place) for place in range(number)]
        return [one for future in futures for one in future.result(PATIENCE_S)]


def claim_until_nothing_is_left(ward: Ward, place: int) -> list[UUID]:
    """Claim, and end what was claimed, until there is nothing to claim. Everybody asks for another number."""
    claimed: list[UUID] = []
    while True:
        with ward.db.transaction(Authority.CLAIM_WORKER) as tx:
            some = executing.claim(tx, limit=SHARE[place % len(SHARE)], worker=f"claimer {place}")
        if not some:
            return claimed
        claimed += [one.candidate_id for one in some]
        if place % 2:  # half of them report, so that the ends of some meet the starts of others
            report(ward, some)


def report(ward: Ward, some: list[Claimed]) -> None:
    with ward.db.transaction(Authority.EVALUATOR) as tx:
        became = executing.finish(tx, [(one, Outcome(True)) for one in some])
    assert set(became) == {"succeeded"}


@pytest.mark.parametrize(
    ("scopes", "limits"),
    [
        pytest.param(1, {"max_attempts": 150, "cost_limit": 100_000}, id="one scope, by attempts"),
        pytest.param(1, {"max_attempts": 100_000, "cost_limit": 401}, id="one scope, by cost"),
        pytest.param(5, {"max_attempts": 30, "cost_limit": 100_000}, id="five scopes, by attempts"),
        pytest.param(5, {"max_attempts": 50, "cost_limit": 100}, id="five scopes, by cost"),
        pytest.param(500, {"max_attempts": 1, "cost_limit": 100_000}, id="500 scopes"),
    ],
)
def test_claimers_never_overspend(
    ward: Ward, claimers: int, is_long: bool, scopes: int, limits: dict[str, Any]
) -> None:
    """Every scope is spent to its end and not beyond, and every attempt is accounted for by one start."""
    most = min(limits["max_attempts"], limits["cost_limit"] // COST)
    waiting = 2 * scopes * most * (2 if is_long and scopes < 500 else 1)
    ward.ingest(waiting, incidents=scopes)
    ward.open_scopes(**limits)
    ward.evaluate()
    claimed = all_at_once(claimers, lambda place: claim_until_nothing_is_left(ward, place))
    assert len(claimed) == len(set(claimed)) == scopes * most
    ward.accounted()
    assert ward.rows(
        "select status, attempts_used, cost_used, count(*) from recovery.scope where max_attempts <> %s"
        " group by 1, 2, 3",
        PROOFS,
    ) == [("exhausted", most, COST * most, scopes)]
    started = "select candidate_id from recovery.provenance where event_type = 'executed' and reason like 'claimer %%'"
    assert Counter(one for (one,) in ward.rows(started)) == Counter(claimed)
    stand = ward.counts("recovery.candidate")
    assert stand.pop("pending") == waiting - len(claimed)
    assert sum(stand.values()) == PROOFS + len(claimed)
    assert broken(audited(ward.db)) == {}


# Evaluations --------------------------------------------------------------------------------------------------------


def test_evaluators_make_one_candidate_of_each_match(
    ward: Ward, is_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each match is evaluated once, by one of them, and has one candidate; nobody fails."""
    monkeypatch.setattr(evaluation, "MAX_BATCH", 50)  # else one of them takes all
    number = MORE_MATCHES if is_long else MATCHES
    matches = ward.ingest(number, incidents=20)
    ward.open_scopes(max_attempts=number)
    done = Counter[int]()

    def evaluate(place: int) -> list[UUID]:
        done[place] = evaluation.evaluate_due(Standalone(ward.db, Authority.EVALUATOR, name=f"evaluator {place}"))
        return []

    all_at_once(EVALUATORS, evaluate)
    assert done.total() == number
    assert sum(one > 0 for one in done.values()) > 1, "more than one of them evaluated"
    found = ward.rows(
        "select m.status, m.evaluation_no, m.evaluation_failures, c.number, e.number, count(*)"
        "  from recovery.failure_match m"
        " cross join lateral (select count(*) as number from recovery.candidate c"
        "   where c.failure_match_id = m.failure_match_id) c"
        " cross join lateral (select count(*) as number from recovery.evaluation e"
        "   where e.failure_match_id = m.failure_match_id) e"
        " where m.failure_match_id = any(%s) group by 1, 2, 3, 4, 5",
        matches,
    )
    assert found == [("evaluated", 1, 0, 1, 1, number)]
    assert broken(audited(ward.db)) == {}


def test_evaluations_expiries_and_late_outcomes_meet(
    ward: Ward, is_long: bool, chance: Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them end the same candidates, each in an order of its own: each ends once, and nobody is in a deadlock."""
    monkeypatch.setattr(evaluation, "MAX_BATCH", 40)
    number = MORE_MATCHES if is_long else MATCHES
    matches = ward.ingest(number, incidents=20)
    ward.open_scopes(max_attempts=number, cost_limit=COST * number)
    evaluate_in_any_order(ward, chance)
    with ward.db.transaction(Authority.CLAIM_WORKER) as tx:
        claimed = [
            executing.claim(tx, limit=100, worker="gone", lease=timedelta(seconds=5)) for _ in range(0, number, 100)
        ]
    assert sum(map(len, claimed)) == number
    ward.advance(timedelta(seconds=6))
    with ward.db.transaction(Authority.EVALUATOR) as tx:
        assert following.wake(tx, matches) == number

    def act(place: int) -> list[UUID]:
        if place % 3 == 0:
            evaluation.evaluate_due(Standalone(ward.db, Authority.EVALUATOR, name=f"evaluator {place}"))
        elif place % 3 == 1:
            while ward.expire():
                """A lease each."""
        else:
            for some in claimed:
                late = [(one, Outcome(True)) for one in some]
                chance.shuffle(late)
                with ward.db.transaction(Authority.EVALUATOR) as tx:
                    assert set(executing.finish(tx, late)) == {"late"}
        return []

    all_at_once(3 * EVALUATORS // 2, act)
    ward.settle()
    ended = "select count(*), count(distinct candidate_id) from recovery.provenance where event_type = 'crashed'"
    assert ward.rows(ended) == [(number, number)]
    assert ward.rows("select count(*) from recovery.lease where worker = 'gone'") == [(0,)]
    ward.accounted()
    assert broken(audited(ward.db)) == {}


def evaluate_in_any_order(ward: Ward, chance: Random) -> None:
    """Candidates come in another order than their matches, as they do from evaluators that work side by side."""
    with ward.db.transaction(Authority.EVALUATOR) as tx:
        due = evaluation.EVALUATIONS.claim(tx, facts.Claimed, limit=MORE_MATCHES, worker="evaluator")
    chance.shuffle(due)
    for start in range(0, len(due), 50):
        with ward.db.transaction(Authority.EVALUATOR) as tx:
            evaluation.evaluate(tx, due[start : start + 50], ward.policy)
