"""What the demonstration measured, as one document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recrawl.demo.crowd import ACCESS_SECONDS, CAPACITY, ROBOTS, SERVICE_SECONDS

if TYPE_CHECKING:
    from recrawl.demo.show import Show

__all__ = ["figures"]

_MET = 0.95  # of the budget


def figures(show: Show) -> dict[str, Any]:
    """Everything that was measured; None where the show ended before anything could be."""
    if not show.contenders or show.policy is None:
        names = ("optimal", "uniform", "bound", "accesses", "pages", "loss", "starvation")
        return {**dict.fromkeys(names), "notes": ["ended before anything was measured"]}
    scores, truth, options = show.scores(), show.truth, show.options
    optimal, uniform = scores.get("optimal"), scores.get("uniform")
    bound = show.bound()
    queues = show.queues_now()
    switched = queues.get("thresholds")
    engine = show.contenders["optimal"].engine
    return {
        "optimal": optimal and optimal.obsolescence,
        "uniform": uniform and uniform.obsolescence,
        "bound": bound,
        "believed": optimal and optimal.believed,
        "gain": optimal
        and uniform
        and (uniform.obsolescence - optimal.obsolescence) / max(uniform.obsolescence - bound, 1e-12),
        "freshness": {
            "optimal": optimal and 1.0 - optimal.obsolescence,
            "uniform": uniform and 1.0 - uniform.obsolescence,
            "bound": 1.0 - bound,
        },
        "accesses": optimal and optimal.accesses,
        "accesses_uniform": uniform and uniform.accesses,
        "pages": len(truth.urls),
        "sites": len(show.web.ports),
        "edited_directories": len(truth.directories),
        "edited_pages": sum(len(directory.pages) for directory in truth.directories),
        "loss": switched and switched.loss,
        "starvation": switched and switched.starvation,
        "seconds": show.now - show.started,
        "learning_seconds": show.since - show.started,
        "measured_seconds": max(0.0, show.now - show.since),
        "budget_per_second": show.budget,
        "access_rate": optimal and optimal.access_rate,
        "access_rate_uniform": uniform and uniform.access_rate,
        "change_rate": float(truth.rates.sum()),
        "index_delay_seconds": engine.measures.index_delay.document(),
        "seed": options.seed,
        "address": show.address,
        "queue": {
            "robots": ROBOTS,
            "capacity": CAPACITY,
            "service_seconds": SERVICE_SECONDS,
            "access_seconds": ACCESS_SECONDS,
            "modes": list(show.policy.modes),
            "thresholds_at": list(show.policy.thresholds),
            **{name: asdict(queue) for name, queue in queues.items()},
        },
        "notes": notes(show),
    }


def notes(show: Show) -> list[str]:
    """What a reader of the figures must know."""
    scores = show.scores()
    found = [
        "optimal, uniform and bound are obsolescence: the share of copies that are out of date, averaged over the "
        "measured period and all pages. The bound is that of pages which change independently, at the true rates and "
        "the accesses that optimal made."
    ]
    for name, score in scores.items():
        if score.access_rate < _MET * show.budget:
            found.append(
                f"{name} made {score.access_rate:.0f} of {show.budget:g} accesses per second: the machine is "
                "busy, or a smaller --budget suits it better"
            )
    if not scores:
        found.append("ended while the engines were still learning: nothing was measured")
    return found
