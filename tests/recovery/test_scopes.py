"""A scope is a boundary: what it allows, how often, at what cost, until when; whichever way a start is tried."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from uuid import UUID

import psycopg
import pytest

import product
from company import acting, advance
from incidents import (
    MANUAL,
    NOTIFY,
    RETRY,
    START,
    Match,
    approve,
    end_scope,
    make_effect,
    new_match,
    new_scope,
    person,
    ready,
    start,
)
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.lifecycles.declaration import Authority
from recoup.recovery import executing, review, scopes
from recoup.settings import Settings

DEAR, CHEAP = "dear", "cheap"  # of four units, and of one
ACTIONS = "".join(
    f'\n[recovery.actions.{name}]\ntype = "fallback"\nis_automated = true\nrequires_approval = false\n'
    f"cost = {cost}\ntimeout_s = 60\n"
    for name, cost in ((DEAR, 4), (CHEAP, 1))
)
Scope = tuple[str, int, int]  # its status, and what was spent


@pytest.fixture(scope="module")
def own(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    """A database of this module's own: nobody else's candidates are claimed."""
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as connection:
        with connection.transaction(), acting(connection, Authority.OPERATOR):
            product.apply_policy(connection, product.shipped_document() + ACTIONS, reason="a test")
        yield connection


@pytest.fixture
def tx(own: Transaction) -> Iterator[Transaction]:
    with own.transaction(force_rollback=True):
        yield own


def claim(tx: Transaction, limit: int = 100) -> list[UUID]:
    with acting(tx, Authority.CLAIM_WORKER):
        return [one.candidate_id for one in executing.claim(tx, limit=limit, worker="w")]


def stands(tx: Transaction, scope: UUID) -> Scope:
    row = tx.execute(
        "select status, attempts_used, cost_used from recovery.scope where scope_id = %s", (scope,)
    ).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def several(tx: Transaction, match: Match, scope: UUID, *actions: str) -> list[UUID]:
    """Ready candidates of one incident, in this order."""
    return [ready(tx, new_match(tx, like=match), action, scope=scope) for action in actions]


def refusal(tx: Transaction, act: Callable[[], object]) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as refused, tx.transaction():
        act()
    return refused.value


def start_all(tx: Transaction, ids: list[UUID]) -> None:
    """As whoever has psql."""
    statement = (
        f"update recovery.candidate set {START} from (select recoup.now() as now_, gen_random_uuid() as token_) t"
    )
    statement = statement.replace("token = gen_random_uuid()", "token = t.token_")
    with acting(tx, Authority.CLAIM_WORKER):
        tx.execute(f"{statement} where candidate_id = any(%s)".encode(), (ids,))


def test_attempts_are_spent_oldest_first(tx: Transaction) -> None:
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, attempts=2)
    first, second, third = several(tx, match, scope, RETRY, RETRY, RETRY)
    assert sorted(claim(tx)) == sorted([first, second])
    assert stands(tx, scope) == ("exhausted", 2, 2)
    assert claim(tx) == []
    assert refusal(tx, lambda: start(tx, third)).sqlstate == "RC089"


def test_cost_is_spent_when_the_cheapest_allowed_action_no_longer_fits(tx: Transaction) -> None:
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, (DEAR,), cost=7)
    several(tx, match, scope, DEAR, DEAR)
    assert len(claim(tx)) == 1
    assert stands(tx, scope) == ("exhausted", 1, 4)
    other = new_match(tx)
    mixed = new_scope(tx, other.incident_id, (DEAR, CHEAP), cost=7)
    several(tx, other, mixed, DEAR)
    assert len(claim(tx)) == 1
    assert stands(tx, mixed) == ("active", 1, 4)  # a cheap one still fits


def test_several_candidates_of_one_scope_are_started_together(tx: Transaction) -> None:
    """Within its attempts and its cost; another scope is not affected."""
    match, other = new_match(tx), new_match(tx)
    scope = new_scope(tx, match.incident_id, (DEAR, CHEAP), attempts=3, cost=6)
    elsewhere = new_scope(tx, other.incident_id)
    dear, cheap, second, _ = several(tx, match, scope, DEAR, CHEAP, CHEAP, CHEAP)
    (free,) = several(tx, other, elsewhere, RETRY)
    assert sorted(claim(tx)) == sorted([dear, cheap, second, free])
    assert stands(tx, scope) == ("exhausted", 3, 6)
    assert stands(tx, elsewhere) == ("active", 1, 1)
    tokens = tx.execute("select count(distinct token), count(*) from recovery.lease where worker = 'w'").fetchone()
    assert tokens == (1, 1)


def test_a_dearer_one_than_is_left_does_not_stand_in_the_way(tx: Transaction) -> None:
    """It is left out before the limit, so a cheaper one behind it is started."""
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, (DEAR, CHEAP), cost=6)
    first, dear, cheap = several(tx, match, scope, DEAR, DEAR, CHEAP)
    assert claim(tx, limit=1) == [first]
    assert claim(tx, limit=1) == [cheap]
    assert stands(tx, scope) == ("active", 2, 5)
    assert claim(tx) == []
    assert "has 1 of 6 units left, and 4 are claimed" in str(refusal(tx, lambda: start(tx, dear)))


def test_what_does_not_fit_beside_others_waits_for_the_next_claim(tx: Transaction) -> None:
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, (DEAR, CHEAP), cost=6)
    first, _, cheap = several(tx, match, scope, DEAR, DEAR, CHEAP)
    done = claim(tx) + claim(tx)
    assert sorted(done) == sorted([first, cheap])


def test_approved_before_automatic_and_then_oldest_first(tx: Transaction) -> None:
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id)
    first, second, third, fourth = several(tx, match, scope, RETRY, RETRY, RETRY, RETRY)
    approve(tx, fourth)
    approve(tx, second)
    assert [claim(tx, limit=1) for _ in range(4)] == [[second], [fourth], [first], [third]]


def test_a_scope_expires_at_use(tx: Transaction) -> None:
    """Whether or not a sweep has seen it."""
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, ttl=60)
    automatic, approved = several(tx, match, scope, RETRY, RETRY)
    approve(tx, approved)
    advance(tx, timedelta(seconds=60))
    assert claim(tx) == []
    for one in (automatic, approved):
        assert refusal(tx, partial(start, tx, one)).sqlstate in ("RC080", "RC089")
    assert stands(tx, scope) == ("active", 0, 0)
    assert scopes.show(tx, scope).status == "expired"


def test_a_scope_that_is_revoked_while_a_candidate_is_executed(tx: Transaction) -> None:
    """Before its effect: no effect, failed, the attempt is spent, and nothing is learnt. After it: it goes on."""
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, (MANUAL, NOTIFY))
    started, awaiting = several(tx, match, scope, MANUAL, NOTIFY)
    with acting(tx, Authority.CLAIM_WORKER):
        claimed = {one.candidate_id: one for one in executing.claim(tx, limit=10, worker="w")}
    assert make_effect(tx, awaiting) == "made"
    with acting(tx, Authority.SCOPED_EXECUTION):
        told = {one.candidate_id: one.effect_made for one in scopes.revoke(tx, scope)}
    assert told == {started: False, awaiting: True}
    assert executing.make_effects(tx, [claimed[started]]) == ["SCOPE_REVOKED"]
    rows = tx.execute(
        "select status, error, teaches from recovery.candidate where candidate_id = any(%s) order by candidate_id",
        ([started, awaiting],),
    ).fetchall()
    assert rows == [("failed", "SCOPE_REVOKED", False), ("executing", None, True)]
    assert tx.execute("select count(*) from recovery.task where incident_id = %s", (match.incident_id,)).fetchone() == (
        0,
    )
    assert stands(tx, scope) == ("revoked", 2, 2)


def test_one_active_scope_for_an_incident_and_an_action(tx: Transaction) -> None:
    incident = new_match(tx).incident_id
    first = new_scope(tx, incident, (RETRY, NOTIFY), ttl=60)
    refused = refusal(tx, lambda: new_scope(tx, incident, (NOTIFY, MANUAL)))
    assert refused.sqlstate == "RC087"
    assert str(first) in str(refused)
    new_scope(tx, incident, (MANUAL,))
    new_scope(tx, new_match(tx).incident_id, (RETRY,))
    advance(tx, timedelta(seconds=60))  # expired, though nobody has swept it
    second = new_scope(tx, incident, (RETRY,))
    end_scope(tx, second, "revoked")
    new_scope(tx, incident, (RETRY,))


def test_a_scope_lasts_as_long_as_the_policy_allows_at_most(tx: Transaction) -> None:
    incident = new_match(tx).incident_id
    refused = refusal(tx, lambda: new_scope(tx, incident, ttl=604_801))
    assert (refused.sqlstate, "604800" in str(refused)) == ("RC087", True)
    new_scope(tx, incident, ttl=604_800)


def test_whoever_overspends_with_psql_is_refused_with_the_numbers(tx: Transaction) -> None:
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, (DEAR,), attempts=2, cost=100)
    ids = several(tx, match, scope, DEAR, DEAR, DEAR)
    refused = refusal(tx, lambda: start_all(tx, ids))
    assert refused.sqlstate == "RC089"
    assert "has 2 of 2 attempts left, and 3 are claimed" in str(refused)
    assert refused.diag.message_hint == "Open a new scope for its incident: recoup recovery scope open INCIDENT"
    other = new_match(tx)
    small = new_scope(tx, other.incident_id, (DEAR,), cost=7)
    refused = refusal(tx, lambda: start_all(tx, several(tx, other, small, DEAR, DEAR)))
    assert refused.sqlstate == "RC089"
    assert "has 7 of 7 units left, and 8 are claimed" in str(refused)
    assert (stands(tx, scope), stands(tx, small)) == (("active", 0, 0), ("active", 0, 0))
    start_all(tx, ids[:2])
    assert stands(tx, scope) == ("exhausted", 2, 8)


@pytest.mark.parametrize("who", [Authority.CLAIM_WORKER, Authority.SCOPED_EXECUTION, "recoup_owner", None], ids=str)
def test_what_was_spent_is_not_given_back(tx: Transaction, who: Authority | str | None) -> None:
    """RI-4: not by hand, not to any number, by nobody."""
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id)
    start(tx, ready(tx, match, scope=scope))
    for used in (0, 1, 2):

        def spend(used: int = used) -> None:
            with acting(tx, who):
                tx.execute("update recovery.scope set attempts_used = %s where scope_id = %s", (used, scope))

        assert (refusal(tx, spend).sqlstate or "")[:2] in ("RC", "42")
    assert stands(tx, scope) == ("active", 1, 1)


def test_more_approvals_than_a_scope_has_left_are_refused_with_both_numbers(tx: Transaction) -> None:
    """What was approved and not started counts as spent."""
    match = new_match(tx)
    scope = new_scope(tx, match.incident_id, (DEAR,), attempts=5, cost=11)
    first, second, third = map(str, several(tx, match, scope, DEAR, DEAR, DEAR))

    def answers(*ids: str) -> list[str | None]:
        with acting(tx, Authority.REVIEWER), person(tx, "ann"):
            return [answer.refused for answer in review.approve(tx, list(ids))]

    with acting(tx, Authority.REVIEWER), person(tx, "ann"):
        (told, *_) = review.approve(tx, [first, second, third])
    assert "5 attempts and 11 units left, and 3 candidates for 12 units" in str(told.happened)
    assert answers(first, second) == [None, None]
    assert answers(third) == ["scope_too_small"]
    assert sorted(map(str, claim(tx))) == sorted([first, second])
    assert stands(tx, scope) == ("exhausted", 2, 8)
