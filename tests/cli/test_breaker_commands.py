"""Breakers at the command line and in the library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from command_line import Run, refusal, run_in
from recoup.client import Client
from recoup.database import embedded
from recoup.settings import Settings


@pytest.fixture(scope="module")
def client(server: embedded.Server, settings: Settings, new_database: Callable[..., str]) -> Iterator[Client]:
    with Client(server.uri(new_database()), settings) as client:
        yield client


@pytest.fixture
def recoup(client: Client) -> Run:
    return run_in({"RECOUP_DSN": client.conninfo, "RECOUP_ACTOR": "ada", "COLUMNS": "250"})


def test_opened_listed_and_closed(client: Client, recoup: Run) -> None:
    assert "Every breaker is closed" in recoup("recovery", "breakers").stdout
    said = recoup("recovery", "breaker", "open", "crm", "--reason", "maintenance").stdout
    assert "breaker crm is open" in said
    assert "source:crm" in said
    assert "was open already" in recoup("recovery", "breaker", "open", "crm", "--reason", "again").stdout
    (row,) = json.loads(recoup("recovery", "breakers", "--json").stdout)
    assert (row["status"], row["opened_by"], row["reason"], row["waiting"]) == ("open", "ada", "maintenance", 0)
    assert row["next_probe_at"] is not None
    (listed,) = client.recovery.breakers()
    assert listed.name == "crm"
    assert "crm" in recoup("recovery", "breakers").stdout
    assert "not closed: crm" in recoup("doctor").stdout
    assert "crm is closed" in recoup("recovery", "breaker", "close", "crm", "--reason", "it is back").stdout
    again = refusal(recoup("recovery", "breaker", "close", "crm", "--reason", "it is back", "--json", fails=True))
    assert again["refused"] == "breaker_closed"
    unknown = refusal(recoup("recovery", "breaker", "close", "erp", "--reason", "x", "--json", fails=True))
    assert unknown["refused"] == "breaker_unknown"
    assert "closed" in recoup("recovery", "breakers", "--all").stdout


def test_in_the_library(client: Client) -> None:
    assert client.recovery.open_breaker("erp", reason="down", actor="bea")
    assert not client.recovery.open_breaker("erp", reason="down", actor="bea")
    client.recovery.close_breaker("erp", reason="up", actor="bea")
    assert client.recovery.breakers() == []
    closed = {one.name: one.closed_by for one in client.recovery.breakers(closed=True)}
    assert closed["erp"] == "bea"
