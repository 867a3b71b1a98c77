"""Every number and claim of Talim, Liu, Nain and Coffman (2001), recomputed and judged."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from recrawl.fleet import (
    limit_cost,
    limit_robots,
    mm1k,
    optimal_load,
    search_monotonicity,
    search_second_minimum,
    solve,
)
from recrawl.fleet.two_task import closed_form_normaliser, coefficients
from recrawl.laws import Erlang, Exponential, Hyperexponential, Law, Lognormal, TwoTask
from recrawl.papers import _talim
from recrawl.papers.fleet_figures import robots_mm1k
from recrawl.papers.row import Row, Verdict

__all__ = ["rows"]

_WEIGHTS = (0.01, 0.1, 0.5, 0.9, 1.1, 2.0, 10.0, 1000.0)
_CAPACITIES = (2, 3, 5, 10, 50, 1000, 100_000)
_SERVICE = TwoTask(2.0, 10.0, 1.0)


def _row(item: str, printed: str, computed: str, verdict: Verdict, note: str = "") -> Row:
    return Row("Talim", item, printed, computed, verdict, note)


def _judged(item: str, claim: str, holds: bool, computed: str, note: str = "") -> Row:
    """A claim that is checked over many cases."""
    return _row(item, claim, computed, "agrees" if holds else "false claim", note)


def rows() -> list[Row]:
    """One row for each number or claim, in the paper's order."""
    return [
        *_exponential(),
        *_bounds(),
        *_limits(),
        *_transforms(),
        *_asymptotics(),
        *_two_task(),
        *_two_task_figures(),
    ]


def _exponential() -> list[Row]:
    at_one = mm1k.cost(1.0, 2.0, 4)
    sides = all(
        (mm1k.optimal_load(g, k) < 1.0) == (g < 1.0) for g, k in itertools.product(_WEIGHTS, _CAPACITIES)
    )
    minima = search_second_minimum([Exponential(1.0)], [0.1, 0.5, 1.0, 2.0, 10.0], [2, 5, 10, 50])
    ratio = mm1k.optimal_load(1.0, 2), mm1k.optimal_load(1.0, 1000)
    growing = all(
        mm1k.optimal_load(a, k) <= mm1k.optimal_load(b, k)
        for k in _CAPACITIES
        for a, b in itertools.pairwise(_WEIGHTS)
    )
    numbers = [robots_mm1k(5.0, g / 4, 20) for g in range(1, 41)]
    return [
        _row("(2), ρ = 1, γ = 2, K = 4", "3/5", f"{at_one:.12g}", "agrees"),
        _judged("Lemma 1", "one minimum", not minima.findings, str(minima)),
        _judged("Lemma 1", "ρ(γ,K) < 1 iff γ < 1", sides, f"{len(_WEIGHTS) * len(_CAPACITIES)} cases"),
        _judged(
            "Lemma 1", "ρ(1,K) = 1", ratio == (1.0, 1.0), f"{ratio[0]:g} (K = 2), {ratio[1]:g} (K = 1000)"
        ),
        _judged("Proposition 3", "ρ(γ,K) rises with γ", growing, f"{len(_CAPACITIES)} capacities"),
        _judged(
            "Figure 2",
            "N(γ,K) rises with γ",
            numbers == sorted(numbers),
            f"from {numbers[0]} to {numbers[-1]} robots (K = 20)",
        ),
    ]


def _bounds() -> list[Row]:
    cases = list(itertools.product(_WEIGHTS, _CAPACITIES))
    lower = all((g / k) ** (1 / (k - 1)) <= mm1k.optimal_load(g, k) for g, k in cases)
    upper = all(mm1k.optimal_load(g, k) < ((k + 1) * g) ** (1 / (k - 1)) for g, k in cases if g >= 1.0)
    conjecture = search_monotonicity([Exponential(1.0)], _WEIGHTS, range(2, 200))
    return [
        _judged("(7)", "(γ/K)^{1/(K−1)} ≤ ρ(γ,K)", lower, f"{len(cases)} cases"),
        _judged(
            "(8)",
            "ρ(γ,K) < ((K+1)γ)^{1/(K−1)}, γ ≥ 1",
            upper,
            f"{len(cases) // 2} cases",
            "K instead of K+1 suffices: (7) with the roles of full and empty exchanged",
        ),
        _judged(
            "Section 3.3, Figure 3",
            "K → ρ(γ,K) suspected monotone",
            not conjecture.findings,
            str(conjecture),
            "not proven; no counterexample",
        ),
    ]


def _right_from(weight: float) -> int:
    """The capacity from which on N(γ,K) = N(γ,∞) when μ/λ = 6."""
    limit = limit_robots(Exponential(1.0), 1 / 6, weight)
    wrong = [k for k in range(2, 400) if robots_mm1k(6.0, weight, k) != limit]
    return max(wrong) + 1


def _limits() -> list[Row]:
    far = [mm1k.optimal_load(g, 10**6) for g in (0.5, 2.0)]
    robots = [limit_robots(Exponential(1.0), 1 / 6, g) for g in (0.5, 2.0)]
    half, two = _right_from(0.5), _right_from(2.0)
    costs = [mm1k.cost(rho, 2.0, 10**6) - limit_cost(rho, 2.0) for rho in (0.8, 1.2)]
    return [
        _judged(
            "(11)", "ρ(γ,K) → 1", all(abs(x - 1) < 1e-4 for x in far), f"{far[0]:.7f}, {far[1]:.7f} (K = 10⁶)"
        ),
        _judged("(13)", "C → γ(1−ρ), 1−1/ρ", all(abs(x) < 1e-12 for x in costs), "ρ = 0.8 and 1.2, K = 10⁶"),
        _judged(
            "Figure 5, μ/λ = 6", "N(γ,∞) = 6 for γ = 0.5, 2", robots == [6, 6], f"{robots[0]}, {robots[1]}"
        ),
        _row(
            "Figure 4(b), γ = 0.5", "right from K = 13", f"K = {half}", "agrees" if half == 13 else "misprint"
        ),
        _row(
            "Figure 4(b), γ = 2",
            "right from K = 18",
            f"K = {two}",
            "agrees" if two == 18 else "misprint",
            f"N(2,{two - 1}) = {robots_mm1k(6.0, 2.0, two - 1)}, N(2,{two}) = {robots_mm1k(6.0, 2.0, two)}",
        ),
    ]


def _transforms() -> list[Row]:
    a, b = _talim.two_task_transform(Fraction(1, 2), Fraction(1, 10), Fraction(1, 2))
    rate = Fraction(1, 7)  # ρ = 1: the mean service is 2 + 10/2
    printed, right = _talim.printed_denominators(a, b, rate), _talim.denominators(a, b, rate)
    exact = _talim.rational_alpha(_talim.numerators(a, rate), right, 20)[-1]
    starving = solve(TwoTask(2.0, 10.0, 0.5), 1.0, 20).starvation
    ours = 1.0 / starving - 1.0
    error = abs(ours / float(exact) - 1.0)
    costly = solve(_SERVICE, 1e5, 5).cost(2.0)
    return [
        _row("(19)", "P{X=0} = 1/R", "1/B", "misprint", "B is what the line above (19) defines"),
        _judged("Remark 1", "α_K(ρ) ≥ 1", exact >= 1, f"α_20(1) = {float(exact):.10g}"),
        _row(
            "(26), Remark 2",
            "Σ b_i(ρ) = 0",
            f"as printed {sum(printed)}, corrected {sum(right)}",
            "misprint" if sum(printed) != 0 and sum(right) == 0 else "agrees",
            "a and b are swapped in line 2, line 3 has the wrong sign (two-task, p = 1/2, ρ = 1)",
        ),
        _judged(
            "(27) with (26) corrected",
            "α_K by recursion",
            error < 1e-13,
            f"the positive recursion differs by {error:.0e}",
        ),
        _row("(29)", "sum over i = 1..q+1", "i = 1..m", "misprint", "over the distinct roots"),
        _judged("(30), Lemma 5", "C → 1 as ρ → ∞", abs(costly - 1.0) < 1e-4, f"{costly:.6f} at ρ = 10⁵"),
        _degrees(),
    ]


def _degrees() -> Row:
    """Growth of α_4 for the two-task service with p = 1, where r = 0: the degree of its numerator."""
    a, b = _talim.two_task_transform(Fraction(1, 2), Fraction(1, 10), Fraction(1))
    small, large = (
        _talim.rational_alpha(_talim.numerators(a, rate), _talim.denominators(a, b, rate), 4)[-1]
        for rate in (Fraction(10**9), Fraction(10**10))
    )
    degree = round(math.log10(float(large / small)))
    return _row(
        "Lemma 5, degree of f (q = 2, K = 4)",
        "q^{K−1} = 8",
        f"{degree}",
        "agrees" if degree == 8 else "misprint",
        "the degrees are q(K−1) and r(K−1)",
    )


def _asymptotics() -> list[Row]:
    laws: list[Law] = [_SERVICE, Lognormal(1.0, 3.0)]
    gaps = [abs(solve(law, rho, 3000).cost(2.0) - limit_cost(rho, 2.0)) for law in laws for rho in (0.7, 1.4)]
    queue = solve(_SERVICE, 1.0, 10_000)
    scaled = queue.cost(2.0) * 10_000 / ((1 + 2.0) * (1 + _SERVICE.scv) / 2)
    far = optimal_load(_SERVICE, 2.0, 2000).load
    rising = [optimal_load(_SERVICE, g, 5).load for g in (1.0, 1e2, 1e4, 1e6)]
    return [
        _judged(
            "Proposition 4",
            "ρ_1(γ,K) → ∞ with γ",
            rising == sorted(rising),
            f"{rising[-1]:.4g} at γ = 10⁶, K = 5",
        ),
        _judged(
            "Proposition 5", "C → γ(1−ρ), 1−1/ρ", max(gaps) < 1e-9, f"within {max(gaps):.0e} at K = 3000"
        ),
        _row(
            "Proposition 5, ρ = 1",
            "C ~ 0",
            f"C·2K/((1+γ)(1+scv)) = {scaled:.5f} at K = 10⁴",
            "false claim",
            "nothing is asymptotically equal to 0; C ~ (1+γ)(1+scv)/(2K)",
        ),
        _judged("Proposition 6", "ρ(γ,K) → 1", abs(far - 1) < 0.01, f"{far:.5f} at K = 2000"),
    ]


def _two_task() -> list[Row]:
    half = TwoTask(2.0, 10.0, 0.5)
    a, b = coefficients(half, 0.8)
    form_a, form_b = _talim.two_task_transform(0.5, 0.1, 0.5)
    rate = 0.8 / half.mean
    same = max(
        abs(float(x - y))
        for x, y in zip(
            [*a, *b],
            [*_talim.numerators(form_a, rate), *_talim.denominators(form_a, form_b, rate)],
            strict=True,
        )
    )
    ours = 1.0 / (0.8 * solve(half, 0.8, 12).starvation) - 1.0 / 0.8
    closed = closed_form_normaliser(half, 0.8, 12)
    shifted = closed_form_normaliser(half, 0.8, 12, first=2)
    plain = solve(TwoTask(2.0, 10.0, 0.0), 0.8, 12).cost(2.0) - mm1k.cost(0.8, 2.0, 12)
    spreads = [
        (b[0] + b[1]) ** 2 + 4 * b[0] * b[3]
        for p in (0.0, 0.3, 1.0)
        for rho in (0.01, 0.5, 1.0, 2.0, 50.0)
        for b in [coefficients(TwoTask(2.0, 10.0, p), rho)[1]]
    ]
    return [
        _judged("Section 4.4, a_i, b_i", "as (25), (26) corrected", same < 1e-15, f"differ by {same:.0e}"),
        _judged("Section 4.4, p = 0", "is M/M/1/K", abs(plain) < 1e-14, f"costs differ by {abs(plain):.0e}"),
        _judged(
            "Section 4.4", "Δ(ρ) > 0", min(spreads) > 0, f"least of {len(spreads)} cases {min(spreads):.2g}"
        ),
        _row(
            "Section 4.4, initial conditions",
            "u_2, u_3",
            "u_3, u_4",
            "misprint",
            "u_2 is not defined; the formulas of d_1, d_2 use u_3 and u_4",
        ),
        _row(
            "Section 4.4, α_12(0.8)",
            f"{shifted:.10g}, sums from i = 2",
            f"{closed:.10g}, sums from i = 3",
            "misprint" if abs(closed / ours - 1) < 1e-12 < abs(shifted / ours - 1) else "agrees",
            f"the positive recursion gives {ours:.10g}",
        ),
    ]


def _two_task_figures() -> list[Row]:
    half = TwoTask(2.0, 10.0, 0.5)
    best = optimal_load(_SERVICE, 2.0, 15)
    services: list[Law] = [
        _SERVICE,
        half,
        Erlang(1.0, 5),
        Hyperexponential.balanced(1.0, 20.0),
        Lognormal(1.0, 5.0),
    ]
    minima = search_second_minimum(services, [0.1, 1.0, 10.0], [2, 5, 15], loads=120)
    equal = {p: [optimal_load(TwoTask(2.0, 10.0, p), 1.0, k).load for k in (2, 5, 30)] for p in (1.0, 0.5)}
    monotone = search_monotonicity([_SERVICE], [0.5, 2.0], range(2, 31))
    turning = 0.99
    turned = [optimal_load(_SERVICE, turning, k).load for k in (2, 5)]
    return [
        _judged(
            "Figure 6",
            "one minimum",
            len(best.minima) == 1,
            f"at ρ = {best.load:.4f}, cost {best.cost:.5f}",
            f"no cost is below {best.lower_bound:.5f}",
        ),
        _judged("Lemma 5, Figure 6", "several minima possible, one seen", not minima.findings, str(minima)),
        *[
            _row(
                f"Figure 7, p = {p:g}",
                "curve of ρ(1,K)",
                ", ".join(f"{load:.4f} (K = {k})" for k, load in zip((2, 5, 30), loads, strict=True)),
                "agrees",
                "tends to 1; unlike M/M/1/K it depends on K",
            )
            for p, loads in equal.items()
        ],
        _judged(
            "Figure 8",
            "ρ rises for γ < 1, falls for γ > 1",
            not monotone.findings,
            str(monotone),
            f"true of γ = 0.5 and 2; but for γ = {turning:g} ρ falls from {turned[0]:.4f} (K = 2) "
            f"to {turned[1]:.4f} (K = 5)",
        ),
    ]
