"""Write the pages that are generated from the program, or with --check list those that are out of date.

docs/lifecycles.md, docs/reference/settings.md, docs/reference/refusals.md, docs/reference/findings.md,
docs/reference/dispositions.md, docs/reference/secrets.md, docs/reference/signature-report.md, docs/reference/cli.md,
docs/reference/api.md, docs/reference/python.md, docs/reference/rules.md, docs/reference/sql.md,
docs/reference/metrics.md; and the duties in docs/explain/workers.md
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import product
from pathlib import Path

import api_page
import domain_pages
import lifecycles_page as render
import metrics_page
import python_page
import signature_report
import sql_page

from recoup.cli.main import app
from recoup.domain import duties, lifecycles
from recoup.domains import DOMAINS
from recoup.errors import Category, Severity, decide, delay
from recoup.errors.decision import retries
from recoup.errors.policy import ErrorPolicy
from recoup.expressions import MAX_ALL_S, MAX_CHARACTERS, MAX_S
from recoup.recovery.policy import MAX_RULES
from recoup.recovery.rule_facts import FACTS
from recoup.redaction.known import document
from recoup.refusals import CONSTRAINTS, LAWS
from recoup.settings import SETTINGS
from recoup.verification.findings import VERDICTS
from recoup.worker.duty import Duty

ROOT = Path(__file__).parent.parent
WRITTEN = "Written by `make docs` from the program itself.\n"
BEGIN, END = "<!-- written by make docs -->\n", "<!-- end -->\n"  # around a generated part of a page


def settings_page() -> str:
    lines = [
        "# Settings\n",
        "A setting comes from an option (`--dsn`, `--home`, `--project`), else from the environment, else from the",
        "project file `recoup.toml`, else it has its default. `recoup doctor` shows which value comes from where.",
        f"Unknown names, malformed values and values out of bounds are refused, with file, key and line. {WRITTEN}",
        "The project file is the nearest `recoup.toml`, in the current directory or above. `recoup init` writes one.",
        "Relative paths in it start at its folder. It is refused when other users own it or can write it, and a",
        "symbolic link is not followed. `dsn` and `home` exclude each other: the one from the first of these sources",
        "counts. Under `[handlers]` it names the function that retries the errors of a table:",
        '`"outreach.dol_errors" = "pipeline.retries:dol"` ([how to](../howto/run-a-worker.md)).',
        "Under `[secrets]` it names the file of a variable that a route needs, which only its owner may read:",
        '`OPS_URL = "secrets/ops_url"` ([how to](../howto/deliver-notices.md)).\n',
        "| variable | in `recoup.toml` | default | allowed | what it is for |",
        "|---|---|---|---|---|",
    ]
    for setting in SETTINGS:
        allowed = (
            f"{setting.least:,} to {setting.most:,} {setting.unit}"
            if setting.least is not None
            else ", ".join(setting.one_of)
        )
        default = "" if setting.default is None else str(setting.default)
        key = f"`{f'[{setting.section}] ' if setting.section else ''}{setting.key or setting.name}`"
        place = "" if setting.section is None else key
        lines.append(f"| `{setting.variable}` | {place} | {default} | {allowed} | {setting.description} |")
    return "\n".join(lines) + "\n"


def refusals_page() -> str:
    lines = [
        "# Refusals\n",
        "When Recoup refuses something it prints a stable code, what happened, and what to do next; `--json` adds",
        f"the facts. No partial change remains. {WRITTEN}",
        "## From the database\n",
        "These hold for every writer, `psql` included. `MESSAGE` is what happened, `HINT` the next step, `DETAIL` the",
        "facts as JSON.\n",
        "| SQLSTATE | code | the law |",
        "|---|---|---|",
        *(f"| `{sqlstate}` | `{code}` | {law} |" for sqlstate, (code, law) in LAWS.items()),
        "",
        "| constraint | code | what happened |",
        "|---|---|---|",
        *(f"| `{name}` | `{code}` | {happened} |" for name, (code, happened, _) in CONSTRAINTS.items()),
        "",
        "## From the program\n",
        "| code | kind | next step |",
        "|---|---|---|",
    ]
    steps: dict[tuple[str, str], list[str]] = {}
    for code, kind, step in sorted(set(raised())):
        steps.setdefault((code, kind), []).append(step)
    lines += [f"| `{code}` | {kind} | {' / '.join(sentences)} |" for (code, kind), sentences in steps.items()]
    return "\n".join(lines) + "\n"


def raised() -> Iterator[tuple[str, str, str]]:
    """Code, kind and next step of every refusal that the source raises; once for each sentence that it can have."""
    for file in sorted(file for folder in ("src", "bench") for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id.endswith("Refused")
                and len(node.args) > 2
                and isinstance(node.args[0], ast.Constant)
            ):
                for sentence in in_words(node.args[2]):
                    yield str(node.args[0].value), node.func.id, sentence


def in_words(node: ast.expr) -> list[str]:
    """Every sentence that an expression can have; a value that is filled in at run time is in angle brackets."""
    match node:
        case ast.Constant():
            return [str(node.value).replace("|", "\\|")]
        case ast.JoinedStr(values=parts):
            return ["".join(words) for words in product(*map(in_words, parts))]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ["".join(words) for words in product(in_words(left), in_words(right))]
        case ast.BinOp(left=words, op=ast.Mult()):  # "words" * condition
            return [*in_words(words), ""]
        case ast.IfExp(body=one, orelse=other):
            return [*in_words(one), *in_words(other)]
        case ast.Call(func=ast.Attribute(attr="join"), args=[ast.GeneratorExp(elt=value)]):
            return in_words(value)
        case ast.FormattedValue(value=value):
            return in_words(value)
        case _:
            return [f"\\<{name_of(node)}>"]


def name_of(node: ast.expr) -> str:
    """What a value is called where it is filled in: its last attribute or key, or its variable."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Subscript(value=value) | ast.Call(args=[value, *_]) | ast.Call(func=ast.Attribute(value=value)):
            return name_of(value)
        case _:
            return next((part.id for part in ast.walk(node) if isinstance(part, ast.Name)), "value")


def findings_page() -> str:
    lines = [
        "# Findings\n",
        "What a check of Gate Zero can find about a company, and the reason code it means. The table is",
        f"`VERDICTS` in `recoup.verification.findings`. {WRITTEN}",
        "| finding | reason code | what was seen |",
        "|---|---|---|",
    ]
    source = (ROOT / "src/recoup/verification/findings.py").read_text(encoding="utf-8")
    says = dict(re.findall(r"^    Finding\.(\w+): .*,  # (.+)$", source, re.MULTILINE))
    lines += [f"| {finding} | {code or '–'} | {says[finding.name]} |" for finding, code in VERDICTS.items()]
    return "\n".join(lines) + "\n"


def secrets_page() -> str:
    known = document()
    lines = [
        "# What counts as a secret\n",
        "Redacted in messages, payloads, outcomes, commands and reasons before anything is stored. The list is",
        f"`src/recoup/redaction/secrets.toml`, where each has an example and a near miss. {WRITTEN}",
        "## Names\n",
        "A name is compared by its words: `X-Api-Key`, `apiKey` and `API_KEY` are the same. In texts they count before",
        "`=`, in quotes, as an option (`--password x`), and before `:` where no plain word of a sentence follows.\n",
        "| what is redacted | names |",
        "|---|---|",
    ]
    for what, names in (
        ("every value whose name contains it", "parts"),
        ("texts, lists and objects whose name has it as a word", "words"),
        ("every value with exactly this name", "whole"),
        ("in the query of a URL", "query"),
        ("never, if a name ends with it", "innocent_last"),
        ("never, if a name begins with it", "innocent_first"),
    ):
        lines.append(f"| {what} | {', '.join(f'`{name}`' for name in known['names'][names])} |")
    lines += ["", "## Tokens\n", "| name | what | prefix | source |", "|---|---|---|---|"]
    for one in known["tokens"]:
        begins = ", ".join(f"`{begin}`" for begin in one["begins"])
        lines.append(f"| {one['name']} | {one['what']} | {begins} | {one['source']} |")
    lines += ["", "## Forms\n", "| name | what | source |", "|---|---|---|"]
    lines.append("| url | user and password of a URL; the user alone before a web address | RFC 3986 |")
    lines += [f"| {one['name']} | {one['what']} | {one['source']} |" for one in known["forms"]]
    return "\n".join(lines) + "\n"


def dispositions_page() -> str:
    policy = ErrorPolicy.shipped()
    words = [None, *Severity]
    lines = [
        "# Dispositions: what the policy decides for an error",
        "",
        "By the shipped policy; `recoup policy show` has yours. The columns are severities. Each cell: disposition,",
        f"how long it is kept, and **blocks** where it blocks its entity. {WRITTEN}",
        f"| table | {' | '.join(word or 'none given' for word in words)} |",
        f"|---|{'---|' * len(words)}",
    ]
    for name in policy.tables:
        cells = []
        for word in words:
            decision = decide(policy, name, severity=word, category=Category.OPERATIONAL, code=None)
            kept = "for ever" if decision.ttl is None else f"{decision.ttl.days} d"
            cells.append(f"{decision.disposition}, {kept}" + (", **blocks**" if decision.blocks else ""))
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    lines += [
        "",
        "A STRUCTURAL error that would be retried is parked instead (NON_RETRYABLE_ERROR). In a table that does not",
        "allow parking, an error that would be parked gets the table's default, and keeps the park reason.",
        "",
        "## Retries",
        "",
        "| category | wait before each retry | window | retries |",
        "|---|---|---|---|",
    ]
    for category in Category:
        rule = policy.retry[category]
        waits = [delay(policy, category, number) for number in range(1, rule.max_retries + 1)]
        waited = ", ".join("started by a person" if wait is None else _seconds(wait) for wait in waits)
        lines.append(f"| {category} | {waited} | {rule.window_hours} h of the error | {rule.max_retries} |")
    lines += [
        "",
        "| table | code | retries |",
        "|---|---|---|",
        *(
            f"| `{name}` | {code or 'OPERATIONAL ones'} | {retries(policy, table, Category.OPERATIONAL, code)} |"
            for name, table in policy.tables.items()
            for code in [*([None] if table.operational_max_retries else []), *table.max_retries_by_code]
        ),
        "",
        "## Codes that are parked",
        "",
        "| code | in | park reason |",
        "|---|---|---|",
        *(f"| {code} | every table | {reason} |" for code, reason in policy.park_codes.items()),
        *(
            f"| {code} | `{name}` | {reason} |"
            for name, table in policy.tables.items()
            for code, reason in table.park_codes.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def _seconds(wait: timedelta) -> str:
    seconds = wait.total_seconds()
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"


def rules_page() -> str:
    lines = [
        "# Rules of recovery\n",
        "A rule is a section of the policy, `[recovery.rules.NAME]` ([how to write one](../howto/write-a-rule.md)).",
        WRITTEN,
        "| key | what it is |",
        "|---|---|",
        f"| `when` | the condition, in CEL; at most {MAX_CHARACTERS:,} characters |",
        "| `action` | the action of the catalogue that it recommends |",
        "| `weight` | how strongly, from 0 to 1; default 1 |",
        "| `times` | how often its action may be tried for one failure; default 1 |",
        "| `parameters` | what the action is given, in addition to its own |",
        "| `description` | what it is for |",
        f"\nA policy has at most {MAX_RULES} rules. Loops over lists and maps have a budget; patterns of `matches` are",
        f"RE2. A condition that takes more than {MAX_S:g} s of processor time is an error of that rule; after"
        f" {MAX_ALL_S:g} s for one\nfailure no further one is evaluated for it.\n",
        "## Facts\n",
        "What a condition sees of a failure, at the time of the evaluation.\n",
        "| fact | type | what it is |",
        "|---|---|---|",
        *(f"| `{name}` | {fact.type} | {fact.description} |" for name, fact in FACTS.items()),
        "\n## Examples\n",
        "| condition | true for |",
        "|---|---|",
        "| `category == 'STRUCTURAL'` | what a retry will not fix |",
        "| `source.startsWith('outreach.') && code in ['E429', 'E503']` | two codes of some tables |",
        "| `message.matches('(?i)quota.*exceeded')` | a pattern, upper or lower case |",
        "| `has(context.region) && context.region == 'eu'` | a detail that its reporter gave |",
        "| `incident_size >= 100` | a storm |",
        "| `attempts > 0 && !('notify_ops' in tried)` | what was tried in vain, without a notice |",
        "| `weekday >= 6 \\|\\| hour < 7` | nights and weekends, in UTC |",
    ]
    return "\n".join(lines) + "\n"


def cli_page() -> str:
    text = app.generate_docs(output_format="markdown", recursive=True)
    return f"# Command line\n\n{WRITTEN}\n{text.strip()}\n"


def duties_table(duties: Sequence[Duty]) -> str:
    rows = (f"| {duty.name} | {duty.authority} | {duty.description} |\n" for duty in duties)
    return "| duty | authority | what it does |\n|---|---|---|\n" + "".join(rows)


def with_table(name: str, table: str) -> str:
    """A page with the table between its two marks replaced."""
    head, rest = (ROOT / name).read_text(encoding="utf-8").split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"


def commands_file() -> str:
    """The commands of the domains, for a command line that lists them without importing the domains."""
    lines = ["# Written by `make docs` from the manifests of the domains."]
    for command in (command for domain in DOMAINS for command in domain.commands):
        lines += ["", "[[command]]"]
        lines += [f"{key} = {json.dumps(getattr(command, key))}" for key in ("name", "path", "help")]
    return "\n".join(lines)


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/lifecycles.md": lambda: render.page(lifecycles(DOMAINS)),
    "docs/reference/domains.md": lambda: domain_pages.pages(DOMAINS),
    "docs/reference/settings.md": settings_page,
    "docs/reference/refusals.md": refusals_page,
    "docs/reference/findings.md": findings_page,
    "docs/reference/dispositions.md": dispositions_page,
    "docs/reference/secrets.md": secrets_page,
    "docs/reference/signature-report.md": lambda: signature_report.page(WRITTEN),
    "docs/reference/rules.md": rules_page,
    "docs/reference/cli.md": cli_page,
    "docs/reference/api.md": lambda: api_page.page(WRITTEN),
    "docs/reference/python.md": lambda: python_page.page(WRITTEN),
    "docs/reference/sql.md": lambda: sql_page.page(WRITTEN),
    "docs/reference/metrics.md": lambda: metrics_page.page(DOMAINS, WRITTEN),
    "src/recoup/cli/commands.toml": commands_file,
    "docs/explain/workers.md": lambda: with_table("docs/explain/workers.md", duties_table(duties(DOMAINS))),
}


def main() -> int:
    check = "--check" in sys.argv
    stale = []
    for name, page in PAGES.items():
        path = ROOT / name
        text = "\n".join(line.rstrip() for line in page().splitlines()) + "\n"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{'out of date' if check else 'written'}: {name}")
    if stale and check:
        print("Run: make docs")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
