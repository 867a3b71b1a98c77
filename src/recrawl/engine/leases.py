"""Pages that are handed out, and what the store is told of them.

A lease ends by itself. The store is told of those pages only that are still out when it is told, a batch at a time: an
access that is recorded within that time costs no write of its own. With one engine for a store this is all that is
needed: what a dead process had handed out is due again anyway.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.engine.scheduler import Ticket

__all__ = ["Leases"]


class Leases:
    """Tickets by slot; each comes back at the end of its lease."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ended = 0  # pages that came back because nothing was heard of them
        self._out: dict[int, Ticket] = {}
        self._ends: list[tuple[float, int, float]] = []
        self._untold: dict[int, str] = {}  # handed out, and the store does not know
        self._told: dict[int, str] = {}
        self._free: list[str] = []  # back without a record, and the store does not know

    def __len__(self) -> int:
        return len(self._out)

    def __contains__(self, slot: int) -> bool:
        return slot in self._out

    def begin(self, ticket: Ticket) -> None:
        """A page is handed out."""
        self._out[ticket.slot] = ticket
        self._untold[ticket.slot] = ticket.url
        heapq.heappush(self._ends, (ticket.handed + self.seconds, ticket.slot, ticket.handed))

    def end(self, slot: int, recorded: bool = True) -> Ticket | None:
        """A page is back; when its access was recorded, the store has ended its lease already."""
        self._untold.pop(slot, None)
        told = self._told.pop(slot, None)
        if told is not None and not recorded:
            self._free.append(told)
        return self._out.pop(slot, None)

    def expired(self, now: float) -> Iterator[Ticket]:
        """Pages whose leases have ended; each has to be put back."""
        while self._ends and self._ends[0][0] <= now:
            _, slot, handed = heapq.heappop(self._ends)
            ticket = self._out.get(slot)
            if ticket is not None and ticket.handed == handed:
                self.ended += 1
                yield ticket

    def shift_times(self, shift: float) -> None:
        """The clock on the wall was set back."""
        self._out = {
            slot: replace(ticket, handed=ticket.handed + shift) for slot, ticket in self._out.items()
        }
        self._ends = [(end + shift, slot, handed + shift) for end, slot, handed in self._ends]

    def next_end(self) -> float | None:
        """When the next lease ends."""
        return self._ends[0][0] if self._ends else None

    def news(self) -> tuple[list[str], list[str]]:
        """What the store has to be told: pages that are out, and pages that are back without a record."""
        out, free = list(self._untold.values()), self._free
        self._told |= self._untold
        self._untold, self._free = {}, []
        return out, free
