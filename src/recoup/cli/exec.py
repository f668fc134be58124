"""``recoup exec``: run any command; if it fails, the failure is recorded."""

from typing import Annotated
from uuid import UUID

from cyclopts import Parameter

from recoup.cli.context import opened
from recoup.cli.output import say, shown
from recoup.errors.commands import FailureRecorded, failed, run
from recoup.errors.reruns import HANDLER
from recoup.errors.vocabulary import Severity
from recoup.refusals import InputRefused, Refusal


def exec_(
    *command: Annotated[str, Parameter(help="The command and its arguments, after --.", allow_leading_hyphen=True)],
    table: Annotated[str | None, Parameter(help="The error table; else errors.fallback_table of the policy.")] = None,
    entity: Annotated[UUID | None, Parameter(help="The entity it works for (outreach_id).")] = None,
    work_key: Annotated[str | None, Parameter(help="Which piece of the entity's work: a person, a document.")] = None,
    code: Annotated[str | None, Parameter(help="The error code. Default: EXIT_3, SIGNAL_KILL, NOT_FOUND …")] = None,
    severity: Annotated[Severity | None, Parameter(help="Severity of a failure.", name_transform=str)] = None,
    retry: Annotated[
        bool, Parameter(negative="", show_default=False, help="Let a worker run the command again if it fails.")
    ] = False,
    env: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="A variable to keep for --retry; may be repeated."),
    ] = (),
) -> None:
    """Run a command. If it fails, record that as an error, with the end of its standard error.

    Output and signals pass through, and the exit status is the command's, or 128 and the number of its signal. Secrets
    in its arguments (--password x, TOKEN=x) are redacted. Without --retry nobody runs it again, so an error that the
    policy would retry is parked. With --retry a worker runs it again, if its recoup.toml names the handler
    recoup.errors.reruns:rerun for the table. A command line with a secret is not kept for that.

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
                opened(demo=False), ended, table=table, outreach_id=entity, work_key=work_key, code=code,
                severity=severity, retry=retry, variables=env,
            )  # fmt: skip
            say(f"recoup: recorded as {recorded.error_table}/{recorded.error_id}")
            if table is not None and recorded.error_table != table:
                say(f"  {table} did not take it; why: recoup errors show {recorded.error_id}")
            elif retry:
                say(f"  {_retried(recorded)}")
        except Refusal as refusal:
            # The command is done: that its failure was not recorded must not change its exit status.
            say(f"recoup: the command failed, and that was not recorded ({refusal.code}): {shown(refusal.happened)}")
            say(f"  Next: {shown(refusal.next_step)}")
    raise SystemExit(ended.code)


def _retried(recorded: FailureRecorded) -> str:
    if recorded.is_retried:
        return f'a worker runs it again; in its recoup.toml: [handlers] "{recorded.error_table}" = "{HANDLER}"'
    why = shown(recorded.why_not) or f"the policy does not retry it; see: recoup errors show {recorded.error_id}"
    return f"it is not run again: {why}"
