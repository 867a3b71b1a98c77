"""Sequences that cut a cycle into one part per page and visit its points in an order that spreads each part.

The golden ratio and the power-of-two sequences differ only in the cycle (a Fibonacci number, a power of two) and in the
order of its points (multiples of the golden ratio, reversed bits).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.revisit.sequences.base import AccessSequence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "GoldenRatio",
    "PowerOfTwo",
    "fibonacci",
    "golden_counts",
    "golden_gap_counts",
    "golden_template",
    "power_of_two_frequencies",
]

# F_78 is the largest Fibonacci number below 2^53, so counts keep every digit that a frequency has.
_LARGEST_K = 78
_LARGEST_BITS = 62


def fibonacci(k: int) -> int:
    """F_k with F_1 = F_2 = 1.

    >>> [fibonacci(k) for k in range(9)]
    [0, 1, 1, 2, 3, 5, 8, 13, 21]
    """
    if k < 0:
        raise InvalidModel(f"k must not be negative, not {k}")
    a, b = 0, 1
    for _ in range(k):
        a, b = b, a + b
    return a


def golden_counts(frequency: ArrayLike, k: int) -> NDArray[np.int64]:
    """Accesses of each page in a cycle of F_k: ⌊f·F_k⌋ or one more, so that they sum to F_k.

    >>> golden_counts([0.5, 0.3, 0.2], 6).tolist()
    [4, 2, 2]
    """
    if not 3 <= k <= _LARGEST_K:
        raise InvalidModel(f"k must be from 3 to {_LARGEST_K}, not {k}")
    frequency = np.asarray(frequency, dtype=np.float64)
    cycle = fibonacci(k)
    exact = frequency / frequency.sum() * cycle
    # A count that is whole but for rounding stays whole.
    near = np.rint(exact)
    counts = np.where(np.abs(exact - near) <= 1e-9 * np.maximum(near, 1.0), near, np.floor(exact)).astype(
        np.int64
    )
    missing = cycle - int(counts.sum())
    if not 0 <= missing <= counts.size:
        # Rounding of sums in the largest cycles; the largest count can bear it.
        counts[counts.argmax()] += missing
    elif missing:
        counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return np.asarray(counts)


def golden_gap_counts(
    counts: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Which gaps each page has in a cycle of F_k, and how often: arrays page, gap, count.

    A page with F_{k−j} <= M < F_{k−j+1} accesses has the gaps F_j, F_{j+1}, F_{j+2}; they occur M − F_{k−j},
    M − F_{k−j−1} and F_{k−j+1} − M times [Coffman 1999, Section 5; the paper has the sign of j wrong].
    """
    numbers = np.array([fibonacci(i) for i in range(k + 3)], dtype=np.int64)
    page = np.flatnonzero(counts > 0)
    m = counts[page]
    # k − j is the largest index with F_{k−j} <= M; F_2 = 1 counts, F_1 = 1 does not.
    j = k - (np.searchsorted(numbers[2:], m, side="right") + 1)
    gap = np.stack((numbers[j], numbers[j + 1], numbers[j + 2]))
    often = np.stack((m - numbers[k - j], m - numbers[k - j - 1], numbers[k - j + 1] - m))
    return np.tile(page, 3), gap.ravel(), often.ravel()


def _golden_stride(k: int) -> int:
    """The point j at the next slot is j + stride modulo F_k: neighbours of {frac(j/φ)} in rising order."""
    return fibonacci(k - 1) if k % 2 == 0 else fibonacci(k - 2)


def golden_template(counts: ArrayLike, k: int) -> NDArray[np.int64]:
    """One cycle γ(k, N) of the golden ratio policy: the points frac(j/φ), j = 1..F_k, in rising order.

    The first counts[0] points belong to page 0, and so on. (The paper's text has j = 0..F_k − 1; its worked example,
    which this reproduces, has j = 1..F_k.)

    >>> " ".join(str(page + 1) for page in golden_template([2, 3, 3, 5], 7))
    '4 2 4 1 3 4 2 4 1 3 4 2 3'
    """
    counts = np.asarray(counts, dtype=np.int64)
    cycle = fibonacci(k)
    if counts.sum() != cycle or (counts < 0).any():
        raise InvalidModel(f"counts must sum to F_{k} = {cycle}, not {counts.sum()}")
    slots = np.arange(cycle, dtype=object) if k > 45 else np.arange(cycle, dtype=np.int64)
    point = ((slots * _golden_stride(k) - 1) % cycle).astype(np.int64)
    return np.searchsorted(np.cumsum(counts), point, side="right")


class _Partition(AccessSequence):
    """A cycle cut into parts, with a guide table that finds the part of a point in O(1) on average."""

    def _cut(self, counts: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        self._cumulated = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        cycle = int(self._cumulated[-1])
        guide = np.empty(min(cycle, 1 << max(1, int(counts.size - 1).bit_length())), dtype=np.int32)
        self._scale = guide.size / cycle
        _kernels.make_guide(self._cumulated, guide, self._scale)
        self._guide = guide


class GoldenRatio(_Partition):
    """The golden ratio policy [Itai and Rosberg 1984; Coffman 1999, Section 5], streamed.

    No template is built: the point of the next slot is one addition, its page one look-up. Memory O(N). The cycle
    is the shortest F_k that realises the frequencies exactly, or F_78 (8.9e15 accesses) when none does.

    >>> sequence = GoldenRatio([2 / 13, 3 / 13, 3 / 13, 5 / 13])
    >>> " ".join(str(page + 1) for page in sequence.take(13))
    '4 2 4 1 3 4 2 4 1 3 4 2 3'
    """

    def _build(self) -> None:
        frequency = np.where(self._alive, self._frequency, 0.0)
        self.k = _exact_cycle(frequency)
        self._counts = golden_counts(frequency, self.k)
        self._cut(self._counts)
        self._cycle = fibonacci(self.k)
        self._point = self._cycle - 1
        self._stride = _golden_stride(self.k)

    def start_anywhere(self, rng: np.random.Generator) -> None:
        self._point = int(rng.integers(self._cycle))

    @property
    def counts(self) -> NDArray[np.int64]:
        """Accesses of each page in one cycle; the last entry counts the idle slots."""
        return self._counts.copy()

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        self._point = _kernels.golden_take(
            out,
            self._point,
            self._stride,
            self._cycle,
            self._cumulated,
            self._guide,
            self._scale,
            self._alive,
        )


def _exact_cycle(frequency: NDArray[np.float64]) -> int:
    positive = frequency[frequency > 0]
    for k in range(3, 32):
        exact = positive * fibonacci(k)
        if exact.min() > 0.5 and np.abs(exact - np.rint(exact)).max() <= 1e-9 * fibonacci(k):
            return k
    return _LARGEST_K


def power_of_two_frequencies(frequency: ArrayLike) -> NDArray[np.float64]:
    """Powers of 1/2 near the given frequencies, with sum 1.

    Each frequency is rounded down; then the pages that lost most are doubled, as long as there is room.

    >>> power_of_two_frequencies([0.4, 0.4, 0.2]).tolist()
    [0.5, 0.25, 0.25]
    """
    frequency = np.asarray(frequency, dtype=np.float64)
    page = np.flatnonzero(frequency > 0)
    mantissa, exponent = np.frexp(frequency[page] / frequency[page].sum())
    bits = int(min(_LARGEST_BITS, max(1 - int(exponent.min()), 1)))
    size = np.left_shift(np.int64(1), np.clip(bits + exponent - 1, 0, bits).astype(np.int64))
    room = (1 << bits) - int(size.sum())
    while room < 0:
        # Tiny frequencies that the sum of all could not resolve; the largest page can give way.
        place = size.argmax()
        size[place] //= 2
        room += int(size[place])
    for place in np.argsort(-mantissa, kind="stable"):
        if size[place] <= room:
            room -= int(size[place])
            size[place] *= 2
    while room:
        fits = np.flatnonzero(size <= room)
        place = fits[size[fits].argmax()]
        room -= int(size[place])
        size[place] *= 2
    result = np.zeros(frequency.size)
    result[page] = np.ldexp(size.astype(np.float64), -bits)
    return result


class PowerOfTwo(_Partition):
    """Frequencies rounded to powers of 1/2, which can be spaced exactly evenly [Coffman 1999, after Theorem 3.3].

    >>> PowerOfTwo([0.5, 0.3, 0.2]).take(8).tolist()
    [0, 1, 0, 2, 0, 1, 0, 2]
    """

    def _build(self) -> None:
        rounded = power_of_two_frequencies(np.where(self._alive, self._frequency, 0.0))
        self.rounded = rounded[: self._pages]
        page = np.flatnonzero(rounded > 0)
        self._order = page[np.argsort(-rounded[page], kind="stable")]
        self._bits = 1 - int(np.frexp(rounded[page].min())[1])
        # The largest parts first: then each begins at a multiple of its own size.
        self._cut(np.ldexp(rounded[self._order], self._bits).astype(np.int64))
        self._slot = 0

    def start_anywhere(self, rng: np.random.Generator) -> None:
        self._slot = int(rng.integers(1 << self._bits))

    def _take(self, out: NDArray[np.int64]) -> None:
        from recrawl.revisit.sequences import _kernels

        self._slot = _kernels.binary_take(
            out, self._slot, self._bits, self._cumulated, self._guide, self._scale, self._alive[self._order]
        ) % (1 << self._bits)
        out[:] = self._order[out]
