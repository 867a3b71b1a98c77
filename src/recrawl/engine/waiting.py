"""Waiting for an event or a moment, whichever comes first, on an injected clock."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.engine.protocols import Clock

__all__ = ["SystemClock", "wait_until_set"]


class SystemClock:
    """The machine's own time."""

    def time(self) -> float:
        """Seconds since 1970."""
        import time

        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        import time

        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(max(0.0, seconds))


async def wait_until_set(event: asyncio.Event, clock: Clock, seconds: float = math.inf) -> bool:
    """Wait for an event, but not longer than so many seconds; whether the event came."""
    if event.is_set() or seconds <= 0:
        return event.is_set()
    if seconds == math.inf:
        await event.wait()
        return True
    waiters = [
        asyncio.ensure_future(event.wait()),
        asyncio.ensure_future(clock.sleep(seconds)),
    ]
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
    return event.is_set()
