"""Single values of the policy, by their dotted keys: ``errors.retry.TRANSIENT.max_retries``.

A name with a dot in it is written in quotes, as in TOML; a name that the policy has already is also found without.
"""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from recoup.policy.document import completed, flattened, merged
from recoup.policy.section import Parts
from recoup.refusals import InputRefused

Path = tuple[str, ...]
MAX_NAMES = 20  # of a key


def path(key: str, values: Mapping[str, Any]) -> Path:
    """The names that a key is made of."""
    try:
        given = tomllib.loads(f"{key} = 0") if "\n" not in key else {}
        names = _names(given)
    except (ValueError, RecursionError):
        names = []
    if not 0 < len(names) <= MAX_NAMES:
        raise InputRefused(
            "policy_key_unreadable",
            f"{key!r} is not a key of the policy.",
            "Write it as recoup policy show prints it, such as errors.retry.TRANSIENT.max_retries.",
            key=key,
        )
    found: list[str] = []
    at: Any = values
    while names:
        there = at if isinstance(at, Mapping) else {}
        length = next((n for n in range(len(names), 0, -1) if ".".join(names[:n]) in there), 1)
        name, names = ".".join(names[:length]), names[length:]
        found.append(name)
        at = there.get(name)
    return tuple(found)


def _names(given: Any) -> list[str]:
    names = []
    while isinstance(given, dict) and len(given) == 1:
        ((name, given),) = given.items()
        names.append(name)
    return names if given == 0 else []


def with_value(values: Mapping[str, Any], at: Path, text: str, parts: Parts) -> tuple[dict[str, Any], Any]:
    """All values with one of them changed, and the value as it was read: as TOML, or as text where text is wanted."""
    read = _read(text)
    try:
        return completed(merged(values, nested(at, read)), parts), read
    except InputRefused:
        if isinstance(read, str):
            raise
        try:
            return completed(merged(values, nested(at, text)), parts), text
        except InputRefused:
            pass  # the refusal of the value as TOML says more
        raise


def _read(text: str) -> Any:
    """The value that a text means as TOML; the text itself if it is none."""
    try:
        (value,) = tomllib.loads(f"value = {text}").values()
    except (ValueError, RecursionError):
        return text
    return value


def without(values: Mapping[str, Any], at: Path) -> dict[str, Any]:
    """The values without one of them, or without a whole section."""
    name, *below = at
    there = values.get(name)
    if name not in values or (below and not isinstance(there, Mapping)):
        raise KeyError(name)
    kept = {key: value for key, value in values.items() if key != name}
    return {**kept, name: without(there, tuple(below))} if below and isinstance(there, Mapping) else kept


def nested(at: Path, value: Any) -> dict[str, Any]:
    """A document that says one value."""
    for name in reversed(at):
        value = {name: value}
    found: dict[str, Any] = value
    return found


def unknown(key: str, values: Mapping[str, Any]) -> InputRefused:
    """The refusal of a key that is not there."""
    known: Sequence[str] = [name for name, _ in flattened(values)]
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return InputRefused(
        "policy_key_unknown",
        f"The policy has no key {key}.",
        f"Did you mean {near[0]}?" if near else "List the keys: recoup policy show",
        key=key,
    )
