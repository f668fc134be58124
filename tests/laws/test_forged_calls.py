"""Whoever writes the name of a function into a statement has not called it.

Consequences and logs look at the call stack (PG_CONTEXT), which quotes the statements on its way, line breaks and all.
So a line of a statement stands there like a line of the stack, and may pretend to be one.
"""

from __future__ import annotations

import psycopg
import pytest

from company import acting, new_intake
from laws.rows import insertion
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority

# Each is a comment within a statement; the second also closes the quotes around the statement, as the stack has it.
COMMENTS = {
    "a line": "/*\n{0}() */",
    "a frame": '/*"\nPL/pgSQL function {0}() line 1 at SQL statement\nSQL statement "*/',
}
forged = pytest.mark.parametrize("comment", COMMENTS.values(), ids=COMMENTS)
# Only the owner and a superuser can, who can also switch the triggers off; seals and the audit find what they did.
hole = pytest.mark.xfail(strict=True, reason="recoup.called_by takes a line of a statement for a line of the stack")


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


@hole
@forged
@pytest.mark.parametrize("who", [OWNER, None], ids=["owner", "superuser"])
def test_no_event_is_written_by_naming_its_recorder(scratch: Transaction, who: str | None, comment: str) -> None:
    """Neither the owner nor a superuser who leaves the triggers on."""
    event = insertion(scratch, "cl.gate_zero_air", {}).as_string(scratch)
    with pytest.raises(psycopg.Error) as caught, scratch.transaction(), acting(scratch, who):
        from_a_trigger_of_ones_own(scratch, f"{event} {comment.format('cl.record_attempt_births')}")
    assert caught.value.sqlstate == "RC010"


@hole
@forged
@pytest.mark.parametrize("who", [OWNER, None], ids=["owner", "superuser"])
def test_no_seal_is_written_by_naming_its_sealer(scratch: Transaction, who: str | None, comment: str) -> None:
    """Not even from a DO block: no trigger is needed for that."""
    seal = insertion(scratch, "recoup.seal", {}).as_string(scratch)
    with pytest.raises(psycopg.Error) as caught, scratch.transaction(), acting(scratch, who):
        scratch.execute(f"do $$ begin {seal} {comment.format('recoup.seal_next')}; end $$")
    assert caught.value.sqlstate == "RC010"
