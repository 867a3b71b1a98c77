"""How stale the copies are: exactly, for any cyclic order, and at best, for any order of given frequencies.

The obsolescence rate r of a page is the fraction of time that its copy is out of date. A page that is accessed
after d accesses of the robot was stale, during these, for a mean time of

    E[Z] = d·E[X] − (1 − h^d)/μ,        h = E[e^{−μX}]        [Coffman 1999, Lemma 3.1]

With L = −ln h and the remainder R(y) = e^{−y} − 1 + y this reads μE[Z] = R(L·d) + (μE[X] − L)·d: both terms
are positive, and neither loses digits for pages that hardly ever change. All functions here use that form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import InvalidModel
from recrawl.laws._stable import exp_remainder
from recrawl.revisit.pages import checked_vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from recrawl.laws import Law
    from recrawl.revisit.pages import Pages

__all__ = [
    "cost_of",
    "integer_gap_bound",
    "lower_bound",
    "obsolescence_of_gaps",
    "obsolescence_of_template",
    "proportional_bound",
    "randomised_obsolescence",
]


def cost_of(pages: Pages, obsolescence: NDArray[np.float64]) -> float:
    """Σ c·r [Coffman 1999, (4)]."""
    return float(pages.weight @ obsolescence)


def _checked_frequency(frequency: ArrayLike, size: int) -> NDArray[np.float64]:
    frequency = checked_vector("frequency", frequency, size, zero=True)
    if frequency.sum() > 1.0 + 1e-9:
        raise InvalidModel(f"frequency sums to {frequency.sum():.12g}, above 1")
    return frequency


def lower_bound(pages: Pages, access: Law, frequency: ArrayLike) -> NDArray[np.float64]:
    """The least obsolescence rate of each page that any order with these frequencies can reach.

    r >= 1 − f/(μE[X])·(1 − h^{1/f})        [Coffman 1999, Theorem 3.3]

    It is reached when a page's accesses are exactly 1/f apart. A page that is never accessed has r = 1, a page
    that never changes r = 0.

    >>> from recrawl.laws import Deterministic
    >>> from recrawl.revisit import Pages
    >>> lower_bound(Pages([1.0, 1.0]), Deterministic(1.0), [0.5, 0.5]).round(4).tolist()
    [0.5677, 0.5677]
    """
    frequency = _checked_frequency(frequency, len(pages))
    exponent = pages.exponents(access)
    visited = (frequency > 0) & (exponent > 0)
    gap_exponent = exponent / np.where(visited, frequency, 1.0)
    deficit = access.exponent_deficit(pages.change_rate)
    share = exp_remainder(gap_exponent) / np.where(visited, gap_exponent, 1.0)
    result = np.where(visited, deficit + (1.0 - deficit) * share, 1.0)
    return np.where(exponent > 0, result, 0.0)


def integer_gap_bound(pages: Pages, access: Law, frequency: ArrayLike) -> NDArray[np.float64]:
    """`lower_bound`, sharpened: accesses are a whole number of robot steps apart.

    The best gaps of mean 1/f are ⌊1/f⌋ and ⌊1/f⌋ + 1. For a frequently accessed page this is markedly above
    Theorem 3.3; no schedule can do better for that page.

    >>> from recrawl.laws import Deterministic
    >>> from recrawl.revisit import Pages
    >>> pages, access = Pages([1.0, 0.2]), Deterministic(1.0)
    >>> lower_bound(pages, access, [0.7, 0.3]).round(4).tolist()
    [0.4678, 0.2701]
    >>> integer_gap_bound(pages, access, [0.7, 0.3]).round(4).tolist()
    [0.4878, 0.2735]
    """
    frequency = _checked_frequency(frequency, len(pages))
    exponent = pages.exponents(access)
    visited = (frequency > 0) & (exponent > 0)
    gap = 1.0 / np.where(visited, frequency, 1.0)
    short = np.floor(gap * (1.0 + 1e-15))
    long_share = np.clip(gap - short, 0.0, 1.0)
    remainder = (1.0 - long_share) * exp_remainder(exponent * short) + long_share * exp_remainder(
        exponent * (short + 1)
    )
    return _per_page(pages, access, remainder / gap, visited)


def _per_page(
    pages: Pages, access: Law, remainder_rate: NDArray[np.float64], visited: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Obsolescence rates from Σ R(L·d) per access of the robot."""
    load = pages.change_rate * access.mean
    changing = load > 0
    result = access.exponent_deficit(pages.change_rate) + remainder_rate / np.where(changing, load, 1.0)
    return np.where(changing, np.where(visited, np.minimum(result, 1.0), 1.0), 0.0)


def obsolescence_of_gaps(
    pages: Pages, access: Law, page: ArrayLike, gap: ArrayLike, count: ArrayLike, cycle: float
) -> NDArray[np.float64]:
    """Obsolescence rates when, in each cycle of `cycle` accesses, page[k] has count[k] gaps of gap[k] accesses.

    [Coffman 1999, (3) and Lemma 3.1]. The gaps of an accessed page must fill the cycle.
    """
    page = np.asarray(page, dtype=np.int64)
    gap = np.asarray(gap, dtype=np.float64)
    count = np.asarray(count, dtype=np.float64)
    filled = np.bincount(page, weights=gap * count, minlength=len(pages))
    visited = filled > 0
    wrong = np.flatnonzero(visited & (np.abs(filled - cycle) > 1e-9 * cycle))
    if wrong.size:
        raise InvalidModel(
            f"the gaps of page {wrong[0]} sum to {filled[wrong[0]]:g}, not to the cycle {cycle:g}"
        )
    remainder = exp_remainder(pages.exponents(access)[page] * gap) * count
    rate = np.bincount(page, weights=remainder, minlength=len(pages)) / cycle
    return _per_page(pages, access, rate, visited)


def obsolescence_of_template(pages: Pages, access: Law, template: ArrayLike) -> NDArray[np.float64]:
    """Exact obsolescence rates when the robot repeats `template`, a list of page numbers, for ever.

    A page that the template leaves out has rate 1; −1 stands for a slot without access.

    >>> from recrawl.laws import Exponential
    >>> from recrawl.revisit import Pages
    >>> obsolescence_of_template(Pages([1.0, 2.0]), Exponential(0.5), [1, 0, 1]).round(4).tolist()
    [0.5309, 0.5833]
    """
    order = np.asarray(template)
    if order.ndim != 1 or order.size == 0 or order.dtype.kind not in "iu":
        raise InvalidModel("a template must be a list of page numbers, at least one")
    if order.min() < -1 or order.max() >= len(pages):
        bad = order[(order < -1) | (order >= len(pages))][0]
        raise InvalidModel(f"the template names page {bad}, but there are {len(pages)} pages")
    places = np.argsort(order, kind="stable")
    page = order[places]
    last = np.append(page[1:] != page[:-1], True)
    first = np.append(True, last[:-1])
    gap = np.empty(order.size, dtype=np.float64)
    gap[:-1] = np.diff(places)
    # The last access of a page is followed by its first one in the next cycle.
    gap[last] = places[first] + order.size - places[last]
    real = page >= 0
    return obsolescence_of_gaps(pages, access, page[real], gap[real], np.ones(int(real.sum())), order.size)


def randomised_obsolescence(pages: Pages, access: Law, frequency: ArrayLike) -> NDArray[np.float64]:
    """Exact obsolescence rates when each access picks page i with probability f_i, independently.

    r = 1 − f/(μE[X])·(1 − h)/(1 − h + f·h)        [Coffman 1999, Lemma 4.1]
    """
    frequency = _checked_frequency(frequency, len(pages))
    exponent = pages.exponents(access)
    unchanged = np.exp(-exponent)  # h
    changed = -np.expm1(-exponent)  # 1 − h
    load = pages.change_rate * access.mean
    changing = load > 0
    # Over the common denominator load·(1 − h + f·h), with 1 − h = load − E[e^{−μX} − 1 + μX], only positive
    # terms are left: load·(1 − h)(1 − f) + f·E[e^{−μX} − 1 + μX].
    remainder = access.transform_remainder(pages.change_rate)
    denominator = np.where(changing, load * (changed + frequency * unchanged), 1.0)
    result = (load * changed * (1.0 - frequency) + frequency * remainder) / denominator
    return np.where(changing, np.where(frequency > 0, result, 1.0), 0.0)


def proportional_bound(pages: Pages, access: Law) -> float:
    """The least cost of any schedule when weights are proportional to change rates: c = c0·μ.

    c0 (Σμ − 1/E[X] + (1/E[X])·Π h)        [Coffman 1999, (6), Theorem 3.4]

    >>> from recrawl.laws import Deterministic
    >>> from recrawl.revisit import Pages
    >>> round(proportional_bound(Pages([1.0, 3.0], [2.0, 6.0]), Deterministic(0.25)), 6)
    2.943036
    """
    changing = pages.change_rate > 0
    if not changing.any():
        return 0.0
    ratio = pages.weight[changing] / pages.change_rate[changing]
    if not np.allclose(ratio, ratio[0], rtol=1e-9):
        raise InvalidModel(
            "weights are not proportional to change rates; use lower_bound with optimal frequencies"
        )
    exponent = pages.exponents(access)
    load = pages.change_rate * access.mean
    lost = float(load @ access.exponent_deficit(pages.change_rate))
    return float(ratio[0] / access.mean * (exp_remainder(exponent.sum()) + lost))
