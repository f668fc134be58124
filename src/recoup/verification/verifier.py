"""Verification: the checks of the policy, in their order, on one company; the first that does not pass decides."""

import asyncio
import resource
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from recoup import observe
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.verification.checks import CHECKS, NEED_DIRECTORY, Candidate, Check, Subject, check_named
from recoup.verification.directory import Directory, HttpDirectory
from recoup.verification.directory_file import FileDirectory
from recoup.verification.findings import VERDICTS, Finding, NotPassed
from recoup.verification.resolver import Resolver
from recoup.verification.rules import Verification
from recoup.verification.sites import Sites

MAX_SAID = 300
FILES_BESIDES = 100  # connections to the database, logs, and what else a process has open


class Verdict(NamedTuple):
    """What became of a verification, and why."""

    reason_code: ReasonCode | None  # None: passed
    finding: Finding
    check: str  # the one that decided
    said: str  # the evidence, in a short sentence


class Verifier:
    """Looks at companies, hundreds at a time within one event loop. Nothing that the world does makes it raise."""

    def __init__(self, rules: Verification, *, directory_key: str | None = None) -> None:
        _have_files(rules)
        self._checks: dict[str, Check] = {name: check_named(name) for name in rules.checks}
        self._own_check_s = rules.site_timeout_ms / 1000
        self._directory = _directory(rules, directory_key)
        self._resolver = Resolver(rules.nameservers, timeout_s=rules.dns_timeout_ms / 1000)
        self._sites = Sites(rules)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._directory is not None:
            await self._directory.close()
        await asyncio.sleep(0)  # connections that were dropped are closed in the next turn of the loop

    async def verify(self, candidate: Candidate) -> Verdict:
        """Run the checks on a company."""
        looking = Subject(candidate=candidate, resolver=self._resolver, sites=self._sites, directory=self._directory)
        passed: list[str] = []
        for name, check in self._checks.items():
            verdict = await self._checked(name, check, candidate, looking)
            if verdict.finding is not Finding.PASSED:
                return verdict
            passed.append(verdict.said)
        # A pass rests on all of them.
        return verdict._replace(said="; ".join(passed)[:MAX_SAID])

    async def _checked(self, name: str, check: Check, candidate: Candidate, looking: Subject) -> Verdict:
        """What a check found. A defect of one must not end the worker, nor stay unseen."""
        try:
            return _verdict(name, *await self._found(name, check, candidate, looking))
        except asyncio.CancelledError as error:
            # We are obeyed. What the check waited for, and let end like this, is its own affair.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return _broke(name, candidate, error)
        except Exception as error:  # noqa: BLE001 - whatever it is
            return _broke(name, candidate, error)

    async def _found(self, name: str, check: Check, candidate: Candidate, looking: Subject) -> tuple[Finding, str]:
        try:
            if name in CHECKS:  # they keep their own time: waiting for a turn does not count
                return await check(candidate, looking)
            return await self._own_check(check, candidate, looking)
        except NotPassed as found:
            return found.finding, found.said

    async def _own_check(self, check: Check, candidate: Candidate, looking: Subject) -> tuple[Finding, str]:
        """A check of others, which gets as much time as a site does."""
        clock = asyncio.timeout(self._own_check_s)
        try:
            async with clock:
                return await check(candidate, looking)
        except TimeoutError:
            if not clock.expired():  # the check's own, and so its defect
                raise
        return Finding.CHECK_SLOW, f"no answer in {self._own_check_s:g} s"


def _have_files(rules: Verification) -> None:
    """Let this process open as many files as it needs. Without them, whoever is looked at would fail for our sake."""
    # One at a time for each company, and what the directory is asked through; for first attempts and for retries.
    needed = 2 * (rules.at_once + rules.directory_at_once) + FILES_BESIDES
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (allowed, most) or allowed >= needed:
        return
    if most < needed:
        raise InputRefused(
            "files_too_few",
            f"Subject at {rules.at_once:,} at once takes {needed:,} open files; this process may have {most:,}.",
            "Allow it more (ulimit -n), or take on fewer: policy gate.verification.at_once",
            needed=needed,
            allowed=most,
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def directory_missing(rules: Verification) -> bool:
    """Whether the policy lists a check that needs the directory, and names none."""
    return not rules.directory and not NEED_DIRECTORY.isdisjoint(rules.checks)


def _directory(rules: Verification, key: str | None) -> Directory | None:
    if directory_missing(rules):
        raise InputRefused(
            "directory_missing",
            "The policy names no company directory, and lists checks that need one.",
            "Name a URL or a file: gate.verification.directory in a document, then recoup policy apply FILE --reason …",
        )
    if not rules.directory:
        return None
    if rules.directory.lower().startswith(("http://", "https://")):
        return HttpDirectory(rules, key=key)
    return FileDirectory(Path(rules.directory).expanduser())


def _verdict(check: str, finding: Finding, said: str) -> Verdict:
    finding = Finding(finding)  # a check of others may say it in plain text
    return Verdict(VERDICTS[finding], finding, check, _evidence(f"check:{check} {said}"))


def _broke(check: str, candidate: Candidate, error: BaseException) -> Verdict:
    observe.logger().error("a check broke", check=check, domain=candidate.company_domain, exc_info=error)
    return _verdict(check, Finding.CHECK_BROKE, f"{type(error).__name__} in the check itself")


def _evidence(said: str) -> str:
    """A sentence that can be stored and printed, whoever's words are in it."""
    short = said[:MAX_SAID]
    return short if short.isprintable() else "".join(c if c.isprintable() else "?" for c in short)
