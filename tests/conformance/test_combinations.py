"""Every birth, move and exit of the product's lifecycles, by every authority, owner and superuser."""

from __future__ import annotations

import pytest

from company import MIGRATING, acting, error_in, intake_in
from conformance import combinations as suite
from conformance.cast import Role
from conformance.combinations import NO_RIGHT, answer
from conformance.forms import both_forms_say_the_same
from conformance.product_cast import ROLES
from incidents import new_match
from product import LIFECYCLES
from recoup.database.connection import Transaction
from recoup.errors.lifecycle import ERROR, TRACEBACK
from recoup.lifecycles.declaration import Authority, Lifecycle


def named(value: object) -> str:
    return value.name if isinstance(value, Role) else str(value)


def test_every_lifecycle_is_tried() -> None:
    """A lifecycle that is declared and not tried here would be a promise nobody checks."""
    assert {role.name for role in ROLES} == {life.table for life in LIFECYCLES}


@pytest.mark.parametrize(("role", "source", "target"), list(suite.every_move(ROLES)), ids=named)
def test_moves_answer_as_declared(scratch: Transaction, role: Role, source: str, target: str) -> None:
    suite.moves_answer_as_declared(scratch, role, source, target)


@pytest.mark.parametrize("role", ROLES, ids=named)
def test_births_answer_as_declared(scratch: Transaction, role: Role) -> None:
    suite.births_answer_as_declared(scratch, role)


@pytest.mark.parametrize(("role", "status"), list(suite.every_status(ROLES)), ids=named)
def test_exits_answer_as_declared(scratch: Transaction, role: Role, status: str) -> None:
    suite.exits_answer_as_declared(scratch, role, status)


@pytest.mark.parametrize("life", LIFECYCLES, ids=lambda life: life.table)
def test_both_forms_of_the_guard_say_the_same(
    scratch: Transaction, life: Lifecycle, pytestconfig: pytest.Config
) -> None:
    """One authority that the lifecycle does not name stands for all of them; in the long runs each speaks."""
    both_forms_say_the_same(scratch, life, every_stranger=int(pytestconfig.getoption("--times")) > 1)


def test_errors_and_tracebacks_alone_leave_and_by_listed_authorities() -> None:
    assert {(life.table, e.authority) for life in LIFECYCLES for e in life.exits} == {
        (ERROR.table, Authority.ARCHIVER),
        (TRACEBACK.table, Authority.ARCHIVER),
        (TRACEBACK.table, Authority.OPERATOR),
    }


LOCKS = {
    ("recoup.error", "UPDATE"): {Authority.ARCHIVER},
    # An incident is not closed while a match joins it, and gets one scope for an action when two are opened at once.
    ("recovery.incident", "UPDATE"): {Authority.MATCHER, Authority.SCOPED_EXECUTION},
}


def test_grants_are_no_wider_than_the_declaration(admin: Transaction) -> None:
    suite.grants_are_no_wider(admin, LIFECYCLES, locks=LOCKS)


def test_a_right_to_lock_is_no_right_to_change(scratch: Transaction) -> None:
    """The archiver locks what it moves. It changes nothing, whatever the status."""
    for status in ERROR.statuses:
        error = error_in(scratch, status)
        with acting(scratch, Authority.ARCHIVER):
            assert answer(scratch, "select from recoup.error where error_id = %(key)s for update", {"key": error})
            change = "update recoup.error set updated_at = updated_at where error_id = %(key)s"
            assert answer(scratch, change, {"key": error}) == "RC002"


@pytest.mark.parametrize("who", sorted(LOCKS["recovery.incident", "UPDATE"]))
def test_who_locks_an_incident_changes_nothing_of_it(scratch: Transaction, who: Authority) -> None:
    incident = {"key": new_match(scratch).incident_id}
    with acting(scratch, who):
        locked = "select from recovery.incident where incident_id = %(key)s for no key update"
        assert answer(scratch, locked, incident) == "done"
        change = "update recovery.incident set opened_at = opened_at where incident_id = %(key)s"
        assert answer(scratch, change, incident) == "RC002"


def test_a_candidate_comes_from_hub_or_gate_and_from_an_operator_only_as_a_restart(scratch: Transaction) -> None:
    """Without retry_of the operator is refused, with it the others; and the operator does not say in which status."""
    candidate = "insert into cl.gate_zero_intake (company_name) values ('x')"
    standing = "insert into cl.gate_zero_intake (company_name, retry_of, status) values ('x', %(intake)s, 'PENDING')"
    intake = {"intake": intake_in(scratch, "EXHAUSTED")}
    said = {}
    for actor in (Authority.HUB, Authority.GATE, Authority.OPERATOR):
        with acting(scratch, actor):
            said[actor] = answer(scratch, candidate), answer(scratch, standing, intake)
    assert said == {
        Authority.HUB: ("done", "RC042"),
        Authority.GATE: ("done", "RC042"),
        Authority.OPERATOR: ("RC001", NO_RIGHT),
    }


def test_an_intake_is_born_authorized_only_with_its_origin(scratch: Transaction) -> None:
    """AUTHORIZED at birth is re-entry: without reentered_from the gate itself is refused."""
    scratch.execute(MIGRATING)
    scratch.execute("update recoup.lifecycle_step set through = '{}' where subject = 'cl.gate_zero_intake'")
    scratch.execute("call recoup.equip_all('cl.gate_zero_intake')")
    with acting(scratch, Authority.GATE):
        said = answer(scratch, "insert into cl.gate_zero_intake (company_name, status) values ('x', 'AUTHORIZED')")
    assert said == "RC001"
