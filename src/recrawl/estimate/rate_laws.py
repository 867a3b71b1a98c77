"""The law of the change rates of many pages, learnt from what their accesses say.

What one access tells of a rate is little, so a law of rates that may have any shape follows the accidents of
a few accesses, or, stopped early, stays too wide. Here the law is a mixture of one to three heaps in ln λ, all
lognormal or all gamma laws of λ, of one width or of widths of their own. Every such family is fitted by
maximum likelihood over the pages, and the families are averaged with the weights e^{−BIC/2} of Schwarz's
criterion, so that one that the pages cannot tell from another does not decide alone.

A heap is kept where the likelihood says nothing by a weak prior of its own: ln width about normal with mean
ln 0.7 and deviation 1, its place within a few e-folds of the middle of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.estimate.priors import joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.estimate.belief import Belief

    Floats = NDArray[np.float64]

__all__ = ["RateLaw", "fit_priors", "fit_rate_law"]

_MOST_PAGES = 65536
_ENOUGH_PAGES = 20  # a group of fewer pages has no law of its own
_UNKNOWN_PAGES = 20.0  # pages of entirely unknown rate that join those of a law
_STRENGTH = 10.0  # pages of the whole collection that join those of a group
_FLOOR = 0.002  # share of a prior that is even, so that no rate is ever ruled out

_FIRST_STEPS = 20  # of EM from an even law, for a place to start from
_FEW_PAGES = 8192  # all families are tried on these
_HOPELESS = 15.0  # a family whose criterion is this far from the best there has no weight among more pages
_WIDTH = (float(np.log(0.7)), 1.0)
_PLACE_SPREAD = 4.0
_WIDEST = 4.0


@dataclass(frozen=True)
class _Family:
    """Mixtures of so many heaps of one kind."""

    heaps: int
    gamma: bool
    one_width: bool

    @property
    def parameters(self) -> int:
        return 2 * self.heaps - 1 + (1 if self.one_width else self.heaps)

    def start(self, masses: Floats, y: Floats) -> Floats:
        """Heaps of equal weight at equally spaced quantiles of a first law."""
        places = np.interp((np.arange(self.heaps) + 0.5) / self.heaps, np.cumsum(masses), y)
        middle = masses @ y
        width = np.sqrt(masses @ (y - middle) ** 2) / self.heaps
        widths = np.full(1 if self.one_width else self.heaps, np.log(max(width, 2 * (y[1] - y[0]))))
        return np.concatenate((np.zeros(self.heaps - 1), places, widths))

    def bounds(self, y: Floats) -> list[tuple[float, float]]:
        widths = (float(np.log(y[1] - y[0])), float(np.log(_WIDEST)))
        return (
            [(-8.0, 8.0)] * (self.heaps - 1)
            + [(float(y[0]) - 1.0, float(y[-1]) + 1.0)] * self.heaps
            + [widths] * (1 if self.one_width else self.heaps)
        )

    def density(self, theta: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Masses at the nodes, and their derivatives, a row for each parameter.

        With z = y − m, a lognormal heap of width s is ∝ exp(−z²/(2s²)) and a gamma law of mean e^m and
        shape 1/s² is ∝ exp((z − e^z)/s²).
        """
        heaps = self.heaps
        shares = np.exp(np.concatenate(([0.0], theta[: heaps - 1])))
        shares /= shares.sum()
        inverse = np.exp(-2.0 * np.broadcast_to(theta[2 * heaps - 1 :], (heaps,)))[:, None]
        z = y - theta[heaps - 1 : 2 * heaps - 1, None]
        if self.gamma:
            grown = np.exp(np.minimum(z, 50.0))
            exponent, by_place = (z - grown) * inverse, (grown - 1.0) * inverse
        else:
            exponent, by_place = -0.5 * z * z * inverse, z * inverse
        by_width = -2.0 * exponent
        heap = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        heap /= heap.sum(axis=1, keepdims=True)
        whole = shares @ heap
        weighted = shares[:, None] * heap
        places = weighted * (by_place - (heap * by_place).sum(axis=1, keepdims=True))
        widths = weighted * (by_width - (heap * by_width).sum(axis=1, keepdims=True))
        if self.one_width:
            widths = widths.sum(axis=0, keepdims=True)
        return whole, np.concatenate((weighted[1:] - shares[1:, None] * whole, places, widths))

    def leaning(self, theta: Floats, y: Floats) -> tuple[float, Floats]:
        """Logarithm of the weak prior of the heaps' places and widths, and its gradient."""
        heaps = self.heaps
        middle = 0.5 * (y[0] + y[-1])
        off = np.zeros(theta.size)
        off[heaps - 1 : 2 * heaps - 1] = (theta[heaps - 1 : 2 * heaps - 1] - middle) / _PLACE_SPREAD
        off[2 * heaps - 1 :] = (theta[2 * heaps - 1 :] - _WIDTH[0]) / _WIDTH[1]
        scale = np.ones(theta.size)
        scale[heaps - 1 : 2 * heaps - 1] = _PLACE_SPREAD
        scale[2 * heaps - 1 :] = _WIDTH[1]
        return -0.5 * float(off @ off), -off / scale


_FAMILIES = tuple(
    _Family(heaps, gamma, one_width)
    for heaps in (1, 2, 3)
    for gamma in (False, True)
    for one_width in ((True,) if heaps == 1 else (True, False))
)


@dataclass(frozen=True)
class RateLaw:
    """A law of rates on a grid of them.

    `masses` are probabilities of the nodes; `heaps` the number of heaps of the likeliest family; `criterion`
    its log-likelihood less half its number of parameters times ln(pages).
    """

    masses: Floats
    heaps: int
    criterion: float


def fit_rate_law(likelihoods: Floats, log_rates: Floats) -> RateLaw:
    """The law of the rates of pages whose likelihoods at the nodes `log_rates` are given, a row for each page.

    >>> y = np.linspace(-6.0, 4.0, 101)
    >>> seen = np.exp(-0.5 * ((y - np.linspace(-1.0, 1.0, 50)[:, None]) / 0.1) ** 2)
    >>> law = fit_rate_law(seen, y)
    >>> law.heaps, round(float(law.masses @ np.exp(y)), 1)
    (1, 1.2)
    """
    from recrawl.estimate._belief_kernels import mixed

    likelihoods = np.ascontiguousarray(likelihoods)
    few = np.ascontiguousarray(likelihoods[:: -(-len(likelihoods) // _FEW_PAGES)])
    slopes = np.empty(log_rates.size)
    masses = np.full(log_rates.size, 1.0 / log_rates.size)
    for _ in range(_FIRST_STEPS):
        mixed(few, masses, slopes)
        masses = masses * slopes / len(few)
    found = [
        (family, *_climb(family, few, log_rates, family.start(masses, log_rates))) for family in _FAMILIES
    ]
    if len(few) < len(likelihoods):
        best = max(criterion for _family, _theta, criterion in found)
        found = [
            (family, *_climb(family, likelihoods, log_rates, theta))
            for family, theta, criterion in found
            if criterion > best - _HOPELESS
        ]
    best_family, _theta, best = max(found, key=lambda one: one[2])
    whole = np.zeros(log_rates.size)
    for family, theta, criterion in found:
        whole += np.exp(criterion - best) * family.density(theta, log_rates)[0]
    return RateLaw(whole / whole.sum(), best_family.heaps, best)


def _climb(family: _Family, likelihoods: Floats, y: Floats, start: Floats) -> tuple[Floats, float]:
    """The likeliest parameters of a family from a starting point, and the criterion."""
    from scipy.optimize import minimize

    from recrawl.estimate._belief_kernels import mixed

    pages = len(likelihoods)
    by_mass = np.empty(y.size)

    def downhill(theta: Floats) -> tuple[float, Floats]:
        density, slopes = family.density(theta, y)
        lean, lean_slopes = family.leaning(theta, y)
        loglik = mixed(likelihoods, density, by_mass)
        return -(loglik + lean) / pages, -(slopes @ by_mass + lean_slopes) / pages

    end = minimize(
        downhill, start, jac=True, method="L-BFGS-B", bounds=family.bounds(y),
        options={"maxiter": 200, "ftol": 1e-11, "gtol": 1e-7},
    )  # fmt: skip
    return end.x, float(-end.fun * pages - 0.5 * family.parameters * np.log(pages))


def fit_priors(belief: Belief) -> RateLaw:
    """Give every group of a belief a prior learnt from its pages; the law of all pages.

    A group of at least 20 pages has a law of its own, a smaller one the mean posterior of its pages under the
    law of all; ten pages of the whole collection join it, and twenty of unknown rate join the collection.
    """
    slots = belief.sample(_MOST_PAGES)
    if not slots.size:
        raise InvalidModel("a prior cannot be learnt from no pages")
    rates, likelihoods = belief.likelihoods(slots)
    groups = belief.group_of(slots)
    number = len(belief.priors)
    y = np.log(rates)
    even = np.full(y.size, 1.0 / (y.size - 1))
    even[[0, -1]] *= 0.5
    law = fit_rate_law(likelihoods, y)
    everywhere = (slots.size * law.masses + _UNKNOWN_PAGES * even) / (slots.size + _UNKNOWN_PAGES)
    counts = np.bincount(groups, minlength=number).astype(np.float64)
    sums = np.zeros((number, y.size))
    for group in np.flatnonzero(counts) if number > 1 else []:
        own = likelihoods[groups == group]
        if len(own) >= _ENOUGH_PAGES:
            sums[group] = len(own) * fit_rate_law(own, y).masses
        else:
            sums[group] = everywhere * ((1.0 / (own @ everywhere)) @ own)
    masses = joined(sums, counts, everywhere, _STRENGTH) if number > 1 else everywhere[None]
    belief.set_priors((1.0 - _FLOOR) * masses + _FLOOR * even)
    return law
