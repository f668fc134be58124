"""A third domain gets everything by being declared: it is a folder, and one entry in the list.

Guard, log, seal, audit, pause, doctor, docs page, command and the conformance suite; none of them knows it by name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import domain_pages
import pytest
from psycopg.conninfo import conninfo_to_dict

from command_line import clean_environment
from company import MIGRATING, acting
from conformance import breaches, combinations, kills, tampering
from conformance.forms import both_forms_say_the_same
from domains.conftest import EXTENDED
from domains.parcels.cast import PROBES, ROLE
from domains.parcels.manifest import EVENTS, PARCEL, PARCELS, SHIPPING, Filter
from laws.catalogue import guards, holders, take_away
from laws.probing import Probe, Silent, declared, recorded
from plans import assert_reads_only, carried_out
from recoup import doctor, operations, pauses, policy
from recoup.audit.examine import examine
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.domain import duties, logs
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.schema import laws
from recoup.schema.migrate import migrate
from recoup.settings import Settings
from recoup.worker.loop import WorkerLoop

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))
from killing import Ground, bearing
from wire import Wire

FOLDER = Path(__file__).with_name("parcels")
INVARIANTS = laws.invariants(EXTENDED)
OURS = [one for one in INVARIANTS if "parcel" in one.id]
declared([PARCEL], [EVENTS], into=PROBES)
recorded(ROLE, into=PROBES)
every_probe = pytest.mark.parametrize("probe", PROBES, ids=str)
IDLE = 1_000_000


def named(database: Database) -> str:
    return str(conninfo_to_dict(database.conninfo)["dbname"])


def test_it_is_small() -> None:
    """All of it, with its SQL and its cast; and nothing outside its folder names it but the list."""
    files = [path for path in FOLDER.rglob("*") if path.suffix in (".py", ".sql", ".toml")]
    assert sum(len(path.read_text().splitlines()) for path in files) <= 310


# Guards -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), [(s, t) for _, s, t in combinations.every_move([ROLE])])
def test_moves_answer_as_declared(scratch: Transaction, source: str, target: str) -> None:
    combinations.moves_answer_as_declared(scratch, ROLE, source, target)


def test_births_answer_as_declared(scratch: Transaction) -> None:
    combinations.births_answer_as_declared(scratch, ROLE)


@pytest.mark.parametrize("status", ROLE.statuses)
def test_exits_answer_as_declared(scratch: Transaction, status: str) -> None:
    combinations.exits_answer_as_declared(scratch, ROLE, status)


def test_both_forms_of_the_guard_say_the_same(scratch: Transaction) -> None:
    both_forms_say_the_same(scratch, PARCEL)


def test_grants_are_no_wider_than_the_declaration(admin: Transaction) -> None:
    combinations.grants_are_no_wider(admin, [PARCEL], locks={})


def test_every_guard_has_a_probe(ground: Transaction) -> None:
    ours = [guard for guard in guards(ground) if guard.table.startswith("parcels.")]
    assert {law for guard in ours for law in guard.laws} == {probe.law for probe in PROBES}


@every_probe
def test_the_law_holds(ground: Transaction, probe: Probe) -> None:
    with ground.transaction(force_rollback=True):
        probe.run(ground)


@every_probe
def test_the_probe_notices_when_its_guard_is_gone(ground: Transaction, probe: Probe) -> None:
    with ground.transaction(force_rollback=True):
        take_away(ground, holders(ground, probe.law))
        with pytest.raises(Silent):
            probe.run(ground)


# Audit and seals ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unguarded(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """Parcels in every status, and then nothing that holds anybody back."""
    name = new_database(domains=EXTENDED)
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin:
        with admin.transaction():
            for status in ROLE.statuses:
                ROLE.brought(admin, status)
        admin.execute(breaches.UNGUARD)
        yield admin


def test_the_audit_knows_it(unguarded: Transaction) -> None:
    """What it wrote itself, and what follows from its declaration."""
    assert {one.id for one in OURS} == {
        "parcels/moved", "laws/L1/steps/parcels.parcel", "laws/L2/chain/parcels.parcel", "rebuild/parcels.parcel",
        "laws/L5/queue/parcels.parcel", "laws/L5/lease/parcels.parcel", "laws/L5/late/parcels.parcel",
        "laws/L6/content/parcels.parcel",
    }  # fmt: skip
    with unguarded.transaction(), acting(unguarded, Authority.READER):
        assert [verdict.id for verdict in examine(unguarded, OURS) if not verdict.holds] == []


BREACHES = [
    *breaches.generated([PARCEL]),
    ("parcels/moved", "update parcels.parcel set moved_at = recoup.now() + interval '1 day'"),
    ("laws/L1/statuses", "update parcels.parcel set status = 'GONE'"),
    (
        "laws/L4/keys",
        "alter table parcels.parcel alter column parcel_id drop identity; update parcels.parcel set parcel_id = 1",
    ),
    ("laws/L3/one-order", "update parcels.parcel_event set seq = (select min(seq) from recoup.policy)"),
]


@pytest.mark.parametrize(("invariant", "breach"), BREACHES)
def test_a_breach_is_found(unguarded: Transaction, invariant: str, breach: str) -> None:
    breaches.is_found(breaches.broken_by(unguarded, breach, invariant, INVARIANTS, {}))


def test_its_guards_and_its_log_are_missed_by_the_audit(ground: Transaction) -> None:
    for invariant, breach in (
        ("laws/L1/guards", "alter table parcels.parcel disable trigger a_guard_moves"),
        ("laws/L1/guards", "alter function parcels.guard_parcel_moves() rename to guard_parcel_moved"),
        (
            "laws/L1/guards",
            "create or replace function parcels.guard_parcel_moves() returns trigger language plpgsql"
            " as 'begin return null; end'",
        ),
        ("laws/L2/followers", "drop function parcels.record_steps() cascade"),
        ("laws/L2/recorders", "alter table parcels.parcel_event disable trigger a_only_recorders"),
        ("laws/L3/append-only", "drop trigger a_append_only on parcels.parcel_event"),
        ("laws/L1/lifecycles", MIGRATING + "delete from recoup.log where domain = 'parcels'"),
    ):
        breaches.is_found(breaches.broken_by(ground, breach, invariant, INVARIANTS, {}))


def test_its_log_is_sealed_and_tampering_is_found(own: Database, server: embedded.Server, settings: Settings) -> None:
    """Every column of it, a row that is gone, and one that was put in."""
    with own.transaction(Authority.HUB) as tx:
        for status in ROLE.statuses:
            ROLE.brought(tx, status)
    done = WorkerLoop(own, duties(EXTENDED), name="w").run_once()
    assert (done["parcel-sorting"], done["seal"] > 0) == (1, True)
    declared_logs = logs(EXTENDED)
    with contextlib.closing(connect(server.uri(named(own), admin=True), settings)) as admin:
        assert seals.verify(admin, declared_logs) == []
        types: dict[str, str] = dict(admin.execute(tampering.TYPES, (EVENTS.table,)).fetchall())
        for what, statement in tampering.ways(EVENTS, types):
            with admin.transaction(force_rollback=True):
                admin.execute("alter table parcels.parcel_event disable trigger all")
                admin.execute(statement.encode())
                assert seals.verify(admin, declared_logs), what


# Work ---------------------------------------------------------------------------------------------------------------


def brought_in(tx: Transaction, count: int, *, city: str = "here") -> None:
    with acting(tx, Authority.HUB):
        tx.execute(
            "insert into parcels.parcel (city, moved_at) select %s, recoup.now() from generate_series(1, %s)",
            (city, count),
        )


def sort(tx: Transaction) -> int:
    duty, *_ = PARCELS.duties
    assert duty.batch is not None
    with acting(tx, duty.authority):
        return duty.batch(tx, policy.in_force(tx).policy)


def test_it_is_paused_as_a_table_and_as_a_duty(scratch: Transaction) -> None:
    brought_in(scratch, 3)
    with acting(scratch, Authority.OPERATOR):
        pauses.pause(scratch, pauses.TABLE, "parcels.parcel", reason="x")
        pauses.pause(scratch, pauses.DUTY, "parcel-sorting", reason="x")
    assert sort(scratch) == 0
    with acting(scratch, Authority.OPERATOR):
        pauses.resume(scratch, pauses.TABLE, "parcels.parcel", reason="x")
    assert sort(scratch) == 3


def test_its_verb_goes_over_many(db: Database) -> None:
    """Previewed by what can be done, frozen with its digest, paused, resumed, and a result for each."""
    city = uuid.uuid4().hex
    with db.transaction(Authority.HUB) as tx:
        brought_in(tx, 4, city=city)
        sort(tx)
        brought_in(tx, 2, city=city)
    asked, act = Filter(city=city), SHIPPING.act("ship", reason="a test")
    with db.transaction(Authority.OPERATOR) as tx:
        found = operations.preview(tx, SHIPPING, act, asked)
        assert (found.rows, found.refused) == (4, {"not_sorted: It is WAITING.": 2})
        operation = operations.begin(tx, SHIPPING, act, asked)
        pauses.pause(tx, pauses.OPERATION, str(operation), reason="wait")
    assert operations.carry_on(db, SHIPPING, operation).pending == 6
    with db.transaction(Authority.OPERATOR) as tx:
        pauses.resume(tx, pauses.OPERATION, str(operation), reason="go")
    ended = operations.carry_on(db, SHIPPING, operation)
    assert (ended.status, ended.done, ended.refused, ended.refusals) == (
        "DONE",
        4,
        2,
        {"not_sorted: It is WAITING.": 2},
    )


@pytest.fixture
def killing(own: Database, server: embedded.Server, settings: Settings) -> Iterator[Ground]:
    with (
        tempfile.TemporaryDirectory() as folder,  # with a short name: that of a socket is bounded
        bearing() as bears,
        Wire(own.conninfo, Path(folder)) as wire,
        contextlib.closing(connect(server.uri("postgres", admin=True), settings)) as admin,
    ):
        yield Ground(wire=wire, bears=bears, admin=admin)


def test_killed_at_every_statement(own: Database, killing: Ground) -> None:
    """Of the duty, and of an operation over many. All or nothing of each batch, and never twice."""
    operation: list[uuid.UUID] = []

    def parcels() -> tuple[str, ...]:
        with own.transaction(Authority.HUB) as tx:
            brought_in(tx, 3)
        return "domains.parcels.manifest:PARCELS", "parcel-sorting"

    def begun() -> tuple[str, ...]:
        city = uuid.uuid4().hex
        with own.transaction(Authority.HUB) as tx:
            brought_in(tx, 3, city=city)
            sort(tx)
        with own.transaction(Authority.OPERATOR) as tx:
            act = SHIPPING.act("ship", reason="a test")
            operation[:] = [operations.begin(tx, SHIPPING, act, Filter(city=city))]
        return "domains.parcels.manifest:SHIPPING", str(operation[0])

    def sorted_now() -> int:
        with own.transaction(Authority.HUB) as tx:
            ((count,),) = tx.execute("select count(*) from parcels.parcel where status = 'WAITING'").fetchall()
            sort(tx)
        return int(count)

    assert set(kills.struck_everywhere(killing, "duty", parcels, sorted_now)) == {3, 0}

    def carried_on() -> int:
        with own.transaction(Authority.READER) as tx:
            before = operations.find(tx, operation[0]).done
        assert operations.carry_on(own, SHIPPING, operation[0]).done == 3
        return before

    assert set(kills.struck_everywhere(killing, "carry on", begun, carried_on)) == {0, 2, 3}
    with own.transaction(Authority.READER) as tx:
        assert [verdict.id for verdict in examine(tx, INVARIANTS) if not verdict.holds] == []


FILL = """
set session_replication_role = replica;
alter table parcels.parcel disable trigger user;
insert into parcels.parcel (city, status, moved_at)
select 'far', 'DELIVERED', now() - interval '1 day' from generate_series(1, {});
"""


def test_it_reads_no_more_than_it_needs(own: Database, server: embedded.Server, settings: Settings) -> None:
    """Its duty and its lag, beside a million parcels that have arrived; before and after they were analysed."""
    settings = dataclasses.replace(settings, statement_timeout_ms=0)
    with contextlib.closing(connect(server.uri(named(own), admin=True), settings)) as admin:
        with admin.transaction():
            admin.execute(FILL.format(IDLE).encode())
        admin.execute("reset session_replication_role")
        migrate(admin, EXTENDED, login=server.app)  # its triggers come back
        with admin.transaction():
            brought_in(admin, 5)
        for analysed, kept in itertools.product((False, True), (False, True)):
            if analysed:
                admin.execute("vacuum (analyze) parcels.parcel")
            with carried_out(admin, kept=kept) as plans:
                duty, *_ = PARCELS.duties
                assert duty.lag(admin) is not None
                assert sort(admin) == 5
                assert_reads_only(plans.take(), 50, big={"parcel"})


def test_the_doctor_checks_it(database_name: str, server: embedded.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOUP_DSN", server.uri(database_name))
    found = {finding.check: finding for finding in doctor.examine(EXTENDED)}
    assert "wait to be sorted" in found["parcels"].found
    assert {finding.verdict for finding in found.values()} == {"ok"}, found


def test_the_docs_have_a_page_for_it() -> None:
    page = domain_pages.page(PARCELS)
    for word in (
        "parcels.parcel",
        "parcels.parcel_queue",
        "parcel-sorting",
        "sort_at_once",
        "parcels/moved",
        "recoup parcels",
        "ship",
    ):
        assert word in page


SCRIPT = (
    "import recoup.domains as d; from domains.parcels.manifest import PARCELS; d.DOMAINS = (*d.DOMAINS, PARCELS);"
    " from recoup.cli.main import app; app.command('domains.parcels.command:app', name='parcels'); app()"
)


def test_its_command_is_made_from_its_verb(db: Database, database_name: str, server: embedded.Server) -> None:
    """Previewed, then done, as every verb of every domain."""
    city = uuid.uuid4().hex
    with db.transaction(Authority.HUB) as tx:
        brought_in(tx, 2, city=city)
        sort(tx)
    environment = {
        **clean_environment(), "RECOUP_DSN": server.uri(database_name), "PYTHONPATH": str(FOLDER.parents[1]),
    }  # fmt: skip

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", SCRIPT, "parcels", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    assert "Nothing was changed. To ship these 2 parcels, repeat the command with" in run("ship", "--city", city).stdout
    done = run("ship", "--city", city, "--reason", "a test", "--yes")
    assert done.stdout.startswith("2 parcels: 2 done, 0 refused"), done
    assert "Ship sorted parcels." in run("--help").stdout
