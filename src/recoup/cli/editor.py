"""A text in the user's editor: $VISUAL, else $EDITOR, else vi."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from recoup.cli.output import say, shown
from recoup.refusals import InputRefused, Refusal


def edited(text: str, use: Callable[[str], None], *, name: str, then: str) -> None:
    """Let the user edit a text, and use what they saved. If that is refused, a terminal may edit it again.

    The draft is kept until it was used: a refusal says where it is, and that it can be used with ``then``, in which
    DRAFT is its path. Saving it unchanged does nothing.
    """
    command = _editor()
    handle, path = tempfile.mkstemp(prefix=name, suffix=".toml")
    draft = Path(path)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    while True:
        try:
            if _saved(command, draft) == text:
                print("Nothing to change: the draft was saved as it was.")
            else:
                use(_read(draft))
        except Refusal as refusal:
            if _again(refusal):
                continue
            kept = f"{refusal.next_step} Your draft is {draft}. When it is fixed: {then.replace('DRAFT', str(draft))}"
            raise type(refusal)(refusal.code, refusal.happened, kept, **refusal.facts) from refusal
        draft.unlink()
        return


def _editor() -> list[str]:
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    command = shlex.split(named)
    if not command or shutil.which(command[0]) is None:
        raise InputRefused(
            "editor_missing", f"There is no editor {named!r} on PATH.", "Name one: EDITOR=nano recoup policy edit …"
        )
    return command


def _saved(command: list[str], draft: Path) -> str:
    ended = subprocess.run([*command, draft], check=False)
    if ended.returncode != 0:
        raise InputRefused(
            "editor_failed", f"{command[0]} exited with status {ended.returncode}.", "Nothing was changed."
        )
    return _read(draft)


def _read(draft: Path) -> str:
    try:
        return draft.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputRefused("policy_unreadable", f"{draft} cannot be read: {error}.", "Write it in UTF-8.") from error


def _again(refusal: Refusal) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    say(f"refused: {refusal.code}\n  {shown(refusal.happened)}\n  Next: {shown(refusal.next_step)}")
    return input("Edit it again? [Y/n] ").strip().lower() in ("", "y", "yes")
