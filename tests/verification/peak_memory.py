"""A process that verifies what it is given on standard input, and tells how large it grew."""

from __future__ import annotations

import asyncio
import json
import resource
import sys

from recoup.verification.checks import Candidate
from recoup.verification.rules import Verification
from recoup.verification.verifier import Verifier


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def grown(rules: Verification, honest: list[Candidate], greedy: list[Candidate]) -> dict[str, int]:
    async with Verifier(rules) as verifier:
        await asyncio.gather(*map(verifier.verify, honest))
        honest_kb = peak_kb()
        await asyncio.gather(*map(verifier.verify, greedy))
        return {"honest_kb": honest_kb, "greedy_kb": peak_kb()}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    honest, greedy = ([Candidate(*given) for given in asked[name]] for name in ("honest", "greedy"))
    print(json.dumps(asyncio.run(grown(Verification.model_validate(asked["rules"]), honest, greedy))))
