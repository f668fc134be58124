"""``recoup audit`` as its user meets it."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from psycopg.sql import SQL, Identifier

from command_line import Run, run_in
from product import INVARIANTS, chosen
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.refusals import InputRefused
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from lively import Cast, play


@pytest.fixture(scope="module")
def name(new_database: Callable[..., str]) -> str:
    return new_database()


@pytest.fixture(scope="module")
def cast(name: str, server: embedded.Server, settings: Settings) -> Cast:
    with Database(server.uri(name), settings) as database:
        return play(database)


@pytest.fixture(scope="module")
def run(name: str, cast: Cast, server: embedded.Server) -> Run:
    return run_in({"RECOUP_DSN": server.uri(name), "COLUMNS": "200"}, "audit")


@pytest.fixture
def breach(name: str, server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A superuser who writes for good, and whose deed is undone after the test."""
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
        connection.execute("alter table cl.gate_zero_intake disable trigger user")
        yield connection
        connection.execute(
            "update cl.gate_zero_intake set status = 'PENDING' where status = 'EXHAUSTED' and state = 'XX'"
        )
        connection.execute("update cl.gate_zero_intake set state = 'TX' where state = 'XX'")
        for (trigger,) in connection.execute(
            "select tgname from pg_trigger where tgrelid = 'cl.gate_zero_intake'::regclass and not tgisinternal"
        ).fetchall():
            fires = SQL("replica" if trigger == "a_refuse_replicated" else "always")
            connection.execute(
                SQL("alter table cl.gate_zero_intake enable {} trigger {}").format(fires, Identifier(trigger))
            )


def test_a_clean_database_ends_with_0(run: Run) -> None:
    """A table of verdicts, and a sentence."""
    summary = [line.split()[0] for line in run("--only", "gate_zero_air", "rebuild").stdout.splitlines() if line]
    assert {"gate_zero_air", "rebuild"} < set(summary)
    done = run("--verbose", "--only", "gate_zero_air", "rebuild")
    asked = chosen(["gate_zero_air", "rebuild"])
    assert f"All {len(asked)} invariants hold." in done.stdout
    for invariant in asked:
        assert any(line.startswith(invariant.id) and "holds" in line for line in done.stdout.splitlines())
    assert "broken" not in done.stdout
    assert done.stderr == ""


def test_a_breach_ends_with_1_and_shows_sentence_and_rows(run: Run, breach: Transaction, cast: Cast) -> None:
    breach.execute(
        "update cl.gate_zero_intake set status = 'EXHAUSTED', state = 'XX' where intake_id = %s", (cast.pending,)
    )
    done = run("--only", "rebuild", ends=1)
    assert "rebuild/cl.gate_zero_intake: broken" in done.stdout
    assert "cl.gate_zero_intake agrees with AIR." in done.stdout
    assert str(cast.pending) in done.stdout.replace("\n", "")
    assert "1 of 35 invariants is broken." in done.stdout

    told = json.loads(run("--json", ends=1).stdout)
    assert [verdict["id"] for verdict in told] == [invariant.id for invariant in INVARIANTS]
    for verdict in told:
        assert set(verdict) == {"id", "description", "holds", "found", "rows", "seconds", "note"}
        assert verdict["holds"] is (verdict["found"] == 0)
    (rebuilt,) = [verdict for verdict in told if verdict["id"] == "rebuild/cl.gate_zero_intake"]
    assert rebuilt["rows"][0]["intake_id"] == str(cast.pending)
    assert (rebuilt["rows"][0]["status"], rebuilt["rows"][0]["told_status"]) == ("EXHAUSTED", "PENDING")


def test_the_list_names_every_invariant_and_asks_nothing(run: Run) -> None:
    told = json.loads(run("--list", "--json").stdout)
    assert [(i["id"], i["description"]) for i in told] == [(i.id, i.description) for i in INVARIANTS]
    assert "gate_zero_air/7/sequences" in run("--list", "--only", "gate_zero_air/7").stdout


@pytest.mark.parametrize(
    ("prefix", "count"),
    [("laws/L1", 35), ("laws/L10", 1), ("laws/L10/seals", 1), ("gate_zero_recovery/11/", 1), ("laws/L9", 2)],
)
def test_a_prefix_means_whole_parts(prefix: str, count: int) -> None:
    """L1 is not L10; and a line that another invariant holds is found too."""
    assert len(chosen([prefix])) == count


def test_an_unknown_prefix_is_refused_with_advice(run: Run) -> None:
    with pytest.raises(InputRefused) as refused:
        chosen(["gate_zero_recovry/7"])
    assert "gate_zero_recovery/7" in refused.value.next_step
    said = json.loads(run("--only", "nonsense", "--json", ends=1).stderr)
    assert said["refused"] == "invariant_unknown"
    assert "recoup audit --list" in said["next_step"]
