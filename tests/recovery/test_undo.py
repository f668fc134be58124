"""Keys that recovery changes, and undoing what an action did: exactly, or not at all."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from recoup.database.connection import Actor
from recoup.lifecycles.declaration import Authority
from recoup.recovery import breakers, config, executing, review, undoing
from recoup.recovery.executing import Claimed, Executor, Failed, RolledBack, Subject
from recoup.recovery.matches import NewFailure, ingest
from recoup.refusals import InputRefused, LawRefused, Refusal
from recovery.stage import MANUAL, NOTIFY, RETRY, NewStage, Stage
from recovery.subjects import crashed_run, exhausted_intake

RECONFIGURE, ROLLBACK, BREAK = "reconfigure", "rollback", "circuit_breaker"
UNDO = [RECONFIGURE, ROLLBACK, RETRY]
OWN = """
[recovery.actions.resize]
type = "retry"
is_automated = false
requires_approval = true
cost = 1
timeout_s = 60
undo = true
"""


def key() -> str:
    return f"k.{uuid.uuid4().hex[:8]}"


def now(stage: Stage, name: str) -> Any:
    with stage.db.transaction(Authority.READER) as tx:
        return config.value(tx, name, "not set")


def put(stage: Stage, name: str, value: Any, *, by: str = "olga") -> int:
    with stage.person(by, Authority.OPERATOR) as tx:
        return config.put(tx, name, value)


def texts(stage: Stage, name: str) -> list[str | None]:
    """Every version of a key, as the database writes it."""
    found = stage.rows("select value::text as value from recovery.config where key = %s order by version", name)
    return [row["value"] for row in found]


def outside(stage: Stage) -> UUID:
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=UNDO)
    return match


def executed(stage: Stage, match: UUID, action: str, **parameters: Any) -> UUID:
    """Proposed, approved by another person, and executed."""
    made = stage.propose(match, action, **parameters)
    assert stage.approve(made) == [None]
    stage.settle()
    return made


def roll_back(stage: Stage, candidate: UUID, *, by: str = "paul") -> UUID:
    with stage.person(by, Authority.OPERATOR) as tx:
        return undoing.rollback(tx, candidate, stage.policy, reason="it made things worse")


def row_of(stage: Stage, candidate: UUID) -> dict[str, Any]:
    return stage.row("select * from recovery.candidate where candidate_id = %s", candidate)


def approved_rollback(stage: Stage, candidate: UUID) -> UUID:
    """A rollback that another person approved, within a scope."""
    made = roll_back(stage, candidate)
    match = row_of(stage, made)["failure_match_id"]
    if row_of(stage, made)["scope_id"] is None:
        incident = stage.match(match)["incident_id"]
        active = (
            "select 1 from recovery.scope where incident_id = %s and status = 'active' and expires_at > recoup.now()"
        )
        if not stage.rows(active, incident):
            stage.scope(match, actions=[ROLLBACK], max_attempts=1000, cost_limit=1000)
        stage.settle(executing=False)
    assert stage.approve(made) == [None]
    return made


def rolled_back(stage: Stage, candidate: UUID) -> UUID:
    made = approved_rollback(stage, candidate)
    stage.settle()
    return made


# Reconfigure ----------------------------------------------------------------------------------------------------------


def subject_of(stage: Stage, kind: str) -> UUID:
    """An evaluated match of this kind, with a scope."""
    if kind == "outside":
        return outside(stage)
    made: object
    match kind:
        case "error":
            made = stage.park()
        case "intake":
            made = exhausted_intake(stage)
        case _:
            made = crashed_run(stage)
    stage.settle()
    found: UUID = stage.match_of(made)["failure_match_id"]
    stage.scope(found, actions=UNDO)
    return found


@pytest.mark.parametrize("kind", ["error", "intake", "run", "outside"])
def test_a_key_is_changed_and_its_subject_is_tried_with_it(stage: Stage, kind: str) -> None:
    """In one transaction; what is in this database is requeued, and its outcome awaited."""
    match, name = subject_of(stage, kind), key()
    put(stage, name, 100)
    made = executed(stage, match, RECONFIGURE, key=name, value=5)
    row = row_of(stage, made)
    assert (now(stage, name), texts(stage, name)) == (5, ["100", "5"])
    undo = row["result"]["undo"]
    assert (undo["type"], undo["key"], undo["before"], undo["after"]) == (RECONFIGURE, name, 100, 5)
    version = stage.row("select * from recovery.config where key = %s and version = 2", name)
    assert (version["candidate_id"], version["status"]) == (made, "set")
    assert "approved by rita" in version["reason"]
    if kind == "outside":
        # Its action says that it is gone; that teaches nothing, because nobody here saw it.
        assert (row["status"], row["teaches"], stage.status(match)[0]) == ("succeeded", False, "recovered")
    else:
        assert (row["status"], row["awaits"]["kind"], stage.match(match)["status"]) == ("executing", kind, "evaluated")


def test_a_changed_key_has_succeeded_when_the_failure_is_gone(stage: Stage) -> None:
    error, name = stage.park(), key()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    stage.scope(match, actions=UNDO)
    executed(stage, match, RECONFIGURE, key=name, value={"a": [1]})
    stage.retried(error)
    stage.settle()
    assert stage.told(match)[-1] == (RECONFIGURE, "succeeded", None)
    assert stage.status(match) == ("recovered", "recovered by reconfigure")


@pytest.mark.parametrize(
    ("parameters", "lacking"),
    [
        ({}, "key"), ({"key": 7, "value": 1}, "key"), ({"key": "", "value": 1}, "key"), ({"key": "k"}, "value"),
        ({"key": "K; drop table", "value": 1}, "key"), ({"key": "k" * 101, "value": 1}, "key"),
        ({"key": "k\n", "value": 1}, "key"),
    ],
)  # fmt: skip
def test_a_key_and_a_value_are_needed(stage: Stage, parameters: dict[str, Any], lacking: str) -> None:
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    with pytest.raises(InputRefused) as refused:
        stage.propose(match, RECONFIGURE, **parameters)
    assert (refused.value.code, refused.value.facts["parameter"]) == ("parameters_missing", lacking)


def test_two_changes_of_one_key_in_one_turn(stage: Stage) -> None:
    """What the second finds before is what the first left."""
    name = key()
    matches = [outside(stage) for _ in range(3)]
    made = [stage.propose(match, RECONFIGURE, key=name, value=n) for n, match in enumerate(matches)]
    assert stage.approve(*made) == [None, None, None]
    stage.settle()
    undone = [row_of(stage, one)["result"]["undo"] for one in made]
    assert texts(stage, name) == ["0", "1", "2"]
    assert [(one.get("before"), one["after"]) for one in undone] == [(None, 0), (0, 1), (1, 2)]


def test_two_workers_change_one_key_at_once(stage: Stage) -> None:
    name, number = key(), 4
    matches = [outside(stage) for _ in range(number)]
    made = [stage.propose(match, RECONFIGURE, key=name, value=n) for n, match in enumerate(matches)]
    assert set(stage.approve(*made)) == {None}
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        claimed = executing.claim(tx, limit=1000, worker="w")
    ours = [one for one in claimed if one.candidate_id in made]
    assert len(ours) == number
    together = threading.Barrier(number)

    def make(one: Claimed) -> None:
        with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
            together.wait(timeout=30)
            assert executing.make_effects(tx, [one]) == ["made"]

    threads = [threading.Thread(target=make, args=(one,)) for one in ours]
    for one in threads:
        one.start()
    for one in threads:
        one.join(timeout=60)
    stage.settle()
    changes = [row_of(stage, one)["result"]["undo"] for one in made]
    order = [int(text or "") for text in texts(stage, name)]
    assert sorted(order) == list(range(number))
    before = {change["after"]: change.get("before") for change in changes}
    assert [before[value] for value in order] == [None, *order[:-1]]


# Rollback -------------------------------------------------------------------------------------------------------------

VALUES: list[Any] = [
    None, True, 0, 1.0, 1e300, 10**40, "", "ü🙂 \\ \" '", [], {}, {"b": [1, {"a": None}], "a": 2}, "not set",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_stood_before_is_restored_byte_for_byte(stage: Stage, value: Any) -> None:
    name = key()
    put(stage, name, value)
    made = executed(stage, outside(stage), RECONFIGURE, key=name, value={"new": 1})
    undoing_ = rolled_back(stage, made)
    versions = texts(stage, name)
    assert versions[0] == versions[2]
    assert len(versions) == 3
    row = row_of(stage, undoing_)
    assert (row["status"], row["undoes"], row["teaches"]) == ("succeeded", made, False)
    restored = row["result"]["restored"]
    undone = row_of(stage, made)["result"]["undo"]
    assert restored["after_digest"] == undone["before_digest"]
    assert restored["before_digest"] == undone["after_digest"]
    assert stage.status(row["failure_match_id"]) == ("recovered", f"recovered by {ROLLBACK}")


def test_a_key_that_was_not_set_is_removed(stage: Stage) -> None:
    """And that is not the null of JSON."""
    name = key()
    made = executed(stage, outside(stage), RECONFIGURE, key=name, value=None)
    assert (now(stage, name), texts(stage, name)) == (None, ["null"])
    rolled_back(stage, made)
    assert (now(stage, name), texts(stage, name)) == ("not set", ["null", None])
    put(stage, name, 3)
    assert now(stage, name) == 3


def test_on_an_open_match_the_subject_is_tried_again(stage: Stage) -> None:
    """The change did not help: it is undone, and the error retried without it."""
    error, name = stage.park(), key()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    stage.scope(match, actions=UNDO)
    made = executed(stage, match, RECONFIGURE, key=name, value=5)
    stage.fail(error)
    stage.settle()
    undoing_ = rolled_back(stage, made)
    row = row_of(stage, undoing_)
    assert (row["failure_match_id"], row["status"], row["awaits"]["kind"]) == (match, "executing", "error")
    assert (now(stage, name), stage.hub.row(error)["status"]) == ("not set", "RETRY_PENDING")
    stage.retried(error)
    stage.settle()
    assert stage.status(match) == ("recovered", f"recovered by {ROLLBACK}")


def test_something_else_stands_now(stage: Stage) -> None:
    name = key()
    made = executed(stage, outside(stage), RECONFIGURE, key=name, value=5)
    undoing_ = approved_rollback(stage, made)
    put(stage, name, 6)
    stage.settle()
    row = row_of(stage, undoing_)
    assert (row["status"], row["error"], row["teaches"], row["undoes"]) == ("failed", "CONFLICT", False, None)
    assert (now(stage, name), row["result"]) == (6, None)
    # Nobody tries anything else by itself with what was to be undone.
    assert {one["action_name"] for one in stage.candidates(row["failure_match_id"])} <= {
        ROLLBACK, "notify_ops", "manual_intervention"
    }  # fmt: skip
    # When what was left stands again, it can be undone after all.
    put(stage, name, 5)
    rolled_back(stage, made)
    assert now(stage, name) == "not set"


def test_changes_are_undone_from_the_last_to_the_first(stage: Stage) -> None:
    name = key()
    first, second = (executed(stage, outside(stage), RECONFIGURE, key=name, value=n) for n in (1, 2))
    assert row_of(stage, rolled_back(stage, first))["error"] == "CONFLICT"
    assert row_of(stage, rolled_back(stage, second))["status"] == "succeeded"
    assert now(stage, name) == 1
    assert row_of(stage, rolled_back(stage, first))["status"] == "succeeded"
    assert now(stage, name) == "not set"


def test_what_cannot_be_undone(stage: Stage) -> None:
    def refused(candidate: UUID) -> str:
        with pytest.raises(Refusal) as caught:
            roll_back(stage, candidate)
        return caught.value.code

    name = key()
    assert refused(uuid.uuid4()) == "candidate_unknown"
    match = outside(stage)
    pending = stage.propose(match, RECONFIGURE, key=name, value=1)
    assert refused(pending) == "undo_not_done"
    stage.reject(pending)
    assert refused(pending) == "undo_not_done"
    error = stage.park()
    retried = stage.awaiting(error)
    assert refused(stage.candidate(retried)["candidate_id"]) == "undo_not_done"
    stage.retried(error)
    stage.settle()
    assert refused(stage.candidate(retried)["candidate_id"]) == "undo_undeclared"
    made = executed(stage, outside(stage), RECONFIGURE, key=name, value=1)
    first = roll_back(stage, made)
    assert refused(made) == "undone_already"
    stage.reject(first)
    second = rolled_back(stage, made)
    assert row_of(stage, second)["status"] == "succeeded"
    assert refused(made) == "undone_already"
    assert refused(second) == "undo_undeclared"  # a rollback is not undone: its value is set again by a new action


def test_the_database_refuses_what_cannot_be_undone(stage: Stage) -> None:
    """Also without the library: the guard compares what is named with what is there."""
    retried = stage.awaiting(error := stage.park())
    stage.retried(error)
    stage.settle()
    done = executed(stage, outside(stage), RECONFIGURE, key=key(), value=1)
    undoing_ = rolled_back(stage, executed(stage, outside(stage), RECONFIGURE, key=key(), value=1))
    assert row_of(stage, undoing_)["status"] == "succeeded"
    match = outside(stage)
    for undoes, why in (
        (uuid.uuid4(), "no candidate"), (stage.candidate(retried)["candidate_id"], "cannot be undone"),
        (done, "another match"), (undoing_, "cannot be undone"),
    ):  # fmt: skip
        with pytest.raises(LawRefused, match=why) as refused:
            stage.propose(match, ROLLBACK, undoes=str(undoes))
        assert refused.value.code == "undo_refused"
    with pytest.raises(InputRefused) as unusable:
        stage.propose(match, ROLLBACK, undoes="'; drop table")
    assert unusable.value.code == "parameters_missing"


def test_two_people_undo_the_same_at_once(stage: Stage) -> None:
    """One of them does."""
    made = executed(stage, outside(stage), RECONFIGURE, key=key(), value=1)
    together = threading.Barrier(2)
    told: list[UUID | str] = []

    def propose(name: str) -> None:
        with stage.person(name, Authority.OPERATOR) as tx:
            together.wait(timeout=30)
            try:
                told.append(undoing.rollback(tx, made, stage.policy, reason="both"))
            except Refusal as refusal:
                told.append(refusal.code)

    threads = [threading.Thread(target=propose, args=(name,)) for name in ("ann", "bob")]
    for one in threads:
        one.start()
    for one in threads:
        one.join(timeout=60)
    stage.settle(executing=False)
    open_ = stage.rows("select 1 from recovery.candidate where undoes = %s", made)
    assert (len(told), len(open_)) == (2, 1)


def test_nobody_prevents_a_rollback_by_taking_its_key(stage: Stage) -> None:
    """A failure that somebody ingested under the key of a rollback is another one."""
    name = key()
    put(stage, name, 1)
    made = executed(stage, outside(stage), RECONFIGURE, key=name, value=2)
    with stage.person("mallory", Authority.MATCHER) as tx:
        (taken,) = ingest(tx, [NewFailure(source=undoing.SOURCE, message="mine", key=f"rollback/{made}")])
    undoing_ = rolled_back(stage, made)
    row = row_of(stage, undoing_)
    assert (now(stage, name), row["status"]) == (1, "succeeded")
    assert row["failure_match_id"] != taken.failure_match_id
    stage.whole()


def test_two_rollbacks_of_one_candidate_are_one(stage: Stage) -> None:
    """Whatever match they are of: the index keeps the second from being written."""
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    stage.scope(match, actions=UNDO)
    made = executed(stage, match, RECONFIGURE, key=key(), value=1)
    stage.fail(error)
    stage.settle()
    first = roll_back(stage, made)
    with pytest.raises(psycopg.errors.UniqueViolation), stage.person("ann", Authority.OPERATOR) as tx:
        undone = undoing._undone(tx, made)
        other = undoing._match(tx, {**undone, "is_open": False}, is_ours=True)
        review.propose(tx, other, ROLLBACK, stage.policy, parameters={"undoes": str(made)})
    assert row_of(stage, first)["status"] == "pending"


def test_it_is_never_automatic(stage: Stage) -> None:
    made = executed(stage, outside(stage), RECONFIGURE, key=key(), value=1)
    undoing_ = roll_back(stage, made)
    row = row_of(stage, undoing_)
    assert (row["automatic"], row["is_ready"], row["proposed_by"]) == (False, False, "paul")
    assert stage.approve(undoing_, by="paul") == ["same_person"]


# By hand --------------------------------------------------------------------------------------------------------------


def test_nobody_tells_another_story_of_what_stood_before(stage: Stage) -> None:
    """An executor that writes its own record is refused: a rollback would restore it."""
    name = key()
    put(stage, name, 1)
    made = stage.propose(outside(stage), RECONFIGURE, key=name, value=2)
    assert stage.approve(made) == [None]
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        executing.claim(tx, limit=1000, worker="w")
    forged = json.dumps({"undo": {"type": RECONFIGURE, "key": name, "before": 99, "after": 2}})
    with pytest.raises(LawRefused) as refused, stage.db.transaction(Authority.EXECUTOR) as tx:
        tx.execute(
            "update recovery.candidate set effect_made_at = recoup.now(), reported = 'succeeded', result = %s::jsonb,"
            " updated_at = recoup.now() where candidate_id = %s", (forged, made),
        )  # fmt: skip
    assert refused.value.code == "subject_changed"
    assert texts(stage, name) == ["1"]
    stage.advance(hours=1)
    stage.settle()
    assert row_of(stage, made)["error"] == "CRASHED"


ACTING, NOW = "recoup.acting_id()", "recoup.now()"


@pytest.mark.parametrize(
    ("who", "version", "candidate", "by", "at", "state"),
    [
        (Authority.EXECUTOR, 2, "gen_random_uuid()", ACTING, NOW, "made_by_hand"),
        (Authority.OPERATOR, 2, "gen_random_uuid()", ACTING, NOW, "config_version"),
        (Authority.OPERATOR, 3, "null", ACTING, NOW, "config_version"),
        (Authority.OPERATOR, 2, "null", "'somebody'", NOW, "config_version"),
        (Authority.OPERATOR, 2, "null", ACTING, f"{NOW} - interval '1 day'", "config_version"),
        (Authority.OPERATOR, 1, "null", ACTING, NOW, "23505"),
        (Authority.READER, 2, "null", ACTING, NOW, "authority_lacks_right"),
    ],
)
def test_a_version_is_not_written_by_hand(
    stage: Stage, who: Authority, version: int, candidate: str, by: str, at: str, state: str
) -> None:
    name = key()
    put(stage, name, 1)
    row = (
        "insert into recovery.config (key, version, value, candidate_id, set_by, reason, set_at)"
        f" select %s, {version}, '5', {candidate}, {by}, 'r', {at}"
    )
    eve = Actor("human", "eve")
    with pytest.raises((LawRefused, psycopg.Error)) as refused, stage.db.transaction(who, actor=eve) as tx:
        tx.execute(row.encode(), (name,))
    caught = refused.value
    assert (caught.code if isinstance(caught, LawRefused) else getattr(caught, "sqlstate", None)) == state
    assert texts(stage, name) == ["1"]


@pytest.mark.parametrize(
    ("action", "parameters", "code"),
    [
        (RETRY, {"a": float("inf")}, "parameters_unusable"), (RETRY, {"a": "\0"}, "parameters_unusable"),
        (RETRY, {"\ud800": 1}, "parameters_unusable"), (RETRY, {"a": "x" * 60_000}, "parameters_unusable"),
        (NOTIFY, {"route": None}, "parameters_missing"), (NOTIFY, {"route": "x" * 61}, "parameters_missing"),
        (MANUAL, {"due_hours": "soon"}, "parameters_missing"), (MANUAL, {"owner": ""}, "parameters_missing"),
        (MANUAL, {"due_hours": 10**9}, "parameters_missing"), ("circuit_breaker", {"breaker": 7}, "parameters_missing"),
    ],
)  # fmt: skip
def test_what_an_action_cannot_be_given(stage: Stage, action: str, parameters: dict[str, Any], code: str) -> None:
    (match,) = stage.outside()
    stage.settle()
    with pytest.raises(InputRefused) as refused:
        stage.propose(match, action, **parameters)
    assert refused.value.code == code
    if "due_hours" in parameters:  # it was given, and is not usable
        assert "(a whole number from 1 to 9,999)" in refused.value.happened


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("", 1, "key_unusable"), ("A", 1, "key_unusable"), ("a b", 1, "key_unusable"), ("a" * 101, 1, "key_unusable"),
        ("k", float("nan"), "value_unusable"), ("k", object(), "value_unusable"), ("k", "\0", "value_unusable"),
        ("k", "x" * 60_000, "value_unusable"), ("k", "\ud800", "value_unusable"),
    ],
)  # fmt: skip
def test_what_a_key_cannot_be(stage: Stage, name: str, value: Any, code: str) -> None:
    with pytest.raises(InputRefused) as refused:
        put(stage, name, value)
    assert refused.value.code == code


SECRETS: list[tuple[str, Any]] = [
    ("vendor.password", "hunter2"), ("vendor.password", 12345), ("vendor.password_env", "hunter2"), ("vendor.url", "postgres://app:s3cr3tpw@db/x"),
    ("vendor", {"hosts": [{"api_key": "k-123456"}]}), ("vendor.header", "Bearer abcdefghij0123456789"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), SECRETS)
def test_a_secret_is_not_kept_in_a_key(stage: Stage, name: str, value: Any) -> None:
    """Versions and candidates stay for good. By a person, by the action, or as a parameter of any action."""
    (match,) = stage.outside()
    stage.settle()
    for given in (
        lambda: put(stage, name, value),
        lambda: stage.propose(match, RECONFIGURE, key=name, value=value),
        lambda: stage.propose(match, RETRY, **{name: value}),
    ):
        with pytest.raises(InputRefused) as refused:
            given()
        assert refused.value.code == "value_secret"
        assert "hunter2" not in f"{refused.value.happened} {refused.value.next_step}"
    assert texts(stage, name) == []
    assert len(stage.candidates(match)) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vendor.password_file", "/run/secrets/vendor"), ("vendor.password_env", "VENDOR_PASSWORD"),
        ("llm.max_tokens", 500), ("vendor.token_bucket", 5),
        ("vendor.note", "[redacted]"), ("deep", json.loads("[" * 60 + "]" * 60)), ("vendor.password", None),
    ],
)  # fmt: skip
def test_what_is_no_secret_is_kept_as_it_is(stage: Stage, name: str, value: Any) -> None:
    put(stage, name, value)
    assert now(stage, name) == value


# Actions of yours -----------------------------------------------------------------------------------------------------


class Machine:
    """A machine with a size, that an action changes and undoes."""

    def __init__(self) -> None:
        self.size = 1
        self.undone: list[Any] = []

    def resize(self, one: Claimed, subject: Subject) -> Any:
        before, self.size = self.size, one.parameters["size"]
        return {"undo": {"before": before, "after": self.size}}

    def restore(self, one: Claimed, subject: Subject) -> Any:
        self.undone.append(subject.undoes)
        record = subject.undoes["result"]["undo"]
        if self.size != record["after"]:
            return Failed("CONFLICT")
        self.size = record["before"]
        return {"restored": self.size}


@pytest.fixture
def own(new_stage: NewStage) -> Callable[[], tuple[Stage, Machine]]:
    def made() -> tuple[Stage, Machine]:
        stage, machine = new_stage(), Machine()
        stage.apply(OWN)
        stage.executors["resize"] = Executor(machine.resize, undo=machine.restore)
        return stage, machine

    return made


def resized(stage: Stage, size: int) -> UUID:
    (match,) = stage.outside()
    stage.settle()
    stage.scope(match, actions=["resize"])
    return executed(stage, match, "resize", size=size)


def test_an_action_of_yours_is_undone_by_its_own_function(own: Callable[[], tuple[Stage, Machine]]) -> None:
    stage, machine = own()
    made = resized(stage, 8)
    assert (machine.size, row_of(stage, made)["status"]) == (8, "succeeded")
    undoing_ = approved_rollback(stage, made)
    # A worker without that function leaves it.
    other, stage.executors = stage.executors, {"resize": Executor(machine.resize)}
    stage.settle()
    assert row_of(stage, undoing_)["status"] == "approved"
    with stage.db.transaction(Authority.READER) as tx:
        assert executing.waiting_for_executors(tx, stage.executors) == {"undo resize": 1}
    stage.executors = other
    stage.settle()
    assert (machine.size, row_of(stage, undoing_)["status"]) == (1, "succeeded")
    assert machine.undone[0]["action"] == "resize"
    assert machine.undone[0]["parameters"] == {"size": 8}
    assert stage.status(row_of(stage, undoing_)["failure_match_id"])[0] == "recovered"
    stage.whole()


@pytest.mark.parametrize("before", [{"password": "hunter2"}, "postgres://app:s3cr3tpw@db/x", "x" * 200_000])
def test_what_was_not_stored_as_it_was_is_not_restored(own: Callable[[], tuple[Stage, Machine]], before: Any) -> None:
    """A placeholder in the place of a password would be worse than no rollback."""
    stage, machine = own()
    stage.executors["resize"] = Executor(lambda *_: {"undo": {"before": before}}, undo=machine.restore)
    made = resized(stage, 8)
    assert row_of(stage, made)["status"] == "succeeded"
    with pytest.raises(LawRefused) as refused:
        roll_back(stage, made)
    assert refused.value.code == "undo_incomplete"
    stage.whole()


def test_an_undo_of_yours_that_finds_something_else(own: Callable[[], tuple[Stage, Machine]]) -> None:
    stage, machine = own()
    made = resized(stage, 8)
    machine.size = 5
    undoing_ = rolled_back(stage, made)
    row = row_of(stage, undoing_)
    assert (row["status"], row["error"], machine.size) == ("failed", "CONFLICT", 5)
    stage.whole()


def test_an_undo_whose_worker_dies(own: Callable[[], tuple[Stage, Machine]]) -> None:
    """It has failed, and may be proposed again."""
    stage, machine = own()
    made = resized(stage, 8)
    undoing_ = approved_rollback(stage, made)
    with stage.db.transaction(Authority.CLAIM_WORKER) as tx:
        executing.claim(tx, limit=10, worker="dead", actions=["undo resize"], lease=timedelta(minutes=1), outside=True)
    assert row_of(stage, undoing_)["status"] == "executing"
    stage.advance(minutes=5)
    stage.settle()
    assert row_of(stage, undoing_)["error"] == "CRASHED"
    again = rolled_back(stage, made)
    assert (row_of(stage, again)["status"], machine.size) == ("succeeded", 1)
    stage.whole()


def test_only_what_the_policy_says_can_be_undone(own: Callable[[], tuple[Stage, Machine]]) -> None:
    stage, _ = own()
    stage.apply(OWN.replace("undo = true", "undo = false"))
    made = resized(stage, 8)
    with pytest.raises(LawRefused) as refused:
        roll_back(stage, made)
    assert refused.value.code == "undo_undeclared"


def test_an_action_that_undid_itself_is_rolled_back(own: Callable[[], tuple[Stage, Machine]]) -> None:
    """It did not work, it counts, it teaches, and the next action is tried."""
    stage, machine = own()

    def resize(one: Claimed, subject: Subject) -> Any:
        return RolledBack("the disk was full", {"size": machine.size})

    stage.executors["resize"] = Executor(resize, undo=machine.restore)
    made = resized(stage, 8)
    row = row_of(stage, made)
    assert (row["status"], row["error"], row["result"], row["teaches"]) == (
        "rolled_back", "the disk was full", {"size": 1}, True,
    )  # fmt: skip
    assert stage.story(made)[-1] == "rolled_back"
    assert stage.match(row["failure_match_id"])["status"] == "evaluated"
    with pytest.raises(LawRefused) as refused:
        roll_back(stage, made)
    assert refused.value.code == "undo_not_done"
    stage.whole()


# Breakers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changed", [False, True])
def test_a_breaker_that_an_action_opened_is_closed_again_unless_it_is_another_opening(
    new_stage: NewStage, changed: bool
) -> None:
    stage = new_stage()
    error = stage.park()
    stage.settle()
    match = stage.match_of(error)["failure_match_id"]
    stage.scope(match, actions=[BREAK, ROLLBACK])
    made = executed(stage, match, BREAK)
    (opened,) = stage.rows("select * from recovery.breaker")
    assert opened["status"] == "open"
    assert stage.act("resolve", error), "so that its candidate ends"
    stage.settle()
    assert row_of(stage, made)["finished_at"] is not None
    if changed:
        with stage.person("olga", Authority.OPERATOR) as tx:
            breakers.close_breaker(tx, opened["name"])
        stage.advance(seconds=1)
        with stage.person("olga", Authority.OPERATOR) as tx:
            assert breakers.open_breaker(tx, opened["name"], reason="down again")
    undoing_ = row_of(stage, rolled_back(stage, made))
    (now_,) = stage.rows("select * from recovery.breaker")
    assert (undoing_["status"], undoing_["error"], now_["status"]) == (
        ("failed", "CONFLICT", "open") if changed else ("succeeded", None, "closed")
    )
    stage.whole()
