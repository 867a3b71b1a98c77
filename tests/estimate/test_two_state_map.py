"""The two-state process has the moments it was made from, and says what it cannot have."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recrawl.control import Costs, Model, best_thresholds, modes_of
from recrawl.errors import InvalidModel
from recrawl.estimate import Gaps, from_three_moments, two_state_map
from recrawl.estimate.fit import fit_two_state, from_moments
from recrawl.estimate.two_state_map import correlation_decay
from recrawl.laws import PhaseType

LAGS = [0.622, 0.574, 0.555, 0.537, 0.523, 0.507]
SIZES = [0.040445227, 0.18404232, 0.26405114, 0.5057307, 8.8163983e-4, 7.7143486e-4, 0.0018734847, 0.00220405]


@given(st.floats(0.1, 100.0), st.floats(1.01, 30.0), st.floats(0.05, 0.98), st.floats(0.03, 0.97))
def test_mean_variance_and_decay(mean, scv, decay, weight):
    correlations = [0.9 * decay**k for k in range(1, 6)]
    # Beyond this weight of the slow phase the fast one would need a negative mean.
    room = 2.0 * (1.0 - weight) / weight - (scv - 1.0)
    assume(abs(room) > 1e-6)
    if room < 0:
        with pytest.raises(InvalidModel, match="smaller weight"):
            two_state_map(mean, scv * mean**2, correlations, weight=weight)
        return
    fit = two_state_map(mean, scv * mean**2, correlations, weight=weight)
    process = fit.arrivals
    assert process.interval_mean == pytest.approx(mean, rel=1e-6)
    assert process.interval_variance == pytest.approx(scv * mean**2, rel=1e-6)
    ours = [process.interval_correlation(lag) for lag in (1, 2, 3)]
    assert ours == pytest.approx([fit.correlation_bound * decay**k for k in (1, 2, 3)], abs=1e-9)


def test_third_moment():
    base = two_state_map(2.0, 12.0, [0.3, 0.2, 0.15], weight=0.2).arrivals
    again = two_state_map(2.0, 12.0, [0.3, 0.2, 0.15], third_moment=base.interval_moment(3)).arrivals
    np.testing.assert_allclose(again.D, base.D, rtol=1e-6)


def test_the_paper_s_matrices():
    """[Avrachenkov, Section 7]: the printed A follows from the printed moments, slow weight 0.53."""
    fit = two_state_map(212.03, 51352.38, LAGS, weight=0.53)
    assert fit.arrivals.D[1] == pytest.approx(np.array([[0.0037, 6.58e-5], [1.3e-4, 0.0064]]), rel=0.02)
    assert fit.correlation_bound == pytest.approx(0.0623, abs=5e-5)
    assert "0.622" in fit.warnings[0]


def test_from_printed_moments_to_the_printed_thresholds():
    """Table 5 end to end: moments of gaps and sizes, batch sizes, and the optimum of every set of modes."""
    arrivals, _fit = from_moments(212.03, 51352.38, LAGS, SIZES)
    rate = 6053.0  # bytes per unit of time, from the printed fast phase 0.2409
    service = from_three_moments(49207.0356 / rate, 2.0527e11 / rate**2, 2.5773e18 / rate**3)
    model = Model(
        capacity=20,
        service=service,
        modes=modes_of([arrivals.scaled(r) for r in (1, 2, 3, 4)]),
        costs=Costs(loss=200, obsolete=250, response=3, robot=20, starvation=600),
        obsolescence=PhaseType([1.0], [[-0.0005]]),
    )
    printed = {
        (2, 1): ((0,), 624.97),
        (3, 1): ((0,), 591.72),
        (4, 1): ((2,), 563.51),
        (3, 2): ((1,), 622.81),
        (4, 2): ((2,), 593.29),
        (4, 3): ((3,), 609.66),
        (4, 3, 2, 1): ((2, 2, 2), 563.51),
    }
    found = {entry.modes: entry for entry in best_thresholds(model).combinations}
    for modes, (thresholds, cost) in printed.items():
        assert found[modes].thresholds == thresholds
        assert found[modes].cost == pytest.approx(cost, rel=4e-4)


def test_from_a_log():
    process = two_state_map(1.0, 4.0, [0.3, 0.27, 0.243], weight=0.2).arrivals
    gaps = Gaps.of(process.sample(np.random.default_rng(1), 60_000)[0])
    fit = fit_two_state(gaps)
    assert fit.fitted.mean == pytest.approx(fit.empirical.mean)
    assert fit.fitted.scv == pytest.approx(fit.empirical.scv)
    assert fit.fitted.lag_correlations[0] == pytest.approx(process.interval_correlation(1), abs=0.02)


def test_impossible():
    with pytest.raises(InvalidModel, match="scv above 1"):
        two_state_map(1.0, 0.5, [0.3, 0.2])
    with pytest.raises(InvalidModel, match="two positive"):
        correlation_decay([-0.1, 0.2])
    with pytest.raises(InvalidModel, match="third moment"):
        two_state_map(1.0, 4.0, [0.3, 0.2], third_moment=5.0)
    with pytest.raises(InvalidModel, match="sum to 1"):
        from_moments(1.0, 2.0, [0.3, 0.2], [0.5, 0.4])
