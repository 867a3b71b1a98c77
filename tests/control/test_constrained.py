"""Limits instead of prices, and fronts."""

from dataclasses import replace

import pytest

from recrawl.control import Evaluator, Limits, Policy, best_thresholds, best_within, measure, pareto_front
from recrawl.control.constrained import _all_policies
from recrawl.control.model import Costs
from recrawl.errors import InvalidModel
from recrawl.papers._threshold_models import base_model


@pytest.fixture(scope="module")
def evaluator():
    return Evaluator(base_model())


@pytest.fixture(scope="module")
def measured(evaluator):
    return [(policy, measure(evaluator.model, policy)) for policy in _all_policies(evaluator.model)]


def brute(measured, costs, limits):
    """The cheapest policy within limits, by measuring every one."""
    within = []
    for policy, found in measured:
        values = {
            "loss": found.loss,
            "obsolete": found.obsolete,
            "response": found.response_time,
            "robot": found.active_robots,
            "starvation": found.starvation,
        }
        if all(values[name] <= limit * (1 + 1e-12) for name, limit in limits.named.items()):
            rates = {**values, "loss": found.loss * found.arrival_rate}
            rates["obsolete"] = found.obsolete * found.arrival_rate
            rest = sum(getattr(costs, n) * v for n, v in rates.items() if n not in limits.named)
            within.append((rest, policy))
    return min(within, key=lambda pair: pair[0]) if within else None


@pytest.mark.parametrize(
    "limits",
    [
        Limits(loss=0.15),
        Limits(starvation=0.07, response=1.8),
        Limits(robot=1.6),
        Limits(obsolete=0.2, loss=0.3),
    ],
)
def test_the_cheapest_within_limits(evaluator, measured, limits):
    found = best_within(evaluator, limits)
    rest, _ = brute(measured, evaluator.model.costs, limits)
    assert found.feasible
    assert found.rest == pytest.approx(rest, rel=1e-10)
    assert found.gap >= -1e-6 * found.rest
    for name, limit in limits.named.items():
        assert found.values[name] <= limit * (1 + 1e-12)


def test_infeasible_limits_say_so(evaluator, measured):
    limits = Limits(starvation=0.01)
    assert brute(measured, evaluator.model.costs, limits) is None
    found = best_within(evaluator, limits)
    assert not found.feasible
    assert found.policy == Policy((3, 1), (4,))  # nobody starves less
    assert found.multipliers == {}


def test_multipliers_are_cost_coefficients():
    """A limit at the value of the priced optimum implies a price under which that optimum stays optimal."""
    model = base_model()
    best = best_thresholds(model).best.policy
    limit = measure(model, best).starvation
    found = best_within(Evaluator(model), Limits(starvation=limit * (1 + 1e-9)))
    assert found.policy == best
    assert found.gap == pytest.approx(0.0, abs=1e-5)
    priced = replace(
        model, costs=replace(model.costs, starvation=found.multipliers["starvation"] * (1 + 1e-6))
    )
    again = best_thresholds(priced).best
    assert again.cost == pytest.approx(measure(priced, best).cost, rel=1e-5)


def test_a_limit_that_does_not_bind_costs_nothing(evaluator):
    found = best_within(evaluator, Limits(response=100.0))
    assert found.multipliers == {"response": pytest.approx(0.0, abs=1e-9)}
    free = best_thresholds(replace(evaluator.model, costs=Costs(5, 10, 0, 20, 300)))
    assert found.rest == pytest.approx(free.best.cost, rel=1e-9)


def test_nothing_beats_the_front(evaluator, measured):
    front = pareto_front(evaluator, ["loss", "starvation"])
    points = [(found.loss, found.starvation) for _, found in measured]
    for point in front:
        assert not any(a < point.values[0] - 1e-9 and b < point.values[1] - 1e-9 for a, b in points)
    for a, b in points:
        assert any(p.values[0] <= a + 1e-9 and p.values[1] <= b + 1e-9 for p in front)
    assert [p.values[0] for p in front] == sorted(p.values[0] for p in front)


def test_larger_is_better_for_success(evaluator):
    front = pareto_front(evaluator, ["success", "robot"])
    assert len(front) >= 1
    assert front[0].values[0] == max(p.values[0] for p in front)


def test_bad_requests(evaluator):
    with pytest.raises(InvalidModel, match="at least one limit"):
        Limits()
    with pytest.raises(InvalidModel, match="limit on loss must be a number not below zero, not -1"):
        Limits(loss=-1)
    with pytest.raises(InvalidModel, match="cannot trade 'beauty'"):
        pareto_front(evaluator, ["loss", "beauty"])
    with pytest.raises(InvalidModel, match="two different measures"):
        pareto_front(evaluator, ["loss", "loss"])
