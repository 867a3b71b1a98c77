"""The crawl queue as an event simulation, from the words of the model.

Whole service and obsolescence times are drawn from their laws, pages stand in a list, robots are switched
by its length: no generator, no state space, nothing shared with the formulas that this checks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.control.model import Model, Policy
    from recrawl.laws.phase_type import PhaseType

__all__ = ["Estimate", "SimulatedQueue", "simulate_queue"]

SEGMENTS = 40  # the run is cut into as many parts for the confidence intervals


@dataclass(frozen=True)
class Estimate:
    """A simulated number with half the width of its 95 % confidence interval (or another, as asked)."""

    value: float
    half_width: float

    def covers(self, truth: float, times: float = 1.0) -> bool:
        """Whether `truth` lies within the interval, widened by a factor."""
        return abs(truth - self.value) <= times * self.half_width


@dataclass(frozen=True)
class SimulatedQueue:
    """Estimates named as the fields of `recrawl.control.Measures`."""

    estimates: dict[str, Estimate]
    level_probability: tuple[Estimate, ...]
    arrivals: int
    confidence: float

    def __getitem__(self, name: str) -> Estimate:
        return self.estimates[name]


def _tables(law: PhaseType | None) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Cumulated start, mean holding times and cumulated jumps (the last column is the end) of a law."""
    if law is None:
        return np.ones(1), np.ones(1), np.ones((1, 2))
    holding = -1.0 / np.diag(law.S)
    off = law.S - np.diag(np.diag(law.S))
    jumps = np.cumsum(np.hstack((off, law.exits[:, None])) * holding[:, None], axis=1)
    start = np.cumsum(law.alpha)
    jumps[:, -1] = start[-1] = 2.0  # rounding must not leave a gap at the top
    return start, holding, jumps


def _arrival_tables(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rates at which arrival phases end, and their cumulated moves over (batch size, next phase)."""
    W, batches = model.modes[0].arrivals.order, model.largest_batch + 1
    rates = np.zeros((len(model.modes), W))
    moves = np.full((len(model.modes), W, batches * W), 2.0)
    for place, mode in enumerate(model.modes):
        D = mode.arrivals.D.copy()
        rates[place] = -np.diag(D[0])
        np.fill_diagonal(D[0], 0.0)
        flat = np.cumsum(D.transpose(1, 0, 2).reshape(W, -1), axis=1) / rates[place][:, None]
        flat[:, -1] = 2.0
        moves[place, :, : flat.shape[1]] = flat
    return rates, moves


def simulate_queue(
    model: Model,
    policy: Policy | Sequence[int],
    arrivals: int = 1_000_000,
    seed: int = 1,
    confidence: float = 0.95,
) -> SimulatedQueue:
    """Run the queue until about `arrivals` pages have come, after a tenth more to warm up.

    Confidence intervals come from 40 consecutive parts of the run, ratios by the ratio estimator.
    """
    if arrivals < 20 * SEGMENTS:
        raise InvalidModel(f"arrivals must be at least {20 * SEGMENTS}, not {arrivals}")
    if not 0.0 < confidence < 1.0:
        raise InvalidModel(f"confidence must be between 0 and 1, not {confidence}")
    from recrawl.simulate._control_kernels import COUNTERS, run_queue

    levels = np.array(model.assignment(policy), dtype=np.int64)
    rates, moves = _arrival_tables(model)
    counted = run_queue(
        np.random.default_rng(seed),
        model.capacity,
        ("partial", "reject", "admit").index(model.admission),
        model.order == "random",
        levels,
        rates,
        moves,
        _tables(model.service),
        _tables(model.obsolescence),
        model.obsolescence is None,
        arrivals // 10,
        arrivals // SEGMENTS,
        SEGMENTS,
    )
    parts: dict[str, Any] = {name: counted[:, place] for place, name in enumerate(COUNTERS)}
    times = counted[:, len(COUNTERS) :]
    robots = np.array([model.numbers[place] for place in levels])
    return _summary(model, parts, times, robots, confidence)


def _summary(
    model: Model,
    parts: dict[str, Any],
    times: NDArray[np.float64],
    robots: NDArray[np.int64],
    confidence: float,
) -> SimulatedQueue:
    from scipy.special import stdtrit

    quantile = float(stdtrit(SEGMENTS - 1, 0.5 + confidence / 2.0))
    time = times.sum(axis=1)

    def ratio(over: NDArray[np.float64], under: NDArray[np.float64]) -> Estimate:
        if under.sum() == 0:
            return Estimate(math.nan, math.nan)
        value = float(over.sum() / under.sum())
        spread = np.sqrt(((over - value * under) ** 2).sum() / (SEGMENTS - 1) / SEGMENTS) / under.mean()
        return Estimate(value, quantile * float(spread))

    levels = np.arange(times.shape[1])
    estimates = {
        "arrival_rate": ratio(parts["arrived"], time),
        "loss": ratio(parts["lost"], parts["arrived"]),
        "obsolete": ratio(parts["obsolete"], parts["arrived"]),
        "success": ratio(parts["served"], parts["arrived"]),
        "starvation": ratio(times[:, 0], time),
        "active_robots": ratio(times @ robots, time),
        "throughput": ratio(parts["served"], time),
        "mean_pages": ratio(times @ levels, time),
        "response_time": ratio(parts["stay"], parts["served"]),
        "obsolete_time": ratio(parts["kept"], parts["obsolete"]),
        "sojourn_time": ratio(parts["stay"] + parts["kept"], parts["arrived"]),
    }
    estimates["cost"] = _cost(model, parts, times, robots, estimates, quantile)
    by_level = tuple(ratio(times[:, level], time) for level in range(times.shape[1]))
    return SimulatedQueue(estimates, by_level, int(parts["arrived"].sum()), confidence)


def _cost(
    model: Model,
    parts: dict[str, Any],
    times: NDArray[np.float64],
    robots: NDArray[np.int64],
    estimates: dict[str, Estimate],
    quantile: float,
) -> Estimate:
    """Cost (2): a rate plus a ratio; its spread by linearising both."""
    costs, time = model.costs, times.sum(axis=1)
    events = (
        costs.loss * parts["lost"]
        + costs.obsolete * parts["obsolete"]
        + costs.robot * (times @ robots)
        + costs.starvation * times[:, 0]
    )
    rate, response = float(events.sum() / time.sum()), estimates["response_time"].value
    residual = (events - rate * time) / time.mean()
    residual = (
        residual + costs.response * (parts["stay"] - response * parts["served"]) / parts["served"].mean()
    )
    spread = math.sqrt(float((residual**2).sum()) / (SEGMENTS - 1) / SEGMENTS)
    return Estimate(rate + costs.response * response, quantile * spread)
