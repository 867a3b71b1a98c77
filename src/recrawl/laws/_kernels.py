"""Compiled loops over phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["sample_batches"]


@compiled
def sample_batches(
    rates: NDArray[np.float64],
    cumulated: NDArray[np.float64],
    order: int,
    phase: int,
    batches: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Walk through the phases of a BMAP; `cumulated[phase]` runs over (batch size, next phase)."""
    intervals = np.zeros(batches)
    sizes = np.zeros(batches, dtype=np.int64)
    for batch in range(batches):
        while True:
            intervals[batch] += rng.standard_exponential() / rates[phase]
            move = int(np.searchsorted(cumulated[phase], rng.random(), side="right"))
            phase = move % order
            if move >= order:
                sizes[batch] = move // order
                break
    return intervals, sizes
