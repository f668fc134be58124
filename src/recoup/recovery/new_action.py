"""``recoup recovery actions new``: the files that an action of one's own begins with, written over nothing."""

import keyword
import os
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from recoup.database.server_user import write_whole
from recoup.recovery.policy import ActionName, RecoveryPolicy
from recoup.refusals import InputRefused

OwnType: TypeAlias = Literal["retry", "fallback", "reconfigure"]  # those that a function of yours may execute
FUNCTION = '''\
"""The action {name} of recovery: a worker calls it for a candidate that was approved, or starts by itself."""

from recoup.recovery.executing import Claimed, Subject


def {name}(one: Claimed, failure: Subject) -> dict[str, object]:
    """When it returns, the failure is gone. When it raises, it has not worked, and the next action is tried."""
    # one.parameters: what the policy, a rule, or the person who proposed it gives.
    # one.idempotency_key: the same when this is repeated after a crash. Pass it on, so that the work is done once.
    # one.timeout_s: pass it on to what you call. A result that comes half a minute later than that does not count.
    # failure: source, subject_ref, error_code, error_message, error_signature, context.
    raise NotImplementedError("{name} does nothing yet")
    # What it returns is stored as the result: return {{"unit": one.parameters["unit"]}}


# To have it undone later, set undo = true in its policy, and name this instead of {name} in recoup.toml:
#
# from recoup.recovery.executing import Executor
# reversible = Executor({name}, undo=restore)    # restore(one, failure) reads failure.undoes["result"]
'''
POLICY = """\
# Added to the active policy by: recoup policy apply {file} --reason "…"
[recovery.actions.{name}]
type = "{type}"
is_automated = false     # true: it starts by itself once it has worked often enough for this kind of failure
requires_approval = true
idempotent = false       # true: it honours its idempotency key, so after a crash it is repeated without a person
undo = false
cost = 1                 # of what a scope may spend
timeout_s = 60
parameters = {{}}

# It is proposed by a rule, by the plan, or by a person (recoup recovery propose MATCH --action {name}):
# [recovery.rules.{name}]
# when = "source == 'billing'"
# action = "{name}"
"""


def create(folder: Path, name: str, type_: OwnType = "retry") -> tuple[Path, Path]:
    """Write a module with the function, and a policy document with its place in the catalogue. Returns their paths."""
    _require_free(name)
    module, policy = (folder.absolute() / f"{name}.{suffix}" for suffix in ("py", "toml"))
    texts = {module: FUNCTION.format(name=name), policy: POLICY.format(name=name, type=type_, file=policy.name)}
    for path in texts:
        if os.path.lexists(path):
            raise InputRefused(
                "file_exists", f"{path} exists.", "Edit it, or choose another name or folder.", files=[str(path)]
            )
    for path, text in texts.items():
        try:
            write_whole(path, text)
            path.chmod(0o644)
        except OSError as error:
            raise InputRefused(
                "file_unwritable", f"{path} cannot be written: {error.strerror}.", "Name a folder that you can write."
            ) from error
    return module, policy


def _require_free(name: str) -> None:
    try:
        TypeAdapter[str](ActionName).validate_python(name)
    except ValidationError:
        usable = False
    else:
        usable = not keyword.iskeyword(name)
    if not usable:
        raise InputRefused(
            "action_name", f"{name[:100]!r} is not a usable name.", "Write it in lower case, like restart_billing."
        )
    if name in RecoveryPolicy.shipped().actions:
        raise InputRefused(
            "action_exists", f"Recoup has an action {name}.", "Choose another name, like restart_billing.", action=name
        )
