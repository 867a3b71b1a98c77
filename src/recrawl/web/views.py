"""The pages: HTML for people, from the same documents that the API answers with. They read without a script."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlencode

import jinja2
import msgspec
from starlette.responses import HTMLResponse
from starlette.routing import Route

from recrawl._version import __version__
from recrawl.web import charting
from recrawl.web.forms import ACTIONS, Actions
from recrawl.web.glossary import CONTROLS, GLOSSARY
from recrawl.web.problems import Problem, invalid
from recrawl.web.requests import PagesQuery
from recrawl.web.wording import FILTERS, percent, significant

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from recrawl.web.documents import BudgetValue, Overview, PlanView
    from recrawl.web.source import Source

__all__ = ["problem", "routes"]

ROOMS = (
    ("/", "Overview"),
    ("/search", "Search"),
    ("/pages", "Pages"),
    ("/sites", "Sites"),
    ("/plan", "Plan"),
    ("/robots", "Robots"),
)
SPANS = {"10 min": 600, "1 h": 3600, "6 h": 21_600, "1 d": 86_400, "1 week": 604_800}
SORTS = {
    "due": "next due",
    "rate": "change rate",
    "interval": "interval",
    "seen": "last seen",
    "current": "probability current",
    "links": "in-links",
    "weight": "weight",
    "changes": "changes",
    "accesses": "accesses",
    "changed": "last change",
    "failures": "failures",
    "url": "URL",
}
COLUMNS = (
    ("url", "Page", "Title and URL", ""),
    ("rate", "Change rate", "Changes per unit of time, with a 90 % credible interval", "number"),
    ("interval", "Every", "Time between two accesses at the present price", "number"),
    ("seen", "Last seen", "End of the last access that brought news", "number"),
    ("due", "Next due", "When the freshness an access regains reaches the price", "number"),
    ("current", "Current", "Probability that the copy is what the page is now", "number"),
    ("links", "In-links", "Pages that link to it", "number"),
    ("weight", "Weight", "How much the page counts", "number"),
    ("changes", "Changes / accesses", "Changes seen in so many accesses", "number"),
)
WAITING = {
    "plan": {"heading": "What would more or less budget give?", "what": "The curve is being computed"},
    "robots": {"heading": "How many robots, and when?", "what": "The queue is being fitted"},
}
CASES = (
    ("cost", "Cost, per s", "number"),
    ("loss", "Loss, per page", "percent"),
    ("obsolete", "Obsolete in buffer, per page", "percent"),
    ("starvation", "Starvation, share of time", "percent"),
    ("response_time", "Response time", "span"),
    ("active_robots", "Active robots", "number"),
)
LARGEST_FIRST = frozenset({"rate", "links", "weight", "changes"})
_LISTED = 500  # sites in a list of choices
_ROWS = 12  # of the table beside a chart
_PATIENCE_SECONDS = 2.0  # before a page is shown without what takes long
_BUDGET_STEPS, _SERVICE_STEPS = 12, 8  # to each side, four of them double

Page = tuple[str, dict[str, Any]]
Answer = TypeVar("Answer")


def factor_of(step: int) -> float:
    """The multiple that a step of a slider stands for: four steps double it.

    >>> factor_of(0), factor_of(4), factor_of(-8)
    (1.0, 2.0, 0.25)
    """
    return float(2.0 ** (step / 4.0))


def with_query(query: Mapping[str, Any], **changed: Any) -> str:
    """A query string with some values changed, empty ones left out.

    >>> with_query({"q": "a&b", "site": None}, offset=10)
    'q=a%26b&offset=10'
    """
    return urlencode({name: value for name, value in {**query, **changed}.items() if value not in (None, "")})


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("recrawl.web", "html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(FILTERS)
    environment.globals.update(
        rooms=ROOMS, version=__version__, glossary=GLOSSARY, controls=CONTROLS, with_query=with_query
    )
    return environment


_TEMPLATES = _environment()


def _render(request: Request, name: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A page with what all pages show. A notice that was left by an action is shown once."""
    fragment = "HX-Request" in request.headers
    notice = "" if fragment else unquote(request.cookies.get("notice", ""))[:500]
    state = request.state
    context = {
        "room": "",
        "running": None,
        "now": 0.0,
        "csrf": getattr(state, "csrf", ""),
        "may_act": getattr(state, "may_act", False),
        "read_only": getattr(state, "read_only", True),
        "notice": notice.removeprefix("!"),
        "notice_kind": "trouble" if notice.startswith("!") else "done",
        "here": str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
        **context,
    }
    response = HTMLResponse(_TEMPLATES.get_template(name).render(context), status_code=status)
    if notice:
        response.delete_cookie("notice", path="/")
    return response


def problem(request: Request, error: Problem) -> Response:
    """Why there is nothing to show."""
    headings = {404: "Not found", 409: "Not done", 422: "That makes no sense", 403: "Not allowed"}
    return _render(
        request,
        "problem.html",
        status=error.status,
        heading=headings.get(error.status, "Something went wrong"),
        detail=error.detail,
        back="/",
    )


def _number(request: Request, name: str, low: int, high: int) -> int:
    """A whole number of the query, held within bounds; 0 where it is none."""
    try:
        value = int(request.query_params.get(name, "0"))
    except ValueError:
        value = 0
    return min(high, max(low, value))


async def _soon(request: Request, answer: Awaitable[Answer]) -> Answer | None:
    """An answer, or None when it takes long: the page then says so and asks again. Parts of a page wait for theirs."""
    task = asyncio.ensure_future(answer)
    whole = request.headers.get("HX-Target", "main") == "main"
    await asyncio.wait({task}, timeout=_PATIENCE_SECONDS if whole else None)
    if task.done():
        return task.result()
    task.add_done_callback(
        lambda late: late.cancelled() or late.exception()
    )  # told when it is asked for again
    return None


class Pages:
    """What each page needs of the source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def _frame(self, room: str) -> tuple[Overview, dict[str, Any]]:
        view = await self._source.overview()
        return view, {"room": room, "running": view.running, "now": view.time}

    async def _site_names(self) -> list[str]:
        return [row.site for row in (await self._source.sites()).rows[:_LISTED]]

    async def overview(self, request: Request) -> Page:
        """Is my copy fresh?"""
        view, frame = await self._frame("Overview")
        young = view.running_seconds is not None and view.running_seconds < SPANS["10 min"]
        span = request.query_params.get("span", "")
        span = span if span in SPANS else "10 min" if young else "1 h"
        names = charting.HISTORY
        fragment = "HX-Request" in request.headers  # the live parts show no history
        seconds = 1.0 if fragment else float(SPANS[span])
        history = await self._source.history(seconds, names, points=2 if fragment else _ROWS)
        charts = {"obsolescence": charting.obsolescence(), "accesses": charting.accesses()}
        return "overview.html", frame | {
            "overview": view,
            "history": history,
            "charts": charts,
            "spans": list(SPANS.items()),
            "span_name": span,
            "span_seconds": SPANS[span],
        }

    async def search(self, request: Request) -> Page:
        """A box and what it found."""
        view, frame = await self._frame("Search")
        query = request.query_params.get("q", "").strip()[:1000]
        site = request.query_params.get("site", "")[:300] or None
        offset = _number(request, "offset", 0, 10_000)
        result = await self._source.search(query, site=site, limit=10, offset=offset) if query else None
        return "search.html", frame | {
            "query": query,
            "site": site,
            "sites": await self._site_names(),
            "result": result,
            "searchable": view.searchable,
        }

    async def pages(self, request: Request) -> Page:
        """The table of pages."""
        _, frame = await self._frame("Pages")
        asked = {name: value for name, value in request.query_params.items() if value}
        try:
            query = msgspec.convert({"limit": 50, **asked}, PagesQuery, strict=False)
        except msgspec.ValidationError as error:
            raise invalid(str(error)) from None
        filters = {name: getattr(query, name) for name in ("matching", "site", "state", "sort")}
        return "pages.html", frame | {
            "query": query,
            "filters": filters | {"descending": "1" if query.descending else ""},
            "pages": await self._source.pages(query),
            "sites": await self._site_names(),
            "sorts": SORTS,
            "columns": COLUMNS,
            "largest_first": LARGEST_FIRST,
        }

    async def page(self, request: Request) -> Page:
        """One page and its history."""
        _, frame = await self._frame("Pages")
        view = await self._source.page(request.query_params.get("url", ""))
        now = frame["now"]
        charts = {"belief": charting.belief(view, now)}
        return "page.html", frame | {
            "view": view,
            "charts": charts,
            "timeline": charting.timeline(view.accesses, now),
        }

    async def sites(self, _request: Request) -> Page:
        """The table of sites."""
        _, frame = await self._frame("Sites")
        return "sites.html", frame | {"view": await self._source.sites()}

    async def site(self, request: Request) -> Page:
        """One site: politeness, exclusion, errors."""
        _, frame = await self._frame("Sites")
        return "site.html", frame | {"view": await self._source.site(request.query_params.get("name", ""))}

    async def plan(self, request: Request) -> Page:
        """What would more or less budget give?"""
        overview, frame = await self._frame("Plan")
        step = _number(request, "step", -_BUDGET_STEPS, _BUDGET_STEPS)
        view = await _soon(request, self._source.plan(factor_of(step)))
        if view is None:
            return "waiting.html", frame | {**WAITING["plan"]}
        base = (await self._source.plan(1.0)).present if step else view.present
        return "plan.html", frame | {
            "view": view,
            "paced": overview.budget_per_second is not None,
            "base": base,
            "charts": {"curve": charting.curve(view, base.budget_per_second if base else None)},
            "sentence": _budget_sentence(view, base, step),
            **_slider(step, _BUDGET_STEPS),
        }

    async def robots(self, request: Request) -> Page:
        """How many robots, and when."""
        live, frame = await self._frame("Robots")
        step = _number(request, "service_step", -_SERVICE_STEPS, _SERVICE_STEPS)
        view = await _soon(request, self._source.robots(factor_of(step)))
        if view is None:
            return "waiting.html", frame | {**WAITING["robots"]}
        modes = [row.robots for row in view.thresholds]
        given = view.control == "thresholds"  # what was given can be changed
        return "robots.html", frame | {
            "view": view,
            "live": live,
            "charts": {
                "fleet": charting.fleet(view),
                "occupancy": charting.occupancy(view),
                "laws": [charting.law(law) for law in view.laws],
            },
            "cases": CASES,
            "modes": ", ".join(map(str, modes)) if given else "",
            "thresholds": ", ".join(map(str, view.buffer.thresholds)) if given else "",
            **_slider(step, _SERVICE_STEPS),
        }

    async def robots_now(self, _request: Request) -> Page:
        """The live part of it, from the overview alone."""
        live, frame = await self._frame("Robots")
        return "_robots_now.html", frame | {"live": live}


def _slider(step: int, most: int) -> dict[str, Any]:
    factors = [f"{factor_of(place):.6g}" for place in range(-most, most + 1)]
    return {
        "step": step,
        "factor": factor_of(step),
        "least_step": -most,
        "most_step": most,
        "factors": factors,
    }


def _budget_sentence(view: PlanView, base: BudgetValue | None, step: int) -> str:
    if view.present is None or base is None:
        return ""
    if step == 0:
        return "Move the slider, or click on the curve, to see what another budget would give."
    times = significant(factor_of(step))
    return (
        f"{times} times the accesses would bring the least obsolescence from {percent(base.obsolescence)} "
        f"to {percent(view.present.obsolescence)}."
    )


def routes(source: Source, _options: object = None) -> list[BaseRoute]:
    """All pages and the actions of their forms."""
    pages, actions = Pages(source), Actions(source)

    def shown(build: Callable[[Request], Awaitable[Page]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                name, context = await build(request)
            except Problem as error:
                return problem(request, error)
            return _render(request, name, **context)

        return answer

    names = ("search", "pages", "page", "sites", "site", "plan", "robots")
    found: list[BaseRoute] = [Route("/", shown(pages.overview), name="home")]
    found += [Route(f"/{name}", shown(getattr(pages, name)), name=f"see-{name}") for name in names]
    found.append(Route("/robots/now", shown(pages.robots_now), name="see-robots-now"))
    found += [Route(f"/do/{name}", actions.route(name), methods=["POST"]) for name in ACTIONS]
    return found
