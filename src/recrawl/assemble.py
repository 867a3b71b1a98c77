"""From settings to a wired engine."""

from __future__ import annotations

import asyncio
import csv
import json
import math
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl.engine.automatic import CostSettings
from recrawl.engine.conclude import Patience
from recrawl.engine.engine import Engine
from recrawl.engine.extract import extract
from recrawl.engine.fitting import Apart
from recrawl.engine.guard import Guard
from recrawl.engine.http_access import HttpAccessor
from recrawl.engine.options import AccessOptions, ExtractOptions, PolitenessOptions, SiteOptions, secret
from recrawl.engine.parts import Behaviour, World
from recrawl.engine.politeness import Politeness
from recrawl.engine.records import Access, NewPage
from recrawl.engine.scheduler import SchedulerSettings
from recrawl.engine.sitemaps import read_sitemaps
from recrawl.engine.urls import Scope, Traps, canonical_url, origin_of, site_of
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from recrawl.engine.protocols import Clock, Index, Store
    from recrawl.engine.records import Content, Delivery, Outcome, PageRecord
    from recrawl.settings import Settings

__all__ = ["engine_of"]

_CHUNK = 1_000  # pages of a sitemap remembered at once
# Of a thread that computes while others wait for the interpreter: a search waits for it several times.
_TURN_SECONDS = 0.001
_REMEMBERED = 65_536  # answers of the scope, some 10 MB


@dataclass
class RunScope:
    """Which pages belong to the run: scope, bounds against traps, and the most pages."""

    scope: Scope
    max_pages: int
    known: Callable[[], Mapping[str, Any]] = dict
    weights: Mapping[str, float] = field(default_factory=dict)
    traps: Traps = field(default_factory=Traps)
    _again: Traps = field(default_factory=Traps)  # a second count, of pages that earlier runs admitted
    _inside: dict[str, bool] = field(default_factory=dict, repr=False)  # most links lead to the same pages

    def admits(self, url: str, depth: int) -> bool:
        """Whether a page, so many links from a seed, belongs to the run and is no trap."""
        inside = self._inside.get(url)
        if inside is None:
            if len(self._inside) >= _REMEMBERED:
                self._inside.clear()
            inside = self._inside[url] = self.scope.contains(url)
        if not inside or self.scope.is_too_deep(depth):
            return False
        known = self.known()
        return url in known or (len(known) < self.max_pages and self.traps.admit(url) is None)

    def note(self, url: str) -> None:
        """A page that was admitted by an earlier run counts too, once all of them are `noted`."""
        self._again.admit(url)

    def noted(self) -> None:
        """All pages of earlier runs were counted."""
        self.traps.restore(self._again.shapes)
        self._again = Traps()

    def kept(self) -> bytes:
        """What `restore` needs to bound pages as before."""
        return json.dumps(self.traps.kept()).encode()

    def restore(self, kept: bytes) -> None:
        """Go on from what an earlier run kept."""
        self.traps.restore(json.loads(kept))

    def site_of(self, url: str) -> str:
        """The site of a page."""
        return site_of(url)

    def weight_of(self, url: str) -> float | None:
        """The weight that was given to a page that is not known yet."""
        return self.weights.get(url) if self.weights and url not in self.known() else None


class CourteousAccessor:
    """An accessor that tells politeness of each site's crawl-delay before its first page is accessed."""

    def __init__(self, accessor: HttpAccessor, politeness: Politeness) -> None:
        self.inner = accessor
        self._politeness = politeness
        self._asked: set[str] = set()

    async def access(self, page: PageRecord) -> Access:
        """Access a page, conditionally when its etag or date is known."""
        if page.site not in self._asked:
            self._politeness.ask_delay(page.site, await self.inner.exclusion.crawl_delay(page.url))
            self._asked.add(page.site)
        return await self.inner.access(page)

    async def close(self) -> None:
        """Close connections."""
        await self.inner.close()


class Extractor:
    """Extraction with each site's options; very large pages in a process of their own."""

    def __init__(self, sites: Mapping[str, SiteOptions], large_bytes: int) -> None:
        self._sites = {name: site.extract for name, site in sites.items()}
        self._large = large_bytes
        self._processes: ProcessPoolExecutor | None = None

    def __call__(self, access: Access) -> tuple[Outcome, Content | None, str]:
        """What a body contains. Called in a thread."""
        options = self._sites.get(site_of(access.url), ExtractOptions())
        if len(access.body) > self._large:
            if self._processes is None:
                import multiprocessing

                # Not a fork: this process has threads.
                self._processes = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
            found = self._processes.submit(extract, access, options).result()
        else:
            found = extract(access, options)
        return found.outcome, found.content, found.reason

    def close(self) -> None:
        """End the process, if there is one."""
        if self._processes is not None:
            self._processes.shutdown(wait=False, cancel_futures=True)


@dataclass
class Discovery:
    """Seeds or a list of URLs, then sitemaps."""

    urls: tuple[str, ...]
    listed: bool  # a fixed list: no sitemaps
    accessor: HttpAccessor
    scope: RunScope
    clock: Clock
    problems: dict[str, str] = field(default_factory=dict)

    async def __call__(self) -> AsyncIterator[list[NewPage]]:
        """All pages that are known without following links, in pieces."""
        now = self.clock.time()
        weights, known = self.scope.weights, self.scope.known()
        yield [NewPage(url, site_of(url), 0, now, weights.get(url)) for url in self.urls]
        # Pages found by links are weighted when they are found; here those that are known, for a file that was edited.
        weighted = [url for url in weights if url in known]
        for place in range(0, len(weighted), _CHUNK):
            yield [
                NewPage(url, site_of(url), 0, now, weights[url]) for url in weighted[place : place + _CHUNK]
            ]
        if self.listed:
            return
        chunk: list[NewPage] = []
        async for entry in read_sitemaps(await self._sitemaps(), self.accessor.read, problems=self._problem):
            if self.scope.admits(entry.url, 1):
                weight = weights.get(entry.url)
                chunk.append(NewPage(entry.url, site_of(entry.url), 1, now, weight, entry.last_modified))
            if len(chunk) == _CHUNK:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    async def _sitemaps(self) -> list[str]:
        found: list[str] = []
        for origin in dict.fromkeys(origin_of(url) for url in self.urls):
            named = await self.accessor.exclusion.sitemaps(f"{origin}/")
            found += named or [f"{origin}/sitemap.xml"]
        return found

    def _problem(self, url: str, reason: str) -> None:
        self.problems[url] = reason


def _site_options(settings: Settings) -> dict[str, SiteOptions]:
    found = {}
    for name, table in settings.site.items():
        rest = dict(table)
        selectors = {key: tuple(rest.pop(key, ())) for key in ("content", "remove", "ignore")}
        for key in ("user", "password", "bearer"):
            if key in rest:
                rest[key] = secret(rest[key])
        for key in ("headers", "cookies"):
            rest[key] = {one: secret(value) for one, value in rest.get(key, {}).items()}
        try:
            options = ExtractOptions(selectors["content"], selectors["remove"], selectors["ignore"])
            found[name] = SiteOptions(extract=options, **rest)
        except ConfigError as error:
            raise ConfigError(f"site.{name}.{error}") from None
    return found


def _start_urls(settings: Settings) -> tuple[str, ...]:
    if settings.urls_file:
        lines = Path(settings.urls_file).read_text(encoding="utf-8").splitlines()
        names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    else:
        names = list(settings.seeds)
    found = []
    for name in names:
        url = canonical_url(name)
        if url is None:
            place = settings.urls_file or "seeds"
            raise ConfigError(f"{place}: {name!r} is not an http or https URL (https://example.org/)")
        found.append(url)
    if not found:
        raise ConfigError("seeds: none given; `recrawl run https://example.org/` or --urls FILE")
    return tuple(dict.fromkeys(found))


def _weights(settings: Settings) -> dict[str, float]:
    if not settings.weights_file:
        return {}
    with Path(settings.weights_file).open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        if not {"page", "weight"} <= set(rows.fieldnames or ()):
            raise ConfigError(f"{settings.weights_file}: needs the columns page and weight")
        found = {}
        for row in rows:
            try:
                found[canonical_url(row["page"]) or row["page"]] = float(row["weight"])
            except (TypeError, ValueError):
                what = f"{row['weight']!r} is no weight" if row["weight"] else "there is no weight"
                raise ConfigError(f"{settings.weights_file}, line {rows.line_num}: {what}") from None
    bad = [page for page, weight in found.items() if not 0 <= weight < math.inf]
    if bad:
        raise ConfigError(
            f"{settings.weights_file}: the weight of {bad[0]} is {found[bad[0]]}; must be 0 or more"
        )
    return found


def _delay_of(settings: Settings, clock: Clock) -> Any:
    """Extra service time for experiments."""
    if not settings.service_delay:
        return None
    import numpy as np

    from recrawl.laws import parse_law

    law, rng = parse_law(settings.service_delay), np.random.default_rng()

    async def wait(_delivery: Delivery) -> None:
        await clock.sleep(float(law.sample(rng, 1)[0]))

    return wait


def behaviour_of(settings: Settings) -> Behaviour:
    """How the engine is to behave."""
    policy = None
    if settings.control == "thresholds":
        from recrawl.control import Policy  # brings half of scipy with it

        policy = Policy(settings.modes, settings.thresholds)
    one_by_one = settings.control in ("thresholds", "auto") or bool(settings.service_delay)
    return Behaviour(
        scheduler=SchedulerSettings(
            policy=settings.policy,  # type: ignore[arg-type]
            shortest_seconds=settings.shortest_interval_seconds,
            longest_seconds=settings.longest_interval_seconds,
            lease_seconds=settings.lease_seconds,
            weights=settings.weights,
        ),
        patience=Patience(settings.confirm_seconds, settings.unreadable_seconds),
        costs=CostSettings(
            settings.cost_loss_per_page,
            settings.cost_obsolete_per_page,
            settings.cost_response_per_service,
            settings.cost_robot_per_service,
            settings.cost_starvation_per_service,
        ),
        budget=settings.budget_per_second,
        robots=settings.robots,
        fewest_robots=settings.fewest_robots,
        control=settings.control,
        policy=policy,
        obsolete_after=settings.obsolete_after_seconds,
        deterministic=settings.obsolescence == "deterministic",
        batch=settings.batch_pages or (1 if one_by_one else 32),
        commit_pages=settings.commit_pages,
        commit_seconds=settings.commit_seconds,
        replan_seconds=settings.replan_seconds,
        discover_seconds=settings.sitemap_interval_seconds,
        status_seconds=settings.status_seconds,
        grace_seconds=settings.grace_seconds,
        max_pages=settings.max_pages,
    )


def _scope_of(settings: Settings, urls: tuple[str, ...]) -> RunScope:
    """Which pages belong to the run."""
    scope = Scope.of(
        urls,
        hosts=settings.hosts,
        include=settings.include,
        exclude=settings.exclude,
        max_depth=settings.max_depth,
        fixed=bool(settings.urls_file),
    )
    return RunScope(scope, settings.max_pages, weights=_weights(settings))


def _politeness_of(settings: Settings, sites: Mapping[str, SiteOptions], clock: Clock) -> Politeness:
    options = PolitenessOptions(
        min_delay_seconds=settings.min_delay_seconds,
        max_concurrency=settings.max_concurrency,
        backoff_seconds=settings.backoff_seconds,
        max_backoff_seconds=settings.max_backoff_seconds,
    )
    return Politeness(clock, options, sites)


@asynccontextmanager
async def engine_of(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Engine]:
    """A wired engine on the data directory, closed at the end whatever happens. A second one is refused."""
    from recrawl.backends import open_index, open_store
    from recrawl.backends.memory import MemoryBuffer, SystemClock

    clock = clock or SystemClock()
    urls = _start_urls(settings)
    sites = _site_options(settings)
    scope, politeness = _scope_of(settings, urls), _politeness_of(settings, sites, clock)
    accessor = HttpAccessor(
        _access_options(settings),
        clock=clock,
        guard=Guard.of(urls, settings.allow_hosts),
        scope=scope.scope,
        sites=sites,
    )
    behaviour, extractor = behaviour_of(settings), Extractor(sites, settings.large_page_bytes)
    sys.setswitchinterval(_TURN_SECONDS)
    listed = bool(settings.urls_file) or not settings.sitemaps
    data = Path(settings.data)
    with ThreadPoolExecutor(1, thread_name_prefix="parse") as executor:
        store = open_store(data / "store.db")
        index = open_index(data / "index")
        world = World(
            clock=clock,
            store=store,
            index=index,
            buffer=MemoryBuffer(settings.capacity),
            accessor=CourteousAccessor(accessor, politeness),
            politeness=politeness,
            admission=scope,
            extract=extractor,
            discover=Discovery(urls, listed, accessor, scope, clock),
            executor=executor,
            delay=_delay_of(settings, clock),
            fitter=Apart(),
        )
        engine = Engine(world, behaviour)
        scope.known = lambda: engine.scheduler.table.slot
        try:
            yield engine
        finally:
            await _close(accessor, index, store, extractor)


async def _close(accessor: HttpAccessor, index: Index, store: Store, extractor: Extractor) -> None:
    await accessor.close()
    await asyncio.sleep(0)  # connections close in their own time
    extractor.close()
    await index.close()
    await store.close()


def _access_options(settings: Settings) -> AccessOptions:
    return AccessOptions(
        contact=settings.contact,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        read_timeout_seconds=min(settings.read_timeout_seconds, settings.total_timeout_seconds),
        total_timeout_seconds=settings.total_timeout_seconds,
        max_body_bytes=settings.max_body_bytes,
        max_redirects=settings.max_redirects,
        proxy=settings.proxy or None,
        bandwidth_bytes_per_second=None
        if settings.bandwidth_bytes_per_second == math.inf
        else settings.bandwidth_bytes_per_second,
        obey_exclusion=settings.obey_exclusion,
    )
