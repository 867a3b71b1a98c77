"""A global search that proves its answer.

More arrivals never make an index queue emptier: feed two queues the same pages, one of them some pages more, and
the fuller one stays at least as full. So with the load

* starvation falls,
* loss rises (a page that finds room in the fuller queue finds room in the other),
* the mean number of pages rises, and so does the throughput.

Between two loads a < b the cost γ P(X=0) + P(X=K) + c E[response] + (price of robots) is therefore at least

    γ starvation(b) + loss(a) + c mean_queue(a)/throughput(b) + price(a).

[Talim 2001, Lemma 5] leaves open whether there are several minima; with this bound it does not matter: intervals
that cannot hold the optimum are discarded, the others are halved, until the bound meets the best value found.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.errors import InvalidModel, NotConverged
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.fleet.mg1k import IndexQueue

__all__ = ["Costs", "Sample", "Searched", "branch_and_bound", "largest_useful_choice"]

# No load beyond this is tried: the optimum is then reported as not found.
LARGEST_LOAD = 1e12
_MOST_EVALUATIONS = 200_000


@dataclass(frozen=True)
class Costs:
    """What is paid for: starvation [Talim 2001, (1)], and beyond the paper robots and response time.

    A lost page costs one; `starvation` is γ, `response` the price of one unit of mean response time, `robot` that
    of one active robot.
    """

    starvation: float
    response: float = 0.0
    robot: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "starvation", positive("starvation weight", self.starvation))
        object.__setattr__(self, "response", positive("response weight", self.response, zero=True))
        object.__setattr__(self, "robot", positive("robot price", self.robot, zero=True))

    def of(self, queue: IndexQueue) -> float:
        """Cost of a queue, robots not included."""
        waiting = self.response * queue.response_time if self.response else 0.0
        return self.starvation * queue.starvation + queue.loss + waiting

    def bound(self, low: IndexQueue, high: IndexQueue) -> float:
        """No load between those of the two queues costs less, robots not included."""
        waiting = self.response * low.mean_queue / high.throughput if self.response else 0.0
        return self.starvation * high.starvation + low.loss + waiting


@dataclass(frozen=True)
class Sample:
    """The queue at one choice (a load, or a number of robots), its cost, and the price of robots in it."""

    choice: float
    queue: IndexQueue
    cost: float
    price: float


@dataclass(frozen=True)
class Searched:
    """What a search found: the best sample, a proven lower bound, and all samples by rising choice."""

    best: Sample
    lower_bound: float
    samples: tuple[Sample, ...]


def largest_useful_choice(sample: Callable[[float], Sample], costs: Costs, start: float) -> float:
    """A choice beyond which nothing is cheaper than the cheapest seen, by doubling from `start`."""
    choice, known = start, math.inf
    while True:
        this = sample(choice)
        queue = this.queue
        known = min(known, this.cost)
        # At any higher load: no less loss, no fewer pages, no more than one page indexed per mean service.
        if queue.loss + costs.response * queue.mean_queue * queue.service.mean + this.price >= known:
            return choice
        if queue.load > LARGEST_LOAD:
            break
        choice *= 2
    if queue.capacity == 1:
        raise InvalidModel(
            "capacity 1 has no optimal load: its cost falls for ever; limit the number of robots or use capacity 2"
        )
    raise NotConverged(
        f"no optimal load below {LARGEST_LOAD:g} for starvation weight {costs.starvation:g} "
        f"and capacity {queue.capacity}"
    )


def branch_and_bound(
    sample: Callable[[float], Sample],
    costs: Costs,
    choices: Sequence[float],
    between: Callable[[float, float], float | None],
    tolerance: float,
) -> Searched:
    """Halve intervals of choices until the best sample is within `tolerance` (relative) of the lower bound.

    `between` names a choice inside an interval, or None when the interval holds no other.
    """
    samples = {choice: sample(choice) for choice in choices}
    best = min(samples.values(), key=lambda s: (s.cost, s.choice))
    order = itertools.count()
    heap: list[tuple[float, int, Sample, Sample]] = []

    def push(low: Sample, high: Sample) -> None:
        floor = costs.bound(low.queue, high.queue) + low.price
        heapq.heappush(heap, (floor, next(order), low, high))

    ends = sorted(samples)
    for a, b in itertools.pairwise(ends):
        push(samples[a], samples[b])
    lower_bound = best.cost
    while heap:
        floor, _, low, high = heapq.heappop(heap)
        if floor >= best.cost * (1.0 - tolerance):
            lower_bound = min(best.cost, floor)
            break
        choice = between(low.choice, high.choice)
        if choice is None:
            continue
        if len(samples) >= _MOST_EVALUATIONS:
            raise NotConverged(f"no optimum proven after {len(samples)} evaluations")
        middle = samples[choice] = sample(choice)
        if (middle.cost, middle.choice) < (best.cost, best.choice):
            best = middle
        push(low, middle)
        push(middle, high)
    return Searched(best, lower_bound, tuple(samples[choice] for choice in sorted(samples)))
