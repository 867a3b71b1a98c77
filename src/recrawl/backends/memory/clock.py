"""The system's clock, and a clock that tests move by hand."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time

__all__ = ["ManualClock", "SystemClock"]

# Turns of the event loop after each wake-up: enough for a chain of tasks to pass something on to each other.
_TURNS = 50


class SystemClock:
    """The clock of the machine."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that stands still until `advance`: sleepers wake in the order of their times.

    `jump` moves the time of day alone, as when somebody sets the machine's clock.
    """

    def __init__(self, start: float = 1_000_000_000.0) -> None:
        self._start = start
        self._elapsed = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def time(self) -> float:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        await woken

    def jump(self, seconds: float) -> None:
        """Set the time of day forward or back; nobody wakes."""
        self._start += seconds

    async def advance(self, seconds: float) -> None:
        """Let time pass, stopping at every sleeper that wakes on the way."""
        end = self._elapsed + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self._elapsed, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():  # a sleeper may have been cancelled
                woken.set_result(None)
                await self._settle()
        self._elapsed = end
        await self._settle()

    async def _settle(self) -> None:
        """Let everybody who can go on do so, until all wait for time or for another thread."""
        ready = getattr(asyncio.get_running_loop(), "_ready", None)  # other event loops do not have it
        for _ in range(_TURNS):
            await asyncio.sleep(0)
            if ready is not None and not ready:
                return
