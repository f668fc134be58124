"""``recoup gate``"""

from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from recoup import gate, mint
from recoup.cli import gate_manual as by_hand
from recoup.cli.context import acting
from recoup.cli.funnel import print_funnel
from recoup.cli.gate_import import import_
from recoup.cli.gate_manual import refuse_no_domain, refuse_none
from recoup.cli.gate_run import run
from recoup.cli.output import Demo, Json, Limit, print_fields, print_rows, shown
from recoup.lifecycles.declaration import Authority
from recoup.refusals import InputRefused

app = App(
    name="gate",
    help_epilogue="May a company candidate enter? At most three attempts, throttled, each step in the AIR log.",
    help_format="plaintext",
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
    columns = ("batch_id", "status", "imported_at", "completed_at", "batch_freeze_at", "paused_by", "pause_reason")
    print_rows(
        found, as_json=json, columns=columns, empty="No batch yet. Bring one in: recoup gate import FILE --batch NAME"
    )


@app.command
def complete(batch: str, *, demo: Demo = False) -> None:
    """Declare an import complete: its recovery window of 14 days opens now.

    Parameters
    ----------
    batch
        The batch.
    """
    with acting(Authority.OPERATOR, demo=demo) as tx:
        closes = gate.complete_batch(tx, batch)
    print(f"batch {shown(batch)} is complete; its recovery window closes at {shown(closes)} UTC")


@app.command
def kill_switch(
    batch: str,
    *,
    reason: str | None = None,
    off: Annotated[bool, Parameter(negative="", show_default=False, help="Resume instead of pausing.")] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Pause all recovery of a batch at once, or resume it; without a reason, tell how it stands.

    Who did it and why go into the pause log. What is being verified at this moment may finish. Paused is not exhausted.

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
                "reason_missing", "Resuming needs a reason.", f"recoup gate kill-switch {batch} --off --reason …"
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
    word = "running" if off else "paused"
    print(f"recovery of batch {shown(batch)} is {word}" + ("" if changed else ", as it was before"))


@app.command
def eligible(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List failed intakes that may be tried again now, longest due first."""
    with acting(Authority.READER, demo=demo) as tx:
        found = gate.eligible(tx, limit=limit)
    columns = ("intake_id", "company_name", "attempt_count", "next_eligible_at")
    print_rows(found, as_json=json, columns=columns, empty="Nothing is due.")


@app.command
def exhausted(*, batch: str | None = None, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List intakes that are not tried any more, and why.

    Parameters
    ----------
    batch
        Only those of this batch.
    """
    with acting(Authority.READER, demo=demo) as tx:
        if batch is not None:
            gate.find_batch(tx, batch)
        found = gate.exhausted(tx, batch_id=batch, limit=limit)
    print_rows(found, as_json=json, empty="Nothing is exhausted.")


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
    """Start exhausted intakes afresh: a new intake each, with three attempts of its own. All or none.

    The exhausted ones stay as they are; each can be started afresh once.

    Parameters
    ----------
    intakes
        Intake ids.
    reason
        Why.
    name
        A better name than the one given then. Only for one intake at a time, as the next three.
    domain
        A better domain.
    state
        A better state.
    linkedin_url
        A better page in the company directory.
    batch
        A batch for the new ones. Without it they are in none, and never frozen.
    """
    refuse_none(intakes)
    if not reason.strip():
        raise InputRefused("reason_missing", "A fresh start needs a reason.", "Say why; an auditor will ask.")
    refuse_no_domain(domain)
    if len(intakes) > 1 and any((name, domain, state, linkedin_url)):
        raise InputRefused("restart_many", "One correction for several intakes.", "Correct them one at a time.")
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
    print_rows(found, as_json=json, columns=("intake_id", "retry_of", "company_name", "status"), empty="")


@app.command
def funnel(*, batch: str | None = None, demo: Demo = False, json: Json = False) -> None:
    """Count where companies stand, and why attempts failed, as bars.

    Parameters
    ----------
    batch
        Only this batch.
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
def identities(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List minted company identities, newest first."""
    with acting(Authority.READER, demo=demo) as tx:
        found = mint.identities(tx, limit=limit)
    print_rows(found, as_json=json, empty="Nothing is minted yet. A worker mints what Gate Zero authorised.")


@app.command
def history(*intakes: UUID, demo: Demo = False, json: Json = False) -> None:
    """Show what happened to one or more intakes, event by event.

    Parameters
    ----------
    intakes
        Intake ids.
    """
    refuse_none(intakes)
    with acting(Authority.READER, demo=demo) as tx:
        gate.find_intakes(tx, intakes)
        events = gate.history(tx, intakes)
    columns = ["event_timestamp", "event_type", "reason_code", "actor_id", "payload_ref", "evidence"]
    print_rows(
        events,
        as_json=json,
        columns=["intake_id", *columns] if len(intakes) > 1 else columns,
        empty="Nothing has happened yet.",
    )
