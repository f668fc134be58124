"""Lists of recovery: filters, pages, whole stories; and plans that do not read the table for a page."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from company import acting
from plans import assert_reads_only, carried_out
from recoup import find as finding
from recoup.client import Client
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.health import CheckResult
from recoup.lifecycles.declaration import Authority
from recoup.pauses import pause, resume
from recoup.policy import versions
from recoup.recovery import checks, listing, review, story
from recoup.recovery.executing import Outcome
from recoup.recovery.finding import FINDER
from recoup.recovery.gauges import STUCK_MATCHES
from recoup.recovery.listing import Cursor
from recoup.recovery.policy import RecoveryPolicy
from recoup.refusals import InputRefused
from recoup.settings import Settings
from recovery.desk import MANUAL, RETRY, Desk

BIG = ("failure_match", "candidate", "incident", "task", "provenance", "evaluation", "scope")
# What is there after a year, written past the guards: half of the matches have ended; each of the others has a
# candidate that waits for a decision. One incident has all of them.
MANY = """
alter table recovery.incident disable trigger all;
alter table recovery.failure_match disable trigger all;
alter table recovery.candidate disable trigger all;
alter table recovery.task disable trigger all;
insert into recovery.incident (source, error_signature, status, opened_at, closed_at)
select 'many', 's' || i, case when i % 2 = 1 then 'open' else 'closed' end, t.now_, case when i % 2 = 0 then t.now_ end
  from generate_series(1, 20000) i, (select recoup.now() as now_) t;
insert into recovery.failure_match (incident_id, source, idempotency_key, subject_kind, subject_ref, error_message,
  error_signature, category, digest, status, evaluate_at, match_until, policy_version, created_at, updated_at, ended_at,
  recovered_at, end_reason)
select n.incident_id, 'many', i::text, 'outside', 'ref' || i, 'm', 's1', 'TRANSIENT', '\\x00',
       case when i % 2 = 0 then 'recovered' else 'evaluated' end, t.now_ + interval '1 day',
       t.now_ + interval '9 days', 1, t.now_ - i * interval '1 second', t.now_,
       case when i % 2 = 0 then t.now_ end, case when i % 2 = 0 then t.now_ end, case when i % 2 = 0 then 'x' end
  from generate_series(1, 100000) i, (select recoup.now() as now_) t,
       (select incident_id from recovery.incident where source = 'many' and error_signature = 's1') n;
insert into recovery.candidate (failure_match_id, incident_id, error_signature, subject_kind, status, decide_by,
  policy_version, created_at, updated_at, finished_at, skip_reason)
select m.failure_match_id, m.incident_id, m.error_signature, m.subject_kind,
       case when m.ended_at is null then 'pending' else 'skipped' end, m.match_until, 1, m.created_at, m.created_at,
       m.ended_at, case when m.ended_at is not null then 'OVERTAKEN' end from recovery.failure_match m;
insert into recovery.task (incident_id, action_name, owner, subject, status, due_at, created_at, ended_at, ended_by)
select recoup.new_id(), 'a', 'o', 's', case when i % 2 = 1 then 'open' else 'done' end,
       t.now_ + i * interval '1 second', t.now_, case when i % 2 = 0 then t.now_ end, case when i % 2 = 0 then 'x' end
  from generate_series(1, 20000) i, (select recoup.now() as now_) t;
alter table recovery.incident enable trigger all;
alter table recovery.failure_match enable trigger all;
alter table recovery.candidate enable trigger all;
alter table recovery.task enable trigger all;
"""


@pytest.fixture(scope="module")
def desk(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Desk]:
    with Client(server.uri(new_database()), settings) as client:
        yield Desk(client)


def test_matches_by_every_filter_and_page_by_page(desk: Desk) -> None:
    source = f"s-{uuid.uuid4().hex[:8]}"
    made = [desk.new(source=source, message=f"the vendor timed out after {n} s") for n in range(5)]
    found = desk.recovery.matches(source=source)
    assert [one.failure_match_id for one in found] == made[::-1]
    (incident,) = {one.incident_id for one in found}
    assert {one.candidate_status for one in found} == {"pending"}
    for given in (
        {"incident": incident},
        {"source": source, "statuses": ["evaluated", "new"]},
        {"source": source, "kind": "outside"},
        {"signature": found[0].error_signature, "source": source},
    ):
        assert {one.failure_match_id for one in desk.recovery.matches(**given)} == set(made), given
        pages, after = [], None
        while page := desk.recovery.matches(**given, limit=2, after=after):
            pages += page
            after = page[-1].failure_match_id
        assert [one.failure_match_id for one in pages] == made[::-1], given
    assert desk.recovery.matches(source=source, statuses=["unrecovered"]) == []
    assert desk.recovery.matches(source=source, kind="run") == []
    for bad, code in (({"statuses": ["lost"]}, "status_unknown"), ({"kind": "star"}, "kind_unknown")):
        with pytest.raises(InputRefused) as caught:
            desk.recovery.matches(**bad)
        assert caught.value.code == code
    with pytest.raises(InputRefused, match="NUL"):
        desk.recovery.matches(source="a\0b")


def test_candidates_that_wait_for_a_decision_come_first(desk: Desk) -> None:
    source = f"s-{uuid.uuid4().hex[:8]}"
    made = [desk.new(source=source) for _ in range(5)]
    scope = desk.open_scope(made[0], max_attempts=4, cost_limit=9)
    units = [one.unit for one in desk.recovery.list(source=source)]
    assert all(one.done for one in desk.recovery.approve(units[:2], actor="bob"))
    found = desk.recovery.list(source=source)
    assert [(one.failure_match_id, one.status, one.waits_for) for one in found] == [
        *((match, "pending", "decision") for match in made[2:]), *((match, "approved", "start") for match in made[:2])
    ]  # fmt: skip
    assert {(one.scope_id, one.attempts_left, one.cost_left) for one in found} == {(scope, 4, 9)}
    pages, after = [], None
    while page := desk.recovery.list(source=source, limit=2, after=after):
        pages += page
        after = Cursor.read(str(Cursor.of(page[-1])))
    assert [one.candidate_id for one in pages] == [one.candidate_id for one in found]
    assert [one.failure_match_id for one in desk.recovery.list(source=source, statuses=["approved"])] == made[1::-1]
    assert len(desk.recovery.list(source=source, action=RETRY, incident=found[0].incident_id)) == 5
    assert desk.recovery.list(source=source, action=MANUAL) == []
    with pytest.raises(InputRefused):
        Cursor.read("decision.nobody")


def test_a_set_is_compared_with_its_scope_as_a_whole(desk: Desk) -> None:
    """Both numbers are named, before anything is decided: by ids, in the preview, and when the set is fixed."""
    source = f"s-{uuid.uuid4().hex[:8]}"
    made = [desk.new(source=source) for _ in range(3)]
    desk.open_scope(made[0], max_attempts=2)
    answers = desk.recovery.approve([one.unit for one in desk.recovery.list(source=source)])
    assert {one.refused for one in answers} == {"scope_too_small"}
    assert "2 attempts" in str(answers[0].happened)
    assert "3 candidates" in str(answers[0].happened)
    act = review.SUBJECT.act("approve")
    asked = review.SUBJECT.narrowed(act, review.Filter(source=source))
    with desk.client.transaction(Authority.READER) as tx:
        (group,) = review.SUBJECT.groups(tx, act, asked)
        assert group.refusal is not None
        assert group.refusal.code == "scope_too_small"
        with pytest.raises(Exception, match="2 attempts"):
            review.SUBJECT.chosen(tx, asked)
        review.SUBJECT.chosen(tx, review.SUBJECT.narrowed(review.SUBJECT.act("reject", reason="x"), asked))


def test_the_whole_story_of_a_match(desk: Desk) -> None:
    match = desk.new(message="the vendor timed out", code="E7", context={"order": 17})
    scope = desk.open_scope(match)
    one = desk.candidate(match)
    assert f"recoup recovery approve {one.candidate_id}" in desk.recovery.show(match).next_step
    desk.recovery.approve(one.unit, reason="vendor is back", actor="bob")
    assert "starts it before" in desk.recovery.show(match).next_step
    (claimed,) = [c for c in desk.recovery.claim([RETRY], limit=100) if c.candidate_id == one.candidate_id]
    desk.recovery.finish([(claimed, Outcome(False, "no answer"))])
    desk.evaluate()
    shown = desk.recovery.show(one.candidate_id)
    assert (shown.asked, shown.match["failure_match_id"]) == (one.candidate_id, match)
    assert shown.match["context"] == {"order": 17}
    assert shown.subject is not None
    assert (shown.subject.standing, shown.incident.open) == ("failed", 1)
    first, second = shown.candidates
    assert (first.status, first.error, first.decided_by, first.decision_note) == (
        "failed", "no answer", "bob", "vendor is back",
    )  # fmt: skip
    assert (second.follows, second.status) == (first.candidate_id, "pending")
    assert [one.scope_id for one in shown.scopes] == [scope]
    assert len(shown.evaluations) == 2
    kinds = [event.event_type for event in shown.events]
    assert kinds[:3] == ["incident_opened", "match_created", "rule_evaluated"]
    assert {"scope_opened", "approved", "executed", "failure"} <= set(kinds)
    assert [event.seq for event in shown.events] == sorted(event.seq for event in shown.events)
    assert f"scope open {shown.incident.incident_id} --action" in shown.next_step


def test_a_match_that_follows_another(desk: Desk) -> None:
    match = desk.new()
    desk.advance(hours=73)  # nobody decided
    desk.evaluate()
    ended = desk.recovery.show(match)
    assert ended.match["status"] == "unrecovered"
    assert f"recoup recovery propose {match}" in ended.next_step
    made = desk.recovery.propose(match, RETRY, actor="ada")
    later = desk.recovery.show(made)
    assert later.follows is not None
    assert later.follows.failure_match_id == match
    assert [one.failure_match_id for one in desk.recovery.show(match).followed_by] == [later.match["failure_match_id"]]


def test_incidents_and_actions(desk: Desk) -> None:
    source = f"s-{uuid.uuid4().hex[:8]}"
    for message in ("one thing broke", "one thing broke", "quite another thing happened"):
        desk.new(source=source, message=message)
    found = desk.recovery.incidents(source=source)
    assert sorted((one.matches, one.open) for one in found) == [(1, 1), (2, 2)]
    (first,) = desk.recovery.incidents(source=source, limit=1)
    assert desk.recovery.incidents(source=source, after=first.incident_id) == found[1:]
    assert {one.incident_id for one in desk.recovery.incidents(source=source, closed=True)} == {
        one.incident_id for one in found
    }
    with desk.client.transaction(Authority.OPERATOR) as tx:
        pause(tx, "action", RETRY, reason="too many")
    by_name = {one.action_name: one for one in desk.recovery.actions()}
    assert by_name[RETRY].paused == f"{desk.client.settings.actor}: too many"
    assert by_name[MANUAL].paused is None
    assert (by_name[MANUAL].kind, by_name[RETRY].kind) == ("compensating", "corrective")
    assert by_name["rollback"].applies_to == ("error", "intake", "run", "partition", "outside")
    assert by_name["fallback_model"].applies_to == ("error", "run", "partition", "outside")
    assert set(by_name) == set(desk.active[RecoveryPolicy].actions)
    with desk.client.transaction(Authority.OPERATOR) as tx:
        resume(tx, "action", RETRY, reason="over")
    assert {one.action_name: one for one in desk.recovery.actions()}[RETRY].paused is None


def test_everything_is_found_by_its_id(desk: Desk) -> None:
    one = desk.scoped()
    with desk.client.transaction(Authority.READER) as tx:
        for kind, id_ in (
            ("match", one.failure_match_id), ("candidate", one.candidate_id), ("incident", one.incident_id),
            ("scope", one.scope_id),
        ):  # fmt: skip
            (found,) = finding.find(tx, str(id_), [FINDER]).found
            assert (found.kind, found.id) == (kind, str(id_))
        assert {found.kind for found in finding.find(tx, str(one.subject_ref), [FINDER]).found} == {"match"}
        assert finding.find(tx, str(uuid.uuid4()), [FINDER]).found == []


def test_the_doctor_says_what_is_stuck_and_who_may_do_both(desk: Desk, server: embedded.Server) -> None:
    def checked(name: str) -> list[CheckResult]:
        dsn = desk.client.conninfo
        with contextlib.closing(connect(dsn, desk.client.settings)) as connection:
            return list(getattr(checks, name)(connection))

    assert [one.verdict for one in checked("matches")] == ["ok"]
    match = desk.new()
    desk.make_stuck(match)
    (found,) = checked("matches")
    assert (found.verdict, "1 stuck" in found.found) == ("warning", True)
    with desk.client.transaction(Authority.READER) as tx:
        (reading,) = STUCK_MATCHES.measure(tx, versions.active(tx).policy)
    assert (reading.signal, reading.value) == ("matches_stuck", 1), "and it is what an alert is raised on"
    desk.recovery.recovered(match, reason="by hand")
    desk.evaluate()
    one = desk.scoped()
    desk.recovery.approve(one)
    (found,) = checked("candidates")
    assert (found.verdict, f"{RETRY} (" in found.found) == ("warning", True)
    (found,) = checked("separation")
    assert (found.verdict, "may both approve and execute" in found.found) == ("ok", True)


@pytest.fixture(scope="module")
def crowd(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection:
        connection.execute("set statement_timeout = 0")
        connection.execute(MANY)
        for table in ("incident", "failure_match", "candidate", "task"):
            connection.execute(f"vacuum analyze recovery.{table}".encode())
        yield connection


LOOKS: dict[str, Callable[[Transaction, UUID, UUID], object]] = {
    "matches": lambda tx, _i, _m: listing.matches(tx, limit=50),
    "next": lambda tx, _i, match: listing.matches(tx, limit=50, after=match),
    "open": lambda tx, _i, _m: listing.matches(tx, limit=50, statuses=["evaluated"]),
    "stuck": lambda tx, _i, _m: listing.matches(tx, limit=50, statuses=["stuck"]),
    "incident": lambda tx, incident, _m: listing.matches(tx, limit=50, incident=incident),
    "incident next": lambda tx, incident, match: listing.matches(tx, limit=50, incident=incident, after=match),
    "candidates": lambda tx, _i, _m: listing.candidates(tx, limit=50),
    "candidates next": lambda tx, _i, match: listing.candidates(tx, limit=50, after=Cursor("decision", False, match)),
    "startable": lambda tx, _i, match: listing.candidates(tx, limit=50, after=Cursor("start", False, match)),
    "candidates of an incident": lambda tx, i, _m: listing.candidates(tx, review.Filter(incident=str(i)), limit=50),
    "incidents": lambda tx, _i, _m: listing.incidents(tx, limit=20),
    "incidents next": lambda tx, incident, _m: listing.incidents(tx, limit=20, after=incident),
    "all incidents": lambda tx, _i, _m: listing.incidents(tx, limit=20, closed=True),
    "tasks": lambda tx, _i, _m: listing.tasks(tx, limit=50),
    "all tasks": lambda tx, _i, _m: listing.tasks(tx, limit=50, ended=True),
    "actions": lambda tx, _i, _m: listing.actions(tx, versions.active(tx).policy[RecoveryPolicy]),
    "story": lambda tx, _i, match: story.show(tx, match),
    "found": lambda tx, _i, match: finding.find(tx, str(match), [FINDER]),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_page_reads_no_more_than_it_shows(crowd: Transaction, look: str) -> None:
    (incident, match) = crowd.execute(
        "select m.incident_id, m.failure_match_id from recovery.failure_match m order by 2 offset 5000 limit 1"
    ).fetchone() or (None, None)
    assert isinstance(incident, UUID)
    assert isinstance(match, UUID)
    with carried_out(crowd, kept=False) as plans:
        with acting(crowd, Authority.READER):
            LOOKS[look](crowd, incident, match)
        assert_reads_only(plans.take(), 2_100, big=BIG)
