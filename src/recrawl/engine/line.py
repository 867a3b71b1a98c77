"""Pages of one site in the order of their due times.

A sorted array from the last plan, and a heap for pages that came back since: entries go stale when a page's due time
moves, and are passed over when they reach the head.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Line"]


class Line:
    """A queue of slots by due time; `due` is the array that says which entries still hold (NaN: not waiting)."""

    __slots__ = ("_heap", "_next", "_sorted_due", "_sorted_slots")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []
        self._sorted_slots: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._sorted_due: NDArray[np.float64] = np.zeros(0)
        self._next = 0

    def rebuild(self, slots: NDArray[np.int64], due: NDArray[np.float64]) -> None:
        """Replace everything; due times rise."""
        self._sorted_slots, self._sorted_due, self._next = slots, due, 0
        self._heap = []

    def push(self, slot: int, due: float) -> None:
        """Add one page."""
        heapq.heappush(self._heap, (due, slot))

    def head(self, due: NDArray[np.float64]) -> tuple[float, int] | None:
        """The page that is due first, or None."""
        while self._heap and due[self._heap[0][1]] != self._heap[0][0]:
            heapq.heappop(self._heap)
        while self._next < self._sorted_slots.size:
            if due[self._sorted_slots[self._next]] == self._sorted_due[self._next]:
                break
            self._next += 1
        first = self._heap[0] if self._heap else (math.inf, -1)
        if self._next < self._sorted_slots.size and self._sorted_due[self._next] < first[0]:
            return float(self._sorted_due[self._next]), int(self._sorted_slots[self._next])
        return first if first[1] >= 0 else None
