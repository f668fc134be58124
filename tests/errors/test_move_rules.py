"""The rules of a move, one by one: each has a code of its own, and says of its breach what is wrong."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from psycopg.types.json import Jsonb

from hub import DAY, DOL, HOUR, SECOND, Hub
from recoup.lifecycles.declaration import Authority

HUB, WORKER, OPERATOR = Authority.HUB, Authority.ERROR_WORKER, Authority.OPERATOR
EXECUTOR, REVIEWER = Authority.EXECUTOR, Authority.REVIEWER


class Breach(NamedTuple):
    """A rule of a move, by its code: the error before and after, whoever moves it, and what is said of it.

    What is not given of the error before is that of one which waits for its retry, due a moment ago, under a window of
    a day; what is not given of the one after is as before. A timedelta is so long from now.
    """

    code: str
    acting: Authority
    before: dict[str, Any]
    after: dict[str, Any]
    words: str
    sqlstate: str = "RC049"


NOW = timedelta(0)
WAITING = {
    "status": "RETRY_PENDING", "retry_count": 1, "max_retries": 3, "next_retry_at": -SECOND, "retry_until": DAY,
    "expires_at": 5 * DAY, "ttl_tier": "SHORT", "updated_at": -SECOND, "category": "TRANSIENT", "token": None,
    "escalation_level": 0,
}  # fmt: skip
ONE = "00000000-0000-0000-0000-000000000001"
ENDED = {"token": ONE, "retry_count": 2}
IN_PARK = {
    "status": "PARKED", "disposition": "PARKED", "next_retry_at": None, "parked_at": -DAY, "parked_by": "ann",
    "park_reason": "look", "escalation_level": 1, "parked_since": -DAY, "escalated_at": -DAY, "escalated_to": "dol-hub",
    "escalation_reason": "look", "sla_due_at": NOW,
}  # fmt: skip
SEEN = {"last_reviewed_at": NOW, "sla_met_at": NOW}
UP = {
    "status": "ESCALATED", "escalation_level": 2, "escalated_at": NOW, "escalated_to": "eve",
    "sla_due_at": 8 * HOUR,
}  # fmt: skip
UNPARKED = {
    "status": "RETRY_PENDING", "disposition": "RETRY", "retry_until": None, "next_retry_at": NOW, "parked_at": None,
    "parked_by": None, "park_reason": None,
}  # fmt: skip
FIRST_TIER = {
    "parked_since": NOW, "escalation_level": 1, "escalated_at": NOW, "escalated_to": "dol-hub",
    "escalation_reason": "look", "sla_due_at": DAY,
}  # fmt: skip
BY_SYSTEM = {
    "status": "PARKED", "parked_at": NOW, "parked_by": "system", "park_reason": "MAX_RETRIES_EXCEEDED", **FIRST_TIER,
}  # fmt: skip
FOR_LONG = {"parked_since": -3 * DAY, "parked_at": -3 * DAY}
SECOND_TIER = {
    "escalation_level": 2, "escalated_at": NOW, "escalated_to": "dol-lead", "escalation_reason": "parked for long",
    "sla_due_at": 8 * HOUR,
}  # fmt: skip
RESOLVED = {"status": "RESOLVED", "archived_at": NOW, "archive_reason": "RESOLVED", "next_retry_at": None}

BREACHES = (
    Breach("over", OPERATOR, {"archived_at": -DAY}, {"assigned_to": "ann"}, "it is closed", "RC046"),
    Breach("redaction", OPERATOR, {}, {"payload": {"a": "[redacted]"}}, "as they were recorded", "RC063"),
    Breach("retry_count", HUB, {}, ENDED | {"retry_count": 3}, "by one when a retry ends"),
    Breach("token", HUB, {}, {"token": ONE}, "token changes when a retry ends"),
    Breach("max_retries", OPERATOR, IN_PARK, {"max_retries": 5}, "grants one retry"),
    Breach("expires_at", OPERATOR, IN_PARK, {"expires_at": 6 * DAY}, "only an unparking moves"),
    Breach("retry_with", OPERATOR, IN_PARK, UNPARKED | {"retry_with": {"a": 1}}, "comes with a recovery"),
    Breach(
        "superseded_by_another", WORKER, {}, {"archived_at": NOW, "archive_reason": "SUPERSEDED"}, "only a hub",
    ),
    Breach("archived_by_another", HUB, {}, {"archived_at": NOW, "archive_reason": "MANUAL"}, "only an operator"),
    Breach("unexpired", HUB, {}, {"archived_at": NOW, "archive_reason": "TTL_EXPIRED"}, "expires at 20"),
    Breach(
        "held", HUB, IN_PARK | {"expires_at": -SECOND}, {"archived_at": NOW, "archive_reason": "TTL_EXPIRED"},
        "its last tier has not ended",
    ),
    Breach("resolved_unclaimed", WORKER, {}, RESOLVED, "was not claimed"),
    Breach("resolved_by_failure", WORKER, {}, ENDED | RESOLVED | {"last_outcome": "FAILED"}, "is not SUCCEEDED"),
    Breach("park_reason", WORKER, {}, ENDED | BY_SYSTEM | {"park_reason": "DATA_QUALITY"}, "for that reason"),
    Breach("window_open", WORKER, {}, BY_SYSTEM, "its window is open"),
    Breach("retries_left", WORKER, {}, ENDED | BY_SYSTEM, "it has retries left"),
    Breach("operator_reschedules", OPERATOR, {}, {"next_retry_at": HOUR}, "neither the number nor the time"),
    Breach("no_retry_moved", WORKER, {}, {"next_retry_at": HOUR}, "no retry of it ended"),
    Breach("put_off", WORKER, {}, ENDED | {"next_retry_at": 31 * DAY}, "more than 30 days away"),
    Breach("unmoved", HUB, IN_PARK, {"updated_at": NOW}, "nothing changed"),
    Breach("beyond_candidate", EXECUTOR, IN_PARK, {"last_reviewed_at": NOW}, "a recovery candidate unparks"),
    Breach("beyond_review", REVIEWER, IN_PARK, SEEN | {"assigned_to": "eve"}, "it is reviewed"),
    Breach("beyond_tier", WORKER, IN_PARK | FOR_LONG, SECOND_TIER | {"assigned_to": "eve"}, "a worker raises the tier"),
    Breach("first_tier", WORKER, {"retry_until": -SECOND}, BY_SYSTEM | {"sla_due_at": 2 * DAY}, "sets its tier"),
    Breach("tier_not_due", WORKER, IN_PARK, SECOND_TIER, "the one that is due"),
    Breach("parked_since", OPERATOR, IN_PARK, SEEN | {"parked_since": NOW}, "when it was first parked"),
    Breach("sla", OPERATOR, IN_PARK, SEEN | {"sla_due_at": DAY}, "the clock of its review"),
    Breach("unreviewed", OPERATOR, IN_PARK, {"assigned_to": "eve"}, "is a review"),
    Breach("archived_at", OPERATOR, IN_PARK, RESOLVED | {"archived_at": -HOUR}, "archived_at is not now"),
    Breach("updated_at", OPERATOR, IN_PARK, {"updated_at": HOUR}, "updated_at is not now"),
    Breach("parked_at", OPERATOR, IN_PARK, {"parked_at": -HOUR}, "parked_at is not now"),
    Breach(
        "no_retry_told", HUB, IN_PARK, {"archived_at": NOW, "archive_reason": "SUPERSEDED", "last_failure": "no"},
        "the result of the last one",
    ),
    Breach("last_retry_at", WORKER, {}, ENDED | {"last_retry_at": DAY}, "last_retry_at is in the future"),
    Breach("parking", OPERATOR, IN_PARK, SEEN | {"park_reason": "another"}, "by whom and why"),
    Breach("parked_by", OPERATOR, {}, BY_SYSTEM, "is not the person who parks it"),
    Breach("escalation", OPERATOR, IN_PARK | UP, SEEN | {"escalation_level": 0}, "an escalation rises"),
    Breach("unparked_later", OPERATOR, IN_PARK, UNPARKED | {"next_retry_at": DAY}, "not later"),
    Breach("retry_until", OPERATOR, IN_PARK, SEEN | {"retry_until": 9 * DAY}, "no window"),
    Breach("grant", OPERATOR, IN_PARK | {"retry_count": 3}, SEEN | {"max_retries": 4}, "unparking"),
    Breach("last_reviewed_at", OPERATOR, IN_PARK, {"last_reviewed_at": DAY}, "last_reviewed_at is not now"),
    Breach("not_one_thing", OPERATOR, IN_PARK, SEEN | UNPARKED | {"assigned_to": "eve"}, "one change at a time"),
)  # fmt: skip

# Whoever moves it, before and after.
LAWFUL: tuple[tuple[Authority, dict[str, Any], dict[str, Any]], ...] = (
    (HUB, {}, ENDED | {"next_retry_at": HOUR}),
    (WORKER, {}, ENDED | {"next_retry_at": HOUR}),
    (WORKER, {}, ENDED | RESOLVED | {"last_outcome": "SUCCEEDED"}),
    (WORKER, {"retry_count": 2}, ENDED | BY_SYSTEM | {"retry_count": 3}),
    (WORKER, {"retry_until": -SECOND}, BY_SYSTEM),
    (WORKER, {"retry_until": -SECOND}, BY_SYSTEM | {"park_reason": "RETRY_WINDOW_CLOSED"}),
    (
        WORKER,
        {"retry_until": -SECOND} | FOR_LONG | {"parked_at": None},
        BY_SYSTEM | FOR_LONG | SECOND_TIER | {"parked_at": NOW},
    ),
    (WORKER, IN_PARK | FOR_LONG, SECOND_TIER),
    (
        WORKER,
        IN_PARK | FOR_LONG | {"parked_since": None, "escalation_level": 0},
        SECOND_TIER | {"parked_since": -3 * DAY},
    ),
    (WORKER, IN_PARK | {"sla_due_at": -SECOND}, {"sla_breached_at": NOW}),
    (OPERATOR, IN_PARK, UNPARKED | SEEN),
    (OPERATOR, IN_PARK, UNPARKED | SEEN | {"expires_at": 7 * DAY}),
    (OPERATOR, IN_PARK | {"sla_due_at": -SECOND}, UNPARKED | {"last_reviewed_at": NOW}),
    (OPERATOR, IN_PARK | {"parked_since": None}, UNPARKED | SEEN | {"parked_since": -DAY}),
    (OPERATOR, IN_PARK | UP, UNPARKED | SEEN),
    (OPERATOR, IN_PARK, UP | {"last_reviewed_at": NOW}),
    (
        OPERATOR,
        IN_PARK | UP | {"escalated_at": -DAY},
        {"escalation_level": 3, "escalated_at": NOW, "sla_due_at": 4 * HOUR, "last_reviewed_at": NOW},
    ),
    (OPERATOR, IN_PARK | UP, RESOLVED | SEEN),
    (OPERATOR, IN_PARK, SEEN),
    (OPERATOR, IN_PARK | SEEN, {"updated_at": NOW}),
    (OPERATOR, IN_PARK, SEEN | {"assigned_to": "eve"}),
    (HUB, IN_PARK | UP, {"archived_at": NOW, "archive_reason": "SUPERSEDED"}),
    (EXECUTOR, IN_PARK, UNPARKED),
    (EXECUTOR, IN_PARK | UP, UNPARKED | {"expires_at": 7 * DAY}),
    (EXECUTOR, IN_PARK, UP),
    (EXECUTOR, IN_PARK, {"archived_at": NOW, "archive_reason": "MANUAL"}),
    (EXECUTOR, IN_PARK | UP, {"archived_at": NOW, "archive_reason": "MANUAL"}),
    (REVIEWER, IN_PARK, SEEN | {"updated_at": NOW}),
    (REVIEWER, IN_PARK | UP, SEEN),
    (OPERATOR, {}, ENDED | RESOLVED),
    (HUB, {}, ENDED | RESOLVED),
    (HUB, {}, RESOLVED),
    (OPERATOR, {}, {"assigned_to": "ann", "updated_at": NOW}),
)


MOVED = """
select {}
  from jsonb_populate_record(null::recoup.error, %(old)s) o, jsonb_populate_record(null::recoup.error, %(new)s) n
"""
BROKEN = "recoup.error_move_broken(o, n, recoup.now(), %(acting)s, recoup.error_policy())"


def asked(hub: Hub, what: str, acting: Authority, before: dict[str, Any], after: dict[str, Any]) -> Any:
    """What the rules say of a move. Asked of them alone: no guard and no right stands before them."""
    now = hub.now()
    old = {"error_table": DOL, "error_id": 7} | WAITING | before
    given = {"acting": acting.role, "old": _at(now, old), "new": _at(now, old | after)}
    with hub.db.transaction(Authority.READER) as tx:
        row = tx.execute(MOVED.format(what), given).fetchone()
    assert row is not None
    return row[0]


def _at(now: datetime, values: dict[str, Any]) -> Jsonb:
    return Jsonb({name: str(now + v) if isinstance(v, timedelta) else v for name, v in values.items()})


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: breach.code)
def test_each_rule_says_what_is_wrong(hub: Hub, breach: Breach) -> None:
    move = (breach.acting, breach.before, breach.after)
    assert asked(hub, BROKEN, *move) == breach.code
    refusal = asked(hub, f"to_jsonb(recoup.error_move_refusal({BROKEN}, o, n))", *move)
    assert (refusal["sqlstate"], refusal["detail"]["why"]) == (breach.sqlstate, breach.code)
    assert breach.words in refusal["message"]
    assert "%" not in refusal["message"]
    assert refusal["hint"]


@pytest.mark.parametrize("to", [{"status": "PARKED"}, UNPARKED | {"expires_at": 8 * DAY}], ids=["parked", "too_far"])
def test_an_expiry_is_moved_by_an_unparking_alone_and_no_further_than_a_tier(hub: Hub, to: dict[str, Any]) -> None:
    assert asked(hub, BROKEN, OPERATOR, IN_PARK, {"expires_at": 6 * DAY} | to) == "expires_at"
    assert asked(hub, BROKEN, OPERATOR, {}, {"expires_at": 6 * DAY}) == "expires_at", "it is retried already"


def test_a_hub_that_clears_leaves_what_retries_came_to_as_it_is(hub: Hub) -> None:
    for told in ({"last_failure": "no"}, {"last_outcome": "FAILED"}):
        assert asked(hub, BROKEN, HUB, {}, ENDED | RESOLVED | told) == "resolved_by_failure"


@pytest.mark.parametrize("place", range(len(LAWFUL)))
def test_what_breaks_no_rule_is_let_through(hub: Hub, place: int) -> None:
    assert asked(hub, BROKEN, *LAWFUL[place]) is None


def test_every_rule_is_tried_here_and_has_its_words(hub: Hub) -> None:
    """Code by code: the conditions, the messages, and the breaches above."""
    functions = ", ".join(f"'recoup.error_{name}_broken'::regproc" for name in ("move", "change"))
    functions += ", 'recoup.tier_broken'::regproc"
    ((conditions,),) = hub.rows(f"select string_agg(prosrc, '') from pg_proc where oid in ({functions})")
    said = hub.rows("select code, message from recoup.error_move_rules()")
    tried = [breach.code for breach in BREACHES]
    assert sorted(set(re.findall(r"then '(\w+)'", conditions))) == sorted(tried) == sorted(code for code, _ in said)
    assert len({message for _, message in said}) == len(said)
