"""What the servers of the world share: the companies and the day."""

from collections.abc import Iterable

from recoup_demo.world.companies import Company
from recoup_demo.world.kinds import AnyKind

DNS_ADDRESS = "127.77.0.53"
DIRECTORY_ADDRESS = "127.77.0.80"
SITES_ADDRESS = "127.77.1.1"
NOBODYS_ADDRESS = "127.77.1.9"  # nobody listens there
NETWORK = "127.77.0.0/16"


class Present:
    """The world as it is now."""

    def __init__(self, companies: Iterable[Company], *, answer_s: float = 0.0) -> None:
        self.by_domain = {company.domain: company for company in companies}
        self.by_name = {company.name.casefold(): company for company in reversed(self.by_domain.values())}
        self.answer_s = answer_s  # the delay of every answer
        self.site_port = 0  # known once the sites listen
        self.day = 0
        self._met: set[str] = set()

    def move_to(self, day: int) -> None:
        """Begin a day, and forget which companies were asked for before."""
        self.day = day
        self._met.clear()

    def kind(self, company: Company) -> AnyKind:
        """As what the company appears today."""
        return company.kind_on(self.day)

    def first_of_all(self, company: Company) -> bool:
        """Whether somebody asks for the first time, on day 0, for what changes about this company."""
        first = self.day == 0 and company.domain not in self._met
        self._met.add(company.domain)
        return first

    def company_at(self, host: str) -> Company | None:
        """Whose name this is: the domain itself, or a name below it."""
        return self.by_domain.get(host) or self.by_domain.get(host.partition(".")[2])
