"""A DNS server that means harm, or is not quite right: the answer is found, or not, and nobody else is held up."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from ipaddress import ip_address
from typing import NamedTuple

import dns.flags
import dns.message
import dns.rrset
import pytest

from recoup.verification.addresses import Address
from recoup.verification.findings import Finding, NotPassed
from recoup.verification.resolver import Resolver

HOST = "acme.example"
LONG_NAME = b"".join(b"\1" + bytes([letter]) for letter in b"abcdefghijklmnopqrstuvwxyz" * 4) + b"\0"


class Answers(NamedTuple):
    """What is said to a question: some datagrams, and once more over TCP."""

    datagrams: Callable[[bytes], list[bytes]]
    stream: Callable[[bytes], bytes] = lambda _: b""


class Server:
    """A DNS server on loopback, over UDP and TCP at one port."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._stream = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._stream.getsockname()[1]
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", self.port))
        self._threads = [threading.Thread(target=work) for work in (self._by_datagram, self._by_stream)]
        for thread in self._threads:
            thread.start()

    def _by_datagram(self) -> None:
        while True:
            question, asker = self._datagrams.recvfrom(512)
            if question == b"close":
                return
            for datagram in self._answers.datagrams(question):
                self._datagrams.sendto(datagram, asker)

    def _by_stream(self) -> None:
        while True:
            connected, _ = self._stream.accept()
            with connected:
                length = int.from_bytes(connected.recv(2), "big")
                if not length:
                    return
                answer = self._answers.stream(connected.recv(length))
                with suppress(OSError):  # who asked has heard enough
                    connected.sendall(len(answer).to_bytes(2, "big") + answer)

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as farewell:
            farewell.sendto(b"close", ("127.0.0.1", self.port))
        socket.create_connection(("127.0.0.1", self.port)).close()
        for thread in self._threads:
            thread.join(10)
        self._datagrams.close()
        self._stream.close()


@pytest.fixture
def server() -> Iterator[Callable[[Answers], Server]]:
    with ExitStack() as stack:

        def make(answers: Answers) -> Server:
            made = Server(answers)
            stack.callback(made.close)
            return made

        yield make


def resolved(server: Server, *, timeout_s: float = 5) -> tuple[Address, ...] | Finding:
    async def asked() -> tuple[Address, ...] | Finding:
        try:
            return await Resolver([f"127.0.0.1:{server.port}"], timeout_s=timeout_s).addresses(HOST)
        except NotPassed as found:
            return found.finding

    return asyncio.run(asked())


def reply(question: bytes, *records: dns.rrset.RRset, truncated: bool = False) -> bytes:
    answer = dns.message.make_response(dns.message.from_wire(question))
    answer.answer.extend(records)
    answer.flags |= dns.flags.TC if truncated else 0
    return answer.to_wire(max_size=65_535)


def addresses(*written: str) -> dns.rrset.RRset:
    return dns.rrset.from_text(f"{HOST}.", 60, "IN", "A", *written)


def truncated(question: bytes) -> list[bytes]:
    return [reply(question, truncated=True)]


def test_what_is_no_answer_is_passed_over(server: Callable[[Answers], Server]) -> None:
    """Nonsense, the answer to another question, one with another id: whoever guesses our port can send them."""

    def datagrams(question: bytes) -> list[bytes]:
        forged = bytes([question[0] ^ 1]) + reply(question, addresses("192.0.2.66"))[1:]
        other = question[:2] + reply(dns.message.make_query("other.example", "A").to_wire())[2:]
        return [b"", b"x", forged, other, question, reply(question, addresses("192.0.2.1"))]

    assert resolved(server(Answers(datagrams))) == (ip_address("192.0.2.1"),)


def test_an_answer_that_is_too_long_for_a_datagram_comes_over_tcp(server: Callable[[Answers], Server]) -> None:
    many = [f"192.0.2.{n}" for n in range(200)]
    found = resolved(server(Answers(truncated, lambda question: reply(question, addresses(*many)))))
    assert not isinstance(found, Finding)
    assert {str(address) for address in found} < set(many)


@pytest.mark.parametrize(
    "stream",
    [
        lambda question: reply(dns.message.make_query("other.example", "A").to_wire(), addresses("192.0.2.1")),
        lambda question: question[:5],
        lambda question: b"",
    ],
    ids=["of another question", "broken off", "nothing"],
)
def test_what_comes_over_tcp_and_is_of_no_use_is_an_outage(
    server: Callable[[Answers], Server], stream: Callable[[bytes], bytes]
) -> None:
    assert resolved(server(Answers(truncated, stream))) is Finding.DNS_OUT


def test_no_answer_takes_long_to_read(server: Callable[[Answers], Server]) -> None:
    """Three thousand names of a hundred labels, in few bytes: each points back to the first."""
    rest = b"\0\2\0\1\0\0\0\1"  # NS, in the internet, for a second

    def long_names(question: bytes) -> bytes:
        at = (0xC000 | len(question) + 12).to_bytes(2, "big")
        first = b"\xc0\x0c" + rest + len(LONG_NAME).to_bytes(2, "big") + LONG_NAME
        others = b"".join(
            b"\xc0\x0c" + rest + b"\0\5\2" + bytes([65 + n % 26, 65 + n // 26 % 26]) + at for n in range(3_000)
        )
        return question[:2] + b"\x81\x80\0\1" + (3_001).to_bytes(2, "big") + bytes(4) + question[12:] + first + others

    began = time.process_time()
    assert resolved(server(Answers(truncated, long_names))) is Finding.DNS_OUT
    assert time.process_time() - began < 2
