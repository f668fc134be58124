"""Verifying the companies of a world, as a worker does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from recoup.gate.policy import GatePolicy
from recoup.verification.checks import Candidate
from recoup.verification.rules import Verification
from recoup.verification.verifier import Verdict, Verifier
from recoup_demo.world import Company, World

AT_ONCE = 60
# Long enough for a machine that is busy with other tests, short enough to wait for what never comes.
TIMEOUTS = {"dns_timeout_ms": 3000, "site_timeout_ms": 3000, "directory_timeout_ms": 3000}


def rules_for(policy: Mapping[str, Any], **over: Any) -> Verification:
    """The shipped rules, but for where this world is and what a test says."""
    shipped = GatePolicy.shipped().verification.model_dump()
    return Verification.model_validate({**shipped, **TIMEOUTS, **policy, **over})


def candidate(company: Company) -> Candidate:
    return Candidate(company.name, company.domain, company.linkedin_url, company.state)


def verdicts(
    rules: Verification, candidates: Iterable[Candidate], *, at_once: int = AT_ONCE, directory_key: str | None = None
) -> list[Verdict]:
    """The verdicts on candidates, in their order."""

    async def verified() -> list[Verdict]:
        async with Verifier(rules, directory_key=directory_key) as verifier:
            turn = asyncio.Semaphore(at_once)

            async def one(candidate: Candidate) -> Verdict:
                async with turn:
                    return await verifier.verify(candidate)

            return await asyncio.gather(*map(one, candidates))

    return asyncio.run(verified())


def wrong(world: World, companies: Iterable[Company], **over: Any) -> list[str]:
    """Where verdict and truth of this day differ, in words."""
    looked_at = list(companies)
    found = verdicts(rules_for(world.policy, **over), map(candidate, looked_at))
    return [
        f"{company.kind} {company.domain}: {verdict.reason_code}, not {company.truth_on(world.day)} ({verdict.message})"
        for company, verdict in zip(looked_at, found, strict=True)
        if verdict.reason_code is not company.truth_on(world.day)
    ]
