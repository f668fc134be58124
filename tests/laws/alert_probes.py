"""The probes of alerts."""

from __future__ import annotations

import product
from alarms import ALERT_ROW, MOVES, SILENCE_ROW, alert_in, due_alert, silence_in
from company import acting
from laws.probing import PROBES, check, key, law, quiet, refused, seen, unreplicated
from laws.rows import NOW
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority

__all__ = ["PROBES"]

WORKER, OPERATOR = Authority.ERROR_WORKER, Authority.OPERATOR
ALERT, EVENT, SILENCE = "recoup.alert", "recoup.alert_event", "recoup.silence"
GAUGE, ROUND = "recoup.alert_gauge", "recoup.alert_round"
INFINITE, LONG, HUGE = "'infinity'", "repeat('x', 201)", "1e16"
LARGE = "jsonb_build_object('x', repeat('x', 20001))"
ENDED = {"status": "'recovered'", "ended_at": NOW}

unreplicated(GAUGE, ROUND)
key(ALERT, "alert_pkey", "An id is one alert's.", "alert_id")
key(ALERT, "alert_firing", "A storm is one alert.", "rule", "key")
for table in (ALERT, GAUGE, SILENCE):
    name = table.split(".")[1]
    check(table, f"{name}_rule_check", "A rule has a name.", rule="''")
    check(table, f"{name}_rule_check", "Not an endless one.", rule=LONG)
    check(table, f"{name}_key_check", "A key has a name.", key="''")
    check(table, f"{name}_key_check", "Not an endless one.", key=LONG)
check(ALERT, "alert_signal_check", "A signal has a name.", signal="''")
check(ALERT, "alert_unit_check", "A unit is a listed one.", unit="'miles'")
check(ALERT, "alert_severity_check", "A severity is a listed one.", severity="'BAD'")
check(ALERT, "alert_action_check", "An action has a name.", action="''")
check(ALERT, "alert_threshold_check", "A threshold is a number.", threshold="'NaN'")
check(ALERT, "alert_value_check", "A value is a number.", value="'NaN'")
check(ALERT, "alert_sample_check", "A sample is not negative.", sample="-1")
check(ALERT, "alert_facts_check", "Facts end.", facts=LARGE)
check(ALERT, "alert_status_check", "A status is a listed one.", **ENDED | {"status": "'lost'"})
check(ALERT, "alert_last_value_check", "A value is a number.", last_value=HUGE)
check(ALERT, "alert_worst_value_check", "A value is a number.", worst_value=HUGE)
check(ALERT, "alert_notices_check", "Notices count from none.", notices="-1")
check(ALERT, "alert_notified_at_check", "Times are times.", notices="1", notified_at=INFINITE)
check(ALERT, "alert_unsent_check", "What is left out counts from none.", unsent="-1")
check(ALERT, "alert_fired_at_check", "Times are times.", fired_at=INFINITE)
check(ALERT, "alert_updated_at_check", "Times are times.", updated_at=INFINITE)
check(ALERT, "alert_ended_at_check", "Times are times.", **ENDED | {"ended_at": INFINITE})
check(ALERT, "alert_ended", "What has ended did so at a time.", status="'no_data'")
check(ALERT, "alert_ended", "What fires has not ended.", ended_at=NOW)
check(ALERT, "alert_notified", "A notice has a time.", notices="1")
check(ALERT, "alert_notified", "A time is of a notice.", notified_at=NOW)
key(EVENT, "alert_event_pkey", "A place is one event's.", "seq")
check(EVENT, "alert_event_logged_at_check", "Times are times.", logged_at=INFINITE)
check(EVENT, "alert_event_actor_check", "An actor is of a kind.", actor="'ghost'")
key(SILENCE, "silence_pkey", "An id is one silence's.", "silence_id")
check(SILENCE, "silence_until_check", "A silence ends.", until=INFINITE)
check(SILENCE, "silence_reason_check", "It says why.", reason="''")
check(SILENCE, "silence_created_at_check", "Times are times.", created_at="'-infinity'")
check(SILENCE, "silence_status_check", "A status is a listed one.", status="'loud'", ended_at=NOW)
check(SILENCE, "silence_ended_at_check", "Times are times.", status="'ended'", ended_at=INFINITE)
check(SILENCE, "silence_ended", "What has ended did so at a time.", status="'ended'")
check(SILENCE, "silence_ends", "It ends after it began.", until="recoup.now() - interval '1 hour'")
key(GAUGE, "alert_gauge_pkey", "A rule sees a key once.", "rule", "key")
check(GAUGE, "alert_gauge_unit_check", "A unit is a listed one.", unit="'miles'")
check(GAUGE, "alert_gauge_value_check", "A value is a number.", value="'NaN'")
check(GAUGE, "alert_gauge_facts_check", "Facts end.", facts=LARGE)
check(GAUGE, "alert_gauge_worst_check", "A value is a number.", worst="'NaN'")
check(GAUGE, "alert_gauge_seen_at_check", "Times are times.", seen_at=INFINITE)
check(GAUGE, "alert_gauge_above_since_check", "Times are times.", above_since=INFINITE)
check(GAUGE, "alert_gauge_below_since_check", "Times are times.", below_since=INFINITE)
key(ROUND, "alert_round_pkey", "There is one round.", "one")
check(ROUND, "alert_round_one_check", "And no other.", one="false")
check(ROUND, "alert_round_judged_at_check", "Times are times.", judged_at=INFINITE)
check(ROUND, "alert_round_failures_check", "Failures end.", failures=LARGE)
check(ROUND, "alert_round_beat_at_check", "Times are times.", beat_at=INFINITE)

BORN = "recoup.rule_alert_births"


@law(ALERT, BORN, "insert")
def an_alert_fires_by_its_rule(tx: Transaction) -> None:
    """Not by a rule that is none, not below its threshold, not too soon, and not with another rule's words."""
    insert = f"insert into recoup.alert {ALERT_ROW}"
    for old, new in (
        ("'parked-errors',", "'no-rule',"),
        ("'parked_errors',", "'error_rate',"),
        ("'HIGH'", "'WARNING'"),
        ("'escalate-to-platform'", "'page-on-call'"),
        (", 1000,", ", 900,"),
        (", 2000, 2000, 2000,", ", 999, 2000, 2000,"),
        ("t.now_, 1, t.now_", "t.now_, 2, t.now_"),
        ("2000, t.now_", "2000, t.now_ - interval '1 hour'"),
    ):
        assert old in insert, old
        refused(tx, insert.replace(old, new), due_alert(tx), who=WORKER, by=BORN, sqlstate="RC130")
    refused(tx, insert, {"of": "never seen"}, who=WORKER, by=BORN, sqlstate="RC130")
    soon = due_alert(tx)
    with acting(tx, WORKER):
        tx.execute("update recoup.alert_gauge set above_since = recoup.now() where key = %(of)s", soon)
    refused(tx, insert, soon, who=WORKER, by=BORN, sqlstate="RC130", words="long enough")


MOVED = "recoup.guard_alert_moves"


@law(ALERT, MOVED, "update")
def an_alert_moves_as_judging_makes_it(tx: Transaction) -> None:
    """No move without a notice while it fires, no end in the past, no recovery without a value."""
    made = alert_in(tx)
    with quiet(tx, ALERT, but=MOVED):  # so that it alone answers
        pass
    for change in (
        "updated_at = t.now_",
        MOVES["firing"].replace("+ 1", "+ 2"),
        MOVES["firing"].replace("notified_at = t.now_", "notified_at = t.now_ + interval '1 minute'"),
        MOVES["recovered"].replace("last_value = 1", "last_value = null"),
        MOVES["no_data"].replace("last_value = null", "last_value = 1"),
        MOVES["recovered"] + ", notices = notices + 1",
        MOVES["recovered"].replace("updated_at = t.now_", "updated_at = t.now_ + interval '1 hour'"),
        MOVES["recovered"].replace("ended_at = t.now_", "ended_at = t.now_ - interval '1 hour'"),
    ):
        move = f"update recoup.alert set {change} from (select recoup.now() as now_) t where alert_id = %s"
        refused(tx, move, (made,), who=WORKER, by=MOVED, sqlstate="RC131")


LOGGED = "select from recoup.alert_event where alert_id = %s and to_status = %s and authority = %s"
TOLD = "select from recoup.delivery where alert_id = %s and origin = 'alert' and subject like %s"


@law(ALERT, "recoup.record_alerts", "insert")
def an_alert_that_fires_is_logged(tx: Transaction) -> None:
    """With who judged it."""
    seen(tx, f"{LOGGED} and from_status is null", alert_in(tx), "firing", WORKER.role)


@law(ALERT, "recoup.record_alerts", "update")
def an_alert_that_ends_is_logged(tx: Transaction) -> None:
    """With its last value."""
    seen(tx, f"{LOGGED} and from_status = 'firing' and value = 1", alert_in(tx, "recovered"), "recovered", WORKER.role)


@law(ALERT, "recoup.notify_alerts", "insert")
def an_alert_that_fires_is_told(tx: Transaction) -> None:
    """In the same transaction."""
    seen(tx, TOLD, alert_in(tx), "HIGH: parked_errors%")


@law(ALERT, "recoup.notify_alerts", "update")
def an_alert_that_ends_is_told(tx: Transaction) -> None:
    """To whom it was told that it fires."""
    seen(tx, TOLD, alert_in(tx, "recovered"), "recovered: parked_errors%")


ASKED = "recoup.rule_silences"


@law(SILENCE, ASKED, "insert")
def a_silence_begins_now_and_ends(tx: Transaction) -> None:
    """Nobody silences for ever, or in the name of another."""
    insert = f"insert into recoup.silence {SILENCE_ROW}"
    for old, new in (("1 hour", "91 days"), ("recoup.acting_id()", "'another'")):
        refused(tx, insert.replace(old, new), who=OPERATOR, by=ASKED, sqlstate="RC132")


@law(SILENCE, ASKED, "update")
def a_silence_ends_now_and_not_before_its_time(tx: Transaction) -> None:
    """It expires when its time is over, and a person ends it now."""
    made = silence_in(tx)
    for who, change in (
        (WORKER, "status = 'expired', ended_at = recoup.now()"),
        (OPERATOR, "status = 'ended', ended_at = recoup.now() - interval '1 hour'"),
    ):
        move = f"update recoup.silence set {change} where silence_id = %s"
        refused(tx, move, (made,), who=who, by=ASKED, sqlstate="RC132")


CONTROLLED = "select from recoup.control_log where subject = 'recoup.silence' and key = %s and to_status = %s"


@law(SILENCE, "recoup.record_control", "insert")
def a_silence_is_logged(tx: Transaction) -> None:
    """With what it covers, and until when."""
    seen(tx, f"{CONTROLLED} and facts ->> 'rule' = 'parked-*'", str(silence_in(tx)), "active")


@law(SILENCE, "recoup.record_control", "update")
def the_end_of_a_silence_is_logged(tx: Transaction) -> None:
    """With when it was."""
    seen(tx, f"{CONTROLLED} and facts ? 'ended_at'", str(silence_in(tx, "ended")), "ended")


@law(ROUND, "recoup.beat", "update")
def a_heartbeat_is_sent(tx: Transaction) -> None:
    """To its route, when a round of judging says so."""
    with acting(tx, OPERATOR):
        product.apply_policy(tx, '[alerts]\nheartbeat_route = "log"\n', reason="a probe")
    with acting(tx, WORKER):
        tx.execute("update recoup.alert_round set beat_at = recoup.now()")
    seen(tx, "select from recoup.delivery where origin = 'heartbeat' and route = 'log' and status = 'queued'")
