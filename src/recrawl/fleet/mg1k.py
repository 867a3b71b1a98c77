"""The index queue with any service law, M/G/1/K.

The paper's recursion (27) needs a rational transform, and near load one it loses digits like K²; its loss (17) is
a difference. Here instead, for every law: with A the number of arrivals during one service, k_0 = P(A = 0),
t_m = P(A > m) and TT_m = E[(A − m)⁺],

    u_0 = 1/k_0,  u_n = Σ_{m=1}^{n} t_m u_{n−m} / k_0,  α_K = u_0 + … + u_{K−2}   (the paper's α_K of (18); α_1 = 1)
    P(X=0) = 1/(1 + ρ α_K),   P(X=K) = P(X=0) Σ_{i<K−1} u_i TT_{K−1−i},
    P(X=1) = P(X=0) t_0/k_0,  P(X=j) = P(X=0) u_{j−1}  for 1 < j < K.

This follows from cutting the number of pages left at ends of service between j and j+1: k_0 x_{j+1} = t_j x_0 +
Σ t_{j+1−i} x_i. All terms are positive. For loads above one u_n grows like ω^{-n}, where ω < 1 solves
E[e^{-r(1−ω)X}] = ω; the recursion then runs on u_n ω^{n+1}, which stays near one, so nothing overflows.
The error is about 1e-15 at small capacities and grows like K·1e-16, which is what a last-bit change of the load
does to the exact answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.fleet import mm1k
from recrawl.fleet.mm1k import checked_capacity
from recrawl.laws import Exponential, Law, arrival_counts
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["IndexQueue", "limit_cost", "limit_cost_at_one", "queue_length", "solve"]


@dataclass(frozen=True)
class IndexQueue:
    """How the index queue fares at one load.

    `starvation` is P(X=0), `loss` is P(X=K), both per unit of time and, arrivals being Poisson, per arriving page.
    `method` says how they were computed: `closed form` (M/M/1/K) or `positive recursion`.
    """

    service: Law
    load: float
    capacity: int
    starvation: float
    loss: float
    mean_queue: float
    method: str

    @property
    def arrival_rate(self) -> float:
        """Pages the robots bring per unit of time."""
        return self.load / self.service.mean

    @property
    def throughput(self) -> float:
        """Pages indexed per unit of time."""
        return self.arrival_rate * (1.0 - self.loss)

    @property
    def response_time(self) -> float:
        """Mean time from arrival to the end of indexing of a page that is not lost, by Little's law."""
        return self.mean_queue / self.throughput

    def cost(self, starvation_weight: float) -> float:
        """γ P(X=0) + P(X=K). [Talim 2001, (1), (21)]"""
        return positive("starvation weight", starvation_weight) * self.starvation + self.loss


def solve(service: Law, load: float, capacity: int) -> IndexQueue:
    """Starvation, loss and mean number of pages of an index queue.

    Parameters
    ----------
    service
        Law of the time the indexer needs for one page.
    load
        Arrival rate of pages times the mean service.
    capacity
        Most pages in the system, the one in service included.

    >>> from recrawl.laws import Deterministic
    >>> queue = solve(Deterministic(2.0), load=1.0, capacity=2)   # P(X=0) = 1/(1 + e)
    >>> round(queue.starvation, 12), round(queue.loss, 12)
    (0.26894142137, 0.26894142137)
    """
    load, capacity = positive("load", load), checked_capacity(capacity)
    if type(service) is Exponential:
        values = (mm1k.starvation(load, capacity), mm1k.loss(load, capacity), mm1k.mean_queue(load, capacity))
        return IndexQueue(service, load, capacity, *values, method="closed form")
    law = _recursion(service, load, capacity)
    mean = float(np.arange(capacity + 1) @ law)
    return IndexQueue(
        service, load, capacity, float(law[0]), float(law[-1]), mean, method="positive recursion"
    )


def queue_length(service: Law, load: float, capacity: int) -> NDArray[np.float64]:
    """P(X = j) for j = 0..K.

    >>> from recrawl.laws import Deterministic
    >>> queue_length(Deterministic(1.0), load=0.5, capacity=1).round(6).tolist()
    [0.666667, 0.333333]
    """
    load, capacity = positive("load", load), checked_capacity(capacity)
    if type(service) is Exponential:
        return mm1k.queue_length(load, capacity)
    return _recursion(service, load, capacity)


def _recursion(service: Law, load: float, capacity: int) -> NDArray[np.float64]:
    """The law of the number of pages by the recursion in the module's head."""
    if capacity == 1:
        return np.array([1.0, load]) / (1.0 + load)  # whatever the law (Erlang's loss formula)
    from recrawl.fleet._kernels import renewal

    rate = load / service.mean
    counts = arrival_counts(service, rate, capacity - 1)
    log_scale = _growth(service, rate, load, capacity, -counts.log_none)
    scale = math.exp(log_scale)
    ratio = math.exp(log_scale - counts.log_none)  # ω/k_0, even where both underflow
    powers = np.power(scale, np.arange(capacity, dtype=np.float64))  # 1, ω, ω², …
    coefficients = np.zeros(capacity)
    coefficients[1:] = counts.tails[1:] * powers[:-1] * ratio
    scaled = renewal(ratio, coefficients, capacity - 1)  # u_n ω^{n+1}

    # Everything times ω^{K−1}: P(X=j) is proportional to u_{j−1} ω^{j} · ω^{K−1−j}.
    law = np.empty(capacity + 1)
    law[0] = powers[-1]
    law[1:-1] = scaled * powers[capacity - 2 :: -1]
    law[-1] = law[1:-1] @ counts.excesses[:0:-1]
    total = law[0] + load * float(law[1:-1].sum())
    law[1] = counts.tails[0] * ratio * powers[capacity - 2]
    return np.asarray(law / total)


def _growth(service: Law, rate: float, load: float, capacity: int, steepest: float) -> float:
    """ln ω, the logarithmic growth of the recursion at loads above one; 0 where no scaling is needed.

    `steepest` is −ln k_0: ω is never below k_0.
    """
    if load <= 1.0 or steepest * capacity < 600.0:
        return 0.0
    from scipy.optimize import brentq

    def excess(log: float) -> float:
        # A transform that underflows has an exponent beyond `steepest`, which bounds it.
        return min(float(service.exponent(-rate * math.expm1(log))), steepest) + log

    near_one = -1e-9
    if excess(near_one) <= 0.0:
        return 0.0
    if excess(-steepest) >= 0.0:  # the root is nearer to ln k_0 than one rounding
        return -steepest
    return float(brentq(excess, -steepest, near_one, xtol=1e-14, rtol=1e-12))


def limit_cost(load: float, starvation_weight: float) -> float:
    """The cost of an unbounded buffer: γ(1 − ρ) below load one, 1 − 1/ρ above. [Talim 2001, Proposition 5]

    >>> limit_cost(0.75, 2.0), limit_cost(1.25, 2.0), limit_cost(1.0, 2.0)
    (0.5, 0.2, 0.0)
    """
    load = positive("load", load)
    weight = positive("starvation weight", starvation_weight)
    return weight * (1.0 - load) if load <= 1.0 else (load - 1.0) / load


def limit_cost_at_one(service: Law, starvation_weight: float, capacity: int) -> float:
    """What the cost at load one comes to for large K: (1 + γ)(1 + scv)/(2K).

    [Talim 2001, Proposition 5] prints 0 here, the limit; this is how the cost goes there.

    >>> from recrawl.laws import Exponential
    >>> limit_cost_at_one(Exponential(1.0), 2.0, 1000)   # M/M/1/K: (1 + γ)/(K + 1) exactly
    0.003
    """
    weight = positive("starvation weight", starvation_weight)
    return (1.0 + weight) * (1.0 + service.scv) / (2.0 * checked_capacity(capacity))
