"""Every invariant finds what it is there to find: rows that somebody wrote with all triggers and constraints off."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from psycopg.sql import Composable, Identifier, Literal

from company import acting
from conformance import (
    alert_breaches,
    delivery_breaches,
    error_breaches,
    gate_breaches,
    partition_breaches,
    recovery_breaches,
    run_breaches,
    service_breaches,
)
from conformance import breaches as suite
from product import INVARIANTS, LIFECYCLES, chosen
from recoup.audit.examine import InvariantResult, examine
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from lively import Cast, broken, play

ROWS = (
    *gate_breaches.ROWS, *error_breaches.ROWS, *run_breaches.ROWS, *delivery_breaches.ROWS, *alert_breaches.ROWS,
    *service_breaches.ROWS,
    *recovery_breaches.ROWS, *partition_breaches.ROWS, *suite.generated(LIFECYCLES),
)  # fmt: skip
SCHEMA = (*gate_breaches.SCHEMA, *error_breaches.SCHEMA)


@dataclasses.dataclass(frozen=True)
class Ground:
    """A database, a superuser in it, and the cast that played there."""

    tx: Transaction
    cast: Cast | None
    settings: Settings

    def broken_by(self, breach: str, invariant: str) -> InvariantResult:
        return suite.broken_by(self.tx, breach, invariant, INVARIANTS, self._names(), self.settings)

    def _names(self) -> dict[str, Composable]:
        if self.cast is not None:
            told = dataclasses.asdict(self.cast)
            for part in ("errors", "runs", "deliveries", "alerts", "recovery", "partitions", "service"):
                told |= told.pop(part)
            return {name: Literal(value) for name, value in told.items()}
        (recorder,) = self.tx.execute(
            "select tgname from pg_trigger where tgrelid = 'cl.gate_zero_attempt'::regclass"
            " and tgfoid = 'cl.record_attempt_births'::regproc"
        ).fetchone() or ("none",)
        return {"recorder": Identifier(recorder)}


@pytest.fixture(scope="module")
def unguarded(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[Ground]:
    """Nothing holds anybody back."""
    name = new_database()
    with Database(server.uri(name), settings) as database:
        cast = play(database)
    with contextlib.closing(connect(server.uri(name, admin=True), settings)) as connection:
        connection.execute(suite.UNGUARD)
        yield Ground(connection, cast, settings)


def test_nothing_is_broken_before(unguarded: Ground) -> None:
    """What the breaches below do is all that is wrong."""
    with unguarded.tx.transaction(force_rollback=True), acting(unguarded.tx, Authority.READER):
        asked = {invariant for invariant, _ in ROWS}
        found = examine(unguarded.tx, [i for i in INVARIANTS if i.id in asked], settings=unguarded.settings)
        assert broken(found) == {}
        assert [one.id for one in found if one.note] == []


@pytest.mark.parametrize(("invariant", "breach"), ROWS, ids=[f"{i}-{n}" for n, (i, _) in enumerate(ROWS)])
def test_a_breach_is_found_in_the_rows(unguarded: Ground, invariant: str, breach: str) -> None:
    """The invariant reports it, with rows and not with an error."""
    suite.is_found(unguarded.broken_by(breach, invariant))


@pytest.mark.parametrize(("invariant", "breach"), SCHEMA, ids=[f"{i}-{n}" for n, (i, _) in enumerate(SCHEMA)])
def test_a_breach_is_found_in_the_schema(admin: Transaction, settings: Settings, invariant: str, breach: str) -> None:
    suite.is_found(Ground(admin, None, settings).broken_by(breach, invariant))


# What looks odd and is as it should be.
LAWFUL = (
    # A batch from before the control log has no BIRTH, and may have nothing in it at all.
    ("rebuild/cl.gate_zero_batch",
     "delete from recoup.control_log where key = {batch};"
     " update cl.gate_zero_batch set imported_at = '2020-01-01' where batch_id = {batch}"),
    ("laws/L2/chain/cl.gate_zero_batch",
     "delete from recoup.control_log where key = {batch} and event_type = 'BIRTH';"
     " update cl.gate_zero_batch set imported_at = '2020-01-01' where batch_id = {batch}"),
    # Transaction ids of a cluster that is over may be higher than those of this one.
    ("laws/L3/transactions",
     "update cl.gate_zero_air set xid = '9223372036854775806';"
     " insert into recoup.incarnation values (2, 1, now())"),
    # A mint that has not begun owes nothing, and neither does one for what comes behind its place in the log.
    ("gate_zero_air/8/each-auth-is-minted", "delete from recoup.subscription; delete from cl.company_identity"),
    ("gate_zero_air/8/each-auth-is-minted",
     "delete from cl.company_identity; update recoup.subscription set since = '1:1:', until = '1:1:'"),
    # What a worker gives as evidence may look like what a crash writes.
    ("rebuild/cl.gate_zero_attempt",
     "update cl.gate_zero_attempt set payload_ref = 'attempt:' || attempt_id where intake_id = {failed};"
     " update cl.gate_zero_air set payload_ref = 'attempt:' || attempt_id"
     "  where entity_id = {failed} and event_type = 'FAIL'"),
    # What was there before policies were kept carries version 1.
    ("laws/L8/stamped", "update cl.gate_zero_attempt set opened_at = '2020-01-01' where policy_version = 1"),
    *recovery_breaches.LAWFUL,
)  # fmt: skip


@pytest.mark.parametrize(("invariant", "deed"), LAWFUL, ids=[f"{i}-{n}" for n, (i, _) in enumerate(LAWFUL)])
def test_no_alarm_without_a_breach(unguarded: Ground, invariant: str, deed: str) -> None:
    assert unguarded.broken_by(deed, invariant).rows == ()


def test_every_invariant_has_a_breach() -> None:
    """No exceptions."""
    assert {i.id for i in INVARIANTS} == {id_ for id_, _ in (*ROWS, *SCHEMA)}


def test_every_lifecycle_is_rebuilt_from_its_log() -> None:
    assert {life.table for life in LIFECYCLES} == {i.id.removeprefix("rebuild/") for i in chosen(["rebuild"])}
