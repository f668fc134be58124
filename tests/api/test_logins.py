"""A login for each role: whatever a transaction of the API runs, it takes no authority that its role has not."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import httpx2
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from command_line import run_in
from hub import DOL
from recoup import doctor
from recoup.api.app import build
from recoup.api.callers import Callers
from recoup.cli.db_login import ApiRole
from recoup.database import embedded
from recoup.database import logins as members
from recoup.database.connection import Actor, Database, Transaction, connect
from recoup.database.failures import options_of
from recoup.domains import DOMAINS
from recoup.health import CheckResult
from recoup.lifecycles.declaration import Authority
from recoup.refusals import Refusal, ServerRefused, SettingRefused
from recoup.service import Principal, keys, local, logins
from recoup.service.keys import KEYED
from recoup.service.roles import Role, authorities
from recoup.settings import API_LOGINS, Settings, load
from serving import calling, through

ADA = Actor("human", "ada")


@pytest.fixture(scope="module")
def own(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Database]:
    with Database(server.uri(new_database()), replace(settings, pool_max=2)) as database:
        yield database


@pytest.fixture(scope="module")
def callers(own: Database) -> Callers:
    """As the API admits and opens: two connections for all roles, so that each is closed for another one."""
    found: Callers = build(own, keyed=True, logins=through(own)).state.callers
    return found


def who(role: Role) -> Principal:
    return Principal(key_id=uuid4(), name=f"a {role}", role=role)


def takes(tx: Transaction, how: str, role: str) -> bool:
    """Whether a transaction can act as this role, in one of the ways in which SQL can ask."""
    statement = {
        "set local role": SQL("set local role {}").format(Identifier(role)),
        "set role": SQL("reset role; set role {}").format(Identifier(role)),
        "set_config": SQL("select set_config('role', {}, true)").format(role),
        "authorization": SQL("set local session authorization {}").format(Identifier(role)),
    }[how]
    try:
        with tx.transaction():
            tx.execute(statement)
            assert tx.execute("select current_user").fetchone() == (role,)
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


@pytest.mark.parametrize("role", KEYED)
def test_a_transaction_of_a_role_takes_its_authorities_and_no_others(callers: Callers, role: Role) -> None:
    for begun in sorted(authorities(role)):
        for authority in Authority:
            with callers.acting(who(role), begun) as tx:
                assert takes(tx, "set local role", authority.role) is (authority in authorities(role)), authority
    for how in ("set role", "set_config", "authorization"):
        for name in [one.role for one in Authority if one not in authorities(role)] + ["recoup_owner", "recoup_app"]:
            with callers.acting(who(role), Authority.READER) as tx:
                assert not takes(tx, how, name), (how, name)


def test_what_the_service_does_itself_takes_no_authority_of_a_role(own: Database) -> None:
    with through(own).service.transaction(Authority.SERVICE) as tx:
        able = {authority for authority in Authority if takes(tx, "set local role", authority.role)}
    assert able == {Authority.READER, Authority.SERVICE}
    assert not any(Authority.SERVICE in authorities(role) for role in Role)


def test_the_person_who_started_the_service_acts_through_the_everyday_login(callers: Callers) -> None:
    with callers.acting(local("ada"), Authority.OPERATOR) as tx:
        assert tx.execute("select session_user::text").fetchone() == ("recoup_app",)


def test_what_forgets_to_say_who_acts_sees_no_row_of_a_hub(own: Database) -> None:
    with through(own).of(Role.OPERATOR).transaction(Authority.READER) as tx:
        assert tx.execute("select count(*), current_setting('recoup.hub') from recoup.error").fetchone() == (0, "-")


def test_all_roles_share_the_connections_of_one_process(own: Database, callers: Callers) -> None:
    """Roles that take turns over two connections: nobody starves, each acts through its own login.

    One that was closed may not have ended on the server when the one in its place begins.
    """
    name, most, done = options_of(own.conninfo)["dbname"], [0], threading.Event()

    def counted() -> None:
        with psycopg.connect(own.conninfo, application_name="watching", autocommit=True) as watching:
            query = (
                "select count(*) from pg_stat_activity"
                " where datname = %s and application_name = 'recoup' and usename like 'recoup_api%%'"
            )
            while not done.wait(0.002):
                most[0] = max(most[0], (watching.execute(query, (name,)).fetchone() or (0,))[0])

    def acted(number: int) -> str:
        role = KEYED[number % len(KEYED)]
        with callers.acting(who(role), sorted(authorities(role))[number % 2]) as tx:
            (user,) = tx.execute("select session_user::text, pg_sleep(0.001)").fetchone()[:1]  # type: ignore[index]
        assert user == logins.EMBEDDED.format(role.value)
        return role

    for number in range(len(KEYED)):
        acted(number)
    with ThreadPoolExecutor(11) as threads:
        watch = threads.submit(counted)
        try:
            assert len(list(threads.map(acted, range(300)))) == 300
        finally:
            done.set()
        watch.result()
    assert 1 <= most[0] <= 4 < len(KEYED)


def new_key(database: Database, role: Role) -> dict[str, str]:
    with database.transaction(Authority.KEY_MANAGER, actor=ADA) as tx:
        return {"Authorization": f"Bearer {keys.add(tx, f'{role}-{uuid4().hex[:8]}', role).secret}"}


def done_by(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


WATCH = """
create table public.seen (login text);
create function public.see() returns trigger language plpgsql security definer as $$
begin insert into public.seen values (session_user); return null; end $$;
create trigger see after update on recoup.operation_item for each statement execute function public.see();
"""


def test_an_operation_continues_through_the_login_of_whoever_began_it(
    own: Database, server: embedded.Server, fresh: Callable[..., Database]
) -> None:
    """In the background, after the answer. A trigger of the test says through which login results are written."""
    database, code = fresh(), uuid4().hex[:8]
    admin = psycopg.connect(server.uri(str(options_of(database.conninfo)["dbname"]), admin=True), autocommit=True)
    with contextlib.closing(admin), calling(database, keyed=True) as api:
        admin.execute(WATCH)
        producer, operator = new_key(database, Role.PRODUCER), new_key(database, Role.OPERATOR)
        for _ in range(3):
            error = {"table": DOL, "message": "it timed out", "code": code, "outreach_id": str(uuid4())}
            done_by(api.post("/v1/errors", json=error, headers=producer), 201)
        many = {"filter": {"code": [code]}, "reason": "look"}
        begun = done_by(api.post("/v1/errors/park", json=many, headers=operator), 202)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            found = done_by(api.get(f"/v1/operations/{begun['operation_id']}", headers=operator))["operation"]
            if found["status"] == "DONE":
                break
        assert (found["status"], found["done"], found["refused"]) == ("DONE", 3, 0)
        assert admin.execute("select distinct login from public.seen").fetchall() == [("recoup_api_operator",)]


def test_people_of_two_roles_bring_a_recovery_from_its_report_to_its_approval(own: Database) -> None:
    """What routes do as other authorities within their transaction, their role has too."""
    with calling(own, keyed=True) as api:
        producer, operator, reviewer = (new_key(own, role) for role in (Role.PRODUCER, Role.OPERATOR, Role.REVIEWER))
        failure = {"source": "crm", "key": str(uuid4()), "message": "the CRM timed out"}
        match = done_by(api.post("/v1/recovery/failures", json=failure, headers=producer), 201)["failure_match_id"]
        at = f"/v1/recovery/matches/{match}"
        incident = done_by(api.get(at, headers=operator))["incident"]["incident_id"]
        scope = {"incident": incident, "actions": ["notify_ops"], "reason": "x"}
        done_by(api.post("/v1/recovery/scopes", json=scope, headers=operator), 201)
        candidates = []
        for _ in range(2):
            made = done_by(api.post(f"{at}/propose", json={"action": "notify_ops"}, headers=operator), 201)
            candidates.append(f"/v1/recovery/candidates/{made['candidate_id']}")
            verb, body = ("reject", {"reason": "not yet"}) if len(candidates) == 1 else ("approve", {})
            assert api.post(f"{candidates[-1]}/{verb}", json=body, headers=operator).status_code == 403
            done_by(api.post(f"{candidates[-1]}/{verb}", json=body, headers=reviewer))
    with own.transaction(Authority.READER) as tx:
        through_ = tx.execute(
            "select array_agg(distinct p.login) from recovery.provenance p where p.failure_match_id = %s", (match,)
        ).fetchone()
    assert set((through_ or ([],))[0]) == {f"recoup_api_{role}" for role in ("producer", "operator", "reviewer")}


# How they are made ---------------------------------------------------------------------------------------------------


def test_logins_become_again_what_they_have_to_be(own: Database, server: embedded.Server) -> None:
    """By several services at once, whatever somebody made of them."""
    admin = server.uri(str(options_of(own.conninfo)["dbname"]), admin=True)
    through(own)
    with contextlib.closing(connect(admin, own.settings)) as connection:
        connection.execute("alter role recoup_api_viewer superuser inherit password 'wrong'")
        connection.execute("grant recoup_reviewer to recoup_api_viewer")
        connection.execute("revoke recoup_consumer from recoup_api_viewer")

    def made(_: int) -> None:
        with contextlib.closing(connect(admin, own.settings)) as connection:
            logins.make(connection, own.conninfo)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(made, range(4)))
    conninfos = logins.of_embedded(own.conninfo)
    assert len({options_of(one)["password"] for one in (*conninfos.values(), own.conninfo)}) == len(conninfos) + 1
    with contextlib.closing(connect(admin, own.settings)) as connection:
        able = members.memberships(connection, [logins.EMBEDDED.format(name) for name in logins.wanted()])
        assert able == {logins.EMBEDDED.format(name): wanted for name, wanted in logins.wanted().items()}
        ((unsafe,),) = connection.execute(
            "select count(*) from pg_roles where rolname like 'recoup_api_%' and (rolsuper or rolinherit or"
            " rolcreaterole or rolcreatedb or rolbypassrls or rolreplication)"
        ).fetchall()
    assert unsafe == 0
    for conninfo in conninfos.values():
        connect(conninfo, own.settings).close()


# On a server of one's own --------------------------------------------------------------------------------------------


@pytest.fixture
def external(own: Database, server: embedded.Server) -> Iterator[Callable[..., Settings]]:
    """Settings of somebody with a server of their own, and logins that they made there."""
    database, made = str(options_of(own.conninfo)["dbname"]), []

    def configured(roles: dict[str, set[Authority]], **more: str) -> Settings:
        given = {"RECOUP_DSN": own.conninfo, "RECOUP_HOME": str(own.settings.home)} | more
        with contextlib.closing(connect(server.uri(database, admin=True), own.settings)) as admin:
            for role, able in roles.items():
                name = f"api_{role}_{uuid4().hex[:8]}"
                members.add(admin, name, sorted(able), password="a password")
                made.append(name)
                given[f"RECOUP_API_{role.upper()}_LOGIN"] = make_conninfo(
                    own.conninfo, user=name, password="a password", dbname="postgres"
                )
        return load(given)

    yield configured
    with contextlib.closing(connect(server.uri(database, admin=True), own.settings)) as admin:
        for name in made:
            admin.execute(SQL("drop role {}").format(Identifier(name)))


def test_configured_logins_are_used_and_reach_the_database_of_dsn(
    own: Database, external: Callable[..., Settings]
) -> None:
    settings = external({name: set(able) for name, able in logins.wanted().items()})
    found = logins.conninfos(settings, own)
    assert set(found) == set(logins.wanted())
    assert "password" not in repr(settings)
    with Database(own.conninfo, own.settings) as everyday:
        through_ = logins.Logins(everyday, found)
        with through_.of(Role.REVIEWER).transaction(Authority.REVIEWER) as tx:
            asked = tx.execute("select session_user::text, current_database()").fetchone()
    assert asked == (options_of(found["reviewer"])["user"], options_of(own.conninfo)["dbname"])


def test_a_login_that_lacks_an_authority_of_its_role_is_refused_at_the_start(
    own: Database, external: Callable[..., Settings]
) -> None:
    settings = external({"operator": {Authority.READER, Authority.OPERATOR}})
    with pytest.raises(ServerRefused, match="may not act as") as refusal:
        logins.conninfos(settings, own)
    assert (refusal.value.code, "a password" in str(refusal.value.as_json())) == ("api_login_lacks_authority", False)


def test_a_login_of_another_server_or_without_its_secret_is_refused(
    own: Database, external: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = external({"viewer": set(authorities(Role.VIEWER))})
    monkeypatch.setenv("SECRET_VIEWER", str(settings.api_viewer_login))
    by_name = replace(settings, api_viewer_login="env:SECRET_VIEWER")
    assert logins.conninfos(by_name, own) == logins.conninfos(settings, own)
    for wrong in ("env:NOWHERE", "no connection string hunter2"):
        with pytest.raises(SettingRefused) as refusal:
            logins.conninfos(replace(settings, api_viewer_login=wrong), own)
        assert (refusal.value.code, "hunter2" in str(refusal.value.as_json())) == ("bad_setting", False)
    elsewhere = "postgresql://nobody:hunter2@127.0.0.1:1/x"
    with pytest.raises(Refusal) as unreachable:
        logins.conninfos(replace(settings, api_viewer_login=elsewhere), own)
    assert "hunter2" not in str(unreachable.value.as_json())


def examined(**environment: str) -> CheckResult:
    """What the doctor says of the logins of the API."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("RECOUP_")]:
            patch.delenv(name)
        for name, value in {**environment, "RECOUP_PROJECT": "none"}.items():
            patch.setenv(name, value)
        (found,) = (one for one in doctor.examine(DOMAINS) if one.check == "api logins")
    return found


def test_the_doctor_says_whether_each_role_has_a_login_of_its_own(
    own: Database, external: Callable[..., Settings]
) -> None:
    new_key(own, Role.VIEWER)
    one_for_all = examined(RECOUP_DSN=own.conninfo)
    assert one_for_all.verdict == "warning"
    assert "one login, that of dsn, for every role" in one_for_all.found
    assert "recoup db login add NAME --api-role ROLE" in str(one_for_all.next_step)

    wanted = {name: set(able) for name, able in logins.wanted().items()}
    good = external(wanted)
    given = {f"RECOUP_API_{name.upper()}_LOGIN": conninfo for name, conninfo in good.api_logins.items()}
    assert examined(RECOUP_DSN=own.conninfo, **given).verdict == "ok"

    both = external({"reviewer": wanted["reviewer"] | {Authority.CLAIM_WORKER}})
    given["RECOUP_API_REVIEWER_LOGIN"] = str(both.api_reviewer_login)
    wrong = examined(RECOUP_DSN=own.conninfo, **given)
    assert wrong.verdict == "warning"
    assert "may also act as claim_worker" in wrong.found
    del given["RECOUP_API_ADMIN_LOGIN"]
    assert "for admin" in examined(RECOUP_DSN=own.conninfo, **given).found


def test_a_login_for_a_role_is_made_by_one_command(own: Database, server: embedded.Server) -> None:
    assert set(get_args(ApiRole)) == set(logins.wanted()) == set(API_LOGINS.values())
    admin = server.uri(str(options_of(own.conninfo)["dbname"]), admin=True)
    run = run_in({"RECOUP_DSN": own.conninfo, "RECOUP_ADMIN_DSN": admin, "RECOUP_PROJECT": "none"})
    for name, wanted in logins.wanted().items():
        login = f"x_{name}_{uuid4().hex[:8]}"
        made = json.loads(run("db", "login", "add", login, "--api-role", name, "--json").stdout)
        try:
            assert set(made["authorities"]) == wanted
        finally:
            run("db", "login", "remove", login)


def test_a_new_login_goes_into_a_file_that_only_its_user_can_read(
    own: Database, server: embedded.Server, tmp_path: Path
) -> None:
    admin = server.uri(str(options_of(own.conninfo)["dbname"]), admin=True)
    run = run_in({"RECOUP_DSN": own.conninfo, "RECOUP_ADMIN_DSN": admin, "RECOUP_PROJECT": "none"}, "db", "login")
    file, login = tmp_path / "api_viewer", f"x_{uuid4().hex[:8]}"
    add = ("add", login, "--api-role", "viewer", "--dsn-file", file)
    said = run(*add).stdout
    try:
        conninfo = file.read_text().strip()
        assert file.stat().st_mode & 0o777 == 0o600
        assert str(options_of(conninfo)["password"]) not in said
        with contextlib.closing(connect(conninfo, own.settings)) as connection:
            assert connection.info.user == login
        for again in (add, ("add", f"{login}_2", "--dsn-file", file)):
            assert "file_unwritable" in run(*again, fails=True).stderr
        assert file.read_text().strip() == conninfo
        other = tmp_path / "other"  # the login exists: no file is left behind
        assert "login_exists" in run("add", login, "--dsn-file", other, fails=True).stderr
        assert not other.exists()
    finally:
        run("remove", login)
