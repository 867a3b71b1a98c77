"""Gaps between deliveries, as the arrival fits take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Gaps"]


@dataclass(frozen=True)
class Gaps:
    """Gaps between batches of pages, and the size of the batch that ends each.

    `fresh[k]` is true where gap k does not follow gap k − 1: a new run, or the first gap after a stop.
    """

    times: NDArray[np.float64]
    sizes: NDArray[np.int32]
    fresh: NDArray[np.bool_]

    @classmethod
    def of(cls, times: ArrayLike, sizes: ArrayLike | None = None, fresh: ArrayLike | None = None) -> Gaps:
        """Check the arrays; without sizes every batch is one page, without `fresh` all is one run.

        >>> Gaps.of([1.0, 2.5]).sizes.tolist()
        [1, 1]
        """
        gaps = np.asarray(times, dtype=np.float64)
        count = gaps.size
        batch = np.ones(count, np.int32) if sizes is None else np.asarray(sizes, dtype=np.int32)
        new = np.zeros(count, np.bool_) if fresh is None else np.array(fresh, dtype=np.bool_)
        if gaps.ndim != 1 or not gaps.shape == batch.shape == new.shape:
            raise InvalidModel(
                f"gaps, sizes and fresh must be lists of one length, "
                f"not of shapes {gaps.shape}, {batch.shape}, {new.shape}"
            )
        if count == 0:
            raise InvalidModel("a fit needs at least one gap between deliveries, not 0")
        bad = np.flatnonzero(~(np.isfinite(gaps) & (gaps >= 0)))
        if bad.size:
            raise InvalidModel(f"gap {bad[0]} must be a number not below zero, not {gaps[bad[0]]}")
        bad = np.flatnonzero(batch < 1)
        if bad.size:
            raise InvalidModel(f"size of batch {bad[0]} must be at least 1, not {batch[bad[0]]}")
        if not gaps.any():
            raise InvalidModel("all gaps are zero")
        new[0] = True
        return cls(gaps, batch, new)

    def __len__(self) -> int:
        return int(self.times.size)

    def head(self, count: int) -> Gaps:
        """The first `count` gaps."""
        return Gaps(self.times[:count], self.sizes[:count], self.fresh[:count])
