"""What is kept of a message holds for every message of its shape: it is read as each of them would be."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.errors import Category
from recoup.signatures import Reading, category, own_rule, read, shapes, signature
from recoup.signatures.rules import rules
from recoup.signatures.shapes import shape_of

ID, OTHER_ID = "0b9e6f0e-8a4d-4c1e-9a51-2f4b3c2d1e01", "7c1e6f0e-8a4d-4c1e-9a51-2f4b3c2d1e02"
# One shape for both.
SAME = [
    ("EIN 123 of 4567 failed after 89123 ms", "EIN 678 of 7654 failed after 72345 ms"),
    (f"no domain for 'Company 1234567' (company {ID})", f"no domain for 'Company 1999999' (company {OTHER_ID})"),
    ("HTTP 503 from www.company-7777.example: down", "HTTP 503 from www.company-7878.example: down"),
    (
        "GET https://api.example/v1/ein/000000123?page=2 failed",
        "GET https://api.example/v1/ein/000000999?page=2 failed",
    ),
]
# Another one for each: their numbers, or what is beside their ids, are known to a rule or count themselves.
OTHER = [
    ("curl failed with code 1205", "curl failed with code 1206"),
    ("exit code|x1 34 again", "exit code|x1 35 again"),
    ("SQLSTATE 42999 was raised", "SQLSTATE 22999 was raised"),
    ("the gateway returned 503", "the gateway returned 404"),
    ("error 123, then HTTP 503", "error 723, then HTTP 503"),
    ("ORA-00942 at row 7", "ORA-00001 at row 7"),
    ("smtp: mailbox 5.1.1 is gone", "smtp: mailbox 4.7.1 is gone"),
    ("subquery has more than 1 row", "subquery has more than 8 row"),
    ("it has 12 digits", "it has 123 digits"),
    (f"the {ID}'server is down", f"the {ID[:-1]}f'server is down"),
    (f"{ID} {ID}", f"f{ID[1:]} f{ID[1:]}"),
]
# Words are moved about, fields compared, lines chosen, letters that are no ASCII: they are read each time.
NONE = [
    "", "a\nb", "tab\there", "für 5", '{"code": 5}', "HTTP 500: {}", "[1, 2]", "x (Caused by 5) code",
    "code with time zone 12", "x 5 ", "x" * (shapes.MAX_LENGTH + 1),
]  # fmt: skip
WORDS = [
    "error", "code", "errno", "number", "msg", "http", "HTTP", "status", "response", "returned", "sqlstate", "SQLSTATE",
    "smtp", "curl", "table", "user", "row", "from", "in", "for", "failed", "not", "found", "refused", "timeout", "ORA-",
    "HY", "EC2ThrottledException", "mysql", "oracle", "more than", "1", "ms", "x", "server", "RUNNING", "ERROR:",
    "code:", "code=", "code|", "x:code", "(code)", "'code'", "ValueError(", "don't",
]  # fmt: skip
SIGNS = [*"()[]{}<>'\"`:;,.=|/\\-_!?@#$%&*+~^", "://", "https://", "::", "--", "...", "->", "('", "(1, '", "/v1/"]
VALUES = ["40001", "40P01", "HY000", "0x7f12", "1045", "503", "404", "1205", "5.7.1", "17", "4567", "1234567890123"]


def unread(message: str, code: str | None = None) -> Reading:
    """As it is read without anything that is kept."""
    return Reading(signature(message, code).key, category(message, code))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_values_have_no_part_in_a_shape(one: str, other: str) -> None:
    """So that what was read of one message need not be read of the next."""
    assert shape_of(one) == shape_of(other) is not None
    assert unread(one) == unread(other) == unread(shape_of(one) or "")


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_a_rule_goes_by_is_part_of_a_shape(one: str, other: str) -> None:
    """A number that is known, or that counts where it stands, is not another's."""
    assert None is not shape_of(one) != shape_of(other) is not None
    assert unread(one) == read(one)
    assert unread(other) == read(other)


@pytest.mark.parametrize("message", NONE, ids=ascii)
def test_what_has_no_shape_is_read_each_time(message: str) -> None:
    """And as every other."""
    assert shape_of(message) is None
    assert read(message) == unread(message)


def test_every_message_of_the_corpora_is_read_as_its_shape() -> None:
    """Logs, exceptions, databases and categories, those that the rules were made with and the others."""
    changed = 0
    for path in sorted((Path(__file__).parent / "data").glob("*.jsonl")):
        rows = map(json.loads, path.read_text("utf-8").splitlines())
        for message in {row.get("message") or row.get("text") or "" for row in rows}:
            shape = shape_of(message)
            if shape is not None and shape != message:
                changed += 1
                assert unread(shape) == unread(message), message
    assert changed > 5_000


def test_made_up_messages_are_read_as_their_shapes(seed: int, pytestconfig: pytest.Config) -> None:
    """Of all that the rules go by, in any order."""
    draw = random.Random(seed)
    for _ in range(25 * int(pytestconfig.getoption("--cases"))):
        message = _made_up(draw)
        assert read(message, None) == unread(message), message
        shape = shape_of(message)
        assert shape is None or unread(shape) == unread(message), message


def _made_up(draw: random.Random) -> str:
    parts: list[str] = []
    for _ in range(draw.randint(1, 12)):
        anything = [draw.choice(WORDS), draw.choice(WORDS), draw.choice(SIGNS), draw.choice(VALUES)]
        anything += [str(draw.randint(0, 10 ** draw.randint(1, 9))), str(UUID(int=draw.getrandbits(128)))]
        parts += [draw.choice(anything), " " * (draw.random() < 0.7)]
    return "".join(parts)


@given(st.text(max_size=200), st.none() | st.text(max_size=10))
def test_any_text_is_read_as_it_is_without_what_is_kept(message: str, code: str | None) -> None:
    """Twice: the second time from what was kept."""
    assert read(message, code) == read(message, code) == unread(message, code)


def test_rules_of_ones_own_come_first() -> None:
    """They are asked each time: another policy has others."""
    message = "vendor answered 1234567 times"
    ours = [own_rule(Category.STRUCTURAL, None, "answered 1234567 times")]
    assert read(message).category is not Category.STRUCTURAL
    assert read(message, None, ours) == (signature(message).key, Category.STRUCTURAL)
    assert read("vendor answered 1999999 times", None, ours) == read(message)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By number and by length, of messages and of codes."""
    monkeypatch.setattr(shapes, "MAX_CACHE", 5)
    monkeypatch.setattr(shapes, "_kept", {})
    for number in range(50):
        read(f"failure {chr(97 + number % 26)}{chr(97 + number // 26)} came", "C" * number * 10)
    assert 0 < len(shapes._kept) <= 5
    assert all(len(shape) <= shapes.MAX_LENGTH and len(code or "") <= shapes.MAX_CODE for shape, code in shapes._kept)


def test_a_code_of_another_type_is_not_taken_for_a_plain_one() -> None:
    """They are equal, and need not be written alike."""

    class Said(str):
        def __format__(self, _: str) -> str:
            return f"said {self[:]}"

    assert read("it failed", Said("A")) == unread("it failed", Said("A"))
    assert read("it failed", "A") == unread("it failed", "A")


def test_no_phrase_leaves_digits_open() -> None:
    """A shape keeps the digits of a phrase whole, and not how they begin."""
    assert not [word for word in rules().words if word.endswith("*") and any(map(str.isdigit, word))]


def test_the_rules_are_not_read_before_they_are_asked_for() -> None:
    """They take a twentieth of a second, and most commands judge nothing."""
    program = (
        "from recoup.signatures import judge; from recoup.signatures.rules import rules;"
        "print(rules.cache_info().currsize, end=' '); judge('x'); print(rules.cache_info().currsize)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["0", "1"]
