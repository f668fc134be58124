"""``failures``: as a block, as a decorator, and when a failure cannot be recorded."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from hub import DOL, LOG, ORPHANS, Hub
from recoup.database.connection import Database
from recoup.errors.capture import failures
from recoup.settings import Settings


def test_an_exception_in_a_block_is_recorded_and_raised_again(hub: Hub) -> None:
    entity = uuid.uuid4()
    with (
        pytest.raises(TimeoutError, match="took too long"),
        failures(hub.db, DOL, outreach_id=entity, payload={"password": "x"}) as block,
    ):
        raise TimeoutError("took too long")
    assert block.recorded is not None
    row = hub.row(block.recorded.error_id)
    assert (row["outreach_id"], row["error_code"], row["error_message"]) == (entity, "TimeoutError", "took too long")
    assert row["payload"]["password"] == "[redacted]"
    assert "raise TimeoutError" in row["payload"]["traceback"]


def test_a_block_that_succeeds_or_exits_records_nothing(hub: Hub) -> None:
    with failures(hub.db, DOL, outreach_id=uuid.uuid4()) as fine:
        pass
    ended = failures(hub.db, DOL, outreach_id=uuid.uuid4())
    with pytest.raises(SystemExit), ended:
        raise SystemExit(3)
    assert (fine.recorded, ended.recorded) == (None, None)


def test_a_decorated_function_records_the_entity_of_its_arguments(hub: Hub) -> None:
    entity = uuid.uuid4()

    @failures(hub.db, DOL, outreach_id=lambda company, **_: company, code="NO_MATCH")
    def match(company: UUID, *, year: int) -> int:
        """Match it."""
        if year < 2000:
            raise ValueError(f"no filings of {year}")
        return year

    assert match(entity, year=2024) == 2024
    assert match.__doc__ == "Match it."
    with pytest.raises(ValueError, match="no filings"):
        match(entity, year=1999)
    assert hub.row_of(entity)["error_code"] == "NO_MATCH"


def test_a_coroutine_function_can_be_decorated(hub: Hub) -> None:
    entity = uuid.uuid4()

    @failures(hub.db, DOL, outreach_id=entity)
    async def match() -> None:
        await asyncio.sleep(0)
        raise KeyError("ein")

    with pytest.raises(KeyError):
        asyncio.run(match())
    assert hub.row_of(entity)["error_message"] == "'ein'"


def test_a_failure_that_cannot_be_recorded_is_raised_with_a_note(settings: Settings) -> None:
    nowhere = Database("postgresql://nobody@localhost:1/nothing", settings)
    with pytest.raises(ValueError, match="the real reason") as caught, failures(nowhere, LOG):
        raise ValueError("the real reason")
    assert "was not recorded" in caught.value.__notes__[0]


def test_a_failure_whose_entity_cannot_be_worked_out_is_recorded_among_the_orphans(hub: Hub) -> None:
    block = failures(hub.db, DOL, outreach_id=lambda: UUID(int=1 // 0))

    @block
    def broken() -> None:
        raise ValueError("the real reason")

    with pytest.raises(ValueError, match="the real reason"):
        broken()
    assert block.recorded is not None
    row = hub.row(block.recorded.error_id)
    assert (row["error_table"], row["status"], row["error_message"]) == (ORPHANS, "PARKED", "the real reason")
    assert row["payload"]["meant_for"] == DOL
    assert "by zero" in row["payload"]["no_outreach_id"]


class Unprintable(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError("not today")


@pytest.mark.parametrize("error", [Unprintable(), ValueError("a\0b"), type("É" * 150, (Exception,), {})("x")])
def test_odd_exceptions_are_recorded_and_raised_unchanged(hub: Hub, error: Exception) -> None:
    block = failures(hub.db, DOL, outreach_id=uuid.uuid4(), payload={"it": error})
    with pytest.raises(type(error)) as caught, block:
        raise error
    assert caught.value is error
    assert block.recorded is not None


@pytest.mark.parametrize("entity", [None, "not a uuid", 7])
def test_a_failure_without_an_entity_is_an_orphan(hub: Hub, entity: object) -> None:
    block = failures(hub.db, DOL, outreach_id=lambda: entity)  # type: ignore[arg-type, return-value]

    @block
    def broken() -> None:
        raise ValueError("the real reason")

    with pytest.raises(ValueError, match="the real reason"):
        broken()
    assert block.recorded is not None
    assert block.recorded.error_table == ORPHANS


def test_a_generator_function_is_refused(hub: Hub) -> None:
    with pytest.raises(TypeError, match="block inside"):

        @failures(hub.db, DOL)
        def generate() -> Iterator[int]:
            yield 1


@pytest.mark.parametrize("form", ["{}", "urn:uuid:{}"])
def test_an_entity_may_be_given_as_text(hub: Hub, form: str) -> None:
    """Ids from JSON, CSV or a scheduler are text: their entity is blocked, too."""
    entity = uuid.uuid4()
    with pytest.raises(ValueError, match="x"), failures(hub.db, DOL, outreach_id=form.format(entity)):
        raise ValueError("x")
    assert hub.is_blocked(entity)


def test_an_id_that_is_no_uuid_is_kept_in_the_orphan(hub: Hub) -> None:
    block = failures(hub.db, DOL, outreach_id="not a uuid")
    with pytest.raises(ValueError, match="x") as caught, block:
        raise ValueError("x")
    assert block.recorded is not None
    assert f"recorded as {ORPHANS}/{block.recorded.error_id}" in caught.value.__notes__[0], "not silently"
    row = hub.row(block.recorded.error_id)
    assert (row["error_table"], row["payload"]["outreach_id_given"]) == (ORPHANS, "not a uuid")
    assert row["payload"]["no_outreach_id"] == "what was given is no UUID"


def test_only_unusable_values_are_left_out(hub: Hub) -> None:
    """A code that is too long, an unknown severity, a misspelt table: the rest is recorded, with its entity."""
    entity = uuid.uuid4()
    given: Any = {"code": "C" * 300, "severity": "awful", "category": "transient"}
    for table in (DOL, "outreach.dol_error"):
        block = failures(hub.db, table, outreach_id=entity, **given)
        with pytest.raises(ValueError, match="x"), block:
            raise ValueError("x")
        assert block.recorded is not None
        row = hub.row(block.recorded.error_id)
        assert (row["outreach_id"], row["error_code"], row["category"]) == (entity, "C" * 200, "TRANSIENT")
        assert (row["payload"]["code_given"], row["payload"]["severity_given"]) == ("C" * 300, "awful")
        assert row["error_table"] == (DOL if table == DOL else ORPHANS)
    assert row["payload"]["meant_for"] == "outreach.dol_error"
    assert hub.is_blocked(entity)


def test_a_traceback_begins_with_the_callers_own_code(hub: Hub) -> None:
    """Not with the decorator's frame."""
    entity = uuid.uuid4()

    @failures(hub.db, DOL, outreach_id=entity)
    def match() -> None:
        raise TimeoutError("took too long")

    with pytest.raises(TimeoutError):
        match()
    first = hub.row_of(entity)["payload"]["traceback"].splitlines()[1]
    assert __file__ in first
