"""Verification: runs the checks of the policy on a company, in order; the first that fails decides."""

import asyncio
import resource
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from recoup import observe
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused
from recoup.verification.checks import CHECKS, NEED_DIRECTORY, Candidate, Check, Subject, check_named
from recoup.verification.directory import Directory, HttpDirectory
from recoup.verification.directory_file import FileDirectory
from recoup.verification.findings import VERDICTS, Evidence, Finding, NotPassed
from recoup.verification.resolver import Resolver
from recoup.verification.rules import Verification
from recoup.verification.sites import Sites

MAX_MESSAGE = 300
OTHER_FILES = 100  # connections to the database, logs, and whatever else a process has open


class Verdict(NamedTuple):
    """The result of a verification: why, and what each check found."""

    reason_code: ReasonCode | None  # None: passed
    evidence: tuple[Evidence, ...]  # of every check that ran; the last one decided

    @property
    def finding(self) -> Finding:
        return Finding(self.evidence[-1].finding)

    @property
    def check(self) -> str:
        return self.evidence[-1].check

    @property
    def message(self) -> str:
        return self.evidence[-1].message


class Verifier:
    """Verifies companies, hundreds at a time within one event loop. It never raises, whatever servers answer."""

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
        subject = Subject(candidate=candidate, resolver=self._resolver, sites=self._sites, directory=self._directory)
        evidence: list[Evidence] = []
        for name, check in self._checks.items():
            began = time.monotonic()
            found, message = await self._checked(name, check, candidate, subject)
            evidence.append(Evidence(name, found, _printable(message), round((time.monotonic() - began) * 1000)))
            if found is not Finding.PASSED:
                break
        return Verdict(VERDICTS[found], tuple(evidence))

    async def _checked(self, name: str, check: Check, candidate: Candidate, subject: Subject) -> tuple[Finding, str]:
        """What a check found. A bug in one must not stop the worker, and is logged."""
        try:
            finding, message = await self._found(name, check, candidate, subject)
            return Finding(finding), str(message)  # a check of another package may give plain text
        except asyncio.CancelledError as error:
            # Either we are cancelled, or something that the check waited for was.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return _broke(name, candidate, error)
        except Exception as error:  # noqa: BLE001 - any bug of a check
            return _broke(name, candidate, error)

    async def _found(self, name: str, check: Check, candidate: Candidate, subject: Subject) -> tuple[Finding, str]:
        try:
            if name in CHECKS:  # they have their own timeouts: waiting for a free slot does not count
                return await check(candidate, subject)
            return await self._own_check(check, candidate, subject)
        except NotPassed as found:
            return found.finding, found.message

    async def _own_check(self, check: Check, candidate: Candidate, subject: Subject) -> tuple[Finding, str]:
        """A check of another package; it has as much time as a site."""
        clock = asyncio.timeout(self._own_check_s)
        try:
            async with clock:
                return await check(candidate, subject)
        except TimeoutError:
            if not clock.expired():  # raised by the check itself: a bug
                raise
        return Finding.CHECK_SLOW, f"no answer in {self._own_check_s:g} s"


def _have_files(rules: Verification) -> None:
    """Let this process open as many files as it needs: companies must not fail because we have too few."""
    # One per company, and the connections to the directory; for first attempts and for retries.
    needed = 2 * (rules.at_once + rules.directory_at_once) + OTHER_FILES
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (allowed, most) or allowed >= needed:
        return
    if most < needed:
        raise InputRefused(
            "files_too_few",
            f"Verifying {rules.at_once:,} companies at once takes {needed:,} open files; {most:,} are allowed.",
            "Allow more (ulimit -n), or verify fewer at once: policy gate.verification.at_once",
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
            "The policy has checks that need a company directory, and names none.",
            "Name a URL or a file: gate.verification.directory in a document, then recoup policy apply FILE --reason …",
        )
    if not rules.directory:
        return None
    if rules.directory.lower().startswith(("http://", "https://")):
        return HttpDirectory(rules, key=key)
    return FileDirectory(Path(rules.directory).expanduser())


def _broke(check: str, candidate: Candidate, error: BaseException) -> tuple[Finding, str]:
    observe.logger().error("a check broke", check=check, domain=candidate.company_domain, exc_info=error)
    return Finding.CHECK_BROKE, f"{type(error).__name__} in the check itself"


def _printable(message: str) -> str:
    """A message that can be stored and printed, whatever a server put into it."""
    short = message[:MAX_MESSAGE]
    return short if short.isprintable() else "".join(c if c.isprintable() else "?" for c in short)
