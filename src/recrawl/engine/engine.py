"""The live engine: robots, a finite buffer, an indexer, an index that follows, a plan, a controller.

Tasks live in nested groups; the inner ones end first, so that everything drains: robots finish their accesses, the
indexer what they brought, the index what was recorded. A signal sets `stopping`; only the grace time cancels.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.engine.actions import Actions, Pauses
from recrawl.engine.conclude import Conclusions
from recrawl.engine.control_loop import Controller, chosen_table, described, switched, table_of
from recrawl.engine.fitted import KEPT_AS, Conditions
from recrawl.engine.follower import Follower
from recrawl.engine.indexer import Indexer
from recrawl.engine.measures import Measures
from recrawl.engine.pace import Pace
from recrawl.engine.queue import IndexQueue
from recrawl.engine.queue_log import Log
from recrawl.engine.records import Outcome
from recrawl.engine.robots import Robots
from recrawl.engine.sampling import Sampler
from recrawl.engine.scheduler import Scheduler
from recrawl.engine.tuning import Tuning
from recrawl.engine.waiting import wait_until_set
from recrawl.engine.warm import warm_kernels, warm_up
from recrawl.errors import AccessError, InvalidModel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from recrawl.engine.parts import Behaviour, World
    from recrawl.engine.records import Access, NewPage, PageRecord

__all__ = ["Engine"]

_log = logging.getLogger(__name__)
_LAG_SECONDS = 0.5
_PLANNED_FIRST = 20_000
_SAMPLE_SECONDS = 2.0  # between two samples of the history
_CLOCK_SECONDS = 1.0  # between two looks at the clock on the wall
_SET_BACK = 2.0  # seconds that it may lose against the steady one; more, and it was set back
_LEASE_NOTE_SECONDS = 1.0  # between two notes to the store of what is handed out
_LOOK_SECONDS = 0.2  # between two questions whether a plan is wanted


class Engine:
    """Keeps a searchable copy of pages fresh, until it is told to stop."""

    def __init__(self, world: World, behaviour: Behaviour) -> None:
        self.world, self.behaviour = world, behaviour
        clock = world.clock
        self.measures = Measures(clock)
        self.pace = Pace(math.inf if behaviour.budget is None else behaviour.budget, clock.monotonic())
        pauses = Pauses(world.politeness, clock)
        self.scheduler = Scheduler(clock, pauses, self.pace, behaviour.scheduler)
        self.queue = IndexQueue(
            world.buffer, clock, self.measures, self._returned,
            behaviour.obsolete_after, behaviour.deterministic, behaviour.seed,
        )  # fmt: skip
        self.robots = Robots(
            behaviour.robots, self.scheduler, world.store, world.accessor, self.queue, self.measures, clock,
            self._fruitless,
        )  # fmt: skip
        self._conclusions = Conclusions(world.admission, world.politeness, behaviour.patience)
        self.indexer = Indexer(
            self.queue, world.store, self.scheduler, self.robots, self._conclusions, self.measures, clock,
            world.extract, world.executor, behaviour.batch, world.delay,
        )  # fmt: skip
        self.follower = Follower(
            world.store, world.index, clock, self.measures, behaviour.commit_pages, behaviour.commit_seconds
        )
        self.log = Log()
        self.controller = Controller(
            self.robots, self.queue, self.measures, self._table(), self.log, behaviour.budget is not None
        )
        self.tuning = Tuning(
            self.controller, self.log, self.measures, self._conditions(), behaviour.control, world.fitter
        )
        self.indexer.on_record = self.follower.note
        self.indexer.on_service = self.log.served
        self._helpers_stop = asyncio.Event()
        self._clock_offset = clock.time() - clock.monotonic()
        self._planned_at = (clock.monotonic(), 0)
        self._sampled_at = self._plan_ended = -math.inf
        self._plan_took = 0.0
        self._planning = asyncio.Lock()
        self._saved = False
        self.expected_freshness = math.nan  # of the copies, by what is believed, at the latest sample
        self._hopeless: dict[str, str] = {}
        self._discovered = self._known_before = False
        self.indexer.on_access = self.robots.on_access = self._tried
        self.replayed = 0
        self.running = False
        self.started = asyncio.Event()  # robots are about to access their first page
        self.sampler = Sampler(self)
        self.actions = Actions(self, pauses)

    def _table(self) -> tuple[int, ...]:
        behaviour, capacity = self.behaviour, self.world.buffer.capacity
        if behaviour.policy is not None:
            return switched(behaviour.policy, capacity)
        return table_of(behaviour.control, behaviour.robots, capacity, behaviour.budget is not None)

    def _conditions(self) -> Conditions:
        behaviour = self.behaviour
        return Conditions(
            self.world.buffer.capacity, behaviour.robots, behaviour.fewest_robots, behaviour.obsolete_after,
            behaviour.deterministic, behaviour.costs,
        )  # fmt: skip

    def switch_control(
        self,
        control: str,
        *,
        robots: int | None = None,
        modes: Sequence[int] = (),
        thresholds: Sequence[int] = (),
    ) -> None:
        """Decide the number of active robots in another way from now on: at any moment, in the loop's thread.

        `fixed` takes a number of robots, `thresholds` modes and thresholds; `guarded` and `auto` take nothing. A
        ConfigError says what is wrong; then nothing has changed.
        """
        table = chosen_table(
            control, robots, tuple(modes), tuple(thresholds), self.behaviour.robots, self.world.buffer.capacity,
            self.behaviour.budget is not None,
        )  # fmt: skip
        if control in ("thresholds", "auto") and self.indexer.batch > 1:
            self.indexer.batch = 1
            self.log.clear()
        self.tuning.switch(control, described(table))
        self.controller.use(table)

    # Life.

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set and everything has drained."""
        await self._start()
        async with asyncio.TaskGroup() as outer:
            outer.create_task(self.follower.run(), name="follower")
            async with asyncio.TaskGroup() as middle:
                indexer = middle.create_task(self.indexer.run(), name="indexer")
                middle.create_task(self.queue.watch_expiry(), name="expiry")
                async with asyncio.TaskGroup() as helpers:
                    self._start_helpers(helpers)
                    await self._run_robots(stopping)
                    self._helpers_stop.set()
                    self.tuning.stop()
                self.queue.close()
                middle.create_task(self._cancel_late([indexer]), name="grace")
            self.follower.close()
        await self._save()
        await self._note_status(running=False)

    async def _start(self) -> None:
        if self.behaviour.warm:
            await asyncio.to_thread(warm_kernels)
            await warm_up(self.world.clock, self.world.politeness, self.behaviour.scheduler)
        self.replayed = await self.follower.catch_up()
        await self._load()
        self.scheduler.order_pages()
        if 0 < len(self.scheduler) <= _PLANNED_FIRST:  # for more, robots need not wait
            await self.replan()
        self.controller.attach()
        self.measures.restart()
        self.sampler.begin()
        self.running = True
        self.started.set()

    async def _load(self) -> None:
        await self.actions.restore()
        store = self.world.store
        values = {name: await store.load(name) for name in ("prior", "clocks", "announcements")}
        kept = {name: value for name, value in values.items() if value is not None}
        pages = (await store.statistics())["pages"]["known"]
        self.scheduler.restore(kept, pages, self.behaviour.budget or self.scheduler.plan.budget)
        bounds = await self.world.store.load("bounds")
        if bounds is not None:
            self.world.admission.restore(bounds)
        async for columns in self.world.store.scan():
            self.scheduler.load(columns)
            await asyncio.sleep(0)
        if "announcements" in kept:
            self.scheduler.announcements.restore(kept["announcements"], self.scheduler.table.site_numbers)
        self._known_before = bool(np.isfinite(self.scheduler.table.last).any())

    async def _run_robots(self, stopping: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = self.robots.start(group)
            await stopping.wait()
            _log.info("stopping: robots finish their accesses")
            self._deadline = self.world.clock.monotonic() + self.behaviour.grace_seconds
            self.scheduler.close()
            self.robots.stop()
            group.create_task(self._cancel_late(tasks), name="grace")

    async def _cancel_late(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        """Cancel what is still running when the grace time is over."""
        left = self._deadline - self.world.clock.monotonic()
        waiting = set(tasks)
        timer = asyncio.ensure_future(self.world.clock.sleep(max(left, 0.0)))
        try:
            while waiting and not timer.done():
                done, _ = await asyncio.wait({*waiting, timer}, return_when=asyncio.FIRST_COMPLETED)
                waiting -= done
        finally:
            timer.cancel()
        for task in waiting:
            task.cancel()

    # Helpers beside the robots.

    def _start_helpers(self, group: asyncio.TaskGroup) -> None:
        behaviour = self.behaviour
        every = self._every
        group.create_task(
            every(min(_LOOK_SECONDS, behaviour.replan_seconds), self._replan_if_wanted), name="planner"
        )
        group.create_task(every(behaviour.status_seconds, self._note_status), name="status")
        group.create_task(every(60.0, self._save), name="saver")
        group.create_task(every(_SAMPLE_SECONDS, self.sampler.note), name="history")
        group.create_task(every(_LEASE_NOTE_SECONDS, self._note_leases), name="leases")
        group.create_task(every(_CLOCK_SECONDS, self._watch_clock), name="clock")
        group.create_task(self._measure_lag(), name="lag")
        group.create_task(self._note_known(list(self.scheduler.table.slot)), name="known pages")
        group.create_task(self._discover(), name="discovery")
        if behaviour.budget is None:
            group.create_task(every(1.0, self._tune), name="tuning")

    async def _tune(self) -> None:
        """Predict, and with `auto` decide; keep what was fitted for those who look beside the engine."""
        if self.indexer.batch == 1 and await self.tuning.consider() and self.tuning.fitted is not None:
            await self.world.store.save(KEPT_AS, self.tuning.fitted.to_bytes())

    async def _every(self, seconds: float, what: Callable[[], Awaitable[object]]) -> None:
        while not await wait_until_set(self._helpers_stop, self.world.clock, seconds):
            await what()

    async def _watch_clock(self) -> None:
        """A clock that was set back must not make accesses of the past look as if they lay ahead."""
        clock = self.world.clock
        offset = clock.time() - clock.monotonic()
        shift, self._clock_offset = offset - self._clock_offset, offset
        if shift < -_SET_BACK:
            _log.warning("the clock was set back by %.0f s; times of accesses are set back with it", -shift)
            self.scheduler.shift_times(shift)

    async def _note_known(self, urls: list[str]) -> None:
        """Let pages of earlier runs count for the bounds against traps, a few at a time."""
        for place, url in enumerate(urls):
            self.world.admission.note(url)
            if place % 100 == 99:
                await asyncio.sleep(0)
                if self._helpers_stop.is_set():
                    return
        self.world.admission.noted()

    async def _measure_lag(self) -> None:
        # Real time on purpose: it is the event loop that is measured.
        loop = asyncio.get_running_loop()
        while not self._helpers_stop.is_set():
            before = loop.time()
            try:
                async with asyncio.timeout(_LAG_SECONDS):
                    await self._helpers_stop.wait()
            except TimeoutError:
                self.measures.loop_lag.add(max(0.0, loop.time() - before - _LAG_SECONDS))

    async def _discover(self) -> None:
        while True:
            async for pages in self.world.discover():
                await self.add(pages)
                if self._helpers_stop.is_set():
                    return
            self._discovered = True
            if await wait_until_set(self._helpers_stop, self.world.clock, self.behaviour.discover_seconds):
                return

    async def add(self, pages: list[NewPage]) -> int:
        """Remember pages that were found, and schedule those that are new."""
        room = self.behaviour.max_pages - len(self.scheduler)
        known = self.scheduler.table.slot
        wanted = [page for page in pages if page.url in known]
        wanted += [page for page in pages if page.url not in known][: max(room, 0)]
        if len(wanted) < len(pages):
            self.measures.findings["over_max_pages"] += len(pages) - len(wanted)
        added = self.scheduler.add(await self.world.store.add(wanted))
        for page in wanted:
            if page.weight is not None:
                self.scheduler.set_weight(page.url, page.weight)
        self.scheduler.announce(wanted)
        return added

    def signal(self, url: str, when: float | None = None) -> bool:
        """Somebody says that a page has changed, at `when` or just now: it is due at once. Whether that is news."""
        return self.scheduler.signal(url, when)

    async def _replan_if_wanted(self) -> None:
        """Plan anew when enough has changed: soon while pages are being found, then at leisure."""
        now = self.world.clock.monotonic()
        if now - self._sampled_at >= self.behaviour.replan_seconds:
            self._sampled_at = now
            await self._sample_freshness()
        growing = len(self.scheduler) > 2.0 * self.scheduler.plan.pages
        rest = max(self.behaviour.replan_seconds, 10.0 * self._plan_took)
        if self.scheduler.wants_plan() and now - self._plan_ended >= (
            10.0 * self._plan_took if growing else rest
        ):
            await self.replan()
        elif self.scheduler.planner.wants_order():
            await self.scheduler.planner.reorder()

    async def replan(self) -> None:
        """Find the price anew, and take over the order it gives."""
        async with self._planning:
            begun = self.world.clock.monotonic()
            plan = await self.scheduler.replan(self._planned_budget())
            self._plan_ended = self.world.clock.monotonic()
            self._plan_took = self._plan_ended - begun
        if not self._saved:  # for those who look beside the engine
            self._saved = True
            await self._save()
        _log.debug("planned %d pages at price %g", plan.pages, plan.price)

    def _planned_budget(self) -> float:
        """The budget, or without one the rate of accesses since the last plan."""
        if self.behaviour.budget is not None:
            return self.behaviour.budget
        now, done = self.world.clock.monotonic(), sum(self.measures.outcomes.values())
        since, before = self._planned_at
        if done - before < 20 or now <= since:
            return max(self.scheduler.plan.budget, 1e-6)
        self._planned_at = (now, done)
        return (done - before) / (now - since)

    async def _sample_freshness(self) -> None:
        """Expected freshness of the copies, by what is believed, now."""
        now = self.world.clock.time()
        with suppress(InvalidModel):  # a page was removed meanwhile; the next sample will do
            self.expected_freshness = await asyncio.to_thread(self.scheduler.table.freshness, now)

    # What robots report.

    async def _fruitless(self, access: Access, page: PageRecord) -> None:
        await self.indexer.record([self._conclusions.without_page(access, page)], [page])

    def _tried(self, access: Access) -> None:
        """A first run in which no page at all can be accessed ends, with the reason."""
        if self._known_before:
            return
        if access.outcome in (Outcome.CONTENT, Outcome.NOT_MODIFIED, Outcome.MOVED):
            self._known_before = True
            return
        self._hopeless.setdefault(access.url, access.reason or access.outcome.value)
        if self._discovered and all(url in self._hopeless for url in self.scheduler.table.slot):
            url, reason = next(iter(self._hopeless.items()))
            more = f" (and {len(self._hopeless) - 1} more pages)" if len(self._hopeless) > 1 else ""
            raise AccessError(f"no page could be accessed: {url}: {reason}{more}")

    def _returned(self, url: str) -> None:
        self.robots.returned(url)

    # What others may know.

    async def _note_leases(self) -> None:
        """Tell the store which pages are out, all in one write; most are back before."""
        out, free = self.scheduler.leases.news()
        now = self.world.clock.time()
        if out:
            await self.world.store.lease(out, now + self.behaviour.scheduler.lease_seconds)
        if free:
            await self.world.store.lease(free, now)

    async def _save(self) -> None:
        values = await asyncio.to_thread(self.scheduler.kept)
        for name, value in values.items():
            await self.world.store.save(name, value)
        await self.world.store.save("bounds", self.world.admission.kept())

    async def _note_status(self, running: bool = True) -> None:
        document = self.status(running)
        await self.world.store.save("status", json.dumps(document).encode())

    def status(self, running: bool = True) -> dict[str, Any]:
        """The engine's state for people and programs."""
        from recrawl.engine.status import engine_status

        return engine_status(self, running)
