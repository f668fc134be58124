"""The OpenAPI document: what FastAPI reads from the routes, and the refusals that all of them have."""

from __future__ import annotations

import json
from typing import Any, get_type_hints

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response

from recoup.api import answers
from recoup.api.declare import Route
from recoup.api.problems import MEDIA_TYPE, WORDS, Problem

ALWAYS = (400, 401, 403, 404, 409, 422, 429, 503)
WITH_BODY = (408, 413, 415)


def described(route: Route) -> dict[str, Any]:
    """What FastAPI gets about a route, in addition to its signature."""
    kind = get_type_hints(route.run, include_extras=True).get("return", type(None))
    good: dict[str, Any] = {"description": "Done." if route.writes else "Found."}
    if route.streams:
        good["content"] = {"text/event-stream": {"schema": {"type": "string"}}}
    elif kind is not type(None):
        good["model"] = answers.model(kind)
    extra: dict[str, Any] = {"x-recoup-authority": [route.authority.value, *(one.value for one in route.also)]}
    if route.refusals:
        extra["x-recoup-refusals"] = list(route.refusals)
    kind_of = Response if route.streams else JSONResponse
    return {
        "response_model": None,
        "response_class": kind_of,
        "responses": {route.status: good},
        "openapi_extra": extra,
    }


def openapi(app: FastAPI) -> bytes:
    """The document as JSON, made once."""
    if not hasattr(app.state, "document"):
        app.state.document = json.dumps(document(app)).encode()
    made: bytes = app.state.document
    return made


def document(app: FastAPI) -> dict[str, Any]:
    """The document."""
    found = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
        openapi_version="3.1.0",
        separate_input_output_schemas=False,
    )
    components = found.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "A key of `recoup keys add`."}
    }
    components["responses"] = {f"Refused{number}": _refused(number) for number in (*ALWAYS, *WITH_BODY)}
    for path in found["paths"].values():
        for method, operation in path.items():
            operation["security"] = [{"key": []}, {}]
            operation["responses"].pop("422", None)
            for number in (*ALWAYS, *(WITH_BODY if method != "get" else ())):
                operation["responses"][str(number)] = {"$ref": f"#/components/responses/Refused{number}"}
    return found


def _refused(number: int) -> dict[str, Any]:
    return {
        "description": WORDS[number],
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
