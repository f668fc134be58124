"""``recoup gate``"""

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from recoup import gate, mint
from recoup.cli import gate_manual as by_hand
from recoup.cli.context import acting
from recoup.cli.errors_filter import word
from recoup.cli.funnel import print_funnel
from recoup.cli.gate_import import import_
from recoup.cli.gate_manual import refuse_no_domain, refuse_none
from recoup.cli.gate_run import run
from recoup.cli.output import Column, Demo, Json, Limit, command, print_fields, print_rows, shown
from recoup.formatting import plural, timestamp
from recoup.gate.lifecycle import IntakeStatus
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

app = App(
    name="gate",
    help_epilogue="Each company is verified in at most three attempts; every step is in the AIR log.",
    help_format="plaintext",
)
INTAKE_COLUMNS = (
    Column("intake_id", "intake", least=36),
    Column("company_name", "company", cut="end", least=12, rank=1),
    Column("status", rank=2),
    Column("attempt_count", "failed", rank=5),
    Column("next_eligible_at", "next attempt", least=12, rank=4),
    Column("failure_reason", "reason", rank=6),
    Column("company_domain", "domain", cut="end", least=12, rank=7),
    Column("state", rank=9),
    Column("batch_id", "batch", cut="middle", least=10, rank=8),
)
BATCH_COLUMNS = (
    Column("batch_id", "batch", cut="middle", least=16),
    Column("status", rank=1),
    Column("imported_at", "imported", least=12, rank=2),
    Column("completed_at", "completed", least=12, rank=4),
    Column("batch_freeze_at", "window closes", least=12, rank=3),
    Column("paused_by", cut="middle", least=10, rank=5),
    Column("pause_reason", cut="end", rank=6),
)
EVENT_COLUMNS = (
    Column("event_timestamp", "at", rank=0),
    Column("event_type", "event", rank=1),
    Column("reason_code", "reason", rank=2),
    Column("actor_id", "by", cut="middle", least=12, rank=4),
    Column("evidence", cut="end", rank=3),
)
app.command(import_, name="import")
app.command(run)
app.command(by_hand.create_batch)
app.command(by_hand.add)
app.command(by_hand.open_, name="open")
app.command(by_hand.pass_, name="pass")
app.command(by_hand.fail)
app.command(by_hand.sweep)
app.command(by_hand.freeze)


@app.command
def batches(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List import batches, newest first, with their recovery window and kill switch."""
    with acting(Authority.READER, demo=demo) as tx:
        found = gate.list_batches(tx, limit=limit)
    nothing = f"No batches yet. Next: {command('gate import FILE --batch NAME', demo=demo)}"
    print_rows(found, as_json=json, columns=BATCH_COLUMNS, empty=nothing)


@app.command(name="list")
def list_(
    *,
    batch: str | None = None,
    status: Annotated[
        tuple[IntakeStatus, ...], Parameter(negative="", show_default=False, help="In this status."), word("status")
    ] = (),
    name: str | None = None,
    limit: Limit = 50,
    after: UUID | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """List companies, newest first.

    For example: recoup gate list --batch spring --status failed --name acme

    Parameters
    ----------
    batch
        Of this batch.
    name
        Whose name or domain begins with this, in any case.
    after
        Older than this intake: the last id of the page before.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = gate.list_intakes(tx, batch_id=batch, statuses=status, name=name, limit=limit, after=after)
    print_rows(
        found if json else map(_listed, found), as_json=json, columns=INTAKE_COLUMNS, empty="No companies match."
    )
    if len(found) == limit and not json:
        print(f"\n{plural(limit, 'company', 'companies')} shown. Older ones: --after {found[-1].intake_id}")


def _listed(intake: gate.Intake) -> dict[str, object]:
    """Without a next attempt, where none follows."""
    return asdict(intake) | ({} if intake.status == IntakeStatus.FAILED else {"next_eligible_at": None})


@app.command
def complete(batch: str, *, demo: Demo = False) -> None:
    """Mark an import as complete: its recovery window of 14 days opens now.

    Parameters
    ----------
    batch
        The batch.
    """
    with acting(Authority.OPERATOR, demo=demo) as tx:
        closes = gate.complete_batch(tx, batch)
    print(f"Batch {shown(batch)} is complete; its recovery window closes at {timestamp(closes)}")


@app.command
def kill_switch(
    batch: str,
    *,
    reason: str | None = None,
    off: Annotated[bool, Parameter(negative="", show_default=False, help="Resume instead of pausing.")] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Pause all recovery of a batch at once, or resume it; without a reason, show its status.

    Who did it and why goes into the pause log. Attempts in progress may finish. A paused batch is not exhausted.

    Parameters
    ----------
    batch
        The batch.
    reason
        Why. Needed to change anything.
    """
    if reason is None:
        if off:
            raise InputRefused(
                "reason_missing", "Resuming needs a reason.", f"Run: recoup gate kill-switch {batch} --off --reason …"
            )
        with acting(Authority.READER, demo=demo) as tx:
            print_fields(gate.find_batch(tx, batch), as_json=json)
        return
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        changed = gate.resume_batch(tx, batch) if off else gate.pause_batch(tx, batch, reason=reason)
        stands = gate.find_batch(tx, batch)
    if json:
        print_fields(stands, as_json=True)
        return
    now = "running" if off else "paused"
    print(f"Recovery of batch {shown(batch)} is {now}" + ("" if changed else ", as before"))


@app.command
def eligible(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List failed companies whose next attempt is due, longest due first."""
    with acting(Authority.READER, demo=demo) as tx:
        found = gate.eligible(tx, limit=limit)
    columns = (
        INTAKE_COLUMNS[0],
        Column("company_name", "company", cut="end", least=12, rank=1),
        Column("due_for_s", "due for", rank=2),
        Column("attempt_count", "failed", rank=3),
        Column("next_eligible_at", "due since", least=12, rank=4),
    )
    print_rows(found, as_json=json, columns=columns, empty="Nothing is due.")


@app.command
def exhausted(*, batch: str | None = None, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List exhausted companies: no more attempts are made, and why.

    Parameters
    ----------
    batch
        Of this batch.
    """
    with acting(Authority.READER, demo=demo) as tx:
        if batch is not None:
            gate.find_batch(tx, batch)
        found = gate.exhausted(tx, batch_id=batch, limit=limit)
    columns = (
        INTAKE_COLUMNS[0],
        Column("company_name", "company", cut="end", least=12, rank=1),
        Column("failure_reason", "reason", rank=2),
        Column("ended_at", "ended", least=12, rank=3),
        Column("attempt_count", "failed", rank=4),
        Column("ended_by", rank=5),
        Column("batch_id", "batch", cut="middle", least=10, rank=6),
        Column("restarted_as", rank=7),
    )
    print_rows(found, as_json=json, columns=columns, empty="No companies are exhausted.")


@app.command
def restart(
    *intakes: UUID,
    reason: str,
    name: str | None = None,
    domain: str | None = None,
    state: str | None = None,
    linkedin_url: str | None = None,
    batch: str | None = None,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Restart exhausted companies: a new intake for each, with three attempts of its own. All or none.

    The exhausted intakes stay as they are; each can be restarted once.

    Parameters
    ----------
    intakes
        Intake ids.
    reason
        Why.
    name
        The corrected name. Only for one intake at a time, as the next three.
    domain
        The corrected domain.
    state
        The corrected state.
    linkedin_url
        The corrected page in the company directory.
    batch
        The batch of the new intakes. Without it they are in none, and never frozen.
    """
    refuse_none(intakes)
    if not reason.strip():
        raise InputRefused("reason_missing", "A restart needs a reason.", "Give it: --reason …")
    refuse_no_domain(domain)
    if len(intakes) > 1 and any((name, domain, state, linkedin_url)):
        raise InputRefused("restart_many", "Corrections were given for several intakes.", "Restart them one at a time.")
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        made = [
            gate.restart(
                tx,
                intake,
                company_name=name,
                company_domain=domain,
                state=state,
                linkedin_url=linkedin_url,
                batch_id=batch,
            )
            for intake in intakes
        ]
        found = gate.find_intakes(tx, made)
    columns = (INTAKE_COLUMNS[0], Column("company_name", "company", cut="end", least=12), "status", "retry_of")
    print_rows(found, as_json=json, columns=columns, empty="")


@app.command
def funnel(*, batch: str | None = None, demo: Demo = False, json: Json = False) -> None:
    """Show how many companies passed, failed or wait, and why attempts failed, as bars.

    Parameters
    ----------
    batch
        Of this batch.
    """
    with acting(Authority.READER, demo=demo) as tx:
        if batch is not None:
            gate.find_batch(tx, batch)
        counted = gate.funnel(tx, batch_id=batch)
    if json:
        print_fields(counted, as_json=True)
    else:
        print_funnel(counted)


@app.command
def identities(*, limit: Limit = 50, after: UUID | None = None, demo: Demo = False, json: Json = False) -> None:
    """List minted company identities, newest first.

    Parameters
    ----------
    after
        Older than this identity: the last id of the page before.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = mint.identities(tx, limit=limit, after=after)
    columns = (
        Column("sovereign_company_id", "identity", least=36),
        Column("company_name", "company", cut="end", least=12, rank=1),
        Column("minted_at", "minted", least=12, rank=2),
        Column("company_domain", "domain", cut="end", least=12, rank=3),
        Column("intake_id", "intake", rank=4),
    )
    nothing = f"No identities yet; a worker mints them. Next: {command('worker', demo=demo)}"
    print_rows(found, as_json=json, columns=columns, empty=nothing)


@app.command
def history(*intakes: UUID, demo: Demo = False, json: Json = False) -> None:
    """Show the history of one or more intakes, event by event. recoup find gives the id of a company.

    Parameters
    ----------
    intakes
        Intake ids.
    """
    refuse_none(intakes)
    with acting(Authority.READER, demo=demo) as tx:
        gate.find_intakes(tx, intakes)
        events = gate.history(tx, intakes)
    columns = (Column("intake_id", "intake"), *EVENT_COLUMNS) if len(intakes) > 1 else EVENT_COLUMNS
    print_rows(events, as_json=json, columns=columns, empty="No events yet.")
