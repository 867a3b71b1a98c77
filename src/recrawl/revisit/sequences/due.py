"""Sequences that give each page a due time: windows (the default) and the plain due-time heap."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from recrawl.revisit.sequences.base import AccessSequence

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DueTimes", "Windows"]

# The fractional part of 1/φ: multiples of it fill the unit interval more evenly than those of any other number.
_GOLDEN = 0.6180339887498949


def spread_phases(frequency: NDArray[np.float64], offset: float) -> NDArray[np.float64]:
    """A phase in [0, 1) for each page: golden multiples of its rank by falling frequency, all moved by `offset`.

    Pages of similar frequency get phases that are far apart, so that they do not come due together.
    """
    phase = np.empty(frequency.size)
    phase[np.argsort(-frequency, kind="stable")] = np.modf(np.arange(frequency.size) * _GOLDEN + offset)[0]
    return phase


class _Timed(AccessSequence):
    """A page's *base* is where its last access should have been, in slots; it should come again one period later."""

    _offset = 0.0

    def start_anywhere(self, rng: np.random.Generator) -> None:
        self._offset = float(rng.random())
        self._build()

    def _build(self) -> None:
        self._now = 0.0
        self._base = np.zeros(self._frequency.size)
        self._size = 0
        self._item = np.empty(0, dtype=np.int32)
        self._due = np.empty(0)
        self._replanned(np.zeros(self._frequency.size))

    def _replanned(self, before: NDArray[np.float64]) -> None:
        """Pages that stay keep the fraction of their period that has passed; new ones start at a phase of their own."""
        alive = self._alive > 0
        self._period = 1.0 / np.where(alive, self._frequency, 1.0)
        phase = self._lags(alive) - spread_phases(np.where(alive, self._frequency, 0.0), self._offset)
        stays = alive & (before > 0)
        old = self._bases()
        old = np.append(old[:-1], np.zeros(alive.size - self._base.size + 1))
        passed = np.where(stays, (self._now - old) * before, phase)
        self._base = self._now - passed * self._period
        self._heap(np.flatnonzero(alive).astype(np.int32))

    def _bases(self) -> NDArray[np.float64]:
        return self._base

    def _lags(self, alive: NDArray[np.bool_]) -> NDArray[np.float64]:
        """How long after its base each page will be accessed, in its own periods."""
        return np.ones(alive.size)

    @abstractmethod
    def _heap(self, members: NDArray[np.int32]) -> None:
        """Put these pages into the heaps."""


class Windows(_Timed):
    """Earliest deadline first, within windows: the default order.

    A page with base b is released at b + 0.8/f and its deadline is b + 1.4/f. Of the released pages the one with
    the earliest deadline is accessed (if none is released, the one released first), and then b += 1/f. The release
    keeps accesses of one page apart, the deadline keeps pages from waiting. O(log N) per access, two heaps.

    The window was chosen by measurement (`make bench`): from 10 to 10,000 pages, narrower and wider ones cost
    as much or more.

    >>> Windows([0.5, 0.25, 0.25]).take(8).tolist()
    [0, 2, 0, 1, 0, 2, 0, 1]
    """

    early, late = 0.8, 1.4

    def _lags(self, alive: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Where in its window each page is accessed once the order has settled.

        The earliest deadline wins, so pages are accessed about the same number of slots before their deadlines:
        frequent ones as soon as they are released, rare ones near their deadlines. That number keeps the mean lag over
        pages at one period (as many pages are released as are accessed). Bases that start there make the first round
        like any other.
        """
        frequency = self._frequency[alive]
        sample = np.sort(frequency)[:: max(1, frequency.size // 4096)]
        low, high = 0.0, (self.late - self.early) / float(sample[0])
        for _ in range(60):
            slots = 0.5 * (low + high)
            lag = np.maximum(self.early, self.late - slots * sample).mean()
            low, high = (slots, high) if lag > 1.0 else (low, slots)
        return np.maximum(self.early, self.late - slots * self._frequency)

    def _heap(self, members: NDArray[np.int32]) -> None:
        from recrawl.revisit.sequences import _kernels

        size = members.size
        self._waiting = members.copy()
        self._release = self._base[members] + self.early * self._period[members]
        self._released = np.empty(size, dtype=np.int32)
        self._deadline = np.empty(size)
        self._sizes = np.array([size, 0], dtype=np.int64)
        _kernels.heapify(self._release, self._waiting, size)

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        _kernels.windows_take(
            out,
            self._now,
            self._sizes,
            self._release,
            self._waiting,
            self._deadline,
            self._released,
            self._base,
            self._period,
            self._alive,
            self.early,
            self.late,
        )
        self._now += out.size


class DueTimes(_Timed):
    """The page that is due first, early or late; then it is due one period after it was due.

    >>> DueTimes([0.5, 0.25, 0.25]).take(8).tolist()
    [0, 2, 0, 1, 0, 2, 0, 1]
    """

    def _heap(self, members: NDArray[np.int32]) -> None:
        from recrawl.revisit.sequences import _kernels

        self._item = members.copy()
        self._due = self._base[members] + self._period[members]
        self._size = int(members.size)
        _kernels.heapify(self._due, self._item, self._size)

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        self._size = _kernels.due_take(out, self._size, self._due, self._item, self._period, self._alive)
        self._now += out.size

    def _bases(self) -> NDArray[np.float64]:
        members = self._item[: self._size]
        self._base[members] = self._due[: self._size] - self._period[members]
        return self._base
