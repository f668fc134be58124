"""For every invariant of the service, what breaks it. Names in braces are those of the cast (lively_service.py)."""

from __future__ import annotations


def _row(of: str, change: str) -> str:
    return f"update recoup.api_key set {change} where key_id = {{{of}}}"


ROWS: tuple[tuple[str, str], ...] = (
    ("service/keys/as-logged", _row("key_active", "role = 'admin'")),
    ("service/keys/as-logged", _row("key_active", "expires_at = recoup.now() + interval '1 day'")),
    ("service/keys/as-logged", _row("key_revoked", "status = 'active', ended_at = null")),
    ("service/keys/as-logged", "delete from recoup.control_log where key = {key_active}::text"),
    ("service/keys/rotation", _row("key_new", "role = 'operator'")),
    ("service/keys/rotation", _row("key_old", "replaced_at = null")),
    ("service/sessions", "update recoup.session set role = 'admin' where key_id = {key_active}"),
)
