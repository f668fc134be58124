"""A handler of errors, or the executor of an action, in a program of any language: called by HTTP, signed.

In ``recoup.toml`` it is named like a function of this module:

    [handlers]
    "outreach.dol_errors" = "recoup.adapters.webhook:DOL_RETRY"

Then ``DOL_RETRY_URL`` has its address, and ``DOL_RETRY_SECRET`` the key that signs every request: in the environment of
the worker, or in files under ``[secrets]``. Addresses in private networks are refused unless ``DOL_RETRY_NETWORKS``
allows them (10.1.0.0/16, …), also where a public name leads to them; redirects are not followed. Without TLS only the
networks that are allowed so are called.

The answer decides. A 2xx status: it is done; with the JSON body {"outcome": "failed", "message": …} it failed. 202, or
{"outcome": "later"}: an error's outcome is reported by the receiver with the token, within the lease; an action is
asked for again with the same key, until its timeout. No connection, 429, 502, 503 and 504 are tried again some times;
every other answer is a failure. Every request has the same Idempotency-Key for the same retry or action.
"""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from recoup import settings
from recoup.deliveries import secrets
from recoup.deliveries.webhooks import (
    Answer,
    Target,
    Undelivered,
    Unusable,
    refuse_status,
    send,
    target,
)
from recoup.deliveries.webhooks import verified as verified
from recoup.errors.retrying import Claimed as ClaimedError
from recoup.errors.retrying import Reported
from recoup.recovery.executing import Claimed as ClaimedAction
from recoup.recovery.executing import Subject
from recoup.verification.addresses import Reach

NAME = re.compile(r"[A-Z][A-Z0-9_]{0,79}")
MAX_ANSWER = 65_536
MAX_MESSAGE = 2_000
TRIES = 3  # of one call, for what may be better a moment later
PAUSE_S = 0.5  # before the second; doubled
TIMEOUT_S = 30.0  # of one try
BUSY = frozenset({429, 502, 503, 504})
AGAIN_S = 1.0  # until an action is asked for again, unless the answer says when
MAX_AGAIN_S = 60.0


class WebhookFailed(Exception):  # noqa: N818 - an outcome, in words that are stored
    """The receiver reports that it failed, or could not be asked."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One receiver, by the name of its variables. They are read at every call, so that a new secret counts at once."""

    name: str

    def __call__(self, one: ClaimedError | ClaimedAction, subject: Subject | None = None) -> object:
        """Call it. Returns as a handler or an executor does; raises for a failure."""
        if isinstance(one, ClaimedError):
            return self._retry(one)
        return self._execute(one, subject)

    def _retry(self, error: ClaimedError) -> Reported | None:
        answer = self._asked(of_error(error), key=error.key, until=time.monotonic() + 2 * TIMEOUT_S)
        # Its claim stays until the receiver reports, or the lease ends.
        return Reported(status="RETRY_PENDING", failure=None) if _is_later(answer) else _done(answer)

    def _execute(self, one: ClaimedAction, subject: Subject | None) -> Any:
        until = time.monotonic() + one.timeout_s
        body = of_action(one, subject)
        while True:
            answer = self._asked(body, key=one.idempotency_key, until=until)
            if not _is_later(answer):
                return _done(answer, result=True)
            pause_s = _pause(answer)
            if time.monotonic() + pause_s >= until:
                raise WebhookFailed(f"not done within {one.timeout_s} s")
            time.sleep(pause_s)

    def _asked(self, body: Mapping[str, object], *, key: str, until: float) -> Answer:
        """Its answer, of one of a few tries."""
        text = json.dumps(body, default=str).encode()
        pause_s = PAUSE_S
        for number in range(1, TRIES + 1):
            left = until - time.monotonic()
            try:
                answer = send(self._target(max(min(left, TIMEOUT_S), 1.0)), text, key=key, max_answer=MAX_ANSWER)
                if answer.status not in BUSY:
                    refuse_status(answer.status)
                    return answer
                failure = f"HTTP {answer.status}"
            except Unusable as unusable:
                raise WebhookFailed(f"webhook {self.name}: {unusable}") from None
            except Undelivered as undelivered:
                failure = str(undelivered)
                if failure.startswith("HTTP "):  # it was asked, and refused
                    break
            if number == TRIES or time.monotonic() + pause_s >= until:
                break
            time.sleep(pause_s)
            pause_s *= 2
        raise WebhookFailed(f"webhook {self.name}: {failure}")

    def _target(self, timeout_s: float) -> Target:
        known = secrets.of(settings.load())
        url, secret = _variable(known, f"{self.name}_URL"), _variable(known, f"{self.name}_SECRET")
        named = known.get(f"{self.name}_NETWORKS", "")
        try:
            networks = [str(ip_network(part.strip())) for part in named.split(",") if part.strip()]
        except ValueError:
            raise Unusable(f"{self.name}_NETWORKS is not a list of networks, such as 10.1.0.0/16") from None
        plain = url.lower().startswith("http:")
        reach = Reach(networks, public=not plain)
        return target(url, secret=secret, allow_http=True, timeout_s=timeout_s, reach=reach)


def __getattr__(name: str) -> Webhook:
    """The receiver of a name in capital letters."""
    if not NAME.fullmatch(name):
        raise AttributeError(f"a webhook is named in capital letters, such as DOL_RETRY; {name[:80]!r} is not")
    return Webhook(name)


def of_error(error: ClaimedError) -> dict[str, object]:
    """What a receiver gets of a retry."""
    return {
        "kind": "retry", "table": error.error_table, "id": error.error_id, "entity": error.outreach_id,
        "work_key": error.work_key, "code": error.error_code, "message": error.error_message,
        "signature": error.error_signature, "severity": error.severity, "category": error.category,
        "attempt": error.retry_count + 1, "attempts": error.max_retries, "payload": error.payload,
        "retry_with": error.retry_with, "created_at": error.created_at.isoformat(), "key": error.key,
        "token": error.token, "lease_until": error.lease_until.isoformat(),
    }  # fmt: skip


def of_action(one: ClaimedAction, subject: Subject | None) -> dict[str, object]:
    """What a receiver gets of an action."""
    failure = None if subject is None else {
        "source": subject.source, "subject": subject.subject_ref, "code": subject.error_code,
        "message": subject.error_message, "signature": subject.error_signature, "context": subject.context,
        "undoes": subject.undoes,
    }  # fmt: skip
    return {
        "kind": "action", "candidate": one.candidate_id, "action": one.action_name, "type": one.action_type,
        "parameters": dict(one.parameters), "failure": failure, "key": one.idempotency_key,
        "timeout_s": one.timeout_s,
    }  # fmt: skip


def _variable(known: Mapping[str, str], name: str) -> str:
    value = known.get(name, "").strip()
    if not value:
        raise Unusable(f"{name} is not set in the environment of the worker, and no file under [secrets] has it")
    return value


def _read(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer; of any other, nothing."""
    try:
        found = json.loads(answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_later(answer: Answer) -> bool:
    return answer.status == 202 or _read(answer).get("outcome") == "later"


def _done(answer: Answer, *, result: bool = False) -> Any:
    """Nothing, or what an action answered; or the failure that the receiver reports."""
    found = _read(answer)
    if found.get("outcome") == "failed":
        raise WebhookFailed(str(found.get("message") or "the receiver reports a failure")[:MAX_MESSAGE])
    return found.get("result", {"status": answer.status}) if result else None


def _pause(answer: Answer) -> float:
    given = answer.retry_after or ""
    return min(max(float(given), AGAIN_S), MAX_AGAIN_S) if given.isdecimal() and len(given) < 6 else AGAIN_S
