"""The stationary vector by the method that suits the size of the chain, with its residual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from recrawl.control import solve_direct, solve_recursion
from recrawl.control.solve_structured import solve_structured, structured_residual
from recrawl.errors import InvalidModel, NotConverged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.control.chain import Chain

__all__ = ["Method", "Stationary", "solve"]

Method = Literal["auto", "elimination", "dense", "sparse", "recursion", "qbd", "structured"]

_BAND_CELLS = 1 << 24  # 128 MB of bands
_ORDERED_DIRECT = 300  # ordered chains up to this size are solved directly
_SPARSE_STATES = 20_000  # beyond, the factors of an ordered chain would fill the memory
_WANTED_RESIDUAL = 1e-10


@dataclass(frozen=True)
class Stationary:
    """Stationary probabilities of the states of a chain.

    `residual` is ‖pQ‖₁ relative to the rate of events Σ p_s |q_ss|.
    """

    share: NDArray[np.float64]
    residual: float
    method: str
    sweeps: int = 0


def _choice(chain: Chain) -> Method:
    if chain.ordered and chain.states > _ORDERED_DIRECT:
        return "structured"
    return "elimination" if solve_direct.band_cells(chain, 1) <= _BAND_CELLS else "sparse"


def _residual(chain: Chain, assignment: Sequence[int], share: NDArray[np.float64]) -> float:
    if chain.ordered and chain.states > _ORDERED_DIRECT:
        return structured_residual(chain, assignment, share)
    Q = chain.generator(assignment)
    return float(np.abs(Q.T @ share).sum() / (share @ -Q.diagonal()))


def solve(chain: Chain, assignment: Sequence[int], method: Method = "auto") -> Stationary:
    """Solve pQ = 0, Σ p = 1 under a policy given as one mode for each level.

    Raises `NotConverged` when the residual stays above 1e-10.
    """
    if method not in get_args(Method):
        raise InvalidModel(f"method must be one of {', '.join(get_args(Method))}, not {method!r}")
    chosen = _choice(chain) if method == "auto" else method
    sweeps = 0
    if chosen == "structured":
        try:
            share, residual, sweeps = solve_structured(chain, assignment)
        except NotConverged:
            if method != "auto" or chain.states > _SPARSE_STATES:
                raise
            chosen = "sparse"
    if chosen != "structured":
        solver = {
            "elimination": solve_direct.solve_elimination,
            "dense": solve_direct.solve_dense,
            "sparse": solve_direct.solve_sparse,
            "recursion": solve_recursion.solve_recursion,
            "qbd": solve_recursion.solve_qbd,
        }[chosen]
        share = solver(chain, assignment)
        residual = _residual(chain, assignment, share)
    if not residual <= _WANTED_RESIDUAL:
        raise NotConverged(f"the residual of the stationary vector is {residual:.2g} ({chosen}), above 1e-10")
    return Stationary(share, residual, chosen, sweeps)
