"""How good are thresholds on the queue length?

Two wider classes of policies bound them from below: deterministic policies that see the queue length only but
may use any mode at any length, and stationary policies that also see the phases of arrivals, service and
obsolescence. The paper leaves both open.

The response time in the cost (2) is a ratio N/D of two rates (stay of served pages, served pages), so (2)
is not the cost of a Markov decision process. Let v = N/D, d_min <= D <= d_max over all policies. For
v >= v₁

    a v = a v₁ + a (N − v₁ D)/D >= a v₁ + a (N − v₁ D)/d_max,

and for v <= v₂ the same with v₂ and d_min: linear costs, whose optima bound all policies with v₁ <= v <= v₂.
Halving intervals closes the gap; the bound holds for randomised policies too, since it only uses rates.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from recrawl.control.decisions import Decided, Decisions
from recrawl.control.policies import TIE
from recrawl.control.rewards import REWARDS
from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.control.evaluate import Evaluator

__all__ = ["FullState", "QueueLength", "best_full_state", "best_queue_length", "near_queue_length"]

_QUEUE_BUDGET = 3e10  # operations for all queue-length policies
_FULL_STATES = 3000
_GAP = 1e-7  # relative, between the best policy found and the bound


@dataclass(frozen=True)
class QueueLength:
    """The cheapest deterministic policy that sees only the number of pages: robots for 0, 1, ..., K pages."""

    cost: float
    robots: tuple[int, ...]
    policies: int


@dataclass(frozen=True)
class FullState:
    """A stationary policy that sees the phases, its cost, and the cost that no stationary policy undercuts.

    `robots[s]` belongs to state s of the chain (by level, then waiting room, arrival phase, service phase).
    """

    cost: float
    bound: float
    robots: NDArray[np.int64]
    starvation: float
    loss: float
    response_time: float


def best_queue_length(evaluator: Evaluator) -> QueueLength:
    """Every assignment of modes to queue lengths, evaluated."""
    model = evaluator.model
    levels = model.capacity + 1
    count = len(model.modes) ** levels
    if count * evaluator.work > _QUEUE_BUDGET:
        raise InvalidModel(
            f"{len(model.modes)} modes at {levels} queue lengths make {count:.3g} policies, "
            "too many to try all"
        )
    places = list(product(range(len(model.modes)), repeat=levels))
    padded = [p + (p[-1],) * (model.top - model.capacity) for p in places]
    costs = evaluator.costs(padded)
    best = int(np.argmin(costs))
    return QueueLength(float(costs[best]), tuple(model.numbers[m] for m in places[best]), count)


def near_queue_length(evaluator: Evaluator, start: Sequence[int]) -> QueueLength:
    """From given robots per queue length, change one or two neighbouring lengths while that pays.

    For queues whose policies are too many to try all: the best that was found, without proof.
    """
    model = evaluator.model
    levels, count = model.capacity + 1, len(model.modes)
    extra = model.top - model.capacity
    here = model.assignment(start)[:levels]

    def cost(places: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        return evaluator.costs([p + (p[-1],) * extra for p in places])

    value = float(cost([here])[0])
    while True:
        near = {
            (*here[:i], *([mode] * width), *here[i + width :])
            for i in range(levels)
            for width in (1, 2)
            for mode in range(count)
            if i + width <= levels
        }
        candidates = sorted(near - {here})
        costs = cost(candidates) if candidates else np.array([np.inf])
        best = int(np.argmin(costs))
        if not costs[best] < value * (1.0 - TIE):
            return QueueLength(value, tuple(model.numbers[m] for m in here), evaluator.evaluated)
        here, value = candidates[best], float(costs[best])


class _Search:
    """Branch and bound on the response time v."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.process = Decisions(evaluator.chain)
        table = evaluator.table.transpose(2, 0, 1)  # [reward, mode, state]
        self.rewards = {name: table[place] for place, name in enumerate(REWARDS)}
        prices = evaluator.model.costs
        self.weight = prices.response
        self.linear = (
            prices.loss * self.rewards["lost"]
            + prices.obsolete * self.rewards["obsolete"]
            + prices.robot * self.rewards["robots"]
            + prices.starvation * self.rewards["starving"]
        )
        self.best_cost, self.best_modes = np.inf, np.zeros(evaluator.chain.states, dtype=np.int64)

    def rates(self, modes: NDArray[np.int64]) -> dict[str, float]:
        """Rates of all rewards under a policy that sees the state."""
        share = self.process.stationary(modes)
        states = np.arange(share.size)
        return {name: float(share @ reward[modes, states]) for name, reward in self.rewards.items()}

    def try_policy(self, modes: NDArray[np.int64]) -> float:
        """Its true cost (2); remembered if it is the best."""
        share = self.process.stationary(modes)
        states = np.arange(share.size)
        ratio = float(share @ self.rewards["response"][modes, states]) / float(
            share @ self.rewards["served"][modes, states]
        )
        cost = float(share @ self.linear[modes, states]) + self.weight * ratio
        if cost < self.best_cost:
            self.best_cost, self.best_modes = cost, modes
        return ratio

    def relaxed(self, at: float, rate: float) -> float:
        """Lower bound from the linear cost c + a (N − v D)/rate, plus a v."""
        tilt = self.weight * (self.rewards["response"] - at * self.rewards["served"]) / rate
        decided = self.process.cheapest(self.linear + tilt, self.best_modes)
        self.try_policy(decided.modes)
        return decided.bound + self.weight * at

    def descend(self, modes: NDArray[np.int64]) -> None:
        """Linearise the ratio at the current policy and solve, while that pays."""
        for _ in range(50):
            before = self.best_cost
            rates = self.rates(modes)
            at = rates["response"] / rates["served"]
            tilt = self.weight * (self.rewards["response"] - at * self.rewards["served"]) / rates["served"]
            decided: Decided = self.process.cheapest(self.linear + tilt, modes)
            self.try_policy(decided.modes)
            if not self.best_cost < before * (1.0 - 1e-13):
                return
            modes = decided.modes

    def shortest_response(self) -> float:
        """A value that N/D cannot undercut (Dinkelbach's iteration, its last bound)."""
        at = self.try_policy(self.best_modes)
        for _ in range(60):
            decided = self.process.cheapest(self.rewards["response"] - at * self.rewards["served"])
            lower = self.try_policy(decided.modes)
            if lower >= at * (1.0 - 1e-12):
                break
            at = lower
        return at * (1.0 - 1e-9)


def best_full_state(evaluator: Evaluator, max_nodes: int = 150) -> FullState:
    """The cheapest stationary policy that may see the phases, with a proof of how cheap any can be."""
    chain = evaluator.chain
    if not evaluator.linear:
        raise InvalidModel(
            "with random order and obsolescence the response time of a page depends on later decisions, "
            "so it is not a ratio of two rates"
        )
    if chain.states > _FULL_STATES:
        raise InvalidModel(
            f"{chain.states:,} states, more than the {_FULL_STATES:,} that policy iteration takes"
        )
    search = _Search(evaluator)
    if search.weight == 0:
        decided = search.process.cheapest(search.linear)
        search.try_policy(decided.modes)
        bound = decided.bound
    else:
        bound = _branch(search, max_nodes)
    rates = search.rates(search.best_modes)
    numbers = np.array(chain.model.numbers)
    return FullState(
        search.best_cost,
        min(bound, search.best_cost),
        numbers[search.best_modes],
        rates["starving"],
        rates["lost"] / rates["arrived"],
        rates["response"] / rates["served"],
    )


@dataclass(frozen=True, order=True)
class _Interval:
    """Policies with a response time in [v1, v2]: served rate in [least, most], cost from `bound` on."""

    bound: float
    v1: float
    v2: float
    least: float
    most: float


class _Bounder:
    """Bounds intervals of the response time; first narrows what the served rate can be in them."""

    def __init__(self, search: _Search, floor: float) -> None:
        self.search, self.floor = search, floor
        self.prices = {+1: 1e-3, -1: 1e-3}  # of linear cost, in pages; adapted as the search goes on

    def _served(self, sign: int, allowance: float, known: float) -> float:
        """What sign · D cannot exceed when the linear cost is at most `allowance` (weak duality)."""
        best, chosen = known, self.prices[sign]
        for factor in (0.2, 1.0, 5.0):
            price = self.prices[sign] * factor
            costs = price * self.search.linear - sign * self.search.rewards["served"]
            value = price * allowance - self.search.process.cheapest(costs, self.search.best_modes).bound
            if value < best:
                best, chosen = value, price
        self.prices[sign] = chosen
        return best

    def bounded(self, v1: float, v2: float, parent: _Interval) -> _Interval:
        """One interval, with the better of the two linear relaxations."""
        search = self.search
        allowance = search.best_cost - search.weight * v1
        if allowance <= self.floor:
            return _Interval(search.best_cost, v1, v2, parent.least, parent.most)
        most = self._served(+1, allowance, parent.most)
        least = -self._served(-1, allowance, -parent.least)
        if least > most:  # nothing in this interval is cheaper than the best policy known
            return _Interval(search.best_cost, v1, v2, most, least)
        bound = max(
            parent.bound, search.relaxed(v1, most), search.relaxed(v2, least), self.floor + search.weight * v1
        )
        return _Interval(bound, v1, v2, least, most)


def _branch(search: _Search, max_nodes: int) -> float:
    """Halve intervals of v, worst bound first, until the bound meets the best policy."""
    search.descend(search.best_modes)
    most = -search.process.cheapest(-search.rewards["served"]).bound
    least = max(search.process.cheapest(search.rewards["served"]).bound, 1e-12 * most)
    cheapest = search.process.cheapest(search.linear)
    search.try_policy(cheapest.modes)
    search.descend(cheapest.modes)
    low = search.shortest_response()
    high = max(low * (1 + 1e-9), (search.best_cost - cheapest.bound) / search.weight)
    bounder = _Bounder(search, cheapest.bound)
    heap = [bounder.bounded(low, high, _Interval(-np.inf, low, high, least, most))]
    for _ in range(max_nodes):
        worst = heap[0]
        if worst.bound >= search.best_cost * (1.0 - _GAP):
            break
        heapq.heappop(heap)
        middle = 0.5 * (worst.v1 + worst.v2)
        heapq.heappush(heap, bounder.bounded(worst.v1, middle, worst))
        heapq.heappush(heap, bounder.bounded(middle, worst.v2, worst))
    return heap[0].bound  # valid however far the search went; the gap is visible beside the cost
