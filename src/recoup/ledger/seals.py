"""Seals: settled log rows in hash-chained blocks, so that changes made with triggers disabled are found.

What a caller can rely on: every row of a sealed log is in exactly one block, or is younger than the log's last seal.
A verification finds changed, removed, added or exchanged rows and seals; given a head that was kept elsewhere, also a
chain that was rewritten or cut off. It does not cover rows that are not sealed yet.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files

from psycopg.rows import class_row
from psycopg.sql import SQL, Composed, Identifier

from recoup.database.connection import Transaction
from recoup.database.queries import load
from recoup.ledger.chain import FIRST_INCARNATION, Chain, Problem, Seal, SealedLog
from recoup.ledger.heads import Head, export_head, read_head
from recoup.lifecycles.logs import Log
from recoup.refusals import InputRefused

__all__ = [
    "Examined", "Head", "LogSeals", "Problem", "Seal", "SealedLog", "examine", "export_head", "list_seals",
    "longest_lag", "read_head", "seal", "seal_lag", "sealed_logs", "standings", "verify",
]  # fmt: skip

Q = load("recoup.ledger", "seals.sql")
BLOCK_ROWS = 10_000
MAX_BLOCKS = 10  # of one transaction: another sealer waits for its end
QUIET_FOR = timedelta(hours=1)
CHECKED_AT_ONCE = 100_000  # rows behind the seals of one statement, and rows of one count: no statement takes long
SEALS_READ_AT_ONCE = 500
MAX_PROBLEMS = 1000  # more do not help
_ROUTINE = re.compile(
    r"^create or replace function (recoup\.\w+)\(.*?^language (\w+)(.*?)as \$\$(.*?)\$\$;", re.DOTALL | re.MULTILINE
)
_SETTING = re.compile(r"set (\w+) = (.+?)(?=\s+set |\s*$)")
LOWEST, HIGHEST = -(2**63), 2**63 - 1  # of a bigint


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What a verification checked and found."""

    seals: int
    rows: int
    unsealed: dict[str, int]  # rows of each log that no seal covers yet
    head: int | None  # number of the seal that the given head names
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSeals:
    """The seals of a log."""

    log: str
    blocks: int
    rows: int  # in these
    number: int | None  # of the last one
    sealed_at: datetime | None
    digest: bytes | None
    lag_s: float | None  # age of the oldest settled row that is not sealed; None: there is none


# Sealing -------------------------------------------------------------------------------------------------------------


def seal(
    tx: Transaction,
    *,
    block_rows: int = BLOCK_ROWS,
    max_blocks: int = MAX_BLOCKS,
    quiet_for: timedelta | None = QUIET_FOR,
) -> list[Seal]:
    """Seal the next blocks, in turn over all logs. Fewer than ``max_blocks``: everything settled is sealed.

    A log in which nothing happened gets an empty block when its last seal is older than ``quiet_for``: rows that
    are added to that time later are then found. Waits for another sealer: the chain has one end.
    """
    if max_blocks < 1:
        raise InputRefused("max_blocks", f"{max_blocks} blocks.", "Ask for one or more.", max_blocks=max_blocks)
    made: list[Seal] = []
    waiting = sealed_logs(tx)
    while waiting:
        for log in tuple(waiting):
            if len(made) == max_blocks:
                return made
            given = {"log": log.log, "canon": log.canon, "block_rows": block_rows, "quiet_for": quiet_for}
            sealed = _seals(tx, "seal_next", **given)
            made += sealed
            if not sealed:
                waiting.remove(log)
    return made


def sealed_logs(tx: Transaction) -> list[SealedLog]:
    """The logs that are sealed, as the domains of this database declare them."""
    return [SealedLog._make(row) for row in tx.execute(Q["sealed_logs"])]


def seal_lag(tx: Transaction) -> dict[str, timedelta | None]:
    """For each log, the age of the oldest settled row that is not sealed. None: there is none."""
    lags: dict[str, timedelta | None] = {}
    for log in sealed_logs(tx):
        row = tx.execute(_of(log, "lag"), {"log": log.log}).fetchone()
        lags[log.log] = row[0] if row else None
    return lags


def longest_lag(tx: Transaction) -> float | None:
    """The longest of these, in seconds."""
    return max((lag.total_seconds() for lag in seal_lag(tx).values() if lag is not None), default=None)


def standings(tx: Transaction) -> list[LogSeals]:
    """The seals of each log, and how far they are behind."""
    lags = {log: None if lag is None else round(lag.total_seconds(), 1) for log, lag in seal_lag(tx).items()}
    rows = tx.execute(Q["standings"], {"logs": list(lags)}).fetchall()
    return [
        LogSeals(
            log=log, blocks=blocks, rows=sealed, number=number, sealed_at=sealed_at, digest=digest, lag_s=lags[log]
        )
        for log, blocks, sealed, number, sealed_at, digest in rows
    ]


def list_seals(tx: Transaction, *, log: str | None = None, limit: int = 50) -> list[Seal]:
    """The newest seals, newest first, of one log or of all."""
    known = [sealed.log for sealed in sealed_logs(tx)]
    if log is not None and log not in known:
        raise InputRefused("log_not_sealed", f"{log} is not a sealed log.", f"Use one of: {', '.join(known)}.", log=log)
    return _seals(tx, "list_seals", log=log, limit=limit)


def _seals(tx: Transaction, query: str, **given: object) -> list[Seal]:
    columns = SQL(", ").join(
        SQL("{}::text").format(Identifier(name)) if name in ("since", "until") else Identifier(name)
        for name in Seal.__dataclass_fields__
    )
    with tx.cursor(row_factory=class_row(Seal)) as cursor:
        return cursor.execute(Q[query].format(columns=columns), given).fetchall()


# Verifying -----------------------------------------------------------------------------------------------------------


def verify(tx: Transaction, declared: Iterable[Log], head: Head | None = None) -> list[Problem]:
    """What is not as it was sealed; empty when all is well."""
    return list(examine(tx, declared, head).problems)


def examine(
    tx: Transaction,
    declared: Iterable[Log],
    head: Head | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Examined:
    """Check the chain, every row that it covers, and that no row is outside it. Reads only; other work may continue.

    ``declared`` are the logs of this program: the functions of their canonical texts are compared with it.
    ``progress`` gets the number of checked seals and of all. Every statement is bounded, and so is memory.
    """
    (newest,) = tx.execute(Q["newest_number"]).fetchone() or (0,)
    clusters = tx.execute(Q["incarnations"]).fetchall()
    logs = sealed_logs(tx)
    canons = {log.log: log.canon for log in logs}
    chain = Chain({incarnation: cluster for incarnation, cluster, _ in clusters}, canons, head)
    problems = list(_changed_routines(tx, declared))
    for page in _pages(tx, newest):
        for seal_ in page:
            problems += chain.follow(seal_)
        for checked in _batches(seal_ for seal_ in page if chain.readable(seal_)):
            problems += _changed_rows(tx, checked)
            if progress is not None:
                progress(checked[-1].number, newest)
        if len(problems) >= MAX_PROBLEMS:
            break
    else:
        problems += chain.end(newest)
    here = chain.present if clusters and clusters[-1][2] else None
    unsealed: dict[str, int] = {}
    for log in logs:
        counted, strays = _count(tx, log, present=chain.present, here=here)
        problems += strays
        unsealed[log.log] = max(0, counted - chain.rows.get(log.log, 0))
    return Examined(
        seals=chain.seals,
        rows=sum(chain.rows.values()),
        unsealed=unsealed,
        head=head.number if head else None,
        problems=tuple(problems[:MAX_PROBLEMS]),
    )


def _pages(tx: Transaction, newest: int) -> Iterator[list[Seal]]:
    number = LOWEST
    while page := [s for s in _seals(tx, "seals_from", number=number, limit=SEALS_READ_AT_ONCE) if s.number <= newest]:
        yield page
        number = page[-1].number + 1


def _batches(seals: Iterable[Seal]) -> Iterator[list[Seal]]:
    """Seals whose rows are checked in one statement."""
    batch: list[Seal] = []
    rows = 0
    for seal_ in seals:
        if batch and rows + seal_.rows > CHECKED_AT_ONCE:
            yield batch
            batch, rows = [], 0
        batch.append(seal_)
        rows += seal_.rows
    if batch:
        yield batch


def _changed_rows(tx: Transaction, checked: Sequence[Seal]) -> Iterator[Problem]:
    logs = {seal_.number: seal_.log for seal_ in checked}
    for number, problem in tx.execute(Q["check_seals"], {"numbers": list(logs)}):
        if problem is not None:
            yield Problem(number, logs[number], problem)


def _count(tx: Transaction, log: SealedLog, *, present: int, here: int | None) -> tuple[int, list[Problem]]:
    """The number of rows of a log; and a problem if some, which are not counted, can be in no block and not unsealed.

    ``here`` is the incarnation whose transaction ids are this cluster's.
    """
    counted = strays = 0
    first_stray, from_seq = None, LOWEST
    given = {"first": FIRST_INCARNATION, "present": present, "here": here, "limit": CHECKED_AT_ONCE}
    while True:
        row = tx.execute(_of(log, "count_rows"), {**given, "from_seq": from_seq}).fetchone()
        assert row is not None
        last, rows, stray, first = row
        counted, strays = counted + rows, strays + stray
        first_stray = first if first_stray is None else first_stray
        if rows < CHECKED_AT_ONCE or last == HIGHEST:
            break
        from_seq = last + 1
    if not strays:
        return counted, []
    which = f"{strays} rows, the first with seq {first_stray}, carry a seq, a transaction or an incarnation"
    return counted - strays, [Problem(None, log.log, f"{which} that was never used for writing")]


def _changed_routines(tx: Transaction, declared: Iterable[Log]) -> Iterator[Problem]:
    """Compares the checking functions with this program's: a replaced one would find nothing."""
    expected: dict[tuple[str, str | None], list[str]] = {(n, None): [body] for n, body in _shipped_routines().items()}
    for log in declared:
        for version in range(1, log.canon + 1):
            expected[log.canon_function(version), log.table] = [f"{log.canon_body(version)}sql"]
    found: dict[tuple[str, str | None], list[str]] = {}
    names = [name.removeprefix("recoup.") for name, _ in expected]
    for name, row_type, body in tx.execute(Q["routines"], {"names": names}):
        found.setdefault((name, None if (name, None) in expected else row_type), []).append(body)
    for key, bodies in expected.items():
        if found.get(key) != bodies:
            yield Problem(None, None, f"the function {key[0]} is not this program's: it was replaced")


@cache
def _shipped_routines() -> dict[str, str]:
    """The text of each function of seals.sql, with its language and settings."""
    shipped: dict[str, str] = {}
    text = files("recoup.ledger").joinpath("routines", "seals.sql").read_text("utf-8")
    for name, language, manner, body in _ROUTINE.findall(text):
        settings = ",".join(f"{setting}={value}" for setting, value in _SETTING.findall(manner.strip()))
        shipped[name] = body + ("definer" if "security definer" in manner else "") + settings + language
    return shipped


def _of(log: SealedLog, query: str) -> Composed:
    return Q[query].format(log=Identifier(*log.log.split(".")), at=Identifier(log.at))
