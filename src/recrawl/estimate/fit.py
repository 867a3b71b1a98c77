"""Arrival processes from gaps: the order chosen by an information criterion, and how good the fit is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.map_em import EMResult, em, log_likelihood_of_gaps
from recrawl.estimate.starts import starting_points
from recrawl.estimate.statistics import ArrivalStatistics, of_arrivals, of_gaps
from recrawl.estimate.two_state_map import TwoStateFit, two_state_map
from recrawl.laws.arrivals import Bmap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from recrawl.estimate.sequences import Gaps

__all__ = ["ArrivalFit", "fit_arrivals", "fit_two_state", "from_moments"]

Family = Literal["map", "mmpp"]
Batches = Literal["independent", "marks"]
Criterion = Literal["bic", "aic"]

_TRIAL_GAPS = 20_000
_TRIAL_STEPS = 15
_GAPS_PER_PARAMETER = 20  # fewer are too little data


@dataclass(frozen=True)
class ArrivalFit:
    """A fitted process, how likely the log is under it, and how well it reproduces the log."""

    arrivals: Bmap
    method: str
    loglik: float
    parameters: int
    gaps: int
    iterations: int
    converged: bool
    empirical: ArrivalStatistics
    fitted: ArrivalStatistics
    warnings: tuple[str, ...]
    #: Criterion of every order that was tried, when several were.
    tried: tuple[tuple[int, float], ...] = ()

    @property
    def order(self) -> int:
        """Number of phases."""
        return self.arrivals.order

    @property
    def aic(self) -> float:
        """2·parameters − 2·loglik."""
        return 2.0 * self.parameters - 2.0 * self.loglik

    @property
    def bic(self) -> float:
        """ln(gaps)·parameters − 2·loglik."""
        return math.log(self.gaps) * self.parameters - 2.0 * self.loglik


def fit_arrivals(
    gaps: Gaps,
    *,
    family: Family = "map",
    orders: Sequence[int] = (1, 2, 3),
    batches: Batches = "independent",
    criterion: Criterion = "bic",
    iterations: int = 500,
    tolerance: float = 1e-7,
    seed: int = 1,
    on_step: Callable[[int], None] | None = None,
) -> ArrivalFit:
    """Fit processes of all `orders` by EM and keep the best by the criterion.

    `batches="independent"`: batch sizes do not depend on the phase, D_k = d_k D [Avrachenkov, Section 7];
    `"marks"`: every batch size has a matrix of its own.

    >>> import numpy as np
    >>> from recrawl.estimate.sequences import Gaps
    >>> fit = fit_arrivals(Gaps.of(np.random.default_rng(1).exponential(2.0, 2000)), orders=[1])
    >>> fit.converged, round(fit.arrivals.rate * fit.empirical.mean, 9)
    (True, 1.0)
    """
    if not orders or min(orders) < 1:
        raise InvalidModel(f"orders must be whole numbers from 1, not {list(orders)}")
    if family not in ("map", "mmpp"):
        raise InvalidModel(f"family must be map or mmpp, not {family!r}")
    if batches not in ("independent", "marks"):
        raise InvalidModel(f"batches must be independent or marks, not {batches!r}")
    empirical = of_gaps(gaps)
    fits = [
        _fit_one(gaps, empirical, family, order, batches, iterations, tolerance, seed, on_step)
        for order in sorted(set(orders))
    ]
    scores = [fit.bic if criterion == "bic" else fit.aic for fit in fits]
    best = fits[int(np.argmin(scores))]
    tried = tuple((fit.order, score) for fit, score in zip(fits, scores, strict=True))
    return ArrivalFit(**{**best.__dict__, "tried": tried})


def _fit_one(
    gaps: Gaps,
    empirical: ArrivalStatistics,
    family: Family,
    order: int,
    batches: Batches,
    iterations: int,
    tolerance: float,
    seed: int,
    on_step: Callable[[int], None] | None,
) -> ArrivalFit:
    D = _best_start(gaps, family, order, np.random.default_rng(seed))
    result = em(gaps, D, iterations=iterations, tolerance=tolerance, on_step=on_step)
    shares = np.array(empirical.batch_sizes)
    sizes = np.flatnonzero(shares) + 1
    seen = shares[sizes - 1]
    size_loglik = float(len(gaps) * (seen * np.log(seen)).sum())
    if batches == "marks" and sizes.size > 1:
        marks = np.searchsorted(sizes, gaps.sizes).astype(np.int64)
        spread = np.concatenate((result.D[:1], seen[:, None, None] * result.D[1]))
        # Independent sizes are a stationary point of EM: leave it by a small push that keeps every row's sum.
        pushed = _push(spread, np.random.default_rng(seed))
        result = em(
            gaps, pushed, result.start, marks, iterations=iterations, tolerance=tolerance, on_step=on_step
        )
        moves, loglik, parameters = result.D[1:], result.loglik, order**2 * sizes.size
    else:
        moves, loglik = seen[:, None, None] * result.D[1], result.loglik + size_loglik
        parameters = order**2 + sizes.size - 1
    full = np.zeros((int(sizes[-1]) + 1, order, order))
    full[0] = result.D[0]
    full[sizes] = moves
    arrivals = Bmap(_linked(full))
    return ArrivalFit(
        arrivals=arrivals,
        method=f"EM, {family}" + (", sizes by marks" if batches == "marks" else ""),
        loglik=loglik,
        parameters=parameters,
        gaps=len(gaps),
        iterations=result.iterations,
        converged=result.converged,
        empirical=empirical,
        fitted=of_arrivals(arrivals, empirical.windows, len(gaps)),
        warnings=_warnings(result, len(gaps), parameters, order),
    )


def fit_two_state(gaps: Gaps) -> ArrivalFit:
    """The two-state process of `two_state_map` from the log's own moments, the third where it is possible."""
    empirical = of_gaps(gaps)
    variance = empirical.scv * empirical.mean**2
    extra: tuple[str, ...] = ()
    try:
        fit = two_state_map(
            empirical.mean, variance, empirical.lag_correlations, third_moment=empirical.third_moment
        )
    except InvalidModel as error:
        if "third moment" not in str(error):
            raise
        fit = two_state_map(empirical.mean, variance, empirical.lag_correlations)
        extra = ("the third moment of the gaps fits no two exponential phases and was left out",)
    single = fit.arrivals
    start = single.phases @ single.D[1] / single.batch_rate
    loglik = log_likelihood_of_gaps(gaps, single.D, start)
    shares = np.array(empirical.batch_sizes)
    seen = shares[shares > 0]
    arrivals = batched(single, shares)
    return ArrivalFit(
        arrivals=arrivals,
        method="two-state process from moments",
        loglik=loglik + float(len(gaps) * (seen * np.log(seen)).sum()),
        parameters=4 + seen.size - 1,
        gaps=len(gaps),
        iterations=0,
        converged=True,
        empirical=empirical,
        fitted=of_arrivals(arrivals, empirical.windows, len(gaps)),
        warnings=(*fit.warnings, *extra),
    )


def batched(arrivals: Bmap, shares: Sequence[float] | NDArray[np.float64]) -> Bmap:
    """Batches of k = 1, 2, ... pages with probabilities `shares`, whatever the phase: D_k = d_k D_1.

    [Avrachenkov, Section 7]

    >>> round(batched(Bmap.poisson(2.0), [0.5, 0.5]).rate, 9)
    3.0
    """
    sizes = np.asarray(shares, dtype=np.float64)
    if not (np.isfinite(sizes) & (sizes >= 0)).all() or abs(sizes.sum() - 1.0) > 1e-6:
        raise InvalidModel(f"batch sizes must be probabilities that sum to 1, not to {sizes.sum():.9g}")
    moves = arrivals.D[1:].sum(axis=0)
    return Bmap(np.concatenate((arrivals.D[:1], (sizes / sizes.sum())[:, None, None] * moves)))


def from_moments(
    mean: float,
    variance: float,
    correlations: Sequence[float],
    batch_sizes: Sequence[float] = (1.0,),
    third_moment: float | None = None,
    weight: float = 0.5,
) -> tuple[Bmap, TwoStateFit]:
    """A process without a log, from printed numbers: moments and correlations of gaps, batch sizes."""
    fit = two_state_map(mean, variance, correlations, third_moment=third_moment, weight=weight)
    return batched(fit.arrivals, batch_sizes), fit


def _best_start(gaps: Gaps, family: Family, order: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The starting point that climbs highest in a few steps on the first part of the log."""
    head = gaps.head(_TRIAL_GAPS)
    points = starting_points(head.times, order, family, rng)
    if len(points) == 1:
        return points[0]
    trials = [em(head, point, iterations=_TRIAL_STEPS, tolerance=-math.inf, leaps=False) for point in points]
    return max(trials, key=lambda trial: trial.loglik).D


def _push(D: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    moved = D.copy()
    moved[1:] *= rng.uniform(0.8, 1.25, (len(D) - 1, D.shape[1], 1))
    moved[1:] *= (D[1:].sum(axis=(0, 2)) / moved[1:].sum(axis=(0, 2)))[:, None]
    return moved


def _linked(D: NDArray[np.float64]) -> NDArray[np.float64]:
    """EM may cut phases off (rates that fade to nothing); the tiniest link keeps them one process."""
    closed = D.copy()
    if closed.shape[1] > 1:
        scale = np.abs(np.diag(closed[0])).max() * 1e-12
        off = ~np.eye(closed.shape[1], dtype=bool)
        closed[0][off] = np.maximum(closed[0][off], scale)
    np.fill_diagonal(closed[0], 0.0)
    np.fill_diagonal(closed[0], -closed.sum(axis=(0, 2)))
    return closed


def _warnings(result: EMResult, gaps: int, parameters: int, order: int) -> tuple[str, ...]:
    found = []
    if not result.converged:
        gain = result.history[-1] - result.history[-2] if len(result.history) > 1 else math.inf
        found.append(
            f"not converged after {result.iterations} iterations (the last one still gained {gain:.3g}); "
            "allow more iterations"
        )
    if gaps < _GAPS_PER_PARAMETER * parameters:
        found.append(f"too little data: {gaps} gaps for {parameters} parameters of order {order}")
    return tuple(found)
