"""Compiled event loop of the schedule simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["finish_run", "first_slots", "run_accesses", "start_run"]

IDLE = -1
NEVER = 1e300
"""The mean time to a change of a page that never changes."""


@compiled
def first_slots(order: NDArray[np.int64], start: int, first: NDArray[np.int64]) -> None:
    """Note for each page the number of its first slot; −1 stands for none so far."""
    for k in range(order.size):
        if order[k] >= 0 and first[order[k]] < 0:
            first[order[k]] = start + k


@compiled
def start_run(
    patience: NDArray[np.float64],
    age: NDArray[np.float64],
    draws: NDArray[np.float64],
    change: NDArray[np.float64],
) -> None:
    """At time 0 a copy is `age` old; its first change after that access is drawn, and may have been already."""
    for i in range(patience.size):
        change[i] = draws[i] * patience[i] - age[i] if patience[i] < NEVER else np.inf


@compiled
def _complete(
    page: int,
    now: float,
    since: float,
    draw: float,
    patience: NDArray[np.float64],
    change: NDArray[np.float64],
    stale: NDArray[np.float64],
) -> None:
    """An access of `page` ends: its copy was stale from its first change until now; the next change is drawn.

    Without a branch, because no processor can guess whether a page has changed.
    """
    stale[page] += max(now - max(change[page], since), 0.0)
    change[page] = now + draw * patience[page]


@compiled
def run_accesses(
    order: NDArray[np.int64],
    duration: NDArray[np.float64],
    draws: NDArray[np.float64],
    clock: float,
    since: float,
    busy_until: NDArray[np.float64],
    busy_with: NDArray[np.int64],
    patience: NDArray[np.float64],
    change: NDArray[np.float64],
    stale: NDArray[np.float64],
) -> float:
    """Hand the pages of `order` to the robots, each to the one that is free first; return the time of the last end.

    `change[i]` is the time of page i's first change since its last access, `stale[i]` its stale time after
    `since`, `patience[i]` its mean time to a change. A page changes as a Poisson process, so its first change
    after an access is exponential.
    """
    robots = busy_until.size
    if robots == 1:
        for k in range(order.size):
            clock += duration[k]
            if order[k] >= 0:
                _complete(order[k], clock, since, draws[k], patience, change, stale)
        return clock
    for k in range(order.size):
        free = 0
        for r in range(1, robots):
            if busy_until[r] < busy_until[free]:
                free = r
        # A robot that starts has just ended its last access (or starts at time 0).
        if busy_until[free] >= 0.0:
            clock = busy_until[free]
            if busy_with[free] >= 0:
                _complete(busy_with[free], clock, since, draws[k], patience, change, stale)
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
