"""What the suite has to know of a lifecycle to try it: how rows come into a status, and what their checks demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from company import acting
from recoup.database.connection import Transaction
from recoup.lifecycles.declaration import Authority, Lifecycle

Actor = Authority | str | None  # None: the superuser itself


@dataclass(frozen=True)
class Role:
    """One lifecycle of a cast. What is left out is worked out from the declaration."""

    life: Lifecycle
    born: Mapping[str, str]  # status -> INSERT behind "insert into <table>"
    # SET list: by target; or by whoever acts, from where and to where.
    change: Mapping[str, str] | Callable[[Actor, str, str], str]
    row_in: Callable[[Transaction, str], Any] | None = None  # brings a row into a status; returns the last of its key
    statuses: tuple[str, ...] = ()
    prepare: Mapping[tuple[str, str], Callable[[Transaction], None]] = field(default_factory=dict)
    row_for: Mapping[tuple[str, str], Callable[[Transaction], Any]] = field(default_factory=dict)
    partition_of: Callable[[Transaction, Any], str] | None = None
    born_into: str | None = None  # a partition that births are tried on, too
    given: Callable[[Transaction], dict[str, Any]] = lambda _: {}  # parameters of births
    born_by: Mapping[tuple[str, Authority], str] = field(default_factory=dict)  # INSERT that differs for an authority
    before_births: Callable[[Transaction], None] = lambda _: None
    before_exit: Callable[[Transaction, Any], None] = lambda _tx, _key: None

    def __post_init__(self) -> None:
        if not self.statuses:
            object.__setattr__(self, "statuses", self.life.statuses)

    @property
    def name(self) -> str:
        return self.life.table

    def changed(self, actor: Actor, source: str, target: str) -> str:
        return self.change(actor, source, target) if callable(self.change) else self.change[target]

    def brought(self, tx: Transaction, status: str) -> Any:
        """A row in this status, by its last key."""
        return self.row_in(tx, status) if self.row_in is not None else self._walked(tx, status)

    def _walked(self, tx: Transaction, status: str) -> Any:
        """Born and moved along listed steps, each by the authority that owns it."""
        birth, *moves = _path(self.life, status)
        key = self.life.key[-1]
        with acting(tx, birth[1]):
            statement = f"insert into {self.name} {self.born[birth[0]]} returning {key}"
            row = tx.execute(statement.encode(), self.given(tx)).fetchone()
        assert row is not None
        source = birth[0]
        for target, authority in moves:
            with acting(tx, authority):
                tx.execute(move(self, authority, source, target).encode(), {"key": row[0]})
            source = target
        return row[0]


def move(role: Role, actor: Actor, source: str, target: str, *, table: str | None = None) -> str:
    """The statement that moves a row; its key is a parameter."""
    change = role.changed(actor, source, target)
    now = "(select recoup.now() as now_) t"
    return f"update {table or role.name} set {change} from {now} where {role.life.key[-1]} = %(key)s"


def _path(life: Lifecycle, status: str) -> list[tuple[str, Authority]]:
    """The shortest way into a status: births and moves that may be made by hand."""
    ways: list[list[tuple[str, Authority]]] = [[(b.status, b.authority)] for b in life.births if not b.via]
    for way in ways:
        if way[-1][0] == status:
            return way
        seen = {place for place, _ in way}
        ways += [
            [*way, (m.target, m.authority)]
            for m in life.moves
            if m.source == way[-1][0] and m.target not in seen and not m.via
        ]
    raise LookupError(f"No way leads to {status} of {life.table}.")
