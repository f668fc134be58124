"""One real PostgreSQL for the whole run, one database for each test worker.

Entities are unique per test, so tests share a database and nothing is cleaned up between them. The shared database is
simulated: tests move its time forward. A test of clocks, migrations or restores asks for a fresh database.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from databases import START, Databases
from recoup.database import embedded
from recoup.database.connection import Database, Transaction, connect
from recoup.settings import Settings, load
from servers import removed, shared

HOME_VARIABLE = "TEST_RECOUP_HOME"
LONGEST = (
    "docs/test_printed.py",
    "docs/test_howtos.py",
    "docs/test_howtos_too.py",
    "bench/test_runs.py",
    "laws/test_laws.py",
    "conformance/test_combinations.py",
    "crash/test_killed_in_a_duty.py",
    "audit/test_every_column.py",
    "database/test_embedded.py",
    "database/test_external_login.py",
    "gate/test_plans.py",
    "cli/test_commands.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `make soak` turns up. The defaults are the short run of `make test`."""
    group = parser.getgroup("recoup")
    group.addoption("--cases", type=int, default=200, help="how many cases of tampering are tried")
    group.addoption("--seed", type=int, default=1, help="where random cases begin")
    group.addoption("--times", type=int, default=1, help="how often each race and each kill is repeated")
    group.addoption(
        "--stress-seconds", type=float, default=2.0, help="how long each variant of the stress runs goes on"
    )
    group.addoption("--timings", action="store_true", help="also measure times, which needs a machine of one's own")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Races and kills are repeated as often as was asked."""
    if metafunc.definition.path.parent.name not in ("races", "crash"):
        return
    times = metafunc.config.getoption("--times")
    if times > 1 and "again" not in metafunc.fixturenames:
        metafunc.fixturenames.append("again")
    if "again" in metafunc.fixturenames:
        metafunc.parametrize("again", range(times), ids=lambda again: f"again{again}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files first, so that none of them is left to one worker alone at the end. Timings when asked for."""
    if not config.getoption("--timings"):
        left = [item for item in items if item.get_closest_marker("timing") is not None]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get("/".join(item.path.parts[-2:]), len(places)))


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """Where random cases begin."""
    return int(pytestconfig.getoption("--seed"))


def pytest_configure(config: pytest.Config) -> None:
    """The first process starts the server; test workers find it by its home."""
    if HOME_VARIABLE not in os.environ:
        os.environ[HOME_VARIABLE] = tempfile.mkdtemp(prefix="recoup-test-")
        config.stash[_OURS] = True


def pytest_unconfigure(config: pytest.Config) -> None:
    if config.stash.get(_OURS, False):
        removed(server_settings())
        del os.environ[HOME_VARIABLE]


_OURS: pytest.StashKey[bool] = pytest.StashKey()


def server_settings() -> Settings:
    """Settings of the server that all tests share. RECOUP_SERVER_BIN chooses its version."""
    environment = {k: v for k, v in os.environ.items() if k in ("RECOUP_SERVER_BIN", "RECOUP_SERVER_USER")}
    # Who holds a lock on a busy machine may not be given a processor for seconds: to wait for it is no failure.
    patient = {"RECOUP_LOCK_TIMEOUT_MS": "60000", "RECOUP_STATEMENT_TIMEOUT_MS": "120000"}
    return load({**environment, **patient, "RECOUP_HOME": os.environ[HOME_VARIABLE], "RECOUP_ACTOR": "tester"})


@pytest.fixture(scope="session")
def settings() -> Settings:
    return server_settings()


@pytest.fixture(scope="session")
def server(settings: Settings) -> embedded.Server:
    return shared(settings)


@pytest.fixture(scope="session")
def new_database(server: embedded.Server, settings: Settings) -> Databases:
    """Makes a migrated database and returns its name. It is dropped at the end of the module that asked for it."""
    made = Databases(server, settings)
    _DATABASES.append(made)
    return made


@pytest.fixture(scope="module", autouse=True)
def _dropped() -> Iterator[None]:
    """Set up before everything else of the module, and so the last to end."""
    yield
    for made in _DATABASES:
        made.drop()


_DATABASES: list[Databases] = []


@pytest.fixture(scope="session")
def database_name(new_database: Callable[..., str]) -> str:
    return new_database(keep=True)


@pytest.fixture(scope="session")
def db(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Database]:
    """The shared simulated database, as the everyday login."""
    with Database(server.uri(database_name), settings) as database:
        yield database


@pytest.fixture
def admin(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Transaction]:
    """A superuser's connection to the shared database, in autocommit."""
    with contextlib.closing(connect(server.uri(database_name, admin=True), settings)) as connection:
        yield connection


@pytest.fixture(scope="module")
def ground(server: embedded.Server, settings: Settings, database_name: str) -> Iterator[Transaction]:
    """A superuser's connection in autocommit, one for a module: a new one reads the catalogue and compiles anew."""
    with contextlib.closing(connect(server.uri(database_name, admin=True), settings)) as connection:
        yield connection


@pytest.fixture
def scratch(ground: Transaction) -> Iterator[Transaction]:
    """A superuser's connection inside a transaction that is rolled back. Nothing is left for the next test."""
    with ground.transaction(force_rollback=True):
        yield ground


@pytest.fixture
def fresh(
    new_database: Callable[..., str], server: embedded.Server, settings: Settings
) -> Iterator[Callable[..., Database]]:
    """Makes a database of the test's own."""
    with contextlib.ExitStack() as stack:

        def make(*, simulated_from: datetime | None = START) -> Database:
            name = new_database(simulated_from=simulated_from)
            return stack.enter_context(Database(server.uri(name), settings))

        yield make
