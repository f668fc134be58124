"""Sessions of a browser: opened with a key, or with a link that works once."""

import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from recoup.database.connection import Database
from recoup.database.queries import load
from recoup.lifecycles.declaration import Authority
from recoup.service import secrets
from recoup.service.keys import Denied
from recoup.service.principal import OWN, Principal
from recoup.service.roles import Role

Q = load("recoup.service", "sessions.sql")
LASTS = timedelta(hours=12)
LINK_LASTS = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session or a link that was just opened. Its token is here and nowhere else."""

    session_id: UUID
    expires_at: datetime
    token: str = field(repr=False)


def open_session(database: Database, principal: Principal, *, lasts: timedelta = LASTS) -> Opened:
    """Open a session for a caller that was authenticated. Its token goes into a cookie."""
    return _opened(database, principal, is_link=False, lasts=lasts)


def new_link(database: Database, principal: Principal, *, lasts: timedelta = LINK_LASTS) -> Opened:
    """A link that becomes a session, once. Its token goes into an address."""
    return _opened(database, principal, is_link=True, lasts=lasts)


def use_link(database: Database, token: str, *, lasts: timedelta = LASTS) -> Opened:
    """Turn a link into a session. Refuses one that was used or has expired."""
    row = None
    if secrets.is_token(token):
        with database.one_statement(Authority.SERVICE, actor=OWN) as tx:
            row = tx.execute(Q["use_link"], {"hash": secrets.hashed(token)}).fetchone()
    if row is None:
        raise Denied("link_used", "This link was used, or has expired.", "Ask for a new one where the service runs.")
    key_id, name, role, hub = row
    return _opened(
        database, Principal(key_id=key_id, name=name, role=Role(role), hub=hub), is_link=False, lasts=lasts
    )  # fmt: skip


def session_of(database: Database, token: str) -> Principal:
    """Who acts in a session. Refuses one that has ended, by itself or with its key."""
    row = None
    if secrets.is_token(token):
        with database.one_statement(Authority.SERVICE, actor=OWN) as tx:
            row = tx.execute(Q["find"], {"hash": secrets.hashed(token)}).fetchone()
    if row is None:
        raise Denied("session_ended", "This session has ended.", "Sign in again.")
    session_id, key_id, name, role, hub, _ = row
    return Principal(key_id=key_id, name=name, role=Role(role), hub=hub, session_id=session_id)


def close(database: Database, session_id: UUID) -> None:
    """End a session."""
    with database.one_statement(Authority.SERVICE, actor=OWN) as tx:
        tx.execute(Q["close"], {"session_id": session_id})


def csrf_token(token: str) -> str:
    """What a page of this session sends with a write. It follows from the token, which no page can read."""
    return hmac.new(token.encode(), b"recoup csrf", hashlib.sha256).hexdigest()


def is_csrf_token(token: str, given: str) -> bool:
    return hmac.compare_digest(csrf_token(token).encode(), given.encode())


def _opened(database: Database, principal: Principal, *, is_link: bool, lasts: timedelta) -> Opened:
    secret = secrets.new_token()
    given = {
        "hash": secret.hash, "key_id": principal.key_id, "name": principal.name, "role": principal.role.value,
        "hub": principal.hub, "is_link": is_link, "valid": lasts,
    }  # fmt: skip
    with database.one_statement(Authority.SERVICE, actor=OWN) as tx:
        row = tx.execute(Q["open"], given).fetchone()
    assert row is not None
    return Opened(session_id=row[0], expires_at=row[1], token=secret.text)
