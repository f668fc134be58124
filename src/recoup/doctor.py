"""``recoup doctor``: every check in order, of the platform and of each domain."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from functools import partial

from recoup.database import access, memory
from recoup.database.backup import left_behind
from recoup.database.connection import Transaction, connect
from recoup.database.failures import where
from recoup.database.pinned import pin
from recoup.database.releases import check_schema
from recoup.database.tracked import TrackedConnection
from recoup.domain import Domain, releases
from recoup.health import Check, CheckResult
from recoup.refusals import Refusal
from recoup.schema import around, checks
from recoup.settings import Settings, load

DISK_LEAST_BYTES = 1_000_000_000
_POOLED = (
    "a connection pooler gives each transaction another session: every transaction sets role and actor, so a single"
    " statement takes three round trips; statements are planned each time; workers get no notifications, and poll"
)
_NAMES = ("settings", "server", "schema")


def examine(domains: Sequence[Domain], *, demo: bool = False) -> list[CheckResult]:
    """Run the checks in order. After an error, checks that depend on it are skipped."""
    results: list[CheckResult] = []
    try:
        settings = load()
        results.append(_settings(settings))
        uri = _server(settings, demo=demo, results=results)
        with contextlib.closing(connect(uri, settings)) as connection:
            version = connection.info.server_version
            found = f"PostgreSQL {version // 10000}.{version % 10000} at {where(uri)}"
            results.append(CheckResult(check="server", verdict="ok", found=found))
            check_schema(connection, releases(domains))
            results.append(CheckResult(check="schema", verdict="ok", found="up to date"))
            results.append(_sessions(connection, settings))
            if settings.dsn is None:
                results.append(_memory(connection))
            results.extend(_restores(connection))
            for check in _checks(domains):
                with connection.transaction(force_rollback=True):
                    pin(connection)
                    results.extend(check(connection))
    except Refusal as refusal:
        check_name = _NAMES[len(results)] if len(results) < len(_NAMES) else "checks"
        results.append(
            CheckResult(check=check_name, verdict="error", found=refusal.happened, next_step=refusal.next_step)
        )
    return results


def of_domains(tx: Transaction, domains: Sequence[Domain]) -> Iterator[CheckResult]:
    """What the domains check themselves, in a transaction that exists: cheap, and changes nothing.

    Not among them is what compares the whole schema with its declaration: that is for the command alone.
    """
    for domain in domains:
        for check in domain.checks:
            with tx.transaction(force_rollback=True):
                pin(tx)
                yield from list(check(tx))


def _checks(domains: Sequence[Domain]) -> Iterator[Check]:
    yield from (checks.login, checks.roles, around.members, around.settings, around.strangers)
    yield from (checks.guards, checks.children)
    yield from (partial(checks.objects, domains=domains), partial(checks.declared, domains=domains))
    yield from (checks.clock, checks.waiting, *(check for domain in domains for check in domain.checks))


def _server(settings: Settings, *, demo: bool, results: list[CheckResult]) -> str:
    uri = access.uri(settings, demo=demo)
    if settings.dsn is None:
        free = shutil.disk_usage(settings.home).free
        if free < DISK_LEAST_BYTES:
            results.insert(
                0,
                CheckResult(
                    check="disk",
                    verdict="warning",
                    found=f"{free / 1e6:,.0f} MB free on the disk of {settings.home}",
                    next_step="Free some space: a full disk stops the server.",
                ),
            )
    return uri


def _settings(settings: Settings) -> CheckResult:
    """Which project file is used, and where each value comes from that is not a default."""
    file = "no recoup.toml in this folder or above" if settings.project is None else f"project file {settings.project}"
    values = [f"{name} from {source}" for name, source in sorted(settings.sources.items())]
    found = f"{file}; {', '.join(values) or 'no value given'}; all others are defaults"
    return CheckResult(check="settings", verdict="ok", found=found)


def _sessions(connection: TrackedConnection, settings: Settings) -> CheckResult:
    """Whether a session stays the same from login to end."""
    if connection.direct:
        kept = "one session per connection: one statement is one round trip"
        return CheckResult(check="sessions", verdict="ok", found=kept)
    if settings.pooler == "transaction":
        return CheckResult(check="sessions", verdict="ok", found=f"as set by RECOUP_POOLER: {_POOLED}")
    return CheckResult(
        check="sessions",
        verdict="warning",
        found=_POOLED,
        next_step="Point RECOUP_DSN past the pooler, at least for workers; or confirm with RECOUP_POOLER=transaction.",
    )


def _restores(connection: TrackedConnection) -> Iterator[CheckResult]:
    """Databases that no restore will finish, if there are any."""
    if left := left_behind(connection):
        yield CheckResult(
            check="restores",
            verdict="warning",
            found=f"left behind by killed restores: {', '.join(left)}",
            next_step="The next recoup db restore drops them; or, as an administrator: DROP DATABASE.",
        )


def _memory(connection: TrackedConnection) -> CheckResult:
    """The embedded server's memory: chosen at its start, unless ALTER SYSTEM set it."""
    (buffers,) = connection.execute("select current_setting('shared_buffers')").fetchone() or ("",)
    found = f"shared_buffers is {buffers}, of {memory.usable_bytes() // memory.MB:,} MB available"
    return CheckResult(check="memory", verdict="ok", found=found)
