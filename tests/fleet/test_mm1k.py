"""M/M/1/K against arithmetic with eighty digits."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.fleet import mm1k

LOADS = [1e-6, 0.01, 0.5, 0.999, 1 - 1e-6, 1 - 1e-10, 1 - 1e-13, 1 - 1.2e-16, 1.0, 1 + 2.3e-16]
LOADS += [1 + 1e-13, 1 + 1e-9, 1.00001, 1.001, 1.5, 40.0, 1e4]
CAPACITIES = [1, 2, 3, 10, 1000, 10**6]


def exact(load, capacity):
    """Starvation, loss and mean number of pages, from Proposition 1 as it stands."""
    with localcontext(prec=80, Emax=10**9, Emin=-(10**9)):
        rho = Decimal(load)
        if rho == 1:
            return 1 / Decimal(capacity + 1), 1 / Decimal(capacity + 1), Decimal(capacity) / 2
        power = (rho.ln() * (capacity + 1)).exp()
        none = (1 - rho) / (1 - power)
        return none, none * power / rho, rho / (1 - rho) - (capacity + 1) * power / (1 - power)


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("load", LOADS)
def test_fourteen_digits_at_every_load_and_capacity(load, capacity):
    ours = mm1k.starvation(load, capacity), mm1k.loss(load, capacity), mm1k.mean_queue(load, capacity)
    for value, reference in zip(ours, exact(load, capacity), strict=True):
        assert value == pytest.approx(float(reference), rel=2e-15, abs=1e-300)


@given(st.floats(1e-3, 1e3), st.integers(1, 300))
def test_probabilities_sum_to_one_and_flows_balance(load, capacity):
    law = mm1k.queue_length(load, capacity)
    assert law.sum() == pytest.approx(1.0, rel=1e-13)
    assert law[1:] == pytest.approx(load * law[:-1], rel=1e-12, abs=1e-300)
    assert load * (1 - law[-1]) == pytest.approx(1 - law[0], rel=1e-10, abs=1e-12 * max(1, load))
    assert mm1k.mean_queue(load, capacity) == pytest.approx(float(np.arange(capacity + 1) @ law), rel=1e-12)


def exact_optimal_load(weight, capacity):
    """The root of the paper's polynomial (4) other than 1, by bisection with eighty digits."""
    with localcontext(prec=80, Emax=10**9, Emin=-(10**9)):
        gamma, k = Decimal(weight), capacity

        def derivative(rho):
            return (
                rho ** (2 * k)
                - k * gamma * rho ** (k + 1)
                + (gamma - 1) * (k + 1) * rho**k
                + k * rho ** (k - 1)
                - gamma
            )

        near = Decimal(10) ** -25
        low, high = (1 + near, ((k + 1) * gamma) ** (1 / Decimal(k - 1))) if gamma > 1 else (near, 1 - near)
        sign = derivative(low) > 0
        for _ in range(180):
            middle = (low + high) / 2
            low, high = (middle, high) if (derivative(middle) > 0) == sign else (low, middle)
        return low


@pytest.mark.parametrize("capacity", [2, 3, 10, 200])
@pytest.mark.parametrize("weight", [1e-4, 0.3, 0.999999, 1.0000001, 1.01, 2.0, 50.0, 1e6])
def test_optimal_load_against_the_polynomial(weight, capacity):
    assert mm1k.optimal_load(weight, capacity) == pytest.approx(
        float(exact_optimal_load(weight, capacity)), rel=1e-14
    )


@given(st.floats(1e-6, 1e6), st.integers(2, 10**6))
def test_reciprocal_weights_have_reciprocal_optimal_loads(weight, capacity):
    assert mm1k.optimal_load(weight, capacity) * mm1k.optimal_load(1 / weight, capacity) == pytest.approx(
        1.0, rel=1e-13
    )


@given(st.floats(1e-3, 1e3), st.integers(2, 1000))
def test_optimum_is_no_worse_than_its_neighbours_and_within_the_bounds(weight, capacity):
    load = mm1k.optimal_load(weight, capacity)
    best = mm1k.cost(load, weight, capacity)
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert best <= mm1k.cost(load * factor, weight, capacity) * (1 + 1e-14)
    low, high = mm1k.load_bounds(weight, capacity)
    assert low * (1 - 1e-12) <= load <= high * (1 + 1e-12)
    assert load <= 1 if weight < 1 else load >= 1


def test_tanh_form_of_the_optimum():
    # K tanh(KL/2 − ½ ln γ) = (K+1) Λ((K+1)L/2) − Λ(L/2), Λ(x) = coth x − 1/x
    for weight, capacity in [(2.0, 10), (0.2, 4), (30.0, 50)]:
        log = math.log(mm1k.optimal_load(weight, capacity))
        langevin = [1 / math.tanh(x) - 1 / x for x in ((capacity + 1) * log / 2, log / 2)]
        left = capacity * math.tanh(capacity * log / 2 - math.log(weight) / 2)
        assert left == pytest.approx((capacity + 1) * langevin[0] - langevin[1], rel=1e-12)


@pytest.mark.parametrize(("weight", "capacity"), [(5.0, 3), (0.1, 3), (1.001, 20), (3.0, 500)])
def test_sensitivity_against_differences(weight, capacity):
    found = mm1k.sensitivity(weight, capacity)
    step = 1e-4
    up, down = (mm1k.optimal_load(weight * math.exp(s), capacity) for s in (step, -step))
    assert found.to_weight == pytest.approx(math.log(up / down) / (2 * step), rel=1e-6)
    logs = [mm1k._optimal_log(weight, capacity + s) for s in (step, -step)]
    assert found.to_capacity == pytest.approx((logs[0] - logs[1]) / (2 * step), rel=1e-5)


def test_sensitivity_to_equal_weights_is_that_of_a_line():
    # At γ = 1 the equation is linear: L (K² − K)/3 = K/2 · ln γ.
    assert mm1k.sensitivity(1.0, 11).to_weight == pytest.approx(1.5 / 10, rel=1e-12)
    assert mm1k.sensitivity(1.0, 11).to_capacity == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("capacity", [0, -3, 2.5, True, math.inf, math.nan, "7"])
def test_bad_capacity(capacity):
    with pytest.raises(InvalidModel, match=f"capacity must be a whole number from 1, not {capacity}"):
        mm1k.loss(1.0, capacity)


def test_bad_load_weight_and_capacity_one():
    with pytest.raises(InvalidModel, match="load must be a positive number, not -1"):
        mm1k.starvation(-1.0, 3)
    with pytest.raises(InvalidModel, match="starvation weight must be a positive number, not 0"):
        mm1k.cost(1.0, 0.0, 3)
    with pytest.raises(InvalidModel, match="capacity must be a whole number from 2, not 1"):
        mm1k.optimal_load(2.0, 1)
