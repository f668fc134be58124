"""An evaluation and an execution killed at every statement boundary, none left out: never half of one.

Whatever was left, somebody else goes on, and at the end it is as if nobody had been killed; only what was started
outside of this database, and had no outcome yet, has failed.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from conformance import kills
from hub import PEOPLE, Hub, failed, succeeded
from recoup.database import embedded
from recoup.database.connection import Actor, Database, connect
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Want
from recoup.lifecycles.declaration import Authority
from recoup.recovery import evaluation, following, review, scopes, undoing
from recoup.recovery.executing import Executor
from recoup.settings import Settings
from recovery_ward import MINUTE, RETRY, Ward

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import audited, broken

sys.path.insert(0, str(Path(__file__).parent))
from killing import Ground, bearing
from wire import Wire

NUMBER = 3  # of one batch
SHORT_STRIDE = 4  # in the long run each boundary is struck
POLICY = """
[errors.retry.OPERATIONAL]
max_retries = 1
[recovery]
skip_below = 0
[recovery.actions.retry_exponential]
type = "retry"
is_automated = false
requires_approval = true
cost = 1
timeout_s = 60
[recovery.subjects.park_reasons]
"*" = ["ESCALATION_REQUIRED", "MAX_RETRIES_EXCEEDED"]
[recovery.scope]
max_attempts = 100000
cost_limit = 100000
opens_by_itself = true
opened_per_day = 1000
"""
SCHEMA = """
create schema ward;
create table ward.effect (candidate_id uuid not null);
grant usage on schema ward to recoup_executor, recoup_reader;
grant insert on ward.effect to recoup_executor;
grant select on ward.effect to recoup_reader;
"""
State = tuple[tuple[Any, ...], ...]


@pytest.fixture(scope="module")
def ward(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Ward]:
    name = new_database()
    with psycopg.connect(server.uri(name, admin=True)) as admin:
        admin.execute(SCHEMA)
    with Database(server.uri(name), settings) as database:
        ward = Ward(database)
        ward.apply_policy(POLICY)
        ward.settle()
        ward.match()
        yield ward


@pytest.fixture(scope="module")
def bears() -> Iterator[subprocess.Popen[str]]:
    with bearing() as process:
        yield process


@dataclass(frozen=True)
class WardGround(Ground):
    """The same, with its failures."""

    ward: Ward
    stride: int  # 1: killed at each boundary

    def struck_everywhere(
        self, task: str, prepare: Callable[[], tuple[str, ...]], what_is_left: Callable[[], State]
    ) -> list[State]:
        """What was left, each state once, in the order in which they came."""
        if self.stride == 1:
            left = kills.struck_everywhere(self, task, prepare, what_is_left)
        else:
            left = kills.struck_in_strides(self, task, prepare, what_is_left, self.stride)
        return [state for state, _ in groupby(left)]


@pytest.fixture
def ground(
    ward: Ward,
    bears: subprocess.Popen[str],
    server: embedded.Server,
    settings: Settings,
    pytestconfig: pytest.Config,
) -> Iterator[WardGround]:
    # A folder with a short name: that of a socket is bounded.
    with (
        tempfile.TemporaryDirectory() as folder,
        Wire(ward.db.conninfo, Path(folder)) as wire,
        contextlib.closing(connect(server.uri("postgres", admin=True), settings)) as admin,
    ):
        stride = 1 if pytestconfig.getoption("--times") > 1 else SHORT_STRIDE
        yield WardGround(wire=wire, bears=bears, admin=admin, ward=ward, stride=stride)


@dataclass
class Some:
    """Matches of one round, whatever they are about."""

    ward: Ward
    of: str = ""

    def failures(self) -> None:
        """Outside, and new."""
        self.of = f"system {uuid.uuid4()}"
        self.ward.ingest(NUMBER, of=self.of)

    def parked(self) -> None:
        """Errors that are parked, with their matches."""
        self.of = str(uuid.uuid4())
        Hub(self.ward.db).record_all(
            NewError(table=PEOPLE, message="the EIN did not match", outreach_id=uuid.uuid4(), want=Want.PARK,
                     work_key=f"{self.of} {place}")
            for place in range(NUMBER)
        )  # fmt: skip
        assert self.ward.match() >= NUMBER

    def state(self) -> State:
        """Each match and its candidates: how often evaluated, and whether there is all that belongs to it."""
        return tuple(
            self.ward.rows(
                "select m.status, m.evaluation_no, c.told, v.number, count(*)"
                "  from recovery.failure_match m"
                " cross join lateral (select array_agg(c.status || coalesce(' ' || c.action_name, '') || case"
                "     when c.effect_made_at is not null then ' made' else '' end || coalesce(' ' || c.error, '')"
                "     order by c.candidate_id) as told"
                "   from recovery.candidate c where c.failure_match_id = m.failure_match_id) c"
                " cross join lateral (select count(*) as number from recovery.evaluation e"
                "   where e.failure_match_id = m.failure_match_id) v"
                " where starts_with(m.source, %s) or starts_with(m.context ->> 'work_key', %s) group by 1, 2, 3, 4",
                self.of, self.of,
            )
        )  # fmt: skip

    def go_on(self) -> None:
        """Time passes, leases end, and somebody else evaluates."""
        self.ward.advance(6 * MINUTE)
        with self.ward.db.transaction(Authority.EVALUATOR) as tx:
            while evaluation.expire(tx):
                """Whoever died had them."""
        self.ward.advance(MINUTE)
        self.ward.settle()
        self.ward.accounted()


# An evaluation ------------------------------------------------------------------------------------------------------


def test_killed_at_every_statement_of_a_first_evaluation(ground: WardGround) -> None:
    """Evaluation, candidate, action and confidence are all there, or none of them."""
    some = Some(ground.ward)

    def prepare() -> tuple[str, ...]:
        some.failures()
        return ()

    def what_is_left() -> State:
        left = some.state()
        some.go_on()
        ((status, _, told, evaluations, number),) = some.state()
        assert (status, told, evaluations, number) == ("evaluated", [f"pending {RETRY}"], 1, NUMBER)
        assert ground.ward.approve() == NUMBER
        ground.ward.execute({RETRY: Executor(lambda *_: None)})
        return left

    assert ground.struck_everywhere("evaluate matches", prepare, what_is_left) == [
        (("new", 0, None, 0, NUMBER),),
        (("evaluated", 1, [f"pending {RETRY}"], 1, NUMBER),),
    ]


@pytest.mark.parametrize("good", [True, False], ids=["succeeded", "failed"])
def test_killed_at_every_statement_of_an_outcome(ground: WardGround, good: bool) -> None:
    """The candidate ends, and its match ends or has the next one, in one transaction; or nothing has happened."""
    ward, some, hub = ground.ward, Some(ground.ward), Hub(ground.ward.db)

    def prepare() -> tuple[str, ...]:
        some.parked()
        ward.settle()
        assert ward.approve() == NUMBER
        assert ward.execute({}) == NUMBER
        ward.settle()
        hub.finish([succeeded(one) if good else failed(one) for one in hub.claim()])
        assert ward.wake() > 0
        return ()

    ends = [f"succeeded {RETRY} made"] if good else [f"failed {RETRY} made UNIT_FAILED", "pending manual_intervention"]

    def what_is_left() -> State:
        left = some.state()
        some.go_on()
        ((status, _, told, _, number),) = some.state()
        assert (status, told, number) == ("recovered" if good else "evaluated", ends, NUMBER)
        return tuple((status, told, number) for status, _, told, _, number in left)

    assert ground.struck_everywhere("evaluate matches", prepare, what_is_left) == [
        (("evaluated", [f"executing {RETRY} made"], NUMBER),),
        (("recovered" if good else "evaluated", ends, NUMBER),),
    ]


# An execution -------------------------------------------------------------------------------------------------------


def test_killed_at_every_statement_of_an_effect_of_ours(ground: WardGround) -> None:
    """Started, spent, requeued and awaited; or approved, and nothing of all that."""
    ward, some = ground.ward, Some(ground.ward)

    def prepare() -> tuple[str, ...]:
        some.parked()
        ward.settle()
        assert ward.approve() == NUMBER
        return ("ours",)

    def errors() -> list[Any]:
        return ward.rows(
            "select status, count(*) from recoup.error where starts_with(work_key, %s) group by 1", some.of
        )

    def what_is_left() -> State:
        ((_, _, told, _, _),) = left = some.state()
        is_made = told == [f"executing {RETRY} made"]
        assert errors() == [("RETRY_PENDING" if is_made else "PARKED", NUMBER)]
        assert ward.execute({}) == (0 if is_made else NUMBER)
        hub = Hub(ward.db)
        hub.finish([succeeded(one) for one in hub.claim()])
        some.go_on()
        assert [(row[0], row[2]) for row in some.state()] == [("recovered", [f"succeeded {RETRY} made"])]
        return tuple((told, number) for _, _, told, _, number in left)

    assert ground.struck_everywhere("execute candidates", prepare, what_is_left) == [
        (([f"approved {RETRY}"], NUMBER),),
        (([f"executing {RETRY} made"], NUMBER),),
    ]


def of_candidates(some: Some) -> State:
    return tuple((told, number) for _, _, told, _, number in some.state())


def test_killed_at_every_statement_of_an_effect_here(ground: WardGround) -> None:
    """The start, the row that a function of ours wrote, and the outcome: all, or nothing."""
    ward, some = ground.ward, Some(ground.ward)

    def prepare() -> tuple[str, ...]:
        some.failures()
        ward.settle()
        assert ward.approve() == NUMBER
        return ("here",)

    def what_is_left() -> State:
        left = of_candidates(some)
        is_made = left == (([f"succeeded {RETRY} made"], NUMBER),)
        assert effects(ward, some) == (NUMBER if is_made else 0)
        ward.execute({RETRY: Executor(lambda *_: None)})
        some.go_on()
        assert [(row[0], row[2]) for row in some.state()] == [("recovered", [f"succeeded {RETRY} made"])]
        return left

    assert ground.struck_everywhere("execute candidates", prepare, what_is_left) == [
        (([f"approved {RETRY}"], NUMBER),),
        (([f"succeeded {RETRY} made"], NUMBER),),
    ]


def effects(ward: Ward, some: Some) -> int:
    ((number,),) = ward.rows(
        "select count(*) from ward.effect e join recovery.candidate c using (candidate_id)"
        " join recovery.failure_match m using (failure_match_id) where starts_with(m.source, %s)",
        some.of,
    )
    return int(number)


def test_killed_at_every_statement_of_an_effect_outside(ground: WardGround, tmp_path: Path) -> None:
    """Between start and outcome it is executing, whatever its effect; then it has crashed. Never a second start."""
    ward, some, keys = ground.ward, Some(ground.ward), tmp_path / "keys"

    def prepare() -> tuple[str, ...]:
        some.failures()
        ward.settle()
        assert ward.approve() == NUMBER
        keys.write_text("")
        return (str(keys),)

    def what_is_left() -> State:
        left = of_candidates(some)
        crashed = left == (([f"executing {RETRY}"], NUMBER),)
        made = keys.read_text().split()
        assert len(made) == len(set(made)) <= NUMBER
        assert crashed or len(made) == (NUMBER if left == (([f"succeeded {RETRY} made"], NUMBER),) else 0)
        ward.execute({RETRY: Executor(lambda *_: None)})
        some.go_on()
        first = f"failed {RETRY} CRASHED" if crashed else f"succeeded {RETRY} made"
        assert {row[2][0] for row in some.state()} == {first}
        return left

    assert ground.struck_everywhere("execute candidates", prepare, what_is_left) == [
        (([f"approved {RETRY}"], NUMBER),),
        (([f"executing {RETRY}"], NUMBER),),
        (([f"succeeded {RETRY} made"], NUMBER),),
    ]


@pytest.mark.parametrize("action", ["reconfigure", "rollback"])
def test_killed_at_every_statement_of_a_change_that_can_be_undone(ground: WardGround, action: str) -> None:
    """Started, and the key changed or restored, with its record; or approved, and nothing of all that."""
    ward, some, bob = ground.ward, Some(ground.ward), Actor("human", "bob")
    names: list[str] = []

    def approved(made: list[UUID], name: str) -> None:
        """Within a scope for their incident."""
        lacking = ward.rows(
            "select distinct c.incident_id from recovery.candidate c where c.candidate_id = any(%s) and not exists ("
            "select from recovery.scope s where s.incident_id = c.incident_id and s.status = 'active'"
            " and s.expires_at > recoup.now() and %s = any(s.allowed_actions))", made, name,
        )  # fmt: skip
        with ward.db.transaction(Authority.SCOPED_EXECUTION, actor=ward.person) as tx:
            for (incident,) in lacking:
                scopes.open_scope(tx, incident, ward.policy, actions=[name], reason="a test")
        with ward.db.transaction(Authority.EVALUATOR) as tx:
            following.wake(tx, [row[0] for row in ward.rows(
                "select failure_match_id from recovery.candidate where candidate_id = any(%s)", made
            )])  # fmt: skip
        ward.settle()
        with ward.db.transaction(Authority.REVIEWER, actor=ward.person) as tx:
            answers = review.approve(tx, [str(one) for one in made], note="a test")
        assert all(answer.done for answer in answers), answers

    def prepare() -> tuple[str, ...]:
        some.failures()
        ward.settle()
        matches = [row[0] for row in ward.rows(
            "select failure_match_id from recovery.failure_match where starts_with(source, %s)", some.of
        )]  # fmt: skip
        names[:] = [f"k{uuid.uuid4().hex}" for _ in matches]
        with ward.db.transaction(Authority.OPERATOR, actor=bob) as tx:
            made = [
                review.propose(tx, match, "reconfigure", ward.policy, parameters={"key": name, "value": 5})
                for match, name in zip(matches, names, strict=True)
            ]
        approved(made, "reconfigure")
        if action == "rollback":
            assert ward.execute({}) == NUMBER
            ward.settle()
            with ward.db.transaction(Authority.OPERATOR, actor=bob) as tx:
                made = [undoing.rollback(tx, one, ward.policy, reason="a test") for one in made]
            approved(made, "rollback")
        return ("ours",)

    def keys() -> list[tuple[Any, ...]]:
        """What the keys are, by whom, and what those tell."""
        return ward.rows(
            "select c.version, c.value, k.action_name, k.status, k.result is not null, count(*) from recovery.config c"
            " join recovery.candidate k on k.candidate_id = c.candidate_id where c.key = any(%s)"
            " group by 1, 2, 3, 4, 5 order by 1", names,
        )  # fmt: skip

    changed = [(1, 5, "reconfigure", "succeeded", True, NUMBER)]
    restored = [*changed, (2, None, "rollback", "succeeded", True, NUMBER)]
    before, after = ([], changed) if action == "reconfigure" else (changed, restored)

    def what_is_left() -> State:
        left = keys()
        assert ward.execute({}) == (0 if left == after else NUMBER)
        some.go_on()
        assert keys() == after
        return tuple(left)

    assert ground.struck_everywhere("execute candidates", prepare, what_is_left) == [tuple(before), tuple(after)]


def test_the_audit_finds_nothing_after_all_that(ward: Ward) -> None:
    """Every promise of the documents, asked of what those who were killed left behind."""
    assert broken(audited(ward.db)) == {}
