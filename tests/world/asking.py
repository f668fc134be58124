"""Asking the world as a stranger would: by DNS, by HTTP, and on a bare socket."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import dns.message
import dns.query
import httpx2

from recoup_demo.world import Company, World
from recoup_demo.world.kinds import AnyKind

DNS, SITES, DIRECTORY = "127.77.0.53", "127.77.1.1", "127.77.0.80"
PATIENCE_S = 10.0
SHORT_S = 0.3  # for what never comes


@dataclass(frozen=True, slots=True)
class Asking:
    world: World
    client: httpx2.Client

    def some(self, kind: AnyKind) -> Company:
        """The first company of a kind."""
        return next(company for company in self.world.companies if company.kind is kind)

    def all(self, kind: AnyKind) -> list[Company]:
        return [company for company in self.world.companies if company.kind is kind]

    def dns(
        self, name: str, wanted: str = "A", *, tcp: bool = False, timeout_s: float = PATIENCE_S
    ) -> dns.message.Message:
        ask = dns.query.tcp if tcp else dns.query.udp
        return ask(dns.message.make_query(name, wanted), DNS, port=self.world.ports.dns, timeout=timeout_s)

    def addresses(self, name: str, wanted: str = "A", *, tcp: bool = False) -> list[str]:
        """The addresses in the answer, in any order."""
        reply = self.dns(name, wanted, tcp=tcp)
        return [record.to_text() for rrset in reply.answer for record in rrset if "CNAME" not in rrset.to_text()]

    def site(self, host: str, path: str = "/") -> httpx2.Response:
        port = self.world.ports.sites
        return self.client.get(f"http://{SITES}:{port}{path}", headers={"Host": f"{host}:{port}"})

    def entry(self, company: Company, *, key: str | None = None) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"http://{DIRECTORY}:{self.world.ports.directory}/company"
        return self.client.get(url, params={"domain": company.domain, "name": company.name}, headers=headers)

    def bare(self, host: str) -> socket.socket:
        return visiting(host, self.world.ports.sites)


def visiting(host: str, port: int) -> socket.socket:
    """A connection to the sites on which a page of the host was asked for. The caller closes it."""
    connection = socket.create_connection((SITES, port), timeout=PATIENCE_S)
    connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return connection


def received(connection: socket.socket, least: int) -> bytes:
    """Read until this many bytes came, or the other side closed."""
    parts, length = [], 0
    while length < least and (part := connection.recv(1 << 16)):
        parts.append(part)
        length += len(part)
    return b"".join(parts)
