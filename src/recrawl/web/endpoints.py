"""Typed endpoints: what is asked, what is answered, how both are described. The OpenAPI document is made from these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable  # noqa: TC003 - fields of a dataclass
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from recrawl.web.documents import ErrorView
from recrawl.web.problems import Problem
from recrawl.web.requests import Nothing

if TYPE_CHECKING:
    from starlette.requests import Request

    from recrawl.web.source import Source

__all__ = ["Endpoint", "json_response", "problem_response", "route_of"]


@dataclass(frozen=True)
class Endpoint:
    """One method of one path.

    A GET reads `asks` from the query, a POST from a JSON body. `action`: it changes something, and needs a token.
    """

    method: str
    path: str
    name: str
    summary: str
    asks: Any
    answers: Any
    handle: Callable[[Source, Any], Awaitable[Any]]
    action: bool = False
    problems: tuple[int, ...] = ()
    status: int = 200


def json_response(document: Any, status: int = 200) -> Response:
    """A document as JSON; nobody keeps it."""
    body = msgspec.json.encode(document)
    return Response(body, status, {"Cache-Control": "no-store"}, media_type="application/json")


def problem_response(problem: Problem) -> Response:
    """Why something was not done, as JSON."""
    document = ErrorView(status=problem.status, error=problem.error, detail=problem.detail)
    response = json_response(document, problem.status)
    if problem.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def route_of(endpoint: Endpoint, source: Source) -> Route:
    """The endpoint as the framework takes it."""

    async def run(request: Request) -> Response:
        asked = await _asked(endpoint, request)
        return json_response(await endpoint.handle(source, asked), endpoint.status)

    return Route(endpoint.path, run, methods=[endpoint.method], name=endpoint.name)


async def _asked(endpoint: Endpoint, request: Request) -> Any:
    try:
        if endpoint.method == "GET":
            pairs = request.query_params.multi_items()
            if len({name for name, _ in pairs}) < len(pairs):
                raise Problem(422, "invalid", "a parameter is given twice")
            found = msgspec.convert(dict(pairs), endpoint.asks, strict=False)
            for name, _ in pairs:
                if getattr(found, name) is None:  # the word "null"; what is not wanted is left out
                    raise Problem(422, "invalid", f"{name}: null is no value")
            return found
        if endpoint.asks is Nothing:
            return Nothing()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Problem(415, "unsupported_type", "the body must be application/json")
        return msgspec.convert(_whole(msgspec.json.decode(await request.body())), endpoint.asks)
    except msgspec.ValidationError as error:
        raise Problem(422, "invalid", str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, "malformed", f"the body is not JSON: {error}") from None


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is a whole number too.

    >>> _whole({"a": [1.0, 2.5, "3.0"]})
    {'a': [1, 2.5, '3.0']}
    """
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
