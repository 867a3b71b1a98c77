"""M/G/1/K against M/M/1/K, the paper's recursion in fractions, matrices and conservation laws."""

from fractions import Fraction
from math import e

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.fleet import limit_cost, mm1k, queue_length, solve
from recrawl.fleet.mg1k import limit_cost_at_one
from recrawl.laws import (
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    PhaseType,
    TwoTask,
    Uniform,
    arrival_counts,
)
from recrawl.papers import _talim

LAWS = [
    Deterministic(2.0),
    Gamma(1.0, 0.3),
    Gamma(1.0, 5.0),
    Hyperexponential.balanced(1.0, 20.0),
    Lognormal(1.0, 1.0),
    Lognormal(1.0, 10.0),
    Uniform(0.0, 2.0),
    Empirical([0.2, 0.2, 1.0, 3.0]),
    PhaseType([0.4, 0.6], [[-3.0, 1.0], [2.0, -3.0]]),
    TwoTask(2.0, 10.0, 0.35),
]


@pytest.fixture(params=LAWS, ids=str)
def law(request):
    return request.param


@pytest.mark.parametrize("capacity", [1, 2, 3, 17, 400])
@pytest.mark.parametrize("load", [0.01, 0.7, 1.0, 1 + 1e-12, 1.3, 30.0, 2000.0])
def test_probabilities_sum_to_one_and_what_is_accepted_is_indexed(law, load, capacity):
    found = queue_length(law, load, capacity)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0, rel=1e-12)
    assert load * (1 - found[-1]) == pytest.approx(
        1 - found[0], rel=1e-10, abs=1e-14 * (10 + load**2 * law.scv)
    )


@pytest.mark.parametrize("capacity", [1, 2, 10, 300, 5000])
@pytest.mark.parametrize("load", [0.05, 0.9, 0.999, 1.0, 1.001, 1.7, 900.0])
def test_exponential_service_against_the_closed_form(load, capacity):
    exact, found = mm1k.queue_length(load, capacity), queue_length(Gamma(3.0, 1.0), load, capacity)
    seen = exact > 1e-280
    assert found[seen] == pytest.approx(exact[seen], rel=1e-13 * max(10, capacity) / 10 * max(1, load / 10))


def embedded_chain(law, load, capacity):
    """The law of the number of pages from the matrix of the chain at ends of service."""
    k = arrival_counts(law, load / law.mean, capacity).probabilities
    moves = np.zeros((capacity, capacity))
    for i in range(capacity):
        start = max(i - 1, 0)
        moves[i, start : capacity - 1] = k[: capacity - 1 - start]
        moves[i, capacity - 1] = 1 - moves[i, : capacity - 1].sum()
    system = np.vstack((moves.T - np.eye(capacity), np.ones(capacity)))
    left = np.linalg.lstsq(system, np.append(np.zeros(capacity), 1.0), rcond=None)[0]
    return np.append(left, left[0] + load - 1.0) / (left[0] + load)


@pytest.mark.parametrize("load", [0.4, 1.0, 1.8])
@pytest.mark.parametrize("capacity", [1, 2, 6, 25])
def test_against_the_matrix_of_the_embedded_chain(law, load, capacity):
    assert queue_length(law, load, capacity) == pytest.approx(embedded_chain(law, load, capacity), abs=1e-11)


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize("load", [Fraction(1, 2), Fraction(1), Fraction(9, 8)])
def test_against_the_papers_recursion_in_exact_fractions(p, load):
    """(27) with (26) corrected, then (16) and (17)."""
    a, b = _talim.two_task_transform(Fraction(1, 2), Fraction(1, 10), p)
    rate = load / (2 + 10 * p)
    above, below = _talim.numerators(a, rate), _talim.denominators(a, b, rate)
    assert sum(below) == 0
    service = TwoTask(2.0, 10.0, float(p))
    for capacity, alpha in enumerate(_talim.rational_alpha(above, below, 40), start=2):
        queue = solve(service, float(load), capacity)
        starvation = 1 / (1 + load * alpha)
        loss = (1 + (load - 1) * alpha) / (1 + load * alpha)
        assert queue.starvation == pytest.approx(float(starvation), rel=1e-13)
        assert queue.loss == pytest.approx(float(loss), rel=1e-13)
        assert queue.cost(2.0) == pytest.approx(float(1 + (2 - alpha) / (1 + load * alpha)), rel=1e-12)


def test_the_papers_recursion_loses_digits_where_ours_does_not():
    """The same recursion in floating point at load one: digits vanish like K²."""
    a, b = _talim.two_task_transform(0.5, 0.1, 0.5)
    rate = 1.0 / 7.0
    alpha = float(
        _talim.rational_alpha(_talim.numerators(a, rate), _talim.denominators(a, b, rate), 20_000)[-1]
    )
    printed = 1 / (1 + alpha)
    ours = solve(TwoTask(2.0, 10.0, 0.5), 1.0, 20_000)
    # At load one starvation and loss are equal, which (16) and (17) cannot know.
    assert ours.starvation == pytest.approx(ours.loss, rel=1e-11)
    assert abs(printed / ours.starvation - 1) > 1e-10


def test_one_place_is_erlangs_loss_formula(law):
    queue = solve(law, 3.0, 1)
    assert (queue.starvation, queue.loss) == (pytest.approx(0.25), pytest.approx(0.75))
    assert queue.response_time == pytest.approx(law.mean)


def test_two_places_with_constant_service():
    queue = solve(Deterministic(1.0), 1.0, 2)
    assert queue.starvation == pytest.approx(1 / (1 + e), rel=1e-15)


@given(st.floats(0.05, 5.0), st.integers(2, 60), st.sampled_from(LAWS))
def test_monotone_in_load_and_capacity(load, capacity, law):
    here, more, larger = (
        solve(law, load, capacity),
        solve(law, load * 1.1, capacity),
        solve(law, load, capacity + 1),
    )
    assert more.starvation <= here.starvation * (1 + 1e-12)
    assert more.loss >= here.loss * (1 - 1e-12)
    assert more.mean_queue >= here.mean_queue * (1 - 1e-12)
    assert larger.starvation <= here.starvation * (1 + 1e-12)
    assert larger.loss <= here.loss * (1 + 1e-12)


@pytest.mark.parametrize("load", [0.6, 0.95])
def test_unbounded_buffer_is_pollaczek_khinchine(law, load):
    queue = solve(law, load, 20_000 if law.scv != 10.0 else 4000)
    waiting = load**2 * (1 + law.scv) / (2 * (1 - load))
    if not isinstance(law, Lognormal):  # its tail is still felt at this capacity
        assert queue.mean_queue == pytest.approx(load + waiting, rel=1e-10)
    assert queue.cost(2.0) == pytest.approx(limit_cost(load, 2.0), rel=1e-4)


def test_large_capacities_tend_to_the_propositions(law):
    assert solve(law, 1.4, 3000).cost(2.0) == pytest.approx(limit_cost(1.4, 2.0), rel=1e-9)
    at_one = solve(law, 1.0, 10_000).cost(2.0)
    assert at_one == pytest.approx(limit_cost_at_one(law, 2.0, 10_000), rel=0.02)


def test_no_overflow_at_extreme_loads(law):
    queue = solve(law, 1e5, 50)
    assert queue.loss == pytest.approx(1 - 1e-5, rel=1e-9)
    assert 0.0 <= queue.starvation < 1e-6


def test_methods_are_named():
    assert solve(Exponential(1.0), 1.0, 3).method == "closed form"
    assert solve(TwoTask(1.0, 1.0, 0.5), 1.0, 3).method == "positive recursion"
