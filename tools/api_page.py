"""The page of the HTTP API: every route with its authority, the roles that have it, and what it refuses."""

from __future__ import annotations

from typing import get_type_hints

from recoup.api import answers
from recoup.api.app import areas
from recoup.api.declare import Route
from recoup.api.problems import BY_CODE, BY_END, BY_KIND, WORDS
from recoup.service.roles import Role, authorities


def page(written: str) -> str:
    lines = [
        "# HTTP API\n",
        f"`recoup api` serves these routes ([how to](../howto/call-the-api.md)). {written}",
        "`GET /v1/openapi.json` describes each in full: parameters, bodies, answers. A role may call a route if it has",
        "its authority. Every write takes an `Idempotency-Key`.\n",
    ]
    for area in areas():
        lines += [f"## {area.name.capitalize()}\n", f"{area.about}\n"]
        lines += ["| route | what it does | authority | roles | answer |", "|---|---|---|---|---|"]
        lines += [_row(route) for route in area.routes]
        lines.append("")
    lines += [
        "## Refusals\n",
        "Whatever is refused is `application/problem+json` with `code`, `detail` (what happened), `next_step` and",
        "`facts`. Nothing was changed. The [codes](refusals.md) are those of the library and the commands:\n",
        "| status | means | codes |",
        "|---|---|---|",
    ]
    lines += [f"| {number} | {words} | {_codes(number)} |" for number, words in sorted(WORDS.items())]
    return "\n".join(lines) + "\n"


def _row(route: Route) -> str:
    needed = (route.authority, *route.also)
    roles = [role.value for role in Role if role is not Role.LOCAL and set(needed) <= authorities(role)]
    kind = get_type_hints(route.run, include_extras=True).get("return", type(None))
    if route.streams:
        answer = "server-sent events"
    elif kind is type(None):
        answer = "nothing"
    else:
        made = answers.model(kind)
        answer = f"`{made.__name__}`"
    by = ", ".join(f"`{authority.value}`" for authority in needed)
    return f"| `{route.method} {route.path}` | {route.summary} | {by} | {', '.join(roles)} | {route.status}: {answer} |"


def _codes(number: int) -> str:
    ends = [f"others that end with `{end}`" for end, status in BY_END.items() if status == number]
    kinds = [f"others of the kind {kind.__name__}" for kind, status in BY_KIND.items() if status == number]
    return ", ".join([*(f"`{code}`" for code, status in BY_CODE.items() if status == number), *ends, *kinds])
