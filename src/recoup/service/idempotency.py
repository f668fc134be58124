"""Requests with an idempotency key: the same request has one effect and gets one answer, however often it is sent.

The row is written first, in the transaction of the effect: an equal request waits until that has ended. If it
committed, it gets its answer; if it rolled back, as every 5xx does, it takes its place.
"""

import hashlib
from dataclasses import dataclass

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.refusals import InputRefused, LawRefused
from recoup.service import secrets
from recoup.service.principal import Principal

Q = load("recoup.service", "requests.sql")
MAX_KEY_BYTES = 255
MAX_ANSWER_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Stored:
    """What an equal request was answered."""

    status: int
    answer: str


def digest(body: bytes) -> bytes:
    """What of a body is kept."""
    return hashlib.sha256(body).digest()


def once(tx: Transaction, principal: Principal, key: str, method: str, path: str, body_digest: bytes) -> Stored | None:
    """The answer of an equal request; or None, once it is stored that this one was received.

    Call it first in the transaction, and :func:`answered` last.
    """
    if not key.isprintable() or not 1 <= len(key.encode()) <= MAX_KEY_BYTES:
        raise InputRefused(
            "idempotency_key_malformed",
            f"An idempotency key has 1 to {MAX_KEY_BYTES} bytes that can be printed.",
            "Send a new random one for each request, such as a UUID.",
        )
    if secrets.prefix_of(key) is not None:  # it would be stored
        raise InputRefused(
            "idempotency_key_secret",
            "The idempotency key is a key of the API.",
            "Send a new random one for each request, such as a UUID; the other as Authorization: Bearer rcp_…",
        )
    given = {"principal": principal.id, "key": key, "method": method, "path": path, "digest": body_digest}
    row = tx.execute(Q["begin"], given).fetchone()
    assert row is not None
    fresh, same, status, answer, about = row
    if fresh:
        return None
    if not same:
        raise LawRefused(
            "idempotency_key_reused",
            "This idempotency key was sent before, with another request.",
            "Send a new key for a new request; repeat one with the same method, path and body.",
        )
    if status is None or answer is None:
        raise LawRefused(
            "answer_not_kept",
            "This request was done, and its answer is not repeated: it holds a secret, or is too long.",
            "Read what it made." if about is None else f"Read what it made: {about}. A key can be revoked or rotated.",
            about=about,
        )
    return Stored(status, answer)


def answered(
    tx: Transaction,
    principal: Principal,
    key: str,
    *,
    status: int,
    answer: str,
    secret: bool = False,
    about: str | None = None,
) -> None:
    """Store the answer with the effect. ``secret``: only that there was one, and the id of what was made."""
    assert 200 <= status < 500, "what failed is not stored: its transaction rolls back"
    kept = None if secret or len(answer.encode()) > MAX_ANSWER_BYTES else answer
    given = {"principal": principal.id, "key": key, "status": status, "answer": kept, "about": about}
    assert tx.execute(Q["end"], given).fetchone() == (True,), "answered without once"
