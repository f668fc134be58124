"""The engine that executes contracts: DuckDB, closed to everything but the data that is given to it.

It reads no file, loads no extension, attaches no database, and its settings are locked. Data arrives in memory, in a
connection of its own that no other check can see. What people write is parsed first: one SELECT, or one expression.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

from recoup.redaction import in_words
from recoup.refusals import InputRefused

Connection: TypeAlias = Any  # of DuckDB, which is an extra
# What a query may be made of. DuckDB also allows INSERT, UPDATE and DELETE inside of WITH.
QUERIES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
# They make values of any size from small ones: neither the memory limit nor a timeout stops them in time.
UNBOUNDED = {"repeat", "lpad", "rpad", "list_resize", "array_resize", "printf", "format", "bar"}
UNBOUNDED_LISTS = {"range", "generate_series"}  # as tables they are bounded
# They would run text that was not checked, or have effects outside of the check.
NOT_CHECKED = {"query", "query_table", "json_execute_serialized_sql", "checkpoint", "force_checkpoint", "write_log"}
READERS = ("read_", "parquet_", "sniff_", "glob")
MAX_SQL = 10_000  # characters
MAX_ERROR = 300
INTERRUPT_EVERY_S = 0.05  # an interrupt between two statements has no effect, so it is repeated


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a check may use. Memory and temporary files are those of all checks of a process."""

    timeout_s: float = 300
    memory_mb: int = 1024
    spill_mb: int = 10_240
    threads: int = 2


@cache
def duckdb() -> Any:
    """The module: an extra, and imported by those who have contracts."""
    try:
        import duckdb as module
    except ImportError as error:
        raise _extra_missing(error) from error
    # A process that has left what it loaded out of garbage collection would print pages of warnings of its bindings.
    atexit.register(gc.unfreeze)
    return module


@cache
def arrow() -> Any:
    """The other module of the extra; extractors need it alone."""
    try:
        import pyarrow as module  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise _extra_missing(error) from error
    return module


def _extra_missing(error: ImportError) -> InputRefused:
    return InputRefused(
        "partitions_extra_missing",
        f"Contracts and extractors of partitions need packages that are not installed ({error.name}).",
        "Install them: pip install 'recoup[partitions]'",
    )


_instances: dict[tuple[int, int, int, int], Connection] = {}
_creating = threading.Lock()


def _instance(limits: Limits) -> Connection:
    """The engine of this process: creating one takes longer than most checks."""
    key = os.getpid(), limits.memory_mb, limits.spill_mb, limits.threads
    with _creating:
        if key not in _instances:
            _instances[key] = _created(limits)
        return _instances[key]


def _created(limits: Limits) -> Connection:
    spill = tempfile.mkdtemp(prefix="recoup-check-")
    atexit.register(_removed, spill, os.getpid())
    closed = duckdb().connect(
        ":memory:",
        config={
            "enable_external_access": "false", "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false", "allow_community_extensions": "false",
            "allow_persistent_secrets": "false", "python_enable_replacements": "false",
            "threads": str(limits.threads), "memory_limit": f"{limits.memory_mb}MB",
            "temp_directory": spill, "max_temp_directory_size": f"{limits.spill_mb}MB",
        },
    )  # fmt: skip
    closed.execute("set global TimeZone = 'UTC'")
    closed.execute("set global lock_configuration = true")
    return closed


def _removed(spill: str, process: int) -> None:
    if os.getpid() == process:  # a child of a fork ends too, and does not own it
        shutil.rmtree(spill, ignore_errors=True)


class Session:
    """One check: a connection of its own, and a deadline for all of its statements."""

    def __init__(self, connection: Connection, limits: Limits) -> None:
        self.connection = connection
        self.limits = limits
        self.deadline = time.monotonic() + limits.timeout_s

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Execute a statement. Past the deadline it is interrupted, and refused."""
        if time.monotonic() >= self.deadline:
            raise self.too_slow()
        try:
            found: list[tuple[Any, ...]] = self.connection.execute(sql, dict(parameters or {})).fetchall()
        except duckdb().InterruptException as error:
            raise self.too_slow() from error
        except duckdb().OutOfMemoryException as error:
            raise InputRefused(
                "contract_too_large",
                f"The contract cannot be checked in {self.limits.memory_mb:,} MB of memory: {first_line(error)}",
                "Simplify its SQL checks and unique columns, or write smaller partitions.",
            ) from error
        return found

    def too_slow(self) -> InputRefused:
        """What a check past its deadline is refused with."""
        return InputRefused(
            "contract_too_slow",
            f"The contract was not checked within {self.limits.timeout_s:g} s.",
            "Simplify its SQL checks, or write smaller partitions.",
        )

    def register(self, name: str, data: Any) -> None:
        """Arrow data as a table of this session alone."""
        self.connection.register(name, data)


@contextmanager
def session(limits: Limits) -> Iterator[Session]:
    """A session whose tables are dropped at its end. A thread watches its deadline."""
    connection = _instance(limits).cursor()
    opened = Session(connection, limits)
    ended = threading.Event()

    def watch() -> None:
        if not ended.wait(limits.timeout_s):
            while not ended.wait(INTERRUPT_EVERY_S):
                connection.interrupt()

    watcher = threading.Thread(target=watch, name="recoup-check-deadline", daemon=True)
    watcher.start()
    try:
        yield opened
    finally:
        ended.set()
        watcher.join()
        connection.close()


@contextmanager
def rolled_back(opened: Session) -> Iterator[None]:
    """A transaction that leaves nothing behind."""
    opened.connection.begin()
    try:
        yield
    finally:
        opened.connection.rollback()


def quoted(name: str) -> str:
    """An identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def first_line(error: BaseException) -> str:
    """The first line of a message of the engine, without secrets."""
    return in_words(str(error).strip().split("\n")[0])[:MAX_ERROR]


@lru_cache(maxsize=1000)
def pattern_problem(pattern: str) -> str | None:
    """Why a text is no regular expression of the engine; None: it is one."""
    try:
        with session(Limits()) as opened:
            opened.rows("select regexp_full_match('', $pattern)", {"pattern": pattern})
    except duckdb().Error as error:
        return first_line(error)
    return None


def expression_sql(text: str) -> str:
    """How many rows of the data an expression is false for, as a term of a SELECT."""
    return f"count(*) filter (where not (\n{text}\n))"


@lru_cache(maxsize=1000)
def expression_problem(text: str, known: frozenset[str]) -> str | None:
    """Why a text is no expression over a row; None: it is one. ``known``: the names of parameters."""
    try:
        duckdb().SQLExpression(text)
    except duckdb().Error as error:
        return first_line(error)
    return _problem(f"select {expression_sql(text)} from data", known)


def query_sql(text: str) -> str:
    """A query as a table of another one."""
    return f"(\n{text}\n)"


def query_problem(text: str, known: frozenset[str]) -> str | None:
    """Why a text is no query; None: it is one. It has to stand alone, and as a part of a query of ours."""
    return _problem(text, known) or _problem(f"select count(*) from {query_sql(text)}", known)


@lru_cache(maxsize=1000)
def parameters_of(sql: str) -> frozenset[str]:
    """The names of the parameters of a query that was checked."""
    with session(Limits()) as opened:
        (statement,) = opened.connection.extract_statements(sql)
    return frozenset(statement.named_parameters)


@lru_cache(maxsize=1000)
def _problem(sql: str, known: frozenset[str]) -> str | None:
    if len(sql) > MAX_SQL:
        return f"it has more than {MAX_SQL:,} characters"
    module = duckdb()
    with session(Limits()) as opened:
        try:
            statements = opened.connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != module.StatementType.SELECT:
                return "it is not one SELECT"
            unknown = sorted(set(statements[0].named_parameters) - known)
            if unknown:
                return (
                    f"there is no parameter ${unknown[0]}; parameters are {', '.join(f'${n}' for n in sorted(known))}"
                )
            ((tree,),) = opened.rows("select json_serialize_sql($sql)", {"sql": sql})
        except module.Error as error:
            return first_line(error)
    read = json.loads(tree)
    return first_line(RuntimeError(read["error_message"])) if read["error"] else _not_allowed(read["statements"])


def _not_allowed(tree: Any) -> str | None:
    """What a parsed query has that a check must not have."""
    todo: list[tuple[Any, bool]] = [(tree, False)]
    while todo:
        node, is_table = todo.pop()
        if isinstance(node, list):
            todo += ((one, False) for one in node)
        if not isinstance(node, dict):
            continue
        kind, function = str(node.get("type")), str(node.get("function_name", "")).lower()
        if kind.endswith("_NODE") and kind not in QUERIES:
            return f"it changes data ({kind.removesuffix('_NODE').removesuffix('_QUERY')})"
        if node.get("class") == "STAR" and node.get("columns"):
            return "COLUMNS(…) makes several expressions of one"
        if function.startswith(READERS):
            return f"{function} reads files; a check sees its data alone"
        if function in NOT_CHECKED | UNBOUNDED or (function in UNBOUNDED_LISTS and not is_table):
            return f"{function} is not allowed in a check"
        todo += ((one, kind == "TABLE_FUNCTION" and key == "function") for key, one in node.items())
    return None
