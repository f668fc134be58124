"""The process of a watched world: that of the package, with DNS over TCP and a canary for stray requests."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from recoup.refusals import InputRefused
from recoup_demo.world import companies
from recoup_demo.world.__main__ import parser, run
from recoup_demo.world.present import DNS_ADDRESS, Present
from recoup_demo.world.servers import Ports, bound, serve

sys.path.insert(0, str(Path(__file__).parents[1]))
from world import tricks
from world.counting import Canary, Seen, WatchedDirectory, WatchedNames, WatchedSites
from world.odd import Odd

MAX_TRIES = 50
IDLE_S = 30.0


async def over_tcp(
    names: WatchedNames, answer_s: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """One client over TCP, query by query."""
    # It may leave at any moment, or say nothing for too long; or the world ends.
    with suppress(asyncio.IncompleteReadError, ConnectionError, TimeoutError, asyncio.CancelledError):
        while True:
            async with asyncio.timeout(IDLE_S):
                length = int.from_bytes(await reader.readexactly(2), "big")
                wire = await reader.readexactly(length)
            reply = names.reply_to(wire)
            if reply is None:
                continue
            await asyncio.sleep(answer_s)
            writer.write(len(reply).to_bytes(2, "big") + reply)
            await writer.drain()
    writer.close()


async def serve_watched(given: Namespace) -> None:
    """DNS over TCP has the port of DNS. The canary has that of the sites: only the address is wrong with it."""
    inhabitants = companies(given.count, seed=given.seed, rare=Odd if given.hostile else ())
    present, seen = Present(inhabitants, answer_s=given.answer_ms / 1000), Seen()
    by_tcp = WatchedNames(present, tricks.OVER_TCP, seen.counts, "dns_queries", "dns_queries_over_tcp")
    by_udp = WatchedNames(present, tricks.OVER_UDP, seen.counts, "dns_queries")
    sites, directory = WatchedSites(present, seen), WatchedDirectory(present, seen, given.key)
    wanted = Ports(*given.ports)
    for left in reversed(range(MAX_TRIES)):
        tcp, astray = bound(DNS_ADDRESS, wanted.dns), bound(tricks.CANARY_ADDRESS, wanted.sites)
        chosen = Ports(tcp.getsockname()[1], astray.getsockname()[1], wanted.directory)
        loop = asyncio.get_running_loop()
        with (
            closing(await asyncio.start_server(partial(over_tcp, by_tcp, present.answer_s), sock=tcp)),
            closing(await loop.create_server(partial(Canary, seen.counts), sock=astray)),
        ):
            try:
                await serve(by_udp, sites, directory, chosen)
                return
            except InputRefused:
                if chosen == wanted or not left:
                    raise


if __name__ == "__main__":
    options = parser()
    options.add_argument("--hostile", action="store_true", help="with those that mean harm")
    options.add_argument("--key", help="what the directory wants to see")
    sys.exit(run(serve_watched, options.parse_args()))
