"""Where a run is in the sink: one folder per key column, as Hive names them, and back.

    source=ads/customer_id=acme%2Feu/query_name=spend/logical_date=2026-03-01/run_id=0198…/

Every partition and run has exactly one path. What Hive would escape is escaped, and nothing else.
"""

import re
from collections.abc import Sequence
from datetime import date
from uuid import UUID

from recoup.partitions.identity import Partition
from recoup.refusals import InputRefused

MAX_VALUE_BYTES = 200  # as escaped: with the name of its column it must be a valid file name, of 255 bytes at most
COLUMNS = ("source", "customer_id", "query_name", "logical_date", "run_id")
RUN_COLUMN = COLUMNS[-1]
_ESCAPED = re.compile("[\x01-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")
_ESCAPE = re.compile("%([0-9A-F]{2})")


def escaped(value: str) -> str:
    """A value of a key as part of a folder name."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", value)


def unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def folders(partition: Partition) -> tuple[str, ...]:
    """The folders of a partition, outermost first. A key that cannot be a folder name is refused."""
    *texts, day = partition
    values = [_checked(column, value) for column, value in zip(COLUMNS[:3], texts, strict=True)]
    return tuple(f"{column}={value}" for column, value in zip(COLUMNS[:4], [*values, day.isoformat()], strict=True))


def run_folder(run_id: UUID) -> str:
    return f"{RUN_COLUMN}={run_id}"


def location(partition: Partition, run_id: UUID) -> str:
    """The path of a run, relative to the sink."""
    return "/".join([*folders(partition), run_folder(run_id)])


def parsed(names: Sequence[str]) -> tuple[Partition, UUID] | None:
    """The partition and run of a path, or None when no run has that path."""
    values = [text for column, name in zip(COLUMNS, names, strict=False) for text in _value(column, name)]
    if len(names) != len(COLUMNS) or len(values) != len(COLUMNS):
        return None
    source, customer_id, query_name, day, run = values
    try:
        partition = Partition(source, customer_id, query_name, date.fromisoformat(day))
        run_id = UUID(run)
        same = location(partition, run_id) == "/".join(names)  # another spelling would be a second path
    except (ValueError, InputRefused):
        return None
    return (partition, run_id) if same else None


def _value(column: str, name: str) -> list[str]:
    return [unescaped(name.removeprefix(f"{column}="))] if name.startswith(f"{column}=") else []


def _checked(column: str, value: str) -> str:
    """The escaped value, if it can be part of a folder name."""
    if value == "":
        problem = "is empty"
    elif value in (".", ".."):
        problem = f"is {value!r}"
    elif "\0" in value:
        problem = "contains a NUL character"
    elif len((name := escaped(value)).encode("utf-8", "replace")) > MAX_VALUE_BYTES:
        problem = f"is longer than {MAX_VALUE_BYTES} bytes as part of a path"
    elif any("\ud800" <= character <= "\udfff" for character in value):
        problem = "is not valid Unicode"
    else:
        return name
    raise InputRefused(
        "partition_key", f"The {column} of the partition {problem}.", "Use another value for it.", column=column
    )
