"""``recoup seal``: seal log rows in hash-chained blocks, and verify that none was changed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from recoup.cli.context import opened, person
from recoup.cli.output import Demo, Json, Limit, ends_with, print_fields, print_rows
from recoup.domain import logs
from recoup.domains import DOMAINS
from recoup.ledger import seals
from recoup.ledger.heads import Head, read_head
from recoup.ledger.policy import SealPolicy
from recoup.ledger.seals import Examined
from recoup.lifecycles.declaration import Authority
from recoup.policy import versions
from recoup.refusals import InputRefused

app = App(
    name="seal",
    help_epilogue="Log rows are sealed in hash-chained blocks once no transaction can add to them. A change of a sealed"
    " row is found; with an exported head, kept elsewhere, also a rewritten chain.",
    help_format="plaintext",
)
MAX_HEAD_BYTES = 1_000_000


@app.command
def run(*, demo: Demo = False, json: Json = False) -> None:
    """Seal the log rows that have settled. Workers do this too; run it before an export."""
    made = rows = 0
    with opened(demo=demo) as database, _progress("sealed", "rows") as progress:
        with database.transaction(Authority.READER) as tx:
            block_rows = versions.active(tx).policy[SealPolicy].block_rows
        while True:
            # Short transactions: another process that seals waits for one of them, not for all.
            with database.transaction(Authority.ARCHIVER, actor=person(database)) as tx:
                sealed = seals.seal(tx, block_rows=block_rows, max_blocks=seals.MAX_BLOCKS)
            made, rows = made + len(sealed), rows + sum(seal.rows for seal in sealed)
            progress(rows, None)
            if len(sealed) < seals.MAX_BLOCKS:
                break
    if json:
        print_fields({"seals": made, "rows": rows}, as_json=True)
    elif made:
        print(f"{_counted(rows, 'row')} sealed in {_counted(made, 'block')}")
    else:
        print("nothing to do: all settled rows are sealed")


@app.command(name="list")
def list_(
    *,
    log: Annotated[str | None, Parameter(help="Only seals of this log, such as cl.gate_zero_air.")] = None,
    limit: Limit = 20,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List seals, newest first."""
    with opened(demo=demo) as database, database.transaction(Authority.READER) as tx:
        found = seals.list_seals(tx, log=log, limit=limit)
    rows = [
        {
            "number": seal.number, "log": seal.log, "rows": seal.rows, "last_seq": seal.last_seq,
            "sealed_at": seal.sealed_at, "actor_id": seal.actor_id, "incarnation": seal.incarnation,
            "digest": seal.digest.hex(),
        }
        for seal in found
    ]  # fmt: skip
    columns = ("number", "log", "rows", "last_seq", "sealed_at", "actor_id", "digest")
    print_rows(rows, as_json=json, columns=columns, empty="No seals yet. Run: recoup seal run")


@app.command
def status(*, demo: Demo = False, json: Json = False) -> None:
    """Show for each log how many blocks it has, its last seal, and how far that is behind."""
    with opened(demo=demo) as database, database.transaction(Authority.READER) as tx:
        found = seals.standings(tx)
    rows = [{**asdict(one), "digest": None if one.digest is None else one.digest.hex()} for one in found]
    columns = ("log", "blocks", "rows", "number", "sealed_at", "lag_s", "digest")
    print_rows(rows, as_json=json, columns=columns, empty="No log is sealed here.")


@app.command
def export(
    *,
    to: Annotated[Path | None, Parameter(help="File to write; it must not exist. Default: print it.")] = None,
    demo: Demo = False,
) -> None:
    """Export the head of the chain as JSON. Keep it where people who can change the database cannot change it."""
    with opened(demo=demo) as database, database.transaction(Authority.READER) as tx:
        head = seals.export_head(tx)
    if to is None:
        print(head.as_text(), end="")
        return
    _write_new(to, head.as_text())
    print(f"{to}: seal {head.number}, {_counted(sum(head.rows.values()), 'row')}")


@app.command
def verify(
    *,
    head: Annotated[Path | None, Parameter(help="A file written by recoup seal export, kept elsewhere.")] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Verify every seal, and every log row against its seal. Exits with status 1 if something is wrong."""
    kept = _read_head(head) if head is not None else None
    with (
        opened(demo=demo) as database,
        _progress("checked", "seals") as progress,
        database.transaction(Authority.READER) as tx,
    ):
        examined = seals.examine(tx, logs(DOMAINS), kept, progress=progress)
    with ends_with(1 if examined.problems else 0):
        if json:
            print_fields(examined, as_json=True)
        else:
            _print_examined(examined, kept)


def _print_examined(examined: Examined, head: Head | None) -> None:
    logs = _counted(len(examined.unsealed), "log")
    print(f"{_counted(examined.seals, 'seal')} checked, over {_counted(examined.rows, 'row')} of {logs}")
    waiting = {log: rows for log, rows in examined.unsealed.items() if rows}
    print(
        f"{_counted(sum(waiting.values()), 'row')} not sealed yet (not covered)"
        + (f": {', '.join(f'{rows:,} of {log}' for log, rows in waiting.items())}" if waiting else "")
    )
    if head is None:
        print("no head given: without one, a chain that was rewritten or cut off at its end is not found")
    elif not examined.problems:
        print(f"the chain continues from the head: seal {head.number}, sealed at {head.sealed_at:%Y-%m-%d %H:%M:%S %Z}")
    if examined.problems:
        print()
    print_rows(
        examined.problems,
        as_json=False,
        columns=("number", "log", "problem"),
        empty="no changes found",
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _read_head(path: Path) -> Head:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_HEAD_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputRefused(
            "head_file_unreadable",
            f"{path} cannot be read: {error}.",
            "Give an unchanged file written by recoup seal export.",
        ) from error
    return read_head(text)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputRefused(
            "head_file_exists",
            f"{path} exists already.",
            "Choose another name, and keep the old head: it proves more.",
        ) from error
    except OSError as error:
        raise InputRefused(
            "head_file_unwritable", f"{path} cannot be written: {error}.", "Choose a file in a folder that exists."
        ) from error


@contextmanager
def _progress(verb: str, noun: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress line; on a terminal only, and cleared at the end."""
    shown = sys.stderr.isatty()

    def show(done: int, of: int | None) -> None:
        if shown:
            print(f"\r{verb} {done:,}{f' of {of:,}' if of is not None else ''} {noun}", end="", file=sys.stderr)

    yield show
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
