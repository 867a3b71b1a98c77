"""Accesses and service times of the running engine, as the fits take them."""

from __future__ import annotations

__all__ = ["FEWEST", "Log"]

FEWEST = 400  # accesses and service times before anything is fitted
_KEPT = 20_000
_SKIPPED = 50  # accesses at the start, which wait for the first pages to be found


class Log:
    """The latest accesses and service times.

    An access counts from the moment a robot could begin it to its delivery: the wait for a page is part of it. It
    counts whether or not the robot was switched off meanwhile. Sums by the number of robots that were active when it
    began tell whether accesses take longer the more robots there are.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything: service is now done in another way."""
        self.accesses: list[float] = []  # seconds
        self.services: list[float] = []
        self.delivered = self.counted = 0  # accesses that brought a page, and all of them
        self.by_robots: dict[int, tuple[float, float]] = {}  # number of accesses and their seconds
        self._skip = _SKIPPED

    def accessed(self, seconds: float, robots: int, delivers: bool) -> None:
        """A robot has accessed a page; so many robots were active when it began."""
        if self._skip > 0:
            self._skip -= 1
            return
        self.accesses.append(max(seconds, 1e-9))
        self.counted += 1
        self.delivered += delivers
        count, total = self.by_robots.get(robots, (0.0, 0.0))
        self.by_robots[robots] = (count + 1.0, total + seconds)
        if len(self.accesses) > _KEPT:
            del self.accesses[: _KEPT // 2]
            self._fade()

    def _fade(self) -> None:
        """What is older counts half."""
        self.counted, self.delivered = self.counted // 2, self.delivered // 2
        self.by_robots = {
            robots: (count / 2.0, total / 2.0) for robots, (count, total) in self.by_robots.items()
        }

    def served(self, seconds: float) -> None:
        """A page was indexed."""
        if seconds > 0:
            self.services.append(seconds)
        if len(self.services) > _KEPT:
            del self.services[: _KEPT // 2]

    @property
    def enough(self) -> bool:
        """Whether a fit can be tried."""
        return len(self.accesses) >= FEWEST and len(self.services) >= FEWEST

    @property
    def success(self) -> float:
        """Share of the accesses that brought a page."""
        return self.delivered / self.counted if self.counted else 1.0

    def access_times(self, fewest: int = 100) -> dict[int, float]:
        """Mean time of an access by the number of active robots, where there are enough of them."""
        return {
            robots: total / count
            for robots, (count, total) in sorted(self.by_robots.items())
            if count >= fewest and total > 0
        }

    def snapshot(self) -> Log:
        """A copy for a worker."""
        copy = Log()
        copy.accesses, copy.services = list(self.accesses), list(self.services)
        copy.delivered, copy.counted = self.delivered, self.counted
        copy.by_robots = dict(self.by_robots)
        return copy
