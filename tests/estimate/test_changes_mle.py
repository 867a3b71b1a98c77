"""Maximum likelihood of change rates against closed forms and a general optimiser."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from recrawl.errors import InvalidModel
from recrawl.estimate import Observations, change_rates, log_likelihood


def one_page(intervals, changed, ages=None):
    return Observations.of(np.zeros(len(intervals), int), intervals, changed, ages)


@given(st.integers(1, 60), st.integers(1, 59), st.floats(1e-6, 1e6))
def test_regular_intervals_have_a_closed_form(n, seen, interval):
    """−ln(1 − X/n)/τ for X changes in n accesses."""
    seen = min(seen, n - 1)
    if seen < 1:
        return
    rate = change_rates(
        one_page([interval] * n, [True] * seen + [False] * (n - seen)), corrected=False
    ).rates[0]
    assert rate == pytest.approx(-np.log1p(-seen / n) / interval, rel=1e-8)


@given(
    st.lists(st.tuples(st.floats(0.01, 50.0), st.booleans(), st.floats(0.01, 1.0)), min_size=2, max_size=20),
    st.booleans(),
)
def test_maximum_is_where_an_optimiser_finds_it(rows, corrected):
    intervals = np.array([row[0] for row in rows])
    changed = np.array([row[1] for row in rows])
    ages = np.where(np.arange(len(rows)) % 3 == 0, intervals * [row[2] for row in rows], np.nan)
    page = one_page(intervals, changed, ages)
    if not corrected and (not changed.any() or changed.all()):
        return
    found = change_rates(page, corrected=corrected).rates[0]

    def loss(y):
        rate = np.exp(y)
        total = -log_likelihood(page, np.array([rate]))[0]
        if corrected:
            x = rate * page.intervals[page.kinds < 2]
            with np.errstate(over="ignore"):
                information = np.sum(x**2 / np.expm1(x)) + np.sum(page.kinds == 2)
            total -= 0.5 * np.log(max(information, 1e-300))
        return total

    grid = np.linspace(np.log(found) - 3.0, np.log(found) + 3.0, 61)
    around = grid[np.argmin([loss(y) for y in grid])]
    best = minimize_scalar(
        loss, bounds=(around - 0.11, around + 0.11), method="bounded", options={"xatol": 1e-10}
    )
    assert loss(np.log(found)) <= best.fun + 1e-7


def test_ends_are_finite_and_sensible():
    pages = Observations.of([0] * 10 + [1] * 10, [2.0] * 20, [True] * 10 + [False] * 10)
    plain = change_rates(pages, corrected=False)
    assert plain.rates.tolist() == [np.inf, 0.0]
    assert np.isinf(plain.log_errors).all()
    high, low = change_rates(pages).rates
    # About a quarter to half of an unchanged access, about half a change.
    assert 0.2 / 10 < np.exp(-2.0 * high) < 0.5 / 10
    assert low == pytest.approx(0.5 / 20.0, rel=0.1)


def test_dates_are_exact_information():
    """All accesses dated: the maximum is the number of changes over the time they cover."""
    rate = change_rates(one_page([3.0, 5.0], [True, True], [1.0, 2.0]), corrected=False).rates[0]
    assert rate == pytest.approx(2.0 / 3.0)
    # A page first seen today, last modified 100 days ago.
    first = change_rates(one_page([np.inf], [True], [100.0]), corrected=False).rates[0]
    assert first == pytest.approx(0.01)


def test_a_page_without_accesses_is_unknown():
    pages = Observations.of([1], [1.0], [True], number_of_pages=2)
    assert np.isnan(change_rates(pages).rates[0])
    assert np.isfinite(change_rates(pages).rates[1])


def test_standard_errors_are_those_of_the_sample():
    rng = np.random.default_rng(1)
    intervals = rng.exponential(1.0, (3000, 60))
    changed = rng.random((3000, 60)) < -np.expm1(-0.8 * intervals)
    pages = Observations.of(np.repeat(np.arange(3000), 60), intervals.ravel(), changed.ravel())
    fit = change_rates(pages)
    errors = np.log(fit.rates / 0.8)
    assert abs(errors.mean()) < 0.02
    assert np.median(fit.log_errors) == pytest.approx(errors.std(), rel=0.05)


def test_rows_may_be_mixed():
    together = change_rates(Observations.of([0, 0, 1, 1], [1.0, 2.0, 3.0, 1.0], [1, 0, 1, 0])).rates
    mixed = change_rates(Observations.of([1, 0, 1, 0], [3.0, 1.0, 1.0, 2.0], [1, 1, 0, 0])).rates
    assert mixed == pytest.approx(together)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [0.0], [True]), "interval 0 must be a positive"),
        (([0], [-1.0], [True]), "interval 0 must be a positive"),
        (([0], [np.nan], [True]), "interval 0"),
        (([0], [np.inf], [True]), "interval 0"),
        (([0], [1.0], [True], [2.0]), "age 0 must lie between"),
        (([-1], [1.0], [True]), "pages must lie"),
        (([0, 1], [1.0], [True]), "one length"),
    ],
)
def test_bad_observations(arguments, message):
    with pytest.raises(InvalidModel, match=message):
        Observations.of(*arguments)
