"""The same failure has the same key, whatever the values in it; another one has another."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.errors import Category
from recoup.signatures import category, signature

SAME = [
    (
        "timeout after 30 s calling https://api.example.com/v1/x",
        "timeout after 5 s calling https://other.example.org/y",
    ),
    (
        "no EIN for company 0b9e6f0e-8a4d-4c1e-9a51-2f4b3c2d1e0f",
        "no EIN for company 7c1e6f0e-8a4d-4c1e-9a51-2f4b3c2d1e0f",
    ),
    ('duplicate key "acme.example"', 'duplicate key "birch.example"'),
    ("could not open /var/data/a.csv at 2026-01-01 10:00:00", "could not open /srv/b.csv at 2026-02-03 11:12:13"),
    ("connection to 10.1.2.3:5432 refused", "connection to 10.9.8.7:5433 refused"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_values_do_not_count(one: str, other: str) -> None:
    """Ids, numbers, times, hosts, paths and quoted values are masked, and it says so."""
    assert signature(one).key == signature(other).key
    assert signature(one).masked
    assert signature(one).key in signature(one).explain()


def test_words_and_codes_count() -> None:
    """Another sentence, or another code, is another failure."""
    assert signature("no EIN for company 5").key != signature("no name for company 5").key
    assert signature("failed", "A").key != signature("failed", "B").key


@given(st.text(max_size=2000), st.text(max_size=20) | st.none())
def test_any_text_has_one_key(message: str, code: str | None) -> None:
    """The same every time, and bounded."""
    first, second = signature(message, code), signature(message, code)
    assert first == second
    assert len(first.key) == 27
    assert category(message, code) in Category


@pytest.mark.parametrize(
    "hostile", ["a." * 2000, "/" * 4000, "'" * 4000, "0" * 4000, "-0" * 2000, "a@" * 2000, "::" * 2000]
)
def test_hostile_text_takes_no_longer(hostile: str) -> None:
    """No pattern goes over a text again and again."""
    began = time.perf_counter()
    signature(hostile)
    category(hostile)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    ("message", "code", "expected"),
    [
        ("Read timed out", None, Category.TRANSIENT),
        ("", "RATE_LIMITED rate limit", Category.TRANSIENT),
        ("column x does not exist", None, Category.STRUCTURAL),
        ("no EIN was found", None, Category.OPERATIONAL),
    ],
)
def test_categories(message: str, code: str | None, expected: Category) -> None:
    """By code and words; what is unknown is OPERATIONAL."""
    assert category(message, code) is expected
