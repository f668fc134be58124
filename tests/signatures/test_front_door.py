"""The same failure has the same key, whatever the values in it; another one has another. And it says why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.errors import Category
from recoup.signatures import VERSION, Signature, category, judge, signature

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
    ("connection to fe80::1 refused", "connection to 2001:db8::17 refused"),
    ("mail to ana@example.com was rejected", "mail to bob.b@example.org was rejected"),
    ("user ana is not allowed to write", "user bob is not allowed to write"),
    ("session opened for user root", "session opened for user postgres"),
    ("invalid input syntax for type integer", "invalid input syntax for type timestamp with time zone"),
    ("job 17 changed its state from RUNNING to FAILED", "job 4 changed its state from NEW to RUNNING"),
    ("upload of 5 MB took 12 ms", "upload of 300 bytes took 2 seconds"),
    ("could not parse {'a': 1, 'b': [2, 3]} as an order", "could not parse {'c': 'd'} as an order"),
    ("calling <function a at 0x7f12aa> failed again", "calling <bound method B.c of <B object at 0x1>> failed again"),
    ("retry of task_attempt_2026_11 failed: exit=3 pid=77", "retry of task_attempt_2025_01 failed: exit=9 pid=1"),
    ("function total(integer, text) does not exist", "function sum_up(uuid) does not exist"),
    ('ERROR:  relation "a" does not exist\nLINE 1: select * from a', 'relation "b" does not exist'),
    ("ERROR 1146 (42S02): Table 'shop.a' doesn't exist", "(1146, \"Table 'crm.b' doesn't exist\")"),
    ("Der Wert »7« ist für die Spalte „Menge“ ungültig", "Der Wert »x« ist für die Spalte „Preis“ ungültig"),
    ("ファイル「a.txt」を開けません", "ファイル「b.txt」を開けません"),
    ("\x1b[31mcould not reach the server\x1b[0m", "could not reach the server"),
]

OTHER = [
    ("no EIN for company 5", "no name for company 5"),
    ("table is missing", "table is locked"),
    ("onStepChanged 3579", "onLevelChanged 3579"),
    ("java.lang.IllegalStateException: 5", "java.lang.IllegalArgumentException: 5"),
    ("Datei nicht gefunden: a", "Zugriff verweigert: a"),
    ("ファイルを開けません", "ディスクがいっぱいです"),
    ("NOT_LEADER 5", "NOT_COORDINATOR 5"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_values_do_not_count(one: str, other: str) -> None:
    """Ids, numbers, times, hosts, paths, quoted values and what is announced as a name are masked."""
    assert signature(one).remained == signature(other).remained
    assert signature(one).key == signature(other).key


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_words_count(one: str, other: str) -> None:
    """Another sentence is another failure."""
    assert signature(one).key != signature(other).key


def test_codes_count() -> None:
    """So is another code."""
    assert signature("failed", "A").key != signature("failed", "B").key != signature("failed").key


def test_a_signature_explains_itself() -> None:
    """What counted, and what did not for which reason."""
    found = signature("Failed to load table orders of 'crm' from 10.0.0.7 after 30 seconds", "LOAD")
    assert found.remained == "Failed to load table of from after"
    assert dict(found.masked) == {"quoted": "'crm'", "name": "orders", "number": "30", "unit": "seconds"}
    told = found.explain()
    for part in (found.key, f"version {VERSION}", "LOAD", found.remained, "orders", "10.0.0.7"):
        assert part in told


def test_a_version_that_there_is_not_is_refused() -> None:
    """And the message says which there are."""
    with pytest.raises(ValueError, match="1, 2, and not 3"):
        signature("x", version=3)


@given(st.text(max_size=2000), st.text(max_size=20) | st.none())
def test_any_text_has_one_key(message: str, code: str | None) -> None:
    """The same every time, and bounded; any text can be explained."""
    first, second = signature(message, code), signature(message, code)
    assert first == second == Signature(first.key, VERSION, message, code)
    assert len(first.key) == 27
    assert first.key in first.explain()
    assert category(message, code) is judge(message, code).category
    assert judge(message, code).explain().startswith(category(message, code))


@given(st.text(alphabet="(){}[]<>\"'`=:,./\\@-_ aA1\n\t", max_size=500))
def test_any_punctuation_has_one_key(message: str) -> None:
    """What the patterns are made of does not confuse them."""
    assert signature(message).key == signature(message).key
    assert category(message) in Category
