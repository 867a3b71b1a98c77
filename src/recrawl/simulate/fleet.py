"""The index queue played out page by page.

Written from the words of the model: robots bring pages in a Poisson stream; one indexer takes them in order of
arrival; at most `capacity` pages are in the system, the one in service included; a page that finds it full is
lost; a waiting page may become obsolete after an exponential time and then leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.fleet.mm1k import checked_capacity
from recrawl.laws.law import Law, positive
from recrawl.simulate.schedule import half_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Estimate", "FleetSimulation", "simulate_fleet"]


@dataclass(frozen=True)
class Estimate:
    """A mean over batches, and half the width of its confidence interval."""

    value: float
    half_width: float

    def covers(self, exact: float, widths: float = 1.0) -> bool:
        """Whether an exact value lies within the interval, widened by a factor."""
        return abs(exact - self.value) <= widths * self.half_width


@dataclass(frozen=True)
class FleetSimulation:
    """What the simulated index queue did."""

    starvation: Estimate
    loss: Estimate
    obsolete: Estimate
    response_time: Estimate
    arrivals: int
    confidence: float


def simulate_fleet(
    service: Law,
    load: float,
    capacity: int,
    *,
    obsolescence_rate: float = 0.0,
    arrivals: int = 1_000_000,
    batches: int = 30,
    confidence: float = 0.95,
    seed: int = 1,
) -> FleetSimulation:
    """Play an index queue, in `batches` consecutive batches after one that warms it up.

    >>> from recrawl.laws import Deterministic
    >>> played = simulate_fleet(Deterministic(1.0), load=1.0, capacity=1, arrivals=100_000)
    >>> played.loss.covers(0.5, widths=2.0)     # one place: ρ/(1 + ρ), whatever the law
    True
    """
    from recrawl.simulate._fleet import IDLE, play

    load, capacity = positive("load", load), checked_capacity(capacity)
    theta = positive("obsolescence rate", obsolescence_rate, zero=True)
    if batches < 2 or arrivals < batches:
        raise InvalidModel(f"at least 2 batches of at least one page, not {batches} with {arrivals} pages")
    rng = np.random.default_rng(seed)
    gap = service.mean / load
    arrived, expires, lengths = (np.zeros(capacity - 1) for _ in range(3))  # the waiting pages
    state = np.array([0.0, IDLE, 0.0, 0.0])
    size = arrivals // batches
    rows = []
    for _ in range(batches + 1):
        gaps = rng.exponential(gap, size)
        patience = rng.exponential(1.0 / theta, size) if theta else np.zeros(0)
        rows.append(play(gaps, service.sample(rng, size), patience, arrived, expires, lengths, state))
    return _summary(np.array(rows[1:]), size, confidence)


def _summary(rows: NDArray[np.float64], size: int, confidence: float) -> FleetSimulation:
    time, idle, lost, obsolete, indexed, response = rows.T

    def estimate(values: NDArray[np.float64]) -> Estimate:
        return Estimate(float(values.mean()), half_width(values, confidence))

    return FleetSimulation(
        starvation=estimate(idle / time),
        loss=estimate(lost / size),
        obsolete=estimate(obsolete / size),
        response_time=estimate(response / np.maximum(indexed, 1.0)),
        arrivals=size * len(rows),
        confidence=confidence,
    )
