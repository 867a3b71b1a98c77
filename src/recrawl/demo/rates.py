"""Change rates of the pages, and the directories that are edited as a whole."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from recrawl.demo.truth import Directory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.demo.options import DemoOptions

    Floats = NDArray[np.float64]

__all__ = ["drawn_rates"]


def drawn_rates(options: DemoOptions) -> tuple[Floats, tuple[Directory, ...]]:
    """Changes per second of each page, site after site, and the directories edited as a whole.

    A page has a lognormal rate of its own. All pages of a directory edited as a whole have the same rate, one draw from
    the same law: its edits come at that rate over the probability that an edit touches a page.
    """
    random = np.random.default_rng((options.seed, 0, 0))
    chosen = _chosen(options, np.random.default_rng((options.seed, 0, 1)))
    shared = {page for pages in chosen for page in pages}
    alone = [page for page in range(options.sites * options.pages_per_site) if page not in shared]
    rates = np.empty(options.sites * options.pages_per_site)
    rates[alone] = _shapes(options, random, len(alone))
    for pages, shape in zip(chosen, _shapes(options, random, len(chosen)), strict=True):
        rates[list(pages)] = shape
    mean = options.mean_rate_per_second * options.speed
    rates *= mean / rates.mean() if options.even else mean
    probability = options.edit_probability
    directories = (Directory(pages, float(rates[pages[0]]) / probability, probability) for pages in chosen)
    return rates, tuple(directories)


def _shapes(options: DemoOptions, random: np.random.Generator, count: int) -> Floats:
    """Draws from the lognormal law of mean 1."""
    if not options.even:
        return random.lognormal(-(options.log_sd**2) / 2, options.log_sd, count)
    places = (random.permutation(count) + random.random(count)) / max(count, 1)
    normal = NormalDist()
    scores = np.array([normal.inv_cdf(min(max(place, 1e-12), 1 - 1e-12)) for place in places])
    return np.asarray(np.exp(options.log_sd * scores - options.log_sd**2 / 2))


def _chosen(options: DemoOptions, random: np.random.Generator) -> list[tuple[int, ...]]:
    """The directories edited as a whole, each by its pages; front pages belong to none."""
    if not options.edited_share:
        return []
    size, whole = options.pages_per_directory, options.pages_per_site
    found = []
    for site in range(options.sites):
        for first in range(0, whole, size):
            numbers = range(max(first, 1), min(first + size, whole))
            if len(numbers) > 1:
                found.append(tuple(site * whole + number for number in numbers))
    count = round(options.edited_share * len(found))
    return [found[place] for place in sorted(random.permutation(len(found))[:count])]
