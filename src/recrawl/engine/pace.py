"""A budget of accesses as a token bucket."""

from __future__ import annotations

import math

__all__ = ["Pace"]


class Pace:
    """Lets accesses through at a rate, with a small burst; infinite: at once.

    The bucket holds what comes in a tenth of a second, at least one access, so that a stop of the engine does not
    end in a burst.

    >>> pace = Pace(2.0, now=0.0)
    >>> pace.take(0.0), pace.take(0.0), pace.ready_at(0.0), pace.take(0.5)
    (True, False, 0.5, True)
    """

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._size = max(1.0, 0.1 * rate)
        self._tokens = 1.0
        self._when = now

    def _fill(self, now: float) -> None:
        # A clock that was set back gives nothing and takes nothing.
        self._tokens = min(self._size, self._tokens + max(0.0, now - self._when) * self.rate)
        self._when = now

    def take(self, now: float) -> bool:
        """Take one access from the budget, if it is there."""
        if self.rate == math.inf:
            return True
        self._fill(now)
        if self._tokens < 1.0 - 1e-9:
            return False
        self._tokens -= 1.0
        return True

    def ready_at(self, now: float) -> float:
        """When the next access may begin."""
        if self.rate == math.inf:
            return now
        self._fill(now)
        return now + max(0.0, 1.0 - self._tokens) / self.rate

    def set_rate(self, rate: float, now: float) -> None:
        """Another rate from now on."""
        self._fill(now)
        self.rate = rate
        self._size = max(1.0, 0.1 * rate)
        self._tokens = min(self._tokens, self._size)
