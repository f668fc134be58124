"""Signature and category of messages as they come, on one core: how long one takes. Nothing else does the same work."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from uuid import UUID

from recoup.signatures import category, signature
from recoup_bench.ground import Ground
from recoup_bench.measure import Timed
from recoup_bench.workload import OURS, Bound, Size, Stopwatch, Trial, Workload

BATCH = 1_000
SEED = 20261116
# What programs say; {n}, {w}, {u}, {h} are a number, a word, an id and a host, and other ones in every message.
SENTENCES = (
    "no EIN was found for company {u}",
    "GET https://{h}/v1/companies/{n} timed out after {n} s",
    'duplicate key value violates unique constraint "{w}_{w}_key"',
    'column "{w}" of relation "{w}" does not exist',
    "could not connect to server: Connection refused (host {h}, port {n})",
    "An error occurred (ThrottlingException) when calling the {w} operation (reached max retries: {n}): Rate exceeded",
    "{w}.{w}Exception: record {n} of batch {u} has {n} fields where {n} were expected",
    "user {w} is not allowed to read /srv/{w}/{w}-{n}.csv",
    "ERROR: deadlock detected (SQLSTATE 40P01) while updating {w} {n}",
    "task {n} of stage {n} moved from RUNNING to FAILED on {h}:{n}",
    "HTTP 503 from {h}: upstream is overloaded, try again in {n} seconds",
    "partition {w}/{n} does not validate: {n} of {n} rows have no {w}",
    "failed to parse '{w}' as a date at line {n}, column {n}",
    "worker={w}-{n} status=lost since={n} reason={w} last_seen={n}",
    "the certificate of {h} expired {n} days ago",
    "TypeError: unsupported operand type(s) for +: 'int' and '{w}'",
)


class Signatures(Trial):
    """Every round has messages that were not seen before."""

    def __init__(self, size: Size) -> None:
        self.count = size.batches * BATCH
        self.random = random.Random(SEED)
        self.messages: list[str] = []

    def prepare(self) -> None:
        self.messages = [self._message() for _ in range(self.count)]

    def variants(self) -> Mapping[str, Callable[[], Timed]]:
        return {OURS: self.ours}

    def ours(self) -> Timed:
        with Stopwatch() as watch:
            for message in self.messages:
                signature(message)
                category(message)
        characters = sum(map(len, self.messages)) / self.count
        each = watch.seconds / self.count * 1e6
        return Timed(
            units=self.count, seconds=watch.seconds, figures={"microseconds_each": each, "characters": characters}
        )

    def _message(self) -> str:
        parts = self.random.choice(SENTENCES).replace("{", "\0{").split("\0")
        return "".join(self._filled(part) for part in parts)

    def _filled(self, part: str) -> str:
        draw = self.random
        word = "".join(draw.choices("abcdefghiklmnoprstuvwy", k=draw.randint(4, 9)))
        return (
            part.replace("{n}", str(draw.randint(1, 90_000)))
            .replace("{w}", word)
            .replace("{u}", str(UUID(int=draw.getrandbits(128))))
            .replace("{h}", f"{word}-{draw.randint(1, 40)}.example.net")
        )


def _begin(ground: Ground, size: Size) -> Trial:
    return Signatures(size)


WORKLOADS = (
    Workload(
        name="signatures",
        says="signature and category of messages that were not seen before, on one core",
        unit="messages",
        begin=_begin,
        full=Size(batches=20),
        quick=Size(batches=1, rounds=2, warm_ups=1),
        bound=Bound(figure="microseconds_each", most=50.0),
    ),
)
