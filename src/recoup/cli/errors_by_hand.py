"""``recoup errors``, by hand: what people decide about errors, one by one or many by a filter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from cyclopts import Parameter, validators

from recoup.cli.acting import acting
from recoup.cli.errors_asking import ANY, Which
from recoup.cli.output import Demo, Json, Limit, print_fields, print_rows, say, shown
from recoup.cli.progress import progress
from recoup.lifecycles.declaration import Authority

if TYPE_CHECKING:
    from recoup.errors.acts import Act
    from recoup.errors.bulk import Operation, Preview
    from recoup.errors.looking import Filter

Names = Annotated[str, Parameter(help="Ids, such as 123, or table and id, such as outreach.dol_errors/123.")]
Reason = Annotated[str | None, Parameter(help="Why. It goes into the log, with your name.", show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """Over many errors."""

    yes: Annotated[
        bool, Parameter(negative="", show_default=False, help="With a filter: do it. Without this, only a preview.")
    ] = False
    resume: Annotated[
        UUID | None, Parameter(show_default=False, help="Carry on with an operation that was interrupted.")
    ] = None


ASKED_HERE = Many()


WITHOUT_REASON = ("assign", "review")  # they change nothing but whom to ask


def park(
    *errors: Names, reason: Reason = None, which: Which = ANY, many: Many = ASKED_HERE, demo: Demo = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Have errors wait for a person. A retry that is under way is cut off, and counted.

    For example: recoup errors park 123 --reason EXTERNAL_DEPENDENCY
    Or many: recoup errors park --table outreach.dol_errors --code DOL_DOWN --reason "the registry is down" --yes
    """
    _decide("park", errors, which, many, reason=reason, demo=demo, as_json=json)


def unpark(
    *errors: Names, reason: Reason = None, which: Which = ANY, many: Many = ASKED_HERE, demo: Demo = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Have errors retried now: with what is left of their retries, or one more.

    For example: recoup errors unpark 123 124 --reason "the vendor mended it"
    Or many, first without --yes: recoup errors unpark --status PARKED --code RATE_LIMIT --reason "limit raised"
    """
    _decide("unpark", errors, which, many, reason=reason, demo=demo, as_json=json)


def resolve(
    *errors: Names, reason: Reason = None, which: Which = ANY, many: Many = ASKED_HERE, demo: Demo = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Declare errors mended: they block no longer, and go to the archive.

    For example: recoup errors resolve 123 --reason "the EIN was corrected by hand"
    """
    _decide("resolve", errors, which, many, reason=reason, demo=demo, as_json=json)


def escalate(
    *errors: Names,
    reason: Reason = None,
    to: str | None = None,
    level: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=3))] = None,
    which: Which = ANY,
    many: Many = ASKED_HERE,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Pass parked errors on to somebody else. They keep blocking.

    For example: recoup errors escalate 123 --to platform --reason "no answer from the hub for two days"

    Parameters
    ----------
    to
        To whom. Default: the owner of the error's table, as the policy has it.
    level
        1 to 3. Default: the next one.
    """
    _decide("escalate", errors, which, many, reason=reason, to=to, level=level, demo=demo, as_json=json)


def assign(
    *errors: Names, to: str | None = None, reason: Reason = None, which: Which = ANY, many: Many = ASKED_HERE,
    demo: Demo = False, json: Json = False,
) -> None:  # fmt: skip
    """Say who answers for errors.

    For example: recoup errors assign --status PARKED --table people.people_errors --to ada --yes

    Parameters
    ----------
    to
        Who.
    """
    _decide("assign", errors, which, many, reason=reason, to=to, demo=demo, as_json=json)


def review(
    *errors: Names, reason: Reason = None, which: Which = ANY, many: Many = ASKED_HERE, demo: Demo = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Say that somebody looked at errors. They stay as they are.

    For example: recoup errors review 123 --reason "waiting for the vendor"
    """
    _decide("review", errors, which, many, reason=reason, demo=demo, as_json=json)


def archive(
    *errors: Names, reason: Reason = None, which: Which = ANY, many: Many = ASKED_HERE, demo: Demo = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Give errors up as they are: they block no longer, and go to the archive.

    For example: recoup errors archive 123 --reason "the company does not exist any more"
    """
    _decide("archive", errors, which, many, reason=reason, demo=demo, as_json=json)


def operations(*, limit: Limit = 20, demo: Demo = False, json: Json = False) -> None:
    """List decisions over many errors, newest first: what was asked for, how far it is, what was refused."""
    from recoup.errors import bulk

    with acting(Authority.READER, demo=demo) as tx:
        found = bulk.operations(tx, limit=limit)
    columns = (
        "operation_id", "verb", "status", "items", "done", "refused", "pending", "requested_at", "requested_by",
        "done_at", "filter", "arguments",
    )  # fmt: skip
    print_rows(found, as_json=json, columns=columns, empty="Nothing was decided over many errors yet.")


def _decide(
    verb: str,
    errors: Sequence[str],
    which: Which,
    many: Many,
    *,
    reason: str | None,
    to: str | None = None,
    level: int | None = None,
    demo: bool,
    as_json: bool,
) -> None:
    from recoup.errors.acts import Act, Verb
    from recoup.refusals import InputRefused

    asked = which.filter()
    if sum((bool(errors), not asked.is_empty, many.resume is not None)) != 1:
        raise InputRefused(
            "errors_unclear",
            f"It is not clear what to {verb}.",
            "Give ids, or a filter such as --status PARKED, or --resume with an operation; one of them.",
        )
    if many.resume is not None:
        _carry_on(many.resume, verb, demo=demo, as_json=as_json)
        return
    if not errors and not many.yes:
        _preview(verb, asked, demo=demo, as_json=as_json)
        return
    if reason is None and verb not in WITHOUT_REASON:
        raise InputRefused(
            "reason_missing", "No reason was given.", "Say why: --reason …; whoever comes next will ask."
        )
    act = Act(verb=Verb(verb), reason=reason, to=to, level=level)
    if errors:
        _named(act, errors, demo=demo, as_json=as_json)
    else:
        with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
            from recoup.errors import bulk

            operation = bulk.begin(tx, act, asked)
        _carry_on(operation, verb, demo=demo, as_json=as_json)


def _named(act: Act, errors: Sequence[str], *, demo: bool, as_json: bool) -> None:
    from recoup.errors import naming, parking

    with acting(Authority.OPERATOR, demo=demo, reason=act.reason) as tx:
        answers = parking.carry_out(tx, act, naming.keys(tx, errors))
    print_rows(answers, as_json=as_json, empty="")
    if not all(answer.done for answer in answers):
        sys.exit(1)


def _preview(verb: str, asked: Filter, *, demo: bool, as_json: bool) -> None:
    from recoup.errors import bulk

    with acting(Authority.READER, demo=demo) as tx:
        found = bulk.preview(tx, asked)
    if as_json:
        print_fields(_plain(found), as_json=True)
        return
    print_rows(found.counts, as_json=False, empty="No open error fits.")
    if found.errors:
        from recoup.cli.errors import print_listed

        print("\nThe newest of them:\n" if found.errors > len(found.first) else "\nThey are:\n")
        print_listed(found.first, as_json=False)
        more = "--yes" if verb in WITHOUT_REASON else "--reason … --yes"
        print(f"\nNothing was changed. To {verb} these {found.errors:,}: the same with {more}")


def _plain(found: Preview) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(found), "counts": [count._asdict() for count in found.counts]}


def _carry_on(operation_id: UUID, verb: str, *, demo: bool, as_json: bool) -> None:
    from recoup.database import access
    from recoup.database.connection import Actor
    from recoup.errors import bulk
    from recoup.refusals import InputRefused
    from recoup.settings import load

    settings = load()
    with access.opened(settings, demo=demo) as database:
        with database.transaction(Authority.READER) as tx:
            operation = bulk.find(tx, operation_id)
        if operation.verb != verb:
            raise InputRefused(
                "operation_verb",
                f"Operation {operation_id} is to {operation.verb}, not to {verb}.",
                f"recoup errors {operation.verb} --resume {operation_id}",
            )
        say(f"operation {operation_id}: {operation.items:,} errors; if it is interrupted: --resume {operation_id}")
        with progress(quiet=as_json) as tell:
            ended = bulk.carry_on(
                database,
                operation_id,
                actor=Actor("human", settings.actor),
                tell=lambda done, of: tell(f"{done:,} of {of:,}", done / max(of, 1)),
            )
    if as_json:
        print_fields(ended, as_json=True)
    else:
        _print_ended(ended)


def _print_ended(ended: Operation) -> None:
    print(f"{ended.done:,} done, {ended.refused:,} refused, of {ended.items:,}")
    if ended.refusals:
        print()
        print_rows([{"errors": n, "refused": shown(why)} for why, n in ended.refusals.items()], as_json=False, empty="")
    if ended.pending:
        print(f"\nSomebody else is at {ended.pending:,} of them: recoup errors operations")
