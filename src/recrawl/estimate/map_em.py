"""Markovian arrival processes fitted to gaps by EM.

A MAP of order p moves between phases by the rates D_0 without a delivery and D_1 with one; in a batch MAP a
delivery of k pages moves by D_k. EM (T. Rydén, Commun. Statist. Stochastic Models 12, 1996; L. Breuer, Ann.
Oper. Res. 112, 2002) keeps zeros where they are, so a starting point with a diagonal D_1 fits an MMPP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel, NotConverged

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.estimate.sequences import Gaps

__all__ = ["EMResult", "em", "log_likelihood_of_gaps"]

_SMALL = 1e-3  # the unit of time in units of the fastest phase's mean stay
_BLOCK = 1 << 17  # phase vectors kept at once; longer logs are swept block by block
_LEVELS = 10  # 64^10 units are more than a double can count


@dataclass(frozen=True)
class EMResult:
    """Where EM ended: the matrices, the phases of first gaps, and how it went."""

    D: NDArray[np.float64]
    start: NDArray[np.float64]
    loglik: float
    iterations: int
    converged: bool
    history: tuple[float, ...]


@dataclass(frozen=True)
class _Tables:
    A: NDArray[np.float64]
    shift: float
    unit: float
    table: NDArray[np.float64]


def _tables(D0: NDArray[np.float64], longest: float) -> _Tables:
    from recrawl.estimate._map_kernels import BASE, powers

    # The slowest decay, as a shift: the spectral radius of e^{A·unit} becomes 1.
    shift = float(-np.linalg.eigvals(D0).real.max())
    A = D0 + shift * np.eye(len(D0))
    fastest = float(np.abs(np.diag(D0)).max())
    unit = max(_SMALL / fastest, longest / float(BASE) ** _LEVELS)
    if unit * fastest > 10 * _SMALL:
        raise InvalidModel(
            f"gaps up to {longest:g} with phases as short as {1 / fastest:g} cannot be fitted together"
        )
    levels = max(1, math.ceil(math.log(max(longest / unit, 1.0) + 1.0, BASE)) + 1)
    step = np.eye(len(D0))
    for n in range(8, 0, -1):
        step = np.eye(len(D0)) + A @ step * (unit / n)
    return _Tables(A, shift, unit, powers(step, levels))


def _e_step(
    gaps: Gaps, marks: NDArray[np.int64], D: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Log-likelihood, expected occupation matrix, jumps and phases of first gaps."""
    from recrawl.estimate._map_kernels import forward, integrate, sweep

    order = len(start)
    tables = _tables(D[0], float(gaps.times.max()))
    A, unit, table = tables.A, tables.unit, tables.table
    events = np.ascontiguousarray(D[1:])
    count = len(gaps)
    begins = range(0, count, _BLOCK)
    vector = start.copy()
    corners = []
    loglik = -tables.shift * float(gaps.times.sum())
    kept = np.empty((min(count, _BLOCK), order))
    for begin in begins:
        corners.append(vector.copy())
        end = min(begin + _BLOCK, count)
        loglik += forward(
            gaps.times, marks, gaps.fresh, begin, end, vector, start, A, events, unit, table, kept
        )
    pieces = np.zeros((table.shape[0], table.shape[1], order, order))
    rests = np.zeros((2, order, order))
    jumps = np.zeros_like(events)
    starts = np.zeros(order)
    behind = np.ones(order)
    if math.isfinite(loglik):
        for begin in reversed(begins):
            end = min(begin + _BLOCK, count)
            if len(begins) > 1:
                vector = corners[begin // _BLOCK]
                forward(
                    gaps.times, marks, gaps.fresh, begin, end, vector, start, A, events, unit, table, kept
                )
            sweep(
                gaps.times, marks, gaps.fresh, begin, end, kept, behind, A, events, unit, table,
                pieces, rests, jumps, starts,
            )  # fmt: skip
    stay = integrate(pieces, rests, A, unit, table)
    return loglik, stay, jumps * events, starts


def log_likelihood_of_gaps(
    gaps: Gaps, D: NDArray[np.float64], start: NDArray[np.float64], marks: NDArray[np.int64] | None = None
) -> float:
    """The log-likelihood of the gaps (and, with marks 0, 1, ..., of what ends them) under D."""
    from recrawl.estimate._map_kernels import forward

    D = np.asarray(D, dtype=np.float64)
    marks = np.zeros(len(gaps), dtype=np.int64) if marks is None else marks
    tables = _tables(D[0], float(gaps.times.max()))
    vector = np.array(start, dtype=np.float64)
    nothing = np.empty((0, vector.size))
    gained = forward(
        gaps.times, marks, gaps.fresh, 0, len(gaps), vector, np.array(start, dtype=np.float64),
        tables.A, np.ascontiguousarray(D[1:]), tables.unit, tables.table, nothing,
    )  # fmt: skip
    return float(gained - tables.shift * gaps.times.sum())


def _m_step(
    D: NDArray[np.float64], stay: NDArray[np.float64], jumps: NDArray[np.float64]
) -> NDArray[np.float64]:
    time = np.maximum(np.diag(stay), 1e-300)
    new = np.empty_like(D)
    new[0] = D[0] * stay.T / time[:, None]
    np.fill_diagonal(new[0], 0.0)
    new[0] = np.maximum(new[0], 0.0)
    new[1:] = jumps / time[:, None]
    np.fill_diagonal(new[0], -(new[0].sum(axis=1) + new[1:].sum(axis=(0, 2))))
    return new


def em(
    gaps: Gaps,
    D: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
    marks: NDArray[np.int64] | None = None,
    *,
    iterations: int = 300,
    tolerance: float = 1e-7,
    leaps: bool = True,
    constrain: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
    on_step: Callable[[int], None] | None = None,
) -> EMResult:
    """Climb from D and start until an iteration gains less than `tolerance` per gap.

    `marks[k]` says which of D[1:] ends gap k (0 is D[1]); without marks all are D[1]. `constrain` is applied
    to the matrices after every step. With `leaps`, every two steps are followed by a leap along their bend
    (R. Varadhan and C. Roland, Scand. J. Statist. 35, 2008), kept only if it climbs.
    """
    D = np.array(D, dtype=np.float64)
    order = D.shape[1]
    events = np.zeros(len(gaps), dtype=np.int64) if marks is None else np.asarray(marks, dtype=np.int64)
    here = _Point(D, np.full(order, 1.0 / order) if start is None else np.array(start, dtype=np.float64))
    history: list[float] = []

    def step(point: _Point) -> tuple[float, _Point]:
        loglik, stay, jumps, starts = _e_step(gaps, events, point.D, point.start)
        if not math.isfinite(loglik):
            return loglik, point
        new = _m_step(point.D, stay, jumps)
        if on_step is not None:
            on_step(1)
        return loglik, _Point(new if constrain is None else constrain(new), starts / starts.sum())

    least = tolerance * len(gaps)
    used = 0
    trail = [here]
    while used < iterations:
        loglik, ahead = step(here)
        used += 1
        if not math.isfinite(loglik):
            raise NotConverged(f"the log-likelihood is {loglik} after {used} steps of EM")
        small = bool(history) and loglik - history[-1] < least
        history.append(loglik)
        if small or used == iterations:
            # The log-likelihood belongs to the matrices that are returned.
            return EMResult(here.D, here.start, loglik, used, small, tuple(history))
        trail.append(ahead)
        here = ahead
        if leaps and len(trail) == 3:
            far = _leap(*trail)
            if far is not None and used + 1 < iterations:
                tried, beyond = step(far if constrain is None else _Point(constrain(far.D), far.start))
                used += 1
                if tried >= loglik:
                    history.append(tried)
                    here = beyond
            trail = [here]
    raise InvalidModel(f"iterations must be at least 1, not {iterations}")


@dataclass(frozen=True)
class _Point:
    D: NDArray[np.float64]
    start: NDArray[np.float64]

    def rates(self) -> NDArray[np.float64]:
        """All rates between phases and the starting probabilities, none negative."""
        free = self.D.copy()
        np.fill_diagonal(free[0], 0.0)
        return np.concatenate((free.ravel(), self.start))


def _leap(first: _Point, second: _Point, third: _Point) -> _Point | None:
    """Where the curve through three points leads, or None where it hardly bends."""
    a, b, c = (point.rates() for point in (first, second, third))
    step, bend = b - a, c - 2.0 * b + a
    length, turn = float(np.linalg.norm(step)), float(np.linalg.norm(bend))
    if turn == 0.0 or length <= turn:
        return None
    stride = length / turn
    # A rate may shrink to a tenth, so that none becomes negative or zero.
    values = np.maximum(a + 2.0 * stride * step + stride**2 * bend, 0.1 * c)
    D = values[: first.D.size].reshape(first.D.shape)
    np.fill_diagonal(D[0], -D.sum(axis=(0, 2)))
    start = values[first.D.size :]
    return _Point(D, start / start.sum())
