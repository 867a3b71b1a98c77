"""Where everything that is shown comes from: a data directory, read beside a running engine or without one.

`Source` reads store and index only, and refuses actions; `live.LiveSource` adds what the engine in the same process
knows, and its actions.
"""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from recrawl.engine.history import SERIES
from recrawl.engine.status import process_alive
from recrawl.web.catalogue import read_catalogue
from recrawl.web.documents import (
    Change,
    Changes,
    HistorySeries,
    Hit,
    Overview,
    Pages,
    PageView,
    PlanView,
    RobotsView,
    SearchResult,
    SiteRow,
    Sites,
    SiteView,
)
from recrawl.web.kept import Kept
from recrawl.web.no_actions import NoActions
from recrawl.web.overview import alarms, overview, share
from recrawl.web.page_view import page_row, page_view, safe_link
from recrawl.web.plan_view import at_budget, plan_answer
from recrawl.web.problems import invalid, not_found
from recrawl.web.requests import PagesQuery
from recrawl.web.robots_view import robots_view

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recrawl.engine.fitted import FittedQueue
    from recrawl.engine.insight import Insight, PageInsight
    from recrawl.engine.protocols import Index, Store
    from recrawl.engine.records import PageRecord, Revision
    from recrawl.web.catalogue import Catalogue, SiteSums
    from recrawl.web.plan_view import PlanAnswer

__all__ = ["SERIES", "Source"]

_DIGITS = 5  # of a number in a chart


class Source(NoActions):
    """Reads a store and an index. What costs much is made in a worker and kept for seconds."""

    read_only = True

    def __init__(self, store: Store, index: Index, data: Path | None = None) -> None:
        self.store, self.index, self._data = store, index, data
        self._kept = Kept()
        # Searches for thresholds take seconds: one after the other, and in nobody's way.
        self._alone = ThreadPoolExecutor(1, thread_name_prefix="recrawl-robots")

    # What differs beside the engine and inside it.

    def now(self) -> float:
        """The time of everything that is shown."""
        return time.time()

    async def status(self) -> dict[str, Any] | None:
        """The engine's state document; None: none has run yet."""
        kept = await self.store.load("status")
        if kept is None:
            return None
        document: dict[str, Any] = json.loads(kept)
        document["running"] = document["running"] and process_alive(document["process"])
        return document

    async def latest(self) -> dict[str, float]:
        """The newest sample of the history."""
        now = self.now()
        points = await self.store.history(now - 60.0, now + 60.0, 1000)
        return dict(zip(SERIES, points[-1].values, strict=False)) if points else {}

    async def insight(self) -> Insight:
        """What is believed, as the engine last kept it."""
        from recrawl.engine.insight import Insight

        return await self._kept.get("insight", 2.0, lambda: Insight.of(self.store))

    async def copies(self, urls: Sequence[str], now: float) -> dict[str, tuple[float | None, float | None]]:
        """Of a few pages: when they were last seen, and the probability that their copies are current."""
        records = [record for record in await self.store.some_pages(urls) if record is not None]
        chances = (await self.insight()).current(records, now) if records else []
        return {
            record.url: (record.last_access, share(chance))
            for record, chance in zip(records, chances, strict=True)
        }

    async def paused(self) -> list[str]:
        """Sites that are paused."""
        from recrawl.engine.actions import load_paused

        return sorted(await load_paused(self.store))

    def due(self, page: PageInsight) -> float | None:
        """When a page is due next."""
        return page.next_due

    def manners(self, _site: str) -> dict[str, Any]:
        """What politeness and exclusion know of a site, by field of `SiteView`."""
        return {}

    # Answers.

    async def overview(self) -> Overview:
        """Is my copy fresh?"""
        return await self._kept.get("overview", 0.8, self._overview)

    async def _overview(self) -> Overview:
        now, status, latest = self.now(), await self.status(), await self.latest()
        statistics, watermark = await self.store.statistics(), await self._watermark()
        paused, disk = await self.paused(), self._disk()
        uncommitted = max(0, statistics["revisions"] - watermark)
        freshness = None if status is None else status.get("expected_freshness")
        facts = {
            "read_only": self.read_only,
            "obsolescence": share(None if freshness is None else 1.0 - freshness),
            "sites": await self._count_sites(status),
            "paused_sites": paused,
            "uncommitted": uncommitted,
            "disk_free_bytes": None if disk is None else disk[0],
            "alarms": alarms(now, status, latest, uncommitted=uncommitted, disk=disk, paused=paused),
        }
        return overview(now, statistics, status, latest, facts)

    async def _count_sites(self, status: dict[str, Any] | None) -> int:
        if status is not None and "sites" in status:
            return int(status["sites"])
        return len((await self.catalogue()).sites)

    async def _watermark(self) -> int:
        from recrawl.errors import RecrawlError

        try:
            return await self.index.watermark()
        except RecrawlError:  # there is none yet, or it is being built anew
            return 0

    def _disk(self) -> tuple[int, int] | None:
        if self._data is None or not self._data.exists():
            return None
        usage = shutil.disk_usage(self._data)
        return usage.free, usage.total

    async def search(
        self, query: str, site: str | None = None, limit: int = 10, offset: int = 0
    ) -> SearchResult:
        """Pages that match, each with the probability that its copy is current."""
        begun, now = time.perf_counter(), self.now()
        count, hits = await self.index.search(query, site=site, limit=limit, offset=offset)
        copies = await self.copies([hit.url for hit in hits], now) if hits else {}
        unknown = (None, None)
        found = [
            Hit(
                url=hit.url,
                href=safe_link(hit.url),
                site=hit.site,
                title=hit.title,
                snippet=hit.snippet,
                marks=list(hit.marks),
                score=hit.score,
                revision=hit.revision,
                last_seen=copies.get(hit.url, unknown)[0],
                current_probability=copies.get(hit.url, unknown)[1],
            )
            for hit in hits
        ]
        took = time.perf_counter() - begun
        return SearchResult(
            query=query, site=site, count=count, offset=offset, limit=limit, took_seconds=took, hits=found
        )

    async def catalogue(self) -> Catalogue:
        """All pages as arrays."""
        return await self._kept.get("catalogue", 5.0, self._catalogue, stale=True)

    async def _catalogue(self) -> Catalogue:
        return await read_catalogue(self.store, await self.insight(), self.now())

    async def pages(self, query: PagesQuery) -> Pages:
        """Some pages of the table."""
        catalogue = await self.catalogue()
        count, urls = await asyncio.to_thread(catalogue.choose, query)
        found = await self.store.some_pages(urls) if urls else []
        rows = await self._rows([record for record in found if record is not None])
        return Pages(
            count=count,
            total=len(catalogue),
            offset=query.offset,
            limit=query.limit,
            sort=query.sort,
            descending=query.descending,
            as_of=catalogue.as_of,
            rows=rows,
        )

    async def _rows(self, records: Sequence[PageRecord]) -> list[Any]:
        insight = await self.insight()
        pages = await asyncio.to_thread(insight.pages, records, self.now())
        return [page_row(page, self.due(page)) for page in pages]

    async def record(self, url: str) -> PageRecord:
        """One page as the store has it."""
        from recrawl.engine.urls import canonical_url

        name = canonical_url(url)
        record = await self.store.page(name) if name else None
        if record is None:
            raise not_found(f"{url}: this page is not known")
        return record

    async def page(self, url: str) -> PageView:
        """Everything about one page."""
        record = await self.record(url)
        now, insight = self.now(), await self.insight()
        text, notes = await self.store.text(record.url), await self.store.accesses(record.url)
        searchable = (
            record.digest is not None
            and record.state.value == "known"
            and await self._watermark() >= record.revision
        )

        def work() -> PageView:
            (page,) = insight.pages([record], now)
            return page_view(page, self.due(page), text, searchable, notes, insight, now)

        return await asyncio.to_thread(work)

    async def sites(self) -> Sites:
        """All sites with their sums."""
        sums = await self._kept.get("sites", 5.0, self._site_sums)
        paused = set(await self.paused())
        rows = [self._site_row(one, one.site in paused) for one in sums]
        return Sites(count=len(rows), rows=rows)

    async def _site_sums(self) -> list[SiteSums]:
        catalogue = await self.catalogue()
        return await asyncio.to_thread(catalogue.site_sums)

    def _site_row(self, sums: SiteSums, paused: bool) -> SiteRow:
        manners = self.manners(sums.site)
        closed = manners.get("closed_until")
        return SiteRow(
            site=sums.site,
            pages=sums.pages,
            searchable=sums.searchable,
            paused=paused,
            reachable=closed is None and (sums.failing == 0 or sums.failing < sums.states["known"]),
            closed_until=closed,
            failing_pages=sums.failing,
            delay_seconds=manners.get("delay"),
            access_rate=sums.access_rate,
            change_rate=sums.change_rate,
            obsolescence=share(sums.obsolescence),
            last_seen=None if math.isnan(sums.last_seen) else sums.last_seen,
        )

    async def site(self, name: str) -> SiteView:
        """One site: politeness, errors, exclusion."""
        sums = {one.site: one for one in await self._kept.get("sites", 5.0, self._site_sums)}
        if name not in sums:
            raise not_found(f"{name}: this site is not known")
        manners = self.manners(name)
        failing = await self.pages(PagesQuery(sort="failures", descending=True, site=name, limit=20))
        errors = [row for row in failing.rows if row.failures]
        records = await self.store.some_pages([row.url for row in errors]) if errors else []
        return SiteView(
            row=self._site_row(sums[name], name in await self.paused()),
            states=sums[name].states,
            errors=errors,
            reasons={record.url: record.reason for record in records if record is not None},
            **{key: value for key, value in manners.items() if key not in ("closed_until", "delay")},
        )

    async def plan(self, factor: float = 1.0) -> PlanView:
        """What would more or less budget give?"""
        status, insight, catalogue = await self.status(), await self.insight(), await self.catalogue()
        budget = insight.budget
        answer = await self._kept.get(("plan", catalogue.as_of, budget), 60.0, lambda: self._plan(budget))
        present = None
        if answer.rated is not None:
            present = await asyncio.to_thread(at_budget, answer.rated, answer.share, factor * budget)
        freshness = None if status is None else status.get("expected_freshness")
        return PlanView(
            time=self.now(),
            pages=answer.pages,
            sampled=0 if answer.rated is None else len(answer.rated),
            policy=insight.policy,
            budget_per_second=budget if math.isfinite(budget) else None,
            price=insight.price if math.isfinite(insight.price) else None,
            obsolescence=share(None if freshness is None else 1.0 - freshness),
            present=present,
            curve=answer.curve,
            never_visited=answer.never_visited,
            never_visited_pages=answer.never_visited_pages,
            intervals=answer.intervals,
            policies=answer.policies,
            sites_at_ceiling=self.sites_at_ceiling(),
        )

    async def _plan(self, budget: float) -> PlanAnswer:
        return await asyncio.to_thread(plan_answer, await self.catalogue(), budget)

    def sites_at_ceiling(self) -> list[str]:
        """Sites that would be accessed more often if politeness allowed it."""
        return []

    async def robots(self, service_factor: float = 1.0) -> RobotsView:
        """How many robots, and when to switch them."""
        return await self._kept.get(("robots", service_factor), 2.0, lambda: self._robots(service_factor))

    async def _robots(self, service_factor: float) -> RobotsView:
        now, status, model = self.now(), await self.status(), await self.queue_model()
        work = partial(robots_view, now, status, model, service_factor)
        return await asyncio.get_running_loop().run_in_executor(self._alone, work)

    async def queue_model(self) -> FittedQueue | None:
        """The index queue as it was fitted; None: not yet."""
        from recrawl.engine.fitted import KEPT_AS, FittedQueue

        kept = await self.store.load(KEPT_AS)
        return None if kept is None else FittedQueue.from_bytes(kept)

    async def history(
        self,
        seconds: float = 3600.0,
        names: Sequence[str] | None = None,
        points: int = 400,
        end: float | None = None,
    ) -> HistorySeries:
        """Measures over time, at most so many points."""
        chosen = list(names or SERIES)
        unknown = sorted(set(chosen) - set(SERIES))
        if unknown:
            raise invalid(f"names: {unknown[0]!r} is no series; known are {', '.join(SERIES)}")
        until = self.now() if end is None else end
        found = await self.store.history(until - seconds, until, points)
        places = {name: SERIES.index(name) for name in chosen}
        return HistorySeries(
            begin=until - seconds,
            end=until,
            step_seconds=found[0].seconds if found else 0.0,
            times=[round(point.time + 0.5 * point.seconds, 3) for point in found],
            series={
                name: [
                    _rounded(point.values[place] if place < len(point.values) else math.nan)
                    for point in found
                ]
                for name, place in places.items()
            },
        )

    async def changes(self, since: int = 0, limit: int = 100) -> Changes:
        """The change feed above a cursor."""
        found = await self.store.revisions(since, limit + 1)
        shown = [_change(revision) for revision in found[:limit]]
        return Changes(cursor=shown[-1].cursor if shown else since, more=len(found) > limit, changes=shown)


def _rounded(value: float) -> float | None:
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def _change(revision: Revision) -> Change:
    return Change(
        cursor=revision.number,
        kind=revision.kind,  # type: ignore[arg-type]
        url=revision.url,
        site=revision.site,
        time=revision.time,
        digest=revision.digest.hex() if revision.digest else None,
        title=revision.title if revision.latest and revision.kind != "removed" else None,
        replaced=not revision.latest,
    )
