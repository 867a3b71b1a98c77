"""Control by what is measured: fit the queue, find the best thresholds, apply them. Refuse what cannot be trusted.

While running, deliveries are logged with the number of robots in force when they arrive, and so are service times. A
gap between deliveries, times the robots active, is a gap of one robot; the fitted process of one robot, sped up by
their number, gives the arrivals of each mode. Service times give a phase-type law. The best thresholds follow from
the queue with both [Avrachenkov, Section 7].
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from recrawl.control import Costs, Measures, Model, Policy
    from recrawl.laws import PhaseType

__all__ = ["CostSettings", "Log", "Proposal", "modes_up_to", "predict", "propose"]

_FEWEST = 400  # deliveries and service times before anything is fitted
_KEPT = 20_000
_SCALES_BADLY = 0.25  # relative difference of the rates per robot between modes that is not trusted
_MOST_MODES = 5


@dataclass(frozen=True)
class CostSettings:
    """Prices of troubles, in units of one lost page; times count in mean service times."""

    loss_per_page: float = 1.0
    obsolete_per_page: float = 1.0
    response_per_service: float = 0.0
    robot_per_service: float = 0.01
    starvation_per_service: float = 2.0

    def costs(self, mean_service: float) -> Costs:
        """In seconds."""
        from recrawl.control import Costs

        return Costs(
            loss=self.loss_per_page,
            obsolete=self.obsolete_per_page,
            response=self.response_per_service / mean_service,
            robot=self.robot_per_service / mean_service,
            starvation=self.starvation_per_service / mean_service,
        )


class Log:
    """Deliveries and service times, the latest ones.

    Deliveries are kept in robot-time: a gap is the integral of the number of active robots between two deliveries, so
    a switch in between does no harm. Exposure and deliveries by mode tell whether they grow with the robots at all.
    """

    def __init__(self) -> None:
        self.gaps: list[float] = []  # seconds of one robot
        self.services: list[float] = []
        self.exposure: dict[int, float] = {}  # seconds, by number of robots
        self.deliveries: Counter[int] = Counter()
        self._robots = 0
        self._since = math.nan
        self._robot_seconds = 0.0
        self._first = True

    def state(self, time: float, robots: int) -> None:
        """So many robots are active from now on."""
        self._advance(time)
        self._robots = robots

    def delivered(self, time: float, robots: int) -> None:
        """A page came, while so many robots were active."""
        self._advance(time)
        self.deliveries[robots] += 1
        if not self._first:
            self.gaps.append(max(self._robot_seconds, 1e-9))
        self._first, self._robot_seconds = False, 0.0
        if len(self.gaps) > _KEPT:
            del self.gaps[: _KEPT // 2]

    def _advance(self, time: float) -> None:
        if not math.isnan(self._since):
            step = max(0.0, time - self._since)
            self._robot_seconds += step * self._robots
            self.exposure[self._robots] = self.exposure.get(self._robots, 0.0) + step
        self._since = time

    def served(self, seconds: float) -> None:
        """A page was indexed."""
        if seconds > 0:
            self.services.append(seconds)
        if len(self.services) > _KEPT:
            del self.services[: _KEPT // 2]

    @property
    def enough(self) -> bool:
        """Whether a fit can be tried."""
        return len(self.gaps) >= _FEWEST and len(self.services) >= _FEWEST

    def snapshot(self) -> Log:
        """A copy for a worker."""
        copy = Log()
        copy.gaps, copy.services = list(self.gaps), list(self.services)
        copy.exposure, copy.deliveries = dict(self.exposure), Counter(self.deliveries)
        return copy


@dataclass(frozen=True)
class Proposal:
    """Thresholds that the fitted queue calls best, what they should give; or why nothing is proposed."""

    policy: Policy | None
    model: Model | None = None
    predicted: Measures | None = None
    fixed_cost: float = math.nan  # of the best fixed number of robots
    best_fixed: int = 0
    reason: str = ""


def modes_up_to(robots: int) -> tuple[int, ...]:
    """A few numbers of robots from one to the most.

    >>> modes_up_to(3), modes_up_to(16)
    ((1, 2, 3), (1, 2, 4, 8, 16))
    """
    if robots <= _MOST_MODES:
        return tuple(range(1, robots + 1))
    steps = [robots ** (place / (_MOST_MODES - 1)) for place in range(_MOST_MODES)]
    return tuple(sorted({max(1, round(step)) for step in steps}))


def propose(
    log: Log, robots: int, capacity: int, obsolete_after: float, costs: CostSettings, access_seconds: float
) -> Proposal:
    """Fit the log and find the best thresholds. Takes seconds: run it in a worker."""
    try:
        return _propose(log, robots, capacity, obsolete_after, costs, access_seconds)
    except RecrawlError as error:
        return Proposal(None, reason=f"the fit failed: {error}")


def _propose(
    log: Log, robots: int, capacity: int, obsolete_after: float, costs: CostSettings, access_seconds: float
) -> Proposal:
    from recrawl.control import Mode, Model, best_thresholds, measure
    from recrawl.estimate import Gaps, Sample, fit_arrivals, fit_phase_type

    distrust = _uneven(log)
    if distrust:
        return Proposal(None, reason=distrust)
    arrivals = fit_arrivals(Gaps.of(log.gaps), orders=(1, 2))
    service = fit_phase_type(Sample.of(log.services), orders=(1, 2, 3))
    for name, fit in (("deliveries", arrivals), ("service times", service)):
        if fit.warnings:
            return Proposal(None, reason=f"the fit of {name} is not trusted: {'; '.join(fit.warnings)}")
    mean = service.law.mean
    if access_seconds > mean:
        return Proposal(
            None,
            reason=f"accesses take {access_seconds:.3g} s, longer than a service ({mean:.3g} s): robots that are "
            "switched off would still deliver, and thresholds would come too late",
        )
    modes = tuple(Mode(number, arrivals.arrivals.scaled(number)) for number in modes_up_to(robots))
    model = Model(
        capacity=capacity,
        service=service.law,
        modes=modes,
        costs=costs.costs(mean),
        obsolescence=_keeps(obsolete_after),
    )
    found = best_thresholds(model)
    least = min(found.fixed, key=lambda combination: combination.cost)
    policy = found.best.policy
    return Proposal(policy, model, measure(model, policy), least.cost, least.modes[0])


def _uneven(log: Log) -> str:
    """Why deliveries do not grow with the number of robots, if they do not."""
    rates = {
        number: log.deliveries[number] / (log.exposure[number] * number)
        for number in log.exposure
        if number > 0 and log.deliveries[number] >= 100 and log.exposure[number] > 0
    }
    if len(rates) < 2:
        return ""
    low, high = min(rates.values()), max(rates.values())
    if high / low - 1.0 <= _SCALES_BADLY:
        return ""
    told = ", ".join(f"{number}: {rate:.3g}/s" for number, rate in sorted(rates.items()))
    return f"deliveries do not grow with the number of robots (per robot, {told}): politeness or the sites limit them"


def _keeps(obsolete_after: float) -> PhaseType | None:
    from recrawl.laws import PhaseType

    return None if obsolete_after == math.inf else PhaseType([1.0], [[-1.0 / obsolete_after]])


def predict(
    log: Log, table: tuple[int, ...], obsolete_after: float, costs: CostSettings
) -> tuple[Measures | None, str]:
    """What the fitted queue says of a table of active robots (for 0, 1, ... pages); or None and why."""
    from recrawl.control import Mode, Model, measure
    from recrawl.estimate import Gaps, Sample, fit_arrivals, fit_phase_type

    try:
        arrivals = fit_arrivals(Gaps.of(log.gaps), orders=(1, 2)).arrivals
        service = fit_phase_type(Sample.of(log.services), orders=(1, 2, 3)).law
        model = Model(
            capacity=len(table) - 1,
            service=service,
            modes=tuple(Mode(number, arrivals.scaled(number)) for number in sorted(set(table))),
            costs=costs.costs(service.mean),
            obsolescence=_keeps(obsolete_after),
        )
        return measure(model, table), ""
    except RecrawlError as error:
        return None, str(error)
