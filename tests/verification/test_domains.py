"""The domain in what people type."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.verification.domains import domain_of, registrable, spoken

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True).filter(lambda label: label[2:4] != "--")
DOMAIN = st.builds(lambda labels: ".".join([*labels, "example"]), st.lists(LABEL, min_size=1, max_size=4))


@pytest.mark.parametrize(
    ("typed", "domain"),
    [
        ("foo.com", "foo.com"),
        ("https://www.Foo.com:443/about", "www.foo.com"),
        ("  foo.com.  ", "foo.com"),
        ("//foo.com/x", "foo.com"),
        ("http://user:secret@foo.com/x@y", "foo.com"),
        ("info@foo.com", "foo.com"),
        ("foo.com?x=1", "foo.com"),
        ("foo.com#top", "foo.com"),
        ("foo.com:", "foo.com"),
        ("http://foo.com\\@evil.example", "foo.com"),
        ("foo.com/?to=https://evil.example/", "foo.com"),
        ("foo.com#//evil.example", "foo.com"),
        ("Müller.example", "xn--mller-kva.example"),
        ("xn--mller-kva.example", "xn--mller-kva.example"),
        ("bücher。example", "xn--bcher-kva.example"),
        ("a-1.test", "a-1.test"),
        ("wordpress.com", "wordpress.com"),  # others register below it, and it is a company's site
        ("x.co.uk", "x.co.uk"),
    ],
)
def test_the_domain_is_found(typed: str, domain: str) -> None:
    assert domain_of(typed) == domain


@pytest.mark.parametrize(
    "typed",
    [
        None, "", " ", ".", "..", "localhost", "foo", "com", "co.uk", "https://", "https:///x", "foo..com", ".foo.com",
        "127.0.0.1", "http://127.0.0.1/", "[::1]", "http://[::1]:80/", "::1", "2130706433", "0x7f.1", "1.2.3", "foo.1",
        "foo.0x7f", "foo_bar.com", "-foo.com", "foo-.com", "foo bar.com", "foo.com bar", "foo.com:http", "foo.com:8:0",
        "foo,com", "a" * 64 + ".com", "a." * 127 + "com", "foo\x00.com", "foo.com\nHost: x", "foo%00.com",
        "xn--.example", "f" * 3000 + ".com", "ß" * 200 + ".com", "\u202efoo.com", "*.foo.com", "foo.com;drop",
        "http:/foo.com", "http:foo.com", "http//foo.com", "http://http://foo.com",
    ],
)  # fmt: skip
def test_where_there_is_none_there_is_none(typed: str | None) -> None:
    assert domain_of(typed) is None


@given(
    DOMAIN,
    st.sampled_from(["", "http://", "HTTPS://", "//", "ftp://me@"]),
    st.sampled_from(["", ".", ":80", "/x", "?y"]),
)
def test_what_stands_around_a_domain_does_not_matter(domain: str, before: str, behind: str) -> None:
    assert domain_of(f" {before}{domain.upper()}{behind}\t") == domain


@given(st.text(max_size=300))
def test_whatever_is_typed_gives_a_proper_name_or_none(typed: str) -> None:
    domain = domain_of(typed)
    if domain is not None:
        assert domain_of(domain) == domain
        assert domain.isascii()
        assert domain == domain.lower()
        assert len(domain) <= 253
        assert all(0 < len(label) <= 63 for label in domain.split("."))
        assert not set(domain) & set(" /:@_%\\")


@pytest.mark.parametrize("piece", ["a.", "xn--a.", "ü", "@", ":", "//", "a-", "ß."])
def test_long_input_costs_no_more_than_it_is_long(piece: str) -> None:
    began = time.process_time()
    for _ in range(20):
        domain_of(piece * (2_000 // len(piece)))
        domain_of(piece * 1_000_000)
    assert time.process_time() - began < 5


def test_the_registered_part() -> None:
    assert registrable("www.foo.co.uk") == "foo.co.uk"
    assert registrable("a.b.foo.example") == "foo.example"
    assert registrable("acme.github.io") == "acme.github.io"
    assert registrable("wordpress.com") == "wordpress.com"
    assert spoken("xn--mller-kva.example") == "müller.example"
