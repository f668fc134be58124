"""Secrets in payloads are not recorded, however their keys are written."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.errors.policy import ErrorPolicy
from recoup.redaction import REDACTED, in_words, redacted

KEYS = ErrorPolicy.shipped().redact_keys


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "Password",
        "db_password",
        "X-Api-Key",
        "apiKey",
        "API_KEY",
        "Authorization",
        "session-token",
        "Set-Cookie",
    ],
)
def test_telling_keys_are_redacted(key: str) -> None:
    """At any depth, whatever their value is."""
    payload = {"a": [{key: "s3cret"}, {"b": {key: {"nested": "s3cret"}}}], "kept": 1}
    said = redacted(payload, KEYS)
    assert "s3cret" not in str(said)
    assert said["kept"] == 1
    assert said["a"][0][key] == REDACTED


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_characters="\0", codec="utf-8")),
        lambda v: st.lists(v) | st.dictionaries(st.sampled_from(["a", "b", "c"]), v),
    )
)
def test_what_is_no_secret_stays(payload: Any) -> None:
    """Unchanged, as far as the database can hold it."""
    assert redacted(payload, KEYS) == payload


def test_the_deepest_is_left_out() -> None:
    """A payload that never ends does not end us."""
    deep: Any = "bottom"
    for _ in range(5000):
        deep = {"a": deep}
    assert "bottom" not in repr(redacted(deep, KEYS))


def test_keys_lose_their_secrets_too_however_often_they_come() -> None:
    for _ in range(3):
        said = redacted({"postgresql://bob:hunter2@h/db": "down", "ghp_" + "16C7e42F292c6912E7710c838347": 1}, ())
        assert said == {f"postgresql://bob:{REDACTED}@h/db": "down", f"ghp_{REDACTED}": 1}


def test_lists_of_names_are_no_pairs() -> None:
    payload = {"missing": ["password", "email"], "fields": ["token", "name", "ein"]}
    assert redacted(payload, ()) == payload


@pytest.mark.parametrize("option", ["--password", "--api-key", "--token"])
def test_what_follows_an_option_in_a_list_is_redacted(option: str) -> None:
    """As subprocess has commands, in its arguments and in the words of its errors."""
    command = ["mysql", option, "swordfish", "--verbose", "db"]
    plain = ["mysql", option, REDACTED, "--verbose", "db"]
    assert redacted({"command": command}, ()) == {"command": plain}
    assert in_words(subprocess.CalledProcessError(1, command)) == str(subprocess.CalledProcessError(1, plain))


@pytest.mark.parametrize(
    "command", [["x", "--password", "--host", "h"], ["--token"], ["--no-auth", "a"], ["--token", 5]]
)
def test_options_that_no_secret_follows_stay(command: list[Any]) -> None:
    assert redacted({"command": command}, ()) == {"command": command}
    assert in_words(f"choices: {command}") == f"choices: {command}"
