"""Secrets are stored nowhere: not in messages, payloads, outcomes, events, late results, reasons or operations."""

from __future__ import annotations

import json
import tomllib
import uuid
from pathlib import Path
from typing import Any

import pytest

from hub import DOL, SECOND, Hub, failed
from recoup.errors import parking
from recoup.errors.capture import failures
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Category
from recoup.lifecycles.declaration import Authority

FORMS = tomllib.loads((Path(__file__).parents[1] / "redaction" / "data" / "forms.toml").read_text("utf-8"))
SECRET = "hunter2"
# With hunter2 in them, and no other secret.
TEXTS = [text for text in FORMS["texts"] if SECRET in text and "¦" not in text]


def stored(hub: Hub) -> str:
    """Everything that an error left anywhere."""
    tables = ("recoup.error", "recoup.error_archive", "recoup.error_event", "recoup.late_result", "recoup.claim_event")
    found = [table for table in tables if hub.rows("select to_regclass(%s)", table) != [(None,)]]
    return "\n".join(str(row) for table in found for row in hub.rows(f"select to_jsonb(t)::text from {table} t"))


def test_no_form_is_stored_wherever_it_comes_in(hub: Hub) -> None:
    """As a message, in a payload, as what a failed retry says, in time and too late."""
    payloads: list[dict[str, Any]] = [{"text": text, "in": [text]} for text in TEXTS]
    payloads += [json.loads(text) for text in FORMS["payloads"]]
    errors = [
        NewError(
            table=DOL, message=text, outreach_id=uuid.uuid4(), payload=payload, category=Category.TRANSIENT,
            code=f"A{at}",
        )
        for at, (text, payload) in enumerate(zip(TEXTS + TEXTS, payloads, strict=False))
    ]  # fmt: skip
    hub.record_all(errors)
    hub.advance(2 * SECOND)
    claimed = hub.claim()
    assert len(claimed) == len(errors)
    hub.finish([failed(one, text) for one, text in zip(claimed, TEXTS + TEXTS, strict=False)])
    hub.finish([failed(one, TEXTS[0]) for one in claimed])
    kept = stored(hub)
    assert SECRET not in kept
    assert kept.count("[redacted]") > 3 * len(errors)


def test_what_is_raised_loses_its_secrets_in_message_and_traceback(hub: Hub) -> None:
    """Also where the end of a traceback is all that is kept."""
    with pytest.raises(RuntimeError), failures(hub.db, DOL, outreach_id=uuid.uuid4()) as watching:
        raise RuntimeError("x" * 30_000 + f" password={SECRET} " + "y" * 19_000)
    assert watching.recorded is not None
    row = hub.row(watching.recorded.error_id)
    assert SECRET not in str(row)
    assert row["payload"]["traceback"].count("[redacted]") == 1


def test_a_secret_in_a_persons_reason_is_not_logged(hub: Hub) -> None:
    error = hub.record("x", payload={})
    with hub.db.transaction(Authority.OPERATOR, reason=f"rotated password={SECRET}") as tx:
        parking.park(tx, [ErrorKey(DOL, error)], reason=f"see token={SECRET}")
    with hub.db.transaction(Authority.OPERATOR, reason=f"rotated password={SECRET}") as tx:
        parking.resolve(tx, [ErrorKey(DOL, error)])
    assert hub.row(error)["park_reason"] == "see token=[redacted]"
    reasons = hub.rows("select reason from recoup.error_event where error_id = %s order by seq", error)
    assert reasons[1:] == [("see token=[redacted]",), ("rotated password=[redacted]",)]


def test_keys_of_ones_own_are_redacted_beside_those_that_are_known(hub: Hub) -> None:
    hub.apply_policy('[errors]\nredact_keys = ["salary", "token"]')
    kept = hub.row(hub.record(payload={"baseSalary": 1, "salary_type": "net", "token_count": 7, "pwd": SECRET}))[
        "payload"
    ]
    assert kept == {"baseSalary": "[redacted]", "salary_type": "[redacted]", "token_count": 7, "pwd": "[redacted]"}
