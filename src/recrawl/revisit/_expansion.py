"""Compiled loops that find the price for millions of pages in two passes and a half.

Newton's iteration on the whole demand converges slowly at the end: a page at the edge of being worthless has an
infinite slope there. But away from that edge a page's demand is smooth in δ = ln(price), so one pass sums the Taylor
series of all smooth pages and sets the others aside (*near* pages: at the edge, or about to reach a bound). What is
left is a small problem: a parabola in δ plus a few exact pages.

The pass leaves in `out`, for each page: z > 0 for a smooth page, −x <= 0 for a page whose demand x is constant here,
NaN for a near page. So the last pass needs no exponential for the smooth pages.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled, compiled_inline
from recrawl.revisit._kernels import bounded_demand, solve_gap

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["expand", "finish"]


@compiled
def _slopes(a: float, z: float) -> tuple[float, float]:
    """dz/dln a = F/F' and d²z/d(ln a)², where F(z) = 1 − (1+z)e^{−z} = a and F''/F' = (1−z)/z."""
    first = a * (1.0 + z) / (z * (1.0 - a))
    return first, first * (1.0 - first * (1.0 - z) / z)


@compiled_inline
def _place(
    i: int,
    a: float,
    price: float,
    margin: float,
    steps: int,
    exponent: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    reserve: NDArray[np.float64],
) -> tuple[float, float, bool]:
    """Demand x of a page, its z (0 where the demand is constant), and whether the page is near."""
    x, z = 0.0, 0.0
    near_by = reserve.size > 0 and reserve[i] > price / (1.0 + margin)
    if exponent[i] > 0.0 and not near_by and a < 1.0 + margin:
        near_by = a > 1.0 - margin
        if not near_by:
            z = solve_gap(a, steps)
            x = exponent[i] / z
    if low.size > 0 and x < low[i] * (1.0 + 2.0 * margin) and not near_by:
        near_by = z > 0.0 and x > low[i] * (1.0 - 2.0 * margin)
        x, z = low[i], 0.0
    if high.size > 0 and x > high[i] * (1.0 - 2.0 * margin) and not near_by:
        near_by = z > 0.0 and x < high[i] * (1.0 + 2.0 * margin)
        x, z = high[i], 0.0
    return x, z, near_by


@compiled
def expand(
    price: float,
    margin: float,
    steps: int,
    exponent: NDArray[np.float64],
    base: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    reserve: NDArray[np.float64],
    held: NDArray[np.float64],
    out: NDArray[np.float64],
    near: NDArray[np.int64],
) -> tuple[float, float, float, int]:
    """Demand of all pages but the near ones and its two derivatives in ln p; the number of near pages.

    A page is near when 1 − a, or its distance from a bound, could be used up by a move of the price by `margin`
    (relative). The number is −1 when they do not fit into `near`.
    """
    total, slope, curve = 0.0, 0.0, 0.0
    count = 0
    start = 0
    while start < exponent.size:
        end = min(exponent.size, start + 4096)
        block, block_slope, block_curve = 0.0, 0.0, 0.0
        for i in range(start, end):
            if reserve.size > 0 and reserve[i] > price * (1.0 + margin):
                block += held[i]
                out[i] = -held[i]
                continue
            a = price * base[i]
            x, z, near_by = _place(i, a, price, margin, steps, exponent, low, high, reserve)
            if near_by:
                if count == near.size:
                    return 0.0, 0.0, 0.0, -1
                near[count] = i
                count += 1
                out[i] = math.nan
                continue
            block += x
            out[i] = -x
            if z > 0.0:
                first, second = _slopes(a, z)
                block_slope -= x * first / z
                block_curve += x * (2.0 * first * first / z - second) / z
                out[i] = z
        total += block
        slope += block_slope
        curve += block_curve
        start = end
    return total, slope, curve, count


@compiled
def finish(
    price: float,
    shift: float,
    exponent: NDArray[np.float64],
    base: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    reserve: NDArray[np.float64],
    held: NDArray[np.float64],
    out: NDArray[np.float64],
) -> float:
    """Turn what `expand` left at `price` into frequencies at price·e^shift; return their sum."""
    moved = price * math.exp(shift)
    total = 0.0
    start = 0
    while start < exponent.size:
        end = min(exponent.size, start + 4096)
        block = 0.0
        for i in range(start, end):
            z = out[i]
            if z > 0.0:
                first, second = _slopes(price * base[i], z)
                x = exponent[i] / (z + shift * (first + 0.5 * shift * second))
            elif z <= 0.0:
                x = -z
            else:
                x = bounded_demand(i, moved, exponent, base, low, high, reserve, held, False)
            out[i] = x
            block += x
        total += block
        start = end
    return total
