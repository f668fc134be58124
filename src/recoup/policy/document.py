"""The policy document: TOML in, figures out, or a refusal that names the key, the value and what is allowed.

A document holds what differs from the shipped one (``default.toml``); the rest is filled in from there. Each domain has
a section, declared here as a model. Units stand at the end of a key's name.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from ipaddress import ip_network
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import Field, ValidationError, field_validator, model_validator

from recoup.policy.errors import Errors
from recoup.policy.section import Section, wrong_figure
from recoup.refusals import InputRefused

DOCUMENT_MOST_CHARACTERS = 1_000_000
LEASE_SPARE_S = 10  # for writing what the checks found


Hours = Annotated[int, Field(ge=1, le=8760)]


Milliseconds = Annotated[int, Field(ge=10, le=120_000)]


def _text(pattern: str, says: str, *, most: int = 500) -> Any:
    return Field(pattern=pattern, max_length=most, description=says)


CheckName = Annotated[
    str, _text(r"^[a-z][a-z0-9_-]*$", "the name of a check: dns, imprint, directory, state, or an own one", most=50)
]
Nameserver = Annotated[str, _text(r"^[0-9a-fA-F.:\[\]]+$", "an address, or address:port, of a DNS server", most=60)]
SiteUrl = Annotated[str, _text(r"^https?://[^\s/{}@]*\{domain\}[^\s{}@]*$", "an http or https URL with {domain} in it")]
Network = Annotated[str, _text(r"^[0-9a-fA-F.:]+(/[0-9]{1,3})?$", "a network such as 10.20.0.0/16", most=60)]


class Verification(Section):
    """How Gate Zero looks at a company."""

    checks: Annotated[list[CheckName], Field(min_length=1, max_length=20)]
    at_once: Annotated[int, Field(ge=1, le=2000)]
    per_host: Annotated[int, Field(ge=1, le=1000)]
    nameservers: Annotated[list[Nameserver], Field(min_length=0, max_length=10)]
    dns_timeout_ms: Milliseconds
    site_urls: Annotated[list[SiteUrl], Field(min_length=1, max_length=5)]
    site_timeout_ms: Milliseconds
    redirects_most: Annotated[int, Field(ge=0, le=20)]
    page_bytes_most: Annotated[int, Field(ge=1_000, le=10_000_000)]
    directory: Annotated[
        str,
        _text(r"^\S(.*\S)?$|^$", "a URL with {domain} or {name} in it, or the path of a CSV, Parquet or JSONL file"),
    ]
    directory_at_once: Annotated[int, Field(ge=1, le=2000)]
    directory_timeout_ms: Milliseconds
    allowed_networks: Annotated[list[Network], Field(min_length=0, max_length=50)]
    contact: Annotated[str, _text(r"^[ -~]*$", "printable ASCII: an address or a URL", most=200)]

    @field_validator("allowed_networks")
    @classmethod
    def _networks_are_networks(cls, networks: list[str]) -> list[str]:
        for network in networks:
            try:
                ip_network(network)
            except ValueError as error:
                raise wrong_figure("", network, f"a network such as 10.20.0.0/16; {error}") from error
        return networks

    @property
    def longest_s(self) -> float:
        """The longest that one verification may take: every check up to its timeout."""
        return (self.dns_timeout_ms + self.site_timeout_ms + self.directory_timeout_ms) / 1000


class Gate(Section):
    """Gate Zero."""

    max_attempts: Literal[3]  # the documents make it a hard limit, and the tables hold it
    wait_hours: Annotated[list[Hours], Field(min_length=2, max_length=2)]
    recovery_window_days: Annotated[int, Field(ge=1, le=365)]
    attempt_lease_s: Annotated[int, Field(ge=1, le=86_400)]
    batch_open_alert_days: Annotated[int, Field(ge=1, le=365)]
    verification: Verification

    @model_validator(mode="after")
    def _lease_outlasts_the_checks(self) -> Gate:
        least = math.ceil(self.verification.longest_s) + LEASE_SPARE_S
        if self.attempt_lease_s < least:
            raise wrong_figure(
                "attempt_lease_s",
                self.attempt_lease_s,
                f"at least {least}: the timeouts of the checks, and {LEASE_SPARE_S} to spare",
            )
        return self


class Worker(Section):
    """Workers."""

    heartbeat_s: Annotated[int, Field(ge=1, le=60)]
    lost_after_s: Annotated[int, Field(ge=3, le=86_400)]

    @model_validator(mode="after")
    def _silence_is_several_beats(self) -> Worker:
        if self.lost_after_s < 3 * self.heartbeat_s:
            raise wrong_figure("lost_after_s", self.lost_after_s, f"at least three heartbeats, {3 * self.heartbeat_s}")
        return self


class Seals(Section):
    """Seals."""

    block_rows: Annotated[int, Field(ge=1, le=1_000_000)]


class Policy(Section):
    """Every figure that a decision goes by."""

    gate: Gate
    worker: Worker
    seals: Seals
    errors: Errors

    @property
    def figures(self) -> dict[str, Any]:
        """As the database keeps it."""
        return self.model_dump(mode="json")


@cache
def default_document() -> str:
    """The document Recoup ships with."""
    return files("recoup.policy").joinpath("default.toml").read_text(encoding="utf-8")


@cache
def default() -> Policy:
    """The policy Recoup ships with."""
    return Policy.model_validate(tomllib.loads(default_document()))


def read(text: str) -> Policy:
    """The policy that a document means: the shipped one, but for what the document says."""
    if len(text) > DOCUMENT_MOST_CHARACTERS:
        raise InputRefused(
            "policy_too_long", f"The document has {len(text):,} characters.", "A policy is a page or two."
        )
    try:
        given = _printable(tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # ValueError: not TOML, or a number of thousands of digits
        raise InputRefused(
            "policy_not_toml",
            f"The document is not TOML: {error}.",
            "Mend it there. The shipped one: recoup policy show --default",
        ) from error
    return validated(merged(default().figures, given))


def _printable(given: dict[str, Any]) -> dict[str, Any]:
    """What was given; raises if it cannot be printed, because then it cannot be refused in words either."""
    repr(given)
    return given


def validated(figures: Mapping[str, Any]) -> Policy:
    """Figures as a policy, or a refusal of the first thing that is wrong, with all of them as facts."""
    try:
        return Policy.model_validate(figures)
    except ValidationError as error:
        wrong = [_in_words(details) for details in error.errors()]
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


def known_only(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Stored figures without keys that this program no longer has. What people named themselves stays, as tables."""
    return _known(figures, Policy)


def _known(stored: Mapping[str, Any], section: type[Section]) -> dict[str, Any]:
    fields = section.model_fields
    return {key: _known_value(value, fields[key].annotation) for key, value in stored.items() if key in fields}


def _known_value(value: Any, kind: Any) -> Any:
    if isinstance(value, list) and get_origin(kind) is list:
        return [_known_value(one, get_args(kind)[0]) for one in value]
    if not isinstance(value, Mapping):
        return value
    if isinstance(kind, type) and issubclass(kind, Section):
        return _known(value, kind)
    if get_origin(kind) is dict:
        return {key: _known_value(one, get_args(kind)[1]) for key, one in value.items()}
    return value


def _in_words(details: Any) -> dict[str, Any]:
    """One complaint of the validator: key, value, and what is allowed there."""
    named = [part for part in details["loc"] if part != "[key]"]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in named).lstrip(".")
    context = details.get("ctx", {})
    value = repr(details["input"])
    match details["type"]:
        case "extra_forbidden":
            known = [key for key, _ in flattened(default().figures)]
            known += _beside(key, details["loc"])
            near = difflib.get_close_matches(key, [*known, *{k.split(".")[0] for k in known}], n=1, cutoff=0.5)
            allowed = (
                f"there is no such key; did you mean {near[0]}"
                if near
                else f"there is no such key; keys are {', '.join(known)}"
            )
        case "wrong_figure":
            key, allowed, value = f"{key}.{context['key']}".rstrip("."), context["allowed"], context["value"]
        case "missing":
            value, allowed = "nothing", _bounds(details["loc"])
        case "too_short" | "too_long":
            allowed = _bounds(details["loc"])
        case _:
            allowed = _bounds(details["loc"])
    return {"key": key or "the document", "value": value[:200], "allowed": allowed}


def _bounds(place: tuple[int | str, ...]) -> str:
    """What may stand at a place of the policy, in words."""
    schema: Any = Policy.model_json_schema()
    at, key = schema, place[-1:] == ("[key]",)
    for part in place[:-2] if key else place:  # a key is a matter of the section that it stands in
        at = _resolved(schema, _below(at, part))
    return _of_keys(at) if key else _of_values(schema, at)


def _beside(key: str, place: tuple[int | str, ...]) -> list[str]:
    """What else an item of a list may have, where a key was given that it has not. The shipped policy has no items."""
    if "]." not in key:
        return []
    schema = at = Policy.model_json_schema()
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
