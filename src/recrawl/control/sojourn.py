"""How long a page stays when pages are served first come, first served. [Avrachenkov, Theorem 4, Corollary 1]

A page that finds a pages ahead of it waits until they are served or obsolete, unless it becomes obsolete
itself. Its fate depends on the phases ahead only, never on later arrivals, so the vectors v_a(u) over
(phases of the waiting pages ahead, own phase, service phase) satisfy a recursion in a:

    (uI − S ⊕ Γ^{⊕a}) v_a = B̂ v_{a−1}   (+ own obsolescence, for pages that will be obsolete)

Here B̂ ends a service (its first row reads S₀β ⊗ 1_R; the paper's B̂₀ has the wrong shape) or lets one of
the pages ahead expire. Moments come from (−A) f_d = d f_{d−1} + B̂ f_d, all terms positive (the paper's
w^{(2)} has a spurious minus and a trailing e of the wrong size). The systems are solved in the triangular
coordinates of `solve_structured`, so the work is O(a M R^a).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recrawl.control.solve_structured import triangular_basis

if TYPE_CHECKING:
    from recrawl.control.chain import Chain

__all__ = ["Fate", "Fates", "page_fates"]

Fate = Literal["served", "obsolete"]


@dataclass(frozen=True)
class Fates:
    """For each level i found on arrival and each place l in the batch: a vector over (room, m).

    `places[i][l − 1]` is Σ over the law of what is ahead of the wanted moment or transform. For level 0 the
    vectors have one entry.
    """

    places: list[list[Any]]

    def cumulated(self, level: int, count: int) -> Any:
        """Sum over the first `count` pages of a batch."""
        return sum(self.places[level][1:count], self.places[level][0])


class _Recursion:
    """v_a for a = 0, 1, ..., with the moments up to `moments`."""

    def __init__(self, chain: Chain, fate: Fate, shift: float | complex, moments: int) -> None:
        self.chain, self.fate, self.shift, self.moments = chain, fate, shift, moments
        self.basis = triangular_basis(chain)
        needs_complex = isinstance(shift, complex) or self.basis.T.dtype.kind == "c"
        self.dtype: Any = np.complex128 if needs_complex else np.float64
        self.T = self.basis.T.astype(self.dtype)
        self.ones = self.basis.ones.astype(self.dtype)
        self.expiries = self.basis.expiries.astype(self.dtype)
        self.gamma = self.basis.gamma.astype(self.dtype)

    def first(self) -> list[Any]:
        """A page that goes straight into service."""
        M = self.chain.service_phases
        system = self.shift * np.eye(M) - self.chain.S
        right = self.chain.ends if self.fate == "served" else np.zeros(M)
        vectors = [np.linalg.solve(system, right).astype(self.dtype)[None, :]]
        for d in range(1, self.moments + 1):
            vectors.append(np.linalg.solve(system, d * vectors[-1][0])[None, :])
        return vectors

    def _inverses(self, ahead: int) -> tuple[Any, Any]:
        """(uI − S − Σ_j T[r_j, r_j])⁻¹ for every multiset of digits, and the multiset of every row."""
        R, M = self.chain.waiting_phases, self.chain.service_phases
        weights = np.array([0] + [(ahead + 1) ** (r - 1) for r in range(1, R)], dtype=np.int64)
        keys = np.zeros(1, dtype=np.int64)
        shifts = np.zeros(1, dtype=self.dtype)
        for _ in range(ahead):
            keys = (keys[:, None] + weights[None, :]).ravel()
            shifts = (shifts[:, None] + np.diag(self.T)[None, :]).ravel()
        _, where, numbers = np.unique(keys, return_index=True, return_inverse=True)
        eye = np.eye(M)
        systems = (self.shift - shifts[where])[:, None, None] * eye - self.chain.S
        return np.linalg.inv(systems), numbers.astype(np.int64)

    def step(self, previous: list[Any], ahead: int) -> list[Any]:
        """v_a from v_{a−1}."""
        from recrawl.control import _sojourn_kernels as kernels

        chain = self.chain
        inverses, keys = self._inverses(ahead)
        rows = chain.waiting_phases**ahead
        vectors: list[Any] = []
        for d in range(self.moments + 1):
            right = np.zeros((rows, chain.service_phases), dtype=self.dtype)
            kernels.leave_ahead(previous[d], ahead, chain.ends, chain.beta, self.ones, self.expiries, right)
            if d:
                right += d * vectors[-1]
            elif self.fate == "obsolete":
                own = np.ones(1, dtype=self.dtype)
                for _ in range(ahead - 1):
                    own = np.kron(own, self.ones)
                right += np.kron(own, self.expiries)[:, None]
            out = np.empty_like(right)
            kernels.solve_columns(right, ahead, self.T, keys, inverses, out)
            vectors.append(out)
        return vectors


def page_fates(chain: Chain, fate: Fate, moments: int = 0, shift: float | complex = 0.0) -> list[Fates]:
    """E[T^d e^{−uT}; fate] for d = 0 ... `moments`, for a page that finds a given state. [(19)-(21), (25)]"""
    recursion = _Recursion(chain, fate, shift, moments)
    batch = chain.model.largest_batch
    results = [Fates([[] for _ in range(chain.top)]) for _ in range(moments + 1)]
    vectors = recursion.first()
    for ahead in range(chain.top):
        if ahead:
            vectors = recursion.step(vectors, ahead)
        for d, vector in enumerate(vectors):
            _file_places(recursion, results[d], vector, ahead, batch)
    return results


def _file_places(recursion: _Recursion, result: Fates, vector: Any, ahead: int, batch: int) -> None:
    """Average over the phases that a batch brings: C_{i,l} v_{i+l−1}, for every i + l − 1 = ahead.

    The page itself and the l − 1 pages of its batch before it start in γ; when the system was empty the first
    page of the batch is in service, in β.
    """
    from recrawl.control._kernels import change_basis

    chain, R = recursion.chain, recursion.chain.waiting_phases
    back = np.ascontiguousarray(recursion.basis.Q.T).astype(recursion.dtype)
    real = not isinstance(recursion.shift, complex)
    contracted = vector
    for place in range(1, min(batch, ahead + 1) + 1):
        level = ahead + 1 - place
        if level == 0:
            part = (contracted @ chain.beta).reshape(1, 1)
        else:
            digits = contracted.reshape(-1, R, chain.service_phases)
            contracted = np.ascontiguousarray(np.tensordot(digits, recursion.gamma, axes=(1, 0)))
            part = contracted.copy()
            change_basis(part.reshape(-1), level - 1, chain.service_phases, back)
        result.places[level].append(part.real if real else part)
