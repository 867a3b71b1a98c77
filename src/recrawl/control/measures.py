"""The numbers that describe a crawl queue under a policy. [Avrachenkov, Theorems 1-3, Corollary 1, (2)]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recrawl.control.chain import Chain
from recrawl.control.rewards import reward_rates
from recrawl.control.sojourn import page_fates
from recrawl.control.sojourn_random import TaggedPage
from recrawl.control.solve import Method, Stationary, solve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.control.model import Costs, Model, Policy
    from recrawl.control.sojourn import Fate, Fates

__all__ = ["Measures", "Solved", "measure"]


@dataclass(frozen=True)
class Measures:
    """Everything the cost (2) needs, and more. `loss`, `obsolete`, `success` are per arriving page.

    `response_time` is the mean stay of pages that are served, `obsolete_time` of those that become obsolete
    (NaN when none does), `sojourn_time` = success · response_time + obsolete · obsolete_time (22): lost
    pages count with 0. `mean_pages` counts the page in service, `mean_queue` does not.
    """

    cost: float
    arrival_rate: float
    loss: float
    obsolete: float
    success: float
    starvation: float
    active_robots: float
    throughput: float
    mean_pages: float
    mean_queue: float
    response_time: float
    obsolete_time: float
    sojourn_time: float
    response_variance: float
    obsolete_variance: float
    sojourn_variance: float
    level_probability: tuple[float, ...]
    residual: float
    states: int
    method: str


def cost_of(costs: Costs, rates: dict[str, float], response_time: float) -> float:
    """λ(c_loss P_loss + c_obs P_obs) + a V̄⁽¹⁾ + c_rob N_act + c_star P_star [Avrachenkov, (2)]."""
    return (
        costs.loss * rates["lost"]
        + costs.obsolete * rates["obsolete"]
        + costs.response * response_time
        + costs.robot * rates["robots"]
        + costs.starvation * rates["starving"]
    )


class Solved:
    """A queue under a policy with its stationary vector; measures and laws of the stay are asked of it."""

    def __init__(
        self,
        model: Model,
        policy: Policy | Sequence[int],
        method: Method = "auto",
        chain: Chain | None = None,
    ) -> None:
        self.model = model
        self.assignment = model.assignment(policy)
        self.chain = chain or Chain(model)
        self.stationary: Stationary = solve(self.chain, self.assignment, method)

    @property
    def random(self) -> bool:
        """Whether overtaking is possible, so that the tagged page must be followed through later arrivals."""
        return self.model.order == "random"

    @cached_property
    def rates(self) -> dict[str, float]:
        """Long-run rates of all events (without response times)."""
        return reward_rates(self.chain, self.assignment, self.stationary.share, None)

    @cached_property
    def tagged(self) -> TaggedPage:
        """A page in a queue served in random order."""
        return TaggedPage(self.chain, self.assignment, self.stationary.share)

    def _mass(self, fates: Fates) -> float:
        rates = reward_rates(self.chain, self.assignment, self.stationary.share, fates)
        return rates["response"]

    @cached_property
    def stays(self) -> dict[str, list[float]]:
        """Rates times E[stay^d; fate] for d = 0, 1, 2, for served and obsolete pages."""
        if not self.random:
            return {
                fate: [self._mass(f) for f in page_fates(self.chain, fate, moments=2)]
                for fate in ("served", "obsolete")
            }
        waits = self.tagged.waiting_moments(2)
        b1, b2 = self.chain.service.mean, self.chain.service.second_moment
        w0, w1, w2 = waits["served"]
        return {"served": [w0, w1 + w0 * b1, w2 + 2.0 * w1 * b1 + w0 * b2], "obsolete": waits["obsolete"]}

    def measures(self) -> Measures:
        """All numbers."""
        rates, stays = self.rates, self.stays
        arrived, served, obsolete = rates["arrived"], rates["served"], rates["obsolete"]
        levels = tuple(float(part.sum()) for part in self.chain.split(self.stationary.share))
        response = stays["served"][1] / served
        # A page that waits may be obsolete; below this rate there are none but rounding.
        expires = obsolete > 1e-14 * arrived
        obsolete_time = stays["obsolete"][1] / obsolete if expires else math.nan
        sojourn = (stays["served"][1] + stays["obsolete"][1]) / arrived
        second = (stays["served"][2] + stays["obsolete"][2]) / arrived
        obsolete_second = stays["obsolete"][2] / obsolete if expires else math.nan
        return Measures(
            cost=cost_of(self.model.costs, rates, response),
            arrival_rate=arrived,
            loss=rates["lost"] / arrived,
            obsolete=obsolete / arrived,
            success=served / arrived,
            starvation=rates["starving"],
            active_robots=rates["robots"],
            throughput=served,
            mean_pages=rates["pages"],
            mean_queue=rates["pages"] - (1.0 - rates["starving"]),
            response_time=response,
            obsolete_time=obsolete_time,
            sojourn_time=sojourn,
            response_variance=stays["served"][2] / served - response**2,
            obsolete_variance=obsolete_second - obsolete_time**2,
            sojourn_variance=second - sojourn**2,
            level_probability=levels,
            residual=self.stationary.residual,
            states=self.chain.states,
            method=self.stationary.method,
        )

    def transform(self, u: complex, fate: Fate | None = None) -> complex:
        """Laplace-Stieltjes transform of the stay: of served pages, obsolete pages, or all. [(16)-(18)]"""
        if fate is None:
            rates = self.rates
            parts = rates["lost"] + self._masses(u, "served") + self._masses(u, "obsolete")
            return complex(parts / rates["arrived"])
        total = self.rates["served" if fate == "served" else "obsolete"]
        return complex(self._masses(u, fate) / total) if total > 0 else complex(math.nan)

    def _masses(self, u: complex, fate: Fate) -> complex:
        if self.random:
            wait = self.tagged.waiting_transform(complex(u))[fate]
            S, M = self.chain.S, self.chain.service_phases
            service = self.chain.beta @ np.linalg.solve(u * np.eye(M) - S, self.chain.ends)
            return complex(wait * service if fate == "served" else wait)
        fates = page_fates(self.chain, fate, shift=complex(u))[0]
        return _complex_mass(self, fates)

    def distribution(self, t: float, fate: Fate | None = None) -> float:
        """P(stay <= t), by numerical inversion of the transform (Euler summation, about 8 digits)."""
        if t < 0:
            return 0.0
        total = 1.0
        at_zero = self.rates["lost"] / self.rates["arrived"] if fate is None else 0.0
        if t == 0:
            return at_zero
        # The jump of lost pages at 0 is taken out: the rest is smooth.
        smooth = invert(lambda u: (self.transform(u, fate) - at_zero) / u, t)
        return float(min(max(at_zero + smooth, 0.0), total))


def _complex_mass(solved: Solved, fates: Fates) -> complex:
    """The response functional for complex vectors: real and imaginary parts one after the other."""
    from recrawl.control.sojourn import Fates as Parts

    real = Parts([[np.ascontiguousarray(v.real) for v in places] for places in fates.places])
    imaginary = Parts([[np.ascontiguousarray(v.imag) for v in places] for places in fates.places])
    return complex(solved._mass(real), solved._mass(imaginary))


def invert(
    transform: Callable[[complex], complex],
    t: float,
    accuracy: float = 18.4,
    terms: int = 24,
    averages: int = 12,
) -> float:
    """Invert a Laplace transform at t > 0 by the Euler algorithm of Abate and Whitt (1992).

    f(t) ≈ Σ_k 2^{-m} C(m, k) s_{n+k}(t); the discretisation error is below e^{-accuracy} for |f| <= 1.
    """
    half = accuracy / (2.0 * t)
    values = [transform(complex(half, k * math.pi / t)).real for k in range(terms + averages + 1)]
    scale = math.exp(accuracy / 2.0) / t
    partial = 0.5 * values[0]
    sums = []
    for k in range(1, terms + averages + 1):
        partial += (-1) ** k * values[k]
        if k >= terms:
            sums.append(partial)
    weights = [math.comb(averages, k) / 2.0**averages for k in range(averages + 1)]
    return scale * math.fsum(w * s for w, s in zip(weights, sums, strict=True))


def measure(model: Model, policy: Policy | Sequence[int], method: Method = "auto") -> Measures:
    """All numbers of a queue under a policy (or under robots given for every number of pages).

    >>> from recrawl.control import Costs, Mode, Model, Policy
    >>> from recrawl.laws import Bmap, PhaseType
    >>> queue = Model(
    ...     capacity=4, service=PhaseType([1.0], [[-1.0]]), modes=(Mode(1, Bmap.poisson(1.0)),),
    ...     costs=Costs(loss=1, obsolete=0, response=0, robot=0, starvation=2),
    ... )
    >>> found = measure(queue, Policy(modes=(1,)))
    >>> round(found.starvation, 12), round(found.loss, 12), round(found.cost, 12)
    (0.2, 0.2, 0.6)
    """
    return Solved(model, policy, method).measures()
