"""Requests that are repeated, rates, denied calls and sessions."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest

from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused
from recoup.service import denied, idempotency, keys, sessions
from recoup.service.acting import acting
from recoup.service.duties import DUTIES
from recoup.service.idempotency import Stored, answered, once
from recoup.service.keys import Denied
from recoup.service.limits import Limiter, RateLimited
from recoup.service.principal import Principal, local
from recoup.service.roles import Role
from service.desk import Desk, new_name, together

BODY = idempotency.digest(b"{}")


def request(desk: Desk, who: Principal, key: str, body: bytes = b"{}", **more: object) -> Stored | int:
    with acting(desk.db, who, Authority.OPERATOR) as tx:
        stored = once(tx, who, key, "POST", "/v1/things", idempotency.digest(body))
        if stored is not None:
            return stored
        answered(tx, who, key, status=201, answer='{"made": 1}', **more)  # type: ignore[arg-type]
    return 201


def test_the_same_request_gets_the_same_answer(desk: Desk) -> None:
    who, key = desk.caller("operator"), new_name()
    assert request(desk, who, key) == 201
    assert request(desk, who, key) == Stored(201, '{"made": 1}')
    with pytest.raises(LawRefused) as refusal:
        request(desk, who, key, b'{"other": 1}')
    assert refusal.value.code == "idempotency_key_reused"
    assert request(desk, desk.caller("operator"), key) == 201  # another caller's key is another


def test_a_rotated_key_is_the_same_caller(desk: Desk) -> None:
    old, key = desk.key("operator"), new_name()
    assert request(desk, desk.who(old), key) == 201
    with desk.managing() as tx:
        new = keys.rotate(tx, old.key_id)
    assert isinstance(request(desk, desk.who(new), key), Stored)


def test_a_key_of_another_hub_is_another_caller() -> None:
    """Made later under the same name, it gets none of the answers of the first."""
    one, other, whole = (Principal(key_id=None, name="loader", role=Role.PRODUCER, hub=hub) for hub in ("a", "b", None))
    assert len({one.id, other.id, whole.id}) == 3


def test_what_rolled_back_was_not_answered(desk: Desk) -> None:
    who, key = desk.caller("operator"), new_name()
    with pytest.raises(ZeroDivisionError), acting(desk.db, who, Authority.OPERATOR) as tx:
        assert once(tx, who, key, "POST", "/v1/things", BODY) is None
        answered(tx, who, key, status=200, answer="{}")
        raise ZeroDivisionError
    assert request(desk, who, key) == 201


def test_a_failure_of_ours_is_never_stored(desk: Desk) -> None:
    who, key = desk.caller("operator"), new_name()
    with pytest.raises(AssertionError), acting(desk.db, who, Authority.OPERATOR) as tx:
        once(tx, who, key, "POST", "/v1/things", BODY)
        answered(tx, who, key, status=500, answer="{}")
    assert request(desk, who, key) == 201


@pytest.mark.parametrize("answer", [{"secret": True, "about": "7f3c"}, {"answer": "x" * 1_000_001, "about": "7f3c"}])
def test_an_answer_with_a_secret_is_not_repeated(desk: Desk, answer: dict[str, object]) -> None:
    who, key = desk.caller("operator"), new_name()
    with acting(desk.db, who, Authority.OPERATOR) as tx:
        assert once(tx, who, key, "POST", "/v1/keys", BODY) is None
        answered(tx, who, key, **{"status": 201, "answer": "S3CR3T"} | answer)  # type: ignore[arg-type]
    with pytest.raises(LawRefused) as refusal, acting(desk.db, who, Authority.OPERATOR) as tx:
        once(tx, who, key, "POST", "/v1/keys", BODY)
    assert (refusal.value.code, refusal.value.facts["about"]) == ("answer_not_kept", "7f3c")
    with pytest.raises(LawRefused, match="permission denied"), desk.db.transaction(Authority.READER) as tx:
        tx.execute("select answer from recoup.idempotency")


@pytest.mark.parametrize("key", ["", "x" * 256, "a\0b", "a\nb"])
def test_a_malformed_key_is_refused(desk: Desk, key: str) -> None:
    with pytest.raises(InputRefused, match="idempotency key"):
        request(desk, desk.caller("operator"), key)


def test_equal_requests_at_once_have_one_effect(desk: Desk) -> None:
    """The others wait until the first has ended, and get its answer; if it rolls back, one takes its place."""
    who, key = desk.caller("operator"), new_name()
    failed = threading.Event()

    def send(number: int) -> str:
        try:
            with acting(desk.db, who, Authority.OPERATOR) as tx:
                stored = once(tx, who, key, "POST", "/v1/things", BODY)
                if stored is not None:
                    return stored.answer
                time.sleep(0.05)
                if not failed.is_set():
                    failed.set()
                    raise ZeroDivisionError
                answered(tx, who, key, status=200, answer=str(number))
                return "effect"
        except ZeroDivisionError:
            return "failed"

    counted = Counter(together(*[partial(send, number) for number in range(4)]))
    assert counted.pop("failed") == 1
    assert counted.pop("effect") == 1
    assert list(counted.values()) == [2]  # one answer, to both others


def test_midnight_does_not_make_two(desk: Desk) -> None:
    who, key = desk.caller("operator"), new_name()
    assert request(desk, who, key) == 201
    for _ in range(4):
        desk.advance(timedelta(hours=5))
        assert isinstance(request(desk, who, key), Stored)
    desk.advance(timedelta(hours=5))
    assert request(desk, who, key) == 201  # a day later it is another request


def test_old_days_are_emptied(desk: Desk) -> None:
    who = desk.caller("operator")
    request(desk, who, "kept for a day")
    desk.advance(timedelta(days=2, hours=1))
    request(desk, who, "kept")
    (cleanup,) = DUTIES
    assert cleanup.batch is not None
    with desk.db.transaction(Authority.SERVICE) as tx:
        tx.execute("select recoup.drop_old_requests()")
        assert tx.execute("select recoup.drop_old_requests()").fetchone() == (0,)
        left = tx.execute("select key from recoup.idempotency where principal = %s", (who.id,)).fetchall()
    assert left == [("kept",)]


# Rates ----------------------------------------------------------------------------------------------------------------


def test_two_processes_share_a_bucket(desk: Desk) -> None:
    """A caller sends the burst and no more, however many processes it is spread over."""
    who = desk.caller()
    processes = [Limiter(desk.db, rate_per_s=10, burst=25) for _ in range(2)]
    sent, refusals = 0, []
    for number in range(60):
        try:
            processes[number % 2].take(who)
            sent += 1
        except RateLimited as refusal:
            refusals.append(refusal)
    assert 25 <= sent <= 29  # and what came back meanwhile
    assert {(one.code, one.retry_after_s) for one in refusals} == {("rate_limited", 1)}
    Limiter(desk.db, rate_per_s=10, burst=25).take(desk.caller())  # another's bucket is full


def test_most_requests_ask_no_database(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    who, limiter = desk.caller(), Limiter(desk.db, rate_per_s=1000, burst=5000)
    taken, asked = limiter._taken, []

    def counted(principal: str) -> tuple[int, float]:
        asked.append(principal)
        return taken(principal)

    monkeypatch.setattr(limiter, "_taken", counted)
    for _ in range(500):
        limiter.take(who)
    assert len(asked) <= 2


# Denied calls ---------------------------------------------------------------------------------------------------------


def test_strangers_cannot_fill_a_table(desk: Desk) -> None:
    """However many addresses and prefixes they make up: a bounded number of rows, and every call is counted."""
    key = desk.key()
    counted = denied.Counted(desk.db, rows_per_minute=20)
    for number in range(3000):
        counted.add("key_unknown", address=f"10.{number // 250}.{number % 250}.7", secret=f"rcp_{number:08}_x")
    counted.add("key_expired", address="2001:db8:1:2::3", secret=key.secret)
    assert counted.write() == 3001
    assert counted.write() == 0
    with desk.db.transaction(Authority.READER) as tx:
        rows = denied.listed(tx, limit=1000)
    assert len(rows) <= 2 * 23  # the minute may have changed
    assert sum(row.calls for row in rows) == 3001
    assert {row.key_prefix for row in rows} <= {"", key.prefix}


def test_a_network_is_kept_and_no_address() -> None:
    assert denied.network("192.0.2.77") == "192.0.2.0/24"
    assert denied.network("2001:db8:1:2::3%eth0") == "2001:db8:1::/48"
    assert denied.network("::ffff:192.0.2.77") == "192.0.2.0/24"
    assert [denied.network(text) for text in (None, "", "testclient", "x" * 1000)] == ["unknown"] * 4


# Sessions -------------------------------------------------------------------------------------------------------------


def test_a_session_ends_with_its_key(desk: Desk) -> None:
    key = desk.key("reviewer")
    opened = sessions.open_session(desk.db, desk.who(key))
    who = sessions.session_of(desk.db, opened.token)
    assert (who.key_id, who.role, who.name, who.session_id) == (key.key_id, Role.REVIEWER, key.name, opened.session_id)
    with desk.managing() as tx:
        keys.revoke(tx, key.key_id)
    with pytest.raises(Denied, match="has ended"):
        sessions.session_of(desk.db, opened.token)


def test_a_session_ends_after_its_time_or_when_it_is_closed(desk: Desk) -> None:
    one, two = (sessions.open_session(desk.db, local("ada")) for _ in range(2))
    sessions.close(desk.db, one.session_id)
    desk.advance(timedelta(hours=11))
    assert sessions.session_of(desk.db, two.token).role is Role.LOCAL
    desk.advance(timedelta(hours=1))
    for ended in (one.token, two.token, "", "x", "x" * 43):
        with pytest.raises(Denied, match="has ended"):
            sessions.session_of(desk.db, ended)
    (cleanup,) = DUTIES
    with desk.db.transaction(Authority.SERVICE) as tx:
        assert (cleanup.lag(tx) or 0) >= 0
        assert cleanup.batch is not None
        tx.execute("delete from recoup.session where expires_at <= recoup.now()")


def test_a_link_works_once(desk: Desk) -> None:
    link = sessions.new_link(desk.db, local("ada"))
    with pytest.raises(Denied):
        sessions.session_of(desk.db, link.token)  # a link is no session

    def use() -> sessions.Opened | None:
        try:
            return sessions.use_link(desk.db, link.token)
        except Denied:
            return None

    (opened,) = [one for one in together(*[use] * 4) if one is not None]
    assert sessions.session_of(desk.db, opened.token).name == "ada"
    late = sessions.new_link(desk.db, local("ada"))
    desk.advance(timedelta(minutes=10))
    with pytest.raises(Denied, match="has expired"):
        sessions.use_link(desk.db, late.token)


def test_a_csrf_token_belongs_to_its_session(desk: Desk) -> None:
    one, two = (sessions.open_session(desk.db, local("ada")).token for _ in range(2))
    assert sessions.is_csrf_token(one, sessions.csrf_token(one))
    assert not sessions.is_csrf_token(one, sessions.csrf_token(two))
    assert one not in sessions.csrf_token(one)
