"""``recoup recovery rules list|show|test``"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter, validators

from recoup.cli.context import acting
from recoup.cli.output import Column, Demo, Json, Limit, command, print_fields, print_rows, shortened
from recoup.cli.policy import read_document
from recoup.durations import duration
from recoup.formatting import plural
from recoup.lifecycles.declaration import Authority
from recoup.recovery import rule_testing
from recoup.recovery.rule_testing import Replay

app = App(
    name="rules",
    help="List the rules of the active policy, or test new ones on recorded failures.",
    help_epilogue="A rule is a section of the policy, [recovery.rules.NAME]: a condition in CEL (when) and the action"
    " that it recommends (action).\n\nTest rules: recoup recovery rules test --file POLICY.toml. Apply them: recoup"
    " policy apply POLICY.toml --reason …",
    help_format="plaintext",
)
MAX_MESSAGE = 60
NONE = "The active policy has no rules: recovery.plan decides."
COLUMNS = (
    Column("rule_name", "rule", cut="middle", least=20, rank=0),
    Column("weight", rank=2),
    Column("action", cut="middle", least=19, rank=1),
    Column("times", rank=7),
    Column("fired", "true", rank=4),
    Column("failed", rank=5),
    Column("when", cut="end", least=20, rank=3),
    Column("description", cut="end", least=20, rank=6),
)
RESULT_COLUMNS = (
    Column("rule_name", "rule", cut="middle", least=20, rank=0),
    Column("action", cut="middle", least=19, rank=2),
    Column("weight", rank=5),
    Column("fired", "true", rank=1),
    Column("decided", rank=3),
    Column("failed", rank=4),
    Column("error", "first error", cut="end", least=16, rank=6),
)
CHANGE_COLUMNS = (
    Column("evaluations", rank=0),
    Column("now", "active policy", cut="middle", least=16, rank=1),
    Column("then", "with these rules", cut="middle", least=16, rank=2),
    Column("example", cut="end", least=16, rank=3),
)


@app.command(name="list")
def list_(*, demo: Demo = False, json: Json = False) -> None:
    """List the rules of the active policy, those that recommend most strongly first.

    true and failed count the latest evaluations under the active policy.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = rule_testing.rules(tx)
    print_rows(found, as_json=json, columns=COLUMNS, empty=NONE)


@app.command
def show(
    name: Annotated[str, Parameter(help="The rule, as recoup recovery rules list names it.")],
    *,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Show one rule of the active policy in full."""
    with acting(Authority.READER, demo=demo) as tx:
        found = rule_testing.rule(tx, name)
    print_fields(found, as_json=json)


@app.command(name="test")
def replay(
    *,
    file: Annotated[
        Path | None,
        Parameter(
            show_default=False,
            help="A policy document with rules, merged into the active policy; - reads it from"
            " standard input. Default: the active policy.",
            allow_leading_hyphen=True,
        ),
    ] = None,
    when: Annotated[str | None, Parameter(show_default=False, help="A single rule instead: its condition.")] = None,
    action: Annotated[str | None, Parameter(show_default=False, help="The action that it recommends.")] = None,
    weight: Annotated[float, Parameter(help="Its weight.", validator=validators.Number(gte=0, lte=1))] = 1.0,
    source: Annotated[str | None, Parameter(show_default=False, help="Failures of this source.")] = None,
    since: Annotated[
        str | None, Parameter(show_default=False, help="Failures of this time until now, such as 24h or 7d.")
    ] = None,
    limit: Limit = 1_000,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Evaluate rules for recorded failures: what they would recommend, and what changes. Writes nothing.

    Each recorded evaluation is repeated on the facts of its time.

    For example: recoup recovery rules test --when "message.contains('503')" --action notify_ops
    """  # fmt: skip
    text = None if file is None else read_document(file)
    wanted = rule_testing.given(text, when=when, action=action, weight=weight)
    with acting(Authority.READER, demo=demo) as tx:
        found = rule_testing.replay(
            tx, wanted, source=source, since=None if since is None else duration(since), limit=limit
        )
    if json:
        print_fields(found, as_json=True)
    else:
        _print(found, demo=demo)


def _print(found: Replay, *, demo: bool) -> None:
    if not found.evaluations:
        print("No failures are like that.")
        return
    print(f"{plural(found.evaluations, 'evaluation')} of {plural(found.failures, 'failure')} repeated\n")
    if not found.is_complete:
        print("Stopped: conditions take too long (first error). Read less in loops, or test fewer: --limit 10\n")
    rules = [{**_fields(one, RESULT_COLUMNS), "error": one.error} for one in found.rules]
    print_rows(rules, as_json=False, columns=RESULT_COLUMNS, empty=NONE)
    counted = ", ".join(f"{name} {count:,}" for name, count in found.recommended.items())
    print(f"\nRecommended: {counted}")
    if not found.changes:
        print("Nothing changes against the active policy.")
        return
    print(f"{found.changed:,} of {found.evaluations:,} change against the active policy:\n")
    print_rows(map(_change, found.changes), as_json=False, columns=CHANGE_COLUMNS, empty="")
    example = found.changes[0].examples[0]["failure_match_id"]
    print(f"\nSee one: {command(f'recovery show {example}', demo=demo)}")


def _change(one: rule_testing.Change) -> dict[str, Any]:
    return {
        "evaluations": one.evaluations,
        "now": one.now or "nothing",
        "then": one.then or "nothing",
        "example": shortened(str(one.examples[0]["message"]), MAX_MESSAGE),
    }


def _fields(one: object, columns: tuple[Column, ...]) -> Mapping[str, Any]:
    return {column.field: getattr(one, column.field) for column in columns}
