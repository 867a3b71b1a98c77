"""What people do with a running engine: visit a page now, pause a site, weigh or remove a page, tell of changes.

What must survive a restart is written to the store before it takes effect: paused sites and removed pages; weights
are the pages' own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recrawl.engine.records import Access, Finding, NewPage, Outcome, PageRecord, State
from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.engine.engine import Engine
    from recrawl.engine.protocols import Clock, Politeness, Store

__all__ = ["Actions", "Pauses", "load_paused"]

_PAUSED = "paused"
_LOOK_SECONDS = 0.5  # until a paused site is looked at again


async def load_paused(store: Store) -> set[str]:
    """The sites that are paused, as the store keeps them."""
    kept = await store.load(_PAUSED)
    return set(json.loads(kept)) if kept is not None else set()


@dataclass
class Pauses:
    """Politeness, with sites that are paused: they are ready a little later, again and again."""

    inner: Politeness
    clock: Clock
    sites: set[str] = field(default_factory=set)

    def ready_at(self, site: str) -> float:
        """When the site may be accessed next."""
        ready = self.inner.ready_at(site)
        return max(ready, self.clock.monotonic() + _LOOK_SECONDS) if site in self.sites else ready

    def begin(self, site: str) -> None:
        """An access starts."""
        self.inner.begin(site)

    def end(self, site: str, access: Access | None) -> None:
        """An access ended."""
        self.inner.end(site, access)

    def delay(self, site: str) -> float:
        """Seconds between the starts of two accesses to a site."""
        return self.inner.delay(site)

    def backoff(self, failures: int, retry_after: float | None = None) -> float:
        """Seconds until a page that failed so many times in a row is tried again."""
        return self.inner.backoff(failures, retry_after)


class Actions:
    """Actions on one engine. Each returns what happened, or raises ConfigError with the reason."""

    def __init__(self, engine: Engine, pauses: Pauses) -> None:
        self._engine, self._pauses = engine, pauses
        self._store = engine.world.store

    @property
    def paused(self) -> frozenset[str]:
        """Sites that are paused."""
        return frozenset(self._pauses.sites)

    async def restore(self) -> None:
        """Pause the sites that an earlier run left paused."""
        self._pauses.sites = await load_paused(self._store)

    async def pause(self, site: str) -> bool:
        """Access no pages of a site from now on; whether it was not paused before. Accesses that run are finished."""
        return await self._set_paused(self._pauses.sites | {site}, site)

    async def resume(self, site: str) -> bool:
        """Access pages of a site again; whether it was paused."""
        return await self._set_paused(self._pauses.sites - {site}, site)

    async def _set_paused(self, sites: set[str], site: str) -> bool:
        if site not in self._engine.scheduler.table.sites and site not in self._pauses.sites:
            raise ConfigError(f"{site}: this site is not known")
        if sites == self._pauses.sites:
            return False
        await self._store.save(_PAUSED, json.dumps(sorted(sites)).encode())
        self._pauses.sites = sites
        return True

    def visit(self, url: str) -> bool:
        """Let a page be accessed before all others, as soon as its site allows; False: it is being accessed."""
        if url not in self._engine.scheduler.table.slot:
            raise ConfigError(f"{url}: this page is not scheduled")
        return self._engine.scheduler.visit(url)

    def signal(self, url: str, when: float | None) -> bool:
        """Somebody says that a page has changed, at `when` or just now; whether that is news."""
        return self._engine.signal(url, when)

    async def discover(self, urls: Sequence[str]) -> int:
        """Take pages of the scope that were not known into the schedule; how many."""
        now, admission = self._engine.world.clock.time(), self._engine.world.admission
        pages = [NewPage(url, admission.site_of(url), 1, now) for url in urls if admission.admits(url, 1)]
        return await self._engine.add(pages)

    async def set_weight(self, page: PageRecord, weight: float) -> None:
        """How much a page counts from now on."""
        now = self._engine.world.clock.time()
        await self._engine.add([NewPage(page.url, page.site, page.depth, now, weight)])

    async def remove(self, page: PageRecord) -> None:
        """Forget a page's text, and never access it again. The change feed tells of it."""
        now = self._engine.world.clock.time()
        access = Access(page.url, now, now, Outcome.EXCLUDED, reason="removed by hand")
        finding = Finding(access, State.EXCLUDED, page.digest is not None)
        await self._engine.indexer.record([finding], [page])

    async def set_budget(self, budget: float) -> None:
        """Another budget until the engine ends, planned for at once."""
        engine = self._engine
        if engine.behaviour.budget is None:
            raise ConfigError("the engine runs without a budget: start it with --budget to have one")
        engine.behaviour = replace(engine.behaviour, budget=budget)
        engine.pace.set_rate(budget, engine.world.clock.monotonic())
        await engine.replan()
