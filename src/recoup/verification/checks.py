"""The checks of Gate Zero, and what a check is.

A check examines one company with the tools it is given, and returns what it found. It may use what earlier checks found
of the same company, and finds it out itself when they did not run. Four are built in. Others come from installed
packages through the entry point group ``recoup.gate_checks``: a check, or a callable that makes one.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import NamedTuple, Protocol

from recoup.refusals import InputRefused
from recoup.verification.addresses import Address
from recoup.verification.directory import Directory, Entry
from recoup.verification.domains import domain_of, page_of
from recoup.verification.findings import Finding, NotPassed
from recoup.verification.imprint import judged
from recoup.verification.resolver import Resolver
from recoup.verification.sites import Sites, WebPage
from recoup.verification.states import normal_state

ENTRY_POINTS = "recoup.gate_checks"


class Candidate(NamedTuple):
    """A company as it came in."""

    company_name: str
    company_domain: str | None = None
    linkedin_url: str | None = None
    state: str | None = None


@dataclass(slots=True, kw_only=True)
class Subject:
    """What was found about one company so far, and the tools to find out more."""

    candidate: Candidate
    resolver: Resolver
    sites: Sites
    directory: Directory | None
    # A name is resolved once: a different answer a moment later cannot redirect us.
    addresses: dict[str, tuple[Address, ...]] = field(default_factory=dict)
    page: WebPage | None = None
    entry: Entry | None = None
    domain: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.domain = domain_of(self.candidate.company_domain)

    @property
    def host(self) -> str:
        """The company's host name; raises the finding if there is none."""
        if self.domain is None:
            given = self.candidate.company_domain
            raise NotPassed(Finding.NO_DOMAIN, f"{given!r} is not a domain name" if given else "no domain was given")
        return self.domain

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """The addresses of a host, as first resolved."""
        if host not in self.addresses:
            self.addresses[host] = await self.resolver.addresses(host)
        return self.addresses[host]

    async def fetch(self) -> WebPage:
        """The company's page."""
        if self.page is None:
            self.page = await self.sites.page(self.host, self.resolve)
        return self.page

    async def look_up(self) -> Entry:
        """The company's entry in the directory. If the intake has a LinkedIn page, it must be the listed one."""
        assert self.directory is not None, "a check that needs the directory was listed without one"
        if self.entry is None:
            domain = (self.domain or "").removeprefix("www.")
            given = self.candidate.linkedin_url or ""
            entry = await self.directory.entry(domain, self.candidate.company_name, given)
            if given and entry.linkedin_url and page_of(entry.linkedin_url) != page_of(given):
                message = f"the directory lists the page {entry.linkedin_url}, the intake says {given}"
                raise NotPassed(Finding.ENTRY_OF_OTHERS, message)
            self.entry = entry
        return self.entry


class Check(Protocol):
    """One question about a company. Runs for hundreds at a time, so it keeps no state."""

    @property
    def name(self) -> str: ...

    async def __call__(self, candidate: Candidate, subject: Subject) -> tuple[Finding, str]: ...


class Dns:
    """Does the domain exist?"""

    name = "dns"

    async def __call__(self, candidate: Candidate, subject: Subject) -> tuple[Finding, str]:
        addresses = await subject.resolve(subject.host)
        return Finding.PASSED, f"{subject.host} is at {addresses[0]}"


class Imprint:
    """Does the site show the company?"""

    name = "imprint"

    async def __call__(self, candidate: Candidate, subject: Subject) -> tuple[Finding, str]:
        return judged(await subject.fetch(), candidate.company_name, subject.host)


class InDirectory:
    """Does the directory know the company?"""

    name = "directory"

    async def __call__(self, candidate: Candidate, subject: Subject) -> tuple[Finding, str]:
        entry = await subject.look_up()
        return Finding.PASSED, f"listed, in {', '.join(entry.states) or 'no state'}"


class State:
    """Is the company where it says it is?"""

    name = "state"

    async def __call__(self, candidate: Candidate, subject: Subject) -> tuple[Finding, str]:
        entry = await subject.look_up()
        places = {normal_state(state) or state.casefold() for state in entry.states}
        listed = ", ".join(entry.states)
        if entry.is_global:
            return Finding.STATE_GLOBAL, f"the directory says {entry.scope}"
        if len(places) > 1:
            return Finding.STATES_SEVERAL, f"the directory lists {listed}"
        if not places:
            return Finding.STATE_NONE, "the directory lists no state"
        own = normal_state(candidate.state)
        if own is None:
            return Finding.STATE_UNREADABLE, f"the intake's state is {candidate.state!r}"
        if places != {own}:
            return Finding.STATE_DIFFERS, f"the directory lists {listed}, the intake says {candidate.state}"
        return Finding.PASSED, f"in {own}"


CHECKS: Mapping[str, Check] = {check.name: check for check in (Dns(), Imprint(), InDirectory(), State())}
NEED_DIRECTORY = frozenset({InDirectory.name, State.name})


def check_named(name: str) -> Check:
    """A built-in check, or one of an installed package; or a refusal with the nearest name."""
    if name in CHECKS:
        return CHECKS[name]
    installed = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in installed:
        known = sorted({*CHECKS, *installed})
        near = difflib.get_close_matches(name, known, n=1)
        raise InputRefused(
            "check_unknown",
            f"There is no check {name!r}" + (f"; did you mean {near[0]}?" if near else "."),
            f"Checks are {', '.join(known)}. Add your own through the entry point group {ENTRY_POINTS}.",
            check=name,
            known=known,
        )
    try:
        loaded = installed[name].load()
        check: Check = loaded if hasattr(loaded, "name") and not isinstance(loaded, type) else loaded()
    except Exception as error:  # code of other packages: report whatever it raises
        raise InputRefused(
            "check_unusable",
            f"The check {name!r} cannot be loaded: {type(error).__name__}: {error}.",
            f"Fix {installed[name].value}, or remove the check from the policy.",
            check=name,
        ) from error
    if not callable(check):
        raise InputRefused(
            "check_unusable",
            f"The check {name!r} cannot be called.",
            f"Fix {installed[name].value}: an async function of candidate and subject.",
            check=name,
        )
    return check
