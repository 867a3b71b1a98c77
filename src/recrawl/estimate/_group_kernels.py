"""Compiled loops over sorted names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["common_prefixes", "widest_windows"]


@compiled
def _letter(byte: int) -> bool:
    return 65 <= byte <= 90 or 97 <= byte <= 122 or byte >= 128


@compiled
def common_prefixes(text: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Length of the beginning that each sorted name shares with the next."""
    count = starts.size - 1
    shared = np.zeros(count, dtype=np.int64)
    for i in range(count - 1):
        most = min(starts[i + 1] - starts[i], starts[i + 2] - starts[i + 1])
        k = 0
        while k < most and text[starts[i] + k] == text[starts[i + 1] + k]:
            k += 1
        shared[i] = k
    return shared


@compiled
def widest_windows(
    text: NDArray[np.uint8], starts: NDArray[np.int64], shared: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """For each sorted name, the longest beginning where a group may end that at least `size` names share.

    `size` neighbours share the least of their common beginnings; a name is in `size` such windows, the best counts.
    """
    count = starts.size - 1
    best = np.zeros(count, dtype=np.int64)
    if size > count:
        return best
    window = np.zeros(count, dtype=np.int64)  # what names i .. i + size − 1 share
    rising = np.empty(count, dtype=np.int64)
    head, tail = 0, 0
    for i in range(count - 1):  # minimum of shared[i − size + 2 .. i]
        while tail > head and shared[rising[tail - 1]] >= shared[i]:
            tail -= 1
        rising[tail] = i
        tail += 1
        if rising[head] < i - size + 2:
            head += 1
        if i >= size - 2:
            window[i - size + 2] = shared[rising[head]]
    head, tail = 0, 0
    for i in range(count):  # maximum of window[i − size + 1 .. i]
        while tail > head and window[rising[tail - 1]] <= window[i]:
            tail -= 1
        rising[tail] = i
        tail += 1
        if rising[head] < i - size + 1:
            head += 1
        length = window[rising[head]]
        while length > 0 and _letter(text[starts[i] + length - 1]):
            length -= 1
        best[i] = length
    return best
