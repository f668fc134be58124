"""Nothing that the product does breaks an invariant, and an audit during running work reports nothing."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from product import INVARIANTS, chosen
from recoup import mint
from recoup.audit.examine import MAX_ROWS, audit, examine
from recoup.audit.invariant import Built, Invariant, Query
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.database.queries import load
from recoup.errors import Want, parking, retrying
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
import documents
from lively import Cast, Desk, audited, broken, outcome, play
from lively_errors import DOL, TARGET, Hubs, failed, succeeded

MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def database(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    with Database(server.uri(new_database()), settings) as database:
        yield database


@pytest.fixture(scope="module")
def cast(database: Database) -> Cast:
    return play(database)


@pytest.fixture
def superuser(server: embedded.Server, settings: Settings, database: Database, cast: Cast) -> Iterator[Transaction]:
    """Inside a transaction that is rolled back."""
    with (
        contextlib.closing(connect(server.uri(_name(database), admin=True), settings)) as connection,
        connection.transaction(force_rollback=True),
    ):
        yield connection


def _name(database: Database) -> str:
    from psycopg.conninfo import conninfo_to_dict

    return str(conninfo_to_dict(database.conninfo)["dbname"])


def test_a_new_database_breaks_nothing(fresh: Callable[..., Database]) -> None:
    assert broken(audited(fresh())) == {}


def test_real_time_breaks_nothing(fresh: Callable[..., Database]) -> None:
    """By the server's clock: attempts that pass, fail, crash and come too late, a batch, a pause, an identity."""
    desk = Desk(fresh(simulated_from=None))
    batch = desk.batch(completed=True)
    passed, failed = desk.open_all(desk.intakes(2, batch_id=batch))
    (crashed,) = desk.open_all(desk.intakes(1, batch_id=batch), lease=timedelta(microseconds=1))
    desk.report(outcome(passed, None), outcome(failed))
    assert desk.sweep() == [crashed.attempt_id]
    assert desk.finish(crashed).status == "late"
    desk.pause(batch)
    desk.resume(batch)
    with desk.db.transaction(Authority.MINT) as tx:
        assert len(mint.mint(tx).identities) == 1
    desk.open(desk.intake())
    _errors_of_real_time(desk.db)
    assert broken(audited(desk.db)) == {}


def _errors_of_real_time(database: Database) -> None:
    """Recorded, retried at once by a person, resolved, failed, lease expired, superseded, archived."""
    hubs = Hubs(database)
    first, second, third = (hubs.error(DOL, f"{word} failed", want=Want.PARK) for word in ("one", "two", "three"))
    for error in (first, second, third):
        hubs.act(parking.unpark, DOL, error)
    with database.transaction(Authority.HUB) as tx:
        claimed = retrying.claim(tx, limit=2, worker="bob")
        claimed += retrying.claim(tx, limit=10, worker="bob", lease=timedelta(microseconds=1))
        claims = {claim.error_id: claim for claim in claimed}
        assert set(claims) == {first, second, third}
    hubs.end(succeeded(claims[first]), failed(claims[second]))
    hubs.tend()
    hubs.error(DOL, "two failed", of=claims[second].outreach_id)
    hubs.error(DOL)
    hubs.act(parking.park, DOL, third, reason="look into it")
    hubs.act(parking.unpark, DOL, third)
    assert hubs.sweep().gone == 2


def test_a_lively_database_breaks_nothing(database: Database, cast: Cast) -> None:
    assert broken(audited(database)) == {}


def test_work_that_goes_on_meanwhile_is_no_breach(database: Database, cast: Cast) -> None:
    """Attempts open and end, companies are minted, errors come and go, time moves; every audit sees one moment."""
    desk, stop, rounds, raised = Desk(database), threading.Event(), [], []
    hubs, entity = Hubs(database), uuid.uuid4()

    def work() -> None:
        try:
            while not stop.is_set():
                batch = desk.batch(completed=True)
                attempts = desk.open_all(desk.intakes(6, batch_id=batch))
                desk.pause(batch)
                desk.advance(MINUTE)
                desk.report(*(outcome(a, None if n % 2 else ReasonCode.TIMEOUT) for n, a in enumerate(attempts)))
                with database.transaction(Authority.MINT) as tx:
                    mint.mint(tx, limit=2)
                desk.resume(batch)
                error = hubs.error(DOL)
                hubs.end(failed(hubs.claim(error, DOL)))
                hubs.error(TARGET, of=entity)
                hubs.sweep()
                rounds.append(batch)
        except BaseException as error:  # noqa: BLE001 - raised in the test below
            raised.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        found = [broken(audited(database)) for _ in range(4)]
    finally:
        stop.set()
        worker.join()
    assert (found, raised) == ([{}] * 4, [])
    assert len(rounds) > 1


def test_one_moment_as_reader_and_read_only(database: Database, cast: Cast) -> None:
    """One REPEATABLE READ, READ ONLY transaction without a time limit; the connection is as before afterwards."""
    seen: list[object] = []

    def look(tx: Transaction) -> list[dict[str, object]]:
        seen.append(
            tx.execute(
                "select current_setting('transaction_isolation'), current_setting('transaction_read_only'),"
                " current_setting('statement_timeout'), current_user::text, pg_current_snapshot()::text"
            ).fetchone()
        )
        return []

    asked = [Invariant(id=f"test/{n}", description="…", check=look) for n in range(2)]
    with contextlib.closing(connect(database.conninfo, database.settings)) as connection:
        audit(connection, asked)
        after = connection.execute(
            "select current_setting('transaction_isolation'), current_user = session_user"
        ).fetchone()
    assert seen[0] == seen[1]
    assert list(seen[0])[:4] == ["repeatable read", "on", "0", "recoup_reader"]  # type: ignore[call-overload]
    assert after == ("read committed", True)


def test_a_query_that_fails_is_broken_and_stops_no_other(superuser: Transaction) -> None:
    """A missing table breaks what asks for it, in words; the rest is answered."""
    superuser.execute("alter table recoup.pause_log rename to gone")
    verdicts = {v.id: v for v in examine(superuser, chosen(["rebuild", "gate_zero_air"]))}
    lost = verdicts["rebuild/recoup.pause"]
    assert not lost.holds
    assert lost.found == 1
    assert lost.rows == ({"error": 'UndefinedTable: relation "recoup.pause_log" does not exist'},)
    assert verdicts["gate_zero_air/7/sequences"].holds
    assert verdicts["rebuild/recoup.worker"].holds


def test_many_rows_are_counted_and_some_are_shown(superuser: Transaction) -> None:
    superuser.execute("alter table recoup.pause_log disable trigger all")
    superuser.execute(
        "insert into recoup.pause_log (incarnation, logged_at, event_type, scope, scope_id, reason, actor, actor_id,"
        " authority) select 1, '2026-01-01', 'PAUSE', 'source', 's' || n, 'none', 'human', 'eve', 'recoup_hub'"
        " from generate_series(1, 150) n"
    )
    (verdict,) = examine(superuser, chosen(["laws/L1/pause-authority"]))
    assert (verdict.holds, verdict.found, len(verdict.rows)) == (False, 150, MAX_ROWS)


def test_ids_name_their_document_and_are_unique() -> None:
    """document/section/name, mint/part/name, laws/law/name or rebuild/table; and no line is claimed twice."""
    ids = [id_ for invariant in INVARIANTS for id_ in invariant.ids]
    assert len(ids) == len(set(ids))
    for id_ in ids:
        assert id_.split("/")[0] in (
            "gate_zero_recovery", "gate_zero_air", "gate_zero_batch", "mint", "errors", "laws", "rebuild", "schema",
            "operations", "recovery", "runs", "deliveries", "alerts", "partitions", "service",
        )  # fmt: skip
    for invariant in INVARIANTS:
        assert invariant.description.endswith(".")
        ways = (invariant.query, invariant.check, invariant.outside)
        assert sum(way is not None for way in ways) == 1


# Lines of the documents that state a rule, by document and section.
LINES = {
    "gate_zero_recovery/7": (
        "recovery_id", "intake_id", "batch_id", "created_at", "Unique Recovery ID", "Unique Intake Reference",
        "Attempt Limit", "Enforced Backoff", "Terminal EXHAUSTED", "No Deletion",
    ),
    "gate_zero_recovery/10": (
        "Retry before next_eligible_at", "Increment beyond 3 attempts", "Delete recovery records",
        "Flip EXHAUSTED to ACTIVE", "Update intake to AUTHORIZED on recovery success", "eligible retries query",
        "exhausted records query",
    ),
    "gate_zero_air/6": ("Unique Event ID", "Append Only", "Complete", "Ordered", "Traceable"),
    "gate_zero_recovery/9": ("identity on new intake",),
    "gate_zero_air/8": (
        "subscription query", "poll for AUTH events", "read intake", "mint in company_identity", "emit MINT",
        "authorization by AIR", "data stays", "no MINT",
    ),
    "gate_zero_air/9": (
        "UPDATE an AIR record", "DELETE an AIR record", "Skip emitting ATTEMPT", "Emit AUTH without PASS",
        "Emit MINT in Gate Zero AIR", "intake history query", "recent failures query",
        "authorization subscription query",
    ),
    "partitions/9": (
        "Raw partitions are immutable", "State is the sole authority", "Every attempt counts once",
        "Current run exists", "Current run in the sink", "One run at a time", "Prior attempts stay",
    ),
    "errors/1": ("SHORT", "MEDIUM", "LONG", "INFINITE"),
    "errors/2": ("dispositions", "state machine"),
    "errors/3": ("policy mapping", "allowed dispositions", "tables", "dead tables"),
    "errors/4": (
        "disposition", "parked_at", "parked_by", "park_reason", "assigned_to", "escalation_level", "owner",
        "MAX_RETRIES_EXCEEDED", "NON_RETRYABLE_ERROR", "ESCALATION_REQUIRED", "EXTERNAL_DEPENDENCY", "DATA_QUALITY",
        "UNPARK", "RESOLVE", "ESCALATE", "ARCHIVE", "exits",
    ),
    "errors/5": (
        "max retries", "backoff", "window", "retry_count", "max_retries", "last_retry_at", "next_retry_at",
        "retry_exhausted", "retry to park",
    ),
    "errors/6": ("promotion check query", "blocking tables", "isolation"),
    "errors/7": (
        "TTL_EXPIRED", "MANUAL_ARCHIVE", "RESOLVED", "SUPERSEDED", "destination", "retention", "archived_at",
        "archived_by", "archive_reason", "final_disposition",
    ),
    "errors/8": ("CRITICAL", "HIGH", "MEDIUM", "LOW", "ttl override"),
    "errors/9": (
        "dol max retries", "company target ttl", "company target auto park", "people ttl",
        "people park on missing name",
    ),
}  # fmt: skip


def test_every_line_of_the_documents_has_its_invariant() -> None:
    """Each column of sections 2 and 3, each invariant and anti-pattern by name, and every section."""
    held = {id_ for invariant in INVARIANTS for id_ in invariant.ids}
    wanted = {f"{place}/{_slug(line)}" for place, lines in LINES.items() for line in lines}
    for table in (documents.RECOVERY, documents.AIR):
        for name, _, _ in documents.columns(table):
            wanted |= {f"{table.removeprefix('cl.')}/{section}/{_slug(name)}" for section in (2, 3)}
    assert wanted - held == set()
    for document, last in (("gate_zero_recovery", 11), ("gate_zero_air", 10), ("errors", 9)):
        assert all(chosen([f"{document}/{section}"]) for section in range(2, last + 1))
    assert all(chosen([f"laws/L{law}"]) for law in range(1, 11))


def _slug(line: str) -> str:
    return line.lower().replace(" ", "-").replace("_", "-")


def test_printed_comments_and_queries_are_the_documents() -> None:
    """What the audit compares with is what the documents print, but for the one slip that is corrected."""
    text = {name: sql.as_string(None) for name, sql in load("recoup.gate", "printed.sql").items()}
    comments = re.sub(r"'\n *'", "", text["comments"])  # SQL joins literals that a line break parts
    for _, _, comment in documents.comments()[1:]:
        assert f"'{comment}'" in comments
    printed = " ".join(" ".join(text[name].split()) for name in text if name.startswith("printed_"))
    given = {
        ":last_processed_timestamp": "'-infinity'",
        ":intake_id": "(select l.entity_id from cl.gate_zero_air l order by l.seq desc limit 1)",
    }
    for query in documents.QUERIES.values():
        as_printed = " ".join(query.split())
        for variable, value in given.items():
            as_printed = as_printed.replace(variable, value)
        assert as_printed in printed


def test_a_query_breaks_the_invariants_that_name_it_and_no_others() -> None:
    """An id that a query returns and no invariant has would be found and never reported."""
    by_query: dict[Query | Built, set[str]] = {}
    for invariant in INVARIANTS:
        if invariant.query is not None:
            by_query.setdefault(invariant.query, set()).add(invariant.id)
    for query, ids in by_query.items():
        text = query.sql.as_string(None)
        documents = (
            r"gate_zero_\w+|mint|errors|laws|rebuild|operations|recovery|runs|deliveries|alerts|partitions|service"
        )
        assert set(re.findall(rf"'((?:{documents})/[\w./-]+)'", text)) == ids
