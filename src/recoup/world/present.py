"""What the servers of the world share: the companies, the day, and what they have seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from recoup.world.companies import Company
from recoup.world.kinds import Kind

DNS_ADDRESS = "127.77.0.53"
DIRECTORY_ADDRESS = "127.77.0.80"
SITES_ADDRESS = "127.77.1.1"
NOBODYS_ADDRESS = "127.77.1.9"  # nobody listens there
CANARY_ADDRESS = "127.0.0.1"  # on the port of the sites; nobody should ever come
NETWORK = "127.77.0.0/16"

# Names of a company beside its domain itself: one at the sites, one at the canary.
SITE_ALIAS, INSIDE = "www.", "inside."

# What is held back is held back for longer than any timeout that a policy may have.
HOLD_S = 150.0


@dataclass(slots=True)
class Seen:
    """What came in, counted from the start."""

    dns_queries: int = 0
    dns_queries_over_tcp: int = 0
    site_requests: int = 0
    directory_requests: int = 0
    canary_connections: int = 0
    cookies: int = 0  # requests that carried one
    bytes_sent: int = 0  # by sites and directory
    site_connections_most: int = 0  # open at once
    directory_connections_most: int = 0
    site_requests_most: int = 0  # being answered at once
    directory_requests_most: int = 0
    site_requests_most_by_host: dict[str, int] = field(default_factory=dict)
    user_agents: Counter[str] = field(default_factory=Counter)
    hosts: Counter[str] = field(default_factory=Counter)  # Host headers as the sites got them
    asked: Counter[str] = field(default_factory=Counter)  # directory requests by the company's domain

    def as_json(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


class Present:
    """The world as it is now."""

    def __init__(self, companies: Iterable[Company], *, answer_s: float = 0.0, key: str | None = None) -> None:
        self.by_domain = {company.domain: company for company in companies}
        self.by_name = {company.name.casefold(): company for company in reversed(self.by_domain.values())}
        self.answer_s = answer_s
        self.key = key
        self.site_port = 0  # known once the sites listen
        self.day = 0
        self.seen = Seen()
        self._met: set[str] = set()

    def move_to(self, day: int) -> None:
        """Begin a day. What answers differently when met again counts anew."""
        self.day = day
        self._met.clear()

    def kind(self, company: Company) -> Kind:
        """As what the company appears today."""
        return company.kind_on(self.day)

    def meets(self, company: Company) -> bool:
        """Whether this is the first time today that someone asks for what changes about this company."""
        first = company.domain not in self._met
        self._met.add(company.domain)
        return first

    def company_at(self, host: str) -> Company | None:
        """Whose name this is: the domain itself, or a name below it."""
        found = self.by_domain.get(host)
        if found is None:
            for alias in (SITE_ALIAS, INSIDE):
                if host.startswith(alias):
                    return self.by_domain.get(host.removeprefix(alias))
        return found
