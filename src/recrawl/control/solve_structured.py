"""Stationary vector of large first-come-first-served chains, without ever forming the generator.

The phases of n waiting pages enter the generator as a Kronecker sum, so a level's own block D₀ ⊕ S ⊕ Γ ⊕ …
⊕ Γ is solved *exactly* in one pass once Γ is upper triangular: unitary coordinates (Schur) make it so for
every page at once, and they are kept during the whole iteration. Acyclic laws (Erlang, Coxian,
hyperexponential) only have their phases renumbered.

Each step is a block Gauss-Seidel sweep over the levels, followed by aggregation: given (i, ν, m), only the
total rate of obsolescence depends on the waiting phases, so the small chain on (i, ν, m) with that
conditional rate is solved directly and each level is rescaled to its masses. Cost of a step: O(K · states)
operations, and memory of about two vectors. [Iterative aggregation: Koury, McAllister, Stewart 1984;
Takahashi 1975]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import InvalidModel, NotConverged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.control.chain import Chain

__all__ = ["Basis", "solve_structured", "structured_residual", "triangular_basis"]


@dataclass(frozen=True)
class Basis:
    """Coordinates in which Γ is upper triangular: Γ = Q T Q^H."""

    Q: Any
    T: Any
    gamma: Any
    ones: Any
    expiries: Any


def _acyclic_order(S: NDArray[np.float64]) -> list[int] | None:
    """An order of phases in which S is upper triangular, if there is one."""
    left, order = list(range(S.shape[0])), []
    while left:
        free = [r for r in left if not any(S[s, r] > 0 for s in left if s != r)]
        if not free:
            return None
        order.append(free[0])
        left.remove(free[0])
    return order


def triangular_basis(chain: Chain) -> Basis:
    """A renumbering of the phases if that suffices, else the real Schur form, else the complex one."""
    from scipy.linalg import schur

    S = np.asarray(chain.Gamma)
    order = _acyclic_order(S)
    if order is not None:
        Q: Any = np.eye(S.shape[0])[:, order]
        T: Any = Q.T @ S @ Q
    else:
        real = not np.iscomplex(np.linalg.eigvals(S)).any()
        T, Q = schur(S, output="real" if real else "complex")
        T = np.triu(T)
    inverse = Q.conj().T
    ones = np.ones(S.shape[0])
    return Basis(
        np.ascontiguousarray(Q),
        np.ascontiguousarray(T),
        np.ascontiguousarray(chain.gamma @ Q),
        np.ascontiguousarray(inverse @ ones),
        np.ascontiguousarray(inverse @ chain.expiries),
    )


class _Sweeper:
    """The state of one iteration."""

    def __init__(self, chain: Chain, assignment: Sequence[int]) -> None:
        self.chain = chain
        self.basis = triangular_basis(chain)
        places = np.asarray(assignment)
        levels = np.arange(chain.top + 1)
        self.ups = np.ascontiguousarray(chain.jumps[places, levels])
        self.dtype = self.basis.T.dtype
        self.x = np.zeros(chain.states, dtype=self.dtype)
        self._number_rows()
        self.idle = -np.linalg.inv(self.ups[0, 0])
        self.inverses = [self._level_inverses(level) for level in range(1, chain.top + 1)]
        self._small_rows()
        self._first_guess()

    def _number_rows(self) -> None:
        """keys[row]: which multiset of digits a row has, the same number at every level."""
        R, most = self.chain.waiting_phases, self.chain.top
        weights = np.array([0] + [most ** (r - 1) for r in range(1, R)], dtype=np.int64)
        keys = np.zeros(1, dtype=np.int64)
        for _ in range(most - 1):
            keys = (keys[:, None] + weights[None, :]).ravel()
        distinct, self.keys = np.unique(keys, return_inverse=True)
        self.keys = self.keys.astype(np.int64)
        counts = np.stack([(distinct // most ** (r - 1)) % most for r in range(1, R)], axis=1)
        self.counts = counts  # of the digits 1, 2, ...; zeros fill up

    def _level_inverses(self, level: int) -> Any:
        """(−A − Σ_j T[r_j, r_j] I)⁻¹ for every multiset of digits of this level."""
        chain, T = self.chain, self.basis.T
        W, M, waiting = chain.arrival_phases, chain.service_phases, level - 1
        A = np.kron(self.ups[level, 0], np.eye(M)) + np.kron(np.eye(W), chain.S)
        zeros = waiting - self.counts.sum(axis=1)
        shifts = np.where(zeros >= 0, zeros * T[0, 0] + self.counts @ np.diag(T)[1:], 0.0)
        return np.linalg.inv(-A[None] - shifts[:, None, None] * np.eye(W * M)[None])

    def _first_guess(self) -> None:
        """Levels as if obsolescence were exponential with the same mean, phases as at arrival."""
        chain, basis = self.chain, self.basis
        rate = 1.0 / float(-chain.gamma @ np.linalg.solve(chain.Gamma, np.ones(chain.waiting_phases)))
        hazards = np.zeros((chain.top + 1, chain.inner))
        for level in range(2, chain.top + 1):
            hazards[level] = (level - 1) * rate
        masses = self._small_chain(hazards)
        row = np.ones(1, dtype=self.dtype)
        self.x[: chain.arrival_phases] = masses[0, : chain.arrival_phases]
        for level in range(1, chain.top + 1):
            self.block(level)[:] = row[:, None] * masses[level][None, :]
            row = np.kron(row, basis.gamma)

    def block(self, level: int) -> Any:
        """One level of x as (rows, W·M)."""
        starts = self.chain.starts
        return self.x[starts[level] : starts[level + 1]].reshape(-1, self.chain.inner)

    def _small_rows(self) -> None:
        """Bands of the chain on (i, ν, m) without obsolescence, and where its rates belong."""
        chain = self.chain
        W, M, b, top = chain.arrival_phases, chain.service_phases, chain.inner, chain.top
        batches = self.ups.shape[1] - 1
        rows = np.zeros((W + b * top, b * (batches + 2)))
        starts = [0, *(W + b * i for i in range(top))]
        self.first = np.zeros(rows.shape[0], dtype=np.int64)
        self.reach = np.zeros(rows.shape[0], dtype=np.int64)
        for level in range(top + 1):
            here = slice(starts[level], starts[level] + (b if level else W))
            origin = starts[max(level - 1, 0)]
            self.first[here], self.reach[here] = origin, starts[max(level - batches, 0)]
            for n in range(min(batches, top - level) + 1):
                right = np.eye(M) if level else (chain.beta[None, :] if n else np.ones((1, 1)))
                part = np.kron(self.ups[level, n], right)
                at = starts[level + n] - origin
                rows[here, at : at + part.shape[1]] += part
            if level:
                at = starts[level] - origin
                rows[here, at : at + b] += np.kron(np.eye(W), chain.S)
                down = chain.ends[:, None] if level == 1 else np.outer(chain.ends, chain.beta)
                down = np.kron(np.eye(W), down)
                rows[here, : down.shape[1]] += down
        self.small = rows

    def _small_chain(self, hazards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Masses by (i, ν, m) when a page of level i becomes obsolete at the rate hazards[i, (ν, m)]."""
        from recrawl.control._kernels import eliminate

        chain = self.chain
        W, b = chain.arrival_phases, chain.inner
        rows = self.small.copy()
        above = np.arange(W + b, rows.shape[0])  # states from level 2 on lose a page to the same (ν, m)
        rows[above, (above - W) % b] += hazards[2:].ravel()
        share = eliminate(rows, self.first, self.reach)
        masses = np.zeros((chain.top + 1, b))
        masses[0, :W] = share[:W]
        masses[1:] = share[W:].reshape(chain.top, b)
        return masses

    def sweep(self) -> None:
        """One Gauss-Seidel pass from the empty system upwards."""
        from recrawl.control import _kernels

        chain, basis = self.chain, self.basis
        W, M = chain.arrival_phases, chain.service_phases
        self.x[:W] = (self.block(1).reshape(W, M) @ chain.ends) @ self.idle
        for level in range(1, chain.top + 1):
            block = self.block(level)
            rhs = np.zeros_like(block)
            _kernels.inflow_from_below(self.x, chain.starts, level, self.ups, chain.beta, basis.gamma, rhs)
            if level < chain.top:
                _kernels.inflow_from_above(
                    self.block(level + 1), level, chain.ends, chain.beta, basis.ones, basis.expiries, rhs
                )
            _kernels.solve_level(rhs, level - 1, basis.T, self.keys, self.inverses[level - 1], block)

    def aggregate(self) -> float:
        """Rescale every level to the masses of the small chain; how much the masses moved, in total."""
        from recrawl.control._kernels import marginals

        chain, basis = self.chain, self.basis
        W = chain.arrival_phases
        found = np.zeros((chain.top + 1, chain.inner))
        hazards = np.zeros_like(found)
        found[0, :W] = self.x[:W].real
        for level in range(1, chain.top + 1):
            mass, expiring = marginals(self.block(level), level - 1, basis.ones, basis.expiries)
            found[level] = mass.real
            hazards[level] = np.maximum(expiring.real, 0.0) / np.maximum(mass.real, 1e-300)
        masses = self._small_chain(hazards)
        factors = masses / np.where(found > 1e-300, found, 1.0)
        self.x[:W] *= factors[0, :W]
        for level in range(1, chain.top + 1):
            self.block(level)[:] *= factors[level]
        return float(np.abs(masses - found / found.sum()).sum())


def solve_structured(
    chain: Chain, assignment: Sequence[int], wanted: float = 1e-11, max_sweeps: int = 400
) -> tuple[NDArray[np.float64], float, int]:
    """Stationary vector, its residual (below `wanted`) and the number of sweeps."""
    if not chain.ordered:
        raise InvalidModel("sweeps are for ordered waiting rooms (fifo, genuine phase-type obsolescence)")
    state = _Sweeper(chain, assignment)
    forth, back = state.basis.Q, state.basis.Q.conj().T
    tolerance, residual, moved = 0.1 * wanted, np.inf, np.inf
    for sweeps in range(1, max_sweeps + 1):
        state.sweep()
        moved = state.aggregate()
        if not moved >= tolerance:
            _change_basis(chain, state.x, back)
            share = np.ascontiguousarray(state.x.real)
            residual = structured_residual(chain, assignment, share)
            if residual <= wanted or tolerance < 1e-15:
                return share, residual, sweeps
            _change_basis(chain, state.x, forth)
            tolerance *= 0.01  # the masses settled before the phases within the levels
    raise NotConverged(
        f"{max_sweeps} sweeps left the masses moving by {moved:.2g} and a residual of {residual:.2g}, "
        f"not {wanted:g}"
    )


def _change_basis(chain: Chain, x: Any, matrix: Any) -> None:
    """Multiply every digit of every level by a matrix, in place."""
    from recrawl.control._kernels import change_basis

    if np.array_equal(matrix, np.eye(matrix.shape[0])):
        return
    matrix = np.ascontiguousarray(matrix)
    for level in range(2, chain.top + 1):
        change_basis(x[chain.starts[level] : chain.starts[level + 1]], level - 1, chain.inner, matrix)


def structured_residual(chain: Chain, assignment: Sequence[int], share: NDArray[np.float64]) -> float:
    """‖pQ‖₁ relative to the total rate of events Σ p_s |q_ss|, level by level."""
    from recrawl.control import _kernels

    W, M = chain.arrival_phases, chain.service_phases
    ups = np.ascontiguousarray(chain.jumps[np.asarray(assignment), np.arange(chain.top + 1)])
    ones, starts = np.ones(chain.waiting_phases), chain.starts
    first = share[: starts[1]] @ ups[0, 0] + share[starts[1] : starts[2]].reshape(W, M) @ chain.ends
    error = float(np.abs(first).sum())
    events = float(-share[: starts[1]] @ np.diag(ups[0, 0]))
    for level in range(1, chain.top + 1):
        block = share[starts[level] : starts[level + 1]].reshape(-1, chain.inner)
        inner = np.kron(ups[level, 0], np.eye(M)) + np.kron(np.eye(W), chain.S)
        out = block @ inner
        _kernels.add_moves(block.ravel(), level - 1, chain.inner, np.asarray(chain.Gamma), out.ravel())
        _kernels.inflow_from_below(share, starts, level, ups, chain.beta, chain.gamma, out)
        if level < chain.top:
            above = share[starts[level + 1] : starts[level + 2]].reshape(-1, chain.inner)
            _kernels.inflow_from_above(above, level, chain.ends, chain.beta, ones, chain.expiries, out)
        error += float(np.abs(out).sum())
        mass, expiring = _kernels.marginals(block, level - 1, ones, -np.diag(chain.Gamma))
        events += float(-mass @ np.diag(inner) + expiring.sum())
    return error / events
