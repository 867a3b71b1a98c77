"""The engine's state as one document."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recrawl.engine.engine import Engine

__all__ = ["engine_status", "finite", "process_alive"]

_SHOWN_LEVELS = 4096  # of the buffer, with their shares of time


def process_alive(process: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def finite(value: Any) -> Any:
    """Only what JSON has: null instead of NaN and infinity."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _unreachable(engine: Engine) -> dict[str, float]:
    """Sites that are left alone because they do not answer, with the seconds until they are tried again."""
    from recrawl.engine.politeness import Politeness

    politeness = engine.world.politeness
    return politeness.unreachable() if isinstance(politeness, Politeness) else {}


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
        "sites": len(scheduler.table.sites),
        "unreachable_sites": _unreachable(engine),
        "occupancy": engine.measures.occupancy() if engine.world.buffer.capacity <= _SHOWN_LEVELS else [],
        "index": {
            "watermark": engine.follower.watermark,
            "rebuilt": engine.follower.rebuilt,
            "replayed": engine.replayed,
        },
    }
    service = document["queue"]["service_time"]["value"]
    if service > 0:
        cost = engine.measures.cost(engine.behaviour.costs.prices(service))
        document["queue"]["cost"] = cost.document()
    return finite(document)  # type: ignore[no-any-return]
