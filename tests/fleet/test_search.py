"""The search against a landscape with many valleys, and the bound that makes it exact."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.fleet import Costs, solve
from recrawl.fleet.search import Sample, branch_and_bound
from recrawl.laws import Lognormal, TwoTask


@given(
    st.floats(0.01, 8.0),
    st.floats(1.001, 4.0),
    st.floats(0.0, 1.0),
    st.integers(1, 40),
    st.floats(0.01, 30.0),
    st.floats(0.0, 2.0),
)
def test_bound_holds_inside_the_interval(low, ratio, place, capacity, starvation, response):
    service, costs = TwoTask(1.0, 4.0, 0.3), Costs(starvation, response)
    ends = [solve(service, load, capacity) for load in (low, low * ratio)]
    inside = solve(service, low * ratio**place, capacity)
    assert costs.bound(*ends) <= costs.of(inside) * (1 + 1e-12)


@pytest.mark.parametrize(("price_of_machine", "per_machine"), [(0.03, 5), (0.02, 4)])
def test_a_rugged_price_does_not_deceive_the_search(price_of_machine, per_machine):
    """Robots whose price goes up in steps make several valleys; every number is compared."""
    service, costs = Lognormal(1.0, 2.0), Costs(2.0)

    def sample(number):
        queue = solve(service, 0.05 * number, 8)
        price = price_of_machine * math.floor(number / per_machine)
        return Sample(number, queue, costs.of(queue) + price, price)

    found = branch_and_bound(
        sample, costs, [1, 100], lambda a, b: (a + b) // 2 if b - a > 1 else None, tolerance=1e-13
    )
    best = min((sample(n) for n in range(1, 101)), key=lambda s: s.cost)
    valleys = [n for n in range(2, 100) if sample(n).cost < min(sample(n - 1).cost, sample(n + 1).cost)]
    assert len(valleys) > 1
    assert (found.best.choice, found.best.cost) == (best.choice, best.cost)
    assert found.lower_bound <= best.cost
    assert len(found.samples) < 100


@pytest.mark.parametrize("field", ["starvation", "response", "robot"])
def test_costs_must_not_be_negative(field):
    with pytest.raises(InvalidModel, match=f"{field}.*not -1"):
        Costs(**{"starvation": 1.0, field: -1.0})
