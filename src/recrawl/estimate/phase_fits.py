"""Phase-type laws fitted to times: by moments, by EM of a mixture of Erlang laws, by EM of any phases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.hyper_erlang import HyperErlang, hyper_erlang_em, partitions
from recrawl.estimate.map_em import em, log_likelihood_of_gaps
from recrawl.estimate.moment_fits import from_three_moments, from_two_moments
from recrawl.estimate.sequences import Gaps
from recrawl.laws import PhaseType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.estimate.samples import Sample

__all__ = ["PhaseTypeFit", "fit_phase_type", "phase_type_em", "sample_log_likelihood"]

Method = Literal["hyper-erlang", "acyclic", "phase-type", "moments-2", "moments-3"]
METHODS = ("hyper-erlang", "acyclic", "phase-type", "moments-2", "moments-3")
Criterion = Literal["bic", "aic"]

_MOST_BRANCHES = 3
_CELLS = 200  # of the condensed sample on which shapes are compared


@dataclass(frozen=True)
class PhaseTypeFit:
    """A fitted law, how likely the sample is under it, and its moments beside the sample's."""

    law: PhaseType
    method: str
    loglik: float
    parameters: int
    times: float
    iterations: int
    converged: bool
    empirical_moments: tuple[float, float, float]
    fitted_moments: tuple[float, float, float]
    warnings: tuple[str, ...] = ()
    tried: tuple[tuple[int, float], ...] = ()

    @property
    def aic(self) -> float:
        """2·parameters − 2·loglik."""
        return 2.0 * self.parameters - 2.0 * self.loglik

    @property
    def bic(self) -> float:
        """ln(times)·parameters − 2·loglik."""
        return math.log(self.times) * self.parameters - 2.0 * self.loglik


def moments_of(law: PhaseType) -> tuple[float, float, float]:
    """E[X], E[X²], E[X³] of a phase-type law, n! α (−S)^{−n} 1."""
    vector: NDArray[np.float64] = np.ones(law.order)
    moments = []
    for n in (1, 2, 3):
        vector = np.asarray(n * np.linalg.solve(-law.S, vector), dtype=np.float64)
        moments.append(float(law.alpha @ vector))
    return moments[0], moments[1], moments[2]


def _repeated(sample: Sample) -> tuple[Gaps, NDArray[np.int64]]:
    """Every time a run of its own; mark 1 says that it was censored."""
    if sample.is_grouped:
        raise InvalidModel("grouped times are fitted by the method hyper-erlang only")
    counts = sample.weights.astype(np.int64)
    times = np.repeat(sample.low, counts)
    fresh = np.ones(times.size, dtype=np.bool_)
    marks = np.repeat((~sample.exact).astype(np.int64), counts)
    return Gaps(times, np.ones(times.size, dtype=np.int32), fresh), marks


def _matrices(S: NDArray[np.float64]) -> NDArray[np.float64]:
    """As arrivals that forget their phase at an event: mark 0 ends the time, mark 1 sees it running."""
    order = len(S)
    ends = np.repeat(-S.sum(axis=1)[:, None] / order, order, axis=1)
    return np.array([S, np.maximum(ends, 0.0), np.full((order, order), 1.0 / order)])


def sample_log_likelihood(law: PhaseType, sample: Sample) -> float:
    """ln of the density of exact times and of the survival of censored ones."""
    gaps, marks = _repeated(sample)
    return log_likelihood_of_gaps(gaps, _matrices(law.S), law.alpha, marks)


def phase_type_em(
    sample: Sample, law: PhaseType, *, iterations: int = 500, tolerance: float = 1e-8
) -> tuple[PhaseType, float, int, bool]:
    """Climb from a law: law, log-likelihood, iterations, converged.

    [S. Asmussen, O. Nerman, M. Olsson, Scand. J. Statist. 23, 1996], with the exact integrals of `map_em`.
    """
    gaps, marks = _repeated(sample)

    def constrain(D: NDArray[np.float64]) -> NDArray[np.float64]:
        S = D[0].copy()
        np.fill_diagonal(S, 0.0)
        np.fill_diagonal(S, -(S.sum(axis=1) + D[1].sum(axis=1)))
        return _matrices(S)

    result = em(
        gaps,
        _matrices(law.S),
        law.alpha,
        marks,
        iterations=iterations,
        tolerance=tolerance,
        constrain=constrain,
    )
    return PhaseType(result.start, result.D[0]), result.loglik, result.iterations, result.converged


def fit_phase_type(
    sample: Sample,
    *,
    method: Method = "hyper-erlang",
    orders: Sequence[int] = (1, 2, 3, 4),
    criterion: Criterion = "bic",
    iterations: int = 1000,
    tolerance: float = 1e-8,
    seed: int = 1,
) -> PhaseTypeFit:
    """Fit laws of all `orders` and keep the best by the criterion; moment methods have no order to choose.

    >>> import numpy as np
    >>> from recrawl.estimate import Sample
    >>> fit = fit_phase_type(Sample.of(np.random.default_rng(1).gamma(2.0, 1.0, 4000)), orders=[1, 2])
    >>> fit.law.order
    2
    """
    if method in ("moments-2", "moments-3"):
        return _by_moments(sample, method)
    if method not in METHODS:
        raise InvalidModel(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if not orders or min(orders) < 1:
        raise InvalidModel(f"orders must be whole numbers from 1, not {list(orders)}")
    rng = np.random.default_rng(seed)
    fits = [_fit_order(sample, method, order, iterations, tolerance, rng) for order in sorted(set(orders))]
    scores = [fit.bic if criterion == "bic" else fit.aic for fit in fits]
    best = fits[int(np.argmin(scores))]
    tried = tuple((fit.law.order, score) for fit, score in zip(fits, scores, strict=True))
    return PhaseTypeFit(**{**best.__dict__, "tried": tried})


def _fit_order(
    sample: Sample, method: str, order: int, iterations: int, tolerance: float, rng: np.random.Generator
) -> PhaseTypeFit:
    if method == "acyclic":
        start = _chain(sample, order)
    else:
        shape = _best_shape(sample, order, iterations, tolerance)
        if method == "hyper-erlang":
            parameters = 2 * len(shape.stages) - 1
            return _result(
                sample, shape.law, method, shape.loglik, parameters, shape.iterations, shape.converged
            )
        start = _loosened(shape.law, rng)
    law, loglik, steps, good = phase_type_em(sample, start, iterations=iterations, tolerance=tolerance)
    # A phase-type law of order p is determined by 2p − 1 numbers, however many its matrices hold.
    return _result(sample, law, method, loglik, 2 * order - 1, steps, good)


def _chain(sample: Sample, order: int) -> PhaseType:
    """A start for acyclic laws: a chain of phases, slow to fast, entered anywhere, left at its end.

    Every acyclic law has this form [A. Cumani, Microelectron. Reliab. 22, 1982]; EM keeps it.
    """
    spread = max(2.0, math.sqrt(sample.moment(2)) / sample.moment(1))
    rates = spread ** np.linspace(-1.0, 1.0, order) * (0.5 * (order + 1) / sample.moment(1))
    return PhaseType(np.full(order, 1.0 / order), np.diag(-rates) + np.diag(rates[:-1], 1))


def _best_shape(sample: Sample, order: int, iterations: int, tolerance: float) -> HyperErlang:
    """The likeliest mixture of Erlang laws with `order` phases in all."""
    rough = sample.condensed(_CELLS)
    shapes = partitions(order, _MOST_BRANCHES)
    if len(shapes) > 1:
        trials = [hyper_erlang_em(rough, shape, iterations=60, tolerance=1e-6) for shape in shapes]
        shapes = [max(trials, key=lambda trial: trial.loglik).stages]
    return hyper_erlang_em(sample, shapes[0], iterations=iterations, tolerance=tolerance)


def _loosened(law: PhaseType, rng: np.random.Generator) -> PhaseType:
    """A law nearby in which every phase can lead to every other: EM keeps zeros for ever."""
    order = law.order
    S = law.S.copy()
    speed = np.abs(np.diag(S))
    S += 0.05 * speed[:, None] * rng.uniform(0.5, 1.5, (order, order)) / order
    np.fill_diagonal(S, 0.0)
    exits = law.exits + 0.05 * speed
    np.fill_diagonal(S, -(S.sum(axis=1) + exits))
    alpha = law.alpha + 0.05 / order
    return PhaseType(alpha / alpha.sum(), S)


def _by_moments(sample: Sample, method: str) -> PhaseTypeFit:
    if not sample.exact.all():
        raise InvalidModel(f"censored or grouped times cannot be fitted by {method}; use hyper-erlang")
    first, second, third = (sample.moment(n) for n in (1, 2, 3))
    if method == "moments-2":
        law = from_two_moments(first, second / first**2 - 1.0)
    else:
        law = from_three_moments(first, second, third)
    parameters = 2 if method == "moments-2" else 3
    return _result(sample, law, method, sample_log_likelihood(law, sample), parameters, 0, True)


def _result(
    sample: Sample,
    law: PhaseType,
    method: str,
    loglik: float,
    parameters: int,
    iterations: int,
    converged: bool,
) -> PhaseTypeFit:
    warnings = []
    if not converged:
        warnings.append(f"not converged after {iterations} iterations; allow more")
    if sample.count < 20 * parameters:
        warnings.append(f"too little data: {sample.count:g} times for {parameters} parameters")
    fitted, seen = moments_of(law), tuple(sample.moment(n) for n in (1, 2, 3))
    if sample.exact.all() and abs(fitted[1] / seen[1] - 1.0) > 0.5:
        warnings.append(
            f"the second moment is {fitted[1]:.3g}, that of the times {seen[1]:.3g}: "
            "a heavy tail; try more orders or the method moments-3"
        )
    return PhaseTypeFit(
        law=law,
        method=method,
        loglik=loglik,
        parameters=parameters,
        times=sample.count,
        iterations=iterations,
        converged=converged,
        empirical_moments=(seen[0], seen[1], seen[2]),
        fitted_moments=fitted,
        warnings=tuple(warnings),
    )
