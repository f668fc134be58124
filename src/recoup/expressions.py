"""Conditions that people write as text: checked against declared facts before they are used, evaluated in bounds.

The language is CEL, the Common Expression Language; the engine is Google's. All that depends on either is here: another
engine, or another language, is another version of this module. What is promised:

- a text that does not parse, names an unknown fact, mixes types, or is not a condition is refused when it is checked;
- an evaluation changes nothing, calls nothing, and ends: loops have a budget, and regular expressions are linear (RE2);
- a condition that takes longer than its time is no decision, and the rest wait no longer than theirs: the engine cannot
  be interrupted, so the one that takes long is known afterwards, and is evaluated alone from then on;
- an evaluation that fails is no decision. It is neither true nor false: its error is returned next to those.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeAlias

from recoup.refusals import InputRefused

Env: TypeAlias = Any  # of the engine, which has no types
Expression: TypeAlias = Any
MAX_CHARACTERS = 2_000  # of a condition
MAX_NEAR = 20  # characters that show where an error is
MAX_ERROR = 200  # characters of an error
TOGETHER = 10  # conditions that are evaluated in one call of the engine
MAX_S = 1.0  # processor time of a condition
MAX_ALL_S = 5.0  # and of all conditions for one set of facts: after that no further one begins
WHERE = re.compile(r"ERROR: <input>:(?P<line>-?\d+):(?P<column>-?\d+): (?P<what>.*)")
UNKNOWN_NAME = re.compile(r"undeclared reference to '(?P<name>[^']*)'")
NO_OVERLOAD = re.compile(r"found no matching overload for '(?P<name>[^']*)' applied to '(?P<types>.*)'")
BAD_PATTERN = "invalid regular expression"
STATUS = re.compile(r"^[A-Z_]+: ")
NOT_GIVEN = re.compile(r'No value with name "(?P<name>\w+)" found')
NEW_LINE = "\n"
NO_TIME = f"it was not evaluated: the conditions before it took {MAX_ALL_S:g} s"


class Problem(NamedTuple):
    """What is wrong with a text, and where."""

    what: str
    column: int | None = None  # from 1
    line: int = 1
    near: str = ""  # the text from there on

    def __str__(self) -> str:
        if self.column is None:
            return self.what
        line = f"line {self.line}, " if self.line > 1 else ""
        at = f" ({self.near})" if self.near else " (its end)"
        return f"{line}character {self.column}{at}: {self.what}"


class Verdict(NamedTuple):
    """What conditions say of some facts: the names of those that are true, and the errors of those that failed."""

    true: tuple[str, ...]
    errors: Mapping[str, str]


class Language:
    """Conditions over declared facts. ``facts``: the type of each by its name, as CEL writes it, such as ``string``."""

    def __init__(self, facts: Mapping[str, str], blank: Mapping[str, Any]) -> None:
        self.facts = facts
        self._blank = blank  # a value for each fact, to try a condition with

    def problem(self, text: str) -> Problem | None:
        """Why a text is no condition over these facts; None: it is one."""
        if len(text) > MAX_CHARACTERS:
            return Problem(f"it has {len(text):,} characters, and the maximum is {MAX_CHARACTERS:,}")
        try:
            compiled = self._env.compile(text)
        except RuntimeError as error:
            return self._problem(str(error), text)
        kind = compiled.return_type()
        if kind != _cel().Type.BOOL:
            return Problem(f"its type is {kind.name().lower()}: compare it with something")
        # The engine reads a pattern when it first meets it. Other errors depend on the facts.
        tried = _value(compiled, self._env.Activation(dict(self._blank)))
        return Problem(tried) if BAD_PATTERN in str(tried) else None

    def require_engine(self) -> None:
        """Raise a refusal where the engine is not installed."""
        _cel()

    def conditions(self, texts: Mapping[str, str]) -> Conditions:
        """Conditions by their names, ready to be evaluated. One that is not valid fails in every evaluation."""
        return Conditions(self, self._env, texts)

    @cached_property
    def _env(self) -> Env:
        module = _cel()
        return module.NewEnv(variables={name: module.Type(kind) for name, kind in self.facts.items()})

    def _problem(self, said: str, text: str) -> Problem:
        found = WHERE.search(said)
        if found is None or int(found["column"]) < 1:
            return Problem(
                "it is nested too deeply: split it" if "recursion" in said else said.split("\n")[0][:MAX_ERROR]
            )
        what = found["what"]
        if unknown := UNKNOWN_NAME.search(what):
            what = f"there is no fact or function {unknown['name']}; facts are {', '.join(self.facts)}"
        elif overload := NO_OVERLOAD.search(what):
            what = f"{overload['name'].strip('_')} cannot be applied to {overload['types']}"
        elif what.startswith("Syntax error: "):
            what = (
                "it cannot be read from here on (" + what.removeprefix("Syntax error: ").split(" expecting ")[0] + ")"
            )
        line, column = int(found["line"]), int(found["column"])
        near = text.split("\n")[line - 1][column - 1 :][:MAX_NEAR] if line <= text.count("\n") + 1 else ""
        if near.startswith("=") and not near.startswith("=="):
            what = "compare with =="
        return Problem(what[:MAX_CHARACTERS], column, line, near)


class Conditions:
    """Conditions that were compiled once, to be evaluated for many sets of facts.

    A call of the engine costs more than a condition, so several are evaluated in one. If one of them fails, that call
    has no result, and each of them is evaluated alone.
    """

    def __init__(self, language: Language, env: Env, texts: Mapping[str, str]) -> None:
        self._env = env
        self._invalid: dict[str, str] = {}
        single: list[tuple[str, Expression]] = []
        for name, text in texts.items():
            problem = language.problem(text)
            if problem is None:
                single.append((name, env.compile(text)))
            else:
                self._invalid[name] = f"it is not valid: {problem}"[:MAX_ERROR]
        groups = [single[start : start + TOGETHER] for start in range(0, len(single), TOGETHER)]
        self._groups = [(_together(env, [texts[name] for name, _ in group]), group) for group in groups]
        self._slow: set[int] = set()  # groups that took too long together

    def evaluate(self, facts: Mapping[str, Any]) -> Verdict:
        """Which conditions are true. A fact that is not given is an error of the conditions that need it."""
        activation = self._env.Activation(dict(facts))
        true: list[str] = []
        errors = dict(self._invalid)
        left_s = MAX_ALL_S
        for number, (together, group) in enumerate(self._groups):
            values = self._together(number, together, activation)
            if isinstance(values, list) and len(values) == len(group):
                true += (name for (name, _), value in zip(group, values, strict=True) if value is True)
                continue
            for name, one in group:
                value, spent_s = _timed(one, activation) if left_s > 0 else (NO_TIME, 0.0)
                left_s -= spent_s
                if spent_s > MAX_S:
                    errors[name] = f"it took {spent_s:.1f} s, and the maximum is {MAX_S:g} s"
                elif value is True:
                    true.append(name)
                elif value is not False:
                    errors[name] = str(value)[:MAX_ERROR]
        return Verdict(tuple(true), errors)

    def _together(self, number: int, together: Expression | None, activation: Any) -> Any:
        """The values of a group; anything but a list of them: each has to be evaluated alone."""
        if together is None or number in self._slow:
            return None
        values, spent_s = _timed(together, activation)
        if spent_s <= MAX_S:
            return values
        self._slow.add(number)  # one of them is to blame: which one is seen when each is alone
        return None


def _together(env: Env, texts: Sequence[str]) -> Expression | None:
    """Several conditions as one list; None: the engine does not take them together, as they are nested deeply."""
    try:
        return env.compile(f"[{', '.join(f'({text}{NEW_LINE})' for text in texts)}]")  # they may end with a comment
    except RuntimeError:
        return None


def _timed(one: Expression, activation: Any) -> tuple[Any, float]:
    """The value of an expression, and the processor time that it took: what else runs here is not its fault."""
    began = time.thread_time()
    value = _value(one, activation)
    return value, time.thread_time() - began


def _value(one: Expression, activation: Any) -> Any:
    """The value of an expression; if it fails, the error in words."""
    try:
        result = one.eval(activation)
    except RuntimeError as error:  # the budget is used up, or a fact cannot be converted
        return _in_words(str(error))
    # An error is a value too, and would be true where a program asks whether there is one.
    return _in_words(str(result.value())) if result.type() == _cel().Type.ERROR else result.plain_value()


def _in_words(said: str) -> str:
    said = STATUS.sub("", said.split("\n")[0]).removesuffix(" [INTERNAL]")
    if not_given := NOT_GIVEN.search(said):
        return f"{not_given['name']} is not given"
    return said.replace("Key not found in map : ", "there is no key ")


@cache
def _cel() -> Any:
    """The engine: an extra, and imported by those who have conditions."""
    try:
        from cel_expr_python import cel  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputRefused(
            "rules_extra_missing",
            f"The policy has rules, and the package that evaluates them is not installed ({error.name}).",
            "Install it: pip install 'recoup[rules]'",
        ) from error
    return cel
