"""For every invariant of alerts, what breaks it. Names in braces are those of the cast (lively_alerts.py)."""

from __future__ import annotations


def _row(of: str, change: str) -> str:
    return f"update recoup.alert set {change} where alert_id = {{{of}}}"


def _events(of: str, which: str = "true") -> str:
    return f"delete from recoup.alert_event where alert_id = {{{of}}} and {which}"


_RULE = "update recoup.policy set figures = figures #- '{{alerts,rules,deliveries-dead}}'"
_TOLD = "delete from recoup.delivery where alert_id = {{{0}}}"
_FORGED = (
    "insert into recoup.delivery (route, subject, body, dedup_key, origin, alert_id)"
    " values ('log', 's', '{{}}', 'forged', 'alert', {alert_silenced})"
)

ROWS: tuple[tuple[str, str], ...] = (
    ("alerts/as-logged", _row("alert_recovered", "status = 'no_data'")),
    ("alerts/as-logged", _row("alert_recovered", "last_value = 1")),
    ("alerts/as-logged", _row("alert_firing", "worst_value = 5")),
    ("alerts/as-logged", _row("alert_firing", "notices = 1")),
    ("alerts/as-logged", _row("alert_firing", "notified_at = fired_at")),
    ("alerts/as-logged", _row("alert_firing", "routes = array['ops']")),
    ("alerts/as-logged", _row("alert_firing", "unsent = 1")),
    ("alerts/as-logged", _row("alert_without_data", "ended_at = ended_at - interval '1 second'")),
    ("alerts/as-logged", _row("alert_silenced", "fired_at = fired_at - interval '1 second'")),
    ("alerts/as-logged", _events("alert_recovered", "to_status = 'recovered'")),
    ("alerts/as-logged", _events("alert_silenced")),
    ("alerts/notices", _TOLD.format("alert_recovered")),
    ("alerts/notices", _FORGED),
    ("alerts/one-firing", "update recoup.alert set status = 'firing', ended_at = null, key = 'k'"),
    ("alerts/threshold", _row("alert_firing", "value = 0")),
    ("alerts/threshold", _row("alert_firing", "threshold = 1")),
    ("alerts/threshold", _RULE),
)
