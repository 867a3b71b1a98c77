"""Deliveries and service times of the running engine, as the fits take them."""

from __future__ import annotations

import math
from collections import Counter

__all__ = ["Log"]

FEWEST = 400  # deliveries and service times before anything is fitted
_KEPT = 20_000


class Log:
    """The latest deliveries and service times.

    Deliveries are kept in robot-time: a gap is the integral of the number of robots at work between two deliveries, so
    a switch in between does no harm, and a robot that was switched off counts until it has finished its access. Time,
    work and deliveries by the number of active robots tell whether deliveries grow with the robots at all.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything: service is now done in another way."""
        self.gaps: list[float] = []  # seconds of one robot at work
        self.services: list[float] = []
        self.seconds: dict[int, float] = {}  # by number of active robots
        self.robot_seconds: dict[int, float] = {}  # of robots at work, by number of active robots
        self.deliveries: Counter[int] = Counter()
        self._active = self._working = 0
        self._since = math.nan
        self._gap = 0.0
        self._first = True

    def state(self, time: float, active: int, working: int) -> None:
        """So many robots are active, and so many at work, from now on."""
        if not math.isnan(self._since):
            step = max(0.0, time - self._since)
            self._gap += step * self._working
            self.seconds[self._active] = self.seconds.get(self._active, 0.0) + step
            self.robot_seconds[self._active] = (
                self.robot_seconds.get(self._active, 0.0) + step * self._working
            )
        self._since, self._active, self._working = time, active, working

    def delivered(self, time: float, robots: int) -> None:
        """A page came, while so many robots were active."""
        self.state(time, self._active, self._working)
        self.deliveries[robots] += 1
        if not self._first:
            self.gaps.append(max(self._gap, 1e-9))
        self._first, self._gap = False, 0.0
        if len(self.gaps) > _KEPT:
            del self.gaps[: _KEPT // 2]
            self._fade()

    def _fade(self) -> None:
        """What is older counts half."""
        for sums in (self.seconds, self.robot_seconds):
            for number in sums:
                sums[number] /= 2.0
        self.deliveries = Counter({number: count // 2 for number, count in self.deliveries.items()})

    def served(self, seconds: float) -> None:
        """A page was indexed."""
        if seconds > 0:
            self.services.append(seconds)
        if len(self.services) > _KEPT:
            del self.services[: _KEPT // 2]

    @property
    def enough(self) -> bool:
        """Whether a fit can be tried."""
        return len(self.gaps) >= FEWEST and len(self.services) >= FEWEST

    def rates(self, fewest: int = 100) -> dict[int, float]:
        """Deliveries per second of a robot at work, by number of active robots, where there are enough."""
        return {
            number: count / self.robot_seconds[number]
            for number, count in sorted(self.deliveries.items())
            if number > 0 and count >= fewest and self.robot_seconds.get(number, 0.0) > 0
        }

    def snapshot(self) -> Log:
        """A copy for a worker."""
        copy = Log()
        copy.gaps, copy.services = list(self.gaps), list(self.services)
        copy.seconds, copy.robot_seconds = dict(self.seconds), dict(self.robot_seconds)
        copy.deliveries = Counter(self.deliveries)
        return copy
