"""Phase-type laws: the time until a finite Markov chain is absorbed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws.law import Law, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PhaseType", "checked_distribution", "checked_subgenerator"]

_SUM_TOLERANCE = 1e-9
_BLOCK_CELLS = 1 << 18


def checked_distribution(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """A probability vector, or an error that names the entry.

    >>> checked_distribution("alpha", [0.4, 0.5])
    Traceback (most recent call last):
    ...
    recrawl.errors.InvalidModel: alpha must sum to 1, not 0.9
    """
    vector = np.array(values, dtype=np.float64)
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidModel(f"{name} must be a list of probabilities, not an array of shape {vector.shape}")
    bad = np.flatnonzero(~(np.isfinite(vector) & (vector >= 0)))
    if bad.size:
        raise InvalidModel(f"{name}[{bad[0]}] must be a probability, not {vector[bad[0]]}")
    total = float(vector.sum())
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise InvalidModel(f"{name} must sum to 1, not {total:g}")
    return vector / total


def checked_subgenerator(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """A matrix of phase rates from which absorption is certain, or an error that names the entry.

    >>> checked_subgenerator("S", [[-1.0, 2.0], [0.0, -1.0]])
    Traceback (most recent call last):
    ...
    recrawl.errors.InvalidModel: row 0 of S sums to 1, above zero
    """
    matrix = np.array(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidModel(f"{name} must be a square matrix, not an array of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise InvalidModel(f"{name} must hold finite numbers")
    off = matrix - np.diag(np.diag(matrix))
    if (off < 0).any():
        i, j = np.argwhere(off < 0)[0]
        raise InvalidModel(
            f"{name}[{i}][{j}] is off the diagonal and must not be negative, not {matrix[i, j]}"
        )
    scale = np.abs(np.diag(matrix))
    sums = matrix.sum(axis=1)
    for i in np.flatnonzero(sums > _SUM_TOLERANCE * np.maximum(scale, 1e-300)):
        raise InvalidModel(f"row {i} of {name} sums to {sums[i]:g}, above zero")
    _check_absorption(name, off, np.where(sums < -_SUM_TOLERANCE * scale, -sums, 0.0))
    return matrix


def _check_absorption(name: str, off: NDArray[np.float64], exits: NDArray[np.float64]) -> None:
    """Every phase must lead to an exit."""
    leads_out = exits > 0
    while True:
        grown = leads_out | (off[:, leads_out] > 0).any(axis=1)
        if (grown == leads_out).all():
            break
        leads_out = grown
    if not leads_out.all():
        raise InvalidModel(f"phase {np.flatnonzero(~leads_out)[0]} of {name} never ends")


class PhaseType(Law):
    """Starts in phase j with probability `alpha[j]`, moves by the rates `S`, ends at the rates −S·1.

    >>> law = PhaseType(alpha=[1.0, 0.0], S=[[-2.0, 2.0], [0.0, -2.0]])   # two stages of mean 1/2
    >>> law.mean, law.scv
    (1.0, 0.5)
    """

    def __init__(self, alpha: ArrayLike, S: ArrayLike) -> None:
        self.S = checked_subgenerator("S", S)
        self.alpha = checked_distribution("alpha", alpha)
        if self.alpha.size != self.S.shape[0]:
            raise InvalidModel(f"alpha has {self.alpha.size} entries, S has {self.S.shape[0]} rows")
        self.exits = np.maximum(-self.S.sum(axis=1), 0.0)
        # Mean time to the end from each phase.
        self._times: NDArray[np.float64] = np.linalg.solve(-self.S, np.ones(self.order)).astype(np.float64)
        self._mean = float(self.alpha @ self._times)
        self.alpha.flags.writeable = self.S.flags.writeable = self.exits.flags.writeable = False

    @property
    def order(self) -> int:
        """Number of phases."""
        return int(self.S.shape[0])

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def second_moment(self) -> float:
        return float(2.0 * self.alpha @ np.linalg.solve(-self.S, self._times))

    def _resolvent(self, s: ArrayLike, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """alpha (sI − S)^{-1} right, for every s."""
        s = np.asarray(s, dtype=np.float64)
        flat = s.ravel()
        result = np.empty_like(flat)
        block = max(1, _BLOCK_CELLS // self.order**2)
        identity = np.eye(self.order)
        for start in range(0, flat.size, block):
            part = flat[start : start + block]
            systems = part[:, None, None] * identity - self.S
            columns = np.broadcast_to(right[:, None], (part.size, self.order, 1))
            result[start : start + block] = np.linalg.solve(systems, columns)[..., 0] @ self.alpha
        return result.reshape(s.shape)

    def transform(self, s: ArrayLike) -> NDArray[np.float64]:
        return self._resolvent(s, self.exits)

    def transform_remainder(self, s: ArrayLike) -> NDArray[np.float64]:
        # s·E[X] − (1 − h(s)) = s² alpha (sI − S)^{-1} (−S)^{-1} 1: nothing is subtracted.
        s = np.asarray(s, dtype=np.float64)
        return np.asarray(s * s * self._resolvent(s, self._times))

    def _at(self, t: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.linalg import expm

        flat = t.ravel()
        return np.array([self.alpha @ expm(self.S * x) @ right for x in flat]).reshape(t.shape)

    def distribution(self, t: ArrayLike) -> NDArray[np.float64]:
        t = np.asarray(t, dtype=np.float64)
        return np.where(t > 0, 1.0 - self._at(np.maximum(t, 0.0), np.ones(self.order)), 0.0)

    def density(self, t: ArrayLike) -> NDArray[np.float64]:
        t = np.asarray(t, dtype=np.float64)
        return np.where(t >= 0, self._at(np.maximum(t, 0.0), self.exits), 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        holding = -1.0 / np.diag(self.S)
        jumps = np.hstack((self.S - np.diag(np.diag(self.S)), self.exits[:, None])) * holding[:, None]
        cumulated = np.cumsum(jumps, axis=1)
        cumulated[:, -1] = 1.0  # rounding must not leave a gap at the top
        times = np.zeros(size)
        alive = np.arange(size)
        phase = rng.choice(self.order, size, p=self.alpha)
        while alive.size:
            times[alive] += rng.standard_exponential(alive.size) * holding[phase]
            phase = (rng.random(alive.size)[:, None] >= cumulated[phase]).sum(axis=1)
            going = phase < self.order
            alive, phase = alive[going], phase[going]
        return times

    def scaled(self, mean: float) -> PhaseType:
        return PhaseType(self.alpha, self.S * (self._mean / positive("mean", mean)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PhaseType)
            and np.array_equal(self.alpha, other.alpha)
            and np.array_equal(self.S, other.S)
        )

    def __hash__(self) -> int:
        return hash((self.alpha.tobytes(), self.S.tobytes()))

    def __repr__(self) -> str:
        return f"PhaseType(alpha={self.alpha.tolist()}, S={self.S.tolist()})"

    def __str__(self) -> str:
        return f"phase-type of order {self.order}, mean {self.mean:g}, scv {self.scv:g}"
