"""Which checks run, in which order, and how others add their own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recoup import observe
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.verification.checks import CHECKS
from recoup.verification.findings import Finding
from recoup.verification.verifier import Verifier
from recoup_demo.world import Kind
from verification.looking import candidate, rules_for, verdicts
from world.watched import WatchedWorld

MODULE = '''
import asyncio
from recoup.verification.findings import Finding, NotPassed

class Named:
    """Passes companies whose page was found at a good address, by what earlier checks left."""

    name = "named"

    async def __call__(self, candidate, subject):
        page = await subject.fetch()
        return (Finding.PASSED if subject.addresses and page.status == 200 else Finding.PAGE_OF_OTHERS), "seen"

class Strict:
    name = "strict"

    async def __call__(self, candidate, subject):
        raise NotPassed(Finding.PAGE_OF_OTHERS, f"{candidate.company_name} is \\n not wanted")

class Broken(Strict):
    async def __call__(self, candidate, subject):
        key = "a key " + "of theirs"
        raise KeyError("a defect")

class Slow(Strict):
    async def __call__(self, candidate, subject):
        await asyncio.Event().wait()

class Cancelled(Strict):
    async def __call__(self, candidate, subject):
        asked = asyncio.get_running_loop().create_future()
        asked.cancel()
        await asked

class Loose(Strict):
    async def __call__(self, candidate, subject):
        return "passed", "a plain text for a finding"

class Babbling(Strict):
    async def __call__(self, candidate, subject):
        return "whatever", ""

class Inventive(Strict):
    async def __call__(self, candidate, subject):
        raise NotPassed("no-licence", "a finding that nobody knows")

ready = Named()

def made():
    return Named()

def unmade():
    raise RuntimeError("no licence")

def nothing():
    return None
'''
ENTRIES = {
    "named": "Named", "ready": "ready", "made": "made", "strict": "Strict", "broken": "Broken", "slow": "Slow",
    "cancelled": "Cancelled", "inventive": "Inventive",
    "loose": "Loose", "babbling": "Babbling", "unmade": "unmade", "nothing": "nothing", "absent": "Absent",
    "dns": "Strict",
}  # fmt: skip


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution with checks, as an installer leaves it."""
    (tmp_path / "strangers_checks.py").write_text(MODULE)
    about = tmp_path / "strangers_checks-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers-checks\nVersion: 1.0\n")
    lines = [f"{name} = strangers_checks:{value}" for name, value in ENTRIES.items()]
    (about / "entry_points.txt").write_text("\n".join(["[recoup.gate_checks]", *lines]))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("strangers_checks", None)


@pytest.fixture
def finding(world: WatchedWorld, installed: None) -> Callable[..., tuple[ReasonCode | None, Finding, str]]:
    """What is found of a good company by these checks."""

    def found(*checks: str, **over: int) -> tuple[ReasonCode | None, Finding, str]:
        good = next(company for company in world.companies if company.kind is Kind.GOOD)
        (verdict,) = verdicts(rules_for(world.policy, checks=list(checks), **over), [candidate(good)])
        return verdict.reason_code, verdict.finding, verdict.message

    return found


Found = Callable[..., tuple[ReasonCode | None, Finding, str]]


@pytest.mark.parametrize("name", ["named", "ready", "made"])
def test_a_class_an_object_and_a_factory_are_checks(finding: Found, name: str) -> None:
    reason, found, said = finding("dns", name)
    assert (reason, found) == (None, Finding.PASSED)
    assert said == "seen"


def test_the_first_that_does_not_pass_decides(finding: Found) -> None:
    assert finding("dns", "strict", "broken")[:2] == (ReasonCode.DOMAIN_NO_IMPRINT, Finding.PAGE_OF_OTHERS)
    assert finding("broken", "strict")[1] is Finding.CHECK_BROKE


def test_a_plain_text_that_is_a_finding_is_one_and_does_not_end_the_checks(finding: Found) -> None:
    assert finding("loose", "strict")[1] is Finding.PAGE_OF_OTHERS


def test_evidence_of_others_is_made_printable(finding: Found) -> None:
    said = finding("strict")[2]
    assert said.isprintable()
    assert "is ? not wanted" in said


@pytest.mark.parametrize(
    ("name", "error"),
    [("broken", "KeyError"), ("babbling", "ValueError"), ("inventive", "ValueError"), ("cancelled", "CancelledError")],
)
def test_a_defect_is_an_outage_and_is_logged(
    finding: Found, name: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    observe.configure(json=True)
    reason, found, said = finding(name)
    assert (reason, found) == (ReasonCode.API_UNAVAILABLE, Finding.CHECK_BROKE)
    assert error in said
    logged = capsys.readouterr().err
    assert "a check broke" in logged
    assert error in logged
    assert "strangers_checks.py" in logged or error == "ValueError"
    assert "a key of theirs" not in logged


def test_a_check_that_never_ends_is_ended(finding: Found) -> None:
    assert finding("slow", site_timeout_ms=100)[:2] == (ReasonCode.TIMEOUT, Finding.CHECK_SLOW)


def test_a_built_in_check_is_not_replaced(finding: Found) -> None:
    assert finding("dns")[1] is Finding.PASSED


@pytest.mark.parametrize("name", ["unmade", "nothing", "absent"])
def test_a_check_that_cannot_be_had_is_refused(installed: None, name: str) -> None:
    with pytest.raises(InputRefused) as refused:
        Verifier(rules_for({"directory": "http://127.0.0.1:9/{domain}"}, checks=[name]))
    assert refused.value.code == "check_unusable"
    assert "strangers_checks" in refused.value.next_step


def test_a_name_that_nobody_provides_is_refused_with_the_nearest(installed: None) -> None:
    with pytest.raises(InputRefused) as refused:
        Verifier(rules_for({}, checks=["imprnt"]))
    assert refused.value.code == "check_unknown"
    assert "did you mean imprint?" in refused.value.happened
    assert {*CHECKS, "named"} <= set(refused.value.next_step.replace(",", " ").replace(".", " ").split())


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_stands_on_its_own(world: WatchedWorld, check: str) -> None:
    """A check makes up for those before it that are not listed."""
    good = next(company for company in world.companies if company.kind is Kind.GOOD)
    (verdict,) = verdicts(rules_for(world.policy, checks=[check]), [candidate(good)])
    assert (verdict.reason_code, verdict.check) == (None, check)


def test_who_cancels_is_obeyed(world: WatchedWorld) -> None:
    silent = next(company for company in world.companies if company.kind is Kind.SLOW_SITE)

    async def cancelled() -> bool:
        async with Verifier(rules_for(world.policy, site_timeout_ms=60_000)) as verifier:
            before = world.seen()["site_requests"]
            task = asyncio.create_task(verifier.verify(candidate(silent)))
            while (await asyncio.to_thread(world.seen))["site_requests"] == before:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return task.cancelled()

    assert asyncio.run(cancelled())
