"""Processed counts: stored once, all or none, by the hub; refused when they are not what they seem."""

from __future__ import annotations

import contextlib
import threading
import uuid
from datetime import datetime, timedelta

import pytest

from hub import DAY, DOL, HOUR, LOG, MINUTE, SECOND, Hub, NewHub
from recoup import connect
from recoup.errors import processed
from recoup.errors.processed import MAX_REPORTS, NewProcessed, Processed
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused


def send(hub: Hub, *reports: NewProcessed) -> list[Processed]:
    with hub.db.transaction(Authority.HUB) as tx:
        return processed.report(tx, reports)


def stored(hub: Hub, key: str) -> list[tuple[object, ...]]:
    return hub.rows(
        "select error_table, count, period_from, period_to, authority from recoup.processed where idempotency_key = %s",
        key,
    )


def test_a_report_counts_for_now_unless_it_has_a_period(hub: Hub) -> None:
    now = hub.now()
    (one, other) = send(
        hub,
        NewProcessed(table=DOL, count=12),
        NewProcessed(table=LOG, count=0, period_from=now - HOUR, period_to=now - MINUTE),
    )
    assert (one.period_from, one.period_to, one.count, one.is_new) == (now, now, 12, True)
    assert (other.error_table, other.period_from, other.period_to) == (LOG, now - HOUR, now - MINUTE)
    assert one.idempotency_key != other.idempotency_key


def test_the_same_report_counts_once(hub: Hub) -> None:
    """Sent again, also twice in one call, also later without a period: what the first one was is what it is."""
    key = uuid.uuid4().hex
    report = NewProcessed(table=DOL, count=5, key=key)
    (first,) = send(hub, report)
    hub.advance(MINUTE)
    again = send(hub, report, report)
    assert [(one.is_new, one.period_to) for one in again] == [(False, first.period_to)] * 2
    twice = send(hub, *[NewProcessed(table=DOL, count=5, key=f"{key}-2")] * 2)
    assert [one.is_new for one in twice] == [True, False]
    # Another table has keys of its own.
    (elsewhere,) = send(hub, NewProcessed(table=LOG, count=5, key=key))
    assert elsewhere.is_new
    assert len(stored(hub, key)) == 2


@pytest.mark.parametrize(
    "changed", [{"count": 6}, {"period_to": -HOUR}, {"period_from": -HOUR}], ids=["count", "end", "beginning"]
)
def test_a_key_with_another_content_is_refused(hub: Hub, changed: dict[str, object]) -> None:
    """Nothing of the call is stored."""
    key, other, now = uuid.uuid4().hex, uuid.uuid4().hex, hub.now()
    send(hub, NewProcessed(table=DOL, count=5, key=key))
    given = {name: now + value if isinstance(value, timedelta) else value for name, value in changed.items()}
    wrong = NewProcessed(**{"table": DOL, "count": 5, "key": key} | given)  # type: ignore[arg-type]
    with pytest.raises(InputRefused) as refused:
        send(hub, NewProcessed(table=DOL, count=1, key=other), wrong)
    assert refused.value.code == "key_taken"
    assert (len(stored(hub, key)), len(stored(hub, other))) == (1, 0)


def test_two_at_once_store_one(hub: Hub) -> None:
    """The second waits for the first: if that commits, it finds its report; if it is undone, it stores its own."""
    for commits in (True, False):
        key = uuid.uuid4().hex
        report = NewProcessed(table=DOL, count=9, key=key)
        found: list[Processed] = []
        second = threading.Thread(target=lambda report=report, found=found: found.extend(send(hub, report)))
        with contextlib.suppress(ZeroDivisionError), hub.db.transaction(Authority.HUB) as tx:
            processed.report(tx, [report])
            second.start()
            _wait_until_it_waits(hub)
            if not commits:
                raise ZeroDivisionError
        second.join(30)
        assert [one.is_new for one in found] == [not commits]
        assert len(stored(hub, key)) == 1


def _wait_until_it_waits(hub: Hub) -> None:
    waiting = "select count(*) from pg_locks where not granted and locktype = 'transactionid'"
    for _ in range(3000):
        with hub.db.transaction(Authority.READER) as tx:
            if tx.execute(waiting).fetchone() != (0,):
                return
        threading.Event().wait(0.01)
    raise AssertionError("nobody waits")


def test_calls_with_the_same_keys_in_another_order_wait_for_each_other(hub: Hub) -> None:
    """They do not deadlock, and each report is stored once."""
    mark = uuid.uuid4().hex
    reports = [NewProcessed(table=DOL, count=n, key=f"{mark}-{n:04}") for n in range(500)]
    results: list[list[Processed]] = []
    calls = [
        threading.Thread(target=lambda given=given: results.append(send(hub, *given)))
        for given in (reports, reports[::-1], reports[250:] + reports[:250])
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join(60)
    assert sum(one.is_new for result in results for one in result) == 500
    assert len(results) == 3


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"table": "outreach.no_such"}, "table_unknown"),
        ({"table": "outreach.bit_errors"}, "table_dead"),
        ({"table": "'; drop table recoup.processed; --"}, "table_unknown"),
        ({"count": -1}, "count_unusable"),
        ({"count": 10**12 + 1}, "count_unusable"),
        ({"count": True}, "count_unusable"),
        ({"count": 1.5}, "count_unusable"),
        ({"count": "many"}, "count_unusable"),
        ({"key": ""}, "key_unusable"),
        ({"key": "x" * 201}, "key_unusable"),
        ({"key": "é" * 101}, "key_unusable"),
        ({"key": "a\0b"}, "key_unusable"),
        ({"key": "a\ud800b"}, "key_unusable"),
        ({"period_to": datetime(2026, 1, 1)}, "period_unusable"),
        ({"period_to": "yesterday"}, "period_unusable"),
    ],
)
def test_what_is_no_report_is_refused(hub: Hub, changed: dict[str, object], code: str) -> None:
    """With a sentence that names the value, before anything is stored."""
    before = hub.rows("select count(*) from recoup.processed")
    with pytest.raises(InputRefused) as refused:
        send(hub, NewProcessed(**{"table": DOL, "count": 1} | changed))  # type: ignore[arg-type]
    assert refused.value.code == code
    assert hub.rows("select count(*) from recoup.processed") == before


def test_periods_have_an_order_a_length_and_an_end(hub: Hub) -> None:
    now = hub.now()
    for since, until in ((now, now - SECOND), (now - 31 * DAY - SECOND, now)):
        with pytest.raises(InputRefused, match="ends before it begins"):
            send(hub, NewProcessed(table=DOL, count=1, period_from=since, period_to=until))
    with pytest.raises(LawRefused) as refused:
        send(hub, NewProcessed(table=DOL, count=1, period_to=now + SECOND))
    assert refused.value.code == "processed_count"
    with pytest.raises(InputRefused, match="in one call"):
        send(hub, *[NewProcessed(table=DOL, count=1)] * (MAX_REPORTS + 1))
    assert send(hub) == []


def test_many_are_stored_in_one_statement(hub: Hub) -> None:
    mark = uuid.uuid4().hex
    done = send(hub, *(NewProcessed(table=DOL, count=n, key=f"{mark}-{n}") for n in range(MAX_REPORTS)))
    assert (len(done), sum(one.count for one in done)) == (MAX_REPORTS, sum(range(MAX_REPORTS)))


@pytest.mark.parametrize("authority", [one for one in Authority if one is not Authority.HUB])
def test_only_a_hub_reports(hub: Hub, authority: Authority) -> None:
    with pytest.raises(LawRefused, match="has no right"), hub.db.transaction(authority) as tx:
        tx.execute("insert into recoup.processed (error_table, count) values (%s, 1)", (DOL,))


@pytest.mark.parametrize(
    "column", ["seq", "xid", "incarnation", "logged_at", "actor", "actor_id", "authority", "login"]
)
def test_a_hub_does_not_say_who_and_when(hub: Hub, column: str) -> None:
    with pytest.raises(LawRefused, match="has no right"), hub.db.transaction(Authority.HUB) as tx:
        tx.execute(f"insert into recoup.processed (error_table, count, {column}) values (%s, 1, null)", (DOL,))


def test_the_library_has_it(new_hub: NewHub) -> None:
    """One by its table and count, many as a list; and the metrics and the report of what came of it."""
    with connect(new_hub().db.conninfo) as db:
        one = db.errors.processed(DOL, 40, key="a")
        assert (one.count, one.is_new) == (40, True)
        assert [two.is_new for two in db.errors.processed([NewProcessed(table=DOL, count=40, key="a")])] == [False]
        assert db.errors.metrics().overall.processed == 40
        assert db.errors.metrics([DOL]).tables[0].error_rate.of == 40
        assert db.errors.report().overall.recorded == 0
        with pytest.raises(InputRefused, match="table and a count"):
            db.errors.processed(DOL)  # type: ignore[arg-type]
