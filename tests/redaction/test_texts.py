"""No secret stays in a text, in whatever form it came; and nothing else is eaten."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined, unused-ignore]
from re import _parser as parser  # type: ignore[attr-defined, unused-ignore]
from typing import Any

import pytest

from recoup.redaction import REDACTED, in_words, is_hinted, redacted, redacted_arguments
from recoup.redaction.known import document, forms, hints, names, tokens, words_of
from recoup.signatures import signature

FORMS = tomllib.loads(Path(__file__).with_name("data").joinpath("forms.toml").read_text("utf-8"))
INNOCENT = FORMS["innocent"]
MESSAGES = Path(__file__).parents[1] / "signatures" / "data"
LONG = 19  # of texts without a word of this length no token is looked for


def secrets_of(text: str) -> set[str]:
    return {"hunter2", *filter(None, text.split("¦")[1::2])}


def assert_gone(kept: str, secrets: set[str]) -> None:
    assert REDACTED in kept
    assert [secret for secret in secrets if secret in kept] == []


def test_there_are_as_many_forms_as_were_found() -> None:
    assert sum(len(FORMS[kind]) for kind in ("texts", "payloads", "commands")) == 43


@pytest.mark.parametrize("text", FORMS["texts"])
def test_texts_lose_their_secrets(text: str) -> None:
    assert_gone(in_words(text.replace("¦", "")), secrets_of(text))


@pytest.mark.parametrize("text", FORMS["payloads"])
def test_payloads_lose_their_secrets(text: str) -> None:
    assert_gone(json.dumps(redacted(json.loads(text), ())), {"hunter2"})


@pytest.mark.parametrize("command", FORMS["commands"], ids=lambda one: " ".join(one)[:30])
def test_commands_lose_their_secrets(command: list[str]) -> None:
    kept = redacted_arguments(command, ())
    assert_gone(" ".join(kept), {"hunter2"})
    assert len(kept) == len(command)


@pytest.mark.parametrize("known", [*document()["tokens"], *document()["forms"]], ids=lambda one: str(one["name"]))
def test_every_known_form_is_found_and_its_near_miss_is_not(known: dict[str, Any]) -> None:
    example, near = known["example"].replace("¦", ""), known["near"]
    kept = in_words(f"it said {example} and ended")
    assert_gone(kept, {known["example"].partition("¦")[2].split("\n")[0].split(" ")[0].split("'")[0].split("@")[0]})
    assert kept.startswith("it said ")
    assert kept.endswith(" and ended")
    assert in_words(near) == near
    assert known["what"]
    assert known["source"]


@pytest.mark.parametrize(("user", "password"), [("u" * 300, "hunter2"), ("u", "hunter2" * 300), ("u", "p@s/s'hunter2")])
def test_passwords_in_urls_of_any_length(user: str, password: str) -> None:
    assert in_words(f"amqp://{user}:{password}@h:5672 is down") == f"amqp://{user}:{REDACTED}@h:5672 is down"


@pytest.mark.parametrize("text", INNOCENT["texts"])
def test_what_only_tells_of_secrets_stays(text: str) -> None:
    assert in_words(text) == text


@pytest.mark.parametrize("name", INNOCENT["names"])
def test_names_that_only_sound_like_secrets_tell_nothing(name: str) -> None:
    payload = {name: "some text", "pairs": [[name, "some text"]]}
    assert redacted(payload, ["token", "cookie", "secret", "authorization", "api_key"]) == payload


@pytest.mark.parametrize("command", INNOCENT["commands"], ids=lambda one: " ".join(one)[:30])
def test_options_that_only_look_like_secrets_stay(command: list[str]) -> None:
    assert redacted_arguments(command, ()) == command


def messages() -> Iterator[str]:
    for file in sorted(MESSAGES.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            text = json.loads(line).get("text")
            if isinstance(text, str):
                yield text


def test_of_thirty_thousand_real_messages_only_those_with_secrets_change() -> None:
    """Their signatures are as they were, then. Those that change hold what Dovecot calls an auth_token."""
    changed = [text for text in messages() if in_words(text) != text]
    assert [text for text in changed if "auth_token=" not in text] == []
    assert 0 < len(changed) < 100


def test_messages_that_differ_in_their_secrets_alone_are_one_failure() -> None:
    for text in FORMS["texts"]:
        once, again = (
            in_words(text.replace("hunter2", word).replace("¦", "")) for word in ("Tr0ub4dor", "c0rrecth0rse")
        )
        assert signature(once).key == signature(again).key, text


def test_once_redacted_always_redacted() -> None:
    for text in (*FORMS["texts"], *(one["example"] for one in document()["forms"])):
        once = in_words(text.replace("¦", ""))
        assert in_words(once) == once


# What makes it fast, and linear ---------------------------------------------------------------------------------------


def test_every_text_with_a_secret_is_hinted_and_few_others_are() -> None:
    for text in (*FORMS["texts"], *(one["example"] for kind in ("forms", "tokens") for one in document()[kind])):
        assert is_hinted(text.replace("¦", "")), text
    texts = list(messages())
    assert sum(map(is_hinted, texts)) < len(texts) / 8


def test_every_name_that_tells_in_a_text_has_a_hint() -> None:
    known = names()
    hints = (*known.hints, *(hint.rstrip("=") for hint in known.signed_hints))
    told = {*known.parts, *known.words, *known.whole, *known.query, *known.headers} - {"connectsid"}
    assert [name for name in told if not any(hint in name for hint in hints)] == []


def test_no_token_is_shorter_than_what_is_looked_for() -> None:
    assert [one["name"] for one in document()["tokens"] if min(map(len, one["begins"])) + one["least"] < LONG] == []


ONE = (op.IN, op.LITERAL, op.NOT_LITERAL, op.ANY)


def repetitions(pattern: Any, around: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every repetition of a pattern that is possessive or without end, with those around it, outermost first."""
    for kind, given in pattern:
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            single = "character" if len(given[2]) == 1 and given[2][0][0] in ONE else "group"
            here = around
            if kind is op.POSSESSIVE_REPEAT or given[1] is op.MAXREPEAT:
                here = (*around, f"{str(kind).lower()} of a {single}")
                yield here
            yield from repetitions(given[2], here)
        elif kind is op.SUBPATTERN:
            yield from repetitions(given[3], around)
        elif kind is op.BRANCH:
            for branch in given[1]:
                yield from repetitions(branch, around)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from repetitions(given[1], around)
        else:
            assert kind is not op.ATOMIC_GROUP


def test_no_pattern_goes_back_over_what_it_has_read() -> None:
    """Characters repeat possessively; a group that repeats gives back whole parts alone, and no group is in another.

    So a text is read at most twice from each place where a pattern begins. Groups are not possessive, because Python
    before 3.11.5 does not match those as it should, and then secrets stay.
    """
    from recoup.redaction import texts

    characters, group = "possessive_repeat of a character", "max_repeat of a group"
    own = [value for value in vars(texts).values() if isinstance(value, re.Pattern)]
    for pattern in (*own, *(form.pattern for form in (*forms(), *tokens()))):
        kinds = set(repetitions(parser.parse(pattern.pattern, pattern.flags)))
        assert kinds <= {(characters,), (group,), (group, characters)}, pattern.pattern


def test_names_are_read_as_their_words() -> None:
    assert words_of("X-Api-Key")[1:] == words_of("apiKey") == words_of("API_KEY") == ["api", "key"]


def test_of_very_many_names_few_are_remembered() -> None:
    tells = hints(("own",))
    for number in range(20_000):
        assert not tells[f"field{number}"]
    assert len(tells) <= 10_000
