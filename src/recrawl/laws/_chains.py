"""Small Markov chains: is every state reachable, and where does the chain spend its time?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["irreducible", "stationary_vector"]


def _reached(moves: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which states can be reached from state 0."""
    seen = np.zeros(moves.shape[0], dtype=bool)
    seen[0] = True
    while True:
        grown = seen | moves[seen].any(axis=0)
        if (grown == seen).all():
            return seen
        seen = grown


def irreducible(generator: NDArray[np.float64]) -> bool:
    """Whether every state leads to every other.

    >>> irreducible(np.array([[-1.0, 1.0], [0.0, 0.0]]))
    False
    """
    moves = generator > 0
    return bool(_reached(moves).all() and _reached(moves.T).all())


def stationary_vector(generator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Stationary probabilities of an irreducible chain, by elimination without subtractions.

    Grassmann, Taksar, Heyman (1985): each state is censored in turn and its rate out is the *sum* of its
    rates to the remaining states, so every probability keeps its relative accuracy.

    >>> stationary_vector(np.array([[-1.0, 1.0], [3.0, -3.0]])).tolist()
    [0.75, 0.25]
    """
    rates = np.array(generator, dtype=np.float64)
    size = rates.shape[0]
    for last in range(size - 1, 0, -1):
        rates[:last, last] /= rates[last, :last].sum()
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    share = np.zeros(size)
    share[0] = 1.0
    for state in range(1, size):
        share[state] = share[:state] @ rates[:state, state]
    return np.asarray(share / share.sum())
