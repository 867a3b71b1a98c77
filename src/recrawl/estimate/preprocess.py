"""From delivery times to gaps between batches: every step of [Avrachenkov, Section 7], each choice visible.

Times become gaps; deliveries at most `batch_within` after the one before them join its batch; gaps longer
than `stop_after` are stops of the crawler and are deleted. The paper deletes the short gaps and keeps the
others as they are; here a batch stands at the time of its first page, so that the total time, and with it the
rate, is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.sequences import Gaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BatchBuilder", "Preparation", "prepare", "without_stops"]

_SUSPICIOUS = 50.0  # a gap this many means long is probably a stop


@dataclass
class BatchBuilder:
    """Turns deliveries of one run, chunk by chunk, into gaps and batch sizes; keeps only the last batch.

    >>> import numpy as np
    >>> builder = BatchBuilder(batch_within=0.0)
    >>> builder.feed(np.array([0.0, 0.0, 2.0, 3.0, 3.0]))
    (array([2.]), array([1], dtype=int32))
    >>> builder.finish()
    (array([1.]), array([2], dtype=int32))
    """

    batch_within: float = 0.0
    deliveries: int = 0
    joined: int = 0
    _before: float = field(default=math.nan, repr=False)  # when the batch before the open one began
    _epoch: float = field(default=math.nan, repr=False)  # when the open batch began
    _last: float = field(default=math.nan, repr=False)
    _size: int = field(default=0, repr=False)

    def feed(self, times: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Gaps and sizes of the batches that these deliveries close; times must not fall."""
        if times.size == 0:
            return np.zeros(0), np.zeros(0, np.int32)
        steps = np.diff(times, prepend=times[0] if math.isnan(self._last) else self._last)
        if (steps < 0).any():
            place = int(np.flatnonzero(steps < 0)[0])
            raise InvalidModel(f"delivery {self.deliveries + place} comes before the one above it")
        new = steps > self.batch_within
        if math.isnan(self._last):
            new[0] = True
        self.deliveries += times.size
        self.joined += int((~new).sum())
        firsts = np.flatnonzero(new)
        if firsts.size == 0:
            self._size += times.size
            self._last = float(times[-1])
            return np.zeros(0), np.zeros(0, np.int32)
        epochs = np.concatenate(([self._before, self._epoch], times[firsts]))
        sizes = np.concatenate(([self._size + firsts[0]], np.diff(firsts)))
        gaps = np.diff(epochs)[:-1]
        self._before, self._epoch, self._last = float(epochs[-2]), float(epochs[-1]), float(times[-1])
        self._size = int(times.size - firsts[-1])
        told = ~np.isnan(gaps)  # the first batch of a run ends no gap
        return gaps[told], sizes[told].astype(np.int32)

    def finish(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """The gap that the last batch ended, if there is one."""
        gap = self._epoch - self._before
        if math.isnan(gap):
            return np.zeros(0), np.zeros(0, np.int32)
        return np.array([gap]), np.array([self._size], np.int32)


@dataclass(frozen=True)
class Preparation:
    """Gaps that are ready for a fit, and what was done to get them."""

    gaps: Gaps
    deliveries: int
    runs: int
    batch_within: float
    joined: int
    stop_after: float
    stops: int
    stopped_time: float
    warnings: tuple[str, ...]


def without_stops(gaps: Gaps, stop_after: float) -> tuple[Gaps, int, float]:
    """Delete gaps longer than `stop_after`; what follows one begins a new run. Also: how many, how long."""
    if not stop_after > 0:
        raise InvalidModel(f"stop_after must be a positive time, not {stop_after}")
    stops = gaps.times > stop_after
    count = int(stops.sum())
    if count == 0:
        return gaps, 0, 0.0
    if count == len(gaps):
        raise InvalidModel(f"every gap is longer than stop_after = {stop_after:g}; nothing is left to fit")
    kept = ~stops
    fresh = _carried(gaps.fresh, stops)
    return Gaps(gaps.times[kept], gaps.sizes[kept], fresh), count, float(gaps.times[stops].sum())


def _carried(fresh: NDArray[np.bool_], stops: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A kept gap is fresh if it was, or if a deleted gap lies between it and the kept one before it."""
    broken = np.cumsum(fresh | stops)
    kept = np.flatnonzero(~stops)
    result = np.diff(broken[kept], prepend=0) > 0
    return np.asarray(result)


def prepare(
    runs: list[NDArray[np.float64]], *, batch_within: float = 0.0, stop_after: float = math.inf
) -> Preparation:
    """All steps for delivery times that are in memory, one array for each run.

    >>> import numpy as np
    >>> done = prepare([np.array([0.0, 1.0, 1.0, 3.0, 90.0, 91.0])], stop_after=50.0)
    >>> done.gaps.times.tolist(), done.gaps.sizes.tolist(), done.stops
    ([1.0, 2.0, 1.0], [2, 1, 1], 1)
    """
    if not batch_within >= 0:
        raise InvalidModel(f"batch_within must not be negative, not {batch_within}")
    times, sizes, fresh, joined, deliveries = [], [], [], 0, 0
    for run in runs:
        builder = BatchBuilder(batch_within)
        for gaps, counts in (builder.feed(np.asarray(run, dtype=np.float64)), builder.finish()):
            times.append(gaps)
            sizes.append(counts)
        count = sum(part.size for part in times[-2:])
        fresh.append(np.arange(count) == 0)
        joined += builder.joined
        deliveries += builder.deliveries
    whole = Gaps.of(np.concatenate(times), np.concatenate(sizes), np.concatenate(fresh))
    return finished(whole, deliveries, len(runs), batch_within, joined, stop_after)


def finished(
    gaps: Gaps, deliveries: int, runs: int, batch_within: float, joined: int, stop_after: float
) -> Preparation:
    """Delete the stops and write down what was done."""
    kept, stops, stopped = without_stops(gaps, stop_after)
    warnings = []
    longest, mean = float(kept.times.max()), float(kept.times.mean())
    if longest > _SUSPICIOUS * mean:
        warnings.append(
            f"the longest gap, {longest:.4g}, is {longest / mean:.0f} mean gaps long: "
            "if the crawler was stopped then, say so with a stop_after below it"
        )
    return Preparation(
        kept, deliveries, runs, batch_within, joined, stop_after, stops, stopped, tuple(warnings)
    )
