"""Policies that are no thresholds: exhaustive search on tiny queues, linear programmes, orderings."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from recrawl.control import (
    Evaluator,
    best_full_state,
    best_queue_length,
    best_thresholds,
    measure,
    near_queue_length,
)
from recrawl.control.bounds import _Search
from recrawl.control.decisions import Decisions
from recrawl.control.rewards import REWARDS
from recrawl.errors import InvalidModel
from recrawl.papers._threshold_models import (
    base_model,
    crawler_model,
    with_obsolescence_variance,
    with_service_scale,
)

SEEDS = st.integers(0, 2**31)


def tiny(random_model, seed, phases=2):
    model = random_model(seed, capacity=2, admission="partial", order="fifo", waiting_phases=seed % 2)
    return replace(model, modes=model.modes[:2])


@settings(max_examples=12)
@given(SEEDS)
def test_full_state_policies_exhausted(random_model, seed):
    """Every deterministic policy of a tiny chain: none is below the proven bound, the best is found."""
    model = tiny(random_model, seed)
    evaluator = Evaluator(model)
    if evaluator.chain.states > 11 or len(model.modes) == 1:
        return
    search = _Search(evaluator)
    for modes in product(range(2), repeat=evaluator.chain.states):
        search.try_policy(np.array(modes))
    found = best_full_state(evaluator)
    assert found.bound <= search.best_cost * (1 + 1e-9)
    assert found.cost == pytest.approx(search.best_cost, rel=1e-6)


@settings(max_examples=20)
@given(SEEDS)
def test_without_response_cost_the_bound_is_a_linear_programme(random_model, seed):
    """State-action frequencies x >= 0, x Q = 0, Σ x = 1, by a general solver."""
    model = random_model(seed, capacity=2, order="fifo")
    model = replace(model, costs=replace(model.costs, response=0.0))
    evaluator = Evaluator(model)
    size, count = evaluator.chain.states, len(model.modes)
    Q = np.concatenate(
        [r if isinstance(r, np.ndarray) else r.toarray() for r in Decisions(evaluator.chain).rates]
    )
    costs = _Search(evaluator).linear.reshape(size * count)
    equations = np.vstack([Q.T, np.ones(size * count)])
    right = np.append(np.zeros(size), 1.0)
    programme = linprog(costs, A_eq=equations, b_eq=right, method="highs")
    found = best_full_state(evaluator)
    assert found.cost == pytest.approx(programme.fun, rel=1e-6, abs=1e-8)
    assert found.bound <= found.cost * (1 + 1e-12)


@pytest.mark.parametrize("model", [base_model(), with_obsolescence_variance(3.0)], ids=["plain", "ordered"])
def test_wider_classes_are_cheaper(model):
    evaluator = Evaluator(model)
    threshold = best_thresholds(model, evaluator).best.cost
    queue = best_queue_length(evaluator)
    full = best_full_state(evaluator)
    assert full.bound <= full.cost <= queue.cost * (1 + 1e-12) <= threshold * (1 + 1e-11)
    assert measure(model, queue.robots).cost == pytest.approx(queue.cost, rel=1e-9)


def test_thresholds_are_the_best_queue_length_policies_of_the_base_example():
    evaluator = Evaluator(base_model())
    queue = best_queue_length(evaluator)
    assert queue.robots == (3, 3, 3, 1, 1, 1)
    assert queue.policies == 4**6
    full = best_full_state(evaluator)
    assert full.cost == pytest.approx(53.9179, abs=1e-4)  # 15 % below the best thresholds
    assert full.cost - full.bound < 1e-5


def test_measured_crawler():
    evaluator = Evaluator(crawler_model())
    with pytest.raises(InvalidModel, match="too many"):
        best_queue_length(evaluator)
    full = best_full_state(evaluator, max_nodes=20)
    assert 545 < full.bound <= full.cost < best_thresholds(evaluator.model, evaluator).best.cost


def test_what_cannot_be_bounded_says_why():
    base = base_model()
    with pytest.raises(InvalidModel, match="random order"):
        best_full_state(Evaluator(replace(base, order="random")))
    with pytest.raises(InvalidModel, match="states"):
        best_full_state(Evaluator(with_obsolescence_variance(3.0, 11)))


def test_random_order_without_obsolescence_is_bounded_too():
    base = replace(base_model(3), obsolescence=None)
    fifo, random = (best_full_state(Evaluator(replace(base, order=o))).cost for o in ("fifo", "random"))
    assert fifo == pytest.approx(random, rel=1e-6)


def test_policy_of_states_has_its_cost():
    """The exported policy, evaluated through the sparse generator of a larger chain, costs what is said."""
    evaluator = Evaluator(with_obsolescence_variance(3.0, 7))
    full = best_full_state(evaluator)
    process = Decisions(evaluator.chain)
    assert not process.dense
    numbers = list(evaluator.model.numbers)
    modes = np.array([numbers.index(r) for r in full.robots])
    share = process.stationary(modes)
    rates = {
        name: share @ evaluator.table[modes, np.arange(share.size), place]
        for place, name in enumerate(REWARDS)
    }
    costs = evaluator.model.costs
    total = (
        costs.loss * rates["lost"]
        + costs.obsolete * rates["obsolete"]
        + costs.robot * rates["robots"]
        + costs.starvation * rates["starving"]
        + costs.response * rates["response"] / rates["served"]
    )
    assert total == pytest.approx(full.cost, rel=1e-9)
    assert rates["starving"] == pytest.approx(full.starvation, rel=1e-9)


def test_thresholds_are_not_always_the_best_queue_length_policies():
    """Service five times as fast (Table 3, s = 5): more robots at four pages than at two or three pay."""
    model = with_service_scale(5.0)
    evaluator = Evaluator(model)
    threshold = best_thresholds(model, evaluator).best
    queue = best_queue_length(evaluator)
    assert queue.robots == (4, 4, 1, 1, 3, 1)
    assert queue.cost == pytest.approx(216.415, abs=1e-3)
    assert threshold.cost == pytest.approx(217.020, abs=1e-3)
    near = near_queue_length(evaluator, threshold.policy.robots(5))
    assert queue.cost * (1 - 1e-12) <= near.cost <= threshold.cost
    assert measure(model, near.robots).cost == pytest.approx(near.cost, rel=1e-9)


def test_near_policies_are_local_optima(random_model):
    for seed in range(6):
        model = random_model(seed, capacity=3, admission="admit")
        evaluator = Evaluator(model)
        start = best_thresholds(model, evaluator).best
        near = near_queue_length(evaluator, start.policy.robots(3))
        best = best_queue_length(evaluator)
        assert best.cost * (1 - 1e-12) <= near.cost <= start.cost * (1 + 1e-12)
