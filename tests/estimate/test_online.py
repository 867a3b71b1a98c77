"""Baselines: right where the literature says so, wrong where it says so."""

import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.estimate import Observations
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
