"""The SQL reference: what people and programs read and call in the database, from its comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SCHEMA = Path(__file__).parent.parent / "src/recoup/schema/schema.sql"
HEADER = """\
# SQL

{written}
Any login that is a member of `recoup_reader` can read all of this, after `set role recoup_reader`. Changes are made by
the functions of an authority, under its role: the guards hold for `psql` as for every program.
"""
# Functions that users call, and the role that they need.
FUNCTIONS = {
    "recoup.is_blocked": "recoup_reader",
    "recoup.blocking_errors": "recoup_reader",
    "recoup.is_blocked_locking": "recoup_reader",
    "recoup.blocked_locking": "recoup_reader",
    "recoup.clear_errors": "recoup_hub",
    "recoup.claim_errors": "recoup_hub",
    "recoup.end_retries": "recoup_hub",
    "recoup.now": "recoup_reader",
    "recoup.policy_version": "recoup_reader",
}
TABLES = (
    "recoup.error", "recoup.error_archive", "recoup.error_event", "recoup.policy", "recoup.operation",
    "recoup.delivery", "recoup.delivery_event",
    "cl.gate_zero_batch", "cl.gate_zero_intake", "cl.gate_zero_attempt", "cl.gate_zero_recovery", "cl.gate_zero_air",
    "cl.company_identity",
)  # fmt: skip


def page(written: str) -> str:
    schema = SCHEMA.read_text(encoding="utf-8")
    return "\n".join([HEADER.format(written=written), *_functions(schema), *_relations(schema)])


def _functions(schema: str) -> Iterator[str]:
    yield "## Functions\n"
    for name, role in FUNCTIONS.items():
        found = re.search(rf"^comment on function {re.escape(name)}\((.*)\) is '(.*)';$", schema, re.MULTILINE)
        assert found is not None, f"{name} has no comment, or is gone"
        arguments, comment = found.groups()
        returns = re.search(rf"FUNCTION {re.escape(name)}\({re.escape(arguments)}.*\n RETURNS (.+)", schema)
        result = returns[1] if returns else "its OUT parameters"
        given = re.sub(r"timestamp with time zone", "timestamptz", arguments)
        yield f"**`{name}({given})`** returns {result}. Role: `{role}`.\n\n{_plain(comment)}\n"


def _relations(schema: str) -> Iterator[str]:
    views = re.findall(r"^create view (\S+)", schema, re.MULTILINE)
    for title, names in (("Views", views), ("Tables", TABLES)):
        yield f"## {title}\n"
        for name in names:
            yield from _relation(schema, name)


def _relation(schema: str, name: str) -> Iterator[str]:
    about = re.search(rf"^comment on (?:table|view) {re.escape(name)} is '(.*)';$", schema, re.MULTILINE)
    assert about is not None, f"{name} has no comment, or is gone"
    yield f"### {name}\n\n{_plain(about[1])}\n\n| column | |\n|---|---|"
    columns = re.findall(rf"^comment on column {re.escape(name)}\.(\S+) is '(.*)';$", schema, re.MULTILINE)
    for column, comment in columns:
        yield f"| `{column}` | {_plain(comment)} |"
    yield ""


def _plain(comment: str) -> str:
    return comment.replace("''", "'").replace("|", "\\|")
