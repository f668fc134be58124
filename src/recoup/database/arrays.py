"""Routines that take and give rows as one array for each column, each declared once.

Arrays by column are what a thousand rows travel in fastest, and they lose which element belongs where. So a routine is
called by the names of its parameters, arrays that go together must be of one length, and columns come back by name. A
test holds each declaration against the routine in the database.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from psycopg.sql import SQL, Composable, Identifier, Placeholder

from recoup.database.connection import Transaction

THEN = "then_"  # before the parameters of the second of two calls
NUMBERS = frozenset({"integer", "bigint"})
Record = TypeVar("Record", bound=NamedTuple)


@dataclass(frozen=True, kw_only=True, eq=False)
class Routine:
    """A routine of the database that takes arrays, or gives them."""

    name: str  # with its schema
    sets: tuple[Mapping[str, str], ...] = ()  # arrays of one length: the parameter, and the type of its elements
    optional: frozenset[str] = frozenset()  # arrays that may be None
    plain: Mapping[str, str] = field(default_factory=dict)  # the other parameters, and their types
    results: Mapping[str, str]  # what a column is called here, and the parameter that gives it

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The type of each parameter."""
        return {name: f"{kind}[]" for arrays in self.sets for name, kind in arrays.items()} | dict(self.plain)

    @cached_property
    def text(self) -> str:
        """The statement that calls it."""
        return SQL("select {} from {}").format(self.columns("it"), self.called("it")).as_string()

    def columns(self, alias: str) -> Composable:
        """Its results, of a call under an alias."""
        return SQL(", ").join(Identifier(alias, name) for name in self.results.values())

    def called(self, alias: str, prefix: str = "") -> Composable:
        """Its call under an alias. The names of placeholders are its parameters' behind a prefix."""
        given = (
            SQL("{} => {}::{}").format(Identifier(name), Placeholder(prefix + name), SQL(kind))
            for name, kind in self.parameters.items()
        )
        name = Identifier(*self.name.split("."))
        return SQL("{}({}) {}").format(name, SQL(", ").join(given), Identifier(alias))

    def encoded(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as they are sent."""
        if given.keys() != self.parameters.keys():
            raise TypeError(f"{self.name} takes {', '.join(self.parameters)}, not {', '.join(given)}.")
        sent = dict(given)
        for arrays in self.sets:
            sent |= self._encoded(arrays, given)
        return sent

    def call(self, tx: Transaction, **given: Any) -> dict[str, Any]:
        """Call it; its results by name."""
        row = tx.execute(self.text, self.encoded(given), binary=True).fetchone()
        assert row is not None
        return dict(zip(self.results, row, strict=True))

    def _encoded(self, arrays: Mapping[str, str], given: Mapping[str, Sequence[object] | None]) -> dict[str, str]:
        """The arrays of one set that are given, as text."""
        found = {name: values for name in arrays if (values := given[name]) is not None or name not in self.optional}
        lengths = {name: None if values is None else len(values) for name, values in found.items()}
        if len(set(lengths.values())) > 1 or None in lengths.values():
            raise ValueError(f"{self.name}: arrays of one length are needed, not {lengths}.")
        return {name: literal(arrays[name], values or ()) for name, values in found.items()}


Call: TypeAlias = tuple[Routine, Mapping[str, Any]]


def call_in_turn(tx: Transaction, one: Call, other: Call) -> tuple[dict[str, Any], dict[str, Any]]:
    """Call two routines in one statement, the second after the first; the results of each by name."""
    (first, given), (then, given_then) = one, other
    sent = first.encoded(given) | {THEN + name: value for name, value in then.encoded(given_then).items()}
    row = tx.execute(_in_turn(first, then), sent, binary=True).fetchone()
    assert row is not None
    split = len(first.results)
    return dict(zip(first.results, row[:split], strict=True)), dict(zip(then.results, row[split:], strict=True))


@cache
def _in_turn(first: Routine, then: Routine) -> str:
    # A lateral call runs once its row exists. The condition is always true, which the planner does not know.
    query = SQL("select {}, {} from {} cross join lateral (select * from {} where a is distinct from null) b").format(
        first.columns("a"), then.columns("b"), first.called("a"), then.called("c", THEN)
    )
    return query.as_string()


def literal(kind: str, values: Iterable[object]) -> str:
    """Elements of a type as the text of an array, which takes the driver a tenth of the time of a list.

    Only what is a number or a UUID goes without quotes: no text of a caller's becomes two elements, or none.
    """
    if isinstance(values, list) and len(values) > 1 and _is_one_text(values):
        return "{" + ",".join([_text(values[0], None)] * len(values)) + "}"
    unquoted = UUID if kind == "uuid" else int if kind in NUMBERS else None
    return "{" + ",".join(_texts(values, unquoted)) + "}"


def _is_one_text(values: list[object]) -> bool:
    """Whether all are the same text, or null: most columns of what goes in together are. Asked at the speed of C."""
    first = values[0]
    # Only texts and None: other things may be equal and be written differently, as 1 and True.
    return (first is None or type(first) is str) and values[-1] == first and values.count(first) == len(values)


def _texts(values: Iterable[object], unquoted: type | None) -> Iterator[str]:
    """Each as text, written once for equal neighbours: what goes in together has much in common."""
    last: object = None
    text = "NULL"
    for value in values:
        if value is not last:
            last = value
            text = _text(value, unquoted)
        yield text


def _text(value: object, unquoted: type | None) -> str:
    if value is None:
        return "NULL"
    if type(value) is UUID and unquoted is UUID:
        return f"{value.int:032x}"  # in a fifth of the time of its usual text
    if type(value) is unquoted:
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def records(kind: type[Record], columns: Mapping[str, Any]) -> list[Record]:
    """Columns as records with fields of their names. What is no array is the same in all of them.

    The first field is an array, or None: then there are no records.
    """
    first, *others = (columns[name] for name in kind._fields)
    same = (column if isinstance(column, list) else repeat(column) for column in others)
    return list(map(kind._make, zip(first or (), *same, strict=False)))
