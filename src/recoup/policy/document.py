"""The policy document: TOML in, values out, or a refusal that names the key, the value and what is allowed.

A document holds what differs from the shipped one; the rest is filled in from there. Each domain declares its section
as a model (:class:`~recoup.policy.section.Part`); a document is read with the sections that the program has. Units
stand at the end of a key's name.
"""

import difflib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError, create_model

from recoup.policy.section import Part, Section, shipped_values
from recoup.refusals import InputRefused

DOCUMENT_MOST_CHARACTERS = 1_000_000
Parts = tuple[type[Part], ...]
P = TypeVar("P", bound=Part)


class Policy:
    """Values that decisions go by, section by section: ``policy[GatePolicy].wait_hours``.

    A section is validated when it is first asked for. Keys that this program does not know are passed over, and what
    is missing is as shipped: a policy of a newer or an older program can be read.
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
        given = known_only(self.figures.get(part.section, {}), part)
        whole = validated({part.section: merged(shipped_values(part), given)}, (part,))
        return part.model_validate(whole[part.section])


def default_document(parts: Parts) -> str:
    """The document Recoup ships with."""
    header = files("recoup.policy").joinpath("header.toml").read_text(encoding="utf-8")
    return "\n".join([header, *(part.document() for part in parts)])


def default(parts: Parts) -> dict[str, Any]:
    """Every shipped value."""
    return validated({part.section: shipped_values(part) for part in parts}, parts)


def read(text: str, parts: Parts) -> Policy:
    """The policy that a document means: the shipped one, but for what the document says."""
    if len(text) > DOCUMENT_MOST_CHARACTERS:
        raise InputRefused(
            "policy_too_long",
            f"The document has more than {DOCUMENT_MOST_CHARACTERS:,} characters.",
            "A policy is a page or two.",
        )
    try:
        given = _printable(tomllib.loads(text.removeprefix("\ufeff")))
    except (ValueError, RecursionError) as error:  # ValueError: not TOML, or a number of thousands of digits
        raise InputRefused(
            "policy_not_toml",
            f"The document is not TOML: {error}.",
            "Mend it there. The shipped one: recoup policy show --default",
        ) from error
    return Policy(validated(merged(default(parts), given), parts))


def _printable(given: dict[str, Any]) -> dict[str, Any]:
    """What was given; raises if it cannot be printed, because then it cannot be refused in words either."""
    repr(given)
    return given


@cache
def _model(parts: Parts) -> type[Section]:
    """The whole document as one model."""
    fields: dict[str, Any] = {part.section: (part, ...) for part in parts}
    return create_model("Policy", __base__=Section, **fields)


def validated(figures: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
    """Values in the form in which the database keeps them; or a refusal of what is wrong, with all of it as facts."""
    try:
        return _model(parts).model_validate(figures).model_dump(mode="json")
    except ValidationError as error:
        wrong = [_in_words(details, parts) for details in error.errors()]
        raise InputRefused(
            "policy_invalid",
            "; ".join(f"{w['key']}: {w['value']} is not allowed" for w in wrong[:10]) + ".",
            "Allowed: " + "; ".join(f"{w['key']}: {w['allowed']}" for w in wrong[:10]) + ".",
            wrong=wrong,
        ) from error


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with what ``over`` says instead, section by section."""
    both = dict(base)
    for key, value in over.items():
        below = both.get(key)
        both[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return both


def known_only(stored: Mapping[str, Any], section: type[Section]) -> dict[str, Any]:
    """Stored values without keys that this program does not know. What people named themselves stays, as tables."""
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


def _in_words(details: Any, parts: Parts) -> dict[str, Any]:
    """One complaint of the validator: key, value, and what is allowed there."""
    named = [part for part in details["loc"] if part != "[key]"]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in named).lstrip(".")
    context = details.get("ctx", {})
    value = repr(details["input"])
    match details["type"]:
        case "extra_forbidden":
            known = [key for key, _ in flattened(default(parts))]
            known += _beside(key, details["loc"], parts)
            near = difflib.get_close_matches(key, [*known, *{k.split(".")[0] for k in known}], n=1, cutoff=0.5)
            allowed = (
                f"there is no such key; did you mean {near[0]}"
                if near
                else f"there is no such key; keys are {', '.join(known)}"
            )
        case "wrong_figure":
            key, allowed, value = f"{key}.{context['key']}".rstrip("."), context["allowed"], context["value"]
        case "missing":
            value, allowed = "nothing", _bounds(details["loc"], parts)
        case "too_short" | "too_long":
            allowed = _bounds(details["loc"], parts)
        case _:
            allowed = _bounds(details["loc"], parts)
    return {"key": key or "the document", "value": value[:200], "allowed": allowed}


def _bounds(place: tuple[int | str, ...], parts: Parts) -> str:
    """What may stand at a place of the policy, in words."""
    schema: Any = _model(parts).model_json_schema()
    at, key = schema, place[-1:] == ("[key]",)
    for part in place[:-2] if key else place:  # a key is a matter of the section that it stands in
        at = _resolved(schema, _below(at, part))
    return _of_keys(at) if key else _of_values(schema, at)


def _beside(key: str, place: tuple[int | str, ...], parts: Parts) -> list[str]:
    """What else an item of a list may have, where a key was given that it has not. The shipped policy has no items."""
    if "]." not in key:
        return []
    schema = at = _model(parts).model_json_schema()
    for part in place[:-1]:
        at = _resolved(schema, _below(at, part))
    return [f"{key.rpartition('.')[0]}.{name}" for name in at["properties"]]


def _below(at: Any, part: int | str) -> Any:
    if isinstance(part, int):
        return at["items"]
    named = at.get("properties", {})
    patterns = at.get("patternProperties", {"": {}})
    return named.get(part) or at.get("additionalProperties") or next(iter(patterns.values()))


def _resolved(schema: Any, at: Any) -> Any:
    for one in at.get("anyOf", ()):  # a value, or none
        if one.get("type") != "null":
            return _resolved(schema, one)
    return schema["$defs"][at["$ref"].rsplit("/", 1)[-1]] if "$ref" in at else at


def _of_keys(at: Any) -> str:
    names = at.get("propertyNames", {})
    if "enum" in names:
        return f"one of {', '.join(names['enum'])}"
    return str(names.get("description", f"a name that matches {next(iter(at.get('patternProperties', {'.+': 0})))}"))


def _of_values(schema: Any, at: Any) -> str:
    if "const" in at:
        return str(at["const"])
    if "enum" in at:
        return f"one of {', '.join(map(str, at['enum']))}"
    match at.get("type"):
        case "string":
            return str(at.get("description", "a text"))
        case "boolean":
            return "true or false"
        case "integer":
            return f"a whole number from {at['minimum']:,} to {at['maximum']:,}"
        case "array":
            least, most = at.get("minItems", 0), at.get("maxItems")
            count = "" if most is None else f" of {least if least == most else f'{least} to {most}'}"
            return f"a list{count}, each {_of_values(schema, _resolved(schema, at['items']))}"
        case "object":
            return f"a section with {', '.join(at['properties'])}" if "properties" in at else "a section"
        case other:
            return str(other)


def flattened(figures: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Every figure by its dotted key, in the order of the sections."""
    flat: list[tuple[str, Any]] = []
    for key, value in figures.items():
        if isinstance(value, Mapping):
            flat += flattened(value, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, value))
    return flat


def carried_over(stored: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
    """What a newer program has stored and this one does not know: it stays as it is."""
    known = known_only(stored, _model(parts))
    return _beyond(stored, known)


def _beyond(stored: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    beyond: dict[str, Any] = {}
    for key, value in stored.items():
        if key not in known:
            beyond[key] = value
        elif isinstance(value, Mapping) and isinstance(known[key], Mapping) and (below := _beyond(value, known[key])):
            beyond[key] = below
    return beyond


def limits(part: type[Part]) -> list[tuple[tuple[str, ...], int, int]]:
    """The bounds of the values that the database itself decides by."""
    schema = part.model_json_schema()
    found = []
    for path in part.decides:
        at: Any = schema
        for step in path.split("."):
            at = _resolved(schema, at["items"] if step.isdigit() else at["properties"][step])
        least, most = at.get("minimum", at.get("const")), at.get("maximum", at.get("const"))
        found.append(((part.section, *path.split(".")), int(least), int(most)))
    return found
