import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import lambertw

from recrawl.errors import InvalidModel
from recrawl.laws import Deterministic, Exponential, Hyperexponential, Lognormal
from recrawl.revisit import (
    Pages,
    _problem,
    access_value,
    cost_of,
    frequencies,
    kkt_residual,
    lower_bound,
    optimal_frequencies,
    proportional_frequencies,
    randomised_obsolescence,
    randomised_proportional_frequencies,
)
from recrawl.revisit import _kernels as kernels

LAWS = [Deterministic(0.2), Exponential(0.2), Hyperexponential.balanced(0.2, 9.0), Lognormal(0.2, 3.0)]


def random_instance(seed, size, sites=4, decades=3.0):
    """Pages with floors, caps and ceilings that can be kept."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, sites, size)
    pages = Pages(10 ** rng.uniform(-decades, decades, size), 10 ** rng.uniform(-1, 1, size), site)
    floor = np.where(rng.random(size) < 0.3, rng.uniform(0, 0.5 / size, size), 0.0)
    cap = np.where(rng.random(size) < 0.3, floor + rng.uniform(0.1 / size, 8.0 / size, size), np.inf)
    ceiling = np.where(rng.random(sites) < 0.5, 0.0, np.inf)
    needed = np.bincount(site, weights=floor, minlength=sites)
    ceiling = np.where(ceiling == 0.0, needed + rng.uniform(0.02, 0.3, sites), np.inf)
    return pages, floor, cap, ceiling


@given(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from(LAWS), st.booleans())
def test_kkt_conditions_hold_with_every_kind_of_bound(seed, size, access, randomised):
    pages, floor, cap, ceiling = random_instance(seed, size)
    bounds = {"floor": floor, "cap": cap, "site_ceiling": ceiling}
    found = optimal_frequencies(pages, access, **bounds, randomised=randomised)
    assert kkt_residual(pages, access, found, **bounds) < 1e-10
    assert found.frequency.sum() + found.unused == pytest.approx(1.0, abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 200), st.sampled_from(LAWS))
def test_kkt_conditions_hold_without_bounds_over_twelve_decades(seed, size, access):
    rng = np.random.default_rng(seed)
    pages = Pages(10 ** rng.uniform(-6, 6, size), 10 ** rng.uniform(-3, 3, size))
    found = optimal_frequencies(pages, access)
    assert kkt_residual(pages, access, found) < 1e-10
    assert found.unused == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_no_numerical_optimiser_does_better(seed):
    pages, floor, cap, ceiling = random_instance(seed, 6, sites=2, decades=1.0)
    access = Exponential(0.2)
    found = optimal_frequencies(pages, access, floor=floor, cap=cap, site_ceiling=ceiling)
    if found.unused:
        pytest.skip("nothing to optimise: the caps decide")

    def cost(x):
        return cost_of(pages, lower_bound(pages, access, np.clip(x, 0, None) / max(1.0, x.sum())))

    constraints = [{"type": "eq", "fun": lambda x: x.sum() - 1.0}]
    constraints += [
        {"type": "ineq", "fun": lambda x, s=s: ceiling[s] - x[pages.site == s].sum()}
        for s in range(2)
        if np.isfinite(ceiling[s])
    ]
    limits = list(zip(floor, np.minimum(cap, 1.0), strict=True))
    start = np.clip(np.full(6, 1 / 6), floor, np.minimum(cap, 1.0))
    rival = minimize(
        cost, start, bounds=limits, constraints=constraints, method="SLSQP", options={"maxiter": 500}
    )
    own = cost(found.frequency)
    feasible = abs(rival.x.sum() - 1.0) < 1e-6
    assert feasible
    assert own <= rival.fun + 1e-6


@pytest.mark.parametrize("access", LAWS, ids=str)
def test_proportional_weights_give_the_closed_forms(access):
    rates = np.geomspace(1e-3, 1e3, 40)
    pages = Pages(rates, 4.0 * rates)
    np.testing.assert_allclose(
        optimal_frequencies(pages, access).frequency, proportional_frequencies(pages, access), rtol=1e-11
    )
    np.testing.assert_allclose(
        optimal_frequencies(pages, access, randomised=True).frequency,
        randomised_proportional_frequencies(pages, access),
        rtol=1e-11,
    )


def test_randomised_active_set_by_sorting():
    """The optimum of (12) with general weights, by the finite algorithm over sorted pages."""
    rng = np.random.default_rng(3)
    pages, access = Pages(rng.lognormal(0, 2, 50), rng.lognormal(0, 1, 50)), Exponential(0.05)
    odds, worth = np.expm1(pages.exponents(access)), np.sqrt(pages.weight / pages.change_rate)
    order = np.argsort(-worth)
    for size in range(1, 51):
        active = order[:size]
        root = (worth[active] @ odds[active]) / (1.0 + odds[active].sum())
        if worth[active[-1]] > root and (size == 50 or worth[order[size]] <= root):
            break
    expected = np.zeros(50)
    expected[active] = (worth[active] / root - 1.0) * odds[active]
    found = optimal_frequencies(pages, access, randomised=True)
    assert 0 < size < 50
    np.testing.assert_allclose(found.frequency, expected, atol=1e-12)
    assert found.price == pytest.approx(root**2)
    rival = optimal_frequencies(pages, access).frequency
    own_cost = cost_of(pages, randomised_obsolescence(pages, access, found.frequency))
    assert own_cost < cost_of(pages, randomised_obsolescence(pages, access, rival))


def test_value_is_the_derivative_of_the_cost():
    rng = np.random.default_rng(0)
    pages, access = Pages(rng.lognormal(0, 1, 5), rng.lognormal(0, 1, 5)), Exponential(0.3)
    x = np.array([0.1, 0.2, 0.3, 0.15, 0.05])
    for randomised, rates in ((False, lower_bound), (True, randomised_obsolescence)):
        value = access_value(pages, access, x, randomised=randomised)
        for i in range(5):
            up, down = x.copy(), x.copy()
            up[i] += 1e-6
            down[i] -= 1e-6
            slope = (
                cost_of(pages, rates(pages, access, down)) - cost_of(pages, rates(pages, access, up))
            ) / 2e-6
            # Per access: a share x of the budget 1/E[X] is x/E[X] accesses per unit time.
            assert value[i] == pytest.approx(slope * access.mean, rel=1e-5)


def test_price_is_what_one_more_access_buys():
    rng = np.random.default_rng(1)
    pages = Pages(rng.lognormal(0, 1.5, 100), rng.lognormal(0, 1, 100))

    def cost(budget):
        access = Deterministic(1.0 / budget)
        return cost_of(pages, lower_bound(pages, access, optimal_frequencies(pages, access).frequency))

    price = optimal_frequencies(pages, Deterministic(1 / 50.0)).price
    assert (cost(49.99) - cost(50.01)) / 0.02 == pytest.approx(price, rel=1e-5)


def test_gap_equation_against_lambert_w():
    """Away from its branch point the Lambert function has its digits."""
    a = np.linspace(0.01, 0.999, 200)
    z = np.array([kernels.solve_gap(x, 2) for x in a])
    np.testing.assert_allclose(z, -1.0 - lambertw(-(1.0 - a) / math.e, -1).real, rtol=1e-11)


@given(st.floats(1e-25, 1 - 1e-9))
def test_gap_equation_everywhere(a):
    z = kernels.solve_gap(a, 2)
    assert kernels.gain(z) == pytest.approx(a, rel=1e-13)


def test_one_page_takes_everything():
    found = optimal_frequencies(Pages([3.0]), Exponential(1.0))
    assert found.frequency.tolist() == [1.0]
    assert found.price == pytest.approx(access_value(Pages([3.0]), Exponential(1.0), [1.0])[0])


def test_pages_that_never_change_get_their_floor_only():
    found = optimal_frequencies(Pages([0.0, 1.0, 0.0]), Exponential(1.0), floor=[0.1, 0.0, 0.0])
    np.testing.assert_allclose(found.frequency, [0.1, 0.9, 0.0], rtol=1e-14)
    assert found.never_visited.tolist() == [2]


def test_when_nothing_changes_the_budget_is_unused():
    found = optimal_frequencies(Pages([0.0, 0.0]), Exponential(1.0), floor=[0.25, 0.0])
    assert found.frequency.tolist() == [0.25, 0.0]
    assert found.unused == 0.75
    assert found.price == 0.0


def test_caps_and_ceilings_leave_budget_unused():
    pages = Pages([1.0, 2.0, 1.0], site=[0, 0, 1])
    found = optimal_frequencies(pages, Exponential(1.0), cap=0.2)
    np.testing.assert_allclose(found.frequency, 0.2)
    assert found.unused == pytest.approx(0.4)
    found = optimal_frequencies(pages, Exponential(1.0), site_ceiling=[0.3, 0.25])
    assert np.bincount(pages.site, weights=found.frequency) == pytest.approx([0.3, 0.25])
    assert found.unused == pytest.approx(0.45)
    assert found.price == 0.0
    assert (found.site_price > 0).all()


def test_a_ceiling_without_sites_is_one_site():
    found = optimal_frequencies(Pages([1.0, 2.0]), Exponential(1.0), site_ceiling=[0.5])
    assert found.frequency.sum() == pytest.approx(0.5)


def test_floors_that_use_the_whole_budget():
    found = optimal_frequencies(Pages([1.0, 50.0]), Exponential(1.0), floor=[0.4, 0.6])
    np.testing.assert_allclose(found.frequency, [0.4, 0.6], rtol=1e-12)
    assert kkt_residual(Pages([1.0, 50.0]), Exponential(1.0), found, floor=[0.4, 0.6]) < 1e-10


def test_a_page_at_the_very_edge_of_being_worthless():
    # The price that would give the second page its share cannot be told from its neighbours in double precision.
    pages = Pages([1.0, 1.0], [1.0, 1.0])
    found = optimal_frequencies(pages, Deterministic(200.0))
    np.testing.assert_allclose(found.frequency, [0.5, 0.5], rtol=1e-12)
    assert kkt_residual(pages, Deterministic(200.0), found) < 1e-10


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("access", LAWS[:3], ids=str)
def test_the_way_for_millions_of_pages_agrees(monkeypatch, bounded, access):
    pages, floor, cap, ceiling = random_instance(11, 5000)
    bounds = {"floor": floor, "cap": cap, "site_ceiling": ceiling} if bounded else {}
    slow = optimal_frequencies(pages, access, **bounds)
    monkeypatch.setattr(_problem, "_SAMPLE", 100)
    calls = []
    original = _problem.Problem._spend_many

    def spy(self, *arguments):
        calls.append(original(self, *arguments))
        return calls[-1]

    monkeypatch.setattr(_problem.Problem, "_spend_many", spy)
    fast = optimal_frequencies(pages, access, **bounds)
    assert any(price is not None for price in calls)
    np.testing.assert_allclose(fast.frequency, slow.frequency, rtol=1e-9, atol=1e-14)
    assert fast.price == pytest.approx(slow.price, rel=1e-11)
    assert kkt_residual(pages, access, fast, **bounds) < 1e-10


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"floor": [0.9, 0.2]}, "the floors need 1.1 of the budget"),
        ({"floor": [0.3, 0.0], "cap": [0.2, 1.0]}, r"floor\[0\] = 0.3 is above cap\[0\] = 0.2"),
        ({"floor": [-0.1, 0.0]}, r"floor\[0\]"),
        ({"cap": [math.nan, 1.0]}, r"cap\[0\]"),
        ({"cap": [1.0]}, "cap has 1 entries for 2 pages"),
        ({"site_ceiling": [0.5]}, "site_ceiling has 1 entries for 2 sites"),
        (
            {"site_ceiling": [0.1, 1.0], "floor": [0.2, 0.0]},
            "the floors of site 0 need 0.2, above its ceiling 0.1",
        ),
    ],
)
def test_impossible_bounds(bounds, message):
    with pytest.raises(InvalidModel, match=message):
        optimal_frequencies(Pages([1.0, 1.0], site=[0, 1]), Exponential(1.0), **bounds)


def test_closed_forms_need_some_change():
    for function in (proportional_frequencies, randomised_proportional_frequencies):
        with pytest.raises(InvalidModel, match="no page ever changes"):
            function(Pages([0.0]), Exponential(1.0))


def test_the_residual_notices_a_wrong_answer():
    pages, access = Pages([1.0, 2.0]), Exponential(0.5)
    found = optimal_frequencies(pages, access)
    wrong = frequencies.Frequencies(found.frequency[::-1].copy(), found.price, found.site_price, 0.0, False)
    assert kkt_residual(pages, access, wrong) > 1e-3
