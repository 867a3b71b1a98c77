"""Direct solutions of pQ = 0: elimination in a band, dense and sparse factorisations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.control.chain import Chain

__all__ = ["Bands", "bands_of", "solve_dense", "solve_elimination", "solve_sparse"]


@dataclass(frozen=True)
class Bands:
    """Rows of the generator for every mode, stored from the level below to the farthest level above."""

    rows: NDArray[np.float64]  # [mode, state, column − first[state]]
    first: NDArray[np.int64]
    reach: NDArray[np.int64]  # lowest state that may lead here
    levels: NDArray[np.int64]


def band_cells(chain: Chain, modes: int) -> int:
    """Numbers that the bands of a chain hold."""
    return modes * chain.states * _width(chain)


def _width(chain: Chain) -> int:
    batch = chain.model.largest_batch
    ends = [chain.starts[min(i + batch, chain.top) + 1] for i in range(chain.top + 1)]
    return int(max(ends[i] - chain.starts[max(i - 1, 0)] for i in range(chain.top + 1)))


def bands_of(chain: Chain, modes: Sequence[int] | None = None) -> Bands:
    """Bands for the given modes (all by default)."""
    places = list(range(len(chain.model.modes))) if modes is None else list(modes)
    batch, starts = chain.model.largest_batch, chain.starts
    rows = np.zeros((len(places), chain.states, _width(chain)))
    first = np.zeros(chain.states, dtype=np.int64)
    reach = np.zeros(chain.states, dtype=np.int64)
    levels = np.zeros(chain.states, dtype=np.int64)
    for level in range(chain.top + 1):
        here = slice(starts[level], starts[level + 1])
        origin = starts[max(level - 1, 0)]
        levels[here], first[here], reach[here] = level, origin, starts[max(level - batch, 0)]
        for place, mode in enumerate(places):
            for target, block in chain.level_blocks(mode, level).items():
                dense = block.toarray() if sparse.issparse(block) else np.asarray(block)
                at = int(starts[target] - origin)
                rows[place, here, at : at + dense.shape[1]] = dense
    return Bands(rows, first, reach, levels)


def solve_elimination(
    chain: Chain, assignment: Sequence[int], bands: Bands | None = None
) -> NDArray[np.float64]:
    """Grassmann-Taksar-Heyman elimination from the fullest level down: entrywise accurate."""
    from recrawl.control._kernels import assemble, eliminate

    if bands is None:
        used = sorted(set(assignment))
        bands = bands_of(chain, used)
        assignment = [used.index(mode) for mode in assignment]
    rows = assemble(bands.rows, np.asarray(assignment, dtype=np.int64), bands.levels)
    return eliminate(rows, bands.first, bands.reach)


def _bordered(Q: Any) -> tuple[Any, NDArray[np.float64]]:
    """Qᵀ with its last equation replaced by Σ p = 1, and the right side."""
    right = np.zeros(Q.shape[0])
    right[-1] = 1.0
    matrix = Q.T.tolil() if sparse.issparse(Q) else Q.T.copy()
    matrix[-1, :] = 1.0
    return matrix, right


def solve_dense(chain: Chain, assignment: Sequence[int]) -> NDArray[np.float64]:
    """LU of the whole generator."""
    matrix, right = _bordered(chain.generator(assignment).toarray())
    return np.asarray(np.linalg.solve(matrix, right))


def solve_sparse(chain: Chain, assignment: Sequence[int]) -> NDArray[np.float64]:
    """Sparse LU of the chain with its first state taken out, one step of refinement."""
    from scipy.sparse.linalg import splu

    Q = chain.generator(assignment)
    inner = sparse.csc_array(Q[1:, 1:].T)
    factors = splu(inner)
    into = -Q[[0], 1:].toarray().ravel()
    share = factors.solve(into)
    share += factors.solve(into - inner @ share)
    share = np.concatenate(([1.0], share))
    return np.asarray(share / share.sum())
