"""One compiled pass over a log for all its statistics: no array as long as the log is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["accumulate"]


@compiled
def accumulate(
    times: Floats,
    sizes: NDArray[np.int32],
    fresh: NDArray[np.bool_],
    mean: float,
    powers: Floats,
    products: Floats,
    pairs: Floats,
    size_counts: NDArray[np.int64],
    windows: Floats,
    counts: Floats,
) -> None:
    """Add up powers of the gaps (about the mean: 2; raw: 3), products of gaps some lags apart, sizes, counts.

    counts[w] holds number, sum and sum of squares of the batches in the complete windows of each run.
    """
    lags = products.size
    ring = np.zeros(lags)
    filled = 0
    place = 0
    epoch = 0.0
    edges = windows.copy()
    inside = np.zeros(windows.size)
    for k in range(times.size):
        gap = times[k]
        centred = gap - mean
        powers[0] += centred * centred
        powers[1] += gap * gap * gap
        size_counts[sizes[k]] += 1
        if fresh[k]:
            filled = 0
            epoch = 0.0
            for w in range(windows.size):
                edges[w] = windows[w]
                inside[w] = 0.0
        for lag in range(1, filled + 1):
            products[lag - 1] += centred * ring[(place - lag) % lags]
            pairs[lag - 1] += 1.0
        ring[place] = centred
        place = (place + 1) % lags
        filled = min(filled + 1, lags)
        epoch += gap
        for w in range(windows.size):
            if epoch >= edges[w]:
                counts[w, 0] += 1.0
                counts[w, 1] += inside[w]
                counts[w, 2] += inside[w] * inside[w]
                empty = np.floor((epoch - edges[w]) / windows[w])
                counts[w, 0] += empty
                edges[w] += (empty + 1.0) * windows[w]
                inside[w] = 0.0
            inside[w] += 1.0
