"""Robots that are not alike: which of them to run, or how many to send to each area.

[Talim 2001, Section 5] leaves this open. Each robot of a group (one machine, a kind of machine, an area of the web)
brings pages in its own Poisson stream; together they are a Poisson stream whose rate is the sum. So the queue
sees the total rate only, and the choice is which total to reach, and by which robots, when they have prices,
limits, and areas that must be covered.

All combinations are listed and most are discarded unseen by the bound of `fleet/search.py`: exact, up to a few
million combinations. Beyond that the answer comes from improving a relaxed solution step by step, with a proven
lower bound beside it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel, NotConverged
from recrawl.fleet.mg1k import IndexQueue, solve
from recrawl.fleet.mm1k import checked_capacity
from recrawl.fleet.search import Costs, Sample, branch_and_bound
from recrawl.laws.law import Law, positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Allocation", "RobotGroup", "allocate"]

_MOST_COMBINATIONS = 2_000_000
_MOST_EVALUATIONS = 20_000
# Costs that differ by less are equal; the fewest robots then win.
_TIE = 1e-12


@dataclass(frozen=True)
class RobotGroup:
    """Robots of equal speed: `rate` pages per unit of time each, from `least` to `most` of them, at `price` each."""

    name: str
    rate: float
    most: int = 1
    least: int = 0
    price: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive(f"rate of {self.name}", self.rate))
        object.__setattr__(self, "price", positive(f"price of {self.name}", self.price, zero=True))
        if int(self.most) != self.most or int(self.least) != self.least or not 0 <= self.least <= self.most:
            raise InvalidModel(
                f"{self.name} must have whole numbers 0 <= least <= most, not {self.least} and {self.most}"
            )


@dataclass(frozen=True)
class Allocation:
    """How many robots of each group to run.

    No allocation costs less than `lower_bound`; it equals `cost` when `exact`.
    """

    robots: dict[str, int]
    cost: float
    queue: IndexQueue
    lower_bound: float
    exact: bool
    combinations: int


class _Problem:
    """The groups with the queue they feed."""

    def __init__(
        self, groups: Sequence[RobotGroup], service: Law, costs: Costs, capacity: int, most_robots: int | None
    ) -> None:
        self.groups = tuple(groups)
        self.service, self.costs, self.capacity = service, costs, checked_capacity(capacity)
        self.rates = np.array([group.rate for group in groups])
        self.prices = np.array([group.price + costs.robot for group in groups])
        self.least = np.array([group.least for group in groups])
        self.most = np.array([group.most for group in groups])
        self.most_robots = int(self.most.sum()) if most_robots is None else most_robots
        if max(1, self.least.sum()) > min(self.most_robots, self.most.sum()):
            raise InvalidModel(
                f"at least {max(1, self.least.sum())} robots are needed and "
                f"at most {min(self.most_robots, self.most.sum())} are allowed"
            )
        self._queues: dict[float, IndexQueue] = {}

    def queue(self, rate: float) -> IndexQueue:
        if rate not in self._queues:
            self._queues[rate] = solve(self.service, rate * self.service.mean, self.capacity)
        return self._queues[rate]

    def cost(self, counts: NDArray[np.int64]) -> float:
        return self.costs.of(self.queue(float(counts @ self.rates))) + float(counts @ self.prices)

    def allocation(self, counts: NDArray[np.int64], bound: float, exact: bool, tried: int) -> Allocation:
        names = {group.name: int(number) for group, number in zip(self.groups, counts, strict=True)}
        cost = self.cost(counts)
        return Allocation(names, cost, self.queue(float(counts @ self.rates)), min(bound, cost), exact, tried)


def allocate(
    groups: Sequence[RobotGroup],
    service: Law,
    costs: Costs,
    capacity: int,
    *,
    most_robots: int | None = None,
) -> Allocation:
    """The cheapest number of robots of each group. Ties go to fewer robots.

    A group with `most` = 1 is one robot, so this also answers which subset of different robots to run.

    >>> from recrawl.laws import Exponential
    >>> fast, slow = RobotGroup("fast", rate=0.7, most=1), RobotGroup("slow", rate=0.2, most=4)
    >>> allocate([fast, slow], Exponential(1.0), Costs(starvation=1.0), capacity=10).robots
    {'fast': 1, 'slow': 2}
    """
    if not groups:
        raise InvalidModel("there must be at least one group of robots")
    if len({group.name for group in groups}) < len(groups):
        raise InvalidModel("groups must have different names")
    problem = _Problem(groups, service, costs, capacity, most_robots)
    combinations = math.prod(int(m - l) + 1 for l, m in zip(problem.least, problem.most, strict=True))
    if combinations > _MOST_COMBINATIONS:
        return _improved(problem, combinations)
    return _exact(problem, combinations)


def _exact(problem: _Problem, combinations: int) -> Allocation:
    """Look at combinations by rising lower bound until the bound meets the best cost."""
    ranges = [np.arange(l, m + 1) for l, m in zip(problem.least, problem.most, strict=True)]
    counts = np.stack([grid.ravel() for grid in np.meshgrid(*ranges, indexing="ij")], axis=1)
    numbers = counts.sum(axis=1)
    counts = counts[(numbers >= 1) & (numbers <= problem.most_robots)]
    rates, prices = counts @ problem.rates, counts @ problem.prices
    known = np.unique(np.quantile(rates, np.linspace(0.0, 1.0, 33), method="nearest"))
    best, chosen = math.inf, counts[0]
    for _ in range(_MOST_EVALUATIONS):
        queues = [problem.queue(float(rate)) for rate in known]
        own = np.array([problem.costs.of(queue) for queue in queues])
        between = np.array([problem.costs.bound(a, b) for a, b in itertools.pairwise(queues)])
        place = np.minimum(np.searchsorted(known, rates), len(known) - 1)
        seen = known[place] == rates
        bounds = np.where(seen, own[place], np.append(between, math.inf)[np.maximum(place - 1, 0)]) + prices
        if seen.any():
            best, chosen = _cheapest(bounds[seen], counts[seen], best, chosen)
        open_ones = ~seen & (bounds < best * (1.0 - _TIE))
        if not open_ones.any():
            return problem.allocation(chosen, best, exact=True, tried=combinations)
        kept = seen & (bounds <= best * (1.0 + _TIE)) | open_ones
        counts, rates, prices, bounds = counts[kept], rates[kept], prices[kept], bounds[kept]
        fresh = rates[np.argsort(np.where(open_ones[kept], bounds, math.inf), kind="stable")[:8]]
        known = np.unique(np.concatenate((known, fresh)))
    raise NotConverged(f"no allocation proven optimal among {combinations} combinations")


def _cheapest(
    costs: NDArray[np.float64], counts: NDArray[np.int64], best: float, chosen: NDArray[np.int64]
) -> tuple[float, NDArray[np.int64]]:
    """The cheapest combination seen, with the fewest robots among equals."""
    least = min(best, float(costs.min()))
    ties = counts[costs <= least * (1.0 + _TIE)]
    if best <= least * (1.0 + _TIE):
        ties = np.concatenate((ties, chosen[None, :]))
    return least, ties[np.argmin(ties.sum(axis=1))]


def _improved(problem: _Problem, combinations: int) -> Allocation:
    """Round the relaxed optimum, then add, drop or exchange single robots while that helps."""
    rate, bound = _relaxed(problem)
    counts = problem.least.copy()
    for j in np.argsort(problem.prices / problem.rates, kind="stable"):
        missing = max(0.0, rate - float(counts @ problem.rates))
        room = min(int(problem.most[j] - counts[j]), problem.most_robots - int(counts.sum()))
        counts[j] += min(room, round(missing / problem.rates[j]))
    if counts.sum() == 0:
        counts[np.argmin(problem.prices)] = 1
    best = problem.cost(counts)
    moves = [m for m in _moves(len(counts)) if m.any()]
    while True:
        options = [
            (problem.cost(counts + move), int(move.sum()), place)
            for place, move in enumerate(moves)
            if ((counts + move >= problem.least) & (counts + move <= problem.most)).all()
            and 1 <= (counts + move).sum() <= problem.most_robots
        ]
        if not options or min(options)[0] >= best * (1.0 - _TIE):
            return problem.allocation(counts, bound, exact=False, tried=combinations)
        best, _, place = min(options)
        counts = counts + moves[place]


def _moves(size: int) -> list[NDArray[np.int64]]:
    unit = np.eye(size + 1, size, dtype=np.int64)  # the last row is "no robot"
    return [a - b for a in unit for b in unit]


def _relaxed(problem: _Problem) -> tuple[float, float]:
    """Best total rate when robots could be split, and its cost: a lower bound of every allocation."""
    order = np.argsort(problem.prices / problem.rates, kind="stable")
    extra = (problem.most - problem.least)[order]
    rates = np.concatenate(([problem.least @ problem.rates], extra * problem.rates[order])).cumsum()
    prices = np.concatenate(([problem.least @ problem.prices], extra * problem.prices[order])).cumsum()

    def sample(rate: float) -> Sample:
        queue = problem.queue(rate)
        price = float(np.interp(rate, rates, prices))
        return Sample(rate, queue, problem.costs.of(queue) + price, price)

    low = max(float(rates[0]), float(problem.rates.min()))
    found = branch_and_bound(
        sample,
        problem.costs,
        sorted({low, *np.linspace(low, float(rates[-1]), 33).tolist()}),
        lambda a, b: 0.5 * (a + b),
        tolerance=1e-4,
    )
    return found.best.choice, found.lower_bound
