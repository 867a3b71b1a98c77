"""The belief against posteriors integrated by brute force; coverage, size, exact restoring."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import InvalidModel
from recrawl.estimate import Belief, Observations, RateGrid, log_likelihood
from recrawl.estimate.calibration import learnt_belief

GRID = RateGrid.around(1.0)


def brute_force(rows, prior=None):
    """A fine posterior over the grid's range: rates and weights."""
    y = np.linspace(np.log(GRID.low), np.log(GRID.high), 20_001)
    rates = np.exp(y)
    page = Observations.of(np.zeros(len(rows), int), *(list(column) for column in zip(*rows, strict=True)))
    log = np.zeros(y.size)
    for interval, kind, age in zip(page.intervals, page.kinds, page.ages, strict=True):
        if kind == 0:
            log -= rates * interval
        elif kind == 1:
            log += np.log(-np.expm1(-rates * interval))
        else:
            log += y - rates * age
    weights = np.exp(log - log.max())
    if prior is not None:
        weights = weights * np.interp(y, np.log(GRID.rates), prior)
    weights[[0, -1]] *= 0.5
    return rates, weights / weights.sum()


accesses = st.lists(
    st.tuples(st.floats(0.05, 20.0), st.booleans(), st.sampled_from([np.nan, 0.3, 0.9])),
    min_size=1,
    max_size=60,
).map(lambda rows: [(t, c, a * t if c else np.nan) for t, c, a in rows])


@given(accesses, st.floats(0.0, 10.0))
def test_answers_are_those_of_a_fine_integral(rows, elapsed):
    belief = Belief(GRID)
    page = belief.add(1)
    for interval, changed, age in rows:
        belief.update(page, [interval], [changed], [age])
    rates, weights = brute_force(rows)
    assert belief.mean_rate(page)[0] == pytest.approx(weights @ rates, rel=5e-3)
    assert np.log(belief.typical_rate(page)[0]) == pytest.approx(weights @ np.log(rates), abs=5e-3)
    assert belief.current_probability(page, elapsed)[0] == pytest.approx(
        weights @ np.exp(-rates * elapsed), abs=2e-3
    )
    x = rates * elapsed
    assert belief.value(page, elapsed, 3.0)[0] == pytest.approx(
        3.0 * (weights @ ((1.0 - (1.0 + x) * np.exp(-x)) / rates)), rel=5e-3, abs=1e-9
    )
    cumulated = np.cumsum(weights)
    for probability, bound in zip((0.05, 0.95), belief.interval(page, 0.9)[0], strict=True):
        exact = rates[np.searchsorted(cumulated, probability)]
        assert np.log(bound) == pytest.approx(np.log(exact), abs=0.03)


@given(accesses, st.floats(1e-4, 2.0))
def test_the_price_is_reached_when_said(rows, price):
    belief = Belief(GRID)
    page = belief.add(1)
    belief.observe(Observations.of(np.zeros(len(rows), int), *zip(*rows, strict=True)), page)
    due = belief.time_to_price(page, price)[0]
    if np.isinf(due):
        assert belief.value(page, 1e9)[0] <= price * (1 + 1e-9)
    else:
        assert belief.value(page, due)[0] == pytest.approx(price, rel=1e-6)
        assert belief.value(page, due * 0.999)[0] < price


def test_a_known_rate_gives_the_optimal_interval():
    """With no doubt left, the due time solves 1 − (1+z)e^{−z} = price·rate/weight."""
    belief = Belief(GRID)
    page = belief.add(1)
    n = 2000
    belief.observe(Observations.of(np.zeros(n, int), np.full(n, 1.0), np.arange(n) % 2 == 0), page)
    rate = np.log(2.0)
    z = rate * belief.time_to_price(page, 0.2, 1.0)[0]
    assert 1.0 - (1.0 + z) * np.exp(-z) == pytest.approx(0.2 * rate, rel=0.02)


def test_bulk_is_one_by_one():
    rng = np.random.default_rng(1)
    slots = rng.integers(0, 20, 500)
    elapsed, changed = rng.exponential(1.0, 500), rng.random(500) < 0.4
    bulk, single = Belief(GRID, half_life=30.0), Belief(GRID, half_life=30.0)
    bulk.add(20)
    single.add(20)
    bulk.update(slots, elapsed, changed)
    for k in range(500):
        single.update(slots[k], [elapsed[k]], [changed[k]])
    np.testing.assert_array_equal(bulk.state()["loglik"], single.state()["loglik"])


def test_the_prior_is_learnt():
    """One page in ten fast: after two accesses the learnt prior predicts better than a flat one."""
    rng = np.random.default_rng(5)
    rates = np.where(rng.random(4000) < 0.1, 3.0, 0.03)
    changed = rng.random((4000, 2)) < -np.expm1(-rates)[:, None]
    observations = Observations.of(np.repeat(np.arange(4000), 2), np.ones(8000), changed.ravel())
    flat = Belief(GRID)
    slots = flat.add(4000)
    flat.observe(observations, slots)
    learnt, _slots = learnt_belief(observations, 1.0)
    truth = np.exp(-rates)
    errors = [np.mean((belief.current_probability(slots, 1.0) - truth) ** 2) for belief in (flat, learnt)]
    assert errors[1] < 0.65 * errors[0]
    steps = Belief.restore(flat.state())
    for _ in range(30):
        moved = steps.learn_priors()
    assert moved < 0.01
    assert steps.priors.sum() == pytest.approx(1.0)


def test_groups_have_their_own_priors():
    belief = Belief(GRID, groups=3)
    quick, slow = belief.add(200, group=0), belief.add(200, group=1)
    belief.update(quick, np.ones(200), np.ones(200, bool))
    belief.update(slow, np.ones(200), np.zeros(200, bool))
    belief.settle_priors()
    new = [belief.add(1, group=group) for group in (0, 1, 2)]
    rates = [belief.typical_rate(page)[0] for page in new]
    assert rates[1] < rates[2] < rates[0]
    belief.move(new[1], 0)
    assert belief.typical_rate(new[1])[0] == pytest.approx(rates[0])


def test_forgetting_follows_a_drift():
    rng = np.random.default_rng(6)
    steady, drifting = Belief(GRID), Belief(GRID, half_life=20.0)
    for belief in (steady, drifting):
        page = belief.add(1)
        for rate in (3.0, 0.1):
            changed = rng.random(100) < -np.expm1(-rate)
            belief.update(np.full(100, page[0]), np.ones(100), changed)
    assert drifting.mean_rate([0])[0] < 0.3
    assert steady.mean_rate([0])[0] > 0.4


def test_restored_exactly():
    belief = Belief(RateGrid(0.01, 10.0, 12), groups=2, half_life=7.0)
    slots = belief.add(5, group=1)
    belief.update(slots, np.arange(1.0, 6.0), [1, 0, 1, 0, 1])
    belief.remove(slots[1:3])
    belief.learn_priors()
    again = Belief.restore(belief.state())
    assert again.add(2).tolist() == belief.add(2).tolist()
    for one, other in zip(belief.state().values(), again.state().values(), strict=True):
        np.testing.assert_array_equal(one, other)
    again.update([0], [2.0], [True])
    belief.update([0], [2.0], [True])
    assert again.mean_rate([0])[0] == belief.mean_rate([0])[0]


def test_pages_come_and_go():
    belief = Belief(GRID)
    slots = np.concatenate([belief.add(1) for _ in range(100)])
    assert slots.tolist() == list(range(100))
    belief.update(slots[:1], [1.0], [True])
    belief.remove(slots[:1])
    assert belief.pages == 99
    with pytest.raises(InvalidModel, match="slot 0 holds no page"):
        belief.mean_rate([0])
    assert belief.add(1).tolist() == [0]  # given again, with nothing known
    assert belief.mean_rate([0])[0] == belief.mean_rate([1])[0]


def test_small():
    assert Belief(GRID).bytes_per_page <= 200


def test_log_likelihood_is_what_is_kept():
    belief = Belief(GRID)
    page = belief.add(1)
    seen = Observations.of([0, 0, 0], [1.0, 2.0, 3.0], [True, False, True], [np.nan, np.nan, 1.5])
    belief.observe(seen, page)
    kept = belief.state()["loglik"][0]
    exact = np.array([log_likelihood(seen, np.array([rate]))[0] for rate in GRID.rates])
    assert kept == pytest.approx(exact - exact.max(), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.update([0], [0.0], [True]), "interval 0"),
        (lambda b: b.update([0], [1.0], [True], [5.0]), "age 0"),
        (lambda b: b.mean_rate([7]), "slot 7"),
        (lambda b: b.current_probability([0], -1.0), "must not be negative"),
        (lambda b: b.time_to_price([0], 0.0), "price"),
        (lambda b: b.interval([0], 1.5), "level"),
        (lambda b: b.add(1, group=4), "group"),
        (lambda b: b.remove([0, 0]), "twice"),
        (lambda b: b.learn_priors(floor=0.0), "floor"),
        (lambda _b: Belief(GRID, half_life=0.0), "half_life"),
        (lambda _b: RateGrid(1.0, 0.5), "below"),
        (lambda _b: RateGrid(1.0, 2.0, 3), "points"),
    ],
)
def test_bad_input(call, message):
    belief = Belief(GRID)
    belief.add(1)
    with pytest.raises(InvalidModel, match=message):
        call(belief)
