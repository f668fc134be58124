"""Prints how many requests a second the world answers, and what each costs it. Run by hand: nothing is asserted."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import dns.message

from recoup_demo.world import Kind, World

REQUESTS = 20_000
AT_ONCE = 100


def cpu_s(pid: int) -> float:
    """The time that a process has spent computing."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def over_http(address: str, port: int, requests: list[bytes]) -> None:
    reader, writer = await asyncio.open_connection(address, port)
    for request in requests:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]))
    writer.close()
    await writer.wait_closed()


class Asking(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answered = asyncio.Event()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.answered.set()


async def over_dns(address: str, port: int, requests: list[bytes]) -> None:
    loop = asyncio.get_running_loop()
    transport, asking = await loop.create_datagram_endpoint(Asking, remote_addr=(address, port))
    for request in requests:
        asking.answered.clear()
        transport.sendto(request)
        await asking.answered.wait()
    transport.close()


async def measure(
    world: World,
    what: str,
    ask: Callable[[str, int, list[bytes]], Awaitable[None]],
    place: tuple[str, int],
    made: list[bytes],
) -> None:
    requests = (made * (REQUESTS // len(made) + 1))[:REQUESTS]
    assert world.process is not None
    began, spent = time.perf_counter(), cpu_s(world.process.pid)
    await asyncio.gather(*(ask(*place, requests[start::AT_ONCE]) for start in range(AT_ONCE)))
    took, cost = time.perf_counter() - began, cpu_s(world.process.pid) - spent
    print(f"{what:10} {REQUESTS / took:8,.0f} a second   {cost / REQUESTS * 1e6:6.0f} µs of its processor each")


async def main() -> None:
    with World(2000) as world:
        domains = [company.domain for company in world.companies if company.kind is Kind.GOOD]
        ports = world.ports
        site = [
            f"GET / HTTP/1.1\r\nHost: {domain}:{ports.sites}\r\nUser-Agent: x\r\n\r\n".encode() for domain in domains
        ]
        entry = [f"GET /company?domain={domain}&name=x HTTP/1.1\r\nHost: d\r\n\r\n".encode() for domain in domains]
        query = [dns.message.make_query(domain, "A").to_wire() for domain in domains]
        await measure(world, "DNS", over_dns, ("127.77.0.53", ports.dns), query)
        await measure(world, "sites", over_http, ("127.77.1.1", ports.sites), site)
        await measure(world, "directory", over_http, ("127.77.0.80", ports.directory), entry)


if __name__ == "__main__":
    asyncio.run(main())
