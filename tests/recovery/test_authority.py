"""The contract's tables, cell by cell: who cannot touch what, which mutations are forbidden, which are allowed.

A thing is refused to the authority that must not touch it, and by hand to the owner and to a superuser as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from company import acting, advance, run_in
from incidents import (
    APPROVE,
    BORN,
    DONE,
    MANUAL,
    NOTIFY,
    REJECT,
    RETRY,
    SCOPE_ROW,
    SKIPPED,
    START,
    approve,
    candidate_in,
    change,
    end_scope,
    make_effect,
    new_candidate,
    new_match,
    new_scope,
    person,
    rate,
    ready,
    select_action,
    start,
)
from recoup.database.connection import Transaction
from recoup.database.roles import OWNER
from recoup.lifecycles.declaration import Authority

NO_RIGHT, CHECKED, NO_VIEW = "42501", "23514", "55000"
MOVE = "update recovery.candidate set {} from (select recoup.now() as now_) t where candidate_id = %(candidate)s"
RUN = "update recovery.run set {} from (select recoup.now() as now_) t where run_id = %(run)s"
EFFECT = "effect_made_at = t.now_, reported = 'succeeded', updated_at = t.now_"
RATE = "confidence = 0.99, confidence_of = action_name, evidence = 99, updated_at = t.now_"
FINISHED = "status = 'succeeded', finished_at = t.now_, ended_with = token"
BEGUN = "status = 'running', token = gen_random_uuid(), started_at = t.now_, heartbeat_at = t.now_"

Statement = str
Setting = Callable[[Transaction], dict[str, Any]]


@dataclass(frozen=True)
class Cell:
    """What must not be touched, in a situation in which it could be."""

    setting: Setting
    statements: tuple[Statement, ...]


def a_candidate(status: str) -> Setting:
    return lambda tx: {"candidate": candidate_in(tx, status)}


def a_run(status: str) -> Setting:
    return lambda tx: {"run": run_in(tx, status)}


def history(tx: Transaction) -> dict[str, Any]:
    return {"candidate": candidate_in(tx, "succeeded"), "run": run_in(tx, "crashed")}


def a_match(tx: Transaction) -> dict[str, Any]:
    return {"match": new_match(tx).match_id, "proposer": None, "action": RETRY}


def an_incident(tx: Transaction) -> dict[str, Any]:
    return {"incident": new_match(tx).incident_id, "actions": [RETRY], "attempts": 1, "cost": 1, "ttl": 60}


RUN_STATE = tuple(RUN.format(s) for s in (FINISHED, "status = 'crashed', finished_at = t.now_, crash_reason = 'x'",
                                          "heartbeat_at = t.now_"))  # fmt: skip
HISTORY = (
    "update recovery.run_trace set reason = 'forged' where run_id = %(run)s",
    "delete from recovery.run_trace where run_id = %(run)s",
    "truncate recovery.run_trace",
    "update recovery.provenance set reason = 'forged'",
    "delete from recovery.provenance",
    "truncate recovery.provenance",
)
COMPLETED = (
    *(RUN.format(change_) for change_ in ("result = '1'", "message = 'forged'", "finished_at = t.now_",
                                          "status = 'queued', finished_at = null, ended_with = null, token = null,"
                                          " started_at = null, heartbeat_at = null, queued_at = t.now_")),
    "delete from recovery.run where run_id = %(run)s",
    "truncate recovery.run cascade",
)  # fmt: skip
CANDIDATE_STATE = tuple(MOVE.format(s) for s in (APPROVE, REJECT, START, SKIPPED, RATE, "held_for_review = true"))
CANNOT_TOUCH = {
    (Authority.MATCHER, "action execution"): Cell(a_candidate("pending"), (MOVE.format(START),)),
    (Authority.MATCHER, "run state"): Cell(a_run("running"), RUN_STATE),
    (Authority.EVALUATOR, "candidate approval"): Cell(
        a_candidate("pending"), (MOVE.format(APPROVE), MOVE.format(REJECT))
    ),
    (Authority.EVALUATOR, "scope creation"): Cell(an_incident, (f"insert into recovery.scope {SCOPE_ROW}",)),
    (Authority.CLAIM_WORKER, "candidate creation"): Cell(a_match, (f"insert into recovery.candidate {BORN}",)),
    (Authority.CLAIM_WORKER, "action templates"): Cell(
        lambda _: {},
        (
            "update recovery.action set requires_approval = false",
            "insert into recovery.action (action_name) values ('forged')",
            "update recoup.policy set figures = '{}'",
            "delete from recoup.policy",
            "insert into recoup.policy (version, document, figures, reason, incarnation, applied_at, actor, actor_id,"
            " authority) select max(version) + 1, '', '{}', 'r', 1, recoup.now(), 'human', 'mallory', 'x'"
            " from recoup.policy",
        ),
    ),
    (Authority.RULE_ENGINE, "candidate state"): Cell(a_candidate("pending"), CANDIDATE_STATE),
    (Authority.RULE_ENGINE, "execution results"): Cell(
        a_candidate("executing"), tuple(MOVE.format(s) for s in (EFFECT, DONE.format("succeeded"), "result = '1'"))
    ),
    (Authority.ORPHAN_RECOVERY, "run execution"): Cell(
        a_run("running"), (RUN.format(FINISHED), RUN.format("heartbeat_at = t.now_"), RUN.format("result = '1'"))
    ),
    (Authority.ORPHAN_RECOVERY, "historical mutation"): Cell(history, (*HISTORY, *COMPLETED)),
    (Authority.SCOPED_EXECUTION, "candidate state"): Cell(a_candidate("pending"), CANDIDATE_STATE),
    (Authority.SCOPED_EXECUTION, "run completion"): Cell(a_run("running"), RUN_STATE),
    (Authority.REVIEWER, "direct execution"): Cell(
        a_candidate("approved"), (MOVE.format(START), MOVE.format(EFFECT), MOVE.format(DONE.format("succeeded")))
    ),
    (Authority.REVIEWER, "confidence scoring"): Cell(a_candidate("pending"), (MOVE.format(RATE),)),
}  # fmt: skip


def cells() -> Iterator[Any]:
    for (holder, thing), cell in CANNOT_TOUCH.items():
        for actor in (holder, OWNER, None):
            name = f"{holder} cannot touch {thing}" + ("" if actor is holder else f", nor {actor or 'a superuser'}")
            yield pytest.param(actor, cell, id=name)


def said(tx: Transaction, actor: Authority | str | None, statement: str, given: dict[str, Any]) -> str:
    """The SQLSTATE of a refusal; the statement is undone if it is not refused."""
    try:
        with tx.transaction(force_rollback=True), acting(tx, actor), person(tx, "ann"):
            assert tx.execute(statement.encode(), given).rowcount != 0, "it finds nothing to touch"
    except psycopg.Error as error:
        return error.sqlstate or "?"
    return "done"


def is_refusal(state: str, actor: Authority | str | None, statement: str) -> bool:
    """A law of ours or a CHECK; of an authority, also the lack of a right."""
    if state == NO_VIEW:  # the catalogue is a view of the policy: nobody writes through it
        return "recovery.action " in statement
    return state.startswith("RC") or state == CHECKED or (state == NO_RIGHT and isinstance(actor, Authority))


@pytest.mark.parametrize(("actor", "cell"), list(cells()))
def test_cannot_touch(scratch: Transaction, actor: Authority | str | None, cell: Cell) -> None:
    given = cell.setting(scratch)
    for statement in cell.statements:
        state = said(scratch, actor, statement, given)
        assert is_refusal(state, actor, statement), f"{state}: {statement}"


# Forbidden, to everybody --------------------------------------------------------------------------------------------


def unscoped(tx: Transaction) -> dict[str, Any]:
    candidate = new_candidate(tx, new_match(tx))
    select_action(tx, candidate)
    rate(tx, candidate)
    return {"candidate": candidate}


def within(status: str) -> Setting:
    """A candidate whose scope ended; it was approved before."""

    def setting(tx: Transaction) -> dict[str, Any]:
        match = new_match(tx)
        scope = new_scope(tx, match.incident_id, attempts=1, ttl=60)
        candidate = approve(tx, ready(tx, match, scope=scope))
        if status == "exhausted":
            start(tx, ready(tx, new_match(tx, like=match), scope=scope))
        elif status == "revoked":
            end_scope(tx, scope, "revoked")
        else:
            advance(tx, timedelta(seconds=61))
        return {"candidate": candidate}

    return setting


def of_another(what: str) -> Setting:
    """A candidate in a scope that is not for it: of another incident, or for another action."""

    def setting(tx: Transaction) -> dict[str, Any]:
        match = new_match(tx)
        incident = new_match(tx).incident_id if what == "incident" else match.incident_id
        scope = new_scope(tx, incident, (RETRY,) if what == "incident" else (NOTIFY,))
        return {"candidate": approve(tx, ready(tx, match, scope=scope))}

    return setting


AGAIN = MOVE.format(START)
RESET = MOVE.format(
    "status = 'approved', executed_at = null, worker = null, token = null, lease_until = null, effect_made_at = null,"
    " reported = null, finished_at = null, decided_by = 'ann', decided_at = t.now_"
)
FORBIDDEN = {
    "historical execution data": Cell(
        history,
        (
            *HISTORY,
            *(MOVE.format(s) for s in ("result = '1'", "error = 'x'", "executed_at = t.now_", "worker = 'x'",
                                       "status = 'failed', error = 'x'", "overridden_by = 'x'")),
            "delete from recovery.candidate where candidate_id = %(candidate)s",
            "truncate recovery.candidate cascade",
        ),
    ),
    **{
        f"completed run modification ({status})": Cell(a_run(status), COMPLETED)
        for status in ("succeeded", "failed", "crashed")
    },
    "provenance deletion": Cell(history, tuple(s for s in HISTORY if "provenance" in s)),
    "silent crash loss": Cell(
        a_run("running"),
        (
            "delete from recovery.run where run_id = %(run)s",
            "truncate recovery.run cascade",
            RUN.format("status = 'queued', token = null, started_at = null, heartbeat_at = null, queued_at = t.now_"),
            RUN.format("owner = 'nobody', kind = 'other'"),
        ),
    ),
    **{
        f"multiple executions of same candidate ({status})": Cell(a_candidate(status), (AGAIN, RESET))
        for status in ("executing", "succeeded", "failed", "rolled_back")
    },
    **{
        f"historical execution data (another action, {status})": Cell(
            a_candidate(status),
            tuple(
                MOVE.format(f"{move}, {forged}")
                for move in moves
                for forged in (
                    "parameters = '[1]'", "action_name = 'skip_step', action_type = 'skip'", "cost = 99",
                    "timeout_s = 9", "scope_id = gen_random_uuid()", "held_for_review = true",
                    "execute_by = t.now_ + interval '9 days'", "is_automated = not is_automated",
                )
            ),
        )
        for status, moves in (
            ("executing", ("overridden_by = 'x', updated_at = t.now_", DONE.format("succeeded"))),
            ("approved", (SKIPPED,)),
        )
    },
    "execution without valid scope (none)": Cell(unscoped, (AGAIN,)),
    "execution without valid scope (exhausted)": Cell(within("exhausted"), (AGAIN,)),
    "execution without valid scope (expired)": Cell(within("expired"), (AGAIN,)),
    "execution without valid scope (revoked)": Cell(within("revoked"), (AGAIN,)),
    "execution without valid scope (of another incident)": Cell(of_another("incident"), (AGAIN,)),
    "execution without valid scope (for another action)": Cell(of_another("action"), (AGAIN,)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden(scratch: Transaction, name: str) -> None:
    cell = FORBIDDEN[name]
    given = cell.setting(scratch)
    for statement in cell.statements:
        for actor in (*Authority, OWNER, None):
            state = said(scratch, actor, statement, given)
            assert is_refusal(state, actor, statement), f"{actor} {state}: {statement}"


# Allowed ------------------------------------------------------------------------------------------------------------


def events(tx: Transaction, candidate: UUID) -> list[str]:
    found = tx.execute(
        "select event_type from recovery.provenance where candidate_id = %s order by seq", (candidate,)
    ).fetchall()
    return [event for (event,) in found]


def value(tx: Transaction, candidate: UUID, column: str) -> Any:
    (found,) = tx.execute(
        f"select {column} from recovery.candidate where candidate_id = %s".encode(), (candidate,)
    ).fetchone() or (None,)
    return found


def candidate_status_transitions(tx: Transaction) -> None:
    candidate = start(tx, approve(tx, ready(tx)))
    change(tx, Authority.EVALUATOR, candidate, DONE.format("succeeded"))
    assert value(tx, candidate, "status") == "succeeded"


def confidence_score_updates(tx: Transaction) -> None:
    candidate = ready(tx)
    rate(tx, candidate, 0.4, 50)
    assert (value(tx, candidate, "confidence"), value(tx, candidate, "evidence")) == (0.4, 50)


def decision_recording(tx: Transaction) -> None:
    approved, rejected = approve(tx, ready(tx), "ann"), candidate_in(tx, "rejected")
    assert value(tx, approved, "decided_by") == value(tx, rejected, "decided_by") == "ann"
    assert "approved" in events(tx, approved)
    assert "rejected" in events(tx, rejected)


def provenance_event_insertion(tx: Transaction) -> None:
    candidate = start(tx, approve(tx, ready(tx, action=MANUAL)))
    assert make_effect(tx, candidate) == "made"
    assert events(tx, candidate) == [
        "created", "action_selected", "confidence_updated", "approved", "executed", "effect_made",
    ]  # fmt: skip


def execution_result_recording(tx: Transaction) -> None:
    for status, event in (("succeeded", "success"), ("failed", "failure"), ("rolled_back", "rolled_back")):
        candidate = start(tx, ready(tx))
        change(tx, Authority.EVALUATOR, candidate, DONE.format(status) + ", error = 'x', result = '[1]'")
        assert value(tx, candidate, "result") == [1]
        assert events(tx, candidate)[-1] == event


def orphan_marking(tx: Transaction) -> None:
    run = run_in(tx, "crashed")
    found = tx.execute("select status, crash_reason from recovery.run where run_id = %s", (run,)).fetchone()
    assert found == ("crashed", "silent")
    told = tx.execute(
        "select event_type from recovery.run_trace where run_id = %s order by seq desc limit 1", (run,)
    ).fetchone()
    assert told == ("crashed",)


def new_retry_run_creation(tx: Transaction) -> None:
    run = run_in(tx, "crashed")
    before = tx.execute("select * from recovery.run where run_id = %s", (run,)).fetchone()
    candidate = start(tx, ready(tx, new_match(tx, "run", ref=str(run))))
    assert make_effect(tx, candidate) == "made"
    made = tx.execute(
        "select status, retry_of, candidate_id, input from recovery.run where retry_of = %s", (run,)
    ).fetchall()
    assert made == [("queued", run, candidate, {"day": 1})]
    assert tx.execute("select * from recovery.run where run_id = %s", (run,)).fetchone() == before


ALLOWED = (
    candidate_status_transitions, confidence_score_updates, decision_recording, provenance_event_insertion,
    execution_result_recording, orphan_marking, new_retry_run_creation,
)  # fmt: skip


@pytest.mark.parametrize("mutation", ALLOWED, ids=lambda one: one.__name__.replace("_", " "))
def test_allowed(scratch: Transaction, mutation: Callable[[Transaction], None]) -> None:
    mutation(scratch)


def test_every_holder_and_every_mutation_of_the_contract_is_here() -> None:
    holders = {holder for holder, _ in CANNOT_TOUCH}
    assert len(holders) == 7
    assert all(sum(holder is one for one, _ in CANNOT_TOUCH) == 2 for holder in holders)
    assert len({name.partition(" (")[0] for name in FORBIDDEN}) == 6
    assert len(ALLOWED) == 7
