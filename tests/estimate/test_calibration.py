"""Judges of estimators: the belief errs least, and a drift shows against the Poisson twin."""

import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.estimate.calibration import SPREADS, examine, judge, synthetic
from recrawl.estimate.histories import History


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


def test_drift_shows_against_the_twin():
    scores = {score.estimator: score for score in examine(drifting_history(), 0.5)}
    plain, forgetting = scores["belief"], scores["belief, forgetting"]
    assert plain.predicted > 3.0
    assert plain.coverage < 0.1
    assert plain.twin_predicted == pytest.approx(1.0, abs=0.05)
    assert plain.twin_coverage == pytest.approx(0.9, abs=0.05)
    assert forgetting.loss < plain.loss


def test_too_short_a_life():
    with pytest.raises(InvalidModel, match="four accesses"):
        examine(drifting_history(), 1e6)
    with pytest.raises(InvalidModel, match="spread must be one of"):
        synthetic("odd", 10, 2, np.random.default_rng(0))
