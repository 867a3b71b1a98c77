"""The load and the number of robots of least cost, for any service law, found globally."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.errors import InvalidModel, NotConverged
from recrawl.fleet import mm1k
from recrawl.fleet.mg1k import IndexQueue, limit_cost, solve
from recrawl.fleet.mm1k import checked_capacity
from recrawl.fleet.search import Costs, Sample, branch_and_bound, largest_useful_choice
from recrawl.laws import Exponential, Law
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "OptimalLoad",
    "RobotChoice",
    "limit_robots",
    "local_minima",
    "optimal_load",
    "optimal_robots",
    "robot_curve",
]

# Relative gap between the optimal cost and its proven lower bound when loads are continuous.
_GAP = 1e-3
# Loads below this bring no page in any time that matters.
_SMALLEST_LOAD = 1e-9


@dataclass(frozen=True)
class OptimalLoad:
    """The load of least cost.

    No load costs less than `lower_bound`, which is proven to be within 0.1 % of `cost`. `minima` lists the loads
    of all local minima seen on the way (the global one included); `evaluations` counts the queues solved.
    """

    load: float
    cost: float
    queue: IndexQueue
    lower_bound: float
    minima: tuple[float, ...]
    evaluations: int


def optimal_load(
    service: Law,
    starvation_weight: float,
    capacity: int,
    *,
    response_weight: float = 0.0,
    load_price: float = 0.0,
) -> OptimalLoad:
    """The load of least cost γ P(X=0) + P(X=K), plus response weight × mean response time and price × load.

    The cost is exact to rounding; the load, where the cost is flat, to about 1e-8 (M/M/1/K without a response
    weight: 1e-15, by Lemma 1's equation).

    >>> from recrawl.laws import TwoTask
    >>> round(optimal_load(TwoTask(2.0, 10.0, 1.0), starvation_weight=2.0, capacity=15).load, 4)
    1.0667
    """
    costs = Costs(starvation_weight, response_weight)
    capacity, load_price = checked_capacity(capacity, least=2), positive("load price", load_price, zero=True)

    def sample(load: float) -> Sample:
        queue = solve(service, load, capacity)
        price = load_price * load
        return Sample(load, queue, costs.of(queue) + price, price)

    guess = mm1k.optimal_load(costs.starvation, capacity)
    known = min(sample(load).cost for load in (guess, 1.0))
    high = largest_useful_choice(sample, costs, max(2.0, 2.0 * guess))
    # Below 1 − known/γ starvation alone costs more than what is known.
    low = max(
        _SMALLEST_LOAD, min(guess, 1.0 - (known - costs.response * service.mean) / costs.starvation) / 2
    )
    grid = [low * (high / low) ** (i / 40) for i in range(41)]
    found = branch_and_bound(
        sample, costs, [_SMALLEST_LOAD, *grid[1:-1], guess, high], lambda a, b: math.sqrt(a * b), _GAP
    )
    if found.best.choice <= 2 * _SMALLEST_LOAD:
        raise InvalidModel(
            f"response weight {response_weight:g} and price {load_price:g} make an indexer that never works "
            "the cheapest; lower them"
        )
    minima = [_refined(sample, *triple) for triple in _valleys(found.samples)]
    best = min(minima, key=lambda s: s.cost)
    if type(service) is Exponential and not costs.response and not load_price:
        best = sample(guess)
    return OptimalLoad(
        best.choice,
        best.cost,
        best.queue,
        min(found.lower_bound, best.cost),
        tuple(s.choice for s in minima),
        len(found.samples),
    )


def _valleys(samples: Iterable[Sample]) -> list[tuple[Sample, Sample, Sample]]:
    """Three neighbours of which the middle one is the cheapest by more than rounding."""
    distinct = list(samples)
    return [
        (a, b, c)
        for a, b, c in zip(distinct, distinct[1:], distinct[2:], strict=False)
        if b.cost <= a.cost and b.cost < c.cost
    ]


def _refined(sample: Callable[[float], Sample], low: Sample, middle: Sample, high: Sample) -> Sample:
    """The minimum between two loads."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log: sample(math.exp(log)).cost,
        bracket=(math.log(low.choice), math.log(middle.choice), math.log(high.choice)),
        method="brent",
        options={"xtol": 1e-9},
    )
    refined = sample(math.exp(float(found.x)))
    return refined if refined.cost <= middle.cost else middle


def local_minima(
    service: Law, starvation_weight: float, capacity: int, *, loads: int = 400, response_weight: float = 0.0
) -> tuple[float, ...]:
    """Loads of all local minima of the cost that a scan of many loads sees.

    A valley narrower than the scan's step, or shallower than 1e-9 of the cost, is not seen.

    >>> from recrawl.laws import Exponential
    >>> [round(load, 6) for load in local_minima(Exponential(1.0), 1.0, 5)]
    [1.0]
    """
    costs = Costs(starvation_weight, response_weight)
    capacity = checked_capacity(capacity, least=2)

    def sample(load: float) -> Sample:
        queue = solve(service, load, capacity)
        return Sample(load, queue, costs.of(queue), 0.0)

    high = largest_useful_choice(sample, costs, 2.0)
    low = min(1e-6, 1e-3 * mm1k.optimal_load(costs.starvation, capacity))
    samples = [sample(low * (high / low) ** (i / (loads - 1))) for i in range(loads)]
    kept = samples[:1]
    for this in samples[1:]:
        if abs(this.cost - kept[-1].cost) > 1e-9 * this.cost:
            kept.append(this)
    return tuple(_refined(sample, *triple).choice for triple in _valleys(kept))


@dataclass(frozen=True)
class RobotChoice:
    """The number of robots of least cost, proven among all numbers, and the queue they feed.

    `cost` includes the robots' price. `limit` is true when more robots than the given most were cheaper.
    """

    robots: int
    cost: float
    queue: IndexQueue
    evaluations: int
    limit: bool


def optimal_robots(
    service: Law,
    robot_rate: float,
    costs: Costs,
    capacity: int,
    *,
    max_robots: int | None = None,
) -> RobotChoice:
    """The number N >= 1 of robots, each bringing pages at `robot_rate`, of least cost.

    [Talim 2001, Proposition 2] looks at the two numbers beside the optimal load, which is right when there is
    one minimum; this search proves its answer whatever the shape. Ties go to fewer robots.

    >>> optimal_robots(Exponential(1.0), robot_rate=0.2, costs=Costs(2.0), capacity=10).robots
    6
    """
    capacity = checked_capacity(capacity)
    per_robot = positive("robot rate", robot_rate) * service.mean
    if max_robots is not None and max_robots < 1:
        raise InvalidModel(f"max robots must be at least 1, not {max_robots}")

    def sample(number: float) -> Sample:
        queue = solve(service, number * per_robot, capacity)
        price = costs.robot * number
        return Sample(number, queue, costs.of(queue) + price, price)

    top = _most_useful_robots(sample, per_robot, costs, max_robots)
    grid = sorted({1, top, *(min(top, 2**i) for i in range(top.bit_length()))})
    found = branch_and_bound(
        sample, costs, grid, lambda a, b: (a + b) // 2 if b - a > 1 else None, tolerance=1e-13
    )
    best = found.best
    limit = top == max_robots and best.choice == top and sample(top + 1).cost < best.cost
    return RobotChoice(int(best.choice), best.cost, best.queue, len(found.samples), limit)


def _most_useful_robots(
    sample: Callable[[float], Sample], per_robot: float, costs: Costs, max_robots: int | None
) -> int:
    """More robots than this are never cheaper, or not allowed."""
    try:
        top = int(largest_useful_choice(sample, costs, math.ceil(1.0 / per_robot)))
    except (InvalidModel, NotConverged):
        if max_robots is None:
            raise
        return max_robots
    return top if max_robots is None else min(top, max_robots)


def limit_robots(service: Law, robot_rate: float, starvation_weight: float) -> int:
    """The optimal number of robots for an unbounded buffer. [Talim 2001, (14), Proposition 6]

    It depends on the mean of the service only. Where the two neighbours of load one cost the same the smaller
    number is returned (the paper's (14) allows both).

    >>> limit_robots(Exponential(1.0), robot_rate=1/6, starvation_weight=2.0)
    6
    """
    per_robot = positive("robot rate", robot_rate) * service.mean
    exact = 1.0 / per_robot
    # A whole number of robots that meets the service rate up to rounding is exact.
    if abs(exact - round(exact)) <= 1e-12 * exact and round(exact) >= 1:
        return round(exact)
    below, above = math.floor(exact), math.ceil(exact)
    if below == 0:
        return 1
    cheaper = limit_cost(above * per_robot, starvation_weight) < limit_cost(
        below * per_robot, starvation_weight
    )
    return above if cheaper else below


def robot_curve(
    service: Law, robot_rate: float, costs: Costs, capacity: int, robots: Iterable[int]
) -> list[tuple[int, float, IndexQueue]]:
    """Number of robots, cost and queue, for each number given.

    >>> [round(c, 6) for _, c, _ in robot_curve(Exponential(1.0), 0.5, Costs(1.0), 4, [1, 2, 3])]
    [0.548387, 0.4, 0.459716]
    """
    per_robot = positive("robot rate", robot_rate) * service.mean
    queues = ((number, solve(service, number * per_robot, capacity)) for number in robots)
    return [(number, costs.of(queue) + costs.robot * number, queue) for number, queue in queues]
