"""Phase-type laws by EM, each against known laws."""

import numpy as np
import pytest

from recrawl.errors import InvalidModel
from recrawl.estimate import Sample, fit_phase_type
from recrawl.estimate.phase_fits import sample_log_likelihood
from recrawl.laws import Hyperexponential, PhaseType


def test_log_likelihood_of_a_sample():
    law = PhaseType([0.4, 0.6], [[-3.0, 1.0], [2.0, -3.0]])
    sample = Sample.of([0.1, 0.5, 0.5, 2.0], [False, False, False, True])
    expected = np.log(law.density([0.1, 0.5, 0.5])).sum() + np.log(1.0 - law.distribution(2.0))
    assert sample_log_likelihood(law, sample) == pytest.approx(expected)


@pytest.mark.parametrize("seed", [3, 31, 32])
@pytest.mark.parametrize("method", ["acyclic", "hyper-erlang", "phase-type"])
def test_a_known_law_is_found_again(method, seed):
    law = Hyperexponential((0.1, 0.9), (10.0, 0.5))
    sample = Sample.of(law.sample(np.random.default_rng(seed), 20_000))
    fit = fit_phase_type(sample, method=method, orders=[1, 2, 3], tolerance=1e-7)
    true = sample_log_likelihood(PhaseType([0.1, 0.9], [[-0.1, 0.0], [0.0, -2.0]]), sample)
    assert fit.law.order == 2
    assert fit.loglik > true - 3.0
    assert fit.law.mean == pytest.approx(law.mean, rel=0.04)
    assert fit.law.scv == pytest.approx(law.scv, rel=0.1)


def test_moments_methods_and_their_limits():
    times = np.random.default_rng(4).gamma(0.5, 2.0, 1000)
    for method, exact in (("moments-2", 2), ("moments-3", 3)):
        fit = fit_phase_type(Sample.of(times), method=method)
        assert fit.fitted_moments[:exact] == pytest.approx(fit.empirical_moments[:exact])
        assert np.isfinite(fit.loglik)
    with pytest.raises(InvalidModel, match="hyper-erlang"):
        fit_phase_type(Sample.of(times, times > 1.0), method="moments-2")
    with pytest.raises(InvalidModel, match="hyper-erlang only"):
        fit_phase_type(Sample.grouped([0.0, 1.0, 2.0], [5, 3]), method="acyclic", orders=[1])


def test_bad_samples():
    with pytest.raises(InvalidModel, match=r"time 1 .*-1"):
        Sample.of([1.0, -1.0])
    with pytest.raises(InvalidModel, match="censored"):
        Sample.of([1.0], [True])
    with pytest.raises(InvalidModel, match="edges must rise"):
        Sample.grouped([0.0, 0.0, 1.0], [1, 1])
