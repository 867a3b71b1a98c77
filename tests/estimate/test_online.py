"""Baselines: right where the literature says so, wrong where it says so."""

import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.estimate import Observations
from recrawl.estimate.calibration import SPREADS, examine, judge, synthetic
from recrawl.estimate.histories import History
from recrawl.estimate.online import BASELINES, baseline_rates


def pages_of_rate(rate, number, regular):
    rng = np.random.default_rng(1)
    intervals = np.ones((2000, number)) if regular else rng.exponential(1.0, (2000, number))
    changed = rng.random(intervals.shape) < -np.expm1(-rate * intervals)
    return Observations.of(np.repeat(np.arange(2000), number), intervals.ravel(), changed.ravel())


def test_naive_counts_many_changes_once():
    seen = baseline_rates(pages_of_rate(1.5, 200, regular=True), "naive")
    assert seen.mean() == pytest.approx(-np.expm1(-1.5), rel=0.02)


def test_ratio_is_right_for_regular_accesses():
    assert baseline_rates(pages_of_rate(1.5, 50, regular=True), "ratio").mean() == pytest.approx(
        1.5, rel=0.02
    )


@pytest.mark.parametrize("name", ["large-numbers", "stochastic-approximation"])
def test_poisson_accesses_are_their_ground(name):
    random = np.median(baseline_rates(pages_of_rate(1.5, 400, regular=False), name))
    regular = np.median(baseline_rates(pages_of_rate(1.5, 400, regular=True), name))
    assert random == pytest.approx(1.5, rel=0.05)
    # P(changed) = λ/(λ+p) does not hold for regular accesses: e^λ − 1 comes out.
    assert regular == pytest.approx(np.expm1(1.5), rel=0.06)


def test_pages_without_accesses_and_unknown_names():
    seen = Observations.of([1], [1.0], [True], number_of_pages=2)
    for name in BASELINES:
        assert np.isnan(baseline_rates(seen, name)[0])
    with pytest.raises(InvalidModel, match="one of naive"):
        baseline_rates(seen, "guess")


@pytest.mark.parametrize("spread", SPREADS)
def test_the_belief_errs_least(spread):
    scores = {score.estimator: score for score in judge(spread, 20, pages=1500)}
    assert scores["belief"].error <= 1.02 * min(score.error for score in scores.values())
    assert scores["naive"].bias < -0.1
    rates, _seen = synthetic(spread, 10, 2, np.random.default_rng(0))
    assert (rates > 0).all()


def drifting_history():
    """Pages that change at rate 1 in the first 60 of their 200 units of time and at 0.1 after."""
    rng = np.random.default_rng(2)
    page, times = [], []
    for number in range(300):
        early = rng.uniform(0.0, 60.0, rng.poisson(60.0))
        late = rng.uniform(60.0, 200.0, rng.poisson(14.0))
        times.append(np.concatenate((early, late)))
        page.append(np.full(times[-1].size, number))
    return History.of(np.concatenate(page), np.concatenate(times), np.zeros(300), np.full(300, 200.0))


def test_observed_as_it_was():
    history = History.of(
        np.array([0, 0, 1]), np.array([2.5, 2.7, 9.0]), np.array([0.0, 0.0, 5.0]), np.array([10.0, 10.0, 6.0])
    )
    assert history.rates.tolist() == [0.2, 0.1, 0.0]
    seen, when = history.observed(1.0, np.random.default_rng(3), dated=True)
    page = seen.page_of
    for k in range(seen.accesses):
        inside = [t for t in (2.5, 2.7) if page[k] == 0 and when[k] - 1.0 < t <= when[k]]
        inside += [t for t in (9.0,) if page[k] == 1 and when[k] - 1.0 < t <= when[k]]
        assert (seen.kinds[k] > 0) == bool(inside)
        if inside:
            assert seen.ages[k] == pytest.approx(when[k] - max(inside))
    assert (seen.kinds > 0).sum() == 2


def test_drift_shows_against_the_twin():
    scores = {score.estimator: score for score in examine(drifting_history(), 0.5)}
    plain, forgetting = scores["belief"], scores["belief, forgetting"]
    assert plain.predicted > 3.0
    assert plain.coverage < 0.1
    assert plain.twin_predicted == pytest.approx(1.0, abs=0.05)
    assert plain.twin_coverage == pytest.approx(0.9, abs=0.05)
    assert forgetting.loss < plain.loss


def test_twin_keeps_rates():
    history = drifting_history()
    twin = history.poisson_twin(np.random.default_rng(4))
    assert twin.mean_rate == pytest.approx(history.mean_rate, rel=0.03)


def test_too_short_a_life():
    with pytest.raises(InvalidModel, match="four accesses"):
        examine(drifting_history(), 1e6)
    with pytest.raises(InvalidModel, match="page 0 disappears"):
        History.of(np.zeros(0, int), np.zeros(0), np.array([2.0]), np.array([1.0]))
