"""A manifest has one form, to the byte. Anything else is not a manifest."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partitions.sink.given import PARTITION
from recoup.partitions.sink.manifest import DataFile, Manifest, manifest, parse, rendered

FILES = (
    DataFile(name="part-00000.jsonl", bytes=10, rows=2, sha256="0a" * 32),
    DataFile(name="part-00001.jsonl", bytes=5, rows=1, sha256="1b" * 32),
)
AT = datetime(2026, 3, 2, 4, 5, 6, 789, tzinfo=UTC)
ONE = manifest(PARTITION, UUID(int=7), "jsonl", FILES, AT)


def stored(**changes: Any) -> dict[str, Any]:
    return {**json.loads(rendered(ONE)), **changes}


def written(facts: object) -> bytes:
    return (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode()


def forged(one: Manifest) -> bytes:
    """As somebody writes it who knows how the digest is made."""
    return rendered(one)


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert parse(rendered(ONE)) == ONE
    assert (ONE.rows, ONE.bytes, len(ONE.digest)) == (3, 15, 64)
    assert stored()["digest"] == ONE.digest
    assert stored()["format_version"] == 1


def test_time_is_stored_in_utc() -> None:
    elsewhere = manifest(PARTITION, UUID(int=7), "jsonl", FILES, AT.astimezone(timezone(timedelta(hours=5))))
    assert rendered(elsewhere) == rendered(ONE)


def test_data_is_the_same_whenever_it_was_written() -> None:
    later = replace(ONE, written_at=AT + timedelta(hours=1))
    assert later.same_data(ONE)
    assert later.digest != ONE.digest
    assert not replace(ONE, run_id=UUID(int=8)).same_data(ONE)
    assert not replace(ONE, files=FILES[:1]).same_data(ONE)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"{" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b"\xff\xfe",
        b'{"rows": ' + b"9" * 10_000 + b"}",
        rendered(ONE)[:-1],
        rendered(ONE) + b"\n",
        rendered(ONE).replace(b"\n", b"\r\n"),
        json.dumps(stored()).encode(),  # in another form
        written(dict(sorted(stored().items()))),  # in another order
        written(stored(more=1)),
        written({key: value for key, value in stored().items() if key != "digest"}),
        written(stored(digest="0" * 64)),
        written(stored(rows=4)),
        written(stored(rows="3")),
        written(stored(rows=3.0)),
        written(stored(rows=True)),
        written(stored(format_version=2)),
        written(stored(run_id=["x"])),
        written(stored(partition=["ads", "acme", "spend", "2026-03-01"])),
        written(stored(files={})),
        written(stored(files=[None])),
    ],
)
def test_any_other_content_is_not_a_manifest(content: bytes) -> None:
    assert parse(content) is None


@pytest.mark.parametrize(
    "name",
    ["../part-00000.jsonl", "/etc/passwd", "part-00000.parquet", "part-00001.jsonl", "manifest.json", "", ".", "a\0b"],
)
def test_a_file_can_only_have_its_own_name(name: str) -> None:
    """Also in a manifest that carries the right digest."""
    assert parse(forged(replace(ONE, files=(replace(FILES[0], name=name), FILES[1])))) is None


@pytest.mark.parametrize(
    "one",
    [
        replace(ONE, files=(), rows=0, bytes=0),
        replace(ONE, rows=2),
        replace(ONE, bytes=14),
        replace(ONE, rows=-1),
        replace(ONE, files=(replace(FILES[0], rows=-1), FILES[1]), rows=0),
        replace(ONE, files=(replace(FILES[0], bytes=2**63), FILES[1]), bytes=2**63 + 5),
        replace(ONE, files=(replace(FILES[0], sha256="0A" * 32), FILES[1])),
        replace(ONE, files=(replace(FILES[0], sha256="0a" * 32 + "\n"), FILES[1])),
        replace(ONE, format="csv"),  # type: ignore[arg-type]
        replace(ONE, partition=PARTITION._replace(source="..")),
        replace(ONE, partition=PARTITION._replace(source="a\0b")),
        replace(ONE, written_at=AT.replace(tzinfo=timezone(timedelta(hours=5)))),
    ],
)
def test_a_manifest_that_does_not_add_up_is_refused(one: Manifest) -> None:
    assert parse(forged(one)) is None


def test_a_time_before_all_times_is_refused() -> None:
    content = rendered(ONE).replace(AT.isoformat().encode(), b"0001-01-01T00:00:00+14:00")
    assert parse(content) is None


@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, len(rendered(ONE)) - 1), byte=st.integers(0, 255))
def test_no_byte_can_be_changed(place: int, byte: int) -> None:
    content = bytearray(rendered(ONE))
    if content[place] != byte:
        content[place] = byte
        assert parse(bytes(content)) is None
