"""Keys that were stored stay what they are: a change of the rules is a new version, and the old ones can be computed.

Keys are compared with those in databases, on every worker, for ever. If a change makes this test fail, it belongs into
a new version beside the others in recoup/signatures/keys.py; its keys are added to the rows of data/keys.jsonl, and
none that stands there is altered.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recoup.signatures import VERSION, signature

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data/keys.jsonl").read_text("utf-8").splitlines()]


def test_there_are_a_few_hundred_of_every_form() -> None:
    """Lines, traces, bodies, other languages, with and without a code, and the odd ones; for every version."""
    assert len(ROWS) > 350
    assert all(len(row["keys"]) == VERSION for row in ROWS)


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_keys_stay_what_they_are(version: int) -> None:
    """One by one, so that what changed is told."""
    changed = [
        row["message"]
        for row in ROWS
        if signature(row["message"], row["code"], version=version).key != row["keys"][version - 1]
    ]
    assert changed == []


def test_the_newest_version_is_the_one_in_use() -> None:
    """A key says which version it is of."""
    assert signature("x").version == VERSION
    assert {signature("x", version=version).key[:3] for version in (1, 2)} == {"s1-", "s2-"}
