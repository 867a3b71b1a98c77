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


def _spread_phases(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    """A phase in [0, 1) for each page: golden multiples of its rank by falling frequency.

    Pages of similar frequency get phases that are far apart, so that they do not come due together.
    """
    phase = np.empty(frequency.size)
    phase[np.argsort(-frequency, kind="stable")] = np.modf(np.arange(frequency.size) * _GOLDEN)[0]
    return phase


class _Timed(AccessSequence):
    """A page's *base* is where its last access should have been, in slots; it should come again one period later."""

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
        phase = 1.0 - _spread_phases(np.where(alive, self._frequency, 0.0))
        stays = alive & (before > 0)
        old = self._bases()
        old = np.append(old[:-1], np.zeros(alive.size - self._base.size + 1))
        passed = np.where(stays, (self._now - old) * before, phase)
        self._base = self._now - passed * self._period
        self._heap(np.flatnonzero(alive).astype(np.int32))

    def _bases(self) -> NDArray[np.float64]:
        return self._base

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
