"""Whom a page names, and what a page is."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.verification.findings import Finding
from recoup.verification.imprint import judged, names_company, names_domain
from recoup.verification.names import company_words, folded
from recoup.verification.pages import read
from recoup.verification.phrases import PARKED, PARKED_IF_LITTLE, PLACEHOLDER, PLACEHOLDER_IF_LITTLE
from recoup.verification.sites import WebPage

MANY_WORDS = " ".join(f"word{n}" for n in range(200))
PAGE_BYTES = 262_144


def page(body: str | bytes, content_type: str = "text/html; charset=utf-8") -> WebPage:
    raw = body.encode() if isinstance(body, str) else body
    return WebPage("http://acme.example/", 200, content_type, raw)


def finding(
    body: str | bytes, content_type: str = "text/html; charset=utf-8", name: str = "Acme Widgets, Inc."
) -> Finding:
    return judged(page(body, content_type), name, "www.acme.example")[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Acme Widgets, Inc.", "Welcome to ACME WIDGETS!"),
        ("Acme Widgets LLC", "acme   widgets"),
        ("Müller & Söhne GmbH", "Muller and Sohne"),
        ("Smith and Sons", "Smith &amp; Sons"),
        ("O'Neil's Bakery", "O\u2019Neils Bakery"),
        ("O\u2019Neil Bakery", "O&apos;Neil Bakery"),
        ("The Olive Tree Co.", "About Olive Tree"),
        ("J.B. Hunt", "JB Hunt"),
        ("A.B.C. Supply L.L.C.", "ABC Supply"),
        ("Dvořák Fencing", "Dvo&rcaron;&aacute;k Fencing"),
        ("Apex", "we are (Apex)."),
        ("3M Company", "3M"),
        ("Smith & Co.", "Smith"),
        ("The Company", "welcome to the company"),
        ("Straße Bau", "STRASSE BAU"),
        ("Acme Widgets", "Acme\u2122 Widgets"),
        ("Acme\u2120", "Acme"),
        ("Acme Widgets", "Ac&shy;me Wid&shy;gets"),
        ("Łódź Ærø", "Lodz Aero"),
        ("Oresund Marine", "ØRESUND MARINE"),
        ("Olive Tree Company, The", "the Olive Tree"),
    ],
)
def test_the_name_is_found_as_it_may_be_written(name: str, text: str) -> None:
    assert names_company(read(page(f"<p>{text}</p>")).words, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Apex", "apexes and apexing"),
        ("Apex", "ap ex"),
        ("Acme Widgets", "widgets by acme"),
        ("Acme Widgets", "acme fine widgets"),
        ("The Company", "some other text of the day"),
        ("A Co.", "a page of others"),
        ("!!!", "anything"),
        ("", "anything"),
    ],
)
def test_what_is_not_the_whole_name_in_a_row_is_not_the_name(name: str, text: str) -> None:
    assert not names_company(folded(text), name)


WORD = st.from_regex(r"[a-z]{2,8}", fullmatch=True).filter(lambda word: word not in ("and", "the", "an", "of"))


@given(
    st.lists(WORD, min_size=1, max_size=4),
    st.sampled_from(["", " Inc.", ", LLC", " L.L.C.", " Co., Ltd.", " GmbH"]),
    st.lists(WORD, max_size=5),
)
def test_a_page_names_a_company_exactly_when_its_words_stand_in_a_row(
    words: list[str], form: str, others: list[str]
) -> None:
    name = " ".join(words) + form
    telling = company_words(name).split()
    text = [*others, *telling, *others]
    assert names_company(folded(" ".join(text).upper()), name)
    rows = [others[at : at + len(telling)] for at in range(len(others) + 1)]
    assert names_company(folded(" ".join(others)), name) == (telling in rows)


@pytest.mark.parametrize(
    "text", ["acme.example", "mail info@acme.example.", "(www.acme.example)", "https://acme.example/x"]
)
def test_the_domain_as_text_will_do(text: str) -> None:
    assert finding(f"<p>{text}</p>") is Finding.PASSED


@pytest.mark.parametrize(
    "text", ["notacme.example", "acme.example.evil.test", "acme.examples", "my-acme.example", "acme-example"]
)
def test_a_longer_domain_is_another(text: str) -> None:
    assert not names_domain(text, "acme.example")
    assert finding(f"<p>{text}</p>") is Finding.PAGE_OF_OTHERS


def test_a_domain_may_be_shown_as_people_read_it() -> None:
    assert names_domain("besuchen sie müller.example!", "xn--mller-kva.example")


@pytest.mark.parametrize(
    "body",
    [
        "<title>Acme Widgets | Home</title>",
        '<meta property="og:site_name" content="Acme Widgets"><p>hi</p>',
        "<META NAME=Description CONTENT='Fine things by Acme Widgets'><div id=root></div>",
        "<!--[if lt IE 9]><script src=x></script><![endif]--><p>Acme Widgets",
        "<script>var x = '<!--';</script><p>Acme Widgets</p>",
        "<p>Acme <b>Widgets</b>",
        "Acme Widgets",
        "<table><tr><td>Acme<td>Widgets",
        "a < b <p>Acme Widgets",
    ],
)
def test_wherever_a_reader_finds_the_name(body: str) -> None:
    assert finding(body) is Finding.PASSED


@pytest.mark.parametrize(
    "body",
    [
        "<p>hello</p><script>Acme Widgets</script>",
        "<p>hello</p><style>.x { content: 'acme.example' }</style>",
        "<p>hello</p><!-- Acme Widgets -->",
        "<p class='Acme Widgets'>hello</p>",
        '<p>hello</p><meta name="generator" content="Acme Widgets">',
    ],
)
def test_what_no_reader_sees_does_not_count(body: str) -> None:
    assert finding(body) is Finding.PAGE_OF_OTHERS


@pytest.mark.parametrize(
    "body", ["", " \n ", "<html><body></body></html>", "<script>x()</script>", "<!-- x -->", "<p>...</p>", b"\0\0"]
)
def test_a_page_without_a_word_is_empty(body: str | bytes) -> None:
    assert finding(body) is Finding.PAGE_EMPTY


@pytest.mark.parametrize("saying", PARKED)
def test_a_parking_page_is_one_however_long_and_whomever_it_names(saying: str) -> None:
    assert finding(f"<p>Acme Widgets acme.example {MANY_WORDS} {saying}</p>") is Finding.PAGE_PARKED


@pytest.mark.parametrize("saying", PLACEHOLDER)
def test_so_is_a_placeholder(saying: str) -> None:
    assert finding(f"<p>Acme Widgets acme.example {MANY_WORDS} {saying}</p>") is Finding.PAGE_PLACEHOLDER


@pytest.mark.parametrize("saying", [*PARKED_IF_LITTLE, *PLACEHOLDER_IF_LITTLE])
def test_what_honest_pages_say_too_counts_in_a_title_or_where_there_is_little_else(saying: str) -> None:
    nobodys = (Finding.PAGE_PARKED, Finding.PAGE_PLACEHOLDER)
    assert finding(f"<p>Acme Widgets: {saying}</p>") in nobodys
    assert finding(f"<title>{saying}</title><p>Acme Widgets {MANY_WORDS}</p>") in nobodys
    assert finding(f"<p>Acme Widgets {MANY_WORDS} {saying}</p>") is Finding.PASSED


def test_the_sayings_are_folded_and_each_is_there_once() -> None:
    for sayings in (PARKED, PARKED_IF_LITTLE, PLACEHOLDER, PLACEHOLDER_IF_LITTLE):
        assert [folded(saying) for saying in sayings] == list(sayings)
        assert all(one < next_one for one, next_one in pairwise(sayings))


@pytest.mark.parametrize("content_type", ["image/png", "application/pdf", "application/octet-stream", "video/mp4"])
def test_what_is_not_text_is_not_read(content_type: str) -> None:
    assert finding("Acme Widgets", content_type) is Finding.PAGE_NOT_TEXT


def test_without_a_type_the_first_bytes_tell() -> None:
    assert finding("<p>Acme Widgets", "") is Finding.PASSED
    assert finding(b"\x89PNG\r\n\0\0\0Acme Widgets", "") is Finding.PAGE_NOT_TEXT


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<p>Café Zoë".encode(), "text/html"),
        ("<p>Café Zoë".encode("latin-1"), "text/html"),
        ("<p>Café Zoë".encode("latin-1"), "text/html; charset=ISO-8859-1"),
        ("<p>Café Zoë".encode("latin-1"), "text/html; charset=utf-8"),
        (b"<meta charset=windows-1252>" + "<p>Café Zoë".encode("cp1252"), "text/html"),
        (b'<meta content="text/html; charset=iso-8859-15">' + "Café Zoë".encode("iso8859-15"), "text/html"),
        ("\ufeff<p>Café Zoë".encode("utf-16"), "text/html"),
        ("<p>Café Zoë".encode("utf-16-be"), "text/html; charset=utf-16be"),
        ("<p>Café Zoë".encode(), "text/html; charset=klingon"),
        ("<p>Café Zoë".encode(), "text/html; charset=punycode"),
        (b"<p>\xff\xfe\xfa" + " Café Zoë ".encode(), "text/html; charset="),
    ],
)  # fmt: skip
def test_in_whatever_charset(body: bytes, content_type: str) -> None:
    assert finding(body, content_type, name="Cafe Zoe") is Finding.PASSED


@pytest.mark.parametrize(
    "piece",
    [
        b"<div>", b"<b>", b"<p>", b"<table>", b"<a><p>", b"<", b"<a", b"</", b"<!--", b"<!-- -->",
        b"<![CDATA[", b"<p a='", b"<meta ", b"<meta name=description content=x>", b"<title>", b"<script>",
        b"<style>", b"<svg>", b"<template>", b"&", b"&#", b"&amp;", b"'", b".", b"a.", b"\xff", b"\0",
        "\ufdfa".encode(), "e\u0301".encode(), b"acme.exampl ", b"this domain is for sal ",
    ],
)  # fmt: skip
def test_no_page_takes_long_to_read(piece: bytes) -> None:
    """Pages as large as one may be, made of what parsers stumble over. Some take a parser seconds, and worse."""
    began = time.process_time()
    finding(piece * (PAGE_BYTES // len(piece)))
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("\u0301".encode() * 65_000 + "\u0316".encode() * 65_000, "text/html"),  # on one letter, and out of order
        (b"<p>Acme Widgets", f"text/html; charset={' ' * 90_000}("),
        (b"<meta charset=" + b" " * 90_000 + b"(", "text/html"),
    ],
)
def test_nor_do_thousands_of_accents_or_blanks(body: bytes, content_type: str) -> None:
    began = time.process_time()
    finding(body, content_type)
    assert time.process_time() - began < 1.5


def test_nor_do_thousands_of_attributes() -> None:
    attributes = b"".join(b"a%d " % n for n in range(38_000))
    began = time.process_time()
    for body in (
        b"<p " + attributes,
        b'<meta x" y=" >" ' + attributes,
        b"<script " + attributes + b">",
        b"<title a='>' " + attributes,
    ):
        finding(body)
    assert time.process_time() - began < 4
