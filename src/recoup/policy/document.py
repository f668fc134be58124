"""The policy document: TOML in, values out, or a refusal that names the key, the value and what is allowed.

A document holds what differs from the shipped policy; the rest is filled in from there. Each domain declares its
section as a model (:class:`~recoup.policy.section.Part`). A key's name ends with its unit.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError

from recoup.policy.allowed import wrong_values
from recoup.policy.section import Part, Parts, Section, model
from recoup.refusals import InputRefused

MAX_DOCUMENT = 1_000_000  # characters
P = TypeVar("P", bound=Part)


class Policy:
    """The settings that drive decisions, section by section: ``policy[GatePolicy].wait_hours``.

    A section is validated on first use. Unknown keys are ignored and missing ones have their shipped value, so that a
    policy of a newer or an older program can be read.
    """

    def __init__(self, figures: Mapping[str, Any]) -> None:
        self.figures = figures
        self._read: dict[type[Part], Part] = {}

    def __getitem__(self, part: type[P]) -> P:
        found = self._read.get(part)
        if found is None:
            found = self._read[part] = self._of(part)
        assert isinstance(found, part)
        return found

    def _of(self, part: type[P]) -> P:
        given = {part.section: known_only(self.figures.get(part.section, {}), part)}
        values = merged({part.section: part.base(self.figures)}, given)  # which may depend on another section
        return part.model_validate(validated(values, (part,), is_new=False)[part.section])


def default_document(parts: Parts) -> str:
    """The document Recoup ships with."""
    header = files("recoup.policy").joinpath("header.toml").read_text(encoding="utf-8")
    return "\n".join([header, *(part.document() for part in parts)])


def default(parts: Parts, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Every shipped value; of the profile that ``given`` has, if it has one."""
    return validated(_bases(given or {}, parts), parts)


def read(text: str, parts: Parts) -> Policy:
    """The policy that a document means: the shipped values, except for what the document says."""
    return Policy(completed(parsed(text), parts))


def parsed(text: str) -> dict[str, Any]:
    """What a document says, unchecked; or a refusal if it is not TOML."""
    if len(text) > MAX_DOCUMENT:
        raise InputRefused(
            "policy_too_long", f"The document has more than {MAX_DOCUMENT:,} characters.", "A policy is a page or two."
        )
    try:
        return _printable(tomllib.loads(text.removeprefix("\ufeff")))
    except (ValueError, RecursionError) as error:  # ValueError: not TOML, or a number of thousands of digits
        raise InputRefused(
            "policy_not_toml",
            f"The document is not TOML: {error}.",
            "Fix it there. Print the active policy as TOML: recoup policy show",
        ) from error


def _printable(given: dict[str, Any]) -> dict[str, Any]:
    """What was given; raises if it cannot be printed, because then a refusal could not name it."""
    repr(given)
    return given


def completed(given: Mapping[str, Any], parts: Parts, *, is_new: bool = True) -> dict[str, Any]:
    """Every value: what is given, and for the rest the shipped ones. Validated.

    What is not new was read from a database. Checks that need more than the values, such as an extra, are not repeated.
    """
    return validated(merged(_bases(given, parts), given), parts, is_new=is_new)


def _bases(given: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
    return {part.section: part.base(given) for part in parts}


def validated(values: Mapping[str, Any], parts: Parts, *, is_new: bool = True) -> dict[str, Any]:
    """Values in the form in which the database stores them; or a refusal of what is wrong, with all of it as facts."""
    try:
        return model(parts).model_validate(values, context={"is_new": is_new}).model_dump(mode="json")
    except ValidationError as error:
        wrong = wrong_values(error.errors(), parts, [key for key, _ in flattened(default(parts))])
        raise InputRefused(
            "policy_invalid",
            "; ".join(f"{w['key']}: {w['value']} {_complaint(w)}" for w in wrong[:10]) + ".",
            "Allowed: " + "; ".join(f"{w['key']}: {w['allowed']}" for w in wrong[:10]) + ".",
            wrong=wrong,
        ) from error


def _complaint(wrong: Mapping[str, Any]) -> str:
    return f"cannot be used: {wrong['problem']}" if "problem" in wrong else "is not allowed"


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``base``, with the values of ``over`` in place of its own, section by section."""
    both = dict(base)
    for key, value in over.items():
        below = both.get(key)
        both[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return both


def known_only(stored: Mapping[str, Any], section: type[Section]) -> dict[str, Any]:
    """Stored values without keys that this program does not know. Names that people chose, as of tables, stay."""
    fields = section.model_fields
    return {key: _known_value(value, fields[key].annotation) for key, value in stored.items() if key in fields}


def _known_value(value: Any, kind: Any) -> Any:
    if isinstance(value, list) and get_origin(kind) is list:
        return [_known_value(one, get_args(kind)[0]) for one in value]
    if not isinstance(value, Mapping):
        return value
    if isinstance(kind, type) and issubclass(kind, Section):
        return known_only(value, kind)
    if get_origin(kind) is dict:
        return {key: _known_value(one, get_args(kind)[1]) for key, one in value.items()}
    return value


def flattened(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Every value by its dotted key, in the order of the sections."""
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat += flattened(value, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, value))
    return flat


def carried_over(stored: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
    """What a newer program has stored and this one does not know: it is kept."""
    return _beyond(stored, known_only(stored, model(parts)))


def _beyond(stored: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    beyond: dict[str, Any] = {}
    for key, value in stored.items():
        if key not in known:
            beyond[key] = value
        elif isinstance(value, Mapping) and isinstance(known[key], Mapping) and (below := _beyond(value, known[key])):
            beyond[key] = below
    return beyond
