"""What people do with alerts: silence them, end a silence, and test the routes of a rule."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from recoup import deliveries
from recoup.alerts.listing import RuleStatus
from recoup.alerts.policy import AlertPolicy, matches
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.policy import versions
from recoup.policy.section import one_of
from recoup.redaction import in_words
from recoup.refusals import InputRefused, LawRefused
from recoup.signals import OVERALL

Q = load("recoup.alerts", "alerts.sql")
EVERY = "*"
LONGEST = timedelta(days=90)


def silence(tx: Transaction, rule: str, *, key: str = EVERY, lasts: timedelta, reason: str) -> UUID:
    """Notify nobody of a rule, or of rules that begin like it (``error-*``), for a time. They are judged as always."""
    if not reason.strip():
        raise InputRefused("reason_missing", "A silence needs a reason.", "Give one with --reason.")
    if not timedelta(0) < lasts <= LONGEST:
        raise InputRefused("silence_length", "A silence lasts up to 90 days.", "Write for example: --for 2h")
    known = versions.active(tx).policy[AlertPolicy].rules
    if not any(matches(rule, name) for name in known):
        raise _unknown_rule(rule, known)
    if not 1 <= len(key.encode()) <= 200:
        raise InputRefused("silence_key", "A key has 1 to 200 bytes.", "See the keys: recoup alerts rules")
    given = {"rule": rule, "key": key, "for_s": lasts.total_seconds(), "reason": in_words(reason)[:500]}
    row = tx.execute(Q["silence"], given).fetchone()
    assert row is not None
    made: UUID = row[0]
    return made


def unsilence(tx: Transaction, silence_id: UUID) -> None:
    """End a silence. Alerts that fire notify when they are judged next."""
    row = tx.execute(Q["unsilence"], {"silence_id": silence_id}).fetchone()
    if row is None:
        raise InputRefused(
            "silence_unknown", f"There is no silence {silence_id}.", "List them: recoup alerts silences --all"
        )
    if row[0] != "active":
        raise LawRefused("silence_ended", f"Silence {silence_id} is {row[0]}.", "Only an active one can be ended.")


def send_test(tx: Transaction, rule: str | None = None, *, key: str = OVERALL, route: str | None = None) -> list[UUID]:
    """Send a notice that says it is a test: by a route, or by the routes of a rule. Changes nothing else."""
    policy = versions.active(tx).policy[AlertPolicy]
    if (rule is None) == (route is None):
        raise InputRefused("test_of_what", "Test a rule or a route.", "recoup alerts test RULE, or --route NAME")
    if rule is None:
        return [deliveries.send(tx, str(route), f"test of the route {route}", {"test": True})]
    if rule not in policy.rules:
        raise _unknown_rule(rule, policy.rules)
    found = policy.rules[rule]
    (routes,) = tx.execute(Q["routes"], {"action": found.action, "key": key}).fetchone() or ([],)
    if not routes:
        raise LawRefused(
            "no_routes",
            f"The action {found.action} of the rule {rule} has no routes, so nobody is notified.",
            f"Add one: recoup policy set alerts.actions.{found.action}.routes '[\"log\"]'",
        )
    body = {
        "test": True, "rule": rule, "key": key, "signal": found.signal, "threshold": found.above,
        "severity": found.severity, "action": found.action, "check_first": found.check.replace("{key}", key),
    }  # fmt: skip
    words = f"test: {found.severity} alert {rule}" + ("" if key == OVERALL else f" of {key}") + "; nothing is wrong"
    return [deliveries.send(tx, name, words, body) for name in routes]


def known_rule(tx: Transaction, rule: str) -> None:
    """Refuse the name of a rule that the policy does not have."""
    known = versions.active(tx).policy[AlertPolicy].rules
    if rule not in known:
        raise _unknown_rule(rule, known)


def covers(rule: str, key: str, one: RuleStatus) -> bool:
    """Whether a silence of this rule and key is one of this rule for this key."""
    return one.key is not None and matches(rule, one.rule) and matches(key, one.key)


def _unknown_rule(rule: str, known: Iterable[str]) -> InputRefused:
    return InputRefused("rule_unknown", f"The policy has no alert rule {rule}.", one_of(rule, known).capitalize() + ".")
