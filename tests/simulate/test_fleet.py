"""The played index queue against the exact one, for a dozen models."""

import pytest

from recrawl.errors import InvalidModel
from recrawl.fleet import solve, solve_obsolescent
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
)
from recrawl.simulate import simulate_fleet

MODELS = [
    (Exponential(1.0), 0.9, 10, 0.0),
    (Exponential(1.0), 3.0, 1, 0.0),
    (Deterministic(2.0), 1.3, 4, 0.0),
    (Lognormal(1.0, 4.0), 0.8, 6, 0.0),
    (Hyperexponential.balanced(1.0, 6.0), 1.0, 5, 0.0),
    (Empirical([0.1, 0.1, 3.0]), 0.7, 3, 0.0),
    (PhaseType([0.4, 0.6], [[-3.0, 1.0], [2.0, -3.0]]), 1.1, 8, 0.0),
    (TwoTask(2.0, 10.0, 0.35), 1.1, 15, 0.0),
    (TwoTask(2.0, 10.0, 0.3), 1.1, 8, 0.05),
    (Uniform(0.0, 2.0), 2.0, 12, 0.3),
    (Gamma(1.0, 3.0), 1.0, 2, 0.5),
    (Deterministic(1.0), 2.0, 6, 0.2),
]


@pytest.mark.parametrize(("law", "load", "capacity", "theta"), MODELS)
def test_exact_values_lie_within_the_intervals(law, load, capacity, theta):
    played = simulate_fleet(law, load, capacity, obsolescence_rate=theta, arrivals=600_000, confidence=0.999)
    exact = solve_obsolescent(law, load, capacity, theta)
    for estimate, value in [
        (played.starvation, exact.starvation),
        (played.loss, exact.loss),
        (played.obsolete, exact.obsolete),
    ]:
        assert estimate.covers(value, widths=1.2), (estimate, value)
        assert estimate.half_width < 0.02
    if not theta:
        assert played.response_time.covers(solve(law, load, capacity).response_time, widths=1.2)


def test_seeds_repeat_and_differ():
    one, again, other = (simulate_fleet(Exponential(1.0), 0.9, 5, arrivals=3000, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one != other


def test_bad_input():
    with pytest.raises(InvalidModel, match="at least 2 batches"):
        simulate_fleet(Exponential(1.0), 1.0, 5, arrivals=10, batches=1)
