"""The schema as one text, for reviews and to compare one database with another.

It contains everything that the owner owns: tables, columns, constraints, indexes, triggers and whether they are always
enabled, functions, sequences, grants, comments. The same schema gives the same text whatever the server version and the
order of creation, migrated or restored. ``schema.sql`` in this folder is the text of a newly migrated database;
``make schema`` writes it, and a test compares it. Some tables are created later, because a policy lists them or a month
begins: their domain knows which, and ``as_shipped`` omits them.
"""

import contextlib
import dataclasses
import difflib
import re
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


def differences(connection: Transaction, domains: Sequence[Domain]) -> tuple[list[str], list[str]]:
    """Lines that differ from the schema file: ``+`` added, ``-`` missing; first all but comments, then comments.

    What a policy leaves out is not missed, and a schema of somebody else that Recoup's tables are in stays theirs.
    """
    absent = {thing for domain in domains if domain.absent is not None for thing in domain.absent(connection)}
    adopted = _adopted(connection)
    expected = [
        block
        for block in SCHEMA_FILE.read_text(encoding="utf-8").split("\n\n")
        if not ((key := _key(block)) in absent or (key is not None and key[1] == 0 and key[0] in adopted))
    ]
    found = describe(connection, as_shipped=domains)
    for schema in adopted:
        found = re.sub(rf"^alter (?:\w+) {re.escape(schema)}\..* owner to {OWNER};\n", "", found, flags=re.MULTILINE)
    texts = "\n\n".join(expected), found
    lines = _differing(*(_COMMENT.sub("", text) for text in texts))
    return lines, [] if lines else _differing(*texts)


_COMMENT = re.compile(r"^comment on [^']*'(?:[^']|'')*';\n", re.MULTILINE)
_CREATED = re.compile(r"^create (schema|\w+(?: \w+)?) (\w+)(?:\.(\w+))?")


def _key(block: str) -> SchemaObject | None:
    """Which object a block of the schema file creates; None: not a schema, table or view."""
    created = _CREATED.match(block)
    if created is None:
        return None
    kind, schema, name = created.groups()
    return (schema, 0, "") if kind == "schema" else (schema, 2, name or "")


def _adopted(connection: Transaction) -> list[str]:
    """Schemas of others that tables of the owner are in, besides public."""
    rows = connection.execute(
        "select distinct n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where c.relowner = to_regrole(%s) and n.nspowner <> c.relowner and n.nspname <> 'public'"
        " and n.nspname !~ '^pg_'",
        (OWNER,),
    ).fetchall()
    return [str(name) for (name,) in rows]


def _differing(expected: str, found: str) -> list[str]:
    diff = difflib.unified_diff(expected.splitlines(), found.splitlines(), lineterm="", n=0)
    return [line for line in diff if not line.startswith(("---", "+++", "@@"))]


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
