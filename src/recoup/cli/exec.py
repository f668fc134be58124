"""``recoup exec``: run any command; if it fails, the failure is recorded."""

from typing import Annotated
from uuid import UUID

from cyclopts import Parameter

from recoup.cli.context import opened
from recoup.cli.output import say, shown
from recoup.errors.commands import failed, run
from recoup.errors.vocabulary import Severity
from recoup.refusals import InputRefused, Refusal


def exec_(
    *command: Annotated[str, Parameter(help="The command and its arguments, after --.", allow_leading_hyphen=True)],
    table: Annotated[str | None, Parameter(help="The error table; else errors.fallback_table of the policy.")] = None,
    entity: Annotated[UUID | None, Parameter(help="The entity it works for (outreach_id).")] = None,
    work_key: Annotated[str | None, Parameter(help="Which piece of the entity's work: a person, a document.")] = None,
    code: Annotated[str | None, Parameter(help="The error code; else EXIT_3, SIGNAL_KILL, NOT_FOUND …")] = None,
    severity: Annotated[Severity | None, Parameter(help="How bad a failure of it is.", name_transform=str)] = None,
) -> None:
    """Run a command. If it ends with anything but 0, that is recorded as an error, with the end of what it said.

    Its output passes through, and recoup exec ends as it did: with its exit code, or 128 and the number of its signal.
    What stands under telling names in its arguments (--password x, TOKEN=x) is redacted.

    recoup exec --table outreach.dol_errors --entity 5a0c… -- python import_filings.py --year 2024
    """
    if not command:
        raise InputRefused(
            "command_missing", "There is no command to run.", "Write it after --: recoup exec -- make all"
        )
    ended = run(command)
    if ended.code != 0:
        try:
            recorded = failed(
                opened(demo=False), ended,
                table=table, outreach_id=entity, work_key=work_key, code=code, severity=severity,
            )  # fmt: skip
            say(f"recoup: recorded as {recorded.error_table}/{recorded.error_id}")
            if table is not None and recorded.error_table != table:
                say(f"  {table} did not take it; why: recoup errors show {recorded.error_id}")
        except Refusal as refusal:
            # What the command did is done; that nobody recorded it must not change how it ended.
            say(f"recoup: the command failed, and that was not recorded ({refusal.code}): {shown(refusal.happened)}")
            say(f"  Next: {shown(refusal.next_step)}")
    raise SystemExit(ended.code)
