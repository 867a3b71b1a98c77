"""Arrival processes: Markovian arrivals of single pages (MAP) and of batches (BMAP).

A chain of phases moves at the rates D₀ without bringing a page, and at the rates D_k bringing k pages at
once; D(1) = D₀ + D₁ + … is the generator of the phases. [Avrachenkov, (1)]

The paper gives four readings of "l robots are active"; `superposed`, `thinned` and `marked` make the arrivals
of every number of robots from their parts, the fourth (a process of its own for each number) needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws._chains import irreducible, stationary_vector
from recrawl.laws.law import positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Bmap", "marked", "repaired", "superposed", "thinned"]

_SUM_TOLERANCE = 1e-9  # of a row, relative to its rate


class Bmap:
    """Batch Markovian arrivals: `D[0]` moves the phase, `D[k]` moves it and brings k pages.

    >>> arrivals = Bmap([[[-10, 2], [0, -0.5]], [[0.05, 3], [0.29, 0.005]], [[0.05, 4.9], [0.2, 0.005]]])
    >>> round(arrivals.rate, 3), round(arrivals.batch_rate, 3), round(arrivals.interval_correlation(1), 3)
    (1.282, 0.854, -0.218)
    """

    def __init__(self, D: ArrayLike | Sequence[Any], name: str = "D") -> None:
        matrices = _checked_shapes(D, name)
        sums = matrices.sum(axis=(0, 2))
        scale = np.abs(np.diag(matrices[0]))
        wrong = np.flatnonzero(np.abs(sums) > _SUM_TOLERANCE * scale)
        if wrong.size:
            rows = ", ".join(f"row {i} sums to {sums[i]:.6g}" for i in wrong)
            raise InvalidModel(
                f"the rows of {name}[0] + {name}[1] + ... must sum to 0, but {rows}; "
                f"if the printed numbers are rounded, repair the diagonal of {name}[0] explicitly"
            )
        if not (matrices[1:] > 0).any():
            raise InvalidModel(f"{name} brings no pages: all of {name}[1], {name}[2], ... are zero")
        if not irreducible(matrices.sum(axis=0)):
            raise InvalidModel(
                f"the phases of {name} are reducible: some phase is never reached from another"
            )
        matrices.flags.writeable = False
        self.D = matrices

    @classmethod
    def poisson(cls, rate: float) -> Bmap:
        """Single pages at a constant rate.

        >>> Bmap.poisson(2.0).interval_variance
        0.25
        """
        rate = positive("rate", rate)
        return cls([[[-rate]], [[rate]]])

    @property
    def order(self) -> int:
        """Number of phases."""
        return int(self.D.shape[1])

    @property
    def largest_batch(self) -> int:
        """Most pages that come at once."""
        return int(self.D.shape[0]) - 1

    @cached_property
    def generator(self) -> NDArray[np.float64]:
        """D(1): how the phase moves."""
        return np.asarray(self.D.sum(axis=0))

    @cached_property
    def phases(self) -> NDArray[np.float64]:
        """θ: stationary probabilities of the phases, θ D(1) = 0."""
        return stationary_vector(self.generator)

    @cached_property
    def page_rates(self) -> NDArray[np.float64]:
        """Pages per unit of time in each phase, Σ k D_k 1."""
        return np.asarray(np.arange(self.D.shape[0]) @ self.D.sum(axis=2))

    @property
    def rate(self) -> float:
        """λ: pages per unit of time."""
        return float(self.phases @ self.page_rates)

    @property
    def batch_rate(self) -> float:
        """λ_g: batches per unit of time, θ (D(1) − D₀) 1."""
        return float(self.phases @ self.D[1:].sum(axis=(0, 2)))

    @property
    def batch_sizes(self) -> NDArray[np.float64]:
        """Probability that a batch has k pages, k = 0, 1, ... (the first entry is 0)."""
        shares = np.asarray(self.D.sum(axis=2) @ self.phases) / self.batch_rate
        shares[0] = 0.0
        return np.asarray(shares)

    @cached_property
    def _times(self) -> NDArray[np.float64]:
        """Mean time to the next batch from each phase, (−D₀)⁻¹ 1."""
        return np.asarray(np.linalg.solve(-self.D[0], np.ones(self.order)))

    @property
    def interval_mean(self) -> float:
        """Mean time between batches."""
        return 1.0 / self.batch_rate

    @property
    def interval_variance(self) -> float:
        """Variance of the time between batches: 2 θ (−D₀)⁻¹ 1 / λ_g − 1 / λ_g²."""
        return float(2.0 * self.phases @ self._times / self.batch_rate - 1.0 / self.batch_rate**2)

    def interval_moment(self, n: int) -> float:
        """n-th moment of the time between batches, n! φ (−D₀)⁻ⁿ 1 with φ the phase just after a batch."""
        after = self.phases @ self.D[1:].sum(axis=0) / self.batch_rate
        vector = np.ones(self.order)
        for k in range(1, n + 1):
            vector = k * np.linalg.solve(-self.D[0], vector)
        return float(after @ vector)

    def interval_correlation(self, lag: int = 1) -> float:
        """Correlation of two times between batches that are `lag` batches apart.

        (λ_g θ [(−D₀)⁻¹ (D(1) − D₀)]^lag (−D₀)⁻¹ 1 − 1) / (λ_g² v); lag 1 is the paper's c_cor.
        """
        if int(lag) != lag or lag < 1:
            raise InvalidModel(f"lag must be a whole number from 1, not {lag}")
        jumps = self.D[1:].sum(axis=0)
        vector = self._times
        for _ in range(int(lag)):
            vector = np.linalg.solve(-self.D[0], jumps @ vector)
        variance = self.interval_variance * self.batch_rate**2
        return float((self.batch_rate * self.phases @ vector - 1.0) / variance)

    def scaled(self, factor: float) -> Bmap:
        """The same process in faster or slower time: r·D. [Avrachenkov, before Table 5]"""
        return Bmap(self.D * positive("factor", factor))

    def sample(self, rng: np.random.Generator, batches: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Times between successive batches, and their sizes, from a stationary start."""
        from recrawl.laws._kernels import sample_batches

        rates = -np.diag(self.D[0])
        cumulated = np.cumsum(_moves(self.D) / rates[:, None], axis=1)
        cumulated[:, -1] = 1.0
        first = int(rng.choice(self.order, p=self.phases))
        intervals, sizes = sample_batches(rates, cumulated, self.order, first, int(batches), rng)
        return intervals, sizes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bmap) and np.array_equal(self.D, other.D)

    def __hash__(self) -> int:
        return hash((self.D.shape, self.D.tobytes()))

    def __repr__(self) -> str:
        return f"Bmap({self.D.tolist()})"

    def __str__(self) -> str:
        return f"arrivals of order {self.order}, rate {self.rate:g}, batches up to {self.largest_batch}"


def _moves(D: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rates from each phase to (batch size, next phase), one row for each phase, no diagonal of D₀."""
    free = D.copy()
    np.fill_diagonal(free[0], 0.0)
    return np.ascontiguousarray(free.transpose(1, 0, 2)).reshape(D.shape[1], -1)


def _checked_shapes(D: ArrayLike | Sequence[Any], name: str) -> NDArray[np.float64]:
    """Square matrices of one size without a negative rate, or an error that names the entry."""
    try:
        if isinstance(D, str) or not isinstance(D, Iterable):
            raise TypeError
        parts = [np.array(part, dtype=np.float64) for part in D]
    except (TypeError, ValueError):
        raise InvalidModel(f"{name} must be a list of matrices of numbers") from None
    if len(parts) < 2:
        raise InvalidModel(f"{name} must hold at least {name}[0] and {name}[1], not {len(parts)} matrices")
    size = parts[0].shape[0] if parts[0].ndim == 2 else 0
    for k, part in enumerate(parts):
        if part.ndim != 2 or part.shape[0] != part.shape[1] or part.size == 0:
            raise InvalidModel(f"{name}[{k}] must be a square matrix, not an array of shape {part.shape}")
        if part.shape[0] != size:
            raise InvalidModel(f"{name}[{k}] has {part.shape[0]} phases, {name}[0] has {size}")
        if not np.isfinite(part).all():
            raise InvalidModel(f"{name}[{k}] must hold finite numbers")
        off = part.copy()
        if k == 0:
            np.fill_diagonal(off, 0.0)
        if (off < 0).any():
            i, j = np.argwhere(off < 0)[0]
            raise InvalidModel(f"{name}[{k}][{i}][{j}] is a rate and must not be negative, not {part[i, j]}")
    if (np.diag(parts[0]) >= 0).any():
        i = int(np.flatnonzero(np.diag(parts[0]) >= 0)[0])
        raise InvalidModel(f"{name}[0][{i}][{i}] must be negative, not {parts[0][i, i]}")
    return np.array(parts)


def repaired(D: ArrayLike | Sequence[Any], name: str = "D") -> tuple[Bmap, NDArray[np.float64]]:
    """Arrivals whose rows sum to zero, by a new diagonal of D₀, and how much each row was off.

    For matrices that were printed with few digits. Nothing is repaired unless this is called.

    >>> arrivals, off = repaired([[[-0.0038, 0], [0, -0.0066]], [[0.0037, 6.58e-5], [1.3e-4, 0.0064]]])
    >>> off.round(8).tolist()
    [-3.42e-05, -7e-05]
    """
    matrices = _checked_shapes(D, name)
    off = matrices.sum(axis=(0, 2))
    matrices[0] -= np.diag(off)
    return Bmap(matrices, name), off


def superposed(robots: Sequence[Bmap]) -> list[Bmap]:
    """Arrivals of the first 1, 2, ... robots when each robot is an independent BMAP. [Section 2, 1]

    The phases of robots that are switched off go on moving: D₀ = D₀⁽¹⁾ ⊕ … ⊕ D₀⁽ˡ⁾ ⊕ D⁽ˡ⁺¹⁾(1) ⊕ … (the paper
    prints ⊗ before the generators of the idle robots, which is no generator).

    >>> [round(arrivals.rate, 6) for arrivals in superposed([Bmap.poisson(1.0), Bmap.poisson(2.0)])]
    [1.0, 3.0]
    """
    if not robots:
        raise InvalidModel("superposed arrivals need at least one robot")
    orders = [robot.order for robot in robots]
    batches = max(robot.largest_batch for robot in robots)
    size = int(np.prod(orders))
    result = []
    for active in range(1, len(robots) + 1):
        D = np.zeros((batches + 1, size, size))
        for place, robot in enumerate(robots):
            before, after = int(np.prod(orders[:place])), int(np.prod(orders[place + 1 :]))
            parts = robot.D if place < active else robot.generator[None]
            for k, part in enumerate(parts):
                D[k] += np.kron(np.kron(np.eye(before), part), np.eye(after))
        result.append(Bmap(D))
    return result


def thinned(arrivals: Bmap, accept: Sequence[float]) -> list[Bmap]:
    """Arrivals when a batch is accepted with probability accept[l]: D₀ q + D(1)(1 − q), D_k q. [Section 2, 2]

    >>> [round(part.rate, 6) for part in thinned(Bmap.poisson(4.0), [0.25, 1.0])]
    [1.0, 4.0]
    """
    previous = 0.0
    result = []
    for place, q in enumerate(accept):
        if not (np.isfinite(q) and previous < q <= 1.0):
            raise InvalidModel(
                f"accept[{place}] must rise from above 0 to at most 1, not {q} after {previous}"
            )
        previous = float(q)
        D = arrivals.D * q
        D[0] = arrivals.D[0] * q + arrivals.generator * (1.0 - q)
        result.append(Bmap(D))
    if not result:
        raise InvalidModel("accept must name at least one probability")
    return result


def marked(D0: ArrayLike, robots: Sequence[Sequence[ArrayLike]]) -> list[Bmap]:
    """Arrivals of the first 1, 2, ... robots of a marked process (BMMAP). [Avrachenkov, Section 2, 3]

    `robots[m][k − 1]` moves the phase while robot m + 1 brings k pages; what a robot that is switched off
    would have brought moves the phase only.

    >>> [round(part.rate, 6) for part in marked([[-3.0]], [[[[1.0]]], [[[2.0]]]])]
    [1.0, 3.0]
    """
    if not robots or not all(len(parts) for parts in robots):
        raise InvalidModel(
            "marked arrivals need at least one robot, and each robot at least its D for batches of 1"
        )
    whole = [_checked_shapes([D0, *parts], f"robot {place + 1}: D") for place, parts in enumerate(robots)]
    result = []
    for active in range(1, len(robots) + 1):
        D = np.zeros((max(len(part) for part in whole), *whole[0][0].shape))
        D[0] = whole[0][0]
        for place, part in enumerate(whole):
            if place < active:
                D[1 : len(part)] += part[1:]
            else:
                D[0] += part[1:].sum(axis=0)
        result.append(Bmap(D))
    return result
