"""Best load and best number of robots against brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.fleet import (
    Costs,
    limit_robots,
    local_minima,
    mm1k,
    optimal_load,
    optimal_robots,
    optimum,
    robot_curve,
    solve,
)
from recrawl.fleet.mg1k import IndexQueue
from recrawl.laws import (
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    TwoTask,
    Uniform,
)

LAWS = [
    Exponential(2.0),
    Deterministic(1.0),
    Gamma(1.0, 4.0),
    Hyperexponential.balanced(1.0, 30.0),
    Lognormal(1.0, 3.0),
    Uniform(0.0, 1.0),
    TwoTask(2.0, 10.0, 0.35),
    Empirical([0.1] * 9 + [10.0]),
]

random_costs = st.builds(
    Costs,
    st.floats(0.05, 50.0),
    st.sampled_from([0.0, 0.0, 0.05, 0.5]),
    st.sampled_from([0.0, 0.0, 0.001, 0.05]),
)


@settings(max_examples=120)
@given(st.sampled_from(LAWS), st.floats(0.02, 1.5), random_costs, st.integers(2, 30))
def test_robots_against_all_numbers_of_robots(law, per_robot, costs, capacity):
    rate = per_robot / law.mean
    found = optimal_robots(law, rate, costs, capacity, max_robots=150)
    all_costs = np.array([cost for _, cost, _ in robot_curve(law, rate, costs, capacity, range(1, 151))])
    assert found.cost == pytest.approx(all_costs.min(), rel=1e-12)
    assert all_costs[found.robots - 1] == found.cost
    # No number with fewer robots is cheaper or equal beyond rounding.
    assert (all_costs[: found.robots - 1] > found.cost * (1 - 1e-12)).all()
    unlimited = optimal_robots(law, rate, costs, capacity)
    assert unlimited.cost <= found.cost
    assert (unlimited.robots > 150) == (unlimited.cost < found.cost)
    assert found.limit <= (unlimited.robots > 150)


@settings(max_examples=60)
@given(st.floats(0.01, 2.0), st.floats(0.05, 20.0), st.integers(2, 200))
def test_proposition_2_looks_at_the_two_neighbours(per_robot, weight, capacity):
    load = mm1k.optimal_load(weight, capacity)
    beside = {max(1, int(load / per_robot)), max(1, -int(-load // per_robot))}
    assert optimal_robots(Exponential(1.0), per_robot, Costs(weight), capacity).robots in beside


@settings(max_examples=40)
@given(st.sampled_from(LAWS), st.floats(0.05, 50.0), st.integers(2, 40), st.sampled_from([0.0, 0.2]))
def test_no_load_on_a_fine_grid_beats_the_optimum(law, weight, capacity, response):
    costs = Costs(weight, response / law.mean)
    try:
        best = optimal_load(law, weight, capacity, response_weight=costs.response)
    except InvalidModel:
        # Then the indexer had better never work: the cost rises from load zero on.
        assert costs.of(solve(law, 1e-6, capacity)) < costs.of(solve(law, 1e-2, capacity))
        return
    grid = [costs.of(solve(law, load, capacity)) for load in np.geomspace(1e-3, 60.0, 300)]
    assert best.cost <= min(grid) * (1 + 1e-10)
    assert best.lower_bound <= best.cost
    assert best.lower_bound >= best.cost * (1 - 1.001e-3)
    assert best.cost == pytest.approx(costs.of(best.queue), rel=1e-15)


@pytest.mark.parametrize(("weight", "capacity"), [(0.2, 4), (2.0, 10), (30.0, 3)])
def test_exponential_service_agrees_with_lemma_1(weight, capacity):
    by_search = optimal_load(Gamma(1.0, 1.0), weight, capacity)
    assert by_search.load == pytest.approx(mm1k.optimal_load(weight, capacity), rel=1e-7)
    assert by_search.cost == pytest.approx(
        mm1k.cost(mm1k.optimal_load(weight, capacity), weight, capacity), rel=1e-13
    )


def test_price_of_load_is_a_price_of_robots():
    law = TwoTask(2.0, 10.0, 0.35)
    many = optimal_robots(law, 1e-4, Costs(2.0, robot=1e-5), 10)
    best = optimal_load(law, 2.0, 10, load_price=1e-5 / (1e-4 * law.mean))
    assert best.load == pytest.approx(many.queue.load, abs=1e-3)
    assert best.cost == pytest.approx(many.cost, rel=1e-6)
    assert best.load < optimal_load(law, 2.0, 10).load


def test_limits_of_the_number_of_robots():
    limited = optimal_robots(Exponential(1.0), 0.1, Costs(2.0), 10, max_robots=3)
    assert (limited.robots, limited.limit) == (3, True)
    assert not optimal_robots(Exponential(1.0), 0.1, Costs(2.0), 10, max_robots=50).limit
    with pytest.raises(InvalidModel, match="max robots must be at least 1, not 0"):
        optimal_robots(Exponential(1.0), 0.1, Costs(2.0), 10, max_robots=0)


def test_one_place_has_no_optimal_load_but_a_best_allowed_number():
    with pytest.raises(InvalidModel, match="capacity 1 has no optimal load"):
        optimal_robots(Deterministic(1.0), 0.5, Costs(2.0), 1)
    assert optimal_robots(Deterministic(1.0), 0.5, Costs(2.0), 1, max_robots=7).robots == 7
    assert optimal_robots(Deterministic(1.0), 0.5, Costs(0.5), 1).robots == 1
    with pytest.raises(InvalidModel, match="capacity must be a whole number from 2, not 1"):
        optimal_load(Deterministic(1.0), 2.0, 1)


@pytest.mark.parametrize("weight", [0.5, 2.0, 7.0])
@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5, 5.5, 6.0, 7.3])
def test_limit_robots_are_those_of_a_huge_buffer(ratio, weight):
    expected = optimal_robots(Exponential(1.0), 1 / ratio, Costs(weight), 10**6).robots
    assert limit_robots(Exponential(1.0), 1 / ratio, weight) == expected


def test_several_minima_are_seen_when_there_are_several(monkeypatch):
    """A made-up cost with a valley for each wave of sin(3 ln load): the scan must name each."""

    def wavy(service, load, capacity):
        loss = 0.3 + 0.1 * math.sin(3 * math.log(load)) + 0.01 * math.log(load) ** 2
        return IndexQueue(service, load, capacity, 1e-9, loss, 1.0, "made up")

    monkeypatch.setattr(optimum, "solve", wavy)
    found = local_minima(Exponential(1.0), 1.0, 5)
    logs = np.linspace(math.log(1e-6), math.log(max(found)) + 0.5, 20_001)
    values = np.array([wavy(None, math.exp(x), 5).loss for x in logs])
    inner = (values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])
    assert len(found) >= 3
    assert np.log(found) == pytest.approx(logs[1:-1][inner], abs=1e-3)
