"""Groups: errors of one failure fall together, whatever their values; counted right, the largest first."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from hub import DAY, DOL, HOUR, LOG, PEOPLE, Hub, NewHub
from recoup.errors import grouping, parking
from recoup.errors.grouping import Groups, Masked
from recoup.errors.listing import Filter
from recoup.errors.lookup import ErrorKey
from recoup.errors.recording import NewError
from recoup.errors.vocabulary import Category, Want
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused
from recoup.signatures import read, signature


def grouped(hub: Hub, *, limit: int = 20, archived: bool = False, **asked: Any) -> Groups:
    with hub.db.transaction(Authority.READER) as tx:
        return grouping.largest(tx, Filter(**asked), limit=limit, archived=archived)


def sizes(found: Groups) -> Sequence[int]:
    return [one.errors for one in found.groups]


def filing(number: int) -> str:
    return f"GET https://filings.example/v1/ein/{number} timed out after {number + 30} ms"


def test_errors_with_other_values_fall_together(new_hub: NewHub) -> None:
    """One group over two tables, with all its counts, and its newest error as the example."""
    hub = new_hub()
    entities = [uuid.uuid4() for _ in range(4)]
    first = hub.now()
    for number, entity in enumerate(entities):
        hub.record(filing(number), code="EIN_TIMEOUT", outreach_id=entity)
        hub.advance(HOUR)
    hub.record(filing(8), code="EIN_TIMEOUT", table=PEOPLE, outreach_id=entities[0], want=Want.PARK)
    last = hub.now()
    newest = hub.record(filing(9), code="EIN_TIMEOUT", outreach_id=entities[0])  # again: its first is superseded
    hub.record("no name for company 7", category=Category.STRUCTURAL)
    found = grouped(hub)
    assert (found.all_groups, found.all_errors, sizes(found)) == (2, 6, [5, 1])
    group = found.groups[0]
    assert group.error_signature == signature(filing(0), "EIN_TIMEOUT").key
    assert (group.entities, group.tables) == (4, {DOL: 4, PEOPLE: 1})
    assert (group.statuses, group.categories) == ({"RETRY_PENDING": 4, "PARKED": 1}, {"TRANSIENT": 5})
    assert (group.first_failed_at, group.last_recorded_at) == (first, last)
    assert (group.error_id, group.error_table, group.error_code) == (newest, DOL, "EIN_TIMEOUT")
    assert group.error_message == filing(9)
    assert group.remained == signature(filing(9), "EIN_TIMEOUT").remained
    assert Masked(kind="address", text="https://filings.example/v1/ein/9") in group.masked


def test_the_largest_first_and_no_more_than_asked(new_hub: NewHub) -> None:
    """Of those that are equally large by key; the totals are those of all."""
    hub = new_hub()
    for words, times in (("one thing broke", 1), ("another thing broke", 3), ("nothing works", 2), ("all is lost", 2)):
        hub.record_all(
            NewError(table=DOL, message=f"{words} {n}", outreach_id=uuid.uuid4(), code=words) for n in range(times)
        )
    found = grouped(hub)
    assert sizes(found) == [3, 2, 2, 1]
    assert found.groups[1].error_signature < found.groups[2].error_signature
    cut = grouped(hub, limit=2)
    assert cut.groups == found.groups[:2]
    assert (cut.all_groups, cut.all_errors) == (4, 8)


def test_filters_and_what_is_over(new_hub: NewHub) -> None:
    """The same as those of a list; what is over only when it is asked for."""
    hub = new_hub()
    old = hub.record(filing(1), code="A")
    hub.advance(2 * DAY)
    hub.record(filing(2), code="A", table=PEOPLE)
    entity = uuid.uuid4()
    hub.record("no name", code="B", outreach_id=entity, want=Want.PARK)
    both = [1, 1]
    for asked, expected in (
        ({}, [2, 1]), ({"tables": (PEOPLE,)}, [1]), ({"codes": ("B",)}, [1]), ({"codes": ("C",)}, []),
        ({"statuses": ("PARKED",)}, [1]), ({"entities": (entity,)}, [1]), ({"newer_than": DAY}, both),
        ({"older_than": DAY}, [1]), ({"categories": (Category.TRANSIENT,)}, [2]),
        ({"signatures": (signature("no name", "B").key,)}, [1]), ({"parked_longer_than": HOUR}, []),
    ):  # fmt: skip
        assert sizes(grouped(hub, **asked)) == expected, asked
    with hub.db.transaction(Authority.OPERATOR, reason="mended") as tx:
        assert parking.resolve(tx, [ErrorKey(DOL, old)])[0].done
    assert sizes(grouped(hub)) == both
    assert sizes(grouped(hub, archived=True)) == [2, 1]
    hub.sweep_all()
    found = grouped(hub, archived=True)
    assert found.groups[0].statuses == {"ARCHIVED": 1, "RETRY_PENDING": 1}
    (gone,) = grouped(hub, statuses=("ARCHIVED",)).groups
    assert (gone.error_id, gone.error_message, gone.tables) == (old, filing(1), {DOL: 1})


def test_no_errors_are_no_groups(new_hub: NewHub) -> None:
    """And no failure either."""
    assert grouped(new_hub()) == Groups(groups=[], all_groups=0, all_errors=0)


def test_errors_about_no_entity(new_hub: NewHub) -> None:
    """Are counted; entities are not made up."""
    hub = new_hub()
    for _ in range(2):
        hub.record("disk full", table=LOG, outreach_id=None)
    (group,) = grouped(hub).groups
    assert (group.errors, group.entities) == (2, 0)


def test_older_signatures_stand_beside(new_hub: NewHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is explained by the rules of its version; one of rules that nobody knows is shown without."""
    hub = new_hub()
    message = filing(7)
    hub.record(message)
    keys = [signature(message).key]
    for other in (signature(message, version=1).key, f"s99-{0:024}", f"s2-{0:024}"):
        with monkeypatch.context() as patch:
            reading = read(message)._replace(key=other)
            patch.setattr("recoup.errors.recording.read", lambda *_, reading=reading: reading)
            hub.record(message)
        keys.append(other)
    found = {one.error_signature: one for one in grouped(hub).groups}
    assert set(found) == set(keys)
    assert [found[key].remained for key in keys] == [
        signature(message).remained, signature(message, version=1).remained, None, None
    ]  # fmt: skip
    assert found[keys[1]].masked
    assert not found[f"s99-{0:024}"].masked


def test_a_long_message_is_shortened(new_hub: NewHub) -> None:
    """What counts is that of all of it."""
    hub = new_hub()
    message = "the vendor said no and " * 100
    hub.record(message)
    (group,) = grouped(hub).groups
    assert group.error_message == message[: grouping.MAX_MESSAGE] + "…"
    assert group.remained == signature(message).remained


def test_what_makes_no_sense_is_refused(hub: Hub) -> None:
    """Instead of no groups, which would look like good news."""
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"tables": ("outreach.nothing",)}, "table_unknown"),
        ({"codes": ("a\0b",)}, "text_has_nul"),
    )
    for asked, code in wrong:
        with pytest.raises(InputRefused) as refused:
            grouped(hub, **asked)
        assert refused.value.code == code
