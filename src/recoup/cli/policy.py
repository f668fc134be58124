"""``recoup policy``: show, check, compare and change the settings that drive decisions."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from recoup import policy
from recoup.cli import editor
from recoup.cli.context import acting, opened, person
from recoup.cli.output import Demo, Json, Limit, print_fields, print_rows
from recoup.cli.policy_output import print_changes, print_proposal, print_values, toml
from recoup.database.connection import Transaction
from recoup.domain import parts
from recoup.domains import DOMAINS
from recoup.lifecycles.declaration import Authority
from recoup.policy import Parts, Proposal
from recoup.policy.document import MAX_DOCUMENT
from recoup.refusals import InputRefused

app = App(
    name="policy",
    help_epilogue="The settings that drive decisions: limits, waits, retention, error tables. A change applies to what"
    " is decided from then on.\n\nShow them as TOML: recoup policy show > policy.toml",
    help_format="plaintext",
)
Document = Annotated[
    Path,
    Parameter(
        help="A TOML document with the values to change; - reads it from standard input.",
        allow_leading_hyphen=True,  # else - alone is read as an option
    ),
]
Key = Annotated[str, Parameter(help="A key as recoup policy show prints it, such as errors.retry.TRANSIENT.base_s.")]
Reason = Annotated[str, Parameter(help="Why. It is stored with the version, with your name.")]
Replace = Annotated[
    bool,
    Parameter(
        negative="",
        show_default=False,
        help="The document is the whole policy: what it does not name returns to the shipped value.",
    ),
]
Yes = Annotated[bool, Parameter(negative="", show_default=False, help="Do not ask.")]


@app.command
def show(
    version: Annotated[int | None, Parameter(help="A version other than the active one.")] = None,
    *,
    default: Annotated[
        bool, Parameter(negative="", show_default=False, help="Print the policy Recoup ships with, as TOML.")
    ] = False,
    document: Annotated[
        bool,
        Parameter(
            negative="", show_default=False, help="Print what was given for the version: a document, or a part of one."
        ),
    ] = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Show the active policy: every value, who applied it, when and why.

    Where standard output is no terminal, it is printed as TOML: recoup policy show > policy.toml
    """
    if default:
        print(policy.default_document(_parts()), end="")
        return
    with acting(Authority.READER, demo=demo) as tx:
        found = policy.find(tx, version)
    if json:
        print_fields(found, as_json=True)
    elif document:
        print(found.document, end="")
    elif sys.stdout.isatty():
        print_values(found)
    else:
        print(toml(found), end="")


@app.command
def history(*, limit: Limit = 50, demo: Demo = False, json: Json = False) -> None:
    """List the versions, newest first: who applied them, when and why."""
    with acting(Authority.READER, demo=demo) as tx:
        versions = policy.history(tx, limit=limit)
    columns = ("version", "applied_at", "actor_id", "reason")
    print_rows(versions, as_json=json, columns=columns, empty="No policy yet. Run: recoup migrate")


@app.command
def check(file: Document, *, json: Json = False) -> None:
    """Check a document. Needs no database; names every wrong key and what is allowed."""
    read = policy.read(read_document(file), _parts()).figures
    found = policy.changes(policy.default(_parts(), read), read)
    if json:
        print_rows(found, as_json=True, empty="")
        return
    print("valid")
    print_changes(found, "shipped", "document", "The document changes nothing in the shipped policy.")


@app.command
def diff(file: Document, *, replace: Replace = False, demo: Demo = False, json: Json = False) -> None:
    """Show what a document would change in the active policy."""
    with acting(Authority.READER, demo=demo) as tx:
        proposal = policy.merge(tx, read_document(file), _parts(), replace=replace)
    if json:
        print_rows(proposal.changes, as_json=True, empty="")
    else:
        print_proposal(proposal, new="document")


@app.command
def apply(
    file: Document,
    *,
    reason: Reason,
    replace: Replace = False,
    over: Annotated[int | None, Parameter(help="Only if this version is still active.")] = None,
    yes: Yes = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Merge a document into the active policy: what it does not name stays.

    Prints the difference first. On a terminal it asks; elsewhere --yes is needed if entities are blocked or unblocked
    at once, or if --replace returns values that the document does not name to the shipped ones.
    """
    text = read_document(file)
    _change(
        lambda tx: policy.merge(tx, text, _parts(), replace=replace, over=over),
        reason=reason, yes=yes, demo=demo, json=json,
    )  # fmt: skip


@app.command(name="set")
def set_(
    key: Key,
    value: Annotated[str, Parameter(help="The value, as in TOML: 5, true, [12, 48], text.", allow_leading_hyphen=True)],
    *,
    reason: Reason,
    yes: Yes = False,
    demo: Demo = False,
    json: Json = False,
) -> None:
    """Set one value.

    For example: recoup policy set errors.retry.TRANSIENT.max_retries 8 --reason "the vendor is slow this week"
    """
    _change(lambda tx: policy.set_value(tx, key, value, _parts()), reason=reason, yes=yes, demo=demo, json=json)


@app.command
def unset(key: Key, *, reason: Reason, yes: Yes = False, demo: Demo = False, json: Json = False) -> None:
    """Return one value, or a section, to the shipped values."""
    _change(lambda tx: policy.unset(tx, key, _parts()), reason=reason, yes=yes, demo=demo, json=json)


@app.command
def edit(*, reason: Reason, yes: Yes = False, demo: Demo = False) -> None:
    """Edit the active policy in $VISUAL or $EDITOR, and apply it.

    A draft that is refused is kept, and the refusal says where.
    """
    with acting(Authority.READER, demo=demo) as tx:
        found = policy.active(tx)

    def applied(text: str) -> None:
        _change(
            lambda tx: policy.merge(tx, text, _parts(), replace=True, over=found.version),
            reason=reason, yes=yes, demo=demo, json=False,
        )  # fmt: skip

    again = f"recoup policy apply DRAFT --replace --over {found.version}{' --demo' if demo else ''} --reason WHY"
    editor.edited(toml(found), applied, name="recoup-policy-", then=again)


def _change(proposed: Callable[[Transaction], Proposal], *, reason: str, yes: bool, demo: bool, json: bool) -> None:
    """Propose, show, ask, and apply over the version that was shown."""
    with opened(demo=demo) as database:
        with database.transaction(Authority.READER) as tx:
            proposal = proposed(tx)
        if not json:
            print_proposal(proposal)
        if proposal.changes and not yes:
            _confirm(proposal, ask=not json and sys.stdin.isatty() and sys.stdout.isatty())
        with database.transaction(Authority.OPERATOR, actor=person(database), reason=reason) as tx:
            version = policy.put(tx, proposal, _parts(), reason=reason)
            steps = policy.next_steps(tx, _parts())
    if json:
        print_rows(proposal.changes, as_json=True, empty="")
        return
    if proposal.changes:
        print(f"\nversion {version} is active")
    for step in steps:
        print(f"Next: {step}")


def _confirm(proposal: Proposal, *, ask: bool) -> None:
    if ask:
        if input("\nApply? [y/N] ").strip().lower() not in ("y", "yes"):
            raise InputRefused(
                "policy_not_confirmed", "Not confirmed. Nothing was changed.", "To skip the question: --yes"
            )
        return
    if proposal.effects:
        raise InputRefused(
            "policy_effects", " ".join(proposal.effects), "Nothing was changed. If you want this: the same with --yes."
        )
    if proposal.taken_back:
        keys = [change.key for change in proposal.taken_back]
        raise InputRefused(
            "policy_takes_back",
            f"Values that the document does not name would return to the shipped ones ({len(keys):,}): "
            + ", ".join(keys[:10])
            + (" …" if len(keys) > 10 else "."),
            "Nothing was changed. Leave out --replace to keep them, or confirm with --yes.",
            keys=keys,
        )


def _parts() -> Parts:
    """The sections of the policy."""
    return parts(DOMAINS)


def read_document(file: Path) -> str:
    """The text of a document; of standard input if it is -."""
    try:
        if str(file) == "-":
            return sys.stdin.read(MAX_DOCUMENT + 1)
        with file.open(encoding="utf-8") as opened_:
            return opened_.read(MAX_DOCUMENT + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InputRefused(
            "policy_unreadable", f"{file} cannot be read: {error}.", "Name a TOML file in UTF-8.", file=str(file)
        ) from error
