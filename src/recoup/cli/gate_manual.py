"""``recoup gate``, step by step: what the importer and the workers do automatically."""

import os
import socket
import sys
from uuid import UUID

from recoup import gate
from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, command, print_fields, print_rows, shown
from recoup.formatting import plural
from recoup.gate import Finished
from recoup.gate.importing.checks import domain_reader
from recoup.lifecycles.declaration import Authority
from recoup.reasons import ReasonCode
from recoup.refusals import InputRefused

LATE = "The attempt had already ended, or the token is of another one: the result was stored, but not applied."


def create_batch(name: str, *, demo: Demo = False) -> None:
    """Create an import batch.

    Parameters
    ----------
    name
        Its name.
    """
    with acting(Authority.OPERATOR, demo=demo) as tx:
        gate.create_batch(tx, name)
    print(f"Batch {shown(name)} created. After the import: {command(f'gate complete {shown(name)}', demo=demo)}")


def add(
    company_name: str,
    *,
    domain: str | None = None,
    state: str | None = None,
    linkedin_url: str | None = None,
    batch: str | None = None,
    demo: Demo = False,
) -> None:
    """Add one company candidate, and print its intake id.

    Parameters
    ----------
    company_name
        Name of the company.
    domain
        Its domain.
    state
        Its US state.
    linkedin_url
        Its page in the company directory.
    batch
        The batch it belongs to.
    """
    refuse_no_domain(domain)
    new = gate.NewIntake(company_name=company_name, company_domain=domain, state=state, linkedin_url=linkedin_url)
    with acting(Authority.HUB, demo=demo) as tx:
        if batch is not None:
            gate.refuse_completed(gate.find_batch(tx, batch))
        (intake_id,) = gate.add_intakes(tx, [new], batch_id=batch)
    print(intake_id)


def open_(*intakes: UUID, worker: str | None = None, demo: Demo = False, json: Json = False) -> None:
    """Open the next attempt of one or more intakes. All or none; refused before its time.

    Parameters
    ----------
    intakes
        Intake ids.
    worker
        Name of the worker. Default: this host and process.
    """
    refuse_none(intakes)
    with acting(Authority.GATE, demo=demo) as tx:
        opened = gate.open_attempts(tx, intakes, worker=worker or f"{socket.gethostname()}-{os.getpid()}")
    columns = (
        Column("intake_id", "intake", least=13, rank=2),
        Column("attempt_id", "attempt", least=36, rank=0),
        Column("token", least=36, rank=1),
        "attempt_number",
        "opened_at",
        "lease_until",
        "worker",
    )
    print_rows(opened, as_json=json, columns=columns, empty="Nothing was opened.")


def pass_(attempt: UUID, token: UUID, *, evidence: str | None = None, demo: Demo = False, json: Json = False) -> None:
    """Report that an attempt passed.

    Parameters
    ----------
    attempt
        The attempt, from recoup gate open.
    token
        Its token, from recoup gate open. A worker whose lease expired changes nothing.
    evidence
        Optional pointer to evidence.
    """
    with acting(Authority.GATE, demo=demo) as tx:
        (done,) = gate.finish_attempts(tx, [gate.Passed(attempt_id=attempt, token=token, payload_ref=evidence)])
    _print_outcome(done, as_json=json)


def fail(
    attempt: UUID, token: UUID, reason: str, *, evidence: str | None = None, demo: Demo = False, json: Json = False
) -> None:
    """Report that an attempt failed, and why.

    Parameters
    ----------
    attempt
        The attempt, from recoup gate open.
    token
        Its token.
    reason
        One of the eight reason codes, such as STATE_MISMATCH.
    evidence
        Optional pointer to evidence.
    """
    if reason not in list(ReasonCode):
        raise InputRefused(
            "reason_unknown",
            f"{reason!r} is not a reason code.",
            f"Use one of: {', '.join(ReasonCode)}.",
            reason=reason,
        )
    outcome = gate.Failed(attempt_id=attempt, token=token, reason_code=ReasonCode(reason), payload_ref=evidence)
    with acting(Authority.GATE, demo=demo) as tx:
        (done,) = gate.finish_attempts(tx, [outcome])
    _print_outcome(done, as_json=json)


def sweep(*, limit: Limit = 1000, demo: Demo = False) -> None:
    """End attempts whose lease expired. They count as failed."""
    with acting(Authority.GATE, demo=demo) as tx:
        swept = gate.sweep_crashed(tx, limit=limit)
    print(f"{plural(len(swept), 'attempt')} ended: lease expired")


def freeze(*, limit: Limit = 1000, demo: Demo = False) -> None:
    """Close the recovery window of batches whose time is up, and end their recoveries."""
    with acting(Authority.GATE, demo=demo) as tx:
        frozen = gate.freeze(tx, limit=limit)
    batches = plural(len(frozen.batches), "batch", "batches")
    print(f"{batches} frozen, {plural(len(frozen.exhausted), 'recovery', 'recoveries')} ended")


def _print_outcome(done: Finished, *, as_json: bool) -> None:
    late = {"hint": LATE} if done.status == "late" else {}
    print_fields(done._asdict() | late, as_json=as_json)
    if late:
        sys.exit(1)


def refuse_no_domain(domain: str | None) -> None:
    """Refuse a domain with a typo now, rather than after three attempts over four days."""
    if domain is not None and domain_reader()(domain) is None:
        raise InputRefused(
            "domain_unreadable",
            f"{domain!r} is not a domain name.",
            "Give it as acme.example, or leave it out.",
            domain=domain,
        )


def refuse_none(intakes: tuple[UUID, ...]) -> None:
    if not intakes:
        raise InputRefused("nothing_asked", "No intake was named.", "Give one or more intake ids.")
