"""The handler for ``logging``: what it records, and that it neither blocks nor records itself."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Iterator
from functools import partial

import pytest

from hub import DOL, LOG, ORPHANS, Hub
from recoup.adapters.logging_handler import RecoupHandler
from recoup.adapters.reporting import Background
from recoup.client import Client
from recoup.database.connection import Database
from recoup.settings import Settings


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    """A logger of the test's own; its handlers are closed with it."""
    log = logging.getLogger(f"shop.{uuid.uuid4().hex}")
    yield log
    for handler in [*log.handlers]:
        log.removeHandler(handler)
        handler.close()


def test_an_error_is_recorded_with_entity_traceback_and_without_secrets(
    hub: Hub, client: Client, log: logging.Logger
) -> None:
    handler = RecoupHandler(DOL, client)
    log.addHandler(handler)
    entity = uuid.uuid4()
    log.warning("not an error")
    try:
        raise ConnectionError("registry at postgresql://u:hunter2@db/x does not answer")
    except ConnectionError:
        log.exception("no filing of %s", "7", extra={"outreach_id": entity, "work_key": "filing-7"})
    handler.flush()
    row = hub.row_of(entity)
    assert row["error_message"].startswith("no filing of 7: registry at")
    assert (row["error_code"], row["work_key"], row["category"]) == ("ConnectionError", "filing-7", "TRANSIENT")
    assert "raise ConnectionError" in row["payload"]["traceback"]
    assert row["payload"]["logger"] == log.name
    assert "hunter2" not in str(row)


def test_a_record_without_exception_or_entity(hub: Hub, client: Client, log: logging.Logger) -> None:
    log.addHandler(handler := RecoupHandler(LOG, client))
    log.addHandler(other := RecoupHandler(DOL, client))
    words = f"disk {uuid.uuid4()} is full"
    log.error(words, extra={"error_code": "DISK_FULL"})
    handler.flush()
    other.flush()
    found = hub.rows("select error_table, error_code from recoup.error where error_message = %s order by 1", words)
    assert found == [(LOG, "DISK_FULL"), (ORPHANS, "DISK_FULL")], "a table that needs an entity does not take it"


def test_what_recoup_logs_while_it_records_is_not_recorded(
    settings: Settings, log: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    """The handler is on the root logger and its server cannot be reached: each failure is one line, and that is all."""
    handler = RecoupHandler(LOG, Database("postgresql://nobody@localhost:1/nothing", settings))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        log.error("one")
        handler.flush()
        handler.flush()  # what the first one caused would be recorded before this ends
    finally:
        root.removeHandler(handler)
        handler.close()
    assert [record.name for record in caplog.records if "was not recorded" in record.getMessage()] == ["recoup"]


def test_what_does_not_fit_is_dropped_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    background = Background("test", capacity=2)
    begun, resume = threading.Event(), threading.Event()
    done: list[int] = []

    def hold() -> None:
        begun.set()
        resume.wait(60)

    background.put(hold)
    assert begun.wait(60)
    for number in range(5):
        background.put(partial(done.append, number))
    assert background.dropped == 3
    assert not background.flush(0.01), "the thread is busy"
    resume.set()
    background.close()
    background.put(partial(done.append, 9))
    assert (done, background.dropped) == ([0, 1], 4)
    assert "were dropped" in caplog.text


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_records_with_connections_and_a_thread_of_its_own(
    hub: Hub, client: Client, log: logging.Logger
) -> None:
    log.addHandler(handler := RecoupHandler(DOL, client))
    parents, childs = uuid.uuid4(), uuid.uuid4()
    log.error("before", extra={"outreach_id": parents})
    handler.flush()
    child = os.fork()
    if child == 0:
        log.error("in the child", extra={"outreach_id": childs})
        handler.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    log.error("after", extra={"outreach_id": parents})
    handler.flush()
    assert hub.row_of(childs)["error_message"] == "in the child"
    (count,) = hub.rows("select count(*) from recoup.error where outreach_id = %s", parents)
    assert count == (2,)
