"""The engine's state as one document."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recrawl.engine.engine import Engine

_SHOWN_LEVELS = 4096

__all__ = ["engine_status", "finite"]


def finite(value: Any) -> Any:
    """Only what JSON has: null instead of NaN and infinity."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def engine_status(engine: Engine, running: bool) -> dict[str, Any]:
    """Everything `recrawl status` shows that only the engine knows."""
    scheduler, robots = engine.scheduler, engine.robots
    now = engine.world.clock.time()
    document = {
        "running": running,
        "process": os.getpid(),
        "time": now,
        **engine.measures.document(),
        "scheduled_pages": len(scheduler),
        "handed_out": scheduler.out,
        "leases_ended": scheduler.leases_ended,
        "policy": engine.behaviour.scheduler.policy,
        "weights": engine.behaviour.scheduler.weights,
        "budget_per_second": engine.behaviour.budget,
        "planned_budget_per_second": scheduler.plan.budget,
        "price": scheduler.plan.price,
        "sites_at_ceiling": len(scheduler.plan.site_price),
        "expected_freshness": engine.expected_freshness,
        "robots": {
            "most": robots.number,
            "active": robots.active,
            "accessing": robots.working - robots.waiting,
        },
        "buffer": {"level": engine.queue.level(), "capacity": engine.world.buffer.capacity},
        "control": engine.tuning.document(),
        "occupancy": engine.measures.occupancy() if engine.world.buffer.capacity <= _SHOWN_LEVELS else [],
        "index": {
            "watermark": engine.follower.watermark,
            "rebuilt": engine.follower.rebuilt,
            "replayed": engine.replayed,
        },
    }
    service = document["queue"]["service_time"]["value"]
    if service > 0:
        cost = engine.measures.cost(engine.behaviour.costs.costs(service))
        document["queue"]["cost"] = cost.document()
    return finite(document)  # type: ignore[no-any-return]
