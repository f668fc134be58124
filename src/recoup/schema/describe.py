"""The schema as one text, for reviews and to compare one database with another.

It contains everything that the owner owns: tables, columns, constraints, indexes, triggers and whether they are always
enabled, functions, sequences, grants, comments. The same schema gives the same text whatever the server version and the
order of creation, migrated or restored. ``schema.sql`` in this folder is the text of a newly migrated database;
``make schema`` writes it, and a test compares it. Some tables are created later, because a policy lists them or a month
begins: their domain knows which, and ``as_shipped`` omits them.
"""

import contextlib
import dataclasses
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.database.pinned import pin
from recoup.database.queries import load
from recoup.database.roles import OWNER
from recoup.domain import Domain, SchemaObject
from recoup.schema.migrate import migrate
from recoup.settings import Settings

Q = load("recoup.schema", "describe.sql")
SCHEMA_FILE = Path(__file__).with_name("schema.sql")

HEADER = """\
-- The schema of a newly migrated database. Written by `make schema`, compared by tests/database/test_schema_dump.py.
-- For reading and reviewing: migrations and the .sql files of the domains create the database itself.
-- Everything belongs to its schema's owner, unless a line gives another owner.
"""


def describe(connection: Transaction, *, owner: str = OWNER, as_shipped: Sequence[Domain] = ()) -> str:
    """The text of everything that ``owner`` owns. Changes nothing, and needs only the right to connect.

    ``as_shipped`` omits what these domains created later.
    """
    # Rolled back, so that the caller's settings are restored, also inside the caller's transaction.
    with connection.transaction(force_rollback=True):
        pin(connection)
        connection.execute("select set_config('recoup.described', %s, true)", (owner,))
        parts = [row for query in Q.values() for row in connection.execute(query)]
        later = {thing for domain in as_shipped for thing in _later(connection, domain)}
    objects: dict[tuple[str, int, str], list[str]] = {}
    for schema, kind, thing, _, text in sorted(parts):
        if (schema, kind, thing) in later:
            continue
        objects.setdefault((schema, kind, thing), []).append(text)
    return "\n".join([HEADER, *("\n".join(texts) + "\n" for texts in objects.values())])


def _later(connection: Transaction, domain: Domain) -> set[SchemaObject]:
    return set(domain.later(connection)) if domain.later is not None else set()


def write_schema(settings: Settings, domains: Sequence[Domain], path: Path = SCHEMA_FILE) -> str:
    """Describe a newly migrated database into the file, on a temporary server."""
    home = Path(tempfile.mkdtemp(prefix="recoup-schema-"))
    settings = dataclasses.replace(settings, home=home)
    try:
        server = embedded.start(settings)
        uri = server.uri(embedded.DATABASE, admin=True)
        with contextlib.closing(connect(uri, settings)) as connection:
            migrate(connection, domains, login=server.app)
            text = describe(connection)
    finally:
        embedded.stop(settings)
        shutil.rmtree(home, ignore_errors=True)
    path.write_text(text, encoding="utf-8")
    return text
