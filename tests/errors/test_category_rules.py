"""Rules of the policy's own decide the category of what is recorded, in front of all others."""

from __future__ import annotations

import uuid

import pytest

from hub import DOL, OPERATIONAL, STRUCTURAL, TRANSIENT, Hub, NewHub
from recoup.errors import active_policy, recording
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Category
from recoup.lifecycles.declaration import Authority
from recoup.signatures import OwnRule, Reading, category, read

RULES = """
[errors]
category_rules = [
  { category = "TRANSIENT", code = "VENDOR_*", words = "quota … exceeded" },
  { category = "STRUCTURAL", code = "VENDOR_*" },
  { category = "OPERATIONAL", words = "ThrottlingException s3" },
  { category = "STRUCTURAL", words = "ein* match" },
  { category = "TRANSIENT", words = "EIN did not" },
  { category = "OPERATIONAL", code = "EXACT" },
]
"""


@pytest.fixture(scope="module")
def ruled(hub: Hub) -> Hub:
    hub.apply_policy(RULES)
    return hub


@pytest.mark.parametrize(
    ("message", "code", "expected"),
    [
        ("your quota for today was exceeded", "VENDOR_7", Category.TRANSIENT),
        ("QUOTA EXCEEDED", "VENDOR_", Category.TRANSIENT),
        ("your quota for all that was there today exceeded", "VENDOR_7", Category.STRUCTURAL),  # more than four between
        ("exceeded is your quota", "VENDOR_7", Category.STRUCTURAL),  # not in this order
        ("whatever", "VENDOR_8", Category.STRUCTURAL),
        ("your quota for today was exceeded", "vendor_7", None),  # codes are taken as they are
        ("your quota for today was exceeded", None, None),
        (TRANSIENT, "VENDOR_8", Category.STRUCTURAL),
        ("ThrottlingException: S3 said no", None, Category.OPERATIONAL),  # words within words
        (OPERATIONAL, None, Category.TRANSIENT),  # the first that is met
        ("two eins match", None, Category.STRUCTURAL),
        (TRANSIENT, "EXACT", Category.OPERATIONAL),
        (TRANSIENT, "EXACTLY", Category.TRANSIENT),
        (STRUCTURAL, None, Category.STRUCTURAL),  # none is met: as ever
    ],
)
def test_the_first_rule_that_is_met_decides(ruled: Hub, message: str, code: str | None, expected: str | None) -> None:
    """By code, by words, or by both; what none is met by is judged as ever."""
    found = ruled.row(ruled.record(message, code=code))["category"]
    if expected is None:
        assert found == category(message, code)
    else:
        assert found == expected


def test_what_the_reporter_says_comes_first(ruled: Hub) -> None:
    """Whatever the rules are."""
    error_id = ruled.record("whatever", code="VENDOR_8", category=Category.TRANSIENT)
    assert ruled.row(error_id)["category"] == "TRANSIENT"


def test_rules_apply_to_what_is_recorded_from_then_on(new_hub: NewHub) -> None:
    """Also through a connection that knew the policy before; what was recorded stays as it was, and says by which."""
    hub = new_hub()
    before = hub.record(TRANSIENT, code="EXACT")
    hub.apply_policy(RULES)
    after = hub.record(TRANSIENT, code="EXACT")
    hub.apply_policy("")
    again = hub.record(TRANSIENT, code="EXACT")
    found = [(row["category"], row["policy_version"]) for row in map(hub.row, (before, after, again))]
    assert found == [("TRANSIENT", 1), ("OPERATIONAL", 2), ("TRANSIENT", 3)]


def test_rules_are_read_once_for_a_version(ruled: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each error."""
    seen: set[int] = set()

    def seeing(message: str, code: str | None, rules: tuple[OwnRule, ...]) -> Reading:
        seen.add(id(rules))
        return read(message, code, rules)

    monkeypatch.setattr(recording, "read", seeing)
    for _ in range(2):
        ruled.record_all(NewError(table=DOL, message="x", outreach_id=uuid.uuid4()) for _ in range(3))
    with ruled.db.transaction(Authority.READER) as tx:
        assert seen == {id(active_policy.reloaded(tx).rules)}
