"""Rows that come by logical replication are not taken: an apply worker fires triggers for rows, none for statements.

The publisher is a server of its own, with tables of the same names and columns, as somebody would make it who wants to
write past the guards.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from company import ERRORS, failed_intake, new_error
from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.settings import Settings
from servers import removed, started

REPLICATED = ("cl.gate_zero_intake", "cl.gate_zero_air", "recoup.lifecycle_step", "recoup.subscription", ERRORS)
WAIT_S = 20


@pytest.fixture(scope="module")
def publisher(settings: Settings) -> Iterator[embedded.Server]:
    home = Path(tempfile.mkdtemp(prefix="recoup-test-publisher-"))
    own = dataclasses.replace(settings, home=home)
    try:
        server = started(own)
        with psycopg.connect(server.uri("postgres", admin=True), autocommit=True) as admin:
            admin.execute("alter system set wal_level = logical")
        embedded.stop(own)
        yield started(own)
    finally:
        removed(own)


@pytest.fixture(scope="module")
def subscriber(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Transaction]:
    with contextlib.closing(connect(server.uri(new_database(), admin=True), settings)) as admin:
        yield admin


@pytest.fixture(scope="module")
def played(subscriber: Transaction) -> None:
    with subscriber.transaction():
        new_error(subscriber)
        failed_intake(subscriber)


@pytest.fixture(scope="module")
def theirs(publisher: embedded.Server, subscriber: Transaction, played: None) -> Iterator[Transaction]:
    """The publisher's tables: the same columns and nothing else."""
    with psycopg.connect(publisher.uri("postgres", admin=True), autocommit=True) as admin:
        for table in REPLICATED:
            columns = subscriber.execute(
                "select string_agg(format('%%I %%s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum)"
                " from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped",
                (table,),
            ).fetchone() or ("",)
            admin.execute(f"create schema if not exists {table.split('.')[0]}")
            admin.execute(f"create table {table} ({columns[0]})")
            admin.execute(f"alter table {table} replica identity full")
            rows = subscriber.execute(f"select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text from {table} t").fetchone()
            admin.execute(f"insert into {table} select * from jsonb_populate_recordset(null::{table}, %s)", rows)
        admin.execute(f"create publication p for table {', '.join(REPLICATED)}")
        yield admin


DEEDS = {
    "a status": "update cl.gate_zero_intake set status = 'AUTHORIZED'",
    "a company": "update cl.gate_zero_intake set company_name = 'Evil Corp'",
    "no row": "delete from cl.gate_zero_intake",
    "an event": "insert into cl.gate_zero_air select (jsonb_populate_record(a, jsonb_build_object('seq', 1000000,"
    " 'air_event_id', gen_random_uuid(), 'actor_id', 'forger'))).* from cl.gate_zero_air a limit 1",
    "a step": "update recoup.lifecycle_step set authority = 'hub' where subject = 'cl.gate_zero_intake'",
    "an error of a partition": f"delete from {ERRORS}",
}


@contextlib.contextmanager
def subscribed(subscriber: Transaction, publisher: embedded.Server) -> Iterator[None]:
    """While it lasts, what the publisher commits comes here; the first error switches it off."""
    subscriber.execute(
        f"create subscription s connection '{publisher.uri('postgres', admin=True)}' publication p"
        " with (copy_data = false, disable_on_error = true)"
    )
    try:
        yield
    finally:
        subscriber.execute("drop subscription s")


def until(subscriber: Transaction, question: str) -> bool:
    """Whether the answer is yes within bounded time."""
    ends = time.monotonic() + WAIT_S
    while subscriber.execute(question.encode()).fetchone() != (True,):
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def everything(tx: Transaction) -> list[object]:
    return [tx.execute(f"select t::text from {table} t order by 1".encode()).fetchall() for table in REPLICATED]


@pytest.mark.parametrize("deed", DEEDS)
def test_nothing_is_replicated_into_our_tables(
    subscriber: Transaction, publisher: embedded.Server, theirs: Transaction, deed: str
) -> None:
    """States, logs, declarations, partitions: the apply worker is refused, and what stands here stays."""
    before = everything(subscriber)
    with subscribed(subscriber, publisher):
        theirs.execute(DEEDS[deed].encode())
        assert until(subscriber, "select not subenabled from pg_subscription where subname = 's'")
    assert everything(subscriber) == before


def test_without_its_trigger_a_forged_row_would_stand(
    subscriber: Transaction, publisher: embedded.Server, theirs: Transaction
) -> None:
    """So what is tried above is what happens. Done last: it leaves the database open."""
    subscriber.execute("drop function recoup.refuse_replicated cascade")
    with subscribed(subscriber, publisher):
        theirs.execute(
            "insert into cl.gate_zero_intake (intake_id, company_name, status, created_at, updated_at)"
            " values (gen_random_uuid(), 'Forged', 'PENDING', now(), now())"
        )
        assert until(subscriber, "select exists (select from cl.gate_zero_intake where company_name = 'Forged')")
