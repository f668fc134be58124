"""The world is a process of its own: ready when entered, gone with the process that started it."""

from __future__ import annotations

import concurrent.futures
import json
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from recoup.refusals import InputRefused
from recoup_demo.world import Kind, World, companies
from world.asking import DIRECTORY, SITES, Asking, received, visiting
from world.watched import WatchedWorld

PATIENCE_S = 120


def came_true(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def runs(pid: int) -> bool:
    """Whether the process exists and is not merely waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_it_ends_with_its_block(client: httpx2.Client) -> None:
    with World(50) as world:
        assert world.process is not None
        pid, ports = world.process.pid, world.ports
        assert runs(pid)
        assert World.running_at(ports)
        assert Asking(world, client).addresses(world.companies[0].domain) is not None
    assert not runs(pid)
    assert not World.running_at(ports)
    world.close()
    with pytest.raises(InputRefused) as refused:
        world.day = 1
    assert refused.value.code == "world_not_running"


def test_it_ends_when_its_parent_is_killed() -> None:
    """SIGKILL gives the parent no chance to say so."""
    program = (
        "import time\n"
        "from recoup_demo.world import World\n"
        "with World(50) as world:\n"
        "    print(world.process.pid, *world.ports, flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, dns, sites, directory = map(int, parent.stdout.readline().split())
        assert World.running_at((dns, sites, directory))
        parent.send_signal(signal.SIGKILL)
        parent.wait(PATIENCE_S)
        assert came_true(lambda: not runs(pid))
    assert not World.running_at((dns, sites, directory))


@pytest.mark.parametrize("how", ["end of input", "SIGTERM"])
def test_the_command_serves_until_told(how: str) -> None:
    """It prints its policy in one line, and exits silently, also with open connections."""
    command = [sys.executable, "-m", "recoup_demo.world", "--count", "30", "--seed", "3", "--answer-ms", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert set(said["policy"]) == {"nameservers", "site_urls", "directory", "allowed_networks"}
        assert World.running_at(tuple(said["ports"]))
        slow = next(company for company in companies(30, seed=3) if company.kind is Kind.SLOW_SITE)
        with socket.create_connection((SITES, said["ports"][1])), visiting(slow.domain, said["ports"][1]) as held:
            assert received(held, 300)
            if how == "SIGTERM":
                process.terminate()
            else:
                process.stdin.close()
                process.stdin = None
            rest, complaints = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, rest, complaints) == (0, b"", b"")


def test_fixed_ports_are_used_and_not_shared() -> None:
    """Two worlds do not share ports: the second is refused, and names the holder of the port."""
    with World(10) as first:
        ports = first.ports
    with World(10, ports=ports) as again:
        assert again.ports == ports
        assert World.running_at(ports)
        with pytest.raises(InputRefused) as refused, World(10, ports=ports):
            pass
        assert refused.value.code == "world_port_taken"
        assert World.running_at(ports)


def test_what_is_refused_in_its_process_is_refused_here() -> None:
    for world, code in ((World(-1), "world_size"), (World(10, answer_ms=-1), "world_delay")):
        with pytest.raises(InputRefused) as refused, world:
            pass
        assert refused.value.code == code
        assert refused.value.facts


def test_the_policy_names_its_places_and_nothing_else() -> None:
    with World(10) as world:
        dns, sites, directory = world.ports
        assert world.policy == {
            "nameservers": [f"127.77.0.53:{dns}"],
            "site_urls": [f"http://{{domain}}:{sites}/"],
            "directory": f"http://127.77.0.80:{directory}/company?domain={{domain}}&name={{name}}",
            "allowed_networks": ["127.77.0.0/16"],
        }


def test_worlds_live_side_by_side() -> None:
    with World(50) as one, World(50) as other:
        assert not set(one.ports) & set(other.ports)
        one.day = 3
        assert other.day == 0
        assert World.running_at(one.ports)
        assert World.running_at(other.ports)


def test_answers_wait_without_making_others_wait(client: httpx2.Client) -> None:
    """Forty answers of 300 ms each take 300 ms and a little, and not twelve seconds."""
    with World(200, answer_ms=300) as world:
        asking = Asking(world, client)
        domains = [company.domain for company in asking.all(Kind.GOOD)[:40]]
        for ask in (asking.addresses, asking.site):
            began = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(40) as pool:
                assert len(list(pool.map(ask, domains))) == 40
            assert 0.3 <= time.monotonic() - began < 6


def test_it_tells_what_it_saw(client: httpx2.Client) -> None:
    with WatchedWorld(100, hostile=True, answer_ms=200) as world:
        asking = Asking(world, client)
        good, other = asking.some(Kind.GOOD), asking.some(Kind.NO_ENTRY)
        asking.addresses(good.domain)
        asking.dns(good.domain, tcp=True)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            list(pool.map(asking.site, [good.domain] * 4 + [other.domain] * 2))
        for _ in range(3):
            asking.entry(other)
        asking.entry(good)
        client.get(
            f"http://{SITES}:{world.ports.sites}/",
            headers={"Host": good.domain, "User-Agent": "curious", "Cookie": "a=b"},
        )
        seen = world.seen()
    port = world.ports.sites
    assert (seen["dns_queries"], seen["dns_queries_over_tcp"]) == (2, 1)
    assert (seen["site_requests"], seen["directory_requests"]) == (7, 4)
    assert seen["hosts"] == {f"{good.domain}:{port}": 4, good.domain: 1, f"{other.domain}:{port}": 2}
    assert seen["site_requests_most_by_host"][other.domain] <= 2
    assert 2 <= seen["site_requests_most_by_host"][good.domain] <= 4
    assert seen["site_requests_most"] <= seen["site_connections_most"] <= 6
    assert seen["directory_requests_most"] == 1
    assert seen["asked"] == {other.domain: 3, good.domain: 1}
    assert seen["user_agents"]["curious"] == 1
    assert seen["cookies"] == 1
    assert seen["canary_connections"] == 0
    assert seen["bytes_sent"] > 5000


def test_nobody_else_is_taken_for_a_world() -> None:
    """Neither a closed port nor a server that says something else."""
    assert not World.running_at((1, 1, 1))
    for said in (b"", b"220 mail\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"):

        class Other(socketserver.BaseRequestHandler):
            answer = said

            def handle(self) -> None:
                self.request.recv(1000)
                self.request.sendall(self.answer)

        with socketserver.TCPServer((DIRECTORY, 0), Other) as server:
            thread = threading.Thread(target=server.handle_request)
            thread.start()
            assert not World.running_at((1, 1, server.server_address[1]))
            thread.join(PATIENCE_S)
