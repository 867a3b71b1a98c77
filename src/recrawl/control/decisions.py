"""Average-cost Markov decision processes on the chain of a crawl queue.

In every state the controller picks one of the modes; a mode fixes the rates (rows of the generator) and the
rewards. Policy iteration finds the cheapest stationary policy for a cost that is a rate; any vector h proves
a lower bound, min over states and modes of c + Q h. [Howard 1960; Puterman 1994, Section 8]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from recrawl.errors import NotConverged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.control.chain import Chain

__all__ = ["Decided", "Decisions"]

_DENSE_STATES = 350


@dataclass(frozen=True)
class Decided:
    """A stationary policy (one mode for each state), its cost, and a cost that no policy can undercut."""

    modes: NDArray[np.int64]
    cost: float
    bound: float


class Decisions:
    """The rates of every state in every mode."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.size, self.count = chain.states, len(chain.model.modes)
        matrices = [chain.generator([mode] * (chain.top + 1)) for mode in range(self.count)]
        self.dense = self.size <= _DENSE_STATES
        self.rates: list[Any] = [q.toarray() if self.dense else q for q in matrices]
        self.stacked: Any = np.array(self.rates) if self.dense else sparse.csr_array(sparse.vstack(matrices))

    def generator(self, modes: NDArray[np.int64]) -> Any:
        """Rows of the chosen modes."""
        states = np.arange(self.size)
        return self.stacked[modes, states] if self.dense else self.stacked[modes * self.size + states]

    def stationary(self, modes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Stationary vector of a policy that sees the whole state."""
        Q = self.generator(modes)
        right = np.zeros(self.size)
        right[0] = 1.0
        if self.dense:
            matrix = Q.T.copy()
            matrix[0] = 1.0
            return np.asarray(np.linalg.solve(matrix, right))
        from scipy.sparse.linalg import splu

        rest = splu(sparse.csc_array(Q[1:, 1:].T)).solve(-Q[[0], 1:].toarray().ravel())
        share = np.append(1.0, rest)
        return np.asarray(share / share.sum())

    def _values(
        self, modes: NDArray[np.int64], costs: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Gain g and relative values h of a policy: c − g + Q h = 0, h(0) = 0."""
        Q = self.generator(modes)
        if self.dense:
            matrix = Q.copy()
            matrix[:, 0] = -1.0
            solution = np.linalg.solve(matrix, -costs)
        else:
            from scipy.sparse.linalg import splu

            ones = sparse.csc_array(-np.ones((self.size, 1)))
            solution = splu(sparse.csc_array(sparse.hstack([ones, Q[:, 1:]]))).solve(-costs)
        values = solution.copy()
        values[0] = 0.0
        return float(solution[0]), values

    def cheapest(
        self, costs: NDArray[np.float64], start: NDArray[np.int64] | None = None, max_rounds: int = 200
    ) -> Decided:
        """Policy iteration for costs[mode, state] per unit of time."""
        states = np.arange(self.size)
        modes = np.zeros(self.size, dtype=np.int64) if start is None else start.copy()
        scale = max(1e-300, float(np.abs(costs).max()))
        for _ in range(max_rounds):
            gain, values = self._values(modes, costs[modes, states])
            tests = np.stack([costs[a] + self.rates[a] @ values for a in range(self.count)])
            best = tests.min(axis=0)
            improved = best < tests[modes, states] - 1e-12 * scale
            if not improved.any():
                return Decided(modes, gain, float(best.min()))
            modes = np.where(improved, tests.argmin(axis=0), modes)
        raise NotConverged(f"policy iteration did not settle in {max_rounds} rounds")
