"""What happened, measured: counters, the index queue in time, confidence intervals by batch means."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    robot_seconds: float = 0.0
    level_seconds: float = 0.0

    def joined(self, other: Window) -> Window:
        """Both together."""
        return Window(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


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
        self.restart()

    def restart(self) -> None:
        """Forget the queue's past: the number of robots is now decided in another way."""
        self.windows: list[Window] = []
        self._width = _FIRST_WINDOW
        self._open = Window()
        self._level = 0
        self._robots = 0
        self._spare = False
        self._since = self.clock.monotonic()

    # Events.

    def state(self, level: int, robots: int, spare: bool = False) -> None:
        """Pages in buffer and indexer, active robots, and whether robots have nothing to access: from now on."""
        self._pass_time()
        self._level, self._robots, self._spare = level, robots, spare

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
        if self._level == 0:
            if self._spare:
                window.spare_seconds += seconds
            else:
                window.idle_seconds += seconds

    # Answers.

    def total(self) -> Window:
        """Everything since the queue was last restarted."""
        self._pass_time()
        whole = self._open
        for window in self.windows:
            whole = whole.joined(window)
        return whole

    def ratio(self, above: str, below: str) -> Estimate:
        """One sum over another, with a 95 % interval from the windows (ratio of batch means)."""
        whole = vars(self.total())
        if not whole[below]:
            return Estimate(math.nan, math.nan)
        value = whole[above] / whole[below]
        count = len(self.windows)
        if count < 8:
            return Estimate(value, math.nan)
        gaps = [vars(w)[above] - value * vars(w)[below] for w in self.windows]
        mean_below = sum(vars(w)[below] for w in self.windows) / count
        if mean_below <= 0:
            return Estimate(value, math.nan)
        variance = sum(gap * gap for gap in gaps) / (count - 1)
        return Estimate(value, 2.0 * math.sqrt(variance / count) / mean_below)

    def queue(self) -> dict[str, Estimate]:
        """Loss, obsolescence and success per arriving page; starvation per second; response time."""
        return {
            "loss": self.ratio("lost", "arrived"),
            "obsolete": self.ratio("obsolete", "arrived"),
            "starvation": self.ratio("idle_seconds", "seconds"),
            "spare": self.ratio("spare_seconds", "seconds"),
            "response_time": self.ratio("response_seconds", "served"),
            "service_time": self.ratio("service_seconds", "served"),
            "active_robots": self.ratio("robot_seconds", "seconds"),
            "mean_pages": self.ratio("level_seconds", "seconds"),
            "arrival_rate": self.ratio("arrived", "seconds"),
        }

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
