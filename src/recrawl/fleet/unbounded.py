"""Waiting pages that grow obsolete, and how large a buffer must be to be as good as an unbounded one.

[Talim 2001, Section 1] proposes to bound the waiting time instead of the buffer. Here each waiting page becomes
obsolete after an exponential time (rate θ) and leaves the buffer unindexed; the page in service does not. The cost
is γ P(X=0) + P(an arriving page is lost or becomes obsolete).

Any service law: during one service the number of waiting pages is a birth-death process with rates λ and jθ on
0..K−1. Uniformised at rate u = λ + (K−1)θ with step matrix P it moves over a service of law F by

    E[e^{QX}] = Σ_n k_n Pⁿ,      E∫₀ˣ e^{Qs} ds = Σ_n t_n Pⁿ / u,

where k_n and t_n are the probabilities of n, and of more than n, arrivals of rate u during one service: again sums
of positive terms. The numbers of pages at ends of service form a Markov chain, solved without subtraction. With
θ = 0 this is the M/G/1/K queue, by another road than `fleet/mg1k.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel, NotConverged
from recrawl.fleet.mg1k import limit_cost, solve
from recrawl.fleet.mm1k import checked_capacity
from recrawl.laws import Law, arrival_counts
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ObsolescentQueue",
    "SmallestCapacity",
    "smallest_capacity",
    "solve_obsolescent",
    "unbounded_obsolescent",
]

_LARGEST_CAPACITY = 2048
# A service that needs more uniformised steps than this is given up.
_MOST_TERMS = 1 << 16


@dataclass(frozen=True)
class ObsolescentQueue:
    """An index queue whose waiting pages grow obsolete.

    `loss` and `obsolete` are fractions of arriving pages; `capacity` is finite even where it stands for an unbounded
    buffer: no page is lost there to within 1e-15.
    """

    load: float
    capacity: int
    starvation: float
    loss: float
    obsolete: float
    mean_queue: float

    def cost(self, starvation_weight: float) -> float:
        """γ P(X=0) + P(lost or obsolete)."""
        return positive("starvation weight", starvation_weight) * self.starvation + self.loss + self.obsolete


def solve_obsolescent(service: Law, load: float, capacity: int, obsolescence_rate: float) -> ObsolescentQueue:
    """The index queue with room for `capacity` pages, waiting ones growing obsolete at a rate.

    >>> from recrawl.laws import Exponential
    >>> queue = solve_obsolescent(Exponential(1.0), load=1.0, capacity=2, obsolescence_rate=1.0)
    >>> round(queue.starvation, 12), round(queue.loss, 12), round(queue.obsolete, 12)   # 1 : 1 : 1/2
    (0.4, 0.2, 0.2)
    """
    load, capacity = positive("load", load), checked_capacity(capacity)
    theta = positive("obsolescence rate", obsolescence_rate, zero=True)
    if capacity > _LARGEST_CAPACITY:
        raise InvalidModel(f"capacity must be at most {_LARGEST_CAPACITY} with obsolescence, not {capacity}")
    from recrawl.fleet._kernels import leave_one_state

    rate = load / service.mean
    moved, spent = _during_service(service, rate, theta, capacity - 1)
    # A service that ends with i waiting pages is followed by one that starts with i − 1 (or with 0, after a pause).
    starts = np.maximum(np.arange(capacity) - 1, 0)
    left = leave_one_state(moved[starts].copy())
    busy = left @ spent[starts]  # time with j waiting pages per service
    pause = left[0] / rate
    cycle = service.mean + pause
    waiting = np.arange(capacity)
    return ObsolescentQueue(
        load=load,
        capacity=capacity,
        starvation=float(pause / cycle),
        loss=float(busy[-1] / cycle),
        obsolete=float(theta * (waiting @ busy) / (cycle * rate)),
        mean_queue=float((waiting + 1) @ busy / cycle),
    )


def _during_service(
    service: Law, rate: float, theta: float, places: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """E[e^{QX}] and E∫e^{Qs}ds over one service, for 0..places waiting pages."""
    pace = rate + places * theta
    up = np.append(np.full(places, rate / pace), 0.0)
    down = np.arange(places + 1) * (theta / pace)
    stay = np.maximum(1.0 - up - down, 0.0)
    power = np.eye(places + 1)
    moved, spent = np.zeros_like(power), np.zeros_like(power)
    # Two buffers fed by the same pages differ by pages that were there at the start; each is gone with probability
    # θ/u in each step (without obsolescence: the buffer is full after as many steps as it has places).
    settled = (40.0 + math.log(places + 1)) * pace / theta if theta else places
    n, last = 0, 64
    while last <= _MOST_TERMS:
        counts = arrival_counts(service, pace, last)
        excesses = counts.excesses
        while n <= last:
            moved += counts.probabilities[n] * power
            after = power * stay
            after[:, 1:] += power[:, :-1] * up[:-1]
            after[:, :-1] += power[:, 1:] * down[1:]
            if n >= settled or excesses[n] < 1e-18 * pace * service.mean:
                # Further steps change nothing, or are too rare to matter: the rest of the mass stays here.
                moved += counts.tails[n] * after
                spent += excesses[n] / pace * power
                return moved, spent
            spent += counts.tails[n] / pace * power
            power = after
            n += 1
        last *= 4
    raise NotConverged(f"{_MOST_TERMS} terms do not exhaust {service} at rate {pace:g}")


def unbounded_obsolescent(service: Law, load: float, obsolescence_rate: float) -> ObsolescentQueue:
    """The queue with an unbounded buffer whose pages grow obsolete: a capacity at which no page is lost.

    >>> from recrawl.laws import Exponential
    >>> queue = unbounded_obsolescent(Exponential(1.0), load=1.0, obsolescence_rate=1.0)
    >>> round(queue.starvation, 12)    # obsolescence at the service's pace: Poisson, P(X=0) = 1/e
    0.367879441171
    """
    theta = positive("obsolescence rate", obsolescence_rate)
    capacity = 16
    while capacity <= _LARGEST_CAPACITY:
        queue = solve_obsolescent(service, load, capacity, theta)
        if queue.loss < 1e-15:
            return queue
        capacity *= 2
    raise NotConverged(
        f"pages are still lost at capacity {_LARGEST_CAPACITY}; obsolescence rate {theta:g} is too small here"
    )


@dataclass(frozen=True)
class SmallestCapacity:
    """The smallest capacity whose cost is at most `limit` + `tolerance`; `limit` is an unbounded buffer's cost."""

    capacity: int
    cost: float
    limit: float
    tolerance: float
    obsolescence_rate: float = 0.0


def smallest_capacity(
    service: Law,
    load: float,
    starvation_weight: float,
    *,
    obsolescence_rate: float = 0.0,
    tolerance: float = 0.01,
) -> SmallestCapacity:
    """The smallest buffer that is nearly as good as an unbounded one.

    The cost falls with the capacity: a larger buffer starves its indexer less, and each page indexed is a page
    neither lost nor obsolete. So bisection finds the answer. Without obsolescence the limit is that of
    [Talim 2001, Proposition 5].

    >>> from recrawl.laws import Exponential
    >>> smallest_capacity(Exponential(1.0), load=1.0, starvation_weight=1.0, tolerance=0.1).capacity   # 2/(K+1)
    19
    """
    tolerance = positive("tolerance", tolerance)
    theta = positive("obsolescence rate", obsolescence_rate, zero=True)
    limit = (
        unbounded_obsolescent(service, load, theta).cost(starvation_weight)
        if theta
        else limit_cost(load, starvation_weight)
    )

    def cost(capacity: int) -> float:
        if theta:
            return solve_obsolescent(service, load, capacity, theta).cost(starvation_weight)
        return solve(service, load, capacity).cost(starvation_weight)

    low, high = 0, 1  # `low` is not good enough
    while cost(high) > limit + tolerance:
        low, high = high, 2 * high
        if high > 1 << 24:
            raise NotConverged(f"no capacity up to {low} is within {tolerance:g} of the limit {limit:g}")
    while high - low > 1:
        middle = (low + high) // 2
        if cost(middle) > limit + tolerance:
            low = middle
        else:
            high = middle
    return SmallestCapacity(high, cost(high), limit, tolerance, theta)
