"""Fresh starts: an exhausted intake is followed by a new one, once, and stays what it is."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from company import acting, intake_in
from product import chosen
from recoup import gate, mint
from recoup.audit.examine import audit
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import LawRefused, Refusal
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from desk import WINDOW, Desk

sys.path.insert(0, str(Path(__file__).parents[1] / "races"))
from racing import PATIENCE_S, kinds, together

STANDS = (
    "select to_jsonb(i), to_jsonb(r) from cl.gate_zero_intake i left join cl.gate_zero_recovery r using (intake_id)"
)


@pytest.fixture(scope="module")
def desk(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Desk]:
    with Database(server.uri(new_database()), settings) as database:
        yield Desk(database)


def restart(desk: Desk, intake: UUID, **better: Any) -> UUID:
    with desk.db.transaction(Authority.OPERATOR) as tx:
        return gate.restart(tx, intake, **better)


def stands(desk: Desk, intake: UUID) -> list[Any]:
    """All that is known of an intake, its recovery and its events."""
    events = "select to_jsonb(e) from cl.gate_zero_air e where entity_id = %s order by seq"
    return desk.rows(f"{STANDS} where intake_id = %s", intake) + desk.rows(events, intake)


def found(desk: Desk, intake: UUID) -> gate.Intake:
    with desk.db.transaction(Authority.READER) as tx:
        (intake_,) = gate.find_intakes(tx, [intake])
    return intake_


def spent_by_attempts(desk: Desk) -> UUID:
    return desk.failed(times=3)


def spent_by_window(desk: Desk) -> UUID:
    """Exhausted by its batch's freeze, with attempts to spare."""
    intake = desk.failed(batch_id=desk.batch(completed=True))
    desk.advance(WINDOW)
    assert intake in desk.freeze().exhausted
    return intake


@pytest.mark.parametrize(
    ("spent", "reason", "attempts"),
    [(spent_by_attempts, "MAX_ATTEMPTS_REACHED", 3), (spent_by_window, "RECOVERY_WINDOW_CLOSED", 1)],
)
def test_an_exhausted_intake_is_restarted_and_stays_what_it_is(
    desk: Desk, spent: Callable[[Desk], UUID], reason: str, attempts: int
) -> None:
    """Whatever exhausted it. The new one has its data, waits for its first attempt, and belongs to no batch."""
    exhausted = spent(desk)
    before = stands(desk, exhausted)
    new = found(desk, restart(desk, exhausted))
    assert (new.status, new.retry_of, new.reentered_from, new.batch_id) == ("PENDING", exhausted, None, None)
    assert (new.company_name, new.company_domain, new.state) == ("Acme", None, "TX")
    assert (new.created_at, new.attempt_count) == (desk.now(), None)
    with desk.db.transaction(Authority.READER) as tx:
        (told,) = [e for e in gate.exhausted(tx, limit=1000) if e.intake_id == exhausted]
    assert (told.ended_by, told.attempt_count, told.restarted_as) == (reason, attempts, new.intake_id)

    desk.finish(desk.open(new.intake_id), None)
    assert desk.word(new.intake_id) == "SPA"
    assert stands(desk, exhausted) == before


def test_what_is_known_better_replaces_what_was_given(desk: Desk) -> None:
    """Name, domain, page, state and batch; of the exhausted one nothing changes."""
    exhausted, batch = spent_by_attempts(desk), desk.batch()
    before = stands(desk, exhausted)
    better = {
        "company_name": "Acme Dental", "company_domain": "acme.example", "linkedin_url": "https://l.example/acme",
        "state": "OK",
    }  # fmt: skip
    new = restart(desk, exhausted, **better, batch_id=batch)
    columns = "company_name, company_domain, linkedin_url, state, batch_id, retry_of"
    (row,) = desk.rows(f"select {columns} from cl.gate_zero_intake where intake_id = %s", new)
    assert row == (*better.values(), batch, exhausted)
    assert stands(desk, exhausted) == before


def test_a_fresh_start_has_three_attempts_of_its_own(desk: Desk) -> None:
    """It waits, is exhausted and is started afresh like any other: one follows the other, and the audit agrees."""
    first = spent_by_attempts(desk)
    second = restart(desk, first)
    for number in range(3):
        if number:
            with pytest.raises(LawRefused) as caught:
                desk.open(second)
            assert caught.value.code == "attempt_too_early"
            desk.wait(second)
        desk.finish(desk.open(second), ReasonCode.STATE_MISSING)
    assert found(desk, second).status == "EXHAUSTED"
    third = restart(desk, second, state="OK")
    assert desk.lawful(first, second, third) == ["SFRFRFM", "SFRFRFM", ""]
    with contextlib.closing(connect(desk.db.conninfo, desk.db.settings)) as connection:
        verdicts = audit(connection, chosen(["laws/L4", "rebuild", "gate_zero_recovery/7"]))
    assert [verdict for verdict in verdicts if not verdict.holds] == []


def test_a_lineage_of_fresh_starts_is_minted_once_at_its_end(desk: Desk) -> None:
    """Exhausted, started afresh, failed, recovered: the identity is of the intake that re-entered, and there is one."""
    exhausted = spent_by_attempts(desk)
    again = restart(desk, exhausted, company_name="Acme Dental")
    desk.finish(desk.open(again))
    desk.wait(again)
    reentered = desk.finish(desk.open(again), None).reentered_as
    minted: list[mint.Identity] = []
    while True:
        with desk.db.transaction(Authority.MINT) as tx:
            page = mint.mint(tx)
        if not page.events:
            break
        minted += page.identities
    lineage = {exhausted, again, reentered}
    assert [(i.intake_id, i.company_name) for i in minted if i.intake_id in lineage] == [(reentered, "Acme Dental")]


@pytest.mark.parametrize("status", ["PENDING", "AUTHORIZED", "FAILED", "REENTER_SUCCEEDED"])
def test_nothing_else_is_restarted(desk: Desk, status: str) -> None:
    """What waits will be tried, what failed may recover, what passed has passed."""
    with desk.db.transaction(Authority.GATE) as tx:
        intake = intake_in(tx, status)
    with pytest.raises(LawRefused) as caught:
        restart(desk, intake)
    assert caught.value.code == "restart_not_exhausted"
    assert caught.value.facts["status"] == status
    assert str(intake) in caught.value.next_step


def test_what_has_an_attempt_under_way_is_not_restarted(desk: Desk) -> None:
    """Its third attempt may still pass."""
    intake = desk.failed(times=2)
    desk.wait(intake)
    attempt = desk.open(intake)
    with pytest.raises(LawRefused) as caught:
        restart(desk, intake)
    assert caught.value.code == "restart_not_exhausted"
    desk.finish(attempt)
    assert found(desk, restart(desk, intake)).status == "PENDING"


def test_once(desk: Desk) -> None:
    """A second fresh start is refused, and says where to go on."""
    exhausted = spent_by_attempts(desk)
    restart(desk, exhausted)
    with pytest.raises(LawRefused) as caught:
        restart(desk, exhausted)
    assert caught.value.code == "restarted_already"
    assert "Restart the intake that follows it" in caught.value.next_step


@pytest.mark.parametrize("times", [2, 6])
def test_two_who_restart_it_at_once_make_one(desk: Desk, times: int) -> None:
    """One wins, the others are told."""
    for _ in range(5):
        exhausted = spent_by_attempts(desk)
        done, refused = kinds(together(*[lambda exhausted=exhausted: restart(desk, exhausted)] * times))
        assert len(done) == 1
        assert refused == ["restarted_already"] * (times - 1)
        assert desk.rows("select intake_id from cl.gate_zero_intake where retry_of = %s", exhausted) == [tuple(done)]


@pytest.mark.parametrize("first_commits", [True, False])
def test_the_second_waits_for_the_first_and_takes_its_place_if_that_comes_to_nothing(
    desk: Desk, first_commits: bool
) -> None:
    """Spelled out: the first holds its transaction open until the second is seen waiting for it."""
    exhausted = spent_by_attempts(desk)
    with ThreadPoolExecutor(1) as aside, psycopg.connect(desk.db.conninfo) as first:
        first.execute("select set_config('role', %s, true)", (Authority.OPERATOR.role,))
        gate.restart(first, exhausted)
        second = aside.submit(restart, desk, exhausted)
        deadline = time.monotonic() + PATIENCE_S
        waiting = "select from pg_stat_activity where %s = any(pg_blocking_pids(pid))"
        while not desk.rows(waiting, first.info.backend_pid):
            assert not second.done(), second.result()
            assert time.monotonic() < deadline
        first.commit() if first_commits else first.rollback()
        if first_commits:
            with pytest.raises(LawRefused) as caught:
                second.result(PATIENCE_S)
            assert caught.value.code == "restarted_already"
        else:
            assert found(desk, second.result(PATIENCE_S)).retry_of == exhausted
    assert desk.rows("select count(*) from cl.gate_zero_intake where retry_of = %s", exhausted) == [(1,)]


def test_what_makes_no_sense_is_refused_in_words(desk: Desk) -> None:
    """An intake or a batch that does not exist, a company without a name; and nothing is made."""
    exhausted = spent_by_attempts(desk)
    for code, intake, better in (
        ("intake_unknown", uuid4(), {}),
        ("batch_unknown", exhausted, {"batch_id": "nowhere"}),
        ("intake_unnamed", exhausted, {"company_name": "  "}),
        ("intake_unnamed", exhausted, {"company_name": ""}),
        ("text_unprintable", exhausted, {"state": "T\x00X"}),
    ):
        with pytest.raises(Refusal) as caught:
            restart(desk, intake, **better)
        assert caught.value.code == code
    assert desk.rows("select from cl.gate_zero_intake where retry_of = %s", exhausted) == []


CANDIDATE = "insert into cl.gate_zero_intake (company_name, retry_of{column}) values ('x', %s{value})"


@pytest.fixture
def spent(scratch: Transaction) -> UUID:
    return intake_in(scratch, "EXHAUSTED")


def said(tx: Transaction, who: Authority, statement: str, *parameters: Any) -> str | None:
    try:
        with tx.transaction(force_rollback=True), acting(tx, who):
            tx.execute(statement, parameters)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_an_operator_makes_no_other_intake(scratch: Transaction, spent: UUID) -> None:
    """Neither a candidate of its own, nor one that is authorised or re-entered; nor one of yesterday or tomorrow."""
    plain, status = CANDIDATE.format(column="", value=""), CANDIDATE.format(column=", status", value=", 'AUTHORIZED'")
    dated = CANDIDATE.format(column=", created_at", value=", recoup.now() + %s::interval")
    operator = Authority.OPERATOR
    assert said(scratch, operator, plain, spent) is None
    assert said(scratch, operator, plain, None) == "RC001"
    assert said(scratch, operator, status, spent) == "42501"
    assert said(scratch, operator, dated, spent, "-1 second") == "RC026"
    assert said(scratch, operator, dated, spent, "1 minute") == "RC026"
    assert said(scratch, operator, "update cl.gate_zero_intake set state = 'OK' where intake_id = %s", spent) == "42501"


@pytest.mark.parametrize("who", [a for a in Authority if a not in (Authority.OPERATOR, Authority.HUB, Authority.GATE)])
def test_others_restart_nothing(scratch: Transaction, spent: UUID, who: Authority) -> None:
    """The executor does for a recovery candidate (test_restart_by_candidate.py), and by hand no more than others."""
    refused = ("RC012",) if who is Authority.EXECUTOR else ("42501", "RC001")
    assert said(scratch, who, CANDIDATE.format(column="", value=""), spent) in refused


def test_what_a_fresh_start_follows_is_never_changed(scratch: Transaction, spent: UUID) -> None:
    """Not even by the gate, which may write the table."""
    with acting(scratch, Authority.OPERATOR):
        new = gate.restart(scratch, spent)
    other = intake_in(scratch, "EXHAUSTED")
    for change in ("retry_of = null", f"retry_of = '{other}'", "company_name = 'y'"):
        statement = f"update cl.gate_zero_intake set {change} where intake_id = %s"
        assert said(scratch, Authority.GATE, statement, new) in ("RC002", "RC005")
