"""Lists in pages: every row once, in one order, whatever is added between two pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

import product
from recoup import alerts, clock, gate, mint
from recoup.database.connection import Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling
from recoup.partitions.backfilling import Selection
from recoup.recovery import breakers
from recoup.service import keys
from recoup.service.roles import Role
from serving import calling

OPERATOR = Authority.OPERATOR
DOL, PEOPLE = "outreach.dol_errors", "people.people_errors"


def pages(api: httpx2.Client, path: str, between: Callable[[], object] = lambda: None, **asked: Any) -> list[Any]:
    """All rows, two at a time. ``between`` runs after the first page."""
    found: list[Any] = []
    after: dict[str, str] = {}
    while True:
        answer = api.get(path, params={"limit": 2, **asked, **after})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        if not found:
            between()
        found += page["items"]
        if page["next"] is None:
            return found
        after = {"after": page["next"]}


def backfill(tx: Transaction, day: int) -> UUID:
    first = date(2026, 1, 1) + timedelta(days=day)
    found = Selection(source="shop", queries=("orders",), customers=("acme",), first=first, last=first)
    return backfilling.start(tx, found, reason="history")


def by(db: Database, act: Callable[[Transaction], object]) -> None:
    with db.transaction(OPERATOR, reason="a test") as tx:
        act(tx)


def test_pauses_of_one_instant_and_what_is_paused_meanwhile(fresh: Callable[..., Database]) -> None:
    """Time stands still: pages go on by the name. A batch is paused in its own row, and is in the same list."""
    db = fresh()
    batches = [f"batch {number}" for number in range(3)]
    with db.transaction(OPERATOR) as tx:
        for batch in batches:
            gate.create_batch(tx, batch)
            gate.pause_batch(tx, batch, reason="x")
        for duty in ("seal", "mint"):
            product.pause(tx, "duty", duty, reason="x")
    with calling(db) as api:

        def meanwhile() -> None:
            by(db, lambda tx: product.pause(tx, "duty", "verify", reason="x"))
            by(db, lambda tx: gate.resume_batch(tx, batches[0]))  # it was on the first page

        found = [one["scope_id"] for one in pages(api, "/v1/pauses", meanwhile)]
        assert found[:2] == batches[:2]
        assert sorted(found) == sorted([*batches, "mint", "seal", "verify"])
        events = [one["seq"] for one in pages(api, "/v1/pauses/log")]
        assert events == sorted(events, reverse=True)
        assert len(set(events)) == 7
        for cursor in ("x", api.get("/v1/pauses/log", params={"limit": 1}).json()["next"]):
            assert api.get("/v1/pauses", params={"after": cursor}).json()["code"] == "cursor_unusable"


def test_breakers_go_on_where_the_page_ended_when_one_closes(fresh: Callable[..., Database]) -> None:
    db = fresh()
    names = [f"kind-{number}" for number in range(5)]
    by(db, lambda tx: [breakers.open_breaker(tx, name, reason="x") for name in names])
    by(db, lambda tx: breakers.close_breaker(tx, names[4]))
    with calling(db) as api:
        path = "/v1/recovery/breakers"
        open_ = [one["name"] for one in pages(api, path)]
        assert open_ == names[:4]
        # The last one of the first page closes: the open ones behind it are listed all the same.
        found = pages(api, path, lambda: by(db, lambda tx: breakers.close_breaker(tx, names[1])), closed="true")
        assert [one["name"] for one in found] == ["kind-0", "kind-1", "kind-2", "kind-3", "kind-1", "kind-4"]
    with db.transaction(Authority.READER) as tx:
        first = breakers.breakers(tx, closed=True, limit=4)
        rest = breakers.breakers(tx, closed=True, after=breakers.Place.of(first[-1]))
        assert [one.name for one in (*first, *rest)] == ["kind-0", "kind-2", "kind-3", "kind-1", "kind-4"]


def test_silences_newest_first(fresh: Callable[..., Database]) -> None:
    db = fresh()
    made: list[Any] = []

    def silence(tx: Transaction) -> None:
        made.append(alerts.silence(tx, "error-rate", key=f"k{len(made)}", lasts=timedelta(hours=1), reason="x"))

    for _ in range(5):
        by(db, silence)
    by(db, lambda tx: alerts.unsilence(tx, made[2]))
    with calling(db) as api:
        path = "/v1/alerts/silences"
        newest = [str(one) for one in reversed(made)]
        found = [one["silence_id"] for one in pages(api, path, lambda: by(db, silence), ended="true")]
        assert found == newest
        active = [one["silence_id"] for one in pages(api, path)]
        assert active == [str(made[5]), *[one for one in newest if one != str(made[2])]]


def test_identities_that_were_minted_together(fresh: Callable[..., Database]) -> None:
    """One page of the mint has one time: they are in the order of the log, each once."""
    db = fresh()

    def minted(count: int) -> None:
        with db.transaction(Authority.HUB) as tx:
            gate.add_intakes(tx, [gate.NewIntake(company_name=f"Acme {uuid4()}", state="TX") for _ in range(count)])
        with db.transaction(Authority.GATE) as tx:
            claimed = gate.claim_attempts(tx, limit=count, worker="w", retries=False)
            gate.finish_attempts(tx, [gate.Passed(attempt_id=one.attempt_id, token=one.token) for one in claimed])
        with db.transaction(Authority.MINT) as tx:
            mint.mint(tx)

    minted(5)
    with db.transaction(Authority.READER) as tx:
        every = [str(one.sovereign_company_id) for one in mint.identities(tx)]
    with calling(db) as api:
        found = [one["sovereign_company_id"] for one in pages(api, "/v1/gate/identities", lambda: minted(2))]
        assert found == every
        assert len(set(found)) == 5
        assert len(pages(api, "/v1/gate/identities")) == 7


def test_backfills_newest_first(fresh: Callable[..., Database]) -> None:
    db = fresh()
    with db.transaction(Authority.CONTROL_PLANE) as tx:
        made = [str(backfill(tx, number)) for number in range(5)]
    with calling(db) as api:

        def one_more() -> None:
            with db.transaction(Authority.CONTROL_PLANE) as tx:
                backfill(tx, 7)

        found = [one["backfill_id"] for one in pages(api, "/v1/backfills", one_more)]
        assert sorted(found) == sorted(made)
        assert len(pages(api, "/v1/backfills", open="true")) == 6


HUBS = f"""
[service.hubs.outreach]
tables = ["{DOL}"]
sources = ["dol"]
[service.hubs.sources]
sources = ["crm"]
"""


def test_a_key_of_a_hub_is_told_of_its_own_tables_and_pauses(fresh: Callable[..., Database]) -> None:
    """And of what stops everybody. Its claims are stopped by what it can see, and by nothing else."""
    db = fresh()
    by(db, lambda tx: product.apply_policy(tx, HUBS, reason="hubs"))
    by(db, lambda tx: gate.create_batch(tx, "a batch"))
    by(db, lambda tx: gate.pause_batch(tx, "a batch", reason="theirs"))
    everything = [("duty", "seal"), ("table", DOL), ("table", PEOPLE), ("table", "recoup.error")]
    by(db, lambda tx: [product.pause(tx, scope, name, reason=name) for scope, name in everything])
    with db.transaction(Authority.KEY_MANAGER) as tx:
        of = {
            hub: keys.add(tx, f"of {hub}", Role.OPERATOR, hub=hub).secret for hub in (None, "outreach", "sources")
        }  # fmt: skip
    with calling(db, keyed=True) as api:

        def asked(hub: str | None, path: str, **more: Any) -> Any:
            answer = api.get(path, headers={"Authorization": f"Bearer {of[hub]}"}, params=more)
            return answer.json()

        def paused(hub: str | None, path: str = "/v1/pauses") -> set[tuple[str, str]]:
            return {(one["scope"], one["scope_id"]) for one in asked(hub, path)["items"]}

        assert paused(None) == {*everything, ("batch", "a batch")}
        assert paused("outreach") == {*everything} - {("table", PEOPLE)}
        assert paused("sources") == {("duty", "seal"), ("table", "recoup.error")}
        assert paused("outreach", "/v1/pauses/log") == paused("outreach")
        for path in ("/v1/errors/metrics", "/v1/errors/report"):
            named = {hub: {one["error_table"] for one in asked(hub, path)["tables"]} for hub in of}
            assert (named["outreach"], named["sources"]) == ({DOL}, set())
            assert {DOL, PEOPLE} <= named[None]
            assert PEOPLE not in str(asked("outreach", path))
        assert asked("outreach", "/v1/errors/metrics", table=PEOPLE)["code"] == "table_of_another_hub"
        assert [one["error_table"] for one in asked(None, "/v1/errors/metrics", table=PEOPLE)["tables"]] == [PEOPLE]


@pytest.mark.parametrize("scope", [("table", DOL), ("table", "recoup.error"), ("global", None)])
def test_a_pause_holds_in_a_transaction_of_a_hub(fresh: Callable[..., Database], scope: tuple[str, str | None]) -> None:
    db = fresh()
    by(db, lambda tx: product.apply_policy(tx, HUBS, reason="hubs"))
    with db.transaction(Authority.KEY_MANAGER) as tx:
        key = keys.add(tx, "outreach", Role.PRODUCER, hub="outreach").secret
    with calling(db, keyed=True, key=key) as api:
        error = {"table": DOL, "message": "the request timed out", "outreach_id": str(uuid4())}
        assert api.post("/v1/errors", json=error).status_code == 201
        by(db, lambda tx: clock.advance(tx, timedelta(hours=1)))
        by(db, lambda tx: product.pause(tx, *scope, reason="x"))
        claim = {"worker": "w", "limit": 10}
        assert api.post("/v1/errors/claim", json=claim).json()["items"] == []
        by(db, lambda tx: product.resume(tx, *scope, reason="x"))
        assert len(api.post("/v1/errors/claim", json=claim).json()["items"]) == 1


def forged(kind: str, value: Any) -> str:
    """A cursor that no list wrote."""
    return base64.urlsafe_b64encode(json.dumps([kind, value]).encode()).decode().rstrip("=")


NAME, LATE = "\0", "9999-12-31T23:59:59.999999-23:59"
HOSTILE = [
    *(("/v1/pauses", forged("pauses", value)) for value in (
        [LATE, "x", "y"], ["2026-01-01T00:00:00", "x", "y"], ["2026-01-01T00:00:00Z", NAME, "y"],
        ["2026-01-01T00:00:00Z", "\ud800", "y"], ["infinity", "x", "y"], [1e300, "x", "y"], [1, "x", "y"], [], None,
    )),
    *(("/v1/recovery/breakers", forged("breakers", value)) for value in (
        [True, LATE, "x"], [True, "2026-01-01T00:00:00Z", NAME], [False, "2026-01-01T00:00:00Z", "\udfff"], [2, 3, 4],
        ["true", "2026-01-01T00:00:00Z", "x"], [None, None, None],
    )),
    *((path, forged(kind, value)) for path, kind in (
        ("/v1/gate/identities", "identities"), ("/v1/backfills", "backfills"), ("/v1/alerts/silences", "silences"),
    ) for value in ("5e6f0000-0000-4000-8000-000000000001", "x", 7, None, ["x"], "\ud800")),
    *((path, forged(kind, value)) for path, kind in (("/v1/audit", "audit"), ("/v1/pauses/log", "pause log"))
      for value in (-1, 2**63, 2**70, 1.5, "1", True, None)),
]  # fmt: skip


@pytest.mark.parametrize(("path", "cursor"), HOSTILE)
def test_a_cursor_that_no_list_wrote_is_refused_or_leads_somewhere(api: httpx2.Client, path: str, cursor: str) -> None:
    answer = api.get(path, params={"after": cursor})
    assert answer.status_code in (200, 400, 422), answer.text
    assert answer.status_code == 200 or answer.json()["code"] in ("cursor_unusable", "value_unusable")
