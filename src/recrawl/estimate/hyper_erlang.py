"""Hyper-Erlang laws fitted by EM: mixtures of Erlang laws, for exact, censored and grouped times.

[A. Thümmler, P. Buchholz, M. Telek, IEEE Trans. Dependable Secure Comput. 3, 2006]; censored and grouped
times enter by their conditional means: given branch m (r stages of rate λ) and low < X ≤ high,
E[X] = (r/λ) (F_{r+1}(high) − F_{r+1}(low)) / (F_r(high) − F_r(low)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel, NotConverged
from recrawl.estimate.moment_fits import _erlang_mixture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.estimate.samples import Sample
    from recrawl.laws import PhaseType

__all__ = ["HyperErlang", "hyper_erlang_em", "partitions"]


@dataclass(frozen=True)
class HyperErlang:
    """With probability weights[m], a sum of stages[m] exponential times of rate rates[m]."""

    weights: tuple[float, ...]
    stages: tuple[int, ...]
    rates: tuple[float, ...]
    loglik: float
    iterations: int
    converged: bool

    @property
    def law(self) -> PhaseType:
        """The same as a phase-type law."""
        return _erlang_mixture(list(self.weights), [1.0 / rate for rate in self.rates], list(self.stages))


def partitions(total: int, most: int) -> list[tuple[int, ...]]:
    """Ways to write `total` as a falling sum of at most `most` whole numbers.

    >>> partitions(4, 2)
    [(4,), (3, 1), (2, 2)]
    """

    def below(rest: int, top: int, parts: int) -> list[tuple[int, ...]]:
        if rest == 0:
            return [()]
        if parts == 0:
            return []
        return [
            (part, *more)
            for part in range(min(rest, top), 0, -1)
            for more in below(rest - part, part, parts - 1)
        ]

    return below(total, total, most)


def _branch(sample: Sample, stages: int, rate: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln P(entry | branch) (a density for exact times), and E[X | entry, branch]."""
    from scipy.special import gammainc, gammaincc, gammaln

    low, high, exact = sample.low, sample.high, sample.exact
    x = rate * np.where(exact, low, 1.0)
    log = np.log(rate) + (stages - 1) * np.log(x) - x - gammaln(stages)
    mean = low.copy()
    if exact.all():
        return log, mean

    def between(r: int) -> NDArray[np.float64]:
        a, b = rate * low[~exact], rate * high[~exact]
        # Upper tails are subtracted beyond the middle, lower ones before it: no cancellation to zero.
        upper = gammaincc(r, a) - np.where(np.isinf(b), 0.0, gammaincc(r, np.where(np.isinf(b), 1.0, b)))
        lower = np.where(np.isinf(b), 1.0, gammainc(r, np.where(np.isinf(b), 1.0, b))) - gammainc(r, a)
        return np.asarray(np.maximum(np.where(a > r, upper, lower), 1e-300))

    inside = between(stages)
    log[~exact] = np.log(inside)
    mean[~exact] = np.clip(stages / rate * between(stages + 1) / inside, low[~exact], high[~exact])
    return log, mean


def hyper_erlang_em(
    sample: Sample, stages: Sequence[int], *, iterations: int = 1000, tolerance: float = 1e-8
) -> HyperErlang:
    """Weights and rates of branches with these numbers of stages, from the sample.

    Ends when an iteration gains less than `tolerance` per time.
    """
    shape = tuple(int(r) for r in stages)
    if not shape or min(shape) < 1:
        raise InvalidModel(f"stages must be whole numbers from 1, not {list(stages)}")
    branches = len(shape)
    weights = np.full(branches, 1.0 / branches)
    # Branches start at different speeds around the mean, most stages at the mean itself.
    mean = sample.moment(1)
    spread = max(1.0, np.sqrt(sample.moment(2)) / mean)
    factors = spread ** np.linspace(-1.0, 1.0, branches) if branches > 1 else np.ones(1)
    rates = np.array(shape) / (mean * factors)
    history: list[float] = []
    converged = False
    for _ in range(iterations):
        logs, means = zip(
            *(_branch(sample, r, rate) for r, rate in zip(shape, rates, strict=True)), strict=True
        )
        with np.errstate(divide="ignore"):
            joint = np.stack(logs) + np.log(weights)[:, None]
        top = joint.max(axis=0)
        total = top + np.log(np.exp(joint - top).sum(axis=0))
        history.append(float(sample.weights @ total))
        if not np.isfinite(history[-1]):
            raise NotConverged(f"the log-likelihood is {history[-1]} after {len(history)} steps of EM")
        if len(history) > 1 and history[-1] - history[-2] < tolerance * sample.count:
            converged = True
            break
        shares = np.exp(joint - total) * sample.weights
        mass = shares.sum(axis=1)
        weights = np.maximum(mass / mass.sum(), 1e-300)
        rates = (
            np.array(shape)
            * np.maximum(mass, 1e-300)
            / np.maximum((shares * np.stack(means)).sum(axis=1), 1e-300)
        )
    return HyperErlang(
        tuple(float(w) for w in weights / weights.sum()),
        shape,
        tuple(float(rate) for rate in rates),
        history[-1],
        len(history),
        converged,
    )
