"""How good are the estimators of change rates? On pages of known rate, and on real histories.

On synthetic pages an estimator is judged by its bias (median of estimate/truth − 1) and by the error of what
a scheduler needs, the probability that the page changes within one mean interval. On histories, where no true
rate exists, the first half of the accesses teaches and the second half examines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.belief import Belief
from recrawl.estimate.changes_mle import change_rates
from recrawl.estimate.observations import Observations
from recrawl.estimate.online import BASELINES, baseline_rates
from recrawl.estimate.rate_grid import RateGrid
from recrawl.estimate.rate_laws import fit_priors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.estimate.histories import History

__all__ = ["SPREADS", "HistoryScore", "Score", "examine", "judge", "learnt_belief", "synthetic"]

#: Spreads of the rates of synthetic pages, in changes per mean interval.
SPREADS = ("narrow", "wide", "two kinds", "mostly still")
_DRAWS = 40  # of a posterior, for the law of what it predicts


@dataclass(frozen=True)
class Score:
    """One estimator on synthetic pages."""

    estimator: str
    bias: float
    error: float
    #: Share of true rates inside the 90 % credible interval; NaN for estimators that give none.
    coverage: float


@dataclass(frozen=True)
class HistoryScore:
    """One estimator on a history: trained on first halves, examined on second halves.

    `predicted` is the number of accesses predicted to find a change, over the number that did; `loss` the
    mean −ln P(what was found); `coverage` the share of pages whose number of accesses with a change lies in
    the middle 90 % of what the posterior predicted. The twin has the same pages changing as Poisson
    processes: what is worse than there is not for lack of data.
    """

    estimator: str
    predicted: float
    loss: float
    coverage: float
    twin_predicted: float
    twin_loss: float
    twin_coverage: float


def synthetic(
    spread: str, pages: int, accesses: int, rng: np.random.Generator, *, regular: bool = False
) -> tuple[NDArray[np.float64], Observations]:
    """True rates of pages, and what accesses at regular or exponential intervals of mean 1 see of them."""
    if spread == "narrow":
        rates = rng.lognormal(0.0, 0.5, pages)
    elif spread == "wide":
        rates = rng.lognormal(-0.5, 1.5, pages)
    elif spread == "two kinds":
        rates = np.where(rng.random(pages) < 0.7, 0.05, 2.0) * rng.lognormal(0.0, 0.3, pages)
    elif spread == "mostly still":
        rates = rng.lognormal(-3.0, 1.0, pages)
    else:
        raise InvalidModel(f"spread must be one of {', '.join(SPREADS)}, not {spread!r}")
    shape = (pages, accesses)
    intervals = np.ones(shape) if regular else rng.exponential(1.0, shape)
    changed = rng.random(shape) < -np.expm1(-rates[:, None] * intervals)
    page = np.repeat(np.arange(pages), accesses)
    return rates, Observations.of(page, intervals.ravel(), changed.ravel())


def learnt_belief(
    observations: Observations,
    interval: float,
    *,
    half_life: float = np.inf,
    groups: NDArray[np.int64] | None = None,
) -> tuple[Belief, NDArray[np.int64]]:
    """A belief that has seen all observations and learnt its priors from them, and the pages' slots."""
    count = 1 if groups is None else int(groups.max()) + 1
    belief = Belief(RateGrid.around(interval), groups=count, half_life=half_life)
    slots = belief.add(observations.pages)
    if groups is not None:
        for group in range(count):
            belief.move(slots[groups == group], group)
    belief.observe(observations, slots)
    if slots.size:
        fit_priors(belief)
    return belief, slots


@dataclass(frozen=True)
class _Estimate:
    """Rates, probabilities to change within the interval, and credible intervals where there are any."""

    rates: NDArray[np.float64]
    chances: NDArray[np.float64]
    bounds: NDArray[np.float64] | None = None
    #: Equally likely rates of each page's posterior.
    draws: NDArray[np.float64] | None = None


def _estimates(observations: Observations, interval: float, half_life: float | None) -> dict[str, _Estimate]:
    """What every estimator makes of the observations."""
    found = {}
    points = {name: baseline_rates(observations, name) for name in BASELINES}
    points["maximum likelihood"] = change_rates(observations).rates
    for name, rates in points.items():
        found[name] = _Estimate(rates, -np.expm1(-rates * interval))
    for name, forgotten in (("belief", np.inf), ("belief, forgetting", half_life)):
        if forgotten is not None:
            belief, slots = learnt_belief(observations, interval, half_life=forgotten)
            chances = 1.0 - belief.current_probability(slots, interval)
            draws = belief.quantiles(slots, (np.arange(_DRAWS) + 0.5) / _DRAWS)
            found[name] = _Estimate(belief.typical_rate(slots), chances, belief.interval(slots), draws)
    return found


def judge(
    spread: str, accesses: int, *, pages: int = 4000, seed: int = 1, regular: bool = False
) -> list[Score]:
    """All estimators on synthetic pages of one spread.

    >>> [score.estimator for score in judge("narrow", 5, pages=200)][:2]
    ['naive', 'ratio']
    """
    rates, observations = synthetic(spread, pages, accesses, np.random.default_rng(seed), regular=regular)
    scores = []
    for name, found in _estimates(observations, 1.0, None).items():
        inside = np.nan
        if found.bounds is not None:
            inside = float(np.mean((found.bounds[:, 0] <= rates) & (rates <= found.bounds[:, 1])))
        bias = float(np.median(found.rates / rates) - 1.0)
        error = float(np.sqrt(np.mean((found.chances + np.expm1(-rates)) ** 2)))
        scores.append(Score(name, bias, error, inside))
    return scores


def _halves(observations: Observations) -> tuple[Observations, Observations]:
    """First and second half of every page's accesses, for pages with at least two of each."""
    counts = observations.counts
    kept = np.flatnonzero(counts >= 4)
    turn = np.arange(observations.accesses) - np.repeat(observations.starts[:-1], counts)
    early = turn < np.repeat(counts // 2, counts)
    number = np.full(observations.pages, -1)
    number[kept] = np.arange(kept.size)
    page = number[observations.page_of]

    def part(chosen: NDArray[np.bool_]) -> Observations:
        return Observations.of(
            page[chosen],
            observations.intervals[chosen],
            observations.kinds[chosen] > 0,
            observations.ages[chosen],
            number_of_pages=kept.size,
        )

    return part(early & (page >= 0)), part(~early & (page >= 0))


def examine(history: History, interval: float, *, seed: int = 1, dated: bool = False) -> list[HistoryScore]:
    """All estimators on a history seen at a constant interval, and on its Poisson twin."""
    results = []
    for source in (history, history.poisson_twin(np.random.default_rng(seed + 1))):
        observations, _times = source.observed(interval, np.random.default_rng(seed), dated=dated)
        results.append(_examined(*_halves(observations), interval))
    return [HistoryScore(name, *results[0][name], *results[1][name]) for name in results[0]]


def _examined(
    first: Observations, second: Observations, interval: float
) -> dict[str, tuple[float, float, float]]:
    if first.pages == 0:
        raise InvalidModel(f"no page lives long enough for four accesses at an interval of {interval:g}")
    page = second.page_of
    changed = second.kinds > 0
    found = np.bincount(page, weights=changed.astype(np.float64), minlength=second.pages)
    seen = np.bincount(page, minlength=second.pages).astype(np.float64)
    half_life = 0.25 * float(np.median(first.counts)) * interval
    scores = {}
    for name, learnt in _estimates(first, interval, half_life).items():
        chance = np.clip(learnt.chances[page], 1e-3, 1.0 - 1e-3)
        loss = -np.mean(np.where(changed, np.log(chance), np.log1p(-chance)))
        inside = np.nan
        if learnt.draws is not None:
            inside = _predicted_share(learnt.draws, interval, found, seen)
        scores[name] = (float(chance.sum() / max(changed.sum(), 1)), float(loss), inside)
    return scores


def _predicted_share(
    draws: NDArray[np.float64], interval: float, found: NDArray[Any], seen: NDArray[Any]
) -> float:
    """Share of pages whose number of changed accesses lies in the middle 90 % of what was predicted.

    The prediction is a mixture of binomial laws over the posterior; the jump of its distribution at the
    number found is cut at random, so that a true prediction holds 90 % exactly.
    """
    from scipy.special import betainc

    chance = -np.expm1(-draws * interval)

    def at_most(number: NDArray[Any]) -> NDArray[np.float64]:
        """P(Bin(n, p) ≤ k) = I_{1−p}(n − k, k + 1), averaged over the posterior."""
        k, n = number[:, None], seen[:, None]
        inside = betainc(np.maximum(n - k, 1.0), np.maximum(k + 1.0, 1.0), 1.0 - chance)
        share: NDArray[np.float64] = np.where(k < 0, 0.0, np.where(k >= n, 1.0, inside)).mean(axis=1)
        return share

    upto, before = at_most(found), at_most(found - 1.0)
    place = before + np.random.default_rng(0).random(found.size) * (upto - before)
    return float(np.mean((place >= 0.05) & (place <= 0.95)))
