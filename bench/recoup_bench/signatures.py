"""Signature and category of messages as they come, on one core: how long one takes. Nothing else does the same work."""

from __future__ import annotations

import random
import re
from uuid import UUID

from recoup.signatures import category, signature
from recoup_bench.measure import Timed
from recoup_bench.workload import Aim, Size, Stage, Stopwatch, Trial, Workload, small

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


def messages(trial: Trial) -> Stage:
    """Messages that were not seen before, in every round."""
    draw = random.Random(SEED)
    while True:
        sentences = draw.choices(SENTENCES, k=trial.units)
        yield [re.sub(r"\{(.)\}", lambda found: _drawn(draw, found[1]), sentence) for sentence in sentences]


def _drawn(draw: random.Random, what: str) -> str:
    if what == "n":
        return str(draw.randint(1, 90_000))
    if what == "u":
        return str(UUID(int=draw.getrandbits(128)))
    word = "".join(draw.choices("abcdefghiklmnoprstuvwy", k=draw.randint(4, 9)))
    return word if what == "w" else f"{word}-{draw.randint(1, 40)}.example.net"


def signed(trial: Trial) -> Timed:
    with Stopwatch() as watch:
        for message in trial.rows:
            signature(message)
            category(message)
    metrics = {
        "microseconds_each": watch.seconds / trial.units * 1e6,
        "characters": sum(map(len, trial.rows)) / trial.units,
    }
    return Timed(units=trial.units, seconds=watch.seconds, metrics=metrics)


SIGNATURES = Workload(
    name="signatures", description="signature and category of messages that were not seen before, on one core",
    unit="messages", k=1000, stage=messages, ours=signed, aims=(Aim(metric="microseconds_each", most=50.0),),
    full=Size(batches=20, rounds=11), quick=small(rounds=2),
)  # fmt: skip
