"""What a domain is: one object that declares everything it has.

A domain is a folder and one line in ``recoup/domains.py``. Migrate, audit, seals, worker, doctor, pauses, policy, demo
and docs iterate over the list of domains and know none of them by name. The folder holds

- ``manifest.py``, with the object itself; ``lifecycle.py``, ``policy.py`` and ``policy.toml``, ``duties.py``, …;
- ``migrations/*.sql``, which create its tables, once, in the order of their numbers over all domains;
- ``routines/*.sql``, which are installed in the database: functions and their grants;
- ``queries/*.sql``, which are sent to it.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from importlib.resources import files

from recoup.audit.invariant import Invariant
from recoup.database.connection import Transaction
from recoup.database.releases import Release
from recoup.find import Finder
from recoup.health import Check
from recoup.lifecycles.declaration import CONTENT_LOG, Lifecycle
from recoup.lifecycles.logs import Log
from recoup.operations.verbs import Subject
from recoup.pauses.scopes import Pausable
from recoup.policy.section import Part
from recoup.signals import Source
from recoup.timeline import Timeline
from recoup.why import Sources
from recoup.worker.duty import Duty

SchemaObject = tuple[str, int, str]  # schema, kind, name: as recoup.schema.describe sorts them


@dataclass(frozen=True, slots=True)
class SqlFile:
    """A file of SQL in a package."""

    package: str
    path: str

    @property
    def name(self) -> str:
        return f"{self.package}/{self.path}"

    @property
    def text(self) -> str:
        return files(self.package).joinpath(self.path).read_text(encoding="utf-8")

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def routines(package: str, *names: str) -> tuple[SqlFile, ...]:
    """Files of a package's ``routines`` folder, in the order in which they are installed."""
    return tuple(SqlFile(package, f"routines/{name}.sql") for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the command line: where its function or app is, imported when it is called."""

    name: str
    path: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """A part of the demo: some days of simulated time that end at the present."""

    name: str
    help: str
    span: timedelta
    exists: str  # query: whether it was played in this database
    # Where the functions are, imported when they are called. ``play`` takes the database, a function for
    # progress, what is played meanwhile or None, and the span of that; ``show`` prints the result.
    play: str
    show: str
    hosts: bool = False  # others are played in its last days; without, they follow it
    # What is open at the end, played when every part has been, shortly before the present. Takes the database and a
    # function for progress.
    ending: str | None = None
    background: str | None = None  # a context manager that runs while the demo is used
    handlers: str | None = None  # returns its handlers of errors, by table: with --demo no others are called


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Everything that a domain has."""

    name: str
    package: str
    description: str
    release: int  # rises with every change of routines or declaration
    epoch: int = 1  # rises when programs of the release before cannot work with the new one
    lifecycles: tuple[Lifecycle, ...] = ()
    logs: tuple[Log, ...] = ()
    records: tuple[tuple[str, str], ...] = ()  # logs of other domains, and the recorder of this one that writes them
    routines: tuple[SqlFile, ...] = ()
    policy: tuple[type[Part], ...] = ()
    duties: tuple[Duty, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    held: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # laws: lines of its documents that they enforce
    checks: tuple[Check, ...] = ()  # health checks of the doctor
    signals: tuple[Source, ...] = ()  # what alerts are raised on
    pausable: tuple[Pausable, ...] = ()  # in addition to its duties and its tables
    refusals: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # SQLSTATE: code, and what it protects
    subjects: tuple[Subject, ...] = ()  # what people act on, and the verbs for it
    finders: tuple[Finder, ...] = ()  # how its rows are found by name or id
    timelines: tuple[Timeline, ...] = ()  # how its rows are shown on a time line
    commands: tuple[Command, ...] = ()
    api: tuple[str, ...] = ()  # its routes, area by area: where they are, imported by the service
    demo: Demo | None = None
    ensure: Callable[[Transaction], Iterable[str]] | None = None  # creates what the policy asks for; returns its names
    later: Callable[[Transaction], Iterable[SchemaObject]] | None = None  # what it created, which no schema file has
    absent: Callable[[Transaction], Iterable[SchemaObject]] | None = None  # of the schema file, left out by the policy
    audited_whole: tuple[str, ...] = ()  # tables whose partitions may be dropped: locked while the audit reads

    @property
    def migrations(self) -> tuple[SqlFile, ...]:
        folder = files(self.package).joinpath("migrations")
        names = sorted(f.name for f in folder.iterdir() if f.name.endswith(".sql")) if folder.is_dir() else []
        return tuple(SqlFile(self.package, f"migrations/{name}") for name in names)

    @cached_property
    def at(self) -> Release:
        return Release(self.name, self.epoch, self.release)


def releases(domains: Sequence[Domain]) -> tuple[Release, ...]:
    """The releases that a program needs in a database."""
    return tuple(domain.at for domain in domains)


def parts(domains: Sequence[Domain]) -> tuple[type[Part], ...]:
    """The sections of the policy."""
    return tuple(part for domain in domains for part in domain.policy)


def duties(domains: Sequence[Domain]) -> tuple[Duty, ...]:
    """All background tasks. The platform is first in the list of domains; its tasks, which serve all, come last."""
    platform, *others = domains
    return tuple(duty for domain in (*others, platform) for duty in domain.duties)


def lifecycles(domains: Sequence[Domain]) -> tuple[Lifecycle, ...]:
    return tuple(life for domain in domains for life in domain.lifecycles)


def logs(domains: Sequence[Domain]) -> tuple[Log, ...]:
    """Every log, with the recorders of other domains."""
    return tuple(log for domain in domains for log in _logs(domain, domains))


def finders(domains: Sequence[Domain]) -> tuple[Finder, ...]:
    """How the rows of all domains are found."""
    return tuple(finder for domain in domains for finder in domain.finders)


def explained(domains: Sequence[Domain]) -> Sources:
    """What ``recoup why`` reads: how the rows of all domains are found, and shown on a time line."""
    return Sources(
        finders={domain.name: domain.finders for domain in domains},
        timelines=tuple(one for domain in domains for one in domain.timelines),
    )


def sources(domains: Sequence[Domain]) -> tuple[Source, ...]:
    """Everything that is measured for alerts."""
    return tuple(source for domain in domains for source in domain.signals)


def pausables(domains: Sequence[Domain]) -> Iterator[Pausable]:
    for domain in domains:
        yield from domain.pausable


def _logs(domain: Domain, domains: Sequence[Domain]) -> Iterator[Log]:
    for log in domain.logs:
        others = [recorder for other in domains for name, recorder in _recorders(other) if name == log.table]
        yield replace(log, recorders=(*log.recorders, *others)) if others else log


def _recorders(domain: Domain) -> Iterator[tuple[str, str]]:
    """Logs of other domains that a domain writes, and the recorder that does it."""
    yield from domain.records
    for life in domain.lifecycles:
        for on in life.digesting:
            yield CONTENT_LOG, on.function
