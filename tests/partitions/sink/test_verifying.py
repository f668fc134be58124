"""What is missing, changed or foreign in a sink is found, and said in words."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from partitions.sink.given import PARTITION, asides, publish, writable
from recoup.partitions.identity import Partition
from recoup.partitions.sink import Kind, Published, Sink


def _flipped(run: Path) -> None:
    content = (run / "part-00000.jsonl").read_bytes()
    (run / "part-00000.jsonl").write_bytes(content.replace(b"1", b"2", 1))


def _pipe(run: Path) -> None:
    (run / "part-00000.jsonl").unlink()
    os.mkfifo(run / "part-00000.jsonl")


TAMPERED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a byte": (_flipped, "The content of part-00000.jsonl has changed."),
    "shorter": (lambda run: (run / "part-00000.jsonl").write_text("{}"), "part-00000.jsonl has 2 bytes, not 52."),
    "no file": (
        lambda run: (run / "part-00000.jsonl").unlink(),
        "part-00000.jsonl is missing, or is not a plain file.",
    ),
    "a pipe": (_pipe, "part-00000.jsonl is missing, or is not a plain file."),
    "a file more": (
        lambda run: (run / "part-00001.jsonl").write_text("{}"),
        "1 of its files are not in its manifest: 'part-00001.jsonl'.",
    ),
    "no manifest": (lambda run: (run / "manifest.json").unlink(), "It has no valid manifest."),
    "half a manifest": (lambda run: os.truncate(run / "manifest.json", 100), "It has no valid manifest."),
    "a large manifest": (lambda run: os.truncate(run / "manifest.json", 2**26), "It has no valid manifest."),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_run_that_was_tampered_with_is_noticed(sink: Sink, case: str) -> None:
    tamper, message = TAMPERED[case]
    one = publish(sink)
    run_id = one.manifest.run_id
    assert sink.check(PARTITION, run_id, one.digest) is None
    writable(sink.folder(one))
    tamper(sink.folder(one))
    assert sink.check(PARTITION, run_id, one.digest) == message


def test_a_manifest_that_was_replaced_as_a_whole_has_another_digest(sink: Sink) -> None:
    one, run_id = publish(sink), uuid4()
    other = publish(sink, run_id)
    message = sink.check(PARTITION, run_id, one.digest)
    assert message == f"Its manifest has the digest {other.digest}, not {one.digest}."


def test_a_run_under_the_name_of_another_is_not_that_one(sink: Sink) -> None:
    one, other = publish(sink), uuid4()
    sink.folder(one).chmod(0o755)
    sink.folder(one).rename(sink.folder(one).parent / f"run_id={other}")
    assert sink.runs(PARTITION) == []
    assert sink.check(PARTITION, other, one.digest) == "It has no valid manifest."
    assert sink.check(PARTITION, one.manifest.run_id, one.digest) == f"It is not in the raw sink {sink.root}."


def test_a_run_without_all_its_files_is_not_a_run(sink: Sink) -> None:
    one = publish(sink)
    writable(sink.folder(one))
    (sink.folder(one) / "part-00000.jsonl").write_text("{}")
    assert sink.published(PARTITION, one.manifest.run_id) is None
    assert sink.runs(PARTITION) == []


def expected(*runs: Published) -> list[tuple[Partition, UUID, str]]:
    return [(one.manifest.partition, one.manifest.run_id, one.digest) for one in runs]


def test_an_unchanged_sink_differs_in_nothing(sink: Sink) -> None:
    runs = [publish(sink, partition=PARTITION._replace(customer_id=f"c/{number % 3}")) for number in range(6)]
    with sink.writing(PARTITION, uuid4()) as writer:
        writer.rows([])
    assert len(asides(sink)) == 1
    (sink.root / "lost+found").mkdir()
    assert list(sink.verify(expected(*runs))) == []


def test_what_is_missing_changed_and_foreign_is_told_apart(sink: Sink, tmp_path: Path) -> None:
    kept, changed, unknown = publish(sink), publish(sink), publish(sink)
    missing = publish(Sink.create(tmp_path / "other"))
    writable(sink.folder(changed))
    _flipped(sink.folder(changed))
    day = sink.folder(kept).parent
    (day / f"run_id={uuid4()}").mkdir()
    (day / "notes.txt").write_text("")
    (day / "run_id=mine").mkdir()
    (sink.root / "source=link").symlink_to(tmp_path)
    (sink.root / "more").mkdir()
    found = list(sink.verify(expected(kept, changed, missing)))
    assert [(one.kind, one.location) for one in found if one.kind is not Kind.FOREIGN] == [
        (Kind.CHANGED, changed.location),
        (Kind.MISSING, missing.location),
    ]
    foreign = {one.location: one.message for one in found if one.kind is Kind.FOREIGN}
    assert len(foreign) == 6
    assert foreign[unknown.location] == "It is a published run that the database does not know."
    assert foreign["source=link"] == "It is a link."
    assert foreign["more"] == "It is not a folder of the sink."
    assert [one.partition for one in found if one.location == unknown.location] == [PARTITION]
    assert sorted(foreign.values()).count("It is not a run: no valid manifest.") == 2
