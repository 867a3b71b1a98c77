import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from recrawl.errors import InvalidModel
from recrawl.laws import Deterministic, Erlang, Exponential, Gamma, Hyperexponential, Lognormal, Uniform
from recrawl.revisit import (
    Pages,
    cost_of,
    integer_gap_bound,
    lower_bound,
    obsolescence_of_gaps,
    obsolescence_of_template,
    proportional_bound,
    proportional_frequencies,
    randomised_obsolescence,
)

LAWS = [
    Deterministic(0.5),
    Exponential(0.5),
    Hyperexponential.balanced(0.5),
    Lognormal(0.5, 2.0),
    Uniform(0.0, 1.0),
]


def stale_time_by_integration(rate: float, mean: float, accesses: int) -> float:
    """E[(Y − R)+] for Y the sum of exponential accesses and R the time to the first change, by its definition."""
    total = Gamma(mean * accesses, 1.0 / accesses)

    def inner(y):
        value, _ = quad(lambda r: (y - r) * rate * math.exp(-rate * r), 0.0, y)
        return value * float(total.density(y))

    return quad(inner, 0.0, 40.0 * mean * accesses, limit=400)[0]


@pytest.mark.parametrize("rate", [0.05, 0.7, 4.0])
def test_template_against_integration(rate):
    # One page with gaps of 1 and 3 exponential accesses, the other page has the rest.
    access = Exponential(0.5)
    found = obsolescence_of_template(Pages([rate, 1.0]), access, [0, 0, 1, 1])[0]
    stale = stale_time_by_integration(rate, 0.5, 1) + stale_time_by_integration(rate, 0.5, 3)
    assert found == pytest.approx(stale / (4 * 0.5), rel=1e-7)


@given(
    st.lists(st.floats(1e-3, 10.0), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
    st.sampled_from(LAWS),
)
def test_no_template_beats_the_bounds(rates, template, access):
    pages = Pages(rates)
    template = [page % len(rates) for page in template]
    frequency = np.bincount(template, minlength=len(rates)) / len(template)
    exact = obsolescence_of_template(pages, access, template)
    sharp = integer_gap_bound(pages, access, frequency)
    assert (sharp >= lower_bound(pages, access, frequency) - 1e-13).all()
    assert (exact >= sharp - 1e-12).all()
    assert ((exact >= 0) & (exact <= 1)).all()


@given(st.lists(st.integers(0, 3), min_size=2, max_size=20), st.integers(1, 19), st.sampled_from(LAWS))
def test_rotation_and_repetition_change_nothing(template, shift, access):
    pages = Pages([0.3, 1.0, 2.0, 0.0])
    exact = obsolescence_of_template(pages, access, template)
    np.testing.assert_allclose(
        exact, obsolescence_of_template(pages, access, np.roll(template, shift)), rtol=1e-12
    )
    np.testing.assert_allclose(
        exact, obsolescence_of_template(pages, access, np.tile(template, 3)), rtol=1e-12
    )


@pytest.mark.parametrize("access", LAWS, ids=str)
def test_even_spacing_reaches_both_bounds(access):
    pages = Pages([0.4, 2.0, 0.1])
    exact = obsolescence_of_template(pages, access, [0, 1, 0, 2])
    frequency = [0.5, 0.25, 0.25]
    np.testing.assert_allclose(exact, lower_bound(pages, access, frequency), rtol=1e-13)
    np.testing.assert_allclose(exact, integer_gap_bound(pages, access, frequency), rtol=1e-13)


def test_integer_gaps_reach_the_sharp_bound():
    # Frequencies 2/5 and 3/5: gaps 2, 3 and 2, 2, 1 are the best whole numbers.
    pages, access = Pages([1.0, 0.5]), Exponential(0.7)
    exact = obsolescence_of_template(pages, access, [1, 0, 1, 0, 1])
    np.testing.assert_allclose(exact, integer_gap_bound(pages, access, [0.4, 0.6]), rtol=1e-12)
    assert (exact > lower_bound(pages, access, [0.4, 0.6]) + 1e-4).all()


@pytest.mark.parametrize("rate", [1e-14, 1e-9, 1e-4, 1.0])
@pytest.mark.parametrize("frequency", [1.0, 1e-3])
def test_tiny_rates_keep_their_digits(rate, frequency):
    getcontext().prec = 80
    access = Exponential(0.5)
    mu, f, m = Decimal(rate), Decimal(frequency), Decimal("0.5")
    h = 1 / (1 + mu * m)
    exact = 1 - f / (mu * m) * (1 - (h.ln() / f).exp())
    assert lower_bound(Pages([rate]), access, [frequency])[0] == pytest.approx(float(exact), rel=1e-13)
    random = 1 - f / (mu * m) * (1 - h) / (1 - h + f * h)
    assert randomised_obsolescence(Pages([rate]), access, [frequency])[0] == pytest.approx(
        float(random), rel=1e-13
    )


def test_pages_never_accessed_or_never_changing():
    pages, access = Pages([1.0, 0.0, 1.0, 0.0]), Exponential(1.0)
    for function in (lower_bound, integer_gap_bound, randomised_obsolescence):
        rates = function(pages, access, [0.5, 0.5, 0.0, 0.0])
        assert rates[1] == rates[3] == 0.0
        assert rates[2] == 1.0
        assert 0 < rates[0] < 1
    template = obsolescence_of_template(pages, access, [0, 1, -1])
    assert template[1:].tolist() == [0.0, 1.0, 0.0]


def test_idle_slots_take_time():
    page, access = Pages([1.0]), Deterministic(1.0)
    assert obsolescence_of_template(page, access, [0, -1])[0] == pytest.approx(1 - (1 - math.exp(-2)) / 2)


def test_randomised_is_the_geometric_mixture():
    """Lemma 4.1 against the sum over geometric gaps, truncated."""
    page, access, f = Pages([0.8]), Erlang(0.6, 2), 0.3
    n = np.arange(1, 400)
    probability = f * (1 - f) ** (n - 1)
    stale = n * 0.6 - (1 - access.transform(0.8) ** n) / 0.8
    expected = (probability @ stale) / (probability @ n * 0.6)
    assert randomised_obsolescence(page, access, [f])[0] == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.floats(1e-6, 100.0), min_size=1, max_size=8), st.floats(0.1, 10.0), st.sampled_from(LAWS))
def test_proportional_bound_is_the_cost_of_its_frequencies(rates, scale, access):
    pages = Pages(rates, np.array(rates) * scale)
    cost = cost_of(pages, lower_bound(pages, access, proportional_frequencies(pages, access)))
    assert proportional_bound(pages, access) == pytest.approx(cost, rel=1e-10)


def test_proportional_bound_asks_for_proportional_weights():
    with pytest.raises(InvalidModel, match="not proportional"):
        proportional_bound(Pages([1.0, 2.0]), Exponential(1.0))
    assert proportional_bound(Pages([0.0]), Exponential(1.0)) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pages([]), "there are no pages"),
        (lambda: Pages([1.0, -2.0]), r"change_rate\[1\] must be a number not below zero, not -2"),
        (lambda: Pages([math.nan]), r"change_rate\[0\]"),
        (lambda: Pages([1.0, math.inf]), r"change_rate\[1\]"),
        (lambda: Pages([[1.0]]), "must be a list"),
        (lambda: Pages(["x"]), "change_rate must hold numbers"),
        (lambda: Pages([1.0], [0.0]), r"weight\[0\] must be a positive number, not 0.0"),
        (lambda: Pages([1.0], [1.0, 2.0]), "weight has 2 entries for 1 pages"),
        (lambda: Pages([1.0, 1.0], site=[0, -1]), r"site\[1\] must not be negative"),
        (lambda: Pages([1.0], site=[0.5]), "site must number"),
        (lambda: lower_bound(Pages([1.0]), Exponential(1.0), [1.5]), "frequency sums to 1.5"),
        (lambda: lower_bound(Pages([1.0]), Exponential(1.0), [-0.5]), r"frequency\[0\]"),
        (lambda: obsolescence_of_template(Pages([1.0]), Exponential(1.0), []), "at least one"),
        (lambda: obsolescence_of_template(Pages([1.0]), Exponential(1.0), [0.5]), "page numbers"),
        (lambda: obsolescence_of_template(Pages([1.0]), Exponential(1.0), [0, 3]), "names page 3"),
        (
            lambda: obsolescence_of_gaps(Pages([1.0]), Exponential(1.0), [0], [2], [3], 7),
            "sum to 6, not to the cycle 7",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidModel, match=message):
        call()


def test_pages_describe_themselves():
    pages = Pages([1.0, 2.0], site=[0, 1])
    assert "2 pages" in repr(pages)
    assert pages.sites == 2
    assert pages.subset(np.array([1])).change_rate.tolist() == [2.0]
