"""What people ask the control plane for: who gets what answer, what is logged, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from partitions.people import ADA, DAY, Ward, opened
from recoup.database import embedded
from recoup.lifecycles.declaration import Authority
from recoup.partitions import requesting, select
from recoup.partitions.listing import Override
from recoup.partitions.requesting import Ask, Request
from recoup.partitions.selecting import of
from recoup.refusals import InputRefused, Refusal
from recoup.settings import Settings


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


def test_a_failed_partition_is_retried_at_once(ward: Ward) -> None:
    ward.reject(ward.key(1))
    (one,) = ward.client.partitions.inspect(of(ward.key(1)))
    assert (one.status, one.schedule, one.attempt_count) == ("failed", "waiting", 1)
    assert one.next_run_at is not None
    (answer,) = ward.client.partitions.retry(of(ward.key(1)), reason="the contract is fixed", actor="ada")
    assert answer.done
    (one,) = ward.client.partitions.inspect(of(ward.key(1)))
    assert (one.status, one.requested_by, one.error_message) == ("pending", "ada", "2 rows are null")
    (run,) = ward.dispatch()
    assert run.partition == ward.key(1)


def test_each_status_has_its_answer(ward: Ward) -> None:
    ward.exhaust(ward.key(4))
    ward.accept(ward.key(1))
    ward.reject(ward.key(3))
    ward.enqueue(ward.key(2))
    ward.dispatch()
    answers = {one.logical_date: one for one in ward.client.partitions.retry(ward.all)}
    assert answers[ward.key(1).logical_date].refused == "succeeded_already"
    assert "reprocess" in (answers[ward.key(1).logical_date].next_step or "")
    assert answers[ward.key(2).logical_date].refused == "run_open"
    assert answers[ward.key(3).logical_date].done
    assert answers[ward.key(4).logical_date].refused == "partition_terminal"
    assert "--include-terminal" in (answers[ward.key(4).logical_date].next_step or "")
    (again,) = ward.client.partitions.retry(of(ward.key(3)))
    assert again.refused == "partition_pending"
    assert "its next run is at 2026-" in (again.happened or "")


def test_an_override_of_a_terminal_partition_grants_attempts(ward: Ward) -> None:
    ward.exhaust(ward.key(1))
    with pytest.raises(InputRefused, match="needs a reason"):
        ward.client.partitions.retry(of(ward.key(1)), include_terminal=True)
    (answer,) = ward.client.partitions.retry(
        of(ward.key(1)), include_terminal=True, attempts=2, reason="source is back"
    )
    assert answer.done
    for attempt in (3, 4):
        runs = ward.dispatch()
        ward.publish(runs)
        ward.judge(runs, reason="CONTRACT_BROKEN", message="still", rule="id")
        (one,) = ward.client.partitions.inspect(of(ward.key(1)))
        assert one.attempt_count == attempt
        ward.advance(DAY)
    assert (one.schedule, one.terminal_causes) == ("terminal", ("ATTEMPTS",))
    log = ward.client.partitions.overrides(of(ward.key(1)))
    assert [(entry.command, entry.reason, entry.partitions) for entry in log] == [
        ("db.partitions.retry", "source is back", 1)
    ]
    assert (
        log[0].selection == f"--source {ward.source} --customer-id acme --query-name orders --logical-date 2025-12-02"
    )
    events = [event.event_type for event in ward.client.partitions.history(of(ward.key(1)))]
    assert events.count("terminal_marked") == 2
    assert events.count("terminal_lifted") == 1


def test_marks_are_kept_apart_from_other_causes(ward: Ward) -> None:
    ward.exhaust(ward.key(1))
    ward.reject(ward.key(2))
    marked = ward.client.partitions.mark_terminal(ward.all, reason="the customer left")
    assert [one.done for one in marked] == [True, True]
    found = {
        one.logical_date: one
        for one in ward.client.partitions.list(select(source=ward.source, terminal_cause="MARKED"))
    }
    assert found[ward.key(1).logical_date].terminal_causes == ("ATTEMPTS", "MARKED")
    assert found[ward.key(2).logical_date].terminal_causes == ("MARKED",)
    (again,) = ward.client.partitions.mark_terminal(of(ward.key(2)))
    assert again.refused == "marked_already"
    # The clock has not moved since: what is asked for last holds all the same.
    (lifted,) = ward.client.partitions.retry(of(ward.key(2)), include_terminal=True, reason="they came back")
    assert lifted.done


def test_what_succeeded_is_reprocessed_and_keeps_its_data(ward: Ward) -> None:
    (first,) = ward.accept(ward.key(1))
    (answer,) = ward.client.partitions.reprocess(of(ward.key(1)), reason="new validator")
    assert answer.done
    (pending,) = ward.client.partitions.reprocess(of(ward.key(1)))
    assert pending.refused == "partition_pending"
    (run,) = ward.dispatch()
    ward.publish([run])
    ward.judge([run], reason="CONTRACT_BROKEN", message="worse", rule="id")
    (one,) = ward.client.partitions.inspect(of(ward.key(1)))
    assert (one.status, one.current_run_id, one.attempt_count) == ("success", first.run_id, 2)
    (failed,) = ward.client.partitions.reprocess(of(ward.key(1)))
    assert failed.done


def test_what_was_never_extracted_is_not_retried_by_mistake(ward: Ward) -> None:
    ward.enqueue(ward.key(1))
    ward.lose(5)
    (one,) = ward.client.partitions.inspect(of(ward.key(1)))
    assert (one.status, one.reason) == ("failed", "NOTHING_TO_VALIDATE")
    (refused,) = ward.client.partitions.retry(of(ward.key(1)))
    assert refused.refused == "never_extracted"
    assert "--re-extract" in (refused.next_step or "")
    (answer,) = ward.client.partitions.retry(of(ward.key(1)), re_extract=True)
    assert answer.done


def test_a_run_that_is_gone_from_the_sink_counts_as_never_extracted(ward: Ward) -> None:
    ward.reject(ward.key(1), ward.key(2))
    request = Request(ask=Ask.RETRY).checked()
    with ward.client.transaction(Authority.CONTROL_PLANE, actor=ADA) as tx:
        answers = requesting.ask(tx, request, ward.all, in_sink=lambda _: {ward.key(1)})
    assert [one.refused for one in answers] == [None, "never_extracted"]


def test_no_more_is_changed_than_was_confirmed(ward: Ward) -> None:
    ward.reject(ward.key(1), ward.key(2), ward.key(3))
    with pytest.raises(InputRefused) as refused:
        ward.client.partitions.retry(ward.all, at_most=2)
    assert refused.value.code == "more_than_expected"
    assert overridden(ward) == []
    assert len(ward.client.partitions.retry(ward.all, at_most=3)) == 3
    # One statement, one row.
    assert [(one.partitions, one.actor) for one in overridden(ward)] == [(3, "human")]


def test_a_week_of_drift_is_requeued_exactly(ward: Ward) -> None:
    ward.reject(ward.key(1), ward.key(2), rule="columns", reason="SCHEMA_DRIFT", message="column amount is missing")
    ward.reject(ward.key(3), message="another")
    answers = ward.client.partitions.retry(
        select(source=ward.source, reason="SCHEMA_DRIFT", rule="columns", logical_date="2025-12-01..")
    )
    assert [one.logical_date for one in answers if one.done] == [ward.key(1).logical_date, ward.key(2).logical_date]


def overridden(ward: Ward) -> list[Override]:
    return ward.client.partitions.overrides(ward.all)


def test_a_set_of_any_size_is_an_operation(ward: Ward) -> None:
    ward.reject(*[ward.key(number % 30, customer=f"c{number // 30}") for number in range(90)])
    request = Request(ask=Ask.RETRY, reason="all", command="state retry", selection=str(ward.all)).checked()
    with pytest.raises(InputRefused, match="90 partitions would change"):
        requesting.ask_many(ward.client, request, ward.all, actor=ADA, at_most=89)
    assert ward.read("select from recoup.operation") == []
    ended = requesting.ask_many(ward.client, request, ward.all, actor=ADA, at_most=90)
    assert (ended.done, ended.refused, ended.status, ended.requested_by) == (90, 0, "DONE", "ada")
    assert [(one.command, one.selection, one.reason, one.actor_id) for one in overridden(ward)] == [
        ("state retry", str(ward.all), "all", "ada")
    ]


def test_nothing_matches_is_said(ward: Ward) -> None:
    with pytest.raises(Refusal) as refused:
        ward.client.partitions.retry(of(ward.key(1)))
    assert refused.value.code == "partition_unknown"


def test_others_may_not_ask(ward: Ward) -> None:
    """Consumers, validators and extractors do not requeue: the database refuses it."""
    ward.reject(ward.key(1))
    request = Request(ask=Ask.RETRY).checked()
    for authority in (Authority.CONSUMER, Authority.VALIDATOR, Authority.EXTRACTOR, Authority.OPERATOR):
        with pytest.raises(Exception, match=r"permission denied|may not"), ward.client.transaction(authority) as tx:
            requesting.ask(tx, request, of(ward.key(1)))
