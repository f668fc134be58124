"""The lifecycle of a key."""

from enum import StrEnum

from recoup.lifecycles.declaration import RECORD_CONTROL, Authority, Birth, Lifecycle, Move, On

KEY_MANAGER = Authority.KEY_MANAGER


class KeyStatus(StrEnum):
    ACTIVE = "active"  # valid, unless it has expired
    REVOKED = "revoked"  # a person revoked it


ACTIVE, REVOKED = KeyStatus

API_KEY = Lifecycle(
    table="recoup.api_key",
    description="A key of the API. It is revoked or expires; a longer life or another role is another key.",
    key=("key_id",),
    births=(Birth(ACTIVE, KEY_MANAGER, "a person makes it, or it replaces another"),),
    moves=(
        Move(ACTIVE, ACTIVE, KEY_MANAGER, "it is replaced by another, and expires"),
        Move(ACTIVE, REVOKED, KEY_MANAGER, "a person revoked it"),
    ),
    frozen=("key_id", "name", "role", "hub", "prefix", "secret_hash", "replaces", "created_by", "created_at"),
    once=("ended_at", "replaced_at"),
    rules=(On("insert", "recoup.rule_api_keys"), On("update", "recoup.rule_api_keys")),
    recorders=(
        On("insert", RECORD_CONTROL, ("name", "role", "hub", "prefix", "replaces", "created_by", "expires_at")),
        On("update", RECORD_CONTROL, ("expires_at", "replaced_at", "ended_at")),
    ),
)
