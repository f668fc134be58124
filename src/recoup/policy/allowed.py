"""What is allowed at a place of the policy, in words for refusals; and the bounds that the database checks itself."""

import difflib
from collections.abc import Sequence
from typing import Any

from recoup.policy.section import Part, Parts, model


def wrong_values(errors: Sequence[Any], parts: Parts, known: Sequence[str]) -> list[dict[str, Any]]:
    """What the validator complains of: each key, its value, and what is allowed there. ``known``: every shipped key."""
    return [_in_words(details, parts, known) for details in errors]


def _in_words(details: Any, parts: Parts, known: Sequence[str]) -> dict[str, Any]:
    """One complaint of the validator: key, value, and what is allowed there."""
    named = [part for part in details["loc"] if part != "[key]"]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in named).lstrip(".")
    context = details.get("ctx", {})
    value = repr(details["input"])
    match details["type"]:
        case "extra_forbidden":
            known = [*known, *_item_keys(key, details["loc"], parts)]
            near = difflib.get_close_matches(key, [*known, *{k.split(".")[0] for k in known}], n=1, cutoff=0.5)
            allowed = (
                f"there is no such key; did you mean {near[0]}"
                if near
                else f"there is no such key; keys are {', '.join(known)}"
            )
        case "wrong_value":
            key, allowed, value = f"{key}.{context['key']}".strip("."), context["allowed"], context["value"]
        case "missing":
            value, allowed = "nothing", _bounds(details["loc"], parts)
        case _:
            allowed = _bounds(details["loc"], parts)
    wrong = {"key": key or "the document", "value": value[:200], "allowed": allowed}
    return wrong if context.get("problem") is None else {**wrong, "problem": context["problem"]}


def _bounds(place: tuple[int | str, ...], parts: Parts) -> str:
    """What is allowed at a place of the policy, in words."""
    schema: Any = model(parts).model_json_schema()
    at, key = schema, place[-1:] == ("[key]",)
    for part in place[:-2] if key else place:  # a key is checked by the section it is in
        at = _resolved(schema, _below(at, part))
    return _of_keys(at) if key else _of_values(schema, at)


def _item_keys(key: str, place: tuple[int | str, ...], parts: Parts) -> list[str]:
    """The keys of the section that has one that does not exist: the shipped policy may have no item of that name."""
    schema = at = model(parts).model_json_schema()
    for part in place[:-1]:
        at = _resolved(schema, _below(at, part))
    return [f"{key.rpartition('.')[0]}.{name}" for name in at.get("properties", ())]


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
        case "number":
            return f"a number from {at['minimum']} to {at['maximum']}"
        case "array":
            least, most = at.get("minItems", 0), at.get("maxItems")
            count = "" if most is None else f" of {least if least == most else f'{least} to {most}'}"
            return f"a list{count}, each {_of_values(schema, _resolved(schema, at['items']))}"
        case "object":
            return f"a section with {', '.join(at['properties'])}" if "properties" in at else "a section"
        case other:
            return str(other)


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
