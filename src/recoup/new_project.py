"""``recoup init``: the files that a project begins with, commented, and never written over by accident."""

import os
from collections.abc import Sequence
from pathlib import Path

from recoup.database.server_user import write_whole
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.policy.document import read
from recoup.project import FILE_NAME
from recoup.refusals import InputRefused

POLICY_NAME = "policy.toml"
PROJECT = """\
# Settings of Recoup for this folder and the ones below it. Environment variables (RECOUP_DSN …) and options (--dsn …)
# come first. `recoup doctor` shows which value comes from where. All keys: docs/reference/settings.md

# The server. Without dsn and home it is the embedded server of your user. Keep passwords out of this file: put them
# into ~/.pgpass, or set RECOUP_DSN.
# dsn = "postgresql://recoup_app@db.example.com/recoup"
# home = ".recoup"    # a folder for an embedded server of this project alone

# Which function retries the errors of which table: module:function, importable from this folder. It takes the claimed
# error; when it returns, the error is resolved, and when it raises, it is retried later or parked.
[handlers]
{handlers}

# Which function executes which action of recovery (recoup recovery actions), outside of Recoup's own tables. It takes
# what is executed and its subject; when it returns, the action has succeeded, and when it raises, it has failed. What
# is executed has an idempotency key: one that was used before is a repetition, and must not do its work twice.
[actions]
# restart_unit = "pipeline.actions:restart_unit"

[logging]
# level = "info"      # debug, info, warning, error
# format = "auto"     # auto: text on a terminal, JSON elsewhere; text; json

[worker]
# name = "worker-1"   # default: host name and process id
# duties = ["error-retry", "seal"]    # default: all of them
"""
POLICY = """\
# Error tables of this project, added to the active policy by: recoup policy apply {name} --reason "…"
# ttl: how long errors are kept (SHORT, MEDIUM, LONG; INFINITE makes the table an append-only log)
# default: what happens to an error when no rule matches; allowed: what may happen to it
# blocks: whether an open error blocks its entity; owner: who is responsible
# archive_years: how long its archive is kept
"""
TABLE = """
[errors.tables."{table}"]
ttl = "MEDIUM"
default = "RETRY"
allowed = ["RETRY", "PARK", "ARCHIVE"]
blocks = true
owner = "{owner}"
archive_years = 1
"""


def create(folder: Path, tables: Sequence[str] = (), *, force: bool = False) -> list[Path]:
    """Write ``recoup.toml``, and with tables ``policy.toml``; returns the paths. Replaces nothing without ``force``."""
    named = [f'"{table}" = "pipeline.retries:{table.rpartition(".")[2]}"' for table in tables]
    example = '# "billing.invoice_errors" = "pipeline.retries:invoices"'
    texts = {FILE_NAME: PROJECT.format(handlers="\n".join(f"# {line}" for line in named) or example)}
    if tables:
        texts[POLICY_NAME] = POLICY.format(name=POLICY_NAME) + "".join(
            TABLE.format(table=table, owner=table.partition(".")[0]) for table in tables
        )
        read(texts[POLICY_NAME], parts(DOMAINS))  # refuses a name that no table can have
    written = {folder.absolute() / name: text for name, text in texts.items()}
    if not force and (taken := [str(path) for path in written if os.path.lexists(path)]):
        raise InputRefused(
            "file_exists", f"{taken[0]} exists.", "Edit it; or replace it: recoup init --force", files=taken
        )
    for path, text in written.items():
        try:
            write_whole(path, text)
            path.chmod(0o644)
        except OSError as error:
            raise InputRefused(
                "file_unwritable", f"{path} cannot be written: {error.strerror}.", "Name a folder that you can write."
            ) from error
    return list(written)
