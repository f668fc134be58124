"""Alerts: what every domain measures, judged by the rules of the policy; people are notified once, and when it ends.

These functions take a transaction as their first argument. ``recoup.connect().alerts`` has the same verbs, each under
its own authority. Alerts fire and end by themselves, judged by a worker.
"""

from recoup.alerts.lifecycle import AlertStatus, SilenceStatus
from recoup.alerts.listing import Alert, Event, RuleStatus, Sent, Shown, Silence, alerts, rules, show, silences
from recoup.alerts.people import send_test, silence, unsilence

__all__ = [
    "Alert",
    "AlertStatus",
    "Event",
    "RuleStatus",
    "Sent",
    "Shown",
    "Silence",
    "SilenceStatus",
    "alerts",
    "rules",
    "send_test",
    "show",
    "silence",
    "silences",
    "unsilence",
]
