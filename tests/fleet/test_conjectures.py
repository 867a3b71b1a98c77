"""The searches find what is there."""

import numpy as np
import pytest

from recrawl.fleet import conjectures, search_monotonicity, search_second_minimum
from recrawl.laws import (
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    TwoTask,
    Uniform,
)


def test_no_counterexample_among_the_papers_cases():
    report = search_monotonicity([Exponential(1.0), TwoTask(2.0, 10.0, 1.0)], [0.5, 2.0], range(2, 12))
    assert (report.cases, report.findings) == (36, ())
    report = search_second_minimum(
        [Deterministic(1.0), Hyperexponential.balanced(1.0, 50.0)], [0.1, 1.0, 10.0], [2, 6]
    )
    assert (report.cases, report.findings) == (12, ())


def test_a_wrong_way_is_found(monkeypatch):
    """Turn the conjecture round: every step must then be a finding."""
    true_load = conjectures.mm1k.optimal_load
    monkeypatch.setattr(
        conjectures.mm1k, "optimal_load", lambda weight, capacity: 1 / true_load(weight, capacity)
    )
    report = search_monotonicity([Exponential(1.0)], [2.0], range(2, 7))
    assert len(report.findings) == report.cases == 4
    assert report.findings[0].capacity == 3
    assert str(report) == "4 counterexamples in 4 cases"


def test_several_minima_are_reported(monkeypatch):
    monkeypatch.setattr(conjectures, "local_minima", lambda *_, **__: (0.5, 2.0))
    report = search_second_minimum([Lognormal(1.0, 2.0)], [1.0], [5])
    assert report.findings[0].loads == (0.5, 2.0)


def test_with_other_service_the_optimal_load_may_move_the_other_way():
    """Constant service, γ = 0.9: from K = 2 to K = 3 the optimal load falls, though γ < 1.

    Checked on the explicit α_2 = e^ρ and α_3 = e^{2ρ} − ρ e^ρ of M/D/1/K with the cost (21).
    """
    report = search_monotonicity([Deterministic(1.0)], [0.9], [2, 3])
    assert len(report.findings) == 1
    load = np.linspace(0.9, 1.2, 300_001)
    best = [
        load[np.argmin(1 + (0.9 - alpha) / (1 + load * alpha))]
        for alpha in (np.exp(load), np.exp(2 * load) - load * np.exp(load))
    ]
    assert report.findings[0].loads == pytest.approx(best, abs=1e-5)
    assert best[1] < best[0]


@pytest.mark.slow
def test_the_long_searches_that_the_documentation_reports():
    weights = [1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999]
    weights += [1.0001, 1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0, 1e3, 1e6, 1e9]
    report = search_monotonicity([Exponential(1.0)], weights, range(2, 1500))
    assert (report.cases, report.findings) == (32_934, ())
    services = [
        Deterministic(1.0),
        Gamma(1.0, 0.2),
        Gamma(1.0, 5.0),
        Hyperexponential.balanced(1.0, 50.0),
        Hyperexponential((0.99, 0.01), (0.1, 90.1)),
        Lognormal(1.0, 20.0),
        Uniform(0.0, 2.0),
        TwoTask(2.0, 10.0, 0.5),
        TwoTask(1.0, 100.0, 0.02),
        Empirical([0.01] * 9 + [10.0]),
        Empirical([0.5] * 9 + [5.5]),
        Empirical([1e-3] * 9 + [1.0] * 90 + [200.0]),
    ]
    weights = [0.01, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 10.0, 100.0]
    report = search_second_minimum(services, weights, [2, 3, 4, 5, 7, 10, 15, 25], loads=150)
    assert (report.cases, report.findings) == (864, ())
