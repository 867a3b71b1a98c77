"""The waiting room: what must be remembered of n waiting pages, and how it changes.

`OrderedRoom` keeps the obsolescence phase of every waiting page in the order of service: R^n states, exact
for first-come-first-served. `CountedRoom` keeps how many pages are in each phase: exact for random order
only, since the page taken next is then a uniform choice. With one phase both have one state and the order
does not matter for the queue. [Avrachenkov, Section 3, where the sum Γ₀^{⊕l} has to end
in Γ₀]
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from recrawl.laws.phase_type import PhaseType

if TYPE_CHECKING:
    from numpy.typing import NDArray

Matrix = Any  # a sparse matrix of scipy, which has no types

__all__ = ["CountedRoom", "OrderedRoom", "PlainRoom", "Room", "compositions", "minimal"]


def _exponential_rate(law: PhaseType) -> float | None:
    """The rate, where a phase-type law is exponential in disguise: equal exits, or γ an eigenvector of Γ."""
    rate = float(law.exits[0])
    if np.allclose(law.exits, rate, rtol=1e-12, atol=0.0):
        return rate
    rate = 1.0 / law.mean
    if np.allclose(law.alpha @ law.S, -rate * law.alpha, rtol=0.0, atol=1e-13 * np.abs(law.S).max()):
        return rate
    return None


def minimal(law: PhaseType) -> PhaseType:
    """The same law with fewer phases, where that is exact: unused phases, exponential in disguise.

    >>> minimal(PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.3]])).S.round(12).tolist()
    [[-0.2]]
    """
    used = law.alpha > 0
    while True:
        grown = used | (law.S[used] > 0).any(axis=0)
        if (grown == used).all():
            break
        used = grown
    if not used.all():
        law = PhaseType(law.alpha[used], law.S[np.ix_(used, used)])
    rate = _exponential_rate(law)
    return law if rate is None or law.order == 1 else PhaseType([1.0], [[-rate]])


class Room(Protocol):
    """What the generator asks of a waiting room with n pages (rows: states before, columns: states after)."""

    def size(self, waiting: int) -> int:
        """Number of states."""

    def grow(self, waiting: int, pages: int) -> Matrix:
        """Probabilities: `pages` new ones are let in behind."""

    def pick(self, waiting: int) -> Matrix:
        """Probabilities: the next page is taken for service."""

    def expire(self, waiting: int) -> Matrix:
        """Rates at which a page becomes obsolete and leaves."""

    def move(self, waiting: int) -> Matrix:
        """Rates at which phases move; the diagonal holds minus all rates, obsolescence included."""

    def expire_rates(self, waiting: int) -> NDArray[np.float64]:
        """Total rate of obsolescence in each state."""


class OrderedRoom:
    """Phases of the waiting pages in order; the first page is the most significant digit."""

    def __init__(
        self, alpha: NDArray[np.float64], S: NDArray[np.float64], exits: NDArray[np.float64]
    ) -> None:
        self.alpha, self.S, self.exits = alpha, S, exits
        self.phases = alpha.size

    def size(self, waiting: int) -> int:
        return int(self.phases**waiting)

    def grow(self, waiting: int, pages: int) -> Matrix:
        start: Any = np.ones(1)
        for _ in range(pages):
            start = np.kron(start, self.alpha)
        return sparse.csr_array(sparse.kron(sparse.eye_array(self.size(waiting)), start[None, :]))

    def pick(self, waiting: int) -> Matrix:
        return sparse.csr_array(
            sparse.kron(np.ones((self.phases, 1)), sparse.eye_array(self.size(waiting - 1)))
        )

    def _sum(self, waiting: int, part: NDArray[np.float64]) -> Matrix:
        if waiting == 0:
            return sparse.csr_array((1, 1))
        total = sparse.csr_array((self.size(waiting), self.size(waiting - 1) * part.shape[1]))
        for place in range(waiting):
            left = sparse.eye_array(self.size(place))
            right = sparse.eye_array(self.size(waiting - 1 - place))
            total = total + sparse.kron(sparse.kron(left, part), right)
        return sparse.csr_array(total)

    def expire(self, waiting: int) -> Matrix:
        return self._sum(waiting, self.exits[:, None])

    def move(self, waiting: int) -> Matrix:
        return self._sum(waiting, self.S)

    def expire_rates(self, waiting: int) -> NDArray[np.float64]:
        rates = np.zeros(1)
        for _ in range(waiting):
            rates = (rates[:, None] + self.exits[None, :]).ravel()
        return rates


class PlainRoom:
    """One phase: only the number of waiting pages matters. Plain arrays of one entry."""

    phases = 1

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def size(self, waiting: int) -> int:  # noqa: ARG002 (one state, however many wait)
        return 1

    def grow(self, waiting: int, pages: int) -> Matrix:  # noqa: ARG002
        return np.ones((1, 1))

    def pick(self, waiting: int) -> Matrix:  # noqa: ARG002
        return np.ones((1, 1))

    def expire(self, waiting: int) -> Matrix:
        return np.full((1, 1), waiting * self.rate)

    def move(self, waiting: int) -> Matrix:
        return np.full((1, 1), -waiting * self.rate)

    def expire_rates(self, waiting: int) -> NDArray[np.float64]:
        return np.full(1, waiting * self.rate)


@lru_cache(maxsize=4096)
def compositions(total: int, parts: int) -> tuple[tuple[int, ...], ...]:
    """Ways to spread `total` pages over `parts` phases, in a fixed order."""
    if parts == 1:
        return ((total,),)
    return tuple(
        (first, *rest) for first in range(total, -1, -1) for rest in compositions(total - first, parts - 1)
    )


class CountedRoom:
    """How many waiting pages are in each phase."""

    def __init__(
        self, alpha: NDArray[np.float64], S: NDArray[np.float64], exits: NDArray[np.float64]
    ) -> None:
        self.alpha, self.S, self.exits = alpha, S, exits
        self.phases = alpha.size

    def size(self, waiting: int) -> int:
        return comb(waiting + self.phases - 1, self.phases - 1)

    def _matrix(
        self, rows: int, columns: int, entries: list[tuple[tuple[int, ...], tuple[int, ...], float]]
    ) -> Matrix:
        before = {state: place for place, state in enumerate(compositions(rows, self.phases))}
        after = {state: place for place, state in enumerate(compositions(columns, self.phases))}
        values = [value for _, _, value in entries]
        places = ([before[a] for a, _, _ in entries], [after[b] for _, b, _ in entries])
        return sparse.csr_array(sparse.coo_array((values, places), shape=(len(before), len(after))))

    def grow(self, waiting: int, pages: int) -> Matrix:
        matrix = sparse.csr_array(sparse.eye_array(self.size(waiting)))
        for more in range(pages):
            entries = [
                (state, _changed(state, r, +1), float(self.alpha[r]))
                for state in compositions(waiting + more, self.phases)
                for r in range(self.phases)
            ]
            matrix = matrix @ self._matrix(waiting + more, waiting + more + 1, entries)
        return matrix

    def _leave(self, waiting: int, weights: NDArray[np.float64]) -> Matrix:
        entries = [
            (state, _changed(state, r, -1), state[r] * float(weights[r]))
            for state in compositions(waiting, self.phases)
            for r in range(self.phases)
            if state[r]
        ]
        return self._matrix(waiting, waiting - 1, entries)

    def pick(self, waiting: int) -> Matrix:
        return self._leave(waiting, np.full(self.phases, 1.0 / waiting))

    def expire(self, waiting: int) -> Matrix:
        return self._leave(waiting, self.exits)

    def move(self, waiting: int) -> Matrix:
        entries = [
            (state, _changed(_changed(state, r, -1), s, +1), state[r] * float(self.S[r, s]))
            for state in compositions(waiting, self.phases)
            for r in range(self.phases)
            for s in range(self.phases)
            if state[r]
        ]
        return self._matrix(waiting, waiting, entries)

    def expire_rates(self, waiting: int) -> NDArray[np.float64]:
        return np.array(compositions(waiting, self.phases), dtype=np.float64) @ self.exits


def _changed(state: tuple[int, ...], place: int, by: int) -> tuple[int, ...]:
    return (*state[:place], state[place] + by, *state[place + 1 :])
