"""Formulas of Talim, Liu, Nain and Coffman as printed and as corrected, in any arithmetic (fractions are exact)."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "denominators",
    "numerators",
    "printed_denominators",
    "rational_alpha",
    "two_task_transform",
]

Number = Fraction | float


def two_task_transform(
    check_rate: Number, update_rate: Number, p: Number
) -> tuple[list[Number], list[Number]]:
    """A and B of the transform B(θ)/A(θ) of the two-task service. [Talim 2001, Section 4.4]"""
    return (
        [check_rate * update_rate, check_rate + update_rate, Fraction(1)],
        [check_rate * update_rate, (1 - p) * check_rate],
    )


def _sum(polynomial: Sequence[Number], lower: int, rate: Number) -> Number:
    """Σ_j C(j, lower) polynomial_j rate^j."""
    return sum(
        (comb(j, lower) * c * rate**j for j, c in enumerate(polynomial) if j >= lower), start=Fraction(0)
    )


def numerators(a: Sequence[Number], rate: Number) -> list[Number]:
    """a_i(ρ) with rate = ρ/σ̄. [Talim 2001, (25)]"""
    return [(-1) ** i * _sum(a, i, rate) for i in range(len(a))]


def denominators(a: Sequence[Number], b: Sequence[Number], rate: Number) -> list[Number]:
    """b_i(ρ). [Talim 2001, (26)] corrected: a and b change places in line 2, line 3 changes its sign."""
    return [_sum(b, 0, rate)] + [
        (-1) ** i * (_sum(b, i, rate) + _sum(a, i - 1, rate)) for i in range(1, len(a) + 1)
    ]


def printed_denominators(a: Sequence[Number], b: Sequence[Number], rate: Number) -> list[Number]:
    """b_i(ρ) as [Talim 2001, (26)] prints it."""
    r, q = len(b) - 1, len(a) - 1
    middle = [(-1) ** i * (_sum(a[: r + 1], i, rate) + _sum(b, i - 1, rate)) for i in range(1, r + 1)]
    last = [(-1) ** (i - 1) * _sum(a, i - 1, rate) for i in range(r + 1, q + 2)]
    return [_sum(b, 0, rate), *middle, *last]


def rational_alpha(above: Sequence[Number], below: Sequence[Number], capacity: int) -> list[Number]:
    """α_2..α_K by the convolution of [Talim 2001, (27)], from a_i(ρ) and b_i(ρ)."""
    alpha: list[Number] = []
    for n in range(capacity - 1):
        value = above[n] if n < len(above) else Fraction(0)
        for i in range(1, min(n, len(below) - 1) + 1):
            value -= below[i] * alpha[n - i]
        alpha.append(value / below[0])
    return alpha
