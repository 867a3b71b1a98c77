"""Change rates by maximum likelihood, for accesses at irregular times.

A page that changes as a Poisson process of rate λ is found changed after an interval τ with probability
1 − e^{−λτ}, unchanged with probability e^{−λτ}; a date that puts its last change s before the access has the
density λ e^{−λs}, whatever happened earlier in the interval. In y = ln λ every term is concave, so the
maximum is one. It is 0 when no access saw a change and infinite when every one did; the corrected estimate
adds half the logarithm of the expected information about y (the Jeffreys prior of ln λ: D. Firth, Biometrika
80, 1993), which is a bounded pull: about half a change in the first case, about half an unchanged access in
the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.estimate.observations import Observations

__all__ = ["ChangeRates", "change_rates", "log_likelihood"]


@dataclass(frozen=True)
class ChangeRates:
    """The rate of each page; NaN for a page without a telling access."""

    rates: NDArray[np.float64]
    #: Standard error of ln(rate), from the information at the maximum; infinite where the maximum is at an
    #: end.
    log_errors: NDArray[np.float64]
    corrected: bool


def change_rates(observations: Observations, *, corrected: bool = True) -> ChangeRates:
    """The likeliest change rate of every page.

    With `corrected=False`: the plain maximum, 0 for a page never seen changed, infinite for one always seen
    changed.

    >>> from recrawl.estimate import Observations
    >>> seen = Observations.of([0, 0, 0, 0], [1.0, 1.0, 1.0, 1.0], [True, False, True, False])
    >>> change_rates(seen, corrected=False).rates.round(6).tolist()      # −ln(1/2)
    [0.693147]
    """
    from recrawl.estimate._change_kernels import maximise

    rates = np.empty(observations.pages)
    informations = np.empty(observations.pages)
    maximise(
        observations.starts,
        observations.intervals,
        observations.kinds,
        observations.ages,
        0.5 if corrected else 0.0,
        rates,
        informations,
    )
    with np.errstate(divide="ignore"):
        return ChangeRates(rates, 1.0 / np.sqrt(informations), corrected)


def log_likelihood(observations: Observations, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-likelihood of each page's accesses when page p changes at `rates[p]`."""
    rate = np.asarray(rates, dtype=np.float64)[observations.page_of]
    kinds = observations.kinds
    terms = np.empty(observations.accesses)
    with np.errstate(divide="ignore"):
        x = rate * observations.intervals
        terms[kinds == 0] = -x[kinds == 0]
        terms[kinds == 1] = np.log(-np.expm1(-x[kinds == 1]))
        dated = kinds == 2
        terms[dated] = np.log(rate[dated]) - rate[dated] * observations.ages[dated]
    sums = np.zeros(observations.pages)
    np.add.at(sums, observations.page_of, terms)
    return sums
