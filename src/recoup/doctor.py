"""``recoup doctor``: every check in order, of the platform and of each domain."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from functools import partial

from recoup.database import access, memory
from recoup.database.backup import left_behind
from recoup.database.connection import connect
from recoup.database.failures import where
from recoup.database.pinned import pin
from recoup.database.releases import check_schema
from recoup.database.tracked import TrackedConnection
from recoup.domain import Domain, releases
from recoup.health import Check, Finding
from recoup.refusals import Refusal
from recoup.schema import around, checks
from recoup.settings import Settings, load

DISK_LEAST_BYTES = 1_000_000_000
_POOLED = (
    "a pooler gives each transaction another session: role and actor are said in every one, so a single statement takes"
    " three round trips; statements are planned each time; workers hear no notification, and look at their cadence"
)
_NAMES = ("settings", "server", "schema")


def examine(domains: Sequence[Domain], *, demo: bool = False) -> list[Finding]:
    """Run the checks in order. What a later one needs and an earlier one found broken is not tried."""
    findings: list[Finding] = []
    try:
        settings = load()
        findings.append(Finding(check="settings", verdict="well", found="all known and within bounds"))
        uri = _server(settings, demo=demo, findings=findings)
        with contextlib.closing(connect(uri, settings)) as connection:
            version = connection.info.server_version
            found = f"PostgreSQL {version // 10000}.{version % 10000} at {where(uri)}"
            findings.append(Finding(check="server", verdict="well", found=found))
            check_schema(connection, releases(domains))
            findings.append(Finding(check="schema", verdict="well", found="the one this program knows"))
            findings.append(_sessions(connection, settings))
            if settings.dsn is None:
                findings.append(_memory(connection))
            findings.extend(_restores(connection))
            for check in _checks(domains):
                with connection.transaction(force_rollback=True):
                    pin(connection)
                    findings.extend(check(connection))
    except Refusal as refusal:
        check_name = _NAMES[len(findings)] if len(findings) < len(_NAMES) else "checks"
        findings.append(
            Finding(check=check_name, verdict="broken", found=refusal.happened, next_step=refusal.next_step)
        )
    return findings


def _checks(domains: Sequence[Domain]) -> Iterator[Check]:
    yield from (checks.login, checks.roles, around.members, around.settings, around.strangers)
    yield from (checks.guards, checks.children)
    yield from (partial(checks.objects, domains=domains), partial(checks.declared, domains=domains))
    yield from (checks.clock, checks.waiting, *(check for domain in domains for check in domain.checks))


def _server(settings: Settings, *, demo: bool, findings: list[Finding]) -> str:
    uri = access.uri(settings, demo=demo)
    if settings.dsn is None:
        free = shutil.disk_usage(settings.home).free
        if free < DISK_LEAST_BYTES:
            findings.insert(
                0,
                Finding(
                    check="disk",
                    verdict="look",
                    found=f"{free:,} bytes are left where {settings.home} stands",
                    next_step="Make room: a full disk stops the server.",
                ),
            )
    return uri


def _sessions(connection: TrackedConnection, settings: Settings) -> Finding:
    """Whether a session is ours from login to end."""
    if connection.direct:
        kept = "kept from login to end, by authority: one statement is one round trip"
        return Finding(check="sessions", verdict="well", found=kept)
    if settings.pooler == "transaction":
        return Finding(check="sessions", verdict="well", found=f"as RECOUP_POOLER says, {_POOLED}")
    return Finding(
        check="sessions",
        verdict="look",
        found=_POOLED,
        next_step="Let RECOUP_DSN lead past the pooler, at least for workers; or set RECOUP_POOLER=transaction to say"
        " that it is meant.",
    )


def _restores(connection: TrackedConnection) -> Iterator[Finding]:
    """Databases without a use, if there are any."""
    if left := left_behind(connection):
        yield Finding(
            check="restores",
            verdict="look",
            found=f"left by restores that were killed: {', '.join(left)}",
            next_step="The next recoup db restore removes them; or, as an administrator: DROP DATABASE.",
        )


def _memory(connection: TrackedConnection) -> Finding:
    """What the embedded server has, by our choice at its start or by an ALTER SYSTEM, which wins."""
    (buffers,) = connection.execute("select current_setting('shared_buffers')").fetchone() or ("",)
    found = f"shared_buffers is {buffers}, of {memory.usable_bytes() // memory.MB:,} MB that may be used here"
    return Finding(check="memory", verdict="well", found=found)
