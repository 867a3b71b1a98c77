"""Compiled E-step of Markovian arrival processes, exact and at a cost that does not grow with the gaps.

A gap x is written in base 64 of a small unit: x = r + Σ_l d_l · 64^l · unit, so that e^{Ax} is a product of a
short series (for r) and one tabulated matrix for each digit. What EM needs of a gap, with f the phase vector
before it and v the vector behind it, is M = ∫_0^x e^{A(x−u)} v f e^{Au} du. Cut at the digits it is a sum
over pieces of known length, each with an own rank-one matrix v f; those of equal length are summed over *all*
gaps first and integrated once at the end, by Horner's rule from the longest pieces to the shortest. Nothing
is subtracted.

A is shifted by its slowest decay, so that powers of e^{A·unit} neither vanish nor explode.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl._compiled import compiled, compiled_inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["BASE", "forward", "integrate", "powers", "sweep"]

BITS = 6
BASE = 1 << BITS


@compiled
def powers(first: Floats, levels: int) -> Floats:
    """Table[l, d] = first^(d · 64^l)."""
    order = first.shape[0]
    table = np.empty((levels, BASE, order, order))
    step = first.copy()
    for level in range(levels):
        table[level, 0] = np.eye(order)
        for digit in range(1, BASE):
            table[level, digit] = table[level, digit - 1] @ step
        step = table[level, BASE - 1] @ step
    return table


@compiled_inline
def _row_by_series(f: Floats, A: Floats, r: float, out: Floats, held: Floats) -> None:
    """out = f (I + Ar + (Ar)²/2 + (Ar)³/6), by Horner's rule; |Ar| is at most a thousandth."""
    order = f.size
    for i in range(order):
        out[i] = f[i]
    for n in (3.0, 2.0, 1.0):
        for j in range(order):
            total = 0.0
            for i in range(order):
                total += out[i] * A[i, j]
            held[j] = f[j] + total * r / n
        for j in range(order):
            out[j] = held[j]


@compiled_inline
def _column_by_series(v: Floats, A: Floats, r: float, out: Floats, held: Floats) -> None:
    order = v.size
    for i in range(order):
        out[i] = v[i]
    for n in (3.0, 2.0, 1.0):
        for i in range(order):
            total = 0.0
            for j in range(order):
                total += A[i, j] * out[j]
            held[i] = v[i] + total * r / n
        for i in range(order):
            out[i] = held[i]


@compiled_inline
def _across(
    f: Floats,
    gap: float,
    A: Floats,
    unit: float,
    table: Floats,
    rows: Floats,
    digits: NDArray[np.int64],
    held: Floats,
) -> int:
    """The phase vector through one gap: rows[0] = f, rows[1] after the remainder, then one per digit."""
    order = f.size
    whole = int(gap / unit)
    remainder = max(gap - whole * unit, 0.0)
    for i in range(order):
        rows[0, i] = f[i]
    _row_by_series(f, A, remainder, rows[1], held)
    count = 0
    level = 0
    while whole > 0:
        digit = whole & (BASE - 1)
        if digit > 0:
            for j in range(order):
                total = 0.0
                for i in range(order):
                    total += rows[count + 1, i] * table[level, digit, i, j]
                rows[count + 2, j] = total
            digits[count] = level * BASE + digit
            count += 1
        whole >>= BITS
        level += 1
    return count


@compiled
def forward(
    gaps: Floats,
    marks: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    begin: int,
    end: int,
    vector: Floats,
    start: Floats,
    A: Floats,
    D: Floats,
    unit: float,
    table: Floats,
    kept: Floats,
) -> float:
    """Carry the phase vector over gaps begin..end−1 (in place); kept[k] is the vector before gap begin + k.

    Returns the sum of the logarithms of what the vector lost: the log-likelihood without the shift.
    """
    order = start.size
    rows = np.empty((table.shape[0] + 2, order))
    digits = np.empty(table.shape[0], dtype=np.int64)
    held = np.empty(order)
    loglik = 0.0
    for k in range(begin, end):
        if fresh[k]:
            for i in range(order):
                vector[i] = start[i]
        if kept.shape[0] > 0:
            for i in range(order):
                kept[k - begin, i] = vector[i]
        count = _across(vector, gaps[k], A, unit, table, rows, digits, held)
        total = 0.0
        for j in range(order):
            value = 0.0
            for i in range(order):
                value += rows[count + 1, i] * D[marks[k], i, j]
            vector[j] = value
            total += value
        if not total > 0.0:
            return -math.inf
        loglik += math.log(total)
        for j in range(order):
            vector[j] /= total
    return loglik


@compiled
def sweep(
    gaps: Floats,
    marks: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    begin: int,
    end: int,
    kept: Floats,
    behind: Floats,
    A: Floats,
    D: Floats,
    unit: float,
    table: Floats,
    pieces: Floats,
    rests: Floats,
    jumps: Floats,
    starts: Floats,
) -> None:
    """Go backwards over gaps begin..end−1 and add up what EM needs; `behind` is changed in place.

    `behind` is the vector behind gap end − 1 (ones where a sequence ends there). Adds to pieces[l, d] the
    rank-one matrices of the pieces of length d·64^l, to rests those of the remainders, to jumps[m] the
    expected phase changes at events of mark m (still to be multiplied by D[m]), to starts the phases of first
    gaps.
    """
    order = behind.size
    rows = np.empty((table.shape[0] + 2, order))
    digits = np.empty(table.shape[0], dtype=np.int64)
    v = np.empty(order)
    held = np.empty(order)
    front = np.empty(order)
    for k in range(end - 1, begin - 1, -1):
        count = _across(kept[k - begin], gaps[k], A, unit, table, rows, digits, held)
        mark = marks[k]
        whole = 0.0
        for i in range(order):
            total = 0.0
            for j in range(order):
                total += D[mark, i, j] * behind[j]
            v[i] = total
            whole += rows[count + 1, i] * total
        scale = 1.0 / whole
        for i in range(order):
            for j in range(order):
                jumps[mark, i, j] += rows[count + 1, i] * behind[j] * scale
        for place in range(count - 1, -1, -1):
            level = digits[place] >> BITS
            digit = digits[place] & (BASE - 1)
            for i in range(order):
                weight = v[i] * scale
                total = 0.0
                for j in range(order):
                    pieces[level, digit, i, j] += weight * rows[place + 1, j]
                    total += table[level, digit, i, j] * v[j]
                held[i] = total
            for i in range(order):
                v[i] = held[i]
        remainder = max(gaps[k] - int(gaps[k] / unit) * unit, 0.0)
        for i in range(order):
            for j in range(order):
                piece = v[i] * rows[0, j] * scale * remainder
                rests[0, i, j] += piece
                rests[1, i, j] += 0.5 * remainder * piece
        _column_by_series(v, A, remainder, front, held)
        total = 0.0
        for i in range(order):
            total += front[i]
        if fresh[k]:
            for i in range(order):
                starts[i] += kept[k - begin, i] * front[i] * scale
                behind[i] = 1.0
        else:
            for i in range(order):
                behind[i] = front[i] / total


@compiled
def integrate(pieces: Floats, rests: Floats, A: Floats, unit: float, table: Floats) -> Floats:
    """Σ over all pieces of ∫_0^len e^{A(len−u)} S e^{Au} du, where S are the summed matrices of that length.

    With T the matrix of one unit of a level, C_d(S) = Σ_{a+b=d−1} T^a S T^b turns d units into one; summed
    over d, H_a = S_{a+1} + H_{a+1} T and W = H_0 + T(H_1 + T(H_2 + …)). A unit of a level is 64 of the level
    below.
    """
    order = A.shape[0]
    carried = np.zeros((order, order))
    for level in range(pieces.shape[0] - 1, -1, -1):
        T = np.ascontiguousarray(table[level, 1])
        sums = np.zeros((BASE, order, order))
        H = carried  # 64 units of this level, from the level above
        for a in range(BASE - 1, -1, -1):
            if a < BASE - 1:
                H = pieces[level, a + 1] + H @ T
            sums[a] = H
        W = np.zeros((order, order))
        for a in range(BASE - 1, -1, -1):
            W = sums[a] + T @ W
        carried = W
    half = 0.5 * unit * unit
    third = unit * unit * unit / 6.0
    left = A @ carried
    right = carried @ A
    inside = unit * carried + half * (left + right) + third * (A @ left + left @ A + right @ A)
    whole: Floats = inside + rests[0] + A @ rests[1] + rests[1] @ A
    return whole
