"""The OpenAPI document, made from the typed endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from recrawl._version import __version__
from recrawl.web.documents import ErrorView
from recrawl.web.requests import Nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.web.endpoints import Endpoint

__all__ = ["openapi"]

_REF = "#/components/schemas/{name}"
_MEANING = {
    400: "The body is not JSON.",
    401: "A token is needed: `Authorization: Bearer TOKEN`.",
    403: "The host or origin is not allowed, or a key is wrong.",
    404: "There is no such thing.",
    409: "It cannot be done here or now.",
    413: "The body is too large.",
    415: "The body must be application/json.",
    422: "A parameter is unknown, missing or out of range.",
    429: "Too many calls; try again after Retry-After seconds.",
    503: "The engine does not run.",
}


def openapi(endpoints: Sequence[Endpoint], *, guarded: bool) -> dict[str, Any]:
    """The document. `guarded`: everything needs the token, not only actions."""
    types = [
        ErrorView,
        *(one.answers for one in endpoints),
        *(one.asks for one in endpoints if one.method == "POST"),
    ]
    _, components = msgspec.json.schema_components(_unique(types), ref_template=_REF)
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, guarded)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "recrawl",
            "version": __version__,
            "description": "Keeps a searchable copy of pages fresh. Times are seconds since 1970, rates per second.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _unique(types: list[Any]) -> list[Any]:
    found: list[Any] = []
    for one in types:
        if one not in found:
            found.append(one)
    return found


def _operation(endpoint: Endpoint, guarded: bool) -> dict[str, Any]:
    answers = {str(endpoint.status): _response("What was asked for.", _schema(endpoint.answers))}
    statuses = {403, 429, *endpoint.problems}
    statuses |= {400, 413, 415, 422} if endpoint.method == "POST" else {422}
    needs_token = guarded or endpoint.action
    if needs_token:
        statuses.add(401)
    for status in sorted(statuses):
        answers[str(status)] = _response(_MEANING[status], {"$ref": _REF.format(name="ErrorView")})
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": answers,
    }
    if needs_token:
        operation["security"] = [{"token": []}]
    if endpoint.method == "GET":
        operation["parameters"] = _parameters(endpoint.asks)
    elif endpoint.asks is not Nothing:
        content = {"application/json": {"schema": _schema(endpoint.asks)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _schema(kind: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_REF)
    return schema


def _response(meaning: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}


def _parameters(kind: Any) -> list[dict[str, Any]]:
    (_, components) = msgspec.json.schema_components([kind], ref_template=_REF)
    schema = components[kind.__name__]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": _without_null(value),
        }
        for name, value in schema["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has no null: leaving a parameter out is null."""
    if "anyOf" not in schema:
        return {key: value for key, value in schema.items() if key != "default" or value is not None}
    (rest,) = [one for one in schema["anyOf"] if one != {"type": "null"}]
    if "enum" in rest:
        rest = {**rest, "enum": [value for value in rest["enum"] if value is not None]}
    return dict(rest)
