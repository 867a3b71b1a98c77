"""Laws of rates learnt from accesses: slopes, recovery, and intervals that cover what they say."""

import numpy as np
import pytest
from scipy.stats import norm

from recrawl.errors import InvalidModel
from recrawl.estimate import Belief, Observations, RateGrid
from recrawl.estimate.calibration import SPREADS, learnt_belief, synthetic
from recrawl.estimate.rate_laws import _FAMILIES, fit_priors, fit_rate_law

Y = np.linspace(-7.0, 4.6, 125)


def covered(belief, slots, rates):
    low, high = belief.interval(slots, 0.9).T
    return np.mean((low <= rates) & (rates <= high))


@pytest.mark.parametrize("family", _FAMILIES, ids=str)
def test_slopes_are_differences(family):
    theta = family.start(norm.pdf(Y, -1.0, 1.5) / norm.pdf(Y, -1.0, 1.5).sum(), Y)
    theta = theta + np.random.default_rng(1).normal(0.0, 0.2, theta.size)
    density, slopes = family.density(theta, Y)
    assert density.sum() == pytest.approx(1.0)
    assert theta.size == family.parameters == len(family.bounds(Y))
    _lean, leaning = family.leaning(theta, Y)
    for k, step in enumerate(1e-5 * np.eye(theta.size)):
        up, down = family.density(theta + step, Y)[0], family.density(theta - step, Y)[0]
        np.testing.assert_allclose(slopes[k], (up - down) / 2e-5, atol=1e-8)
        lean = (family.leaning(theta + step, Y)[0] - family.leaning(theta - step, Y)[0]) / 2e-5
        assert leaning[k] == pytest.approx(lean, abs=1e-8)


def test_a_gamma_heap_is_a_gamma_law():
    """Mean e^m, variance of the rate s² times its square."""
    one = next(family for family in _FAMILIES if family.gamma and family.heaps == 1)
    masses, _slopes = one.density(np.array([np.log(0.5), np.log(0.6)]), np.linspace(-14.0, 4.0, 4001))
    rates = np.exp(np.linspace(-14.0, 4.0, 4001))
    mean = masses @ rates
    assert mean == pytest.approx(0.5, rel=1e-3)
    assert masses @ rates**2 / mean**2 - 1.0 == pytest.approx(0.36, rel=1e-3)


def test_a_known_law_is_found_again():
    """Rates seen with errors of deviation 0.5: what is left of the spread is that of the rates."""
    rng = np.random.default_rng(2)
    true = np.where(rng.random(3000) < 0.6, rng.normal(-3.0, 0.4, 3000), rng.normal(1.0, 0.4, 3000))
    seen = np.exp(-0.5 * ((Y - rng.normal(true, 0.5)[:, None]) / 0.5) ** 2)
    law = fit_rate_law(seen, Y)
    assert law.heaps == 2
    assert law.masses[Y < -1.0].sum() == pytest.approx(0.6, abs=0.03)
    slow = law.masses * (Y < -1.0) / law.masses[Y < -1.0].sum()
    assert slow @ Y == pytest.approx(-3.0, abs=0.05)
    assert np.sqrt(slow @ (Y - slow @ Y) ** 2) == pytest.approx(0.4, abs=0.06)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("number", [5, 20, 100])
def test_credible_intervals_cover(spread, number):
    """90 % intervals cover 88 to 92 % of true rates, the prior learnt from the pages themselves.

    Three binomial deviations more are left to chance. Whether rates in two heaps at five accesses lie in
    heaps of width 0.15 or 0.45 only tens of thousands of pages can tell.
    """
    pages = 40_000 if (spread, number) == ("two kinds", 5) else 4000
    rates, observations = synthetic(spread, pages, number, np.random.default_rng(4))
    chance = 3.0 * np.sqrt(0.09 / pages)
    assert 0.88 - chance <= covered(*learnt_belief(observations, 1.0), rates) <= 0.92 + chance


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.exponential(0.3, n),
        lambda rng, n: rng.gamma(2.0, 0.25, n),
        lambda rng, n: np.exp(rng.uniform(np.log(0.02), np.log(5.0), n)),
    ],
    ids=["exponential", "gamma", "log-uniform"],
)
@pytest.mark.parametrize("number", [5, 20])
def test_other_spreads_are_covered_too(draw, number):
    rng = np.random.default_rng(5)
    rates = draw(rng, 4000)
    intervals = rng.exponential(1.0, (4000, number))
    changed = rng.random(intervals.shape) < -np.expm1(-rates[:, None] * intervals)
    page = np.repeat(np.arange(4000), number)
    observations = Observations.of(page, intervals.ravel(), changed.ravel())
    assert 0.87 <= covered(*learnt_belief(observations, 1.0), rates) <= 0.935


def test_the_true_law_as_prior_covers_exactly():
    """What is left when the prior is known: the grid and its interpolation add nothing."""
    rates, observations = synthetic("two kinds", 8000, 5, np.random.default_rng(6))
    belief = Belief(RateGrid.around(1.0))
    slots = belief.add(8000)
    belief.observe(observations, slots)
    y = np.log(belief.grid.nodes(4))
    true = 0.7 * norm.pdf(y, np.log(0.05), 0.3) + 0.3 * norm.pdf(y, np.log(2.0), 0.3)
    belief.set_priors(true[None] + 1e-12)
    assert covered(belief, slots, rates) == pytest.approx(0.9, abs=0.012)


def test_few_pages_do_not_make_it_too_sure():
    """Sites of 30 pages: pages of unknown rate join them, so that intervals still cover."""
    inside = []
    for seed in range(20):
        rates, observations = synthetic("wide", 30, 20, np.random.default_rng(seed))
        inside.append(covered(*learnt_belief(observations, 1.0), rates))
    assert 0.86 <= np.mean(inside) <= 0.94


def test_every_access_a_change():
    """Nothing says how fast: the prior stays wide."""
    belief = Belief(RateGrid.around(1.0))
    slots = belief.add(200)
    belief.update(slots, np.ones(200), np.ones(200, bool))
    fit_priors(belief)
    low, high = belief.interval(slots[:1], 0.9)[0]
    assert low > 1.0
    assert high > 4.0 * low


def test_groups_have_laws_of_their_own():
    rng = np.random.default_rng(7)
    belief = Belief(RateGrid.around(1.0), groups=4)
    slots = [belief.add(count, group=group) for group, count in enumerate((300, 300, 5))]
    for places, rate in zip(slots, (3.0, 0.05, 0.5), strict=True):
        for _ in range(6):
            belief.update(places, np.ones(places.size), rng.random(places.size) < -np.expm1(-rate))
    fit_priors(belief)
    new = [belief.typical_rate(belief.add(1, group=group))[0] for group in range(4)]
    assert new[1] < new[3] < new[0]
    assert new[1] < new[2] < new[0]
    assert belief.priors.sum(axis=1) == pytest.approx(1.0)


def test_a_fine_prior_is_kept_and_coarsened():
    _rates, observations = synthetic("narrow", 300, 5, np.random.default_rng(8))
    belief, slots = learnt_belief(observations, 1.0)
    again = Belief.restore(belief.state())
    np.testing.assert_array_equal(again.interval(slots), belief.interval(slots))
    other = Belief(belief.grid)
    other.set_priors(belief.priors)
    np.testing.assert_allclose(other.priors, belief.priors, rtol=1e-12)
    np.testing.assert_allclose(belief.posterior(slots).sum(axis=1), 1.0)
    before = belief.mean_rate(slots)
    belief.learn_priors()
    assert belief.priors.shape == (1, belief.grid.points)
    assert belief.mean_rate(slots) == pytest.approx(before, rel=0.25)
    assert again.settle_priors(steps=3) == 3
    assert again.priors.shape == (1, belief.grid.points)


def test_no_pages():
    with pytest.raises(InvalidModel, match="no pages"):
        fit_priors(Belief(RateGrid.around(1.0)))
