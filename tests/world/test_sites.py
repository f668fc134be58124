"""Each site shows what is true of its company."""

from __future__ import annotations

import re
import unicodedata

import pytest
from selectolax.lexbor import LexborHTMLParser

from recoup_demo.world import Company, Kind
from recoup_demo.world.kinds import AnyKind
from recoup_demo.world.names import without_legal_form
from world.asking import Asking
from world.odd import Odd
from world.watched import WatchedWorld

NAMING = [
    Kind.GOOD, Kind.NAME_ONLY_IN_TITLE, Odd.GZIP_PAGE, Odd.CHUNKED_PAGE, Odd.INVALID_UTF8, Odd.LATIN_1,
    Odd.DEEP_HTML, Odd.MANY_COOKIES, Kind.NO_ENTRY, Kind.WRONG_STATE,
]  # fmt: skip


def plain(text: str) -> str:
    """Words without case, accents and punctuation."""
    letters = unicodedata.normalize("NFKD", text.casefold().replace("&", " and "))
    return " ".join(re.findall(r"\w+", "".join(c for c in letters if not unicodedata.combining(c) and c != "'")))


def readable(page: str) -> str:
    """Title and text, without what only machines read."""
    tree = LexborHTMLParser(page or "<html></html>")
    tree.strip_tags(["script", "style"])
    return " ".join(node.text(separator=" ") for node in tree.css("title, body"))


def names_it(company: Company, page: str) -> bool:
    """Whether title or text name the company or its domain, judged apart from the verifier."""
    shown = readable(page)
    return plain(without_legal_form(company.name)) in plain(shown) or company.domain in shown


@pytest.mark.parametrize("kind", NAMING)
def test_sites_of_these_kinds_name_their_company(asking: Asking, kind: AnyKind) -> None:
    for company in asking.all(kind):
        answer = asking.site(company.domain)
        assert answer.status_code == 200
        assert names_it(company, answer.content.decode("utf-8", "replace")), company


def test_good_sites_look_like_sites(asking: Asking) -> None:
    """Title, heading, contact, imprint, script and style; no two alike."""
    pages = {asking.site(company.domain).text for company in asking.all(Kind.GOOD)}
    assert len(pages) == len(asking.all(Kind.GOOD))
    for page in pages:
        tree = LexborHTMLParser(page)
        assert all(tree.css_first(part) for part in ("title", "h1", "address", "footer", "script", "style"))


def test_a_name_in_the_title_is_nowhere_else(asking: Asking) -> None:
    for company in asking.all(Kind.NAME_ONLY_IN_TITLE):
        page = asking.site(company.domain).text
        assert names_it(company, page)
        assert not names_it(company, re.sub("<title>.*</title>", "", page))
        assert company.domain not in page


@pytest.mark.parametrize("kind", [Kind.EMPTY_PAGE, Kind.OTHER_PAGE, Odd.NOT_TEXT])
def test_sites_of_these_kinds_name_nobody(asking: Asking, kind: AnyKind) -> None:
    for company in asking.all(kind):
        answer = asking.site(company.domain)
        assert answer.status_code == 200
        assert not names_it(company, answer.content.decode("utf-8", "replace")), company


def test_parking_pages_name_the_domain_and_say_what_they_are(asking: Asking) -> None:
    pages = {company.domain: asking.site(company.domain).text for company in asking.all(Kind.PARKED)}
    assert len({page.replace(domain, "") for domain, page in pages.items()}) > 1
    for domain, page in pages.items():
        assert domain in page
        assert re.search(r"for sale|parked|buy this domain|make an offer|for purchase", page, re.IGNORECASE)


def test_placeholders_say_that_nothing_is_there(asking: Asking) -> None:
    for company in asking.all(Kind.PLACEHOLDER):
        page = asking.site(company.domain).text
        assert company.domain in page
        assert re.search(r"coming soon|under construction|suspended|default page", page, re.IGNORECASE)


def test_error_pages_name_the_company_under_an_error(asking: Asking) -> None:
    answers = [(company, asking.site(company.domain)) for company in asking.all(Kind.ERROR_PAGE)]
    assert all(answer.status_code >= 400 and names_it(company, answer.text) for company, answer in answers)
    assert len({answer.status_code for _, answer in answers}) > 1


def test_an_empty_page_is_empty_in_several_ways(asking: Asking) -> None:
    for company in asking.all(Kind.EMPTY_PAGE):
        assert not readable(asking.site(company.domain).text).strip()


def test_a_good_redirect_ends_at_a_page(asking: Asking, world: WatchedWorld) -> None:
    """By a path, by www, or by both; at most two steps, each to a name that resolves."""
    ways = set()
    for company in asking.all(Kind.REDIRECT_GOOD):
        host, path, steps = company.domain, "/", []
        while (answer := asking.site(host, path)).is_redirect:
            target = answer.headers["location"]
            steps.append(re.sub(r"//[^/]*", "//host", target))
            if "//" in target:
                host, path = target.split("//")[1].split(":")[0], "/"
                assert f":{world.ports.sites}/" in target
                assert asking.addresses(host) == ["127.77.1.1"]
            else:
                path = target if target.startswith("/") else f"{path}{target}"
            assert len(steps) <= 2
        assert steps
        assert answer.status_code == 200
        assert names_it(company, answer.text)
        ways.add(tuple(steps))
    assert len(ways) > 1


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (Odd.REDIRECT_TO_LOOPBACK, "http://127.0.0.1:{port}/"),
        (Odd.REDIRECT_TO_PRIVATE, "http://10.1.2.3:{port}/"),
        (Odd.REDIRECT_TO_NUMBER, "http://2130706433:{port}/"),
        (Odd.REDIRECT_TO_MAPPED, "http://[::ffff:127.0.0.1]:{port}/"),
        (Odd.REDIRECT_INSIDE, "http://inside.{domain}:{port}/"),
        (Odd.REDIRECT_TO_FILE, "file:///etc/hostname"),
    ],
)
def test_a_bad_redirect_leads_astray(asking: Asking, world: WatchedWorld, kind: AnyKind, target: str) -> None:
    company = asking.some(kind)
    answer = asking.site(company.domain)
    assert answer.is_redirect
    assert answer.headers["location"] == target.format(port=world.ports.sites, domain=company.domain)


def test_redirects_that_never_end(asking: Asking) -> None:
    loop, endless = asking.some(Odd.REDIRECT_LOOP).domain, asking.some(Odd.REDIRECT_ENDLESS).domain
    assert [asking.site(loop, path).headers["location"] for path in ("/", "/b", "/a")] == ["/b", "/a", "/b"]
    assert [asking.site(endless, path).headers["location"] for path in ("/", "/on/1", "/on/99")] == [
        "/on/1", "/on/2", "/on/100",
    ]  # fmt: skip


def test_odd_encodings_are_odd(asking: Asking) -> None:
    """Otherwise what reads them shows nothing."""
    for kind in (Odd.INVALID_UTF8, Odd.LATIN_1):
        answer = asking.site(asking.some(kind).domain)
        assert "charset" not in answer.headers["content-type"]
        with pytest.raises(UnicodeDecodeError):
            answer.content.decode("utf-8")
    assert asking.site(asking.some(Odd.GZIP_PAGE).domain).headers["content-encoding"] == "gzip"
    assert asking.site(asking.some(Odd.CHUNKED_PAGE).domain).headers["transfer-encoding"] == "chunked"
    assert len(asking.site(asking.some(Odd.MANY_COOKIES).domain).headers.get_list("set-cookie")) == 40
    assert asking.site(asking.some(Odd.DEEP_HTML).domain).text.count("<b>") == 50_000


def test_a_host_of_nobody_is_not_found(asking: Asking) -> None:
    assert asking.site("nobody.example").status_code == 404
    assert asking.site("127.77.1.1").status_code == 404
