"""A recovery candidate restarts an exhausted intake: once in all, not while its batch is paused, and never by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

import candidates
from company import acting, advance, attempt_and, batch_in, failed_intake, intake_in
from product import chosen
from recoup import gate
from recoup.audit.examine import examine
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import from_database

EXECUTOR, OPERATOR = Authority.EXECUTOR, Authority.OPERATOR
RESTART = (
    "insert into cl.gate_zero_intake (batch_id, company_name, retry_of, created_at, updated_at)"
    " select {batch}, company_name, intake_id, {at}, {at} from cl.gate_zero_intake where intake_id = '{intake}'"
)


@pytest.fixture
def tx(scratch: Transaction) -> Transaction:
    candidates.install(scratch)
    return scratch


def restart(tx: Transaction, intake: UUID, *, batch: str = "null", at: str = "recoup.now()") -> UUID:
    candidates.make(tx, EXECUTOR, RESTART.format(intake=intake, batch=batch, at=at))
    (new,) = tx.execute("select intake_id from cl.gate_zero_intake where retry_of = %s", (intake,)).fetchone() or (
        None,
    )
    assert isinstance(new, UUID)
    return new


def refusal(tx: Transaction, intake: UUID, **more: str) -> Any:
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        restart(tx, intake, **more)
    return caught.value


def broken(tx: Transaction) -> list[str]:
    return [
        one.id
        for one in examine(tx, [i for i in chosen(()) if i.id.startswith(("laws/L4", "laws/L2/fresh", "gate_zero"))])
        if not one.holds
    ]


def exhausted_again(tx: Transaction, intake: UUID) -> None:
    """The restart fails three times as well."""
    for _ in range(3):
        attempt_and(tx, intake, ReasonCode.NO_LINKEDIN_COMPANY)
        advance(tx, timedelta(hours=72))


def test_an_exhausted_intake_is_restarted_and_the_control_log_says_for_whom(tx: Transaction) -> None:
    spent = intake_in(tx, "EXHAUSTED")
    tx.execute("select set_config('recoup.reason', 'candidate 7', true)")
    new = restart(tx, spent)
    told = tx.execute(
        "select event_type, to_status, facts ->> 'retry_of', reason, authority from recoup.control_log"
        " where subject = 'cl.gate_zero_intake' and key = %s",
        (str(new),),
    ).fetchall()
    assert told == [("BIRTH", "PENDING", str(spent), "candidate 7", "recoup_executor")]
    assert broken(tx) == []


def test_by_hand_it_is_refused(tx: Transaction) -> None:
    spent = intake_in(tx, "EXHAUSTED")
    with pytest.raises(psycopg.Error) as caught, tx.transaction(), acting(tx, EXECUTOR):
        tx.execute(RESTART.format(intake=spent, batch="null", at="recoup.now()").encode())
    assert caught.value.sqlstate == "RC012"


def test_a_plain_candidate_is_no_restart(tx: Transaction) -> None:
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        candidates.make(tx, EXECUTOR, "insert into cl.gate_zero_intake (company_name) values ('x')")
    assert caught.value.sqlstate == "RC001"


@pytest.mark.parametrize("status", ["PENDING", "AUTHORIZED", "FAILED", "REENTER_SUCCEEDED"])
def test_only_an_exhausted_one_is_restarted(tx: Transaction, status: str) -> None:
    assert refusal(tx, intake_in(tx, status)).sqlstate == "RC042"


def test_a_restart_is_made_now(tx: Transaction) -> None:
    assert refusal(tx, intake_in(tx, "EXHAUSTED"), at="recoup.now() - interval '1 day'").sqlstate == "RC026"


def test_for_candidates_an_intake_restarts_once(tx: Transaction) -> None:
    """Neither the same again, nor the restart when it is exhausted too. A person may."""
    spent = failed_intake(tx, times=3)
    new = restart(tx, spent)
    refused = from_database(refusal(tx, spent))
    assert refused is not None
    assert refused.code == "restarted_already"
    exhausted_again(tx, new)
    error = refusal(tx, new)
    assert error.sqlstate == "RC120"
    assert str(spent) in str(error.diag.message_primary)
    with acting(tx, OPERATOR):
        assert gate.restart(tx, new)
    assert broken(tx) == []


def test_what_a_person_restarted_is_not_restarted_for_a_candidate(tx: Transaction) -> None:
    with acting(tx, OPERATOR):
        new = gate.restart(tx, failed_intake(tx, times=3))
    exhausted_again(tx, new)
    assert refusal(tx, new).sqlstate == "RC120"


def test_the_restart_obeys_the_pause_of_its_batch(tx: Transaction) -> None:
    """Of the batch that it came from, and of the one that it goes to."""
    paused, other = batch_in(tx, "OPEN"), batch_in(tx, "OPEN")
    spent, elsewhere = failed_intake(tx, times=3, batch_id=paused), failed_intake(tx, times=3, batch_id=other)
    with acting(tx, OPERATOR):
        gate.pause_batch(tx, paused, reason="a look first")
    for intake, batch in ((spent, "null"), (spent, "batch_id"), (elsewhere, f"'{paused}'")):
        error = refusal(tx, intake, batch=batch)
        assert error.sqlstate == "RC024"
        assert paused in str(error.diag.message_primary)
    with acting(tx, OPERATOR):
        gate.resume_batch(tx, paused)
    restart(tx, spent, batch="batch_id")
    restart(tx, elsewhere)


def test_the_audit_finds_a_second_restart_for_a_candidate(tx: Transaction) -> None:
    new = restart(tx, failed_intake(tx, times=3))
    exhausted_again(tx, new)
    with acting(tx, OPERATOR):
        second = gate.restart(tx, new)
    tx.execute("alter table recoup.control_log disable trigger all")
    tx.execute("update recoup.control_log set authority = 'recoup_executor' where key = %s", (str(second),))
    assert broken(tx) == ["laws/L4/restarted-once-by-recovery"]


def test_a_hub_restarts_nothing(tx: Transaction) -> None:
    spent = intake_in(tx, "EXHAUSTED")
    with pytest.raises(psycopg.Error) as caught, tx.transaction(), acting(tx, Authority.HUB):
        tx.execute(RESTART.format(intake=spent, batch="null", at="recoup.now()").encode())
    assert caught.value.sqlstate == "RC042"
