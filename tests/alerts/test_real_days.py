"""The metrics and alert rules of the requirement document over real errors, each alert at its very second."""

from __future__ import annotations

import uuid
from datetime import timedelta

from alerts.desk import Desk
from hub import DAY, DOL, HOUR, LOG, OPERATIONAL, PEOPLE, STRUCTURAL, TARGET, TRANSIENT, URLS, Hub
from recoup.alerts import judging
from recoup.domain import sources
from recoup.domains import MEASURED
from recoup.errors import parking, processed
from recoup.errors.lookup import ErrorKey
from recoup.errors.processed import NewProcessed
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Severity
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions

WAIT = timedelta(seconds=60)  # above its threshold for so long, a rule fires


class Days:
    """Days of a hub whose alerts are judged."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.hub = desk, Hub(desk.db)

    def judge(self) -> None:
        with self.desk.db.transaction(Authority.ERROR_WORKER) as tx:
            judging.judge(tx, versions.active(tx).policy, sources(MEASURED))

    def processed(self, table: str, count: int) -> None:
        with self.desk.db.transaction(Authority.HUB) as tx:
            processed.report(tx, [NewProcessed(table=table, count=count)])

    def record(self, table: str, count: int, message: str = OPERATIONAL, severity: Severity | None = None) -> list[int]:
        made = self.hub.record_all(
            NewError(table=table, message=message, outreach_id=uuid.uuid4(), severity=severity) for _ in range(count)
        )
        return [one.error_id for one in made]

    def escalate(self, errors: list[int]) -> None:
        with self.desk.db.transaction(Authority.OPERATOR) as tx:
            parking.escalate(tx, [ErrorKey(PEOPLE, one) for one in errors], reason="urgent")

    def firing(self) -> set[tuple[str, str]]:
        return {(alert["rule"], alert["key"]) for alert in self.desk.alerts() if alert["status"] == "firing"}

    def is_quiet(self, rule: str, key: str) -> None:
        """Judged, and not above its threshold."""
        self.judge()
        self.hub.advance(WAIT)
        self.judge()
        assert (rule, key) not in self.firing()
        self.hub.advance(timedelta(seconds=10))  # until it is judged again

    def fires_now(self, *rules: str, key: str, action: str) -> None:
        """Judged at once, ten seconds before its time and at it: then it fires, and not before."""
        began = self.hub.now()
        self.judge()
        self.hub.advance(WAIT - timedelta(seconds=10))
        self.judge()
        assert not self.firing() & {(rule, key) for rule in rules}
        self.hub.advance(timedelta(seconds=10))
        self.judge()
        fired = {alert["rule"]: alert for alert in self.desk.alerts() if alert["key"] == key}
        assert {rule: fired[rule]["fired_at"] for rule in rules} == dict.fromkeys(rules, began + WAIT)
        assert fired[rules[-1]]["action"] == action


def test_every_metric_of_the_document_alerts_over_real_errors(desk: Desk) -> None:
    days = Days(desk)
    hub = days.hub
    # 6 of 100 are a warning, 11 of 100 also page somebody.
    days.processed(PEOPLE, 100)
    days.record(PEOPLE, 5)
    days.is_quiet("error-rate", PEOPLE)  # 5 % is not above 5 %
    days.record(PEOPLE, 1)
    days.fires_now("error-rate", key=PEOPLE, action="notify-hub-team")
    days.is_quiet("error-rate-high", PEOPLE)
    days.record(PEOPLE, 5)
    days.fires_now("error-rate-high", key=PEOPLE, action="page-on-call")
    # 4 of 20 parked are not too many, 5 of 21 are.
    hub.advance(2 * DAY)
    days.record(TARGET, 16)
    days.record(TARGET, 4, STRUCTURAL)
    days.is_quiet("park-rate", TARGET)
    days.record(TARGET, 1, STRUCTURAL)
    days.fires_now("park-rate", key=TARGET, action="review-park-queue")
    # 7 of 20 that were retried have no retry left.
    hub.advance(2 * DAY)
    hub.close_windows()
    retried = set(days.record(DOL, 20, TRANSIENT))
    exhausted = set(sorted(retried)[:7])
    for _ in range(6):
        hub.advance(HOUR)
        due = [one for one in hub.claim(tables=[DOL]) if one.error_id in retried]
        for one in due:
            hub.fail(one) if one.error_id in exhausted else hub.succeed(one)
    days.fires_now("retry-exhaustion-rate", key=DOL, action="notify-hub-team")
    # 2 of 20 parked are escalated, and then one more.
    hub.advance(2 * DAY)
    parked = days.record(PEOPLE, 20, STRUCTURAL)
    days.escalate(parked[:2])
    days.is_quiet("escalation-rate", PEOPLE)
    days.escalate(parked[2:3])
    days.fires_now("escalation-rate", key=PEOPLE, action="notify-hub-team")
    # Nobody reviews them in time: a day for the hub's team.
    hub.advance(DAY - WAIT)
    hub.raise_tiers()
    assert days.firing() & {("sla-breached", PEOPLE)} == set()
    hub.advance(timedelta(seconds=1))
    hub.raise_tiers()
    days.fires_now("sla-breached", key=PEOPLE, action="notify-hub-team")
    # Errors that are kept for 7 days have used 80 % of them after 5.6.
    hub.advance(2 * DAY)
    days.record(URLS, 20, severity=Severity.HIGH)
    hub.advance(timedelta(days=5.6) - WAIT)
    days.is_quiet("ttl-utilization", URLS)
    days.fires_now("ttl-utilization", key=URLS, action="notify-hub-team")
    # More than a hundred block; 50 were parked within a day, and then one more.
    hub.advance(2 * DAY)
    days.record(DOL, 50, STRUCTURAL)
    days.fires_now("blocking-errors", key="overall", action="page-platform-on-call")
    days.hub.advance(timedelta(seconds=10))
    days.is_quiet("dol-parked-per-day", DOL)
    days.record(DOL, 1, STRUCTURAL)
    days.fires_now("dol-parked-per-day", key=DOL, action="review-park-queue")
    # Due, and taken by nobody.
    days.record(DOL, 1)
    hub.advance(timedelta(minutes=5, seconds=900 - 60))
    days.is_quiet("retries-not-taken", DOL)
    days.fires_now("retries-not-taken", key=DOL, action="notify-hub-team")
    # What is only kept for the record is counted, and alerts nobody.
    days.record(LOG, 100)
    days.is_quiet("park-rate", LOG)
    assert desk.broken() == []


def test_the_numbers_of_all_tables_alert_above_their_thresholds(desk: Desk) -> None:
    """A hundred that block and a thousand that are parked are none too many; one more is."""
    days = Days(desk)
    days.record(DOL, 60, STRUCTURAL)
    days.record(PEOPLE, 40)
    days.is_quiet("blocking-errors", "overall")
    days.record(PEOPLE, 1)
    days.fires_now("blocking-errors", key="overall", action="page-platform-on-call")
    days.record(TARGET, 940, STRUCTURAL)
    days.is_quiet("parked-errors", "overall")
    days.record(TARGET, 1, STRUCTURAL)
    days.fires_now("parked-errors", key="overall", action="escalate-to-platform")
    assert desk.broken() == []


def test_the_owner_of_a_tier_is_notified_once_when_errors_come_to_it(desk: Desk) -> None:
    """At the second in which the tier is due, once for all errors of all tables; also after a week without a worker."""
    days = Days(desk)
    hub = days.hub
    desk.policy(
        '[deliveries.routes.lead]\nkind = "log"\n[alerts.actions.notify-owner.by_owner]\n"dol-lead" = ["lead"]\n'
    )
    begun = hub.now()
    days.record(DOL, 30, STRUCTURAL)

    def told() -> list[tuple[str, str, timedelta]]:
        found = desk.rows("select route, subject, created_at from recoup.delivery where subject like %s order by 3, 2",
                          "%escalated_unreviewed%")  # fmt: skip
        return [(row["route"], row["subject"], row["created_at"] - begun) for row in found]

    hub.advance(2 * DAY)
    hub.raise_tiers()
    days.judge()
    assert told() == []
    hub.advance(timedelta(seconds=10))
    hub.raise_tiers()
    days.judge()
    lead = ("lead", "WARNING: escalated_unreviewed of dol-lead is 30, above 0", 2 * DAY + timedelta(seconds=10))
    assert told() == [lead]
    days.record(TARGET, 10, STRUCTURAL)
    hub.advance(8 * DAY)
    hub.raise_tiers()
    days.judge()
    platform = ("log", "WARNING: escalated_unreviewed of platform is 40, above 0", hub.now() - begun)
    assert told() == [lead, platform], "forty errors of two tables, one owner"
    hub.advance(timedelta(minutes=5))
    days.judge()
    assert told()[2:] == [
        ("lead", "recovered: escalated_unreviewed of dol-lead is 0 again; it was up to 30", hub.now() - begun)
    ]
    assert desk.broken() == []
