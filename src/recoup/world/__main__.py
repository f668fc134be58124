"""``python -m recoup.world``: serve a world until standard input ends. Prints one line of JSON when it is ready."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from recoup.refusals import InputRefused, Refusal
from recoup.world.companies import companies
from recoup.world.present import Present
from recoup.world.servers import Ports, serve

ANSWER_MS_MOST = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m recoup.world", description="A small internet on loopback.")
    parser.add_argument("--count", type=int, default=2000, help="how many companies live in it")
    parser.add_argument("--seed", type=int, default=7, help="which ones")
    parser.add_argument("--hostile", action="store_true", help="with those that mean harm")
    parser.add_argument("--answer-ms", type=int, default=0, help="delay of every answer")
    parser.add_argument("--ports", type=int, nargs=3, metavar=("DNS", "SITES", "DIRECTORY"), help="free ones otherwise")
    parser.add_argument("--key", help="what the directory wants to see")
    given = parser.parse_args()
    try:
        if not 0 <= given.answer_ms <= ANSWER_MS_MOST:
            raise InputRefused(
                "world_delay",
                f"A delay of {given.answer_ms} ms.",
                f"Ask for 0 to {ANSWER_MS_MOST} ms.",
                answer_ms=given.answer_ms,
            )
        inhabitants = companies(given.count, seed=given.seed, hostile=given.hostile)
        present = Present(inhabitants, answer_s=given.answer_ms / 1000, key=given.key)
        asyncio.run(serve(present, Ports(*given.ports) if given.ports else None, ready=_say))
    except Refusal as refusal:
        print(json.dumps(refusal.as_json()), flush=True)
        return 1
    return 0


def _say(ports: Ports) -> None:
    print(json.dumps({"ports": list(ports), "policy": ports.policy}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
