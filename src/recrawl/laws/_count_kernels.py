"""Compiled loops of `laws/counts.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["panjer_counts", "phase_counts"]

# Terms that cannot move the last bit of a sum any more.
_NEGLIGIBLE = 1e-19
# Below this, relative to the largest term, a probability counts as zero (denormal numbers never end a loop).
_VANISHED = 1e-300


@compiled
def _upper_part(
    bases: float, slopes: float, mode: int, last: int, terms: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Terms from the mode upwards, relative to the mode's: sum of all, sum and excess of those above `last`."""
    total, above, excess = 0.0, 0.0, 0.0
    term = 1.0
    j = mode
    while term > _VANISHED:
        total += term
        if j <= last:
            terms[j] = term
        else:
            above += term
            excess += term * (j - last)
        ratio = (bases + slopes * j) / (j + 1.0)
        if j > last and ratio < 1.0:
            # What is left is below a geometric series with this ratio.
            left = term * ratio / (1.0 - ratio)
            if left * (j - last + 1.0 / (1.0 - ratio)) < _NEGLIGIBLE * excess and left < _NEGLIGIBLE * above:
                break
        term *= ratio
        j += 1
    return total, above, excess


@compiled
def _lower_part(
    bases: float, slopes: float, mode: int, last: int, terms: NDArray[np.float64]
) -> tuple[float, float, float]:
    """The same for the terms below the mode."""
    total, above, excess = 0.0, 0.0, 0.0
    term = 1.0
    for j in range(mode - 1, -1, -1):
        term *= (j + 1.0) / (bases + slopes * j)
        if term < _VANISHED:
            break
        total += term
        if j <= last:
            terms[j] = term
        else:
            above += term
            excess += term * (j - last)
    return total, above, excess


@compiled
def panjer_counts(
    bases: NDArray[np.float64],
    slopes: NDArray[np.float64],
    weights: NDArray[np.float64],
    last: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """P(A = m) and P(A > m) for m = 0..last, and E[(A − last)⁺], of a mixture of Panjer's laws.

    In each component P(A = j+1) / P(A = j) = (base + slope·j)/(j+1). The terms are computed outwards from the
    mode and divided by their sum, so nothing is subtracted and no logarithm of a factorial is needed.
    """
    probabilities = np.zeros(last + 1)
    tails = np.zeros(last + 1)
    excess = 0.0
    terms = np.zeros(last + 1)
    for i in range(weights.size):
        base, slope, weight = bases[i], slopes[i], weights[i]
        if weight == 0.0:
            continue
        if slope == 0.0 and base > last + 40.0 + 40.0 * np.sqrt(base):
            # A Poisson count this far above `last` exceeds it with probability one, to the last bit.
            tails += weight
            excess += weight * (base - last)
            continue
        mode = max(0, int((base - 1.0) / (1.0 - slope)) + 1) if base > 1.0 else 0
        terms[:] = 0.0
        total, above, more = _upper_part(base, slope, mode, last, terms)
        total_low, above_low, more_low = _lower_part(base, slope, mode, last, terms)
        scale = weight / (total + total_low)
        excess += scale * (more + more_low)
        tail = above + above_low
        for m in range(last, -1, -1):
            tails[m] += scale * tail
            tail += terms[m]
            probabilities[m] += scale * terms[m]
    return probabilities, tails, excess


@compiled
def phase_counts(
    step: NDArray[np.float64], start: NDArray[np.float64], ends: NDArray[np.float64], last: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """P(A = m) = start stepᵐ ends and P(A > m) = start stepᵐ⁺¹ 1 for m = 0..last, and start stepˡᵃˢᵗ⁺¹."""
    order = start.size
    probabilities = np.zeros(last + 1)
    tails = np.zeros(last + 1)
    now = start.copy()
    after = np.zeros(order)
    for m in range(last + 1):
        tail, probability = 0.0, 0.0
        for j in range(order):
            probability += now[j] * ends[j]
            total = 0.0
            for i in range(order):
                total += now[i] * step[i, j]
            after[j] = total
            tail += total
        probabilities[m] = probability
        tails[m] = tail
        now[:] = after
        if tail == 0.0:
            break
    return probabilities, tails, now
