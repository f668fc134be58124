"""``python -m recoup_demo.world``: serve a world until standard input ends. Prints a line of JSON when it is ready."""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Coroutine
from typing import Any

from recoup.refusals import InputRefused, Refusal
from recoup_demo.world.companies import companies
from recoup_demo.world.directory import Directory
from recoup_demo.world.dns_server import Names
from recoup_demo.world.present import Present
from recoup_demo.world.servers import Ports, serve
from recoup_demo.world.sites import Sites

MAX_ANSWER_MS = 10_000


def parser() -> ArgumentParser:
    found = ArgumentParser(prog="python -m recoup_demo.world", description="A small internet on loopback.")
    found.add_argument("--count", type=int, default=2000, help="how many companies live in it")
    found.add_argument("--seed", type=int, default=7, help="which ones")
    found.add_argument("--answer-ms", type=int, default=0, help="delay of every answer")
    free = Ports(0, 0, 0)
    found.add_argument("--ports", type=int, nargs=3, default=free, metavar=("DNS", "SITES", "DIRECTORY"), help="0: any")
    return found


def run(serving: Callable[[Namespace], Coroutine[Any, Any, None]], given: Namespace) -> int:
    """Serve, or print why not."""
    try:
        if not 0 <= given.answer_ms <= MAX_ANSWER_MS:
            raise InputRefused(
                "world_delay",
                f"A delay of {given.answer_ms} ms.",
                f"Ask for 0 to {MAX_ANSWER_MS} ms.",
                answer_ms=given.answer_ms,
            )
        asyncio.run(serving(given))
    except Refusal as refusal:
        print(json.dumps(refusal.as_json()), flush=True)
        return 1
    return 0


async def _serve(given: Namespace) -> None:
    present = Present(companies(given.count, seed=given.seed), answer_s=given.answer_ms / 1000)
    await serve(Names(present), Sites(present), Directory(present), Ports(*given.ports))


if __name__ == "__main__":
    sys.exit(run(_serve, parser().parse_args()))
