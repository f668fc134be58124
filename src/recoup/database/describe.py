"""The schema as one text, for reviewers and for comparing one database with another.

Everything the owner has is in it: tables, columns, constraints, indexes, triggers and whether they are always on,
functions, sequences, rights, comments. The same schema gives the same text whatever the version of the server, the
order in which it was made, and whether it was migrated or restored. ``schema.sql`` beside this module is the text of
a freshly migrated database; ``make schema`` writes it, and a test compares it. Two kinds of tables are made later: the
months of archives, and error tables that somebody's policy lists. ``as_shipped`` leaves them out.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shutil
import tempfile
from pathlib import Path

from recoup.database import embedded
from recoup.database.connection import Transaction, connect
from recoup.database.migrate import migrate
from recoup.database.queries import load
from recoup.database.roles import OWNER
from recoup.settings import Settings
from recoup.settings import load as load_settings

Q = load("recoup.database", "describe.sql")
LATER = load("recoup.database", "made_later.sql")["made_later"]
SCHEMA_FILE = Path(__file__).with_name("schema.sql")

HEADER = """\
-- What a freshly migrated database holds. Written by `make schema`, compared by tests/database/test_schema_dump.py.
-- For reading and reviewing: the database itself is made by the migrations and by the .sql files beside their domains.
-- Everything belongs to its schema's owner, unless a line says otherwise.
"""


def describe(connection: Transaction, *, owner: str = OWNER, as_shipped: bool = False) -> str:
    """The text of all that ``owner`` owns. Changes nothing, and needs no right but to connect."""
    # Rolled back, so that the settings are the caller's again afterwards, also inside the caller's transaction.
    with connection.transaction(force_rollback=True):
        connection.execute(
            "select set_config(name, value, true) from (values ('search_path', 'pg_catalog'), ('datestyle', 'ISO'),"
            " ('intervalstyle', 'postgres'), ('timezone', 'UTC'), ('quote_all_identifiers', 'off'),"
            " ('recoup.described', %s)) s (name, value)",
            (owner,),
        )
        parts = [row for query in Q.values() for row in connection.execute(query)]
        later = _made_later(connection) if as_shipped else set()
    objects: dict[tuple[str, int, str], list[str]] = {}
    for schema, kind, thing, _, text in sorted(parts):
        if (schema, kind, thing) in later:
            continue
        objects.setdefault((schema, kind, thing), []).append(text)
    return "\n".join([HEADER, *("\n".join(texts) + "\n" for texts in objects.values())])


def _made_later(connection: Transaction) -> set[tuple[str, int, str]]:
    """The objects that a policy of one's own or the passing of months has made."""
    from recoup.policy import document  # late: the models of a policy take a while to load

    shipped = list(document.default().errors.tables)
    return set(connection.execute(LATER, {"shipped": shipped}).fetchall())


def write_schema(settings: Settings, path: Path = SCHEMA_FILE) -> str:
    """Describe a freshly migrated database into the file. Its server is made for this and gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="recoup-schema-"))
    settings = dataclasses.replace(settings, home=home)
    try:
        server = embedded.start(settings)
        uri = server.uri(embedded.DATABASE, admin=True)
        with contextlib.closing(connect(uri, settings)) as connection:
            migrate(connection, login=server.app)
            text = describe(connection)
    finally:
        embedded.stop(settings)
        shutil.rmtree(home, ignore_errors=True)
    path.write_text(text, encoding="utf-8")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m recoup.database.describe", description=__doc__)
    parser.add_argument("--write", action="store_true", required=True, help=f"write {SCHEMA_FILE.name}")
    parser.parse_args()
    write_schema(load_settings())


if __name__ == "__main__":
    main()
