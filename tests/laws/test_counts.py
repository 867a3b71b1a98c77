"""Arrivals during a random time: one battery over every law, against integrals and scipy's distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from recrawl.errors import InvalidModel
from recrawl.laws import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Law,
    Lognormal,
    PhaseType,
    TwoTask,
    Uniform,
    arrival_counts,
)

LAWS = [
    Deterministic(0.7),
    Exponential(0.5),
    Erlang(2.0, 3),
    Gamma(1.5, 0.2),
    Gamma(0.3, 6.0),
    Hyperexponential.balanced(1.0, 4.0),
    Hyperexponential((0.2, 0.3, 0.5), (3.0, 1.0, 0.1)),
    Lognormal(1.0, 0.05),
    Lognormal(2.0, 9.0),
    Uniform(0.0, 3.0),
    Uniform(0.99, 1.01),
    Uniform(5.0, 400.0),
    Empirical([0.5, 0.5, 1.0, 4.0]),
    PhaseType([0.4, 0.6], [[-3.0, 1.0], [2.0, -3.0]]),
    TwoTask(2.0, 10.0, 0.35),
    TwoTask(1.0, 1.0, 1.0),
]


@pytest.fixture(params=LAWS, ids=str)
def law(request):
    return request.param


@pytest.mark.parametrize("load", [1e-3, 0.9, 25.0, 3000.0])
@pytest.mark.parametrize("last", [0, 1, 60])
def test_probabilities_and_moments_balance(law, load, last):
    counts = arrival_counts(law, load / law.mean, last)
    assert (counts.probabilities >= 0).all()
    assert (counts.tails >= 0).all()
    rounding = 1e-13 + 1e-15 * load * law.scv
    assert counts.probabilities.sum() + counts.tails[-1] == pytest.approx(1.0, abs=rounding)
    # E[A] = rate × mean; a gamma law's ratio q = y/(1+y) rounds, which costs y = load × scv in digits.
    assert counts.excesses[0] == pytest.approx(load, rel=rounding)
    assert np.exp(counts.log_none) == pytest.approx(counts.probabilities[0], rel=100 * rounding, abs=1e-280)
    differences = np.append(1.0, counts.tails[:-1]) - counts.tails
    assert differences == pytest.approx(counts.probabilities, abs=rounding)


def poisson_tail_by_integration(law, rate, m):
    """P(A > m) = ∫ P(X > t) rate (rate t)^m e^{-rate t}/m! dt: the (m+1)-th arrival comes before the end."""
    arrival = stats.gamma(m + 1, scale=1.0 / rate)
    low, high = arrival.ppf([1e-4, 1 - 1e-15])
    # Densities may be singular at zero: panels shrink towards it.
    edges = np.unique(
        np.concatenate(([0.0], np.geomspace(1e-60 * low, high, 300), np.linspace(low, high, 120)))
    )
    if isinstance(law, Uniform):
        edges = np.unique(np.append(edges, [law.low, law.high]))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = 0.5 * np.diff(edges)[:, None]
    t = edges[:-1, None] + half * (1 + nodes)
    return float(((1 - law.distribution(t)) * arrival.pdf(t) * weights * half).sum())


SMOOTH = [law for law in LAWS if not isinstance(law, Deterministic | Empirical | PhaseType)]


@pytest.mark.parametrize("law", SMOOTH, ids=str)
@pytest.mark.parametrize("m", [0, 1, 7])
def test_tails_against_an_integral_over_the_next_arrival(law, m):
    rate = 1.3 / law.mean
    exact = poisson_tail_by_integration(law, rate, m)
    assert arrival_counts(law, rate, 10).tails[m] == pytest.approx(exact, rel=1e-10, abs=1e-14)


def test_deterministic_is_poisson():
    m = np.arange(60)
    assert arrival_counts(Deterministic(2.0), 1.5, 59).tails == pytest.approx(
        stats.poisson.sf(m, 3.0), rel=1e-12
    )


@pytest.mark.parametrize("scv", [0.01, 0.3, 1.0, 8.0])
def test_gamma_is_negative_binomial(scv):
    m = np.arange(80)
    tails = arrival_counts(Gamma(2.0, scv), 1.5, 79).tails
    assert tails == pytest.approx(stats.nbinom.sf(m, 1 / scv, 1 / (1 + 3 * scv)), rel=1e-11)


def test_the_same_law_by_three_roads():
    erlang, phases = Erlang(2.0, 3), PhaseType([1, 0, 0], [[-1.5, 1.5, 0], [0, -1.5, 1.5], [0, 0, -1.5]])
    one, two = arrival_counts(erlang, 0.8, 40), arrival_counts(phases, 0.8, 40)
    assert one.tails == pytest.approx(two.tails, rel=1e-12)
    assert one.excess == pytest.approx(two.excess, rel=1e-12)
    exponential, mixed = Exponential(2.0), Hyperexponential((0.3, 0.7), (2.0, 2.0))
    one, two = arrival_counts(exponential, 0.8, 40), arrival_counts(mixed, 0.8, 40)
    assert one.probabilities == pytest.approx(two.probabilities, rel=1e-13)


def test_uniform_against_its_incomplete_gamma_form():
    # k_m = (P(A_high > m) − P(A_low > m)) / width, for a uniform rate × time.
    law, m = Uniform(3.0, 50.0), np.arange(40)
    exact = (stats.poisson.sf(m, 0.5 * 50.0) - stats.poisson.sf(m, 0.5 * 3.0)) / (0.5 * 47.0)
    assert arrival_counts(law, 0.5, 39).probabilities == pytest.approx(exact, rel=1e-12)


def test_rare_counts_keep_their_digits():
    counts = arrival_counts(Uniform(0.0, 2.0), 0.9, 150)
    exact = quad(lambda x: stats.poisson.sf(140, 0.9 * x) / 2, 0, 2, epsabs=0, epsrel=1e-12, limit=200)[0]
    assert 0 < exact < 1e-150
    assert counts.tails[140] == pytest.approx(exact, rel=1e-10)


@given(st.floats(0.01, 30.0), st.floats(0.05, 20.0), st.integers(0, 300))
def test_lognormal_moments(load, scv, last):
    counts = arrival_counts(Lognormal(3.0, scv), load / 3.0, last)
    assert counts.excesses[0] == pytest.approx(load, rel=1e-12)
    assert counts.probabilities[0] == pytest.approx(
        float(Lognormal(3.0, scv).transform(load / 3.0)), rel=1e-11
    )


def test_bad_input():
    with pytest.raises(InvalidModel, match="rate must be a positive number, not 0"):
        arrival_counts(Exponential(1.0), 0, 3)
    with pytest.raises(InvalidModel, match="last must not be below zero, not -1"):
        arrival_counts(Exponential(1.0), 1.0, -1)

    class Unknown(Law):
        mean = second_moment = 1.0
        transform = transform_remainder = distribution = sample = scaled = None

    with pytest.raises(InvalidModel, match="no way is known"):
        arrival_counts(Unknown(), 1.0, 3)
