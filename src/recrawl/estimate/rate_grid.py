"""The grid of rates on which beliefs are kept, and how to read between its points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RateGrid", "interpolation", "shifted"]

_FEWEST_POINTS = 6


@dataclass(frozen=True)
class RateGrid:
    """Rates equally spaced in their logarithm.

    >>> RateGrid(0.01, 100.0, 9).rates.round(6).tolist()[::4]
    [0.01, 1.0, 100.0]
    """

    low: float
    high: float
    points: int = 32

    def __post_init__(self) -> None:
        positive("lowest rate", self.low)
        positive("highest rate", self.high)
        if not self.low < self.high:
            raise InvalidModel(f"the lowest rate must be below the highest, not {self.low} and {self.high}")
        if self.points < _FEWEST_POINTS:
            raise InvalidModel(f"a grid needs at least {_FEWEST_POINTS} points, not {self.points}")

    @classmethod
    def around(cls, interval: float, points: int = 32) -> RateGrid:
        """A grid for pages accessed about once per `interval`: one change in 1000 intervals to 100 in one.

        Slower and faster pages look the same as those at its ends.
        """
        interval = positive("interval", interval)
        return cls(0.001 / interval, 100.0 / interval, points)

    @property
    def rates(self) -> NDArray[np.float64]:
        """The rates λ_k."""
        return self.nodes(1)

    def nodes(self, parts: int) -> NDArray[np.float64]:
        """The rates, and `parts` − 1 more between each two of them."""
        return np.geomspace(self.low, self.high, (self.points - 1) * parts + 1)


def interpolation(parts: int) -> NDArray[np.float64]:
    """Weights of six neighbours for the value at offset + j/parts among them: Lagrange's formula."""
    weights = np.ones((_FEWEST_POINTS - 1, parts, _FEWEST_POINTS))
    for offset in range(_FEWEST_POINTS - 1):
        for j in range(parts):
            u = offset + j / parts
            for s in range(_FEWEST_POINTS):
                for other in range(_FEWEST_POINTS):
                    if other != s:
                        weights[offset, j, s] *= (u - other) / (s - other)
    return weights


def shifted(rows: NDArray[np.floating], steps: int) -> NDArray[np.floating]:
    """Logarithms at a grid that lies `steps` lower: straight on beyond the ends; the largest of a row becomes 0."""
    last = rows.shape[1] - 1
    place = np.arange(rows.shape[1]) - steps
    inside = rows[:, np.clip(place, 0, last)]
    below = np.minimum(place, 0) * (rows[:, 1] - rows[:, 0])[:, None]
    above = np.maximum(place - last, 0) * (rows[:, last] - rows[:, last - 1])[:, None]
    found = inside + below + above
    return np.asarray(found - found.max(axis=1, keepdims=True, initial=-np.inf))
