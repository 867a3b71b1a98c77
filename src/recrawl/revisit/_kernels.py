"""Compiled loops of the optimal frequencies.

One page demands, at a price p per access, the frequency x at which one more access is worth p:

    evenly spaced accesses   x = L/z,  1 − (1+z)e^{−z} = a        [Coffman 1999, (8)]
    randomised accesses      x = (1/√a − 1)·(1 − h)/h             [Coffman 1999, (15)]

with a = p·μ/c; nothing when a >= 1. Demand falls with the price, so the price that spends the budget is the
root of a monotone function: a few passes over the pages, each giving the demand and its slope in ln p.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_gaps", "demand_at", "find_price", "gain", "solve_gap", "stale", "write_demand"]


@compiled
def gain(z: float) -> float:
    """1 − (1+z)e^{−z}, without cancellation."""
    if z < 0.35:
        # Σ (−1)^n (n−1)/n! z^n from n = 2; the first term left out is below 1e-17 of the sum.
        inner = 1 / 3991680 - z * (1 / 43545600 - z * (1 / 518918400 - z / 6706022400))
        inner = 1 / 5760 - z * (1 / 45360 - z * (1 / 403200 - z * inner))
        inner = 1 / 8 - z * (1 / 30 - z * (1 / 144 - z * (1 / 840 - z * inner)))
        return z * z * (1 / 2 - z * (1 / 3 - z * inner))
    return -math.expm1(-z) - z * math.exp(-z)


@compiled
def solve_gap(a: float, steps: int) -> float:
    """The z > 0 with 1 − (1+z)e^{−z} = a, for 0 < a < 1: the optimal interval in units of 1/L.

    The start is a polynomial in √(2a), or for a near 1 one in 1/(4 − ln(1−a)), fitted to 2e-4. One Halley step
    brings the relative error below 1e-10, two below 1e-14 (for a near 1, where z itself is ill-determined by
    a: below 1e-14 of what a rounding of a would change).
    """
    if a < 0.72:
        s = math.sqrt(2.0 * a)
        z = 11.744439675448048 + s * (-7.221799447555061 + s * 1.841684668202154)
        z = 0.30037715117561925 + s * (
            -1.108203263427465 + s * (4.716664359579003 + s * (-9.921261070203755 + s * z))
        )
        z = s * (1.0000573043271137 + s * (0.32635483124355763 + s * z))
    else:
        q = -math.log1p(-a)
        w = 1.0 / (q + 4.0)
        z = 54708.446636668334 + w * (-162989.025118916 + w * 199508.9662698139)
        z = (
            q
            + 5.043373369510229
            + w * (-74.43424436835565 + w * (1045.180386707274 + w * (-9869.883696793877 + w * z)))
        )
    for _ in range(steps):
        e = math.exp(-z)
        excess = gain(z) - a if z < 0.35 else 1.0 - a - (1.0 + z) * e
        step = excess / (z * e)
        z -= step / (1.0 - 0.5 * step * (1.0 - z) / z)
    return z


@compiled
def page_demand(
    price: float, exponent: float, base: float, randomised: bool, steps: int
) -> tuple[float, float]:
    """The frequency that one page is worth at this price, and its slope in ln p."""
    a = price * base
    if not (exponent > 0.0 and a < 1.0):
        return 0.0, 0.0
    if randomised:
        root = 1.0 / math.sqrt(a)
        return (root - 1.0) * exponent, -0.5 * root * exponent
    z = solve_gap(a, steps)
    x = exponent / z
    # dz/dln a = a/(z e^{−z}), and e^{−z} = (1−a)/(1+z) at the solution.
    return x, -x * a * (1.0 + z) / (z * z * (1.0 - a))


@compiled
def demand_at(
    price: float,
    exponent: NDArray[np.float64],
    base: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    reserve: NDArray[np.float64],
    held: NDArray[np.float64],
    randomised: bool,
    stride: int,
    steps: int,
) -> tuple[float, float]:
    """Total demand at a price and its slope in ln p, over every `stride`-th page.

    Empty `low`, `high`, `reserve`: no floors, no caps, no sites with a price of their own. A page whose `reserve` (its
    site's own price) is above `price` is `held` at its demand there. Sums are taken
    in blocks, so that their rounding stays near 1e-15 for any number of pages.
    """
    total = 0.0
    slope = 0.0
    start = 0
    while start < exponent.size:
        end = min(exponent.size, start + 4096 * stride)
        block = 0.0
        block_slope = 0.0
        for i in range(start, end, stride):
            if reserve.size > 0 and reserve[i] > price:
                block += held[i]
                continue
            x, dx = page_demand(price, exponent[i], base[i], randomised, steps)
            if low.size > 0 and x <= low[i]:
                x = low[i]
                dx = 0.0
            if high.size > 0 and x >= high[i]:
                x = high[i]
                dx = 0.0
            block += x
            block_slope += dx
        total += block
        slope += block_slope
        start = end
    return total, slope


@compiled
def write_demand(
    price: float,
    exponent: NDArray[np.float64],
    base: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    reserve: NDArray[np.float64],
    held: NDArray[np.float64],
    randomised: bool,
    out: NDArray[np.float64],
) -> float:
    """Write every page's demand at a price into `out`; return the total."""
    total = 0.0
    start = 0
    while start < exponent.size:
        end = min(exponent.size, start + 4096)
        block = 0.0
        for i in range(start, end):
            x, _ = page_demand(price, exponent[i], base[i], randomised, 2)
            if low.size > 0:
                x = max(x, low[i])
            if high.size > 0:
                x = min(x, high[i])
            if reserve.size > 0 and reserve[i] > price:
                x = held[i]
            out[i] = x
            block += x
        total += block
        start = end
    return total


@compiled
def find_price(
    target: float,
    guess: float,
    tolerance: float,
    exponent: NDArray[np.float64],
    base: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    reserve: NDArray[np.float64],
    held: NDArray[np.float64],
    randomised: bool,
    stride: int,
    series: tuple[float, float, float, float],
) -> tuple[float, float, int]:
    """Two prices whose demands enclose `target`, and the number of passes.

    `series` adds a parabola in ln p to the demand: its origin ln p0, value, slope and curvature there.

    They are equal when the demand meets the target to `tolerance`; otherwise they are neighbours in floating
    point (a page at the edge of being worthless jumps between them), or the demand is flat there. Steps are
    Newton steps in ln p against ln demand, kept inside the bracket; a step that would leave it, and every
    fourth step of a long search, halves it.
    """
    below = -math.inf  # ln of a price that is too low: demand above the target
    above = math.inf
    t = math.log(guess)
    last_t = math.nan
    last_gap = math.nan
    reach = 0.5
    steps = 1
    for passes in range(1, 400):
        total, slope = demand_at(
            math.exp(t), exponent, base, low, high, reserve, held, randomised, stride, steps
        )
        shift = t - series[0]
        total += series[1] + shift * (series[2] + 0.5 * shift * series[3])
        slope += series[2] + shift * series[3]
        if steps == 2 and abs(total - target) <= tolerance * target:
            return math.exp(t), math.exp(t), passes
        if total > target:
            below = t
        else:
            above = t
        if above - below <= 4e-16 * max(1.0, abs(t)):
            break
        gap = math.log(total / target) if total > 0.0 else -math.inf
        steps = 2 if abs(gap) < 1e-4 else 1
        # The slope through the last two passes once they are near, the analytic one before.
        lean = slope / total if total > 0.0 else 0.0
        if abs(t - last_t) < 0.02 and gap != last_gap and math.isfinite(gap):
            lean = (gap - last_gap) / (t - last_t)
        new = t - gap / lean if lean < 0.0 and math.isfinite(gap) else math.nan
        if math.isinf(below) or math.isinf(above):
            # One side is still unknown: towards it, and further each time.
            reach *= 2.0
            limit = t + reach if total > target else t - reach
            if not min(t, limit) < new < max(t, limit):
                new = limit
        elif not below < new < above or (passes > 8 and passes % 4 == 0):
            new = 0.5 * (below + above)
        last_t = t
        last_gap = gap
        t = new
    return math.exp(below), math.exp(above), passes


@compiled
def stale(y: float) -> float:
    """e^{−y} − 1 + y without cancellation: the mean stale time of a gap, in units of 1/μ."""
    if y < 0.25:
        inner = 1 / 5040 - y * (1 / 40320 - y * (1 / 362880 - y / 3628800))
        return y * y * (1 / 2 - y * (1 / 6 - y * (1 / 24 - y * (1 / 120 - y * (1 / 720 - y * inner)))))
    return math.expm1(-y) + y


@compiled
def add_gaps(
    chunk: NDArray[np.int64],
    start: int,
    exponent: NDArray[np.float64],
    last: NDArray[np.int64],
    remainder: NDArray[np.float64],
    span: NDArray[np.float64],
    gaps: NDArray[np.int64],
) -> None:
    """Add the gaps that end in this chunk of a sequence, whose first slot has the number `start`."""
    for k in range(chunk.size):
        page = chunk[k]
        if page >= 0:
            if last[page] >= 0:
                gap = start + k - last[page]
                remainder[page] += stale(exponent[page] * gap)
                span[page] += gap
                gaps[page] += 1
            last[page] = start + k
