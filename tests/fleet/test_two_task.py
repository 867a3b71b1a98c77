"""The closed form of Section 4.4 against the positive recursion, and the misprints it carries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.fleet import mm1k, solve
from recrawl.fleet.two_task import closed_form_cost, closed_form_normaliser, coefficients
from recrawl.laws import TwoTask


@given(
    st.floats(0.2, 5.0), st.floats(0.2, 5.0), st.floats(0.05, 1.0), st.floats(0.1, 3.0), st.integers(2, 25)
)
def test_closed_form_cost(check, update, p, load, capacity):
    service = TwoTask(check, update, p)
    assert closed_form_cost(service, load, 2.0, capacity) == pytest.approx(
        solve(service, load, capacity).cost(2.0), rel=1e-6, abs=1e-9
    )


def test_with_no_updates_it_is_mm1k():
    assert closed_form_cost(TwoTask(1.0, 3.0, 0.0), 0.8, 2.0, 9) == pytest.approx(
        mm1k.cost(0.8, 2.0, 9), rel=1e-12
    )


def test_the_printed_sums_start_too_early():
    service = TwoTask(2.0, 10.0, 0.5)
    exact = (1 / solve(service, 0.8, 12).starvation - 1) / 0.8
    assert closed_form_normaliser(service, 0.8, 12) == pytest.approx(exact, rel=1e-12)
    assert closed_form_normaliser(service, 0.8, 12, first=2) != pytest.approx(exact, rel=1e-3)


@given(st.floats(0.01, 1.0), st.floats(0.01, 50.0))
def test_coefficients_sum_to_zero_and_roots_are_real(p, load):
    _, b = coefficients(TwoTask(2.0, 10.0, p), load)
    assert sum(b) == pytest.approx(0.0, abs=1e-13 * max(abs(x) for x in b))
    assert (b[0] + b[1]) ** 2 + 4 * b[0] * b[3] > 0
