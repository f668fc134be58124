"""The directory answers with what is true of each company, or fails as its kind does."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import httpx2
import pytest

from recoup_demo.world import Company, Kind
from recoup_demo.world.kinds import AnyKind
from recoup_demo.world.names import STATES
from world.asking import DIRECTORY, SHORT_S, Asking, received
from world.odd import Odd
from world.watched import WatchedWorld

BY_NAME = {name.casefold(): code for code, name in STATES.items()}


def code(state: str) -> str | None:
    """The code of a state in any of the spellings here."""
    folded = state.replace(".", "").casefold()
    return BY_NAME.get(folded) or (folded.upper() if folded.upper() in STATES else None)


def codes(entry: dict[str, object]) -> set[str | None]:
    states = entry["states"]
    assert isinstance(states, list)
    return {code(state) for state in states}


TRUE_OF: dict[AnyKind, Callable[[Company, dict[str, object]], bool]] = {
    Kind.GOOD: lambda c, e: codes(e) == {code(c.state)} and e["scope"] == "state",
    Kind.PARKED: lambda c, e: codes(e) == {code(c.state)} and e["scope"] == "state",
    Odd.SAME_STATE_TWICE: lambda c, e: codes(e) == {code(c.state)} and e["scope"] == "state",
    Kind.WRONG_STATE: lambda c, e: len(codes(e)) == 1 and codes(e) != {code(c.state)} and e["scope"] == "state",
    Kind.SEVERAL_STATES: lambda c, e: len(codes(e)) == 2 and e["scope"] == "state",
    Kind.GLOBAL: lambda c, e: e["scope"] == "global",
    Kind.NO_STATE: lambda c, e: e["states"] == [] and e["scope"] == "state",
}


@pytest.mark.parametrize("kind", TRUE_OF)
def test_entries_say_what_is_true(asking: Asking, kind: AnyKind) -> None:
    for company in asking.all(kind):
        answer = asking.entry(company)
        assert answer.status_code == 200
        entry = answer.json()
        assert entry["found"] is True
        assert TRUE_OF[kind](company, entry), (company, entry)


def test_states_are_spelled_in_more_than_one_way(asking: Asking) -> None:
    """And the wrong ones are not all in this country."""
    spelled = {state for company in asking.all(Kind.GOOD) for state in asking.entry(company).json()["states"]}
    assert any(len(state) == 2 for state in spelled)
    assert any(len(state) > 2 for state in spelled)
    wrong = {
        code(state) for company in asking.all(Kind.WRONG_STATE) for state in asking.entry(company).json()["states"]
    }
    assert None in wrong
    assert len(wrong) > 2


def test_no_entry_is_told_in_two_ways(asking: Asking) -> None:
    answers = [asking.entry(company) for company in asking.all(Kind.NO_ENTRY)]
    assert all(answer.json() == {"found": False} for answer in answers)
    assert {answer.status_code for answer in answers} == {200, 404}


def test_a_company_is_found_by_domain_or_by_name(asking: Asking, world: WatchedWorld, client: httpx2.Client) -> None:
    company = asking.some(Kind.GOOD)
    url = f"http://{DIRECTORY}:{world.ports.directory}/company"

    def found(**asked: str) -> bool:
        return bool(client.get(url, params=asked).json()["found"])

    assert found(domain=company.domain)
    assert found(domain=f"WWW.{company.domain}.")
    assert found(domain="", name=company.name.upper())
    assert not found(domain="nobody.example", name="Nobody")
    assert not found()


@pytest.mark.parametrize("kind", [Kind.DIRECTORY_OUT, Odd.DIRECTORY_BUSY, Odd.DIRECTORY_MOVED])
def test_the_service_fails_by_status(asking: Asking, kind: AnyKind) -> None:
    expected = {Kind.DIRECTORY_OUT: 503, Odd.DIRECTORY_BUSY: 429, Odd.DIRECTORY_MOVED: 302}
    assert asking.entry(asking.some(kind)).status_code == expected[kind]


@pytest.mark.parametrize("kind", [Odd.DIRECTORY_NONSENSE, Odd.DIRECTORY_BROKEN_JSON, Odd.DIRECTORY_DEEP_JSON])
def test_some_answers_are_not_json(asking: Asking, kind: AnyKind) -> None:
    for company in asking.all(kind):
        answer = asking.entry(company)
        assert answer.status_code == 200
        with pytest.raises((json.JSONDecodeError, RecursionError)):
            answer.json()


def test_some_answers_are_json_and_no_entry(asking: Asking) -> None:
    for company in asking.all(Odd.DIRECTORY_WRONG_SHAPE):
        entry = asking.entry(company).json()
        assert not (isinstance(entry, dict) and isinstance(entry.get("found"), bool))


def test_a_huge_answer_is_huge(asking: Asking) -> None:
    assert len(asking.entry(asking.some(Odd.DIRECTORY_HUGE)).content) > 8_000_000


@pytest.mark.parametrize("kind", [Kind.SLOW_DIRECTORY, Odd.DIRECTORY_ENDLESS, Odd.DIRECTORY_HANGS_UP])
def test_some_answers_never_come(asking: Asking, world: WatchedWorld, kind: AnyKind) -> None:
    domain = asking.some(kind).domain
    with socket.create_connection((DIRECTORY, world.ports.directory), timeout=10) as connection:
        connection.sendall(f"GET /company?domain={domain} HTTP/1.1\r\nHost: d\r\n\r\n".encode())
        if kind is Odd.DIRECTORY_HANGS_UP:
            assert connection.recv(1) == b""
        elif kind is Odd.DIRECTORY_ENDLESS:
            assert b"200 OK" in received(connection, 1)
            assert [connection.recv(100).strip(b"{ ") for _ in range(3)] == [b""] * 3
        else:
            connection.settimeout(SHORT_S)
            with pytest.raises(TimeoutError):
                connection.recv(1)


def test_now_and_then_fails_at_the_first_asking_of_day_0(asking: Asking, world: WatchedWorld) -> None:
    company = asking.some(Kind.NOW_AND_THEN)
    world.day = 0
    assert [asking.entry(company).status_code for _ in range(3)] == [503, 200, 200]
    world.day = 1
    assert asking.entry(company).json()["found"] is True
    world.day = 0
    assert asking.entry(company).status_code == 503


def test_a_key_is_wanted_only_where_there_is_one(asking: Asking, client: httpx2.Client) -> None:
    assert asking.entry(asking.some(Kind.GOOD), key="any").status_code == 200
    with WatchedWorld(50, key="open sesame") as world:
        locked = Asking(world, client)
        company = locked.some(Kind.GOOD)
        assert [locked.entry(company, key=key).status_code for key in (None, "wrong", "open sesame")] == [401, 401, 200]
