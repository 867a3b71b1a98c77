"""The finite buffer of one process."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING

from recrawl.errors import ConfigError

if TYPE_CHECKING:
    from recrawl.engine.records import Delivery

__all__ = ["MemoryBuffer"]


class MemoryBuffer:
    """First in, first out; `capacity` counts what waits and what is being indexed."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ConfigError(f"capacity must be at least 1, not {capacity}")
        self.capacity = capacity
        self._waiting: deque[Delivery] = deque()
        self._serving: dict[int, Delivery] = {}  # by identity: two deliveries may be equal
        self._closed = False
        self._something = asyncio.Event()  # a delivery waits, or the buffer is closed

    def offer(self, delivery: Delivery) -> bool:
        if self._closed or self.level() >= self.capacity:
            return False
        self._waiting.append(delivery)
        self._something.set()
        return True

    async def take(self) -> Delivery | None:
        while not self._waiting:
            if self._closed:
                return None
            self._something.clear()
            await self._something.wait()
        delivery = self._waiting.popleft()
        self._serving[id(delivery)] = delivery
        return delivery

    def done(self, delivery: Delivery) -> None:
        if self._serving.pop(id(delivery), None) is None:
            raise ValueError(f"{delivery.access.url} is not being indexed")

    def level(self) -> int:
        return len(self._waiting) + len(self._serving)

    def expire(self, now: float) -> list[Delivery]:
        gone = [delivery for delivery in self._waiting if delivery.obsolete_at <= now]
        if gone:
            self._waiting = deque(delivery for delivery in self._waiting if delivery.obsolete_at > now)
        return gone

    def next_expiry(self) -> float:
        return min((delivery.obsolete_at for delivery in self._waiting), default=math.inf)

    def close(self) -> None:
        self._closed = True
        self._something.set()
