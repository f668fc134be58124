"""The page with the quality of signatures and categories on the development set, and their errors."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from signatures import grading

DATA = Path(__file__).parents[1] / "tests/signatures/data"
KINDS = {"logs": "Log lines", "database": "Messages of databases", "exceptions": "Errors, traces and bodies"}
SHOWN, PARTS_SHOWN, MAX_TEXT = 3, 3, 110


def page(written: str) -> str:
    lines = [
        "# What signatures and categories reach\n",
        "Measured on the development set in `tests/signatures/data`. *Tune* is the part the rules were made on. The",
        "messages of *untouched* were not read while the rules were made, but its scores were seen; their influence is",
        "described in [the explanation](../explain/signatures.md). *Advice* (categories only) holds errors of our own",
        "writing, of vendors whose codes no vocabulary knows. Accuracy is the share of messages whose group holds all",
        "messages of the place that printed them and no others; precision and recall count pairs of messages.",
        f"{written}",
    ]
    for kind, title in KINDS.items():
        lines += [f"## {title}\n", *_grouping_table(kind)]
    lines += ["## Categories\n", *_category_tables()]
    lines += ["## Wrong results in the untouched part\n", *_errors()]
    return "\n".join(lines) + "\n"


def _grouping_table(kind: str) -> list[str]:
    lines = ["| part | program | messages | places | groups | accuracy | F1 | precision | recall |", "|" + "---|" * 9]
    for part in ("tune", "untouched"):
        systems = grading.by_system(grading.labelled(DATA / f"{kind}-{part}.jsonl"))
        found = {system: grading.grouping(messages) for system, messages in systems.items()}
        lines += [
            f"| {part} | {system} | {one.messages} | {one.places} | {one.groups} | {one.accuracy:.2f} | {one.f1:.2f} |"
            f" {one.precision:.2f} | {one.recall:.2f} |"
            for system, one in found.items()
        ]
        means = (_mean(found.values(), name) for name in ("accuracy", "f1", "precision", "recall"))
        shown = " | ".join(f"**{mean:.3f}**" for mean in means)
        lines.append(f"| **{part}** | **mean** | {sum(one.messages for one in found.values())} | | | {shown} |")
    return [*lines, ""]


def _mean(found: Collection[grading.Grouping], name: str) -> float:
    return float(sum(getattr(one, name) for one in found)) / len(found)


def _category_tables() -> list[str]:
    lines = ["| part | errors | transient or not | of three |", "|---|---|---|---|"]
    for part in ("tune", "untouched", "advice"):
        found = grading.categories(grading.judged(DATA / f"categories-{part}.jsonl"))
        lines.append(f"| {part} | {found.errors} | {found.transient:.3f} | {found.category:.3f} |")
    lines += [
        "",
        "By vendor, in the untouched part:\n",
        "| vendor | errors | transient or not | of three |",
        "|---|---|---|---|",
    ]
    errors = grading.judged(DATA / "categories-untouched.jsonl")
    for vendor in sorted({error.vendor for error in errors}):
        found = grading.categories([error for error in errors if error.vendor == vendor])
        lines.append(f"| {vendor} | {found.errors} | {found.transient:.2f} | {found.category:.2f} |")
    return [*lines, ""]


def _errors() -> list[str]:
    lines: list[str] = []
    for kind, title in KINDS.items():
        lines.append(f"### {title}: what was split, and what was merged\n")
        for system, messages in grading.by_system(grading.labelled(DATA / f"{kind}-untouched.jsonl")).items():
            for confusion in grading.confusions(messages)[:SHOWN]:
                lines.append(f"- {system}: {confusion.messages} messages {confusion.kind} into {len(confusion.parts)}")
                lines += [f"  - {count} of {_code(text)}" for count, text in confusion.parts[:PARTS_SHOWN]]
        lines.append("")
    wrong = grading.misjudged(grading.judged(DATA / "categories-untouched.jsonl"))
    lines += [
        f"### Categories: all {len(wrong)} that are wrong\n",
        "| should be | is | decided by | code | message |",
        "|" + "---|" * 5,
    ]
    for error, found in wrong:
        cells = (error.category, found.category, found.explain().partition(": ")[2], error.code or "", error.message)
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return lines


def _code(text: str) -> str:
    return "`" + _short(text).replace("`", "'") + "`"


def _cell(text: str) -> str:
    return _short(text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
