"""The value of an access on the grid of rates of the group clocks, from tables: no exponential for each rate.

Rates are equally spaced in ln λ; for times on a lattice that is spaced alike, (1 − (1+λτ)e^{−λτ}) depends on the sum
of two whole numbers alone. The time at which a value is reached is found on the lattice, and one Newton step leads from
the nearest point of it to the answer: to half a per cent, to some per cent near the most that a page can be worth.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled_in_place

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FINE", "STEP", "grid_reach"]

POINTS = 24
SLOWEST, FASTEST = 0.01, 200.0  # changes per uniform revisit time, at the ends of the grid of rates
STEP = (FASTEST / SLOWEST) ** (1.0 / (POINTS - 1))
FINE = 4  # points of the lattice of times in a step of the grid

_SPACE = math.log(STEP) / FINE
_FIRST = -round(
    30.0 / _SPACE
)  # x from e^−30, where the value is x²/2, to e^8 for the slowest rate, where it is 1
_LAST = round(8.0 / _SPACE) + FINE * (POINTS - 1)
_X = np.exp(_SPACE * np.arange(_FIRST, _LAST + 1))
_WORTH = np.where(_X < 0.01, _X**2 * (0.5 - _X / 3 + _X**2 / 8), 1.0 - (1.0 + _X) * np.exp(-_X))
_SLOPE = _X**2 * np.exp(-_X)


@compiled_in_place
def grid_reach(
    shares: NDArray[np.float64], slowest: float, level: float, low: float, start: float
) -> tuple[float, float]:
    """ln of the time at which Σ shares_k (1 − (1+λ_kτ)e^{−λ_kτ}) reaches a level, and its slope d ln / d ln τ there.

    The level must be below the sum of shares. `slowest` is ln λ_0; the answer is above `low`; `start` is a guess. The
    sum is concave in ln-ln, so Newton's steps from below never pass the answer.
    """
    point = round((max(low, start) + slowest) / _SPACE)
    y, lean = low, 1.0
    for _ in range(12):
        point = min(max(point, _FIRST), _LAST - FINE * (shares.size - 1))
        value = 0.0
        slope = 0.0
        place = point - _FIRST
        for k in range(shares.size):
            value += shares[k] * _WORTH[place]
            slope += shares[k] * _SLOPE[place]
            place += FINE
        lean = max(slope, 1e-300) / value
        y = point * _SPACE - slowest
        y += min(max(math.log(level / value) / lean, -3.0), 3.0)
        after = round((y + slowest) / _SPACE)
        if after == point:
            break
        point = after
    return max(y, low), lean
