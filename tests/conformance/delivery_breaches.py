"""For every invariant of deliveries, what breaks it. Names in braces are those of the cast (lively_deliveries.py)."""

from __future__ import annotations


def _row(of: str, change: str) -> str:
    return f"update recoup.delivery set {change} where delivery_id = {{{of}}}"


def _event(of: str, change: str) -> str:
    return f"update recoup.delivery_event set {change} where delivery_id = {{{of}}} and to_status = 'dead'"


_NO_LAST = "delete from recoup.delivery_event where delivery_id = {{{0}}} and to_status = '{1}'"
_TRIES = "update recoup.policy set figures = jsonb_set(figures, '{{{{deliveries,routes,log,max_tries}}}}', '{}')"

ROWS: tuple[tuple[str, str], ...] = (
    ("deliveries/as-logged", _row("notice_delivered", "status = 'dead'")),
    ("deliveries/as-logged", _row("notice_waiting", "attempts = 0")),
    ("deliveries/as-logged", _row("notice_waiting", "next_try_at = next_try_at + interval '1 second'")),
    ("deliveries/as-logged", _row("notice_waiting", "last_failure = 'something else'")),
    ("deliveries/as-logged", _row("notice_dead", "token = gen_random_uuid()")),
    ("deliveries/as-logged", _row("notice_dead", "ended_at = ended_at - interval '1 second'")),
    ("deliveries/as-logged", _row("notice_cancelled", "outcome = 'FAILED'")),
    ("deliveries/as-logged", _row("notice_new", "updated_at = updated_at + interval '1 second'")),
    ("deliveries/as-logged", _NO_LAST.format("notice_delivered", "delivered")),
    ("deliveries/as-logged", _NO_LAST.format("notice_dead", "dead")),
    ("deliveries/tries", _row("notice_dead", "attempts = 13")),
    ("deliveries/tries", _row("notice_waiting", "attempts = 12")),
    ("deliveries/tries", _TRIES.format(11)),
    ("deliveries/given-up", _event("notice_dead", "attempts = 11")),
    ("deliveries/given-up", _event("notice_dead", "outcome = 'SUCCEEDED'")),
    ("deliveries/given-up", _event("notice_cancelled", "authority = 'recoup_executor'")),
    ("deliveries/given-up", _TRIES.format(13)),
    ("deliveries/one-open", "update recoup.delivery set dedup_key = 'k' where status = 'queued'"),
    ("deliveries/routes", _row("notice_new", "route = 'nowhere'")),
    ("deliveries/routes", "update recoup.policy set figures = figures #- '{{deliveries,routes,log}}'"),
)
