"""Erasing a secret that was recorded: from the texts of an error, live or archived.

Secrets that the current list recognises are replaced, and a text that is given. The row has ``[redacted]`` from then
on; the control log has who erased it, when and why, with the digest of what is left. A traceback of a retry that holds
a secret is deleted as a whole. The log of events is sealed: messages of failed retries stay there as they were, and are
counted here so that they are not forgotten.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.errors import active_policy
from recoup.errors.lookup import ErrorKey
from recoup.errors.tracebacks import delete, tracebacks
from recoup.redaction import REDACTED, in_words, redacted
from recoup.refusals import InputRefused

Q = load("recoup.errors", "erasing.sql")
SECRET_LEAST = 4  # characters: shorter ones would be found everywhere


class Erased(NamedTuple):
    """What was erased from an error."""

    error_table: str
    error_id: int
    erased: tuple[str, ...]  # from these columns
    in_log: int  # events that still contain it


class _Texts(NamedTuple):
    error_table: str
    error_id: int
    error_message: str
    payload: Any
    last_failure: str | None


def erase(tx: Transaction, errors: Sequence[ErrorKey], secret: str | None = None) -> list[Erased]:
    """Erase secrets from these errors, as operator: all that are recognised now, and this one wherever it occurs."""
    if secret is not None and len(secret.strip()) < SECRET_LEAST:
        raise InputRefused(
            "secret_short",
            "The text to erase is too short: it would also be found in other texts.",
            f"Give at least {SECRET_LEAST} characters.",
        )
    named = {"tables": [key.error_table for key in errors], "ids": [key.error_id for key in errors]}
    found = [_Texts(*row) for row in tx.execute(Q["texts"], named)]
    if len(found) < len(set(errors)):  # it was moved to the archive while we waited
        found = [_Texts(*row) for row in tx.execute(Q["texts"], named)]
    own_keys = active_policy.reloaded(tx).errors.redact_keys
    changed = [(before, after) for before in found if (after := _without(before, secret, own_keys)) != before]
    if changed:
        tx.execute(Q["redact"], _arrays([after for _, after in changed]))
    traced = [one for one in tracebacks(tx, errors) if _text(one.traceback, secret) != one.traceback]
    delete(tx, [(one.error_id, one.retry) for one in traced])
    said = tx.execute(Q["logged_texts"], {"ids": named["ids"]}).fetchall()
    erased = {before.error_id: tuple(_differing(before, after)) for before, after in changed}
    for one in traced:
        erased[one.error_id] = tuple(dict.fromkeys((*erased.get(one.error_id, ()), "traceback")))
    held = [error_id for error_id, reason in said if _text(reason, secret) != reason]
    return [Erased(*key, erased.get(key.error_id, ()), held.count(key.error_id)) for key in errors]


def _without(texts: _Texts, secret: str | None, own_keys: Sequence[str]) -> _Texts:
    failure = texts.last_failure
    return texts._replace(
        error_message=_text(texts.error_message, secret),
        payload=_payload(texts.payload, secret, own_keys),
        last_failure=None if failure is None else _text(failure, secret),
    )


def _text(text: str, secret: str | None) -> str:
    return in_words(text if secret is None else text.replace(secret, REDACTED))


def _payload(payload: Any, secret: str | None, own_keys: Sequence[str]) -> Any:
    if secret is not None:
        # As written in JSON; if it is still there afterwards, the whole payload is erased.
        try:
            text = json.dumps(payload, ensure_ascii=False)
            payload = json.loads(text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], REDACTED))
        except ValueError:
            return REDACTED
    return redacted(payload, own_keys)


def _differing(before: _Texts, after: _Texts) -> Iterator[str]:
    for name, one, other in zip(_Texts._fields, before, after, strict=True):
        if one != other:
            yield name


def _arrays(changed: Sequence[_Texts]) -> dict[str, Any]:
    return {
        "tables": [one.error_table for one in changed],
        "ids": [one.error_id for one in changed],
        "messages": [one.error_message for one in changed],
        "payloads": [None if one.payload is None else json.dumps(one.payload, ensure_ascii=False) for one in changed],
        "failures": [one.last_failure for one in changed],
    }
