"""The world's DNS: it knows the names of the companies, and nothing else exists."""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

import dns.exception
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset

from recoup_demo.world.companies import Company
from recoup_demo.world.kinds import AnyKind, Kind
from recoup_demo.world.present import NOBODYS_ADDRESS, SITES_ADDRESS, Present

TTL_S = 60
SOA = {
    top: dns.rrset.from_text(f"{top}.", TTL_S, "IN", "SOA", f"ns.{top}. admin.{top}. 1 7200 900 1209600 60")
    for top in ("example", "test")
}


class Question(NamedTuple):
    """What is asked about a name of a company, and the reply that was begun."""

    present: Present
    company: Company
    host: str
    name: dns.name.Name  # the same, as it was written
    reply: dns.message.Message


Name = Callable[[Question], dns.message.Message | None]  # None: there is no reply, ever


def at(*addresses: str) -> Name:
    """The name has these addresses."""
    return lambda asked: with_addresses(asked, *addresses)


def failing(code: dns.rcode.Rcode) -> Name:
    return lambda asked: _absent(asked.reply, asked.host, code)


def with_addresses(asked: Question, *addresses: str, ttl_s: int = TTL_S) -> dns.message.Message:
    """The reply, with those of the addresses that are of the wanted kind; every domain has mail."""
    wanted = asked.reply.question[0].rdtype
    found: list[str] = []
    if wanted in (dns.rdatatype.A, dns.rdatatype.AAAA):
        found = [address for address in addresses if (":" in address) == (wanted == dns.rdatatype.AAAA)]
    elif wanted == dns.rdatatype.MX and asked.host == asked.company.domain:
        found = [f"10 mail.{asked.host}."]
    if found:
        asked.reply.answer.append(dns.rrset.from_text(asked.name, ttl_s, "IN", wanted, *found))
    elif not asked.reply.answer:
        return _absent(asked.reply, asked.host, dns.rcode.NOERROR)
    return asked.reply


_good = at(SITES_ADDRESS)
NAMES: Mapping[AnyKind, Name] = {
    Kind.DEAD_DOMAIN: failing(dns.rcode.NXDOMAIN),
    Kind.NO_ADDRESS: at(),
    Kind.DNS_FAILING: failing(dns.rcode.SERVFAIL),
    Kind.DNS_SILENT: lambda asked: None,
    Kind.REFUSES: at(NOBODYS_ADDRESS),
}


class Names(asyncio.DatagramProtocol):
    """Answers by what is true of the company whose name is asked for."""

    def __init__(self, present: Present, kinds: Mapping[AnyKind, Name] = NAMES) -> None:
        self._present = present
        self._kinds = kinds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)  # it is one in all but its bases

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self.reply_to(data)
        if reply is None:
            return
        if self._present.answer_s:
            asyncio.get_running_loop().call_later(self._present.answer_s, self._transport.sendto, reply, addr)
        else:
            self._transport.sendto(reply, addr)

    def reply_to(self, wire: bytes) -> bytes | None:
        """The bytes to send back; None: nothing, as to what is not DNS."""
        try:
            query = dns.message.from_wire(wire)
        except dns.exception.DNSException:
            return None
        reply = self._answer(query)
        return None if reply is None else reply.to_wire()

    def _answer(self, query: dns.message.Message) -> dns.message.Message | None:
        reply = dns.message.make_response(query, recursion_available=True)
        if query.opcode() != dns.opcode.QUERY or len(query.question) != 1:
            reply.set_rcode(dns.rcode.NOTIMP)
            return reply
        name = query.question[0].name
        host = name.to_text(omit_final_dot=True).lower()
        company = self._present.company_at(host)
        if company is None:
            return _absent(reply, host, dns.rcode.NXDOMAIN)
        answer = self._kinds.get(self._present.kind(company), _good)
        return answer(Question(self._present, company, host, name, reply))


def _absent(reply: dns.message.Message, host: str, code: dns.rcode.Rcode) -> dns.message.Message:
    reply.set_rcode(code)
    soa = SOA.get(host.rsplit(".", 1)[-1])
    if soa is not None and code in (dns.rcode.NXDOMAIN, dns.rcode.NOERROR):
        reply.authority.append(soa)
    return reply
