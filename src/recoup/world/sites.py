"""The sites of all companies, on one address: by the host that is asked for, and by what is true of the company."""

from __future__ import annotations

import gzip
from collections import Counter

from recoup.world import misbehaviour, pages
from recoup.world.companies import Company
from recoup.world.http_server import Answer, Request, response
from recoup.world.kinds import Kind
from recoup.world.present import CANARY_ADDRESS, INSIDE, SITE_ALIAS, Present

PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" * 9
BROKEN = b"<p>\x80 \xc3\x28 \xe2\x82 \xff \xfe</p>"
NESTED = 50_000
COOKIES = 40


class Sites:
    def __init__(self, present: Present) -> None:
        self.answer_s = present.answer_s
        self._present = present
        self._made: dict[tuple[str, Kind, str], Answer] = {}
        self._open = 0
        self._at_once = 0
        self._at_once_by_host: Counter[str] = Counter()

    def answer(self, request: Request) -> Answer:
        self._count(request)
        company = self._present.company_at(request.host)
        if company is None:
            return response(404, "<title>Not here</title><p>Nobody of that name lives here.</p>")
        kind = self._present.kind(company)
        where = request.target if kind in REDIRECTING else ""
        made = self._made.get((request.host, kind, where))
        if made is None:
            made = _answer(company, kind, request, self._present.site_port)
            if kind is not Kind.REDIRECT_ENDLESS:
                self._made[request.host, kind, where] = made
        return made

    def ended(self, request: Request) -> None:
        self._at_once -= 1
        self._at_once_by_host[request.host] -= 1

    def opened(self) -> None:
        self._open += 1
        self._present.seen.site_connections_most = max(self._present.seen.site_connections_most, self._open)

    def closed(self) -> None:
        self._open -= 1

    def sent(self, number: int) -> None:
        self._present.seen.bytes_sent += number

    def _count(self, request: Request) -> None:
        seen, host = self._present.seen, request.host
        seen.site_requests += 1
        seen.cookies += "cookie" in request.headers
        seen.user_agents[request.headers.get("user-agent", "")] += 1
        seen.hosts[request.headers.get("host", "")] += 1
        self._at_once += 1
        self._at_once_by_host[host] += 1
        seen.site_requests_most = max(seen.site_requests_most, self._at_once)
        most = seen.site_requests_most_by_host
        most[host] = max(most.get(host, 0), self._at_once_by_host[host])


# Where these lead depends on the path that was asked for.
REDIRECTING = frozenset({Kind.REDIRECT_GOOD, Kind.REDIRECT_LOOP, Kind.REDIRECT_ENDLESS})


def _answer(company: Company, kind: Kind, request: Request, port: int) -> Answer:
    """The answer of a site. A name that leads inside is not meant to be asked for, and shows a page all the same."""
    target = _redirect(company, kind, request, port)
    if target is not None:
        return response(company.pick((301, 302), of="status"), headers=[("Location", target)])
    page = pages.company_page(company)
    raw = page.encode()
    match kind:
        case Kind.NAME_ONLY_IN_TITLE:
            return response(200, pages.page_with_title_only(company))
        case Kind.PARKED:
            return response(200, pages.parking_page(company))
        case Kind.PLACEHOLDER:
            return response(200, pages.placeholder_page(company))
        case Kind.EMPTY_PAGE:
            return response(200, pages.empty_page(company))
        case Kind.ERROR_PAGE:
            status = company.pick((404, 500, 403, 410, 503), of="status")
            return response(status, pages.error_page(company, status))
        case Kind.OTHER_PAGE:
            return response(200, pages.other_page(company))
        case Kind.GZIP_PAGE:
            return response(200, gzip.compress(raw, mtime=0), headers=[("Content-Encoding", "gzip")])
        case Kind.INVALID_UTF8:
            return response(200, raw.replace(b"<main>", BROKEN * 20 + b"<main>"), content_type="text/html")
        case Kind.LATIN_1:
            imprint = f"<main><p>The café of {company.domain}: à la carte, crème brûlée</p>"
            return response(200, _in_latin_1(page.replace("<main>", imprint)), content_type="text/html")
        case Kind.DEEP_HTML:
            title = raw[: raw.index(b"<body>")].replace(b"<title>", f"<title>{company.domain}: ".encode())
            return response(200, title + b"<body>" + b"<b>" * NESTED + b"deep down")
        case Kind.MANY_COOKIES:
            cookies = [("Set-Cookie", f"c{n}={'x' * 50}; Path=/") for n in range(COOKIES)]
            return response(200, raw, headers=cookies)
        case Kind.NOT_TEXT:
            return response(200, PICTURE, content_type="image/png")
        case Kind.SLOW_SITE:
            return misbehaviour.stop_halfway(raw)
        case Kind.ENDLESS:
            return misbehaviour.drip(b"<!doctype html>", content_type="text/html")
        case Kind.FLOOD | Kind.FLOOD_UNSIZED:
            start = f"<!doctype html><title>{company.domain}</title>".encode()
            return misbehaviour.flood(start + raw, sized=kind is Kind.FLOOD)
        case Kind.GZIP_BOMB:
            return misbehaviour.gzip_bomb
        case Kind.CHUNKED_PAGE:
            return misbehaviour.in_chunks(raw)
        case Kind.HEADER_FLOOD:
            return misbehaviour.flood_headers
        case Kind.NO_ANSWER:
            return misbehaviour.never_answer
        case Kind.HANG_UP:
            return misbehaviour.hang_up
        case Kind.NOT_HTTP:
            return misbehaviour.speak_nonsense
        case _:
            return response(200, raw)


def _redirect(company: Company, kind: Kind, request: Request, port: int) -> str | None:
    """Where the site sends its visitor, or None: it shows a page."""
    domain = company.domain
    match kind:
        case Kind.REDIRECT_GOOD:
            return _way_home(company, request, port)
        case Kind.REDIRECT_LOOP:
            return "/b" if request.target != "/b" else "/a"
        case Kind.REDIRECT_ENDLESS:
            number = request.path.rsplit("/", 1)[-1]
            return f"/on/{int(number) + 1 if number.isdecimal() else 1}"
        case Kind.REDIRECT_TO_LOOPBACK:
            return f"http://{CANARY_ADDRESS}:{port}/"
        case Kind.REDIRECT_TO_PRIVATE:
            return f"http://10.1.2.3:{port}/"
        case Kind.REDIRECT_TO_NUMBER:
            return f"http://2130706433:{port}/"
        case Kind.REDIRECT_TO_MAPPED:
            return f"http://[::ffff:{CANARY_ADDRESS}]:{port}/"
        case Kind.REDIRECT_INSIDE:
            return f"http://{INSIDE}{domain}:{port}/"
        case Kind.REDIRECT_TO_FILE:
            return "file:///etc/hostname"
        case _:
            return None


def _way_home(company: Company, request: Request, port: int) -> str | None:
    match company.pick(("path", "www", "both"), of="way"):
        case "path":
            return "/home/" if request.path == "/" else None
        case "www":
            return f"http://{SITE_ALIAS}{company.domain}:{port}/" if request.host == company.domain else None
        case _:
            if request.host == company.domain:
                return f"//{SITE_ALIAS}{company.domain}:{port}/"
            return "en/index.html" if request.path == "/" else None


def _in_latin_1(page: str) -> bytes:
    """ISO 8859-1, and nothing in head or page that says so."""
    return page.replace('<meta charset="utf-8">\n', "").encode("latin-1", "xmlcharrefreplace")
