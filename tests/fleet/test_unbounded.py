"""Obsolescence in the buffer: against M/G/1/K without it, birth-death chains with it, and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.errors import InvalidModel, NotConverged
from recrawl.fleet import limit_cost, smallest_capacity, solve, solve_obsolescent, unbounded_obsolescent
from recrawl.laws import Deterministic, Exponential, Gamma, Lognormal, TwoTask, Uniform

LAWS = [
    Exponential(1.0),
    Deterministic(2.0),
    Gamma(1.0, 3.0),
    Lognormal(1.0, 5.0),
    Uniform(0.0, 2.0),
    TwoTask(2.0, 10.0, 0.3),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("capacity", [1, 2, 7, 30])
@pytest.mark.parametrize("load", [0.5, 1.0, 3.0])
def test_without_obsolescence_it_is_the_other_recursion(law, capacity, load):
    one, two = solve_obsolescent(law, load, capacity, 0.0), solve(law, load, capacity)
    assert one.starvation == pytest.approx(two.starvation, rel=1e-12)
    assert one.loss == pytest.approx(two.loss, rel=1e-12, abs=1e-17)
    assert one.mean_queue == pytest.approx(two.mean_queue, rel=1e-12)
    assert one.obsolete == 0.0


@settings(max_examples=40)
@given(st.floats(0.1, 5.0), st.integers(1, 40), st.floats(0.001, 10.0))
def test_exponential_service_is_a_birth_death_chain(load, capacity, theta):
    ratios = np.cumprod([1.0, *[load / (1.0 + i * theta) for i in range(capacity)]])
    law = ratios / ratios.sum()
    found = solve_obsolescent(Exponential(1.0), load, capacity, theta)
    waiting = np.maximum(np.arange(capacity + 1) - 1, 0)
    assert found.starvation == pytest.approx(law[0], rel=1e-11)
    assert found.loss == pytest.approx(law[-1], rel=1e-9, abs=1e-16)
    assert found.obsolete == pytest.approx(theta * float(waiting @ law) / load, rel=1e-11)
    assert found.mean_queue == pytest.approx(float(np.arange(capacity + 1) @ law), rel=1e-11)


@settings(max_examples=40)
@given(st.sampled_from(LAWS), st.floats(0.1, 3.0), st.integers(1, 25), st.floats(0.0, 2.0))
def test_every_page_is_indexed_lost_or_obsolete(law, load, capacity, theta):
    found = solve_obsolescent(law, load, capacity, theta / law.mean)
    assert load * (1 - found.loss - found.obsolete) == pytest.approx(1 - found.starvation, rel=1e-11)
    larger = solve_obsolescent(law, load, capacity + 1, theta / law.mean)
    assert larger.cost(2.0) <= found.cost(2.0) * (1 + 1e-12)


def test_unbounded_is_poisson_when_pages_expire_as_fast_as_they_are_indexed():
    found = unbounded_obsolescent(Exponential(1.0), 1.5, 1.0)
    assert found.starvation == pytest.approx(math.exp(-1.5), rel=1e-13)
    assert found.mean_queue == pytest.approx(1.5, rel=1e-13)
    assert found.loss < 1e-15


@pytest.mark.parametrize("theta", [0.0, 0.1])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_smallest_capacity_is_the_smallest(law, theta):
    answer = smallest_capacity(law, 0.9, 2.0, obsolescence_rate=theta / law.mean, tolerance=0.02)

    def cost(capacity):
        if theta:
            return solve_obsolescent(law, 0.9, capacity, theta / law.mean).cost(2.0)
        return solve(law, 0.9, capacity).cost(2.0)

    assert cost(answer.capacity) <= answer.limit + 0.02
    assert cost(answer.capacity - 1) > answer.limit + 0.02
    if not theta:
        assert answer.limit == limit_cost(0.9, 2.0)


def test_obsolescence_needs_a_smaller_buffer():
    law = TwoTask(2.0, 10.0, 0.3)
    patient, impatient = (
        smallest_capacity(law, 0.95, 2.0, obsolescence_rate=r, tolerance=0.01) for r in (0.0, 0.02)
    )
    assert impatient.capacity < patient.capacity


def test_bad_input():
    with pytest.raises(InvalidModel, match="obsolescence rate must be a number not below zero, not -1"):
        solve_obsolescent(Exponential(1.0), 1.0, 3, -1.0)
    with pytest.raises(InvalidModel, match="capacity must be at most 2048 with obsolescence, not 5000"):
        solve_obsolescent(Exponential(1.0), 1.0, 5000, 0.1)
    with pytest.raises(InvalidModel, match="tolerance must be a positive number, not 0"):
        smallest_capacity(Exponential(1.0), 1.0, 2.0, tolerance=0)
    with pytest.raises(NotConverged, match="within 1e-12 of the limit 0"):
        smallest_capacity(Exponential(1.0), 1.0, 2.0, tolerance=1e-12)
