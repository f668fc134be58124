"""How the odd answer, by DNS, by their sites and by the directory: the tables of the demo's kinds, and these."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from recoup_demo.world import Company, directory, dns_server, pages, sites
from recoup_demo.world.directory import Asked, Entry, Known, Says, as_json
from recoup_demo.world.dns_server import TTL_S, Name, Question, at, failing, with_addresses
from recoup_demo.world.http_server import Answer, Connection, response
from recoup_demo.world.kinds import AnyKind
from recoup_demo.world.names import STATES, state_code
from recoup_demo.world.present import SITES_ADDRESS
from recoup_demo.world.sites import Site, Visit, redirect
from world import misbehaviour
from world.odd import Odd

CANARY_ADDRESS = "127.0.0.1"  # on the port of the sites; nobody should ever come
INSIDE = "inside."  # before a domain: a name at the canary
PRIVATE_ADDRESS = "10.1.2.3"
JSON = "application/json"
PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" * 9
BROKEN = b"<p>\x80 \xc3\x28 \xe2\x82 \xff \xfe</p>"
NESTED = 50_000
COOKIES = 40
HUGE_BYTES = 8_000_000


# Names ----------------------------------------------------------------------------------------------------------------


def truncated(asked: Question) -> dns.message.Message:
    asked.reply.flags |= dns.flags.TC
    return asked.reply


def by_way_of(below: str, address: str) -> Name:
    """A CNAME to a name below the domain, and the address of that."""

    def answer(asked: Question) -> dns.message.Message:
        if asked.host == asked.company.domain:
            other = f"{below}{asked.host}"
            asked.reply.answer.append(dns.rrset.from_text(asked.name, TTL_S, "IN", "CNAME", f"{other}."))
            asked = asked._replace(host=other, name=dns.name.from_text(other))
        return with_addresses(asked, address)

    return answer


def inside_too(asked: Question) -> dns.message.Message:
    return with_addresses(asked, CANARY_ADDRESS if asked.host.startswith(INSIDE) else SITES_ADDRESS)


def rebinding(asked: Question) -> dns.message.Message:
    right = asked.reply.question[0].rdtype != dns.rdatatype.A or asked.present.first_of_all(asked.company)
    return with_addresses(asked, SITES_ADDRESS if right else CANARY_ADDRESS, ttl_s=0)


OVER_TCP: Mapping[AnyKind, Name] = {
    **dns_server.NAMES,
    Odd.DNS_REFUSED: failing(dns.rcode.REFUSED),
    Odd.ALIAS: by_way_of("www.", SITES_ADDRESS),
    Odd.ALIAS_INSIDE: by_way_of(INSIDE, CANARY_ADDRESS),
    Odd.PRIVATE_ADDRESS: at(PRIVATE_ADDRESS),
    Odd.LOOPBACK_ADDRESS: at(CANARY_ADDRESS),
    Odd.LINK_LOCAL: at("169.254.169.254"),
    Odd.SHARED_ADDRESS: at("100.64.0.1"),
    Odd.UNSPECIFIED_ADDRESS: at("0.0.0.0"),
    Odd.IPV4_MAPPED: at(f"::ffff:{CANARY_ADDRESS}"),
    Odd.MIXED_ADDRESS: at(PRIVATE_ADDRESS, SITES_ADDRESS),
    Odd.REBINDING: rebinding,
    Odd.REDIRECT_INSIDE: inside_too,
}
OVER_UDP: Mapping[AnyKind, Name] = {**OVER_TCP, Odd.DNS_TRUNCATED: truncated}


# Sites ----------------------------------------------------------------------------------------------------------------


def leads_to(target: str) -> Site:
    """Another place, of this domain and the port of the sites."""
    return lambda visit: redirect(visit, target.format(domain=visit.company.domain, port=visit.port))


def ever_on(visit: Visit) -> Answer:
    number = visit.request.path.rsplit("/", 1)[-1]
    return redirect(visit, f"/on/{int(number) + 1 if number.isdecimal() else 1}")


def raw(visit: Visit) -> bytes:
    return pages.company_page(visit.company).encode()


def in_latin_1(visit: Visit) -> Answer:
    """ISO 8859-1, and nothing in head or page that says so."""
    imprint = f"<main><p>The café of {visit.company.domain}: à la carte, crème brûlée</p>"
    page = pages.company_page(visit.company).replace("<main>", imprint).replace('<meta charset="utf-8">\n', "")
    return response(200, page.encode("latin-1", "xmlcharrefreplace"), content_type="text/html")


def deep(visit: Visit) -> Answer:
    page = raw(visit)
    title = page[: page.index(b"<body>")].replace(b"<title>", f"<title>{visit.company.domain}: ".encode())
    return response(200, title + b"<body>" + b"<b>" * NESTED + b"deep down")


def flood(visit: Visit) -> bytes:
    return f"<!doctype html><title>{visit.company.domain}</title>".encode() + raw(visit)


SITES: Mapping[AnyKind, Site] = {
    **sites.SITES,
    Odd.REDIRECT_LOOP: lambda visit: redirect(visit, "/b" if visit.request.target != "/b" else "/a"),
    Odd.REDIRECT_ENDLESS: ever_on,
    Odd.REDIRECT_TO_LOOPBACK: leads_to(f"http://{CANARY_ADDRESS}:{{port}}/"),
    Odd.REDIRECT_TO_PRIVATE: leads_to(f"http://{PRIVATE_ADDRESS}:{{port}}/"),
    Odd.REDIRECT_TO_NUMBER: leads_to("http://2130706433:{port}/"),
    Odd.REDIRECT_TO_MAPPED: leads_to(f"http://[::ffff:{CANARY_ADDRESS}]:{{port}}/"),
    Odd.REDIRECT_INSIDE: leads_to(f"http://{INSIDE}{{domain}}:{{port}}/"),
    Odd.REDIRECT_TO_FILE: leads_to("file:///etc/hostname"),
    Odd.ENDLESS: lambda visit: misbehaviour.drip(b"<!doctype html>", content_type="text/html"),
    Odd.FLOOD: lambda visit: misbehaviour.flood(flood(visit), sized=True),
    Odd.FLOOD_UNSIZED: lambda visit: misbehaviour.flood(flood(visit), sized=False),
    Odd.GZIP_BOMB: lambda visit: misbehaviour.gzip_bomb,
    Odd.GZIP_PAGE: lambda visit: response(
        200, gzip.compress(raw(visit), mtime=0), headers=[("Content-Encoding", "gzip")]
    ),
    Odd.CHUNKED_PAGE: lambda visit: misbehaviour.in_chunks(raw(visit)),
    Odd.INVALID_UTF8: lambda visit: response(
        200, raw(visit).replace(b"<main>", BROKEN * 20 + b"<main>"), content_type="text/html"
    ),
    Odd.LATIN_1: in_latin_1,
    Odd.DEEP_HTML: deep,
    Odd.MANY_COOKIES: lambda visit: response(
        200, raw(visit), headers=[("Set-Cookie", f"c{n}={'x' * 50}; Path=/") for n in range(COOKIES)]
    ),
    Odd.NOT_TEXT: lambda visit: response(200, PICTURE, content_type="image/png"),
    Odd.HEADER_FLOOD: lambda visit: misbehaviour.flood_headers,
    Odd.NO_ANSWER: lambda visit: Connection.hold,
    Odd.HANG_UP: lambda visit: misbehaviour.hang_up,
    Odd.NOT_HTTP: lambda visit: misbehaviour.speak_nonsense,
}


# Directory ------------------------------------------------------------------------------------------------------------


def in_both_spellings(company: Company) -> Entry:
    code = state_code(company.state)
    return Entry((code, STATES[code]))


def body(asked: Asked) -> dict[str, object]:
    return {"found": True, **asked.entry._asdict()}


def misshapen(asked: Asked) -> Answer:
    shapes = ([body(asked)], {"found": "perhaps", "states": 7}, {"states": {"TX": True}}, 42)
    return as_json(200, asked.company.pick(shapes, of="shape"))


def busy(asked: Asked) -> Answer:
    return response(429, b'{"error": "too many"}', content_type=JSON, headers=[("Retry-After", "60")])


def moved(asked: Asked) -> Answer:
    return response(302, headers=[("Location", f"http://{CANARY_ADDRESS}:{asked.present.site_port}/")])


ENTRIES: Mapping[AnyKind, Known] = {**directory.ENTRIES, Odd.SAME_STATE_TWICE: in_both_spellings}
SAYINGS: Mapping[AnyKind, Says] = {
    **directory.SAYINGS,
    Odd.DIRECTORY_NONSENSE: lambda asked: response(200, "<title>Please sign in</title><h1>Please sign in</h1>"),
    Odd.DIRECTORY_BROKEN_JSON: lambda asked: response(200, json.dumps(body(asked))[:-9], content_type=JSON),
    Odd.DIRECTORY_DEEP_JSON: lambda asked: response(200, b"[" * 100_000 + b"]" * 100_000, content_type=JSON),
    Odd.DIRECTORY_WRONG_SHAPE: misshapen,
    Odd.DIRECTORY_HUGE: lambda asked: as_json(200, body(asked) | {"noise": "x" * HUGE_BYTES}),
    Odd.DIRECTORY_ENDLESS: lambda asked: misbehaviour.drip(b"{", content_type=JSON),
    Odd.DIRECTORY_BUSY: busy,
    Odd.DIRECTORY_MOVED: moved,
    Odd.DIRECTORY_HANGS_UP: lambda asked: misbehaviour.hang_up,
}
