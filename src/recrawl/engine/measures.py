"""What happened, measured: counters, the index queue in time, confidence intervals by batch means."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.control import Costs
    from recrawl.engine.fitted import Prices
    from recrawl.engine.protocols import Clock

__all__ = ["Estimate", "Measures", "Reservoir", "Window"]

_WINDOWS = 64  # at most; then neighbours are joined
_FIRST_WINDOW = 1.0  # seconds


@dataclass(frozen=True)
class Estimate:
    """A measured ratio with the half width of its 95 % confidence interval (NaN: too little seen)."""

    value: float
    half_width: float

    def document(self) -> dict[str, float]:
        """For JSON."""
        return {"value": self.value, "half_width": self.half_width}


@dataclass
class Window:
    """Sums over a stretch of time."""

    seconds: float = 0.0
    arrived: int = 0
    lost: int = 0
    obsolete: int = 0
    served: int = 0
    idle_seconds: float = 0.0  # of the indexer, while robots could bring pages
    spare_seconds: float = 0.0  # of the indexer, while nothing was due
    response_seconds: float = 0.0
    service_seconds: float = 0.0
    robot_seconds: float = 0.0  # of robots that are switched on
    working_seconds: float = 0.0  # of robots at work: those that were switched off finish their access
    level_seconds: float = 0.0
    levels: dict[tuple[int, int], float] = field(default_factory=dict)  # seconds by level and active robots

    def joined(self, other: Window) -> Window:
        """Both together."""
        sums = self.plus(other)
        sums.levels = _added([self.levels, other.levels])
        return sums

    def plus(self, other: Window) -> Window:
        """Both together, without the levels."""
        return Window(*(getattr(self, name) + getattr(other, name) for name in _SUMS))


_SUMS = tuple(one.name for one in fields(Window) if one.name != "levels")


def _student(degrees: int) -> float:
    """97.5 % quantile of Student's law, to 0.01 from three degrees of freedom on."""
    return 1.96 + 2.37 / degrees + 2.82 / degrees**2 + 2.6 / degrees**3


class Reservoir:
    """The latest values of a measure, for quantiles."""

    def __init__(self, size: int = 512) -> None:
        self._size = size
        self._values: list[float] = []
        self._next = 0
        self.count = 0

    def add(self, value: float) -> None:
        """One more."""
        self.count += 1
        if len(self._values) < self._size:
            self._values.append(value)
        else:
            self._values[self._next] = value
            self._next = (self._next + 1) % self._size

    def document(self) -> dict[str, float]:
        """Mean and quantiles of the latest values."""
        if not self._values:
            return {"count": 0, "mean": math.nan, "p50": math.nan, "p99": math.nan}
        ordered = sorted(self._values)
        last = len(ordered) - 1
        return {
            "count": self.count,
            "mean": sum(ordered) / len(ordered),
            "p50": ordered[round(0.5 * last)],
            "p99": ordered[round(0.99 * last)],
        }


_RATIOS = {
    "loss": ("lost", "arrived"),
    "obsolete": ("obsolete", "arrived"),
    "starvation": ("idle_seconds", "seconds"),
    "spare": ("spare_seconds", "seconds"),
    "response_time": ("response_seconds", "served"),
    "service_time": ("service_seconds", "served"),
    "active_robots": ("robot_seconds", "seconds"),
    "working_robots": ("working_seconds", "seconds"),
    "mean_pages": ("level_seconds", "seconds"),
    "arrival_rate": ("arrived", "seconds"),
}


@dataclass
class Measures:
    """Counters and the index queue, fed by events."""

    clock: Clock
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    bytes_received: int = 0
    index_delay: Reservoir = field(default_factory=Reservoir)
    loop_lag: Reservoir = field(default_factory=Reservoir)
    access_time: Reservoir = field(default_factory=Reservoir)

    def __post_init__(self) -> None:
        self.started = self.clock.time()
        self._level = self._robots = self._working = 0
        self._spare = False
        self.restart()

    def restart(self) -> None:
        """Forget the queue's past: the number of robots is now decided in another way."""
        self.windows: list[Window] = []
        self._width = _FIRST_WINDOW
        self._open = Window()
        self._since = self.clock.monotonic()

    # Events.

    def state(self, level: int, robots: int, spare: bool = False, working: int | None = None) -> None:
        """From now on: pages in the queue, active robots, whether these have nothing to access, robots at work."""
        self._pass_time()
        self._level, self._robots, self._spare = level, robots, spare
        self._working = robots if working is None else working

    def arrived(self, lost: bool) -> None:
        """A page was delivered."""
        self._pass_time()
        self._open.arrived += 1
        self._open.lost += lost

    def left(self, *, obsolete: bool, stay: float, service: float = 0.0) -> None:
        """A page has left the system: indexed, or obsolete."""
        self._pass_time()
        if obsolete:
            self._open.obsolete += 1
        else:
            self._open.served += 1
            self._open.response_seconds += stay
            self._open.service_seconds += service

    def _pass_time(self) -> None:
        now = self.clock.monotonic()
        while True:
            step = min(now - self._since, self._width - self._open.seconds)
            self._count(step)
            self._since += step
            if self._open.seconds < self._width - 1e-12:
                return
            self.windows.append(self._open)
            self._open = Window()
            if len(self.windows) == _WINDOWS:
                pairs = zip(self.windows[::2], self.windows[1::2], strict=True)
                self.windows = [a.joined(b) for a, b in pairs]
                self._width *= 2.0

    def _count(self, seconds: float) -> None:
        window = self._open
        window.seconds += seconds
        window.level_seconds += seconds * self._level
        window.robot_seconds += seconds * self._robots
        window.working_seconds += seconds * self._working
        place = (self._level, self._robots)
        window.levels[place] = window.levels.get(place, 0.0) + seconds
        if self._level == 0:
            if self._spare:
                window.spare_seconds += seconds
            else:
                window.idle_seconds += seconds

    # Answers.

    def total(self) -> Window:
        """Everything since the queue was last restarted (levels apart: `occupancy`)."""
        self._pass_time()
        whole = self._open
        for window in self.windows:
            whole = whole.plus(window)
        return whole

    def ratio(self, above: str, below: str) -> Estimate:
        """One sum over another, with a 95 % interval from the windows (ratio of batch means)."""
        return self._ratio(lambda w: getattr(w, above), lambda w: getattr(w, below), self.total())

    def _ratio(
        self, above: Callable[[Window], float], below: Callable[[Window], float], whole: Window
    ) -> Estimate:
        if not below(whole):
            return Estimate(math.nan, math.nan)
        value = above(whole) / below(whole)
        count = len(self.windows)
        if count < 8:
            return Estimate(value, math.nan)
        gaps = [above(w) - value * below(w) for w in self.windows]
        mean_below = sum(below(w) for w in self.windows) / count
        if mean_below <= 0:
            return Estimate(value, math.nan)
        variance = sum(gap * gap for gap in gaps) / (count - 1)
        return Estimate(value, _student(count - 1) * math.sqrt(variance / count) / mean_below)

    def queue(self) -> dict[str, Estimate]:
        """Loss, obsolescence and success per arriving page; starvation per second; response time."""
        return {name: self.ratio(above, below) for name, (above, below) in _RATIOS.items()}

    def cost(self, costs: Costs | Prices) -> Estimate:
        """Cost (2) of what was measured [Avrachenkov, (2)]; prices are per second."""

        def of(window: Window) -> float:
            return (
                costs.loss * window.lost
                + costs.obsolete * window.obsolete
                + costs.robot * window.robot_seconds
                + costs.starvation * window.idle_seconds
            )

        found = self._ratio(of, lambda window: window.seconds, self.total())
        if not costs.response:
            return found
        stay = self.ratio("response_seconds", "served")
        return Estimate(
            found.value + costs.response * stay.value,
            math.hypot(found.half_width, costs.response * stay.half_width),
        )

    def occupancy(self) -> list[dict[str, Any]]:
        """Share of time at each level that was seen, with its interval, and apart by number of active robots."""
        self._pass_time()
        whole = _added([window.levels for window in (*self.windows, self._open)])
        seconds = sum(whole.values())
        if seconds <= 0:
            return []
        apart: dict[int, dict[str, float]] = {}
        for (level, robots), time in sorted(whole.items()):
            apart.setdefault(level, {})[str(robots)] = time / seconds
        windows = [(window.seconds, _by_level(window)) for window in self.windows]
        return [
            {
                "level": level,
                "share": share,
                "half_width": _share_interval(share, level, windows),
                "by_robots": by_robots,
            }
            for level, by_robots in apart.items()
            for share in [math.fsum(by_robots.values())]
        ]

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "running_seconds": self.clock.time() - self.started,
            "accesses": sum(self.outcomes.values()),
            "outcomes": dict(self.outcomes),
            "findings": dict(self.findings),
            "bytes_received": self.bytes_received,
            "access_seconds": self.access_time.document(),
            "index_delay_seconds": self.index_delay.document(),
            "loop_lag_seconds": self.loop_lag.document(),
            "queue": {name: estimate.document() for name, estimate in self.queue().items()},
            "queue_arrivals": self.total().arrived,
        }


def _added(parts: list[dict[tuple[int, int], float]]) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = {}
    for part in parts:
        for place, seconds in part.items():
            found[place] = found.get(place, 0.0) + seconds
    return found


def _by_level(window: Window) -> dict[int, float]:
    found: dict[int, float] = {}
    for (level, _), seconds in window.levels.items():
        found[level] = found.get(level, 0.0) + seconds
    return found


def _share_interval(share: float, level: int, windows: list[tuple[float, dict[int, float]]]) -> float:
    """Half width of the 95 % interval of a share of time."""
    count = len(windows)
    if count < 8:
        return math.nan
    gaps = [levels.get(level, 0.0) - share * seconds for seconds, levels in windows]
    mean = math.fsum(seconds for seconds, _ in windows) / count
    return _student(count - 1) * math.sqrt(sum(gap * gap for gap in gaps) / (count - 1) / count) / mean
