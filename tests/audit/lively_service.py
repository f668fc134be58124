"""Keys of every kind in one database: used, rotated, expired, revoked, with a session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from recoup.database.connection import Actor, Database
from recoup.lifecycles.declaration import Authority
from recoup.service import keys, sessions


@dataclass(frozen=True)
class ServiceCast:
    """Keys that became something."""

    key_active: UUID  # used, with a session
    key_old: UUID  # replaced
    key_new: UUID  # in place of it
    key_revoked: UUID


def play_service(database: Database) -> ServiceCast:
    """Made, used, rotated and revoked, each by a person."""
    with database.transaction(Authority.KEY_MANAGER, actor=Actor("human", "ada")) as tx:
        active = keys.add(tx, "grace", "operator", expires=timedelta(days=90))
        old, gone = keys.add(tx, "the hub", "producer"), keys.add(tx, "a guest", "viewer")
        new = keys.rotate(tx, old.key_id)
        keys.revoke(tx, gone.key_id)
    sessions.open_session(database, keys.authenticate(database, active.secret))
    return ServiceCast(active.key_id, old.key_id, new.key_id, gone.key_id)
