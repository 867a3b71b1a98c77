"""Control by what is measured: fit the queue, size the fleet, find the best thresholds. Refuse what cannot be trusted.

While running, the times of accesses (from one delivery of a robot to its next) and of services are logged. Both get a
phase-type law; robots that access pages independently, and finish their access when they are switched off, are the
arrivals of each mode. The best thresholds follow from the queue with both [Avrachenkov, Section 7]; the best number of
robots that never changes is Talim's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.engine.fitted import Conditions, CostSettings, FittedQueue, Histogram
from recrawl.engine.wording import significant
from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.control import Combination, Evaluator, Optimum, Policy
    from recrawl.engine.queue_log import Log
    from recrawl.estimate import PhaseTypeFit

__all__ = ["CostSettings", "Proposal", "best_fixed", "fit_queue", "modes_up_to", "propose", "worth"]

_SCALES_BADLY = 0.5  # relative difference of the rates per robot between modes that is not trusted
_SPREADS = 0.5  # difference of squared coefficients of variation between log and fit that is not trusted
_DRIFTS = 0.3  # relative difference between the halves of a log that is not trusted
_MOST_MODES = 5
_MOST_CAPACITY = 512  # beyond, thresholds are not searched
_WORTH = 0.01  # of the cost: robots that save less are not worth having
_OPERATIONS = 3e9  # of a search: a few seconds
_BINS = 40


def fit_queue(log: Log, conditions: Conditions, table: Sequence[int], time: float) -> FittedQueue:
    """Fit a log; what speaks against the fit is in its `doubts`. Takes seconds: run it in a worker."""
    from recrawl.estimate import Sample, fit_phase_type

    access = fit_phase_type(Sample.of(log.accesses), orders=(1, 2, 3))
    service = fit_phase_type(Sample.of(log.services), orders=(1, 2, 3))
    doubts = _uneven(log)
    for name, values, fit in (
        ("accesses", log.accesses, access),
        ("service times", log.services, service),
    ):
        doubts += [f"the fit of {name} is not trusted: {text}" for text in (*fit.warnings, *_misfit(fit))]
        doubts += _drifting(name, values)
    return FittedQueue(
        time=time,
        conditions=conditions,
        access_start=tuple(access.law.alpha.tolist()),
        access_moves=_rows(access.law.S.tolist()),
        service_start=tuple(service.law.alpha.tolist()),
        service_moves=_rows(service.law.S.tolist()),
        accesses=len(log.accesses),
        services=len(log.services),
        success=log.success,
        table=tuple(table),
        access_histogram=_histogram(log.accesses),
        service_histogram=_histogram(log.services),
        doubts=tuple(doubts),
    )


def _misfit(fit: PhaseTypeFit) -> list[str]:
    """Spread that the fitted law does not have; much less spread than in the log is the dangerous side."""
    measured, fitted = (
        second / first**2 - 1.0 for first, second, _ in (fit.empirical_moments, fit.fitted_moments)
    )
    if abs(fitted - measured) <= _SPREADS * max(measured, 1.0):
        return []
    return [
        f"their squared coefficient of variation is {significant(measured)} in the log and "
        f"{significant(fitted)} in the fit"
    ]


def _rows(matrix: list[list[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix)


def _histogram(values: Sequence[float]) -> Histogram:
    """Equal bins up to the 99 % quantile; the rest lies beyond the last edge."""
    import numpy as np

    array = np.asarray(values)
    counts, edges = np.histogram(array, _BINS, (0.0, float(np.quantile(array, 0.99))))
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()))


def _uneven(log: Log) -> list[str]:
    """Why deliveries do not grow with the number of robots, if they do not."""
    times = log.access_times()
    if len(times) < 2 or max(times.values()) / min(times.values()) - 1.0 <= _SCALES_BADLY:
        return []
    told = ", ".join(f"{significant(seconds)} s with {robots}" for robots, seconds in times.items())
    return [
        f"deliveries do not grow with the number of robots (an access takes {told}): politeness or the sites limit them"
    ]


def _drifting(name: str, values: Sequence[float]) -> list[str]:
    """Whether the later half of a log is unlike the earlier one by more than chance and a good deal."""
    half = len(values) // 2
    parts = [values[:half], values[half:]]
    means = [math.fsum(part) / len(part) for part in parts]
    errors = [
        math.fsum((value - mean) ** 2 for value in part) / len(part) ** 2
        for part, mean in zip(parts, means, strict=True)
    ]
    change = means[1] / means[0] - 1.0
    if abs(change) <= _DRIFTS or abs(means[1] - means[0]) <= 4.0 * math.sqrt(sum(errors)):
        return []
    return [f"{name} are not steady: the later half of them is {100 * change:+.0f} % longer on average"]


@dataclass(frozen=True)
class Proposal:
    """Thresholds that the fitted queue calls best, and what they should cost; or why nothing is proposed."""

    policy: Policy | None
    cost: float = math.nan
    present_cost: float = math.nan  # of the table in force
    fixed: int = 0  # best number of robots that never changes
    fixed_cost: float = math.nan
    worth: int = 0  # robots that are worth having
    curve: tuple[tuple[int, float], ...] = ()  # robots at most, cost of the best thresholds
    reason: str = ""


def modes_up_to(robots: int, fewest: int = 1, also: int = 1, most_modes: int = 5) -> tuple[int, ...]:
    """A few numbers of robots from the fewest to the most, one that is asked for among them.

    >>> modes_up_to(3), modes_up_to(16), modes_up_to(16, fewest=0, also=6), modes_up_to(16, most_modes=2)
    ((1, 2, 3), (1, 2, 4, 8, 16), (0, 1, 2, 4, 6, 8, 16), (1, 16))
    """
    low = max(1, fewest)
    steps = {*range(low, robots + 1)}
    if len(steps) > most_modes:
        ratio = (robots / low) ** (1.0 / (most_modes - 1))
        steps = {round(low * ratio**place) for place in range(most_modes)}
    return tuple(sorted(steps | {min(max(also, low), robots)} | ({0} if fewest == 0 else set())))


def propose(fitted: FittedQueue) -> Proposal:
    """Size the fleet and find the best thresholds of a fitted queue. Takes seconds: run it in a worker."""
    if fitted.doubts:
        return Proposal(None, reason="; ".join(fitted.doubts))
    try:
        return _propose(fitted)
    except RecrawlError as error:
        return Proposal(None, reason=f"no thresholds were found: {error}")


def _propose(fitted: FittedQueue) -> Proposal:
    from recrawl.control import Policy

    fixed = best_fixed(fitted)
    evaluator = _affordable(fitted, fixed)
    if evaluator is None:
        # Too many robots or pages: a number that never changes, the papers' best.
        return Proposal(Policy((fixed,)), fixed=fixed, worth=fixed, curve=((fixed, math.nan),))
    found = best_thresholds_of(evaluator)
    curve = _at_most(found)
    enough = worth(curve)
    best = min(
        (one for one in _usable(found) if one.modes[0] <= enough),
        key=lambda one: (one.cost, len(one.modes)),
    )
    always = {one.modes[0]: one.cost for one in _usable(found) if len(one.modes) == 1}
    cheapest = min(always, key=lambda number: always[number])
    return Proposal(
        policy=best.policy,
        cost=best.cost,
        present_cost=fitted.predict().cost,
        fixed=cheapest,
        fixed_cost=always[cheapest],
        worth=enough,
        curve=curve,
    )


def best_thresholds_of(evaluator: Evaluator) -> Optimum:
    """Search all thresholds of a queue that is small enough."""
    from recrawl.control import best_thresholds

    return best_thresholds(evaluator.model, evaluator)


def _affordable(fitted: FittedQueue, fixed: int) -> Evaluator | None:
    """The queue with as many modes, and as true robots, as can be searched within seconds; None: nothing can.

    Where robots that finish their accesses make the chain too large they are taken to stop at once, which is no good
    model when accesses take longer than services.
    """
    from recrawl.control import Evaluator

    conditions = fitted.conditions
    if conditions.capacity > _MOST_CAPACITY:
        return None
    for at_once in (False, True):
        if at_once and fitted.access_share > 1.0:
            return None
        for most_modes in (_MOST_MODES, 3, 2):
            numbers = modes_up_to(conditions.robots, conditions.fewest, fixed, most_modes)
            if not at_once and fitted.finishing(numbers) is None:
                continue
            evaluator = Evaluator(fitted.model(numbers, at_once))
            policies = math.comb(conditions.capacity + len(numbers), len(numbers) - 1)
            if evaluator.work * policies <= _OPERATIONS:
                return evaluator
    return None


def _usable(found: Optimum) -> list[Combination]:
    """Without the one that never accesses anything."""
    return [one for one in found.combinations if one.modes[0] > 0]


def _at_most(found: Optimum) -> tuple[tuple[int, float], ...]:
    """Cost of the best thresholds if at most so many robots may be active."""
    numbers = sorted({one.modes[0] for one in _usable(found)})
    return tuple((most, min(one.cost for one in _usable(found) if one.modes[0] <= most)) for most in numbers)


def worth(curve: Sequence[tuple[int, float]]) -> int:
    """The fewest robots that come within one percent of what all of them would cost.

    >>> worth([(1, 5.0), (2, 3.0), (4, 2.01), (8, 2.0)])
    4
    """
    least = curve[-1][1]
    return next(number for number, cost in curve if cost <= least + _WORTH * abs(least))


def best_fixed(fitted: FittedQueue) -> int:
    """The number of robots of least cost if it never changes, robots bringing pages independently.

    [Talim 2001, Proposition 2], among all numbers up to the most; pages that grow obsolete are left out.
    """
    from recrawl.fleet import Costs, optimal_robots

    conditions, prices = fitted.conditions, fitted.conditions.costs
    if prices.loss_per_page <= 0 or prices.starvation_per_service <= 0:
        return conditions.robots if prices.loss_per_page <= 0 else 1
    unit = prices.loss_per_page
    costs = Costs(
        starvation=prices.starvation_per_service / unit,
        response=prices.response_per_service / unit / fitted.service.mean,
        robot=prices.robot_per_service / unit,
    )
    return optimal_robots(
        fitted.service, fitted.robot_rate, costs, conditions.capacity, max_robots=conditions.robots
    ).robots
