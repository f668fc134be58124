"""``recoup state paths``, ``gaps``, ``verify`` and ``check``: what consumers read, what is missing, what differs."""

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from recoup.cli.context import acting, opened
from recoup.cli.output import Column, Demo, Json, Limit, command, ends_with, print_fields, print_rows, shown
from recoup.cli.state_filter import ANY, Which
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.partitions import consuming, registry
from recoup.partitions import gaps as gaps_
from recoup.partitions.contracts import Circumstances, check_file
from recoup.partitions.interfaces import Verdict
from recoup.refusals import InputRefused

GAPS = (
    Column("source", cut="middle", least=8, rank=4),
    Column("customer_id", "customer", cut="middle", least=8, rank=1),
    Column("query_name", "query", cut="middle", least=8, rank=5),
    Column("logical_date", "day", rank=0),
    Column("kind", rank=2),
    Column("next_run_at", "next run", least=12, rank=3),
    Column("hold", rank=8),
    Column("terminal_causes", "causes", rank=7),
    Column("error_message", "message", cut="end", least=16, rank=6),
)
DIFFERS = (
    Column("kind", rank=0),
    Column("message", cut="fold", least=24, rank=1),
    Column("status", rank=3),
    Column("location", cut="fold", least=24, rank=2),
)


def paths(*, which: Which = ANY, demo: Demo = False, json: Json = False) -> None:
    """Print the files of the current runs of partitions that succeeded, from one snapshot.

    Use these, and no pattern over the raw sink: that also holds runs that were rejected or superseded.
    """
    with opened(demo=demo) as database:
        sink = consuming.sink(database.settings)
        with database.transaction(Authority.CONSUMER) as tx:
            found = consuming.current(tx, which.selection())
    listed = [(one, consuming.files(sink, one)) for one in found]
    if json:
        fields = tuple(consuming.Current.__dataclass_fields__)
        rows = [{name: getattr(one, name) for name in fields} | {"paths": [*map(str, files)]} for one, files in listed]
        print_rows(rows, as_json=True, empty="")
        return
    for _, files in listed:
        for path in files:
            print(path)


def gaps(
    *,
    which: Which = ANY,
    kind: Annotated[tuple[gaps_.Kind, ...], Parameter(negative="", show_default=False, help="Only of this kind.")] = (),
    limit: Limit = 1000,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List partitions that consumers cannot read: never enqueued, pending, failed or terminal.

    Never enqueued is what the registry expects, or the range of --logical-date for each customer that the source knows.
    """
    with acting(Authority.CONSUMER, demo=demo) as tx:
        found = gaps_.gaps(tx, which.selection(), kinds=kind or tuple(gaps_.Kind), limit=limit)
    print_rows(found, as_json=json, columns=GAPS, empty="No gaps.")
    if found and not json:
        counted = ", ".join(f"{name} {number:,}" for name, number in gaps_.counted(found).items() if number)
        print(f"\n{plural(len(found), 'gap')}: {counted}" + (" (limit reached)" if len(found) == limit else ""))


def verify(*, demo: Demo = False, json: Json = False) -> None:
    """Compare the raw sink with the database: what is missing, changed or foreign, and what has no verdict.

    Reads all data and compares its digests. Exits with status 1 if something is missing or changed.
    """
    with opened(demo=demo) as database:
        sink = consuming.sink(database.settings)
        found = list(consuming.verify(lambda: database.transaction(Authority.READER), sink))
    bad = [one for one in found if one.kind in (consuming.Kind.MISSING, consuming.Kind.CHANGED)]
    with ends_with(1 if bad else 0):
        empty = f"The raw sink {shown(sink.root)} holds what the database says, and nothing else."
        print_rows(found, as_json=json, columns=DIFFERS, empty=empty)
        if bad and not json:
            again = command("state reprocess … --re-extract", demo=demo)
            print(f"\n{plural(len(bad), 'run')} missing or changed. Restore from a backup, or extract again: {again}")


def check(
    file: Annotated[Path, Parameter(help="A Parquet file, or JSON lines.")],
    *,
    contract: Annotated[str, Parameter(help="A contract of the policy.")],
    previous_rows: Annotated[
        int | None, Parameter(show_default=False, help="Rows of the run before, for rules that compare with it.")
    ] = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Try a contract on a file: which rules it breaks, how many rows, and a few of them. Changes nothing.

    Exits with status 1 if the contract is broken. Rules about the day of a partition are skipped.
    """
    with acting(Authority.READER, demo=demo) as tx:
        known = registry.active(tx).contracts
        (now,) = tx.execute("select recoup.now()").fetchone() or (None,)
    if contract not in known:
        near = get_close_matches(contract, known, n=1, cutoff=0.5)
        raise InputRefused(
            "contract_unknown",
            f"The policy has no contract {contract!r}.",
            (f"Did you mean {near[0]}? " if near else f"Contracts: {', '.join(known)}. " if known else "")
            + f"Add it under [partitions.contracts.{contract}]: recoup policy edit",
            contract=contract,
        )
    verdict = check_file(file, known[contract], circumstances=Circumstances(now=now, previous_rows=previous_rows))
    with ends_with(0 if verdict.accepted else 1):
        if json:
            print_fields(verdict, as_json=True)
        else:
            _print_verdict(verdict, contract)


def _print_verdict(verdict: Verdict, contract: str) -> None:
    if verdict.accepted:
        print(f"accepted: the file fulfils {contract}")
        return
    print(f"rejected: {shown(verdict.reason)}, {shown(verdict.message)}")
    for finding in verdict.findings:
        print(f"\n  {shown(finding.rule)}: {shown(finding.message)}")
        for row in finding.sample:
            print("    " + ", ".join(f"{shown(name)} {shown(value)}" for name, value in row.items()))
