"""Different robots against all combinations."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.fleet import Costs, RobotGroup, allocate, optimal_robots, robots, solve
from recrawl.laws import Exponential, TwoTask

group = st.tuples(
    st.floats(0.03, 0.9), st.integers(0, 4), st.integers(0, 1), st.sampled_from([0.0, 0.0, 0.003, 0.05])
)


def cheapest(groups, law, costs, capacity, most):
    best = []
    for counts in itertools.product(*[range(g.least, g.most + 1) for g in groups]):
        if 1 <= sum(counts) <= most:
            rate = sum(n * g.rate for n, g in zip(counts, groups, strict=True))
            price = sum(n * (g.price + costs.robot) for n, g in zip(counts, groups, strict=True))
            best.append(costs.of(solve(law, rate * law.mean, capacity)) + price)
    return min(best) if best else None


@settings(max_examples=80)
@given(
    st.lists(group, min_size=1, max_size=4),
    st.floats(0.1, 10.0),
    st.sampled_from([0.0, 0.01]),
    st.integers(1, 15),
    st.integers(1, 9),
)
def test_against_all_combinations(numbers, weight, robot, capacity, most):
    groups = [RobotGroup(f"g{i}", r, max(m, l), l, p) for i, (r, m, l, p) in enumerate(numbers)]
    law, costs = TwoTask(0.5, 1.0, 0.5), Costs(weight, robot=robot)
    expected = cheapest(groups, law, costs, capacity, most)
    if expected is None:
        with pytest.raises(InvalidModel, match="robots are needed and at most"):
            allocate(groups, law, costs, capacity, most_robots=most)
        return
    found = allocate(groups, law, costs, capacity, most_robots=most)
    assert found.exact
    assert found.cost == pytest.approx(expected, rel=1e-11)
    assert found.lower_bound == pytest.approx(found.cost, rel=1e-11)
    assert all(g.least <= found.robots[g.name] <= g.most for g in groups)
    assert sum(found.robots.values()) <= most
    improved = robots._improved(robots._Problem(groups, law, costs, capacity, most), 0)
    assert improved.lower_bound <= expected * (1 + 1e-9)
    assert improved.cost >= expected * (1 - 1e-9)
    assert sum(improved.robots.values()) <= most


def test_equal_robots_are_the_plain_problem():
    costs = Costs(2.0, response=0.01)
    plain = optimal_robots(Exponential(1.0), 0.07, costs, 12)
    found = allocate([RobotGroup("all", 0.07, most=60)], Exponential(1.0), costs, 12)
    assert found.robots == {"all": plain.robots}
    assert found.cost == pytest.approx(plain.cost, rel=1e-12)


def test_the_cheaper_of_two_equal_robots_runs_and_ties_take_fewer():
    dear, cheap = RobotGroup("dear", 0.5, 2, price=0.02), RobotGroup("cheap", 0.5, 2, price=0.01)
    assert allocate([dear, cheap], Exponential(1.0), Costs(1.0), 10).robots == {"dear": 0, "cheap": 2}
    one, two = RobotGroup("one", 1.0), RobotGroup("two", 0.5, 2)
    assert allocate([two, one], Exponential(1.0), Costs(1.0), 10).robots == {"two": 0, "one": 1}


def test_areas_that_must_be_covered_are():
    far = RobotGroup("far", 0.05, most=5, least=2, price=0.5)
    near = RobotGroup("near", 0.2, most=10)
    found = allocate([far, near], Exponential(1.0), Costs(1.0), 10)
    assert found.robots == {"far": 2, "near": 5}  # load 1.1: cheaper than 0.9, which costs what 1/0.9 does


def test_very_many_combinations_come_with_a_bound():
    groups = [RobotGroup(f"g{i}", 0.013 + 0.001 * i, 3, price=0.0005 * (i % 7)) for i in range(30)]
    found = allocate(groups, Exponential(1.0), Costs(1.0), 10)
    assert not found.exact
    assert found.combinations == 4**30
    assert found.lower_bound <= found.cost <= found.lower_bound * 1.02


def test_bad_groups():
    with pytest.raises(InvalidModel, match="rate of x must be a positive number, not 0"):
        RobotGroup("x", 0.0)
    with pytest.raises(InvalidModel, match="x must have whole numbers 0 <= least <= most, not 3 and 2"):
        RobotGroup("x", 1.0, most=2, least=3)
    with pytest.raises(InvalidModel, match="at least one group"):
        allocate([], Exponential(1.0), Costs(1.0), 10)
    with pytest.raises(InvalidModel, match="different names"):
        allocate([RobotGroup("x", 1.0)] * 2, Exponential(1.0), Costs(1.0), 10)
