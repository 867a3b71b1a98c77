"""One battery of checks over every law."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from recrawl.errors import InvalidModel
from recrawl.laws import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    PhaseType,
    TwoTask,
    Uniform,
    parse_law,
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
    Empirical([0.5, 0.5, 1.0, 4.0]),
    PhaseType([0.4, 0.6], [[-3.0, 1.0], [2.0, -3.0]]),
    PhaseType([1.0, 0.0, 0.0], [[-1.0, 1.0, 0.0], [0.0, -2.0, 2.0], [0.0, 0.0, -3.0]]),
    TwoTask(2.0, 10.0, 0.35),
    TwoTask(1.0, 1.0, 1.0),
]
SMOOTH = [law for law in LAWS if not isinstance(law, Deterministic | Empirical)]


@pytest.fixture(params=LAWS, ids=str)
def law(request):
    return request.param


def test_transform_at_zero_is_one(law):
    assert law.transform(0.0) == pytest.approx(1.0, abs=1e-14)
    assert law.exponent(0.0) == 0.0
    assert law.exponent_deficit(0.0) == 0.0


def test_transform_decreases_within_its_bounds(law):
    s = np.concatenate(([0.0], np.geomspace(1e-6, 1e3, 200)))
    h = law.transform(s)
    assert (np.diff(h) <= 1e-15).all()
    assert (h >= np.exp(-s * law.mean) * (1 - 1e-12)).all()  # Jensen
    assert (h <= 1.0 + 1e-14).all()


def test_derivative_of_the_transform_is_the_mean(law):
    s = 1e-7 / law.mean
    assert (1.0 - law.transform(s)) / s == pytest.approx(law.mean, rel=1e-6)
    assert law.exponent(s) / s == pytest.approx(law.mean, rel=1e-5)


def test_second_moment_from_the_remainder(law):
    s = 1e-7 / law.mean
    assert 2 * law.transform_remainder(s) / s**2 == pytest.approx(law.second_moment, rel=1e-5)


def test_deficit_of_tiny_rates_keeps_its_digits(law):
    s = 1e-10 / law.mean
    assert law.exponent_deficit(s) == pytest.approx(law.scv * 0.5e-10, rel=1e-6, abs=1e-25)


def test_the_faces_of_the_transform_agree(law):
    s = np.geomspace(1e-3, 30, 40) / law.mean
    h = law.transform(s)
    np.testing.assert_allclose(law.transform_remainder(s), h - 1 + s * law.mean, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(law.exponent(s), -np.log(h), rtol=1e-11)
    np.testing.assert_allclose(law.exponent_deficit(s), 1 + np.log(h) / (s * law.mean), rtol=1e-7, atol=1e-12)


def test_moments_agree_with_each_other(law):
    assert law.variance == pytest.approx(law.second_moment - law.mean**2, rel=1e-9, abs=1e-12)
    assert law.scv == pytest.approx(law.variance / law.mean**2)


def test_samples_agree_with_the_law(law):
    size = 200_000
    sample = law.sample(np.random.default_rng(7), size)
    assert sample.shape == (size,)
    assert (sample >= 0).all()
    spread = math.sqrt(law.variance / size)
    assert sample.mean() == pytest.approx(law.mean, abs=5 * spread + 1e-12)
    e = np.exp(-sample / law.mean)
    assert e.mean() == pytest.approx(
        float(law.transform(1 / law.mean)), abs=5 * e.std() / math.sqrt(size) + 1e-12
    )
    for t in (0.5 * law.mean, law.mean * 1.001, 2 * law.mean):
        assert (sample <= t).mean() == pytest.approx(
            float(law.distribution(t)), abs=5 * 0.5 / math.sqrt(size)
        )


def test_distribution_is_a_distribution(law):
    t = np.linspace(-1.0, 40 * law.mean * (1 + law.scv), 400)
    p = law.distribution(t)
    assert (p[t < 0] == 0).all()
    assert (np.diff(p) >= -1e-12).all()
    assert p[-1] == pytest.approx(1.0, abs=2e-2)


@pytest.mark.parametrize("smooth", SMOOTH, ids=str)
def test_density_integrates_to_the_distribution(smooth):
    low, high = 0.4 * smooth.mean, 1.3 * smooth.mean
    points = [smooth.low, smooth.high] if isinstance(smooth, Uniform) else None
    mass, _ = quad(lambda t: float(smooth.density(t)), low, high, points=points, epsabs=1e-12, limit=200)
    assert mass == pytest.approx(float(smooth.distribution(high) - smooth.distribution(low)), abs=1e-9)
    assert smooth.density(-1.0) == 0.0


def test_laws_without_density_say_so():
    with pytest.raises(InvalidModel, match="no density"):
        Deterministic(1.0).density(1.0)


def test_scaling_keeps_the_shape(law):
    scaled = law.scaled(3.0 * law.mean)
    assert type(scaled) is type(law)
    assert scaled.mean == pytest.approx(3.0 * law.mean, rel=1e-12)
    assert scaled.scv == pytest.approx(law.scv, rel=1e-9, abs=1e-12)
    s = np.geomspace(0.01, 10, 7)
    np.testing.assert_allclose(scaled.transform(s), law.transform(3 * s), rtol=1e-12)


def test_repr_and_equality(law):
    assert type(law).__name__ in repr(law)
    assert law == law.scaled(law.mean) or law.scaled(law.mean).mean == pytest.approx(law.mean)
    assert hash(law) == hash(law)
    assert law != Deterministic(123.0)


@pytest.mark.parametrize("scv", [0.01, 1.0, 20.0, 400.0])
@pytest.mark.parametrize("s", [1e-6, 0.03, 1.0, 200.0, 1e5])
def test_lognormal_quadrature_against_adaptive_integration(scv, s):
    law = Lognormal(1.0, scv)

    def integrand(z):
        return math.exp(-0.5 * z * z - s * math.exp(law.location + law.sigma * z)) / math.sqrt(2 * math.pi)

    # The peak of the integrand, where an adaptive rule must look.
    grid = np.linspace(-37, 12, 20_000)
    peak = grid[np.argmax(-0.5 * grid**2 - s * np.exp(law.location + law.sigma * grid))]
    exact = sum(
        quad(integrand, a, b, epsabs=0, epsrel=1e-13, limit=500)[0]
        for a, b in [(peak - 12, peak - 2), (peak - 2, peak), (peak, peak + 2), (peak + 2, peak + 12)]
    )
    if exact > 1e-290:
        assert law.transform(s) == pytest.approx(exact, rel=2e-12)
        assert law.exponent(s) == pytest.approx(-math.log(exact), rel=1e-9)


@given(st.floats(0.01, 100), st.floats(1.0, 1000.0))
def test_balanced_hyperexponential_has_the_asked_moments(mean, scv):
    law = Hyperexponential.balanced(mean, scv)
    assert law.mean == pytest.approx(mean)
    assert law.scv == pytest.approx(scv, rel=1e-6)
    (p1, p2), (m1, m2) = law.probabilities, law.means
    assert p1 * m1 == pytest.approx(p2 * m2)


@given(st.floats(0.01, 100), st.integers(1, 50), st.floats(0, 1e4))
def test_erlang_is_gamma_is_phase_type(mean, stages, s):
    erlang = Erlang(mean, stages)
    assert float(erlang.transform(s)) == pytest.approx(float(Gamma(mean, 1 / stages).transform(s)), rel=1e-9)
    if stages <= 5:
        rate = stages / mean
        chain = np.diag([-rate] * stages) + np.diag([rate] * (stages - 1), 1)
        phases = PhaseType(np.eye(stages)[0], chain)
        assert float(phases.transform(s)) == pytest.approx(float(erlang.transform(s)), rel=1e-9)


@pytest.mark.parametrize(
    ("spelling", "law"),
    [
        ("deterministic:2", Deterministic(2.0)),
        ("exponential:0.5", Exponential(0.5)),
        ("erlang:3", Erlang(3.0, 2)),
        ("erlang:3,0.25", Erlang(3.0, 4)),
        ("erlang:3,0.3333", Erlang(3.0, 3)),
        ("gamma:2", Gamma(2.0, 1.0)),
        ("gamma:2,0.3", Gamma(2.0, 0.3)),
        ("hyperexponential:2", Hyperexponential.balanced(2.0, 4.0)),
        ("hyperexponential:2,9", Hyperexponential.balanced(2.0, 9.0)),
        ("lognormal:2", Lognormal(2.0, 1.0)),
        ("lognormal:2,5", Lognormal(2.0, 5.0)),
        ("uniform:2", Uniform(0.0, 4.0)),
        ("uniform:2,0.0833333333333333", Uniform.with_scv(2.0, 0.0833333333333333)),
        ("two-task:2,10,0.35", TwoTask(2.0, 10.0, 0.35)),
    ],
)
def test_spelling(spelling, law):
    assert parse_law(spelling) == law
    if spelling.count(",") == 1:
        assert parse_law(str(law)).scv == pytest.approx(law.scv, rel=1e-3)


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("weibull:1", "unknown law 'weibull'"),
        ("exponential", "should read exponential:MEAN"),
        ("exponential:", "with numbers"),
        ("exponential:x", "with numbers"),
        ("exponential:1,2", "should read exponential:MEAN"),
        ("exponential:-1", "mean must be a positive number, not -1"),
        ("exponential:nan", "mean must be a positive number"),
        ("exponential:inf", "mean must be a positive number"),
        ("erlang:1,0.4", "must be 1, 1/2, 1/3"),
        ("erlang:1,0", "must be 1, 1/2, 1/3"),
        ("uniform:1,0.5", "at most 1/3"),
        ("hyperexponential:1,0.5", "at least 1"),
        ("gamma:1,0", "scv must be a positive number"),
        ("two-task:1,2", "should read two-task:MEAN1,MEAN2,P"),
        ("two-task:1,2,1.5", "at most 1"),
    ],
)
def test_bad_spelling(spelling, message):
    with pytest.raises(InvalidModel, match=message.replace("[", r"\[")):
        parse_law(spelling)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Empirical([]), "needs a list of times"),
        (lambda: Empirical([1.0, -2.0]), "time 2 of the sample"),
        (lambda: Empirical([1.0, math.nan]), "time 2 of the sample"),
        (lambda: Empirical([0.0, 0.0]), "all times of the sample are zero"),
        (lambda: PhaseType([1.0], [[-1.0, 0.5]]), "square matrix"),
        (lambda: PhaseType([1.0], [[-1.0, 0.5], [0.5, -1.0]]), "alpha has 1 entries, S has 2 rows"),
        (lambda: PhaseType([0.5, 0.6], [[-1.0, 0.5], [0.5, -1.0]]), "alpha must sum to 1"),
        (lambda: PhaseType([-0.5, 1.5], [[-1.0, 0.5], [0.5, -1.0]]), r"alpha\[0\] must be a probability"),
        (lambda: PhaseType([0.5, 0.5], [[-1.0, -0.5], [0.5, -1.0]]), r"S\[0\]\[1\] is off the diagonal"),
        (lambda: PhaseType([0.5, 0.5], [[-1.0, 0.5], [2.0, -1.0]]), "row 1 of S sums to 1"),
        (lambda: PhaseType([0.5, 0.5], [[-1.0, 1.0], [1.0, -1.0]]), "phase 0 of S never ends"),
        (lambda: PhaseType([1.0], [[math.nan]]), "finite"),
        (lambda: Uniform(2.0, 1.0), "low must be below high"),
        (lambda: Hyperexponential((0.5,), (1.0, 2.0)), "1 probabilities for 2 means"),
        (lambda: Hyperexponential((0.5, 0.6), (1.0, 2.0)), "must sum to 1"),
        (lambda: Erlang(1.0, 0), "whole number from 1"),
        (lambda: Gamma("x"), "must be a number"),
    ],
)
def test_bad_laws(make, message):
    with pytest.raises(InvalidModel, match=message):
        make()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_exponents_of_huge_rates_are_finite_and_rise(law):
    s = np.geomspace(1.0, 1e15, 60) / law.mean
    exponent = law.exponent(s)
    assert np.isfinite(exponent).all()
    assert (np.diff(exponent) > 0).all()
    assert (exponent <= s * law.mean * (1 + 1e-12)).all()


def test_lognormal_beyond_underflow_joins_on():
    law = Lognormal(1.0, 0.05)
    s = np.geomspace(3e4, 3e5, 200)
    exponent = law.exponent(s)
    assert exponent[0] < 660
    assert exponent[-1] > 720
    steps = np.diff(exponent) / np.diff(np.log(s))
    assert np.abs(np.diff(steps)).max() < 0.01 * steps.max()
