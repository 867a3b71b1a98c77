"""Simulates robots that access pages in a given order.

Written from the words of the model [Coffman 1999, Sections 1-3], not from its formulas: every page changes as a
Poisson process of its own; a robot takes the next page of the order, its access takes a random time, and when it ends
the copy is current; at the page's next change it is stale, until an access ends again. Several robots take pages from
one order; their accesses overlap, and may end in another order than they began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.revisit import cost_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.laws import Law
    from recrawl.revisit import AccessSequence, Pages

__all__ = ["ScheduleSimulation", "half_width", "simulate_schedule"]

_CHUNK = 1 << 16


def half_width(values: NDArray[np.float64], confidence: float = 0.95) -> float:
    """Half the width of the confidence interval of the mean of independent replications (Student's t)."""
    from scipy.special import stdtrit

    if values.size < 2:
        return float("inf")
    quantile = float(stdtrit(values.size - 1, 0.5 + 0.5 * confidence))
    return quantile * float(values.std(ddof=1)) / float(np.sqrt(values.size))


@dataclass(frozen=True, eq=False)
class ScheduleSimulation:
    """What the simulated robots achieved: per page and in total, one cost for each replication."""

    page_obsolescence: NDArray[np.float64]
    costs: NDArray[np.float64]
    accesses: int
    confidence: float

    @property
    def cost(self) -> float:
        """Mean cost over the replications."""
        return float(self.costs.mean())

    @property
    def cost_half_width(self) -> float:
        """Half the width of the confidence interval of the cost."""
        return half_width(self.costs, self.confidence)


def simulate_schedule(
    pages: Pages,
    access: Law,
    sequence: Callable[[np.random.Generator], AccessSequence],
    *,
    robots: int = 1,
    accesses: int = 200_000,
    replications: int = 10,
    warm_up: float = 0.2,
    confidence: float = 0.95,
    seed: int | np.random.SeedSequence = 0,
    progress: Callable[[int], None] | None = None,
) -> ScheduleSimulation:
    """Simulate an order of accesses several times.

    `access` is the law of one robot's access; `sequence` makes the order for each replication, with the random
    generator it may need. The first `warm_up` share of each replication's accesses is not counted.

    >>> from recrawl.laws import Deterministic
    >>> from recrawl.revisit import Pages, RoundRobin
    >>> found = simulate_schedule(Pages([1.0, 1.0]), Deterministic(1.0), lambda rng: RoundRobin([0.5, 0.5]))
    >>> abs(found.cost - 2 * 0.5677) < 3 * found.cost_half_width
    True
    """
    if robots < 1 or replications < 1 or accesses < 10:
        raise InvalidModel(f"cannot simulate {replications} runs of {accesses} accesses by {robots} robots")
    if not 0.0 <= warm_up < 1.0:
        raise InvalidModel(f"warm_up must be from 0 to below 1, not {warm_up}")
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    total = np.zeros(len(pages))
    costs = np.empty(replications)
    for number, child in enumerate(root.spawn(replications)):
        rates = _replicate(pages, access, sequence, robots, accesses, warm_up, child, progress)
        costs[number] = cost_of(pages, rates)
        total += rates
    return ScheduleSimulation(total / replications, costs, accesses, confidence)


def _replicate(
    pages: Pages,
    access: Law,
    sequence: Callable[[np.random.Generator], AccessSequence],
    robots: int,
    accesses: int,
    warm_up: float,
    seed: np.random.SeedSequence,
    progress: Callable[[int], None] | None,
) -> NDArray[np.float64]:
    """Obsolescence rates of one run, over the time after its warm-up."""
    from recrawl.simulate import _schedule

    rng = np.random.default_rng(seed)
    order = sequence(rng)
    rate = pages.change_rate
    change = np.empty(rate.size)
    stale = np.zeros(rate.size)
    _schedule.start_run(rate, order.frequency > 0, rng.standard_exponential(rate.size), change)
    busy_until = np.full(robots, -1.0)
    busy_with = np.full(robots, _schedule.IDLE, dtype=np.int64)
    clock, since = 0.0, 0.0
    warm = int(warm_up * accesses)
    done = 0
    while done < accesses:
        until = warm if done < warm else accesses
        size = min(_CHUNK, until - done)
        clock = _schedule.run_accesses(
            order.take(size),
            access.sample(rng, size),
            rng.standard_exponential(size),
            clock,
            since,
            busy_until,
            busy_with,
            rate,
            change,
            stale,
        )
        done += size
        if done == warm:
            since = clock
            stale[:] = 0.0
        if progress is not None:
            progress(size)
    _schedule.finish_run(clock, since, change, stale)
    return stale / (clock - since)
