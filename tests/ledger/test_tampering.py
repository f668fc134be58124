"""What a superuser changes with the triggers off is found: seeded random cases, each in a transaction that is undone.

``--cases`` says how many, ``--seed`` from where; a case that is not found names both and what was done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from company import acting
from product import LOGS, SEALED
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.ledger import seals
from recoup.ledger.seals import Head, Problem
from recoup.lifecycles.declaration import Authority
from recoup.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))
from sealed_world import live
from tampering import WAYS, disarm, draw

HUNDRED = 100


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "first" in metafunc.fixturenames:
        cases = int(metafunc.config.getoption("--cases", 200, skip=False) or 200)
        metafunc.parametrize("first", range(0, cases, HUNDRED), ids=lambda first: f"from-{first}")


@pytest.fixture(scope="module")
def seed(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("--seed", 1, skip=False) or 1)


@dataclass(frozen=True)
class World:
    """A sealed database without defences, a superuser in it, and the head that was kept elsewhere."""

    admin: Transaction
    head: Head

    def verify(self, head: Head | None = None) -> list[Problem]:
        with acting(self.admin, Authority.READER):
            return seals.verify(self.admin, LOGS, head)


@pytest.fixture(scope="module")
def world(new_database: Callable[..., str], server: embedded.Server, settings: Settings) -> Iterator[World]:
    name = new_database()
    with (
        Database(server.uri(name), dataclasses.replace(settings, pool_max=8)) as database,
        contextlib.closing(connect(server.uri(name, admin=True), settings)) as admin,
    ):
        live(database, admin)
        with database.transaction(Authority.READER) as tx:
            head = seals.export_head(tx)
        disarm(admin)
        admin.execute("analyze")
        yield World(admin, head)


def test_the_world_has_every_kind_of_block(world: World) -> None:
    """Otherwise the cases below would prove less than they seem to."""
    found = seals.list_seals(world.admin, limit=1000)
    rows = Counter({log.log: 0 for log in SEALED})
    for seal in found:
        rows[seal.log] += seal.rows
    assert 25 <= len(found) <= 10 * len(SEALED)  # a few for each log; declarations and birth digests make a third
    assert sum(rows.values()) > 300
    assert all(count > 3 for count in rows.values()), rows
    assert any(not seal.closes for seal in found)
    assert any(seal.closes and seal.after_seq for seal in found)
    assert any(seal.until is None for seal in found)
    assert any(len(seal.since.split(":")[2]) > 0 for seal in found)
    assert {seal.incarnation for seal in found} == {1, 2}
    assert any(seal.rows == 0 for seal in found)


def test_every_tampering_is_found(world: World, seed: int, first: int) -> None:
    """And where nothing was tampered with, nothing is found."""
    ways: Counter[str] = Counter()
    for number in range(first, first + HUNDRED):
        rng = random.Random(f"{seed}/{number}")
        way, tamper = draw(rng)
        ways[way] += 1
        with world.admin.transaction(force_rollback=True):
            done = tamper(world.admin, rng)
            told = f"case {number} of seed {seed}, {way}: {done.what} ({done.log})"
            if done.rewritten:
                assert world.verify() == [], f"{told}: the chain was not rewritten well"
            problems = world.verify(world.head if done.needs_head else None)
            assert problems, f"{told}: not found"
            assert done.log is None or done.log in {problem.log for problem in problems}, f"{told}: {problems}"
    with world.admin.transaction(force_rollback=True):
        assert world.verify(world.head) == []
    assert len(ways) > len(WAYS) // 2
