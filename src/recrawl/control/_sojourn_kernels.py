"""Compiled loops of the sojourn times: columns over (phases ahead, own phase, service phase)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recrawl._compiled import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["leave_ahead", "solve_columns"]


@compiled
def leave_ahead(
    previous: Any,
    ahead: int,
    ends: NDArray[np.float64],
    beta: NDArray[np.float64],
    ones: Any,
    expiries: Any,
    out: Any,
) -> None:
    """Add B̂ v_{a−1} to `out`: the page in service ends and the first one follows, or one ahead expires.

    With one page ahead, the tagged page itself follows.
    """
    phases, M = ones.size, beta.size
    rows = previous.shape[0]
    for row in range(rows):
        start = previous[row, 0] * beta[0]
        for m in range(1, M):
            start += previous[row, m] * beta[m]
        for r in range(phases):
            for m in range(M):
                out[r * rows + row, m] += ones[r] * start * ends[m]
    low = phases  # the last digit is the page itself, which is not ahead
    for _ in range(ahead - 1):
        high = rows // low
        for h in range(high):
            for r in range(phases):
                for c in range(low):
                    for m in range(M):
                        out[(h * phases + r) * low + c, m] += expiries[r] * previous[h * low + c, m]
        low *= phases


@compiled
def solve_columns(right: Any, digits: int, T: Any, keys: NDArray[np.int64], inverses: Any, out: Any) -> None:
    """Solve (uI − S ⊕ T ⊕ … ⊕ T) out = right for an upper triangular T, from the last row to the first."""
    phases, M = T.shape[0], right.shape[1]
    for row in range(right.shape[0] - 1, -1, -1):
        place = 1
        for _ in range(digits):
            r = (row // place) % phases
            for s in range(r + 1, phases):
                rate = T[r, s]
                if rate != 0.0:
                    other = row + (s - r) * place
                    for m in range(M):
                        right[row, m] += rate * out[other, m]
            place *= phases
        inverse = inverses[keys[row]]
        for m in range(M):
            value = inverse[m, 0] * right[row, 0]
            for k in range(1, M):
                value += inverse[m, k] * right[row, k]
            out[row, m] = value
