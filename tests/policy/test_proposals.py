"""Changes by parts: a document or a value over the active policy, shown first, and refused if it changed meanwhile."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from company import acting
from hub import DOL, Hub
from product import PARTS, apply_policy
from recoup import policy
from recoup.database.connection import Database, Transaction
from recoup.errors.policy import ErrorPolicy
from recoup.gate.policy import GatePolicy
from recoup.lifecycles.declaration import Authority
from recoup.policy import Proposal
from recoup.refusals import InputRefused, LawRefused

TRANSIENT = "errors.retry.TRANSIENT.max_retries"


def put(tx: Transaction, proposal: Proposal) -> int:
    with acting(tx, Authority.OPERATOR):
        return policy.put(tx, proposal, PARTS, reason="a test")


def test_a_document_is_merged_and_leaves_the_rest_alone(scratch: Transaction) -> None:
    """Two people with one page each: both changes are active. A whole document takes the others back, and says so."""
    put(scratch, policy.merge(scratch, "[errors.retry.TRANSIENT]\nmax_retries = 9", PARTS))
    put(scratch, policy.merge(scratch, "[gate]\nwait_hours = [1, 2]", PARTS))
    active = policy.active(scratch).policy
    assert (active[ErrorPolicy].retry["TRANSIENT"].max_retries, active[GatePolicy].wait_hours) == (9, [1, 2])  # type: ignore[index]
    whole = policy.merge(scratch, "[gate]\nwait_hours = [24, 72]", PARTS, replace=True)
    assert [(c.key, c.before, c.after) for c in whole.taken_back] == [(TRANSIENT, 9, 5)]
    assert {c.key for c in whole.changes} == {TRANSIENT, "gate.wait_hours"}


@pytest.mark.parametrize(
    ("key", "value", "after"),
    [
        ("gate.wait_hours", "[12, 48]", [12, 48]),
        (TRANSIENT, "9", 9),
        ("errors.redact_keys", '["salary"]', ["salary"]),
        ("errors.tables.outreach.dol_errors.owner", "42", "42"),  # a text, because a text is wanted
        ('errors.tables."outreach.dol_errors".owner', "the dol team", "the dol team"),
        ("errors.tables.outreach.dol_errors.blocks", "false", False),
        ("errors.tables.outreach.dol_errors.park_codes", '{ "A.B" = "DATA_QUALITY" }', {"A.B": "DATA_QUALITY"}),
        ("gate.verification.contact", "ops@example.org", "ops@example.org"),
    ],
)
def test_one_value_is_set_and_unset(scratch: Transaction, key: str, value: str, after: object) -> None:
    """By its type; the version holds the line that says it, and unsetting returns to the shipped value."""
    before = policy.active(scratch)
    version = put(scratch, policy.set_value(scratch, key, value, PARTS))
    now = policy.active(scratch)
    assert version == now.version == before.version + 1
    path = key.replace("outreach.dol_errors", DOL).replace(f'"{DOL}"', DOL).split(".")
    found = now.figures
    for name in _names(path):
        found = found[name]
    assert found == after
    assert policy.read(now.document, PARTS).figures == now.figures
    put(scratch, policy.unset(scratch, key, PARTS))
    assert policy.active(scratch).figures == before.figures


def _names(path: list[str]) -> list[str]:
    joined = ".".join(path).replace(DOL, DOL.replace(".", " "))
    return [name.replace(" ", ".") for name in joined.split(".")]


@pytest.mark.parametrize(
    ("key", "value", "code", "words"),
    [
        ("gate.wait_hour", "[1, 2]", "policy_invalid", "did you mean gate.wait_hours"),
        ("gate.wait_hours", "soon", "policy_invalid", "a list of 2"),
        ("gate.wait_hours", "[1, 2, 3]", "policy_invalid", "a list of 2"),
        ("errors.tables.outreach.dol_errors.ttl", "FOREVER", "policy_invalid", "one of SHORT, MEDIUM, LONG, INFINITE"),
        ("", "1", "policy_key_unreadable", "recoup policy show"),
        ("gate = 1\n[x]", "1", "policy_key_unreadable", "recoup policy show"),
        ("gate..x", "1", "policy_key_unreadable", "recoup policy show"),
        (".".join(["a"] * 5000), "1", "policy_key_unreadable", "recoup policy show"),
    ],
)
def test_a_wrong_key_or_value_is_named(scratch: Transaction, key: str, value: str, code: str, words: str) -> None:
    with pytest.raises(InputRefused) as caught:
        policy.set_value(scratch, key, value, PARTS)
    assert caught.value.code == code
    assert words in caught.value.next_step


def test_what_is_not_there_cannot_be_unset(scratch: Transaction) -> None:
    with pytest.raises(InputRefused) as caught:
        policy.unset(scratch, "gate.wait_hour", PARTS)
    assert (caught.value.code, caught.value.next_step) == ("policy_key_unknown", "Did you mean gate.wait_hours?")


def test_of_two_changes_from_one_version_the_second_is_refused(scratch: Transaction) -> None:
    """Whatever each is about: the second one was shown something that is no longer so."""
    first = policy.set_value(scratch, TRANSIENT, "9", PARTS)
    second = policy.set_value(scratch, "gate.wait_hours", "[1, 2]", PARTS)
    put(scratch, first)
    with pytest.raises(LawRefused) as caught:
        put(scratch, second)
    assert caught.value.code == "policy_not_in_force"
    with pytest.raises(LawRefused) as caught:
        policy.merge(scratch, "", PARTS, over=first.over)
    assert caught.value.code == "policy_not_in_force"
    again = policy.set_value(scratch, "gate.wait_hours", "[1, 2]", PARTS)
    assert [change.key for change in again.changes] == ["gate.wait_hours"]
    assert put(scratch, again) == first.over + 2


def test_a_proposal_counts_the_entities_that_it_unblocks(fresh: Callable[..., Database]) -> None:
    hub = Hub(fresh())
    hub.record(outreach_id=uuid.uuid4())
    with hub.db.transaction(Authority.READER) as tx:
        proposal = policy.set_value(tx, f"errors.tables.{DOL}.blocks", "false", PARTS)
    assert proposal.effects == ["1 entity blocked now would be unblocked."]


def test_a_table_of_ones_own_is_unset_until_it_is_made(scratch: Transaction) -> None:
    """The next step of a policy that lists a table that does not exist is a migration."""
    table = '{ ttl = "LONG", default = "PARK", allowed = ["PARK", "ARCHIVE"], blocks = false, owner = "x"'
    table += ", archive_years = 1 }"
    put(scratch, policy.set_value(scratch, 'errors.tables."sales.lead_errors"', table, PARTS))
    assert policy.next_steps(scratch, PARTS) == ["recoup migrate creates sales.lead_errors"]
    put(scratch, policy.unset(scratch, "errors.tables.sales.lead_errors", PARTS))
    assert policy.next_steps(scratch, PARTS) == []
    with pytest.raises(LawRefused) as caught:
        apply_policy(scratch, '[errors]\nprofile = "none"', reason="x")
    assert caught.value.code == "error_table_fixed"
