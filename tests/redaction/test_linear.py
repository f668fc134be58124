"""How long redaction takes: it grows with the text, and not with its square. In `make soak` alone (--timings)."""

from __future__ import annotations

import time

import pytest

from recoup.redaction import in_words

SHORT, LONG = 50_000, 200_000  # characters: four times as many
MAX_RATIO = 8  # four would be linear, sixteen the square; a busy machine has its share
RUNS = 3
HOSTILE = (
    "password=", "password ", "postgresql://u:", "://", "a://b:", "@", "Bearer ", "eyJ.", "=", "&password", "?api_key=",
    '{"password": "', '{"', "\\", "'", '"', "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "AKIA", "ghp_", "sk-", "x",
    " ", "\n", "a ", "aA1_-", "host=h password=", "Authorization: ", "\u017f", "\u0301", "[redacted]",
    # Names behind which nothing is a secret: all of them are looked behind.
    "pwd:", "pass:", "token:", "pwd:''", "pwd:\\", 'pwd:\\"', "--token ", "cookie: ", "cookie:,", "cookie:bearer ",
    "auth=>",
)  # fmt: skip


def seconds(text: str) -> float:
    """The least of a few runs, in the time of this process."""
    taken = []
    for _ in range(RUNS):
        begun = time.process_time()
        in_words(text)
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.timing
@pytest.mark.parametrize("part", HOSTILE)
@pytest.mark.parametrize("end", ["", "hunter2"])
def test_time_grows_with_the_text(part: str, end: str) -> None:
    short, long = ((part * (length // len(part))) + end for length in (SHORT, LONG))
    assert seconds(long) < MAX_RATIO * max(seconds(short), 0.001)
