"""Keys: made once, shown once, rotated with an overlap, refused when they end; and never two people behind one name."""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest

from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused, LawRefused, Refusal
from recoup.service import keys
from recoup.service.acting import acting
from recoup.service.keys import Denied
from recoup.service.roles import APPROVES, EXECUTES, Role, authorities
from service.desk import Desk, new_name, together

HOUR = timedelta(hours=1)


def refused(desk: Desk, secret: str) -> str:
    keys.forget(desk.db)
    with pytest.raises(Denied) as refusal:
        keys.authenticate(desk.db, secret)
    assert len(secret) < 20 or secret[-20:] not in str(refusal.value.as_json())
    return refusal.value.code


def test_a_key_names_who_acts(desk: Desk) -> None:
    key = desk.key("operator", name="grace")
    who = desk.who(key)
    assert (who.key_id, who.name, who.role, who.hub) == (key.key_id, "grace", Role.OPERATOR, None)
    with acting(desk.db, who, Authority.OPERATOR) as tx:
        row = tx.execute("select current_user, recoup.acting_id(), recoup.acting_kind()").fetchone()
    assert row == ("recoup_operator", "grace", "human")


def test_what_is_no_key_is_unknown_in_the_same_words(desk: Desk) -> None:
    key = desk.key()
    other = key.secret[:-1] + ("A" if key.secret[-1] != "A" else "B")
    for secret in ("", "x", other, key.secret + "x", key.secret.upper(), "rcp_" + "a" * 8 + "_" + "a" * 43, "é" * 56):
        assert refused(desk, secret) == "key_unknown"
    assert desk.who_now(key).key_id == key.key_id


def test_no_secret_is_stored_or_shown(desk: Desk, server: object) -> None:
    key = desk.key()
    secret = key.secret.split("_", 2)[2]
    assert secret not in repr(key)
    with desk.db.transaction(Authority.READER) as tx:
        tables = [row[0] for row in tx.execute(
            "select c.oid::regclass::text from pg_class c where c.relkind = 'r'"
            " and c.relowner = 'recoup_owner'::regrole and has_table_privilege(c.oid, 'select')")]  # fmt: skip
        for table in tables:
            found = tx.execute(f"select count(*) from {table} t where t::text like %s", (f"%{secret}%",)).fetchone()
            assert found == (0,), table


def test_an_expired_and_a_revoked_key_are_refused(desk: Desk) -> None:
    short, gone = desk.key(lasts=HOUR), desk.key()
    desk.advance(timedelta(minutes=59))
    assert desk.who_now(short).name == short.name
    desk.advance(timedelta(minutes=1))
    assert refused(desk, short.secret) == "key_expired"
    with desk.managing() as tx:
        keys.revoke(tx, gone.name)
    assert refused(desk, gone.secret) == "key_revoked"
    with desk.managing() as tx, pytest.raises(LawRefused, match="is revoked"):
        keys.revoke(tx, gone.prefix)
    with desk.managing() as tx, pytest.raises(LawRefused, match="is expired") as told:
        keys.rotate(tx, short.name)
    assert f"recoup keys revoke {short.name}" in told.value.next_step  # its name is free after that, and not before
    with desk.managing() as tx:
        keys.revoke(tx, short.name)
        assert keys.add(tx, short.name, "operator").name == short.name


def test_a_revoked_key_is_refused_within_two_seconds_elsewhere(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    key, now = desk.key(), [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert desk.who(key).name == key.name
    with desk.managing() as tx:
        keys.revoke(tx, key.key_id)
    assert desk.who(key).name == key.name  # a moment ago it was valid
    now[0] += 2
    with pytest.raises(Denied, match="is revoked"):
        desk.who(key)


def test_the_old_key_stays_valid_for_the_overlap(desk: Desk) -> None:
    old = desk.key("producer")
    with desk.managing() as tx:
        new = keys.rotate(tx, old.name, overlap=HOUR)
    assert new.secret != old.secret
    assert desk.who_now(old).id == desk.who_now(new).id
    with desk.managing() as tx:
        assert [one.status for one in keys.listed(tx)][:2] == ["active", "replaced"]
    desk.advance(HOUR)
    assert refused(desk, old.secret) == "key_expired"
    assert desk.who_now(new).role is Role.PRODUCER
    with desk.managing() as tx:  # the newest, whatever name it is called by
        assert [one.key_id for one in keys.revoke(tx, new.name)] == [new.key_id, old.key_id]


def test_two_rotations_at_once_make_one_new_key(desk: Desk) -> None:
    old = desk.key()

    def rotate() -> UUID:
        with desk.managing() as tx:
            return keys.rotate(tx, old.key_id).key_id

    ended = together(*[rotate] * 4)
    assert [isinstance(one, UUID) for one in ended].count(True) == 1
    assert {one.code for one in ended if isinstance(one, Refusal)} <= {"key_replaced", "key_ended"}
    assert desk.who_now(old).name == old.name


def test_a_name_has_one_key(desk: Desk) -> None:
    key = desk.key(name=(name := new_name()))
    with pytest.raises(LawRefused, match="active key of this name"), desk.managing() as tx:
        keys.add(tx, name, "admin")
    with desk.managing() as tx:
        keys.revoke(tx, key.key_id)
    assert desk.key(name=name).key_id != key.key_id


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": ""}, "key_name"),
        ({"name": "x" * 101}, "key_name"),
        ({"name": "a\nb"}, "key_name"),
        ({"role": "root"}, "key_role"),
        ({"role": "local"}, "key_role"),
        ({"hub": "nowhere"}, "hub_unknown"),
        ({"role": "admin", "hub": "nowhere"}, "key_scoped"),
        ({"expires": timedelta(0)}, "key_valid"),
        ({"expires": timedelta(days=4000)}, "key_valid"),
    ],
)
def test_what_makes_no_key_is_refused(desk: Desk, given: dict[str, object], code: str) -> None:
    whole = {"name": new_name(), "role": "viewer", **given}
    with pytest.raises(InputRefused) as refusal, desk.managing() as tx:
        keys.add(tx, **whole)  # type: ignore[arg-type]
    assert refusal.value.code == code


def test_only_a_key_manager_makes_keys(desk: Desk) -> None:
    for authority in Authority:
        if authority is Authority.KEY_MANAGER:
            continue
        with pytest.raises((Refusal, psycopg.Error)), desk.db.transaction(authority) as tx:
            keys.add(tx, new_name(), "admin")


def test_the_database_keeps_the_rules_of_keys(desk: Desk) -> None:
    """Whoever has the authority, and writes SQL: no longer life, no other role, no other name."""
    key = desk.key(lasts=HOUR)
    for change in (
        "update recoup.api_key set expires_at = expires_at + interval '1 day' where key_id = %s",
        "update recoup.api_key set expires_at = null where key_id = %s",
        "update recoup.api_key set role = 'admin' where key_id = %s",
        "update recoup.api_key set secret_hash = sha256('x') where key_id = %s",
        "delete from recoup.api_key where key_id = %s",
        "insert into recoup.api_key (name, role, prefix, secret_hash, created_by, replaces) select 'eve', 'admin',"
        " 'aaaaaaaa', sha256('x'), recoup.acting_id(), %s",
        "insert into recoup.api_key (name, role, prefix, secret_hash, created_by) select 'eve' || %s, 'admin',"
        " 'aaaaaaaa', sha256('x'), 'somebody else'",
    ):
        with pytest.raises((Refusal, psycopg.Error)), desk.managing() as tx:
            tx.execute(change, (key.key_id,))


def test_use_is_written_once_a_minute(desk: Desk) -> None:
    key = desk.key()

    def last() -> object:
        with desk.db.transaction(Authority.READER) as tx:
            return tx.execute("select last_used_at from recoup.api_key_use where key_id = %s", (key.key_id,)).fetchall()

    assert last() == []
    desk.who_now(key)
    first = last()
    desk.advance(timedelta(seconds=30))
    desk.who_now(key)
    assert last() == first != []
    desk.advance(timedelta(seconds=31))
    desk.who_now(key)
    assert last() != first


# Roles ----------------------------------------------------------------------------------------------------------------


def test_no_role_both_approves_and_executes() -> None:
    """Nor does anybody without a key: what executes is in no role at all."""
    for role in Role:
        assert not authorities(role) & EXECUTES, role
    assert [role for role in Role if authorities(role) & APPROVES] == [Role.REVIEWER, Role.LOCAL]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.LOCAL])
def test_a_role_acts_in_its_authorities_and_no_other(desk: Desk, role: Role) -> None:
    who = desk.caller(role)
    for authority in Authority:
        allowed = authority in authorities(role)
        with (
            contextlib.nullcontext() if allowed else pytest.raises(Denied, match="may not act"),
            acting(desk.db, who, authority) as tx,
        ):
            assert tx.execute("select current_user::text").fetchone() == (authority.role,)
