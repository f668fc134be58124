"""The sites of all companies, on one address: by the host that is asked for, and by what is true of the company."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from recoup_demo.world import pages
from recoup_demo.world.companies import Company
from recoup_demo.world.http_server import Answer, Connection, Request, Service, head, response
from recoup_demo.world.kinds import AnyKind, Kind
from recoup_demo.world.present import Present


class Visit(NamedTuple):
    company: Company
    request: Request
    port: int  # of the sites


Site = Callable[[Visit], Answer]


def shows(page: Callable[[Company], str]) -> Site:
    return lambda visit: response(200, page(visit.company))


def redirect(visit: Visit, target: str) -> bytes:
    return response(visit.company.pick((301, 302), of="status"), headers=[("Location", target)])


def _moves(visit: Visit) -> Answer:
    target = _way_home(visit.company, visit.request, visit.port)
    return _good(visit) if target is None else redirect(visit, target)


def _way_home(company: Company, request: Request, port: int) -> str | None:
    match company.pick(("path", "www", "both"), of="way"):
        case "path":
            return "/home/" if request.path == "/" else None
        case "www":
            return f"http://www.{company.domain}:{port}/" if request.host == company.domain else None
        case _:
            if request.host == company.domain:
                return f"//www.{company.domain}:{port}/"
            return "en/index.html" if request.path == "/" else None


def _fails(visit: Visit) -> Answer:
    status = visit.company.pick((404, 500, 403, 410, 503), of="status")
    return response(status, pages.error_page(visit.company, status))


def _stops_halfway(visit: Visit) -> Answer:
    page = pages.company_page(visit.company).encode()

    async def answer(connection: Connection) -> None:
        await connection.send(head(200, headers=[("Content-Length", str(len(page)))]) + page[: len(page) // 2])
        await connection.hold()

    return answer


_good = shows(pages.company_page)

SITES: Mapping[AnyKind, Site] = {
    Kind.REDIRECT_GOOD: _moves,
    Kind.NAME_ONLY_IN_TITLE: shows(pages.page_with_title_only),
    Kind.PARKED: shows(pages.one_of(pages.PARKING)),
    Kind.PLACEHOLDER: shows(pages.one_of(pages.PLACEHOLDERS)),
    Kind.EMPTY_PAGE: shows(pages.empty_page),
    Kind.ERROR_PAGE: _fails,
    Kind.OTHER_PAGE: shows(pages.one_of(pages.OTHERS)),
    Kind.SLOW_SITE: _stops_halfway,
}


class Sites(Service):
    """A name that leads nowhere is not meant to be asked for, and shows a page all the same."""

    def __init__(self, present: Present, kinds: Mapping[AnyKind, Site] = SITES) -> None:
        super().__init__(present)
        self._kinds = kinds

    def answer(self, request: Request) -> Answer:
        company = self.present.company_at(request.host)
        if company is None:
            return response(404, "<title>Not here</title><p>Nobody of that name lives here.</p>")
        site = self._kinds.get(self.present.kind(company), _good)
        return site(Visit(company, request, self.present.site_port))
