"""Metrics of errors: each formula against cases counted by hand, and what belongs to the window, to the minute."""

from __future__ import annotations

import re
import uuid
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest

from errors.tallies import by_counts, by_events
from hub import DAY, DOL, HOUR, LOG, MASTER, MINUTE, OPERATIONAL, SECOND, STRUCTURAL, TARGET, URLS, Hub, NewHub
from recoup.database.connection import Actor
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.errors import metrics as measuring
from recoup.errors import parking, processed
from recoup.errors.lookup import ErrorKey
from recoup.errors.metrics import METRICS, Counts, Metrics, Rate, TableMetrics, metrics, rate
from recoup.errors.metrics_signals import SIGNALS
from recoup.errors.processed import NewProcessed
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Severity, Want
from recoup.lifecycles.declaration import Authority
from recoup.policy import default_document, read
from recoup.refusals import InputRefused
from recoup.signals import OVERALL, Reading

ROOT = Path(__file__).parents[2]
EMPTY = Rate(value=None, part=0, of=0)


def measured(hub: Hub) -> Metrics:
    """The same before and after a worker has counted, and whether it counts or every event is read."""
    with hub.db.transaction(Authority.READER) as tx:
        before = metrics(tx)
    with hub.db.transaction(Authority.ERROR_WORKER) as tx:
        measuring.tally(tx)
    with hub.db.transaction(Authority.READER) as tx:
        found = metrics(tx)
    assert found == before
    assert by_counts(hub) == by_events(hub)
    return found


def of(hub: Hub, table: str = DOL) -> TableMetrics:
    return next(one for one in measured(hub).tables if one.error_table == table)


def act(hub: Hub, verb: str, *errors: int, table: str = DOL, **more: object) -> None:
    with hub.db.transaction(Authority.OPERATOR, actor=Actor("human", "ada")) as tx:
        done = getattr(parking, verb)(tx, [ErrorKey(table, one) for one in errors], **more)
    assert all(one.done for one in done), done


def report(hub: Hub, count: int, table: str = DOL, **more: object) -> None:
    with hub.db.transaction(Authority.HUB) as tx:
        processed.report(tx, [NewProcessed(table=table, count=count, **more)])  # type: ignore[arg-type]


def exhausted(hub: Hub, **more: object) -> int:
    """An error whose retries have all failed."""
    error_id = hub.record(**more)  # type: ignore[arg-type]
    while hub.row(error_id)["status"] == "RETRY_PENDING":
        hub.fail_when_due(error_id)
    return error_id


def test_without_errors_there_is_nothing_to_measure(new_hub: NewHub) -> None:
    """No rate has a value, which is not the same as 0 %."""
    found = measured(new_hub())
    for one in (found.overall, *found.tables):
        for metric in METRICS:
            assert getattr(one, metric.name) == EMPTY
        assert (one.parked_per_day, one.parked_errors, one.blocking_errors, one.recorded, one.processed) == (
            0, 0, 0, 0, None,
        )  # fmt: skip
        assert not one.no_processed_count
    assert found.until - found.since == DAY


def test_the_error_rate_is_recorded_by_processed(new_hub: NewHub) -> None:
    """Per table and overall; ignored errors count, and are shown apart; a table without counts has no rate."""
    hub = new_hub()
    for _ in range(3):
        hub.record()
    for _ in range(2):
        hub.record(table=LOG)
    hub.record(table=TARGET)
    assert (of(hub).error_rate.value, of(hub).processed) == (None, None)
    report(hub, 40)
    report(hub, 20)
    report(hub, 10, table=LOG)
    assert of(hub).error_rate == Rate(value=3 / 60, part=3, of=60)
    assert of(hub, LOG).error_rate == Rate(value=0.2, part=2, of=10)
    assert (of(hub, LOG).recorded, of(hub, LOG).ignored) == (2, 2)
    assert of(hub, TARGET).error_rate == EMPTY
    # The errors of a table whose hub reports nothing are not a share of what others processed.
    assert measured(hub).overall.error_rate == Rate(value=5 / 70, part=5, of=70)
    assert (measured(hub).overall.recorded, measured(hub).overall.ignored) == (6, 2)
    report(hub, 0, table=TARGET)
    assert of(hub, TARGET).error_rate == Rate(value=None, part=1, of=0)


def test_a_period_counts_as_far_as_it_is_in_the_window(new_hub: NewHub) -> None:
    """A day that ended an hour ago has an hour that is too old."""
    hub = new_hub()
    now = hub.now()
    report(hub, 240, period_from=now - 25 * HOUR, period_to=now - HOUR)
    assert of(hub).processed == 230
    hub.advance(11 * HOUR)
    assert of(hub).processed == 120
    hub.advance(12 * HOUR - MINUTE)
    assert of(hub).processed == 0
    hub.advance(MINUTE)
    assert of(hub).processed is None
    report(hub, 5)
    hub.advance(DAY - SECOND)
    assert of(hub).processed == 5
    hub.advance(SECOND)
    assert of(hub).processed is None


def test_the_window_ends_to_the_second(new_hub: NewHub) -> None:
    """24 hours after it was recorded an error is outside; what was parked, ended and left as well."""
    hub = new_hub()
    hub.record(STRUCTURAL)
    (last,) = [hub.record()]
    act(hub, "resolve", last)
    report(hub, 100)
    one = of(hub)
    assert (one.recorded, one.parked_per_day, one.retry_exhaustion_rate.of) == (2, 1, 1)
    hub.advance(DAY - SECOND)
    assert of(hub).recorded == 2
    hub.advance(SECOND)
    one = of(hub)
    assert (one.recorded, one.parked_per_day, one.retry_exhaustion_rate.of, one.processed) == (0, 0, 0, None)
    # What is parked now was parked in the window, however long ago that began.
    assert (one.parked_errors, one.escalation_rate) == (1, Rate(value=0.0, part=0, of=1))


def test_the_park_rate_counts_those_that_came_to_be_parked(new_hub: NewHub) -> None:
    """At birth, by the last retry, by a person, each error once; one that takes over a parking was not parked again."""
    hub = new_hub()
    entity = uuid.uuid4()
    hub.record(STRUCTURAL, outreach_id=entity)
    by_person = hub.record()
    act(hub, "park", by_person, reason="WAIT")
    exhausted(hub)
    hub.record()
    assert of(hub).park_rate == Rate(value=0.75, part=3, of=4)
    hub.advance(MINUTE)
    hub.record(STRUCTURAL, outreach_id=entity)  # supersedes the first, and is parked as it was
    assert of(hub).park_rate == Rate(value=0.6, part=3, of=5)
    assert of(hub).parked_per_day == 3
    act(hub, "unpark", by_person)
    act(hub, "park", by_person, reason="WAIT")
    assert of(hub).park_rate == Rate(value=0.6, part=3, of=5)


def test_exhaustion_is_a_share_of_retries_that_ended(new_hub: NewHub) -> None:
    """Resolved, closed, parked by a person, expired: they ended. Those that go on, or never began, did not."""
    hub = new_hub()
    exhausted(hub)
    due = hub.record()
    hub.advance(hub.row(due)["next_retry_at"] - hub.now())
    hub.succeed(hub.claim_one(due))
    for verb in ("resolve", "archive"):
        act(hub, verb, hub.record())
    by_person = hub.record()
    act(hub, "park", by_person, reason="WAIT")
    hub.record(STRUCTURAL)  # parked at once
    hub.fail_when_due(hub.record())  # goes on
    assert of(hub).retry_exhaustion_rate == Rate(value=0.2, part=1, of=5)
    # Unparked and resolved in the end: one error, whose retries ended twice.
    act(hub, "unpark", by_person)
    hub.advance(SECOND)
    assert hub.succeed(hub.claim_one(by_person)) == "RESOLVED"
    assert of(hub).retry_exhaustion_rate == Rate(value=0.2, part=1, of=5)


def test_a_window_that_closed_is_not_exhaustion(new_hub: NewHub) -> None:
    """Whether the sweep closes it, or a failed retry would be the last one within it."""
    hub = new_hub()
    swept, failing = hub.record(), hub.record()
    hub.advance(hub.row(failing)["retry_until"] - hub.now() - MINUTE)
    claimed = hub.claim_one(failing)
    hub.advance(30 * SECOND)
    assert hub.fail(claimed) == "PARKED"
    assert hub.row(failing)["park_reason"] == "RETRY_WINDOW_CLOSED"
    hub.lapse()
    hub.advance(10 * MINUTE)
    hub.close_windows()
    hub.lapse()
    assert hub.row(swept)["status"] == "PARKED"
    assert of(hub).retry_exhaustion_rate.part == 0
    assert of(hub).retry_exhaustion_rate.of == 2


def test_a_failure_that_is_recorded_again_instead_of_reported_exhausts_its_retries(new_hub: NewHub) -> None:
    """The newer error takes over the count; the one that finds no retry left is the one whose retries ended."""
    hub = new_hub()
    entity = uuid.uuid4()
    hub.record(outreach_id=entity)
    for _ in range(5):
        row = hub.row_of(entity)
        hub.advance(max(row["next_retry_at"] - hub.now(), timedelta(0)))
        hub.claim_one(row["error_id"])
        hub.record(outreach_id=entity)
    row = hub.row_of(entity)
    assert (row["status"], row["park_reason"]) == ("PARKED", "MAX_RETRIES_EXCEEDED")
    one = of(hub)
    assert one.retry_exhaustion_rate == Rate(value=1.0, part=1, of=1)
    assert one.park_rate == Rate(value=1 / 6, part=1, of=6)
    hub.advance(MINUTE)
    hub.record(outreach_id=entity)  # takes over the parking, and ends nothing
    one = of(hub)
    assert (one.retry_exhaustion_rate.part, one.parked_per_day) == (1, 1)


def test_where_parking_is_not_allowed_exhaustion_is_counted_too(new_hub: NewHub) -> None:
    hub = new_hub()
    error_id = hub.record(table=URLS, want=Want.RETRY)
    while hub.row(error_id)["status"] == "RETRY_PENDING":
        hub.fail_when_due(error_id)
    assert hub.row(error_id)["status"] == "ACTIVE"
    assert of(hub, URLS).retry_exhaustion_rate == Rate(value=1.0, part=1, of=1)


def test_the_time_to_live_is_used_by_live_and_closed_errors(new_hub: NewHub) -> None:
    """An average; what never expires is left out, what was archived in the window is not."""
    hub = new_hub()
    half = hub.record(severity=Severity.HIGH)  # kept for 7 days
    hub.record(table=MASTER)  # for ever
    hub.advance(timedelta(days=3.5))
    assert of(hub).average_ttl_utilization == Rate(value=0.5, part=0.5, of=1)
    assert of(hub, MASTER).average_ttl_utilization == EMPTY
    hub.record()  # kept for 30 days
    assert of(hub).average_ttl_utilization == Rate(value=0.25, part=0.5, of=2)
    act(hub, "resolve", half)
    hub.advance(3 * HOUR)
    expected = 0.5 + 3 / (30 * 24)
    assert of(hub).average_ttl_utilization.part == pytest.approx(expected)
    assert hub.sweep_all() == 1
    assert of(hub).average_ttl_utilization.part == pytest.approx(expected)
    assert of(hub).average_ttl_utilization.of == 2
    hub.advance(21 * HOUR)
    assert of(hub).average_ttl_utilization.value == pytest.approx(1 / 30)


def test_the_escalation_rate_counts_what_was_parked_at_any_time(new_hub: NewHub) -> None:
    """Level 2 or higher, or escalated by a person: also of those that were unparked, resolved or archived since."""
    hub = new_hub()
    raised = [hub.record(STRUCTURAL) for _ in range(5)]
    plain = [hub.record(STRUCTURAL) for _ in range(5)]
    hub.record()
    act(hub, "escalate", *raised, reason="urgent", to="bob", level=2)
    assert of(hub).escalation_rate == Rate(value=0.5, part=5, of=10)
    hub.advance(MINUTE)
    for one, other in zip(raised[:3], plain[:3], strict=True):
        verb = ("unpark", "resolve", "archive")[raised.index(one)]
        act(hub, verb, one, other)
    assert of(hub).escalation_rate == Rate(value=0.5, part=5, of=10)
    assert of(hub).parked_errors == 4
    hub.sweep_all()
    assert of(hub).escalation_rate == Rate(value=0.5, part=5, of=10)
    # Unparked and parked again: it is one error, and was at level 2 in the window.
    act(hub, "park", raised[0], plain[0], reason="WAIT")
    assert of(hub).escalation_rate == Rate(value=0.5, part=5, of=10)
    hub.advance(DAY)  # parked again, it is at the level that it had
    assert of(hub).escalation_rate == Rate(value=3 / 6, part=3, of=6)


def test_a_newer_error_of_an_escalated_one_is_one_more_that_was_parked(new_hub: NewHub) -> None:
    hub = new_hub()
    entity = uuid.uuid4()
    first = hub.record(STRUCTURAL, outreach_id=entity)
    act(hub, "escalate", first, reason="urgent", to="bob", level=3)
    hub.advance(MINUTE)
    hub.record(STRUCTURAL, outreach_id=entity)
    assert of(hub).escalation_rate == Rate(value=1.0, part=2, of=2)
    assert of(hub).parked_per_day == 1


def test_what_expires_while_it_is_parked_or_retried_has_left(new_hub: NewHub) -> None:
    """It is archived, and counts for a day; once, also if it was found expired before."""
    hub = new_hub()
    entity = uuid.uuid4()
    hub.record(STRUCTURAL)
    hub.record(STRUCTURAL, outreach_id=entity)
    hub.age(31 * DAY)
    hub.record(STRUCTURAL, outreach_id=entity)  # finds the old one expired
    assert of(hub).escalation_rate.of == 3
    hub.advance(23 * HOUR)
    hub.sweep_all()
    assert of(hub).escalation_rate.of == 3
    hub.advance(2 * HOUR)
    assert of(hub).escalation_rate.of == 2
    hub.advance(23 * HOUR)
    assert of(hub).escalation_rate.of == 1


def test_gauges_count_what_is_there_now(new_hub: NewHub) -> None:
    """Errors, not entities; retries and parked ones block in tables that block, and nowhere else."""
    hub = new_hub()
    entity = uuid.uuid4()
    hub.record(outreach_id=entity)
    parked = hub.record(STRUCTURAL, outreach_id=entity)
    hub.record(want=Want.ARCHIVE)
    hub.record(table=URLS, want=Want.RETRY)
    hub.record(table=LOG)
    assert (of(hub).blocking_errors, of(hub).parked_errors) == (2, 1)
    assert (of(hub, URLS).blocking_errors, of(hub, LOG).blocking_errors) == (0, 0)
    act(hub, "escalate", parked, reason="urgent")
    overall = measured(hub).overall
    assert (overall.blocking_errors, overall.parked_errors) == (2, 1)
    act(hub, "resolve", parked)
    assert (of(hub).blocking_errors, of(hub).parked_errors) == (1, 0)


def test_an_hour_without_a_processed_count_is_noticed(new_hub: NewHub) -> None:
    """An hour after the first error that no count followed; a count ends it, the next hour without begins it again."""
    hub = new_hub()
    hub.record()
    hub.advance(HOUR - SECOND)
    assert not of(hub).no_processed_count
    hub.advance(SECOND)
    assert of(hub).no_processed_count
    assert not of(hub, TARGET).no_processed_count
    report(hub, 10)
    assert not of(hub).no_processed_count
    hub.advance(2 * HOUR)
    assert not of(hub).no_processed_count  # no error came since
    hub.record()
    hub.advance(HOUR)
    assert of(hub).no_processed_count
    hub.advance(23 * HOUR)
    assert not of(hub).no_processed_count


def test_errors_from_before_a_hub_began_to_report_are_not_rated(new_hub: NewHub) -> None:
    """A day's errors are no share of an hour's work. From the next day on the window has only errors that are."""
    hub = new_hub()
    for _ in range(9):
        hub.record()
    hub.advance(HOUR)
    begun = hub.now()
    hub.record()
    hub.advance(HOUR)
    report(hub, 40, period_from=begun, period_to=hub.now())
    assert (of(hub).recorded, of(hub).error_rate) == (10, Rate(value=1 / 40, part=1, of=40))
    assert measured(hub).overall.error_rate == Rate(value=1 / 40, part=1, of=40)
    hub.advance(HOUR)
    hub.record()
    report(hub, 10)  # of a program that does not say since when
    assert of(hub).error_rate == Rate(value=11 / 50, part=11, of=50)
    hub.advance(23 * HOUR)
    report(hub, 30, period_from=hub.now() - HOUR, period_to=hub.now())
    assert of(hub).error_rate.part == 1


def test_a_hub_that_stops_reporting_has_no_error_rate(new_hub: NewHub) -> None:
    """While its errors come as ever, a rate of what was processed before would rise hour by hour, and page somebody."""
    hub = new_hub()
    for _ in range(3):
        hub.advance(HOUR)
        hub.record()
        hub.record(table=TARGET)
        report(hub, 40)
        report(hub, 20, table=TARGET)
    for _ in range(4):
        hub.advance(HOUR - SECOND)
        hub.record(table=TARGET)
        hub.advance(SECOND)
        report(hub, 20, table=TARGET)
        assert of(hub).error_rate == Rate(value=3 / 120, part=3, of=120), "no error came that was not counted"
    hub.record()
    hub.advance(HOUR - SECOND)
    assert of(hub).error_rate == Rate(value=4 / 120, part=4, of=120)
    hub.advance(SECOND)
    assert (of(hub).error_rate, of(hub).processed, of(hub).no_processed_count) == (EMPTY, 120, True)
    assert measured(hub).overall.error_rate == of(hub, TARGET).error_rate == Rate(value=7 / 140, part=7, of=140)
    report(hub, 160)
    assert of(hub).error_rate == Rate(value=4 / 280, part=4, of=280)


def test_some_tables_can_be_asked_for(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.record()
    hub.record(table=TARGET)
    with hub.db.transaction(Authority.READER) as tx:
        found = metrics(tx, tables=[TARGET])
        assert ([one.error_table for one in found.tables], found.overall.recorded) == ([TARGET], 1)
        with pytest.raises(InputRefused, match="no_such"):
            metrics(tx, tables=["outreach.no_such"])
        with pytest.raises(InputRefused):
            metrics(tx, tables=['x"; drop table recoup.error; --.y'])


def test_counts_add_up() -> None:
    """A rate of all tables is that of their counts, and not an average of rates."""
    one, other = Counts(recorded=1, rated=1, processed=10.0), Counts(recorded=9, parked=3)
    both = one + other
    assert (both.recorded, both.rated, both.processed, both.parked) == (10, 1, 10.0, 3)
    assert (other + other).processed is None
    assert rate(METRICS[0], both) == Rate(value=0.1, part=1, of=10.0)
    assert {f.name for f in fields(TableMetrics)} >= {metric.name for metric in METRICS}


def test_every_metric_is_a_signal(new_hub: NewHub) -> None:
    """By table, with what it was computed from; the gauges overall."""
    hub = new_hub()
    for _ in range(4):
        hub.record()
    hub.record(STRUCTURAL)
    report(hub, 50)
    hub.advance(MINUTE)
    with hub.db.transaction(Authority.READER) as tx:
        found = list(SIGNALS.measure(tx, read(default_document(parts(DOMAINS)), parts(DOMAINS))))
    declared = {signal.name for signal in SIGNALS.signals}
    assert {one.signal for one in found} == declared
    by = {(one.signal, one.key): one for one in found}
    assert len(by) == len(found)
    assert (by["error_rate", DOL].value, by["error_rate", DOL].sample) == (0.1, 50)
    assert (by["park_rate", DOL].value, by["park_rate", DOL].sample) == (0.2, 5)
    assert (by["error_rate", TARGET].value, by["error_rate", TARGET].sample) == (None, 0)
    assert by["parked_per_day", DOL].value == 1
    assert (by["parked_errors", OVERALL].value, by["blocking_errors", OVERALL].value) == (1, 5)
    assert by["no_processed_count", DOL].value == 0
    gauges = {"parked_errors", "blocking_errors"}
    assert all((one.key == OVERALL) == (one.signal in gauges) for one in found)
    assert all(isinstance(one, Reading) and one.facts is not None for one in found)


def test_metrics_of_a_busy_day_agree_with_the_audit(new_hub: NewHub) -> None:
    """The events that the metrics read are those that the audit knows."""
    hub = new_hub()
    hub.record_all([NewError(table=DOL, message=OPERATIONAL, outreach_id=uuid.uuid4()) for _ in range(20)])
    exhausted(hub)
    hub.sweep_all()
    assert measured(hub).overall.recorded == 21
    assert hub.broken() == []
    assert measuring.WINDOW == DAY


def test_the_page_has_the_formulas_of_the_program() -> None:
    """Each line of the table is a metric: what is counted, divided by what, and its threshold."""
    page = (ROOT / "docs/explain/metrics.md").read_text(encoding="utf-8")
    for metric in METRICS:
        assert f"| `{metric.name}` | {metric.part} | {metric.of} | {metric.threshold:.0%} |".replace("%", " %") in page
    for signal in SIGNALS.signals:
        assert f"| `{signal.name}` |" in page


def test_every_layer_of_enforcement_names_code_and_test() -> None:
    """Five lines, as the document has them, all implemented; what they name is there."""
    page = (ROOT / "docs/explain/errors.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| ([^|]+) \| IMPLEMENTED \| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert [layer for layer, *_ in found] == LAYERS
    for _, code, test in found:
        assert code.startswith("src/recoup/errors/")
        assert test.startswith("tests/")
        assert (ROOT / code).is_file()
        assert (ROOT / test).is_file()


LAYERS = [
    "Database columns (disposition, TTL fields)",
    "Archive cron job",
    "Promotion gate check",
    "Escalation automation",
    "Metrics collection",
]
