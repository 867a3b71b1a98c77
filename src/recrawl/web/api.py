"""The endpoints of the HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.web import documents as told
from recrawl.web import requests as asked
from recrawl.web.endpoints import Endpoint

if TYPE_CHECKING:
    from recrawl.web.source import Source

__all__ = ["ENDPOINTS"]


async def _overview(source: Source, _query: asked.Nothing) -> told.Overview:
    return await source.overview()


async def _search(source: Source, query: asked.SearchQuery) -> told.SearchResult:
    return await source.search(query.q, query.site, query.limit, query.offset)


async def _pages(source: Source, query: asked.PagesQuery) -> told.Pages:
    return await source.pages(query)


async def _page(source: Source, query: asked.PageQuery) -> told.PageView:
    return await source.page(query.url)


async def _sites(source: Source, _query: asked.Nothing) -> told.Sites:
    return await source.sites()


async def _site(source: Source, query: asked.SiteQuery) -> told.SiteView:
    return await source.site(query.name)


async def _plan(source: Source, query: asked.PlanQuery) -> told.PlanView:
    return await source.plan(query.factor)


async def _robots(source: Source, query: asked.RobotsQuery) -> told.RobotsView:
    return await source.robots(query.service_factor)


async def _history(source: Source, query: asked.HistoryQuery) -> told.HistorySeries:
    names = [name.strip() for name in query.names.split(",") if name.strip()]
    return await source.history(query.seconds, names or None, query.points, query.end)


async def _changes(source: Source, query: asked.ChangesQuery) -> told.Changes:
    return await source.changes(query.since, query.limit)


async def _visit(source: Source, order: asked.UrlOrder) -> asked.Done:
    return await source.visit(order.url)


async def _pause(source: Source, order: asked.SiteOrder) -> asked.Done:
    return await source.pause(order.site)


async def _resume(source: Source, order: asked.SiteOrder) -> asked.Done:
    return await source.resume(order.site)


async def _weight(source: Source, order: asked.WeightOrder) -> asked.Done:
    return await source.set_weight(order.url, order.weight)


async def _remove(source: Source, order: asked.UrlOrder) -> asked.Done:
    return await source.remove(order.url)


async def _signals(source: Source, order: asked.SignalOrder) -> asked.Done:
    return await source.signal(order if isinstance(order, list) else [order])


async def _control(source: Source, order: asked.ControlOrder) -> asked.Done:
    return await source.switch(order)


async def _budget(source: Source, order: asked.BudgetOrder) -> asked.Done:
    return await source.set_budget(order.budget)


ENDPOINTS = (
    Endpoint(
        "GET", "/api/overview", "overview", "The engine and its copy at a glance.",
        asked.Nothing, told.Overview, _overview,
    ),
    Endpoint(
        "GET", "/api/search", "search", "Pages that match a query, the best first.",
        asked.SearchQuery, told.SearchResult, _search,
    ),
    Endpoint(
        "GET", "/api/pages", "pages", "The table of pages, sorted and filtered.",
        asked.PagesQuery, told.Pages, _pages,
    ),
    Endpoint(
        "GET", "/api/page", "page", "Everything about one page, with its history.",
        asked.PageQuery, told.PageView, _page, problems=(404,),
    ),
    Endpoint("GET", "/api/sites", "sites", "All sites.", asked.Nothing, told.Sites, _sites),
    Endpoint(
        "GET", "/api/site", "site", "One site: politeness, errors, exclusion.",
        asked.SiteQuery, told.SiteView, _site, problems=(404,),
    ),
    Endpoint(
        "GET", "/api/plan", "plan", "What more or less budget would give.", asked.PlanQuery, told.PlanView, _plan
    ),
    Endpoint(
        "GET", "/api/robots", "robots", "How many robots, and when to switch them.",
        asked.RobotsQuery, told.RobotsView, _robots,
    ),
    Endpoint(
        "GET", "/api/history", "history", "Measures over time.", asked.HistoryQuery, told.HistorySeries, _history
    ),
    Endpoint(
        "GET", "/api/changes", "changes", "The change feed above a cursor, in order, at least once.",
        asked.ChangesQuery, told.Changes, _changes,
    ),
    Endpoint(
        "POST", "/api/visit", "visit", "Access a page as soon as its site allows.",
        asked.UrlOrder, asked.Done, _visit, action=True, problems=(404, 409),
    ),
    Endpoint(
        "POST", "/api/pause", "pause", "Access no pages of a site until it is resumed; survives a restart.",
        asked.SiteOrder, asked.Done, _pause, action=True, problems=(404, 409),
    ),
    Endpoint(
        "POST", "/api/resume", "resume", "Access pages of a site again.",
        asked.SiteOrder, asked.Done, _resume, action=True, problems=(404, 409),
    ),
    Endpoint(
        "POST", "/api/weight", "weight", "How much a page counts; survives a restart.",
        asked.WeightOrder, asked.Done, _weight, action=True, problems=(404, 409),
    ),
    Endpoint(
        "POST", "/api/remove", "remove", "Forget a page's text and never access it again.",
        asked.UrlOrder, asked.Done, _remove, action=True, problems=(404, 409),
    ),
    Endpoint(
        "POST", "/api/signals", "signals", "Pages that have changed: they are due at once. One, or a list.",
        asked.SignalOrder, asked.Done, _signals, action=True, problems=(409,),
    ),
    Endpoint(
        "POST", "/api/control", "control", "Decide the number of active robots in another way.",
        asked.ControlOrder, asked.Done, _control, action=True, problems=(409,),
    ),
    Endpoint(
        "POST", "/api/budget", "budget", "Another budget, until the engine ends.",
        asked.BudgetOrder, asked.Done, _budget, action=True, problems=(409,),
    ),
)  # fmt: skip
