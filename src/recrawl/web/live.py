"""What the engine in this process knows and does, on top of what its store says."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.engine.politeness import Politeness
from recrawl.engine.urls import canonical_url
from recrawl.errors import ConfigError, InvalidModel
from recrawl.settings import parse_budget
from recrawl.web.overview import share
from recrawl.web.problems import invalid, refused
from recrawl.web.requests import Done
from recrawl.web.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recrawl.engine.engine import Engine
    from recrawl.engine.fitted import FittedQueue
    from recrawl.engine.insight import Insight, PageInsight
    from recrawl.web.requests import ControlOrder, SignalItem

__all__ = ["LiveSource"]


class LiveSource(Source):
    """A source inside the engine's process."""

    read_only = False

    def __init__(self, engine: Engine, data: Path | None = None) -> None:
        super().__init__(engine.world.store, engine.world.index, data)
        self.engine = engine

    def now(self) -> float:
        return self.engine.world.clock.time()

    async def status(self) -> dict[str, Any] | None:
        return self.engine.status(self.engine.running)

    async def latest(self) -> dict[str, float]:
        return dict(self.engine.sampler.latest)

    async def insight(self) -> Insight:
        return await self._kept.get("insight", 5.0, self._insight)

    async def _insight(self) -> Insight:
        from recrawl.engine.insight import Insight

        settings = self.engine.behaviour.scheduler
        kept = await asyncio.to_thread(self.engine.scheduler.kept)
        return Insight(kept["prior"], settings.policy, settings.weights, kept.get("clocks"))

    async def copies(self, urls: Sequence[str], now: float) -> dict[str, tuple[float | None, float | None]]:
        table = self.engine.scheduler.table
        known = [url for url in urls if url in table.slot]
        found: dict[str, tuple[float | None, float | None]] = {}
        if len(known) < len(urls):  # no longer scheduled, and still in the index
            found = await super().copies([url for url in urls if url not in table.slot], now)
        if known:
            slots = np.array([table.slot[url] for url in known], dtype=np.int64)
            chances = table.current(slots, now).tolist()
            for url, last, chance in zip(known, table.last[slots].tolist(), chances, strict=True):
                found[url] = (None, None) if math.isnan(last) else (last, share(chance))
        return found

    async def queue_model(self) -> FittedQueue | None:
        return self.engine.tuning.fitted

    async def paused(self) -> list[str]:
        return sorted(self.engine.actions.paused)

    def due(self, page: PageInsight) -> float | None:
        table = self.engine.scheduler.table
        slot = table.slot.get(page.record.url)
        if slot is None or math.isnan(table.due[slot]):  # handed out, or waiting for its retry
            return page.next_due
        due = float(table.due[slot])
        return page.next_due if due >= 1e17 else self.now() if due < 0.0 else due

    def manners(self, site: str) -> dict[str, Any]:
        politeness = self.engine.world.politeness
        found: dict[str, Any] = {"delay": politeness.delay(site)}
        if isinstance(politeness, Politeness):
            found |= politeness.document(site, self.now())
        exclusion = getattr(getattr(self.engine.world.accessor, "inner", None), "exclusion", None)
        if exclusion is not None:
            found |= exclusion.document(site, self.now())
        return found

    def sites_at_ceiling(self) -> list[str]:
        scheduler = self.engine.scheduler
        return [scheduler.table.sites[place] for place in list(scheduler.plan.site_price)[:100]]

    # Actions.

    async def visit(self, url: str) -> Done:
        record = await self.record(url)
        try:
            moved = self.engine.actions.visit(record.url)
        except ConfigError as error:
            raise refused(str(error)) from None
        return Done(text="It is the next page of its site." if moved else "It is being accessed right now.")

    async def pause(self, site: str) -> Done:
        done = await self._on_site(self.engine.actions.pause, site)
        text = f"{site} is paused; accesses that run are finished." if done else f"{site} was paused already."
        return Done(text=text, affected=int(done))

    async def resume(self, site: str) -> Done:
        done = await self._on_site(self.engine.actions.resume, site)
        return Done(
            text=f"{site} is accessed again." if done else f"{site} was not paused.", affected=int(done)
        )

    async def _on_site(self, action: Any, site: str) -> bool:
        from recrawl.web.problems import not_found

        try:
            return bool(await action(site))
        except ConfigError as error:
            raise not_found(str(error)) from None

    async def set_weight(self, url: str, weight: float) -> Done:
        record = await self.record(url)
        await self.engine.actions.set_weight(record, weight)
        self._kept.forget()
        return Done(text=f"Its weight is {weight:g} now.")

    async def remove(self, url: str) -> Done:
        record = await self.record(url)
        if record.url in self.engine.robots.in_flight:
            raise refused(f"{record.url} is being accessed right now; try again in a moment")
        await self.engine.actions.remove(record)
        self._kept.forget()
        return Done(text="It is removed: no longer searchable, never accessed again.")

    async def signal(self, items: Sequence[SignalItem]) -> Done:
        actions, unknown, moved = self.engine.actions, [], 0
        for item in items:
            url = canonical_url(item.url)
            if url is None:
                continue
            if url in self.engine.scheduler.table.slot:
                moved += actions.signal(url, item.time)
            else:
                unknown.append(url)
        found = await actions.discover(unknown) if unknown else 0
        passed = len(items) - moved - found
        return Done(
            text=f"{moved} pages are due at once, {found} are new, {passed} were passed over.",
            affected=moved + found,
        )

    async def switch(self, order: ControlOrder) -> Done:
        try:
            self.engine.switch_control(
                order.control, robots=order.robots, modes=order.modes, thresholds=order.thresholds
            )
        except (ConfigError, InvalidModel) as error:
            raise refused(str(error)) from None
        self._kept.forget()
        return Done(text=f"The number of active robots is now decided by: {order.control}.")

    async def set_budget(self, budget: str) -> Done:
        try:
            rate = parse_budget(budget)
        except ConfigError as error:
            raise invalid(str(error)) from None
        try:
            await self.engine.actions.set_budget(rate)
        except ConfigError as error:
            raise refused(str(error)) from None
        self._kept.forget()
        return Done(text=f"The budget is {rate:g} accesses per second until the engine ends.")
