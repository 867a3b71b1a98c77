"""The searches find what is there."""

from recrawl.fleet import conjectures, search_monotonicity, search_second_minimum
from recrawl.laws import Deterministic, Exponential, Hyperexponential, Lognormal, TwoTask


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
