"""Recovery at the command line: from a failure to its end, one by one and many at a time, and what is refused."""

from __future__ import annotations

import contextlib
import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from command_line import Run, refusal, run_in
from recoup.client import Client
from recoup.database import embedded, logins
from recoup.database.connection import connect
from recoup.lifecycles.declaration import Authority
from recoup.recovery.executing import Outcome
from recoup.refusals import Refusal
from recoup.settings import Settings
from recovery.desk import MANUAL, NOTIFY, RETRY, Desk

NOBODY = uuid.uuid4()


@pytest.fixture(scope="module")
def desk(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Desk]:
    with Client(server.uri(new_database()), settings) as client:
        yield Desk(client)


@pytest.fixture
def recoup(desk: Desk) -> Run:
    return run_in({"RECOUP_DSN": desk.client.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "250"})


@pytest.fixture
def cli(desk: Desk) -> Run:
    return run_in({"RECOUP_DSN": desk.client.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "250"}, "recovery")


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def named() -> str:
    return f"s-{uuid.uuid4().hex[:8]}"


def test_one_failure_from_its_report_to_its_end(cli: Run, desk: Desk) -> None:
    source = named()
    one = ("--source", source, "--key", "order-17", "--message", "the CRM timed out")
    context = ("--context", '{"order": 17, "api_key": "hush"}')
    (made,) = parsed(cli("ingest", *one, *context, "--json"))
    match = made["failure_match_id"]
    assert made["answer"] == "created"
    assert "is known" in cli("ingest", *one, *context).stdout
    assert "another content" in cli("ingest", *one, "--code", "E1", ends=1).stdout
    assert "A worker evaluates it" in cli("show", match).stdout
    desk.evaluate()
    (row,) = parsed(cli("matches", "--source", source, "--json"))
    assert (row["status"], row["action_name"], row["candidate_status"]) == ("evaluated", RETRY, "pending")
    assert match in cli("matches", "--kind", "OUTSIDE", "--status", "evaluated", "--source", source).stdout
    (incident,) = parsed(cli("incidents", "--source", source, "--json"))
    assert incident["open"] == 1
    waits = cli("list", "--source", source).stdout
    assert "decision" in waits
    assert "scope open" in cli("show", match).stdout
    candidate = row["candidate_id"]
    assert "scope_missing" in cli("approve", candidate, ends=1).stdout
    given = ("scope", "open", incident["incident_id"], "--action", RETRY, "--reason", "vendor is back")
    scope = parsed(cli(*given, "--attempts", 3, "--cost", 9, "--ttl", "4h", "--json"))
    assert (scope["max_attempts"], scope["cost_limit"], scope["opened_by"]) == (3, 9, "ada")
    assert "already allows" in str(refusal(cli(*given, "--json", fails=True))["happened"])
    assert scope["scope_id"] in cli("scopes", "--active", "--incident", incident["incident_id"]).stdout
    (unit,) = [one["unit"] for one in parsed(cli("list", "--source", source, "--json"))]
    (answer,) = parsed(cli("approve", unit, "--reason", "vendor is back", "--json"))
    assert (answer["done"], answer["now"]) == (True, "approved")
    assert "candidate_decided" in cli("approve", candidate, ends=1).stdout
    (stopped,) = parsed(cli("reject", candidate, "--reason", "wrong after all", "--json", ends=1))
    assert "revoke its scope, or pause its action" in str(stopped)
    desk.recovery.claim([RETRY], limit=100, worker="puller")
    assert "candidate" in cli("report", candidate, "--status", "succeeded", "--result", '{"rows": 3}').stdout
    desk.evaluate()
    told = " ".join(cli("show", candidate).stdout.split())
    for words in (
        "· recovered ·", "approved by ada", "vendor is back", "by puller", "(asked for)", "2 of 3 attempts",
        "match_ended", "Next: Nothing to do.", "order 17", "api_key [redacted]",
    ):  # fmt: skip
        assert words in told, words
    full = parsed(cli("show", match, "--json"))
    assert full["candidates"][0]["result"] == {"rows": 3}
    assert "match_over" in cli("recovered", match, "--reason", "x", ends=1).stderr


def test_a_file_of_failures(cli: Run, tmp_path: Path) -> None:
    """Each line has its answer; a line that cannot be read is refused, and the rest goes in."""
    source = named()
    file = tmp_path / "failures.jsonl"
    lines: list[Any] = [
        {"source": source, "key": "1", "message": "a"},
        {"key": "2", "message": "b", "category": "transient", "context": {"x": 1}},
        {"source": source, "key": "1", "message": "other"},
        {"source": source, "key": "4"},
        {"source": source, "key": "5", "message": "c", "colour": "red"},
        {"source": source, "key": "x" * 501, "message": "c"},
        {"source": source, "key": "6", "message": "c", "category": "ODD"},
        {"source": source, "key": "7", "message": "c", "context": [1]},
        {"source": source, "key": "8", "message": "c", "follows": "17"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)) + "\nnot json\n")
    answers = {
        line["line"]: line["answer"]
        for line in parsed(cli("ingest", "--file", file, "--source", source, "--json", ends=1))
    }
    assert [answers[n] for n in (1, 2, 3)] == ["created", "created", "differs"]
    assert {answers[n] for n in (4, 5, 8, 10)} == {"refused: line_unreadable"}
    assert [answers[n] for n in (6, 7, 9)] == [
        "refused: failure_key", "refused: category_unknown", "refused: entity_unreadable",
    ]  # fmt: skip
    good = "\n".join(map(json.dumps, lines[:2]))
    assert "2 known" in cli("ingest", "--file", "-", "--source", source, given=good).stdout
    assert "differs" in cli("ingest", "--file", file, "--source", source, ends=1).stdout
    assert len(parsed(cli("matches", "--source", source, "--json"))) == 2
    assert "nothing to ingest" in cli("ingest", "--file", "-", given="").stdout
    for given, code in (
        ((), "ingest_what"),
        (("--source", "a", "--key", "b"), "ingest_what"),
        (("--file", file, "--key", "b"), "ingest_both"),
        (("--file", tmp_path / "none.jsonl"), "file_missing"),
        (("--source", "a", "--key", "b", "--message", "m", "--context", "[1]"), "context_unreadable"),
        (("--source", " ", "--key", "b", "--message", "m"), "failure_source"),
    ):
        assert refusal(cli("ingest", *given, "--json", fails=True))["refused"] == code


def test_many_are_previewed_then_decided(cli: Run, recoup: Run, desk: Desk) -> None:
    """A fixed set, each with its result, as a person under the reviewer's authority; never more than its scope has."""
    source = named()
    made = [desk.new(source=source) for _ in range(3)]
    scope = desk.open_scope(made[0], max_attempts=2)
    few = cli("approve", "--source", source).stdout
    assert "scope_too_small" in few
    assert "2 attempts" in few
    assert "3 candidates" in few
    code = refusal(cli("approve", "--source", source, "--yes", "--json", fails=True))
    assert code["refused"] == "scope_too_small"
    desk.recovery.revoke_scope(scope, reason="too small")
    desk.evaluate()
    desk.open_scope(made[0], max_attempts=5)
    desk.evaluate()
    seen = cli("approve", "--source", source, "--action", RETRY).stdout
    assert "Nothing was changed. To approve these 3 candidates" in seen
    assert {one.status for one in desk.recovery.list(source=source)} == {"pending"}
    done = parsed(cli("approve", "--source", source, "--reason", "vendor is back", "--yes", "--json"))
    assert (done["items"], done["done"], done["refused"]) == (3, 3, 0)
    for match in made:
        one = desk.candidate(match)
        assert (one.status, one.decided_by, one.decision_note) == ("approved", "ada", "vendor is back")
        event = next(event for event in desk.recovery.show(match).events if event.event_type == "approved")
        assert (event.actor, event.authority) == ("human", "recoup_reviewer")
    assert "recovery.candidate" in recoup("operations").stdout
    other = [desk.new(source=source) for _ in range(2)]
    assert "reason_missing" in cli("reject", "--source", source, "--yes", fails=True).stderr
    assert "2 done" in cli("reject", "--source", source, "--reason", "wrong data", "--yes").stdout
    assert [desk.candidate(match).status for match in other] == ["rejected", "rejected"]
    for given, code_ in (
        ((), "recovery_unclear"),
        ((NOBODY, "--source", source), "recovery_unclear"),
        (("17",), "candidate_id"),
        (("--resume", NOBODY), "operation_unknown"),
    ):
        assert refusal(cli("approve", *given, "--json", fails=True))["refused"] == code_
    assert "candidate_unknown" in cli("reject", NOBODY, "--reason", "x", ends=1).stdout


def test_a_proposal_needs_somebody_else(cli: Run, desk: Desk) -> None:
    match = desk.new()
    desk.open_scope(match, MANUAL)
    made = parsed(cli("propose", match, "--action", MANUAL, "--parameters", '{"owner": "eve"}', "--json"))
    assert made["failure_match_id"] == str(match)
    assert "same_person" in cli("approve", made["candidate_id"], ends=1).stdout
    assert "done" in cli("approve", made["candidate_id"], "--json", RECOUP_ACTOR="bob").stdout
    desk.execute()
    (task,) = parsed(cli("tasks", "--owner", "eve", "--json"))
    assert "is done" in cli("tasks", "done", task["task_id"], "--note", "replaced it").stdout
    assert (
        refusal(cli("tasks", "cancel", task["task_id"], "--note", "x", "--json", fails=True))["refused"] == "task_over"
    )
    assert task["task_id"] in cli("tasks", "--all", "--owner", "eve").stdout
    desk.evaluate()
    assert "recovery recovered" in cli("show", match).stdout
    assert "is reported as recovered" in cli("recovered", match, "--reason", "it works").stdout
    desk.evaluate()
    assert desk.recovery.show(match).match["status"] == "recovered"
    for given, code in (
        ((match, "--action", "nothing"), "action_unknown"),
        ((match, "--action", "rollback"), "parameters_missing"),
        ((NOBODY, "--action", RETRY), "match_unknown"),
        ((match, "--action", RETRY, "--parameters", "1"), "parameters_unreadable"),
    ):
        assert refusal(cli("propose", *given, "--json", fails=True))["refused"] == code
    for verb in ("done", "cancel"):
        found = refusal(cli("tasks", verb, NOBODY, "--note", "x", "--json", fails=True))
        assert found["refused"] == "task_unknown"


def test_a_key_is_set_changed_and_restored(cli: Run, desk: Desk) -> None:
    key = f"crm.{uuid.uuid4().hex[:8]}"
    assert "version 1" in cli("config", "set", key, "500", "--reason", "as agreed").stdout
    match = desk.new()
    desk.open_scope(match, "reconfigure")
    parameters = json.dumps({"key": key, "value": 50})
    made = parsed(cli("propose", match, "--action", "reconfigure", "--parameters", parameters, "--json"))
    desk.evaluate()
    assert "done" in cli("approve", made["candidate_id"], "--json", RECOUP_ACTOR="bob").stdout
    desk.execute()
    assert desk.recovery.config(key) == 50
    desk.evaluate()
    back = parsed(cli("rollback", made["candidate_id"], "--reason", "too slow", "--json"))
    desk.open_scope(back["failure_match_id"], "rollback")
    desk.evaluate()
    assert "done" in cli("approve", back["candidate_id"], "--json", RECOUP_ACTOR="bob").stdout
    desk.execute()
    assert (desk.recovery.config(key), desk.recovery.config("crm.none", 7)) == (500, 7)
    found = parsed(cli("config", "show", key, "--json"))
    assert [(row["version"], row["value"]) for row in found] == [(3, 500), (2, 50), (1, 500)]
    assert [row["candidate_id"] for row in found] == [back["candidate_id"], made["candidate_id"], None]
    assert key in cli("config", "list").stdout
    assert desk.recovery.set_config(key, {"a": 1}, reason="as agreed") == 4
    assert [one.version for one in desk.recovery.configs(key)] == [4, 3, 2, 1]
    for given, code in (
        (("config", "show", "nothing"), "key_unknown"),
        (("config", "set", "A B", "1", "--reason", "x"), "key_unusable"),
        (("config", "set", key, "text", "--reason", "x"), "value_unreadable"),
        (("config", "set", key, "1", "--reason", " "), "reason_missing"),
        (("rollback", NOBODY, "--reason", "x"), "candidate_unknown"),
        (("rollback", made["candidate_id"], "--reason", "x"), "undone_already"),
        (("rollback", back["candidate_id"], "--reason", " "), "reason_missing"),
    ):
        assert refusal(cli(*given, "--json", fails=True))["refused"] == code


def test_an_action_that_undid_itself_is_reported(cli: Run, desk: Desk) -> None:
    candidate = desk.scoped()
    assert "done" in cli("approve", candidate.candidate_id, "--json", RECOUP_ACTOR="bob").stdout
    desk.recovery.claim([RETRY], limit=1000)
    told = cli("report", candidate.candidate_id, "--status", "rolled_back", "--message", "the disk was full").stdout
    assert "is rolled_back" in told
    assert desk.recovery.show(candidate.failure_match_id).candidates[0].status == "rolled_back"


def test_a_stuck_match_is_listed_and_resumed(cli: Run, recoup: Run, desk: Desk) -> None:
    match = desk.new()
    desk.make_stuck(match)
    assert str(match) in cli("matches", "--stuck").stdout
    assert "stuck: 5 evaluations failed" in cli("show", match).stdout
    assert "1 stuck since" in recoup("doctor", "--json", ends=None, fails=False).stdout
    assert "(new) is evaluated next" in cli("evaluate", match, "--reason", "fixed").stdout
    assert "No matches are like that" in cli("matches", "--stuck").stdout
    assert "No matches are like that" in cli("matches", "--unrecovered", "--accepted", "--source", "none").stdout
    assert refusal(cli("evaluate", NOBODY, "--json", fails=True))["refused"] == "match_unknown"
    assert refusal(cli("show", NOBODY, "--json", fails=True))["refused"] == "match_unknown"
    assert "match" in recoup("find", match).stdout


def test_an_action_is_paused_and_resumed(cli: Run, recoup: Run, desk: Desk) -> None:
    """Nothing of it starts meanwhile."""
    assert "action" in recoup("pause", "--help").stdout
    match = desk.new()
    desk.recovery.propose(match, NOTIFY, actor="eve")
    desk.open_scope(match, NOTIFY)
    desk.recovery.approve(desk.candidate(match), actor="bob")
    assert "is paused" in recoup("pause", "action", NOTIFY, "--reason", "too loud").stdout
    (row,) = [one for one in parsed(cli("actions", "--json")) if one["action_name"] == NOTIFY]
    assert (row["paused"], row["kind"]) == ("ada: too loud", "compensating")
    assert "too loud" in cli("actions").stdout
    desk.execute()
    assert desk.candidate(match).status == "approved"
    recoup("pause", "action", "nothing", "--reason", "x", fails=True)
    assert "is resumed" in recoup("resume", "action", NOTIFY, "--reason", "over").stdout
    desk.execute()
    assert desk.candidate(match).status == "executing"


def test_a_scope_is_revoked_and_what_goes_on_is_listed(cli: Run, desk: Desk) -> None:
    one = desk.scoped()
    desk.recovery.approve(one, actor="bob")
    desk.recovery.claim([RETRY], limit=100)
    told = cli("scope", "revoke", one.scope_id, "--reason", "wrong vendor").stdout
    assert "1 candidate was started before and continues" in told
    assert str(one.candidate_id) in told
    for given, code in (
        (("revoke", one.scope_id, "--reason", "again"), "scope_over"),
        (("revoke", NOBODY, "--reason", "x"), "scope_unknown"),
        (("revoke", one.scope_id, "--reason", " "), "reason_unusable"),
        (("open", NOBODY, "--action", RETRY, "--reason", "x"), "scope_rules"),
        (("open", one.incident_id, "--action", "nothing", "--reason", "x"), "action_unknown"),
        (("open", one.incident_id, "--action", RETRY, "--reason", "x", "--ttl", "60d"), "scope_rules"),
        (("open", one.incident_id, "--action", RETRY, "--reason", "x", "--ttl", "soon"), "bad_duration"),
    ):
        found = refusal(cli("scope", *given, "--json", fails=True))
        assert found["refused"] == code, given
        if "60d" in given:
            assert "at most 168 hours" in str(found["next_step"])
        if code == "scope_rules" and NOBODY in given:
            assert "recovery incidents" in str(found["next_step"])
    assert "revoked" in cli("scopes", "--incident", one.incident_id).stdout
    late = ("report", one.candidate_id, "--token", NOBODY, "--status", "failed", "--message", "x")
    assert "does not count" in cli(*late, ends=1).stdout
    assert "is failed" in cli("report", one.candidate_id, "--status", "failed", "--message", "no answer").stdout
    assert refusal(cli("report", NOBODY, "--status", "failed", "--json", fails=True))["refused"] == "candidate_unknown"


# Separate logins ------------------------------------------------------------------------------------------------------


def login(desk: Desk, server: embedded.Server, *authorities: Authority) -> str:
    """A real login that may take these authorities, and no others."""
    name = f"l_{uuid.uuid4().hex[:8]}"
    uri = psycopg.conninfo.conninfo_to_dict(desk.client.conninfo)
    admin = server.uri(str(uri["dbname"]), admin=True)
    with contextlib.closing(connect(admin, desk.client.settings)) as connection:
        logins.add(connection, name, authorities, password="x")
    return make_conninfo(desk.client.conninfo, user=name, password="x")


def test_who_approves_cannot_execute_and_who_executes_cannot_approve(desk: Desk, server: embedded.Server) -> None:
    """By what the server grants to each login, not by what a program asks."""
    reviewer = login(desk, server, Authority.REVIEWER)
    worker = login(desk, server, Authority.CLAIM_WORKER, Authority.EXECUTOR, Authority.EVALUATOR)
    one = desk.scoped()
    with Client(worker, desk.client.settings) as client:
        with pytest.raises(Refusal) as caught:
            client.recovery.approve(one)
        assert caught.value.code == "login_lacks_authority"
        with pytest.raises(Refusal, match="set role"), client.transaction(Authority.CLAIM_WORKER) as tx:
            tx.execute("set local role recoup_reviewer")
    with Client(reviewer, desk.client.settings) as client:
        with pytest.raises(Refusal) as caught:
            client.recovery.claim([RETRY])
        assert caught.value.code == "login_lacks_authority"
        assert [answer.done for answer in client.recovery.approve(one, reason="vendor is back", actor="bob")] == [True]
    with Client(worker, desk.client.settings) as client:
        claimed = [two for two in client.recovery.claim([RETRY], limit=100) if two.candidate_id == one.candidate_id]
        assert client.recovery.finish([(claimed[0], Outcome(True))]) == ["succeeded"]
    desk.evaluate()
    events = {event.event_type: event for event in desk.recovery.show(one.candidate_id).events}
    assert (events["approved"].actor_id, events["executed"].authority) == ("bob", "recoup_claim_worker")


def test_separate_logins_at_the_command_line(desk: Desk, server: embedded.Server) -> None:
    reviewer = login(desk, server, Authority.READER, Authority.REVIEWER)
    one, other = desk.scoped(), desk.scoped()
    cli = run_in({"RECOUP_DSN": reviewer, "RECOUP_ACTOR": "bob", "COLUMNS": "250"}, "recovery")
    assert str(one.candidate_id) in cli("list").stdout
    assert "approved" in cli("approve", one.candidate_id).stdout
    assert "rejected" in cli("reject", other.candidate_id, "--reason", "wrong").stdout
    for given in (
        ("report", one.candidate_id, "--status", "succeeded"),
        ("scope", "revoke", one.scope_id, "--reason", "x"),
        ("evaluate", one.failure_match_id),
        ("propose", one.failure_match_id, "--action", RETRY),
        ("ingest", "--source", "a", "--key", "b", "--message", "m"),
    ):
        found = refusal(cli(*given, "--json", fails=True))
        assert found["refused"] == "login_lacks_authority", given


def test_who_proposed_through_a_login_does_not_approve_through_it(desk: Desk, server: embedded.Server) -> None:
    """Under whichever name: a name is what a program says."""
    both = login(
        desk, server, Authority.READER, Authority.OPERATOR, Authority.MATCHER, Authority.EVALUATOR, Authority.REVIEWER
    )
    reviewer = login(desk, server, Authority.READER, Authority.REVIEWER)
    one = desk.scoped()
    bob = run_in({"RECOUP_DSN": both, "RECOUP_ACTOR": "bob", "COLUMNS": "250"}, "recovery")
    alice = run_in({"RECOUP_DSN": both, "RECOUP_ACTOR": "alice", "COLUMNS": "250"}, "recovery")
    carol = run_in({"RECOUP_DSN": reviewer, "RECOUP_ACTOR": "carol", "COLUMNS": "250"}, "recovery")
    made = json.loads(bob("propose", one.failure_match_id, "--action", RETRY, "--json").stdout)["candidate_id"]
    assert "through this login" in alice("approve", made, fails=True).stdout
    assert "approved" in carol("approve", made).stdout
