"""Two workers, one killed with SIGKILL in the middle of a duty: the other goes on, nothing twice, nothing stuck.

The victim is stopped at the worst moment, after everything its batch writes and before it commits: somebody else holds
the row in which it is about to count the batch.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import forking
from command_line import RECOUP
from errors.tallies import settle
from hub import DOL, OPERATIONAL, TRANSIENT, Hub
from product import DUTIES, LOGS, apply_policy, pause, resume
from recoup import deliveries, gate
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.deliveries import delivering
from recoup.errors.listing import Filter
from recoup.errors.recording import NewError
from recoup.errors.subject import SUBJECT
from recoup.errors.vocabulary import Want
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.operations import Act, begin
from recoup.recovery import breakers, evaluation, people, scopes
from recoup.recovery.executing import Executor
from recoup.recovery.matches import NewFailure, ingest
from recoup.recovery.policy import RecoveryPolicy
from recoup.runs import running as running_
from recoup.service import local
from recoup.service.sessions import LASTS, open_session
from recoup.settings import Settings
from recoup.worker import register
from recoup.worker.standalone import Standalone
from recoup_demo.world import Kind, World
from recovery_ward import RETRY, Ward

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from desk import DAY, LEASE, Desk, outcome
from histories import WAITS

sys.path.insert(0, str(Path(__file__).parent))
from local_world import brought_in, policy_of

PATIENCE_S = 120
UNITS = 40
AT_ONCE = 10  # companies that a worker verifies
WORLD_COMPANIES = 200  # more than half of them good
HURRY = f"[worker]\nheartbeat_s = 1\nlost_after_s = 3\n[errors]\nretries_at_once = {AT_ONCE}\n"
# By the second route nobody can deliver: its variable is not set.
NOTICES = f"[deliveries]\nat_once = {AT_ONCE}\nat_once_per_route = {AT_ONCE}\n"
NOTICES += '[deliveries.routes.ops]\nkind = "webhook"\nurl_env = "NOT_SET_ANYWHERE"\n'
NOTICES += "[alerts.rules.duties-failing]\nfor_s = 0\n"


def until(true: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.03)
    return found


@contextlib.contextmanager
def worker(db: Database, name: str, *, packages: Path | None) -> Iterator[forking.Begun | subprocess.Popen[bytes]]:
    """A worker process on this database, with what is installed there in addition to Recoup."""
    environment = {**os.environ, "RECOUP_DSN": db.conninfo, "RECOUP_ACTOR": name}
    environment.pop("TEST_RECOUP_HOME", None)
    arguments = ["worker", "--name", name]
    process: forking.Begun | subprocess.Popen[bytes]
    if packages is None:
        process = forking.Begun(arguments, environment)
    else:  # what is installed there is found by a Python that starts
        environment["PYTHONPATH"] = os.fspath(packages)
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen([*RECOUP, *arguments], env=environment, stdout=nowhere, stderr=nowhere)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def waiting_companies(desk: Desk, world: World) -> int:
    return len(brought_in(desk.db, world, Kind.GOOD, UNITS))


def due_retries(desk: Desk, world: World) -> int:
    intakes = brought_in(desk.db, world, Kind.GOOD, UNITS)
    desk.report(*(outcome(attempt) for attempt in desk.open_all(intakes)))
    desk.advance(DAY)
    return UNITS


def authorised_companies(desk: Desk, world: World) -> int:
    desk.report(*(outcome(attempt, None) for attempt in desk.open_all(desk.intakes(UNITS))))
    return UNITS


def lapsed_attempts(desk: Desk, world: World) -> int:
    desk.open_all(desk.intakes(UNITS))
    desk.advance(timedelta(minutes=6))
    return UNITS


def closed_window(desk: Desk, world: World) -> int:
    batch = desk.batch(completed=True)
    intakes = desk.intakes(UNITS, batch_id=batch)
    for attempt in desk.open_all(intakes):
        desk.finish(attempt)
    desk.advance(timedelta(days=15))
    return UNITS + 1  # the batch is one of them


def silent_workers(desk: Desk, world: World) -> int:
    with desk.db.transaction(Authority.RUNNER) as tx:
        for number in range(UNITS):
            register.register(tx, name=f"silent-{number}", duties=[])
    desk.advance(timedelta(minutes=5))
    return UNITS


def unsealed_rows(desk: Desk, world: World) -> int:
    desk.open_all(desk.intakes(UNITS))
    (count,) = desk.rows(
        "select (select count(*) from cl.gate_zero_air) + (select count(*) from recoup.control_log)"
        " + (select count(*) from recoup.policy) + (select count(*) from recoup.pause_log)"
    )[0]
    return int(count)


def recorded(desk: Desk, message: str, **more: Any) -> Hub:
    hub = Hub(desk.db)
    hub.record_all(NewError(table=DOL, message=message, outreach_id=uuid.uuid4(), **more) for _ in range(UNITS))
    return hub


def due_errors(desk: Desk, world: World) -> int:
    recorded(desk, TRANSIENT).advance(timedelta(seconds=2))
    return UNITS


def lapsed_retries(desk: Desk, world: World) -> int:
    hub = recorded(desk, TRANSIENT)
    hub.advance(timedelta(seconds=2))
    assert len(hub.claim()) == UNITS
    hub.advance(timedelta(minutes=6))
    return UNITS


def missed_windows(desk: Desk, world: World) -> int:
    recorded(desk, OPERATIONAL).advance(timedelta(days=8))
    return UNITS


def unreviewed_errors(desk: Desk, world: World) -> int:
    recorded(desk, OPERATIONAL, want=Want.PARK).advance(timedelta(days=8))
    return 2 * UNITS


def expired_errors(desk: Desk, world: World) -> int:
    recorded(desk, OPERATIONAL, want=Want.ARCHIVE).advance(timedelta(days=31))
    return UNITS


def old_month(desk: Desk, world: World) -> int:
    expired_errors(desk, world)
    hub = Hub(desk.db)
    assert hub.sweep_all() == UNITS
    hub.advance(timedelta(days=400))
    return 1


def sent(desk: Desk, route: str) -> None:
    with desk.db.transaction(Authority.OPERATOR) as tx:
        for _ in range(UNITS):
            deliveries.send(tx, route, "it failed")


def due_deliveries(desk: Desk, world: World) -> int:
    sent(desk, "log")
    return UNITS


def lapsed_deliveries(desk: Desk, world: World) -> int:
    sent(desk, "ops")
    with desk.db.transaction(Authority.EXECUTOR) as tx:
        assert len(delivering.claim(tx, limit=UNITS, worker="gone")) == UNITS
    desk.advance(timedelta(minutes=6))
    return UNITS


def failures(desk: Desk) -> list[UUID]:
    """Failures from outside, each with an incident of its own."""
    new = [NewFailure(source=f"system-{number}", message="no answer", key="1") for number in range(UNITS)]
    with desk.db.transaction(Authority.MATCHER) as tx:
        return [one.failure_match_id for one in ingest(tx, new) if one.failure_match_id is not None]


def silent_runs(desk: Desk, world: World) -> int:
    with desk.db.transaction(Authority.RUNNER) as tx:
        running_.start(tx, [running_.NewRun(kind="job")] * UNITS, owner="somebody")
    desk.advance(timedelta(hours=1))
    return UNITS


def ended_scopes(desk: Desk, world: World) -> int:
    failures(desk)
    rules = Standalone(desk.db, Authority.READER, name="tester").policy[RecoveryPolicy]
    for (incident,) in desk.rows("select incident_id from recovery.incident"):
        with desk.db.transaction(Authority.SCOPED_EXECUTION) as tx:
            scopes.open_scope(tx, incident, rules, actions=["notify_ops"], reason="a test", ttl_seconds=60)
    desk.advance(timedelta(minutes=2))
    return UNITS


def quiet_incidents(desk: Desk, world: World) -> int:
    for match in failures(desk):
        with desk.db.transaction(Authority.OPERATOR) as tx:
            people.recovered(tx, match)
    assert evaluation.evaluate_due(Standalone(desk.db, Authority.EVALUATOR, name="tester")) == UNITS
    desk.advance(timedelta(days=2))
    return UNITS


def untold_outcomes(desk: Desk, world: World) -> int:
    ward = Ward(desk.db)
    ward.ingest(UNITS)
    ward.open_scopes(max_attempts=UNITS, cost_limit=UNITS)
    ward.evaluate()
    ward.approve()
    assert ward.execute({RETRY: Executor(lambda *_: None)}) == UNITS
    return UNITS


def canary(desk: Desk, world: World) -> int:
    hub = recorded(desk, OPERATIONAL, want=Want.PARK)
    hub.record(OPERATIONAL, want=Want.PARK)
    with desk.db.transaction(Authority.OPERATOR) as tx:
        begin(tx, SUBJECT, Act(verb="unpark"), Filter(tables=(DOL,)), canary=UNITS)
    return UNITS


def left_alone(desk: Desk, world: World) -> int:
    recorded(desk, OPERATIONAL, want=Want.PARK)
    with desk.db.transaction(Authority.OPERATOR) as tx:
        begin(tx, SUBJECT, Act(verb="unpark"), Filter(tables=(DOL,)), unattended=True)
    desk.advance(timedelta(minutes=2))
    return UNITS


def uncounted_events(desk: Desk, world: World) -> int:
    recorded(desk, OPERATIONAL)
    settle(desk.db)  # the clock stands still: what is not counted at once is never counted
    return UNITS


def failed_probes(desk: Desk, world: World) -> int:
    kinds = [f"kind-{number}" for number in range(UNITS)]
    with desk.db.transaction(Authority.RUNNER) as tx:
        running_.queue(tx, [running_.NewRun(kind=kind) for kind in kinds])
    with desk.db.transaction(Authority.OPERATOR) as tx:
        for kind in kinds:
            breakers.open_breaker(tx, kind, reason="a test")
    desk.advance(timedelta(minutes=2))
    for kind in kinds:
        with desk.db.transaction(Authority.RUNNER) as tx:
            assert len(running_.claim(tx, kind=kind)) == 1
    with desk.db.transaction(Authority.RUNNER) as tx:
        for run, token in tx.execute("select run_id, token from recovery.run").fetchall():
            running_.finish(tx, [running_.Failed(run_id=run, token=token, message="down")])
    return UNITS


def failing_duties(desk: Desk, world: World) -> int:
    with desk.db.transaction(Authority.RUNNER) as tx:
        broken = register.register(tx, name="broken", duties=[])
        for number in range(UNITS):
            register.tally_failure(tx, broken, f"duty-{number}", "it failed")
    return UNITS


def ended_sessions(desk: Desk, world: World) -> int:
    for _ in range(UNITS):
        open_session(desk.db, local("ann"))
    desk.advance(2 * LASTS)
    return UNITS


PREPARED: dict[str, Callable[[Desk, World], int]] = {
    "verify": waiting_companies,
    "gate-retry": due_retries,
    "mint": authorised_companies,
    "attempt-sweep": lapsed_attempts,
    "batch-freeze": closed_window,
    "error-retry": due_errors,
    "error-lapse": lapsed_retries,
    "retry-window": missed_windows,
    "error-escalation": unreviewed_errors,
    "error-archive": expired_errors,
    "error-canary": canary,
    "error-operations": left_alone,
    "error-tally": uncounted_events,
    "archive-retention": old_month,
    "deliver": due_deliveries,
    "delivery-expiry": lapsed_deliveries,
    "lost-workers": silent_workers,
    "orphaned-runs": silent_runs,
    "recovery-learn": untold_outcomes,
    "scope-expiry": ended_scopes,
    "breaker-probes": failed_probes,
    "incident-close": quiet_incidents,
    "seal": unsealed_rows,
    "service-cleanup": ended_sessions,
    "alerts": failing_duties,
}
# Killed at random, and at every statement, in test_killed_recovery.py and test_killed_recovery_everywhere.py.
ELSEWHERE = {
    "match-subjects", "recovery-wake", "recovery-evaluate", "evaluation-expiry", "recovery-execute", "candidate-expiry",
    "recovery-canary", "partition-operations",  # as those of errors: the same functions, for another subject
    # test_killed_partitions.py kills the work at every step of files and statements; the others are statements of it.
    "partition-work", "partition-follow", "partition-expiry", "partition-age", "partition-sweep", "partition-expected",
    "backfills",
}  # fmt: skip
ERRORS = (
    "error-retry",
    "error-lapse",
    "retry-window",
    "error-escalation",
    "error-archive",
    "archive-retention",
    "error-canary",
    "error-operations",
    "error-tally",
)
# These stop the survivor until the victim is at it: one sealer and one mint at a time, and claims take what they find.
ALONE = ("verify", "gate-retry", "mint", "recovery-learn", "seal", "deliver", "delivery-expiry", "alerts", *ERRORS)
# A flow leaves open what it was looking at. The histories of what the survivor saw first, and of what the victim held.
FLOWS = {
    "verify": ("SPA", "SFRPAN"),
    "gate-retry": ("SFRPAN", "SFRFRPAN"),
    "error-retry": ("RCS", "RCLCS"),
    "deliver": ("S", "LS"),
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(WORLD_COMPANIES) as world:
        yield world


@pytest.fixture(scope="module")
def handler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of a hub, whose handler mends everything."""
    packages = tmp_path_factory.mktemp("packages")
    (packages / "dol_hub.py").write_text("def retry(error):\n    pass\n")
    info = packages / "dol_hub-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dol-hub\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[recoup.error_handlers]\n{DOL} = dol_hub:retry\n")
    return packages


def test_every_duty_is_tried() -> None:
    """A duty that is added is killed here too."""
    assert set(PREPARED) | ELSEWHERE == {duty.name for duty in DUTIES}


@pytest.mark.parametrize("duty", PREPARED)
def test_killed_in_the_middle(
    fresh: Callable[..., Database], server: embedded.Server, settings: Settings, world: World, handler: Path, duty: str
) -> None:
    """The survivor does all of it, exactly once, and the dead one is declared lost.

    What the dead one was looking at is open until its lease has lapsed; then it counts, and is retried.
    """
    db = fresh()
    desk = Desk(db)
    with db.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, HURRY + NOTICES + policy_of(world, at_once=AT_ONCE), reason="tests are in a hurry")
        pause(tx, "duty", duty, reason="until both are there")
        if duty != "alerts":  # it would notify of the victim, and others would deliver that
            pause(tx, "duty", "alerts", reason="of no interest here")
    units = PREPARED[duty](desk, world)
    name = str(psycopg.conninfo.conninfo_to_dict(db.conninfo)["dbname"])
    packages = handler if duty == "error-retry" else None
    with (
        worker(db, "victim", packages=packages) as victim,
        worker(db, "survivor", packages=packages) as survivor,
        contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin,
    ):
        ids = until(lambda: running(desk) if len(running(desk)) == 2 else None)
        admin.execute("begin")
        admin.execute(
            "insert into recoup.duty_tally (worker_id, duty, runs, done, failures, last_run_at)"
            " values (%s, %s, 0, 0, 0, now())",
            (ids["victim"], duty),
        )
        if duty in ALONE:
            os.kill(survivor.pid, signal.SIGSTOP)
        with db.transaction(Authority.OPERATOR) as tx:
            resume(tx, "duty", duty, reason="both are there")
        until(lambda: waiting_for(admin))
        victim.kill()
        victim.wait()
        admin.execute("rollback")
        held = held_by(desk, "victim")
        assert held == (AT_ONCE if duty in FLOWS else 0)
        if duty in ALONE:
            os.kill(survivor.pid, signal.SIGCONT)

        done = until(lambda: done_by_all(desk, duty) if done_by_all(desk, duty) >= units - held else None)
        assert survivor.poll() is None
        desk.advance(timedelta(minutes=1))
        until(lambda: desk.rows("select from recoup.worker where name = 'victim' and status = 'lost'"))
        if held:
            assert held_by(desk, "victim") == held
            desk.advance(LEASE)
            until(lambda: held_by(desk, "victim") == 0)
            desk.advance(timedelta(minutes=1) if duty in ERRORS else max(WAITS))
            until(lambda: not desk.rows("select from cl.gate_zero_recovery where status = 'ACTIVE'"))
            until(lambda: not desk.rows("select from recoup.error where status = 'RETRY_PENDING'"))
            until(lambda: not desk.rows("select from recoup.delivery where status = 'queued'"))
        check(desk, duty, done, units - held)
        until(lambda: "survivor" in running(desk))  # the minute made it silent too: it goes on as another
        survivor.send_signal(signal.SIGTERM)
        assert survivor.wait(PATIENCE_S) == 0
    assert desk.rows("select from recoup.worker where name = 'survivor' and status = 'stopped'")


def running(desk: Desk) -> dict[str, UUID]:
    rows = desk.rows(
        "select name, worker_id from recoup.worker where status = 'running' and name in ('victim', 'survivor')"
    )
    return dict(rows)


def waiting_for(admin: psycopg.Connection[Any]) -> bool:
    """Whether somebody waits for the row that we hold."""
    admin.execute("select pg_stat_clear_snapshot()")  # in a transaction the server would show the same moment again
    row = admin.execute(
        "select exists (select from pg_stat_activity a where pg_backend_pid() = any(pg_blocking_pids(a.pid))"
        " and a.query like '%duty_tally%')"
    ).fetchone()
    return row == (True,)


def held_by(desk: Desk, worker: str) -> int:
    """Attempts, retries and deliveries that are under way."""
    ((attempts, retries, tries),) = desk.rows(
        "select (select count(*) from cl.gate_zero_attempt where status = 'open' and worker = %s),"
        "       (select count(*) from recoup.error_queue where worker = %s),"
        "       (select count(*) from recoup.delivery_queue where worker = %s)",
        worker,
        worker,
        worker,
    )
    return int(attempts) + int(retries) + int(tries)


def done_by_all(desk: Desk, duty: str) -> int:
    if duty == "breaker-probes":  # a claim that comes by reads how a probe ended, too, and is not counted as this duty
        reopened = "subject = 'recovery.breaker' and from_status = 'half_open' and to_status = 'open'"
        return int(desk.rows(f"select count(*) from recoup.control_log where {reopened}")[0][0])
    return int(desk.rows("select coalesce(sum(done), 0) from recoup.duty_tally where duty = %s", duty)[0][0])


def check(desk: Desk, duty: str, done: int, units: int) -> None:
    intakes = [row[0] for row in desk.rows("select intake_id from cl.gate_zero_intake where reentered_from is null")]
    words = Counter(desk.lawful(*intakes))
    match duty:
        case "verify" | "gate-retry":
            seen, crashed = FLOWS[duty]
            assert (words, done) == ({seen: units, crashed: UNITS - units}, units)
            until(lambda: minted(desk) == UNITS)
        case "mint":
            assert (words, done) == ({"SPA": UNITS}, units)
            assert minted(desk) == UNITS
        case "attempt-sweep":
            assert (words, done) == ({"SF": UNITS}, units)
        case "batch-freeze":
            assert (words, done) == ({"SFW": UNITS}, units)
        case "lost-workers":
            lost = desk.rows("select count(*) from recoup.worker where status = 'lost' and name like 'silent-%%'")
            assert lost == [(UNITS,)]
            ends = desk.rows(
                "select count(*) from recoup.control_log where to_status = 'lost' group by key having count(*) > 1"
            )
            assert ends == []
        case "error-retry":
            seen, crashed = FLOWS[duty]
            until(lambda: archived(desk) == UNITS)  # by another duty, when all were resolved
            assert (error_words(desk), done) == ({seen + "A": units, crashed + "A": UNITS - units}, units)
        case "error-lapse":
            assert (error_words(desk), done) == ({"RCL": UNITS}, units)
            assert desk.rows("select distinct retry_count, status from recoup.error") == [(1, "RETRY_PENDING")]
        case "retry-window":
            assert (error_words(desk), done) == ({"RW": UNITS}, units)
            assert desk.rows("select distinct status from recoup.error") == [("PARKED",)]
        case "error-escalation":
            assert (error_words(desk), done) == ({"RSE": UNITS}, units)
            assert desk.rows("select distinct escalation_level, escalated_to from recoup.error") == [(3, "platform")]
        case "error-canary":
            assert (error_words(desk), done) == ({"RU": UNITS, "R": 1}, units)
        case "error-operations":
            assert (error_words(desk), done) == ({"RU": UNITS}, units)
            assert desk.rows("select status from recoup.operation") == [("DONE",)]
        case "error-tally":
            assert (desk.rows("select sum(events)::integer from recoup.error_tally"), done) == ([(UNITS,)], units)
        case "error-archive":
            assert (error_words(desk), done) == ({"RA": UNITS}, units)
            assert archived(desk) == UNITS
        case "archive-retention":
            assert (error_words(desk), done) == ({"RA": UNITS}, units)
            assert desk.rows("select status, rows from recoup.error_archive_month") == [("DROPPED", UNITS)]
            assert desk.rows("select from recoup.control_log where to_status = 'DROPPED'") == [()]
            assert desk.rows("select from pg_partition_tree('recoup.error_archive') where level > 1") == []
        case "deliver":
            seen, crashed = FLOWS[duty]
            assert (delivery_words(desk), done) == ({seen: units, crashed: UNITS - units}, units)
        case "delivery-expiry":
            assert (delivery_words(desk), done) == ({"L": UNITS}, units)
            assert desk.rows("select distinct attempts, status from recoup.delivery") == [(1, "queued")]
        case "orphaned-runs":
            assert (desk.rows("select distinct status from recovery.run"), done) == ([("crashed",)], units)
            once = "select count(*), count(distinct run_id) from recovery.run_trace where event_type = 'crashed'"
            assert desk.rows(once) == [(UNITS, UNITS)]
        case "recovery-learn":
            counted = "select succeeded, ended from recovery.experience where source = ''"
            assert (desk.rows(counted), done) == ([(UNITS, UNITS)], units)
        case "service-cleanup":
            assert (desk.rows("select count(*) from recoup.session"), done) == ([(0,)], units)
        case "scope-expiry":
            once = "select count(*), count(distinct scope_id) from recovery.provenance where event_type = %s"
            assert (desk.rows(once, "scope_expired"), done) == ([(UNITS, UNITS)], units)
        case "breaker-probes":
            once = "select count(*), count(distinct key) from recoup.control_log where from_status = 'half_open'"
            assert (desk.rows(once), done) == ([(UNITS, UNITS)], units)
        case "incident-close":
            once = "select count(*), count(distinct incident_id) from recovery.provenance where event_type = %s"
            assert (desk.rows(once, "incident_closed"), done) == ([(UNITS, UNITS)], units)
        case "alerts":
            fired = "select count(*), count(distinct key) from recoup.alert_event where rule = 'duties-failing'"
            told = "select count(*) from recoup.delivery where subject like '%%duties_failing%%is 1, above 0'"
            assert (desk.rows(fired), desk.rows(told)) == ([(UNITS, UNITS)], [(UNITS,)])
        case "seal":
            with desk.db.transaction(Authority.READER) as tx:
                assert seals.verify(tx, LOGS) == []
    with desk.db.transaction(Authority.GATE) as tx:
        assert gate.sweep_lag(tx) is None or duty == "seal"


def error_words(desk: Desk) -> Counter[str]:
    """The first letters of what happened to each error, and of how many it did."""
    rows = desk.rows(
        "select string_agg(left(event_type, 1), '' order by seq) from recoup.error_story group by error_table, error_id"
    )
    return Counter(row[0] for row in rows)


def delivery_words(desk: Desk) -> Counter[str]:
    """The first letters of the outcomes of each delivery."""
    rows = desk.rows(
        "select string_agg(left(outcome, 1), '' order by seq) from recoup.delivery_event group by delivery_id"
    )
    return Counter(row[0] for row in rows)


def archived(desk: Desk) -> int:
    """Errors in the archive; none is in both places."""
    ((errors, both),) = desk.rows(
        "select count(*), count(e.error_id) from recoup.error_archive a left join recoup.error e using (error_id)"
    )
    assert both == 0
    return int(errors)


def minted(desk: Desk) -> int:
    """Identities: one for each lineage, with one MINT."""
    ((identities, lineages, mints),) = desk.rows(
        "select count(*), count(distinct coalesce(i.reentered_from, i.intake_id)),"
        "       (select count(*) from cl.sovereign_mint_air)"
        "  from cl.company_identity c join cl.gate_zero_intake i on i.intake_id = c.intake_id"
    )
    assert identities == lineages == mints
    return int(identities)
