"""What accesses tell about changes: the arrays that every estimator of change rates takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CHANGED", "DATED", "UNCHANGED", "Observations"]

UNCHANGED, CHANGED, DATED = 0, 1, 2


@dataclass(frozen=True)
class Observations:
    """Accesses of many pages, those of a page together and in the order of time.

    Access i of a page came `intervals[i]` after the access before it. `kinds[i]` says what it found: the same
    content (`UNCHANGED`), other content (`CHANGED`), or other content and the time of its last change
    (`DATED`), which lay `ages[i]` before the access. The first access of a page tells nothing, unless it is
    dated: then its interval is infinite.
    """

    starts: NDArray[np.int64]
    intervals: NDArray[np.float64]
    kinds: NDArray[np.int8]
    ages: NDArray[np.float64]

    @property
    def pages(self) -> int:
        """Number of pages."""
        return int(self.starts.size) - 1

    @property
    def accesses(self) -> int:
        """Number of accesses that tell something."""
        return int(self.intervals.size)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of accesses of each page."""
        return np.diff(self.starts)

    @property
    def page_of(self) -> NDArray[np.int64]:
        """The page of each access."""
        return np.repeat(np.arange(self.pages), self.counts)

    @classmethod
    def of(
        cls,
        pages: ArrayLike,
        intervals: ArrayLike,
        changed: ArrayLike,
        ages: ArrayLike | None = None,
        *,
        number_of_pages: int | None = None,
    ) -> Observations:
        """From one row per access: page (0, 1, ...), interval, changed or not, age of the change or NaN.

        Rows of a page must be in the order of time; rows of different pages may be mixed.

        >>> Observations.of([0, 1, 0], [1.0, 2.0, 1.0], [True, False, False]).counts.tolist()
        [2, 1]
        """
        page = np.asarray(pages, dtype=np.int64)
        interval = np.asarray(intervals, dtype=np.float64)
        seen = np.asarray(changed, dtype=bool)
        age = np.full(interval.shape, np.nan) if ages is None else np.asarray(ages, dtype=np.float64)
        if not page.shape == interval.shape == seen.shape == age.shape or page.ndim != 1:
            raise InvalidModel(
                f"pages, intervals, changed and ages must be lists of one length, not of shapes "
                f"{page.shape}, {interval.shape}, {seen.shape}, {age.shape}"
            )
        count = number_of_pages if number_of_pages is not None else int(page.max(initial=-1)) + 1
        if page.size and (page.min() < 0 or page.max() >= count):
            raise InvalidModel(f"pages must lie from 0 to {count - 1}, not {page.min()} to {page.max()}")
        dated = seen & ~np.isnan(age)
        _check(interval, age, dated)
        if (np.diff(page) < 0).any():
            order = np.argsort(page, kind="stable")
            page, interval, seen = page[order], interval[order], seen[order]
            age, dated = age[order], dated[order]
        starts = np.searchsorted(page, np.arange(count + 1)).astype(np.int64)
        kinds = np.where(dated, DATED, np.where(seen, CHANGED, UNCHANGED)).astype(np.int8)
        return cls(starts, interval, kinds, np.where(dated, age, np.nan))


def _check(interval: NDArray[np.float64], age: NDArray[np.float64], dated: NDArray[np.bool_]) -> None:
    bad = np.flatnonzero(~(interval > 0) | (np.isinf(interval) & ~dated))
    if bad.size:
        raise InvalidModel(f"interval {bad[0]} must be a positive number, not {interval[bad[0]]}")
    bad = np.flatnonzero(dated & ~((age >= 0) & (age <= interval) & np.isfinite(age)))
    if bad.size:
        i = bad[0]
        raise InvalidModel(
            f"age {i} must lie between 0 and the interval {interval[i]}, not {age[i]}: "
            "a change after the last access is younger than that access"
        )
