"""A directory that is a file gives the verdicts that the same directory gives over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import os
import sys
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest
from pydantic import ValidationError

from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.verification.checks import Candidate
from recoup.verification.directory import states_in
from recoup.verification.directory_file import FileDirectory
from recoup.verification.findings import Finding
from recoup.verification.verifier import Verdict, Verifier
from recoup_demo.world import Kind
from verification.looking import candidate, rules_for, verdicts
from world.odd import SERVICE_FAULTS
from world.watched import WatchedWorld
from written import parquet_of

HEAD = "domain,name,found,states,scope\n"
# A list of texts of which one is none.
TEXT = pa.Array.from_buffers(pa.string(), 1, pa.array([b"M\xfcller"], pa.binary()).buffers())
HALVES = parquet_of(pa.table({"domain": ["a"], "name": ["A"], "states": pa.ListArray.from_arrays([0, 1], TEXT)}))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_the_same_verdicts_as_over_http(world: WatchedWorld, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"directory{suffix}"
    world.write_directory(path)
    # A file has no bad days.
    companies = [c for c in world.companies if c.kind not in SERVICE_FAULTS and c.truth_on(0) is not ReasonCode.TIMEOUT]
    candidates = [candidate(c) for c in companies if c.truth_on(0) is not ReasonCode.API_UNAVAILABLE]
    over_http = verdicts(rules_for(world.policy), candidates)
    from_file = verdicts(rules_for(world.policy, directory=str(path)), candidates)
    assert [v.reason_code for v in from_file] == [v.reason_code for v in over_http]
    reasons = {v.reason_code for v in from_file}
    assert {ReasonCode.NO_LINKEDIN_COMPANY, ReasonCode.STATE_AMBIGUOUS, ReasonCode.STATE_MISSING, None} <= reasons


def entry_of(path: Path, domain: str, name: str = "") -> tuple[str, ...]:
    return asyncio.run(FileDirectory(path).entry(domain, name)).states


def test_entries_are_found_by_domain_then_by_name_where_there_is_no_domain(tmp_path: Path) -> None:
    path = tmp_path / "directory.csv"
    path.write_text(
        HEAD + "https://www.Acme.example/,Acme Inc.,,TX,\n,The Smith & Co. LLC,true,Ohio,\nacme.test,Smith,yes,CA,\n"
        "twice.example,Twice,1,TX,\ntwice.example,Twice,1,ME,\ngone.example,Gone,no,TX,\n"
    )
    assert entry_of(path, "acme.example") == ("TX",)
    assert entry_of(path, "shop.acme.example") == ("TX",)
    assert entry_of(path, "smith.example", "Smith and Company") == ("Ohio",)
    assert entry_of(path, "twice.example") == ("TX", "ME")
    assert asyncio.run(_verdict(path, "acme.org", "Acme Inc.")) is Finding.NO_ENTRY  # that is another Acme
    assert asyncio.run(_verdict(path, "gone.example", "Gone")) is Finding.NO_ENTRY


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("directory.csv", b"\xef\xbb\xbfdomain,name,states\nacme.example,Acme,TX\n"),
        ("directory.csv", b"NAME;States;Domain;phone\nAcme;TX;acme.example;1\n"),
        ("directory.tsv", b"domain\tname\tstates\nacme.example\tAcme\tTX\n"),
        ("directory.csv.gz", gzip.compress(b"domain,name,states\nacme.example,Acme,TX\n", mtime=0)),
        ("directory.jsonl", b'\n{"domain": "acme.example", "name": "Acme", "states": ["TX"], "phone": 1}\n'),
        ("directory.ndjson", b'{"domain": "acme.example", "name": "Acme", "states": "TX"}\n{"domain": "b.example"}\n'),
    ],
)
def test_however_a_directory_is_written(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert entry_of(tmp_path / name, "acme.example") == ("TX",)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not the directory that is wrong."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "directory.parquet").write_bytes(HALVES)
    with pytest.raises(InputRefused) as refused:
        FileDirectory(tmp_path / "directory.parquet")
    assert refused.value.code == "parquet_missing"


async def _verdict(path: Path, domain: str, name: str) -> Finding:
    async with Verifier(
        rules_for({"directory": str(path), "nameservers": ["127.77.3.3"]}, checks=["directory"])
    ) as verifier:
        return (await verifier.verify(Candidate(name, domain, None, "TX"))).finding


def test_states_in_one_text() -> None:
    assert states_in("TX") == ("TX",)
    assert states_in("Texas, USA") == ("Texas, USA",)
    assert states_in("TX; CA,ME") == ("TX", "CA", "ME")
    assert states_in(" ;, ") == ()


def test_a_changed_file_is_read_again_and_a_broken_one_is_an_outage(tmp_path: Path) -> None:
    path = tmp_path / "directory.csv"

    def write(content: str, at: int) -> None:
        path.write_text(content)
        os.utime(path, (at, at))

    async def looked() -> list[Finding]:
        write(HEAD + "other.example,Other,,TX,\n", 1000)
        rules = rules_for({"directory": str(path), "nameservers": ["127.77.3.3"]}, checks=["directory", "state"])
        found = []
        async with Verifier(rules) as verifier:
            for number, content in enumerate(
                (None, HEAD + "acme.example,Acme,,TX,\n", "domain\n", "", HEAD + "acme.example,Acme,,ME,\n")
            ):
                if content is not None:
                    write(content, 2000 + number)
                found.append((await verifier.verify(Candidate("Acme", "acme.example", None, "TX"))).finding)
            path.unlink()
            found.append((await verifier.verify(Candidate("Acme", "acme.example", None, "TX"))).finding)
        return found

    out = Finding.DIRECTORY_OUT
    assert asyncio.run(looked()) == [Finding.NO_ENTRY, Finding.PASSED, out, out, Finding.STATE_DIFFERS, out]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("missing.csv", None, "directory_unreadable"),
        ("empty.csv", b"", "directory_columns"),
        ("few.csv", b"domain,name\na.example,A\n", "directory_columns"),
        ("few.jsonl", b'{"domain": "a.example"}\n', "directory_columns"),
        ("broken.jsonl", b'{"domain": \n', "directory_unreadable"),
        ("list.jsonl", b"[1]\n", "directory_unreadable"),
        ("deep.jsonl", b"[" * 100_000, "directory_unreadable"),
        ("shape.jsonl", b'{"domain": 5, "name": "A", "states": [1]}\n', "directory_unreadable"),
        ("found.csv", b"domain,name,found,states\na.example,A,perhaps,TX\n", "directory_unreadable"),
        ("binary.csv", b"domain,name,states\n\xff\xfe,A,TX\n", "directory_unreadable"),
        ("broken.parquet", b"PAR1 not really PAR1", "directory_unreadable"),
        ("what.xlsx", b"", "directory_kind"),
        ("empty.jsonl", b"", "directory_columns"),
        ("blank.csv", b"\n \n", "directory_columns"),
        ("short.csv", b"domain,name,states,scope\na.example,A,TX\n", "directory_unreadable"),
        ("quotes.csv", b'domain,name,states\na.example,"A"B,TX\n', "directory_unreadable"),
        ("twice.csv", b"domain,name,states,Domain\na.example,A,TX,b.example\n", "directory_unreadable"),
        ("utf-16.csv", "domain,name,states\n".encode("utf-16"), "directory_unreadable"),
        ("damaged.csv.gz", gzip.compress(HEAD.encode() * 1000, mtime=0)[:-9], "directory_unreadable"),
        ("half.jsonl", b'{"domain": "a.example", "name": "A", "states": "TX"}\n{"domain"', "directory_unreadable"),
        ("long.jsonl", b'{"domain": "' + b"x" * 5_000_000, "directory_unreadable"),
        ("halves.parquet", HALVES, "directory_unreadable"),
    ],
)
def test_a_file_that_is_no_directory_is_refused_when_the_verifier_is_made(
    tmp_path: Path, name: str, content: bytes | None, code: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputRefused) as refused:
        Verifier(rules_for({"directory": str(tmp_path / name)}))
    assert refused.value.code == code
    assert name in refused.value.happened


def test_no_directory_at_all_is_refused_unless_no_check_needs_one(world: WatchedWorld) -> None:
    with pytest.raises(InputRefused) as refused:
        Verifier(rules_for(world.policy, directory=""))
    assert refused.value.code == "directory_missing"
    good = next(company for company in world.companies if company.kind is Kind.GOOD)
    (verdict,) = verdicts(rules_for(world.policy, directory="", checks=["dns", "imprint"]), [candidate(good)])
    assert verdict.reason_code is None


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/company", "https:///x?{domain}", "http://[::1/{domain}", "http://h:0/{name}"]
)
def test_a_url_that_cannot_be_asked_for_a_company_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="a URL that companies can be looked up with"):  # when the policy is read
        rules_for({"directory": url})


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        (None, Finding.PASSED),
        ("https://www.LinkedIn.com/company/Acme/?trk=search", Finding.PASSED),
        ("linkedin.com/company/another-acme", Finding.ENTRY_OF_OTHERS),
        ("linkedin.com/company/sold", Finding.PASSED),  # found by its page alone, under another domain
    ],
)
def test_the_linkedin_page_of_the_intake_decides(tmp_path: Path, given: str | None, finding: Finding) -> None:
    """It finds the entry, and an entry with another page is that of another company."""
    path = tmp_path / "directory.csv"
    path.write_text(
        "domain,name,states,linkedin_url\nacme.example,Acme,TX,https://linkedin.com/company/acme\n"
        "sold.example,Sold,TX,linkedin.com/company/sold\n"
    )

    async def verified() -> Verdict:
        rules = rules_for({"directory": str(path), "nameservers": ["127.77.3.3"]}, checks=["directory"])
        async with Verifier(rules) as verifier:
            return await verifier.verify(Candidate("Acme", "acme.example", given, "TX"))

    verdict = asyncio.run(verified())
    assert verdict.finding is finding, verdict.message
    assert verdict.reason_code is (None if finding is Finding.PASSED else ReasonCode.NO_LINKEDIN_COMPANY)
