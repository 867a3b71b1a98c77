import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.laws import Deterministic, Exponential
from recrawl.revisit import (
    PHI,
    Pages,
    golden_counts,
    golden_limit,
    golden_limit_ratio,
    golden_obsolescence,
    golden_template,
    lower_bound,
    obsolescence_of_template,
)


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(5, 15))
def test_closed_cost_is_that_of_the_template(seed, size, k):
    rng = np.random.default_rng(seed)
    frequency = rng.dirichlet(np.ones(size))
    pages, access = Pages(rng.lognormal(0, 1, size)), Exponential(0.3)
    counts = golden_counts(frequency, k)
    exact = obsolescence_of_template(pages, access, golden_template(counts, k))
    np.testing.assert_allclose(golden_obsolescence(pages, access, counts, k), exact, rtol=1e-12)


def test_the_cycle_tends_to_its_limit():
    pages, access = Pages([0.4, 0.2, 0.1, 0.05]), Exponential(0.5)
    frequency = np.array([0.41, 0.3, 0.2, 0.09])
    limit = golden_limit(pages, access, frequency)
    errors = [
        np.abs(golden_obsolescence(pages, access, golden_counts(frequency, k), k) - limit).max()
        for k in (15, 30, 60, 78)
    ]
    assert errors[-1] < 1e-12
    assert errors[-1] < errors[1] < errors[0]


def test_powers_of_the_golden_ratio_have_two_gaps():
    frequency = np.array([PHI**-1, PHI**-2])
    pages, access = Pages([1.0, 1.0]), Deterministic(1.0)
    limit = golden_limit(pages, access, frequency)
    assert (limit >= lower_bound(pages, access, frequency)).all()


def test_true_supremum_of_the_ratio():
    u = np.linspace(1.0, PHI, 100_001)
    ratio = golden_limit_ratio(1e-7, u)
    assert ratio.max() == pytest.approx(PHI**5 / 10, rel=1e-6)
    assert u[ratio.argmax()] == pytest.approx(PHI**2 / 2, abs=1e-4)
    assert ratio[0] == pytest.approx(2 * PHI**2 / 5, rel=1e-6)
    assert ratio[-1] == pytest.approx(ratio[0], rel=1e-6)
    assert np.trapezoid(ratio / u, u) / math.log(PHI) == pytest.approx(PHI**2 / (5 * math.log(PHI)), rel=1e-6)


def test_ratio_is_reached_by_real_pages():
    """Many equal pages with f = u·φ^-j: the exact limit of their cost over the bound is the formula's ratio."""
    for u in (1.0, 1.2, PHI**2 / 2, 1.55):
        j, load = 18, 0.3
        f = u * PHI**-j
        pages = Pages([load * f])
        cost = golden_limit(pages, Deterministic(1.0), [f])[0]
        assert cost / lower_bound(pages, Deterministic(1.0), [f])[0] == pytest.approx(
            float(golden_limit_ratio(load, u)), rel=1e-4
        )


def test_never_accessed_never_changing():
    assert golden_limit(Pages([1.0, 0.0]), Exponential(1.0), [0.0, 1.0]).tolist() == [1.0, 0.0]
