"""Workers killed at every statement boundary of an attempt and of a mint, one after the other, none left out.

The worker is a process of its own that verifies companies of the local world, or mints. It talks to the server over a
wire that sees where statements end. At boundary 0 it is killed before its first statement, at boundary 1 after it, and
so on, until it lives to the end. Whatever was left is swept when its lease has lapsed, and another worker goes on.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from product import apply_policy
from recoup import gate, mint
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.gate import verifying
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings
from recoup.worker.standalone import Standalone
from recoup_demo.world import Kind, World

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import FAILURE, LEASE, Desk
from lively import audited, broken

sys.path.insert(0, str(Path(__file__).parent))
from killing import KILLED, Ground, Worker, bearing
from local_world import brought_in, policy_of
from wire import Wire

WORLD_COMPANIES = 30  # the first of each kind are among them
OPEN = ("S", "R")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(WORLD_COMPANIES) as world:
        yield world


@pytest.fixture(scope="module")
def bears() -> Iterator[subprocess.Popen[str]]:
    with bearing() as process:
        yield process


@pytest.fixture(scope="module")
def desk(new_database: Callable[..., str], server: embedded.Server, settings: Settings, world: World) -> Iterator[Desk]:
    """A database for this file, whose policy knows the local world. Every test leaves nothing to be done."""
    with Database(server.uri(new_database()), settings) as database:
        with database.transaction(Authority.OPERATOR) as tx:
            apply_policy(tx, policy_of(world), reason="the local world is verified")
        desk = Desk(database)
        mint_all(desk)  # the first page of all is read in another way
        yield desk


@pytest.fixture
def wire(desk: Desk) -> Iterator[Wire]:
    # A folder with a short name: that of a socket is bounded.
    with tempfile.TemporaryDirectory() as folder, Wire(desk.db.conninfo, Path(folder)) as wire:
        yield wire


@dataclass(frozen=True)
class GateGround(Ground):
    """The same, with its workers."""

    desk: Desk


@pytest.fixture
def ground(
    desk: Desk, wire: Wire, bears: subprocess.Popen[str], server: embedded.Server, settings: Settings
) -> Iterator[GateGround]:
    with contextlib.closing(connect(server.uri("postgres", admin=True), settings)) as admin:
        yield GateGround(wire=wire, bears=bears, admin=admin, desk=desk)


# An attempt ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An intake to verify: of a company that passes or not, after this many failures."""

    passes: bool
    failures: int

    @property
    def before(self) -> str:
        return ("", "SF", "SFRF")[self.failures]

    @property
    def opened(self) -> str:
        return self.before + OPEN[self.failures > 0]

    @property
    def finished(self) -> str:
        passed = "PAN" if self.failures else "PA"
        return self.opened + (passed if self.passes else self.crashed[len(self.opened) :])

    @property
    def crashed(self) -> str:
        return self.opened + ("FM" if self.failures == 2 else "F")


# The flow, in statements: whether something waits; a claim and what to verify; the results, and no further claim.
TRANSACTIONS = [3, 4, 5]
CLAIMED, WRITTEN = sum(TRANSACTIONS[:2]), sum(TRANSACTIONS)  # the boundaries behind these commits

CASES = {
    "first passes": Case(passes=True, failures=0),
    "first fails": Case(passes=False, failures=0),
    "retry passes": Case(passes=True, failures=1),
    "retry fails": Case(passes=False, failures=1),
    "third passes": Case(passes=True, failures=2),
    "third fails": Case(passes=False, failures=2),
}


def brought(desk: Desk, world: World, case: Case) -> UUID:
    """The intake of a case. Its earlier attempts failed by our word, whatever its company is."""
    (intake,) = brought_in(desk.db, world, Kind.GOOD if case.passes else Kind.NO_ENTRY, 1)
    for _ in range(case.failures):
        desk.finish(desk.open(intake), FAILURE)
        desk.wait(intake)
    return intake


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_killed_at_every_statement_of_an_attempt(ground: GateGround, world: World, case: Case) -> None:
    """Nothing happened, or it is open and swept, or all of it happened; then another worker goes on, and mints."""
    desk, left = ground.desk, list[str]()
    for boundary in count():
        intake = brought(desk, world, case)
        ended = ground.struck("retry" if case.failures else "verify", boundary, Worker.kill)
        left.append(desk.word(intake))
        restore(desk, intake, case)
        go_on(desk, intake)
        assert_minted_at_most_once(desk, intake)
        if ended == 0:
            break
        assert ended == KILLED
    assert [len(found) for found in re.findall("T+I", ground.wire.passed)] == TRANSACTIONS
    assert len(left) - 1 == len(ground.wire.passed) + 1  # killed before the first, and after each
    assert left == [case.before] * CLAIMED + [case.opened] * (WRITTEN - CLAIMED) + [case.finished] * 2


def restore(desk: Desk, intake: UUID, case: Case) -> None:
    """Time and the sweep: what was left open counts as crashed, once, and nothing else is touched."""
    word = desk.word(intake)
    assert word in (case.before, case.opened, case.finished)
    assert desk.sweep() == []
    if word == case.opened:
        desk.advance(LEASE)
        assert len(desk.sweep()) == 1
        assert desk.sweep() == []
        assert desk.word(intake) == case.crashed
        last = "select status, reason_code from cl.gate_zero_attempt where intake_id = %s order by attempt_number desc"
        assert desk.rows(last, intake)[0] == ("crashed", "TIMEOUT")


def go_on(desk: Desk, intake: UUID) -> None:
    """Another worker, until it is decided."""
    while True:
        with desk.db.transaction(Authority.READER) as tx:
            (found,) = gate.find_intakes(tx, [intake])
        if found.status not in ("PENDING", "FAILED"):
            break
        if found.next_eligible_at is not None:
            desk.advance_to(found.next_eligible_at)
        done = verifying.verify(Standalone(desk.db, Authority.GATE, name="other"), retries=found.status == "FAILED")
        assert done.done == 1
    desk.lawful(intake)


# A mint -------------------------------------------------------------------------------------------------------------

MINTED = 10  # statements: the boundary behind its commit


def mint_all(desk: Desk) -> list[UUID]:
    minted: list[UUID] = []
    while True:
        with desk.db.transaction(Authority.MINT) as tx:
            page = mint.mint(tx)
        if not page.events:
            return minted
        minted += [identity.intake_id for identity in page.identities]


def identities(desk: Desk, intake: UUID) -> list[UUID]:
    """Intakes of this lineage that have an identity and a MINT."""
    rows = desk.rows(
        "select c.intake_id from cl.company_identity c"
        "  join cl.gate_zero_intake i on i.intake_id = c.intake_id"
        "  join cl.sovereign_mint_air m on m.entity_id = c.intake_id"
        " where coalesce(i.reentered_from, i.intake_id) = %s",
        intake,
    )
    return [row[0] for row in rows]


def assert_minted_at_most_once(desk: Desk, intake: UUID) -> None:
    """Once when it was authorised; else never."""
    minted = mint_all(desk)
    assert identities(desk, intake) == minted
    assert len(minted) == ("A" in desk.word(intake))


@pytest.mark.parametrize("failures", [0, 1], ids=["plain", "re-entered"])
def test_killed_at_every_statement_of_a_mint(ground: GateGround, failures: int) -> None:
    """All of it or nothing: identity, MINT and place in the log. The next one mints what was not, and nothing twice."""
    desk, left = ground.desk, list[int]()
    for boundary in count():
        intake = desk.failed() if failures else desk.intake()
        if failures:
            desk.wait(intake)
        authorised = desk.finish(desk.open(intake), None)
        ended = ground.struck("mint", boundary, Worker.kill)
        done = identities(desk, intake)
        left.append(len(done))
        rest = mint_all(desk)
        assert done + rest == identities(desk, intake) == [authorised.reentered_as or intake]
        if ended == 0:
            break
        assert ended == KILLED
    (transaction,) = re.findall("T+I", ground.wire.passed)
    assert len(transaction) == MINTED
    assert left == [0] * MINTED + [1] * 2


# The server ends the connection -------------------------------------------------------------------------------------


@pytest.mark.parametrize("boundary", [1, 3, 5, CLAIMED, CLAIMED + 2, WRITTEN - 1, WRITTEN])
def test_the_server_ends_the_connection_in_an_attempt(ground: GateGround, world: World, boundary: int) -> None:
    """Before the claim has committed the worker gives up, and another continues. Afterwards it writes its results."""
    desk, case = ground.desk, CASES["retry passes"]
    intake = brought(desk, world, case)
    ended = ground.struck("retry", boundary, lambda _: ground.terminate())
    if boundary < CLAIMED:
        assert (ended != 0, desk.word(intake)) == (True, case.before)
    else:
        assert (ended, desk.word(intake)) == (0, case.finished)
    go_on(desk, intake)
    assert_minted_at_most_once(desk, intake)


def test_a_worker_that_does_not_hear_of_its_commit_writes_again(ground: GateGround, world: World) -> None:
    """The outcome is stored by its first report; the second one is recognised, and neither counted nor stored."""
    desk, case = ground.desk, CASES["retry passes"]
    intake = brought(desk, world, case)
    assert ground.struck("retry", WRITTEN, lambda _: ground.terminate(), heard=False) == 0
    assert desk.word(intake) == case.finished
    late = desk.rows(
        "select l.result ->> 'status' from recoup.late_result l"
        "  join cl.gate_zero_attempt a on a.attempt_id::text = l.unit_id where a.intake_id = %s",
        intake,
    )
    assert late == []
    assert_minted_at_most_once(desk, intake)


def test_a_worker_that_does_not_hear_of_its_claim_is_swept(ground: GateGround, world: World) -> None:
    """It knows of no attempt and gives up; the attempt is open, lapses, and counts."""
    desk, case = ground.desk, CASES["retry passes"]
    intake = brought(desk, world, case)
    assert ground.struck("retry", CLAIMED, lambda _: ground.terminate(), heard=False) != 0
    assert desk.word(intake) == case.opened
    restore(desk, intake, case)
    go_on(desk, intake)
    assert_minted_at_most_once(desk, intake)


@pytest.mark.parametrize(("boundary", "minted"), [(1, 0), (4, 0), (MINTED - 1, 0), (MINTED, 1)])
def test_the_server_ends_the_connection_in_a_mint(ground: GateGround, boundary: int, minted: int) -> None:
    """Without its answer the worker fails. It has minted nothing before its commit, and all of it behind."""
    desk = ground.desk
    intake = desk.intake()
    desk.finish(desk.open(intake), None)
    assert ground.struck("mint", boundary, lambda _: ground.terminate(), heard=False) != 0
    assert len(identities(desk, intake)) == minted
    assert len(mint_all(desk)) == 1 - minted
    assert identities(desk, intake) == [intake]


def test_the_audit_finds_nothing_after_all_that(desk: Desk) -> None:
    """Every promise of the documents, asked of what those who were killed left behind."""
    assert broken(audited(desk.db)) == {}
