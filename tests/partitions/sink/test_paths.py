"""The path of a run: as Hive has it, one per partition and run, and never outside the sink."""

from __future__ import annotations

import os
from datetime import date
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partitions.sink.given import PARTITION
from recoup.partitions.identity import Partition
from recoup.partitions.sink import paths
from recoup.refusals import InputRefused

ANYTHING = st.text() | st.text(st.sampled_from("./\\%=2F\0 \n\ud800é{}[]")) | st.text("a", min_size=190, max_size=210)
RUN = UUID("01980000-0000-7000-8000-000000000001")


def test_a_path_names_each_column() -> None:
    expected = f"source=ads/customer_id=acme/query_name=spend/logical_date=2026-03-01/run_id={RUN}"
    assert paths.location(PARTITION, RUN) == expected


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("a/b", "a%2Fb"),
        ("../..", "..%2F.."),
        ("100%", "100%25"),
        ("a=b:c?", "a%3Db%3Ac%3F"),
        ("tab\tnewline\n\x7f", "tab%09newline%0A%7F"),
        ("\"#'*\\{[]^", "%22%23%27%2A%5C%7B%5B%5D%5E"),
        ("plain text, ü, 漢, }~$&+;<>|@!", "plain text, ü, 漢, }~$&+;<>|@!"),
    ],
)
def test_what_hive_escapes_is_escaped_and_nothing_else(value: str, name: str) -> None:
    assert paths.escaped(value) == name
    assert paths.unescaped(name) == value


@pytest.mark.parametrize("value", ["", ".", "..", "a\0b", "a" * 201, "é" * 101, "/" * 67, "half \ud800"])
@pytest.mark.parametrize("column", ["source", "customer_id", "query_name"])
def test_a_key_that_cannot_be_a_folder_name_is_refused(column: str, value: str) -> None:
    with pytest.raises(InputRefused) as refused:
        paths.location(Partition(**{**PARTITION._asdict(), column: value}), RUN)
    assert refused.value.code == "partition_key"
    assert refused.value.facts == {"column": column}


@pytest.mark.parametrize("value", ["a" * 200, "é" * 100, "/" * 66, "...", " ", "~"])
def test_the_longest_and_the_strangest_keys_are_accepted(value: str) -> None:
    partition = Partition(value, value, value, date.min)
    assert paths.parsed(paths.location(partition, RUN).split("/")) == (partition, RUN)


@settings(max_examples=300, deadline=None)
@given(source=ANYTHING, customer=ANYTHING, query=ANYTHING, day=st.dates())
def test_any_key_is_refused_or_has_one_path_inside_the_sink(source: str, customer: str, query: str, day: date) -> None:
    partition, run_id = Partition(source, customer, query, day), uuid4()
    try:
        location = paths.location(partition, run_id)
    except InputRefused:
        return
    names = location.split("/")
    assert paths.parsed(names) == (partition, run_id)
    assert len(names) == 5
    assert os.path.normpath(f"/sink/{location}") == f"/sink/{location}"
    assert all(len(os.fsencode(name)) <= 255 and "\0" not in name for name in names)


@settings(max_examples=300, deadline=None)
@given(names=st.lists(ANYTHING, max_size=6), values=st.lists(ANYTHING, min_size=5, max_size=5))
def test_only_the_path_that_a_run_has_is_parsed(names: list[str], values: list[str]) -> None:
    hives = [f"{column}={value}" for column, value in zip(paths.COLUMNS, values, strict=True)]
    day = [*hives[:3], "logical_date=2026-03-01", f"run_id={RUN}"]
    for one in (names, hives, day):
        found = paths.parsed(one)
        assert found is None or paths.location(*found) == "/".join(one)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (0, "source=a%2fb"),  # Hive writes capitals
        (0, "source=a%62"),  # and escapes no letter
        (0, "source=a:b"),
        (0, "customer_id=ads"),
        (3, "logical_date=20260301"),
        (3, "logical_date=2026-02-30"),
        (3, "logical_date=2026-03-01T00:00:00"),
        (4, f"run_id={str(RUN).upper()}".replace("1980", "198A")),
        (4, f"run_id={RUN.hex}"),
        (4, f"run_id={{{RUN}}}"),
    ],
)
def test_another_spelling_is_not_a_second_path(place: int, name: str) -> None:
    names = paths.location(PARTITION, RUN).split("/")
    assert paths.parsed(names) is not None
    names[place] = name
    assert paths.parsed(names) is None
