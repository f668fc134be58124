"""Verification as a flow, against the local world: what is true comes out, whatever happens to those who look."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest

from product import DUTIES, apply_policy, pause, resume
from recoup import clock, gate
from recoup.database import embedded
from recoup.database.connection import Database
from recoup.gate import verifying
from recoup.gate.verifying import Tally
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.worker.loop import WorkerLoop
from recoup.worker.standalone import Standalone
from recoup_demo.gate import policy_document
from recoup_demo.world import Company, Kind, World

PATIENCE_S = 60
# With many at once on a busy machine our own slowness would pass for the world's.
PATIENT = {"at_once": 60, "dns_timeout_ms": 4000, "site_timeout_ms": 4000, "directory_timeout_ms": 4000}
SLOW = (Kind.DNS_SILENT, Kind.SLOW_SITE, Kind.SLOW_DIRECTORY)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(400) as world:
        yield world


@pytest.fixture
def own(fresh: Callable[..., Database], world: World) -> Database:
    """A database of the test's own, whose policy knows the world."""
    database = fresh()
    apply(database, policy_document(world, **PATIENT))
    world.day = 0
    return database


def apply(database: Database, document: str) -> None:
    with database.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, document, reason="a test")


def bring_in(database: Database, companies: Sequence[Company]) -> list[UUID]:
    new = [
        gate.NewIntake(company_name=c.name, company_domain=c.domain, linkedin_url=c.linkedin_url, state=c.state)
        for c in companies
    ]
    with database.transaction(Authority.HUB) as tx:
        return gate.add_intakes(tx, new)


def verdicts(database: Database) -> dict[UUID, str | None]:
    """What AIR says of each intake last: a reason, or None for AUTH."""
    with database.transaction(Authority.READER) as tx:
        return dict(
            tx.execute(
                "select distinct on (entity_id) entity_id, case event_type when 'FAIL' then reason_code end"
                "  from cl.gate_zero_air where event_type in ('AUTH', 'FAIL') order by entity_id, seq desc"
            ).fetchall()
        )


def open_attempts(database: Database) -> int:
    with database.transaction(Authority.READER) as tx:
        row = tx.execute("select count(*) from cl.gate_zero_attempt where status = 'open'").fetchone()
    assert row is not None
    return int(row[0])


def quick(companies: Sequence[Company], count: int) -> list[Company]:
    """Companies that answer at once."""
    return [c for c in companies if c.kind not in SLOW][:count]


def test_what_is_true_is_what_comes_out(own: Database, world: World) -> None:
    """Each verdict, as the log has it, is the world's truth; with evidence, and in one ATTEMPT each."""
    intakes = bring_in(own, world.companies)
    tally = verifying.verify(Standalone(own, Authority.GATE, name="tester"), retries=False)
    found = verdicts(own)
    wrong = [
        (c.name, c.kind.value, c.truth_on(0), found[i])
        for c, i in zip(world.companies, intakes, strict=True)
        if c.truth_on(0) != found[i]
    ]
    assert not wrong
    assert (tally.claimed, tally.done, tally.late, tally.refused) == (400, 400, 0, 0)
    assert tally.passed == sum(c.truth_on(0) is None for c in world.companies)
    assert open_attempts(own) == 0
    with own.transaction(Authority.READER) as tx:
        bare = tx.execute("select from cl.gate_zero_attempt where payload_ref is null").rowcount
        actors = tx.execute("select distinct actor, actor_id from cl.gate_zero_air").fetchall()
    assert bare == 0
    assert actors == [("system", "tester")]


def test_retries_see_the_world_as_it_is_by_then(own: Database, world: World) -> None:
    """After the wait, only those that failed are looked at, and those that recovered pass."""
    companies = quick(world.companies, 200)
    intakes = bring_in(own, companies)
    verifying.verify(Standalone(own, Authority.GATE, name="tester"), retries=False)
    assert (
        verifying.verify(Standalone(own, Authority.GATE, name="tester"), retries=True).claimed == 0
    )  # not before its time
    with own.transaction(Authority.OPERATOR) as tx:
        clock.advance(tx, timedelta(hours=24))
    world.day = 1
    tally = verifying.verify(Standalone(own, Authority.GATE, name="tester"), retries=True)
    failed = [c for c in companies if c.truth_on(0) is not None]
    assert tally.claimed == len(failed)
    found = verdicts(own)
    for company, intake in zip(companies, intakes, strict=True):
        if company.kind is not Kind.NOW_AND_THEN:  # goes by how often it was asked
            assert found[intake] == (company.truth_on(1) if company in failed else None), company


def test_without_a_directory_nothing_is_claimed(fresh: Callable[..., Database], world: World) -> None:
    """Nobody loses an attempt because the policy is not finished; and nobody complains while nothing waits."""
    database = fresh()
    assert verifying.verify(Standalone(database, Authority.GATE, name="tester"), retries=False).claimed == 0
    bring_in(database, world.companies[:3])
    with pytest.raises(InputRefused) as caught:
        verifying.verify(Standalone(database, Authority.GATE, name="tester"), retries=False)
    assert caught.value.code == "directory_missing"
    assert open_attempts(database) == 0
    assert verdicts(database) == {}


def test_told_to_stop_it_finishes_what_it_looks_at(own: Database, world: World) -> None:
    """Nothing more is claimed, and nothing is left open."""
    bring_in(own, quick(world.companies, 300))
    apply(own, policy_document(world, **{**PATIENT, "at_once": 20}))
    hands = Standalone(own, Authority.GATE, name="tester")

    def stop(_: Tally) -> None:
        hands.stopping = True

    tally = verifying.verify(hands, retries=False, tell=stop)
    assert tally.claimed == tally.done == 20
    assert open_attempts(own) == 0
    assert verifying.verify(Standalone(own, Authority.GATE, name="tester"), retries=False).done == 280


def test_another_policy_begins_another_flow(own: Database, world: World) -> None:
    """What was claimed under the old rules is looked at by them; then the flow ends, for a new one to begin."""
    bring_in(own, quick(world.companies, 100))
    apply(own, policy_document(world, **{**PATIENT, "at_once": 20}))
    hands = Standalone(own, Authority.GATE, name="tester")

    def change(_: Tally) -> None:
        apply(own, policy_document(world, **{**PATIENT, "at_once": 50}))
        hands.__init__(own, Authority.GATE, name="tester")  # type: ignore[misc] # as a worker's heartbeat does

    assert verifying.verify(hands, retries=False, tell=change).done == 20
    assert verifying.verify(hands, retries=False).done == 80


def test_a_broken_connection_loses_nothing(own: Database, world: World, server: embedded.Server) -> None:
    """The server ends every connection again and again; what was found is kept and written."""
    intakes = bring_in(own, quick(world.companies, 200))
    apply(own, policy_document(world, **{**PATIENT, "at_once": 20}))
    (name,) = [part.removeprefix("dbname=") for part in own.conninfo.split() if part.startswith("dbname=")] or [
        own.conninfo.rpartition("/")[2].partition("?")[0]
    ]
    ended = 0
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:

        def cut(tally: Tally) -> None:
            nonlocal ended
            if tally.turns % 3 == 1:
                done = admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s and backend_type = %s",
                    (name, "client backend"),
                )
                ended += done.rowcount

        found: dict[UUID, str | None] = {}
        for _ in range(50):
            # A claim that was cut off: nothing was found yet. Or our own question was, a moment after the last turn.
            with contextlib.suppress(psycopg.OperationalError):
                verifying.verify(Standalone(own, Authority.GATE, name="tester"), retries=False, tell=cut)
                found = verdicts(own)
                if open_attempts(own) == 0 and len(found) == len(intakes):
                    break
        else:
            pytest.fail("something was lost on the way")
    assert ended > 0
    companies = quick(world.companies, 200)
    assert [found[i] for i in intakes] == [c.truth_on(0) for c in companies]


def test_an_attempt_that_was_swept_meanwhile_is_late(own: Database, world: World) -> None:
    """Its result is stored and not applied; the crash counted."""
    (intake,) = bring_in(own, [next(c for c in world.companies if c.kind is Kind.GOOD)])

    def sweep(_: Tally) -> None:
        with own.transaction(Authority.OPERATOR) as tx:
            clock.advance(tx, timedelta(hours=1))
        with own.transaction(Authority.GATE) as tx:
            gate.sweep_crashed(tx)

    tally = verifying.verify(Standalone(own, Authority.GATE, name="tester"), retries=False, tell=sweep)
    assert (tally.claimed, tally.passed, tally.late) == (1, 0, 1)
    assert verdicts(own) == {intake: "TIMEOUT"}


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_a_worker_does_it_all_by_itself(fresh: Callable[..., Database], world: World) -> None:
    """In real time: intakes come in, are looked at, minted; a paused duty takes on nothing until it is resumed."""
    own = fresh(simulated_from=None)
    world.day = 0
    apply(own, policy_document(world, **PATIENT))
    companies = quick(world.companies, 150)
    with own.transaction(Authority.OPERATOR) as tx:
        pause(tx, "duty", "verify", reason="not yet")
    wanted = [duty for duty in DUTIES if duty.name in ("verify", "gate-retry", "mint", "attempt-sweep")]
    worker = WorkerLoop(own, wanted, name="all-by-itself")
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        intakes = bring_in(own, companies)
        until(lambda: tallied(own, "mint") is not None)
        assert open_attempts(own) == 0
        assert verdicts(own) == {}
        with own.transaction(Authority.OPERATOR) as tx:
            resume(tx, "duty", "verify", reason="now")
        passing = sum(c.truth_on(0) is None for c in companies)
        until(lambda: tallied(own, "verify") == len(intakes) and tallied(own, "mint") == passing)
    finally:
        worker.stop()
        thread.join(PATIENCE_S)
    assert not thread.is_alive()
    found = verdicts(own)
    assert [found[i] for i in intakes] == [c.truth_on(0) for c in companies]


def tallied(database: Database, duty: str) -> int | None:
    with database.transaction(Authority.READER) as tx:
        row = tx.execute("select sum(done)::int from recoup.duty_tally where duty = %s", (duty,)).fetchone()
    return None if row is None else row[0]
