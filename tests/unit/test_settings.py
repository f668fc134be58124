"""Settings: one table, checked at start, nothing ignored."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.refusals import SettingRefused
from recoup.setting import Setting
from recoup.settings import SETTINGS, Settings, load

NUMBERS = [setting for setting in SETTINGS if setting.kind is int]


@pytest.mark.parametrize(
    "setting", [one for one in SETTINGS if one.name != "project"], ids=lambda setting: setting.name
)
def test_every_setting_is_read_as_what_its_field_is(setting: Setting) -> None:
    """Neither a setting that nobody reads nor a field that nobody can set."""
    text = {str: (*setting.one_of, "text")[0], int: str(setting.most), Path: "/some/where"}[setting.kind]
    value = getattr(load({setting.variable: text}), setting.name)
    assert (type(value), str(value)) == (type(setting.kind(text)), text)
    assert get_type_hints(Settings)[setting.name] in (setting.kind, setting.kind | None)


def test_defaults_of_table_and_fields_agree() -> None:
    """A program that builds its settings itself gets what the environment would give."""
    loaded = load({})
    for setting in SETTINGS:
        if setting.default is not None:
            assert getattr(loaded, setting.name) == setting.default
    built = Settings(home=loaded.home, actor=loaded.actor)
    assert built == loaded


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.name)
@given(value=st.integers() | st.text())
def test_a_number_is_taken_within_its_bounds_and_refused_otherwise(setting: object, value: int | str) -> None:
    """Whatever is written there: a value within bounds, or a refusal that names the variable."""
    row = next(s for s in NUMBERS if s is setting)
    text = str(value)
    if "\x00" in text or text == "":
        return
    assert row.least is not None
    assert row.most is not None
    try:
        loaded = load({row.variable: text})
    except SettingRefused as refused:
        assert refused.facts["variable"] == row.variable
        assert not (isinstance(value, int) and row.least <= value <= row.most)
    else:
        assert row.least <= getattr(loaded, row.name) <= row.most


@pytest.mark.parametrize("setting", [one for one in SETTINGS if one.one_of], ids=lambda setting: setting.name)
def test_a_choice_is_one_of_its_words(setting: Setting) -> None:
    """And the refusal says them."""
    for word in setting.one_of:
        assert getattr(load({setting.variable: word}), setting.name) == word
    with pytest.raises(SettingRefused, match=setting.one_of[-1]) as refused:
        load({setting.variable: "whatever"})
    assert refused.value.facts["variable"] == setting.variable


def test_a_misspelt_setting_names_the_one_that_was_meant() -> None:
    """Silently ignored, it would be found in the worst moment."""
    with pytest.raises(SettingRefused, match="RECOUP_HOEM") as refused:
        load({"RECOUP_HOEM": "/tmp"})
    assert refused.value.facts["nearest"] == "RECOUP_HOME"
    with pytest.raises(SettingRefused, match="RECOUP_XYZZY"):
        load({"RECOUP_XYZZY": "1"})


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_setting_is_refused(setting: Setting, text: str) -> None:
    """As from "$UNSET" in a script: it would silently be another server, or another home, than was meant."""
    with pytest.raises(SettingRefused) as refused:
        load({setting.variable: text})
    assert (refused.value.code, refused.value.facts["variable"]) == ("empty_setting", setting.variable)


def test_paths_are_made_absolute() -> None:
    """So that a change of folder later changes nothing."""
    assert load({"RECOUP_HOME": "here"}).home == Path.cwd() / "here"
    assert load({"RECOUP_HOME": "~/there"}).home == Path.home() / "there"
