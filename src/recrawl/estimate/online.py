"""Simple estimators of change rates from the literature: one number or two per page, updated at each access.

They are baselines: cheap, without a word about how sure they are. With X changes seen in n accesses:

- `naive`: X / total time; too low, since several changes between two accesses count once.
- `ratio`: −ln((n − X + ½)/(n + ½)) / mean interval [J. Cho and H. Garcia-Molina, ACM Trans. Internet Technol.
3,
  2003]; nearly unbiased for regular intervals.
- `large-numbers` and `stochastic-approximation` [K. Avrachenkov, K. Patil, G. Thoppe, Performance Evaluation
153,
  2022]: solve P(changed) = λ/(λ + p), which holds when accesses are a Poisson process of rate p; here p is
  the page's number of accesses per time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.estimate.observations import Observations

__all__ = ["BASELINES", "baseline_rates"]

BASELINES = ("naive", "ratio", "large-numbers", "stochastic-approximation")


def baseline_rates(observations: Observations, name: str) -> NDArray[np.float64]:
    """Rates of all pages by one of the baselines; NaN for a page without a telling access.

    Dates are not used. First accesses with a date are passed over.

    >>> from recrawl.estimate import Observations
    >>> seen = Observations.of([0, 0], [1.0, 3.0], [True, False])
    >>> baseline_rates(seen, "naive").tolist()
    [0.25]
    """
    if name not in BASELINES:
        raise InvalidModel(f"estimator must be one of {', '.join(BASELINES)}, not {name!r}")
    usable = np.isfinite(observations.intervals)
    page = observations.page_of[usable]
    intervals = observations.intervals[usable]
    changed = observations.kinds[usable] > 0
    pages = observations.pages
    n = np.bincount(page, minlength=pages).astype(np.float64)
    X = np.bincount(page, weights=changed, minlength=pages)
    total = np.bincount(page, weights=intervals, minlength=pages)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = n / total
        if name == "naive":
            return X / total
        if name == "ratio":
            return -np.log((n - X + 0.5) / (n + 0.5)) * p
        if name == "large-numbers":
            return p * X / (n + 1.0 - X)
    from recrawl.estimate._change_kernels import approximate

    starts = np.searchsorted(page, np.arange(pages + 1)).astype(np.int64)
    rates = np.empty(pages)
    approximate(starts, intervals, changed, rates)
    return rates
