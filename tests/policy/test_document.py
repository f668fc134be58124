"""A document is valid, or a refusal names the key, the value and what is allowed."""

from __future__ import annotations

import itertools
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import refusal, run_in
from product import PARTS, shipped, shipped_document
from recoup import policy
from recoup.errors.policy import ErrorPolicy
from recoup.gate.policy import GatePolicy
from recoup.policy.document import carried_over, completed, flattened, validated
from recoup.policy.rendering import assignment
from recoup.refusals import InputRefused

CHECKS = "[gate.verification]\n"


def rule(rest: str) -> str:
    """A document with one rule for the category TRANSIENT."""
    return f'[errors]\ncategory_rules = [{{ category = "TRANSIENT"{rest} }}]'


WRONG = [
    ("[gate]\nwait_hours = [0, 72]", "gate.wait_hours[0]", "0", "a whole number from 1 to 8,760"),
    ("[gate]\nwait_hours = [24]", "gate.wait_hours", "[24]", "a list of 2, each a whole number from 1 to 8,760"),
    ("[gate]\nwait_hours = [24, 72, 168]", "gate.wait_hours", "[24, 72, 168]", "a list of 2, each a whole number"),
    ("[gate]\nwait_hours = 24", "gate.wait_hours", "24", "a list of 2, each a whole number from 1 to 8,760"),
    ('[gate]\nwait_hours = ["24", 72]', "gate.wait_hours[0]", "'24'", "a whole number from 1 to 8,760"),
    ("[gate]\nmax_attempts = 4", "gate.max_attempts", "4", "3"),
    ("[gate]\nrecovery_window_days = 1.5", "gate.recovery_window_days", "1.5", "a whole number from 1 to 365"),
    ("[gate]\nattempt_lease_s = true", "gate.attempt_lease_s", "True", "a whole number from 1 to 86,400"),
    ("[gate]\nattempt_lease_s = -1", "gate.attempt_lease_s", "-1", "a whole number from 1 to 86,400"),
    ("[gate]\nrecovery_window_day = 3", "gate.recovery_window_day", "3", "did you mean gate.recovery_window_days"),
    ("[gates]\nmax_attempts = 3", "gates", "{'max_attempts': 3}", "did you mean gate"),
    ("gate = 3", "gate", "3", "a section with max_attempts, wait_hours"),
    ("[worker]\nlost_after_s = 20", "worker.lost_after_s", "20", "at least three heartbeats, 30"),
    ("[gate]\nattempt_lease_s = 20", "gate.attempt_lease_s", "20", "at least 40: the timeouts of the checks"),
    (CHECKS + "checks = []", "gate.verification.checks", "[]", "a list of 1 to 20, each the name of a check"),
    (CHECKS + 'site_urls = ["ftp://{domain}"]', "gate.verification.site_urls[0]", "'ftp://{domain}'", "http or https"),
    (
        CHECKS + "directory = 3",
        "gate.verification.directory",
        "3",
        "a URL with {domain}, {name} or {linkedin_url} in it, or the path",
    ),
    *(
        (
            CHECKS + f'directory = "{url}"',
            "gate.verification.directory",
            f"'{url}'",
            f"a URL that companies can be looked up with; {why}",
        )
        for url, why in (
            ("http://bücher.example/{domain}", "it has blanks or letters beyond ASCII; write a host as xn--"),
            ("http://a..example/{domain}", "its host is none"),
            (f"http://{'a' * 64}.example/{{domain}}", "its host is none"),
            ("http://directory.example/a b/{domain}", "it has blanks"),
            ("http://directory.example:99999/{domain}", "Port out of range"),
            ("http://directory.example:0/{domain}", "a port is a number from 1"),
            ("http://[/{domain}", "Invalid IPv6 URL"),
            ("http://[::{domain}/", "Invalid IPv6 URL"),
            ("http://[::zz]/{domain}", "'::zz' does not appear"),
            ("gopher://directory.example/{domain}", "it begins with http"),
            ("http:///{domain}", "its host is none"),
            ("http://directory.example/", "it has none of {domain}, {name}, {linkedin_url}"),
        )
    ),
    (
        CHECKS + 'site_urls = ["https://{domain}:99999/"]',
        "gate.verification.site_urls",
        "'https://{domain}:99999/'",
        "Port out of range",
    ),
    (CHECKS + 'nameservers = ["dns.example"]', "gate.verification.nameservers[0]", "'dns.example'", "an address"),
    (
        CHECKS + 'allowed_networks = ["10.0.0.1/8"]',
        "gate.verification.allowed_networks",
        "'10.0.0.1/8'",
        "host bits set",
    ),
    (rule(""), "errors.category_rules[0]", "{'category': 'TRANSIENT'}", "code, words or both"),
    (rule(', kode = "A"'), "errors.category_rules[0].kode", "'A'", "did you mean errors.category_rules[0].code"),
    (
        rule(', code = "*"'),
        "errors.category_rules[0].code",
        "'*'",
        "an error code of up to 200 characters, or how codes",
    ),
    (rule(', code = "A*B"'), "errors.category_rules[0].code", "'A*B'", "how codes begin and then *"),
    (rule(', code = " A"'), "errors.category_rules[0].code", "' A'", "an error code"),
    (rule(', code = "A\\u0000"'), "errors.category_rules[0].code", r"'A\x00'", "an error code"),
    (rule(f', code = "{"x" * 201}"'), "errors.category_rules[0].code", "'" + "x" * 199, "of up to 200 characters"),
    (rule(f', words = "{"x" * 201}"'), "errors.category_rules[0].words", "'" + "x" * 199, "of up to 200 characters"),
    (rule(', words = " "'), "errors.category_rules[0].words", "' '", "at least one word"),
    (rule(', words = "… down"'), "errors.category_rules[0].words", "'… down'", "a word before and after each …"),
    (rule(', words = "down …"'), "errors.category_rules[0].words", "'down …'", "a word before and after each …"),
    (rule(', words = "a … … b"'), "errors.category_rules[0].words", "'a … … b'", "which matches up to four words"),
    (rule(', words = "a * b"'), "errors.category_rules[0].words", "'a * b'", "words of letters, digits and '"),
    (rule(', words = "a*b"'), "errors.category_rules[0].words", "'a*b'", "a*b is not a word"),
    (rule(', words = "rate-limit"'), "errors.category_rules[0].words", "'rate-limit'", "rate-limit is not a word"),
    (
        '[errors]\ncategory_rules = [{ category = "SOFT", code = "A" }]',
        "errors.category_rules[0].category",
        "'SOFT'",
        "one of TRANSIENT, OPERATIONAL, STRUCTURAL",
    ),
    (
        "[errors]\ncategory_rules = 7",
        "errors.category_rules",
        "7",
        "a list of 0 to 200, each a section with category, code",
    ),
    ("[seals]\nblock_rows = 99999999999999999999", "seals.block_rows", "99999999999999999999", "1 to 1,000,000"),
]


def test_the_shipped_policy_is_valid_and_what_the_documents_say() -> None:
    """Three attempts, waits of 24 and 72 hours, a window of 14 days."""
    gate = GatePolicy.shipped()
    assert (gate.max_attempts, gate.wait_hours, gate.recovery_window_days) == (3, [24, 72], 14)


def test_every_value_of_the_shipped_document_is_explained() -> None:
    """Each key has a comment above it, above the one it belongs to, or above its section or the first of that kind."""
    belong = ("orphan_table", "heartbeat_s", "at_once", "nameservers", "site_timeout_ms", "directory")
    told: set[str] = set()  # sections, and families of sections, that have a comment of their own
    explained: dict[str, bool] = {}
    section = ""
    for above, line in itertools.pairwise(shipped_document().splitlines()):
        if line.startswith("["):
            section = line.strip("[]")
            if above.startswith("#"):
                told |= {section, section.split(".")[1] if section.count(".") > 1 else section}
        elif " = " in line and not line.startswith("#"):
            family = section.split(".")[1] if section.count(".") > 1 else section
            own = above.startswith(("#", *belong))
            explained[f"{section}.{line.split(' = ')[0]}"] = own or section in told or family in told
    assert len(explained) > 50
    assert [key for key, is_so in explained.items() if not is_so] == []


@pytest.mark.parametrize(("document", "key", "value", "allowed"), WRONG)
def test_a_wrong_value_is_named(document: str, key: str, value: str, allowed: str) -> None:
    """Key, value and what is allowed, in words and as facts."""
    with pytest.raises(InputRefused) as caught:
        policy.read(document, PARTS)
    assert caught.value.code == "policy_invalid"
    assert f"{key}: {value} is not allowed" in caught.value.happened
    assert allowed in caught.value.next_step
    facts: Any = caught.value.facts["wrong"]
    assert [wrong["key"] for wrong in facts] == [key]


def test_all_that_is_wrong_is_said_at_once() -> None:
    """Nobody likes to be sent back once per mistake."""
    with pytest.raises(InputRefused) as caught:
        policy.read("[gate]\nmax_attempts = 4\nwait_hours = [0, 0]\n[seals]\nblock_rows = 0", PARTS)
    facts: Any = caught.value.facts["wrong"]
    assert [wrong["key"] for wrong in facts] == [
        "seals.block_rows",
        "gate.max_attempts",
        "gate.wait_hours[0]",
        "gate.wait_hours[1]",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[gate", "gate = {", "\x00", "[gate]\n[gate]", "a = [" * 2000, "[seals]\nblock_rows = " + "9" * 5000,
        "gate" + ".a" * 5000 + " = 1", "[gate" + ".a" * 5000 + "]", "[seals]\nblock_rows = 0x" + "f" * 5000,
    ],
)  # fmt: skip
def test_what_is_not_toml_is_refused(text: str) -> None:
    """With the place where it goes wrong, and without a crash."""
    with pytest.raises(InputRefused) as caught:
        policy.read(text, PARTS)
    assert caught.value.code == "policy_not_toml"


def test_an_endless_document_is_refused() -> None:
    """Before it is parsed."""
    with pytest.raises(InputRefused) as caught:
        policy.read("#" * 1_000_001, PARTS)
    assert caught.value.code == "policy_too_long"


def test_a_document_says_only_what_differs() -> None:
    """The rest is the shipped policy's."""
    read = policy.read("[gate]\nwait_hours = [1, 2]", PARTS)
    changed = policy.changes(shipped(), read.figures)
    assert [(c.key, c.before, c.after) for c in changed] == [("gate.wait_hours", [24, 72], [1, 2])]
    assert policy.read("", PARTS).figures == shipped()


@given(st.integers(1, 8760), st.integers(1, 8760), st.integers(1, 365), st.integers(40, 86_400))
def test_whatever_is_within_bounds_is_kept_as_it_is(first: int, second: int, window: int, lease: int) -> None:
    """What was written is what comes out, and goes through the database's form and back."""
    text = f"[gate]\nwait_hours = [{first}, {second}]\nrecovery_window_days = {window}\nattempt_lease_s = {lease}"
    read = policy.read(text, PARTS)
    assert (read[GatePolicy].wait_hours, read[GatePolicy].recovery_window_days) == ([first, second], window)
    assert validated(read.figures, PARTS) == read.figures
    assert dict(flattened(read.figures)) | dict(flattened(tomllib.loads(text))) == dict(flattened(read.figures))


def test_a_key_that_is_no_more_does_not_stop_an_upgrade() -> None:
    """Stored figures of an older program lose what this one does not know, and gain what it brings."""
    stored: dict[str, Any] = {"gate": {"max_attempts": 3, "wait_hours": [5, 6], "gone": 1}, "old": {"x": 1}}
    read = policy.Policy(stored)[GatePolicy]
    assert (read.wait_hours, read.recovery_window_days) == ([5, 6], 14)


def test_what_a_newer_program_has_stored_is_carried_over() -> None:
    """Keys and whole sections that this one does not know, and nothing that it does."""
    stored: dict[str, Any] = {**shipped(), "later": {"x": 1}, "gate": {**shipped()["gate"], "later": 2}}
    assert carried_over(stored, PARTS) == {"later": {"x": 1}, "gate": {"later": 2}}
    assert carried_over(shipped(), PARTS) == {}


def test_two_hundred_category_rules_and_no_more() -> None:
    """Each may have a code, words, or both; the shipped policy has none."""
    one = '{ category = "OPERATIONAL", code = "VENDOR_*", words = "can\'t … Quota* 503" },'
    read = policy.read(f"[errors]\ncategory_rules = [{one * 200}]", PARTS)
    assert len(read[ErrorPolicy].category_rules) == 200
    assert validated(read.figures, PARTS) == read.figures
    assert ErrorPolicy.shipped().category_rules == []
    with pytest.raises(InputRefused) as caught:
        policy.read(f"[errors]\ncategory_rules = [{one * 201}]", PARTS)
    assert "a list of 0 to 200" in caught.value.next_step


def test_a_key_that_is_no_more_is_left_out_of_a_rule_too() -> None:
    """Stored figures of another program, within a list."""
    stored = {"errors": {"category_rules": [{"category": "TRANSIENT", "code": "A", "gone": 1}]}}
    (kept,) = policy.Policy(stored)[ErrorPolicy].category_rules
    assert (kept.code, kept.words) == ("A", None)


def test_a_mark_at_the_beginning_of_a_file_is_no_part_of_it() -> None:
    """Some editors write one before UTF-8."""
    text = "[worker]\nheartbeat_s = 7\n"
    assert policy.read("\ufeff" + text, PARTS).figures == policy.read(text, PARTS).figures


@pytest.mark.parametrize("file", ["/dev/zero", "-"])
def test_a_document_without_an_end_is_refused(file: str) -> None:
    """It is read no further than a policy may go."""
    done = run_in({})("policy", "check", file, "--json", fails=True, given="#" * 1_000_001)
    assert refusal(done)["refused"] == "policy_too_long"


@pytest.mark.parametrize("profile", ["documents", "none"])
def test_a_policy_printed_as_toml_is_the_same_policy(profile: str) -> None:
    """With the comments of the shipped document, and whatever texts it holds."""
    rules = [{"category": "TRANSIENT", "code": 'a "b" \\ é', "words": None}]
    own = {"errors": {"profile": profile, "category_rules": rules, "redact_keys": ["\x7f", "ü"]}}
    values = completed(own, PARTS)
    text = policy.rendered(values, PARTS, title="of\nnow")
    assert text.startswith("# of now\n")
    assert "# How many due retries a worker runs at once.\nretries_at_once = 20\n" in text
    assert policy.read(text, PARTS).figures == values


@given(st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.integers()))
def test_every_value_can_be_written_as_toml(text: str, texts: list[str], numbers: dict[str, int]) -> None:
    """What is written is read back as it was."""
    try:
        "".join((text, *texts, *numbers)).encode()
    except UnicodeEncodeError:  # half a character, which no document can hold
        return
    for value in (text, texts, numbers, [numbers], True, 7):
        line = assignment(("a", text, "b.c"), value)
        assert tomllib.loads(line) == {"a": {text: {"b.c": value}}}
