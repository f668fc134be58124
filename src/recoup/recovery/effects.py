"""What an action makes, what it has to be given, and who serves it: the same as the database says (policy.sql)."""

import re
from collections.abc import Mapping
from typing import Any

from recoup.recovery.vocabulary import ActionType, SubjectKind

IN_DATABASE = (SubjectKind.ERROR, SubjectKind.INTAKE, SubjectKind.RUN, SubjectKind.PARTITION)
KEY = re.compile(r"[a-z][a-z0-9_.-]{0,99}")
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MAX_NAME_BYTES = 500  # of an owner, or a breaker
MAX_ROUTE_BYTES = 60
MAX_DUE_HOURS = 9_999
# Of each parameter, what is usable: a refusal says it, whether it was not given or is something else.
USABLE = {
    "alternative": "anything", "breaker": f"a name of 1 to {MAX_NAME_BYTES} bytes",
    "due_hours": f"a whole number from 1 to {MAX_DUE_HOURS:,}", "key": "a name such as vendor.batch_size",
    "owner": f"a name of 1 to {MAX_NAME_BYTES} bytes", "route": f"a name of 1 to {MAX_ROUTE_BYTES} bytes",
    "undoes": "the id of a candidate", "value": "anything",
}  # fmt: skip
NOTHING = "nothing"


def makes(type_: ActionType, kind: SubjectKind, parameters: Mapping[str, Any]) -> str | None:
    """What its effect makes in this database and then awaits; nothing: it awaits nothing; None: it is outside."""
    match type_:
        case ActionType.RETRY:
            return kind.value if kind in IN_DATABASE else None
        case ActionType.FALLBACK:
            return kind.value if kind in IN_DATABASE and kind is not SubjectKind.INTAKE else None
        case ActionType.CIRCUIT_BREAKER:
            return kind.value if kind in IN_DATABASE else "breaker"
        case ActionType.NOTIFY:
            return "delivery"
        case ActionType.MANUAL:
            return "task"
        case ActionType.ESCALATE:
            return NOTHING if kind is SubjectKind.ERROR else "task"
        case ActionType.SKIP:
            return NOTHING
        case ActionType.RECONFIGURE if "key" in parameters:
            return kind.value if kind in IN_DATABASE else NOTHING
        case ActionType.ROLLBACK if "action" not in parameters:
            return kind.value if kind in IN_DATABASE else NOTHING
    return None


def served_as(name: str, type_: ActionType, parameters: Mapping[str, Any]) -> str:
    """The name under which an executor serves an action outside of this database."""
    return undo_of(parameters["action"]) if type_ is ActionType.ROLLBACK and "action" in parameters else name


def undo_of(action: str) -> str:
    """The name under which the undoing of an action is served."""
    return f"undo {action}"


def lacks(type_: ActionType, kind: SubjectKind, parameters: Mapping[str, Any]) -> str | None:
    """What an action has to be given for a subject of this kind and is not, or is not usable."""
    match type_:
        case ActionType.RECONFIGURE if kind is not SubjectKind.OUTSIDE or "key" in parameters:
            if not _text(parameters.get("key"), KEY):
                return "key"
            return None if "value" in parameters else "value"
        case ActionType.FALLBACK if kind is not SubjectKind.OUTSIDE:
            return None if "alternative" in parameters else "alternative"
        case ActionType.NOTIFY:
            return None if _name(parameters.get("route"), MAX_ROUTE_BYTES) else "route"
        case ActionType.CIRCUIT_BREAKER if "breaker" in parameters:
            return None if _name(parameters["breaker"], MAX_NAME_BYTES) else "breaker"
        case ActionType.ESCALATE | ActionType.MANUAL:
            hours = parameters.get("due_hours")
            # An error goes to the owner of its next tier, unless another one is given; and a tier has no due time.
            is_tier = type_ is ActionType.ESCALATE and kind is SubjectKind.ERROR
            given = "owner" in parameters or not is_tier
            if given and not _name(parameters.get("owner"), MAX_NAME_BYTES):
                return "owner"
            usable = type(hours) is int and 1 <= hours <= MAX_DUE_HOURS
            return None if usable or is_tier else "due_hours"
        case ActionType.ROLLBACK:
            return None if _text(parameters.get("undoes"), ID) else "undoes"
    return None


def _name(value: object, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value.encode("utf-8", "replace")) <= most


def _text(value: object, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
