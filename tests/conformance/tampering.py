"""Rows of a sealed log changed, removed, put in and exchanged, one at a time, by a superuser whom nothing stops."""

from __future__ import annotations

from collections.abc import Iterator

from recoup.lifecycles.logs import Log

OTHER = {"bigint": "{} + 1", "integer": "{} + 1", "text": "{} || 'x'", "xid8": "'3'::xid8", "uuid": "gen_random_uuid()",
         "timestamp with time zone": "{} + interval '1 microsecond'", "jsonb": "'{{\"x\": 1}}'::jsonb"}  # fmt: skip


def ways(log: Log, types: dict[str, str]) -> Iterator[tuple[str, str]]:
    """What is done, and how. ``types`` are those of its columns."""
    one = f"(select max(seq) from {log.table})"
    yield "removed", f"delete from {log.table} where seq = {one}"
    columns = ", ".join(c for c in types if c != "seq")
    yield (
        "put in",
        f"insert into {log.table} (seq, {columns}) select seq + 1, {columns} from {log.table} where seq = {one}",
    )
    for column in log.columns[-1]:
        other = OTHER[types[column]].format(f"coalesce({column}, {'0' if 'int' in types[column] else chr(39) * 2})")
        if types[column] not in ("bigint", "integer", "text"):
            other = OTHER[types[column]].format(column)
        yield f"{column} changed", f"update {log.table} set {column} = {other} where seq = {one}"


TYPES = "select attname, format_type(atttypid, null) from pg_attribute where attrelid = %s::regclass and attnum > 0"
