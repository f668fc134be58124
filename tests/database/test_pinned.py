"""What a role, a database or a shell sets by default changes no answer: sessions of ours pin what they depend on."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from command_line import run_in
from company import intake_in, new_batch
from recoup import doctor, gate
from recoup.database import embedded
from recoup.database.connection import Database, connect
from recoup.database.session import pinned
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.refusals import ServerRefused
from recoup.schema.describe import describe
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))
from lively import audited, broken
from sealed_world import seal_all

Answers = Callable[[], tuple[object, ...]]
# Each setting that is pinned, with another value. In groups, as an audit takes a second.
OTHERS = {
    "what the driver reads": {
        "client_encoding": "LATIN1",
        "DateStyle": "German",
        "IntervalStyle": "iso_8601",
        "TimeZone": "Asia/Kathmandu",
        "bytea_output": "escape",
        "extra_float_digits": "-15",
    },
    "what values look like": {
        "lc_monetary": "C.UTF-8",
        "lc_numeric": "C.UTF-8",
        "lc_time": "C.UTF-8",
        "array_nulls": "off",
        "transform_null_equals": "on",
    },
    "what texts look like": {
        "standard_conforming_strings": "off",
        "backslash_quote": "on",
        "quote_all_identifiers": "on",
    },
    "where names are looked for": {"search_path": "evil, pg_catalog, public"},
    "how statements are run": {"jit": "on"},
    "transactions": {"default_transaction_isolation": "serializable", "transaction_timeout": "100ms"},
}


@pytest.fixture(scope="module")
def own(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    """Something has happened in it, and a schema lies ready to be put before the catalogue."""
    name = new_database()
    with psycopg.connect(server.uri(name, admin=True), autocommit=True) as admin:
        admin.execute(
            "create schema evil; grant usage on schema evil to public; create function evil.array_remove(text[], text)"
            " returns text[] language sql immutable as $$ select '{}'::text[] $$; create function"
            " evil.set_config(text, text, boolean) returns text language sql as $$ select ''::text $$"
        )
    with Database(server.uri(name), settings) as database:
        with database.transaction(Authority.GATE) as tx:
            for status in ("PENDING", "AUTHORIZED", "FAILED"):
                intake_in(tx, status)
        seal_all(database)
        yield database


@pytest.fixture(scope="module")
def answers(own: Database, server: embedded.Server, settings: Settings) -> Answers:
    """What describe, audit and doctor answer, and whether the kill switch does its work."""
    name = str(psycopg.conninfo.conninfo_to_dict(own.conninfo)["dbname"])

    def asked() -> tuple[object, ...]:
        with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
            described = describe(connection)
        with Database(own.conninfo, settings) as database:
            with database.transaction(Authority.OPERATOR, reason="Zoë says so") as tx:
                batch = new_batch(tx)
                assert gate.pause_batch(tx, batch, reason="Zoë says so")
                found = gate.find_batch(tx, batch)
                assert (found.pause_reason, found.paused_at) == ("Zoë says so", found.imported_at)
            seal_all(database)
            # That somebody set it is found, and is no other answer.
            verdicts = {one: rows for one, rows in broken(audited(database)).items() if one != "schema/settings"}
        with pytest.MonkeyPatch.context() as shell:
            shell.setenv("RECOUP_DSN", own.conninfo)
            examined = [(one.check, one.verdict) for one in doctor.examine(DOMAINS)]
            findings = [one for one in examined if one[0] != "role settings"]
        return described, verdicts, findings

    return asked


@pytest.fixture(scope="module")
def told_before(answers: Answers) -> tuple[object, ...]:
    return answers()


def test_every_pinned_setting_is_tried() -> None:
    tried = [name for group in OTHERS.values() for name in group]
    assert sorted(tried) == sorted(pinned(180000))
    assert set(pinned(150000)) == set(tried) - {"transaction_timeout"}


@pytest.mark.parametrize("group", OTHERS)
def test_the_default_of_a_database_changes_no_answer(
    own: Database, server: embedded.Server, answers: Answers, told_before: tuple[object, ...], group: str
) -> None:
    """Nor that of a role or a server, which come in the same way."""
    database = Identifier(str(psycopg.conninfo.conninfo_to_dict(own.conninfo)["dbname"]))
    with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
        known = pinned(admin.info.server_version)
        for name, value in OTHERS[group].items():
            if name in known:
                parts = SQL(", ").join(map(Literal, value.split(", ")))
                admin.execute(SQL("alter database {} set {} = {}").format(database, Identifier(name), parts))
        try:
            assert answers() == told_before
        finally:
            admin.execute(SQL("alter database {} reset all").format(database))


@pytest.mark.parametrize(
    "shell",
    [
        {"PGDATESTYLE": "German", "PGTZ": "Asia/Kathmandu", "PGCLIENTENCODING": "SQL_ASCII"},
        {"PGOPTIONS": "-c DateStyle=German -c quote_all_identifiers=on -c default_transaction_isolation=serializable"},
    ],
    ids=["variables", "options"],
)
def test_the_shell_changes_no_answer(
    answers: Answers, told_before: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, shell: dict[str, str]
) -> None:
    for name, value in shell.items():
        monkeypatch.setenv(name, value)
    assert answers() == told_before


def test_a_session_that_was_reset_is_pinned_again(
    own: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also against what the shell said at login, to which RESET goes back."""
    monkeypatch.setenv("PGDATESTYLE", "German")
    with Database(own.conninfo, dataclasses.replace(settings, pool_max=1)) as database:
        for _ in range(2):
            with database.transaction(Authority.GATE) as tx:
                shown = tx.execute("select current_setting('DateStyle'), pg_backend_pid()").fetchone()
                tx.execute("set DateStyle = SQL")
            assert shown is not None
            assert shown == ("ISO, MDY", shown[1])


# The embedded server -------------------------------------------------------------------------------------------------

SWAYING = {
    "PGHOSTADDR": "192.0.2.1",
    "PGCHANNELBINDING": "require",
    "PGTARGETSESSIONATTRS": "standby",
    "PGREQUIREAUTH": "none",
    "PGGSSENCMODE": "require",
    "PGSSLNEGOTIATION": "direct",
    "PGSSLMODE": "verify-full",
    "PGSSLCERTMODE": "require",
    "PGREQUIREPEER": "nobody-at-all",
    "PGMINPROTOCOLVERSION": "3.2",
    "PGOPTIONS": "-c no_such_setting=1",
    "PGCLIENTENCODING": "no_such_encoding",
    "PGPORT": "1",
    "PGHOST": "nowhere.invalid",
    "PGUSER": "mallory",
    "PGDATABASE": "elsewhere",
    "PGPASSFILE": "/dev/null",
    "PGCONNECT_TIMEOUT": "no number",
}


def test_no_variable_of_the_shell_reaches_the_embedded_server(
    settings: Settings, server: embedded.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One by one, all at once, and a service that says the same; the tools that we run hear nothing of them either."""
    (tmp_path / "services").write_text(
        "[away]\nhostaddr=192.0.2.1\nsslmode=verify-full\ntarget_session_attrs=standby\n"
    )
    service = {"PGSERVICE": "away", "PGSERVICEFILE": str(tmp_path / "services")}
    for around in (*({name: value} for name, value in SWAYING.items()), SWAYING, service):
        with monkeypatch.context() as shell:
            for name, value in around.items():
                shell.setenv(name, value)
            found = embedded.status(settings)
            assert found is not None, around
            with contextlib.closing(connect(found.uri("recoup"), settings)) as connection:
                assert connection.info.user == server.app
    home = {"RECOUP_HOME": str(settings.home), "RECOUP_ACTOR": "t"} | SWAYING | service
    assert run_in(home)("db", "status").stdout


@pytest.mark.parametrize(
    ("variable", "value", "word"),
    [("PGSERVICE", "nowhere", "nowhere"), ("PGTZ", "no/where", "no/where"), ("PGGEQO", "perhaps", "geqo")],
)
def test_a_variable_that_cannot_be_outdone_and_makes_no_sense_is_named(
    settings: Settings, server: embedded.Server, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, word: str
) -> None:
    """At once, and not after the time that a server is waited for."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(ServerRefused) as refused:
        embedded.start(settings)
    assert refused.value.code == "environment_wrong"
    assert word in refused.value.happened


def test_what_a_connection_string_says_is_kept_but_for_what_is_pinned(own: Database, settings: Settings) -> None:
    conninfo = make_conninfo(own.conninfo, options="-c work_mem=7MB -c DateStyle=German", client_encoding="LATIN1")
    with Database(conninfo, settings) as database, database.transaction(Authority.GATE) as tx:
        shown = "select current_setting('work_mem'), current_setting('DateStyle'), current_setting('client_encoding')"
        assert tx.execute(shown).fetchone() == ("7MB", "ISO, MDY", "UTF8")
