"""What the audit found is kept when somebody asks for it, cannot be changed, and is served."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from command_line import run_in
from product import INVARIANTS, LOGS, apply_policy
from recoup import gate
from recoup.audit import results
from recoup.audit.examine import InvariantResult
from recoup.client import Client
from recoup.database import embedded
from recoup.database.connection import Actor, Database, connect
from recoup.ledger import seals
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused
from recoup.service import keys
from recoup.service.roles import Role
from recoup.settings import Settings
from serving import calling

ADA = Actor("human", "ada")
BREACH = "update cl.gate_zero_intake set status = 'EXHAUSTED'"
ROWS = "select count(*) from recoup.audit_result"


@pytest.fixture
def client(fresh: Callable[..., Database], settings: Settings) -> Iterator[Client]:
    with Client(fresh().conninfo, settings) as client:
        yield client


def kept(database: Database) -> int:
    with database.transaction(Authority.READER) as tx:
        ((count,),) = tx.execute(ROWS.encode()).fetchall()
    return int(count)


def broken(client: Client, server: embedded.Server, settings: Settings) -> None:
    """Three intakes that no event has made what they are."""
    with client.transaction(Authority.HUB) as tx:
        gate.add_intakes(tx, [gate.NewIntake(company_name=name, state="TX") for name in ("a", "b", "c")])
    name = str(conninfo_to_dict(client.conninfo)["dbname"])
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin:
        admin.execute("alter table cl.gate_zero_intake disable trigger user")
        admin.execute(BREACH.encode())


def test_the_audit_writes_nothing_and_a_result_is_kept_on_request(
    client: Client, server: embedded.Server, settings: Settings
) -> None:
    assert all(one.holds for one in client.audit(["laws/L10", "gate_zero_air"]))
    assert kept(client) == 0
    client.audit(["laws/L10", "gate_zero_air"], record=True)
    broken(client, server, settings)
    found = client.audit(["rebuild/cl.gate_zero_intake", "laws/L9"], record=True)
    assert [one.id for one in found if not one.holds] == ["rebuild/cl.gate_zero_intake"]
    second, first = client.audit_results()
    assert (first.selected, first.broken_rows, first.seals_hold) == (["laws/L10", "gate_zero_air"], {}, True)
    assert first.checked == first.held > 2
    assert (second.broken, second.broken_rows) == (1, {"rebuild/cl.gate_zero_intake": 3})
    assert (second.seals_hold, second.held, second.actor) == (None, 2, "human")
    assert first.started_at <= first.finished_at <= second.started_at
    assert client.audit_results(broken=True) == [second]
    assert client.audit_results(limit=1, after=second.seq) == [first]


def test_nobody_changes_a_result_and_a_change_is_found(
    client: Client, server: embedded.Server, settings: Settings
) -> None:
    client.audit(["laws/L9"], record=True)
    for change in ("update recoup.audit_result set broken = 0", "delete from recoup.audit_result"):
        for authority in (Authority.OPERATOR, Authority.ARCHIVER, Authority.READER):
            with pytest.raises(LawRefused), client.transaction(authority) as tx:
                tx.execute(change.encode())
    with pytest.raises(LawRefused), client.transaction(Authority.READER) as tx:
        results.record(tx, [], started_at=results.now(tx))
    with client.transaction(Authority.ARCHIVER) as tx:
        seals.seal(tx)
    name = str(conninfo_to_dict(client.conninfo)["dbname"])
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin:
        admin.execute("alter table recoup.audit_result disable trigger user")
        admin.execute("update recoup.audit_result set selected = '{everything}'")
    (of,) = [log for log in LOGS if log.table == "recoup.audit_result"]
    with client.transaction(Authority.READER) as tx:
        assert seals.verify(tx, [of])


def test_the_command_keeps_and_shows_it(client: Client, server: embedded.Server, settings: Settings) -> None:
    run = run_in({"RECOUP_DSN": client.conninfo, "COLUMNS": "200"}, "audit")
    assert "No result was kept" in run("--last").stdout
    run("--only", "laws/L9")
    assert kept(client) == 0
    run("--only", "laws/L9", "laws/L10", "--record")
    broken(client, server, settings)
    run("--only", "rebuild", "--record", ends=1)
    shown = run("--last").stdout
    assert "rebuild/cl.gate_zero_intake: 3 rows broke it" in shown
    assert "laws/L9, laws/L10" in shown
    second, first = json.loads(run("--last", "--json").stdout)
    assert (second["broken"], first["broken"], first["seals_hold"]) == (1, 0, True)
    assert len(json.loads(run("--last", "--limit", "1", "--json").stdout)) == 1
    assert json.loads(run("--last", "--record", "--json", ends=1).stderr)["refused"] == "audit_unclear"


HUBS = """
[service.hubs.outreach]
tables = ["outreach.dol_errors"]
"""


def test_it_is_served_and_not_to_hubs(client: Client) -> None:
    for number in range(5):
        client.audit([f"laws/L{number + 1}"], record=True)
    with client.transaction(Authority.OPERATOR) as tx:
        apply_policy(tx, HUBS, reason="a hub")
    with client.transaction(Authority.ARCHIVER) as tx:
        made = seals.seal(tx)
    with client.transaction(Authority.KEY_MANAGER, actor=ADA) as tx:
        whole, of_hub = (keys.add(tx, f"v {hub}", Role.VIEWER, hub=hub).secret for hub in (None, "outreach"))
    with calling(client, keyed=True, key=whole) as api:
        found: list[dict[str, Any]] = []
        after: dict[str, str] = {}
        while True:
            page = api.get("/v1/audit", params={"limit": 2, **after}).json()
            if not found:
                client.audit(["laws/L7"], record=True)  # meanwhile
            found += page["items"]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        assert [one["selected"] for one in found] == [[f"laws/L{number}"] for number in (5, 4, 3, 2, 1)]
        assert api.get("/v1/audit", params={"broken": "true"}).json()["items"] == []
        listed = {one["log"]: one for one in api.get("/v1/seals").json()["items"]}
        assert set(listed) == {log.table for log in LOGS if log.canon}
        last = {one.log: one for one in made}
        for log, one in last.items():
            assert (listed[log]["number"], listed[log]["digest"]) == (one.number, one.digest.hex())
            assert listed[log]["rows"] == sum(other.rows for other in made if other.log == log)
        assert [one.log for one in client.seals()] == sorted(listed)
        api.headers["Authorization"] = f"Bearer {of_hub}"
        for path in ("/v1/audit", "/v1/seals"):
            assert api.get(path).json()["code"] == "hub_lacks_authority"


def test_a_result_of_everything_has_room(client: Client) -> None:
    """Also if every invariant were broken."""
    every = [
        InvariantResult(id=one.id, description="", holds=False, found=10**9, rows=(), seconds=0) for one in INVARIANTS
    ]
    with client.transaction(Authority.OPERATOR) as tx:
        made = results.record(tx, every, started_at=results.now(tx))
    assert (made.broken, len(made.broken_rows), made.seals_hold) == (len(INVARIANTS), len(INVARIANTS), False)
