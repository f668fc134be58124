"""Conditions as text: what is refused when they are checked, what an evaluation can do, and what it cannot."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from recoup import expressions
from recoup.expressions import MAX_CHARACTERS, MAX_ERROR, TOGETHER, Language
from recoup.refusals import InputRefused

LANGUAGE = Language(
    {"kind": "string", "n": "int", "context": "map<string, dyn>"}, {"kind": "", "n": 0, "context": {}}
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kid == 'x'", "character 1 (kid == 'x'): there is no fact or function kid; facts are kind, n, context"),
        ("n == 1 &&\n kin == 'a'", "line 2, character 2 (kin == 'a'): there is no fact or function kin; facts are"),
        ("n == 'x'", "character 3 (== 'x'): == cannot be applied to (int, string)"),
        ("n = 1", "character 3 (= 1): compare with =="),
        ("n ==", "character 5 (its end): it cannot be read from here on"),
        ("n == 1)] + [(true", "character 7 ()] + [(true): it cannot be read from here on"),
        ("n", "its type is int: compare it with something"),
        ("context.flag", "its type is dyn: compare it with something"),
        ("kind.matches('(')", "invalid regular expression: missing )"),
        ("(" * 50 + "n == 1" + ")" * 50, "it is nested too deeply: split it"),
        ("n == 1 || " * 1000 + "true", f"it has 10,004 characters, and the maximum is {MAX_CHARACTERS:,}"),
        ("__import__('os').system('x') == 1", "there is no fact or function __import__"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(text: str, problem: str) -> None:
    assert problem in str(LANGUAGE.problem(text))


def test_conditions_are_true_or_false_or_fail() -> None:
    """An error is neither true nor false; the others count, also those that were evaluated in the same call."""
    found = LANGUAGE.conditions(
        {
            "yes": "n == 1", "no": "n == 2", "absent": "context.vendor == 'x'", "asked": "has(context.vendor)",
            "mixed": "context.text > 3", "divided": "1 / (n - 1) == 1", "comment": "n == 1 // as it came",
            "absorbed": "n == 2 && context.vendor == 'x'", "broken": "kid == 1",
        }
    ).evaluate({"n": 1, "kind": "run", "context": {"text": "a"}})  # fmt: skip
    assert found.true == ("yes", "comment")
    assert found.errors == {
        "absent": 'there is no key "vendor"',
        "mixed": "No matching overloads found : _>_(string, int64)",
        "divided": "divide by zero",
        "broken": "it is not valid: character 1 (kid == 1): there is no fact or function kid;"
        " facts are kind, n, context",
    }


def test_a_fact_that_is_not_given_is_an_error_of_those_that_need_it() -> None:
    found = LANGUAGE.conditions({"a": "n == 1", "b": "has(context.x)"}).evaluate({"n": 1, "kind": ""})
    assert (found.true, found.errors) == (("a",), {"b": "context is not given"})


@pytest.mark.parametrize("count", [1, TOGETHER, TOGETHER + 1, 3 * TOGETHER - 1])
def test_conditions_in_groups_say_what_each_says_alone(count: int) -> None:
    texts = {f"r{i}": f"n % {i + 2} == 0" for i in range(count)}
    alone = [name for name, text in texts.items() if LANGUAGE.conditions({name: text}).evaluate({"n": 12}).true]
    assert list(LANGUAGE.conditions(texts).evaluate({"n": 12}).true) == alone


def test_conditions_that_are_too_deep_together_are_evaluated_alone() -> None:
    deep = "(" * 14 + "n == 1" + ")" * 14
    assert LANGUAGE.problem(deep) is None
    assert LANGUAGE.conditions({"a": deep, "b": deep}).evaluate({"n": 1}).true == ("a", "b")


def deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


@pytest.mark.parametrize(
    ("text", "context", "error"),
    [
        ("context.l.all(i, context.l.all(j, i + j >= 0))", {"l": list(range(9_000))}, "Iteration budget exceeded"),
        ("context.t.matches('(a+)+$')", {"t": "a" * 100_000 + "b"}, None),
        ("context.t.matches(context.p)", {"t": "a", "p": "(" * 5_000}, "invalid regular expression"),
        ("context.t.matches(context.p)", {"t": "a", "p": "((a{100}){100}){100}"}, "invalid regular expression"),
        ("context == context", deep(900), None),
        ("context.t.contains('x')", {"t": "\x1b[2J" + "é😀" * 100_000}, None),
        ("context.n > 1", {"n": float("nan")}, None),
    ],
)
def test_hostile_facts_are_bounded(text: str, context: dict[str, Any], error: str | None) -> None:
    """They end soon, with an answer or with an error of that condition; and the others are evaluated."""
    began = time.perf_counter()
    found = LANGUAGE.conditions({"a": text, "b": "n == 1"}).evaluate({"n": 1, "kind": "", "context": context})
    assert time.perf_counter() - began < 5
    assert "b" in found.true
    if error is None:
        assert found.errors == {}
    else:
        assert error in found.errors["a"]
        assert len(found.errors["a"]) <= MAX_ERROR


COPIES = "context.l.exists(x, context.l + context.l == [1])"  # each turn of the loop copies what it reads


def test_a_condition_that_takes_too_long_is_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the one that is slow: those of its group, and it itself for small facts, are evaluated as before."""
    monkeypatch.setattr(expressions, "MAX_S", 0.02)
    conditions = LANGUAGE.conditions({"before": "n == 1", "slow": COPIES, "after": "n < 2"})
    small, large = {"n": 1, "kind": "", "context": {"l": [1, 2]}}, {"n": 1, "kind": "", "context": {"l": [1] * 1_500}}
    assert conditions.evaluate(small) == (("before", "after"), {})
    for _ in range(2):
        found = conditions.evaluate(large)
        assert found.true == ("before", "after")
        assert found.errors["slow"].endswith(" s, and the maximum is 0.02 s")
    assert conditions.evaluate(small) == (("before", "after"), {})


def test_slow_conditions_leave_no_time_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: the time for one set of facts has an end."""
    monkeypatch.setattr(expressions, "MAX_S", 0.02)
    monkeypatch.setattr(expressions, "MAX_ALL_S", 0.04)
    conditions = LANGUAGE.conditions({f"slow_{i}": COPIES for i in range(8)})
    facts = {"n": 1, "kind": "", "context": {"l": [1] * 1_500}}
    conditions.evaluate(facts)  # from now on it is known that they are slow
    began = time.thread_time()
    found = conditions.evaluate(facts)
    one_s = float(found.errors["slow_0"].split()[2])
    assert time.thread_time() - began < 4 * max(one_s, 0.04)
    assert found.errors["slow_7"].startswith("it was not evaluated")
    assert len(found.errors) == 8


def test_without_the_engine_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    expressions._cel.cache_clear()
    try:
        with pytest.raises(InputRefused, match="is not installed") as refused:
            Language({"n": "int"}, {"n": 0}).problem("n == 1")
    finally:
        expressions._cel.cache_clear()
    assert refused.value.next_step == "Install it: pip install 'recoup[rules]'"
