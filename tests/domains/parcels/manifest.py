from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, NamedTuple
from uuid import UUID

from psycopg.sql import Composable
from pydantic import Field

from recoup.audit.invariant import InFile
from recoup.database.arrays import Routine
from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.domain import Command, Domain, routines
from recoup.health import CheckResult, read
from recoup.lifecycles import Authority, Birth, Lifecycle, Log, Move, On, Queue, Story
from recoup.operations import Act, Answer, Group, Subject, Verb, Why
from recoup.policy import Part, Policy
from recoup.work.queues import WorkQueue
from recoup.worker.duty import Duty

HERE = "domains.parcels"
Q = load(HERE, "parcels.sql")
SORTER, OPERATOR = Authority.CONTROL_PLANE, Authority.OPERATOR

PARCEL = Lifecycle(
    table="parcels.parcel",
    description="A parcel on its way.",
    key=("parcel_id",),
    births=(Birth("WAITING", Authority.HUB, "it came in"),),
    moves=(
        Move("WAITING", "SORTED", SORTER, "a worker sorted it"),
        Move("WAITING", "WAITING", SORTER, "it could not be sorted, and waits again"),
        Move("SORTED", "SHIPPED", OPERATOR, "a person shipped it"),
        Move("SHIPPED", "DELIVERED", OPERATOR, "it arrived"),
        Move("SHIPPED", "LOST", OPERATOR, "it did not"),
    ),
    frozen=("parcel_id", "city"),
    rising=("moved_at", "sorts"),
    recorders=(On("insert", "parcels.record_steps"), On("update", "parcels.record_steps")),
    queue=Queue(
        table="parcels.parcel_queue", waiting=("WAITING",), unit="parcel_id", round="sorts", due="due_at",
        claim="parcels.claim_parcels", expire="parcels.expire_sorting", end="parcels.end_sorting",
        claimed_by=(SORTER,), lease="interval '1 minute'", outcome="outcome",
        gives=(("parcel_id", "ids"), ("city", "cities")),
    ),
    story=Story(log="parcels.parcel_event", key=("parcel_id",)),
    pausable=True,
)  # fmt: skip
EVENTS = Log(
    table="parcels.parcel_event",
    at="logged_at",
    recorders=("parcels.record_steps",),
    columns=((
        "seq", "xid", "incarnation", "logged_at", "parcel_id", "from_status", "to_status", "reason", "outcome",
        "token", "actor_id",
    ),),
)  # fmt: skip


class ParcelPolicy(Part):
    section: ClassVar[str] = "parcels"
    package: ClassVar[str] = HERE
    decides: ClassVar[tuple[str, ...]] = ("sort_at_once",)

    sort_at_once: Annotated[int, Field(ge=1, le=1000)]


SORTING = WorkQueue(PARCEL)
END = Routine(
    name="parcels.end_sorting",
    sets=({"units": "bigint", "tokens": "uuid", "outcomes": "text", "failures": "text"},),
    results={"parcel_id": "ended", "status": "statuses"},
)


class Claimed(NamedTuple):
    parcel_id: int
    city: str
    token: UUID


def finish(tx: Transaction, ended: Sequence[tuple[Claimed, str | None]]) -> list[str]:
    """An outcome is what was said of the failure; None: it is sorted."""
    units, failures = [one.parcel_id for one, _ in ended], [failure for _, failure in ended]
    outcomes = ["SUCCEEDED" if failure is None else "FAILED" for failure in failures]
    found = END.call(tx, units=units, tokens=[one.token for one, _ in ended], outcomes=outcomes, failures=failures)
    became = dict(zip(found["parcel_id"], found["status"], strict=True))
    return [became[unit] for unit in units]


def sort(tx: Transaction, policy: Policy) -> int:
    found = SORTING.claim(tx, Claimed, limit=policy[ParcelPolicy].sort_at_once, worker="sorter")
    return len(finish(tx, [(one, None) for one in found]))


def waiting(connection: Transaction) -> Iterator[CheckResult]:
    ((count,),) = read(connection, "select count(*) from parcels.parcel where status = 'WAITING'")
    yield CheckResult(check="parcels", verdict="ok", found=f"{count} wait to be sorted")


@dataclass(frozen=True, kw_only=True)
class Filter:
    city: str | None = None

    @property
    def is_empty(self) -> bool:
        return self.city is None

    @property
    def conditions(self) -> Mapping[str, Any]:
        return asdict(self)


def _why_not(status: str) -> Why | None:
    return None if status == "SORTED" else Why("not_sorted", f"It is {status}.", "Wait until it is sorted.")


def _groups(tx: Transaction, _: Act, asked: Filter) -> list[Group]:
    rows = tx.execute(Q["groups"], asked.conditions).fetchall()
    return [Group({"city": city, "status": status}, count, _why_not(status)) for city, status, count in rows]


def _chosen(_: Transaction, asked: Filter) -> tuple[Composable, Mapping[str, Any]]:
    return Q["chosen"], asked.conditions


def _ship(tx: Transaction, _: Act, units: Sequence[str]) -> list[Answer]:
    stood = {str(key): status for key, status in tx.execute(Q["ship"], {"ids": [int(unit) for unit in units]})}
    return [Answer.of(unit, _why_not(stood.get(unit, "gone"))) for unit in units]


SHIPPING = Subject(
    table="parcels.parcel",
    noun="parcel",
    verbs=(Verb(name="ship", help="Ship sorted parcels."),),
    groups=_groups,
    chosen=_chosen,
    carry_out=_ship,
)

PARCELS = Domain(
    name="parcels",
    package=HERE,
    description="Parcels that are sorted by a duty and shipped by people.",
    release=1,
    lifecycles=(PARCEL,),
    logs=(EVENTS,),
    routines=routines(HERE, "recorder", "sorting"),
    policy=(ParcelPolicy,),
    duties=(
        Duty(
            name="parcel-sorting",
            authority=SORTER,
            cadence_s=1,
            description="sorts every parcel that waits",
            batch=sort,
            lag=SORTING.due_lag,
        ),
        SORTING.expiry(name="parcel-expiry", authority=SORTER, description="ends sorting that outlived its lease"),
    ),
    invariants=(InFile(HERE, "parcels.sql")("parcels/moved", "invariants", "No parcel moved in the future."),),
    checks=(waiting,),
    subjects=(SHIPPING,),
    commands=(Command(name="parcels", path="domains.parcels.command:app", help="Ship parcels."),),
)
