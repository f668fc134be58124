"""What a contract may say, and what it is refused with."""

from __future__ import annotations

import tomllib
from typing import Annotated, Any, ClassVar, cast

import pytest
from pydantic import Field

from recoup.partitions.contracts import CONTRACT_VERSION, Contract, declared, digest
from recoup.policy.document import completed, read
from recoup.policy.section import Part
from recoup.refusals import InputRefused

DOCUMENT = """
extra_columns = true
unique = [["id"], ["day", "id"]]
rows = { min = 10, max = 1000000, within = 0.5 }
freshness = { column = "sold_at", in_window = true, max_age_hours = 6 }
[columns]
id = { type = "integer", min = 1 }
day = { type = "date", min = 2026-01-01, max = 2026-12-31 }
sold_at = { type = "timestamp", min = 2026-01-01T00:00:00Z }
price = { type = "decimal", min = "0.01", max = 1000 }
"net $" = { type = "number", nullable = true, max = 1e6 }
kind = { type = "string", allowed = ["sale", "refund"], pattern = "[a-z]+", max_length = 10 }
[checks]
refunds = { every_row = "kind <> 'refund' or price < 100", description = "refunds are below 100" }
hours = { no_rows = "select extract(hour from sold_at) as h from data where sold_at < $window_start" }
"""


def wrong(**values: Any) -> dict[str, Any]:
    return {"columns": {"x": {"type": "integer"}}} | values


def of_x(**values: Any) -> dict[str, Any]:
    return {"columns": {"x": values}}


@pytest.mark.parametrize(
    ("values", "key", "allowed"),
    [
        ({}, "columns", "at least one column"),
        (of_x(), "columns.x.type", "given"),
        (of_x(type="int"), "columns.x.type", "'integer'"),
        (of_x(type="integer", length=3), "columns.x.length", "no such key"),
        (of_x(type="integer", min="a"), "columns.x.min", "a whole number"),
        (of_x(type="integer", min=True), "columns.x.min", "a whole number"),
        (of_x(type="number", max=float("inf")), "columns.x.max", "a number"),
        (of_x(type="decimal", max="NaN"), "columns.x.max", "a number"),
        (of_x(type="decimal", max="x"), "columns.x.max", "a number"),
        (of_x(type="string", min="a"), "columns.x.min", "nothing"),
        (of_x(type="date", min="2026-02-30"), "columns.x.min", "a date"),
        (of_x(type="timestamp", min="2026-01-01T00:00:00"), "columns.x.min", "offset"),
        (of_x(type="local_timestamp", min="2026-01-01T00:00:00Z"), "columns.x.min", "without an offset"),
        (of_x(type="integer", min=2, max=1), "columns.x.min", "at most max"),
        (of_x(type="integer", pattern="a"), "columns.x.pattern", "nothing"),
        (of_x(type="string", pattern="(a"), "columns.x.pattern", "regular expression"),
        (of_x(type="string", pattern="(?=a)"), "columns.x.pattern", "regular expression"),
        (of_x(type="string", allowed=[1]), "columns.x.allowed", "texts"),
        (of_x(type="number", allowed=[1.5]), "columns.x.allowed", "texts"),
        (of_x(type="string", allowed=[]), "columns.x.allowed", "at least 1"),
        (of_x(type="string", max_length=-1), "columns.x.max_length", "0"),
        ({"columns": {"x": {"type": "json"}, "X": {"type": "json"}}}, "columns.X", "more than case"),
        ({"columns": {"a\x00": {"type": "json"}}}, "columns.a", "match"),
        ({"columns": {"": {"type": "json"}}}, "columns", "at least 1"),
        (wrong(unique=[["y"]]), "unique[0]", "one of x"),
        (wrong(unique=[["x", "x"]]), "unique[0]", "each column once"),
        (wrong(rows={"min": 3, "max": 2}), "rows.min", "at most max"),
        (wrong(rows={"within": -0.1}), "rows.within", "0"),
        (wrong(freshness={"in_window": True}), "freshness.column", "the column"),
        (wrong(freshness={"column": "x"}), "freshness.in_window", "true"),
        (wrong(freshness={"column": "x", "in_window": True}), "freshness.column", "timestamps"),
        (wrong(checks={"a": {}}), "checks.a.every_row", "an expression here"),
        (wrong(checks={"a": {"every_row": "x", "no_rows": "select 1"}}), "checks.a.every_row", "an expression here"),
        (wrong(checks={"A b": {"every_row": "x > 1"}}), "checks.A b", "match"),
    ],
)
def test_a_wrong_value_is_refused_by_its_key(values: dict[str, Any], key: str, allowed: str) -> None:
    with pytest.raises(InputRefused) as refused:
        declared(values)
    first = cast(list[dict[str, str]], refused.value.facts["wrong"])[0]
    assert first["key"].startswith(key)
    assert allowed in first["allowed"]
    assert refused.value.code == "contract_invalid"


def test_a_contract_is_the_same_after_it_was_stored() -> None:
    """TOML has dates, JSON has not; and JSON in a database keeps no order of keys."""
    contract = declared(tomllib.loads(DOCUMENT))
    stored = contract.model_dump(mode="json")
    turned = {key: dict(reversed(one.items())) if isinstance(one, dict) else one for key, one in stored.items()}
    assert Contract.model_validate(turned) == contract
    assert digest(Contract.model_validate(turned)) == digest(contract)
    assert len(digest(contract)) == 64
    assert CONTRACT_VERSION == 1


def test_a_digest_changes_with_what_a_contract_says_and_not_with_its_defaults() -> None:
    plain = declared(wrong())
    assert digest(declared(wrong(rows={"min": 1}, extra_columns=False))) == digest(plain)
    assert digest(declared(of_x(type="integer", nullable=False))) == digest(plain)
    others = [
        wrong(rows={"min": 0}),
        wrong(extra_columns=True),
        of_x(type="integer", nullable=True),
        of_x(type="number"),
    ]
    assert len({digest(declared(one)) for one in others} | {digest(plain)}) == 5


class Contracts(Part):
    """A section as the policy of partitions has it."""

    section: ClassVar[str] = "partitions"
    package: ClassVar[str] = "recoup.partitions"
    contracts: Annotated[dict[str, Contract], Field(default_factory=dict)]

    @classmethod
    def base(cls, _given: Any) -> dict[str, Any]:
        return {"contracts": {}}


def test_contracts_are_a_section_of_the_policy() -> None:
    parts = (Contracts,)
    text = "\n".join(
        f"[partitions.contracts.orders.{line[1:]}" if line.startswith("[") else line for line in DOCUMENT.splitlines()
    )
    policy = read(f"[partitions.contracts.orders]{text}", parts)
    assert policy[Contracts].contracts["orders"] == declared(tomllib.loads(DOCUMENT))


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (of_x(type="integer", min="a"), "partitions.contracts.orders.columns.x.min"),
        (of_x(type="string", allowed=[]), "partitions.contracts.orders.columns.x.allowed"),
        (of_x(type="string", allowed="a"), "partitions.contracts.orders.columns.x.allowed"),
        (of_x(type="word"), "partitions.contracts.orders.columns.x.type"),
        (of_x(typ="string"), "partitions.contracts.orders.columns.x"),
        (of_x(type="string", max_length=-1), "partitions.contracts.orders.columns.x.max_length"),
        (wrong(rows={"min": -1}), "partitions.contracts.orders.rows.min"),
        (wrong(rows={"within": 2000}), "partitions.contracts.orders.rows.within"),
        (wrong(rows=3), "partitions.contracts.orders.rows"),
        (wrong(unique=["x"]), "partitions.contracts.orders.unique[0]"),
        (wrong(freshness={"column": "", "in_window": True}), "partitions.contracts.orders.freshness.column"),
        (wrong(checks={"a": {"no_rows": "delete from data"}}), "partitions.contracts.orders.checks.a.no_rows"),
        (wrong(checks={"A": {"no_rows": "select 1"}}), "partitions.contracts.orders.checks.A"),
    ],
)
def test_the_policy_refuses_a_wrong_contract_by_its_key(values: dict[str, Any], key: str) -> None:
    with pytest.raises(InputRefused) as refused:
        completed({"partitions": {"contracts": {"orders": values}}}, (Contracts,))
    assert refused.value.code == "policy_invalid"
    assert key in refused.value.happened
    assert "None" not in refused.value.next_step
