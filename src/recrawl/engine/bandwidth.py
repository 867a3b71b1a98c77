"""A ceiling on bytes per second, over all robots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.engine.protocols import Clock

__all__ = ["Bandwidth"]


@dataclass
class Bandwidth:
    """What was received is paid for before the next access starts, so the average keeps the ceiling.

    An access that runs is not slowed down: it would only occupy its site for longer.
    """

    bytes_per_second: float | None
    clock: Clock
    _free_at: float = field(default=float("-inf"))

    def spend(self, size: int) -> None:
        """Count received bytes."""
        if self.bytes_per_second is not None:
            self._free_at = max(self._free_at, self.clock.monotonic()) + size / self.bytes_per_second

    async def wait(self) -> None:
        """Wait until everything received is paid for."""
        if self.bytes_per_second is None:
            return
        while (left := self._free_at - self.clock.monotonic()) > 0:
            await self.clock.sleep(left)
