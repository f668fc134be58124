"""Rules from the policy to the candidate: what they see, what is recorded, what fails in them, who may write it."""

from __future__ import annotations

import json
import sys
import uuid
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from recoup import expressions
from recoup.database.connection import Database
from recoup.lifecycles.declaration import Authority
from recoup.recovery import evaluation, executing, rule_testing, rules, story
from recoup.recovery.policy import RecoveryPolicy
from recoup.recovery.rule_facts import FACTS, MAX_CONTEXT
from recoup.recovery.rules import Moment, read_facts
from recoup.refusals import InputRefused, Refusal
from recovery.stage import MANUAL, NOTIFY, RETRY, Actors, NewStage, Stage


def ruled(stage: Stage, text: str = "", /, **rules: Any) -> None:
    """Apply rules, by name: the whole policy, but for the shipped values."""
    lines = [
        f"[recovery.rules.{name}]\n" + "".join(f"{k} = {_toml(v)}\n" for k, v in r.items()) for name, r in rules.items()
    ]
    stage.apply("\n".join([text, *lines]))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def evaluations(stage: Stage, match: UUID) -> list[dict[str, Any]]:
    return stage.rows("select * from recovery.evaluation where failure_match_id = %s order by evaluation_no", match)


def source() -> str:
    return f"s{uuid.uuid4().hex[:8]}"


def test_a_rule_recommends_and_its_evaluation_is_recorded(stage: Stage) -> None:
    """Instead of the plan, with its weight and its parameters; the event of its birth names what fired."""
    here = source()
    ruled(
        stage,
        strong={"when": f"source == '{here}' && message.contains('503')", "action": MANUAL, "weight": 0.7,
                "parameters": {"owner": "vendors"}},
        weak={"when": f"source == '{here}'", "action": NOTIFY, "weight": 0.2},
    )  # fmt: skip
    (match, other) = (stage.outside(source=here, message="it said 503")[0], stage.outside()[0])
    stage.settle()
    made = stage.candidate(match)
    assert (made["action_name"], made["parameters"]) == (MANUAL, {"owner": "vendors", "due_hours": 24})
    (row,) = evaluations(stage, match)
    assert (row["rules"], row["fired"], row["recommended_action"]) == ("rules", ["strong", "weak"], MANUAL)
    assert (row["weight"], row["errors"]) == (pytest.approx(0.7), None)
    assert row["facts"]["incident_size"] == 1
    (event,) = stage.events(match, "rule_evaluated")
    assert (event["reason"], event["facts"]) == ("rules", {"fired": ["strong", "weak"]})
    assert (event["authority"], event["policy_version"]) == ("recoup_rule_engine", row["policy_version"])
    assert [r["fired"] for r in evaluations(stage, other)] == [["plan.outside"]]


def test_a_rule_that_fails_decides_nothing_is_recorded_and_the_others_count(stage: Stage) -> None:
    here = source()
    ruled(
        stage,
        failing={"when": f"source == '{here}' && context.vendor == 'x'", "action": MANUAL, "weight": 1.0},
        working={"when": f"source == '{here}'", "action": NOTIFY, "weight": 0.1},
    )
    (match,) = stage.outside(source=here)
    stage.settle()
    assert stage.told(match) == [(NOTIFY, "pending", None)]
    (row,) = evaluations(stage, match)
    assert (row["fired"], row["errors"]) == (["working"], {"failing": 'there is no key "vendor"'})
    (event,) = stage.events(match, "rule_evaluated")
    assert event["facts"] == {"fired": ["working"], "failed": ["failing"]}


def test_a_rejected_action_is_followed_by_the_next_rule_then_by_the_plan(stage: Stage) -> None:
    here = source()
    ruled(
        stage,
        first={"when": f"source == '{here}'", "action": NOTIFY, "weight": 0.9},
        second={"when": f"source == '{here}' && attempts == 0", "action": MANUAL, "weight": 0.8},
    )
    (match,) = stage.outside(source=here)
    for expected in (NOTIFY, MANUAL, RETRY):
        stage.settle()
        assert stage.candidate(match)["action_name"] == expected
        stage.reject(stage.candidate(match)["candidate_id"])
    stage.settle()
    assert stage.status(match) == ("unrecovered", "LIMIT_REACHED")
    assert [row["fired"] for row in evaluations(stage, match)] == [
        ["first", "second"], ["second", "first"], ["plan.outside", "first", "second"],
    ]  # fmt: skip
    with stage.db.transaction(Authority.READER) as tx:
        shown = story.show(tx, match)
    first, second = f"{NOTIFY} was rejected", f"{MANUAL} was rejected"
    assert [one.passed_over for one in shown.evaluations] == [{}, {"first": first}, {"first": first, "second": second}]


def test_rules_that_found_nothing_to_recommend_are_recorded_too(new_stage: NewStage) -> None:
    """Otherwise nobody would know that the rule that should have decided had failed."""
    stage = new_stage()
    ruled(
        stage, "[recovery.plan]\noutside = []\n",
        broken={"when": "context.vendor == 'x'", "action": NOTIFY}, moot={"when": "true", "action": "rollback"},
    )  # fmt: skip
    (match,) = stage.outside()
    stage.settle()
    assert stage.status(match) == ("unrecovered", "NOTHING_APPLICABLE")
    (row,) = evaluations(stage, match)
    assert (row["fired"], row["recommended_action"], row["weight"]) == (["moot"], None, 0)
    assert row["errors"] == {"broken": 'there is no key "vendor"'}
    with stage.db.transaction(Authority.READER) as tx:
        (shown,) = story.show(tx, match).evaluations
    assert shown.passed_over == {"moot": "rollback cannot be executed for it"}
    stage.whole()


def test_a_scope_that_opens_by_itself_allows_what_rules_recommend(new_stage: NewStage) -> None:
    stage = new_stage()
    ruled(
        stage, "[recovery.scope]\nopens_by_itself = true\n[recovery.plan]\noutside = ['retry_exponential']\n",
        page={"when": "true", "action": NOTIFY}, undo={"when": "false", "action": "rollback"},
    )  # fmt: skip
    (match,) = stage.outside()
    stage.settle(executing=False)
    assert stage.candidate(match)["action_name"] == NOTIFY
    scope = stage.row("select * from recovery.scope")
    assert scope["allowed_actions"] == [RETRY, NOTIFY]


# Facts ----------------------------------------------------------------------------------------------------------------


def test_every_fact_is_what_its_row_says(stage: Stage) -> None:
    """The same for a rule and for a test of rules: of a time, with what was tried until then."""
    here = source()
    matches = stage.outside(
        3, source=here, message="no answer", code="E1", context={"vendor": "x", "deep": {"n": 1.5}},
        category="STRUCTURAL", signature="sig",
    )  # fmt: skip
    stage.advance(minutes=5)
    row = stage.match(matches[1])
    at = row["created_at"] + timedelta(seconds=90)
    with stage.db.transaction(Authority.READER) as tx:
        (facts,) = read_facts(tx, [Moment(matches[1], at, ())])
    assert facts == {
        "kind": "outside", "source": here, "subject": "1", "signature": "sig", "category": "STRUCTURAL", "code": "E1",
        "message": "no answer", "context": {"vendor": "x", "deep": {"n": 1.5}}, "attempts": 0, "tried": {},
        "incident_size": 3, "age_s": 90, "hour": facts["hour"], "weekday": facts["weekday"],
    }  # fmt: skip
    assert set(facts) == set(FACTS)
    (utc,) = stage.rows("select extract(hour from %s at time zone 'UTC')::int as hour,"
                        " extract(isodow from %s at time zone 'UTC')::int as weekday", at, at)  # fmt: skip
    assert (facts["hour"], facts["weekday"]) == (utc["hour"], utc["weekday"])


def test_what_was_tried_is_a_fact(stage: Stage) -> None:
    """Executed candidates count, by action."""
    here = source()
    ruled(stage, again={"when": f"source == '{here}' && attempts == 1 && tried['{RETRY}'] == 1", "action": MANUAL})
    (match,) = stage.outside(source=here)
    stage.settle()
    stage.scope(match)
    stage.settle(executing=False)
    made = stage.candidate(match)["candidate_id"]
    stage.approve(made)
    claimed = [one for one in stage.claim() if one.candidate_id == made]
    with stage.db.transaction(Authority.EVALUATOR) as tx:
        executing.finish(tx, [(one, executing.Outcome(False, "no")) for one in claimed])
    stage.settle()
    assert stage.told(match) == [(RETRY, "failed", "no"), (MANUAL, "pending", None)]
    assert evaluations(stage, match)[-1]["facts"]["tried"] == {RETRY: 1}


@pytest.mark.parametrize(
    ("context", "is_given"),
    [
        (None, True),
        ({"a": "x" * (MAX_CONTEXT - 100)}, True),
        ({"a": "x" * MAX_CONTEXT}, False),
        ({"n": 10**25, "m": -(10**19), "f": 1e300}, True),
        ({"l": [[[[1]]]]}, True),
        ([1, 2], False),
    ],
)
def test_a_context_of_any_size_and_shape_is_a_fact_or_is_not_given(stage: Stage, context: Any, is_given: bool) -> None:
    """A rule that needs one that is not given fails; the others count."""
    here = source()
    ruled(
        stage,
        **{f"r{here}": {"when": f"source == '{here}' && context == context", "action": MANUAL},
           f"s{here}": {"when": f"source == '{here}'", "action": NOTIFY, "weight": 0.1}},
    )  # fmt: skip
    (match,) = stage.outside(source=here, context=context, message="m" * 20_000)
    stage.settle()
    assert stage.told(match) == [(MANUAL if is_given else NOTIFY, "pending", None)]
    (row,) = evaluations(stage, match)
    assert row["errors"] == (None if is_given else {f"r{here}": "context is not given"})


def test_a_deep_context_stops_no_evaluation(stage: Stage) -> None:
    deep: Any = 1
    for _ in range(400):
        deep = {"a": deep}
    here = source()
    (match,) = stage.outside(source=here, context=deep)
    stage.settle()
    assert stage.match(match)["status"] == "evaluated"


def test_rules_see_what_is_stored_without_secrets(stage: Stage) -> None:
    here = source()
    secret = "hunter2hunter2"
    (match,) = stage.outside(source=here, message=f"login failed: password={secret}", context={"password": secret})
    with stage.db.transaction(Authority.READER) as tx:
        assert secret not in json.dumps(read_facts(tx, [Moment(match, stage.match(match)["created_at"], ())]))


def test_slow_rules_do_not_outlast_the_lease_of_a_batch(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn evaluates what it has time for; the others are due again at once, and none has failed by waiting."""
    here = source()
    ruled(stage, page={"when": f"source == '{here}'", "action": MANUAL})
    stage.settle()
    matches = stage.outside(5, source=here)
    monkeypatch.setattr(rules, "LEASE_SHARE", 0.0)  # one failure uses the time up
    assert stage.evaluate() == 5 + 4 + 3 + 2 + 1
    assert [stage.told(match) for match in matches] == [[(MANUAL, "pending", None)]] * 5
    rows = [stage.match(match) for match in matches]
    assert sorted(row["evaluation_no"] for row in rows) == [1, 2, 3, 4, 5]
    assert {(row["status"], row["evaluation_failures"]) for row in rows} == {("evaluated", 0)}
    assert [len(evaluations(stage, match)) for match in matches] == [1] * 5  # what waited is not recorded
    stage.whole()


def test_a_test_of_rules_that_are_slow_ends_early(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says so: nobody waits for an hour to hear that a condition takes five seconds."""
    here = source()
    stage.outside(4, source=here, context={"l": [1] * 2_000})
    monkeypatch.setattr(expressions, "MAX_S", 0.05)
    monkeypatch.setattr(rule_testing, "MAX_S", 0.05)
    monkeypatch.setattr(rule_testing, "MAX_SLOW_S", 0.06)
    slow = "context.l.exists(x, context.l + context.l == [1])"
    found = replayed(stage.db, rule_testing.given(None, when=slow, action=MANUAL), source=here)
    assert (found.is_complete, found.evaluations) == (False, 1)
    (result,) = (one for one in found.rules if one.rule_name == rule_testing.BY_HAND)
    assert "and the maximum is" in str(result.error)
    assert replayed(stage.db, rule_testing.given(None, when="true", action=MANUAL), source=here).is_complete


# Checked where the policy is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"when": "true", "action": "nofity_ops"}, "actions of recovery.actions: retry_exponential,"),
        ({"when": "true", "action": NOTIFY, "weight": 1.5}, "a number from 0 to 1"),
        ({"when": "true", "action": NOTIFY, "parameters": {"route": 1}}, "a text: every notify needs it"),
        (
            {"when": "true", "action": RETRY, "parameters": {"api_key": "k-hunter2hunter2"}},
            "the place of a secret, such as the name of an environment variable",
        ),
        ({"when": "true", "action": NOTIFY, "wheight": 1}, "did you mean recovery.rules.one.weight"),
        ({"when": "true"}, "a name in lower case"),
    ],
)
def test_a_wrong_rule_is_refused_when_the_policy_is_checked(stage: Stage, rule: dict[str, Any], said: str) -> None:
    before = stage.whole_policy().figures
    with pytest.raises(InputRefused, match=r"recovery\.rules\.one") as refused:
        ruled(stage, one=rule)
    assert said in refused.value.next_step
    assert "hunter2" not in f"{refused.value.happened} {refused.value.next_step}"
    assert stage.whole_policy().figures == before


def test_parameters_name_the_place_of_a_secret(stage: Stage) -> None:
    given = {"api_key_env": "VENDOR_KEY", "token_file": "/run/secrets/vendor", "max_tokens": 5}
    ruled(stage, one={"when": "false", "action": RETRY, "parameters": given})
    assert stage.policy.rules["one"].parameters == given
    # One that was stored by a release before is read all the same: workers go on.
    stored = stage.policy.model_dump()
    stored["rules"]["one"]["parameters"] = {"api_key": "k-hunter2hunter2"}
    assert RecoveryPolicy.model_validate(stored).rules["one"].parameters["api_key"] == "k-hunter2hunter2"


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("kid == 'x'", "character 1 (kid == 'x'): there is no fact or function kid; facts are kind, source,"),
        ("attempts > '1'", "> cannot be applied to (int, string)"),
        ("source", "its type is string: compare it with something"),
        ("source ==", "it cannot be read from here on"),
    ],
)
def test_a_wrong_condition_is_refused_with_what_is_wrong_first(stage: Stage, when: str, said: str) -> None:
    before = stage.whole_policy().figures
    with pytest.raises(InputRefused) as refused:
        ruled(stage, one={"when": when, "action": NOTIFY})
    assert refused.value.happened.startswith(f"recovery.rules.one.when: {when!r} cannot be used: ")
    assert said in refused.value.happened
    assert "a condition in CEL that is true or false" in refused.value.next_step
    assert stage.whole_policy().figures == before


def test_a_policy_with_rules_is_read_without_the_engine_and_not_evaluated(
    new_stage: NewStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is claimed, so that a worker that has the engine evaluates it."""
    stage = new_stage()
    ruled(stage, one={"when": "true", "action": NOTIFY})
    (match,) = stage.outside()
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    expressions._cel.cache_clear()
    try:
        assert list(stage.policy.rules) == ["one"]
        with pytest.raises(InputRefused, match="is not installed"):
            stage.evaluate()
        with pytest.raises(InputRefused, match="is not installed"):
            ruled(stage, one={"when": "true", "action": NOTIFY}, two={"when": "false", "action": NOTIFY})
    finally:
        expressions._cel.cache_clear()
        monkeypatch.undo()
    assert stage.match(match)["evaluation_failures"] == 0
    assert stage.evaluate() > 0


def test_a_worker_evaluates_the_rules_of_the_version_that_it_records(stage: Stage) -> None:
    """Also one that has not read the new policy yet."""
    here = source()
    ruled(stage, old={"when": f"source == '{here}'", "action": NOTIFY})
    worker = Actors(stage, Authority.EVALUATOR)
    before = worker.policy
    ruled(stage, new={"when": f"source == '{here}'", "action": MANUAL})
    (match,) = stage.outside(source=here)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Actors, "policy", property(lambda _: before))
        evaluation.evaluate_due(worker)
    (row,) = evaluations(stage, match)
    (rule,) = stage.rows("select * from recovery.rule where policy_version = %s", row["policy_version"])
    assert (row["fired"], row["recommended_action"]) == ([rule["rule_name"]], MANUAL)


def test_the_rules_of_every_version_are_a_view(stage: Stage) -> None:
    name = f"v{uuid.uuid4().hex[:8]}"
    ruled(stage, **{name: {"when": "attempts > 9", "action": NOTIFY, "weight": 0.25, "description": "why"}})
    ruled(stage, **{name: {"when": "attempts > 8", "action": NOTIFY, "weight": 0.25}})
    found = stage.rows("select * from recovery.rule where rule_name = %s order by policy_version", name)
    assert [(r["condition"], r["recommended_action"], r["weight"], r["description"]) for r in found] == [
        ("attempts > 9", NOTIFY, 0.25, "why"), ("attempts > 8", NOTIFY, 0.25, ""),
    ]  # fmt: skip


# Who may write --------------------------------------------------------------------------------------------------------

OTHERS = (
    "insert into recovery.failure_match (source, idempotency_key) values ('s', 'k')",
    "update recovery.failure_match set status = 'recovered'",
    "insert into recovery.candidate (failure_match_id) values (gen_random_uuid())",
    "update recovery.candidate set confidence = 1",
    "update recovery.evaluation set weight = 1",
    "delete from recovery.evaluation",
    "insert into recovery.scope (reason) values ('mine')",
    "insert into recovery.provenance (event_type) values ('rule_evaluated')",
    "insert into recoup.policy (version) values (99)",
    "update recovery.task set status = 'done'",
)


@pytest.mark.parametrize("statement", OTHERS)
def test_the_rule_engine_writes_evaluations_and_nothing_else(stage: Stage, statement: str) -> None:
    (match,) = stage.outside()
    with pytest.raises((psycopg.Error, Refusal)), stage.db.transaction(Authority.RULE_ENGINE) as tx:
        tx.execute(statement.encode())
    with stage.db.transaction(Authority.RULE_ENGINE) as tx:
        done = tx.execute(
            "insert into recovery.evaluation (failure_match_id, evaluation_no, rules, fired, weight, facts, errors,"
            " policy_version, evaluated_at) select %s, 1, 'rules', '{}', 0, '{}', '{\"a\": \"b\"}',"
            " recoup.policy_version(), recoup.now()",
            (match,),
        )
        assert done.rowcount == 1
        tx.rollback()  # nobody ends this evaluation


# Tried on recorded failures -------------------------------------------------------------------------------------------


def replayed(db: Database, *args: Any, **more: Any) -> rule_testing.Replay:
    with db.transaction(Authority.READER) as tx:
        return rule_testing.replay(tx, *args, **more)


def test_rules_are_tested_on_recorded_failures(stage: Stage) -> None:
    """What would be recommended, by rule, and what changes; and nothing is written."""
    here = source()
    stage.outside(3, source=here, message="503 from vendor", signature="a")
    stage.outside(2, source=here + "x", message="bad input")
    stage.settle()
    stage.advance(hours=2)
    counts = "select (select count(*) from recovery.evaluation) e, (select count(*) from recovery.provenance) p"
    before = stage.rows(counts)
    wanted = rule_testing.given(
        f"[recovery.rules.t1]\nwhen = \"message.startsWith('503')\"\naction = '{NOTIFY}'\n"
        f"[recovery.rules.t2]\nwhen = 'context.vendor == 1'\naction = '{MANUAL}'\n"
    )
    found = replayed(stage.db, wanted, source=here)
    assert (found.failures, found.evaluations, found.changed) == (3, 3, 3)
    assert found.recommended == {NOTIFY: 3}
    results = {one.rule_name: one for one in found.rules}
    assert (results["t1"].fired, results["t1"].decided, results["t1"].failed) == (3, 3, 0)
    assert (results["t2"].fired, results["t2"].failed, results["t2"].error) == (0, 3, 'there is no key "vendor"')
    (change,) = found.changes
    assert (change.now, change.then, change.evaluations, len(change.examples)) == (RETRY, NOTIFY, 3, 3)
    assert replayed(stage.db, wanted, source=here + "x").changed == 0
    assert replayed(stage.db, wanted, source=here, limit=1).failures == 1
    assert replayed(stage.db, wanted, source=here, since=timedelta(hours=1)).evaluations == 0
    assert stage.rows(counts) == before


def test_each_recorded_evaluation_is_repeated_on_the_facts_of_its_time(stage: Stage) -> None:
    here = source()
    (match,) = stage.outside(source=here)
    stage.settle()
    stage.reject(stage.candidate(match)["candidate_id"])
    stage.settle()
    assert len(evaluations(stage, match)) == 2
    found = replayed(stage.db, rule_testing.given(None, when="incident_size == 1", action=RETRY), source=here)
    # The first evaluation: the rule says what the plan said. The second: that action was rejected by then.
    assert (found.failures, found.evaluations, found.changed) == (1, 2, 0)
    assert found.recommended == {RETRY: 1, NOTIFY: 1}
    stage.advance(days=3)
    aged = replayed(stage.db, rule_testing.given(None, when="age_s > 3600", action=MANUAL), source=here)
    assert aged.changed == 0


def test_what_is_to_be_tested_is_checked(stage: Stage) -> None:
    with pytest.raises(InputRefused, match="no section recovery"):
        replayed(stage.db, rule_testing.given("[recovry.rules.x]\nwhen = 'true'\n"))
    with pytest.raises(InputRefused, match=r"rules\.given\.when"):
        replayed(stage.db, rule_testing.given(None, when="kid", action=NOTIFY))
    with pytest.raises(InputRefused, match="one rule with its condition"):
        rule_testing.given(None, when="true")


def test_rules_are_listed_with_how_often_they_were_true(stage: Stage) -> None:
    name = f"l{uuid.uuid4().hex[:8]}"
    here = source()
    ruled(stage, **{name: {"when": f"source == '{here}'", "action": NOTIFY, "weight": 0.3}})
    stage.outside(2, source=here)
    stage.settle()
    with stage.db.transaction(Authority.READER) as tx:
        listed = rule_testing.rule(tx, name)
        with pytest.raises(InputRefused, match="has no rule 'nope'"):
            rule_testing.rule(tx, "nope")
    assert (listed.fired, listed.failed, listed.action, listed.weight) == (2, 0, NOTIFY, 0.3)
