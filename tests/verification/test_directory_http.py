"""A directory over HTTP that says more than it was asked: nobody gets what was said of somebody else."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from recoup.verification.directory import MAX_STATES, Entry, HttpDirectory, states_in
from recoup.verification.findings import Finding, NotPassed
from verification.looking import rules_for

LISTED, FAREWELL = {"found": True, "states": ["TX"]}, b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"


def answer(told: object) -> bytes:
    body = json.dumps(told).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Talkative:
    """A directory that lists the first company it is asked for and no other, and says something else behind that."""

    def __init__(self, more: bytes, *, at_once: bool) -> None:
        self.more, self.at_once = more, at_once
        self.said = threading.Event()  # everything
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connected, _ = self._listening.accept()
            with connected:
                while asked := connected.recv(65_536):
                    if asked == b"close":
                        return
                    self._reply(connected, first=b"first.example" in asked)

    def _reply(self, connected: socket.socket, *, first: bool) -> None:
        if not first:
            connected.sendall(answer({"found": False}))
        elif self.at_once:
            connected.sendall(answer(LISTED) + self.more)
        else:
            connected.sendall(answer(LISTED))
            connected.sendall(self.more)
            connected.shutdown(socket.SHUT_WR)
        self.said.set()

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as farewell:
            farewell.sendall(b"close")
        self._thread.join(10)
        self._listening.close()


@pytest.fixture
def talkative() -> Iterator[Callable[..., Talkative]]:
    made: list[Talkative] = []

    def make(more: bytes, *, at_once: bool) -> Talkative:
        made.append(Talkative(more, at_once=at_once))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("more", [answer(LISTED), FAREWELL])
def test_what_is_said_unasked_is_no_answer(talkative: Callable[..., Talkative], more: bytes, *, at_once: bool) -> None:
    there = talkative(more, at_once=at_once)

    async def asked() -> tuple[Entry, Finding]:
        rules = rules_for({"directory": f"http://127.0.0.1:{there.port}/{{domain}}"})
        directory = HttpDirectory(rules, key=None)
        first = await directory.entry("first.example", "First")
        await asyncio.to_thread(there.said.wait, 10)
        await asyncio.sleep(0)  # what was said is heard
        try:
            await directory.entry("second.example", "Second")
        except NotPassed as found:
            return first, found.finding
        finally:
            await directory.close()
        raise AssertionError("the second got what was said of the first")

    assert asyncio.run(asked()) == (Entry(("TX",)), Finding.NO_ENTRY)


def test_no_company_has_more_states_than_there_are() -> None:
    """A directory that lists a hundred thousand of them would hold everybody up."""
    assert len(states_in([f"State {n}" for n in range(100_000)])) == MAX_STATES
    assert states_in(["TX"] * 1000 + ["OH"]) == ("TX", "OH")


def test_the_directory_is_asked_for_the_linkedin_page(talkative: Callable[..., Talkative]) -> None:
    """Where the URL has a place for it; a company without one leaves it empty."""
    there = talkative(b"", at_once=True)  # lists what has first.example in its request

    async def asked(page: str) -> Entry:
        rules = rules_for({"directory": f"http://127.0.0.1:{there.port}/find?page={{linkedin_url}}&of={{domain}}"})
        directory = HttpDirectory(rules, key=None)
        try:
            return await directory.entry("acme.example", "Acme {domain}", page)
        finally:
            await directory.close()

    assert asyncio.run(asked("https://linkedin.com/company/first.example")).states == ("TX",)
    with pytest.raises(NotPassed):
        asyncio.run(asked(""))
