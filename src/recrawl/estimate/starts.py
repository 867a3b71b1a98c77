"""Starting points of EM for arrival processes: EM climbs to the next hill, so it begins at several feet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["starting_points"]

_WINDOWS = (1, 8, 64)
_FREE_SHARE = 0.1  # of all moves of a phase, those without a delivery


def starting_points(
    gaps: NDArray[np.float64], order: int, family: str, rng: np.random.Generator
) -> list[NDArray[np.float64]]:
    """(D_0, D_1) pairs of the family ("map" or "mmpp") for gaps in their order."""
    mean = float(gaps.mean())
    if order == 1:
        return [np.array([[[-1.0 / mean]], [[1.0 / mean]]])]
    points = [_by_local_rate(gaps, order, window, family) for window in _WINDOWS if window < gaps.size / 4]
    if family == "map":
        points.append(_cycle(mean, order))
    points.append(_random(mean, order, family, rng))
    return points


def _closed(D0: NDArray[np.float64], D1: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the diagonal under D_0 that makes all rows sum to zero."""
    np.fill_diagonal(D0, 0.0)
    np.fill_diagonal(D0, -(D0 + D1).sum(axis=1))
    return np.array([D0, D1])


def _by_local_rate(gaps: NDArray[np.float64], order: int, window: int, family: str) -> NDArray[np.float64]:
    """Phases are levels of the mean gap over a window; rates and moves are counted."""
    local = np.convolve(gaps, np.full(window, 1.0 / window), mode="same") if window > 1 else gaps
    edges = np.quantile(local, np.arange(1, order) / order)
    phase = np.searchsorted(edges, local)
    rates = np.empty(order)
    for k in range(order):
        inside = gaps[phase == k]
        rates[k] = inside.size / inside.sum() if inside.size and inside.sum() > 0 else 1.0 / gaps.mean()
    moves = np.full((order, order), 0.5)
    np.add.at(moves, (phase[:-1], phase[1:]), 1.0)
    moves /= moves.sum(axis=1, keepdims=True)
    # Levels of equal rate would stay equal for ever.
    rates *= 1.0 + 0.05 * np.arange(order)
    if family == "mmpp":
        return _closed(rates[:, None] * moves, np.diag(rates))
    free = _FREE_SHARE * rates[:, None] * (1.0 - np.eye(order)) / (order - 1)
    return _closed(free, (1.0 - _FREE_SHARE) * rates[:, None] * moves)


def _cycle(mean: float, order: int) -> NDArray[np.float64]:
    """Nearly an Erlang law: for gaps more regular than exponential ones."""
    rate = order / mean
    D0 = np.full((order, order), 0.02 * rate)
    D1 = np.full((order, order), 0.02 * rate)
    for k in range(order - 1):
        D0[k, k + 1] = rate * (1.0 + 0.1 * k)
    D1[order - 1, 0] = rate
    return _closed(D0, D1)


def _random(mean: float, order: int, family: str, rng: np.random.Generator) -> NDArray[np.float64]:
    rates = np.exp(rng.normal(0.0, 1.0, order)) / mean
    D0 = rates[:, None] * rng.dirichlet(np.ones(order), order) * 0.5
    D1 = np.diag(rates) if family == "mmpp" else rates[:, None] * rng.dirichlet(np.ones(order), order)
    return _closed(D0, D1)
