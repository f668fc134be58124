"""The counts behind metrics: every event once, whoever counts, whatever is open meanwhile, and few events are read."""

from __future__ import annotations

import contextlib
import uuid
from datetime import timedelta
from random import Random

import psycopg
import pytest

from errors.tallies import by_counts, by_events, settle
from hub import DAY, DOL, HOUR, LOG, MINUTE, OPERATIONAL, PEOPLE, SECOND, STRUCTURAL, TRANSIENT, Hub, NewHub
from plans import handled, nodes
from recoup.database import embedded
from recoup.errors import metrics as measuring
from recoup.errors import recording
from recoup.errors.metrics import metrics
from recoup.errors.recording import NewError
from recoup.lifecycles.declaration import Authority
from recoup.refusals import LawRefused

TOTAL = "select coalesce(sum(events), 0)::integer from recoup.error_tally"


def count(hub: Hub) -> int:
    with hub.db.transaction(Authority.ERROR_WORKER) as tx:
        return measuring.tally(tx)


def recorded(number: int, table: str = DOL) -> list[NewError]:
    return [NewError(table=table, message=OPERATIONAL, outreach_id=uuid.uuid4()) for _ in range(number)]


def test_counts_and_events_agree_at_any_time(new_hub: NewHub) -> None:
    """Three days of chance: what is recorded, retried and swept, and counted now and then, also not for hours."""
    hub, chance = new_hub(), Random(19)
    used = 0
    for _ in range(150):
        match chance.randrange(6):
            case 0 | 1:
                hub.record_all(recorded(chance.randint(1, 4), chance.choice((DOL, PEOPLE, LOG))))
            case 2:
                hub.record(chance.choice((STRUCTURAL, TRANSIENT)))
            case 3:
                for one in hub.claim():
                    hub.fail(one) if chance.random() < 0.5 else hub.succeed(one)
            case 4:
                hub.close_windows()
                hub.sweep_all()
            case _:
                count(hub)
        hub.advance(timedelta(seconds=chance.choice((0.001, 1, 10, 299, 300, 1800, 3600, 5 * 3600))))
        counts = by_counts(hub)
        used += counts is not None
        assert counts in (None, by_events(hub))
    assert used > 100, "read from counts"
    assert hub.broken() == []


def test_what_commits_after_it_was_counted_is_not_lost(new_hub: NewHub) -> None:
    """Recorded before the worker counts, committed afterwards: read from the log until the next time, and once."""
    hub = new_hub()
    hub.record_all(recorded(2))
    settle(hub.db)
    with hub.db.transaction(Authority.HUB) as late:
        recording.record(late, recorded(3))
        hub.record_all(recorded(4))
        assert count(hub) == 2, "not beyond the oldest that is open"
        assert sum(events for events, _ in (by_counts(hub) or {}).values()) == 6
    assert by_counts(hub) == by_events(hub)
    hub.advance(10 * SECOND)
    settle(hub.db)
    assert count(hub) == 7
    assert hub.rows(TOTAL) == [(9,)]
    assert by_counts(hub) == by_events(hub)
    assert hub.broken() == []


def test_two_workers_count_each_event_once(new_hub: NewHub) -> None:
    hub = new_hub()
    hub.record_all(recorded(5))
    settle(hub.db)
    with hub.db.transaction(Authority.ERROR_WORKER) as first:
        assert measuring.tally(first) == 5
        assert count(hub) == 0, "it does not wait"
    assert count(hub) == 0
    with contextlib.suppress(ZeroDivisionError), hub.db.transaction(Authority.ERROR_WORKER) as dying:
        hub.record_all(recorded(5))
        hub.advance(10 * SECOND)
        settle(hub.db)
        assert measuring.tally(dying) == 5
        raise ZeroDivisionError
    assert count(hub) == 5
    assert hub.rows(TOTAL) == [(10,)]
    assert hub.broken() == []


def test_in_another_cluster_it_is_counted_anew(new_hub: NewHub, server: embedded.Server) -> None:
    """A restored database: transactions have numbers that were there before. Until then every event is read."""
    hub = new_hub()
    hub.record_all(recorded(5))
    settle(hub.db)
    count(hub)
    name = str(psycopg.conninfo.conninfo_to_dict(hub.db.conninfo)["dbname"])
    with psycopg.connect(server.uri(name, admin=True), autocommit=True) as admin:
        admin.execute("alter table recoup.error_event disable trigger user")
        admin.execute("update recoup.error_event set incarnation = 0, xid = '9000000000000000'")
        admin.execute("update recoup.error_tally_mark set incarnation = 0, counted_before = '9000000000000001'")
    hub.record_all(recorded(2))
    settle(hub.db)
    assert by_counts(hub) is None
    before = measured(hub)
    assert count(hub) == 7
    assert by_counts(hub) == by_events(hub)
    assert measured(hub) == before
    assert hub.broken() == []


def measured(hub: Hub) -> measuring.Metrics:
    with hub.db.transaction(Authority.READER) as tx:
        return metrics(tx)


def test_a_worker_that_was_down_leaves_it_to_the_log(new_hub: NewHub) -> None:
    """Counts of a window that nobody counted are read from events; old ones are removed when somebody counts again."""
    hub = new_hub()
    hub.record_all(recorded(3))
    settle(hub.db)
    count(hub)
    for _ in range(4):
        hub.advance(6 * HOUR + 7 * MINUTE)
        hub.record_all(recorded(2))
        assert by_counts(hub) == by_events(hub)
    settle(hub.db)
    assert count(hub) == 8
    hub.advance(2 * DAY)
    assert by_counts(hub) == by_events(hub) == {}
    count(hub)
    assert hub.rows("select count(*) from recoup.error_tally") == [(0,)]
    assert hub.broken() == []


FILLED = """
insert into recoup.error_event (incarnation, logged_at, error_table, error_id, event_type, to_status, disposition,
  retry_count, actor, actor_id, authority, form, digest)
select 1, recoup.now() - interval '23 hours' * (1 - n / %(rows)s::float8), 'outreach.dol_errors', n, 'RECORDED',
       'ACTIVE', 'ARCHIVE', 0, 'system', 'test', 'recoup_hub', 2, sha256('x')
  from generate_series(1, %(rows)s) n
"""
EVENTS = 60_000


def test_of_a_busy_day_few_events_are_read(new_hub: NewHub, server: embedded.Server) -> None:
    """Those of two slots, and those that were not counted yet; all others were counted by a worker."""
    hub = new_hub()
    name = str(psycopg.conninfo.conninfo_to_dict(hub.db.conninfo)["dbname"])
    with psycopg.connect(server.uri(name, admin=True), autocommit=True) as admin:
        admin.execute("alter table recoup.error_event disable trigger user")
        admin.execute(FILLED, {"rows": EVENTS})
        admin.execute("vacuum (analyze) recoup.error_event")
    settle(hub.db)
    assert count(hub) == EVENTS
    hub.record_all(recorded(5))
    now = hub.now()
    given = {"until": now, "since": now - measuring.WINDOW, "hour_ago": now - measuring.UNCOUNTED_AFTER}
    with hub.db.transaction(Authority.READER) as reader:
        query, given = measuring._happened(reader, given)
        assert query is measuring.Q["tallied"]
        explained = b"explain (analyze, timing off, format json) " + query.as_bytes(reader)
        ((plan,),) = reader.execute(explained, given, prepare=False).fetchall()
    read = sum(handled(node) for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") == "error_event")
    assert read < EVENTS / 10
    assert sum(events for events, _ in (by_counts(hub) or {}).values()) == EVENTS + 5


@pytest.mark.parametrize("authority", [Authority.HUB, Authority.OPERATOR, Authority.READER, Authority.ARCHIVER])
def test_nobody_but_the_worker_counts(hub: Hub, authority: Authority) -> None:
    for change in ("update recoup.error_tally set events = 1", "delete from recoup.error_tally",
                   "update recoup.error_tally_mark set counted_at = recoup.now()"):  # fmt: skip
        with pytest.raises((LawRefused, psycopg.errors.InsufficientPrivilege)), hub.db.transaction(authority) as tx:
            tx.execute(change.encode())
