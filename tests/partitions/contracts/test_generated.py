"""A generated table that keeps a generated contract is accepted; one seeded violation is found by its rule alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partitions.contracts.tables import FORMATS, judged

WORDS = ["red", "green", "blue"]
NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=8).map(str.lower),
    min_size=1, max_size=4, unique_by=str.lower,
)  # fmt: skip


class Kind(NamedTuple):
    """A kind of column: its declaration, good values, and how each of its rules is broken."""

    declared: dict[str, Any]
    good: Callable[[int], Any]  # of a row's number; all different
    breaks: dict[str, Any]


KINDS = [
    Kind({"type": "integer", "min": 0, "max": 1000}, lambda n: n, {"min": -1, "max": 1001, "nullable": None}),
    Kind({"type": "number", "min": 0.5}, lambda n: n + 0.5, {"min": 0.25, "nullable": None}),
    Kind(
        {"type": "string", "pattern": "k[0-9]+", "max_length": 9},
        lambda n: f"k{n}",
        {"pattern": "K1", "nullable": None},
    ),
    Kind({"type": "string", "max_length": 5}, lambda n: f"é{n}", {"max_length": "éééééé", "nullable": None}),
    Kind({"type": "string", "allowed": WORDS}, lambda n: WORDS[n % 3], {"allowed": "Red", "nullable": None}),
    Kind({"type": "boolean", "nullable": True}, lambda n: None if n % 3 else True, {}),
]


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]], str | None, Any, list[int], str]:
    names = draw(NAMES)
    kinds = [draw(st.sampled_from(KINDS)) for _ in names]
    count = draw(st.integers(1, 40))
    rows = [{name: kind.good(n) for name, kind in zip(names, kinds, strict=True)} for n in range(count)]
    unique = [[name] for name, kind in zip(names, kinds, strict=True) if kind is KINDS[0] or kind is KINDS[1]]
    contract = {
        "columns": {name: kind.declared for name, kind in zip(names, kinds, strict=True)},
        "unique": unique,
        "rows": {"min": 1, "max": 40},
    }
    breakable = [(name, rule) for name, kind in zip(names, kinds, strict=True) for rule in kind.breaks]
    format = draw(st.sampled_from(FORMATS))
    if not breakable:
        return contract, rows, None, None, [], format
    name, rule = draw(st.sampled_from(breakable))
    value = kinds[names.index(name)].breaks[rule]
    # Of a unique column one row alone is changed: two would be equal.
    most = 1 if [name] in unique and value is not None else count
    where = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=most, unique=True))
    return contract, rows, f"columns.{name}.{rule}", (name, value), where, format


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_one_violation_is_found_by_its_rule_alone(case: Any) -> None:
    contract, rows, rule, change, where, format = case
    with tempfile.TemporaryDirectory() as folder:
        assert judged(Path(folder), format, contract, rows).accepted
        if rule is None:
            return
        name, value = change
        changed = [{**row, name: value} if n in where else row for n, row in enumerate(rows)]
        verdict = judged(Path(folder), format, contract, changed)
        found = [(one.rule, one.count) for one in verdict.findings]
        assert found == [(rule, len(where))]
        assert (verdict.rule, verdict.reason) == (rule, "CONTRACT_BROKEN")
        assert len(verdict.findings[0].sample) == min(5, len(where))
