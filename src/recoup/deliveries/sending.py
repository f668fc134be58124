"""What people do with deliveries: send one by hand, send a dead one again, cancel one that waits."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.deliveries import listing
from recoup.deliveries.lifecycle import DeliveryStatus
from recoup.errors.policy import ErrorPolicy
from recoup.policy import versions
from recoup.redaction import in_words, redacted
from recoup.refusals import InputRefused, LawRefused

Q = load("recoup.deliveries", "deliveries.sql")
MAX_SUBJECT_BYTES = 500
MAX_BODY = 100_000  # characters as JSON


def send(
    tx: Transaction,
    route: str,
    subject: str,
    body: Mapping[str, Any] | None = None,
    *,
    about: str | None = None,
    dedup_key: str | None = None,
) -> UUID:
    """Queue a notice. A worker delivers it. Secrets in it are redacted. Refused while one with its key is queued."""
    words = " ".join(in_words(subject).split())
    if not words or len(words.encode()) > MAX_SUBJECT_BYTES:
        raise InputRefused(
            "subject_unusable",
            "The subject is empty." if not words else f"The subject has more than {MAX_SUBJECT_BYTES} bytes.",
            "Say in one line what it is about; the rest belongs to the body.",
        )
    for name, text in (("about", about), ("dedup_key", dedup_key)):
        if text is not None and not 1 <= len(text.encode()) <= MAX_SUBJECT_BYTES:
            raise InputRefused(f"{name}_unusable", f"{name} has 1 to {MAX_SUBJECT_BYTES} bytes.", "Give a shorter one.")
    own_keys = versions.active(tx).policy[ErrorPolicy].redact_keys
    plain = redacted(body or {}, own_keys)
    if len(json.dumps(plain, ensure_ascii=False)) > MAX_BODY:
        raise InputRefused(
            "body_too_long",
            f"The body has more than {MAX_BODY:,} characters as JSON.",
            "Send what the receiver needs to find the rest.",
        )
    given = {"route": route, "subject": words, "body": Jsonb(plain), "about": about, "dedup_key": dedup_key}
    row = tx.execute(Q["send"], given).fetchone()
    assert row is not None
    made: UUID = row[0]
    return made


def retry(tx: Transaction, delivery_id: UUID) -> UUID:
    """Send a dead delivery again, as a new one. Dead is final: the old one stays as it is."""
    old = listing.show(tx, delivery_id)
    if old.delivery.status != DeliveryStatus.DEAD:
        raise LawRefused(
            "delivery_not_dead",
            f"Delivery {delivery_id} is {old.delivery.status}.",
            "Only a dead delivery is sent again.",
            delivery_id=str(delivery_id),
        )
    one = old.delivery
    return send(tx, one.route, one.subject, old.body, about=one.about, dedup_key=one.dedup_key)


def cancel(tx: Transaction, delivery_id: UUID) -> None:
    """Cancel a queued delivery. A try that is under way may still reach its receiver; its result changes nothing."""
    row = tx.execute(Q["cancel"], {"ids": [delivery_id]}).fetchone()
    if row is None:
        raise listing.unknown(delivery_id)
    if row[1] != DeliveryStatus.QUEUED:
        raise LawRefused(
            "delivery_ended",
            f"Delivery {delivery_id} is {row[1]}.",
            "Only a queued delivery is cancelled.",
            delivery_id=str(delivery_id),
        )
