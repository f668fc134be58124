"""P5 and R6a as tables: a candidate starts if and only if every gate is open, whichever way its start is tried.

What may start is said here a second time, on purpose, and not taken from the product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product as every
from typing import Any
from uuid import UUID

import psycopg
import pytest

import product
from company import acting, advance
from incidents import (
    START,
    approve,
    change,
    end_scope,
    new_candidate,
    new_match,
    new_scope,
    rate,
    ready,
    select_action,
    start,
    unguarded,
)
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.recovery import executing

ACTION = "mend"
CATALOGUE = """
[recovery.actions.mend]
type = "{type}"
is_automated = {is_automated}
requires_approval = {requires_approval}
cost = 1
timeout_s = 60
parameters = {{ route = "log", owner = "ops", due_hours = 1, key = "k", value = 1, alternative = 2, \
undoes = "01a1ebf9-ae14-76c9-a2f9-07a8f45b3ee2" }}
"""
# What a rollback undoes: a key that was changed for the same match.
UNDONE = """
insert into recovery.candidate (candidate_id, failure_match_id, incident_id, error_signature, subject_kind, action_name,
  action_type, parameters, cost, timeout_s, status, scope_id, execute_by, executed_at, worker, token, lease_until,
  idempotency_key, effect_made_at, finished_at, result, decide_by, policy_version, created_at, updated_at)
select '01a1ebf9-ae14-76c9-a2f9-07a8f45b3ee2', m.failure_match_id, m.incident_id, m.error_signature, m.subject_kind,
  'r', 'reconfigure', '{"key": "k"}', 1, 1, 'failed', gen_random_uuid(), t, t, 'w', gen_random_uuid(), t, 'i', t, t,
  '{"undo": {"type": "reconfigure", "key": "k"}}', t, 1, t, t
  from recovery.failure_match m, recoup.now() t where m.failure_match_id = %s
"""


@dataclass(frozen=True)
class Gates:
    """How each gate stands. As it is by default, all are open."""

    is_automated: bool = True
    requires_approval: bool = False
    confidence: float = 0.8
    evidence: int = 5
    scope: str = "active"  # or: none, expired, revoked, exhausted
    held: bool = False
    proposed: bool = False
    stale: bool = False  # the confidence is of another action
    paused: str = ""  # what is paused: action, table or global
    floor: float = 0.8  # of the policy, raised after the candidate was made
    least: int = 5
    retired: bool = False  # the policy has lost the action since
    now_automated: bool = True  # what the policy says of the action since
    now_approval: bool = False
    approved: bool = False
    kind: str = "outside"
    type: str = "fallback"

    def __str__(self) -> str:
        plain = Gates()
        told = {
            name: value for name in self.__dataclass_fields__ if (value := getattr(self, name)) != getattr(plain, name)
        }
        return " ".join(f"{name}={value}" for name, value in told.items()) or "all open"


def may_start(gates: Gates) -> bool:
    """The oracle: P5, R6a, P1, pauses and the stricter of two policies."""
    if gates.scope != "active" or gates.paused or gates.retired:
        return False
    if gates.approved:
        return True
    never_alone = gates.type in ("skip", "rollback") or (
        gates.kind in ("error", "intake") and gates.type not in ("escalate", "notify", "manual")
    )
    return (
        not never_alone
        and (gates.is_automated and not gates.requires_approval)
        and (gates.now_automated and not gates.now_approval)
        and gates.confidence >= max(0.8, gates.floor)
        and gates.evidence >= max(5, gates.least)
        and not (gates.held or gates.proposed or gates.stale)
    )


# The situation ------------------------------------------------------------------------------------------------------


def apply(tx: Transaction, gates: Gates, *, now: bool = False) -> None:
    """The policy with the action, as it is when the candidate is made, or as it is now."""
    text = product.shipped_document()
    if now:
        text = text.replace("confidence_floor = 0.8", f"confidence_floor = {gates.floor}")
        text = text.replace("evidence_min = 5", f"evidence_min = {gates.least}")
    automated, approval = (
        (gates.now_automated and gates.is_automated, gates.now_approval or gates.requires_approval)
        if now
        else (gates.is_automated, gates.requires_approval)
    )
    if not (now and gates.retired):
        text += CATALOGUE.format(
            type=gates.type, is_automated=str(automated).lower(), requires_approval=str(approval).lower()
        )
    with acting(tx, Authority.OPERATOR):
        product.apply_policy(tx, text, reason="a test")


def candidate(tx: Transaction, gates: Gates) -> UUID:
    """A candidate in that situation."""
    apply(tx, gates)
    match = new_match(tx, gates.kind)
    if gates.type == "rollback":
        with unguarded(tx, "recovery.candidate"):
            tx.execute(UNDONE, (match.match_id,))
    made = new_candidate(tx, match, ACTION, proposer="bob" if gates.proposed else None)
    # The one that is claimed in its stead would hide that it is not.
    scope = None if gates.scope == "none" else new_scope(tx, match.incident_id, (ACTION,), attempts=1, ttl=60)
    select_action(tx, made, ACTION, scope)
    rate(tx, made, gates.confidence, gates.evidence)
    if gates.stale:
        change(tx, Authority.EVALUATOR, made, "confidence_of = null")
    if gates.held:
        change(tx, Authority.EVALUATOR, made, "held_for_review = true")
    if gates.approved:
        approve(tx, made)
    if gates.scope == "exhausted":
        other = new_candidate(tx, new_match(tx, "outside", like=match), ACTION)
        select_action(tx, other, ACTION, scope)
        start(tx, approve(tx, other))
    elif gates.scope == "revoked" and scope is not None:
        end_scope(tx, scope, "revoked")
    if (gates.floor, gates.least, gates.retired, gates.now_automated, gates.now_approval) != (
        0.8,
        5,
        False,
        True,
        False,
    ):
        apply(tx, gates, now=True)
    if gates.paused:
        named = {"action": ACTION, "table": "recovery.candidate", "global": None}[gates.paused]
        with acting(tx, Authority.OPERATOR):
            product.pause(tx, gates.paused, named, reason="a test")
    if gates.scope == "expired":
        advance(tx, timedelta(seconds=61))
    return made


# Three ways to start it ---------------------------------------------------------------------------------------------


def by_function(tx: Transaction, _: UUID) -> None:
    with acting(tx, Authority.CLAIM_WORKER):
        tx.execute("select ids from recovery.claim_candidates(null, 100000, 'w', interval '5 minutes')")


def by_library(tx: Transaction, _: UUID) -> None:
    with acting(tx, Authority.CLAIM_WORKER):
        executing.claim(tx, limit=100_000, worker="w")


def by_hand(tx: Transaction, made: UUID) -> None:
    statement = f"update recovery.candidate set {START} from (select recoup.now() as now_) t where candidate_id = %s"
    with acting(tx, Authority.CLAIM_WORKER):
        tx.execute(statement.encode(), (made,))


WAYS: tuple[Callable[[Transaction, UUID], None], ...] = (by_function, by_library, by_hand)


def started(tx: Transaction, made: UUID, way: Callable[[Transaction, UUID], None]) -> bool:
    """Whether that way starts it; undone afterwards."""
    found: Any = None
    try:
        with tx.transaction(force_rollback=True):
            way(tx, made)
            found = tx.execute(
                "select c.status, s.attempts_used, l.token is not null from recovery.candidate c"
                " left join recovery.scope s on s.scope_id = c.scope_id"
                " left join recovery.lease l on l.token = c.token where c.candidate_id = %s",
                (made,),
            ).fetchone()
    except psycopg.Error as error:
        assert (error.sqlstate or "").startswith("RC") or error.sqlstate == "23514", error
        return False
    status, attempts, leased = found
    assert status in ("pending", "approved", "executing")
    if status == "executing":
        assert (attempts, leased) == (1, True)
    return bool(status == "executing")


def holds(tx: Transaction, gates: Gates) -> None:
    made = candidate(tx, gates)
    assert {way.__name__: started(tx, made, way) for way in WAYS} == {way.__name__: may_start(gates) for way in WAYS}, (
        str(gates)
    )


# P5 -----------------------------------------------------------------------------------------------------------------

JUST_BELOW = 0.7999999
CLOSED = (
    {"is_automated": False},
    {"requires_approval": True},
    {"confidence": JUST_BELOW},
    {"evidence": 4},
    {"scope": "none"},
    {"scope": "expired"},
    {"scope": "revoked"},
    {"scope": "exhausted"},
    {"held": True},
    {"proposed": True},
    {"stale": True},
    {"paused": "action"},
    {"paused": "table"},
    {"paused": "global"},
    {"floor": 0.9},
    {"least": 6},
    {"retired": True},
    {"now_automated": False},
    {"now_approval": True},
)


def one_closed() -> Iterator[Gates]:
    """All open; each closed alone; and, approved by a person, the same again."""
    for approved in (False, True):
        yield Gates(approved=approved)
        for closed in CLOSED:
            if approved and closed.get("scope") == "none":
                continue  # nothing is approved without a scope
            yield replace(Gates(approved=approved), **closed)


@pytest.mark.parametrize("gates", list(one_closed()), ids=str)
def test_one_closed_gate_is_enough(scratch: Transaction, gates: Gates) -> None:
    holds(scratch, gates)


ROW_GATES = tuple(every((True, False), (False, True), (0.8, JUST_BELOW), (5, 4)))


@pytest.mark.parametrize("scope", ["active", "none", "expired", "revoked", "exhausted"])
@pytest.mark.parametrize(("held", "proposed", "stale"), list(every((False, True), repeat=3)))
def test_every_combination(scratch: Transaction, scope: str, held: bool, proposed: bool, stale: bool) -> None:
    """Of the four gates of P5, with each state of the scope and each reason to wait for a person."""
    for automated, approval, confidence, evidence in ROW_GATES:
        gates = Gates(
            is_automated=automated, requires_approval=approval, confidence=confidence, evidence=evidence, scope=scope,
            held=held, proposed=proposed, stale=stale,
        )  # fmt: skip
        with scratch.transaction(force_rollback=True):
            holds(scratch, gates)


# R6a ----------------------------------------------------------------------------------------------------------------

TYPES = ("retry", "fallback", "circuit_breaker", "reconfigure", "rollback", "escalate", "notify", "manual", "skip")
KINDS = ("error", "intake", "run", "partition", "outside")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("type_", TYPES)
def test_what_is_never_automatic(scratch: Transaction, kind: str, type_: str) -> None:
    """For every kind of subject and type of action, by itself and with an approval."""
    (applies,) = scratch.execute("select recovery.applicable(%s, %s)", (type_, kind)).fetchone() or (None,)
    for approved in (False, True):
        gates = Gates(kind=kind, type=type_, approved=approved)
        with scratch.transaction(force_rollback=True):
            if applies:
                holds(scratch, gates)
            else:
                with pytest.raises(psycopg.Error) as refused:
                    candidate(scratch, gates)
                assert refused.value.sqlstate == "RC084"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("type_", TYPES)
def test_the_row_says_so_too(scratch: Transaction, kind: str, type_: str) -> None:
    """Also of what is not applicable yet: whoever makes it applicable does not make it automatic."""
    scratch.execute("alter table recovery.candidate disable trigger all")
    row = scratch.execute(
        "insert into recovery.candidate (failure_match_id, incident_id, error_signature, subject_kind, action_name,"
        " action_type, parameters, cost, timeout_s, is_automated, requires_approval, scope_id, execute_by, confidence,"
        " confidence_of, evidence, decide_by, policy_version, created_at, updated_at)"
        " values (gen_random_uuid(), gen_random_uuid(), 's', %s, 'a', %s, '{}', 1, 1, true, false, gen_random_uuid(),"
        " now(), 1, 'a', 5, now(), 1, now(), now()) returning automatic, is_ready",
        (kind, type_),
    ).fetchone()
    alone = may_start(Gates(kind=kind, type=type_))
    assert row == (alone, alone)


def test_what_is_held_for_a_person_stays_held(scratch: Transaction) -> None:
    candidate = ready(scratch)
    change(scratch, Authority.EVALUATOR, candidate, "held_for_review = true, updated_at = t.now_")
    with pytest.raises(psycopg.Error, match="held for a person") as refused, scratch.transaction():
        change(scratch, Authority.EVALUATOR, candidate, "held_for_review = false, updated_at = t.now_")
    assert refused.value.sqlstate == "RC084"


def test_a_start_is_claimed_for_a_time(scratch: Transaction) -> None:
    """Not for ever, not in the past, and not earlier or later than now."""
    made = candidate(scratch, Gates())
    for changed in (
        START.replace("interval '5 minutes'", "interval '25 hours'"),
        START.replace("interval '5 minutes'", "interval '0'"),
        START.replace("executed_at = t.now_", "executed_at = t.now_ - interval '1 hour'"),
        START.replace("executed_at = t.now_", "executed_at = t.now_ + interval '1 hour'"),
    ):
        with pytest.raises(psycopg.Error) as refused, scratch.transaction():
            change(scratch, Authority.CLAIM_WORKER, made, changed)
        assert refused.value.sqlstate == "RC080", changed
    start(scratch, made)
