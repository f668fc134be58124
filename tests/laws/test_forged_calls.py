"""Whoever writes the name of a function into a statement has not called it.

Logs look at the call stack (PG_CONTEXT), which quotes the statements on its way, line breaks and all. So a line of a
statement stands there like a line of the stack, and may pretend to be one. No authority gets anywhere with that. The
owner and a superuser do, who could also switch the triggers off: what they write is found.
"""

from __future__ import annotations

import psycopg
import pytest

from company import acting, new_intake
from laws.rows import insertion
from product import chosen
from recoup.audit.examine import examine
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority

# Each is a comment within a statement; the second also closes the quotes around the statement, as the stack has it.
COMMENTS = {
    "a line": "/*\n{0}() */",
    "a frame": '/*"\nPL/pgSQL function {0}() line 1 at SQL statement\nSQL statement "*/',
}
forged = pytest.mark.parametrize("comment", COMMENTS.values(), ids=COMMENTS)


def from_a_trigger_of_ones_own(tx: Transaction, statement: str) -> None:
    """Make a table with a trigger that runs the statement, and fire it."""
    tx.execute("create temporary table bait (x integer)")
    tx.execute(
        f"create function pg_temp.own() returns trigger language plpgsql as $$ begin {statement}; return null; end $$"
    )
    tx.execute("create trigger t after insert on bait for each statement execute function pg_temp.own()")
    tx.execute("insert into bait values (1)")


@forged
def test_no_consequence_is_made_by_naming_its_cause(scratch: Transaction, comment: str) -> None:
    """The gate itself authorises no intake without an attempt, whatever its statement says beside it."""
    intake = new_intake(scratch)
    by_hand = (
        f"update cl.gate_zero_intake set status = 'AUTHORIZED' {comment.format('cl.settle_attempts')}"
        f" where intake_id = '{intake}'"
    )
    with pytest.raises(psycopg.Error) as caught, scratch.transaction(), acting(scratch, Authority.GATE):
        from_a_trigger_of_ones_own(scratch, by_hand)
    assert caught.value.sqlstate in ("RC012", "42501")


@forged
@pytest.mark.parametrize("who", [OWNER, None], ids=["owner", "superuser"])
def test_an_event_that_the_owner_forges_is_found(scratch: Transaction, who: str | None, comment: str) -> None:
    """Who can switch the triggers off can also deceive them. The audit asks for what is behind each event."""
    event = insertion(scratch, "cl.gate_zero_air", {}).as_string(scratch)
    assert broken(scratch, "gate_zero_air") == 0
    with acting(scratch, who):
        from_a_trigger_of_ones_own(scratch, f"{event} {comment.format('cl.record_attempt_births')}")
    assert broken(scratch, "gate_zero_air") > 0


@forged
@pytest.mark.parametrize("who", [OWNER, None], ids=["owner", "superuser"])
def test_a_seal_that_the_owner_forges_is_found(scratch: Transaction, who: str | None, comment: str) -> None:
    """It seals nothing, and does not fit the chain."""
    seal = insertion(scratch, "recoup.seal", {}).as_string(scratch)
    assert broken(scratch, "laws/L10/seals") == 0
    with acting(scratch, who):
        scratch.execute(f"do $$ begin {seal} {comment.format('recoup.seal_next')}; end $$")
    assert broken(scratch, "laws/L10/seals") > 0


def broken(tx: Transaction, asked: str) -> int:
    """How many rows break an invariant of these."""
    with acting(tx, Authority.READER):
        return sum(verdict.found for verdict in examine(tx, chosen([asked])))
