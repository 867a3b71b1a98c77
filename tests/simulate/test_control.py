"""The event simulation against the exact answer: nothing is shared but the model."""

import math
from dataclasses import replace

import pytest

from recrawl.control import Costs, Mode, Model, Policy, measure, phase_type_of
from recrawl.control.model import modes_of
from recrawl.errors import InvalidModel
from recrawl.laws import Bmap, Erlang, PhaseType, superposed, thinned
from recrawl.papers._threshold_models import base_model, crawler_model, with_obsolescence_variance
from recrawl.simulate.control import Estimate, simulate_queue

CYCLIC = PhaseType([0.9, 0.1], [[-3.0, 2.0], [0.5, -0.6]])
POLICY = Policy((3, 1), (2,))


def figure4(alpha, **changes):
    return replace(with_obsolescence_variance(alpha, 4), **changes)


def robots():
    one = Bmap([[[-2.0, 0.5], [0.1, -0.3]], [[1.0, 0.0], [0.2, 0.0]], [[0.5, 0.0], [0.0, 0.0]]])
    return modes_of(superposed([one, one.scaled(0.7), one.scaled(1.5)]))


MODELS = {
    "base": base_model(),
    "never obsolete": replace(base_model(), obsolescence=None),
    "random, exponential": replace(base_model(), order="random"),
    "figure 4": figure4(3.0),
    "figure 4, variance 450": figure4(7.0),
    "figure 4, random": figure4(3.0, order="random"),
    "figure 4, reject": figure4(1.0, admission="reject"),
    "figure 4, admit": figure4(1.0, admission="admit"),
    "figure 4, admit, random": figure4(1.0, admission="admit", order="random"),
    "figure 4, reject, random": figure4(3.0, admission="reject", order="random"),
    "cyclic phases": figure4(3.0, obsolescence=CYCLIC),
    "erlang patience": figure4(3.0, obsolescence=phase_type_of(Erlang(2.0, 3))),
    "superposed robots": figure4(3.0, modes=robots()),
    "thinned robots": figure4(3.0, modes=modes_of(thinned(base_model().modes[3].arrivals, [0.3, 0.6, 1.0]))),
    "measured crawler": crawler_model(),
}


@pytest.mark.parametrize("name", MODELS)
def test_simulation_agrees_with_the_exact_answer(name):
    model = MODELS[name]
    exact = measure(model, POLICY)
    found = simulate_queue(model, POLICY, arrivals=600_000, seed=5, confidence=0.99)
    for measured, estimate in found.estimates.items():
        truth = getattr(exact, measured)
        if not math.isnan(truth):
            # 12 intervals for each of 15 models at 99 %: some miss, none by much.
            assert estimate.covers(truth, times=1.6), (measured, truth, estimate)
        else:
            assert math.isnan(estimate.value)  # no page is obsolete
    for truth, estimate in zip(exact.level_probability, found.level_probability, strict=True):
        assert estimate.covers(truth, times=1.8)


def test_intervals_shrink_and_cover():
    model = base_model()
    truth = measure(model, POLICY).loss
    runs = [simulate_queue(model, POLICY, arrivals=60_000, seed=seed)["loss"] for seed in range(40)]
    covered = sum(run.covers(truth) for run in runs)
    assert 33 <= covered <= 40  # 38 are expected
    longer = simulate_queue(model, POLICY, arrivals=960_000, seed=1)["loss"]
    assert longer.half_width < 0.5 * runs[0].half_width


def test_equal_seeds_give_equal_runs():
    model = base_model()
    ours, theirs, other = (simulate_queue(model, POLICY, arrivals=20_000, seed=s) for s in (3, 3, 4))
    assert ours == theirs
    assert ours["cost"] != other["cost"]


def test_policies_of_any_shape():
    """Robots given for every number of pages, more robots at a longer queue."""
    model = base_model()
    strange = (1, 4, 2, 1, 3, 1)
    exact = measure(model, strange)
    found = simulate_queue(model, strange, arrivals=400_000, seed=2, confidence=0.99)
    assert found["cost"].covers(exact.cost, times=1.6)
    assert found["active_robots"].covers(exact.active_robots, times=1.6)


def test_bad_requests():
    model = Model(2, PhaseType([1.0], [[-1.0]]), (Mode(1, Bmap.poisson(1.0)),), Costs(1, 1, 1, 1, 1))
    with pytest.raises(InvalidModel, match="arrivals must be at least 800, not 10"):
        simulate_queue(model, Policy((1,)), arrivals=10)
    with pytest.raises(InvalidModel, match="confidence"):
        simulate_queue(model, Policy((1,)), confidence=1.0)
    assert Estimate(1.0, 0.5).covers(1.4)
