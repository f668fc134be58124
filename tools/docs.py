"""Write the pages that are made from the program itself, or with --check say which of them are out of date.

docs/lifecycles.md, docs/reference/settings.md, docs/reference/refusals.md, docs/reference/findings.md,
docs/reference/dispositions.md, docs/reference/signature-report.md, docs/reference/cli.md
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import signature_report

from recoup.cli.main import app
from recoup.errors import Category, Severity, decide, delay
from recoup.errors.decision import retries
from recoup.lifecycles import render
from recoup.lifecycles.registry import LIFECYCLES
from recoup.policy import document
from recoup.refusals import CONSTRAINTS, LAWS
from recoup.settings import SETTINGS
from recoup.verification import VERDICTS

ROOT = Path(__file__).parent.parent
WRITTEN = "Written by `make docs` from the program itself.\n"


def settings_page() -> str:
    lines = [
        "# Settings\n",
        "Read from the environment at start and checked at once: an unknown `RECOUP_*` variable, a malformed value",
        f"or one out of bounds is refused. {WRITTEN}",
        "| variable | default | allowed | what it is for |",
        "|---|---|---|---|",
    ]
    for setting in SETTINGS:
        allowed = f"{setting.least:,} to {setting.most:,} {setting.unit}" if setting.least is not None else ""
        default = "" if setting.default is None else str(setting.default)
        lines.append(f"| `{setting.variable}` | {default} | {allowed} | {setting.says} |")
    return "\n".join(lines) + "\n"


def refusals_page() -> str:
    lines = [
        "# Refusals\n",
        "When Recoup will not do something it says a stable code, what happened, and what to do next; `--json` adds",
        f"the facts. Nothing half done is left behind. {WRITTEN}",
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
    found = {(code, kind): step for code, kind, step in sorted(set(raised()), reverse=True)}
    lines += [f"| `{code}` | {kind} | {step} |" for (code, kind), step in sorted(found.items())]
    return "\n".join(lines) + "\n"


def raised() -> Iterator[tuple[str, str, str]]:
    """Code, kind and next step of every refusal that the source raises, the bench's included."""
    for file in sorted(file for folder in ("src", "bench") for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id.endswith("Refused")
                and len(node.args) > 2
                and isinstance(node.args[0], ast.Constant)
            ):
                yield str(node.args[0].value), node.func.id, in_words(node.args[2])


def in_words(node: ast.expr) -> str:
    """A sentence from its source; what is filled in at run time stands in angle brackets."""
    match node:
        case ast.Constant():
            return str(node.value).replace("|", "\\|")
        case ast.JoinedStr():
            return "".join(in_words(part) for part in node.values)
        case ast.FormattedValue():
            return f"<{ast.unparse(node.value).split('.')[-1].strip('()')}>"
        case ast.IfExp():
            return f"{in_words(node.body)} / {in_words(node.orelse)}"
        case _:
            return "…"


def findings_page() -> str:
    lines = [
        "# Findings\n",
        "What a check of Gate Zero can find of a company, and which of the eight reason codes it means. The table is",
        f"`VERDICTS` in `recoup.verification.findings`. {WRITTEN}",
        "| finding | reason code | what was seen |",
        "|---|---|---|",
    ]
    source = (ROOT / "src/recoup/verification/findings.py").read_text(encoding="utf-8")
    says = dict(re.findall(r"^    Finding\.(\w+): .*,  # (.+)$", source, re.MULTILINE))
    lines += [f"| {finding} | {code or '–'} | {says[finding.name]} |" for finding, code in VERDICTS.items()]
    return "\n".join(lines) + "\n"


def dispositions_page() -> str:
    policy = document.default().errors
    words = [None, *Severity]
    lines = [
        "# What becomes of an error",
        "",
        "By the shipped policy; `recoup policy show` has yours. The columns are severities. Each cell: disposition,",
        f"how long it is kept, and **blocks** where it keeps its entity from moving on. {WRITTEN}",
        f"| table | {' | '.join(word or 'none given' for word in words)} |",
        f"|---|{'---|' * len(words)}",
    ]
    for name in policy.tables:
        cells = []
        for word in words:
            said = decide(policy, name, severity=word, category=Category.OPERATIONAL, code=None)
            kept = "for ever" if said.ttl is None else f"{said.ttl.days} d"
            cells.append(f"{said.disposition}, {kept}" + (", **blocks**" if said.blocks else ""))
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    lines += [
        "",
        "What would be retried and is STRUCTURAL is parked instead (NON_RETRYABLE_ERROR). What would be parked in a",
        "table that does not allow it becomes what the table allows.",
        "",
        "## Retries",
        "",
        "| category | the retries come after | within | in all |",
        "|---|---|---|---|",
    ]
    for category in Category:
        rule = policy.retry[category.value]
        waits = [delay(policy, category, number) for number in range(1, rule.max_retries + 1)]
        told = ", ".join("a person starts it" if wait is None else _seconds(wait) for wait in waits)
        lines.append(f"| {category} | {told} | {rule.window_hours} h of the error | {rule.max_retries} |")
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
        "## Codes that wait for a person",
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


def cli_page() -> str:
    text = app.generate_docs(output_format="markdown", recursive=True)
    return f"# Command line\n\n{WRITTEN}\n{text.strip()}\n"


PAGES = {
    "docs/lifecycles.md": lambda: render.page(LIFECYCLES),
    "docs/reference/settings.md": settings_page,
    "docs/reference/refusals.md": refusals_page,
    "docs/reference/findings.md": findings_page,
    "docs/reference/dispositions.md": dispositions_page,
    "docs/reference/signature-report.md": lambda: signature_report.page(WRITTEN),
    "docs/reference/cli.md": cli_page,
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
