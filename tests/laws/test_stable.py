"""The elementary functions against exact rational series."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.laws import _stable


def exp_minus(y: float) -> Fraction:
    """e^{-y} to 60 digits, by its series."""
    x = Fraction(y)
    # Halve the argument until the series is short, then square back.
    halvings = max(0, math.frexp(y)[1] + 2)
    x /= 2**halvings
    total = term = Fraction(1)
    for n in range(1, 40):
        term *= -x / n
        total += term
    for _ in range(halvings):
        total = Fraction(round(total * 10**400), 10**400) ** 2 if total.denominator > 10**400 else total**2
    return total


@given(st.floats(1e-12, 30.0))
def test_exponential_remainders(y):
    exact = exp_minus(y)
    assert float(_stable.exp_remainder(y)) == pytest.approx(float(exact - 1 + Fraction(y)), rel=2e-15)
    third = 1 - Fraction(y) + Fraction(y) ** 2 / 2 - exact
    assert float(_stable.exp_remainder3(y)) == pytest.approx(float(third), rel=5e-15)
    assert float(_stable.mean_decay(y)) == pytest.approx(float((1 - exact) / Fraction(y)), rel=2e-15)


@given(st.floats(-0.6, 20.0).filter(lambda w: abs(w) > 1e-12))
def test_log_remainder(w):
    value = float(_stable.log_remainder(w))
    # e^{w − value} = 1 + w, checked where it says something and against the series where it does not.
    if abs(w) > 1e-2:
        assert w - math.log1p(w) == pytest.approx(value, rel=1e-10)
    else:
        x = Fraction(w)
        series = sum((-1) ** n * x**n / n for n in range(2, 12))
        assert value == pytest.approx(float(series), rel=2e-15)


def test_at_zero():
    assert _stable.exp_remainder(0.0) == 0.0
    assert _stable.log_remainder(0.0) == 0.0
    assert _stable.mean_decay(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]
