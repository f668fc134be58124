"""Fields of a form, from the schema of a route: what the API takes, a page asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]
LABELS = {"over": "Made for version"}  # where the name alone says too little
TEXT_FROM = 300  # characters: a longer text gets several lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value that a route takes."""

    name: str  # in the form: where it goes, a dot, and its name there
    label: str
    kind: str  # text, lines, number, flag, choice, list, json
    about: str = ""
    required: bool = False
    choices: Sequence[str] = ()
    least: float | None = None
    most: float | None = None
    longest: int | None = None
    pattern: str | None = None
    value: str = ""
    fixed: bool = False  # it came with the address: it is shown, and sent as it is

    @property
    def place(self) -> str:
        return self.name.partition(".")[0]

    @property
    def key(self) -> str:
        return self.name.partition(".")[2]


def fields(operation: Schema, whole: Schema) -> Iterator[Field]:
    """What an operation of the OpenAPI document takes: path, query and body."""
    for one in operation.get("parameters", ()):
        if one["in"] in ("path", "query"):
            yield _field(one["in"], one["name"], one.get("schema", {}), one.get("required", False), whole)
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        found = _plain(body, whole)
        for name, schema in found.get("properties", {}).items():
            yield _field("body", name, schema, name in found.get("required", ()), whole)


def _field(place: str, name: str, given: Schema, required: bool, whole: Schema) -> Field:
    schema = _plain(given, whole)
    about = str(given.get("description") or schema.get("description") or "")
    return Field(
        name=f"{place}.{name}",
        label=LABELS.get(name) or name.replace("_", " ").capitalize(),
        kind=_kind(name, schema),
        about=about,
        required=required,
        choices=[str(one) for one in schema.get("enum", ())],
        least=schema.get("minimum"),
        most=schema.get("maximum"),
        longest=schema.get("maxLength"),
        pattern=schema.get("pattern"),
        value=_shown(given.get("default")),
    )


def _plain(schema: Schema, whole: Schema) -> Schema:
    """A schema without references, and without the null of what may be left out."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _plain(whole["components"]["schemas"][name], whole)
    if "anyOf" in schema:
        kinds = [one for one in schema["anyOf"] if one.get("type") != "null"]
        return {**_plain(kinds[0], whole), **{k: v for k, v in schema.items() if k in ("description", "default")}}
    if len(schema.get("allOf", ())) == 1:
        return _plain(schema["allOf"][0], whole)
    return schema


def _kind(name: str, schema: Schema) -> str:
    if "enum" in schema:
        return "choice"
    of = schema.get("type")
    if of == "string":
        return "lines" if name in ("reason", "note", "text", "document") else "text"
    return {"integer": "number", "number": "number", "boolean": "flag", "array": "list"}.get(str(of), "json")


def _shown(default: Any) -> str:
    if default is None:
        return ""
    return str(default) if isinstance(default, str | int | float) else json.dumps(default)


def read(asked: Sequence[Field], given: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Values of a form, by where they go. What is empty is left out; what is not valid, the route refuses."""
    found: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    for field in asked:
        values = [value for value in given.get(field.name, ()) if value.strip()]
        if values:
            found[field.place][field.key] = _value(field, values)
    return found


def _value(field: Field, values: Sequence[str]) -> Any:
    text = values[-1].replace("\r\n", "\n")
    if field.kind == "list":
        return [part.strip() for value in values for part in value.splitlines() if part.strip()]
    if field.kind == "flag":
        return text not in ("false", "off", "0")
    if field.kind in ("number", "json"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text
