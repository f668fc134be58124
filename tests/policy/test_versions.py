"""Policies are versioned in the database: who, when and why; and what they decided carries their version."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb

from company import acting, advance, finish, new_batch, new_intake, open_attempt
from product import PARTS, apply_policy, shipped, shipped_document
from recoup import gate, policy
from recoup.database.connection import Actor, Database, Transaction
from recoup.gate.policy import GatePolicy
from recoup.ledger.policy import SealPolicy
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused, LawRefused

SHORT = "[gate]\nwait_hours = [1, 2]\nrecovery_window_days = 3\nattempt_lease_s = 60\n"


def applied(tx: Transaction, text: str = SHORT) -> int:
    with acting(tx, Authority.OPERATOR):
        version, _ = apply_policy(tx, text, reason="a test")
    return version


def test_a_new_database_has_the_shipped_policy(fresh: Callable[..., Database]) -> None:
    """Version 1, with the shipped document."""
    with fresh().transaction(Authority.READER) as tx:
        first = policy.in_force(tx)
    assert (first.version, first.figures) == (1, shipped())
    assert first.document == shipped_document()


def test_a_version_says_who_when_and_why(fresh: Callable[..., Database]) -> None:
    """And the document as it was given, comments included."""
    db = fresh()
    text = "# quicker in spring\n" + SHORT
    with db.transaction(Authority.OPERATOR, actor=Actor("human", "ada")) as tx:
        version, changed = apply_policy(tx, text, reason="spring")
    with db.transaction(Authority.READER) as tx:
        latest, first = policy.history(tx)
    assert (version, latest.version, first.version) == (2, 2, 1)
    assert (latest.actor, latest.actor_id, latest.reason, latest.document) == ("human", "ada", "spring", text)
    assert {c.key for c in changed} == {"gate.wait_hours", "gate.recovery_window_days", "gate.attempt_lease_s"}


def test_the_same_again_writes_nothing(scratch: Transaction) -> None:
    """A version stands for a change."""
    first = applied(scratch)
    assert applied(scratch, "# another comment\n" + SHORT) == first


def test_a_change_applies_to_what_is_decided_from_then_on(scratch: Transaction) -> None:
    """An attempt goes by the policy it was opened under; the next one by the one in force then."""
    before, old = new_intake(scratch), open_attempt
    attempt = old(scratch, before)
    version = applied(scratch)
    finish(scratch, attempt, ReasonCode.TIMEOUT)
    after = new_intake(scratch)
    late = open_attempt(scratch, after)
    finish(scratch, late, ReasonCode.TIMEOUT)
    (waits_old,), (waits_new,) = (
        scratch.execute(
            "select r.next_eligible_at - recoup.now() from cl.gate_zero_recovery r where intake_id = %s", (intake,)
        ).fetchone()
        or (None,)
        for intake in (before, after)
    )
    assert (waits_old, waits_new) == (timedelta(hours=24), timedelta(hours=1))
    stamps = scratch.execute(
        "select policy_version, lease_until - opened_at from cl.gate_zero_attempt where intake_id = any(%s)"
        " order by policy_version",
        ([before, after],),
    ).fetchall()
    assert stamps == [(version - 1, timedelta(minutes=5)), (version, timedelta(minutes=1))]
    advance(scratch, timedelta(hours=1))
    finish(scratch, open_attempt(scratch, after), ReasonCode.TIMEOUT)
    (second,) = scratch.execute(
        "select next_eligible_at - recoup.now() from cl.gate_zero_recovery where intake_id = %s", (after,)
    ).fetchone() or (None,)
    assert second == timedelta(hours=2)


def test_a_window_is_its_policys(scratch: Transaction) -> None:
    """Completed under a policy, a batch keeps its window when the policy changes."""
    old, new = new_batch(scratch), new_batch(scratch)
    with acting(scratch, Authority.HUB):
        closes_old = gate.complete_batch(scratch, old)
    version = applied(scratch)
    with acting(scratch, Authority.HUB):
        closes_new = gate.complete_batch(scratch, new)
    assert closes_old - closes_new == timedelta(days=11)
    rows = scratch.execute(
        "select policy_version from cl.gate_zero_batch where batch_id = any(%s) order by 1", ([old, new],)
    ).fetchall()
    assert rows == [(version - 1,), (version,)]


def test_an_attempt_cannot_go_by_another_policy(scratch: Transaction) -> None:
    """Neither an older version nor one that does not exist."""
    intake = new_intake(scratch)
    version = applied(scratch)
    for stamped in (version - 1, version + 1, 0):
        with acting(scratch, Authority.GATE), pytest.raises(psycopg.Error) as caught, scratch.transaction():
            scratch.execute(
                "insert into cl.gate_zero_attempt (intake_id, attempt_number, worker, opened_at, lease_until,"
                " policy_version) select %s, 1, 'w', recoup.now(), recoup.now() + interval '1 min', %s",
                (intake, stamped),
            )
        assert caught.value.sqlstate == "RC033"


def test_only_an_operator_applies_and_nobody_rewrites(scratch: Transaction) -> None:
    """Every other authority lacks the right; the log of policies stays as it is for owner and superuser too."""
    for authority in Authority:
        with acting(scratch, authority):
            if authority is Authority.OPERATOR:
                continue
            with pytest.raises(psycopg.errors.InsufficientPrivilege), scratch.transaction():
                versions.write(scratch, 99, shipped(), "", reason="x")
    for who in ("recoup_owner", None):
        for statement in (
            "update recoup.policy set reason = 'x'",
            "delete from recoup.policy",
            "truncate recoup.policy",
        ):
            with acting(scratch, who), pytest.raises(psycopg.Error) as caught, scratch.transaction():
                scratch.execute(statement)
            assert caught.value.sqlstate == "RC009"


def test_who_and_when_are_not_the_writers_to_say(scratch: Transaction) -> None:
    """Also for a superuser: version, time and author are stamped."""
    version = applied(scratch) + 1
    with pytest.raises(psycopg.Error) as caught, scratch.transaction():
        scratch.execute(
            "insert into recoup.policy (version, figures, document, reason) values (%s, %s, '', 'x')",
            (version + 5, Jsonb(shipped())),
        )
    assert caught.value.sqlstate == "RC033"
    scratch.execute("select set_config('recoup.policy_checked', md5(%s::jsonb::text), true)", (Jsonb(shipped()),))
    scratch.execute(
        "insert into recoup.policy (version, figures, document, reason, applied_at, actor, actor_id, authority,"
        " incarnation, xid) values (%s, %s, '', 'x', '2020-01-01', 'human', 'mallory', 'x', 7, '7')",
        (version, Jsonb(shipped())),
    )
    row = scratch.execute(
        "select applied_at = recoup.now(), actor_id, incarnation, xid = pg_current_xact_id() from recoup.policy"
        " where version = %s",
        (version,),
    ).fetchone()
    assert row is not None
    assert row[0] is True
    assert row[1:] != ("mallory", 7, False)
    assert row[2:] == (1, True)


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_change_needs_a_reason(scratch: Transaction, reason: str) -> None:
    """An auditor will ask."""
    with pytest.raises(InputRefused) as caught:
        apply_policy(scratch, SHORT, reason=reason)
    assert caught.value.code == "reason_missing"


def test_of_two_at_once_one_is_refused(fresh: Callable[..., Database]) -> None:
    """The loser looked at a policy that is not in force any more."""
    db = fresh()
    together = threading.Barrier(2)
    answers: list[object] = []

    def apply(hours: int) -> None:
        try:
            with db.transaction(Authority.OPERATOR) as tx:
                policy.in_force(tx)
                together.wait(10)
                answers.append(apply_policy(tx, f"[gate]\nwait_hours = [{hours}, 72]", reason="race", over=1)[0])
        except LawRefused as refusal:
            answers.append(refusal.code)

    threads = [threading.Thread(target=apply, args=(hours,)) for hours in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, answers)) == ["2", "policy_not_in_force"]


def test_a_version_that_was_not_looked_at_is_refused(scratch: Transaction) -> None:
    """``over`` names the version one has seen."""
    version = applied(scratch)
    with acting(scratch, Authority.OPERATOR), pytest.raises(LawRefused) as caught:
        apply_policy(scratch, "", reason="back", over=version - 1)
    assert caught.value.code == "policy_not_in_force"


def test_a_policy_that_no_program_checked_is_refused(scratch: Transaction) -> None:
    """An operator at psql: the values that the database knows are right, and another would stop every worker."""
    present = policy.in_force(scratch)
    gate_ = {**present.figures["gate"], "verification": {}}
    by_hand = "insert into recoup.policy (version, figures, document, reason) values (%s, %s, '', 'x')"
    for figures in ({**present.figures, "gate": gate_}, present.figures):
        with acting(scratch, Authority.OPERATOR), pytest.raises(psycopg.DatabaseError) as caught, scratch.transaction():
            scratch.execute(by_hand, (present.version + 1, Jsonb(figures)))
        assert caught.value.sqlstate == "RC072"
    version = applied(scratch)
    with acting(scratch, Authority.OPERATOR), pytest.raises(psycopg.DatabaseError) as caught, scratch.transaction():
        scratch.execute(by_hand, (version + 1, Jsonb(present.figures)))  # nor behind one that was
    assert caught.value.sqlstate == "RC072"


def test_an_upgrade_brings_new_figures_and_keeps_ours(scratch: Transaction) -> None:
    """A newer program writes one version that adds what is missing; a second migration has nothing to do."""
    assert versions.ensure(scratch, PARTS) is None
    present = policy.in_force(scratch)
    figures = {**present.figures, "gate": {**present.figures["gate"], "wait_hours": [7, 8]}}
    del figures["seals"]
    scratch.execute("alter table recoup.policy disable trigger user")  # its program knew of no such figure
    scratch.execute(
        "insert into recoup.policy (version, figures, document, reason, incarnation, applied_at, actor, actor_id,"
        " authority) values (%s, %s, 'd', 'older program', 1, recoup.now(), 'system', 'x', 'x')",
        (present.version + 1, Jsonb(figures)),
    )
    scratch.execute("alter table recoup.policy enable trigger user")
    assert versions.ensure(scratch, PARTS) == present.version + 2
    now = policy.in_force(scratch)
    assert now.policy[GatePolicy].wait_hours == [7, 8]
    assert now.policy[SealPolicy] == SealPolicy.shipped()
    assert now.document == "d"
    assert versions.ensure(scratch, PARTS) is None


def test_rows_of_one_statement_share_one_instant(fresh: Callable[..., Database]) -> None:
    """In real time too, where every call of the clock gives another one."""
    db = fresh(simulated_from=None)
    with db.transaction(Authority.HUB) as tx:
        gate.create_batch(tx, "b")
        closes = gate.complete_batch(tx, "b")
        intakes = gate.add_intakes(tx, [gate.NewIntake(company_name="x")] * 50, batch_id="b")
        row = tx.execute("select completed_at from cl.gate_zero_batch where batch_id = 'b'").fetchone()
    assert row == (closes - timedelta(days=14),)
    with db.transaction(Authority.GATE) as tx:
        gate.open_attempts(tx, intakes, worker="w")
        rows = tx.execute("select count(distinct opened_at), count(distinct lease_until) from cl.gate_zero_attempt")
        assert rows.fetchone() == (1, 1)
