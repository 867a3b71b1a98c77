"""Laws from two and three moments have those moments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from recrawl.errors import InvalidModel
from recrawl.estimate import from_three_moments, from_two_moments
from recrawl.estimate.phase_fits import moments_of
from recrawl.laws import Hyperexponential, Lognormal, PhaseType, Uniform


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
