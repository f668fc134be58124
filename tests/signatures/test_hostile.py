"""Hostile text: it takes time linear in its length, changes no other text's key, and never fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from recoup.errors import Category
from recoup.signatures import category, judge, own_rule, signature
from recoup.signatures.v2 import tokens

# Openers without an end, near matches, and what patterns could go over again and again. Each is repeated to a length.
HOSTILE = [
    "a.", "/", "'", '"', "`", "0", "-0", "a@", "::", "(", ")", "[", "{", "<", "((", "([{<", "'a'a ", "‘", "«", "„",
    "=", "a=", "a:b:", "a://", "://", "http://", "\\", "a\\", "_", "__a", "A", "aA", "Aa", "...", "--", "->", "\x1b[",
    "\x00", "\x0b", "\u200b", "\ud800", "é", "é1", "注文", "\n", "a\n", "a:\n", "caused by\n", "Caused by: \n", "\r",
    'File "', ' File "a", line 1\n', "\tat a(\n", "    at ", "goroutine 1\n", "a()\n\ta.go:1\n", "a:1:in `b'\n",
    "#0 a(1): b\n",
    " 1: ", "Traceback (most recent call last):\n", '{"a":', '{"error":"', "[[", '["', "{'a': ", "not ", "no ", "too ",
    "unknown ", "cannot be ", "E", "ERROR ", "ERROR: ", "40001 ", "(40001", "HTTP 5", "status ", "5.1.1 ", "0a1b2c3d-",
    "Error(", 'Error("a b ', "(1, 'a b ", "user ", "table: ", "from A to B ", "1 ms ", "lambda$", "$$", " $",
]  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE, ids=ascii)
@pytest.mark.parametrize("length", [8_000, 1_000_000])
def test_hostile_text_takes_no_longer(part: str, length: int) -> None:
    """Eight thousand characters are looked at in full: a pattern that went over them again would take seconds."""
    text = part * (length // len(part))
    began = time.perf_counter()
    made = signature(text, part)
    assert made.key
    assert judge(text, part).category in Category
    assert time.perf_counter() - began < 1
    assert made.explain()


def test_rules_of_ones_own_take_no_longer() -> None:
    """Nor do two hundred phrases that nearly fit everywhere."""
    rules = [own_rule(Category.TRANSIENT, None, f"a* … a* … a* … end{number}") for number in range(200)]
    began = time.perf_counter()
    assert judge("a " * 4_000, None, rules).rule != "a rule of the policy"
    assert time.perf_counter() - began < 5


def test_keys_are_the_same_in_every_process() -> None:
    """Whatever the hash seed, and however many digits Python is allowed to read."""
    texts = ["no price for 'x' in b, a", '{"b": {"code": "X"}, "a": ["y z w"], "n": ' + "1" * 700 + "}", "{" * 900]
    program = (
        "import json, sys; from recoup.signatures import signature, judge;"
        "print([(signature(t).key, judge(t)) for t in json.load(sys.stdin)])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(texts),
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONINTMAXSTRDIGITS": digits},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, digits in (("0", "640"), ("1", "4300"), ("77", "0"))
    }
    assert len(said) == 1


def test_keys_do_not_depend_on_how_deep_the_caller_is() -> None:
    """A body that Python itself can read only near the bottom of its stack is read nowhere."""
    body = '{"message":"Quota exceeded","x":' + "[" * 700 + "]" * 700 + "}"

    def deep(depth: int) -> str:
        return signature(body).key if depth == 0 else deep(depth - 1)

    assert deep(0) == deep(600)


def test_keys_do_not_depend_on_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of earlier texts is thrown away when it is much, also while others read it."""
    texts = [f"row {number} of table t{number % 7} is bad: Reason{chr(65 + number % 26)}" for number in range(2_000)]
    wanted = [(signature(text).key, category(text)) for text in texts]
    monkeypatch.setattr(tokens, "MAX_CACHE", 5)
    monkeypatch.setattr("recoup.signatures.judging.MAX_CACHE", 5)
    monkeypatch.setattr("recoup.signatures.rules.MAX_CACHE", 5)
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(lambda text: (signature(text).key, category(text)), texts)) == wanted


def test_signs_within_a_body_are_only_signs() -> None:
    """What the rules use as marks cannot be smuggled in."""
    plain, marked = '{"message": "disk quota was exceeded"}', '{"message": "disk\\u0002 quota\\u0001 was exceeded"}'
    assert signature(plain).key == signature(marked).key


def test_only_the_beginning_and_the_end_are_looked_at() -> None:
    """A message of megabytes has the key of what it begins and ends with, and says that the middle does not count."""
    long = "the disk is full: " + "x" * 3_000_000
    assert signature(long).key == signature("the disk is full: " + "x" * 2_000_000).key
    assert "in the middle" in signature(long).explain()
