"""How the API refuses: one shape for every refusal, and one table for its status.

The body is ``application/problem+json``: ``code`` is stable, ``detail`` says what happened, ``next_step`` what to do,
``facts`` is typed data. Codes are those of ``docs/reference/refusals.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from fastapi import Response
from psycopg import errors
from pydantic import BaseModel, Field
from pydantic_core import to_json

from recoup.refusals import (
    InputRefused,
    LawRefused,
    MigrationRefused,
    Refusal,
    ServerRefused,
    SettingRefused,
    TransactionLost,
)
from recoup.service import secrets

MEDIA_TYPE = "application/problem+json"

# The status of a refusal: by its code, else by the end of its code, else by its kind.
BY_CODE = {
    "request_malformed": 400,
    "body_not_json": 400,
    "host_refused": 403,
    "origin_refused": 403,
    "forwarded_refused": 403,
    "key_missing": 401,
    "key_unknown": 401,
    "key_expired": 401,
    "key_revoked": 401,
    "session_missing": 401,
    "session_ended": 401,
    "link_used": 403,
    "page_outdated": 403,
    "role_may_not": 403,
    "keys_need_a_key": 403,
    "hub_lacks_authority": 403,
    "hub_may_not": 403,
    "authority_lacks_right": 403,
    "route_unknown": 404,
    "method_not_allowed": 405,
    "body_too_slow": 408,
    "idempotency_key_reused": 409,
    "answer_not_kept": 409,
    "body_too_large": 413,
    "content_type": 415,
    "rate_limited": 429,
    "streams_used_up": 429,
    "headers_too_large": 431,
    "internal_error": 500,
    "verb_unknown": 422,
    "table_unknown": 422,
    "status_unknown": 422,
    "filter_unknown": 422,
    "argument_unknown": 422,
    "too_busy": 503,
    "time_limit": 503,
    "lock_busy": 503,
}
BY_END = {"_unknown": 404, "_exists": 409}
BY_KIND: dict[type[Refusal], int] = {
    InputRefused: 422,
    LawRefused: 409,
    SettingRefused: 503,
    ServerRefused: 503,
    MigrationRefused: 503,
    TransactionLost: 503,
}
WORDS = {
    400: "The request cannot be read.",
    401: "No key, or one that is not valid.",
    403: "This caller may not do that.",
    404: "There is no such thing.",
    408: "The body did not arrive in time.",
    409: "Not allowed in the present state; nothing was changed.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A value is missing or not valid; nothing was changed.",
    429: "Too many requests; try again later.",
    503: "Not possible at the moment; try again later.",
}


class Problem(BaseModel):
    """Why something was not done. Nothing was changed."""

    type: str = Field(examples=["urn:recoup:refusal:error_unknown"])
    title: str = Field(examples=["error unknown"])
    status: int = Field(examples=[404])
    code: str = Field(description="Stable; see the reference of refusals.", examples=["error_unknown"])
    detail: str = Field(description="What happened.", examples=["No error 3729, open or archived."])
    next_step: str = Field(description="What to do.", examples=["List errors: recoup errors list"])
    facts: dict[str, Any] = Field(description="The same as data.", examples=[{"error": "3729"}])


def status(refusal: Refusal) -> int:
    """The HTTP status of a refusal."""
    if refusal.code in BY_CODE:
        return BY_CODE[refusal.code]
    for end, number in BY_END.items():
        if refusal.code.endswith(end):
            return number
    return next((number for kind, number in BY_KIND.items() if isinstance(refusal, kind)), 409)


def answer(refusal: Refusal, *, headers: Mapping[str, str] | None = None) -> Response:
    """A refusal as a response."""
    number = status(refusal)
    more = dict(headers or {})
    if number == 401:
        more.setdefault("WWW-Authenticate", 'Bearer realm="recoup"')
    if number in (429, 503):
        more.setdefault("Retry-After", str(refusal.facts.get("retry_after_s") or 1))
    return Response(document(refusal, number), status_code=number, media_type=MEDIA_TYPE, headers=more)


def document(refusal: Refusal, number: int) -> bytes:
    """A refusal as JSON. It may repeat what was sent, but no key."""
    found = to_json(
        {
            "type": f"urn:recoup:refusal:{refusal.code}",
            "title": refusal.code.replace("_", " "),
            "status": number,
            "code": refusal.code,
            "detail": refusal.happened,
            "next_step": refusal.next_step,
            "facts": refusal.facts,
        },
        fallback=str,
        inf_nan_mode="null",
    )
    return secrets.masked(found.decode()).encode()


def from_server(error: psycopg.Error) -> Refusal | None:
    """The refusal behind an error of the server that has none of its own; None: a bug of ours."""
    if isinstance(error, errors.QueryCanceled):
        return ServerRefused("time_limit", "The server did not finish in time.", "Narrow the request, or try again.")
    if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
        return ServerRefused("lock_busy", "Another transaction works on the same rows.", "Try again.")
    if isinstance(error, psycopg.DataError | errors.CheckViolation | errors.NotNullViolation):
        return InputRefused(
            "value_unusable", f"A value cannot be stored: {_message(error)}", "Correct it. Nothing was changed."
        )
    if isinstance(error, errors.UniqueViolation | errors.ForeignKeyViolation | errors.ExclusionViolation):
        return LawRefused("value_conflicts", f"A value conflicts with one that exists: {_message(error)}", "Read it.")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return ServerRefused("server_lost", "The database cannot be reached at the moment.", "Try again.")
    return None


def _message(error: psycopg.Error) -> str:
    """Its first line: details may hold values of other rows."""
    return " ".join((error.diag.message_primary or str(error).partition("\n")[0]).split())
