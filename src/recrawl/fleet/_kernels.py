"""Compiled loops of `fleet/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["leave_one_state", "renewal"]

# Relative size of what a sum may leave out: far below one rounding.
_LEFT_OUT = 2.0**-62


@compiled
def renewal(first: float, coefficients: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """w_0 = first, w_n = Σ_{m=1}^{n} coefficients[m] w_{n−m}: the reciprocal of a power series, positive terms.

    The coefficients fall, so the terms from m on are at most coefficients[m]·(w_0 + … + w_{n−m}); a sum ends
    when that is below 2^-62 of it. Light-tailed laws need O(size) operations, heavy-tailed ones O(size²).
    """
    values = np.zeros(size)
    sums = np.zeros(size)
    values[0] = first
    sums[0] = first
    for n in range(1, size):
        total = 0.0
        start = 1
        while start <= n:
            if coefficients[start] * sums[n - start] <= _LEFT_OUT * total:
                break
            stop = min(n + 1, start + 64)
            # Four sums side by side, so that the additions do not wait for each other.
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            m = start
            while m + 3 < stop:
                a += coefficients[m] * values[n - m]
                b += coefficients[m + 1] * values[n - m - 1]
                c += coefficients[m + 2] * values[n - m - 2]
                d += coefficients[m + 3] * values[n - m - 3]
                m += 4
            while m < stop:
                a += coefficients[m] * values[n - m]
                m += 1
            total += (a + b) + (c + d)
            start = stop
        values[n] = total
        sums[n] = sums[n - 1] + total
    return values


@compiled
def leave_one_state(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Stationary vector of a stochastic matrix by state reduction without subtraction. [Grassmann, Taksar, Heyman 1985]

    The matrix is overwritten.
    """
    size = matrix.shape[0]
    for n in range(size - 1, 0, -1):
        out = 0.0
        for j in range(n):
            out += matrix[n, j]
        for i in range(n):
            matrix[i, n] /= out
            factor = matrix[i, n]
            if factor != 0.0:
                for j in range(n):
                    matrix[i, j] += factor * matrix[n, j]
    vector = np.zeros(size)
    vector[0] = 1.0
    total = 1.0
    for n in range(1, size):
        value = 0.0
        for i in range(n):
            value += vector[i] * matrix[i, n]
        vector[n] = value
        total += value
    return vector / total
