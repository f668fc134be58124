"""The races of recovery, many times each: one outcome, nothing overspent, lost or doubled."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from company import advance
from incidents import (
    ENDED,
    MANUAL,
    SKIPPED,
    Match,
    approve,
    move_match,
    new_candidate,
    new_match,
    new_scope,
    ready,
    subject_of,
)
from recoup.database import embedded
from recoup.database.connection import Actor, Database
from recoup.errors import archive, escalation
from recoup.lifecycles.declaration import Authority
from recoup.recovery import evaluation, executing, facts, following, people, review, scopes
from recoup.recovery.matches import Ingested, NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.vocabulary import SubjectKind
from recoup.refusals import LawRefused
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
sys.path.insert(0, str(Path(__file__).parent))
from racing import Match as Meeting
from racing import held_back, together

ROUNDS, MOST_ROUNDS = 20, 300
PERSON = Actor("human", "ann")
SKIP = (
    f"update recovery.candidate set {SKIPPED} from (select recoup.now() as now_) t"
    " where candidate_id = %s and status = 'pending'"
)


@dataclass
class Table:
    """A database and two who act on it at once."""

    db: Database
    meeting: Meeting = field(default_factory=lambda: Meeting(Random(1)))

    def rounds(self) -> Iterator[int]:
        """So many, and more until either side has come first."""
        for number in range(MOST_ROUNDS):
            if number >= ROUNDS and self.meeting.both_ways:
                return
            yield number
        raise AssertionError("the same side came first every time")

    def made(self, make: Callable[[Any], Any]) -> Any:
        """What was made, committed."""
        with self.db.transaction(Authority.MATCHER) as tx:
            return make(tx)

    def meet(self, one: Callable[[], Any], other: Callable[[], Any]) -> list[Any]:
        """Both at once, each held back a little by turns."""
        first, second = self.meeting.offsets()
        return together(held_back(first, one), held_back(second, other))

    def rows(self, query: str, *given: Any) -> list[Any]:
        with self.db.transaction(Authority.READER) as tx:
            return tx.execute(query.encode(), given).fetchall()

    def claim(self, limit: int = 1) -> list[UUID]:
        with self.db.transaction(Authority.CLAIM_WORKER) as tx:
            return [one.candidate_id for one in executing.claim(tx, limit=limit, worker="w")]

    def stands(self, scope: UUID) -> Any:
        ((*row,),) = self.rows("select status, attempts_used from recovery.scope where scope_id = %s", scope)
        return tuple(row)

    def events(self, candidate: UUID) -> list[str]:
        found = self.rows("select event_type from recovery.provenance where candidate_id = %s order by seq", candidate)
        return [event for (event,) in found]


@pytest.fixture(scope="module")
def database(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    with Database(server.uri(new_database()), settings) as made:
        yield made


@pytest.fixture
def table(database: Database) -> Table:
    return Table(database)


def test_two_claimers_at_the_last_attempt(table: Table) -> None:
    """One of them gets it; the scope is spent once."""
    for _ in table.rounds():

        def make(tx: Any) -> tuple[UUID, list[UUID]]:
            match = new_match(tx)
            scope = new_scope(tx, match.incident_id, attempts=1)
            return scope, [ready(tx, new_match(tx, like=match), scope=scope) for _ in range(2)]

        scope, candidates = table.made(make)
        one, other = table.meet(table.claim, table.claim)
        assert len(one + other) == 1
        assert set(one + other) < set(candidates)
        assert table.stands(scope) == ("exhausted", 1)
        table.meeting.came_first(bool(one))


def test_claim_against_revoke(table: Table) -> None:
    """Started before the scope was revoked, or not at all."""
    for _ in table.rounds():

        def make(tx: Any) -> tuple[UUID, UUID]:
            match = new_match(tx)
            scope = new_scope(tx, match.incident_id)
            return scope, ready(tx, match, scope=scope)

        scope, candidate = table.made(make)

        def revoke(scope: UUID = scope) -> None:
            with table.db.transaction(Authority.SCOPED_EXECUTION) as tx:
                scopes.revoke(tx, scope)

        claimed, _ = table.meet(table.claim, revoke)
        assert claimed in ([], [candidate])
        assert table.stands(scope) == ("revoked", len(claimed))
        told = [
            event
            for (event,) in table.rows(
                "select event_type from recovery.provenance where scope_id = %s"
                " and event_type in ('executed', 'scope_revoked') order by seq",
                scope,
            )
        ]
        assert told == (["executed", "scope_revoked"] if claimed else ["scope_revoked"])
        table.meeting.came_first(bool(claimed))


def test_approval_against_the_evaluators_skip(table: Table) -> None:
    """One of the two; the other one is told."""
    for _ in table.rounds():
        candidate: UUID = table.made(ready)

        def decide(candidate: UUID = candidate) -> bool:
            with table.db.transaction(Authority.REVIEWER, actor=PERSON) as tx:
                (answer,) = review.approve(tx, [str(candidate)])
            return answer.done

        def skips(candidate: UUID = candidate) -> bool:
            with table.db.transaction(Authority.EVALUATOR) as tx:
                return tx.execute(SKIP.encode(), (candidate,)).rowcount == 1

        approved, skipped = table.meet(decide, skips)
        assert approved is not skipped
        ends = [event for event in table.events(candidate) if event in ("approved", "skipped")]
        assert ends == (["approved"] if approved else ["skipped"])
        table.meeting.came_first(bool(approved))


@pytest.mark.parametrize("content", ["the same", "another"])
def test_two_ingests_of_one_key(table: Table, content: str) -> None:
    """One match; the second is the same one, or is refused because its content differs."""
    for _ in table.rounds():
        source, key = f"source-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex

        def report(message: str, source: str = source, key: str = key) -> Ingested:
            with table.db.transaction(Authority.MATCHER) as tx:
                failure = NewFailure(source=source, message=message, key=key, signature="s")
                (answer,) = ingest(tx, [failure])
            return answer

        one, other = table.meet(
            lambda: report("timed out"), lambda: report("timed out" if content == "the same" else "refused")
        )
        assert sorted([one.answer, other.answer]) == ["created", "known" if content == "the same" else "differs"]
        assert one.failure_match_id == other.failure_match_id
        counted = table.rows("select count(*) from recovery.failure_match where source = %s", source)
        assert counted == [(1,)]
        assert table.rows("select count(*) from recovery.incident where source = %s", source) == [(1,)]
        table.meeting.came_first(one.answer == "created")


def test_ingest_against_the_close_of_its_incident(table: Table) -> None:
    """The match is in an open incident: the old one stays open, or a new one follows it."""
    policy = RecoveryPolicy.shipped()
    for _ in table.rounds():

        def make(tx: Any) -> Match:
            match = new_match(tx)
            move_match(tx, match.match_id, ENDED.format("accepted"))
            return match

        quiet: Match = table.made(make)
        with table.db.transaction(Authority.OPERATOR) as tx:
            advance(tx, timedelta(hours=25))

        def report(quiet: Match = quiet) -> UUID:
            return UUID(str(table.made(lambda tx: new_match(tx, like=quiet).incident_id)))

        def close() -> int:
            with table.db.transaction(Authority.EVALUATOR) as tx:
                return following.close_incidents(tx, policy)

        joined, closed = table.meet(report, close)
        stands = dict(table.rows("select incident_id, status from recovery.incident where source = %s", quiet.source))
        assert stands[joined] == "open"
        if joined == quiet.incident_id:
            assert stands == {joined: "open"}
        else:
            assert closed == 1
            assert stands == {joined: "open", quiet.incident_id: "closed"}
            ((follows,),) = table.rows("select follows from recovery.incident where incident_id = %s", joined)
            assert follows == quiet.incident_id
        table.meeting.came_first(joined == quiet.incident_id)


def test_the_birth_of_a_candidate_against_the_archiver(table: Table) -> None:
    """The error is held, or the birth is refused."""
    for _ in table.rounds():

        def make(tx: Any) -> tuple[Match, int]:
            ref = subject_of(tx, "error")
            return new_match(tx, "error", ref=ref), int(ref.rpartition("/")[2])

        match, error = table.made(make)
        ((wait,),) = table.rows("select expires_at - recoup.now() from recoup.error where error_id = %s", error)
        with table.db.transaction(Authority.OPERATOR) as tx:
            advance(tx, wait - timedelta(hours=5))
        with table.db.transaction(Authority.ERROR_WORKER) as tx:  # otherwise its last tier keeps it
            escalation.raise_tiers(tx)
        with table.db.transaction(Authority.OPERATOR) as tx:
            advance(tx, timedelta(hours=5, minutes=1))
        with table.db.transaction(Authority.ERROR_WORKER) as tx:  # nor does it leave before the clock of that is marked
            escalation.raise_tiers(tx)
        with table.db.transaction(Authority.EVALUATOR) as tx:  # otherwise the evaluation that is due keeps it
            move_match(tx, match.match_id, "evaluate_at = t.now_ + interval '1 day', updated_at = t.now_")

        def bear(match: Match = match) -> UUID | LawRefused:
            made = table.made(lambda tx: new_candidate(tx, match))
            assert isinstance(made, UUID)
            return made

        def sweep() -> None:
            with table.db.transaction(Authority.ARCHIVER) as tx:
                archive.sweep(tx, limit=1000)

        born, _ = table.meet(bear, sweep)
        lives = table.rows("select from recoup.error where error_id = %s and archived_at is null", error)
        if isinstance(born, LawRefused):
            assert (born.code, lives) == ("subject_changed", [])
        else:
            assert len(lives) == 1
        table.meeting.came_first(not isinstance(born, LawRefused))


def test_the_birth_of_a_candidate_against_the_end_of_its_match(table: Table) -> None:
    """Nobody evaluates a match that has ended: one of the two is refused, for whoever writes past the library, too."""
    for _ in table.rounds():
        match: Match = table.made(new_match)

        def bear(match: Match = match) -> UUID:
            return UUID(str(table.made(lambda tx: new_candidate(tx, match, proposer="paul"))))

        def end(match: Match = match) -> bool:
            with table.db.transaction(Authority.EVALUATOR) as tx:
                move_match(tx, match.match_id, ENDED.format("accepted"))
            return True

        born, ended = table.meet(bear, end)
        stands = table.rows(
            "select m.ended_at is not null, count(c.candidate_id) from recovery.failure_match m"
            " left join recovery.candidate c using (failure_match_id) where m.failure_match_id = %s group by 1",
            match.match_id,
        )
        assert stands == ([(False, 1)] if isinstance(born, UUID) else [(True, 0)])
        assert [one.code for one in (born, ended) if isinstance(one, LawRefused)] == ["match_rules"]
        table.meeting.came_first(isinstance(born, UUID))


def test_a_proposal_against_the_end_of_its_match(table: Table) -> None:
    """It is for the match that ended after it, for one that follows, or refused; nothing is left open for ever."""
    policy = RecoveryPolicy.shipped()
    for _ in table.rounds():
        match: Match = table.made(new_match)
        with table.db.transaction(Authority.OPERATOR, actor=PERSON) as tx:
            people.recovered(tx, match.match_id)
        with table.db.transaction(Authority.EVALUATOR) as tx:
            due = evaluation.EVALUATIONS.claim(tx, facts.Claimed, limit=1000, worker="e")
        claimed = [one for one in due if one.failure_match_id == match.match_id]
        assert len(claimed) == 1

        def propose(match: Match = match) -> UUID:
            with table.db.transaction(Authority.OPERATOR, actor=PERSON) as tx:
                return review.propose(tx, match.match_id, MANUAL, policy)

        def evaluate(claimed: list[facts.Claimed] = claimed) -> None:
            with table.db.transaction(Authority.EVALUATOR) as tx:
                evaluation.evaluate(tx, claimed, policy)

        proposed, _ = table.meet(propose, evaluate)
        assert (
            table.rows(
                "select c.candidate_id from recovery.candidate c join recovery.failure_match m using (failure_match_id)"
                " where c.finished_at is null and m.ended_at is not null"
            )
            == []
        )
        ((ended,),) = table.rows(
            "select ended_at is not null from recovery.failure_match where failure_match_id = %s", match.match_id
        )
        assert ended  # reported as recovered: also if there was a proposal by then
        told = table.events(proposed) if isinstance(proposed, UUID) else []
        table.meeting.came_first("skipped" in told)


def test_a_proposal_on_an_ended_match_against_the_matcher(table: Table) -> None:
    """Both want a new match of the same subject: one makes it, and it is the other one's, too."""
    policy = RecoveryPolicy.shipped()
    for _ in table.rounds():

        def make(tx: Any) -> tuple[Match, str]:
            ref = subject_of(tx, "run")
            match = new_match(tx, "run", ref=ref)
            move_match(tx, match.match_id, ENDED.format("accepted"))
            return match, ref

        match, ref = table.made(make)

        def propose(match: Match = match) -> UUID:
            with table.db.transaction(Authority.OPERATOR, actor=PERSON) as tx:
                return review.propose(tx, match.match_id, MANUAL, policy)

        def report(ref: str = ref) -> Ingested:
            failure = NewFailure(source="s", message="down", key=uuid.uuid4().hex, kind=SubjectKind.RUN, ref=ref)
            with table.db.transaction(Authority.MATCHER) as tx:
                (answer,) = ingest(tx, [failure])
            return answer

        proposed, reported = table.meet(propose, report)
        open_ = table.rows(
            "select failure_match_id from recovery.failure_match where subject_ref = %s and ended_at is null", ref
        )
        assert open_ == [(reported.failure_match_id,)]
        assert open_ == table.rows("select failure_match_id from recovery.candidate where candidate_id = %s", proposed)
        table.meeting.came_first(reported.answer == "known")


def test_two_proposals_at_once(table: Table) -> None:
    """One is made; who comes second overtakes it, or is refused in words and looks again."""
    policy = RecoveryPolicy.shipped()
    for _ in table.rounds():
        match: Match = table.made(new_match)

        def propose(name: str, match: Match = match) -> UUID:
            with table.db.transaction(Authority.OPERATOR, actor=Actor("human", name)) as tx:
                return review.propose(tx, match.match_id, MANUAL, policy)

        one, other = table.meet(lambda: propose("paul"), lambda: propose("pia"))
        refused = [answer.code for answer in (one, other) if isinstance(answer, LawRefused)]
        assert refused in ([], ["candidate_open"])
        ((open_,),) = table.rows(
            "select count(*) from recovery.candidate where failure_match_id = %s and finished_at is null",
            match.match_id,
        )
        assert open_ == 1
        ((first,),) = table.rows(
            "select proposed_by from recovery.candidate where failure_match_id = %s order by candidate_id limit 1",
            match.match_id,
        )
        table.meeting.came_first(first == "paul")


def test_two_scopes_for_one_incident_at_once(table: Table) -> None:
    """One is opened."""
    for _ in table.rounds():
        incident: UUID = table.made(lambda tx: new_match(tx).incident_id)

        def open_one(incident: UUID = incident) -> UUID:
            with table.db.transaction(Authority.SCOPED_EXECUTION) as tx:
                return new_scope(tx, incident)

        opened = table.meet(open_one, open_one)
        assert sorted(isinstance(one, UUID) for one in opened) == [False, True]
        table.meeting.came_first(isinstance(opened[0], UUID))


def test_an_approved_candidate_is_started_once(table: Table) -> None:
    """P4: of many claimers one has it."""
    for _ in range(ROUNDS):

        def make(tx: Any) -> UUID:
            return approve(tx, ready(tx))

        candidate = table.made(make)
        claimed = [one for some in together(*[lambda: table.claim(100)] * 4) for one in some]
        assert claimed == [candidate]
        assert table.events(candidate).count("executed") == 1
