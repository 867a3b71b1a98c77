"""The engine's measures as samples over time: what the dashboard's charts are drawn from."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.engine.history import SERIES
from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from recrawl.engine.engine import Engine

__all__ = ["Sampler"]

_BOUND_SECONDS = 20.0  # between two computations of the bound
_BOUND_PAGES = 4096  # that it is computed from
_QUEUE = (
    "seconds", "arrived", "lost", "obsolete", "idle_seconds", "spare_seconds", "robot_seconds", "level_seconds",
)  # fmt: skip
_NO_NEWS = ("failed", "busy", "refused")


class Sampler:
    """Takes a sample now and then, and writes it to the store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._before: dict[str, float] | None = None
        self._bound_at = -math.inf
        self.bound = math.nan
        self.latest: dict[str, float] = {}

    def begin(self) -> None:
        """What the first sample is compared with."""
        self._before = self._totals()

    async def note(self) -> None:
        """One sample, since the one before."""
        engine = self._engine
        await self._find_bound()
        now = self._totals()
        before, self._before = self._before, now
        if before is None or now["time"] <= before["time"]:
            return
        self.latest = self._values(before, now)
        await engine.world.store.note_history(
            engine.world.clock.time(), [self.latest[name] for name in SERIES]
        )

    def _totals(self) -> dict[str, float]:
        measures = self._engine.measures
        queue = measures.total()
        return {
            "time": self._engine.world.clock.monotonic(),
            "accesses": sum(measures.outcomes.values()),
            "failures": sum(measures.outcomes[name] for name in _NO_NEWS),
            "changes": measures.findings["changed"],
            "bytes": measures.bytes_received,
            **{name: float(getattr(queue, name)) for name in _QUEUE},
        }

    def _values(self, before: dict[str, float], now: dict[str, float]) -> dict[str, float]:
        engine = self._engine
        # The queue's sums begin anew when the controller is switched; then its shares are of the time since.
        anew = now["seconds"] < before["seconds"]
        grown = {name: value - (0.0 if anew else before[name]) for name, value in now.items()}
        passed = now["time"] - before["time"]
        rates = {
            f"{name}_per_second": max(0.0, now[name] - before[name]) / passed
            for name in ("accesses", "changes", "failures", "bytes")
        }

        def share(above: str, below: str) -> float:
            return grown[above] / grown[below] if grown[below] > 0 else math.nan

        revisions, searchable = engine.follower.applied, engine.follower.watermark
        return {
            "obsolescence": 1.0 - engine.expected_freshness,
            "obsolescence_bound": self.bound,
            "budget_per_second": engine.behaviour.budget if engine.behaviour.budget is not None else math.nan,
            **rates,
            "change_share": rates["changes_per_second"] / rates["accesses_per_second"]
            if rates["accesses_per_second"] > 0
            else math.nan,
            "robots_active": share("robot_seconds", "seconds"),
            "robots_accessing": float(len(engine.robots.in_flight)),
            "buffer_level": share("level_seconds", "seconds"),
            "loss": share("lost", "arrived"),
            "obsolete": share("obsolete", "arrived"),
            "starvation": share("idle_seconds", "seconds"),
            "spare": share("spare_seconds", "seconds"),
            "index_delay_seconds": engine.measures.index_delay.document()["p99"],
            "pages": float(len(engine.scheduler)),
            "uncommitted": float(max(0, revisions - searchable)),
            "loop_lag_seconds": engine.measures.loop_lag.document()["p99"],
        }

    async def _find_bound(self) -> None:
        """The least obsolescence at the planned budget, if pages change as believed: in a worker, now and then."""
        engine = self._engine
        now = engine.world.clock.monotonic()
        if now - self._bound_at < _BOUND_SECONDS or engine.scheduler.plan.budget <= 0:
            return
        table = engine.scheduler.table
        slots = np.flatnonzero(table.present & ~np.isnan(table.last))
        if not slots.size:
            return
        self._bound_at = now
        share = min(1.0, _BOUND_PAGES / slots.size)
        if share < 1.0:
            slots = np.random.default_rng(0).choice(slots, _BOUND_PAGES, replace=False)
        try:
            rates, weight = table.typical_rate(slots), table.weight[slots].copy()
            self.bound = await asyncio.to_thread(_bound, rates, weight, share * engine.scheduler.plan.budget)
        except RecrawlError:  # no page ever changes, or has a weight
            self.bound = math.nan


def _bound(
    rates: np.ndarray[tuple[int], np.dtype[np.float64]],
    weight: np.ndarray[tuple[int], np.dtype[np.float64]],
    budget: float,
) -> float:
    from recrawl.revisit import Pages, budget_curve

    some = weight > 0
    (point,) = budget_curve(Pages(rates[some], weight[some]), [budget])
    return point.obsolescence
