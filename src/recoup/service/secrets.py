"""Secrets of the service: 256 random bits, of which only a hash is stored.

A key reads ``rcp_<prefix>_<secret>``. The prefix finds its row and is no secret. SHA-256 is enough for what nobody can
guess; a slow hash is for passwords.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

_KEY = re.compile(r"rcp_([a-z2-7]{8})_[A-Za-z0-9_-]{43}")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Secret:
    """A new secret. Its text is shown once, and is not in its representation."""

    text: str = field(repr=False)
    prefix: str = ""

    @property
    def hash(self) -> bytes:
        return hashed(self.text)


def new_key() -> Secret:
    prefix = base64.b32encode(secrets.token_bytes(5)).decode().lower()
    return Secret(f"rcp_{prefix}_{secrets.token_urlsafe(32)}", prefix)


def new_token() -> Secret:
    """The token of a session or a link."""
    return Secret(secrets.token_urlsafe(32))


def hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def same(one: bytes, other: bytes) -> bool:
    """Compare in a time that says nothing about where they differ."""
    return hmac.compare_digest(one, other)


def prefix_of(text: str) -> str | None:
    """The prefix of a key; None: it cannot be one."""
    match = _KEY.fullmatch(text)
    return match[1] if match else None


def masked(text: str) -> str:
    """A text without the secrets of keys that are in it."""
    return _KEY.sub(r"rcp_\1_[redacted]", text)


def is_token(text: str) -> bool:
    """Whether it can be the token of a session or a link."""
    return _TOKEN.fullmatch(text) is not None
