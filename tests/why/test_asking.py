"""What may be asked about, and how: by id or name, as text from anywhere, page by page, by a hub, in each interface."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from command_line import Run, refusal, run_in
from company import attempt_and
from hub import DOL, PEOPLE, TRANSIENT, Hub
from recoup import gate, why
from recoup.client import Client
from recoup.database import embedded
from recoup.domains import DOMAINS
from recoup.errors.recording import NewError
from recoup.gate import NewIntake
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused, Refusal
from recoup.service.acting import acting
from recoup.service.roles import Role
from recoup.settings import Settings
from recoup.why import Answer
from service.desk import Desk
from serving import calling
from why.playing import SOURCES

HUBS = """
[service.hubs.outreach]
tables = ["outreach.dol_errors"]
sources = []
"""
DAY = timedelta(days=1)
ESCAPE = "\x1b[31m"


@pytest.fixture(scope="module")
def client(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Client]:
    with Client(server.uri(new_database()), settings) as own:
        yield own


@pytest.fixture
def hub(client: Client) -> Hub:
    return Hub(client)


@pytest.fixture
def recoup(client: Client) -> Run:
    return run_in({"RECOUP_DSN": client.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "200"})


@pytest.fixture(scope="module")
def api(client: Client) -> Iterator[httpx2.Client]:
    with calling(client) as calls:
        yield calls


def company(client: Client, name: str, *outcomes: ReasonCode | None) -> Any:
    with client.transaction(Authority.HUB) as tx:
        (intake,) = gate.add_intakes(tx, [NewIntake(company_name=name, state="TX")])
    for number, outcome in enumerate(outcomes):
        with client.transaction(Authority.READER) as tx:
            tx.execute("reset role")
            attempt_and(tx, intake, outcome)
        Hub(client).advance(DAY if number == 0 else 3 * DAY)
    return intake


def code(client: Client, subject: str, **more: Any) -> str:
    with pytest.raises(Refusal) as caught:
        client.why(subject, **more)
    return caught.value.code


# What is meant --------------------------------------------------------------------------------------------------------


def test_a_name_that_several_have_is_refused_with_what_it_may_mean(client: Client) -> None:
    one, other = company(client, "Twin Freight"), company(client, "Twin Freight")
    with pytest.raises(InputRefused) as caught:
        client.why("Twin Freight")
    assert caught.value.code == "why_ambiguous"
    assert set(caught.value.facts["found"]) == {f"company:{one}", f"company:{other}"}  # type: ignore[call-overload]
    assert client.why(f"company:{one}").id == str(one)
    assert client.why(str(other)).id == str(other)


def test_a_name_is_not_ambiguous_because_a_company_entered_again(client: Client) -> None:
    """Of an intake and what re-entered for it, the newest is meant: the other one belongs to it."""
    first = company(client, "Second Chance Ltd", ReasonCode.STATE_MISSING, None)
    answer = client.why("Second Chance Ltd")
    assert answer.id != str(first)
    assert [(row.id, row.status) for row in answer.rows] == [(str(first), "REENTER_SUCCEEDED")]
    assert client.why("second chance ltd").id == answer.id


def test_a_longer_name_does_not_hide_the_exact_one(client: Client) -> None:
    exact = company(client, "Acme Air")
    company(client, "Acme Air Cargo")
    assert client.why("Acme Air").id == str(exact)
    assert code(client, "Acme A") == "why_ambiguous"


def test_what_is_unknown_or_has_no_time_line_is_refused_with_a_next_step(client: Client, hub: Hub) -> None:
    assert code(client, str(uuid.uuid4())) == "why_unknown"
    assert code(client, "no such company") == "why_unknown"
    error = hub.record("no such column: ein", code="E9")
    signature = hub.row(error)["error_signature"]
    assert code(client, signature) == "why_no_timeline"
    assert client.why(str(error)).id == f"{DOL}/{error}"


@pytest.mark.parametrize("subject", ["", "  ", "\0", f"a{chr(0)}b", "x" * 1_000_000])
def test_a_text_that_cannot_be_searched_for_is_refused(client: Client, subject: str) -> None:
    assert code(client, subject) == "text_unusable"


@pytest.mark.parametrize("subject", [ESCAPE, "' or 1=1 --", "%", "../..", "error:", "a/b/c/d", "\ud7ff", "é" * 400])
def test_a_strange_text_is_unknown(client: Client, subject: str) -> None:
    assert code(client, subject) == "why_unknown"


def test_an_entity_of_which_nothing_is_known_may_be_named_as_one(client: Client) -> None:
    answer = client.why(f"entity:{uuid.uuid4()}")
    assert (answer.may_move_on, answer.rows, answer.events) == (True, [], [])


def test_every_kind_that_is_found_and_has_a_time_line_is_declared_once() -> None:
    kinds = [kind for domain in DOMAINS for timeline in domain.timelines for kind in timeline.kinds]
    assert len(kinds) == len({*kinds})
    assert {timeline.domain for domain in DOMAINS for timeline in domain.timelines} == {
        domain.name for domain in DOMAINS if domain.timelines
    }
    known = {*kinds}
    assert {kind for domain in DOMAINS for one in domain.timelines for kind in one.follows} <= known


def test_the_core_names_no_domain() -> None:
    for module in (why.__file__, why.__file__.replace("why.py", "timeline.py")):
        lines = Path(module).read_text(encoding="utf-8").splitlines()
        imported = [line.split()[1] for line in lines if line.startswith("from recoup.")]
        assert not {f"recoup.{domain.name}" for domain in DOMAINS} & {".".join(one.split(".")[:2]) for one in imported}


# When -----------------------------------------------------------------------------------------------------------------


def test_times_are_taken_as_people_write_them(client: Client, hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    recorded = hub.now()
    hub.advance(3 * DAY)
    for at in (
        "2d",
        timedelta(days=2),
        recorded + DAY,
        (recorded + DAY).isoformat(),
        f"{recorded + DAY:%Y-%m-%dT%H:%M}",
    ):
        answer = client.why(f"{DOL}/{error}", at)
        assert answer.subject is not None
        assert (answer.is_present, answer.at.tzinfo is not None) == (False, True)
        assert abs(answer.at - (recorded + DAY)) < timedelta(minutes=1)
    assert client.why(f"{DOL}/{error}", recorded).subject is not None


def test_before_it_existed_there_is_nothing(client: Client, hub: Hub) -> None:
    hub.advance(DAY)
    error = hub.record(TRANSIENT)
    answer = client.why(f"{DOL}/{error}", "1m")
    assert (answer.subject, answer.may_move_on, answer.rows, answer.events) == (None, None, [], [])
    assert answer.because == "It did not exist yet."


@pytest.mark.parametrize("at", ["", "yesterday", "2026-13-45", "99999999999d", "0001-01-01T00:00+23:59", "\0", "-3d"])
def test_what_is_no_time_is_refused(client: Client, hub: Hub, at: str) -> None:
    error = hub.record(TRANSIENT)
    assert code(client, str(error), at=at) in ("time_unreadable", "bad_duration")


def test_the_future_is_refused(client: Client, hub: Hub) -> None:
    error = hub.record(TRANSIENT)
    assert code(client, str(error), at=hub.now() + DAY) == "why_in_future"
    assert code(client, str(error), at=datetime.max.replace(tzinfo=UTC)) == "why_in_future"


def test_before_the_first_policy_there_was_none(client: Client, hub: Hub) -> None:
    answer = client.why(f"entity:{uuid.uuid4()}", datetime(2020, 1, 1, tzinfo=UTC))
    assert answer.policy is None


# How much -------------------------------------------------------------------------------------------------------------


def test_pages_cover_every_event_once(client: Client, hub: Hub) -> None:
    entity = uuid.uuid4()
    for number in range(3):
        error = hub.record(TRANSIENT, outreach_id=entity, work_key=f"k{number}")
        hub.fail_when_due(error)
    whole = client.why(str(entity), limit=1000).events
    for limit in (1, 2, 5):
        pages: list[Any] = []
        after: str | None = None
        while True:
            page = client.why(str(entity), limit=limit, after=after)
            assert 1 <= len(page.events) <= limit
            pages, after = [*page.events, *pages], page.next
            if after is None:
                break
        assert pages == whole
    assert len({event.seq for event in whole}) < len(whole) > 8  # one claim is of several errors


@pytest.mark.parametrize(
    "after", ["", "x", "2026-01-01T00:00:00+00:00", "2026-01-01/5", "2026-01-01T00:00:00+00:00/-1"]
)
def test_a_cursor_that_is_none_is_refused(client: Client, hub: Hub, after: str) -> None:
    assert code(client, str(hub.record(TRANSIENT)), after=after) == "cursor_unusable"


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_limit_out_of_bounds_is_refused(client: Client, hub: Hub, limit: int) -> None:
    assert code(client, str(hub.record(TRANSIENT)), limit=limit) == "limit_unusable"


def test_a_message_of_a_megabyte_does_not_make_a_long_answer(client: Client, hub: Hub) -> None:
    entity = uuid.uuid4()
    error = hub.record(f"{ESCAPE}{'é' * 1_000_000}", outreach_id=entity, category="TRANSIENT")
    hub.advance(timedelta(minutes=30))
    hub.fail(hub.claim_one(error), f"{ESCAPE}{'x' * 1_000_000}")
    answer = client.why(str(entity))
    assert len(str(answer)) < 20_000
    assert [event.event for event in answer.events] == ["RECORDED", "CLAIMED", "FAILED"]
    assert 100 < len(answer.events[-1].text) <= 1_000


def test_an_entity_with_very_many_errors_has_a_bounded_answer(client: Client, hub: Hub) -> None:
    entity = uuid.uuid4()
    hub.record_all(
        NewError(table=DOL, message=TRANSIENT, outreach_id=entity, work_key=f"k{number}") for number in range(600)
    )
    answer = client.why(str(entity))
    assert (len(answer.rows), answer.rows_left_out) == (499, True)
    assert len(answer.events) == why.EVENTS
    assert answer.next is not None
    assert answer.may_move_on is False
    assert "more error" in answer.because


# Who asks -------------------------------------------------------------------------------------------------------------


def test_a_key_of_a_hub_sees_its_rows_and_of_others_that_they_block(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> None:
    client = Client(server.uri(new_database()), settings)
    hub = Hub(client)
    hub.apply_policy(HUBS)
    entity, theirs, intake = uuid.uuid4(), uuid.uuid4(), company(client, "Hidden Ltd")
    ours = hub.record("the EIN did not match", outreach_id=entity)
    other = hub.record("M4RKER", table=PEOPLE, outreach_id=entity)
    hub.record("M4RKER", table=PEOPLE, outreach_id=theirs)
    then = hub.now()
    hub.advance(DAY)
    caller = Desk(client).caller(Role.VIEWER, hub="outreach")

    def asked(subject: str, at: Any = None) -> Answer:
        with acting(client, caller, Authority.READER) as tx:
            return why.why(tx, subject, SOURCES, at=at)

    for at in (None, then):
        both, alone = asked(str(entity), at), asked(str(theirs) if at is None else f"entity:{theirs}", at)
        assert [row.id for row in both.rows] == [f"{DOL}/{ours}"]
        assert (both.may_move_on, alone.may_move_on, alone.rows, alone.events) == (False, False, [], [])
        assert f"error {ours}" in both.because
        assert "people" in alone.because
        assert "M4RKER" not in f"{both}{alone}"
    for hidden in (f"{PEOPLE}/{other}", str(other), str(intake), "Hidden Ltd", str(uuid.uuid4())):
        with pytest.raises(Refusal) as caught:
            asked(hidden)
        assert caught.value.code == "why_unknown"
    assert client.why(str(entity)).rows != asked(str(entity)).rows
    client.close()


def test_the_interfaces_give_one_answer(client: Client, hub: Hub, api: httpx2.Client, recoup: Run) -> None:
    entity = uuid.uuid4()
    error = hub.record(f"{ESCAPE} timed out", outreach_id=entity, category="TRANSIENT")
    hub.fail_when_due(error)
    at = hub.now()
    hub.advance(DAY)
    for past in (None, at):
        library = client.why(str(entity), past)
        assert asyncio.run(client.aio.why(str(entity), past)).events == library.events
        given = {"subject": str(entity)} | ({} if past is None else {"at": past.isoformat()})
        answered = api.get("/v1/why", params=given)
        assert answered.status_code == 200, answered.text
        of_route = answered.json()
        more = [] if past is None else ["--at", past.isoformat()]
        of_command = json.loads(recoup("why", entity, *more, "--json").stdout)
        assert [one["text"] for one in of_route["events"]] == [one.text for one in library.events]
        assert [one["text"] for one in of_command["events"]] == [one.text for one in library.events]
        for one in (of_route, of_command):
            assert (one["may_move_on"], one["because"], one["kind"]) == (False, library.because, "entity")
            assert one["rows"][0]["rule"] == library.rows[0].rule
    printed = recoup("why", entity).stdout
    assert ESCAPE not in printed
    assert "May move on  no. It is blocked by" in printed
    assert "Time line" in printed
    assert f"Next: Fix what error {error} is about: recoup errors show {error}" in printed
    assert "Next:" not in recoup("why", entity, "--at", "1h").stdout


def test_refusals_of_each_interface(client: Client, api: httpx2.Client, recoup: Run) -> None:
    unknown = str(uuid.uuid4())
    assert api.get("/v1/why", params={"subject": unknown}).json()["code"] == "why_unknown"
    assert api.get("/v1/why", params={"subject": unknown, "limit": 1001}).status_code == 422
    assert api.get("/v1/why", params={"subject": "a\0b"}).status_code == 422
    assert api.get("/v1/why").status_code == 422
    assert refusal(recoup("why", f"{ESCAPE}{unknown}", "--json", fails=True))["refused"] == "why_unknown"
    assert ESCAPE not in recoup("why", f"{ESCAPE}{unknown}", fails=True).stderr
    assert recoup("why", fails=True).stdout == ""


def test_pages_of_the_command_and_the_route(client: Client, hub: Hub, api: httpx2.Client, recoup: Run) -> None:
    error = hub.record(TRANSIENT)
    hub.fail_when_due(error)
    hub.fail_when_due(error)
    first = api.get("/v1/why", params={"subject": str(error), "limit": 2}).json()
    second = api.get("/v1/why", params={"subject": str(error), "limit": 2, "after": first["next"]}).json()
    assert [one["seq"] for one in (*second["events"], *first["events"])] == sorted(
        one.seq for one in client.why(str(error)).events[1:]
    )
    assert f"--after {first['next']}" in recoup("why", error, "--limit", 2).stdout
    assert json.loads(recoup("why", error, "--limit", 2, "--after", first["next"], "--json").stdout)["events"]
