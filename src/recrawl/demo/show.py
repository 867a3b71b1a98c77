"""The whole demonstration: two webs, four engines, the dashboard, and the figures."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from recrawl.assemble import engine_of
from recrawl.demo import contest, crowd
from recrawl.demo.contest import Contender
from recrawl.demo.web import DemoWeb
from recrawl.errors import ConfigError
from recrawl.web.beside import Beside

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recrawl.control import Policy
    from recrawl.demo.contest import Score
    from recrawl.demo.crowd import Queue
    from recrawl.demo.rehearsal import Preparation
    from recrawl.engine.engine import Engine
    from recrawl.settings import Settings

__all__ = ["Show", "ShowOptions"]

POLICIES = ("optimal", "uniform")
_LEARNING = (0.4, 25.0)  # share of the time, at most seconds, before anything is measured
_SECOND_SCENE = (0.15, 30.0)
_SETTLING = 2.0  # seconds of the second scene that are not measured


@dataclass(frozen=True)
class ShowOptions:
    """What is shown. `seconds` None: until told to stop; `listen`: where web pages are served, empty for none."""

    pages: int = 200
    budget: float | None = None  # accesses per second, of each engine; None: what suits the machine
    seed: int = 1
    seconds: float | None = None
    listen: str = ""
    explicit: bool = False  # the address was asked for: no other port will do

    def __post_init__(self) -> None:
        if not 8 <= self.pages <= 20_000:
            raise ConfigError(f"pages: {self.pages} must lie from 8 to 20000")
        if self.budget is not None and not 1 <= self.budget <= 2_000:
            raise ConfigError(f"budget: {self.budget:g}/s must lie from 1/s to 2000/s")
        if self.seed < 0:
            raise ConfigError(f"seed: {self.seed} must be 0 or more")
        if self.seconds is not None and not 5 <= self.seconds < math.inf:
            raise ConfigError(f"--for: {self.seconds:g} s must be 5 s or more")

    def share(self, of: tuple[float, float]) -> float:
        """A share of the time, with a most."""
        return of[1] if self.seconds is None else min(of[1], of[0] * self.seconds)


class Show:
    """Runs the scenes until told to stop or the time is over; may be asked how things stand at any moment."""

    def __init__(self, options: ShowOptions) -> None:
        self.options = options
        self.policy: Policy | None = None  # of the second scene
        self.budget = math.nan
        self.contenders: dict[str, Contender] = {}
        self.crowds: dict[str, Engine] = {}
        self.room: Beside | None = None
        self.address: str | None = None  # of the web pages
        self.token = token_urlsafe(9)  # what acting on them needs
        self.started = self.ended = math.nan
        self.queues: dict[str, Queue] = {}
        self._ending = asyncio.Event()

    @property
    def now(self) -> float:
        """The time, or when the show ended."""
        return time.time() if math.isnan(self.ended) else self.ended

    async def run(
        self,
        folder: Path,
        prepared: Preparation,
        stopping: asyncio.Event,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Run, with data in a folder; `ready` is called when the first engines start."""
        self.policy = prepared.policy
        self.budget = self.options.budget or prepared.budget
        async with AsyncExitStack() as stack:
            await self._open_contest(stack, folder)
            async with asyncio.TaskGroup() as group:
                for name, contender in self.contenders.items():
                    group.create_task(contender.engine.run(self._ending), name=name)
                if self.room is not None:
                    self.room.start(group)
                group.create_task(self._tick(), name="tick")
                ready()
                try:
                    if not await self._wait(stopping, self.started + self.options.share(_SECOND_SCENE)):
                        await self._second_scene(group, stack, folder, stopping)
                finally:
                    self._end()
        # Accesses that were under way have been recorded by now, each at its own end: figures are final.

    def _end(self) -> None:
        self.ended = time.time()
        for contender in self.contenders.values():
            contender.ledger.close(self.ended)
        self.queues = self._measured_queues()
        if self.room is not None:
            self.room.stop()
        self._ending.set()

    async def _open_contest(self, stack: AsyncExitStack, folder: Path) -> None:
        options = self.options
        web = DemoWeb(contest.contest_web(options.pages, self.budget, options.seed))
        self.web = await stack.enter_async_context(web)
        self.truth, self.started = web.truth, web.truth.start
        self.since = self.started + options.share(_LEARNING)
        for name in POLICIES:
            shown = options.listen if name == POLICIES[0] else ""
            settings = contest.contest_settings(web, name, self.budget, folder / name, shown, self.token)
            engine = await stack.enter_async_context(engine_of(settings))
            self.contenders[name] = Contender(engine, self.truth, self.since)
            if shown:
                self._open_room(engine, settings)

    def _open_room(self, engine: Engine, settings: Settings) -> None:
        self.room = Beside(engine, settings, explicit=self.options.explicit)
        if self.room.server is not None:
            self.address = self.room.server.address

    async def _second_scene(
        self, group: asyncio.TaskGroup, stack: AsyncExitStack, folder: Path, stopping: asyncio.Event
    ) -> None:
        web = await stack.enter_async_context(DemoWeb(crowd.crowd_web(self.options.seed)))
        chosen: dict[str, Policy | None] = {"thresholds": self.policy, "always_on": None}
        for name, policy in chosen.items():
            settings: Settings = crowd.crowd_settings(web, policy, folder / name)
            self.crowds[name] = await stack.enter_async_context(engine_of(settings))
            group.create_task(self.crowds[name].run(self._ending), name=name)
        if await self._wait(stopping, time.time() + _SETTLING):
            return
        for engine in self.crowds.values():
            engine.controller.use(engine.controller.table)  # measures begin anew
        await self._wait(stopping, math.inf)

    async def _wait(self, stopping: asyncio.Event, until: float) -> bool:
        """Wait until a time; whether the show is over."""
        last = math.inf if self.options.seconds is None else self.started + self.options.seconds
        left = min(until, last) - time.time()
        try:
            async with asyncio.timeout(None if left == math.inf else max(left, 0.0)):
                await stopping.wait()
        except TimeoutError:
            return until >= last
        return True

    async def _tick(self) -> None:
        while not self._ending.is_set():
            for contender in self.contenders.values():
                contender.tick(time.time())
            try:
                async with asyncio.timeout(1.0):
                    await self._ending.wait()
            except TimeoutError:
                pass

    # How things stand.

    def scores(self) -> dict[str, Score]:
        """Of the policies, once the measured period has begun."""
        found = {name: contender.score(self.now) for name, contender in self.contenders.items()}
        return {name: score for name, score in found.items() if score is not None}

    def bound(self) -> float:
        """At the accesses that `optimal` has really made; at the budget while nothing is measured."""
        score = self.scores().get(POLICIES[0])
        return contest.bound_of(self.truth, score.access_rate if score else self.budget)

    def _measured_queues(self) -> dict[str, Queue]:
        if len(self.crowds) < 2:
            return {}
        found = {name: crowd.queue_of(engine) for name, engine in self.crowds.items()}
        return {name: queue for name, queue in found.items() if queue is not None}

    def queues_now(self) -> dict[str, Queue]:
        """Of the second scene, once it runs."""
        return self._measured_queues() if math.isnan(self.ended) else self.queues
