"""A pause stops every claim within its scope, by every authority; and names who paused it and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

import product
from company import acting, advance, failed_intake, finish, new_batch, new_intake, open_attempt
from recoup import gate, pauses
from recoup.database.connection import Actor, Database, Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused

DAY = timedelta(days=1)


def pause(tx: Transaction, scope: str, name: str | None = None) -> bool:
    with acting(tx, Authority.OPERATOR):
        return product.pause(tx, scope, name, reason="look into it")


def resume(tx: Transaction, scope: str, name: str | None = None) -> bool:
    with acting(tx, Authority.OPERATOR):
        return product.resume(tx, scope, name, reason="looked")


def said(tx: Transaction, intake: Any) -> str:
    """What an attempt on an intake comes to: done, or the SQLSTATE of its refusal."""
    try:
        with tx.transaction():
            open_attempt(tx, intake)
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return "done"


# What is paused: whether a first attempt and whether a retry may still open.
STOPS: list[tuple[str, str | None, str, str]] = [
    ("global", None, "RC032", "RC032"),
    ("table", "cl.gate_zero_attempt", "RC032", "RC032"),
    ("table", "cl.gate_zero_intake", "RC032", "done"),
    ("table", "cl.gate_zero_recovery", "done", "RC032"),
    ("duty", "seal", "done", "done"),
]


@pytest.mark.parametrize(("scope", "name", "first", "retry"), STOPS)
def test_a_pause_stops_what_it_names(
    scratch: Transaction, scope: str, name: str | None, first: str, retry: str
) -> None:
    """By hand and by claim, until it is resumed; and nothing else."""
    new, failed = new_intake(scratch), failed_intake(scratch)
    advance(scratch, DAY)
    assert pause(scratch, scope, name)
    assert (said(scratch, new), said(scratch, failed)) == (first, retry)
    with acting(scratch, Authority.GATE):
        claimed = gate.claim_attempts(scratch, limit=100_000, worker="w", retries=False)
        again = gate.claim_attempts(scratch, limit=100_000, worker="w", retries=True)
    assert first == "done" or not claimed
    assert retry == "done" or not again
    assert resume(scratch, scope, name)
    assert said(scratch, new) == ("done" if first == "RC032" else "23505")
    assert said(scratch, failed) == ("done" if retry == "RC032" else "23505")


def test_what_was_claimed_before_may_finish(scratch: Transaction) -> None:
    """A pause throws no result away."""
    attempt = open_attempt(scratch, new_intake(scratch))
    pause(scratch, "global")
    assert finish(scratch, attempt, ReasonCode.TIMEOUT).status == "failed"


def test_a_refusal_says_who_paused_and_what_to_do(db: Database) -> None:
    """In one sentence each."""
    with db.transaction(Authority.HUB) as tx:
        (intake,) = gate.add_intakes(tx, [gate.NewIntake(company_name="x")])
    with db.transaction(Authority.OPERATOR, actor=Actor("human", "ada")) as tx:
        product.pause(tx, "table", "cl.gate_zero_intake", reason="directory is down")
    try:
        with pytest.raises(Exception, match="paused by ada") as caught, db.transaction(Authority.GATE) as tx:
            gate.open_attempts(tx, [intake], worker="w")
    finally:
        with db.transaction(Authority.OPERATOR) as tx:
            product.resume(tx, "table", "cl.gate_zero_intake", reason="up again")
    assert caught.value.code == "paused"  # type: ignore[attr-defined]
    assert "directory is down" in str(caught.value)
    assert "recoup resume table cl.gate_zero_intake" in caught.value.next_step  # type: ignore[attr-defined]


def test_pausing_twice_keeps_the_first_reason(scratch: Transaction) -> None:
    """And resuming twice does nothing the second time."""
    assert pause(scratch, "duty", "mint")
    with acting(scratch, Authority.OPERATOR):
        assert not product.pause(scratch, "duty", "mint", reason="another reason")
    (held,) = (p for p in pauses.pauses(scratch) if p.scope_id == "mint")
    assert held.reason == "look into it"
    assert resume(scratch, "duty", "mint")
    assert not resume(scratch, "duty", "mint")
    assert not resume(scratch, "duty", "seal")
    assert pause(scratch, "duty", "mint")


def test_a_reason_is_stored_without_secrets(scratch: Transaction) -> None:
    with acting(scratch, Authority.OPERATOR):
        pauses.pause(scratch, "global", reason="password=hunter2 leaked")
    found = scratch.execute("select reason from recoup.pause where scope = 'global'").fetchone()
    assert found == ("password=[redacted] leaked",)


def test_the_log_tells_every_change(scratch: Transaction) -> None:
    """Who, when, why, in order; for batches and for the rest."""
    batch = new_batch(scratch)
    scratch.execute("select set_config('recoup.actor_id', 'ada', true)")
    for scope, name in (("batch", batch), ("duty", "seal"), ("global", None)):
        pause(scratch, scope, name)
        resume(scratch, scope, name)
    events = [(e.event_type, e.scope, e.scope_id, e.reason, e.actor_id) for e in pauses.log(scratch, limit=6)]
    assert events[::-1] == [
        (event, scope, name, reason, "ada")
        for scope, name in (("batch", batch), ("duty", "seal"), ("global", "everything"))
        for event, reason in (("PAUSE", "look into it"), ("RESUME", "looked"))
    ]


def test_all_pauses_are_listed_together(scratch: Transaction) -> None:
    """The kill switch of a batch together with the others."""
    batch = new_batch(scratch)
    pause(scratch, "batch", batch)
    pause(scratch, "table", "cl.gate_zero_recovery")
    listed = {(p.scope, p.scope_id) for p in pauses.pauses(scratch)}
    assert {("batch", batch), ("table", "cl.gate_zero_recovery")} <= listed


@pytest.mark.parametrize(
    ("scope", "name", "reason", "code"),
    [
        ("global", "half", "x", "pause_scope"),
        ("table", None, "x", "pause_scope"),
        ("duty", "  ", "x", "pause_scope"),
        ("global", None, " ", "reason_missing"),
        ("batch", "no such batch", "x", "batch_unknown"),
    ],
)
def test_a_pause_that_would_stop_nothing_is_refused(
    scratch: Transaction, scope: str, name: str | None, reason: str, code: str
) -> None:
    """With words that say what to write instead."""
    with acting(scratch, Authority.OPERATOR), pytest.raises(InputRefused) as caught:
        product.pause(scratch, scope, name, reason=reason)
    assert caught.value.code == code


def test_a_table_without_work_cannot_be_paused(scratch: Transaction) -> None:
    """Also not by hand."""
    for table in ("pg_class", "recoup.clock", "recoup.worker", "cl.gate_zero_batch"):
        with acting(scratch, Authority.OPERATOR), pytest.raises(psycopg.Error) as caught, scratch.transaction():
            scratch.execute(
                "insert into recoup.pause values ('table', %s, 'PAUSED', recoup.now(), recoup.acting_id(), 'x')",
                (table,),
            )
        assert caught.value.sqlstate == "RC034"


def test_what_is_not_there_is_not_paused(scratch: Transaction) -> None:
    """Neither a duty that nobody has, nor a kind of thing that no domain declares. The refusal names what there is."""
    for scope, name, hint in (
        ("duty", "sela", "seal"),
        ("operation", "of yesterday", "none of this kind"),
        ("source", "crm", "duty, global, operation, partition-source, table"),
    ):
        with acting(scratch, Authority.OPERATOR), pytest.raises(psycopg.Error) as caught, scratch.transaction():
            product.pause(scratch, scope, name, reason="x")
        assert caught.value.sqlstate == "RC034"
        assert hint in str(caught.value.diag.message_hint)


def test_a_batch_is_paused_now_by_whoever_acts(scratch: Transaction) -> None:
    """Neither in another name, nor in the past; and an existing pause is not rewritten."""
    batch = new_batch(scratch)
    forge = "update cl.gate_zero_batch set paused_at = {}, paused_by = {}, pause_reason = 'x' where batch_id = %s"
    now, me = "recoup.now()", "recoup.acting_id()"
    for at, by in (("timestamptz '1999-01-01'", me), (now, "'the CEO'")):
        with acting(scratch, Authority.OPERATOR), pytest.raises(psycopg.Error) as caught, scratch.transaction():
            scratch.execute(forge.format(at, by), (batch,))
        assert caught.value.sqlstate == "RC023"
    pause(scratch, "batch", batch)
    advance(scratch, DAY)
    with acting(scratch, Authority.OPERATOR), pytest.raises(psycopg.Error) as caught, scratch.transaction():
        scratch.execute(forge.format(now, me), (batch,))
    assert caught.value.sqlstate == "RC023"
    assert resume(scratch, "batch", batch)


@pytest.mark.parametrize("who", [*(a for a in Authority if a is not Authority.OPERATOR), OWNER, None])
def test_only_an_operator_pauses(scratch: Transaction, who: Any) -> None:
    """Nobody else, the owner and a superuser included."""
    with acting(scratch, who), pytest.raises(psycopg.Error) as caught, scratch.transaction():
        scratch.execute("insert into recoup.pause values ('duty', 'scope-expiry', 'PAUSED', recoup.now(), 'm', 'x')")
    assert caught.value.sqlstate in ("42501", "RC001")
