"""``recoup backfill`` at the command line: the preview, who has to confirm, the bar, and what became of it."""

from __future__ import annotations

import json
import os
import pty
import select as waiting
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from command_line import RECOUP, Run, clean_environment, refusal, run_in
from partitions.people import FIRST, POLICY, Ward, opened
from recoup.database import embedded
from recoup.lifecycles.declaration import Authority
from recoup.partitions import backfilling
from recoup.settings import Settings

PATIENCE_S = 60
LAST = str(FIRST + timedelta(days=3))


@pytest.fixture(scope="module")
def shared(
    new_database: Callable[..., str],
    server: embedded.Server,
    settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ward]:
    yield from opened(new_database, server, settings, tmp_path_factory.mktemp("data"))


@pytest.fixture
def ward(shared: Ward) -> Ward:
    return shared.next_source()


def environment(ward: Ward) -> dict[str, str]:
    return {
        "RECOUP_DSN": ward.client.conninfo, "RECOUP_SINK": str(ward.sink.root), "RECOUP_ACTOR": "ada", "COLUMNS": "250",
    }  # fmt: skip


@pytest.fixture
def backfill(ward: Ward) -> Run:
    return run_in(environment(ward), "backfill")


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def asked(ward: Ward, *more: str) -> list[str]:
    """Four days of two customers of a query."""
    return [ward.source, "--query-name", "orders", "--from", str(FIRST), "--to", LAST, *more]


def test_the_preview_counts_by_what_exists_and_changes_nothing(ward: Ward, backfill: Run) -> None:
    ward.accept(ward.key(0))
    ward.exhaust(ward.key(1))
    ward.reject(ward.key(2))
    ward.enqueue(ward.key(3))
    ward.dispatch()
    rows = parsed(backfill("plan", *asked(ward), "--json"))
    assert {row["found"]: (row["partitions"], row["becomes"]) for row in rows} == {
        "new": (4, "enqueued"), "failed": (1, "asked for again"), "terminal": (1, "left as it is"),
        "success": (1, "left as it is"), "open": (1, "left: a run is under way"),
    }  # fmt: skip
    assert ward.read("select count(*) from partitions.partition_state where source = %s", ward.source) == [(4,)]
    assert ward.read("select count(*) from partitions.backfill") == [(0,)]


def test_a_large_one_is_confirmed_with_its_count(ward: Ward, backfill: Run) -> None:
    ward.policy(POLICY.replace("jitter = 0", "jitter = 0\nconfirm_above = 7"))
    start = ("start", *asked(ward, "--reason", "history", "--json"))
    missing = refusal(backfill(*start, fails=True))
    assert (missing["refused"], missing["facts"]) == ("not_confirmed", {"count": 8, "above": 7})
    assert refusal(backfill(*start, "--yes", "7", fails=True))["refused"] == "more_than_expected"
    assert ward.read("select count(*) from partitions.partition_state where source = %s", ward.source) == [(0,)]
    started = parsed(backfill(*start, "--yes", "8"))
    assert (started["status"], started["planned"], started["expected"], started["waiting"]) == ("running", 8, 8, 8)
    ward.policy(POLICY)


def test_only_what_failed_is_asked_for_again(ward: Ward, backfill: Run) -> None:
    ward.reject(ward.key(1))
    started = parsed(backfill("start", *asked(ward, "--reason", "the source is back", "--only-failed", "--json")))
    assert (started["expected"], started["waiting"], started["left"]) == (8, 1, 7)
    assert ward.read(
        "select p.status, s.lane from partitions.partition_state p join partitions.schedule s using (partition_id)"
        " where p.source = %s", ward.source
    ) == [("pending", "backfill")]  # fmt: skip
    # The request is in the override log, by whom it was made and why.
    ((command, reason, who),) = ward.read(
        "select l.command, l.reason, l.actor_id from partitions.override_log l"
        " join partitions.partition_state p on p.partition_id = any(l.partitions) where p.source = %s", ward.source
    )  # fmt: skip
    assert (command, reason, who) == ("backfill", "the source is back", "ada")


def test_paused_resumed_cancelled_and_refused_afterwards(ward: Ward, backfill: Run) -> None:
    one = parsed(backfill("start", *asked(ward, "--reason", "history", "--json")))["backfill_id"]
    assert parsed(backfill("pause", one, "--reason", "busy", "--json"))["held"] == 8
    assert ward.dispatch() == []
    assert parsed(backfill("resume", one, "--reason", "night", "--json"))["held"] == 0
    (run, *_) = ward.dispatch(1)
    cancelled = parsed(backfill("cancel", one, "--reason", "enough", "--json"))
    assert (cancelled["status"], cancelled["cancelled"]) == ("cancelled", 7)
    ward.publish([run])
    assert ward.judge([run]) == ["accepted"]  # an open run finishes
    shown = parsed(backfill("status", one, "--json"))
    assert (shown["succeeded"], shown["cancelled"]) == (1, 7)
    assert refusal(backfill("resume", one, "--reason", "no", "--json", fails=True))["refused"] == "backfill_status"


def test_a_source_that_nobody_knows_is_refused(backfill: Run) -> None:
    done = backfill("plan", "nobody", "--from", str(FIRST), "--to", LAST, "--json", fails=True)
    assert refusal(done)["refused"] == "source_unknown"


@pytest.mark.parametrize(
    ("option", "given", "code"),
    [
        ("--query-name", "ordres", "query_unregistered"),  # nobody would extract it
        ("--customer-id", "..", "partition_key"),  # its planning would never end
        ("--to", "2099-01-01", "day_not_begun"),
    ],
)
def test_what_could_never_succeed_is_refused_before_anything_is_planned(
    ward: Ward, backfill: Run, option: str, given: str, code: str
) -> None:
    options = {"--query-name": "orders", "--customer-id": "acme", "--from": str(FIRST), "--to": LAST, option: given}
    arguments = [ward.source, *(word for pair in options.items() for word in pair)]
    for verb in (["plan", *arguments], ["start", *arguments, "--reason", "typo", "--yes", "100000"]):
        assert refusal(backfill(*verb, "--json", fails=True))["refused"] == code
    assert [one for one in parsed(backfill("status", "--json")) if one["reason"] == "typo"] == []


def test_a_person_sees_the_preview_confirms_and_watches_a_bar(ward: Ward) -> None:
    ward.policy(POLICY.replace("jitter = 0", "jitter = 0\nconfirm_above = 1"))
    arguments = ("start", *asked(ward, "--reason", "history", "--watch"))
    assert "refused: not_confirmed" in at_a_terminal(ward, "7", lambda: None, *arguments)

    def work() -> None:
        if runs := ward.dispatch():
            ward.publish(runs)
            ward.judge(runs)
            with ward.client.transaction(Authority.CONTROL_PLANE) as tx:
                assert backfilling.continue_all(tx) > 0

    shown = at_a_terminal(ward, "8", work, *arguments)
    before, _, after = shown.partition("These are 8 partitions. Type their number to continue:")
    assert "enqueued" in before
    assert "8 of 8 ended, 0 terminal, 0 held" in after
    assert "━" in after  # the bar
    assert "100%" in after
    ward.policy(POLICY)


def at_a_terminal(ward: Ward, answer: str, work: Callable[[], None], *arguments: str) -> str:
    """What a person sees who types this, while somebody works."""
    primary, secondary = pty.openpty()
    env = {**clean_environment(), **environment(ward), "TERM": "xterm"}
    with subprocess.Popen(
        [*RECOUP, "backfill", *arguments], env=env, stdin=secondary, stdout=secondary, stderr=secondary
    ) as process:
        os.close(secondary)
        os.write(primary, f"{answer}\n".encode())
        shown = b""
        while waiting.select([primary], [], [], PATIENCE_S)[0]:
            try:
                part = os.read(primary, 65536)
            except OSError:  # the other end is closed
                break
            shown += part
            if b"running: 0 of 8 ended" in shown:
                work()
        process.wait(PATIENCE_S)
    os.close(primary)
    return shown.decode()
