"""The law of a sample of measured times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws._stable import exp_remainder
from recrawl.laws.law import Law, positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Empirical"]

_BLOCK_CELLS = 1 << 20  # rates times distinct times evaluated at once: 8 MB


class Empirical(Law):
    """Each measured time is equally likely.

    Equal times are kept once with their count, so a long log of rounded times stays small.

    >>> law = Empirical([1.0, 3.0])
    >>> law.mean, law.scv
    (2.0, 0.25)
    """

    def __init__(self, sample: ArrayLike) -> None:
        times = np.asarray(sample, dtype=np.float64)
        if times.ndim != 1 or times.size == 0:
            raise InvalidModel(f"an empirical law needs a list of times, not an array of shape {times.shape}")
        bad = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
        if bad.size:
            raise InvalidModel(
                f"time {bad[0] + 1} of the sample must be a number not below zero, not {times[bad[0]]}"
            )
        if not times.any():
            raise InvalidModel("all times of the sample are zero")
        self._times, counts = np.unique(times, return_counts=True)
        self._weights = counts / times.size
        self._size = int(times.size)
        self._mean = math.fsum(times) / times.size

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def atoms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The distinct times and their probabilities."""
        return self._times, self._weights

    @property
    def second_moment(self) -> float:
        return float(self._weights @ self._times**2)

    @property
    def scv(self) -> float:
        return float(self._weights @ (self._times / self._mean - 1.0) ** 2)

    def _expect(
        self, function: Callable[[NDArray[np.float64]], NDArray[np.float64]], s: ArrayLike
    ) -> NDArray[np.float64]:
        s = np.asarray(s, dtype=np.float64)
        flat = s.ravel()
        result = np.empty_like(flat)
        block = max(1, _BLOCK_CELLS // self._times.size)
        for start in range(0, flat.size, block):
            part = flat[start : start + block]
            result[start : start + block] = function(part[:, None] * self._times) @ self._weights
        return result.reshape(s.shape)

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        return self._expect(lambda y: np.exp(-y), s)

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        return self._expect(exp_remainder, s)

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        cumulated = np.concatenate(([0.0], np.cumsum(self._weights)))
        cumulated[-1] = 1.0
        return cumulated[np.searchsorted(self._times, np.asarray(t, dtype=np.float64), side="right")]

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        return rng.choice(self._times, size, p=self._weights)

    def scaled(self, mean: float) -> Empirical:
        scaled = object.__new__(Empirical)
        scaled._times = self._times * (positive("mean", mean) / self._mean)
        scaled._weights, scaled._size, scaled._mean = self._weights, self._size, float(mean)
        return scaled

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Empirical)
            and np.array_equal(self._times, other._times)
            and np.array_equal(self._weights, other._weights)
        )

    def __hash__(self) -> int:
        return hash((self._times.tobytes(), self._weights.tobytes()))

    def __repr__(self) -> str:
        return f"Empirical({self._size} times, mean={self._mean:g}, scv={self.scv:g})"

    __str__ = __repr__
