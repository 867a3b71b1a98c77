"""Phase-type laws from moments and by EM, each against known laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize

from recrawl.errors import InvalidModel
from recrawl.estimate import Sample, fit_phase_type, from_three_moments, from_two_moments
from recrawl.estimate.hyper_erlang import hyper_erlang_em
from recrawl.estimate.phase_fits import moments_of, phase_type_em, sample_log_likelihood
from recrawl.laws import Erlang, Gamma, Hyperexponential, Lognormal, PhaseType, Uniform


@given(st.floats(1e-6, 1e6), st.floats(0.01, 500.0))
def test_two_moments(mean, scv):
    law = from_two_moments(mean, scv)
    assert law.mean == pytest.approx(mean, rel=1e-9)
    assert law.scv == pytest.approx(scv, rel=1e-6)


@given(
    st.floats(1e-3, 1e3),
    st.lists(st.tuples(st.floats(0.05, 1.0), st.floats(0.1, 10.0)), min_size=2, max_size=4),
)
def test_three_moments_of_any_mixture(scale, parts):
    """Moments of mixtures of gamma laws: always moments of a law, on both sides of scv 1."""
    weights = np.array([weight for weight, _shape in parts])
    weights /= weights.sum()
    shapes = np.array([shape for _weight, shape in parts])
    first = float(weights @ shapes) * scale
    second = float(weights @ (shapes * (shapes + 1))) * scale**2
    third = float(weights @ (shapes * (shapes + 1) * (shapes + 2))) * scale**3
    law = from_three_moments(first, second, third)
    assert moments_of(law) == pytest.approx((first, second, third), rel=1e-6)


@pytest.mark.parametrize(
    ("law", "order"),
    [(Hyperexponential.balanced(2.0, 5.0), 2), (Lognormal(1.0, 1.5), 2), (Uniform(0.0, 1.0), 16)],
)
def test_three_moments_of_known_laws(law, order):
    top = 1.0 if order == 16 else 200.0
    cuts = [0.01, 0.1, 0.5, 1.0, 5.0, 20.0] if order == 2 else None
    third = quad(lambda t: 3 * t**2 * float(1.0 - law.distribution(t)), 0, top, points=cuts, limit=200)[0]
    fitted = from_three_moments(law.mean, law.second_moment, third)
    assert fitted.order == order
    assert moments_of(fitted) == pytest.approx((law.mean, law.second_moment, third), rel=1e-5)


def test_acyclic_of_two_phases_below_scv_one():
    law = PhaseType([0.6, 0.4], [[-1.0, 1.0], [0.0, -0.8]])
    assert 0.5 < law.scv < 1.0
    fitted = from_three_moments(*moments_of(law))
    assert fitted.order == 2
    assert moments_of(fitted) == pytest.approx(moments_of(law))


def test_content_sizes_of_the_paper():
    """[Avrachenkov, Section 7]: printed probabilities, and rates up to the printed processing rate."""
    law = from_three_moments(49207.0356, 2.0527e11, 2.5773e18)
    assert law.alpha == pytest.approx([0.0057, 0.9943], abs=1e-4)  # the paper cuts digits off
    rates = -np.diag(law.S) * 6053.0
    assert rates == pytest.approx([0.0014, 0.2409], abs=5e-5)


def test_impossible_moments():
    with pytest.raises(InvalidModel, match="no law has the moments"):
        from_three_moments(1.0, 0.9, 2.0)
    with pytest.raises(InvalidModel, match="no law has the moments"):
        from_three_moments(1.0, 2.0, 3.9)
    with pytest.raises(InvalidModel, match="stages"):
        from_two_moments(1.0, 1e-4)


def test_log_likelihood_of_a_sample():
    law = PhaseType([0.4, 0.6], [[-3.0, 1.0], [2.0, -3.0]])
    sample = Sample.of([0.1, 0.5, 0.5, 2.0], [False, False, False, True])
    expected = np.log(law.density([0.1, 0.5, 0.5])).sum() + np.log(1.0 - law.distribution(2.0))
    assert sample_log_likelihood(law, sample) == pytest.approx(expected)


def test_hyper_erlang_is_a_maximum():
    """EM against a general optimiser of the same likelihood."""
    times = np.random.default_rng(1).lognormal(0.0, 0.8, 300)
    fit = hyper_erlang_em(Sample.of(times), (2, 1), iterations=20_000, tolerance=1e-13)

    def loss(parameters):
        p = 1.0 / (1.0 + np.exp(-parameters[0]))
        one = Gamma(np.exp(parameters[1]), 0.5).density(times)
        two = Gamma(np.exp(parameters[2]), 1.0).density(times)
        return -np.log(p * one + (1 - p) * two).sum()

    best = min(
        minimize(
            loss, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-8, "fatol": 1e-10}
        ).fun
        for start in ([0.0, -0.5, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.5])
    )
    assert fit.loglik == pytest.approx(-best, abs=1e-3)


def test_grouped_and_censored_times():
    """Cut into groups, or cut off at the median, a sample tells the same law."""
    times = Erlang(2.0, 2).sample(np.random.default_rng(2), 20_000)
    exact = hyper_erlang_em(Sample.of(times), (2,))
    edges = np.append(np.linspace(0.0, 10.0, 51), np.inf)
    grouped = hyper_erlang_em(Sample.grouped(edges, np.histogram(times, edges)[0]), (2,))
    cut = float(np.median(times))
    censored = Sample.of(np.minimum(times, cut), times > cut)
    assert grouped.rates == pytest.approx(exact.rates, rel=0.01)
    assert hyper_erlang_em(censored, (2,)).rates == pytest.approx(exact.rates, rel=0.03)
    # Ignoring the cut would be far off.
    assert hyper_erlang_em(Sample.of(np.minimum(times, cut)), (2,)).rates[0] > 1.4 * exact.rates[0]
    law, _loglik, _steps, good = phase_type_em(censored, erlang_start())
    assert good
    assert law.mean == pytest.approx(2.0, rel=0.03)


def erlang_start():
    return PhaseType([1.0, 0.0], [[-0.5, 0.5], [0.0, -0.5]])


@pytest.mark.parametrize("method", ["acyclic", "hyper-erlang", "phase-type"])
def test_a_known_law_is_found_again(method):
    law = Hyperexponential((0.1, 0.9), (10.0, 0.5))
    sample = Sample.of(law.sample(np.random.default_rng(3), 20_000))
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
