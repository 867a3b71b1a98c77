"""Thresholds: enumeration, ties, descent."""

from itertools import combinations, combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.control import Evaluator, Policy, best_thresholds, cost_curve, measure, modes_of
from recrawl.control import policies as policies_module
from recrawl.control.model import Costs, Model
from recrawl.control.policies import Combination, _least, mode_sets, threshold_policies
from recrawl.laws import Bmap, PhaseType
from recrawl.papers._threshold_models import base_model, crawler_model, with_obsolescence_variance


def test_table_1():
    optimum = best_thresholds(base_model())
    assert optimum.best == Combination((3, 1), (2,), pytest.approx(63.5425, abs=1e-4))
    assert optimum.profit_percent == pytest.approx(28.927, abs=1e-3)
    assert len(optimum.combinations) == 15
    found = {c.modes: c.thresholds for c in optimum.combinations}
    assert found[4, 3, 2, 1] == (0, 2, 2)
    assert found[4, 2, 1] == (1, 2)
    assert optimum.search == "enumeration"
    assert optimum.policies == 84  # distinct ways to fall from 4 to 1 robots over six levels


def test_table_5_thresholds():
    found = {c.modes: c.thresholds for c in best_thresholds(crawler_model()).combinations}
    assert found[4, 1] == (2,)
    assert found[4, 3] == (3,)
    assert found[3, 2, 1] == (0, 0)
    assert found[4, 3, 2, 1] == (2, 2, 2)


@settings(max_examples=15)
@given(st.integers(0, 2**31))
def test_enumeration_is_the_best_of_all_policies(random_model, seed):
    model = random_model(seed, capacity=2 + seed % 2)
    optimum = best_thresholds(model)
    costs = []
    for size in range(1, len(model.modes) + 1):
        for modes in combinations(sorted(model.numbers, reverse=True), size):
            choices = combinations_with_replacement(range(model.capacity), size - 1)
            costs += [measure(model, Policy(modes, thresholds)).cost for thresholds in choices]
    assert optimum.best.cost == pytest.approx(min(costs), rel=1e-8)
    assert measure(model, optimum.best.policy).cost == pytest.approx(optimum.best.cost, rel=1e-8)


def test_ties_go_to_fewest_modes_then_smallest_thresholds():
    same = Bmap.poisson(0.5)
    model = Model(4, PhaseType([1.0], [[-1.0]]), modes_of([same, same]), Costs(1, 1, 1, 0, 1))
    optimum = best_thresholds(model)
    assert len(optimum.best.modes) == 1  # robots cost nothing and do nothing: every policy costs the same
    assert {c.thresholds for c in optimum.combinations} == {(), (0,)}
    near = [
        Combination((2, 1), (1,), 1.0),
        Combination((2, 1), (0,), 1.0 + 1e-14),
        Combination((2,), (), 1.0),
    ]
    assert _least(near) == near[2]
    assert _least(near[:2]) == near[1]
    assert _least([*near, Combination((2, 1), (3,), 0.9)]).thresholds == (3,)


@pytest.mark.parametrize("capacity", [5, 12])
def test_descent_finds_what_enumeration_finds(monkeypatch, capacity):
    model = base_model(capacity)
    enumerated = best_thresholds(model)
    monkeypatch.setattr(policies_module, "_BUDGET", 0.0)
    descended = best_thresholds(model)
    assert descended.search == "descent"
    assert descended.best == enumerated.best
    for ours, theirs in zip(descended.combinations, enumerated.combinations, strict=True):
        assert ours.cost == pytest.approx(theirs.cost, rel=1e-9)
    assert descended.policies < enumerated.policies or capacity == 5


def test_curves_are_costs():
    evaluator = Evaluator(base_model())
    curve = cost_curve(evaluator, (3, 1))
    assert len(curve) == 5
    assert curve.argmin() == 2
    assert curve[3] == pytest.approx(measure(base_model(), Policy((3, 1), (3,))).cost, rel=1e-12)


@pytest.mark.parametrize(
    "model",
    [base_model(3), with_obsolescence_variance(3.0, 3), with_obsolescence_variance(3.0, 7)],
    ids=["plain", "ordered", "sweeps"],
)
@pytest.mark.parametrize("order", ["fifo", "random"])
def test_all_ways_of_evaluation_agree(model, order):
    model = Model(model.capacity, model.service, model.modes, model.costs, model.obsolescence, order=order)
    evaluator = Evaluator(model)
    for policy in (Policy((3, 1), (1,)), Policy((4, 2, 1), (0, 1))):
        cost = evaluator.costs([model.assignment(policy)])[0]
        assert cost == pytest.approx(measure(model, policy).cost, rel=1e-9)


def test_random_order_without_obsolescence_uses_littles_law():
    base = base_model(4)
    costs = [
        Evaluator(Model(4, base.service, base.modes, base.costs, None, order=order)).costs([(2, 2, 0, 0, 0)])[
            0
        ]
        for order in ("fifo", "random")
    ]
    assert costs[0] == pytest.approx(costs[1], rel=1e-11)


def test_sets_and_thresholds_are_complete():
    assert mode_sets(base_model())[:6] == [(1,), (2,), (3,), (4,), (2, 1), (3, 1)]
    assert [p.thresholds for p in threshold_policies((3, 2, 1), 2)] == [(0, 0), (0, 1), (1, 1)]
