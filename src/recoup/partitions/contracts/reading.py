"""The data of a run, from its files into a session of the engine. The engine itself opens no file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recoup.formatting import plural
from recoup.partitions.contracts.engine import Session, arrow, duckdb, first_line
from recoup.redaction import in_words

TABLE = "recoup_rows"  # the data as it was read
LINES = "recoup_lines"
PARQUET, JSONL = "parquet", "jsonl"
JSON_TYPE = "JSON"
MAX_COLUMNS = 2000
MAX_LOADED = 2**28  # bytes of a Parquet file that are held in memory; a larger one is read again by each query
CHUNK_BYTES = 2**24
MAX_SHOWN = 80  # characters of a line that is not JSON


class Unreadable(Exception):  # noqa: N818 - describes files
    """The files are not what their format says."""


class Unnamed(Exception):  # noqa: N818 - describes files
    """The names of the columns do not identify them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Data in a session: the type of each column, as the engine has it."""

    columns: Mapping[str, str]
    # Columns that only some files have, with a file that has not.
    partly: Mapping[str, str] = field(default_factory=dict)
    # JSON lines have no columns of their own: a key that never occurs is a column of nulls.
    has_schema: bool = True
    is_lazy: bool = False  # each query reads the files


def load(opened: Session, files: Sequence[Path], format: str) -> Loaded:
    """Read the files of one run. Raises Unreadable or Unnamed if they are at fault, OSError if the disk is."""
    pa = arrow()
    try:
        return _parquet(opened, files) if format == PARQUET else _json_lines(opened, files)
    except (pa.ArrowException, duckdb().Error) as error:
        raise Unreadable(first_line(error)) from error
    except OSError as error:
        if error.errno is None:  # Arrow says so of damaged files; others are errors of the disk
            raise Unreadable(first_line(error)) from error
        raise


def _parquet(opened: Session, files: Sequence[Path]) -> Loaded:
    pa = arrow()
    from pyarrow import dataset, parquet  # type: ignore[import-untyped,unused-ignore]

    read = [parquet.ParquetFile(file) for file in files]
    schemas = [one.schema_arrow for one in read]
    for schema in schemas:
        _refuse_names(schema.names)
    schema = schemas[0]
    if any(not other.equals(schema) for other in schemas[1:]):
        try:
            schema = pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            raise Unnamed(f"the files have different columns: {first_line(error)}") from error
        _refuse_names(schema.names)
    if not schema.names:
        rows = sum(one.metadata.num_rows for one in read)
        opened.rows(f"create temp table {TABLE} as select 1 from range({rows})")
        return Loaded(columns={})
    size = sum(one.metadata.row_group(at).total_byte_size for one in read for at in range(one.metadata.num_row_groups))
    if size > MAX_LOADED or len(read) > 1:
        found = dataset.dataset([str(file) for file in files], format="parquet", schema=schema, partitioning=None)
        opened.register(TABLE, found if size > MAX_LOADED else found.to_table())
    else:
        opened.register(TABLE, read[0].read())
    partly = {
        name: file.name for file, one in zip(files, schemas, strict=True) for name in schema.names
        if name not in one.names
    }  # fmt: skip
    return Loaded(columns=_types(opened), partly=partly, is_lazy=size > MAX_LOADED)


def _types(opened: Session) -> dict[str, str]:
    return {name: type_ for name, type_, *_ in opened.rows(f"describe {TABLE}")}


def _json_lines(opened: Session, files: Sequence[Path]) -> Loaded:
    pa = arrow()
    opened.rows(f"create temp table {LINES} (line varchar)")
    for lines in _chunks(files):
        # The cast refuses what is not UTF-8.
        opened.register("chunk_of_lines", pa.table({"line": pa.array(lines, pa.binary()).cast(pa.string())}))
        opened.rows(f"insert into {LINES} select line from chunk_of_lines")
        opened.connection.unregister("chunk_of_lines")
    _refuse_lines(opened)
    keys = [key for (key,) in opened.rows(f"select distinct unnest(json_keys(line)) as key from {LINES} order by key")]
    _refuse_names(keys)
    structure = json.dumps(dict.fromkeys(keys, JSON_TYPE), ensure_ascii=False).replace("'", "''")
    columns = f"unnest(json_transform(line, '{structure}'))" if keys else "1"
    opened.rows(f"create temp table {TABLE} as select {columns} from {LINES}")
    opened.rows(f"drop table {LINES}")
    return Loaded(columns=_types(opened) if keys else {}, has_schema=False)


def _chunks(files: Sequence[Path]) -> Iterator[list[bytes]]:
    for file in files:
        with file.open("rb") as source:
            while lines := source.readlines(CHUNK_BYTES):
                yield [line for line in lines if line.strip()]


def _refuse_lines(opened: Session) -> None:
    bad = f"from {LINES} where case when json_valid(line) then json_type(line) <> 'OBJECT' else true end"
    ((count,),) = opened.rows(f"select count(*) {bad}")
    if count:
        ((lines,),) = opened.rows(f"select count(*) from {LINES}")
        ((first,),) = opened.rows(f"select line {bad} limit 1")
        shown = in_words(first.strip())[:MAX_SHOWN]
        raise Unreadable(f"{count:,} of {plural(lines, 'line')} are not a JSON object, e.g. {shown}")


def _refuse_names(names: Sequence[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise Unnamed(f"there are {len(names):,} columns, and the maximum is {MAX_COLUMNS:,}")
    spelled: dict[str, str] = {}
    for name in names:
        if not name or any(ord(sign) < ord(" ") or sign == "\x7f" for sign in name):
            raise Unnamed(f"a column has the name {in_words(repr(name))[:MAX_SHOWN]}")
        if name.lower() in spelled:
            same = f"columns {spelled[name.lower()]} and {name} differ only in case"
            raise Unnamed(same if spelled[name.lower()] != name else f"there are two columns {name}")
        spelled[name.lower()] = name
