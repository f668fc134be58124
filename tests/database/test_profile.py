"""A database without the tables of the documents: only its own, and one for what belongs to none of them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator

import pytest
from psycopg.sql import SQL

from command_line import run_in
from company import acting
from databases import START
from hub import DAY, Hub
from product import INVARIANTS, PARTS, apply_policy, migrate
from recoup import policy
from recoup.alerts.policy import AlertPolicy
from recoup.audit import examine
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.domains import DOMAINS
from recoup.errors.capture import failures
from recoup.errors.checks import error_tables
from recoup.errors.policy import ErrorPolicy
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused, MigrationRefused
from recoup.schema import checks
from recoup.schema import migrate as migrations
from recoup.settings import Settings

OTHERS = "public.unassigned_errors"
INVOICES = "billing.invoice_errors"
OWN = """
[errors]
profile = "none"

[errors.tables."billing.invoice_errors"]
ttl = "SHORT"
default = "RETRY"
allowed = ["RETRY", "PARK", "ARCHIVE"]
blocks = true
owner = "billing"
archive_years = 1
"""


@pytest.fixture(scope="module")
def made(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser's connection to a new database with this policy."""
    with contextlib.closing(connect(server.uri(new_database(migrated=False), admin=True), settings)) as connection:
        migrations.migrate(connection, DOMAINS, login=server.app, simulated_from=START, policy=OWN)
        yield connection


@pytest.fixture(scope="module")
def hub(made: Transaction, server: embedded.Server, settings: Settings) -> Iterator[Hub]:
    with Database(server.uri(made.info.dbname), settings) as database:
        yield Hub(database)


def verdicts(connection: Transaction) -> list[str]:
    """What the doctor says of schema and error tables."""
    return [finding.verdict for finding in (*checks.objects(connection, DOMAINS), *error_tables(connection))]


def test_only_its_own_tables_are_created(made: Transaction) -> None:
    """No schema and no table of the documents' errors; doctor and audit hold."""
    tables = made.execute(
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'recoup.error'::regclass order by 1"
    ).fetchall()
    assert tables == [(INVOICES,), (OTHERS.removeprefix("public."),)]
    schemas = "select nspname from pg_namespace where nspname in ('outreach', 'people', 'company')"
    assert made.execute(schemas).fetchall() == []
    assert set(policy.active(made).policy[ErrorPolicy].tables) == {INVOICES, OTHERS}
    assert set(verdicts(made)) == {"ok"}


def test_errors_are_recorded_retried_parked_archived_and_audited(made: Transaction, hub: Hub) -> None:
    """The whole way of an error, and of failures without an entity or without a table."""
    with pytest.raises(TimeoutError), failures(hub.db, INVOICES, outreach_id=uuid.uuid4()) as known:
        raise TimeoutError("the ledger timed out")
    with pytest.raises(TimeoutError), failures(hub.db, INVOICES) as orphan:
        raise TimeoutError("whose invoice")
    assert known.recorded is not None
    assert orphan.recorded is not None
    assert (known.recorded.error_table, orphan.recorded.error_table) == (INVOICES, OTHERS)
    exec_ = run_in({"RECOUP_DSN": hub.db.conninfo}, "exec")
    assert f"recorded as {OTHERS}/" in exec_("--", "false", ends=1).stderr
    assert f"recorded as {OTHERS}/" in exec_("--table", "no.such_errors", "--", "false", ends=1).stderr
    for _ in range(5):
        row = hub.fail_when_due(known.recorded.error_id)
    assert (row["status"], row["retry_count"]) == ("PARKED", 5)
    hub.age(40 * DAY)
    for _ in range(3):
        hub.sweep()
    assert hub.rows("select count(*) from billing.invoice_errors_archive") == [(1,)]
    assert [verdict.id for verdict in examine(made, INVARIANTS) if verdict.rows] == []
    assert set(verdicts(made)) == {"ok"}


def test_no_rule_names_a_table_that_is_not_there(made: Transaction) -> None:
    """As this program reads the policy, and as the database judges by it; also after a change of something else."""
    with made.transaction(force_rollback=True), acting(made, Authority.OPERATOR):
        for blocks in ("true", "false"):
            text = OWN.replace('profile = "none"', "").replace("blocks = true", f"blocks = {blocks}")
            apply_policy(made, text, reason="x")
            rules = set(policy.active(made).policy[AlertPolicy].rules)
            judged = made.execute("select rule from recoup.alert_rules(recoup.alert_policy())")
            assert rules == {name for (name,) in judged} == set(AlertPolicy.shipped().rules) - {"dol-parked-per-day"}


def test_a_whole_document_keeps_the_profile(made: Transaction) -> None:
    """One that does not name it brings no table of the documents; one that does adds them, and never the reverse."""
    with made.transaction(force_rollback=True), acting(made, Authority.OPERATOR):
        apply_policy(made, OWN.replace('profile = "none"', "").replace("blocks = true", "blocks = false"), reason="x")
        found = policy.active(made).policy[ErrorPolicy]
        assert (found.profile, set(found.tables)) == ("none", {INVOICES, OTHERS})
        policy.put(made, policy.set_value(made, "errors.profile", "documents", PARTS), PARTS, reason="x")
        assert len(policy.active(made).policy[ErrorPolicy].tables) == 9
    with made.transaction(force_rollback=True), acting(made, Authority.OPERATOR), pytest.raises(LawRefused) as caught:
        apply_policy(made, OWN.replace(INVOICES, "billing.other_errors"), reason="x")
    assert caught.value.code == "error_table_fixed"


def test_the_tables_for_the_rest_are_named_by_the_policy() -> None:
    """Any listed table in the schema public; names that the documents call dead are free without their profile."""
    own = OWN.replace("billing.invoice_errors", "public.failures").replace(
        'profile = "none"', 'profile = "none"\norphan_table = "public.failures"\nfallback_table = "public.failures"'
    )
    found = policy.read(own, PARTS)[ErrorPolicy]
    assert (found.orphan_table, found.fallback_table) == ("public.failures", "public.failures")
    assert (
        "outreach.people_errors"
        in policy.read(OWN.replace(INVOICES, "outreach.people_errors"), PARTS)[ErrorPolicy].tables
    )
    for name in (INVOICES, "public.nothing"):
        with pytest.raises(InputRefused) as caught:
            policy.read(OWN.replace('profile = "none"', f'profile = "none"\norphan_table = "{name}"'), PARTS)
        assert "errors.orphan_table" in caught.value.happened
        assert OTHERS in caught.value.next_step


def test_only_a_new_database_is_created_with_a_policy(made: Transaction, server: embedded.Server) -> None:
    with pytest.raises(MigrationRefused) as caught:
        migrations.migrate(made, DOMAINS, login=server.app, policy=OWN)
    assert caught.value.code == "policy_exists"
    assert migrate(made, login=server.app).policy is None


def test_the_command_creates_such_a_database(new_database: Callable[..., str], server: embedded.Server) -> None:
    """A table is added to it later as to any other."""
    name = new_database(migrated=False)
    uri = {"RECOUP_DSN": server.uri(name), "RECOUP_ADMIN_DSN": server.uri(name, admin=True)}
    recoup = run_in(uri)
    assert f"created    {OTHERS}, with its archive" in recoup("migrate", "--profile", "none").stdout
    assert '[errors.tables."outreach.dol_errors"]' not in recoup("policy", "show").stdout
    added = OWN.partition('profile = "none"')[2]
    done = recoup("policy", "apply", "-", "--reason", "billing joins", given=added)
    assert f"Next: recoup migrate creates {INVOICES}" in done.stdout
    assert recoup("migrate").stdout == f"created    {INVOICES}, with its archive\n"


def test_schemas_of_others_are_adopted_and_stay_theirs(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    """cl and outreach exist, with an owner and a table of theirs: neither is touched, and doctor and audit hold."""
    with contextlib.closing(connect(server.uri(new_database(migrated=False), admin=True), settings)) as connection:
        connection.execute("""
            do $$ begin create role schema_owner; exception when duplicate_object then null; end $$;
            create schema cl authorization schema_owner; create schema outreach authorization schema_owner;
            create table cl.theirs (x integer); alter table cl.theirs owner to schema_owner;
            comment on schema cl is 'Theirs.'""")
        migrate(connection, login=server.app)
        owners = (
            "select nspowner::regrole::text, obj_description(oid) from pg_namespace where nspname in ('cl', 'outreach')"
        )
        assert connection.execute(owners).fetchall() == [("schema_owner", "Theirs."), ("schema_owner", None)]
        grants = "select relacl from pg_class where oid = 'cl.theirs'::regclass"
        assert connection.execute(grants).fetchone() == (None,)
        assert set(verdicts(connection)) == {"ok"}
        assert [verdict.id for verdict in examine(connection, INVARIANTS) if verdict.rows] == []
        assert migrate(connection, login=server.app).applied == ()


def test_a_comment_changed_by_hand_is_a_warning(made: Transaction) -> None:
    """And the comment that a document prints, applied as printed, is no breach for the audit."""
    with made.transaction(force_rollback=True):
        printed = (
            "Failed intake records awaiting retry. Tracks throttle state (attempt_count, next_eligible_at) and failure"
            " reason. Terminal states: ACTIVE (retryable) or EXHAUSTED (no more retries)."
        )
        made.execute(SQL("comment on table cl.gate_zero_recovery is {}").format(printed))
        assert verdicts(made) == ["warning", "ok"]
        assert [verdict.id for verdict in examine(made, INVARIANTS) if verdict.rows] == []
        made.execute("comment on table cl.gate_zero_recovery is 'whatever'")
        assert verdicts(made) == ["warning", "ok"]
        made.execute("alter table cl.gate_zero_recovery add column odd integer")
        assert verdicts(made) == ["error", "ok"]
