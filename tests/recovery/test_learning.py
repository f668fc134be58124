"""What outcomes teach: counted once each, weighted by age, and applied to candidates that wait."""

from __future__ import annotations

import random
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from recoup.lifecycles.declaration import Authority
from recoup.recovery import confidence, executing, story
from recoup.recovery.calibration import calibration
from recoup.recovery.estimate import Known, Tally, estimate, weight
from recovery.stage import NOTIFY, RETRY, NewStage, Stage

NONE_HELD = "[recovery]\nheld_share = 0.0\n"
SIGNATURE = "f" * 64


@pytest.fixture
def quiet(new_stage: NewStage) -> Stage:
    """A stage of the test's own, where nothing is held for review."""
    made = new_stage()
    made.apply(NONE_HELD)
    return made


def rated(stage: Stage, match: UUID) -> tuple[float, int]:
    one = stage.candidate(match)
    return one["confidence"], one["evidence"]


def with_scope(stage: Stage, count: int = 1, **failure: Any) -> list[UUID]:
    matches = stage.outside(count, **failure)
    stage.settle(executing=False)
    stage.scope(matches[0], max_attempts=1000, cost_limit=1000)
    stage.settle(executing=False)
    return matches


def experience(stage: Stage) -> dict[tuple[str, str], tuple[int, int]]:
    found = stage.rows(
        "select source, category, sum(succeeded)::int as s, sum(ended)::int as n from recovery.experience group by 1, 2"
    )
    return {(row["source"], row["category"]): (row["s"], row["n"]) for row in found}


def test_learnt_on_every_level(quiet: Stage) -> None:
    """And with the weights of the pure functions."""
    stage = quiet
    stage.teach(RETRY, {True: 6, False: 2}, source="a", category="TRANSIENT")
    stage.advance(days=30)
    stage.teach(RETRY, {True: 1, False: 3}, source="a", prefix="x", category="STRUCTURAL", signature="another")
    stage.teach(RETRY, {True: 4}, source="b", category="TRANSIENT", signature="a third")
    assert experience(stage) == {
        ("", ""): (11, 16), ("a", ""): (7, 12), ("b", ""): (4, 4), ("a", "TRANSIENT"): (6, 8),
        ("a", "STRUCTURAL"): (1, 4), ("b", "TRANSIENT"): (4, 4),
    }  # fmt: skip
    (match,) = stage.outside(source="a", prefix="y", category="TRANSIENT")
    stage.settle(executing=False)
    old = weight(30, 30)
    (now, ended) = (Tally(6 * old, 8 * old), 8)
    wider = (Tally(6 * old + 5, 8 * old + 8), Tally(6 * old + 1, 8 * old + 4), Tally(6 * old, 8 * old))
    wanted = estimate(Known(now, 6, ended, 0, wider), stage.policy)
    found = stage.candidate(match)
    assert found["confidence"] == pytest.approx(wanted.confidence, abs=1e-3)
    assert found["evidence"] == wanted.evidence == 4
    assert found["confidence_basis"] == wanted.basis
    assert stage.events(match, "confidence_updated")[-1]["facts"]["basis"] == wanted.basis
    stage.whole()


def test_what_does_not_teach(quiet: Stage) -> None:
    """A person acted, or the subject had changed. What manages the impact is kept apart."""
    stage = quiet
    error = stage.park()
    stage.awaiting(error)
    stage.act("resolve", error)
    stage.settle()
    assert experience(stage) == {}
    stage.whole()


def test_counted_once_by_many(quiet: Stage) -> None:
    """Learners at the same time, and one that dies before it commits."""
    stage = quiet
    teach_quietly(stage, {True: 30, False: 10})
    policy = stage.policy
    with pytest.raises(RuntimeError), stage.db.transaction(Authority.EVALUATOR) as tx:
        assert confidence.learn(tx, policy) == 40
        raise RuntimeError("killed here")

    def learn(_: int) -> int:
        with stage.db.transaction(Authority.EVALUATOR) as tx:
            return confidence.learn(tx, policy)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(learn, range(8))) == 40
    assert experience(stage)[("", "")] == (30, 40)
    assert "recovery/experience" not in " ".join(stage.broken())


def teach_quietly(stage: Stage, outcomes: dict[bool, int], **failure: Any) -> None:
    """Outcomes that nobody has counted yet."""
    wanted = [good for good, count in outcomes.items() for _ in range(count)]
    matches = with_scope(stage, len(wanted), **failure)
    stage.approve(*(stage.candidate(match)["candidate_id"] for match in matches))
    claimed = stage.claim(limit=1000)
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        executing.finish(tx, [(one, executing.Outcome(good, "no")) for one, good in zip(claimed, wanted, strict=True)])


def test_pending_ones_are_rated_again_when_a_line_is_crossed(quiet: Stage) -> None:
    """Not at each outcome; never what is approved, nor a person's proposal."""
    stage = quiet
    first, approved, proposed = with_scope(stage, 3, source="waiting", signature=SIGNATURE)
    stage.propose(proposed, RETRY)
    stage.settle(executing=False)
    assert rated(stage, first) == (0.5, 0)
    teach_quietly(stage, {True: 5}, source="s1", signature=SIGNATURE)
    stage.follow()
    assert rated(stage, first) == (0.5, 0)  # nothing becomes of it
    assert len(stage.events(first, "confidence_updated")) == 1
    teach_quietly(stage, {True: 20}, source="s2", signature=SIGNATURE)
    stage.approve(stage.candidate(approved)["candidate_id"])
    stage.follow()
    conf, evidence = rated(stage, first)
    assert (conf >= 0.8, evidence) == (True, 25)
    assert stage.candidate(first)["is_ready"]
    assert stage.events(first, "confidence_updated")[-1]["confidence"] == conf
    assert rated(stage, approved) == (0.5, 0)
    assert rated(stage, proposed) == (0.5, 0)
    matches = with_scope(stage, 12, source="s3", signature=SIGNATURE)
    claimed = stage.claim(limit=1000)
    assert {first, approved, *matches} == {one.failure_match_id for one in claimed}
    stage.whole()


def test_what_has_become_hopeless_is_skipped(quiet: Stage) -> None:
    """Its match is woken."""
    stage = quiet
    (match,) = with_scope(stage, source="waiting", signature=SIGNATURE)
    teach_quietly(stage, {False: 40}, source="s1", signature=SIGNATURE)
    stage.settle(executing=False)
    assert stage.told(match)[0] == (RETRY, "skipped", "LOW_CONFIDENCE")
    stage.advance(days=150)  # and some day it is tried again
    (later,) = with_scope(stage, source="later", signature=SIGNATURE)
    assert stage.told(later) == [(RETRY, "pending", None)]
    stage.whole()


def test_another_signature_starts_with_what_is_known_of_its_category(quiet: Stage) -> None:
    stage = quiet
    stage.teach(RETRY, {True: 60}, source="crm", category="TRANSIENT", signature="one")
    stage.teach(RETRY, {False: 60}, source="crm", prefix="x", category="STRUCTURAL", signature="two")
    (good,) = with_scope(stage, source="crm", prefix="y", category="TRANSIENT", signature="new")
    (bad,) = with_scope(stage, source="crm", prefix="z", category="STRUCTURAL", signature="newer")
    assert rated(stage, good)[0] > 0.7  # yet not by itself: none of these outcomes is its own
    assert not stage.candidate(good)["is_ready"]
    assert rated(stage, bad)[0] < 0.3
    assert stage.candidate(bad)["status"] == "pending"  # nor skipped


def test_it_explains_itself_and_shows_similar_cases(quiet: Stage) -> None:
    stage = quiet
    stage.teach(RETRY, {True: 8, False: 1}, source="crm", signature="one")
    (match,) = with_scope(stage, source="crm2", signature="one")
    with stage.db.transaction(Authority.READER) as tx:
        shown = story.show(tx, match)
    assert shown.explanation is not None
    assert shown.explanation.startswith(f"{RETRY} succeeded for this signature in 8 of the last 9 cases")
    assert [one.source for one in shown.similar] == ["crm"] * 5
    before = stage.candidate(match)["confidence_basis"]
    teach_quietly(stage, {False: 1}, source="crm3", signature="one")
    stage.settle(executing=False)
    assert stage.candidate(match)["confidence_basis"] == before  # as it was when it was rated


def test_a_share_is_held_for_review(new_stage: NewStage) -> None:
    """Chosen by their ids alone, of those that would start by themselves."""
    stage = new_stage()
    stage.apply("[recovery]\nheld_share = 0.25\n")
    stage.teach(RETRY, {True: 30}, source="crm", signature="one")
    matches = with_scope(stage, 200, source="crm2", signature="one")
    rows = [stage.candidate(match) for match in matches]
    held = [row for row in rows if row["held_for_review"]]
    assert 25 <= len(held) <= 75
    drawn = stage.rows(
        "select candidate_id, recovery.is_held(candidate_id, 0.25) as is_held from recovery.candidate"
        " where candidate_id = any(%s)", [row["candidate_id"] for row in rows],
    )  # fmt: skip
    assert {row["candidate_id"] for row in drawn if row["is_held"]} == {row["candidate_id"] for row in held}
    assert all(row["is_ready"] != row["held_for_review"] for row in rows)
    stage.executors[RETRY] = executing.Executor(lambda *_: None)
    stage.settle()
    waiting = [match for match in matches if stage.candidate(match)["status"] == "pending"]
    assert {stage.candidate(match)["candidate_id"] for match in waiting} == {row["candidate_id"] for row in held}
    # A person approves one, and it is executed like any other.
    assert stage.approve(held[0]["candidate_id"]) == [None]
    stage.settle()
    assert stage.candidate(held[0]["failure_match_id"])["status"] == "succeeded"
    # A notice is never held, nor what needs an approval anyway.
    told = stage.propose(waiting[-1], NOTIFY)
    assert not stage.row("select * from recovery.candidate where candidate_id = %s", told)["held_for_review"]
    stage.whole()


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.05, 400, 600), (0.5, 4_800, 5_200)])
def test_the_draw_is_fair(stage: Stage, share: float, least: int, most: int) -> None:
    row = stage.row(
        "select count(*) filter (where recovery.is_held(gen_random_uuid(), %s)) as held from generate_series(1, 10000)",
        share,
    )
    assert least <= row["held"] <= most


def test_a_small_fixed_world_through_the_database(quiet: Stage) -> None:
    """Real outcomes of candidates are learnt, and the confidence that candidates are started with is calibrated."""
    stage = quiet
    chance = random.Random(7)
    true = {f"sig-{n}": chance.betavariate(2, 2) for n in range(6)}
    for _ in range(6):
        for signature in true:
            matches = with_scope(stage, 8, source=f"{signature}-{uuid.uuid4().hex[:6]}", signature=signature)
            waiting = [stage.candidate(match) for match in matches]
            stage.approve(*(one["candidate_id"] for one in waiting if one["status"] == "pending"))
            claimed = stage.claim(limit=1000)
            with stage.db.transaction(Authority.EVALUATOR) as tx:
                executing.finish(
                    tx, [(one, executing.Outcome(chance.random() < true[signature], "no")) for one in claimed]
                )
            stage.settle(executing=False)
        stage.advance(hours=12)
    with stage.db.transaction(Authority.READER) as tx:
        found = calibration(tx)
        fewer = calibration(tx, action=RETRY, source="nobody")
    assert found.total.count >= 6 * 6 * 8
    assert found.total.ece <= 0.1
    assert found.total.brier < 0.25
    assert (set(found.by_action), fewer.total.count) == ({RETRY}, 0)
    assert sum(one.count for one in found.by_week.values()) == found.total.count
    stage.whole()
