"""Measures and stays: conservation laws, closed forms, limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammainc

from recrawl.control import Costs, Mode, Model, Policy, Solved, measure, phase_type_of
from recrawl.control.measures import invert
from recrawl.laws import Bmap, Erlang, PhaseType
from recrawl.papers._threshold_models import base_model, with_obsolescence_variance

SEEDS = st.integers(0, 2**31)
COSTS = Costs(loss=5, obsolete=10, response=2, robot=20, starvation=300)


def single(capacity, arrival, service, patience=None, **more):
    """Poisson arrivals and exponential times."""
    law = None if patience is None else PhaseType([1.0], [[-patience]])
    return Model(
        capacity, PhaseType([1.0], [[-service]]), (Mode(1, Bmap.poisson(arrival)),), COSTS, law, **more
    )


@settings(max_examples=80)
@given(SEEDS)
def test_conservation_laws(random_model, random_robots, seed):
    """Flows balance, Little's law, probabilities sum to one, and tagged pages meet the fates of the flows."""
    model = random_model(seed)
    solved = Solved(model, random_robots(model, seed))
    found = solved.measures()
    assert found.loss + found.obsolete + found.success == pytest.approx(1.0, abs=1e-10)
    assert sum(found.level_probability) == pytest.approx(1.0, abs=1e-10)
    assert found.arrival_rate * found.sojourn_time == pytest.approx(found.mean_pages, rel=1e-8)
    assert found.mean_queue == pytest.approx(found.mean_pages - 1 + found.starvation, abs=1e-12)
    assert found.throughput * solved.chain.service.mean == pytest.approx(1.0 - found.starvation, rel=1e-8)
    for fate in ("served", "obsolete"):
        assert solved.stays[fate][0] == pytest.approx(solved.rates[fate], rel=1e-7, abs=1e-10)
    parts = found.success * found.response_time
    if found.obsolete > 1e-9:
        parts += found.obsolete * found.obsolete_time
        assert found.obsolete_variance >= -1e-9
    assert found.sojourn_time == pytest.approx(parts, rel=1e-7)
    assert found.response_variance > 0.0
    robots = [model.numbers[place] for place in solved.assignment]
    assert found.active_robots == pytest.approx(np.dot(robots, found.level_probability), rel=1e-9)
    assert found.residual < 1e-10


@given(st.integers(1, 12), st.floats(0.05, 3.0))
def test_single_server_queue(capacity, load):
    """M/M/1/K in closed form; a response is a mixture of Erlang times."""
    found = measure(single(capacity, load, 1.0), Policy((1,)))
    p = load ** np.arange(capacity + 1)
    p /= p.sum()
    np.testing.assert_allclose(found.level_probability, p, rtol=1e-10)
    seen = p[:-1] / (1.0 - p[-1])
    stages = np.arange(1, capacity + 1)
    assert found.response_time == pytest.approx(seen @ stages, rel=1e-10)
    assert found.response_variance == pytest.approx(
        seen @ (stages * (stages + 1)) - (seen @ stages) ** 2, rel=1e-8
    )
    assert math.isnan(found.obsolete_time)
    assert found.obsolete == 0.0


@given(st.integers(2, 10), st.floats(0.2, 3.0), st.floats(0.05, 2.0), st.sampled_from(["fifo", "random"]))
def test_impatient_queue_is_a_birth_and_death_chain(capacity, load, patience, order):
    found = measure(single(capacity, load, 1.0, patience, order=order), Policy((1,)))
    p = np.cumprod([1.0, *(load / (1.0 + patience * i) for i in range(capacity))])
    p /= p.sum()
    np.testing.assert_allclose(found.level_probability, p, rtol=1e-9)
    queue = np.maximum(np.arange(capacity + 1) - 1, 0) @ p
    assert found.obsolete == pytest.approx(patience * queue / load, rel=1e-9)


def test_order_of_service_moves_time_between_fates_but_keeps_the_queue():
    """Exponential patience: the order changes who is served, not how many wait."""
    fifo, random = (
        measure(replace(base_model(), order=order), Policy((3, 1), (2,))) for order in ("fifo", "random")
    )
    np.testing.assert_allclose(fifo.level_probability, random.level_probability, atol=1e-13)
    assert fifo.sojourn_time == pytest.approx(random.sojourn_time, rel=1e-12)
    assert fifo.response_time > random.response_time * 1.01
    assert fifo.sojourn_variance < random.sojourn_variance


def test_patience_that_never_ends_is_no_obsolescence():
    base = base_model()
    without = measure(replace(base, obsolescence=None), Policy((3, 1), (2,)))
    slow = measure(replace(base, obsolescence=PhaseType([1.0], [[-1e-9]])), Policy((3, 1), (2,)))
    assert slow.cost == pytest.approx(without.cost, rel=1e-7)
    assert slow.response_time == pytest.approx(without.response_time, rel=1e-7)


def test_the_unit_of_time_is_free():
    model = with_obsolescence_variance(3.0, 4)
    slower = Model(
        4,
        PhaseType(model.service.alpha, model.service.S / 60),
        tuple(Mode(m.robots, m.arrivals.scaled(1 / 60)) for m in model.modes),
        COSTS,
        PhaseType(model.obsolescence.alpha, model.obsolescence.S / 60),
    )
    ours, theirs = (measure(m, Policy((3, 1), (2,))) for m in (model, slower))
    assert theirs.response_time == pytest.approx(60 * ours.response_time, rel=1e-9)
    assert theirs.loss == pytest.approx(ours.loss, rel=1e-9)
    assert theirs.response_variance == pytest.approx(3600 * ours.response_variance, rel=1e-8)


@pytest.mark.parametrize("order", ["fifo", "random"])
@pytest.mark.parametrize(
    "model", [base_model(4), with_obsolescence_variance(3.0, 4)], ids=["plain", "ordered"]
)
def test_transforms_have_the_moments(model, order):
    solved = Solved(replace(model, order=order), Policy((3, 1), (2,)))
    found = solved.measures()
    h = 1e-4
    for fate, mean, variance in [
        ("served", found.response_time, found.response_variance),
        ("obsolete", found.obsolete_time, found.obsolete_variance),
        (None, found.sojourn_time, found.sojourn_variance),
    ]:
        below, at, above = (solved.transform(u, fate).real for u in (0.0, h, 2 * h))
        assert below == pytest.approx(1.0, abs=1e-9)
        assert (below - at) / h - (below - 2 * at + above) / (2 * h) == pytest.approx(mean, rel=2e-3)
        assert (below - 2 * at + above) / h**2 == pytest.approx(variance + mean**2, rel=1e-2)


def test_distribution_of_a_response_in_closed_form():
    solved = Solved(single(4, 0.8, 1.0), Policy((1,)))
    p = 0.8 ** np.arange(5)
    seen = p[:-1] / p[:-1].sum()
    for t in (0.1, 1.0, 3.0, 9.0):
        expected = sum(s * gammainc(k + 1, t) for k, s in enumerate(seen))
        assert solved.distribution(t, "served") == pytest.approx(expected, abs=2e-8)
    loss = p[-1] / p.sum()
    assert solved.distribution(0.0) == pytest.approx(loss)
    assert solved.distribution(-1.0) == 0.0
    assert solved.distribution(3.0) == pytest.approx(
        loss + (1 - loss) * solved.distribution(3.0, "served"), abs=1e-8
    )


@pytest.mark.parametrize("order", ["fifo", "random"])
def test_distributions_rise_to_one_with_the_right_mean(order):
    solved = Solved(replace(with_obsolescence_variance(3.0, 4), order=order), Policy((3, 1), (2,)))
    found = solved.measures()
    s = np.linspace(0.0, 4.0, 29)  # t = s², so that short stays are seen too
    for fate, mean in (("served", found.response_time), ("obsolete", found.obsolete_time)):
        values = np.array([solved.distribution(x * x, fate) for x in s])
        assert (np.diff(values) >= -1e-7).all()
        assert values[-1] > 0.995
        survival = (1.0 - values) * 2.0 * s
        area = (
            (survival[0] + 4 * survival[1:-1:2].sum() + 2 * survival[2:-1:2].sum() + survival[-1]) / 3 * s[1]
        )
        assert area == pytest.approx(mean, rel=1e-2)


def test_inversion_of_a_known_transform():
    for t in (0.2, 1.0, 5.0):
        assert invert(lambda u: 1.0 / (1.0 + u), t) == pytest.approx(math.exp(-t), abs=1e-8)


def test_admissions_order_the_losses():
    """With room for part of a batch, rejecting it loses more pages than letting part of it in."""
    base = base_model()
    losses = {
        admission: measure(replace(base, admission=admission), Policy((4,))).loss
        for admission in ("partial", "reject", "admit")
    }
    assert losses["admit"] < losses["partial"] < losses["reject"]


def test_erlang_patience_approaches_a_deadline():
    """More stages: fewer pages leave early when waits are short."""
    base = single(6, 0.7, 1.0)
    early = [
        measure(replace(base, obsolescence=phase_type_of(Erlang(6.0, stages))), Policy((1,))).obsolete
        for stages in (1, 2, 4)
    ]
    assert early[0] > early[1] > early[2]


def test_fixed_costs_of_the_paper():
    base = base_model()
    costs = [measure(base, Policy((r,))).cost for r in (1, 2, 3, 4)]
    assert costs == pytest.approx([149.911, 110.009, 89.405, 130.312], abs=1e-3)
