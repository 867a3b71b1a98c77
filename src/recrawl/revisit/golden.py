"""What the golden ratio policy costs: exactly for a finite cycle, and in the limits the paper considers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recrawl.laws._stable import exp_remainder
from recrawl.revisit.obsolescence import _checked_frequency, _per_page, obsolescence_of_gaps
from recrawl.revisit.sequences import fibonacci, golden_gap_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from recrawl.laws import Law
    from recrawl.revisit.pages import Pages

__all__ = ["PHI", "golden_limit", "golden_limit_ratio", "golden_obsolescence"]

PHI = (1.0 + math.sqrt(5.0)) / 2.0


def golden_obsolescence(pages: Pages, access: Law, counts: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Exact obsolescence rates of the cycle γ(k, N) with these counts, without building it: O(N) for any k.

    >>> from recrawl.laws import Deterministic
    >>> from recrawl.revisit import Pages, golden_template, obsolescence_of_template
    >>> pages, counts = Pages([1.0, 1.0, 1.0, 1.0]), np.array([2, 3, 3, 5])
    >>> exact = obsolescence_of_template(pages, Deterministic(0.1), golden_template(counts, 7))
    >>> bool(np.allclose(exact, golden_obsolescence(pages, Deterministic(0.1), counts, 7)))
    True
    """
    return obsolescence_of_gaps(
        pages, access, *golden_gap_counts(counts[: len(pages)], k), float(fibonacci(k))
    )


def golden_limit(pages: Pages, access: Law, frequency: ArrayLike) -> NDArray[np.float64]:
    """Obsolescence rates of the golden ratio policy as its cycle grows.

    With φ^{−j} <= f < φ^{1−j} a page has the gaps F_j, F_{j+1}, F_{j+2}, and of all slots a share f − φ^{−j},
    f − φ^{−j−1}, φ^{1−j} − f begins one [Coffman 1999, Section 5, the formula before Theorem 5.1, with j = −⌊log_φ f⌋;
    the paper has j = ⌊log_φ f⌋].
    """
    frequency = _checked_frequency(frequency, len(pages))
    exponent = pages.exponents(access)
    visited = (frequency > 0) & (exponent > 0)
    f = np.where(visited, frequency, 1.0)
    j = -np.floor(np.log(f) / math.log(PHI) + 1e-12)
    starts = [f - PHI**-j, f - PHI ** (-j - 1.0), PHI ** (1.0 - j) - f]
    rate = np.zeros(len(pages))
    for step, start in enumerate(starts):
        # F_n = (φ^n − (−1/φ)^n)/√5, also for the huge n of tiny frequencies.
        n = j + step
        gap = (PHI**n - np.where(n % 2 == 0, 1.0, -1.0) * PHI**-n) / math.sqrt(5.0)
        rate += np.maximum(start, 0.0) * exp_remainder(exponent * gap)
    return _per_page(pages, access, rate, visited)


def golden_limit_ratio(load: float, u: ArrayLike) -> NDArray[np.float64]:
    """Cost over lower bound of the golden ratio policy for very many pages, all with frequency u·φ^{−j}.

    `load` is the total change rate times E[X], 1 <= u <= φ. In units of 1/f the gaps are u/√5, uφ/√5, uφ²/√5 with
    probabilities 1 − 1/u, 1 − 1/(uφ), φ/u − 1. Theorem 5.1 of the paper has u = 1, the best case; the true supremum
    over u, for load → 0, is φ⁵/10.

    >>> float(golden_limit_ratio(1e-6, 1.0).round(4))
    1.0472
    """
    u = np.asarray(u, dtype=np.float64)
    weights = (1.0 - 1.0 / u, 1.0 - 1.0 / (u * PHI), PHI / u - 1.0)
    cost = sum(w * exp_remainder(load * u * PHI**i / math.sqrt(5.0)) for i, w in enumerate(weights))
    return np.asarray(cost / exp_remainder(load))
