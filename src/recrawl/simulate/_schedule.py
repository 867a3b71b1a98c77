"""Compiled event loop of the schedule simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["finish_run", "run_accesses", "start_run"]

IDLE = -1


@compiled
def start_run(
    rate: NDArray[np.float64],
    visited: NDArray[np.bool_],
    draws: NDArray[np.float64],
    change: NDArray[np.float64],
) -> None:
    """At time 0 every copy is fresh, but those of pages that are never accessed."""
    for i in range(rate.size):
        if not visited[i] and rate[i] > 0.0:
            change[i] = 0.0
        else:
            change[i] = draws[i] / rate[i] if rate[i] > 0.0 else np.inf


@compiled
def _complete(
    page: int,
    now: float,
    since: float,
    draw: float,
    rate: NDArray[np.float64],
    change: NDArray[np.float64],
    stale: NDArray[np.float64],
) -> None:
    """An access of `page` ends: its copy was stale from its first change until now; the next change is drawn."""
    if change[page] < now:
        start = max(change[page], since)
        if start < now:
            stale[page] += now - start
    change[page] = now + draw / rate[page] if rate[page] > 0.0 else np.inf


@compiled
def run_accesses(
    order: NDArray[np.int64],
    duration: NDArray[np.float64],
    draws: NDArray[np.float64],
    clock: float,
    since: float,
    busy_until: NDArray[np.float64],
    busy_with: NDArray[np.int64],
    rate: NDArray[np.float64],
    change: NDArray[np.float64],
    stale: NDArray[np.float64],
) -> float:
    """Hand the pages of `order` to the robots, each to the one that is free first; return the time of the last end.

    `change[i]` is the time of page i's first change since its last access, `stale[i]` its stale time after
    `since`. A page changes as a Poisson process, so its first change after an access is exponential.
    """
    robots = busy_until.size
    for k in range(order.size):
        free = 0
        for r in range(1, robots):
            if busy_until[r] < busy_until[free]:
                free = r
        # A robot that starts has just ended its last access (or starts at time 0).
        if busy_until[free] >= 0.0:
            clock = busy_until[free]
            if busy_with[free] >= 0:
                _complete(busy_with[free], clock, since, draws[k], rate, change, stale)
        busy_with[free] = order[k]
        busy_until[free] = max(clock, 0.0) + duration[k]
    return clock


@compiled
def finish_run(end: float, since: float, change: NDArray[np.float64], stale: NDArray[np.float64]) -> None:
    """Count the stale time of every page up to `end`, when the clock is stopped."""
    for i in range(change.size):
        start = max(change[i], since)
        if start < end:
            stale[i] += end - start
