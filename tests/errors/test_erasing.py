"""A secret that was recorded is erased, live or archived; texts lose something by it, and gain nothing."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from hub import DOL, LOG, SECOND, Hub, NewHub
from product import chosen
from recoup.audit.examine import examine
from recoup.errors import erasing, parking
from recoup.errors.lookup import ErrorKey
from recoup.errors.vocabulary import Category
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused

WORD = "swordfish"  # nothing tells that it is one


def erase(hub: Hub, error: int, secret: str | None = WORD, table: str = DOL) -> erasing.Erased:
    with hub.db.transaction(Authority.OPERATOR, reason="it was in the message") as tx:
        (erased,) = erasing.erase(tx, [ErrorKey(table, error)], secret)
    return erased


def told(hub: Hub, error: int) -> list[Any]:
    return hub.rows(
        "select reason, authority, (facts ->> 'error_id')::bigint from recoup.control_log"
        " where subject = 'recoup.error_redaction' and facts ->> 'error_id' = %s",
        str(error),
    )


def with_secret(hub: Hub) -> int:
    """In all three texts."""
    payload = {"note": f"tell {WORD}", "list": [WORD, 1], "kept": "x"}
    error = hub.record(f"login with {WORD} failed", payload=payload, category=Category.TRANSIENT)
    hub.advance(2 * SECOND)
    hub.fail(hub.claim_one(error), f"{WORD} again")
    return error


def test_it_is_gone_from_the_live_row_and_the_log_says_who_and_why(hub: Hub) -> None:
    error = with_secret(hub)
    before, events = hub.row(error), hub.events(error)
    erased = erase(hub, error)
    assert erased == (DOL, error, ("error_message", "payload", "last_failure"), 1)
    row = hub.row(error)
    assert row == before | {
        "error_message": "login with [redacted] failed",
        "payload": {"note": "tell [redacted]", "list": ["[redacted]", 1], "kept": "x"},
        "last_failure": "[redacted] again",
    }
    assert hub.events(error) == events  # nothing moved
    assert told(hub, error) == [("it was in the message", "recoup_operator", error)]
    assert erase(hub, error) == (DOL, error, (), 1)
    assert len(told(hub, error)) == 1


@pytest.mark.parametrize("swept", [False, True], ids=["resolved", "archived"])
def test_it_is_gone_from_what_is_over(hub: Hub, swept: bool) -> None:
    error = with_secret(hub)
    with hub.db.transaction(Authority.OPERATOR, reason="done") as tx:
        parking.resolve(tx, [ErrorKey(DOL, error)])
    if swept:
        hub.sweep_all()
    before = hub.row(error, archived=swept)
    assert erase(hub, error).erased
    row = hub.row(error, archived=swept)
    assert WORD not in str(row)
    assert {name for name in row if row[name] != before[name]} == {"error_message", "payload", "last_failure"}


@pytest.mark.parametrize("secret", ["Grüße-Geheim9", 'a"b\\c', "пароль 9"])
def test_it_is_gone_from_the_payload_whatever_its_letters(hub: Hub, secret: str) -> None:
    error = hub.record(f"with {secret}", payload={"note": f"was {secret}."})
    assert erase(hub, error, secret).erased == ("error_message", "payload")
    assert hub.row(error)["payload"] == {"note": "was [redacted]."}


def test_it_is_gone_from_keys_in_whatever_order_they_are_then(hub: Hub) -> None:
    long = "swordfish-of-the-seven-seas"
    error = hub.record("x", payload={"zz": 1.5, long: {"a": [long]}, "sixteen-letters": 3})
    assert erase(hub, error, long).erased == ("payload",)
    assert hub.row(error)["payload"] == {"zz": 1.5, "[redacted]": {"a": ["[redacted]"]}, "sixteen-letters": 3}


def test_what_is_known_by_now_is_erased_without_being_given(hub: Hub) -> None:
    """As when a newer list knows what an older one did not, or somebody wrote the row by SQL."""
    error = hub.record("x", table=LOG, outreach_id=None, payload={"a": 1})
    with hub.db.transaction(Authority.OPERATOR, reason="a test") as tx:
        assert erasing.erase(tx, [ErrorKey(LOG, error)])[0].erased == ()
    with hub.db.transaction(Authority.HUB) as tx:
        columns = "error_message, error_signature, category, disposition, status, ttl_tier, expires_at, max_retries"
        rest = "decided_by, policy_version, created_at, updated_at"
        (other,) = tx.execute(
            f"insert into recoup.error (error_table, {columns}, {rest}, payload) select error_table,"
            f" 'password=hunter2', {columns.partition(',')[2]}, decided_by, policy_version, recoup.now(), recoup.now(),"
            ' \'{"pwd": {"a": 1}}\' from recoup.error where error_id = %s returning error_id',
            (error,),
        ).fetchone() or (0,)
    assert erase(hub, other, None, LOG).erased == ("error_message", "payload")
    assert (hub.row(other)["error_message"], hub.row(other)["payload"]) == (
        "password=[redacted]",
        {"pwd": "[redacted]"},
    )


def test_keys_of_ones_own_are_erased_from_what_was_recorded_before_they_were_listed(hub: Hub) -> None:
    error = hub.record("x", payload={"base_salary": "81,000", "kept": 1})
    hub.apply_policy('[errors]\nredact_keys = ["salary"]')
    assert erase(hub, error, None).erased == ("payload",)
    assert hub.row(error)["payload"] == {"base_salary": "[redacted]", "kept": 1}


REDACT = (
    "insert into recoup.error_redaction"
    " (error_table, error_id, error_message, payload, last_failure, digest, redacted_at)"
    " values (%(table)s, %(id)s, %(message)s, %(payload)s::jsonb, %(failure)s,"
    " recoup.redaction_digest(%(message)s, %(payload)s::jsonb, %(failure)s), recoup.now())"
)


@pytest.mark.parametrize(
    "more",
    [
        {"message": "something else"}, {"message": "[redacted]x"}, {"payload": '{"note": "other [redacted]"}'},
        {"payload": None}, {"failure": None}, {"failure": "[redacted] again and again"}, {"id": 2**62},
        {"message": "login failed"},
        {"payload": '{"kept": "x", "list": ["[redacted]"], "note": "tell swordfish"}'},
        {"payload": '{"list": "[redacted]", "note": "tell swordfish"}'},
        {"payload": '{"kept": "x", "list": ["swordfish", 1, "[redacted]"], "note": "tell swordfish"}'},
        {"payload": '{"kept": "[redacted]tell swordfish"}'},
    ],
    ids=["other", "longer", "payload", "no payload", "no failure", "added", "unknown", "without a mark",
         "out of a list", "a key less", "a longer list", "under another key"],
)  # fmt: skip
def test_nothing_is_added_and_nothing_vanishes_without_a_mark(hub: Hub, more: dict[str, Any]) -> None:
    error = with_secret(hub)
    row = hub.row(error)
    same = {"table": DOL, "id": error, "message": row["error_message"], "failure": row["last_failure"]}
    same["payload"] = '{"note": "tell swordfish", "list": ["swordfish", 1], "kept": "x"}'
    with pytest.raises(LawRefused) as refused, hub.db.transaction(Authority.OPERATOR) as tx:
        tx.execute(REDACT, same | more)
    assert refused.value.code == "redaction"


@pytest.mark.parametrize("authority", [Authority.HUB, Authority.ERROR_WORKER, Authority.ARCHIVER, Authority.READER])
def test_nobody_but_an_operator_erases(hub: Hub, authority: Authority) -> None:
    error = with_secret(hub)
    with pytest.raises(LawRefused, match="no right"), hub.db.transaction(authority) as tx:
        tx.execute(REDACT, {"table": DOL, "id": error, "message": "[redacted]", "payload": None, "failure": None})


def test_texts_stay_for_everybody_who_writes_them_by_hand(hub: Hub) -> None:
    error = with_secret(hub)
    for change in ("error_message = '[redacted]'", "payload = '{}'"):
        with pytest.raises(LawRefused, match="no right"):
            hub.operate(change, error)


def test_what_is_too_short_is_refused(hub: Hub) -> None:
    with pytest.raises(InputRefused, match="too short"):
        erase(hub, with_secret(hub), "a")


def test_an_audit_finds_nothing(new_hub: NewHub) -> None:
    hub = new_hub()
    error = with_secret(hub)
    erase(hub, error)
    with hub.db.transaction(Authority.OPERATOR, reason="done") as tx:
        parking.resolve(tx, [ErrorKey(DOL, error)])
    hub.sweep_all()
    erase(hub, with_secret(hub))
    with hub.db.transaction(Authority.READER) as tx:
        verdicts = examine(tx, chosen([]))
    assert {verdict.id: verdict.rows for verdict in verdicts if not verdict.holds} == {}


def wait_for_waiting(hub: Hub, work: Future[Any]) -> None:
    until = time.monotonic() + 20
    while hub.rows("select count(*) from pg_locks where not granted") == [(0,)]:
        assert not work.done(), work.result()
        assert time.monotonic() < until, "nobody waits"
        time.sleep(0.01)


def over(hub: Hub) -> int:
    error = hub.record("both swordfish and marlinspike")
    with hub.db.transaction(Authority.OPERATOR, reason="done") as tx:
        parking.resolve(tx, [ErrorKey(DOL, error)])
    return error


def test_two_who_erase_from_the_archive_at_once_bring_nothing_back(hub: Hub) -> None:
    error = over(hub)
    hub.sweep_all()
    with ThreadPoolExecutor(1) as aside:
        with hub.db.transaction(Authority.OPERATOR, reason="first") as tx:
            erasing.erase(tx, [ErrorKey(DOL, error)], WORD)
            second = aside.submit(erase, hub, error, "marlinspike")
            wait_for_waiting(hub, second)
        with pytest.raises(LawRefused, match=r"at the same moment|nothing may be added"):
            second.result(20)
    assert hub.row(error, archived=True)["error_message"] == "both [redacted] and marlinspike"
    assert erase(hub, error, "marlinspike").erased == ("error_message",)


def test_what_is_archived_while_it_is_waited_for_is_erased_there(hub: Hub) -> None:
    error = over(hub)
    with ThreadPoolExecutor(1) as aside:
        with hub.db.transaction(Authority.ARCHIVER) as tx:
            tx.execute("delete from recoup.error where error_id = %s", (error,))
            erased = aside.submit(erase, hub, error)
            wait_for_waiting(hub, erased)
        assert erased.result(20).erased == ("error_message",)
    assert hub.row(error, archived=True)["error_message"] == "both [redacted] and marlinspike"


def test_an_error_is_redacted_once_in_a_statement(hub: Hub) -> None:
    error = hub.record("both swordfish and marlinspike")
    given = {"table": DOL, "id": error, "payload": None, "failure": None, "message": "both [redacted] and marlinspike"}
    twice = REDACT.replace("values", "select t.* from (values") + ") t, generate_series(1, 2)"
    with pytest.raises(LawRefused, match="named twice"), hub.db.transaction(Authority.OPERATOR) as tx:
        tx.execute(twice, given)
