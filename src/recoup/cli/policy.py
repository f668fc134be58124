"""``recoup policy``"""

import sys
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from recoup import policy
from recoup.cli.context import acting
from recoup.cli.output import Demo, Json, Limit, print_fields, print_rows, shown
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.policy import Change, Parts, Version
from recoup.policy.document import DOCUMENT_MOST_CHARACTERS, flattened
from recoup.refusals import InputRefused

app = App(
    name="policy",
    help_epilogue="The figures that decisions go by. A change applies to what is decided from then on.",
    help_format="plaintext",
)
Document = Annotated[
    Path,
    Parameter(
        help="A TOML document with what differs from the shipped policy; - reads it from standard input.",
        allow_leading_hyphen=True,  # else - alone passes for an option
    ),
]


@app.command
def show(
    version: Annotated[int | None, Parameter(help="A version other than the one in force.")] = None,
    *,
    default: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="The policy Recoup ships with, as a document to start from."),
    ] = False,
    document: Annotated[
        bool, Parameter(negative="", show_default=False, help="The document as it was applied, comments and all.")
    ] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Show the policy in force: every figure, who applied it, when and why."""
    if default:
        print(policy.default_document(_parts()), end="")
        return
    with acting(Authority.READER, demo=demo) as tx:
        found = policy.find(tx, version)
    if document:
        print(found.document, end="")
        return
    if json:
        _print_json(found)
        return
    who = f"{shown(found.applied_at)} UTC by {shown(found.actor_id)}"
    print(f"version {found.version}, applied {who}: {shown(found.reason)}\n")
    shipped = dict(flattened(policy.default(_parts())))
    rows = [
        {"key": place, "value": _told(one), "shipped": None if shipped.get(key) == value else shown(shipped.get(key))}
        for key, value in flattened(found.figures)
        for place, one in _items(key, value)
    ]
    print_rows(rows, as_json=False, empty="")


@app.command
def history(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List the versions, newest first: who applied them, when and why."""
    with acting(Authority.READER, demo=demo) as tx:
        versions = policy.history(tx, limit=limit)
    columns = ("version", "applied_at", "actor_id", "reason")
    print_rows(versions, as_json=json, columns=columns, empty="No policy yet. Run: recoup migrate")


@app.command
def check(file: Document, *, json: Json = False) -> None:
    """Check a document. Needs no database; says every key that is wrong, and what is allowed."""
    found = policy.changes(policy.default(_parts()), policy.read(_text(file), _parts()).figures)
    if json:
        print_rows(found, as_json=True, empty="")
        return
    print("valid")
    _print_changes(found, "shipped", "document", "It says what the shipped policy says.")


@app.command
def diff(file: Document, *, demo: Demo = False, json: Json = False) -> None:
    """Show what a document would change of the policy in force."""
    wanted = policy.read(_text(file), _parts())
    with acting(Authority.READER, demo=demo) as tx:
        present = policy.in_force(tx)
        effects = policy.effects(tx, wanted, _parts())
    found = policy.changes(present.figures, wanted.figures)
    if json:
        print_rows(found, as_json=True, empty="")
        return
    _print_changes(
        found, f"version {present.version}", "document", f"Nothing: version {present.version} says the same."
    )
    for said in effects:
        print(f"\nAt once: {said}")


@app.command
def apply(
    file: Document,
    *,
    reason: Annotated[str, Parameter(help="Why. It is kept with the version, with your name.")],
    over: Annotated[
        int | None, Parameter(help="Only if this version is still in force: the one you looked at.")
    ] = None,
    yes: Annotated[
        bool, Parameter(negative="", show_default=False, help="Also if entities are freed or blocked by it at once.")
    ] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Put a document in force from now on.

    If it frees or blocks entities at once, it says how many, and is applied with --yes only.
    """
    text = _text(file)
    with acting(Authority.OPERATOR, demo=demo, reason=reason) as tx:
        effects = policy.effects(tx, policy.read(text, _parts()), _parts())
        if effects and not yes:
            raise InputRefused(
                "policy_effects", " ".join(effects), "Nothing was changed. If that is meant: the same with --yes."
            )
        version, changed = policy.apply(tx, text, _parts(), reason=reason, over=over)
    if json:
        print_rows(changed, as_json=True, empty="")
        return
    _print_changes(changed, "before", "now", f"Nothing to change: version {version} says the same, and stays in force.")
    if changed:
        print(f"\nversion {version} is in force")


def _parts() -> Parts:
    """The sections of the policy."""
    return parts(DOMAINS)


def _text(file: Path) -> str:
    try:
        if str(file) == "-":
            return sys.stdin.read(DOCUMENT_MOST_CHARACTERS + 1)
        with file.open(encoding="utf-8") as opened_:
            return opened_.read(DOCUMENT_MOST_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InputRefused(
            "policy_unreadable", f"{file} cannot be read: {error}.", "Name a TOML file in UTF-8.", file=str(file)
        ) from error


def _print_changes(changes: list[Change], before: str, after: str, nothing: str) -> None:
    rows = [
        {"key": key, before: _told(old), after: _told(new)} for change in changes for key, old, new in _changed(change)
    ]
    print_rows(rows, as_json=False, empty=nothing)


def _changed(change: Change) -> Iterator[tuple[str, Any, Any]]:
    """One line for a figure; of a list of rules one for each rule that comes or goes, by its place."""
    if not (_is_rules(change.before) or _is_rules(change.after)):
        yield change.key, change.before, change.after
        return
    old, new = change.before or [], change.after or []
    matched = SequenceMatcher(None, [_told(one) for one in old], [_told(one) for one in new], autojunk=False)
    for kind, start, end, new_start, new_end in matched.get_opcodes():
        if kind != "equal":
            pairs = zip_longest(old[start:end], new[new_start:new_end])
            for place, (gone, come) in enumerate(pairs, new_start if new_end > new_start else start):
                yield f"{change.key}[{place}]", gone, come


def _items(key: str, value: Any) -> list[tuple[str, Any]]:
    return [(f"{key}[{place}]", one) for place, one in enumerate(value)] if _is_rules(value) else [(key, value)]


def _is_rules(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, Mapping) for one in value)


def _told(value: Any) -> str:
    """A figure, or a rule by what it says. The database keeps the keys of a rule in an order of its own."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {shown(said)}" for name, said in sorted(value.items()) if said is not None)
    return shown(value)


def _print_json(found: Version) -> None:
    print_fields(found, as_json=True)
