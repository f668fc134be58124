"""``recoup state`` at the command line: what people see, what they may change, and what holds them back."""

from __future__ import annotations

import json
import os
import pty
import select as waiting
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from command_line import RECOUP, Run, clean_environment, refusal, run_in
from partitions.people import DAY, POLICY, Ward, opened
from recoup.database import embedded
from recoup.settings import Settings

PATIENCE_S = 60


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
def state(ward: Ward) -> Run:
    return run_in(environment(ward), "state")


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def key(ward: Ward, number: int = 1) -> list[str]:
    one = ward.key(number)
    return [
        "--source", one.source, "--customer-id", one.customer_id, "--query-name", one.query_name, "--logical-date",
        str(one.logical_date),
    ]  # fmt: skip


def test_enqueue_names_what_was_known(ward: Ward, state: Run) -> None:
    one = ("enqueue", "--source", ward.source, "--query-name", "orders", "--logical-date", "2025-12-01..2025-12-03")
    assert state(*one).stdout == "6 partitions enqueued\n"
    assert state(*one, "--customer-id", "new").stdout == "3 partitions enqueued\n"
    assert state(*one).stdout == "0 partitions enqueued; 6 known already\n"
    rows = parsed(state(*one, "--customer-id", "acme", "--json"))
    assert [row["known"] for row in rows] == [True] * 3
    many = (*one[:-1], "2020-01-01..2025-12-01")
    refused = refusal(state(*many, "--json", fails=True))
    assert refused["refused"] == "not_confirmed"
    assert "--yes 4324" in str(refused["next_step"])
    assert refusal(state(*many, "--yes", "10", "--json", fails=True))["refused"] == "more_than_expected"


@pytest.mark.parametrize(
    ("query", "customer", "day", "code"),
    [
        ("order", "acme", "2025-12-01", "query_unregistered"),
        ("orders", "..", "2025-12-01", "partition_key"),
        ("orders", "x" * 201, "2025-12-01", "partition_key"),
        ("orders", "acme", "someday", "day_unreadable"),
        ("orders", "acme", "2099-01-01", "day_not_begun"),
        ("orders", "acme", "..2025-12-01", "range_open"),
    ],
)
def test_what_cannot_be_enqueued(ward: Ward, state: Run, query: str, customer: str, day: str, code: str) -> None:
    given = ("--source", ward.source, "--query-name", query, "--customer-id", customer, "--logical-date", day)
    assert refusal(state("enqueue", *given, "--json", fails=True))["refused"] == code


def test_the_line_of_the_seed_works(ward: Ward, state: Run) -> None:
    ward.reject(ward.key(1, customer=ward.source))
    printed = state("retry", "--customer-id", ward.source, "--logical-date", "2025-12-02").stdout
    assert "requeued, due now" in printed
    (row,) = parsed(state("list", "--customer-id", ward.source, "--json"))
    assert (row["status"], row["schedule"]) == ("pending", "waiting")


def test_inspect_shows_attempts_messages_times_and_the_next_retry(ward: Ward, state: Run) -> None:
    ward.reject(ward.key(1))
    printed = state("inspect", *key(ward)).stdout
    assert f"Partition {ward.key(1)} · failed" in printed
    assert "Attempts  1 of 2" in printed
    assert "2 rows are null" in printed
    assert "CONTRACT_BROKEN" in printed
    assert "Next run  2026-" in printed
    assert f"Next: recoup state retry --source {ward.source}" in printed
    (row,) = parsed(state("inspect", *key(ward), "--json"))
    assert row["attempts"][0]["message"] == "2 rows are null"
    assert row["next_run_at"].startswith("2026-")
    ward.accept(ward.key(2))
    assert "Current run" in state("inspect", *key(ward, 2)).stdout
    assert refusal(state("inspect", *key(ward, 9), "--json", fails=True))["refused"] == "partition_unknown"
    assert refusal(state("inspect", "--json", fails=True))["refused"] == "selection_missing"


def test_history_is_told_in_order(ward: Ward, state: Run) -> None:
    ward.enqueue(ward.key(1))
    runs = ward.dispatch()
    ward.publish(runs)
    ward.advance(DAY)
    ward.judge(runs)
    printed = state("history", *key(ward)).stdout
    places = [printed.index(word) for word in ("enqueued", "dispatched", "published", "late_verdict")]
    assert places == sorted(places)
    assert "a verdict came too late and does not count: accepted" in printed
    assert [row["event_type"] for row in parsed(state("history", *key(ward), "--json"))][-1] == "late_verdict"


def test_terminal_partitions_are_listed_and_overridden_with_a_reason(ward: Ward, state: Run) -> None:
    ward.exhaust(ward.key(1))
    ward.reject(ward.key(2))
    of = ("--source", ward.source)
    assert "terminal: MARKED" in state("mark-terminal", *key(ward, 2), "--because", "the customer left").stdout
    printed = state("terminal", *of).stdout
    assert "By cause: ATTEMPTS 1, MARKED 1." in printed
    (aged,) = parsed(state("terminal", *of, "--terminal-cause", "marked", "--json"))
    assert aged["terminal_causes"] == ["MARKED"]
    refused = state("retry", *of, "--json", ends=1)
    assert [row["refused"] for row in parsed(refused)] == ["partition_terminal"] * 2
    missing = refusal(state("retry", *of, "--include-terminal", "--json", fails=True))
    assert missing["refused"] == "reason_missing"
    done = state("retry", *of, "--include-terminal", "--attempts", "3", "--because", "the source is back", "--json")
    assert [row["done"] for row in parsed(done)] == [True, True]
    log = parsed(state("overrides", *of, "--json"))
    assert [(row["command"], row["reason"], row["actor_id"]) for row in log] == [
        ("state retry --include-terminal --attempts 3", "the source is back", "ada"),
        ("state mark-terminal", "the customer left", "ada"),
    ]
    assert log[0]["selection"] == f"--source {ward.source}"
    (one,) = parsed(state("inspect", *key(ward, 1), "--json"))
    assert one["granted_attempts"] == 3


def test_answers_name_the_next_step(ward: Ward, state: Run) -> None:
    ward.accept(ward.key(1))
    ward.enqueue(ward.key(2))
    done = state("retry", "--source", ward.source, ends=1).stdout
    assert "recoup state reprocess" in done
    assert "its next run is at 2026-" in done
    assert "to be reprocessed" in state("reprocess", *key(ward)).stdout
    assert "not given" in state("overrides", "--source", ward.source).stdout


def test_large_sets_are_confirmed_with_their_count(ward: Ward, state: Run) -> None:
    ward.policy(POLICY.replace("jitter = 0", "jitter = 0\nconfirm_above = 2"))
    ward.reject(*[ward.key(number) for number in range(3)])
    retry = ("retry", "--source", ward.source)
    missing = refusal(state(*retry, "--json", fails=True))
    assert (missing["refused"], missing["facts"]) == ("not_confirmed", {"count": 3, "above": 2})
    assert refusal(state(*retry, "--yes", "2", "--json", fails=True))["refused"] == "more_than_expected"
    assert len(parsed(state(*retry, "--yes", "3", "--json"))) == 3
    ward.policy(POLICY)


def test_more_than_one_transaction_holds_are_an_operation(ward: Ward, state: Run) -> None:
    keys = [ward.key(number % 100, customer=f"c{number // 100}") for number in range(510)]
    ward.enqueue(*keys)
    ward.fail_all()
    retry = ("retry", "--source", ward.source, "--re-extract", "--because", "the source is back")
    assert refusal(state(*retry, "--json", fails=True))["refused"] == "not_confirmed"
    done = parsed(state(*retry, "--yes", "510", "--json"))
    assert (done["status"], done["done"], done["refused"]) == ("DONE", 510, 0)
    resumed = state("retry", "--resume", done["operation_id"])
    assert resumed.stdout == "510 partitions requeued, due now; 0 refused\n"
    wrong = refusal(state("reprocess", "--resume", done["operation_id"], "--json", fails=True))
    assert wrong["refused"] == "operation_verb"
    both = refusal(state("retry", *key(ward), "--resume", done["operation_id"], "--json", fails=True))
    assert both["refused"] == "selection_unclear"


def test_a_partition_without_a_run_in_the_sink_is_not_retried_by_mistake(ward: Ward, state: Run) -> None:
    ward.enqueue(ward.key(1))
    ward.lose(5)
    (row,) = parsed(state("retry", *key(ward), "--json", ends=1))
    assert row["refused"] == "never_extracted"
    assert "requeued" in state("retry", *key(ward), "--re-extract").stdout


def test_a_sink_that_is_not_there_is_not_taken_for_an_empty_one(ward: Ward, state: Run) -> None:
    ward.reject(ward.key(1))
    gone = str(ward.sink.root) + "-gone"
    refused = refusal(state("retry", *key(ward), "--json", fails=True, RECOUP_SINK=gone))
    assert refused["refused"] == "sink_unavailable"
    assert parsed(state("list", *key(ward), "--json"))[0]["status"] == "failed"


def typed(ward: Ward, answers: list[str], *arguments: str) -> str:
    """What a person sees at a terminal who types these answers."""
    primary, secondary = pty.openpty()
    env = {**clean_environment(), **environment(ward), "TERM": "xterm"}
    with subprocess.Popen(
        [*RECOUP, "state", *arguments], env=env, stdin=secondary, stdout=secondary, stderr=secondary
    ) as process:
        os.close(secondary)
        os.write(primary, "".join(f"{answer}\n" for answer in answers).encode())
        shown = b""
        while waiting.select([primary], [], [], PATIENCE_S)[0]:
            try:
                part = os.read(primary, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        process.wait(PATIENCE_S)
    os.close(primary)
    return shown.decode()


def test_a_person_is_asked(ward: Ward, state: Run) -> None:
    ward.policy(POLICY.replace("jitter = 0", "jitter = 0\nconfirm_above = 1"))
    ward.reject(ward.key(1), ward.key(2))
    retry = ("retry", "--source", ward.source)
    assert "refused: not_confirmed" in typed(ward, ["3"], *retry)
    shown = typed(ward, ["2", "the source is back"], *retry)
    assert f"2  {ward.source}/orders" in shown
    assert "These are 2 partitions. Type their number to continue:" in shown
    assert "requeued, due now" in shown
    (entry,) = parsed(state("overrides", "--source", ward.source, "--json"))
    assert (entry["reason"], entry["partitions"]) == ("the source is back", 2)
    ward.policy(POLICY)


def test_a_grid_is_coloured_at_a_terminal(ward: Ward, state: Run) -> None:
    ward.accept(ward.key(1))
    ward.reject(ward.key(3))
    plain = state("list", "--source", ward.source, "--grid", "--logical-date", "2025-12-01..2025-12-05").stdout
    assert f"{ward.source}/orders/acme  ·●·✗·" in plain
    assert "● success 1" in plain
    shown = typed(ward, [], "list", "--source", ward.source, "--grid")
    assert "\x1b[32m●\x1b[0m\x1b[2m·\x1b[0m\x1b[31m✗\x1b[0m" in shown
    assert state("list", "--source", "none", "--grid").stdout == "No partitions match.\n"


def test_lists_select_and_count(ward: Ward, state: Run) -> None:
    ward.enqueue(*[ward.key(number) for number in range(4)])
    printed = state("list", "--source", ward.source, "--limit", "2").stdout
    assert "2 of 4 partitions." in printed
    days = ("--logical-date", "2025-12-01..2025-12-02", "--logical-date", "2025-12-04")
    assert len(parsed(state("list", "--source", ward.source, *days, "--status", "pending", "--json"))) == 3
    state("list", "--status", "done", fails=True)


def test_paths_are_of_current_runs(ward: Ward, state: Run) -> None:
    (run,) = ward.accept(ward.key(1))
    ward.reject(ward.key(2))
    (path,) = state("paths", "--source", ward.source).stdout.splitlines()
    assert f"run_id={run.run_id}" in path
    assert os.path.getsize(path) > 0
    (row,) = parsed(state("paths", "--source", ward.source, "--json"))
    assert row["paths"] == [path]


def test_gaps_are_counted_by_kind(ward: Ward, state: Run) -> None:
    ward.accept(ward.key(1))
    ward.reject(ward.key(2))
    asked = ("--source", ward.source, "--query-name", "orders", "--customer-id", "acme", "--logical-date")
    printed = state("gaps", *asked, "2025-12-02..2025-12-04").stdout
    assert "2 gaps: never_enqueued 1, failed 1" in printed
    only = parsed(state("gaps", *asked, "2025-12-02..2025-12-04", "--kind", "failed", "--json"))
    assert [row["kind"] for row in only] == ["failed"]
    assert state("gaps", *asked, "2025-12-02").stdout == "No gaps.\n"


def test_verify_exits_with_status_1_when_something_is_missing(ward: Ward, state: Run) -> None:
    ward.accept(ward.key(1))
    found = [row for row in parsed(state("verify", "--json")) if ward.source in row["location"]]
    assert found == []
    (one,) = ward.client.partitions.current(ward.all)
    folder = ward.sink.root / one.location
    folder.parent.chmod(0o755)
    folder.rename(folder.parent / "aside")
    rows = parsed(state("verify", "--json", ends=1))
    assert {row["kind"] for row in rows if ward.source in row["location"]} == {"missing", "foreign"}
    assert "Restore from a backup" in state("verify", ends=1).stdout
    (folder.parent / "aside").rename(folder)


def test_a_contract_is_tried_on_a_file(ward: Ward, state: Run, tmp_path: Any) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"id": 1}\n')
    bad.write_text('{"id": null}\n{"id": 2}\n')
    assert state("check", good, "--contract", "orders").stdout == "accepted: the file fulfils orders\n"
    printed = state("check", bad, "--contract", "orders", ends=1).stdout
    assert printed.startswith("rejected: ")
    assert not parsed(state("check", bad, "--contract", "orders", "--json", ends=1))["accepted"]
    unknown = refusal(state("check", good, "--contract", "order", "--json", fails=True))
    assert str(unknown["next_step"]).startswith("Did you mean orders? Add it under [partitions.contracts.order]: ")


def test_the_sink_is_created_once_and_registered(ward: Ward, state: Run, tmp_path: Any) -> None:
    folder = str(tmp_path / "raw")
    more = {"RECOUP_SINK": folder, "RECOUP_SINK_NAME": "second"}
    first = state("sink", "create", **more).stdout
    assert first == f"raw sink second in {folder}\n"
    assert state("sink", "create", **more).stdout == first
    assert "available" in state("sink", "list").stdout
    assert refusal(state("sink", "create", "--json", fails=True, RECOUP_SINK=folder))["refused"] == "sink_registered"


def test_partitions_are_found(ward: Ward) -> None:
    ward.accept(ward.key(1))
    recoup = run_in(environment(ward))
    printed = recoup("find", str(ward.key(1))).stdout
    assert f"recoup state inspect --source {ward.source}" in printed
    (check,) = (one for one in parsed(recoup("doctor", "--json")) if one["check"] == "partitions")
    assert check["verdict"] in ("ok", "warning")
