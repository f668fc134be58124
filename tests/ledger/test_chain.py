"""The chain as arithmetic, and heads from outside: nothing here needs a database."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from product import SEALED
from recoup.ledger.chain import Chain, Seal, tiles
from recoup.ledger.heads import Head, read_head
from recoup.refusals import InputRefused

PAUSES = "recoup.pause_log"

# The chain, without a database ---------------------------------------------------------------------------------------

CANONS = {log.log: log.canon for log in SEALED}


def block(**given: Any) -> Seal:
    plain = Seal(
        number=1, log=PAUSES, canon=1, incarnation=1, system_identifier=7, since="1:1:", until="50:50:", after_seq=0,
        last_seq=9, closes=True, rows=5, sealed_at=datetime(2026, 1, 1, tzinfo=UTC), actor_id="x", previous=bytes(32),
        digest=b"1" * 32,
    )  # fmt: skip
    return dataclasses.replace(plain, **given)


PAGE = block(closes=False)
LAST = block(until=None)


@pytest.mark.parametrize(
    ("before", "after", "fits"),
    [
        (None, block(), True),
        (None, block(incarnation=2), False),
        (None, block(since="2:2:"), False),
        (None, block(after_seq=3), False),
        (block(), block(since="50:50:", until="60:60:"), True),
        (block(), block(since="50:50:", until=None), True),
        (block(), block(since="50:51:50", until="60:60:"), False),
        (block(), block(since="50:50:", until="60:60:", after_seq=9), False),
        (block(), block(since="50:50:", until="60:60:", incarnation=2), False),
        (block(), block(), False),
        (PAGE, block(after_seq=9, last_seq=9), True),
        (PAGE, block(after_seq=9, last_seq=12, closes=False), True),
        (PAGE, block(after_seq=9, last_seq=9, closes=False), False),
        (PAGE, block(after_seq=8, last_seq=12), False),
        (PAGE, block(after_seq=9, last_seq=12, until="60:60:"), False),
        (PAGE, block(since="50:50:", until="60:60:"), False),
        (LAST, block(incarnation=2), True),
        (LAST, block(incarnation=3), False),
        (LAST, block(since="50:50:"), False),
    ],
)
def test_which_block_may_follow_which(before: Seal | None, after: Seal, fits: bool) -> None:
    """Windows tile, pages follow each other, clusters follow each other."""
    assert tiles(before, after) is fits


def test_what_is_wrong_with_a_chain_is_reported() -> None:
    """Numbers, the digest before, the cluster, the log, the head."""
    kept = Head(
        number=2, digest="32" * 32, sealed_at=datetime(2026, 1, 1, tzinfo=UTC), incarnation=1, system_identifier=7,
        rows={PAUSES: 10},
    )  # fmt: skip
    second = block(number=2, since="50:50:", until="60:60:", previous=b"1" * 32, digest=b"2" * 32)

    def problems(*seals: Seal, head: Head | None = None, clusters: dict[int, int] | None = None) -> list[str]:
        chain = Chain({1: 7} if clusters is None else clusters, CANONS, head)
        found = [problem for seal in seals for problem in chain.follow(seal)]
        return [problem.problem for problem in (*found, *chain.end())]

    assert problems(block(), second) == problems(block(), second, head=kept) == []
    for spoiled, said in (
        ((block(), dataclasses.replace(second, number=4)), "2 seals before it are missing"),
        ((block(), dataclasses.replace(second, number=1)), "another seal has its number"),
        ((block(), dataclasses.replace(second, previous=b"0" * 32)), "does not carry the digest"),
        ((block(log="recoup.worker"),), "does not know recoup.worker"),
        ((block(canon=3),), "in version 3"),
        ((block(system_identifier=8),), "its incarnation 1"),
        ((block(until=None),), "has not ended"),
    ):
        assert any(said in problem for problem in problems(*spoiled)), said
    assert "seals were removed" in problems(block(), head=kept)[0]
    assert "rewritten" in problems(block(), dataclasses.replace(second, digest=b"3" * 32), head=kept)[0]
    assert "other row counts" in problems(block(), second, head=dataclasses.replace(kept, rows={}))[0]
    assert problems(block(), clusters={1: 7, 3: 7}) == ["an incarnation is missing"]


# Heads ---------------------------------------------------------------------------------------------------------------

GOOD = {
    "format": 1, "number": 3, "digest": "ab" * 32, "sealed_at": "2026-01-01T09:00:00+00:00", "incarnation": 1,
    "system_identifier": 7, "rows": {PAUSES: 5},
}  # fmt: skip
WRONG: tuple[dict[str, Any], ...] = (
    {"format": 2}, {"format": True}, {"format": "1"}, {"number": 0}, {"number": -1}, {"number": 1.5},
    {"number": True}, {"number": 2**63}, {"number": None}, {"number": [1]}, {"digest": "AB" * 32},
    {"digest": "ab" * 31}, {"digest": "ab" * 32 + "\n"}, {"digest": None}, {"digest": "zz" * 32},
    {"sealed_at": "soon"}, {"sealed_at": "2026-01-01T09:00:00"}, {"sealed_at": 7}, {"sealed_at": None},
    {"incarnation": 0}, {"incarnation": 2**31}, {"system_identifier": "7"}, {"rows": []},
    {"rows": {"x": -1}}, {"rows": {"x": "1"}}, {"rows": {f"log{n}": 1 for n in range(2000)}},
    {"more": 1}, {"\ud800": 1},
)  # fmt: skip


def test_a_good_head_is_read() -> None:
    head = read_head(json.dumps(GOOD))
    assert head.rows == {PAUSES: 5}
    assert read_head(head.as_text()) == head


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "null", "[]", "7", '"x"', "{", "{}", "\x00", "[" * 100_000, '{"a":' * 20_000, "x" * 200_000,
        '{"format": ' + "9" * 5000 + "}", '{"format": 1, "format": 1}', "NaN", '{"format": NaN}',
        *(
            json.dumps({**GOOD, **wrong})
            for wrong in WRONG
        ),
        json.dumps({key: value for key, value in GOOD.items() if key != "rows"}),
    ],
    ids=lambda text: repr(text[:40]),
)  # fmt: skip
def test_a_hostile_head_is_refused_in_words(text: str) -> None:
    """It comes from outside, and may be anything."""
    with pytest.raises(InputRefused) as refused:
        read_head(text)
    assert refused.value.code == "head_unreadable"
    assert len(refused.value.happened) < 400
