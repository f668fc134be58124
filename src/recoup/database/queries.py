"""Named queries from the ``.sql`` files in the ``queries`` folder of their domain: what is sent to the database.

A query starts with ``-- name: open_attempts``; comment lines under it say what it guarantees. Parameters are psycopg's
``%(name)s``. Loading happens once per file and process.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from psycopg.sql import SQL

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def load(package: str, file: str) -> Mapping[str, SQL]:
    """The queries of one file, by name."""
    text = files(package).joinpath("queries", file).read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    assert len(named) == len(parts) // 2, f"{package}/{file} names a query twice"
    return {name: SQL(body.strip()) for name, body in named.items()}
