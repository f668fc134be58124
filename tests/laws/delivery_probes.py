"""The probes of deliveries."""

from __future__ import annotations

import product
from company import acting, claimed_delivery, delivery_in, new_delivery, tried_delivery
from laws.probing import PROBES, check, key, law, queued, quiet, refused, seen
from laws.rows import ID, NOW, insertion
from recoup.database.connection import Transaction
from recoup.deliveries import delivering
from recoup.deliveries.lifecycle import DELIVERY as LIFE
from recoup.lifecycles.declaration import Authority

__all__ = ["PROBES"]

EXECUTOR, OPERATOR = Authority.EXECUTOR, Authority.OPERATOR
DELIVERY, EVENT, INFINITE = "recoup.delivery", "recoup.delivery_event", "'infinity'"
OPS = '[deliveries.routes.ops]\nkind = "webhook"\nurl_env = "OPS_URL"\n'
LONG = "repeat('x', 501)"
TRIED = {"attempts": "1", "token": ID, "outcome": "'FAILED'", "last_failure": "'no'"}
DEAD = TRIED | {"status": "'dead'", "ended_at": NOW}

queued(LIFE, new_delivery)
key(DELIVERY, "delivery_pkey", "An id is one delivery's.", "delivery_id")
key(DELIVERY, "delivery_open", "A storm pages once.", "dedup_key")
check(DELIVERY, "delivery_route_check", "A route has a name.", route="''")
check(DELIVERY, "delivery_route_check", "Not an endless one.", route="repeat('x', 61)")
check(DELIVERY, "delivery_subject_check", "It says what it is about.", subject="''")
check(DELIVERY, "delivery_subject_check", "In one line.", subject=LONG)
check(DELIVERY, "delivery_body_check", "A body has an end.", body="to_jsonb(repeat('x', 200001))")
check(DELIVERY, "delivery_about_check", "It is about something, or not.", about="''")
check(DELIVERY, "delivery_about_check", "Ids end.", about=LONG)
check(DELIVERY, "delivery_dedup_key_check", "A key is not empty.", dedup_key="''")
check(DELIVERY, "delivery_dedup_key_check", "Nor endless.", dedup_key=LONG)
check(DELIVERY, "delivery_origin_check", "Somebody known asks for it.", origin="'nobody'")
check(DELIVERY, "delivery_candidate", "A candidate is named.", origin="'candidate'")
check(DELIVERY, "delivery_candidate", "A person is none.", candidate_id=ID)
check(DELIVERY, "delivery_alert", "An alert is named.", origin="'alert'")
check(DELIVERY, "delivery_alert", "A person is none.", alert_id=ID)
check(DELIVERY, "delivery_instead", "What it stands in for is named.", origin="'fallback'")
check(DELIVERY, "delivery_instead", "A person's stands for itself.", instead_of=ID)
check(DELIVERY, "delivery_status_check", "A status is a listed one.", **DEAD | {"status": "'lost'"})
check(DELIVERY, "delivery_attempts_check", "Tries count from none.", attempts="-1")
check(DELIVERY, "delivery_next_try_at_check", "A wait ends.", next_try_at=INFINITE)
check(DELIVERY, "delivery_outcome_check", "An outcome is a listed one.", **DEAD | {"outcome": "'MAYBE'"})
check(DELIVERY, "delivery_last_failure_check", "A reason ends.", **DEAD | {"last_failure": "repeat('x', 4001)"})
check(DELIVERY, "delivery_created_at_check", "Times are times.", created_at=INFINITE)
check(DELIVERY, "delivery_updated_at_check", "Times are times.", updated_at=INFINITE)
check(DELIVERY, "delivery_ended_at_check", "Times are times.", **DEAD | {"ended_at": INFINITE})
check(DELIVERY, "delivery_ended", "What has ended did so at a time.", **TRIED, status="'dead'")
check(DELIVERY, "delivery_ended", "What waits has not ended.", ended_at=NOW)
check(DELIVERY, "delivery_delivered", "What is delivered was accepted.", **DEAD | {"status": "'delivered'"})
check(DELIVERY, "delivery_delivered", "What was accepted is delivered.", **DEAD | {"outcome": "'SUCCEEDED'"})
check(DELIVERY, "delivery_cancelled", "What is cancelled is over.", **TRIED | {"outcome": "'CANCELLED'"})
FALLBACK = {"origin": "'fallback'", "instead_of": ID}
key(DELIVERY, "delivery_stands_in", "One stands in for it.", "instead_of", first=FALLBACK, then=FALLBACK)
key(EVENT, "delivery_event_pkey", "A place is one event's.", "seq")
check(EVENT, "delivery_event_logged_at_check", "Times are times.", logged_at=INFINITE)
check(EVENT, "delivery_event_next_try_at_check", "Times are times.", next_try_at=INFINITE)
check(EVENT, "delivery_event_actor_check", "An actor is of a kind.", actor="'ghost'")

BORN = "recoup.rule_delivery_births"
SEND = (
    "insert into recoup.delivery (route, subject, body, dedup_key, origin, next_try_at, created_at, updated_at)"
    " select %s, 's', '{{}}', gen_random_uuid()::text, '{origin}', {due}, {at}, {at}"
)


def _send(*, origin: str = "operator", due: str = NOW, at: str = NOW) -> str:
    return SEND.format(origin=origin, due=due, at=at)


@law(DELIVERY, BORN, "insert")
def a_delivery_goes_somewhere(tx: Transaction) -> None:
    """No delivery is queued for a route that the policy has not."""
    refused(tx, _send(), ("nowhere",), who=OPERATOR, by=BORN, sqlstate="RC110", words="nowhere")


@law(DELIVERY, BORN, "insert")
def a_delivery_is_queued_now(tx: Transaction) -> None:
    """Not earlier, not later, and not in the name of a candidate."""
    earlier, later = "recoup.now() - interval '1 day'", "recoup.now() + interval '1 day'"
    for statement in (_send(at=earlier), _send(at=later), _send(due=later), _send(origin="heartbeat")):
        refused(tx, statement, ("log",), who=OPERATOR, by=BORN, sqlstate="RC111")


@law(DELIVERY, BORN, "insert")
def a_route_is_not_filled_without_end(tx: Transaction) -> None:
    """So many of people's deliveries wait for one route, and no more."""
    with quiet(tx, "recoup.delivery_queue"):
        tx.execute(
            "insert into recoup.delivery_queue (unit, part, wake_at)"
            " select gen_random_uuid(), 'log', recoup.now() from generate_series(1, 10000)"
        )
    refused(tx, _send(), ("log",), who=OPERATOR, by=BORN, sqlstate="RC112")


MOVED = "recoup.guard_delivery_moves"
FAILED = "attempts = attempts + 1, token = gen_random_uuid(), outcome = 'FAILED', updated_at = recoup.now()"
GIVEN_UP = "status = 'dead', ended_at = recoup.now()"


@law(DELIVERY, MOVED, "update")
def a_delivery_moves_as_its_tries_make_it(tx: Transaction) -> None:
    """Not given up while tries are left, not put off for ever, not failed without a reason, not ended by a wish."""
    made = claimed_delivery(tx).delivery_id
    with quiet(tx, DELIVERY, but=MOVED):  # so that it alone answers
        pass
    for who, change in (
        (EXECUTOR, f"{FAILED}, last_failure = 'no', {GIVEN_UP}"),
        (EXECUTOR, f"{FAILED}, last_failure = 'no', next_try_at = recoup.now() + interval '8 days'"),
        (EXECUTOR, f"{FAILED}"),
        (EXECUTOR, "next_try_at = recoup.now() + interval '1 hour', updated_at = recoup.now()"),
        (EXECUTOR, f"{FAILED.replace('+ 1', '+ 2')}, last_failure = 'no'"),
        (OPERATOR, f"{FAILED}, {GIVEN_UP}"),
        (OPERATOR, "outcome = 'CANCELLED', status = 'dead', updated_at = recoup.now(),"
                   " ended_at = recoup.now() - interval '1 hour'"),
    ):  # fmt: skip
        move = f"update recoup.delivery set {change} where delivery_id = %s"
        refused(tx, move, (made,), who=who, by=MOVED, sqlstate="RC113")


@law(DELIVERY, MOVED, "update")
def a_delivery_is_not_tried_without_end(tx: Transaction) -> None:
    """After the last try none follows."""
    made = claimed_delivery(tx, tried_delivery(tx, times=11)).delivery_id
    with quiet(tx, DELIVERY, but=MOVED):
        pass
    move = f"update recoup.delivery set {FAILED}, last_failure = 'no' where delivery_id = %s"
    refused(tx, move, (made,), who=EXECUTOR, by=MOVED, sqlstate="RC113", words="no tries left")


LOGGED = "select from recoup.delivery_event where delivery_id = %s and to_status = %s and authority = %s"


@law(DELIVERY, "recoup.record_deliveries", "insert")
def the_birth_of_a_delivery_is_logged(tx: Transaction) -> None:
    """With who queued it."""
    seen(tx, f"{LOGGED} and from_status is null", new_delivery(tx), "queued", OPERATOR.role)


@law(DELIVERY, "recoup.record_deliveries", "update")
def every_try_is_logged(tx: Transaction) -> None:
    """With its outcome and the token of its claim."""
    tried = f"{LOGGED} and from_status = 'queued' and token is not null and outcome = %s"
    seen(tx, tried, delivery_in(tx, "delivered"), "delivered", EXECUTOR.role, "SUCCEEDED")
    seen(tx, f"{tried} and reason = 'no'", tried_delivery(tx), "queued", EXECUTOR.role, "FAILED")
    seen(tx, tried, delivery_in(tx, "dead"), "dead", OPERATOR.role, "CANCELLED")


@law(DELIVERY, "recoup.fall_back_deliveries", "update")
def what_dies_goes_once_by_the_fallback_route(tx: Transaction) -> None:
    """In the same statement, unless a person cancelled it, or it is a fallback itself."""
    with acting(tx, OPERATOR):
        product.apply_policy(tx, '[deliveries]\nfallback_route = "ops"\n' + OPS, reason="a probe")
    claimed = claimed_delivery(tx, tried_delivery(tx, times=11))
    with acting(tx, EXECUTOR):
        delivering.finish(tx, [(claimed, "no")])
    seen(tx, "select from recoup.delivery where instead_of = %s and route = 'ops'", claimed.delivery_id)


@law("recoup.policy", "recoup.check_routes", "insert")
def no_policy_tells_a_secret(tx: Transaction) -> None:
    """Not even if the program's own check was passed by."""
    with quiet(tx, "recoup.policy", but="recoup.check_routes"):
        pass
    figures = (
        "(select jsonb_set(figures, '{deliveries,routes,log,url}', to_jsonb(%s::text)) from recoup.policy limit 1)"
    )
    statement = insertion(tx, "recoup.policy", {"figures": figures.replace("%s", "'https://example.com'")})
    refused(tx, statement, by="recoup.check_routes", sqlstate="RC114")
