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

__all__ = ["BatchBuilder", "Preparation", "StretchCollector", "prepare", "without_stops"]

_SUSPICIOUS = 50.0  # a gap this many means long is probably a stop
_FEW_VALUES = 50  # fewer distinct gaps are rounded ones
_LOOKED_AT = 10_000


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


def without_stops(
    times: NDArray[np.float64], sizes: NDArray[np.int32], stop_after: float, broken: bool
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.bool_], bool]:
    """The gaps that are no stops, their sizes, which begin a new stretch, and whether the next one will.

    `broken`: the first gap does not follow the one before it. A gap after a stop begins a new stretch.

    >>> import numpy as np
    >>> without_stops(np.array([1.0, 90.0, 2.0]), np.array([1, 1, 1], np.int32), 50.0, True)[2].tolist()
    [True, True]
    """
    stops = times > stop_after
    kept = ~stops
    # A kept gap begins a stretch if a break or a stop lies between it and the kept gap before it.
    breaks = np.cumsum(stops) + int(broken)
    fresh = np.diff(breaks[kept], prepend=0) > 0
    return times[kept], sizes[kept], fresh, bool(stops[-1])


def prepare(
    runs: list[NDArray[np.float64]], *, batch_within: float = 0.0, stop_after: float = math.inf
) -> Preparation:
    """All steps for delivery times that are in memory, one array for each run.

    >>> import numpy as np
    >>> done = prepare([np.array([0.0, 1.0, 1.0, 3.0, 90.0, 91.0])], stop_after=50.0)
    >>> done.gaps.times.tolist(), done.gaps.sizes.tolist(), done.stops
    ([1.0, 2.0, 1.0], [2, 1, 1], 1)
    """
    collected = StretchCollector(batch_within, stop_after)
    for run in runs:
        collected.feed(np.asarray(run, dtype=np.float64))
        collected.close()
    times, sizes, fresh = (np.concatenate(parts) for parts in zip(*collected.parts, strict=True))
    return collected.preparation(Gaps.of(times, sizes, fresh))


class StretchCollector:
    """Deliveries of one run after the other become gaps without stops, piece by piece."""

    def __init__(self, batch_within: float, stop_after: float) -> None:
        if not batch_within >= 0:
            raise InvalidModel(f"batch_within must not be negative, not {batch_within}")
        if not stop_after > batch_within:
            raise InvalidModel(f"stop_after must be above batch_within {batch_within}, not {stop_after}")
        self.batch_within, self.stop_after = batch_within, stop_after
        self.parts: list[tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.bool_]]] = []
        self.deliveries = self.joined = self.stops = self.runs = 0
        self.stopped_time = 0.0
        self.longest = 0.0
        self.kept = 0
        self._builder = BatchBuilder(batch_within)
        self._broken = True

    def feed(self, times: NDArray[np.float64]) -> None:
        """More deliveries of the run."""
        self._take(*self._builder.feed(times))

    def close(self) -> None:
        """The run ends here; what comes next does not follow."""
        self._take(*self._builder.finish())
        self.deliveries += self._builder.deliveries
        self.joined += self._builder.joined
        self.runs += self._builder.deliveries > 0
        self._builder = BatchBuilder(self.batch_within)
        self._broken = True

    def _take(self, times: NDArray[np.float64], sizes: NDArray[np.int32]) -> None:
        if not times.size:
            return
        stopped = times > self.stop_after
        self.stops += int(stopped.sum())
        self.stopped_time += float(times[stopped].sum())
        kept, counts, fresh, self._broken = without_stops(times, sizes, self.stop_after, self._broken)
        self.longest = max(self.longest, float(kept.max(initial=0.0)))
        self.kept += kept.size
        self.keep(kept, counts, fresh)

    def keep(self, times: NDArray[np.float64], sizes: NDArray[np.int32], fresh: NDArray[np.bool_]) -> None:
        """Store a piece; readers of long logs store it elsewhere."""
        self.parts.append((times, sizes, fresh))

    def preparation(self, gaps: Gaps) -> Preparation:
        """What was done, beside the gaps that came of it."""
        warnings = []
        mean = float(gaps.times.mean())
        if self.longest > _SUSPICIOUS * mean:
            warnings.append(
                f"the longest gap, {self.longest:.4g}, is {self.longest / mean:.0f} mean gaps long: "
                "if the crawler was stopped then, say so with a stop_after below it"
            )
        few = np.unique(gaps.times[:_LOOKED_AT]).size
        if len(gaps) > 10 * _FEW_VALUES and few < _FEW_VALUES:
            warnings.append(
                f"the first {min(len(gaps), _LOOKED_AT)} gaps take only {few} values: times are rounded, and "
                "a smooth law cannot follow that; spreading equal times may be better"
            )
        return Preparation(
            gaps,
            self.deliveries,
            self.runs,
            self.batch_within,
            self.joined,
            self.stop_after,
            self.stops,
            self.stopped_time,
            tuple(warnings),
        )
