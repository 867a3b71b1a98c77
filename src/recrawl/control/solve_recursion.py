"""The paper's two algorithms, written to be read: block recursion (Section 3) and its QBD form (Section 6).

They work with dense blocks and serve as references for the faster solvers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from recrawl.errors import InvalidModel
from recrawl.laws._chains import stationary_vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.control.chain import Chain

__all__ = ["solve_qbd", "solve_recursion"]

Blocks = dict[tuple[int, int], Any]


def _blocks(chain: Chain, assignment: Sequence[int]) -> Blocks:
    Q: Blocks = {}
    for i in range(chain.top + 1):
        for j, block in chain.level_blocks(assignment[i], i).items():
            Q[i, j] = np.asarray(block.toarray() if sparse.issparse(block) else block)
    return Q


def solve_recursion(chain: Chain, assignment: Sequence[int]) -> NDArray[np.float64]:
    """Section 3: G_i backwards, Q̄ backwards, F_i forwards, then p_0.

    G_i describes the first passage from level i + 1 to level i; Q̄_{i,l} are the rates of the chain censored
    to levels up to l.
    """
    K = chain.top
    Q = _blocks(chain, assignment)
    G: dict[int, Any] = {}
    for i in range(K - 1, -1, -1):
        inside = Q[i + 1, i + 1].copy()
        descent = np.eye(int(chain.sizes[i + 1]))
        for l in range(1, K - i):
            descent = G[i + l] @ descent
            if (i + 1, i + 1 + l) in Q:
                inside += Q[i + 1, i + 1 + l] @ descent
        G[i] = np.linalg.solve(-inside, Q[i + 1, i])
    bar: Blocks = {}
    for l in range(K, -1, -1):
        for i in range(l + 1):
            block = Q.get((i, l), np.zeros((int(chain.sizes[i]), int(chain.sizes[l]))))
            bar[i, l] = block + bar[i, l + 1] @ G[l] if l < K else block
    F: list[Any] = [np.eye(int(chain.sizes[0]))]
    for l in range(1, K + 1):
        into = sum((F[i] @ bar[i, l] for i in range(l)), np.zeros((F[0].shape[0], int(chain.sizes[l]))))
        F.append(np.linalg.solve(-bar[l, l].T, into.T).T)
    return _assembled(stationary_vector(bar[0, 0]), F)


def solve_qbd(chain: Chain, assignment: Sequence[int]) -> NDArray[np.float64]:
    """Section 6: pages come one by one, so levels change by one."""
    if chain.model.largest_batch > 1 and chain.D[:, 2:].any():
        raise InvalidModel(
            "the QBD form needs pages that come one by one; use the block recursion for batches"
        )
    K = chain.top
    Q = _blocks(chain, assignment)
    inverse: dict[int, Any] = {}
    closed = Q[K, K]
    for i in range(K - 1, -1, -1):
        inverse[i + 1] = np.linalg.inv(-closed)
        closed = Q[i, i] + Q[i, i + 1] @ (inverse[i + 1] @ Q[i + 1, i])
    F: list[Any] = [np.eye(int(chain.sizes[0]))]
    for i in range(1, K + 1):
        F.append(F[i - 1] @ Q[i - 1, i] @ inverse[i])
    return _assembled(stationary_vector(closed), F)


def _assembled(first: NDArray[np.float64], F: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """p_i = p_0 F_i, normalised."""
    share = np.concatenate([first @ part for part in F])
    return np.asarray(share / share.sum())
