"""Keys of the API: made, rotated and revoked by people who may; checked at every call."""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from recoup.database.connection import Database, Transaction
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.policy.section import one_of
from recoup.refusals import InputRefused, LawRefused, Refusal
from recoup.service import secrets
from recoup.service.policy import ServicePolicy
from recoup.service.principal import OWN, Principal
from recoup.service.roles import Role

Q = load("recoup.service", "keys.sql")
KEYED = tuple(role for role in Role if role is not Role.LOCAL)
# How long an authenticated key is not asked for again: a revoked one is refused after this.
CACHED_S = 1.0
MAX_CACHED = 10_000
MAX_NAME_BYTES = 100
LONGEST = timedelta(days=3650)
NEVER_USED = b"\0" * 32  # the hash that an unknown key is compared with


class Denied(Refusal):
    """The caller is not who they say, or may not do this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made. Its secret is here and nowhere else."""

    key_id: UUID
    name: str
    role: Role
    hub: str | None
    prefix: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key, without its secret."""

    key_id: UUID
    name: str
    role: str
    hub: str | None
    prefix: str
    status: str  # active, replaced, expired or revoked
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    ended_at: datetime | None


def add(
    tx: Transaction,
    name: str,
    role: Role | str,
    *,
    hub: str | None = None,
    expires: datetime | timedelta | None = None,
) -> NewKey:
    """Make a key. ``expires``: a time, or for how long it is valid; None: until it is revoked. As key_manager."""
    _check_name(name)
    wanted = _role(role)
    if hub is not None:
        _check_hub(tx, wanted, hub)
    if isinstance(expires, timedelta) and not timedelta(0) < expires <= LONGEST:
        raise InputRefused("key_valid", "A key is valid for up to ten years.", "Write for example: --expires 90d")
    return _made(tx, name=name, role=wanted, hub=hub, replaces=None, expires=expires)


def rotate(tx: Transaction, key: str | UUID, *, overlap: timedelta | None = None) -> NewKey:
    """Replace a key by a new one of the same name, role and hub. The old one stays valid for ``overlap``.

    The new one is valid until the same time as the old one was; one without a limit has none.
    """
    old = _one(tx, key, of=("active",))
    if overlap is None:
        overlap = timedelta(hours=versions.active(tx).policy[ServicePolicy].overlap_hours)
    if not timedelta(0) <= overlap <= timedelta(days=30):
        raise InputRefused("key_overlap", "The old key stays valid for up to 30 days.", "Write for example: 24h")
    # Not zero: a key never ends at the instant at which it began, and the new one is to be in use by then.
    given = {"key_id": old.key_id, "overlap": max(overlap, timedelta(milliseconds=1))}
    if tx.execute(Q["replace"], given).fetchone() is None:
        raise LawRefused(
            "key_replaced", f"The key {old.prefix} of {old.name} was replaced meanwhile.", "See: recoup keys list",
            key_id=str(old.key_id),
        )  # fmt: skip
    return _made(
        tx, name=old.name, role=Role(old.role), hub=old.hub, replaces=old.key_id, expires=old.expires_at
    )  # fmt: skip


def revoke(tx: Transaction, key: str | UUID) -> list[Key]:
    """Revoke a key; by name also those that it replaced. Its sessions and streams end with it."""
    found = _found(tx, key)
    open_ = [one for one in found if one.status != "revoked"]
    if not open_:
        raise LawRefused(
            "key_ended", f"The key {found[0].prefix} of {found[0].name} is revoked.", "There is nothing to do.",
            key_id=str(found[0].key_id),
        )  # fmt: skip
    tx.execute(Q["revoke"], {"ids": [one.key_id for one in open_]})
    return open_


def listed(tx: Transaction, *, all: bool = False, after: UUID | None = None, limit: int = 100) -> list[Key]:
    """Keys, newest first: those that are valid, or all. Without secrets."""
    given = {"all": all, "after": after, "limit": limit}
    return [_key(row) for row in tx.execute(Q["listed"], given)]


def exist(database: Database) -> bool:
    """Whether there is a key that is valid: without, the service answers on its own machine only."""
    with database.one_statement(Authority.SERVICE, actor=OWN) as tx:
        return tx.execute(Q["exists"]).fetchone() == (True,)


def authenticate(database: Database, secret: str) -> Principal:
    """Whose key this is. Refuses one that is unknown, expired or revoked."""
    prefix = secrets.prefix_of(secret)
    if prefix is None:
        raise _unknown()
    cache, hashed = _cache(database), secrets.hashed(secret)
    known = cache.get(hashed)
    if known is None:
        known = _authenticated(database, prefix, hashed)
        cache.put(hashed, known)
    return known


def forget(database: Database) -> None:
    """Ask for every key again: one was revoked in this process."""
    _cache(database).clear()


# What is behind them -------------------------------------------------------------------------------------------------


class _Cache:
    """Keys that were authenticated a moment ago. Unknown ones are not kept: strangers cannot fill it."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, hashed: bytes) -> Principal | None:
        with self._lock:
            until, known = self._known.get(hashed, (0.0, None))
            return known if time.monotonic() < until else None

    def put(self, hashed: bytes, known: Principal) -> None:
        with self._lock:
            self._known[hashed] = time.monotonic() + CACHED_S, known
            self._known.move_to_end(hashed)
            while len(self._known) > MAX_CACHED:
                self._known.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._known.clear()


_CACHES: WeakKeyDictionary[Database, _Cache] = WeakKeyDictionary()
_CACHES_LOCK = threading.Lock()


def _cache(database: Database) -> _Cache:
    with _CACHES_LOCK:
        return _CACHES.setdefault(database, _Cache())


def _authenticated(database: Database, prefix: str, hashed: bytes) -> Principal:
    with database.one_statement(Authority.SERVICE, actor=OWN) as tx:
        row = tx.execute(Q["authenticate"], {"prefix": prefix}).fetchone()
    if row is None:
        secrets.same(NEVER_USED, hashed)
        raise _unknown()
    key_id, name, role, hub, stored, status, expired, unseen = row
    if not secrets.same(bytes(stored), hashed):
        raise _unknown()
    if status != "active":
        raise Denied("key_revoked", f"The key {prefix} of {name} is revoked.", "Ask for a new one.", prefix=prefix)
    if expired:
        raise Denied("key_expired", f"The key {prefix} of {name} has expired.", "Ask for a new one.", prefix=prefix)
    if unseen:
        with database.one_statement(Authority.SERVICE, actor=OWN) as tx:
            tx.execute(Q["used"], {"key_id": key_id})
    return Principal(key_id=key_id, name=name, role=Role(role), hub=hub)


def _unknown() -> Denied:
    # The same words for a key that is malformed, unknown, or of another secret.
    return Denied("key_unknown", "This key is not known.", "Check that it is complete; or make one: recoup keys add")


def _made(
    tx: Transaction,
    *,
    name: str,
    role: Role,
    hub: str | None,
    replaces: UUID | None,
    expires: datetime | timedelta | None,
) -> NewKey:
    secret = secrets.new_key()
    row = tx.execute(
        Q["add"],
        {
            "name": name, "role": role.value, "hub": hub, "prefix": secret.prefix, "hash": secret.hash,
            "replaces": replaces,
            "expires_at": expires if isinstance(expires, datetime) else None,
            "valid": expires if isinstance(expires, timedelta) else None,
        },
    ).fetchone()  # fmt: skip
    assert row is not None
    key_id, _, _, _, prefix, created_by, created_at, expires_at = row
    return NewKey(
        key_id=key_id, name=name, role=role, hub=hub, prefix=prefix, created_by=created_by, created_at=created_at,
        expires_at=expires_at, secret=secret.text,
    )  # fmt: skip


def _found(tx: Transaction, key: str | UUID) -> list[Key]:
    found = [_key(row) for row in tx.execute(Q["find"], {"named": str(key)})]
    if not found:
        raise InputRefused("key_not_found", f"There is no key {key}.", "List them: recoup keys list --all")
    return found


def _one(tx: Transaction, key: str | UUID, *, of: Sequence[str]) -> Key:
    """The one key of this name, prefix or id that has one of these statuses."""
    found = _found(tx, key)
    fitting = [one for one in found if one.status in of]
    if not fitting:
        newest = found[0]
        # One that has expired keeps its name until it is revoked: somebody may still send it.
        first = f"Revoke it: recoup keys revoke {newest.name}; then m" if newest.status == "expired" else "M"
        raise LawRefused(
            "key_ended",
            f"The key {newest.prefix} of {newest.name} is {newest.status}.",
            f"{first}ake a new one: recoup keys add {newest.name} --role {newest.role}",
            key_id=str(newest.key_id), status=newest.status,
        )  # fmt: skip
    return fitting[0]


def _key(row: tuple[Any, ...]) -> Key:
    (key_id, name, role, hub, prefix, status, replaced_at, created_by, created_at, expires_at, ended_at, last_used_at,
     expired) = row  # fmt: skip
    if status == "active":
        status = "expired" if expired else "replaced" if replaced_at else "active"
    return Key(
        key_id=key_id, name=name, role=role, hub=hub, prefix=prefix, status=status, created_by=created_by,
        created_at=created_at, expires_at=expires_at, last_used_at=last_used_at, ended_at=ended_at,
    )  # fmt: skip


def _role(role: Role | str) -> Role:
    try:
        return {one.value: one for one in KEYED}[str(role)]
    except KeyError:
        raise InputRefused(
            "key_role", f"A key has no role {role!r}.", one_of(str(role), [one.value for one in KEYED]).capitalize()
        ) from None


def _check_name(name: str) -> None:
    if not name.strip() or not name.isprintable() or len(name.encode()) > MAX_NAME_BYTES:
        raise InputRefused(
            "key_name", f"{name[:100]!r} is not a name for a key.",
            f"Name who will act with it: up to {MAX_NAME_BYTES} bytes that can be printed.",
        )  # fmt: skip


def _check_hub(tx: Transaction, role: Role, hub: str) -> None:
    if role is Role.ADMIN:
        raise InputRefused("key_scoped", "A key of an admin has no hub.", "Leave --hub out, or choose another role.")
    hubs = versions.active(tx).policy[ServicePolicy].hubs
    if hub not in hubs:
        raise InputRefused(
            "hub_unknown", f"The policy has no hub {hub}.", f"{one_of(hub, hubs).capitalize()}. See service.hubs."
        )
