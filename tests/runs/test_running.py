"""Runs: started or queued, claimed, kept alive, noted and ended; each once, by the holder of the token."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest

from company import acting
from recoup.client import Client
from recoup.database.connection import connect
from recoup.lifecycles.declaration import Authority
from recoup.redaction import REDACTED
from recoup.refusals import InputRefused, LawRefused
from recoup.runs import Failed, Started, Succeeded
from recoup.runs.policy import RunPolicy
from runs.track import HOUR, advance, read, sweep, trace


def test_a_run_from_its_start_to_its_end(client: Client) -> None:
    run = client.runs.start("import", input={"day": 1}, owner="ada")
    client.runs.heartbeat(run)
    assert client.runs.note(run, "half of it") == 1
    assert client.runs.finish(Succeeded(**run._asdict(), result={"rows": 3})) == [(run.run_id, "succeeded")]
    shown = client.runs.show(run)
    assert (shown.status, shown.input, shown.result, shown.owner) == ("succeeded", {"day": 1}, {"rows": 3}, "ada")
    assert shown.source == "import"
    assert [event.event_type for event in shown.trace] == ["started", "note", "succeeded"]
    assert shown.trace[1].reason == "half of it"


def test_a_queued_run_is_claimed_oldest_first(client: Client) -> None:
    kind = f"k-{uuid.uuid4()}"
    queued = []
    for day in range(3):
        queued.append(client.runs.queue(kind, input={"day": day}, source="crm"))
        advance(client, HOUR)
    claimed = client.runs.claim(kind, limit=2, owner="w1")
    assert [(one.run_id, one.input, one.source) for one in claimed] == [
        (queued[0], {"day": 0}, "crm"), (queued[1], {"day": 1}, "crm"),
    ]  # fmt: skip
    assert len({one.token for one in claimed}) == 2
    client.runs.finish([Failed(run_id=one.run_id, token=one.token, message="no") for one in claimed])
    assert trace(client, queued[0]) == ["queued", "started", "failed"]
    assert [one.run_id for one in client.runs.claim(kind, limit=5)] == queued[2:]


def test_two_claims_at_once_share_no_run(client: Client) -> None:
    kind = f"k-{uuid.uuid4()}"
    with client.transaction(Authority.RUNNER) as tx:
        queued = {client.runs.queue(kind, tx=tx) for _ in range(20)}
    with client.transaction(Authority.RUNNER) as one, client.transaction(Authority.RUNNER) as two:
        first = client.runs.claim(kind, limit=12, tx=one)
        second = client.runs.claim(kind, limit=12, tx=two)  # it does not wait
    assert (len(first), len(second)) == (12, 8)
    assert {run.run_id for run in (*first, *second)} == queued


def test_a_run_ends_once_and_a_second_report_gets_the_same_answer(client: Client) -> None:
    run = client.runs.start("import")
    report = Succeeded(**run._asdict(), result=1)
    assert client.runs.finish(report) == client.runs.finish(report)
    assert client.runs.finish(Failed(**run._asdict())) == [(run.run_id, "late")]
    assert client.runs.show(run).status == "succeeded"


@pytest.mark.parametrize("act", ["heartbeat", "note", "finish"])
def test_another_token_changes_nothing(client: Client, act: str) -> None:
    run = client.runs.start("import")
    other = Started(run.run_id, uuid.uuid4())
    if act == "finish":
        assert client.runs.finish(Succeeded(**other._asdict())) == [(run.run_id, "late")]
    else:
        with pytest.raises(LawRefused, match="has another token"):
            client.runs.heartbeat(other) if act == "heartbeat" else client.runs.note(other, "x")
    assert client.runs.show(run).status == "running"


def test_a_crashed_run_is_not_revived(client: Client) -> None:
    """Its heartbeat and its notes are refused, its result is stored, and it stays as it was marked."""
    run = client.runs.start("import")
    advance(client, HOUR)
    assert run.run_id in {one.run_id for one in sweep(client)}
    with pytest.raises(LawRefused, match="was marked crashed: silent since") as refused:
        client.runs.heartbeat(run)
    assert refused.value.code == "run_over"
    with pytest.raises(LawRefused, match="was marked crashed"):
        client.runs.note(run, "still here")
    assert client.runs.finish(Succeeded(**run._asdict(), result={"rows": 1})) == [(run.run_id, "late")]
    late = read(client, "select result from recoup.late_result where unit_id = %s", str(run.run_id))
    assert late == [({"status": "succeeded", "message": None, "result": {"rows": 1}},)]
    assert client.runs.show(run).status == "crashed"
    assert trace(client, run.run_id) == ["started", "crashed"]


def test_by_hand_a_crashed_run_is_not_revived_either(client: Client) -> None:
    run = client.runs.start("import")
    advance(client, HOUR)
    sweep(client)
    with pytest.raises(LawRefused) as refused, client.transaction(Authority.RUNNER) as tx:
        tx.execute("update recovery.run set heartbeat_at = recoup.now() where run_id = %s", (run.run_id,))
    assert refused.value.code == "move_not_listed"


def test_what_is_unknown_is_refused(client: Client) -> None:
    nobody = Started(uuid.uuid4(), uuid.uuid4())
    for act in (
        lambda: client.runs.heartbeat(nobody),
        lambda: client.runs.note(nobody, "x"),
        lambda: client.runs.finish(Succeeded(**nobody._asdict())),
    ):
        with pytest.raises(LawRefused, match="There is no run") as refused:
            act()
        assert refused.value.code == "run_unknown"
    with pytest.raises(InputRefused, match="There is no run"):
        client.runs.show(nobody)


def test_nothing_is_claimed_while_runs_are_paused(client: Client) -> None:
    kind = f"k-{uuid.uuid4()}"
    client.runs.queue(kind)
    with contextlib.closing(connect(client.conninfo, client.settings)) as tx, tx.transaction(force_rollback=True):
        with acting(tx, Authority.OPERATOR):
            tx.execute(
                "insert into recoup.pause (scope, scope_id, status, changed_at, changed_by, reason) values"
                " ('table', 'recovery.run', 'PAUSED', recoup.now(), recoup.acting_id(), 'y')"
            )
        with acting(tx, Authority.RUNNER):
            assert client.runs.claim(kind, tx=tx) == []
    assert len(client.runs.claim(kind)) == 1


HOSTILE: Mapping[str, Any] = {
    "nul": {"a\0b": "c\0d"}, "lone": {"x": "\ud800"}, "deep": {"x": [[[[[["y"]]]]]]}, "number": {"x": 10**500},
    "nan": {"x": float("nan")}, "object": {"x": object()}, "secret": {"password": "hunter2", "n": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_any_input_and_result_is_stored_or_refused_by_name(client: Client, name: str) -> None:
    run = client.runs.start("import", input=HOSTILE[name])
    client.runs.note(run, f"note \0 {HOSTILE[name]}")
    client.runs.finish(Failed(**run._asdict(), message="m\0\ud800", result=HOSTILE[name]))
    shown = client.runs.show(run)
    assert shown.status == "failed"
    assert "hunter2" not in str(shown)
    if name == "secret":
        assert shown.input == {"password": REDACTED, "n": 1}


def test_nested_deeper_than_python_reads_it(client: Client) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    run = client.runs.start("import", input={"deep": deep})
    assert client.runs.finish(Succeeded(**run._asdict(), result=deep))[0].status == "succeeded"
    while isinstance(deep, list):  # taken apart by hand: Python's own way is recursive
        deep = deep.pop()


def test_what_is_too_large_is_refused_as_input_and_left_out_as_result(client: Client) -> None:
    with pytest.raises(InputRefused) as refused:
        client.runs.start("import", input={"x": "y" * 2_000_000})
    assert refused.value.code == "run_input_too_large"
    run = client.runs.start("import")
    client.runs.finish(Failed(**run._asdict(), message="z" * 1_000_000, result={"x": "y" * 2_000_000}))
    shown = client.runs.show(run)
    assert "left_out" in shown.result
    assert shown.message is not None
    assert len(shown.message) < 11_000


@pytest.mark.parametrize("kind", ["", "x" * 201, "a\0b", "a\nb", "\ud800", 7, None, "token=sk_live_abcdefghijklmnop"])
def test_a_kind_is_a_short_name(client: Client, kind: Any) -> None:
    with pytest.raises(InputRefused) as refused:
        client.runs.start(kind)
    assert refused.value.code == "run_kind"


def test_a_claim_of_too_many_is_refused(client: Client) -> None:
    for limit in (-1, 10**6, True, "3"):
        with pytest.raises(InputRefused, match="not a number of runs"):
            client.runs.claim("k", limit=limit)  # type: ignore[arg-type]


def test_a_run_is_a_part_of_the_callers_transaction(client: Client) -> None:
    with psycopg.connect(client.conninfo) as theirs:
        run = client.runs.start("import", tx=theirs)
        theirs.rollback()
    with pytest.raises(InputRefused, match="There is no run"):
        client.runs.show(run)


def test_a_finish_and_a_sweep_at_once_end_it_once(client: Client) -> None:
    """The sweep skips what its runner holds."""
    run = client.runs.start("import")
    advance(client, HOUR)
    with client.transaction(Authority.RUNNER) as tx:
        client.runs.finish(Succeeded(**run._asdict()), tx=tx)
        assert run.run_id not in {one.run_id for one in sweep(client)}
    assert client.runs.show(run).status == "succeeded"


def test_a_finish_that_waits_for_the_sweep_is_late(client: Client) -> None:
    run = client.runs.start("import")
    advance(client, HOUR)
    ended = []
    with client.transaction(Authority.ORPHAN_RECOVERY) as tx:
        tx.execute(
            "update recovery.run set status = 'crashed', crash_reason = 'silent', finished_at = recoup.now()"
            " where run_id = %s", (run.run_id,),
        )  # fmt: skip
        waiting = threading.Thread(target=lambda: ended.extend(client.runs.finish(Succeeded(**run._asdict()))))
        waiting.start()
    waiting.join()
    assert ended == [(run.run_id, "late")]


def test_the_policy_refuses_a_silence_shorter_than_three_heartbeats() -> None:
    given = RunPolicy.shipped().model_dump() | {"orphan_threshold_minutes": 1, "heartbeat_s": 30}
    with pytest.raises(ValueError, match="three heartbeats"):
        RunPolicy.model_validate(given)


def test_lists_are_filtered(client: Client) -> None:
    kind = f"k-{uuid.uuid4()}"
    run = client.runs.start(kind, source="crm")
    client.runs.queue(kind)
    assert [one.run_id for one in client.runs.list(kind=kind, status="running")] == [run.run_id]
    assert [one.run_id for one in client.runs.list(kind=kind, source="crm")] == [run.run_id]
    assert len(client.runs.list(kind=kind)) == 2
    with pytest.raises(InputRefused, match="no status"):
        client.runs.list(status="gone")
