"""Numerical searches for what the paper could not prove.

* [Talim 2001, Lemma 5] allows several minima of the cost over the load; Figure 6 shows one.
* [Talim 2001, Section 3.3] suspects that the optimal load rises with the capacity when γ < 1 and falls when γ > 1.

With exponential service no counterexample is known. With other laws the second statement is false when γ is near
one: constant service and γ = 0.9 have optimal loads 1.0435, 1.0045, 0.9951 for K = 2, 3, 4.

A search proves nothing when it finds nothing: it reports how many cases it tried, and every finding.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.fleet import mm1k
from recrawl.fleet.optimum import local_minima, optimal_load
from recrawl.laws import Exponential

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.laws import Law

__all__ = ["Finding", "SearchReport", "search_monotonicity", "search_second_minimum"]

# Optimal loads of neighbouring capacities that differ by less, relatively, are equal (the cost is flat there).
_FLAT = 1e-7


@dataclass(frozen=True)
class Finding:
    """One case that contradicts a conjecture."""

    service: Law
    starvation_weight: float
    capacity: int
    loads: tuple[float, ...]


@dataclass(frozen=True)
class SearchReport:
    """How many cases were tried, and those that contradict."""

    cases: int
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        found = "no counterexample" if not self.findings else f"{len(self.findings)} counterexamples"
        return f"{found} in {self.cases} cases"


def search_second_minimum(
    services: Sequence[Law], weights: Sequence[float], capacities: Sequence[int], *, loads: int = 200
) -> SearchReport:
    """Look for costs with several local minima, by scanning many loads for each law, weight and capacity.

    >>> str(search_second_minimum([Exponential(1.0)], [0.5, 2.0], [2, 5]))
    'no counterexample in 4 cases'
    """
    cases = list(itertools.product(services, weights, capacities))
    seen = ((case, local_minima(*case, loads=loads)) for case in cases)
    return SearchReport(len(cases), tuple(Finding(*case, minima) for case, minima in seen if len(minima) > 1))


def search_monotonicity(
    services: Sequence[Law], weights: Sequence[float], capacities: Sequence[int]
) -> SearchReport:
    """Look for optimal loads that move the wrong way between neighbours in the list of capacities.

    For exponential service the derivative by K, which is known in closed form, is looked at as well.

    >>> str(search_monotonicity([Exponential(1.0)], [0.5, 2.0], [2, 3, 4]))
    'no counterexample in 4 cases'
    """
    findings, cases = [], 0
    for service, weight in itertools.product(services, weights):
        exponential = type(service) is Exponential
        loads = [
            mm1k.optimal_load(weight, capacity)
            if exponential
            else optimal_load(service, weight, capacity).load
            for capacity in capacities
        ]
        for capacity, before, after in zip(capacities[1:], loads, loads[1:], strict=False):
            cases += 1
            rising = after - before if weight < 1.0 else before - after
            wrong = rising < -_FLAT * before
            if exponential and weight != 1.0:
                slope = mm1k.sensitivity(weight, capacity).to_capacity
                wrong = wrong or (slope if weight < 1.0 else -slope) <= 0.0
            if wrong:
                findings.append(Finding(service, weight, capacity, (before, after)))
    return SearchReport(cases, tuple(findings))
