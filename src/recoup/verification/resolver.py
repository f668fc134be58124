"""DNS, asked directly: one question to one server after the other, within a time, and no answer made up.

The system's resolver is not used: it reads /etc/hosts, appends search domains, takes 2130706433 for an address, and
blocks a thread for each question.
"""

import asyncio
import contextlib
import re
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.resolver

from recoup.refusals import InputRefused
from recoup.verification.addresses import Address
from recoup.verification.findings import Finding, NotPassed

ROUNDS = 2  # a datagram may get lost
MAX_ADDRESSES = 16  # of one name; nobody tries more of them
MAX_SERVERS = 3
# Many times what addresses need. To read 64 kB of long names would take a quarter of a minute.
MAX_ANSWER_BYTES = 4_096
_AT_PORT = re.compile(
    r"\[(?P<v6>[^\]]+)\](?::(?P<port6>\d+))?|(?P<v4>[0-9.]+)(?::(?P<port4>\d+))?|(?P<bare>[0-9a-fA-F:]+)"
)


class Nameserver(NamedTuple):
    """Where a DNS server listens."""

    address: str
    port: int = 53

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class Resolver:
    """Asks for addresses."""

    def __init__(self, nameservers: Iterable[str], *, timeout_s: float) -> None:
        self._servers = [nameserver(written) for written in nameservers] or _servers_of_the_machine()
        self._timeout_s = timeout_s
        self._try_s = timeout_s / (ROUNDS * len(self._servers))

    async def addresses(self, host: str) -> tuple[Address, ...]:
        """The addresses of a name, IPv6 ones when it has no others; or what was found instead, raised."""
        try:
            async with asyncio.timeout(self._timeout_s):
                for kind in (dns.rdatatype.A, dns.rdatatype.AAAA):
                    found = await self._ask(host, kind)
                    if found:
                        return found
        except TimeoutError:
            raise NotPassed(Finding.DNS_SLOW, f"no DNS answer for {host} in {self._timeout_s:g} s") from None
        raise NotPassed(Finding.DOMAIN_WITHOUT_ADDRESS, f"{host} has neither an A nor an AAAA record")

    async def _ask(self, host: str, kind: dns.rdatatype.RdataType) -> tuple[Address, ...]:
        """Each server in turn. One that fails is not asked again; one that is silent gets a second chance."""
        waiting, failed = list(self._servers), ""
        for _ in range(ROUNDS):
            for server in tuple(waiting):
                try:
                    answer = await self._query(host, kind, server)
                    if answer.rcode() == dns.rcode.NXDOMAIN:
                        raise NotPassed(Finding.DOMAIN_UNKNOWN, f"{host} does not exist (NXDOMAIN)")
                    if answer.rcode() == dns.rcode.NOERROR:
                        return _addresses_in(answer)
                    failed = f"DNS server {server} says {dns.rcode.to_text(answer.rcode())} for {host}"
                except TimeoutError:
                    continue
                except (OSError, EOFError, dns.exception.DNSException) as error:
                    failed = f"DNS server {server} cannot be asked for {host} ({type(error).__name__})"
                waiting.remove(server)
        if failed:
            raise NotPassed(Finding.DNS_OUT, failed)
        raise TimeoutError

    async def _query(self, host: str, kind: dns.rdatatype.RdataType, server: Nameserver) -> dns.message.Message:
        question = dns.message.make_query(host, kind)
        async with asyncio.timeout(self._try_s):
            answer = await _datagram(question, server)
            return await _by_stream(question, server) if answer.flags & dns.flags.TC else answer


async def _datagram(question: dns.message.Message, server: Nameserver) -> dns.message.Message:
    """One question, one answer. The socket is its own, so the source port is hard to guess for who answers unasked."""
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in server.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.setblocking(False)
        asking.connect((server.address, server.port))  # receives from nobody else, and fails when nobody is there
        wire = question.to_wire()
        await loop.sock_sendall(asking, wire)
        while True:
            heard = await loop.sock_recv(asking, MAX_ANSWER_BYTES)
            with contextlib.suppress(dns.exception.DNSException):  # not an answer; the true one may still come
                if heard[:2] == wire[:2] and question.is_response(answer := dns.message.from_wire(heard)):
                    return answer
            await asyncio.sleep(0)  # what lies there already is received without a pause, and others want their turn


async def _by_stream(question: dns.message.Message, server: Nameserver) -> dns.message.Message:
    """The same over TCP, for an answer that was too long for a datagram."""
    reader, writer = await asyncio.open_connection(server.address, server.port)
    try:
        wire = question.to_wire()
        writer.write(len(wire).to_bytes(2, "big") + wire)
        length = int.from_bytes(await reader.readexactly(2), "big")
        if length > MAX_ANSWER_BYTES:
            raise dns.exception.TooBig
        answer = dns.message.from_wire(await reader.readexactly(length))
    finally:
        writer.transport.abort()
    if not question.is_response(answer):
        raise dns.exception.FormError
    return answer


def nameserver(written: str) -> Nameserver:
    """A DNS server from the policy: address, address:port, [address]:port."""
    match = _AT_PORT.fullmatch(written)
    if match is not None:
        address = match["v6"] or match["v4"] or match["bare"]
        port = int(match["port6"] or match["port4"] or 53)
        try:
            if 0 < port < 65_536:
                return Nameserver(str(ip_address(address)), port)
        except ValueError:
            pass
    raise InputRefused(
        "nameserver_unreadable",
        f"{written!r} is not the address of a DNS server.",
        "Write it as 192.0.2.53, 192.0.2.53:5353, 2001:db8::53 or [2001:db8::53]:5353.",
        nameserver=written,
    )


def _servers_of_the_machine() -> list[Nameserver]:
    try:
        configured = dns.resolver.Resolver().nameservers
    except (dns.resolver.NoResolverConfiguration, OSError):
        configured = []
    if not configured:
        raise InputRefused(
            "nameservers_missing",
            "This machine names no DNS server.",
            "Name some in the policy: gate.verification.nameservers",
        )
    return [Nameserver(str(server)) for server in configured[:MAX_SERVERS]]


def _addresses_in(answer: dns.message.Message) -> tuple[Address, ...]:
    """The addresses at the end of a chain of aliases."""
    records = answer.resolve_chaining().answer  # type: ignore[attr-defined]
    return tuple(ip_address(record.address) for record in list(records or ())[:MAX_ADDRESSES])
