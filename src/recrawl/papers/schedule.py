"""Every numerical claim of Coffman, Liu and Weber, recomputed.

Each row takes a number, a sequence or a claim as printed in the 1999 text (or the 1997 report where that is cut) and
puts beside it what our code computes.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.laws import Deterministic, Empirical, Exponential, Hyperexponential, Law, Uniform
from recrawl.papers.row import Row, Verdict
from recrawl.revisit import (
    PHI,
    Pages,
    cost_of,
    fibonacci,
    golden_counts,
    golden_gap_counts,
    golden_limit,
    golden_limit_ratio,
    golden_template,
    lower_bound,
    obsolescence_of_template,
    optimal_frequencies,
    proportional_bound,
    proportional_frequencies,
    randomised_obsolescence,
    randomised_proportional_frequencies,
)

__all__ = ["rows"]

PAPER = "Coffman, Liu, Weber"


def _row(item: str, printed: str, computed: str, good: bool, wrong: Verdict, note: str) -> Row:
    return Row(PAPER, item, printed, computed, "agrees" if good else wrong, note)


def rows() -> list[Row]:
    """All rows, in the order of the paper."""
    return [
        *_theorem_3_1(),
        *_schur_convexity(),
        *_closed_forms(),
        *_zero_frequencies(),
        *_randomised(),
        *_differences(),
        *_worked_example(),
        *_gaps(),
        *_golden_limit_formula(),
        *_golden_bound(),
        *_corollary(),
        *_references(),
    ]


def _theorem_3_1() -> list[Row]:
    """A smaller access time that makes a page staler, and the convex order that does not."""
    page = Pages([1.0])
    before = float(obsolescence_of_template(page, Empirical([1.0, 3.0]), [0])[0])
    after = float(obsolescence_of_template(page, Empirical([0.0, 3.0]), [0])[0])
    pairs: list[tuple[Law, Law]] = [
        (Uniform(0.5, 1.5), Uniform(0.0, 2.0)),
        (Deterministic(1.0), Exponential(1.0)),
        (Exponential(1.0), Hyperexponential.balanced(1.0, 4.0)),
    ]
    rates = [(float(lower_bound(page, a, [1.0])[0]), float(lower_bound(page, b, [1.0])[0])) for a, b in pairs]
    return [
        _row(
            "Theorem 3.1: a smaller access time (increasing convex order) lowers every obsolescence rate",
            "r' <= r",
            f"r' = {after:.4f}, r = {before:.4f}",
            after <= before,
            "false claim",
            "X = 1 or 3, X' = 0 or 3, one page with change rate 1: the proof drops 1/E[X'] >= 1/E[X]",
        ),
        _row(
            "Theorem 3.1 with equal means (convex order)",
            "r' <= r",
            ", ".join(f"{a:.4f} <= {b:.4f}" for a, b in rates),
            all(a <= b for a, b in rates),
            "false claim",
            "what the proof does show; uniform, deterministic/exponential, exponential/hyperexponential",
        ),
    ]


def _schur_convexity() -> list[Row]:
    pages, law = Pages([0.7, 0.3]), Exponential(1.0)
    even = obsolescence_of_template(pages, law, [0, 1, 0, 1, 0, 1])[0]
    uneven = obsolescence_of_template(pages, law, [0, 0, 1, 1, 0, 1])[0]
    powers = Pages([4.0, 2.0, 1.0, 1.0])
    frequency = np.array([0.5, 0.25, 0.125, 0.125])
    exact = obsolescence_of_template(powers, law, [0, 1, 0, 2, 0, 1, 0, 3])
    bound = lower_bound(powers, law, frequency)
    return [
        _row(
            "Theorem 3.2: even spacing is best",
            "even <= uneven",
            f"{even:.4f} <= {uneven:.4f}",
            bool(even <= uneven),
            "false claim",
            "gaps 2, 2, 2 against 1, 3, 2",
        ),
        _row(
            "after Theorem 3.3: frequencies 2^-k reach the lower bound",
            "r = bound",
            f"largest difference {np.abs(exact - bound).max():.0e}",
            bool(np.allclose(exact, bound, rtol=1e-13)),
            "false claim",
            "frequencies 1/2, 1/4, 1/8, 1/8",
        ),
    ]


def _closed_forms() -> list[Row]:
    rates = np.array([0.4, 1.0, 2.5, 0.1])
    pages, law = Pages(rates, 3.0 * rates), Exponential(0.3)
    frequency = proportional_frequencies(pages, law)
    general = optimal_frequencies(pages, law).frequency
    least = cost_of(pages, lower_bound(pages, law, general))
    fixed = proportional_frequencies(pages, Deterministic(0.3))
    spread = float(np.abs(fixed - rates / rates.sum()).max())
    bent = float(np.abs(frequency - rates / rates.sum()).max())
    return [
        _row(
            "(10): optimal frequencies for weights proportional to change rates",
            "x = ln h / sum ln h",
            f"largest difference from the general optimum {np.abs(frequency - general).max():.0e}",
            bool(np.allclose(frequency, general, atol=1e-12)),
            "false claim",
            "the general optimum is found by one price, without this formula",
        ),
        _row(
            "(6), Theorem 3.4: least cost",
            f"{proportional_bound(pages, law):.10f}",
            f"{least:.10f}",
            math.isclose(proportional_bound(pages, law), least, rel_tol=1e-12),
            "false claim",
            "rates 0.4, 1, 2.5, 0.1, weights 3 times the rates, exponential accesses of mean 0.3",
        ),
        _row(
            "after Theorem 3.4: frequencies proportional to change rates only for constant X",
            "0 if constant",
            f"{spread:.0e} if constant, {bent:.3f} if exponential",
            spread < 1e-15 < bent,
            "false claim",
            "largest difference between (10) and the share of the change rate",
        ),
    ]


def _zero_frequencies() -> list[Row]:
    pages = Pages([0.1, 1.0, 20.0])
    found = optimal_frequencies(pages, Deterministic(1.0))
    return [
        _row(
            "Section 2 and (7): stationary policies have f > 0 for every page",
            "f > 0",
            "f = " + ", ".join(f"{f:.3f}" for f in found.frequency),
            bool((found.frequency > 0).all()),
            "false claim",
            "with general weights the optimum leaves out pages that change too fast; a floor brings them back",
        )
    ]


def _randomised() -> list[Row]:
    rates = np.array([0.4, 1.0, 2.5, 0.1])
    pages, law = Pages(rates, 3.0 * rates), Exponential(0.3)
    frequency = randomised_proportional_frequencies(pages, law)
    general = optimal_frequencies(pages, law, randomised=True).frequency
    odds = np.expm1(pages.exponents(law)).sum()
    printed = 3.0 * (rates.sum() - odds / (1.0 + odds) / law.mean)
    computed = cost_of(pages, randomised_obsolescence(pages, law, general))
    # (15) with general weights turns negative for the fast page.
    free = Pages([2.0, 8.0, 100.0])
    odds2 = np.expm1(free.exponents(law))
    worth = np.sqrt(free.weight / free.change_rate)
    root = (worth @ odds2) / (1.0 + odds2.sum())
    naive = (worth / root - 1.0) * odds2
    active = optimal_frequencies(free, law, randomised=True).frequency
    even = cost_of(pages, lower_bound(pages, law, proportional_frequencies(pages, law)))
    return [
        _row(
            "(16): optimal randomised frequencies, proportional weights",
            "x proportional to 1/h - 1",
            f"largest difference from the general optimum {np.abs(frequency - general).max():.0e}",
            bool(np.allclose(frequency, general, atol=1e-12)),
            "false claim",
            "same pages as above",
        ),
        _row(
            "(11), Theorem 4.1: least cost of randomised accessing",
            f"{printed:.10f}",
            f"{computed:.10f}",
            math.isclose(printed, computed, rel_tol=1e-12),
            "false claim",
            "same pages as above",
        ),
        _row(
            "(15) with general weights: valid only where it is positive",
            "not valid where negative",
            f"(15): {', '.join(f'{x:.3f}' for x in naive)}; optimum: {', '.join(f'{x:.3f}' for x in active)}",
            bool((naive < 0).any() and (active >= 0).all()),
            "false claim",
            "rates 2, 8, 100, equal weights: the optimum needs the set of pages worth a visit, found by the price",
        ),
        _row(
            "randomised accessing: cost / lower bound",
            "above 1",
            f"{computed / even:.4f}",
            computed > even,
            "false claim",
            "the price of not remembering what was accessed; same pages as above",
        ),
    ]


def _differences() -> list[Row]:
    """After Lemma 4.1: the difference between randomised accessing and the bound, for f near 0 and near 1."""
    law, rate = Exponential(0.5), 1.0
    page = Pages([rate])
    h = float(law.transform(rate))
    small, large = 1e-4, 1.0 - 1e-4

    def gap(f: float) -> float:
        return float(randomised_obsolescence(page, law, [f])[0] - lower_bound(page, law, [f])[0])

    unit = h / (rate * law.mean)
    at_zero, at_one = gap(small) / small**2, gap(large) / (large - 1.0)
    right_zero, right_one = unit / (1.0 - h), unit * (1.0 - h + math.log(h))
    return [
        _row(
            "after Lemma 4.1: difference for small f, over f^2",
            f"{unit:.5f}",
            f"{at_zero:.5f}",
            math.isclose(unit, at_zero, rel_tol=1e-2),
            "misprint",
            f"a factor 1/(1-h) is missing: h/((1-h) mu E[X]) = {right_zero:.5f}; mu = 1, exponential of mean 0.5",
        ),
        _row(
            "after Lemma 4.1: difference for f near 1, over f - 1",
            f"{unit * (1.0 + math.log(h)):.5f}",
            f"{at_one:.5f}",
            math.isclose(unit * (1.0 + math.log(h)), at_one, rel_tol=1e-2),
            "misprint",
            f"(1 + ln h) must be (1 - h + ln h): {right_one:.5f}",
        ),
    ]


def _worked_example() -> list[Row]:
    printed = "4 2 4 1 3 4 2 4 1 3 4 2 3"
    counts = golden_counts(np.array([2, 3, 3, 5]) / 13, 7)
    template = golden_template(counts, 7)
    computed = " ".join(str(page + 1) for page in template)
    # By the words of the text: points frac(j/phi) for j = 0..12, sorted; the first counts[0] belong to page 1, ...
    j = np.arange(13)
    page_of = np.repeat(np.arange(1, 5), counts)
    words = " ".join(str(page_of[k]) for k in np.argsort(np.modf(j / PHI)[0]))
    return [
        _row(
            "Section 5, worked example: access sequence",
            printed,
            computed,
            printed == computed,
            "misprint",
            "frequencies 2/13, 3/13, 3/13, 5/13",
        ),
        _row(
            "Section 5, worked example by the words of the text (j = 0..F_k - 1)",
            printed,
            words,
            printed == words,
            "misprint",
            "the example has j = 1..F_k; the text gives the same cycle, begun 5 accesses later",
        ),
        _row(
            "Section 5, worked example: k with F_k = 13",
            "8",
            "7",
            fibonacci(8) == 13,
            "misprint",
            "F_7 = 13, F_8 = 21",
        ),
    ]


def _gaps() -> list[Row]:
    """Gap counts of finite cycles, from the template itself."""
    k = 12
    cycle = fibonacci(k)
    counts = golden_counts(np.array([0.5, 0.23, 0.17, 0.1]), k)
    template = golden_template(counts, k)
    page, gap, often = golden_gap_counts(counts, k)
    agree = True
    for i in range(counts.size):
        places = np.flatnonzero(template == i)
        found = np.diff(np.append(places, places[0] + cycle))
        expected = {int(g): int(n) for p, g, n in zip(page, gap, often, strict=True) if p == i and n}
        values, numbers = np.unique(found, return_counts=True)
        agree &= expected == dict(zip(values.tolist(), numbers.tolist(), strict=True))
    shown = ", ".join(
        f"{int(n)} of {int(g)}" for p, g, n in zip(page, gap, often, strict=True) if p == 3 and n
    )
    f = counts[3] / cycle
    j = math.floor(math.log(f, PHI))
    return [
        _row(
            f"Section 5: gaps F_j, F_j+1, F_j+2 of a page with {counts[3]} accesses in a cycle of {cycle}",
            "three Fibonacci numbers",
            shown,
            agree,
            "false claim",
            "counted in the template; M - F_{k-j}, M - F_{k-j-1} and F_{k-j+1} - M times",
        ),
        _row(
            "Section 5: j = floor(log_phi f)",
            str(j),
            str(-j),
            j > 0,
            "misprint",
            "the sign is wrong: phi^-j <= f < phi^(1-j)",
        ),
    ]


def _golden_limit_formula() -> list[Row]:
    rates = np.array([0.31, 0.2, 0.11, 0.05])
    pages, law = Pages(rates, rates), Exponential(0.8)
    frequency = proportional_frequencies(pages, law)
    limit = cost_of(pages, golden_limit(pages, law, frequency))
    k = 25
    template = golden_template(golden_counts(frequency, k), k)
    finite = cost_of(pages, obsolescence_of_template(pages, law, template))
    return [
        _row(
            "Section 5: limiting cost of the golden ratio policy, with the sign of j corrected",
            f"{limit:.6f}",
            f"{finite:.6f}",
            math.isclose(limit, finite, rel_tol=1e-4),
            "false claim",
            f"the right column is the exact cost of a cycle of {fibonacci(k):,} accesses",
        )
    ]


def _golden_bound() -> list[Row]:
    u = np.linspace(1.0, PHI, 20_001)
    result = []
    for load in (1e-6, 0.1, 0.5, 1.0, 2.0, 5.0):
        ratio = golden_limit_ratio(load, u)
        average = float(np.trapezoid(ratio / u, u) / math.log(PHI))
        worst, best = float(ratio.max()), float(golden_limit_ratio(load, 1.0))
        result.append(
            _row(
                f"Theorem 5.1: golden ratio cost / bound at change rate x E[X] = {load:g}",
                f"<= {best:.4f}",
                f"{float(ratio.min()):.4f} to {worst:.4f}, mean {average:.4f}",
                worst <= best * (1 + 1e-9),
                "false claim",
                "the printed bound is the value for f = phi^-j; other frequencies cost more",
            )
        )
    return result


def _corollary() -> list[Row]:
    u = np.linspace(1.0, PHI, 20_001)
    supremum = float(golden_limit_ratio(1e-9, u).max())
    low, high = 0.5, 3.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if golden_limit_ratio(middle, u).max() > 1.05 else (low, middle)
    average = float(np.trapezoid(golden_limit_ratio(1e-9, u) / u, u) / math.log(PHI))
    # λ1 of the proof at q = 1.
    lam1 = (1.0 - 2.0 / math.sqrt(5.0)) * -math.expm1(-1.0) + (math.sqrt(5.0) - 1.0) / (2.0 * math.sqrt(5.0))
    y = (lam1 * PHI + (1.0 - lam1) * PHI**2) / math.sqrt(5.0)
    return [
        _row(
            "Corollary 5.1, (19): golden ratio cost / lower bound, supremum",
            "2 phi^2/5 = 1.0472 < 1.05",
            f"{supremum:.5f}",
            supremum <= 1.05,
            "false claim",
            f"the supremum is phi^5/10 = {PHI**5 / 10:.5f}, for change rate x E[X] towards 0 and u = phi^2/2",
        ),
        _row(
            "Sections 1 and 3: within 5 % of the bound",
            "always",
            f"for change rate x E[X] above {high:.3f}",
            False,
            "false claim",
            "below that load the worst frequencies cost more than 5 %",
        ),
        _row(
            "golden ratio cost / bound, average over frequencies, change rate x E[X] towards 0",
            "below 1.0472",
            f"{average:.5f}",
            average < 1.0472,
            "false claim",
            f"log-uniform frequencies: phi^2/(5 ln phi) = {PHI**2 / (5.0 * math.log(PHI)):.5f}",
        ),
        _row(
            "proof of Corollary 5.1: y < 1",
            "y < 1",
            f"y = {y:.5f} at q = 1",
            y < 1.0,
            "false claim",
            "so the step e^{-yq} > e^{-q} does not follow",
        ),
    ]


def _references() -> list[Row]:
    return [
        _row(
            "end of Section 3: sections of the randomised and the golden ratio policy",
            "5 and 6",
            "4 and 5",
            False,
            "misprint",
            "Section 4 is on randomised accessing, Section 5 on the golden ratio",
        )
    ]
