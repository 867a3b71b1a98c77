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
_FORGETS = 200  # accesses of a page in a run after which its start no longer matters


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
    generator it may need; each begins at a random point of it. The first `warm_up` share of each replication's
    accesses is not counted.

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

    order_seed, time_seed = seed.spawn(2)
    rng = np.random.default_rng(time_seed)
    order = _order(sequence, order_seed)
    size = len(pages)
    changing = pages.change_rate > 0
    patience = np.where(changing, 1.0 / np.where(changing, pages.change_rate, 1.0), _schedule.NEVER)
    change = np.empty(size)
    stale = np.zeros(size)
    ages = _ages(_order(sequence, order_seed), accesses, rng) * (access.mean / robots)
    _schedule.start_run(patience, ages, rng.standard_exponential(size), change)
    busy_until = np.full(robots, -1.0)
    busy_with = np.full(robots, _schedule.IDLE, dtype=np.int64)
    clock, since = 0.0, 0.0
    warm = int(warm_up * accesses)
    done = 0
    while done < accesses:
        until = warm if done < warm else accesses
        step = min(_CHUNK, until - done)
        clock = _schedule.run_accesses(
            order.take(step),
            access.sample(rng, step),
            rng.standard_exponential(step),
            clock,
            since,
            busy_until,
            busy_with,
            patience,
            change,
            stale,
        )
        done += step
        if done == warm:
            since = clock
            stale[:] = 0.0
        if progress is not None:
            progress(step)
    _schedule.finish_run(clock, since, change, stale)
    return stale / (clock - since)


def _order(
    sequence: Callable[[np.random.Generator], AccessSequence], seed: np.random.SeedSequence
) -> AccessSequence:
    """The order of one run, begun at a random point; the same for the same seed."""
    rng = np.random.default_rng(seed)
    order = sequence(rng)
    order.start_anywhere(rng)
    return order


def _ages(order: AccessSequence, accesses: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """How many slots before the run each page was last accessed, as if the order had always been running.

    Pages that a run accesses hardly ever would otherwise keep the state they start in. For pages without memory
    the age is geometric; for the others the access before the run lies one mean interval before the first one in
    it. Pages that are never accessed have been stale for ever.
    """
    from recrawl.simulate import _schedule

    frequency = order.frequency
    visited = frequency > 0
    interval = 1.0 / np.where(visited, frequency, 1.0)
    if order.memoryless:
        return np.where(visited, rng.standard_exponential(frequency.size) * interval, np.inf)
    first = np.full(frequency.size, -1, dtype=np.int64)
    # Pages that come often enough to forget their start need no search for their first slot.
    need = visited & (frequency * accesses < _FORGETS)
    done = 0
    while need.any() and done < accesses and (first[need] < 0).any():
        chunk = order.take(min(_CHUNK, accesses - done))
        _schedule.first_slots(chunk, done, first)
        done += chunk.size
    # A page that does not come at all comes somewhere in the rest of its interval.
    later = accesses + rng.random(frequency.size) * np.maximum(interval - accesses, 0.0)
    slot = np.where(first >= 0, first + 1.0, np.where(need, later, 0.5 * interval))
    return np.where(visited, np.maximum(interval - slot, 0.0), np.inf)
