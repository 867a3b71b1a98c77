import math

import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.laws import Deterministic, Exponential, Hyperexponential, Lognormal
from recrawl.revisit import (
    POLICIES,
    Limits,
    Pages,
    access_law,
    budget_curve,
    budget_for,
    cost_of,
    integer_gap_bound,
    lower_bound,
    make_plan,
    measure_sequence,
    obsolescence_of_template,
    optimal_frequencies,
    split_pages,
    split_plan,
)


@pytest.fixture
def pages():
    rng = np.random.default_rng(8)
    return Pages(rng.lognormal(0, 1.2, 60) / 20, rng.lognormal(0, 1, 60), rng.integers(0, 3, 60))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "access", [Deterministic(0.3), Exponential(0.3), Hyperexponential.balanced(0.3)], ids=str
)
def test_no_policy_beats_the_bound(pages, policy, access):
    plan = make_plan(pages, access, policy=policy)
    assert plan.cost >= plan.lower_bound * (1 - 1e-4)
    own = cost_of(pages, integer_gap_bound(pages, access, plan.frequency))
    if plan.measured_accesses == 0:
        assert plan.cost >= own * (1 - 1e-9) or policy in ("golden", "power-of-two")
    assert plan.obsolescence == pytest.approx(plan.cost / pages.weight.sum())
    assert 0 < plan.obsolescence_bound < plan.obsolescence < 1
    assert plan.frequency.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(plan.access_rate, plan.frequency * plan.budget)


@pytest.mark.parametrize("policy", ["golden", "power-of-two", "uniform"])
def test_closed_costs_are_those_of_the_order(policy):
    """The exact cost against the gaps of the order itself."""
    pages, access = Pages([0.5, 0.25, 0.3, 0.1, 0.05]), Exponential(0.5)
    plan = make_plan(pages, access, policy=policy)
    measured = measure_sequence(pages, access, plan.sequence(), 200_000)
    np.testing.assert_allclose(measured.obsolescence, plan.page_obsolescence, rtol=2e-4)


def test_measuring_a_cycle_is_exact():
    pages, access = Pages([0.5, 1.0, 0.2]), Lognormal(0.5, 2.0)
    plan = make_plan(pages, access, policy="uniform")
    run = measure_sequence(pages, access, plan.sequence(), 3001)
    np.testing.assert_allclose(
        run.obsolescence, obsolescence_of_template(pages, access, [0, 1, 2]), rtol=1e-12
    )
    assert run.accesses == 3001
    assert run.short.size == 0


def test_rare_pages_are_counted():
    pages = Pages(np.append(np.full(50, 1.0), 1e-9), np.append(np.full(50, 1.0), 1e-3))
    plan = make_plan(pages, Exponential(0.1), measure_accesses=2000)
    assert plan.short_pages == 1
    assert plan.measured_accesses == 2000


def test_units():
    law = Exponential(0.5)
    assert access_law(law) is law
    assert access_law(budget=4.0) == Deterministic(0.25)
    assert access_law(law, budget=4.0) == Exponential(0.25)
    assert access_law(law, robots=5) == Exponential(0.1)
    assert make_plan(Pages([1.0]), budget=4.0).budget == 4.0
    for bad in (
        {"access": law, "robots": 0},
        {"access": law, "robots": 1.5},
        {},
        {"budget": -1.0},
        {"budget": math.nan},
    ):
        with pytest.raises(InvalidModel):
            access_law(**bad)


def test_limits_are_kept(pages):
    limits = Limits(max_interval=120.0, min_interval=2.0, site_rate=[1.0, math.inf, 0.9])
    for policy in ("windows", "golden", "index", "bracket", "due-time", "randomised"):
        plan = make_plan(pages, Exponential(0.3), policy=policy, limits=limits)
        assert (1 / plan.access_rate <= 120.0 * (1 + 1e-9)).all()
        assert (1 / plan.access_rate >= 2.0 * (1 - 1e-9)).all()
        used = np.bincount(pages.site, weights=plan.access_rate)
        assert used[0] <= 1.0 + 1e-9
        assert used[2] <= 0.9 + 1e-9
        assert plan.never_visited.size == 0


def test_limits_cost_something(pages):
    free = make_plan(pages, Exponential(0.3), policy="golden")
    held = make_plan(pages, Exponential(0.3), policy="golden", limits=Limits(site_rate=1.0))
    assert held.lower_bound > free.lower_bound
    assert held.site_price.max() > 0
    assert held.unused > 0
    order = held.sequence().take(10_000)
    assert np.mean(order == -1) == pytest.approx(held.unused, abs=0.01)


def test_a_site_rate_is_kept_by_the_order(pages):
    plan = make_plan(pages, Deterministic(0.25), limits=Limits(site_rate=[0.8, 2.0, 3.0]))
    order = plan.sequence().take(40_000)
    used = np.bincount(pages.site[order[order >= 0]], minlength=3) / (40_000 * 0.25)
    assert used[0] <= 0.8 * 1.001


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "nearest"}, "unknown policy 'nearest'"),
        ({"policy": "uniform", "limits": Limits(max_interval=5.0)}, "cannot keep limits"),
        (
            {"limits": Limits(max_interval=1.0)},
            "max_interval needs 60 accesses per unit time, above the budget",
        ),
        ({"limits": Limits(max_interval=-1.0)}, "max_interval must be positive"),
        ({"limits": Limits(site_rate=-1.0)}, "site_rate must not be negative"),
    ],
)
def test_impossible_plans(pages, arguments, message):
    with pytest.raises(InvalidModel, match=message):
        make_plan(pages, Exponential(0.3), **arguments)


def test_index_refuses_very_many_pages():
    with pytest.raises(InvalidModel, match="above 50000 pages use windows"):
        make_plan(Pages(np.ones(50_001)), Exponential(1.0), policy="index")


def test_nothing_changes():
    with pytest.raises(InvalidModel, match="nothing to be proportional to"):
        make_plan(Pages([0.0]), Exponential(1.0), policy="proportional")
    with pytest.raises(InvalidModel, match="nothing to access"):
        make_plan(Pages([0.0]), Exponential(1.0)).sequence()


def test_more_budget_buys_less_and_less(pages):
    points = budget_curve(pages, [1.0, 2.0, 4.0, 8.0, 16.0], Exponential(1.0))
    costs = np.array([point.cost for point in points])
    assert (np.diff(costs) < 0).all()
    assert (np.diff([point.price for point in points]) < 0).all()
    for point in points:
        law = Exponential(1.0 / point.budget)
        cost = cost_of(pages, lower_bound(pages, law, optimal_frequencies(pages, law).frequency))
        assert point.cost == pytest.approx(cost)


@pytest.mark.parametrize("target", [0.9, 0.3, 0.05, 0.001])
def test_budget_for_a_target(pages, target):
    for access in (None, Hyperexponential.balanced(1.0)):
        point = budget_for(pages, target, access)
        assert point.obsolescence == pytest.approx(target, rel=1e-8)
        assert budget_curve(pages, [0.99 * point.budget], access)[0].obsolescence > target


def test_targets_within_limits(pages):
    floors = Limits(max_interval=10.0)
    assert budget_for(pages, 0.9, limits=floors).budget == pytest.approx(6.0, rel=1e-6)
    assert budget_for(pages, 0.02, limits=floors).obsolescence == pytest.approx(0.02, rel=1e-8)
    with pytest.raises(InvalidModel, match="caps and ceilings keep the obsolescence at"):
        budget_for(pages, 0.01, limits=Limits(min_interval=20.0))
    for bad in (0.0, 1.0, -3.0, math.nan):
        with pytest.raises(InvalidModel, match="target_obsolescence must be between 0 and 1"):
            budget_for(pages, bad)
    with pytest.raises(InvalidModel, match="no page ever changes"):
        budget_for(Pages([0.0]), 0.5)
    with pytest.raises(InvalidModel, match="any budget"):
        budget_for(Pages([1.0, 0.0], [1.0, 9.0]), 0.5)


def test_splitting_pages_balances_and_costs_little():
    rng = np.random.default_rng(0)
    many = Pages(rng.lognormal(0, 1, 2000) / 500, rng.lognormal(0, 1, 2000))
    few = many.subset(np.arange(20))
    for pages, most in ((many, 1e-4), (few, 0.1)):
        split = split_plan(pages, Deterministic(1.0), 4)
        assert 0 <= split.penalty < most
        for robot, plan in enumerate(split.plans):
            assert plan.frequency.sum() == pytest.approx(1.0)
            assert len(plan.pages) == (split.robot == robot).sum()
        assert split.bound < split.cost < 1.1 * split.bound
        assert split.per_page("access_rate").sum() == pytest.approx(4.0)
    assert split_plan(few, Exponential(1.0), 4).penalty > split_plan(many, Exponential(1.0), 4).penalty
    load = np.bincount(split_pages(np.full(10, 0.1), 3), minlength=3)
    assert sorted(load.tolist()) == [3, 3, 4]
    with pytest.raises(InvalidModel, match="21 robots for 20 pages"):
        split_plan(few, Exponential(1.0), 21)
    with pytest.raises(InvalidModel, match="whole number"):
        split_pages([1.0], 0)
