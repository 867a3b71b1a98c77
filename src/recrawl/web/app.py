"""The web application: API, metrics, events, static files and pages behind one guard."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from recrawl.web.api import ENDPOINTS
from recrawl.web.endpoints import json_response, problem_response, route_of
from recrawl.web.events import Events
from recrawl.web.guard import Guard
from recrawl.web.indexnow import IndexNow
from recrawl.web.login import Login
from recrawl.web.metrics import CONTENT_TYPE_LATEST, exposition
from recrawl.web.openapi import openapi
from recrawl.web.problems import Problem

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

    from recrawl.web.options import WebOptions
    from recrawl.web.source import Source

__all__ = ["ControlRoom", "make_app"]


class ControlRoom(Starlette):
    """The application. `events` must be closed before the server ends, so that its streams do."""

    def __init__(self, routes: list[BaseRoute], events: Events, options: WebOptions, read_only: bool) -> None:
        super().__init__(routes=routes)
        self.events = events
        self._options, self._read_only = options, read_only

    def build_middleware_stack(self) -> ASGIApp:
        handlers: dict[Any, Any] = {Problem: _problem, HTTPException: _http_error}
        inner = ExceptionMiddleware(self.router, handlers=handlers)
        return Guard(inner, self._options, self._read_only)


def make_app(source: Source, options: WebOptions) -> ControlRoom:
    """Everything that is served, from one source."""
    events = Events(source, options)
    login, indexnow = Login(options), IndexNow(source, options)
    description = openapi(ENDPOINTS, guarded=options.guarded)

    async def describe(_request: Request) -> Response:
        return json_response(description)

    async def metrics(_request: Request) -> Response:
        return Response(exposition(await source.overview()), media_type=CONTENT_TYPE_LATEST)

    routes: list[BaseRoute] = [
        *(route_of(endpoint, source) for endpoint in ENDPOINTS),
        Route("/api/openapi.json", describe, methods=["GET"]),
        Route("/api/events", events.answer, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/healthz", partial(_health, source), methods=["GET"]),
        Route("/login", login.show, methods=["GET"]),
        Route("/login", login.take, methods=["POST"]),
        Route("/indexnow", indexnow.one, methods=["GET"]),
        Route("/indexnow", indexnow.many, methods=["POST"]),
        *_static(),
        *_views(source, options),
    ]
    return ControlRoom(routes, events, options, source.read_only)


def _static() -> list[BaseRoute]:
    """Files of the package, and of nowhere else."""
    folder = files("recrawl.web") / "static"
    if not folder.is_dir():
        return []
    return [Mount("/static", StaticFiles(directory=str(folder)), name="static")]


def _views(source: Source, options: WebOptions) -> list[BaseRoute]:
    from recrawl.web import views

    return views.routes(source, options)


async def _health(source: Source, _request: Request) -> Response:
    """200 while the store can be read and, in the engine's own process, the engine runs."""
    await source.store.last_revision()
    status = await source.status()
    running = status is not None and bool(status["running"])
    fine = running or source.read_only
    return json_response(
        {"status": "ok" if fine else "not running", "running": running}, 200 if fine else 503
    )


async def _problem(request: Request, error: Exception) -> Response:
    problem = error if isinstance(error, Problem) else Problem(500, "failed", "failed")
    if request.url.path.startswith("/api/"):
        return problem_response(problem)
    from recrawl.web import views

    shown = getattr(views, "problem", None)
    if shown is not None:
        response: Response = shown(request, problem)
        return response
    return PlainTextResponse(f"{problem.detail}\n", problem.status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: ("not_found", "there is nothing here"), 405: ("wrong_method", "not by this method")}
    word, detail = words.get(error.status_code, ("failed", str(error.detail)))
    response = await _problem(request, Problem(error.status_code, word, detail))
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response
